/* What the dynamic loader would do with a host kernel's shared object, judged before it gets it. */
#ifndef SLWI_HOST_DYNAMIC_H
#define SLWI_HOST_DYNAMIC_H

#include <slipway/contract.h>

#include "elf_view.h"

/* `kernels` are sorted by name. Every kernel is a defined, exported function inside an executable segment; no library
   search path, no library outside the short list, of the C library of this process. Codes: see
   slwi_host_read_contract. */
slw_code slwi_host_check_dynamic(const slwi_elf *elf, const slw_kernel_contract *kernels, uint32_t kernel_count,
                                 const slw_allocator *allocator, slw_error *err);

/* For the link check: is this a library a host kernel may need? */
int slwi_host_library_allowed(const char *name);

#endif
