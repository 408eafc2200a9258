/* What a HIP device says of itself: its figures, its target, and what the kernel's driver says without it. */
#include <unistd.h>

#include "hip_fake.h"
#include "os.h"

/* ---- Figures ---------------------------------------------------------------------------------------------------- */

START_TEST(figures_are_the_attributes) {
    slw_device_options opt = options();
    opt.ordinal = 1;
    fake.attributes[74] = 163840;
    fake.attributes[75] = 999999; /* there is no opting in */
    fake.attributes[87] = 32;
    const slw_device_info info = opened(&opt);
    ck_assert_str_eq(info.kind, "hip");
    ck_assert_str_eq(info.name, "hip:1 AMD Thing 1");
    ck_assert_str_eq(info.target, "gfx90a:sramecc+:xnack-");
    ck_assert_uint_eq(info.max_threads, 1024);
    for (int i = 0; i < 3; i++) ck_assert_uint_eq(info.max_block[i], 1024);
    ck_assert_uint_eq(info.max_grid[0], 2147483647);
    ck_assert_uint_eq(info.max_grid[1], 65536);
    ck_assert_uint_eq(info.max_grid[2], 65536);
    ck_assert_uint_eq(info.max_shared_bytes, 163840);
    ck_assert_uint_eq(info.max_optin_shared_bytes, 163840);
    ck_assert_uint_eq(info.reserved_shared_bytes, 0);
    ck_assert_uint_eq(info.registers_per_block, 0);
    ck_assert_uint_eq(info.warp_threads, 32);
    ck_assert_uint_eq(info.multiprocessors, 104);
    ck_assert_uint_eq(info.max_cluster_rank, 1);
    ck_assert_uint_eq(info.cooperative, 1);
    ck_assert_uint_eq(info.tensor_memory_columns, 0);
    ck_assert_uint_eq(info.ptx_isa_version, 0);
    ck_assert_uint_eq(info.memory_bytes, UINT64_C(2) << 34);
}
END_TEST

/* Some releases say 2^31-1 and refuse more than 65,536 at the launch (device.md B.5). */
START_TEST(grid_is_what_a_launch_takes) {
    slw_device_options opt = options();
    fake.attributes[30] = fake.attributes[31] = 2147483647;
    slw_device_info info = opened(&opt);
    ck_assert_uint_eq(info.max_grid[1], 65536);
    ck_assert_uint_eq(info.max_grid[2], 65536);
    fake.attributes[30] = 65535;
    info = opened(&opt);
    ck_assert_uint_eq(info.max_grid[1], 65535);
}
END_TEST

START_TEST(cooperative_needs_the_device_and_the_call) {
    slw_device_options opt = options();
    fake.attributes[10] = 0;
    ck_assert_uint_eq(opened(&opt).cooperative, 0);
    fake.attributes[10] = 1;
    fake.hidden = "hipModuleLaunchCooperativeKernel"; /* as ROCm 5.2 */
    ck_assert_uint_eq(opened(&opt).cooperative, 0);
}
END_TEST

START_TEST(device_number_is_checked) {
    slw_device_options opt = options();
    opt.ordinal = 2;
    refused(&opt, SLW_E_NO_DEVICE, NULL);
    ck_assert_uint_eq(err.required, 3);
    ck_assert_uint_eq(err.limit, 2);
    fake.device_count = 0;
    opt.ordinal = 0;
    refused(&opt, SLW_E_NO_DEVICE, NULL);
    fake.device_count = -1;
    refused(&opt, SLW_E_NO_DEVICE, NULL);
    ck_assert_uint_eq(err.limit, 0);
}
END_TEST

START_TEST(prohibited_mode_is_told) {
    slw_device_options opt = options();
    fake.attributes[6] = 2;
    refused(&opt, SLW_E_NO_DEVICE, "PROHIBITED");
    fake.attributes[6] = 3;
    (void)opened(&opt);
}
END_TEST

START_TEST(current_device_is_put_back) {
    slw_device_options opt = options();
    fake.current = 1;
    (void)opened(&opt); /* which looks */
    ck_assert_uint_eq(calls_of("hipSetDevice"), 2);
    fake.current = 0;
    (void)opened(&opt);
    ck_assert_uint_eq(calls_of("hipSetDevice"), 0); /* only when another is current */
}
END_TEST

