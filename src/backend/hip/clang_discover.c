/* Asking clang about itself: version, targets, include roots, ROCm, the linker. What is not understood is not
 * guessed. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "clang_toolchain.h"
#include "fail.h"
#include "os.h"
#include "tool_find.h"
#include "tool_probe.h"

/* A processor that every clang knows: what is asked does not depend on it. */
#define MCPU         "-mcpu=gfx900"
#define OFFLOAD_ARCH "--offload-arch=gfx900"
#define TARGET       "--target=" SLWI_CLANG_TRIPLE

typedef struct discovery {
    const slwi_clang_toolchain *toolchain;
    slwi_tool_probe probe;
    slwi_tool_answer *answer;
    slw_error *err;
    slwi_tool_list programs; /* where clang looks for its programs, in order */
    slwi_tool_list configs;  /* where it looks for configuration files */
    slwi_tool_list places;   /* where it looks for ROCm */
    char host_triple[256];
    char compiler[SLWI_TOOL_PATH_MAX]; /* what runs as -cc1 */
    char resources[SLWI_TOOL_PATH_MAX];
    char linker[SLWI_TOOL_PATH_MAX];
} discovery;

static void fact(discovery *d, slwi_tool_fact kind, const char *text) {
    slwi_tool_list_add_once(&d->answer->facts[kind], text);
}

static slw_code refuse(discovery *d, const char *reason, const char *hint, const char *what) {
    slwi_error_hint(d->err, hint);
    return slwi_tool_probe_refuse(&d->probe, reason, what);
}

static slw_code unknown(discovery *d, const char *what) {
    return refuse(d, "UNKNOWN_COMPILER", "name clang itself, not a wrapper around it", what);
}

/* ---- --version ---- */

static slw_code ask_version(discovery *d) {
    static const char *const arguments[] = {"--version", NULL};
    slw_code rc = slwi_tool_probe_ask(&d->probe, arguments, NULL);
    if (rc != SLW_OK) return rc;
    slwi_tool_lines lines = slwi_tool_probe_lines(&d->probe);
    slw_bytes line;
    char text[SLWI_TOOL_PATH_MAX];
    while (d->probe.status == 0 && slwi_tool_next_line(&lines, &line)) {
        if (d->answer->text.count == 0 && slwi_tool_after(line, "", text) && strstr(text, "clang version ") != NULL) {
            slwi_tool_list_add(&d->answer->text, text);
        } else if (slwi_tool_after(line, "Target: ", text) && strlen(text) < sizeof(d->host_triple)) {
            memcpy(d->host_triple, text, strlen(text) + 1);
        }
    }
    if (d->answer->text.count == 0) return unknown(d, "the compiler does not say that it is clang");
    d->answer->family = SLWI_TOOL_CLANG;
    slwi_tool_list_add(&d->answer->text, SLWI_CLANG_TRIPLE);
    return slwi_tool_list_status(&d->answer->text, d->err);
}

/* ---- --print-supported-cpus ---- */

static slw_code ask_targets(discovery *d) {
    static const char *const arguments[] = {TARGET, "-nogpulib", "--print-supported-cpus", NULL};
    slw_code rc = slwi_tool_probe_ask(&d->probe, arguments, NULL);
    if (rc != SLW_OK) return rc;
    slwi_tool_lines lines = slwi_tool_probe_lines(&d->probe);
    slw_bytes line;
    char name[SLWI_TOOL_PATH_MAX];
    while (slwi_tool_next_line(&lines, &line)) {
        if (!slwi_tool_after(line, "\t", name) || strncmp(name, "gfx", 3) != 0) continue;
        name[strcspn(name, " \t")] = '\0';
        fact(d, SLWI_TOOL_FACT_TARGET, name);
    }
    if (d->answer->facts[SLWI_TOOL_FACT_TARGET].count != 0) return SLW_OK;
    return refuse(d, "TARGET", "install a clang with the AMDGPU target, or ROCm's, and name it with --cc",
                  "this clang was built without the AMDGPU target");
}

/* ---- -E -v: include roots, configuration, the compiler proper ---- */

static void copy_path(char out[SLWI_TOOL_PATH_MAX], const char *path) {
    const size_t size = strlen(path);
    if (path[0] == '/' && size < SLWI_TOOL_PATH_MAX) memcpy(out, path, size + 1);
}

/* The line that starts the compiler proper. */
static void read_compiler(discovery *d, slw_bytes line) {
    slwi_tool_list words;
    if (line.size < 2 || ((const char *)line.data)[0] != ' ') return;
    slwi_tool_list_init(&words, d->probe.allocator);
    slwi_tool_split_line(line, &words);
    if (words.count > 1 && strcmp(words.items[1], "-cc1") == 0) {
        copy_path(d->compiler, words.items[0]);
        for (size_t i = 2; i + 1 < words.count; i++) {
            if (strcmp(words.items[i], "-resource-dir") == 0) copy_path(d->resources, words.items[i + 1]);
        }
    }
    if (words.failed) d->answer->text.failed = 1;
    slwi_tool_list_free(&words);
}

