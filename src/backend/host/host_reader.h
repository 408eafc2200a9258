/* The contract of a host kernel's shared object, read from its bytes alone: nothing is loaded. */
#ifndef SLWI_HOST_READER_H
#define SLWI_HOST_READER_H

#include <slipway/contract.h>

#define SLWI_HOST_READER_REVISION 1u
#define SLWI_HOST_LAUNCH_BINARY   "kernel.so"

/* A parameter is passed by value; more than this by value is a mistake, and offsets stay far from overflow. */
#define SLWI_HOST_PARAM_BYTES_MAX     65536u
#define SLWI_HOST_PARAM_ALIGNMENT_MAX 4096u

/* 1 for a shared object of a processor (not a GPU), by its header; what is wrong with it is for the reader to say. */
int slwi_host_recognises(slw_bytes binary);

/* `name` is what errors call the binary and becomes the contract's launch_binary; NULL: SLWI_HOST_LAUNCH_BINARY.
   INVALID_BINARY (TRUNCATED, NOT_ELF, NOT_SHARED_OBJECT, BAD_RECORD, BAD_DYNAMIC, DUPLICATE, NO_ENTRY: no kernels, or
   one whose function is not exported; SEARCH_PATH: DT_RPATH or DT_RUNPATH; LIBRARY: needs one outside the list);
   TARGET_MISMATCH; UNSUPPORTED_INPUT (KERNEL_VERSION); LIMIT; NO_MEMORY. */
slw_code slwi_host_read_contract(const slw_allocator *allocator, slw_bytes binary, const char *name, slw_contract **out,
                                 slw_error *err);

#endif
