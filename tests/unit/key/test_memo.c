/* The memo as an object: what it keeps, for whom, and how much. Its rules of safety are in test_pitfall_06_08_memo. */
#include "memo_kit.h"

#include <pthread.h>
#include <stdio.h>

#include "memo_table.h"

START_TEST(a_second_process_reads_nothing) {
    const char *place = memo_place(), *tree = slt_scratch();
    memo_fake();
    kit_put(tree, "a", "one more than a byte");
    kit_put(tree, "b", "");
    const memo_count first = memo_run(place, tree);
    ck_assert_uint_eq(first.read, 2);
    ck_assert_uint_eq(first.known, 0);
    const memo_count second = memo_run(place, tree);
    ck_assert_uint_eq(second.read, 0);
    ck_assert_uint_eq(second.known, 2);
    ck_assert(kit_same(&first.digest, &second.digest));
    struct stat stat_of;
    ck_assert_int_eq(stat(place, &stat_of), 0);
    ck_assert_int_eq(stat_of.st_mode & 07777, 0700);
    ck_assert_int_eq(stat(slt_path(place, "identity.memo", NULL), &stat_of), 0);
    ck_assert_int_eq(stat_of.st_mode & 07777, 0600);
    slt_shell("test \"$(ls %s | grep -c tmp)\" = 0", place);
}
END_TEST

START_TEST(an_edit_is_read_again) {
    const char *place = memo_place(), *tree = slt_scratch();
    memo_fake();
    kit_put(tree, "a", "one");
    const memo_count first = memo_run(place, tree);
    (void)usleep(30000); /* past a tick: the kit has put the age rule aside */
    kit_put(tree, "a", "two");
    const memo_count second = memo_run(place, tree);
    ck_assert_uint_eq(second.read, 1);
    ck_assert(!kit_same(&first.digest, &second.digest));
    const memo_count third = memo_run(place, tree);
    ck_assert_uint_eq(third.known, 1);
    ck_assert(kit_same(&second.digest, &third.digest));
}
END_TEST

START_TEST(the_content_policy_asks_no_memo) {
    const char *place = memo_place(), *tree = slt_scratch();
    memo_fake();
    kit_put(tree, "a", "one");
    (void)memo_run(place, tree);
    slw_memo *memo = memo_open(place, 0);
    const memo_count read = memo_ask(memo, SLW_IDENTITY_CONTENT, tree);
    ck_assert_uint_eq(read.read, 1);
    ck_assert_uint_eq(read.known, 0);
    const memo_count known = memo_ask(memo, SLW_IDENTITY_MEMO, tree);
    ck_assert_uint_eq(known.known, 1);
    ck_assert(kit_same(&read.digest, &known.digest));
    slw_memo_close(&memo);
}
END_TEST

START_TEST(read_only_writes_nothing_and_an_absent_directory_is_an_empty_memo) {
    const char *place = memo_place(), *tree = slt_scratch();
    memo_fake();
    kit_put(tree, "a", "one");
    slw_memo *memo = memo_open(place, 1);
    ck_assert_uint_eq(memo_ask(memo, SLW_IDENTITY_MEMO, tree).read, 1);
    ck_assert_uint_eq(memo_ask(memo, SLW_IDENTITY_MEMO, tree).known, 1); /* within the process it remembers */
    slw_memo_close(&memo);
    ck_assert_int_ne(access(place, F_OK), 0);
    (void)memo_run(place, tree);
    slt_shell("ls -la --full-time %s > %s.before", place, place);
    memo = memo_open(place, 1);
    kit_put(tree, "b", "two");
    ck_assert_uint_eq(memo_ask(memo, SLW_IDENTITY_MEMO, tree).known, 1);
    slw_memo_close(&memo);
    slt_shell("ls -la --full-time %s | cmp - %s.before", place, place);
}
END_TEST

START_TEST(what_another_process_wrote_meanwhile_is_kept) {
    const char *place = memo_place(), *tree = slt_scratch(), *other = slt_scratch();
    memo_fake();
    kit_put(tree, "a", "one");
    kit_put(other, "b", "two");
    slw_memo *slow = memo_open(place, 0);
    (void)memo_ask(slow, SLW_IDENTITY_MEMO, tree);
    const slw_digest key = {{1}};
    const slw_bytes answer = {"slow", 4};
    slwi_memo_put_answer(slow, &key, answer);
    (void)memo_run(place, other);
    slw_memo_close(&slow);
    slw_memo *memo = memo_open(place, 0);
    ck_assert_uint_eq(memo_ask(memo, SLW_IDENTITY_MEMO, tree).known, 1);
    ck_assert_uint_eq(memo_ask(memo, SLW_IDENTITY_MEMO, other).known, 1);
    slw_text text = SLW_TEXT_INIT;
    slt_ok(slwi_memo_get_answer(memo, &key, &text, &err), &err);
    slw_text_release(&text);
    slw_memo_close(&memo);
}
END_TEST

