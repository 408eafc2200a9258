/* What lies in a directory tree: enumerated, judged and hashed, with a bounded number of descriptors at any depth. */
#ifndef SLWI_STORE_INVENTORY_H
#define SLWI_STORE_INVENTORY_H

#include "file.h"

typedef struct slwi_trust slwi_trust;     /* store_root.h */
typedef struct slwi_scratch slwi_scratch; /* store_scratch.h */

/* One file. 64 bytes, because that is what slwi_heap_sort moves. */
typedef struct slwi_tree_file {
    const char *path; /* set for sorting and after it; NUL-terminated, inside `paths` */
    uint64_t size;
    uint32_t path_at; /* in `paths` */
    uint32_t path_size;
    slw_digest sha256;
    uint32_t executable;
    uint32_t text_at; /* where its record begins in the canonical text; for messages */
} slwi_tree_file;

typedef struct slwi_inventory {
    const slw_allocator *allocator;
    slwi_tree_file *files; /* sorted by path, by code point */
    size_t count, capacity;
    slwi_buffer paths;
    uint64_t size_bytes;
} slwi_inventory;

void slwi_inventory_init(slwi_inventory *inventory, const slw_allocator *allocator);
void slwi_inventory_clear(slwi_inventory *inventory); /* keeps the memory */
void slwi_inventory_free(slwi_inventory *inventory);
/* Order by code point of two names of the file system, as slwi_os_compare, fast where they are ASCII. */
int slwi_path_compare(const char *a, size_t a_size, const char *b, size_t b_size);
/* Index of a path, or SIZE_MAX. */
size_t slwi_inventory_find(const slwi_inventory *inventory, const char *path, size_t size);
/* 1 when paths, sizes, execute bits and digests are the same; else 0 and *first_different, a path. */
int slwi_inventory_equal(const slwi_inventory *a, const slwi_inventory *b, const char **first_different);

typedef struct slwi_tree_rules {
    const slwi_trust *trust; /* NULL: owners and devices are not asked */
    slw_code bad_code;       /* what an unsafe tree is: INVALID_ENTRY for slots, INVALID_SOURCE for builders' trees */
    slw_code limit_code;     /* what a tree past a limit is */
    int hash;                /* 0: names, sizes and modes only; the digests stay as they are */
    int judged_by_digest;    /* 1: digests are compared afterwards, so nobody asks whether a file changed meanwhile */
    const char *keep;        /* the payload whose bytes are read into an image; NULL: none */
    const char *where;       /* the tree's own path, for messages */
} slwi_tree_rules;

/* Reads the tree below `directory` (borrowed, freshly opened for listing) into `out` (cleared first). The first
   error in walk order wins: every directory in the order of its names by code point, what is below a directory
   before its next sibling. A top-level regular artifact_manifest.json is left out. `kept` may be NULL; *kept is set
   when the file named was there. *changed is set to 1 when the tree moved under the walk, so that looking again may
   say something else. OK, rules->bad_code, rules->limit_code, STORAGE, NO_MEMORY. */
slw_code slwi_inventory_read(slwi_scratch *scratch, int directory, const slwi_tree_rules *rules, slwi_inventory *out,
                             slwi_image **kept, int *changed, slw_error *err);

#endif
