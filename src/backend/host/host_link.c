/* What the linker will open. The search is done anew for every identity: it costs a few stats, and a library that
 * comes to lie earlier in the search order changes the link without changing a single file that was there before. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "file.h"
#include "host_toolchain.h"
#include "memory.h"
#include "os.h"

#define SCRIPT_BYTES_MAX 65536u
#define SCRIPT_DEPTH_MAX 8u
#define INPUTS_MAX       4096u

typedef struct finder {
    const slwi_tool_answer *answer;
    slwi_host_link_inputs *inputs;
    const slw_allocator *allocator;
    slw_error *err;
    unsigned depth;
} finder;

static slw_code take_file(finder *f, const char *path);

/* The first thing that is not understood stays; the identity is then not proved, which is no failure of the call. */
SLW_PRINTF(2, 3) static slw_code give_up(finder *f, const char *format, ...) {
    if (f->inputs->why[0] != '\0') return SLW_OK;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(f->inputs->why, sizeof(f->inputs->why), format, arguments);
    va_end(arguments);
    return SLW_OK;
}

static int exists(const char *path) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    return os->fstatat(os, AT_FDCWD, path, 1, &stat) >= 0 && S_ISREG(stat.mode);
}

/* -lNAME: in each directory the shared library, then the archive; the first directory that has either. */
static slw_code take_library(finder *f, const char *name) {
    const slwi_tool_list *directories = &f->answer->facts[SLWI_TOOL_FACT_DIRECTORY];
    static const char *const ends[] = {".so", ".a"};
    char file[300];
    char path[SLWI_TOOL_PATH_MAX];
    if (strlen(name) > 255 || strchr(name, '/') != NULL || name[0] == ':') {
        return give_up(f, "the library \"%.100s\" is named in a way that is not followed", name);
    }
    for (size_t i = 0; i < directories->count; i++) {
        for (size_t e = 0; e < 2; e++) {
            (void)snprintf(file, sizeof(file), "lib%s%s", name, ends[e]);
            if (slwi_tool_join(path, directories->items[i], file) && exists(path)) return take_file(f, path);
        }
    }
    return give_up(f, "the library %s was not found", name);
}

/* ---- linker scripts ---- */

typedef struct script {
    const char *at;
    const char *end;
    const char *path;
    char word[SLWI_TOOL_PATH_MAX];
} script;

static int is_one_of(char c, const char *set) {
    return c != '\0' && strchr(set, c) != NULL;
}

static int skip_blank(script *s) {
    while (s->at < s->end) {
        if (is_one_of(*s->at, " \t\r\n,;")) {
            s->at++;
        } else if (s->end - s->at >= 2 && s->at[0] == '/' && s->at[1] == '*') {
            const char *close = s->at + 2;
            while (s->end - close >= 2 && !(close[0] == '*' && close[1] == '/')) close++;
            if (s->end - close < 2) return 0;
            s->at = close + 2;
        } else {
            return 1;
        }
    }
    return 1;
}

/* The next word, or "(" or ")": 1; 0 at the end; -1 for text that does not end or is too long. */
static int next_word(script *s) {
    if (!skip_blank(s)) return -1;
    if (s->at == s->end) return 0;
    size_t size = 0;
    if (*s->at == '(' || *s->at == ')') {
        s->word[size++] = *s->at++;
    } else if (*s->at == '"') {
        const char *close = memchr(s->at + 1, '"', (size_t)(s->end - s->at - 1));
        if (close == NULL || (size_t)(close - s->at) >= sizeof(s->word)) return -1;
        size = (size_t)(close - s->at - 1);
        memcpy(s->word, s->at + 1, size);
        s->at = close + 1;
    } else {
        while (s->at < s->end && !is_one_of(*s->at, " \t\r\n,;()\"")) {
            if (size + 1 >= sizeof(s->word)) return -1;
            s->word[size++] = *s->at++;
        }
    }
    s->word[size] = '\0';
    return size != 0 ? 1 : -1;
}

static int is_word(const script *s, const char *word) {
    return strcmp(s->word, word) == 0;
}

