/* slw_preflight against known devices: a table of contracts, shapes and verdicts; the least a kernel asks for; misuse. */
#include <slipway/inspect.h>
#include <stdio.h>
#include <string.h>

#include "host_target.h"
#include "slt.h"

static slw_error err;
static slw_device_info device;

static void setup(void) {
    const slw_error fresh = SLW_ERROR_INIT;
    const slw_device_info empty = SLW_DEVICE_INFO_INIT;
    err = fresh;
    device = empty;
    slt_ok(slw_device_known("sm_90", &device, &err), &err);
}

static void use(const char *target) {
    const slw_device_info empty = SLW_DEVICE_INFO_INIT;
    device = empty;
    slt_ok(slw_device_known(target, &device, &err), &err);
}

/* The contract of an image that the device runs, whatever it is. */
static slw_contract contract_for_device(void) {
    const int cuda = strcmp(device.kind, "cuda") == 0;
    const int hip = strcmp(device.kind, "hip") == 0;
    const slw_contract contract = {
        .schema = SLW_CONTRACT_SCHEMA,
        .backend = device.kind,
        .target = device.target,
        .kind = cuda  ? SLW_IMAGE_CUBIN
                : hip ? SLW_IMAGE_HSACO
                      : SLW_IMAGE_HOST,
    };
    return contract;
}

#define OVER SLW_E_OUT_OF_RESOURCES
#define BAD  SLW_E_INVALID_LAUNCH

/* ---- without a shape: the least in any ---------------------------------------------------------------------------- */

typedef struct least_row {
    const char *what;
    const char *device;
    slw_kernel_contract kernel;
    slw_code code;
    const char *resource; /* of OVER; the reason of BAD */
    uint64_t required, limit;
    const char *unit;
} least_row;

#define FITS SLW_OK, NULL, 0, 0, NULL

