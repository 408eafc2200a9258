/* Attacks slwi_manifest_read, slwi_manifest_begin and slwi_manifest_frames with the bytes of a completion marker. */
#include <string.h>

#include "fuzz.h"
#include "store_manifest.h"

/* The names the marker gives are names a slot can have, and the frames made of them are judged without harm. */
static void check_names(const slw_allocator *allocator, slw_bytes marker, const slw_key *key, const slw_spec *spec) {
    slwi_manifest manifest;
    slwi_buffer text, tail;
    slw_error err = SLW_ERROR_INIT;
    slw_digest digest;
    FUZZ_REQUIRE(slw_digest_parse(slw_key_digest(key), strlen(slw_key_digest(key)), &digest, &err) == SLW_OK);
    FUZZ_REQUIRE(slw_digest_parse(slw_spec_digest(spec), strlen(slw_spec_digest(spec)), &digest, &err) == SLW_OK);
    slwi_buffer_init(&text, allocator, SLW_LIMIT_MANIFEST_BYTES);
    slwi_buffer_init(&tail, allocator, SLW_LIMIT_MANIFEST_BYTES);
    const slw_code rc = slwi_manifest_begin(&manifest, &text, &tail, key, spec, &err);
    FUZZ_REQUIRE(rc == SLW_OK || rc == SLW_E_NO_MEMORY || rc == SLW_E_LIMIT);
    if (rc == SLW_OK && slwi_manifest_frames(&manifest, marker)) {
        /* An empty tree never is what a marker of a spec with required files describes. */
        slwi_inventory none;
        slwi_inventory_init(&none, allocator);
        if (slwi_manifest_finish(&manifest, &none, marker, &err) == SLW_OK) FUZZ_REQUIRE(slw_spec_required_count(spec) > 0);
        slwi_inventory_free(&none);
    }
    slwi_buffer_free(&text);
    slwi_buffer_free(&tail);
}

static slw_code read_marker(const slw_allocator *allocator, const uint8_t *data, size_t size, const char *domain) {
    slw_error err = SLW_ERROR_INIT;
    slw_key *key = NULL;
    slw_spec *spec = NULL;
    const slw_bytes marker = {data, size};
    const slw_code rc = slwi_manifest_read(allocator, domain, marker, &key, &spec, &err);
    FUZZ_REQUIRE((rc == SLW_OK) == (key != NULL) && (rc == SLW_OK) == (spec != NULL));
    if (rc == SLW_OK) {
        check_names(allocator, marker, key, spec);
    } else {
        FUZZ_REQUIRE(rc == SLW_E_INVALID_ENTRY || rc == SLW_E_NO_MEMORY);
        fuzz_check_refusal(rc, &err, size);
    }
    slw_key_release(&key);
    slw_spec_release(&spec);
    return rc;
}

static slw_code in_default(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    return read_marker(allocator, data, size, SLW_DOMAIN_DEFAULT);
}

static slw_code in_pypto(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    return read_marker(allocator, data, size, SLW_DOMAIN_PYPTO);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    FUZZ_REQUIRE(fuzz_with_fault(in_default, data, size) != SLW_E_NO_MEMORY);
    FUZZ_REQUIRE(fuzz_with_fault(in_pypto, data, size) != SLW_E_NO_MEMORY);
    return 0;
}
