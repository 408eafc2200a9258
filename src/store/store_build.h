/* Running a builder in a private directory. */
#ifndef SLWI_STORE_BUILD_H
#define SLWI_STORE_BUILD_H

#include "store_object.h"

typedef struct slwi_built {
    slwi_private *directory; /* owned */
    slwi_inventory inventory;
    slwi_image *kept;
    slwi_stat stat;       /* of the directory */
    uint64_t duration_ns; /* of the builder */
    int own_wait_ended;   /* on failure: the caller's own token or deadline ended it, so it is nobody else's failure */
    int declined;         /* the builder's confirm said that it must not be published; the reason below */
    char reason[512];
} slwi_built;

/* Makes the directory, runs the builder, takes the inventory and looks for the required files. On failure nothing is
   left but what keep_failed_builds asks for: the builder's own code and record, INVALID_SOURCE, STORAGE
   (NO_PRIVATE_ROOT), LIMIT, NO_MEMORY, FORKED. */
slw_code slwi_build_run(slw_store *store, const slw_spec *spec, const slw_builder *builder, slwi_built *out,
                        slw_error *err);
void slwi_built_clear(slwi_built *built);

slw_code slwi_builder_check(const slw_store *store, const slw_builder *builder, slw_error *err);

#endif