/* Every call in turn, the first and later ones: the code of the result, or an open device without that detail. */
START_TEST(failures_are_told_or_done_without) {
    static const struct {
        const char *call;
        int fatal;
    } rows[] = {
        {"hipGetDeviceCount", 1},     {"hipGetDevice", 1},
        {"hipDeviceGetAttribute", 1}, {"hipSetDevice", 1},
        {"hipRuntimeGetVersion", 0},  {"hipDeviceGetName", 0},
        {"hipDeviceTotalMem", 0},     {"hipGetDevicePropertiesR0600", 0},
    };
    slw_device_options opt = options();
    (void)opened(&opt);
    fake.failing = rows[_i].call;
    fake.code = 999;
    fake.from = 1;
    fake.current = strcmp(rows[_i].call, "hipSetDevice") == 0 ? 1 : 0;
    if (rows[_i].fatal) {
        refused(&opt, SLW_E_DRIVER, NULL);
        ck_assert_str_eq(err.raw_name, "hipErrorUnknown");
    } else {
        (void)opened(&opt);
    }
    ck_assert_uint_gt(fake.failed, 0);
    ck_assert_uint_ge(calls_of("hipGetLastError"), 1);
}
END_TEST

START_TEST(open_survives_every_allocation) {
    slw_device_options opt = options();
    for (uint64_t n = 1;; n++) {
        slw_device *device = NULL;
        slt_heap_reset(&heap);
        heap.fail_at = n;
        const slw_code code = slw_device_open(&opt, &device, &err);
        if (heap.failed == 0) {
            slt_ok(code, &err);
            slw_device_close(&device);
            break;
        }
        ck_assert_int_eq(code, SLW_E_NO_MEMORY);
        ck_assert_ptr_null(device);
        slt_heap_check_empty(&heap);
    }
    slt_heap_check_empty(&heap);
}
END_TEST

/* ---- The target ------------------------------------------------------------------------------------------------- */

static void is_target(const char *expected) {
    slw_device_options opt = options();
    const slw_device_info info = opened(&opt);
    ck_assert_str_eq(info.target, expected);
}

START_TEST(target_is_written_as_llvm_does) {
    fake.architecture = "gfx90a:xnack-:sramecc+";
    is_target("gfx90a:sramecc+:xnack-");
    fake.architecture = "gfx942:sramecc+:xnack+";
    fake.attributes[61] = 4;
    is_target("gfx942:sramecc+:xnack+");
    fake.architecture = "gfx1030";
    fake.attributes[23] = 10;
    fake.attributes[61] = 3;
    is_target("gfx1030");
}
END_TEST

/* Where a library has only the old name, or both, and one of them is not what the device is. */
START_TEST(structures_are_believed_when_they_agree_with_the_attributes) {
    fake.hidden = "hipGetDevicePropertiesR0600";
    fake.old_architecture = "gfx90a:sramecc-:xnack-";
    is_target("gfx90a:sramecc-:xnack-");
    fake.hidden = NULL;
    fake.architecture = "gfx90a:sramecc+:xnack-";
    is_target("gfx90a:sramecc+:xnack-"); /* the newer one first */
    ck_assert_uint_eq(calls_of("hipGetDeviceProperties"), 0);
    fake.architecture = "\001\002 not a target";
    is_target("gfx90a:sramecc-:xnack-");
    fake.architecture = "gfx1100"; /* reads as a target, and is another release's layout */
    is_target("gfx90a:sramecc-:xnack-");
    fake.old_architecture = "";
    is_target("gfx1100"); /* nothing better is known */
    fake.architecture = "gfx9-generic";
    fake.old_architecture = "gfx90a";
    is_target("gfx90a"); /* a device is no generic one */
}
END_TEST

START_TEST(attributes_that_are_not_known_decide_nothing) {
    fake.attributes[23] = 0;
    fake.architecture = "gfx1201";
    is_target("gfx1201");
}
END_TEST

/* ---- Without HIP ------------------------------------------------------------------------------------------------ */

static const char *root; /* stands for "/" below /sys and /dev */
static const slwi_os *real;

