/* What does not fit is refused before any driver call: tables over the pure functions. */
#include "kit.h"

#include "preflight.h"

static slw_error err;
static slw_device_info gpu;

static void setup(void) {
    const slw_error fresh = SLW_ERROR_INIT;
    slt_null null;
    err = fresh;
    slt_null_init(&null);
    gpu = null.info;
}

static void reset(void) {
    const slw_error fresh = SLW_ERROR_INIT;
    err = fresh;
}

/* ---- shapes
   --------------------------------------------------------------------------------------------------------- */

typedef struct shape_row {
    const char *what;
    slw_kernel_contract kernel;
    slw_launch_shape shape;
    slw_code code;
    const char *resource;
    uint64_t required;
    uint64_t limit;
} shape_row;

#define BLOCK(x, y, z)                                                                                                 \
    { sizeof(slw_launch_shape), NULL, {x, y, z}, 0, {0, 0, 0}, 0, 0 }
#define BLOCK_SHARED(x, bytes)                                                                                         \
    { sizeof(slw_launch_shape), NULL, {x, 1, 1}, bytes, {0, 0, 0}, 0, 0 }
#define BLOCK_CLUSTER(x, a, b, c)                                                                                      \
    { sizeof(slw_launch_shape), NULL, {x, 1, 1}, 0, {a, b, c}, 0, 0 }
#define OVER SLW_E_OUT_OF_RESOURCES
#define BAD  SLW_E_INVALID_LAUNCH

