/* Where two sides differ: the records of source and options member by member, the toolchain path by path. */
#include <stdio.h>
#include <string.h>

#include "explain_state.h"
#include "fail.h"
#include "memory.h"

/* One comparison. After the first failure (`failed`) nothing more is put down. */
typedef struct differ {
    const slw_allocator *allocator;
    slwi_near *near;
    slwi_buffer field; /* the name of the field that is being looked at */
    slwi_buffer one, other;
    int without_lowered; /* what a lowered source is has been told, so that its digest says nothing more */
    int failed;          /* 0 or SLW_E_NO_MEMORY */
} differ;

static const slw_bytes nothing = {NULL, 0};

static slw_bytes text_of(const char *text) {
    return (slw_bytes){text, text != NULL ? strlen(text) : 0};
}

static slw_bytes bytes_of(const slwi_buffer *buffer) {
    return (slw_bytes){buffer->data != NULL ? buffer->data : "", buffer->size};
}

/* ---- putting down ---------------------------------------------------------------------------------------------- */

void slwi_near_free(const slw_allocator *allocator, slwi_near *near) {
    slwi_buffer_free(&near->texts);
    slwi_free(allocator, near->items);
    near->items = NULL;
    near->count = near->capacity = 0;
}

/* Where text may be cut without halving a character. */
static size_t cut_at(slw_bytes text, size_t limit) {
    const unsigned char *bytes = text.data;
    if (text.size <= limit) return text.size;
    while (limit > 0 && (bytes[limit] & 0xc0u) == 0x80u) limit--;
    return limit;
}

void slwi_near_text(slwi_near *near, slw_bytes text, size_t *at) {
    *at = SLWI_NO_TEXT;
    if (text.data == NULL) return;
    *at = near->texts.size;
    const unsigned char *bytes = text.data;
    const size_t size = cut_at(text, SLW_LIMIT_DIFFERENCE_BYTES);
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] < 0x20 || bytes[i] == 0x7f)
            slwi_buffer_printf(&near->texts, "\\x%02x", bytes[i]);
        else
            slwi_buffer_append_char(&near->texts, (char)bytes[i]);
    }
    if (size < text.size) slwi_buffer_append_text(&near->texts, "\xe2\x80\xa6");
    slwi_buffer_append_char(&near->texts, '\0');
}

static int grow(differ *d) {
    slwi_near *near = d->near;
    if (near->count < near->capacity) return 1;
    const size_t capacity = near->capacity == 0 ? 8 : near->capacity * 2;
    slwi_near_field *items = slwi_realloc_array(d->allocator, near->items, capacity, sizeof *items);
    if (items == NULL) {
        d->failed = SLW_E_NO_MEMORY;
        return 0;
    }
    near->items = items;
    near->capacity = capacity;
    return 1;
}

static int same_text(const slwi_near *near, size_t a, size_t b) {
    if (a == SLWI_NO_TEXT || b == SLWI_NO_TEXT) return a == b;
    return strcmp(near->texts.data + a, near->texts.data + b) == 0;
}

/* A path that is there as a file and as a program is told once. */
static int is_repeated(const slwi_near *near) {
    if (near->count < 2) return 0;
    const slwi_near_field *last = &near->items[near->count - 1], *before = last - 1;
    return same_text(near, last->field, before->field) && same_text(near, last->old_value, before->old_value) &&
           same_text(near, last->new_value, before->new_value);
}

/* The field that d->field names differs. */
static void put(differ *d, slw_bytes old_value, slw_bytes new_value) {
    slwi_near *near = d->near;
    if (d->failed) return;
    if (near->count == SLW_LIMIT_DIFFERENCES) {
        near->total++;
        return;
    }
    if (!grow(d)) return;
    const size_t size = near->texts.size;
    slwi_near_field *item = &near->items[near->count++];
    slwi_near_text(near, bytes_of(&d->field), &item->field);
    slwi_near_text(near, old_value, &item->old_value);
    slwi_near_text(near, new_value, &item->new_value);
    if (near->texts.failed || d->field.failed) {
        d->failed = SLW_E_NO_MEMORY;
        near->count--;
    } else if (is_repeated(near)) {
        near->texts.size = size;
        near->count--;
    } else {
        near->total++;
    }
}

