/* The CUDA driver over the double of libcuda. A launch against a direct call of the double's, and against a direct call
 * of an entry point that does nothing, which shows the library's own part without the double's locks and logs. Then 1,000
 * kernels from bytes to the first launch: time by phase, heap by phase.
 *
 * The double is built as the library under test is, so its figures are no GPU's: tests/gpu measures one. */
#include "bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tests/doubles/double_control.h"

#define KERNELS 1000
#define NUMBER  UINT64_C(0x79617770696c7321) /* in number_sm90.cubin: tests/gpu/kernels/README.md */

typedef int launch_call(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, void *stream, void **params, void **extra);

static slw_error err = SLW_ERROR_INIT;
static void *handle;
static const double_control *control;

/* ---- An allocator that counts ------------------------------------------------------------------------------------ */

static uint64_t live_bytes; /* this program has one thread */

static void *count_allocate(void *context, size_t size) {
    size_t *const block = malloc(size + 16);
    (void)context;
    if (block == NULL) return NULL;
    *block = size;
    live_bytes += size;
    return (char *)block + 16;
}
static void count_release(void *context, void *pointer) {
    size_t *const block = (size_t *)(void *)((char *)pointer - 16);
    (void)context;
    live_bytes -= *block;
    free(block);
}
static void *count_reallocate(void *context, void *pointer, size_t size) {
    void *const fresh = count_allocate(context, size);
    if (fresh == NULL || pointer == NULL) return fresh;
    const size_t old = *(size_t *)(void *)((char *)pointer - 16);
    memcpy(fresh, pointer, old < size ? old : size);
    count_release(context, pointer);
    return fresh;
}
static const slw_allocator counting = {NULL, count_allocate, count_reallocate, count_release};

/* ---- A driver whose launch does nothing ------------------------------------------------------------------------- */

static int do_nothing(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, void *stream, void **params, void **extra) {
    (void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream;
    (void)params, (void)extra;
    return 0;
}
/* Through memory, so that no compiler sees that nothing is done. */
static launch_call *volatile nothing = do_nothing;

static void *loader_open(void *context, const char *name, char *why, size_t why_size) {
    (void)context, (void)name, (void)why, (void)why_size;
    return handle;
}
static void *loader_symbol(void *context, void *library, const char *name) {
    void *address = NULL;
    (void)context;
    if (strncmp(name, "cuGetProcAddress", 16) == 0) return NULL; /* by name alone */
    if (strcmp(name, "cuLaunchKernel") != 0) return dlsym(library, name);
    launch_call *const call = do_nothing;
    memcpy(&address, &call, sizeof address);
    return address;
}
static const slw_library_loader loader = {sizeof loader, NULL, loader_open, loader_symbol, NULL};

/* ---- Launches ---------------------------------------------------------------------------------------------------- */

typedef struct launcher {
    slw_device *device;
    slw_launchable *kernel;
    launch_call *direct;
    slw_stream stream;
    void *values[2];
} launcher;

static slw_bytes read_file(const char *path) {
    FILE *const file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        fprintf(stderr, "bench: %s cannot be read\n", path);
        exit(1);
    }
    const long size = ftell(file);
    char *const bytes = malloc((size_t)size);
    rewind(file);
    if (fread(bytes, 1, (size_t)size, file) != (size_t)size) exit(1);
    fclose(file);
    return (slw_bytes){bytes, (size_t)size};
}

static slw_device *open_device(const char *path, const slw_library_loader *with, const slw_allocator *allocator) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_device *device = NULL;
    options.kind = "cuda";
    options.driver_library = path;
    options.loader = with;
    if (allocator != NULL) options.allocator = *allocator;
    bench_check(slw_device_open(&options, &device, &err), "device", &err);
    return device;
}

static void direct(void *context) {
    launcher *const l = context;
    if (l->direct(slw_launchable_native_function(l->kernel), 1, 1, 1, 32, 1, 1, 0, l->stream.native, l->values, NULL) !=
        0)
        exit(1);
}

