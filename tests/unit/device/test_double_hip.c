/* The double of libamdhip64 by itself. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "../../doubles/hip/hip_facts.h"
#include "double_loader.h"

#define CALLS(X)                                                                                                       \
    X(hipInit, (unsigned))                                                                                             \
    X(hipGetDeviceCount, (int *))                                                                                      \
    X(hipRuntimeGetVersion, (int *))                                                                                   \
    X(hipSetDevice, (int))                                                                                             \
    X(hipGetDevice, (int *))                                                                                           \
    X(hipDeviceGetAttribute, (int *, int, int))                                                                        \
    X(hipGetDevicePropertiesR0600, (void *, int))                                                                      \
    X(hipGetDeviceProperties, (void *, int))                                                                           \
    X(hipGetLastError, (void))                                                                                         \
    X(hipDeviceSynchronize, (void))                                                                                    \
    X(hipModuleLoadData, (void **, const void *))                                                                      \
    X(hipModuleUnload, (void *))                                                                                       \
    X(hipModuleGetFunction, (void **, void *, const char *))                                                           \
    X(hipModuleGetGlobal, (uint64_t *, size_t *, void *, const char *))                                                \
    X(hipFuncGetAttribute, (int *, int, void *))                                                                       \
    X(hipModuleLaunchKernel,                                                                                           \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))        \
    X(hipModuleLaunchCooperativeKernel,                                                                                \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **))                 \
    X(hipStreamCreateWithFlags, (void **, unsigned))                                                                   \
    X(hipStreamDestroy, (void *))                                                                                      \
    X(hipStreamQuery, (void *))                                                                                        \
    X(hipStreamSynchronize, (void *))                                                                                  \
    X(hipEventCreateWithFlags, (void **, unsigned))                                                                    \
    X(hipEventRecord, (void *, void *))                                                                                \
    X(hipEventQuery, (void *))                                                                                         \
    X(hipEventDestroy, (void *))                                                                                       \
    X(hipMalloc, (void **, size_t))                                                                                    \
    X(hipFree, (void *))                                                                                               \
    X(hipMemcpyHtoD, (void *, const void *, size_t))                                                                   \
    X(hipMemcpyDtoH, (void *, void *, size_t))

#define DECLARE(name, arguments) static int(*name) arguments;
CALLS(DECLARE)

static slt_double d;
static char *image;
static size_t image_size;
static void *module;

static void find(void) {
    slt_double_open(&d, "hip");
#define FIND(name, arguments)                                                                                          \
    do {                                                                                                               \
        void *const found_ = slt_double_symbol(&d, #name);                                                             \
        memcpy(&name, &found_, sizeof found_);                                                                         \
    } while (0);
    CALLS(FIND)
}

#define ok(call) ck_assert_int_eq((call), DHIP_OK)
#define violates(words)                                                                                                \
    do {                                                                                                               \
        ck_assert_uint_gt(d.control->violations(), 0);                                                                 \
        ck_assert_msg(strstr(d.control->violation(0), words) != NULL, "%s", d.control->violation(0));                  \
        d.control->forgive();                                                                                          \
    } while (0)

static void start(void) {
    find();
    ok(hipInit(0));
}
static void load(const char *file) {
    image = slt_read_file(slt_fixture(file), &image_size);
    ok(hipModuleLoadData(&module, image));
}
static void *function(const char *name) {
    void *found = NULL;
    ok(hipModuleGetFunction(&found, module, name));
    return found;
}
static void stop(void) {
    if (module != NULL) ok(hipModuleUnload(module));
    free(image);
    slt_double_check(&d);
}
static int launch(void *f, unsigned grid, unsigned block, unsigned shared, void *stream, void **params) {
    return hipModuleLaunchKernel(f, grid, 1, 1, block, 1, 1, shared, stream, params, NULL);
}

/* What was measured of the real library without a device. */
START_TEST(no_device) {
    find();
    d.control->set(DOUBLE_DEVICES, 0);
    int n = -1, version = 0;
    void *none = &n;
    ck_assert_int_eq(hipGetDeviceCount(&n), DHIP_NO_DEVICE);
    ck_assert_int_eq(n, 0);
    ck_assert_int_eq(hipInit(0), DHIP_INVALID_DEVICE);
    ck_assert_int_eq(hipInit(1), DHIP_INVALID_DEVICE);
    ok(hipRuntimeGetVersion(&version));
    ck_assert_int_eq(version, 60342131);
    n = -1;
    ck_assert_int_eq(hipGetDevice(&n), DHIP_INVALID_DEVICE);
    ck_assert_int_eq(n, -1);
    ck_assert_int_eq(hipModuleLoadData(&none, "x"), DHIP_INVALID_DEVICE);
    ck_assert_ptr_eq(none, &n);
    ck_assert_int_eq(hipModuleUnload(NULL), DHIP_INVALID_DEVICE);
    ck_assert_int_eq(hipGetLastError(), DHIP_INVALID_DEVICE);
    slt_double_check(&d);
}
END_TEST

