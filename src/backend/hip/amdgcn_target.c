#include "amdgcn_target.h"

#include <string.h>

#include "fail.h"

#define FLAGS_OFFSET 48u

/* ---- names ---- */

static slw_bytes part(slw_bytes text, size_t from, size_t to) {
    slw_bytes out = {(const char *)text.data + from, to - from};
    return out;
}

/* The next '-' from `from`, or the end. */
static size_t dash(slw_bytes text, size_t from) {
    if (from >= text.size) return text.size;
    const char *start = (const char *)text.data + from;
    const char *found = memchr(start, '-', text.size - from);
    return found == NULL ? text.size : from + (size_t)(found - start);
}

int slwi_amdgcn_split(slw_bytes text, slw_bytes *triple, slw_bytes *target) {
    size_t vendor = dash(text, 0);
    if (vendor == text.size) return 0;
    size_t system = dash(text, vendor + 1);
    if (system == text.size) return 0;
    size_t environment = dash(text, system + 1);
    if (environment == text.size) { /* nothing behind the system */
        *triple = text;
        *target = part(text, text.size, text.size);
        return 1;
    }
    slw_bytes rest = part(text, environment + 1, text.size);
    if (rest.size > 3 && memcmp(rest.data, "gfx", 3) == 0) { /* no environment */
        *triple = part(text, 0, environment);
        *target = rest;
        return 1;
    }
    size_t end = dash(text, environment + 1);
    *triple = part(text, 0, end);
    *target = part(text, end == text.size ? end : end + 1, text.size);
    return 1;
}

/* ---- the header's flags ---- */

/* Numbers of EF_AMDGPU_MACH (LLVM, "AMDGPUUsage", "AMDGPU ELF Header e_flags"). The last column is 1 where xnack is not
   selectable though the hardware has it: there a target id does not say it, whatever the flags do. */
typedef struct machine {
    const char *processor;
    uint8_t number;
    uint8_t fixed_xnack;
} machine;

static const machine machines[] = {
    {"gfx600", 0x20, 0},          {"gfx601", 0x21, 0},          {"gfx700", 0x22, 0},        {"gfx701", 0x23, 0},
    {"gfx702", 0x24, 0},          {"gfx703", 0x25, 0},          {"gfx704", 0x26, 0},        {"gfx801", 0x28, 0},
    {"gfx802", 0x29, 0},          {"gfx803", 0x2a, 0},          {"gfx810", 0x2b, 0},        {"gfx900", 0x2c, 0},
    {"gfx902", 0x2d, 0},          {"gfx904", 0x2e, 0},          {"gfx906", 0x2f, 0},        {"gfx908", 0x30, 0},
    {"gfx909", 0x31, 0},          {"gfx90c", 0x32, 0},          {"gfx1010", 0x33, 0},       {"gfx1011", 0x34, 0},
    {"gfx1012", 0x35, 0},         {"gfx1030", 0x36, 0},         {"gfx1031", 0x37, 0},       {"gfx1032", 0x38, 0},
    {"gfx1033", 0x39, 0},         {"gfx602", 0x3a, 0},          {"gfx705", 0x3b, 0},        {"gfx805", 0x3c, 0},
    {"gfx1035", 0x3d, 0},         {"gfx1034", 0x3e, 0},         {"gfx90a", 0x3f, 0},        {"gfx940", 0x40, 0},
    {"gfx1100", 0x41, 0},         {"gfx1013", 0x42, 0},         {"gfx1150", 0x43, 0},       {"gfx1103", 0x44, 0},
    {"gfx1036", 0x45, 0},         {"gfx1101", 0x46, 0},         {"gfx1102", 0x47, 0},       {"gfx1200", 0x48, 0},
    {"gfx1250", 0x49, 1},         {"gfx1151", 0x4a, 0},         {"gfx941", 0x4b, 0},        {"gfx942", 0x4c, 0},
    {"gfx1201", 0x4e, 0},         {"gfx950", 0x4f, 0},          {"gfx1310", 0x50, 1},       {"gfx9-generic", 0x51, 0},
    {"gfx10-1-generic", 0x52, 0}, {"gfx10-3-generic", 0x53, 0}, {"gfx11-generic", 0x54, 0}, {"gfx1152", 0x55, 0},
    {"gfx1154", 0x57, 0},         {"gfx1153", 0x58, 0},         {"gfx12-generic", 0x59, 0}, {"gfx1251", 0x5a, 1},
    {"gfx12-5-generic", 0x5b, 1}, {"gfx1172", 0x5c, 0},         {"gfx1170", 0x5d, 0},       {"gfx1171", 0x5e, 0},
    {"gfx9-4-generic", 0x5f, 0},  {"gfx11-7-generic", 0x62, 0}, {"gfx13-generic", 0x63, 1},
};

