/* expect: gcc=ACCEPT clang=REJECT
 * gcc-pattern: -
 * clang-pattern: that was not held
 * What is discarded is not discarded again. */
#include <slipway/slipway.h>

slw_code misuse(slw_device_loaded *l, const slw_launch_shape *shape, slw_error *e) SLW_ENDS(l);
slw_code misuse(slw_device_loaded *l, const slw_launch_shape *shape, slw_error *e) {
    slw_launchable *r = NULL;
    if (slw_make_launchable(&l, shape, &r, e) != SLW_OK) {
        slw_device_loaded_discard(&l);
        return 1;
    }
    slw_launchable_discard(&r);
    slw_launchable_discard(&r);
    return SLW_OK;
}
