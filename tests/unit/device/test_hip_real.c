/* The real libamdhip64, where one is installed: Debian's 5.2.3 on a machine without an AMD GPU says what was measured
 * then (device.md B.3), and the library makes of it "no device". */
#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hip_driver.h"
#include "slt.h"

static slw_error err;
static slwi_gpu_library library;
static slwi_hip_api api;
static uint32_t capabilities;

/* 1: there is one. Everything of it that a test calls is called in that test's own process. */
static int find(const char *test) {
    err = (slw_error)SLW_ERROR_INIT;
    if (slwi_hip_library_open(NULL, NULL, &library, &err) != SLW_OK) {
        slt_skip(test, "no libamdhip64 is installed (Debian: package libamdhip64-5)");
        return 0;
    }
    err = (slw_error)SLW_ERROR_INIT;
    slt_ok(slwi_hip_library_resolve(&library, &api, &capabilities, &err), &err);
    return 1;
}

/* 1: and it is the release that was measured, without a device. */
static int find_measured(const char *test) {
    int version = 0;
    if (!find(test)) return 0;
    if (access("/dev/kfd", F_OK) == 0 || access("/dev/dxg", F_OK) == 0) {
        slt_skip(test, "this machine may have an AMD GPU");
        return 0;
    }
    if (api.hipRuntimeGetVersion == NULL || api.hipRuntimeGetVersion(&version) != 0 || version != 50221153) {
        slt_skip(test, "another release than 5.2.3, of which alone the answers are known");
        return 0;
    }
    return 1;
}

START_TEST(required_symbols_are_all_there) {
    if (!find("required_symbols_are_all_there")) return;
    ck_assert_ptr_nonnull(strstr(library.path, "libamdhip64.so."));
    ck_assert_ptr_nonnull(api.hipModuleLoadData);
    ck_assert_int_ne(api.hipGetDevicePropertiesR0600 != NULL || api.hipGetDeviceProperties != NULL, 0);
    int version = 0;
    if (api.hipRuntimeGetVersion == NULL || api.hipRuntimeGetVersion(&version) != 0 || version != 50221153) return;
    const uint32_t absent = SLWI_HIP_CAN(hipModuleLaunchCooperativeKernel) | SLWI_HIP_CAN(hipGetDevicePropertiesR0600);
    ck_assert_uint_eq(capabilities, ((1u << SLWI_HIP_OPTIONAL_COUNT) - 1u) & ~absent);
}
END_TEST

START_TEST(copy_that_is_loaded_is_taken) {
    if (!find("copy_that_is_loaded_is_taken")) return;
    void *const again = dlopen(library.path, RTLD_NOW | RTLD_NOLOAD);
    ck_assert_ptr_nonnull(again);
    ck_assert_ptr_eq(dlsym(again, "hipInit"), library.anchor);
    slwi_gpu_library second;
    slt_ok(slwi_hip_library_open(NULL, NULL, &second, &err), &err);
    ck_assert_ptr_eq(second.anchor, library.anchor);
    ck_assert_str_eq(second.path, library.path);
}
END_TEST

/* ---- Without a device: the table ------------------------------------------------------------------------------- */

/* Of the library itself, by the name it exports: ours has no use for it. */
static void *exported(const char *name) {
    void *const handle = dlopen(library.path, RTLD_NOW | RTLD_NOLOAD);
    ck_assert_ptr_nonnull(handle);
    void *const found = dlsym(handle, name);
    ck_assert_msg(found != NULL, "no %s", name);
    return found;
}

static unsigned threads_now(void) {
    unsigned count = 0;
    DIR *const folder = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(folder);
    for (const struct dirent *e; (e = readdir(folder)) != NULL;) count += e->d_name[0] != '.';
    closedir(folder);
    return count;
}

START_TEST(counting_before_init_is_100) {
    int count = 77;
    if (!find_measured("counting_before_init_is_100")) return;
    ck_assert_int_eq(api.hipGetDeviceCount(&count), 100);
    ck_assert_int_eq(count, 0);
}
END_TEST

/* Where nothing was initialised, and where it was: the child asks as if it were the first. */
static void child_counts_nothing(void) {
    const pid_t child = fork();
    if (child == 0) {
        int count = 77;
        const int code = api.hipGetDeviceCount(&count);
        _exit(code == 100 && count == 0 ? 0 : 1);
    }
    int ended = -1;
    ck_assert_int_eq(waitpid(child, &ended, 0), child);
    ck_assert_int_eq(ended, 0);
}

START_TEST(a_forked_child_counts_nothing_with_100) {
    if (!find_measured("a_forked_child_counts_nothing_with_100")) return;
    child_counts_nothing();
}
END_TEST

START_TEST(what_it_says_of_itself) {
    int version = 77;
    int (*driver_version)(int *) = NULL;
    const char *(*string_of)(int) = NULL;
    if (!find_measured("what_it_says_of_itself")) return;
    void *found = exported("hipDriverGetVersion");
    memcpy(&driver_version, &found, sizeof found);
    ck_assert_int_eq(driver_version(&version), 0);
    ck_assert_int_eq(version, 50221153);
    found = exported("hipGetErrorString");
    memcpy(&string_of, &found, sizeof found);
    ck_assert_str_eq(string_of(101), "hipErrorInvalidDevice"); /* the name, and no sentence */
    ck_assert_str_eq(api.hipGetErrorName(99999), "hipErrorUnknown");
}
END_TEST

