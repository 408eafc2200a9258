/* Asking nvcc and ptxas about themselves. What is not understood is not guessed. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fail.h"
#include "heap_sort.h"
#include "host_toolchain.h"
#include "memory.h"
#include "nvcc_toolchain.h"
#include "nvrtc.h"
#include "os.h"
#include "tool_find.h"
#include "tool_probe.h"

#define SHELL "/bin/sh" /* nvcc starts its tools through it, by this name */

/* What `nvcc --dryrun` says it will set for its tools. */
typedef struct variables {
    char top[SLWI_TOOL_PATH_MAX];
    char cicc_path[SLWI_TOOL_PATH_MAX];
    char path[4 * SLWI_TOOL_PATH_MAX];
    char library_path[SLWI_TOOL_PATH_MAX];
    char libdevice[SLWI_TOOL_PATH_MAX];
} variables;

typedef struct discovery {
    const slwi_nvcc_toolchain *toolchain;
    slwi_tool_answer *answer;
    slwi_tool_probe probe;
    variables *found;
    slw_error *err;
} discovery;

static void fact(discovery *d, slwi_tool_fact kind, const char *text) {
    slwi_tool_list_add_once(&d->answer->facts[kind], text);
}

static void note(discovery *d, const char *name, const char *text) {
    slwi_tool_list_add_format(&d->answer->facts[SLWI_TOOL_FACT_NOTE], "%s %s", name, text);
}

static slw_code unknown(discovery *d, const char *what) {
    slwi_error_hint(d->err, "name nvcc or ptxas itself, not a wrapper around it");
    return slwi_tool_probe_refuse(&d->probe, "UNKNOWN_COMPILER", what);
}

/* With every link followed, so that one file has one name; as it is where that cannot be. */
static void add_real(discovery *d, slwi_tool_fact kind, const char *path) {
    const slwi_os *os = slwi_os_get();
    char resolved[SLWI_TOOL_PATH_MAX];
    fact(d, kind, os->realpath(os, path, resolved) == 0 ? resolved : path);
}

/* ---- the host compiler ---- */

static slw_code ask_host(discovery *d, slwi_tool_answer *host, slw_cancel *cancel) {
    const slwi_host_toolchain driver = {
        .allocator = d->toolchain->allocator, .driver = d->toolchain->host, .path = d->toolchain->path};
    slw_code rc = slwi_host_discover_cxx(&driver, cancel, host, d->err);
    if (rc != SLW_OK) return rc;
    d->answer->family = host->family;
    note(d, SLWI_NVCC_NOTE_HOST, slwi_tool_answer_version(host));
    fact(d, SLWI_TOOL_FACT_PROGRAM, d->toolchain->host);
    return SLW_OK;
}

/* nvcc's include roots come before the compiler's own. */
static void take_host(discovery *d, const slwi_tool_answer *host) {
    for (int kind = 0; kind < SLWI_TOOL_FACT_COUNT; kind++) {
        for (size_t i = 0; i < host->facts[kind].count; i++) fact(d, (slwi_tool_fact)kind, host->facts[kind].items[i]);
        if (host->facts[kind].failed) d->answer->facts[kind].failed = 1;
    }
}

/* ---- versions ---- */

/* "Cuda compilation tools, release 13.0, V13.0.88", and the build behind it. */
static slw_code ask_version(discovery *d, const char *program, char out[SLWI_TOOL_PATH_MAX]) {
    static const char *const arguments[] = {"--version", NULL};
    slw_bytes line;
    out[0] = '\0';
    d->probe.program = program;
    slw_code rc = slwi_tool_probe_ask(&d->probe, arguments, NULL);
    if (rc != SLW_OK) return rc;
    slwi_tool_lines lines = slwi_tool_probe_lines(&d->probe);
    while (out[0] == '\0' && slwi_tool_next_line(&lines, &line))
        (void)slwi_tool_after(line, "Cuda compilation tools, ", out);
    if (d->probe.status != 0 || out[0] == '\0') return unknown(d, "the program does not say which CUDA tool it is");
    return SLW_OK;
}