static const shape_row shapes[] = {
    {"fits", {.name = "k"}, BLOCK(256, 1, 1), SLW_OK, NULL, 0, 0},
    {"the greatest block", {.name = "k"}, BLOCK(1024, 1, 1), SLW_OK, NULL, 0, 0},
    {"the greatest z", {.name = "k"}, BLOCK(1, 1, 64), SLW_OK, NULL, 0, 0},
    {"x", {.name = "k"}, BLOCK(1025, 1, 1), OVER, "block x", 1025, 1024},
    {"y", {.name = "k"}, BLOCK(1, 1025, 1), OVER, "block y", 1025, 1024},
    {"z", {.name = "k"}, BLOCK(1, 1, 65), OVER, "block z", 65, 64},
    {"threads", {.name = "k"}, BLOCK(1024, 2, 1), OVER, "threads per block", 2048, 1024},
    {"threads past 2^32", {.name = "k"}, BLOCK(1024, 1024, 64), OVER, "threads per block", 67108864, 1024},
    {"the kernel's own maximum",
     {.name = "k", .max_threads = 128},
     BLOCK(129, 1, 1),
     OVER,
     "threads per block",
     129,
     128},
    {"the kernel's own block", {.name = "k", .max_block = {64, 64, 1}}, BLOCK(65, 1, 1), OVER, "block x", 65, 64},
    {"zero x", {.name = "k"}, BLOCK(0, 1, 1), BAD, NULL, 0, 0},
    {"zero y", {.name = "k"}, BLOCK(1, 0, 1), BAD, NULL, 0, 0},
    {"zero z", {.name = "k"}, BLOCK(1, 1, 0), BAD, NULL, 0, 0},
    {"nothing said", {.name = "k"}, BLOCK(0, 0, 0), BAD, NULL, 0, 0},
    {"what is required", {.name = "k", .required_threads = {64, 2, 1}}, BLOCK(0, 0, 0), SLW_OK, NULL, 0, 0},
    {"other than required", {.name = "k", .required_threads = {64, 2, 1}}, BLOCK(128, 1, 1), BAD, NULL, 0, 0},
    {"warps of the metadata", {.name = "k", .warps = 4, .warp_threads = 32}, BLOCK(0, 0, 0), SLW_OK, NULL, 0, 0},
    {"static shared",
     {.name = "k", .static_shared_bytes = 232449},
     BLOCK(1, 1, 1),
     OVER,
     "shared memory",
     232449,
     232448},
    {"static and dynamic", {.name = "k", .static_shared_bytes = 1024}, BLOCK_SHARED(1, 231424), SLW_OK, NULL, 0, 0},
    {"static and dynamic, one more",
     {.name = "k", .static_shared_bytes = 1024},
     BLOCK_SHARED(1, 231425),
     OVER,
     "shared memory",
     232449,
     232448},
    {"the sum passes 32 bits",
     {.name = "k", .static_shared_bytes = UINT32_MAX},
     BLOCK_SHARED(1, UINT32_MAX),
     OVER,
     "shared memory",
     2 * (uint64_t)UINT32_MAX,
     232448},
    {"reserved as the device does",
     {.name = "k", .static_shared_bytes = 232448, .reserved_shared_bytes = 1024},
     BLOCK(1, 1, 1),
     SLW_OK,
     NULL,
     0,
     0},
    {"reserved beyond it",
     {.name = "k", .static_shared_bytes = 232448, .reserved_shared_bytes = 1025},
     BLOCK(1, 1, 1),
     OVER,
     "shared memory",
     232449,
     232448},
    {"required dynamic is filled in",
     {.name = "k", .dynamic_shared_bytes = 232449},
     BLOCK(1, 1, 1),
     OVER,
     "shared memory",
     232449,
     232448},
    {"less than required dynamic", {.name = "k", .dynamic_shared_bytes = 100}, BLOCK_SHARED(1, 99), BAD, NULL, 0, 0},
    {"cluster", {.name = "k"}, BLOCK_CLUSTER(1, 2, 2, 2), SLW_OK, NULL, 0, 0},
    {"cluster rank", {.name = "k"}, BLOCK_CLUSTER(1, 3, 3, 1), OVER, "cluster", 9, 8},
    {"cluster rank past 64 bits",
     {.name = "k"},
     BLOCK_CLUSTER(1, UINT32_MAX, UINT32_MAX, UINT32_MAX),
     OVER,
     "cluster",
     UINT64_MAX,
     8},
    {"the kernel's own rank", {.name = "k", .max_cluster_rank = 2}, BLOCK_CLUSTER(1, 4, 1, 1), OVER, "cluster", 4, 2},
    {"half a cluster", {.name = "k"}, BLOCK_CLUSTER(1, 2, 0, 1), BAD, NULL, 0, 0},
    {"another cluster than the binary's",
     {.name = "k", .cluster = {2, 1, 1}, .cluster_required = 1},
     BLOCK_CLUSTER(1, 4, 1, 1),
     BAD,
     NULL,
     0,
     0},
    {"the binary's cluster",
     {.name = "k", .cluster = {2, 1, 1}, .cluster_required = 1},
     BLOCK_CLUSTER(1, 2, 1, 1),
     SLW_OK,
     NULL,
     0,
     0},
    {"the binary's cluster, filled in",
     {.name = "k", .cluster = {16, 1, 1}, .cluster_required = 1},
     BLOCK(1, 1, 1),
     OVER,
     "cluster",
     16,
     8},
    {"tensor memory", {.name = "k", .tensor_memory_columns = 32}, BLOCK(1, 1, 1), OVER, "tensor memory", 32, 0},
    {"registers", {.name = "k", .registers = 64}, BLOCK(1024, 1, 1), SLW_OK, NULL, 0, 0},
    {"registers, one more", {.name = "k", .registers = 65}, BLOCK(1024, 1, 1), OVER, "registers", 73728, 65536},
};

