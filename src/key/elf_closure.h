/* The ELF closure of a program: everything its dynamic loader would map, found as the loader finds it and without
 * starting a process. Where the loader would choose by processor (glibc-hwcaps), every choice is taken: the closure
 * may hold more than one machine maps, never less. Under musl the loader is the C library and its own rules are
 * followed. */
#ifndef SLWI_ELF_CLOSURE_H
#define SLWI_ELF_CLOSURE_H

#include "elf_closure_file.h"

#define SLWI_CLOSURE_MAX 1024u

typedef struct slwi_closure_member {
    const char *name;  /* as it was asked for; the program's is its path */
    const char *found; /* the path it was found at */
    slwi_seen *seen;
    const slwi_elf *elf;
    size_t loader; /* the member that asked for it first; of the program: itself */
} slwi_closure_member;

typedef struct slwi_closure {
    slwi_closure_member *members; /* the program first, then in the loader's order */
    size_t count;
    size_t capacity;
    const slw_allocator *allocator;
} slwi_closure;

/* `path` is absolute. SLW_OK or NO_MEMORY; what is wrong is put down as failures, the closure is then not complete. The
   caller frees it in every case. */
slw_code slwi_closure_of(slwi_gather *gather, const char *path, slwi_closure *out, slw_error *err);
void slwi_closure_free(slwi_closure *closure);

#endif
