#include "memo_table.h"

#include <stddef.h>
#include <string.h>

#include "identity_mix.h"
#include "memo.h"
#include "memory.h"

_Static_assert(sizeof(slwi_memo_record) == 128, "a record has no padding and always the same size");

void slwi_memo_table_init(slwi_memo_table *table, const slw_allocator *allocator) {
    memset(table, 0, sizeof *table);
    table->allocator = *allocator;
}

void slwi_memo_table_clear(slwi_memo_table *table) {
    slwi_free(&table->allocator, table->records);
    slwi_free(&table->allocator, table->index);
    while (table->answers != NULL) {
        slwi_memo_answer *next = table->answers->next;
        slwi_free(&table->allocator, table->answers);
        table->answers = next;
    }
    const slw_allocator allocator = table->allocator;
    slwi_memo_table_init(table, &allocator);
}

uint64_t slwi_memo_record_check(const slwi_memo_record *record) {
    return slwi_mix(0, record, offsetof(slwi_memo_record, check));
}

static size_t home_of(const slwi_memo_table *table, const slwi_memo_record *record) {
    uint64_t hash = slwi_mix_word(record->dev, record->ino);
    hash = slwi_mix_word(hash, record->fs_id ^ record->mount_id);
    return (size_t)hash & (table->index_size - 1);
}

static int same_place(const slwi_memo_record *a, const slwi_memo_record *b) {
    return a->ino == b->ino && a->dev == b->dev && a->mount_id == b->mount_id && a->fs_id == b->fs_id &&
           a->fs_type == b->fs_type && memcmp(a->boot, b->boot, sizeof a->boot) == 0;
}

/* The slot where a record stands or would stand. There is always an empty one. */
static uint32_t *slot_of(const slwi_memo_table *table, const slwi_memo_record *record) {
    size_t at = home_of(table, record);
    while (table->index[at] != 0 && !same_place(&table->records[table->index[at] - 1], record)) {
        at = (at + 1) & (table->index_size - 1);
    }
    return &table->index[at];
}

/* Makes the index anew for at least `room` records. Of two records of one file the later stays. 0: no memory. */
static int build_index(slwi_memo_table *table, size_t room) {
    size_t size = 256;
    while (size < room * 2) size *= 2;
    uint32_t *index = slwi_alloc_array(&table->allocator, size, sizeof *index);
    if (index == NULL) return 0;
    memset(index, 0, size * sizeof *index);
    slwi_free(&table->allocator, table->index);
    table->index = index;
    table->index_size = size;
    for (size_t i = 0; i < table->count; i++) *slot_of(table, &table->records[i]) = (uint32_t)(i + 1);
    return 1;
}

void slwi_memo_table_adopt(slwi_memo_table *table, slwi_memo_record *records, size_t count) {
    slwi_free(&table->allocator, table->records);
    slwi_free(&table->allocator, table->index);
    table->records = records;
    table->count = table->capacity = count;
    table->index = NULL;
    table->index_size = 0;
    table->next = 0;
}

slwi_memo_record *slwi_memo_table_find(slwi_memo_table *table, const slwi_memo_record *like) {
    if (table->next < table->count && same_place(&table->records[table->next], like)) {
        return &table->records[table->next++];
    }
    if (table->count == 0 || (table->index == NULL && !build_index(table, table->count + 1))) return NULL;
    const uint32_t at = *slot_of(table, like);
    if (at == 0) return NULL;
    table->next = at;
    return &table->records[at - 1];
}

static size_t count_not_after(const slwi_memo_table *table, int64_t used_ns) {
    size_t n = 0;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a count means records */
    for (size_t i = 0; i < table->count; i++) n += table->records[i].used_ns <= used_ns;
    return n;
}

