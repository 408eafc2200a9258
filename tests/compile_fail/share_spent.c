/* expect: gcc=ACCEPT clang=REJECT
 * gcc-pattern: -
 * clang-pattern: requires holding [a-z-]+ kernel
 * A spent handle cannot be shared. */
#include <slipway/slipway.h>

slw_code misuse(slw_device_loaded *l, const slw_launch_shape *shape, slw_error *e) SLW_ENDS(l);
slw_code misuse(slw_device_loaded *l, const slw_launch_shape *shape, slw_error *e) {
    slw_device_loaded_discard(&l);
    slw_device_loaded *share = NULL;
    if (slw_device_loaded_share(l, &share, e) != SLW_OK) return 1;
    slw_device_loaded_discard(&share);
    return shape->size > 9999;
}
