/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: not compatible with any (generic )?association
 * clang-pattern: not compatible with any (generic )?association
 * There is no way back: launchable to device-loaded. */
#include <slipway/slipway.h>

slw_code misuse(slw_launchable *from, slw_device *device, slw_error *e);
slw_code misuse(slw_launchable *from, slw_device *device, slw_error *e) {
    slw_device_loaded *out = NULL;
    if (slw_device_load(&from, device, &out, e) != SLW_OK) {
        slw_launchable_discard(&from);
        return 1;
    }
    slw_device_loaded_discard(&out);
    return SLW_OK;
}
