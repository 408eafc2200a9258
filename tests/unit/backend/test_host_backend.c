/* The stages, end to end: what they leave, what they refuse, what they say. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "host_fixture.h"
#include "host_kernel_text.h"
#include "process.h"

static int names_in(const char *directory, char *out, size_t size) {
    DIR *dir = opendir(directory);
    int count = 0;
    out[0] = '\0';
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        count++;
        ck_assert(strlen(out) + strlen(entry->d_name) + 2 < size);
        strcat(strcat(out, entry->d_name), " ");
    }
    closedir(dir);
    return count;
}

START_TEST(stages_leave_two_files) {
    slw_error err = SLW_ERROR_INIT;
    fixture_toolchain t;
    fixture_request r = {0};
    const char *compiler = _i == 0 ? "gcc" : "clang-16";
    slw_code rc = fixture_open(&t, compiler, "/usr/local/bin:/usr/bin", NULL, &err);
    if (rc == SLW_E_TOOL_MISSING) {
        slt_skip("stages_leave_two_files", compiler);
        fixture_close(&t);
        return;
    }
    slt_ok(rc, &err);
    slt_ok(slw_identity_usable(t.identity, &err), &err);
    const char *directory = fixture_compile(&t, &r);
    char names[1024];
    ck_assert_msg(names_in(directory, names, sizeof(names)) == 2, "%s", names);
    struct stat info;
    ck_assert_int_eq(stat(slt_path(directory, "kernel.so", NULL), &info), 0);
    ck_assert_uint_eq(info.st_mode & 0777, 0755);
    ck_assert_int_eq(stat(slt_path(directory, "kernel.o", NULL), &info), 0);
    ck_assert_uint_eq(info.st_mode & 0777, 0644);

    size_t size;
    char *bytes = slt_read_file(slt_path(directory, "kernel.so", NULL), &size);
    slw_bytes binary = {bytes, size};
    ck_assert_ptr_eq(slwi_backend_recognise(binary), &slwi_host_backend);
    slw_contract *contract = NULL;
    slt_ok(slwi_host_backend.read_contract(NULL, binary, "kernel.so", NULL, &contract, &err), &err);
    ck_assert_uint_eq(contract->kernel_count, 2);
    ck_assert_ptr_null(slw_contract_find(contract, NULL));
    const slw_kernel_contract *kernel = slw_contract_find(contract, "scale");
    ck_assert_ptr_nonnull(kernel);
    ck_assert_uint_eq(kernel->param_count, 3);
    ck_assert_uint_eq(kernel->static_shared_bytes, 48);
    ck_assert_uint_eq(kernel->param_bytes, 20);
    ck_assert_str_eq(kernel->params[1].name, "count");
    ck_assert_int_eq(kernel->params[0].kind, SLW_PARAM_POINTER);
    ck_assert_int_eq(kernel->params[1].kind, SLW_PARAM_UNSIGNED);
    ck_assert_int_eq(kernel->params[2].kind, SLW_PARAM_FLOAT);
    ck_assert_uint_eq(kernel->params[2].alignment_bytes, 8);
    ck_assert_uint_eq(slw_contract_find(contract, "nothing")->param_count, 0);
    slwi_host_backend.release_contract(NULL, &contract);
    free(bytes);
    fixture_close(&t);
}
END_TEST

/* Debug information included: neither the build directory nor the time is in the output. */
START_TEST(two_builds_are_equal) {
    slw_error err = SLW_ERROR_INIT;
    fixture_toolchain t;
    const char *compiler = _i == 0 ? "gcc" : "clang-16";
    static const char text[] = "#include <slipway/host_kernel.h>\n#include <math.h>\n"
                               "const char *where = __FILE__ __DATE__ __TIME__ __TIMESTAMP__;\n"
                               "SLW_HOST_KERNEL(k);\nvoid k(const slw_host_block *b, void *const *a) {\n"
                               "    *(double *)b->shared = sin((double)(size_t)a);\n}\n";
    fixture_request r = {.text = text, .name = "some/where/k.c", .flags = {"-g3", "-O1"}};
    slw_code rc = fixture_open(&t, compiler, "/usr/bin", NULL, &err);
    if (rc == SLW_E_TOOL_MISSING) {
        slt_skip("two_builds_are_equal", compiler);
        fixture_close(&t);
        return;
    }
    slt_ok(rc, &err);
    const char *one = fixture_compile(&t, &r);
    sleep(1);
    const char *two = fixture_compile(&t, &r);
    ck_assert(fixture_same(one, two, "kernel.o"));
    ck_assert(fixture_same(one, two, "kernel.so"));
    slt_shell("grep -q some/where/k.c %s/kernel.so", one);
    slt_shell("! grep -q slipway-work %s/kernel.so", one);
    slt_shell("! grep -q \"$(basename %s)\" %s/kernel.so", one, one);
    fixture_close(&t);
}
END_TEST