static const least_row leasts[] = {
    {"nothing", "sm_90", {.name = "k"}, FITS},
    {"nothing, host", "host", {.name = "k"}, FITS},
    {"nothing, hip", "gfx942", {.name = "k"}, FITS},
    /* The block. */
    {"required", "sm_90", {.name = "k", .required_threads = {32, 8, 4}}, FITS},
    {"too many",
     "sm_90",
     {.name = "k", .required_threads = {32, 8, 8}},
     OVER,
     "threads per block",
     2048,
     1024,
     "threads"},
    {"too deep", "sm_90", {.name = "k", .required_threads = {1, 1, 65}}, OVER, "block z", 65, 64, "threads"},
    {"not too deep for HIP", "gfx942", {.name = "k", .required_threads = {1, 1, 65}}, FITS},
    {"required over its own maximum",
     "sm_90",
     {.name = "k", .required_threads = {256, 1, 1}, .max_threads = 128},
     OVER,
     "threads per block",
     256,
     128,
     "threads"},
    {"Triton's warps", "sm_90", {.name = "k", .warps = 32, .warp_threads = 32}, FITS},
    {"Triton's warps, one too many",
     "sm_90",
     {.name = "k", .warps = 33, .warp_threads = 32},
     OVER,
     "block x",
     1056,
     1024,
     "threads"},
    {"wide wavefronts", "gfx942", {.name = "k", .warps = 16, .warp_threads = 64}, FITS},
    {"wide wavefronts, too many",
     "gfx942",
     {.name = "k", .warps = 17, .warp_threads = 64},
     OVER,
     "block x",
     1088,
     1024,
     "threads"},
    {"warps past 32 bits",
     "sm_90",
     {.name = "k", .warps = 0x80000000u, .warp_threads = 32},
     OVER,
     "block x",
     UINT32_MAX,
     1024,
     "threads"},
    {"the binary's block wins",
     "sm_90",
     {.name = "k", .required_threads = {64, 2, 1}, .warps = 4, .warp_threads = 32},
     FITS},
    {"less than a warp allowed", "sm_90", {.name = "k", .max_threads = 8}, FITS},
    {"less than a warp allowed in x", "sm_90", {.name = "k", .max_block = {4, 64, 64}}, FITS},
    /* Shared memory: static and what every launch needs. */
    {"static", "sm_90", {.name = "k", .static_shared_bytes = 49152}, FITS},
    {"dynamic", "sm_90", {.name = "k", .dynamic_shared_bytes = 232448}, FITS},
    {"dynamic, one more",
     "sm_90",
     {.name = "k", .dynamic_shared_bytes = 232449},
     OVER,
     "shared memory",
     232449,
     232448,
     "bytes"},
    {"both",
     "sm_90",
     {.name = "k", .static_shared_bytes = 1024, .dynamic_shared_bytes = 231425},
     OVER,
     "shared memory",
     232449,
     232448,
     "bytes"},
    {"both past 32 bits",
     "sm_90",
     {.name = "k", .static_shared_bytes = UINT32_MAX, .dynamic_shared_bytes = UINT32_MAX},
     OVER,
     "shared memory",
     2 * (uint64_t)UINT32_MAX,
     232448,
     "bytes"},
    {"the reserved KiB is the device's",
     "sm_90",
     {.name = "k", .dynamic_shared_bytes = 232448, .reserved_shared_bytes = 1024},
     FITS},
    {"more reserved than the device does",
     "sm_90",
     {.name = "k", .dynamic_shared_bytes = 232448, .reserved_shared_bytes = 2048},
     OVER,
     "shared memory",
     233472,
     232448,
     "bytes"},
    {"made for sm_90, on Ada",
     "sm_89",
     {.name = "k", .dynamic_shared_bytes = 232448},
     OVER,
     "shared memory",
     232448,
     101376,
     "bytes"},
    {"Rubin has more", "sm_107", {.name = "k", .dynamic_shared_bytes = 334848}, FITS},
    {"LDS", "gfx942", {.name = "k", .static_shared_bytes = 65537}, OVER, "shared memory", 65537, 65536, "bytes"},
    {"LDS of gfx950", "gfx950", {.name = "k", .static_shared_bytes = 163840}, FITS},
    {"LDS of gfx950, one more",
     "gfx950",
     {.name = "k", .static_shared_bytes = 163841},
     OVER,
     "shared memory",
     163841,
     163840,
     "bytes"},
    {"host", "host", {.name = "k", .static_shared_bytes = 49153}, OVER, "shared memory", 49153, 49152, "bytes"},
    /* Registers: of a whole warp at least. */
    {"255 registers", "sm_90", {.name = "k", .registers = 255}, FITS},
    {"255 registers, 256 threads", "sm_90", {.name = "k", .registers = 255, .required_threads = {256, 1, 1}}, FITS},
    {"255 registers, 257 threads",
     "sm_90",
     {.name = "k", .registers = 255, .required_threads = {257, 1, 1}},
     OVER,
     "registers",
     98304,
     65536,
     "registers"},
    {"72 registers, Triton's block",
     "sm_90",
     {.name = "k", .registers = 72, .warps = 32, .warp_threads = 32},
     OVER,
     "registers",
     73728,
     65536,
     "registers"},
    {"vector registers are no matter",
     "gfx942",
     {.name = "k", .registers = 512, .warps = 16, .warp_threads = 64},
     FITS},
    /* Clusters, tensor memory. */
    {"cluster", "sm_90", {.name = "k", .cluster = {2, 2, 2}, .cluster_required = 1}, FITS},
    {"cluster of 16, which has to be asked for",
     "sm_90",
     {.name = "k", .cluster = {16, 1, 1}, .cluster_required = 1},
     FITS},
    {"cluster of 17",
     "sm_90",
     {.name = "k", .cluster = {17, 1, 1}, .cluster_required = 1},
     OVER,
     "cluster",
     17,
     16,
     "blocks"},
    {"cluster before Hopper",
     "sm_89",
     {.name = "k", .cluster = {2, 1, 1}, .cluster_required = 1},
     OVER,
     "cluster",
     2,
     1,
     "blocks"},
    {"cluster not required", "sm_89", {.name = "k", .cluster = {2, 1, 1}}, FITS},
    {"cluster over its own maximum",
     "sm_90",
     {.name = "k", .cluster = {4, 1, 1}, .cluster_required = 1, .max_cluster_rank = 2},
     OVER,
     "cluster",
     4,
     2,
     "blocks"},
    {"cluster with a zero",
     "sm_90",
     {.name = "k", .cluster = {2, 0, 1}, .cluster_required = 1},
     BAD,
     "BAD_CLUSTER",
     0,
     0,
     NULL},
    {"cluster past 64 bits",
     "sm_90",
     {.name = "k", .cluster = {UINT32_MAX, UINT32_MAX, UINT32_MAX}, .cluster_required = 1},
     OVER,
     "cluster",
     UINT64_MAX,
     16,
     "blocks"},
    {"tensor memory", "sm_100", {.name = "k", .tensor_memory_columns = 512}, FITS},
    {"tensor memory, too much",
     "sm_100",
     {.name = "k", .tensor_memory_columns = 513},
     OVER,
     "tensor memory",
     513,
     512,
     "columns"},
    {"tensor memory on Hopper",
     "sm_90",
     {.name = "k", .tensor_memory_columns = 32},
     OVER,
     "tensor memory",
     32,
     0,
     "columns"},
    {"tensor memory on consumer Blackwell",
     "sm_120",
     {.name = "k", .tensor_memory_columns = 32},
     OVER,
     "tensor memory",
     32,
     0,
     "columns"},
    {"cooperative", "sm_75", {.name = "k", .cooperative = 1}, FITS},
    {"cooperative on the host", "host", {.name = "k", .cooperative = 1}, OVER, "cooperative launch", 1, 0, "launches"},
};

