/* The figures of known devices against figures written down a second time, from other sources than the table's. */
#include <slipway/inspect.h>
#include <stdio.h>
#include <string.h>

#include "host_target.h"
#include "slt.h"

static slw_error err;
static slw_device_info info;

static void setup(void) {
    const slw_error fresh = SLW_ERROR_INIT;
    const slw_device_info empty = SLW_DEVICE_INFO_INIT;
    err = fresh;
    info = empty;
}

/* In bytes, as drivers and CUTLASS name them (65,536; 166,912; 101,376; 232,448) and as hipInfo prints them. */
typedef struct figures {
    const char *asked, *kind, *target;
    uint32_t optin, reserved, registers, warp, cluster, columns, block_z, grid_yz;
} figures;

static const figures known[] = {
    {"sm_75", "cuda", "sm_75", 65536, 0, 65536, 32, 1, 0, 64, 65535},
    {"sm_80", "cuda", "sm_80", 166912, 1024, 65536, 32, 1, 0, 64, 65535},
    {"sm_86", "cuda", "sm_86", 101376, 1024, 65536, 32, 1, 0, 64, 65535},
    {"sm_87", "cuda", "sm_87", 166912, 1024, 65536, 32, 1, 0, 64, 65535},
    {"sm_89", "cuda", "sm_89", 101376, 1024, 65536, 32, 1, 0, 64, 65535},
    {"sm_90", "cuda", "sm_90", 232448, 1024, 65536, 32, 8, 0, 64, 65535},
    {"sm_90a", "cuda", "sm_90", 232448, 1024, 65536, 32, 8, 0, 64, 65535},
    {"sm_100", "cuda", "sm_100", 232448, 1024, 65536, 32, 8, 512, 64, 65535},
    {"sm_100f", "cuda", "sm_100", 232448, 1024, 65536, 32, 8, 512, 64, 65535},
    {"sm_103", "cuda", "sm_103", 232448, 1024, 65536, 32, 8, 512, 64, 65535},
    {"sm_107", "cuda", "sm_107", 334848, 1024, 65536, 32, 8, 512, 64, 65535},
    {"sm_110", "cuda", "sm_110", 232448, 1024, 65536, 32, 8, 512, 64, 65535},
    {"sm_101", "cuda", "sm_110", 232448, 1024, 65536, 32, 8, 512, 64, 65535},
    {"sm_120", "cuda", "sm_120", 101376, 1024, 65536, 32, 8, 0, 64, 65535},
    {"sm_121a", "cuda", "sm_121", 101376, 1024, 65536, 32, 8, 0, 64, 65535},
    {"gfx900", "hip", "gfx900:xnack-", 65536, 0, 0, 64, 1, 0, 1024, 65536},
    {"gfx906", "hip", "gfx906:sramecc+:xnack-", 65536, 0, 0, 64, 1, 0, 1024, 65536},
    {"gfx908", "hip", "gfx908:sramecc+:xnack-", 65536, 0, 0, 64, 1, 0, 1024, 65536},
    {"gfx90a", "hip", "gfx90a:sramecc+:xnack-", 65536, 0, 0, 64, 1, 0, 1024, 65536},
    {"gfx90a:xnack+", "hip", "gfx90a:sramecc+:xnack+", 65536, 0, 0, 64, 1, 0, 1024, 65536},
    {"gfx90a:xnack-:sramecc-", "hip", "gfx90a:sramecc-:xnack-", 65536, 0, 0, 64, 1, 0, 1024, 65536},
    {"gfx942", "hip", "gfx942:sramecc+:xnack-", 65536, 0, 0, 64, 1, 0, 1024, 65536},
    {"gfx950", "hip", "gfx950:sramecc+:xnack-", 163840, 0, 0, 64, 1, 0, 1024, 65536},
    {"gfx1010", "hip", "gfx1010:xnack-", 65536, 0, 0, 32, 1, 0, 1024, 65536},
    {"gfx1030", "hip", "gfx1030", 65536, 0, 0, 32, 1, 0, 1024, 65536},
    {"gfx1100", "hip", "gfx1100", 65536, 0, 0, 32, 1, 0, 1024, 65536},
    {"gfx1101", "hip", "gfx1101", 65536, 0, 0, 32, 1, 0, 1024, 65536},
    {"gfx1102", "hip", "gfx1102", 65536, 0, 0, 32, 1, 0, 1024, 65536},
    {"gfx1150", "hip", "gfx1150", 65536, 0, 0, 32, 1, 0, 1024, 65536},
    {"gfx1151", "hip", "gfx1151", 65536, 0, 0, 32, 1, 0, 1024, 65536},
    {"gfx1200", "hip", "gfx1200", 65536, 0, 0, 32, 1, 0, 1024, 65536},
    {"gfx1201", "hip", "gfx1201", 65536, 0, 0, 32, 1, 0, 1024, 65536},
};

