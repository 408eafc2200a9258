/* What a launch may be: limits, shared memory, one module for several kernels, cooperative grids, clusters. */
#include "gpu_checks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const slw_stream default_stream = SLW_STREAM_DEFAULT;

static void refuse_shape(gpu *g, const slw_device_loaded *loaded, const slw_launch_shape *shape, slw_code code,
                         const char *what) {
    slw_device_loaded *share = NULL;
    slw_launchable *launchable = NULL;
    gpu_ok(g, slw_device_loaded_share(loaded, &share, &g->err));
    gpu_expect(g, slw_make_launchable(&share, shape, &launchable, &g->err), code, NULL, what);
    gpu_require(share != NULL && launchable == NULL, "%s: a refused shape has taken its input", what);
    slw_device_loaded_discard(&share);
}

static void refuse_grid(gpu *g, const slw_launchable *launchable, uint32_t x, uint32_t y, uint32_t count, slw_code code,
                        const char *what) {
    slw_grid grid = SLW_GRID_INIT;
    slw_args args = SLW_ARGS_INIT;
    slw_device_address none = 0;
    void *values[] = {&none, &none};
    grid.extent[0] = x;
    grid.extent[1] = y;
    grid.extent[2] = 1;
    args.count = count;
    args.values = values;
    gpu_expect(g, slw_launch(launchable, &grid, default_stream, &args, &g->err), code, NULL, what);
}

/* None of these reaches the driver: none has an address that could be used. */
void check_limits(gpu *g) {
    gpu_open(g);
    slw_device_loaded *loaded = gpu_load(g, g->device, gpu_cubin(g, "check"));
    slw_launch_shape shape = gpu_shape("first", g->info.max_threads + 1);
    refuse_shape(g, loaded, &shape, SLW_E_OUT_OF_RESOURCES, "a block of one thread too many");
    gpu_require(g->err.limit == g->info.max_threads && g->err.required == g->info.max_threads + 1,
                "limit %llu and required %llu of threads", (unsigned long long)g->err.limit,
                (unsigned long long)g->err.required);
    shape = gpu_shape("first", 1);
    shape.block[2] = g->info.max_block[2] + 1;
    refuse_shape(g, loaded, &shape, SLW_E_OUT_OF_RESOURCES, "a block too deep");
    shape = gpu_shape("first", 0);
    refuse_shape(g, loaded, &shape, SLW_E_INVALID_LAUNCH, "a block of nothing");
    shape = gpu_shape("bounded", 129);
    refuse_shape(g, loaded, &shape, SLW_E_OUT_OF_RESOURCES, "more threads than the kernel's bound");
    shape = gpu_shape("no_such_kernel", 32);
    refuse_shape(g, loaded, &shape, SLW_E_MISS, "a kernel that is not there");
    slw_launchable *first = gpu_make_plain(g, loaded, "first", 32);
    refuse_grid(g, first, 0, 1, 1, SLW_E_INVALID_LAUNCH, "a grid of nothing");
    refuse_grid(g, first, 1, g->info.max_grid[1] + 1, 1, SLW_E_OUT_OF_RESOURCES, "a grid too high");
    refuse_grid(g, first, 1, 1, 0, SLW_E_INVALID_LAUNCH, "no argument for one");
    refuse_grid(g, first, 1, 1, 2, SLW_E_INVALID_LAUNCH, "two arguments for one");
    gpu_prove(g, g->device, first, 3);
    slw_launchable_discard(&first);
    slw_device_loaded_discard(&loaded);
    gpu_close(g);
}

/* ---- Shared memory ----------------------------------------------------------------------------------------------- */

#define STATIC_SHARED 16u /* of shared_of_the_launch */

static slw_launchable *launch_shared(gpu *g, const slw_device_loaded *loaded, uint32_t bytes) {
    slw_launch_shape shape = gpu_shape("shared_of_the_launch", 128);
    shape.shared_bytes = bytes;
    slw_launchable *launchable = gpu_make(g, loaded, &shape);
    slw_device_address out = gpu_zeros(g, g->device, sizeof(uint64_t));
    void *values[] = {&out, &bytes};
    gpu_ok(g, gpu_try_launch(g, launchable, 2, default_stream, 2, values));
    const uint64_t got = gpu_read(g, g->device, out);
    const uint32_t sizes[] = {8, 4}, grid[] = {2, 1, 1}, block[] = {128, 1, 1};
    const uint64_t wanted = g->control == NULL ? bytes / 8 : double_checksum(values, sizes, 2, grid, block, bytes);
    gpu_require(got == wanted, "%u bytes of shared memory: %llu, not %llu", bytes, (unsigned long long)got,
                (unsigned long long)wanted);
    gpu_ok(g, slw_device_free(g->device, &out, &g->err));
    return launchable;
}

