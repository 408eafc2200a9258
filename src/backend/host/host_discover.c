/* Asking a driver about itself. gcc and clang answer in different words; what is not understood is not guessed. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "host_target.h"
#include "host_toolchain.h"
#include "os.h"
#include "tool_find.h"
#include "tool_probe.h"

#define LINK_PLACEHOLDER "/dev/null"

typedef struct discovery {
    const slwi_host_toolchain *toolchain;
    slwi_tool_probe probe;
    slwi_tool_answer *answer;
    const char *language;              /* as -x names it */
    const char *own;                   /* the compiler's own program for it, in gcc */
    slwi_tool_list programs;           /* where the driver looks for its programs, in order */
    slwi_tool_list libraries;          /* and for its libraries */
    char install[SLWI_TOOL_PATH_MAX];  /* gcc's own directory: "/usr/lib/gcc/MACHINE/VERSION/" */
    slwi_tool_list configs;            /* where clang looks for configuration files */
    char compiler[SLWI_TOOL_PATH_MAX]; /* cc1, or clang itself */
    char linker[SLWI_TOOL_PATH_MAX];   /* what the driver starts to link */
    slw_error *err;
} discovery;

static void fact(discovery *d, slwi_tool_fact kind, const char *text) {
    slwi_tool_list_add_once(&d->answer->facts[kind], text);
}

/* ---- probes ---- */

static slw_code ask(discovery *d, const char *const *arguments, const char *const *more) {
    const slw_code rc = slwi_tool_probe_ask(&d->probe, arguments, more);
    if (rc != SLW_OK || d->probe.status == 0) return rc;
    slwi_error_path(d->err, d->toolchain->driver);
    slwi_error_diagnostics(d->err, d->probe.output.data != NULL ? d->probe.output.data : "", d->probe.output.size);
    return slwi_fail(d->err, SLW_E_UNSUPPORTED, "UNKNOWN_COMPILER",
                     "the compiler did not answer \"%s\" (exit status %d)", arguments[0], d->probe.status);
}

static slw_code unknown(discovery *d, const char *what) {
    slwi_error_path(d->err, d->toolchain->driver);
    slwi_error_hint(d->err, "name gcc or clang itself, not a wrapper around it");
    return slwi_fail(d->err, SLW_E_UNSUPPORTED, "UNKNOWN_COMPILER", "%s", what);
}

/* ---- -v: family, version, target, include roots ---- */

static void read_version(discovery *d, slw_bytes line) {
    char text[SLWI_TOOL_PATH_MAX];
    if (d->answer->family != SLWI_TOOL_UNKNOWN || !slwi_tool_after(line, "", text)) return;
    if (strncmp(text, "gcc version ", 12) == 0) {
        d->answer->family = SLWI_TOOL_GCC;
    } else if (strstr(text, "clang version ") != NULL && text[0] != ' ') {
        d->answer->family = SLWI_TOOL_CLANG;
    } else {
        return;
    }
    slwi_tool_list_add(&d->answer->text, text);
}

static void read_compiler(discovery *d, slw_bytes line) {
    slwi_tool_list words;
    if (d->compiler[0] != '\0' || line.size < 2 || ((const char *)line.data)[0] != ' ') return;
    slwi_tool_list_init(&words, &d->toolchain->allocator);
    slwi_tool_split_line(line, &words);
    int is_cc1 = words.count > 1 && words.items[0][0] == '/' &&
                 (strcmp(slwi_tool_base_name(words.items[0]), d->own) == 0 || strcmp(words.items[1], "-cc1") == 0);
    if (is_cc1 && strlen(words.items[0]) < sizeof(d->compiler)) {
        memcpy(d->compiler, words.items[0], strlen(words.items[0]) + 1);
    }
    if (words.failed) d->answer->text.failed = 1;
    slwi_tool_list_free(&words);
}

