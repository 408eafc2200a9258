/* The buffers of one request. A store keeps one set, made when it is opened, for one request after the other; what a
   request makes them grow by is given back at its end, so that the store's memory is constant. */
#ifndef SLWI_STORE_SCRATCH_H
#define SLWI_STORE_SCRATCH_H

#include "store_core.h"

#define SLWI_BATCH_BYTES 262144u /* files that are hashed together; fits a processor's second-level cache */
#define SLWI_BATCH_FILES 128u

typedef struct slwi_tree_name {
    const char *name; /* valid while sorting only */
    uint32_t at;      /* in name_bytes */
    char type;        /* as slwi_dirent's */
} slwi_tree_name;

/* A directory that the walk is inside of. */
typedef struct slwi_tree_level {
    int fd;                  /* -1: closed to save descriptors, to be had again by ".." of the level below */
    size_t next, end;        /* its names, in scratch->names */
    size_t name_bytes_begin; /* where its names begin in scratch->name_bytes */
    size_t path_size;        /* of its own path */
    uint64_t dev, ino;
} slwi_tree_level;

struct slwi_scratch {
    const slw_allocator *allocator;
    slwi_inventory inventory; /* of lookups */
    slwi_buffer marker, text, tail;
    slwi_buffer name_bytes;
    slwi_tree_name *names;
    size_t name_count, name_capacity;
    slwi_tree_level *levels;
    size_t level_capacity;
    size_t path_size;
    size_t batch_count, batch_used;
    slw_bytes messages[SLWI_BATCH_FILES];
    size_t message_file[SLWI_BATCH_FILES];
    slw_digest digests[SLWI_BATCH_FILES];
    char path[SLW_LIMIT_PATH_BYTES + 1];
    slwi_dir dir;
    uint8_t bytes[SLWI_BATCH_BYTES];
};

/* NULL when out of memory. */
slwi_scratch *slwi_scratch_borrow(slw_store *store);
void slwi_scratch_return(slw_store *store, slwi_scratch *scratch); /* NULL is fine */
void slwi_scratch_free(const slw_allocator *allocator, slwi_scratch *scratch);

#endif
