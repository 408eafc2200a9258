/* What is HIP's own among the drivers' rules, on the double: the thread's last error, hidden parameters, the bound that
 * is told as a crash, the image's pages, kernels that a release does not measure. The suite for all drivers has the
 * rest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "drivers.h"
#include "fault_alloc.h"
#include "gpu_world.h"
#include "hip_driver.h"

static slw_error err;
static slt_double d;
static slt_heap heap;
static void *state;
static slw_device_info info;
static slt_image *pair;
static void *module;
static int (*raw_set_device)(int);
static int (*raw_get_device)(int *);
static int (*raw_last_error)(void);
static int (*raw_peek)(void);

#define FIND(place, name)                                                                                              \
    do {                                                                                                               \
        void *const found_ = slt_double_symbol(&d, name);                                                              \
        memcpy(&(place), &found_, sizeof found_);                                                                      \
    } while (0)

static void find_double(void) {
    slt_heap_init(&heap);
    err = (slw_error)SLW_ERROR_INIT;
    slt_double_open(&d, "hip");
    FIND(raw_set_device, "hipSetDevice");
    FIND(raw_get_device, "hipGetDevice");
    FIND(raw_last_error, "hipGetLastError");
    FIND(raw_peek, "hipPeekAtLastError");
}

static slw_code open_state(uint32_t ordinal) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slt_double_use(&d, &options);
    options.allocator = heap.allocator;
    options.ordinal = ordinal;
    info = (slw_device_info)SLW_DEVICE_INFO_INIT;
    return slwi_hip_driver.open(&options, &state, &info, &err);
}

static slw_code load(slt_image *image, int *at_fault) {
    return slwi_hip_driver.load(state, &image->image, &module, at_fault, &err);
}

static void start(void) {
    int at_fault = 0;
    find_double();
    slt_ok(open_state(0), &err);
    pair = slt_gpu_pair("gfx942");
    slt_ok(load(pair, &at_fault), &err);
}

static void stop(void) {
    if (module != NULL) slwi_hip_driver.unload(state, module, 0);
    if (state != NULL) slwi_hip_driver.close(state, 0);
    if (pair != NULL) slt_image_free(pair);
    slt_heap_check_empty(&heap);
    slt_double_check(&d);
}

static void *function_of(const slw_kernel_contract *kernel, slw_function_attributes *out) {
    void *function = NULL;
    slt_ok(slwi_hip_driver.function(state, module, kernel, &function, out, &err), &err);
    return function;
}

static slw_driver_launch launch_of(uint32_t blocks, uint32_t threads, void **params, uint32_t count) {
    return (slw_driver_launch){.size = sizeof(slw_driver_launch),
                               .blocks = {blocks, 1, 1},
                               .block = {threads, 1, 1},
                               .cluster = {1, 1, 1},
                               .params = params,
                               .param_count = count};
}

/* The kernel of that name of the pair, to be changed by a test before its first use. */
static slw_kernel_contract *kernel_of(const char *name) {
    return (slw_kernel_contract *)(uintptr_t)slt_image_kernel(pair, name);
}

/* ---- The last error --------------------------------------------------------------------------------------------- */

/* device.md G 39: what fails inside us is not found by the caller's own question. */
START_TEST(our_failures_leave_no_last_error) {
    void *function = NULL;
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    slw_device_address address = 0;
    uint64_t size = 0;
    start();
    const slw_kernel_contract nobody = {.name = "nobody", .ctas = 1};
    ck_assert_int_eq(slwi_hip_driver.function(state, module, &nobody, &function, &attributes, &err), SLW_E_MISS);
    ck_assert_int_eq(slwi_hip_driver.global(state, module, "nobody", &address, &size, &err), SLW_E_MISS);
    ck_assert_int_eq(raw_peek(), 0);
    ck_assert_int_eq(slwi_hip_driver.alloc(state, UINT64_C(1) << 60, &address, &err), SLW_E_NO_MEMORY);
    ck_assert_int_eq(raw_peek(), 0);
    d.control->inject("hipStreamCreateWithFlags", 1, 999, 1);
    slw_stream stream = SLW_STREAM_DEFAULT;
    err = (slw_error)SLW_ERROR_INIT;
    d.control->log_clear();
    ck_assert_int_eq(slwi_hip_driver.stream_create(state, &stream, &err), SLW_E_DRIVER);
    ck_assert_uint_eq(d.control->count("hipGetLastError"), 1);
    ck_assert_int_eq(raw_peek(), 0);
    stop();
}
END_TEST

