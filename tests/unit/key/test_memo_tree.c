/* The names of directories in the memo: a hot walk lists nothing, and whatever the rules do not cover is listed twice,
 * as without a memo. */
#include "memo_kit.h"

#include <stdio.h>

static const char *place, *tree;
static long listings;         /* how many directories were listed */
static void (*trigger)(void); /* run once, when the file "trigger" is looked at */

static int count_readdir(const slwi_os *os, slwi_dir *dir, slwi_dirent *out) {
    const int fresh = dir->at == 0 && dir->end == 0;
    const int r = os->next->readdir(os->next, dir, out);
    if (fresh) listings++;
    return r;
}

static int watch_fstatat(const slwi_os *os, int dirfd, const char *path, int follow, slwi_stat *out) {
    if (trigger != NULL && strstr(path, "trigger") != NULL) {
        void (*now)(void) = trigger;
        trigger = NULL;
        now();
    }
    return fake_fstatat(os, dirfd, path, follow, out);
}

/* Three directories; files, a link, names that are left out. */
static void prepare(void) {
    place = memo_place();
    tree = slt_scratch();
    kit_put(tree, "file", "one");
    kit_put(kit_dir(tree, "a"), "trigger", "two");
    kit_put(kit_dir(slt_path(tree, "a", NULL), "b"), "deep", "three");
    ck_assert_int_eq(symlink("b/deep", slt_path(tree, "a", "link", NULL)), 0);
    kit_put(tree, "x.pyc", "left out");
    memo_fake();
    fake.readdir = count_readdir;
    fake.fstatat = watch_fstatat;
    slwi_os_replace(&fake);
}

static long listed(slw_digest *digest) {
    listings = 0;
    const memo_count count = memo_run(place, tree);
    if (digest != NULL) *digest = count.digest;
    return listings;
}

START_TEST(a_hot_walk_lists_nothing) {
    slw_digest without, cold, hot;
    prepare();
    without = memo_ask(NULL, SLW_IDENTITY_MEMO, tree).digest;
    ck_assert_int_eq(listed(&cold), 3);
    ck_assert_int_eq(listed(&hot), 0);
    ck_assert(kit_same(&without, &cold));
    ck_assert(kit_same(&without, &hot));
}
END_TEST

static long listed_for_content(slw_digest *digest) {
    listings = 0;
    *digest = memo_ask(NULL, SLW_IDENTITY_CONTENT, tree).digest;
    return listings;
}

static void add_to_the_root(void) {
    kit_put(tree, "late", "");
}

static int64_t read_and_trigger(const slwi_os *os, int fd, void *data, size_t size) {
    void (*now)(void) = trigger;
    trigger = NULL;
    if (now != NULL) now();
    return os->next->read(os->next, fd, data, size);
}

/* Names are listed once, before the files are read; the walk takes them from there while the times stay. */
START_TEST(without_a_memo_a_settled_directory_is_listed_once) {
    slw_digest first, meanwhile, after;
    prepare();
    ck_assert_int_eq(listed_for_content(&first), 3);
    (void)usleep(30000);
    fake.read = read_and_trigger;
    slwi_os_replace(&fake);
    trigger = add_to_the_root; /* which has been listed when its first file is read */
    ck_assert_int_eq(listed_for_content(&meanwhile), 4);
    ck_assert_ptr_null(trigger);
    ck_assert_int_eq(listed_for_content(&after), 3);
    ck_assert(!kit_same(&first, &meanwhile));
    ck_assert(kit_same(&meanwhile, &after));
    fake_fs.memo_allowed = 0; /* where times prove nothing: ahead, by the walk, and at its end */
    ck_assert_int_eq(listed_for_content(&after), 9);
    ck_assert(kit_same(&meanwhile, &after));
}
END_TEST

