#include "driver_subject.h"

#include <string.h>

static const char pair_text[] =
    "#include <slipway/host_kernel.h>\n"
    "int slt_counter = 7;\n"
    "SLW_HOST_KERNEL(first, SLW_HOST_PARAM(uint64_t *, sum));\n"
    "SLW_HOST_KERNEL_SHARED(second, 64, SLW_HOST_PARAM(uint64_t *, sum));\n"
    "void first(const slw_host_block *b, void *const *args) {\n"
    "    __atomic_fetch_add(SLW_HOST_ARG(uint64_t *, args, 0), b->index[0] + 1u, __ATOMIC_RELAXED);\n"
    "}\n"
    "void second(const slw_host_block *b, void *const *args) {\n"
    "    uint64_t *mine = b->shared;\n"
    "    *mine = 2u * (b->index[0] + 1u);\n"
    "    __atomic_fetch_add(SLW_HOST_ARG(uint64_t *, args, 0), *mine, __ATOMIC_RELAXED);\n"
    "}\n";

static const char broken_text[] =
    "#include <slipway/host_kernel.h>\n"
    "extern void slt_nobody_defines_this(void);\n"
    "SLW_HOST_KERNEL(first, SLW_HOST_PARAM(uint64_t *, sum));\n"
    "void first(const slw_host_block *b, void *const *args) { (void)b; (void)args; slt_nobody_defines_this(); }\n";

/* Worlds of one process share a double: what is left over shows when the last of them closes. */
static int gpu_worlds;

static void open_gpu(world *w, const slw_allocator *allocator) {
    w->gpu = w->subject == SUBJECT_CUDA ? "cuda" : "hip";
    w->ordinal = (uint32_t)gpu_worlds++;
    const char *const target = slt_gpu_target(w->gpu, w->ordinal);
    w->pair = slt_gpu_pair(target);
    w->other = slt_gpu_pair(target);
    w->broken = slt_gpu_pair(target);
    slt_image_renumber(w->other, 1);
    slt_image_renumber(w->broken, 2);
    slt_gpu_open(&w->double_, w->gpu, w->ordinal, allocator, &w->device);
    w->double_.control->set(DOUBLE_STRICT, 1); /* ends at the call that is wrong, with its stack */
}

static void open_host_or_null(world *w, const slw_allocator *allocator) {
    w->pair = slt_image_compile_text(pair_text, "");
    w->other = slt_image_compile_text(pair_text, "");
    slt_image_renumber(w->other, 1);
    w->broken = slt_image_compile_text(broken_text, "");
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    options.pool_threads = 3;
    if (allocator != NULL) options.allocator = *allocator;
    if (w->subject == SUBJECT_NULL) slt_null_use(&w->null, &options);
    slt_ok(slw_device_open(&options, &w->device, &w->err), &w->err);
}

void world_open(world *w, int subject, const slw_allocator *allocator) {
    memset(w, 0, sizeof *w);
    w->err = (slw_error)SLW_ERROR_INIT;
    w->subject = subject;
    w->runs = subject != SUBJECT_NULL;
    slt_null_init(&w->null);
    if (subject == SUBJECT_CUDA || subject == SUBJECT_HIP) {
        open_gpu(w, allocator);
    } else {
        open_host_or_null(w, allocator);
    }
}

void world_close(world *w) {
    slw_device_close(&w->device);
    ck_assert_ptr_null(w->device);
    slt_image_free(w->pair);
    slt_image_free(w->other);
    slt_image_free(w->broken);
    ck_assert_msg(atomic_load(&w->null.violations) == 0, "%s", w->null.violation);
    if (w->subject == SUBJECT_NULL) {
        ck_assert_uint_eq(atomic_load(&w->null.opens), atomic_load(&w->null.closes));
        ck_assert_uint_eq(atomic_load(&w->null.loads), atomic_load(&w->null.unloads));
    }
    if (w->gpu == NULL) return;
    if (--gpu_worlds == 0) {
        slt_double_check(&w->double_);
    } else {
        slt_double_check_violations(&w->double_);
        ck_assert_int_eq(w->double_.control->thread_balance(), 0);
    }
}

