/* What every target of a reader asks of it, whatever the format: one harness from bytes to a launch contract. */
#ifndef SLIPWAY_FUZZ_CONTRACT_H
#define SLIPWAY_FUZZ_CONTRACT_H

#include <slipway/contract.h>

#include "fuzz.h"

/* Bytes to a contract; released with slwi_contract_free. */
typedef slw_code (*fuzz_reader)(const slw_allocator *allocator, slw_bytes input, slw_contract **out, slw_error *err);

/* Written as canonical JSON, read back, compared, written again: the same contract and the same text. Its kernels stand in
   order of name and each is found by it; parameters lie inside the block. */
void fuzz_check_contract(const slw_contract *contract);

/* As fuzz_check_refusal, and: a reason, and for INVALID_… a place or a subject. */
void fuzz_check_reader_refusal(slw_code code, const slw_error *err, size_t size);

/* Reads the input three times: as it is; in a copy that lies one byte off and is gone before the contract is looked at; and
   with one allocation failing. Requires the same answer from the first two (code, reason, place, words, contract), NO_MEMORY
   or that answer from the third, an untouched output from every refusal, and balanced allocations. The first's code. */
slw_code fuzz_contract(fuzz_reader read, const uint8_t *data, size_t size);

#endif
