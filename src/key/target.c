/* Which image runs on which device: the vendors told apart. Their rules stand in target_cuda.c and target_hip.c. */
#include <string.h>

#include "fail.h"
#include "host_target.h"
#include "target_rules.h"

/* Device names are told apart by how they begin; what is neither vendor's is a processor's triple, or "host". */
typedef enum device_family { DEVICE_HOST, DEVICE_CUDA, DEVICE_HIP } device_family;

static device_family family_of(const char *device) {
    if (strncmp(device, "sm_", 3) == 0) return DEVICE_CUDA;
    if (strncmp(device, "gfx", 3) == 0) return DEVICE_HIP;
    return DEVICE_HOST;
}

static int kind_is_of(slw_image_kind kind, device_family family) {
    switch (family) {
    case DEVICE_CUDA:
        return kind == SLW_IMAGE_CUBIN || kind == SLW_IMAGE_PTX;
    case DEVICE_HIP:
        return kind == SLW_IMAGE_HSACO;
    case DEVICE_HOST:
        return kind == SLW_IMAGE_HOST;
    }
    return 0;
}

/* Names that are not understood are no proof of anything but their own equality. */
static slwi_target_verdict not_understood(const slwi_built_for *built, const char *device) {
    slwi_target_verdict verdict = {NULL, NULL, NULL};
    if (strcmp(built->target, device) != 0) {
        verdict.reason = "ARCHITECTURE";
        verdict.why = "the device's name is not understood and is not that target";
    }
    return verdict;
}

static slwi_target_verdict host_runs(const slwi_built_for *built, const char *device) {
    slwi_target_verdict verdict = {NULL, NULL, NULL};
    const char *runs = strcmp(device, "host") == 0 ? slwi_host_target() : device;
    if (strcmp(built->target, runs) != 0) {
        verdict.reason = "ARCHITECTURE";
        verdict.why = "host code runs only on its own processor, system and C library";
    }
    return verdict;
}

static slwi_target_verdict judge(const slwi_built_for *built, const char *device, uint32_t device_isa) {
    const device_family family = family_of(device);
    slwi_target_verdict verdict = {NULL, NULL, NULL};
    slwi_sm sm;
    slwi_gfx gfx;
    if (built->kind == SLW_IMAGE_LTO_IR) {
        verdict.reason = "KIND";
        verdict.why = "LTO IR has to be linked before anything loads it";
        verdict.hint = "Link it with nvlink -lto or nvJitLink into a cubin.";
    } else if (!kind_is_of(built->kind, family)) {
        verdict.reason = "KIND";
        verdict.why = "it is another kind of device's image";
    } else if (built->target == NULL) {
        verdict.reason = "ARCHITECTURE";
        verdict.why = "the image does not say what it was built for";
    } else if (family == DEVICE_HOST) {
        verdict = host_runs(built, device);
    } else if (family == DEVICE_HIP) {
        verdict = slwi_gfx_parse(device, &gfx) ? slwi_hsaco_runs(built, &gfx) : not_understood(built, device);
    } else if (!slwi_sm_parse(device, &sm)) {
        verdict = not_understood(built, device);
    } else if (built->kind == SLW_IMAGE_PTX) {
        verdict = slwi_ptx_runs(built, &sm, device_isa);
    } else {
        verdict = slwi_cubin_runs(built, &sm);
    }
    return verdict;
}

slw_code slwi_target_runs(const slwi_built_for *built, const char *device_target, uint32_t device_isa, slw_error *err) {
    const slwi_target_verdict verdict = judge(built, device_target, device_isa);
    if (verdict.reason == NULL) return SLW_OK;
    const char *target = built->target != NULL ? built->target : "?";
    slwi_error_subject(err, target, strlen(target));
    if (verdict.hint != NULL) slwi_error_hint(err, verdict.hint);
    return slwi_fail(err, SLW_E_TARGET_MISMATCH, verdict.reason,
                     "built for %.100s%s%.16s, and the device runs %.100s: %s", target,
                     built->isa_version != NULL ? ", PTX " : "", built->isa_version != NULL ? built->isa_version : "",
                     device_target, verdict.why);
}

uint32_t slwi_target_rank(const slwi_built_for *built, const char *device_target) {
    slwi_sm sm;
    slwi_gfx gfx;
    if (judge(built, device_target, 0).reason != NULL) return 0;
    if (built->kind == SLW_IMAGE_HSACO && slwi_gfx_parse(device_target, &gfx)) return slwi_hsaco_rank(built, &gfx);
    if (built->kind == SLW_IMAGE_PTX && slwi_sm_parse(device_target, &sm)) return slwi_ptx_rank(built);
    if (built->kind == SLW_IMAGE_CUBIN && slwi_sm_parse(device_target, &sm)) return slwi_cubin_rank(built, &sm);
    return 1; /* equal names that are not understood, or host code */
}