/* ---- nvcc --dryrun: variables, then command lines ---- */

static int set(char *out, size_t size, const char *text) {
    if (strlen(text) >= size) return 0;
    memcpy(out, text, strlen(text) + 1);
    return 1;
}

/* `"-I/usr/…" "-isystem" "/usr/…"` */
static void take_includes(discovery *d, const char *text) {
    slwi_tool_list words;
    slwi_tool_list_init(&words, &d->toolchain->allocator);
    slwi_tool_split_line((slw_bytes){text, strlen(text)}, &words);
    for (size_t i = 0; i < words.count; i++) {
        const char *word = words.items[i];
        if (strcmp(word, "-isystem") == 0 || strcmp(word, "-I") == 0) {
            if (i + 1 < words.count) add_real(d, SLWI_TOOL_FACT_INCLUDE, words.items[++i]);
        } else if (strncmp(word, "-I", 2) == 0) {
            add_real(d, SLWI_TOOL_FACT_INCLUDE, word + 2);
        }
    }
    if (words.failed) d->answer->text.failed = 1;
    slwi_tool_list_free(&words);
}

static int take_variable(discovery *d, slw_bytes line) {
    variables *v = d->found;
    char text[SLWI_TOOL_PATH_MAX];
    if (slwi_tool_after(line, "TOP=", text)) return set(v->top, sizeof(v->top), text);
    if (slwi_tool_after(line, "CICC_PATH=", text)) return set(v->cicc_path, sizeof(v->cicc_path), text);
    if (slwi_tool_after(line, "PATH=", text)) return set(v->path, sizeof(v->path), text);
    if (slwi_tool_after(line, "LD_LIBRARY_PATH=", text)) return set(v->library_path, sizeof(v->library_path), text);
    if (slwi_tool_after(line, "NVVMIR_LIBRARY_DIR=", text)) return set(v->libdevice, sizeof(v->libdevice), text);
    if (slwi_tool_after(line, "INCLUDES=", text) || slwi_tool_after(line, "SYSTEM_INCLUDES=", text))
        take_includes(d, text);
    return 1;
}

/* A name without a slash is looked for in nvcc's PATH: it must stay absent where it would be found earlier. */
static void take_bare_program(discovery *d, const char *name) {
    const char *at = d->found->path;
    char directory[SLWI_TOOL_PATH_MAX];
    char path[SLWI_TOOL_PATH_MAX];
    if (!slwi_tool_find_in_path(d->found->path, name, path)) return;
    while (slwi_tool_next_directory(&at, directory)) {
        char here[SLWI_TOOL_PATH_MAX];
        if (slwi_tool_join(here, directory, name) && strcmp(here, path) == 0) break;
        slwi_tool_answer_absent(d->answer, directory, name);
    }
    add_real(d, SLWI_TOOL_FACT_PROGRAM, path);
}

static void take_command(discovery *d, slw_bytes line) {
    static const char cicc[] = "$CICC_PATH/";
    static const char *const own[] = {"cudafe++", "ptxas", "fatbinary", "cicc", NULL};
    char path[SLWI_TOOL_PATH_MAX];
    slwi_tool_list words;
    slwi_tool_list_init(&words, &d->toolchain->allocator);
    slwi_tool_split_line(line, &words);
    const char *first = words.count > 0 ? words.items[0] : "";
    if (strncmp(first, cicc, sizeof(cicc) - 1) == 0) {
        if (slwi_tool_join(path, d->found->cicc_path, first + sizeof(cicc) - 1))
            add_real(d, SLWI_TOOL_FACT_PROGRAM, path);
    } else {
        for (size_t i = 0; own[i] != NULL; i++) {
            if (strcmp(first, own[i]) == 0) take_bare_program(d, first);
        }
    }
    if (words.failed) d->answer->text.failed = 1;
    slwi_tool_list_free(&words);
}

