/* What is said of an image, a driver's version and a launch before any driver is called. */
#include <stdlib.h>
#include <string.h>

#include "cuda_driver.h"
#include "slt.h"

static slw_error err;

static slw_code form_of(const void *data, size_t size, slw_image_kind kind, slwi_cuda_form *out) {
    err = (slw_error)SLW_ERROR_INIT;
    /* In a block of exactly its size, so that a sanitizer sees a step beyond the end. */
    void *exact = malloc(size > 0 ? size : 1);
    memcpy(exact, data, size);
    const slw_code code = slwi_cuda_image_form((slw_bytes){exact, size}, kind, out, &err);
    free(exact);
    return code;
}

START_TEST(forms_are_told_by_their_bytes) {
    static const struct {
        const char *path;
        slw_image_kind kind;
        slwi_cuda_form form;
    } cases[] = {
        {"cubin/k1_sm90.cubin", SLW_IMAGE_CUBIN, SLWI_CUDA_CUBIN},
        {"cubin/k1_sm75.cubin", SLW_IMAGE_UNKNOWN, SLWI_CUDA_CUBIN},
        {"cubin/k9_sm100f.cubin", SLW_IMAGE_CUBIN, SLWI_CUDA_CUBIN},
        {"fatbin/k1.fatbin", SLW_IMAGE_CUBIN, SLWI_CUDA_FATBIN},
        {"fatbin/k1.fatbin", SLW_IMAGE_PTX, SLWI_CUDA_FATBIN},
        {"ptx/k1_90.ptx", SLW_IMAGE_PTX, SLWI_CUDA_PTX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size = 0;
        slwi_cuda_form form = SLWI_CUDA_PTX;
        char *bytes = slt_read_file(slt_fixture(cases[i].path), &size);
        slt_ok(form_of(bytes, size, cases[i].kind, &form), &err);
        ck_assert_msg(form == cases[i].form, "%s", cases[i].path);
        free(bytes);
    }
}
END_TEST

static void refused(const void *data, size_t size, slw_image_kind kind, slw_code code, const char *reason) {
    slwi_cuda_form form = SLWI_CUDA_PTX;
    ck_assert_msg(form_of(data, size, kind, &form) == code, "%s: %s", slw_code_name(err.code), err.message);
    ck_assert_str_eq(err.reason, reason);
}

START_TEST(what_is_no_image_is_refused) {
    size_t size = 0;
    refused("", 0, SLW_IMAGE_CUBIN, SLW_E_INVALID_BINARY, "EMPTY"); /* device.md G 28 */
    refused("text", 4, SLW_IMAGE_CUBIN, SLW_E_INVALID_BINARY, "BAD_MAGIC");
    refused("text", 4, SLW_IMAGE_UNKNOWN, SLW_E_INVALID_BINARY, "BAD_MAGIC");
    refused("text", 4, SLW_IMAGE_HOST, SLW_E_TARGET_MISMATCH, "KIND");
    refused("text", 4, SLW_IMAGE_LTO_IR, SLW_E_TARGET_MISMATCH, "KIND");
    refused(".version 8.0\n\0", 14, SLW_IMAGE_PTX, SLW_E_INVALID_PTX, "BAD_BYTE"); /* it would end there */
    ck_assert_uint_eq(err.offset_bytes, 13);
    refused("// \303\244\n", 6, SLW_IMAGE_PTX, SLW_E_INVALID_PTX, "BAD_BYTE");
    char *hsaco = slt_read_file(slt_fixture("hsaco/k_gfx90a.hsaco"), &size);
    refused(hsaco, size, SLW_IMAGE_CUBIN, SLW_E_TARGET_MISMATCH, "KIND");
    free(hsaco);
}
END_TEST

/* The driver is given no length and follows the tables. Every beginning that lacks a table is refused; what lacks only
   code is for the readers, which have gone before. */
START_TEST(beginnings_are_refused) {
    static const char *const paths[] = {"cubin/mini_90_12.9.cubin", "fatbin/f_nc.fatbin"};
    for (size_t i = 0; i < 2; i++) {
        size_t size = 0;
        slwi_cuda_form form = SLWI_CUDA_PTX;
        char *bytes = slt_read_file(slt_fixture(paths[i]), &size);
        slt_ok(form_of(bytes, size, SLW_IMAGE_CUBIN, &form), &err);
        size_t refusals = 0;
        for (size_t n = 0; n < size; n += n < 128 ? 1 : 61) {
            const slw_code code = form_of(bytes, n, SLW_IMAGE_CUBIN, &form);
            if (code == SLW_OK) continue;
            ck_assert_int_eq(code, SLW_E_INVALID_BINARY);
            refusals++;
        }
        ck_assert_uint_gt(refusals, 100);
        /* The size of the container, and the section table, lead far outside. */
        memset(bytes + (i == 0 ? 40 : 8), 0xff, 8);
        refused(bytes, size, SLW_IMAGE_CUBIN, SLW_E_INVALID_BINARY, "TRUNCATED");
        free(bytes);
    }
}
END_TEST

START_TEST(ptx_needs_leave) {
    slw_contract contract = {.kind = SLW_IMAGE_PTX, .isa_version = "8.5"};
    err = (slw_error)SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_cuda_image_policy(&contract, SLWI_CUDA_PTX, 0, 90, &err), SLW_E_TARGET_MISMATCH);
    ck_assert_str_eq(err.reason, "PTX_NOT_ALLOWED");
    ck_assert_int_eq(slwi_cuda_image_policy(&contract, SLWI_CUDA_FATBIN, 0, 90, NULL), SLW_E_TARGET_MISMATCH);
    slt_ok(slwi_cuda_image_policy(&contract, SLWI_CUDA_PTX, 1, 90, &err), &err);
    slt_ok(slwi_cuda_image_policy(&contract, SLWI_CUDA_PTX, 1, 85, &err), &err);
    slt_ok(slwi_cuda_image_policy(&contract, SLWI_CUDA_PTX, 1, 0, &err), &err); /* an unknown driver may try */
    err = (slw_error)SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_cuda_image_policy(&contract, SLWI_CUDA_PTX, 1, 84, &err), SLW_E_TARGET_MISMATCH);
    ck_assert_str_eq(err.reason, "ISA_VERSION");
    ck_assert_str_eq(err.subject, "8.5");
    contract = (slw_contract){.kind = SLW_IMAGE_CUBIN};
    slt_ok(slwi_cuda_image_policy(&contract, SLWI_CUDA_CUBIN, 0, 84, &err), &err);
    slt_ok(slwi_cuda_image_policy(&contract, SLWI_CUDA_FATBIN, 0, 84, &err), &err);
}
END_TEST

