/* The double of libcuda by itself, called as a program would: what it computes, and what it refuses to let pass. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../doubles/cuda/cuda_facts.h"
#include "double_loader.h"

/* ---- The library as a program sees it -------------------------------------------------------------------- */

#define CALLS(X)                                                                                                       \
    X(cuInit, (unsigned))                                                                                              \
    X(cuDriverGetVersion, (int *))                                                                                     \
    X(cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *))                                              \
    X(cuDeviceGetCount, (int *))                                                                                       \
    X(cuDeviceGetAttribute, (int *, int, int))                                                                         \
    X(cuDeviceGetName, (char *, int, int))                                                                             \
    X(cuDevicePrimaryCtxRetain, (void **, int))                                                                        \
    X(cuDevicePrimaryCtxRelease_v2, (int))                                                                             \
    X(cuCtxPushCurrent_v2, (void *))                                                                                   \
    X(cuCtxPopCurrent_v2, (void **))                                                                                   \
    X(cuCtxGetCurrent, (void **))                                                                                      \
    X(cuCtxGetId, (void *, unsigned long long *))                                                                      \
    X(cuCtxCreate_v2, (void **, unsigned, int))                                                                        \
    X(cuCtxDestroy_v2, (void *))                                                                                       \
    X(cuCtxSynchronize, (void))                                                                                        \
    X(cuThreadExchangeStreamCaptureMode, (int *))                                                                      \
    X(cuModuleLoadData, (void **, const void *))                                                                       \
    X(cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **))                                           \
    X(cuModuleUnload, (void *))                                                                                        \
    X(cuModuleGetFunction, (void **, void *, const char *))                                                            \
    X(cuModuleGetGlobal_v2, (uint64_t *, size_t *, void *, const char *))                                              \
    X(cuFuncGetAttribute, (int *, int, void *))                                                                        \
    X(cuFuncSetAttribute, (void *, int, int))                                                                          \
    X(cuFuncLoad, (void *))                                                                                            \
    X(cuFuncGetParamInfo, (void *, size_t, size_t *, size_t *))                                                        \
    X(cuLaunchKernel,                                                                                                  \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))        \
    X(cuLaunchKernelEx, (const dcu_config *, void *, void **, void **))                                                \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, void *, int, size_t))                                       \
    X(cuOccupancyMaxActiveClusters, (int *, void *, const dcu_config *))                                               \
    X(cuStreamCreate, (void **, unsigned))                                                                             \
    X(cuStreamDestroy_v2, (void *))                                                                                    \
    X(cuStreamQuery, (void *))                                                                                         \
    X(cuStreamSynchronize, (void *))                                                                                   \
    X(cuEventCreate, (void **, unsigned))                                                                              \
    X(cuEventRecord, (void *, void *))                                                                                 \
    X(cuEventQuery, (void *))                                                                                          \
    X(cuEventDestroy_v2, (void *))                                                                                     \
    X(cuMemAlloc_v2, (uint64_t *, size_t))                                                                             \
    X(cuMemFree_v2, (uint64_t))                                                                                        \
    X(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t))                                                               \
    X(cuMemcpyDtoH_v2, (void *, uint64_t, size_t))

#define DECLARE(name, arguments) static int(*name) arguments;
CALLS(DECLARE)

static slt_double d;

/* The library, found and not initialised. */
static void find(void) {
    slt_double_open(&d, "cuda");
#define FIND(name, arguments)                                                                                          \
    do {                                                                                                               \
        void *const found_ = slt_double_symbol(&d, #name);                                                             \
        memcpy(&name, &found_, sizeof found_);                                                                         \
    } while (0);
    CALLS(FIND)
}

#define ok(call) ck_assert_int_eq((call), DCU_OK)
#define violates(words)                                                                                                \
    do {                                                                                                               \
        ck_assert_uint_gt(d.control->violations(), 0);                                                                 \
        ck_assert_msg(strstr(d.control->violation(0), words) != NULL, "%s", d.control->violation(0));                  \
        d.control->forgive();                                                                                          \
    } while (0)

static void *context;
static char *image;
static size_t image_size;
static void *module;

/* With the first device's context current. */
static void start(void) {
    find();
    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxPushCurrent_v2(context));
}
static void load(const char *file) {
    image = slt_read_file(slt_fixture(file), &image_size);
    ok(cuModuleLoadData(&module, image));
}
static void *function(const char *name) {
    void *found = NULL;
    ok(cuModuleGetFunction(&found, module, name));
    return found;
}
static void stop(void) {
    if (module != NULL) ok(cuModuleUnload(module));
    ok(cuCtxPopCurrent_v2(NULL));
    ok(cuDevicePrimaryCtxRelease_v2(0));
    free(image);
    slt_double_check(&d);
}

