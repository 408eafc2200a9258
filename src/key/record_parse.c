/* RECORD.json to a typed record: each value is an object that names its type. */
#include <string.h>

#include "fail.h"
#include "hex.h"
#include "json.h"
#include "json_place.h"
#include "record_node.h"

/* A container being filled. */
typedef struct frame {
    slw_record *record;     /* owned by nobody yet */
    slw_record *name;       /* of a dict: the name whose value comes next */
    const slwi_json *object;
    const slwi_json *items; /* the array `v` */
    size_t next;
} frame;

typedef struct parser {
    slw_allocator allocator;
    slw_bytes text;
    slw_error *err;
    int in_name; /* the first item of a pair is being read */
    size_t depth;
    frame stack[SLW_LIMIT_RECORD_DEPTH];
} parser;

#define PATH_MAX_STEPS (3 * SLW_LIMIT_RECORD_DEPTH + 3)

/* The path to the value that is being read: one or two steps for each frame, and `member` of it unless NULL. */
static void place(const parser *p, const slwi_json *object, const char *member) {
    size_t path[PATH_MAX_STEPS], steps = 0;
    for (size_t i = 0; i < p->depth; i++) {
        const frame *f = &p->stack[i];
        path[steps++] = slwi_json_member_number(f->object, (slw_bytes){"v", 1});
        path[steps++] = f->next;
        if (f->record->kind == SLWI_RECORD_DICT && f->name != NULL) path[steps++] = 1;
    }
    if (p->in_name) path[steps++] = 0;
    if (member != NULL && slwi_json_get(object, member) != NULL) {
        path[steps++] = slwi_json_member_number(object, (slw_bytes){member, strlen(member)});
    }
    slwi_json_place(p->text, path, steps, p->err);
}

static slw_code refuse(const parser *p, const slwi_json *object, const char *member, const char *reason,
                       const char *message) {
    place(p, object, member);
    (void) slwi_fail(p->err, SLW_E_INVALID_METADATA, reason, "%s", message);
    return SLW_E_INVALID_METADATA;
}

static int is_text(slw_bytes text, const char *expected) {
    return text.size == strlen(expected) && memcmp(text.data, expected, text.size) == 0;
}

static slw_code new_leaf(const parser *p, slwi_record_kind kind, slw_bytes text, slw_record **out) {
    *out = slwi_record_node(&p->allocator, kind, text.data, text.size);
    if (*out != NULL) return SLW_OK;
    (void) slwi_fail_memory(p->err, sizeof **out + text.size);
    return SLW_E_NO_MEMORY;
}

static slw_code read_bool(const parser *p, const slwi_json *object, slw_record **out) {
    int value;
    if (!slwi_json_bool(slwi_json_get(object, "v"), &value)) {
        return refuse(p, object, "v", "BAD_RECORD", "\"v\" of a bool is true or false");
    }
    slw_code rc = new_leaf(p, SLWI_RECORD_BOOL, (slw_bytes){NULL, 0}, out);
    if (rc == SLW_OK) (*out)->as.bits = value != 0;
    return rc;
}

static slw_code read_int(const parser *p, const slwi_json *object, slw_record **out) {
    slw_bytes digits;
    if (!slwi_json_string(slwi_json_get(object, "v"), &digits) || !slwi_record_decimal_ok(digits)) {
        return refuse(p, object, "v", "BAD_INTEGER", "\"v\" of an int is a string of decimal digits in canonical form");
    }
    return new_leaf(p, SLWI_RECORD_INT, digits, out);
}

static slw_code read_float(const parser *p, const slwi_json *object, slw_record **out) {
    slw_bytes digits;
    uint8_t big_endian[8];
    uint64_t bits = 0;
    if (!slwi_json_string(slwi_json_get(object, "bits"), &digits) || digits.size != 16 ||
        !slwi_hex_decode(digits.data, 16, big_endian)) {
        return refuse(p, object, "bits", "BAD_FLOAT", "\"bits\" of an f64 are 16 lowercase hexadecimal digits");
    }
    for (size_t i = 0; i < 8; i++) bits = bits << 8 | big_endian[i];
    slw_code rc = new_leaf(p, SLWI_RECORD_FLOAT, (slw_bytes){NULL, 0}, out);
    if (rc == SLW_OK) (*out)->as.bits = bits;
    return rc;
}

