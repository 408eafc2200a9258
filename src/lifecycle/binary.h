/* Finding the launch binary of an entry that has no slipway.json. */
#ifndef SLWI_BINARY_H
#define SLWI_BINARY_H

#include "backends.h"
#include "store_entry.h"

typedef struct slwi_found_binary {
    slwi_image *image; /* the caller's reference */
    slw_contract *contract;
    const slw_backend_vtable *reader;
    uint64_t read_bytes; /* to find it */
} slwi_found_binary;

/* The payload the spec keeps, else one of the name that the backend gives its launch binaries, else the only
   payload that a backend recognises and can read. `backend` NULL: any of this build;
   `target` chooses among several images of it. UNSUPPORTED_INPUT with
   NOT_RECOGNISED or AMBIGUOUS; else what the reader says of the one candidate. */
slw_code slwi_find_binary(slwi_entry *entry, const slw_allocator *allocator, const char *backend, const char *target,
                          slwi_found_binary *out, slw_error *err);
void slwi_found_binary_drop(slwi_found_binary *binary, const slw_allocator *allocator);

#endif