/* ---- Order ----------------------------------------------------------------------------------------------- */

START_TEST(nothing_before_init) {
    find();
    int n = -1, version = 0;
    ok(cuDriverGetVersion(&version));
    ck_assert_int_eq(version, 13000);
    ck_assert_int_eq(d.control->violations(), 0);
    ck_assert_int_eq(cuDeviceGetCount(&n), DCU_NOT_INITIALIZED);
    ck_assert_int_eq(n, -1);
    violates("before cuInit");
    d.control->set(DOUBLE_DEVICES, 0);
    ck_assert_int_eq(cuInit(0), DCU_NO_DEVICE);
    d.control->set(DOUBLE_STUB, 1);
    ck_assert_int_eq(cuInit(0), DCU_STUB_LIBRARY);
    version = -1;
    ck_assert_int_eq(cuDriverGetVersion(&version), DCU_STUB_LIBRARY);
    ck_assert_int_eq(version, -1);
    d.control->reset();
    ok(cuInit(0));
    ok(cuDeviceGetCount(&n));
    ck_assert_int_eq(n, 2);
    d.control->set(DOUBLE_TORN_DOWN, 1);
    ck_assert_int_eq(cuDeviceGetCount(&n), DCU_DEINITIALIZED);
    slt_double_check(&d);
}
END_TEST

START_TEST(devices_are_two) {
    find();
    ok(cuInit(0));
    int major = 0, optin = 0, clusters = -1;
    char name[64];
    ok(cuDeviceGetAttribute(&major, DCU_DEV_MAJOR, 0));
    ok(cuDeviceGetAttribute(&optin, DCU_DEV_SHARED_OPTIN, 0));
    ck_assert_int_eq(major, 9);
    ck_assert_int_eq(optin, 232448);
    ok(cuDeviceGetAttribute(&clusters, DCU_DEV_CLUSTERS, 1));
    ck_assert_int_eq(clusters, 0);
    ok(cuDeviceGetName(name, sizeof name, 1));
    ck_assert_str_eq(name, "Tesla T4");
    ck_assert_int_eq(cuDeviceGetAttribute(&major, DCU_DEV_MAJOR, 2), DCU_INVALID_DEVICE);
    d.control->set(DOUBLE_SECOND_DEVICE, 80);
    ok(cuDeviceGetAttribute(&major, DCU_DEV_MAJOR, 1));
    ck_assert_int_eq(major, 8);
    d.control->set(DOUBLE_COMPUTE_MODE, 2);
    ck_assert_int_eq(cuDevicePrimaryCtxRetain(&context, 0), DCU_UNKNOWN);
}
END_TEST

START_TEST(contexts_are_counted) {
    start();
    void *again = NULL, *current = NULL;
    unsigned long long id = 0, later = 0;
    ok(cuDevicePrimaryCtxRetain(&again, 0));
    ck_assert_ptr_eq(again, context);
    ok(cuCtxGetId(context, &id));
    ok(cuCtxGetCurrent(&current));
    ck_assert_ptr_eq(current, context);
    ok(cuDevicePrimaryCtxRelease_v2(0));
    ck_assert_uint_eq(d.control->outstanding(NULL, 0), 1);
    ok(cuCtxPopCurrent_v2(&current));
    ok(cuDevicePrimaryCtxRelease_v2(0));
    slt_double_check(&d);
    ck_assert_int_eq(cuDevicePrimaryCtxRelease_v2(0), DCU_INVALID_CONTEXT);
    violates("more often");
    ok(cuDevicePrimaryCtxRetain(&again, 0));
    ok(cuCtxGetId(again, &later));
    ck_assert_uint_ne(id, later);
    ck_assert_int_eq(cuCtxPopCurrent_v2(NULL), DCU_INVALID_CONTEXT);
    violates("popped");
    ck_assert_int_eq(cuModuleLoadData(&module, "x"), DCU_INVALID_CONTEXT);
    violates("none current");
    ck_assert_int_eq(cuCtxPushCurrent_v2(&later), DCU_INVALID_CONTEXT);
    violates("no context");
    module = NULL;
}
END_TEST

static void *leave_pushed(void *arg) {
    ok(cuCtxPushCurrent_v2(arg));
    return NULL;
}
START_TEST(a_thread_that_ends_with_a_context_pushed) {
    start();
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, leave_pushed, context), 0);
    pthread_join(thread, NULL);
    violates("pushed and not popped");
    stop();
}
END_TEST

