/* JSON out: one textual form. */
#include "slt.h"

#include <locale.h>
#include <math.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault_alloc.h"
#include "json.h"

#define BYTES(literal) ((slw_bytes){literal, sizeof(literal) - 1})

static slwi_buffer out;
static slwi_json_writer writer;

static void start(int sorted) {
    slwi_buffer_init(&out, NULL, SIZE_MAX);
    slwi_json_begin(&writer, &out, sorted);
}

static void finish(const char *wanted) {
    ck_assert_int_eq(out.failed, 0);
    ck_assert_str_eq(out.data, wanted);
    slwi_buffer_free(&out);
}

START_TEST(structure) {
    start(1);
    slwi_json_object_begin(&writer);
    slwi_json_key(&writer, "a");
    slwi_json_array_begin(&writer);
    slwi_json_put_u64(&writer, UINT64_MAX);
    slwi_json_put_i64(&writer, INT64_MIN);
    slwi_json_put_null(&writer);
    slwi_json_array_begin(&writer);
    slwi_json_array_end(&writer);
    slwi_json_object_begin(&writer);
    slwi_json_object_end(&writer);
    slwi_json_array_end(&writer);
    slwi_json_key(&writer, "b");
    slwi_json_object_begin(&writer);
    slwi_json_key(&writer, "a"); /* an inner object begins anew */
    slwi_json_put_bool(&writer, 1);
    slwi_json_key(&writer, "b");
    slwi_json_put_bool(&writer, 0);
    slwi_json_object_end(&writer);
    slwi_json_key(&writer, "c");
    slwi_json_put_text(&writer, NULL);
    slwi_json_object_end(&writer);
    finish("{\"a\":[18446744073709551615,-9223372036854775808,null,[],{}],\"b\":{\"a\":true,\"b\":false},\"c\":null}");
}
END_TEST

START_TEST(strings) {
    start(1);
    slwi_json_array_begin(&writer);
    slwi_json_put_string(&writer, BYTES("\"\\/\b\f\n\r\t\x01\x7f~ \0x"));
    slwi_json_put_string(&writer, BYTES("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"));
    slwi_json_put_string(&writer, BYTES("\xed\xa0\xbd\xed\xb8\x80")); /* two halves stay two escapes */
    slwi_json_put_string(&writer, (slw_bytes){NULL, 0});
    slwi_json_put_text(&writer, "a\xff" "b");
    slwi_json_put_os(&writer, BYTES("\xed\xa0\x80\xc3\xa9"));
    slwi_json_array_end(&writer);
    finish("[\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u007f~ \\u0000x\",\"\\u00e9\\u20ac\\ud83d\\ude00\\udbff\\udfff\","
           "\"\\ud83d\\ude00\",\"\",\"a\\udcffb\",\"\\udced\\udca0\\udc80\\u00e9\"]");
    start(0);
    slwi_json_put_string(&writer, BYTES("\xff")); /* neither UTF-8 nor WTF-8: a mistake of the caller */
    ck_assert_int_eq(out.failed, SLW_E_USAGE);
    slwi_buffer_free(&out);
}
END_TEST

START_TEST(keys_must_rise) {
    start(1);
    slwi_json_object_begin(&writer);
    slwi_json_key(&writer, "b");
    slwi_json_put_null(&writer);
    slwi_json_key(&writer, "a");
    ck_assert_int_eq(out.failed, SLW_E_USAGE);
    slwi_buffer_free(&out);
    start(1);
    slwi_json_object_begin(&writer);
    slwi_json_key(&writer, "a");
    slwi_json_put_null(&writer);
    slwi_json_key(&writer, "a");
    ck_assert_int_eq(out.failed, SLW_E_USAGE);
    slwi_buffer_free(&out);
    start(1);
    slwi_json_object_begin(&writer);
    slwi_json_key(&writer, "");
    slwi_json_put_null(&writer);
    slwi_json_key(&writer, "");
    ck_assert_int_eq(out.failed, SLW_E_USAGE);
    slwi_buffer_free(&out);
    start(0);
    slwi_json_object_begin(&writer);
    slwi_json_key(&writer, "b");
    slwi_json_put_null(&writer);
    slwi_json_key(&writer, "a");
    slwi_json_put_null(&writer);
    slwi_json_object_end(&writer);
    finish("{\"b\":null,\"a\":null}");
    slw_error err = SLW_ERROR_INIT;
    slwi_buffer_init(&out, NULL, SIZE_MAX);
    out.failed = SLW_E_USAGE;
    ck_assert_int_eq(slwi_buffer_status(&out, &err), SLW_E_USAGE);
}
END_TEST

