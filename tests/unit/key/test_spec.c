/* Specs: digests, order, path rules, refusals, and what the store writes of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault_alloc.h"
#include "key_internal.h"
#include "slt.h"

static slw_error error = SLW_ERROR_INIT;

#define MANY(name, ...) static const slw_bytes name[] = {__VA_ARGS__}
#define NAME(text) {text, sizeof(text) - 1}

MANY(fixture, NAME("kernel_config.py"), NAME("kernel/source.pto"));

static slw_spec_inputs inputs_of(const slw_bytes *files, size_t count) {
    slw_spec_inputs inputs = SLW_SPEC_INPUTS_INIT;
    inputs.required_files = files;
    inputs.required_file_count = count;
    return inputs;
}

static slw_spec *made(const slw_spec_inputs *inputs) {
    slw_spec *spec = NULL;
    slt_ok(slw_spec_create(inputs, &spec, &error), &error);
    return spec;
}

static void ck_refused(const slw_spec_inputs *inputs, slw_code code, const char *reason, const char *subject) {
    slw_spec *spec = NULL;
    ck_assert_int_eq(slw_spec_create(inputs, &spec, &error), code);
    ck_assert_int_eq(error.code, code);
    ck_assert_str_eq(error.reason, reason);
    ck_assert_str_eq(error.subject, subject);
    ck_assert_ptr_null(spec);
}

START_TEST(the_known_digests) {
    static const struct {
        slw_state state;
        slw_build_kind kind;
        const char *digest;
    } cases[] = {
        {SLW_GENERATED, SLW_SINGLE, "ee13741bac893dda0f168359dd97bb105ddf4750706322c60210d0136075bdca"},
        {SLW_READY, SLW_SINGLE, "3a35e5e1d1fff1f4fe3add52341b773b5e3eb0687d4ba73358b35f61f05a70e8"},
        {SLW_GENERATED, SLW_DISTRIBUTED, "e04c6bce1b658bf78ab68402d82d0232d7a4686dcb85a4f7b77ed5333157445a"},
        {SLW_READY, SLW_DISTRIBUTED, "19c137bbe0adca7e01209bb512b002387c29d5373f8282b7613ecf3458bee02b"},
    };
    slw_spec_inputs inputs = inputs_of(fixture, 2);
    inputs.domain = SLW_DOMAIN_PYPTO;
    for (size_t i = 0; i < 4; i++) {
        inputs.state = cases[i].state;
        inputs.build_kind = cases[i].kind;
        slw_spec *spec = made(&inputs);
        ck_assert_str_eq(slw_spec_digest(spec), cases[i].digest);
        ck_assert_int_eq(slw_spec_state(spec), cases[i].state);
        ck_assert_int_eq(slw_spec_build_kind(spec), cases[i].kind);
        ck_assert_str_eq(slw_spec_domain(spec), "pypto.identity");
        slw_spec_release(&spec);
        ck_assert_ptr_null(spec);
    }
}
END_TEST

START_TEST(order_is_no_difference_and_the_list_is) {
    MANY(turned, NAME("kernel/source.pto"), NAME("kernel_config.py"));
    MANY(longer, NAME("kernel/source.pto"), NAME("kernel_config.py"), NAME("x"));
    slw_spec_inputs a = inputs_of(fixture, 2), b = inputs_of(turned, 2), c = inputs_of(longer, 3);
    slw_spec *first = made(&a), *second = made(&b), *third = made(&c);
    ck_assert(slwi_spec_equal(first, second));
    ck_assert(!slwi_spec_equal(first, third));
    ck_assert_uint_eq(slw_spec_required_count(first), 2);
    ck_assert_str_eq(slw_spec_required(first, 0).data, "kernel/source.pto"); /* a NUL follows */
    ck_assert_uint_eq(slw_spec_required(first, 0).size, 17);
    ck_assert_ptr_null(slw_spec_required(first, 2).data);
    slw_spec_release(&first);
    slw_spec_release(&second);
    slw_spec_release(&third);
}
END_TEST