START_TEST(a_context_is_lost) {
    start();
    load("doubles/pair_sm90.cubin");
    void *const f = function("first");
    d.control->lose_context(0);
    unsigned long long id = 0;
    ck_assert_int_eq(cuCtxGetId(context, &id), DCU_CONTEXT_IS_DESTROYED);
    ck_assert_int_eq(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), DCU_INVALID_HANDLE);
    violates("unloaded module");
    ck_assert_int_eq(cuCtxSynchronize(), DCU_CONTEXT_IS_DESTROYED);
    ck_assert_int_eq(cuDevicePrimaryCtxRelease_v2(0), DCU_INVALID_CONTEXT); /* once, and nobody is blamed */
    ok(cuCtxPopCurrent_v2(NULL));
    slt_double_check(&d);
    free(image);
}
END_TEST

START_TEST(a_child_is_told_that_nothing_is_initialised) {
    start();
    const pid_t child = fork();
    if (child == 0) {
        int n = 0;
        _exit(cuInit(0) == DCU_NOT_INITIALIZED && cuDeviceGetCount(&n) == DCU_NOT_INITIALIZED ? 0 : 1);
    }
    int status = 1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    stop();
}
END_TEST

/* ---- Images ---------------------------------------------------------------------------------------------- */

START_TEST(every_cubin_of_the_fixtures) {
    static const struct {
        const char *file, *kernel;
        int code;
        int params, shared, threads;
    } rows[] = {
        {"doubles/pair_sm90.cubin", "second", DCU_OK, 1, 64, 1024},
        {"doubles/pair_sm75.cubin", "second", DCU_NO_BINARY_FOR_GPU, 0, 0, 0},
        {"doubles/cluster_sm90.cubin", "bounded", DCU_OK, 2, 0, 128},
        {"cubin/k1_sm90.cubin", "static_smem", DCU_OK, 1, 4096, 1024},
        {"cubin/k1_sm90.cubin", "many", DCU_OK, 33, 0, 1024},
        {"cubin/k1_sm90.cubin", "lb256", DCU_OK, 1, 0, 256},
        {"cubin/k1_sm90a.cubin", "mixed", DCU_OK, 9, 0, 1024},
        {"cubin/k1_sm80.cubin", "mixed", DCU_NO_BINARY_FOR_GPU, 0, 0, 0},
        {"cubin/k1_sm100.cubin", "mixed", DCU_NO_BINARY_FOR_GPU, 0, 0, 0},
        {"fatbin/k1.fatbin", "noparams", DCU_OK, 0, 0, 1024},
    };
    start();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t size = 0, offset = 0;
        if (access(slt_fixture(rows[i].file), R_OK) != 0) continue;
        char *const bytes = slt_read_file(slt_fixture(rows[i].file), &size);
        void *loaded = NULL, *f = NULL;
        ck_assert_msg(cuModuleLoadData(&loaded, bytes) == rows[i].code, "%s", rows[i].file);
        free(bytes); /* this double keeps nothing of an image */
        if (rows[i].code != DCU_OK) continue;
        int shared = -1, threads = -1, registers = -1;
        ok(cuModuleGetFunction(&f, loaded, rows[i].kernel));
        ok(cuFuncGetAttribute(&shared, DCU_FUNC_SHARED_SIZE_BYTES, f));
        ok(cuFuncGetAttribute(&threads, DCU_FUNC_MAX_THREADS_PER_BLOCK, f));
        ok(cuFuncGetAttribute(&registers, DCU_FUNC_NUM_REGS, f));
        ck_assert_int_eq(shared, rows[i].shared);
        ck_assert_int_eq(threads, rows[i].threads);
        ck_assert_int_gt(registers, 0);
        if (rows[i].params > 0) ok(cuFuncGetParamInfo(f, (size_t)rows[i].params - 1, &offset, &size));
        ck_assert_int_eq(cuFuncGetParamInfo(f, (size_t)rows[i].params, &offset, &size), DCU_INVALID_VALUE);
        ck_assert_int_eq(cuModuleGetFunction(&f, loaded, "nobody"), DCU_NOT_FOUND);
        ok(cuModuleUnload(loaded));
    }
    stop();
}
END_TEST

