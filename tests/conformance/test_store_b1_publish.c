/* Conformance list B1, rows 19 to 23 and 28: a publication that goes wrong never costs the build, and never makes a
   wrong hit. */
#include "store_kit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const domains[2] = {SLW_DOMAIN_PYPTO, SLW_DOMAIN_DEFAULT};

/* One test's replacement of the operating system; a test runs in a process of its own. */
static struct {
    int armed;
    int after_rename;
    char final[1024];
    char saved[512]; /* a good slot, to be put where the publication wants to go */
} trap;

static int in_staging(int fd, const char *ending) {
    char path[4096];
    slk_descriptor_path(fd, path);
    if (strstr(path, "/.tmp.") == NULL) return 0;
    const size_t size = strlen(path), tail = strlen(ending);
    return size >= tail && strcmp(path + size - tail, ending) == 0;
}

static int64_t failing_copy(const slwi_os *os, int fd, const void *data, size_t size) {
    if (trap.armed && in_staging(fd, "/kernel/source.pto")) return -ENOSPC;
    return os->next->write(os->next, fd, data, size);
}

static int64_t failing_marker(const slwi_os *os, int fd, const void *data, size_t size) {
    if (trap.armed && in_staging(fd, "/artifact_manifest.json")) return -EDQUOT;
    return os->next->write(os->next, fd, data, size);
}

static int failing_rename(const slwi_os *os, int from, const char *from_name, int to, const char *to_name) {
    if (trap.armed) return -EIO;
    return os->next->rename_noreplace(os->next, from, from_name, to, to_name);
}

static int is_directory(const slwi_os *os, int fd) {
    slwi_stat st;
    return os->next->fstat(os->next, fd, &st) == 0 && S_ISDIR(st.mode);
}

static int failing_sync(const slwi_os *os, int fd) {
    if (trap.armed && is_directory(os, fd)) return -EIO;
    return os->next->fsync(os->next, fd);
}

static int noting_rename(const slwi_os *os, int from, const char *from_name, int to, const char *to_name) {
    const int result = os->next->rename_noreplace(os->next, from, from_name, to, to_name);
    if (result == 0) trap.after_rename = 1;
    return result;
}

static int failing_last_sync(const slwi_os *os, int fd) {
    if (trap.armed && trap.after_rename) return -EIO;
    return os->next->fsync(os->next, fd);
}

/* ---- rows 19 and 20 ---- */

static void expect_private_with(slk_world *world, slw_store *store, const char *raw_name) {
    slk_result result;
    slk_world_get(world, store, &result);
    slk_expect(&result, SLW_PRIVATE, SLW_FAILURE_PUBLICATION);
    ck_assert_msg(strstr(result.report.reason, raw_name) != NULL, "%s", result.report.reason);
    ck_assert_ptr_eq(result.report.value, world->build.value);
    slk_expect_files(result.entry, slk_fixture_files, 2);
    ck_assert_int_eq(strncmp(slw_cached_directory(result.entry), world->private_root, strlen(world->private_root)), 0);
    slk_result_release(&result);
    ck_assert_uint_eq(slk_names(world->private_root), 0);
}

START_TEST(b1_19_publication_failures_retain_private_build) {
    slk_world world;
    slk_world_make(&world, domains[_i / 4]);
    slwi_os table = slk_table();
    static const char *const raw_names[4] = {"ENOSPC", "EDQUOT", "EIO", "EIO"};
    switch (_i % 4) {
    case 0:
        table.write = failing_copy;
        break;
    case 1:
        table.write = failing_marker;
        break;
    case 2:
        table.rename_noreplace = failing_rename;
        break;
    default:
        table.fsync = failing_sync;
        break;
    }
    slwi_os_replace(&table);
    slw_store *store = slk_open(&world);
    const int descriptors = slt_open_descriptors();
    trap.armed = 1;
    expect_private_with(&world, store, raw_names[_i % 4]);
    trap.armed = 0;
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
    slk_expect_verdict(&world, store, "MISS");
    ck_assert_uint_eq(slk_leftovers(world.root), 0);
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slk_expect_verdict(&world, store, "HIT");
    slw_store_close(&store);
    slwi_os_replace(NULL);
    slk_world_end(&world);
}
END_TEST

