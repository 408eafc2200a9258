/* Attacks slwi_contract_read and slwi_contract_write, slwi_entry_document_contract (slipway.json) with the same text, and
 * slwi_contract_renew with two contracts: the text up to a NUL and the text behind it; without a NUL, the contract and what
 * another revision of its reader would say. */
#include <string.h>

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

/* `stored` and `derived` as one: everything `derived` says, nothing borrowed. */
static slw_code renew_both(const slw_allocator *allocator, const slw_contract *stored, const slw_contract *derived) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *renewed = NULL;
    const slw_code rc = slwi_contract_renew(allocator, stored, derived, &renewed, &err);
    FUZZ_REQUIRE((rc == SLW_OK) == (renewed != NULL));
    if (rc != SLW_OK) {
        FUZZ_REQUIRE(rc == SLW_E_CONTRACT_MISMATCH || rc == SLW_E_NO_MEMORY);
        fuzz_check_refusal(rc, &err, SIZE_MAX);
        return rc;
    }
    fuzz_check_contract(renewed);
    FUZZ_REQUIRE(renewed->kernel_count == derived->kernel_count &&
                 renewed->reader_revision == derived->reader_revision);
    FUZZ_REQUIRE(slwi_contract_compare(renewed, derived, &err) == SLW_OK);
    slwi_contract_free(allocator, &renewed);
    return rc;
}

static slw_code renew(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    const uint8_t *nul = size == 0 ? NULL : memchr(data, 0, size);
    const size_t first = nul == NULL ? size : (size_t)(nul - data);
    slw_error err = SLW_ERROR_INIT;
    slw_contract *stored = NULL, *derived = NULL;
    slw_code rc = read_contract(allocator, (slw_bytes){data, first}, &stored, &err);
    if (rc == SLW_OK && nul != NULL) {
        rc = read_contract(allocator, (slw_bytes){nul + 1, size - first - 1}, &derived, &err);
        if (rc == SLW_OK) rc = renew_both(allocator, stored, derived);
    } else if (rc == SLW_OK) {
        slw_contract newer = *stored;
        newer.reader_revision = stored->reader_revision + 1;
        rc = renew_both(allocator, stored, &newer);
        FUZZ_REQUIRE(rc == SLW_OK || rc == SLW_E_NO_MEMORY || rc == SLW_E_CONTRACT_MISMATCH);
    }
    slwi_contract_free(allocator, &stored);
    slwi_contract_free(allocator, &derived);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    FUZZ_REQUIRE(fuzz_with_fault(renew, data, size) != SLW_E_NO_MEMORY);
    FUZZ_REQUIRE(fuzz_with_fault(bare, data, size) != SLW_E_NO_MEMORY);
    FUZZ_REQUIRE(fuzz_with_fault(in_document, data, size) != SLW_E_NO_MEMORY);
    return 0;
}
