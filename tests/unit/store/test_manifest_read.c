/* Learning from a marker which key and spec it is of: what was published reads back, nothing else does, and every allocation
 * may fail with a record that says so. */
#include <stdlib.h>
#include <string.h>

#include "fault_alloc.h"
#include "store_kit.h"
#include "store_manifest.h"

static const slw_allocator standard = SLW_ALLOCATOR_INIT;

static slw_code read_marker(const slw_allocator *allocator, const char *text, slw_key **key, slw_spec **spec, slw_error *err) {
    return slwi_manifest_read(allocator, SLW_DOMAIN_DEFAULT, (slw_bytes){text, strlen(text)}, key, spec, err);
}

static char *published(slk_world *world) {
    slk_world_make(world, SLW_DOMAIN_DEFAULT);
    slk_publish(world);
    size_t size = 0;
    return slt_read_file(slk_marker(world), &size);
}

START_TEST(what_was_published_reads_back) {
    slk_world world;
    slw_error err = SLW_ERROR_INIT;
    slw_key *key = NULL;
    slw_spec *spec = NULL;
    char *text = published(&world);
    slt_ok(read_marker(&standard, text, &key, &spec, &err), &err);
    ck_assert_str_eq(slw_key_digest(key), slw_key_digest(world.key));
    ck_assert_str_eq(slw_spec_digest(spec), slw_spec_digest(world.spec));
    slw_key_release(&key);
    slw_spec_release(&spec);
    free(text);
    slk_world_end(&world);
}
END_TEST

/* Found by fuzz_manifest: without memory for the key or the spec the record was left empty. */
START_TEST(every_allocation_may_fail) {
    slk_world world;
    slt_heap heap;
    char *text = published(&world);
    slt_heap_init(&heap);
    for (uint64_t n = 1;; n++) {
        slw_error err = SLW_ERROR_INIT;
        slw_key *key = NULL;
        slw_spec *spec = NULL;
        slt_heap_reset(&heap);
        heap.fail_at = n;
        const slw_code rc = read_marker(&heap.allocator, text, &key, &spec, &err);
        if (heap.failed != 0) {
            ck_assert_int_eq(rc, SLW_E_NO_MEMORY);
            ck_assert_int_eq(err.code, SLW_E_NO_MEMORY);
            ck_assert_str_ne(err.message, "");
            ck_assert_ptr_null(key);
            ck_assert_ptr_null(spec);
        }
        slw_key_release(&key);
        slw_spec_release(&spec);
        slt_heap_check_empty(&heap);
        if (heap.failed == 0) break;
        ck_assert_uint_lt(n, 1000);
    }
    free(text);
    slk_world_end(&world);
}
END_TEST

START_TEST(what_is_no_marker) {
    static const char *const texts[] = {"", "{", "[]", "{}", "null", "{\"components\":{}}", "{\"components\":[]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        slw_error err = SLW_ERROR_INIT;
        slw_key *key = NULL;
        slw_spec *spec = NULL;
        ck_assert_int_eq(read_marker(&standard, texts[i], &key, &spec, &err), SLW_E_INVALID_ENTRY);
        ck_assert_str_eq(err.reason, "BAD_MARKER");
        ck_assert_ptr_null(key);
        ck_assert_ptr_null(spec);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("manifest_read");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, what_was_published_reads_back);
    tcase_add_test(tc, every_allocation_may_fail);
    tcase_add_test(tc, what_is_no_marker);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
