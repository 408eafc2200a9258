/* The root of a store: its path, whether it is to be trusted, and the way down from it. */
#ifndef SLWI_STORE_ROOT_H
#define SLWI_STORE_ROOT_H

#include "store_core.h"

/* Whom a request trusts (pitfall 9). */
struct slwi_trust {
    const slw_store *store;
    uint32_t euid;
    uint64_t dev; /* of the root */
};

/* Each gives 1, or 0 and a static reason. */
int slwi_trust_directory(const slwi_trust *trust, const slwi_stat *stat, const char **why);
int slwi_trust_marker(const slwi_trust *trust, const slwi_stat *stat, const char **why);
int slwi_trust_payload(const slwi_trust *trust, const slwi_stat *stat, const char **why); /* owner and device only */

/* A path that need not exist: its longest existing beginning is resolved by the system, the rest stays. 0 or -errno;
   -EINVAL when the rest holds "..", which has no meaning there. */
int slwi_resolve_path(const slwi_os *os, const char *path, char out[4096]);
int slwi_path_inside(const char *directory, const char *path); /* equal counts; both resolved */

/* What the trust rule says of the root as it stands: 1, or 0 and a reason. An absent root (NULL) is
   judged by its parent alone, so that the answer is the same before and after it is made. */
int slwi_root_judge(const slw_store *store, uint32_t euid, const slwi_stat *root, const slwi_stat *parent,
                    const char **why);

typedef struct slwi_root {
    int fd;
    slwi_stat stat;
    slwi_trust trust;
} slwi_root;

/* Opens the root by its path, once a request, so that a root that was removed and made again is found (pitfall 35).
   With `make` an absent one is made and the descriptor can be synced. OK, MISS (absent), STORAGE. */
slw_code slwi_root_open(slw_store *store, int make, slwi_root *out, slw_error *err);
void slwi_root_close(slwi_root *root);

/* The directories from the root to a slot's parent, in order. */
#define SLWI_SLOT_PARENTS 4
void slwi_slot_parents(const slw_key *key, const slw_spec *spec, const char *names[SLWI_SLOT_PARENTS]);

typedef struct slwi_slot {
    int parent; /* the spec directory; can be searched, not listed */
    int fd;     /* the slot, open for listing */
    slwi_stat stat;
} slwi_slot;

/* Goes down to the slot, one component at a time, no link followed, each judged. OK and both descriptors open; MISS,
   INVALID_ENTRY, STORAGE and nothing open. */
slw_code slwi_slot_open(const slwi_root *root, const slw_key *key, const slw_spec *spec, slwi_slot *out,
                        slw_error *err);
void slwi_slot_close(slwi_slot *slot);

/* The same at once, for a slot that is there and to be trusted, with `path` from slwi_slot_path: one call for the way
   down without links, then every directory on it, from the slot's parent to the root, is looked at from the slot
   upwards, so that what is judged are the directories the slot really lies in. 1: out->fd is open, out->parent is
   not. 0: nothing is open, and only going step by step tells why. */
int slwi_slot_reach(const slw_store *store, const char *path, slwi_slot *out, slwi_trust *trust);

/* Where a slot lies, as text, from one allocation; NULL when out of memory. */
char *slwi_slot_path(const slw_store *store, const slw_key *key, const slw_spec *spec);

#endif
