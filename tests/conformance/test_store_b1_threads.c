/* Conformance list B1, rows 29 to 36: one build for all that ask, in one process and in several. */
#include "store_kit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const domains[2] = {SLW_DOMAIN_PYPTO, SLW_DOMAIN_DEFAULT};
enum { THREADS = 4 };

/* ---- four threads that ask at once ---- */

typedef struct asker {
    pthread_t thread;
    slw_store *store;
    const slw_key *key;
    const slw_spec *spec;
    const slw_builder *builder;
    slk_result result;
    atomic_int done;
} asker;

static atomic_int arrived; /* threads about to ask */
static atomic_int inside;  /* builders running */
static atomic_int go_on;   /* 1: builders may end */

static void *ask(void *context) {
    asker *a = context;
    (void)atomic_fetch_add(&arrived, 1);
    slk_get(a->store, a->key, a->spec, a->builder, &a->result);
    atomic_store(&a->done, 1);
    return NULL;
}

/* The builder waits until everybody has come, and then long enough for them to be waiting. */
static slw_code wait_for_all(slk_build *self, const slw_build_context *build, slw_error *err) {
    (void)self, (void)build, (void)err;
    slk_wait_for(&arrived, THREADS);
    slk_pause_ms(300);
    return SLW_OK;
}

static slw_code wait_to_go_on(slk_build *self, const slw_build_context *build, slw_error *err) {
    (void)self, (void)build, (void)err;
    (void)atomic_fetch_add(&inside, 1);
    slk_wait_for(&go_on, 1);
    return SLW_OK;
}

static void start(asker *a, slw_store *store, const slk_world *world) {
    a->store = store;
    a->key = world->key;
    a->spec = world->spec;
    a->builder = &world->builder;
    atomic_store(&a->done, 0);
}

static void go(asker *a) {
    ck_assert_int_eq(pthread_create(&a->thread, NULL, ask, a), 0);
}
static void end(asker *a) {
    ck_assert_int_eq(pthread_join(a->thread, NULL), 0);
}

static void ask_all(asker askers[THREADS]) {
    atomic_store(&arrived, 0);
    for (int i = 0; i < THREADS; i++) go(&askers[i]);
    for (int i = 0; i < THREADS; i++) end(&askers[i]);
}

START_TEST(b1_29_same_key_threads_build_once) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    world.build.before = wait_for_all;
    slw_store *store = slk_open(&world);
    asker askers[THREADS];
    for (int i = 0; i < THREADS; i++) start(&askers[i], store, &world);
    ask_all(askers);
    int published = 0;
    for (int i = 0; i < THREADS; i++) {
        published += askers[i].result.report.disposition == SLW_PUBLISHED;
        slk_expect(&askers[i].result, askers[i].result.report.disposition == SLW_PUBLISHED ? SLW_PUBLISHED : SLW_HIT,
                   SLW_FAILURE_NONE);
        slk_expect_files(askers[i].result.entry, slk_fixture_files, 2);
        slk_result_release(&askers[i].result);
    }
    ck_assert_int_eq(published, 1);
    ck_assert_int_eq(atomic_load(&world.build.calls), 1);
    ck_assert_int_eq(atomic_load(&world.build.released), 1);
    ck_assert_uint_eq(slk_names(world.private_root), 0);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

/* ---- row 30 ---- */

static int no_rename(const slwi_os *os, int from, const char *from_name, int to, const char *to_name) {
    (void)os, (void)from, (void)from_name, (void)to, (void)to_name;
    return -EIO;
}

typedef enum obstacle { OB_INVALID, OB_STORAGE, OB_READ_ONLY, OB_LOCK, OB_PUBLICATION, OBSTACLES } obstacle;
static slwi_os obstacle_table;

static slw_build_failure put_obstacle(slk_world *world, obstacle which) {
    switch (which) {
    case OB_INVALID:
        slk_publish(world);
        slt_write_file(slk_marker(world), "{", 1, 0644);
        return SLW_FAILURE_INVALID;
    case OB_STORAGE:
        slt_become_nobody(world->scratch);
        slk_publish(world);
        ck_assert_int_eq(chmod(slk_marker(world), 0), 0);
        return SLW_FAILURE_STORAGE;
    case OB_READ_ONLY:
        return SLW_FAILURE_NONE;
    case OB_LOCK:
        ck_assert_int_eq(mkdir(world->root, 0755), 0);
        slt_write_file(slt_path(world->root, "locks", NULL), "", 0, 0644);
        return SLW_FAILURE_LOCK;
    default:
        obstacle_table = slk_table();
        obstacle_table.rename_noreplace = no_rename;
        slwi_os_replace(&obstacle_table);
        return SLW_FAILURE_PUBLICATION;
    }
}