START_TEST(b1_20_failed_parent_sync_after_rename_keeps_both_valid_outputs) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    slwi_os table = slk_table();
    table.rename_noreplace = noting_rename;
    table.fsync = failing_last_sync;
    slwi_os_replace(&table);
    slw_store *store = slk_open(&world);
    trap.armed = 1;
    expect_private_with(&world, store, "EIO");
    ck_assert(trap.after_rename);
    slk_expect_verdict(&world, store, "HIT");
    ck_assert_uint_eq(slk_leftovers(world.root), 0);
    slk_world_expect(&world, store, SLW_HIT, SLW_FAILURE_NONE);
    slw_store_close(&store);
    slwi_os_replace(NULL);
    slk_world_end(&world);
}
END_TEST

/* ---- row 21 ---- */

static int empty_winner(const slwi_os *os, int from, const char *from_name, int to, const char *to_name) {
    if (trap.armed) ck_assert(mkdir(trap.final, 0700) == 0 || errno == EEXIST);
    return os->next->rename_noreplace(os->next, from, from_name, to, to_name);
}

static int good_winner(const slwi_os *os, int from, const char *from_name, int to, const char *to_name) {
    if (trap.armed) slt_shell("test -e '%s' || cp -a '%s' '%s'", trap.final, trap.saved, trap.final);
    return os->next->rename_noreplace(os->next, from, from_name, to, to_name);
}

/* There is a winner at the first try, and it is gone again when the loser looks. */
static int vanishing_winner(const slwi_os *os, int from, const char *from_name, int to, const char *to_name) {
    if (trap.armed) {
        trap.armed = 0;
        return -EEXIST;
    }
    return os->next->rename_noreplace(os->next, from, from_name, to, to_name);
}

START_TEST(b1_21_no_replace_preserves_even_an_empty_destination_created_during_build) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    snprintf(trap.final, sizeof trap.final, "%s", slk_slot(&world, world.key, world.spec));
    slwi_os table = slk_table();
    table.rename_noreplace = empty_winner;
    slwi_os_replace(&table);
    slw_store *store = slk_open(&world);
    trap.armed = 1;
    slk_world_expect(&world, store, SLW_PRIVATE, SLW_FAILURE_PUBLICATION);
    ck_assert_uint_eq(slk_names(trap.final), 0);
    ck_assert_uint_eq(slk_leftovers(world.root), 0);
    slk_expect_verdict(&world, store, "INVALID");
    slw_store_close(&store);
    slwi_os_replace(NULL);
    slk_world_end(&world);
}
END_TEST

START_TEST(b1_21_a_loser_takes_a_valid_winner_and_not_its_own_value) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    slk_publish(&world);
    snprintf(trap.final, sizeof trap.final, "%s", slk_slot(&world, world.key, world.spec));
    snprintf(trap.saved, sizeof trap.saved, "%s/saved", world.scratch);
    ck_assert_int_eq(rename(trap.final, trap.saved), 0);
    slwi_os table = slk_table();
    table.rename_noreplace = good_winner;
    slwi_os_replace(&table);
    slw_store *store = slk_open(&world);
    trap.armed = 1;
    const int released = atomic_load(&world.build.released);
    slk_world_expect(&world, store, SLW_HIT, SLW_FAILURE_NONE); /* checks that value and directory are absent */
    ck_assert_int_eq(atomic_load(&world.build.calls), 2);
    ck_assert_int_eq(atomic_load(&world.build.released), released + 1);
    ck_assert_uint_eq(slk_leftovers(world.root), 0);
    ck_assert_uint_eq(slk_names(world.private_root), 0);
    slw_store_close(&store);
    slwi_os_replace(NULL);
    slk_world_end(&world);
}
END_TEST

START_TEST(b1_21_a_winner_that_is_gone_again_is_tried_once_more) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    slwi_os table = slk_table();
    table.rename_noreplace = vanishing_winner;
    slwi_os_replace(&table);
    slw_store *store = slk_open(&world);
    trap.armed = 1;
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    ck_assert_uint_eq(slk_leftovers(world.root), 0);
    slk_expect_verdict(&world, store, "HIT");
    slw_store_close(&store);
    slwi_os_replace(NULL);
    slk_world_end(&world);
}
END_TEST

/* Where there is no RENAME_NOREPLACE: a plain rename, which an empty directory does not stop, so it is looked at
   first. */
