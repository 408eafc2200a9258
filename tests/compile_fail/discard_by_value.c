/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: not compatible with any (generic )?association
 * clang-pattern: not compatible with any (generic )?association
 * A discard takes the address, so that it can clear the handle. */
#include <slipway/slipway.h>

slw_code misuse(slw_cached *from, slw_error *e);
slw_code misuse(slw_cached *from, slw_error *e) {
    slw_cached_discard(from);
    return e == NULL;
}
