/* Attacks slwi_host_read_contract: the ELF view, the kernel records, the dynamic section. */
#include "backends.h"
#include "fuzz_contract.h"
#include "host_reader.h"

static slw_code read_host(const slw_allocator *allocator, slw_bytes input, slw_contract **out, slw_error *err) {
    return slwi_host_read_contract(allocator, input, NULL, out, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const slw_bytes binary = {data, size};
    const slw_code rc = fuzz_contract(read_host, data, size);
    FUZZ_REQUIRE(rc == SLW_OK || rc == SLW_E_INVALID_BINARY || rc == SLW_E_TARGET_MISMATCH ||
                 rc == SLW_E_UNSUPPORTED_INPUT || rc == SLW_E_LIMIT);
    if (rc == SLW_OK) FUZZ_REQUIRE(slwi_host_recognises(binary) && slwi_backend_recognise(binary) != NULL);
    return 0;
}