/* By code point, not by byte: U+E000 sorts after the escape of a byte that is not UTF-8, and before U+1F600. */
START_TEST(names_sort_by_code_point) {
    MANY(files, NAME("\xf0\x9f\x98\x80"), NAME("\xee\x80\x80"), NAME("\xff"), NAME("\x80"), NAME("a/b"), NAME("a-b"), NAME("a"),
         NAME("\xc3\xa9"));
    static const char *const sorted[] = {"a", "a-b", "a/b", "\xc3\xa9", "\x80", "\xff", "\xee\x80\x80", "\xf0\x9f\x98\x80"};
    slw_spec_inputs inputs = inputs_of(files, 8);
    slw_spec *spec = made(&inputs);
    for (size_t i = 0; i < 8; i++) {
        ck_assert_str_eq(slw_spec_required(spec, i).data, sorted[i]);
        ck_assert_int_eq(slwi_spec_find_required(spec, slw_spec_required(spec, i)), (int64_t) i);
    }
    ck_assert_int_eq(slwi_spec_find_required(spec, (slw_bytes){"b", 1}), -1);
    slw_spec_release(&spec);
}
END_TEST

static const slw_bytes bad_paths[] = {
    NAME("../x"), NAME("/absolute"), NAME("a/../b"), NAME("a//b"),   NAME("a/./b"), NAME("a/"),  NAME("a\\b"),
    NAME(""),     NAME("."),         NAME(".."),     NAME("a/.."),   NAME("./a"),   NAME("/"),   NAME("a\0b"),
    NAME("artifact_manifest.json"),
};

START_TEST(unsafe_paths_are_refused) {
    slw_bytes files[2] = {NAME("good"), bad_paths[_i]};
    char subject[64] = "";
    memcpy(subject, bad_paths[_i].data, bad_paths[_i].size);
    slw_spec_inputs inputs = inputs_of(files, 2);
    slw_spec *spec = NULL;
    ck_assert_int_eq(slw_spec_create(&inputs, &spec, &error), SLW_E_USAGE);
    ck_assert_str_eq(error.reason, "BAD_PATH");
    if (memchr(files[1].data, 0, files[1].size) == NULL) ck_assert_str_eq(error.subject, subject);
    ck_assert_ptr_null(spec);
    if (memchr(files[1].data, 0, files[1].size) == NULL) {
        inputs.required_file_count = 1;
        inputs.keep = subject;
        ck_refused(&inputs, SLW_E_USAGE, "BAD_PATH", subject);
    }
}
END_TEST

START_TEST(odd_paths_that_are_fine) {
    MANY(files, NAME("..."), NAME("a.."), NAME(".a"), NAME("a b"), NAME("a\tb"), NAME("~"), NAME("\xe9"),
         NAME("sub/artifact_manifest.json"), NAME("ARTIFACT_MANIFEST.JSON"), NAME("a /b"));
    slw_spec_inputs inputs = inputs_of(files, sizeof files / sizeof files[0]);
    slw_spec *spec = made(&inputs);
    slw_spec_release(&spec);
}
END_TEST

START_TEST(lists_are_nonempty_and_unique) {
    MANY(twice, NAME("a"), NAME("b"), NAME("a"));
    slw_spec_inputs inputs = inputs_of(twice, 3);
    ck_refused(&inputs, SLW_E_USAGE, "DUPLICATE", "a");
    inputs.required_file_count = 0;
    ck_refused(&inputs, SLW_E_USAGE, "EMPTY", "");
    inputs.required_files = NULL;
    inputs.required_file_count = 1;
    ck_refused(&inputs, SLW_E_USAGE, "EMPTY", "");
    slw_bytes nothing = {NULL, 0};
    inputs = inputs_of(&nothing, 1);
    ck_refused(&inputs, SLW_E_USAGE, "BAD_PATH", "");
}
END_TEST