/* An image at the end of what can be read. */
START_TEST(a_short_image_is_noticed) {
    start();
    char *const bytes = slt_read_file(slt_fixture("doubles/pair_sm90.cubin"), &image_size);
    const size_t page = 4096, room = (image_size + page - 1) / page * page;
    char *const map = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(map, MAP_FAILED);
    ck_assert_int_eq(mprotect(map + room, page, PROT_NONE), 0);
    memcpy(map + room - image_size, bytes, image_size);
    ok(cuModuleLoadData(&module, map + room - image_size));
    ok(cuModuleUnload(module));
    ck_assert_uint_eq(d.control->violations(), 0);
    memcpy(map + room - image_size + 1, bytes, image_size - 1);
    ck_assert_int_eq(cuModuleLoadData(&module, map + room - image_size + 1), DCU_INVALID_IMAGE);
    violates("cannot all be read");
    memset(map, 'x', room);
    ck_assert_int_eq(cuModuleLoadData(&module, map), DCU_INVALID_IMAGE);
    violates("no NUL");
    munmap(map, room + page);
    free(bytes);
    module = NULL;
    stop();
}
END_TEST

START_TEST(ptx_is_compiled_or_not) {
    start();
    char log[256], info[256];
    int options[] = {DCU_JIT_ERROR_LOG, DCU_JIT_ERROR_LOG_SIZE, DCU_JIT_INFO_LOG, DCU_JIT_INFO_LOG_SIZE};
    void *values[] = {log, (void *)sizeof log, info, (void *)sizeof info};
    char *const text = slt_read_file(slt_fixture("doubles/pair.ptx"), &image_size);
    ok(cuModuleLoadDataEx(&module, text, 4, options, values));
    ck_assert_uint_eq((uintptr_t)values[1], 0);
    ck_assert_uint_gt((uintptr_t)values[3], 0);
    size_t offset = 0, size = 0;
    ok(cuFuncGetParamInfo(function("saxpy"), 2, &offset, &size));
    ck_assert_uint_eq(offset, 16);
    ck_assert_uint_eq(size, 8);
    ok(cuModuleUnload(module));
    d.control->set(DOUBLE_DRIVER_VERSION, 12080);
    values[1] = (void *)sizeof log;
    ck_assert_int_eq(cuModuleLoadDataEx(&module, text, 4, options, values), DCU_UNSUPPORTED_PTX_VERSION);
    ck_assert_uint_gt((uintptr_t)values[1], 0);
    ck_assert_msg(memmem(log, (uintptr_t)values[1], "Unsupported .version 9.0", 24) != NULL, "%.*s",
                  (int)(uintptr_t)values[1], log);
    d.control->set(DOUBLE_NO_JIT, 1);
    ck_assert_int_eq(cuModuleLoadData(&module, text), DCU_JIT_COMPILATION_DISABLED);
    d.control->set(DOUBLE_NO_JIT, 0);
    ck_assert_int_eq(cuModuleLoadData(&module, "no ptx"), DCU_INVALID_IMAGE);
    ck_assert_int_eq(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n.address_size 64\n"), DCU_INVALID_PTX);
    free(text);
    module = NULL;
    stop();
}
END_TEST

START_TEST(globals_belong_to_their_module) {
    start();
    load("doubles/pair_sm90.cubin");
    uint64_t address = 0;
    size_t size = 0;
    int value = 0;
    ok(cuModuleGetGlobal_v2(&address, &size, module, "slt_counter"));
    ck_assert_uint_eq(size, 4);
    ok(cuMemcpyDtoH_v2(&value, address, 4));
    ck_assert_int_eq(value, 7);
    ck_assert_int_eq(cuModuleGetGlobal_v2(&address, &size, module, "nobody"), DCU_NOT_FOUND);
    ok(cuModuleUnload(module));
    ck_assert(!d.control->is_memory(address, 4));
    ck_assert_int_eq(cuModuleUnload(module), DCU_INVALID_HANDLE);
    violates("an unloaded module");
    ck_assert_int_eq(cuModuleUnload(&value), DCU_INVALID_HANDLE);
    violates("no module");
    module = NULL;
    stop();
}
END_TEST

/* ---- Launches -------------------------------------------------------------------------------------------- */

static int launch(void *f, unsigned grid, unsigned block, unsigned shared, void *stream, void **params) {
    return cuLaunchKernel(f, grid, 1, 1, block, 1, 1, shared, stream, params, NULL);
}

START_TEST(kernels_compute) {
    start();
    load("doubles/pair_sm90.cubin");
    uint64_t sum = 0, x = 0, y = 0, result = 0;
    ok(cuMemAlloc_v2(&sum, 8));
    ok(cuMemAlloc_v2(&x, 4000));
    ok(cuMemAlloc_v2(&y, 4000));
    void *params[] = {&sum};
    ok(launch(function("first"), 4, 32, 0, NULL, params));
    ok(launch(function("second"), 4, 32, 0, NULL, params));
    ok(cuMemcpyDtoH_v2(&result, sum, 8));
    ck_assert_uint_eq(result, 10 + 20);
    float in[1000], out[1000];
    for (int i = 0; i < 1000; i++) in[i] = (float)i;
    ok(cuMemcpyHtoD_v2(x, in, sizeof in));
    ok(cuMemcpyHtoD_v2(y, in, sizeof in));
    float a = 3;
    int n = 1000;
    void *saxpy[] = {&a, &x, &y, &n};
    ok(launch(function("saxpy"), 8, 128, 0, NULL, saxpy));
    ok(cuMemcpyDtoH_v2(out, y, sizeof out));
    for (int i = 0; i < 1000; i++) ck_assert(out[i] == 4 * in[i]);
    /* Any other kernel leaves a checksum of what it was given. */
    unsigned number = 99;
    void *other[] = {&sum, &number};
    const uint32_t sizes[] = {8, 4}, grid[] = {2, 1, 1}, block[] = {64, 1, 1};
    ok(launch(function("shared_of_the_launch"), 2, 64, 1024, NULL, other));
    ok(cuMemcpyDtoH_v2(&result, sum, 8));
    ck_assert_uint_eq(result, double_checksum(other, sizes, 2, grid, block, 1024));
    ok(cuMemFree_v2(sum));
    ok(cuMemFree_v2(x));
    ok(cuMemFree_v2(y));
    ck_assert_int_eq(cuMemFree_v2(y), DCU_INVALID_VALUE);
    violates("not allocated");
    ck_assert_int_eq(d.control->get(DOUBLE_COUNT_LAUNCHES), 4);
    stop();
}
END_TEST

START_TEST(a_wild_pointer_kills_the_context) {
    start();
    load("doubles/pair_sm90.cubin");
    uint64_t nowhere = 64;
    void *params[] = {&nowhere}, *const f = function("first");
    ok(launch(f, 1, 32, 0, NULL, params));
    ck_assert_int_eq(cuCtxSynchronize(), DCU_ILLEGAL_ADDRESS);
    ck_assert_int_eq(launch(f, 1, 32, 0, NULL, params), DCU_ILLEGAL_ADDRESS);
    ck_assert_int_eq(cuModuleUnload(module), DCU_ILLEGAL_ADDRESS);
    module = NULL;
    stop();
}
END_TEST

START_TEST(limits_of_a_launch) {
    start();
    load("doubles/pair_sm90.cubin");
    uint64_t sum = 0;
    ok(cuMemAlloc_v2(&sum, 8));
    unsigned n = 0;
    void *params[] = {&sum, &n};
    void *const f = function("shared_of_the_launch"); /* 16 bytes static */
    ck_assert_int_eq(launch(f, 0, 32, 0, NULL, params), DCU_INVALID_VALUE);
    ck_assert_int_eq(launch(f, 1, 0, 0, NULL, params), DCU_INVALID_VALUE);
    ck_assert_int_eq(launch(f, 1, 1025, 0, NULL, params), DCU_INVALID_VALUE);
    ck_assert_int_eq(cuLaunchKernel(f, 1, 65536, 1, 1, 1, 1, 0, NULL, params, NULL), DCU_INVALID_VALUE);
    ck_assert_int_eq(launch(f, 1, 32, 0, NULL, NULL), DCU_INVALID_VALUE);
    int limit = 0;
    ok(cuFuncGetAttribute(&limit, DCU_FUNC_MAX_DYNAMIC_SHARED, f));
    ck_assert_int_eq(limit, 49152 - 16);
    ok(launch(f, 1, 32, 49152 - 16, NULL, params));
    ck_assert_int_eq(launch(f, 1, 32, 49152, NULL, params), DCU_INVALID_VALUE);
    ok(cuFuncSetAttribute(f, DCU_FUNC_MAX_DYNAMIC_SHARED, 232448 - 16));
    ok(launch(f, 1, 32, 232448 - 16, NULL, params));
    ck_assert_int_eq(cuFuncSetAttribute(f, DCU_FUNC_MAX_DYNAMIC_SHARED, 232448), DCU_INVALID_VALUE);
    violates("can be had");
    ok(cuFuncSetAttribute(f, DCU_FUNC_MAX_DYNAMIC_SHARED, 4096));
    violates("lowered");
    int blocks = 0;
    ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 1024, 0));
    ck_assert_int_eq(blocks, 2);
    ok(cuMemFree_v2(sum));
    stop();
}
END_TEST