static void ours(void *context) {
    launcher *const l = context;
    slw_grid grid = SLW_GRID_INIT;
    slw_args args = SLW_ARGS_INIT;
    grid.extent[0] = grid.extent[1] = grid.extent[2] = 1;
    args.count = 2;
    args.values = l->values;
    bench_check(slw_launch(l->kernel, &grid, l->stream, &args, &err), "launch", &err);
}

#define BATCHES 2001
#define BATCH   100

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double batch(bench_function function, launcher *l) {
    const uint64_t start = bench_now_ns();
    for (int i = 0; i < BATCH; i++) function(l);
    return (double)(bench_now_ns() - start) / BATCH;
}

static void compare(const char *name, launcher *l, double aim) {
    static double floor_ns[BATCHES], ours_ns[BATCHES], more_ns[BATCHES];
    const int batches = bench_smoke() ? 1 : BATCHES;
    (void)batch(direct, l);
    (void)batch(ours, l);
    for (int i = 0; i < batches; i++) {
        floor_ns[i] = batch(direct, l);
        ours_ns[i] = batch(ours, l);
        more_ns[i] = ours_ns[i] - floor_ns[i];
    }
    bench_report(name, floor_ns, ours_ns, batches, 0);
    qsort(more_ns, (size_t)batches, sizeof *more_ns, by_value);
    bench_value("  more than the direct call, median", more_ns[batches / 2], "ns", aim);
}

static void measure_launches(const char *path, const slw_library_loader *with, const char *name, int own_stream,
                             double aim) {
    launcher l = {.direct = do_nothing};
    slw_hydrated *hydrated = NULL;
    slw_device_loaded *loaded = NULL;
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    slw_device_address out = 0;
    static uint64_t add;
    l.device = open_device(path, with, NULL);
    const slw_bytes bytes = read_file("tests/gpu/kernels/number_sm90.cubin");
    bench_check(slw_hydrate_binary(bytes, "number", NULL, NULL, &hydrated, &err), "hydrate", &err);
    bench_check(slw_device_load(&hydrated, l.device, &loaded, &err), "load", &err);
    shape.block[0] = 32;
    shape.block[1] = shape.block[2] = 1;
    bench_check(slw_make_launchable(&loaded, &shape, &l.kernel, &err), "make launchable", &err);
    bench_check(slw_device_alloc(l.device, 8, &out, &err), "memory", &err);
    if (own_stream) bench_check(slw_device_stream_create(l.device, &l.stream, &err), "stream", &err);
    l.values[0] = &out;
    l.values[1] = &add;
    void *const found = dlsym(handle, "cuLaunchKernel");
    if (with == NULL)
        memcpy(&l.direct, &found, sizeof found);
    else
        l.direct = nothing;
    /* Callers of the driver have the device's context current; so has this one for both. */
    int (*set_current)(void *) = NULL;
    void *const set = dlsym(handle, "cuCtxSetCurrent");
    memcpy(&set_current, &set, sizeof set);
    (void)set_current(slw_device_native_context(l.device));
    compare(name, &l, aim);
    (void)set_current(NULL);
    if (own_stream) bench_check(slw_device_stream_destroy(l.device, &l.stream, &err), "stream", &err);
    bench_check(slw_device_free(l.device, &out, &err), "memory", &err);
    slw_launchable_discard(&l.kernel);
    slw_device_close(&l.device);
    free((void *)(uintptr_t)bytes.data);
}

/* ---- 1,000 kernels ----------------------------------------------------------------------------------------------- */

static slw_bytes numbered(slw_bytes cubin, uint64_t number) {
    const uint64_t marker = NUMBER;
    char *const copy = malloc(cubin.size);
    memcpy(copy, cubin.data, cubin.size);
    for (size_t at = 0; at + sizeof marker <= cubin.size; at++)
        if (memcmp(copy + at, &marker, sizeof marker) == 0) memcpy(copy + at, &number, sizeof number);
    return (slw_bytes){copy, cubin.size};
}

static uint64_t phase_start;
static uint64_t before_any; /* heap of the device alone */

static void begin_phase(void) {
    phase_start = bench_now_ns();
}

