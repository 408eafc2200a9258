/* Modules: an image handed over, its globals, and taken away again. */
#include <stdint.h>
#include <string.h>

#include "checked.h"
#include "fail.h"
#include "hip_driver.h"
#include "memory.h"

static void free_module(const slwi_hip_state *hip, slwi_hip_module *module, int forked) {
    /* In a forked child a thread of the parent may seem to hold one for ever (pitfall 18). */
    for (uint32_t i = 0; !forked && i < module->function_count; i++) {
        (void)pthread_mutex_destroy(&module->functions[i].lock);
    }
    slwi_hip_copy_drop(&module->copy);
    slwi_free(&hip->allocator, module);
}

static slw_code make_module(const slwi_hip_state *hip, const slw_driver_image *image, slwi_hip_module **out,
                            slw_error *err) {
    const slw_contract *const contract = image->contract;
    size_t size = 0;
    if (slwi_mul_size(contract->kernel_count, sizeof(slwi_hip_function), &size) ||
        slwi_add_size(size, sizeof(slwi_hip_module), &size)) {
        return slwi_fail_memory(err, SIZE_MAX);
    }
    slwi_hip_module *const module = slwi_alloc_zero(&hip->allocator, size);
    if (module == NULL) return slwi_fail_memory(err, size);
    module->contract = contract;
    for (; module->function_count < contract->kernel_count; module->function_count++) {
        slwi_hip_function *const function = &module->functions[module->function_count];
        function->kernel = &contract->kernels[module->function_count];
        function->module = module;
        if (pthread_mutex_init(&function->lock, NULL) == 0) continue;
        free_module(hip, module, 0);
        return slwi_fail(err, SLW_E_NO_MEMORY, NULL, "no mutex for a kernel");
    }
    const slw_code code = slwi_hip_copy_make(image->bytes, &module->copy, err);
    if (code != SLW_OK) {
        free_module(hip, module, 0);
        return code;
    }
    *out = module;
    return SLW_OK;
}

/* ---- The call ---------------------------------------------------------------------------------------------------- */

/* Loads with the device current, to which the module belongs from then on. An image is blamed only by a device that is
   healthy afterwards (pitfall 13). hipModuleLoadData: what loads from a file keeps a descriptor (device.md G 35). */
static slw_code hand_over(const slwi_hip_state *hip, slwi_hip_module *module, int *at_fault, slw_error *err) {
    int previous = -1;
    const slw_code code = slwi_hip_enter(hip, &previous, err);
    if (code != SLW_OK) return code;
    const int mode = slwi_hip_relax_capture(hip);
    slwi_hip_native_module *native = NULL;
    slwi_hip_result result = hip->api.hipModuleLoadData(&native, module->copy.pages);
    if (slwi_hip_result_blames_image(result)) {
        slwi_hip_clear(hip);
        const slwi_hip_result health = slwi_hip_pulse(hip);
        if (health == SLWI_HIP_SUCCESS) *at_fault = 1;
        if (slwi_hip_result_is_sticky(health)) result = health;
    }
    slwi_hip_restore_capture(hip, mode);
    slwi_hip_leave(hip, previous);
    if (result != SLWI_HIP_SUCCESS) return slwi_hip_fail(hip, result, NULL, "HIP refuses the image", err);
    module->native = native;
    return SLW_OK;
}

slw_code slwi_hip_load(void *state, const slw_driver_image *image, void **module, int *at_fault, slw_error *err) {
    const slwi_hip_state *const hip = state;
    *at_fault = 0;
    if (image->contract == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "an image needs its contract");
    slw_code code = slwi_hip_image_check(image->bytes, image->contract->kind, err);
    if (code != SLW_OK) {
        *at_fault = code == SLW_E_INVALID_BINARY; /* by the bytes alone, not by the contract */
        return code;
    }
    slwi_hip_module *fresh = NULL;
    code = make_module(hip, image, &fresh, err);
    if (code != SLW_OK || fresh == NULL) return code;
    code = hand_over(hip, fresh, at_fault, err);
    if (code != SLW_OK) {
        free_module(hip, fresh, 0);
        return code;
    }
    *module = fresh;
    return SLW_OK;
}

/* ---- Afterwards -------------------------------------------------------------------------------------------------- */

/* Whatever HIP says now is no news that anybody could use: 3 and 4 at the end of a process, 400 and 500 of a module
   that a device reset has taken, a sticky error. */
static void take_away(const slwi_hip_state *hip, slwi_hip_native_module *native) {
    int previous = -1;
    slwi_hip_result result = slwi_hip_push(hip, &previous);
    if (result != SLWI_HIP_SUCCESS) {
        /* A first refusal may be the news of earlier work; only a second is about the device. */
        slwi_hip_clear(hip);
        result = slwi_hip_push(hip, &previous);
    }
    if (result != SLWI_HIP_SUCCESS) {
        slwi_hip_clear(hip);
        return;
    }
    const int mode = slwi_hip_relax_capture(hip);
    if (hip->api.hipModuleUnload(native) != SLWI_HIP_SUCCESS) slwi_hip_clear(hip);
    slwi_hip_restore_capture(hip, mode);
    slwi_hip_leave(hip, previous);
}

/* The bytes go last: until the module is unloaded HIP points into them. */
void slwi_hip_unload(void *state, void *module, int forked) {
    const slwi_hip_state *const hip = state;
    slwi_hip_module *const leaving = module;
    if (!forked && leaving->native != NULL) take_away(hip, leaving->native);
    free_module(hip, leaving, forked);
}

slw_code slwi_hip_global(void *state, void *module, const char *name, slw_device_address *address, uint64_t *size_bytes,
                         slw_error *err) {
    const slwi_hip_state *const hip = state;
    const slwi_hip_module *const loaded = module;
    if (!slwi_hip_can(hip, SLWI_HIP_CAN(hipModuleGetGlobal))) {
        return slwi_fail(err, SLW_E_UNSUPPORTED, NULL, "this HIP has no hipModuleGetGlobal");
    }
    void *found = NULL;
    size_t size = 0;
    int previous = -1;
    const slw_code code = slwi_hip_enter(hip, &previous, err);
    if (code != SLW_OK) return code;
    const slwi_hip_result result = hip->api.hipModuleGetGlobal(&found, &size, loaded->native, name);
    slwi_hip_leave(hip, previous);
    if (result == SLWI_HIP_NOT_FOUND) {
        slwi_hip_clear(hip);
        slwi_error_subject(err, name, strlen(name));
        return slwi_fail(err, SLW_E_MISS, "NO_GLOBAL", "the module has no global \"%.128s\"", name);
    }
    if (result != SLWI_HIP_SUCCESS) return slwi_hip_fail(hip, result, NULL, "finding a global", err);
    *address = (slw_device_address)(uintptr_t)found;
    *size_bytes = size;
    return SLW_OK;
}

void *slwi_hip_function_handle(void *function) {
    return ((slwi_hip_function *)function)->native;
}

void *slwi_hip_module_handle(void *module) {
    return ((slwi_hip_module *)module)->native;
}
