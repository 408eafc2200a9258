/* Typed records: nodes, containers, ownership. Nothing here recurses: a record may be 512 deep. */
#include <assert.h>
#include <string.h>

#include "checked.h"
#include "fail.h"
#include "heap_sort.h"
#include "record_node.h"
#include "text.h"

int slwi_record_is_container(const slw_record *record) {
    return record->kind >= SLWI_RECORD_LIST;
}

slw_bytes slwi_record_text(const slw_record *record) {
    return (slw_bytes){record->text, record->as.text.size};
}

slw_record *slwi_record_node(const slw_allocator *allocator, slwi_record_kind kind, const void *data, size_t size) {
    size_t total;
    if (slwi_add_size(sizeof(slw_record) + 1, size, &total)) return NULL;
    slw_record *node = slwi_alloc(allocator, total);
    if (node == NULL) return NULL;
    memset(node, 0, sizeof *node);
    node->tag = SLWI_RECORD_TAG;
    node->kind = (uint16_t) kind;
    node->height = 1;
    node->allocator = *allocator;
    if (kind == SLWI_RECORD_INT || kind == SLWI_RECORD_STRING || kind == SLWI_RECORD_BYTES) node->as.text.size = size;
    if (size != 0) memcpy(node->text, data, size);
    node->text[size] = 0;
    return node;
}

int slwi_record_decimal_ok(slw_bytes decimal) {
    const char *digits = decimal.data;
    size_t size = decimal.size, at = 0;
    if (size != 0 && digits[0] == '-') at = 1;
    if (at == size) return 0;
    if (digits[at] == '0') return size == 1; /* no leading zero, no negative one */
    for (; at < size; at++) {
        if (digits[at] < '0' || digits[at] > '9') return 0;
    }
    return 1;
}

int slwi_record_wtf8_ok(slw_bytes text) {
    size_t at = 0;
    uint32_t code_point;
    while (at < text.size) {
        if (!slwi_wtf8_next(text, &at, &code_point)) return 0;
    }
    return 1;
}

/* The beginning and the end of every maker. */
static slw_code make(const slw_allocator *allocator, slwi_record_kind kind, slw_bytes text, uint64_t bits,
                     slw_record **out, slw_error *err) {
    slw_allocator taken;
    slw_code rc = slwi_allocator_take(allocator, &taken, err);
    if (rc != SLW_OK) return rc;
    slw_record *node = slwi_record_node(&taken, kind, text.data, text.size);
    if (node == NULL) return slwi_fail_memory(err, sizeof *node + text.size);
    if (kind == SLWI_RECORD_BOOL || kind == SLWI_RECORD_FLOAT) node->as.bits = bits;
    *out = node;
    return SLW_OK;
}

static slw_code check_maker(slw_record **out, slw_bytes text, slw_error *err) {
    slwi_error_reset(err);
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, "NULL", "no place for the record");
    if (text.data == NULL && text.size != 0) return slwi_fail(err, SLW_E_USAGE, "NULL", "no text for the record");
    return SLW_OK;
}

static slw_code make_plain(const slw_allocator *allocator, slwi_record_kind kind, uint64_t bits, slw_record **out,
                           slw_error *err) {
    slw_bytes none = {NULL, 0};
    slw_code rc = check_maker(out, none, err);
    return rc != SLW_OK ? rc : make(allocator, kind, none, bits, out, err);
}

slw_code slw_record_none(const slw_allocator *allocator, slw_record **out, slw_error *err) {
    return make_plain(allocator, SLWI_RECORD_NONE, 0, out, err);
}

slw_code slw_record_bool(const slw_allocator *allocator, int value, slw_record **out, slw_error *err) {
    return make_plain(allocator, SLWI_RECORD_BOOL, value != 0, out, err);
}

