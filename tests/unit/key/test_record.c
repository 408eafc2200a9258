/* Typed records: what each kind encodes to, what is refused, who owns what, and that nothing depends on depth or order. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault_alloc.h"
#include "sha256.h"
#include "slt.h"

static slw_error error = SLW_ERROR_INIT;

#define ck_made(call) slt_ok(call, &error)
#define ck_refused(call, expected_code, expected_reason)                                                           \
    do {                                                                                                           \
        ck_assert_int_eq((call), expected_code);                                                                   \
        ck_assert_int_eq(error.code, expected_code);                                                               \
        ck_assert_str_eq(error.reason, expected_reason);                                                           \
    } while (0)

static slw_bytes bytes_of(const char *text) {
    return (slw_bytes){text, strlen(text)};
}

/* Takes the record: encodes it, checks that the digest is the text's, releases it. */
static void ck_encodes(slw_record *record, const char *value) {
    slw_text text = SLW_TEXT_INIT;
    slw_digest digest, of_text;
    char expected[4096];
    snprintf(expected, sizeof expected, "[\"slipway.identity\",1,%s]", value);
    ck_made(slw_record_encode(record, NULL, &text, &error));
    ck_assert_str_eq(text.data, expected);
    ck_assert_uint_eq(text.size, strlen(expected));
    ck_made(slw_record_digest(record, NULL, &digest, &error));
    slw_sha256((slw_bytes){text.data, text.size}, &of_text);
    ck_assert_mem_eq(&digest, &of_text, sizeof digest);
    slw_text_release(&text);
    slw_record_release(&record);
    ck_assert_ptr_null(record);
}

static slw_record *integer(int64_t value) {
    slw_record *record = NULL;
    ck_made(slw_record_int(NULL, value, &record, &error));
    return record;
}

static slw_record *string(slw_bytes text) {
    slw_record *record = NULL;
    ck_made(slw_record_string(NULL, text, &record, &error));
    return record;
}

static slw_record *empty_list(void) {
    slw_record *record = NULL;
    ck_made(slw_record_list(NULL, &record, &error));
    return record;
}

static void append(slw_record *sequence, slw_record *item) {
    ck_made(slw_record_append(sequence, &item, &error));
    ck_assert_ptr_null(item);
}

static void set(slw_record *dict, const char *name, slw_record *item) {
    ck_made(slw_record_set(dict, bytes_of(name), &item, &error));
    ck_assert_ptr_null(item);
}

START_TEST(leaves) {
    slw_record *r = NULL;
    ck_made(slw_record_none(NULL, &r, &error));
    ck_encodes(r, "[\"none\"]");
    ck_made(slw_record_bool(NULL, 0, &r, &error));
    ck_encodes(r, "[\"bool\",false]");
    ck_made(slw_record_bool(NULL, 7, &r, &error));
    ck_encodes(r, "[\"bool\",true]");
    ck_encodes(integer(0), "[\"int\",\"0\"]");
    ck_encodes(integer(-17), "[\"int\",\"-17\"]");
    ck_encodes(integer(INT64_MAX), "[\"int\",\"9223372036854775807\"]");
    ck_encodes(integer(INT64_MIN), "[\"int\",\"-9223372036854775808\"]");
    ck_encodes(string(bytes_of("rows")), "[\"str\",\"726f7773\"]");
    ck_encodes(string((slw_bytes){NULL, 0}), "[\"str\",\"\"]");
    ck_encodes(string((slw_bytes){"a\0b", 3}), "[\"str\",\"610062\"]");
    ck_made(slw_record_bytes(NULL, (slw_bytes){"\0\xff", 2}, &r, &error));
    ck_encodes(r, "[\"bytes\",\"00ff\"]");
}
END_TEST

START_TEST(floats_keep_their_bits) {
    static const struct {
        double value;
        const char *bits;
    } cases[] = {{0.0, "0000000000000000"},      {-0.0, "8000000000000000"}, {1.0, "3ff0000000000000"},
                 {-1.5, "bff8000000000000"},     {5e-324, "0000000000000001"}, {HUGE_VAL, "7ff0000000000000"},
                 {-HUGE_VAL, "fff0000000000000"}};
    char expected[64];
    slw_record *r = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_made(slw_record_float(NULL, cases[i].value, &r, &error));
        snprintf(expected, sizeof expected, "[\"float64\",\"%s\"]", cases[i].bits);
        ck_encodes(r, expected);
    }
    uint64_t payloads[] = {0x7ff8000000000000u, 0x7ff8000000000001u, 0xfff8000000000000u};
    for (size_t i = 0; i < 3; i++) {
        double nan;
        memcpy(&nan, &payloads[i], sizeof nan);
        ck_made(slw_record_float(NULL, nan, &r, &error));
        snprintf(expected, sizeof expected, "[\"float64\",\"%016llx\"]", (unsigned long long) payloads[i]);
        ck_encodes(r, expected);
    }
}
END_TEST