START_TEST(limits) {
    slw_bytes *files = calloc(SLW_LIMIT_REQUIRED_FILES + 1, sizeof *files);
    char (*names)[16] = calloc(SLW_LIMIT_REQUIRED_FILES + 1, sizeof *names);
    for (size_t i = 0; i <= SLW_LIMIT_REQUIRED_FILES; i++) {
        int size = snprintf(names[i], sizeof names[i], "d%zu/f", (i * 2654435761u) % 1000003);
        files[i] = (slw_bytes){names[i], (size_t) size};
    }
    slw_spec_inputs inputs = inputs_of(files, SLW_LIMIT_REQUIRED_FILES);
    slw_spec *spec = made(&inputs);
    slw_spec_release(&spec);
    inputs.required_file_count++;
    ck_refused(&inputs, SLW_E_LIMIT, "LIMIT", "");
    ck_assert_uint_eq(error.limit, SLW_LIMIT_REQUIRED_FILES);
    free(names);
    free(files);
    char *name = malloc(SLW_LIMIT_PATH_BYTES + 1);
    memset(name, 'x', SLW_LIMIT_PATH_BYTES + 1);
    slw_bytes one = {name, SLW_LIMIT_PATH_BYTES};
    inputs = inputs_of(&one, 1);
    spec = made(&inputs);
    slw_spec_release(&spec);
    one.size++;
    ck_assert_int_eq(slw_spec_create(&inputs, &spec, &error), SLW_E_LIMIT);
    ck_assert_uint_eq(error.required, SLW_LIMIT_PATH_BYTES + 1);
    ck_assert_ptr_null(spec);
    free(name);
}
END_TEST

START_TEST(states_and_kinds) {
    slw_spec_inputs inputs = inputs_of(fixture, 2);
    inputs.state = (slw_state) 2;
    ck_refused(&inputs, SLW_E_USAGE, "BAD_STATE", "");
    inputs.state = SLW_READY;
    inputs.build_kind = (slw_build_kind) 2;
    ck_refused(&inputs, SLW_E_USAGE, "BAD_STATE", "");
    ck_assert_str_eq(slw_state_name(SLW_GENERATED), "generated");
    ck_assert_str_eq(slw_state_name(SLW_READY), "ready");
    ck_assert_ptr_null(slw_state_name((slw_state) 2));
    ck_assert_str_eq(slw_build_kind_name(SLW_SINGLE), "single_chip");
    ck_assert_str_eq(slw_build_kind_name(SLW_DISTRIBUTED), "distributed");
    ck_assert_ptr_null(slw_build_kind_name((slw_build_kind) 2));
    slw_state state = SLW_GENERATED;
    slw_build_kind kind = SLW_SINGLE;
    ck_assert(slwi_state_parse((slw_bytes){"ready", 5}, &state) && state == SLW_READY);
    ck_assert(!slwi_state_parse((slw_bytes){"Ready", 5}, &state));
    ck_assert(slwi_build_kind_parse((slw_bytes){"distributed", 11}, &kind) && kind == SLW_DISTRIBUTED);
    ck_assert(!slwi_build_kind_parse((slw_bytes){"distribute", 10}, &kind));
}
END_TEST

START_TEST(domains) {
    slw_spec_inputs inputs = inputs_of(fixture, 2);
    slw_spec *ours = made(&inputs);
    inputs.domain = SLW_DOMAIN_PYPTO;
    slw_spec *theirs = made(&inputs);
    ck_assert(!slwi_spec_equal(ours, theirs));
    ck_assert_str_ne(slw_spec_digest(ours), slw_spec_digest(theirs));
    inputs.domain = "";
    ck_refused(&inputs, SLW_E_USAGE, "BAD_DOMAIN", "");
    slw_spec_release(&ours);
    slw_spec_release(&theirs);
}
END_TEST

