/* An allocator for tests: fails its n-th call, and counts what is not yet released. */
#ifndef NTH_ALLOCATOR_H
#define NTH_ALLOCATOR_H

#include <slipway/alloc.h>
#include <stdlib.h>

typedef struct nth_allocator {
    size_t calls;
    size_t fail_at; /* from 1; 0: never */
    size_t living;
} nth_allocator;

static inline void *nth_allocate(void *context, size_t size) {
    nth_allocator *n = context;
    if (++n->calls == n->fail_at) return NULL;
    void *memory = malloc(size);
    if (memory != NULL) n->living++;
    return memory;
}

static inline void *nth_reallocate(void *context, void *pointer, size_t size) {
    nth_allocator *n = context;
    if (++n->calls == n->fail_at) return NULL;
    void *memory = realloc(pointer, size);
    if (memory != NULL && pointer == NULL) n->living++;
    return memory;
}

static inline void nth_release(void *context, void *pointer) {
    nth_allocator *n = context;
    n->living--;
    free(pointer);
}

static inline slw_allocator nth_allocator_of(nth_allocator *n) {
    return (slw_allocator){n, nth_allocate, nth_reallocate, nth_release};
}

#endif
