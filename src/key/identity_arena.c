#include "identity_arena.h"

#include <stddef.h>
#include <string.h>

#include "checked.h"
#include "memory.h"

#define BLOCK_BYTES 65536u
#define ALIGNMENT   16u

struct slwi_arena_block {
    slwi_arena_block *older;
    size_t used;
    size_t capacity;
    max_align_t first; /* where the memory begins */
};

void slwi_arena_init(slwi_arena *arena, const slw_allocator *allocator) {
    arena->allocator = *allocator;
    arena->block = NULL;
}

static slwi_arena_block *add_block(slwi_arena *arena, size_t size) {
    const size_t capacity = size > BLOCK_BYTES ? size : BLOCK_BYTES;
    size_t total = 0;
    if (slwi_add_size(capacity, offsetof(slwi_arena_block, first), &total)) return NULL;
    slwi_arena_block *block = slwi_alloc(&arena->allocator, total);
    if (block == NULL) return NULL;
    block->older = arena->block;
    block->used = 0;
    block->capacity = capacity;
    arena->block = block;
    return block;
}

void *slwi_arena_alloc(slwi_arena *arena, size_t size) {
    if (size > SIZE_MAX - ALIGNMENT) return NULL;
    const size_t rounded = (size + (ALIGNMENT - 1)) & ~(size_t)(ALIGNMENT - 1);
    slwi_arena_block *block = arena->block;
    if (block == NULL || block->capacity - block->used < rounded) block = add_block(arena, rounded);
    if (block == NULL) return NULL;
    char *memory = (char *)&block->first + block->used;
    block->used += rounded;
    memset(memory, 0, size);
    return memory;
}

char *slwi_arena_copy(slwi_arena *arena, const char *text, size_t size) {
    size_t total = 0;
    if (slwi_add_size(size, 1, &total)) return NULL;
    char *copy = slwi_arena_alloc(arena, total);
    if (copy == NULL) return NULL;
    if (size > 0) memcpy(copy, text, size);
    copy[size] = 0;
    return copy;
}

void slwi_arena_free(slwi_arena *arena) {
    while (arena->block != NULL) {
        slwi_arena_block *older = arena->block->older;
        slwi_free(&arena->allocator, arena->block);
        arena->block = older;
    }
}