START_TEST(integers_have_one_form_and_no_size) {
    static const char *const bad[] = {"", "-", "+1", "01", "-0", "00", "-01", "1 ", " 1", "1.0", "0x1", "1e3", "--1", "1-"};
    slw_record *r = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_refused(slw_record_int_text(NULL, bytes_of(bad[i]), &r, &error), SLW_E_USAGE, "BAD_INTEGER");
        ck_assert_ptr_null(r);
    }
    ck_refused(slw_record_int_text(NULL, (slw_bytes){"1\0", 2}, &r, &error), SLW_E_USAGE, "BAD_INTEGER");
    ck_made(slw_record_int_text(NULL, bytes_of("-10000000000000000000000000000000000000000"), &r, &error));
    ck_encodes(r, "[\"int\",\"-10000000000000000000000000000000000000000\"]");
    char *digits = malloc(100000);
    memset(digits, '9', 100000);
    ck_made(slw_record_int_text(NULL, (slw_bytes){digits, 100000}, &r, &error));
    slw_text text = SLW_TEXT_INIT;
    ck_made(slw_record_encode(r, NULL, &text, &error));
    ck_assert_uint_eq(text.size, 100000 + strlen("[\"slipway.identity\",1,[\"int\",\"\"]]"));
    slw_text_release(&text);
    slw_record_release(&r);
    free(digits);
}
END_TEST

START_TEST(strings_are_wtf8) {
    static const char *const bad[] = {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xf4\x90\x80\x80", "\xff", "a\xf0\x9f\x98"};
    slw_record *r = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_refused(slw_record_string(NULL, bytes_of(bad[i]), &r, &error), SLW_E_USAGE, "BAD_TEXT");
        ck_assert_ptr_null(r);
    }
    ck_encodes(string(bytes_of("\xed\xa0\xbd\xed\xb8\x80")), "[\"str\",\"eda0bdedb880\"]"); /* two, and kept as two */
    ck_encodes(string(bytes_of("\xf0\x9f\x98\x80")), "[\"str\",\"f09f9880\"]");
}
END_TEST

START_TEST(names_of_the_file_system) {
    slw_record *r = NULL;
    ck_made(slw_record_os_string(NULL, bytes_of("a\xe9/\xc3\xa9"), &r, &error));
    ck_encodes(r, "[\"str\",\"61edb3a92fc3a9\"]");
    ck_made(slw_record_os_string(NULL, bytes_of("\x80\xff"), &r, &error));
    ck_encodes(r, "[\"str\",\"edb280edb3bf\"]");
    ck_made(slw_record_os_string(NULL, bytes_of("\xed\xb3\xa9"), &r, &error)); /* a surrogate is no UTF-8 either */
    ck_encodes(r, "[\"str\",\"edb3adedb2b3edb2a9\"]");
}
END_TEST

START_TEST(kinds_differ) {
    slw_digest digests[16];
    slw_record *records[16] = {NULL};
    size_t count = 0;
    ck_made(slw_record_none(NULL, &records[count++], &error));
    ck_made(slw_record_bool(NULL, 0, &records[count++], &error));
    ck_made(slw_record_bool(NULL, 1, &records[count++], &error));
    records[count++] = integer(0);
    records[count++] = integer(1);
    ck_made(slw_record_float(NULL, 0.0, &records[count++], &error));
    ck_made(slw_record_float(NULL, -0.0, &records[count++], &error));
    ck_made(slw_record_float(NULL, 1.0, &records[count++], &error));
    records[count++] = string(bytes_of("1"));
    ck_made(slw_record_bytes(NULL, bytes_of("1"), &records[count++], &error));
    records[count++] = empty_list();
    ck_made(slw_record_tuple(NULL, &records[count++], &error));
    ck_made(slw_record_dict(NULL, &records[count++], &error));
    records[count++] = string(bytes_of("\xf0\x9f\x98\x80"));
    records[count++] = string(bytes_of("\xed\xa0\xbd\xed\xb8\x80"));
    for (size_t i = 0; i < count; i++) {
        ck_made(slw_record_digest(records[i], NULL, &digests[i], &error));
        for (size_t j = 0; j < i; j++) ck_assert_mem_ne(&digests[i], &digests[j], sizeof digests[i]);
        slw_record_release(&records[i]);
    }
}
END_TEST

