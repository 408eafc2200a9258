/* What HIP's results are called and what they mean. */
#include <string.h>

#include "hip_driver.h"
#include "slt.h"

START_TEST(names_are_found) {
    ck_assert_str_eq(slwi_hip_result_name(0), "hipSuccess");
    ck_assert_str_eq(slwi_hip_result_name(1), "hipErrorInvalidValue");
    ck_assert_str_eq(slwi_hip_result_name(100), "hipErrorNoDevice");
    ck_assert_str_eq(slwi_hip_result_name(101), "hipErrorInvalidDevice");
    ck_assert_str_eq(slwi_hip_result_name(209), "hipErrorNoBinaryForGpu");
    ck_assert_str_eq(slwi_hip_result_name(719), "hipErrorLaunchFailure");
    ck_assert_str_eq(slwi_hip_result_name(1054), "hipErrorTbd");
    ck_assert_ptr_null(slwi_hip_result_name(-1));
    ck_assert_ptr_null(slwi_hip_result_name(34));
    ck_assert_ptr_null(slwi_hip_result_name(1055));
    /* The search is by halves: each name is found only where the table is in order. */
    int known = 0;
    for (int i = -10; i < 2000; i++) known += slwi_hip_result_name(i) != NULL;
    ck_assert_int_eq(known, 74);
}
END_TEST

START_TEST(sticky_results_lose_the_device) {
    static const int sticky[] = {214, 700, 702, 710, 714, 715, 716, 717, 718, 719};
    int count = 0;
    for (int i = 0; i < 2000; i++) count += slwi_hip_result_is_sticky(i);
    ck_assert_int_eq(count, (int)(sizeof sticky / sizeof *sticky));
    for (size_t i = 0; i < sizeof sticky / sizeof *sticky; i++) {
        const char *reason = NULL;
        ck_assert_int_eq(slwi_hip_result_is_sticky(sticky[i]), 1);
        ck_assert_int_eq(slwi_hip_classify(sticky[i], &reason), SLW_E_LOST);
        ck_assert_str_eq(reason, "STICKY");
    }
}
END_TEST

START_TEST(pitfall_13_what_blames_an_image) {
    for (int i = 0; i < 2000; i++) {
        ck_assert_int_eq(slwi_hip_result_blames_image(i), i == 200 || i == 209 || i == 218);
    }
}
END_TEST

START_TEST(results_have_codes) {
    static const struct {
        int result;
        slw_code code;
        const char *reason;
    } rows[] = {
        {0, SLW_OK, NULL},
        {1, SLW_E_DRIVER, NULL},
        {2, SLW_E_NO_MEMORY, "DEVICE_MEMORY"},
        {3, SLW_E_UNAVAILABLE, "NOT_INITIALIZED"},
        {4, SLW_E_LOST, "DRIVER_SHUT_DOWN"},
        {9, SLW_E_INVALID_LAUNCH, "DRIVER"},
        {35, SLW_E_UNAVAILABLE, "VERSION_MISMATCH"},
        {53, SLW_E_LOST, "STICKY"},
        {100, SLW_E_NO_DEVICE, NULL},
        {101, SLW_E_NO_DEVICE, NULL},
        {200, SLW_E_INVALID_BINARY, "DRIVER"},
        {209, SLW_E_TARGET_MISMATCH, "DRIVER"},
        {218, SLW_E_INVALID_BINARY, "DRIVER"},
        {303, SLW_E_UNAVAILABLE, "NOT_INITIALIZED"},
        {500, SLW_E_DRIVER, NULL},
        {600, SLW_E_DRIVER, NULL},
        {701, SLW_E_OUT_OF_RESOURCES, "LAUNCH"},
        {709, SLW_E_LOST, "CONTEXT_GONE"},
        {720, SLW_E_OUT_OF_RESOURCES, "COOPERATIVE_TOO_LARGE"},
        {801, SLW_E_DRIVER, NULL},
        {12345, SLW_E_DRIVER, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *reason = "untouched";
        ck_assert_msg(slwi_hip_classify(rows[i].result, &reason) == rows[i].code, "%d", rows[i].result);
        ck_assert_pstr_eq(reason, rows[i].reason);
    }
}
END_TEST

/* ---- The record ------------------------------------------------------------------------------------------------ */

static unsigned clears;
static slwi_hip_result get_last_error(void) {
    clears++;
    return 0;
}
static const char *get_error_name(slwi_hip_result result) {
    return result == 4242 ? "hipErrorOfTheFuture" : NULL;
}

static slwi_hip_state state(void) {
    slwi_hip_state made;
    memset(&made, 0, sizeof made);
    made.api.hipGetLastError = get_last_error;
    strcpy(made.library, "/opt/rocm/lib/libamdhip64.so.6");
    strcpy(made.name, "hip:1 AMD Thing");
    strcpy(made.version, "HIP 6.3.42131");
    return made;
}

START_TEST(record_is_filled_and_the_last_error_read_once) {
    const slwi_hip_state hip = state();
    slw_error err = SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_hip_fail(&hip, 209, "add", "loading", &err), SLW_E_TARGET_MISMATCH);
    ck_assert_uint_eq(clears, 1);
    ck_assert_str_eq(err.raw_name, "hipErrorNoBinaryForGpu");
    ck_assert_int_eq(err.raw_code, 209);
    ck_assert_str_eq(err.path, "/opt/rocm/lib/libamdhip64.so.6");
    ck_assert_str_eq(err.kernel, "add");
    ck_assert_str_eq(err.device, "hip:1 AMD Thing");
    ck_assert_str_eq(err.message, "loading: hipErrorNoBinaryForGpu (209), HIP 6.3.42131");
}
END_TEST

START_TEST(newer_results_are_called_by_hip_or_by_number) {
    slwi_hip_state hip = state();
    slw_error err = SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_hip_fail(&hip, 4242, NULL, "loading", &err), SLW_E_DRIVER);
    ck_assert_str_eq(err.raw_name, "hipError4242");
    hip.api.hipGetErrorName = get_error_name;
    err = (slw_error)SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_hip_fail(&hip, 4242, NULL, "loading", &err), SLW_E_DRIVER);
    ck_assert_str_eq(err.raw_name, "hipErrorOfTheFuture");
    err = (slw_error)SLW_ERROR_INIT;
    hip.version[0] = '\0';
    ck_assert_int_eq(slwi_hip_fail(&hip, 4243, NULL, "loading", &err), SLW_E_DRIVER);
    ck_assert_str_eq(err.message, "loading: hipError4243 (4243)");
}
END_TEST

int main(void) {
    Suite *const suite = suite_create("hip errors");
    TCase *const tcase = tcase_create("results");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, names_are_found);
    tcase_add_test(tcase, sticky_results_lose_the_device);
    tcase_add_test(tcase, pitfall_13_what_blames_an_image);
    tcase_add_test(tcase, results_have_codes);
    tcase_add_test(tcase, record_is_filled_and_the_last_error_read_once);
    tcase_add_test(tcase, newer_results_are_called_by_hip_or_by_number);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
