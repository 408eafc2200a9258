/* What the GPU drivers promise beyond what every driver does alike, seen in the doubles' logs and ledgers. */
#include <pthread.h>

#include "gpu_way.h"

/* ---- The launch path ------------------------------------------------------------------------------------------- */

/* These calls and no other, and nothing allocated. */
START_TEST(a_launch_is_one_call) {
    start(_i);
    const int cuda = _i == 0;
    slw_stream stream = SLW_STREAM_DEFAULT;
    slt_ok(slw_device_stream_create(w.device, &stream, &w.err), &w.err);
    slw_launchable *launchable = make("first", 0);
    slt_ok(launch(launchable, null_stream), &w.err);
    slt_heap_reset(&w.heap);
    w.d.control->log_clear();
    slt_ok(launch(launchable, stream), &w.err);
    ck_assert_str_eq(log_text(), cuda ? "cuLaunchKernel " : "hipGetDevice hipModuleLaunchKernel ");
    w.d.control->log_clear();
    slt_ok(launch(launchable, null_stream), &w.err);
    ck_assert_str_eq(log_text(), cuda ? "cuCtxGetCurrent cuCtxPushCurrent cuLaunchKernel cuCtxPopCurrent "
                                      : "hipGetDevice hipModuleLaunchKernel ");
    ck_assert_uint_eq(w.heap.calls, 0);
    slt_ok(slw_device_stream_destroy(w.device, &stream, &w.err), &w.err);
    slw_launchable_discard(&launchable);
    stop();
}
END_TEST

/* The caller's context or device is what it was after every call, whatever that call was. */
START_TEST(what_was_current_is_current) {
    start(_i);
    void *own = NULL, *current = NULL;
    int device = 0;
    slw_stream stream = SLW_STREAM_DEFAULT;
    if (_i == 0) {
        ck_assert_int_eq(context_create(&own, 0, 1), 0);
    } else {
        ck_assert_int_eq(device_set(1), 0);
    }
#define SAME()                                                                                                         \
    do {                                                                                                               \
        if (_i == 0) {                                                                                                 \
            ck_assert_int_eq(current_get(&current), 0);                                                                \
            ck_assert_ptr_eq(current, own);                                                                            \
        } else {                                                                                                       \
            ck_assert_int_eq(device_get(&device), 0);                                                                  \
            ck_assert_int_eq(device, 1);                                                                               \
        }                                                                                                              \
    } while (0)
    uint64_t value = 0;
    slt_ok(slw_device_copy_in(w.device, w.sum, &value, 8, &w.err), &w.err);
    SAME();
    slt_ok(slw_device_stream_create(w.device, &stream, &w.err), &w.err);
    SAME();
    slw_launchable *launchable = make("first", 0);
    SAME();
    slt_ok(launch(launchable, stream), &w.err);
    SAME();
    w.d.control->log_clear();
    slt_ok(launch(launchable, null_stream), &w.err);
    if (_i == 1) ck_assert_str_eq(log_text(), "hipGetDevice hipSetDevice hipModuleLaunchKernel hipSetDevice ");
    SAME();
    slt_ok(slw_device_synchronize(w.device, NULL, &w.err), &w.err);
    SAME();
    slt_ok(slw_device_copy_out(w.device, &value, w.sum, 8, &w.err), &w.err);
    ck_assert_uint_eq(value, 20);
    SAME();
    slt_ok(slw_launchable_retire(&launchable, &stream, 1, 0, &w.err), &w.err);
    SAME();
    slt_ok(slw_device_stream_destroy(w.device, &stream, &w.err), &w.err);
    slt_ok(slw_device_free(w.device, &w.sum, &w.err), &w.err);
    SAME();
    slw_device_close(&w.device);
    SAME();
    if (_i == 0) ck_assert_int_eq(context_destroy(own), 0);
    stop();
}
END_TEST

