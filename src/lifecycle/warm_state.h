/* What warm.c, warm_check.c and warm_config.c share. */
#ifndef SLWI_WARM_STATE_H
#define SLWI_WARM_STATE_H

#include <slipway/limits.h>
#include <slipway/warm.h>

#include "backends.h"

/* Which part of a request is wrong: a configuration tells where that stands. */
typedef enum slwi_warm_field {
    SLWI_WARM_WHOLE,
    SLWI_WARM_SOURCE,
    SLWI_WARM_BACKEND,
    SLWI_WARM_TARGET,
    SLWI_WARM_EXTENSION,
    SLWI_WARM_ROOT /* the n-th */
} slwi_warm_field;

typedef struct slwi_warm_place {
    slwi_warm_field field;
    size_t item;
} slwi_warm_place;

/* One request, with nothing opened but its source, and that only to see that it can be read: all that is wrong with it
   is told. `impl` NULL: of a backend that is built in or registered. *backend is NULL where nothing can be built. */
typedef void (*slwi_warm_found)(void *context, slwi_warm_place place, const slw_error *problem);
void slwi_warm_check(const slw_warm_request *request, const slw_backend_vtable *impl,
                     const slw_backend_vtable **backend, slwi_warm_found found, void *context);

/* Tells each request that asks for what an earlier one asks for, in rising order; `backends` as slwi_warm_check found
   them, NULL: that one is left out. OK also where some were found; NO_MEMORY. */
typedef void (*slwi_warm_duplicate)(void *context, size_t index, size_t earlier);
slw_code slwi_warm_duplicates(const slw_allocator *allocator, const slw_warm_request *requests,
                              const slw_backend_vtable *const *backends, size_t count, slwi_warm_duplicate found,
                              void *context, slw_error *err);

/* The problem that such a request is. */
slw_code slwi_warm_say_duplicate(slw_error *err, size_t earlier);

#endif
