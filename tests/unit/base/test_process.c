/* Children: what they inherit, how they end, and that nothing is left of them. */
#include "slt.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "fail.h"
#include "fault_os.h"
#include "process.h"

#define SECOND 1000000000ull

static slwi_buffer output;
static slw_error err;
static int status;

static void fresh(void) {
    slwi_buffer_init(&output, NULL, 1u << 20);
    const slw_error none = SLW_ERROR_INIT;
    err = none;
    status = -1;
}

static void done(void) {
    slwi_buffer_free(&output);
}

static slw_code run_shell(const char *script, uint64_t deadline_ns, slw_cancel *cancel) {
    const char *const argv[] = {"sh", "-c", script, NULL};
    const char *const envp[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", NULL};
    const slwi_process plan = {"/bin/sh", argv, envp, "/", deadline_ns, cancel, &output};
    return slwi_process_run(&plan, &status, &err);
}

static uint64_t soon(void) {
    return slwi_now_ns() + 60 * SECOND;
}

/* 1 while a process with this number is alive (a zombie of somebody else's counts as dead). */
static int alive(int pid) {
    char path[64];
    char text[256] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const int fd = open(path, O_RDONLY);
    if (fd < 0) return 0;
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    const char *after = n > 0 ? strrchr(text, ')') : NULL;
    return after != NULL && after[2] != 'Z' && after[2] != 'X';
}

static void check_dead(int pid) {
    for (int i = 0; i < 200 && alive(pid); i++) usleep(10000);
    ck_assert_msg(!alive(pid), "%d lives on", pid);
}

/* No child of ours is left, dead or alive. */
static void check_no_children(void) {
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    ck_assert_int_eq(errno, ECHILD);
}

START_TEST(output_and_exit_status) {
    const int descriptors = slt_open_descriptors();
    const uint64_t count = slwi_process_count();
    slt_ok(run_shell("echo out; echo err >&2; exit 7", soon(), NULL), &err);
    ck_assert_int_eq(status, 7);
    ck_assert_str_eq(output.data, "out\nerr\n");
    slwi_buffer_clear(&output);
    slt_ok(run_shell("kill -9 $$", soon(), NULL), &err);
    ck_assert_int_eq(status, 128 + 9);
    ck_assert_uint_eq(output.size, 0);
    slt_ok(run_shell("exit 255", UINT64_MAX, NULL), &err);
    ck_assert_int_eq(status, 255);
    ck_assert_uint_eq(slwi_process_count(), count + 3);
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
    check_no_children();
}
END_TEST

START_TEST(no_output_wanted) {
    const char *const argv[] = {"sh", "-c", "echo x; exec 1>&-; exit 3", NULL};
    const char *const envp[] = {NULL};
    const slwi_process plan = {"/bin/sh", argv, envp, "/", UINT64_MAX, NULL, NULL};
    slt_ok(slwi_process_run(&plan, &status, &err), &err);
    ck_assert_int_eq(status, 3);
}
END_TEST

/* Nothing of ours goes into a child: descriptors, signal mask, dispositions, standard input, environment, directory. */
START_TEST(children_are_made_clean) {
    const int leaked = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */
    ck_assert_int_eq(dup2(leaked, 200), 200);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    ck_assert_int_eq(sigprocmask(SIG_BLOCK, &set, NULL), 0);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    ck_assert_int_eq(setenv("SLIPWAY_LEAK", "1", 1), 0);
    slt_ok(run_shell("ls /proc/self/fd | sort -n | tr '\\n' ' '; grep -E 'SigBlk|SigIgn' /proc/self/status; pwd; env; "
                     "cat; ps -o pgid= -p $$ 2>/dev/null; exit 0",
                     soon(), NULL),
           &err);
    ck_assert_msg(strstr(output.data, "0 1 2 3 ") != NULL, "%s", output.data);
    ck_assert_ptr_null(strstr(output.data, "200"));
    ck_assert_ptr_nonnull(strstr(output.data, "SigBlk:\t0000000000000000"));
    ck_assert_msg(strstr(output.data, "SigIgn:\t0000000000000000") != NULL, "%s", output.data);
    ck_assert_ptr_nonnull(strstr(output.data, "\n/\n"));
    ck_assert_ptr_null(strstr(output.data, "SLIPWAY_LEAK"));
    sigset_t now;
    ck_assert_int_eq(sigprocmask(SIG_SETMASK, NULL, &now), 0);
    ck_assert_int_eq(sigismember(&now, SIGTERM), 1); /* ours is as it was */
    ck_assert_int_eq(sigismember(&now, SIGINT), 0);
}
END_TEST

/* Whichever of the first four are closed here, so that what is opened takes their numbers. */
START_TEST(low_descriptors_may_be_closed) {
    for (int fd = 0; fd < 4; fd++) {
        if (_i & 1 << fd) close(fd);
    }
    slt_ok(run_shell("cat; echo a; echo b >&2; exit 4", soon(), NULL), &err);
    ck_assert_int_eq(status, 4);
    ck_assert_str_eq(output.data, "a\nb\n");
}
END_TEST

START_TEST(missing_programs) {
    const char *dir = slt_scratch();
    slt_write_file(slt_path(dir, "text", NULL), "no program", 10, 0755);
    slt_write_file(slt_path(dir, "plain", NULL), "#!/bin/sh\n", 10, 0644);
    slt_write_file(slt_path(dir, "script", NULL), "#!/no/such/interpreter\n", 23, 0755);
    const char *const programs[] = {slt_path(dir, "none", NULL), slt_path(dir, "text", NULL),
                                    slt_path(dir, "plain", NULL), slt_path(dir, "script", NULL),
                                    slt_path(dir, "plain/x", NULL), dir};
    slt_become_nobody(dir);
    const int descriptors = slt_open_descriptors();
    for (size_t i = 0; i < 6; i++) {
        const char *const argv[] = {"x", NULL};
        const char *const envp[] = {NULL};
        const slwi_process plan = {programs[i], argv, envp, "/", UINT64_MAX, NULL, &output};
        slwi_error_reset(&err);
        ck_assert_msg(slwi_process_run(&plan, &status, &err) == SLW_E_TOOL_MISSING, "%s: %s", programs[i], err.message);
        ck_assert_str_eq(err.tried, programs[i]);
        ck_assert_int_eq(status, -1);
    }
    const char *const argv[] = {"sh", NULL};
    const char *const envp[] = {NULL};
    const slwi_process nowhere = {"/bin/sh", argv, envp, slt_path(dir, "gone", NULL), UINT64_MAX, NULL, &output};
    slwi_error_reset(&err);
    ck_assert_int_eq(slwi_process_run(&nowhere, &status, &err), SLW_E_STORAGE);
    ck_assert_str_eq(err.path, nowhere.directory);
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
    check_no_children();
}
END_TEST

START_TEST(the_deadline_ends_the_whole_group) {
    const uint64_t start = slwi_now_ns();
    const slw_code rc = run_shell("sleep 300 & echo $!; echo $$; trap '' TERM INT; sleep 300", start + SECOND, NULL);
    ck_assert_int_eq(rc, SLW_E_TIMEOUT);
    ck_assert_int_eq(err.code, SLW_E_TIMEOUT);
    ck_assert_int_eq(status, -1);
    ck_assert_uint_lt(slwi_now_ns() - start, 20 * SECOND);
    int sleeper = 0;
    int shell = 0;
    ck_assert_int_eq(sscanf(output.data, "%d %d", &sleeper, &shell), 2); /* what was said until then is kept */
    check_dead(sleeper);
    check_dead(shell);
    check_no_children();
}
END_TEST

START_TEST(a_passed_deadline_starts_nothing) {
    const uint64_t count = slwi_process_count();
    ck_assert_int_eq(run_shell("exit 0", 1, NULL), SLW_E_TIMEOUT);
    ck_assert_uint_eq(slwi_process_count(), count);
}
END_TEST

static void *cancel_later(void *token) {
    usleep(300000);
    slw_cancel_request(token);
    return NULL;
}

START_TEST(cancellation) {
    slw_cancel *token = NULL;
    slt_ok(slw_cancel_create(NULL, &token, &err), &err);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel_later, token), 0);
    const uint64_t start = slwi_now_ns();
    ck_assert_int_eq(run_shell("exec >&- 2>&-; sleep 300", UINT64_MAX, token), SLW_E_CANCELLED);
    ck_assert_uint_lt(slwi_now_ns() - start, 20 * SECOND);
    pthread_join(thread, NULL);
    slw_cancel_release(&token);
    check_no_children();
}
END_TEST

