/* Pitfall 36, at a launch: what fits at once is the driver's word. The largest cooperative grid is asked for once and
 * kept, a grid beyond it never reaches the driver, and a cluster of which none can be active is no launchable. */
#include <stdio.h>

#include "double_kit.h"
#include "null_driver.h"

#define CHECK   "tests/gpu/kernels/check_sm90.cubin"
#define CLUSTER "tests/gpu/kernels/cluster_sm90.cubin"

static dk world;

static void setup(void) {
    dk_open(&world);
}
static void teardown(void) {
    dk_close(&world);
}

#define BLOCKS   "cuOccupancyMaxActiveBlocksPerMultiprocessor"
#define CLUSTERS "cuOccupancyMaxActiveClusters"

static slw_launchable *make_cooperative(slw_device_loaded *loaded, const char *entry, uint32_t threads,
                                        uint32_t shared_bytes) {
    slw_launch_shape shape = dk_shape(entry, threads);
    slw_launchable *launchable = NULL;
    shape.cooperative = 1;
    shape.shared_bytes = shared_bytes;
    slt_ok(dk_try_make(&world, loaded, &shape, &launchable), &world.err);
    return launchable;
}

/* 2,048 threads a multiprocessor and 132 of these: 8 blocks of 256 threads, 2 of 1,024, 32 of 32; and one block where
   its shared memory fills one. */
START_TEST(the_largest_cooperative_grid) {
    static const struct {
        uint32_t threads, shared_bytes, most;
    } shapes[] = {{256, 0, 8 * 132}, {1024, 0, 2 * 132}, {32, 0, 32 * 132}, {128, 200000, 132}};
    slw_device_loaded *loaded = dk_load(&world, CHECK, NULL);
    const uint32_t most = shapes[_i].most;
    slw_launchable *launchable =
        make_cooperative(loaded, "shared_of_the_launch", shapes[_i].threads, shapes[_i].shared_bytes);
    uint32_t bytes = 8;
    void *values[] = {&world.out, &bytes};
    world.d.control->log_clear();
    ck_assert_int_eq(dk_launch(&world, launchable, most + 1, 2, values), SLW_E_OUT_OF_RESOURCES);
    ck_assert_str_eq(world.err.resource, "cooperative grid");
    ck_assert_uint_eq(world.err.required, most + 1);
    ck_assert_uint_eq(world.err.limit, most);
    ck_assert_str_eq(world.err.unit, "blocks");
    ck_assert_str_eq(world.err.kernel, "shared_of_the_launch");
    ck_assert_str_eq(world.err.device, "cuda:0 NVIDIA H200");
    ck_assert_str_eq(world.err.phase, "launch");
    ck_assert_uint_eq(world.d.control->count(NULL), 0);
    for (int i = 0; i < 3; i++) slt_ok(dk_launch(&world, launchable, most, 2, values), &world.err);
    ck_assert_uint_eq(world.d.control->count(BLOCKS), 0); /* asked when it was made, not at each launch */
    ck_assert_uint_eq(world.d.control->count("cuLaunchKernelEx"), 3);
    slw_launchable_discard(&launchable);
    slw_device_loaded_discard(&loaded);
}
END_TEST

/* In 64 bit: a grid whose product passes 2^32 is as large as it is. */
START_TEST(a_product_beyond_32_bits) {
    slw_device_loaded *loaded = dk_load(&world, CHECK, NULL);
    slw_launchable *launchable = make_cooperative(loaded, "first", 256, 0);
    const slw_stream stream = SLW_STREAM_DEFAULT;
    slw_grid grid = SLW_GRID_INIT;
    slw_args args = SLW_ARGS_INIT;
    void *values[] = {&world.out};
    grid.extent[0] = 65536;
    grid.extent[1] = 65535;
    grid.extent[2] = 65535;
    args.count = 1;
    args.values = values;
    ck_assert_int_eq(slw_launch(launchable, &grid, stream, &args, &world.err), SLW_E_OUT_OF_RESOURCES);
    ck_assert_uint_eq(world.err.required, UINT64_C(65536) * 65535 * 65535);
    slw_launchable_discard(&launchable);
    slw_device_loaded_discard(&loaded);
}
END_TEST

/* A plain shape asks for nothing and is held to nothing. */
START_TEST(plain_launches_ask_nothing) {
    slw_device_loaded *loaded = dk_load(&world, CHECK, NULL);
    slw_launchable *launchable = dk_make(&world, loaded, "first", 256);
    void *values[] = {&world.out};
    slt_ok(dk_launch(&world, launchable, 100000, 1, values), &world.err);
    ck_assert_uint_eq(world.d.control->count(BLOCKS), 0);
    ck_assert_uint_eq(world.d.control->count(CLUSTERS), 0);
    slw_launchable_discard(&launchable);
    slw_device_loaded_discard(&loaded);
}
END_TEST

/* The question fails: no launchable, and the input is the caller's still (dk_try_make sees to it). */
START_TEST(a_failing_question) {
    slw_device_loaded *loaded = dk_load(&world, CHECK, NULL);
    slw_launch_shape shape = dk_shape("first", 256);
    slw_launchable *launchable = NULL;
    shape.cooperative = 1;
    ck_assert_int_eq(world.d.control->inject(BLOCKS, 1, 1, 1), 1);
    ck_assert_int_eq(dk_try_make(&world, loaded, &shape, &launchable), SLW_E_DRIVER);
    ck_assert_str_eq(world.err.phase, "make_launchable");
    ck_assert_ptr_null(launchable);
    slt_ok(dk_try_make(&world, loaded, &shape, &launchable), &world.err);
    slw_launchable_discard(&launchable);
    slw_device_loaded_discard(&loaded);
}
END_TEST

