#include "store_scratch.h"

#include "memory.h"

static void init_buffers(slwi_scratch *scratch, const slw_allocator *allocator) {
    scratch->allocator = allocator;
    slwi_inventory_init(&scratch->inventory, allocator);
    slwi_buffer_init(&scratch->marker, allocator, SIZE_MAX);
    slwi_buffer_init(&scratch->text, allocator, SLW_LIMIT_MANIFEST_BYTES);
    slwi_buffer_init(&scratch->tail, allocator, SLW_LIMIT_MANIFEST_BYTES);
    slwi_buffer_init(&scratch->name_bytes, allocator, SIZE_MAX);
    scratch->names = NULL;
    scratch->name_count = scratch->name_capacity = 0;
    scratch->levels = NULL;
    scratch->level_capacity = 0;
}

static void free_buffers(slwi_scratch *scratch) {
    slwi_inventory_free(&scratch->inventory);
    slwi_buffer_free(&scratch->marker);
    slwi_buffer_free(&scratch->text);
    slwi_buffer_free(&scratch->tail);
    slwi_buffer_free(&scratch->name_bytes);
    slwi_free(scratch->allocator, scratch->names);
    slwi_free(scratch->allocator, scratch->levels);
}

slwi_scratch *slwi_scratch_borrow(slw_store *store) {
    slwi_scratch *waiting = atomic_exchange_explicit(&store->scratch, NULL, memory_order_acquire);
    if (waiting != NULL) return waiting;
    /* Not zeroed: 256 KiB of it are read buffer. */
    slwi_scratch *fresh = slwi_alloc(&store->allocator, sizeof *fresh);
    if (fresh != NULL) init_buffers(fresh, &store->allocator);
    return fresh;
}

void slwi_scratch_free(const slw_allocator *allocator, slwi_scratch *scratch) {
    if (scratch == NULL) return;
    free_buffers(scratch);
    slwi_free(allocator, scratch);
}

void slwi_scratch_return(slw_store *store, slwi_scratch *scratch) {
    if (scratch == NULL) return;
    free_buffers(scratch);
    init_buffers(scratch, &store->allocator);
    slwi_scratch *nobody = NULL;
    if (!atomic_compare_exchange_strong_explicit(&store->scratch, &nobody, scratch, memory_order_release,
                                                 memory_order_relaxed))
        slwi_scratch_free(&store->allocator, scratch);
}
