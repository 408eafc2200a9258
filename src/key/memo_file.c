/* The memo's file: a header, places and records of fixed size, answers. Written whole through a temporary name;
 * whatever does not fit its checks is dropped as a whole, for a memo that is partly wrong is worse than none
 * (pitfall 8). */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "file.h"
#include "identity_mix.h"
#include "memo_state.h"
#include "memory.h"

#define MAGIC             "slipway memo\n\0\0"
#define VERSION           2u
#define ANSWERS_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define LOCK_TRIES        50
#define LOCK_PAUSE_NS     UINT64_C(4000000)

typedef struct header {
    char magic[16];
    uint32_t version;
    uint32_t record_size;
    uint64_t place_count;
    uint64_t record_count;
    uint64_t answer_count;
    uint64_t answers_size;
    uint64_t files_check; /* of the places and the records */
    uint64_t check;       /* of all before it */
} header;
_Static_assert(sizeof(header) == 72 && sizeof(MAGIC) == 16, "the header has no padding");

typedef struct answer_head {
    slw_digest key;
    int64_t used_ns;
    uint64_t size;
    uint64_t check; /* of all before it and the bytes */
} answer_head;
_Static_assert(sizeof(answer_head) == 56, "no padding");

static uint64_t answer_check(const answer_head *head, const void *bytes) {
    return slwi_mix(slwi_mix(0, head, offsetof(answer_head, check)), bytes, (size_t)head->size);
}

static uint64_t places_size(const header *head) {
    return head->place_count * sizeof(slwi_memo_place);
}

static uint64_t records_size(const header *head) {
    return head->record_count * sizeof(slwi_memo_record);
}

/* 1 when the header belongs to a file of this size. */
static int header_fits(const header *head, uint64_t file_size) {
    return memcmp(head->magic, MAGIC, sizeof head->magic) == 0 && head->version == VERSION &&
           head->record_size == sizeof(slwi_memo_record) && head->check == slwi_mix(0, head, offsetof(header, check)) &&
           head->place_count <= SLWI_MEMO_PLACES_MAX && head->record_count <= SLWI_MEMO_RECORDS_MAX &&
           head->answer_count <= SLWI_MEMO_ANSWERS_MAX && head->answers_size <= ANSWERS_BYTES_MAX &&
           file_size == sizeof *head + places_size(head) + records_size(head) + head->answers_size;
}

static uint64_t files_check(const slwi_memo_table *table) {
    const uint64_t places = slwi_mix(0, table->places, table->place_count * sizeof *table->places);
    return slwi_mix(places, table->records, table->count * sizeof *table->records);
}

static int places_exist(const slwi_memo_table *table) {
    uint32_t highest = 0;
    for (size_t i = 0; i < table->count; i++) {
        if (table->records[i].place > highest) highest = table->records[i].place;
    }
    return table->count == 0 || highest < table->place_count;
}

/* Of an empty table. 0, -ENOMEM, or another for damage; the table may then hold anything, but owns it. */
static int load_files(const slwi_os *os, int fd, const header *head, slwi_memo_table *table) {
    table->places = slwi_alloc(&table->allocator, (size_t)places_size(head));
    table->records = slwi_alloc(&table->allocator, (size_t)records_size(head));
    if (table->places == NULL || table->records == NULL) return -ENOMEM;
    int r = slwi_pread_all(os, fd, table->places, (size_t)places_size(head), sizeof *head);
    if (r == 0)
        r = slwi_pread_all(os, fd, table->records, (size_t)records_size(head), sizeof *head + places_size(head));
    table->place_count = (size_t)head->place_count;
    table->count = table->capacity = (size_t)head->record_count;
    return r == 0 && (files_check(table) != head->files_check || !places_exist(table)) ? -EINVAL : r;
}

