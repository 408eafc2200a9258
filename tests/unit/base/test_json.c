/* JSON in: what is refused, where, and that what is accepted means what it says. */
#include "slt.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fail.h"
#include "fault_alloc.h"
#include "json.h"

#define BYTES(literal) ((slw_bytes){literal, sizeof(literal) - 1})

typedef struct refusal {
    const char *text;
    size_t size;
    const char *reason;
    uint32_t line, column;
    uint64_t offset;
} refusal;
#define REFUSAL(literal, reason, line, column, offset)                                                             \
    { literal, sizeof(literal) - 1, reason, line, column, offset }

static const refusal refusals[] = {
    REFUSAL("", "TRUNCATED", 1, 1, 0),
    REFUSAL("  \n ", "TRUNCATED", 2, 2, 4),
    REFUSAL("{", "TRUNCATED", 1, 2, 1),
    REFUSAL("[1,", "TRUNCATED", 1, 4, 3),
    REFUSAL("\"abc", "TRUNCATED", 1, 5, 4),
    REFUSAL("\"abc\\", "TRUNCATED", 1, 6, 5),
    REFUSAL("\"\\u12", "TRUNCATED", 1, 6, 5),
    REFUSAL("tru", "TRUNCATED", 1, 4, 3),
    REFUSAL("-", "TRUNCATED", 1, 2, 1),
    REFUSAL("1.", "TRUNCATED", 1, 3, 2),
    REFUSAL("1e+", "TRUNCATED", 1, 4, 3),
    REFUSAL("{\"a\"", "TRUNCATED", 1, 5, 4),
    REFUSAL("{\"a\":", "TRUNCATED", 1, 6, 5),
    REFUSAL("{\"a\":1", "TRUNCATED", 1, 7, 6),
    REFUSAL("1 2", "TRAILING", 1, 3, 2),
    REFUSAL("{}\n\n x", "TRAILING", 3, 2, 5),
    REFUSAL("null,", "TRAILING", 1, 5, 4),
    REFUSAL("{} \0", "TRAILING", 1, 4, 3),
    REFUSAL("truE", "BAD_BYTE", 1, 4, 3),
    REFUSAL("nul\0", "BAD_BYTE", 1, 4, 3),
    REFUSAL("\xef\xbb\xbf{}", "BAD_BYTE", 1, 1, 0), /* a byte order mark */
    REFUSAL("{a:1}", "BAD_BYTE", 1, 2, 1),
    REFUSAL("{'a':1}", "BAD_BYTE", 1, 2, 1),
    REFUSAL("{\"a\" 1}", "BAD_BYTE", 1, 6, 5),
    REFUSAL("{\"a\":1,}", "BAD_BYTE", 1, 8, 7),
    REFUSAL("{,}", "BAD_BYTE", 1, 2, 1),
    REFUSAL("[1,]", "BAD_BYTE", 1, 4, 3),
    REFUSAL("[,1]", "BAD_BYTE", 1, 2, 1),
    REFUSAL("[1 2]", "BAD_BYTE", 1, 4, 3),
    REFUSAL("[1}", "BAD_BYTE", 1, 3, 2),
    REFUSAL("{\"a\":1]", "BAD_BYTE", 1, 7, 6),
    REFUSAL("]", "BAD_BYTE", 1, 1, 0),
    REFUSAL("[1]]", "TRAILING", 1, 4, 3),
    REFUSAL("/* c */ 1", "BAD_BYTE", 1, 1, 0),
    REFUSAL("// c\n1", "BAD_BYTE", 1, 1, 0),
    REFUSAL("\"a\nb\"", "BAD_BYTE", 1, 3, 2),
    REFUSAL("\"a\x01\"", "BAD_BYTE", 1, 3, 2),
    REFUSAL("\"a\0b\"", "BAD_BYTE", 1, 3, 2),
    REFUSAL("\x0b" "1", "BAD_BYTE", 1, 1, 0),
    REFUSAL("\"\\x41\"", "BAD_ESCAPE", 1, 2, 1),
    REFUSAL("\"\\'\"", "BAD_ESCAPE", 1, 2, 1),
    REFUSAL("\"\\\0\"", "BAD_ESCAPE", 1, 2, 1),
    REFUSAL("\"\\u12g4\"", "BAD_ESCAPE", 1, 2, 1),
    REFUSAL("\"\\U0041\"", "BAD_ESCAPE", 1, 2, 1),
    REFUSAL("\"\xff\"", "NOT_UTF8", 1, 2, 1),
    REFUSAL("\"\xc0\x80\"", "NOT_UTF8", 1, 2, 1),
    REFUSAL("\"\xed\xa0\x80\"", "NOT_UTF8", 1, 2, 1), /* a surrogate as bytes */
    REFUSAL("\"\xf4\x90\x80\x80\"", "NOT_UTF8", 1, 2, 1),
    REFUSAL("[\n\xe2\x82]", "NOT_UTF8", 2, 1, 2),
    REFUSAL("\"\\ud800\"", "LONE_SURROGATE", 1, 2, 1),
    REFUSAL("\"x\\udc00\"", "LONE_SURROGATE", 1, 3, 2),
    REFUSAL("\"\\ud800\\ud800\\udc00\"", "LONE_SURROGATE", 1, 2, 1),
    REFUSAL("\"\\ud800\\n\"", "LONE_SURROGATE", 1, 2, 1),
    REFUSAL("NaN", "BAD_NUMBER", 1, 1, 0),
    REFUSAL("[Infinity]", "BAD_NUMBER", 1, 2, 1),
    REFUSAL("-Infinity", "BAD_NUMBER", 1, 1, 0),
    REFUSAL("nan", "BAD_BYTE", 1, 2, 1),
    REFUSAL("+1", "BAD_BYTE", 1, 1, 0),
    REFUSAL(".5", "BAD_BYTE", 1, 1, 0),
    REFUSAL("01", "BAD_NUMBER", 1, 1, 0),
    REFUSAL("-01", "BAD_NUMBER", 1, 1, 0),
    REFUSAL("[1.]", "BAD_NUMBER", 1, 2, 1),
    REFUSAL("[1e]", "BAD_NUMBER", 1, 2, 1),
    REFUSAL("0x10", "TRAILING", 1, 2, 1),
    REFUSAL("18446744073709551616", "BAD_NUMBER", 1, 1, 0),
    REFUSAL("-9223372036854775809", "BAD_NUMBER", 1, 1, 0),
    REFUSAL("100000000000000000000000000000", "BAD_NUMBER", 1, 1, 0),
    REFUSAL("1e309", "BAD_NUMBER", 1, 1, 0),
    REFUSAL("-1e999999999999999999999", "BAD_NUMBER", 1, 1, 0),
    REFUSAL("1.7976931348623159e308", "BAD_NUMBER", 1, 1, 0),
    REFUSAL("{\"a\":1,\"a\":2}", "DUPLICATE", 1, 8, 7),
    REFUSAL("{\"a\":1,\n\"\\u0061\":2}", "DUPLICATE", 2, 1, 8), /* the same name by an escape */
    REFUSAL("{\"/\":1,\"\\/\":2}", "DUPLICATE", 1, 8, 7),
    REFUSAL("{\"\":1,\"\":2}", "DUPLICATE", 1, 7, 6),
    REFUSAL("{\"\xf0\x9f\x98\x80\":1,\"\\ud83d\\ude00\":2}", "DUPLICATE", 1, 11, 10),
    REFUSAL("[{\"x\":{\"b\":1,\"c\":2,\"b\":3}}]", "DUPLICATE", 1, 20, 19),
    REFUSAL("{\"x\":1,\"b\":1,\"b\":2,\"x\":3}", "DUPLICATE", 1, 14, 13), /* the first repetition in the text */
    REFUSAL("{\"a\\u0000b\":1}", "BAD_NAME", 1, 2, 1),
};