START_TEST(figures_table) {
    const figures *row = &known[_i];
    slt_ok(slw_device_known(row->asked, &info, &err), &err);
    ck_assert_uint_eq(info.size, sizeof info);
    ck_assert_str_eq(info.kind, row->kind);
    ck_assert_str_eq(info.target, row->target);
    ck_assert_str_eq(info.name, row->target);
    ck_assert_uint_eq(info.max_threads, 1024);
    ck_assert_uint_eq(info.max_block[0], 1024);
    ck_assert_uint_eq(info.max_block[1], 1024);
    ck_assert_uint_eq(info.max_block[2], row->block_z);
    ck_assert_uint_eq(info.max_grid[0], 2147483647);
    ck_assert_uint_eq(info.max_grid[1], row->grid_yz);
    ck_assert_uint_eq(info.max_grid[2], row->grid_yz);
    ck_assert_uint_eq(info.max_shared_bytes, strcmp(row->kind, "cuda") == 0 ? 49152 : row->optin);
    ck_assert_uint_eq(info.max_optin_shared_bytes, row->optin);
    ck_assert_uint_eq(info.reserved_shared_bytes, row->reserved);
    ck_assert_uint_eq(info.registers_per_block, row->registers);
    ck_assert_uint_eq(info.registers_per_multiprocessor, row->registers);
    ck_assert_uint_eq(info.warp_threads, row->warp);
    ck_assert_uint_eq(info.max_cluster_rank, row->cluster);
    ck_assert_uint_eq(info.cooperative, 1);
    ck_assert_uint_eq(info.tensor_memory_columns, row->columns);
    ck_assert_uint_eq(info.multiprocessors, 0);
    ck_assert_uint_eq(info.ptx_isa_version, 0);
    ck_assert_uint_eq(info.memory_bytes, 0);
}
END_TEST

/* Every listed target is found, is checked above, and none is listed twice. */
START_TEST(list_is_whole) {
    size_t count = 0;
    for (const char *target; (target = slw_device_known_target(count)) != NULL; count++) {
        int checked = strcmp(target, "host") == 0;
        setup();
        slt_ok(slw_device_known(target, &info, &err), &err);
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            slw_device_info other = SLW_DEVICE_INFO_INIT;
            slt_ok(slw_device_known(known[i].asked, &other, &err), &err);
            checked |= strcmp(other.target, info.target) == 0;
        }
        ck_assert_msg(checked, "%s", target);
        for (size_t i = 0; i < count; i++) ck_assert_str_ne(slw_device_known_target(i), target);
    }
    ck_assert_uint_gt(count, 24);
    ck_assert_ptr_null(slw_device_known_target(count + 1));
    ck_assert_ptr_null(slw_device_known_target(SIZE_MAX));
}
END_TEST

