#include "msgpack.h"

#include <slipway/limits.h>
#include <string.h>

#include "fail.h"
#include "heap_sort.h"
#include "memory.h"
#include "reader.h"

/* ---- items ---- */

/* MessagePack is big-endian. 1, or 0 where it ends before `width` bytes. */
static int load(slw_bytes document, uint64_t at, uint32_t width, uint64_t *out) {
    slw_bytes window;
    if (!slwi_window(document, at, width, &window)) return 0;
    const uint8_t *bytes = window.data;
    uint64_t value = 0;
    for (uint32_t i = 0; i < width; i++) value = (value << 8) | bytes[i];
    *out = value;
    return 1;
}

static uint64_t extended(uint64_t value, uint32_t width) {
    if (width == 0 || width >= 8) return value;
    uint64_t sign = 1ull << (8 * width - 1);
    return (value ^ sign) - sign;
}

/* What stands behind a first byte from 0xc0 to 0xdf: a value, or a length, of `width` bytes. */
typedef struct form {
    slwi_msgpack_kind kind;
    uint8_t width;  /* of the number or length; 0: none */
    uint8_t size;   /* fixed size of the text, for a width of 0 */
    uint8_t is_bad; /* no item starts so */
    uint8_t is_signed;
} form;

static const form forms[32] = {
    {SLWI_MSGPACK_NIL, 0, 0, 0, 0},        {SLWI_MSGPACK_NIL, 0, 0, 1, 0},       {SLWI_MSGPACK_BOOL, 0, 0, 0, 0},
    {SLWI_MSGPACK_BOOL, 0, 0, 0, 0},       {SLWI_MSGPACK_BINARY, 1, 0, 0, 0},    {SLWI_MSGPACK_BINARY, 2, 0, 0, 0},
    {SLWI_MSGPACK_BINARY, 4, 0, 0, 0},     {SLWI_MSGPACK_EXTENSION, 1, 0, 0, 0}, {SLWI_MSGPACK_EXTENSION, 2, 0, 0, 0},
    {SLWI_MSGPACK_EXTENSION, 4, 0, 0, 0},  {SLWI_MSGPACK_FLOAT, 4, 0, 0, 0},     {SLWI_MSGPACK_FLOAT, 8, 0, 0, 0},
    {SLWI_MSGPACK_UNSIGNED, 1, 0, 0, 0},   {SLWI_MSGPACK_UNSIGNED, 2, 0, 0, 0},  {SLWI_MSGPACK_UNSIGNED, 4, 0, 0, 0},
    {SLWI_MSGPACK_UNSIGNED, 8, 0, 0, 0},   {SLWI_MSGPACK_UNSIGNED, 1, 0, 0, 1},  {SLWI_MSGPACK_UNSIGNED, 2, 0, 0, 1},
    {SLWI_MSGPACK_UNSIGNED, 4, 0, 0, 1},   {SLWI_MSGPACK_UNSIGNED, 8, 0, 0, 1},  {SLWI_MSGPACK_EXTENSION, 0, 1, 0, 0},
    {SLWI_MSGPACK_EXTENSION, 0, 2, 0, 0},  {SLWI_MSGPACK_EXTENSION, 0, 4, 0, 0}, {SLWI_MSGPACK_EXTENSION, 0, 8, 0, 0},
    {SLWI_MSGPACK_EXTENSION, 0, 16, 0, 0}, {SLWI_MSGPACK_STRING, 1, 0, 0, 0},    {SLWI_MSGPACK_STRING, 2, 0, 0, 0},
    {SLWI_MSGPACK_STRING, 4, 0, 0, 0},     {SLWI_MSGPACK_ARRAY, 2, 0, 0, 0},     {SLWI_MSGPACK_ARRAY, 4, 0, 0, 0},
    {SLWI_MSGPACK_MAP, 2, 0, 0, 0},        {SLWI_MSGPACK_MAP, 4, 0, 0, 0},
};

static slwi_msgpack_step take_text(slw_bytes document, uint64_t *from, uint64_t size, slwi_msgpack_item *item) {
    if (item->kind == SLWI_MSGPACK_EXTENSION) *from += 1; /* the type byte */
    if (!slwi_window(document, *from, size, &item->text)) return SLWI_MSGPACK_SHORT;
    *from += size;
    return SLWI_MSGPACK_OK;
}

/* The first byte is from 0xc0 to 0xdf. */
static slwi_msgpack_step take_form(slw_bytes document, uint8_t first, uint64_t *from, slwi_msgpack_item *item) {
    const form *is = &forms[first - 0xc0];
    if (is->is_bad) return SLWI_MSGPACK_BAD;
    uint64_t number = is->size;
    if (is->width != 0 && !load(document, *from, is->width, &number)) return SLWI_MSGPACK_SHORT;
    *from += is->width;
    item->kind = is->kind;
    switch (is->kind) {
    case SLWI_MSGPACK_BOOL:
        item->number = first == 0xc3;
        return SLWI_MSGPACK_OK;
    case SLWI_MSGPACK_UNSIGNED:
        item->number = is->is_signed ? extended(number, is->width) : number;
        if (is->is_signed && (item->number >> 63) != 0) item->kind = SLWI_MSGPACK_NEGATIVE;
        return SLWI_MSGPACK_OK;
    case SLWI_MSGPACK_ARRAY:
    case SLWI_MSGPACK_MAP:
        item->count = (uint32_t)number; /* of at most 4 bytes */
        return SLWI_MSGPACK_OK;
    case SLWI_MSGPACK_STRING:
    case SLWI_MSGPACK_BINARY:
    case SLWI_MSGPACK_EXTENSION:
        return take_text(document, from, number, item);
    default:
        item->number = number;
        return SLWI_MSGPACK_OK;
    }
}