static int is_variable(slw_bytes line) {
    const char *text = line.data;
    size_t at = 0;
    while (at < line.size && (text[at] == '_' || (text[at] >= 'A' && text[at] <= 'Z'))) at++;
    return at > 0 && at < line.size && text[at] == '=';
}

static slw_code read_plan(discovery *d) {
    slwi_tool_lines lines = slwi_tool_probe_lines(&d->probe);
    slw_bytes line;
    while (slwi_tool_next_line(&lines, &line)) {
        if (line.size < 3 || memcmp(line.data, "#$ ", 3) != 0) continue;
        line = (slw_bytes){(const char *)line.data + 3, line.size - 3};
        if (!is_variable(line)) {
            take_command(d, line);
        } else if (!take_variable(d, line)) {
            return unknown(d, "nvcc's directories have too long a name");
        }
    }
    const slw_code rc = slwi_tool_answer_status(d->answer, d->err);
    if (rc != SLW_OK) return rc;
    if (d->found->top[0] == '\0' || d->found->path[0] == '\0' || slwi_nvcc_program(d->answer, "cicc") == NULL ||
        slwi_nvcc_program(d->answer, "ptxas") == NULL)
        return unknown(d, "nvcc did not say where its programs are");
    return SLW_OK;
}

/* A whole compilation, though only its first half is done here: so that every program of nvcc is named. */
static slw_code ask_plan(discovery *d) {
    const char *const arguments[] = {"--dryrun",         "-x",        "cu", "-c",        "-m64", "-ccbin",
                                     d->toolchain->host, "/dev/null", "-o", "/dev/null", NULL};
    d->probe.program = d->toolchain->driver;
    slw_code rc = slwi_tool_probe_ask(&d->probe, arguments, slwi_nvcc_reproducible);
    if (rc != SLW_OK) return rc;
    const int reproducible = d->probe.status == 0;
    if (!reproducible) rc = slwi_tool_probe_ask(&d->probe, arguments, NULL);
    if (rc != SLW_OK) return rc;
    if (d->probe.status != 0) return unknown(d, "nvcc does not say what it would do");
    if (reproducible) note(d, SLWI_NVCC_NOTE_REPRODUCIBLE, "1");
    return read_plan(d);
}

/* ---- what lies where the tools look ---- */

typedef void (*visit)(discovery *d, const char *directory, const char *name);

static int by_text(const void *a, const void *b) {
    const char *const *left = a;
    const char *const *right = b;
    return strcmp(*left, *right);
}

static void keep_unproved(discovery *d, const char *why) {
    if (slwi_nvcc_note(d->answer, SLWI_NVCC_NOTE_WHY) == NULL) note(d, SLWI_NVCC_NOTE_WHY, why);
}

static slw_code unreadable(discovery *d, const char *directory, int status) {
    return slwi_fail_os(d->err, SLW_E_STORAGE, NULL, -status, directory, "a directory of the toolkit cannot be read");
}

/* Every name in a directory, in an order that is always the same. One that cannot be read to its end holds what nobody
   knows: STORAGE. One that is not there holds nothing. */