static slw_code ask_includes(discovery *d, const char *const *kind, const char *const *rest) {
    slw_code rc = slwi_tool_probe_ask(&d->probe, kind, rest);
    if (rc != SLW_OK) return rc;
    slwi_tool_lines lines = slwi_tool_probe_lines(&d->probe);
    slw_bytes line;
    int inside = 0;
    if (d->probe.status != 0) return unknown(d, "clang did not say how it would compile a kernel");
    while (rc == SLW_OK && slwi_tool_next_line(&lines, &line)) {
        slwi_tool_read_include(&d->probe, line, &inside);
        read_compiler(d, line);
        rc = slwi_tool_read_choice(&d->probe, line, &d->configs);
    }
    return rc == SLW_OK ? slwi_tool_answer_status(d->answer, d->err) : rc;
}

static slw_code ask_preprocessor(discovery *d) {
    static const char *const cl[] = {OFFLOAD_ARCH, "-nogpulib", "-nogpuinc", "-E", "-v",
                                     "/dev/null",  "-o",        "/dev/null", NULL};
    static const char *const hip[] = {MCPU, "-nogpulib", "-E", "-v", "/dev/null", "-o", "/dev/null", NULL};
    slw_code rc = ask_includes(d, slwi_clang_for_hip, cl);
    if (rc == SLW_OK) rc = ask_includes(d, slwi_clang_for_cl, hip);
    if (rc != SLW_OK) return rc;
    if (d->compiler[0] == '\0' || d->resources[0] == '\0' || d->answer->facts[SLWI_TOOL_FACT_INCLUDE].count == 0)
        return unknown(d, "clang did not say its program, its own directory or its include directories");
    fact(d, SLWI_TOOL_FACT_INCLUDE, d->resources);
    char resolved[SLWI_TOOL_PATH_MAX];
    const slwi_os *os = slwi_os_get();
    /* clang starts itself: who starts another is a wrapper, and may do so with anything. */
    if (os->realpath(os, d->compiler, resolved) < 0 || strcmp(resolved, d->toolchain->driver) != 0) {
        slwi_error_tried(d->err, d->compiler);
        return unknown(d, "the compiler is a wrapper: it starts another program than itself");
    }
    fact(d, SLWI_TOOL_FACT_PROGRAM, d->compiler);
    return slwi_tool_answer_status(d->answer, d->err);
}

/* ---- -###: ROCm ---- */

/* The directories of what would be linked in, and those behind the compiler's own includes. */
static void read_rocm_command(discovery *d, slw_bytes line) {
    slwi_tool_list words;
    char directory[SLWI_TOOL_PATH_MAX];
    slwi_tool_list_init(&words, d->probe.allocator);
    slwi_tool_split_line(line, &words);
    for (size_t i = 0; i + 1 < words.count; i++) {
        const char *next = words.items[i + 1];
        if (next[0] != '/') continue;
        if (strcmp(words.items[i], "-mlink-builtin-bitcode") == 0 && slwi_tool_directory(directory, next)) {
            fact(d, SLWI_TOOL_FACT_DIRECTORY, directory);
        } else if (strcmp(words.items[i], "-idirafter") == 0 || strcmp(words.items[i], "-internal-isystem") == 0) {
            fact(d, SLWI_TOOL_FACT_INCLUDE, next);
        }
    }
    if (words.failed) d->answer->text.failed = 1;
    slwi_tool_list_free(&words);
}

static slw_code ask_rocm_command(discovery *d, const char *const *kind, const char *const *rest) {
    slw_code rc = slwi_tool_probe_ask(&d->probe, kind, rest);
    if (rc != SLW_OK) return rc;
    slwi_tool_lines lines = slwi_tool_probe_lines(&d->probe);
    slw_bytes line;
    char place[SLWI_TOOL_PATH_MAX];
    while (slwi_tool_next_line(&lines, &line)) {
        if (slwi_tool_after(line, "ROCm installation search path: /", place)) {
            char path[SLWI_TOOL_PATH_MAX];
            if (slwi_tool_join(path, "/", place)) slwi_tool_list_add_once(&d->places, path);
        } else if (line.size > 1 && ((const char *)line.data)[0] == ' ') {
            read_rocm_command(d, line);
        }
    }
    return slwi_tool_answer_status(d->answer, d->err);
}