START_TEST(pitfall_39_a_grandchild_that_holds_the_pipe_delays_nothing) {
    const uint64_t start = slwi_now_ns();
    slt_ok(run_shell("sleep 300 & echo $!; exit 5", soon(), NULL), &err);
    ck_assert_int_eq(status, 5);
    ck_assert_uint_lt(slwi_now_ns() - start, 20 * SECOND);
    check_dead(atoi(output.data)); /* and does not live on */
    /* One that left the group cannot be killed by it, but neither may it delay. */
    slwi_buffer_clear(&output);
    slt_ok(run_shell("setsid sleep 30 & echo $!; exit 6", soon(), NULL), &err);
    ck_assert_int_eq(status, 6);
    ck_assert_uint_lt(slwi_now_ns() - start, 20 * SECOND);
    (void)kill(atoi(output.data), SIGKILL);
}
END_TEST

START_TEST(huge_output_keeps_its_head) {
    slwi_buffer_free(&output);
    slwi_buffer_init(&output, NULL, 1000);
    slt_ok(run_shell("echo first; i=0; while [ $i -lt 2000 ]; do echo 0123456789012345678901234567890123456789; "
                     "i=$((i+1)); done; exit 9",
                     soon(), NULL),
           &err);
    ck_assert_int_eq(status, 9);
    ck_assert_int_eq(output.failed, 0);
    ck_assert_uint_le(output.size, 1000);
    ck_assert_mem_eq(output.data, "first\n0123", 10);
    ck_assert_ptr_nonnull(strstr(output.data, "[output cut here]"));
    slwi_buffer_free(&output);
    slwi_buffer_init(&output, NULL, 5); /* too small for the note */
    slt_ok(run_shell("echo 123456", soon(), NULL), &err);
    ck_assert_str_eq(output.data, "12345");
    slwi_buffer_free(&output);
    slwi_buffer_init(&output, NULL, 7); /* just enough is not cut */
    slt_ok(run_shell("echo 123456", soon(), NULL), &err);
    ck_assert_str_eq(output.data, "123456\n");
    slwi_buffer_free(&output);
    slwi_buffer_init(&output, NULL, SIZE_MAX);
    slt_ok(run_shell("head -c 5000000 /dev/zero", soon(), NULL), &err); /* far more than a pipe holds */
    ck_assert_uint_eq(output.size, 5000000);
}
END_TEST

