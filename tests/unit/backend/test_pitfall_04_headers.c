/* Pitfall 4: a dependency list is not enough. Declared include roots are trees in the key; what the compiler read
 * must lie inside them or inside its own. */
#include <sys/stat.h>
#include <unistd.h>

#include "host_fixture.h"
#include "host_toolchain.h"

static fixture_toolchain toolchain;

static void open_toolchain(void) {
    slw_error err = SLW_ERROR_INIT;
    slt_ok(fixture_open(&toolchain, NULL, NULL, NULL, &err), &err);
}

static void close_toolchain(void) {
    fixture_close(&toolchain);
}

static void source_digest(const fixture_request *r, char out[SLW_DIGEST_TEXT_SIZE]) {
    slw_error err = SLW_ERROR_INIT;
    void *job = NULL;
    slt_ok(fixture_job(&toolchain, r, &job, &err), &err);
    fixture_digest(job, slwi_host_backend.job_source_record, out);
    slwi_host_backend.job_close(job);
}

START_TEST(pitfall_04_a_header_that_appears_changes_the_source) {
    char absent_root[SLW_DIGEST_TEXT_SIZE];
    char empty_root[SLW_DIGEST_TEXT_SIZE];
    char with_header[SLW_DIGEST_TEXT_SIZE];
    char changed[SLW_DIGEST_TEXT_SIZE];
    const char *root = slt_path(slt_scratch(), "include", NULL);
    fixture_request r = {
        .text = "#if __has_include(\"late.h\")\n#include \"late.h\"\n#else\nint value = 1;\n#endif\n",
        .roots = {root},
    };
    source_digest(&r, absent_root);
    ck_assert_int_eq(mkdir(root, 0755), 0);
    source_digest(&r, empty_root);
    const char *before = fixture_compile(&toolchain, &r);
    slt_write_file(slt_path(root, "late.h", NULL), "int value = 2;\n", 15, 0644);
    source_digest(&r, with_header);
    const char *after = fixture_compile(&toolchain, &r);
    slt_write_file(slt_path(root, "late.h", NULL), "int value = 3;\n", 15, 0644);
    source_digest(&r, changed);
    ck_assert_str_ne(absent_root, empty_root);
    ck_assert_str_ne(empty_root, with_header);
    ck_assert_str_ne(with_header, changed);
    ck_assert(!fixture_same(before, after, "kernel.o")); /* it did change the output */
}
END_TEST

/* A header in a root searched earlier hides the one that was used. */
START_TEST(pitfall_04_order_and_text_and_name_are_in_the_source) {
    char digests[6][SLW_DIGEST_TEXT_SIZE];
    const char *a = slt_scratch();
    const char *b = slt_scratch();
    fixture_request r = {.text = "int x;\n", .name = "a.c", .roots = {a, b}};
    source_digest(&r, digests[0]);
    source_digest(&r, digests[1]);
    ck_assert_str_eq(digests[0], digests[1]);
    r.roots[0] = b;
    r.roots[1] = a;
    source_digest(&r, digests[1]);
    r.roots[1] = NULL;
    source_digest(&r, digests[2]);
    r.text = "int y;\n";
    source_digest(&r, digests[3]);
    r.name = "b.c";
    source_digest(&r, digests[4]);
    slt_write_file(slt_path(b, "h.h", NULL), "x", 1, 0644);
    source_digest(&r, digests[5]);
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < i; j++) ck_assert_str_ne(digests[i], digests[j]);
    }
}
END_TEST

static slw_code confirm(const fixture_request *r, slw_error *err) {
    void *job = NULL;
    const char *directory = slt_scratch();
    slt_ok(fixture_job(&toolchain, r, &job, err), err);
    slt_ok(fixture_run(job, r, directory, err), err);
    slw_stage_context context = fixture_context(r, directory);
    slw_code rc = slwi_host_backend.job_confirm(job, &context, err);
    slwi_host_backend.job_close(job);
    return rc;
}

START_TEST(pitfall_04_what_was_read_lies_in_the_key) {
    const char *root = slt_scratch();
    const char *linked = slt_path(slt_scratch(), "link", NULL);
    ck_assert_int_eq(symlink(root, linked), 0);
    slt_shell("mkdir '%s/sub dir'", root);
    slt_write_file(slt_path(root, "sub dir/mine $1#.h", NULL), "#define N 3\n", 12, 0644);
    slw_error err = SLW_ERROR_INIT;
    static const char text[] =
        "#include <slipway/host_kernel.h>\n#include <math.h>\n#include \"sub dir/mine $1#.h\"\nint x[N];\n";
    fixture_request r = {.text = text, .roots = {linked}};
    slt_ok(confirm(&r, &err), &err);
    fixture_request kernel = {0};
    slt_ok(confirm(&kernel, &err), &err);
}
END_TEST

