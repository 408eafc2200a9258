/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: ignoring return value|unused-result
 * clang-pattern: ignoring return value|unused-result
 * A result must be looked at. */
#include <slipway/slipway.h>

slw_code misuse(slw_hydrated *h, slw_bytes bytes, slw_error *e);
slw_code misuse(slw_hydrated *h, slw_bytes bytes, slw_error *e) {
    slw_hydrated_payload(h, "kernel.so", &bytes, e);
    return SLW_OK;
}
