/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: not compatible with any (generic )?association
 * clang-pattern: not compatible with any (generic )?association
 * Only a launchable is retired. */
#include <slipway/slipway.h>

slw_code misuse(slw_hydrated *h, slw_error *e);
slw_code misuse(slw_hydrated *h, slw_error *e) {
    if (slw_launchable_retire(&h, NULL, 0, 0, e) != SLW_OK) return 1;
    return SLW_OK;
}