static const machine *machine_of(uint32_t number) {
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        if (machines[i].number == number) return &machines[i];
    }
    return NULL;
}

const char *slwi_amdgcn_machine(uint32_t number) {
    const machine *is = machine_of(number);
    return is == NULL ? NULL : is->processor;
}

/* Two bits: 0 the processor has it not, 1 either, 2 off, 3 on. A target id tells only off and on. */
static uint32_t mode_of(uint32_t bits) {
    switch (bits & 3u) {
    case 2:
        return SLWI_GFX_OFF;
    case 3:
        return SLWI_GFX_ON;
    default:
        return SLWI_GFX_ANY;
    }
}

/* What the flags say; the processor is empty for a number that is not known. */
static void gfx_of_flags(uint32_t flags, const machine *is, slwi_gfx *out) {
    memset(out, 0, sizeof(*out));
    if (is != NULL) memcpy(out->processor, is->processor, strlen(is->processor) + 1);
    out->xnack = is != NULL && is->fixed_xnack ? SLWI_GFX_ANY : mode_of(flags >> 8);
    out->sramecc = mode_of(flags >> 10);
    out->generic_version = flags >> 24;
}

/* ---- both ---- */

static slw_code bad_target(const slwi_amdgcn *r, slw_code code, const char *reason, const char *what) {
    if (r->elf.name != NULL) slwi_error_path(r->err, r->elf.name);
    slwi_error_place(r->err, 0, 0, r->note_offset + r->target_at);
    slwi_error_subject(r->err, r->target.data, r->target.size);
    return slwi_fail(r->err, code, reason, "amdhsa.target %s", what);
}

static slw_code gfx_of_note(const slwi_amdgcn *r, slwi_gfx *out) {
    char text[64];
    slw_bytes triple;
    slw_bytes target;
    if (!slwi_amdgcn_split(r->target, &triple, &target) || target.size == 0) {
        return bad_target(r, SLW_E_INVALID_BINARY, "BAD_TARGET", "is not a triple and a processor");
    }
    if (target.size >= sizeof(text) || memchr(target.data, 0, target.size) != NULL) {
        return bad_target(r, SLW_E_INVALID_BINARY, "BAD_TARGET", "has a processor that is no name");
    }
    memcpy(text, target.data, target.size);
    text[target.size] = '\0';
    if (slwi_gfx_parse(text, out)) return SLW_OK;
    return bad_target(r, SLW_E_UNSUPPORTED_INPUT, "TARGET",
                      "names a processor or a feature this library does not know");
}

static slw_code disagree(const slwi_amdgcn *r, const char *subject, const char *note, const char *flags) {
    if (r->elf.name != NULL) slwi_error_path(r->err, r->elf.name);
    slwi_error_place(r->err, 0, 0, FLAGS_OFFSET);
    slwi_error_subject(r->err, subject, strlen(subject));
    return slwi_fail(r->err, SLW_E_CONTRACT_MISMATCH, "TARGET", "the note says %s for %s, the ELF flags say %s", note,
                     subject, flags);
}

static const char *mode_name(uint32_t mode) {
    if (mode == SLWI_GFX_ON) return "on";
    return mode == SLWI_GFX_OFF ? "off" : "either";
}

slw_code slwi_amdgcn_target(const slwi_amdgcn *r, char out[64]) {
    const machine *is = machine_of(r->elf.flags & 0xffu);
    slwi_gfx flags;
    slwi_gfx note = {{0}, 0, 0, 0};
    gfx_of_flags(r->elf.flags, is, &flags);
    if (r->target.size == 0) {
        if (is == NULL) {
            return slwi_amdgcn_bad_note(
                r, "MISSING", 0, "amdhsa.target", NULL,
                "the target is not there, and the ELF flags name a processor that is not known");
        }
        slwi_gfx_format(&flags, out);
        return SLW_OK;
    }
    slw_code rc = gfx_of_note(r, &note);
    if (rc != SLW_OK) return rc;
    if (is != NULL && strcmp(note.processor, flags.processor) != 0) {
        return disagree(r, "processor", note.processor, flags.processor);
    }
    if (note.sramecc != flags.sramecc) {
        return disagree(r, "sramecc", mode_name(note.sramecc), mode_name(flags.sramecc));
    }
    /* A newer processor may have modes that cannot be selected: then the note is right to be silent. */
    int silent = note.xnack == SLWI_GFX_ANY && (is == NULL || is->fixed_xnack);
    if (note.xnack != flags.xnack && !silent) {
        return disagree(r, "xnack", mode_name(note.xnack), mode_name(flags.xnack));
    }
    slwi_gfx_format(&note, out);
    return SLW_OK;
}
