/* Why a request is no hit: the entries of the store that are nearest to it, and the fields that differ.
 *
 * An explanation is made from what stands in the entries (slipway.json: the records of source and options, and what the
 * toolchain was, by path and digest) and from what slw_compile would make its key of. Nothing is built, nothing is
 * written into the store and no lock is taken. docs/why.md lists the fields. */
#ifndef SLIPWAY_EXPLAIN_H
#define SLIPWAY_EXPLAIN_H

#include <slipway/compile.h>

SLW_BEGIN_DECLS

typedef struct slw_explanation slw_explanation;

typedef enum slw_explain_verdict {
    SLW_EXPLAIN_HIT = 0,     /* slw_compile would take the entry; no entries are compared */
    SLW_EXPLAIN_MISS = 1,    /* no such entry: it would build and publish */
    SLW_EXPLAIN_INVALID = 2, /* its slot is damaged: it would build privately */
    SLW_EXPLAIN_PRIVATE = 3, /* it would build privately, and the reason says why */
    SLW_EXPLAIN_ENTRY = 4    /* of slw_explain_key: the entry is there, and is compared with the others */
} slw_explain_verdict;
/* "HIT", "MISS", "INVALID", "PRIVATE", "ENTRY"; NULL for another value. */
SLW_API const char *slw_explain_verdict_name(slw_explain_verdict verdict);

typedef struct slw_explain_options {
    uint32_t size;
    size_t nearest; /* how many entries at most; 0: 3; past SLW_LIMIT_NEAREST: LIMIT */
} slw_explain_options;
#define SLW_EXPLAIN_OPTIONS_INIT                                                                                       \
    { sizeof(slw_explain_options), 0 }

/* Derives the key of a request exactly as slw_compile does, asks the store as slw_compile does, and for a miss finds
   the nearest entries: those of the same source name and backend first, of these the ones with the fewest differences,
   of equal ones the last used. `options` and `how` may be NULL.
   `out` is the caller's, to be given to slw_explanation_release. Failure: `out` untouched; what slw_compile gives
   before its first stage (USAGE, INVALID_SOURCE, UNSUPPORTED_INPUT, LIMIT, FORKED, TIMEOUT, CANCELLED), STORAGE,
   NO_MEMORY. An entry that is damaged, or that no slw_compile made, is skipped and counted.
   Threads: as slw_compile, any. Processes: none but those that slw_compile starts to make a key (-march=native).
   Cost: a key, a look-up, and of a miss two small files of every entry; memory for the nearest ones, not for all. */
SLW_API SLW_MUST_CHECK slw_code slw_explain(slw_compiler *compiler, const slw_source *source,
                                            const slw_compile_options *options, const slw_explain_options *how,
                                            slw_explanation **out, slw_error *err);

/* Compares the entry of a key (its text, or its first digits, at least 4) with the others. OK: ENTRY, or MISS where no
   entry has that key, with nothing to compare. Failure: `out` untouched; USAGE (BAD_DIGEST; AMBIGUOUS: several keys
   begin so, in `tried`), INVALID_ENTRY (the entry is there and damaged), INVALID_METADATA (no slw_compile made it),
   LIMIT, STORAGE, NO_MEMORY. Threads: any. Cost: as above. */
SLW_API SLW_MUST_CHECK slw_code slw_explain_key(slw_store *store, const char *key, const slw_explain_options *how,
                                                slw_explanation **out, slw_error *err);

/* An explanation is immutable; everything below lives as long as it. Threads: may be shared. */
SLW_API slw_explain_verdict slw_explanation_verdict(const slw_explanation *explanation);
/* As text; NULL: the request has no key, or no entry has the key that was asked about. */
SLW_API const char *slw_explanation_key(const slw_explanation *explanation);
SLW_API const char *slw_explanation_spec(const slw_explanation *explanation);
/* Why the request would stay private or the slot is damaged; NULL: neither. */
SLW_API const char *slw_explanation_reason(const slw_explanation *explanation);
/* Entries that were compared, and those that were skipped. */
SLW_API uint64_t slw_explanation_compared(const slw_explanation *explanation);
SLW_API uint64_t slw_explanation_skipped(const slw_explanation *explanation);

/* An entry of the store. Strings are UTF-8 where the document's were; a control character in one is written \x1b. */
typedef struct slw_near_entry {
    uint32_t size;
    const char *key;
    const char *spec;
    const char *state; /* "ready" */
    const char *name;  /* of its source */
    const char *backend;
    const char *target;
    uint64_t last_used_ns; /* since 1970; 0: not known */
    size_t differences;    /* how many slw_explanation_difference gives */
    uint64_t left_out;     /* and how many there are more */
} slw_near_entry;
#define SLW_NEAR_ENTRY_INIT                                                                                            \
    { sizeof(slw_near_entry), NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0 }

/* One field. Values are text, at most SLW_LIMIT_DIFFERENCE_BYTES of it; a longer string is told by its digest, anything
   else is cut and ends in "…". NULL: there is no such field on that side. */
typedef struct slw_difference {
    uint32_t size;
    const char *field;     /* "options.options[2]", "compiler: /usr/bin/gcc", "environment.PATH" */
    const char *old_value; /* the entry's */
    const char *new_value; /* the request's, or of slw_explain_key the entry's that was asked about */
} slw_difference;
#define SLW_DIFFERENCE_INIT                                                                                            \
    { sizeof(slw_difference), NULL, NULL, NULL }

/* The nearest first; 1, or 0 past the end and for an `out` of another size. */
SLW_API size_t slw_explanation_count(const slw_explanation *explanation);
SLW_API int slw_explanation_entry(const slw_explanation *explanation, size_t index, slw_near_entry *out);
SLW_API int slw_explanation_difference(const slw_explanation *explanation, size_t entry, size_t index,
                                       slw_difference *out);

SLW_API void slw_explanation_release(slw_explanation **explanation); /* accepts a pointer to NULL */

SLW_END_DECLS
#endif
