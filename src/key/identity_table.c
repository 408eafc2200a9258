#include "identity_table.h"

#include <string.h>

#include "identity_mix.h"
#include "memory.h"

void slwi_table_init(slwi_table *table, const slw_allocator *allocator) {
    memset(table, 0, sizeof *table);
    table->allocator = *allocator;
}

void slwi_table_free(slwi_table *table) {
    slwi_free(&table->allocator, table->buckets);
    table->buckets = NULL;
    table->bucket_count = 0;
    table->count = 0;
}

slwi_named *slwi_table_find(const slwi_table *table, const char *path, size_t size) {
    if (table->count == 0) return NULL;
    const uint64_t hash = slwi_mix(0, path, size);
    slwi_named *named = table->buckets[hash & (table->bucket_count - 1)];
    for (; named != NULL; named = named->chain) {
        if (named->hash == hash && named->path_size == size && memcmp(named->path, path, size) == 0) return named;
    }
    return NULL;
}

int slwi_table_reserve(slwi_table *table) {
    /* Few to a bucket: what is looked for is mostly new, and each other in its bucket costs a miss of the cache. */
    if (table->count < table->bucket_count / 2) return 1;
    const size_t wanted = table->bucket_count == 0 ? 64 : table->bucket_count * 4;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): they are pointers */
    slwi_named **buckets = slwi_alloc_array(&table->allocator, wanted, sizeof *buckets);
    if (buckets == NULL) return 0;
    for (size_t i = 0; i < wanted; i++) buckets[i] = NULL;
    for (size_t i = 0; i < table->bucket_count; i++) {
        for (slwi_named *named = table->buckets[i]; named != NULL;) {
            slwi_named *following = named->chain;
            slwi_named **home = &buckets[named->hash & (wanted - 1)];
            named->chain = *home;
            *home = named;
            named = following;
        }
    }
    slwi_free(&table->allocator, table->buckets);
    table->buckets = buckets;
    table->bucket_count = wanted;
    return 1;
}

void slwi_table_add(slwi_table *table, slwi_named *named) {
    named->hash = slwi_mix(0, named->path, named->path_size);
    slwi_named **home = &table->buckets[named->hash & (table->bucket_count - 1)];
    named->chain = *home;
    *home = named;
    table->count++;
}
