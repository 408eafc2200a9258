/* slw_launch: what is passed is what the contract says, and nothing is allocated, locked or recorded on the way. */
#include "kit.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fork.h"

static kit world;

static void setup(void) {
    memset(&world, 0, sizeof world);
    kit_open(&world);
}

static void teardown(void) {
    kit_close(&world);
}

#define ck_code(call, expected)                                                                                        \
    ck_assert_msg((call) == (expected), "%s: %s %s", #call, slw_code_name(world.err.code), world.err.message)

START_TEST(pitfall_10_argument_count) {
    slw_launchable *launchable = kit_make(&world, "use", 32);
    const slw_grid grid = kit_grid(1, 1, 1);
    uint64_t data = 0;
    uint32_t count = 0;
    void *values[3] = {&data, &count, &count};
    ck_code(kit_launch(&world, launchable, &grid, 1, values), SLW_E_INVALID_LAUNCH);
    ck_assert_str_eq(world.err.reason, "BAD_COUNT");
    ck_assert_uint_eq(world.err.required, 1);
    ck_assert_uint_eq(world.err.limit, 2);
    ck_assert_str_eq(world.err.phase, "launch");
    ck_code(kit_launch(&world, launchable, &grid, 3, values), SLW_E_INVALID_LAUNCH);
    ck_code(kit_launch(&world, launchable, &grid, 0, NULL), SLW_E_INVALID_LAUNCH);
    const slw_stream stream = SLW_STREAM_DEFAULT;
    ck_code(slw_launch(launchable, &grid, stream, NULL, &world.err), SLW_E_INVALID_LAUNCH);
    ck_code(kit_launch(&world, launchable, &grid, 2, NULL), SLW_E_USAGE);
    values[1] = NULL;
    ck_code(kit_launch(&world, launchable, &grid, 2, values), SLW_E_USAGE);
    ck_assert_uint_eq(atomic_load(&world.null.launches), 0);
    values[1] = &count;
    slt_ok(kit_launch(&world, launchable, &grid, 2, values), &world.err);
    /* Every parameter is the caller's: the array is passed on as it is. */
    ck_assert_uint_eq(atomic_load(&world.null.launches), 1);
    slw_launchable_discard(&launchable);

    launchable = kit_make(&world, "none", 32);
    slt_ok(slw_launch(launchable, &grid, stream, NULL, &world.err), &world.err);
    ck_code(kit_launch(&world, launchable, &grid, 1, values), SLW_E_INVALID_LAUNCH);
    slw_launchable_discard(&launchable);
}
END_TEST

START_TEST(argument_sizes) {
    slw_launchable *launchable = kit_make(&world, "use", 32);
    const slw_grid grid = kit_grid(1, 1, 1);
    const slw_stream stream = SLW_STREAM_DEFAULT;
    uint64_t data = 0;
    uint32_t count = 0;
    void *values[2] = {&data, &count};
    uint32_t sizes[2] = {8, 4};
    slw_args args = SLW_ARGS_INIT;
    args.count = 2;
    args.values = values;
    args.sizes_bytes = sizes;
    slt_ok(slw_launch(launchable, &grid, stream, &args, &world.err), &world.err);
    sizes[1] = 8;
    ck_code(slw_launch(launchable, &grid, stream, &args, &world.err), SLW_E_INVALID_LAUNCH);
    ck_assert_str_eq(world.err.reason, "BAD_SIZE");
    ck_assert_uint_eq(world.err.required, 8);
    ck_assert_uint_eq(world.err.limit, 4);
    args.size = 3;
    ck_code(slw_launch(launchable, &grid, stream, &args, &world.err), SLW_E_USAGE);
    slw_grid other = grid;
    other.size--;
    ck_code(slw_launch(launchable, &other, stream, NULL, &world.err), SLW_E_USAGE);
    ck_code(slw_launch(launchable, NULL, stream, NULL, &world.err), SLW_E_USAGE);
    slw_launchable_discard(&launchable);
}
END_TEST

/* What the null driver saw is only good during the call: a driver of our own copies it. */
static uint64_t seen[5];
static uint32_t seen_count;
static slw_code (*real_launch)(void *, void *, const slw_driver_launch *, slw_error *);

static slw_code copying_launch(void *state, void *function, const slw_driver_launch *launch, slw_error *err) {
    seen_count = launch->param_count;
    for (uint32_t i = 0; i < launch->param_count && i < 5; i++)
        memcpy(&seen[i], launch->params[i], kit_scratch_params[i].size_bytes);
    return real_launch(state, function, launch, err);
}

START_TEST(pitfall_10_scratch_is_filled_in) {
    slw_driver_vtable driver = slt_null_driver;
    real_launch = driver.launch;
    driver.launch = copying_launch;
    slw_device_close(&world.device);
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    options.allocator = world.heap.allocator;
    slt_null_use(&world.null, &options);
    options.driver = &driver;
    slt_ok(slw_device_open(&options, &world.device, &world.err), &world.err);

    slw_launchable *launchable = kit_make(&world, "scratch", 32);
    slw_grid grid = kit_grid(4, 1, 1);
    uint64_t data = 0x1122334455667788u;
    uint32_t count = 99;
    void *values[2] = {&data, &count};
    ck_code(kit_launch(&world, launchable, &grid, 2, values), SLW_E_INVALID_LAUNCH);
    ck_assert_str_eq(world.err.reason, "BAD_SCRATCH");
    ck_assert_uint_eq(world.err.required, 1024);
    grid.global_scratch = 0x7000;
    grid.global_scratch_bytes = 1024;
    grid.profile_scratch = 0x9008;
    grid.profile_scratch_bytes = 32;
    slt_ok(kit_launch(&world, launchable, &grid, 2, values), &world.err);
    ck_assert_uint_eq(seen_count, 5);
    ck_assert_uint_eq(seen[0], data);
    ck_assert_uint_eq((uint32_t)seen[1], 99);
    ck_assert_uint_eq(seen[2], 0x7000);
    ck_assert_uint_eq(seen[3], 0x9008);
    ck_assert_uint_eq(seen[4], 0);
    grid.global_scratch_bytes = 1023;
    ck_code(kit_launch(&world, launchable, &grid, 2, values), SLW_E_INVALID_LAUNCH);
    grid = kit_grid(4, 1, 1);
    ck_code(
        kit_launch(&world, launchable, &grid, 5, (void *[5]){values[0], values[1], values[0], values[0], values[0]}),
        SLW_E_INVALID_LAUNCH);
    slw_launchable_discard(&launchable);
    slw_device_close(&world.device);
}
END_TEST

START_TEST(grids_are_checked_before_the_driver) {
    slw_launchable *launchable = kit_make(&world, "none", 32);
    slw_grid grid = kit_grid(0, 1, 1);
    ck_code(kit_launch(&world, launchable, &grid, 0, NULL), SLW_E_INVALID_LAUNCH);
    grid = kit_grid(1, 65536, 1);
    ck_code(kit_launch(&world, launchable, &grid, 0, NULL), SLW_E_OUT_OF_RESOURCES);
    ck_assert_str_eq(world.err.resource, "grid y");
    ck_assert_str_eq(world.err.kernel, "none");
    ck_assert_str_eq(world.err.device, "null:0");
    ck_assert_uint_eq(atomic_load(&world.null.launches), 0);
    grid = kit_grid(2147483647, 65535, 65535);
    slt_ok(kit_launch(&world, launchable, &grid, 0, NULL), &world.err);
    slw_launchable_discard(&launchable);
}
END_TEST

START_TEST(launch_allocates_nothing) {
    slw_launchable *launchable = kit_make(&world, "none", 32);
    const slw_grid grid = kit_grid(1, 1, 1);
    slt_ok(kit_launch(&world, launchable, &grid, 0, NULL), &world.err);
    slt_heap_reset(&world.heap);
    const uint64_t blocks = world.heap.live_blocks;
    for (int i = 0; i < 1000; i++) slt_ok(kit_launch(&world, launchable, &grid, 0, NULL), &world.err);
    ck_assert_uint_eq(world.heap.calls, 0);
    ck_assert_uint_eq(world.heap.live_blocks, blocks);
    slw_launchable_discard(&launchable);
}
END_TEST

START_TEST(driver_failures_and_first_launch) {
    slw_launchable *launchable = kit_make(&world, "none", 32);
    const slw_grid grid = kit_grid(1, 1, 1);
    slt_null_fail(&world.null.launch, SLW_E_DRIVER, 1);
    ck_code(kit_launch(&world, launchable, &grid, 0, NULL), SLW_E_DRIVER);
    ck_assert_ptr_null(kit_event_of(&world, SLW_PHASE_FIRST_LAUNCH, 0)); /* the first successful one */
    slt_ok(kit_launch(&world, launchable, &grid, 0, NULL), &world.err);
    slw_launchable *share = NULL;
    slt_ok(slw_launchable_share(launchable, &share, &world.err), &world.err);
    slt_ok(kit_launch(&world, share, &grid, 0, NULL), &world.err);
    ck_assert_ptr_nonnull(kit_event_of(&world, SLW_PHASE_FIRST_LAUNCH, 0));
    ck_assert_ptr_null(kit_event_of(&world, SLW_PHASE_FIRST_LAUNCH, 1));
    slw_launchable_discard(&launchable);
    slw_launchable_discard(&share);
}
END_TEST

START_TEST(lost_devices_refuse) {
    slw_launchable *launchable = kit_make(&world, "none", 32);
    const slw_grid grid = kit_grid(1, 1, 1);
    slt_null_fail(&world.null.launch, SLW_E_LOST, 1);
    ck_code(kit_launch(&world, launchable, &grid, 0, NULL), SLW_E_LOST);
    const unsigned launches = atomic_load(&world.null.launches);
    ck_code(kit_launch(&world, launchable, &grid, 0, NULL), SLW_E_LOST);
    ck_assert_uint_eq(atomic_load(&world.null.launches), launches);
    slw_hydrated *hydrated = kit_hydrate(&world);
    slw_device_loaded *loaded = NULL;
    ck_code(slw_device_load(&hydrated, world.device, &loaded, &world.err), SLW_E_LOST);
    slw_hydrated_discard(&hydrated);
    slw_launchable_discard(&launchable);
}
END_TEST

/* Pitfall 18: a child of a fork is told so everywhere, unloads nothing and can free everything. */
START_TEST(pitfall_18_forked) {
    slw_launchable *launchable = kit_make(&world, "none", 32);
    slw_device_loaded *loaded = kit_load(&world);
    slw_hydrated *hydrated = kit_hydrate(&world);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        const slw_grid grid = kit_grid(1, 1, 1);
        const slw_stream stream = SLW_STREAM_DEFAULT;
        slw_launchable *made = NULL;
        slw_device_loaded *again = NULL;
        const slw_launch_shape shape = kit_shape("none", 32);
        int bad = 0;
        bad |= kit_launch(&world, launchable, &grid, 0, NULL) != SLW_E_FORKED ? 1 : 0;
        bad |= slw_make_launchable(&loaded, &shape, &made, &world.err) != SLW_E_FORKED ? 2 : 0;
        bad |= slw_device_load(&hydrated, world.device, &again, &world.err) != SLW_E_FORKED ? 4 : 0;
        bad |= slw_launchable_retire(&launchable, &stream, 1, 0, &world.err) != SLW_E_FORKED ? 8 : 0;
        slw_launchable_discard(&launchable);
        slw_device_loaded_discard(&loaded);
        slw_hydrated_discard(&hydrated);
        slw_device_close(&world.device);
        slw_store_close(&world.store);
        slw_metrics_release(&world.metrics);
        bad |= atomic_load(&world.null.unloads) != 0 ? 16 : 0;
        _exit(bad);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    slw_launchable_discard(&launchable);
    slw_device_loaded_discard(&loaded);
    slw_hydrated_discard(&hydrated);
}
END_TEST

typedef struct worker {
    slw_launchable *share;
    slw_code code;
} worker;

static atomic_uint first_launches;

static void count_first(void *context, const slw_event *event) {
    (void)context;
    if (event->phase == SLW_PHASE_FIRST_LAUNCH) atomic_fetch_add(&first_launches, 1);
}

static void *launch_often(void *context) {
    worker *w = context;
    slw_error err = SLW_ERROR_INIT;
    slw_grid grid = kit_grid(2, 1, 1);
    const slw_stream stream = SLW_STREAM_DEFAULT;
    for (int i = 0; i < 200 && w->code == SLW_OK; i++) w->code = slw_launch(w->share, &grid, stream, NULL, &err);
    slw_launchable_discard(&w->share);
    return NULL;
}

START_TEST(many_threads_launch) {
    enum { THREADS = 8 };
    slw_metrics_release(&world.metrics);
    slw_store_close(&world.store);
    slw_metrics_options options = SLW_METRICS_OPTIONS_INIT;
    options.allocator = world.heap.allocator;
    options.listener = count_first;
    slt_ok(slw_metrics_create(&options, &world.metrics, &world.err), &world.err);
    kit_open_store(&world);
    slw_launchable *launchable = kit_make(&world, "none", 32);
    worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){NULL, SLW_OK};
        slt_ok(slw_launchable_share(launchable, &workers[i].share, &world.err), &world.err);
    }
    slw_launchable_discard(&launchable);
    for (int i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, launch_often, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_int_eq(workers[i].code, SLW_OK);
        ck_assert_ptr_null(workers[i].share);
    }
    ck_assert_uint_eq(atomic_load(&world.null.launches), THREADS * 200);
    ck_assert_uint_eq(atomic_load(&first_launches), 1);
    ck_assert_uint_eq(kit_counts(&world).modules_retired, 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle launch");
    TCase *c = tcase_create("launch");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, pitfall_10_argument_count);
    tcase_add_test(c, argument_sizes);
    tcase_add_test(c, pitfall_10_scratch_is_filled_in);
    tcase_add_test(c, grids_are_checked_before_the_driver);
    tcase_add_test(c, launch_allocates_nothing);
    tcase_add_test(c, driver_failures_and_first_launch);
    tcase_add_test(c, lost_devices_refuse);
    tcase_add_test(c, pitfall_18_forked);
    tcase_add_test(c, many_threads_launch);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
