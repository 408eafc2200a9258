/* Attacks slwi_contract_read and slwi_contract_write, and slwi_entry_document_contract (slipway.json) with the same text. */
#include <string.h>

#include "backends.h"
#include "entry_document.h"
#include "fuzz.h"

static void write_contract(const slw_contract *contract, slwi_buffer *out) {
    slwi_json_writer writer;
    slwi_buffer_init(out, NULL, SIZE_MAX);
    slwi_json_begin(&writer, out, 1);
    slwi_contract_write(contract, &writer);
}

static slw_code read_contract(const slw_allocator *allocator, slw_bytes text, slw_contract **out, slw_error *err) {
    static const slwi_json_limits limits = {SLW_LIMIT_JSON_BYTES, 64, SLW_LIMIT_JSON_VALUES, 0};
    slwi_json_document *document = NULL;
    slw_code rc = slwi_json_parse(allocator, text, &limits, &document, err);
    if (rc != SLW_OK) return rc;
    rc = slwi_contract_read(allocator, slwi_json_root(document), out, err);
    slwi_json_free(&document);
    return rc;
}

/* Read, written, read and written: the same contract and the same text. */
static void check_round_trip(const slw_contract *contract) {
    slw_error err = SLW_ERROR_INIT;
    slwi_buffer first, second;
    slw_contract *again = NULL;
    write_contract(contract, &first);
    FUZZ_REQUIRE(!first.failed);
    FUZZ_REQUIRE(read_contract(NULL, (slw_bytes){first.data, first.size}, &again, &err) == SLW_OK);
    FUZZ_REQUIRE(slwi_contract_compare(contract, again, &err) == SLW_OK);
    write_contract(again, &second);
    FUZZ_REQUIRE(second.size == first.size && memcmp(first.data, second.data, first.size) == 0);
    slwi_contract_free(NULL, &again);
    slwi_buffer_free(&first);
    slwi_buffer_free(&second);
}

static slw_code bare(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    const slw_code rc = read_contract(allocator, (slw_bytes){data, size}, &contract, &err);
    FUZZ_REQUIRE((rc == SLW_OK) == (contract != NULL));
    if (rc == SLW_OK) {
        check_round_trip(contract);
    } else {
        fuzz_check_refusal(rc, &err, size);
    }
    slwi_contract_free(allocator, &contract);
    return rc;
}

static slw_code in_document(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    const slw_code rc = slwi_entry_document_contract(allocator, (slw_bytes){data, size}, &contract, &err);
    if (rc == SLW_OK && contract != NULL) check_round_trip(contract);
    if (rc != SLW_OK) {
        FUZZ_REQUIRE(contract == NULL);
        fuzz_check_refusal(rc, &err, size);
    }
    slwi_contract_free(allocator, &contract);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    FUZZ_REQUIRE(fuzz_with_fault(bare, data, size) != SLW_E_NO_MEMORY);
    FUZZ_REQUIRE(fuzz_with_fault(in_document, data, size) != SLW_E_NO_MEMORY);
    return 0;
}
