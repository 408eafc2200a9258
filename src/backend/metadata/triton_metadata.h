/* Triton's X.json, of 3.2 and later: what it says, and the contract that comes of it together with the binary.
 *
 * It says how to launch (warps, blocks of a cluster, dynamic shared memory, scratch, attributes) and nothing of the
 * parameters; those are the binary's. Fields that are not known pass: each version has others, and set environment
 * variables stand among them under their own names. */
#ifndef SLWI_TRITON_METADATA_H
#define SLWI_TRITON_METADATA_H

#include <slipway/contract.h>

#include "json.h"

/* What is needed of it. Text is borrowed from the document. */
typedef struct slwi_triton_metadata {
    const char *name;         /* the entry, whole: only file names are cut */
    const char *backend;      /* target.backend: "cuda", "hip" */
    const char *arch_name;    /* target.arch where it is a name ("gfx942"); else NULL */
    uint32_t arch_number;     /* where it is a number (90); else 0 */
    uint32_t warp_size;       /* target.warp_size */
    uint32_t warp_size_again; /* the same at the top: always for hip, of late for cuda; 0: not said */
    uint32_t num_warps;
    uint32_t num_ctas;
    uint32_t cluster_dims[3]; /* to 3.4; all 0: not said */
    uint32_t shared_bytes;
    uint32_t tensor_memory_columns;
    uint64_t global_scratch_bytes;
    uint64_t profile_scratch_bytes;
    uint32_t global_scratch_alignment_bytes; /* 0: not said */
    uint32_t profile_scratch_alignment_bytes;
    uint32_t scratch_params; /* 0 to 2: how many of the binary's last parameters are scratch pointers */
    uint32_t cooperative;
    uint32_t programmatic_launch;
    uint32_t version; /* major × 100 + minor; 302 where there is no triton_version */
} slwi_triton_metadata;

/* 1 for an object that has most of the fields every version has; what is missing is for the reader to say. */
int slwi_triton_recognises(const slwi_json *root);

/* Every field that is used is checked for its type and range: INVALID_METADATA with the field as subject ("num_warps",
   "target.arch") and reason MISSING_FIELD or BAD_VALUE. */
slw_code slwi_triton_read(const slwi_json *root, slwi_triton_metadata *out, slw_error *err);

/* The contract of the metadata's entry: what the binary says, and what only the metadata says. `binary` is what the
   binary's reader gave; nothing of it or of the metadata is borrowed. CONTRACT_MISMATCH with the metadata's field as
   subject and both values in the message; NO_MEMORY. Release with slwi_contract_free. */
slw_code slwi_triton_contract(const slw_allocator *allocator, const slwi_triton_metadata *metadata,
                              const slw_contract *binary, slw_contract **out, slw_error *err);

/* What slwi_triton_contract gave, once more against the bytes of its binary: CONTRACT_MISMATCH (`shared`) where the
   metadata has no shared memory and a cubin uses some. */
slw_code slwi_triton_check_shared(slw_bytes binary, const slw_contract *contract, slw_error *err);

#endif