slw_device_counts world_counts(world *w) {
    slw_device_counts counts = SLW_DEVICE_COUNTS_INIT;
    slt_ok(slw_device_get_counts(w->device, &counts, &w->err), &w->err);
    return counts;
}

const char *world_global(const world *w) {
    return w->subject == SUBJECT_NULL ? "null_global" : "slt_counter";
}

slwi_module *world_load(world *w, slt_image *image) {
    slwi_module *module = NULL;
    slt_ok(slwi_module_load(w->device, &image->image, NULL, &module, &w->err), &w->err);
    ck_assert_ptr_nonnull(module);
    return module;
}

void world_blame_images(world *w, int blamed) {
    atomic_store(&w->null.at_fault, blamed);
    slt_null_fail(&w->null.load, blamed ? SLW_E_INVALID_BINARY : SLW_OK, blamed ? -1 : 0);
    if (w->gpu != NULL) w->double_.control->inject(slt_gpu_call(w->gpu, "load"), 1, 200, blamed ? UINT32_MAX : 0);
}

void world_delay_loads(world *w, unsigned milliseconds) {
    atomic_store(&w->null.load_delay_ms, milliseconds);
    if (w->gpu != NULL) w->double_.control->delay(slt_gpu_call(w->gpu, "load"), 1000 * milliseconds);
}

int world_driver_loads(world *w) {
    if (w->gpu != NULL) return (int)w->double_.control->count(slt_gpu_call(w->gpu, "load"));
    if (w->subject != SUBJECT_NULL) return -1;
    return (int)(atomic_load(&w->null.loads) + atomic_load(&w->null.failed_loads));
}

slw_code world_load_broken(world *w, slwi_module **out) {
    world_blame_images(w, 1);
    w->err = (slw_error)SLW_ERROR_INIT;
    const slw_code code = slwi_module_load(w->device, &w->broken->image, NULL, out, &w->err);
    world_blame_images(w, 0);
    return code;
}

void *world_function(world *w, slwi_module *module, const char *kernel) {
    void *function = NULL;
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    slt_ok(slwi_module_function(module, slt_image_kernel(w->pair, kernel), &function, &attributes, &w->err), &w->err);
    ck_assert_ptr_nonnull(function);
    return function;
}

static slw_code launch(slwi_module *module, void *function, uint32_t blocks, void *address) {
    void *params[] = {&address};
    const slw_driver_launch launch = {.size = sizeof launch,
                                      .blocks = {blocks, 1, 1},
                                      .block = {32, 1, 1},
                                      .cluster = {1, 1, 1},
                                      .params = params,
                                      .param_count = 1};
    slw_error err = SLW_ERROR_INIT;
    return slwi_module_launch(module, function, &launch, &err);
}

/* The sum lies in the device's memory meanwhile. */
static slw_code launch_gpu(slwi_module *module, void *function, uint32_t blocks, uint64_t *sum) {
    slw_device *const device = slwi_module_device(module);
    slw_device_address address = 0;
    slw_error err = SLW_ERROR_INIT;
    uint64_t result = 0;
    slw_code code = slw_device_alloc(device, sizeof *sum, &address, &err);
    if (code != SLW_OK) return code;
    code = slw_device_copy_in(device, address, sum, sizeof *sum, &err);
    if (code == SLW_OK) code = launch(module, function, blocks, (void *)(uintptr_t)address);
    if (code == SLW_OK) code = slw_device_copy_out(device, &result, address, sizeof result, &err);
    if (code == SLW_OK) *sum = result;
    const slw_code freed = slw_device_free(device, &address, &err);
    return code != SLW_OK ? code : freed;
}

slw_code world_launch(world *w, slwi_module *module, void *function, uint32_t blocks, uint64_t *sum) {
    return w->gpu != NULL ? launch_gpu(module, function, blocks, sum) : launch(module, function, blocks, sum);
}
