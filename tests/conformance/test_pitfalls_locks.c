/* Pitfalls of the store about locks and processes: 16 (a lock that waits for itself), 17 (forks keep locks), 19
 * (sweeping), 31 (lock files that are unlinked). */
#include "store_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t now_ms(void) {
    return slwi_os_real()->now_ns(slwi_os_real()) / 1000000u;
}

/* ---- 16 ---- */

typedef struct nested {
    slw_store *store;
    const slw_key *key;
    const slw_spec *spec;
    slk_build *build; /* of the inner request */
    slw_code code;
    slw_disposition disposition;
    slw_build_failure failure;
} nested;

static slw_code ask_inside(slk_build *self, const slw_build_context *build, slw_error *err) {
    nested *n = self->context;
    (void)build, (void)err;
    const slw_builder builder = slk_builder(n->build);
    slk_result result;
    slk_get(n->store, n->key, n->spec, &builder, &result);
    n->code = result.code;
    n->disposition = result.report.disposition;
    n->failure = result.report.failure;
    slk_result_release(&result);
    return SLW_OK;
}

START_TEST(pitfall_16_a_builder_asks_for_another_stage_of_its_own_key) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slw_spec *ready = slk_fixture_spec(world.domain, SLW_READY, SLW_SINGLE);
    slw_store *store = slk_open(&world), *second = slk_open(&world);
    nested n = {_i == 0 ? store : second, world.key, world.spec, &world.build, SLW_OK, SLW_HIT, SLW_FAILURE_NONE};
    slk_build outer = {.files = slk_fixture_files, .file_count = 2, .before = ask_inside, .context = &n};
    const slw_builder builder = slk_builder(&outer);
    const uint64_t begin = now_ms();
    slk_result result;
    slk_get(store, world.key, ready, &builder, &result);
    slk_expect(&result, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slk_result_release(&result);
    ck_assert_int_eq(n.code, SLW_OK);
    ck_assert_int_eq(n.disposition, SLW_PUBLISHED);
    ck_assert_uint_lt(now_ms() - begin, 60000); /* the lock's deadline is 120 s */
    ck_assert_str_eq(slk_lookup_verdict(store, world.key, ready), "HIT");
    slk_expect_verdict(&world, store, "HIT");
    /* The lock is free again, and was held until the outer publication. */
    slw_key_release(&world.key);
    world.key = slk_key(world.domain, NULL);
    slk_world_expect(&world, store, SLW_HIT, SLW_FAILURE_NONE);
    slw_store_close(&store);
    slw_store_close(&second);
    slw_spec_release(&ready);
    slk_world_end(&world);
}
END_TEST

typedef struct crossing {
    slk_world *world;
    atomic_int in_builder;
    atomic_int inner_private; /* inner requests that ended PRIVATE with LOCK */
    atomic_int inner_other;
} crossing;

typedef struct crosser {
    crossing *shared;
    const char *mine;
    const char *other;
} crosser;

static slw_code cross(slk_build *self, const slw_build_context *build, slw_error *err) {
    const crosser *me = self->context;
    crossing *c = me->shared;
    (void)build, (void)err;
    (void)atomic_fetch_add(&c->in_builder, 1);
    slk_wait_for(&c->in_builder, 2);
    slw_store_options options = slk_options(c->world);
    options.lock_timeout_ns = 400000000;
    slw_store *store = slk_open_options(&options);
    slw_key *other = slk_key(c->world->domain, me->other);
    slk_build inner = {.files = slk_fixture_files, .file_count = 2};
    const slw_builder builder = slk_builder(&inner);
    slk_result result;
    slk_get(store, other, c->world->spec, &builder, &result);
    const int as_expected = result.code == SLW_OK && result.report.disposition == SLW_PRIVATE &&
                            result.report.failure == SLW_FAILURE_LOCK && atomic_load(&inner.calls) == 1;
    slk_result_release(&result);
    slw_key_release(&other);
    slw_store_close(&store);
    (void)atomic_fetch_add(as_expected ? &c->inner_private : &c->inner_other, 1);
    for (int i = 0; i < 20000 && atomic_load(&c->inner_private) + atomic_load(&c->inner_other) < 2; i++)
        slk_pause_ms(1);
    return SLW_OK;
}

static int crossing_process(void *context) {
    crosser *me = context;
    slk_build build = {.files = slk_fixture_files, .file_count = 2, .before = cross, .context = me};
    const slw_builder builder = slk_builder(&build);
    slw_store *store = slk_open(me->shared->world);
    slw_key *key = slk_key(me->shared->world->domain, me->mine);
    slk_result result;
    slk_get(store, key, me->shared->world->spec, &builder, &result);
    const int good = result.code == SLW_OK && result.report.disposition == SLW_PUBLISHED;
    slk_result_release(&result);
    slw_key_release(&key);
    slw_store_close(&store);
    return good ? 0 : 1;
}

