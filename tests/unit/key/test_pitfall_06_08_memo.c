/* Pitfalls 6, 7 and 8: when a stat identity stands for bytes, and who may say so. */
#include "memo_kit.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "identity_mix.h"
#include "memo_table.h"

static const char *place, *tree;

static void prepare(void) {
    place = memo_place();
    tree = slt_scratch();
    kit_put(tree, "a", "content");
    memo_fake();
}

static void remembered(void) {
    ck_assert_uint_eq(memo_run(place, tree).read, 1);
    ck_assert_uint_eq(memo_run(place, tree).known, 1);
}

static void not_remembered(void) {
    (void)memo_run(place, tree);
    const memo_count again = memo_run(place, tree);
    ck_assert_uint_eq(again.known, 0);
    ck_assert_uint_eq(again.read, 1);
}

/* ---- 6: equal stat identity, other bytes ---- */

START_TEST(pitfall_06_another_file_system_boot_or_mount_is_another_file) {
    prepare();
    remembered();
    fake_fs.id = 78;
    ck_assert_uint_eq(memo_run(place, tree).known, 0);
    ck_assert_uint_eq(memo_run(place, tree).known, 1);
    fake_boot = "0f3c1c2e-0000-4000-8000-000000000002";
    ck_assert_uint_eq(memo_run(place, tree).known, 0);
    ck_assert_uint_eq(memo_run(place, tree).known, 1);
    fake_mount = 10;
    ck_assert_uint_eq(memo_run(place, tree).known, 0);
    ck_assert_uint_eq(memo_run(place, tree).known, 1);
}
END_TEST

START_TEST(pitfall_06_other_file_systems_are_not_remembered) {
    prepare();
    fake_fs.memo_allowed = 0;
    not_remembered();
}
END_TEST

START_TEST(pitfall_06_nor_without_a_boot_id) {
    prepare();
    fake_boot = "";
    not_remembered();
}
END_TEST

START_TEST(pitfall_06_the_real_table_knows_which_file_systems_qualify) {
    slwi_fs fs;
    const slwi_os *os = slwi_os_real();
    const int fd = os->openat(os, AT_FDCWD, "/proc/self/stat", O_RDONLY, 0);
    if (fd < 0) {
        slt_skip("pitfall_06_the_real_table_knows_which_file_systems_qualify", "there is no /proc");
        return;
    }
    ck_assert_int_eq(os->fstatfs(os, fd, &fs), 0);
    ck_assert_int_eq(fs.memo_allowed, 0);
    ck_assert_int_eq(os->close(os, fd), 0);
}
END_TEST

/* ---- 7: age, and writers by mmap ---- */

START_TEST(pitfall_07_what_is_younger_than_two_seconds_is_not_remembered) {
    prepare();
    fake_age_ns = INT64_C(1000000000);
    not_remembered();
    fake_age_ns = 0;
    not_remembered();
}
END_TEST

START_TEST(pitfall_07_what_comes_from_the_future_is_never_remembered) {
    prepare();
    fake_age_ns = INT64_C(-100000000000);
    not_remembered();
}
END_TEST

static int64_t stepped_ns;
static int64_t stepped_wall(const slwi_os *os) {
    return os->next->wall_ns(os->next) + stepped_ns;
}

START_TEST(pitfall_07_the_file_systems_clock_decides_not_the_wall) {
    prepare();
    fake_age_ns = 0;
    fake.wall_ns = stepped_wall;
    stepped_ns = INT64_C(3600000000000); /* by the wall clock the file is an hour old */
    not_remembered();
}
END_TEST

START_TEST(pitfall_07_two_seconds_later_it_is_remembered) {
    prepare();
    fake_age_ns = 0;
    (void)usleep(2200000);
    remembered();
}
END_TEST

START_TEST(pitfall_07_without_a_lease_our_own_file_is_not_remembered) {
    prepare();
    fake_lease = -EAGAIN;
    not_remembered();
}
END_TEST

/* 1 when this file system grants leases at all. */
static int leases_work(const char *path) {
    const slwi_os *os = slwi_os_real();
    const int fd = os->openat(os, AT_FDCWD, path, O_RDONLY, 0);
    const int r = os->lease_read(os, fd);
    ck_assert_int_eq(os->close(os, fd), 0);
    return r == 0;
}