/* Pitfall 10: as many pointers as the binary has parameters, or none goes to the driver. */
START_TEST(pitfall_10_a_launch_has_a_count) {
    start(_i);
    slw_launchable *launchable = make("saxpy", 0);
    slw_grid grid = SLW_GRID_INIT;
    slw_args args = SLW_ARGS_INIT;
    float a = 2, x[4] = {1, 2, 3, 4}, y[4] = {0};
    int n = 4;
    slw_device_address from = 0, to = 0;
    slt_ok(slw_device_alloc(w.device, 16, &from, &w.err), &w.err);
    slt_ok(slw_device_alloc(w.device, 16, &to, &w.err), &w.err);
    slt_ok(slw_device_copy_in(w.device, from, x, 16, &w.err), &w.err);
    void *values[] = {&a, &from, &to, &n};
    grid.extent[0] = grid.extent[1] = grid.extent[2] = 1;
    args.values = values;
    w.d.control->log_clear();
    for (args.count = 0; args.count < 4; args.count++) {
        ck_assert_int_eq(slw_launch(launchable, &grid, null_stream, &args, &w.err), SLW_E_INVALID_LAUNCH);
    }
    ck_assert_uint_eq(w.d.control->count(NULL), 0);
    slt_ok(slw_launch(launchable, &grid, null_stream, &args, &w.err), &w.err);
    slt_ok(slw_device_copy_out(w.device, y, to, 16, &w.err), &w.err);
    for (int i = 0; i < 4; i++) ck_assert(y[i] == 2 * x[i]);
    slt_ok(slw_device_free(w.device, &from, &w.err), &w.err);
    slt_ok(slw_device_free(w.device, &to, &w.err), &w.err);
    slw_launchable_discard(&launchable);
    stop();
}
END_TEST

/* ---- Shared memory --------------------------------------------------------------------------------------------- */

static void make_and_drop(uint32_t shared_bytes, unsigned raises, long allowed) {
    int (*get)(int *, int, void *) = NULL;
    int limit = 0;
    find("cuFuncGetAttribute", &get);
    w.d.control->log_clear();
    slw_launchable *launchable = make("shared_of_the_launch", shared_bytes);
    ck_assert_uint_eq(w.d.control->count("cuFuncSetAttribute"), raises);
    ck_assert_int_eq(get(&limit, 8, slw_launchable_native_function(launchable)), 0);
    ck_assert_int_eq(limit, allowed);
    slt_ok(launch(launchable, null_stream), &w.err);
    slw_launchable_discard(&launchable);
}

/* Raised when the launch needs more than the function has, to exactly that, never lowered. 16 bytes are static. */
START_TEST(shared_memory_exactly_and_monotonic) {
    start(0);
    make_and_drop(0, 0, 49152 - 16);
    make_and_drop(49152 - 16, 0, 49152 - 16);
    make_and_drop(49152, 1, 49152); /* 48 KiB and one static byte: the case that fails elsewhere */
    make_and_drop(60000, 1, 60000);
    make_and_drop(50000, 0, 60000);
    make_and_drop(232448 - 16, 1, 232448 - 16);
    slw_device_loaded *loaded = load();
    slw_device_loaded *const before = loaded;
    slw_launchable *launchable = NULL;
    const slw_launch_shape shape = shape_of("shared_of_the_launch", 232448 - 15);
    w.d.control->log_clear();
    ck_assert_int_eq(slw_make_launchable(&loaded, &shape, &launchable, &w.err), SLW_E_OUT_OF_RESOURCES);
    ck_assert_ptr_eq(loaded, before);
    ck_assert_uint_eq(w.d.control->count("cuFuncSetAttribute"), 0);
    slw_device_loaded_discard(&loaded);
    stop();
}
END_TEST

/* ---- Modules --------------------------------------------------------------------------------------------------- */

/* Pitfall 12: a module stays loaded under work. */
START_TEST(pitfall_12_unload_waits_for_work) {
    start(_i);
    const char *const unload = slt_gpu_call(w.kind, "unload");
    slw_stream stream = SLW_STREAM_DEFAULT;
    slt_ok(slw_device_stream_create(w.device, &stream, &w.err), &w.err);
    slw_launchable *launchable = make("first", 0);
    slw_launchable *const same = launchable;
    w.d.control->set(DOUBLE_HOLD, 1);
    slt_ok(launch(launchable, stream), &w.err);
    ck_assert_int_eq(slw_launchable_retire(&launchable, &stream, 1, 20000000, &w.err), SLW_E_TIMEOUT);
    ck_assert_ptr_eq(launchable, same);
    ck_assert_uint_eq(w.d.control->count(unload), 0);
    slw_launchable_discard(&launchable); /* retires */
    ck_assert_uint_eq(w.d.control->count(unload), 0);
    ck_assert_int_eq(w.d.control->get(DOUBLE_LIVE_MODULES), 1);
    launchable = make("first", 0); /* revived */
    ck_assert_uint_eq(w.d.control->count(slt_gpu_call(w.kind, "load")), 1);
    w.d.control->set(DOUBLE_HOLD, 0);
    slt_ok(slw_launchable_retire(&launchable, &stream, 1, 0, &w.err), &w.err);
    ck_assert_uint_eq(w.d.control->count(unload), 1);
    ck_assert_int_eq(w.d.control->get(DOUBLE_LIVE_MODULES), 0);
    slt_ok(slw_device_stream_destroy(w.device, &stream, &w.err), &w.err);
    stop();
}
END_TEST