START_TEST(least_table) {
    const least_row *row = &leasts[_i];
    use(row->device);
    const slw_contract contract = contract_for_device();
    const slw_code rc = slw_preflight(&contract, &row->kernel, &device, NULL, &err);
    ck_assert_msg(rc == row->code, "%s: %s %s", row->what, slw_code_name(rc), err.message);
    ck_assert_int_eq(slw_preflight(&contract, &row->kernel, &device, NULL, NULL), rc);
    ck_assert_int_eq(err.code, rc);
    if (rc == SLW_OK) return;
    ck_assert_str_eq(err.kernel, "k");
    ck_assert_str_eq(err.device, device.name);
    ck_assert_str_eq(err.phase, "preflight");
    if (rc == BAD) {
        ck_assert_str_eq(err.reason, row->resource);
        return;
    }
    ck_assert_msg(strcmp(err.resource, row->resource) == 0, "%s: %s", row->what, err.resource);
    ck_assert_uint_eq(err.required, row->required);
    ck_assert_uint_eq(err.limit, row->limit);
    ck_assert_str_eq(err.unit, row->unit);
    ck_assert_uint_eq(err.present & (SLW_ERROR_HAS_REQUIRED | SLW_ERROR_HAS_LIMIT),
                      SLW_ERROR_HAS_REQUIRED | SLW_ERROR_HAS_LIMIT);
}
END_TEST

/* One warp, not one thread: on a device of fewer registers one thread's would fit and a warp's do not. */
START_TEST(least_is_a_whole_warp) {
    const slw_kernel_contract kernel = {.name = "k", .registers = 128};
    const slw_contract contract = contract_for_device();
    device.registers_per_block = device.registers_per_multiprocessor = 128 * 32 * 4;
    slt_ok(slw_preflight(&contract, &kernel, &device, NULL, &err), &err);
    device.registers_per_block = device.registers_per_multiprocessor = 128 * 32 * 4 - 1;
    ck_assert_int_eq(slw_preflight(&contract, &kernel, &device, NULL, &err), SLW_E_OUT_OF_RESOURCES);
    ck_assert_uint_eq(err.required, 128 * 32 * 4);
    /* And warps of 64 are twice that. */
    device.warp_threads = 64;
    ck_assert_int_eq(slw_preflight(&contract, &kernel, &device, NULL, &err), SLW_E_OUT_OF_RESOURCES);
    ck_assert_uint_eq(err.required, 128 * 64 * 4);
}
END_TEST

/* ---- with a shape ------------------------------------------------------------------------------------------------- */

typedef struct shape_row {
    const char *what;
    slw_kernel_contract kernel;
    uint32_t block[3], shared, cluster[3], cooperative;
    slw_code code;
    const char *word; /* resource of OVER, reason of BAD */
} shape_row;

