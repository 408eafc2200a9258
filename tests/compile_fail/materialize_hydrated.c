/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: incompatible[- ]pointer
 * clang-pattern: incompatible[- ]pointer
 * Only a cached entry is materialized. */
#include <slipway/slipway.h>

slw_code misuse(slw_hydrated *h, slw_error *e);
slw_code misuse(slw_hydrated *h, slw_error *e) {
    return slw_cached_materialize(h, "/tmp/out", e);
}