START_TEST(pitfall_39_refusals_have_a_reason_and_a_place) {
    const refusal *row = &refusals[_i];
    slt_heap heap;
    slt_heap_init(&heap);
    slw_error err = SLW_ERROR_INIT;
    slwi_json_document *const untouched = (slwi_json_document *)(void *)&heap;
    slwi_json_document *document = untouched;
    const slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
    const slw_code rc = slwi_json_parse(&heap.allocator, (slw_bytes){row->text, row->size}, &limits, &document, &err);
    ck_assert_int_eq(rc, SLW_E_INVALID_METADATA);
    ck_assert_msg(document == untouched, "%s", row->text);
    ck_assert_str_eq(err.reason, row->reason);
    ck_assert_msg(err.line == row->line && err.column == row->column && err.offset_bytes == row->offset,
                  "%s: %s at %u:%u, %llu", row->text, row->reason, err.line, err.column,
                  (unsigned long long)err.offset_bytes);
    slt_heap_check_empty(&heap);
}
END_TEST

static slwi_json_document *parse(slw_bytes text, int lone) {
    slw_error err = SLW_ERROR_INIT;
    slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
    limits.lone_surrogates = lone;
    slwi_json_document *document = NULL;
    const slw_code rc = slwi_json_parse(NULL, text, &limits, &document, &err);
    ck_assert_msg(rc == SLW_OK, "%.60s: %s %s", (const char *)text.data, err.reason, err.message);
    return document;
}

