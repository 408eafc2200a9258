#include "memo_table.h"

#include <string.h>

#include "identity_mix.h"
#include "memo.h"
#include "memory.h"

_Static_assert(sizeof(slwi_memo_place) == 48, "no padding");
_Static_assert(sizeof(slwi_memo_record) == 72, "no padding");

void slwi_memo_table_init(slwi_memo_table *table, const slw_allocator *allocator) {
    memset(table, 0, sizeof *table);
    table->allocator = *allocator;
}

void slwi_memo_table_clear(slwi_memo_table *table) {
    slwi_free(&table->allocator, table->places);
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

static int is_place(const slwi_memo_table *table, size_t number, const slwi_memo_place *place) {
    return memcmp(&table->places[number], place, sizeof *place) == 0;
}

/* The number of a place; place_count: it is not there. */
static size_t number_of(const slwi_memo_table *table, const slwi_memo_place *place) {
    if (table->place < table->place_count && is_place(table, table->place, place)) return table->place;
    size_t number = 0;
    while (number < table->place_count && !is_place(table, number, place)) number++;
    return number;
}

/* The slot where a record stands or would stand. There is always an empty one. */
static uint32_t *slot_of(const slwi_memo_table *table, size_t place, uint64_t ino) {
    size_t at = (size_t)slwi_mix_word(slwi_mix_word(0, place + 1), ino) & (table->index_size - 1);
    for (; table->index[at] != 0; at = (at + 1) & (table->index_size - 1)) {
        const slwi_memo_record *there = &table->records[table->index[at] - 1];
        if (there->ino == ino && there->place == place) break;
    }
    return &table->index[at];
}

static void fill_index(slwi_memo_table *table) {
    memset(table->index, 0, table->index_size * sizeof *table->index);
    for (size_t i = 0; i < table->count; i++) {
        *slot_of(table, table->records[i].place, table->records[i].ino) = (uint32_t)(i + 1);
    }
    table->next = 0;
}

/* Makes the index anew for at least `room` records. 0: no memory. */
static int build_index(slwi_memo_table *table, size_t room) {
    size_t size = 256;
    while (size < room * 2) size *= 2;
    uint32_t *index = slwi_alloc_array(&table->allocator, size, sizeof *index);
    if (index == NULL) return 0;
    slwi_free(&table->allocator, table->index);
    table->index = index;
    table->index_size = size;
    fill_index(table);
    return 1;
}

static slwi_memo_record *find(slwi_memo_table *table, size_t place, uint64_t ino) {
    if (table->next < table->count) {
        slwi_memo_record *record = &table->records[table->next];
        if (record->ino == ino && record->place == place) {
            table->next++;
            return record;
        }
    }
    if (table->count == 0 || (table->index == NULL && !build_index(table, table->count + 1))) return NULL;
    const uint32_t at = *slot_of(table, place, ino);
    if (at == 0) return NULL;
    table->next = at;
    return &table->records[at - 1];
}

slwi_memo_record *slwi_memo_table_find(slwi_memo_table *table, const slwi_memo_place *place, uint64_t ino) {
    const size_t number = number_of(table, place);
    table->place = number;
    return number == table->place_count ? NULL : find(table, number, ino);
}

/* ---- what is dropped --------------------------------------------------------------------------------------------- */

static size_t count_not_after(const slwi_memo_table *table, uint64_t used_s) {
    size_t n = 0;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a count means records */
    for (size_t i = 0; i < table->count; i++) n += table->records[i].used_s <= used_s;
    return n;
}

/* The first time with more than `quota` records at or before it, found by halving: no memory. */
static uint32_t time_past(const slwi_memo_table *table, size_t quota) {
    uint32_t low = 0, high = UINT32_MAX;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (count_not_after(table, middle) > quota) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static void drop_oldest(slwi_memo_table *table, size_t quota) {
    const uint32_t past = time_past(table, quota);
    size_t of_that_time = quota - (past == 0 ? 0 : count_not_after(table, past - 1)); /* the first in the array */
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++) {
        const slwi_memo_record *record = &table->records[i];
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a count means records */
        if (record->used_s < past) continue;
        if (record->used_s == past && of_that_time > 0) {
            of_that_time--;
            continue;
        }
        if (kept != i) table->records[kept] = *record;
        kept++;
    }
    table->count = kept;
    fill_index(table);
}

static size_t oldest_place(const slwi_memo_table *table, uint32_t *out_used_s) {
    uint32_t used_s[SLWI_MEMO_PLACES_MAX] = {0};
    size_t oldest = 0;
    for (size_t i = 0; i < table->count; i++) {
        const slwi_memo_record *record = &table->records[i];
        if (used_s[record->place] < record->used_s) used_s[record->place] = record->used_s;
    }
    for (size_t i = 1; i < table->place_count; i++) {
        if (used_s[i] < used_s[oldest]) oldest = i;
    }
    *out_used_s = used_s[oldest];
    return oldest;
}

/* The last place gets its number. */
static void drop_place(slwi_memo_table *table, size_t number) {
    const size_t last = --table->place_count;
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++) {
        slwi_memo_record record = table->records[i];
        if (record.place == number) continue;
        if (record.place == last) record.place = (uint32_t)number;
        table->records[kept++] = record;
    }
    table->places[number] = table->places[last];
    table->count = kept;
    fill_index(table);
}

/* ---- putting ----------------------------------------------------------------------------------------------------- */

/* 0: no memory. */
static int add_place(slwi_memo_table *table, const slwi_memo_place *place) {
    uint32_t used_s = 0;
    if (table->place_count >= SLWI_MEMO_PLACES_MAX) drop_place(table, oldest_place(table, &used_s));
    slwi_memo_place *grown =
        slwi_realloc_array(&table->allocator, table->places, table->place_count + 1, sizeof *grown);
    if (grown == NULL) return 0;
    table->places = grown;
    table->places[table->place_count++] = *place;
    return 1;
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

int slwi_memo_table_welcomes(const slwi_memo_table *table, const slwi_memo_place *place, uint32_t used_s) {
    uint32_t oldest_s = 0;
    if (table->place_count < SLWI_MEMO_PLACES_MAX || number_of(table, place) < table->place_count) return 1;
    (void)oldest_place(table, &oldest_s);
    return oldest_s < used_s;
}

int slwi_memo_table_put(slwi_memo_table *table, const slwi_memo_place *place, const slwi_memo_record *record) {
    if (table->index == NULL && !build_index(table, table->count + 1)) return 0;
    size_t number = number_of(table, place);
    if (number == table->place_count) {
        if (!add_place(table, place)) return 0;
        number = table->place_count - 1;
    }
    table->place = number;
    slwi_memo_record *there = find(table, number, record->ino);
    if (there == NULL) {
        if (!make_room(table)) return 0;
        there = &table->records[table->count++];
        *slot_of(table, number, record->ino) = (uint32_t)table->count;
    }
    *there = *record; /* NOLINT(clang-analyzer-core.NullDereference): make_room made it */
    there->place = (uint32_t)number;
    return 1;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

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
