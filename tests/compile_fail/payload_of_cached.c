/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: incompatible[- ]pointer
 * clang-pattern: incompatible[- ]pointer
 * A payload is read from a hydrated kernel. */
#include <slipway/slipway.h>

slw_code misuse(slw_cached *c, slw_error *e);
slw_code misuse(slw_cached *c, slw_error *e) {
    slw_bytes bytes = {NULL, 0};
    return slw_hydrated_payload(c, "kernel.so", &bytes, e);
}
