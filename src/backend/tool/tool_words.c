#include "tool_words.h"

#include <string.h>

/* What stands around the name of a file: "k.c:3", "k.cu(3)", "ptxas k.ptx, line 3", in the compilation of "k.cu". */
static int begins_name(char before) {
    return before == '\n' || before == ' ' || before == '"';
}

static int ends_name(char c) {
    return c == ':' || c == '(' || c == ',' || c == '"';
}

void slwi_tool_words_rename(slw_bytes words, const char *file, const char *name, slwi_buffer *out) {
    const size_t size = strlen(file);
    const char *at = words.data;
    const char *end = at + words.size;
    const char *from = at;
    for (; (size_t)(end - at) > size; at++) {
        int starts = at == (const char *)words.data || begins_name(at[-1]);
        if (!starts || memcmp(at, file, size) != 0 || !ends_name(at[size])) continue;
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

/* A number that ends right before *end, with `mark` before it: *end moves to that mark. */
static int number_before(const char *start, const char **end, char mark, uint32_t *out) {
    const char *at = *end;
    uint64_t value = 0;
    uint64_t scale = 1;
    while (at > start && at[-1] >= '0' && at[-1] <= '9' && *end - at < 9) {
        at--;
        value += (uint64_t)(*at - '0') * scale;
        scale *= 10;
    }
    if (at == *end || at == start || at[-1] != mark) return 0;
    *out = (uint32_t)value;
    *end = at - 1;
    return 1;
}

/* gcc, clang: "k.c:3:7: error: …" */
static int place_of_gcc(slw_bytes line, slwi_tool_place *out) {
    static const char *const marks[] = {": error: ", ": fatal error: "};
    for (size_t i = 0; i < 2; i++) {
        const char *end = find(line, marks[i]);
        const char *start = line.data;
        uint32_t last;
        uint32_t before;
        if (end == NULL || !number_before(start, &end, ':', &last)) continue;
        out->line = last;
        out->column = 0;
        if (number_before(start, &end, ':', &before)) {
            out->line = before;
            out->column = last;
        }
        out->file = (slw_bytes){start, (size_t)(end - start)};
        return 1;
    }
    return 0;
}

/* nvcc and what it is made of: "k.cu(3): error: …", "k.cu(3): error #20: …", "k.cu(3): catastrophic error: …" */
static int place_of_nvcc(slw_bytes line, slwi_tool_place *out) {
    static const char *const marks[] = {"): error: ", "): error #", "): catastrophic error: ", "): internal error: "};
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
        const char *end = find(line, marks[i]);
        const char *start = line.data;
        if (end == NULL || !number_before(start, &end, '(', &out->line)) continue;
        out->column = 0;
        out->file = (slw_bytes){start, (size_t)(end - start)};
        return 1;
    }
    return 0;
}

/* "ptxas k.ptx, line 3; error   : …"; fatal and warning are filled with blanks to the same width. */
static int place_of_ptxas(slw_bytes line, slwi_tool_place *out) {
    static const char tool[] = "ptxas ";
    static const char between[] = ", line ";
    const char *start = (const char *)line.data + (sizeof(tool) - 1);
    if (line.size < sizeof(tool) || memcmp(line.data, tool, sizeof(tool) - 1) != 0) return 0;
    const char *end = find(line, "; error   : ");
    if (end == NULL) end = find(line, "; fatal   : ");
    const char *name_end = find(line, between);
    if (end == NULL || name_end == NULL || name_end <= start || !number_before(start, &end, ' ', &out->line)) return 0;
    if (end + 1 != name_end + sizeof(between) - 1) return 0;
    out->column = 0;
    out->file = (slw_bytes){start, (size_t)(name_end - start)};
    return 1;
}

static int place_of(slw_bytes line, slwi_tool_place *out) {
    if (!place_of_gcc(line, out) && !place_of_nvcc(line, out) && !place_of_ptxas(line, out)) return 0;
    out->message = line;
    return 1;
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
    out->line = 0; /* a line that only looked like a place */
    return out->message.size != 0;
}
