/* The content identity of trees: store-semantics A2 and its conformance rows B2 8 to 22, B3 3 and 4. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>

#include "identity_kit.h"

START_TEST(content_counts_though_times_do_not) {
    const char *dir = slt_scratch();
    kit_put(dir, "a.h", "one");
    slt_shell("touch -d '2001-01-01' %s/a.h", dir);
    const slw_digest first = kit_tree(dir);
    slt_shell("touch -d '2002-02-02' %s/a.h", dir);
    const slw_digest touched = kit_tree(dir);
    ck_assert(kit_same(&first, &touched));
    kit_put(dir, "a.h", "two");
    slt_shell("touch -d '2001-01-01' %s/a.h", dir);
    const slw_digest edited = kit_tree(dir);
    ck_assert(!kit_same(&first, &edited));
}
END_TEST

START_TEST(names_resources_and_empty_directories_count) {
    const char *dir = slt_scratch();
    kit_put(dir, "a", "x");
    const slw_digest first = kit_tree(dir);
    kit_put(dir, "b.txt", "");
    const slw_digest with_file = kit_tree(dir);
    slt_shell("rm %s/b.txt; mkdir %s/b.txt", dir, dir);
    const slw_digest with_directory = kit_tree(dir);
    slt_shell("rmdir %s/b.txt; mv %s/a %s/c", dir, dir, dir);
    const slw_digest renamed = kit_tree(dir);
    ck_assert(!kit_same(&first, &with_file));
    ck_assert(!kit_same(&first, &with_directory));
    ck_assert(!kit_same(&with_file, &with_directory));
    ck_assert(!kit_same(&first, &renamed));
}
END_TEST

START_TEST(boundaries_between_names_and_directories_count) {
    const char *dir = slt_scratch();
    kit_put(kit_dir(dir, "ab"), "c", "x");
    const slw_digest first = kit_tree(dir);
    slt_shell("rm -r %s/ab; mkdir %s/a; printf x > %s/a/bc", dir, dir, dir);
    const slw_digest second = kit_tree(dir);
    ck_assert(!kit_same(&first, &second));
}
END_TEST

START_TEST(order_of_creation_and_trailing_slash_do_not_count) {
    const char *dir = slt_scratch();
    for (int i = 0; i < 300; i++)
        slt_write_file(slt_path(dir, (char[8]){(char)('a' + i % 26), (char)('0' + i / 26), 0}, NULL), "x", 1, 0644);
    const slw_digest first = kit_tree(dir);
    const slw_digest slashed = kit_tree(slt_path(dir, "", NULL));
    slt_shell("rm %s/*", dir);
    for (int i = 299; i >= 0; i--)
        slt_write_file(slt_path(dir, (char[8]){(char)('a' + i % 26), (char)('0' + i / 26), 0}, NULL), "x", 1, 0644);
    const slw_digest second = kit_tree(dir);
    ck_assert(kit_same(&first, &second));
    ck_assert(kit_same(&first, &slashed));
}
END_TEST

START_TEST(declared_metadata_is_left_out) {
    const char *dir = slt_scratch();
    kit_put(dir, "a.py", "x");
    kit_dir(dir, "sub");
    const slw_digest first = kit_tree(dir);
    kit_put(dir, "a.pyc", "x");
    kit_put(dir, "sub/b.pyo", "x");
    kit_put(kit_dir(dir, "__pycache__"), "a.py", "x");
    kit_put(kit_dir(dir, ".git"), "HEAD", "x");
    const slw_digest second = kit_tree(dir);
    ck_assert(kit_same(&first, &second));
    kit_put(dir, ".gitignore", "x");
    const slw_digest third = kit_tree(dir);
    ck_assert(!kit_same(&first, &third));
}
END_TEST

START_TEST(a_name_that_is_left_out_may_not_be_a_dangling_link) {
    const char *dir = slt_scratch();
    kit_put(dir, "a", "x");
    ck_assert_int_eq(symlink("nowhere", slt_path(dir, "x.pyc", NULL)), 0);
    kit_tree_fails(dir, "x.pyc", "dangling link");
}
END_TEST

START_TEST(links_count_with_their_target_and_its_content) {
    const char *dir = slt_scratch(), *other = slt_scratch();
    kit_put(other, "target", "one");
    kit_put(other, "twin", "one");
    kit_put(kit_dir(other, "sub"), "deep", "one");
    ck_assert_int_eq(symlink(slt_path(other, "target", NULL), slt_path(dir, "l", NULL)), 0);
    ck_assert_int_eq(symlink(slt_path(other, "sub", NULL), slt_path(dir, "d", NULL)), 0);
    const slw_digest first = kit_tree(dir);
    kit_put(other, "target", "two");
    const slw_digest edited = kit_tree(dir);
    kit_put(other, "target", "one");
    kit_put(other, "sub/deep", "two");
    const slw_digest deep = kit_tree(dir);
    kit_put(other, "sub/deep", "one");
    slt_shell("ln -sfn %s/twin %s/l", other, dir);
    const slw_digest repointed = kit_tree(dir);
    slt_shell("rm %s/l; cp %s/target %s/l", dir, other, dir);
    const slw_digest copied = kit_tree(dir);
    ck_assert(!kit_same(&first, &edited));
    ck_assert(!kit_same(&first, &deep));
    ck_assert(!kit_same(&first, &repointed));
    ck_assert(!kit_same(&first, &copied));
}
END_TEST

START_TEST(dangling_links_and_cycles_are_failures) {
    const char *dir = slt_scratch();
    const char *sub = kit_dir(dir, "sub");
    ck_assert_int_eq(symlink("nowhere", slt_path(sub, "gone", NULL)), 0);
    kit_tree_fails(dir, "sub/gone", "dangling link");
    slt_shell("rm %s/gone; ln -s .. %s/up", sub, sub);
    kit_tree_fails(dir, "sub/up", "leads back");
    slt_shell("rm %s/up; ln -s self %s/self", sub, sub);
    kit_tree_fails(dir, "sub/self", "circle");
}
END_TEST

START_TEST(every_failure_is_kept) {
    const char *dir = slt_scratch();
    ck_assert_int_eq(symlink("nowhere", slt_path(dir, "one", NULL)), 0);
    ck_assert_int_eq(mkfifo(slt_path(kit_dir(dir, "sub"), "two", NULL), 0600), 0);
    slw_identity *identity = kit_identity();
    slw_digest digest;
    slt_ok(slw_identity_add_tree(identity, "tools", dir, 0, &err), &err);
    slt_ok(slw_identity_add_tree(identity, "tools", slt_path(dir, "three", NULL), 0, &err), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 0);
    ck_assert(kit_failed_with(identity, "/one", "dangling"));
    ck_assert(kit_failed_with(identity, "sub/two", "neither a file nor a directory"));
    ck_assert(kit_failed_with(identity, "/three", "is missing"));
    slw_identity_release(&identity);
}
END_TEST

START_TEST(special_files_are_refused_without_opening_them) {
    const char *dir = slt_scratch();
    ck_assert_int_eq(mkfifo(slt_path(dir, "fifo", NULL), 0600), 0);
    kit_tree_fails(dir, "fifo", "neither");
    kit_tree_fails(slt_path(dir, "fifo", NULL), "fifo", "not a directory");
    slw_identity *identity = kit_identity();
    slw_digest digest;
    slt_ok(slw_identity_add_file(identity, "tools", slt_path(dir, "fifo", NULL), &err), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 0);
    ck_assert(kit_failed_with(identity, "fifo", "not a regular file"));
    slw_identity_release(&identity);
}
END_TEST

START_TEST(unreadable_directories_and_files_are_failures) {
    const char *dir = slt_scratch();
    kit_put(kit_dir(dir, "sub"), "a", "x");
    kit_put(dir, "b", "x");
    slt_become_nobody(dir);
    ck_assert_int_eq(chmod(slt_path(dir, "sub", NULL), 0), 0);
    kit_tree_fails(dir, "/sub", "EACCES");
    ck_assert_int_eq(chmod(slt_path(dir, "sub", NULL), 0700), 0);
    ck_assert_int_eq(chmod(slt_path(dir, "b", NULL), 0), 0);
    kit_tree_fails(dir, "/b", "EACCES");
}
END_TEST

START_TEST(the_absolute_path_counts_and_is_fixed_at_the_call) {
    const char *dir = slt_scratch(), *other = slt_scratch();
    kit_put(dir, "a", "x");
    kit_put(other, "a", "x");
    const slw_digest first = kit_tree(dir);
    const slw_digest second = kit_tree(other);
    ck_assert(!kit_same(&first, &second));
    const char *base = strrchr(dir, '/') + 1;
    slt_shell("true");
    ck_assert_int_eq(chdir(slt_path(dir, "..", NULL)), 0);
    slw_identity *identity = kit_identity();
    slw_digest digest;
    slt_ok(slw_identity_add_tree(identity, "tools", base, 0, &err), &err);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(kit_seal(identity, &digest), 1);
    ck_assert(kit_same(&first, &digest));
    slt_ok(slw_identity_recheck(identity, &err), &err);
    slw_identity_release(&identity);
}
END_TEST

START_TEST(dots_after_a_link_mean_what_the_system_means) {
    const char *dir = slt_scratch();
    kit_put(dir, "x", "wrong");
    kit_put(kit_dir(dir, "far"), "x", "right");
    kit_dir(dir, "far/sub");
    ck_assert_int_eq(symlink("far/sub", slt_path(dir, "link", NULL)), 0);
    const slw_digest first = kit_file(slt_path(dir, "link/../x", NULL));
    kit_put(dir, "x", "other");
    const slw_digest same = kit_file(slt_path(dir, "link/../x", NULL));
    kit_put(dir, "far/x", "other");
    const slw_digest edited = kit_file(slt_path(dir, "link/../x", NULL));
    ck_assert(kit_same(&first, &same));
    ck_assert(!kit_same(&first, &edited));
}
END_TEST

START_TEST(an_absent_root_is_a_failure_or_with_optional_a_fact) {
    const char *dir = slt_scratch();
    const char *root = slt_path(dir, "later", NULL);
    kit_tree_fails(root, "later", "is missing");
    slw_identity *identity = kit_identity();
    slw_digest absent, empty;
    slt_ok(slw_identity_add_tree(identity, "tools", root, 1, &err), &err);
    ck_assert_int_eq(kit_seal(identity, &absent), 1);
    slt_ok(slw_identity_recheck(identity, &err), &err);
    ck_assert_int_eq(mkdir(root, 0755), 0);
    ck_assert_int_eq(slw_identity_recheck(identity, &err), SLW_E_IDENTITY_UNUSABLE);
    ck_assert_str_eq(err.reason, "TOOLCHAIN_CHANGED");
    ck_assert_str_eq(err.path, root);
    slw_identity_release(&identity);
    empty = kit_tree(root);
    ck_assert(!kit_same(&absent, &empty));
}
END_TEST

START_TEST(a_root_that_is_a_dangling_link_is_a_failure_also_with_optional) {
    const char *dir = slt_scratch();
    ck_assert_int_eq(symlink("nowhere", slt_path(dir, "root", NULL)), 0);
    slw_identity *identity = kit_identity();
    slw_digest digest;
    slt_ok(slw_identity_add_tree(identity, "tools", slt_path(dir, "root", NULL), 1, &err), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 0);
    ck_assert(kit_failed_with(identity, "root", "dangling"));
    slw_identity_release(&identity);
}
END_TEST

/* A table that writes a file, once: after a read, or after a look at the file `a` by the walk. */
static slwi_os spy;
static char spy_path[512];
static const char *spy_text;
static int spy_done;

