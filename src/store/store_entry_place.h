/* Where an entry lies now, opened by name. */
#ifndef SLWI_STORE_ENTRY_PLACE_H
#define SLWI_STORE_ENTRY_PLACE_H

#include "store_object.h"
#include "store_root.h"

typedef struct slwi_entry_place {
    int fd;        /* the slot, or the private directory; open for listing */
    int has_trust; /* private directories are ours */
    int is_judged; /* it is the very directory that was judged */
    slwi_trust trust;
} slwi_entry_place;

/* OK; GONE; INVALID_ENTRY, STORAGE as a lookup. */
slw_code slwi_entry_place_open(const slwi_entry *entry, slwi_entry_place *out, slw_error *err);
void slwi_entry_place_close(slwi_entry_place *place);

#endif
