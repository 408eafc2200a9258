/* Values of a record's JSON form, for people. What is read here came from a store: every shape is possible. */
#include <stdio.h>
#include <string.h>

#include <slipway/key.h>

#include "explain_state.h"
#include "hex.h"
#include "text.h"

int slwi_explain_is(const slwi_json *record, const char *tag) {
    slw_bytes found;
    return record != NULL && slwi_json_kind(record) == SLWI_JSON_OBJECT &&
           slwi_json_string(slwi_json_get(record, "t"), &found) && found.size == strlen(tag) &&
           memcmp(found.data, tag, found.size) == 0;
}

static int equal_numbers(const slwi_json *a, const slwi_json *b) {
    int64_t x = 0, y = 0;
    uint64_t u = 0, v = 0;
    if (slwi_json_i64(a, &x) && slwi_json_i64(b, &y)) return x == y;
    return slwi_json_u64(a, &u) && slwi_json_u64(b, &v) && u == v;
}

static int equal_arrays(const slwi_json *a, const slwi_json *b) {
    const size_t count = slwi_json_length(a);
    if (count != slwi_json_length(b)) return 0;
    for (size_t i = 0; i < count; i++)
        if (!slwi_explain_equal(slwi_json_item(a, i), slwi_json_item(b, i))) return 0;
    return 1;
}

static int equal_objects(const slwi_json *a, const slwi_json *b) {
    void *cursor = NULL;
    slw_bytes name;
    const slwi_json *value = NULL;
    if (slwi_json_length(a) != slwi_json_length(b)) return 0;
    while (slwi_json_member(a, &cursor, &name, &value))
        if (!slwi_explain_equal(value, slwi_json_get(b, name.data))) return 0;
    return 1;
}

/* The depth of both was bounded when they were read. */
int slwi_explain_equal(const slwi_json *a, const slwi_json *b) {
    slw_bytes x, y;
    int p = 0, q = 0;
    if (a == NULL || b == NULL || slwi_json_kind(a) != slwi_json_kind(b)) return a == b;
    switch (slwi_json_kind(a)) {
    case SLWI_JSON_NULL:
        return 1;
    case SLWI_JSON_BOOL:
        return slwi_json_bool(a, &p) && slwi_json_bool(b, &q) && p == q;
    case SLWI_JSON_INT:
        return equal_numbers(a, b);
    case SLWI_JSON_STRING:
        return slwi_json_string(a, &x) && slwi_json_string(b, &y) && x.size == y.size &&
               memcmp(x.data, y.data, x.size) == 0;
    case SLWI_JSON_ARRAY:
        return equal_arrays(a, b);
    case SLWI_JSON_OBJECT:
        return equal_objects(a, b);
    default:
        return 0; /* no record has a number with a point */
    }
}

static int decode(const slwi_json *record, const char *member, slwi_buffer *out) {
    slw_bytes digits;
    if (!slwi_json_string(slwi_json_get(record, member), &digits) || digits.size % 2 != 0) return 0;
    for (size_t i = 0; i < digits.size; i += 2) {
        unsigned char byte = 0;
        if (!slwi_hex_decode((const char *)digits.data + i, 2, &byte)) return 0;
        slwi_buffer_append(out, &byte, 1);
    }
    return 1;
}

int slwi_explain_string(const slwi_json *record, slwi_buffer *out) {
    slwi_buffer wtf8;
    slwi_buffer_clear(out);
    if (!slwi_explain_is(record, "str")) return 0;
    slwi_buffer_init(&wtf8, out->allocator, SIZE_MAX);
    const int ok = decode(record, "wtf8_hex", &wtf8);
    const slw_bytes text = {wtf8.data != NULL ? wtf8.data : "", wtf8.size};
    if (ok && !slwi_wtf8_to_os(text, out)) {
        slwi_buffer_clear(out);
        slwi_buffer_append(out, text.data, text.size);
    }
    if (wtf8.failed) out->failed = wtf8.failed;
    slwi_buffer_free(&wtf8);
    return ok;
}