static slw_code ask_preprocessor(discovery *d) {
    const char *const arguments[] = {"-E", "-v", "-x", d->language, "/dev/null", NULL};
    slw_code rc = ask(d, arguments, NULL);
    if (rc != SLW_OK) return rc;
    slwi_tool_lines lines = slwi_tool_probe_lines(&d->probe);
    slw_bytes line;
    char triple[SLWI_TOOL_PATH_MAX] = "";
    int inside = 0;
    while (rc == SLW_OK && slwi_tool_next_line(&lines, &line)) {
        char text[SLWI_TOOL_PATH_MAX];
        read_version(d, line);
        if (triple[0] == '\0' && slwi_tool_after(line, "Target: ", text)) memcpy(triple, text, sizeof(triple));
        slwi_tool_read_include(&d->probe, line, &inside);
        read_compiler(d, line);
        rc = slwi_tool_read_choice(&d->probe, line, &d->configs);
    }
    if (rc == SLW_OK) rc = slwi_tool_answer_status(d->answer, d->err);
    if (rc != SLW_OK) return rc;
    if (d->answer->family == SLWI_TOOL_UNKNOWN) return unknown(d, "the compiler is neither gcc nor clang");
    if (triple[0] == '\0' || d->compiler[0] == '\0' || d->answer->facts[SLWI_TOOL_FACT_INCLUDE].count == 0) {
        return unknown(d, "the compiler did not say its target, its program or its include directories");
    }
    slwi_tool_list_add(&d->answer->text, triple);
    if (!slwi_host_triple_fits(triple)) {
        slwi_error_path(d->err, d->toolchain->driver);
        slwi_error_subject(d->err, triple, strlen(triple));
        return slwi_fail(d->err, SLW_E_UNSUPPORTED, "TARGET", "the compiler compiles for %s, this process is %s",
                         triple, slwi_host_target());
    }
    fact(d, SLWI_TOOL_FACT_PROGRAM, d->compiler);
    return slwi_tool_answer_status(d->answer, d->err);
}

/* ---- -###: the link ---- */

/* Options of the linker whose next word is a value. */
static const char *const with_value[] = {
    "-m",
    "-o",
    "-z",
    "-e",
    "-u",
    "-h",
    "-y",
    "-rpath",
    "-soname",
    "-dynamic-linker",
    "--dynamic-linker",
    "-defsym",
    "--defsym",
    "-init",
    "-fini",
    "-rpath-link",
    NULL,
};

static int takes_value(const char *word) {
    for (size_t i = 0; with_value[i] != NULL; i++) {
        if (strcmp(with_value[i], word) == 0) return 1;
    }
    return 0;
}

static void read_link_word(discovery *d, const char *word, const char *next, size_t *used) {
    if (strcmp(word, LINK_PLACEHOLDER) == 0) return;
    if (takes_value(word)) {
        *used = 2;
    } else if ((strcmp(word, "-plugin") == 0 || strcmp(word, "--plugin") == 0) && next != NULL) {
        fact(d, SLWI_TOOL_FACT_PLUGIN, next);
        *used = 2;
    } else if (strcmp(word, "-T") == 0 && next != NULL) {
        fact(d, SLWI_TOOL_FACT_FILE, next);
        *used = 2;
    } else if (strncmp(word, "-plugin-opt=/", 13) == 0) {
        fact(d, SLWI_TOOL_FACT_PROGRAM, word + 12); /* the lto-wrapper */
    } else if (strcmp(word, "-L") == 0 && next != NULL) {
        fact(d, SLWI_TOOL_FACT_DIRECTORY, next);
        *used = 2;
    } else if (strncmp(word, "-L", 2) == 0) {
        fact(d, SLWI_TOOL_FACT_DIRECTORY, word + 2);
    } else if (strncmp(word, "-l", 2) == 0 && word[2] != '\0') {
        fact(d, SLWI_TOOL_FACT_LIBRARY, word + 2);
    } else if (strncmp(word, "--sysroot=", 10) == 0 && word[10] != '\0') {
        fact(d, SLWI_TOOL_FACT_SYSROOT, word + 10);
    } else if (word[0] == '/') {
        fact(d, SLWI_TOOL_FACT_FILE, word);
    }
}

