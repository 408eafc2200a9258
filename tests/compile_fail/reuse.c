/* expect: gcc=ACCEPT clang=REJECT
 * gcc-pattern: -
 * clang-pattern: requires holding [a-z-]+ kernel
 * After a transition the old handle is spent. */
#include <slipway/slipway.h>

slw_code misuse(slw_store *s, const slw_key *k, const slw_spec *p, slw_error *e);
slw_code misuse(slw_store *s, const slw_key *k, const slw_spec *p, slw_error *e) {
    slw_cached *c = NULL;
    if (slw_store_lookup(s, k, p, &c, e) != SLW_OK) return 1;
    slw_hydrated *h = NULL;
    if (slw_hydrate(&c, NULL, &h, e) != SLW_OK) {
        slw_cached_discard(&c);
        return 2;
    }
    const uint64_t n = slw_cached_size_bytes(c);
    slw_hydrated_discard(&h);
    return n > 9;
}
