/* Toolchain identity: proving, failing, sealing, asking again (store-semantics A3, B2 15 to 29, B3 1 to 7, B4 1). */
#include <pthread.h>
#include <stdio.h>

#include "identity_kit.h"

START_TEST(an_identity_is_unusable_until_every_component_is_proved) {
    slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
    slw_identity *identity = NULL;
    const char *name = NULL, *reason = NULL;
    const slw_digest *digest = NULL;
    slt_ok(slw_identity_create(&options, &identity, &err), &err);
    ck_assert_int_eq(slw_identity_usable(identity, &err), SLW_E_IDENTITY_UNUSABLE);
    slt_ok(slw_identity_component(identity, "zeta", &err), &err);
    slt_ok(slw_identity_component(identity, "alpha", &err), &err);
    slt_ok(slw_identity_component(identity, "mid", &err), &err);
    slt_ok(slw_identity_add_environment(identity, "alpha", "A", "1", &err), &err);
    slt_ok(slw_identity_prove(identity, "alpha", &err), &err);
    slt_ok(slw_identity_add_environment(identity, "zeta", "A", "1", &err), &err);
    slt_ok(slw_identity_prove(identity, "mid", &err), &err); /* empty */
    slt_ok(slw_identity_seal(identity, &err), &err);
    ck_assert_int_eq(slw_identity_usable(identity, &err), SLW_E_IDENTITY_UNUSABLE);
    ck_assert_str_eq(err.subject, "mid");
    ck_assert_ptr_nonnull(strstr(err.message, "empty"));
    ck_assert_ptr_nonnull(strstr(err.tried, "mid"));
    ck_assert_ptr_nonnull(strstr(err.tried, "zeta"));
    ck_assert_ptr_null(strstr(err.tried, "alpha"));
    ck_assert_int_eq(slw_identity_at(identity, 0, &name, &digest), 1);
    ck_assert_str_eq(name, "alpha");
    ck_assert_ptr_nonnull(digest);
    ck_assert_int_eq(slw_identity_at(identity, 2, &name, &digest), 1);
    ck_assert_str_eq(name, "zeta");
    ck_assert_ptr_null(digest);
    ck_assert_int_eq(slw_identity_at(identity, 3, &name, &digest), 0);
    ck_assert_int_eq(slw_identity_failure(identity, 1, &name, &reason), 1);
    ck_assert_str_eq(name, "zeta");
    ck_assert_ptr_nonnull(strstr(reason, "never said to be complete"));
    ck_assert_int_eq(slw_identity_failure(identity, 2, &name, &reason), 0);
    slw_identity_release(&identity);
    ck_assert_ptr_null(identity);
    slw_identity_release(&identity);
}
END_TEST

