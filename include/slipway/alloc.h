/* The allocator every object holds by value.  json-c's own memory and thread stacks apart, all memory comes from it. */
#ifndef SLIPWAY_ALLOC_H
#define SLIPWAY_ALLOC_H

#include <slipway/attributes.h>

SLW_BEGIN_DECLS

/* All three functions NULL means the C library's.  Otherwise all three must be set, be safe to call from any thread,
   and `context` must outlive every object made with them.  Memory is aligned for any type. */
typedef struct slw_allocator {
    void *context;
    void *(*allocate)(void *context, size_t size_bytes); /* never called with 0; NULL on failure */
    /* As realloc: on failure NULL and the old block is untouched. `pointer` may be NULL; never called with size 0. */
    void *(*reallocate)(void *context, void *pointer, size_t size_bytes);
    void (*release)(void *context, void *pointer); /* never called with NULL */
} slw_allocator;

#define SLW_ALLOCATOR_INIT                                                                                             \
    { NULL, NULL, NULL, NULL }

SLW_END_DECLS
#endif