START_TEST(pitfall_07_a_writer_or_a_shared_mapping_keeps_it_out) {
    prepare();
    const char *path = slt_path(tree, "a", NULL);
    if (!leases_work(path)) {
        slt_skip("pitfall_07_a_writer_or_a_shared_mapping_keeps_it_out", "no leases here");
        return;
    }
    fake_lease = 1;
    const int fd = open(path, O_RDWR);
    ck_assert_int_ge(fd, 0);
    not_remembered();
    char *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(mapped, MAP_FAILED);
    mapped[0] = 'C'; /* dirty: the next store changes bytes and no time */
    ck_assert_int_eq(close(fd), 0);
    const memo_count before = memo_run(place, tree);
    mapped[0] = 'K';
    const memo_count after = memo_run(place, tree);
    ck_assert_uint_eq(after.known, 0);
    ck_assert(!kit_same(&before.digest, &after.digest));
    ck_assert_int_eq(munmap(mapped, 4096), 0);
    remembered();
}
END_TEST

/* The kernel tells the holder of a lease that somebody waits for it, by default with a signal that ends the process. */
START_TEST(pitfall_07_a_writer_that_waits_for_the_lease_does_not_end_us) {
    prepare();
    const char *path = slt_path(tree, "a", NULL);
    if (!leases_work(path)) {
        slt_skip("pitfall_07_a_writer_that_waits_for_the_lease_does_not_end_us", "no leases here");
        return;
    }
    const slwi_os *os = slwi_os_real();
    const int fd = os->openat(os, AT_FDCWD, path, O_RDONLY, 0);
    ck_assert_int_eq(os->lease_read(os, fd), 0);
    const pid_t writer = fork();
    if (writer == 0) _exit(open(path, O_WRONLY | O_NONBLOCK) >= 0 || errno != EWOULDBLOCK);
    int status = 0;
    ck_assert_int_eq(waitpid(writer, &status, 0), writer);
    ck_assert_int_eq(status, 0);
    (void)usleep(50000);
    ck_assert_int_eq(os->lease_drop(os, fd), 0);
    ck_assert_int_eq(os->close(os, fd), 0);
}
END_TEST

static uint32_t other_euid(const slwi_os *os) {
    return os->next->euid(os->next) + 1;
}

START_TEST(pitfall_07_another_users_file_counts_only_when_root_alone_may_write_it) {
    place = memo_place();
    tree = slt_scratch();
    kit_put(tree, "a", "content");
    memo_fake();
    slwi_stat stat = {.uid = 0, .mode = S_IFREG | 0644};
    slwi_volume volume = {.dev = 1, .fs = fake_fs};
    slw_memo *memo = memo_open(place, 0);
    fake.euid = other_euid; /* from here on root is "another" */
    slwi_memo_ticket ticket = slwi_memo_begin(memo, -1, &stat, &volume);
    ck_assert_int_eq(ticket.allowed, 1);
    ck_assert_int_eq(ticket.leased, 0);
    stat.mode = S_IFREG | 0664;
    ck_assert_int_eq(slwi_memo_begin(memo, -1, &stat, &volume).allowed, 0);
    stat.mode = S_IFREG | 0666;
    ck_assert_int_eq(slwi_memo_begin(memo, -1, &stat, &volume).allowed, 0);
    stat.mode = S_IFREG | 0644;
    stat.uid = 4242;
    ck_assert_int_eq(slwi_memo_begin(memo, -1, &stat, &volume).allowed, 0);
    fake.euid = slwi_os_real()->euid;
    slw_memo_close(&memo);
}
END_TEST

/* ---- 8: who may write the memo ---- */

static void refused(const char *directory, const char *word) {
    slw_memo_options options = SLW_MEMO_OPTIONS_INIT;
    slw_memo *memo = NULL;
    options.directory = directory;
    for (int read_only = 0; read_only < 2; read_only++) {
        options.read_only = read_only;
        ck_assert_int_eq(slw_memo_open(&options, &memo, &err), SLW_E_STORAGE);
        ck_assert_str_eq(err.reason, "UNTRUSTED");
        ck_assert_msg(strstr(err.message, word) != NULL, "%s", err.message);
        ck_assert_ptr_null(memo);
    }
}

START_TEST(pitfall_08_a_directory_that_others_may_enter_is_refused) {
    const char *dir = slt_scratch();
    const unsigned modes[] = {0755, 0750, 0701, 0777, 01777};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        ck_assert_int_eq(chmod(dir, modes[i]), 0);
        refused(dir, "0700");
    }
    ck_assert_int_eq(chmod(dir, 0700), 0);
}
END_TEST

