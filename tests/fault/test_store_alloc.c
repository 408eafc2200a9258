/* The n-th allocation fails, for every n, over open, lookup, request, read and materialize: NO_MEMORY or a private
 * build that says why; outputs untouched; nothing leaked; and the same object works again afterwards. */
#include "store_kit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault_alloc.h"
#include "file.h"

typedef struct heap_case {
    slk_world world;
    slt_heap heap;
    slw_store_options options;
    int scratch_fd;
    slw_store *store;
} heap_case;

static void begin(heap_case *c) {
    memset(c, 0, sizeof *c);
    slk_world_make(&c->world, SLW_DOMAIN_DEFAULT);
    slt_heap_init(&c->heap);
    c->options = slk_options(&c->world);
    c->options.allocator = c->heap.allocator;
    c->scratch_fd = open(c->world.scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(c->scratch_fd, 0);
}

static void end(heap_case *c) {
    close(c->scratch_fd);
    slk_world_end(&c->world);
}

/* What is run for each refused allocation: `prepare` and `finish` meet no refusal, `once` does and gives 1 when it
   was told NO_MEMORY. */
typedef struct steps {
    void (*prepare)(heap_case *c);
    int (*once)(heap_case *c);
    void (*finish)(heap_case *c);
} steps;

/* A store keeps memory for its next call, so each n has a store of its own, and its heap is empty when it was
   closed. After the refusal the same store does the same thing again. */
static int refuse_one(heap_case *c, const steps *s, uint64_t n, int and_on) {
    slt_heap_reset(&c->heap);
    if (s->prepare != NULL) s->prepare(c);
    const int descriptors = slt_open_descriptors();
    slt_heap_reset(&c->heap);
    c->heap.fail_at = n;
    c->heap.fail_after = and_on;
    const int told = s->once(c);
    const int failed = c->heap.failed > 0;
    slt_heap_reset(&c->heap);
    ck_assert_msg(told == 0 || failed, "told NO_MEMORY, and nothing was refused");
    ck_assert_msg(slt_open_descriptors() == descriptors, "allocation %llu refused: descriptors", (unsigned long long)n);
    ck_assert_msg(s->once(c) == 0, "allocation %llu refused: not well again", (unsigned long long)n);
    if (s->finish != NULL) s->finish(c);
    slw_store_close(&c->store);
    slt_heap_check_empty(&c->heap);
    return failed ? 1 + told : 0;
}

static void refuse_each(heap_case *c, int and_on, const steps *s, unsigned at_least) {
    unsigned refused = 0, told = 0;
    for (uint64_t n = 1;; n++) {
        const int result = refuse_one(c, s, n, and_on);
        if (result == 0) break;
        refused++;
        told += result == 2;
        ck_assert_uint_lt(n, 5000);
    }
    ck_assert_uint_ge(refused, at_least);
    ck_assert_uint_gt(told, 0);
}

static void open_store(heap_case *c) {
    c->store = slk_open_options(&c->options);
}

static int expect_ok_or_no_memory(slw_code code, const void *out) {
    ck_assert_msg(code == SLW_OK || code == SLW_E_NO_MEMORY, "%s", slw_code_name(code));
    ck_assert_int_eq(code == SLW_OK, out != NULL);
    return code != SLW_OK;
}

static int open_once(heap_case *c) {
    slw_error err = SLW_ERROR_INIT;
    slw_store *store = NULL;
    const slw_code code = slw_store_open(&c->options, &store, &err);
    ck_assert_int_eq(err.code, code);
    slw_store_close(&store);
    return code != SLW_OK ? expect_ok_or_no_memory(code, NULL) : 0;
}

START_TEST(open_with_every_allocation_refused) {
    heap_case c;
    begin(&c);
    slk_publish(&c.world);
    refuse_each(&c, _i, &(const steps){NULL, open_once, NULL}, 2);
    end(&c);
}
END_TEST

static int lookup_once(heap_case *c) {
    slw_error err = SLW_ERROR_INIT;
    slw_cached *entry = NULL;
    const slw_code code = slw_store_lookup(c->store, c->world.key, c->world.spec, &entry, &err);
    const int told = expect_ok_or_no_memory(code, entry);
    ck_assert_int_eq(err.code, code);
    if (entry != NULL) {
        slk_expect_files(entry, slk_fixture_files, 2);
        slw_cached_discard(&entry);
    }
    return told;
}

START_TEST(lookup_with_every_allocation_refused) {
    heap_case c;
    begin(&c);
    slk_publish(&c.world);
    c.options.verify = _i / 2 == 0 ? SLW_VERIFY_FULL : SLW_VERIFY_ON_MAP;
    refuse_each(&c, _i % 2, &(const steps){open_store, lookup_once, NULL}, 3);
    end(&c);
}
END_TEST

/* A request, on a root that is fresh or holds the entry. */
static int request_once(heap_case *c) {
    slk_result result;
    slk_world_get(&c->world, c->store, &result);
    const int told = expect_ok_or_no_memory(result.code, result.entry);
    if (result.code == SLW_OK) {
        slk_expect_files(result.entry, slk_fixture_files, 2);
        if (result.report.disposition == SLW_PRIVATE) ck_assert_int_ne(result.report.reason[0], 0);
    } else {
        ck_assert_ptr_null(result.report.value);
        ck_assert_ptr_null(result.report.private_directory);
    }
    slk_result_release(&result);
    ck_assert_uint_eq(slk_names(c->world.private_root), 0);
    ck_assert_uint_eq(slk_leftovers(c->world.root), 0);
    return told;
}

static int fresh_request_once(heap_case *c) {
    ck_assert_int_eq(slwi_remove_tree(slwi_os_real(), c->scratch_fd, "root"), 0);
    const int told = request_once(c);
    slw_store *other = slk_open(&c->world); /* with another allocator */
    const char *verdict = slk_world_verdict(&c->world, other);
    ck_assert_msg(strcmp(verdict, "HIT") == 0 || strcmp(verdict, "MISS") == 0, "%s", verdict);
    slk_world_expect(&c->world, other, verdict[0] == 'H' ? SLW_HIT : SLW_PUBLISHED, SLW_FAILURE_NONE);
    slw_store_close(&other);
    return told;
}

START_TEST(publication_with_every_allocation_refused) {
    heap_case c;
    begin(&c);
    refuse_each(&c, _i, &(const steps){open_store, fresh_request_once, NULL}, 8);
    end(&c);
}
END_TEST

START_TEST(a_request_for_a_hit_with_every_allocation_refused) {
    heap_case c;
    begin(&c);
    slk_publish(&c.world);
    refuse_each(&c, _i, &(const steps){open_store, request_once, NULL}, 3);
    end(&c);
}
END_TEST

START_TEST(a_private_build_with_every_allocation_refused) {
    heap_case c;
    begin(&c);
    c.options.read_only = 1;
    refuse_each(&c, _i, &(const steps){open_store, request_once, NULL}, 5);
    ck_assert(!slk_exists(c.world.root));
    end(&c);
}
END_TEST

static int failing_build_once(heap_case *c) {
    slk_result result;
    slk_world_get(&c->world, c->store, &result);
    ck_assert_msg(result.code == SLW_E_NO_MEMORY || result.code == SLW_E_COMPILE_FAILED, "%s",
                  slw_code_name(result.code));
    ck_assert_ptr_null(result.entry);
    slk_result_release(&result);
    ck_assert_uint_eq(slk_names(c->world.private_root), 0);
    return result.code == SLW_E_NO_MEMORY;
}

START_TEST(a_failing_build_with_every_allocation_refused) {
    heap_case c;
    begin(&c);
    c.world.build.code = SLW_E_COMPILE_FAILED;
    refuse_each(&c, _i, &(const steps){open_store, failing_build_once, NULL}, 3);
    end(&c);
}
END_TEST

static slw_cached *held;

static void hold_cached(heap_case *c) {
    slw_error err = SLW_ERROR_INIT;
    open_store(c);
    slt_ok(slw_store_lookup(c->store, c->world.key, c->world.spec, &held, &err), &err);
}

static void drop_cached(heap_case *c) {
    (void)c;
    slw_cached_discard(&held);
}

static int materialize_once(heap_case *c) {
    slw_error err = SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_remove_tree(slwi_os_real(), c->scratch_fd, "copy"), 0);
    const slw_code code = slw_cached_materialize(held, slt_path(c->world.scratch, "copy", NULL), &err);
    ck_assert_msg(code == SLW_OK || code == SLW_E_NO_MEMORY, "%s", slw_code_name(code));
    ck_assert_int_eq(err.code, code);
    return code != SLW_OK;
}

