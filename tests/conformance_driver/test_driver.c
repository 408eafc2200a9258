/* What every driver does alike, seen through the device and its table of modules: run over each subject. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device_object.h"
#include "driver_subject.h"
#include "fault_alloc.h"
#include "fault_os.h"

/* ThreadSanitizer ends a child that starts threads: there a pool must not start. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CHILD_BLOCKS 1u
#endif
#endif
#ifndef CHILD_BLOCKS
#define CHILD_BLOCKS 100u
#endif

START_TEST(describes_itself) {
    world w;
    world_open(&w, _i, NULL);
    slw_device_info info = SLW_DEVICE_INFO_INIT;
    slt_ok(slw_device_describe(w.device, &info, &w.err), &w.err);
    ck_assert_uint_gt(strlen(info.kind), 0);
    ck_assert_uint_gt(strlen(info.name), strlen(info.kind));
    ck_assert_uint_gt(strlen(info.target), 0);
    ck_assert_uint_gt(info.max_threads, 0);
    ck_assert_uint_ge(info.max_optin_shared_bytes, info.max_shared_bytes);
    ck_assert_uint_gt(info.warp_threads, 0);
    ck_assert_uint_gt(info.multiprocessors, 0);
    ck_assert_uint_ge(info.max_cluster_rank, 1);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_gt(info.max_block[i], 0);
        ck_assert_uint_gt(info.max_grid[i], 0);
    }
    ck_assert_mem_eq(slwi_device_info(w.device), &info, sizeof info);
    /* Each device is a context of its own. */
    world second;
    world_open(&second, _i, NULL);
    ck_assert_ptr_nonnull(slw_device_native_context(w.device));
    ck_assert_ptr_ne(slw_device_native_context(w.device), slw_device_native_context(second.device));
    ck_assert_ptr_eq(slw_device_native_context(w.device), slw_device_native_context(w.device));
    world_close(&second);
    slw_device_info small = SLW_DEVICE_INFO_INIT;
    small.size--;
    ck_assert_int_eq(slw_device_describe(w.device, &small, &w.err), SLW_E_USAGE);
    world_close(&w);
}
END_TEST

START_TEST(load_and_unload_balance) {
    world w;
    world_open(&w, _i, NULL);
    slwi_module *module = world_load(&w, w.pair);
    ck_assert_ptr_nonnull(slwi_module_native(module));
    ck_assert_ptr_eq(slwi_module_device(module), w.device);
    ck_assert_ptr_eq(slwi_module_contract(module), &w.pair->contract);
    slwi_module *again = world_load(&w, w.pair);
    ck_assert_ptr_eq(again, module);
    slwi_module *other = world_load(&w, w.other);
    ck_assert_ptr_ne(other, module);
    ck_assert_ptr_ne(slwi_module_native(other), slwi_module_native(module));
    slw_device_counts counts = world_counts(&w);
    ck_assert_uint_eq(counts.loads, 2);
    ck_assert_uint_eq(counts.modules_loaded, 2);
    ck_assert_uint_eq(counts.modules_retired, 0);
    slwi_module_unload_or_release(&again); /* not the last */
    ck_assert_ptr_null(again);
    ck_assert_uint_eq(world_counts(&w).unloads, 0);
    slwi_module_unload_or_release(&module);
    ck_assert_ptr_null(module);
    counts = world_counts(&w);
    ck_assert_uint_eq(counts.unloads, 1);
    ck_assert_uint_eq(counts.modules_loaded, 1);
    slwi_release(other);
    world_close(&w);
}
END_TEST