START_TEST(answers_are_kept_as_they_are) {
    const char *place = memo_place();
    memo_fake();
    const slw_digest one = {{1}}, two = {{2}}, three = {{3}};
    const slw_bytes binary = {"a\0b", 3}, empty = {"", 0}, newer = {"newer", 5};
    slw_text text = SLW_TEXT_INIT;
    slw_memo *memo = memo_open(place, 0);
    ck_assert_int_eq(slwi_memo_get_answer(memo, &one, &text, &err), SLW_E_MISS);
    ck_assert_ptr_null(text.data);
    slwi_memo_put_answer(memo, &one, binary);
    slwi_memo_put_answer(memo, &two, empty);
    slwi_memo_put_answer(memo, &three, binary);
    slwi_memo_put_answer(memo, &three, newer);
    slw_memo_close(&memo);
    memo = memo_open(place, 0);
    slt_ok(slwi_memo_get_answer(memo, &one, &text, &err), &err);
    ck_assert_uint_eq(text.size, 3);
    ck_assert_mem_eq(text.data, "a\0b", 4);
    slw_text_release(&text);
    slt_ok(slwi_memo_get_answer(memo, &two, &text, &err), &err);
    ck_assert_uint_eq(text.size, 0);
    slw_text_release(&text);
    slt_ok(slwi_memo_get_answer(memo, &three, &text, &err), &err);
    ck_assert_str_eq(text.data, "newer");
    slw_text_release(&text);
    slw_memo_close(&memo);
    ck_assert_int_eq(slwi_memo_get_answer(NULL, &one, &text, &err), SLW_E_MISS);
    slwi_memo_put_answer(NULL, &one, binary);
}
END_TEST

START_TEST(answers_are_bounded) {
    const char *place = memo_place();
    memo_fake();
    slw_memo *memo = memo_open(place, 0);
    slw_digest key = {{0}};
    slw_text text = SLW_TEXT_INIT;
    char *large = calloc(1, SLWI_MEMO_ANSWER_BYTES_MAX + 1);
    const slw_bytes most = {large, SLWI_MEMO_ANSWER_BYTES_MAX}, too_long = {large, SLWI_MEMO_ANSWER_BYTES_MAX + 1};
    slwi_memo_put_answer(memo, &key, too_long);
    ck_assert_int_eq(slwi_memo_get_answer(memo, &key, &text, &err), SLW_E_MISS);
    for (unsigned i = 0; i < 2 * SLWI_MEMO_ANSWERS_MAX; i++) {
        memcpy(key.bytes, &i, sizeof i);
        slwi_memo_put_answer(memo, &key, i < 20 ? (slw_bytes){"x", 1} : (slw_bytes){large, 5000});
    }
    slwi_memo_put_answer(memo, &key, most); /* of the newest */
    slw_memo_close(&memo);
    memo = memo_open(place, 0);
    slt_ok(slwi_memo_get_answer(memo, &key, &text, &err), &err);
    ck_assert_uint_eq(text.size, SLWI_MEMO_ANSWER_BYTES_MAX);
    slw_text_release(&text);
    memset(&key, 0, sizeof key);
    ck_assert_int_eq(slwi_memo_get_answer(memo, &key, &text, &err), SLW_E_MISS);
    slw_memo_close(&memo);
    free(large);
}
END_TEST

static slwi_memo_record numbered(uint64_t i) {
    slwi_memo_record record;
    memset(&record, 0, sizeof record);
    record.ino = i;
    record.used_s = (uint32_t)(i / 3); /* some of the same age */
    return record;
}

static slwi_memo_place device(uint64_t i) {
    slwi_memo_place place;
    memset(&place, 0, sizeof place);
    place.dev = i;
    return place;
}

START_TEST(records_are_bounded_and_the_oldest_go) {
    static const slw_allocator standard = SLW_ALLOCATOR_INIT;
    slwi_memo_table table;
    slwi_memo_table_init(&table, &standard);
    const slwi_memo_place place = device(1);
    const uint64_t all = SLWI_MEMO_RECORDS_MAX * 2;
    for (uint64_t i = 0; i < all; i++) {
        const slwi_memo_record record = numbered(i);
        ck_assert_int_eq(slwi_memo_table_put(&table, &place, &record), 1);
        ck_assert_uint_le(table.count, SLWI_MEMO_RECORDS_MAX);
    }
    ck_assert_uint_ge(table.count, SLWI_MEMO_RECORDS_MAX / 2);
    for (uint64_t i = 0; i < all; i++) {
        const slwi_memo_record *found = slwi_memo_table_find(&table, &place, i);
        if (found != NULL) ck_assert_uint_eq(found->ino, i);
        if (i + SLWI_MEMO_RECORDS_MAX / 2 >= all) ck_assert_ptr_nonnull(found);
        if (i + SLWI_MEMO_RECORDS_MAX + 10 < all) ck_assert_ptr_null(found);
    }
    slwi_memo_table_clear(&table);
}
END_TEST