START_TEST(versions_are_numbers) {
    ck_assert_uint_eq(slwi_cuda_isa_number("8.5"), 85);
    ck_assert_uint_eq(slwi_cuda_isa_number("9.0"), 90);
    ck_assert_uint_eq(slwi_cuda_isa_number("10.2"), 102);
    static const char *const none[] = {"", "8", "8.", ".5", "8.55", "8.5 ", " 8.5", "x.y", "99999999999.9"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) ck_assert_uint_eq(slwi_cuda_isa_number(none[i]), 0);
    ck_assert_uint_eq(slwi_cuda_isa_number(NULL), 0);
}
END_TEST

/* device.md A.11 */
START_TEST(drivers_have_a_newest_ptx) {
    static const struct {
        int driver;
        uint32_t isa;
    } cases[] = {
        {11000, 70}, {11040, 74}, {11080, 78}, {12000, 80}, {12020, 82}, {12050, 85}, {12060, 85}, {12070, 86},
        {12080, 87}, {12090, 88}, {13000, 90}, {13010, 0},  {14000, 0},  {10020, 0},  {11090, 0},  {0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(slwi_cuda_ptx_of_driver(cases[i].driver) == cases[i].isa, "%d", cases[i].driver);
    }
    ck_assert_uint_eq(slwi_cuda_tensor_columns(9), 0);
    ck_assert_uint_eq(slwi_cuda_tensor_columns(10), 512);
    ck_assert_uint_eq(slwi_cuda_tensor_columns(11), 512);
    ck_assert_uint_eq(slwi_cuda_tensor_columns(12), 0);
}
END_TEST

START_TEST(launch_attributes_are_those_needed) {
    slwi_cu_launch_attribute out[SLWI_CUDA_LAUNCH_ATTRIBUTES];
    slw_kernel_contract kernel = {.name = "k"};
    const uint32_t none[3] = {0, 0, 0}, one[3] = {1, 1, 1}, pair[3] = {2, 1, 1};
    ck_assert_uint_eq(slwi_cuda_launch_attributes(&kernel, none, 0, 0, out), 0);
    ck_assert_uint_eq(slwi_cuda_launch_attributes(&kernel, one, 0, 0, out), 0);
    ck_assert_uint_eq(slwi_cuda_launch_attributes(&kernel, pair, 0, SLW_LAUNCH_NON_PORTABLE_CLUSTER, out), 1);
    ck_assert_int_eq(out[0].id, 4);
    ck_assert_uint_eq(out[0].value.cluster.x, 2);
    memset(out, 0xff, sizeof out);
    ck_assert_uint_eq(slwi_cuda_launch_attributes(&kernel, pair, 1, SLW_LAUNCH_PROGRAMMATIC, out), 3);
    ck_assert_int_eq(out[0].id, 2);
    ck_assert_int_eq(out[0].value.flag, 1);
    ck_assert_int_eq(out[1].id, 4);
    ck_assert_uint_eq(out[1].value.cluster.z, 1);
    ck_assert_int_eq(out[2].id, 6);
    ck_assert_int_eq(out[2].value.flag, 1);
    for (size_t i = 16; i < 64; i++) ck_assert_int_eq(out[1].value.bytes[i], 0);
    kernel.cluster_required = 1; /* pitfall 11: the binary says it already */
    ck_assert_uint_eq(slwi_cuda_launch_attributes(&kernel, pair, 0, 0, out), 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cuda image");
    TCase *tcase = tcase_create("image");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, forms_are_told_by_their_bytes);
    tcase_add_test(tcase, what_is_no_image_is_refused);
    tcase_add_test(tcase, beginnings_are_refused);
    tcase_add_test(tcase, ptx_needs_leave);
    tcase_add_test(tcase, versions_are_numbers);
    tcase_add_test(tcase, drivers_have_a_newest_ptx);
    tcase_add_test(tcase, launch_attributes_are_those_needed);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