/* Pitfall 12: the last discard retires, and the module comes back without another load. */
START_TEST(pitfall_12_last_release_retires_and_find_revives) {
    world w;
    world_open(&w, _i, NULL);
    slwi_module *found = NULL;
    ck_assert_int_eq(slwi_module_find(w.device, &w.pair->image.sha256, &found, &w.err), SLW_E_MISS);
    ck_assert_int_eq(w.err.code, SLW_OK); /* a miss says nothing: a load may follow with the same record */
    slwi_module *module = world_load(&w, w.pair);
    slwi_release(module);
    slw_device_counts counts = world_counts(&w);
    ck_assert_uint_eq(counts.modules_loaded, 1);
    ck_assert_uint_eq(counts.modules_retired, 1);
    slt_ok(slwi_module_find(w.device, &w.pair->image.sha256, &found, &w.err), &w.err);
    ck_assert_ptr_eq(found, module);
    ck_assert_uint_eq(world_counts(&w).modules_retired, 0);
    uint64_t sum = 0;
    ck_assert_int_eq(world_launch(&w, found, world_function(&w, found, "first"), 4, &sum), SLW_OK);
    slwi_release(found);
    for (int i = 0; i < 3; i++) slwi_release(world_load(&w, w.pair));
    counts = world_counts(&w);
    ck_assert_uint_eq(counts.loads, 1);
    ck_assert_uint_eq(counts.modules_retired, 1);
    module = world_load(&w, w.pair);
    slwi_module_unload_or_release(&module);
    counts = world_counts(&w);
    ck_assert_uint_eq(counts.modules_loaded, 0);
    ck_assert_uint_eq(counts.modules_retired, 0);
    ck_assert_uint_eq(counts.unloads, 1);
    world_close(&w);
}
END_TEST

/* Pitfall 15: one module serves several functions, and has one set of globals. */
START_TEST(pitfall_15_one_module_several_functions) {
    world w;
    world_open(&w, _i, NULL);
    slwi_module *module = world_load(&w, w.pair);
    void *first = world_function(&w, module, "first");
    void *second = world_function(&w, module, "second");
    ck_assert_ptr_ne(first, second);
    ck_assert_ptr_eq(world_function(&w, module, "first"), first);
    void *function = NULL;
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    slt_ok(slwi_module_function(module, slt_image_kernel(w.pair, "second"), &function, &attributes, &w.err), &w.err);
    ck_assert_uint_eq(attributes.static_shared_bytes, 64);
    ck_assert_uint_eq(attributes.max_threads, 1024);
    slw_kernel_contract unknown = *slt_image_kernel(w.pair, "second");
    unknown.name = "third";
    function = &w;
    ck_assert_int_eq(slwi_module_function(module, &unknown, &function, &attributes, &w.err), SLW_E_MISS);
    ck_assert_ptr_eq(function, &w);
    ck_assert_uint_eq(attributes.static_shared_bytes, 64);
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    slw_error err = SLW_ERROR_INIT;
    slt_ok(slwi_module_prepare(module, second, slt_image_kernel(w.pair, "second"), &shape, &err), &err);
    uint64_t sum = 0;
    ck_assert_int_eq(world_launch(&w, module, first, 100, &sum), SLW_OK);
    ck_assert_uint_eq(sum, w.runs ? 5050 : 0);
    ck_assert_int_eq(world_launch(&w, module, second, 100, &sum), SLW_OK);
    ck_assert_uint_eq(sum, w.runs ? 15150 : 0);
    slwi_release(module);
    world_close(&w);
}
END_TEST

START_TEST(globals_by_name) {
    world w;
    world_open(&w, _i, NULL);
    slwi_module *module = world_load(&w, w.pair);
    slwi_module *other = world_load(&w, w.other);
    slw_device_address address = 0, elsewhere = 0;
    uint64_t size = 0;
    slt_ok(slwi_module_global(module, world_global(&w), &address, &size, &w.err), &w.err);
    ck_assert_uint_ne(address, 0);
    slt_ok(slwi_module_global(other, world_global(&w), &elsewhere, &size, &w.err), &w.err);
    if (w.runs) {
        ck_assert_uint_ne(address, elsewhere); /* another image has globals of its own */
        int value = 0;
        slt_ok(slw_device_copy_out(w.device, &value, address, sizeof value, &w.err), &w.err);
        ck_assert_int_eq(value, 7);
    }
    address = 1;
    ck_assert_int_eq(slwi_module_global(module, "nobody", &address, &size, &w.err), SLW_E_MISS);
    ck_assert_uint_eq(address, 1);
    slwi_release(module);
    slwi_release(other);
    world_close(&w);
}
END_TEST

