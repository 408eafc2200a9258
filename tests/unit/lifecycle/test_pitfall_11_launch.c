/* Pitfall 11, where the driver is told: the grid of a .blocksareclusters kernel counts clusters in the driver's call as
 * well, or twice as many blocks run as were asked for. */
#include "double_kit.h"

#define CLUSTERED "tests/gpu/kernels/clustered_sm90.cubin"

static dk world;

static void setup(void) {
    dk_open(&world);
}
static void teardown(void) {
    dk_close(&world);
}

/* The double's generic kernel writes a checksum of, among other things, the blocks that run. */
static uint64_t checksum_of(uint32_t blocks) {
    void *values[] = {&world.out};
    const uint32_t sizes[] = {8}, grid[] = {blocks, 1, 1}, block[] = {64, 1, 1};
    return double_checksum(values, sizes, 1, grid, block, 0);
}

START_TEST(clusters_are_counted_once) {
    slw_device_loaded *loaded = dk_load(&world, CLUSTERED, NULL);
    ck_assert_int_eq(slw_device_loaded_contract(loaded)->kernels[0].grid_unit, SLW_GRID_CLUSTERS);
    slw_launchable *launchable = dk_make(&world, loaded, "by_clusters", 0);
    void *values[] = {&world.out};
    slt_ok(dk_launch(&world, launchable, 5, 1, values), &world.err);
    ck_assert_uint_eq(dk_read(&world), checksum_of(10));
    slw_launchable_discard(&launchable);
    slw_device_loaded_discard(&loaded);
}
END_TEST

/* The limit is one of blocks: what passes it in clusters is refused before the driver. */
START_TEST(the_limit_is_of_blocks) {
    slw_device_loaded *loaded = dk_load(&world, CLUSTERED, NULL);
    slw_launchable *launchable = dk_make(&world, loaded, "by_clusters", 64);
    void *values[] = {&world.out};
    world.d.control->log_clear();
    ck_assert_int_eq(dk_launch(&world, launchable, 1073741824, 1, values), SLW_E_OUT_OF_RESOURCES);
    ck_assert_uint_eq(world.err.required, 2147483648u);
    ck_assert_str_eq(world.err.unit, "blocks");
    ck_assert_uint_eq(world.d.control->count(NULL), 0);
    slw_launchable_discard(&launchable);
    slw_device_loaded_discard(&loaded);
}
END_TEST

/* A cluster that the binary fixes, of a kernel whose grid counts blocks: they divide, and are passed on as they are. */
START_TEST(blocks_are_passed_as_blocks) {
    slw_device_loaded *loaded = dk_load(&world, "tests/gpu/kernels/cluster_sm90.cubin", NULL);
    slw_launchable *launchable = dk_make(&world, loaded, "of_two", 64);
    int n = 7;
    void *values[] = {&world.out, &n};
    const uint32_t sizes[] = {8, 4}, grid[] = {10, 1, 1}, block[] = {64, 1, 1};
    ck_assert_int_eq(dk_launch(&world, launchable, 5, 2, values), SLW_E_INVALID_LAUNCH);
    ck_assert_str_eq(world.err.reason, "BAD_CLUSTER");
    slt_ok(dk_launch(&world, launchable, 10, 2, values), &world.err);
    ck_assert_uint_eq(dk_read(&world), double_checksum(values, sizes, 2, grid, block, 0));
    slw_launchable_discard(&launchable);
    slw_device_loaded_discard(&loaded);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle pitfall 11, launches");
    TCase *c = tcase_create("grid unit at the driver");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, clusters_are_counted_once);
    tcase_add_test(c, the_limit_is_of_blocks);
    tcase_add_test(c, blocks_are_passed_as_blocks);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