static void meddle_once(void) {
    if (spy_done) return;
    spy_done = 1;
    slt_write_file(spy_path, spy_text, strlen(spy_text), 0644);
}

static int64_t read_and_meddle(const slwi_os *os, int fd, void *data, size_t size) {
    (void)os;
    const int64_t got = slwi_os_real()->read(slwi_os_real(), fd, data, size);
    meddle_once();
    return got;
}

static int look_and_meddle(const slwi_os *os, int dirfd, const char *path, int follow, slwi_stat *out) {
    (void)os;
    const int r = slwi_os_real()->fstatat(slwi_os_real(), dirfd, path, follow, out);
    if (strcmp(path, "a") == 0) meddle_once();
    return r;
}

enum { AFTER_A_READ, AFTER_A_LOOK };

static void meddle(int when, const char *path, const char *text) {
    spy = *slwi_os_real();
    if (when == AFTER_A_READ) spy.read = read_and_meddle;
    if (when == AFTER_A_LOOK) spy.fstatat = look_and_meddle;
    snprintf(spy_path, sizeof spy_path, "%s", path);
    spy_text = text;
    spy_done = 0;
    slwi_os_replace(&spy);
}

START_TEST(a_file_that_changes_while_it_is_read_is_a_failure) {
    const char *dir = slt_scratch();
    kit_put(dir, "a", "one");
    meddle(AFTER_A_READ, slt_path(dir, "a", NULL), "longer than before");
    kit_tree_fails(dir, "/a", "changed while being read");
    kit_put(dir, "a", "one");
    slt_shell("touch -d '2001-01-01' %s/a", dir);
    meddle(AFTER_A_READ, slt_path(dir, "a", NULL), "two");
    kit_tree_fails(dir, "/a", "changed while being read");
    slwi_os_replace(NULL);
}
END_TEST

