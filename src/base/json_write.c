/* JSON out: compact, ASCII only, one textual form for one value. Mistakes set the buffer's `failed`. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "text.h"

#define DEPTH_MAX 64u
#define KEY_KEPT 63u

static void fail(slwi_buffer *out, int code) {
    if (!out->failed) out->failed = code;
}

void slwi_json_begin(slwi_json_writer *writer, slwi_buffer *out, int sorted) {
    memset(writer, 0, sizeof *writer);
    writer->out = out;
    writer->sorted = sorted ? 1 : 0;
}

/* The comma before a value of an array, or nothing after a key. */
static void before_value(slwi_json_writer *writer) {
    if (writer->need_comma[writer->depth]) slwi_buffer_append_char(writer->out, ',');
    writer->need_comma[writer->depth] = 1;
}

static void open_level(slwi_json_writer *writer, char bracket) {
    before_value(writer);
    if (writer->depth + 1 >= DEPTH_MAX) {
        fail(writer->out, SLW_E_LIMIT);
        return;
    }
    slwi_buffer_append_char(writer->out, bracket);
    writer->depth++;
    writer->need_comma[writer->depth] = 0;
    writer->last_key[writer->depth][0] = '\0';
}

static void close_level(slwi_json_writer *writer, char bracket) {
    if (writer->depth == 0) {
        fail(writer->out, SLW_E_USAGE);
        return;
    }
    slwi_buffer_append_char(writer->out, bracket);
    writer->depth--;
}

void slwi_json_object_begin(slwi_json_writer *writer) {
    open_level(writer, '{');
}

void slwi_json_object_end(slwi_json_writer *writer) {
    close_level(writer, '}');
}

void slwi_json_array_begin(slwi_json_writer *writer) {
    open_level(writer, '[');
}

void slwi_json_array_end(slwi_json_writer *writer) {
    close_level(writer, ']');
}

static void check_order(slwi_json_writer *writer, const char *name) {
    char *last = writer->last_key[writer->depth];
    const int has_last = writer->need_comma[writer->depth];
    /* UTF-8 sorts by its bytes as its code points do. Of a longer key only the head is kept: two of the same head
       pass. */
    const int order = has_last ? strncmp(last, name, KEY_KEPT) : -1;
    const int cut = order == 0 && strlen(last) == KEY_KEPT;
    if (order > 0 || (order == 0 && !cut)) fail(writer->out, SLW_E_USAGE);
    (void)snprintf(last, KEY_KEPT + 1, "%s", name);
}

void slwi_json_key(slwi_json_writer *writer, const char *name) {
    if (writer->sorted) check_order(writer, name);
    if (writer->need_comma[writer->depth]) slwi_buffer_append_char(writer->out, ',');
    slwi_json_append_string(writer->out, (slw_bytes){name, strlen(name)});
    slwi_buffer_append_char(writer->out, ':');
    writer->need_comma[writer->depth] = 0; /* its value follows without one */
}

static void append_unit(slwi_buffer *out, uint32_t unit) {
    static const char digits[] = "0123456789abcdef";
    const char escape[6] = {'\\', 'u', digits[unit >> 12 & 15u], digits[unit >> 8 & 15u], digits[unit >> 4 & 15u],
                            digits[unit & 15u]};
    slwi_buffer_append(out, escape, sizeof escape);
}

static void append_escaped(slwi_buffer *out, uint32_t code_point) {
    switch (code_point) {
    case '"': slwi_buffer_append(out, "\\\"", 2); return;
    case '\\': slwi_buffer_append(out, "\\\\", 2); return;
    case '\b': slwi_buffer_append(out, "\\b", 2); return;
    case '\f': slwi_buffer_append(out, "\\f", 2); return;
    case '\n': slwi_buffer_append(out, "\\n", 2); return;
    case '\r': slwi_buffer_append(out, "\\r", 2); return;
    case '\t': slwi_buffer_append(out, "\\t", 2); return;
    default: break;
    }
    if (code_point < 0x10000) {
        append_unit(out, code_point);
        return;
    }
    append_unit(out, 0xD800u + ((code_point - 0x10000u) >> 10));
    append_unit(out, 0xDC00u + ((code_point - 0x10000u) & 0x3FFu));
}