START_TEST(a_name_that_comes_or_goes_is_seen_and_only_its_directory_listed) {
    slw_digest first, more, again, less;
    prepare();
    (void)listed(&first);
    (void)usleep(30000); /* past a tick: the kit has put the age rule aside */
    kit_put(tree, "a/new", "");
    ck_assert_int_eq(listed(&more), 1);
    ck_assert(!kit_same(&first, &more));
    ck_assert_int_eq(listed(&again), 0);
    ck_assert(kit_same(&more, &again));
    (void)usleep(30000);
    ck_assert_int_eq(unlink(slt_path(tree, "a", "new", NULL)), 0);
    ck_assert_int_eq(listed(&less), 1);
    ck_assert(kit_same(&first, &less));
    (void)usleep(30000);
    slt_shell("rm %s/file; mkdir %s/file", tree, tree); /* the same name, of another kind */
    ck_assert_int_eq(listed(&more), 2);
    ck_assert(!kit_same(&first, &more));
}
END_TEST

START_TEST(pitfall_06_another_file_system_boot_or_mount_has_other_names) {
    prepare();
    ck_assert_int_eq(listed(NULL), 3);
    ck_assert_int_eq(listed(NULL), 0);
    fake_fs.id++;
    ck_assert_int_eq(listed(NULL), 3);
    ck_assert_int_eq(listed(NULL), 0);
    fake_mount++;
    ck_assert_int_eq(listed(NULL), 3);
    fake_boot = "0f3c1c2e-0000-4000-8000-000000000002";
    ck_assert_int_eq(listed(NULL), 3);
    ck_assert_int_eq(listed(NULL), 0);
    fake_fs.memo_allowed = 0;
    ck_assert_int_eq(listed(NULL), 6);
    ck_assert_int_eq(listed(NULL), 6);
    fake_fs.memo_allowed = 1;
    fake_boot = ""; /* nothing can be remembered, though the times still tell whether a name came */
    ck_assert_int_eq(listed(NULL), 3);
    ck_assert_int_eq(listed(NULL), 3);
}
END_TEST

START_TEST(pitfall_07_young_directories_are_listed_twice) {
    prepare();
    fake_age_ns = INT64_C(3000000000); /* not older than two seconds by a clock that may run two ahead */
    ck_assert_int_eq(listed(NULL), 6);
    ck_assert_int_eq(listed(NULL), 6);
    fake_age_ns = -INT64_C(1000000000000); /* the future never qualifies */
    ck_assert_int_eq(listed(NULL), 6);
    fake_age_ns = INT64_C(10000000000);
    ck_assert_int_eq(listed(NULL), 3);
    ck_assert_int_eq(listed(NULL), 0);
}
END_TEST

START_TEST(directories_that_others_own_or_may_write_are_listed_twice) {
    prepare();
    if (geteuid() != 0) {
        slt_skip("directories_that_others_own_or_may_write_are_listed_twice", "needs uid 0");
        return;
    }
    slt_shell("chown 12345 %s/a", tree);
    ck_assert_int_eq(listed(NULL), 4);
    ck_assert_int_eq(listed(NULL), 2);
    slt_shell("chown 0 %s/a && chmod 0777 %s/a", tree,
              tree); /* our own: others' names come with a change of its times */
    ck_assert_int_eq(listed(NULL), 1);
    ck_assert_int_eq(listed(NULL), 0);
}
END_TEST

static void add_a_name(void) {
    kit_put(tree, "a/b/during", "");
}

static void add_a_name_that_is_left_out(void) {
    slt_shell("mkdir %s/a/__pycache__", tree);
}

/* What comes before its directory is read counts; what is left out may come and go, but then the directory's times are
   not those its names were read under, and the memo is not told. */
START_TEST(names_that_may_come_during_the_walk) {
    for (int hot = 0; hot < 2; hot++) {
        slw_digest before, after;
        prepare();
        if (hot) ck_assert_int_eq(listed(NULL), 3);
        (void)usleep(30000);
        trigger = add_a_name; /* the files of "a" are looked at before "a/b" is entered */
        ck_assert_int_eq(listed(&before), hot ? 1 : 3);
        ck_assert_ptr_null(trigger);
        (void)usleep(30000);
        trigger = add_a_name_that_is_left_out; /* into "a" itself, whose names the memo gave: listed at the end */
        ck_assert_int_eq(listed(&after), 1);
        ck_assert(kit_same(&before, &after));
        ck_assert_int_eq(listed(NULL), 1);
        ck_assert_int_eq(listed(NULL), 0);
    }
}
END_TEST

