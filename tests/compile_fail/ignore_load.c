/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: ignoring return value|unused-result
 * clang-pattern: ignoring return value|unused-result
 * A result must be looked at. */
#include <slipway/slipway.h>

slw_code misuse(slw_hydrated *from, slw_device *device, slw_device_loaded *out, slw_error *e);
slw_code misuse(slw_hydrated *from, slw_device *device, slw_device_loaded *out, slw_error *e) {
    slw_device_load(&from, device, &out, e);
    return SLW_OK;
}