/* And what failed before is the caller's: not taken for ours, and left to be found. */
START_TEST(the_callers_last_error_is_the_callers) {
    slw_device_address address = 0;
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    start();
    ck_assert_int_ne(raw_set_device(99), 0);
    const int mine = raw_peek();
    ck_assert_int_ne(mine, 0);
    d.control->log_clear();
    slt_ok(slwi_hip_driver.alloc(state, 64, &address, &err), &err);
    (void)function_of(slt_image_kernel(pair, "first"), &attributes);
    slt_ok(slwi_hip_driver.free(state, address, &err), &err);
    ck_assert_uint_eq(d.control->count("hipGetLastError"), 0);
    ck_assert_int_eq(raw_last_error(), mine);
    stop();
}
END_TEST

/* ---- Functions -------------------------------------------------------------------------------------------------- */

START_TEST(figures_that_are_not_measured_are_the_metadatas) {
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    start();
    slw_kernel_contract *const kernel = kernel_of("second");
    kernel->registers = 33;
    kernel->local_bytes = 44;
    kernel->max_threads = 256;
    d.control->inject("hipFuncGetAttribute", 1, 801, 4);
    (void)function_of(kernel, &attributes);
    ck_assert_uint_eq(attributes.registers, 33);
    ck_assert_uint_eq(attributes.local_bytes, 44);
    ck_assert_uint_eq(attributes.static_shared_bytes, 64);
    ck_assert_uint_eq(attributes.max_threads, 256);
    ck_assert_int_eq(raw_peek(), 0);
    stop();
}
END_TEST

/* Any other refusal is one, and the next try finds the kernel. */
START_TEST(failed_first_use_may_be_tried_again) {
    void *function = NULL;
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    start();
    const slw_kernel_contract *const kernel = slt_image_kernel(pair, "first");
    d.control->inject("hipFuncGetAttribute", 3, 1, 1);
    ck_assert_int_eq(slwi_hip_driver.function(state, module, kernel, &function, &attributes, &err), SLW_E_DRIVER);
    ck_assert_str_eq(err.kernel, "first");
    ck_assert_ptr_null(function);
    err = (slw_error)SLW_ERROR_INIT;
    ck_assert_ptr_nonnull(function_of(kernel, &attributes));
    d.control->log_clear();
    (void)function_of(kernel, &attributes);
    ck_assert_uint_eq(d.control->count(NULL), 0);
    stop();
}
END_TEST

/* HIP reads the visible parameters only, which come first. */
START_TEST(hidden_parameters_come_last_or_not_at_all) {
    static const slw_param last[] = {{.size_bytes = 8},
                                     {.offset_bytes = 8, .size_bytes = 4, .role = SLW_ROLE_HIDDEN},
                                     {.offset_bytes = 12, .size_bytes = 4, .role = SLW_ROLE_HIDDEN}};
    static const slw_param between[] = {{.size_bytes = 8, .role = SLW_ROLE_HIDDEN},
                                        {.offset_bytes = 8, .size_bytes = 8}};
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    void *function = NULL;
    slw_device_address sum = 0;
    uint64_t value = 0, zero = 0;
    start();
    slw_kernel_contract *const first = kernel_of("first"), *const second = kernel_of("second");
    const slw_kernel_contract was_first = *first, was_second = *second;
    first->params = last;
    first->param_count = 3;
    second->params = between;
    second->param_count = 2;
    slt_ok(slwi_hip_driver.alloc(state, 8, &sum, &err), &err);
    slt_ok(slwi_hip_driver.copy_in(state, sum, &value, 8, &err), &err);
    void *params[] = {&sum, &zero, &zero};
    const slw_driver_launch launch = launch_of(4, 32, params, 3);
    slt_ok(slwi_hip_driver.launch(state, function_of(first, &attributes), &launch, &err), &err);
    slt_ok(slwi_hip_driver.copy_out(state, &value, sum, 8, &err), &err);
    ck_assert_uint_eq(value, 1 + 2 + 3 + 4);
    ck_assert_int_eq(slwi_hip_driver.function(state, module, second, &function, &attributes, &err), SLW_E_UNSUPPORTED);
    ck_assert_str_eq(err.reason, "HIDDEN_ORDER");
    slt_ok(slwi_hip_driver.free(state, sum, NULL), &err);
    *first = was_first;
    *second = was_second;
    stop();
}
END_TEST

