#include "tool_source.h"

#include <string.h>

static const char *find(const char *at, const char *end, const char *word) {
    size_t size = strlen(word);
    while ((size_t)(end - at) >= size) {
        const char *hit = memchr(at, word[0], (size_t)(end - at) - size + 1);
        if (hit == NULL) return NULL;
        if (memcmp(hit, word, size) == 0) return hit;
        at = hit + 1;
    }
    return NULL;
}

static const char *skip_space(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    return at;
}

/* The assembler's .incbin reads a file that no dependency list of the compiler names, and a question whether an
   absolute path exists leaves no trace at all. Found by word: a source that hides them fools only its own author. */
const char *slwi_tool_source_reason(slw_bytes text) {
    const char *at = text.data;
    const char *end = at + text.size;
    if (text.size == 0) return NULL;
    if (find(at, end, "incbin") != NULL) return "SOURCE .incbin";
    while ((at = find(at, end, "__has_include")) != NULL) {
        at += strlen("__has_include");
        const char *next = skip_space(at, end);
        if (next == end || *next != '(') continue;
        next = skip_space(next + 1, end);
        if (end - next >= 2 && (next[0] == '"' || next[0] == '<') && next[1] == '/') {
            return "SOURCE __has_include of an absolute path";
        }
    }
    return NULL;
}
