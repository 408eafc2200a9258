/* Retiring takes the place of the discard; on a time-out the launchable is still there. */
#include <slipway/slipway.h>

slw_code retire(slw_launchable *launchable, const slw_stream *streams, size_t count, slw_error *err)
    SLW_ENDS(launchable);
slw_code retire(slw_launchable *launchable, const slw_stream *streams, size_t count, slw_error *err) {
    const slw_code rc = slw_launchable_retire(&launchable, streams, count, 1000000000u, err);
    if (rc != SLW_OK) slw_launchable_discard(&launchable);
    return rc;
}
