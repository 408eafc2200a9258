/* For those who write a backend. Weaker promise than the other headers: `abi` counts changes.
 *
 * A backend owns meaning: the ordered stages that make a binary, and pure functions from bytes to a launch contract. It
 * never sees a store or a driver. */
#ifndef SLIPWAY_SYS_BACKEND_IMPL_H
#define SLIPWAY_SYS_BACKEND_IMPL_H

#include <slipway/compile.h>

SLW_BEGIN_DECLS

#define SLW_BACKEND_ABI 2u

/* Opens the toolchain of a compiler: search, discovery (memo or probes), identity declared, proved and sealed by the
   backend into `identity` with exactly the components backend, compiler, libraries, environment. */
typedef struct slw_toolchain_request {
    uint32_t size;
    slw_allocator allocator;
    const char *compiler; /* as in slw_compiler_options */
    const char *search_path;
    slw_memo *memo;
    slw_identity *identity; /* created by the caller, empty; sealed on return */
    slw_cancel *cancel;
} slw_toolchain_request;

/* One compile, prepared: everything it depends on as records. */
typedef struct slw_compile_request {
    uint32_t size;
    slw_allocator allocator;
    const slw_source *source;
    const slw_compile_options *options; /* never NULL */
    /* The text, read already; lives until the job is released. data is NULL for a source that is lowered only on a
       miss: then it comes with the stage (slw_stage_context.source_text). */
    slw_bytes source_text;
    const char *source_name;
    const char *extension;    /* one of the backend's source kinds */
    slw_digest source_digest; /* of the text, or of the record of a source that is lowered: what goes into the key */
    int is_lowered;           /* 1: of such a record, and the two kinds never have one key */
    slw_identity *identity;   /* the compiler's, sealed; lends the memo for include roots */
} slw_compile_request;

/* What a backend can begin with. */
typedef struct slw_source_kind {
    const char *extension; /* "c", "cu", "ptx": without the dot, unique in its backend */
    size_t first_stage;    /* the first that runs */
} slw_source_kind;

typedef struct slw_stage {
    const char *name;      /* "object", "shared_object" */
    const char *extension; /* "o", "so" */
    const char *payload;   /* the file it leaves in the build directory: "kernel.o" */
} slw_stage;

typedef struct slw_stage_context {
    uint32_t size;
    const char *directory; /* the build directory; inputs and outputs are files in it */
    uint64_t deadline_ns;
    slw_cancel *cancel;
    const char *temporary_root; /* for the children's private TMPDIR; NULL: inside `directory`, and removed again */
    slw_bytes source_text;      /* what the first stage reads: the request's text, or what it was lowered to */
} slw_stage_context;

typedef struct slw_backend_vtable {
    uint32_t size;
    uint32_t abi; /* SLW_BACKEND_ABI */
    const char *name;
    uint32_t reader_revision;
    const slw_stage *stages; /* in order */
    size_t stage_count;
    const char *launch_binary; /* a stage's payload, and the last one's */
    const slw_source_kind *sources;
    size_t source_count;
    /* 1: a target of this backend, as `--target` and slw_compile_options name it. Pure. */
    int (*supports_target)(const char *target);

    slw_code (*toolchain_open)(const slw_toolchain_request *request, void **toolchain, slw_error *err);
    void (*toolchain_close)(void *toolchain);
    const char *(*toolchain_path)(const void *toolchain);

    /* Checks the request and prepares it. `job` borrows the toolchain and the request's text. */
    slw_code (*job_open)(void *toolchain, const slw_compile_request *request, void **job, slw_error *err);
    void (*job_close)(void *job);
    /* The target in full. */
    const char *(*job_target)(const void *job);
    /* NULL: cacheable; else why this request must stay private ("OPTION -fplugin=x"). */
    const char *(*job_private_reason)(const void *job);
    /* What the source is (source_digest and is_lowered, name, extension, include roots) and what the request is
       (options, target, override) as dicts; the caller owns them. slipway.json keeps both, so that a miss can be
       explained. */
    slw_code (*job_source_record)(void *job, slw_record **out, slw_error *err);
    slw_code (*job_option_record)(void *job, slw_record **out, slw_error *err);
    /* Runs stage `index`, from the source kind's first one on. COMPILE_FAILED with the compiler's words in
       err->diagnostics; TIMEOUT; CANCELLED. */
    slw_code (*job_run)(void *job, size_t index, const slw_stage_context *context, slw_error *err);
    /* After the last stage: does everything the compiler read lie inside the key? Not OK: reason HEADER_OUTSIDE, path.
     */
    slw_code (*job_confirm)(void *job, const slw_stage_context *context, slw_error *err);

    /* Is this a binary of mine? By content. */
    int (*recognises)(slw_bytes binary);
    /* Reads the contract of a binary. Pure; fuzzed. Release with release_contract of the same vtable. `target`: the
       device's, which chooses among several images (a fatbin, a bundle); NULL: the only one, else UNSUPPORTED_INPUT
       with AMBIGUOUS and the targets in `tried`. */
    slw_code (*read_contract)(const slw_allocator *allocator, slw_bytes binary, const char *name, const char *target,
                              slw_contract **out, slw_error *err);
    void (*release_contract)(const slw_allocator *allocator, slw_contract **contract);
} slw_backend_vtable;

/* ---- Registering --------------------------------------------------------------------------------------------------
 *
 * A backend of a front end's own, under a name that no other has: from then on slw_compiler_open and slw_backend_choose
 * know it. It stays for the life of the process, and so must the vtable and what it points to. The contracts it reads
 * name, as their backend, the kind of device that runs the binary ("host", "cuda", "hip"): a backend that ends in a
 * binary of a built-in one hands reading to that one's vtable. OK; USAGE (BAD_ABI, BAD_BACKEND, DUPLICATE); LIMIT past
 * SLW_LIMIT_BACKENDS. Threads: any. */
SLW_API SLW_MUST_CHECK slw_code slw_backend_register(const slw_backend_vtable *backend, slw_error *err);
/* Built in or registered; NULL: none of that name. Static or as long-lived as it was registered. Threads: any. */
SLW_API const slw_backend_vtable *slw_backend_find(const char *name);

SLW_END_DECLS
#endif