/* The bytes of a string or of bytes, from their hexadecimal form. */
static slw_code read_hex(const parser *p, const slwi_json *object, const char *member, slwi_record_kind kind,
                         slw_record **out) {
    slw_bytes digits;
    slw_record *node;
    if (!slwi_json_string(slwi_json_get(object, member), &digits) || digits.size % 2 != 0) {
        return refuse(p, object, member, "BAD_HEX", "not pairs of lowercase hexadecimal digits");
    }
    slw_code rc = new_leaf(p, kind, digits, &node); /* twice the room, cut below */
    if (rc != SLW_OK) return rc;
    node->as.text.size = digits.size / 2;
    node->text[node->as.text.size] = 0;
    const char *reason = NULL;
    if (!slwi_hex_decode(digits.data, digits.size, node->text)) reason = "BAD_HEX";
    if (reason == NULL && kind == SLWI_RECORD_STRING && !slwi_record_wtf8_ok(slwi_record_text(node))) {
        reason = "BAD_TEXT";
    }
    if (reason != NULL) {
        slw_record_release(&node);
        return refuse(p, object, member, reason,
                      reason[4] == 'H' ? "not pairs of lowercase hexadecimal digits" : "the string is not WTF-8");
    }
    *out = node;
    return SLW_OK;
}

/* A container is pushed on the stack, empty; its items are read by the loop. */
static slw_code begin_container(parser *p, const slwi_json *object, slwi_record_kind kind) {
    const slwi_json *items = slwi_json_get(object, "v");
    if (items == NULL || slwi_json_kind(items) != SLWI_JSON_ARRAY) {
        return refuse(p, object, "v", "BAD_RECORD", "\"v\" of a container is an array");
    }
    if (p->depth == SLW_LIMIT_RECORD_DEPTH) {
        slwi_error_amount(p->err, "record depth", p->depth + 1, SLW_LIMIT_RECORD_DEPTH, "levels");
        place(p, object, NULL);
        (void) slwi_fail(p->err, SLW_E_LIMIT, "DEPTH", "the record is nested too deeply");
        return SLW_E_LIMIT;
    }
    size_t count = slwi_json_length(items) * (kind == SLWI_RECORD_DICT ? 2 : 1);
    slw_record *container;
    slw_code rc = new_leaf(p, kind, (slw_bytes){NULL, 0}, &container);
    if (rc != SLW_OK) return rc;
    if (!slwi_record_reserve(container, count)) {
        slw_record_release(&container);
        return slwi_fail_memory(p->err, count * sizeof(void *));
    }
    p->stack[p->depth++] = (frame){container, NULL, object, items, 0};
    return SLW_OK;
}

typedef struct form {
    const char *tag;
    slwi_record_kind kind;
    const char *const *members;
} form;

static const char *const only_t[] = {"t", NULL};
static const char *const t_and_v[] = {"t", "v", NULL};
static const char *const t_and_bits[] = {"t", "bits", NULL};
static const char *const t_and_wtf8[] = {"t", "wtf8_hex", NULL};
static const char *const t_and_hex[] = {"t", "hex", NULL};
static const form forms[] = {
    {"none", SLWI_RECORD_NONE, only_t},       {"bool", SLWI_RECORD_BOOL, t_and_v},
    {"int", SLWI_RECORD_INT, t_and_v},        {"f64", SLWI_RECORD_FLOAT, t_and_bits},
    {"str", SLWI_RECORD_STRING, t_and_wtf8},  {"bytes", SLWI_RECORD_BYTES, t_and_hex},
    {"list", SLWI_RECORD_LIST, t_and_v},      {"tuple", SLWI_RECORD_TUPLE, t_and_v},
    {"dict", SLWI_RECORD_DICT, t_and_v},
};

static slw_code find_form(const parser *p, const slwi_json *object, const form **out) {
    slw_bytes tag, unknown;
    if (object == NULL || slwi_json_kind(object) != SLWI_JSON_OBJECT ||
        !slwi_json_string(slwi_json_get(object, "t"), &tag)) {
        return refuse(p, object, NULL, "BAD_RECORD", "a value is an object whose \"t\" names its type");
    }
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (!is_text(tag, forms[i].tag)) continue;
        if (!slwi_json_only(object, forms[i].members, &unknown)) {
            slwi_error_subject(p->err, unknown.data, unknown.size);
            return refuse(p, object, NULL, "UNKNOWN_FIELD", "a value of this type has no such field");
        }
        *out = &forms[i];
        return SLW_OK;
    }
    slwi_error_subject(p->err, tag.data, tag.size);
    return refuse(p, object, "t", "UNKNOWN_TAG", "no such type of value");
}

/* Reads one value: a leaf is returned, a container pushed (and *leaf is NULL). */
static slw_code read_value(parser *p, const slwi_json *object, slw_record **leaf) {
    const form *f;
    *leaf = NULL;
    slw_code rc = find_form(p, object, &f);
    if (rc != SLW_OK) return rc;
    switch (f->kind) {
    case SLWI_RECORD_NONE: return new_leaf(p, SLWI_RECORD_NONE, (slw_bytes){NULL, 0}, leaf);
    case SLWI_RECORD_BOOL: return read_bool(p, object, leaf);
    case SLWI_RECORD_INT: return read_int(p, object, leaf);
    case SLWI_RECORD_FLOAT: return read_float(p, object, leaf);
    case SLWI_RECORD_STRING: return read_hex(p, object, "wtf8_hex", SLWI_RECORD_STRING, leaf);
    case SLWI_RECORD_BYTES: return read_hex(p, object, "hex", SLWI_RECORD_BYTES, leaf);
    default: return begin_container(p, object, f->kind);
    }
}

