/* A cubin's launch contract, from its bytes alone: both ABI generations (CUDA up to 12.x: OS ABI 0x33, version 7; from
 * 13: 0x41, version 8). Unknown attributes, notes and sections are passed over; only what is needed and missing is an
 * error. */
#ifndef SLWI_CUBIN_READ_H
#define SLWI_CUBIN_READ_H

#include <slipway/contract.h>

#define SLWI_CUDA_READER_REVISION 1u

/* 1 for an ELF file of machine 190; what is wrong with it is for the reader to say. */
int slwi_cubin_recognises(slw_bytes binary);

/* `name` is what errors call the binary and becomes the contract's launch_binary; NULL: "kernel.cubin". */
slw_code slwi_cubin_contract(const slw_allocator *allocator, slw_bytes binary, const char *name, slw_contract **out,
                             slw_error *err);

#endif
