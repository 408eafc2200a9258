/* The error record and the codes. */
#include "slt.h"

#include <errno.h>
#include <string.h>

#include "fail.h"

START_TEST(first_error_wins) {
    slw_error err = SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_fail(&err, SLW_E_STORAGE, "UNTRUSTED", "first %d", 1), SLW_E_STORAGE);
    ck_assert_int_eq(slwi_fail(&err, SLW_E_LOCK, "OTHER", "second"), SLW_E_LOCK);
    ck_assert_int_eq(err.code, SLW_E_STORAGE);
    ck_assert_str_eq(err.reason, "UNTRUSTED");
    ck_assert_str_eq(err.message, "first 1; also: second");
    /* A failed clean-up neither replaces path nor errno of the first. */
    slwi_error_reset(&err);
    (void)slwi_fail_os(&err, SLW_E_STORAGE, NULL, EACCES, "/a", "cannot open %s", "/a");
    (void)slwi_fail_os(&err, SLW_E_STORAGE, NULL, ENOENT, "/b", "cannot remove %s", "/b");
    ck_assert_str_eq(err.raw_name, "EACCES");
    ck_assert_int_eq(err.raw_code, EACCES);
    ck_assert_str_eq(err.path, "/a");
    ck_assert_str_eq(err.message, "cannot open /a: EACCES (Permission denied); also: cannot remove /b: ENOENT "
                                  "(No such file or directory)");
}
END_TEST

START_TEST(details_are_set_once) {
    slw_error err = SLW_ERROR_INIT;
    slwi_error_subject(&err, "one", 3);
    slwi_error_subject(&err, "two", 3);
    slwi_error_place(&err, 3, 4, 5);
    slwi_error_place(&err, 6, 7, 8);
    slwi_error_amount(&err, "shared memory", 10, 9, "bytes");
    slwi_error_amount(&err, "threads", 1, 2, "threads");
    slwi_error_kernel(&err, "k", "d");
    slwi_error_kernel(&err, "x", "y");
    slwi_error_raw(&err, "CUDA_ERROR", -3);
    slwi_error_raw(&err, "OTHER", 4);
    slwi_error_hint(&err, "h");
    slwi_error_hint(&err, "i");
    slwi_error_phase(&err, "lookup");
    slwi_error_phase(&err, "launch");
    slwi_error_tried(&err, "/one");
    slwi_error_tried(&err, "/two");
    ck_assert_str_eq(err.subject, "one");
    ck_assert_uint_eq(err.line, 3);
    ck_assert_uint_eq(err.column, 4);
    ck_assert_uint_eq(err.offset_bytes, 5);
    ck_assert_str_eq(err.resource, "shared memory");
    ck_assert_uint_eq(err.required, 10);
    ck_assert_uint_eq(err.limit, 9);
    ck_assert_str_eq(err.kernel, "k");
    ck_assert_str_eq(err.device, "d");
    ck_assert_str_eq(err.raw_name, "CUDA_ERROR");
    ck_assert_int_eq(err.raw_code, -3);
    ck_assert_str_eq(err.hint, "h");
    ck_assert_str_eq(err.phase, "lookup");
    ck_assert_str_eq(err.tried, "/one\n/two");
    ck_assert_uint_eq(err.present, 63);
}
END_TEST

START_TEST(unknown_places_are_absent) {
    slw_error err = SLW_ERROR_INIT;
    slwi_error_place(&err, 0, 0, 77);
    ck_assert_uint_eq(err.present, SLW_ERROR_HAS_OFFSET);
    slwi_error_reset(&err);
    slwi_error_place(&err, 2, 0, UINT64_MAX);
    ck_assert_uint_eq(err.present, SLW_ERROR_HAS_LINE);
}
END_TEST

START_TEST(long_text_is_cut_between_characters) {
    slw_error err = SLW_ERROR_INIT;
    char text[1200];
    for (size_t i = 0; i + 1 < sizeof text; i += 2) memcpy(text + i, "\xc3\xa9", 2);
    text[1198] = '\0';
    slwi_error_subject(&err, text, strlen(text));
    ck_assert_uint_eq(strlen(err.subject), 510); /* not 511, which would end inside a character */
    (void)slwi_fail(&err, SLW_E_LIMIT, NULL, "%s", text);
    ck_assert_uint_eq(strlen(err.message), 510);
    (void)slwi_fail(&err, SLW_E_LIMIT, NULL, "more");
    ck_assert_uint_lt(strlen(err.message), sizeof err.message);
    for (int i = 0; i < 300; i++) slwi_error_tried(&err, "/a/place");
    ck_assert_uint_lt(strlen(err.tried), sizeof err.tried);
}
END_TEST

START_TEST(messages_are_one_line) {
    slw_error err = SLW_ERROR_INIT;
    (void)slwi_fail(&err, SLW_E_LIMIT, NULL, "a\nb\r\nc");
    ck_assert_str_eq(err.message, "a b  c");
    slwi_error_reset(&err);
    (void)slwi_fail(&err, SLW_E_LIMIT, NULL, "%s", "\033[2Jname\a\177\303\251"); /* a name that would clear the screen */
    ck_assert_str_eq(err.message, " [2Jname  \303\251");
}
END_TEST

