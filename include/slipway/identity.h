/* Toolchain identity: what produced the bytes, proved component by component, and the memo that makes proving cheap.
 *
 * A component starts "unavailable". The adapter adds everything that can change the output (files, trees, programs with
 * their ELF closure, environment variables, build-ids, claims, digests of its own) and then says slw_identity_prove:
 * the inventory is complete. Anything that could not be read makes the component unavailable again, with every reason
 * kept. One unavailable component makes the identity unusable: compile privately and persist nothing. slw_identity_seal
 * ends the gathering; slw_identity_recheck stats every file again, after the build and before publication .
 *
 * Threads: one at a time until sealed; a sealed identity may be shared. */
#ifndef SLIPWAY_IDENTITY_H
#define SLIPWAY_IDENTITY_H

#include <slipway/bytes.h>

SLW_BEGIN_DECLS

typedef struct slw_memo slw_memo;
typedef struct slw_identity slw_identity;

/* How a file's digest may be had. */
#define SLW_IDENTITY_MEMO 0 /* from the on-disk memo where its rules allow it, else by reading the file (the default)  \
                             */
#define SLW_IDENTITY_CONTENT 1 /* always by reading the file */
/* By what a toolchain says of itself: an ELF file counts by its build-id and without what it loads, a tree by its name
   alone, and a component may stand on version texts. Fast with no memo, and blind to what is changed in place under the
   same version: headers, libraries without a build-id of their own, plug-ins. Keys of this policy are never those of
   the others. What a request itself names (its source, its include roots) is always hashed. */
#define SLW_IDENTITY_CLAIM 2

typedef struct slw_memo_options {
    uint32_t size;
    slw_allocator allocator;
    const char *directory; /* the user's own; made 0700 when absent; refused (STORAGE, UNTRUSTED) when not trusted */
    int read_only;         /* nothing is written; an absent directory is an empty memo */
} slw_memo_options;
#define SLW_MEMO_OPTIONS_INIT                                                                                          \
    { sizeof(slw_memo_options), SLW_ALLOCATOR_INIT, NULL, 0 }

/* Opens the memo (stat identity of a file -> its digest; what a compiler driver answered). A damaged file is dropped
   and begun anew, never an error. Threads: a memo may be shared. Failure: `out` untouched; STORAGE, NO_MEMORY. */
SLW_API SLW_MUST_CHECK slw_code slw_memo_open(const slw_memo_options *options, slw_memo **out, slw_error *err);
/* Writes what is new (atomically; a failure loses only speed) and releases. Accepts a pointer to NULL. */
SLW_API void slw_memo_close(slw_memo **memo);

typedef struct slw_identity_options {
    uint32_t size;
    slw_allocator allocator;
    slw_memo *memo; /* borrowed until the identity is released, NULL: none */
    int policy;     /* SLW_IDENTITY_… */
} slw_identity_options;
#define SLW_IDENTITY_OPTIONS_INIT                                                                                      \
    { sizeof(slw_identity_options), SLW_ALLOCATOR_INIT, NULL, SLW_IDENTITY_MEMO }

SLW_API SLW_MUST_CHECK slw_code slw_identity_create(const slw_identity_options *options, slw_identity **out,
                                                    slw_error *err);
SLW_API void slw_identity_release(slw_identity **identity); /* accepts a pointer to NULL */

/* Declares a component, unavailable until proved. Names: [a-z0-9_]+, not "schema", at most SLW_LIMIT_COMPONENTS of
 * them. */
SLW_API SLW_MUST_CHECK slw_code slw_identity_component(slw_identity *identity, const char *name, slw_error *err);

/* Inputs of a declared component. A file that cannot be read is not a failure of the call: it is recorded against the
   component (see slw_identity_failure). The calls fail with USAGE (no such component, sealed), NO_MEMORY. */
SLW_API SLW_MUST_CHECK slw_code slw_identity_add_file(slw_identity *identity, const char *component, const char *path,
                                                      slw_error *err);
/* Every file below a directory, by the rules of docs/store-format.md. With `optional`, an absent root is a recorded
   fact ("absent") instead of a failure: the include roots of a compiler that need not exist. */
