/* Somebody destroys the context under us, and perhaps another is made in its place, at the same address: every transition
   says so, and nothing that died with it is touched. */
#include "gpu_way.h"
#include "modules.h"

static slw_device_loaded *loaded;
static slw_hydrated *hydrated;
static slw_launchable *launchable;
static slw_stream stream;
static slwi_module *module;

/* ---- What is tried afterwards ---------------------------------------------------------------------------------- */

static slw_code load_another(void) {
    slwi_module *fresh = NULL;
    slt_image_renumber(w.pair, 7);
    const slw_code code = slwi_module_load(w.device, &w.pair->image, NULL, &fresh, &w.err);
    ck_assert_ptr_null(fresh);
    return code;
}
/* The table has it: that alone would be no news of the context. */
static slw_code load_again(void) {
    slw_device_loaded *more = NULL;
    const slw_code code = slw_device_load(&hydrated, w.device, &more, &w.err);
    ck_assert_ptr_null(more);
    ck_assert_ptr_nonnull(hydrated);
    return code;
}
static slw_code make_of(const char *entry, uint32_t shared_bytes) {
    slw_launchable *made = NULL;
    const slw_launch_shape shape = shape_of(entry, shared_bytes);
    slw_device_loaded *const before = loaded;
    const slw_code code = slw_make_launchable(&loaded, &shape, &made, &w.err);
    ck_assert_ptr_eq(loaded, before);
    ck_assert_ptr_null(made);
    return code;
}
static slw_code first_use(void) {
    return make_of("second", 0);
}
static slw_code make_again(void) {
    return make_of("first", 0);
}
static slw_code make_again_with_more(void) {
    return make_of("first", 60000);
}
static slw_code attributes_of_an_unused_one(void) {
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    return slw_device_loaded_attributes(loaded, "saxpy", &attributes, &w.err);
}
static slw_code occupancy(void) {
    uint64_t blocks = 0, clusters = 0;
    void *function = NULL;
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    const slw_kernel_contract *const kernel = slt_image_kernel(w.pair, "first");
    slw_launch_shape shape = shape_of("first", 0);
    for (int i = 0; i < 3; i++) shape.cluster[i] = 1;
    const slw_code found = slwi_module_function(module, kernel, &function, &attributes, &w.err);
    if (found != SLW_OK) return found;
    return slwi_module_occupancy(module, function, kernel, &shape, &blocks, &clusters, &w.err);
}
static slw_code global(void) {
    slw_device_address address = 0;
    uint64_t size = 0;
    return slw_device_loaded_global(loaded, "slt_counter", &address, &size, &w.err);
}
static slw_code launch_default(void) {
    return launch(launchable, null_stream);
}
static slw_code launch_on_stream(void) {
    return launch(launchable, stream);
}
static slw_code copy_in(void) {
    uint64_t value = 1;
    return slw_device_copy_in(w.device, w.sum, &value, sizeof value, &w.err);
}
static slw_code copy_out(void) {
    uint64_t value = 1;
    const slw_code code = slw_device_copy_out(w.device, &value, w.sum, sizeof value, &w.err);
    ck_assert_uint_eq(value, 1);
    return code;
}
static slw_code free_it(void) {
    slw_device_address address = w.sum;
    return slw_device_free(w.device, &address, &w.err);
}
static slw_code retire_on(const slw_stream *on) {
    slw_launchable *const before = launchable;
    const slw_code code = slw_launchable_retire(&launchable, on, 1, 0, &w.err);
    ck_assert_ptr_eq(launchable, before);
    return code;
}
static slw_code retire_default(void) {
    return retire_on(&null_stream);
}
static slw_code retire_on_stream(void) {
    return retire_on(&stream);
}
static slw_code synchronize_stream(void) {
    return slw_device_synchronize(w.device, &stream, &w.err);
}
static slw_code destroy_stream(void) {
    slw_stream gone = stream;
    return slw_device_stream_destroy(w.device, &gone, &w.err);
}

/* `violations`: where only reset, and where made again. A launch asks nothing first, so the driver sees a dead function
   (where the context could be pushed), which it knows as such. */