START_TEST(materialize_with_every_allocation_refused) {
    heap_case c;
    begin(&c);
    slk_publish(&c.world);
    refuse_each(&c, _i, &(const steps){hold_cached, materialize_once, drop_cached}, 1);
    ck_assert_uint_eq(slk_names(slt_path(c.world.scratch, "copy", NULL)), 2);
    end(&c);
}
END_TEST

static slwi_entry *held_entry;

static void hold_entry(heap_case *c) {
    slw_error err = SLW_ERROR_INIT;
    open_store(c);
    slt_ok(slwi_store_lookup(c->store, c->world.key, c->world.spec, &held_entry, &err), &err);
    slw_store_close(&c->store);
}

static void drop_entry(heap_case *c) {
    (void)c;
    slwi_release(held_entry);
}

static int read_once(heap_case *c) {
    slw_error err = SLW_ERROR_INIT;
    slwi_image *image = NULL;
    (void)c;
    const slw_code code = slwi_entry_read(held_entry, "kernel/source.pto", &image, &err);
    const int told = expect_ok_or_no_memory(code, image);
    if (image != NULL) {
        ck_assert_uint_eq(slwi_image_size(image), 14);
        slwi_release(image);
    }
    return told;
}

START_TEST(reading_a_payload_with_every_allocation_refused) {
    heap_case c;
    begin(&c);
    slk_publish(&c.world);
    refuse_each(&c, _i, &(const steps){hold_entry, read_once, drop_entry}, 1);
    end(&c);
}
END_TEST

