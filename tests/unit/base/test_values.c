/* Small parts: checked arithmetic, memory, buffers, references, hex, the bounded reader, digests, tokens, deadlines. */
#include "slt.h"

#include <string.h>

#include "buffer.h"
#include "checked.h"
#include "clock.h"
#include "fail.h"
#include "fault_alloc.h"
#include "fault_os.h"
#include "hex.h"
#include "memory.h"
#include "reader.h"
#include "ref.h"

START_TEST(checked_arithmetic) {
    size_t size = 7;
    uint64_t wide = 7;
    ck_assert_int_eq(slwi_add_size(SIZE_MAX, 1, &size), 1);
    ck_assert_int_eq(slwi_mul_size(SIZE_MAX / 2 + 1, 2, &size), 1);
    ck_assert_uint_eq(size, 7);
    ck_assert_int_eq(slwi_add_size(SIZE_MAX - 1, 1, &size), 0);
    ck_assert_uint_eq(size, SIZE_MAX);
    ck_assert_int_eq(slwi_mul_size(0, SIZE_MAX, &size), 0);
    ck_assert_uint_eq(size, 0);
    ck_assert_int_eq(slwi_add_u64(UINT64_MAX, 1, &wide), 1);
    ck_assert_int_eq(slwi_mul_u64(1ull << 32, 1ull << 32, &wide), 1);
    ck_assert_uint_eq(wide, 7);
    ck_assert_int_eq(slwi_mul_u64(UINT32_MAX, UINT32_MAX, &wide), 0);
    ck_assert_uint_eq(wide, 0xfffffffe00000001ull);
}
END_TEST

START_TEST(allocators_whole_or_none) {
    slw_error err = SLW_ERROR_INIT;
    slw_allocator out;
    memset(&out, 1, sizeof out);
    ck_assert_int_eq(slwi_allocator_take(NULL, &out, &err), SLW_OK);
    ck_assert_ptr_null(out.allocate);
    slt_heap heap;
    slt_heap_init(&heap);
    slw_allocator half = heap.allocator;
    half.release = NULL;
    ck_assert_int_eq(slwi_allocator_take(&half, &out, &err), SLW_E_USAGE);
    ck_assert_str_eq(err.reason, "BAD_ALLOCATOR");
    ck_assert_int_eq(slwi_allocator_take(&heap.allocator, &out, &err), SLW_OK);
    void *p = slwi_alloc(&out, 0); /* taken as 1: the heap aborts on 0 */
    ck_assert_ptr_nonnull(p);
    ck_assert_ptr_null(slwi_alloc_array(&out, SIZE_MAX, 2));
    ck_assert_ptr_null(slwi_realloc_array(&out, p, SIZE_MAX, 2));
    p = slwi_realloc_array(&out, p, 0, 8);
    ck_assert_ptr_nonnull(p);
    slwi_free(&out, p);
    slwi_free(&out, NULL);
    char *z = slwi_alloc_zero(&out, 5);
    ck_assert_mem_eq(z, "\0\0\0\0\0", 5);
    slwi_free(&out, z);
    char *text = slwi_strndup(&out, "abcdef", 3);
    ck_assert_str_eq(text, "abc");
    slwi_free(&out, text);
    ck_assert_ptr_null(slwi_strndup(&out, "x", SIZE_MAX));
    slt_heap_check_empty(&heap);
    ck_assert_int_eq(slwi_fail_memory(&err, 12), SLW_E_NO_MEMORY);
}
END_TEST

START_TEST(buffer_grows_and_stops_at_its_limit) {
    slt_heap heap;
    slt_heap_init(&heap);
    slw_error err = SLW_ERROR_INIT;
    slwi_buffer b;
    slwi_buffer_init(&b, &heap.allocator, 300);
    slwi_buffer_append_text(&b, "ab");
    slwi_buffer_append_char(&b, 'c');
    slwi_buffer_append_u64(&b, UINT64_MAX);
    slwi_buffer_append_i64(&b, INT64_MIN);
    slwi_buffer_append_hex(&b, "\x01\xff", 2);
    slwi_buffer_printf(&b, "%s-%d", "z", 7);
    ck_assert_str_eq(b.data, "abc18446744073709551615-922337203685477580801ffz-7");
    const size_t size = b.size;
    slwi_buffer_printf(&b, "%300d", 1);
    ck_assert_uint_eq(b.size, size);
    ck_assert_int_eq(slwi_buffer_status(&b, &err), SLW_E_LIMIT);
    ck_assert_uint_eq(err.limit, 300);
    slwi_buffer_append_char(&b, 'x'); /* failed stays */
    ck_assert_uint_eq(b.size, size);
    slwi_buffer_clear(&b);
    ck_assert_str_eq(b.data, "");
    slwi_buffer_printf(&b, "%300d", 1); /* exactly the limit */
    ck_assert_int_eq(b.failed, 0);
    ck_assert_uint_eq(b.size, 300);
    slw_text text = SLW_TEXT_INIT;
    slt_ok(slwi_buffer_take(&b, &text, &err), &err);
    ck_assert_uint_eq(text.size, 300);
    ck_assert_ptr_null(b.data);
    slw_text_release(&text);
    ck_assert_ptr_null(text.data);
    slw_text_release(&text);
    slw_text_release(NULL);
    slt_ok(slwi_buffer_take(&b, &text, &err), &err); /* nothing appended: an empty text */
    ck_assert_str_eq(text.data, "");
    slw_text_release(&text);
    slwi_buffer_free(&b);
    slt_heap_check_empty(&heap);
}
END_TEST