/* Each place has three records. */
START_TEST(places_are_bounded_and_the_one_unused_longest_goes) {
    static const slw_allocator standard = SLW_ALLOCATOR_INIT;
    slwi_memo_table table;
    slwi_memo_table_init(&table, &standard);
    const uint64_t all = SLWI_MEMO_PLACES_MAX + 5;
    for (uint64_t i = 0; i < all * 3; i++) {
        const slwi_memo_place place = device(i / 3);
        slwi_memo_record record = numbered(i % 3);
        record.size = i;
        record.used_s = i / 3 == 7 ? UINT32_MAX : (uint32_t)i; /* the seventh stays in use */
        ck_assert_int_eq(slwi_memo_table_put(&table, &place, &record), 1);
        ck_assert_uint_le(table.place_count, SLWI_MEMO_PLACES_MAX);
    }
    ck_assert_uint_eq(table.count, SLWI_MEMO_PLACES_MAX * 3);
    for (uint64_t i = 0; i < all * 3; i++) {
        const slwi_memo_place place = device(i / 3);
        const slwi_memo_record *found = slwi_memo_table_find(&table, &place, i % 3);
        if (i / 3 < 5) {
            ck_assert_ptr_null(found);
        } else {
            ck_assert_ptr_nonnull(found);
            ck_assert_uint_eq(found->size, i);
            ck_assert_uint_eq(table.places[found->place].dev, i / 3);
        }
    }
    const slwi_memo_place known = device(20), other = device(all);
    ck_assert_int_eq(slwi_memo_table_welcomes(&table, &known, 0), 1);
    ck_assert_int_eq(slwi_memo_table_welcomes(&table, &other, 17), 0); /* the fifth was used at 15, 16 and 17 */
    ck_assert_int_eq(slwi_memo_table_welcomes(&table, &other, 18), 1);
    slwi_memo_table_clear(&table);
}
END_TEST

/* Found in any order, and in that in which they were put down, with others in between. */
START_TEST(records_are_found_in_any_order) {
    static const slw_allocator standard = SLW_ALLOCATOR_INIT;
    const uint64_t all = 1000;
    slwi_memo_table table;
    slwi_memo_table_init(&table, &standard);
    const slwi_memo_place here = device(1), there = device(2);
    ck_assert_ptr_null(slwi_memo_table_find(&table, &here, 0));
    for (uint64_t i = 0; i < all; i++) {
        const slwi_memo_record record = numbered(i);
        ck_assert_int_eq(slwi_memo_table_put(&table, i % 2 ? &here : &there, &record), 1);
    }
    for (uint64_t step = 1; step < 12; step += 2) {
        for (uint64_t n = 0; n < all; n++) {
            const uint64_t i = n * step % all;
            const slwi_memo_record *found = slwi_memo_table_find(&table, i % 2 ? &here : &there, i);
            ck_assert_ptr_nonnull(found);
            ck_assert_uint_eq(found->ino, i);
            ck_assert_ptr_null(slwi_memo_table_find(&table, i % 2 ? &there : &here, i));
        }
    }
    slwi_memo_table_clear(&table);
}
END_TEST

