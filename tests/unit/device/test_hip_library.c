/* Finding libamdhip64 and its symbols, and starting it. */
#include <sys/wait.h>
#include <unistd.h>

#include "hip_fake.h"
#include "os.h"

/* ---- The list -------------------------------------------------------------------------------------------------- */

#define NAME(name, result, parameters) #name,
#define NOTHING(name, result, parameters)
static const char *const all_names[] = {SLWI_HIP_SYMBOLS(NAME, NAME)};
static const char *const required_names[] = {SLWI_HIP_SYMBOLS(NAME, NOTHING)};
#define ALL      (sizeof all_names / sizeof *all_names)
#define REQUIRED (sizeof required_names / sizeof *required_names)

START_TEST(list_fills_the_table) {
    slwi_gpu_library library;
    slwi_hip_api api;
    uint32_t capabilities = 0;
    memset(&api, 0, sizeof api);
    ck_assert_uint_eq(sizeof api, ALL * sizeof(void *));
    slt_ok(slwi_hip_library_open(NULL, &loader, &library, &err), &err);
    ck_assert_str_eq(library.path, "/where/it/really/lies/libamdhip64.so.6.3");
    slt_ok(slwi_hip_library_resolve(&library, &api, &capabilities, &err), &err);
    for (size_t i = 0; i < ALL; i++) { /* the table has the order of the list */
        void *address = NULL;
        memcpy(&address, (const char *)&api + i * sizeof address, sizeof address);
        ck_assert_msg(address == fake_address(all_names[i]), "%s", all_names[i]);
    }
    ck_assert_uint_eq(capabilities, ((1u << SLWI_HIP_OPTIONAL_COUNT) - 1u) & ~SLWI_HIP_CAN(hipGetErrorName));
    ck_assert_str_eq(fake.log, "");
}
END_TEST

START_TEST(list_has_each_name_once) {
    ck_assert_uint_eq(ALL, REQUIRED + SLWI_HIP_OPTIONAL_COUNT);
    for (size_t i = 0; i < ALL; i++) {
        ck_assert_int_eq(strncmp(all_names[i], "hip", 3), 0);
        /* A mangled name, which counts threads; one that does nothing for modules; one that keeps a descriptor. */
        ck_assert_ptr_null(strstr(all_names[i], "ExtModuleLaunch"));
        ck_assert_str_ne(all_names[i], "hipFuncSetAttribute");
        ck_assert_str_ne(all_names[i], "hipModuleLoad");
        for (size_t j = 0; j < i; j++) ck_assert_str_ne(all_names[i], all_names[j]);
    }
}
END_TEST

/* ---- The name -------------------------------------------------------------------------------------------------- */

START_TEST(no_library_lists_what_was_tried) {
    slw_device_options opt = options();
    fake.absent = 1;
    refused(&opt, SLW_E_UNAVAILABLE, "NO_LIBRARY");
    ck_assert_str_eq(fake.opened, "libamdhip64.so.7 libamdhip64.so.6 libamdhip64.so.5 libamdhip64.so ");
    ck_assert_ptr_nonnull(strstr(err.tried, "libamdhip64.so.7: libamdhip64.so.7: no such luck"));
    ck_assert_ptr_nonnull(strstr(err.tried, "libamdhip64.so: libamdhip64.so: no such luck"));
    ck_assert_str_eq(err.subject, "hip");
    ck_assert_ptr_nonnull(err.hint);
    opt.driver_library = "/opt/mine/libamdhip64.so.9";
    refused(&opt, SLW_E_UNAVAILABLE, "NO_LIBRARY");
    ck_assert_str_eq(fake.opened, "/opt/mine/libamdhip64.so.9 "); /* and no other */
    ck_assert_str_eq(err.path, "/opt/mine/libamdhip64.so.9");
}
END_TEST

/* A loader of the system's that has release 5 in the process and 7 on the disk. */
static char asked[256];
static char found[256];
static void *find_loaded(const slwi_os *os, const char *path) {
    (void)os;
    if (strcmp(path, "libamdhip64.so.5") != 0) return NULL;
    strcat(strcat(found, path), " ");
    return &fake;
}
static void *open_any(const slwi_os *os, const char *path, char why[256]) {
    (void)os;
    why[0] = '\0';
    strcat(strcat(asked, path), " ");
    return &fake;
}
static void *give_symbol(const slwi_os *os, void *library, const char *name) {
    (void)os;
    return loader_symbol(&fake, library, name);
}
static int give_path(const slwi_os *os, const void *address, char out[4096]) {
    (void)os;
    return loader_path(&fake, address, out, 4096) ? 0 : -2;
}