START_TEST(errors_name_the_place) {
    slw_error err = SLW_ERROR_INIT;
    static char words[8192];
    fixture_toolchain t;
    fixture_request r = {.text = "#include <slipway/host_kernel.h>\n\nint f(void) { return x; }\n",
                         .name = "dir/broken.c"};
    err.diagnostics = words;
    err.diagnostics_capacity = sizeof(words);
    slt_ok(fixture_open(&t, NULL, NULL, NULL, &err), &err);
    void *job = NULL;
    slt_ok(fixture_job(&t, &r, &job, &err), &err);
    const char *directory = slt_scratch();
    ck_assert_int_eq(fixture_run(job, &r, directory, &err), SLW_E_COMPILE_FAILED);
    ck_assert_str_eq(err.path, "dir/broken.c");
    ck_assert_uint_eq(err.line, 3);
    ck_assert_uint_eq(err.column, 22);
    ck_assert_ptr_nonnull(strstr(words, "dir/broken.c:3:22: error: "));
    ck_assert_ptr_null(strstr(words, "source.c"));
    ck_assert_int_eq(err.raw_code, 1);
    char names[1024];
    ck_assert_msg(names_in(directory, names, sizeof(names)) == 0, "left: %s", names);
    slwi_host_backend.job_close(job);
    fixture_close(&t);
}
END_TEST

START_TEST(undefined_symbols_fail_the_link) {
    slw_error err = SLW_ERROR_INIT;
    static char words[8192];
    fixture_toolchain t;
    fixture_request r = {
        .text = "#include <slipway/host_kernel.h>\nint missing(void);\nint f(void) { return missing(); }\n"};
    err.diagnostics = words;
    err.diagnostics_capacity = sizeof(words);
    slt_ok(fixture_open(&t, NULL, NULL, NULL, &err), &err);
    void *job = NULL;
    slt_ok(fixture_job(&t, &r, &job, &err), &err);
    ck_assert_int_eq(fixture_run(job, &r, slt_scratch(), &err), SLW_E_COMPILE_FAILED);
    ck_assert_ptr_nonnull(strstr(err.message, "missing"));
    slwi_host_backend.job_close(job);
    fixture_close(&t);
}
END_TEST

START_TEST(a_deadline_and_a_cancel_end_it) {
    slw_error err = SLW_ERROR_INIT;
    fixture_toolchain t;
    slt_ok(fixture_open(&t, NULL, NULL, NULL, &err), &err);
    /* The preprocessor is kept busy for minutes. */
    static const char text[] =
        "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(A(x))))\n#define C(x) B(B(x))\nC(int a;)\n";
    fixture_request r = {.text = text, .deadline_ns = slwi_now_ns() + 300000000u};
    void *job = NULL;
    slt_ok(fixture_job(&t, &r, &job, &err), &err);
    const char *directory = slt_scratch();
    ck_assert_int_eq(fixture_run(job, &r, directory, &err), SLW_E_TIMEOUT);
    char names[1024];
    ck_assert_int_eq(names_in(directory, names, sizeof(names)), 0);
    slw_cancel *cancel = NULL;
    slt_ok(slw_cancel_create(NULL, &cancel, &err), &err);
    slw_cancel_request(cancel);
    r.cancel = cancel;
    r.deadline_ns = 0;
    slw_error again = SLW_ERROR_INIT;
    ck_assert_int_eq(fixture_run(job, &r, directory, &again), SLW_E_CANCELLED);
    slwi_host_backend.job_close(job);
    slw_cancel_release(&cancel);
    fixture_close(&t);
}
END_TEST

