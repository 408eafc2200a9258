/* Opening, refusing, losing: what the device does by itself, mostly with the null driver. */
#include <stdlib.h>
#include <string.h>

#include "double_loader.h"
#include "device_image.h"
#include "fault_alloc.h"
#include "modules.h"
#include "null_driver.h"
#include "slt.h"

static slw_error err;

static void expect_refused(const slw_device_options *options, slw_code code) {
    slw_device *device = (slw_device *)(void *)&err; /* must stay as it was */
    err = (slw_error)SLW_ERROR_INIT;
    ck_assert_int_eq(slw_device_open(options, &device, &err), code);
    ck_assert_int_eq(err.code, code);
    ck_assert_ptr_eq(device, (void *)&err);
    ck_assert_int_eq(slw_device_open(options, &device, NULL), code);
}

START_TEST(open_refuses_what_is_wrong) {
    expect_refused(NULL, SLW_E_USAGE);
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    ck_assert_int_eq(slw_device_open(&options, NULL, &err), SLW_E_USAGE);
    options.size--;
    expect_refused(&options, SLW_E_USAGE);
    options = (slw_device_options)SLW_DEVICE_OPTIONS_INIT;
    options.kind = "abacus";
    expect_refused(&options, SLW_E_UNSUPPORTED);
    ck_assert_str_eq(err.subject, "abacus");
    options.kind = "host";
    options.ordinal = 1;
    expect_refused(&options, SLW_E_NO_DEVICE);
    options.ordinal = 0;
    options.driver_library = "libhost.so.1";
    expect_refused(&options, SLW_E_USAGE);
    options.driver_library = NULL;
    options.pool_threads = 100000;
    expect_refused(&options, SLW_E_USAGE);
    ck_assert_uint_eq(err.required, 100000);
    options.pool_threads = 0;
    options.allocator.context = &options; /* half set */
    options.allocator.release = (void (*)(void *, void *))(void (*)(void))abort;
    expect_refused(&options, SLW_E_USAGE);
}
END_TEST

START_TEST(open_refuses_a_driver_with_a_hole) {
    slt_null null;
    slt_null_init(&null);
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slt_null_use(&null, &options);
    options.kind = "host";
    expect_refused(&options, SLW_E_USAGE);
    options.kind = NULL;
    slw_driver_vtable driver = slt_null_driver;
    options.driver = &driver;
    driver.abi++;
    expect_refused(&options, SLW_E_USAGE);
    driver = slt_null_driver;
    driver.size--;
    expect_refused(&options, SLW_E_USAGE);
    driver = slt_null_driver;
    driver.wait_idle = NULL;
    expect_refused(&options, SLW_E_USAGE);
    ck_assert_str_eq(err.reason, "BAD_DRIVER");
    driver = slt_null_driver;
    driver.load = NULL;
    expect_refused(&options, SLW_E_USAGE);
    driver = slt_null_driver;
    driver.prepare = NULL; /* may be absent */
    slw_device *device = NULL;
    slt_ok(slw_device_open(&options, &device, &err), &err);
    slw_device_close(&device);
    slt_null_fail(&null.open, SLW_E_STUB, 2);
    expect_refused(&options, SLW_E_STUB);
    ck_assert_uint_eq(atomic_load(&null.opens), 1);
    ck_assert_uint_eq(atomic_load(&null.closes), 1);
}
END_TEST

START_TEST(examine_names_three_kinds) {
    static const char *const kinds[] = {"host", "cuda", "hip"};
    slw_driver_status status = SLW_DRIVER_STATUS_INIT;
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(slw_driver_examine(i, &status), 1);
        ck_assert_str_eq(status.kind, kinds[i]);
        if (i == 0) ck_assert_int_eq(status.presence, SLW_PRESENCE_YES);
        /* Nobody has initialised one here, so a GPU driver is at most likely to be there, and always says why. */
        if (i > 0) ck_assert_int_ne(status.presence, SLW_PRESENCE_YES);
        if (i > 0) ck_assert_str_ne(status.why, "");
        ck_assert_int_eq(status.code == SLW_OK, status.presence != SLW_PRESENCE_NO);
    }
    ck_assert_int_eq(slw_driver_examine(3, &status), 0);
    ck_assert_int_eq(slw_driver_examine(0, NULL), 0);
    status.size--;
    ck_assert_int_eq(slw_driver_examine(0, &status), 0);
}
END_TEST