START_TEST(pitfall_04_a_header_outside_is_named) {
    const char *root = slt_scratch();
    const char *outside = slt_path(slt_scratch(), "secret.h", NULL);
    slt_write_file(outside, "#define N 3\n", 12, 0644);
    char text[4096];
    (void)snprintf(text, sizeof(text), "#include \"%s\"\nint x[N];\n", outside);
    slw_error err = SLW_ERROR_INIT;
    fixture_request r = {.text = text, .roots = {root}};
    ck_assert_int_ne(confirm(&r, &err), SLW_OK);
    ck_assert_str_eq(err.reason, "HEADER_OUTSIDE");
    ck_assert_str_eq(err.path, outside);

    /* by a step upwards, out of a root and out of the build directory */
    const char *up = slt_path(root, "up.h", NULL);
    char line[4200];
    char real[4096];
    ck_assert_uint_lt(strlen(outside), sizeof(real));
    memcpy(real, outside, strlen(outside) + 1);
    *strrchr(real, '/') = '\0';
    (void)snprintf(line, sizeof(line), "#include \"../%s/secret.h\"\n", strrchr(real, '/') + 1);
    slt_write_file(up, line, strlen(line), 0644);
    slw_error again = SLW_ERROR_INIT;
    fixture_request through = {.text = "#include <up.h>\nint x[N];\n", .roots = {root}};
    ck_assert_int_ne(confirm(&through, &again), SLW_OK);
    ck_assert_str_eq(again.reason, "HEADER_OUTSIDE");
}
END_TEST

/* Trees leave some names out, so a header there is outside although its directory is a root. */
START_TEST(pitfall_04_a_header_the_tree_leaves_out_is_outside) {
    const char *root = slt_scratch();
    slt_shell("mkdir %s/.git", root);
    slt_write_file(slt_path(root, ".git", "h.h", NULL), "#define N 3\n", 12, 0644);
    slw_error err = SLW_ERROR_INIT;
    fixture_request r = {.text = "#include \".git/h.h\"\nint x[N];\n", .roots = {root}};
    ck_assert_int_ne(confirm(&r, &err), SLW_OK);
    ck_assert_str_eq(err.reason, "HEADER_OUTSIDE");
}
END_TEST

/* The text in the request is compiled, whatever lies where it came from; its own directory is no include root. */
START_TEST(pitfall_04_the_directory_of_the_source_is_not_searched) {
    slw_error err = SLW_ERROR_INIT;
    const char *directory = slt_scratch();
    slt_write_file(slt_path(directory, "beside.h", NULL), "\n", 1, 0644);
    fixture_request r = {.text = "#include \"beside.h\"\n", .name = slt_path(directory, "k.c", NULL)};
    void *job = NULL;
    slt_ok(fixture_job(&toolchain, &r, &job, &err), &err);
    ck_assert_int_eq(fixture_run(job, &r, slt_scratch(), &err), SLW_E_COMPILE_FAILED);
    slwi_host_backend.job_close(job);
    r.roots[0] = directory;
    slw_error again = SLW_ERROR_INIT;
    slt_ok(confirm(&r, &again), &again);
}
END_TEST

/* Whether an absolute path exists leaves no trace: such a source is compiled privately. */
START_TEST(pitfall_04_absolute_questions_are_private) {
    slw_error err = SLW_ERROR_INIT;
    void *job = NULL;
    fixture_request r = {.text = "#if __has_include( </etc/hosts>)\nint x;\n#endif\n"};
    slt_ok(fixture_job(&toolchain, &r, &job, &err), &err);
    ck_assert_ptr_nonnull(slwi_host_backend.job_private_reason(job));
    slwi_host_backend.job_close(job);
    fixture_request fine = {.text = "#if __has_include(<math.h>) && defined(__has_include)\nint x;\n#endif\n"};
    slt_ok(fixture_job(&toolchain, &fine, &job, &err), &err);
    ck_assert_ptr_null(slwi_host_backend.job_private_reason(job));
    slwi_host_backend.job_close(job);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/pitfall_04_headers");
    TCase *tcase = tcase_create("headers");
    tcase_set_timeout(tcase, 240);
    tcase_add_unchecked_fixture(tcase, open_toolchain, close_toolchain);
    tcase_add_test(tcase, pitfall_04_a_header_that_appears_changes_the_source);
    tcase_add_test(tcase, pitfall_04_order_and_text_and_name_are_in_the_source);
    tcase_add_test(tcase, pitfall_04_what_was_read_lies_in_the_key);
    tcase_add_test(tcase, pitfall_04_a_header_outside_is_named);
    tcase_add_test(tcase, pitfall_04_a_header_the_tree_leaves_out_is_outside);
    tcase_add_test(tcase, pitfall_04_the_directory_of_the_source_is_not_searched);
    tcase_add_test(tcase, pitfall_04_absolute_questions_are_private);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
