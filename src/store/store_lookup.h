/* One look at a slot. */
#ifndef SLWI_STORE_LOOKUP_H
#define SLWI_STORE_LOOKUP_H

#include "store_core.h"

#define SLWI_LOOK_STAMP 1u /* after a hit the slot is marked as used */

/* OK and *out; MISS, INVALID_ENTRY, STORAGE, NO_MEMORY. INVALID_ENTRY is said only when the slot's name still leads
   to what was judged. `verify` is SLW_VERIFY_FULL or SLW_VERIFY_ON_MAP. */
slw_code slwi_look(slw_store *store, const slw_key *key, const slw_spec *spec, int verify, unsigned flags,
                   slwi_entry **out, slw_error *err);
/* Marks a slot as used, by the stamp beside it that `name` leads to from `directory`: in the default domain, when
   writable, at most once an hour; errors are nobody's business. */
void slwi_stamp_used(const slw_store *store, int directory, const char *name);

#endif
