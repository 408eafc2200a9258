/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: ignoring return value|unused-result
 * clang-pattern: ignoring return value|unused-result
 * A result must be looked at. */
#include <slipway/slipway.h>

slw_code misuse(slw_device_loaded *from, const slw_launch_shape *shape, slw_launchable *out, slw_error *e);
slw_code misuse(slw_device_loaded *from, const slw_launch_shape *shape, slw_launchable *out, slw_error *e) {
    slw_make_launchable(&from, shape, &out, e);
    return SLW_OK;
}
