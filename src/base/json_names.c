/* Duplicate names by sorting: heap sort, because its worst case is n log n whatever the names are, and it needs no
   memory. */
#include "json_names.h"

#include <string.h>

#include "memory.h"

void slwi_json_names_init(slwi_json_names *names, const slw_allocator *allocator) {
    slwi_buffer_init(&names->bytes, allocator, SIZE_MAX);
    names->items = NULL;
    names->count = 0;
    names->capacity = 0;
}

void slwi_json_names_free(slwi_json_names *names) {
    slwi_free(names->bytes.allocator, names->items);
    slwi_buffer_free(&names->bytes);
}

static uint64_t hash_of(const char *data, size_t size) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a: only sorts faster, equality is decided by the bytes */
    for (size_t i = 0; i < size; i++) hash = (hash ^ (uint8_t)data[i]) * 0x100000001b3u;
    return hash;
}

int slwi_json_names_add(slwi_json_names *names, size_t first_byte, size_t offset) {
    slwi_buffer_append(&names->bytes, "", 0); /* an empty name needs a place too */
    if (names->bytes.failed) return 0;
    if (names->count == names->capacity) {
        const size_t capacity = names->capacity == 0 ? 32 : 2 * names->capacity;
        slwi_json_name *grown = slwi_realloc_array(names->bytes.allocator, names->items, capacity, sizeof *grown);
        if (grown == NULL) return 0;
        names->items = grown;
        names->capacity = capacity;
    }
    slwi_json_name *name = &names->items[names->count++];
    name->first_byte = first_byte;
    name->size = names->bytes.size - first_byte;
    name->offset = offset;
    name->hash = hash_of(names->bytes.data + first_byte, name->size);
    return 1;
}

static int same_text(const slwi_json_names *names, const slwi_json_name *a, const slwi_json_name *b) {
    if (a->size != b->size) return 0;
    return memcmp(names->bytes.data + a->first_byte, names->bytes.data + b->first_byte, a->size) == 0;
}

/* By hash, size, bytes, and then by place, so that of equal names the first in the text comes first. */
static int before(const slwi_json_names *names, const slwi_json_name *a, const slwi_json_name *b) {
    if (a->hash != b->hash) return a->hash < b->hash;
    if (a->size != b->size) return a->size < b->size;
    const int order = memcmp(names->bytes.data + a->first_byte, names->bytes.data + b->first_byte, a->size);
    return order != 0 ? order < 0 : a->offset < b->offset;
}

static void sift_down(const slwi_json_names *names, slwi_json_name *heap, size_t at, size_t count) {
    const slwi_json_name moving = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count && before(names, &heap[child], &heap[child + 1])) child++;
        if (!before(names, &moving, &heap[child])) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static void sort(const slwi_json_names *names, slwi_json_name *items, size_t count) {
    for (size_t i = count / 2; i > 0; i--) sift_down(names, items, i - 1, count);
    for (size_t end = count; end > 1; end--) {
        const slwi_json_name largest = items[0];
        items[0] = items[end - 1];
        items[end - 1] = largest;
        sift_down(names, items, 0, end - 1);
    }
}

size_t slwi_json_names_duplicate(slwi_json_names *names, size_t first) {
    const size_t count = names->count - first;
    if (count < 2) return SIZE_MAX;
    slwi_json_name *items = names->items + first;
    sort(names, items, count);
    size_t earliest = SIZE_MAX;
    for (size_t i = 1; i < count; i++) {
        if (items[i].hash != items[i - 1].hash || !same_text(names, &items[i], &items[i - 1])) continue;
        if (items[i].offset < earliest) earliest = items[i].offset;
    }
    return earliest;
}

void slwi_json_names_cut(slwi_json_names *names, size_t count, size_t bytes) {
    names->count = count;
    names->bytes.size = bytes;
}
