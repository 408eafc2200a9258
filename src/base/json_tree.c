/* The tree of a document: json-c's, behind names of ours. json-c is given only what the pre-scan has passed. */
#include <json-c/json.h>
#include <limits.h>
#include <string.h>

#include "fail.h"
#include "json.h"
#include "json_scan.h"
#include "memory.h"

struct slwi_json_document {
    slw_allocator allocator;
    struct json_object *root; /* NULL for the document `null` */
};

/* json-c has no object for null; absent and null must differ here. */
static char null_node;

static const slwi_json *wrap(const struct json_object *object) {
    return object == NULL ? (const slwi_json *)(const void *)&null_node : (const slwi_json *)(const void *)object;
}

/* NULL for null and for absent. json-c's getters take no const. */
static struct json_object *unwrap(const slwi_json *node) {
    if ((const void *)node == (const void *)&null_node) return NULL;
    return (struct json_object *)(uintptr_t)node;
}

static struct json_object *unwrap_as(const slwi_json *node, enum json_type type) {
    struct json_object *object = unwrap(node);
    return object != NULL && json_object_get_type(object) == type ? object : NULL;
}

static slw_code build_tree(slw_bytes text, const slwi_json_limits *limits, struct json_object **out, slw_error *err) {
    if (text.size > INT_MAX || limits->depth > INT_MAX - 2) {
        return slwi_fail(err, SLW_E_LIMIT, "SIZE", "JSON of %zu bytes", text.size);
    }
    struct json_tokener *tokener = json_tokener_new_ex((int)limits->depth + 2);
    if (tokener == NULL) return slwi_fail_memory(err, text.size);
    struct json_object *root = json_tokener_parse_ex(tokener, text.data, (int)text.size);
    enum json_tokener_error state = json_tokener_get_error(tokener);
    if (state == json_tokener_continue) { /* a number at the end is done only when something follows */
        root = json_tokener_parse_ex(tokener, " ", 1);
        state = json_tokener_get_error(tokener);
    }
    json_tokener_free(tokener);
    if (state != json_tokener_success) {
        json_object_put(root);
        /* The scan has passed it, so this is json-c without memory (which it cannot say in every version). */
        return slwi_fail(err, SLW_E_NO_MEMORY, NULL, "json-c: %s", json_tokener_error_desc(state));
    }
    *out = root;
    return SLW_OK;
}

/* As build_tree, for a text with lone surrogates. */
static slw_code build_rewritten(const slw_allocator *allocator, slw_bytes text, const slwi_json_limits *limits,
                                struct json_object **out, slw_error *err) {
    char *copy = slwi_alloc(allocator, text.size);
    if (copy == NULL) return slwi_fail_memory(err, text.size);
    const slw_bytes rewritten = {copy, slwi_json_rewrite(text, copy)};
    const slw_code rc = build_tree(rewritten, limits, out, err);
    slwi_free(allocator, copy);
    return rc;
}

slw_code slwi_json_parse(const slw_allocator *allocator, slw_bytes text, const slwi_json_limits *limits,
                         slwi_json_document **out, slw_error *err) {
    static const slwi_json_limits usual = SLWI_JSON_LIMITS_DEFAULT;
    const slw_allocator standard = SLW_ALLOCATOR_INIT;
    if (limits == NULL) limits = &usual;
    size_t lone_surrogates = 0;
    slw_code rc = slwi_json_scan(allocator, text, limits, &lone_surrogates, err);
    if (rc != SLW_OK) return rc;
    slwi_json_document *document = slwi_alloc(allocator, sizeof *document);
    if (document == NULL) return slwi_fail_memory(err, sizeof *document);
    document->allocator = allocator != NULL ? *allocator : standard;
    if (lone_surrogates > 0) {
        rc = build_rewritten(allocator, text, limits, &document->root, err);
    } else {
        rc = build_tree(text, limits, &document->root, err);
    }
    if (rc != SLW_OK) {
        slwi_free(allocator, document);
        return rc;
    }
    *out = document;
    return SLW_OK;
}

static int is_container(struct json_object *object) {
    const enum json_type type = json_object_get_type(object);
    return type == json_type_object || type == json_type_array;
}

/* Takes a reference of a container and puts it before `list`; anything else leaves the list as it is. */
static struct json_object *push(struct json_object *list, struct json_object *object) {
    if (!is_container(object)) return list;
    json_object_set_userdata(object, list, NULL);
    return json_object_get(object);
}

/* json-c frees by recursion, which 2,048 levels on the small stack of a musl thread do not survive. So each container
   is kept alive past its parent, on a list that runs through their user data. */
static void free_tree(struct json_object *root) {
    if (!is_container(root)) {
        json_object_put(root);
        return;
    }
    struct json_object *list = root;
    while (list != NULL) {
        struct json_object *object = list;
        list = json_object_get_userdata(object);
        if (json_object_get_type(object) == json_type_object) {
            struct lh_entry *entry = lh_table_head(json_object_get_object(object));
            for (; entry != NULL; entry = lh_entry_next(entry)) list = push(list, lh_entry_v(entry));
        } else {
            const size_t count = json_object_array_length(object);
            for (size_t i = 0; i < count; i++) list = push(list, json_object_array_get_idx(object, i));
        }
        json_object_put(object);
    }
}

