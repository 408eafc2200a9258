/* What a memo holds, in memory: records of files in one array with an index, answers in a list. For memo*.c alone. */
#ifndef SLWI_MEMO_TABLE_H
#define SLWI_MEMO_TABLE_H

#include <slipway/bytes.h>

/* Both as they lie in the file, in the machine's own byte order: a memo does not leave its machine. No padding. */

/* Where files lie: a device, as this mount of this file system, in one boot. The same number in another place is
   another file. */
typedef struct slwi_memo_place {
    uint64_t dev, mount_id, fs_id, fs_type;
    uint8_t boot[16];
} slwi_memo_place;

typedef struct slwi_memo_record {
    uint64_t ino, size;
    int64_t mtime_ns, ctime_ns;
    uint32_t place;  /* its number in the table */
    uint32_t used_s; /* wall clock, since 1970; only to choose what is dropped */
    slw_digest sha256;
} slwi_memo_record;

typedef struct slwi_memo_answer {
    struct slwi_memo_answer *next; /* newest first */
    slw_digest key;
    int64_t used_ns;
    size_t size;
    unsigned char bytes[];
} slwi_memo_answer;

typedef struct slwi_memo_table {
    slw_allocator allocator;
    slwi_memo_place *places;
    size_t place_count;
    size_t place; /* the one asked for last */
    slwi_memo_record *records;
    size_t count, capacity;
    uint32_t *index; /* open addressing; 0 empty, else 1 + the number of a record; NULL until one is looked for by it */
    size_t index_size;
    size_t next; /* the record behind the one found last: files are mostly asked for in the order they were put down */
    slwi_memo_answer *answers;
    size_t answer_count;
} slwi_memo_table;

void slwi_memo_table_init(slwi_memo_table *table, const slw_allocator *allocator);
void slwi_memo_table_clear(slwi_memo_table *table);

/* The record of this file, whatever its times; NULL: none, or no memory to look for it. */
slwi_memo_record *slwi_memo_table_find(slwi_memo_table *table, const slwi_memo_place *place, uint64_t ino);
/* Whether a place that was last used then is worth a put: it is there, there is room for it, or another, whose room it
   takes, was unused longer. A put itself does not ask. */
int slwi_memo_table_welcomes(const slwi_memo_table *table, const slwi_memo_place *place, uint32_t used_s);
/* Adds or replaces; record->place is set here. When there are too many records, the quarter that was unused longest is
   dropped; when too many places, the one unused longest, with its records. 0: no memory. */
int slwi_memo_table_put(slwi_memo_table *table, const slwi_memo_place *place, const slwi_memo_record *record);

slwi_memo_answer *slwi_memo_table_answer(const slwi_memo_table *table, const slw_digest *key);
/* An answer whose bytes are still to be filled in, by the table's allocator; NULL: no memory. */
slwi_memo_answer *slwi_memo_answer_make(const slwi_memo_table *table, const slw_digest *key, int64_t used_ns,
                                        size_t size);
/* Adds or replaces; the answer is the table's from then on. When there are too many, the one unused longest goes. */
void slwi_memo_table_take_answer(slwi_memo_table *table, slwi_memo_answer *answer);
/* Both at once, with a copy of the bytes. 0: too long, or no memory. */
int slwi_memo_table_put_answer(slwi_memo_table *table, const slw_digest *key, int64_t used_ns, slw_bytes bytes);

#endif
