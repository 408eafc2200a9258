/* What the tests of the memo share: a table of system calls in which files look old and lie on a file system that may be
 * remembered, so that no test has to wait or to find an ext4. */
#ifndef MEMO_KIT_H
#define MEMO_KIT_H

#include <fcntl.h>

#include "identity_kit.h"
#include "memo.h"

static slwi_os fake;
static slwi_fs fake_fs = {.type = 0xef53, .id = 77, .name = "ext4", .local = 1, .memo_allowed = 1};
static const char *fake_boot = "0f3c1c2e-0000-4000-8000-000000000001";
static uint64_t fake_mount = 9;
static int64_t fake_age_ns = INT64_C(10000000000); /* how much older files look than they are */
static int fake_lease; /* what asking for a lease gives; 1: what the system says */

static void fake_older(slwi_stat *stat) {
    if (!S_ISREG(stat->mode) && !S_ISDIR(stat->mode)) return;
    if (S_ISREG(stat->mode) && stat->size == 1) return; /* the clock file has one byte */
    stat->mtime_ns -= fake_age_ns;
    stat->ctime_ns -= fake_age_ns;
}
static int fake_fstat(const slwi_os *os, int fd, slwi_stat *out) {
    const int r = os->next->fstat(os->next, fd, out);
    if (r == 0) fake_older(out);
    return r;
}
static int fake_fstatat(const slwi_os *os, int dirfd, const char *path, int follow, slwi_stat *out) {
    const int r = os->next->fstatat(os->next, dirfd, path, follow, out);
    if (r == 0) fake_older(out);
    return r;
}
static int fake_fstatfs(const slwi_os *os, int fd, slwi_fs *out) {
    (void)os;
    (void)fd;
    *out = fake_fs;
    return 0;
}
static int fake_boot_id(const slwi_os *os, char out[64]) {
    (void)os;
    strcpy(out, fake_boot);
    return 0;
}
static int fake_stat_mount_id(const slwi_os *os, int fd, uint64_t *out) {
    (void)os;
    (void)fd;
    *out = fake_mount;
    return 0;
}
static int fake_lease_read(const slwi_os *os, int fd) {
    return fake_lease == 1 ? os->next->lease_read(os->next, fd) : fake_lease;
}

static inline void memo_fake(void) {
    fake = *slwi_os_real();
    fake.next = slwi_os_real();
    fake.fstat = fake_fstat;
    fake.fstatat = fake_fstatat;
    fake.fstatfs = fake_fstatfs;
    fake.boot_id = fake_boot_id;
    fake.stat_mount_id = fake_stat_mount_id;
    fake.lease_read = fake_lease_read;
    slwi_os_replace(&fake);
}

static inline slw_memo *memo_open(const char *directory, int read_only) {
    slw_memo_options options = SLW_MEMO_OPTIONS_INIT;
    slw_memo *memo = NULL;
    options.directory = directory;
    options.read_only = read_only;
    slt_ok(slw_memo_open(&options, &memo, &err), &err);
    return memo;
}

/* How many files of the tree came from the memo, and how many were read; and its digest. */
typedef struct memo_count {
    uint64_t known, read;
    slw_digest digest;
} memo_count;

static inline memo_count memo_ask(slw_memo *memo, int policy, const char *tree) {
    slw_identity *identity = kit_identity_with(memo, policy);
    slw_identity_cost cost = SLW_IDENTITY_COST_INIT;
    memo_count count;
    slt_ok(slw_identity_add_tree(identity, "tools", tree, 0, &err), &err);
    ck_assert_int_eq(kit_seal(identity, &count.digest), 1);
    slt_ok(slw_identity_get_cost(identity, &cost, &err), &err);
    slw_identity_release(&identity);
    count.known = cost.memo_files;
    count.read = cost.read_files;
    return count;
}

/* Opens the memo, asks once, closes it. */
static inline memo_count memo_run(const char *directory, const char *tree) {
    slw_memo *memo = memo_open(directory, 0);
    const memo_count count = memo_ask(memo, SLW_IDENTITY_MEMO, tree);
    slw_memo_close(&memo);
    ck_assert_ptr_null(memo);
    return count;
}

/* A directory of the user's own under a scratch directory, not made yet. */
static inline const char *memo_place(void) {
    return slt_path(slt_scratch(), "memo", NULL);
}

#endif