START_TEST(answers_are_those_that_were_measured) {
    size_t size = 0;
    int device = 77;
    if (!find_measured("answers_are_those_that_were_measured")) return;
    const unsigned threads = threads_now();
    ck_assert_int_eq(api.hipInit(0), 101);
    ck_assert_int_eq(api.hipInit(1), 101);
    ck_assert_uint_eq(threads_now(), threads);
    ck_assert_int_eq(api.hipGetDeviceCount(&device), 100); /* as before it, and in a child */
    ck_assert_int_eq(device, 0);
    child_counts_nothing();
    device = 77;
    ck_assert_int_eq(api.hipGetDevice(&device), 101);
    ck_assert_int_eq(device, 77);
    ck_assert_int_eq(api.hipSetDevice(0), 101);
    static const char *const files[] = {"k_gfx90a.hsaco", "k.bundle"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *const bytes = slt_read_file(slt_path(slt_fixture("hsaco"), files[i], NULL), &size);
        slwi_hip_native_module *module = (slwi_hip_native_module *)(void *)&size;
        ck_assert_int_eq(api.hipModuleLoadData(&module, bytes), 101);
        ck_assert_ptr_eq(module, (void *)&size);
        free(bytes);
    }
    static const char junk[4096] = "no code object";
    slwi_hip_native_module *none = (slwi_hip_native_module *)(void *)&size;
    ck_assert_int_eq(api.hipModuleLoadData(&none, junk), 101);
    ck_assert_ptr_eq(none, (void *)&size);
    ck_assert_int_eq(api.hipModuleUnload(NULL), 101);
    ck_assert_int_eq(api.hipGetLastError(), 101); /* the question itself fails to start HIP */
    ck_assert_int_eq(api.hipGetLastError(), 101);
}
END_TEST

/* Every name of ours that it has is its own. */
START_TEST(names_are_the_librarys) {
    if (!find("names_are_the_librarys")) return;
    unsigned compared = 0;
    for (int i = 0; i < 1100; i++) {
        const char *const ours = slwi_hip_result_name(i);
        const char *const theirs = api.hipGetErrorName(i);
        if (ours == NULL || theirs == NULL || (strcmp(theirs, "hipErrorUnknown") == 0 && i != 999)) continue;
        ck_assert_str_eq(ours, theirs);
        compared++;
    }
    ck_assert_uint_gt(compared, 50);
}
END_TEST

/* ---- Without a device: what we make of it ---------------------------------------------------------------------- */

static void refused(void) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_device *device = NULL;
    options.kind = "hip";
    ck_assert_msg(slw_device_open(&options, &device, &err) == SLW_E_NO_DEVICE, "%s", err.message);
    ck_assert_ptr_null(device);
    ck_assert_int_eq(err.raw_code, 101);
    ck_assert_str_eq(err.raw_name, "hipErrorInvalidDevice");
    ck_assert_str_eq(err.path, library.path);
    ck_assert_ptr_nonnull(strstr(err.tried, library.path));
    ck_assert_ptr_nonnull(strstr(err.message, "HIP 5.2.21153"));
    ck_assert_ptr_nonnull(strstr(err.hint, "/dev/kfd"));
}

START_TEST(opening_says_no_device) {
    slw_driver_status status = SLW_DRIVER_STATUS_INIT;
    if (!find_measured("opening_says_no_device")) return;
    slwi_hip_examine(NULL, &status); /* before anything was started */
    ck_assert_int_eq(status.presence, SLW_PRESENCE_NO);
    ck_assert_int_eq(status.code, SLW_E_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(status.why, "/dev/kfd"));
    ck_assert_str_eq(status.path, library.path);
    refused();
    refused();
    slwi_hip_examine(NULL, &status); /* and what was learned */
    ck_assert_int_eq(status.presence, SLW_PRESENCE_NO);
    ck_assert_str_eq(status.why, "hipErrorInvalidDevice");
    /* Nothing was set up that a fork could break: the child is told the same, and not that it is one. */
    const pid_t child = fork();
    if (child == 0) {
        slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
        slw_device *device = NULL;
        options.kind = "hip";
        _exit(slw_device_open(&options, &device, NULL) == SLW_E_NO_DEVICE ? 0 : 1);
    }
    int ended = -1;
    ck_assert_int_eq(waitpid(child, &ended, 0), child);
    ck_assert_int_eq(ended, 0);
}
END_TEST

int main(void) {
    Suite *const suite = suite_create("hip, the real library");
    TCase *const tcase = tcase_create("real");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, required_symbols_are_all_there);
    tcase_add_test(tcase, copy_that_is_loaded_is_taken);
    tcase_add_test(tcase, counting_before_init_is_100);
    tcase_add_test(tcase, a_forked_child_counts_nothing_with_100);
    tcase_add_test(tcase, what_it_says_of_itself);
    tcase_add_test(tcase, answers_are_those_that_were_measured);
    tcase_add_test(tcase, names_are_the_librarys);
    tcase_add_test(tcase, opening_says_no_device);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
