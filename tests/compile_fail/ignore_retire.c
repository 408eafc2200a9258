/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: ignoring return value|unused-result
 * clang-pattern: ignoring return value|unused-result
 * A result must be looked at. */
#include <slipway/slipway.h>

slw_code misuse(slw_launchable *from, slw_error *e);
slw_code misuse(slw_launchable *from, slw_error *e) {
    slw_launchable_retire(&from, NULL, 0, 0, e);
    return SLW_OK;
}
