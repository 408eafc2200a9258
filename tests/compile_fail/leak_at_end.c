/* expect: gcc=ACCEPT clang=REJECT
 * gcc-pattern: -
 * clang-pattern: still held|not held on every path
 * A launchable has to be discarded. */
#include <slipway/slipway.h>

slw_code misuse(slw_device_loaded *l, const slw_launch_shape *shape, slw_error *e) SLW_ENDS(l);
slw_code misuse(slw_device_loaded *l, const slw_launch_shape *shape, slw_error *e) {
    slw_launchable *r = NULL;
    if (slw_make_launchable(&l, shape, &r, e) != SLW_OK) {
        slw_device_loaded_discard(&l);
        return 1;
    }
    const slw_stream stream = SLW_STREAM_DEFAULT;
    const slw_grid grid = SLW_GRID_INIT;
    return slw_launch(r, &grid, stream, NULL, e);
}
