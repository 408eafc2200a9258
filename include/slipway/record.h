/* Typed records: the vocabulary every digest is made of.  A value is tagged by type (true, 1, 1.0 and "1" differ),
 * wrapped in an envelope of domain and schema, written as canonical JSON and hashed.  Rules and vectors:
 * docs/store-format.md.
 *
 * Ownership: a record owns its children.  slw_record_append and slw_record_set take their item as a move: on success
 * the caller's pointer is NULL, on failure nothing changed.  So cycles cannot be made. Threads: one at a time per
 * record; a record that is no longer changed may be read by many. */
#ifndef SLIPWAY_RECORD_H
#define SLIPWAY_RECORD_H

#include <slipway/bytes.h>

SLW_BEGIN_DECLS

typedef struct slw_record slw_record;

#define SLW_DOMAIN_DEFAULT "slipway.identity"
#define SLW_DOMAIN_PYPTO   "pypto.identity"

/* Leaves. Failure: `out` untouched; NO_MEMORY, or USAGE with reason BAD_INTEGER / BAD_TEXT. Allocates. NULL allocator =
 * libc. */
SLW_API SLW_MUST_CHECK slw_code slw_record_none(const slw_allocator *allocator, slw_record **out, slw_error *err);
SLW_API SLW_MUST_CHECK slw_code slw_record_bool(const slw_allocator *allocator, int value, slw_record **out,
                                                slw_error *err);
SLW_API SLW_MUST_CHECK slw_code slw_record_int(const slw_allocator *allocator, int64_t value, slw_record **out,
                                               slw_error *err);
/* An integer of any size in decimal: "0", "-17"; "01", "+1", "-0" and "" are refused. */
SLW_API SLW_MUST_CHECK slw_code slw_record_int_text(const slw_allocator *allocator, slw_bytes decimal, slw_record **out,
                                                    slw_error *err);
/* The bits are kept: -0.0 and every NaN are values of their own. */
SLW_API SLW_MUST_CHECK slw_code slw_record_float(const slw_allocator *allocator, double value, slw_record **out,
                                                 slw_error *err);
/* Text as WTF-8: UTF-8 in which lone surrogates may stand (a surrogate pair written as two is kept as two). Anything
   else that is not UTF-8 is refused; use slw_record_os_string for names of the file system. */
SLW_API SLW_MUST_CHECK slw_code slw_record_string(const slw_allocator *allocator, slw_bytes wtf8, slw_record **out,
                                                  slw_error *err);
/* A name of the file system: a byte b that is not part of valid UTF-8 becomes U+DC00+b. Never refused. */
SLW_API SLW_MUST_CHECK slw_code slw_record_os_string(const slw_allocator *allocator, slw_bytes raw, slw_record **out,
                                                     slw_error *err);
SLW_API SLW_MUST_CHECK slw_code slw_record_bytes(const slw_allocator *allocator, slw_bytes bytes, slw_record **out,
                                                 slw_error *err);

/* Containers, made empty. */
SLW_API SLW_MUST_CHECK slw_code slw_record_list(const slw_allocator *allocator, slw_record **out, slw_error *err);
SLW_API SLW_MUST_CHECK slw_code slw_record_tuple(const slw_allocator *allocator, slw_record **out, slw_error *err);
SLW_API SLW_MUST_CHECK slw_code slw_record_dict(const slw_allocator *allocator, slw_record **out, slw_error *err);

/* Moves *item to the end of a list or tuple. USAGE for another kind, LIMIT past SLW_LIMIT_RECORD_DEPTH. */
SLW_API SLW_MUST_CHECK slw_code slw_record_append(slw_record *sequence, slw_record **item, slw_error *err);
/* Moves *item into a dict under a WTF-8 name; a name that is there already is USAGE, reason DUPLICATE. */
SLW_API SLW_MUST_CHECK slw_code slw_record_set(slw_record *dict, slw_bytes name, slw_record **item, slw_error *err);

/* Another record of the same value, which nobody owns yet: also of one that is part of another. */
SLW_API SLW_MUST_CHECK slw_code slw_record_copy(const slw_allocator *allocator, const slw_record *record,
                                                slw_record **out, slw_error *err);

/* The exact text that is hashed, for a domain (NULL = SLW_DOMAIN_DEFAULT). `out` is untouched on failure. */
SLW_API SLW_MUST_CHECK slw_code slw_record_encode(const slw_record *record, const char *domain, slw_text *out,
                                                  slw_error *err);
/* Its SHA-256. Does not build the text in memory. */
SLW_API SLW_MUST_CHECK slw_code slw_record_digest(const slw_record *record, const char *domain, slw_digest *out,
                                                  slw_error *err);

/* Reads the JSON form of a value object ({"t":"int","v":"1"}, tests/fixtures/stores/vectors.json): the RECORD.json of
   `slipway digest`. INVALID_METADATA with offset, line and column for anything that is not one. */
SLW_API SLW_MUST_CHECK slw_code slw_record_parse(const slw_allocator *allocator, slw_bytes json, slw_record **out,
                                                 slw_error *err);

/* Frees a record and its children, without recursion; accepts a pointer to NULL. */
SLW_API void slw_record_release(slw_record **record);

SLW_END_DECLS
#endif
