#include "tool_words.h"

#include <string.h>

void slwi_tool_words_rename(slw_bytes words, const char *file, const char *name, slwi_buffer *out) {
    const size_t size = strlen(file);
    const char *at = words.data;
    const char *end = at + words.size;
    const char *from = at;
    for (; (size_t)(end - at) > size; at++) {
        int starts = at == (const char *)words.data || at[-1] == '\n' || at[-1] == ' ';
        if (!starts || memcmp(at, file, size) != 0 || (at[size] != ':' && at[size] != '(')) continue;
        slwi_buffer_append(out, from, (size_t)(at - from));
        slwi_buffer_append_text(out, name);
        from = at + size;
        at = from;
    }
    slwi_buffer_append(out, from, (size_t)(end - from));
}

static const char *find(slw_bytes line, const char *word) {
    size_t size = strlen(word);
    const char *at = line.data;
    const char *end = at + line.size;
    for (; (size_t)(end - at) >= size; at++) {
        if (memcmp(at, word, size) == 0) return at;
    }
    return NULL;
}

/* A number that ends right before *end, with a colon before it: *end moves to that colon. */
static int number_before(const char *start, const char **end, uint32_t *out) {
    const char *at = *end;
    uint64_t value = 0;
    uint64_t scale = 1;
    while (at > start && at[-1] >= '0' && at[-1] <= '9' && *end - at < 9) {
        at--;
        value += (uint64_t)(*at - '0') * scale;
        scale *= 10;
    }
    if (at == *end || at == start || at[-1] != ':') return 0;
    *out = (uint32_t)value;
    *end = at - 1;
    return 1;
}

static int place_of(slw_bytes line, slwi_tool_place *out) {
    static const char *const marks[] = {": error: ", ": fatal error: "};
    for (size_t i = 0; i < 2; i++) {
        const char *end = find(line, marks[i]);
        const char *start = line.data;
        uint32_t last;
        uint32_t before;
        if (end == NULL || !number_before(start, &end, &last)) continue;
        out->message = line;
        out->line = last;
        out->column = 0;
        if (number_before(start, &end, &before)) {
            out->line = before;
            out->column = last;
        }
        out->file.data = start;
        out->file.size = (size_t)(end - start);
        return 1;
    }
    return 0;
}

int slwi_tool_words_place(slw_bytes words, slwi_tool_place *out) {
    const char *at = words.data;
    const char *end = at + words.size;
    slw_bytes first = {"", 0};
    slw_bytes suspect = {"", 0};
    memset(out, 0, sizeof(*out));
    out->file.data = "";
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) stop = end;
        slw_bytes line = {at, (size_t)(stop - at)};
        if (place_of(line, out)) return 1;
        if (first.size == 0) first = line;
        if (suspect.size == 0 && (find(line, "error") != NULL || find(line, "undefined reference") != NULL))
            suspect = line;
        at = stop < end ? stop + 1 : end;
    }
    out->message = suspect.size != 0 ? suspect : first;
    return out->message.size != 0;
}
