/* The pre-scan of JSON: one pass, no recursion, a position for everything that is refused. */
#include "json_scan.h"

#include <string.h>

#include "fail.h"
#include "json_names.h"
#include "memory.h"
#include "text.h"

typedef struct json_level {
    size_t first_name; /* names of this object start here */
    size_t first_byte; /* and their bytes here */
    int is_object;
} json_level;

typedef struct json_scan {
    const slw_allocator *allocator;
    const char *data;
    size_t size;
    size_t at;
    const slwi_json_limits *limits;
    slw_error *err;
    size_t values;
    size_t lone_surrogates;
    json_level *levels;
    size_t depth;
    size_t level_capacity;
    slwi_json_names names;
} json_scan;

/* What may stand next. */
typedef enum json_state { WANT_VALUE, WANT_ITEM_OR_END, WANT_NAME, WANT_NAME_OR_END, AFTER_VALUE } json_state;

static void place_at(const json_scan *scan, size_t offset) {
    uint32_t line = 1;
    size_t line_start = 0;
    for (size_t i = 0; i < offset && i < scan->size; i++) {
        if (scan->data[i] != '\n') continue;
        line++;
        line_start = i + 1;
    }
    slwi_error_place(scan->err, line, (uint32_t)(offset - line_start + 1), offset);
}

static slw_code refuse(json_scan *scan, size_t offset, const char *reason, const char *words) {
    (void)slwi_fail(scan->err, SLW_E_INVALID_METADATA, reason, "not acceptable JSON: %s", words);
    place_at(scan, offset);
    return SLW_E_INVALID_METADATA;
}

static slw_code refuse_limit(json_scan *scan, const char *reason, const char *what, uint64_t required, uint64_t limit,
                             const char *unit) {
    (void)slwi_fail(scan->err, SLW_E_LIMIT, reason, "JSON over a limit: %s", what);
    slwi_error_amount(scan->err, what, required, limit, unit);
    place_at(scan, scan->at);
    return SLW_E_LIMIT;
}

/* For a byte that cannot stand here; the end of the text and bytes that are not UTF-8 have names of their own. */
static slw_code refuse_byte(json_scan *scan, const char *words) {
    if (scan->at >= scan->size) return refuse(scan, scan->size, "TRUNCATED", "the text ends too early");
    size_t at = scan->at;
    uint32_t code_point = 0;
    if (!slwi_utf8_next((slw_bytes){scan->data, scan->size}, &at, &code_point)) {
        return refuse(scan, scan->at, "NOT_UTF8", "bytes that are not UTF-8");
    }
    return refuse(scan, scan->at, "BAD_BYTE", words);
}

static int peek(const json_scan *scan) {
    return scan->at < scan->size ? (unsigned char)scan->data[scan->at] : -1;
}

static void skip_space(json_scan *scan) {
    while (scan->at < scan->size) {
        const char c = scan->data[scan->at];
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return;
        scan->at++;
    }
}

/* What json-c takes for an empty object or array, in strings or numbers: counted one each, a document of 4 MiB could
   take 700 MB. */
#define OBJECT_WEIGHT 8u
#define ARRAY_WEIGHT 4u

static slw_code count_value(json_scan *scan) {
    const int c = peek(scan);
    scan->values += c == '{' ? OBJECT_WEIGHT : c == '[' ? ARRAY_WEIGHT : 1u;
    if (scan->values <= scan->limits->values) return SLW_OK;
    return refuse_limit(scan, "VALUES", "values", scan->values, scan->limits->values, "values");
}

/* ---- strings ---- */

