/* What the tests of the hip backend's compile side share: a store, a clang, and what came of a compilation. Skips, with
 * the reason, where no clang with its linker for AMD GPUs is installed. */
#ifndef HIP_COMPILE_H
#define HIP_COMPILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends.h"
#include "hip_backend.h"
#include "process.h"
#include "slt.h"

#define HIPC_UNUSED __attribute__((unused))

typedef struct hipc {
    char scratch[256];
    char root[300];
    char private_root[300];
    slw_store *store;
    slw_memo *memo;
    slw_compiler *compiler;
    slw_build_report report;
    slw_error err;
    char words[65536];
} hipc;

/* One directory for a whole program: the tests are processes, and the first one fills it, so that the others need not
   hash the toolchain again. */
static char hipc_memo_directory[256];

HIPC_UNUSED static void hipc_copy(char *out, size_t size, const char *text) {
    ck_assert_uint_lt(strlen(text), size);
    memcpy(out, text, strlen(text) + 1);
}

/* Runs the suite; returns main's value. */
HIPC_UNUSED static int hipc_run(Suite *suite) {
    const char *base = getenv("TMPDIR");
    char command[300];
    (void)snprintf(hipc_memo_directory, sizeof hipc_memo_directory, "%s/slipway-memo-XXXXXX",
                   base != NULL && strlen(base) < 200 ? base : "/tmp");
    if (mkdtemp(hipc_memo_directory) == NULL) return EXIT_FAILURE;
    const int status = slt_run(suite, NULL);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", hipc_memo_directory);
    return system(command) == 0 ? status : EXIT_FAILURE;
}

HIPC_UNUSED static void hipc_setup(hipc *h) {
    const slw_error fresh = SLW_ERROR_INIT;
    const slw_build_report none = SLW_BUILD_REPORT_INIT;
    memset(h, 0, sizeof *h);
    h->err = fresh;
    h->report = none;
    h->err.diagnostics = h->words;
    h->err.diagnostics_capacity = sizeof h->words;
    hipc_copy(h->scratch, sizeof h->scratch, slt_scratch());
    (void)snprintf(h->root, sizeof h->root, "%s/root", h->scratch);
    (void)snprintf(h->private_root, sizeof h->private_root, "%s/private", h->scratch);
    slt_shell("umask 022; mkdir -p '%s' && chmod 700 '%s'", h->private_root, h->private_root);
    slw_memo_options memo = SLW_MEMO_OPTIONS_INIT;
    memo.directory = hipc_memo_directory;
    slt_ok(slw_memo_open(&memo, &h->memo, &h->err), &h->err);
    slw_store_options options = SLW_STORE_OPTIONS_INIT;
    options.root = h->root;
    options.private_root = h->private_root;
    slt_ok(slw_store_open(&options, &h->store, &h->err), &h->err);
}

HIPC_UNUSED static void hipc_teardown(hipc *h) {
    slw_build_report_release(&h->report);
    slw_compiler_close(&h->compiler);
    slw_store_close(&h->store);
    slw_memo_close(&h->memo);
}

HIPC_UNUSED static slw_code hipc_open(hipc *h, const char *name, const char *search_path) {
    slw_compiler_options options = SLW_COMPILER_OPTIONS_INIT;
    slw_compiler_close(&h->compiler);
    options.store = h->store;
    options.backend = "hip";
    options.compiler = name;
    options.search_path = search_path;
    options.memo = h->memo;
    return slw_compiler_open(&options, &h->compiler, &h->err);
}

HIPC_UNUSED static slw_source hipc_source(const char *text, const char *name) {
    slw_source source = SLW_SOURCE_INIT;
    source.text = (slw_bytes){text, strlen(text)};
    source.name = name;
    return source;
}

HIPC_UNUSED static slw_code hipc_compile(hipc *h, const slw_source *source, const char *target,
                                         const char *const *flags, slw_cached **out) {
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.target = target;
    options.flags = flags;
    while (flags != NULL && flags[options.flag_count] != NULL) options.flag_count++;
    slw_build_report_release(&h->report);
    return slw_compile(h->compiler, source, &options, &h->report, out, &h->err);
}

HIPC_UNUSED static slw_cached *hipc_compile_ok(hipc *h, const slw_source *source, const char *target,
                                               const char *const *flags, slw_disposition disposition) {
    slw_cached *cached = NULL;
    const slw_code rc = hipc_compile(h, source, target, flags, &cached);
    ck_assert_msg(rc == SLW_OK, "%s: %s %s\n%s", source->name != NULL ? source->name : source->path, slw_code_name(rc),
                  h->err.message, h->words);
    ck_assert_msg(h->report.disposition == disposition, "%s, not %s: %s", slw_disposition_name(h->report.disposition),
                  slw_disposition_name(disposition), h->report.reason);
    return cached;
}