START_TEST(boundaries_and_order_matter) {
    slw_record *list = empty_list();
    append(list, string(bytes_of("a")));
    append(list, string(bytes_of("bc")));
    ck_encodes(list, "[\"list\",[[\"str\",\"61\"],[\"str\",\"6263\"]]]");
    slw_record *tuple = NULL, *inner = empty_list();
    ck_made(slw_record_tuple(NULL, &tuple, &error));
    append(tuple, empty_list());
    append(inner, integer(2));
    append(inner, empty_list());
    append(tuple, inner);
    append(tuple, integer(1));
    ck_encodes(tuple, "[\"tuple\",[[\"list\",[]],[\"list\",[[\"int\",\"2\"],[\"list\",[]]]],[\"int\",\"1\"]]]");
}
END_TEST

START_TEST(dicts_sort_by_code_point) {
    slw_record *dict = NULL, *inner = NULL;
    ck_made(slw_record_dict(NULL, &dict, &error));
    ck_made(slw_record_dict(NULL, &inner, &error));
    set(inner, "z", integer(1));
    set(dict, "\xf0\x9f\x98\x80", integer(1));
    set(dict, "a/b", integer(2));
    set(dict, "\xef\xbf\xbf", integer(3));
    set(dict, "a-b", inner);
    set(dict, "\xed\xa0\xbd", integer(4));
    set(dict, "", integer(5));
    ck_encodes(dict, "[\"dict\",[[[\"str\",\"\"],[\"int\",\"5\"]],[[\"str\",\"612d62\"],[\"dict\",[[[\"str\",\"7a\"],[\"int\","
                     "\"1\"]]]]],[[\"str\",\"612f62\"],[\"int\",\"2\"]],[[\"str\",\"eda0bd\"],[\"int\",\"4\"]],[[\"str\","
                     "\"efbfbf\"],[\"int\",\"3\"]],[[\"str\",\"f09f9880\"],[\"int\",\"1\"]]]]");
}
END_TEST

START_TEST(dict_order_is_no_difference) {
    slw_digest first, other;
    for (int reverse = 0; reverse < 2; reverse++) {
        slw_record *dict = NULL;
        char name[16];
        ck_made(slw_record_dict(NULL, &dict, &error));
        for (int i = 0; i < 500; i++) {
            int n = reverse ? 499 - i : i * 7 % 500;
            snprintf(name, sizeof name, "name%d", n);
            set(dict, name, integer(n));
        }
        ck_made(slw_record_digest(dict, NULL, reverse ? &other : &first, &error));
        slw_record_release(&dict);
    }
    ck_assert_mem_eq(&first, &other, sizeof first);
}
END_TEST

START_TEST(the_domain_is_part_of_the_digest) {
    slw_record *r = integer(1);
    slw_digest ours, theirs;
    slw_text text = SLW_TEXT_INIT;
    ck_made(slw_record_digest(r, NULL, &ours, &error));
    ck_made(slw_record_digest(r, SLW_DOMAIN_DEFAULT, &theirs, &error));
    ck_assert_mem_eq(&ours, &theirs, sizeof ours);
    ck_made(slw_record_digest(r, SLW_DOMAIN_PYPTO, &theirs, &error));
    ck_assert_mem_ne(&ours, &theirs, sizeof ours);
    ck_made(slw_record_encode(r, "x.y-1_z", &text, &error));
    ck_assert_str_eq(text.data, "[\"x.y-1_z\",1,[\"int\",\"1\"]]");
    slw_text_release(&text);
    ck_refused(slw_record_encode(r, "", &text, &error), SLW_E_USAGE, "BAD_DOMAIN");
    ck_refused(slw_record_digest(r, "a\"b", &ours, &error), SLW_E_USAGE, "BAD_DOMAIN");
    ck_refused(slw_record_digest(r, "A", &ours, &error), SLW_E_USAGE, "BAD_DOMAIN");
    ck_assert_ptr_null(text.data);
    slw_record_release(&r);
}
END_TEST

START_TEST(moves_are_all_or_nothing) {
    slw_record *list = empty_list(), *dict = NULL, *item = integer(1), *kept = item, *other = integer(2);
    ck_made(slw_record_dict(NULL, &dict, &error));
    ck_refused(slw_record_append(item, &other, &error), SLW_E_USAGE, "BAD_RECORD");  /* not a container */
    ck_refused(slw_record_append(dict, &item, &error), SLW_E_USAGE, "BAD_RECORD");   /* a dict needs a name */
    ck_refused(slw_record_set(list, bytes_of("a"), &item, &error), SLW_E_USAGE, "BAD_RECORD");
    ck_refused(slw_record_set(dict, bytes_of("\xff"), &item, &error), SLW_E_USAGE, "BAD_TEXT");
    ck_refused(slw_record_append(list, NULL, &error), SLW_E_USAGE, "BAD_RECORD");
    ck_refused(slw_record_append(NULL, &item, &error), SLW_E_USAGE, "BAD_RECORD");
    ck_assert_ptr_eq(item, kept);
    set(dict, "a", item);
    ck_refused(slw_record_set(dict, bytes_of("a"), &other, &error), SLW_E_USAGE, "DUPLICATE");
    ck_assert_str_eq(error.subject, "a");
    ck_assert_ptr_nonnull(other);
    slw_record_release(&other);
    slw_record_release(&list);
    ck_encodes(dict, "[\"dict\",[[[\"str\",\"61\"],[\"int\",\"1\"]]]]");
}
END_TEST

