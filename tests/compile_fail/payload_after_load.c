/* expect: gcc=ACCEPT clang=REJECT
 * gcc-pattern: -
 * clang-pattern: requires holding [a-z-]+ kernel
 * After the load the payload views are gone with the handle. */
#include <slipway/slipway.h>

slw_code misuse(slw_hydrated *h, slw_device *device, slw_error *e) SLW_ENDS(h);
slw_code misuse(slw_hydrated *h, slw_device *device, slw_error *e) {
    slw_device_loaded *l = NULL;
    if (slw_device_load(&h, device, &l, e) != SLW_OK) {
        slw_hydrated_discard(&h);
        return 1;
    }
    slw_bytes bytes = {NULL, 0};
    const slw_code rc = slw_hydrated_payload(h, "kernel.so", &bytes, e);
    slw_device_loaded_discard(&l);
    return rc;
}
