/* Requests: what a good one makes, what is refused and where the error points, and damage of every kind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault_alloc.h"
#include "key_internal.h"
#include "slt.h"

static slw_error error = SLW_ERROR_INIT;

#define D1 "1111111111111111111111111111111111111111111111111111111111111111"
#define D2 "2222222222222222222222222222222222222222222222222222222222222222"

static const char good[] =
    "{\"components\": {\"compiler\": \"" D1 "\", \"backend\": \"" D2 "\"},\n \"source\": \"" D1
    "\",\n \"specialization\": \"" D2 "\",\n \"state\": \"ready\", \"build_kind\": \"distributed\",\n"
    " \"required_files\": [\"b/\\udce9\", \"a\", \"\\u00e9\", \"\\ud83d\\ude00\"]}";

static slw_code parse(const char *json, size_t size, const char *domain, slw_key **key, slw_spec **spec) {
    return slw_request_parse(NULL, (slw_bytes){json, size}, domain, key, spec, &error);
}

START_TEST(a_good_request) {
    slw_key *key = NULL, *same_key = NULL;
    slw_spec *spec = NULL, *same_spec = NULL;
    slt_ok(parse(good, sizeof good - 1, NULL, &key, &spec), &error);
    slw_component components[] = {{"backend", D2}, {"compiler", D1}};
    slw_key_inputs inputs = SLW_KEY_INPUTS_INIT;
    inputs.components = components;
    inputs.component_count = 2;
    inputs.source = D1;
    inputs.specialization = D2;
    slt_ok(slw_key_create(&inputs, &same_key, &error), &error);
    slw_bytes files[] = {{"b/\xe9", 3}, {"a", 1}, {"\xc3\xa9", 2}, {"\xf0\x9f\x98\x80", 4}};
    slw_spec_inputs wanted = SLW_SPEC_INPUTS_INIT;
    wanted.state = SLW_READY;
    wanted.build_kind = SLW_DISTRIBUTED;
    wanted.required_files = files;
    wanted.required_file_count = 4;
    slt_ok(slw_spec_create(&wanted, &same_spec, &error), &error);
    ck_assert(slwi_key_equal(key, same_key));
    ck_assert(slwi_spec_equal(spec, same_spec));
    ck_assert_ptr_null(slw_spec_keep(spec));
    slw_key_release(&key);
    slw_key_release(&same_key);
    slw_spec_release(&spec);
    slw_spec_release(&same_spec);
}
END_TEST

/* `from` of the good request replaced by `to`; the error points at the first `at` of the result. */
static const struct {
    const char *from, *to;
    slw_code code;
    const char *reason, *at;
} bad[] = {
    {"\"state\": \"ready\"", "\"state\": \"Ready\"", SLW_E_INVALID_METADATA, "BAD_STATE", "\"Ready\""},
    {"\"state\": \"ready\"", "\"state\": 1", SLW_E_INVALID_METADATA, "BAD_STATE", "1, \"build_kind"},
    {"\"state\": \"ready\"", "\"state\": \"ready\\u0000\"", SLW_E_INVALID_METADATA, "BAD_STATE", "\"ready\\u0000"},
    {"\"distributed\"", "\"single\"", SLW_E_INVALID_METADATA, "BAD_STATE", "\"single\""},
    {"\"state\": \"ready\", ", "", SLW_E_INVALID_METADATA, "MISSING_FIELD", "{"},
    {"\"state\"", "\"State\"", SLW_E_INVALID_METADATA, "UNKNOWN_FIELD", "\"ready\""},
    {"\"source\": \"1", "\"extra\": {\"a\": [1, {\"b\": \"]}\\\"\"}]}, \"source\": \"1", SLW_E_INVALID_METADATA, "UNKNOWN_FIELD",
     "{\"a\""},
    {"\"source\": \"1", "\"source\": \"A", SLW_E_INVALID_METADATA, "BAD_DIGEST", "\"A1"},
    {"\"source\": \"1", "\"source\": \"", SLW_E_INVALID_METADATA, "BAD_DIGEST", "\"111111111111111111111111111111111111111111111111111111111111111\""},
    {"\"source\": \"1111", "\"source\": \"11111", SLW_E_INVALID_METADATA, "BAD_DIGEST", "\"11111111111111111111111111111111111111111111111111111111111111111\""},
    {"\"specialization\": \"2", "\"specialization\": \"\\u0000", SLW_E_INVALID_METADATA, "BAD_DIGEST", "\"\\u0000"},
    {"\"backend\": \"2", "\"backend\": \"", SLW_E_INVALID_METADATA, "BAD_DIGEST", "\"222222222222222222222222222222222222222222222222222222222222222\""},
    {"\"backend\": \"" D2 "\"", "\"backend\": null", SLW_E_INVALID_METADATA, "BAD_DIGEST", "null"},
    {"\"backend\": \"" D2 "\"", "\"backend\": \"" D2 "\\u0000\"", SLW_E_INVALID_METADATA, "BAD_DIGEST", "\"" D2 "\\u0000"},
    {"\"backend\"", "\"back\\u0000end\"", SLW_E_INVALID_METADATA, NULL, NULL},
    {"\"backend\"", "\"Backend\"", SLW_E_USAGE, "BAD_COMPONENT", "{\"compiler"},
    {"\"backend\"", "\"schema\"", SLW_E_USAGE, "BAD_COMPONENT", "{\"compiler"},
    {"\"backend\"", "\"compiler\"", SLW_E_INVALID_METADATA, "DUPLICATE", NULL},
    {"{\"compiler\": \"" D1 "\", \"backend\": \"" D2 "\"}", "{}", SLW_E_USAGE, "BAD_COMPONENT", "{},"},
    {"{\"compiler\": \"" D1 "\", \"backend\": \"" D2 "\"}", "[]", SLW_E_INVALID_METADATA, "BAD_COMPONENT", "[],"},
    {"[\"b/\\udce9\", \"a\", \"\\u00e9\", \"\\ud83d\\ude00\"]", "[]", SLW_E_USAGE, "EMPTY", "[]"},
    {"[\"b/\\udce9\", \"a\", \"\\u00e9\", \"\\ud83d\\ude00\"]", "\"a\"", SLW_E_INVALID_METADATA, "BAD_PATH", "\"a\"}"},
    {"\"a\"", "7", SLW_E_INVALID_METADATA, "BAD_PATH", "7,"},
    {"\"a\"", "\"../a\"", SLW_E_USAGE, "BAD_PATH", "[\"b"},
    {"\"a\"", "\"artifact_manifest.json\"", SLW_E_USAGE, "BAD_PATH", "[\"b"},
    {"\"a\"", "\"a\\u0000b\"", SLW_E_USAGE, "BAD_PATH", "[\"b"},
    {"\"a\"", "\"\\u00e9\"", SLW_E_USAGE, "DUPLICATE", "[\"b"},
    {"\"a\"", "\"\\ud800\"", SLW_E_INVALID_METADATA, "BAD_PATH", "\"\\ud800\""},
    {"\"a\"", "\"\\udc7f\"", SLW_E_INVALID_METADATA, "BAD_PATH", "\"\\udc7f\""},
    {"\"a\"", "\"\\udd00\"", SLW_E_INVALID_METADATA, "BAD_PATH", "\"\\udd00\""},
    {"\"a\"", "\"\\udcc3\\udca9\"", SLW_E_INVALID_METADATA, "BAD_PATH", "\"\\udcc3"}, /* those bytes are UTF-8 */
    {"\"ready\"", "\"ready", SLW_E_INVALID_METADATA, NULL, NULL},
    {"\"ready\"", "\"ready\"x", SLW_E_INVALID_METADATA, NULL, NULL},
    {"\"ready\"", "NaN", SLW_E_INVALID_METADATA, NULL, NULL},
    {"\"ready\"", "\"\xff\"", SLW_E_INVALID_METADATA, NULL, NULL},
    {"\"source\"", "\"state\"", SLW_E_INVALID_METADATA, "DUPLICATE", NULL},
};

