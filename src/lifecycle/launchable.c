/* DeviceLoaded to Launchable, shares, retiring and the end. */
#define SLIPWAY_NO_GUARDS
#include "launch.h"

#include <string.h>

#include "clock.h"
#include "fail.h"
#include "memory.h"
#include "preflight.h"

/* Counts what a caller passes, and refuses what a launch could not lay out on its stack. */
static slw_code plan_parameters(slwi_launch_core *core, slw_error *err) {
    const slw_kernel_contract *kernel = core->kernel;
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        const slw_param *param = &kernel->params[i];
        if (param->role == SLW_ROLE_CALLER) core->caller_params++;
        if (param->role == SLW_ROLE_HIDDEN && param->size_bytes > SLWI_HIDDEN_BYTES) {
            slwi_error_amount(err, "hidden parameter", param->size_bytes, SLWI_HIDDEN_BYTES, "bytes");
            return slwi_fail(err, SLW_E_LIMIT, NULL, "%.128s has a hidden parameter that is too long", kernel->name);
        }
    }
    core->direct = core->caller_params == kernel->param_count;
    if (!core->direct && kernel->param_count > SLWI_LAUNCH_PARAMETERS) {
        slwi_error_amount(err, "parameters", kernel->param_count, SLWI_LAUNCH_PARAMETERS, "parameters");
        return slwi_fail(err, SLW_E_LIMIT, NULL, "%.128s has too many parameters beside scratch", kernel->name);
    }
    return SLW_OK;
}

static slw_code over_device(const slwi_launch_core *core, const char *resource, uint64_t required, uint64_t limit,
                            const char *unit, slw_error *err) {
    const slw_device_info *info = slwi_device_info(core->device);
    slwi_error_amount(err, resource, required, limit, unit);
    slwi_error_kernel(err, core->kernel->name, info->name);
    return slwi_fail(err, SLW_E_OUT_OF_RESOURCES, NULL,
                     "%.128s: %.64s runs %llu %s of this shape at once, %llu are needed", core->kernel->name,
                     info->name, (unsigned long long)limit, unit, (unsigned long long)required);
}

/* Pitfall 36: what the driver itself says fits. The largest cooperative grid is kept for the launches. */
static slw_code ask_occupancy(slw_device_loaded *loaded, const slw_launch_shape *shape, slwi_launch_core *core,
                              slw_error *err) {
    uint64_t clusters = UINT64_MAX;
    core->most_blocks = UINT64_MAX;
    if (!core->shape.cooperative && core->shape.cluster[0] == 0) return SLW_OK;
    const slw_code rc =
        slwi_module_occupancy(loaded->module, core->function, core->kernel, shape, &core->most_blocks, &clusters, err);
    if (rc != SLW_OK) return rc;
    if (core->shape.cluster[0] != 0 && clusters == 0)
        return over_device(core, "active clusters", 1, 0, "clusters", err);
    if (core->shape.cooperative && core->most_blocks == 0)
        return over_device(core, "cooperative grid", 1, 0, "blocks", err);
    return SLW_OK;
}

static slw_code prepare(slw_device_loaded *loaded, const slw_launch_shape *shape, slwi_launch_core *core, int *differs,
                        slw_error *err) {
    const slw_device *device = slwi_module_device(loaded->module);
    const slw_device_info *info = slwi_device_info(device);
    slw_code rc = slwi_device_check(device, err);
    if (rc == SLW_OK) rc = slwi_find_kernel(loaded->box->contract, shape->entry, &core->kernel, err);
    if (rc == SLW_OK) rc = slwi_preflight_resolve(core->kernel, shape, &core->shape, err);
    if (rc == SLW_OK) rc = slwi_preflight_shape(core->kernel, info, &core->shape, err);
    if (rc == SLW_OK) rc = plan_parameters(core, err);
    if (rc != SLW_OK || core->kernel == NULL) return rc;
    slw_function_attributes measured = SLW_FUNCTION_ATTRIBUTES_INIT;
    rc = slwi_module_function(loaded->module, core->kernel, &core->function, &measured, err);
    if (rc == SLW_OK) rc = slwi_preflight_measured(core->kernel, &measured, info, &core->shape, err);
    if (rc != SLW_OK) return rc;
    *differs = slwi_preflight_differs(core->kernel, &measured);
    slw_launch_shape resolved = *shape;
    resolved.entry = core->kernel->name;
    memcpy(resolved.block, core->shape.block, sizeof resolved.block);
    memcpy(resolved.cluster, core->shape.cluster, sizeof resolved.cluster);
    resolved.shared_bytes = core->shape.shared_bytes;
    resolved.cooperative = core->shape.cooperative;
    resolved.flags = core->shape.flags;
    core->device = device;
    rc = slwi_module_prepare(loaded->module, core->function, core->kernel, &resolved, err);
    return rc == SLW_OK ? ask_occupancy(loaded, &resolved, core, err) : rc;
}