static int allowed_shared(gpu *g, const slw_launchable *launchable) {
    cu_result (*get)(int *, int, void *) = NULL;
    int value = -1;
    gpu_raw(g, get, "cuFuncGetAttribute");
    gpu_make_current(g);
    const cu_result result = get(&value, 8, slw_launchable_native_function(launchable));
    gpu_require(result == 0, "attribute 8 of a function: %d", result);
    return value;
}

void check_shared_beyond_48k(gpu *g) {
    gpu_open(g);
    slw_device_loaded *loaded = gpu_load(g, g->device, gpu_cubin(g, "check"));
    const uint32_t most = g->info.max_optin_shared_bytes - STATIC_SHARED;
    const uint32_t sizes[] = {1024, 49152, most, 2048};
    slw_launchable *launchables[4];
    for (size_t i = 0; i < 4; i++) launchables[i] = launch_shared(g, loaded, sizes[i]);
    const int allowed = allowed_shared(g, launchables[0]);
    gpu_figure("most_dynamic", most);
    gpu_figure("allowed_afterwards", allowed);
    gpu_require(allowed == (int)most, "attribute 8 is %d after shapes of up to %u", allowed, most);
    slw_launch_shape shape = gpu_shape("shared_of_the_launch", 128);
    shape.shared_bytes = most + 8;
    refuse_shape(g, loaded, &shape, SLW_E_OUT_OF_RESOURCES, "eight bytes of shared memory too many");
    gpu_require(g->err.limit == g->info.max_optin_shared_bytes, "limit %llu", (unsigned long long)g->err.limit);
    for (size_t i = 0; i < 4; i++) slw_launchable_discard(&launchables[i]);
    slw_device_loaded_discard(&loaded);
    gpu_close(g);
}

/* ---- One module -------------------------------------------------------------------------------------------------- */

static uint64_t launch_value(gpu *g, const slw_launchable *launchable, void *argument) {
    slw_device_address out = gpu_zeros(g, g->device, sizeof(uint64_t));
    void *values[] = {&out, argument};
    gpu_ok(g, gpu_try_launch(g, launchable, 1, default_stream, 2, values));
    const uint64_t got = gpu_read(g, g->device, out);
    gpu_ok(g, slw_device_free(g->device, &out, &g->err));
    return got;
}

/* Pitfall 15: what one kernel wrote into a global the other reads, and so does the host by name. */
void check_globals_one_module(gpu *g) {
    gpu_open(g);
    slw_device_loaded *loaded = gpu_load(g, g->device, gpu_cubin(g, "check"));
    slw_launchable *put = gpu_make_plain(g, loaded, "put", 32);
    slw_launchable *get = gpu_make_plain(g, loaded, "get", 64);
    slw_launchable *also = gpu_make_plain(g, loaded, "get", 128);
    slw_device_address address = 0;
    uint64_t size = 0, value = 42;
    int one = 1;
    gpu_ok(g, slw_device_loaded_global(loaded, "slt_seen", &address, &size, &g->err));
    gpu_require(address != 0 && size == 8, "slt_seen has %llu bytes", (unsigned long long)size);
    gpu_refused(g, slw_device_loaded_global(loaded, "no_such_global", &address, &size, &g->err), SLW_E_MISS, NULL);
    (void)launch_value(g, put, &value);
    const uint64_t read = launch_value(g, get, &one), again = launch_value(g, also, &one);
    if (g->control == NULL) {
        gpu_require(read == 43 && again == 43, "get reads %llu and %llu", (unsigned long long)read,
                    (unsigned long long)again);
        gpu_require(gpu_read(g, g->device, address) == 42, "the host reads another value");
    }
    gpu_require(gpu_counts(g).loads == 1, "three launchables of one image make %llu loads",
                (unsigned long long)gpu_counts(g).loads);
    slw_launchable_discard(&put);
    slw_launchable_discard(&get);
    slw_launchable_discard(&also);
    slw_device_loaded_discard(&loaded);
    gpu_close(g);
}

/* ---- All at once ------------------------------------------------------------------------------------------------- */

