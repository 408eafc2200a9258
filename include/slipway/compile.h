/* compile(): derive the key, ask the store, and only on a miss run the stages.
 *
 * Every value that can change the output is in the key: the source and every declared include root as trees, the
 * backend, its reader revision and contract schema, the compiler with its ELF closure, headers and libraries, the made
 * environment and every option. An option that is not on the backend's allow-list, or that names a file which is not in
 * the key, makes the request PRIVATE and is named in the report. */
#ifndef SLIPWAY_COMPILE_H
#define SLIPWAY_COMPILE_H

#include <slipway/phases.h>

SLW_BEGIN_DECLS

typedef struct slw_compiler slw_compiler;

typedef struct slw_compiler_options {
    uint32_t size;
    slw_allocator allocator;
    slw_store *store;    /* retained; required; of the default domain, else USAGE */
    const char *backend; /* "host"; NULL = "host" */
    const char
        *compiler; /* the driver to use; NULL: the first of cc, gcc, clang in search_path, then the system's dirs */
    const char *search_path;                       /* PATH-like; NULL: the system's directories only */
    slw_memo *memo;                                /* borrowed until the compiler is closed; NULL: none */
    int identity;                                  /* SLW_IDENTITY_… */
    const char *temporary_root;                    /* for children; NULL: inside the build's own directory */
    slw_metrics *metrics;                          /* retained; NULL: the store's */
    const struct slw_backend_vtable *backend_impl; /* <slipway/sys/backend_impl.h>; NULL: the built-in of that name */
} slw_compiler_options;
#define SLW_COMPILER_OPTIONS_INIT                                                                                      \
    {                                                                                                                  \
        sizeof(slw_compiler_options), SLW_ALLOCATOR_INIT, NULL, NULL, NULL, NULL, NULL, SLW_IDENTITY_MEMO, NULL, NULL, \
            NULL                                                                                                       \
    }

/* Finds the compiler and proves its identity. Starts a process only when the memo does not know this compiler.
   Failure: `out` untouched; TOOL_MISSING (`tried`), UNSUPPORTED, USAGE, NO_MEMORY. An identity that cannot be proved is
   not a failure here: compile() then builds privately and says why. Threads: a compiler may be shared. */
SLW_API SLW_MUST_CHECK slw_code slw_compiler_open(const slw_compiler_options *options, slw_compiler **out,
                                                  slw_error *err);
SLW_API void slw_compiler_close(slw_compiler **compiler); /* accepts a pointer to NULL */
/* The compiler in use ("/usr/bin/gcc"), and its identity; both live as long as the handle. */
SLW_API const char *slw_compiler_path(const slw_compiler *compiler);
SLW_API const slw_identity *slw_compiler_identity(const slw_compiler *compiler);

/* What is compiled. Either `path` (read now) or `text`; `name` is for errors and the entry (NULL: the file's own
   name), and part of the key: __FILE__ may show it. */
typedef struct slw_source {
    uint32_t size;
    const char *path;
    slw_bytes text;
    const char *name;
    /* Searched in this order, hashed as trees; may be absent. Relative ones are the calling process's. The source's own
       directory is not searched unless it is one of them. */
    const char *const *include_roots;
    size_t include_root_count;
} slw_source;
#define SLW_SOURCE_INIT                                                                                                \
    { sizeof(slw_source), NULL, {NULL, 0}, NULL, NULL, 0 }

typedef struct slw_compile_options {
    uint32_t size;
    const char *target;       /* NULL: this machine's */
    const char *const *flags; /* for the compiler; checked against the allow-list */
    size_t flag_count;
    int always_compile;         /* build privately without a look-up */
    const char *dump_directory; /* every stage's output is copied here; NULL: none. Makes the request always_compile */
    const char *override_stage; /* take this stage's output from override_path; its digest enters the key */
    const char *override_path;
    uint64_t timeout_ns; /* for all stages together; 0: the store's build time-out */
    slw_cancel *cancel;  /* of this request, as slw_builder.cancel; NULL: the store's alone */
} slw_compile_options;
#define SLW_COMPILE_OPTIONS_INIT                                                                                       \
    { sizeof(slw_compile_options), NULL, NULL, 0, 0, NULL, NULL, NULL, 0, NULL }

/* `options` and `report` may be NULL. OK: HIT, PUBLISHED or PRIVATE. COMPILE_FAILED: the compiler's words in
   err->diagnostics, path, line and column of the first error where it names one. INVALID_SOURCE, INVALID_BINARY
   (it compiled, and declares no kernel), LIMIT, TIMEOUT, CANCELLED, UNSUPPORTED_INPUT, FORKED, USAGE, NO_MEMORY and
   what slw_store_get_or_build gives. */
SLW_API SLW_MUST_CHECK slw_code slw_compile(slw_compiler *compiler, const slw_source *source,
                                            const slw_compile_options *options, slw_build_report *report,
                                            slw_cached **out, slw_error *err) SLW_MAKES(*out);

SLW_END_DECLS

#if !defined(__cplusplus) && !defined(SLIPWAY_NO_GUARDS)
#define slw_compile(compiler, source, options, report, out, err)                                                       \
    SLW_PICK_(slw_compile, slw_cached, out)((compiler), (source), (options), (report), (out), (err))
#endif
#endif
