/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: not compatible with any (generic )?association
 * clang-pattern: not compatible with any (generic )?association
 * slw_device_load makes a device-loaded kernel. */
#include <slipway/slipway.h>

slw_code misuse(slw_hydrated *from, slw_device *device, slw_error *e);
slw_code misuse(slw_hydrated *from, slw_device *device, slw_error *e) {
    slw_launchable *out = NULL;
    if (slw_device_load(&from, device, &out, e) != SLW_OK) {
        slw_hydrated_discard(&from);
        return 1;
    }
    slw_launchable_discard(&out);
    return SLW_OK;
}