START_TEST(keep_is_not_in_the_digest) {
    slw_spec_inputs inputs = inputs_of(fixture, 2);
    slw_spec *without = made(&inputs);
    char keep[] = "kernel.o";
    inputs.keep = keep;
    slw_spec *with = made(&inputs);
    keep[0] = 'x';
    ck_assert_str_eq(slw_spec_keep(with), "kernel.o");
    ck_assert_ptr_null(slw_spec_keep(without));
    ck_assert_str_eq(slw_spec_digest(with), slw_spec_digest(without));
    ck_assert(slwi_spec_equal(with, without));
    slw_spec_release(&without);
    slw_spec_release(&with);
}
END_TEST

START_TEST(arguments_and_sharing) {
    slt_heap heap;
    slt_heap_init(&heap);
    slw_spec_inputs inputs = inputs_of(fixture, 2);
    slw_spec *spec = NULL;
    ck_assert_int_eq(slw_spec_create(NULL, &spec, &error), SLW_E_USAGE);
    ck_assert_int_eq(slw_spec_create(&inputs, NULL, &error), SLW_E_USAGE);
    inputs.size++;
    ck_assert_int_eq(slw_spec_create(&inputs, &spec, NULL), SLW_E_USAGE);
    inputs.size--;
    slw_spec_release(NULL);
    slw_spec_release(&spec);
    ck_assert_ptr_null(slw_spec_retain(NULL));
    ck_assert_ptr_null(slw_spec_digest(NULL));
    ck_assert_ptr_null(slw_spec_domain(NULL));
    ck_assert_ptr_null(slw_spec_keep(NULL));
    ck_assert_uint_eq(slw_spec_required_count(NULL), 0);
    inputs.allocator = heap.allocator;
    for (uint64_t at = 1;; at++) {
        slt_heap_reset(&heap);
        heap.fail_at = at;
        slw_code rc = slw_spec_create(&inputs, &spec, &error);
        if (heap.failed == 0) break;
        ck_assert_int_eq(rc, SLW_E_NO_MEMORY);
        ck_assert_ptr_null(spec);
        slt_heap_check_empty(&heap);
    }
    slw_spec *second = slw_spec_retain(spec);
    slw_spec_release(&spec);
    ck_assert_uint_eq(slw_spec_required_count(second), 2);
    slw_spec_release(&second);
    slt_heap_check_empty(&heap);
}
END_TEST

START_TEST(required_files_of_a_marker) {
    MANY(files, NAME("b\xff"), NAME("a\"\n"));
    slw_spec_inputs inputs = inputs_of(files, 2);
    slw_spec *spec = made(&inputs);
    slw_allocator allocator = SLW_ALLOCATOR_INIT;
    slwi_buffer buffer;
    slwi_json_writer writer;
    slwi_buffer_init(&buffer, &allocator, SIZE_MAX);
    slwi_json_begin(&writer, &buffer, 1);
    slwi_spec_write_required(&writer, spec);
    ck_assert_int_eq(slwi_buffer_status(&buffer, &error), SLW_OK);
    ck_assert_str_eq(buffer.data, "[\"a\\\"\\n\",\"b\\udcff\"]");
    slwi_buffer_free(&buffer);
    slw_spec_release(&spec);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("key/spec");
    TCase *t = tcase_create("spec");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, the_known_digests);
    tcase_add_test(t, order_is_no_difference_and_the_list_is);
    tcase_add_test(t, names_sort_by_code_point);
    tcase_add_loop_test(t, unsafe_paths_are_refused, 0, (int) (sizeof bad_paths / sizeof bad_paths[0]));
    tcase_add_test(t, odd_paths_that_are_fine);
    tcase_add_test(t, lists_are_nonempty_and_unique);
    tcase_add_test(t, limits);
    tcase_add_test(t, states_and_kinds);
    tcase_add_test(t, domains);
    tcase_add_test(t, keep_is_not_in_the_digest);
    tcase_add_test(t, arguments_and_sharing);
    tcase_add_test(t, required_files_of_a_marker);
    suite_add_tcase(s, t);
    return s;
}

int main(void) {
    return slt_run(suite(), NULL);
}
