/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: not compatible with any (generic )?association
 * clang-pattern: not compatible with any (generic )?association
 * Only a launchable can be launched. */
#include <slipway/slipway.h>

slw_code misuse(slw_device_loaded *h, slw_error *e);
slw_code misuse(slw_device_loaded *h, slw_error *e) {
    const slw_stream stream = SLW_STREAM_DEFAULT;
    const slw_grid grid = SLW_GRID_INIT;
    return slw_launch(h, &grid, stream, NULL, e);
}
