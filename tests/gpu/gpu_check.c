/* Checks of a real NVIDIA GPU through the library, and measurements; also of the double, so that the first run on
 * hardware is not the first run of this program.
 *
 *     gpu_check [--driver-library PATH] [--kernels DIR] [--json PATH] [--quick] [--only NAME] [--may-skip NAME]
 *
 * Ends with 0 when nothing failed (also where there is no GPU and no library was named: then all is skipped), 1
 * otherwise, 2 for a bad command line. Over a double nothing may be skipped but what --may-skip names. */
#include "gpu_checks.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RESULT_BYTES 32768

#define GPU_CHECK_ENTRY(name, seconds, gives_all_back) {#name, check_##name, seconds, gives_all_back},
static const gpu_check gpu_checks[] = {GPU_CHECKS(GPU_CHECK_ENTRY)};
#undef GPU_CHECK_ENTRY
static const unsigned gpu_check_count = sizeof gpu_checks / sizeof gpu_checks[0];

typedef struct options {
    gpu world;
    const char *json;
    const char *only;
    const char *one; /* this process is the one of that check */
} options;

static int usage(void) {
    fprintf(stderr, "usage: gpu_check [--driver-library PATH] [--kernels DIR] [--json PATH] [--quick] [--only NAME] "
                    "[--may-skip NAME]\n");
    return 2;
}

static int read_options(int argc, char **argv, options *o) {
    for (int i = 1; i < argc; i++) {
        const char **value = NULL;
        if (strcmp(argv[i], "--quick") == 0) {
            o->world.quick = 1;
            continue;
        }
        if (strcmp(argv[i], "--driver-library") == 0) value = &o->world.library;
        if (strcmp(argv[i], "--kernels") == 0) value = &o->world.kernels;
        if (strcmp(argv[i], "--json") == 0) value = &o->json;
        if (strcmp(argv[i], "--only") == 0) value = &o->only;
        if (strcmp(argv[i], "--one") == 0) value = &o->one;
        if (strcmp(argv[i], "--may-skip") == 0 && o->world.may_skip_count < GPU_MAY_SKIP)
            value = &o->world.may_skip[o->world.may_skip_count++];
        if (value == NULL || i + 1 == argc) return 0;
        *value = argv[++i];
    }
    return 1;
}

/* ---- One check, in its own process ------------------------------------------------------------------------------- */

static void find_double(gpu *g) {
    const double_control *(*get)(void) = NULL;
    if (g->library == NULL) return; /* never found by default search */
    (void)gpu_symbol(g, "cuInit");  /* opens it */
    void *const found = dlsym(g->handle, "double_control_get");
    if (found == NULL) return;
    memcpy(&get, &found, sizeof get);
    g->control = get();
    gpu_require(g->control->size == sizeof *g->control, "the double is of another version");
    g->control->reset();
}

/* What a double has seen, and has lent and not got back. */
static void close_the_books(const gpu_check *check, const double_control *control) {
    char left[1024] = "";
    if (control == NULL) return;
    gpu_require(control->violations() == 0, "the double saw %u violations, the first: %s", control->violations(),
                control->violation(0));
    gpu_require(control->thread_balance() == 0, "a context stays pushed, or a capture mode exchanged: %d",
                control->thread_balance());
    if (!check->gives_all_back) return;
    const unsigned count = control->outstanding(left, sizeof left);
    for (char *at = left; (at = strchr(at, '\n')) != NULL;) *at = ';';
    gpu_require(count == 0, "%u things are not given back: %s", count, left);
}

static int run_one(options *o) {
    for (unsigned i = 0; i < gpu_check_count; i++) {
        if (strcmp(gpu_checks[i].name, o->one) != 0) continue;
        gpu_report_to(3, o->one);
        find_double(&o->world);
        gpu_checks[i].run(&o->world);
        close_the_books(&gpu_checks[i], o->world.control);
        gpu_report("passed", "");
        return 0; /* as any program ends: what the library and the driver do then is a part of every check */
    }
    return usage();
}

