/* slw_launch: no allocation, no lock, no record; one flag is written, at the first success. */
#define SLIPWAY_NO_GUARDS
#include "launch.h"

#include "clock.h"
#include "fail.h"
#include "preflight.h"

static slw_code bad_argument(slw_error *err, const slwi_launch_core *core, const char *resource, uint64_t required,
                             uint64_t given, const char *unit, uint32_t index) {
    slwi_error_amount(err, resource, given, required, unit); /* asked for, and what there may be */
    slwi_error_kernel(err, core->kernel->name, slwi_device_info(core->device)->name);
    if (index == UINT32_MAX)
        return slwi_fail(err, SLW_E_INVALID_LAUNCH, "BAD_COUNT", "%.128s takes %llu arguments and %llu were given",
                         core->kernel->name, (unsigned long long)required, (unsigned long long)given);
    return slwi_fail(err, SLW_E_INVALID_LAUNCH, "BAD_SIZE", "%.128s: argument %u has %llu bytes and %llu were given",
                     core->kernel->name, (unsigned)index, (unsigned long long)required, (unsigned long long)given);
}

/* The caller's parameters against the contract: their count at every launch (pitfall 10), their sizes where given. */
static slw_code check_arguments(const slwi_launch_core *core, const slw_args *args, slw_error *err) {
    const uint32_t count = args != NULL ? args->count : 0;
    if (args != NULL && args->size != sizeof *args)
        return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE", "slw_args.size is not this version's");
    if (count != core->caller_params)
        return bad_argument(err, core, "arguments", core->caller_params, count, "arguments", UINT32_MAX);
    if (count == 0) return SLW_OK;
    if (args->values == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "slw_args.values is NULL");
    const slw_kernel_contract *kernel = core->kernel;
    uint32_t at = 0;
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        if (kernel->params[i].role != SLW_ROLE_CALLER) continue;
        if (args->values[at] == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "argument %u is NULL", (unsigned)at);
        if (args->sizes_bytes != NULL && args->sizes_bytes[at] != kernel->params[i].size_bytes)
            return bad_argument(err, core, "argument", kernel->params[i].size_bytes, args->sizes_bytes[at], "bytes",
                                at);
        at++;
    }
    return SLW_OK;
}

/* Every parameter of the contract in its place: the caller's, the scratch addresses, zeros for what the system
   fills. */
static void lay_out(const slw_kernel_contract *kernel, const slw_args *args, slw_grid *grid, void **params) {
    static uint64_t zeros[SLWI_HIDDEN_BYTES / sizeof(uint64_t)]; /* only ever read */
    uint32_t at = 0;
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        switch (kernel->params[i].role) {
        case SLW_ROLE_CALLER:
            params[i] = args->values[at++];
            break;
        case SLW_ROLE_GLOBAL_SCRATCH:
            params[i] = &grid->global_scratch;
            break;
        case SLW_ROLE_PROFILE_SCRATCH:
            params[i] = &grid->profile_scratch;
            break;
        case SLW_ROLE_HIDDEN:
            params[i] = zeros;
            break;
        }
    }
}

/* All blocks of a cooperative grid run at once, or none does. The grid was checked: below 2^31 by 2^16 by 2^16. */
static slw_code check_cooperative(const slwi_launch_core *core, const uint32_t blocks[3], slw_error *err) {
    const uint64_t total = (uint64_t)blocks[0] * blocks[1] * blocks[2];
    if (total <= core->most_blocks) return SLW_OK;
    const slw_device_info *info = slwi_device_info(core->device);
    slwi_error_amount(err, "cooperative grid", total, core->most_blocks, "blocks");
    slwi_error_kernel(err, core->kernel->name, info->name);
    return slwi_fail(err, SLW_E_OUT_OF_RESOURCES, NULL,
                     "%.128s: a cooperative grid of %llu blocks; %.64s runs %llu at once", core->kernel->name,
                     (unsigned long long)total, info->name, (unsigned long long)core->most_blocks);
}

static void send_first_launch(const slwi_launch_core *core) {
    const slw_device_info *info = slwi_device_info(core->device);
    slwi_moment moment = slwi_moment_of(core->origin, core->box->contract, SLW_PHASE_FIRST_LAUNCH);
    moment.target = info->target; /* by the architecture of the device */
    moment.duration_ns = moment.start_ns > core->origin->created_ns ? moment.start_ns - core->origin->created_ns : 0;
    moment.start_ns = core->origin->created_ns;
    (void)slwi_moment_send(&moment, SLW_OK, NULL);
}

static slw_code launch_with(slwi_launch_core *core, slw_driver_launch *launch, const slw_grid *grid,
                            const slw_args *args, slw_error *err) {
    if (core->direct) {
        launch->params = args != NULL ? args->values : NULL;
        return slwi_module_launch(core->module, core->function, launch, err);
    }
    void *params[SLWI_LAUNCH_PARAMETERS];
    slw_grid scratch = *grid; /* the driver is given pointers to what may be written */
    lay_out(core->kernel, args, &scratch, params);
    launch->params = params;
    return slwi_module_launch(core->module, core->function, launch, err);
}

slw_code slw_launch(const slw_launchable *launchable, const slw_grid *grid, slw_stream stream, const slw_args *args,
                    slw_error *err) {
    slwi_error_reset(err);
    if (launchable == NULL || launchable->tag != SLWI_TAG_LAUNCHABLE) return slwi_wrong_object(err, "launchable");
    if (grid == NULL || grid->size != sizeof *grid)
        return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE", "slw_grid is NULL or of another version");
    slwi_launch_core *core = launchable->core;
    const slw_device_info *info = slwi_device_info(core->device);
    const slwi_shape *shape = &core->shape;
    slw_driver_launch launch = {
        .size = sizeof launch,
        .block = {shape->block[0], shape->block[1], shape->block[2]},
        .cluster = {shape->cluster[0], shape->cluster[1], shape->cluster[2]},
        .shared_bytes = shape->shared_bytes,
        .cooperative = shape->cooperative,
        .flags = shape->flags,
        .stream = stream,
        .param_count = core->kernel->param_count,
    };
    /* Whether the device may be used at all is asked where the module is launched, not twice. */
    slw_code rc = check_arguments(core, args, err);
    if (rc == SLW_OK) rc = slwi_preflight_grid(core->kernel, info, shape, grid->extent, launch.blocks, err);
    if (rc == SLW_OK) rc = slwi_preflight_scratch(core->kernel, info, launch.blocks, grid, err);
    if (rc == SLW_OK && shape->cooperative) rc = check_cooperative(core, launch.blocks, err);
    if (rc == SLW_OK) rc = launch_with(core, &launch, grid, args, err);
    if (rc != SLW_OK) {
        slwi_error_phase(err, "launch");
        return rc;
    }
    if (atomic_load_explicit(&core->launched, memory_order_relaxed) == 0 &&
        atomic_exchange_explicit(&core->launched, 1, memory_order_relaxed) == 0 && core->origin->metrics != NULL)
        send_first_launch(core);
    return SLW_OK;
}
