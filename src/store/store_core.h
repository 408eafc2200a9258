/* The store object, and the buffers that its requests lend one another. Seen by src/store only. */
#ifndef SLWI_STORE_CORE_H
#define SLWI_STORE_CORE_H

#include <slipway/limits.h>
#include <stdatomic.h>

#include "store_entry.h"
#include "store_inventory.h"

#define SLWI_MARKER     "artifact_manifest.json"
#define SLWI_USED_STAMP ".used"

#define SLWI_STORE_TAG UINT64_C(0x736c775f73746f72)

/* Opening a directory only to go on from it needs search permission, not read permission. */
#if defined(__linux__)
#define SLWI_O_SEARCH (O_PATH | O_DIRECTORY | O_NOFOLLOW)
#else
#define SLWI_O_SEARCH (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
#endif
#define SLWI_O_LIST (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
/* A fifo must not block us and a link must not lead us; fstat then says whether it is a regular file. */
#define SLWI_O_FILE (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

struct slw_store {
    slwi_ref ref;
    uint64_t tag;
    slw_allocator allocator;
    char *root;         /* resolved */
    char *private_root; /* resolved; NULL: none */
    const char *domain; /* static */
    uint32_t *trusted_uids;
    size_t trusted_uid_count;
    int read_only, trust_root, verify, keep_failed_builds, keep_private_builds;
    uint64_t lock_timeout_ns, build_timeout_ns;
    uint64_t judged_dev, judged_ino; /* of the root whose parent was judged at open; 0: there was none */
    slw_cancel *cancel;
    slwi_ref *metrics;
    _Atomic(slwi_scratch *) scratch; /* one set of buffers waiting for the next request */
    atomic_int no_replace;           /* 1 yes, 0 no, -1 not known */
    atomic_int locks;                /* likewise */
};

/* USAGE for NULL and for what is not a store. */
slw_code slwi_store_check(const slw_store *store, slw_error *err);
/* USAGE unless all three are there and of one domain. */
slw_code slwi_request_check(const slw_store *store, const slw_key *key, const slw_spec *spec, slw_error *err);
int slwi_store_is_default_domain(const slw_store *store);
/* slwi_check_wait with the request's own token (or NULL) and the store's. */
slw_code slwi_check_both(uint64_t deadline_ns, const slw_store *store, const slw_cancel *cancel, const char *what,
                         slw_error *err);

#endif
