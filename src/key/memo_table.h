/* What a memo holds, in memory: records of files in one array with an index, answers in a list. For memo*.c alone. */
#ifndef SLWI_MEMO_TABLE_H
#define SLWI_MEMO_TABLE_H

#include <slipway/bytes.h>

/* As it lies in the file, in the machine's own byte order: a memo does not leave its machine. No padding. */
typedef struct slwi_memo_record {
    uint64_t dev, ino, size, mount_id, fs_id, fs_type;
    int64_t mtime_ns, ctime_ns;
    int64_t used_ns;  /* wall clock; only to choose what is dropped */
    uint8_t boot[16]; /* of the boot in which it was recorded */
    slw_digest sha256;
    uint64_t check; /* of all before it */
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

/* Takes over `count` records in an array from the table's allocator, in the place of those it has. */
void slwi_memo_table_adopt(slwi_memo_table *table, slwi_memo_record *records, size_t count);
/* The record of the same file (dev, ino, mount, file system, boot), whatever its times; NULL: none, or no memory to look
   for it. */
slwi_memo_record *slwi_memo_table_find(slwi_memo_table *table, const slwi_memo_record *like);
/* Adds or replaces; drops the quarter that was unused longest when SLWI_MEMO_RECORDS_MAX is reached. 0: no memory. */
int slwi_memo_table_put(slwi_memo_table *table, const slwi_memo_record *record);

slwi_memo_answer *slwi_memo_table_answer(const slwi_memo_table *table, const slw_digest *key);
/* An answer whose bytes are still to be filled in, by the table's allocator; NULL: no memory. */
slwi_memo_answer *slwi_memo_answer_make(const slwi_memo_table *table, const slw_digest *key, int64_t used_ns,
                                        size_t size);
/* Adds or replaces; the answer is the table's from then on. The one unused longest gives way when there are too many. */
void slwi_memo_table_take_answer(slwi_memo_table *table, slwi_memo_answer *answer);
/* Both at once, with a copy of the bytes. 0: too long, or no memory. */
int slwi_memo_table_put_answer(slwi_memo_table *table, const slw_digest *key, int64_t used_ns, slw_bytes bytes);

uint64_t slwi_memo_record_check(const slwi_memo_record *record);

#endif