START_TEST(clusters_are_asked_for) {
    slw_device_loaded *loaded = dk_load(&world, CLUSTER, NULL);
    slw_launch_shape shape = dk_shape("free_size", 64);
    slw_launchable *launchable = NULL;
    shape.cluster[0] = 4;
    shape.cluster[1] = shape.cluster[2] = 1;
    slt_ok(dk_try_make(&world, loaded, &shape, &launchable), &world.err);
    ck_assert_uint_eq(world.d.control->count(CLUSTERS), 1);
    int n = 1;
    void *values[] = {&world.out, &n};
    slt_ok(dk_launch(&world, launchable, 8, 2, values), &world.err);
    ck_assert_uint_eq(world.d.control->count(CLUSTERS), 1);
    slw_launchable_discard(&launchable);
    slw_device_loaded_discard(&loaded);
}
END_TEST

/* ---- What the driver may say, by a driver that says it ----------------------------------------------------------- */

static uint64_t said_blocks, said_clusters;
static unsigned asked;
static slw_launch_shape asked_of;

static slw_code tell(void *state, void *function, const slw_kernel_contract *kernel, const slw_launch_shape *shape,
                     uint64_t *most_blocks, uint64_t *most_clusters, slw_error *err) {
    (void)state;
    (void)function;
    (void)kernel;
    (void)err;
    asked++;
    asked_of = *shape;
    *most_blocks = said_blocks;
    *most_clusters = said_clusters;
    return SLW_OK;
}

static slt_null null;
static slw_driver_vtable driver;

static slw_device_loaded *load_null(const char *path) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_device_loaded *loaded = NULL;
    slt_ok(slw_device_free(world.device, &world.out, &world.err), &world.err);
    slw_device_close(&world.device);
    slt_null_init(&null);
    (void)snprintf(null.info.kind, sizeof null.info.kind, "cuda");
    (void)snprintf(null.info.target, sizeof null.info.target, "sm_90");
    driver = slt_null_driver;
    driver.occupancy = tell;
    slt_null_use(&null, &options);
    options.driver = &driver;
    options.allocator = world.heap.allocator;
    slt_ok(slw_device_open(&options, &world.device, &world.err), &world.err);
    slw_hydrated *hydrated = dk_hydrate(&world, path, NULL);
    slt_ok(slw_device_load(&hydrated, world.device, &loaded, &world.err), &world.err);
    asked = 0;
    return loaded;
}

START_TEST(no_active_cluster) {
    slw_device_loaded *loaded = load_null(CLUSTER);
    slw_launch_shape shape = dk_shape("of_two", 64); /* 2 by the binary */
    slw_launchable *launchable = NULL;
    said_blocks = 1000;
    said_clusters = 0;
    ck_assert_int_eq(dk_try_make(&world, loaded, &shape, &launchable), SLW_E_OUT_OF_RESOURCES);
    ck_assert_str_eq(world.err.resource, "active clusters");
    ck_assert_uint_eq(world.err.required, 1);
    ck_assert_uint_eq(world.err.limit, 0);
    ck_assert_str_eq(world.err.kernel, "of_two");
    ck_assert_uint_eq(asked, 1);
    ck_assert_uint_eq(asked_of.cluster[0], 2); /* as resolved */
    said_clusters = 1;
    slt_ok(dk_try_make(&world, loaded, &shape, &launchable), &world.err);
    slw_launchable_discard(&launchable);
    slw_device_loaded_discard(&loaded);
}
END_TEST

START_TEST(no_cooperative_block_at_all) {
    slw_device_loaded *loaded = load_null(CHECK);
    slw_launch_shape shape = dk_shape("first", 64);
    slw_launchable *launchable = NULL;
    shape.cooperative = 1;
    said_blocks = 0;
    said_clusters = 0; /* no cluster was asked for: that there is none is no matter */
    ck_assert_int_eq(dk_try_make(&world, loaded, &shape, &launchable), SLW_E_OUT_OF_RESOURCES);
    ck_assert_str_eq(world.err.resource, "cooperative grid");
    said_blocks = 3;
    slt_ok(dk_try_make(&world, loaded, &shape, &launchable), &world.err);
    uint64_t none = 0;
    void *values[] = {&none};
    ck_assert_int_eq(dk_launch(&world, launchable, 4, 1, values), SLW_E_OUT_OF_RESOURCES);
    slt_ok(dk_launch(&world, launchable, 3, 1, values), &world.err);
    ck_assert_uint_eq(atomic_load(&null.launches), 1);
    slw_launchable_discard(&launchable);
    slw_device_loaded_discard(&loaded);
}
END_TEST

/* A driver that knows no limit sets none. */
START_TEST(no_limit_is_known) {
    slw_device_loaded *loaded = load_null(CHECK);
    slw_launch_shape shape = dk_shape("first", 64);
    slw_launchable *launchable = NULL;
    shape.cooperative = 1;
    said_blocks = said_clusters = UINT64_MAX;
    slt_ok(dk_try_make(&world, loaded, &shape, &launchable), &world.err);
    uint64_t none = 0;
    void *values[] = {&none};
    slt_ok(dk_launch(&world, launchable, 2147483647, 1, values), &world.err);
    slw_launchable_discard(&launchable);
    slw_device_loaded_discard(&loaded);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle pitfall 36, launches");
    TCase *c = tcase_create("what fits at once");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, the_largest_cooperative_grid, 0, 4);
    tcase_add_test(c, a_product_beyond_32_bits);
    tcase_add_test(c, plain_launches_ask_nothing);
    tcase_add_test(c, a_failing_question);
    tcase_add_test(c, clusters_are_asked_for);
    tcase_add_test(c, no_active_cluster);
    tcase_add_test(c, no_cooperative_block_at_all);
    tcase_add_test(c, no_limit_is_known);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