START_TEST(clusters_and_cooperative_grids) {
    start();
    load("doubles/cluster_sm90.cubin");
    uint64_t out = 0;
    int n = 5, clusters = 0;
    ok(cuMemAlloc_v2(&out, 8));
    void *params[] = {&out, &n};
    ok(launch(function("of_two"), 4, 32, 0, NULL, params));
    ck_assert_int_eq(launch(function("of_two"), 3, 32, 0, NULL, params), DCU_INVALID_VALUE);
    ck_assert_int_eq(launch(function("bounded"), 1, 129, 0, NULL, params), DCU_INVALID_VALUE);
    dcu_attribute attribute = {.id = DCU_ATTR_CLUSTER_DIMENSION, .value.cluster = {4, 1, 1}};
    dcu_config config = {.grid = {16, 1, 1}, .block = {32, 1, 1}, .attributes = &attribute, .attribute_count = 1};
    ok(cuLaunchKernelEx(&config, function("free_size"), params, NULL));
    ck_assert_int_eq(cuLaunchKernelEx(&config, function("of_two"), params, NULL), DCU_INVALID_CLUSTER_SIZE);
    attribute.value.cluster.x = 2;
    ok(cuLaunchKernelEx(&config, function("of_two"), params, NULL));
    attribute.value.cluster.x = 16;
    ck_assert_int_eq(cuLaunchKernelEx(&config, function("free_size"), params, NULL), DCU_INVALID_CLUSTER_SIZE);
    ok(cuFuncSetAttribute(function("free_size"), DCU_FUNC_NON_PORTABLE_CLUSTER, 1));
    ok(cuLaunchKernelEx(&config, function("free_size"), params, NULL));
    ok(cuOccupancyMaxActiveClusters(&clusters, function("free_size"), &config));
    ck_assert_int_gt(clusters, 0);
    attribute = (dcu_attribute){.id = DCU_ATTR_COOPERATIVE, .value.number = 1};
    ok(cuLaunchKernelEx(&config, function("free_size"), params, NULL));
    config.grid[0] = 132 * 32 + 1;
    ck_assert_int_eq(cuLaunchKernelEx(&config, function("free_size"), params, NULL), DCU_COOPERATIVE_LAUNCH_TOO_LARGE);
    ok(cuMemFree_v2(out));
    stop();
}
END_TEST

