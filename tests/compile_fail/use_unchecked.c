/* expect: gcc=ACCEPT clang=REJECT
 * gcc-pattern: -
 * clang-pattern: requires holding [a-z-]+ kernel
 * A handle may be used only after the code was tested. */
#include <slipway/slipway.h>

slw_code misuse(slw_store *s, const slw_key *k, const slw_spec *p, slw_error *e);
slw_code misuse(slw_store *s, const slw_key *k, const slw_spec *p, slw_error *e) {
    slw_cached *c = NULL;
    const slw_code rc = slw_store_lookup(s, k, p, &c, e);
    const uint64_t n = slw_cached_size_bytes(c);
    if (rc != SLW_OK) return rc;
    slw_cached_discard(&c);
    return n > 9;
}
