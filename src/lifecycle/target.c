/* Is an image for this device? The rules are key's (target.h); here they meet a contract and a device. */
#include <string.h>

#include "fail.h"
#include "preflight.h"
#include "target.h"

/* Contracts of other backends than ours say no kind: their targets are compared as the host's are, for equality. */
static slw_image_kind kind_of(const slw_contract *contract) {
    if (contract->kind != SLW_IMAGE_UNKNOWN) return contract->kind;
    if (strcmp(contract->backend, "cuda") == 0) return SLW_IMAGE_CUBIN;
    if (strcmp(contract->backend, "hip") == 0) return SLW_IMAGE_HSACO;
    return SLW_IMAGE_HOST;
}

slw_code slwi_preflight_target(const slw_contract *contract, const slw_device_info *info, slw_error *err) {
    const slwi_built_for built = {kind_of(contract), contract->target, contract->isa_version};
    slw_code rc = SLW_OK;
    if (strcmp(contract->backend, info->kind) != 0) {
        slwi_error_subject(err, contract->target, strlen(contract->target));
        rc = slwi_fail(err, SLW_E_TARGET_MISMATCH, "KIND", "built by %.32s for %.100s; %.64s runs %.64s",
                       contract->backend, contract->target, info->name, info->target);
    } else {
        rc = slwi_target_runs(&built, info->target, info->ptx_isa_version, err);
    }
    if (rc != SLW_OK) slwi_error_kernel(err, NULL, info->name);
    return rc;
}
