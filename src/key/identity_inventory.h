/* What went into the components of an identity, by name: so that a miss can be explained. No digest is made of it. */
#ifndef SLWI_IDENTITY_INVENTORY_H
#define SLWI_IDENTITY_INVENTORY_H

#include <slipway/identity.h>

typedef struct slwi_inventory_item {
    /* Static: "file" and "program" (each file that its loader maps, by the path it was found at), "tree", "absent" (a
       tree that is not there), "build_id", "claimed_tree" (by where it lies alone), all of a path; "environment",
       "unset", "claim" and "digest", all of a name. */
    const char *kind;
    const char *name;
    const char *value; /* of a variable or a claim that is not too long; NULL: `digest` says it */
    slw_digest digest; /* of what the path leads to, or of a value that is too long; of "absent" and "unset": zero */
} slwi_inventory_item;

/* The items of the component that slw_identity_at names by the same index: in order of name, then kind, each once; 0
   past the end. Only of a sealed identity; the strings live as long as it. Threads: any. */
int slwi_identity_item(const slw_identity *identity, size_t component, size_t index, slwi_inventory_item *out);
/* How many are not in the list, which holds SLW_LIMIT_INVENTORY_ITEMS. */
uint64_t slwi_identity_left_out(const slw_identity *identity, size_t component);

/* ---- for identity*.c alone ---- */

struct slwi_component;

/* Room for `more` items. OK or NO_MEMORY. */
slw_code slwi_inventory_reserve(const slw_allocator *allocator, struct slwi_component *component, size_t more,
                                slw_error *err);
/* Puts an item for which there is room; one that is there already is not put again, one too many is counted. */
void slwi_inventory_put(struct slwi_component *component, const slwi_inventory_item *item);
/* Takes the tree of that root out again. */
void slwi_inventory_drop_tree(struct slwi_component *component, const char *root);
void slwi_inventory_sort(struct slwi_component *component);

#endif