/* Reads the answer at *at and steps over it; `end` is that of the answers. As load_files. */
static int load_answer(const slwi_os *os, int fd, uint64_t *at, uint64_t end, slwi_memo_table *table) {
    answer_head head;
    if (end - *at < sizeof head) return -EINVAL;
    int r = slwi_pread_all(os, fd, &head, sizeof head, *at);
    if (r != 0) return r;
    *at += sizeof head;
    if (head.size > end - *at || head.size > SLWI_MEMO_ANSWER_BYTES_MAX) return -EINVAL;
    slwi_memo_answer *answer = slwi_memo_answer_make(table, &head.key, head.used_ns, (size_t)head.size);
    if (answer == NULL) return -ENOMEM;
    r = slwi_pread_all(os, fd, answer->bytes, answer->size, *at);
    if (r == 0 && head.check != answer_check(&head, answer->bytes)) r = -EINVAL;
    *at += head.size;
    if (r != 0) {
        slwi_free(&table->allocator, answer);
        return r;
    }
    slwi_memo_table_take_answer(table, answer);
    return 0;
}

static int load_answers(const slwi_os *os, int fd, const header *head, slwi_memo_table *table) {
    uint64_t at = sizeof *head + places_size(head) + records_size(head);
    const uint64_t end = at + head->answers_size;
    int r = 0;
    for (uint64_t i = 0; r == 0 && i < head->answer_count; i++) r = load_answer(os, fd, &at, end, table);
    return r == 0 && at != end ? -EINVAL : r;
}

int slwi_memo_load(const slw_memo *memo, slwi_memo_table *table, slwi_stat *out) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    memset(out, 0, sizeof *out);
    if (memo->directory_fd < 0) return 0;
    const int fd = slwi_open_regular(os, memo->directory_fd, SLWI_MEMO_FILE_NAME, 0, &stat);
    if (fd < 0) return fd == -ENOMEM ? fd : 0;
    header head;
    int r = -EINVAL;
    if (stat.uid == os->euid(os) && (stat.mode & 022) == 0 && stat.nlink == 1) {
        r = slwi_pread_all(os, fd, &head, sizeof head, 0);
        if (r == 0 && !header_fits(&head, stat.size)) r = -EINVAL;
        if (r == 0) r = load_files(os, fd, &head, table);
        if (r == 0) r = load_answers(os, fd, &head, table);
    }
    (void)os->close(os, fd);
    if (r != 0) slwi_memo_table_clear(table);
    if (r == -ENOMEM) return r;
    *out = stat; /* also of a damaged file: it is then not loaded again when saving, unless somebody replaced it */
    return 0;
}

/* Place by place, or two that are old would drop each other by turns. */
static int join_place(slwi_memo_table *joined, const slwi_memo_table *ours, uint32_t place) {
    uint32_t newest_s = 0;
    for (size_t i = 0; i < ours->count; i++) {
        const slwi_memo_record *record = &ours->records[i];
        if (record->place == place && record->used_s > newest_s) newest_s = record->used_s;
    }
    if (!slwi_memo_table_welcomes(joined, &ours->places[place], newest_s)) return 0;
    for (size_t i = 0; i < ours->count; i++) {
        const slwi_memo_record *record = &ours->records[i];
        if (record->place == place && !slwi_memo_table_put(joined, &ours->places[place], record)) return -ENOMEM;
    }
    return 0;
}

/* Brings in what another process has written since our file was loaded; ours is the newer where both know a file. */
static int join_others(const slw_memo *memo, slwi_memo_table *joined, slwi_stat *now) {
    int r = slwi_memo_load(memo, joined, now);
    for (uint32_t i = 0; r == 0 && i < memo->table.place_count; i++) r = join_place(joined, &memo->table, i);
    for (const slwi_memo_answer *answer = memo->table.answers; r == 0 && answer != NULL; answer = answer->next) {
        const slw_bytes bytes = {answer->bytes, answer->size};
        if (!slwi_memo_table_put_answer(joined, &answer->key, answer->used_ns, bytes)) r = -ENOMEM;
    }
    return r;
}