static char gone[512];
static int countdown; /* calls until it goes */

/* A link is read when it is met and once more when its directory is walked: then its target is gone. */
static int64_t read_link_and_remove(const slwi_os *os, int dirfd, const char *path, char *out, size_t size) {
    (void)os;
    if (--countdown == 0) ck_assert_int_eq(rmdir(gone), 0);
    return slwi_os_real()->readlinkat(slwi_os_real(), dirfd, path, out, size);
}

START_TEST(a_link_whose_directory_goes_during_the_walk_is_a_failure) {
    const char *dir = slt_scratch();
    const char *elsewhere = kit_dir(slt_scratch(), "target");
    ck_assert_int_eq(symlink(elsewhere, slt_path(dir, "link", NULL)), 0);
    snprintf(gone, sizeof gone, "%s", elsewhere);
    countdown = 2;
    spy = *slwi_os_real();
    spy.readlinkat = read_link_and_remove;
    slwi_os_replace(&spy);
    kit_tree_fails(dir, "/link", "dangling");
    slwi_os_replace(NULL);
    ck_assert_int_le(countdown, 0);
}
END_TEST

/* What was read ahead and is gone when the walk comes is no part of the tree, and does not have to be there later. */
static int64_t read_and_remove(const slwi_os *os, int fd, void *data, size_t size) {
    (void)os;
    const int64_t got = slwi_os_real()->read(slwi_os_real(), fd, data, size);
    if (--countdown == 0) ck_assert_int_eq(unlink(gone), 0);
    return got;
}

