/* An allocator that fails on request and knows what is alive.
 *
 *     slt_heap heap; slt_heap_init(&heap);
 *     for (uint64_t n = 1;; n++) {
 *         slt_heap_reset(&heap);
 *         heap.fail_at = n;
 *         rc = slw_x(&heap.allocator, …);
 *         …                                    // SLW_E_NO_MEMORY, nothing changed, nothing leaked
 *         if (!heap.failed) break;             // a run that met no fault: done
 *     }
 *
 * Thread-safe. Every block carries a header and a tail: a pointer that is not one of this heap's, a second release and
 * a write past the end end the process with a message. */
#ifndef SLT_FAULT_ALLOC_H
#define SLT_FAULT_ALLOC_H

#include <pthread.h>
#include <slipway/alloc.h>

typedef struct slt_heap {
    slw_allocator allocator; /* give &heap.allocator or copy it; its context is this heap */
    uint64_t fail_at;        /* the n-th allocation or growth fails, from 1; 0: none */
    int fail_after;          /* 1: and every later one */
    uint64_t calls;          /* allocations and growths so far */
    uint64_t failed;         /* how many were refused */
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint64_t peak_bytes;
    pthread_mutex_t lock;
    void *blocks;
} slt_heap;

void slt_heap_init(slt_heap *heap);
/* Counts to 0 and no fault; what is alive stays alive. */
void slt_heap_reset(slt_heap *heap);
/* Fails the test when a block is alive, naming the sizes and the numbers of the calls that made them. */
void slt_heap_check_empty(slt_heap *heap);

#endif
