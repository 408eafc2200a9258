/* Forks: generations, descriptors that a child must not keep, hooks. */
#include "slt.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slipway/limits.h>

#include "fork.h"
#include "os.h"

/* Runs `body` in a child and gives its exit status; a body returns 0 when all was as it should be. */
static int in_child(int (*body)(void *context), void *context) {
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) _exit(body(context));
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "the child was ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static int grandchild_differs(void *context) {
    const uint64_t *seen = context;
    const uint64_t mine = slwi_fork_generation();
    if (mine == seen[0] || mine == seen[1]) return 3;
    return mine == slwi_fork_generation() ? 0 : 4;
}

static int child_differs(void *context) {
    const uint64_t parent = *(uint64_t *)context;
    const uint64_t mine = slwi_fork_generation();
    if (mine == parent) return 1;
    if (mine != slwi_fork_generation()) return 2;
    uint64_t seen[2] = {parent, mine};
    const pid_t child = fork();
    if (child == 0) _exit(grandchild_differs(seen));
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 5;
    return WEXITSTATUS(status);
}

START_TEST(generations_differ) {
    uint64_t mine = slwi_fork_generation();
    ck_assert_uint_ne(mine, 0);
    ck_assert_int_eq(in_child(child_differs, &mine), 0);
    ck_assert_uint_eq(slwi_fork_generation(), mine);
    ck_assert_int_eq(in_child(child_differs, &mine), 0);
}
END_TEST

static void *ask(void *out) {
    *(uint64_t *)out = slwi_fork_generation();
    return NULL;
}

static int threads_agree(void *context) {
    (void)context;
    enum { COUNT = 8 };
    pthread_t threads[COUNT];
    uint64_t seen[COUNT];
    for (int i = 0; i < COUNT; i++) {
        if (pthread_create(&threads[i], NULL, ask, &seen[i]) != 0) return 1;
    }
    for (int i = 0; i < COUNT; i++) (void)pthread_join(threads[i], NULL);
    for (int i = 1; i < COUNT; i++) {
        if (seen[i] != seen[0] || seen[i] == 0) return 2;
    }
    return 0;
}

START_TEST(threads_of_one_child_agree) {
    (void)slwi_fork_generation();
    for (int i = 0; i < 20; i++) ck_assert_int_eq(in_child(threads_agree, NULL), 0);
}
END_TEST

static int is_closed(void *context) {
    const int *fds = context;
    if (fcntl(fds[0], F_GETFD) >= 0 || errno != EBADF) return 1; /* registered: gone */
    if (fcntl(fds[1], F_GETFD) < 0) return 2;                    /* unregistered: stays */
    /* The number may be used again by the child; nothing may close it once more in a grandchild. */
    const int again = dup2(fds[1], fds[0]);
    const pid_t child = fork();
    if (child == 0) _exit(fcntl(again, F_GETFD) >= 0 ? 0 : 3);
    int status = 0;
    (void)waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}

START_TEST(registered_descriptors_are_closed_in_a_child) {
    int fds[2] = {open("/dev/null", O_RDONLY), open("/dev/null", O_RDONLY)};
    ck_assert_int_eq(slwi_fork_register(fds[0]), 0);
    ck_assert_int_eq(slwi_fork_register(fds[1]), 0);
    slwi_fork_unregister(fds[1]);
    ck_assert_int_eq(in_child(is_closed, fds), 0);
    ck_assert_int_ge(fcntl(fds[0], F_GETFD), 0); /* the parent keeps it */
    slwi_fork_unregister(fds[0]);
    slwi_fork_unregister(fds[0]); /* once too often does nothing */
}
END_TEST

static int nothing(void *context) {
    (void)context;
    return 0;
}

START_TEST(a_lock_does_not_live_on_in_a_child) {
    const char *path = slt_path(slt_scratch(), "lock", NULL);
    const int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    ck_assert_int_eq(slwi_fork_register(fd), 0);
    ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
    int hold[2];
    ck_assert_int_eq(pipe(hold), 0);
    const pid_t child = fork();
    if (child == 0) { /* lives on without its parent's lock until the pipe closes */
        char byte = 0;
        close(hold[1]);
        _exit(read(hold[0], &byte, 1) == 0 ? nothing(NULL) : 1);
    }
    close(hold[0]);
    usleep(50000);
    slwi_fork_unregister(fd);
    close(fd);
    const int other = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(flock(other, LOCK_EX | LOCK_NB), 0);
    close(other);
    close(hold[1]);
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(the_table_has_an_end) {
    for (int i = 0; i < (int)SLW_LIMIT_HELD_LOCKS; i++) ck_assert_int_eq(slwi_fork_register(10000 + i), 0);
    ck_assert_int_eq(slwi_fork_register(99999), -EMFILE);
    slwi_fork_unregister(10007);
    ck_assert_int_eq(slwi_fork_register(99999), 0);
    for (int i = 0; i < (int)SLW_LIMIT_HELD_LOCKS; i++) slwi_fork_unregister(10000 + i);
    slwi_fork_unregister(99999);
}
END_TEST

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int prepared, resumed, reborn;
static uint64_t generation_in_hook;

static void prepare(void) {
    pthread_mutex_lock(&guard);
    prepared++;
}

static void parent(void) {
    resumed++;
    pthread_mutex_unlock(&guard);
}

static void child(void) {
    reborn++;
    generation_in_hook = slwi_fork_generation();
    pthread_mutex_unlock(&guard);
}

static int hooks_have_run(void *context) {
    const uint64_t before = *(uint64_t *)context;
    if (reborn != 1 || resumed != 0 || prepared != 1) return 1;
    if (generation_in_hook == before || generation_in_hook != slwi_fork_generation()) return 2;
    return pthread_mutex_trylock(&guard) == 0 ? 0 : 3;
}

START_TEST(hooks) {
    ck_assert_int_eq(slwi_fork_hook(prepare, parent, child), 0);
    uint64_t before = slwi_fork_generation();
    ck_assert_int_eq(in_child(hooks_have_run, &before), 0);
    ck_assert_int_eq(prepared, 1);
    ck_assert_int_eq(resumed, 1);
    ck_assert_int_eq(reborn, 0);
    for (int i = 1; i < 8; i++) ck_assert_int_eq(slwi_fork_hook(NULL, NULL, NULL), 0);
    ck_assert_int_lt(slwi_fork_hook(NULL, NULL, child), 0); /* eight and no more */
    ck_assert_int_eq(in_child(nothing, NULL), 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("base/fork");
    TCase *tc = tcase_create("fork");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, generations_differ);
    tcase_add_test(tc, threads_of_one_child_agree);
    tcase_add_test(tc, registered_descriptors_are_closed_in_a_child);
    tcase_add_test(tc, a_lock_does_not_live_on_in_a_child);
    tcase_add_test(tc, the_table_has_an_end);
    tcase_add_test(tc, hooks);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