static void on_child(int number) {
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
}

static void check_whole_life(void) {
    slt_ok(run_shell("echo x; exit 42", soon(), NULL), &err);
    ck_assert_int_eq(status, 42);
    slt_ok(run_shell("kill -15 $$", soon(), NULL), &err);
    ck_assert_int_eq(status, 128 + 15);
    const char *const argv[] = {"x", NULL};
    const slwi_process plan = {"/no/such/program", argv, argv + 1, "/", UINT64_MAX, NULL, &output};
    ck_assert_int_eq(slwi_process_run(&plan, &status, &err), SLW_E_TOOL_MISSING);
    slwi_error_reset(&err);
    slwi_buffer_clear(&output);
    const uint64_t start = slwi_now_ns();
    ck_assert_int_eq(run_shell("sleep 300 & echo $!; echo $$; sleep 300", start + SECOND, NULL), SLW_E_TIMEOUT);
    int sleeper = 0;
    int shell = 0;
    ck_assert_int_eq(sscanf(output.data, "%d %d", &sleeper, &shell), 2);
    check_dead(sleeper);
    check_dead(shell);
    slwi_error_reset(&err);
    slwi_buffer_clear(&output);
    slt_ok(run_shell("sleep 300 & echo $!; exit 5", soon(), NULL), &err);
    ck_assert_int_eq(status, 5);
    check_dead(atoi(output.data));
}

START_TEST(pitfall_39_sigchld_ignored) {
    const int descriptors = slt_open_descriptors();
    signal(SIGCHLD, SIG_IGN);
    check_whole_life();
    signal(SIGCHLD, SIG_DFL);
    check_no_children();
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
}
END_TEST

START_TEST(pitfall_39_sigchld_handled_by_one_who_takes_every_child) {
    signal(SIGCHLD, on_child);
    check_whole_life();
    signal(SIGCHLD, SIG_DFL);
    check_no_children();
}
END_TEST

START_TEST(pitfall_39_sigchld_without_zombies) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    action.sa_flags = SA_NOCLDWAIT;
    ck_assert_int_eq(sigaction(SIGCHLD, &action, NULL), 0);
    check_whole_life();
}
END_TEST

START_TEST(a_lost_status_is_no_success) {
    slt_fault_os_install(NULL);
    slt_fault_os_add((slt_fault){.call = SLT_WAIT, .nth = 1, .every = 1, .error_number = ECHILD});
    ck_assert_int_eq(run_shell("exit 0", soon(), NULL), SLW_E_STORAGE);
    ck_assert_str_eq(err.reason, "STATUS_LOST");
    slt_fault_os_remove();
}
END_TEST

