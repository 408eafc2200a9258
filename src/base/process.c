/* Running a child to its end, its deadline or its cancellation. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>

#include "clock.h"
#include "fail.h"
#include "os.h"

#define SLICE_NS 50000000u      /* the longest time without a look at the cancel token */
#define FIRST_NAP_NS 200000u    /* between two looks at a child that has closed its output */
#define REAP_PATIENCE_NS 10000000000u /* for a killed child to end; one in an uninterruptible call may take longer */

static const char cut_note[] = "\n[output cut here]\n";

static atomic_ullong started;

uint64_t slwi_process_count(void) {
    return atomic_load_explicit(&started, memory_order_relaxed);
}

typedef struct child_watch {
    const slwi_process *plan;
    const slwi_os *os;
    int64_t process;
    int output_fd; /* -1: closed or none */
    int cut;       /* 1: nothing more is kept */
    int ended;
    int status;
} child_watch;

/* Ends what is kept with a note, at the expense of the last bytes where the limit leaves no room. */
static void note_cut(slwi_buffer *output) {
    const size_t note = sizeof cut_note - 1;
    if (output->limit < note) return;
    if (output->size > output->limit - note) output->size = output->limit - note;
    slwi_buffer_append(output, cut_note, note);
}

static void keep(child_watch *watch, const char *data, size_t size) {
    slwi_buffer *output = watch->plan->output;
    if (watch->cut || output == NULL || output->failed) return;
    const size_t room = output->limit > output->size ? output->limit - output->size : 0;
    slwi_buffer_append(output, data, size < room ? size : room);
    if (size > room) {
        watch->cut = 1;
        note_cut(output);
    }
}

static void close_output(child_watch *watch) {
    if (watch->output_fd >= 0) (void)watch->os->close(watch->os, watch->output_fd);
    watch->output_fd = -1;
}

/* One read of a pipe that is known to have something, be it the end. */
static void read_output(child_watch *watch) {
    char chunk[16384];
    const int64_t got = watch->os->read(watch->os, watch->output_fd, chunk, sizeof chunk);
    if (got > 0) {
        keep(watch, chunk, (size_t)got);
    } else {
        close_output(watch);
    }
}

/* What the pipe holds now and no more: somebody may have kept it and still be alive. The pipe's size bounds what a
   writer outside the group can add. */
static void drain(child_watch *watch) {
    for (int round = 0; watch->output_fd >= 0 && round < 4096; round++) {
        if (watch->os->poll_readable(watch->os, watch->output_fd, 0) != 1) break;
        read_output(watch);
    }
    close_output(watch);
}

static uint64_t slice(const child_watch *watch, uint64_t longest_ns) {
    const uint64_t deadline = watch->plan->deadline_ns;
    if (deadline == SLWI_NEVER) return longest_ns;
    const uint64_t now = slwi_now_ns();
    const uint64_t left = deadline > now ? deadline - now : 0;
    return left < longest_ns ? left : longest_ns;
}

/* 1: ended, 0: running, -errno when the status is lost. */
static int look(child_watch *watch) {
    const int rc = watch->os->wait(watch->os, watch->process, &watch->status);
    if (rc > 0) watch->ended = 1;
    return rc;
}

/* Waits until the child has ended; OK, CANCELLED, TIMEOUT, or STORAGE when its status is lost. */
static slw_code follow(child_watch *watch, slw_error *err) {
    uint64_t nap_ns = FIRST_NAP_NS;
    for (;;) {
        const int state = look(watch);
        if (state > 0) return SLW_OK;
        if (state < 0) {
            return slwi_fail_os(err, SLW_E_STORAGE, "STATUS_LOST", -state, watch->plan->program,
                                "the exit status of %s was taken by somebody else", watch->plan->program);
        }
        const slw_code rc = slwi_check_wait(watch->plan->deadline_ns, watch->plan->cancel, watch->plan->program, err);
        if (rc != SLW_OK) return rc;
        if (watch->output_fd >= 0) {
            const int ready = watch->os->poll_readable(watch->os, watch->output_fd, slice(watch, SLICE_NS));
            if (ready > 0) read_output(watch);
            if (ready < 0) close_output(watch);
        } else {
            watch->os->sleep_ns(watch->os, slice(watch, nap_ns));
            if (nap_ns < SLICE_NS / 2) nap_ns *= 2;
        }
    }
}

/* Kills the group and reaps its leader. */
static void end_child(child_watch *watch) {
    (void)watch->os->kill_group(watch->os, watch->process);
    const uint64_t until_ns = slwi_now_ns() + REAP_PATIENCE_NS;
    while (!watch->ended && look(watch) == 0 && slwi_now_ns() < until_ns) {
        watch->os->sleep_ns(watch->os, FIRST_NAP_NS);
    }
}

static int exit_status_of(int status) {
    /* waitpid's encoding, the same on every platform we build for. */
    const int by_signal = status & 0x7f;
    return by_signal != 0 ? 128 + by_signal : (status >> 8) & 0xff;
}

static slw_code watch_to_end(child_watch *watch, int *exit_status, slw_error *err) {
    const slw_code rc = follow(watch, err);
    if (!watch->ended && rc != SLW_E_STORAGE) end_child(watch);
    drain(watch);
    if (rc == SLW_OK) *exit_status = exit_status_of(watch->status);
    return rc;
}

static slw_code fail_start(const slwi_process *plan, const slwi_os *os, int error_number, slw_error *err) {
    slwi_stat st;
    if (os->fstatat(os, AT_FDCWD, plan->directory, 1, &st) != 0 || !S_ISDIR(st.mode)) {
        return slwi_fail_os(err, SLW_E_STORAGE, NULL, error_number, plan->directory, "cannot work in %s",
                            plan->directory);
    }
    switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case EACCES:
    case ENOEXEC:
    case ELOOP:
        (void)slwi_fail_os(err, SLW_E_TOOL_MISSING, error_number == ENOENT ? NULL : "NOT_EXECUTABLE", error_number,
                           plan->program, "cannot run %s", plan->program);
        slwi_error_tried(err, plan->program);
        return SLW_E_TOOL_MISSING;
    case ENOMEM:
        return slwi_fail_os(err, SLW_E_NO_MEMORY, NULL, error_number, plan->program, "cannot run %s", plan->program);
    default:
        return slwi_fail_os(err, SLW_E_STORAGE, NULL, error_number, plan->program, "cannot run %s", plan->program);
    }
}

/* The vectors go to exec as they are; exec takes them without const and leaves them alone. */
static char *const *as_vector(const char *const *strings) {
    return (char *const *)(uintptr_t)strings;
}

slw_code slwi_process_run(const slwi_process *process, int *exit_status, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slw_code rc = slwi_check_wait(process->deadline_ns, process->cancel, process->program, err);
    if (rc != SLW_OK) return rc;
    int ends[2] = {-1, -1};
    if (process->output != NULL) {
        const int piped = os->pipe(os, ends);
        if (piped < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -piped, NULL, "cannot make a pipe");
    }
    (void)atomic_fetch_add_explicit(&started, 1, memory_order_relaxed);
    const int64_t child = os->spawn(os, process->program, as_vector(process->argv), as_vector(process->envp),
                                    process->directory, ends[1]);
    if (ends[1] >= 0) (void)os->close(os, ends[1]);
    child_watch watch = {process, os, child, ends[0], 0, 0, 0};
    if (child < 0) {
        rc = fail_start(process, os, (int)-child, err);
        close_output(&watch);
        return rc;
    }
    return watch_to_end(&watch, exit_status, err);
}
