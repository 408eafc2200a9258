/* What compile.c, compile_request.c and compile_build.c share. */
#ifndef SLWI_COMPILE_STATE_H
#define SLWI_COMPILE_STATE_H

#include <slipway/compile.h>
#include <slipway/limits.h>

#include <pthread.h>

#include "backends.h"
#include "buffer.h"
#include "phase.h"

#define SLWI_TAG_COMPILER 0x53434d50u

/* One snapshot of the toolchain. When a file of it changes, the next compile takes a new one; the old ones stay
   until the compiler is closed, because callers hold pointers into them. */
typedef struct slwi_toolchain {
    struct slwi_toolchain *older;
    void *state; /* the backend's */
    slw_identity *identity;
    atomic_int changed;
} slwi_toolchain;

struct slw_compiler {
    uint32_t tag;
    slw_allocator allocator;
    slw_store *store;
    slw_metrics *metrics;
    const slw_backend_vtable *backend;
    char *compiler;
    char *search_path;
    char *temporary_root;
    slw_memo *memo;
    int policy;
    uint32_t audits_per_million;
    uint64_t generation; /* of forks: whose mutex it is */
    pthread_mutex_t mutex;
    pthread_mutex_t *lock;  /* it; to look is no change that const has to forbid */
    slwi_toolchain *newest; /* under the mutex */
};

typedef struct slwi_stage_mark {
    uint64_t start_ns; /* 0: it did not run */
    uint64_t duration_ns;
    uint64_t bytes;
    slw_code code;
} slwi_stage_mark;

/* One slw_compile. */
typedef struct slwi_request {
    slw_compiler *compiler;
    slwi_toolchain *toolchain;
    const slw_source *source;
    slw_compile_options options;
    const char *name;
    slwi_buffer file;    /* the source's text when it came by path */
    slw_bytes text;      /* data NULL: lowered on a miss */
    slw_text lowered;
    slw_digest source_digest;
    /* What the key was made of, for slipway.json; NULL: not made (a private request, or a source that is no lowered
       one). */
    slw_record *lowered_record, *source_record, *option_record;
    const slw_source_kind *kind;
    const char **flags; /* the lowered source's and the request's; NULL: the request's alone */
    slw_identity *headers; /* its own: remembers the include roots of this request for the recheck */
    void *job;
    slw_key *key; /* NULL: no usable identity, or inputs the key does not hold */
    slw_spec *spec;
    char reason[512]; /* "": cacheable; else why it stays private */
    uint64_t created_ns;
    uint64_t build_ns; /* when the first stage began; 0: nothing was built */
    slwi_stage_mark marks[SLWI_STAGES_MAX];
    slwi_stage_mark lowering; /* before the first stage, for a source that is lowered */
} slwi_request;

/* The toolchain in force; a new snapshot when the last one was found changed. */
slw_code slwi_compiler_toolchain(slw_compiler *compiler, slwi_toolchain **out, slw_error *err);

/* What a public call checks first: USAGE. `options` is not NULL. */
slw_code slwi_compile_check(const slw_source *source, const slw_compile_options *options,
                            const slw_backend_vtable *backend, slw_error *err);
/* Everything up to the key: source read, job opened, records digested, spec made. Partly filled on failure. */
slw_code slwi_request_prepare(slwi_request *request, slw_error *err);
void slwi_request_end(slwi_request *request);
/* Whether what a stage leaves is a payload of the entry. */
int slwi_request_keeps(const slwi_request *request, size_t stage);

/* The builder's two functions; the context is the request. */
slw_code slwi_request_build(void *context, const slw_build_context *build, slw_error *err);
slw_code slwi_request_confirm(void *context, const slw_build_context *build, slw_error *err);

#endif
