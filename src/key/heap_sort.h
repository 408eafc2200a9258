/* Sorting without the C library's qsort, which may allocate and whose worst case is quadratic in places. */
#ifndef SLWI_HEAP_SORT_H
#define SLWI_HEAP_SORT_H

#include <stddef.h>

#define SLWI_SORT_ITEM_MAX_BYTES 64

/* In place, n log n always, no memory, not stable. `size` is at most SLWI_SORT_ITEM_MAX_BYTES. */
void slwi_heap_sort(void *items, size_t count, size_t size, int (*compare)(const void *a, const void *b));

#endif
