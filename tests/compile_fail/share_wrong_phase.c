/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: not compatible with any (generic )?association
 * clang-pattern: not compatible with any (generic )?association
 * Each phase has its own share. */
#include <slipway/slipway.h>

slw_code misuse(slw_device_loaded *l, slw_error *e);
slw_code misuse(slw_device_loaded *l, slw_error *e) {
    slw_launchable *out = NULL;
    if (slw_launchable_share(l, &out, e) != SLW_OK) return 1;
    slw_launchable_discard(&out);
    return SLW_OK;
}