/* ---- Failures ---------------------------------------------------------------------------------------------- */

START_TEST(failure_of_the_image_is_remembered) {
    world w;
    world_open(&w, _i, NULL);
    slwi_module *module = NULL;
    ck_assert_int_eq(world_load_broken(&w, &module), SLW_E_INVALID_BINARY);
    ck_assert_ptr_null(module);
    ck_assert_int_eq(w.err.code, SLW_E_INVALID_BINARY);
    char message[sizeof w.err.message];
    memcpy(message, w.err.message, sizeof message);
    ck_assert_uint_eq(world_counts(&w).failures_remembered, 1);
    ck_assert_uint_eq(world_counts(&w).loads, 0);
    /* The driver would take it now; it is not asked. */
    slw_error again = SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_module_load(w.device, &w.broken->image, NULL, &module, &again), SLW_E_INVALID_BINARY);
    ck_assert_str_eq(again.message, message);
    again = (slw_error)SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_module_find(w.device, &w.broken->image.sha256, &module, &again), SLW_E_INVALID_BINARY);
    ck_assert_str_eq(again.message, message);
    ck_assert_int_eq(slwi_module_load(w.device, &w.broken->image, NULL, &module, NULL), SLW_E_INVALID_BINARY);
    if (world_driver_loads(&w) >= 0) ck_assert_int_eq(world_driver_loads(&w), 1);
    /* Others are not touched by it. */
    slwi_release(world_load(&w, w.pair));
    slwi_device_forget_failure(w.device, &w.broken->image.sha256);
    ck_assert_uint_eq(world_counts(&w).failures_remembered, 0);
    ck_assert_int_eq(world_load_broken(&w, &module), SLW_E_INVALID_BINARY);
    if (world_driver_loads(&w) >= 0) ck_assert_int_eq(world_driver_loads(&w), 3);
    world_close(&w);
}
END_TEST

START_TEST(failures_are_remembered_in_bounds) {
    world w;
    world_open(&w, _i, NULL);
    slw_error refusal = SLW_ERROR_INIT;
    refusal.code = SLW_E_TARGET_MISMATCH;
    slw_digest digest = {{0}};
    for (uint32_t i = 0; i < 1000; i++) {
        memcpy(digest.bytes, &i, sizeof i);
        slwi_device_remember_failure(w.device, &digest, &refusal);
        slwi_device_remember_failure(w.device, &digest, &refusal); /* once is enough */
    }
    ck_assert_uint_eq(world_counts(&w).failures_remembered, 256);
    slwi_module *module = NULL;
    ck_assert_int_eq(slwi_module_find(w.device, &digest, &module, &w.err), SLW_E_TARGET_MISMATCH);
    memset(digest.bytes, 0, sizeof digest.bytes);
    ck_assert_int_eq(slwi_module_find(w.device, &digest, &module, NULL), SLW_E_MISS); /* the oldest is forgotten */
    world_close(&w);
}
END_TEST

/* ---- Closing in any order ---------------------------------------------------------------------------------- */

/* Pitfall 25. */
START_TEST(pitfall_25_module_keeps_its_device) {
    world w;
    world_open(&w, _i, NULL);
    slwi_module *module = world_load(&w, w.pair);
    slwi_module *other = world_load(&w, w.other);
    slw_device *same = slwi_device_retain(w.device);
    slw_device_close(&w.device);
    slw_device_close(&same);
    uint64_t sum = 0;
    ck_assert_int_eq(world_launch(&w, module, world_function(&w, module, "first"), 10, &sum), SLW_OK);
    ck_assert_uint_eq(sum, w.runs ? 55 : 0);
    slwi_release(other);
    if (w.subject == SUBJECT_NULL) ck_assert_uint_eq(atomic_load(&w.null.closes), 0);
    slwi_module_unload_or_release(&module); /* the last of all: unloads both and closes */
    if (w.subject == SUBJECT_NULL) ck_assert_uint_eq(atomic_load(&w.null.closes), 1);
    world_close(&w);
}
END_TEST

