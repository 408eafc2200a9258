/* Pitfall 36: registers × threads ≤ 65,536 says "fits" of pairs that do not. Every pair of registers and threads, on
 * every NVIDIA device known, against two other ways to count: warps dealt out to the four parts of the register file one
 * by one, and, where the toolkit's own occupancy header is at hand, that header. */
#include <slipway/inspect.h>
#include <stdio.h>
#include <string.h>

#include "slt.h"

#if defined __has_include
#if __has_include(<cuda_occupancy.h>)
#include <stddef.h>
#include <limits.h>
#include <cuda_occupancy.h>
#define HAVE_OCCUPANCY 1
#endif
#endif

#define MOST_REGISTERS 255u
#define MOST_THREADS   1024u

static slw_error err;
static slw_device_info device;

static void setup(void) {
    const slw_error fresh = SLW_ERROR_INIT;
    const slw_device_info empty = SLW_DEVICE_INFO_INIT;
    err = fresh;
    device = empty;
    slt_ok(slw_device_known("sm_90", &device, &err), &err);
}

static slw_code fits(const char *target, uint32_t registers, uint32_t threads, slw_error *record) {
    const slw_kernel_contract kernel = {.name = "k", .registers = registers};
    const slw_contract contract = {
        .schema = SLW_CONTRACT_SCHEMA, .backend = "cuda", .target = target, .kind = SLW_IMAGE_CUBIN};
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    shape.block[0] = threads;
    shape.block[1] = shape.block[2] = 1;
    return slw_preflight(&contract, &kernel, &device, &shape, record);
}

/* The header's rule in its own words, written down from reading it: a warp's registers are rounded up to 256; the
   hardware looks as if warps came in fours; a part of the file holds so many whole warps. */
static int fits_by_the_rule(uint32_t registers, uint32_t threads) {
    const uint32_t per_block = 65536, per_multiprocessor = 65536, parts = 4;
    const uint32_t warps = (threads + 31) / 32;
    uint32_t warp = registers * 32;
    if (warp % 256 != 0) warp += 256 - warp % 256;
    uint32_t assumed = warps;
    while (assumed % parts != 0) assumed++;
    if (warp * assumed > per_block || warp * warps > per_block) return 0;
    return per_multiprocessor / parts / warp * parts >= warps;
}

static int fits_by_dealing(uint32_t registers, uint32_t threads) {
    uint32_t part[4] = {16384, 16384, 16384, 16384};
    uint32_t lane = registers;
    while (lane % 8 != 0) lane++;
    for (uint32_t first = 0, at = 0; first < threads; first += 32, at = (at + 1) % 4) {
        if (part[at] < lane * 32) return 0;
        part[at] -= lane * 32;
    }
    return 1;
}

START_TEST(every_pair) {
    unsigned naive = 0;
    unsigned falsely = 0;
    for (uint32_t registers = 1; registers <= MOST_REGISTERS; registers++) {
        for (uint32_t threads = 1; threads <= MOST_THREADS; threads++) {
            const int ours = fits("sm_90", registers, threads, NULL) == SLW_OK;
            ck_assert_msg(ours == fits_by_the_rule(registers, threads), "%u registers, %u threads", registers, threads);
            ck_assert_msg(ours == fits_by_dealing(registers, threads), "%u registers, %u threads", registers, threads);
            if (registers * threads > 65536) {
                ck_assert_int_eq(ours, 0);
                continue;
            }
            naive++;
            if (!ours) falsely++;
        }
    }
    ck_assert_uint_eq(naive, 155666);
    ck_assert_uint_eq(falsely, 12562); /* what the naive rule would have let through to a failing launch */
}
END_TEST