START_TEST(refusals_point_at_their_text) {
    char json[2048];
    const char *found = strstr(good, bad[_i].from);
    ck_assert_ptr_nonnull(found);
    snprintf(json, sizeof json, "%.*s%s%s", (int) (found - good), good, bad[_i].to, found + strlen(bad[_i].from));
    slw_key *key = NULL;
    slw_spec *spec = NULL;
    ck_assert_int_eq(parse(json, strlen(json), NULL, &key, &spec), bad[_i].code);
    ck_assert_int_eq(error.code, bad[_i].code);
    if (bad[_i].reason != NULL) ck_assert_str_eq(error.reason, bad[_i].reason);
    ck_assert(error.present & SLW_ERROR_HAS_OFFSET);
    ck_assert(error.present & SLW_ERROR_HAS_LINE);
    if (bad[_i].at != NULL) ck_assert_str_eq(json + error.offset_bytes, strstr(json, bad[_i].at));
    uint32_t line = 1;
    for (size_t i = 0; i < error.offset_bytes; i++) line += json[i] == '\n';
    ck_assert_uint_eq(error.line, line);
    ck_assert_ptr_null(key);
    ck_assert_ptr_null(spec);
    ck_assert_int_eq(slw_request_parse(NULL, (slw_bytes){json, strlen(json)}, NULL, &key, &spec, NULL), bad[_i].code);
}
END_TEST