typedef struct counted {
    slwi_ref ref;
    int *destroyed;
} counted;

static void count_destroy(slwi_ref *self) {
    (*((counted *)self)->destroyed)++;
}

START_TEST(owner_lives_as_long_as_the_module) {
    world w;
    world_open(&w, _i, NULL);
    int destroyed = 0;
    counted owner = {.destroyed = &destroyed};
    slwi_ref_init(&owner.ref, count_destroy);
    slwi_module *module = NULL;
    slt_ok(slwi_module_load(w.device, &w.pair->image, &owner.ref, &module, &w.err), &w.err);
    slwi_release(&owner);
    ck_assert_int_eq(destroyed, 0);
    slwi_release(module); /* retired is loaded */
    ck_assert_int_eq(destroyed, 0);
    module = world_load(&w, w.pair);
    slwi_module_unload_or_release(&module);
    ck_assert_int_eq(destroyed, 1);
    world_close(&w);
}
END_TEST

/* ---- Memory and streams ------------------------------------------------------------------------------------ */

START_TEST(memory_goes_in_and_comes_out) {
    world w;
    world_open(&w, _i, NULL);
    char text[] = "through the device", back[sizeof text] = "";
    slw_device_address address = 0;
    slt_ok(slw_device_alloc(w.device, sizeof text, &address, &w.err), &w.err);
    slt_ok(slw_device_copy_in(w.device, address, text, sizeof text, &w.err), &w.err);
    slt_ok(slw_device_copy_out(w.device, back, address, sizeof back, &w.err), &w.err);
    ck_assert_str_eq(back, text);
    slt_ok(slw_device_copy_in(w.device, 0, NULL, 0, &w.err), &w.err);
    ck_assert_int_eq(slw_device_copy_in(w.device, 0, text, 1, &w.err), SLW_E_USAGE);
    ck_assert_int_eq(slw_device_copy_out(w.device, NULL, address, 1, &w.err), SLW_E_USAGE);
    ck_assert_int_eq(slw_device_copy_out(w.device, back, address, UINT64_MAX, &w.err), SLW_E_USAGE);
    slt_ok(slw_device_free(w.device, &address, &w.err), &w.err);
    ck_assert_uint_eq(address, 0);
    slt_ok(slw_device_free(w.device, &address, &w.err), &w.err);
    ck_assert_int_eq(slw_device_alloc(w.device, 0, &address, &w.err), SLW_E_USAGE);
    ck_assert_int_eq(slw_device_alloc(w.device, 8, NULL, &w.err), SLW_E_USAGE);
    ck_assert_int_eq(slw_device_free(w.device, NULL, &w.err), SLW_E_USAGE);
    if (w.runs) ck_assert_int_eq(slw_device_alloc(w.device, UINT64_MAX, &address, &w.err), SLW_E_NO_MEMORY);
    ck_assert_uint_eq(address, 0);
    world_close(&w);
}
END_TEST

START_TEST(streams_come_and_go) {
    world w;
    world_open(&w, _i, NULL);
    slw_stream a = SLW_STREAM_DEFAULT, b = SLW_STREAM_DEFAULT;
    slt_ok(slw_device_stream_create(w.device, &a, &w.err), &w.err);
    slt_ok(slw_device_stream_create(w.device, &b, &w.err), &w.err);
    ck_assert_ptr_nonnull(a.native);
    ck_assert_ptr_ne(a.native, b.native);
    slt_ok(slw_device_synchronize(w.device, &a, &w.err), &w.err);
    slt_ok(slw_device_synchronize(w.device, NULL, &w.err), &w.err);
    slt_ok(slwi_device_wait_idle(w.device, a, 0, &w.err), &w.err);
    slt_ok(slw_device_stream_destroy(w.device, &a, &w.err), &w.err);
    ck_assert_ptr_null(a.native);
    slt_ok(slw_device_stream_destroy(w.device, &a, &w.err), &w.err); /* the default stream stays */
    slt_ok(slw_device_stream_destroy(w.device, &b, &w.err), &w.err);
    ck_assert_int_eq(slw_device_stream_create(w.device, NULL, &w.err), SLW_E_USAGE);
    ck_assert_int_eq(slw_device_stream_destroy(w.device, NULL, &w.err), SLW_E_USAGE);
    world_close(&w);
}
END_TEST

