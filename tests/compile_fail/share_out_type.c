/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: not compatible with any (generic )?association
 * clang-pattern: not compatible with any (generic )?association
 * A share is of the same phase. */
#include <slipway/slipway.h>

slw_code misuse(const slw_hydrated *h, slw_error *e);
slw_code misuse(const slw_hydrated *h, slw_error *e) {
    slw_device_loaded *out = NULL;
    if (slw_hydrated_share(h, &out, e) != SLW_OK) return 1;
    slw_device_loaded_discard(&out);
    return SLW_OK;
}