static void put_field(differ *d, const char *field, slw_bytes old_value, slw_bytes new_value) {
    slwi_buffer_clear(&d->field);
    slwi_buffer_append_text(&d->field, field);
    put(d, old_value, new_value);
}

static void put_texts(differ *d, const char *field, const char *old_value, const char *new_value) {
    if (old_value == new_value || (old_value != NULL && new_value != NULL && strcmp(old_value, new_value) == 0)) return;
    put_field(d, field, text_of(old_value), text_of(new_value));
}

/* ---- records ---------------------------------------------------------------------------------------------------- */

static void cut_field(differ *d, size_t size) {
    d->field.size = size;
    if (d->field.data != NULL) d->field.data[size] = '\0';
}

/* A value as text; with its type where the types differ and the texts might not: 1 and "1". */
static slw_bytes value_text(const slwi_json *record, int with_type, slwi_buffer *out) {
    slw_bytes tag;
    if (record == NULL) return nothing;
    slwi_explain_text(record, out);
    if (with_type && slwi_json_string(slwi_json_get(record, "t"), &tag)) {
        slwi_buffer plain = *out;
        slwi_buffer_init(out, plain.allocator, SIZE_MAX);
        slwi_buffer_printf(out, "%.16s ", (const char *)tag.data);
        slwi_buffer_append(out, plain.data != NULL ? plain.data : "", plain.size);
        slwi_buffer_free(&plain);
    }
    return bytes_of(out);
}

static int same_type(const slwi_json *a, const slwi_json *b) {
    return slwi_explain_equal(slwi_json_get(a, "t"), slwi_json_get(b, "t"));
}

static void put_values(differ *d, const slwi_json *a, const slwi_json *b) {
    const int with_type =
        a != NULL && b != NULL && !same_type(a, b) && !slwi_explain_is(a, "none") && !slwi_explain_is(b, "none");
    const slw_bytes old_value = value_text(a, with_type, &d->one);
    const slw_bytes new_value = value_text(b, with_type, &d->other);
    if (d->one.failed || d->other.failed) d->failed = SLW_E_NO_MEMORY;
    put(d, old_value, new_value);
}

/* A tuple of a name and a digest: an include root, an override. `name` gets the first, 0 where it is no such tuple. */
static int is_named_digest(const slwi_json *record, slwi_buffer *name, slwi_buffer *digest) {
    const slwi_json *items = slwi_json_get(record, "v");
    if (!slwi_explain_is(record, "tuple") || slwi_json_length(items) != 2) return 0;
    return slwi_explain_string(slwi_json_item(items, 1), digest) && digest->size == SLW_DIGEST_TEXT_SIZE - 1 &&
           slwi_explain_string(slwi_json_item(items, 0), name);
}

static void compare_records(differ *d, const slwi_json *a, const slwi_json *b);

/* Of the same name its digest differs; of two names the names do, and the digests of two things say nothing. */
static int compare_named_digests(differ *d, const slwi_json *a, const slwi_json *b) {
    slwi_buffer name;
    slwi_buffer_init(&name, d->allocator, SIZE_MAX);
    int done = 0;
    if (is_named_digest(a, &name, &d->one) && is_named_digest(b, &d->other, &d->one)) {
        const int same = name.size == d->other.size && memcmp(name.data, d->other.data, name.size) == 0;
        if (same) {
            slwi_buffer_append_char(&d->field, ' ');
            slwi_buffer_append(&d->field, name.data, name.size);
            (void)is_named_digest(a, &name, &d->one);
            (void)is_named_digest(b, &name, &d->other);
            put(d, bytes_of(&d->one), bytes_of(&d->other));
        } else {
            put(d, bytes_of(&name), bytes_of(&d->other));
        }
        done = 1;
    }
    if (name.failed) d->failed = SLW_E_NO_MEMORY;
    slwi_buffer_free(&name);
    return done;
}

