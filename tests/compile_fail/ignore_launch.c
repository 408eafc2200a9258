/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: ignoring return value|unused-result
 * clang-pattern: ignoring return value|unused-result
 * A result must be looked at. */
#include <slipway/slipway.h>

slw_code misuse(const slw_launchable *r, const slw_grid *grid, slw_stream stream, slw_error *e);
slw_code misuse(const slw_launchable *r, const slw_grid *grid, slw_stream stream, slw_error *e) {
    slw_launch(r, grid, stream, NULL, e);
    return SLW_OK;
}
