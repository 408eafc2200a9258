#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t fuzz_accepted;
uint64_t fuzz_mutation = UINT64_MAX;

void fuzz_broken(const char *promise, const char *file, int line) {
    (void)fprintf(stderr, "%s:%d: broken promise: %s\n", file, line, promise);
    if (fuzz_mutation != UINT64_MAX) (void)fprintf(stderr, "mutation %llu\n", (unsigned long long)fuzz_mutation);
    abort();
}

static int refused(fuzz_heap *heap) {
    if (++heap->calls != heap->fail_at) return 0;
    heap->failed++;
    return 1;
}

static void *heap_allocate(void *context, size_t size) {
    fuzz_heap *heap = context;
    FUZZ_REQUIRE(size > 0);
    void *memory = refused(heap) ? NULL : malloc(size);
    if (memory != NULL) {
        heap->live++;
        memset(memory, 0xCD, size < 4096 ? size : 4096); /* nobody may count on zeros */
    }
    return memory;
}

static void *heap_reallocate(void *context, void *pointer, size_t size) {
    fuzz_heap *heap = context;
    if (pointer == NULL) return heap_allocate(context, size);
    return refused(heap) ? NULL : realloc(pointer, size);
}

static void heap_release(void *context, void *pointer) {
    fuzz_heap *heap = context;
    heap->live--;
    free(pointer);
}

void fuzz_heap_begin(fuzz_heap *heap, uint64_t fail_at) {
    memset(heap, 0, sizeof *heap);
    heap->fail_at = fail_at;
    heap->allocator.context = heap;
    heap->allocator.allocate = heap_allocate;
    heap->allocator.reallocate = heap_reallocate;
    heap->allocator.release = heap_release;
}

void fuzz_heap_end(fuzz_heap *heap) {
    FUZZ_REQUIRE(heap->live == 0);
}

uint64_t fuzz_pick(const uint8_t *data, size_t size, uint64_t below) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ size;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = 0;
        memcpy(&word, data + i, size - i < 8 ? size - i : 8);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return below == 0 ? 0 : (hash >> 17) % below;
}

int fuzz_every_fault;

uint64_t fuzz_faults(const uint8_t *data, size_t size, uint64_t calls, uint64_t *first) {
    *first = 1;
    if (calls == 0 || fuzz_every_fault < 0) return 0;
    if (fuzz_every_fault) return calls < FUZZ_FAULTS_MAX ? calls : FUZZ_FAULTS_MAX;
    *first = 1 + fuzz_pick(data, size, calls);
    return 1;
}

slw_code fuzz_with_fault(fuzz_once once, const uint8_t *data, size_t size) {
    fuzz_heap heap;
    fuzz_heap_begin(&heap, 0);
    const slw_code expected = once(&heap.allocator, data, size);
    fuzz_accepted += expected == SLW_OK;
    fuzz_heap_end(&heap);
    uint64_t first;
    for (uint64_t n = fuzz_faults(data, size, heap.calls, &first); n > 0; n--) {
        fuzz_heap_begin(&heap, first++);
        const slw_code rc = once(&heap.allocator, data, size);
        FUZZ_REQUIRE(rc == expected || (rc == SLW_E_NO_MEMORY && heap.failed != 0));
        fuzz_heap_end(&heap);
    }
    return expected;
}

void fuzz_check_refusal(slw_code code, const slw_error *err, size_t text_size) {
    FUZZ_REQUIRE(code != SLW_OK && err->code == code);
    FUZZ_REQUIRE(err->message[0] != '\0' && memchr(err->message, 0, sizeof err->message) != NULL);
    for (const char *c = err->message; *c != '\0'; c++)
        FUZZ_REQUIRE((unsigned char)*c >= 0x20 && *c != 0x7f); /* one line */
    FUZZ_REQUIRE((err->present & SLW_ERROR_HAS_OFFSET) == 0 || err->offset_bytes <= text_size);
}
