/* A record as JSON: what slw_record_parse reads gives the same record again, and the text is canonical. */
#include <slipway/slipway.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "fault_alloc.h"
#include "record_json.h"
#include "slt.h"

static slw_error err = SLW_ERROR_INIT;

/* Written canonically: each is what it must come back as. */
static const char *const texts[] = {
    "{\"t\":\"none\"}",
    "{\"t\":\"bool\",\"v\":true}",
    "{\"t\":\"bool\",\"v\":false}",
    "{\"t\":\"int\",\"v\":\"-17\"}",
    "{\"t\":\"int\",\"v\":\"123456789012345678901234567890\"}",
    "{\"bits\":\"8000000000000000\",\"t\":\"f64\"}",
    "{\"bits\":\"7ff8000000000001\",\"t\":\"f64\"}",
    "{\"t\":\"str\",\"wtf8_hex\":\"\"}",
    "{\"t\":\"str\",\"wtf8_hex\":\"00225c0a\"}",
    "{\"t\":\"str\",\"wtf8_hex\":\"edb280f09f9880\"}",
    "{\"hex\":\"\",\"t\":\"bytes\"}",
    "{\"hex\":\"00ff80\",\"t\":\"bytes\"}",
    "{\"t\":\"list\",\"v\":[]}",
    "{\"t\":\"tuple\",\"v\":[{\"t\":\"none\"},{\"t\":\"int\",\"v\":\"1\"}]}",
    "{\"t\":\"dict\",\"v\":[]}",
    "{\"t\":\"dict\",\"v\":[[{\"t\":\"str\",\"wtf8_hex\":\"\"},{\"t\":\"list\",\"v\":[{\"t\":\"none\"}]}]]}",
};

static slw_code write(const slw_record *record, const slw_allocator *allocator, size_t limit, slwi_buffer *out) {
    slwi_json_writer writer;
    slwi_buffer_init(out, allocator, limit);
    slwi_json_begin(&writer, out, 1);
    ck_assert_int_eq(slwi_record_write_json(&writer, record), 1);
    return slwi_buffer_status(out, &err);
}

START_TEST(every_kind_comes_back) {
    const slw_allocator libc = SLW_ALLOCATOR_INIT;
    slw_record *record = NULL, *again = NULL;
    slw_digest first, second;
    slwi_buffer out;
    slt_ok(slw_record_parse(NULL, (slw_bytes){texts[_i], strlen(texts[_i])}, &record, &err), &err);
    slt_ok(write(record, &libc, SIZE_MAX, &out), &err);
    ck_assert_str_eq(out.data, texts[_i]);
    slt_ok(slw_record_parse(NULL, (slw_bytes){out.data, out.size}, &again, &err), &err);
    slt_ok(slw_record_digest(record, NULL, &first, &err), &err);
    slt_ok(slw_record_digest(again, NULL, &second, &err), &err);
    ck_assert_int_eq(memcmp(&first, &second, sizeof first), 0);
    slwi_buffer_free(&out);
    slw_record_release(&record);
    slw_record_release(&again);
}
END_TEST

/* Names of a dict are written in order, in whatever order they were set. */
START_TEST(names_are_in_order) {
    const slw_allocator libc = SLW_ALLOCATOR_INIT;
    static const char *const names[] = {"b", "\xc3\xa9", "a", "B"};
    slw_record *dict = NULL;
    slwi_buffer out;
    slt_ok(slw_record_dict(NULL, &dict, &err), &err);
    for (size_t i = 0; i < 4; i++) {
        slw_record *item = NULL;
        slt_ok(slw_record_none(NULL, &item, &err), &err);
        slt_ok(slw_record_set(dict, (slw_bytes){names[i], strlen(names[i])}, &item, &err), &err);
    }
    slt_ok(write(dict, &libc, SIZE_MAX, &out), &err);
    const char *at[4];
    at[0] = strstr(out.data, "\"42\"");
    at[1] = strstr(out.data, "\"61\"");
    at[2] = strstr(out.data, "\"62\"");
    at[3] = strstr(out.data, "\"c3a9\"");
    for (int i = 0; i < 4; i++) ck_assert_ptr_nonnull(at[i]);
    for (int i = 1; i < 4; i++) ck_assert(at[i - 1] < at[i]);
    slwi_buffer_free(&out);
    slw_record_release(&dict);
}
END_TEST

static slw_record *nested(unsigned height) {
    slw_record *record = NULL;
    slt_ok(slw_record_none(NULL, &record, &err), &err);
    for (unsigned i = 1; i < height; i++) {
        slw_record *dict = NULL;
        slt_ok(slw_record_dict(NULL, &dict, &err), &err);
        slt_ok(slw_record_set(dict, (slw_bytes){"x", 1}, &record, &err), &err);
        record = dict;
    }
    return record;
}

/* As deep as is written, inside a document that has a few levels of its own; and one deeper: nothing. */
START_TEST(depth_is_bounded) {
    const slw_allocator libc = SLW_ALLOCATOR_INIT;
    slwi_json_writer writer;
    slwi_buffer out;
    for (unsigned height = SLWI_RECORD_JSON_HEIGHT; height <= SLWI_RECORD_JSON_HEIGHT + 1; height++) {
        slw_record *record = nested(height);
        slwi_buffer_init(&out, &libc, SIZE_MAX);
        slwi_json_begin(&writer, &out, 1);
        for (int i = 0; i < 6; i++) slwi_json_array_begin(&writer);
        const size_t before = out.size;
        ck_assert_int_eq(slwi_record_write_json(&writer, record), height == SLWI_RECORD_JSON_HEIGHT);
        ck_assert_int_eq(out.failed, 0);
        ck_assert_int_eq(out.size == before, height != SLWI_RECORD_JSON_HEIGHT);
        slwi_buffer_free(&out);
        slw_record_release(&record);
    }
}
END_TEST

/* The buffer's limit and its memory are told by the buffer. */
START_TEST(failures_are_the_buffers) {
    const slw_allocator libc = SLW_ALLOCATOR_INIT;
    const char *text = texts[sizeof texts / sizeof *texts - 1];
    slw_record *record = NULL;
    slwi_buffer out;
    slt_ok(slw_record_parse(NULL, (slw_bytes){text, strlen(text)}, &record, &err), &err);
    for (size_t limit = 0; limit < strlen(text); limit++) {
        slwi_error_reset(&err);
        ck_assert_int_eq(write(record, &libc, limit, &out), SLW_E_LIMIT);
        slwi_buffer_free(&out);
    }
    slwi_error_reset(&err);
    slt_ok(write(record, &libc, strlen(text), &out), &err);
    slwi_buffer_free(&out);
    slt_heap heap;
    slt_heap_init(&heap);
    for (uint64_t n = 1;; n++) {
        slt_heap_reset(&heap);
        heap.fail_at = n;
        slwi_error_reset(&err);
        const slw_code rc = write(record, &heap.allocator, SIZE_MAX, &out);
        slwi_buffer_free(&out);
        slt_heap_check_empty(&heap);
        if (rc == SLW_OK) break;
        ck_assert_int_eq(rc, SLW_E_NO_MEMORY);
    }
    slw_record_release(&record);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("record json");
    TCase *c = tcase_create("write");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, every_kind_comes_back, 0, (int)(sizeof texts / sizeof *texts));
    tcase_add_test(c, names_are_in_order);
    tcase_add_test(c, depth_is_bounded);
    tcase_add_test(c, failures_are_the_buffers);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