static void expect_shared(asker askers[THREADS], const slk_world *world, slw_build_failure failure) {
    int coalesced = 0;
    for (int i = 0; i < THREADS; i++) {
        const slk_result *result = &askers[i].result;
        slk_expect(result, SLW_PRIVATE, failure);
        ck_assert_str_eq(result->report.private_directory, askers[0].result.report.private_directory);
        ck_assert_str_eq(slw_cached_directory(result->entry), slw_cached_directory(askers[0].result.entry));
        ck_assert_str_eq(result->report.reason, askers[0].result.report.reason);
        ck_assert_ptr_eq(result->report.value, world->build.value);
        coalesced += result->report.coalesced != 0;
        slk_expect_files(result->entry, slk_fixture_files, 2);
    }
    ck_assert_int_eq(coalesced, THREADS - 1);
}

/* The private directory goes with the last owner, whoever that is. */
static void release_one_by_one(asker askers[THREADS], slk_world *world, int released_before) {
    char directory[512];
    snprintf(directory, sizeof directory, "%s", askers[0].result.report.private_directory);
    for (int i = 0; i < THREADS; i++) {
        ck_assert(slk_exists(directory));
        slw_build_report_release(&askers[i].result.report);
        ck_assert(slk_exists(directory));
        slk_expect_files(askers[i].result.entry, slk_fixture_files, 2);
        slw_cached_discard(&askers[i].result.entry);
    }
    ck_assert(!slk_exists(directory));
    ck_assert_int_eq(atomic_load(&world->build.released), released_before + 1);
    ck_assert_uint_eq(slk_names(world->private_root), 0);
}

START_TEST(b1_30_private_builds_coalesce_across_store_instances) {
    slk_world world;
    slk_world_make(&world, domains[_i / OBSTACLES]);
    const obstacle which = (obstacle)(_i % OBSTACLES);
    const slw_build_failure failure = put_obstacle(&world, which);
    const int calls = atomic_load(&world.build.calls), released = atomic_load(&world.build.released);
    world.build.before = wait_for_all;
    char *before = slk_tree(slt_path(world.root, "artifacts", NULL), SLK_TREE_TIMES | SLK_TREE_INODES);
    asker askers[THREADS];
    for (int i = 0; i < THREADS; i++)
        start(&askers[i], which == OB_READ_ONLY ? slk_open_read_only(&world) : slk_open(&world), &world);
    ask_all(askers);
    expect_shared(askers, &world, failure);
    ck_assert_int_eq(atomic_load(&world.build.calls), calls + 1);
    release_one_by_one(askers, &world, released);
    if (which != OB_PUBLICATION) {
        char *after = slk_tree(slt_path(world.root, "artifacts", NULL), SLK_TREE_TIMES | SLK_TREE_INODES);
        ck_assert_str_eq(after, before);
        free(after);
    }
    free(before);
    if (which == OB_READ_ONLY) ck_assert(!slk_exists(world.root));
    /* Nothing is remembered: the next request builds anew. */
    world.build.before = NULL;
    slk_world_expect(&world, askers[1].store, SLW_PRIVATE, failure);
    ck_assert_int_eq(atomic_load(&world.build.calls), calls + 2);
    for (int i = 0; i < THREADS; i++) slw_store_close(&askers[i].store);
    slwi_os_replace(NULL);
    slk_world_end(&world);
}
END_TEST

/* ---- row 31 ---- */

START_TEST(b1_31_coalesced_compiler_errors_wake_waiters_and_allow_retry) {
    static const slw_code codes[3] = {SLW_E_COMPILE_FAILED, SLW_E_CANCELLED, SLW_E_BUILDER_FIRST};
    slk_world world;
    slk_world_make(&world, domains[_i / 3]);
    world.build.before = wait_for_all;
    world.build.code = codes[_i % 3];
    asker askers[THREADS];
    for (int i = 0; i < THREADS; i++) start(&askers[i], slk_open(&world), &world);
    ask_all(askers);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(askers[i].result.code, codes[_i % 3]);
        ck_assert_str_eq(askers[i].result.err.reason, "BUILDER_SAID_NO");
        ck_assert_ptr_nonnull(strstr(askers[i].result.err.message, "builder said no"));
        slk_result_release(&askers[i].result);
    }
    ck_assert_int_eq(atomic_load(&world.build.calls), 1);
    ck_assert_uint_eq(slk_names(world.private_root), 0);
    world.build.before = NULL;
    world.build.code = SLW_OK;
    slk_world_expect(&world, askers[3].store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    for (int i = 0; i < THREADS; i++) slw_store_close(&askers[i].store);
    slk_world_end(&world);
}
END_TEST