START_TEST(pitfall_16_two_processes_that_want_each_others_key_both_end) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    crossing *c = slk_shared(sizeof *c);
    c->world = &world;
    crosser first = {c, "A", "B"}, second = {c, "B", "A"};
    const uint64_t begin = now_ms();
    const int one = slk_child_start(crossing_process, &first), two = slk_child_start(crossing_process, &second);
    ck_assert_int_eq(slk_child_end(one), 0);
    ck_assert_int_eq(slk_child_end(two), 0);
    ck_assert_int_eq(atomic_load(&c->inner_private), 2);
    ck_assert_int_eq(atomic_load(&c->inner_other), 0);
    ck_assert_uint_lt(now_ms() - begin, 60000);
    ck_assert_uint_eq(slk_names(world.private_root), 0);
    slk_world_end(&world);
}
END_TEST

/* A waiting request says when it gave up, who holds the lock, and can be cancelled. */
typedef struct holder {
    slk_world *world;
    atomic_int held;
    atomic_int let_go;
    atomic_int pid;
} holder;

static slw_code hold(slk_build *self, const slw_build_context *build, slw_error *err) {
    holder *h = self->context;
    (void)build, (void)err;
    atomic_store(&h->held, 1);
    slk_wait_for(&h->let_go, 1);
    return SLW_OK;
}

static int holding_process(void *context) {
    holder *h = context;
    slk_build build = {.files = slk_fixture_files, .file_count = 2, .before = hold, .context = h};
    const slw_builder builder = slk_builder(&build);
    slw_store *store = slk_open(h->world);
    slk_result result;
    slk_get(store, h->world->key, h->world->spec, &builder, &result);
    const int good = result.code == SLW_OK && result.report.disposition == SLW_PUBLISHED;
    slk_result_release(&result);
    slw_store_close(&store);
    return good ? 0 : 1;
}

static void *request_soon(void *context) {
    slk_pause_ms(200);
    slw_cancel_request(context);
    return NULL;
}

/* By the store's token, and by one that is this request's alone. */
START_TEST(pitfall_16_a_lock_wait_ends_by_deadline_or_by_its_token) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    holder *h = slk_shared(sizeof *h);
    h->world = &world;
    const int process = slk_child_start(holding_process, h);
    slk_wait_for(&h->held, 1);

    slw_store_options options = slk_options(&world);
    options.lock_timeout_ns = 300000000;
    slw_store *store = slk_open_options(&options);
    slk_result result;
    slk_world_get(&world, store, &result);
    slk_expect(&result, SLW_PRIVATE, SLW_FAILURE_LOCK);
    char pid[32];
    snprintf(pid, sizeof pid, "%d", process);
    ck_assert_msg(strstr(result.report.reason, pid) != NULL, "the owner %s is not in: %s", pid, result.report.reason);
    ck_assert_uint_ge(result.report.lock_wait_ns, 250000000);
    slk_expect_files(result.entry, slk_fixture_files, 2);
    slk_result_release(&result);
    slw_store_close(&store);

    slw_error err = SLW_ERROR_INIT;
    slw_cancel *token = NULL;
    slt_ok(slw_cancel_create(NULL, &token, &err), &err);
    options = slk_options(&world);
    slw_builder builder = slk_builder(&world.build);
    if (_i == 0)
        options.cancel = token;
    else
        builder.cancel = token;
    store = slk_open_options(&options);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, request_soon, token), 0);
    const int calls = atomic_load(&world.build.calls);
    slk_get(store, world.key, world.spec, &builder, &result);
    ck_assert_int_eq(result.code, SLW_E_CANCELLED);
    ck_assert_int_eq(atomic_load(&world.build.calls), calls);
    slk_result_release(&result);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    slw_store_close(&store);
    slw_cancel_release(&token);

    atomic_store(&h->let_go, 1);
    ck_assert_int_eq(slk_child_end(process), 0);
    store = slk_open(&world);
    slk_world_expect(&world, store, SLW_HIT, SLW_FAILURE_NONE);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

/* ---- 17: a worker forked under a lock does not keep it ---- */

typedef struct family {
    slk_world *world;
    atomic_int worker; /* its process id */
} family;

static slw_code fork_a_worker_and_die(slk_build *self, const slw_build_context *build, slw_error *err) {
    family *f = self->context;
    (void)build, (void)err;
    const pid_t worker = fork();
    if (worker == 0) {
        atomic_store(&f->worker, (int)getpid());
        for (;;) (void)pause();
    }
    slk_wait_for(&f->worker, 1);
    (void)raise(SIGKILL);
    return SLW_OK;
}

