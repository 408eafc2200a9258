#include "tree_list.h"

#include <errno.h>
#include <string.h>

#include "identity_mix.h"
#include "memory.h"
#include "text.h"
#include "tree.h"

static int is(const char *text, size_t size, const char *other) {
    return size == strlen(other) && memcmp(text, other, size) == 0;
}

int slwi_tree_skips(const char *name, size_t size) {
    if (is(name, size, ".git") || is(name, size, "__pycache__")) return 1;
    return size >= 4 && (is(name + size - 4, 4, ".pyc") || is(name + size - 4, 4, ".pyo"));
}

static slw_bytes name_of(const slwi_tree_stack *stack, const slwi_tree_item *item) {
    const slw_bytes name = {stack->names.data + item->name, item->size};
    return name;
}

/* Most names differ first in an ASCII byte, with no code point cut in two before it: then the bytes have the order
   of the code points, and decoding can be spared. */
static int compare_names(slw_bytes a, slw_bytes b) {
    const unsigned char *x = a.data, *y = b.data;
    size_t at = 0;
    while (at < a.size && at < b.size && x[at] == y[at]) at++;
    if (at < a.size && at < b.size && x[at] < 0x80 && y[at] < 0x80) return x[at] < y[at] ? -1 : 1;
    return slwi_os_compare(a, b);
}

static int comes_after(const slwi_tree_stack *stack, size_t a, size_t b) {
    return compare_names(name_of(stack, &stack->items[a]), name_of(stack, &stack->items[b])) > 0;
}

static void swap_items(slwi_tree_stack *stack, size_t a, size_t b) {
    const slwi_tree_item kept = stack->items[a];
    stack->items[a] = stack->items[b];
    stack->items[b] = kept;
}

static void sift(slwi_tree_stack *stack, size_t base, size_t root, size_t count) {
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count) return;
        if (child + 1 < count && comes_after(stack, base + child + 1, base + child)) child++;
        if (!comes_after(stack, base + child, base + root)) return;
        swap_items(stack, base + child, base + root);
        root = child;
    }
}

/* A heap sort of its own: the order needs the names, which a comparison of two bare items does not see. */
static void sort_items(slwi_tree_stack *stack, size_t base) {
    const size_t count = stack->count - base;
    if (count < 2) return;
    for (size_t root = count / 2; root > 0; root--) sift(stack, base, root - 1, count);
    for (size_t last = count - 1; last > 0; last--) {
        swap_items(stack, base, base + last);
        sift(stack, base, 0, last);
    }
}

static int push_item(slwi_tree_stack *stack, const slwi_dirent *entry, size_t size, int skipped) {
    if (stack->count == stack->capacity) {
        const size_t wanted = stack->capacity == 0 ? 256 : stack->capacity * 2;
        slwi_tree_item *grown = slwi_realloc_array(stack->allocator, stack->items, wanted, sizeof *grown);
        if (grown == NULL) return -ENOMEM;
        stack->items = grown;
        stack->capacity = wanted;
    }
    const slwi_tree_item item = {stack->names.size, size, entry->type, (char)skipped};
    slwi_buffer_append(&stack->names, entry->name, size + 1);
    if (stack->names.failed != 0) return -ENOMEM;
    stack->items[stack->count++] = item;
    return 0;
}

int slwi_tree_push(slwi_tree_stack *stack, const slwi_dirent *entry, size_t size, uint64_t *names_count,
                   uint64_t *names_sum) {
    const int skipped = slwi_tree_skips(entry->name, size);
    if (!skipped) {
        ++*names_count;
        *names_sum += slwi_mix(1, entry->name, size);
    }
    return stack == NULL ? 0 : push_item(stack, entry, size, skipped);
}

/* Reads the names of `fd`; with a stack they are kept on it. */
static int read_names(slwi_dir *dir, slwi_tree_stack *stack, int fd, size_t limit, uint64_t *names_count,
                      uint64_t *names_sum) {
    const slwi_os *os = slwi_os_get();
    slwi_dirent entry;
    int r;
    dir->fd = fd;
    dir->at = dir->end = 0;
    *names_count = *names_sum = 0;
    while ((r = os->readdir(os, dir, &entry)) > 0) {
        r = limit-- == 0 ? -E2BIG : slwi_tree_push(stack, &entry, strlen(entry.name), names_count, names_sum);
        if (r < 0) break;
    }
    os->closedir(os, dir);
    return r;
}

int slwi_tree_list(slwi_tree_stack *stack, int fd, size_t limit, uint64_t *names_count, uint64_t *names_sum) {
    const size_t base = stack->count;
    const int r = read_names(&stack->dir, stack, fd, limit, names_count, names_sum);
    if (r == 0) sort_items(stack, base);
    return r;
}

int slwi_tree_sum(slwi_dir *dir, int fd, size_t limit, uint64_t *names_count, uint64_t *names_sum) {
    return read_names(dir, NULL, fd, limit, names_count, names_sum);
}
