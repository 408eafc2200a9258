/* Memory that is given back all at once: what an identity remembers of some ten thousand files, without an
   allocation each. */
#ifndef SLWI_IDENTITY_ARENA_H
#define SLWI_IDENTITY_ARENA_H

#include <slipway/bytes.h>

typedef struct slwi_arena_block slwi_arena_block;
typedef struct slwi_arena {
    slw_allocator allocator;
    slwi_arena_block *block; /* the newest */
} slwi_arena;

void slwi_arena_init(slwi_arena *arena, const slw_allocator *allocator);
void *slwi_arena_alloc(slwi_arena *arena, size_t size); /* zeroed, aligned for any type; NULL: no memory */
char *slwi_arena_copy(slwi_arena *arena, const char *text, size_t size); /* NUL-terminated */
void slwi_arena_free(slwi_arena *arena);

#endif
