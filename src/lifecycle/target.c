/* Which target runs on which device. Full target strings: sm_90a is not sm_90. */
#include <string.h>

#include "fail.h"
#include "preflight.h"

typedef struct sm_target {
    uint32_t major;
    uint32_t minor;
    char variant; /* 'a': this device only, 'f': this family, 0: plain */
} sm_target;

/* "sm_90a": the last digit is the minor number. */
static int parse_sm(const char *text, sm_target *out) {
    if (strncmp(text, "sm_", 3) != 0) return 0;
    uint32_t number = 0;
    const char *at = text + 3;
    for (; *at >= '0' && *at <= '9' && number < 100000; at++) number = number * 10 + (uint32_t)(*at - '0');
    if (at < text + 5) return 0; /* at least a major and a minor digit */
    const char variant = *at;
    if (variant != '\0' && ((variant != 'a' && variant != 'f') || at[1] != '\0')) return 0;
    *out = (sm_target){number / 10, number % 10, variant};
    return 1;
}

/* The family of an 'f' target: devices of one major number, as far as they are told apart today. */
static int sm_runs(const char *built, const char *device) {
    sm_target wants;
    sm_target has;
    if (!parse_sm(built, &wants) || !parse_sm(device, &has)) return strcmp(built, device) == 0;
    if (wants.major != has.major) return 0;
    if (wants.variant == 'a') return wants.minor == has.minor;
    return has.minor >= wants.minor;
}

/* Does the device name this feature ("sramecc+") exactly? */
static int has_feature(const char *device, const char *feature, size_t size) {
    for (const char *at = strchr(device, ':'); at != NULL; at = strchr(at + 1, ':')) {
        const size_t length = strcspn(at + 1, ":");
        if (length == size && memcmp(at + 1, feature, size) == 0) return 1;
    }
    return 0;
}

/* "gfx942:sramecc+:xnack-": the same processor, and each feature the binary names is the device's; absent means
   any. */
static int gfx_runs(const char *built, const char *device) {
    const size_t processor = strcspn(built, ":");
    if (processor != strcspn(device, ":") || memcmp(built, device, processor) != 0) return 0;
    for (const char *at = strchr(built, ':'); at != NULL; at = strchr(at + 1, ':'))
        if (!has_feature(device, at + 1, strcspn(at + 1, ":"))) return 0;
    return 1;
}

slw_code slwi_preflight_target(const slw_contract *contract, const slw_device_info *info, slw_error *err) {
    int runs = 0;
    if (strcmp(contract->backend, info->kind) == 0) {
        if (strcmp(info->kind, "cuda") == 0)
            runs = sm_runs(contract->target, info->target);
        else if (strcmp(info->kind, "hip") == 0)
            runs = gfx_runs(contract->target, info->target);
        else
            runs = strcmp(contract->target, info->target) == 0;
    }
    if (runs) return SLW_OK;
    slwi_error_subject(err, contract->target, strlen(contract->target));
    slwi_error_kernel(err, NULL, info->name);
    return slwi_fail(err, SLW_E_TARGET_MISMATCH, NULL, "built by %s for %.100s; %.64s runs %.64s", contract->backend,
                     contract->target, info->name, info->target);
}
