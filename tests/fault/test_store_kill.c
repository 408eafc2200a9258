/* SIGKILL at every system call of a publication, before it and after it: afterwards the entry is absent or complete,
 * the next request works, and sweeps what the dead process left in the store. */
#include "store_kit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault_os.h"
#include "file.h"

typedef struct killing {
    slk_world world;
    int scratch_fd;
    slt_fault fault;
    unsigned complete; /* how often the entry was there afterwards */
    unsigned absent;
    unsigned swept; /* how often staging had been left */
} killing;

static int publish_and_die(void *context) {
    const killing *k = context;
    slw_error err = SLW_ERROR_INIT;
    slw_store *store = slk_open(&k->world);
    slw_cached *entry = NULL;
    slt_fault_os_install(NULL);
    slt_fault_os_add(k->fault);
    if (slw_store_get_or_build(store, k->world.key, k->world.spec, &k->world.builder, NULL, &entry, &err) != SLW_OK)
        return 1;
    slw_cached_discard(&entry);
    slw_store_close(&store);
    return 2;
}

static void clear(killing *k) {
    ck_assert_int_eq(slwi_remove_tree(slwi_os_real(), k->scratch_fd, "root"), 0);
    ck_assert_int_eq(slwi_remove_tree(slwi_os_real(), k->scratch_fd, "private"), 0);
    ck_assert_int_eq(mkdir(k->world.private_root, 0700), 0);
}

static void kill_at(killing *k, uint64_t nth, int after) {
    k->fault = (slt_fault){.call = SLT_ANY, .nth = nth, .kill = 1, .after = after};
    clear(k);
    ck_assert_int_eq(slk_child(publish_and_die, k), 128 + SIGKILL);
    slw_store *store = slk_open(&k->world);
    const size_t left = slk_leftovers(k->world.root);
    const char *verdict = slk_world_verdict(&k->world, store);
    ck_assert_msg(strcmp(verdict, "HIT") == 0 || strcmp(verdict, "MISS") == 0, "killed %s call %llu: %s",
                  after ? "after" : "before", (unsigned long long)nth, verdict);
    ck_assert_uint_eq(slk_leftovers(k->world.root), left); /* a lookup sweeps nothing */
    if (verdict[0] == 'H')
        k->complete++;
    else
        k->absent++;
    k->swept += left > 0;
    slk_result result;
    slk_world_get(&k->world, store, &result);
    ck_assert_msg(result.code == SLW_OK && result.report.disposition == (verdict[0] == 'H' ? SLW_HIT : SLW_PUBLISHED),
                  "killed %s call %llu: then %s %s: %s", after ? "after" : "before", (unsigned long long)nth,
                  slw_code_name(result.code), slw_disposition_name(result.report.disposition), result.report.reason);
    slk_expect_files(result.entry, slk_fixture_files, 2);
    slk_result_release(&result);
    ck_assert_msg(slk_leftovers(k->world.root) == 0, "killed %s call %llu: staging is left", after ? "after" : "before",
                  (unsigned long long)nth);
    slk_expect_verdict(&k->world, store, "HIT");
    slw_store_close(&store);
}

static int count_calls(void *context) {
    atomic_int *count = context;
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slw_error err = SLW_ERROR_INIT;
    slw_store *store = slk_open(&world);
    slw_cached *entry = NULL;
    slt_fault_os_install(NULL);
    if (slw_store_get_or_build(store, world.key, world.spec, &world.builder, NULL, &entry, &err) != SLW_OK) return 1;
    atomic_store(count, (int)slt_fault_os_count(SLT_ANY));
    slt_shell("rm -rf '%s'", world.scratch);
    return 0;
}

static void run(int stride, unsigned phase) {
    killing k;
    atomic_int *calls = slk_shared(sizeof *calls);
    ck_assert_int_eq(slk_child(count_calls, calls), 0);
    ck_assert_int_gt(atomic_load(calls), 60);
    memset(&k, 0, sizeof k);
    slk_world_make(&k.world, SLW_DOMAIN_DEFAULT);
    k.scratch_fd = open(k.world.scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(k.scratch_fd, 0);
    for (int nth = 1 + (int)phase; nth <= atomic_load(calls); nth += stride) {
        for (int after = 0; after < 2; after++) kill_at(&k, (uint64_t)nth, after);
    }
    ck_assert_uint_gt(k.absent, 2);
    ck_assert_uint_gt(k.complete, 0);
    ck_assert_uint_gt(k.swept, 0);
    close(k.scratch_fd);
    slk_world_end(&k.world);
}

/* In memory where that can be had; elsewhere it takes longer, and is no less to be shown. */
START_TEST(killed_at_every_call) {
    slk_use_memory();
    run(1, 0);
}
END_TEST

/* With real syncs each run is dear, so every eleventh call. */
START_TEST(killed_at_some_calls_on_the_ordinary_file_system) {
    run(11, 5);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store kill");
    TCase *all = tcase_create("every system call");
    tcase_set_timeout(all, 600);
    tcase_add_test(all, killed_at_every_call);
    tcase_add_test(all, killed_at_some_calls_on_the_ordinary_file_system);
    suite_add_tcase(suite, all);
    return slt_run(suite, NULL);
}
