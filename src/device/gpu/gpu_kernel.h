/* Kernels of a contract as a driver of a vendor's looks for them. */
#ifndef SLWI_GPU_KERNEL_H
#define SLWI_GPU_KERNEL_H

#include <slipway/contract.h>

/* The place of the kernel among those of the contract, which are sorted by name; their number where there is none. */
uint32_t slwi_gpu_find_kernel(const slw_contract *contract, const char *name);
/* OUT_OF_RESOURCES where a block of the kernel needs more shared memory, static and dynamic, than the device has. */
slw_code slwi_gpu_check_shared(const char *kernel, const char *device, uint64_t needed_bytes, uint32_t limit_bytes,
                               slw_error *err);
/* MISS (reason NO_KERNEL). */
slw_code slwi_gpu_no_kernel(const char *name, slw_error *err);

#endif