/* The pair of a dict: its name is kept in the frame, its value is the next object to read. */
static slw_code read_name(parser *p, const slwi_json *pair, const slwi_json **value) {
    frame *top = &p->stack[p->depth - 1];
    slw_record *name = NULL;
    const form *f;
    if (pair == NULL || slwi_json_kind(pair) != SLWI_JSON_ARRAY || slwi_json_length(pair) != 2) {
        return refuse(p, NULL, NULL, "BAD_RECORD", "an item of a dict is an array of its name and its value");
    }
    p->in_name = 1;
    slw_code rc = find_form(p, slwi_json_item(pair, 0), &f);
    if (rc == SLW_OK && f->kind != SLWI_RECORD_STRING) {
        rc = refuse(p, NULL, NULL, "BAD_NAME", "the name of a dict's item is a str");
    }
    if (rc == SLW_OK) rc = read_hex(p, slwi_json_item(pair, 0), "wtf8_hex", SLWI_RECORD_STRING, &name);
    p->in_name = 0;
    if (rc != SLW_OK) return rc;
    top->name = name;
    *value = slwi_json_item(pair, 1);
    return SLW_OK;
}

static void take_item(frame *top, slw_record *item) {
    if (top->name != NULL) slwi_record_push(top->record, top->name);
    top->name = NULL;
    slwi_record_push(top->record, item);
    top->next++;
}

/* The top container is complete: it becomes an item of the one below, or the result. */
static slw_code end_container(parser *p, slw_record **result) {
    frame *top = &p->stack[p->depth - 1];
    const slw_record *duplicate;
    if (top->record->kind == SLWI_RECORD_DICT && !slwi_record_dict_sort(top->record, &duplicate)) {
        slw_bytes name = slwi_record_text(duplicate);
        slwi_error_subject(p->err, name.data, name.size);
        p->depth--;
        place(p, top->object, NULL);
        p->depth++;
        return slwi_fail(p->err, SLW_E_INVALID_METADATA, "DUPLICATE", "two items of a dict have the same name");
    }
    p->depth--;
    if (p->depth == 0) {
        *result = top->record;
    } else {
        take_item(&p->stack[p->depth - 1], top->record);
    }
    return SLW_OK;
}

static slw_code read_all(parser *p, const slwi_json *root, slw_record **result) {
    slw_record *leaf;
    slw_code rc = read_value(p, root, &leaf);
    if (rc == SLW_OK && leaf != NULL) *result = leaf;
    while (rc == SLW_OK && p->depth != 0) {
        frame *top = &p->stack[p->depth - 1];
        if (top->next == slwi_json_length(top->items)) {
            rc = end_container(p, result);
            continue;
        }
        const slwi_json *item = slwi_json_item(top->items, top->next);
        if (top->record->kind == SLWI_RECORD_DICT) rc = read_name(p, item, &item);
        if (rc == SLW_OK) rc = read_value(p, item, &leaf);
        if (rc == SLW_OK && leaf != NULL) take_item(top, leaf);
    }
    return rc;
}

static void drop_stack(parser *p) {
    for (size_t i = 0; i < p->depth; i++) {
        slw_record_release(&p->stack[i].name);
        slw_record_release(&p->stack[i].record);
    }
}

slw_code slw_record_parse(const slw_allocator *allocator, slw_bytes json, slw_record **out, slw_error *err) {
    static const slwi_json_limits limits = {SLW_LIMIT_JSON_BYTES, SLW_LIMIT_JSON_DEPTH, SLW_LIMIT_JSON_VALUES, 0};
    slwi_json_document *document = NULL;
    slw_record *result = NULL;
    slw_allocator taken;
    slwi_error_reset(err);
    if (out == NULL || (json.data == NULL && json.size != 0)) {
        return slwi_fail(err, SLW_E_USAGE, "NULL", "no text, or no place for the record");
    }
    slw_code rc = slwi_allocator_take(allocator, &taken, err);
    if (rc == SLW_OK) rc = slwi_json_parse(&taken, json, &limits, &document, err);
    if (rc != SLW_OK) return rc;
    parser *p = slwi_alloc(&taken, sizeof *p); /* too much for some stacks */
    if (p != NULL) {
        p->allocator = taken;
        p->text = json;
        p->err = err;
        p->in_name = 0;
        p->depth = 0;
        rc = read_all(p, slwi_json_root(document), &result);
        if (rc != SLW_OK) drop_stack(p);
    } else {
        rc = slwi_fail_memory(err, sizeof *p);
    }
    slwi_free(&taken, p);
    slwi_json_free(&document);
    if (rc == SLW_OK) *out = result;
    return rc;
}
