/* The n-th allocation fails while nvcc is asked, a job is opened and its stages run: NO_MEMORY, nothing leaked, nothing
 * left behind; the same request works when memory is back. */
#include "fake_cuda.h"

#include <errno.h>
#include <slipway/key.h>

#include "backends.h"
#include "cuda_backend.h"
#include "fail.h"
#include "fault_alloc.h"
#include "fault_os.h"
#include "nvcc_job.h"
#include "nvcc_toolchain.h"

static slt_heap heap;
static slw_error err = SLW_ERROR_INIT;
static const char *top;
static char driver[4200];
static char path[4200];

static void setup(void) {
    slt_heap_init(&heap);
    top = fake_toolkit();
    (void)snprintf(driver, sizeof(driver), "%s/bin/nvcc", top);
    (void)snprintf(path, sizeof(path), "%s/bin:/usr/bin:/bin", top);
}

static void teardown(void) {
    slt_heap_check_empty(&heap);
}

static char host[4096];

static slwi_nvcc_toolchain toolchain_of(void) {
    slwi_nvcc_toolchain t;
    memset(&t, 0, sizeof(t));
    ck_assert_ptr_nonnull(realpath(access("/usr/bin/g++", X_OK) == 0 ? "/usr/bin/g++" : "/usr/bin/c++", host));
    t.allocator = heap.allocator;
    t.driver = driver;
    t.found = driver;
    t.host = host;
    t.path = path;
    return t;
}

/* Every one of the first, then one in 31: each try starts a dozen processes. */
START_TEST(asking_without_memory) {
    const slwi_nvcc_toolchain t = toolchain_of();
    size_t refused = 0;
    for (uint64_t n = 1;; n += n < 24 ? 1 : 31) {
        slwi_tool_answer answer;
        slt_heap_reset(&heap);
        slwi_error_reset(&err);
        heap.fail_at = n;
        slwi_tool_answer_init(&answer, &heap.allocator);
        const slw_code rc = slwi_nvcc_discover(&t, NULL, &answer, &err);
        slwi_tool_answer_free(&answer);
        const int failed = heap.failed != 0;
        heap.fail_at = 0;
        slt_heap_check_empty(&heap);
        if (!failed) {
            ck_assert_int_eq(rc, SLW_OK);
            break;
        }
        ck_assert_msg(rc == SLW_E_NO_MEMORY, "allocation %u: %s %s", (unsigned)n, slw_code_name(rc), err.message);
        refused++;
    }
    ck_assert_uint_ge(refused, 30);
}
END_TEST

/* A directory that cannot be read to its end may hold a libdevice that is then not in the key. */
START_TEST(directories_that_cannot_be_read) {
    const slwi_nvcc_toolchain t = toolchain_of();
    int refused = 0;
    for (uint64_t n = 1; n < 40; n++) {
        slwi_tool_answer answer;
        slwi_error_reset(&err);
        slwi_tool_answer_init(&answer, &heap.allocator);
        slt_fault_os_install(NULL);
        slt_fault_os_add((slt_fault){.call = SLT_READDIR, .nth = n, .error_number = EIO});
        const slw_code rc = slwi_nvcc_discover(&t, NULL, &answer, &err);
        slt_fault_os_remove();
        ck_assert_msg(rc == SLW_OK || (rc == SLW_E_STORAGE && strcmp(err.raw_name, "EIO") == 0), "%s %s",
                      slw_code_name(rc), err.message);
        if (rc == SLW_OK) ck_assert_uint_ge(answer.facts[SLWI_TOOL_FACT_FILE].count, 2);
        refused += rc != SLW_OK;
        slwi_tool_answer_free(&answer);
        if (rc == SLW_OK && n > 12) break;
    }
    ck_assert_int_ge(refused, 2);
}
END_TEST