/* The greatest time with at most `quota` records at or before it, found by halving: no memory, 64 rounds at most. */
static int64_t oldest_until(const slwi_memo_table *table, size_t quota) {
    int64_t low = INT64_MIN, high = INT64_MAX;
    while (low < high) {
        const uint64_t span = (uint64_t)high - (uint64_t)low;
        const int64_t middle = (int64_t)((uint64_t)low + span / 2 + span % 2);
        if (count_not_after(table, middle) <= quota) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

static void drop_oldest(slwi_memo_table *table, size_t quota) {
    const int64_t until = oldest_until(table, quota);
    size_t left = quota - count_not_after(table, until); /* of those with the very next time, the first in the array */
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++) {
        const slwi_memo_record *record = &table->records[i];
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a count means records */
        if (record->used_ns <= until) continue;
        if (left > 0 && record->used_ns == until + 1) {
            left--;
            continue;
        }
        if (kept != i) table->records[kept] = *record;
        kept++;
    }
    table->count = kept;
    table->next = 0;
    memset(table->index, 0, table->index_size * sizeof *table->index);
    for (size_t i = 0; i < kept; i++) *slot_of(table, &table->records[i]) = (uint32_t)(i + 1);
}

static int make_room(slwi_memo_table *table) {
    if (table->count >= SLWI_MEMO_RECORDS_MAX) drop_oldest(table, SLWI_MEMO_RECORDS_MAX / 4);
    if (table->count == table->capacity) {
        size_t wanted = table->capacity < 512 ? 1024 : table->capacity * 2;
        if (wanted > SLWI_MEMO_RECORDS_MAX) wanted = SLWI_MEMO_RECORDS_MAX;
        slwi_memo_record *grown = slwi_realloc_array(&table->allocator, table->records, wanted, sizeof *grown);
        if (grown == NULL) return 0;
        table->records = grown;
        table->capacity = wanted;
    }
    return table->count * 2 + 2 <= table->index_size || build_index(table, table->count * 2 + 2);
}

int slwi_memo_table_put(slwi_memo_table *table, const slwi_memo_record *record) {
    if (table->index == NULL && !build_index(table, table->count + 1)) return 0;
    slwi_memo_record *there = slwi_memo_table_find(table, record);
    if (there != NULL) {
        *there = *record;
        return 1;
    }
    if (!make_room(table)) return 0;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): make_room made it */
    table->records[table->count++] = *record;
    *slot_of(table, record) = (uint32_t)table->count;
    return 1;
}

slwi_memo_answer *slwi_memo_table_answer(const slwi_memo_table *table, const slw_digest *key) {
    slwi_memo_answer *answer = table->answers;
    while (answer != NULL && memcmp(&answer->key, key, sizeof *key) != 0) answer = answer->next;
    return answer;
}

static void remove_answer(slwi_memo_table *table, slwi_memo_answer *answer) {
    slwi_memo_answer **at = &table->answers;
    while (*at != answer) at = &(*at)->next;
    *at = answer->next;
    table->answer_count--;
    slwi_free(&table->allocator, answer);
}

static slwi_memo_answer *oldest_answer(const slwi_memo_table *table) {
    slwi_memo_answer *oldest = table->answers;
    for (slwi_memo_answer *answer = oldest; answer != NULL; answer = answer->next) {
        if (answer->used_ns <= oldest->used_ns) oldest = answer;
    }
    return oldest;
}

slwi_memo_answer *slwi_memo_answer_make(const slwi_memo_table *table, const slw_digest *key, int64_t used_ns,
                                        size_t size) {
    slwi_memo_answer *answer = slwi_alloc(&table->allocator, sizeof *answer + size);
    if (answer == NULL) return NULL;
    answer->key = *key;
    answer->used_ns = used_ns;
    answer->size = size;
    return answer;
}

void slwi_memo_table_take_answer(slwi_memo_table *table, slwi_memo_answer *answer) {
    slwi_memo_answer *there = slwi_memo_table_answer(table, &answer->key);
    if (there == NULL && table->answer_count >= SLWI_MEMO_ANSWERS_MAX) there = oldest_answer(table);
    if (there != NULL) remove_answer(table, there);
    answer->next = table->answers;
    table->answers = answer;
    table->answer_count++;
}

int slwi_memo_table_put_answer(slwi_memo_table *table, const slw_digest *key, int64_t used_ns, slw_bytes bytes) {
    if (bytes.size > SLWI_MEMO_ANSWER_BYTES_MAX) return 0;
    slwi_memo_answer *answer = slwi_memo_answer_make(table, key, used_ns, bytes.size);
    if (answer == NULL) return 0;
    if (bytes.size > 0) memcpy(answer->bytes, bytes.data, bytes.size);
    slwi_memo_table_take_answer(table, answer);
    return 1;
}
