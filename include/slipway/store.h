/* The store: an immutable, content-addressed directory of artifacts, and the one way into it.
 *
 *     <root>/artifacts/<environment>/<key>/<spec>/<state>/    payload + artifact_manifest.json, published whole
 *     <root>/locks/<key>.lock                                 persistent
 *
 * A lookup never writes and takes no lock. A build runs outside the root, under the key's lock; a usable private build
 * is never lost to a storage failure. docs/store-format.md has the layout; src/store/publish.c is it, in order. */
#ifndef SLIPWAY_STORE_H
#define SLIPWAY_STORE_H

#include <slipway/key.h>

SLW_BEGIN_DECLS

typedef struct slw_store slw_store;
typedef struct slw_metrics slw_metrics; /* <slipway/metrics.h> */

/* When the tree of an entry is judged. */
#define SLW_VERIFY_FULL   0 /* every byte at lookup */
#define SLW_VERIFY_ON_MAP 1 /* names, sizes, modes and manifest at lookup; a payload's digest when it is read */
#define SLW_VERIFY_MEMO   2 /* SLW_E_UNSUPPORTED in this version */

#define SLW_DURABILITY_FULL  0
#define SLW_DURABILITY_BATCH 1 /* SLW_E_UNSUPPORTED in this version */
#define SLW_DURABILITY_NONE  2 /* SLW_E_UNSUPPORTED in this version */

typedef struct slw_store_options {
    uint32_t size;
    slw_allocator allocator;
    const char *root;             /* required; need not exist */
    const char *private_root;     /* where builds run; NULL: hits only, a needed build is STORAGE, NO_PRIVATE_ROOT.
                                     Of an untrusted owner, or writable by group or others and not sticky: STORAGE,
                                     UNTRUSTED */
    const char *domain;           /* NULL = SLW_DOMAIN_DEFAULT; keys of another domain are USAGE */
    int read_only;                /* no lock, no write, no directory under the root; a miss builds privately */
    int trust_root;               /* the trust rule is off for the root and all below it */
    int verify;                   /* SLW_VERIFY_… */
    int durability;               /* SLW_DURABILITY_… */
    const uint32_t *trusted_uids; /* owners trusted beside the effective uid and 0 */
    size_t trusted_uid_count;
    uint64_t lock_timeout_ns;  /* 0: the builder's time-out and 60 s */
    uint64_t build_timeout_ns; /* 0: 15 minutes; handed to the builder */
    slw_cancel *cancel;        /* for every wait; NULL: none */
    int keep_failed_builds;    /* 1: the private directory of a failed build stays */
    int keep_private_builds;   /* 1: private directories are never removed by the library */
    slw_metrics *metrics;      /* retained; NULL: nobody listens */
    int quarantine;            /* this and the rest must be 0 or NULL: SLW_E_UNSUPPORTED in this version */
    int leases;
    uint64_t limit_bytes;
    uint64_t limit_entries;
    const char *const *layers;
    size_t layer_count;
} slw_store_options;
#define SLW_STORE_OPTIONS_INIT                                                                                         \
    {                                                                                                                  \
        sizeof(slw_store_options), SLW_ALLOCATOR_INIT, NULL, NULL, NULL, 0, 0, SLW_VERIFY_FULL, SLW_DURABILITY_FULL,   \
            NULL, 0, 0, 0, NULL, 0, 0, NULL, 0, 0, 0, 0, NULL, 0                                                       \
    }

/* Opens a store; the root and the private root are resolved once, here. Nothing is written.
   Failure: `out` untouched. USAGE: bad option, private_root is or lies in the root. STORAGE, reason UNTRUSTED: the root
   is writable by group or others, or owned by nobody trusted. UNSUPPORTED: an option of a later version. Threads: the
   store may be shared by all. */
SLW_API SLW_MUST_CHECK slw_code slw_store_open(const slw_store_options *options, slw_store **out, slw_error *err);
/* Drops the caller's reference; what was made from the store stays usable. Accepts a pointer to NULL. */
SLW_API void slw_store_close(slw_store **store);
SLW_API const char *slw_store_root(const slw_store *store); /* resolved; lives as long as the handle */

/* What a builder is given. */
typedef struct slw_build_context {
    uint32_t size;
    const char *directory; /* write the outputs here: fresh, private, 0700, outside every store */
    uint64_t deadline_ns;  /* on the monotonic clock; UINT64_MAX: none */
    slw_cancel *cancel;    /* the builder's, else the store's; may be NULL */
    void **value;          /* the builder may leave one value for the report */
} slw_build_context;

