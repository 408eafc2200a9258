/* Attacks slwi_host_read_contract: the ELF view, the kernel records, the dynamic section. What it accepts is written as JSON
 * and read back. */
#include <string.h>

#include "backends.h"
#include "fuzz.h"
#include "host_reader.h"

static void check_contract(const slw_contract *contract) {
    slw_error err = SLW_ERROR_INIT;
    slwi_buffer text;
    slwi_json_writer writer;
    slwi_json_document *document = NULL;
    slw_contract *again = NULL;
    slwi_buffer_init(&text, NULL, SIZE_MAX);
    slwi_json_begin(&writer, &text, 1);
    slwi_contract_write(contract, &writer);
    FUZZ_REQUIRE(!text.failed);
    FUZZ_REQUIRE(slwi_json_parse(NULL, (slw_bytes){text.data, text.size}, NULL, &document, &err) == SLW_OK);
    FUZZ_REQUIRE(slwi_contract_read(NULL, slwi_json_root(document), &again, &err) == SLW_OK);
    FUZZ_REQUIRE(slwi_contract_compare(contract, again, &err) == SLW_OK);
    for (uint32_t i = 0; i < contract->kernel_count; i++)
        FUZZ_REQUIRE(slw_contract_find(contract, contract->kernels[i].name) == &contract->kernels[i]);
    slwi_contract_free(NULL, &again);
    slwi_json_free(&document);
    slwi_buffer_free(&text);
}

static slw_code once(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    const slw_bytes binary = {data, size};
    const slw_code rc = slwi_host_read_contract(allocator, binary, NULL, &contract, &err);
    FUZZ_REQUIRE((rc == SLW_OK) == (contract != NULL));
    if (rc == SLW_OK) {
        FUZZ_REQUIRE(slwi_host_recognises(binary) && slwi_backend_recognise(binary) != NULL);
        check_contract(contract);
    } else {
        FUZZ_REQUIRE(rc == SLW_E_INVALID_BINARY || rc == SLW_E_TARGET_MISMATCH || rc == SLW_E_UNSUPPORTED_INPUT ||
                     rc == SLW_E_LIMIT || rc == SLW_E_NO_MEMORY);
        FUZZ_REQUIRE(err.code == rc && err.message[0] != '\0');
    }
    slwi_contract_free(allocator, &contract);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    FUZZ_REQUIRE(fuzz_with_fault(once, data, size) != SLW_E_NO_MEMORY);
    return 0;
}
