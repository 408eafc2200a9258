/* A hot `slipway run` in a fresh process, with the memo, against a fresh process that stats the same toolchain files
 * (the identity's recheck: one fstatat a file, nothing read). Two figures: of wall time, and of the processor time of
 * the two processes, which other programs on the machine disturb less. */
#include "bench.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct hot {
    char *argv[40];
    slw_compiler *compiler;
} hot;

typedef struct cost {
    double wall_ns, processor_ns;
} cost;

static double time_ns(struct timeval t) {
    return (double)t.tv_sec * 1e9 + (double)t.tv_usec * 1e3;
}

static cost wait_for(pid_t child, uint64_t start, const char *what) {
    struct rusage used;
    int status = 0;
    if (wait4(child, &status, 0, &used) != child || status != 0) {
        fprintf(stderr, "bench: %s: status %d\n", what, status);
        exit(1);
    }
    const cost c = {(double)(bench_now_ns() - start), time_ns(used.ru_utime) + time_ns(used.ru_stime)};
    return c;
}

static cost subject(const hot *h) {
    const uint64_t start = bench_now_ns();
    pid_t child = 0;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
    if (posix_spawn(&child, h->argv[0], &actions, NULL, h->argv, environ) != 0) exit(1);
    posix_spawn_file_actions_destroy(&actions);
    return wait_for(child, start, "slipway run");
}

static cost stat_floor(const hot *h) {
    const uint64_t start = bench_now_ns();
    const pid_t child = fork();
    if (child == 0) {
        slw_error err = SLW_ERROR_INIT;
        _exit(slw_identity_recheck(slw_compiler_identity(h->compiler), &err) != SLW_OK);
    }
    return wait_for(child, start, "the recheck");
}

#define ROUNDS 31

static void measure(const hot *h) {
    static double wall[2][ROUNDS], processor[2][ROUNDS];
    const int rounds = bench_smoke() ? 1 : ROUNDS;
    (void)stat_floor(h);
    (void)subject(h);
    for (int i = 0; i < rounds; i++) {
        const cost floor = stat_floor(h), run = subject(h);
        wall[0][i] = floor.wall_ns;
        wall[1][i] = run.wall_ns;
        processor[0][i] = floor.processor_ns;
        processor[1][i] = run.processor_ns;
    }
    bench_report("hot `slipway run`, fresh process", wall[0], wall[1], rounds, 0);
    bench_report("  processor time of the two processes", processor[0], processor[1], rounds, 0);
}

int main(int argc, char **argv) {
    static hot h;
    static char cache[256], private_root[256], memo_path[256];
    if (argc < 2) return 2;
    snprintf(cache, sizeof cache, "%s/cache", bench_directory());
    snprintf(private_root, sizeof private_root, "%s/private", bench_directory());
    snprintf(memo_path, sizeof memo_path, "%s/memo", bench_directory());
    char *line[] = {argv[1],
                    "run",
                    "examples/kernels/saxpy.c",
                    "--cache",
                    cache,
                    "--private",
                    private_root,
                    "--memo",
                    memo_path,
                    "--grid",
                    "4",
                    "--block",
                    "256",
                    "--arg",
                    "u64=1000",
                    "--arg",
                    "f32=2",
                    "--arg",
                    "f32[1000]=iota",
                    "--arg",
                    "inout:f32[1000]=const:1",
                    NULL};
    memcpy(h.argv, line, sizeof line);

    slw_error err = SLW_ERROR_INIT;
    slw_store *store = NULL;
    slw_memo *memo = NULL;
    slw_store_options options = SLW_STORE_OPTIONS_INIT;
    options.root = cache;
    options.private_root = private_root;
    bench_check(slw_store_open(&options, &store, &err), "store", &err);
    slw_memo_options memo_options = SLW_MEMO_OPTIONS_INIT;
    memo_options.directory = memo_path;
    bench_check(slw_memo_open(&memo_options, &memo, &err), "memo", &err);
    slw_compiler_options tools = SLW_COMPILER_OPTIONS_INIT;
    tools.store = store;
    tools.memo = memo;
    tools.search_path = getenv("PATH");
    bench_check(slw_compiler_open(&tools, &h.compiler, &err), "compiler", &err);
    slw_identity_cost looked = SLW_IDENTITY_COST_INIT;
    bench_check(slw_identity_get_cost(slw_compiler_identity(h.compiler), &looked, &err), "cost", &err);
    bench_value("files of the toolchain", (double)(looked.memo_files + looked.read_files), "files", 0);
    slw_compiler_close(&h.compiler);
    slw_memo_close(&memo); /* written: the command finds it, and so do we */
    (void)subject(&h);     /* publishes */
    bench_check(slw_memo_open(&memo_options, &memo, &err), "memo", &err);
    tools.memo = memo;
    bench_check(slw_compiler_open(&tools, &h.compiler, &err), "compiler", &err);
    measure(&h);
    slw_compiler_close(&h.compiler);
    slw_memo_close(&memo);
    slw_store_close(&store);
    return 0;
}