/* ---- Launches --------------------------------------------------------------------------------------------------- */

/* device.md B.5: 719 for a block that is too large, though nothing ran. */
START_TEST(too_many_threads_lose_no_device) {
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    uint64_t sum = 0;
    void *params[] = {&sum};
    start();
    slwi_hip_function *const function = function_of(slt_image_kernel(pair, "first"), &attributes);
    ck_assert_uint_ge(attributes.max_threads, 32);
    function->max_threads = 100;
    shape.block[0] = 10;
    shape.block[1] = 10;
    shape.block[2] = 1;
    slt_ok(slwi_hip_driver.prepare(state, function, function->kernel, &shape, &err), &err);
    shape.block[2] = 2;
    ck_assert_int_eq(slwi_hip_driver.prepare(state, function, function->kernel, &shape, &err), SLW_E_OUT_OF_RESOURCES);
    ck_assert_str_eq(err.resource, "threads per block");
    ck_assert_uint_eq(err.required, 200);
    ck_assert_uint_eq(err.limit, 100);
    err = (slw_error)SLW_ERROR_INIT;
    d.control->inject("hipModuleLaunchKernel", 1, 719, 2);
    slw_driver_launch launch = launch_of(1, 101, params, 1);
    ck_assert_int_eq(slwi_hip_driver.launch(state, function, &launch, &err), SLW_E_OUT_OF_RESOURCES);
    ck_assert_int_eq(raw_peek(), 0);
    launch.block[0] = 100; /* within the bound: then it is a crash */
    err = (slw_error)SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_hip_driver.launch(state, function, &launch, &err), SLW_E_LOST);
    ck_assert_str_eq(err.raw_name, "hipErrorLaunchFailure");
    stop();
}
END_TEST

START_TEST(shapes_are_checked_without_asking) {
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    start();
    const slw_kernel_contract *const kernel = slt_image_kernel(pair, "second"); /* 64 bytes of its own */
    void *const function = function_of(kernel, &attributes);
    ck_assert_uint_eq(attributes.static_shared_bytes, 64);
    shape.block[0] = 32;
    shape.block[1] = shape.block[2] = 1;
    shape.shared_bytes = info.max_shared_bytes - 64;
    d.control->log_clear();
    slt_ok(slwi_hip_driver.prepare(state, function, kernel, &shape, &err), &err);
    shape.flags = SLW_LAUNCH_PROGRAMMATIC; /* leave that is not taken */
    slt_ok(slwi_hip_driver.prepare(state, function, kernel, &shape, &err), &err);
    shape.shared_bytes++;
    ck_assert_int_eq(slwi_hip_driver.prepare(state, function, kernel, &shape, &err), SLW_E_OUT_OF_RESOURCES);
    ck_assert_str_eq(err.resource, "shared memory");
    ck_assert_uint_eq(err.required, (uint64_t)info.max_shared_bytes + 1);
    shape.shared_bytes = 0;
    shape.cluster[0] = 2;
    shape.cluster[1] = shape.cluster[2] = 1;
    err = (slw_error)SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_hip_driver.prepare(state, function, kernel, &shape, &err), SLW_E_UNSUPPORTED);
    ck_assert_str_eq(err.reason, "NO_CLUSTERS");
    ck_assert_uint_eq(d.control->count(NULL), 0);
    stop();
}
END_TEST

START_TEST(cooperative_launches_have_their_own_call) {
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    slw_device_address sum = 0;
    uint64_t blocks = 0, clusters = 0, value = 0;
    start();
    const slw_kernel_contract *const kernel = slt_image_kernel(pair, "first");
    void *const function = function_of(kernel, &attributes);
    ck_assert_uint_eq(info.cooperative, 1);
    shape.block[0] = 64;
    shape.block[1] = shape.block[2] = 1;
    shape.cooperative = 1;
    slt_ok(slwi_hip_driver.prepare(state, function, kernel, &shape, &err), &err);
    slt_ok(slwi_hip_driver.occupancy(state, function, kernel, &shape, &blocks, &clusters, &err), &err);
    ck_assert_uint_gt(blocks, 0);
    ck_assert_uint_eq(blocks % info.multiprocessors, 0); /* of a unit, times the units */
    ck_assert_uint_eq(clusters, UINT64_MAX);
    slt_ok(slwi_hip_driver.alloc(state, 8, &sum, &err), &err);
    slt_ok(slwi_hip_driver.copy_in(state, sum, &value, 8, &err), &err);
    void *params[] = {&sum};
    slw_driver_launch launch = launch_of(2, 64, params, 1);
    launch.cooperative = 1;
    d.control->log_clear();
    slt_ok(slwi_hip_driver.launch(state, function, &launch, &err), &err);
    ck_assert_uint_eq(d.control->count("hipModuleLaunchCooperativeKernel"), 1);
    ck_assert_uint_eq(d.control->count("hipModuleLaunchKernel"), 0);
    slt_ok(slwi_hip_driver.copy_out(state, &value, sum, 8, &err), &err);
    ck_assert_uint_eq(value, 3);
    slt_ok(slwi_hip_driver.free(state, sum, &err), &err);
    stop();
}
END_TEST