/* What a search for ROCm looks at: where it is not, and what it reads where it is. The newest /opt/rocm-* is taken. */
static slw_code watch_places(discovery *d) {
    static const char *const trees[] = {"amdgcn", "include/hip"};
    static const char *const versions[] = {"bin/.hipVersion", "share/hip/version"};
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    char path[SLWI_TOOL_PATH_MAX];
    for (size_t i = 0; i < d->places.count; i++) {
        const char *place = d->places.items[i];
        for (size_t n = 0; n < 2; n++) {
            slwi_tool_answer_absent(d->answer, place, trees[n]);
            slwi_tool_answer_absent(d->answer, place, versions[n]);
            if (slwi_tool_join(path, place, versions[n]) && os->fstatat(os, AT_FDCWD, path, 0, &stat) >= 0)
                fact(d, SLWI_TOOL_FACT_FILE, path);
        }
    }
    slwi_tool_answer_absent(d->answer, d->resources, "lib/amdgcn");
    slwi_tool_answer_absent(d->answer, d->resources, "lib64/amdgcn");
    slwi_tool_answer_absent(d->answer, d->resources, "amdgcn");
    slw_code rc = slwi_tool_answer_watch(d->answer, "/opt", d->err);
    /* And which libraries there are, for a directory that goes is a search that ends elsewhere. */
    const slwi_tool_list *found = &d->answer->facts[SLWI_TOOL_FACT_DIRECTORY];
    for (size_t i = 0; rc == SLW_OK && i < found->count; i++)
        rc = slwi_tool_answer_watch(d->answer, found->items[i], d->err);
    return rc;
}

static slw_code ask_rocm(discovery *d) {
    static const char *const cl[] = {
        MCPU, "-S", "-emit-llvm", "-###", "-print-rocm-search-dirs", "/dev/null", "-o", "/dev/null", NULL,
    };
    static const char *const hip[] = {
        OFFLOAD_ARCH, "-nogpulib", "-S", "-emit-llvm", "-###", "/dev/null", "-o", "/dev/null", NULL,
    };
    slw_code rc = ask_rocm_command(d, slwi_clang_for_cl, cl);
    if (rc == SLW_OK) rc = ask_rocm_command(d, slwi_clang_for_hip, hip);
    if (rc == SLW_OK && d->probe.status == 0 && !slwi_tool_probe_says(&d->probe, "error: "))
        fact(d, SLWI_TOOL_FACT_LIBRARY, SLWI_CLANG_FACT_HIP);
    return rc == SLW_OK ? watch_places(d) : rc;
}

/* ---- the linker ---- */

static slw_code ask_directories(discovery *d) {
    static const char *const arguments[] = {TARGET, "-print-search-dirs", NULL};
    slw_code rc = slwi_tool_probe_ask(&d->probe, arguments, NULL);
    if (rc != SLW_OK) return rc;
    slwi_tool_lines lines = slwi_tool_probe_lines(&d->probe);
    slw_bytes line;
    char text[SLWI_TOOL_PATH_MAX];
    char directory[SLWI_TOOL_PATH_MAX];
    while (slwi_tool_next_line(&lines, &line)) {
        const char *at = text;
        if (!slwi_tool_after(line, "programs: =", text)) continue;
        while (slwi_tool_next_directory(&at, directory)) slwi_tool_list_add(&d->programs, directory);
    }
    const char *at = d->toolchain->path;
    while (slwi_tool_next_directory(&at, directory)) slwi_tool_list_add(&d->programs, directory);
    return slwi_tool_list_status(&d->programs, d->err);
}

static slw_code no_linker(discovery *d) {
    for (size_t i = 0; i < d->programs.count; i++) {
        char path[SLWI_TOOL_PATH_MAX];
        if (slwi_tool_join(path, d->programs.items[i], "ld.lld")) slwi_error_tried(d->err, path);
    }
    slwi_error_path(d->err, d->toolchain->driver);
    slwi_error_subject(d->err, "ld.lld", 6);
    slwi_error_hint(
        d->err,
        "install the package lld of the same version as clang (Debian and Ubuntu: lld, or lld-16 for clang-16)");
    return slwi_fail(d->err, SLW_E_TOOL_MISSING, "NO_LINKER", "clang's linker for AMD GPUs, ld.lld, was not found");
}

/* The last line that starts with a blank is the command; the first word is what is started. */
static slw_code read_link(discovery *d) {
    slwi_tool_lines lines = slwi_tool_probe_lines(&d->probe);
    slw_bytes line;
    slw_bytes command = {"", 0};
    while (slwi_tool_next_line(&lines, &line)) {
        if (line.size > 2 && ((const char *)line.data)[0] == ' ') command = line;
    }
    slwi_tool_list words;
    slwi_tool_list_init(&words, d->probe.allocator);
    slwi_tool_split_line(command, &words);
    slw_code rc = slwi_tool_list_status(&words, d->err);
    if (rc == SLW_OK) {
        if (d->probe.status != 0 || words.count < 4 || strcmp(words.items[1], "-cc1") == 0) {
            rc = unknown(d, "clang did not say how it links");
        } else if (words.items[0][0] != '/') {
            rc = no_linker(d);
        } else {
            copy_path(d->linker, words.items[0]);
            fact(d, SLWI_TOOL_FACT_PROGRAM, d->linker);
        }
    }
    slwi_tool_list_free(&words);
    return rc;
}

