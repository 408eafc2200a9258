/* Copying a payload, file by file, with a bounded number of descriptors. */
#ifndef SLWI_STORE_COPY_H
#define SLWI_STORE_COPY_H

#include "store_scratch.h"

/* A cursor over the directories of a tree: remembers the one that is open, since files come sorted. */
typedef struct slwi_place {
    const slwi_os *os;
    int base; /* borrowed */
    int fd;   /* base, or the open directory `parent` */
    int make; /* 1: absent directories are made, 0755 less the umask */
    size_t parent_size;
    char parent[SLW_LIMIT_PATH_BYTES + 1];
} slwi_place;

void slwi_place_begin(slwi_place *place, const slwi_os *os, int base, int make);
/* The directory that `path` lies in: a borrowed descriptor, and *leaf; or -errno. No link is followed. */
int slwi_place_enter(slwi_place *place, const char *path, const char **leaf);
void slwi_place_end(slwi_place *place);

/* Copies every file of `inventory` from one directory to another as fresh files, 0600 or 0700. `code` is what a
   failure of the destination is; one of the source is STORAGE, or `changed_code` when what stood there is gone or
   another. */
slw_code slwi_copy_tree(slwi_scratch *scratch, int from, int to, const slwi_inventory *inventory, slw_code code,
                        slw_code changed_code, slw_error *err);
/* Syncs every file, then every directory that holds one, each after those below it; `to` itself last. 0 or -errno and
   *which, a path below `to` ("" for itself). */
int slwi_sync_tree(const slwi_os *os, int to, const slwi_inventory *inventory, const char **which);

#endif