static int no_replace_missing(const slwi_os *os, int from, const char *from_name, int to, const char *to_name) {
    (void)os, (void)from, (void)from_name, (void)to, (void)to_name;
    return trap.armed == 1 ? -ENOSYS : -EINVAL;
}

START_TEST(b1_21_without_no_replace_a_plain_rename_publishes) {
    slk_world world;
    slk_world_make(&world, domains[_i / 2]);
    slwi_os table = slk_table();
    table.rename_noreplace = no_replace_missing;
    trap.armed = _i % 2;
    slwi_os_replace(&table);
    slw_store *store = slk_open(&world);
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slk_world_expect(&world, store, SLW_HIT, SLW_FAILURE_NONE);
    ck_assert_uint_eq(slk_leftovers(world.root), 0);
    slw_store_close(&store);
    slwi_os_replace(NULL);
    slk_world_end(&world);
}
END_TEST

/* ---- row 22 ---- */

static int lock_errno;
static int failing_lock(const slwi_os *os, int fd) {
    (void)os, (void)fd;
    return -lock_errno;
}

START_TEST(b1_22_lock_failure_falls_back_but_builder_oserror_propagates) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    slwi_os table = slk_table();
    table.lock = failing_lock;
    lock_errno = EIO;
    slwi_os_replace(&table);
    slw_store *store = slk_open(&world);
    slk_result result;
    slk_world_get(&world, store, &result);
    slk_expect(&result, SLW_PRIVATE, SLW_FAILURE_LOCK);
    ck_assert_ptr_nonnull(strstr(result.report.reason, "lock"));
    ck_assert_ptr_nonnull(strstr(result.report.reason, "EIO"));
    slk_expect_files(result.entry, slk_fixture_files, 2);
    slk_result_release(&result);
    slk_expect_verdict(&world, store, "MISS");

    static const slw_code codes[4] = {SLW_E_STORAGE, SLW_E_LOCK, SLW_E_PUBLICATION, SLW_E_BUILDER_FIRST + 7};
    for (int locked = 0; locked < 2; locked++) {
        for (int i = 0; i < 4; i++) {
            world.build.code = codes[i];
            slk_world_get(&world, store, &result);
            ck_assert_int_eq(result.code, codes[i]);
            ck_assert_str_eq(result.err.reason, "BUILDER_SAID_NO");
            ck_assert_ptr_nonnull(strstr(result.err.message, "builder said no"));
            slk_result_release(&result);
        }
        slwi_os_replace(NULL); /* and the same with a lock */
    }
    ck_assert_uint_eq(slk_names(world.private_root), 0);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

START_TEST(b1_22_a_file_system_without_locks_publishes_without_one) {
    static const int numbers[3] = {ENOLCK, EOPNOTSUPP, ENOSYS};
    slk_world world;
    slk_world_make(&world, domains[_i / 3]);
    slwi_os table = slk_table();
    table.lock = failing_lock;
    lock_errno = numbers[_i % 3];
    slwi_os_replace(&table);
    slw_store *store = slk_open(&world);
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slk_world_expect(&world, store, SLW_HIT, SLW_FAILURE_NONE);
    slw_store_close(&store);
    slwi_os_replace(NULL);
    slk_world_end(&world);
}
END_TEST

/* ---- row 23 ---- */

START_TEST(b1_23_builder_failure_releases_lock_and_missing_outputs_propagate) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    slw_store_options options = slk_options(&world);
    options.lock_timeout_ns = 200000000; /* a lock that stayed would be seen */
    slw_store *store = slk_open_options(&options);
    const int descriptors = slt_open_descriptors();
    slk_result result;
    world.build.code = SLW_E_BUILDER_FIRST + 3;
    slk_world_get(&world, store, &result);
    ck_assert_int_eq(result.code, SLW_E_BUILDER_FIRST + 3);
    slk_result_release(&result);
    ck_assert_uint_eq(slk_names(world.private_root), 0);

    world.build.code = SLW_OK;
    world.build.file_count = 1; /* kernel_config.py is missing */
    slk_world_get(&world, store, &result);
    ck_assert_int_eq(result.code, SLW_E_INVALID_SOURCE);
    ck_assert_str_eq(result.err.subject, "kernel_config.py");
    slk_result_release(&result);
    ck_assert_uint_eq(slk_names(world.private_root), 0);
    ck_assert_int_eq(atomic_load(&world.build.released), 1); /* the value of the build that was no good */
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
    slk_expect_verdict(&world, store, "MISS");

    world.build.file_count = 2;
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