START_TEST(misuse_is_a_usage_error) {
    slw_identity *identity = kit_identity();
    slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
    slw_identity *none = NULL;
    slw_digest digest;
    const slw_bytes nothing = {NULL, 3};
    const char *bad[] = {"", "schema", "Upper", "a-b", "a b", NULL};
    for (int i = 0; bad[i] != NULL; i++) ck_assert_int_eq(slw_identity_component(identity, bad[i], &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_identity_component(identity, NULL, &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_identity_component(identity, "tools", &err), SLW_E_USAGE);
    ck_assert_str_eq(err.reason, "DUPLICATE");
    ck_assert_int_eq(slw_identity_add_file(identity, "other", "/etc/passwd", &err), SLW_E_USAGE);
    ck_assert_str_eq(err.subject, "other");
    ck_assert_int_eq(slw_identity_add_file(identity, "tools", NULL, &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_identity_add_file(identity, "tools", "", &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_identity_add_environment(identity, "tools", "A=B", "1", &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_identity_add_claim(identity, "tools", "a", nothing, &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_identity_add_digest(identity, "tools", "a", NULL, &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_identity_add_file(NULL, "tools", "/etc/passwd", &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_identity_recheck(identity, &err), SLW_E_USAGE);
    slt_ok(slw_identity_add_environment(identity, "tools", "A", NULL, &err), &err);
    slt_ok(slw_identity_prove(identity, "tools", &err), &err);
    ck_assert_int_eq(slw_identity_add_environment(identity, "tools", "B", NULL, &err), SLW_E_USAGE);
    ck_assert_str_eq(err.reason, "PROVED");
    ck_assert_int_eq(kit_seal(identity, &digest), 1);
    ck_assert_int_eq(slw_identity_component(identity, "late", &err), SLW_E_USAGE);
    ck_assert_str_eq(err.reason, "SEALED");
    slt_ok(slw_identity_seal(identity, &err), &err);
    slw_identity_release(&identity);
    options.policy = 3;
    ck_assert_int_eq(slw_identity_create(&options, &none, &err), SLW_E_USAGE);
    options.policy = 0;
    options.size--;
    ck_assert_int_eq(slw_identity_create(&options, &none, &err), SLW_E_USAGE);
    ck_assert_ptr_null(none);
}
END_TEST

START_TEST(thirty_two_components_and_no_more) {
    slw_identity *identity = kit_identity();
    char name[16];
    for (int i = 1; i < 32; i++) {
        snprintf(name, sizeof name, "c%d", i);
        slt_ok(slw_identity_component(identity, name, &err), &err);
    }
    ck_assert_int_eq(slw_identity_component(identity, "one_more", &err), SLW_E_LIMIT);
    slw_identity_release(&identity);
}
END_TEST

/* What one addition alone makes of a component. */
static slw_digest only(slw_code (*add)(slw_identity *), int policy) {
    slw_identity *identity = kit_identity_with(NULL, policy);
    slw_digest digest;
    slt_ok(add(identity), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 1);
    slw_identity_release(&identity);
    return digest;
}

static const slw_bytes text = {"01234567890123456789012345678901", 32};
static slw_code add_unset(slw_identity *i) { return slw_identity_add_environment(i, "tools", "v", NULL, &err); }
static slw_code add_empty(slw_identity *i) { return slw_identity_add_environment(i, "tools", "v", "", &err); }
static slw_code add_text(slw_identity *i) {
    return slw_identity_add_environment(i, "tools", "v", "01234567890123456789012345678901", &err);
}
static slw_code add_claim(slw_identity *i) { return slw_identity_add_claim(i, "tools", "v", text, &err); }
static slw_code add_digest(slw_identity *i) {
    slw_digest digest;
    memcpy(digest.bytes, text.data, 32);
    return slw_identity_add_digest(i, "tools", "v", &digest, &err);
}
static slw_code add_self(slw_identity *i) { return slw_identity_add_file(i, "tools", "/proc/self/exe", &err); }

START_TEST(every_kind_of_input_is_a_kind_of_its_own) {
    slw_code (*const all[])(slw_identity *) = {add_unset, add_empty, add_text, add_claim, add_digest, add_self};
    slw_digest digests[6];
    for (size_t i = 0; i < 6; i++) {
        digests[i] = only(all[i], SLW_IDENTITY_CLAIM);
        for (size_t j = 0; j < i; j++) ck_assert(!kit_same(&digests[i], &digests[j]));
    }
    const slw_digest again = only(add_text, SLW_IDENTITY_CONTENT);
    ck_assert(kit_same(&digests[2], &again));
}
END_TEST

START_TEST(a_claim_alone_proves_only_under_the_claim_policy) {
    slw_identity *identity = kit_identity();
    slw_digest digest, both;
    slt_ok(add_claim(identity), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 0);
    ck_assert(kit_failed_with(identity, "claims", "alone"));
    slw_identity_release(&identity);
    identity = kit_identity();
    slt_ok(add_claim(identity), &err);
    slt_ok(add_text(identity), &err);
    ck_assert_int_eq(kit_seal(identity, &both), 1);
    slw_identity_release(&identity);
    digest = only(add_text, SLW_IDENTITY_MEMO);
    ck_assert(!kit_same(&digest, &both)); /* a claim beside a proof counts too */
}
END_TEST

START_TEST(rejected_stays_rejected) {
    slw_identity *identity = kit_identity();
    slw_digest digest;
    slt_ok(add_text(identity), &err);
    slt_ok(slw_identity_reject(identity, "tools", "LD_PRELOAD is set", &err), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 0);
    ck_assert_int_eq(slw_identity_usable(identity, &err), SLW_E_IDENTITY_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.message, "LD_PRELOAD is set"));
    slw_identity_release(&identity);
}
END_TEST

START_TEST(missing_inputs_are_all_named_and_nothing_stands_in_for_them) {
    const char *dir = slt_scratch();
    slw_identity *identity = kit_identity();
    slw_digest digest;
    slt_ok(slw_identity_add_file(identity, "tools", slt_path(dir, "one", NULL), &err), &err);
    slt_ok(slw_identity_add_file(identity, "tools", slt_path(dir, "two", NULL), &err), &err);
    slt_ok(slw_identity_add_program(identity, "tools", slt_path(dir, "three", NULL), &err), &err);
    slt_ok(slw_identity_add_build_id(identity, "tools", slt_path(dir, "four", NULL), &err), &err);
    slt_ok(add_digest(identity), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 0);
    const char *names[] = {"/one", "/two", "/three", "/four"};
    for (int i = 0; i < 4; i++) ck_assert_msg(kit_failed_with(identity, names[i], "is missing"), "%s", names[i]);
    slw_identity_release(&identity);
    kit_put(dir, "one", "x"); /* a failure is not remembered: another identity finds what is there now */
    (void)kit_file(slt_path(dir, "one", NULL));
}
END_TEST

START_TEST(the_order_of_inputs_and_repetition_do_not_count) {
    slw_identity *a = kit_identity(), *b = kit_identity();
    slw_digest x, y;
    slt_ok(add_text(a), &err);
    slt_ok(add_digest(a), &err);
    slt_ok(add_digest(b), &err);
    slt_ok(add_text(b), &err);
    slt_ok(add_digest(b), &err);
    ck_assert_int_eq(kit_seal(a, &x), 1);
    ck_assert_int_eq(kit_seal(b, &y), 1);
    ck_assert(kit_same(&x, &y));
    slw_identity_release(&a);
    slw_identity_release(&b);
}
END_TEST

START_TEST(a_file_reached_twice_is_read_once) {
    const char *dir = slt_scratch();
    slw_identity *identity = kit_identity();
    slw_identity_cost cost = SLW_IDENTITY_COST_INIT;
    slw_digest digest;
    kit_put(dir, "a", "12345");
    ck_assert_int_eq(symlink("a", slt_path(dir, "b", NULL)), 0);
    slt_ok(slw_identity_add_tree(identity, "tools", dir, 0, &err), &err);
    slt_ok(slw_identity_add_file(identity, "tools", slt_path(dir, "a", NULL), &err), &err);
    slt_ok(slw_identity_add_file(identity, "tools", slt_path(dir, "b", NULL), &err), &err);
    slt_ok(slw_identity_add_file(identity, "tools", slt_path(dir, ".", "a", NULL), &err), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 1);
    slt_ok(slw_identity_get_cost(identity, &cost, &err), &err);
    ck_assert_uint_eq(cost.read_files, 1);
    ck_assert_uint_eq(cost.read_bytes, 5);
    ck_assert_uint_eq(cost.memo_files, 0);
    cost.size = 1;
    ck_assert_int_eq(slw_identity_get_cost(identity, &cost, &err), SLW_E_USAGE);
    slw_identity_release(&identity);
}
END_TEST

static slw_digest trees(const char *const *roots, size_t count) {
    slw_identity *identity = kit_identity();
    slw_digest digest;
    for (size_t i = 0; i < count; i++) slt_ok(slw_identity_add_tree(identity, "tools", roots[i], 1, &err), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 1);
    slw_identity_release(&identity);
    return digest;
}

START_TEST(a_tree_takes_in_those_below_it_whatever_the_order) {
    const char *dir = slt_scratch();
    kit_put(kit_dir(dir, "sub"), "a", "x");
    kit_put(kit_dir(dir, "sub/deep"), "b", "x");
    kit_put(kit_dir(dir, "__pycache__"), "c", "x");
    const char *root = dir, *sub = slt_path(dir, "sub", NULL), *deep = slt_path(dir, "sub/deep", NULL);
    const char *hidden = slt_path(dir, "__pycache__", NULL), *beside = slt_path(dir, "sub/..", NULL);
    const slw_digest one = trees((const char *[]){root}, 1);
    const slw_digest down = trees((const char *[]){root, sub, deep}, 3);
    const slw_digest up = trees((const char *[]){deep, sub, root, root}, 4);
    const slw_digest mixed = trees((const char *[]){sub, root, deep}, 3);
    const slw_digest more = trees((const char *[]){root, hidden}, 2);
    const slw_digest dots = trees((const char *[]){root, beside}, 2);
    const slw_digest only_sub = trees((const char *[]){sub}, 1);
    ck_assert(kit_same(&one, &down));
    ck_assert(kit_same(&one, &up));
    ck_assert(kit_same(&one, &mixed));
    ck_assert(!kit_same(&one, &more)); /* what a tree leaves out is not in it */
    ck_assert(!kit_same(&one, &dots));
    ck_assert(!kit_same(&one, &only_sub));
    slw_identity *identity = kit_identity();
    slw_digest digest;
    slt_ok(slw_identity_add_tree(identity, "tools", root, 0, &err), &err);
    slt_ok(slw_identity_add_tree(identity, "tools", slt_path(dir, "gone", NULL), 0, &err), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 0);
    ck_assert(kit_failed_with(identity, "/gone", "is missing"));
    slw_identity_release(&identity);
}
END_TEST

/* The snapshot of a tree, a link, a file. */
static slw_identity *snapshot(const char *dir) {
    slw_identity *identity = kit_identity();
    slw_digest digest;
    kit_put(dir, "a", "x");
    kit_put(dir, "a2", "x");
    kit_put(kit_dir(dir, "tree"), "b", "x");
    ck_assert_int_eq(symlink("a", slt_path(dir, "link", NULL)), 0);
    slt_ok(slw_identity_add_file(identity, "tools", slt_path(dir, "link", NULL), &err), &err);
    slt_ok(slw_identity_add_tree(identity, "tools", slt_path(dir, "tree", NULL), 0, &err), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 1);
    slt_ok(slw_identity_recheck(identity, &err), &err);
    return identity;
}

static void changed_by(const char *command, const char *path) {
    const char *dir = slt_scratch();
    slw_identity *identity = snapshot(dir);
    slt_shell("cd %s && %s", dir, command);
    const slw_code rc = slw_identity_recheck(identity, &err);
    if (path == NULL) {
        slt_ok(rc, &err);
    } else {
        ck_assert_msg(rc == SLW_E_IDENTITY_UNUSABLE, "%s: %s", command, slw_code_name(rc));
        ck_assert_str_eq(err.reason, "TOOLCHAIN_CHANGED");
        ck_assert_str_eq(err.path, slt_path(dir, path, NULL));
    }
    slw_identity_release(&identity);
}

START_TEST(any_change_of_the_toolchain_is_seen) {
    changed_by("true", NULL);
    changed_by("printf y > a", "a");
    changed_by("cp -p a a3 && mv a3 a", "a");
    changed_by("rm a", "a");
    changed_by("ln -sfn a2 link", "link");
    changed_by("rm link", "link");
    changed_by("touch tree/new", "tree");
    changed_by("mkdir tree/new", "tree");
    changed_by("printf y > tree/b", "tree/b");
    changed_by("rm -r tree", "tree/b");
    changed_by("mkdir tree/__pycache__ && touch tree/b.pyc", NULL); /* names that do not count */
    changed_by("touch elsewhere", NULL);
}
END_TEST

/* An allocator that counts what is held, and fails at the n-th request. */
static long held, requests, fail_at;
static void *count_allocate(void *context, size_t size) {
    (void)context;
    if (++requests == fail_at) return NULL;
    held++;
    return malloc(size);
}
static void *count_reallocate(void *context, void *pointer, size_t size) {
    (void)context;
    if (++requests == fail_at) return NULL;
    held += pointer == NULL;
    return realloc(pointer, size);
}
static void count_release(void *context, void *pointer) {
    (void)context;
    held--;
    free(pointer);
}

/* A whole life of an identity; every call is repeated once after NO_MEMORY. */
static slw_code live(const char *dir, slw_digest *out) {
    slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
    slw_identity *identity = NULL;
    slw_digest tree;
    const slw_allocator allocator = {NULL, count_allocate, count_reallocate, count_release};
    const slw_digest *digest = NULL;
    options.allocator = allocator;
    slw_code first = SLW_OK;
#define TWICE(call)                                                                                                \
    do {                                                                                                           \
        slw_code rc = (call);                                                                                      \
        if (rc == SLW_E_NO_MEMORY) first = rc, rc = (call);                                                        \
        ck_assert_msg(rc == SLW_OK, "%s at %ld: %s %s", #call, fail_at, slw_code_name(rc), err.message);           \
    } while (0)
    TWICE(slw_identity_create(&options, &identity, &err));
    TWICE(slw_identity_component(identity, "tools", &err));
    TWICE(slw_identity_add_file(identity, "tools", slt_path(dir, "link", NULL), &err));
    TWICE(slw_identity_add_tree(identity, "tools", slt_path(dir, "tree", NULL), 0, &err));
    TWICE(slw_identity_add_program(identity, "tools", "/bin/sh", &err));
    TWICE(slw_identity_add_environment(identity, "tools", "A", "1", &err));
    TWICE(slw_identity_add_build_id(identity, "tools", "/bin/sh", &err));
    TWICE(slw_identity_prove(identity, "tools", &err));
    TWICE(slw_identity_seal(identity, &err));
    TWICE(slw_identity_usable(identity, &err));
    TWICE(slw_identity_digest_tree(identity, dir, &tree, &err));
    TWICE(slw_identity_recheck(identity, &err));
    ck_assert_int_eq(slw_identity_at(identity, 0, NULL, &digest), 1);
    *out = *digest;
    slw_identity_release(&identity);
    return first;
}

START_TEST(every_allocation_may_fail_and_the_call_may_be_repeated) {
    const char *dir = slt_scratch();
    slw_digest whole, digest;
    slw_identity *identity = snapshot(dir);
    slw_identity_release(&identity);
    fail_at = 0;
    (void)live(dir, &whole);
    ck_assert_int_eq(held, 0);
    const long all = requests;
    const int before = slt_open_descriptors();
    for (fail_at = 1; fail_at <= all; fail_at++) {
        requests = 0;
        ck_assert_msg(live(dir, &digest) == SLW_E_NO_MEMORY, "the failure of request %ld of %ld went unnoticed", fail_at, all);
        ck_assert(kit_same(&digest, &whole));
        ck_assert_int_eq(held, 0);
    }
    ck_assert_int_eq(slt_open_descriptors(), before);
}
END_TEST

/* ---- every system call of a gathering fails once ---- */

static slwi_os faulty;
static long calls, fault_at;
static int fault(void) {
    return ++calls == fault_at ? -5 : 0; /* EIO */
}
#define FAULTY(name, type, parameters, arguments)                                                                  \
    static type faulty_##name parameters {                                                                         \
        const int r = fault();                                                                                     \
        return r < 0 ? r : os->next->name arguments;                                                               \
    }
FAULTY(openat, int, (const slwi_os *os, int d, const char *p, int f, unsigned m), (os->next, d, p, f, m))
FAULTY(read, int64_t, (const slwi_os *os, int fd, void *data, size_t size), (os->next, fd, data, size))
FAULTY(pread, int64_t, (const slwi_os *os, int fd, void *data, size_t n, uint64_t at), (os->next, fd, data, n, at))
FAULTY(fstat, int, (const slwi_os *os, int fd, slwi_stat *out), (os->next, fd, out))
FAULTY(fstatat, int, (const slwi_os *os, int d, const char *p, int f, slwi_stat *o), (os->next, d, p, f, o))
FAULTY(realpath, int, (const slwi_os *os, const char *p, char o[4096]), (os->next, p, o))
FAULTY(readlinkat, int64_t, (const slwi_os *os, int d, const char *p, char *o, size_t n), (os->next, d, p, o, n))
FAULTY(readdir, int, (const slwi_os *os, slwi_dir *d, slwi_dirent *o), (os->next, d, o))

static int gather_all(const char *dir, slw_digest *out) {
    slw_identity *identity = kit_identity();
    slt_ok(slw_identity_add_file(identity, "tools", slt_path(dir, "link", NULL), &err), &err);
    slt_ok(slw_identity_add_tree(identity, "tools", slt_path(dir, "tree", NULL), 0, &err), &err);
    slt_ok(slw_identity_add_tree(identity, "tools", slt_path(dir, "gone", NULL), 1, &err), &err);
    slt_ok(slw_identity_add_program(identity, "tools", "/bin/ls", &err), &err);
    const int available = kit_seal(identity, out);
    slw_identity_release(&identity);
    return available;
}

START_TEST(no_failing_system_call_makes_another_identity) {
    const char *dir = slt_scratch();
    slw_digest whole, digest;
    slw_identity *identity = snapshot(dir);
    slw_identity_release(&identity);
    faulty = *slwi_os_real();
    faulty.next = slwi_os_real();
    faulty.openat = faulty_openat;
    faulty.read = faulty_read;
    faulty.pread = faulty_pread;
    faulty.fstat = faulty_fstat;
    faulty.fstatat = faulty_fstatat;
    faulty.realpath = faulty_realpath;
    faulty.readlinkat = faulty_readlinkat;
    faulty.readdir = faulty_readdir;
    slwi_os_replace(&faulty);
    ck_assert_int_eq(gather_all(dir, &whole), 1);
    const long all = calls;
    const int before = slt_open_descriptors();
    for (fault_at = 1; fault_at <= all; fault_at++) {
        calls = 0;
        if (gather_all(dir, &digest)) ck_assert_msg(kit_same(&digest, &whole), "call %ld of %ld", fault_at, all);
    }
    ck_assert_int_eq(slt_open_descriptors(), before);
    slwi_os_replace(NULL);
}
END_TEST

static slw_identity *sealed(void) {
    slw_identity *identity = kit_identity();
    slw_digest digest;
    slt_ok(slw_identity_add_environment(identity, "tools", "A", "1", &err), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 1);
    return identity;
}

START_TEST(a_tree_can_be_digested_after_sealing_and_is_rechecked) {
    const char *dir = slt_scratch();
    const char *root = slt_path(dir, "include", NULL);
    slw_identity *identity = sealed();
    slw_digest absent, first, second, untouched;
    slw_identity_cost cost = SLW_IDENTITY_COST_INIT;
    slt_ok(slw_identity_digest_tree(identity, root, &absent, &err), &err);
    kit_dir(dir, "include");
    ck_assert_int_eq(slw_identity_recheck(identity, &err), SLW_E_IDENTITY_UNUSABLE);
    kit_put(root, "a.h", "one");
    slt_ok(slw_identity_digest_tree(identity, root, &first, &err), &err);
    slt_ok(slw_identity_recheck(identity, &err), &err);
    kit_put(root, "a.h", "other");
    ck_assert_int_eq(slw_identity_recheck(identity, &err), SLW_E_IDENTITY_UNUSABLE);
    ck_assert_str_eq(err.reason, "TOOLCHAIN_CHANGED");
    slt_ok(slw_identity_recheck(identity, &err), &err); /* that request is over */
    slt_ok(slw_identity_digest_tree(identity, root, &second, &err), &err);
    slt_ok(slw_identity_recheck(identity, &err), &err);
    ck_assert(!kit_same(&absent, &first));
    ck_assert(!kit_same(&first, &second));
    slt_ok(slw_identity_get_cost(identity, &cost, &err), &err);
    ck_assert_uint_eq(cost.read_files, 2);
    ck_assert_int_eq(symlink("nowhere", slt_path(root, "gone", NULL)), 0);
    untouched = second;
    ck_assert_int_eq(slw_identity_digest_tree(identity, root, &untouched, &err), SLW_E_IDENTITY_UNUSABLE);
    ck_assert_str_eq(err.reason, "TREE_UNREADABLE");
    ck_assert_ptr_nonnull(strstr(err.tried, "dangling"));
    ck_assert(kit_same(&untouched, &second));
    slw_identity_release(&identity);
}
END_TEST

typedef struct request {
    slw_identity *identity;
    const char *root;
    slw_code rc;
} request;

static void *digest_on_another_thread(void *context) {
    request *r = context;
    slw_digest digest;
    slw_error mine = SLW_ERROR_INIT;
    r->rc = slw_identity_digest_tree(r->identity, r->root, &digest, &mine);
    if (r->rc == SLW_OK) r->rc = slw_identity_recheck(r->identity, &mine);
    return NULL;
}

START_TEST(an_edit_between_two_requests_fails_the_first_alone) {
    const char *dir = slt_scratch();
    slw_identity *identity = sealed();
    slw_digest digest;
    pthread_t thread;
    request other = {identity, dir, -1};
    kit_put(dir, "a.h", "one");
    slt_ok(slw_identity_digest_tree(identity, dir, &digest, &err), &err);
    kit_put(dir, "a.h", "other");
    ck_assert_int_eq(pthread_create(&thread, NULL, digest_on_another_thread, &other), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(other.rc, SLW_OK);
    ck_assert_int_eq(slw_identity_recheck(identity, &err), SLW_E_IDENTITY_UNUSABLE);
    slw_identity_release(&identity);
}
END_TEST

START_TEST(a_sealed_identity_is_shared_by_threads) {
    const char *dir = slt_scratch();
    slw_identity *identity = sealed();
    pthread_t threads[8];
    request requests_of[8];
    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "h%d", i);
        kit_put(dir, name, name);
    }
    for (int i = 0; i < 8; i++) {
        requests_of[i] = (request){identity, dir, -1};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, digest_on_another_thread, &requests_of[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_int_eq(requests_of[i].rc, SLW_OK);
    }
    slw_identity_release(&identity);
}
END_TEST

/* The smallest ELF file with a note: header, one PT_NOTE, a GNU build-id of 20 bytes. */
static void write_elf(const char *path, const char *id, size_t id_size, const char *padding) {
    unsigned char elf[512] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    elf[16] = 3, elf[18] = 62, elf[20] = 1, elf[32] = 64, elf[52] = 64, elf[54] = 56, elf[56] = id_size > 0 ? 1 : 0;
    unsigned char *segment = elf + 64, *note = elf + 128;
    segment[0] = 4, segment[8] = 128, segment[32] = (unsigned char)(16 + id_size), segment[40] = segment[32];
    note[0] = 4, note[4] = (unsigned char)id_size, note[8] = 3;
    memcpy(note + 12, "GNU", 4);
    memcpy(note + 16, id, id_size);
    memcpy(elf + 256, padding, strlen(padding));
    slt_write_file(path, elf, sizeof elf, 0755);
}

static slw_digest build_id(const char *path, int policy, int expected) {
    slw_identity *identity = kit_identity_with(NULL, policy);
    slw_digest digest = {{0}};
    slt_ok(slw_identity_add_build_id(identity, "tools", path, &err), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), expected);
    slw_identity_release(&identity);
    return digest;
}

START_TEST(the_whole_build_id_counts_and_without_one_the_content) {
    const char *path = slt_path(slt_scratch(), "tool", NULL);
    write_elf(path, "AAAAAAAAAAAAAAAAAAAA", 20, "one");
    const slw_digest first = build_id(path, SLW_IDENTITY_CLAIM, 1);
    write_elf(path, "AAAAAAAAAAAAAAAAAAAA", 20, "two");
    const slw_digest same = build_id(path, SLW_IDENTITY_CLAIM, 1);
    write_elf(path, "AAAAAAAAAAAAAAAAAAAB", 20, "two");
    const slw_digest last_byte = build_id(path, SLW_IDENTITY_CLAIM, 1);
    ck_assert(kit_same(&first, &same));
    ck_assert(!kit_same(&first, &last_byte));
    (void)build_id(path, SLW_IDENTITY_MEMO, 0); /* no proof of content */
    write_elf(path, "", 0, "one");
    const slw_digest none = build_id(path, SLW_IDENTITY_MEMO, 1);
    write_elf(path, "", 0, "two");
    const slw_digest other = build_id(path, SLW_IDENTITY_MEMO, 1);
    ck_assert(!kit_same(&none, &other));
    const slw_digest as_file = kit_file(path);
    ck_assert(!kit_same(&other, &as_file));
    slt_write_file(path, "\177ELF\2\1", 6, 0755); /* damaged: its content stands for it */
    (void)build_id(path, SLW_IDENTITY_MEMO, 1);
}
END_TEST

/* A program, a tree and a file; what the digest is by a policy, and how many files were read for it. */
static slw_digest by_policy(const char *dir, int policy, uint64_t *read_files) {
    slw_identity *identity = kit_identity_with(NULL, policy);
    slw_identity_cost cost = SLW_IDENTITY_COST_INIT;
    slw_digest digest;
    slt_ok(slw_identity_add_program(identity, "tools", "/bin/true", &err), &err);
    slt_ok(slw_identity_add_tree(identity, "tools", slt_path(dir, "tree", NULL), 0, &err), &err);
    slt_ok(slw_identity_add_tree(identity, "tools", slt_path(dir, "absent", NULL), 1, &err), &err);
    slt_ok(slw_identity_add_file(identity, "tools", slt_path(dir, "file", NULL), &err), &err);
    const int good = kit_seal(identity, &digest);
    const char *component = "", *reason = "";
    (void)slw_identity_failure(identity, 0, &component, &reason);
    ck_assert_msg(good, "policy %d: %s", policy, reason);
    slt_ok(slw_identity_get_cost(identity, &cost, &err), &err);
    *read_files = cost.read_files;
    slw_identity_release(&identity);
    return digest;
}

/* What the policy of claims is blind to, and what it is not. */
START_TEST(claims_read_no_tree_and_no_closure) {
    const char *dir = slt_scratch();
    uint64_t read_files = 0, all_files = 0;
    slt_shell("mkdir '%s/tree' && echo a >'%s/tree/header.h' && echo b >'%s/file'", dir, dir, dir);
    const slw_digest proof = by_policy(dir, SLW_IDENTITY_CONTENT, &all_files);
    const slw_digest claim = by_policy(dir, SLW_IDENTITY_CLAIM, &read_files);
    ck_assert_uint_ge(all_files, 4); /* the program, what it loads, the header, the file */
    ck_assert_uint_eq(read_files, 1);
    ck_assert(!kit_same(&proof, &claim));
    slt_shell("echo c >'%s/tree/header.h'", dir);
    const slw_digest edited = by_policy(dir, SLW_IDENTITY_CLAIM, &read_files);
    ck_assert(kit_same(&claim, &edited));
    slt_shell("echo c >'%s/file'", dir);
    const slw_digest other = by_policy(dir, SLW_IDENTITY_CLAIM, &read_files);
    ck_assert(!kit_same(&claim, &other));
    slt_shell("echo b >'%s/file' && mkdir '%s/absent'", dir, dir);
    const slw_digest there = by_policy(dir, SLW_IDENTITY_CLAIM, &read_files);
    ck_assert(!kit_same(&claim, &there));
    slt_shell("rmdir '%s/absent' && mv '%s/tree' '%s/moved' && ln -s moved '%s/tree'", dir, dir, dir, dir);
    const slw_digest moved = by_policy(dir, SLW_IDENTITY_CLAIM, &read_files);
    ck_assert(!kit_same(&claim, &moved));
}
END_TEST

START_TEST(a_claimed_tree_has_to_be_there) {
    slw_identity *identity = kit_identity_with(NULL, SLW_IDENTITY_CLAIM);
    slw_digest digest;
    slt_ok(slw_identity_add_tree(identity, "tools", slt_path(slt_scratch(), "absent", NULL), 0, &err), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 0);
    ck_assert(kit_failed_with(identity, "absent", "ENOENT"));
    slw_identity_release(&identity);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("identity");
    TCase *tests = tcase_create("identity");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, an_identity_is_unusable_until_every_component_is_proved);
    tcase_add_test(tests, misuse_is_a_usage_error);
    tcase_add_test(tests, thirty_two_components_and_no_more);
    tcase_add_test(tests, every_kind_of_input_is_a_kind_of_its_own);
    tcase_add_test(tests, a_claim_alone_proves_only_under_the_claim_policy);
    tcase_add_test(tests, rejected_stays_rejected);
    tcase_add_test(tests, missing_inputs_are_all_named_and_nothing_stands_in_for_them);
    tcase_add_test(tests, the_order_of_inputs_and_repetition_do_not_count);
    tcase_add_test(tests, a_file_reached_twice_is_read_once);
    tcase_add_test(tests, a_tree_takes_in_those_below_it_whatever_the_order);
    tcase_add_test(tests, any_change_of_the_toolchain_is_seen);
    tcase_add_test(tests, every_allocation_may_fail_and_the_call_may_be_repeated);
    tcase_add_test(tests, no_failing_system_call_makes_another_identity);
    tcase_add_test(tests, a_tree_can_be_digested_after_sealing_and_is_rechecked);
    tcase_add_test(tests, an_edit_between_two_requests_fails_the_first_alone);
    tcase_add_test(tests, a_sealed_identity_is_shared_by_threads);
    tcase_add_test(tests, the_whole_build_id_counts_and_without_one_the_content);
    tcase_add_test(tests, claims_read_no_tree_and_no_closure);
    tcase_add_test(tests, a_claimed_tree_has_to_be_there);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
