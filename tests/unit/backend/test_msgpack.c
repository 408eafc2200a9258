/* MessagePack: every form, and every way not to be one. */
#include "msgpack.h"

#include "hip_image.h"

typedef struct item_case {
    const char *bytes;
    size_t size;
    slwi_msgpack_kind kind;
    uint64_t number;
    size_t text; /* its size */
    uint32_t count;
} item_case;

#define B(text) (text), sizeof(text) - 1
#define ONES    UINT64_MAX

static const item_case items[] = {
    {B("\x00"), SLWI_MSGPACK_UNSIGNED, 0, 0, 0},
    {B("\x7f"), SLWI_MSGPACK_UNSIGNED, 127, 0, 0},
    {B("\x80"), SLWI_MSGPACK_MAP, 0, 0, 0},
    {B("\x8f"), SLWI_MSGPACK_MAP, 0, 0, 15},
    {B("\x90"), SLWI_MSGPACK_ARRAY, 0, 0, 0},
    {B("\x9f"), SLWI_MSGPACK_ARRAY, 0, 0, 15},
    {B("\xa0"), SLWI_MSGPACK_STRING, 0, 0, 0},
    {B("\xa3"
       "abc"),
     SLWI_MSGPACK_STRING, 0, 3, 0},
    {B("\xbf"
       "0123456789012345678901234567890"),
     SLWI_MSGPACK_STRING, 0, 31, 0},
    {B("\xc0"), SLWI_MSGPACK_NIL, 0, 0, 0},
    {B("\xc2"), SLWI_MSGPACK_BOOL, 0, 0, 0},
    {B("\xc3"), SLWI_MSGPACK_BOOL, 1, 0, 0},
    {B("\xc4\x02"
       "ab"),
     SLWI_MSGPACK_BINARY, 0, 2, 0},
    {B("\xc5\x00\x02"
       "ab"),
     SLWI_MSGPACK_BINARY, 0, 2, 0},
    {B("\xc6\x00\x00\x00\x02"
       "ab"),
     SLWI_MSGPACK_BINARY, 0, 2, 0},
    {B("\xc7\x02\x07"
       "ab"),
     SLWI_MSGPACK_EXTENSION, 0, 2, 0},
    {B("\xc8\x00\x02\x07"
       "ab"),
     SLWI_MSGPACK_EXTENSION, 0, 2, 0},
    {B("\xc9\x00\x00\x00\x02\x07"
       "ab"),
     SLWI_MSGPACK_EXTENSION, 0, 2, 0},
    {B("\xca\x3f\x80\x00\x00"), SLWI_MSGPACK_FLOAT, 0x3f800000, 0, 0},
    {B("\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00"), SLWI_MSGPACK_FLOAT, 0x3ff0000000000000, 0, 0},
    {B("\xcc\xff"), SLWI_MSGPACK_UNSIGNED, 255, 0, 0},
    {B("\xcd\x01\x02"), SLWI_MSGPACK_UNSIGNED, 0x0102, 0, 0},
    {B("\xce\x01\x02\x03\x04"), SLWI_MSGPACK_UNSIGNED, 0x01020304, 0, 0},
    {B("\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), SLWI_MSGPACK_UNSIGNED, ONES, 0, 0},
    {B("\xd0\x7f"), SLWI_MSGPACK_UNSIGNED, 127, 0, 0},
    {B("\xd0\xff"), SLWI_MSGPACK_NEGATIVE, ONES, 0, 0},
    {B("\xd1\x80\x00"), SLWI_MSGPACK_NEGATIVE, ONES - 0x7fff, 0, 0},
    {B("\xd2\xff\xff\xff\xff"), SLWI_MSGPACK_NEGATIVE, ONES, 0, 0},
    {B("\xd2\x7f\xff\xff\xff"), SLWI_MSGPACK_UNSIGNED, 0x7fffffff, 0, 0},
    {B("\xd3\x80\x00\x00\x00\x00\x00\x00\x00"), SLWI_MSGPACK_NEGATIVE, 1ull << 63, 0, 0},
    {B("\xd4\x07"
       "a"),
     SLWI_MSGPACK_EXTENSION, 0, 1, 0},
    {B("\xd5\x07"
       "ab"),
     SLWI_MSGPACK_EXTENSION, 0, 2, 0},
    {B("\xd6\x07"
       "abcd"),
     SLWI_MSGPACK_EXTENSION, 0, 4, 0},
    {B("\xd7\x07"
       "abcdefgh"),
     SLWI_MSGPACK_EXTENSION, 0, 8, 0},
    {B("\xd8\x07"
       "abcdefghabcdefgh"),
     SLWI_MSGPACK_EXTENSION, 0, 16, 0},
    {B("\xd9\x02"
       "ab"),
     SLWI_MSGPACK_STRING, 0, 2, 0},
    {B("\xda\x00\x02"
       "ab"),
     SLWI_MSGPACK_STRING, 0, 2, 0},
    {B("\xdb\x00\x00\x00\x02"
       "ab"),
     SLWI_MSGPACK_STRING, 0, 2, 0},
    {B("\xdc\x01\x02"), SLWI_MSGPACK_ARRAY, 0, 0, 0x0102},
    {B("\xdd\x01\x02\x03\x04"), SLWI_MSGPACK_ARRAY, 0, 0, 0x01020304},
    {B("\xde\x01\x02"), SLWI_MSGPACK_MAP, 0, 0, 0x0102},
    {B("\xdf\xff\xff\xff\xff"), SLWI_MSGPACK_MAP, 0, 0, UINT32_MAX},
    {B("\xe0"), SLWI_MSGPACK_NEGATIVE, ONES - 31, 0, 0},
    {B("\xff"), SLWI_MSGPACK_NEGATIVE, ONES, 0, 0},
};

/* Each item, and each of its proper prefixes in memory that ends where it ends. */
START_TEST(every_form) {
    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
        const item_case *c = &items[i];
        for (size_t size = 0; size <= c->size; size++) {
            char *copy = malloc(size == 0 ? 1 : size);
            slwi_msgpack_item item;
            uint64_t at = 0;
            ck_assert_ptr_nonnull(copy);
            memcpy(copy, c->bytes, size);
            slwi_msgpack_step step = slwi_msgpack_next((slw_bytes){copy, size}, &at, &item);
            ck_assert_msg(step == (size == c->size ? SLWI_MSGPACK_OK : SLWI_MSGPACK_SHORT), "item %zu cut to %zu", i,
                          size);
            ck_assert_uint_eq(at, size == c->size ? size : 0);
            if (size == c->size) {
                ck_assert_msg(item.kind == c->kind && item.number == c->number && item.text.size == c->text &&
                                  item.count == c->count && item.at == 0,
                              "item %zu", i);
                if (c->text != 0) ck_assert_ptr_eq((const char *)item.text.data + c->text, copy + size);
            }
            free(copy);
        }
    }
    slwi_msgpack_item item;
    uint64_t at = 0;
    ck_assert_int_eq(slwi_msgpack_next((slw_bytes){"\xc1", 1}, &at, &item), SLWI_MSGPACK_BAD);
    ck_assert_uint_eq(at, 0);
}
END_TEST

START_TEST(values_are_skipped_whole) {
    hip_bytes b = {NULL, 0, 0};
    (void)hip_pack(&b, "{'a':[1,{'b':[]},'cc'],'d':{'e':{'f':[[[]]]}}}");
    size_t size = b.size;
    hip_put(&b, "\x07", 1);
    for (size_t cut = 0; cut <= b.size; cut++) {
        uint64_t at = 0;
        slwi_msgpack_step step = slwi_msgpack_skip((slw_bytes){b.data, cut}, &at);
        ck_assert_int_eq(step, cut >= size ? SLWI_MSGPACK_OK : SLWI_MSGPACK_SHORT);
        ck_assert_uint_eq(at, cut >= size ? size : 0);
    }
    b.data[0] = 0xc1;
    uint64_t at = 0;
    ck_assert_int_eq(slwi_msgpack_skip((slw_bytes){b.data, b.size}, &at), SLWI_MSGPACK_BAD);
    free(b.data);
}
END_TEST

/* ---- whole documents ---- */

static slw_code check(const hip_bytes *b, slw_error *err) {
    slw_error fresh = SLW_ERROR_INIT;
    *err = fresh;
    return slwi_msgpack_check(&hip_heap, (slw_bytes){b->data, b->size}, 1000, "note", err);
}

static void refused(const char *what, const hip_bytes *b, slw_code code, const char *reason, uint64_t offset) {
    slw_error err = SLW_ERROR_INIT;
    slw_code rc = check(b, &err);
    hip_check_error(what, rc, &err, code, reason, NULL);
    ck_assert_msg(err.offset_bytes == offset, "%s: at %llu", what, (unsigned long long)err.offset_bytes);
    ck_assert_str_eq(err.path, "note");
}

START_TEST(documents) {
    slw_error err = SLW_ERROR_INIT;
    hip_bytes b = {NULL, 0, 0};
    (void)hip_pack(&b, "{'b':1,'a':{'b':2,'a':{}},'c':[{'a':1},{'a':1}],'':null,'ab':-3}");
    slt_ok(check(&b, &err), &err);
    for (size_t size = 0; size < b.size; size++) {
        hip_bytes cut = {b.data, size, size};
        ck_assert_int_eq(check(&cut, &err), SLW_E_INVALID_BINARY);
        ck_assert_str_eq(err.reason, "BAD_MSGPACK");
    }
    hip_put(&b, "\x00", 1);
    refused("bytes behind", &b, SLW_E_INVALID_BINARY, "BAD_MSGPACK", 1000 + b.size - 1);
    b.size = 0;
    (void)hip_pack(&b, "7");
    slt_ok(check(&b, &err), &err);
    b.size = 0;
    (void)hip_pack(&b, "[1,2]");
    b.data[4] = 0xc1;
    refused("no item", &b, SLW_E_INVALID_BINARY, "BAD_MSGPACK", 1004);
    b.size = 0;
    (void)hip_pack(&b, "[1,2]");
    b.data[2] = 3;
    refused("too few", &b, SLW_E_INVALID_BINARY, "BAD_MSGPACK", 1000);
    b.size = 0;
    (void)hip_pack(&b, "{'a':1,2:3}");
    refused("a key", &b, SLW_E_INVALID_BINARY, "BAD_MSGPACK", 1006);
    free(b.data);
}
END_TEST

START_TEST(duplicate_keys) {
    static const char *const texts[] = {"{'a':1,'a':2}", "{'b':1,'a':2,'b':3}", "{'x':{'k':1,'j':{'a':1},'k':2}}",
                                        "[{'':1,'':2}]"};
    static const char *const keys[] = {"a", "b", "k", ""};
    for (size_t i = 0; i < 4; i++) {
        hip_bytes b = {NULL, 0, 0};
        slw_error err = SLW_ERROR_INIT;
        (void)hip_pack(&b, texts[i]);
        slw_code rc = check(&b, &err);
        hip_check_error(texts[i], rc, &err, SLW_E_INVALID_BINARY, "DUPLICATE", keys[i]);
        free(b.data);
    }
}
END_TEST

static hip_bytes nested(size_t depth) {
    hip_bytes b = {NULL, 0, 0};
    for (size_t i = 0; i < depth; i++) hip_put(&b, "\x91", 1);
    hip_put(&b, "\x01", 1);
    return b;
}

START_TEST(limits) {
    slw_error err = SLW_ERROR_INIT;
    hip_bytes b = nested(SLW_LIMIT_MSGPACK_DEPTH);
    slt_ok(check(&b, &err), &err);
    free(b.data);
    b = nested(SLW_LIMIT_MSGPACK_DEPTH + 1);
    refused("depth", &b, SLW_E_LIMIT, "TOO_DEEP", 1000 + SLW_LIMIT_MSGPACK_DEPTH);
    free(b.data);
    b = nested(1000000);
    ck_assert_int_eq(check(&b, &err), SLW_E_LIMIT);
    ck_assert_uint_eq(err.limit, SLW_LIMIT_MSGPACK_DEPTH);
    free(b.data);

    size_t size = (size_t)SLW_LIMIT_MSGPACK_ITEMS + 5;
    b = (hip_bytes){calloc(1, size), size, size};
    ck_assert_ptr_nonnull(b.data);
    b.data[0] = 0xdd;
    for (int i = 0; i < 4; i++) b.data[1 + i] = (uint8_t)(SLW_LIMIT_MSGPACK_ITEMS >> (8 * (3 - i)));
    refused("items", &b, SLW_E_LIMIT, "TOO_MANY_ITEMS", 1000 + 5 + SLW_LIMIT_MSGPACK_ITEMS - 1);
    free(b.data);
}
END_TEST

/* Keys that fall take the sort, which is n log n: so many in one map and no more. */
START_TEST(many_keys_that_fall) {
    hip_bytes b = {NULL, 0, 0};
    slw_error err = SLW_ERROR_INIT;
    hip_put_big(&b, 0xdf, SLW_LIMIT_MSGPACK_KEYS, 4);
    for (uint32_t i = SLW_LIMIT_MSGPACK_KEYS; i > 0; i--) {
        char key[16];
        snprintf(key, sizeof(key), "'%08u'", i);
        (void)hip_pack(&b, key);
        hip_put(&b, "\xc0", 1);
    }
    slt_ok(check(&b, &err), &err);
    memcpy(b.data + 5, b.data + 5 + 10 * 2000, 10);
    ck_assert_int_eq(check(&b, &err), SLW_E_INVALID_BINARY);
    ck_assert_str_eq(err.reason, "DUPLICATE");
    free(b.data);
    b = (hip_bytes){NULL, 0, 0};
    hip_put_big(&b, 0xdf, SLW_LIMIT_MSGPACK_KEYS + 1, 4);
    for (uint32_t i = 0; i < 2 * (SLW_LIMIT_MSGPACK_KEYS + 1); i++) (void)hip_pack(&b, "'k'");
    refused("keys", &b, SLW_E_LIMIT, "TOO_MANY_KEYS", 1000);
    free(b.data);
}
END_TEST

START_TEST(memory_may_fail) {
    slt_heap heap;
    hip_bytes b = {NULL, 0, 0};
    slt_heap_init(&heap);
    hip_put_big(&b, 0xde, 200, 2);
    for (int i = 0; i < 200; i++) {
        char key[16];
        snprintf(key, sizeof(key), "'%08d'", i);
        (void)hip_pack(&b, key);
        hip_put(&b, "\xc0", 1);
    }
    for (uint64_t n = 1; n <= 3; n++) {
        slw_error err = SLW_ERROR_INIT;
        slt_heap_reset(&heap);
        heap.fail_at = n;
        ck_assert_int_eq(slwi_msgpack_check(&heap.allocator, (slw_bytes){b.data, b.size}, 0, NULL, &err),
                         SLW_E_NO_MEMORY);
        slt_heap_check_empty(&heap);
    }
    free(b.data);
}
END_TEST

START_TEST(texts_are_compared_whole) {
    slwi_msgpack_item item;
    uint64_t at = 0;
    ck_assert_int_eq(slwi_msgpack_next((slw_bytes){"\xa3"
                                                   "abc",
                                                   4},
                                       &at, &item),
                     SLWI_MSGPACK_OK);
    ck_assert(slwi_msgpack_is(&item, "abc"));
    ck_assert(!slwi_msgpack_is(&item, "ab"));
    ck_assert(!slwi_msgpack_is(&item, "abcd"));
    item.kind = SLWI_MSGPACK_BINARY;
    ck_assert(!slwi_msgpack_is(&item, "abc"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("msgpack");
    TCase *tc = tcase_create("msgpack");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, every_form);
    tcase_add_test(tc, values_are_skipped_whole);
    tcase_add_test(tc, documents);
    tcase_add_test(tc, duplicate_keys);
    tcase_add_test(tc, limits);
    tcase_add_test(tc, many_keys_that_fall);
    tcase_add_test(tc, memory_may_fail);
    tcase_add_test(tc, texts_are_compared_whole);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
