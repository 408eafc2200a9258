/* Attacks slwi_cubin_contract and slwi_cubin_recognises: the ELF view, the symbol table, notes, .nv.info records. */
#include "cubin_read.h"
#include "fuzz_contract.h"

static slw_code read_cubin(const slw_allocator *allocator, slw_bytes input, slw_contract **out, slw_error *err) {
    return slwi_cubin_contract(allocator, input, NULL, out, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const slw_code rc = fuzz_contract(read_cubin, data, size);
    FUZZ_REQUIRE(rc == SLW_OK || rc == SLW_E_INVALID_BINARY || rc == SLW_E_UNSUPPORTED_INPUT || rc == SLW_E_LIMIT);
    if (rc == SLW_OK) FUZZ_REQUIRE(slwi_cubin_recognises((slw_bytes){data, size}));
    return 0;
}