/* The library that is named is the one that is told of, for its own kind; what is no such library is none. */
START_TEST(examine_takes_a_library) {
    static const char *const kinds[] = {"cuda", "hip"};
    const char *const absent = "/nonexistent/libdriver.so";
    slw_driver_status status = SLW_DRIVER_STATUS_INIT;
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(slw_driver_examine_library(kinds[i], absent, &status), 1);
        ck_assert_str_eq(status.kind, kinds[i]);
        ck_assert_int_eq(status.presence, SLW_PRESENCE_NO);
        ck_assert_int_eq(status.code, SLW_E_UNAVAILABLE);
        ck_assert_msg(strstr(status.why, absent) != NULL, "%s", status.why);
        slw_driver_status plain = SLW_DRIVER_STATUS_INIT, none = SLW_DRIVER_STATUS_INIT;
        ck_assert_int_eq(slw_driver_examine(i + 1, &plain), 1);
        ck_assert_int_eq(slw_driver_examine_library(kinds[i], NULL, &none), 1);
        ck_assert_int_eq(none.code, plain.code);
        ck_assert_str_eq(none.path, plain.path);
        const char *const path = slt_double_path(kinds[i]);
        if (path == NULL) continue;
        ck_assert_int_eq(slw_driver_examine_library(kinds[i], path, &status), 1);
        ck_assert_msg(status.presence == SLW_PRESENCE_MAYBE, "%s", status.why);
        ck_assert_int_eq(status.code, SLW_OK);
        ck_assert_msg(strstr(status.path, ".so") != NULL, "%s", status.path);
        /* The other vendor's is not this one's. */
        ck_assert_int_eq(slw_driver_examine_library(kinds[1 - i], path, &status), 1);
        ck_assert_int_eq(status.presence, SLW_PRESENCE_NO);
        ck_assert_int_eq(status.code, SLW_E_UNAVAILABLE);
    }
    ck_assert_int_eq(slw_driver_examine_library("host", NULL, &status), 1);
    ck_assert_int_eq(status.presence, SLW_PRESENCE_YES);
    ck_assert_int_eq(slw_driver_examine_library("metal", NULL, &status), 0);
    ck_assert_int_eq(slw_driver_examine_library(NULL, NULL, &status), 0);
    ck_assert_str_eq(status.kind, "host");
}
END_TEST