static slw_code visit_directory(discovery *d, const char *directory, visit each) {
    const slwi_os *os = slwi_os_get();
    slwi_tool_list names;
    slwi_dir dir;
    slwi_dirent entry;
    memset(&dir, 0, sizeof(dir));
    dir.fd = os->openat(os, AT_FDCWD, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    int status = dir.fd;
    if (status == -ENOENT) return SLW_OK;
    if (status < 0) return unreadable(d, directory, status);
    slwi_tool_list_init(&names, &d->toolchain->allocator);
    while ((status = os->readdir(os, &dir, &entry)) == 1) slwi_tool_list_add(&names, entry.name);
    os->closedir(os, &dir);
    (void)os->close(os, dir.fd);
    if (names.count != 0) slwi_heap_sort(names.items, names.count, sizeof(void *), by_text);
    for (size_t i = 0; i < names.count; i++) each(d, directory, names.items[i]);
    if (names.failed) d->answer->text.failed = 1;
    slwi_tool_list_free(&names);
    return status < 0 ? unreadable(d, directory, status) : SLW_OK;
}

static void take_bitcode(discovery *d, const char *directory, const char *name) {
    char path[SLWI_TOOL_PATH_MAX];
    const size_t size = strlen(name);
    if (size > 3 && strcmp(name + size - 3, ".bc") == 0 && slwi_tool_join(path, directory, name))
        add_real(d, SLWI_TOOL_FACT_FILE, path);
}

/* nvcc puts its own library directory before the system's for every program that it starts: a library there that has
   the name of one of the system's is the one that is loaded. */
static void take_shadow(discovery *d, const char *directory, const char *name) {
    static const char *const system[] = {"/lib/x86_64-linux-gnu",
                                         "/lib/aarch64-linux-gnu",
                                         "/lib64",
                                         "/usr/lib64",
                                         "/lib",
                                         "/usr/lib",
                                         "/usr/local/lib",
                                         NULL};
    const slwi_os *os = slwi_os_get();
    char path[SLWI_TOOL_PATH_MAX];
    slwi_stat stat;
    if (strncmp(name, "lib", 3) != 0 || strstr(name, ".so.") == NULL) return;
    for (size_t i = 0; system[i] != NULL; i++) {
        if (!slwi_tool_join(path, system[i], name) || os->fstatat(os, AT_FDCWD, path, 0, &stat) < 0) continue;
        if (slwi_tool_join(path, directory, name)) add_real(d, SLWI_TOOL_FACT_PLUGIN, path);
        return;
    }
}

/* Where the loader would look first of all below such a directory. */
static slw_code take_library_directory(discovery *d, const char *directory) {
    static const char *const preferred[] = {"glibc-hwcaps", "tls", "x86_64", "aarch64", "haswell", NULL};
    const slwi_os *os = slwi_os_get();
    char path[SLWI_TOOL_PATH_MAX];
    slwi_stat stat;
    for (size_t i = 0; preferred[i] != NULL; i++) {
        slwi_tool_answer_absent(d->answer, directory, preferred[i]);
        if (slwi_tool_join(path, directory, preferred[i]) && os->fstatat(os, AT_FDCWD, path, 0, &stat) >= 0)
            keep_unproved(d, "nvcc's library directory has places for certain processors only");
    }
    fact(d, SLWI_TOOL_FACT_DIRECTORY, directory);
    return visit_directory(d, directory, take_shadow);
}

/* nvcc reads it by itself, and it may say what goes into every command line. */
static slw_code take_profile(discovery *d) {
    char path[SLWI_TOOL_PATH_MAX];
    char profile[SLWI_TOOL_PATH_MAX];
    char why[512];
    if (!slwi_tool_directory(path, d->toolchain->driver) || !slwi_tool_join(profile, path, "nvcc.profile"))
        return SLW_OK;
    slwi_tool_answer_absent(d->answer, path, "nvcc.profile");
    if (slwi_tool_list_has(&d->answer->facts[SLWI_TOOL_FACT_ABSENT], profile)) return SLW_OK;
    fact(d, SLWI_TOOL_FACT_FILE, profile);
    const slw_code rc = slwi_nvcc_profile_reason(profile, &d->toolchain->allocator, why, sizeof(why), d->err);
    if (rc == SLW_OK && why[0] != '\0') keep_unproved(d, why);
    return rc;
}

static slw_code take_surroundings(discovery *d) {
    char path[SLWI_TOOL_PATH_MAX];
    const char *at = d->found->library_path;
    slw_code rc = take_profile(d);
    fact(d, SLWI_TOOL_FACT_PROGRAM, SHELL);
    if (rc == SLW_OK && d->found->libdevice[0] == '/') {
        rc = visit_directory(d, d->found->libdevice, take_bitcode);
        if (rc == SLW_OK) rc = slwi_tool_answer_watch(d->answer, d->found->libdevice, d->err);
    }
    while (rc == SLW_OK && slwi_tool_next_directory(&at, path)) {
        rc = take_library_directory(d, path);
        if (rc == SLW_OK) rc = slwi_tool_answer_watch(d->answer, path, d->err);
    }
    return rc;
}

/* ---- targets ---- */

static slw_code ask_virtual_targets(discovery *d) {
    static const char *const arguments[] = {"--list-gpu-arch", NULL};
    char text[SLWI_TOOL_PATH_MAX];
    slw_bytes line;
    d->probe.program = d->toolchain->driver;
    slw_code rc = slwi_tool_probe_ask(&d->probe, arguments, NULL);
    if (rc != SLW_OK) return rc;
    slwi_tool_lines lines = slwi_tool_probe_lines(&d->probe);
    while (d->probe.status == 0 && slwi_tool_next_line(&lines, &line)) {
        if (slwi_tool_after(line, "", text) && strncmp(text, "compute_", 8) == 0) fact(d, SLWI_TOOL_FACT_TARGET, text);
    }
    return SLW_OK;
}

/* "…Allowed values for this option:  'compute_75','sm_75',…" under --gpu-name. */
static slw_code ask_targets(discovery *d, const char *ptxas) {
    static const char *const arguments[] = {"--help", NULL};
    char name[32];
    int found = 0;
    d->probe.program = ptxas;
    slw_code rc = slwi_tool_probe_ask(&d->probe, arguments, NULL);
    if (rc != SLW_OK) return rc;
    const slwi_tool_lines all = slwi_tool_probe_lines(&d->probe);
    for (const char *at = all.at; all.end - at > 4; at++) {
        if (memcmp(at, "'sm_", 4) != 0) continue;
        const char *stop = memchr(at + 1, '\'', (size_t)(all.end - at - 1));
        const size_t size = stop != NULL ? (size_t)(stop - at - 1) : 0;
        if (size == 0 || size >= sizeof(name)) continue;
        memcpy(name, at + 1, size);
        name[size] = '\0';
        fact(d, SLWI_TOOL_FACT_TARGET, name);
        found = 1;
    }
    if (!found) return unknown(d, "ptxas does not list what it compiles for");
    return SLW_OK;
}

/* The newest PTX it reads, of one line each. An older ptxas does not list them: then it is not known. */
static slw_code ask_isa(discovery *d) {
    static const char *const arguments[] = {"--list-version", NULL};
    char text[SLWI_TOOL_PATH_MAX];
    char newest[16] = "";
    slw_bytes line;
    slw_code rc = slwi_tool_probe_ask(&d->probe, arguments, NULL);
    if (rc != SLW_OK || d->probe.status != 0) return rc;
    slwi_tool_lines lines = slwi_tool_probe_lines(&d->probe);
    while (slwi_tool_next_line(&lines, &line)) {
        if (line.size < sizeof(newest) && slwi_tool_after(line, "", text) &&
            slwi_nvcc_isa_number(text) > slwi_nvcc_isa_number(newest))
            memcpy(newest, text, line.size + 1);
    }
    if (newest[0] != '\0') note(d, SLWI_NVCC_NOTE_ISA, newest);
    return SLW_OK;
}

static slw_code ask_ptxas(discovery *d, const char *ptxas) {
    char version[SLWI_TOOL_PATH_MAX];
    slw_code rc = ask_version(d, ptxas, version);
    if (rc == SLW_OK) note(d, SLWI_NVCC_NOTE_PTXAS, version);
    if (rc == SLW_OK) rc = ask_targets(d, ptxas);
    return rc == SLW_OK ? ask_isa(d) : rc;
}

/* ---- both ---- */

static slw_code discover_nvcc(discovery *d, slw_cancel *cancel) {
    char version[SLWI_TOOL_PATH_MAX];
    slwi_tool_answer host;
    slwi_tool_answer_init(&host, &d->toolchain->allocator);
    slw_code rc = ask_version(d, d->toolchain->driver, version);
    if (rc == SLW_OK) rc = ask_host(d, &host, cancel);
    if (rc == SLW_OK) {
        slwi_tool_list_add(&d->answer->text, version);
        slwi_tool_list_add(&d->answer->text, slwi_tool_answer_triple(&host));
        rc = ask_plan(d);
    }
    if (rc == SLW_OK) take_host(d, &host);
    if (rc == SLW_OK) rc = take_surroundings(d);
    if (rc == SLW_OK) rc = ask_virtual_targets(d);
    if (rc == SLW_OK) rc = ask_ptxas(d, slwi_nvcc_program(d->answer, "ptxas"));
    slwi_tool_answer_free(&host);
    return rc;
}

/* The files that were mapped are the identity, whatever their names promise; NVRTC opens one of them by name. */
static slw_code discover_nvrtc(discovery *d) {
    const char *const arguments[] = {"--library", d->toolchain->library, "--files", NULL};
    char text[SLWI_TOOL_PATH_MAX];
    char version[SLWI_TOOL_PATH_MAX] = "";
    slw_bytes line;
    slw_code rc = slwi_tool_probe_ask(&d->probe, arguments, NULL);
    if (rc != SLW_OK) return rc;
    slwi_tool_lines lines = slwi_tool_probe_lines(&d->probe);
    while (slwi_tool_next_line(&lines, &line)) {
        if (slwi_tool_after(line, "file ", text)) {
            fact(d, SLWI_TOOL_FACT_PROGRAM, text);
        } else if (slwi_tool_after(line, "arch ", text)) {
            slwi_tool_list_add_format(&d->answer->facts[SLWI_TOOL_FACT_TARGET], "compute_%s", text);
        } else if (slwi_tool_after(line, "version ", text)) {
            memcpy(version, text, sizeof(version));
        } else if (slwi_tool_after(line, "changed ", text)) {
            keep_unproved(d, "a library of NVRTC was replaced while it was loaded");
        }
    }
    if (d->probe.status != 0 || version[0] == '\0') return unknown(d, "NVRTC does not compile");
    slwi_tool_list_add_format(&d->answer->text, "NVRTC %s", version);
    slwi_tool_list_add(&d->answer->text, "nvrtc");
    d->answer->family = SLWI_TOOL_OTHER;
    slwi_nvrtc_includes(d->toolchain->library, &d->answer->facts[SLWI_TOOL_FACT_INCLUDE]);
    fact(d, SLWI_TOOL_FACT_PROGRAM, d->toolchain->assembler);
    return ask_ptxas(d, d->toolchain->assembler);
}

static slw_code discover_ptxas(discovery *d) {
    slw_code rc = ask_ptxas(d, d->toolchain->driver);
    if (rc != SLW_OK) return rc;
    d->answer->family = SLWI_TOOL_OTHER;
    slwi_tool_list_add(&d->answer->text, slwi_nvcc_note(d->answer, SLWI_NVCC_NOTE_PTXAS));
    slwi_tool_list_add(&d->answer->text, "ptx");
    return SLW_OK;
}

slw_code slwi_nvcc_discover(const slwi_nvcc_toolchain *toolchain, slw_cancel *cancel, slwi_tool_answer *answer,
                            slw_error *err) {
    discovery d;
    memset(&d, 0, sizeof(d));
    d.toolchain = toolchain;
    d.answer = answer;
    d.err = err;
    slwi_tool_probe_init(&d.probe, &toolchain->allocator);
    d.probe.path = toolchain->path;
    d.probe.cancel = cancel;
    d.probe.answer = answer;
    d.probe.err = err;
    d.probe.program = toolchain->driver;
    d.found = slwi_alloc_zero(&toolchain->allocator, sizeof(*d.found));
    slw_code rc = d.found == NULL ? slwi_fail_memory(err, sizeof(*d.found)) : SLW_OK;
    if (rc == SLW_OK) {
        rc = toolchain->host != NULL      ? discover_nvcc(&d, cancel)
             : toolchain->library != NULL ? discover_nvrtc(&d)
                                          : discover_ptxas(&d);
    }
    if (rc == SLW_OK) rc = slwi_tool_answer_status(answer, err);
    slwi_free(&toolchain->allocator, d.found);
    slwi_tool_probe_free(&d.probe);
    return rc;
}
