/* Hydrated: shares, what can be asked of one, and its end. */
#define SLIPWAY_NO_GUARDS
#include "fail.h"
#include "memory.h"
#include "phase.h"

static int is_hydrated(const slw_hydrated *hydrated) {
    return hydrated != NULL && hydrated->tag == SLWI_TAG_HYDRATED;
}

slw_code slw_hydrated_share(const slw_hydrated *hydrated, slw_hydrated **out, slw_error *err) {
    slwi_error_reset(err);
    if (!is_hydrated(hydrated)) return slwi_wrong_object(err, "hydrated");
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "slw_hydrated_share needs `out`");
    slw_hydrated *share = slwi_alloc(&hydrated->allocator, sizeof *share);
    if (share == NULL) return slwi_fail_memory(err, sizeof *share);
    *share = *hydrated;
    (void)slwi_retain(share->core);
    *out = share;
    return SLW_OK;
}

const slw_contract *slw_hydrated_contract(const slw_hydrated *hydrated) {
    return is_hydrated(hydrated) ? hydrated->core->box->contract : NULL;
}

void slw_hydrated_forget_failure(slw_hydrated *hydrated, slw_device *device) {
    if (is_hydrated(hydrated) && device != NULL) slwi_device_forget_failure(device, &hydrated->core->launch_sha256);
}

size_t slw_hydrated_overhead_bytes(const slw_hydrated *hydrated) {
    if (!is_hydrated(hydrated)) return 0;
    const slwi_core *core = hydrated->core;
    size_t bytes = sizeof *hydrated + sizeof *core + core->image_count * sizeof core->images[0];
    bytes += sizeof *core->origin + sizeof *core->box + slwi_contract_overhead_bytes(core->box->contract);
    if (core->entry != NULL) bytes += slwi_entry_overhead_bytes(core->entry);
    return bytes;
}

void slw_hydrated_discard(slw_hydrated **hydrated) {
    if (hydrated == NULL || !is_hydrated(*hydrated)) return;
    slw_hydrated *handle = *hydrated;
    *hydrated = NULL;
    slwi_release(handle->core);
    slwi_handle_free(&handle->allocator, &handle->tag, handle);
}