static void put_answers(const slwi_memo_table *table, slwi_buffer *out, uint64_t *count) {
    *count = 0;
    for (const slwi_memo_answer *answer = table->answers; answer != NULL; answer = answer->next) {
        answer_head head;
        memset(&head, 0, sizeof head);
        head.key = answer->key;
        head.used_ns = answer->used_ns;
        head.size = answer->size;
        head.check = answer_check(&head, answer->bytes);
        if (out->size + sizeof head + answer->size > ANSWERS_BYTES_MAX) return;
        slwi_buffer_append(out, &head, sizeof head);
        slwi_buffer_append(out, answer->bytes, answer->size);
        (*count)++;
    }
}

/* 0 or -errno. Nothing is synced: after a cut the checks find what is missing. */
static int write_file(const slwi_os *os, int directory, const char *name, slwi_memo_table *table) {
    slwi_buffer answers;
    header head;
    memset(&head, 0, sizeof head);
    slwi_buffer_init(&answers, &table->allocator, SIZE_MAX);
    memcpy(head.magic, MAGIC, sizeof head.magic);
    head.version = VERSION;
    head.record_size = sizeof(slwi_memo_record);
    head.place_count = table->place_count;
    head.record_count = table->count;
    head.files_check = files_check(table);
    put_answers(table, &answers, &head.answer_count);
    head.answers_size = answers.size;
    head.check = slwi_mix(0, &head, offsetof(header, check));
    int r = answers.failed != 0 ? -ENOMEM : 0;
    const int fd = r != 0 ? r : os->openat(os, directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        r = slwi_write_all(os, fd, &head, sizeof head);
        if (r == 0) r = slwi_write_all(os, fd, table->places, (size_t)places_size(&head));
        if (r == 0) r = slwi_write_all(os, fd, table->records, (size_t)records_size(&head));
        if (r == 0 && answers.size > 0) r = slwi_write_all(os, fd, answers.data, answers.size);
        const int closed = os->close(os, fd);
        if (r == 0) r = closed;
    }
    slwi_buffer_free(&answers);
    return fd < 0 ? fd : r;
}

/* The lock only keeps two savers from losing each other's records; where it cannot be had, one of them may. */
static int lock_directory(const slwi_os *os, const slw_memo *memo) {
    const int fd =
        os->openat(os, memo->directory_fd, SLWI_MEMO_LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
    for (int tries = 0; fd >= 0 && tries < LOCK_TRIES; tries++) {
        if (os->lock(os, fd) != -EWOULDBLOCK) break;
        os->sleep_ns(os, LOCK_PAUSE_NS);
    }
    return fd;
}

/* "identity.tmp." and 16 digits that nobody else has. */
static int temporary_name(const slwi_os *os, char out[32]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char noise[8];
    if (os->random(os, noise, sizeof noise) != 0) return 0;
    memcpy(out, "identity.tmp.", 13);
    for (size_t i = 0; i < sizeof noise; i++) {
        out[13 + 2 * i] = digits[noise[i] >> 4];
        out[14 + 2 * i] = digits[noise[i] & 15];
    }
    out[29] = 0;
    return 1;
}

void slwi_memo_save(slw_memo *memo) {
    const slwi_os *os = slwi_os_get();
    char name[32];
    slwi_memo_table joined;
    slwi_stat now;
    if (memo->directory_fd < 0 || memo->read_only || !memo->dirty || !temporary_name(os, name)) return;
    const int lock = lock_directory(os, memo);
    slwi_memo_table_init(&joined, &memo->allocator);
    slwi_memo_table *table = &memo->table;
    int r = os->fstatat(os, memo->directory_fd, SLWI_MEMO_FILE_NAME, 0, &now);
    if (r == 0 && !slwi_unchanged(&now, &memo->loaded)) {
        r = join_others(memo, &joined, &now);
        table = &joined;
    }
    if (r == 0 || r == -ENOENT) r = write_file(os, memo->directory_fd, name, table);
    if (r == 0) r = os->rename(os, memo->directory_fd, name, memo->directory_fd, SLWI_MEMO_FILE_NAME);
    if (r != 0) (void)os->unlinkat(os, memo->directory_fd, name, 0);
    slwi_memo_table_clear(&joined);
    if (lock >= 0) (void)os->close(os, lock);
    memo->dirty = 0;
}
