/* A hot `slipway run` in a fresh process, with the memo, against a fresh process that stats the same toolchain files
 * (the identity's recheck: one fstatat a file, nothing read). */
#include "bench.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct hot {
    char *argv[40];
    slw_compiler *compiler;
} hot;

static void subject(void *context) {
    hot *h = context;
    pid_t child = 0;
    int status = 0;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
    if (posix_spawn(&child, h->argv[0], &actions, NULL, h->argv, environ) != 0 || waitpid(child, &status, 0) != child ||
        status != 0) {
        fprintf(stderr, "bench: slipway run: status %d\n", status);
        exit(1);
    }
    posix_spawn_file_actions_destroy(&actions);
}

static void stat_floor(void *context) {
    hot *h = context;
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        slw_error err = SLW_ERROR_INIT;
        _exit(slw_identity_recheck(slw_compiler_identity(h->compiler), &err) != SLW_OK);
    }
    if (waitpid(child, &status, 0) != child || status != 0) exit(1);
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
    slw_identity_cost cost = SLW_IDENTITY_COST_INIT;
    bench_check(slw_identity_get_cost(slw_compiler_identity(h.compiler), &cost, &err), "cost", &err);
    bench_value("files of the toolchain", (double)(cost.memo_files + cost.read_files), "files", 0);
    slw_compiler_close(&h.compiler);
    slw_memo_close(&memo); /* written: the command finds it, and so do we */
    subject(&h);           /* publishes */
    bench_check(slw_memo_open(&memo_options, &memo, &err), "memo", &err);
    tools.memo = memo;
    bench_check(slw_compiler_open(&tools, &h.compiler, &err), "compiler", &err);
    bench_ratio("hot `slipway run`, fresh process", stat_floor, subject, &h, 21, 1, 0);
    slw_compiler_close(&h.compiler);
    slw_memo_close(&memo);
    slw_store_close(&store);
    return 0;
}