START_TEST(misuse_and_impossible_places) {
    slw_memo_options options = SLW_MEMO_OPTIONS_INIT;
    slw_memo *memo = NULL;
    const char *dir = slt_scratch();
    ck_assert_int_eq(slw_memo_open(NULL, &memo, &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_memo_open(&options, &memo, &err), SLW_E_USAGE);
    options.directory = dir;
    ck_assert_int_eq(slw_memo_open(&options, NULL, &err), SLW_E_USAGE);
    options.size = 3;
    ck_assert_int_eq(slw_memo_open(&options, &memo, &err), SLW_E_USAGE);
    options.size = sizeof options;
    kit_put(dir, "file", "x");
    options.directory = slt_path(dir, "file", NULL);
    ck_assert_int_eq(slw_memo_open(&options, &memo, &err), SLW_E_STORAGE);
    options.directory = slt_path(dir, "file", "below", NULL);
    ck_assert_int_eq(slw_memo_open(&options, &memo, &err), SLW_E_STORAGE);
    ck_assert_ptr_null(memo);
    slw_memo_close(&memo);
    slw_memo_close(NULL);
}
END_TEST

typedef struct asker {
    slw_memo *memo;
    const char *tree;
    slw_digest digest;
} asker;

static void *ask_on_a_thread(void *context) {
    asker *a = context;
    slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
    slw_identity *identity = NULL;
    slw_error mine = SLW_ERROR_INIT;
    options.memo = a->memo;
    slw_code rc = slw_identity_create(&options, &identity, &mine);
    if (rc == SLW_OK) rc = slw_identity_digest_tree(identity, a->tree, &a->digest, &mine);
    slw_identity_release(&identity);
    return rc == SLW_OK ? NULL : a;
}

START_TEST(threads_share_a_memo) {
    const char *place = memo_place(), *tree = slt_scratch();
    memo_fake();
    for (int i = 0; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        kit_put(tree, name, name);
    }
    slw_memo *memo = memo_open(place, 0);
    pthread_t threads[6];
    asker askers[6];
    for (int i = 0; i < 6; i++) {
        askers[i] = (asker){memo, tree, {{0}}};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_on_a_thread, &askers[i]), 0);
    }
    for (int i = 0; i < 6; i++) {
        void *failed = NULL;
        ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
        ck_assert_ptr_null(failed);
        ck_assert(kit_same(&askers[i].digest, &askers[0].digest));
    }
    slw_memo_close(&memo);
    ck_assert_uint_eq(memo_run(place, tree).known, 50);
}
END_TEST

static long held, requests, fail_at;
static void *count_allocate(void *context, size_t size) {
    (void)context;
    if (++requests == fail_at) return NULL;
    held++;
    return malloc(size);
}
static void *count_reallocate(void *context, void *pointer, size_t size) {
    (void)context;
    if (++requests == fail_at) return NULL;
    held += pointer == NULL;
    return realloc(pointer, size);
}
static void count_release(void *context, void *pointer) {
    (void)context;
    held--;
    free(pointer);
}

static void live(const char *place, const char *tree) {
    const slw_allocator allocator = {NULL, count_allocate, count_reallocate, count_release};
    slw_memo_options options = SLW_MEMO_OPTIONS_INIT;
    slw_memo *memo = NULL;
    const slw_digest key = {{7}};
    slw_text text = SLW_TEXT_INIT;
    options.allocator = allocator;
    options.directory = place;
    slw_code rc = slw_memo_open(&options, &memo, &err);
    if (rc != SLW_OK) {
        ck_assert_int_eq(rc, SLW_E_NO_MEMORY);
        ck_assert_ptr_null(memo);
        return;
    }
    (void)memo_ask(memo, SLW_IDENTITY_MEMO, tree);
    slwi_memo_put_answer(memo, &key, (slw_bytes){"abc", 3});
    rc = slwi_memo_get_answer(memo, &key, &text, &err);
    ck_assert(rc == SLW_OK || rc == SLW_E_MISS || rc == SLW_E_NO_MEMORY);
    slw_text_release(&text);
    slw_memo_close(&memo);
}

START_TEST(every_allocation_may_fail_and_costs_only_speed) {
    const char *place = memo_place(), *tree = slt_scratch();
    memo_fake();
    kit_put(tree, "a", "one");
    fail_at = 0;
    live(place, tree);
    requests = 0;
    live(place, tree);
    const long all = requests + 4;
    const int before = slt_open_descriptors();
    for (int absent = 0; absent < 2; absent++) {
        for (fail_at = 1; fail_at <= all; fail_at++) {
            if (absent) slt_shell("rm -rf %s", place);
            requests = 0;
            live(place, tree);
            ck_assert_int_eq(held, 0);
        }
    }
    ck_assert_int_eq(slt_open_descriptors(), before);
    (void)memo_run(place, tree);
    ck_assert_uint_eq(memo_run(place, tree).known, 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("memo");
    TCase *tests = tcase_create("memo");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, a_second_process_reads_nothing);
    tcase_add_test(tests, an_edit_is_read_again);
    tcase_add_test(tests, the_content_policy_asks_no_memo);
    tcase_add_test(tests, read_only_writes_nothing_and_an_absent_directory_is_an_empty_memo);
    tcase_add_test(tests, what_another_process_wrote_meanwhile_is_kept);
    tcase_add_test(tests, answers_are_kept_as_they_are);
    tcase_add_test(tests, answers_are_bounded);
    tcase_add_test(tests, records_are_bounded_and_the_oldest_go);
    tcase_add_test(tests, places_are_bounded_and_the_one_unused_longest_goes);
    tcase_add_test(tests, records_are_found_in_any_order);
    tcase_add_test(tests, misuse_and_impossible_places);
    tcase_add_test(tests, threads_share_a_memo);
    tcase_add_test(tests, every_allocation_may_fail_and_costs_only_speed);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