void slwi_json_free(slwi_json_document **document) {
    if (document == NULL || *document == NULL) return;
    slwi_json_document *old = *document;
    *document = NULL;
    free_tree(old->root);
    const slw_allocator allocator = old->allocator;
    slwi_free(&allocator, old);
}

const slwi_json *slwi_json_root(const slwi_json_document *document) {
    return wrap(document->root);
}

slwi_json_type slwi_json_kind(const slwi_json *node) {
    switch (json_object_get_type(unwrap(node))) {
    case json_type_boolean: return SLWI_JSON_BOOL;
    case json_type_int: return SLWI_JSON_INT;
    case json_type_double: return SLWI_JSON_DOUBLE;
    case json_type_string: return SLWI_JSON_STRING;
    case json_type_array: return SLWI_JSON_ARRAY;
    case json_type_object: return SLWI_JSON_OBJECT;
    default: return SLWI_JSON_NULL;
    }
}

int slwi_json_bool(const slwi_json *node, int *out) {
    struct json_object *object = unwrap_as(node, json_type_boolean);
    if (object == NULL) return 0;
    *out = json_object_get_boolean(object) != 0;
    return 1;
}

int slwi_json_i64(const slwi_json *node, int64_t *out) {
    struct json_object *object = unwrap_as(node, json_type_int);
    if (object == NULL) return 0;
    const int64_t value = json_object_get_int64(object);
    /* json-c clamps; the other getter tells whether it did. */
    if (value == INT64_MAX && json_object_get_uint64(object) > (uint64_t)INT64_MAX) return 0;
    *out = value;
    return 1;
}

int slwi_json_u64(const slwi_json *node, uint64_t *out) {
    struct json_object *object = unwrap_as(node, json_type_int);
    if (object == NULL || json_object_get_int64(object) < 0) return 0;
    *out = json_object_get_uint64(object);
    return 1;
}

int slwi_json_u32(const slwi_json *node, uint32_t *out) {
    uint64_t value = 0;
    if (!slwi_json_u64(node, &value) || value > UINT32_MAX) return 0;
    *out = (uint32_t)value;
    return 1;
}

int slwi_json_double(const slwi_json *node, double *out) {
    struct json_object *object = unwrap(node);
    const enum json_type type = json_object_get_type(object);
    uint64_t whole = 0;
    if (type == json_type_int && slwi_json_u64(node, &whole)) {
        *out = (double)whole;
        return 1;
    }
    if (type != json_type_int && type != json_type_double) return 0;
    *out = json_object_get_double(object);
    return 1;
}

int slwi_json_string(const slwi_json *node, slw_bytes *out) {
    struct json_object *object = unwrap_as(node, json_type_string);
    if (object == NULL) return 0;
    out->data = json_object_get_string(object);
    out->size = (size_t)json_object_get_string_len(object);
    return 1;
}

size_t slwi_json_length(const slwi_json *node) {
    struct json_object *object = unwrap(node);
    switch (json_object_get_type(object)) {
    case json_type_array: return json_object_array_length(object);
    case json_type_object: return (size_t)json_object_object_length(object);
    default: return 0;
    }
}

const slwi_json *slwi_json_item(const slwi_json *array, size_t index) {
    struct json_object *object = unwrap_as(array, json_type_array);
    if (object == NULL || index >= json_object_array_length(object)) return NULL;
    return wrap(json_object_array_get_idx(object, index));
}

const slwi_json *slwi_json_get(const slwi_json *object, const char *name) {
    struct json_object *from = unwrap_as(object, json_type_object);
    struct json_object *value = NULL;
    if (from == NULL || !json_object_object_get_ex(from, name, &value)) return NULL;
    return wrap(value);
}

int slwi_json_member(const slwi_json *object, void **cursor, slw_bytes *name, const slwi_json **value) {
    struct json_object *from = unwrap_as(object, json_type_object);
    if (from == NULL) return 0;
    struct lh_entry *last = *cursor;
    struct lh_entry *entry = last == NULL ? lh_table_head(json_object_get_object(from)) : lh_entry_next(last);
    if (entry == NULL) return 0;
    *cursor = entry;
    const char *key = lh_entry_k(entry);
    name->data = key;
    name->size = strlen(key);
    *value = wrap(lh_entry_v(entry));
    return 1;
}

int slwi_json_only(const slwi_json *object, const char *const *names, slw_bytes *unknown) {
    void *cursor = NULL;
    slw_bytes name;
    const slwi_json *value = NULL;
    while (slwi_json_member(object, &cursor, &name, &value)) {
        const char *const *known = names;
        while (*known != NULL && strcmp(*known, name.data) != 0) known++;
        if (*known != NULL) continue;
        *unknown = name;
        return 0;
    }
    return 1;
}