static void end_phase(const char *name) {
    char text[64];
    const double spent = (double)(bench_now_ns() - phase_start) / 1e3 / KERNELS;
    (void)snprintf(text, sizeof text, "  %s, time per kernel", name);
    bench_value(text, spent, "us", 0);
    (void)snprintf(text, sizeof text, "  %s, heap per kernel now", name);
    bench_value(text, (double)(live_bytes - before_any) / KERNELS, "bytes", 0);
}

static void measure_kernels(const char *path) {
    static slw_bytes images[KERNELS];
    static slw_hydrated *hydrated[KERNELS];
    static slw_device_loaded *loaded[KERNELS];
    static slw_launchable *kernels[KERNELS];
    const slw_bytes cubin = read_file("tests/gpu/kernels/number_sm90.cubin");
    slw_device_address out = 0;
    uint64_t overhead = 0;
    for (int i = 0; i < KERNELS; i++) images[i] = numbered(cubin, UINT64_C(0x5000000000000000) + (uint64_t)i);
    slw_device *device = open_device(path, NULL, &counting);
    bench_check(slw_device_alloc(device, 8, &out, &err), "memory", &err);
    bench_value("1,000 kernels of one module each, of", (double)cubin.size, "bytes", 0);
    before_any = live_bytes;
    begin_phase();
    for (int i = 0; i < KERNELS; i++)
        bench_check(slw_hydrate_binary(images[i], "number", &counting, NULL, &hydrated[i], &err), "hydrate", &err);
    end_phase("hydrate");
    for (int i = 0; i < KERNELS; i++) overhead += slw_hydrated_overhead_bytes(hydrated[i]);
    bench_value("  hydrated, beside its payload", (double)overhead / KERNELS, "bytes", 4096);
    begin_phase();
    for (int i = 0; i < KERNELS; i++)
        bench_check(slw_device_load(&hydrated[i], device, &loaded[i], &err), "load", &err);
    end_phase("device load");
    begin_phase();
    for (int i = 0; i < KERNELS; i++) {
        slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
        shape.block[0] = 32;
        shape.block[1] = shape.block[2] = 1;
        bench_check(slw_make_launchable(&loaded[i], &shape, &kernels[i], &err), "make launchable", &err);
    }
    end_phase("make launchable");
    for (int pass = 0; pass < 2; pass++) {
        begin_phase();
        for (int i = 0; i < KERNELS; i++) {
            uint64_t add = (uint64_t)i;
            launcher l = {.device = device, .kernel = kernels[i], .values = {&out, &add}};
            ours(&l);
        }
        end_phase(pass == 0 ? "first launch" : "second launch");
    }
    begin_phase();
    for (int i = 0; i < KERNELS; i++) slw_launchable_discard(&kernels[i]);
    end_phase("discard");
    bench_check(slw_device_free(device, &out, &err), "memory", &err);
    before_any = 0;
    begin_phase();
    slw_device_close(&device);
    end_phase("close of the device");
    for (int i = 0; i < KERNELS; i++) free((void *)(uintptr_t)images[i].data);
    free((void *)(uintptr_t)cubin.data);
}

int main(int argc, char **argv) {
    const char *path = NULL;
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--double-cuda=", 14) == 0) path = argv[i] + 14;
    if (path == NULL) {
        printf("the double of libcuda is not built: nothing is measured over it\n");
        return 0;
    }
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *const found = handle != NULL ? dlsym(handle, "double_control_get") : NULL;
    const double_control *(*get)(void) = NULL;
    if (found == NULL) {
        fprintf(stderr, "bench: %s is no double\n", path);
        return 1;
    }
    memcpy(&get, &found, sizeof found);
    control = get();
    control->reset();
    measure_launches(path, NULL, "launch over the double, own stream", 1, 60);
    measure_launches(path, NULL, "launch over the double, default stream", 0, 0);
    measure_launches(path, &loader, "launch over an entry point of nothing", 1, 60);
    measure_kernels(path);
    if (control->violations() != 0) {
        fprintf(stderr, "bench: %s\n", control->violation(0));
        return 1;
    }
    return 0;
}