START_TEST(older_releases_lack_abilities_only) {
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    slw_device_address address = 0;
    uint64_t blocks = 0, clusters = 0, size = 0;
    find_double();
    d.control->hide("hipModuleLaunchCooperativeKernel");
    d.control->hide("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
    d.control->hide("hipModuleGetGlobal");
    d.control->hide("hipThreadExchangeStreamCaptureMode");
    d.control->hide("hipGetDevicePropertiesR0600"); /* the structure of 5.x */
    slt_ok(open_state(0), &err);
    ck_assert_ptr_eq(strstr(info.target, "gfx942"), info.target);
    ck_assert_uint_eq(info.cooperative, 0);
    pair = slt_gpu_pair("gfx942");
    int at_fault = 0;
    slt_ok(load(pair, &at_fault), &err);
    const slw_kernel_contract *const kernel = slt_image_kernel(pair, "first");
    void *const function = function_of(kernel, &attributes);
    shape.block[0] = 64;
    shape.block[1] = shape.block[2] = 1;
    slt_ok(slwi_hip_driver.occupancy(state, function, kernel, &shape, &blocks, &clusters, &err), &err);
    ck_assert_uint_eq(blocks, UINT64_MAX);
    ck_assert_uint_eq(clusters, UINT64_MAX);
    shape.cooperative = 1;
    ck_assert_int_eq(slwi_hip_driver.prepare(state, function, kernel, &shape, &err), SLW_E_UNSUPPORTED);
    ck_assert_str_eq(err.reason, "OLD_DRIVER");
    err = (slw_error)SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_hip_driver.global(state, module, "slt_counter", &address, &size, &err), SLW_E_UNSUPPORTED);
    stop();
}
END_TEST

/* ---- Modules ---------------------------------------------------------------------------------------------------- */

/* device.md G 34 and 35: the double refuses bytes with a file behind them, and bytes that change or go. */
START_TEST(image_may_lie_in_a_file_and_end_with_the_load) {
    int at_fault = 0;
    find_double();
    slt_ok(open_state(0), &err);
    pair = slt_gpu_pair("gfx942");
    size_t size = 0;
    char *const bytes = slt_read_file(slt_fixture("doubles/pair_gfx942.hsaco"), &size);
    const char *const path = slt_path(slt_scratch(), "with a blank.hsaco", NULL);
    slt_write_file(path, bytes, size, 0644);
    FILE *const file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    void *const mapped = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    ck_assert_ptr_ne(mapped, MAP_FAILED);
    fclose(file);
    slt_shell("rm '%s'", path);
    pair->image.bytes = (slw_bytes){mapped, size};
    slt_ok(load(pair, &at_fault), &err);
    munmap(mapped, size);
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    (void)function_of(slt_image_kernel(pair, "first"), &attributes);
    free(bytes);
    stop();
}
END_TEST

START_TEST(images_are_checked_before_hip_sees_them) {
    int at_fault = 0;
    start();
    slt_image *const bad = slt_image_of_bytes("\177ELF and no more", 16, "first");
    bad->contract.kind = SLW_IMAGE_HSACO;
    void *const was = module;
    d.control->log_clear();
    ck_assert_int_eq(load(bad, &at_fault), SLW_E_INVALID_BINARY);
    ck_assert_int_eq(at_fault, 1);
    ck_assert_ptr_eq(module, was);
    ck_assert_uint_eq(d.control->count(NULL), 0);
    slt_image_free(bad);
    stop();
}
END_TEST

