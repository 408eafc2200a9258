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
    uint8_t number;
    const char *processor;
    uint8_t fixed_xnack;
} machine;

static const machine machines[] = {
    {0x20, "gfx600", 0},          {0x21, "gfx601", 0},          {0x22, "gfx700", 0},        {0x23, "gfx701", 0},
    {0x24, "gfx702", 0},          {0x25, "gfx703", 0},          {0x26, "gfx704", 0},        {0x28, "gfx801", 0},
    {0x29, "gfx802", 0},          {0x2a, "gfx803", 0},          {0x2b, "gfx810", 0},        {0x2c, "gfx900", 0},
    {0x2d, "gfx902", 0},          {0x2e, "gfx904", 0},          {0x2f, "gfx906", 0},        {0x30, "gfx908", 0},
    {0x31, "gfx909", 0},          {0x32, "gfx90c", 0},          {0x33, "gfx1010", 0},       {0x34, "gfx1011", 0},
    {0x35, "gfx1012", 0},         {0x36, "gfx1030", 0},         {0x37, "gfx1031", 0},       {0x38, "gfx1032", 0},
    {0x39, "gfx1033", 0},         {0x3a, "gfx602", 0},          {0x3b, "gfx705", 0},        {0x3c, "gfx805", 0},
    {0x3d, "gfx1035", 0},         {0x3e, "gfx1034", 0},         {0x3f, "gfx90a", 0},        {0x40, "gfx940", 0},
    {0x41, "gfx1100", 0},         {0x42, "gfx1013", 0},         {0x43, "gfx1150", 0},       {0x44, "gfx1103", 0},
    {0x45, "gfx1036", 0},         {0x46, "gfx1101", 0},         {0x47, "gfx1102", 0},       {0x48, "gfx1200", 0},
    {0x49, "gfx1250", 1},         {0x4a, "gfx1151", 0},         {0x4b, "gfx941", 0},        {0x4c, "gfx942", 0},
    {0x4e, "gfx1201", 0},         {0x4f, "gfx950", 0},          {0x50, "gfx1310", 1},       {0x51, "gfx9-generic", 0},
    {0x52, "gfx10-1-generic", 0}, {0x53, "gfx10-3-generic", 0}, {0x54, "gfx11-generic", 0}, {0x55, "gfx1152", 0},
    {0x57, "gfx1154", 0},         {0x58, "gfx1153", 0},         {0x59, "gfx12-generic", 0}, {0x5a, "gfx1251", 1},
    {0x5b, "gfx12-5-generic", 1}, {0x5c, "gfx1172", 0},         {0x5d, "gfx1170", 0},       {0x5e, "gfx1171", 0},
    {0x5f, "gfx9-4-generic", 0},  {0x62, "gfx11-7-generic", 0}, {0x63, "gfx13-generic", 1},
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
    slwi_gfx note;
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
