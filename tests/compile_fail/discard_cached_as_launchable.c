/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: not compatible with any (generic )?association
 * clang-pattern: not compatible with any (generic )?association
 * Each phase has its own end. */
#include <slipway/slipway.h>

slw_code misuse(slw_cached *from, slw_error *e);
slw_code misuse(slw_cached *from, slw_error *e) {
    slw_launchable_discard(&from);
    return e == NULL;
}