static const char *moved(const char *path) {
    if (strncmp(path, "/sys/", 5) != 0 && strncmp(path, "/dev/", 5) != 0) return path;
    return slt_path(root, path + 1, NULL);
}
static int moved_openat(const slwi_os *os, int at, const char *path, int flags, unsigned mode) {
    (void)os;
    return real->openat(real, at, moved(path), flags, mode);
}
static int moved_fstatat(const slwi_os *os, int at, const char *path, int follow, slwi_stat *out) {
    (void)os;
    return real->fstatat(real, at, moved(path), follow, out);
}
static void move_root(void) {
    static slwi_os table;
    real = slwi_os_get();
    table = *real;
    table.openat = moved_openat;
    table.fstatat = moved_fstatat;
    root = slt_scratch();
    slwi_os_replace(&table);
}
static void put_node(unsigned number, const char *properties) {
    char folder[128];
    (void)snprintf(folder, sizeof folder, "sys/class/kfd/kfd/topology/nodes/%u", number);
    slt_shell("mkdir -p '%s/%s'", root, folder);
    slt_write_file(slt_path(root, folder, "properties", NULL), properties, strlen(properties), 0644);
}

START_TEST(node_properties_are_read) {
    slwi_hip_node node;
    ck_assert_int_eq(
        slwi_hip_topology_parse("simd_count 440\ndomain 2\nlocation_id 49408\ngfx_target_version 90010\n", &node), 1);
    ck_assert_uint_eq(node.version, 90010);
    ck_assert_uint_eq(node.domain, 2);
    ck_assert_uint_eq(node.location, 0xc100);
    ck_assert_int_eq(slwi_hip_topology_parse("gfx_target_version 120001", &node), 1);
    ck_assert_uint_eq(node.domain, 0);
    static const char *const none[] = {"",
                                       "\n",
                                       "gfx_target_version 0\n",
                                       "cpu_cores_count 16\n",
                                       "gfx_target_version",
                                       "gfx_target_version x\n",
                                       "xgfx_target_version 90010\n",
                                       "gfx_target_version -1\n",
                                       "gfx_target_version 99999999999999999999999\n"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        ck_assert_msg(!slwi_hip_topology_parse(none[i], &node), "%s", none[i]);
    }
}
END_TEST