void check_cooperative(gpu *g) {
    gpu_open(g);
    if (gpu_attribute(g, 95) == 0) gpu_skip(g, "%s has no cooperative launch", g->info.name);
    slw_device_loaded *loaded = gpu_load(g, g->device, gpu_cubin(g, "check"));
    slw_launch_shape shape = gpu_shape("first", 256);
    shape.cooperative = 1;
    slw_launchable *first = gpu_make(g, loaded, &shape);
    slw_device_address sum = gpu_zeros(g, g->device, sizeof(uint64_t));
    void *values[] = {&sum};
    gpu_refused(g, gpu_try_launch(g, first, 1000000, default_stream, 1, values), SLW_E_OUT_OF_RESOURCES, NULL);
    const uint32_t most = (uint32_t)g->err.limit;
    gpu_figure("most_blocks", most);
    gpu_require(most >= g->info.multiprocessors && most < 1000000, "%u blocks are said to fit", most);
    gpu_refused(g, gpu_try_launch(g, first, most + 1, default_stream, 1, values), SLW_E_OUT_OF_RESOURCES, NULL);
    gpu_prove(g, g->device, first, most); /* and the driver agrees that so many do fit */
    gpu_ok(g, slw_device_free(g->device, &sum, &g->err));
    slw_launchable_discard(&first);
    slw_device_loaded_discard(&loaded);
    gpu_close(g);
}

static void prove_cluster(gpu *g, const slw_launchable *launchable, uint32_t blocks) {
    slw_device_address out = gpu_zeros(g, g->device, sizeof(uint64_t));
    int n = 5;
    void *values[] = {&out, &n};
    gpu_ok(g, gpu_try_launch(g, launchable, blocks, default_stream, 2, values));
    const uint64_t got = gpu_read(g, g->device, out);
    gpu_require(g->control != NULL || got == 5u * blocks, "%u blocks in clusters: %llu", blocks,
                (unsigned long long)got);
    gpu_ok(g, slw_device_free(g->device, &out, &g->err));
}

/* More blocks than every device grants: on this one it is allowed or refused with a reason, and never crashes. */
static void try_sixteen(gpu *g, const slw_device_loaded *loaded) {
    slw_device_loaded *share = NULL;
    slw_launchable *launchable = NULL;
    slw_launch_shape shape = gpu_shape("free_size", 64);
    shape.cluster[0] = 16;
    shape.cluster[1] = shape.cluster[2] = 1;
    refuse_shape(g, loaded, &shape, SLW_E_OUT_OF_RESOURCES, "a cluster of 16 that nobody asked for by the flag");
    shape.flags = SLW_LAUNCH_NON_PORTABLE_CLUSTER;
    gpu_ok(g, slw_device_loaded_share(loaded, &share, &g->err));
    const slw_code code = slw_make_launchable(&share, &shape, &launchable, &g->err);
    gpu_figure_text("cluster_of_16", "%s %s", slw_code_name(code), code != SLW_OK ? g->err.message : "");
    if (code == SLW_OK) prove_cluster(g, launchable, 32);
    gpu_require(code == SLW_OK || code == SLW_E_OUT_OF_RESOURCES, "a cluster of 16: %s", g->err.message);
    slw_launchable_discard(&launchable);
    slw_device_loaded_discard(&share);
}

void check_clusters(gpu *g) {
    gpu_open(g);
    if (gpu_attribute(g, 120) == 0) gpu_skip(g, "%s has no clusters", g->info.name);
    slw_device_loaded *loaded = gpu_load(g, g->device, gpu_cubin(g, "cluster"));
    slw_launchable *of_two = gpu_make_plain(g, loaded, "of_two", 64);
    prove_cluster(g, of_two, 8);
    slw_device_address none = 0;
    int n = 0;
    void *values[] = {&none, &n};
    gpu_refused(g, gpu_try_launch(g, of_two, 7, default_stream, 2, values), SLW_E_INVALID_LAUNCH, "BAD_CLUSTER");
    slw_launch_shape shape = gpu_shape("free_size", 64);
    shape.cluster[0] = 4;
    shape.cluster[1] = shape.cluster[2] = 1;
    slw_launchable *of_four = gpu_make(g, loaded, &shape);
    prove_cluster(g, of_four, 12);
    try_sixteen(g, loaded);
    slw_launchable_discard(&of_two);
    slw_launchable_discard(&of_four);
    slw_device_loaded_discard(&loaded);
    gpu_close(g);
}