typedef struct slw_builder {
    uint32_t size;
    void *context;
    /* Fills `directory`. Any code but SLW_OK ends the request with that code and the builder's error record, for every
       waiter. Called without any lock of the library's own held, but under the key's file lock. */
    slw_code (*build)(void *context, const slw_build_context *build, slw_error *err);
    /* Called after a successful build and before anything is published; NULL: always publish. Any code but SLW_OK makes
       the result PRIVATE with no failure, its reason taken from the record (TOOLCHAIN_CHANGED, HEADER_OUTSIDE, …). */
    slw_code (*confirm)(void *context, const slw_build_context *build, slw_error *err);
    void (*release_value)(void *context, void *value); /* for the value; NULL: nothing to do */
    uint64_t timeout_ns;                               /* 0: the store's build_timeout_ns */
    const char *directory; /* use the files of this directory in place instead of a fresh one; never changed or removed.
                              `build` may then be NULL */
    slw_cancel *cancel; /* of this request: ends its waits, as the store's does, and is the build's token instead of the
                           store's. NULL: the store's alone */
} slw_builder;
#define SLW_BUILDER_INIT                                                                                               \
    { sizeof(slw_builder), NULL, NULL, NULL, NULL, 0, NULL, NULL }

typedef enum slw_disposition { SLW_HIT = 0, SLW_PUBLISHED = 1, SLW_PRIVATE = 2 } slw_disposition;
typedef enum slw_build_failure {
    SLW_FAILURE_NONE = 0,
    SLW_FAILURE_INVALID = 1,
    SLW_FAILURE_STORAGE = 2,
    SLW_FAILURE_LOCK = 3,
    SLW_FAILURE_PUBLICATION = 4
} slw_build_failure;
SLW_API const char *slw_disposition_name(slw_disposition disposition); /* "HIT", … */
SLW_API const char *slw_build_failure_name(slw_build_failure failure); /* "INVALID", …; NULL for NONE */

/* What a request did. It owns the private directory of a build (shared with the handle when PRIVATE) and the builder's
   value: release it with slw_build_report_release. Without a report both go at once, or with the last handle. */
typedef struct slw_build_report {
    uint32_t size;
    slw_disposition disposition;
    slw_build_failure failure;
    int coalesced; /* 1: another caller of this process did the work */
    uint64_t lookup_ns;
    uint64_t lock_wait_ns;
    uint64_t build_ns;
    uint64_t publish_ns;
    void *value;                   /* the builder's, NULL for a HIT */
    const char *private_directory; /* NULL for a HIT; owned by the report */
    void *owned_;                  /* the library's */
    char reason[512];              /* why PRIVATE; "" otherwise */
} slw_build_report;
#define SLW_BUILD_REPORT_INIT                                                                                          \
    { sizeof(slw_build_report), SLW_HIT, SLW_FAILURE_NONE, 0, 0, 0, 0, 0, NULL, NULL, NULL, "" }
SLW_API void slw_build_report_release(slw_build_report *report);

/* Enumeration, for ls and verify: one callback a slot, in path order, nothing written, no lock. Under SLW_VERIFY_FULL
   (`full` != 0) every byte is read. The key and the spec come from the manifest and must give the names in the path. */
typedef struct slw_slot_info {
    uint32_t size;
    slw_code status; /* SLW_OK (a hit), INVALID_ENTRY or STORAGE */
    const char *reason;
    const char *environment; /* names in the path; text */
    const char *key;
    const char *spec;
    const char *state;
    const char *build_kind; /* NULL when the manifest could not be read */
    const char *directory;  /* information, not a lease */
    uint64_t size_bytes;    /* of the payload */
    uint64_t files;
    uint64_t last_used_ns; /* since 1970; 0: not known */
} slw_slot_info;
typedef slw_code (*slw_slot_visitor)(void *context, const slw_slot_info *slot); /* not SLW_OK: stop, pass it on */
SLW_API SLW_MUST_CHECK slw_code slw_store_visit(slw_store *store, int full, slw_slot_visitor visitor, void *context,
                                                slw_error *err);

/* What `doctor` tells of a root. Strings are static or live in the struct. */
typedef struct slw_store_health {
    uint32_t size;
    int exists;
    int trusted;
    int local_file_system;
    int no_replace; /* 1 yes, 0 no, -1 not known (ask with `probe`) */
    int locks;      /* likewise */
    char file_system[32];
    char why_not_trusted[256];
} slw_store_health;
#define SLW_STORE_HEALTH_INIT                                                                                          \
    { sizeof(slw_store_health), 0, 0, 0, 0, 0, "", "" }
/* `probe` writes and removes a few files under the root; without it nothing is written. */
SLW_API SLW_MUST_CHECK slw_code slw_store_examine(slw_store *store, int probe, slw_store_health *out, slw_error *err);

SLW_END_DECLS
#endif
