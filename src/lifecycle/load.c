/* Hydrated to DeviceLoaded. */
#define SLIPWAY_NO_GUARDS
#include "fail.h"
#include "memory.h"
#include "phase.h"
#include "preflight.h"

/* Reads the binary, compares it with its contract and hands it to the driver. */
static slw_code load_image(slwi_core *core, slw_device *device, slwi_module **out, slw_error *err) {
    slwi_image *binary = NULL;
    const slw_code rc = slwi_core_check_binary(core, &binary, err);
    if (rc != SLW_OK) return rc;
    const slw_driver_image image = {
        .size = sizeof image,
        .bytes = slwi_image_bytes(binary),
        .sha256 = core->launch_sha256,
        .contract = core->box->contract,
    };
    return slwi_module_load(device, &image, &core->box->ref, out, err);
}

/* Our own refusals come first and are not kept: they read nothing and ask no driver, and they are about the contract,
   of which one image may have several (the images of a fatbin, the metadata of two entries). Then by digest: a loaded
   image needs no reading, and a failure that the driver blamed on the bytes is told at once. */
static slw_code find_or_load(slwi_core *core, slw_device *device, slwi_module **out, slw_error *err) {
    slw_code rc = slwi_preflight_load(core->box->contract, slwi_device_info(device), err);
    if (rc == SLW_OK) rc = slwi_module_find(device, &core->launch_sha256, out, err);
    if (rc == SLW_E_MISS) rc = load_image(core, device, out, err);
    return rc;
}

slw_code slw_device_load(slw_hydrated **from, slw_device *device, slw_device_loaded **out, slw_error *err) {
    slwi_error_reset(err);
    if (from == NULL || *from == NULL || (*from)->tag != SLWI_TAG_HYDRATED) return slwi_wrong_object(err, "from");
    if (device == NULL || out == NULL)
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_device_load needs a device and `out`");
    slw_error spare;
    slw_error *record = slwi_error_or(err, &spare);
    slw_hydrated *hydrated = *from;
    slwi_core *core = hydrated->core;
    slwi_moment moment = slwi_moment_of(core->origin, core->box->contract, SLW_PHASE_DEVICE_LOAD);
    moment.bytes = core->launch_bytes;

    /* The handle first: after the load nothing may fail that would have to unload again. */
    slw_device_loaded *loaded = slwi_alloc_zero(&hydrated->allocator, sizeof *loaded);
    slw_code rc = slwi_device_check(device, record);
    if (loaded == NULL)
        rc = slwi_fail_memory(record, sizeof *loaded);
    else if (rc == SLW_OK)
        rc = find_or_load(core, device, &loaded->module, record);
    if (rc != SLW_OK || loaded == NULL) {
        slwi_error_phase(record, "device_load");
        slwi_free(&hydrated->allocator, loaded);
        return slwi_moment_send(&moment, rc, record);
    }
    loaded->tag = SLWI_TAG_LOADED;
    loaded->allocator = hydrated->allocator;
    loaded->origin = slwi_retain(core->origin);
    loaded->box = slwi_retain(core->box);
    *out = loaded;
    *from = NULL;
    (void)slwi_moment_send(&moment, SLW_OK, NULL);
    /* With the last share goes the payload memory: the driver has its own copy (pitfall 29). */
    slw_hydrated_discard(&hydrated);
    return SLW_OK;
}

static int is_loaded(const slw_device_loaded *loaded) {
    return loaded != NULL && loaded->tag == SLWI_TAG_LOADED;
}

slw_code slw_device_loaded_share(const slw_device_loaded *loaded, slw_device_loaded **out, slw_error *err) {
    slwi_error_reset(err);
    if (!is_loaded(loaded)) return slwi_wrong_object(err, "loaded");
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "slw_device_loaded_share needs `out`");
    slw_device_loaded *share = slwi_alloc(&loaded->allocator, sizeof *share);
    if (share == NULL) return slwi_fail_memory(err, sizeof *share);
    *share = *loaded;
    (void)slwi_retain(share->origin);
    (void)slwi_retain(share->box);
    (void)slwi_retain(share->module);
    *out = share;
    return SLW_OK;
}

const slw_contract *slw_device_loaded_contract(const slw_device_loaded *loaded) {
    return is_loaded(loaded) ? loaded->box->contract : NULL;
}

slw_code slw_device_loaded_attributes(const slw_device_loaded *loaded, const char *entry, slw_function_attributes *out,
                                      slw_error *err) {
    slwi_error_reset(err);
    if (!is_loaded(loaded)) return slwi_wrong_object(err, "loaded");
    if (out == NULL || out->size != sizeof *out)
        return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE", "slw_function_attributes is NULL or of another version");
    const slw_kernel_contract *kernel = NULL;
    slw_code rc = slwi_find_kernel(loaded->box->contract, entry, &kernel, err);
    if (rc != SLW_OK) return rc;
    void *function = NULL;
    slw_function_attributes measured = SLW_FUNCTION_ATTRIBUTES_INIT;
    rc = slwi_module_function(loaded->module, kernel, &function, &measured, err);
    if (rc == SLW_OK) *out = measured;
    return rc;
}

slw_code slw_device_loaded_global(const slw_device_loaded *loaded, const char *name, slw_device_address *out_address,
                                  uint64_t *out_size_bytes, slw_error *err) {
    slwi_error_reset(err);
    if (!is_loaded(loaded)) return slwi_wrong_object(err, "loaded");
    if (name == NULL || out_address == NULL || out_size_bytes == NULL)
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_device_loaded_global needs a name and both outputs");
    slw_device_address address = 0;
    uint64_t size_bytes = 0;
    const slw_code rc = slwi_module_global(loaded->module, name, &address, &size_bytes, err);
    if (rc != SLW_OK) return rc;
    *out_address = address;
    *out_size_bytes = size_bytes;
    return SLW_OK;
}

void *slw_device_loaded_native_module(const slw_device_loaded *loaded) {
    return is_loaded(loaded) ? slwi_module_native(loaded->module) : NULL;
}

void slw_device_loaded_discard(slw_device_loaded **loaded) {
    if (loaded == NULL || !is_loaded(*loaded)) return;
    slw_device_loaded *handle = *loaded;
    *loaded = NULL;
    slwi_release(handle->module);
    slwi_release(handle->box);
    slwi_release(handle->origin);
    slwi_handle_free(&handle->allocator, &handle->tag, handle);
}
