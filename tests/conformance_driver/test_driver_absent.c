/* What is not there: no library, a stub, symbols that are missing, devices that are none or may not be used, older
 * drivers. Each is its own clear error, or it works. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_api.h"
#include "gpu_world.h"
#include "hip_api.h"

static const char *const kinds[] = {"cuda", "hip"};

static slt_double d;
static slw_device *device;
static slw_error err;

static slw_code open_with(const char *kind) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slt_double_use(&d, &options);
    options.kind = kind;
    err = (slw_error)SLW_ERROR_INIT;
    return slw_device_open(&options, &device, &err);
}

static void start(int kind) {
    device = NULL;
    slt_double_open(&d, kinds[kind]);
}

/* The device works: its pair is loaded and counts. */
static void check_it_works(const char *kind) {
    slt_image *const pair = slt_gpu_pair(slt_gpu_target(kind, 0));
    slw_hydrated *hydrated = NULL;
    slw_device_loaded *loaded = NULL;
    slw_launchable *launchable = NULL;
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    slw_grid grid = SLW_GRID_INIT;
    slw_args args = SLW_ARGS_INIT;
    slw_device_address sum = 0;
    uint64_t value = 1;
    void *values[] = {&sum};
    shape.entry = "first";
    shape.block[0] = 64;
    shape.block[1] = shape.block[2] = 1;
    grid.extent[0] = 9;
    grid.extent[1] = grid.extent[2] = 1;
    args.count = 1;
    args.values = values;
    slt_ok(slw_hydrate_binary(pair->image.bytes, "pair", NULL, NULL, &hydrated, &err), &err);
    slt_ok(slw_device_load(&hydrated, device, &loaded, &err), &err);
    slt_ok(slw_make_launchable(&loaded, &shape, &launchable, &err), &err);
    slt_ok(slw_device_alloc(device, 8, &sum, &err), &err);
    slt_ok(slw_device_copy_in(device, sum, &value, 8, &err), &err);
    slt_ok(slw_launch(launchable, &grid, (slw_stream)SLW_STREAM_DEFAULT, &args, &err), &err);
    slt_ok(slw_device_copy_out(device, &value, sum, 8, &err), &err);
    ck_assert_uint_eq(value, 46);
    slt_ok(slw_device_free(device, &sum, &err), &err);
    slw_launchable_discard(&launchable);
    slt_image_free(pair);
}

/* ---- Libraries ------------------------------------------------------------------------------------------------- */

START_TEST(no_library) {
    start(_i);
    d.absent = 1;
    d.path = NULL;
    ck_assert_int_eq(open_with(kinds[_i]), SLW_E_UNAVAILABLE);
    ck_assert_ptr_null(device);
    ck_assert_str_eq(err.reason, "NO_LIBRARY");
    /* Every name that was tried stands in the error, with the loader's words; the toolkit's stub is not among them. */
    ck_assert_uint_gt(d.opens, 0);
    ck_assert_ptr_nonnull(strstr(err.tried, _i == 0 ? "libcuda.so.1: " : "libamdhip64.so.6: "));
    ck_assert_ptr_nonnull(strstr(err.tried, "No such file"));
    ck_assert_ptr_null(strstr(err.tried, "libcuda.so:"));
    /* One that is named is the only one. */
    const unsigned opens = d.opens;
    d.path = "elsewhere/libdriver.so";
    ck_assert_int_eq(open_with(kinds[_i]), SLW_E_UNAVAILABLE);
    ck_assert_uint_eq(d.opens, opens + 1);
    ck_assert_str_eq(err.path, "elsewhere/libdriver.so");
    ck_assert_uint_eq(d.control->count(NULL), 0);
}
END_TEST

START_TEST(only_one_symbol) {
    start(_i);
    d.only = _i == 0 ? "cuInit" : "hipInit";
    ck_assert_int_eq(open_with(kinds[_i]), SLW_E_UNAVAILABLE);
    ck_assert_str_eq(err.reason, "MISSING_SYMBOLS");
    ck_assert_ptr_nonnull(strstr(err.message, d.path));
    ck_assert_ptr_nonnull(strstr(err.subject, slt_gpu_call(kinds[_i], "load")));
    ck_assert_uint_eq(d.control->count(NULL), 0); /* nothing was called of what cannot be used */
}
END_TEST

