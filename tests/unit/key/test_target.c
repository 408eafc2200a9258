/* Target names, and every pair of image and device of a written-out truth table. */
#include <stdio.h>
#include <string.h>

#include "host_target.h"
#include "slt.h"
#include "target.h"

static slw_error err;

static void setup(void) {
    const slw_error fresh = SLW_ERROR_INIT;
    err = fresh;
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

typedef struct sm_row {
    const char *text;
    int ok;
    uint32_t number;
    char variant;
} sm_row;

static const sm_row sms[] = {
    {"sm_75", 1, 75, 0},   {"sm_90a", 1, 90, 'a'},    {"sm_100f", 1, 100, 'f'},
    {"sm_133", 1, 133, 0}, {"sm_99999", 1, 99999, 0}, {"sm_10", 1, 10, 0},
    {"", 0, 0, 0},         {"sm", 0, 0, 0},           {"sm_", 0, 0, 0},
    {"sm_9", 0, 0, 0},     {"sm_9a", 0, 0, 0},        {"sm_a", 0, 0, 0},
    {"sm_90b", 0, 0, 0},   {"sm_90A", 0, 0, 0},       {"sm_90aa", 0, 0, 0},
    {"sm_90af", 0, 0, 0},  {"sm_90 ", 0, 0, 0},       {" sm_90", 0, 0, 0},
    {"SM_90", 0, 0, 0},    {"sm_-90", 0, 0, 0},       {"sm_+90", 0, 0, 0},
    {"sm_090", 0, 0, 0},   {"sm_100000", 0, 0, 0},    {"sm_4294967386", 0, 0, 0},
    {"sm-90", 0, 0, 0},    {"compute_90", 0, 0, 0},   {"sm_90,debug", 0, 0, 0},
    {"sm_9\xb9", 0, 0, 0},
};

START_TEST(sm_names) {
    const sm_row *row = &sms[_i];
    slwi_sm sm = {7, 'x'};
    ck_assert_msg(slwi_sm_parse(row->text, &sm) == row->ok, "%s", row->text);
    ck_assert_uint_eq(sm.number, row->ok ? row->number : 7);
    ck_assert_int_eq(sm.variant, row->ok ? row->variant : 'x');
}
END_TEST

typedef struct gfx_row {
    const char *text;
    const char *formatted; /* NULL: not one */
    uint32_t sramecc, xnack;
} gfx_row;

static const gfx_row gfxs[] = {
    {"gfx942", "gfx942", SLWI_GFX_ANY, SLWI_GFX_ANY},
    {"gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-", SLWI_GFX_ON, SLWI_GFX_OFF},
    {"gfx90a:xnack-:sramecc+", "gfx90a:sramecc+:xnack-", SLWI_GFX_ON, SLWI_GFX_OFF},
    {"gfx1030:xnack+", "gfx1030:xnack+", SLWI_GFX_ANY, SLWI_GFX_ON},
    {"gfx906:sramecc-", "gfx906:sramecc-", SLWI_GFX_OFF, SLWI_GFX_ANY},
    {"gfx11-generic", "gfx11-generic", SLWI_GFX_ANY, SLWI_GFX_ANY},
    {"gfx9-4-generic:sramecc+:xnack+", "gfx9-4-generic:sramecc+:xnack+", SLWI_GFX_ON, SLWI_GFX_ON},
    {"gfx1250-strict", "gfx1250-strict", SLWI_GFX_ANY, SLWI_GFX_ANY},
    {"gfx9abcdefghijklmnopqrstuvwxyz0", "gfx9abcdefghijklmnopqrstuvwxyz0", SLWI_GFX_ANY, SLWI_GFX_ANY}, /* 31 */
    {"gfx9abcdefghijklmnopqrstuvwxyz01", NULL, 0, 0},                                                   /* 32 */
    {"", NULL, 0, 0},
    {"gfx", NULL, 0, 0},
    {"gfx9", NULL, 0, 0},
    {"gfx90", NULL, 0, 0},
    {"gfx042", NULL, 0, 0},
    {"gfxabc", NULL, 0, 0},
    {"GFX942", NULL, 0, 0},
    {"gfx942A", NULL, 0, 0},
    {"gfx942 ", NULL, 0, 0},
    {"gfx942-", NULL, 0, 0},
    {"gfx9--generic", NULL, 0, 0},
    {"gfx942:", NULL, 0, 0},
    {"gfx942::xnack+", NULL, 0, 0},
    {"gfx942:xnack", NULL, 0, 0},
    {"gfx942:xnack+:", NULL, 0, 0},
    {"gfx942:xnack+:xnack+", NULL, 0, 0},
    {"gfx942:xnack+:xnack-", NULL, 0, 0},
    {"gfx942:sramecc", NULL, 0, 0},
    {"gfx942:sramecc++", NULL, 0, 0},
    {"gfx942:sramecc=", NULL, 0, 0},
    {"gfx942:cumode+", NULL, 0, 0},
    {"gfx942:+", NULL, 0, 0},
    {"gfx942:xnack+sramecc+", NULL, 0, 0},
    {"amdgcn-amd-amdhsa--gfx942", NULL, 0, 0},
};

START_TEST(gfx_names) {
    const gfx_row *row = &gfxs[_i];
    slwi_gfx gfx;
    slwi_gfx before;
    char text[64];
    memset(&gfx, 0x5a, sizeof gfx);
    before = gfx;
    ck_assert_msg(slwi_gfx_parse(row->text, &gfx) == (row->formatted != NULL), "%s", row->text);
    if (row->formatted == NULL) {
        ck_assert_mem_eq(&gfx, &before, sizeof gfx);
        return;
    }
    ck_assert_uint_eq(gfx.sramecc, row->sramecc);
    ck_assert_uint_eq(gfx.xnack, row->xnack);
    ck_assert_uint_eq(gfx.generic_version, 0);
    slwi_gfx_format(&gfx, text);
    ck_assert_str_eq(text, row->formatted);
}
END_TEST

/* ---- the truth table -------------------------------------------------------------------------------------------- */

typedef struct pair {
    slw_image_kind kind;
    const char *built;
    const char *isa;
    const char *device;
    uint32_t device_isa;
    const char *reason; /* NULL: runs */
} pair;

#define CUBIN SLW_IMAGE_CUBIN
#define PTX   SLW_IMAGE_PTX
#define HSACO SLW_IMAGE_HSACO
#define HOST  SLW_IMAGE_HOST
#define ARCH  "ARCHITECTURE"
#define VAR   "VARIANT"
#define FEAT  "FEATURE"
#define ISA   "ISA_VERSION"
#define KIND  "KIND"

static const pair pairs[] = {
    /* Machine code: its major number, this minor or a later one. */
    {CUBIN, "sm_75", NULL, "sm_75", 0, NULL},
    {CUBIN, "sm_75", NULL, "sm_80", 0, ARCH},
    {CUBIN, "sm_80", NULL, "sm_75", 0, ARCH},
    {CUBIN, "sm_80", NULL, "sm_80", 0, NULL},
    {CUBIN, "sm_80", NULL, "sm_86", 0, NULL},
    {CUBIN, "sm_80", NULL, "sm_87", 0, NULL},
    {CUBIN, "sm_80", NULL, "sm_89", 0, NULL},
    {CUBIN, "sm_80", NULL, "sm_90", 0, ARCH},
    {CUBIN, "sm_86", NULL, "sm_80", 0, ARCH},
    {CUBIN, "sm_86", NULL, "sm_89", 0, NULL},
    {CUBIN, "sm_89", NULL, "sm_86", 0, ARCH},
    {CUBIN, "sm_90", NULL, "sm_90", 0, NULL},
    {CUBIN, "sm_90", NULL, "sm_100", 0, ARCH},
    {CUBIN, "sm_100", NULL, "sm_90", 0, ARCH},
    {CUBIN, "sm_100", NULL, "sm_100", 0, NULL},
    {CUBIN, "sm_100", NULL, "sm_103", 0, NULL},
    {CUBIN, "sm_100", NULL, "sm_107", 0, NULL},
    {CUBIN, "sm_103", NULL, "sm_100", 0, ARCH},
    {CUBIN, "sm_100", NULL, "sm_110", 0, ARCH},
    {CUBIN, "sm_100", NULL, "sm_120", 0, ARCH},
    {CUBIN, "sm_120", NULL, "sm_100", 0, ARCH},
    {CUBIN, "sm_110", NULL, "sm_120", 0, ARCH},
    {CUBIN, "sm_120", NULL, "sm_121", 0, NULL},
    {CUBIN, "sm_121", NULL, "sm_120", 0, ARCH},
    {CUBIN, "sm_12", NULL, "sm_120", 0, ARCH},
    {CUBIN, "sm_120", NULL, "sm_12", 0, ARCH},
    /* One architecture that was renamed. */
    {CUBIN, "sm_101", NULL, "sm_110", 0, NULL},
    {CUBIN, "sm_110", NULL, "sm_101", 0, NULL},
    {CUBIN, "sm_101", NULL, "sm_101", 0, NULL},
    {CUBIN, "sm_100", NULL, "sm_101", 0, ARCH},
    {CUBIN, "sm_101", NULL, "sm_103", 0, ARCH},
    {CUBIN, "sm_101a", NULL, "sm_110", 0, NULL},
    {CUBIN, "sm_101f", NULL, "sm_110", 0, NULL},
    {CUBIN, "sm_100f", NULL, "sm_101", 0, VAR},
    /* 'a': this architecture; the suffix of a device's name says nothing. */
    {CUBIN, "sm_90a", NULL, "sm_90", 0, NULL},
    {CUBIN, "sm_90a", NULL, "sm_90a", 0, NULL},
    {CUBIN, "sm_90", NULL, "sm_90a", 0, NULL},
    {CUBIN, "sm_90a", NULL, "sm_100", 0, VAR},
    {CUBIN, "sm_90a", NULL, "sm_89", 0, VAR},
    {CUBIN, "sm_100a", NULL, "sm_100", 0, NULL},
    {CUBIN, "sm_100a", NULL, "sm_103", 0, VAR},
    {CUBIN, "sm_103a", NULL, "sm_103", 0, NULL},
    {CUBIN, "sm_103a", NULL, "sm_100", 0, VAR},
    {CUBIN, "sm_120a", NULL, "sm_121", 0, VAR},
    {CUBIN, "sm_121a", NULL, "sm_121", 0, NULL},
    {CUBIN, "sm_80a", NULL, "sm_80", 0, VAR}, /* no toolkit makes such a thing */
    /* 'f': its family, this minor or a later one. */
    {CUBIN, "sm_100f", NULL, "sm_100", 0, NULL},
    {CUBIN, "sm_100f", NULL, "sm_103", 0, NULL},
    {CUBIN, "sm_100f", NULL, "sm_107", 0, NULL},
    {CUBIN, "sm_103f", NULL, "sm_100", 0, VAR},
    {CUBIN, "sm_103f", NULL, "sm_103", 0, NULL},
    {CUBIN, "sm_100f", NULL, "sm_110", 0, VAR},
    {CUBIN, "sm_100f", NULL, "sm_120", 0, VAR},
    {CUBIN, "sm_110f", NULL, "sm_110", 0, NULL},
    {CUBIN, "sm_110f", NULL, "sm_120", 0, VAR},
    {CUBIN, "sm_120f", NULL, "sm_120", 0, NULL},
    {CUBIN, "sm_120f", NULL, "sm_121", 0, NULL},
    {CUBIN, "sm_121f", NULL, "sm_120", 0, VAR},
    {CUBIN, "sm_90f", NULL, "sm_90", 0, VAR}, /* nor such */
    /* Newer than anything known: the same rules. */
    {CUBIN, "sm_133", NULL, "sm_133", 0, NULL},
    {CUBIN, "sm_130", NULL, "sm_133", 0, NULL},
    {CUBIN, "sm_133", NULL, "sm_130", 0, ARCH},
    {CUBIN, "sm_133a", NULL, "sm_133", 0, NULL},
    {CUBIN, "sm_133a", NULL, "sm_134", 0, VAR},
    {CUBIN, "sm_130f", NULL, "sm_134", 0, NULL},
    {CUBIN, "sm_130f", NULL, "sm_140", 0, VAR},
    {CUBIN, "sm_100", NULL, "sm_1000", 0, ARCH},
    /* Names nobody understands: only what is equal. */
    {CUBIN, "sm_9", NULL, "sm_9", 0, NULL},
    {CUBIN, "sm_90b", NULL, "sm_90", 0, ARCH},
    {CUBIN, "sm_90ax", NULL, "sm_90", 0, ARCH},
    {CUBIN, "sm_90", NULL, "sm_90ax", 0, ARCH},
    {CUBIN, "", NULL, "sm_90", 0, ARCH},
    {CUBIN, "gfx942", NULL, "sm_90", 0, ARCH},
    {CUBIN, NULL, NULL, "sm_90", 0, ARCH},
    /* PTX: this number or any later one. */
    {PTX, "sm_75", "6.3", "sm_75", 90, NULL},
    {PTX, "sm_75", "6.3", "sm_121", 90, NULL},
    {PTX, "sm_75", NULL, "sm_90", 0, NULL},
    {PTX, "sm_90", "7.8", "sm_120", 90, NULL},
    {PTX, "sm_90", "7.8", "sm_89", 90, ARCH},
    {PTX, "sm_103", "8.8", "sm_110", 90, NULL},
    {PTX, "sm_110", "9.0", "sm_103", 90, ARCH},
    {PTX, "sm_101", "8.7", "sm_110", 90, NULL},
    {PTX, "sm_110", "9.0", "sm_101", 90, NULL},
    {PTX, "sm_90a", "8.0", "sm_90", 90, NULL},
    {PTX, "sm_90a", "8.0", "sm_100", 90, VAR},
    {PTX, "sm_100a", "8.6", "sm_103", 90, VAR},
    {PTX, "sm_100f", "8.8", "sm_103", 90, NULL},
    {PTX, "sm_100f", "8.8", "sm_110", 90, VAR},
    {PTX, "sm_103f", "8.8", "sm_100", 90, VAR},
    {PTX, "sm_133", "10.1", "sm_133", 0, NULL},
    {PTX, "sm_133", "6.0", "sm_140", 95, NULL},
    {PTX, "sm_9", NULL, "sm_90", 0, ARCH},
    /* What the driver compiles. */
    {PTX, "sm_90", "8.5", "sm_90", 85, NULL},
    {PTX, "sm_90", "8.6", "sm_90", 85, ISA},
    {PTX, "sm_90", "9.0", "sm_90", 88, ISA},
    {PTX, "sm_90", "10.0", "sm_90", 95, ISA},
    {PTX, "sm_90", "10.0", "sm_90", 100, NULL},
    {PTX, "sm_90", "9.0", "sm_90", 0, NULL},
    {PTX, "sm_90", NULL, "sm_90", 60, NULL},
    {PTX, "sm_90", "", "sm_90", 90, ISA},
    {PTX, "sm_90", "9", "sm_90", 90, ISA},
    {PTX, "sm_90", "9.", "sm_90", 90, ISA},
    {PTX, "sm_90", ".9", "sm_90", 90, ISA},
    {PTX, "sm_90", "8.10", "sm_90", 90, ISA},
    {PTX, "sm_90", "99999999999.0", "sm_90", 0, ISA},
    /* A machine's own code is not PTX: the driver's ISA is nothing to it. */
    {CUBIN, "sm_90", "9.5", "sm_90", 70, NULL},
    /* AMD. */
    {HSACO, "gfx942", NULL, "gfx942:sramecc+:xnack-", 0, NULL},
    {HSACO, "gfx942", NULL, "gfx942", 0, NULL},
    {HSACO, "gfx942:sramecc+:xnack-", NULL, "gfx942:sramecc+:xnack-", 0, NULL},
    {HSACO, "gfx942:xnack-:sramecc+", NULL, "gfx942:sramecc+:xnack-", 0, NULL},
    {HSACO, "gfx942:sramecc+", NULL, "gfx942:sramecc+:xnack-", 0, NULL},
    {HSACO, "gfx942:xnack+", NULL, "gfx942:sramecc+:xnack-", 0, FEAT},
    {HSACO, "gfx942:sramecc-", NULL, "gfx942:sramecc+:xnack-", 0, FEAT},
    {HSACO, "gfx942:xnack+", NULL, "gfx942", 0, FEAT},
    {HSACO, "gfx942:xnack-", NULL, "gfx942", 0, FEAT},
    {HSACO, "gfx90a", NULL, "gfx942", 0, ARCH},
    {HSACO, "gfx942", NULL, "gfx90a", 0, ARCH},
    {HSACO, "gfx90", NULL, "gfx90a", 0, ARCH},
    {HSACO, "gfx1100", NULL, "gfx1101", 0, ARCH},
    {HSACO, "gfx1300", NULL, "gfx1300", 0, NULL},
    {HSACO, "gfx942:xnack", NULL, "gfx942:xnack", 0, NULL}, /* equal, if nothing else */
    {HSACO, "gfx942:xnack", NULL, "gfx942", 0, ARCH},
    {HSACO, "gfx9-generic", NULL, "gfx900:xnack-", 0, NULL},
    {HSACO, "gfx9-generic", NULL, "gfx902:xnack+", 0, NULL},
    {HSACO, "gfx9-generic", NULL, "gfx904", 0, NULL},
    {HSACO, "gfx9-generic", NULL, "gfx906:sramecc+:xnack-", 0, NULL},
    {HSACO, "gfx9-generic", NULL, "gfx909", 0, NULL},
    {HSACO, "gfx9-generic", NULL, "gfx90c", 0, NULL},
    {HSACO, "gfx9-generic:xnack-", NULL, "gfx906:sramecc+:xnack-", 0, NULL},
    {HSACO, "gfx9-generic:xnack+", NULL, "gfx906:sramecc+:xnack-", 0, FEAT},
    {HSACO, "gfx9-generic", NULL, "gfx908", 0, ARCH},
    {HSACO, "gfx9-generic", NULL, "gfx90a", 0, ARCH},
    {HSACO, "gfx9-generic", NULL, "gfx942", 0, ARCH},
    {HSACO, "gfx9-4-generic", NULL, "gfx940", 0, NULL},
    {HSACO, "gfx9-4-generic", NULL, "gfx941", 0, NULL},
    {HSACO, "gfx9-4-generic", NULL, "gfx942:sramecc+:xnack-", 0, NULL},
    {HSACO, "gfx9-4-generic", NULL, "gfx950", 0, NULL},
    {HSACO, "gfx9-4-generic", NULL, "gfx90a", 0, ARCH},
    {HSACO, "gfx10-1-generic", NULL, "gfx1010:xnack-", 0, NULL},
    {HSACO, "gfx10-1-generic", NULL, "gfx1013", 0, NULL},
    {HSACO, "gfx10-1-generic", NULL, "gfx1030", 0, ARCH},
    {HSACO, "gfx10-3-generic", NULL, "gfx1030", 0, NULL},
    {HSACO, "gfx10-3-generic", NULL, "gfx1036", 0, NULL},
    {HSACO, "gfx10-3-generic", NULL, "gfx1010", 0, ARCH},
    {HSACO, "gfx11-generic", NULL, "gfx1100", 0, NULL},
    {HSACO, "gfx11-generic", NULL, "gfx1103", 0, NULL},
    {HSACO, "gfx11-generic", NULL, "gfx1150", 0, NULL},
    {HSACO, "gfx11-generic", NULL, "gfx1153", 0, NULL},
    {HSACO, "gfx11-generic", NULL, "gfx1170", 0, ARCH},
    {HSACO, "gfx11-generic", NULL, "gfx1200", 0, ARCH},
    {HSACO, "gfx11-7-generic", NULL, "gfx1171", 0, NULL},
    {HSACO, "gfx12-generic", NULL, "gfx1200", 0, NULL},
    {HSACO, "gfx12-generic", NULL, "gfx1201", 0, NULL},
    {HSACO, "gfx12-generic", NULL, "gfx1250", 0, ARCH},
    {HSACO, "gfx12-5-generic", NULL, "gfx1250", 0, NULL},
    {HSACO, "gfx1100", NULL, "gfx11-generic", 0, ARCH},
    {HSACO, "gfx11-generic", NULL, "gfx11-generic", 0, NULL},
    {HSACO, "gfx77-generic", NULL, "gfx7700", 0, ARCH},
    /* The host. */
    {HOST, "x86_64-linux-gnu", NULL, "x86_64-linux-gnu", 0, NULL},
    {HOST, "x86_64-linux-musl", NULL, "x86_64-linux-gnu", 0, ARCH},
    {HOST, "aarch64-linux-gnu", NULL, "x86_64-linux-gnu", 0, ARCH},
    {HOST, "null", NULL, "null", 0, NULL},
    /* Another kind of device, or nothing that is loaded. */
    {CUBIN, "sm_90", NULL, "gfx942", 0, KIND},
    {PTX, "sm_90", "7.8", "gfx942", 0, KIND},
    {HSACO, "gfx942", NULL, "sm_90", 0, KIND},
    {HOST, "x86_64-linux-gnu", NULL, "sm_90", 0, KIND},
    {CUBIN, "sm_90", NULL, "x86_64-linux-gnu", 0, KIND},
    {HSACO, "gfx942", NULL, "host", 0, KIND},
    {SLW_IMAGE_LTO_IR, "sm_90", NULL, "sm_90", 0, KIND},
    {SLW_IMAGE_UNKNOWN, "sm_90", NULL, "sm_90", 0, KIND},
    {CUBIN, "sm_90", NULL, "", 0, KIND},
};

START_TEST(truth_table) {
    const pair *p = &pairs[_i];
    const slwi_built_for built = {p->kind, p->built, p->isa};
    const slw_code rc = slwi_target_runs(&built, p->device, p->device_isa, &err);
    ck_assert_msg((rc == SLW_OK) == (p->reason == NULL), "%s (%s) on %s: %s", p->built, p->isa, p->device, err.message);
    ck_assert_int_eq(slwi_target_runs(&built, p->device, p->device_isa, NULL), rc); /* without a record too */
    if (p->device_isa == 0) ck_assert_int_eq(slwi_target_rank(&built, p->device) != 0, rc == SLW_OK);
    if (rc == SLW_OK) {
        ck_assert_int_eq(err.code, SLW_OK);
        ck_assert_int_eq(err.subject[0], 0);
        return;
    }
    ck_assert_int_eq(rc, SLW_E_TARGET_MISMATCH);
    ck_assert_msg(strcmp(err.reason, p->reason) == 0, "%s on %s: %s, not %s", p->built, p->device, err.reason,
                  p->reason);
    ck_assert_str_eq(err.subject, p->built != NULL ? p->built : "?");
    ck_assert_ptr_nonnull(strstr(err.message, p->device));
}
END_TEST

START_TEST(host_is_this_processor) {
    slwi_built_for built = {SLW_IMAGE_HOST, slwi_host_target(), NULL};
    ck_assert_int_eq(slwi_target_runs(&built, "host", 0, &err), SLW_OK);
    ck_assert_uint_ne(slwi_target_rank(&built, "host"), 0);
    built.target = "vax-unknown-ultrix";
    ck_assert_int_eq(slwi_target_runs(&built, "host", 0, &err), SLW_E_TARGET_MISMATCH);
}
END_TEST

/* What ptxas 13.5.37 compiled PTX of `target` to, of these devices in this order (1: it did). */
typedef struct ptxas_row {
    const char *target;
    const char *verdicts;
} ptxas_row;

static const char *const ptxas_devices[7] = {"sm_90", "sm_100", "sm_103", "sm_107", "sm_110", "sm_120", "sm_121"};
static const ptxas_row ptxas_rows[] = {
    {"sm_90", "1111111"},   {"sm_100", "0111111"},  {"sm_100f", "0111000"},
    {"sm_103f", "0011000"}, {"sm_107f", "0001000"}, {"sm_110", "0000111"},
    {"sm_110f", "0000100"}, {"sm_120f", "0000011"}, {"sm_121f", "0000001"},
};

START_TEST(as_ptxas_does) {
    const ptxas_row *row = &ptxas_rows[_i];
    for (int d = 0; d < 7; d++) {
        const slwi_built_for built = {SLW_IMAGE_PTX, row->target, "9.5"};
        const int runs = slwi_target_runs(&built, ptxas_devices[d], 95, NULL) == SLW_OK;
        ck_assert_msg(runs == (row->verdicts[d] == '1'), "%s on %s", row->target, ptxas_devices[d]);
    }
}
END_TEST

/* The first version that ptxas 13.0.88 or 13.5.37 took for each target, the version before it being refused. */
typedef struct first_row {
    const char *target;
    const char *first;
    const char *before;
} first_row;

static const first_row firsts[] = {
    {"sm_75", "6.3", "6.2"},   {"sm_80", "7.0", "6.5"},   {"sm_86", "7.1", "7.0"},   {"sm_87", "7.4", "7.3"},
    {"sm_88", "7.3", "7.2"},   {"sm_89", "7.8", "7.7"},   {"sm_90", "7.8", "7.7"},   {"sm_90a", "8.0", "7.8"},
    {"sm_100", "8.6", "8.5"},  {"sm_100a", "8.6", "8.5"}, {"sm_100f", "8.8", "8.7"}, {"sm_103", "8.8", "8.7"},
    {"sm_103a", "8.8", "8.7"}, {"sm_103f", "8.8", "8.7"}, {"sm_107", "9.4", "9.3"},  {"sm_107a", "9.4", "9.3"},
    {"sm_107f", "9.4", "9.3"}, {"sm_110", "9.0", "8.8"},  {"sm_110a", "9.0", "8.8"}, {"sm_110f", "9.0", "8.8"},
    {"sm_120", "8.7", "8.6"},  {"sm_120a", "8.7", "8.6"}, {"sm_120f", "8.8", "8.7"}, {"sm_121", "8.8", "8.7"},
    {"sm_121a", "8.8", "8.7"}, {"sm_121f", "8.8", "8.7"},
};

START_TEST(first_versions) {
    const first_row *row = &firsts[_i];
    slwi_built_for built = {SLW_IMAGE_PTX, row->target, row->first};
    ck_assert_msg(slwi_target_runs(&built, row->target, 0, &err) == SLW_OK, "%s %s", row->target, err.message);
    built.isa_version = row->before;
    ck_assert_msg(slwi_target_runs(&built, row->target, 0, &err) == SLW_E_TARGET_MISMATCH, "%s", row->target);
    ck_assert_str_eq(err.reason, "ISA_VERSION");
}
END_TEST

/* ---- ranks ------------------------------------------------------------------------------------------------------ */

#define LINE 12
typedef struct rank_row {
    const char *device;
    slwi_built_for better_first[LINE]; /* ends with kind 0 */
} rank_row;

static const rank_row ranks[] = {
    {"sm_89",
     {{CUBIN, "sm_89", NULL},
      {CUBIN, "sm_87", NULL},
      {CUBIN, "sm_86", NULL},
      {CUBIN, "sm_80", NULL},
      {PTX, "sm_89", "8.5"},
      {PTX, "sm_80", "9.0"},
      {PTX, "sm_80", "8.8"},
      {PTX, "sm_80", "7.0"},
      {PTX, "sm_75", "9.0"}}},
    {"sm_103",
     {{CUBIN, "sm_103a", NULL},
      {CUBIN, "sm_103", NULL},
      {CUBIN, "sm_103f", NULL},
      {CUBIN, "sm_100f", NULL},
      {CUBIN, "sm_100", NULL},
      {PTX, "sm_103a", "8.8"},
      {PTX, "sm_103f", "9.0"},
      {PTX, "sm_103", "9.0"},
      {PTX, "sm_100", "9.5"},
      {PTX, "sm_100", NULL}}},
    {"sm_90", {{CUBIN, "sm_90a", NULL}, {CUBIN, "sm_90", NULL}, {PTX, "sm_90a", "8.0"}, {PTX, "sm_80", "7.0"}}},
    {"gfx942:sramecc+:xnack-",
     {{HSACO, "gfx942:sramecc+:xnack-", NULL},
      {HSACO, "gfx942:xnack-", NULL},
      {HSACO, "gfx942", NULL},
      {HSACO, "gfx9-4-generic:sramecc+:xnack-", NULL},
      {HSACO, "gfx9-4-generic", NULL}}},
};

START_TEST(rank_order) {
    const rank_row *row = &ranks[_i];
    uint32_t last = UINT32_MAX;
    for (const slwi_built_for *built = row->better_first; built->kind != SLW_IMAGE_UNKNOWN; built++) {
        const uint32_t rank = slwi_target_rank(built, row->device);
        ck_assert_msg(rank != 0 && rank < last, "%s for %s: %u after %u", built->target, row->device, rank, last);
        last = rank;
    }
}
END_TEST

START_TEST(greatest_numbers_keep_their_order) {
    const slwi_built_for exact = {CUBIN, "sm_99999a", NULL};
    const slwi_built_for family = {CUBIN, "sm_99999f", NULL};
    const slwi_built_for older = {CUBIN, "sm_99998", NULL};
    const slwi_built_for ptx = {PTX, "sm_99999a", "99.9"};
    const slwi_built_for ancient = {PTX, "sm_75", "6.3"};
    ck_assert_uint_gt(slwi_target_rank(&exact, "sm_99999"), slwi_target_rank(&family, "sm_99999"));
    ck_assert_uint_gt(slwi_target_rank(&family, "sm_99999"), slwi_target_rank(&older, "sm_99999"));
    ck_assert_uint_gt(slwi_target_rank(&older, "sm_99999"), slwi_target_rank(&ptx, "sm_99999"));
    ck_assert_uint_gt(slwi_target_rank(&ptx, "sm_99999"), slwi_target_rank(&ancient, "sm_99999"));
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof *(table))

int main(void) {
    Suite *suite = suite_create("key targets");
    TCase *c = tcase_create("targets");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_loop_test(c, sm_names, 0, ROWS(sms));
    tcase_add_loop_test(c, gfx_names, 0, ROWS(gfxs));
    tcase_add_loop_test(c, truth_table, 0, ROWS(pairs));
    tcase_add_test(c, host_is_this_processor);
    tcase_add_loop_test(c, as_ptxas_does, 0, ROWS(ptxas_rows));
    tcase_add_loop_test(c, first_versions, 0, ROWS(firsts));
    tcase_add_loop_test(c, rank_order, 0, ROWS(ranks));
    tcase_add_test(c, greatest_numbers_keep_their_order);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