/* Whoever keeps a second pointer cannot make a cycle or change what has an owner. */
START_TEST(cycles_cannot_be_made) {
    slw_record *outer = empty_list(), *inner = empty_list(), *alias = outer, *inner_alias = inner;
    ck_refused(slw_record_append(outer, &alias, &error), SLW_E_USAGE, "BAD_RECORD");
    append(outer, inner);
    ck_refused(slw_record_append(inner_alias, &alias, &error), SLW_E_USAGE, "BAD_RECORD");
    slw_record *again = inner_alias;
    ck_refused(slw_record_append(outer, &again, &error), SLW_E_USAGE, "BAD_RECORD");
    slw_record_release(&inner_alias); /* owned by outer: left alone */
    ck_encodes(outer, "[\"list\",[[\"list\",[]]]]");
}
END_TEST

START_TEST(depth_is_limited_not_the_stack) {
    slw_record *record = integer(1);
    slw_digest digest;
    slw_text text = SLW_TEXT_INIT;
    for (unsigned depth = 1; depth < SLW_LIMIT_RECORD_DEPTH; depth++) {
        slw_record *outer = depth % 2 == 0 ? empty_list() : NULL;
        if (outer == NULL) {
            ck_made(slw_record_dict(NULL, &outer, &error));
            ck_made(slw_record_set(outer, bytes_of("n"), &record, &error));
        } else {
            ck_made(slw_record_append(outer, &record, &error));
        }
        record = outer;
    }
    ck_made(slw_record_encode(record, NULL, &text, &error));
    ck_made(slw_record_digest(record, NULL, &digest, &error));
    slw_digest of_text;
    slw_sha256((slw_bytes){text.data, text.size}, &of_text);
    ck_assert_mem_eq(&digest, &of_text, sizeof digest);
    slw_text_release(&text);
    slw_record *outer = empty_list();
    ck_refused(slw_record_append(outer, &record, &error), SLW_E_LIMIT, "DEPTH");
    ck_assert_uint_eq(error.limit, SLW_LIMIT_RECORD_DEPTH);
    ck_assert_ptr_nonnull(record);
    slw_record_release(&outer);
    slw_record_release(&record);
}
END_TEST

START_TEST(encoded_size_is_limited) {
    size_t half = SLW_LIMIT_RECORD_BYTES / 2;
    char *zeros = calloc(1, half);
    slw_record *r = NULL;
    slw_text text = SLW_TEXT_INIT;
    slw_digest digest;
    memset(&digest, 7, sizeof digest);
    ck_made(slw_record_bytes(NULL, (slw_bytes){zeros, half}, &r, &error));
    ck_refused(slw_record_encode(r, NULL, &text, &error), SLW_E_LIMIT, "LIMIT");
    ck_refused(slw_record_digest(r, NULL, &digest, &error), SLW_E_LIMIT, "LIMIT");
    ck_assert_ptr_null(text.data);
    ck_assert_uint_eq(digest.bytes[0], 7);
    slw_record_release(&r);
    ck_made(slw_record_bytes(NULL, (slw_bytes){zeros, half - 100}, &r, &error));
    ck_made(slw_record_digest(r, NULL, &digest, &error));
    slw_record_release(&r);
    free(zeros);
}
END_TEST

START_TEST(arguments) {
    slw_record *r = NULL;
    slw_text text = SLW_TEXT_INIT;
    slw_digest digest;
    slt_heap heap;
    slt_heap_init(&heap);
    slw_allocator half = heap.allocator;
    half.release = NULL;
    ck_assert_int_eq(slw_record_none(NULL, NULL, NULL), SLW_E_USAGE);
    ck_assert_int_eq(slw_record_none(&half, &r, &error), SLW_E_USAGE);
    ck_assert_int_eq(slw_record_string(NULL, (slw_bytes){NULL, 1}, &r, &error), SLW_E_USAGE);
    ck_assert_int_eq(slw_record_encode(NULL, NULL, &text, &error), SLW_E_USAGE);
    ck_assert_int_eq(slw_record_digest(NULL, NULL, &digest, &error), SLW_E_USAGE);
    ck_assert_ptr_null(r);
    slw_record_release(NULL);
    slw_record_release(&r);
}
END_TEST

