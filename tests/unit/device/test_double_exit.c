/* The doubles at the end of a process: calls after their exit handler and in a forked child are heard. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "double_loader.h"

static const char *const kinds[] = {"cuda", "hip"};
static slt_double d;
static int (*init)(unsigned);
static int (*harmless)(int *);

static void find(const char *name, void *out) {
    void *const found = slt_double_symbol(&d, name);
    memcpy(out, &found, sizeof found);
}
static void open_double(int kind) {
    slt_double_open(&d, kinds[kind]);
    find(kind == 0 ? "cuInit" : "hipInit", &init);
    find(kind == 0 ? "cuDeviceGetCount" : "hipGetDevice", &harmless);
}

static void call_late(void) {
    int value = 0;
    if (harmless(&value) != 4) _exit(9);
}

/* Ends by exit() with a handler of its own that calls: installed before the double's, so it runs after it, or later. */
static _Noreturn void end(const char *path, int strict, int before) {
    d.control->write_exit(path);
    d.control->set(DOUBLE_STRICT, strict);
    if (before) (void)atexit(call_late);
    if (init(0) != 0) _exit(8);
    int value = 0;
    (void)harmless(&value);
    exit(0);
}

static int status_of(const char *path, int strict, int before) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) end(path, strict, before);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

START_TEST(calls_after_the_exit_handler) {
    open_double(_i);
    const char *const path = slt_path(slt_scratch(), "exit", NULL);
    ck_assert_int_eq(status_of(path, 0, 1), 0);
    char *const text = slt_read_file(path, NULL);
    ck_assert_str_eq(text,
                     _i == 0 ? "2 calls before the end\ncuDeviceGetCount\n" : "2 calls before the end\nhipGetDevice\n");
    free(text);
    const int status = status_of(path, 1, 1);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    ck_assert_int_eq(status_of(path, 1, 0), 0);
    slt_double_check(&d);
}
END_TEST

/* A child of an initialised process has handlers of its parent's, and ends in silence; what it calls is a violation. */
START_TEST(a_child_ends_for_itself_only) {
    open_double(_i);
    const char *const path = slt_path(slt_scratch(), "exit", NULL);
    d.control->write_exit(path);
    ck_assert_int_eq(init(0), 0);
    int status = 0, value = 0;
    const pid_t child = fork();
    if (child == 0) {
        if (d.control->violations() != 0 || init(0) != 3 || d.control->violations() != 0) _exit(7);
        if (harmless(&value) != 3 || d.control->violations() != 1) _exit(8);
        exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_ne(access(path, F_OK), 0);
    d.control->write_exit(NULL);
    slt_double_check(&d);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("doubles at exit");
    TCase *tcase = tcase_create("exit");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, calls_after_the_exit_handler, 0, 2);
    tcase_add_loop_test(tcase, a_child_ends_for_itself_only, 0, 2);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