START_TEST(buffer_without_memory_keeps_what_it_has) {
    slt_heap heap;
    slt_heap_init(&heap);
    slw_error err = SLW_ERROR_INIT;
    slwi_buffer b;
    slwi_buffer_init(&b, &heap.allocator, SIZE_MAX);
    slwi_buffer_append_text(&b, "kept");
    heap.fail_at = heap.calls + 1;
    char big[4096];
    memset(big, 'x', sizeof big);
    slwi_buffer_append(&b, big, sizeof big);
    ck_assert_str_eq(b.data, "kept");
    slw_text text = SLW_TEXT_INIT;
    ck_assert_int_eq(slwi_buffer_take(&b, &text, &err), SLW_E_NO_MEMORY);
    ck_assert_ptr_null(text.data);
    slwi_buffer_free(&b);
    slt_heap_check_empty(&heap);
}
END_TEST

typedef struct counted {
    slwi_ref ref;
    int *destroyed;
} counted;

static void count_down(slwi_ref *ref) {
    ++*((counted *)(void *)ref)->destroyed;
}

START_TEST(references) {
    int destroyed = 0;
    counted object;
    object.destroyed = &destroyed;
    slwi_ref_init(&object.ref, count_down);
    ck_assert_ptr_eq(slwi_retain(&object), &object);
    slwi_release(&object);
    ck_assert_int_eq(destroyed, 0);
    slwi_release(&object);
    ck_assert_int_eq(destroyed, 1);
    ck_assert_ptr_null(slwi_retain(NULL));
    slwi_release(NULL);
}
END_TEST

START_TEST(hexadecimal) {
    char text[8];
    uint8_t bytes[4] = {9, 9, 9, 9};
    slwi_hex_encode("\x00\x7f\xff\x10", 4, text);
    ck_assert_mem_eq(text, "007fff10", 8);
    ck_assert_int_eq(slwi_hex_decode("00ff", 4, bytes), 1);
    ck_assert_mem_eq(bytes, "\x00\xff\x09\x09", 4);
    ck_assert_int_eq(slwi_hex_decode("00f", 3, bytes), 0);
    ck_assert_int_eq(slwi_hex_decode("00FF", 4, bytes), 0);
    ck_assert_int_eq(slwi_hex_decode("110g", 4, bytes), 0);
    ck_assert_mem_eq(bytes, "\x00\xff\x09\x09", 4); /* a refusal leaves it alone */
    ck_assert_int_eq(slwi_hex_decode("", 0, bytes), 1);
}
END_TEST

START_TEST(reader_bounds) {
    static const uint8_t data[] = {1, 2, 3, 4, 5, 6, 7, 8, 'h', 'i', 0, 'x'};
    const slw_bytes bytes = {data, sizeof data};
    slw_bytes out = {NULL, 99};
    ck_assert_int_eq(slwi_window(bytes, 12, 0, &out), 1);
    ck_assert_uint_eq(out.size, 0);
    ck_assert_int_eq(slwi_window(bytes, 13, 0, &out), 0);
    ck_assert_int_eq(slwi_window(bytes, 1, UINT64_MAX, &out), 0);
    ck_assert_int_eq(slwi_window(bytes, UINT64_MAX, 2, &out), 0);
    uint8_t a = 99;
    uint16_t b = 99;
    uint32_t c = 99;
    uint64_t d = 99;
    ck_assert_int_eq(slwi_read_u8(bytes, 12, &a), 0);
    ck_assert_int_eq(slwi_read_u16(bytes, 11, &b), 0);
    ck_assert_int_eq(slwi_read_u32(bytes, 9, &c), 0);
    ck_assert_int_eq(slwi_read_u64(bytes, 5, &d), 0);
    ck_assert_int_eq(slwi_read_u64(bytes, UINT64_MAX - 3, &d), 0);
    ck_assert_uint_eq(a + b + c + d, 4 * 99);
    ck_assert_int_eq(slwi_read_u8(bytes, 1, &a), 1);
    ck_assert_int_eq(slwi_read_u16(bytes, 1, &b), 1);
    ck_assert_int_eq(slwi_read_u32(bytes, 1, &c), 1); /* not aligned */
    ck_assert_int_eq(slwi_read_u64(bytes, 0, &d), 1);
    ck_assert_uint_eq(a, 2);
    ck_assert_uint_eq(b, 0x0302);
    ck_assert_uint_eq(c, 0x05040302);
    ck_assert_uint_eq(d, 0x0807060504030201ull);
    ck_assert_int_eq(slwi_read_string(bytes, 8, &out), 1);
    ck_assert_uint_eq(out.size, 2);
    ck_assert_mem_eq(out.data, "hi", 2);
    ck_assert_int_eq(slwi_read_string(bytes, 11, &out), 0); /* no NUL before the end */
    ck_assert_int_eq(slwi_read_string(bytes, 12, &out), 0);
    const slw_bytes none = {NULL, 0};
    ck_assert_int_eq(slwi_window(none, 0, 0, &out), 1);
    ck_assert_int_eq(slwi_read_u8(none, 0, &a), 0);
    ck_assert_int_eq(slwi_read_string(none, 0, &out), 0);
}
END_TEST