START_TEST(no_record_and_foreign_records) {
    ck_assert_int_eq(slwi_fail(NULL, SLW_E_GONE, NULL, "x"), SLW_E_GONE);
    ck_assert_int_eq(slwi_fail_os(NULL, SLW_E_GONE, NULL, 1, NULL, "x"), SLW_E_GONE);
    slwi_error_reset(NULL);
    slwi_error_path(NULL, "x");
    slwi_error_tried(NULL, "x");
    slwi_error_diagnostics(NULL, "x", 1);
    slw_error other;
    slw_error before;
    memset(&other, 0x5a, sizeof other);
    before = other; /* its size field is not ours */
    ck_assert_int_eq(slwi_fail(&other, SLW_E_GONE, "R", "x"), SLW_E_GONE);
    slwi_error_reset(&other);
    slwi_error_subject(&other, "x", 1);
    slwi_error_place(&other, 1, 1, 1);
    ck_assert_mem_eq(&other, &before, sizeof other);
}
END_TEST

START_TEST(diagnostics_fill_the_callers_buffer) {
    char buffer[8];
    slw_error err = SLW_ERROR_INIT;
    err.diagnostics = buffer;
    err.diagnostics_capacity = sizeof buffer;
    slwi_error_reset(&err);
    ck_assert_str_eq(buffer, "");
    slwi_error_diagnostics(&err, "abc", 3);
    slwi_error_diagnostics(&err, "defgh", 5);
    slwi_error_diagnostics(&err, "x", 1);
    ck_assert_str_eq(buffer, "abcdefg");
    ck_assert_uint_eq(err.diagnostics_size, 7);
    char small[4];
    slw_error copy = SLW_ERROR_INIT;
    copy.diagnostics = small;
    copy.diagnostics_capacity = sizeof small;
    (void)slwi_fail(&err, SLW_E_COMPILE_FAILED, "R", "words");
    slwi_error_copy(&copy, &err);
    ck_assert_ptr_eq(copy.diagnostics, small);
    ck_assert_uint_eq(copy.diagnostics_capacity, sizeof small);
    ck_assert_str_eq(small, "abc");
    ck_assert_int_eq(copy.code, SLW_E_COMPILE_FAILED);
    ck_assert_str_eq(copy.message, "words");
    slwi_error_reset(&err);
    ck_assert_int_eq(err.code, 0);
    ck_assert_uint_eq(err.diagnostics_size, 0);
    ck_assert_ptr_eq(err.diagnostics, buffer);
    const slw_error fresh = SLW_ERROR_INIT;
    ck_assert_uint_eq(err.present, fresh.present);
    ck_assert_ptr_null(err.reason);
}
END_TEST

START_TEST(errno_names) {
    char number[16];
    ck_assert_str_eq(slwi_errno_name(ENOENT, number), "ENOENT");
    ck_assert_str_eq(slwi_errno_name(EAGAIN, number), "EAGAIN");
    ck_assert_str_eq(slwi_errno_name(12345, number), "E12345");
}
END_TEST

START_TEST(codes_have_names_and_exit_statuses) {
    static const struct {
        slw_code code;
        const char *name;
        int status;
    } rows[] = {
        {SLW_OK, "OK", 0},
        {SLW_E_USAGE, "USAGE", 2},
        {SLW_E_NO_MEMORY, "NO_MEMORY", 3},
        {SLW_E_MISS, "MISS", 1},
        {SLW_E_INVALID_ENTRY, "INVALID_ENTRY", 1},
        {SLW_E_GONE, "GONE", 1},
        {SLW_E_RECURSIVE, "RECURSIVE", 1},
        {SLW_E_STORAGE, "STORAGE", 4},
        {SLW_E_LOCK, "LOCK", 4},
        {SLW_E_PUBLICATION, "PUBLICATION", 4},
        {SLW_E_TOOL_MISSING, "TOOL_MISSING", 3},
        {SLW_E_IDENTITY_UNUSABLE, "IDENTITY_UNUSABLE", 3},
        {SLW_E_UNSUPPORTED_INPUT, "UNSUPPORTED_INPUT", 1},
        {SLW_E_TARGET_MISMATCH, "TARGET_MISMATCH", 1},
        {SLW_E_OUT_OF_RESOURCES, "OUT_OF_RESOURCES", 1},
        {SLW_E_DRIVER, "DRIVER", 3},
        {SLW_E_CANCELLED, "CANCELLED", 3},
        {SLW_E_BUILDER_FIRST, "BUILDER", 1},
        {SLW_E_BUILDER_FIRST + 77, "BUILDER", 1},
        {999, "UNKNOWN", 1},
        {-1, "UNKNOWN", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_str_eq(slw_code_name(rows[i].code), rows[i].name);
        ck_assert_int_eq(slw_code_exit_status(rows[i].code), rows[i].status);
    }
    ck_assert_str_eq(slw_version(), SLW_VERSION_TEXT);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("base/fail");
    TCase *tc = tcase_create("fail");
    tcase_add_test(tc, first_error_wins);
    tcase_add_test(tc, details_are_set_once);
    tcase_add_test(tc, unknown_places_are_absent);
    tcase_add_test(tc, long_text_is_cut_between_characters);
    tcase_add_test(tc, messages_are_one_line);
    tcase_add_test(tc, no_record_and_foreign_records);
    tcase_add_test(tc, diagnostics_fill_the_callers_buffer);
    tcase_add_test(tc, errno_names);
    tcase_add_test(tc, codes_have_names_and_exit_statuses);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