START_TEST(a_file_that_goes_before_it_is_walked_does_not_count) {
    const char *dir = slt_scratch();
    slw_digest with, without;
    kit_put(dir, "a", "one");
    without = kit_tree(dir);
    kit_put(dir, "b", "two");
    kit_put(dir, "c", "three");
    snprintf(gone, sizeof gone, "%s", slt_path(dir, "c", NULL));
    ck_assert_int_eq(unlink(slt_path(dir, "b", NULL)), 0);
    countdown = 2; /* both are read ahead */
    spy = *slwi_os_real();
    spy.read = read_and_remove;
    slwi_os_replace(&spy);
    slw_identity *identity = kit_identity();
    slt_ok(slw_identity_add_tree(identity, "tools", dir, 0, &err), &err);
    slwi_os_replace(NULL);
    ck_assert_int_eq(kit_seal(identity, &with), 1);
    slt_ok(slw_identity_recheck(identity, &err), &err);
    slw_identity_release(&identity);
    ck_assert_int_le(countdown, 0);
    const slw_digest now = kit_tree(dir);
    ck_assert(kit_same(&now, &without));
}
END_TEST

START_TEST(a_name_that_appears_during_the_walk_is_a_failure) {
    const char *dir = slt_scratch();
    kit_put(kit_dir(dir, "first"), "a", "one");
    meddle(AFTER_A_LOOK, slt_path(dir, "first/b", NULL), "new");
    kit_tree_fails(dir, "/first", "changed while being read");
    slt_shell("rm %s/first/b", dir);
    meddle(AFTER_A_LOOK, slt_path(dir, "first/b.pyc", NULL), "does not count");
    const slw_digest without = kit_tree(dir);
    ck_assert_int_eq(spy_done, 1);
    /* While files are read ahead nothing was listed for good: the name counts. */
    meddle(AFTER_A_READ, slt_path(dir, "first/b", NULL), "new");
    const slw_digest with = kit_tree(dir);
    slwi_os_replace(NULL);
    const slw_digest later = kit_tree(dir);
    ck_assert(!kit_same(&with, &without));
    ck_assert(kit_same(&with, &later));
}
END_TEST

