/* NVIDIA's compatibility rules.
 *
 * Sources: the CUDA programming guide, "Binary compatibility" and "PTX compatibility" (a cubin runs on devices of its
 * major number with an equal or higher minor number; PTX on any device of an equal or higher capability), and of its
 * "Feature set compiler targets" ('a': that capability only; 'f': its family, equal or higher minor numbers); the PTX
 * ISA manual, directive .target with its table of families; what ptxas 13.0 and 13.5 compile for what. A family is, so
 * far, the devices of one major number: {100, 103, 107}, {110}, {120, 121}. Newer numbers follow the same rules.
 *
 * sm_101 is the name that PTX ISA 8.6 to 8.8 (CUDA 12.7 to 12.9) had for what 9.0 calls sm_110: one architecture, two
 * names, and no relative of sm_100. The guide grants binary compatibility between desktop and Tegra (sm_87) to nobody
 * either, yet drivers load sm_80 code there; only what is certain is refused, so that is left to the driver. */
#include <string.h>

#include "target_rules.h"

#define FIRST_WITH_VARIANT_A 90u
#define FIRST_WITH_VARIANT_F 100u
#define MOST_DIGITS          5

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

int slwi_sm_parse(const char *text, slwi_sm *out) {
    if (strncmp(text, "sm_", 3) != 0 || text[3] == '0') return 0;
    const char *at = text + 3;
    uint32_t number = 0;
    int digits = 0;
    for (; is_digit(*at) && digits < MOST_DIGITS; digits++) number = number * 10 + (uint32_t)(*at++ - '0');
    if (digits < 2) return 0;
    const char variant = *at;
    if (variant != '\0' && ((variant != 'a' && variant != 'f') || at[1] != '\0')) return 0;
    out->number = number;
    out->variant = variant;
    return 1;
}

/* One number for one architecture. */
static uint32_t one_name(uint32_t number) {
    return number == 101 ? 110 : number;
}

static int same_architecture(uint32_t a, uint32_t b) {
    return one_name(a) == one_name(b);
}

static int same_major_and_not_older(uint32_t built, uint32_t device) {
    return one_name(built) / 10 == one_name(device) / 10 && one_name(built) <= one_name(device);
}

static slwi_target_verdict refuse(const char *reason, const char *why, const char *hint) {
    return (slwi_target_verdict){reason, why, hint};
}

static slwi_target_verdict runs(void) {
    return (slwi_target_verdict){NULL, NULL, NULL};
}

/* The rule of 'a' and 'f', which is the same for machine code and PTX. */
static slwi_target_verdict variant_runs(const slwi_sm *built, const slwi_sm *device) {
    if (built->variant == 'a') {
        if (built->number < FIRST_WITH_VARIANT_A)
            return refuse("VARIANT", "architectures before sm_90 have no variant of their own", NULL);
        if (!same_architecture(built->number, device->number))
            return refuse("VARIANT", "an 'a' target runs on exactly that architecture",
                          "Build for the device's own target, or without the suffix.");
        return runs();
    }
    if (built->number < FIRST_WITH_VARIANT_F)
        return refuse("VARIANT", "architectures before sm_100 have no family variant", NULL);
    if (!same_major_and_not_older(built->number, device->number))
        return refuse("VARIANT", "an 'f' target runs on the later members of its own family",
                      "Build for the device's own target, or without the suffix.");
    return runs();
}

slwi_target_verdict slwi_cubin_runs(const slwi_built_for *built, const slwi_sm *device) {
    slwi_sm sm;
    if (!slwi_sm_parse(built->target, &sm))
        return refuse("ARCHITECTURE", "the image's target is not the name of an architecture", NULL);
    if (sm.variant != 0) return variant_runs(&sm, device);
    if (one_name(sm.number) / 10 != one_name(device->number) / 10)
        return refuse("ARCHITECTURE", "machine code runs on devices of its own major number",
                      "Build for the device's target, or ship PTX beside it.");
    if (!same_major_and_not_older(sm.number, device->number))
        return refuse("ARCHITECTURE", "the device is older than the code", "Build for the device's target.");
    return runs();
}

/* ---- PTX -------------------------------------------------------------------------------------------------------- */

/* The first PTX ISA that knows a target, major × 10 + minor: PTX ISA manual, release notes, as LLVM's NVPTX back end
   had them too (up to sm_72, and sm_101); from sm_75 on confirmed with ptxas 13.0.88 and 13.5.37, which refuse the
   version before. Of sm_88 they say 7.3 and 9.0: the lower one proves nothing wrong. Targets that are not here, newer
   ones above all, have no known minimum. */
