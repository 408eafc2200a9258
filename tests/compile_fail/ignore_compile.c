/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: ignoring return value|unused-result
 * clang-pattern: ignoring return value|unused-result
 * A result must be looked at. */
#include <slipway/slipway.h>

slw_code misuse(slw_compiler *compiler, const slw_source *source, slw_cached *out, slw_error *e);
slw_code misuse(slw_compiler *compiler, const slw_source *source, slw_cached *out, slw_error *e) {
    slw_compile(compiler, source, NULL, NULL, &out, e);
    return SLW_OK;
}
