/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: ignoring return value|unused-result
 * clang-pattern: ignoring return value|unused-result
 * A result must be looked at. */
#include <slipway/slipway.h>

slw_code misuse(slw_store *s, const slw_key *k, const slw_spec *p, slw_error *e);
slw_code misuse(slw_store *s, const slw_key *k, const slw_spec *p, slw_error *e) {
    slw_cached *c = NULL;
    slw_store_lookup(s, k, p, &c, e);
    return SLW_OK;
}
