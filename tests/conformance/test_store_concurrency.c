/* Eight processes and eight threads on one key: one build, and everybody has its bytes. On the ordinary file system
 * of the scratch directory and on a memory one where there is one. */
#include "store_kit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS = 8, PROCESSES = 8, ROUNDS = 6 };

/* Places for roots: the scratch directory, and /dev/shm. */
static const char *place(int index) {
    if (index == 0) return slt_scratch();
    if (access("/dev/shm", W_OK) != 0) return NULL;
    ck_assert_int_eq(setenv("TMPDIR", "/dev/shm", 1), 0);
    return slt_scratch();
}

typedef struct tally {
    slk_world world;
    slw_key *keys[ROUNDS];
    slk_build build; /* shared by all processes */
    atomic_int counts[3];
    atomic_int wrong;
    atomic_int ready;
} tally;

static slw_code take_a_while(slk_build *self, const slw_build_context *build, slw_error *err) {
    (void)self, (void)build, (void)err;
    slk_pause_ms(20);
    return SLW_OK;
}

static tally *tally_make(const char *directory) {
    tally *t = slk_shared(sizeof *t);
    slk_world_make_in(&t->world, SLW_DOMAIN_DEFAULT, directory);
    for (int i = 0; i < ROUNDS; i++) {
        char source[32];
        snprintf(source, sizeof source, "source %d", i);
        t->keys[i] = slk_key(t->world.domain, source);
    }
    t->build.files = slk_fixture_files;
    t->build.file_count = 2;
    t->build.before = take_a_while;
    return t;
}

static void tally_end(tally *t) {
    for (int i = 0; i < ROUNDS; i++) slw_key_release(&t->keys[i]);
    slk_world_end(&t->world);
}

/* One asker's whole day; used by threads and processes alike, so it counts instead of failing. */
static void ask_for_every_key(tally *t, slw_store *store, int first) {
    const slw_builder builder = slk_builder(&t->build);
    for (int i = 0; i < ROUNDS; i++) {
        const slw_key *key = t->keys[(first + i) % ROUNDS];
        slw_error err = SLW_ERROR_INIT;
        slw_build_report report = SLW_BUILD_REPORT_INIT;
        slw_cached *entry = NULL;
        if (slw_store_get_or_build(store, key, t->world.spec, &builder, &report, &entry, &err) != SLW_OK) {
            (void)atomic_fetch_add(&t->wrong, 1);
            continue;
        }
        (void)atomic_fetch_add(&t->counts[report.disposition], 1);
        slk_expect_files(entry, slk_fixture_files, 2);
        slw_cached_discard(&entry);
        slw_build_report_release(&report);
    }
}

typedef struct worker {
    pthread_t thread;
    tally *tally;
    slw_store *store;
    int first;
} worker;

static void *work(void *context) {
    worker *w = context;
    (void)atomic_fetch_add(&w->tally->ready, 1);
    slk_wait_for(&w->tally->ready, THREADS);
    ask_for_every_key(w->tally, w->store, w->first);
    return NULL;
}

static void expect_one_build_a_key(tally *t, int askers) {
    ck_assert_int_eq(atomic_load(&t->wrong), 0);
    ck_assert_int_eq(atomic_load(&t->counts[SLW_PRIVATE]), 0);
    ck_assert_int_eq(atomic_load(&t->counts[SLW_PUBLISHED]), ROUNDS);
    ck_assert_int_eq(atomic_load(&t->counts[SLW_HIT]), (askers - 1) * ROUNDS);
    ck_assert_int_eq(atomic_load(&t->build.calls), ROUNDS);
    ck_assert_uint_eq(slk_names(t->world.private_root), 0);
    ck_assert_uint_eq(slk_leftovers(t->world.root), 0);
}

/* Cases: shared store or one store each, by the place. */
START_TEST(eight_threads_build_each_key_once) {
    const char *directory = place(_i / 2);
    if (directory == NULL) {
        slt_skip("eight_threads_build_each_key_once", "no /dev/shm");
        return;
    }
    tally *t = tally_make(directory);
    slw_store *shared = slk_open(&t->world);
    const int descriptors = slt_open_descriptors();
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.tally = t, .store = _i % 2 == 0 ? shared : slk_open(&t->world), .first = i};
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
        if (_i % 2 == 1) slw_store_close(&workers[i].store);
    }
    expect_one_build_a_key(t, THREADS);
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
    slw_store_close(&shared);
    tally_end(t);
}
END_TEST

static int process(void *context) {
    worker *w = context;
    (void)atomic_fetch_add(&w->tally->ready, 1);
    slk_wait_for(&w->tally->ready, PROCESSES);
    slw_store *store = slk_open(&w->tally->world);
    ask_for_every_key(w->tally, store, w->first);
    slw_store_close(&store);
    return 0;
}

START_TEST(eight_processes_build_each_key_once) {
    const char *directory = place(_i);
    if (directory == NULL) {
        slt_skip("eight_processes_build_each_key_once", "no /dev/shm");
        return;
    }
    tally *t = tally_make(directory);
    int processes[PROCESSES];
    worker workers[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        workers[i] = (worker){.tally = t, .first = i};
        processes[i] = slk_child_start(process, &workers[i]);
    }
    for (int i = 0; i < PROCESSES; i++) ck_assert_int_eq(slk_child_end(processes[i]), 0);
    expect_one_build_a_key(t, PROCESSES);
    tally_end(t);
}
END_TEST

/* Processes of two threads each, all at once, while readers look: never a verdict but HIT and MISS. */
static int reading_process(void *context) {
    worker *w = context;
    slw_store *store = slk_open_read_only(&w->tally->world);
    for (int i = 0; atomic_load(&w->tally->counts[SLW_PUBLISHED]) < ROUNDS && i < 100000; i++) {
        const char *verdict = slk_lookup_verdict(store, w->tally->keys[i % ROUNDS], w->tally->world.spec);
        if (strcmp(verdict, "HIT") != 0 && strcmp(verdict, "MISS") != 0) {
            fprintf(stderr, "a reader saw %s\n", verdict);
            return 1;
        }
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (strcmp(slk_lookup_verdict(store, w->tally->keys[i], w->tally->world.spec), "HIT") != 0) return 2;
    }
    slw_store_close(&store);
    return 0;
}

START_TEST(readers_see_hits_and_misses_only) {
    tally *t = tally_make(slt_scratch());
    worker reader = {.tally = t};
    const int readers[2] = {slk_child_start(reading_process, &reader), slk_child_start(reading_process, &reader)};
    slw_store *store = slk_open(&t->world);
    ask_for_every_key(t, store, 0);
    for (int i = 0; i < 2; i++) ck_assert_int_eq(slk_child_end(readers[i]), 0);
    ck_assert_int_eq(atomic_load(&t->counts[SLW_PUBLISHED]), ROUNDS);
    slw_store_close(&store);
    tally_end(t);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store concurrency");
    TCase *all = tcase_create("one build");
    tcase_set_timeout(all, 240);
    tcase_add_loop_test(all, eight_threads_build_each_key_once, 0, 4);
    tcase_add_loop_test(all, eight_processes_build_each_key_once, 0, 2);
    tcase_add_test(all, readers_see_hits_and_misses_only);
    suite_add_tcase(suite, all);
    return slt_run(suite, NULL);
}