/* A name without a directory is looked for beside the script and in the -L directories; whichever the linker takes,
   every one that is there is an input. */
static slw_code take_relative(finder *f, const script *s) {
    const slwi_tool_list *directories = &f->answer->facts[SLWI_TOOL_FACT_DIRECTORY];
    char directory[SLWI_TOOL_PATH_MAX];
    char path[SLWI_TOOL_PATH_MAX];
    int found = 0;
    if (s->word[0] == '=' || s->word[0] == '$' || s->word[0] == '-') {
        return give_up(f, "the linker script %.120s names \"%.60s\", which is not followed", s->path, s->word);
    }
    slw_code rc = SLW_OK;
    if (slwi_tool_directory(directory, s->path) && slwi_tool_join(path, directory, s->word) && exists(path)) {
        found = 1;
        rc = take_file(f, path);
    }
    for (size_t i = 0; rc == SLW_OK && i < directories->count; i++) {
        if (!slwi_tool_join(path, directories->items[i], s->word) || !exists(path)) continue;
        found = 1;
        rc = take_file(f, path);
    }
    if (rc == SLW_OK && !found) return give_up(f, "%.100s, named by %.120s, was not found", s->word, s->path);
    return rc;
}

static slw_code take_named(finder *f, const script *s) {
    const slwi_tool_list *sysroot = &f->answer->facts[SLWI_TOOL_FACT_SYSROOT];
    char path[SLWI_TOOL_PATH_MAX];
    const char *rest;
    if (strncmp(s->word, "-l", 2) == 0) return take_library(f, s->word + 2);
    if (s->word[0] != '/') return take_relative(f, s);
    const char *named = s->word;
    /* A script inside the sysroot means paths inside it. */
    if (sysroot->count != 0 && slwi_tool_below(s->path, sysroot->items[0], &rest) &&
        strcmp(sysroot->items[0], "/") != 0) {
        if (!slwi_tool_join(path, sysroot->items[0], s->word + 1))
            return give_up(f, "a path in %.200s is too long", s->path);
        named = path;
    }
    if (!exists(named)) return give_up(f, "%.120s, named by %.120s, was not found", named, s->path);
    return take_file(f, named);
}

/* The list of INPUT, GROUP or AS_NEEDED, from its "(" to the matching ")". */
static slw_code take_list(finder *f, script *s, int *good) {
    unsigned level = 0;
    while (next_word(s) == 1) {
        slw_code rc = SLW_OK;
        if (is_word(s, "(")) {
            level++;
        } else if (is_word(s, ")")) {
            if (level == 0 || --level == 0) {
                *good = 1;
                return SLW_OK;
            }
        } else if (level == 0) {
            return SLW_OK; /* a word where "(" must be */
        } else if (!is_word(s, "AS_NEEDED")) {
            rc = take_named(f, s);
        }
        if (rc != SLW_OK || f->inputs->why[0] != '\0') {
            *good = 1;
            return rc;
        }
    }
    return SLW_OK;
}

/* OUTPUT_FORMAT ( … ): names of formats, not of files. */
static int skip_list(script *s) {
    if (next_word(s) != 1 || !is_word(s, "(")) return 0;
    while (next_word(s) == 1) {
        if (is_word(s, ")")) return 1;
        if (is_word(s, "(")) return 0;
    }
    return 0;
}

static slw_code take_script(finder *f, const char *path, slw_bytes text) {
    script *s = slwi_alloc(f->allocator, sizeof(*s));
    if (s == NULL) return slwi_fail_memory(f->err, sizeof(*s));
    s->at = text.data;
    s->end = s->at + text.size;
    s->path = path;
    slw_code rc = SLW_OK;
    int got = 0;
    while (rc == SLW_OK && f->inputs->why[0] == '\0' && (got = next_word(s)) == 1) {
        int good = 0;
        if (is_word(s, "INPUT") || is_word(s, "GROUP")) {
            rc = take_list(f, s, &good);
        } else if (is_word(s, "OUTPUT_FORMAT") || is_word(s, "OUTPUT_ARCH")) {
            good = skip_list(s);
        }
        if (rc == SLW_OK && !good) (void)give_up(f, "the linker script %.200s holds what is not followed", path);
    }
    if (rc == SLW_OK && got < 0) (void)give_up(f, "the linker script %.200s does not end", path);
    slwi_free(f->allocator, s);
    return rc;
}

