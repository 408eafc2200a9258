/* The cuda backend as a vtable: whose binary it is, which reader answers, and that compiling is refused in words. */
#include "cubin_fixture.h"
#include "cuda_backend.h"

static const struct {
    const char *file, *target, *read_as;
    slw_image_kind kind;
} binaries[] = {
    {"cubin/k9_sm90a.cubin", NULL, "sm_90a", SLW_IMAGE_CUBIN},
    {"cubin/mini_61_12.4.cubin", "sm_90", "sm_61", SLW_IMAGE_CUBIN}, /* whether it runs is not the reader's to judge */
    {"fatbin/k1.fatbin", "sm_80", "sm_80", SLW_IMAGE_CUBIN},
    {"fatbin/f_nc.fatbin", "sm_100", "sm_80", SLW_IMAGE_PTX},
    {"ptx/k9_100f.ptx", NULL, "sm_100f", SLW_IMAGE_PTX},
};
#define BINARIES (sizeof(binaries) / sizeof(binaries[0]))

START_TEST(each_reader_answers) {
    size_t size;
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    char *data = slt_read_file(slt_fixture(binaries[_i].file), &size);
    slw_bytes bytes = {data, size};
    ck_assert_ptr_eq(slwi_backend_recognise(bytes), &slwi_cuda_backend);
    slt_ok(slwi_cuda_backend.read_contract(&cub_heap, bytes, NULL, binaries[_i].target, &contract, &err), &err);
    ck_assert_str_eq(contract->backend, "cuda");
    ck_assert_str_eq(contract->target, binaries[_i].read_as);
    ck_assert_int_eq(contract->kind, binaries[_i].kind);
    if (binaries[_i].kind == SLW_IMAGE_PTX) ck_assert_str_eq(contract->isa_version, "9.0");
    slwi_cuda_backend.release_contract(&cub_heap, &contract);
    ck_assert_ptr_null(contract);
    free(data);
}
END_TEST

START_TEST(another_s_binary_is_not_recognised) {
    static const char text[] = "int main(void) { return 0; }";
    size_t size;
    ck_assert_int_eq(slwi_cuda_backend.recognises((slw_bytes){text, sizeof(text) - 1}), 0);
    ck_assert_int_eq(slwi_cuda_backend.recognises((slw_bytes){"", 0}), 0);
    char *data = slt_read_file("/proc/self/exe", &size);
    ck_assert_int_eq(slwi_cuda_backend.recognises((slw_bytes){data, size}), 0);
    free(data);
}
END_TEST

START_TEST(compiling_is_refused_in_words) {
    const slw_backend_vtable *backend = slw_backend_find("cuda");
    ck_assert_ptr_eq(backend, &slwi_cuda_backend);
    ck_assert_uint_eq(backend->size, sizeof(*backend));
    ck_assert_uint_eq(backend->abi, SLW_BACKEND_ABI);
    slw_toolchain_request request;
    memset(&request, 0, sizeof(request));
    request.size = sizeof(request);
    void *toolchain = &request;
    slw_error err = SLW_ERROR_INIT;
    ck_assert_int_eq(backend->toolchain_open(&request, &toolchain, &err), SLW_E_UNSUPPORTED);
    ck_assert_ptr_eq(toolchain, &request);
    ck_assert_str_eq(err.reason, "NO_COMPILER");
    ck_assert_ptr_nonnull(strstr(err.hint, "nvcc"));
    void *job = NULL;
    ck_assert_int_eq(backend->job_open(NULL, NULL, &job, NULL), SLW_E_UNSUPPORTED);
    ck_assert_int_eq(backend->job_source_record(NULL, NULL, NULL), SLW_E_UNSUPPORTED);
    ck_assert_int_eq(backend->job_option_record(NULL, NULL, NULL), SLW_E_UNSUPPORTED);
    ck_assert_int_eq(backend->job_run(NULL, 0, NULL, NULL), SLW_E_UNSUPPORTED);
    ck_assert_int_eq(backend->job_confirm(NULL, NULL, NULL), SLW_E_UNSUPPORTED);
    ck_assert_ptr_null(backend->toolchain_path(NULL));
    backend->toolchain_close(NULL);
    backend->job_close(NULL);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cuda backend");
    TCase *tests = tcase_create("cuda");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, each_reader_answers, 0, BINARIES);
    tcase_add_test(tests, another_s_binary_is_not_recognised);
    tcase_add_test(tests, compiling_is_refused_in_words);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
