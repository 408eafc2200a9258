/* The launch contract: everything a launch has to know about a binary's kernels, from the binary and its metadata,
 * which must agree.  Stored as canonical JSON (schema SLW_CONTRACT_SCHEMA) in slipway.json, so an entry is launchable
 * by itself. Plain data: pointers are owned by the object that gave the contract and live as long as it. */
#ifndef SLIPWAY_CONTRACT_H
#define SLIPWAY_CONTRACT_H

#include <slipway/bytes.h>

SLW_BEGIN_DECLS

#define SLW_CONTRACT_SCHEMA 2u /* 2: kind, isa_version, three kinds of registers, programmatic_launch */

/* What the bytes are. PTX is compiled by the driver when it is loaded; LTO IR is not loadable by itself. */
typedef enum slw_image_kind {
    SLW_IMAGE_UNKNOWN = 0,
    SLW_IMAGE_HOST = 1, /* a shared object of this processor */
    SLW_IMAGE_CUBIN = 2,
    SLW_IMAGE_PTX = 3,
    SLW_IMAGE_HSACO = 4, /* an amdgcn code object */
    SLW_IMAGE_LTO_IR = 5
} slw_image_kind;

typedef enum slw_param_kind {
    SLW_PARAM_UNKNOWN = 0, /* the binary gives only a size */
    SLW_PARAM_POINTER = 1,
    SLW_PARAM_SIGNED = 2,
    SLW_PARAM_UNSIGNED = 3,
    SLW_PARAM_FLOAT = 4,
    SLW_PARAM_STRUCT = 5
} slw_param_kind;

/* Who fills it. A caller passes only the first kind. */
typedef enum slw_param_role {
    SLW_ROLE_CALLER = 0,
    SLW_ROLE_GLOBAL_SCRATCH = 1,
    SLW_ROLE_PROFILE_SCRATCH = 2,
    SLW_ROLE_HIDDEN = 3
} slw_param_role;

/* What one step of the grid is. */
typedef enum slw_grid_unit {
    SLW_GRID_BLOCKS = 0,
    SLW_GRID_CLUSTERS = 1,        /* .blocksareclusters */
    SLW_GRID_PROGRAMS_BY_CTAS = 2 /* Triton: grid.x is multiplied by num_ctas */
} slw_grid_unit;

typedef struct slw_param {
    const char *name; /* NULL where the binary has none */
    uint32_t offset_bytes;
    uint32_t size_bytes;
    uint32_t alignment_bytes;
    slw_param_kind kind;
    slw_param_role role;
} slw_param;

#define SLW_NEEDS_PRINTF        1u
#define SLW_NEEDS_DEVICE_MALLOC 2u
#define SLW_NEEDS_GLOBALS       4u

typedef struct slw_kernel_contract {
    const char *name; /* the entry */
    const slw_param *params;
    uint32_t param_count;
    uint32_t param_bytes; /* of the whole parameter block; for host the sum of the sizes */
    uint32_t registers;   /* per thread; 0: not known or none. amdgcn: vector registers */
    uint32_t scalar_registers;       /* amdgcn, per wave; 0: not known or none */
    uint32_t accumulation_registers; /* amdgcn, per thread, beside `registers`; 0: none */
    uint32_t local_bytes; /* per thread */
    uint32_t static_shared_bytes;
    uint32_t dynamic_shared_bytes;  /* what metadata requires at every launch; 0: the shape decides */
    uint32_t reserved_shared_bytes; /* by the system, per block (1,024 on NVIDIA from sm_80) */
    uint32_t max_threads;           /* per block; 0: the device's limit */
    uint32_t required_threads[3];   /* all 0: any */
    uint32_t max_block[3];          /* all 0: the device's limit */
    uint32_t min_blocks;            /* per multiprocessor; 0: none */
    uint32_t max_registers;         /* 0: none */
    uint32_t cluster[3];            /* all 0: none */
    uint32_t cluster_required;      /* 1: the binary fixes it */
    uint32_t max_cluster_rank;      /* 0: not said */
    slw_grid_unit grid_unit;
    uint32_t ctas;                 /* blocks a program, for SLW_GRID_PROGRAMS_BY_CTAS; else 1 */
    uint32_t cooperative;          /* 1: needs a cooperative launch */
    uint32_t programmatic_launch;  /* 1: metadata asks for programmatic dependent launch */
    uint32_t warps;                /* as metadata says; 0: not said */
    uint32_t warp_threads;         /* threads of a warp the binary was made for; 0: not said */
    uint64_t global_scratch_bytes; /* per block */
    uint32_t global_scratch_alignment_bytes;
    uint64_t profile_scratch_bytes; /* per block */
    uint32_t profile_scratch_alignment_bytes;
    uint32_t tensor_memory_columns;
    uint32_t needs; /* SLW_NEEDS_… */
} slw_kernel_contract;

typedef struct slw_contract {
    uint32_t schema;                    /* SLW_CONTRACT_SCHEMA */
    uint32_t reader_revision;           /* of the backend that derived it; another revision's is derived anew */
    const char *backend;                /* "host", "cuda", "hip" */
    const char *target;                 /* "x86_64-linux-gnu", "sm_90a", "gfx942:sramecc+:xnack-"; the full string */
    const char *launch_binary;          /* the payload that is loaded */
    slw_image_kind kind;                /* of the image the kernels stand in (of a fatbin: the one that was chosen) */
    const char *isa_version;            /* "9.0" for PTX; NULL for what has none */
    const slw_kernel_contract *kernels; /* sorted by name */
    uint32_t kernel_count;
} slw_contract;

/* The kernel of that name; with NULL the only kernel there is. NULL where there is none (or several). */
SLW_API const slw_kernel_contract *slw_contract_find(const slw_contract *contract, const char *entry);

SLW_END_DECLS
#endif