START_TEST(values_mean_what_they_say) {
    slwi_json_document *d = parse(BYTES(" {\"i\": -5, \"u\": 18446744073709551615, \"m\": -9223372036854775808,"
                                        "\"d\": 1e5,"
                                        "\"n\": null, \"t\": true, \"f\": false, \"z\": -0,"
                                        "\"s\": \"a\\u0000\\n\\ud83d\\ude00\\/\", "
                                        "\"a\": [1, [], {}], \"e\": \"\", \"big\": 4294967296}\n"),
                                  0);
    const slwi_json *root = slwi_json_root(d);
    ck_assert_int_eq(slwi_json_kind(root), SLWI_JSON_OBJECT);
    ck_assert_uint_eq(slwi_json_length(root), 12);
    int64_t i = 0;
    uint64_t u = 0;
    uint32_t w = 77;
    double x = 0;
    int b = 7;
    slw_bytes s;
    ck_assert(slwi_json_i64(slwi_json_get(root, "i"), &i) && i == -5);
    ck_assert(!slwi_json_u64(slwi_json_get(root, "i"), &u));
    ck_assert(slwi_json_u64(slwi_json_get(root, "u"), &u) && u == UINT64_MAX);
    ck_assert(!slwi_json_i64(slwi_json_get(root, "u"), &i));
    ck_assert(slwi_json_double(slwi_json_get(root, "u"), &x) && x == 18446744073709551616.0);
    ck_assert(slwi_json_i64(slwi_json_get(root, "m"), &i) && i == INT64_MIN);
    ck_assert(slwi_json_double(slwi_json_get(root, "m"), &x) && x == -9223372036854775808.0);
    ck_assert(slwi_json_double(slwi_json_get(root, "d"), &x) && x == 1e5);
    ck_assert(!slwi_json_i64(slwi_json_get(root, "d"), &i)); /* 1e5 is no integer here */
    ck_assert_int_eq(slwi_json_kind(slwi_json_get(root, "d")), SLWI_JSON_DOUBLE);
    ck_assert(slwi_json_i64(slwi_json_get(root, "z"), &i) && i == 0);
    ck_assert(!slwi_json_u32(slwi_json_get(root, "big"), &w) && w == 77);
    ck_assert(slwi_json_bool(slwi_json_get(root, "t"), &b) && b == 1);
    ck_assert(slwi_json_bool(slwi_json_get(root, "f"), &b) && b == 0);
    ck_assert(!slwi_json_i64(slwi_json_get(root, "t"), &i)); /* true is not 1 */
    ck_assert_ptr_nonnull(slwi_json_get(root, "n"));         /* null is there … */
    ck_assert_int_eq(slwi_json_kind(slwi_json_get(root, "n")), SLWI_JSON_NULL);
    ck_assert_ptr_null(slwi_json_get(root, "absent")); /* … and absent is not */
    ck_assert(slwi_json_string(slwi_json_get(root, "s"), &s));
    ck_assert_uint_eq(s.size, 8);
    ck_assert_mem_eq(s.data, "a\0\n\xf0\x9f\x98\x80/", 9); /* with the NUL behind it */
    ck_assert(slwi_json_string(slwi_json_get(root, "e"), &s) && s.size == 0);
    const slwi_json *array = slwi_json_get(root, "a");
    ck_assert_uint_eq(slwi_json_length(array), 3);
    ck_assert_ptr_null(slwi_json_item(array, 3));
    ck_assert_int_eq(slwi_json_kind(slwi_json_item(array, 2)), SLWI_JSON_OBJECT);
    ck_assert_ptr_null(slwi_json_item(root, 0));
    ck_assert_ptr_null(slwi_json_get(array, "x"));
    ck_assert_uint_eq(slwi_json_length(slwi_json_get(root, "i")), 0);
    ck_assert_int_eq(slwi_json_string(NULL, &s), 0);
    ck_assert_int_eq(slwi_json_i64(slwi_json_get(root, "n"), &i), 0);
    slwi_json_free(&d);
    ck_assert_ptr_null(d);
    slwi_json_free(&d);
}
END_TEST

