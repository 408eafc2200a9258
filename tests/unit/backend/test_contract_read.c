/* slw_contract_read as callers meet it: arguments, forms of metadata, what is refused; and what it leaves alone. */
#include "fault_alloc.h"
#include "triton_fixture.h"

static triton_entry cuda;
static triton_entry hip;

static void setup_entries(void) {
    cuda = triton_load_named("3.9.0/3I2GI6");
    hip = triton_load_named("3.9.0/7VBEGS");
}

static void teardown_entries(void) {
    triton_free(&cuda);
    triton_free(&hip);
    triton_close();
}

static const slw_bytes none = {NULL, 0};

/* Fails with that code and reason; the output is untouched. */
static void refuse(slw_bytes binary, slw_bytes metadata, slw_code code, const char *reason, slw_error *err) {
    slw_contract *const before = (slw_contract *)(uintptr_t)&cuda;
    slw_contract *out = before;
    const slw_error fresh = SLW_ERROR_INIT;
    *err = fresh;
    slw_code rc = slw_contract_read(NULL, binary, metadata, "given.bin", NULL, &out, err);
    ck_assert_msg(rc == code, "%s (%s) %s", slw_code_name(rc), err->reason ? err->reason : "", err->message);
    ck_assert_ptr_eq(out, before);
    if (reason != NULL) ck_assert_str_eq(err->reason, reason);
}

START_TEST(arguments) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *out = NULL;
    refuse(none, none, SLW_E_USAGE, NULL, &err);
    refuse(cuda.binary, (slw_bytes){NULL, 5}, SLW_E_USAGE, NULL, &err);
    ck_assert_int_eq(slw_contract_read(NULL, cuda.binary, none, NULL, NULL, NULL, &err), SLW_E_USAGE);
    slw_allocator half = SLW_ALLOCATOR_INIT;
    half.release = triton_heap.release;
    half.allocate = (void *(*)(void *, size_t))(uintptr_t)malloc; /* never called */
    ck_assert_int_eq(slw_contract_read(&half, cuda.binary, none, NULL, NULL, &out, &err), SLW_E_USAGE);
    ck_assert_ptr_null(out);
    ck_assert_int_eq(slw_contract_read(NULL, cuda.binary, none, NULL, NULL, &out, NULL), SLW_OK); /* no record */
    slw_contract_release(NULL, &out);
    ck_assert_ptr_null(out);
    slw_contract_release(NULL, &out);
    slw_contract_release(NULL, NULL);
}
END_TEST

START_TEST(a_binary_alone) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *out = NULL;
    slt_ok(slw_contract_read(NULL, cuda.binary, none, NULL, NULL, &out, &err), &err);
    ck_assert_str_eq(out->backend, "cuda");
    ck_assert_str_eq(out->target, "sm_90a");
    ck_assert_str_eq(out->launch_binary, "kernel.cubin");
    ck_assert_uint_eq(out->kernels[0].warps, 0);
    ck_assert_int_eq(out->kernels[0].params[5].role, SLW_ROLE_CALLER); /* only metadata knows it is scratch */
    slw_contract_release(NULL, &out);
    slt_ok(slw_contract_read(NULL, hip.binary, none, "mine.hsaco", "gfx942", &out, &err), &err);
    ck_assert_str_eq(out->backend, "hip");
    ck_assert_str_eq(out->launch_binary, "mine.hsaco");
    slw_contract_release(NULL, &out);
}
END_TEST

