/* The state of one closure being made, and the search for one library. For elf_closure*.c alone. */
#ifndef SLWI_ELF_CLOSURE_SEARCH_H
#define SLWI_ELF_CLOSURE_SEARCH_H

#include "elf_closure.h"
#include "elf_closure_cache.h"

typedef struct slwi_closure_work {
    slwi_gather *gather;
    slwi_closure *closure;
    uint16_t machine;
    int musl;
    const char *interpreter; /* NULL: a static program */
    slwi_ldcache cache;      /* count 0: none */
    const char *musl_dirs;   /* of musl: its search list */
} slwi_closure_work;

/* Finds `name` for the member `asker` and adds it (and its choices by processor) to the closure. *found 0: it is
   nowhere. Failures are put down here except that it was not found. */
slw_code slwi_closure_find(slwi_closure_work *work, size_t asker, const char *name, int *found, slw_error *err);

/* Adds the file at `path` as a member when it is there and made for this machine. *added 0: it is not, nothing was
   put down. */
slw_code slwi_closure_try(slwi_closure_work *work, size_t asker, const char *name, const char *path, int *added,
                          slw_error *err);

#endif
