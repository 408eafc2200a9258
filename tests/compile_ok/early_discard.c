/* Every phase may be the last one: four ways to stop. */
#include <slipway/slipway.h>

slw_code stop_at_cached(slw_store *store, const slw_key *key, const slw_spec *spec, uint64_t *size, slw_error *err);
slw_code stop_at_cached(slw_store *store, const slw_key *key, const slw_spec *spec, uint64_t *size, slw_error *err) {
    slw_cached *cached = NULL;
    const slw_code rc = slw_store_lookup(store, key, spec, &cached, err);
    if (rc == SLW_OK) {
        *size = slw_cached_size_bytes(cached);
        slw_cached_discard(&cached);
    }
    return rc;
}

slw_code stop_at_hydrated(slw_cached *cached, size_t *size, slw_error *err) SLW_ENDS(cached);
slw_code stop_at_hydrated(slw_cached *cached, size_t *size, slw_error *err) {
    slw_hydrated *hydrated = NULL;
    slw_hydrate_options options = SLW_HYDRATE_OPTIONS_INIT;
    options.launch_binary = SLW_HYDRATE_EAGER;
    slw_code rc = slw_hydrate(&cached, &options, &hydrated, err);
    if (rc != SLW_OK) {
        slw_cached_discard(&cached);
        return rc;
    }
    slw_bytes bytes = {NULL, 0};
    rc = slw_hydrated_payload(hydrated, slw_hydrated_contract(hydrated)->launch_binary, &bytes, err);
    if (rc == SLW_OK) *size = bytes.size;
    slw_hydrated_discard(&hydrated);
    return rc;
}

slw_code stop_at_loaded(slw_hydrated *hydrated, slw_device *device, slw_function_attributes *out, slw_error *err)
    SLW_ENDS(hydrated);
slw_code stop_at_loaded(slw_hydrated *hydrated, slw_device *device, slw_function_attributes *out, slw_error *err) {
    slw_device_loaded *loaded = NULL;
    slw_code rc = slw_device_load(&hydrated, device, &loaded, err);
    if (rc != SLW_OK) {
        slw_hydrated_discard(&hydrated);
        return rc;
    }
    rc = slw_device_loaded_attributes(loaded, NULL, out, err);
    slw_device_loaded_discard(&loaded);
    return rc;
}