/* The last line that starts with a blank is the command; the first word is what is started. */
static slw_code read_link(discovery *d) {
    slwi_tool_lines lines = slwi_tool_probe_lines(&d->probe);
    slw_bytes line;
    slw_bytes command = {"", 0};
    while (slwi_tool_next_line(&lines, &line)) {
        if (line.size > 2 && ((const char *)line.data)[0] == ' ' && memchr(line.data, '/', line.size) != NULL)
            command = line;
    }
    slwi_tool_list words;
    slwi_tool_list_init(&words, &d->toolchain->allocator);
    slwi_tool_split_line(command, &words);
    slw_code rc = slwi_tool_list_status(&words, d->err);
    if (rc == SLW_OK && (words.count < 4 || words.items[0][0] != '/' || strlen(words.items[0]) >= sizeof(d->linker))) {
        rc = unknown(d, "the compiler did not say how it links");
    }
    if (rc == SLW_OK) {
        memcpy(d->linker, words.items[0], strlen(words.items[0]) + 1);
        fact(d, SLWI_TOOL_FACT_PROGRAM, d->linker);
        for (size_t i = 1; i < words.count;) {
            size_t used = 1;
            read_link_word(d, words.items[i], i + 1 < words.count ? words.items[i + 1] : NULL, &used);
            i += used;
        }
    }
    slwi_tool_list_free(&words);
    return rc;
}

static slw_code ask_link(discovery *d) {
    static const char *const arguments[] = {"-###", "-shared", "-o", LINK_PLACEHOLDER, LINK_PLACEHOLDER, NULL};
    slw_code rc = ask(d, arguments, slwi_host_link_arguments);
    return rc == SLW_OK ? read_link(d) : rc;
}

/* ---- programs, and the places where they were not ---- */

/* "programs: =/usr/bin:/bin" */
static void read_directories(slw_bytes line, const char *start, slwi_tool_list *out) {
    const size_t skipped = strlen(start);
    if (line.size <= skipped || memcmp(line.data, start, skipped) != 0) return;
    const char *at = (const char *)line.data + skipped;
    const char *end = (const char *)line.data + line.size;
    while (at < end) {
        const char *stop = memchr(at, ':', (size_t)(end - at));
        size_t size = (size_t)((stop != NULL ? stop : end) - at);
        if (size != 0 && at[0] == '/') slwi_tool_list_add_bytes(out, at, size);
        at += size + (stop != NULL);
    }
}

static slw_code ask_directories(discovery *d) {
    static const char *const arguments[] = {"-print-search-dirs", NULL};
    slw_code rc = ask(d, arguments, NULL);
    if (rc != SLW_OK) return rc;
    slwi_tool_lines lines = slwi_tool_probe_lines(&d->probe);
    slw_bytes line;
    while (slwi_tool_next_line(&lines, &line)) {
        char text[SLWI_TOOL_PATH_MAX];
        if (slwi_tool_after(line, "install: ", text)) memcpy(d->install, text, sizeof(text));
        read_directories(line, "programs: =", &d->programs);
        read_directories(line, "libraries: =", &d->libraries);
    }
    rc = slwi_tool_list_status(&d->programs, d->err);
    return rc == SLW_OK ? slwi_tool_list_status(&d->libraries, d->err) : rc;
}

static void absent(discovery *d, const char *directory, const char *name) {
    slwi_tool_answer_absent(d->answer, directory, name);
}

/* `name` was found as `found`: it must stay absent from every directory that is searched before. */
static void absent_before(discovery *d, const char *name, const char *found) {
    char path[SLWI_TOOL_PATH_MAX];
    for (size_t i = 0; i < d->programs.count; i++) {
        if (slwi_tool_join(path, d->programs.items[i], name) && strcmp(path, found) == 0) return;
        absent(d, d->programs.items[i], name);
    }
    const char *rest = d->toolchain->path;
    while (*rest != '\0') {
        size_t size = strcspn(rest, ":");
        char directory[SLWI_TOOL_PATH_MAX];
        if (size < sizeof(directory)) {
            memcpy(directory, rest, size);
            directory[size] = '\0';
            if (slwi_tool_join(path, directory, name) && strcmp(path, found) == 0) return;
            absent(d, directory, name);
        }
        rest += size + (rest[size] == ':');
    }
}