/* clang looks for "TRIPLE-ld.lld" and "ld.lld" in every directory before the one where it was found. */
static void absent_linkers(discovery *d) {
    const char *name = slwi_tool_base_name(d->linker);
    char prefixed[SLWI_TOOL_PATH_MAX];
    char path[SLWI_TOOL_PATH_MAX];
    const int size = snprintf(prefixed, sizeof(prefixed), SLWI_CLANG_TRIPLE "-%s", name);
    if (size < 0 || (size_t)size >= sizeof(prefixed)) return;
    for (size_t i = 0; i < d->programs.count; i++) {
        slwi_tool_answer_absent(d->answer, d->programs.items[i], prefixed);
        if (slwi_tool_join(path, d->programs.items[i], name) && strcmp(path, d->linker) == 0) return;
        slwi_tool_answer_absent(d->answer, d->programs.items[i], name);
    }
}

static slw_code ask_link(discovery *d) {
    static const char *const arguments[] = {MCPU, "-nogpulib", "-###", "/dev/null", "-o", "/dev/null", NULL};
    slw_code rc = ask_directories(d);
    if (rc == SLW_OK) rc = slwi_tool_probe_ask(&d->probe, slwi_clang_for_ir, arguments);
    if (rc == SLW_OK) rc = read_link(d);
    if (rc == SLW_OK) absent_linkers(d);
    return rc;
}

/* ---- configuration that may come into being ---- */

static void absent_config(discovery *d, const char *start, const char *end) {
    char name[SLWI_TOOL_PATH_MAX];
    const int size = snprintf(name, sizeof(name), "%s%s", start, end);
    if (start[0] == '\0' || size < 0 || (size_t)size >= sizeof(name)) return;
    for (size_t i = 0; i < d->configs.count; i++) slwi_tool_answer_absent(d->answer, d->configs.items[i], name);
}

static void absent_configs(discovery *d) {
    const char *const triples[] = {SLWI_CLANG_TRIPLE, d->host_triple};
    const char *base = slwi_tool_base_name(d->toolchain->driver);
    char own[SLWI_TOOL_PATH_MAX];
    char prefix[SLWI_TOOL_PATH_MAX];
    if (slwi_tool_directory(own, d->toolchain->driver)) slwi_tool_list_add_once(&d->configs, own);
    for (size_t i = 0; i < sizeof(triples) / sizeof(*triples); i++) {
        absent_config(d, triples[i], "-clang.cfg");
        absent_config(d, triples[i], ".cfg");
    }
    absent_config(d, "clang", ".cfg");
    absent_config(d, base, ".cfg");
    /* "PREFIX-clang" reads PREFIX.cfg. */
    const char *mode = strstr(base, "-clang");
    if (mode == NULL || (size_t)(mode - base) >= sizeof(prefix)) return;
    memcpy(prefix, base, (size_t)(mode - base));
    prefix[mode - base] = '\0';
    absent_config(d, prefix, ".cfg");
}

/* ---- all of it ---- */

slw_code slwi_clang_discover(const slwi_clang_toolchain *toolchain, slw_cancel *cancel, slwi_tool_answer *answer,
                             slw_error *err) {
    discovery d;
    memset(&d, 0, sizeof(d));
    d.toolchain = toolchain;
    d.answer = answer;
    d.err = err;
    slwi_tool_probe_init(&d.probe, &toolchain->allocator);
    d.probe.program = toolchain->driver;
    d.probe.path = toolchain->path;
    d.probe.cancel = cancel;
    d.probe.answer = answer;
    d.probe.err = err;
    slwi_tool_list_init(&d.programs, &toolchain->allocator);
    slwi_tool_list_init(&d.configs, &toolchain->allocator);
    slwi_tool_list_init(&d.places, &toolchain->allocator);
    slw_code rc = ask_version(&d);
    if (rc == SLW_OK) rc = ask_targets(&d);
    if (rc == SLW_OK) rc = ask_preprocessor(&d);
    if (rc == SLW_OK) rc = ask_rocm(&d);
    if (rc == SLW_OK) rc = ask_link(&d);
    if (rc == SLW_OK) {
        absent_configs(&d);
        rc = slwi_tool_answer_status(answer, err);
    }
    slwi_tool_probe_free(&d.probe);
    slwi_tool_list_free(&d.programs);
    slwi_tool_list_free(&d.configs);
    slwi_tool_list_free(&d.places);
    return rc;
}
