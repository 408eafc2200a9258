/* Attacks slwi_memo_load and the table behind it: slw_memo_open, slwi_memo_get_file, slwi_memo_get_answer, slw_memo_close,
 * with a file in memory. Each input is run as it is and with its checksums made right, so that what lies behind them is
 * reached as well. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "identity_mix.h"
#include "memo.h"
#include "memo_table.h"

#define MEMO_FILE         "/m/identity.memo"
#define HEADER_BYTES      72u
#define PLACE_BYTES       sizeof(slwi_memo_place)
#define RECORD_BYTES      sizeof(slwi_memo_record)
#define ANSWER_HEAD_BYTES 56u

/* Where memo_file.c has its numbers. A change there makes this target weaker, not wrong. */
enum { PLACES_AT = 24, RECORDS_AT = 32, ANSWERS_BYTES_AT = 48, FILES_CHECK_AT = 56, CHECK_AT = 64 };

static uint64_t number_at(const uint8_t *file, size_t at) {
    uint64_t number = 0;
    memcpy(&number, file + at, sizeof number);
    return number;
}

static void put_number(uint8_t *file, size_t at, uint64_t number) {
    memcpy(file + at, &number, sizeof number);
}

static void repair_answers(uint8_t *file, size_t at, size_t size) {
    while (size - at >= ANSWER_HEAD_BYTES) {
        const uint64_t length = number_at(file, at + 40) % (size - at - ANSWER_HEAD_BYTES + 1);
        put_number(file, at + 40, length);
        put_number(file, at + 48, slwi_mix(slwi_mix(0, file + at, 48), file + at + ANSWER_HEAD_BYTES, (size_t)length));
        at += ANSWER_HEAD_BYTES + (size_t)length;
    }
}

/* Records keep the places they name, which may not be there: that is for the reader to see. */
static void repair(uint8_t *file, size_t size) {
    const uint32_t version = 2, record_bytes = RECORD_BYTES;
    if (size < HEADER_BYTES) return;
    memcpy(file, "slipway memo\n\0\0", 16);
    memcpy(file + 16, &version, 4);
    memcpy(file + 20, &record_bytes, 4);
    const uint64_t places = number_at(file, PLACES_AT) % ((size - HEADER_BYTES) / PLACE_BYTES + 1);
    const size_t records_at = HEADER_BYTES + (size_t)places * PLACE_BYTES;
    const uint64_t records = number_at(file, RECORDS_AT) % ((size - records_at) / RECORD_BYTES + 1);
    const size_t answers_at = records_at + (size_t)records * RECORD_BYTES;
    put_number(file, PLACES_AT, places);
    put_number(file, RECORDS_AT, records);
    put_number(file, ANSWERS_BYTES_AT, size - answers_at);
    put_number(file, FILES_CHECK_AT,
               slwi_mix(slwi_mix(0, file + HEADER_BYTES, records_at - HEADER_BYTES), file + records_at,
                        answers_at - records_at));
    put_number(file, CHECK_AT, slwi_mix(0, file, CHECK_AT));
    repair_answers(file, answers_at, size);
}