static const shape_row shapes[] = {
    {"fits", {.name = "k"}, {256, 1, 1}, 0, {0, 0, 0}, 0, SLW_OK, NULL},
    {"a zero block that nothing fills in", {.name = "k"}, {0, 0, 0}, 0, {0, 0, 0}, 0, BAD, "ZERO"},
    {"a zero", {.name = "k"}, {32, 0, 1}, 0, {0, 0, 0}, 0, BAD, "ZERO"},
    {"threads", {.name = "k"}, {1024, 1, 2}, 0, {0, 0, 0}, 0, OVER, "threads per block"},
    {"filled in", {.name = "k", .required_threads = {64, 1, 1}}, {0, 0, 0}, 0, {0, 0, 0}, 0, SLW_OK, NULL},
    {"another block", {.name = "k", .required_threads = {64, 1, 1}}, {32, 2, 1}, 0, {0, 0, 0}, 0, BAD, "BAD_BLOCK"},
    {"Triton's", {.name = "k", .warps = 4, .warp_threads = 32}, {128, 1, 1}, 0, {0, 0, 0}, 0, SLW_OK, NULL},
    {"Triton's, filled in", {.name = "k", .warps = 4, .warp_threads = 32}, {0, 0, 0}, 0, {0, 0, 0}, 0, SLW_OK, NULL},
    {"not Triton's", {.name = "k", .warps = 4, .warp_threads = 32}, {256, 1, 1}, 0, {0, 0, 0}, 0, BAD, "BAD_BLOCK"},
    {"Triton's warps alone say nothing", {.name = "k", .warps = 4}, {256, 1, 1}, 0, {0, 0, 0}, 0, SLW_OK, NULL},
    {"shared", {.name = "k", .static_shared_bytes = 1024}, {32, 1, 1}, 231424, {0, 0, 0}, 0, SLW_OK, NULL},
    {"shared, one more",
     {.name = "k", .static_shared_bytes = 1024},
     {32, 1, 1},
     231425,
     {0, 0, 0},
     0,
     OVER,
     "shared memory"},
    {"less than required",
     {.name = "k", .dynamic_shared_bytes = 4096},
     {32, 1, 1},
     4095,
     {0, 0, 0},
     0,
     BAD,
     "BAD_SHARED"},
    {"cluster", {.name = "k"}, {32, 1, 1}, 0, {2, 2, 2}, 0, SLW_OK, NULL},
    {"cluster of 9", {.name = "k"}, {32, 1, 1}, 0, {3, 3, 1}, 0, OVER, "cluster"},
    {"cluster with a zero", {.name = "k"}, {32, 1, 1}, 0, {2, 0, 1}, 0, BAD, "BAD_CLUSTER"},
    {"another cluster",
     {.name = "k", .cluster = {2, 1, 1}, .cluster_required = 1},
     {32, 1, 1},
     0,
     {4, 1, 1},
     0,
     BAD,
     "BAD_CLUSTER"},
    {"cooperative", {.name = "k"}, {32, 1, 1}, 0, {0, 0, 0}, 1, SLW_OK, NULL},
    {"registers", {.name = "k", .registers = 168}, {390, 1, 1}, 0, {0, 0, 0}, 0, OVER, "registers"},
    {"a block past 64 bits", {.name = "k"}, {UINT32_MAX, UINT32_MAX, UINT32_MAX}, 0, {0, 0, 0}, 0, OVER, "block x"},
};

START_TEST(shape_table) {
    const shape_row *row = &shapes[_i];
    const slw_contract contract = contract_for_device();
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    memcpy(shape.block, row->block, sizeof shape.block);
    memcpy(shape.cluster, row->cluster, sizeof shape.cluster);
    shape.shared_bytes = row->shared;
    shape.cooperative = row->cooperative;
    const slw_launch_shape before = shape;
    const slw_code rc = slw_preflight(&contract, &row->kernel, &device, &shape, &err);
    ck_assert_msg(rc == row->code, "%s: %s %s", row->what, slw_code_name(rc), err.message);
    ck_assert_mem_eq(&shape, &before, sizeof shape);
    if (rc == SLW_OK) return;
    ck_assert_str_eq(err.kernel, "k");
    ck_assert_str_eq(err.device, "sm_90");
    ck_assert_msg(strcmp(rc == BAD ? err.reason : err.resource, row->word) == 0, "%s: %s", row->what, err.message);
}
END_TEST

START_TEST(clusters_that_are_not_portable) {
    const slw_kernel_contract kernel = {.name = "k", .cluster = {16, 1, 1}, .cluster_required = 1};
    slw_contract contract = contract_for_device();
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    shape.block[0] = shape.block[1] = shape.block[2] = 1;
    ck_assert_int_eq(slw_preflight(&contract, &kernel, &device, &shape, &err), SLW_E_OUT_OF_RESOURCES);
    ck_assert_uint_eq(err.limit, 8);
    ck_assert_ptr_nonnull(strstr(err.hint, "SLW_LAUNCH_NON_PORTABLE_CLUSTER"));
    shape.flags = SLW_LAUNCH_NON_PORTABLE_CLUSTER;
    slt_ok(slw_preflight(&contract, &kernel, &device, &shape, &err), &err);
    ck_assert_ptr_null(err.hint);
    use("sm_89"); /* no flag makes clusters where there are none */
    contract = contract_for_device();
    ck_assert_int_eq(slw_preflight(&contract, &kernel, &device, &shape, &err), SLW_E_OUT_OF_RESOURCES);
    ck_assert_uint_eq(err.limit, 1);
}
END_TEST

