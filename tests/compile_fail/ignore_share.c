/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: ignoring return value|unused-result
 * clang-pattern: ignoring return value|unused-result
 * A result must be looked at. */
#include <slipway/slipway.h>

slw_code misuse(const slw_hydrated *h, slw_hydrated *out, slw_error *e);
slw_code misuse(const slw_hydrated *h, slw_hydrated *out, slw_error *e) {
    slw_hydrated_share(h, &out, e);
    return SLW_OK;
}
