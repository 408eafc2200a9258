/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: not compatible with any (generic )?association
 * clang-pattern: not compatible with any (generic )?association
 * Each phase has its own end. */
#include <slipway/slipway.h>

slw_code misuse(slw_store *s, const slw_key *k, const slw_spec *p, slw_error *e);
slw_code misuse(slw_store *s, const slw_key *k, const slw_spec *p, slw_error *e) {
    slw_cached *c = NULL;
    if (slw_store_lookup(s, k, p, &c, e) != SLW_OK) return 1;
    slw_hydrated_discard(&c);
    return SLW_OK;
}
