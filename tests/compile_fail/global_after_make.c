/* expect: gcc=ACCEPT clang=REJECT
 * gcc-pattern: -
 * clang-pattern: requires holding [a-z-]+ kernel
 * A device-loaded kernel that became launchable is spent. */
#include <slipway/slipway.h>

slw_code misuse(slw_device_loaded *l, const slw_launch_shape *shape, slw_error *e) SLW_ENDS(l);
slw_code misuse(slw_device_loaded *l, const slw_launch_shape *shape, slw_error *e) {
    slw_launchable *r = NULL;
    if (slw_make_launchable(&l, shape, &r, e) != SLW_OK) {
        slw_device_loaded_discard(&l);
        return 1;
    }
    slw_device_address a = 0;
    uint64_t n = 0;
    const slw_code rc = slw_device_loaded_global(l, "table", &a, &n, e);
    slw_launchable_discard(&r);
    return rc;
}