/* A device without any limit (a driver that says nothing) is no division by zero and no overflow. */
START_TEST(a_device_that_says_nothing) {
    const slw_kernel_contract kernel = {.name = "k", .registers = 8};
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    slw_device_info empty = SLW_DEVICE_INFO_INIT;
    const slw_contract contract = contract_for_device();
    memcpy(empty.kind, device.kind, sizeof empty.kind);
    memcpy(empty.target, device.target, sizeof empty.target);
    slt_ok(slw_preflight(&contract, &kernel, &empty, NULL, &err), &err);
    shape.block[0] = shape.block[1] = shape.block[2] = UINT32_MAX;
    slt_ok(slw_preflight(&contract, &kernel, &empty, &shape, &err), &err);
    empty.registers_per_block = 65536;
    empty.warp_threads = 32;
    ck_assert_int_eq(slw_preflight(&contract, &kernel, &empty, &shape, &err), SLW_E_OUT_OF_RESOURCES);
    ck_assert_str_eq(err.resource, "registers");
    ck_assert_uint_eq(err.required, UINT64_MAX);
}
END_TEST

/* ---- targets ------------------------------------------------------------------------------------------------------ */

typedef struct target_row {
    slw_image_kind kind;
    const char *backend, *built, *isa, *device;
    uint32_t device_isa;
    const char *reason;
} target_row;

static const target_row targets[] = {
    {SLW_IMAGE_CUBIN, "cuda", "sm_90a", NULL, "sm_90", 0, NULL},
    {SLW_IMAGE_CUBIN, "cuda", "sm_80", NULL, "sm_90", 0, "ARCHITECTURE"},
    {SLW_IMAGE_CUBIN, "cuda", "sm_100a", NULL, "sm_103", 0, "VARIANT"},
    {SLW_IMAGE_CUBIN, "cuda", "sm_100f", NULL, "sm_103", 0, NULL},
    {SLW_IMAGE_PTX, "cuda", "sm_80", "7.0", "sm_90", 90, NULL},
    {SLW_IMAGE_PTX, "cuda", "sm_80", "9.1", "sm_90", 90, "ISA_VERSION"},
    {SLW_IMAGE_PTX, "cuda", "sm_80", "9.1", "sm_90", 0, NULL},
    {SLW_IMAGE_PTX, "cuda", "sm_100", "8.5", "sm_100", 90, "ISA_VERSION"},
    {SLW_IMAGE_LTO_IR, "cuda", "sm_90", NULL, "sm_90", 0, "KIND"},
    {SLW_IMAGE_HSACO, "hip", "gfx942", NULL, "gfx942", 0, NULL},
    {SLW_IMAGE_HSACO, "hip", "gfx942:sramecc+:xnack-", NULL, "gfx942", 0, NULL}, /* the usual modes */
    {SLW_IMAGE_HSACO, "hip", "gfx942:xnack+", NULL, "gfx942", 0, "FEATURE"},
    {SLW_IMAGE_HSACO, "hip", "gfx942:xnack+", NULL, "gfx942:xnack+", 0, NULL},
    {SLW_IMAGE_HSACO, "hip", "gfx11-generic", NULL, "gfx1151", 0, NULL},
    {SLW_IMAGE_HSACO, "hip", "gfx1100", NULL, "gfx1151", 0, "ARCHITECTURE"},
    {SLW_IMAGE_HSACO, "hip", "gfx942", NULL, "sm_90", 0, "KIND"},
    {SLW_IMAGE_CUBIN, "cuda", "sm_90", NULL, "gfx942", 0, "KIND"},
    {SLW_IMAGE_HOST, "host", "vax-dec-ultrix", NULL, "host", 0, "ARCHITECTURE"},
    {SLW_IMAGE_HOST, "host", "vax-dec-ultrix", NULL, "sm_90", 0, "KIND"},
};

