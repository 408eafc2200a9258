/* Target ids where they stand: in notes, in bundles and in the flags of the ELF header. */
#ifndef SLWI_AMDGCN_TARGET_H
#define SLWI_AMDGCN_TARGET_H

#include "amdgcn_state.h"
#include "target.h"

/* "amdgcn-amd-amdhsa--gfx90a:xnack+" and "amdgpu9.42-amd-amdhsa-unknown-gfx942": the triple with its environment, which
   may be empty ("amdgcn-amd-amdhsa-"), and the target id. Old writers leave the environment out
   ("amdgcn-amd-amdhsa-gfx900"). *target is empty where there is none. 0 where there are fewer than three parts. */
int slwi_amdgcn_split(slw_bytes text, slw_bytes *triple, slw_bytes *target);

/* The canonical target of the code object: what its note says, which must agree with the header's flags. */
slw_code slwi_amdgcn_target(const slwi_amdgcn *r, char out[64]);

/* The processor of a machine number of the flags; NULL: a newer one, or none. */
const char *slwi_amdgcn_machine(uint32_t machine);

#endif