/* What both begin and end with is the same; between, item by item. */
static void compare_lists(differ *d, const slwi_json *a, const slwi_json *b) {
    const slwi_json *x = slwi_json_get(a, "v"), *y = slwi_json_get(b, "v");
    size_t begin = 0, x_end = slwi_json_length(x), y_end = slwi_json_length(y);
    while (begin < x_end && begin < y_end && slwi_explain_equal(slwi_json_item(x, begin), slwi_json_item(y, begin)))
        begin++;
    while (x_end > begin && y_end > begin &&
           slwi_explain_equal(slwi_json_item(x, x_end - 1), slwi_json_item(y, y_end - 1)))
        x_end--, y_end--;
    const size_t size = d->field.size;
    for (size_t i = begin; i < x_end || i < y_end; i++) {
        slwi_buffer_printf(&d->field, "[%llu]", (unsigned long long)i);
        compare_records(d, i < x_end ? slwi_json_item(x, i) : NULL, i < y_end ? slwi_json_item(y, i) : NULL);
        cut_field(d, size);
    }
}

/* The name of a pair; 0: it is no pair. */
static int pair_name(const slwi_json *pairs, size_t index, slwi_buffer *out) {
    return index < slwi_json_length(pairs) && slwi_explain_string(slwi_json_item(slwi_json_item(pairs, index), 0), out);
}

