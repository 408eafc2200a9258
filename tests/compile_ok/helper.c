/* A helper that takes a handle says what it does with it, as a Rust signature would: it needs, ends, makes or turns. */
#include <slipway/slipway.h>

slw_code launch_one(const slw_launchable *launchable, const slw_args *args, slw_error *err) SLW_NEEDS(launchable);
slw_code launch_one(const slw_launchable *launchable, const slw_args *args, slw_error *err) {
    slw_grid grid = SLW_GRID_INIT;
    grid.extent[0] = grid.extent[1] = grid.extent[2] = 1;
    const slw_stream stream = SLW_STREAM_DEFAULT;
    return slw_launch(launchable, &grid, stream, args, err);
}

/* Cached to device-loaded in one step; what was given is ended here whatever
   happens. */
slw_code to_device(slw_cached *cached, slw_device *device, slw_device_loaded **out, slw_error *err)
    SLW_ENDS(cached) SLW_MAKES(*out);
slw_code to_device(slw_cached *cached, slw_device *device, slw_device_loaded **out, slw_error *err) {
    slw_hydrated *hydrated = NULL;
    slw_code rc = slw_hydrate(&cached, NULL, &hydrated, err);
    if (rc != SLW_OK) {
        slw_cached_discard(&cached);
        return rc;
    }
    rc = slw_device_load(&hydrated, device, out, err);
    if (rc != SLW_OK) {
        slw_hydrated_discard(&hydrated);
        return rc;
    }
    return SLW_OK;
}
