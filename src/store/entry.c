/* An entry as an object: what was judged, in one block of memory. Reading its payloads is entry_read.c. */
#include <string.h>

#include "fail.h"
#include "memory.h"
#include "store_object.h"

static void destroy_entry(slwi_ref *self) {
    slwi_entry *entry = (slwi_entry *)(void *)self;
    slw_store *store = entry->store;
    slwi_release(entry->kept);
    slwi_release(entry->built);
    slw_spec_release(&entry->spec);
    slw_key_release(&entry->key);
    slwi_free(&store->allocator, entry);
    slwi_release(store);
}

/* Copies the records and, behind them, the paths. */
static char *fill_files(slwi_entry *entry, const slwi_inventory *inventory, char *strings) {
    uint32_t at = 0;
    entry->paths = strings;
    for (size_t i = 0; i < inventory->count; i++) {
        const slwi_tree_file *file = &inventory->files[i];
        entry->files[i] = (slwi_entry_file_record){.size_and_executable = file->size * 2 + (file->executable != 0),
                                                   .path_at = at,
                                                   .path_size = file->path_size,
                                                   .sha256 = file->sha256};
        memcpy(strings + at, file->path, file->path_size + (size_t)1);
        at += file->path_size + 1;
    }
    return strings + at;
}

slw_code slwi_entry_create(const slwi_entry_parts *parts, slwi_entry **out, slw_error *err) {
    const slwi_inventory *inventory = parts->inventory;
    const size_t records = inventory->count * sizeof(slwi_entry_file_record);
    const size_t directory = strlen(parts->directory) + 1;
    const size_t block = sizeof(slwi_entry) + records + inventory->paths.size + directory;
    slwi_entry *entry = slwi_alloc(&parts->store->allocator, block);
    if (entry == NULL) return slwi_fail_memory(err, block);
    memset(entry, 0, sizeof *entry);
    slwi_ref_init(&entry->ref, destroy_entry);
    entry->store = slwi_retain(parts->store);
    entry->key = parts->key != NULL ? slw_key_retain(parts->key) : NULL;
    entry->spec = slw_spec_retain(parts->spec);
    entry->built = slwi_retain(parts->built);
    entry->kept = slwi_retain(parts->kept);
    entry->dev = parts->stat->dev;
    entry->ino = parts->stat->ino;
    entry->size_bytes = inventory->size_bytes;
    entry->block_bytes = block;
    entry->file_count = inventory->count;
    char *rest = fill_files(entry, inventory, (char *)(entry->files + inventory->count));
    memcpy(rest, parts->directory, directory);
    entry->directory = rest;
    const char *keep = slw_spec_keep(parts->spec);
    entry->kept_index = entry->kept != NULL ? slwi_inventory_find(inventory, keep, strlen(keep)) : SIZE_MAX;
    *out = entry;
    return SLW_OK;
}

const slw_key *slwi_entry_key(const slwi_entry *entry) {
    return entry->key;
}
const slw_spec *slwi_entry_spec(const slwi_entry *entry) {
    return entry->spec;
}
size_t slwi_entry_file_count(const slwi_entry *entry) {
    return entry->file_count;
}
uint64_t slwi_entry_size_bytes(const slwi_entry *entry) {
    return entry->size_bytes;
}
int slwi_entry_is_private(const slwi_entry *entry) {
    return entry->built != NULL;
}
const char *slwi_entry_directory(const slwi_entry *entry) {
    return entry->directory;
}
const slw_allocator *slwi_entry_allocator(const slwi_entry *entry) {
    return &entry->store->allocator;
}
slwi_ref *slwi_entry_metrics(const slwi_entry *entry) {
    return entry->store->metrics;
}
size_t slwi_entry_overhead_bytes(const slwi_entry *entry) {
    return entry->block_bytes;
}

int slwi_entry_file(const slwi_entry *entry, size_t index, slw_file *out) {
    if (index >= entry->file_count) return 0;
    const slwi_entry_file_record *file = &entry->files[index];
    *out = (slw_file){.path = {entry->paths + file->path_at, file->path_size},
                      .size_bytes = file->size_and_executable >> 1,
                      .sha256 = file->sha256,
                      .executable = (int)(file->size_and_executable & 1)};
    return 1;
}

int slwi_entry_find(const slwi_entry *entry, const char *name, slw_file *out) {
    const size_t size = strlen(name);
    size_t low = 0, high = entry->file_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const slwi_entry_file_record *file = &entry->files[middle];
        const int order = slwi_path_compare(entry->paths + file->path_at, file->path_size, name, size);
        if (order == 0) return slwi_entry_file(entry, middle, out);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}
