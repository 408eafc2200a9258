/* One inspection, shared by its files and by nobody else: the object, and the walk that makes it. */
#ifndef SLWI_INSPECT_STATE_H
#define SLWI_INSPECT_STATE_H

#include <slipway/inspect.h>

#include "fatbin_read.h"

typedef struct slwi_inspected {
    slw_image view; /* what the caller sees; its pointers lead into the fields below */
    char target[64];
    char isa_version[16];
    slw_contract *contract;
    slw_error *error;
} slwi_inspected;

struct slw_inspection {
    uint32_t tag;
    slw_allocator allocator;
    slw_file_format format;
    slwi_inspected **images; /* each its own block: views point into them */
    size_t count;
    size_t capacity;
};

/* An image as its container names it. */
typedef struct slwi_found_image {
    slw_image_kind kind;
    slw_bytes bytes;
    uint64_t offset_bytes;          /* in the file */
    const char *target;             /* "" or NULL: the container does not say */
    const char *isa_version;        /* likewise */
    const char *compression;        /* static; NULL: none */
    const slwi_fatbin_entry *entry; /* of a fatbin: its header knows more of the target than the image; NULL: none */
    int nested;                     /* 1: inside a container, where text may carry NULs behind it */
} slwi_found_image;

typedef struct slwi_inspect_walk {
    slw_inspection *inspection;
    slw_bytes file;
    const char *name;       /* what errors call the file; NULL: none */
    uint64_t image_bytes;   /* of all images that were read: never more than the file holds, so time stays linear */
    uint64_t section_bytes; /* likewise of sections */
    uint32_t container;     /* that the next image stands in */
    slw_error *err;
} slwi_inspect_walk;

/* Reads the image and keeps it, its contract or its refusal. Fails with LIMIT, NO_MEMORY, INVALID_BINARY (OVERLAP). */
slw_code slwi_inspect_add(slwi_inspect_walk *walk, const slwi_found_image *found);
/* Counts bytes that are about to be read against the file; INVALID_BINARY (OVERLAP). */
slw_code slwi_inspect_spend(const slwi_inspect_walk *walk, uint64_t *spent, uint64_t offset, uint64_t size);

/* What bytes alone say of an image: UNKNOWN where nothing is recognised. */
slw_image_kind slwi_inspect_kind(slw_bytes bytes);

/* Every image of a container that lies at `offset_bytes` of the file. */
slw_code slwi_inspect_fatbin(slwi_inspect_walk *walk, slw_bytes fatbin, uint64_t offset_bytes);
slw_code slwi_inspect_bundle(slwi_inspect_walk *walk, slw_bytes bundle, uint64_t offset_bytes);
/* A file of a processor: the containers in its sections. MISS where it has none. */
slw_code slwi_inspect_sections(slwi_inspect_walk *walk);

#endif