static int owner_process(void *context) {
    family *f = context;
    slk_build build = {.files = slk_fixture_files, .file_count = 2, .before = fork_a_worker_and_die, .context = f};
    const slw_builder builder = slk_builder(&build);
    slw_store *store = slk_open(f->world);
    slk_result result;
    slk_get(store, f->world->key, f->world->spec, &builder, &result);
    return 1;
}

START_TEST(pitfall_17_a_forked_worker_does_not_keep_its_dead_owners_lock) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    family *f = slk_shared(sizeof *f);
    f->world = &world;
    ck_assert_int_eq(slk_child(owner_process, f), 128 + SIGKILL);
    const int worker = atomic_load(&f->worker);
    ck_assert_int_gt(worker, 1);
    ck_assert_int_eq(kill((pid_t)worker, 0), 0); /* it lives */
    slw_store_options options = slk_options(&world);
    options.lock_timeout_ns = 10000000000u;
    slw_store *store = slk_open_options(&options);
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    ck_assert_int_eq(kill((pid_t)worker, SIGKILL), 0);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

static int child_of_a_holder(void *context) {
    (void)context;
    /* Nothing of the parent's lock is open here: the only locked file below the root would be it. */
    for (int fd = 3; fd < 256; fd++) {
        char path[4096];
        slk_descriptor_path(fd, path);
        if (strstr(path, ".lock") != NULL || strstr(path, "/.tmp.") != NULL) return fd;
    }
    return 0;
}

static slw_code look_into_a_child(slk_build *self, const slw_build_context *build, slw_error *err) {
    (void)self, (void)build, (void)err;
    ck_assert_int_eq(slk_child(child_of_a_holder, NULL), 0);
    return SLW_OK;
}

START_TEST(pitfall_17_a_child_has_no_lock_descriptor) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    world.build.before = look_into_a_child;
    slk_publish(&world);
    slk_world_end(&world);
}
END_TEST

/* ---- 19: staging is swept only under the lock ---- */

typedef struct publisher {
    slk_world *world;
    atomic_int at_rename;
    atomic_int let_go;
} publisher;

static publisher *publishing;

static int paused_rename(const slwi_os *os, int from, const char *from_name, int to, const char *to_name) {
    atomic_store(&publishing->at_rename, 1);
    slk_wait_for(&publishing->let_go, 1);
    return os->next->rename_noreplace(os->next, from, from_name, to, to_name);
}

static int publishing_process(void *context) {
    publishing = context;
    slwi_os table = slk_table();
    table.rename_noreplace = paused_rename;
    slwi_os_replace(&table);
    slw_store *store = slk_open(publishing->world);
    slk_result result;
    slk_world_get(publishing->world, store, &result);
    const int good = result.code == SLW_OK && result.report.disposition == SLW_PUBLISHED;
    slk_result_release(&result);
    slw_store_close(&store);
    return good ? 0 : 1;
}

START_TEST(pitfall_19_living_staging_is_never_swept) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    publisher *p = slk_shared(sizeof *p);
    p->world = &world;
    const int process = slk_child_start(publishing_process, p);
    slk_wait_for(&p->at_rename, 1);
    ck_assert_uint_eq(slk_leftovers(world.root), 1);

    slw_store_options options = slk_options(&world);
    options.lock_timeout_ns = 200000000;
    slw_store *store = slk_open_options(&options), *reader = slk_open_read_only(&world);
    slw_spec *ready = slk_fixture_spec(world.domain, SLW_READY, SLW_SINGLE);
    slw_key *other = slk_key(world.domain, "other");
    slk_result result;
    slk_expect_verdict(&world, store, "MISS");
    slk_world_expect(&world, store, SLW_PRIVATE, SLW_FAILURE_LOCK);
    slk_world_expect(&world, reader, SLW_PRIVATE, SLW_FAILURE_NONE);
    slk_get(store, world.key, ready, &world.builder, &result);
    slk_expect(&result, SLW_PRIVATE, SLW_FAILURE_LOCK);
    slk_result_release(&result);
    slk_get(store, other, world.spec, &world.builder, &result);
    slk_expect(&result, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slk_result_release(&result);
    ck_assert_uint_eq(slk_leftovers(world.root), 1);
    atomic_store(&p->let_go, 1);
    ck_assert_int_eq(slk_child_end(process), 0);
    slk_expect_verdict(&world, store, "HIT");
    ck_assert_uint_eq(slk_leftovers(world.root), 0);
    slw_store_close(&store);
    slw_store_close(&reader);
    slw_spec_release(&ready);
    slw_key_release(&other);
    slk_world_end(&world);
}
END_TEST

/* ---- 31: a lock file that is unlinked under its waiters ---- */