static void add_to_a(void) {
    kit_put(tree, "a/during", "");
}

START_TEST(a_change_during_the_walk_is_a_failure) {
    for (int hot = 0; hot < 2; hot++) {
        slw_digest digest;
        prepare();
        if (hot) ck_assert_int_eq(listed(NULL), 3);
        (void)usleep(30000);
        trigger = add_to_a;
        slw_memo *memo = memo_open(place, 0);
        slw_identity *identity = kit_identity_with(memo, SLW_IDENTITY_MEMO);
        slt_ok(slw_identity_add_tree(identity, "tools", tree, 0, &err), &err);
        ck_assert_int_eq(kit_seal(identity, &digest), 0);
        ck_assert(kit_failed_with(identity, "/a", "changed while being read"));
        slw_identity_release(&identity);
        slw_memo_close(&memo);
        ck_assert_int_eq(listed(NULL), hot ? 1 : 3);
    }
}
END_TEST

/* The answer is checked by the memo's file; in memory nothing may depend on that. */
START_TEST(a_damaged_answer_is_no_answer) {
    slw_digest whole, key;
    slw_text text = SLW_TEXT_INIT;
    char named[4200];
    prepare();
    (void)listed(&whole);
    const size_t size = 20 + (size_t)snprintf(named, sizeof named, "slipway.tree.names.1%c%s", 0, tree) - 20;
    slw_sha256((slw_bytes){named, size}, &key);
    slw_memo *memo = memo_open(place, 0);
    slt_ok(slwi_memo_get_answer(memo, &key, &text, &err), &err);
    char *bytes = malloc(text.size + 1);
    for (size_t cut = 0; cut < text.size; cut++) {
        slwi_memo_put_answer(memo, &key, (slw_bytes){text.data, cut});
        listings = 0;
        const memo_count count = memo_ask(memo, SLW_IDENTITY_MEMO, tree);
        ck_assert(kit_same(&count.digest, &whole));
        ck_assert_int_gt(listings, 0);
    }
    for (size_t at = 0; at < text.size; at++) { /* whatever comes out, nothing is read that is not there */
        memcpy(bytes, text.data, text.size);
        bytes[at] = (char)(bytes[at] ^ 0x80);
        slwi_memo_put_answer(memo, &key, (slw_bytes){bytes, text.size});
        slw_identity *identity = kit_identity_with(memo, SLW_IDENTITY_MEMO);
        slw_digest digest;
        slt_ok(slw_identity_add_tree(identity, "tools", tree, 0, &err), &err);
        (void)kit_seal(identity, &digest);
        slw_identity_release(&identity);
    }
    free(bytes);
    slw_text_release(&text);
    slw_memo_close(&memo);
}
END_TEST

START_TEST(what_is_too_much_for_one_answer_is_listed) {
    slw_digest cold, hot;
    prepare();
    slt_shell("cd %s/a && i=0; while [ $i -lt 6000 ]; do echo %0180d$i; i=$((i+1)); done | xargs touch", tree, 0);
    ck_assert_int_eq(listed(&cold), 3);
    ck_assert_int_eq(listed(&hot),
                     2); /* "a" has more than a mebibyte of names; what comes after it is not kept either */
    ck_assert(kit_same(&cold, &hot));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("memo of names");
    TCase *tests = tcase_create("names");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, a_hot_walk_lists_nothing);
    tcase_add_test(tests, without_a_memo_a_settled_directory_is_listed_once);
    tcase_add_test(tests, a_name_that_comes_or_goes_is_seen_and_only_its_directory_listed);
    tcase_add_test(tests, pitfall_06_another_file_system_boot_or_mount_has_other_names);
    tcase_add_test(tests, pitfall_07_young_directories_are_listed_twice);
    tcase_add_test(tests, directories_that_others_own_or_may_write_are_listed_twice);
    tcase_add_test(tests, names_that_may_come_during_the_walk);
    tcase_add_test(tests, a_change_during_the_walk_is_a_failure);
    tcase_add_test(tests, a_damaged_answer_is_no_answer);
    tcase_add_test(tests, what_is_too_much_for_one_answer_is_listed);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
