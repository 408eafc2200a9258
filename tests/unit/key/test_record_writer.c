/* The writer without a tree agrees with the records that have one; and the sort under both. */
#include <stdlib.h>
#include <string.h>

#include "heap_sort.h"
#include "record_writer.h"
#include "slt.h"

static slw_error error = SLW_ERROR_INIT;
static const slw_allocator allocator = SLW_ALLOCATOR_INIT;

static uint32_t seed = 1;
static uint32_t draw(uint32_t below) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static void ck_same(slwi_buffer *written, slw_record *record) {
    slw_text text = SLW_TEXT_INIT;
    slt_ok(slw_record_encode(record, NULL, &text, &error), &error);
    ck_assert_uint_eq(written->size, text.size);
    ck_assert_mem_eq(written->data, text.data, text.size);
    slw_text_release(&text);
    slw_record_release(&record);
    slwi_buffer_clear(written);
}

START_TEST(names_of_random_bytes) {
    static const uint8_t favourites[] = {0x00, 'a', 0x7f, 0x80, 0xbf, 0xc2, 0xc3, 0xa9, 0xe0, 0xed, 0xa0, 0xb2, 0xb3, 0xef, 0xf0,
                                         0x9f, 0x98, 0xf4, 0xff};
    slwi_buffer buffer;
    slwi_buffer_init(&buffer, &allocator, SIZE_MAX);
    for (int round = 0; round < 3000; round++) {
        uint8_t raw[600];
        size_t size = draw(10) == 0 ? draw(600) : draw(12);
        for (size_t i = 0; i < size; i++) {
            raw[i] = draw(4) == 0 ? (uint8_t) draw(256) : favourites[draw(sizeof favourites)];
        }
        slwi_record_writer w;
        slw_record *record = NULL;
        slwi_record_writer_buffer(&w, &buffer, SLW_DOMAIN_DEFAULT);
        slwi_record_put_os_string(&w, (slw_bytes){raw, size});
        slwi_record_writer_end(&w);
        ck_assert_uint_eq(w.size_bytes, buffer.size);
        slt_ok(slw_record_os_string(NULL, (slw_bytes){raw, size}, &record, &error), &error);
        ck_same(&buffer, record);
    }
    slwi_buffer_free(&buffer);
}
END_TEST

START_TEST(integers) {
    static const int64_t values[] = {0, 1, -1, 9, 10, -10, INT64_MAX, INT64_MIN};
    slwi_buffer buffer;
    slwi_record_writer w;
    slw_record *record = NULL;
    slwi_buffer_init(&buffer, &allocator, SIZE_MAX);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        slwi_record_writer_buffer(&w, &buffer, SLW_DOMAIN_DEFAULT);
        slwi_record_put_i64(&w, values[i]);
        slwi_record_writer_end(&w);
        slt_ok(slw_record_int(NULL, values[i], &record, &error), &error);
        ck_same(&buffer, record);
    }
    slwi_record_writer_buffer(&w, &buffer, SLW_DOMAIN_DEFAULT);
    slwi_record_put_u64(&w, UINT64_MAX);
    slwi_record_writer_end(&w);
    slt_ok(slw_record_int_text(NULL, (slw_bytes){"18446744073709551615", 20}, &record, &error), &error);
    ck_same(&buffer, record);
    slwi_buffer_free(&buffer);
}
END_TEST

/* Into a hash and into a buffer: the same bytes. */
START_TEST(hash_and_buffer_agree) {
    slwi_buffer buffer;
    slwi_sha256_ctx hash;
    slw_digest got, expected;
    slwi_buffer_init(&buffer, &allocator, SIZE_MAX);
    for (int into_hash = 0; into_hash < 2; into_hash++) {
        slwi_record_writer w;
        if (into_hash) {
            slwi_record_writer_hash(&w, &hash, SLW_DOMAIN_PYPTO);
        } else {
            slwi_record_writer_buffer(&w, &buffer, SLW_DOMAIN_PYPTO);
        }
        slwi_record_open(&w, "tuple");
        slwi_record_put_none(&w);
        slwi_record_comma(&w);
        slwi_record_open(&w, "dict");
        slwi_record_pair_open(&w, (slw_bytes){"a", 1});
        slwi_record_put_bool(&w, 1);
        slwi_record_pair_close(&w);
        slwi_record_close(&w);
        slwi_record_comma(&w);
        slwi_record_put_bytes(&w, (slw_bytes){"\xff", 1});
        slwi_record_close(&w);
        slwi_record_writer_end(&w);
    }
    ck_assert_str_eq(buffer.data, "[\"pypto.identity\",1,[\"tuple\",[[\"none\"],[\"dict\",[[[\"str\",\"61\"],[\"bool\",true]]]],"
                                  "[\"bytes\",\"ff\"]]]]");
    slwi_sha256_final(&hash, &got);
    slwi_sha256_once((slw_bytes){buffer.data, buffer.size}, &expected);
    ck_assert_mem_eq(&got, &expected, sizeof got);
    slwi_buffer_free(&buffer);
}
END_TEST

START_TEST(domains) {
    char longest[66];
    memset(longest, 'd', sizeof longest);
    longest[64] = 0;
    ck_assert(slwi_domain_ok(longest));
    longest[64] = 'd';
    longest[65] = 0;
    ck_assert(!slwi_domain_ok(longest));
    ck_assert(!slwi_domain_ok(""));
    ck_assert(!slwi_domain_ok("a b"));
    ck_assert(slwi_domain_ok("a.b-c_9"));
    ck_assert_str_eq(slwi_domain_known(NULL), SLW_DOMAIN_DEFAULT);
    ck_assert_str_eq(slwi_domain_known("pypto.identity"), SLW_DOMAIN_PYPTO);
    ck_assert_ptr_null(slwi_domain_known("pypto.identity "));
}
END_TEST

static size_t comparisons;

static int compare_ints(const void *a, const void *b) {
    const uint32_t *left = a, *right = b;
    comparisons++;
    return *left < *right ? -1 : *left > *right;
}

START_TEST(heap_sort) {
    enum { MOST = 4096 };
    uint32_t *items = malloc(MOST * sizeof *items);
    for (size_t count = 0; count <= MOST; count = count < 40 ? count + 1 : count * 2) {
        for (int shape = 0; shape < 4; shape++) {
            uint64_t sum = 0, after = 0;
            for (size_t i = 0; i < count; i++) {
                items[i] = shape == 0 ? draw(1000000) : shape == 1 ? (uint32_t) i : shape == 2 ? (uint32_t) (count - i) : draw(3);
                sum += (uint64_t) items[i] * items[i] + 1;
            }
            comparisons = 0;
            slwi_heap_sort(items, count, sizeof *items, compare_ints);
            ck_assert_uint_le(comparisons, 26 * count); /* 2 n log2 n at most, whatever the order was */
            for (size_t i = 0; i < count; i++) {
                if (i != 0) ck_assert_uint_le(items[i - 1], items[i]);
                after += (uint64_t) items[i] * items[i] + 1;
            }
            ck_assert_uint_eq(sum, after);
        }
    }
    free(items);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("key/record_writer");
    TCase *t = tcase_create("record_writer");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, names_of_random_bytes);
    tcase_add_test(t, integers);
    tcase_add_test(t, hash_and_buffer_agree);
    tcase_add_test(t, domains);
    tcase_add_test(t, heap_sort);
    suite_add_tcase(s, t);
    return s;
}

int main(void) {
    return slt_run(suite(), NULL);
}
