/* Offload bundles: an index of images for several targets, entries unaligned. Compressed bundles (CCOB) are recognised
 * and refused by name. */
#ifndef SLWI_BUNDLE_READ_H
#define SLWI_BUNDLE_READ_H

#include <slipway/contract.h>

typedef struct slwi_bundle_entry {
    slw_bytes id;           /* "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", not terminated */
    slw_bytes offload_kind; /* "hip", "hipv4", "host", "openmp" */
    slw_bytes triple;       /* "amdgcn-amd-amdhsa-" */
    char target[64];        /* "gfx90a:xnack+"; empty for a host entry */
    slw_bytes bytes;        /* may be empty: hosts' are */
    uint64_t offset_bytes;  /* of `bytes` in the file */
} slwi_bundle_entry;

typedef struct slwi_bundle {
    slw_bytes file;
    const char *name;
    uint64_t count; /* of entries; at most SLW_LIMIT_IMAGES */
} slwi_bundle;

typedef struct slwi_bundle_cursor {
    uint64_t at; /* starts as zeros */
    uint64_t index;
} slwi_bundle_cursor;

int slwi_bundle_recognises(slw_bytes binary);            /* uncompressed or not */
int slwi_bundle_recognises_compressed(slw_bytes binary); /* CCOB */

/* Checks the whole index. A compressed one: UNSUPPORTED_INPUT with COMPRESSED_BUNDLE, its version and method in the
   message, and a hint how to unpack it. INVALID_BINARY with reason and offset; LIMIT. */
slw_code slwi_bundle_open(slw_bytes binary, const char *name, slwi_bundle *out, slw_error *err);
/* The next entry: 1, or 0 at the end. Of a bundle that slwi_bundle_open accepted. */
int slwi_bundle_next(const slwi_bundle *bundle, slwi_bundle_cursor *cursor, slwi_bundle_entry *out);

/* The contract of the image that a device of `target` runs; NULL: the only device image. */
slw_code slwi_bundle_contract(const slw_allocator *allocator, slw_bytes binary, const char *name, const char *target,
                              slw_contract **out, slw_error *err);

#endif
