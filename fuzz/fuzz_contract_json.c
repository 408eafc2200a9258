/* Attacks slwi_contract_read and slwi_contract_write, and slwi_entry_document_contract (slipway.json) with the same text. */
#include "backends.h"
#include "entry_document.h"
#include "fuzz_contract.h"

static slw_code read_contract(const slw_allocator *allocator, slw_bytes text, slw_contract **out, slw_error *err) {
    static const slwi_json_limits limits = {SLW_LIMIT_JSON_BYTES, 64, SLW_LIMIT_JSON_VALUES, 0};
    slwi_json_document *document = NULL;
    slw_code rc = slwi_json_parse(allocator, text, &limits, &document, err);
    if (rc != SLW_OK) return rc;
    rc = slwi_contract_read(allocator, slwi_json_root(document), out, err);
    slwi_json_free(&document);
    return rc;
}

static slw_code bare(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    const slw_code rc = read_contract(allocator, (slw_bytes){data, size}, &contract, &err);
    FUZZ_REQUIRE((rc == SLW_OK) == (contract != NULL));
    if (rc == SLW_OK) {
        fuzz_check_contract(contract);
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
    if (rc == SLW_OK && contract != NULL) fuzz_check_contract(contract);
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