slwi_msgpack_step slwi_msgpack_next(slw_bytes document, uint64_t *at, slwi_msgpack_item *out) {
    slwi_msgpack_item item;
    uint8_t first = 0;
    memset(&item, 0, sizeof(item));
    item.text.data = "";
    item.at = *at;
    if (!slwi_read_u8(document, *at, &first)) return SLWI_MSGPACK_SHORT;
    uint64_t from = *at + 1;
    slwi_msgpack_step step = SLWI_MSGPACK_OK;
    if (first <= 0x7f) {
        item.kind = SLWI_MSGPACK_UNSIGNED;
        item.number = first;
    } else if (first >= 0xe0) {
        item.kind = SLWI_MSGPACK_NEGATIVE;
        item.number = extended(first, 1);
    } else if (first <= 0x9f) {
        item.kind = first <= 0x8f ? SLWI_MSGPACK_MAP : SLWI_MSGPACK_ARRAY;
        item.count = first & 15u;
    } else if (first <= 0xbf) {
        item.kind = SLWI_MSGPACK_STRING;
        step = take_text(document, &from, first & 31u, &item);
    } else {
        step = take_form(document, first, &from, &item);
    }
    if (step != SLWI_MSGPACK_OK) return step;
    *at = from;
    *out = item;
    return SLWI_MSGPACK_OK;
}

/* How many items stand inside. */
static uint64_t inside(const slwi_msgpack_item *item) {
    return item->kind == SLWI_MSGPACK_MAP ? 2ull * item->count : item->count;
}

slwi_msgpack_step slwi_msgpack_skip(slw_bytes document, uint64_t *at) {
    uint64_t from = *at;
    uint64_t left = 1; /* cannot overflow: a head of 5 bytes adds at most 2^33 */
    while (left > 0) {
        slwi_msgpack_item item;
        slwi_msgpack_step step = slwi_msgpack_next(document, &from, &item);
        if (step != SLWI_MSGPACK_OK) return step;
        left += inside(&item) - 1;
    }
    *at = from;
    return SLWI_MSGPACK_OK;
}

int slwi_msgpack_is(const slwi_msgpack_item *item, const char *text) {
    size_t size = strlen(text);
    return item->kind == SLWI_MSGPACK_STRING && item->text.size == size && memcmp(item->text.data, text, size) == 0;
}

/* ---- the whole document ---- */

typedef struct frame {
    uint64_t left;    /* items still to come */
    size_t first_key; /* of this map, in the stack of keys */
    int is_map;
} frame;

typedef struct checker {
    const slw_allocator *allocator;
    slw_bytes document;
    uint64_t base;
    const char *name;
    slw_error *err;
    frame frames[SLW_LIMIT_MSGPACK_DEPTH];
    uint32_t depth;
    uint64_t items;
    slw_bytes *keys; /* of all maps that are open */
    size_t key_count;
    size_t key_room;
} checker;

static void place(const checker *c, uint64_t at) {
    if (c->name != NULL) slwi_error_path(c->err, c->name);
    slwi_error_place(c->err, 0, 0, c->base + at);
}

static slw_code bad(const checker *c, uint64_t at, const char *reason, const char *what) {
    place(c, at);
    return slwi_fail(c->err, SLW_E_INVALID_BINARY, reason, "the metadata is not sound: %s", what);
}

static slw_code over(const checker *c, uint64_t at, const char *reason, uint64_t required, uint64_t limit) {
    int deep = required <= SLW_LIMIT_MSGPACK_DEPTH + 1;
    place(c, at);
    slwi_error_amount(c->err, deep ? "depth of the metadata" : "items of the metadata", required, limit,
                      deep ? "levels" : "items");
    return slwi_fail(c->err, SLW_E_LIMIT, reason, "the metadata %s", deep ? "nests too deep" : "has too many items");
}

static slw_code push_key(checker *c, slw_bytes key) {
    if (c->key_count == c->key_room) {
        size_t room = c->key_room == 0 ? 64 : 2 * c->key_room; /* at most twice SLW_LIMIT_MSGPACK_ITEMS */
        slw_bytes *more = slwi_realloc_array(c->allocator, c->keys, room, sizeof(*more));
        if (more == NULL) return slwi_fail_memory(c->err, room * sizeof(*more));
        c->keys = more;
        c->key_room = room;
    }
    c->keys[c->key_count++] = key;
    return SLW_OK;
}