START_TEST(what_is_not_recognised) {
    slw_error err;
    refuse((slw_bytes){"text", 4}, none, SLW_E_UNSUPPORTED_INPUT, "NOT_RECOGNISED", &err);
    ck_assert_str_eq(err.path, "given.bin");
    refuse((slw_bytes){"", 0}, none, SLW_E_UNSUPPORTED_INPUT, "NOT_RECOGNISED", &err);
    refuse(cuda.binary, (slw_bytes){"{\"a\":1}", 7}, SLW_E_INVALID_METADATA, "NOT_RECOGNISED", &err);
    refuse(cuda.binary, (slw_bytes){"{\"contract\":{}}", 15}, SLW_E_INVALID_METADATA, "NOT_RECOGNISED", &err);
    refuse(cuda.binary, (slw_bytes){"{", 1}, SLW_E_INVALID_METADATA, "TRUNCATED", &err);
    refuse(cuda.binary, hip.metadata, SLW_E_CONTRACT_MISMATCH, "CONTRACT_DIFFERS", &err);
    refuse(hip.binary, cuda.metadata, SLW_E_CONTRACT_MISMATCH, "CONTRACT_DIFFERS", &err);
    ck_assert_str_eq(err.subject, "name");
    refuse((slw_bytes){cuda.binary.data, 100}, cuda.metadata, SLW_E_INVALID_BINARY, NULL, &err);
    ck_assert_str_eq(err.path, "given.bin");
}
END_TEST

/* ---- a contract as metadata ---- */

static slwi_buffer text_of(const slw_contract *contract, const char *around) {
    slwi_buffer text;
    slwi_json_writer writer;
    slwi_buffer_init(&text, &triton_heap, SIZE_MAX);
    if (around != NULL) slwi_buffer_append_text(&text, around);
    slwi_json_begin(&writer, &text, 1);
    slwi_contract_write(contract, &writer);
    if (around != NULL) slwi_buffer_append_text(&text, "}");
    ck_assert_int_eq(text.failed, 0);
    return text;
}

/* What Triton's metadata said is in the stored contract and stays there, though no binary says it. */
START_TEST(a_stored_contract) {
    static const char *const around[] = {NULL, "{\"schema\":1,\"contract\":"};
    for (size_t i = 0; i < 2; i++) {
        slw_error err = SLW_ERROR_INIT;
        slw_contract *stored = NULL;
        slw_contract *out = NULL;
        slt_ok(slw_contract_read(NULL, hip.binary, hip.metadata, "matmul.hsaco", NULL, &stored, &err), &err);
        slwi_buffer text = text_of(stored, around[i]);
        slt_ok(slw_contract_read(NULL, hip.binary, (slw_bytes){text.data, text.size}, "/elsewhere/x", NULL, &out, &err),
               &err);
        slt_ok(slwi_contract_compare(stored, out, &err), &err);
        slt_ok(slwi_contract_compare(out, stored, &err), &err);
        ck_assert_uint_eq(out->kernels[0].dynamic_shared_bytes, 4096);
        ck_assert_str_eq(out->launch_binary, "matmul.hsaco");
        slw_contract_release(NULL, &stored);
        slw_contract_release(NULL, &out);
        slwi_buffer_free(&text);
    }
}
END_TEST

static void refuse_stored(const char *from, const char *to, slw_code code, const char *subject) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *stored = NULL;
    slt_ok(slw_contract_read(NULL, cuda.binary, cuda.metadata, NULL, NULL, &stored, &err), &err);
    slwi_buffer text = text_of(stored, NULL);
    slw_bytes changed = triton_replace((slw_bytes){text.data, text.size}, from, to);
    refuse(cuda.binary, changed, code, NULL, &err);
    ck_assert_str_eq(err.subject, subject);
    free((void *)(uintptr_t)changed.data);
    slwi_buffer_free(&text);
    slw_contract_release(NULL, &stored);
}

