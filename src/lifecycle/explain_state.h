/* What explain*.c share. */
#ifndef SLWI_EXPLAIN_STATE_H
#define SLWI_EXPLAIN_STATE_H

#include <slipway/explain.h>
#include <slipway/limits.h>

#include "buffer.h"
#include "json.h"

#define SLWI_TAG_EXPLANATION 0x5358504cu
#define SLWI_NO_TEXT         SIZE_MAX

/* One side of a comparison: a request, or an entry that was read. */
typedef struct slwi_side {
    slwi_json_document *document; /* of slipway.json, or what a request would write of it */
    const slwi_json *root;
    const char *backend;      /* NULL: the root's */
    uint32_t reader_revision; /* 0: not known */
    char key[SLW_DIGEST_TEXT_SIZE];
    char spec[SLW_DIGEST_TEXT_SIZE];
    const char *state; /* static */
    const char *build_kind;
    slwi_buffer required; /* the names of the spec, ", " between them */
} slwi_side;

/* Offsets into the texts of its entry; SLWI_NO_TEXT: NULL. */
typedef struct slwi_near_field {
    size_t field, old_value, new_value;
} slwi_near_field;

/* One entry that was compared. */
typedef struct slwi_near {
    slwi_buffer texts;
    slwi_near_field *items;
    size_t count, capacity;
    uint64_t total; /* differences, also those that are left out */
    uint32_t apart; /* 2: another name, 1: another backend */
    uint64_t last_used_ns;
    size_t key, spec, state, name, backend, target;
} slwi_near;

struct slw_explanation {
    uint32_t tag;
    slw_allocator allocator;
    slw_explain_verdict verdict;
    char key[SLW_DIGEST_TEXT_SIZE];
    char spec[SLW_DIGEST_TEXT_SIZE];
    char reason[512];
    uint64_t compared, skipped;
    slwi_near *nearest; /* the nearest first */
    size_t count, wanted;
};

void slwi_side_init(slwi_side *side, const slw_allocator *allocator);
void slwi_side_free(slwi_side *side);
/* Reads the two documents of a slot that was found good. INVALID_ENTRY: other bytes than its manifest says.
   INVALID_METADATA: it has no slipway.json of ours. STORAGE, NO_MEMORY. */
slw_code slwi_side_read(slwi_side *side, const slw_allocator *allocator, const slw_slot_info *slot, slw_error *err);

void slwi_near_free(const slw_allocator *allocator, slwi_near *near);
/* Appends text whose control characters are written out; *at is where it lies. `text.data` NULL: SLWI_NO_TEXT. */
void slwi_near_text(slwi_near *near, slw_bytes text, size_t *at);
/* Everything in which the two sides differ, old first. OK or NO_MEMORY; the caller frees `near` in every case. */
slw_code slwi_compare(const slw_allocator *allocator, const slwi_side *old_side, const slwi_side *new_side,
                      slwi_near *near, slw_error *err);

/* The values of a record's JSON form, for people, at most SLW_LIMIT_DIFFERENCE_BYTES. */
void slwi_explain_text(const slwi_json *record, slwi_buffer *out);
/* The bytes of a string value, or of a name of the file system; 0: it is none. `out` is cleared before. */
int slwi_explain_string(const slwi_json *record, slwi_buffer *out);
int slwi_explain_is(const slwi_json *record, const char *tag);
int slwi_explain_equal(const slwi_json *a, const slwi_json *b);

#endif