static const char document[] =
    "{\"t\":\"dict\",\"v\":[[{\"t\":\"str\",\"wtf8_hex\":\"62\"},{\"t\":\"list\",\"v\":[{\"t\":\"none\"},{\"t\":\"tuple\","
    "\"v\":[]}]}],\n [{\"t\":\"str\",\"wtf8_hex\":\"61\"},{\"v\":\"-5\",\"t\":\"int\"}]]}";

START_TEST(parse_reads_the_value_form) {
    slw_record *r = NULL;
    ck_made(slw_record_parse(NULL, bytes_of(document), &r, &error));
    ck_encodes(r, "[\"dict\",[[[\"str\",\"61\"],[\"int\",\"-5\"]],[[\"str\",\"62\"],[\"list\",[[\"none\"],[\"tuple\",[]]]]]]]");
}
END_TEST

/* Each with the text at which the error points. */
static const struct {
    const char *json, *reason, *at;
} bad_documents[] = {
    {"[]", "BAD_RECORD", "[]"},
    {"null", "BAD_RECORD", "null"},
    {" {\"v\":1}", "BAD_RECORD", "{\"v\""},
    {"{\"t\":\"thing\"}", "UNKNOWN_TAG", "\"thing\""},
    {"{\"t\":\"none\",\"v\":1}", "UNKNOWN_FIELD", "{\"t\""},
    {"{\"t\":\"bool\",\"v\":1}", "BAD_RECORD", "1}"},
    {"{\"t\":\"bool\"}", "BAD_RECORD", "{\"t\""},
    {"{\"t\":\"int\",\"v\":1}", "BAD_INTEGER", "1}"},
    {"{\"t\":\"int\",\"v\":\"01\"}", "BAD_INTEGER", "\"01\""},
    {"{\"t\":\"int\",\"v\":\"+1\"}", "BAD_INTEGER", "\"+1\""},
    {"{\"t\":\"int\",\"v\":\"-0\"}", "BAD_INTEGER", "\"-0\""},
    {"{\"t\":\"f64\",\"bits\":\"3FF0000000000000\"}", "BAD_FLOAT", "\"3FF"},
    {"{\"t\":\"f64\",\"bits\":\"3ff000000000000\"}", "BAD_FLOAT", "\"3ff"},
    {"{\"t\":\"str\",\"wtf8_hex\":\"6\"}", "BAD_HEX", "\"6\""},
    {"{\"t\":\"str\",\"wtf8_hex\":\"6G\"}", "BAD_HEX", "\"6G\""},
    {"{\"t\":\"str\",\"wtf8_hex\":\"ff\"}", "BAD_TEXT", "\"ff\""},
    {"{\"t\":\"bytes\",\"hex\":\"AA\"}", "BAD_HEX", "\"AA\""},
    {"{\"t\":\"list\",\"v\":{}}", "BAD_RECORD", "{}}"},
    {"{\"t\":\"list\",\"v\":[{\"t\":\"none\"},{\"t\":\"tuple\",\"v\":[7]}]}", "BAD_RECORD", "7]"},
    {"{\"t\":\"dict\",\"v\":[[{\"t\":\"str\",\"wtf8_hex\":\"\"}]]}", "BAD_RECORD", "[{\"t\":\"str\""},
    {"{\"t\":\"dict\",\"v\":[[{\"t\":\"int\",\"v\":\"1\"},{\"t\":\"none\"}]]}", "BAD_NAME", "{\"t\":\"int\""},
    {"{\"t\":\"dict\",\"v\":[[{\"t\":\"str\",\"wtf8_hex\":\"\"},{\"t\":\"x\"}]]}", "UNKNOWN_TAG", "\"x\""},
    {"{\"t\":\"list\",\"v\":[{\"t\":\"dict\",\"v\":[[{\"t\":\"str\",\"wtf8_hex\":\"61\"},{\"t\":\"none\"}],[{\"t\":\"str\","
     "\"wtf8_hex\":\"61\"},{\"t\":\"none\"}]]}]}",
     "DUPLICATE", "{\"t\":\"dict\""},
};

START_TEST(parse_refuses_and_points_at) {
    const char *json = bad_documents[_i].json;
    slw_record *r = NULL;
    size_t expected = (size_t) (strstr(json, bad_documents[_i].at) - json);
    ck_refused(slw_record_parse(NULL, bytes_of(json), &r, &error), SLW_E_INVALID_METADATA, bad_documents[_i].reason);
    ck_assert_ptr_null(r);
    ck_assert(error.present & SLW_ERROR_HAS_OFFSET);
    ck_assert_uint_eq(error.offset_bytes, expected);
    ck_assert_uint_eq(error.line, 1);
    ck_assert_uint_eq(error.column, expected + 1);
}
END_TEST

