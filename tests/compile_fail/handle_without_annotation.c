/* expect: gcc=ACCEPT clang=REJECT
 * gcc-pattern: -
 * clang-pattern: requires holding [a-z-]+ kernel
 * A helper that takes a handle says so in its own signature. */
#include <slipway/slipway.h>

slw_code misuse(slw_hydrated *h, slw_device *device, slw_error *e) ;
slw_code misuse(slw_hydrated *h, slw_device *device, slw_error *e) {
    slw_bytes bytes = {NULL, 0};
    return device == NULL ? SLW_OK : slw_hydrated_payload(h, "kernel.so", &bytes, e);
}