/* A context of the caller's: used and never released; one artifact, two contexts, two modules. */
START_TEST(a_context_of_the_callers) {
    start(0);
    void *own = NULL, *popped = NULL;
    int (*pop)(void **) = NULL;
    find("cuCtxPopCurrent_v2", &pop);
    ck_assert_int_eq(context_create(&own, 0, 0), 0);
    ck_assert_int_eq(pop(&popped), 0);
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_device *second = NULL;
    slt_double_use(&w.d, &options);
    options.native_context = own;
    options.ordinal = 1;
    ck_assert_int_eq(slw_device_open(&options, &second, &w.err), SLW_E_USAGE);
    ck_assert_str_eq(w.err.reason, "OTHER_DEVICE");
    options.ordinal = 0;
    w.d.control->log_clear();
    slt_ok(slw_device_open(&options, &second, &w.err), &w.err);
    ck_assert_ptr_eq(slw_device_native_context(second), own);
    slw_hydrated *hydrated = hydrate(), *same = NULL;
    slw_device_loaded *here = NULL, *there = NULL;
    slt_ok(slw_hydrated_share(hydrated, &same, &w.err), &w.err);
    slt_ok(slw_device_load(&hydrated, w.device, &here, &w.err), &w.err);
    slt_ok(slw_device_load(&same, second, &there, &w.err), &w.err);
    ck_assert_ptr_ne(slw_device_loaded_native_module(here), slw_device_loaded_native_module(there));
    ck_assert_uint_eq(w.d.control->count("cuModuleLoadData"), 2);
    slw_device_loaded_discard(&here);
    slw_device_loaded_discard(&there);
    slw_device_close(&second);
    ck_assert_uint_eq(w.d.control->count("cuDevicePrimaryCtxRetain"), 0);
    ck_assert_uint_eq(w.d.control->count("cuDevicePrimaryCtxRelease"), 0);
    ck_assert_uint_eq(w.d.control->count("cuModuleUnload"), 1);
    ck_assert_int_eq(context_destroy(own), 0);
    stop();
}
END_TEST

/* ---- What never reaches a driver ------------------------------------------------------------------------------- */

START_TEST(other_targets_are_refused_before) {
    start(_i);
    slt_image *const foreign = slt_gpu_pair(slt_gpu_target(w.kind, 1));
    slw_hydrated *hydrated = NULL;
    slw_device_loaded *loaded = NULL;
    slt_ok(slw_hydrate_binary(foreign->image.bytes, "foreign", NULL, NULL, &hydrated, &w.err), &w.err);
    slw_hydrated *const before = hydrated;
    w.d.control->log_clear();
    ck_assert_int_eq(slw_device_load(&hydrated, w.device, &loaded, &w.err), SLW_E_TARGET_MISMATCH);
    ck_assert_ptr_eq(hydrated, before);
    ck_assert_uint_eq(w.d.control->count(slt_gpu_call(w.kind, "load")), 0);
    ck_assert_ptr_nonnull(strstr(w.err.message, slt_gpu_target(w.kind, 0)));
    ck_assert_ptr_nonnull(strstr(w.err.message, slt_gpu_target(w.kind, 1)));
    slw_hydrated_discard(&hydrated);
    slt_image_free(foreign);
    stop();
}
END_TEST