START_TEST(order_of_calls) {
    find();
    image = slt_read_file(slt_fixture("doubles/pair_gfx942.hsaco"), &image_size);
    ck_assert_int_eq(hipModuleLoadData(&module, image), DHIP_SHARED_OBJECT_INIT_FAILED);
    violates("before hipInit");
    ok(hipInit(0));
    ck_assert_int_eq(hipGetLastError(), DHIP_SHARED_OBJECT_INIT_FAILED);
    ok(hipGetLastError());
    const pid_t child = fork();
    if (child == 0) _exit(hipSetDevice(0) == DHIP_NOT_INITIALIZED ? 0 : 1);
    int status = 1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(hipModuleUnload(NULL), DHIP_INVALID_HANDLE);
    ck_assert_int_eq(hipModuleUnload(image), DHIP_NOT_FOUND);
    violates("no module");
    d.control->set(DOUBLE_TORN_DOWN, 1);
    ck_assert_int_eq(hipSetDevice(0), DHIP_DEINITIALIZED);
    module = NULL;
    stop();
}
END_TEST

START_TEST(devices_are_two) {
    start();
    char old[DHIP_OLD_PROPERTIES_SIZE], fresh[DHIP_NEW_PROPERTIES_SIZE];
    int warp = 0;
    ok(hipGetDevicePropertiesR0600(fresh, 0));
    ck_assert_str_eq(fresh + DHIP_NEW_ARCH_NAME, "gfx942:sramecc+:xnack-");
    ok(hipGetDeviceProperties(old, 1));
    ck_assert_str_eq(old + DHIP_OLD_ARCH_NAME, "gfx90a:sramecc+:xnack-");
    d.control->set(DOUBLE_SECOND_DEVICE, 0x1100);
    ok(hipDeviceGetAttribute(&warp, DHIP_DEV_WARP, 1));
    ck_assert_int_eq(warp, 32);
    ck_assert_int_eq(hipSetDevice(2), DHIP_INVALID_DEVICE);
    ck_assert(!d.control->hidden("hipGetDevicePropertiesR0600"));
    d.control->set(DOUBLE_DRIVER_VERSION, 50221153);
    ck_assert(d.control->hidden("hipGetDevicePropertiesR0600"));
    ck_assert(d.control->hidden("hipModuleLaunchCooperativeKernel"));
    stop();
}
END_TEST

