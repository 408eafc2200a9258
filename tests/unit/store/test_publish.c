/* A publication, call by call: the order in which things are made, synced and named, and what a failure at the end
   leaves. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault_os.h"
#include "store_kit.h"

static slk_world world;
static slw_store *store;

static const slk_file nested[] = {{"a/b/deep", "deep", 4, 0600},
                                  {"a/near", "near", 4, 0600},
                                  {"bin/tool", "#!", 2, 0755},
                                  {"kernel/source.pto", "k", 1, 0644},
                                  {"kernel_config.py", "c", 1, 0444}};

static void begin(const char *domain) {
    slk_world_make(&world, domain);
    world.build.files = nested;
    world.build.file_count = 5;
    store = slk_open(&world);
}

static void end(void) {
    slw_store_close(&store);
    slk_world_end(&world);
}

static int ends_with(const char *text, const char *end_text) {
    const size_t a = strlen(text), b = strlen(end_text);
    return a >= b && strcmp(text + a - b, end_text) == 0;
}

/* The place in the log of the only successful call on a path that ends so. */
static size_t only(slt_call call, const char *path) {
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < slt_log_size(); i++) {
        const slt_log_entry entry = slt_log_at(i);
        if (entry.call != call || entry.result < 0 || !ends_with(entry.path, path)) continue;
        ck_assert_msg(found == SIZE_MAX, "%s of %s happens twice", slt_call_name(call), path);
        found = i;
    }
    ck_assert_msg(found != SIZE_MAX, "no %s of %s", slt_call_name(call), path);
    return found;
}

/* The name of the staging directory, from the log. */
static void staging_of(char out[64]) {
    for (size_t i = 0; i < slt_log_size(); i++) {
        const slt_log_entry entry = slt_log_at(i);
        const char *name = strstr(entry.path, "/.tmp.");
        if (entry.call != SLT_MKDIRAT || entry.result < 0 || name == NULL || strchr(name + 1, '/') != NULL) continue;
        ck_assert_uint_lt(strlen(name), 64);
        strcpy(out, name);
        return;
    }
    ck_abort_msg("no staging directory was made");
}

static size_t synced(const char *staging, const char *path) {
    char whole[256];
    snprintf(whole, sizeof whole, "%s%s", staging, path);
    return only(SLT_FSYNC, whole);
}

static void expect_order(const size_t *places, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (places[i - 1] >= places[i]) {
            slt_log_print();
            ck_abort_msg("step %zu comes before step %zu", i, i - 1);
        }
}

START_TEST(the_order_of_a_publication) {
    char staging[64];
    begin(SLW_DOMAIN_DEFAULT);
    slt_fault_os_install(NULL);
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    staging_of(staging);
    const size_t last_file = synced(staging, "/kernel_config.py");
    const size_t deep = synced(staging, "/a/b"), a = synced(staging, "/a"), bin = synced(staging, "/bin"),
                 kernel = synced(staging, "/kernel");
    size_t first_self = SIZE_MAX, second_self = SIZE_MAX;
    for (size_t i = 0; i < slt_log_size(); i++) {
        const slt_log_entry entry = slt_log_at(i);
        if (entry.call != SLT_FSYNC || !ends_with(entry.path, staging)) continue;
        if (first_self == SIZE_MAX) first_self = i;
        second_self = i;
    }
    const size_t marker = synced(staging, "/artifact_manifest.json");
    const size_t renamed = only(SLT_RENAME_NOREPLACE, "/generated");
    const size_t parent = only(SLT_FSYNC, slw_spec_digest(world.spec));
    const size_t key_directory = only(SLT_FSYNC, slw_key_digest(world.key));
    const size_t root = only(SLT_FSYNC, "/root");
    const size_t order[] = {last_file, deep, a, first_self, marker, second_self, renamed, parent, key_directory, root};
    expect_order(order, sizeof order / sizeof *order);
    const size_t others[] = {last_file, kernel, first_self}, more[] = {last_file, bin, first_self};
    expect_order(others, 3);
    expect_order(more, 3);
    ck_assert_int_eq(strncmp(staging, "/.tmp.", 6), 0);
    ck_assert_uint_eq(strlen(staging), strlen("/.tmp.") + 8 + 1 + 24);
    slt_fault_os_remove();
    end();
}
END_TEST

START_TEST(modes_of_what_is_published) {
    begin(SLW_DOMAIN_DEFAULT);
    (void)umask(0002);
    slk_publish(&world);
    const char *slot = slk_slot(&world, world.key, world.spec);
    ck_assert_uint_eq(slk_mode(slot), 0700);
    ck_assert_uint_eq(slk_mode(slt_path(slot, "bin", NULL)), 0755);
    ck_assert_uint_eq(slk_mode(slt_path(slot, "bin/tool", NULL)), 0700);
    ck_assert_uint_eq(slk_mode(slt_path(slot, "kernel_config.py", NULL)), 0600);
    ck_assert_uint_eq(slk_mode(slk_marker(&world)), 0644);
    ck_assert_uint_eq(slk_mode(slt_path(world.root, "artifacts", NULL)), 0755);
    end();
}
END_TEST