/* Another library altogether. */
START_TEST(a_library_of_something_else) {
    static const char *const names[] = {"libm.so.6", "libc.so.6"};
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    options.kind = kinds[_i];
    for (size_t i = 0; i < 2; i++) {
        options.driver_library = names[i];
        err = (slw_error)SLW_ERROR_INIT;
        const slw_code code = slw_device_open(&options, &device, &err);
        ck_assert_msg(code == SLW_E_UNAVAILABLE, "%s: %s", slw_code_name(code), err.message);
    }
}
END_TEST

/* The library's own lists: what it cannot do without, and what it can. */
typedef struct listed {
    const char *name;
    int optional;
} listed;
#define REQUIRED(name, ...) {#name, 0},
#define OPTIONAL(name, ...) {#name, 1},
static const listed cuda_list[] = {SLWI_CUDA_SYMBOLS(REQUIRED, OPTIONAL){NULL, 0}};
static const listed hip_list[] = {SLWI_HIP_SYMBOLS(REQUIRED, OPTIONAL){NULL, 0}};
#undef REQUIRED
#undef OPTIONAL
static const listed *const lists[] = {cuda_list, hip_list};

/* What a child that lacks a symbol found; no failing check ends a process with these. */
enum { WORKS = 40, IS_MISSED = 41 };

/* In a child, since a driver is initialised once a process: each symbol in turn is not there. */
static void without(int kind, const char *name) {
    alarm(120);
    start(kind);
    d.control->hide(name);
    const slw_code code = open_with(kinds[kind]);
    if (code == SLW_OK) {
        check_it_works(kinds[kind]);
        slw_device_close(&device);
        slt_double_check(&d);
        ck_assert_uint_eq(d.control->count(name), 0);
        _exit(WORKS);
    }
    ck_assert_int_eq(code, SLW_E_UNAVAILABLE);
    ck_assert_ptr_null(device);
    ck_assert_str_eq(err.reason, "MISSING_SYMBOLS");
    ck_assert_str_eq(err.subject, name); /* it, and no other */
    _exit(IS_MISSED);
}

static int verdict_without(int kind, const char *name) {
    int status = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) without(kind, name);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && (WEXITSTATUS(status) == WORKS || WEXITSTATUS(status) == IS_MISSED),
                  "without %s: status %#x", name, status);
    return WEXITSTATUS(status);
}

START_TEST(each_symbol_is_missing) {
    start(_i);
    for (const listed *at = lists[_i]; at->name != NULL; at++) {
        (void)slt_double_symbol(&d, at->name); /* the double has it: something is hidden */
        ck_assert_msg(verdict_without(_i, at->name) == (at->optional ? WORKS : IS_MISSED), "without %s it %s, %s",
                      at->name, at->optional ? "is refused" : "works", at->optional ? "OPTIONAL" : "REQUIRED");
    }
}
END_TEST

/* What the driver has and the lists have not, the search by version among it. */
START_TEST(symbols_that_nobody_asked_for_are_missing) {
    start(_i);
    for (unsigned i = 0; i < d.control->call_names(); i++) {
        const listed *at = lists[_i];
        while (at->name != NULL && strcmp(at->name, d.control->call_name(i)) != 0) at++;
        if (at->name != NULL || d.control->call_name(i)[0] == '(') continue;
        ck_assert_msg(verdict_without(_i, d.control->call_name(i)) == WORKS, "%s is missed", d.control->call_name(i));
    }
}
END_TEST

/* ---- Stubs ----------------------------------------------------------------------------------------------------- */

START_TEST(stub_of_the_double) {
    start(0);
    d.control->set(DOUBLE_STUB, 1);
    ck_assert_int_eq(open_with("cuda"), SLW_E_STUB);
    ck_assert_ptr_nonnull(strstr(err.message, d.path)); /* the file that is really loaded */
    ck_assert_int_eq(err.raw_code, 34);
    ck_assert_ptr_null(device);
}
END_TEST

