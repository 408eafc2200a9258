/* The nodes of a typed record, for record*.c alone. */
#ifndef SLWI_RECORD_NODE_H
#define SLWI_RECORD_NODE_H

#include <slipway/limits.h>
#include <slipway/record.h>

#include "memory.h"

#define SLWI_RECORD_TAG 0x524c5753u /* "SWLR" */

typedef enum slwi_record_kind {
    SLWI_RECORD_NONE,
    SLWI_RECORD_BOOL,
    SLWI_RECORD_INT,
    SLWI_RECORD_FLOAT,
    SLWI_RECORD_STRING,
    SLWI_RECORD_BYTES,
    SLWI_RECORD_LIST,
    SLWI_RECORD_TUPLE,
    SLWI_RECORD_DICT
} slwi_record_kind;

struct slw_record {
    uint32_t tag;
    uint16_t kind;
    uint16_t height; /* 1 for a leaf or an empty container */
    slw_record *parent; /* not NULL: owned by it, and neither moved nor changed any more */
    slw_allocator allocator;
    union {
        uint64_t bits; /* bool: 0 or 1; float */
        struct {
            size_t size; /* int: decimal digits; string: WTF-8; bytes. They lie in `text` */
        } text;
        struct {
            slw_record **items; /* of a dict: name, value, name, value, … sorted by name, names are string records */
            size_t count;
            size_t capacity;
        } list;
    } as;
    unsigned char text[]; /* with a NUL behind it */
};

int slwi_record_is_container(const slw_record *record);
slw_bytes slwi_record_text(const slw_record *record);

/* A leaf with text, or (data NULL, size 0) anything without. The allocator has been taken. NULL: no memory. */
slw_record *slwi_record_node(const slw_allocator *allocator, slwi_record_kind kind, const void *data, size_t size);
/* Room for `more` items. 0: no memory. */
int slwi_record_reserve(slw_record *container, size_t more);
/* Puts an unowned record behind the last item; room was reserved. */
void slwi_record_push(slw_record *container, slw_record *item);
/* Sorts a dict that was pushed in any order by name; 1, or 0 and *duplicate, one of two equal names. */
int slwi_record_dict_sort(slw_record *dict, const slw_record **duplicate);

int slwi_record_decimal_ok(slw_bytes decimal);
int slwi_record_wtf8_ok(slw_bytes text);

#endif