START_TEST(the_tag_and_the_stamp_are_of_the_default_domain) {
    begin(_i == 0 ? SLW_DOMAIN_DEFAULT : SLW_DOMAIN_PYPTO);
    slk_publish(&world);
    const char *slot = slk_slot(&world, world.key, world.spec);
    ck_assert_int_eq(slk_exists(slt_path(world.root, "CACHEDIR.TAG", NULL)), _i == 0);
    ck_assert_int_eq(slk_exists(slt_path(slot, "../.used", NULL)), _i == 0);
    if (_i == 0) {
        char *tag = slt_read_file(slt_path(world.root, "CACHEDIR.TAG", NULL), NULL);
        ck_assert_int_eq(strncmp(tag, "Signature: 8a477f597d28d172789f06886806bc55\n", 44), 0);
        free(tag);
    }
    end();
}
END_TEST

/* At most once an hour; a clock that was set back counts as long ago. */
START_TEST(the_stamp_moves_once_an_hour) {
    begin(SLW_DOMAIN_DEFAULT);
    slk_publish(&world);
    slt_fault_os_install(NULL);
    slk_world_expect(&world, store, SLW_HIT, SLW_FAILURE_NONE);
    ck_assert_uint_eq(slt_fault_os_count(SLT_UTIME), 0);
    slt_fault_os_shift_wall(INT64_C(3700000000000));
    slk_world_expect(&world, store, SLW_HIT, SLW_FAILURE_NONE);
    ck_assert_uint_eq(slt_fault_os_count(SLT_UTIME), 1);
    slk_world_expect(&world, store, SLW_HIT, SLW_FAILURE_NONE);
    ck_assert_uint_eq(slt_fault_os_count(SLT_UTIME), 1);
    slt_fault_os_shift_wall(-INT64_C(7400000000000));
    slk_world_expect(&world, store, SLW_HIT, SLW_FAILURE_NONE);
    ck_assert_uint_eq(slt_fault_os_count(SLT_UTIME), 2);
    slk_expect_verdict(&world, store, "HIT"); /* a lookup never stamps */
    ck_assert_uint_eq(slt_fault_os_count(SLT_UTIME), 2);
    slt_fault_os_remove();
    end();
}
END_TEST

START_TEST(a_rename_that_failed_though_done_is_a_publication) {
    begin(SLW_DOMAIN_DEFAULT);
    slt_fault_os_install(NULL);
    slt_fault_os_add((slt_fault){.call = SLT_RENAME_NOREPLACE, .nth = 1, .error_number = EIO, .after = 1});
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    ck_assert_uint_eq(slt_fault_os_fired(), 1);
    slt_fault_os_remove();
    slk_expect_verdict(&world, store, "HIT");
    end();
}
END_TEST

START_TEST(without_noreplace_a_plain_rename_does) {
    begin(SLW_DOMAIN_DEFAULT);
    slt_fault_os_install(NULL);
    slt_fault_os_add(
        (slt_fault){.call = SLT_RENAME_NOREPLACE, .nth = 1, .every = 1, .error_number = _i == 0 ? EINVAL : ENOSYS});
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    ck_assert_uint_eq(slt_fault_os_count(SLT_RENAME), 1);
    slw_store_health health = {.size = sizeof health};
    slw_error err = SLW_ERROR_INIT;
    slt_ok(slw_store_examine(store, 0, &health, &err), &err);
    ck_assert_int_eq(health.no_replace, 0);
    slt_fault_os_remove();
    slk_expect_verdict(&world, store, "HIT");
    end();
}
END_TEST

START_TEST(a_failed_parent_sync_keeps_both) {
    slk_result result;
    begin(SLW_DOMAIN_DEFAULT);
    slt_fault_os_install(NULL);
    /* 5 files, 4 directories, the staging directory, the manifest, the staging directory again: the 13th is the
       parent. */
    slt_fault_os_add((slt_fault){.call = SLT_FSYNC, .nth = 13, .error_number = EIO});
    slk_world_get(&world, store, &result);
    ck_assert_uint_eq(slt_fault_os_fired(), 1);
    const size_t renamed = only(SLT_RENAME_NOREPLACE, "/generated");
    ck_assert_int_lt(slt_log_at(slt_log_find(renamed, SLT_FSYNC, slw_spec_digest(world.spec))).result, 0);
    slt_fault_os_remove();
    slk_expect(&result, SLW_PRIVATE, SLW_FAILURE_PUBLICATION);
    ck_assert_msg(strstr(result.report.reason, "EIO") != NULL, "%s", result.report.reason);
    slk_result_release(&result);
    slk_expect_verdict(&world, store, "HIT");
    end();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store publish");
    TCase *tests = tcase_create("publish");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, the_order_of_a_publication);
    tcase_add_test(tests, modes_of_what_is_published);
    tcase_add_loop_test(tests, the_tag_and_the_stamp_are_of_the_default_domain, 0, 2);
    tcase_add_test(tests, the_stamp_moves_once_an_hour);
    tcase_add_test(tests, a_rename_that_failed_though_done_is_a_publication);
    tcase_add_loop_test(tests, without_noreplace_a_plain_rename_does, 0, 2);
    tcase_add_test(tests, a_failed_parent_sync_keeps_both);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