START_TEST(stub_of_the_toolkit) {
    static const char path[] = "/usr/local/cuda/lib64/stubs/libcuda.so";
    if (access(path, R_OK) != 0) {
        slt_skip("stub_of_the_toolkit", "there is no toolkit on this machine");
        return;
    }
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    options.kind = "cuda";
    options.driver_library = path;
    err = (slw_error)SLW_ERROR_INIT;
    ck_assert_int_eq(slw_device_open(&options, &device, &err), SLW_E_STUB);
    ck_assert_ptr_nonnull(strstr(err.path, "stubs"));
    /* Its soname is the driver's: now the driver's own name leads to it, and it is told apart all the same. */
    options.driver_library = NULL;
    err = (slw_error)SLW_ERROR_INIT;
    const slw_code code = slw_device_open(&options, &device, &err);
    if (code == SLW_OK) {
        slw_device_close(&device); /* there is a real one */
    } else {
        ck_assert_int_eq(code, SLW_E_STUB);
        ck_assert_ptr_nonnull(strstr(err.path, "stubs"));
    }
}
END_TEST

/* Debian's own library, without a device. */
START_TEST(hip_of_the_system) {
    static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_code code = SLW_E_UNAVAILABLE;
    options.kind = "hip";
    for (size_t i = 0; i < 3 && code == SLW_E_UNAVAILABLE; i++) {
        options.driver_library = names[i];
        err = (slw_error)SLW_ERROR_INIT;
        code = slw_device_open(&options, &device, &err);
    }
    if (code == SLW_E_UNAVAILABLE && err.reason != NULL && strcmp(err.reason, "NO_LIBRARY") == 0) {
        slt_skip("hip_of_the_system", "there is no libamdhip64 on this machine");
        return;
    }
    if (code == SLW_OK) {
        slw_device_close(&device);
        slt_skip("hip_of_the_system", "there is a device here");
        return;
    }
    ck_assert_msg(code == SLW_E_NO_DEVICE, "%s: %s", slw_code_name(code), err.message);
    ck_assert(err.raw_code == 100 || err.raw_code == 101);
}
END_TEST

/* ---- Devices --------------------------------------------------------------------------------------------------- */

START_TEST(no_device) {
    start(_i);
    d.control->set(DOUBLE_DEVICES, 0);
    ck_assert_int_eq(open_with(kinds[_i]), SLW_E_NO_DEVICE);
    ck_assert_ptr_null(device);
    ck_assert(err.raw_code == 100 || err.raw_code == 101);
    slt_double_check(&d);
}
END_TEST

START_TEST(no_such_device) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    start(_i);
    slt_double_use(&d, &options);
    options.ordinal = 2;
    err = (slw_error)SLW_ERROR_INIT;
    ck_assert_int_eq(slw_device_open(&options, &device, &err), SLW_E_NO_DEVICE);
    options.ordinal = UINT32_MAX;
    ck_assert_int_eq(slw_device_open(&options, &device, &err), SLW_E_NO_DEVICE);
    slt_double_check(&d);
}
END_TEST

START_TEST(prohibited_mode) {
    start(0);
    d.control->set(DOUBLE_COMPUTE_MODE, 2);
    ck_assert_int_eq(open_with("cuda"), SLW_E_NO_DEVICE);
    ck_assert_str_eq(err.reason, "PROHIBITED");
    ck_assert_uint_eq(d.control->count("cuDevicePrimaryCtxRetain"), 0); /* it would say "unknown error" */
    slt_double_check(&d);
}
END_TEST

START_TEST(mismatched_versions) {
    static const int codes[] = {802, 803, 804};
    start(0);
    d.control->inject("cuInit", 1, codes[_i], UINT32_MAX);
    ck_assert_int_eq(open_with("cuda"), SLW_E_UNAVAILABLE);
    ck_assert_int_eq(err.raw_code, codes[_i]);
    ck_assert_ptr_nonnull(err.hint);
    ck_assert_str_eq(err.reason, codes[_i] == 802 ? "SYSTEM_NOT_READY" : "VERSION_MISMATCH");
}
END_TEST

/* ---- Older and newer drivers ----------------------------------------------------------------------------------- */

START_TEST(drivers_of_every_age) {
    static const long cuda[] = {11040, 11070, 12020, 12040, 12080, 13000};
    static const long hip[] = {50221153, 60000000, 60342131, 70051831};
    const int is_cuda = _i < 6;
    const char *const kind = is_cuda ? "cuda" : "hip";
    start(!is_cuda);
    d.control->set(DOUBLE_DRIVER_VERSION, is_cuda ? cuda[_i] : hip[_i - 6]);
    d.control->set(DOUBLE_LAZY, is_cuda);
    slt_ok(open_with(kind), &err);
    check_it_works(kind);
    slw_device_close(&device);
    slt_double_check(&d);
}
END_TEST

