/* Is a driver there? Asked of the doubles by the path of their file, as a program asks: before anything is opened,
 * afterwards, in a child, and of a copy that lies where the toolkit keeps its stub. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu_world.h"

static const char *const kinds[] = {"cuda", "hip"};

static slt_double d;

static slw_driver_status examine(const char *kind, const char *path) {
    slw_driver_status status = SLW_DRIVER_STATUS_INIT;
    ck_assert_int_eq(slw_driver_examine_library(kind, path, &status), 1);
    ck_assert_str_eq(status.kind, kind);
    return status;
}

static slw_code open_and_close(const char *kind, slw_error *err) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_device *device = NULL;
    slt_double_use(&d, &options);
    options.kind = kind;
    const slw_code code = slw_device_open(&options, &device, err);
    slw_device_close(&device);
    return code;
}

/* The double's file, by whatever part of its path the loader keeps. */
static void check_is_file(const char *path) {
    char *const one = realpath(path, NULL), *const other = realpath(d.path, NULL);
    ck_assert_msg(one != NULL && other != NULL && strcmp(one, other) == 0, "\"%s\" is not \"%s\"", path, d.path);
    free(one);
    free(other);
}

/* ---- Before ---------------------------------------------------------------------------------------------------- */

START_TEST(examining_calls_nothing) {
    slt_double_open(&d, kinds[_i]);
    for (int i = 0; i < 2; i++) {
        const slw_driver_status status = examine(kinds[_i], d.path);
        /* Of HIP the kernel may say that there is no GPU. */
        if (_i == 0 || access("/dev/kfd", F_OK) != 0) {
            ck_assert_int_eq(status.presence, SLW_PRESENCE_MAYBE);
            ck_assert_int_eq(status.code, SLW_OK);
        }
        ck_assert_int_ne(status.presence, SLW_PRESENCE_YES);
        ck_assert_str_ne(status.why, "");
        check_is_file(status.path); /* it was the double that was examined */
        ck_assert_uint_eq(d.control->count(NULL), 0);
        ck_assert_int_eq(d.control->get(DOUBLE_INITIALIZED), 0);
    }
}
END_TEST

START_TEST(a_library_that_is_not_there) {
    const slw_driver_status status = examine(kinds[_i], "elsewhere/libdriver.so");
    ck_assert_int_eq(status.presence, SLW_PRESENCE_NO);
    ck_assert_int_eq(status.code, SLW_E_UNAVAILABLE);
    ck_assert_str_eq(status.path, "elsewhere/libdriver.so");
    ck_assert_ptr_nonnull(strstr(status.why, "No such file"));
}
END_TEST

/* The other vendor's double loads, and has no such beginning. */
START_TEST(a_library_of_something_else) {
    const slw_driver_status status = examine(kinds[_i], slt_double_path(kinds[1 - _i]));
    ck_assert_int_eq(status.presence, SLW_PRESENCE_NO);
    ck_assert_int_eq(status.code, SLW_E_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(status.why, _i == 0 ? "cuInit" : "hipInit"));
}
END_TEST

/* ---- The toolkit's library for linking -------------------------------------------------------------------------- */

START_TEST(a_file_in_a_folder_of_stubs) {
    const char *const path = slt_path(slt_scratch(), "stubs", "libcuda.so", NULL);
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_device *device = NULL;
    slw_error err = SLW_ERROR_INIT;
    ck_assert_ptr_nonnull(slt_double_path("cuda"));
    slt_shell("mkdir '%.*s' && cp '%s' '%s'", (int)(strrchr(path, '/') - path), path, slt_double_path("cuda"), path);
    slw_driver_status status = examine("cuda", path);
    ck_assert_int_eq(status.presence, SLW_PRESENCE_NO);
    ck_assert_int_eq(status.code, SLW_E_STUB);
    ck_assert_str_eq(status.path, path);

    /* Nothing was called for that; and opening it says so as well, by what cuInit answers. */
    const double_control *(*get)(void) = NULL;
    void *const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(handle != NULL, "%s", dlerror());
    void *const found = dlsym(handle, "double_control_get");
    ck_assert_ptr_nonnull(found);
    memcpy(&get, &found, sizeof get);
    ck_assert_uint_eq(get()->count(NULL), 0);
    get()->set(DOUBLE_STUB, 1);
    options.kind = "cuda";
    options.driver_library = path;
    ck_assert_int_eq(slw_device_open(&options, &device, &err), SLW_E_STUB);
    ck_assert_ptr_null(device);
    ck_assert_str_eq(err.reason, "STUB");
    ck_assert_int_eq(err.raw_code, 34);
    ck_assert_str_eq(err.path, path);
    ck_assert_ptr_nonnull(err.hint);
    ck_assert_uint_eq(get()->count("cuInit"), 1);

    status = examine("cuda", path); /* now it is known and not only guessed */
    ck_assert_int_eq(status.presence, SLW_PRESENCE_NO);
    ck_assert_int_eq(status.code, SLW_E_STUB);
    ck_assert_ptr_nonnull(strstr(status.why, "STUB_LIBRARY"));
    ck_assert_uint_eq(get()->count("cuInit"), 1);
}
END_TEST

/* ---- Afterwards ------------------------------------------------------------------------------------------------- */

START_TEST(examining_after_an_open) {
    slw_error err = SLW_ERROR_INIT;
    slt_double_open(&d, kinds[_i]);
    slt_ok(open_and_close(kinds[_i], &err), &err);
    d.control->log_clear();
    const slw_driver_status status = examine(kinds[_i], d.path);
    ck_assert_int_eq(status.presence, SLW_PRESENCE_YES);
    ck_assert_int_eq(status.code, SLW_OK);
    check_is_file(status.path);
    ck_assert_uint_eq(d.control->count(NULL), 0);
    slt_double_check(&d);
}
END_TEST

