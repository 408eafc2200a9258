/* The content identity of a directory tree (store-semantics A2): names in the order of their code points; .git,
 * __pycache__, *.pyc and *.pyo left out; links followed and recorded with where they lead; dangling links, cycles,
 * special files and unreadable directories are failures, never omissions; every directory is looked at again at the
 * end and must hold the same names. */
#ifndef SLWI_TREE_H
#define SLWI_TREE_H

#include "identity_gather.h"

typedef enum slwi_tree_state {
    SLWI_TREE_FAILED = 0, /* put down as failures, all of them */
    SLWI_TREE_DIGESTED,
    SLWI_TREE_ABSENT /* only with `optional` */
} slwi_tree_state;

typedef struct slwi_tree_result {
    slwi_tree_state state;
    char resolved[SLWI_PATH_BYTES]; /* of the root; "" when absent or failed */
    /* SHA-256 of a framed text: for the root and each directory below, the digest of its entries, each with its
       kind, name, where it leads (links only: for others it follows from the directory), size and digest. */
    slw_digest digest;
    uint64_t files;
} slwi_tree_result;

/* `root` is absolute. SLW_OK or NO_MEMORY. */
slw_code slwi_tree_digest(slwi_gather *gather, const char *root, int optional, slwi_tree_result *out, slw_error *err);

/* 1 for a name that a tree leaves out. */
int slwi_tree_skips(const char *name, size_t size);

/* Lists the directory at `path` and compares it with the names of a SLWI_FACT_NAMES: 0 the same, 1 not, or -errno. */
int slwi_tree_names_differ(const slwi_fact *fact);

#endif
