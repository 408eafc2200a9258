/* AMD's compatibility rules.
 *
 * Source: LLVM's AMDGPUUsage, "Target ID" (a processor and features, each on, off or not said: then the code runs in
 * either mode), "AMDGPU Generic Processors" (which processors a generic one stands for) and the groups of processors in
 * LLVM's TargetParser, from which the members that the tables of older releases lack are taken (gfx940 and gfx941 stand
 * in LLVM 19's and 20's, and are no longer processors since). A code object runs on a device when the processors are
 * equal, or its own is a generic one that stands for the device's, and each feature it names is exactly the device's:
 * a device whose name leaves a feature out has not got it (drivers name every one it has). */
#include <stdio.h>
#include <string.h>

#include "target_rules.h"

typedef struct generic_processor {
    const char *name;
    const char *members[14]; /* ends with NULL */
} generic_processor;

static const generic_processor generics[] = {
    {"gfx9-generic", {"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c", NULL}},
    {"gfx9-4-generic", {"gfx940", "gfx941", "gfx942", "gfx950", NULL}},
    {"gfx10-1-generic", {"gfx1010", "gfx1011", "gfx1012", "gfx1013", NULL}},
    {"gfx10-3-generic", {"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036", NULL}},
    {"gfx11-generic",
     {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153", "gfx1154", NULL}},
    {"gfx11-7-generic", {"gfx1170", "gfx1171", "gfx1172", NULL}},
    {"gfx12-generic", {"gfx1200", "gfx1201", NULL}},
    {"gfx12-5-generic", {"gfx1250", "gfx1251", NULL}},
    {"gfx13-generic", {"gfx1310", NULL}},
};

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* "gfx942", "gfx90a", "gfx11-generic": a digit, then digits, lower case letters and single inner '-'. */
static int processor_size(const char *text, size_t *size) {
    if (strncmp(text, "gfx", 3) != 0 || text[3] < '1' || text[3] > '9') return 0;
    size_t length = strcspn(text, ":");
    if (length < 6 || length >= sizeof((slwi_gfx *)NULL)->processor) return 0;
    for (size_t i = 3; i < length; i++) {
        const char c = text[i];
        const int plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
        if (!plain && (c != '-' || i + 1 == length || text[i + 1] == '-')) return 0;
    }
    *size = length;
    return 1;
}

/* One ":sramecc+" of `size` bytes; each may stand once. */
static int parse_feature(const char *text, size_t size, slwi_gfx *gfx) {
    if (size < 2) return 0;
    const char sign = text[size - 1];
    if (sign != '+' && sign != '-') return 0;
    uint32_t *feature = NULL;
    if (size == 8 && memcmp(text, "sramecc", 7) == 0) feature = &gfx->sramecc;
    if (size == 6 && memcmp(text, "xnack", 5) == 0) feature = &gfx->xnack;
    if (feature == NULL || *feature != SLWI_GFX_ANY) return 0;
    *feature = sign == '+' ? SLWI_GFX_ON : SLWI_GFX_OFF;
    return 1;
}

int slwi_gfx_parse(const char *text, slwi_gfx *out) {
    slwi_gfx gfx;
    size_t size = 0;
    memset(&gfx, 0, sizeof gfx);
    if (!processor_size(text, &size)) return 0;
    memcpy(gfx.processor, text, size);
    for (const char *at = text + size; *at != '\0';) {
        const size_t length = strcspn(at + 1, ":");
        if (!parse_feature(at + 1, length, &gfx)) return 0;
        at += 1 + length;
    }
    *out = gfx;
    return 1;
}

static const char *feature_text(uint32_t feature, const char *on, const char *off) {
    if (feature == SLWI_GFX_ON) return on;
    return feature == SLWI_GFX_OFF ? off : "";
}

void slwi_gfx_format(const slwi_gfx *gfx, char out[64]) {
    (void)snprintf(out, 64, "%.31s%s%s", gfx->processor, feature_text(gfx->sramecc, ":sramecc+", ":sramecc-"),
                   feature_text(gfx->xnack, ":xnack+", ":xnack-"));
}

/* ---- rules ------------------------------------------------------------------------------------------------------ */

static int stands_for(const char *generic, const char *processor) {
    for (size_t i = 0; i < sizeof generics / sizeof *generics; i++) {
        if (strcmp(generics[i].name, generic) != 0) continue;
        for (const char *const *member = generics[i].members; *member != NULL; member++)
            if (strcmp(*member, processor) == 0) return 1;
    }
    return 0;
}

static int feature_fits(uint32_t built, uint32_t device) {
    return built == SLWI_GFX_ANY || built == device;
}

slwi_target_verdict slwi_hsaco_runs(const slwi_built_for *built, const slwi_gfx *device) {
    slwi_target_verdict verdict = {NULL, NULL, NULL};
    slwi_gfx gfx;
    if (!slwi_gfx_parse(built->target, &gfx)) {
        verdict.reason = "ARCHITECTURE";
        verdict.why = "the code object's target is not the name of a processor";
    } else if (strcmp(gfx.processor, device->processor) != 0 && !stands_for(gfx.processor, device->processor)) {
        verdict.reason = "ARCHITECTURE";
        verdict.why = "a code object runs on its own processor, a generic one on those it stands for";
        verdict.hint = "Build for the device's processor.";
    } else if (!feature_fits(gfx.sramecc, device->sramecc)) {
        verdict.reason = "FEATURE";
        verdict.why = "sramecc is not as the code wants it";
        verdict.hint = "Build without naming sramecc, or for the device's mode.";
    } else if (!feature_fits(gfx.xnack, device->xnack)) {
        verdict.reason = "FEATURE";
        verdict.why = "xnack is not as the code wants it";
        verdict.hint = "Build without naming xnack, or run with the mode it wants (HSA_XNACK).";
    }
    return verdict;
}

/* The processor's own code before a generic one's, and code for exactly these modes before code for any. */
uint32_t slwi_hsaco_rank(const slwi_built_for *built, const slwi_gfx *device) {
    slwi_gfx gfx;
    if (!slwi_gfx_parse(built->target, &gfx)) return 1;
    const uint32_t own = strcmp(gfx.processor, device->processor) == 0 ? 4 : 0;
    return 1 + own + (gfx.sramecc != SLWI_GFX_ANY) + (gfx.xnack != SLWI_GFX_ANY);
}