static int name_order(const slwi_buffer *a, const slwi_buffer *b) {
    const size_t size = a->size < b->size ? a->size : b->size;
    const int order = size > 0 ? memcmp(a->data, b->data, size) : 0;
    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

static void compare_member(differ *d, const slwi_buffer *name, const slwi_json *a, const slwi_json *b) {
    static const char lowered[] = "source.lowered";
    const size_t size = d->field.size;
    if (size > 0) slwi_buffer_append_char(&d->field, '.');
    slwi_buffer_append(&d->field, name->data != NULL ? name->data : "", name->size);
    const int told = d->without_lowered && strcmp(d->field.data != NULL ? d->field.data : "", lowered) == 0;
    if (!told) compare_records(d, a, b);
    cut_field(d, size);
}

/* The members of a dict stand in order. */
static void compare_dicts(differ *d, const slwi_json *a, const slwi_json *b) {
    const slwi_json *x = slwi_json_get(a, "v"), *y = slwi_json_get(b, "v");
    slwi_buffer x_name, y_name;
    slwi_buffer_init(&x_name, d->allocator, SIZE_MAX);
    slwi_buffer_init(&y_name, d->allocator, SIZE_MAX);
    for (size_t i = 0, j = 0; !d->failed;) {
        const int has_x = pair_name(x, i, &x_name), has_y = pair_name(y, j, &y_name);
        if (!has_x && !has_y) break;
        const int order = !has_x ? 1 : !has_y ? -1 : name_order(&x_name, &y_name);
        const slwi_json *old_value = order <= 0 ? slwi_json_item(slwi_json_item(x, i), 1) : NULL;
        const slwi_json *new_value = order >= 0 ? slwi_json_item(slwi_json_item(y, j), 1) : NULL;
        compare_member(d, order <= 0 ? &x_name : &y_name, old_value, new_value);
        i += order <= 0;
        j += order >= 0;
    }
    if (x_name.failed || y_name.failed) d->failed = SLW_E_NO_MEMORY;
    slwi_buffer_free(&x_name);
    slwi_buffer_free(&y_name);
}

/* NULL: absent on that side. The depth of both was bounded when they were read. */
static void compare_records(differ *d, const slwi_json *a, const slwi_json *b) {
    if (d->failed || (a == NULL && b == NULL)) return;
    if (a == NULL || b == NULL) {
        put_values(d, a, b);
        return;
    }
    if (slwi_explain_equal(a, b)) return;
    if (slwi_explain_is(a, "dict") && slwi_explain_is(b, "dict"))
        compare_dicts(d, a, b);
    else if (!compare_named_digests(d, a, b)) {
        const int lists = same_type(a, b) && (slwi_explain_is(a, "list") || slwi_explain_is(a, "tuple"));
        if (lists)
            compare_lists(d, a, b);
        else
            put_values(d, a, b);
    }
}

/* ---- the documents ---------------------------------------------------------------------------------------------- */

static const slwi_json *object_of(const slwi_json *object, const char *name) {
    const slwi_json *member = object != NULL ? slwi_json_get(object, name) : NULL;
    return member != NULL && slwi_json_kind(member) == SLWI_JSON_OBJECT ? member : NULL;
}

static const char *text_member(const slwi_json *object, const char *name) {
    slw_bytes text;
    return object != NULL && slwi_json_string(slwi_json_get(object, name), &text) ? text.data : NULL;
}

/* One of the two records; where a side does not keep it, the digests of the key are all that is known. */
static void compare_input(differ *d, const slwi_side *a, const slwi_side *b, const char *input, const char *digest,
                          int is_told) {
    const slwi_json *x = object_of(object_of(a->root, "inputs"), input);
    const slwi_json *y = object_of(object_of(b->root, "inputs"), input);
    const uint64_t before = d->near->total;
    const char *old_digest = text_member(object_of(a->root, "record"), digest);
    const char *new_digest = text_member(object_of(b->root, "record"), digest);
    slwi_buffer_clear(&d->field);
    slwi_buffer_append_text(&d->field, input);
    if (x != NULL && y != NULL) compare_records(d, x, y);
    if (!is_told && d->near->total == before) put_texts(d, digest, old_digest, new_digest);
}

static void compare_source(differ *d, const slwi_side *a, const slwi_side *b) {
    const slwi_json *x = object_of(object_of(a->root, "inputs"), "lowered");
    const slwi_json *y = object_of(object_of(b->root, "inputs"), "lowered");
    const int kept = object_of(object_of(a->root, "inputs"), "source") != NULL &&
                     object_of(object_of(b->root, "inputs"), "source") != NULL;
    if (!kept) put_texts(d, "source.name", text_member(a->root, "name"), text_member(b->root, "name"));
    const uint64_t before = d->near->total;
    slwi_buffer_clear(&d->field);
    slwi_buffer_append_text(&d->field, "source.lowered");
    if (x != NULL && y != NULL) compare_records(d, x, y);
    d->without_lowered = d->near->total != before;
    /* The digest of the whole says nothing beside what it is made of. */
    compare_input(d, a, b, "source", "source", d->without_lowered);
}

/* The field's name of an item: "compiler: /usr/bin/gcc" of a path, "environment.PATH" of a name. */
static int is_path(const char *kind) {
    static const char *const kinds[] = {"file", "program", "tree", "absent", "build_id", "claimed_tree", NULL};
    for (const char *const *at = kinds; *at != NULL; at++)
        if (strcmp(*at, kind) == 0) return 1;
    return 0;
}

static int same_item(const slwi_json *a, const slwi_json *b) {
    const char *x_kind = text_member(a, "kind"), *y_kind = text_member(b, "kind");
    const char *x_name = text_member(a, "name"), *y_name = text_member(b, "name");
    if (x_kind == NULL || y_kind == NULL || x_name == NULL || y_name == NULL || strcmp(x_name, y_name) != 0) return 0;
    if (strcmp(x_kind, y_kind) == 0) return 1;
    if (is_path(x_kind) || is_path(y_kind)) return is_path(x_kind) && is_path(y_kind);
    return (strcmp(x_kind, "environment") == 0 || strcmp(x_kind, "unset") == 0) &&
           (strcmp(y_kind, "environment") == 0 || strcmp(y_kind, "unset") == 0);
}

/* Its place in the other list, which most often stands in the same order; SIZE_MAX: none. */
static size_t find_item(const slwi_json *list, const slwi_json *item, size_t hint) {
    const size_t count = slwi_json_length(list);
    for (size_t i = 0; i < count; i++) {
        const size_t at = (hint + i) % count;
        if (same_item(slwi_json_item(list, at), item)) return at;
    }
    return SIZE_MAX;
}

static const char *item_value(const slwi_json *item) {
    if (item == NULL) return NULL;
    const char *value = text_member(item, "value");
    if (value == NULL) value = text_member(item, "digest");
    return value != NULL ? value : text_member(item, "kind");
}

static void put_item(differ *d, const char *component, const slwi_json *a, const slwi_json *b) {
    const slwi_json *item = b != NULL ? b : a;
    const char *kind = text_member(item, "kind"), *name = text_member(item, "name");
    const char *old_value = item_value(a), *new_value = item_value(b);
    if (kind == NULL || name == NULL) return;
    if (old_value != NULL && new_value != NULL && strcmp(old_value, new_value) == 0) return;
    slwi_buffer_clear(&d->field);
    slwi_buffer_append_text(&d->field, component);
    slwi_buffer_append_text(&d->field, is_path(kind) ? ": " : ".");
    slwi_buffer_append_text(&d->field, name);
    put(d, text_of(old_value), text_of(new_value));
}

static void compare_inventories(differ *d, const char *component, const slwi_json *a, const slwi_json *b) {
    size_t hint = 0;
    for (size_t i = 0; i < slwi_json_length(a) && !d->failed; i++) {
        const slwi_json *item = slwi_json_item(a, i);
        const size_t at = find_item(b, item, hint);
        put_item(d, component, item, at != SIZE_MAX ? slwi_json_item(b, at) : NULL);
        if (at != SIZE_MAX) hint = at + 1;
    }
    hint = 0;
    for (size_t i = 0; i < slwi_json_length(b) && !d->failed; i++) {
        const size_t at = find_item(a, slwi_json_item(b, i), hint);
        if (at == SIZE_MAX) put_item(d, component, NULL, slwi_json_item(b, i));
        if (at != SIZE_MAX) hint = at + 1;
    }
}

static const slwi_json *inventory_of(const slwi_json *component) {
    const slwi_json *list = component != NULL ? slwi_json_get(component, "inventory") : NULL;
    return list != NULL && slwi_json_kind(list) == SLWI_JSON_ARRAY ? list : NULL;
}

/* What is in a component by name; where that does not say it, its digest does. */
static void compare_component(differ *d, const char *name, const slwi_json *a, const slwi_json *b) {
    const char *old_digest = a != NULL ? text_member(a, "digest") : NULL;
    const char *new_digest = b != NULL ? text_member(b, "digest") : NULL;
    if (old_digest != NULL && new_digest != NULL && strcmp(old_digest, new_digest) == 0) return;
    const slwi_json *x = inventory_of(a), *y = inventory_of(b);
    const uint64_t before = d->near->total;
    if (x != NULL && y != NULL) compare_inventories(d, name, x, y);
    if (d->near->total != before) return;
    char field[SLW_LIMIT_COMPONENT_NAME_BYTES + 16];
    (void)snprintf(field, sizeof field, "toolchain.%.*s", (int)SLW_LIMIT_COMPONENT_NAME_BYTES, name);
    put_texts(d, field, old_digest, new_digest);
}

static const slwi_json *component_of(const slwi_json *components, const char *name) {
    for (size_t i = 0; i < slwi_json_length(components); i++) {
        const slwi_json *item = slwi_json_item(components, i);
        const char *found = text_member(item, "name");
        if (found != NULL && strcmp(found, name) == 0) return item;
    }
    return NULL;
}

static void compare_toolchains(differ *d, const slwi_side *a, const slwi_side *b) {
    const slwi_json *x = object_of(a->root, "toolchain"), *y = object_of(b->root, "toolchain");
    const slwi_json *old_list = x != NULL ? slwi_json_get(x, "components") : NULL;
    const slwi_json *new_list = y != NULL ? slwi_json_get(y, "components") : NULL;
    const char *old_digest = text_member(component_of(old_list, "compiler"), "digest");
    const char *new_digest = text_member(component_of(new_list, "compiler"), "digest");
    /* The path that a compiler was asked for by is in no key, but it tells at once why its files are others. */
    if (old_digest == NULL || new_digest == NULL || strcmp(old_digest, new_digest) != 0)
        put_texts(d, "toolchain.compiler", text_member(x, "compiler"), text_member(y, "compiler"));
    for (size_t i = 0; i < slwi_json_length(old_list); i++) {
        const slwi_json *item = slwi_json_item(old_list, i);
        const char *name = text_member(item, "name");
        if (name != NULL) compare_component(d, name, item, component_of(new_list, name));
    }
    for (size_t i = 0; i < slwi_json_length(new_list); i++) {
        const slwi_json *item = slwi_json_item(new_list, i);
        const char *name = text_member(item, "name");
        if (name != NULL && component_of(old_list, name) == NULL) compare_component(d, name, NULL, item);
    }
}

static void compare_revisions(differ *d, const slwi_side *a, const slwi_side *b) {
    char old_value[16], new_value[16];
    if (a->reader_revision == b->reader_revision || a->reader_revision == 0 || b->reader_revision == 0) return;
    (void)snprintf(old_value, sizeof old_value, "%u", a->reader_revision);
    (void)snprintf(new_value, sizeof new_value, "%u", b->reader_revision);
    put_texts(d, "reader_revision", old_value, new_value);
}

static void compare_specs(differ *d, const slwi_side *a, const slwi_side *b) {
    if (strcmp(a->spec, b->spec) == 0) return;
    const uint64_t before = d->near->total;
    put_texts(d, "spec.state", a->state, b->state);
    put_texts(d, "spec.build_kind", a->build_kind, b->build_kind);
    put_texts(d, "spec.required_files", bytes_of(&a->required).data, bytes_of(&b->required).data);
    if (d->near->total == before) put_texts(d, "spec", a->spec, b->spec);
}

/* The same backend: by its name, or because it has the same identity. */
static int same_backend(const slwi_side *a, const slwi_side *b) {
    const char *x = a->backend != NULL ? a->backend : text_member(a->root, "backend");
    const char *y = b->backend != NULL ? b->backend : text_member(b->root, "backend");
    if (x != NULL && y != NULL && strcmp(x, y) == 0) return 1;
    const slwi_json *old_list = slwi_json_get(object_of(a->root, "toolchain"), "components");
    const slwi_json *new_list = slwi_json_get(object_of(b->root, "toolchain"), "components");
    x = text_member(component_of(old_list, "backend"), "digest");
    y = text_member(component_of(new_list, "backend"), "digest");
    return x != NULL && y != NULL && strcmp(x, y) == 0;
}

static void describe(slwi_near *near, const slwi_side *side) {
    slwi_near_text(near, text_of(side->key), &near->key);
    slwi_near_text(near, text_of(side->spec), &near->spec);
    slwi_near_text(near, text_of(side->state), &near->state);
    slwi_near_text(near, text_of(text_member(side->root, "name")), &near->name);
    slwi_near_text(near, text_of(text_member(side->root, "backend")), &near->backend);
    slwi_near_text(near, text_of(text_member(side->root, "target")), &near->target);
}

slw_code slwi_compare(const slw_allocator *allocator, const slwi_side *old_side, const slwi_side *new_side,
                      slwi_near *near, slw_error *err) {
    differ d = {.allocator = allocator, .near = near};
    memset(near, 0, sizeof *near);
    slwi_buffer_init(&near->texts, allocator, SIZE_MAX);
    slwi_buffer_init(&d.field, allocator, SIZE_MAX);
    slwi_buffer_init(&d.one, allocator, SIZE_MAX);
    slwi_buffer_init(&d.other, allocator, SIZE_MAX);
    describe(near, old_side);
    const char *old_name = text_member(old_side->root, "name"), *new_name = text_member(new_side->root, "name");
    if (old_name == NULL || new_name == NULL || strcmp(old_name, new_name) != 0) near->apart += 2;
    if (!same_backend(old_side, new_side)) near->apart += 1;
    compare_source(&d, old_side, new_side);
    compare_input(&d, old_side, new_side, "options", "specialization", 0);
    compare_toolchains(&d, old_side, new_side);
    compare_revisions(&d, old_side, new_side);
    compare_specs(&d, old_side, new_side);
    const int failed = d.failed || near->texts.failed || d.field.failed;
    slwi_buffer_free(&d.field);
    slwi_buffer_free(&d.one);
    slwi_buffer_free(&d.other);
    return failed ? slwi_fail_memory(err, near->texts.size) : SLW_OK;
}
