#include "tool_depfile.h"

#include <string.h>

#include "os.h"

/* ---- the list ---- */

static int is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* A backslash at the end of a line. */
static int is_continuation(const char *at, const char *end) {
    if (*at != '\\' || end - at < 2) return 0;
    return at[1] == '\n' || (at[1] == '\r' && end - at >= 3 && at[2] == '\n');
}

/* Continuations and blanks before the next word. A bare end of line ends a rule: *rule_ends. */
static const char *skip_blanks(const char *at, const char *end, int *rule_ends) {
    while (at < end) {
        if (*at == '\n') *rule_ends = 1;
        if (is_blank(*at)) {
            at++;
        } else if (is_continuation(at, end)) {
            at += at[1] == '\n' ? 2 : 3;
        } else {
            break;
        }
    }
    return at;
}

/* One word, unescaped as gcc and clang escape: before a blank, 2n+1 backslashes are n and the blank; "\#" and "\:" lose
   theirs; any other backslash is itself. */
static const char *read_word(const char *at, const char *end, char *word, size_t *size) {
    *size = 0;
    while (at < end && !is_blank(*at)) {
        if (*size + 1 >= SLWI_TOOL_PATH_MAX) return NULL;
        size_t run = 0;
        while (at + run < end && at[run] == '\\') run++;
        if (run != 0 && at + run < end && (at[run] == ' ' || at[run] == '\t')) {
            if (*size + run >= SLWI_TOOL_PATH_MAX) return NULL;
            for (size_t i = 0; i < run / 2; i++) word[(*size)++] = '\\';
            at += run;
            if (run % 2 == 0) return at; /* the blank is a separator */
            word[(*size)++] = *at++;
        } else if (run == 1 && is_continuation(at, end)) {
            return at;
        } else if (*at == '\\' && end - at >= 2 && (at[1] == '#' || at[1] == ':')) {
            word[(*size)++] = at[1];
            at += 2;
        } else {
            if (*at == '$' && end - at >= 2 && at[1] == '$') at++;
            word[(*size)++] = *at++;
        }
    }
    return at;
}

int slwi_tool_depfile_parse(slw_bytes text, slwi_tool_list *out) {
    const char *at = text.data;
    const char *end = at + text.size;
    char word[SLWI_TOOL_PATH_MAX];
    int in_rule = 0;
    if (text.size == 0 || memchr(text.data, 0, text.size) != NULL) return 0;
    for (;;) {
        int rule_ends = 0;
        size_t size;
        at = skip_blanks(at, end, &rule_ends);
        if (rule_ends) in_rule = 0;
        if (at == end) return out->count != 0 && !out->failed;
        at = read_word(at, end, word, &size);
        if (at == NULL) return 0;
        if (!in_rule) {
            /* Targets up to the one that ends with a colon. -MP makes targets of headers; they are listed above as
               well. */
            if (size != 0 && word[size - 1] == ':') in_rule = 1;
            continue;
        }
        slwi_tool_list_add_bytes(out, word, size);
    }
}

/* ---- inside? ---- */

static int ends_with(const char *text, size_t size, const char *end) {
    size_t tail = strlen(end);
    return size >= tail && memcmp(text + size - tail, end, tail) == 0;
}

int slwi_tool_tree_has(const char *rest) {
    while (*rest != '\0') {
        size_t size = strcspn(rest, "/");
        if (size == 2 && memcmp(rest, "..", 2) == 0) return 0;
        if (size == 4 && memcmp(rest, ".git", 4) == 0) return 0;
        if (size == 11 && memcmp(rest, "__pycache__", 11) == 0) return 0;
        if (ends_with(rest, size, ".pyc") || ends_with(rest, size, ".pyo")) return 0;
        rest += size;
        while (*rest == '/') rest++;
    }
    return 1;
}

/* By text as given first, for a link inside a tree is followed there; then by what both really are. */
static int below(const char *path, const char *root) {
    const slwi_os *os = slwi_os_get();
    const char *rest;
    char real_path[SLWI_TOOL_PATH_MAX];
    char real_root[SLWI_TOOL_PATH_MAX];
    char plain[SLWI_TOOL_PATH_MAX];
    size_t size = strlen(root);
    if (size < sizeof(plain)) {
        memcpy(plain, root, size + 1);
        while (size > 1 && plain[size - 1] == '/') plain[--size] = '\0';
        if (slwi_tool_below(path, plain, &rest) && rest[0] != '\0' && slwi_tool_tree_has(rest)) return 1;
    }
    if (os->realpath(os, path, real_path) < 0 || os->realpath(os, root, real_root) < 0) return 0;
    return slwi_tool_below(real_path, real_root, &rest) && rest[0] != '\0' && slwi_tool_tree_has(rest);
}

int slwi_tool_dependency_inside(const char *dependency, const char *directory, const slwi_tool_list *roots,
                                const slwi_tool_list *own) {
    char path[SLWI_TOOL_PATH_MAX];
    char absolute[SLWI_TOOL_PATH_MAX];
    if (dependency[0] != '/') {
        if (!slwi_tool_normalize(path, dependency)) {
            /* It climbs out of the build directory. */
            path[0] = '\0';
        } else if (slwi_tool_list_has(own, path)) {
            return 1;
        }
    }
    if (!slwi_tool_join(absolute, directory, dependency)) return 0;
    for (size_t i = 0; i < roots->count; i++) {
        if (below(absolute, roots->items[i])) return 1;
    }
    return 0;
}
