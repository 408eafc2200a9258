/* For those who write a backend. Weaker promise than the other headers: `abi` counts changes.
 *
 * A backend owns meaning: the ordered stages that make a binary, and pure functions from bytes to a launch contract. It
 * never sees a store or a driver. */
#ifndef SLIPWAY_SYS_BACKEND_IMPL_H
#define SLIPWAY_SYS_BACKEND_IMPL_H

#include <slipway/compile.h>

SLW_BEGIN_DECLS

#define SLW_BACKEND_ABI 1u

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
    slw_bytes source_text;              /* read already; lives until the job is released */
    const char *source_name;
    slw_identity *identity; /* the compiler's, sealed; lends the memo for include roots */
} slw_compile_request;

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
} slw_stage_context;

typedef struct slw_backend_vtable {
    uint32_t size;
    uint32_t abi; /* SLW_BACKEND_ABI */
    const char *name;
    uint32_t reader_revision;
    const slw_stage *stages; /* in order */
    size_t stage_count;
    const char *launch_binary; /* a stage's payload */

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
    /* What the source is (file, include roots) and what the request is (options, target) as records; the caller owns
     * them. */
    slw_code (*job_source_record)(void *job, slw_record **out, slw_error *err);
    slw_code (*job_option_record)(void *job, slw_record **out, slw_error *err);
    /* Runs stage `index`. COMPILE_FAILED with the compiler's words in err->diagnostics; TIMEOUT; CANCELLED. */
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

SLW_END_DECLS
#endif
