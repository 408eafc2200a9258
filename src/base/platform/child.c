/* The child's side of a start.
 *
 * It runs on the parent's memory (vfork) or on a copy in which any lock may be held for ever (a clone while other
 * threads run). So it changes nothing but its own locals and errno, and on Linux it makes bare system calls only: the C
 * library's functions are safe here, but what a sanitizer puts around them is not. */
#include "platform.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "child.h"

#ifdef __has_attribute
#if __has_attribute(disable_sanitizer_instrumentation)
#define BARE __attribute__((disable_sanitizer_instrumentation))
#endif
#endif
#ifndef BARE
#define BARE
#endif

enum { REPORT = 3, OWN_GROUP = 1, SIGNALS = 64, FAILED = 127 };

#ifdef __linux__
BARE static _Noreturn void leave(int status) {
    for (;;) (void)syscall(SYS_exit_group, status);
}

BARE static void send(int fd, int error_number) {
    (void)syscall(SYS_write, fd, &error_number, sizeof error_number);
}

/* Dispositions to the default, by the kernel's own structure (a handler of 0 is the default; all else is unused). The C
   library's function leaves two signals out that it keeps for itself. */
BARE static void default_signals(void) {
    const unsigned long action[8] = {0};
    for (int number = 1; number <= SIGNALS; number++) {
        (void)syscall(SYS_rt_sigaction, number, action, NULL, (size_t)8);
    }
}

BARE static void unblock_signals(void) {
    const uint64_t none = 0;
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
}

BARE static int lead_group(void) {
    return (int)syscall(SYS_setpgid, 0, 0);
}

BARE static int open_null(void) {
    return (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
}

BARE static int put_at(int fd, int at, int flags) {
    return fd == at ? at : (int)syscall(SYS_dup3, fd, at, flags);
}

BARE static int go_to(const char *directory) {
    return (int)syscall(SYS_chdir, directory);
}

BARE static void close_from(int first, int descriptor_max) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0u) == 0) return;
#endif
    for (int fd = first; fd < descriptor_max; fd++) (void)syscall(SYS_close, fd);
}

BARE static void become(const slwi_child *plan) {
    (void)syscall(SYS_execve, plan->program, plan->argv, plan->envp);
}
#else
static _Noreturn void leave(int status) {
    _exit(status);
}

static void send(int fd, int error_number) {
    (void)!write(fd, &error_number, sizeof error_number);
}

static void default_signals(void) {
    struct sigaction action;
    action.sa_handler = SIG_DFL;
    action.sa_flags = 0;
    (void)sigemptyset(&action.sa_mask);
    for (int number = 1; number < NSIG; number++) (void)sigaction(number, &action, NULL);
}

static void unblock_signals(void) {
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int lead_group(void) {
    return setpgid(0, 0);
}

static int open_null(void) {
    return open("/dev/null", O_RDWR);
}

static int put_at(int fd, int at, int flags) {
    if (dup2(fd, at) < 0) return -1;
    return (flags & O_CLOEXEC) ? fcntl(at, F_SETFD, FD_CLOEXEC) : at;
}

static int go_to(const char *directory) {
    return chdir(directory);
}

static void close_from(int first, int descriptor_max) {
    for (int fd = first; fd < descriptor_max; fd++) (void)close(fd);
}

static void become(const slwi_child *plan) {
    (void)execve(plan->program, plan->argv, plan->envp);
}
#endif

/* 0, or the errno of what went wrong. Standard input comes first: the fresh descriptor may be 1 or 2 itself, where
   those were closed in the parent. */
BARE static int arrange(const slwi_child *plan) {
    const int null_fd = open_null();
    if (null_fd < 0 || put_at(null_fd, STDIN_FILENO, 0) < 0) return errno;
    const int output = plan->output_fd >= 0 ? plan->output_fd : STDIN_FILENO;
    if (put_at(output, STDOUT_FILENO, 0) < 0 || put_at(output, STDERR_FILENO, 0) < 0) return errno;
    return go_to(plan->directory) < 0 ? errno : 0;
}

BARE static _Noreturn void run(const slwi_child *plan, int options) {
    default_signals();
    int error_number = (options & OWN_GROUP) && lead_group() < 0 ? errno : arrange(plan);
    if (error_number != 0) {
        send(plan->report_fd, error_number);
        leave(FAILED);
    }
    if (put_at(plan->report_fd, REPORT, O_CLOEXEC) < 0) {
        send(plan->report_fd, errno);
        leave(FAILED);
    }
    close_from(REPORT + 1, plan->descriptor_max);
    unblock_signals();
    become(plan);
    send(REPORT, errno);
    leave(FAILED);
}

BARE _Noreturn void slwi_child_run(const slwi_child *plan) {
    run(plan, OWN_GROUP);
}

#ifdef __linux__
/* Ends as the child did. */
BARE static _Noreturn void end_like(int status) {
    if (WIFSIGNALED(status)) {
        const uint64_t no_core[2] = {0, 0}; /* the child has left its own already, if any */
        (void)syscall(SYS_prlimit64, 0, RLIMIT_CORE, no_core, NULL);
        unblock_signals();
        (void)syscall(SYS_kill, (pid_t)syscall(SYS_getpid), WTERMSIG(status));
    }
    leave(WIFEXITED(status) ? WEXITSTATUS(status) : FAILED);
}

BARE _Noreturn void slwi_child_help(const slwi_child *plan) {
    (void)lead_group();
    default_signals(); /* here SIGCHLD is at its default: the kernel keeps the status for us */
    const long process = syscall(SYS_clone, (unsigned long)SIGCHLD, NULL, NULL, NULL, 0UL);
    if (process == 0) run(plan, 0);
    if (process < 0) {
        send(plan->report_fd, errno);
        leave(FAILED);
    }
    close_from(0, plan->descriptor_max); /* among them the report, whose end the parent waits for */
    int status = 0;
    while (syscall(SYS_wait4, (pid_t)process, &status, 0, NULL) < 0 && errno == EINTR) {
    }
    end_like(status);
}
#endif
