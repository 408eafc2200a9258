/* Keys with eight bits of digest: of hundreds of requests most share a key with others, its lock, its place in the store
 * and its turn in the process. None may be given what another one made. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "key_internal.h"
#include "store_kit.h"

#define REQUESTS 600
#define THREADS  8

static slk_world world;
static slw_key *keys[REQUESTS];

static void setup(void) {
    slk_use_memory();
    slwi_key_shorten(1);
    slk_world_make(&world, SLW_DOMAIN_PYPTO);
    for (int i = 0; i < REQUESTS; i++) {
        char source[32];
        (void)snprintf(source, sizeof source, "source %d", i);
        keys[i] = slk_key(SLW_DOMAIN_PYPTO, source);
    }
}

static void teardown(void) {
    for (int i = 0; i < REQUESTS; i++) slw_key_release(&keys[i]);
    slk_world_end(&world);
    slwi_key_shorten(sizeof(slw_digest));
}

/* Builds what says for whom it was made. */
static void ask(slw_store *store, int number, int *hits) {
    char text[32];
    const int size = snprintf(text, sizeof text, "made for %d", number);
    const slk_file files[2] = {{slk_fixture_files[0].path, text, (size_t)size, 0644}, slk_fixture_files[1]};
    slk_build build = {.files = files, .file_count = 2};
    const slw_builder builder = slk_builder(&build);
    slk_result result;
    slk_get(store, keys[number], world.spec, &builder, &result);
    ck_assert_int_eq(result.code, SLW_OK);
    slk_expect_files(result.entry, files, 2);
    *hits += result.report.disposition == SLW_HIT;
    ck_assert_int_le(atomic_load(&build.calls), result.report.disposition == SLW_HIT ? 0 : 1); /* 0: in company */
    slk_result_release(&result);
}

START_TEST(no_false_hit) {
    slw_store *store = slk_open(&world);
    int first = 0, second = 0;
    for (int i = 0; i < REQUESTS; i++) ask(store, i, &first);
    for (int i = 0; i < REQUESTS; i++) ask(store, i, &second);
    ck_assert_int_eq(first, 0);
    ck_assert_int_gt(second, 150); /* who came first to one of the 256 places has its own again */
    ck_assert_int_le(second, 256);
    for (int i = 0; i < REQUESTS; i++) {
        slw_cached *entry = NULL;
        const slw_code code = slw_store_lookup(store, keys[i], world.spec, &entry, NULL);
        ck_assert(code == SLW_OK || code == SLW_E_INVALID_ENTRY);
        slw_cached_discard(&entry);
    }
    slw_store_close(&store);
}
END_TEST

typedef struct member {
    slw_store *store;
    unsigned number;
    int hits;
} member;

static void *ask_many(void *argument) {
    member *m = argument;
    for (unsigned i = 0; i < REQUESTS; i++) ask(m->store, (int)((i * 7u + m->number) % REQUESTS), &m->hits);
    return NULL;
}

/* Those that share a key wait for one another's lock, and never for one another's result. */
START_TEST(no_false_company) {
    slw_store *store = slk_open(&world);
    pthread_t threads[THREADS];
    member members[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        members[i] = (member){store, i, 0};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_many, &members[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    slw_store_close(&store);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("short keys");
    TCase *c = tcase_create("eight bits");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, no_false_hit);
    tcase_add_test(c, no_false_company);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
