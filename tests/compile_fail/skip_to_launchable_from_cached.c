/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: not compatible with any (generic )?association
 * clang-pattern: not compatible with any (generic )?association
 * No phase can be skipped: cached to launchable. */
#include <slipway/slipway.h>

slw_code misuse(slw_cached *from, const slw_launch_shape *shape, slw_error *e);
slw_code misuse(slw_cached *from, const slw_launch_shape *shape, slw_error *e) {
    slw_launchable *out = NULL;
    if (slw_make_launchable(&from, shape, &out, e) != SLW_OK) {
        slw_cached_discard(&from);
        return 1;
    }
    slw_launchable_discard(&out);
    return SLW_OK;
}
