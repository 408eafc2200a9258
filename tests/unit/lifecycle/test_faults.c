/* The n-th allocation fails, for every n, over the whole way: typed error, input untouched, nothing leaked. */
#include "kit.h"

static kit world;

static void setup(void) {
    memset(&world, 0, sizeof world);
    world.verify = SLW_VERIFY_ON_MAP;
    kit_open(&world);
}

static void teardown(void) {
    kit_close(&world);
}

/* What one run has made so far; a failing step leaves it as it was. */
typedef struct chain {
    slw_cached *cached;
    slw_hydrated *hydrated, *hydrated_share;
    slw_device_loaded *loaded, *loaded_share;
    slw_launchable *launchable, *launchable_share;
    slw_bytes payload;
} chain;

typedef slw_code (*chain_step)(chain *at, slw_error *err);

static slw_code step_lookup(chain *at, slw_error *err) {
    return slw_store_lookup(world.store, world.key, world.spec, &at->cached, err);
}
static slw_code step_hydrate(chain *at, slw_error *err) {
    return slw_hydrate(&at->cached, NULL, &at->hydrated, err);
}
static slw_code step_hydrated_share(chain *at, slw_error *err) {
    return slw_hydrated_share(at->hydrated, &at->hydrated_share, err);
}
static slw_code step_payload(chain *at, slw_error *err) {
    return slw_hydrated_payload(at->hydrated_share, "notes.txt", &at->payload, err);
}
static slw_code step_load(chain *at, slw_error *err) {
    return slw_device_load(&at->hydrated, world.device, &at->loaded, err);
}
static slw_code step_loaded_share(chain *at, slw_error *err) {
    return slw_device_loaded_share(at->loaded, &at->loaded_share, err);
}
static slw_code step_make(chain *at, slw_error *err) {
    const slw_launch_shape shape = kit_shape("none", 32);
    return slw_make_launchable(&at->loaded, &shape, &at->launchable, err);
}
static slw_code step_launchable_share(chain *at, slw_error *err) {
    return slw_launchable_share(at->launchable, &at->launchable_share, err);
}
static slw_code step_launch(chain *at, slw_error *err) {
    const slw_grid grid = kit_grid(1, 1, 1);
    const slw_stream stream = SLW_STREAM_DEFAULT;
    return slw_launch(at->launchable, &grid, stream, NULL, err);
}
static slw_code step_retire(chain *at, slw_error *err) {
    return slw_launchable_retire(&at->launchable, NULL, 0, 0, err);
}

static const chain_step steps[] = {step_lookup,       step_hydrate, step_hydrated_share,   step_payload, step_load,
                                   step_loaded_share, step_make,    step_launchable_share, step_launch,  step_retire};
#define STEPS (sizeof steps / sizeof *steps)

static void discard_all(chain *at) {
    slw_cached_discard(&at->cached);
    slw_hydrated_discard(&at->hydrated);
    slw_hydrated_discard(&at->hydrated_share);
    slw_device_loaded_discard(&at->loaded);
    slw_device_loaded_discard(&at->loaded_share);
    slw_launchable_discard(&at->launchable);
    slw_launchable_discard(&at->launchable_share);
}

/* Runs the way with the n-th allocation failing; the step it hits is repeated without the fault and must then
   succeed. */
static int run_with(uint64_t n, int fail_after) {
    chain at;
    memset(&at, 0, sizeof at);
    int met = 0;
    slt_heap_reset(&world.heap);
    world.heap.fail_at = n;
    world.heap.fail_after = fail_after;
    for (size_t i = 0; i < STEPS; i++) {
        const chain before = at;
        slw_error err = SLW_ERROR_INIT;
        slw_code rc = steps[i](&at, &err);
        if (rc != SLW_OK) {
            ck_assert_msg(rc == SLW_E_NO_MEMORY, "step %zu, allocation %u: %s %s", i, (unsigned)n, slw_code_name(rc),
                          err.message);
            ck_assert_int_eq(err.code, rc);
            ck_assert_mem_eq(&at, &before, sizeof at);
            ck_assert_uint_gt(world.heap.failed, 0);
            met = 1;
            slt_heap_reset(&world.heap);
            world.heap.fail_at = 0;
            world.heap.fail_after = 0;
            slt_ok(steps[i](&at, &err), &err);
        }
    }
    met |= world.heap.failed > 0;
    slt_heap_reset(&world.heap);
    world.heap.fail_at = 0;
    world.heap.fail_after = 0;
    discard_all(&at);
    return met;
}

/* A second run in the same process finds the module loaded, so the device is opened anew for each. */
static void run_all(int fail_after) {
    uint64_t n = 0;
    uint64_t blocks = 0;
    do {
        slw_device_close(&world.device);
        kit_open_device(&world);
        if (n == 1) blocks = world.heap.live_blocks;
        if (n > 1) ck_assert_uint_eq(world.heap.live_blocks, blocks);
        n++;
        ck_assert_uint_lt(n, 2000);
    } while (run_with(n, fail_after));
    ck_assert_uint_gt(n, 20);
}

START_TEST(every_allocation_fails_once) {
    run_all(0);
}
END_TEST

START_TEST(every_allocation_fails_and_all_after_it) {
    run_all(1);
}
END_TEST

START_TEST(without_a_record) {
    for (uint64_t n = 1; n < 20; n++) {
        chain at;
        memset(&at, 0, sizeof at);
        slt_heap_reset(&world.heap);
        world.heap.fail_at = n;
        slw_code rc = SLW_OK;
        for (size_t i = 0; rc == SLW_OK && i < STEPS; i++) rc = steps[i](&at, NULL);
        world.heap.fail_at = 0;
        discard_all(&at);
    }
}
END_TEST

/* A record whose size is another version's is left alone, whatever happens. */
START_TEST(a_foreign_record_is_left_alone) {
    slw_error foreign;
    memset(&foreign, 0x5a, sizeof foreign);
    foreign.size = 24;
    slw_error copy;
    memcpy(&copy, &foreign, sizeof copy);
    chain at;
    memset(&at, 0, sizeof at);
    ck_assert_int_eq(slw_store_lookup(world.store, NULL, world.spec, &at.cached, &foreign), SLW_E_USAGE);
    for (size_t i = 0; i < STEPS; i++) ck_assert_int_eq(steps[i](&at, &foreign), SLW_OK);
    slw_hydrated *none = NULL;
    slw_device_loaded *out = NULL;
    ck_assert_int_eq(slw_device_load(&none, world.device, &out, &foreign), SLW_E_USAGE);
    ck_assert_mem_eq(&foreign, &copy, sizeof copy);
    discard_all(&at);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle faults");
    TCase *c = tcase_create("faults");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, every_allocation_fails_once);
    tcase_add_test(c, every_allocation_fails_and_all_after_it);
    tcase_add_test(c, without_a_record);
    tcase_add_test(c, a_foreign_record_is_left_alone);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