slw_code slw_record_float(const slw_allocator *allocator, double value, slw_record **out, slw_error *err) {
    uint64_t bits;
    _Static_assert(sizeof bits == sizeof value, "a double is binary64");
    memcpy(&bits, &value, sizeof bits);
    return make_plain(allocator, SLWI_RECORD_FLOAT, bits, out, err);
}

slw_code slw_record_list(const slw_allocator *allocator, slw_record **out, slw_error *err) {
    return make_plain(allocator, SLWI_RECORD_LIST, 0, out, err);
}

slw_code slw_record_tuple(const slw_allocator *allocator, slw_record **out, slw_error *err) {
    return make_plain(allocator, SLWI_RECORD_TUPLE, 0, out, err);
}

slw_code slw_record_dict(const slw_allocator *allocator, slw_record **out, slw_error *err) {
    return make_plain(allocator, SLWI_RECORD_DICT, 0, out, err);
}

slw_code slw_record_int_text(const slw_allocator *allocator, slw_bytes decimal, slw_record **out, slw_error *err) {
    slw_code rc = check_maker(out, decimal, err);
    if (rc != SLW_OK) return rc;
    if (!slwi_record_decimal_ok(decimal)) {
        slwi_error_subject(err, decimal.data, decimal.size);
        return slwi_fail(err, SLW_E_USAGE, "BAD_INTEGER", "not a decimal integer in its one canonical form");
    }
    return make(allocator, SLWI_RECORD_INT, decimal, 0, out, err);
}

