/* The state of one publication, and the steps of it that publish_steps.c does. */
#ifndef SLWI_STORE_PUBLISH_STEPS_H
#define SLWI_STORE_PUBLISH_STEPS_H

#include "store_publish.h"
#include "store_root.h"
#include "store_scratch.h"

typedef struct slwi_publishing {
    const slwi_os *os;
    const slwi_publication *what;
    slwi_scratch *scratch;
    int parents[SLWI_SLOT_PARENTS + 1]; /* root, artifacts, environment, key, spec; -1: not open */
    int made[SLWI_SLOT_PARENTS + 1];    /* 1: made by this publication, so its parent is synced */
    char staging[64];
    int staged;     /* the name may exist */
    int fd;         /* of the staging directory */
    int registered; /* with base/fork */
    slwi_stat stat; /* of it, and so of the slot */
    slwi_inventory copy;
    slwi_image *kept;
    int published;
    int vanished; /* something on the way was removed while we went: worth one more try */
} slwi_publishing;

/* PUBLICATION with the errno; notices ENOENT. */
slw_code slwi_publish_fail(slwi_publishing *p, int error_number, const char *what, slw_error *err);
slw_code slwi_publish_parents(slwi_publishing *p, slw_error *err);
/* CACHEDIR.TAG, in the default domain only. */
void slwi_publish_tag(const slwi_publishing *p);
/* Removes what dead publishers of this key left in the spec directory. */
void slwi_publish_sweep(const slwi_publishing *p);
/* ".tmp.<host8>.<random>" */
slw_code slwi_staging_name(char *out, size_t size, slw_error *err);
/* 0 or -errno; without a rename that refuses to replace, a plain one after a look. */
int slwi_rename_once(const slwi_publishing *p, const char *slot);
slw_code slwi_publish_sync_parents(slwi_publishing *p, slw_error *err);

#endif