START_TEST(parse_counts_lines) {
    slw_record *r = NULL;
    const char *json = "{\"t\":\n\"list\", \"v\" : [ {\"t\":\"none\"},\n\n  {\"t\":\"int\",\"v\":\"00\"}]}";
    ck_refused(slw_record_parse(NULL, bytes_of(json), &r, &error), SLW_E_INVALID_METADATA, "BAD_INTEGER");
    ck_assert_uint_eq(error.line, 4);
    ck_assert_uint_eq(error.column, 18);
}
END_TEST

START_TEST(parse_leaves_syntax_to_the_reader) {
    static const char *const bad[] = {"", "{", "{\"t\":\"none\"} x", "{\"t\":\"none\",\"t\":\"none\"}", "{\"t\":NaN}",
                                      "\xff", "{\"t\":\"\\ud800\"}"};
    slw_record *r = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_eq(slw_record_parse(NULL, bytes_of(bad[i]), &r, &error), SLW_E_INVALID_METADATA);
        ck_assert_ptr_null(r);
    }
    ck_assert_int_eq(slw_record_parse(NULL, (slw_bytes){NULL, 1}, &r, &error), SLW_E_USAGE);
    ck_assert_int_eq(slw_record_parse(NULL, bytes_of("{}"), NULL, &error), SLW_E_USAGE);
}
END_TEST

/* `depth` dicts or lists, one in the other, around none. */
static char *nested(size_t depth, const char *open, const char *close) {
    char *text = malloc(depth * (strlen(open) + strlen(close)) + 64), *at = text;
    for (size_t i = 0; i < depth; i++) at = stpcpy(at, open);
    at = stpcpy(at, "{\"t\":\"none\"}");
    for (size_t i = 0; i < depth; i++) at = stpcpy(at, close);
    return text;
}

START_TEST(parse_depth) {
    static const char *const shapes[][2] = {{"{\"t\":\"list\",\"v\":[", "]}"},
                                            {"{\"t\":\"dict\",\"v\":[[{\"t\":\"str\",\"wtf8_hex\":\"\"},", "]]}"}};
    slw_record *r = NULL;
    for (size_t i = 0; i < 2; i++) {
        char *good = nested(SLW_LIMIT_RECORD_DEPTH - 1, shapes[i][0], shapes[i][1]);
        char *bad = nested(SLW_LIMIT_RECORD_DEPTH + 1, shapes[i][0], shapes[i][1]);
        slw_digest digest;
        ck_made(slw_record_parse(NULL, bytes_of(good), &r, &error));
        ck_made(slw_record_digest(r, NULL, &digest, &error));
        slw_record_release(&r);
        ck_refused(slw_record_parse(NULL, bytes_of(bad), &r, &error), SLW_E_LIMIT, "DEPTH");
        ck_assert_uint_eq(error.offset_bytes, SLW_LIMIT_RECORD_DEPTH * strlen(shapes[i][0]));
        ck_assert_ptr_null(r);
        free(good);
        free(bad);
    }
}
END_TEST

/* A large dict in falling order is sorted in n log n, and its duplicate found. */
START_TEST(parse_a_large_dict) {
    enum { NAMES = 30000 };
    for (int duplicate = 0; duplicate < 2; duplicate++) {
        char *json = malloc(NAMES * 64 + 64), *at = stpcpy(json, "{\"t\":\"dict\",\"v\":[");
        for (int i = NAMES; i > 0; i--) {
            int n = i == 1 && duplicate ? NAMES / 2 : i;
            at += sprintf(at, "[{\"t\":\"str\",\"wtf8_hex\":\"%02x%02x%02x\"},{\"t\":\"none\"}]%s", n >> 12 & 63,
                          n >> 6 & 63, n & 63, i == 1 ? "]}" : ",");
        }
        slw_record *r = NULL;
        slw_text text = SLW_TEXT_INIT;
        if (duplicate) {
            ck_refused(slw_record_parse(NULL, bytes_of(json), &r, &error), SLW_E_INVALID_METADATA, "DUPLICATE");
        } else {
            ck_made(slw_record_parse(NULL, bytes_of(json), &r, &error));
            ck_made(slw_record_encode(r, NULL, &text, &error));
            ck_assert_ptr_nonnull(strstr(text.data, "[\"dict\",[[[\"str\",\"000001\"],[\"none\"]],[[\"str\",\"000002\"]"));
        }
        slw_text_release(&text);
        slw_record_release(&r);
        free(json);
    }
}
END_TEST

