/* The names of the objects that are open during a scan, and finding one that stands twice. A stack: an inner object's
   names lie above its parent's and are cut off at its end. */
#ifndef SLWI_JSON_NAMES_H
#define SLWI_JSON_NAMES_H

#include "buffer.h"

typedef struct slwi_json_name {
    uint64_t hash;
    size_t first_byte;
    size_t size;
    size_t offset; /* of the name in the text */
} slwi_json_name;

typedef struct slwi_json_names {
    slwi_buffer bytes; /* decoded */
    slwi_json_name *items;
    size_t count;
    size_t capacity;
} slwi_json_names;

void slwi_json_names_init(slwi_json_names *names, const slw_allocator *allocator);
void slwi_json_names_free(slwi_json_names *names);
/* A name whose bytes stand in `bytes` from first_byte to its end; 0 when there was no memory. */
int slwi_json_names_add(slwi_json_names *names, size_t first_byte, size_t offset);
/* The offset of the first name, in the text's order, that repeats another one of [first, count); SIZE_MAX: none.
   Reorders them. */
size_t slwi_json_names_duplicate(slwi_json_names *names, size_t first);
void slwi_json_names_cut(slwi_json_names *names, size_t count, size_t bytes);

#endif
