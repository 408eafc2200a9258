#include "entry_document_scan.h"

#include <string.h>

/* Behind the string that begins at `at`; the size of the text where it does not end. */
static size_t skip_string(const char *text, size_t size, size_t at) {
    for (at++; at < size; at++) {
        if (text[at] == '\\')
            at++;
        else if (text[at] == '"')
            return at + 1;
    }
    return size;
}

/* Behind the value that begins at `at`; the size of the text where it does not end. */
static size_t skip_value(const char *text, size_t size, size_t at) {
    size_t depth = 0;
    while (at < size) {
        const char c = text[at];
        if (c == '"') {
            at = skip_string(text, size, at);
            if (depth == 0) return at;
            continue;
        }
        if (c == '{' || c == '[') depth++;
        if (depth == 0 && (c == ',' || c == '}' || c == ']')) return at; /* behind a number or a word */
        at++;
        if ((c == '}' || c == ']') && --depth == 0) return at;
    }
    return size;
}

static int is_named(const char *key, size_t size, const char *name) {
    return size == strlen(name) && memcmp(key, name, size) == 0;
}

/* Names as the writer has them: plain, and rising. */
static int rises(const char *last, size_t last_size, const char *key, size_t size) {
    if (last == NULL) return 1;
    const size_t common = last_size < size ? last_size : size;
    const int order = memcmp(last, key, common);
    return order < 0 || (order == 0 && last_size < size);
}

int slwi_entry_document_shorten(slw_bytes text, slwi_buffer *out) {
    const char *all = text.data, *last = NULL;
    const size_t size = text.size;
    size_t at = 1, last_size = 0, kept = 0;
    if (size < 2 || all[0] != '{') return 0;
    slwi_buffer_append_char(out, '{');
    while (at < size && all[at] == '"') {
        const size_t begin = at, key_end = skip_string(all, size, at);
        if (key_end >= size || all[key_end] != ':') return 0;
        const char *key = all + begin + 1;
        const size_t key_size = key_end - begin - 2;
        if (memchr(key, '\\', key_size) != NULL || !rises(last, last_size, key, key_size)) return 0;
        last = key;
        last_size = key_size;
        at = skip_value(all, size, key_end + 1);
        if (at == size || at == key_end + 1) return 0;
        if (!is_named(key, key_size, "inputs") && !is_named(key, key_size, "toolchain")) {
            if (kept++ > 0) slwi_buffer_append_char(out, ',');
            slwi_buffer_append(out, all + begin, at - begin);
        }
        if (all[at] != ',') break;
        if (++at == size || all[at] != '"') return 0;
    }
    slwi_buffer_append_char(out, '}');
    return at + 1 == size && all[at] == '}' && out->failed == 0;
}