START_TEST(failures_of_the_system_are_reported) {
    const int descriptors = slt_open_descriptors();
    slt_fault_os_install(NULL);
    slt_fault_os_add((slt_fault){.call = SLT_PIPE, .nth = 1, .error_number = EMFILE});
    ck_assert_int_eq(run_shell("exit 0", soon(), NULL), SLW_E_STORAGE);
    ck_assert_str_eq(err.raw_name, "EMFILE");
    slt_fault_os_clear();
    slwi_error_reset(&err);
    slt_fault_os_add((slt_fault){.call = SLT_SPAWN, .nth = 1, .error_number = ENOMEM});
    ck_assert_int_eq(run_shell("exit 0", soon(), NULL), SLW_E_NO_MEMORY);
    slt_fault_os_clear();
    slwi_error_reset(&err);
    slt_fault_os_add((slt_fault){.call = SLT_SPAWN, .nth = 1, .error_number = EAGAIN});
    ck_assert_int_eq(run_shell("exit 0", soon(), NULL), SLW_E_STORAGE);
    slt_fault_os_clear();
    slwi_error_reset(&err);
    slt_fault_os_add((slt_fault){.call = SLT_READ, .nth = 1, .error_number = EIO}); /* its words are lost, it is not */
    slt_ok(run_shell("echo x; exit 3", soon(), NULL), &err);
    ck_assert_int_eq(status, 3);
    slt_fault_os_remove();
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
    check_no_children();
}
END_TEST

typedef struct job {
    int number;
    int ok;
} job;

static void *run_one(void *argument) {
    job *mine = argument;
    char script[64];
    char wanted[16];
    (void)snprintf(script, sizeof script, "echo %d; exit %d", mine->number, mine->number);
    (void)snprintf(wanted, sizeof wanted, "%d\n", mine->number);
    const char *const argv[] = {"sh", "-c", script, NULL};
    const char *const envp[] = {NULL};
    slwi_buffer own;
    slwi_buffer_init(&own, NULL, 1000);
    slw_error own_err = SLW_ERROR_INIT;
    const slwi_process plan = {"/bin/sh", argv, envp, "/", UINT64_MAX, NULL, &own};
    int own_status = -1;
    mine->ok = slwi_process_run(&plan, &own_status, &own_err) == SLW_OK && own_status == mine->number &&
               own.data != NULL && strcmp(own.data, wanted) == 0;
    slwi_buffer_free(&own);
    return NULL;
}

START_TEST(many_at_once) {
    enum { COUNT = 12 };
    pthread_t threads[COUNT];
    job jobs[COUNT];
    for (int round = 0; round < 2; round++) {
        if (round == 1) signal(SIGCHLD, SIG_IGN);
        for (int i = 0; i < COUNT; i++) {
            jobs[i].number = i + 1;
            jobs[i].ok = 0;
            ck_assert_int_eq(pthread_create(&threads[i], NULL, run_one, &jobs[i]), 0);
        }
        for (int i = 0; i < COUNT; i++) {
            pthread_join(threads[i], NULL);
            ck_assert_msg(jobs[i].ok, "round %d job %d", round, i);
        }
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("base/process");
    TCase *tc = tcase_create("process");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, fresh, done);
    tcase_add_test(tc, output_and_exit_status);
    tcase_add_test(tc, no_output_wanted);
    tcase_add_test(tc, children_are_made_clean);
    tcase_add_loop_test(tc, low_descriptors_may_be_closed, 0, 16);
    tcase_add_test(tc, missing_programs);
    tcase_add_test(tc, the_deadline_ends_the_whole_group);
    tcase_add_test(tc, a_passed_deadline_starts_nothing);
    tcase_add_test(tc, cancellation);
    tcase_add_test(tc, pitfall_39_a_grandchild_that_holds_the_pipe_delays_nothing);
    tcase_add_test(tc, huge_output_keeps_its_head);
    tcase_add_test(tc, pitfall_39_sigchld_ignored);
    tcase_add_test(tc, pitfall_39_sigchld_handled_by_one_who_takes_every_child);
    tcase_add_test(tc, pitfall_39_sigchld_without_zombies);
    tcase_add_test(tc, a_lost_status_is_no_success);
    tcase_add_test(tc, failures_of_the_system_are_reported);
    tcase_add_test(tc, many_at_once);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