static slw_code unsafe_output(slk_build *self, const slw_build_context *build, slw_error *err) {
    const int *which = self->context;
    (void)err;
    const char *path = slt_path(build->directory, *which == 2 ? "back\\slash" : "unsafe", NULL);
    if (*which == 0) ck_assert_int_eq(symlink("kernel_config.py", path), 0);
    if (*which == 1) ck_assert_int_eq(mkfifo(path, 0600), 0);
    if (*which == 2) slt_write_file(path, "x", 1, 0600);
    return SLW_OK;
}

START_TEST(b1_23_an_unsafe_payload_is_the_builders_fault) {
    static const char *const subjects[3] = {"unsafe", "unsafe", "back\\slash"};
    slk_world world;
    slk_world_make(&world, domains[_i / 3]);
    int which = _i % 3;
    world.build.before = unsafe_output;
    world.build.context = &which;
    slw_store *store = slk_open(&world);
    slk_result result;
    slk_world_get(&world, store, &result);
    ck_assert_int_eq(result.code, SLW_E_INVALID_SOURCE);
    ck_assert_str_eq(result.err.subject, subjects[which]);
    slk_result_release(&result);
    slk_expect_verdict(&world, store, "MISS");
    ck_assert_uint_eq(slk_names(world.private_root), 0);
    world.build.before = NULL;
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

/* ---- row 28 ---- */

static int64_t corrupting_copy(const slwi_os *os, int fd, const void *data, size_t size) {
    if (!trap.armed || size == 0 || !in_staging(fd, "/kernel/source.pto"))
        return os->next->write(os->next, fd, data, size);
    char *changed = malloc(size);
    ck_assert_ptr_nonnull(changed);
    memcpy(changed, data, size);
    changed[size - 1] ^= 1;
    const int64_t written = os->next->write(os->next, fd, changed, size);
    free(changed);
    return written;
}

START_TEST(b1_28_copy_corruption_never_publishes) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    slwi_os table = slk_table();
    table.write = corrupting_copy;
    slwi_os_replace(&table);
    slw_store *store = slk_open(&world);
    trap.armed = 1;
    slk_world_expect(&world, store, SLW_PRIVATE, SLW_FAILURE_PUBLICATION);
    slk_expect_verdict(&world, store, "MISS");
    ck_assert_uint_eq(slk_leftovers(world.root), 0);
    trap.armed = 0;
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slw_store_close(&store);
    slwi_os_replace(NULL);
    slk_world_end(&world);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store B1: publication");
    TCase *rows = tcase_create("rows");
    tcase_set_timeout(rows, 120);
    tcase_add_loop_test(rows, b1_19_publication_failures_retain_private_build, 0, 8);
    tcase_add_loop_test(rows, b1_20_failed_parent_sync_after_rename_keeps_both_valid_outputs, 0, 2);
    tcase_add_loop_test(rows, b1_21_no_replace_preserves_even_an_empty_destination_created_during_build, 0, 2);
    tcase_add_loop_test(rows, b1_21_a_loser_takes_a_valid_winner_and_not_its_own_value, 0, 2);
    tcase_add_loop_test(rows, b1_21_a_winner_that_is_gone_again_is_tried_once_more, 0, 2);
    tcase_add_loop_test(rows, b1_21_without_no_replace_a_plain_rename_publishes, 0, 4);
    tcase_add_loop_test(rows, b1_22_lock_failure_falls_back_but_builder_oserror_propagates, 0, 2);
    tcase_add_loop_test(rows, b1_22_a_file_system_without_locks_publishes_without_one, 0, 6);
    tcase_add_loop_test(rows, b1_23_builder_failure_releases_lock_and_missing_outputs_propagate, 0, 2);
    tcase_add_loop_test(rows, b1_23_an_unsafe_payload_is_the_builders_fault, 0, 6);
    tcase_add_loop_test(rows, b1_28_copy_corruption_never_publishes, 0, 2);
    suite_add_tcase(suite, rows);
    return slt_run(suite, NULL);
}
