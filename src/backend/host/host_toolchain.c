/* Finding the compiler, running it, and deciding whether what is remembered of it still holds. */
#include "host_toolchain.h"

#include <errno.h>
#include <fcntl.h>
#include <slipway/key.h>
#include <string.h>

#include "clock.h"
#include "fail.h"
#include "memo.h"
#include "memory.h"
#include "os.h"
#include "process.h"

static const char *const compiler_names[] = {"cc", "gcc", "clang"};
#define COMPILER_NAMES 3u
static const char system_path[] = "/usr/local/bin:/usr/bin:/bin";

const char *const slwi_host_link_arguments[] = {
    "-Wl,--as-needed", "-lm", "-Wl,-z,defs", "-Wl,-z,noexecstack", "-Wl,--build-id=sha1", NULL,
};
/* Options of the request may override these. */
const char *const slwi_host_compile_before[] = {"-O2", NULL};
/* And may not override these. */
const char *const slwi_host_compile_after[] = {
    "-fPIC",
    "-fdiagnostics-color=never",
    NULL,
};

/* ---- search ---- */

static int is_program(const char *path) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    if (os->fstatat(os, AT_FDCWD, path, 1, &stat) < 0) return 0;
    return S_ISREG(stat.mode) && (stat.mode & 0111u) != 0;
}

/* One directory of a PATH-like list at *at: 1 and out, 0 at the end. Entries that are not absolute are passed over:
   what they mean changes with the working directory. */
static int next_directory(const char **at, char *out) {
    while (**at != '\0') {
        const char *start = *at;
        size_t size = strcspn(start, ":");
        *at = start[size] == ':' ? start + size + 1 : start + size;
        if (size == 0 || start[0] != '/' || size + 1 > SLWI_HOST_PATH_MAX) continue;
        memcpy(out, start, size);
        out[size] = '\0';
        return 1;
    }
    return 0;
}

/* A launcher that stands under a compiler's name starts another program, which is not the one that would be proved. The
   compiler itself comes later in the same search. */
static int is_launcher(const char *path) {
    static const char *const names[] = {"ccache", "sccache", "distcc", "icecc", NULL};
    const slwi_os *os = slwi_os_get();
    char resolved[SLWI_HOST_PATH_MAX];
    if (os->realpath(os, path, resolved) < 0) return 0;
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], slwi_host_base_name(resolved)) == 0) return 1;
    }
    return 0;
}

static int find_or_note(const char *path, const char *name, char *out, slw_error *note) {
    char directory[SLWI_HOST_PATH_MAX];
    while (next_directory(&path, directory)) {
        if (!slwi_host_join(out, directory, name)) continue;
        if (is_program(out) && !is_launcher(out)) return 1;
        if (note != NULL) slwi_error_tried(note, out);
    }
    return 0;
}

int slwi_host_find_in_path(const char *path, const char *name, char *out) {
    return find_or_note(path, name, out, NULL);
}

/* All names in the caller's path, then all in the system's: a compiler the caller put first is the one that is meant.
   */
static int search(const char *compiler, const char *search_path, char *found, slw_error *note) {
    const char *paths[2] = {search_path != NULL ? search_path : "", system_path};
    for (size_t p = 0; p < 2; p++) {
        if (compiler != NULL) {
            if (find_or_note(paths[p], compiler, found, note)) return 1;
            continue;
        }
        for (size_t n = 0; n < COMPILER_NAMES; n++) {
            if (find_or_note(paths[p], compiler_names[n], found, note)) return 1;
        }
    }
    return 0;
}

static slw_code named_compiler(const char *compiler, char *found, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    char directory[SLWI_HOST_PATH_MAX];
    directory[0] = '\0';
    if (compiler[0] != '/') {
        int rc = os->getcwd(os, directory);
        if (rc < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -rc, compiler, "the working directory is not known");
    }
    if (!slwi_host_join(found, directory, compiler) || !is_program(found)) {
        slwi_error_tried(err, compiler);
        slwi_error_path(err, compiler);
        return slwi_fail(err, SLW_E_TOOL_MISSING, "NO_COMPILER", "there is no program at %s", compiler);
    }
    return SLW_OK;
}

slw_code slwi_host_find_compiler(const char *compiler, const char *search_path, char *found, char *resolved,
                                 slw_error *err) {
    const slwi_os *os = slwi_os_get();
    if (compiler != NULL && compiler[0] == '\0') {
        return slwi_fail(err, SLW_E_USAGE, "EMPTY", "the name of the compiler is empty");
    }
    if (compiler != NULL && strchr(compiler, '/') != NULL) {
        slw_code rc = named_compiler(compiler, found, err);
        if (rc != SLW_OK) return rc;
    } else if (!search(compiler, search_path, found, NULL)) {
        (void)search(compiler, search_path, found, err);
        slwi_error_hint(err, "install a C compiler, or name one with --cc or SLIPWAY_CC");
        if (compiler == NULL) return slwi_fail(err, SLW_E_TOOL_MISSING, "NO_COMPILER", "no C compiler was found");
        slwi_error_subject(err, compiler, strlen(compiler));
        return slwi_fail(err, SLW_E_TOOL_MISSING, "NO_COMPILER", "no compiler of the name %.128s was found", compiler);
    }
    int rc = os->realpath(os, found, resolved);
    if (rc < 0)
        return slwi_fail_os(err, SLW_E_TOOL_MISSING, "NO_COMPILER", -rc, found, "the compiler cannot be resolved");
    return SLW_OK;
}