START_TEST(an_override_takes_the_place_of_a_stage) {
    slw_error err = SLW_ERROR_INIT;
    fixture_toolchain t;
    fixture_request r = {0};
    slt_ok(fixture_open(&t, NULL, NULL, NULL, &err), &err);
    const char *first = fixture_compile(&t, &r);
    fixture_request other = {
        .text = "not even C", .override_stage = "object", .override_path = slt_path(first, "kernel.o", NULL)};
    const char *second = fixture_compile(&t, &other);
    ck_assert(fixture_same(first, second, "kernel.so"));

    void *plain = NULL;
    void *overridden = NULL;
    char a[SLW_DIGEST_TEXT_SIZE];
    char b[SLW_DIGEST_TEXT_SIZE];
    slt_ok(fixture_job(&t, &r, &plain, &err), &err);
    slt_ok(fixture_job(&t, &other, &overridden, &err), &err);
    fixture_digest(plain, slwi_host_backend.job_option_record, a);
    fixture_digest(overridden, slwi_host_backend.job_option_record, b);
    ck_assert_str_ne(a, b);
    slw_stage_context context = fixture_context(&other, second);
    slt_ok(slwi_host_backend.job_confirm(overridden, &context, &err), &err);
    slwi_host_backend.job_close(plain);
    slwi_host_backend.job_close(overridden);

    other.override_stage = "ptx";
    void *job = NULL;
    ck_assert_int_eq(fixture_job(&t, &other, &job, &err), SLW_E_USAGE);
    ck_assert_str_eq(err.reason, "BAD_STAGE");
    slw_error again = SLW_ERROR_INIT;
    other.override_stage = "object";
    other.override_path = "/nonexistent/kernel.o";
    ck_assert_int_eq(fixture_job(&t, &other, &job, &again), SLW_E_STORAGE);
    ck_assert_ptr_null(job);
    fixture_close(&t);
}
END_TEST

START_TEST(the_shipped_header_is_the_header) {
    size_t size;
    char *header = slt_read_file(slt_path(slt_fixture(".."), "../include/slipway/host_kernel.h", NULL), &size);
    size_t at = 0;
    for (size_t i = 0; slwi_host_kernel_lines[i] != NULL; i++) {
        size_t length = strlen(slwi_host_kernel_lines[i]);
        ck_assert_msg(at + length <= size && memcmp(header + at, slwi_host_kernel_lines[i], length) == 0,
                      "line %zu differs: run tools/embed.sh", i + 1);
        at += length;
    }
    ck_assert_uint_eq(at, size);
    free(header);
}
END_TEST

START_TEST(options_and_targets) {
    slw_error err = SLW_ERROR_INIT;
    fixture_toolchain t;
    void *job = NULL;
    slt_ok(fixture_open(&t, "gcc", "/usr/bin", NULL, &err), &err);
    fixture_request r = {.flags = {"-fplugin=x.so", "-O3"}};
    slt_ok(fixture_job(&t, &r, &job, &err), &err);
    ck_assert_str_eq(slwi_host_backend.job_private_reason(job), "OPTION -fplugin=x.so");
    slwi_host_backend.job_close(job);

    fixture_request incbin = {.text = "__asm__(\".incbin \\\"/etc/passwd\\\"\");\n"};
    slt_ok(fixture_job(&t, &incbin, &job, &err), &err);
    ck_assert_str_eq(slwi_host_backend.job_private_reason(job), "SOURCE .incbin");
    slwi_host_backend.job_close(job);

    /* native is spelled out, and the result compiles */
    fixture_request native = {.flags = {"-march=native"}};
    fixture_request plain = {.flags = {"-O2"}};
    char a[SLW_DIGEST_TEXT_SIZE];
    char b[SLW_DIGEST_TEXT_SIZE];
    slt_ok(fixture_job(&t, &native, &job, &err), &err);
    ck_assert_ptr_null(slwi_host_backend.job_private_reason(job));
    fixture_digest(job, slwi_host_backend.job_option_record, a);
    slw_record *record = NULL;
    slw_text text = SLW_TEXT_INIT;
    slt_ok(slwi_host_backend.job_option_record(job, &record, &err), &err);
    slt_ok(slw_record_encode(record, NULL, &text, &err), &err);
    ck_assert_msg(strstr(text.data, "6e6174697665") == NULL, "the text \"native\" is in the key: %s", text.data);
    slw_text_release(&text);
    slw_record_release(&record);
    slt_ok(fixture_run(job, &native, slt_scratch(), &err), &err);
    slwi_host_backend.job_close(job);
    slt_ok(fixture_job(&t, &plain, &job, &err), &err);
    fixture_digest(job, slwi_host_backend.job_option_record, b);
    ck_assert_str_ne(a, b);
    slwi_host_backend.job_close(job);
    fixture_close(&t);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/host_backend");
    TCase *tcase = tcase_create("stages");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, stages_leave_two_files, 0, 2);
    tcase_add_loop_test(tcase, two_builds_are_equal, 0, 2);
    tcase_add_test(tcase, errors_name_the_place);
    tcase_add_test(tcase, undefined_symbols_fail_the_link);
    tcase_add_test(tcase, a_deadline_and_a_cancel_end_it);
    tcase_add_test(tcase, an_override_takes_the_place_of_a_stage);
    tcase_add_test(tcase, the_shipped_header_is_the_header);
    tcase_add_test(tcase, options_and_targets);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