/* ---- files ---- */

/* A file's first bytes say what it is; a script is read whole. */
static slw_code read_start(const char *path, slwi_buffer *out, int *is_script, int *is_shared) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    uint8_t start[20];
    *is_script = 0;
    *is_shared = 0;
    int fd = slwi_open_regular(os, AT_FDCWD, path, 1, &stat);
    if (fd < 0) return SLW_E_STORAGE;
    size_t size = stat.size < sizeof(start) ? (size_t)stat.size : sizeof(start);
    int status = slwi_pread_all(os, fd, start, size, 0);
    if (status >= 0 && size == sizeof(start) && memcmp(start, "\177ELF", 4) == 0) {
        *is_shared = start[16] == 3; /* ET_DYN, of either byte order here: the linker will say what fits */
    } else if (status >= 0 &&
               !(size >= 8 && (memcmp(start, "!<arch>\n", 8) == 0 || memcmp(start, "!<thin>\n", 8) == 0))) {
        *is_script = 1;
    }
    (void)os->close(os, fd);
    if (status < 0) return SLW_E_STORAGE;
    return *is_script ? slwi_read_file(path, out, NULL) : SLW_OK;
}

static slw_code take_file(finder *f, const char *path) {
    if (slwi_tool_list_has(&f->inputs->files, path) || slwi_tool_list_has(&f->inputs->shared, path)) return SLW_OK;
    if (f->depth >= SCRIPT_DEPTH_MAX || f->inputs->files.count + f->inputs->shared.count >= INPUTS_MAX) {
        return give_up(f, "linker scripts nest too deeply at %.200s", path);
    }
    slwi_buffer text;
    int is_script = 0;
    int is_shared = 0;
    slwi_buffer_init(&text, f->allocator, SCRIPT_BYTES_MAX);
    slw_code rc = read_start(path, &text, &is_script, &is_shared);
    if (rc != SLW_OK) {
        slwi_buffer_free(&text);
        return rc == SLW_E_NO_MEMORY ? slwi_fail_memory(f->err, SCRIPT_BYTES_MAX)
                                     : give_up(f, "the linker's input %.200s cannot be read", path);
    }
    slwi_tool_list_add(is_shared ? &f->inputs->shared : &f->inputs->files, path);
    rc = slwi_tool_list_status(is_shared ? &f->inputs->shared : &f->inputs->files, f->err);
    if (rc == SLW_OK && is_script) {
        f->depth++;
        rc = take_script(f, path, (slw_bytes){text.data != NULL ? text.data : "", text.size});
        f->depth--;
    }
    slwi_buffer_free(&text);
    return rc;
}

slw_code slwi_host_link_inputs_find(const slwi_tool_answer *answer, const slw_allocator *allocator,
                                    slwi_host_link_inputs *out, slw_error *err) {
    finder f = {answer, out, allocator, err, 0};
    memset(out, 0, sizeof(*out));
    slwi_tool_list_init(&out->files, allocator);
    slwi_tool_list_init(&out->shared, allocator);
    slw_code rc = SLW_OK;
    const slwi_tool_list *files = &answer->facts[SLWI_TOOL_FACT_FILE];
    const slwi_tool_list *libraries = &answer->facts[SLWI_TOOL_FACT_LIBRARY];
    for (size_t i = 0; rc == SLW_OK && i < files->count; i++) {
        slwi_tool_list_add_once(&out->files, files->items[i]);
        rc = slwi_tool_list_status(&out->files, err);
    }
    for (size_t i = 0; rc == SLW_OK && i < libraries->count; i++) rc = take_library(&f, libraries->items[i]);
    return rc;
}

void slwi_host_link_inputs_free(slwi_host_link_inputs *inputs) {
    slwi_tool_list_free(&inputs->files);
    slwi_tool_list_free(&inputs->shared);
}
