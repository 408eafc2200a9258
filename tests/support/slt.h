/* What every test program shares: running a suite, scratch directories, dropping root. */
#ifndef SLT_H
#define SLT_H

#include <check.h>
#include <slipway/slipway.h>

/* Runs the suites (NULL-terminated), prints Check's closing line and one "SKIP name: why" line for each slt_skip;
   returns main's value. */
int slt_run(Suite *first, ...);

/* A fresh 0700 directory for this test process, absolute, removed when the process ends. Valid until the next call of
   the process's last scratch directory is made 64 times. */
const char *slt_scratch(void);

/* Says why and ends the test as passed-but-skipped: counted by the closing line of `./dev test`. */
void slt_skip(const char *test, const char *why);

/* Becomes uid and gid 65534 for good (when root; else nothing), with `directory` chowned to it first (recursively). Use
   in tests about permissions or other users: Check forks per test, so only this test changes. */
void slt_become_nobody(const char *directory);

/* Joins path parts with '/'; from a ring of 64 buffers. */
const char *slt_path(const char *first, ...); /* NULL-terminated */

void slt_write_file(const char *path, const void *data, size_t size, unsigned mode);
/* malloc'ed, NUL-terminated; fails the test when unreadable. */
char *slt_read_file(const char *path, size_t *size);
/* Runs /bin/sh -c for set-up (cp -r, tar); fails the test when it fails. */
void slt_shell(const char *format, ...) SLW_PRINTF(1, 2);

/* A path below tests/fixtures, absolute. Test programs are started in the top of the tree. */
const char *slt_fixture(const char *relative);

/* Open descriptors of this process, to prove that none leaked. */
int slt_open_descriptors(void);

/* Waits, ten seconds at most, until every other thread of this process sleeps. Before a fork: a thread that starts may hold
   a lock of ASan's allocator, which the child of a program by clang 16 then waits for, for ever. */
void slt_wait_threads_asleep(void);

#define slt_ok(call, err)                                                                                              \
    ck_assert_msg((call) == SLW_OK, "%s: %s (%s) %s", #call, slw_code_name((err)->code),                               \
                  (err)->reason ? (err)->reason : "", (err)->message)

#endif