/* ---- running ---- */

/* The driver's own directory, then the system's, each once. */
static slw_code make_path(const slwi_host_toolchain *toolchain, char **out, slw_error *err) {
    char directory[SLWI_HOST_PATH_MAX];
    const char *rest = system_path;
    slwi_buffer path;
    slwi_buffer_init(&path, &toolchain->allocator, (size_t)4 * SLWI_HOST_PATH_MAX);
    char own[SLWI_HOST_PATH_MAX];
    if (!slwi_host_directory(own, toolchain->driver))
        return slwi_fail(err, SLW_E_LIMIT, NULL, "the compiler's path is too long");
    slwi_buffer_append_text(&path, own);
    while (next_directory(&rest, directory)) {
        if (strcmp(directory, own) == 0) continue;
        slwi_buffer_append_char(&path, ':');
        slwi_buffer_append_text(&path, directory);
    }
    slw_code rc = slwi_buffer_status(&path, err);
    if (rc == SLW_OK) {
        *out = slwi_strndup(&toolchain->allocator, path.data, path.size);
        if (*out == NULL) rc = slwi_fail_memory(err, path.size);
    }
    slwi_buffer_free(&path);
    return rc;
}

void slwi_host_environment(const slwi_host_toolchain *toolchain, const char *temporary, slwi_host_list *out) {
    slwi_host_list_add_format(out, "PATH=%s", toolchain->path);
    slwi_host_list_add(out, "LC_ALL=C");
    slwi_host_list_add(out, "SOURCE_DATE_EPOCH=" SLWI_HOST_SOURCE_DATE_EPOCH);
    slwi_host_list_add_format(out, "TMPDIR=%s", temporary);
}

slw_code slwi_host_run_driver(const slwi_host_toolchain *toolchain, const slwi_host_run *run, int *exit_status,
                              slw_error *err) {
    slwi_host_list argv;
    slwi_host_list envp;
    slwi_process process;
    slwi_host_list_init(&argv, &toolchain->allocator);
    slwi_host_list_init(&envp, &toolchain->allocator);
    slwi_host_list_add(&argv, toolchain->driver);
    slwi_host_list_add_all(&argv, run->arguments);
    slwi_host_environment(toolchain, run->temporary, &envp);
    slw_code rc = slwi_host_list_status(&argv, err);
    if (rc == SLW_OK) rc = slwi_host_list_status(&envp, err);
    if (rc == SLW_OK) {
        memset(&process, 0, sizeof(process));
        process.program = toolchain->driver;
        process.argv = (const char *const *)argv.items;
        process.envp = (const char *const *)envp.items;
        process.directory = run->directory;
        process.deadline_ns = run->deadline_ns;
        process.cancel = run->cancel;
        process.output = run->output;
        rc = slwi_process_run(&process, exit_status, err);
    }
    slwi_host_list_free(&argv);
    slwi_host_list_free(&envp);
    return rc;
}

/* ---- the answer: remembered or asked for ---- */

/* The memo's key: this driver, by path and bytes, asked in this environment about this link. */
static slw_code answer_key(const slwi_host_toolchain *toolchain, slw_digest *out, slw_error *err) {
    slwi_buffer text;
    char proof[SLW_DIGEST_TEXT_SIZE];
    slw_digest_format(&toolchain->driver_proof, proof);
    slwi_buffer_init(&text, &toolchain->allocator, SIZE_MAX);
    slwi_buffer_append_text(&text, "slipway host answer 1\n");
    slwi_buffer_append_text(&text, toolchain->driver);
    slwi_buffer_append_char(&text, '\n');
    slwi_buffer_append_text(&text, proof);
    slwi_buffer_append_char(&text, '\n');
    slwi_buffer_append_text(&text, toolchain->path);
    for (size_t i = 0; slwi_host_link_arguments[i] != NULL; i++) {
        slwi_buffer_append_char(&text, '\n');
        slwi_buffer_append_text(&text, slwi_host_link_arguments[i]);
    }
    slw_code rc = slwi_buffer_status(&text, err);
    if (rc == SLW_OK) slw_sha256((slw_bytes){text.data, text.size}, out);
    slwi_buffer_free(&text);
    return rc;
}