START_TEST(roots_of_every_kind) {
    static const struct {
        const char *text;
        slwi_json_type kind;
    } rows[] = {{"null", SLWI_JSON_NULL}, {" true ", SLWI_JSON_BOOL},  {"12", SLWI_JSON_INT},
                {"-0.5e-3", SLWI_JSON_DOUBLE},
                {"\"\"", SLWI_JSON_STRING}, {"[ ]", SLWI_JSON_ARRAY}, {"{ }", SLWI_JSON_OBJECT}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        /* Exactly as long as the text: nothing behind it may be read (the sanitizers watch). */
        char *copy = malloc(strlen(rows[i].text));
        memcpy(copy, rows[i].text, strlen(rows[i].text));
        slwi_json_document *d = parse((slw_bytes){copy, strlen(rows[i].text)}, 0);
        ck_assert_int_eq(slwi_json_kind(slwi_json_root(d)), rows[i].kind);
        slwi_json_free(&d);
        free(copy);
    }
}
END_TEST

START_TEST(members_in_order) {
    static const char *const known[] = {"b", "a", "", NULL};
    slwi_json_document *d = parse(BYTES("{\"b\":1,\"a\":null,\"\":3,\"odd\":4}"), 0);
    const slwi_json *root = slwi_json_root(d);
    void *cursor = NULL;
    slw_bytes name;
    const slwi_json *value = NULL;
    char order[16] = "";
    while (slwi_json_member(root, &cursor, &name, &value)) {
        ck_assert_ptr_nonnull(value);
        strcat(order, name.data);
        strcat(order, ",");
    }
    ck_assert_str_eq(order, "b,a,,odd,");
    ck_assert_int_eq(slwi_json_member(root, &cursor, &name, &value), 0); /* stays at the end */
    ck_assert_int_eq(slwi_json_only(root, known, &name), 0);
    ck_assert_str_eq(name.data, "odd");
    slwi_json_free(&d);
    d = parse(BYTES("{\"a\":1}"), 0);
    ck_assert_int_eq(slwi_json_only(slwi_json_root(d), known, &name), 1);
    slwi_json_free(&d);
    cursor = NULL;
    d = parse(BYTES("{}"), 0);
    ck_assert_int_eq(slwi_json_member(slwi_json_root(d), &cursor, &name, &value), 0);
    slwi_json_free(&d);
}
END_TEST

START_TEST(lone_surrogates_are_kept_when_asked) {
    slwi_json_document *d = parse(BYTES("[\"\\udcff\", \"a\\ud800\\\\u0041\", \"\\ud83d\\ude00\\udc80\", "
                                        "\"\\udc00\\ud800\","
                                        "{\"\\udc80\\n\":\"\\ud800\\ud83d\\ude00\"}]"),
                                  1);
    static const struct {
        const char *bytes;
        size_t size;
    } wanted[] = {{"\xed\xb3\xbf", 3}, {"a\xed\xa0\x80\\u0041", 10}, {"\xf0\x9f\x98\x80\xed\xb2\x80", 7},
                  {"\xed\xb0\x80\xed\xa0\x80", 6}};
    slw_bytes s;
    for (size_t i = 0; i < 4; i++) {
        ck_assert(slwi_json_string(slwi_json_item(slwi_json_root(d), i), &s));
        ck_assert_uint_eq(s.size, wanted[i].size);
        ck_assert_mem_eq(s.data, wanted[i].bytes, wanted[i].size);
    }
    const slwi_json *object = slwi_json_item(slwi_json_root(d), 4);
    const slwi_json *value = slwi_json_get(object, "\xed\xb2\x80\n");
    ck_assert(slwi_json_string(value, &s));
    ck_assert_mem_eq(s.data, "\xed\xa0\x80\xf0\x9f\x98\x80", 8);
    slwi_json_free(&d);
    slw_error err = SLW_ERROR_INIT;
    slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
    limits.lone_surrogates = 1;
    const slw_code rc = slwi_json_parse(NULL, BYTES("{\"\\udc80\":1,\"\\uDC80\":2}"), &limits, &d, &err);
    ck_assert_int_eq(rc, SLW_E_INVALID_METADATA);
    ck_assert_str_eq(err.reason, "DUPLICATE");
}
END_TEST