START_TEST(pitfall_08_a_parent_that_others_may_write_is_refused) {
    const char *dir = slt_scratch();
    const char *below = kit_dir(dir, "memo");
    ck_assert_int_eq(chmod(below, 0700), 0);
    ck_assert_int_eq(chmod(dir, 0775), 0);
    refused(below, "not trusted");
    ck_assert_int_eq(chmod(dir, 01777), 0); /* sticky: nobody else can exchange it */
    slw_memo *memo = memo_open(below, 0);
    slw_memo_close(&memo);
    ck_assert_int_eq(chmod(dir, 0700), 0);
}
END_TEST

START_TEST(pitfall_08_another_users_directory_and_links_are_refused) {
    const char *dir = slt_scratch();
    const char *theirs = kit_dir(dir, "theirs");
    ck_assert_int_eq(chmod(theirs, 0700), 0);
    ck_assert_int_eq(symlink("theirs", slt_path(dir, "link", NULL)), 0);
    slw_memo_options options = SLW_MEMO_OPTIONS_INIT;
    slw_memo *memo = NULL;
    options.directory = slt_path(dir, "link", NULL);
    ck_assert_int_eq(slw_memo_open(&options, &memo, &err), SLW_E_STORAGE);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(theirs, 4242, 4242), 0);
        refused(theirs, "another user");
    }
}
END_TEST

START_TEST(pitfall_08_any_damage_drops_the_whole_file) {
    prepare();
    remembered();
    const char *path = slt_path(place, "identity.memo", NULL);
    const slw_digest key = {{3}};
    slw_memo *memo = memo_open(place, 0);
    slwi_memo_put_answer(memo, &key, (slw_bytes){"answer", 6});
    slw_memo_close(&memo);
    size_t size = 0;
    char *good = slt_read_file(path, &size);
    const slw_digest truth = memo_run(place, tree).digest;
    for (size_t at = 0; at < size; at++) {
        good[at] = (char)(good[at] ^ 0x10);
        slt_write_file(path, good, size, 0600);
        good[at] = (char)(good[at] ^ 0x10);
        memo = memo_open(place, 1);
        const memo_count count = memo_ask(memo, SLW_IDENTITY_MEMO, tree);
        slw_text text = SLW_TEXT_INIT;
        ck_assert_msg(count.known == 0 && kit_same(&count.digest, &truth), "byte %zu", at);
        ck_assert_int_eq(slwi_memo_get_answer(memo, &key, &text, &err), SLW_E_MISS);
        slw_memo_close(&memo);
    }
    for (size_t cut = 0; cut < size; cut += 5) {
        slt_write_file(path, good, cut, 0600);
        memo = memo_open(place, 1);
        ck_assert_uint_eq(memo_ask(memo, SLW_IDENTITY_MEMO, tree).known, 0);
        slw_memo_close(&memo);
    }
    slt_write_file(path, good, size, 0600);
    ck_assert_uint_eq(memo_run(place, tree).known, 1);
    slt_write_file(path, "x", 1, 0600); /* and it begins anew */
    ck_assert_uint_eq(memo_run(place, tree).known, 0);
    ck_assert_uint_eq(memo_run(place, tree).known, 1);
    free(good);
}
END_TEST

/* Written by somebody who knows the checks: a record that names a place that is not there. */
START_TEST(pitfall_08_a_record_of_no_place_is_damage) {
    enum { PLACES_AT = 24, FILES_CHECK_AT = 56, CHECK_AT = 64, HEADER = 72, RECORD_PLACE_AT = 32 };
    prepare();
    remembered();
    const char *path = slt_path(place, "identity.memo", NULL);
    size_t size = 0;
    char *bytes = slt_read_file(path, &size);
    uint64_t places = 0, check = 0;
    memcpy(&places, bytes + PLACES_AT, sizeof places);
    ck_assert_uint_eq(places, 1);
    char *records = bytes + HEADER + sizeof(slwi_memo_place);
    for (uint32_t named = 0; named < 3; named++) {
        memcpy(records + RECORD_PLACE_AT, &named, sizeof named);
        check = slwi_mix(slwi_mix(0, bytes + HEADER, sizeof(slwi_memo_place)), records, sizeof(slwi_memo_record));
        memcpy(bytes + FILES_CHECK_AT, &check, sizeof check);
        check = slwi_mix(0, bytes, CHECK_AT);
        memcpy(bytes + CHECK_AT, &check, sizeof check);
        slt_write_file(path, bytes, size, 0600);
        slw_memo *memo = memo_open(place, 1);
        ck_assert_uint_eq(memo_ask(memo, SLW_IDENTITY_MEMO, tree).known, named == 0);
        slw_memo_close(&memo);
    }
    free(bytes);
}
END_TEST

