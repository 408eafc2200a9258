#include "fault_alloc.h"

#include <check.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIVE 0x5149504157594C56ull
#define DEAD 0xDEADB10CDEADB10Cull
#define TAIL_SIZE 16
#define TAIL_BYTE 0xA5

typedef struct block {
    alignas(max_align_t) uint64_t mark;
    slt_heap *heap;
    struct block *previous;
    struct block *next;
    size_t size;
    uint64_t call;
} block;

static void end(const char *what, const void *pointer) {
    (void)fprintf(stderr, "fault_alloc: %s: %p\n", what, pointer);
    (void)fflush(stderr);
    abort();
}

static unsigned char *bytes_of(block *b) {
    return (unsigned char *)(b + 1);
}

static void link_block(slt_heap *heap, block *b) {
    b->previous = NULL;
    b->next = heap->blocks;
    if (b->next != NULL) b->next->previous = b;
    heap->blocks = b;
    heap->live_blocks++;
    heap->live_bytes += b->size;
    if (heap->live_bytes > heap->peak_bytes) heap->peak_bytes = heap->live_bytes;
}

static void unlink_block(slt_heap *heap, block *b) {
    if (b->previous != NULL) {
        b->previous->next = b->next;
    } else {
        heap->blocks = b->next;
    }
    if (b->next != NULL) b->next->previous = b->previous;
    heap->live_blocks--;
    heap->live_bytes -= b->size;
}

/* With the lock held: is this call the one to refuse? */
static int refused(slt_heap *heap) {
    heap->calls++;
    if (heap->fail_at == 0) return 0;
    if (heap->fail_after ? heap->calls < heap->fail_at : heap->calls != heap->fail_at) return 0;
    heap->failed++;
    return 1;
}

static block *checked(slt_heap *heap, void *pointer, const char *what) {
    block *b = (block *)pointer - 1;
    if (b->mark == DEAD) end("released before", pointer);
    if (b->mark != LIVE || b->heap != heap) end(what, pointer);
    for (size_t i = 0; i < TAIL_SIZE; i++) {
        if (bytes_of(b)[b->size + i] != TAIL_BYTE) end("written past its end", pointer);
    }
    return b;
}

static block *make(slt_heap *heap, size_t size) {
    if (size == 0) end("asked for 0 bytes", NULL);
    if (size > SIZE_MAX / 2) return NULL;
    block *b = malloc(sizeof *b + size + TAIL_SIZE);
    if (b == NULL) return NULL;
    b->mark = LIVE;
    b->heap = heap;
    b->size = size;
    b->call = heap->calls;
    memset(bytes_of(b), 0xCD, size); /* nobody may count on zeros */
    memset(bytes_of(b) + size, TAIL_BYTE, TAIL_SIZE);
    link_block(heap, b);
    return b;
}

static void destroy(slt_heap *heap, block *b) {
    unlink_block(heap, b);
    memset(bytes_of(b), 0xDD, b->size);
    b->mark = DEAD;
    free(b);
}

static void *heap_allocate(void *context, size_t size) {
    slt_heap *heap = context;
    pthread_mutex_lock(&heap->lock);
    block *b = refused(heap) ? NULL : make(heap, size);
    pthread_mutex_unlock(&heap->lock);
    return b != NULL ? bytes_of(b) : NULL;
}

/* Always moves, so that a pointer kept across a growth is seen. */
static void *heap_reallocate(void *context, void *pointer, size_t size) {
    slt_heap *heap = context;
    if (pointer == NULL) return heap_allocate(context, size);
    pthread_mutex_lock(&heap->lock);
    block *old = checked(heap, pointer, "reallocated but not of this heap");
    block *b = refused(heap) ? NULL : make(heap, size);
    if (b != NULL) {
        memcpy(bytes_of(b), pointer, old->size < size ? old->size : size);
        destroy(heap, old);
    }
    pthread_mutex_unlock(&heap->lock);
    return b != NULL ? bytes_of(b) : NULL;
}

static void heap_release(void *context, void *pointer) {
    slt_heap *heap = context;
    if (pointer == NULL) end("released NULL", pointer);
    pthread_mutex_lock(&heap->lock);
    destroy(heap, checked(heap, pointer, "released but not of this heap"));
    pthread_mutex_unlock(&heap->lock);
}

void slt_heap_init(slt_heap *heap) {
    memset(heap, 0, sizeof *heap);
    pthread_mutex_init(&heap->lock, NULL);
    heap->allocator.context = heap;
    heap->allocator.allocate = heap_allocate;
    heap->allocator.reallocate = heap_reallocate;
    heap->allocator.release = heap_release;
}

void slt_heap_reset(slt_heap *heap) {
    pthread_mutex_lock(&heap->lock);
    heap->fail_at = 0;
    heap->fail_after = 0;
    heap->calls = 0;
    heap->failed = 0;
    heap->peak_bytes = heap->live_bytes;
    pthread_mutex_unlock(&heap->lock);
}

void slt_heap_check_empty(slt_heap *heap) {
    pthread_mutex_lock(&heap->lock);
    const uint64_t blocks = heap->live_blocks;
    int shown = 0;
    for (const block *b = heap->blocks; b != NULL && shown < 8; b = b->next, shown++) {
        (void)fprintf(stderr, "fault_alloc: leaked %zu bytes of call %llu\n", b->size, (unsigned long long)b->call);
    }
    pthread_mutex_unlock(&heap->lock);
    ck_assert_msg(blocks == 0, "%llu blocks leaked", (unsigned long long)blocks);
}
