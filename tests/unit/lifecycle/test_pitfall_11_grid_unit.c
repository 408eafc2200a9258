/* Pitfall 11: what one step of the grid is. A .blocksareclusters kernel counts clusters, Triton's grid.x counts programs
 * of num_ctas blocks; limits, divisibility and scratch are those of the blocks that come of it. */
#include <slipway/inspect.h>
#include <string.h>

#include "preflight.h"
#include "slt.h"

static slw_error err;
static slw_device_info device;

static void use(const char *target) {
    const slw_error fresh = SLW_ERROR_INIT;
    const slw_device_info empty = SLW_DEVICE_INFO_INIT;
    err = fresh;
    device = empty;
    slt_ok(slw_device_known(target, &device, &err), &err);
}

static void setup(void) {
    use("sm_90");
}

static slw_code grid_of(const slw_kernel_contract *kernel, uint32_t x, uint32_t y, uint32_t z, uint32_t blocks[3]) {
    const uint32_t extent[3] = {x, y, z};
    const slw_launch_shape asked = {.size = sizeof asked,
                                    .block = {32, 1, 1},
                                    .cluster = {kernel->cluster[0], kernel->cluster[1], kernel->cluster[2]}};
    slwi_shape shape;
    slt_ok(slwi_preflight_resolve(kernel, &asked, &shape, &err), &err);
    return slwi_preflight_grid(kernel, &device, &shape, extent, blocks, &err);
}

static void ck_blocks(const uint32_t blocks[3], uint32_t x, uint32_t y, uint32_t z) {
    ck_assert_uint_eq(blocks[0], x);
    ck_assert_uint_eq(blocks[1], y);
    ck_assert_uint_eq(blocks[2], z);
}

START_TEST(clusters) {
    const slw_kernel_contract kernel = {
        .name = "k", .grid_unit = SLW_GRID_CLUSTERS, .cluster = {2, 1, 1}, .cluster_required = 1};
    uint32_t blocks[3] = {0, 0, 0};
    slt_ok(grid_of(&kernel, 5, 3, 1, blocks), &err); /* 5 is odd: of blocks it would not divide */
    ck_blocks(blocks, 10, 3, 1);
    slt_ok(grid_of(&kernel, 1073741823, 1, 1, blocks), &err);
    ck_blocks(blocks, 2147483646, 1, 1);
    ck_assert_int_eq(grid_of(&kernel, 1073741824, 1, 1, blocks), SLW_E_OUT_OF_RESOURCES);
    ck_assert_str_eq(err.resource, "grid x");
    ck_assert_uint_eq(err.required, 2147483648u);
    ck_assert_uint_eq(err.limit, 2147483647u);
    ck_assert_str_eq(err.unit, "blocks");
    ck_assert_str_eq(err.device, "sm_90");
    ck_blocks(blocks, 2147483646, 1, 1); /* untouched */
}
END_TEST

START_TEST(blocks_have_to_divide) {
    const slw_kernel_contract kernel = {.name = "k", .cluster = {2, 1, 1}, .cluster_required = 1};
    uint32_t blocks[3] = {0, 0, 0};
    ck_assert_int_eq(grid_of(&kernel, 5, 3, 1, blocks), SLW_E_INVALID_LAUNCH);
    ck_assert_str_eq(err.reason, "BAD_CLUSTER");
    setup();
    slt_ok(grid_of(&kernel, 6, 3, 1, blocks), &err);
    ck_blocks(blocks, 6, 3, 1);
}
END_TEST

START_TEST(programs_of_several_blocks) {
    const slw_kernel_contract kernel = {.name = "k",
                                        .grid_unit = SLW_GRID_PROGRAMS_BY_CTAS,
                                        .ctas = 4,
                                        .cluster = {4, 1, 1},
                                        .warps = 1,
                                        .warp_threads = 32};
    uint32_t blocks[3] = {0, 0, 0};
    slt_ok(grid_of(&kernel, 3, 2, 5, blocks), &err);
    ck_blocks(blocks, 12, 2, 5); /* x alone is multiplied */
    ck_assert_int_eq(grid_of(&kernel, 536870912, 1, 1, blocks), SLW_E_OUT_OF_RESOURCES);
    ck_assert_uint_eq(err.required, 2147483648u);
    setup();
    ck_assert_int_eq(grid_of(&kernel, UINT32_MAX, 1, 1, blocks), SLW_E_OUT_OF_RESOURCES);
    ck_assert_uint_eq(err.required, 4 * (uint64_t)UINT32_MAX); /* not what is left of it in 32 bits */
}
END_TEST

/* Scratch is for the blocks that run, so after the conversion. */
START_TEST(scratch_is_per_block) {
    const slw_kernel_contract kernel = {
        .name = "k", .grid_unit = SLW_GRID_PROGRAMS_BY_CTAS, .ctas = 4, .global_scratch_bytes = 100};
    uint32_t blocks[3] = {0, 0, 0};
    slw_grid grid = SLW_GRID_INIT;
    slt_ok(grid_of(&kernel, 3, 2, 1, blocks), &err);
    grid.global_scratch = 4096;
    grid.global_scratch_bytes = 2399; /* 24 blocks want 2,400; 6 programs would have wanted 600 */
    ck_assert_int_eq(slwi_preflight_scratch(&kernel, &device, blocks, &grid, &err), SLW_E_INVALID_LAUNCH);
    ck_assert_uint_eq(err.required, 2400);
    setup();
    grid.global_scratch_bytes = 2400;
    slt_ok(slwi_preflight_scratch(&kernel, &device, blocks, &grid, &err), &err);
}
END_TEST

/* HIP hands the grid on in threads, 32 bits a dimension: blocks that are few enough may still be too many threads. */
START_TEST(hip_counts_threads) {
    const slw_kernel_contract kernel = {.name = "k"};
    const slwi_shape shape = {.block = {1024, 1, 1}};
    uint32_t extent[3] = {4194303, 1, 1};
    uint32_t blocks[3] = {0, 0, 0};
    use("gfx942");
    slt_ok(slwi_preflight_grid(&kernel, &device, &shape, extent, blocks, &err), &err);
    ck_blocks(blocks, 4194303, 1, 1);
    extent[0]++;
    ck_assert_int_eq(slwi_preflight_grid(&kernel, &device, &shape, extent, blocks, &err), SLW_E_OUT_OF_RESOURCES);
    ck_assert_str_eq(err.resource, "grid x in threads");
    ck_assert_uint_eq(err.required, 4294967296u);
    ck_assert_uint_eq(err.limit, 4294967295u);
    ck_assert_str_eq(err.unit, "threads");
    ck_blocks(blocks, 4194303, 1, 1);
    use("sm_90"); /* which has no such limit */
    slt_ok(slwi_preflight_grid(&kernel, &device, &shape, extent, blocks, &err), &err);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle pitfall 11");
    TCase *c = tcase_create("grid unit");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_test(c, clusters);
    tcase_add_test(c, blocks_have_to_divide);
    tcase_add_test(c, programs_of_several_blocks);
    tcase_add_test(c, scratch_is_per_block);
    tcase_add_test(c, hip_counts_threads);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