static slw_code build_and_digest(const slw_allocator *allocator, slw_digest *out) {
    slw_record *dict = NULL, *list = NULL, *item = NULL;
    slw_text text = SLW_TEXT_INIT;
    slw_code rc = slw_record_dict(allocator, &dict, &error);
    if (rc == SLW_OK) rc = slw_record_list(allocator, &list, &error);
    if (rc == SLW_OK) rc = slw_record_os_string(allocator, bytes_of("a\xff"), &item, &error);
    if (rc == SLW_OK) rc = slw_record_append(list, &item, &error);
    if (rc == SLW_OK) rc = slw_record_int(allocator, 5, &item, &error);
    if (rc == SLW_OK) rc = slw_record_append(list, &item, &error);
    if (rc == SLW_OK) rc = slw_record_set(dict, bytes_of("b"), &list, &error);
    if (rc == SLW_OK) rc = slw_record_none(allocator, &item, &error);
    if (rc == SLW_OK) rc = slw_record_set(dict, bytes_of("a"), &item, &error);
    if (rc == SLW_OK) rc = slw_record_encode(dict, NULL, &text, &error);
    if (rc == SLW_OK) rc = slw_record_digest(dict, NULL, out, &error);
    slw_text_release(&text);
    slw_record_release(&item);
    slw_record_release(&list);
    slw_record_release(&dict);
    return rc;
}

START_TEST(every_allocation_fails_once) {
    slw_digest expected, digest;
    slt_heap heap;
    slt_heap_init(&heap);
    ck_made(build_and_digest(NULL, &expected));
    for (uint64_t at = 1;; at++) {
        slt_heap_reset(&heap);
        heap.fail_at = at;
        slw_code rc = build_and_digest(&heap.allocator, &digest);
        slt_heap_check_empty(&heap);
        if (heap.failed == 0) {
            ck_assert_int_eq(rc, SLW_OK);
            ck_assert_uint_gt(at, 8);
            break;
        }
        ck_assert_int_eq(rc, SLW_E_NO_MEMORY);
        ck_assert_int_eq(error.code, SLW_E_NO_MEMORY);
    }
    ck_assert_mem_eq(&digest, &expected, sizeof digest);
}
END_TEST

START_TEST(every_allocation_of_a_parse_fails_once) {
    slt_heap heap;
    slt_heap_init(&heap);
    for (uint64_t at = 1;; at++) {
        slt_heap_reset(&heap);
        heap.fail_at = at;
        slw_record *r = NULL;
        slw_code rc = slw_record_parse(&heap.allocator, bytes_of(document), &r, &error);
        ck_assert(rc == SLW_OK ? r != NULL : r == NULL);
        slw_record_release(&r);
        slt_heap_check_empty(&heap);
        if (heap.failed == 0) {
            ck_assert_int_eq(rc, SLW_OK);
            ck_assert_uint_gt(at, 8);
            break;
        }
        ck_assert_int_eq(rc, SLW_E_NO_MEMORY);
    }
}
END_TEST

/* A small generator, the same at every run. */
static uint32_t seed;
static uint32_t draw(uint32_t below) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static slw_record *random_leaf(void) {
    slw_record *r = NULL;
    char raw[300];
    size_t size = draw(4) == 0 ? draw(300) : draw(20);
    for (size_t i = 0; i < size; i++) raw[i] = (char) draw(256);
    switch (draw(6)) {
    case 0: ck_made(slw_record_none(NULL, &r, &error)); break;
    case 1: ck_made(slw_record_bool(NULL, (int) draw(2), &r, &error)); break;
    case 2: r = integer((int64_t) draw(65536) - 32768); break;
    case 3: ck_made(slw_record_float(NULL, (double) draw(1000) / 7, &r, &error)); break;
    case 4: ck_made(slw_record_os_string(NULL, (slw_bytes){raw, size}, &r, &error)); break;
    default: ck_made(slw_record_bytes(NULL, (slw_bytes){raw, size}, &r, &error)); break;
    }
    return r;
}

/* A random tree, grown from its leaves: containers swallow some of what is there. */
static slw_record *random_record(void) {
    slw_record *pool[32];
    size_t count = 1 + draw(32);
    for (size_t i = 0; i < count; i++) pool[i] = random_leaf();
    while (count > 1) {
        slw_record *container = NULL;
        uint32_t kind = draw(3);
        size_t take = 1 + draw((uint32_t) count);
        if (kind == 0) ck_made(slw_record_list(NULL, &container, &error));
        if (kind == 1) ck_made(slw_record_tuple(NULL, &container, &error));
        if (kind == 2) ck_made(slw_record_dict(NULL, &container, &error));
        for (size_t i = 0; i < take; i++) {
            slw_record *item = pool[--count];
            char name[16];
            snprintf(name, sizeof name, "%u", draw(1000));
            slw_code rc = kind == 2 ? slw_record_set(container, bytes_of(name), &item, &error)
                                    : slw_record_append(container, &item, &error);
            if (rc != SLW_OK) ck_assert_str_eq(error.reason, "DUPLICATE");
            slw_record_release(&item);
        }
        pool[count++] = container;
    }
    return pool[0];
}

