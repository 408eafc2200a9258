/* The launch contract of an amdgcn code object (hsaco), v4 to v6, from its bytes alone: the MessagePack note,
 * cross-checked against the kernel descriptors. */
#ifndef SLWI_AMDGCN_READ_H
#define SLWI_AMDGCN_READ_H

#include <slipway/contract.h>

#define SLWI_HIP_READER_REVISION 1u

/* 1 for an ELF file of machine 224. */
int slwi_amdgcn_recognises(slw_bytes binary);

/* `name` is what errors call the binary and becomes the contract's launch_binary; NULL: "kernel.hsaco". */
slw_code slwi_amdgcn_contract(const slw_allocator *allocator, slw_bytes binary, const char *name, slw_contract **out,
                              slw_error *err);

#endif
