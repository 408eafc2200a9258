/* Attacks slw_request_parse, and through it slw_key_create and slw_spec_create. */
#include <string.h>

#include "fuzz.h"

static slw_code parse(const slw_allocator *allocator, const uint8_t *data, size_t size, const char *domain) {
    slw_error err = SLW_ERROR_INIT;
    slw_key *key = NULL;
    slw_spec *spec = NULL;
    const slw_code rc = slw_request_parse(allocator, (slw_bytes){data, size}, domain, &key, &spec, &err);
    FUZZ_REQUIRE((rc == SLW_OK) == (key != NULL) && (rc == SLW_OK) == (spec != NULL));
    if (rc != SLW_OK) {
        fuzz_check_refusal(rc, &err, size);
        return rc;
    }
    slw_digest digest;
    FUZZ_REQUIRE(slw_digest_parse(slw_key_digest(key), strlen(slw_key_digest(key)), &digest, &err) == SLW_OK);
    FUZZ_REQUIRE(slw_digest_parse(slw_spec_digest(spec), strlen(slw_spec_digest(spec)), &digest, &err) == SLW_OK);
    FUZZ_REQUIRE(strcmp(slw_key_domain(key), slw_spec_domain(spec)) == 0);
    /* Every name could be a file below a slot. */
    for (size_t i = 0; i < slw_spec_required_count(spec); i++) {
        const slw_bytes name = slw_spec_required(spec, i);
        const char *text = name.data;
        FUZZ_REQUIRE(name.size > 0 && strlen(text) == name.size && text[0] != '/' && text[name.size - 1] != '/');
        FUZZ_REQUIRE(strcmp(text, "..") != 0 && strncmp(text, "../", 3) != 0 && strstr(text, "/../") == NULL);
        FUZZ_REQUIRE(strcmp(text, "artifact_manifest.json") != 0);
    }
    slw_key_release(&key);
    slw_spec_release(&spec);
    return rc;
}

static slw_code in_default(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    return parse(allocator, data, size, NULL);
}

static slw_code in_pypto(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    return parse(allocator, data, size, SLW_DOMAIN_PYPTO);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    FUZZ_REQUIRE(fuzz_with_fault(in_default, data, size) != SLW_E_NO_MEMORY);
    FUZZ_REQUIRE(fuzz_with_fault(in_pypto, data, size) != SLW_E_NO_MEMORY);
    return 0;
}
