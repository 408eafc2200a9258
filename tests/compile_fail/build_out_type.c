/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: not compatible with any (generic )?association
 * clang-pattern: not compatible with any (generic )?association
 * A build gives a cached kernel. */
#include <slipway/slipway.h>

slw_code misuse(slw_store *s, const slw_key *k, const slw_spec *p, const slw_builder *b, slw_error *e);
slw_code misuse(slw_store *s, const slw_key *k, const slw_spec *p, const slw_builder *b, slw_error *e) {
    slw_hydrated *out = NULL;
    if (slw_store_get_or_build(s, k, p, b, NULL, &out, e) != SLW_OK) return 1;
    slw_hydrated_discard(&out);
    return SLW_OK;
}