static int is_plain(unsigned char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void slwi_json_append_string(slwi_buffer *out, slw_bytes wtf8) {
    const char *data = wtf8.data;
    size_t at = 0;
    slwi_buffer_append_char(out, '"');
    while (at < wtf8.size && !out->failed) {
        const size_t start = at;
        while (at < wtf8.size && is_plain((unsigned char)data[at])) at++;
        if (at > start) slwi_buffer_append(out, data + start, at - start);
        if (at == wtf8.size) break;
        uint32_t code_point = 0;
        if (slwi_wtf8_next(wtf8, &at, &code_point)) {
            append_escaped(out, code_point);
        } else {
            fail(out, SLW_E_USAGE);
        }
    }
    slwi_buffer_append_char(out, '"');
}

void slwi_json_put_string(slwi_json_writer *writer, slw_bytes wtf8) {
    before_value(writer);
    slwi_json_append_string(writer->out, wtf8);
}

void slwi_json_put_os(slwi_json_writer *writer, slw_bytes raw) {
    const char *data = raw.data;
    size_t at = 0;
    before_value(writer);
    slwi_buffer_append_char(writer->out, '"');
    while (at < raw.size && !writer->out->failed) {
        const size_t start = at;
        while (at < raw.size && is_plain((unsigned char)data[at])) at++;
        if (at > start) slwi_buffer_append(writer->out, data + start, at - start);
        if (at == raw.size) break;
        uint32_t code_point = 0;
        if (!slwi_utf8_next(raw, &at, &code_point)) code_point = 0xDC00u + (unsigned char)data[at++];
        append_escaped(writer->out, code_point);
    }
    slwi_buffer_append_char(writer->out, '"');
}

void slwi_json_put_text(slwi_json_writer *writer, const char *text) {
    if (text == NULL) {
        slwi_json_put_null(writer);
    } else {
        slwi_json_put_os(writer, (slw_bytes){text, strlen(text)});
    }
}

void slwi_json_put_u64(slwi_json_writer *writer, uint64_t value) {
    before_value(writer);
    slwi_buffer_append_u64(writer->out, value);
}

void slwi_json_put_i64(slwi_json_writer *writer, int64_t value) {
    before_value(writer);
    slwi_buffer_append_i64(writer->out, value);
}

/* The fewest digits that read back as the same bits. Printed and read under one locale, whatever its point is. */
static void shortest(double value, char out[40]) {
    /* To 15 digits %g drops what is not needed; not so for subnormals. */
    const int first = fabs(value) < DBL_MIN ? 1 : 15;
    for (int digits = first; digits <= 17; digits++) {
        (void)snprintf(out, 40, "%.*g", digits, value);
        if (strtod(out, NULL) == value) return; /* NOLINT: equality is what is asked */
    }
}

void slwi_json_put_double(slwi_json_writer *writer, double value) {
    if (isnan(value) || isinf(value)) {
        slwi_json_put_text(writer, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
        return;
    }
    char text[40];
    char clean[44];
    shortest(value, text);
    size_t used = 0;
    int marked = 0; /* a point or an exponent tells a double from an integer */
    for (const char *c = text; *c != '\0'; c++) {
        if ((*c >= '0' && *c <= '9') || *c == '-' || *c == '+' || *c == 'e') {
            marked |= *c == 'e';
            clean[used++] = *c;
        } else if (!marked) { /* the locale's point, however many bytes it has */
            clean[used++] = '.';
            marked = 1;
        }
    }
    if (!marked) {
        clean[used++] = '.';
        clean[used++] = '0';
    }
    before_value(writer);
    slwi_buffer_append(writer->out, clean, used);
}

void slwi_json_put_bool(slwi_json_writer *writer, int value) {
    before_value(writer);
    slwi_buffer_append_text(writer->out, value ? "true" : "false");
}

void slwi_json_put_null(slwi_json_writer *writer) {
    before_value(writer);
    slwi_buffer_append_text(writer->out, "null");
}

static void put_number(slwi_json_writer *writer, const slwi_json *node) {
    uint64_t whole = 0;
    int64_t negative = 0;
    double real = 0;
    if (slwi_json_u64(node, &whole)) {
        slwi_json_put_u64(writer, whole);
    } else if (slwi_json_i64(node, &negative)) {
        slwi_json_put_i64(writer, negative);
    } else if (slwi_json_double(node, &real)) {
        slwi_json_put_double(writer, real);
    }
}

static void put_leaf(slwi_json_writer *writer, const slwi_json *node) {
    slw_bytes text;
    int truth = 0;
    if (slwi_json_string(node, &text)) {
        slwi_json_put_string(writer, text);
    } else if (slwi_json_bool(node, &truth)) {
        slwi_json_put_bool(writer, truth);
    } else if (slwi_json_kind(node) == SLWI_JSON_NULL) {
        slwi_json_put_null(writer);
    } else {
        put_number(writer, node);
    }
}

/* Recursion ends at the writer's depth: opening a level past it fails, and nothing goes on after a failure. */
void slwi_json_put_node(slwi_json_writer *writer, const slwi_json *node) {
    const slwi_json_type kind = slwi_json_kind(node);
    if (kind == SLWI_JSON_ARRAY) {
        const size_t count = slwi_json_length(node);
        slwi_json_array_begin(writer);
        for (size_t i = 0; i < count && !writer->out->failed; i++) slwi_json_put_node(writer, slwi_json_item(node, i));
        slwi_json_array_end(writer);
    } else if (kind == SLWI_JSON_OBJECT) {
        void *cursor = NULL;
        slw_bytes name;
        const slwi_json *value = NULL;
        slwi_json_object_begin(writer);
        while (!writer->out->failed && slwi_json_member(node, &cursor, &name, &value)) {
            slwi_json_key(writer, name.data);
            slwi_json_put_node(writer, value);
        }
        slwi_json_object_end(writer);
    } else {
        put_leaf(writer, node);
    }
}