/* The leader's own token ends the leader only: a waiter takes over and builds. */
static slw_code until_cancelled(slk_build *self, const slw_build_context *build, slw_error *err) {
    (void)err;
    if (atomic_load(&self->calls) > 1) return SLW_OK;
    (void)atomic_fetch_add(&inside, 1);
    for (int i = 0; i < 60000 && !slw_cancel_requested(build->cancel); i++) slk_pause_ms(1);
    return SLW_E_CANCELLED;
}

START_TEST(b1_31_the_leaders_own_cancellation_promotes_a_waiter) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    world.build.before = until_cancelled;
    slw_error err = SLW_ERROR_INIT;
    slw_cancel *token = NULL;
    slt_ok(slw_cancel_create(NULL, &token, &err), &err);
    slw_store_options options = slk_options(&world);
    options.cancel = token;
    asker leader, waiters[2];
    start(&leader, slk_open_options(&options), &world);
    atomic_store(&arrived, 0);
    go(&leader);
    slk_wait_for(&inside, 1);
    for (int i = 0; i < 2; i++) {
        start(&waiters[i], slk_open(&world), &world);
        go(&waiters[i]);
    }
    slk_wait_for(&arrived, 3);
    slk_pause_ms(200);
    slw_cancel_request(token);
    end(&leader);
    for (int i = 0; i < 2; i++) end(&waiters[i]);
    ck_assert_int_eq(leader.result.code, SLW_E_CANCELLED);
    int published = 0;
    for (int i = 0; i < 2; i++) {
        ck_assert_msg(waiters[i].result.code == SLW_OK, "%s", slw_code_name(waiters[i].result.code));
        published += waiters[i].result.report.disposition == SLW_PUBLISHED;
        slk_result_release(&waiters[i].result);
        slw_store_close(&waiters[i].store);
    }
    ck_assert_int_eq(published, 1);
    ck_assert_int_eq(atomic_load(&world.build.calls), 2);
    ck_assert_uint_eq(slk_names(world.private_root), 0);
    slk_result_release(&leader.result);
    slw_store_close(&leader.store);
    slw_cancel_release(&token);
    slk_world_end(&world);
}
END_TEST

/* ---- row 32 ---- */

typedef struct recursion {
    slk_world *world;
    slw_store *store;
    slw_code inner;
} recursion;

static slw_code ask_for_itself(slk_build *self, const slw_build_context *build, slw_error *err) {
    recursion *r = self->context;
    (void)build, (void)err;
    slk_result result;
    slk_get(r->store, r->world->key, r->world->spec, &r->world->builder, &result);
    r->inner = result.code;
    slk_result_release(&result);
    return result.code;
}

START_TEST(b1_32_coalescing_rejects_recursive_requests_without_leaking_state) {
    slk_world world;
    slk_world_make(&world, domains[_i / 2]);
    slw_store *store = slk_open(&world), *second = slk_open(&world);
    recursion r = {&world, _i % 2 == 0 ? store : second, SLW_OK};
    world.build.before = ask_for_itself;
    world.build.context = &r;
    const int descriptors = slt_open_descriptors();
    slk_result result;
    slk_world_get(&world, store, &result);
    ck_assert_int_eq(result.code, SLW_E_RECURSIVE);
    ck_assert_int_eq(r.inner, SLW_E_RECURSIVE);
    slk_result_release(&result);
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
    ck_assert_uint_eq(slk_names(world.private_root), 0);
    world.build.before = NULL;
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slw_store_close(&store);
    slw_store_close(&second);
    slk_world_end(&world);
}
END_TEST

/* ---- rows 33 and 35 ---- */

/* Both builders are inside at once, in two directories. */
static void expect_both_inside(asker *first, asker *second) {
    atomic_store(&inside, 0);
    atomic_store(&go_on, 0);
    go(first);
    go(second);
    slk_wait_for(&inside, 2);
    atomic_store(&go_on, 1);
    end(first);
    end(second);
    ck_assert_str_ne(first->result.report.private_directory, second->result.report.private_directory);
}

