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
    const char *backend; /* "host", "cuda", "hip" or a registered one; NULL: chosen by the two fields at the end */
    const char
        *compiler; /* the driver to use; NULL: the first of cc, gcc, clang in search_path, then the system's dirs */
    const char *search_path;                       /* PATH-like; NULL: the system's directories only */
    slw_memo *memo;                                /* borrowed until the compiler is closed; NULL: none */
    int identity;                                  /* SLW_IDENTITY_… */
    const char *temporary_root;                    /* for children; NULL: inside the build's own directory */
    slw_metrics *metrics;                          /* retained; NULL: the store's */
    const struct slw_backend_vtable *backend_impl; /* <slipway/sys/backend_impl.h>; NULL: the one of that name */
    /* For the choice of a backend (slw_backend_choose); both NULL, and no backend named: "host". */
    const char *target;
    const char *extension;
    /* Of a million hits so many are audited: 0 none, 1000000 all. See slw_compile_options.audit. */
    uint32_t audits_per_million;
} slw_compiler_options;
#define SLW_COMPILER_OPTIONS_INIT                                                                                      \
    {                                                                                                                  \
        sizeof(slw_compiler_options), SLW_ALLOCATOR_INIT, NULL, NULL, NULL, NULL, NULL, SLW_IDENTITY_MEMO, NULL, NULL, \
            NULL, NULL, NULL, 0                                                                                        \
    }

/* The one backend, built in or registered, that has this target and begins with this kind of source ("cu"; without the
   dot). NULL stands for any. *out_name is static. Failure: `out_name` untouched; UNSUPPORTED with NO_BACKEND (none) or
   AMBIGUOUS (several): either names the candidates in `tried`. Threads: any. */
SLW_API SLW_MUST_CHECK slw_code slw_backend_choose(const char *target, const char *extension, const char **out_name,
                                                   slw_error *err);

/* Finds the compiler and proves its identity. Starts a process only when the memo does not know this compiler.
   Failure: `out` untouched; TOOL_MISSING (`tried`), UNSUPPORTED, USAGE, NO_MEMORY. An identity that cannot be proved is
   not a failure here: compile() then builds privately and says why. Threads: a compiler may be shared. */
SLW_API SLW_MUST_CHECK slw_code slw_compiler_open(const slw_compiler_options *options, slw_compiler **out,
                                                  slw_error *err);
SLW_API void slw_compiler_close(slw_compiler **compiler); /* accepts a pointer to NULL */
/* The compiler in use ("/usr/bin/gcc"), and its identity; both live as long as the handle. */
SLW_API const char *slw_compiler_path(const slw_compiler *compiler);
SLW_API const slw_identity *slw_compiler_identity(const slw_compiler *compiler);

/* ---- Sources -------------------------------------------------------------------------------------------------------
 *
 * Two kinds behind one struct. A text (C, CUDA C, PTX, LLVM IR…): its bytes are in the key. And what a front end has
 * in its own form (a traced function, a syntax tree): a record says what it is, and only on a miss it is lowered to a
 * text that the backend begins with; the text itself is then not in the key, the record is. */

/* One argument of a traced function, one constant, one attribute: a name and a value. */
typedef struct slw_named_record {
    const char *name;        /* UTF-8; unique in its array; a place in a tuple is written "2.0" */
    const slw_record *value; /* borrowed for the call */
} slw_named_record;

/* A front end's own form. Equivalent inputs have one key in whatever order they are listed; each field counts, and so
   does each name: constants {a: 1} and {b: 1} differ, and 1, "1", 1.0 and true. */
typedef struct slw_lowered_source {
    uint32_t size;
    const char *language;   /* "triton", "tiny": whose form it is, and its version ("triton 3.9") */
    const slw_record *body; /* the function: its text, its callees, what it closes over; borrowed; required */
    const slw_named_record *signature; /* arguments and their types */
    size_t signature_count;
    const slw_named_record *constants; /* what was specialised away */
    size_t constant_count;
    const slw_named_record *attributes; /* divisibility, alignment, … */
    size_t attribute_count;
    const char *const *flags; /* options that the source itself brings, before the request's; checked as those are */
    size_t flag_count;
    /* Makes the text. Called on a miss, on the thread of the compile, with the key's lock held, and by the audit of a
       hit, without it; its errors pass through as a builder's do. `out` is filled with slw_text_copy and released by
       the library. */
    slw_code (*lower)(void *context, slw_text *out, slw_error *err);
    void *context;
} slw_lowered_source;
#define SLW_LOWERED_SOURCE_INIT                                                                                        \
    { sizeof(slw_lowered_source), NULL, NULL, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL }

/* What is compiled: one of `path` (read now), `text` and `lowered`; `name` is for errors and the entry (NULL: the
   file's own name, else "source"), and part of the key: __FILE__ may show it. */
typedef struct slw_source {
    uint32_t size;
    const char *path;
    slw_bytes text;
    const char *name;
    /* Searched in this order, hashed as trees; may be absent. Relative ones are the calling process's. The source's own
       directory is not searched unless it is one of them. */
    const char *const *include_roots;
    size_t include_root_count;
    const char *extension; /* "cu", "ptx"; NULL: what path or name end with, else the backend's first kind */
    const slw_lowered_source *lowered;
} slw_source;
#define SLW_SOURCE_INIT                                                                                                \
    { sizeof(slw_source), NULL, {NULL, 0}, NULL, NULL, 0, NULL, NULL }

/* The record that stands for a lowered source in the key; the caller owns it. USAGE (DUPLICATE, EMPTY), NO_MEMORY. */
SLW_API SLW_MUST_CHECK slw_code slw_lowered_source_record(const slw_allocator *allocator,
                                                          const slw_lowered_source *source, slw_record **out,
                                                          slw_error *err);

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
    /* Only the launch binary and slipway.json are kept, not what lies between. Part of the spec, not of the key: with
       and without are two entries. */
    int store_binary_only;
    /* A hit is built once more, privately, and compared; what the listener is told of it stands in docs/audit.md, and
       the hit is handed out whatever came out. */
    int audit;
} slw_compile_options;
#define SLW_COMPILE_OPTIONS_INIT                                                                                       \
    { sizeof(slw_compile_options), NULL, NULL, 0, 0, NULL, NULL, NULL, 0, NULL, 0, 0 }

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
