/* Publication. */
#ifndef SLWI_STORE_PUBLISH_H
#define SLWI_STORE_PUBLISH_H

#include "store_lock.h"
#include "store_object.h"

typedef struct slwi_publication {
    slw_store *store;
    const slw_key *key;
    const slw_spec *spec;
    const char *source;              /* the directory that was built */
    const slwi_inventory *inventory; /* of it */
    const slwi_key_lock *lock;
} slwi_publication;

/* OK: *out is the entry; *lost 0: ours, published; 1: somebody else's, found valid. Anything else: the build is as
   usable as before and the record says why it was not published (or, after the rename, why that is not durable). */
slw_code slwi_publish(const slwi_publication *publication, slwi_entry **out, int *lost, slw_error *err);

#endif
