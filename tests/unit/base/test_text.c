/* UTF-8, WTF-8, names of the file system, payload paths. */
#include "slt.h"

#include <string.h>

#include "text.h"

#define BYTES(literal) ((slw_bytes){literal, sizeof(literal) - 1})

START_TEST(decoding) {
    static const struct {
        const char *bytes;
        size_t size;
        uint32_t code_point; /* 0: refused by both */
        int surrogate;
    } rows[] = {
        {"A", 1, 'A', 0},
        {"\x7f", 1, 0x7f, 0},
        {"\xc2\x80", 2, 0x80, 0},
        {"\xdf\xbf", 2, 0x7ff, 0},
        {"\xe0\xa0\x80", 3, 0x800, 0},
        {"\xed\x9f\xbf", 3, 0xd7ff, 0},
        {"\xed\xa0\x80", 3, 0xd800, 1},
        {"\xed\xbf\xbf", 3, 0xdfff, 1},
        {"\xee\x80\x80", 3, 0xe000, 0},
        {"\xef\xbf\xbf", 3, 0xffff, 0},
        {"\xf0\x90\x80\x80", 4, 0x10000, 0},
        {"\xf4\x8f\xbf\xbf", 4, 0x10ffff, 0},
        {"\xf4\x90\x80\x80", 4, 0, 0}, /* past U+10FFFF */
        {"\xf5\x80\x80\x80", 4, 0, 0},
        {"\xc0\x80", 2, 0, 0}, /* overlong */
        {"\xc1\xbf", 2, 0, 0},
        {"\xe0\x9f\xbf", 3, 0, 0},
        {"\xf0\x8f\xbf\xbf", 4, 0, 0},
        {"\x80", 1, 0, 0}, /* no lead */
        {"\xbf", 1, 0, 0},
        {"\xff", 1, 0, 0},
        {"\xc2", 1, 0, 0}, /* cut short */
        {"\xe2\x82", 2, 0, 0},
        {"\xf0\x9f\x98", 3, 0, 0},
        {"\xc2\x41", 2, 0, 0},
        {"\xe2\x82\x41", 3, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const slw_bytes text = {rows[i].bytes, rows[i].size};
        size_t at = 0;
        uint32_t value = 0xabcd;
        const int wtf8 = slwi_wtf8_next(text, &at, &value);
        ck_assert_msg(wtf8 == (rows[i].code_point != 0), "row %zu", i);
        ck_assert_uint_eq(at, wtf8 ? rows[i].size : 0);
        if (wtf8) ck_assert_uint_eq(value, rows[i].code_point);
        at = 0;
        ck_assert_int_eq(slwi_utf8_next(text, &at, &value), wtf8 && !rows[i].surrogate);
        if (!wtf8) continue;
        slwi_buffer out;
        slwi_buffer_init(&out, NULL, SIZE_MAX);
        slwi_wtf8_append(&out, rows[i].code_point);
        ck_assert_uint_eq(out.size, rows[i].size);
        ck_assert_mem_eq(out.data, rows[i].bytes, rows[i].size);
        slwi_buffer_free(&out);
    }
    size_t at = 1;
    uint32_t value = 0;
    ck_assert_int_eq(slwi_wtf8_next(BYTES("A"), &at, &value), 0); /* the end */
}
END_TEST

static void round_trip(slw_bytes raw, slw_bytes wtf8) {
    slwi_buffer out;
    slwi_buffer back;
    slwi_buffer_init(&out, NULL, SIZE_MAX);
    slwi_buffer_init(&back, NULL, SIZE_MAX);
    slwi_os_to_wtf8(raw, &out);
    ck_assert_uint_eq(out.size, wtf8.size);
    if (wtf8.size > 0) ck_assert_mem_eq(out.data, wtf8.data, wtf8.size);
    ck_assert_int_eq(slwi_wtf8_to_os((slw_bytes){out.data, out.size}, &back), 1);
    ck_assert_uint_eq(back.size, raw.size);
    if (raw.size > 0) ck_assert_mem_eq(back.data, raw.data, raw.size);
    slwi_buffer_free(&out);
    slwi_buffer_free(&back);
}

START_TEST(file_names) {
    round_trip(BYTES(""), BYTES(""));
    round_trip(BYTES("plain \xc3\xa9 \xf0\x9f\x98\x80"), BYTES("plain \xc3\xa9 \xf0\x9f\x98\x80"));
    round_trip(BYTES("\xff"), BYTES("\xed\xb3\xbf"));
    round_trip(BYTES("\x80"), BYTES("\xed\xb2\x80"));
    round_trip(BYTES("\xe2\x82" "A"), BYTES("\xed\xb3\xa2\xed\xb2\x82" "A"));
    /* A surrogate in UTF-8's dress is three bytes that are not UTF-8. */
    round_trip(BYTES("\xed\xa0\x80"), BYTES("\xed\xb3\xad\xed\xb2\xa0\xed\xb2\x80"));
    for (int byte = 0x80; byte <= 0xff; byte++) {
        const char raw[1] = {(char)byte};
        const char wtf8[3] = {(char)0xed, (char)(byte < 0xc0 ? 0xb2 : 0xb3), (char)(0x80 | (byte & 0x3f))};
        round_trip((slw_bytes){raw, 1}, (slw_bytes){wtf8, 3});
    }
    slwi_buffer out;
    slwi_buffer_init(&out, NULL, SIZE_MAX);
    ck_assert_int_eq(slwi_wtf8_to_os(BYTES("\xed\xa0\x80"), &out), 0); /* U+D800: stands for no byte */
    ck_assert_int_eq(slwi_wtf8_to_os(BYTES("\xed\xb1\xbf"), &out), 0); /* U+DC7F neither */
    ck_assert_int_eq(slwi_wtf8_to_os(BYTES("\xed\xb4\x80"), &out), 0); /* U+DD00 */
    ck_assert_int_eq(slwi_wtf8_to_os(BYTES("a\xff"), &out), 0);
    slwi_buffer_free(&out);
}
END_TEST

START_TEST(order_of_names) {
    /* Rising by code point, which is neither the order of bytes (0xff is U+DCFF, before U+E000) nor of UTF-16. */
    static const slw_bytes rising[] = {
        {"", 0},
        {"a", 1},
        {"a/b", 3},
        {"aa", 2},
        {"\xc3\xa9", 2},         /* U+00E9 */
        {"\xed\x9f\xbf", 3},     /* U+D7FF */
        {"\x80", 1},             /* U+DC80 */
        {"\xff", 1},             /* U+DCFF */
        {"\xee\x80\x80", 3},     /* U+E000 */
        {"\xef\xbf\xbf", 3},     /* U+FFFF */
        {"\xf0\x90\x80\x80", 4}, /* U+10000 */
    };
    const size_t count = sizeof rising / sizeof rising[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            const int order = slwi_os_compare(rising[i], rising[j]);
            ck_assert_msg((order < 0) == (i < j) && (order > 0) == (i > j), "%zu and %zu: %d", i, j, order);
        }
    }
}
END_TEST