START_TEST(misuse_does_not_overrun) {
    start(1);
    for (int i = 0; i < 100; i++) slwi_json_array_begin(&writer);
    ck_assert_int_eq(out.failed, SLW_E_LIMIT);
    for (int i = 0; i < 300; i++) slwi_json_array_end(&writer);
    slwi_buffer_free(&out);
    start(1);
    slwi_json_array_end(&writer);
    ck_assert_int_eq(out.failed, SLW_E_USAGE);
    slwi_buffer_free(&out);
}
END_TEST

static void check_double(double value, const char *wanted) {
    start(0);
    slwi_json_put_double(&writer, value);
    finish(wanted);
}

START_TEST(doubles) {
    check_double(0, "0.0");
    check_double(-0.0, "-0.0");
    check_double(1, "1.0");
    check_double(-17.5, "-17.5");
    check_double(0.1, "0.1");
    check_double(0.1 + 0.2, "0.30000000000000004");
    check_double(1e22, "1e+22");
    check_double(1e-7, "1e-07");
    check_double(123456789.125, "123456789.125");
    check_double(5e-324, "5e-324");
    check_double(DBL_MAX, "1.7976931348623157e+308");
    check_double(2.2250738585072014e-308, "2.2250738585072014e-308");
    check_double(9007199254740993.0, "9007199254740992.0");
    check_double((double)NAN, "\"NaN\"");
    check_double((double)INFINITY, "\"Infinity\"");
    check_double(-(double)INFINITY, "\"-Infinity\"");
}
END_TEST

START_TEST(doubles_do_not_follow_the_locale) {
    static const char *const candidates[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "de_DE", "ps_AF.UTF-8"};
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        if (setlocale(LC_ALL, candidates[i]) == NULL) continue;
        check_double(1234.5, "1234.5");
        setlocale(LC_ALL, "C");
        return;
    }
    slt_skip("doubles_do_not_follow_the_locale", "no locale with another decimal point is installed");
}
END_TEST

START_TEST(random_doubles_come_back) {
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        double value = 0;
        memcpy(&value, &state, sizeof value);
        if (!isfinite(value)) continue;
        start(0);
        slwi_json_put_double(&writer, value);
        ck_assert_msg(strtod(out.data, NULL) == value, "%s", out.data);
        slwi_buffer_free(&out);
    }
}
END_TEST

START_TEST(nodes_are_copied) {
    static const char text[] = "{\"z\":[1,-2,0.5,18446744073709551615,null,true],\"a\":{\"k\":\"\\u00e9\\u0000\"},"
                               "\"d\":1.0,\"m\":-0.0}";
    const slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
    slw_error err = SLW_ERROR_INIT;
    slwi_json_document *d = NULL;
    slt_ok(slwi_json_parse(NULL, BYTES(text), &limits, &d, &err), &err);
    start(0);
    slwi_json_put_node(&writer, slwi_json_root(d));
    finish(text);
    start(1); /* in a canonical document what does not rise is refused */
    slwi_json_put_node(&writer, slwi_json_root(d));
    ck_assert_int_eq(out.failed, SLW_E_USAGE);
    slwi_buffer_free(&out);
    slwi_json_free(&d);
    char deep[256];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    slt_ok(slwi_json_parse(NULL, (slw_bytes){deep, 200}, &limits, &d, &err), &err);
    start(0);
    slwi_json_put_node(&writer, slwi_json_root(d));
    ck_assert_int_eq(out.failed, SLW_E_LIMIT);
    slwi_buffer_free(&out);
    slwi_json_free(&d);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("base/json_write");
    TCase *tc = tcase_create("json_write");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, structure);
    tcase_add_test(tc, strings);
    tcase_add_test(tc, keys_must_rise);
    tcase_add_test(tc, misuse_does_not_overrun);
    tcase_add_test(tc, doubles);
    tcase_add_test(tc, doubles_do_not_follow_the_locale);
    tcase_add_test(tc, random_doubles_come_back);
    tcase_add_test(tc, nodes_are_copied);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