/* ---- The runner -------------------------------------------------------------------------------------------------- */

typedef struct outcome {
    char text[RESULT_BYTES]; /* JSON, without its closing brace */
    char status[16];
    char why[2048];
    double seconds;
} outcome;

static void start(const options *o, const char *name, int write_end) {
    const char *argv[12 + 2 * GPU_MAY_SKIP] = {o->world.self, "--one", name, "--kernels", o->world.kernels};
    unsigned count = 5;
    if (o->world.library != NULL) {
        argv[count++] = "--driver-library";
        argv[count++] = o->world.library;
    }
    if (o->world.quick) argv[count++] = "--quick";
    for (unsigned i = 0; i < o->world.may_skip_count; i++) {
        argv[count++] = "--may-skip";
        argv[count++] = o->world.may_skip[i];
    }
    if (write_end == 3 ? fcntl(3, F_SETFD, 0) : dup2(write_end, 3) < 0) _exit(127);
    execv(o->world.self, (char **)(uintptr_t)argv);
    _exit(127);
}

/* Until the pipe closes or the time is over; 0: it is over. */
static int collect(int fd, uint64_t until_ns, char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (;;) {
        const uint64_t now = gpu_now_ns();
        struct pollfd p = {fd, POLLIN, 0};
        if (now >= until_ns) return 0;
        if (poll(&p, 1, (int)((until_ns - now) / 1000000u) + 1) <= 0) continue;
        const ssize_t got = read(fd, out + used, size - 1 - used);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return 1;
        used += (size_t)got;
        out[used] = '\0';
    }
}

/* What the process itself ended with, after its result or instead of one. */
static int reap(pid_t child, uint64_t until_ns) {
    int status = 0;
    for (;;) {
        const pid_t got = waitpid(child, &status, WNOHANG);
        if (got == child) return status;
        if (got < 0 && errno != EINTR) return -1;
        if (gpu_now_ns() >= until_ns) {
            kill(child, SIGKILL);
            (void)waitpid(child, &status, 0);
            return -1;
        }
        const struct timespec pause = {0, 2000000};
        nanosleep(&pause, NULL);
    }
}

static void word_after(const char *text, const char *key, char *out, size_t size) {
    const char *at = strstr(text, key);
    size_t used = 0;
    out[0] = '\0';
    if (at == NULL) return;
    for (at += strlen(key); *at != '\0' && *at != '"' && used + 1 < size; at++) {
        if (*at == '\\' && at[1] != '\0') at++;
        out[used++] = *at;
    }
    out[used] = '\0';
}

static void fail_outcome(outcome *out, const char *name, const char *why) {
    (void)snprintf(out->why, sizeof out->why, "%s", why);
    (void)snprintf(out->status, sizeof out->status, "failed");
    (void)snprintf(out->text, sizeof out->text, "{\"name\":\"%s\",\"status\":\"failed\",\"why\":\"%s\",\"figures\":{}",
                   name, why);
}

static void run_check(const options *o, const gpu_check *check, outcome *out) {
    int ends[2];
    char why[128];
    const char *const slower = getenv("CK_TIMEOUT_MULTIPLIER"); /* as for the programs of Check: sanitizers */
    const unsigned seconds = check->seconds * (slower != NULL && atoi(slower) > 0 ? (unsigned)atoi(slower) : 1u);
    const uint64_t start_ns = gpu_now_ns(), until_ns = start_ns + seconds * UINT64_C(1000000000);
    memset(out, 0, sizeof *out);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        fail_outcome(out, check->name, "no pipe");
        return;
    }
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) start(o, check->name, ends[1]);
    close(ends[1]);
    const int closed = child > 0 && collect(ends[0], until_ns, out->text, sizeof out->text);
    if (child > 0 && !closed) kill(child, SIGKILL);
    const int status = child > 0 ? reap(child, until_ns + UINT64_C(5000000000)) : -1;
    close(ends[0]);
    out->seconds = (double)(gpu_now_ns() - start_ns) / 1e9;
    if (!closed) {
        (void)snprintf(why, sizeof why, "hung for %u seconds", seconds);
        fail_outcome(out, check->name, why);
    } else if (status != 0) {
        const int signalled = status > 0 && WIFSIGNALED(status);
        (void)snprintf(why, sizeof why, "%s, then ended %s %d", out->text[0] != '\0' ? "gave its result" : "no result",
                       signalled ? "by signal" : "with", signalled ? WTERMSIG(status) : WEXITSTATUS(status));
        fail_outcome(out, check->name, why);
    } else if (out->text[0] == '\0') {
        fail_outcome(out, check->name, "no result");
    } else {
        word_after(out->text, "\"status\":\"", out->status, sizeof out->status);
        word_after(out->text, "\"why\":\"", out->why, sizeof out->why);
    }
}