/* Asks for what the first records and the first answer may be about. */
static void ask(slw_memo *memo, const uint8_t *file, size_t size) {
    slwi_memo_place place;
    memset(&place, 0, sizeof place);
    if (size >= HEADER_BYTES + PLACE_BYTES) memcpy(&place, file + HEADER_BYTES, sizeof place);
    for (size_t at = HEADER_BYTES, i = 0; i < 16 && size >= at + RECORD_BYTES; at += 24, i++) {
        slwi_memo_record record;
        memcpy(&record, file + at, sizeof record);
        slwi_stat stat;
        memset(&stat, 0, sizeof stat);
        stat.dev = place.dev;
        stat.ino = record.ino;
        stat.size = record.size;
        stat.mtime_ns = record.mtime_ns;
        stat.ctime_ns = record.ctime_ns;
        slwi_volume volume;
        memset(&volume, 0, sizeof volume);
        volume.dev = place.dev;
        volume.mount_id = place.mount_id;
        volume.fs.id = place.fs_id;
        volume.fs.type = place.fs_type;
        volume.fs.memo_allowed = 1;
        slw_digest digest;
        (void)slwi_memo_get_file(memo, &stat, &volume, &digest);
    }
    for (size_t at = HEADER_BYTES; at + sizeof(slw_digest) <= size && at < HEADER_BYTES + 4 * RECORD_BYTES; at += 8) {
        slw_digest key;
        slw_text text = SLW_TEXT_INIT;
        memcpy(&key, file + at, sizeof key);
        const slw_code rc = slwi_memo_get_answer(memo, &key, &text, NULL);
        FUZZ_REQUIRE(rc == SLW_OK || rc == SLW_E_MISS || rc == SLW_E_NO_MEMORY);
        FUZZ_REQUIRE((rc == SLW_OK) == (text.data != NULL));
        if (rc == SLW_OK) FUZZ_REQUIRE(text.data[text.size] == '\0');
        slw_text_release(&text);
    }
}

static const slw_digest our_key = {{1, 2, 3}};

/* 1 when the memo tells the answer this target gives it. */
static int knows_answer(slw_memo *memo) {
    slw_text text = SLW_TEXT_INIT;
    const slw_code rc = slwi_memo_get_answer(memo, &our_key, &text, NULL);
    /* Another one under our key came with the file, and there was no memory for ours. */
    const int ours = rc == SLW_OK && text.size == 6 && memcmp(text.data, "answer", 6) == 0;
    slw_text_release(&text);
    return ours;
}

/* *kept: the memo took our answer, so closing has it to write. */
static slw_code open_ask_close(const slw_allocator *allocator, const uint8_t *file, size_t size, int *kept) {
    slw_memo_options options = SLW_MEMO_OPTIONS_INIT;
    slw_memo *memo = NULL;
    slw_error err = SLW_ERROR_INIT;
    options.allocator = *allocator;
    options.directory = "/m";
    const slw_code rc = slw_memo_open(&options, &memo, &err);
    FUZZ_REQUIRE((rc == SLW_OK) == (memo != NULL));
    if (rc != SLW_OK) {
        FUZZ_REQUIRE(rc == SLW_E_NO_MEMORY); /* damage is never an error */
        return rc;
    }
    ask(memo, file, size);
    slwi_memo_put_answer(memo, &our_key, (slw_bytes){"answer", 6}); /* so that closing writes */
    *kept = knows_answer(memo);
    slw_memo_close(&memo);
    return rc;
}

static slw_code once(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    const fuzz_file files[] = {{MEMO_FILE, data, size}, {"/m/other", data, 0}};
    fuzz_os_begin(files, 2);
    int kept = 0;
    const slw_code rc = open_ask_close(allocator, data, size, &kept);
    const fuzz_file written = fuzz_os_file(MEMO_FILE);
    if (rc == SLW_OK && kept && written.data != data && written.size > 0) {
        /* What we write ourselves is taken again, with the answer in it. */
        slw_memo_options options = SLW_MEMO_OPTIONS_INIT;
        slw_memo *memo = NULL;
        options.directory = "/m";
        options.read_only = 1;
        FUZZ_REQUIRE(slw_memo_open(&options, &memo, NULL) == SLW_OK);
        FUZZ_REQUIRE(knows_answer(memo));
        slw_memo_close(&memo);
    }
    fuzz_os_end();
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    (void)fuzz_with_fault(once, data, size);
    uint8_t *copy = malloc(size == 0 ? 1 : size);
    FUZZ_REQUIRE(copy != NULL);
    if (size > 0) memcpy(copy, data, size);
    repair(copy, size);
    (void)fuzz_with_fault(once, copy, size);
    free(copy);
    return 0;
}