START_TEST(target_table) {
    const target_row *row = &targets[_i];
    const slw_kernel_contract kernel = {.name = "k"};
    const slw_contract contract = {
        .kind = row->kind, .backend = row->backend, .target = row->built, .isa_version = row->isa};
    use(row->device);
    device.ptx_isa_version = row->device_isa;
    const slw_code rc = slw_preflight(&contract, NULL, &device, NULL, &err);
    ck_assert_msg((rc == SLW_OK) == (row->reason == NULL), "%s on %s: %s", row->built, row->device, err.message);
    ck_assert_int_eq(slw_preflight(&contract, &kernel, &device, NULL, &err), rc); /* the target is asked first */
    if (rc == SLW_OK) return;
    ck_assert_int_eq(rc, SLW_E_TARGET_MISMATCH);
    ck_assert_str_eq(err.reason, row->reason);
    ck_assert_str_eq(err.subject, row->built);
    ck_assert_str_eq(err.device, device.name);
    ck_assert_str_eq(err.kernel, "k");
    ck_assert_ptr_nonnull(strstr(err.message, device.target));
}
END_TEST

START_TEST(host_runs_here) {
    use("host");
    slw_contract contract = {.kind = SLW_IMAGE_HOST, .backend = "host", .target = slwi_host_target()};
    slt_ok(slw_preflight(&contract, NULL, &device, NULL, &err), &err);
}
END_TEST

/* Without a kernel no figure counts. */
START_TEST(no_kernel_is_target_only) {
    slw_device_info empty = SLW_DEVICE_INFO_INIT;
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    const slw_contract contract = contract_for_device();
    memcpy(empty.kind, device.kind, sizeof empty.kind);
    memcpy(empty.target, device.target, sizeof empty.target);
    slt_ok(slw_preflight(&contract, NULL, &empty, NULL, &err), &err);
    slt_ok(slw_preflight(&contract, NULL, &empty, &shape, &err), &err);
}
END_TEST

START_TEST(usage) {
    slw_kernel_contract kernel = {.name = "k"};
    slw_contract contract = contract_for_device();
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    shape.block[0] = shape.block[1] = shape.block[2] = 1;
    ck_assert_int_eq(slw_preflight(NULL, &kernel, &device, NULL, &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_preflight(&contract, &kernel, NULL, NULL, &err), SLW_E_USAGE);
    shape.entry = "other";
    ck_assert_int_eq(slw_preflight(&contract, &kernel, &device, &shape, &err), SLW_E_USAGE);
    shape.entry = "k";
    slt_ok(slw_preflight(&contract, &kernel, &device, &shape, &err), &err);
    ck_assert_int_eq(err.code, SLW_OK); /* reset by the call */
    ck_assert_int_eq(err.message[0], 0);
    shape.size++;
    ck_assert_int_eq(slw_preflight(&contract, &kernel, &device, &shape, &err), SLW_E_USAGE);
    shape.size--;
    shape.flags = 1u << 31;
    ck_assert_int_eq(slw_preflight(&contract, &kernel, &device, &shape, &err), SLW_E_USAGE);
    kernel.name = NULL;
    ck_assert_int_eq(slw_preflight(&contract, &kernel, &device, NULL, &err), SLW_E_USAGE);
    kernel.name = "k";
    contract.target = NULL;
    ck_assert_int_eq(slw_preflight(&contract, &kernel, &device, NULL, &err), SLW_E_USAGE);
    contract = contract_for_device();
    contract.backend = NULL;
    ck_assert_int_eq(slw_preflight(&contract, &kernel, &device, NULL, &err), SLW_E_USAGE);
    contract = contract_for_device();
    device.size--;
    ck_assert_int_eq(slw_preflight(&contract, &kernel, &device, NULL, &err), SLW_E_USAGE);
    device.size++;
    memset(device.name, 'x', sizeof device.name);
    ck_assert_int_eq(slw_preflight(&contract, &kernel, &device, NULL, &err), SLW_E_USAGE);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof *(table))

int main(void) {
    Suite *suite = suite_create("lifecycle public preflight");
    TCase *c = tcase_create("preflight");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_loop_test(c, least_table, 0, ROWS(leasts));
    tcase_add_test(c, least_is_a_whole_warp);
    tcase_add_loop_test(c, shape_table, 0, ROWS(shapes));
    tcase_add_test(c, clusters_that_are_not_portable);
    tcase_add_test(c, a_device_that_says_nothing);
    tcase_add_loop_test(c, target_table, 0, ROWS(targets));
    tcase_add_test(c, host_runs_here);
    tcase_add_test(c, no_kernel_is_target_only);
    tcase_add_test(c, usage);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