/* n nested directories named d, with a file at the bottom. */
static void nest(const char *dir, int n) {
    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(mkdirat(fd, "d", 0755), 0);
        const int next = openat(fd, "d", O_RDONLY | O_DIRECTORY);
        close(fd);
        fd = next;
    }
    const int file = openat(fd, "f", O_WRONLY | O_CREAT, 0644);
    ck_assert_int_ge(file, 0);
    close(file);
    close(fd);
}

START_TEST(seven_hundred_levels_pass_with_few_descriptors_and_eleven_hundred_do_not) {
    const char *dir = slt_scratch(), *deeper = slt_scratch();
    nest(dir, 700);
    nest(deeper, 1100);
    const struct rlimit few = {32, 32};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    (void)kit_tree(dir);
    kit_tree_fails(deeper, "/d/d/d", "directories deep");
    slt_shell("rm -rf %s/d %s/d", dir, deeper);
}
END_TEST

START_TEST(names_that_are_no_utf8_have_an_order_and_an_identity) {
    const char *dir = slt_scratch();
    kit_put(dir, "\xff\xfe", "x");
    kit_put(dir, "\xf0\x9f\x98\x80", "x");
    kit_put(dir, "\xee\x80\x80", "x");
    const slw_digest first = kit_tree(dir);
    slt_shell("rm %s/*", dir);
    kit_put(dir, "\xee\x80\x80", "x");
    kit_put(dir, "\xf0\x9f\x98\x80", "x");
    kit_put(dir, "\xff\xfe", "x");
    const slw_digest second = kit_tree(dir);
    slt_shell("rm %s/*", dir);
    kit_put(dir, "\xee\x80\x80", "x");
    kit_put(dir, "\xf0\x9f\x98\x80", "x");
    kit_put(dir, "\xff\xfd", "x");
    const slw_digest third = kit_tree(dir);
    ck_assert(kit_same(&first, &second));
    ck_assert(!kit_same(&first, &third));
}
END_TEST

START_TEST(no_descriptor_is_left) {
    const char *dir = slt_scratch();
    kit_put(kit_dir(dir, "sub"), "a", "x");
    ck_assert_int_eq(symlink("nowhere", slt_path(dir, "gone", NULL)), 0);
    const int before = slt_open_descriptors();
    kit_tree_fails(dir, "gone", "dangling");
    slt_shell("rm %s/gone", dir);
    (void)kit_tree(dir);
    ck_assert_int_eq(slt_open_descriptors(), before);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("tree");
    TCase *tests = tcase_create("tree");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, content_counts_though_times_do_not);
    tcase_add_test(tests, names_resources_and_empty_directories_count);
    tcase_add_test(tests, boundaries_between_names_and_directories_count);
    tcase_add_test(tests, order_of_creation_and_trailing_slash_do_not_count);
    tcase_add_test(tests, declared_metadata_is_left_out);
    tcase_add_test(tests, a_name_that_is_left_out_may_not_be_a_dangling_link);
    tcase_add_test(tests, links_count_with_their_target_and_its_content);
    tcase_add_test(tests, dangling_links_and_cycles_are_failures);
    tcase_add_test(tests, every_failure_is_kept);
    tcase_add_test(tests, special_files_are_refused_without_opening_them);
    tcase_add_test(tests, unreadable_directories_and_files_are_failures);
    tcase_add_test(tests, the_absolute_path_counts_and_is_fixed_at_the_call);
    tcase_add_test(tests, dots_after_a_link_mean_what_the_system_means);
    tcase_add_test(tests, an_absent_root_is_a_failure_or_with_optional_a_fact);
    tcase_add_test(tests, a_root_that_is_a_dangling_link_is_a_failure_also_with_optional);
    tcase_add_test(tests, a_file_that_changes_while_it_is_read_is_a_failure);
    tcase_add_test(tests, a_link_whose_directory_goes_during_the_walk_is_a_failure);
    tcase_add_test(tests, a_file_that_goes_before_it_is_walked_does_not_count);
    tcase_add_test(tests, a_name_that_appears_during_the_walk_is_a_failure);
    tcase_add_test(tests, seven_hundred_levels_pass_with_few_descriptors_and_eleven_hundred_do_not);
    tcase_add_test(tests, names_that_are_no_utf8_have_an_order_and_an_identity);
    tcase_add_test(tests, no_descriptor_is_left);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
