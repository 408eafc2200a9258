/* expect: gcc=ACCEPT clang=REJECT
 * gcc-pattern: -
 * clang-pattern: still held|not held on every path
 * On failure the input is still owned and has to be discarded. */
#include <slipway/slipway.h>

slw_code misuse(slw_store *s, const slw_key *k, const slw_spec *p, slw_error *e);
slw_code misuse(slw_store *s, const slw_key *k, const slw_spec *p, slw_error *e) {
    slw_cached *c = NULL;
    if (slw_store_lookup(s, k, p, &c, e) != SLW_OK) return 1;
    slw_hydrated *h = NULL;
    if (slw_hydrate(&c, NULL, &h, e) != SLW_OK) return 2;
    slw_hydrated_discard(&h);
    return SLW_OK;
}