/* device.md G 32: two releases in one process do not get along. */
START_TEST(loaded_copy_wins_over_a_newer_one) {
    slwi_os table = *slwi_os_get();
    slwi_gpu_library library;
    table.dl_loaded = find_loaded;
    table.dl_open = open_any;
    table.dl_symbol = give_symbol;
    table.dl_path = give_path;
    slwi_os_replace(&table);
    slt_ok(slwi_hip_library_open(NULL, NULL, &library, &err), &err);
    ck_assert_str_eq(found, "libamdhip64.so.5 "); /* and that reference is kept */
    ck_assert_str_eq(asked, "");
    ck_assert_ptr_eq(library.handle, &fake);
    slt_ok(slwi_hip_library_open("libamdhip64.so.6", NULL, &library, &err), &err); /* named: that one */
    ck_assert_str_eq(asked, "libamdhip64.so.6 ");
    slwi_os_replace(NULL);
}
END_TEST

START_TEST(missing_symbols_are_named) {
    slw_device_options opt = options();
    for (size_t i = 0; i < REQUIRED; i++) {
        fake.hidden = required_names[i];
        if (strcmp(fake.hidden, "hipInit") == 0) continue; /* the anchor: below */
        refused(&opt, SLW_E_UNAVAILABLE, "MISSING_SYMBOLS");
        ck_assert_str_eq(err.subject, required_names[i]);
        ck_assert_str_eq(err.path, "/where/it/really/lies/libamdhip64.so.6.3");
        ck_assert_str_eq(fake.log, "");
    }
    fake.hidden = "hipInit";
    refused(&opt, SLW_E_UNAVAILABLE, "MISSING_SYMBOLS");
    fake.hidden = NULL;
    fake.only = "hipInit";
    refused(&opt, SLW_E_UNAVAILABLE, "MISSING_SYMBOLS");
    ck_assert_ptr_nonnull(strstr(err.message, "22 symbols"));
}
END_TEST

START_TEST(optional_symbols_may_be_missing) {
    slw_device_options opt = options();
    for (size_t i = REQUIRED; i < ALL; i++) {
        fake.hidden = all_names[i];
        const slw_device_info info = opened(&opt);
        ck_assert_str_eq(info.target, "gfx90a:sramecc+:xnack-");
        ck_assert_uint_eq(info.cooperative, strcmp(fake.hidden, "hipModuleLaunchCooperativeKernel") != 0);
        ck_assert_uint_eq(info.memory_bytes, strcmp(fake.hidden, "hipDeviceTotalMem") != 0 ? UINT64_C(1) << 34 : 0);
    }
}
END_TEST

/* ---- Starting it ------------------------------------------------------------------------------------------------ */

/* device.md G 36: before anything else, or the library's own parts are not there (303). */
START_TEST(init_comes_first_and_once) {
    slw_device_options opt = options();
    (void)opened(&opt);
    ck_assert_int_eq(strncmp(fake.log, "hipInit ", 8), 0);
    ck_assert_uint_eq(calls_of("hipInit"), 1);
    (void)opened(&opt);
    opt.driver_library = "by another name";
    (void)opened(&opt);
    ck_assert_uint_eq(calls_of("hipInit"), 0); /* of the log of the last */
}
END_TEST

static void no_device(const char *call, int code, const char *name) {
    slw_device_options opt = options();
    fake.failing = call;
    fake.code = code;
    fake.failed = 0;
    refused(&opt, SLW_E_NO_DEVICE, NULL);
    ck_assert_int_eq(err.raw_code, code);
    ck_assert_str_eq(err.raw_name, name);
    ck_assert_ptr_nonnull(strstr(err.hint, "/dev/kfd"));
    ck_assert_str_eq(err.path, "/where/it/really/lies/libamdhip64.so.6.3");
    ck_assert_ptr_nonnull(strstr(err.message, "HIP 6.3.42131"));
    if (fake.failed != 0) ck_assert_uint_eq(calls_of("hipGetLastError"), 1);
}

/* device.md B.3: which of the two, and from which call, depends on the release. */
START_TEST(no_device_is_100_or_101_from_any_first_call) {
    static const char *const calls[] = {"hipGetDeviceCount", "hipGetDevice"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        no_device(calls[i], 100, "hipErrorNoDevice");
        no_device(calls[i], 101, "hipErrorInvalidDevice");
    }
}
END_TEST

START_TEST(no_device_is_101_from_init_and_remembered) {
    no_device("hipInit", 101, "hipErrorInvalidDevice");
    ck_assert_uint_eq(fake.failed, 1);
    no_device("hipInit", 101, "hipErrorInvalidDevice"); /* is not asked again, and answers the same */
    ck_assert_uint_eq(fake.failed, 0);
}
END_TEST

START_TEST(no_device_is_100_from_init) {
    no_device("hipInit", 100, "hipErrorNoDevice");
    ck_assert_uint_eq(fake.failed, 1);
}
END_TEST