/* ---- Forks ------------------------------------------------------------------------------------------------- */

#define CHILD_CHECK(condition)                                                                                         \
    do {                                                                                                               \
        if (!(condition)) _exit(__LINE__ % 200 + 1);                                                                   \
    } while (0)

/* A device of the child's own works, forks of the child too. */
static void in_child_with_its_own(world *w, slw_error *err) {
    uint64_t sum = 0;
    world own;
    world_open(&own, w->subject, NULL);
    slwi_module *mine = world_load(&own, own.pair);
    CHILD_CHECK(world_launch(&own, mine, world_function(&own, mine, "first"), CHILD_BLOCKS, &sum) == SLW_OK);
    CHILD_CHECK(sum == (own.runs ? CHILD_BLOCKS * (CHILD_BLOCKS + 1u) / 2u : 0u));
    const pid_t grandchild = fork();
    if (grandchild == 0) _exit(slwi_device_check(own.device, err) == SLW_E_FORKED ? 0 : 1);
    int status = 1;
    CHILD_CHECK(waitpid(grandchild, &status, 0) == grandchild && status == 0);
    slwi_release(mine);
    world_close(&own);
}

/* What a vendor's library refuses to a child is refused before it is asked. */
static void in_child_of_a_gpu(world *w) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_device *own = NULL;
    slw_error err = SLW_ERROR_INIT;
    slt_double_use(&w->double_, &options);
    CHILD_CHECK(slw_device_open(&options, &own, &err) == SLW_E_FORKED && own == NULL && err.code == SLW_E_FORKED);
}

/* Pitfall 18: nothing is unloaded, nothing hangs, everything says FORKED; also where a pool is parked. */
static void in_child(world *w, slt_heap *heap, slwi_module *module, void *function) {
    alarm(60);
    uint64_t sum = 0;
    slw_device_info info = SLW_DEVICE_INFO_INIT;
    slw_device_counts counts = SLW_DEVICE_COUNTS_INIT;
    slw_device_address address = 0;
    slw_stream stream = SLW_STREAM_DEFAULT;
    slwi_module *found = NULL;
    uint64_t size = 0;
    slw_error *err = &w->err;
    CHILD_CHECK(world_launch(w, module, function, 64, &sum) == SLW_E_FORKED && sum == 0);
    CHILD_CHECK(slw_device_describe(w->device, &info, err) == SLW_E_FORKED);
    CHILD_CHECK(slw_device_get_counts(w->device, &counts, err) == SLW_E_FORKED);
    CHILD_CHECK(slw_device_alloc(w->device, 8, &address, err) == SLW_E_FORKED);
    CHILD_CHECK(slw_device_copy_in(w->device, 8, &sum, 8, err) == SLW_E_FORKED);
    CHILD_CHECK(slw_device_copy_out(w->device, &sum, 8, 8, err) == SLW_E_FORKED);
    CHILD_CHECK(slw_device_free(w->device, &size, err) == SLW_E_FORKED);
    CHILD_CHECK(slw_device_stream_create(w->device, &stream, err) == SLW_E_FORKED);
    CHILD_CHECK(slw_device_stream_destroy(w->device, &stream, err) == SLW_E_FORKED);
    CHILD_CHECK(slw_device_synchronize(w->device, NULL, err) == SLW_E_FORKED);
    CHILD_CHECK(slwi_device_wait_idle(w->device, stream, 0, err) == SLW_E_FORKED);
    CHILD_CHECK(slwi_module_find(w->device, &w->pair->image.sha256, &found, err) == SLW_E_FORKED);
    CHILD_CHECK(slwi_module_load(w->device, &w->pair->image, NULL, &found, err) == SLW_E_FORKED);
    CHILD_CHECK(slwi_module_global(module, world_global(w), &address, &size, err) == SLW_E_FORKED);
    CHILD_CHECK(slwi_device_check(w->device, err) == SLW_E_FORKED && err->code == SLW_E_FORKED);
    slwi_device_forget_failure(w->device, &w->broken->image.sha256);
    if (w->gpu != NULL) {
        in_child_of_a_gpu(w);
    } else {
        in_child_with_its_own(w, err);
    }
    slt_fault_os_install(NULL);
    slwi_release(module);
    slw_device_close(&w->device);
    CHILD_CHECK(slt_fault_os_count(SLT_DL_CLOSE) == 0 && slt_fault_os_count(SLT_CLOSE) == 0);
    CHILD_CHECK(heap->live_blocks == 0);
    CHILD_CHECK(atomic_load(&w->null.unloads) == 0 && atomic_load(&w->null.closes) == 0);
    CHILD_CHECK(w->subject != SUBJECT_NULL || atomic_load(&w->null.forked_closes) == 1);
    CHILD_CHECK(w->gpu == NULL || w->double_.control->count(NULL) == 0); /* the vendor's library heard nothing */
    _exit(0);
}

