/* Measurements: what a launch and a load cost beside the same by the driver alone. Nothing gates on time. */
#include "gpu_checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

/* ---- Launches ---------------------------------------------------------------------------------------------------- */

#define BATCH  256 /* fewer than the driver queues without waiting */
#define ROUNDS 200

typedef struct subject {
    const slw_launchable *launchable;
    void *function;
    cu_launch_kernel *launch;
    slw_stream stream;
    uint32_t count;
    void **values;
} subject;

static double raw_batch(gpu *g, const subject *s) {
    const uint64_t start_ns = gpu_now_ns();
    for (int i = 0; i < BATCH; i++) {
        const cu_result result = s->launch(s->function, 1, 1, 1, 32, 1, 1, 0, s->stream.native, s->values, NULL);
        gpu_require(result == 0, "cuLaunchKernel: %d", result);
    }
    const uint64_t spent_ns = gpu_now_ns() - start_ns;
    gpu_ok(g, slw_device_synchronize(g->device, &s->stream, &g->err));
    return (double)spent_ns / BATCH;
}

static double our_batch(gpu *g, const subject *s) {
    slw_grid grid = SLW_GRID_INIT;
    slw_args args = SLW_ARGS_INIT;
    grid.extent[0] = grid.extent[1] = grid.extent[2] = 1;
    args.count = s->count;
    args.values = s->values;
    const uint64_t start_ns = gpu_now_ns();
    for (int i = 0; i < BATCH; i++) gpu_ok(g, slw_launch(s->launchable, &grid, s->stream, &args, &g->err));
    const uint64_t spent_ns = gpu_now_ns() - start_ns;
    gpu_ok(g, slw_device_synchronize(g->device, &s->stream, &g->err));
    return (double)spent_ns / BATCH;
}

static void compare(gpu *g, const subject *s, const char *name) {
    static double raw[ROUNDS], ours[ROUNDS], more[ROUNDS];
    const int rounds = g->quick ? 8 : ROUNDS;
    char text[64];
    (void)raw_batch(g, s);
    (void)our_batch(g, s);
    for (int i = 0; i < rounds; i++) {
        raw[i] = raw_batch(g, s);
        ours[i] = our_batch(g, s);
        more[i] = ours[i] - raw[i];
    }
    (void)snprintf(text, sizeof text, "%s_driver_ns", name);
    gpu_figure(text, median(raw, rounds));
    (void)snprintf(text, sizeof text, "%s_slipway_ns", name);
    gpu_figure(text, median(ours, rounds));
    (void)snprintf(text, sizeof text, "%s_more_ns", name);
    gpu_figure(text, median(more, rounds));
}

void check_launch_overhead(gpu *g) {
    gpu_open(g);
    slw_device_loaded *loaded = gpu_load(g, g->device, gpu_cubin(g, "check"));
    slw_launchable *empty = gpu_make_plain(g, loaded, "empty", 32);
    slw_launchable *bounded = gpu_make_plain(g, loaded, "bounded", 32);
    slw_device_address out = gpu_zeros(g, g->device, sizeof(uint64_t));
    int n = 1;
    void *values[] = {&out, &n};
    subject s = {.launchable = empty, .function = slw_launchable_native_function(empty)};
    gpu_raw(g, s.launch, "cuLaunchKernel");
    gpu_make_current(g);
    compare(g, &s, "empty_default_stream");
    gpu_ok(g, slw_device_stream_create(g->device, &s.stream, &g->err));
    compare(g, &s, "empty_own_stream");
    s.launchable = bounded;
    s.function = slw_launchable_native_function(bounded);
    s.count = 2;
    s.values = values;
    compare(g, &s, "two_arguments_own_stream");
    gpu_ok(g, slw_device_stream_destroy(g->device, &s.stream, &g->err));
    gpu_ok(g, slw_device_free(g->device, &out, &g->err));
    slw_launchable_discard(&empty);
    slw_launchable_discard(&bounded);
    slw_device_loaded_discard(&loaded);
    gpu_close(g);
}

/* ---- Loads ------------------------------------------------------------------------------------------------------- */

#define FIRST_NUMBER UINT64_C(0x5000000000000000)

typedef struct times {
    uint64_t hydrate, load, make, first, again;
} times;

static void prove_number(gpu *g, slw_device_address out, uint64_t number, uint64_t add) {
    if (g->control != NULL) return;
    const uint64_t got = gpu_read(g, g->device, out);
    gpu_require(got == number + add, "module %llx gives %llx", (unsigned long long)number, (unsigned long long)got);
}