START_TEST(wrong_objects_are_usage) {
    uint64_t nothing[64] = {0};
    slw_device *device = (slw_device *)(void *)nothing;
    slw_device_info info = SLW_DEVICE_INFO_INIT;
    slw_device_counts counts = SLW_DEVICE_COUNTS_INIT;
    slw_device_address address = 0;
    ck_assert_int_eq(slw_device_describe(device, &info, &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_device_describe(NULL, &info, &err), SLW_E_USAGE);
    ck_assert_ptr_null(slw_device_native_context(device));
    ck_assert_ptr_null(slw_device_native_context(NULL));
    ck_assert_int_eq(slw_device_get_counts(device, &counts, &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_device_alloc(device, 8, &address, &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_device_synchronize(NULL, NULL, &err), SLW_E_USAGE);
    slw_device_close(&device);
    ck_assert_ptr_eq(device, (void *)nothing); /* not ours: left alone */
    slw_device_close(NULL);
    device = NULL;
    slw_device_close(&device);
}
END_TEST

/* ---- LOST -------------------------------------------------------------------------------------------------- */

typedef struct lost_rig {
    slt_null null;
    slw_device *device;
    slt_image *image;
    slwi_module *module;
    void *function;
    slw_driver_launch launch;
} lost_rig;

static void lost_open(lost_rig *r) {
    slt_null_init(&r->null);
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slt_null_use(&r->null, &options);
    r->image = slt_image_of_bytes("some bytes", 10, "k");
    r->launch = (slw_driver_launch){.size = sizeof r->launch, .blocks = {1, 1, 1}, .block = {1, 1, 1}};
    slt_ok(slw_device_open(&options, &r->device, &err), &err);
    slt_ok(slwi_module_load(r->device, &r->image->image, NULL, &r->module, &err), &err);
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    slt_ok(slwi_module_function(r->module, r->image->contract.kernels, &r->function, &attributes, &err), &err);
}

static void lost_close(lost_rig *r) {
    slwi_release(r->module);
    slw_device_close(&r->device);
    ck_assert_uint_eq(atomic_load(&r->null.unloads), 1); /* unloaded though lost: the driver bears it */
    ck_assert_uint_eq(atomic_load(&r->null.closes), 1);
    ck_assert_msg(atomic_load(&r->null.violations) == 0, "%s", r->null.violation);
    slt_image_free(r->image);
}

static void expect_lost(lost_rig *r) {
    const unsigned launches = atomic_load(&r->null.launches);
    const unsigned loads = atomic_load(&r->null.failed_loads);
    slw_device_address address = 0;
    slwi_module *other = NULL;
    err = (slw_error)SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_module_launch(r->module, r->function, &r->launch, &err), SLW_E_LOST);
    ck_assert_str_eq(err.device, "null:0");
    ck_assert_int_eq(slw_device_alloc(r->device, 8, &address, &err), SLW_E_LOST);
    ck_assert_int_eq(slw_device_synchronize(r->device, NULL, &err), SLW_E_LOST);
    ck_assert_int_eq(slwi_module_load(r->device, &r->image->image, NULL, &other, &err), SLW_E_LOST);
    ck_assert_int_eq(slwi_device_check(r->device, &err), SLW_E_LOST);
    ck_assert_uint_eq(atomic_load(&r->null.launches), launches); /* the driver is not asked any more */
    ck_assert_uint_eq(atomic_load(&r->null.failed_loads), loads);
    slw_device_counts counts = SLW_DEVICE_COUNTS_INIT;
    slw_device_info info = SLW_DEVICE_INFO_INIT;
    slt_ok(slw_device_get_counts(r->device, &counts, &err), &err); /* may still be asked about */
    slt_ok(slw_device_describe(r->device, &info, &err), &err);
    ck_assert_uint_eq(counts.failures_remembered, 0);
}

START_TEST(sticky_error_at_launch_loses_the_device) {
    lost_rig r = {0};
    lost_open(&r);
    slt_ok(slwi_module_launch(r.module, r.function, &r.launch, &err), &err);
    slt_null_fail(&r.null.launch, SLW_E_DRIVER, 1); /* any other failure is only that */
    ck_assert_int_eq(slwi_module_launch(r.module, r.function, &r.launch, &err), SLW_E_DRIVER);
    err = (slw_error)SLW_ERROR_INIT;
    slt_ok(slwi_module_launch(r.module, r.function, &r.launch, &err), &err);
    slt_null_fail(&r.null.launch, SLW_E_LOST, 1);
    ck_assert_int_eq(slwi_module_launch(r.module, r.function, &r.launch, &err), SLW_E_LOST);
    expect_lost(&r);
    lost_close(&r);
}
END_TEST

/* Pitfall 13: what surfaces at load is not the image's fault, whatever the driver thinks. */
START_TEST(sticky_error_at_load_is_not_remembered) {
    lost_rig r = {0};
    lost_open(&r);
    slt_image *other = slt_image_of_bytes("other bytes", 11, "k");
    slwi_module *module = NULL;
    atomic_store(&r.null.at_fault, 1);
    slt_null_fail(&r.null.load, SLW_E_LOST, 1);
    ck_assert_int_eq(slwi_module_load(r.device, &other->image, NULL, &module, &err), SLW_E_LOST);
    expect_lost(&r);
    slt_image_free(other);
    lost_close(&r);
}
END_TEST

START_TEST(sticky_error_elsewhere_loses_the_device) {
    static const size_t scripts[] = {offsetof(slt_null, alloc), offsetof(slt_null, stream), offsetof(slt_null, wait),
                                     offsetof(slt_null, function), offsetof(slt_null, prepare)};
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        lost_rig r = {0};
        lost_open(&r);
        slt_null_fail((slt_null_script *)(void *)((char *)&r.null + scripts[i]), SLW_E_LOST, 1);
        slw_device_address address = 0;
        slw_stream stream = SLW_STREAM_DEFAULT;
        slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
        void *function = NULL;
        err = (slw_error)SLW_ERROR_INIT;
        const slw_code codes[] = {slw_device_alloc(r.device, 8, &address, &err),
                                  slw_device_stream_create(r.device, &stream, &err),
                                  slwi_device_wait_idle(r.device, stream, 0, &err),
                                  slwi_module_function(r.module, r.image->contract.kernels, &function, NULL, &err),
                                  slwi_module_prepare(r.module, r.function, r.image->contract.kernels, &shape, &err)};
        for (size_t k = 0; k < sizeof codes / sizeof codes[0]; k++) {
            ck_assert_int_eq(codes[k], k < i ? SLW_OK : SLW_E_LOST);
        }
        expect_lost(&r);
        if (address != 0) free((void *)(uintptr_t)address);
        lost_close(&r);
    }
}
END_TEST

START_TEST(wait_idle_passes_a_timeout_on) {
    lost_rig r = {0};
    lost_open(&r);
    slw_stream stream = SLW_STREAM_DEFAULT;
    slt_null_fail(&r.null.wait, SLW_E_TIMEOUT, 1);
    ck_assert_int_eq(slwi_device_wait_idle(r.device, stream, 0, &err), SLW_E_TIMEOUT);
    err = (slw_error)SLW_ERROR_INIT;
    slt_ok(slwi_device_wait_idle(r.device, stream, 0, &err), &err);
    lost_close(&r);
}
END_TEST

/* Codes that are the moment's, with at_fault 0: never remembered. */
START_TEST(failures_of_the_moment_are_not_remembered) {
    static const slw_code codes[] = {SLW_E_NO_MEMORY, SLW_E_DRIVER, SLW_E_UNAVAILABLE, SLW_E_FORKED, SLW_E_TIMEOUT};
    lost_rig r = {0};
    lost_open(&r);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        slt_image *other = slt_image_of_bytes(&i, sizeof i, "k");
        slwi_module *module = NULL;
        slt_null_fail(&r.null.load, codes[i], 1);
        err = (slw_error)SLW_ERROR_INIT;
        ck_assert_int_eq(slwi_module_load(r.device, &other->image, NULL, &module, &err), codes[i]);
        ck_assert_ptr_null(module);
        err = (slw_error)SLW_ERROR_INIT;
        slt_ok(slwi_module_load(r.device, &other->image, NULL, &module, &err), &err);
        slwi_module_unload_or_release(&module);
        slt_image_free(other);
    }
    slw_device_counts counts = SLW_DEVICE_COUNTS_INIT;
    slt_ok(slw_device_get_counts(r.device, &counts, &err), &err);
    ck_assert_uint_eq(counts.failures_remembered, 0);
    atomic_fetch_sub(&r.null.unloads, 5);
    lost_close(&r);
}
END_TEST