START_TEST(pitfall_08_a_file_that_others_could_have_written_is_none) {
    prepare();
    remembered();
    const char *path = slt_path(place, "identity.memo", NULL);
    ck_assert_int_eq(chmod(path, 0620), 0);
    slw_memo *memo = memo_open(place, 1);
    ck_assert_uint_eq(memo_ask(memo, SLW_IDENTITY_MEMO, tree).known, 0);
    slw_memo_close(&memo);
    ck_assert_int_eq(chmod(path, 0600), 0);
    ck_assert_int_eq(link(path, slt_path(place, "second", NULL)), 0);
    memo = memo_open(place, 1);
    ck_assert_uint_eq(memo_ask(memo, SLW_IDENTITY_MEMO, tree).known, 0);
    slw_memo_close(&memo);
    ck_assert_int_eq(unlink(slt_path(place, "second", NULL)), 0);
    slt_shell("cd %s && mv identity.memo kept && ln -s kept identity.memo", place);
    ck_assert_uint_eq(memo_run(place, tree).known, 0); /* not followed, and replaced by a file */
    ck_assert_uint_eq(memo_run(place, tree).known, 1);
    slt_shell("cd %s && rm identity.memo && mkfifo identity.memo", place);
    ck_assert_uint_eq(memo_run(place, tree).known, 0);
}
END_TEST

/* ---- 3: with everything real: the toolchain is replaced under a living identity ---- */

START_TEST(pitfall_03_a_replaced_tool_is_seen_also_when_its_digest_came_from_the_memo) {
    prepare();
    remembered();
    slw_memo *memo = memo_open(place, 0);
    slw_identity *identity = kit_identity_with(memo, SLW_IDENTITY_MEMO);
    slw_digest digest;
    slt_ok(slw_identity_add_tree(identity, "tools", tree, 0, &err), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 1);
    slt_ok(slw_identity_recheck(identity, &err), &err);
    slt_shell("cp -p %s/a %s/b && mv %s/b %s/a", tree, tree, tree, tree);
    ck_assert_int_eq(slw_identity_recheck(identity, &err), SLW_E_IDENTITY_UNUSABLE);
    ck_assert_str_eq(err.reason, "TOOLCHAIN_CHANGED");
    slw_identity_release(&identity);
    slw_memo_close(&memo);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("pitfalls 3, 6 to 8");
    TCase *tests = tcase_create("memo");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, pitfall_06_another_file_system_boot_or_mount_is_another_file);
    tcase_add_test(tests, pitfall_06_other_file_systems_are_not_remembered);
    tcase_add_test(tests, pitfall_06_nor_without_a_boot_id);
    tcase_add_test(tests, pitfall_06_the_real_table_knows_which_file_systems_qualify);
    tcase_add_test(tests, pitfall_07_what_is_younger_than_two_seconds_is_not_remembered);
    tcase_add_test(tests, pitfall_07_what_comes_from_the_future_is_never_remembered);
    tcase_add_test(tests, pitfall_07_the_file_systems_clock_decides_not_the_wall);
    tcase_add_test(tests, pitfall_07_two_seconds_later_it_is_remembered);
    tcase_add_test(tests, pitfall_07_without_a_lease_our_own_file_is_not_remembered);
    tcase_add_test(tests, pitfall_07_a_writer_or_a_shared_mapping_keeps_it_out);
    tcase_add_test(tests, pitfall_07_a_writer_that_waits_for_the_lease_does_not_end_us);
    tcase_add_test(tests, pitfall_07_another_users_file_counts_only_when_root_alone_may_write_it);
    tcase_add_test(tests, pitfall_08_a_directory_that_others_may_enter_is_refused);
    tcase_add_test(tests, pitfall_08_a_parent_that_others_may_write_is_refused);
    tcase_add_test(tests, pitfall_08_another_users_directory_and_links_are_refused);
    tcase_add_test(tests, pitfall_08_any_damage_drops_the_whole_file);
    tcase_add_test(tests, pitfall_08_a_record_of_no_place_is_damage);
    tcase_add_test(tests, pitfall_08_a_file_that_others_could_have_written_is_none);
    tcase_add_test(tests, pitfall_03_a_replaced_tool_is_seen_also_when_its_digest_came_from_the_memo);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