/* MISS when nothing is remembered or when it no longer holds. */
static slw_code remembered(slwi_host_toolchain *toolchain, const slw_digest *key, slw_error *err) {
    slw_text text = SLW_TEXT_INIT;
    slw_digest then;
    slw_digest now;
    slw_code rc = slwi_memo_get_answer(toolchain->memo, key, &text, NULL);
    if (rc != SLW_OK) return rc;
    slwi_host_answer answer;
    slwi_host_answer_init(&answer, &toolchain->allocator);
    int good = slwi_host_answer_read((slw_bytes){text.data, text.size}, &answer, &then);
    slw_text_release(&text);
    rc = SLW_E_MISS;
    if (good && slwi_host_answer_holds(&answer, &toolchain->allocator)) {
        rc = slwi_host_answer_proof(&answer, toolchain->driver, &toolchain->allocator, toolchain->memo, &now, err);
        if (rc == SLW_OK && memcmp(&then, &now, sizeof(now)) != 0) rc = SLW_E_MISS;
    }
    if (rc == SLW_OK) {
        slwi_host_answer_free(&toolchain->answer);
        toolchain->answer = answer;
    } else {
        slwi_host_answer_free(&answer);
    }
    return rc;
}

/* Losing the memory of it costs only time, so failures here are none. */
static void remember(const slwi_host_toolchain *toolchain, const slw_digest *key) {
    slwi_buffer text;
    slw_digest proof;
    slwi_buffer_init(&text, &toolchain->allocator, SLWI_HOST_ANSWER_BYTES_MAX);
    if (slwi_host_answer_proof(&toolchain->answer, toolchain->driver, &toolchain->allocator, toolchain->memo, &proof,
                               NULL) == SLW_OK &&
        slwi_host_answer_write(&toolchain->answer, &proof, &text)) {
        slwi_memo_put_answer(toolchain->memo, key, (slw_bytes){text.data, text.size});
    }
    slwi_buffer_free(&text);
}

static slw_code find_answer(slwi_host_toolchain *toolchain, slw_cancel *cancel, slw_error *err) {
    slw_digest key;
    memset(&key, 0, sizeof(key));
    slw_code rc = slwi_host_answer_proof(NULL, toolchain->driver, &toolchain->allocator, toolchain->memo,
                                         &toolchain->driver_proof, err);
    toolchain->driver_proved = rc == SLW_OK;
    if (rc != SLW_OK && rc != SLW_E_MISS) return rc;
    int may_remember = toolchain->driver_proved && toolchain->memo != NULL;
    if (may_remember) {
        rc = answer_key(toolchain, &key, err);
        if (rc == SLW_OK) rc = remembered(toolchain, &key, err);
        if (rc != SLW_E_MISS) return rc;
    }
    rc = slwi_host_discover(toolchain, cancel, &toolchain->answer, err);
    if (rc == SLW_OK && may_remember) remember(toolchain, &key);
    return rc;
}

/* ---- opening ---- */

static slw_code find_driver(slwi_host_toolchain *toolchain, const slw_toolchain_request *request, slw_error *err) {
    char found[SLWI_HOST_PATH_MAX];
    char resolved[SLWI_HOST_PATH_MAX];
    slw_code rc = slwi_host_find_compiler(request->compiler, request->search_path, found, resolved, err);
    if (rc != SLW_OK) return rc;
    toolchain->found = slwi_strndup(&toolchain->allocator, found, strlen(found));
    toolchain->driver = slwi_strndup(&toolchain->allocator, resolved, strlen(resolved));
    if (toolchain->found == NULL || toolchain->driver == NULL) return slwi_fail_memory(err, SLWI_HOST_PATH_MAX);
    return make_path(toolchain, &toolchain->path, err);
}

slw_code slwi_host_toolchain_open(const slw_toolchain_request *request, slwi_host_toolchain **out, slw_error *err) {
    slw_allocator allocator;
    slw_code rc = slwi_allocator_take(&request->allocator, &allocator, err);
    if (rc != SLW_OK) return rc;
    slwi_host_toolchain *toolchain = slwi_alloc_zero(&allocator, sizeof(*toolchain));
    if (toolchain == NULL) return slwi_fail_memory(err, sizeof(*toolchain));
    toolchain->allocator = allocator;
    toolchain->memo = request->memo;
    slwi_host_answer_init(&toolchain->answer, &toolchain->allocator);
    rc = find_driver(toolchain, request, err);
    if (rc == SLW_OK) rc = find_answer(toolchain, request->cancel, err);
    if (rc == SLW_OK) rc = slwi_host_declare_identity(toolchain, request->identity, err);
    if (rc != SLW_OK) {
        slwi_host_toolchain_close(&toolchain);
        return rc;
    }
    *out = toolchain;
    return SLW_OK;
}

void slwi_host_toolchain_close(slwi_host_toolchain **toolchain) {
    if (toolchain == NULL || *toolchain == NULL) return;
    slwi_host_toolchain *dead = *toolchain;
    *toolchain = NULL;
    slw_allocator allocator = dead->allocator;
    slwi_host_answer_free(&dead->answer);
    slwi_free(&allocator, dead->found);
    slwi_free(&allocator, dead->driver);
    slwi_free(&allocator, dead->path);
    slwi_free(&allocator, dead);
}
