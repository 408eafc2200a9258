/* Pitfall 15: kernels that share a global need one module, and so does one kernel in two block sizes. */
#include "double_kit.h"

#define CHECK "tests/gpu/kernels/check_sm90.cubin"

static dk world;

static void setup(void) {
    dk_open(&world);
}
static void teardown(void) {
    dk_close(&world);
}

/* put writes slt_seen and get reads it: as one module they have one, at one address, known by name. */
START_TEST(two_kernels_and_their_global) {
    slw_device_loaded *loaded = dk_load(&world, CHECK, NULL);
    slw_device_loaded *again = dk_load(&world, CHECK, NULL); /* hydrated anew: the same digest */
    ck_assert_ptr_eq(slw_device_loaded_native_module(loaded), slw_device_loaded_native_module(again));
    slw_launchable *put = dk_make(&world, loaded, "put", 32), *get = dk_make(&world, again, "get", 32);
    slw_device_address here = 0, there = 0;
    uint64_t size = 0;
    slt_ok(slw_device_loaded_global(loaded, "slt_seen", &here, &size, &world.err), &world.err);
    slt_ok(slw_device_loaded_global(again, "slt_seen", &there, &size, &world.err), &world.err);
    ck_assert_uint_eq(here, there);
    ck_assert_uint_eq(size, 8);
    uint64_t value = 42;
    int one = 1;
    void *put_values[] = {&world.out, &value}, *get_values[] = {&world.out, &one};
    slt_ok(dk_launch(&world, put, 1, 2, put_values), &world.err);
    slt_ok(dk_launch(&world, get, 1, 2, get_values), &world.err);
    ck_assert_uint_eq(world.d.control->count("cuModuleLoadData"), 1);
    ck_assert_uint_eq(dk_counts(&world).loads, 1);
    slw_launchable_discard(&put);
    slw_device_loaded_discard(&loaded);
    slt_ok(dk_launch(&world, get, 1, 2, get_values), &world.err);
    slw_launchable_discard(&get);
    slw_device_loaded_discard(&again);
}
END_TEST

/* Two shapes of one kernel: one function, and the larger shared memory is not taken from the smaller's sight. */
START_TEST(one_kernel_in_two_shapes) {
    slw_device_loaded *loaded = dk_load(&world, CHECK, NULL);
    slw_launch_shape small = dk_shape("shared_of_the_launch", 32), large = dk_shape("shared_of_the_launch", 512);
    slw_launchable *in_small = NULL, *in_large = NULL;
    small.shared_bytes = 50000;
    large.shared_bytes = 100000;
    slt_ok(dk_try_make(&world, loaded, &large, &in_large), &world.err);
    slt_ok(dk_try_make(&world, loaded, &small, &in_small), &world.err);
    ck_assert_ptr_eq(slw_launchable_native_function(in_small), slw_launchable_native_function(in_large));
    ck_assert_uint_eq(world.d.control->count("cuModuleGetFunction"), 1);
    uint32_t bytes = 100000;
    void *values[] = {&world.out, &bytes};
    slt_ok(dk_launch(&world, in_small, 1, 2, values), &world.err);
    slt_ok(dk_launch(&world, in_large, 1, 2, values), &world.err); /* the double refuses more than the attribute says */
    slw_launchable_discard(&in_small);
    slw_launchable_discard(&in_large);
    slw_device_loaded_discard(&loaded);
    ck_assert_uint_eq(dk_counts(&world).modules_retired, 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle pitfall 15");
    TCase *c = tcase_create("one module");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, two_kernels_and_their_global);
    tcase_add_test(c, one_kernel_in_two_shapes);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
