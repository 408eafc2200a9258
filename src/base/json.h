/* JSON in: a strict linear pre-scan (size, depth, counts, UTF-8, duplicate names, number range) and then json-c, which
 * alone accepts too much (pitfall 39). JSON out: canonical text, written only here. */
#ifndef SLWI_JSON_H
#define SLWI_JSON_H

#include "buffer.h"

typedef struct slwi_json slwi_json; /* a node; borrowed from the document */

typedef struct slwi_json_limits {
    size_t bytes;
    size_t depth;
    size_t values; /* an object counts 8 and an array 4, as much as they take in memory */
    int lone_surrogates; /* 1: \udXXX escapes that are not pairs are kept, as WTF-8; 0: refused */
} slwi_json_limits;
#define SLWI_JSON_LIMITS_DEFAULT                                                                                   \
    {                                                                                                              \
        16777216u, 256u, 1048576u, 0                                                                               \
    }

typedef enum slwi_json_type {
    SLWI_JSON_NULL,
    SLWI_JSON_BOOL,
    SLWI_JSON_INT, /* fits int64_t or uint64_t */
    SLWI_JSON_DOUBLE,
    SLWI_JSON_STRING,
    SLWI_JSON_ARRAY,
    SLWI_JSON_OBJECT
} slwi_json_type;

typedef struct slwi_json_document slwi_json_document;

/* INVALID_METADATA (LIMIT for a limit) with line, column, offset and reason: NOT_UTF8, DUPLICATE, BAD_NUMBER,
   BAD_ESCAPE, BAD_BYTE, TRUNCATED, TRAILING, DEPTH, … ; out untouched. */
slw_code slwi_json_parse(const slw_allocator *allocator, slw_bytes text, const slwi_json_limits *limits,
                         slwi_json_document **out, slw_error *err);
void slwi_json_free(slwi_json_document **document);
const slwi_json *slwi_json_root(const slwi_json_document *document);

slwi_json_type slwi_json_kind(const slwi_json *node);
/* Each gives 1 and the value, or 0 when the node is NULL or of another kind or range. */
int slwi_json_bool(const slwi_json *node, int *out);
int slwi_json_i64(const slwi_json *node, int64_t *out);
int slwi_json_u64(const slwi_json *node, uint64_t *out);
int slwi_json_u32(const slwi_json *node, uint32_t *out);
int slwi_json_double(const slwi_json *node, double *out); /* ints too */
int slwi_json_string(const slwi_json *node, slw_bytes *out); /* WTF-8; NUL-terminated; may hold NULs */
size_t slwi_json_length(const slwi_json *node);              /* of an array or object, else 0 */
const slwi_json *slwi_json_item(const slwi_json *array, size_t index);
const slwi_json *slwi_json_get(const slwi_json *object, const char *name); /* NULL when absent */
/* Members in the order of the text; 0 past the end. Amortised O(1) when called with rising indexes is not promised: use
   the cursor (start with NULL). */
int slwi_json_member(const slwi_json *object, void **cursor, slw_bytes *name, const slwi_json **value);
/* 1 when every member's name is in the NULL-terminated list; else 0 and *unknown. */
int slwi_json_only(const slwi_json *object, const char *const *names, slw_bytes *unknown);

/* Canonical writer: compact, ASCII escapes, NaN refused, keys in the order given, which must rise by code point within
   one object (a falling or equal key sets the buffer's failed to SLW_E_USAGE). */
typedef struct slwi_json_writer {
    slwi_buffer *out;
    uint32_t depth;
    uint32_t sorted; /* 1: keys must rise (canonical); 0: any order, for documents for people and programs */
    uint8_t need_comma[64];
    char last_key[64][64];
} slwi_json_writer;
void slwi_json_begin(slwi_json_writer *writer, slwi_buffer *out, int sorted);
void slwi_json_object_begin(slwi_json_writer *writer);
void slwi_json_object_end(slwi_json_writer *writer);
void slwi_json_array_begin(slwi_json_writer *writer);
void slwi_json_array_end(slwi_json_writer *writer);
void slwi_json_key(slwi_json_writer *writer, const char *name);
void slwi_json_put_string(slwi_json_writer *writer, slw_bytes wtf8);
void slwi_json_put_text(slwi_json_writer *writer,
                        const char *text); /* NULL: null. Bytes that are not UTF-8 as U+DC80… */
void slwi_json_put_os(slwi_json_writer *writer, slw_bytes raw);
void slwi_json_put_u64(slwi_json_writer *writer, uint64_t value);
void slwi_json_put_i64(slwi_json_writer *writer, int64_t value);
void slwi_json_put_double(slwi_json_writer *writer,
                          double value); /* shortest round trip; NaN and infinities as strings */
void slwi_json_put_bool(slwi_json_writer *writer, int value);
void slwi_json_put_null(slwi_json_writer *writer);
/* Copies a parsed node. */
void slwi_json_put_node(slwi_json_writer *writer, const slwi_json *node);
/* The escaped, quoted form of WTF-8 text appended to a buffer (what put_string writes). */
void slwi_json_append_string(slwi_buffer *out, slw_bytes wtf8);

#endif
