/* The whole way, once: each failure discards what it still owns. */
#include <slipway/slipway.h>

slw_code chain(slw_store *store, const slw_key *key, const slw_spec *spec, slw_device *device, slw_error *err);
slw_code chain(slw_store *store, const slw_key *key, const slw_spec *spec, slw_device *device, slw_error *err) {
    slw_cached *cached = NULL;
    slw_hydrated *hydrated = NULL;
    slw_device_loaded *loaded = NULL;
    slw_launchable *launchable = NULL;
    slw_code rc = slw_store_lookup(store, key, spec, &cached, err);
    if (rc != SLW_OK) return rc;
    rc = slw_hydrate(&cached, NULL, &hydrated, err);
    if (rc != SLW_OK) {
        slw_cached_discard(&cached);
        return rc;
    }
    rc = slw_device_load(&hydrated, device, &loaded, err);
    if (rc != SLW_OK) {
        slw_hydrated_discard(&hydrated);
        return rc;
    }
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    shape.block[0] = 128;
    shape.block[1] = shape.block[2] = 1;
    rc = slw_make_launchable(&loaded, &shape, &launchable, err);
    if (rc != SLW_OK) {
        slw_device_loaded_discard(&loaded);
        return rc;
    }
    slw_grid grid = SLW_GRID_INIT;
    grid.extent[0] = grid.extent[1] = grid.extent[2] = 1;
    const slw_stream stream = SLW_STREAM_DEFAULT;
    rc = slw_launch(launchable, &grid, stream, NULL, err);
    slw_launchable_discard(&launchable);
    return rc;
}