START_TEST(targets) {
    static const struct {
        const char *file;
        long second;
        int code;
    } rows[] = {
        {"hsaco/k_gfx942.hsaco", 0x942, DHIP_OK},
        {"hsaco/k_gfx90a.hsaco", 0x90a, DHIP_OK},
        {"hsaco/k_gfx90a_srameccp_xnackm.hsaco", 0x90a, DHIP_OK},
        {"hsaco/k_gfx90a_xnackp.hsaco", 0x90a, DHIP_NO_BINARY_FOR_GPU},
        {"hsaco/k_gfx906.hsaco", 0x90a, DHIP_NO_BINARY_FOR_GPU},
        {"hsaco/k_gfx1100.hsaco", 0x1100, DHIP_OK},
        {"hsaco/k.bundle", 0x90a, DHIP_OK},
        {"cubin/k1_sm90.cubin", 0x90a, DHIP_INVALID_IMAGE},
    };
    start();
    ok(hipSetDevice(1));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *loaded = NULL, *f = NULL;
        int threads = 0;
        if (access(slt_fixture(rows[i].file), R_OK) != 0) continue;
        d.control->set(DOUBLE_SECOND_DEVICE, rows[i].second);
        char *const bytes = slt_read_file(slt_fixture(rows[i].file), &image_size);
        const int code = hipModuleLoadData(&loaded, bytes);
        ck_assert_msg(code == rows[i].code, "%s: %d", rows[i].file, code);
        if (code == DHIP_OK && strstr(rows[i].file, "/k_gfx") != NULL) {
            ok(hipModuleGetFunction(&f, loaded, "lb256"));
            ok(hipFuncGetAttribute(&threads, DHIP_FUNC_MAX_THREADS, f));
            ck_assert_int_eq(threads, 256);
        }
        if (code == DHIP_OK) ok(hipModuleUnload(loaded));
        free(bytes);
    }
    ok(hipSetDevice(0));
    stop();
}
END_TEST

START_TEST(kernels_compute) {
    start();
    load("doubles/pair_gfx942.hsaco");
    void *sum = NULL;
    uint64_t result = 0, address = 0;
    size_t size = 0;
    int value = 0, shared = 0;
    ok(hipMalloc(&sum, 8));
    void *params[] = {&sum};
    ok(launch(function("first"), 4, 64, 0, NULL, params));
    ok(launch(function("second"), 4, 64, 0, NULL, params));
    ok(hipMemcpyDtoH(&result, sum, 8));
    ck_assert_uint_eq(result, 30);
    ok(hipModuleGetGlobal(&address, &size, module, "slt_counter"));
    ck_assert_uint_eq(size, 4);
    ok(hipMemcpyDtoH(&value, (void *)(uintptr_t)address, 4));
    ck_assert_int_eq(value, 7);
    ok(hipFuncGetAttribute(&shared, DHIP_FUNC_SHARED, function("second")));
    ck_assert_int_eq(shared, 64);
    ok(hipFree(sum));
    stop();
}
END_TEST

START_TEST(limits_of_a_launch) {
    start();
    load("hsaco/k_gfx942.hsaco");
    void *memory = NULL;
    ok(hipMalloc(&memory, 4096));
    void *params[] = {&memory};
    void *const f = function("lb256");
    ck_assert_int_eq(launch(NULL, 1, 1, 0, NULL, params), DHIP_INVALID_HANDLE);
    ck_assert_int_eq(launch(f, 0, 1, 0, NULL, params), DHIP_INVALID_VALUE);
    ck_assert_int_eq(launch(f, 1, 0, 0, NULL, params), DHIP_INVALID_VALUE);
    ck_assert_int_eq(launch(f, 1u << 31, 2, 0, NULL, params), DHIP_INVALID_CONFIGURATION);
    ck_assert_int_eq(launch(f, 1, 1025, 0, NULL, params), DHIP_INVALID_VALUE);
    ck_assert_int_eq(launch(f, 1, 257, 0, NULL, params), DHIP_LAUNCH_FAILURE);
    ok(launch(f, 1, 256, 0, NULL, params)); /* not sticky */
    ck_assert_int_eq(launch(f, 1, 256, 65537, NULL, params), DHIP_INVALID_VALUE);
    ck_assert_int_eq(launch(f, 1, 256, 0, NULL, NULL), DHIP_INVALID_VALUE);
    ck_assert_int_eq(hipModuleLaunchKernel(f, 1, 65537, 1, 1, 1, 1, 0, NULL, params, NULL), DHIP_INVALID_VALUE);
    ck_assert_int_eq(hipModuleLaunchCooperativeKernel(f, 304 * 32 + 1, 1, 1, 64, 1, 1, 0, NULL, params),
                     DHIP_COOPERATIVE_LAUNCH_TOO_LARGE);
    void *extra[] = {NULL};
    ck_assert_int_eq(hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, extra), DHIP_INVALID_VALUE);
    ok(hipFree(memory));
    stop();
}
END_TEST

