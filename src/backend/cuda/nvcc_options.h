/* Which options of nvcc and ptxas may enter a key, and which of them go to whom. */
#ifndef SLWI_NVCC_OPTIONS_H
#define SLWI_NVCC_OPTIONS_H

#include "tool_options.h"

/* The groups. */
#define SLWI_NVCC_TO_NVCC   0u /* the first stage */
#define SLWI_NVCC_TO_PTXAS  1u /* the second */
#define SLWI_NVCC_TO_CUDAFE 2u /* the first, each behind -Xcudafe */
#define SLWI_NVCC_TO_FATBIN 3u /* ours: "-fatbin=sm_80,compute_90" */

typedef struct slwi_nvcc_options {
    slwi_tool_list ptx;   /* for nvcc, in order, in one spelling */
    slwi_tool_list cubin; /* for ptxas */
    size_t shared;        /* so many of them, the first ones, nvcc has been told as well */
    /* What kernel.fatbin is to hold beside: "sm_80" machine code, "compute_90" PTX. Empty: none is made. */
    slwi_tool_list fatbin;
    char why[256];        /* why the request is private; "": it is not */
} slwi_nvcc_options;

/* `is_ptx`: the source is PTX, so options are ptxas's own, or nvcc's that only concern ptxas; else they are nvcc's, and
   those that both stages have go to both (-G, -lineinfo, -maxrregcount).
   USAGE (RESERVED, INPUT, EMPTY, MISSING_VALUE; SHELL: nvcc would hand it to a shell that would not leave it as it is),
   LIMIT, NO_MEMORY. On success the caller frees *out. */
slw_code slwi_nvcc_options_parse(const char *const *flags, size_t count, int is_ptx, const slw_allocator *allocator,
                                 slwi_nvcc_options *out, slw_error *err);
void slwi_nvcc_options_free(slwi_nvcc_options *options);

#endif
