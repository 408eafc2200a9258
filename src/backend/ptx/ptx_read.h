/* PTX as a launch contract: what its prototypes say. The text says nothing of registers, local memory and the shared
   memory of a kernel; those come from the binary made of it. */
#ifndef SLWI_PTX_READ_H
#define SLWI_PTX_READ_H

#include <slipway/contract.h>

#include "ptx_scan.h"

#define SLWI_PTX_READER_REVISION 1u
#define SLWI_PTX_LAUNCH_BINARY   "kernel.ptx"

/* A contract of its own, nothing borrowed; release with slwi_contract_free. `backend` is a static name ("cuda"), `name`
   the payload (NULL: SLWI_PTX_LAUNCH_BINARY). What the contract has no field for (linkage, spaces, .explicitcluster,
   version) stays with the module. LIMIT: a text longer than a contract's; NO_MEMORY. */
slw_code slwi_ptx_contract(const slw_allocator *allocator, const slwi_ptx_module *module, const char *backend,
                           const char *name, slw_contract **out, slw_error *err);

/* Scan and contract in one step; errors of both. */
slw_code slwi_ptx_read_contract(const slw_allocator *allocator, slw_bytes text, const char *backend, const char *name,
                                slw_contract **out, slw_error *err);

#endif
