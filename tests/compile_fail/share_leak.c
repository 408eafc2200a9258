/* expect: gcc=ACCEPT clang=REJECT
 * gcc-pattern: -
 * clang-pattern: still held|not held on every path
 * A share is an owner and has to be discarded too. */
#include <slipway/slipway.h>

slw_code misuse(slw_hydrated *h, slw_device *device, slw_error *e) SLW_ENDS(h);
slw_code misuse(slw_hydrated *h, slw_device *device, slw_error *e) {
    slw_hydrated *share = NULL;
    if (slw_hydrated_share(h, &share, e) != SLW_OK) {
        slw_hydrated_discard(&h);
        return 1;
    }
    slw_hydrated_discard(&h);
    return device == NULL;
}