START_TEST(random_records_hash_as_their_text) {
    for (seed = 1; seed < 4000;) {
        uint32_t start = seed;
        slw_record *r = random_record();
        slw_text text = SLW_TEXT_INIT;
        slw_digest digest, of_text;
        ck_made(slw_record_encode(r, SLW_DOMAIN_PYPTO, &text, &error));
        ck_made(slw_record_digest(r, SLW_DOMAIN_PYPTO, &digest, &error));
        ck_assert(slwi_sha256_use("libsodium"));
        slw_sha256((slw_bytes){text.data, text.size}, &of_text);
        ck_assert(slwi_sha256_use(NULL));
        ck_assert_mem_eq(&digest, &of_text, sizeof digest);
        slw_text_release(&text);
        slw_record_release(&r);
        seed = start + 1;
    }
}
END_TEST

/* Damaged documents are refused or are other records, but never anything worse. */
START_TEST(random_damage_never_crashes) {
    static const char alphabet[] = "{}[]\",:\\u0123456789abcdeftv-+. \n\x80\xff";
    char json[sizeof document];
    unsigned accepted = 0;
    for (uint32_t round = 0; round < 20000; round++) {
        seed = round;
        size_t size = sizeof document - 1;
        memcpy(json, document, sizeof json);
        for (uint32_t edits = 1 + draw(3); edits != 0; edits--) {
            size_t at = draw((uint32_t) size), length = 1 + draw(8);
            if (length > size - at) length = size - at;
            switch (draw(3)) {
            case 0: json[at] = alphabet[draw(sizeof alphabet - 1)]; break;
            case 1:
                memmove(json + at, json + at + length, size - at - length);
                size -= length;
                break;
            default: memcpy(json + at, document + draw((uint32_t) (sizeof document - 8)), length); break;
            }
            if (size < 2) break;
        }
        slw_record *r = NULL;
        slw_digest digest;
        slw_code rc = slw_record_parse(NULL, (slw_bytes){json, size}, &r, &error);
        if (rc == SLW_OK) {
            ck_made(slw_record_digest(r, NULL, &digest, &error));
            accepted++;
        } else {
            ck_assert(rc == SLW_E_INVALID_METADATA || rc == SLW_E_LIMIT);
            ck_assert_ptr_null(r);
            ck_assert_uint_le(error.offset_bytes, size);
        }
        slw_record_release(&r);
    }
    ck_assert_uint_gt(accepted, 0);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("key/record");
    TCase *t = tcase_create("record");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, leaves);
    tcase_add_test(t, floats_keep_their_bits);
    tcase_add_test(t, integers_have_one_form_and_no_size);
    tcase_add_test(t, strings_are_wtf8);
    tcase_add_test(t, names_of_the_file_system);
    tcase_add_test(t, kinds_differ);
    tcase_add_test(t, boundaries_and_order_matter);
    tcase_add_test(t, dicts_sort_by_code_point);
    tcase_add_test(t, dict_order_is_no_difference);
    tcase_add_test(t, the_domain_is_part_of_the_digest);
    tcase_add_test(t, moves_are_all_or_nothing);
    tcase_add_test(t, cycles_cannot_be_made);
    tcase_add_test(t, depth_is_limited_not_the_stack);
    tcase_add_test(t, encoded_size_is_limited);
    tcase_add_test(t, arguments);
    tcase_add_test(t, parse_reads_the_value_form);
    tcase_add_loop_test(t, parse_refuses_and_points_at, 0, (int) (sizeof bad_documents / sizeof bad_documents[0]));
    tcase_add_test(t, parse_counts_lines);
    tcase_add_test(t, parse_leaves_syntax_to_the_reader);
    tcase_add_test(t, parse_depth);
    tcase_add_test(t, parse_a_large_dict);
    tcase_add_test(t, every_allocation_fails_once);
    tcase_add_test(t, every_allocation_of_a_parse_fails_once);
    tcase_add_test(t, random_records_hash_as_their_text);
    tcase_add_test(t, random_damage_never_crashes);
    suite_add_tcase(s, t);
    return s;
}

int main(void) {
    return slt_run(suite(), NULL);
}
