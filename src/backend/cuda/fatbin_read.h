/* Fatbins: containers, one behind another, of entries for several architectures. Nothing is decompressed: a compressed
 * entry is known by its header. */
#ifndef SLWI_FATBIN_READ_H
#define SLWI_FATBIN_READ_H

#include <slipway/contract.h>

typedef struct slwi_fatbin_entry {
    slw_image_kind kind;     /* CUBIN, PTX, LTO_IR; UNKNOWN for a kind this library has not heard of */
    char target[24];         /* "sm_90a", from arch and flags */
    char isa_version[16];    /* of PTX: "9.0"; else empty */
    const char *compression; /* "lz4", "zstd", "unknown"; NULL: none */
    uint32_t raw_kind;
    uint64_t flags;
    slw_bytes bytes;             /* the payload as it stands: compressed, or the image without padding */
    uint64_t offset_bytes;       /* of it in the file */
    uint64_t uncompressed_bytes; /* 0: not said */
} slwi_fatbin_entry;

/* A place in the walk; starts as zeros. */
typedef struct slwi_fatbin_cursor {
    uint64_t at;            /* of the next entry */
    uint64_t container_end; /* 0: a container's header comes next */
    uint32_t count;         /* entries so far */
} slwi_fatbin_cursor;

/* 1 where the bytes begin with a container's magic. */
int slwi_fatbin_recognises(slw_bytes binary);

/* The next entry: OK; MISS at the proper end; INVALID_BINARY with reason and offset; LIMIT (SLW_LIMIT_IMAGES). */
slw_code slwi_fatbin_next(slw_bytes fatbin, const char *name, slwi_fatbin_cursor *cursor, slwi_fatbin_entry *out,
                          slw_error *err);

/* The contract of one entry, a PTX or a cubin that is not compressed, for the target its header says. Places of errors
   are of the fatbin. */
slw_code slwi_fatbin_image_contract(const slw_allocator *allocator, const slwi_fatbin_entry *entry, const char *name,
                                    slw_contract **out, slw_error *err);

/* The contract of the image that a device of `target` would run, chosen by slwi_target_rank (exact binary, family,
   older minor, PTX); NULL: the only image. Of an entry that cannot be read because it is compressed: UNSUPPORTED_INPUT
   with COMPRESSED. AMBIGUOUS, and TARGET_MISMATCH (NO_IMAGE), list what is there in `tried`. */
slw_code slwi_fatbin_contract(const slw_allocator *allocator, slw_bytes binary, const char *name, const char *target,
                              slw_contract **out, slw_error *err);

#endif