static void by_library(gpu *g, slw_bytes *images, uint32_t count, slw_device_address out) {
    slw_launchable **kernels = calloc(count, sizeof *kernels);
    times t = {0, 0, 0, 0, 0};
    uint64_t heap = 0, at[6];
    gpu_require(kernels != NULL, "no memory");
    for (uint32_t i = 0; i < count; i++) {
        slw_device_loaded *loaded = NULL;
        const slw_launch_shape shape = gpu_shape("number", 32);
        uint64_t add = i;
        void *values[] = {&out, &add};
        const slw_stream stream = SLW_STREAM_DEFAULT;
        at[0] = gpu_now_ns();
        slw_hydrated *hydrated = gpu_hydrate(g, images[i]);
        at[1] = gpu_now_ns();
        heap += slw_hydrated_overhead_bytes(hydrated);
        const uint64_t start_ns = gpu_now_ns();
        gpu_ok(g, slw_device_load(&hydrated, g->device, &loaded, &g->err));
        at[2] = gpu_now_ns();
        gpu_ok(g, slw_make_launchable(&loaded, &shape, &kernels[i], &g->err));
        at[3] = gpu_now_ns();
        gpu_ok(g, gpu_try_launch(g, kernels[i], 1, stream, 2, values));
        gpu_ok(g, slw_device_synchronize(g->device, NULL, &g->err));
        at[4] = gpu_now_ns();
        gpu_ok(g, gpu_try_launch(g, kernels[i], 1, stream, 2, values));
        gpu_ok(g, slw_device_synchronize(g->device, NULL, &g->err));
        at[5] = gpu_now_ns();
        prove_number(g, out, FIRST_NUMBER + i, add);
        t.hydrate += at[1] - at[0];
        t.load += at[2] - start_ns;
        t.make += at[3] - at[2];
        t.first += at[4] - at[3];
        t.again += at[5] - at[4];
    }
    gpu_require(gpu_counts(g).loads == count, "%llu loads", (unsigned long long)gpu_counts(g).loads);
    const double each = 1e3 * count;
    gpu_figure("hydrate_us", (double)t.hydrate / each);
    gpu_figure("load_us", (double)t.load / each);
    gpu_figure("make_launchable_us", (double)t.make / each);
    gpu_figure("first_launch_and_wait_us", (double)t.first / each);
    gpu_figure("second_launch_and_wait_us", (double)t.again / each);
    gpu_figure("heap_bytes_hydrated", (double)heap / count);
    for (uint32_t i = 0; i < count; i++) slw_launchable_discard(&kernels[i]);
    free(kernels);
}

/* The same by the driver alone, with images of other numbers, so that nothing is known to it yet. */
static void by_driver(gpu *g, const slw_bytes *images, uint32_t count, slw_device_address out) {
    cu_result (*load)(void **, const void *) = NULL;
    cu_result (*function_of)(void **, void *, const char *) = NULL;
    cu_result (*attribute)(int *, int, void *) = NULL;
    cu_result (*wait)(void) = NULL;
    cu_result (*unload)(void *) = NULL;
    cu_launch_kernel *launch = NULL;
    void **modules = calloc(count, sizeof *modules);
    uint64_t loading = 0, finding = 0, launching = 0, at[4];
    gpu_require(modules != NULL, "no memory");
    gpu_raw(g, load, "cuModuleLoadData");
    gpu_raw(g, function_of, "cuModuleGetFunction");
    gpu_raw(g, attribute, "cuFuncGetAttribute");
    gpu_raw(g, wait, "cuCtxSynchronize");
    gpu_raw(g, unload, "cuModuleUnload");
    gpu_raw(g, launch, "cuLaunchKernel");
    gpu_make_current(g);
    for (uint32_t i = 0; i < count; i++) {
        void *function = NULL;
        uint64_t add = i;
        int registers = 0;
        void *values[] = {&out, &add};
        at[0] = gpu_now_ns();
        gpu_require(load(&modules[i], images[i].data) == 0, "cuModuleLoadData fails");
        at[1] = gpu_now_ns();
        gpu_require(function_of(&function, modules[i], "number") == 0 && attribute(&registers, 4, function) == 0,
                    "cuModuleGetFunction fails");
        at[2] = gpu_now_ns();
        gpu_require(launch(function, 1, 1, 1, 32, 1, 1, 0, NULL, values, NULL) == 0 && wait() == 0,
                    "cuLaunchKernel fails");
        at[3] = gpu_now_ns();
        loading += at[1] - at[0];
        finding += at[2] - at[1];
        launching += at[3] - at[2];
    }
    const double each = 1e3 * count;
    gpu_figure("driver_load_us", (double)loading / each);
    gpu_figure("driver_get_function_us", (double)finding / each);
    gpu_figure("driver_first_launch_and_wait_us", (double)launching / each);
    for (uint32_t i = 0; i < count; i++) (void)unload(modules[i]);
    free(modules);
}

static void measure_loads(gpu *g, uint32_t count) {
    gpu_open(g);
    const slw_bytes cubin = gpu_cubin(g, "number");
    slw_bytes *const images = gpu_keep(2 * (size_t)count * sizeof *images);
    for (uint32_t i = 0; i < 2 * count; i++) images[i] = gpu_numbered(g, cubin, FIRST_NUMBER + i);
    slw_device_address out = gpu_zeros(g, g->device, sizeof(uint64_t));
    gpu_figure("kernels", count);
    by_library(g, images, count, out);
    by_driver(g, images + count, count, out);
    gpu_ok(g, slw_device_free(g->device, &out, &g->err));
    const uint64_t start_ns = gpu_now_ns();
    gpu_close(g);
    gpu_figure("close_us", (double)(gpu_now_ns() - start_ns) / (1e3 * count));
}

void check_load_1(gpu *g) {
    measure_loads(g, 1);
}
void check_load_100(gpu *g) {
    measure_loads(g, g->quick ? 20 : 100);
}
void check_load_1000(gpu *g) {
    measure_loads(g, g->quick ? 50 : 1000);
}