START_TEST(versions_have_names) {
    static const struct {
        uint32_t version;
        const char *name;
    } rows[] = {{90000, "gfx900"},   {90010, "gfx90a"},   {90402, "gfx942"},  {90500, "gfx950"},
                {100300, "gfx1030"}, {110501, "gfx1151"}, {120001, "gfx1201"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[32];
        slwi_hip_topology_name(rows[i].version, name);
        ck_assert_str_eq(name, rows[i].name);
    }
}
END_TEST

START_TEST(devices_are_found_by_bus_address) {
    const slwi_hip_node nodes[] = {{90010, 0, 0xc100}, {110000, 0, 0x0308}, {90402, 1, 0xc100}, {90010, 0, 0x1c200}};
    ck_assert_uint_eq(slwi_hip_topology_find(nodes, 4, "0000:c1:00.0"), 90010);
    ck_assert_uint_eq(slwi_hip_topology_find(nodes, 4, "0000:03:01.0"), 110000);
    ck_assert_uint_eq(slwi_hip_topology_find(nodes, 4, "0001:C1:00.0"), 90402);
    ck_assert_uint_eq(slwi_hip_topology_find(nodes, 4, "0000:c2:00.0"), 90010); /* a partition */
    ck_assert_uint_eq(slwi_hip_topology_find(nodes, 4, "0000:c3:00.0"), 0);
    ck_assert_uint_eq(slwi_hip_topology_find(nodes, 4, NULL), 0); /* several kinds */
    ck_assert_uint_eq(slwi_hip_topology_find(nodes, 1, NULL), 90010);
    ck_assert_uint_eq(slwi_hip_topology_find(nodes, 1, "no address"), 90010);
    ck_assert_uint_eq(slwi_hip_topology_find(nodes, 1, "0000:100:00.0"), 90010);
    ck_assert_uint_eq(slwi_hip_topology_find(nodes, 0, "0000:c1:00.0"), 0);
}
END_TEST

START_TEST(kernel_is_asked_last) {
    slw_device_options opt = options();
    move_root();
    fake.architecture = fake.old_architecture = "";
    refused(&opt, SLW_E_DRIVER, "NO_TARGET");
    put_node(0, "cpu_cores_count 64\ngfx_target_version 0\n");
    put_node(1, "domain 0\nlocation_id 49408\ngfx_target_version 90402\n");
    is_target("gfx942"); /* no address; the only kind there is */
    put_node(2, "domain 0\nlocation_id 768\ngfx_target_version 90010\n");
    refused(&opt, SLW_E_DRIVER, "NO_TARGET");
    fake.bus_address = "0000:03:00.0";
    is_target("gfx90a");
    fake.architecture = "gfx90a:sramecc+:xnack+"; /* HSA_OVERRIDE_GFX_VERSION: HIP is right */
    fake.bus_address = "0000:c1:00.0";
    is_target("gfx90a:sramecc+:xnack+");
    slwi_os_replace(NULL);
}
END_TEST

/* Of a library whose hipInit ends the process. */
START_TEST(examine_reads_files_only) {
    move_root();
    const char *const library = slt_path(root, "libfake.so", NULL);
    slt_shell("cd '%s' && echo 'int hipInit(unsigned f) { (void)f; __builtin_trap(); }' > fake.c && "
              "cc -shared -fPIC -o libfake.so fake.c",
              root);
    slw_driver_status status = SLW_DRIVER_STATUS_INIT;
    slwi_hip_examine(library, &status);
    ck_assert_int_eq(status.presence, SLW_PRESENCE_MAYBE); /* somebody named it */
    ck_assert_ptr_nonnull(strstr(status.why, "there is no /dev/kfd"));
    ck_assert_str_eq(status.path, library);
    slt_shell("mkdir -p '%s/dev' && touch '%s/dev/dxg'", root, root);
    slwi_hip_examine(library, &status);
    ck_assert_int_eq(status.presence, SLW_PRESENCE_MAYBE);
    ck_assert_ptr_nonnull(strstr(status.why, "/dev/dxg"));
    slt_shell("touch '%s/dev/kfd'", root);
    slwi_hip_examine(library, &status);
    ck_assert_int_eq(status.presence, SLW_PRESENCE_MAYBE); /* containers may hide the other */
    ck_assert_ptr_nonnull(strstr(status.why, "not to be seen"));
    put_node(0, "cpu_cores_count 64\n");
    slwi_hip_examine(library, &status);
    ck_assert_int_eq(status.presence, SLW_PRESENCE_NO);
    ck_assert_int_eq(status.code, SLW_E_NO_DEVICE);
    put_node(1, "gfx_target_version 90402\n");
    put_node(2, "gfx_target_version 90402\n");
    put_node(3, "gfx_target_version 110000\n");
    slwi_hip_examine(library, &status);
    ck_assert_int_eq(status.presence, SLW_PRESENCE_MAYBE);
    ck_assert_int_eq(status.code, SLW_OK);
    ck_assert_str_eq(status.why, "the kernel lists 3 GPUs: gfx942, gfx1100");
    slwi_os_replace(NULL);
}
END_TEST

int main(void) {
    Suite *const suite = suite_create("hip device");
    TCase *const tcase = tcase_create("device");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, fake_setup, NULL);
    tcase_add_test(tcase, figures_are_the_attributes);
    tcase_add_test(tcase, grid_is_what_a_launch_takes);
    tcase_add_test(tcase, cooperative_needs_the_device_and_the_call);
    tcase_add_test(tcase, device_number_is_checked);
    tcase_add_test(tcase, prohibited_mode_is_told);
    tcase_add_test(tcase, current_device_is_put_back);
    tcase_add_loop_test(tcase, failures_are_told_or_done_without, 0, 8);
    tcase_add_test(tcase, open_survives_every_allocation);
    tcase_add_test(tcase, target_is_written_as_llvm_does);
    tcase_add_test(tcase, structures_are_believed_when_they_agree_with_the_attributes);
    tcase_add_test(tcase, attributes_that_are_not_known_decide_nothing);
    tcase_add_test(tcase, node_properties_are_read);
    tcase_add_test(tcase, versions_have_names);
    tcase_add_test(tcase, devices_are_found_by_bus_address);
    tcase_add_test(tcase, kernel_is_asked_last);
    tcase_add_test(tcase, examine_reads_files_only);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
