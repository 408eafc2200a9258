/* Attacks slwi_json_parse (the pre-scan and the tree), slwi_json_put_node and the writer. */
#include <string.h>

#include "fuzz.h"
#include "json.h"

static void write_all(const slw_allocator *allocator, const slwi_json *root, slwi_buffer *out) {
    slwi_json_writer writer;
    slwi_buffer_init(out, allocator, SIZE_MAX);
    slwi_json_begin(&writer, out, 0);
    slwi_json_put_node(&writer, root);
}

/* What was written reads back as the same value: written again it is the same text. */
static void check_round_trip(const slwi_json *root) {
    static const slwi_json_limits limits = {16777216u, 256u, 1048576u, 1};
    slwi_buffer first, second;
    write_all(NULL, root, &first);
    if (first.failed) {
        FUZZ_REQUIRE(first.failed == SLW_E_LIMIT); /* deeper than the writer goes */
        slwi_buffer_free(&first);
        return;
    }
    slw_error err = SLW_ERROR_INIT;
    slwi_json_document *again = NULL;
    const slw_bytes text = {first.data, first.size};
    FUZZ_REQUIRE(slwi_json_parse(NULL, text, &limits, &again, &err) == SLW_OK);
    write_all(NULL, slwi_json_root(again), &second);
    FUZZ_REQUIRE(!second.failed && second.size == first.size && memcmp(first.data, second.data, first.size) == 0);
    slwi_json_free(&again);
    slwi_buffer_free(&first);
    slwi_buffer_free(&second);
}

static slw_code parse(const slw_allocator *allocator, const uint8_t *data, size_t size, int lone_surrogates) {
    const slwi_json_limits limits = {1048576u, 128u, 65536u, lone_surrogates};
    slw_error err = SLW_ERROR_INIT;
    slwi_json_document *document = NULL;
    const slw_code rc = slwi_json_parse(allocator, (slw_bytes){data, size}, &limits, &document, &err);
    FUZZ_REQUIRE((rc == SLW_OK) == (document != NULL));
    if (rc == SLW_OK) {
        check_round_trip(slwi_json_root(document));
    } else {
        FUZZ_REQUIRE(rc == SLW_E_INVALID_METADATA || rc == SLW_E_LIMIT || rc == SLW_E_NO_MEMORY);
        fuzz_check_refusal(rc, &err, size);
    }
    slwi_json_free(&document);
    return rc;
}

static slw_code strict(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    return parse(allocator, data, size, 0);
}

static slw_code loose(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    return parse(allocator, data, size, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const slw_code rc = fuzz_with_fault(strict, data, size);
    const slw_code with_surrogates = fuzz_with_fault(loose, data, size);
    /* What the scan passes, json-c takes: it says "no memory" for everything else. */
    FUZZ_REQUIRE(rc != SLW_E_NO_MEMORY && with_surrogates != SLW_E_NO_MEMORY);
    FUZZ_REQUIRE(rc != SLW_OK || with_surrogates == SLW_OK);
    return 0;
}