START_TEST(domains) {
    slw_key *key = NULL;
    slw_spec *spec = NULL;
    ck_assert_int_eq(parse(good, sizeof good - 1, SLW_DOMAIN_PYPTO, &key, &spec), SLW_E_USAGE);
    ck_assert_str_eq(error.reason, "BAD_COMPONENT");
    ck_assert_int_eq(parse(good, sizeof good - 1, "nobody", &key, &spec), SLW_E_USAGE);
    ck_assert_str_eq(error.reason, "BAD_DOMAIN");
    slt_ok(parse(good, sizeof good - 1, SLW_DOMAIN_DEFAULT, &key, &spec), &error);
    ck_assert_str_eq(slw_key_domain(key), SLW_DOMAIN_DEFAULT);
    ck_assert_str_eq(slw_spec_domain(spec), SLW_DOMAIN_DEFAULT);
    slw_key_release(&key);
    slw_spec_release(&spec);
}
END_TEST

START_TEST(arguments) {
    slw_key *key = NULL;
    slw_spec *spec = NULL;
    ck_assert_int_eq(parse(good, sizeof good - 1, NULL, NULL, &spec), SLW_E_USAGE);
    ck_assert_int_eq(parse(good, sizeof good - 1, NULL, &key, NULL), SLW_E_USAGE);
    ck_assert_int_eq(parse(NULL, 1, NULL, &key, &spec), SLW_E_USAGE);
    ck_assert_int_eq(parse("", 0, NULL, &key, &spec), SLW_E_INVALID_METADATA);
    ck_assert_int_eq(parse(NULL, 0, NULL, &key, &spec), SLW_E_INVALID_METADATA);
    ck_assert_int_eq(parse("[]", 2, NULL, &key, &spec), SLW_E_INVALID_METADATA);
    ck_assert_str_eq(error.reason, "BAD_REQUEST");
    slw_error foreign = SLW_ERROR_INIT; /* of a size that is not ours: left alone */
    foreign.size = 8;
    foreign.code = 77;
    ck_assert_int_eq(slw_request_parse(NULL, (slw_bytes){"[]", 2}, NULL, &key, &spec, &foreign), SLW_E_INVALID_METADATA);
    ck_assert_int_eq(foreign.code, 77);
    ck_assert_ptr_null(key);
    ck_assert_ptr_null(spec);
}
END_TEST