/* Asks gcc for a program; a bare name means that it will be looked for in PATH. */
static slw_code ask_program(discovery *d, const char *name) {
    char option[64] = "-print-prog-name=";
    char path[SLWI_TOOL_PATH_MAX] = "";
    const char *const arguments[] = {option, NULL};
    size_t start = strlen(option);
    memcpy(option + start, name, strlen(name) + 1);
    slw_code rc = ask(d, arguments, NULL);
    if (rc != SLW_OK) return rc;
    slwi_tool_lines lines = slwi_tool_probe_lines(&d->probe);
    slw_bytes line;
    if (!slwi_tool_next_line(&lines, &line) || !slwi_tool_after(line, "", path))
        return unknown(d, "the compiler did not name its programs");
    if (path[0] != '/') {
        if (!slwi_tool_find_in_path(d->toolchain->path, name, path)) {
            slwi_error_subject(d->err, name, strlen(name));
            return slwi_fail(d->err, SLW_E_TOOL_MISSING, "NO_PROGRAM", "the compiler's %s was not found", name);
        }
    }
    fact(d, SLWI_TOOL_FACT_PROGRAM, path);
    absent_before(d, name, path);
    return SLW_OK;
}

/* A specs file that is there counts, whether it was there when gcc was asked or came since. */
static void specs_place(discovery *d, const char *directory, const char *name) {
    const slwi_os *os = slwi_os_get();
    char path[SLWI_TOOL_PATH_MAX];
    slwi_stat stat;
    absent(d, directory, name);
    if (directory[0] != '/' || !slwi_tool_join(path, directory, name)) return;
    if (os->fstatat(os, AT_FDCWD, path, 0, &stat) >= 0 && !S_ISDIR(stat.mode)) fact(d, SLWI_TOOL_FACT_FILE, path);
}

/* "MACHINE/VERSION/specs", as gcc's own directory ends. */
static int own_specs(const discovery *d, char *out) {
    char install[SLWI_TOOL_PATH_MAX];
    char machine[SLWI_TOOL_PATH_MAX];
    if (!slwi_tool_normalize(install, d->install) || !slwi_tool_directory(machine, install)) return 0;
    const int size =
        snprintf(out, SLWI_TOOL_PATH_MAX, "%s/%s/specs", slwi_tool_base_name(machine), slwi_tool_base_name(install));
    return install[0] == '/' && size > 0 && (size_t)size < SLWI_TOOL_PATH_MAX;
}

/* gcc reads the first specs file among the directories of its libraries and in their MACHINE/VERSION, and one more
   where it was configured to lie: /usr/lib/gcc/MACHINE/VERSION, or the directory above. */
static slw_code absent_specs(discovery *d) {
    char below[SLWI_TOOL_PATH_MAX];
    char directory[SLWI_TOOL_PATH_MAX];
    char above[SLWI_TOOL_PATH_MAX];
    if (!own_specs(d, below)) return unknown(d, "the compiler did not say where it is installed");
    const slwi_tool_list *lists[] = {&d->programs, &d->libraries};
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; i < lists[l]->count; i++) {
            specs_place(d, lists[l]->items[i], "specs");
            specs_place(d, lists[l]->items[i], below);
        }
    }
    memcpy(directory, d->compiler, sizeof(directory));
    for (int level = 0; level < 4 && slwi_tool_directory(above, directory) && strcmp(above, directory) != 0; level++) {
        specs_place(d, above, "specs");
        memcpy(directory, above, sizeof(directory));
    }
    static const char *const configured[] = {"/usr/lib/gcc", "/usr/libexec/gcc", "/usr/local/lib/gcc"};
    for (size_t i = 0; i < sizeof(configured) / sizeof(*configured); i++) {
        specs_place(d, configured[i], below);
        char *version = strchr(below, '/');
        if (version == NULL) return SLW_OK;
        char machine[SLWI_TOOL_PATH_MAX];
        const int size = snprintf(machine, sizeof(machine), "%.*s/specs", (int)(version - below), below);
        if (size > 0 && (size_t)size < sizeof(machine)) specs_place(d, configured[i], machine);
    }
    return SLW_OK;
}

static slw_code finish_gcc(discovery *d) {
    absent_before(d, d->own, d->compiler);
    return absent_specs(d);
}

static slw_code finish_gcc_link(discovery *d) {
    absent_before(d, slwi_tool_base_name(d->linker), d->linker);
    /* collect2 looks for these before it looks for ld. */
    for (size_t i = 0; i < d->programs.count; i++) {
        absent(d, d->programs.items[i], "real-ld");
        absent(d, d->programs.items[i], "collect-ld");
    }
    slw_code rc = ask_program(d, "as");
    return rc == SLW_OK ? ask_program(d, "ld") : rc;
}

