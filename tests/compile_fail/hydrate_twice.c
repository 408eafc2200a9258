/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: not compatible with any (generic )?association
 * clang-pattern: not compatible with any (generic )?association
 * What is hydrated is not hydrated again. */
#include <slipway/slipway.h>

slw_code misuse(slw_hydrated *from, slw_error *e);
slw_code misuse(slw_hydrated *from, slw_error *e) {
    slw_hydrated *out = NULL;
    if (slw_hydrate(&from, NULL, &out, e) != SLW_OK) {
        slw_hydrated_discard(&from);
        return 1;
    }
    slw_hydrated_discard(&out);
    return SLW_OK;
}