START_TEST(shape_table) {
    const shape_row *row = &shapes[_i];
    slwi_shape resolved;
    slw_code rc = slwi_preflight_resolve(&row->kernel, &row->shape, &resolved, &err);
    if (rc == SLW_OK) rc = slwi_preflight_shape(&row->kernel, &gpu, &resolved, &err);
    ck_assert_msg(rc == row->code, "%s: %s %s", row->what, slw_code_name(rc), err.message);
    if (rc != SLW_OK) ck_assert_str_eq(err.kernel, "k");
    if (row->resource == NULL) return;
    ck_assert_str_eq(err.resource, row->resource);
    ck_assert_uint_eq(err.required, row->required);
    ck_assert_uint_eq(err.limit, row->limit);
    ck_assert_ptr_nonnull(err.unit);
    ck_assert_str_eq(err.device, "null:0");
}
END_TEST

START_TEST(warps_become_a_block) {
    const slw_kernel_contract kernel = {.name = "k", .warps = 4, .warp_threads = 32};
    const slw_launch_shape shape = BLOCK(0, 0, 0);
    slwi_shape resolved;
    ck_assert_int_eq(slwi_preflight_resolve(&kernel, &shape, &resolved, &err), SLW_OK);
    ck_assert_uint_eq(resolved.block[0], 128);
    ck_assert_uint_eq(resolved.block[1], 1);
}
END_TEST

START_TEST(cooperative_needs_the_device) {
    const slw_kernel_contract kernel = {.name = "k", .cooperative = 1};
    const slw_launch_shape shape = BLOCK(1, 1, 1);
    slwi_shape resolved;
    ck_assert_int_eq(slwi_preflight_resolve(&kernel, &shape, &resolved, &err), SLW_OK);
    ck_assert_int_eq(slwi_preflight_shape(&kernel, &gpu, &resolved, &err), SLW_OK);
    gpu.cooperative = 0;
    ck_assert_int_eq(slwi_preflight_shape(&kernel, &gpu, &resolved, &err), SLW_E_OUT_OF_RESOURCES);
}
END_TEST

/* Pitfall 36: registers times threads below the file says "fits" of pairs that do not. Checked against a count of
   warps that is made by handing them out one by one. */
static int fits_by_dealing(uint32_t registers, uint32_t threads) {
    const uint32_t warp = (registers + 7) / 8 * 8 * 32;
    uint32_t part[4] = {16384, 16384, 16384, 16384};
    for (uint32_t w = 0; w < (threads + 31) / 32; w++) {
        if (part[w % 4] < warp) return 0;
        part[w % 4] -= warp;
    }
    return 1;
}

START_TEST(pitfall_36_registers) {
    unsigned falsely = 0;
    for (uint32_t registers = 1; registers <= 255; registers++) {
        for (uint32_t threads = 1; threads <= 1024; threads++) {
            const slw_kernel_contract kernel = {.name = "k", .registers = registers};
            const slwi_shape shape = {{threads, 1, 1}, {0, 0, 0}, 0, 0, 0};
            const int fits = slwi_preflight_shape(&kernel, &gpu, &shape, NULL) == SLW_OK;
            ck_assert_msg(fits == fits_by_dealing(registers, threads), "%u registers, %u threads", registers, threads);
            if (!fits && registers * threads <= 65536) falsely++;
        }
    }
    ck_assert_uint_gt(falsely, 5000); /* the naive rule would have let these through */
    static const uint32_t named[3][2] = {{168, 390}, {255, 257}, {72, 900}};
    for (int i = 0; i < 3; i++) {
        const slw_kernel_contract kernel = {.name = "k", .registers = named[i][0]};
        const slwi_shape shape = {{named[i][1], 1, 1}, {0, 0, 0}, 0, 0, 0};
        reset();
        ck_assert_int_eq(slwi_preflight_shape(&kernel, &gpu, &shape, &err), SLW_E_OUT_OF_RESOURCES);
        ck_assert_str_eq(err.resource, "registers");
        ck_assert_uint_gt(err.required, err.limit);
    }
}
END_TEST