/* Enumeration. */
static slw_code count_slot(void *context, const slw_slot_info *slot) {
    (void)slot;
    (*(int *)context)++;
    return SLW_OK;
}

static int visit_once(heap_case *c) {
    slw_error err = SLW_ERROR_INIT;
    int slots = 0;
    const slw_code code = slw_store_visit(c->store, 1, count_slot, &slots, &err);
    ck_assert_msg(code == SLW_OK || code == SLW_E_NO_MEMORY, "%s", slw_code_name(code));
    if (code == SLW_OK) ck_assert_int_eq(slots, 1);
    return code != SLW_OK;
}

START_TEST(visit_with_every_allocation_refused) {
    heap_case c;
    begin(&c);
    slk_publish(&c.world);
    refuse_each(&c, _i, &(const steps){open_store, visit_once, NULL}, 1);
    end(&c);
}
END_TEST

int main(void) {
    slk_use_memory();
    Suite *suite = suite_create("store allocations");
    TCase *all = tcase_create("every allocation");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, open_with_every_allocation_refused, 0, 2);
    tcase_add_loop_test(all, lookup_with_every_allocation_refused, 0, 4);
    tcase_add_loop_test(all, publication_with_every_allocation_refused, 0, 2);
    tcase_add_loop_test(all, a_request_for_a_hit_with_every_allocation_refused, 0, 2);
    tcase_add_loop_test(all, a_private_build_with_every_allocation_refused, 0, 2);
    tcase_add_loop_test(all, a_failing_build_with_every_allocation_refused, 0, 2);
    tcase_add_loop_test(all, materialize_with_every_allocation_refused, 0, 2);
    tcase_add_loop_test(all, reading_a_payload_with_every_allocation_refused, 0, 2);
    tcase_add_loop_test(all, visit_with_every_allocation_refused, 0, 2);
    suite_add_tcase(suite, all);
    return slt_run(suite, NULL);
}
