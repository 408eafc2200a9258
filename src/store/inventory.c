/* The inventory as a value: a sorted list of files. The walk that fills it is tree.c. */
#include "store_inventory.h"

#include <string.h>

#include "memory.h"
#include "text.h"

void slwi_inventory_init(slwi_inventory *inventory, const slw_allocator *allocator) {
    *inventory = (slwi_inventory){.allocator = allocator};
    slwi_buffer_init(&inventory->paths, allocator, UINT32_MAX);
}

void slwi_inventory_clear(slwi_inventory *inventory) {
    inventory->count = 0;
    inventory->size_bytes = 0;
    slwi_buffer_clear(&inventory->paths);
}

void slwi_inventory_free(slwi_inventory *inventory) {
    slwi_free(inventory->allocator, inventory->files);
    slwi_buffer_free(&inventory->paths);
    inventory->files = NULL;
    inventory->count = inventory->capacity = 0;
    inventory->size_bytes = 0;
}

/* Where two names first differ in ASCII, their bytes order them as their code points do; only the rest is decoded. */
int slwi_path_compare(const char *a, size_t a_size, const char *b, size_t b_size) {
    const size_t common = a_size < b_size ? a_size : b_size;
    size_t at = 0;
    while (at < common && a[at] == b[at]) at++;
    const unsigned char x = at < a_size ? (unsigned char)a[at] : 0, y = at < b_size ? (unsigned char)b[at] : 0;
    if (x < 0x80 && y < 0x80) return at == common ? (a_size > b_size) - (a_size < b_size) : (x > y) - (x < y);
    return slwi_os_compare((slw_bytes){a, a_size}, (slw_bytes){b, b_size});
}

size_t slwi_inventory_find(const slwi_inventory *inventory, const char *path, size_t size) {
    size_t low = 0, high = inventory->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const slwi_tree_file *file = &inventory->files[middle];
        const int order = slwi_path_compare(file->path, file->path_size, path, size);
        if (order == 0) return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return SIZE_MAX;
}

static int same_file(const slwi_tree_file *a, const slwi_tree_file *b) {
    return a->path_size == b->path_size && memcmp(a->path, b->path, a->path_size) == 0 && a->size == b->size &&
           a->executable == b->executable && memcmp(&a->sha256, &b->sha256, sizeof a->sha256) == 0;
}

int slwi_inventory_equal(const slwi_inventory *a, const slwi_inventory *b, const char **first_different) {
    const size_t common = a->count < b->count ? a->count : b->count;
    for (size_t i = 0; i < common; i++) {
        if (same_file(&a->files[i], &b->files[i])) continue;
        *first_different = a->files[i].path;
        return 0;
    }
    if (a->count == b->count) return 1;
    *first_different = a->count > common ? a->files[common].path : b->files[common].path;
    return 0;
}
