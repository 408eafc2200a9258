/* Handles and memory. A handle's place is never used again, so a stale one is known as such. */
#include "double_core.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define SLOTS 128u
typedef struct chunk chunk;
struct chunk {
    chunk *next;
    unsigned used;
    _Alignas(16) unsigned char slots[SLOTS][DOUBLE_OBJECT_SIZE];
};
static chunk *chunks;

void *double_object_new(uint32_t kind) {
    if (chunks == NULL || chunks->used == SLOTS) {
        chunk *const fresh = calloc(1, sizeof *fresh);
        if (fresh == NULL) return NULL;
        fresh->next = chunks;
        chunks = fresh;
    }
    double_object *const object = (void *)chunks->slots[chunks->used++];
    object->kind = kind;
    object->alive = 1;
    return object;
}

int double_object_state(const void *handle, uint32_t kind) {
    const uintptr_t at = (uintptr_t)handle;
    for (const chunk *c = chunks; c != NULL; c = c->next) {
        const uintptr_t start = (uintptr_t)c->slots;
        if (at < start || at >= start + (uintptr_t)c->used * DOUBLE_OBJECT_SIZE) continue;
        if ((at - start) % DOUBLE_OBJECT_SIZE != 0) return 0;
        const double_object *const object = handle;
        return object->kind != kind ? 0 : object->alive ? 1 : -1;
    }
    return 0;
}

void double_objects_each(uint32_t kind, void (*job)(void *object, void *context), void *context) {
    for (chunk *c = chunks; c != NULL; c = c->next) {
        for (unsigned i = 0; i < c->used; i++) {
            double_object *const object = (void *)c->slots[i];
            if (object->kind == kind && object->alive) job(object, context);
        }
    }
}

static void count_one(void *object, void *context) {
    (void)object;
    ++*(unsigned *)context;
}

unsigned double_objects_count(uint32_t kind) {
    unsigned count = 0;
    double_objects_each(kind, count_one, &count);
    return count;
}

/* ---- Memory ---------------------------------------------------------------------------------------------- */

static double_block *blocks;
static unsigned block_count, block_room;

uint64_t double_memory_alloc(uint64_t size, void *owner, void *module) {
    if (size == 0 || size > UINT64_C(1) << 36) return 0;
    if (block_count == block_room) {
        const unsigned room = block_room == 0 ? 64 : 2 * block_room;
        double_block *const more = realloc(blocks, room * sizeof *more);
        if (more == NULL) return 0;
        blocks = more;
        block_room = room;
    }
    unsigned char *base = NULL;
    if (posix_memalign((void **)&base, 256, (size_t)size) != 0) return 0;
    memset(base, 0, (size_t)size);
    blocks[block_count++] = (double_block){base, size, owner, module};
    return (uint64_t)(uintptr_t)base;
}

static void drop(unsigned index) {
    free(blocks[index].base);
    blocks[index] = blocks[--block_count];
}

int double_memory_free(uint64_t address) {
    for (unsigned i = 0; i < block_count; i++) {
        if ((uint64_t)(uintptr_t)blocks[i].base != address || blocks[i].module != NULL) continue;
        drop(i);
        return 1;
    }
    return 0;
}

int double_memory_holds(uint64_t address, uint64_t size) {
    for (unsigned i = 0; i < block_count; i++) {
        const uint64_t base = (uint64_t)(uintptr_t)blocks[i].base;
        if (address >= base && address - base <= blocks[i].size && size <= blocks[i].size - (address - base)) return 1;
    }
    return 0;
}

void double_memory_drop(void *owner, void *module) {
    for (unsigned i = block_count; i-- > 0;) {
        if ((owner == NULL || blocks[i].owner == owner) && (module == NULL || blocks[i].module == module)) drop(i);
    }
}

void double_memory_each(void (*job)(const double_block *block, void *context), void *context) {
    for (unsigned i = 0; i < block_count; i++) job(&blocks[i], context);
}

size_t double_read(const void *from, void *to, size_t size) {
    static const size_t page = 4096;
    size_t done = 0;
    while (done < size) {
        const uintptr_t at = (uintptr_t)from + done;
        size_t step = page - at % page;
        if (step > size - done) step = size - done;
        const struct iovec local = {(char *)to + done, step};
        const struct iovec remote = {(void *)at, step};
        const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
        if (got != (ssize_t)step) return got > 0 ? done + (size_t)got : done;
        done += step;
    }
    return done;
}
