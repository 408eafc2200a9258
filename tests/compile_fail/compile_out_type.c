/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: not compatible with any (generic )?association
 * clang-pattern: not compatible with any (generic )?association
 * compile() gives a cached kernel. */
#include <slipway/slipway.h>

slw_code misuse(slw_compiler *compiler, const slw_source *source, slw_error *e);
slw_code misuse(slw_compiler *compiler, const slw_source *source, slw_error *e) {
    slw_hydrated *out = NULL;
    if (slw_compile(compiler, source, NULL, NULL, &out, e) != SLW_OK) return 1;
    slw_hydrated_discard(&out);
    return SLW_OK;
}