slw_code slw_make_launchable(slw_device_loaded **from, const slw_launch_shape *shape, slw_launchable **out,
                             slw_error *err) {
    slwi_error_reset(err);
    if (from == NULL || *from == NULL || (*from)->tag != SLWI_TAG_LOADED) return slwi_wrong_object(err, "from");
    if (shape == NULL || out == NULL)
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_make_launchable needs a shape and `out`");
    if (shape->size != sizeof *shape || (shape->flags & ~SLWI_LAUNCH_FLAGS) != 0)
        return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE",
                         "slw_launch_shape is of another version, or has flags this version does not know");
    slw_error spare;
    slw_error *record = slwi_error_or(err, &spare);
    slw_device_loaded *loaded = *from;
    slwi_moment moment = slwi_moment_of(loaded->origin, loaded->box->contract, SLW_PHASE_MAKE_LAUNCHABLE);

    slw_launchable *launchable = slwi_alloc_zero(&loaded->allocator, sizeof *launchable);
    slwi_launch_core *core = slwi_alloc_zero(&loaded->allocator, sizeof *core);
    slw_code rc = SLW_OK;
    int differs = 0;
    if (launchable == NULL || core == NULL)
        rc = slwi_fail_memory(record, sizeof *core);
    else
        rc = prepare(loaded, shape, core, &differs, record);
    if (rc != SLW_OK || launchable == NULL || core == NULL) {
        slwi_error_phase(record, "make_launchable");
        slwi_error_kernel(record, NULL, slwi_device_info(slwi_module_device(loaded->module))->name);
        slwi_free(&loaded->allocator, core);
        slwi_free(&loaded->allocator, launchable);
        return slwi_moment_send(&moment, rc, record);
    }
    core->allocator = loaded->allocator;
    core->origin = slwi_retain(loaded->origin);
    core->box = slwi_retain(loaded->box);
    core->module = slwi_retain(loaded->module);
    atomic_init(&core->owners, 1);
    atomic_init(&core->launched, 0);
    launchable->tag = SLWI_TAG_LAUNCHABLE;
    launchable->allocator = loaded->allocator;
    launchable->core = core;
    *out = launchable;
    *from = NULL;
    if (differs) moment.outcome = "DIFFERS"; /* an event, no refusal: what has to fit was checked again and does */
    (void)slwi_moment_send(&moment, SLW_OK, NULL);
    slw_device_loaded_discard(&loaded);
    return SLW_OK;
}

static int is_launchable(const slw_launchable *launchable) {
    return launchable != NULL && launchable->tag == SLWI_TAG_LAUNCHABLE;
}

slw_code slw_launchable_share(const slw_launchable *launchable, slw_launchable **out, slw_error *err) {
    slwi_error_reset(err);
    if (!is_launchable(launchable)) return slwi_wrong_object(err, "launchable");
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "slw_launchable_share needs `out`");
    slw_launchable *share = slwi_alloc(&launchable->allocator, sizeof *share);
    if (share == NULL) return slwi_fail_memory(err, sizeof *share);
    *share = *launchable;
    atomic_fetch_add_explicit(&share->core->owners, 1, memory_order_relaxed);
    *out = share;
    return SLW_OK;
}

const slw_kernel_contract *slw_launchable_kernel(const slw_launchable *launchable) {
    return is_launchable(launchable) ? launchable->core->kernel : NULL;
}

void *slw_launchable_native_function(const slw_launchable *launchable) {
    if (!is_launchable(launchable)) return NULL;
    return slwi_module_native_function(launchable->core->module, launchable->core->function);
}

static void end_launchable(slw_launchable *handle, int unload) {
    slwi_launch_core_drop(handle->core, unload);
    slwi_handle_free(&handle->allocator, &handle->tag, handle);
}

slw_code slw_launchable_retire(slw_launchable **from, const slw_stream *streams, size_t count, uint64_t timeout_ns,
                               slw_error *err) {
    slwi_error_reset(err);
    if (from == NULL || !is_launchable(*from)) return slwi_wrong_object(err, "from");
    if (streams == NULL && count > 0)
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_launchable_retire needs its streams");
    slw_launchable *launchable = *from;
    slw_device *device = slwi_module_device(launchable->core->module);
    const uint64_t deadline_ns = slwi_deadline_ns(timeout_ns, SLWI_RETIRE_TIMEOUT_NS);
    slw_code rc = slwi_device_check(device, err);
    for (size_t i = 0; rc == SLW_OK && i < count; i++) rc = slwi_device_wait_idle(device, streams[i], deadline_ns, err);
    if (rc != SLW_OK) {
        slwi_error_phase(err, "retire");
        return rc;
    }
    *from = NULL;
    end_launchable(launchable, 1);
    return SLW_OK;
}

void slw_launchable_discard(slw_launchable **launchable) {
    if (launchable == NULL || !is_launchable(*launchable)) return;
    slw_launchable *handle = *launchable;
    *launchable = NULL;
    end_launchable(handle, 0);
}