/* Pitfall 26: other figures than the contract's are no refusal as long as they fit. */
START_TEST(pitfall_26_measured_figures) {
    const slw_kernel_contract kernel = {.name = "k", .registers = 32, .static_shared_bytes = 64};
    const slwi_shape shape = {{1024, 1, 1}, {0, 0, 0}, 0, 0, 0};
    slw_function_attributes measured = {sizeof measured, 40, 0, 128, 1024};
    ck_assert_int_eq(slwi_preflight_measured(&kernel, &measured, &gpu, &shape, &err), SLW_OK);
    measured.registers = 72;
    ck_assert_int_eq(slwi_preflight_measured(&kernel, &measured, &gpu, &shape, &err), SLW_E_OUT_OF_RESOURCES);
    reset();
    measured.registers = 0;
    measured.max_threads = 512;
    ck_assert_int_eq(slwi_preflight_measured(&kernel, &measured, &gpu, &shape, &err), SLW_E_OUT_OF_RESOURCES);
    ck_assert_str_eq(err.resource, "threads per block");
}
END_TEST

/* ---- loads
   ---------------------------------------------------------------------------------------------------------- */

START_TEST(one_kernel_that_fits_is_enough) {
    slw_kernel_contract kernels[2] = {{.name = "big", .static_shared_bytes = 300000}, {.name = "small"}};
    const slw_contract contract = {
        .backend = "null", .target = "null", .launch_binary = "k", .kernels = kernels, .kernel_count = 2};
    ck_assert_int_eq(slwi_preflight_load(&contract, &gpu, &err), SLW_OK);
    kernels[1].required_threads[0] = kernels[1].required_threads[1] = 1024;
    kernels[1].required_threads[2] = 1;
    ck_assert_int_eq(slwi_preflight_load(&contract, &gpu, &err), SLW_E_OUT_OF_RESOURCES);
    ck_assert_str_eq(err.kernel, "big");
}
END_TEST

typedef struct target_row {
    const char *kind, *built, *device;
    int runs;
} target_row;

static const target_row targets[] = {
    {"host", "x86_64-linux-gnu", "x86_64-linux-gnu", 1},
    {"host", "aarch64-linux-gnu", "x86_64-linux-gnu", 0},
    {"host", "x86_64-linux-musl", "x86_64-linux-gnu", 0},
    {"cuda", "sm_90", "sm_90", 1},
    {"cuda", "sm_90a", "sm_90", 1},
    {"cuda", "sm_80", "sm_86", 1},
    {"cuda", "sm_80", "sm_89", 1},
    {"cuda", "sm_86", "sm_80", 0},
    {"cuda", "sm_80", "sm_90", 0},
    {"cuda", "sm_90", "sm_80", 0},
    {"cuda", "sm_100a", "sm_100", 1},
    {"cuda", "sm_100a", "sm_103", 0},
    {"cuda", "sm_100f", "sm_103", 1},
    {"cuda", "sm_103f", "sm_100", 0},
    {"cuda", "sm_100f", "sm_110", 0},
    {"cuda", "sm_120f", "sm_121", 1},
    {"cuda", "sm_90b", "sm_90", 0},
    {"cuda", "sm_9", "sm_9", 1}, /* not understood, but equal */
    {"cuda", "sm_90ax", "sm_90", 0},
    {"hip", "gfx90a", "gfx90a:sramecc+:xnack-", 1},
    {"hip", "gfx90a:xnack-", "gfx90a:sramecc+:xnack-", 1},
    {"hip", "gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-", 1},
    {"hip", "gfx90a:xnack+", "gfx90a:sramecc+:xnack-", 0},
    {"hip", "gfx90a:sramecc-", "gfx90a:sramecc+:xnack-", 0},
    {"hip", "gfx90", "gfx90a:sramecc+:xnack-", 0},
    {"hip", "gfx942", "gfx90a", 0},
    {"hip", "gfx942:xnack+", "gfx942", 0},
};