static void put_string(const slwi_json *record, slwi_buffer *out) {
    slwi_buffer text;
    slwi_buffer_init(&text, out->allocator, SIZE_MAX);
    if (!slwi_explain_string(record, &text)) {
        slwi_buffer_append_text(out, "?");
    } else if (text.size > SLW_LIMIT_DIFFERENCE_BYTES - 8) {
        slw_digest digest;
        char shown[SLW_DIGEST_TEXT_SIZE];
        slw_sha256((slw_bytes){text.data, text.size}, &digest);
        slw_digest_format(&digest, shown);
        slwi_buffer_printf(out, "%llu bytes, sha256 %s", (unsigned long long)text.size, shown);
    } else if (text.size > 0) {
        slwi_buffer_append(out, text.data, text.size);
    }
    if (text.failed) out->failed = text.failed;
    slwi_buffer_free(&text);
}

static void put_member(const slwi_json *record, const char *member, slwi_buffer *out) {
    slw_bytes text;
    if (slwi_json_string(slwi_json_get(record, member), &text))
        slwi_buffer_append(out, text.data, text.size);
    else
        slwi_buffer_append_text(out, "?");
}

static void put_float(const slwi_json *record, slwi_buffer *out) {
    slwi_buffer bytes;
    slwi_buffer_init(&bytes, out->allocator, SIZE_MAX);
    if (decode(record, "bits", &bytes) && bytes.size == 8) {
        uint64_t bits = 0;
        double value = 0;
        for (size_t i = 0; i < 8; i++) bits = bits << 8 | (unsigned char)bytes.data[i];
        memcpy(&value, &bits, sizeof value);
        slwi_buffer_printf(out, "%.17g", value);
        if (value != value) slwi_buffer_printf(out, " of bits %016llx", (unsigned long long)bits);
    } else {
        slwi_buffer_append_text(out, "?");
    }
    slwi_buffer_free(&bytes);
}

static void put_value(const slwi_json *record, slwi_buffer *out);

static void put_items(const slwi_json *record, slwi_buffer *out, int is_dict) {
    const slwi_json *items = slwi_json_get(record, "v");
    const size_t count = items != NULL ? slwi_json_length(items) : 0;
    for (size_t i = 0; i < count && out->size <= SLW_LIMIT_DIFFERENCE_BYTES; i++) {
        const slwi_json *item = slwi_json_item(items, i);
        if (i > 0) slwi_buffer_append_text(out, ", ");
        if (is_dict) {
            put_value(slwi_json_item(item, 0), out);
            slwi_buffer_append_text(out, ": ");
            item = slwi_json_item(item, 1);
        }
        put_value(item, out);
    }
}

static void put_value(const slwi_json *record, slwi_buffer *out) {
    int value = 0;
    if (slwi_explain_is(record, "none")) {
        slwi_buffer_append_text(out, "none");
    } else if (slwi_explain_is(record, "bool") && slwi_json_bool(slwi_json_get(record, "v"), &value)) {
        slwi_buffer_append_text(out, value ? "true" : "false");
    } else if (slwi_explain_is(record, "int")) {
        put_member(record, "v", out);
    } else if (slwi_explain_is(record, "f64")) {
        put_float(record, out);
    } else if (slwi_explain_is(record, "str")) {
        put_string(record, out);
    } else if (slwi_explain_is(record, "bytes")) {
        put_member(record, "hex", out);
    } else if (slwi_explain_is(record, "list") || slwi_explain_is(record, "tuple")) {
        const int is_list = slwi_explain_is(record, "list");
        slwi_buffer_append_char(out, is_list ? '[' : '(');
        put_items(record, out, 0);
        slwi_buffer_append_char(out, is_list ? ']' : ')');
    } else if (slwi_explain_is(record, "dict")) {
        slwi_buffer_append_char(out, '{');
        put_items(record, out, 1);
        slwi_buffer_append_char(out, '}');
    } else {
        slwi_buffer_append_text(out, "?");
    }
}

void slwi_explain_text(const slwi_json *record, slwi_buffer *out) {
    slwi_buffer_clear(out);
    put_value(record, out);
}