START_TEST(limits_are_exact) {
    slw_error err = SLW_ERROR_INIT;
    slwi_json_document *d = NULL;
    slwi_json_limits limits = {10, 3, 100, 0};
    ck_assert_int_eq(slwi_json_parse(NULL, BYTES("[[[]],1]  "), &limits, &d, &err), SLW_OK);
    slwi_json_free(&d);
    ck_assert_int_eq(slwi_json_parse(NULL, BYTES("[[[]],1]   "), &limits, &d, &err), SLW_E_LIMIT);
    ck_assert_str_eq(err.reason, "SIZE");
    ck_assert_uint_eq(err.required, 11);
    ck_assert_uint_eq(err.limit, 10);
    slwi_error_reset(&err);
    ck_assert_int_eq(slwi_json_parse(NULL, BYTES("[[{\"\":["), &limits, &d, &err), SLW_E_LIMIT);
    ck_assert_str_eq(err.reason, "DEPTH");
    ck_assert_uint_eq(err.offset_bytes, 6);
    ck_assert_uint_eq(err.limit, 3);
    slwi_error_reset(&err);
    limits.values = 7; /* 4 for the array */
    ck_assert_int_eq(slwi_json_parse(NULL, BYTES("[1,2,3]"), &limits, &d, &err), SLW_OK);
    slwi_json_free(&d);
    ck_assert_int_eq(slwi_json_parse(NULL, BYTES("[1,2,3,4]"), &limits, &d, &err), SLW_E_LIMIT);
    ck_assert_str_eq(err.reason, "VALUES");
    ck_assert_uint_eq(err.offset_bytes, 7);
    ck_assert_ptr_null(d);
}
END_TEST

static void *parse_deep(void *argument) {
    const slw_bytes *text = argument;
    slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
    limits.depth = 2048;
    slwi_json_document *d = NULL;
    const slw_code rc = slwi_json_parse(NULL, *text, &limits, &d, NULL);
    slwi_json_free(&d);
    return rc == SLW_OK ? argument : NULL;
}

/* A thread of musl has 128 KiB. */
START_TEST(depth_costs_no_stack) {
    enum { DEPTH = 2048 };
    char text[8 * DEPTH];
    size_t used = 0;
    for (int i = 0; i < DEPTH; i++) {
        memcpy(text + used, i % 2 == 0 ? "[" : "{\"\":", i % 2 == 0 ? 1 : 4);
        used += i % 2 == 0 ? 1 : 4;
    }
    text[used++] = '1';
    for (int i = DEPTH; i > 0; i--) text[used++] = i % 2 == 0 ? '}' : ']';
    slw_bytes bytes = {text, used};
    pthread_attr_t attributes;
    pthread_t thread;
    void *result = NULL;
    pthread_attr_init(&attributes);
    ck_assert_int_eq(pthread_attr_setstacksize(&attributes, 65536), 0);
    ck_assert_int_eq(pthread_create(&thread, &attributes, parse_deep, &bytes), 0);
    pthread_join(thread, &result);
    ck_assert_ptr_eq(result, &bytes);
}
END_TEST

