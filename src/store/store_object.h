/* Entries and private builds as objects. */
#ifndef SLWI_STORE_OBJECT_H
#define SLWI_STORE_OBJECT_H

#include "store_core.h"

/* A directory a build ran in, with the builder's value. Counted: the report, the handles made from it and the
   waiters of one request share it; the last one lets the value go and removes the directory, where it is ours to
   remove. */
typedef struct slwi_private {
    slwi_ref ref;
    slw_allocator allocator;
    uint64_t generation; /* a forked child frees memory only */
    char *path;
    int removable; /* 0: the caller's own directory, or told to keep it */
    void *value;
    void *context;
    void (*release_value)(void *context, void *value);
} slwi_private;

/* The file of an entry, as small as it can be. */
typedef struct slwi_entry_file_record {
    uint64_t size_and_executable; /* size * 2 + execute bit */
    uint32_t path_at;
    uint32_t path_size;
    slw_digest sha256;
} slwi_entry_file_record;

/* One block of memory: this, the records, the paths, the directory. */
struct slwi_entry {
    slwi_ref ref;
    slw_store *store;
    slw_key *key; /* NULL: a build without identity */
    slw_spec *spec;
    slwi_private *built; /* NULL: an entry of the store */
    slwi_image *kept;
    size_t kept_index;
    uint64_t dev, ino; /* of the directory that was judged */
    uint64_t size_bytes;
    size_t block_bytes;
    size_t file_count;
    const char *paths;
    const char *directory;
    slwi_entry_file_record files[];
};

typedef struct slwi_entry_parts {
    slw_store *store;
    const slw_key *key;
    const slw_spec *spec;
    const slwi_inventory *inventory;
    const char *directory;
    const slwi_stat *stat;
    slwi_private *built; /* retained; may be NULL */
    slwi_image *kept;    /* retained; may be NULL */
} slwi_entry_parts;
slw_code slwi_entry_create(const slwi_entry_parts *parts, slwi_entry **out, slw_error *err);

/* `path` is copied. Counted from 1. NULL when out of memory. */
slwi_private *slwi_private_create(const slw_store *store, const char *path, int removable);

#endif
