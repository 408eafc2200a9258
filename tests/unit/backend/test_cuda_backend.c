/* The cuda backend as a vtable: whose binary it is, which reader answers, and what a compilation begins with. */
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

START_TEST(it_begins_with_cuda_c_and_ptx) {
    const slw_backend_vtable *backend = slw_backend_find("cuda");
    slw_error err = SLW_ERROR_INIT;
    const char *name = NULL;
    ck_assert_ptr_eq(backend, &slwi_cuda_backend);
    slt_ok(slwi_backend_check(backend, &err), &err);
    ck_assert_uint_eq(slwi_backend_source(backend, "cu")->first_stage, 0);
    ck_assert_uint_eq(slwi_backend_source(backend, "ptx")->first_stage, 1);
    ck_assert_ptr_null(slwi_backend_source(backend, "c"));
    ck_assert(backend->supports_target("sm_90a") && backend->supports_target("sm_100f"));
    ck_assert(!backend->supports_target("compute_90") && !backend->supports_target("gfx942"));
    slt_ok(slw_backend_choose("sm_90a", "cu", &name, &err), &err);
    ck_assert_str_eq(name, "cuda");
    slt_ok(slw_backend_choose(NULL, "ptx", &name, &err), &err);
    ck_assert_str_eq(name, "cuda");
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
    tcase_add_test(tests, it_begins_with_cuda_c_and_ptx);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