/* What initialising said is what examining says, and opening again, which does not ask again. */
START_TEST(examining_after_a_failure) {
    static const struct {
        int kind, result;
        slw_code code;
    } rows[] = {
        {0, 100, SLW_E_NO_DEVICE},   {0, 802, SLW_E_UNAVAILABLE}, {0, 803, SLW_E_UNAVAILABLE},
        {0, 804, SLW_E_UNAVAILABLE}, {0, 999, SLW_E_DRIVER},      {1, 100, SLW_E_NO_DEVICE},
        {1, 35, SLW_E_UNAVAILABLE},  {1, 303, SLW_E_UNAVAILABLE}, {1, 999, SLW_E_DRIVER},
    };
    const char *const kind = kinds[rows[_i].kind];
    const char *const init = rows[_i].kind == 0 ? "cuInit" : "hipInit";
    slw_error err = SLW_ERROR_INIT;
    slt_double_open(&d, kind);
    d.control->inject(init, 1, rows[_i].result, 1);
    ck_assert_int_eq(open_and_close(kind, &err), rows[_i].code);
    const slw_driver_status status = examine(kind, d.path);
    ck_assert_int_eq(status.presence, SLW_PRESENCE_NO);
    ck_assert_int_eq(status.code, rows[_i].code);
    ck_assert_str_eq(status.why, err.raw_name);
    err = (slw_error)SLW_ERROR_INIT;
    ck_assert_int_eq(open_and_close(kind, &err), rows[_i].code);
    ck_assert_int_eq(err.raw_code, rows[_i].result);
    ck_assert_uint_eq(d.control->count(init), 1);
}
END_TEST

/* ---- In a child ------------------------------------------------------------------------------------------------- */

/* No failing check ends a process with this. */
#define CHILD_IS_FINE 40

static void say_and_leave(int line, const char *format, ...) {
    va_list arguments;
    fprintf(stderr, "child, line %d: ", line);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    _exit(1);
}

/* Examines and opens; `presence` and `code` are what both must say. */
static void ask_in_child(const char *kind, slw_presence presence, slw_code code) {
    slw_error err = SLW_ERROR_INIT;
    alarm(60);
    d.control->log_clear();
    for (int i = 0; i < 2; i++) {
        slw_driver_status status = SLW_DRIVER_STATUS_INIT;
        (void)slw_driver_examine_library(kind, d.path, &status);
        if (status.presence != presence || status.code != code) {
            say_and_leave(__LINE__, "examined: %d, %s: %s", (int)status.presence, slw_code_name(status.code),
                          status.why);
        }
        const slw_code opened = open_and_close(kind, &err);
        if (opened != code) say_and_leave(__LINE__, "opened: %s: %s", slw_code_name(opened), err.message);
    }
    if (d.control->count(kind[0] == 'c' ? "cuInit" : "hipInit") != 0) say_and_leave(__LINE__, "it was asked again");
    _exit(CHILD_IS_FINE);
}

static void check_child(const char *kind, slw_presence presence, slw_code code) {
    int status = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) ask_in_child(kind, presence, code);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_IS_FINE, "the child's status is %#x", status);
}

START_TEST(a_child_of_a_process_that_has_initialised) {
    slw_error err = SLW_ERROR_INIT;
    slt_double_open(&d, kinds[_i]);
    slt_ok(open_and_close(kinds[_i], &err), &err);
    check_child(kinds[_i], SLW_PRESENCE_MAYBE, SLW_E_FORKED);
    ck_assert_int_eq(examine(kinds[_i], d.path).presence, SLW_PRESENCE_YES); /* the parent goes on */
    slt_ok(open_and_close(kinds[_i], &err), &err);
    slt_double_check(&d);
}
END_TEST

/* Nothing was set up, so nothing is broken by the fork: the child hears the reason, and not that it is a child. */
START_TEST(a_child_of_a_process_that_could_not) {
    slw_error err = SLW_ERROR_INIT;
    slt_double_open(&d, kinds[_i]);
    d.control->set(DOUBLE_DEVICES, 0);
    ck_assert_int_eq(open_and_close(kinds[_i], &err), SLW_E_NO_DEVICE);
    check_child(kinds[_i], SLW_PRESENCE_NO, SLW_E_NO_DEVICE);
    ck_assert_int_eq(examine(kinds[_i], d.path).code, SLW_E_NO_DEVICE);
}
END_TEST

/* A process that only examined has initialised nothing: its child is free to. */
START_TEST(a_child_of_a_process_that_has_examined) {
    int status = 0;
    slt_double_open(&d, kinds[_i]);
    ck_assert_int_ne(examine(kinds[_i], d.path).presence, SLW_PRESENCE_YES);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        slw_error err = SLW_ERROR_INIT;
        alarm(60);
        if (open_and_close(kinds[_i], &err) != SLW_OK) say_and_leave(__LINE__, "opened: %s", err.message);
        if (d.control->violations() != 0) say_and_leave(__LINE__, "%s", d.control->violation(0));
        _exit(CHILD_IS_FINE);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_IS_FINE, "the child's status is %#x", status);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("examining drivers");
    TCase *tcase = tcase_create("examine");
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, examining_calls_nothing, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, a_library_that_is_not_there, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, a_library_of_something_else, 0, GPU_KINDS);
    tcase_add_test(tcase, a_file_in_a_folder_of_stubs);
    tcase_add_loop_test(tcase, examining_after_an_open, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, examining_after_a_failure, 0, 9);
    tcase_add_loop_test(tcase, a_child_of_a_process_that_has_initialised, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, a_child_of_a_process_that_could_not, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, a_child_of_a_process_that_has_examined, 0, GPU_KINDS);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
