/* The state of one walk over a tree, shared by tree.c and tree_file.c. */
#ifndef SLWI_STORE_TREE_H
#define SLWI_STORE_TREE_H

#include "store_scratch.h"

typedef struct slwi_tree_walk {
    const slwi_os *os;
    slwi_scratch *scratch;
    const slwi_tree_rules *rules;
    slwi_inventory *out;
    int *changed;
    const char *keep;
    slwi_image *kept;
    size_t depth; /* levels in use */
    slw_error *err;
} slwi_tree_walk;

/* Failures at the path the walk is at. */
slw_code slwi_tree_fail(const slwi_tree_walk *walk, slw_code code, const char *reason, const char *what);
slw_code slwi_tree_fail_os(slwi_tree_walk *walk, int error_number, const char *what);

/* Judges, records and (for later hashing) reads the file at the walk's path. */
slw_code slwi_tree_take_file(slwi_tree_walk *walk, int directory, const char *name);
/* Hashes what was read and not yet hashed. */
void slwi_tree_flush(slwi_tree_walk *walk);

#endif