SLW_API SLW_MUST_CHECK slw_code slw_identity_add_tree(slw_identity *identity, const char *component, const char *path,
                                                      int optional, slw_error *err);
/* An ELF program or library and everything its dynamic loader would map (interpreter, DT_NEEDED by RPATH, RUNPATH,
   ld.so.cache and the default directories, recursively). A script is a failure of the component. */
SLW_API SLW_MUST_CHECK slw_code slw_identity_add_program(slw_identity *identity, const char *component,
                                                         const char *path, slw_error *err);
/* A variable that the children will see; NULL = it is unset, which differs from "". */
SLW_API SLW_MUST_CHECK slw_code slw_identity_add_environment(slw_identity *identity, const char *component,
                                                             const char *name, const char *value, slw_error *err);
/* The GNU build-id of an ELF file; where there is none, the digest of its bytes, tagged differently. */
SLW_API SLW_MUST_CHECK slw_code slw_identity_add_build_id(slw_identity *identity, const char *component,
                                                          const char *path, slw_error *err);
/* A self-claim ("gcc 12.2.0"): recorded under a tag of its own, never equal to a proof. Alone it proves a component
   only under SLW_IDENTITY_CLAIM. */
SLW_API SLW_MUST_CHECK slw_code slw_identity_add_claim(slw_identity *identity, const char *component, const char *name,
                                                       slw_bytes text, slw_error *err);
/* A digest the caller answers for. */
SLW_API SLW_MUST_CHECK slw_code slw_identity_add_digest(slw_identity *identity, const char *component, const char *name,
                                                        const slw_digest *digest, slw_error *err);
/* "The inventory of this component is complete." Without it the component stays unavailable. */
SLW_API SLW_MUST_CHECK slw_code slw_identity_prove(slw_identity *identity, const char *component, slw_error *err);
/* Marks a component unavailable for a reason of the adapter's own; it cannot be proved afterwards. */
SLW_API SLW_MUST_CHECK slw_code slw_identity_reject(slw_identity *identity, const char *component, const char *why,
                                                    slw_error *err);

/* Computes the component digests. After it nothing can be added. Succeeds also when components are unavailable. */
SLW_API SLW_MUST_CHECK slw_code slw_identity_seal(slw_identity *identity, slw_error *err);
/* OK when sealed and every component is proved; else IDENTITY_UNUSABLE: `subject` the first component, the message its
   reason, every failing component in `tried`. */
SLW_API SLW_MUST_CHECK slw_code slw_identity_usable(const slw_identity *identity, slw_error *err);
/* The failures, one (component, reason) each; index from 0, returns 0 past the end. Strings live as long as the
 * identity. */
SLW_API int slw_identity_failure(const slw_identity *identity, size_t index, const char **component,
                                 const char **reason);
/* Components in order of name; index from 0, returns 0 past the end. `digest` is NULL for an unavailable one. */
SLW_API int slw_identity_at(const slw_identity *identity, size_t index, const char **name, const slw_digest **digest);

/* Stats every file of the snapshot again: OK when nothing changed; else IDENTITY_UNUSABLE, reason TOOLCHAIN_CHANGED,
   the file in `path`. Reads no content. Threads: any, once sealed. */
SLW_API SLW_MUST_CHECK slw_code slw_identity_recheck(const slw_identity *identity, slw_error *err);

/* How the digests were had, for reports: files taken from the memo, files read, and their bytes. */
typedef struct slw_identity_cost {
    uint32_t size;
    uint64_t memo_files;
    uint64_t read_files;
    uint64_t read_bytes;
} slw_identity_cost;
#define SLW_IDENTITY_COST_INIT                                                                                         \
    { sizeof(slw_identity_cost), 0, 0, 0 }
SLW_API SLW_MUST_CHECK slw_code slw_identity_get_cost(const slw_identity *identity, slw_identity_cost *out,
                                                      slw_error *err);

/* The content digest of a tree by the same rules (used for declared include roots): absent roots are a recorded fact.
   `identity` lends its memo and remembers the files for slw_identity_recheck; it may be sealed. Threads: any. */
SLW_API SLW_MUST_CHECK slw_code slw_identity_digest_tree(slw_identity *identity, const char *path, slw_digest *out,
                                                         slw_error *err);

SLW_END_DECLS
#endif
