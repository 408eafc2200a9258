/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: not compatible with any (generic )?association
 * clang-pattern: not compatible with any (generic )?association
 * A binary given directly becomes a hydrated kernel. */
#include <slipway/slipway.h>

slw_code misuse(slw_bytes bytes, slw_error *e);
slw_code misuse(slw_bytes bytes, slw_error *e) {
    slw_cached *out = NULL;
    if (slw_hydrate_binary(bytes, "kernel.so", NULL, NULL, &out, e) != SLW_OK) return 1;
    slw_cached_discard(&out);
    return SLW_OK;
}