typedef struct first_isa {
    uint32_t number;
    uint32_t plain, a, f; /* 0: there is none */
} first_isa;

static const first_isa first_isas[] = {
    {50, 40, 0, 0},    {52, 41, 0, 0},    {53, 42, 0, 0},    {60, 50, 0, 0},    {61, 50, 0, 0},    {62, 50, 0, 0},
    {70, 60, 0, 0},    {72, 61, 0, 0},    {75, 63, 0, 0},    {80, 70, 0, 0},    {86, 71, 0, 0},    {87, 74, 0, 0},
    {88, 73, 0, 0},    {89, 78, 0, 0},    {90, 78, 80, 0},   {100, 86, 86, 88}, {101, 86, 86, 88}, {103, 88, 88, 88},
    {107, 94, 94, 94}, {110, 90, 90, 90}, {120, 87, 87, 88}, {121, 88, 88, 88},
};

static uint32_t first_isa_of(const slwi_sm *sm) {
    for (size_t i = 0; i < sizeof first_isas / sizeof *first_isas; i++) {
        const first_isa *row = &first_isas[i];
        if (row->number == sm->number) return sm->variant == 'a' ? row->a : sm->variant == 'f' ? row->f : row->plain;
    }
    return 0;
}

/* "9.0" -> 90; 0 for anything else. Minor numbers have one digit. */
static uint32_t parse_isa(const char *text) {
    uint32_t major = 0;
    const char *at = text;
    for (int digits = 0; is_digit(*at) && digits < 3; digits++) major = major * 10 + (uint32_t)(*at++ - '0');
    if (at == text || at[0] != '.' || !is_digit(at[1]) || at[2] != '\0') return 0;
    return major * 10 + (uint32_t)(at[1] - '0');
}

static slwi_target_verdict isa_runs(const char *version, const slwi_sm *sm, uint32_t device_isa) {
    const uint32_t isa = parse_isa(version);
    if (isa == 0) return refuse("ISA_VERSION", "that is not a PTX version", NULL);
    if (isa < first_isa_of(sm)) return refuse("ISA_VERSION", "that PTX version does not know its own target yet", NULL);
    if (device_isa != 0 && isa > device_isa)
        return refuse("ISA_VERSION", "the device's driver compiles only older PTX",
                      "Update the driver, build with its toolkit, or ship machine code.");
    return runs();
}

slwi_target_verdict slwi_ptx_runs(const slwi_built_for *built, const slwi_sm *device, uint32_t device_isa) {
    slwi_sm sm;
    if (!slwi_sm_parse(built->target, &sm))
        return refuse("ARCHITECTURE", "the PTX's target is not the name of an architecture", NULL);
    if (sm.variant != 0) {
        const slwi_target_verdict verdict = variant_runs(&sm, device);
        if (verdict.reason != NULL) return verdict;
    } else if (sm.number > device->number && !same_architecture(sm.number, device->number)) {
        return refuse("ARCHITECTURE", "PTX runs on devices of its target or newer ones",
                      "Build for the device's target.");
    }
    return built->isa_version != NULL ? isa_runs(built->isa_version, &sm, device_isa) : runs();
}

/* ---- ranks ------------------------------------------------------------------------------------------------------ */

/* class, number, variant, ISA: 4 + 17 + 2 + 9 bits, in the order of their weight. */
static uint32_t rank(uint32_t class, uint32_t number, char variant, uint32_t isa) {
    const uint32_t variant_rank = variant == 'a' ? 2 : variant == 'f' ? 1 : 0;
    return class << 28 | number << 11 | variant_rank << 9 | (isa < 511 ? isa : 511);
}

uint32_t slwi_cubin_rank(const slwi_built_for *built, const slwi_sm *device) {
    slwi_sm sm;
    if (!slwi_sm_parse(built->target, &sm)) return 1;
    if (sm.variant == 'f') return rank(4, sm.number, sm.variant, 0);
    if (same_architecture(sm.number, device->number)) return rank(5, sm.number, sm.variant, 0);
    return rank(3, sm.number, 0, 0);
}

uint32_t slwi_ptx_rank(const slwi_built_for *built) {
    slwi_sm sm;
    if (!slwi_sm_parse(built->target, &sm)) return 1;
    return rank(2, sm.number, sm.variant, built->isa_version != NULL ? parse_isa(built->isa_version) : 0);
}