START_TEST(work_that_has_not_ended) {
    start();
    load("doubles/pair_sm90.cubin");
    uint64_t sum = 0, result = 0;
    void *stream = NULL, *event = NULL;
    ok(cuMemAlloc_v2(&sum, 8));
    ok(cuStreamCreate(&stream, 1));
    ok(cuEventCreate(&event, 2));
    void *params[] = {&sum};
    d.control->set(DOUBLE_HOLD, 1);
    ok(launch(function("first"), 4, 32, 0, stream, params));
    ok(cuEventRecord(event, stream));
    ck_assert_int_eq(cuStreamQuery(stream), DCU_NOT_READY);
    ck_assert_int_eq(cuEventQuery(event), DCU_NOT_READY);
    ok(cuStreamQuery(NULL));
    void *second = NULL, *f = NULL;
    ok(cuModuleLoadData(&second, image));
    ok(cuModuleGetFunction(&f, second, "first"));
    ok(launch(f, 1, 32, 0, stream, params));
    ok(cuModuleUnload(second));
    violates("has not ended");
    d.control->set(DOUBLE_HOLD, 0);
    ok(cuEventQuery(event));
    ok(cuStreamSynchronize(stream));
    ok(cuMemcpyDtoH_v2(&result, sum, 8));
    ck_assert_uint_eq(result, 11);
    ok(cuEventDestroy_v2(event));
    ok(cuStreamDestroy_v2(stream));
    ok(cuMemFree_v2(sum));
    ck_assert_int_eq(launch(f, 1, 32, 0, NULL, params), DCU_INVALID_HANDLE);
    violates("unloaded module");
    stop();
}
END_TEST

START_TEST(another_context_is_the_wrong_one) {
    start();
    load("doubles/pair_sm90.cubin");
    void *own = NULL, *f = function("first"), *found = NULL;
    uint64_t sum = 0;
    void *params[] = {&sum};
    ok(cuCtxCreate_v2(&own, 0, 0));
    ck_assert_int_eq(launch(f, 1, 32, 0, NULL, params), DCU_INVALID_HANDLE);
    violates("another context");
    ck_assert_int_eq(cuModuleUnload(module), DCU_INVALID_CONTEXT);
    violates("another context");
    ck_assert_int_eq(cuModuleGetFunction(&found, module, "first"), DCU_INVALID_CONTEXT);
    violates("another context");
    ck_assert_uint_eq(d.control->outstanding(NULL, 0), 3);
    ok(cuCtxDestroy_v2(own));
    stop();
}
END_TEST

