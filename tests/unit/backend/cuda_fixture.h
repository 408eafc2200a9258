/* What the tests of the cuda backend's compilers share: a store, a memo that all tests of a program use, a compiler
 * that is open, and a compilation through slw_compile. */
#ifndef CUDA_FIXTURE_H
#define CUDA_FIXTURE_H

#define SLIPWAY_NO_GUARDS
#include <slipway/inspect.h>
#include <slipway/slipway.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process.h"
#include "slt.h"

#define CUDA_UNUSED __attribute__((unused))
#define CUDA_NVCC   "/usr/local/cuda/bin/nvcc"

/* Set in main, before the tests are processes of their own: what one of them read the others need not read again. */
static char cuda_memo_directory[512];

typedef struct cuda_world {
    slw_store *store;
    slw_memo *memo;
    slw_compiler *compiler;
    slw_build_report report;
    slw_cached *cached;
    char words[65536];
    slw_error err;
    char root[512];
    char private_root[512];
} cuda_world;

CUDA_UNUSED static int cuda_has_nvcc(void) {
    return access(CUDA_NVCC, X_OK) == 0 && (access("/usr/bin/g++", X_OK) == 0 || access("/usr/bin/c++", X_OK) == 0);
}

CUDA_UNUSED static void cuda_open_store(cuda_world *w) {
    const slw_build_report fresh = SLW_BUILD_REPORT_INIT;
    const slw_error none = SLW_ERROR_INIT;
    slw_store_options options = SLW_STORE_OPTIONS_INIT;
    memset(w, 0, sizeof(*w));
    w->err = none;
    w->err.diagnostics = w->words;
    w->err.diagnostics_capacity = sizeof(w->words);
    w->report = fresh;
    (void)snprintf(w->root, sizeof(w->root), "%s/store", slt_scratch());
    options.root = w->root;
    (void)snprintf(w->private_root, sizeof(w->private_root), "%s", slt_scratch());
    options.private_root = w->private_root;
    options.build_timeout_ns = 120000000000ull;
    slt_ok(slw_store_open(&options, &w->store, &w->err), &w->err);
    if (cuda_memo_directory[0] != '\0') {
        slw_memo_options memo = SLW_MEMO_OPTIONS_INIT;
        memo.directory = cuda_memo_directory;
        slt_ok(slw_memo_open(&memo, &w->memo, &w->err), &w->err);
    }
}

CUDA_UNUSED static slw_code cuda_open_compiler(cuda_world *w, const char *compiler, const char *search_path) {
    slw_compiler_options options = SLW_COMPILER_OPTIONS_INIT;
    options.store = w->store;
    options.backend = "cuda";
    options.compiler = compiler;
    options.search_path = search_path;
    options.memo = w->memo;
    return slw_compiler_open(&options, &w->compiler, &w->err);
}

CUDA_UNUSED static void cuda_open(cuda_world *w) {
    cuda_open_store(w);
    slt_ok(cuda_open_compiler(w, NULL, NULL), &w->err);
}

CUDA_UNUSED static void cuda_forget(cuda_world *w) {
    const slw_build_report fresh = SLW_BUILD_REPORT_INIT;
    slw_cached_discard(&w->cached);
    slw_build_report_release(&w->report);
    w->report = fresh;
}

CUDA_UNUSED static void cuda_close_compiler(cuda_world *w) {
    cuda_forget(w);
    slw_compiler_close(&w->compiler);
}

CUDA_UNUSED static void cuda_close(cuda_world *w) {
    cuda_close_compiler(w);
    slw_memo_close(&w->memo);
    slw_store_close(&w->store);
}

/* A text under a name that says its kind; `options` may be NULL. What was compiled before is dropped. */
CUDA_UNUSED static slw_code cuda_compile_text(cuda_world *w, const char *text, const char *name,
                                              const slw_compile_options *options) {
    slw_source source = SLW_SOURCE_INIT;
    source.text = (slw_bytes){text, strlen(text)};
    source.name = name;
    cuda_forget(w);
    return slw_compile(w->compiler, &source, options, &w->report, &w->cached, &w->err);
}

CUDA_UNUSED static slw_code cuda_compile_for(cuda_world *w, const char *text, const char *name, const char *target) {
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.target = target;
    return cuda_compile_text(w, text, name, &options);
}

CUDA_UNUSED static void cuda_expect(const cuda_world *w, slw_code got, slw_code expected) {
    ck_assert_msg(got == expected, "%s (%s): %s\n%s", slw_code_name(got), w->err.reason != NULL ? w->err.reason : "",
                  w->err.message, w->words);
}

/* Nothing was published, and nothing lies where builds run. */
CUDA_UNUSED static void cuda_nothing_left(const cuda_world *w) {
    slt_shell("test ! -e '%s/artifacts' || test -z \"$(find '%s/artifacts' -type f)\"", w->root, w->root);
    slt_shell("test -z \"$(ls -A '%s')\"", w->private_root);
}

/* The payload of that name, malloc'ed. */
CUDA_UNUSED static char *cuda_payload(const cuda_world *w, const char *name, size_t *size) {
    return slt_read_file(slt_path(slw_cached_directory(w->cached), name, NULL), size);
}

CUDA_UNUSED static char *cuda_fixture_text(const char *file) {
    size_t size;
    return slt_read_file(slt_fixture(file), &size);
}

/* For main: runs the suite with a memo directory that all its tests share, and removes it. */
CUDA_UNUSED static int cuda_main(Suite *suite) {
    char command[600];
    const char *base = getenv("TMPDIR");
    (void)snprintf(cuda_memo_directory, sizeof(cuda_memo_directory), "%s/slipway-memo-XXXXXX",
                   base != NULL ? base : "/tmp");
    if (mkdtemp(cuda_memo_directory) == NULL) return EXIT_FAILURE;
    const int status = slt_run(suite, NULL);
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", cuda_memo_directory);
    return system(command) == 0 ? status : EXIT_FAILURE;
}

#endif