START_TEST(as_the_toolkits_header_says) {
#ifdef HAVE_OCCUPANCY
    static const struct {
        const char *target;
        int major, minor;
    } devices[] = {{"sm_75", 7, 5}, {"sm_80", 8, 0},   {"sm_86", 8, 6},   {"sm_89", 8, 9},
                   {"sm_90", 9, 0}, {"sm_100", 10, 0}, {"sm_103", 10, 3}, {"sm_120", 12, 0}};
    const char *target = devices[_i].target;
    cudaOccDeviceState state;
    cudaOccDeviceProp prop;
    memset(&state, 0, sizeof state);
    memset(&prop, 0, sizeof prop);
    setup();
    slt_ok(slw_device_known(target, &device, &err), &err);
    prop.computeMajor = devices[_i].major;
    prop.computeMinor = devices[_i].minor;
    prop.maxThreadsPerBlock = (int)device.max_threads;
    prop.maxThreadsPerMultiprocessor = devices[_i].major == 7 ? 1024 : 1536; /* one block is all we ask about */
    prop.regsPerBlock = (int)device.registers_per_block;
    prop.regsPerMultiprocessor = (int)device.registers_per_multiprocessor;
    prop.warpSize = (int)device.warp_threads;
    prop.sharedMemPerBlock = device.max_shared_bytes;
    prop.sharedMemPerBlockOptin = device.max_optin_shared_bytes;
    prop.reservedSharedMemPerBlock = device.reserved_shared_bytes;
    prop.sharedMemPerMultiprocessor = device.max_optin_shared_bytes + device.reserved_shared_bytes;
    prop.numSms = 1;
    for (uint32_t registers = 1; registers <= MOST_REGISTERS; registers++) {
        cudaOccFuncAttributes attributes;
        memset(&attributes, 0, sizeof attributes);
        attributes.maxThreadsPerBlock = (int)device.max_threads;
        attributes.numRegs = (int)registers;
        attributes.partitionedGCConfig = PARTITIONED_GC_OFF;
        for (uint32_t threads = 1; threads <= MOST_THREADS; threads++) {
            cudaOccResult result;
            memset(&result, 0, sizeof result);
            const cudaOccError code =
                cudaOccMaxActiveBlocksPerMultiprocessor(&result, &prop, &attributes, &state, (int)threads, 0);
            ck_assert_int_eq(code, CUDA_OCC_SUCCESS);
            ck_assert_msg((fits(target, registers, threads, NULL) == SLW_OK) ==
                              (result.activeBlocksPerMultiprocessor > 0),
                          "%s: %u registers, %u threads", target, registers, threads);
        }
    }
#else
    if (_i == 0) slt_skip("as_the_toolkits_header_says", "no cuda_occupancy.h here");
#endif
}
END_TEST

START_TEST(named_pairs_are_refused) {
    static const struct {
        uint32_t registers, threads, required;
    } named[] = {{168, 390, 86016}, {255, 257, 98304}, {72, 900, 73728}};
    for (int i = 0; i < 3; i++) {
        setup();
        ck_assert_int_eq(fits("sm_90", named[i].registers, named[i].threads, &err), SLW_E_OUT_OF_RESOURCES);
        ck_assert_str_eq(err.resource, "registers");
        ck_assert_uint_eq(err.required, named[i].required);
        ck_assert_uint_eq(err.limit, 65536);
        ck_assert_str_eq(err.unit, "registers");
        ck_assert_str_eq(err.kernel, "k");
        ck_assert_str_eq(err.device, "sm_90");
        ck_assert_str_eq(err.phase, "preflight");
    }
}
END_TEST

/* The rule is NVIDIA's: AMD's registers are another matter, and a driver that reports a number of them changes nothing.
 */
START_TEST(not_for_amd) {
    const slw_kernel_contract kernel = {.name = "k", .registers = 256, .warp_threads = 64, .max_threads = 1024};
    const slw_contract contract = {.backend = "hip", .target = "gfx90a", .kind = SLW_IMAGE_HSACO};
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    shape.block[0] = 1024;
    shape.block[1] = shape.block[2] = 1;
    slt_ok(slw_device_known("gfx90a", &device, &err), &err);
    slt_ok(slw_preflight(&contract, &kernel, &device, &shape, &err), &err);
    device.registers_per_block = device.registers_per_multiprocessor = 65536;
    slt_ok(slw_preflight(&contract, &kernel, &device, &shape, &err), &err);
}
END_TEST

START_TEST(more_than_a_thread_can_have) {
    slt_ok(fits("sm_90", 256, 32, &err), &err);
    ck_assert_int_eq(fits("sm_90", 257, 1, &err), SLW_E_OUT_OF_RESOURCES);
    ck_assert_str_eq(err.resource, "registers per thread");
    ck_assert_uint_eq(err.required, 257);
    ck_assert_int_eq(fits("sm_90", UINT32_MAX, 1024, &err), SLW_E_OUT_OF_RESOURCES);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle pitfall 36");
    TCase *c = tcase_create("fits");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_test(c, every_pair);
    tcase_add_loop_test(c, as_the_toolkits_header_says, 0, 8);
    tcase_add_test(c, named_pairs_are_refused);
    tcase_add_test(c, not_for_amd);
    tcase_add_test(c, more_than_a_thread_can_have);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
