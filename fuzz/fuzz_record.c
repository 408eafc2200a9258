/* Attacks slw_record_parse, slw_record_encode, slw_record_digest and the writer without a tree behind the last. */
#include <string.h>

#include "fuzz.h"

static slw_code once(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    slw_error err = SLW_ERROR_INIT;
    slw_record *record = NULL;
    slw_code rc = slw_record_parse(allocator, (slw_bytes){data, size}, &record, &err);
    FUZZ_REQUIRE((rc == SLW_OK) == (record != NULL));
    if (rc != SLW_OK) {
        FUZZ_REQUIRE(rc == SLW_E_INVALID_METADATA || rc == SLW_E_LIMIT || rc == SLW_E_NO_MEMORY);
        fuzz_check_refusal(rc, &err, size);
        return rc;
    }
    slw_text text = SLW_TEXT_INIT;
    slw_digest streamed, hashed;
    rc = slw_record_encode(record, NULL, &text, &err);
    if (rc == SLW_OK) {
        FUZZ_REQUIRE(slw_record_digest(record, NULL, &streamed, &err) == SLW_OK);
        slw_sha256((slw_bytes){text.data, text.size}, &hashed);
        FUZZ_REQUIRE(memcmp(&streamed, &hashed, sizeof hashed) == 0);
        /* Canonical text is ASCII without white space, whatever went in. */
        for (size_t i = 0; i < text.size; i++) FUZZ_REQUIRE(text.data[i] > 0x20 && text.data[i] < 0x7f);
    } else {
        FUZZ_REQUIRE(rc == SLW_E_LIMIT || rc == SLW_E_NO_MEMORY);
        FUZZ_REQUIRE(text.data == NULL);
    }
    slw_text_release(&text);
    slw_record_release(&record);
    FUZZ_REQUIRE(record == NULL);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    FUZZ_REQUIRE(fuzz_with_fault(once, data, size) != SLW_E_NO_MEMORY);
    return 0;
}