slw_code slw_record_int(const slw_allocator *allocator, int64_t value, slw_record **out, slw_error *err) {
    char digits[24];
    char *end = digits + sizeof digits, *first = end;
    uint64_t magnitude = value < 0 ? 0 - (uint64_t) value : (uint64_t) value;
    do {
        *--first = (char) ('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude != 0);
    if (value < 0) *--first = '-';
    return slw_record_int_text(allocator, (slw_bytes){first, (size_t) (end - first)}, out, err);
}

slw_code slw_record_string(const slw_allocator *allocator, slw_bytes wtf8, slw_record **out, slw_error *err) {
    slw_code rc = check_maker(out, wtf8, err);
    if (rc != SLW_OK) return rc;
    if (!slwi_record_wtf8_ok(wtf8)) return slwi_fail(err, SLW_E_USAGE, "BAD_TEXT", "the string is not UTF-8");
    return make(allocator, SLWI_RECORD_STRING, wtf8, 0, out, err);
}

slw_code slw_record_bytes(const slw_allocator *allocator, slw_bytes bytes, slw_record **out, slw_error *err) {
    slw_code rc = check_maker(out, bytes, err);
    return rc != SLW_OK ? rc : make(allocator, SLWI_RECORD_BYTES, bytes, 0, out, err);
}

slw_code slw_record_os_string(const slw_allocator *allocator, slw_bytes raw, slw_record **out, slw_error *err) {
    slw_allocator taken;
    slwi_buffer text;
    slw_code rc = check_maker(out, raw, err);
    if (rc == SLW_OK) rc = slwi_allocator_take(allocator, &taken, err);
    if (rc != SLW_OK) return rc;
    slwi_buffer_init(&text, &taken, SIZE_MAX);
    slwi_os_to_wtf8(raw, &text);
    rc = slwi_buffer_status(&text, err);
    if (rc == SLW_OK) rc = make(&taken, SLWI_RECORD_STRING, (slw_bytes){text.data, text.size}, 0, out, err);
    slwi_buffer_free(&text);
    return rc;
}

int slwi_record_reserve(slw_record *container, size_t more) {
    size_t needed, capacity = container->as.list.capacity;
    if (slwi_add_size(container->as.list.count, more, &needed)) return 0;
    if (needed <= capacity) return 1;
    if (capacity <= SIZE_MAX / 2 && needed < 2 * capacity) needed = 2 * capacity;
    slw_record **items =
        slwi_realloc_array(&container->allocator, container->as.list.items, needed, sizeof(void *));
    if (items == NULL) return 0;
    container->as.list.items = items;
    container->as.list.capacity = needed;
    return 1;
}

static void adopt(slw_record *container, slw_record *item) {
    item->parent = container;
    if (item->height >= container->height) container->height = (uint16_t) (item->height + 1);
}

void slwi_record_push(slw_record *container, slw_record *item) {
    assert(item->parent == NULL && container->as.list.count < container->as.list.capacity);
    container->as.list.items[container->as.list.count++] = item;
    adopt(container, item);
}

static int compare_text(slw_bytes a, slw_bytes b) {
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common == 0 ? 0 : memcmp(a.data, b.data, common);
    if (order != 0) return order;
    return a.size < b.size ? -1 : a.size > b.size; /* WTF-8 in byte order is code points in order */
}

static int compare_pairs(const void *a, const void *b) {
    const slw_record *const *left = a, *const *right = b;
    return compare_text(slwi_record_text(left[0]), slwi_record_text(right[0]));
}

int slwi_record_dict_sort(slw_record *dict, const slw_record **duplicate) {
    slw_record **items = dict->as.list.items;
    slwi_heap_sort(items, dict->as.list.count / 2, 2 * sizeof(void *), compare_pairs);
    for (size_t i = 2; i < dict->as.list.count; i += 2) {
        if (compare_pairs(items + i - 2, items + i) == 0) {
            *duplicate = items[i];
            return 0;
        }
    }
    return 1;
}

/* Where a name stands in a dict (as an index of items), or has to be put: 1 when it is there. */
static int find_name(const slw_record *dict, slw_bytes name, size_t *at) {
    size_t low = 0, high = dict->as.list.count / 2;
    if (high != 0) { /* names often come in order */
        int order = compare_text(slwi_record_text(dict->as.list.items[2 * (high - 1)]), name);
        if (order < 0) low = high;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_text(slwi_record_text(dict->as.list.items[2 * middle]), name);
        if (order == 0) {
            *at = 2 * middle;
            return 1;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *at = 2 * low;
    return 0;
}

static int is_free(const slw_record *record) {
    return record != NULL && record->tag == SLWI_RECORD_TAG && record->parent == NULL;
}

static slw_code bad_move(slw_error *err, const char *why) {
    (void) slwi_fail(err, SLW_E_USAGE, "BAD_RECORD", "%s", why);
    return SLW_E_USAGE;
}

static slw_code check_move(const slw_record *container, slw_record **item, slw_error *err) {
    if (!is_free(container) || !slwi_record_is_container(container)) {
        return bad_move(err, "not a container that can still be changed");
    }
    if (item == NULL || !is_free(*item) || *item == container) {
        return bad_move(err, "not a record that can still be moved");
    }
    if ((*item)->height >= SLW_LIMIT_RECORD_DEPTH) {
        slwi_error_amount(err, "record depth", (uint64_t) (*item)->height + 1, SLW_LIMIT_RECORD_DEPTH, "levels");
        (void) slwi_fail(err, SLW_E_LIMIT, "DEPTH", "the record would be nested too deeply");
        return SLW_E_LIMIT;
    }
    return SLW_OK;
}

slw_code slw_record_append(slw_record *sequence, slw_record **item, slw_error *err) {
    slwi_error_reset(err);
    slw_code rc = check_move(sequence, item, err);
    if (rc != SLW_OK) return rc;
    if (sequence->kind == SLWI_RECORD_DICT) {
        return bad_move(err, "items of a dict have names: use slw_record_set");
    }
    if (!slwi_record_reserve(sequence, 1)) return slwi_fail_memory(err, sizeof(void *));
    slwi_record_push(sequence, *item);
    *item = NULL;
    return SLW_OK;
}

slw_code slw_record_set(slw_record *dict, slw_bytes name, slw_record **item, slw_error *err) {
    size_t at;
    slwi_error_reset(err);
    slw_code rc = check_move(dict, item, err);
    if (rc != SLW_OK) return rc;
    if (dict->kind != SLWI_RECORD_DICT) {
        return bad_move(err, "only items of a dict have names: use slw_record_append");
    }
    if ((name.data == NULL && name.size != 0) || !slwi_record_wtf8_ok(name)) {
        return slwi_fail(err, SLW_E_USAGE, "BAD_TEXT", "the name is not UTF-8");
    }
    if (find_name(dict, name, &at)) {
        slwi_error_subject(err, name.data, name.size);
        return slwi_fail(err, SLW_E_USAGE, "DUPLICATE", "the dict has an item of that name");
    }
    slw_record *key = slwi_record_node(&dict->allocator, SLWI_RECORD_STRING, name.data, name.size);
    if (key == NULL || !slwi_record_reserve(dict, 2)) {
        slwi_free(&dict->allocator, key);
        return slwi_fail_memory(err, sizeof *key + name.size);
    }
    slw_record **items = dict->as.list.items;
    memmove(items + at + 2, items + at, (dict->as.list.count - at) * sizeof(void *));
    items[at] = key;
    items[at + 1] = *item;
    dict->as.list.count += 2;
    adopt(dict, key);
    adopt(dict, *item);
    *item = NULL;
    return SLW_OK;
}

/* One node without its items. */
static slw_record *copy_node(const slw_allocator *allocator, const slw_record *from) {
    const slw_bytes text = slwi_record_is_container(from) || from->kind == SLWI_RECORD_NONE ||
                                   from->kind == SLWI_RECORD_BOOL || from->kind == SLWI_RECORD_FLOAT
                               ? (slw_bytes){NULL, 0}
                               : slwi_record_text(from);
    slw_record *node = slwi_record_node(allocator, (slwi_record_kind)from->kind, text.data, text.size);
    if (node == NULL) return NULL;
    if (from->kind == SLWI_RECORD_BOOL || from->kind == SLWI_RECORD_FLOAT) node->as.bits = from->as.bits;
    return node;
}

slw_code slw_record_copy(const slw_allocator *allocator, const slw_record *record, slw_record **out, slw_error *err) {
    slw_allocator taken = SLW_ALLOCATOR_INIT;
    slwi_error_reset(err);
    if (record == NULL || record->tag != SLWI_RECORD_TAG || out == NULL)
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_record_copy needs a record and `out`");
    slw_code rc = slwi_allocator_take(allocator, &taken, err);
    if (rc != SLW_OK) return rc;
    slw_record *root = copy_node(&taken, record);
    slw_record *to = root;
    const slw_record *from = record;
    if (root != NULL) root->height = record->height;
    /* How many items the copy has says which is next, so that no stack is needed. */
    while (to != NULL) {
        if (slwi_record_is_container(to) && to->as.list.count < from->as.list.count) {
            from = from->as.list.items[to->as.list.count];
            slw_record *item = copy_node(&taken, from);
            if (item == NULL || !slwi_record_reserve(to, 1)) {
                slwi_free(&taken, item);
                slw_record_release(&root);
                break;
            }
            item->height = from->height;
            slwi_record_push(to, item);
            to = item;
        } else if (to == root) {
            *out = root;
            return SLW_OK;
        } else {
            to = to->parent;
            from = from->parent;
        }
    }
    return slwi_fail_memory(err, sizeof *root);
}

void slw_record_release(slw_record **record) {
    if (record == NULL) return;
    slw_record *node = *record;
    *record = NULL;
    if (!is_free(node)) return; /* NULL, or owned by another record */
    while (node != NULL) {
        slw_record *parent = node->parent;
        if (slwi_record_is_container(node) && node->as.list.count != 0) {
            node = node->as.list.items[--node->as.list.count];
            continue;
        }
        slw_allocator allocator = node->allocator;
        if (slwi_record_is_container(node)) slwi_free(&allocator, node->as.list.items);
        node->tag = 0;
        slwi_free(&allocator, node);
        node = parent;
    }
}