static slw_code whole_job(slwi_nvcc_toolchain *t, const char *text, const char *extension, const char *directory) {
    static const char *const flags[] = {"-Xptxas", "-O2", "-DX=1", "-Xcudafe", "--diag_suppress=1"};
    static const char *const roots[] = {"/nonexistent-root"};
    slw_source source = SLW_SOURCE_INIT;
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    slw_compile_request request;
    slw_stage_context context;
    slw_identity *identity = NULL;
    void *job = NULL;
    slw_record *record = NULL;
    slw_identity_options identity_options = SLW_IDENTITY_OPTIONS_INIT;
    slt_ok(slw_identity_create(&identity_options, &identity, NULL), &err);
    const int is_ptx = strcmp(extension, "ptx") == 0;
    source.include_roots = roots;
    source.include_root_count = 1;
    options.target = "sm_90";
    options.flags = flags;
    options.flag_count = is_ptx ? 2 : 5;
    memset(&request, 0, sizeof(request));
    request.size = sizeof(request);
    request.allocator = heap.allocator;
    request.source = &source;
    request.options = &options;
    request.source_text = (slw_bytes){text, strlen(text)};
    request.source_name = "k.cu";
    request.extension = extension;
    request.identity = identity;
    slw_sha256(request.source_text, &request.source_digest);
    memset(&context, 0, sizeof(context));
    context.size = sizeof(context);
    context.directory = directory;
    context.deadline_ns = UINT64_MAX;
    context.source_text = request.source_text;
    slw_code rc = slwi_cuda_backend.job_open(t, &request, &job, &err);
    if (rc == SLW_OK) rc = slwi_cuda_backend.job_source_record(job, &record, &err);
    slw_record_release(&record);
    if (rc == SLW_OK) rc = slwi_cuda_backend.job_option_record(job, &record, &err);
    slw_record_release(&record);
    for (size_t i = is_ptx ? 1 : 0; rc == SLW_OK && i < 2; i++) rc = slwi_cuda_backend.job_run(job, i, &context, &err);
    if (rc == SLW_OK) rc = slwi_cuda_backend.job_confirm(job, &context, &err);
    slwi_cuda_backend.job_close(job);
    slw_identity_release(&identity);
    return rc;
}

START_TEST(a_job_without_memory) {
    slwi_nvcc_toolchain t = toolchain_of();
    const char *directory = slt_scratch();
    char *ptx = cuda_fixture_text("ptx/k1_90.ptx");
    slwi_tool_answer_init(&t.answer, &t.allocator);
    slt_ok(slwi_nvcc_discover(&t, NULL, &t.answer, &err), &err);
    const uint64_t before = heap.live_blocks;
    const char *text = _i == 0 ? fake_source : ptx;
    uint64_t n = 1;
    for (;; n++) {
        slt_shell("rm -rf '%s'/*", directory);
        slt_heap_reset(&heap);
        slwi_error_reset(&err);
        heap.fail_at = n;
        const slw_code rc = whole_job(&t, text, _i == 0 ? "cu" : "ptx", directory);
        const int failed = heap.failed != 0;
        heap.fail_at = 0;
        ck_assert_uint_eq(heap.live_blocks, before);
        slt_shell("test ! -e '%s/.slipway-work'", directory);
        if (!failed) {
            ck_assert_msg(rc == SLW_OK, "%s %s", slw_code_name(rc), err.message);
            break;
        }
        ck_assert_msg(rc == SLW_E_NO_MEMORY, "allocation %u: %s %s", (unsigned)n, slw_code_name(rc), err.message);
    }
    ck_assert_uint_ge(n, 20);
    slwi_tool_answer_free(&t.answer);
    free(ptx);
}
END_TEST

int main(void) {
    Suite *s = suite_create("backend/nvcc_faults");
    TCase *c = tcase_create("faults");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, setup, teardown);
    suite_add_tcase(s, c);
    if (!fake_prepare("nvcc_faults")) return slt_run(s, NULL);
    tcase_add_test(c, asking_without_memory);
    tcase_add_test(c, directories_that_cannot_be_read);
    tcase_add_loop_test(c, a_job_without_memory, 0, 2);
    const int status = slt_run(s, NULL);
    (void)unlink(fake_program);
    return status;
}