/* A vendor's initialisation may start a program (nvidia-modprobe): fork handlers of ours run in the middle of it. */
START_TEST(a_driver_that_forks_while_it_initialises) {
    start(_i);
    alarm(20);
    d.control->set(DOUBLE_INIT_FORKS, 1);
    slt_ok(open_with(kinds[_i]), &err);
    check_it_works(kinds[_i]);
    slw_device_close(&device);
    slt_double_check(&d);
}
END_TEST

/* ---- Busy, and at the end ---------------------------------------------------------------------------------------- */

/* Compute mode exclusive: the device is there, and another process has it. */
START_TEST(a_device_that_another_process_has) {
    start(0);
    d.control->inject("cuDevicePrimaryCtxRetain", 1, 46, 1);
    ck_assert_int_eq(open_with("cuda"), SLW_E_UNAVAILABLE);
    ck_assert_str_eq(err.reason, "DEVICE_BUSY");
    ck_assert_int_eq(err.raw_code, 46);
    ck_assert_ptr_nonnull(err.hint);
    ck_assert_ptr_null(device);
    slt_double_check(&d);
    slt_ok(open_with("cuda"), &err); /* it has let go */
    slw_device_close(&device);
    slt_double_check(&d);
}
END_TEST

/* After the driver's own exit handler every call answers 4. */
START_TEST(a_driver_that_has_shut_down) {
    slw_device_address memory = 0;
    slw_stream stream = SLW_STREAM_DEFAULT;
    start(_i);
    slt_ok(open_with(kinds[_i]), &err);
    d.control->set(DOUBLE_TORN_DOWN, 1);
    ck_assert_int_eq(slw_device_alloc(device, 8, &memory, &err), SLW_E_LOST);
    ck_assert_str_eq(err.reason, "DRIVER_SHUT_DOWN");
    ck_assert_int_eq(err.raw_code, 4);
    ck_assert_uint_eq(memory, 0);
    const unsigned calls = d.control->count(NULL);
    ck_assert_int_eq(slw_device_stream_create(device, &stream, &err), SLW_E_LOST);
    ck_assert_ptr_null(stream.native);
    ck_assert_uint_eq(d.control->count(NULL), calls); /* a lost device is not asked again */
    slw_device_close(&device);
    ck_assert_int_eq(open_with(kinds[_i]), SLW_E_LOST);
    ck_assert_str_eq(err.reason, "DRIVER_SHUT_DOWN");
    ck_assert_ptr_null(device);
    slt_double_check_violations(&d);
}
END_TEST

START_TEST(a_driver_that_has_shut_down_before) {
    start(_i);
    d.control->set(DOUBLE_TORN_DOWN, 1);
    ck_assert_int_eq(open_with(kinds[_i]), SLW_E_LOST);
    ck_assert_str_eq(err.reason, "DRIVER_SHUT_DOWN");
    ck_assert_int_eq(err.raw_code, 4);
    ck_assert_ptr_null(device);
    slt_double_check(&d);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("drivers that are not there");
    TCase *tcase = tcase_create("absent");
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, no_library, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, only_one_symbol, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, a_library_of_something_else, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, each_symbol_is_missing, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, symbols_that_nobody_asked_for_are_missing, 0, GPU_KINDS);
    tcase_add_test(tcase, stub_of_the_double);
    tcase_add_test(tcase, stub_of_the_toolkit);
    tcase_add_test(tcase, hip_of_the_system);
    tcase_add_loop_test(tcase, no_device, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, no_such_device, 0, GPU_KINDS);
    tcase_add_test(tcase, prohibited_mode);
    tcase_add_loop_test(tcase, mismatched_versions, 0, 3);
    tcase_add_loop_test(tcase, drivers_of_every_age, 0, 10);
    tcase_add_loop_test(tcase, a_driver_that_forks_while_it_initialises, 0, GPU_KINDS);
    tcase_add_test(tcase, a_device_that_another_process_has);
    tcase_add_loop_test(tcase, a_driver_that_has_shut_down, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, a_driver_that_has_shut_down_before, 0, GPU_KINDS);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