static slw_code load_ptx(uint32_t allowed, const char *add, slw_error *err) {
    slt_image *const text = slt_gpu_pair_ptx();
    const size_t size = text->image.bytes.size + strlen(add);
    char *const bytes = malloc(size + 1);
    memcpy(bytes, text->image.bytes.data, text->image.bytes.size);
    memcpy(bytes + text->image.bytes.size, add, strlen(add));
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_device *device = NULL;
    slw_hydrated *hydrated = NULL;
    slw_device_loaded *loaded = NULL;
    slt_double_use(&w.d, &options);
    options.allow_ptx = allowed;
    slt_ok(slw_device_open(&options, &device, &w.err), &w.err);
    slt_ok(slw_hydrate_binary(((slw_bytes){bytes, size}), "pair.ptx", NULL, NULL, &hydrated, &w.err), &w.err);
    w.d.control->log_clear();
    const slw_code code = slw_device_load(&hydrated, device, &loaded, err);
    slw_hydrated_discard(&hydrated);
    slw_device_loaded_discard(&loaded);
    slw_device_close(&device);
    slt_image_free(text);
    free(bytes);
    return code;
}

START_TEST(ptx_by_policy) {
    start(0);
    char diagnostics[4096] = "";
    slw_error err = SLW_ERROR_INIT;
    ck_assert_int_eq(load_ptx(0, "", &err), SLW_E_TARGET_MISMATCH);
    ck_assert_uint_eq(w.d.control->count("cuModuleLoadData") + w.d.control->count("cuModuleLoadDataEx"), 0);
    slt_ok(load_ptx(1, "", &err), &err);
    ck_assert_uint_eq(w.d.control->count("cuModuleLoadDataEx"), 1);
    err = (slw_error)SLW_ERROR_INIT;
    err.diagnostics = diagnostics;
    err.diagnostics_capacity = sizeof diagnostics;
    ck_assert_int_eq(load_ptx(1, "// not_an_instruction\n", &err), SLW_E_INVALID_PTX);
    ck_assert_ptr_nonnull(strstr(diagnostics, "not_an_instruction")); /* the compiler's log */
    w.d.control->set(DOUBLE_DRIVER_VERSION, 12080);
    ck_assert_int_eq(load_ptx(1, "", &err), SLW_E_TARGET_MISMATCH);
    ck_assert_uint_eq(w.d.control->count("cuModuleLoadDataEx"), 0); /* newer than the driver: known before */
    w.d.control->set(DOUBLE_DRIVER_VERSION, 13000);
    w.d.control->set(DOUBLE_NO_JIT, 1);
    ck_assert_int_eq(load_ptx(1, "", &err), SLW_E_UNSUPPORTED);
    stop();
}
END_TEST

/* ---- Broken devices -------------------------------------------------------------------------------------------- */

START_TEST(a_sticky_error_loses_the_device) {
    start(_i);
    slw_launchable *launchable = make("first", 0);
    w.d.control->set(DOUBLE_STICKY_CODE, _i == 0 ? 719 : 700);
    w.d.control->set(DOUBLE_STICKY_AFTER, 2);
    slt_ok(launch(launchable, null_stream), &w.err);
    slt_ok(launch(launchable, null_stream), &w.err);
    ck_assert_int_eq(slw_device_synchronize(w.device, NULL, &w.err), SLW_E_LOST);
    w.d.control->log_clear();
    ck_assert_int_eq(launch(launchable, null_stream), SLW_E_LOST);
    slw_device_address address = 0;
    ck_assert_int_eq(slw_device_alloc(w.device, 8, &address, &w.err), SLW_E_LOST);
    slw_hydrated *hydrated = hydrate();
    slw_device_loaded *loaded = NULL;
    ck_assert_int_eq(slw_device_load(&hydrated, w.device, &loaded, &w.err), SLW_E_LOST);
    ck_assert_ptr_nonnull(hydrated);
    ck_assert_uint_eq(w.d.control->count(NULL), 0); /* refused at once, the driver is not asked */
    slw_hydrated_discard(&hydrated);
    slw_launchable_discard(&launchable);
    slw_device_close(&w.device); /* a dead context is no reason to fail, or to leave anything */
    ck_assert_int_eq(w.d.control->get(DOUBLE_LIVE_MODULES), 0);
    /* HIP has no context that takes the caller's own memory with it. */
    char left[256];
    ck_assert_uint_eq(w.d.control->outstanding(left, sizeof left), _i == 0 ? 0 : 1);
    ck_assert_str_eq(left, _i == 0 ? "" : "8 bytes of memory\n");
    slt_double_check_violations(&w.d);
    ck_assert_int_eq(w.d.control->thread_balance(), 0);
    slt_image_free(w.pair);
    slt_heap_check_empty(&w.heap);
}
END_TEST

