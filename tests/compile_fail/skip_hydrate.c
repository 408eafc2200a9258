/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: not compatible with any (generic )?association
 * clang-pattern: not compatible with any (generic )?association
 * No phase can be skipped: cached to device-loaded. */
#include <slipway/slipway.h>

slw_code misuse(slw_store *s, const slw_key *k, const slw_spec *p, slw_device *d, slw_error *e);
slw_code misuse(slw_store *s, const slw_key *k, const slw_spec *p, slw_device *d, slw_error *e) {
    slw_cached *c = NULL;
    if (slw_store_lookup(s, k, p, &c, e) != SLW_OK) return 1;
    slw_device_loaded *l = NULL;
    if (slw_device_load(&c, d, &l, e) != SLW_OK) {
        slw_cached_discard(&c);
        return 2;
    }
    slw_device_loaded_discard(&l);
    return SLW_OK;
}