START_TEST(pitfall_18_a_forked_child_is_told_so) {
    world w;
    slt_heap heap;
    slt_heap_init(&heap);
    world_open(&w, _i, &heap.allocator);
    slwi_module *module = world_load(&w, w.pair);
    slwi_release(world_load(&w, w.other));
    slwi_module *none = NULL;
    ck_assert_int_eq(world_load_broken(&w, &none), SLW_E_INVALID_BINARY);
    void *function = world_function(&w, module, "first");
    uint64_t sum = 0;
    ck_assert_int_eq(world_launch(&w, module, function, 64, &sum), SLW_OK); /* the pool runs */
    slt_wait_threads_asleep();                                              /* and is parked */
    if (w.gpu != NULL) w.double_.control->log_clear();
    const pid_t child = fork();
    if (child == 0) in_child(&w, &heap, module, function);
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(status == 0, "the child ended with %#x", status);
    sum = 0;
    ck_assert_int_eq(world_launch(&w, module, function, 64, &sum), SLW_OK);
    ck_assert_uint_eq(sum, w.runs ? 2080 : 0);
    slwi_release(module);
    world_close(&w);
    slt_heap_check_empty(&heap);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("driver");
    TCase *tcase = tcase_create("conformance");
    tcase_set_timeout(tcase, 180);
    tcase_add_loop_test(tcase, describes_itself, 0, SUBJECTS);
    tcase_add_loop_test(tcase, load_and_unload_balance, 0, SUBJECTS);
    tcase_add_loop_test(tcase, pitfall_12_last_release_retires_and_find_revives, 0, SUBJECTS);
    tcase_add_loop_test(tcase, pitfall_15_one_module_several_functions, 0, SUBJECTS);
    tcase_add_loop_test(tcase, globals_by_name, 0, SUBJECTS);
    tcase_add_loop_test(tcase, failure_of_the_image_is_remembered, 0, SUBJECTS);
    tcase_add_loop_test(tcase, failures_are_remembered_in_bounds, 0, SUBJECTS);
    tcase_add_loop_test(tcase, pitfall_25_module_keeps_its_device, 0, SUBJECTS);
    tcase_add_loop_test(tcase, owner_lives_as_long_as_the_module, 0, SUBJECTS);
    tcase_add_loop_test(tcase, memory_goes_in_and_comes_out, 0, SUBJECTS);
    tcase_add_loop_test(tcase, streams_come_and_go, 0, SUBJECTS);
    tcase_add_loop_test(tcase, pitfall_18_a_forked_child_is_told_so, 0, SUBJECTS);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
