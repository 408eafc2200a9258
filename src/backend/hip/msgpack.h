/* MessagePack, as the notes of amdgcn code objects use it: a bounded pull reader over borrowed bytes.
 * slwi_msgpack_check proves a whole document once; what it accepted is then walked by _next and _skip, which never
 * leave the bytes. */
#ifndef SLWI_MSGPACK_H
#define SLWI_MSGPACK_H

#include <slipway/bytes.h>

typedef enum slwi_msgpack_kind {
    SLWI_MSGPACK_NIL,
    SLWI_MSGPACK_BOOL,
    SLWI_MSGPACK_UNSIGNED, /* any integer that is not negative, however it is written */
    SLWI_MSGPACK_NEGATIVE,
    SLWI_MSGPACK_FLOAT,
    SLWI_MSGPACK_STRING,
    SLWI_MSGPACK_BINARY,
    SLWI_MSGPACK_EXTENSION,
    SLWI_MSGPACK_ARRAY,
    SLWI_MSGPACK_MAP
} slwi_msgpack_kind;

typedef struct slwi_msgpack_item {
    slwi_msgpack_kind kind;
    uint64_t at;     /* where it starts in the document */
    uint64_t number; /* UNSIGNED, BOOL; bits of NEGATIVE (two's complement) and FLOAT (as written) */
    slw_bytes text;  /* STRING, BINARY, EXTENSION: borrowed, without the type byte of an extension */
    uint32_t count;  /* ARRAY: items; MAP: pairs */
} slwi_msgpack_item;

typedef enum slwi_msgpack_step {
    SLWI_MSGPACK_OK = 0,
    SLWI_MSGPACK_SHORT, /* the document ends inside the item */
    SLWI_MSGPACK_BAD    /* the byte 0xc1, which starts nothing */
} slwi_msgpack_step;

/* The item at *at: a scalar whole, of a container only its head. Moves *at behind it; on failure nothing is changed. */
slwi_msgpack_step slwi_msgpack_next(slw_bytes document, uint64_t *at, slwi_msgpack_item *out);

/* Moves *at behind the item there and all it holds. Without recursion. */
slwi_msgpack_step slwi_msgpack_skip(slw_bytes document, uint64_t *at);

/* The whole document is one item with nothing behind it; containers nest at most SLW_LIMIT_MSGPACK_DEPTH deep and hold
   no more than there are bytes left; keys are strings and stand once in their map. INVALID_BINARY with BAD_MSGPACK, or
   DUPLICATE with the key as subject; LIMIT; NO_MEMORY. `base` is the document's offset in the file `name`, for errors.
   Cost: linear, as the keys of one map are few (SLW_LIMIT_MSGPACK_KEYS); 16 bytes of memory a key of the maps that
   are open at a time. */
slw_code slwi_msgpack_check(const slw_allocator *allocator, slw_bytes document, uint64_t base, const char *name,
                            slw_error *err);

/* 1 where the item is a string of exactly that text. */
int slwi_msgpack_is(const slwi_msgpack_item *item, const char *text);

#endif
