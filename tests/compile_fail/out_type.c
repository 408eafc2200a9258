/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: not compatible with any (generic )?association
 * clang-pattern: not compatible with any (generic )?association
 * A transition makes the next phase and no other. */
#include <slipway/slipway.h>

slw_code misuse(slw_store *s, const slw_key *k, const slw_spec *p, slw_error *e);
slw_code misuse(slw_store *s, const slw_key *k, const slw_spec *p, slw_error *e) {
    slw_cached *c = NULL;
    if (slw_store_lookup(s, k, p, &c, e) != SLW_OK) return 1;
    slw_launchable *r = NULL;
    if (slw_hydrate(&c, NULL, &r, e) != SLW_OK) {
        slw_cached_discard(&c);
        return 2;
    }
    slw_launchable_discard(&r);
    return SLW_OK;
}
