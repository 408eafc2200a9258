/* Looked for by word, in passes over the text: a source that spells a word in pieces fools only its own author. Words
   in comments and in parts that are not compiled count as well, and the reason names them. */
#include "tool_source.h"

#include <string.h>

#include "tool_depfile.h"

#define NAME_MAX_BYTES 1024u

typedef struct span {
    const char *start, *end; /* of the text */
} span;

/* ---- words ---- */

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

static int is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static const char *skip_space(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    return at;
}

/* The end of what comes before `at` on its line. */
static const char *skip_space_back(const char *at, const char *start) {
    while (at > start && (at[-1] == ' ' || at[-1] == '\t')) at--;
    return at;
}

/* The start of `word` where it ends at `at`; NULL where something else does. */
static const char *word_before(const char *at, const char *start, const char *word) {
    const size_t size = strlen(word);
    if ((size_t)(at - start) < size || memcmp(at - size, word, size) != 0) return NULL;
    return (size_t)(at - start) > size && is_name_char(at[-(ptrdiff_t)size - 1]) ? NULL : at - size;
}

/* 1 for "#word" that ends at `at`. */
static int is_directive_before(const char *at, const char *start, const char *word) {
    const char *from = word_before(at, start, word);
    if (from == NULL) return 0;
    from = skip_space_back(from, start);
    return from > start && from[-1] == '#';
}

/* ---- the assembler's ---- */

static int has_lower(const char *at, const char *end, const char *word) {
    for (; *word != '\0'; at++, word++) {
        if (at == end || ((*at >= 'A' && *at <= 'Z') ? *at + ('a' - 'A') : *at) != *word) return 0;
    }
    return 1;
}

/* 1 for "." that starts the assembler's word, in any case as it takes it, and not a member of that name. */
static int is_assembler_word(const span *text, const char *dot, const char *word) {
    const char *next = dot + 1 + strlen(word);
    if (!has_lower(dot + 1, text->end, word)) return 0;
    if (next < text->end && is_name_char(*next)) return 0;
    next = skip_space(next, text->end);
    if (next == text->end || strchr("\"'\\\n\r/%", *next) != NULL) return 1;
    return *next != '=' && (dot == text->start || (!is_name_char(dot[-1]) && dot[-1] != ')' && dot[-1] != ']'));
}

static const char *assembler_reason(const span *text) {
    if (find(text->start, text->end, "incbin") != NULL) return "SOURCE .incbin";
    const char *at = text->start;
    while (at < text->end && (at = memchr(at, '.', (size_t)(text->end - at))) != NULL) {
        if (is_assembler_word(text, at, "incbin")) return "SOURCE .incbin";
        if (is_assembler_word(text, at, "include")) return "SOURCE .include of the assembler";
        at++;
    }
    return NULL;
}

/* ---- questions ---- */

/* 1 for "x" or <x> whose answer the trees of the key hold, wherever it is looked for. */
static int is_tame(const char *at, const char *end) {
    char name[NAME_MAX_BYTES];
    if (at == end || (*at != '"' && *at != '<')) return 0; /* a macro */
    const char close = *at == '"' ? '"' : '>';
    size_t size = 0;
    for (at++; at < end && *at != close; at++) {
        if (size + 1 >= sizeof(name) || *at == '\n' || *at == '\r' || *at == '\\' || *at == '\0') return 0;
        name[size++] = *at;
    }
    name[size] = '\0';
    return at < end && name[0] != '/' && strstr(name, "..") == NULL && slwi_tool_tree_has(name);
}

/* Asking whether the compiler knows the word, and defining it where it does not, asks for no file. */
static int is_about_word(const span *text, const char *at) {
    static const char *const directives[] = {"ifdef", "ifndef", "elifdef", "elifndef", "define", "undef"};
    at = skip_space_back(at, text->start);
    for (size_t i = 0; i < sizeof(directives) / sizeof(*directives); i++) {
        if (is_directive_before(at, text->start, directives[i])) return 1;
    }
    if (at > text->start && at[-1] == '(') at = skip_space_back(at - 1, text->start);
    return word_before(at, text->start, "defined") != NULL;
}

static int asks(const span *text, const char *word) {
    const char *at = text->start;
    while ((at = find(at, text->end, word)) != NULL) {
        const char *next = at + strlen(word);
        if (text->end - next >= 5 && memcmp(next, "_next", 5) == 0) next += 5;
        const int is_tail = next < text->end && is_name_char(*next);
        next = skip_space(next, text->end);
        const int is_call = !is_tail && next < text->end && *next == '(';
        if (!is_about_word(text, at) && !(is_call && is_tame(skip_space(next + 1, text->end), text->end))) return 1;
        at = next;
    }
    return 0;
}

/* A file that one of these takes in is seen in the dependencies; one that would have come first is not. */
static int takes(const span *text, const char *word) {
    const char *at = text->start;
    while ((at = find(at, text->end, word)) != NULL) {
        const char *next = at + strlen(word);
        if ((next == text->end || !is_name_char(*next)) && is_directive_before(next, text->start, word) &&
            !is_tame(skip_space(next, text->end), text->end))
            return 1;
        at = next;
    }
    return 0;
}

/* ---- together ---- */

const char *slwi_tool_source_reason(slw_bytes bytes) {
    if (bytes.size == 0) return NULL;
    const span text = {bytes.data, (const char *)bytes.data + bytes.size};
    const char *why = assembler_reason(&text);
    if (why != NULL) return why;
    if (asks(&text, "__has_include")) return "SOURCE __has_include of what is not in the key";
    if (asks(&text, "__has_embed")) return "SOURCE __has_embed of what is not in the key";
    if (takes(&text, "include_next")) return "SOURCE #include_next by a path";
    return takes(&text, "embed") ? "SOURCE #embed by a path" : NULL;
}

const char *slwi_tool_header_reason(slw_bytes bytes) {
    const char *why = slwi_tool_source_reason(bytes);
    if (why != NULL || bytes.size == 0) return why;
    const char *end = (const char *)bytes.data + bytes.size;
    return find(bytes.data, end, "__TIMESTAMP__") != NULL ? "SOURCE __TIMESTAMP__" : NULL;
}
