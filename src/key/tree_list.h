/* Listing one directory for a tree. For tree*.c alone. */
#ifndef SLWI_TREE_LIST_H
#define SLWI_TREE_LIST_H

#include "buffer.h"
#include "os.h"

typedef struct slwi_tree_item {
    size_t name; /* offset of a NUL-terminated name in `names` */
    size_t size;
    char type; /* as slwi_dirent's */
    char skipped;
} slwi_tree_item;

/* A stack of listings: a directory's items lie on top while it is walked. */
typedef struct slwi_tree_stack {
    const slw_allocator *allocator;
    slwi_buffer names;
    slwi_tree_item *items;
    size_t count, capacity;
    slwi_dir dir; /* here, for it is too large for a stack frame of a recursion */
} slwi_tree_stack;

/* Reads all names of an open directory onto the stack, sorted by code point; the count and the sum of the hashes of
   those that are not left out. 0, -errno, -ENOMEM; -E2BIG past `limit` names. */
int slwi_tree_list(slwi_tree_stack *stack, int fd, size_t limit, uint64_t *names_count, uint64_t *names_sum);

/* One name onto the stack (NULL: nowhere) and into the count and the sum. 0 or -ENOMEM. */
int slwi_tree_push(slwi_tree_stack *stack, const slwi_dirent *entry, size_t size, uint64_t *names_count,
                   uint64_t *names_sum);

/* Only the count and the sum. */
int slwi_tree_sum(slwi_dir *dir, int fd, size_t limit, uint64_t *names_count, uint64_t *names_sum);

#endif
