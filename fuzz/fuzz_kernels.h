/* Kernels described in the abstract, and two small writers that know nothing of the readers (nor of each other): as PTX text,
 * and as a minimal cubin. For the differential target and for making seeds and hostile files. */
#ifndef SLIPWAY_FUZZ_KERNELS_H
#define SLIPWAY_FUZZ_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ_KERNELS_MAX 8
#define FUZZ_PARAMS_MAX  12
#define FUZZ_NAME_MAX    96

typedef struct fuzz_param {
    uint32_t element_bytes; /* 1, 2, 4, 8 */
    uint32_t flavour;       /* which of the type words of that size */
    uint32_t count;         /* 0: not an array */
    uint32_t align;         /* 0: not said; 1 to 16 */
    uint32_t pointer;       /* .ptr stands behind it */
    uint32_t offset_bytes, size_bytes;
} fuzz_param;

typedef struct fuzz_kernel {
    char name[FUZZ_NAME_MAX];
    uint32_t linkage; /* 0 visible, 1 weak, 2 none */
    fuzz_param params[FUZZ_PARAMS_MAX];
    uint32_t param_count;
    uint32_t param_bytes;
    uint32_t maxntid[3], reqntid[3]; /* all 0: not said; never both */
    uint32_t cluster[3];             /* all 0: none */
    uint32_t explicit_cluster, blocks_are_clusters, max_cluster_rank;
    uint32_t min_blocks, max_registers; /* 0: not said */
    uint32_t registers, local_bytes, shared_bytes;
} fuzz_kernel;

typedef struct fuzz_module {
    uint32_t sm;
    char variant; /* 0 or 'a' */
    uint32_t abi; /* 7: up to CUDA 12; 8 */
    uint32_t odd; /* bits: unknown attributes, wide parameter records, sections in reverse, comments in the text */
    fuzz_kernel kernels[FUZZ_KERNELS_MAX];
    uint32_t kernel_count;
} fuzz_module;

#define FUZZ_ODD_ATTRIBUTES 1u
#define FUZZ_ODD_WIDE       2u
#define FUZZ_ODD_REVERSE    4u
#define FUZZ_ODD_TEXT       8u

/* Any bytes describe a module; those that are missing are zeros. */
void fuzz_module_from(const uint8_t *data, size_t size, fuzz_module *out);

/* Both write at most `capacity` bytes and give how many; they end the process where that is too little. A module of
   FUZZ_KERNELS_MAX kernels needs less than FUZZ_WRITTEN_MAX of either. */
#define FUZZ_WRITTEN_MAX 262144u
size_t fuzz_write_ptx(const fuzz_module *module, char *out, size_t capacity);
size_t fuzz_write_cubin(const fuzz_module *module, uint8_t *out, size_t capacity);

#endif