static int by_text(const void *a, const void *b) {
    const slw_bytes *left = a;
    const slw_bytes *right = b;
    size_t common = left->size < right->size ? left->size : right->size;
    int order = common == 0 ? 0 : memcmp(left->data, right->data, common);
    if (order != 0) return order;
    return (left->size > right->size) - (left->size < right->size);
}

/* Writers that sort their keys, as LLVM does, cost one comparison a key. */
static slw_code close_map(checker *c, const frame *map) {
    size_t count = c->key_count - map->first_key;
    if (count == 0) return SLW_OK; /* there may be no stack yet */
    slw_bytes *keys = c->keys + map->first_key;
    int in_order = 1;
    for (size_t i = 1; in_order && i < count; i++) in_order = by_text(&keys[i - 1], &keys[i]) < 0;
    if (!in_order) slwi_heap_sort(keys, count, sizeof(*keys), by_text);
    for (size_t i = 1; !in_order && i < count; i++) {
        if (by_text(&keys[i - 1], &keys[i]) != 0) continue;
        uint64_t at = (uint64_t)((const char *)keys[i].data - (const char *)c->document.data);
        slwi_error_subject(c->err, keys[i].data, keys[i].size);
        return bad(c, at, "DUPLICATE", "a key stands twice in one map");
    }
    c->key_count = map->first_key;
    return SLW_OK;
}

static slw_code open_container(checker *c, const slwi_msgpack_item *item, uint64_t at) {
    if (inside(item) > c->document.size - at) {
        return bad(c, item->at, "BAD_MSGPACK", "an array or map says it holds more than there is");
    }
    if (c->depth == SLW_LIMIT_MSGPACK_DEPTH) {
        return over(c, item->at, "TOO_DEEP", (uint64_t)c->depth + 1, SLW_LIMIT_MSGPACK_DEPTH);
    }
    /* Keys are sorted to find two of one name: a bound on one map bounds the time of them all. */
    if (item->kind == SLWI_MSGPACK_MAP && item->count > SLW_LIMIT_MSGPACK_KEYS) {
        place(c, item->at);
        slwi_error_amount(c->err, "keys of a map", item->count, SLW_LIMIT_MSGPACK_KEYS, "keys");
        return slwi_fail(c->err, SLW_E_LIMIT, "TOO_MANY_KEYS", "a map of the metadata has too many keys");
    }
    frame *opened = &c->frames[c->depth++];
    opened->left = inside(item);
    opened->first_key = c->key_count;
    opened->is_map = item->kind == SLWI_MSGPACK_MAP;
    return SLW_OK;
}

/* Containers that are complete, and those they complete. */
static slw_code close_containers(checker *c) {
    while (c->depth > 0 && c->frames[c->depth - 1].left == 0) {
        c->depth -= 1;
        if (!c->frames[c->depth].is_map) continue;
        slw_code rc = close_map(c, &c->frames[c->depth]);
        if (rc != SLW_OK) return rc;
    }
    return SLW_OK;
}

static slw_code check_item(checker *c, uint64_t *at) {
    slwi_msgpack_item item;
    uint64_t start = *at;
    if (++c->items > SLW_LIMIT_MSGPACK_ITEMS) {
        return over(c, start, "TOO_MANY_ITEMS", c->items, SLW_LIMIT_MSGPACK_ITEMS);
    }
    slwi_msgpack_step step = slwi_msgpack_next(c->document, at, &item);
    if (step != SLWI_MSGPACK_OK) {
        return bad(c, start, "BAD_MSGPACK",
                   step == SLWI_MSGPACK_SHORT ? "it ends early" : "a byte that starts nothing");
    }
    int is_key = 0;
    if (c->depth > 0) {
        frame *top = &c->frames[c->depth - 1];
        is_key = top->is_map && top->left % 2 == 0;
        top->left -= 1;
    }
    slw_code rc = SLW_OK;
    if (is_key && item.kind != SLWI_MSGPACK_STRING) rc = bad(c, start, "BAD_MSGPACK", "a key is not a string");
    if (rc == SLW_OK && is_key) rc = push_key(c, item.text);
    if (rc == SLW_OK && (item.kind == SLWI_MSGPACK_ARRAY || item.kind == SLWI_MSGPACK_MAP)) {
        rc = open_container(c, &item, *at);
    }
    return rc == SLW_OK ? close_containers(c) : rc;
}

slw_code slwi_msgpack_check(const slw_allocator *allocator, slw_bytes document, uint64_t base, const char *name,
                            slw_error *err) {
    checker c;
    memset(&c, 0, sizeof(c));
    c.allocator = allocator;
    c.document = document;
    c.base = base;
    c.name = name;
    c.err = err;
    uint64_t at = 0;
    slw_code rc = check_item(&c, &at);
    while (rc == SLW_OK && c.depth > 0) rc = check_item(&c, &at);
    if (rc == SLW_OK && at != document.size) rc = bad(&c, at, "BAD_MSGPACK", "bytes stand behind it");
    slwi_free(allocator, c.keys);
    return rc;
}