/* A sick device blames nobody's image (pitfall 13). */
START_TEST(pitfall_13_image_is_blamed_by_a_healthy_device) {
    int at_fault = 0;
    find_double();
    slt_ok(open_state(0), &err);
    pair = slt_gpu_pair("gfx942");
    static const int blaming[] = {200, 209, 218};
    d.control->inject("hipModuleLoadData", 1, blaming[_i], 2);
    ck_assert_int_ne(load(pair, &at_fault), SLW_OK);
    ck_assert_int_eq(err.raw_code, blaming[_i]);
    ck_assert_int_eq(at_fault, 1);
    d.control->inject("hipModuleLoadData", 1, blaming[_i], 1);
    d.control->inject("hipEventCreateWithFlags", 1, 700, 1);
    err = (slw_error)SLW_ERROR_INIT;
    ck_assert_int_eq(load(pair, &at_fault), SLW_E_LOST);
    ck_assert_int_eq(at_fault, 0);
    d.control->inject("hipModuleLoadData", 1, 2, 1);
    err = (slw_error)SLW_ERROR_INIT;
    ck_assert_int_eq(load(pair, &at_fault), SLW_E_NO_MEMORY);
    ck_assert_int_eq(at_fault, 0);
    ck_assert_int_eq(raw_peek(), 0);
    stop();
}
END_TEST

/* Whatever HIP says of an unload, our memory and the image's pages go; and the device that was current is again. */
START_TEST(unload_is_tolerant) {
    static const int said[] = {3, 4, 400, 500, 700, 999};
    int current = -1, at_fault = 0;
    start();
    ck_assert_int_eq(raw_set_device(1), 0);
    d.control->inject("hipModuleUnload", 1, said[_i], 1);
    slwi_hip_driver.unload(state, module, 0);
    ck_assert_int_eq(raw_peek(), 0);
    ck_assert_int_eq(raw_get_device(&current), 0);
    ck_assert_int_eq(current, 1);
    slt_ok(load(pair, &at_fault), &err);
    stop();
}
END_TEST

START_TEST(forked_unload_frees_memory_only) {
    start();
    d.control->log_clear();
    slwi_hip_driver.unload(state, module, 1);
    slwi_hip_driver.close(state, 1);
    ck_assert_uint_eq(d.control->count(NULL), 0);
    module = state = NULL;
    slt_heap_check_empty(&heap);
    slt_image_free(pair);
}
END_TEST

START_TEST(load_survives_every_allocation) {
    find_double();
    slt_ok(open_state(0), &err);
    pair = slt_gpu_pair("gfx942");
    const uint64_t alive = heap.live_blocks;
    for (uint64_t n = 1;; n++) {
        int at_fault = 7;
        slt_heap_reset(&heap);
        heap.fail_at = n;
        const slw_code code = load(pair, &at_fault);
        if (heap.failed == 0) break;
        ck_assert_int_eq(code, SLW_E_NO_MEMORY);
        ck_assert_int_eq(at_fault, 0);
        ck_assert_ptr_null(module);
        ck_assert_uint_eq(heap.live_blocks, alive);
    }
    ck_assert_ptr_nonnull(module);
    stop();
}
END_TEST

int main(void) {
    Suite *const suite = suite_create("hip driver");
    TCase *const tcase = tcase_create("hip");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, our_failures_leave_no_last_error);
    tcase_add_test(tcase, the_callers_last_error_is_the_callers);
    tcase_add_test(tcase, figures_that_are_not_measured_are_the_metadatas);
    tcase_add_test(tcase, failed_first_use_may_be_tried_again);
    tcase_add_test(tcase, hidden_parameters_come_last_or_not_at_all);
    tcase_add_test(tcase, too_many_threads_lose_no_device);
    tcase_add_test(tcase, shapes_are_checked_without_asking);
    tcase_add_test(tcase, cooperative_launches_have_their_own_call);
    tcase_add_test(tcase, older_releases_lack_abilities_only);
    tcase_add_test(tcase, image_may_lie_in_a_file_and_end_with_the_load);
    tcase_add_test(tcase, images_are_checked_before_hip_sees_them);
    tcase_add_loop_test(tcase, pitfall_13_image_is_blamed_by_a_healthy_device, 0, 3);
    tcase_add_loop_test(tcase, unload_is_tolerant, 0, 6);
    tcase_add_test(tcase, forked_unload_frees_memory_only);
    tcase_add_test(tcase, load_survives_every_allocation);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
