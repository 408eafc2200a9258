/* The completion marker's canonical text (store-semantics A6). It is written here and compared byte for byte; only an
 * enumeration of a whole store parses it, to learn which key and spec a slot claims to be. */
#ifndef SLWI_STORE_MANIFEST_H
#define SLWI_STORE_MANIFEST_H

#include "store_inventory.h"

#include <slipway/key.h>

/* The text is head + one record a file + tail. Head and tail follow from key and spec alone. */
typedef struct slwi_manifest {
    slwi_buffer *text; /* head, then files, then all of it */
    slwi_buffer *tail;
} slwi_manifest;

/* Writes the head into `text` and the tail into `tail`, both cleared first. OK, NO_MEMORY, LIMIT. */
slw_code slwi_manifest_begin(slwi_manifest *manifest, slwi_buffer *text, slwi_buffer *tail, const slw_key *key,
                             const slw_spec *spec, slw_error *err);
/* 1 when a marker begins and ends as it must, whatever its files. */
int slwi_manifest_frames(const slwi_manifest *manifest, slw_bytes marker);
/* Adds the files' records and the tail. With `marker` (its data not NULL) the digests are taken from the same places
   of it instead of from the inventory, into the inventory; what is no digest there leaves zeros and so a different
   text. */
slw_code slwi_manifest_finish(slwi_manifest *manifest, slwi_inventory *inventory, slw_bytes marker, slw_error *err);

/* Which key and spec a marker says it is of. INVALID_ENTRY, NO_MEMORY; both outputs or neither. */
slw_code slwi_manifest_read(const slw_allocator *allocator, const char *domain, slw_bytes marker, slw_key **key,
                            slw_spec **spec, slw_error *err);

#endif
