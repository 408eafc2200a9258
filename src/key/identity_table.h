/* A table of things that have a path, chained; the things live elsewhere (in an arena). */
#ifndef SLWI_IDENTITY_TABLE_H
#define SLWI_IDENTITY_TABLE_H

#include <slipway/bytes.h>

/* The first member of what a table holds. */
typedef struct slwi_named {
    struct slwi_named *chain;
    uint64_t hash;
    const char *path; /* NUL-terminated */
    size_t path_size;
} slwi_named;

typedef struct slwi_table {
    slw_allocator allocator;
    slwi_named **buckets;
    size_t bucket_count; /* a power of two, or 0 */
    size_t count;
} slwi_table;

void slwi_table_init(slwi_table *table, const slw_allocator *allocator);
void slwi_table_free(slwi_table *table);
slwi_named *slwi_table_find(const slwi_table *table, const char *path, size_t size);
/* Room for one more; 0: no memory. Then slwi_table_add cannot fail; `named` has its path set and is not there yet. */
int slwi_table_reserve(slwi_table *table);
void slwi_table_add(slwi_table *table, slwi_named *named);

#endif
