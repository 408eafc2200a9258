/* The driver's results: names, and what they mean for us. */
#include <string.h>

#include "cuda_driver.h"
#include "slt.h"

START_TEST(names_are_found) {
    ck_assert_str_eq(slwi_cuda_result_name(0), "CUDA_SUCCESS");
    ck_assert_str_eq(slwi_cuda_result_name(34), "CUDA_ERROR_STUB_LIBRARY");
    ck_assert_str_eq(slwi_cuda_result_name(209), "CUDA_ERROR_NO_BINARY_FOR_GPU");
    ck_assert_str_eq(slwi_cuda_result_name(721), "CUDA_ERROR_TENSOR_MEMORY_LEAK");
    ck_assert_str_eq(slwi_cuda_result_name(999), "CUDA_ERROR_UNKNOWN");
    ck_assert_ptr_null(slwi_cuda_result_name(-1));
    ck_assert_ptr_null(slwi_cuda_result_name(33));
    ck_assert_ptr_null(slwi_cuda_result_name(1000));
    unsigned known = 0;
    for (int i = -10; i < 2000; i++) known += slwi_cuda_result_name(i) != NULL;
    ck_assert_uint_eq(known, 101);
}
END_TEST

/* device.md A.8 has the two lists. */
START_TEST(sticky_results_lose_the_device) {
    static const int sticky[] = {214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721};
    static const int safe[] = {0,   1,   2,   36,  100, 101, 200, 201, 209, 218, 221, 222, 223, 302,
                               303, 400, 500, 600, 701, 720, 800, 801, 900, 901, 908, 912, 913};
    for (size_t i = 0; i < sizeof sticky / sizeof *sticky; i++) {
        const char *reason = NULL;
        ck_assert_int_eq(slwi_cuda_result_is_sticky(sticky[i]), 1);
        ck_assert_int_eq(slwi_cuda_classify(sticky[i], &reason), SLW_E_LOST);
        ck_assert_str_eq(reason, "STICKY");
    }
    for (size_t i = 0; i < sizeof safe / sizeof *safe; i++) {
        const char *reason = NULL;
        ck_assert_int_eq(slwi_cuda_result_is_sticky(safe[i]), 0);
        ck_assert_int_ne(slwi_cuda_classify(safe[i], &reason), SLW_E_LOST);
    }
}
END_TEST

/* Pitfall 13: what is remembered of an image is its own fault, and nothing else is. */
START_TEST(pitfall_13_what_blames_an_image) {
    unsigned blamed = 0;
    for (int i = -10; i < 2000; i++) blamed += slwi_cuda_result_blames_image(i) != 0;
    ck_assert_uint_eq(blamed, 4);
    ck_assert(slwi_cuda_result_blames_image(200) && slwi_cuda_result_blames_image(209));
    ck_assert(slwi_cuda_result_blames_image(218) && slwi_cuda_result_blames_image(222));
}
END_TEST

START_TEST(results_have_codes) {
    static const struct {
        int result;
        slw_code code;
    } cases[] = {
        {0, SLW_OK},
        {1, SLW_E_DRIVER},
        {2, SLW_E_NO_MEMORY},
        {4, SLW_E_LOST},
        {34, SLW_E_STUB},
        {46, SLW_E_UNAVAILABLE},
        {100, SLW_E_NO_DEVICE},
        {101, SLW_E_NO_DEVICE},
        {200, SLW_E_INVALID_BINARY},
        {201, SLW_E_DRIVER},
        {209, SLW_E_TARGET_MISMATCH},
        {218, SLW_E_INVALID_PTX},
        {221, SLW_E_UNSUPPORTED},
        {222, SLW_E_TARGET_MISMATCH},
        {223, SLW_E_UNSUPPORTED},
        {701, SLW_E_OUT_OF_RESOURCES},
        {709, SLW_E_LOST},
        {720, SLW_E_OUT_OF_RESOURCES},
        {803, SLW_E_UNAVAILABLE},
        {804, SLW_E_UNAVAILABLE},
        {900, SLW_E_DRIVER},
        {912, SLW_E_INVALID_LAUNCH},
        {999, SLW_E_DRIVER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *reason = "";
        ck_assert_msg(slwi_cuda_classify(cases[i].result, &reason) == cases[i].code, "%d", cases[i].result);
    }
}
END_TEST

START_TEST(record_is_filled) {
    slw_error err = SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_cuda_fail_at("/lib/libcuda.so.1", "cuda:0 X", 803, "cuInit", &err), SLW_E_UNAVAILABLE);
    ck_assert_str_eq(err.raw_name, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH");
    ck_assert_int_eq(err.raw_code, 803);
    ck_assert_str_eq(err.path, "/lib/libcuda.so.1");
    ck_assert_str_eq(err.device, "cuda:0 X");
    ck_assert_str_eq(err.reason, "VERSION_MISMATCH");
    ck_assert_ptr_nonnull(err.hint);
    ck_assert_ptr_nonnull(strstr(err.message, "cuInit"));
    err = (slw_error)SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_cuda_fail_at("l", NULL, 4711, "cuInit", &err), SLW_E_DRIVER);
    ck_assert_str_eq(err.raw_name, "CUDA_ERROR_4711");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cuda errors");
    TCase *tcase = tcase_create("errors");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, names_are_found);
    tcase_add_test(tcase, sticky_results_lose_the_device);
    tcase_add_test(tcase, pitfall_13_what_blames_an_image);
    tcase_add_test(tcase, results_have_codes);
    tcase_add_test(tcase, record_is_filled);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
