/* Pitfall 10: kernels of Triton 3.2, 3.4 and 3.9 have none, one and two pointers behind the caller's parameters. The
 * driver is given an array and no count: one pointer short and it reads past the end. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "double_kit.h"

#define TRITON "tests/fixtures/triton/"

typedef struct release {
    const char *entry; /* without .cubin and .json */
    const char *device;
    uint32_t trailing;
} release;

static const release releases[] = {
    {TRITON "cache-3.2.0/5LT7HwvoxThOW9-xXnBIchfkE0_VBOzpnPwPTgyjbt4/add_kernel", "sm_90", 0},
    {TRITON "cache-3.4.0/CD5X3A7QZOFZQ3PPCA7VGHYEIOLHOHWFRVA6D4HMJP4BQGDZ53LQ/add_kernel", "sm_80", 1},
    {TRITON "cache-3.9.0/FGGMM25E5SZY2PV6VZO3BB4CSSX72YBYBM7MSJJG4M5BA7DHFDYA/add_kernel", "sm_90", 2},
};
#define RELEASES ((int)(sizeof releases / sizeof releases[0]))

enum { N = 1000, CALLERS = 4 };

static dk world;

static void setup(void) {
    dk_open(&world);
}
static void teardown(void) {
    dk_close(&world);
}

/* So many pointers at the end of a page that nothing can be read behind. */
static void **at_the_edge(uint32_t count) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *const pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pages, MAP_FAILED);
    ck_assert_int_eq(mprotect(pages + page, page, PROT_NONE), 0);
    return (void **)(void *)(pages + page - count * sizeof(void *));
}

static slw_launchable *make(const release *r, uint32_t *threads) {
    char binary[512], metadata[512];
    (void)snprintf(binary, sizeof binary, "%s.cubin", r->entry);
    (void)snprintf(metadata, sizeof metadata, "%s.json", r->entry);
    slw_device_loaded *loaded = dk_load(&world, binary, metadata);
    const slw_kernel_contract *const kernel = &slw_device_loaded_contract(loaded)->kernels[0];
    uint32_t trailing = 0;
    for (uint32_t i = 0; i < kernel->param_count; i++) trailing += kernel->params[i].role != SLW_ROLE_CALLER;
    ck_assert_uint_eq(trailing, r->trailing);
    ck_assert_uint_eq(kernel->param_count, CALLERS + r->trailing);
    slw_launchable *launchable = dk_make(&world, loaded, NULL, 0); /* the block is the metadata's */
    *threads = kernel->required_threads[0];
    slw_device_loaded_discard(&loaded);
    return launchable;
}

static slw_device_address floats(float first, float step) {
    static float values[N];
    slw_device_address address = 0;
    for (int i = 0; i < N; i++) values[i] = first + step * (float)i;
    slt_ok(slw_device_alloc(world.device, sizeof values, &address, &world.err), &world.err);
    slt_ok(slw_device_copy_in(world.device, address, values, sizeof values, &world.err), &world.err);
    return address;
}

START_TEST(the_caller_passes_its_own) {
    const release *const r = &releases[_i];
    uint32_t threads = 0;
    if (strcmp(r->device, "sm_80") == 0) { /* the double has one as its second device */
        slt_ok(slw_device_free(world.device, &world.out, &world.err), &world.err);
        slw_device_close(&world.device);
        world.d.control->set(DOUBLE_SECOND_DEVICE, 80);
        slt_gpu_open(&world.d, "cuda", 1, &world.heap.allocator, &world.device);
    }
    slw_launchable *launchable = make(r, &threads);
    slw_device_address x = floats(0, 1), y = floats(1, 2), sum = floats(0, 0);
    int n = N;
    void **values = at_the_edge(CALLERS);
    values[0] = &x;
    values[1] = &y;
    values[2] = &sum;
    values[3] = &n;
    world.d.control->log_clear();
    for (uint32_t count = 0; count < CALLERS + 4; count++) {
        if (count == CALLERS) continue;
        ck_assert_int_eq(dk_launch(&world, launchable, 1, count, values), SLW_E_INVALID_LAUNCH);
        ck_assert_str_eq(world.err.reason, "BAD_COUNT");
        ck_assert_uint_eq(world.err.required, count);
        ck_assert_uint_eq(world.err.limit, CALLERS);
    }
    ck_assert_uint_eq(world.d.control->count(NULL), 0);
    slt_ok(dk_launch(&world, launchable, 1, CALLERS, values), &world.err);
    ck_assert_uint_eq(world.d.control->count("cuLaunchKernel"), 1);
    static float got[N];
    slt_ok(slw_device_copy_out(world.device, got, sum, sizeof got, &world.err), &world.err);
    for (int i = 0; i < N; i++) ck_assert_msg(got[i] == 1 + 3 * (float)i, "element %d is %g", i, (double)got[i]);
    slt_ok(slw_device_free(world.device, &x, &world.err), &world.err);
    slt_ok(slw_device_free(world.device, &y, &world.err), &world.err);
    slt_ok(slw_device_free(world.device, &sum, &world.err), &world.err);
    slw_launchable_discard(&launchable);
}
END_TEST

/* Sizes, where the caller says them, are the binary's. */
START_TEST(sizes_are_compared) {
    uint32_t threads = 0;
    slw_launchable *launchable = make(&releases[0], &threads);
    slw_device_address none = 0;
    int n = 0;
    void *values[CALLERS] = {&none, &none, &none, &n};
    uint32_t sizes[CALLERS] = {8, 8, 8, 8};
    const slw_stream stream = SLW_STREAM_DEFAULT;
    slw_grid grid = SLW_GRID_INIT;
    slw_args args = SLW_ARGS_INIT;
    grid.extent[0] = grid.extent[1] = grid.extent[2] = 1;
    args.count = CALLERS;
    args.values = values;
    args.sizes_bytes = sizes;
    world.d.control->log_clear();
    ck_assert_int_eq(slw_launch(launchable, &grid, stream, &args, &world.err), SLW_E_INVALID_LAUNCH);
    ck_assert_str_eq(world.err.reason, "BAD_SIZE");
    ck_assert_uint_eq(world.err.required, 8);
    ck_assert_uint_eq(world.err.limit, 4);
    ck_assert_uint_eq(world.d.control->count(NULL), 0);
    slw_launchable_discard(&launchable);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle pitfall 10");
    TCase *c = tcase_create("argument count");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, the_caller_passes_its_own, 0, RELEASES);
    tcase_add_test(c, sizes_are_compared);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
