/* Starting, watching and ending children.
 *
 * A child is made by vfork: a process with a GPU context may map hundreds of GB, and copying its page tables would cost
 * more than most compilers run. Where SIGCHLD is not at its default somebody else may take the exit status (the kernel
 * throws it away when the signal is ignored, a handler may wait for any child), so a helper stands between: it is no
 * ordinary child (its exit signal is 0, and waits without __WALL do not see it) and passes the status on. */
#include "platform.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "child.h"

enum { FIRST_FREE = 10 }; /* above what a child arranges for itself */

/* In a function of its own: the compiler must keep nothing of the caller's in a register across the second return. */
static __attribute__((noinline)) pid_t start_child(const slwi_child *plan) {
#ifdef __linux__
    const pid_t process = vfork();
#else
    const pid_t process = fork();
#endif
    if (process == 0) slwi_child_run(plan);
    return process;
}

#ifdef __linux__
static pid_t start_helped(const slwi_child *plan) {
    /* A bare clone with no exit signal; both argument orders of SYS_clone are all zeros. */
    const long process = syscall(SYS_clone, 0UL, NULL, NULL, NULL, 0UL);
    if (process == 0) slwi_child_help(plan);
    /* Emulators know clone only as fork. Then an ordinary child, whose status may be lost, which is said if it is. */
    if (process < 0 && errno == EINVAL) return start_child(plan);
    if (process > 0) (void)setpgid((pid_t)process, (pid_t)process); /* whoever is first */
    return (pid_t)process;
}

static int status_is_ours(void) {
    struct sigaction action;
    if (sigaction(SIGCHLD, NULL, &action) != 0) return 1;
    return !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL && !(action.sa_flags & SA_NOCLDWAIT);
}
#endif

static int64_t start_any(const slwi_child *plan) {
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* no handler of ours may run in the child */
#ifdef __linux__
    const pid_t process = status_is_ours() ? start_child(plan) : start_helped(plan);
#else
    const pid_t process = start_child(plan);
#endif
    const int error_number = errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return process < 0 ? -error_number : process;
}

static int descriptor_max(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 1048576) return 1048576;
    return (int)limit.rlim_cur;
}

static int os_wait(const slwi_os *os, int64_t process, int *status);

/* The errno the child reported, 0 when the report ended without one: the exec took place. */
static int read_report(int fd) {
    int error_number = 0;
    ssize_t got = 0;
    SLWI_RETRY(ssize_t, got, read(fd, &error_number, sizeof error_number));
    return got == (ssize_t)sizeof error_number ? error_number : 0;
}

static void reap(int64_t process) {
    int status = 0;
    while (os_wait(NULL, process, &status) == 0) {
        const struct timespec moment = {0, 100000};
        (void)nanosleep(&moment, NULL);
    }
}

static int64_t start_reported(slwi_child *plan, int report) {
    plan->report_fd = fcntl(report, F_DUPFD_CLOEXEC, FIRST_FREE);
    const int64_t process = plan->report_fd < 0 ? -errno : start_any(plan);
    if (plan->report_fd >= 0) (void)close(plan->report_fd);
    return process;
}

static int64_t os_spawn(const slwi_os *os, const char *program, char *const *argv, char *const *envp,
                        const char *directory, int output_fd) {
    slwi_child plan = {program, argv, envp, directory, -1, -1, descriptor_max()};
    int report[2];
    const int piped = os->pipe(os, report);
    if (piped < 0) return piped;
    int64_t process = 0;
    if (output_fd >= 0) {
        plan.output_fd = fcntl(output_fd, F_DUPFD_CLOEXEC, FIRST_FREE);
        if (plan.output_fd < 0) process = -errno;
    }
    if (process == 0) process = start_reported(&plan, report[1]);
    (void)close(report[1]);
    if (plan.output_fd >= 0) (void)close(plan.output_fd);
    if (process > 0) {
        const int error_number = read_report(report[0]);
        if (error_number != 0) {
            reap(process);
            process = -error_number;
        }
    }
    (void)close(report[0]);
    return process;
}

static int os_kill_group(const slwi_os *os, int64_t process) {
    (void)os;
    if (process <= 1) return -EINVAL; /* 0 and -1 would mean others */
    return kill((pid_t)-process, SIGKILL) == 0 || errno == ESRCH ? 0 : -errno;
}

#ifdef __WALL
#define WAIT_ALL __WALL
#else
#define WAIT_ALL 0
#endif

static int os_wait(const slwi_os *os, int64_t process, int *status) {
    siginfo_t info;
    info.si_pid = 0;
    int result = 0;
    SLWI_RETRY(int, result, waitid(P_PID, (id_t)process, &info, WEXITED | WNOHANG | WNOWAIT | WAIT_ALL));
    if (result < 0) return result;
    if (info.si_pid == 0) return 0;
    /* While the dead leader is not reaped its number belongs to its group and to nobody else. */
    (void)os_kill_group(os, process);
    pid_t ended = 0;
    SLWI_RETRY(pid_t, ended, waitpid((pid_t)process, status, WNOHANG | WAIT_ALL));
    if (ended < 0) return (int)ended;
    return ended > 0;
}

static int os_poll_readable(const slwi_os *os, int fd, uint64_t timeout_ns) {
    (void)os;
    struct pollfd one = {fd, POLLIN, 0};
    const uint64_t ms = timeout_ns / 1000000 + (timeout_ns % 1000000 != 0);
    const int result = poll(&one, 1, ms > INT32_MAX ? INT32_MAX : (int)ms);
    if (result < 0) return errno == EINTR ? 0 : -errno; /* the callers' loops look at their deadline first */
    return result > 0;
}

void slwi_platform_process(slwi_os *table) {
    table->spawn = os_spawn;
    table->wait = os_wait;
    table->kill_group = os_kill_group;
    table->poll_readable = os_poll_readable;
}
