/* Attacks slwi_amdgcn_contract and slwi_amdgcn_recognises: the ELF view, notes, MessagePack, kernel descriptors. */
#include "amdgcn_read.h"
#include "fuzz_contract.h"

static slw_code read_amdgcn(const slw_allocator *allocator, slw_bytes input, slw_contract **out, slw_error *err) {
    return slwi_amdgcn_contract(allocator, input, NULL, out, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const slw_code rc = fuzz_contract(read_amdgcn, data, size);
    FUZZ_REQUIRE(rc == SLW_OK || rc == SLW_E_INVALID_BINARY || rc == SLW_E_UNSUPPORTED_INPUT || rc == SLW_E_LIMIT ||
                 rc == SLW_E_CONTRACT_MISMATCH);
    if (rc == SLW_OK) FUZZ_REQUIRE(slwi_amdgcn_recognises((slw_bytes){data, size}));
    return 0;
}