START_TEST(the_launch_that_kills) {
    start();
    load("doubles/pair_sm90.cubin");
    uint64_t sum = 0;
    ok(cuMemAlloc_v2(&sum, 8));
    void *params[] = {&sum};
    d.control->set(DOUBLE_STICKY_CODE, 719);
    d.control->set(DOUBLE_STICKY_AFTER, 2);
    ok(launch(function("first"), 1, 32, 0, NULL, params));
    ok(launch(function("first"), 1, 32, 0, NULL, params));
    ck_assert_int_eq(launch(module, 1, 32, 0, NULL, params), DCU_INVALID_HANDLE);
    d.control->forgive();
    void *f = NULL;
    ck_assert_int_eq(cuModuleGetFunction(&f, module, "first"), 719);
    ck_assert_int_eq(cuMemFree_v2(sum), 719);
    ck_assert_int_eq(cuModuleUnload(module), 719);
    module = NULL;
    stop();
}
END_TEST

START_TEST(lazy_loading_shows) {
    start();
    d.control->set(DOUBLE_LAZY, 1);
    load("doubles/pair_sm90.cubin");
    uint64_t sum = 0;
    ok(cuMemAlloc_v2(&sum, 8));
    void *params[] = {&sum};
    ok(launch(function("first"), 1, 32, 0, NULL, params));
    violates("loaded only now");
    ok(cuFuncLoad(function("second")));
    ok(launch(function("second"), 1, 32, 0, NULL, params));
    ok(cuMemFree_v2(sum));
    stop();
}
END_TEST

START_TEST(a_capture_is_broken_by_the_careless) {
    start();
    d.control->set(DOUBLE_CAPTURE, 1);
    image = slt_read_file(slt_fixture("doubles/pair_sm90.cubin"), &image_size);
    ck_assert_int_eq(cuModuleLoadData(&module, image), DCU_STREAM_CAPTURE_UNSUPPORTED);
    ck_assert_int_eq(d.control->get(DOUBLE_CAPTURES_BROKEN), 1);
    int mode = DCU_CAPTURE_RELAXED;
    ok(cuThreadExchangeStreamCaptureMode(&mode));
    ck_assert_int_eq(mode, DCU_CAPTURE_GLOBAL);
    ok(cuModuleLoadData(&module, image));
    ok(cuModuleUnload(module));
    ck_assert_int_ne(d.control->thread_balance(), 0);
    mode = DCU_CAPTURE_GLOBAL;
    ok(cuThreadExchangeStreamCaptureMode(&mode));
    ck_assert_int_eq(d.control->get(DOUBLE_CAPTURES_BROKEN), 1);
    module = NULL;
    d.control->set(DOUBLE_CAPTURE, 0);
    stop();
}
END_TEST

/* ---- Control --------------------------------------------------------------------------------------------- */

START_TEST(entry_points_by_version) {
    start();
    void *found = NULL, *older = NULL;
    int status = -1;
    ok(cuGetProcAddress_v2("cuCtxSynchronize", &older, 2000, 1, &status));
    ck_assert_int_eq(status, DCU_SYMBOL_FOUND);
    ok(cuGetProcAddress_v2("cuCtxSynchronize", &found, 13000, 1, &status));
    ck_assert_ptr_ne(found, older);
    int (*newer)(void *) = NULL;
    memcpy(&newer, &found, sizeof found);
    ok(newer(context));
    violates("as of 13.0");
    ok(cuGetProcAddress_v2("cuMemAlloc", &found, 3020, 1, &status));
    ck_assert_ptr_eq(found, slt_double_symbol(&d, "cuMemAlloc_v2"));
    ok(cuGetProcAddress_v2("cuFuncLoad", &found, 12000, 1, &status));
    ck_assert_ptr_null(found);
    ck_assert_int_eq(status, DCU_SYMBOL_TOO_NEW);
    ok(cuGetProcAddress_v2("cuNobody", &found, 12000, 1, &status));
    ck_assert_ptr_null(found);
    ck_assert_int_eq(status, DCU_SYMBOL_NOT_FOUND);
    d.control->set(DOUBLE_DRIVER_VERSION, 12020);
    ck_assert_int_eq(cuGetProcAddress_v2("cuFuncLoad", &found, 12040, 1, &status), DCU_INVALID_VALUE);
    ok(cuGetProcAddress_v2("cuFuncLoad", &found, 12020, 1, &status));
    ck_assert_ptr_null(found);
    ck_assert(d.control->hidden("cuFuncLoad"));
    ck_assert(!d.control->hidden("cuFuncGetAttribute"));
    ck_assert(!d.control->hidden("cuGetProcAddress_v2"));
    d.control->set(DOUBLE_DRIVER_VERSION, 11040);
    ck_assert(d.control->hidden("cuGetProcAddress_v2"));
    ck_assert(!d.control->hidden("cuGetProcAddress"));
    d.control->hide("cuMemAlloc");
    ck_assert(d.control->hidden("cuMemAlloc_v2"));
    ok(cuGetProcAddress_v2("cuMemAlloc", &found, 3020, 1, &status));
    ck_assert_ptr_null(found);
    int (*old)(void) = NULL;
    void *const symbol = slt_double_symbol(&d, "cuMemAlloc");
    memcpy(&old, &symbol, sizeof symbol);
    ck_assert_int_ne(old(), DCU_OK);
    violates("older interface");
    stop();
}
END_TEST

