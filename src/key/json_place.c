#include "json_place.h"

#include <string.h>

#include "fail.h"

typedef struct scanner {
    const char *text;
    size_t size;
    size_t at;
} scanner;

static int peek(const scanner *s) {
    return s->at < s->size ? (unsigned char) s->text[s->at] : -1;
}

/* Past white space and the marks between values. */
static void skip_marks(scanner *s) {
    while (s->at < s->size && strchr(" \t\r\n,:", s->text[s->at]) != NULL && s->text[s->at] != 0) s->at++;
}

static void skip_string(scanner *s) {
    s->at++;
    while (s->at < s->size && s->text[s->at] != '"') s->at += s->text[s->at] == '\\' ? 2 : 1;
    s->at++;
}

/* Past one value: brackets are counted, so that depth costs nothing. */
static void skip_value(scanner *s) {
    size_t depth = 0;
    do {
        skip_marks(s);
        int c = peek(s);
        if (c < 0) return;
        if (c == '"') {
            skip_string(s);
        } else if (c == '{' || c == '[') {
            depth++;
            s->at++;
        } else if (c == '}' || c == ']') {
            if (depth == 0) return;
            depth--;
            s->at++;
        } else {
            while (s->at < s->size && strchr(" \t\r\n,:]}", s->text[s->at]) == NULL) s->at++;
        }
    } while (depth != 0);
}

/* From a value to its item or member `number`. */
static void enter(scanner *s, size_t number) {
    int is_object = peek(s) == '{';
    if (!is_object && peek(s) != '[') return;
    s->at++;
    for (size_t i = 0;; i++) {
        skip_marks(s);
        if (is_object && peek(s) == '"') {
            skip_string(s);
            skip_marks(s);
        }
        if (i == number || peek(s) < 0) return;
        skip_value(s);
    }
}

void slwi_json_place(slw_bytes text, const size_t *path, size_t steps, slw_error *err) {
    scanner s = {text.data, text.size, 0};
    uint32_t line = 1;
    size_t line_start = 0;
    if (err == NULL) return;
    skip_marks(&s);
    for (size_t i = 0; i < steps; i++) enter(&s, path[i]);
    size_t offset = s.at < s.size ? s.at : s.size;
    for (size_t i = 0; i < offset; i++) {
        if (s.text[i] != '\n') continue;
        line++;
        line_start = i + 1;
    }
    slwi_error_place(err, line, (uint32_t) (offset - line_start + 1), offset);
}

size_t slwi_json_member_number(const slwi_json *object, slw_bytes name) {
    void *cursor = NULL;
    slw_bytes member;
    const slwi_json *value;
    for (size_t i = 0; slwi_json_member(object, &cursor, &member, &value); i++) {
        if (member.size != name.size) continue;
        if (name.size == 0 || memcmp(member.data, name.data, name.size) == 0) return i;
    }
    return 0;
}