/* T is the triple, B the driver's name: the configuration files that would be read. */
static slw_code finish_clang(discovery *d) {
    char name[SLWI_TOOL_PATH_MAX];
    const char *triple = slwi_tool_answer_triple(d->answer);
    const char *base = slwi_tool_base_name(d->toolchain->driver);
    char own[SLWI_TOOL_PATH_MAX];
    if (slwi_tool_directory(own, d->toolchain->driver)) slwi_tool_list_add_once(&d->configs, own);
    if (strlen(triple) + strlen(base) + 16 > sizeof(name)) return unknown(d, "names are too long");
    static const char *const patterns[] = {"T-clang.cfg", "T-B.cfg", "T.cfg", "clang.cfg", "B.cfg"};
    for (size_t p = 0; p < sizeof(patterns) / sizeof(*patterns); p++) {
        size_t size = 0;
        for (const char *at = patterns[p]; *at != '\0'; at++) {
            const char *part = *at == 'T' ? triple : *at == 'B' ? base : NULL;
            size_t length = part != NULL ? strlen(part) : 1;
            memcpy(name + size, part != NULL ? part : at, length);
            size += length;
        }
        name[size] = '\0';
        for (size_t i = 0; i < d->configs.count; i++) absent(d, d->configs.items[i], name);
    }
    return SLW_OK;
}

/* clang prefers a linker of its target's own. */
static slw_code finish_clang_link(discovery *d) {
    char name[SLWI_TOOL_PATH_MAX];
    const char *linker = slwi_tool_base_name(d->linker);
    const char *triple = slwi_tool_answer_triple(d->answer);
    absent_before(d, linker, d->linker);
    const int size = snprintf(name, sizeof(name), "%s-%s", triple, linker);
    if (size < 0 || (size_t)size >= sizeof(name)) return unknown(d, "names are too long");
    absent_before(d, name, d->linker);
    return SLW_OK;
}

/* With `links`, how it links is asked as well. */
static slw_code discover(const slwi_host_toolchain *toolchain, const char *language, const char *own, int links,
                         slw_cancel *cancel, slwi_tool_answer *answer, slw_error *err) {
    discovery d;
    memset(&d, 0, sizeof(d));
    d.toolchain = toolchain;
    d.answer = answer;
    d.language = language;
    d.own = own;
    d.err = err;
    slwi_tool_probe_init(&d.probe, &toolchain->allocator);
    d.probe.program = toolchain->driver;
    d.probe.path = toolchain->path;
    d.probe.cancel = cancel;
    d.probe.answer = answer;
    d.probe.err = err;
    slwi_tool_list_init(&d.programs, &toolchain->allocator);
    slwi_tool_list_init(&d.libraries, &toolchain->allocator);
    slwi_tool_list_init(&d.configs, &toolchain->allocator);
    slw_code rc = ask_preprocessor(&d);
    const int is_gcc = answer->family == SLWI_TOOL_GCC;
    if (rc == SLW_OK && links) rc = ask_link(&d);
    if (rc == SLW_OK) rc = ask_directories(&d);
    if (rc == SLW_OK && links) rc = is_gcc ? finish_gcc_link(&d) : finish_clang_link(&d);
    if (rc == SLW_OK && is_gcc) rc = finish_gcc(&d);
    if (rc == SLW_OK && !is_gcc) rc = finish_clang(&d);
    if (rc == SLW_OK) rc = slwi_tool_answer_status(answer, err);
    slwi_tool_probe_free(&d.probe);
    slwi_tool_list_free(&d.programs);
    slwi_tool_list_free(&d.libraries);
    slwi_tool_list_free(&d.configs);
    return rc;
}

slw_code slwi_host_discover(const slwi_host_toolchain *toolchain, slw_cancel *cancel, slwi_tool_answer *answer,
                            slw_error *err) {
    return discover(toolchain, "c", "cc1", 1, cancel, answer, err);
}

slw_code slwi_host_discover_cxx(const slwi_host_toolchain *toolchain, slw_cancel *cancel, slwi_tool_answer *answer,
                                slw_error *err) {
    return discover(toolchain, "c++", "cc1plus", 0, cancel, answer, err);
}