START_TEST(a_stored_contract_that_lies) {
    refuse_stored("\"registers\":26", "\"registers\":27", SLW_E_CONTRACT_MISMATCH, "registers");
    refuse_stored("\"target\":\"sm_90a\"", "\"target\":\"sm_90\"", SLW_E_CONTRACT_MISMATCH, "target");
    refuse_stored("\"backend\":\"cuda\"", "\"backend\":\"hip\"", SLW_E_CONTRACT_MISMATCH, "backend");
    refuse_stored("\"kind\":\"cubin\"", "\"kind\":\"ptx\"", SLW_E_CONTRACT_MISMATCH, "kind");
    refuse_stored("\"name\":\"add_kernel\"", "\"name\":\"sub_kernel\"", SLW_E_CONTRACT_MISMATCH, "name");
    refuse_stored("\"required_threads\":[128,1,1]", "\"required_threads\":[256,1,1]", SLW_E_CONTRACT_MISMATCH,
                  "required_threads");
    refuse_stored("\"role\":\"caller\"", "\"role\":\"hidden\"", SLW_E_CONTRACT_MISMATCH, "role");
    refuse_stored("\"offset_bytes\":24", "\"offset_bytes\":28", SLW_E_CONTRACT_MISMATCH, "offset_bytes");
    refuse_stored("\"warps\":4", "\"warps\":-4", SLW_E_INVALID_METADATA, "warps");
    refuse_stored("\"isa_version\":null,", "", SLW_E_INVALID_METADATA, "isa_version");
}
END_TEST

/* Pitfall 27 here too: another revision's facts are the binary's, its metadata's are kept. */
START_TEST(another_reader_revision) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *stored = NULL;
    slw_contract *out = NULL;
    slt_ok(slw_contract_read(NULL, hip.binary, hip.metadata, NULL, NULL, &stored, &err), &err);
    slw_contract older = *stored;
    slw_kernel_contract kernel = stored->kernels[0];
    older.reader_revision += 1000;
    older.kernels = &kernel;
    kernel.registers += 7; /* what that reader got wrong */
    kernel.needs = SLW_NEEDS_PRINTF;
    slwi_buffer text = text_of(&older, NULL);
    slt_ok(slw_contract_read(NULL, hip.binary, (slw_bytes){text.data, text.size}, NULL, NULL, &out, &err), &err);
    slt_ok(slwi_contract_compare(stored, out, &err), &err);
    slt_ok(slwi_contract_compare(out, stored, &err), &err);
    slw_contract_release(NULL, &stored);
    slw_contract_release(NULL, &out);
    slwi_buffer_free(&text);
}
END_TEST

START_TEST(every_allocation_may_fail) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *stored = NULL;
    slt_ok(slw_contract_read(NULL, hip.binary, hip.metadata, NULL, NULL, &stored, &err), &err);
    slwi_buffer text = text_of(stored, NULL);
    slt_heap heap;
    slt_heap_init(&heap);
    uint64_t failures = 0;
    for (uint64_t n = 1;; n++) {
        slw_contract *const before = (slw_contract *)(uintptr_t)&hip;
        slw_contract *out = before;
        slt_heap_reset(&heap);
        heap.fail_at = n;
        slw_code rc =
            slw_contract_read(&heap.allocator, hip.binary, (slw_bytes){text.data, text.size}, NULL, NULL, &out, &err);
        failures += heap.failed;
        if (heap.failed) {
            ck_assert_int_eq(rc, SLW_E_NO_MEMORY);
            ck_assert_ptr_eq(out, before);
            slt_heap_check_empty(&heap);
            continue;
        }
        slt_ok(rc, &err);
        slw_contract_release(&heap.allocator, &out);
        slt_heap_check_empty(&heap);
        break;
    }
    ck_assert_uint_ge(failures, 8);
    slw_contract_release(NULL, &stored);
    slwi_buffer_free(&text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/contract_read");
    TCase *tcase = tcase_create("contract_read");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, setup_entries, teardown_entries);
    tcase_add_test(tcase, arguments);
    tcase_add_test(tcase, a_binary_alone);
    tcase_add_test(tcase, what_is_not_recognised);
    tcase_add_test(tcase, a_stored_contract);
    tcase_add_test(tcase, a_stored_contract_that_lies);
    tcase_add_test(tcase, another_reader_revision);
    tcase_add_test(tcase, every_allocation_may_fail);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