/* The driver has shut itself down, as at the end of a process. */
START_TEST(close_after_the_driver) {
    start(_i);
    slw_launchable *launchable = make("first", 0);
    w.d.control->set(DOUBLE_TORN_DOWN, 1);
    ck_assert_int_eq(launch(launchable, null_stream), SLW_E_LOST);
    ck_assert_str_eq(w.err.reason, "DRIVER_SHUT_DOWN");
    ck_assert_int_eq(w.err.raw_code, 4);
    slw_launchable_discard(&launchable);
    slw_device_close(&w.device);
    ck_assert_ptr_null(w.device);
    slt_double_check_violations(&w.d);
    ck_assert_int_eq(w.d.control->thread_balance(), 0);
    slt_image_free(w.pair);
    slt_heap_check_empty(&w.heap);
}
END_TEST

/* Whatever an unload is answered, the module is gone, nothing is told and the device goes on: what the answer says of
   the device, the next call says too. */
START_TEST(an_unload_is_tolerant) {
    static const int codes[2][5] = {{3, 4, 201, 709, 700}, {3, 4, 400, 500, 700}};
    start(_i);
    const char *const unload = slt_gpu_call(w.kind, "unload");
    for (size_t i = 0; i < sizeof codes[0] / sizeof codes[0][0]; i++) {
        slw_launchable *launchable = make("first", 0);
        slt_ok(launch(launchable, null_stream), &w.err);
        ck_assert_int_eq(w.d.control->inject(unload, 1, codes[_i][i], 1), 1);
        slt_ok(slw_launchable_retire(&launchable, &null_stream, 1, 0, &w.err), &w.err);
        ck_assert_ptr_null(launchable);
        ck_assert_uint_eq(w.d.control->failed(), 1);
        ck_assert_int_eq(w.d.control->get(DOUBLE_LIVE_MODULES), 0);
        ck_assert_int_eq(w.d.control->thread_balance(), 0);
    }
    stop();
}
END_TEST

/* ---- Two devices ----------------------------------------------------------------------------------------------- */

static void *load_on(void *device) {
    slw_error err = SLW_ERROR_INIT;
    slw_device_info info = SLW_DEVICE_INFO_INIT;
    slw_hydrated *hydrated = NULL;
    slw_device_loaded *loaded = NULL;
    slt_ok(slw_device_describe(device, &info, &err), &err);
    info.target[strcspn(info.target, ":")] = '\0';
    slt_image *const pair = slt_gpu_pair(info.target);
    slt_ok(slw_hydrate_binary(pair->image.bytes, "pair", NULL, NULL, &hydrated, &err), &err);
    slt_ok(slw_device_load(&hydrated, device, &loaded, &err), &err);
    slw_device_loaded_discard(&loaded);
    slt_image_free(pair);
    return NULL;
}

START_TEST(two_devices_load_at_once) {
    start(_i);
    slt_double same;
    slw_device *second = NULL;
    pthread_t threads[2];
    slt_gpu_open(&same, w.kind, 1, NULL, &second);
    w.d.control->delay(slt_gpu_call(w.kind, "load"), 1000000);
    ck_assert_int_eq(pthread_create(&threads[0], NULL, load_on, w.device), 0);
    ck_assert_int_eq(pthread_create(&threads[1], NULL, load_on, second), 0);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    ck_assert_int_eq(w.d.control->get(DOUBLE_DELAYED_AT_ONCE), 2);
    slw_device_close(&second);
    stop();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("GPU drivers");
    TCase *tcase = tcase_create("gpu");
    tcase_set_timeout(tcase, 180);
    tcase_add_loop_test(tcase, a_launch_is_one_call, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, what_was_current_is_current, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, pitfall_10_a_launch_has_a_count, 0, GPU_KINDS);
    tcase_add_test(tcase, shared_memory_exactly_and_monotonic);
    tcase_add_loop_test(tcase, pitfall_12_unload_waits_for_work, 0, GPU_KINDS);
    tcase_add_test(tcase, a_context_of_the_callers);
    tcase_add_loop_test(tcase, other_targets_are_refused_before, 0, GPU_KINDS);
    tcase_add_test(tcase, ptx_by_policy);
    tcase_add_loop_test(tcase, a_sticky_error_loses_the_device, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, close_after_the_driver, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, an_unload_is_tolerant, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, two_devices_load_at_once, 0, GPU_KINDS);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