START_TEST(payload_paths) {
    static const struct {
        const char *path;
        size_t size;
        int ok;
    } rows[] = {
        {"a", 1, 1},           {"a/b/c", 5, 1},     {".a", 2, 1},      {"..a", 3, 1},   {"a..", 3, 1},
        {"a b\n", 4, 1},       {"\xff", 1, 1},      {"...", 3, 1},     {"a/...", 5, 1}, {"", 0, 0},
        {"/", 1, 0},           {"/a", 2, 0},        {"a/", 2, 0},      {"a//b", 4, 0},  {".", 1, 0},
        {"..", 2, 0},          {"a/./b", 5, 0},     {"a/../b", 6, 0},  {"./a", 3, 0},   {"../a", 4, 0},
        {"a/..", 4, 0},        {"a\\b", 3, 0},      {"a\0b", 3, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const slw_bytes path = {rows[i].path, rows[i].size};
        ck_assert_msg(slwi_payload_path_ok(path, 0) == rows[i].ok, "row %zu", i);
        ck_assert_msg(slwi_payload_path_ok(path, 1) == rows[i].ok, "row %zu", i);
    }
    ck_assert_int_eq(slwi_payload_path_ok(BYTES("artifact_manifest.json"), 1), 0);
    ck_assert_int_eq(slwi_payload_path_ok(BYTES("artifact_manifest.json"), 0), 1);
    ck_assert_int_eq(slwi_payload_path_ok(BYTES("a/artifact_manifest.json"), 1), 1);
    ck_assert_int_eq(slwi_payload_path_ok(BYTES("artifact_manifest.jsonx"), 1), 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("base/text");
    TCase *tc = tcase_create("text");
    tcase_add_test(tc, decoding);
    tcase_add_test(tc, file_names);
    tcase_add_test(tc, order_of_names);
    tcase_add_test(tc, payload_paths);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
