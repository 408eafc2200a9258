/* compile(), a build of one's own, and a binary given directly: the three other beginnings. */
#include <slipway/slipway.h>

slw_code from_source(slw_compiler *compiler, const char *path, slw_error *err);
slw_code from_source(slw_compiler *compiler, const char *path, slw_error *err) {
    slw_source source = SLW_SOURCE_INIT;
    slw_build_report report = SLW_BUILD_REPORT_INIT;
    slw_cached *cached = NULL;
    source.path = path;
    const slw_code rc = slw_compile(compiler, &source, NULL, &report, &cached, err);
    if (rc != SLW_OK) return rc;
    slw_cached_discard(&cached);
    slw_build_report_release(&report);
    return SLW_OK;
}

slw_code from_builder(slw_store *store, const slw_key *key, const slw_spec *spec, const slw_builder *builder,
                      slw_error *err);
slw_code from_builder(slw_store *store, const slw_key *key, const slw_spec *spec, const slw_builder *builder,
                      slw_error *err) {
    slw_cached *cached = NULL;
    const slw_code rc = slw_store_get_or_build(store, key, spec, builder, NULL, &cached, err);
    if (rc != SLW_OK) return rc;
    const slw_code copied = slw_cached_materialize(cached, "copy", err);
    slw_cached_discard(&cached);
    return copied;
}

slw_code from_binary(slw_bytes binary, slw_error *err);
slw_code from_binary(slw_bytes binary, slw_error *err) {
    slw_hydrated *hydrated = NULL;
    const slw_code rc = slw_hydrate_binary(binary, "kernel.so", NULL, NULL, &hydrated, err);
    if (rc != SLW_OK) return rc;
    slw_hydrated_discard(&hydrated);
    return SLW_OK;
}
