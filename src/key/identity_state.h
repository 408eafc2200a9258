/* The identity object, for identity*.c alone. */
#ifndef SLWI_IDENTITY_STATE_H
#define SLWI_IDENTITY_STATE_H

#include <pthread.h>
#include <slipway/limits.h>

#include "identity_gather.h"
#include "identity_inventory.h"

#define SLWI_IDENTITY_TAG 0x494c5753u /* "SWLI" */

/* A tree of a component: another one that lies in it needs not be walked, nor stand beside it in the record. */
typedef struct slwi_component_tree {
    struct slwi_component_tree *next;
    const char *root;
    slw_digest input;
} slwi_component_tree;

typedef struct slwi_component {
    char name[SLW_LIMIT_COMPONENT_NAME_BYTES + 1];
    slw_digest *inputs; /* the digest of each input's record */
    size_t input_count, input_capacity;
    slwi_inventory_item *items; /* what they were, by name; sorted once sealed */
    size_t item_count, item_capacity;
    uint64_t left_out;
    slwi_component_tree *trees;
    int has_proof; /* an input that stands for content; claims and build-ids do not */
    int said;      /* slw_identity_prove was called */
    int available; /* once sealed: `digest` is its identity */
    slw_digest digest;
} slwi_component;

/* What slw_identity_digest_tree has looked at for one thread. */
typedef struct slwi_lent_tree {
    struct slwi_lent_tree *next;
    pthread_t thread;
    char *root;
    slwi_gather gather;
} slwi_lent_tree;

struct slw_identity {
    uint32_t tag;
    int policy;
    int sealed;
    slw_allocator allocator;
    slw_memo *memo;                                   /* borrowed; NULL under SLW_IDENTITY_CONTENT */
    slwi_gather gather;                               /* of the components; not changed any more once sealed */
    slwi_component *components[SLW_LIMIT_COMPONENTS]; /* in the gather's arena; sorted by name once sealed */
    size_t component_count;
    slw_identity *self;   /* for functions that are given a const identity and must lock it */
    pthread_mutex_t lock; /* guards what changes after sealing: */
    slwi_lent_tree *lent;
    slw_identity_cost lent_cost;
};

/* For every call that adds to a component: OK and the component, or USAGE. */
slw_code slwi_identity_enter(slw_identity *identity, const char *component, slwi_component **out, slw_error *err);
int slwi_identity_ok(const slw_identity *identity);
void slwi_identity_free_lent(slw_identity *identity);

#endif