START_TEST(init_failures_are_told_apart) {
    static const struct {
        int result;
        slw_code code;
        const char *reason;
    } rows[] = {
        {3, SLW_E_UNAVAILABLE, "NOT_INITIALIZED"},
        {35, SLW_E_UNAVAILABLE, "VERSION_MISMATCH"},
        {303, SLW_E_UNAVAILABLE, "NOT_INITIALIZED"},
        {999, SLW_E_DRIVER, NULL},
        {777, SLW_E_DRIVER, NULL},
    };
    slw_device_options opt = options();
    fake.failing = "hipInit";
    fake.code = rows[_i].result;
    refused(&opt, rows[_i].code, NULL);
    ck_assert_pstr_eq(err.reason, rows[_i].reason);
    ck_assert_int_eq(err.raw_code, rows[_i].result);
    ck_assert_uint_eq(calls_of("hipGetLastError"), 1);
}
END_TEST

START_TEST(version_may_not_be_told) {
    slw_device_options opt = options();
    fake.version = 0;
    opt.ordinal = 7;
    refused(&opt, SLW_E_NO_DEVICE, NULL);
    fake.failing = "hipGetDeviceCount";
    fake.code = 999;
    refused(&opt, SLW_E_DRIVER, NULL);
    ck_assert_str_eq(err.message, "counting the devices: hipErrorUnknown (999)");
    fake.failing = "hipRuntimeGetVersion";
    refused(&opt, SLW_E_NO_DEVICE, NULL);
}
END_TEST

/* device.md G 38: nothing of the library is called in the child of a process that has started it. */
START_TEST(fork_after_init_is_forked) {
    slw_device_options opt = options();
    (void)opened(&opt);
    const pid_t child = fork();
    if (child == 0) {
        refused(&opt, SLW_E_FORKED, NULL);
        ck_assert_str_eq(fake.log, "");
        _exit(0);
    }
    int ended = -1;
    ck_assert_int_eq(waitpid(child, &ended, 0), child);
    ck_assert_int_eq(ended, 0);
}
END_TEST

START_TEST(fork_before_init_is_fine) {
    slw_device_options opt = options();
    const pid_t child = fork();
    if (child == 0) {
        (void)opened(&opt);
        ck_assert_uint_eq(calls_of("hipInit"), 1);
        _exit(0);
    }
    int ended = -1;
    ck_assert_int_eq(waitpid(child, &ended, 0), child);
    ck_assert_int_eq(ended, 0);
    (void)opened(&opt);
    ck_assert_uint_eq(calls_of("hipInit"), 1);
}
END_TEST

START_TEST(contexts_are_not_hips) {
    slw_device_options opt = options();
    opt.native_context = &fake;
    refused(&opt, SLW_E_USAGE, NULL);
    ck_assert_str_eq(fake.opened, "");
}
END_TEST

/* ---- Is it there? ----------------------------------------------------------------------------------------------- */

static slw_driver_status examine(const char *library) {
    slw_driver_status status = SLW_DRIVER_STATUS_INIT;
    slwi_hip_examine(library, &status);
    ck_assert_str_ne(status.why, "");
    ck_assert_int_ne(status.presence, SLW_PRESENCE_YES);
    ck_assert_int_eq(status.code == SLW_OK, status.presence == SLW_PRESENCE_MAYBE);
    return status;
}

START_TEST(examine_says_no) {
    slw_driver_status status = examine("/nonexistent/libamdhip64.so.6");
    ck_assert_int_eq(status.code, SLW_E_UNAVAILABLE);
    ck_assert_str_eq(status.path, "/nonexistent/libamdhip64.so.6");
    status = examine("libm.so.6");
    ck_assert_int_eq(status.code, SLW_E_UNAVAILABLE);
    ck_assert_str_eq(status.why, "the library has no hipInit");
    (void)examine(NULL); /* whatever this machine has */
}
END_TEST

int main(void) {
    Suite *const suite = suite_create("hip library");
    TCase *const tcase = tcase_create("library");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, fake_setup, NULL);
    tcase_add_test(tcase, list_fills_the_table);
    tcase_add_test(tcase, list_has_each_name_once);
    tcase_add_test(tcase, no_library_lists_what_was_tried);
    tcase_add_test(tcase, loaded_copy_wins_over_a_newer_one);
    tcase_add_test(tcase, missing_symbols_are_named);
    tcase_add_test(tcase, optional_symbols_may_be_missing);
    tcase_add_test(tcase, init_comes_first_and_once);
    tcase_add_test(tcase, no_device_is_100_or_101_from_any_first_call);
    tcase_add_test(tcase, no_device_is_101_from_init_and_remembered);
    tcase_add_test(tcase, no_device_is_100_from_init);
    tcase_add_loop_test(tcase, init_failures_are_told_apart, 0, 5);
    tcase_add_test(tcase, version_may_not_be_told);
    tcase_add_test(tcase, fork_after_init_is_forked);
    tcase_add_test(tcase, fork_before_init_is_fine);
    tcase_add_test(tcase, contexts_are_not_hips);
    tcase_add_test(tcase, examine_says_no);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
