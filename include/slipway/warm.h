/* Warm-up: many compiles before anybody waits for one of them, so that later they are hits.
 *
 * Every request is checked before the first build begins: a list with one wrong request builds nothing, and all that is
 * wrong in it is told. The same list may come from a configuration file (docs/warm.md has its members). */
#ifndef SLIPWAY_WARM_H
#define SLIPWAY_WARM_H

#include <slipway/compile.h>

SLW_BEGIN_DECLS

/* What is wanted of a request. */
typedef enum slw_warm_want {
    SLW_WARM_SHARED = 0, /* an entry of the store: HIT or PUBLISHED */
    SLW_WARM_PRIVATE = 1 /* that it compiles: built without a look-up, and never published */
} slw_warm_want;

typedef struct slw_warm_request {
    uint32_t size;
    const char *backend; /* NULL: the one that the target and the kind of source decide, else "host" */
    const char
        *compiler; /* as slw_compiler_options.compiler; requests of one backend and compiler share a slw_compiler */
    slw_source source;
    slw_compile_options options; /* `cancel` NULL: the warm-up's. `always_compile` is the want's to say */
    slw_warm_want want;
} slw_warm_request;
#define SLW_WARM_REQUEST_INIT                                                                                          \
    { sizeof(slw_warm_request), NULL, NULL, SLW_SOURCE_INIT, SLW_COMPILE_OPTIONS_INIT, SLW_WARM_SHARED }

typedef enum slw_warm_status {
    SLW_WARM_NOT_RUN = 0, /* the warm-up ended before it: another one failed, or it was cancelled */
    SLW_WARM_HIT = 1,
    SLW_WARM_PUBLISHED = 2,
    SLW_WARM_BUILT_PRIVATE = 3, /* `reason` says why */
    SLW_WARM_FAILED = 4         /* `error` says why */
} slw_warm_status;
SLW_API const char *
slw_warm_status_name(slw_warm_status status); /* "NOT_RUN", "HIT", "PUBLISHED", "PRIVATE", "FAILED" */

/* What became of one request. All of it ends with the call that tells it. */
typedef struct slw_warm_result {
    uint32_t size;
    size_t index; /* of the request */
    slw_warm_status status;
    int as_wanted;
    const char *backend;    /* the one that was chosen */
    const char *key;        /* text; NULL: it has none, or failed before it */
    const char *directory;  /* of the entry, or of the private build as long as this call lasts; NULL: neither */
    const char *reason;     /* why PRIVATE; "" otherwise */
    const slw_error *error; /* of FAILED, with the compiler's words; NULL otherwise */
    uint64_t duration_ns;
    size_t done; /* requests told so far, with this one, of `total` */
    size_t total;
} slw_warm_result;

/* Called on the thread that called slw_warm, one request at a time, in the order in which they end; those that did not
   run come last. No lock is held. */
typedef void (*slw_warm_listener)(void *context, const slw_warm_result *result);
/* One thing that is wrong with the requests. `index` SIZE_MAX: with none of them alone. */
typedef void (*slw_warm_problem)(void *context, size_t index, const slw_error *problem);

typedef struct slw_warm_options {
    uint32_t size;
    slw_allocator allocator;
    /* The store, and how toolchains are found and proved. `backend`, `compiler`, `target` and `extension` are the
       requests' and must be NULL. With a `backend_impl` all requests are its. */
    slw_compiler_options compiler;
    uint32_t jobs;  /* compiles at one time, at most SLW_LIMIT_WARM_JOBS; 0: one for each processor */
    int keep_going; /* 1: the others are built when one fails, or when one's compiler is not there */
    slw_cancel *cancel;
    slw_warm_listener listener; /* NULL: nobody is told of each */
    slw_warm_problem problem;   /* NULL: the first problem is the error, and nobody is told of the others */
    void *context;              /* of both */
} slw_warm_options;
#define SLW_WARM_OPTIONS_INIT                                                                                          \
    { sizeof(slw_warm_options), SLW_ALLOCATOR_INIT, SLW_COMPILER_OPTIONS_INIT, 0, 0, NULL, NULL, NULL, NULL }

typedef struct slw_warm_counts {
    uint32_t size;
    size_t hits, published, built_private, failed, not_run;
    size_t not_as_wanted; /* of all: 0 says that the warm-up did what it was asked */
} slw_warm_counts;
#define SLW_WARM_COUNTS_INIT                                                                                           \
    { sizeof(slw_warm_counts), 0, 0, 0, 0, 0, 0 }

/* Checks all requests, opens the compilers they need, and compiles them, `jobs` at a time on threads that end before
   the call returns (with one job on the calling thread). A failure ends it once what runs has ended, unless it shall
   keep going; a result that stays PRIVATE does not. Two requests that ask for the same thing are a mistake, and told.

   OK: the warm-up ended, and `counts` says how: also where requests failed. Otherwise `counts` is untouched and nothing
   was built, but for CANCELLED, where what had ended was told and stays. USAGE; LIMIT: more than
   SLW_LIMIT_WARM_REQUESTS; INVALID_SOURCE: a source that is not there; UNSUPPORTED (NO_BACKEND, AMBIGUOUS);
   UNSUPPORTED_INPUT: a target or a kind of source that the backend has not; TOOL_MISSING and what slw_compiler_open
   gives; CANCELLED; NO_MEMORY. Everything given is borrowed for the call. Threads: any; requests' sources are
   lowered on the warm-up's threads. Memory: for each job 64 KiB for a compiler's words. */
SLW_API SLW_MUST_CHECK slw_code slw_warm(const slw_warm_options *options, const slw_warm_request *requests,
                                         size_t count, slw_warm_counts *counts, slw_error *err);

/* ---- Configuration files ----------------------------------------------------------------------------------------- */

typedef struct slw_warm_config slw_warm_config;

typedef struct slw_warm_config_options {
    uint32_t size;
    slw_allocator allocator;
    const char *directory; /* what relative paths in the text begin at; NULL: the working directory */
    const char *name;      /* of the text, for errors; or NULL */
    slw_warm_problem problem;
    void *context;
} slw_warm_config_options;
#define SLW_WARM_CONFIG_OPTIONS_INIT                                                                                   \
    { sizeof(slw_warm_config_options), SLW_ALLOCATOR_INIT, NULL, NULL, NULL, NULL }

/* Reads a configuration: every request checked as slw_warm checks it, so that each problem has the line and column
   where it stands; `index` of a problem is the item of `requests`. Failure: `out` untouched, and the first problem that
   was told is the error; after 256 of them no more are told. INVALID_METADATA: no JSON (where it stops being that, and
   nothing else is told), or UNKNOWN_MEMBER, MISSING_MEMBER, BAD_VALUE, NO_BACKEND, DUPLICATE, SCHEMA; what slw_warm
   says of requests; LIMIT, NO_MEMORY. Of files it only asks whether they are there. Threads: any. Cost: linear. */
SLW_API SLW_MUST_CHECK slw_code slw_warm_config_parse(const slw_warm_config_options *options, slw_bytes json,
                                                      slw_warm_config **out, slw_error *err);
SLW_API void slw_warm_config_release(slw_warm_config **config); /* accepts a pointer to NULL */
/* One request a source and target, in the order of the text; the array lives as long as the configuration. */
SLW_API const slw_warm_request *slw_warm_config_requests(const slw_warm_config *config, size_t *count);
SLW_API uint32_t slw_warm_config_jobs(const slw_warm_config *config); /* 0: it does not say */
SLW_API int slw_warm_config_keep_going(const slw_warm_config *config);

SLW_END_DECLS
#endif