static const struct {
    const char *name;
    slw_code (*run)(void);
    unsigned violations[2];
} tries[] = {
    {"load another", load_another, {0, 0}},
    {"load again", load_again, {0, 0}},
    {"first use", first_use, {0, 0}},
    {"make again", make_again, {0, 0}},
    {"make again with more shared memory", make_again_with_more, {0, 0}},
    {"attributes", attributes_of_an_unused_one, {0, 0}},
    {"occupancy", occupancy, {0, 0}},
    {"global", global, {0, 0}},
    {"launch", launch_default, {0, 1}},
    {"launch on a stream", launch_on_stream, {1, 1}},
    {"copy in", copy_in, {0, 0}},
    {"copy out", copy_out, {0, 0}},
    {"free", free_it, {0, 0}},
    {"retire", retire_default, {0, 0}},
    {"retire on a stream", retire_on_stream, {0, 0}},
    {"synchronize a stream", synchronize_stream, {0, 0}},
    {"destroy a stream", destroy_stream, {0, 0}},
};
#define TRIES ((int)(sizeof tries / sizeof tries[0]))

/* ---- Before and after ------------------------------------------------------------------------------------------ */

static void fill(void) {
    stream = (slw_stream)SLW_STREAM_DEFAULT;
    slt_ok(slw_device_stream_create(w.device, &stream, &w.err), &w.err);
    hydrated = hydrate();
    loaded = load();
    launchable = make("first", 0);
    slt_ok(slwi_module_load(w.device, &w.pair->image, NULL, &module, &w.err), &w.err);
    (void)slwi_module_native(module);
    void *function = NULL;
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    slt_ok(slwi_module_function(module, slt_image_kernel(w.pair, "first"), &function, &attributes, &w.err), &w.err);
    slt_ok(launch(launchable, stream), &w.err);
    w.d.control->log_clear();
}

/* The discards know too: no unload of what is gone, the context released as often as it was retained. */
static void leave(void) {
    slw_launchable_discard(&launchable);
    slw_device_loaded_discard(&loaded);
    slw_hydrated_discard(&hydrated);
    slwi_release(module);
    slw_device_close(&w.device);
    ck_assert_uint_eq(w.d.control->count("cuModuleUnload"), 0);
    ck_assert_uint_eq(w.d.control->count("cuDevicePrimaryCtxRelease"), 1);
    slt_double_check_violations(&w.d);
}

START_TEST(a_reset_is_noticed) {
    const int remade = _i / TRIES, which = _i % TRIES;
    int (*retain)(void **, int) = NULL;
    int (*release)(int) = NULL;
    void *context = NULL;
    start(0);
    find("cuDevicePrimaryCtxRetain", &retain);
    find("cuDevicePrimaryCtxRelease_v2", &release);
    fill();
    w.d.control->lose_context(0);
    if (remade) {
        ck_assert_int_eq(retain(&context, 0), 0);
        ck_assert_ptr_eq(context, slw_device_native_context(w.device)); /* in the same place, another one */
    }
    const slw_code code = tries[which].run();
    ck_assert_msg(code == SLW_E_LOST, "%s: %s %s", tries[which].name, slw_code_name(code), w.err.message);
    ck_assert_str_eq(w.err.reason, "CONTEXT_GONE");
    ck_assert_ptr_nonnull(w.err.hint);
    ck_assert_msg(w.d.control->violations() == tries[which].violations[remade], "%s: %u violations: %s",
                  tries[which].name, w.d.control->violations(), w.d.control->violation(0));
    w.d.control->forgive();
    ck_assert_int_eq(w.d.control->thread_balance(), 0);
    w.d.control->log_clear();
    slw_device_address address = 0;
    ck_assert_int_eq(slw_device_alloc(w.device, 8, &address, &w.err), SLW_E_LOST);
    ck_assert_uint_eq(w.d.control->count(NULL), 0); /* for good, and at once */
    leave();
    if (remade) (void)release(0);
    w.sum = 0;
    stop();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("a context that goes");
    TCase *tcase = tcase_create("context");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_reset_is_noticed, 0, 2 * TRIES);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