typedef struct contest {
    slk_world *world;
    atomic_int inside;
    atomic_int twice;
    atomic_int rounds;
    atomic_int pruned;
    atomic_int over;
} contest;

static slw_code count_inside(slk_build *self, const slw_build_context *build, slw_error *err) {
    contest *c = self->context;
    (void)build, (void)err;
    if (atomic_fetch_add(&c->inside, 1) != 0) (void)atomic_fetch_add(&c->twice, 1);
    (void)atomic_fetch_add(&c->rounds, 1);
    slk_pause_ms(1);
    (void)atomic_fetch_sub(&c->inside, 1);
    return SLW_E_COMPILE_FAILED; /* so that the next one builds as well */
}

static int contesting_process(void *context) {
    contest *c = context;
    slk_build build = {.before = count_inside, .context = c};
    const slw_builder builder = slk_builder(&build);
    slw_store *store = slk_open(c->world);
    while (!atomic_load(&c->over)) {
        slk_result result;
        slk_get(store, c->world->key, c->world->spec, &builder, &result);
        if (result.code != SLW_E_COMPILE_FAILED) return 1;
        slk_result_release(&result);
    }
    slw_store_close(&store);
    return 0;
}

/* Prunes as a pruner must: under the lock, and only the file of that name. */
static int pruning_process(void *context) {
    contest *c = context;
    char path[1024];
    snprintf(path, sizeof path, "%s", slk_lock_file(c->world));
    while (!atomic_load(&c->over)) {
        const int fd = open(path, O_RDWR | O_CLOEXEC);
        struct stat held, named;
        if (fd >= 0 && flock(fd, LOCK_EX) == 0 && fstat(fd, &held) == 0 && stat(path, &named) == 0 &&
            held.st_ino == named.st_ino && held.st_dev == named.st_dev) {
            (void)unlink(path);
            (void)atomic_fetch_add(&c->pruned, 1);
        }
        if (fd >= 0) close(fd);
        slk_pause_ms(1);
    }
    return 0;
}

START_TEST(pitfall_31_two_never_hold_the_lock_while_its_file_is_pruned) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    contest *c = slk_shared(sizeof *c);
    c->world = &world;
    int processes[4];
    for (int i = 0; i < 3; i++) processes[i] = slk_child_start(contesting_process, c);
    processes[3] = slk_child_start(pruning_process, c);
    const uint64_t begin = now_ms();
    while (now_ms() - begin < 30000 && (atomic_load(&c->rounds) < 150 || atomic_load(&c->pruned) < 30)) slk_pause_ms(5);
    atomic_store(&c->over, 1);
    for (int i = 0; i < 4; i++) ck_assert_int_eq(slk_child_end(processes[i]), 0);
    ck_assert_int_eq(atomic_load(&c->twice), 0);
    ck_assert_int_ge(atomic_load(&c->rounds), 150);
    ck_assert_int_ge(atomic_load(&c->pruned), 30);
    slk_world_end(&world);
}
END_TEST

START_TEST(pitfall_31_owner_text_goes_into_no_file_with_two_names) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    const char *precious = slt_path(world.scratch, "precious", NULL);
    slt_write_file(precious, "precious bytes", 14, 0600);
    slt_shell("mkdir -p '%s/locks' && ln '%s' '%s'", world.root, precious, slk_lock_file(&world));
    slw_store *store = slk_open(&world);
    slk_result result;
    slk_world_get(&world, store, &result);
    ck_assert_int_eq(result.code, SLW_OK);
    slk_result_release(&result);
    char *bytes = slt_read_file(precious, NULL);
    ck_assert_str_eq(bytes, "precious bytes");
    free(bytes);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store pitfalls: locks and processes");
    TCase *locks = tcase_create("locks");
    tcase_set_timeout(locks, 180);
    tcase_add_loop_test(locks, pitfall_16_a_builder_asks_for_another_stage_of_its_own_key, 0, 2);
    tcase_add_test(locks, pitfall_16_two_processes_that_want_each_others_key_both_end);
    tcase_add_loop_test(locks, pitfall_16_a_lock_wait_ends_by_deadline_or_by_its_token, 0, 2);
    tcase_add_test(locks, pitfall_17_a_forked_worker_does_not_keep_its_dead_owners_lock);
    tcase_add_test(locks, pitfall_17_a_child_has_no_lock_descriptor);
    tcase_add_test(locks, pitfall_19_living_staging_is_never_swept);
    tcase_add_test(locks, pitfall_31_two_never_hold_the_lock_while_its_file_is_pruned);
    tcase_add_test(locks, pitfall_31_owner_text_goes_into_no_file_with_two_names);
    suite_add_tcase(suite, locks);
    return slt_run(suite, NULL);
}