static void show(const gpu_check *check, const outcome *result) {
    const int passed = strcmp(result->status, "passed") == 0, skipped = strcmp(result->status, "skipped") == 0;
    if (skipped) {
        printf("SKIP gpu_%s: %s\n", check->name, result->why);
        return;
    }
    printf("%-4s %-22s %5.1f s", passed ? "ok" : "FAIL", check->name, result->seconds);
    const char *const figures = strstr(result->text, "\"figures\":{");
    if (!passed) printf("  %s", result->why);
    if (figures != NULL && figures[11] != '}') printf("  %s", figures + 10);
    printf("\n");
    fflush(stdout);
}

static void write_date(FILE *json) {
    const time_t now = time(NULL);
    struct tm utc;
    char text[32] = "";
    if (gmtime_r(&now, &utc) != NULL) (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    fprintf(json, "{\"schema\":1,\"date\":\"%s\",\"slipway\":\"%s\",\"checks\":[", text, SLW_VERSION_TEXT);
}

static int run_all(const options *o, FILE *json) {
    static outcome result;
    unsigned passed = 0, failed = 0, skipped = 0, shown = 0;
    if (json != NULL) write_date(json);
    for (unsigned i = 0; i < gpu_check_count; i++) {
        if (i > 0 && o->only != NULL && strcmp(o->only, gpu_checks[i].name) != 0) continue;
        run_check(o, &gpu_checks[i], &result);
        const int is_skip = strcmp(result.status, "skipped") == 0;
        if (json != NULL)
            fprintf(json, "%s%s,\"seconds\":%.3f}", shown++ > 0 ? ",\n" : "\n", result.text, result.seconds);
        if (i == 0 && is_skip) { /* the machine itself: nothing else can be asked */
            printf("SKIP gpu: %s\n", result.why);
            skipped = 1;
            break;
        }
        show(&gpu_checks[i], &result);
        if (is_skip)
            skipped++;
        else if (strcmp(result.status, "passed") == 0)
            passed++;
        else
            failed++;
    }
    if (json != NULL) fprintf(json, "\n],\"passed\":%u,\"failed\":%u,\"skipped\":%u}\n", passed, failed, skipped);
    printf("gpu: %u passed, %u failed, %u skipped\n", passed, failed, skipped);
    return failed != 0;
}

int main(int argc, char **argv) {
    static options o;
    static char self[GPU_PATH_BYTES];
    o.world.kernels = "tests/gpu/kernels";
    o.world.err = (slw_error)SLW_ERROR_INIT;
    o.world.err.diagnostics = o.world.jit_log;
    o.world.err.diagnostics_capacity = sizeof o.world.jit_log;
    if (!read_options(argc, argv, &o)) return usage();
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return usage();
    o.world.self = self;
    if (o.one != NULL) return run_one(&o);
    FILE *json = NULL;
    if (o.json != NULL && (json = fopen(o.json, "w")) == NULL) {
        fprintf(stderr, "gpu_check: %s: %s\n", o.json, strerror(errno));
        return 2;
    }
    int status = run_all(&o, json);
    if (json != NULL && fclose(json) != 0) status = 1;
    return status;
}