START_TEST(an_image_belongs_to_its_module) {
    start();
    load("doubles/pair_gfx942.hsaco");
    image[200] = (char)(image[200] + 1);
    ok(hipModuleUnload(module));
    violates("has changed");
    char *const copy = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    image[200] = (char)(image[200] - 1);
    memcpy(copy, image, image_size);
    ok(hipModuleLoadData(&module, copy));
    munmap(copy, 65536);
    ok(hipModuleUnload(module));
    violates("is gone");
    const int fd = open(slt_fixture("doubles/pair_gfx942.hsaco"), O_RDONLY);
    void *const mapped = mmap(NULL, image_size, PROT_READ, MAP_PRIVATE, fd, 0);
    ck_assert_ptr_ne(mapped, MAP_FAILED);
    ok(hipModuleLoadData(&module, mapped));
    violates("file's mapping");
    ok(hipModuleUnload(module));
    munmap(mapped, image_size);
    close(fd);
    module = NULL;
    stop();
}
END_TEST

START_TEST(another_device_is_the_end) {
    start();
    load("doubles/pair_gfx942.hsaco");
    ok(hipSetDevice(1));
    void *f = NULL;
    (void)hipModuleGetFunction(&f, module, "first"); /* aborts */
}
END_TEST

START_TEST(work_that_has_not_ended) {
    start();
    load("doubles/pair_gfx942.hsaco");
    void *sum = NULL, *stream = NULL, *event = NULL;
    ok(hipMalloc(&sum, 8));
    ok(hipStreamCreateWithFlags(&stream, 1));
    ok(hipEventCreateWithFlags(&event, 2));
    void *params[] = {&sum};
    d.control->set(DOUBLE_HOLD, 1);
    ok(launch(function("first"), 4, 64, 0, stream, params));
    ok(hipEventRecord(event, stream));
    ck_assert_int_eq(hipStreamQuery(stream), DHIP_NOT_READY);
    ck_assert_int_eq(hipEventQuery(event), DHIP_NOT_READY);
    void *second = NULL, *f = NULL;
    ok(hipModuleLoadData(&second, image));
    ok(hipModuleGetFunction(&f, second, "first"));
    ok(launch(f, 1, 64, 0, stream, params));
    ok(hipModuleUnload(second));
    violates("has not ended");
    d.control->set(DOUBLE_HOLD, 0);
    ok(hipStreamSynchronize(stream));
    ok(hipEventQuery(event));
    d.control->set(DOUBLE_STICKY_AFTER, 1);
    ok(launch(function("first"), 1, 64, 0, stream, params));
    ck_assert_int_eq(hipDeviceSynchronize(), DHIP_ILLEGAL_ADDRESS);
    ck_assert_int_eq(hipFree(sum), DHIP_ILLEGAL_ADDRESS);
    ck_assert_int_eq(hipEventDestroy(event), DHIP_ILLEGAL_ADDRESS);
    ck_assert_int_eq(hipStreamDestroy(stream), DHIP_ILLEGAL_ADDRESS);
    ck_assert_int_eq(hipModuleUnload(module), DHIP_ILLEGAL_ADDRESS);
    module = NULL;
    stop();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("double of libamdhip64");
    TCase *tcase = tcase_create("double");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, no_device);
    tcase_add_test(tcase, order_of_calls);
    tcase_add_test(tcase, devices_are_two);
    tcase_add_test(tcase, targets);
    tcase_add_test(tcase, kernels_compute);
    tcase_add_test(tcase, limits_of_a_launch);
    tcase_add_test(tcase, an_image_belongs_to_its_module);
    tcase_add_test_raise_signal(tcase, another_device_is_the_end, SIGABRT);
    tcase_add_test(tcase, work_that_has_not_ended);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