START_TEST(deep_documents) {
    enum { DEPTH = 2048 };
    slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
    limits.depth = DEPTH;
    char *text = malloc(2 * (DEPTH + 1));
    memset(text, '[', DEPTH + 1);
    memset(text + DEPTH + 1, ']', DEPTH + 1);
    slw_error err = SLW_ERROR_INIT;
    slwi_json_document *d = NULL;
    slt_ok(slwi_json_parse(NULL, (slw_bytes){text + 1, 2 * DEPTH}, &limits, &d, &err), &err);
    slwi_json_free(&d);
    ck_assert_int_eq(slwi_json_parse(NULL, (slw_bytes){text, 2 * (DEPTH + 1)}, &limits, &d, &err), SLW_E_LIMIT);
    free(text);
}
END_TEST

static double seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

START_TEST(pitfall_39_bombs_are_refused_quickly) {
    const size_t size = 16u << 20;
    char *text = malloc(size);
    static const char *const units[] = {"{},", "[[],", "0,", "\"\",", "[", "{\"\":"};
    slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
        const size_t length = strlen(units[u]);
        text[0] = '[';
        for (size_t i = 1; i < size; i++) text[i] = units[u][(i - 1) % length];
        slw_error err = SLW_ERROR_INIT;
        slwi_json_document *d = NULL;
        const double start = seconds();
        ck_assert_int_eq(slwi_json_parse(NULL, (slw_bytes){text, size}, &limits, &d, &err), SLW_E_LIMIT);
        ck_assert_msg(seconds() - start < 5, "%s took %.1f s", units[u], seconds() - start);
    }
    free(text);
}
END_TEST

START_TEST(many_names_are_not_quadratic) {
    /* Names of one length with a long common head, so that neither sizes nor first bytes tell them apart. */
    enum { COUNT = 100000, ROW = 64 };
    char *text = malloc((size_t)COUNT * (ROW + 8) + 64);
    size_t used = 0;
    text[used++] = '{';
    for (int i = 0; i < COUNT; i++) {
        used += (size_t)sprintf(text + used, "%s\"%052d\":%d", i == 0 ? "" : ",", (i * 7919) % COUNT, i % 10);
    }
    const size_t open_end = used;
    text[used++] = '}';
    const double start = seconds();
    slwi_json_document *d = parse((slw_bytes){text, used}, 0);
    ck_assert_uint_eq(slwi_json_length(slwi_json_root(d)), COUNT);
    slwi_json_free(&d);
    const size_t last = open_end + 1;
    used = open_end + (size_t)sprintf(text + open_end, ",\"%052d\":1}", 31337);
    slw_error err = SLW_ERROR_INIT;
    const slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
    ck_assert_int_eq(slwi_json_parse(NULL, (slw_bytes){text, used}, &limits, &d, &err), SLW_E_INVALID_METADATA);
    ck_assert_str_eq(err.reason, "DUPLICATE");
    ck_assert_uint_eq(err.offset_bytes, last);
    ck_assert_msg(seconds() - start < 20, "%.1f s", seconds() - start);
    free(text);
}
END_TEST

