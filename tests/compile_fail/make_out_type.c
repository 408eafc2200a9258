/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: not compatible with any (generic )?association
 * clang-pattern: not compatible with any (generic )?association
 * slw_make_launchable makes a launchable. */
#include <slipway/slipway.h>

slw_code misuse(slw_device_loaded *from, const slw_launch_shape *shape, slw_error *e);
slw_code misuse(slw_device_loaded *from, const slw_launch_shape *shape, slw_error *e) {
    slw_device_loaded *out = NULL;
    if (slw_make_launchable(&from, shape, &out, e) != SLW_OK) {
        slw_device_loaded_discard(&from);
        return 1;
    }
    slw_device_loaded_discard(&out);
    return SLW_OK;
}