/* 1 when the compiler in use compiles for the target. Leaves nothing in the store. */
HIPC_UNUSED static int hipc_knows(hipc *h, const char *target) {
    const slw_source source = hipc_source("__kernel void k(void) {}\n", "probe.cl");
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    slw_cached *cached = NULL;
    options.target = target;
    options.always_compile = 1;
    slw_build_report_release(&h->report);
    const slw_code rc = slw_compile(h->compiler, &source, &options, &h->report, &cached, &h->err);
    if (rc == SLW_E_UNSUPPORTED_INPUT && h->err.reason != NULL && strcmp(h->err.reason, "TARGET") == 0) return 0;
    ck_assert_msg(rc == SLW_OK, "%s: %s\n%s", target, h->err.message, h->words);
    slw_cached_discard(&cached);
    slw_build_report_release(&h->report);
    return 1;
}

/* The newest clang there is: 1, or 0 and skipped, in which case the test returns. */
HIPC_UNUSED static int hipc_ready(hipc *h, const char *test) {
    static const char *const names[] = {"clang-20", "clang-19", "clang-18", "clang-17", "clang-16",
                                        "clang-15", "clang",    "clang-14", NULL};
    for (size_t i = 0; names[i] != NULL; i++) {
        const slw_code rc = hipc_open(h, names[i], "/usr/local/bin:/usr/bin:/bin");
        if (rc == SLW_OK && hipc_knows(h, "gfx1100")) return 1;
        if (rc == SLW_OK) continue; /* older than these tests */
        const int is_missing = rc == SLW_E_TOOL_MISSING || (rc == SLW_E_UNSUPPORTED && h->err.reason != NULL &&
                                                            strcmp(h->err.reason, "TARGET") == 0);
        ck_assert_msg(is_missing, "%s: %s %s\n%s", names[i], slw_code_name(rc), h->err.message, h->words);
        if (h->err.reason != NULL && strcmp(h->err.reason, "NO_LINKER") == 0) break;
    }
    static char why[512];
    (void)snprintf(why, sizeof why, "no clang that links for AMD GPUs: %.300s", h->err.message);
    slt_skip(test, why);
    return 0;
}

/* The contract lives as long as *out. Takes the entry. */
HIPC_UNUSED static const slw_contract *hipc_hydrate(hipc *h, slw_cached **cached, slw_hydrated **out) {
    slt_ok(slw_hydrate(cached, NULL, out, &h->err), &h->err);
    const slw_contract *contract = slw_hydrated_contract(*out);
    ck_assert_ptr_nonnull(contract);
    return contract;
}

/* A tree of its own for the compiler in use, whose program is a copy: what lies around it can be changed. *bin has 4096
   bytes. The compiler that is open afterwards is the copy. 0 and skipped where the copy does not run. */
HIPC_UNUSED static int hipc_tree(hipc *h, const char *test, char *bin) {
    char real[4096];
    char clang[4096];
    ck_assert_ptr_nonnull(realpath(slw_compiler_path(h->compiler), real));
    hipc_copy(bin, 4096, slt_path(slt_scratch(), "bin", NULL));
    hipc_copy(clang, sizeof clang, slt_path(bin, "clang", NULL));
    slt_shell("mkdir '%s' && cp '%s' '%s' && ln -s \"$(dirname '%s')/../lib\" '%s/../lib'", bin, real, clang, real,
              bin);
    /* With the linker that lies beside it, where one does. */
    slt_shell("lld=\"$(dirname '%s')/ld.lld\"; if [ -e \"$lld\" ]; then ln -s \"$lld\" '%s/ld.lld'; fi", real, bin);
    char command[8300];
    (void)snprintf(command, sizeof command, "'%s' --version >/dev/null 2>&1", clang);
    if (system(command) != 0) {
        slt_skip(test, "this clang does not run from another directory");
        return 0;
    }
    slt_ok(hipc_open(h, clang, NULL), &h->err);
    return 1;
}

/* The digest of a component of the compiler's identity, as text; "" for one that is not proved. */
HIPC_UNUSED static const char *hipc_component(hipc *h, const char *component, char out[SLW_DIGEST_TEXT_SIZE]) {
    const char *name = NULL;
    const slw_digest *digest = NULL;
    out[0] = '\0';
    for (size_t i = 0; slw_identity_at(slw_compiler_identity(h->compiler), i, &name, &digest); i++) {
        if (strcmp(name, component) == 0 && digest != NULL) slw_digest_format(digest, out);
    }
    return out;
}

/* 1 when both files hold the same bytes. */
HIPC_UNUSED static int hipc_same_file(const char *a, const char *b) {
    size_t left_size;
    size_t right_size;
    char *left = slt_read_file(a, &left_size);
    char *right = slt_read_file(b, &right_size);
    const int same = left_size == right_size && memcmp(left, right, left_size) == 0;
    free(left);
    free(right);
    return same;
}

/* Nothing was published and nothing is left in the private directory. */
HIPC_UNUSED static void hipc_check_nothing_left(hipc *h) {
    slw_build_report_release(&h->report);
    slt_shell("test -z \"$(find '%s' -type f ! -path '*/locks/*' ! -name CACHEDIR.TAG 2>/dev/null)\"", h->root);
    slt_shell("test -z \"$(ls -A '%s')\"", h->private_root);
}

#endif