START_TEST(numbers_at_the_edges) {
    static const struct {
        const char *text;
        double value;
    } rows[] = {
        {"1.7976931348623157e308", DBL_MAX},
        {"17976931348623157e292", DBL_MAX},
        {"0.00017976931348623157e312", DBL_MAX},
        {"1.7976931348623158e308", DBL_MAX}, /* rounds down */
        {"1797693134862315807937289714053034150799341327100378269361737789804449682927647509466490179775872070963"
         "3028641669288791094655554785194040263065748867150582068190890200070838367627385484581771153176447573027"
         "0069855571366959622842914819860834936475292719074168444365510704342711559699508093042880177904174497791"
         "e0",
         DBL_MAX},
        {"5e-324", 4.9406564584124654e-324},
        {"1e-99999999999999999999", 0},
        {"0e99999999999999999999", 0},
        {"0.0000e309", 0},
        {"-0.0", 0},
        {"123456789012345678901234567890.5", 123456789012345678901234567890.5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        slwi_json_document *d = parse((slw_bytes){rows[i].text, strlen(rows[i].text)}, 0);
        double value = 1;
        ck_assert(slwi_json_double(slwi_json_root(d), &value));
        ck_assert_msg(value == rows[i].value, "%.40s: %.17g", rows[i].text, value);
        slwi_json_free(&d);
    }
    static const char half_a_step_above[] =
        "1797693134862315807937289714053034150799341327100378269361737789804449682927647509466490179775872070963"
        "3028641669288791094655554785194040263065748867150582068190890200070838367627385484581771153176447573027"
        "0069855571366959622842914819860834936475292719074168444365510704342711559699508093042880177904174497792"
        ".0";
    slw_error err = SLW_ERROR_INIT;
    slwi_json_document *d = NULL;
    const slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
    ck_assert_int_eq(slwi_json_parse(NULL, BYTES(half_a_step_above), &limits, &d, &err), SLW_E_INVALID_METADATA);
}
END_TEST

START_TEST(every_allocation_may_fail) {
    slt_heap heap;
    slt_heap_init(&heap);
    char text[4096];
    size_t used = (size_t)sprintf(text, "[\"\\udc80\"");
    for (int i = 0; i < 100; i++) used += (size_t)sprintf(text + used, ",[{\"n%d\":{\"%d\":[[[[[[1]]]]]]}}]", i, i);
    used += (size_t)sprintf(text + used, "]");
    slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
    limits.lone_surrogates = 1;
    uint64_t n = 1;
    for (;; n++) {
        slt_heap_reset(&heap);
        heap.fail_at = n;
        slw_error err = SLW_ERROR_INIT;
        slwi_json_document *d = NULL;
        const slw_code rc = slwi_json_parse(&heap.allocator, (slw_bytes){text, used}, &limits, &d, &err);
        if (heap.failed == 0) {
            slt_ok(rc, &err);
            slwi_json_free(&d);
            break;
        }
        ck_assert_int_eq(rc, SLW_E_NO_MEMORY);
        ck_assert_ptr_null(d);
        slt_heap_check_empty(&heap);
    }
    ck_assert_uint_gt(n, 4);
    slt_heap_check_empty(&heap);
}
END_TEST

/* Whatever is put in place of one byte, or cut off at the end, is accepted or refused, never more. */
START_TEST(every_byte_changed) {
    static const char good[] =
        "{\"a\":[1,-2.5e3,true,null,\"x\\u00e9\\ud83d\\ude00\xc3\xa9\"],\"b\":{\"c\":\"\",\"d\":{}}}";
    const slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
    int accepted = 0;
    for (size_t at = 0; at < sizeof good - 1; at++) {
        for (int byte = 0; byte < 256; byte++) {
            char *text = malloc(sizeof good - 1);
            memcpy(text, good, sizeof good - 1);
            text[at] = (char)byte;
            slw_error err = SLW_ERROR_INIT;
            slwi_json_document *d = NULL;
            const slw_code rc = slwi_json_parse(NULL, (slw_bytes){text, sizeof good - 1}, &limits, &d, &err);
            ck_assert(rc == SLW_OK ? d != NULL : rc == SLW_E_INVALID_METADATA && d == NULL && err.reason != NULL);
            ck_assert(rc == SLW_OK || err.offset_bytes <= sizeof good - 1);
            accepted += rc == SLW_OK;
            slwi_json_free(&d);
            free(text);
        }
        slw_error err = SLW_ERROR_INIT;
        slwi_json_document *d = NULL;
        ck_assert_int_eq(slwi_json_parse(NULL, (slw_bytes){good, at}, &limits, &d, &err), SLW_E_INVALID_METADATA);
    }
    ck_assert_int_gt(accepted, (int)sizeof good - 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("base/json");
    TCase *tc = tcase_create("json");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, pitfall_39_refusals_have_a_reason_and_a_place, 0, (int)(sizeof refusals / sizeof refusals[0]));
    tcase_add_test(tc, values_mean_what_they_say);
    tcase_add_test(tc, roots_of_every_kind);
    tcase_add_test(tc, members_in_order);
    tcase_add_test(tc, lone_surrogates_are_kept_when_asked);
    tcase_add_test(tc, limits_are_exact);
    tcase_add_test(tc, deep_documents);
    tcase_add_test(tc, depth_costs_no_stack);
    tcase_add_test(tc, pitfall_39_bombs_are_refused_quickly);
    tcase_add_test(tc, many_names_are_not_quadratic);
    tcase_add_test(tc, numbers_at_the_edges);
    tcase_add_test(tc, every_allocation_may_fail);
    tcase_add_test(tc, every_byte_changed);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
