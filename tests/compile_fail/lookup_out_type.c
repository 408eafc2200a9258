/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: not compatible with any (generic )?association
 * clang-pattern: not compatible with any (generic )?association
 * A look-up gives a cached kernel. */
#include <slipway/slipway.h>

slw_code misuse(slw_store *s, const slw_key *k, const slw_spec *p, slw_error *e);
slw_code misuse(slw_store *s, const slw_key *k, const slw_spec *p, slw_error *e) {
    slw_launchable *out = NULL;
    if (slw_store_lookup(s, k, p, &out, e) != SLW_OK) return 1;
    slw_launchable_discard(&out);
    return SLW_OK;
}