/* Pitfall 11: five clusters of two are ten blocks, each of which adds 1. */
void check_grid_in_clusters(gpu *g) {
    gpu_open(g);
    if (gpu_attribute(g, 120) == 0) gpu_skip(g, "%s has no clusters", g->info.name);
    slw_hydrated *hydrated = gpu_hydrate(g, gpu_cubin(g, "clustered"));
    slw_device_loaded *loaded = NULL;
    const slw_code code = slw_device_load(&hydrated, g->device, &loaded, &g->err);
    if (code != SLW_OK && g->err.raw_code != 0 && gpu_driver_version(g) < 13000) /* its attribute is of CUDA 13 */
        gpu_skip(g, "the driver does not take it: %s", g->err.message);
    gpu_ok(g, code);
    slw_launchable *launchable = gpu_make_plain(g, loaded, "by_clusters", 64);
    slw_device_address out = gpu_zeros(g, g->device, sizeof(uint64_t));
    void *values[] = {&out};
    gpu_ok(g, gpu_try_launch(g, launchable, 5, default_stream, 1, values));
    const uint64_t got = gpu_read(g, g->device, out);
    const uint32_t sizes[] = {8}, grid[] = {10, 1, 1}, block[] = {64, 1, 1};
    const uint64_t wanted = g->control == NULL ? 10 : double_checksum(values, sizes, 1, grid, block, 0);
    if (g->control == NULL) gpu_figure("blocks", (double)got);
    gpu_require(got == wanted, "five clusters of two are %llu blocks", (unsigned long long)got);
    gpu_ok(g, slw_device_free(g->device, &out, &g->err));
    slw_launchable_discard(&launchable);
    slw_device_loaded_discard(&loaded);
    gpu_close(g);
}

/* ---- Loaded ------------------------------------------------------------------------------------------------------ */

/* Lazy loading is the driver's default: "launchable" means that nothing of it is left to do. */
void check_really_loaded(gpu *g) {
    cu_result (*is_loaded)(int *, void *) = NULL;
    cu_result (*mode_of)(int *) = NULL;
    int state = -1, mode = 0;
    if (g->control != NULL) g->control->set(DOUBLE_LAZY, 1);
    gpu_open(g);
    (void)gpu_symbol(g, "cuInit"); /* opens the library */
    void *const address = dlsym(g->handle, "cuFuncIsLoaded");
    if (address == NULL && gpu_driver_version(g) < 12040) gpu_skip(g, "this driver has no cuFuncIsLoaded");
    gpu_require(address != NULL, "a driver of 12.4 or later exports no cuFuncIsLoaded");
    memcpy(&is_loaded, &address, sizeof address);
    gpu_raw(g, mode_of, "cuModuleGetLoadingMode");
    gpu_figure("loading_mode", mode_of(&mode) == 0 ? mode : -1);
    slw_device_loaded *loaded = gpu_load(g, g->device, gpu_cubin(g, "check"));
    slw_launchable *first = gpu_make_plain(g, loaded, "first", 32);
    gpu_make_current(g);
    gpu_require(is_loaded(&state, slw_launchable_native_function(first)) == 0, "cuFuncIsLoaded fails");
    gpu_require(state == 1, "a launchable kernel is not loaded: %d", state);
    slw_launchable_discard(&first);
    slw_device_loaded_discard(&loaded);
    gpu_close(g);
}

/* The library gives its bytes back after the load. Here the driver alone: they are overwritten, and the kernel runs. */
void check_image_not_kept(gpu *g) {
    cu_result (*load)(void **, const void *) = NULL;
    cu_result (*function_of)(void **, void *, const char *) = NULL;
    cu_result (*unload)(void *) = NULL;
    cu_launch_kernel *launch = NULL;
    void *module = NULL, *function = NULL, *copy = NULL;
    gpu_open(g);
    gpu_raw(g, load, "cuModuleLoadData");
    gpu_raw(g, function_of, "cuModuleGetFunction");
    gpu_raw(g, unload, "cuModuleUnload");
    gpu_raw(g, launch, "cuLaunchKernel");
    gpu_make_current(g);
    const slw_bytes image = gpu_cubin(g, "check");
    gpu_require(posix_memalign(&copy, 64, image.size) == 0, "no memory");
    memcpy(copy, image.data, image.size);
    gpu_require(load(&module, copy) == 0, "cuModuleLoadData fails");
    memset(copy, 0xa5, image.size);
    gpu_require(function_of(&function, module, "no_such_kernel") != 0, "a kernel that is not there is found");
    gpu_require(function_of(&function, module, "first") == 0, "cuModuleGetFunction fails after the bytes are gone");
    slw_device_address sum = gpu_zeros(g, g->device, sizeof(uint64_t));
    void *values[] = {&sum};
    gpu_require(launch(function, 10, 1, 1, 32, 1, 1, 0, NULL, values, NULL) == 0, "cuLaunchKernel fails");
    gpu_require(gpu_read(g, g->device, sum) == 55, "another result after the bytes are gone");
    gpu_require(unload(module) == 0, "cuModuleUnload fails");
    gpu_ok(g, slw_device_free(g->device, &sum, &g->err));
    free(copy);
    gpu_close(g);
}