START_TEST(target_table) {
    const target_row *row = &targets[_i];
    const slw_contract contract = {.backend = row->kind, .target = row->built, .launch_binary = "k"};
    (void)snprintf(gpu.kind, sizeof gpu.kind, "%s", row->kind);
    (void)snprintf(gpu.target, sizeof gpu.target, "%s", row->device);
    const slw_code rc = slwi_preflight_target(&contract, &gpu, &err);
    ck_assert_msg((rc == SLW_OK) == row->runs, "%s on %s", row->built, row->device);
    if (rc == SLW_OK) return;
    ck_assert_int_eq(rc, SLW_E_TARGET_MISMATCH);
    ck_assert_str_eq(err.subject, row->built);
    ck_assert_ptr_nonnull(strstr(err.message, row->device));
}
END_TEST

START_TEST(another_backend_is_another_target) {
    const slw_contract contract = {.backend = "cuda", .target = "null", .launch_binary = "k"};
    ck_assert_int_eq(slwi_preflight_target(&contract, &gpu, &err), SLW_E_TARGET_MISMATCH);
}
END_TEST

/* ---- grids
   ---------------------------------------------------------------------------------------------------------- */

typedef struct grid_row {
    const char *what;
    slw_grid_unit unit;
    uint32_t ctas;
    uint32_t cluster[3];
    uint32_t extent[3];
    slw_code code;
    const char *resource;
    uint64_t required;
    uint32_t blocks[3];
} grid_row;

static const grid_row grids[] = {
    {"plain", SLW_GRID_BLOCKS, 1, {0, 0, 0}, {3, 4, 5}, SLW_OK, NULL, 0, {3, 4, 5}},
    {"the greatest",
     SLW_GRID_BLOCKS,
     1,
     {0, 0, 0},
     {2147483647, 65535, 65535},
     SLW_OK,
     NULL,
     0,
     {2147483647, 65535, 65535}},
    {"x", SLW_GRID_BLOCKS, 1, {0, 0, 0}, {2147483648u, 1, 1}, OVER, "grid x", 2147483648u, {0}},
    {"y", SLW_GRID_BLOCKS, 1, {0, 0, 0}, {1, 65536, 1}, OVER, "grid y", 65536, {0}},
    {"z", SLW_GRID_BLOCKS, 1, {0, 0, 0}, {1, 1, 65536}, OVER, "grid z", 65536, {0}},
    {"zero", SLW_GRID_BLOCKS, 1, {0, 0, 0}, {1, 0, 1}, BAD, NULL, 0, {0}},
    {"clusters", SLW_GRID_CLUSTERS, 1, {2, 2, 1}, {3, 4, 5}, SLW_OK, NULL, 0, {6, 8, 5}},
    {"clusters over the limit", SLW_GRID_CLUSTERS, 1, {2, 1, 1}, {1073741824, 1, 1}, OVER, "grid x", 2147483648u, {0}},
    {"clusters past 32 bits",
     SLW_GRID_CLUSTERS,
     1,
     {8, 1, 1},
     {UINT32_MAX, 1, 1},
     OVER,
     "grid x",
     8 * (uint64_t)UINT32_MAX,
     {0}},
    {"programs", SLW_GRID_PROGRAMS_BY_CTAS, 4, {4, 1, 1}, {3, 2, 1}, SLW_OK, NULL, 0, {12, 2, 1}},
    {"programs past 32 bits",
     SLW_GRID_PROGRAMS_BY_CTAS,
     16,
     {0, 0, 0},
     {UINT32_MAX, 1, 1},
     OVER,
     "grid x",
     16 * (uint64_t)UINT32_MAX,
     {0}},
    {"divisible", SLW_GRID_BLOCKS, 1, {2, 1, 1}, {6, 1, 1}, SLW_OK, NULL, 0, {6, 1, 1}},
    {"not divisible", SLW_GRID_BLOCKS, 1, {4, 1, 1}, {6, 1, 1}, BAD, NULL, 0, {0}},
};