START_TEST(too_many_files) {
    size_t count = SLW_LIMIT_REQUIRED_FILES + 1;
    char *json = malloc(sizeof good + count * 16);
    char *at = stpncpy(json, good, (size_t) (strstr(good, "[\"b") - good));
    at = stpcpy(at, "[");
    for (size_t i = 0; i < count; i++) at += sprintf(at, "%s\"f%zu\"", i == 0 ? "" : ",", i);
    stpcpy(at, "]}");
    slw_key *key = NULL;
    slw_spec *spec = NULL;
    ck_assert_int_eq(parse(json, strlen(json), NULL, &key, &spec), SLW_E_LIMIT);
    ck_assert_uint_eq(error.required, count);
    ck_assert_ptr_null(key);
    free(json);
}
END_TEST

START_TEST(every_allocation_fails_once) {
    slt_heap heap;
    slt_heap_init(&heap);
    for (uint64_t at = 1;; at++) {
        slw_key *key = NULL;
        slw_spec *spec = NULL;
        slt_heap_reset(&heap);
        heap.fail_at = at;
        slw_code rc = slw_request_parse(&heap.allocator, (slw_bytes){good, sizeof good - 1}, NULL, &key, &spec, &error);
        ck_assert_int_eq(rc, heap.failed != 0 ? SLW_E_NO_MEMORY : SLW_OK);
        ck_assert((rc == SLW_OK) == (key != NULL && spec != NULL));
        if (rc != SLW_OK) ck_assert(key == NULL && spec == NULL);
        slw_key_release(&key);
        slw_spec_release(&spec);
        slt_heap_check_empty(&heap);
        if (heap.failed == 0) {
            ck_assert_uint_gt(at, 5);
            break;
        }
    }
}
END_TEST

static uint32_t seed;
static uint32_t draw(uint32_t below) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

START_TEST(random_damage_never_crashes) {
    static const char alphabet[] = "{}[]\",:\\u0123456789abcdef/._ \n\x80\xff";
    char json[sizeof good];
    for (uint32_t round = 0; round < 20000; round++) {
        seed = round;
        size_t size = sizeof good - 1;
        memcpy(json, good, sizeof good);
        for (uint32_t edits = 1 + draw(3); edits != 0; edits--) {
            size_t at = draw((uint32_t) size), length = 1 + draw(12);
            if (length > size - at) length = size - at;
            switch (draw(3)) {
            case 0: json[at] = alphabet[draw(sizeof alphabet - 1)]; break;
            case 1:
                memmove(json + at, json + at + length, size - at - length);
                size -= length;
                break;
            default: memcpy(json + at, good + draw((uint32_t) (sizeof good - 12)), length); break;
            }
            if (size < 2) break;
        }
        slw_key *key = NULL;
        slw_spec *spec = NULL;
        slw_code rc = parse(json, size, NULL, &key, &spec);
        ck_assert((rc == SLW_OK) == (key != NULL) && (key != NULL) == (spec != NULL));
        ck_assert(rc == SLW_OK || rc == SLW_E_INVALID_METADATA || rc == SLW_E_USAGE || rc == SLW_E_LIMIT);
        if (rc != SLW_OK) ck_assert_uint_le(error.offset_bytes, size);
        slw_key_release(&key);
        slw_spec_release(&spec);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("key/request");
    TCase *t = tcase_create("request");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, a_good_request);
    tcase_add_loop_test(t, refusals_point_at_their_text, 0, (int) (sizeof bad / sizeof bad[0]));
    tcase_add_test(t, domains);
    tcase_add_test(t, arguments);
    tcase_add_test(t, too_many_files);
    tcase_add_test(t, every_allocation_fails_once);
    tcase_add_test(t, random_damage_never_crashes);
    suite_add_tcase(s, t);
    return s;
}

int main(void) {
    return slt_run(suite(), NULL);
}