START_TEST(b1_33_coalescing_keeps_distinct_requests_independent) {
    slk_world world;
    slk_world_make(&world, domains[_i / 3]);
    world.build.before = wait_to_go_on;
    slw_spec *ready = slk_fixture_spec(world.domain, SLW_READY, SLW_SINGLE);
    char other_private[512];
    snprintf(other_private, sizeof other_private, "%s/other-private", world.scratch);
    ck_assert_int_eq(mkdir(other_private, 0700), 0);
    asker first, second;
    start(&first, slk_open_read_only(&world), &world);
    slw_store_options options = slk_options(&world);
    options.read_only = _i % 3 == 1;
    if (_i % 3 == 1) options.private_root = other_private;
    start(&second, slk_open_options(&options), &world);
    if (_i % 3 == 0) second.spec = ready;
    expect_both_inside(&first, &second);
    slk_expect(&first.result, SLW_PRIVATE, SLW_FAILURE_NONE);
    slk_expect(&second.result, _i % 3 == 1 ? SLW_PRIVATE : SLW_PUBLISHED, SLW_FAILURE_NONE);
    ck_assert_int_eq(atomic_load(&world.build.calls), 2);
    slk_result_release(&first.result);
    slk_result_release(&second.result);
    slw_store_close(&first.store);
    slw_store_close(&second.store);
    slw_spec_release(&ready);
    slk_world_end(&world);
}
END_TEST