/* ---- Memory ------------------------------------------------------------------------------------------------ */

/* The n-th allocation fails, for every n, from open to close: NO_MEMORY or success, and nothing left. */
START_TEST(every_allocation_may_fail) {
    slt_image *image =
        slt_image_compile_text("#include <slipway/host_kernel.h>\n"
                               "SLW_HOST_KERNEL(k);\n"
                               "void k(const slw_host_block *b, void *const *args) { (void)b; (void)args; }\n",
                               "");
    unsigned met = 0;
    for (uint64_t n = 1;; n++) {
        slt_heap heap;
        slt_heap_init(&heap);
        heap.fail_at = n;
        const int descriptors = slt_open_descriptors();
        slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
        options.allocator = heap.allocator;
        options.pool_threads = 2;
        slw_device *device = NULL;
        slwi_module *module = NULL;
        void *function = NULL;
        slw_code code = slw_device_open(&options, &device, &err);
        if (code == SLW_OK) {
            code = slwi_module_load(device, &image->image, NULL, &module, &err);
            if (code == SLW_OK) {
                const uint64_t before = heap.calls;
                const slw_driver_launch launch = {.size = sizeof launch, .blocks = {64, 1, 1}, .block = {1, 1, 1}};
                slt_ok(slwi_module_function(module, image->contract.kernels, &function, NULL, &err), &err);
                slt_ok(slwi_module_launch(module, function, &launch, &err), &err);
                ck_assert_uint_eq(heap.calls, before); /* the first launch allocates nothing either */
                slwi_module_unload_or_release(&module);
            } else {
                ck_assert_ptr_null(module);
            }
            slw_device_close(&device);
        } else {
            ck_assert_ptr_null(device);
        }
        ck_assert_int_eq(code, heap.failed ? SLW_E_NO_MEMORY : SLW_OK);
        slt_heap_check_empty(&heap);
        ck_assert_int_eq(slt_open_descriptors(), descriptors);
        if (!heap.failed) break;
        met++;
    }
    ck_assert_uint_ge(met, 5); /* device, state, pool, scratch, module, its functions */
    slt_image_free(image);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("device");
    TCase *tcase = tcase_create("device");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, open_refuses_what_is_wrong);
    tcase_add_test(tcase, open_refuses_a_driver_with_a_hole);
    tcase_add_test(tcase, examine_names_three_kinds);
    tcase_add_test(tcase, examine_takes_a_library);
    tcase_add_test(tcase, wrong_objects_are_usage);
    tcase_add_test(tcase, sticky_error_at_launch_loses_the_device);
    tcase_add_test(tcase, sticky_error_at_load_is_not_remembered);
    tcase_add_test(tcase, sticky_error_elsewhere_loses_the_device);
    tcase_add_test(tcase, wait_idle_passes_a_timeout_on);
    tcase_add_test(tcase, failures_of_the_moment_are_not_remembered);
    tcase_add_test(tcase, every_allocation_may_fail);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
