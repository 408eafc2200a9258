#include "heap_sort.h"

#include <assert.h>
#include <string.h>

static void swap(char *a, char *b, size_t size) {
    char kept[SLWI_SORT_ITEM_MAX_BYTES];
    memcpy(kept, a, size);
    memcpy(a, b, size);
    memcpy(b, kept, size);
}

/* Moves the item at `root` down until no child is greater. */
static void sift(char *items, size_t root, size_t count, size_t size, int (*compare)(const void *, const void *)) {
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count) return;
        if (child + 1 < count && compare(items + child * size, items + (child + 1) * size) < 0) child++;
        if (compare(items + root * size, items + child * size) >= 0) return;
        swap(items + root * size, items + child * size, size);
        root = child;
    }
}

void slwi_heap_sort(void *items, size_t count, size_t size, int (*compare)(const void *a, const void *b)) {
    char *base = items;
    assert(size <= SLWI_SORT_ITEM_MAX_BYTES);
    if (count < 2) return;
    for (size_t root = count / 2; root > 0; root--) sift(base, root - 1, count, size, compare);
    for (size_t last = count - 1; last > 0; last--) {
        swap(base, base + last * size, size);
        sift(base, 0, last, size, compare);
    }
}