START_TEST(b1_33_specs_of_one_key_build_one_after_the_other) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    world.build.before = wait_to_go_on;
    slw_spec *ready = slk_fixture_spec(world.domain, SLW_READY, SLW_SINGLE);
    slw_store *store = slk_open(&world);
    asker first, second;
    start(&first, store, &world);
    start(&second, store, &world);
    second.spec = ready;
    go(&first);
    slk_wait_for(&inside, 1);
    go(&second);
    slk_wait_for(&arrived, 2);
    slk_pause_ms(300);
    ck_assert_int_eq(atomic_load(&inside), 1);
    atomic_store(&go_on, 1);
    end(&first);
    end(&second);
    slk_expect(&first.result, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slk_expect(&second.result, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slk_result_release(&first.result);
    slk_result_release(&second.result);
    slw_store_close(&store);
    slw_spec_release(&ready);
    slk_world_end(&world);
}
END_TEST

START_TEST(b1_35_different_keys_build_concurrently) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    world.build.before = wait_to_go_on;
    slw_key *other = slk_key(world.domain, "other");
    slw_store *store = slk_open(&world);
    asker first, second;
    start(&first, store, &world);
    start(&second, store, &world);
    second.key = other;
    expect_both_inside(&first, &second);
    slk_expect(&first.result, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slk_expect(&second.result, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slk_result_release(&first.result);
    slk_result_release(&second.result);
    slw_store_close(&store);
    slw_key_release(&other);
    slk_world_end(&world);
}
END_TEST

/* ---- rows 34 and 36: processes ---- */

typedef struct fork_case {
    slk_world *world;
    int read_only;
} fork_case;

/* Child of the building process: has its own build, or its lock's deadline; never the parent's lock. */
static int child_asks(void *context) {
    const fork_case *c = context;
    slw_store_options options = slk_options(c->world);
    options.read_only = c->read_only;
    options.lock_timeout_ns = 300000000;
    slw_error err = SLW_ERROR_INIT;
    slw_store *store = NULL;
    slw_cached *entry = NULL;
    slw_build_report report = SLW_BUILD_REPORT_INIT;
    slk_build build = {.files = slk_fixture_files, .file_count = 2};
    const slw_builder builder = slk_builder(&build);
    if (slw_store_open(&options, &store, &err) != SLW_OK) return 2;
    if (slw_store_get_or_build(store, c->world->key, c->world->spec, &builder, &report, &entry, &err) != SLW_OK)
        return 3;
    if (report.disposition != SLW_PRIVATE) return 4;
    if (report.failure != (c->read_only ? SLW_FAILURE_NONE : SLW_FAILURE_LOCK)) return 5;
    if (atomic_load(&build.calls) != 1) return 6;
    slw_cached_discard(&entry);
    slw_build_report_release(&report);
    slw_store_close(&store);
    return 0;
}

static slw_code fork_while_building(slk_build *self, const slw_build_context *build, slw_error *err) {
    (void)build, (void)err;
    ck_assert_int_eq(slk_child(child_asks, self->context), 0);
    return SLW_OK;
}

START_TEST(b1_34_forked_child_does_not_wait_for_parent_build) {
    slk_world world;
    slk_world_make(&world, domains[_i / 2]);
    fork_case c = {&world, _i % 2};
    world.build.before = fork_while_building;
    world.build.context = &c;
    slw_store *store = slk_open(&world);
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    ck_assert_int_eq(atomic_load(&world.build.calls), 1);
    ck_assert_uint_eq(slk_names(world.private_root), 0);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

typedef struct spawned {
    slk_world *world;
    slk_build *build; /* shared */
    atomic_int started;
    atomic_int dispositions[3];
} spawned;

static slw_code wait_for_three(slk_build *self, const slw_build_context *build, slw_error *err) {
    spawned *s = self->context;
    (void)build, (void)err;
    slk_wait_for(&s->started, 3);
    slk_pause_ms(100);
    return SLW_OK;
}

static int process_asks(void *context) {
    spawned *s = context;
    const slw_builder builder = slk_builder(s->build);
    slw_store *store = slk_open(s->world);
    slw_error err = SLW_ERROR_INIT;
    slw_cached *entry = NULL;
    slw_build_report report = SLW_BUILD_REPORT_INIT;
    (void)atomic_fetch_add(&s->started, 1);
    if (slw_store_get_or_build(store, s->world->key, s->world->spec, &builder, &report, &entry, &err) != SLW_OK)
        return 1;
    (void)atomic_fetch_add(&s->dispositions[report.disposition], 1);
    slw_cached_discard(&entry);
    slw_build_report_release(&report);
    slw_store_close(&store);
    return 0;
}

static slw_code die_inside(slk_build *self, const slw_build_context *build, slw_error *err) {
    (void)self, (void)build, (void)err;
    _exit(42);
}

static int dying_process(void *context) {
    slk_world *world = context;
    slw_store *store = slk_open(world);
    world->build.before = die_inside;
    slk_result result;
    slk_world_get(world, store, &result);
    return 1;
}

START_TEST(b1_36_spawned_processes_deduplicate_and_dead_process_releases_lock) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    ck_assert_int_eq(slk_child(dying_process, &world), 42);
    const uint64_t lock = slk_inode(slk_lock_file(&world));
    spawned *s = slk_shared(sizeof *s);
    s->world = &world;
    s->build = slk_shared(sizeof *s->build);
    s->build->files = slk_fixture_files;
    s->build->file_count = 2;
    s->build->before = wait_for_three;
    s->build->context = s;
    int processes[3];
    for (int i = 0; i < 3; i++) processes[i] = slk_child_start(process_asks, s);
    for (int i = 0; i < 3; i++) ck_assert_int_eq(slk_child_end(processes[i]), 0);
    ck_assert_int_eq(atomic_load(&s->dispositions[SLW_PUBLISHED]), 1);
    ck_assert_int_eq(atomic_load(&s->dispositions[SLW_HIT]), 2);
    ck_assert_int_eq(atomic_load(&s->build->calls), 1);
    ck_assert_uint_eq(slk_inode(slk_lock_file(&world)), lock);
    ck_assert_uint_eq(slk_names(world.private_root), 1); /* the dead process's; nobody else may judge it */
    slk_world_end(&world);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store B1: threads and processes");
    TCase *rows = tcase_create("rows");
    tcase_set_timeout(rows, 180);
    tcase_add_loop_test(rows, b1_29_same_key_threads_build_once, 0, 2);
    tcase_add_loop_test(rows, b1_30_private_builds_coalesce_across_store_instances, 0, 2 * OBSTACLES);
    tcase_add_loop_test(rows, b1_31_coalesced_compiler_errors_wake_waiters_and_allow_retry, 0, 6);
    tcase_add_loop_test(rows, b1_31_the_leaders_own_cancellation_promotes_a_waiter, 0, 2);
    tcase_add_loop_test(rows, b1_32_coalescing_rejects_recursive_requests_without_leaking_state, 0, 4);
    tcase_add_loop_test(rows, b1_33_coalescing_keeps_distinct_requests_independent, 0, 6);
    tcase_add_loop_test(rows, b1_33_specs_of_one_key_build_one_after_the_other, 0, 2);
    tcase_add_loop_test(rows, b1_34_forked_child_does_not_wait_for_parent_build, 0, 4);
    tcase_add_loop_test(rows, b1_35_different_keys_build_concurrently, 0, 2);
    tcase_add_loop_test(rows, b1_36_spawned_processes_deduplicate_and_dead_process_releases_lock, 0, 2);
    suite_add_tcase(suite, rows);
    return slt_run(suite, NULL);
}