/* The host's figures are the host driver's, all of them. */
START_TEST(host_as_its_driver_says) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_device *device = NULL;
    slw_device_info driver = SLW_DEVICE_INFO_INIT;
    options.pool_threads = UINT32_MAX;
    slt_ok(slw_device_open(&options, &device, &err), &err);
    slt_ok(slw_device_describe(device, &driver, &err), &err);
    slt_ok(slw_device_known("host", &info, &err), &err);
    ck_assert_str_eq(info.kind, driver.kind);
    ck_assert_str_eq(info.name, driver.name);
    ck_assert_str_eq(info.target, driver.target);
    ck_assert_uint_eq(info.max_threads, driver.max_threads);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(info.max_block[i], driver.max_block[i]);
        ck_assert_uint_eq(info.max_grid[i], driver.max_grid[i]);
    }
    ck_assert_uint_eq(info.max_shared_bytes, driver.max_shared_bytes);
    ck_assert_uint_eq(info.max_optin_shared_bytes, driver.max_optin_shared_bytes);
    ck_assert_uint_eq(info.reserved_shared_bytes, driver.reserved_shared_bytes);
    ck_assert_uint_eq(info.registers_per_block, driver.registers_per_block);
    ck_assert_uint_eq(info.registers_per_multiprocessor, driver.registers_per_multiprocessor);
    ck_assert_uint_eq(info.warp_threads, driver.warp_threads);
    ck_assert_uint_eq(info.multiprocessors, driver.multiprocessors);
    ck_assert_uint_eq(info.max_cluster_rank, driver.max_cluster_rank);
    ck_assert_uint_eq(info.cooperative, driver.cooperative);
    ck_assert_uint_eq(info.tensor_memory_columns, driver.tensor_memory_columns);
    ck_assert_uint_eq(info.ptx_isa_version, driver.ptx_isa_version);
    slw_device_close(&device);
    setup();
    slt_ok(slw_device_known(slwi_host_target(), &info, &err), &err);
    ck_assert_str_eq(info.kind, "host");
}
END_TEST

static const char *const unknown[] = {
    "",
    "sm_",
    "sm_70",
    "sm_88",
    "sm_133",
    "sm_90b",
    "sm_9",
    "SM_90",
    "sm_90 ",
    "gfx",
    "gfx77",
    "gfx1101x",
    "gfx11-generic",
    "gfx1100:xnack+",
    "gfx1100:x",
    "cuda",
    "gfx900:sramecc+",
    "gfx90a:xnack",
    "vax-dec-ultrix",
    "host ",
    "hosts",
};

START_TEST(unknown_targets) {
    slw_device_info before;
    memset(info.name, 'x', sizeof info.name);
    before = info;
    ck_assert_int_eq(slw_device_known(unknown[_i], &info, &err), SLW_E_UNSUPPORTED_INPUT);
    ck_assert_str_eq(err.reason, "UNKNOWN_TARGET");
    ck_assert_str_eq(err.subject, unknown[_i]);
    ck_assert_mem_eq(&info, &before, sizeof info);
    for (size_t i = 0; slw_device_known_target(i) != NULL; i++)
        ck_assert_msg(strstr(err.tried, slw_device_known_target(i)) != NULL, "%s", slw_device_known_target(i));
    ck_assert_int_eq(slw_device_known(unknown[_i], &info, NULL), SLW_E_UNSUPPORTED_INPUT);
}
END_TEST

START_TEST(usage) {
    ck_assert_int_eq(slw_device_known(NULL, &info, &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_device_known("sm_90", NULL, &err), SLW_E_USAGE);
    info.size--;
    ck_assert_int_eq(slw_device_known("sm_90", &info, &err), SLW_E_USAGE);
    ck_assert_int_eq(info.kind[0], 0);
    info.size++;
    slt_ok(slw_device_known("sm_90", &info, &err), &err); /* the record was reset */
    ck_assert_int_eq(err.code, SLW_OK);
    ck_assert_int_eq(err.message[0], 0);
}
END_TEST

/* A name of any length is cut in the record, not overrun. */
START_TEST(endless_name) {
    static char name[100000];
    memset(name, 'g', sizeof name - 1);
    memcpy(name, "gfx9", 4);
    ck_assert_int_eq(slw_device_known(name, &info, &err), SLW_E_UNSUPPORTED_INPUT);
    memcpy(name, "sm_9", 4);
    memset(name + 4, '9', sizeof name - 5);
    ck_assert_int_eq(slw_device_known(name, &info, &err), SLW_E_UNSUPPORTED_INPUT);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("device known devices");
    TCase *c = tcase_create("known");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_loop_test(c, figures_table, 0, (int)(sizeof known / sizeof *known));
    tcase_add_test(c, list_is_whole);
    tcase_add_test(c, host_as_its_driver_says);
    tcase_add_loop_test(c, unknown_targets, 0, (int)(sizeof unknown / sizeof *unknown));
    tcase_add_test(c, usage);
    tcase_add_test(c, endless_name);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
