/* /etc/ld.so.cache, glibc's list of libraries by name ("glibc-ld.so.cache1.1", also behind the older form). It is a
 * search aid only: what is found through it is checked and hashed, the file itself is no input. */
#ifndef SLWI_ELF_CLOSURE_CACHE_H
#define SLWI_ELF_CLOSURE_CACHE_H

#include <slipway/bytes.h>

typedef struct slwi_ldcache {
    slw_bytes bytes; /* from the header of the new form on; offsets in entries count from here */
    uint32_t count;
} slwi_ldcache;

typedef struct slwi_ldcache_entry {
    const char *path;
    uint64_t hwcap; /* 0: for every processor */
} slwi_ldcache_entry;

/* 1, or 0 for a file of another form or one that does not hold what it says. */
int slwi_ldcache_open(slw_bytes file, slwi_ldcache *out);

/* The entries of a name for a machine, in the loader's order. Start with *at = UINT32_MAX; 0 when there are no more. */
int slwi_ldcache_next(const slwi_ldcache *cache, const char *name, uint16_t machine, uint32_t *at,
                      slwi_ldcache_entry *out);

/* The order of the file: digits in a name count as numbers. For tests. */
int slwi_ldcache_compare(const char *a, const char *b);

#endif