/* Four hexadecimal digits at `at`; -1 for anything else. */
static int32_t hex4(const char *data, size_t size, size_t at) {
    if (size < 4 || at > size - 4) return -1;
    int32_t value = 0;
    for (size_t i = at; i < at + 4; i++) {
        const char c = data[i];
        int32_t digit = 0;
        if (c >= '0' && c <= '9') {
            digit = c - '0';
        } else if (c >= 'a' && c <= 'f') {
            digit = c - 'a' + 10;
        } else if (c >= 'A' && c <= 'F') {
            digit = c - 'A' + 10;
        } else {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

static int is_high(int32_t unit) {
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static int is_low(int32_t unit) {
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* The low half that follows a high one whose escape ended at `at`; -1 when none does. */
static int32_t low_half(const char *data, size_t size, size_t at) {
    if (size < 6 || at > size - 6 || data[at] != '\\' || data[at + 1] != 'u') return -1;
    const int32_t low = hex4(data, size, at + 2);
    return is_low(low) ? low : -1;
}

/* "\uXXXX" with scan->at at the backslash. */
static slw_code scan_unicode_escape(json_scan *scan, uint32_t *code_point) {
    const size_t start = scan->at;
    const int32_t unit = hex4(scan->data, scan->size, start + 2);
    if (unit < 0) {
        if (scan->size - start < 6) return refuse(scan, scan->size, "TRUNCATED", "the text ends inside an escape");
        return refuse(scan, start, "BAD_ESCAPE", "\\u without four hexadecimal digits");
    }
    scan->at = start + 6;
    *code_point = (uint32_t)unit;
    if (!is_high(unit) && !is_low(unit)) return SLW_OK;
    const int32_t low = is_high(unit) ? low_half(scan->data, scan->size, scan->at) : -1;
    if (low >= 0) {
        scan->at += 6;
        *code_point = 0x10000u + (((uint32_t)unit - 0xD800u) << 10) + ((uint32_t)low - 0xDC00u);
        return SLW_OK;
    }
    if (!scan->limits->lone_surrogates) {
        return refuse(scan, start, "LONE_SURROGATE", "half a surrogate pair stands alone");
    }
    scan->lone_surrogates++;
    return SLW_OK;
}

/* One escape; scan->at at the backslash. */
static slw_code scan_escape(json_scan *scan, uint32_t *code_point) {
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    const size_t start = scan->at;
    if (start + 1 >= scan->size) return refuse(scan, scan->size, "TRUNCATED", "the text ends inside an escape");
    const char c = scan->data[start + 1];
    if (c == 'u') return scan_unicode_escape(scan, code_point);
    const char *found = c == '\0' ? NULL : strchr(letters, c);
    if (found == NULL) return refuse(scan, start, "BAD_ESCAPE", "an escape that JSON does not have");
    *code_point = (uint32_t)(unsigned char)meanings[found - letters];
    scan->at = start + 2;
    return SLW_OK;
}

/* A string; scan->at at its first quote. The decoded text goes to `name` where that is not NULL. */
static slw_code scan_string(json_scan *scan, slwi_buffer *name) {
    const slw_bytes all = {scan->data, scan->size};
    scan->at++;
    for (;;) {
        const size_t start = scan->at;
        while (scan->at < scan->size) {
            const unsigned char c = (unsigned char)scan->data[scan->at];
            if (c == '"' || c == '\\' || c < 0x20 || c >= 0x80) break;
            scan->at++;
        }
        if (name != NULL) slwi_buffer_append(name, scan->data + start, scan->at - start);
        const int c = peek(scan);
        uint32_t code_point = 0;
        if (c == '"') break;
        if (c == '\\') {
            const slw_code rc = scan_escape(scan, &code_point);
            if (rc != SLW_OK) return rc;
        } else if (c < 0x80 || !slwi_utf8_next(all, &scan->at, &code_point)) {
            return refuse_byte(scan, "a control character in a string");
        }
        if (name != NULL) slwi_wtf8_append(name, code_point);
    }
    scan->at++;
    return SLW_OK;
}

/* ---- numbers and words ---- */

static size_t skip_digits(json_scan *scan) {
    const size_t start = scan->at;
    while (scan->at < scan->size && scan->data[scan->at] >= '0' && scan->data[scan->at] <= '9') scan->at++;
    return scan->at - start;
}

static slw_code bad_number(json_scan *scan, size_t start, const char *words) {
    if (scan->at >= scan->size) return refuse(scan, scan->size, "TRUNCATED", "the text ends inside a number");
    return refuse(scan, start, "BAD_NUMBER", words);
}

static slw_code scan_number(json_scan *scan) {
    const size_t start = scan->at;
    const int negative = scan->data[start] == '-';
    int is_double = 0;
    if (negative) scan->at++;
    const size_t digits = scan->at;
    const size_t count = skip_digits(scan);
    if (count == 0) return bad_number(scan, start, "a number without digits");
    if (count > 1 && scan->data[digits] == '0') {
        return refuse(scan, start, "BAD_NUMBER", "a number with a leading zero");
    }
    if (peek(scan) == '.') {
        is_double = 1;
        scan->at++;
        if (skip_digits(scan) == 0) return bad_number(scan, start, "no digits after the point");
    }
    if (peek(scan) == 'e' || peek(scan) == 'E') {
        is_double = 1;
        scan->at++;
        if (peek(scan) == '+' || peek(scan) == '-') scan->at++;
        if (skip_digits(scan) == 0) return bad_number(scan, start, "no digits in the exponent");
    }
    const char *text = scan->data + digits;
    if (is_double && !slwi_json_double_is_finite(text, scan->at - digits)) {
        return refuse(scan, start, "BAD_NUMBER", "a number beyond the range of doubles");
    }
    if (!is_double && !slwi_json_integer_fits(text, count, negative)) {
        return refuse(scan, start, "BAD_NUMBER", "an integer of more than 64 bits");
    }
    return SLW_OK;
}

static slw_code scan_word(json_scan *scan, const char *word) {
    for (; *word != '\0'; word++) {
        if (peek(scan) != *word) return refuse_byte(scan, "no such word in JSON");
        scan->at++;
    }
    return SLW_OK;
}

/* ---- structure ---- */

static slw_code open_level(json_scan *scan, int is_object) {
    if (scan->depth >= scan->limits->depth) {
        return refuse_limit(scan, "DEPTH", "depth", (uint64_t)scan->depth + 1, scan->limits->depth, "levels");
    }
    if (scan->depth == scan->level_capacity) {
        const size_t capacity = scan->level_capacity == 0 ? 32 : 2 * scan->level_capacity;
        json_level *grown = slwi_realloc_array(scan->allocator, scan->levels, capacity, sizeof *grown);
        if (grown == NULL) return slwi_fail_memory(scan->err, capacity * sizeof *grown);
        scan->levels = grown;
        scan->level_capacity = capacity;
    }
    json_level *level = &scan->levels[scan->depth++];
    level->first_name = scan->names.count;
    level->first_byte = scan->names.bytes.size;
    level->is_object = is_object;
    scan->at++;
    return SLW_OK;
}

static slw_code close_level(json_scan *scan) {
    const json_level *level = &scan->levels[--scan->depth];
    scan->at++;
    if (!level->is_object) return SLW_OK;
    const size_t twice = slwi_json_names_duplicate(&scan->names, level->first_name);
    slwi_json_names_cut(&scan->names, level->first_name, level->first_byte);
    return twice == SIZE_MAX ? SLW_OK : refuse(scan, twice, "DUPLICATE", "a name stands twice in one object");
}

static slw_code scan_name(json_scan *scan) {
    if (peek(scan) != '"') return refuse_byte(scan, "a name was expected");
    const size_t start = scan->at;
    const size_t first_byte = scan->names.bytes.size;
    const slw_code rc = scan_string(scan, &scan->names.bytes);
    if (rc != SLW_OK) return rc;
    if (!slwi_json_names_add(&scan->names, first_byte, start)) return slwi_fail_memory(scan->err, scan->at - start);
    if (memchr(scan->names.bytes.data + first_byte, 0, scan->names.bytes.size - first_byte) != NULL) {
        return refuse(scan, start, "BAD_NAME", "a name with U+0000 in it");
    }
    skip_space(scan);
    if (peek(scan) != ':') return refuse_byte(scan, "a colon was expected");
    scan->at++;
    return SLW_OK;
}

static slw_code scan_value(json_scan *scan, json_state *state) {
    slw_code rc = count_value(scan);
    if (rc != SLW_OK) return rc;
    const int c = peek(scan);
    *state = AFTER_VALUE;
    switch (c) {
    case '{':
        *state = WANT_NAME_OR_END;
        return open_level(scan, 1);
    case '[':
        *state = WANT_ITEM_OR_END;
        return open_level(scan, 0);
    case '"': return scan_string(scan, NULL);
    case 't': return scan_word(scan, "true");
    case 'f': return scan_word(scan, "false");
    case 'n': return scan_word(scan, "null");
    case 'N':
    case 'I': return refuse(scan, scan->at, "BAD_NUMBER", "NaN and Infinity are not JSON");
    default:
        if (c == '-' || (c >= '0' && c <= '9')) return scan_number(scan);
        return refuse_byte(scan, "a value was expected");
    }
}

static slw_code after_value(json_scan *scan, json_state *state) {
    const int is_object = scan->levels[scan->depth - 1].is_object;
    const int c = peek(scan);
    if (c == ',') {
        scan->at++;
        *state = is_object ? WANT_NAME : WANT_VALUE;
        return SLW_OK;
    }
    if (c == (is_object ? '}' : ']')) return close_level(scan);
    return refuse_byte(scan, "a comma or the end of the object or array was expected");
}

static slw_code step(json_scan *scan, json_state *state) {
    const int c = peek(scan);
    switch (*state) {
    case WANT_NAME_OR_END:
    case WANT_NAME:
        if (c == '}' && *state == WANT_NAME_OR_END) {
            *state = AFTER_VALUE;
            return close_level(scan);
        }
        *state = WANT_VALUE;
        return scan_name(scan);
    case WANT_ITEM_OR_END:
        if (c == ']') {
            *state = AFTER_VALUE;
            return close_level(scan);
        }
        return scan_value(scan, state);
    case AFTER_VALUE: return after_value(scan, state);
    default: return scan_value(scan, state);
    }
}

static slw_code scan_all(json_scan *scan) {
    json_state state = WANT_VALUE;
    do {
        skip_space(scan);
        const slw_code rc = step(scan, &state);
        if (rc != SLW_OK) return rc;
    } while (scan->depth > 0 || state != AFTER_VALUE);
    skip_space(scan);
    return scan->at == scan->size ? SLW_OK : refuse(scan, scan->at, "TRAILING", "something stands after the value");
}

slw_code slwi_json_scan(const slw_allocator *allocator, slw_bytes text, const slwi_json_limits *limits,
                        size_t *lone_surrogates, slw_error *err) {
    json_scan scan;
    memset(&scan, 0, sizeof scan);
    scan.allocator = allocator;
    scan.data = text.data == NULL ? "" : text.data;
    scan.size = text.data == NULL ? 0 : text.size;
    scan.limits = limits;
    scan.err = err;
    slwi_json_names_init(&scan.names, allocator);
    slw_code rc = SLW_OK;
    if (scan.size > limits->bytes) {
        rc = refuse_limit(&scan, "SIZE", "size", scan.size, limits->bytes, "bytes");
    } else {
        rc = scan_all(&scan);
    }
    slwi_json_names_free(&scan.names);
    slwi_free(allocator, scan.levels);
    if (rc == SLW_OK) *lone_surrogates = scan.lone_surrogates;
    return rc;
}

size_t slwi_json_rewrite(slw_bytes text, char *out) {
    const char *data = text.data;
    size_t used = 0;
    size_t at = 0;
    while (at < text.size) {
        size_t length = 1;
        if (data[at] == '\\') {
            length = data[at + 1] == 'u' ? 6 : 2;
            const int32_t unit = length == 6 ? hex4(data, text.size, at + 2) : 0;
            if (is_high(unit) && low_half(data, text.size, at + 6) >= 0) {
                length = 12;
            } else if (is_high(unit) || is_low(unit)) {
                out[used++] = (char)(0xE0 | unit >> 12);
                out[used++] = (char)(0x80 | (unit >> 6 & 0x3F));
                out[used++] = (char)(0x80 | (unit & 0x3F));
                at += 6;
                continue;
            }
        }
        memcpy(out + used, data + at, length);
        used += length;
        at += length;
    }
    return used;
}