START_TEST(digests) {
    slw_error err = SLW_ERROR_INIT;
    slw_digest digest;
    for (size_t i = 0; i < 32; i++) digest.bytes[i] = (uint8_t)(i * 8);
    char text[SLW_DIGEST_TEXT_SIZE];
    slw_digest_format(&digest, text);
    ck_assert_uint_eq(strlen(text), 64);
    slw_digest back;
    memset(&back, 0x77, sizeof back);
    const slw_digest before = back;
    ck_assert_int_eq(slw_digest_parse(text, 63, &back, &err), SLW_E_USAGE);
    ck_assert_str_eq(err.reason, "BAD_DIGEST");
    ck_assert_int_eq(slw_digest_parse(NULL, 64, &back, &err), SLW_E_USAGE);
    char upper[SLW_DIGEST_TEXT_SIZE];
    memcpy(upper, text, sizeof upper);
    upper[63] = 'A';
    ck_assert_int_eq(slw_digest_parse(upper, 64, &back, &err), SLW_E_USAGE);
    ck_assert_mem_eq(&back, &before, sizeof back);
    ck_assert_int_eq(slw_digest_parse(text, 64, NULL, &err), SLW_E_USAGE);
    slt_ok(slw_digest_parse(text, 64, &back, &err), &err);
    ck_assert_mem_eq(&back, &digest, sizeof back);
}
END_TEST

START_TEST(cancel_tokens_and_deadlines) {
    slt_heap heap;
    slt_heap_init(&heap);
    slw_error err = SLW_ERROR_INIT;
    slw_cancel *token = NULL;
    heap.fail_at = 1;
    ck_assert_int_eq(slw_cancel_create(&heap.allocator, &token, &err), SLW_E_NO_MEMORY);
    ck_assert_ptr_null(token);
    slt_heap_reset(&heap);
    ck_assert_int_eq(slw_cancel_create(NULL, NULL, &err), SLW_E_USAGE);
    slt_ok(slw_cancel_create(&heap.allocator, &token, &err), &err);
    ck_assert_int_eq(slw_cancel_requested(NULL), 0);
    ck_assert_int_eq(slw_cancel_requested(token), 0);
    ck_assert_int_eq(slwi_check_wait(SLWI_NEVER, token, "a thing", &err), SLW_OK);
    ck_assert_int_eq(slwi_check_wait(slwi_now_ns(), token, "a thing", &err), SLW_E_TIMEOUT);
    slwi_error_reset(&err);
    slw_cancel_request(token);
    slw_cancel_request(NULL);
    ck_assert_int_eq(slwi_check_wait(0, token, "a thing", &err), SLW_E_CANCELLED); /* wins over the time */
    ck_assert_str_eq(err.message, "cancelled: a thing");
    slw_cancel_release(&token);
    ck_assert_ptr_null(token);
    slw_cancel_release(&token);
    slw_cancel_release(NULL);
    slt_heap_check_empty(&heap);
    ck_assert_uint_eq(slwi_deadline_ns(SLW_NO_TIMEOUT, 5), SLWI_NEVER);
    ck_assert_uint_eq(slwi_deadline_ns(UINT64_MAX - 1, 5), SLWI_NEVER);
    ck_assert_uint_eq(slwi_deadline_ns(0, SLWI_NEVER), SLWI_NEVER);
    const uint64_t now = slwi_now_ns();
    const uint64_t soon = slwi_deadline_ns(0, 1000000000);
    ck_assert_uint_ge(soon, now + 1000000000);
    slt_fault_os_install(NULL);
    slt_fault_os_shift_now(2000000000);
    ck_assert_int_eq(slwi_check_wait(soon, NULL, "x", NULL), SLW_E_TIMEOUT);
    slt_fault_os_remove();
    ck_assert_int_eq(slwi_check_wait(soon + 600000000000, NULL, "x", NULL), SLW_OK);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("base/values");
    TCase *tc = tcase_create("values");
    tcase_add_test(tc, checked_arithmetic);
    tcase_add_test(tc, allocators_whole_or_none);
    tcase_add_test(tc, buffer_grows_and_stops_at_its_limit);
    tcase_add_test(tc, buffer_without_memory_keeps_what_it_has);
    tcase_add_test(tc, references);
    tcase_add_test(tc, hexadecimal);
    tcase_add_test(tc, reader_bounds);
    tcase_add_test(tc, digests);
    tcase_add_test(tc, cancel_tokens_and_deadlines);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
