/* nvcc.profile: "NAME = value" lines that nvcc writes into its variables and command lines. An allow-list, as of the
 * request's options: directories may be named there, for those are asked for and proved; nothing else may. */
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "file.h"
#include "memory.h"
#include "nvcc_toolchain.h"

#define PROFILE_BYTES_MAX 65536u
#define BLANKS            " \t"

/* Words of a command line: roots of a search. */
static const char *const searches[] = {"INCLUDES", "SYSTEM_INCLUDES", "LIBRARIES", NULL};
/* Directories and lists of them, which nvcc tells under these names when it is asked what it would do. */
static const char *const directories[] = {"TOP", "CICC_PATH", "NVVMIR_LIBRARY_DIR", "LD_LIBRARY_PATH", "PATH", NULL};
/* Words for tools: none is known to be needed. */
static const char *const empty[] = {"CUDAFE_FLAGS", "PTXAS_FLAGS", "OPENCC_FLAGS", NULL};

static int has(const char *const *names, const char *name, size_t size) {
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strlen(names[i]) == size && memcmp(names[i], name, size) == 0) return 1;
    }
    return 0;
}

/* A path from the root, or from a directory that nvcc knows. */
static int is_place(const char *text, size_t size) {
    return size > 1 && (text[0] == '/' || (text[0] == '$' && text[1] == '('));
}

/* The next word without its double quotes, which stand around whole words only. */
static int next_word(const char **at, const char **word, size_t *size) {
    *at += strspn(*at, BLANKS);
    if (**at == '\0') return 0;
    const int is_quoted = **at == '"';
    *word = *at + is_quoted;
    *size = strcspn(*word, is_quoted ? "\"" : BLANKS "\"");
    *at = *word + *size;
    if (is_quoted && **at == '"') (*at)++;
    return 1;
}

/* "-IDIRECTORY", "-LDIRECTORY", "-isystem DIRECTORY", and nvcc's own name for a blank. */
static int are_searches(const char *value) {
    static const char space[] = "$(_SPACE_)";
    const char *word;
    size_t size;
    while (next_word(&value, &word, &size)) {
        if (size == sizeof(space) - 1 && memcmp(word, space, size) == 0) continue;
        if (size > 2 && (memcmp(word, "-I", 2) == 0 || memcmp(word, "-L", 2) == 0)) {
            if (!is_place(word + 2, size - 2)) return 0;
        } else if (size != 8 || memcmp(word, "-isystem", 8) != 0 || !next_word(&value, &word, &size) ||
                   !is_place(word, size)) {
            return 0;
        }
    }
    return 1;
}

/* nvcc puts in "$(NAME)"; any other dollar would be the shell's. */
static int are_variables(const char *value) {
    for (; (value = strchr(value, '$')) != NULL; value++) {
        if (value[1] != '(') return 0;
        const size_t size = strspn(value + 2, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        if (size == 0 || value[2 + size] != ')') return 0;
    }
    return 1;
}

/* One line, without its end and what is blank before that. */
static int is_allowed(const char *line) {
    const char *name = line + strspn(line, BLANKS);
    if (*name == '\0' || *name == '#') return 1;
    const size_t size = strcspn(name, BLANKS "=+?");
    const char *value = name + size + strspn(name + size, BLANKS);
    const size_t sign = strspn(value, "=+?");
    if (sign == 0 || sign > 2 || memchr(value, '=', sign) == NULL) return 0;
    value += sign;
    value += strspn(value, BLANKS);
    /* What begins a response file or a specs file, and what a shell reads, is in no value, whatever it is for. */
    if (strpbrk(value, "@%`;|&<>*?'\\") != NULL || !are_variables(value)) return 0;
    if (has(empty, name, size)) return *value == '\0';
    if (has(directories, name, size)) return strpbrk(value, BLANKS "\"") == NULL;
    return has(searches, name, size) && are_searches(value);
}

static int is_plain(const char *line) {
    for (; *line != '\0'; line++) {
        if ((unsigned char)*line < ' ' && *line != '\t') return 0;
    }
    return 1;
}

static void judge(char *text, const char *path, char *why, size_t size) {
    for (char *line = text; line != NULL && why[0] == '\0';) {
        char *end = strchr(line, '\n');
        char *last = end != NULL ? end : line + strlen(line);
        while (last > line && (last[-1] == ' ' || last[-1] == '\t')) last--;
        *last = '\0';
        if (!is_plain(line)) {
            (void)snprintf(why, size, "%.200s has control characters", path);
        } else if (!is_allowed(line)) {
            (void)snprintf(why, size, "%.200s says what may reach outside the key: %.200s", path, line);
        }
        line = end != NULL ? end + 1 : NULL;
    }
}

slw_code slwi_nvcc_profile_reason(const char *path, const slw_allocator *allocator, char *why, size_t size,
                                  slw_error *err) {
    slw_error local = SLW_ERROR_INIT;
    slwi_buffer text;
    why[0] = '\0';
    slwi_buffer_init(&text, allocator, PROFILE_BYTES_MAX);
    slw_code rc = slwi_read_file(path, &text, &local);
    if (rc == SLW_OK) {
        slwi_buffer_append_char(&text, '\0');
        rc = slwi_buffer_status(&text, &local);
    }
    if (rc == SLW_OK && strlen(text.data) + 1 != text.size) {
        (void)snprintf(why, size, "%.200s is no text", path);
    } else if (rc == SLW_OK) {
        judge(text.data, path, why, size);
    } else if (rc != SLW_E_NO_MEMORY) {
        (void)snprintf(why, size, "%.200s: %.200s", path, local.message);
    }
    slwi_buffer_free(&text);
    return rc == SLW_E_NO_MEMORY ? slwi_fail_memory(err, PROFILE_BYTES_MAX) : SLW_OK;
}