START_TEST(calls_fail_when_told) {
    start();
    ck_assert(!d.control->inject("cuNobody", 1, 2, 1));
    ck_assert(d.control->inject("cuModuleLoadData", 2, 2, 1));
    d.control->log_clear();
    load("doubles/pair_sm90.cubin");
    void *second = NULL;
    ck_assert_int_eq(cuModuleLoadData(&second, image), 2);
    ck_assert_ptr_null(second);
    ck_assert_uint_eq(d.control->failed(), 1);
    ok(cuModuleLoadData(&second, image));
    ck_assert_uint_eq(d.control->count("cuModuleLoadData"), 3);
    /* What gives something back does so all the same. */
    d.control->inject("cuModuleUnload", 1, 700, 1);
    ck_assert_int_eq(cuModuleUnload(second), 700);
    ck_assert_int_eq(d.control->get(DOUBLE_LIVE_MODULES), 1);
    double_call call;
    ck_assert(d.control->log_at(1, &call));
    ck_assert_str_eq(call.name, "cuModuleLoadData");
    ck_assert_int_eq(call.code, 2);
    ck_assert_uint_eq(d.control->log_size(), 4);
    ck_assert(!d.control->log_at(4, &call));
    stop();
}
END_TEST

static void *use(void *arg) {
    (void)arg;
    ok(cuCtxPushCurrent_v2(context));
    for (int i = 0; i < 50; i++) {
        void *mine = NULL, *f = NULL, *stream = NULL;
        uint64_t sum = 0, result = 0;
        ok(cuModuleLoadData(&mine, image));
        ok(cuModuleGetFunction(&f, mine, "first"));
        ok(cuMemAlloc_v2(&sum, 8));
        ok(cuStreamCreate(&stream, 1));
        void *params[] = {&sum};
        ok(launch(f, 10, 32, 0, stream, params));
        ok(cuStreamSynchronize(stream));
        ok(cuMemcpyDtoH_v2(&result, sum, 8));
        ck_assert_uint_eq(result, 55);
        ok(cuStreamDestroy_v2(stream));
        ok(cuMemFree_v2(sum));
        ok(cuModuleUnload(mine));
    }
    ok(cuCtxPopCurrent_v2(NULL));
    return NULL;
}
START_TEST(many_threads) {
    start();
    load("doubles/pair_sm90.cubin");
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, use, NULL), 0);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    stop();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("double of libcuda");
    TCase *tcase = tcase_create("double");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, nothing_before_init);
    tcase_add_test(tcase, devices_are_two);
    tcase_add_test(tcase, contexts_are_counted);
    tcase_add_test(tcase, a_thread_that_ends_with_a_context_pushed);
    tcase_add_test(tcase, a_context_is_lost);
    tcase_add_test(tcase, a_child_is_told_that_nothing_is_initialised);
    tcase_add_test(tcase, every_cubin_of_the_fixtures);
    tcase_add_test(tcase, a_short_image_is_noticed);
    tcase_add_test(tcase, ptx_is_compiled_or_not);
    tcase_add_test(tcase, globals_belong_to_their_module);
    tcase_add_test(tcase, kernels_compute);
    tcase_add_test(tcase, a_wild_pointer_kills_the_context);
    tcase_add_test(tcase, limits_of_a_launch);
    tcase_add_test(tcase, clusters_and_cooperative_grids);
    tcase_add_test(tcase, work_that_has_not_ended);
    tcase_add_test(tcase, another_context_is_the_wrong_one);
    tcase_add_test(tcase, the_launch_that_kills);
    tcase_add_test(tcase, lazy_loading_shows);
    tcase_add_test(tcase, a_capture_is_broken_by_the_careless);
    tcase_add_test(tcase, entry_points_by_version);
    tcase_add_test(tcase, calls_fail_when_told);
    tcase_add_test(tcase, many_threads);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
