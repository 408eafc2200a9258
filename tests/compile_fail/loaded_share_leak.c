/* expect: gcc=ACCEPT clang=REJECT
 * gcc-pattern: -
 * clang-pattern: still held|not held on every path
 * A share is an owner and has to be discarded too. */
#include <slipway/slipway.h>

slw_code misuse(slw_device_loaded *l, const slw_launch_shape *shape, slw_error *e) SLW_ENDS(l);
slw_code misuse(slw_device_loaded *l, const slw_launch_shape *shape, slw_error *e) {
    slw_device_loaded *share = NULL;
    if (slw_device_loaded_share(l, &share, e) != SLW_OK) {
        slw_device_loaded_discard(&l);
        return 1;
    }
    slw_device_loaded_discard(&l);
    return shape->size > 9999;
}