START_TEST(pitfall_11_grid_table) {
    const grid_row *row = &grids[_i];
    const slw_kernel_contract kernel = {.name = "k", .grid_unit = row->unit, .ctas = row->ctas};
    const slwi_shape shape = {{1, 1, 1}, {row->cluster[0], row->cluster[1], row->cluster[2]}, 0, 0, 0};
    uint32_t blocks[3] = {77, 77, 77};
    const slw_code rc = slwi_preflight_grid(&kernel, &gpu, &shape, row->extent, blocks, &err);
    ck_assert_msg(rc == row->code, "%s: %s %s", row->what, slw_code_name(rc), err.message);
    for (int i = 0; i < 3; i++) ck_assert_uint_eq(blocks[i], rc == SLW_OK ? row->blocks[i] : 77);
    if (row->resource == NULL) return;
    ck_assert_str_eq(err.resource, row->resource);
    ck_assert_uint_eq(err.required, row->required);
    ck_assert_str_eq(err.unit, "blocks");
}
END_TEST

START_TEST(scratch_in_64_bit) {
    const slw_kernel_contract kernel = {
        .name = "k", .global_scratch_bytes = 65536, .global_scratch_alignment_bytes = 128, .profile_scratch_bytes = 8};
    const uint32_t blocks[3] = {65536, 65535, 2};
    const uint64_t count = (uint64_t)65536 * 65535 * 2;
    slw_grid grid = SLW_GRID_INIT;
    ck_assert_int_eq(slwi_preflight_scratch(&kernel, &gpu, blocks, &grid, &err), SLW_E_INVALID_LAUNCH);
    ck_assert_str_eq(err.resource, "global scratch");
    ck_assert_uint_eq(err.required, count * 65536);
    ck_assert_uint_eq(err.limit, 0);
    grid.global_scratch = 128;
    grid.global_scratch_bytes = count * 65536 - 1;
    reset();
    ck_assert_int_eq(slwi_preflight_scratch(&kernel, &gpu, blocks, &grid, &err), SLW_E_INVALID_LAUNCH);
    grid.global_scratch_bytes++;
    reset();
    ck_assert_int_eq(slwi_preflight_scratch(&kernel, &gpu, blocks, &grid, &err), SLW_E_INVALID_LAUNCH);
    ck_assert_str_eq(err.resource, "profile scratch");
    grid.profile_scratch = 8;
    grid.profile_scratch_bytes = count * 8;
    ck_assert_int_eq(slwi_preflight_scratch(&kernel, &gpu, blocks, &grid, NULL), SLW_OK);
    grid.global_scratch = 129;
    ck_assert_int_eq(slwi_preflight_scratch(&kernel, &gpu, blocks, &grid, NULL), SLW_E_INVALID_LAUNCH);
    /* The greatest legal grid: what it needs does not fit 64 bits, so no buffer is large enough. */
    const uint32_t greatest[3] = {2147483647, 65535, 65535};
    grid.global_scratch = 128;
    grid.global_scratch_bytes = UINT64_MAX;
    ck_assert_int_eq(slwi_preflight_scratch(&kernel, &gpu, greatest, &grid, NULL), SLW_E_INVALID_LAUNCH);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle preflight");
    TCase *c = tcase_create("preflight");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_loop_test(c, shape_table, 0, (int)(sizeof shapes / sizeof *shapes));
    tcase_add_test(c, warps_become_a_block);
    tcase_add_test(c, cooperative_needs_the_device);
    tcase_add_test(c, pitfall_36_registers);
    tcase_add_test(c, pitfall_26_measured_figures);
    tcase_add_test(c, one_kernel_that_fits_is_enough);
    tcase_add_loop_test(c, target_table, 0, (int)(sizeof targets / sizeof *targets));
    tcase_add_test(c, another_backend_is_another_target);
    tcase_add_loop_test(c, pitfall_11_grid_table, 0, (int)(sizeof grids / sizeof *grids));
    tcase_add_test(c, scratch_in_64_bit);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
