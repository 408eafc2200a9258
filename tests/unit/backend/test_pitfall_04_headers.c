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

/* The header is in the key; the file that it has the assembler read, or asks about, or its own time, is not. */
START_TEST(pitfall_04_a_header_that_reaches_outside_is_named) {
    static const struct {
        const char *text; /* of the header; %s: a file outside */
        const char *why;
    } cases[] = {
        {"__asm__(\".section .note.mine\\n.incbin \\\"%s\\\"\\n.previous\");\n", ".incbin"},
        {"__asm__(\".section .note.mine\\n.INCBIN \\\"%s\\\"\\n.previous\");\n", ".incbin"},
        {"__asm__(\".Include \\\"%s\\\"\");\n", ".include"},
        {"#if __has_include(\"%s\")\n#define N 3\n#endif\n", "__has_include"},
        {"#define P \"%s\"\n#if __has_include(P)\n#define N 3\n#endif\n", "__has_include"},
        {"#if __has_include(\"../opt.h\") /* %s */\n#define N 3\n#endif\n", "__has_include"},
        {"#if __has_include(\".git/opt.h\") /* %s */\n#define N 3\n#endif\n", "__has_include"},
        {"static const char when[] = __TIMESTAMP__; /* %s */\n", "__TIMESTAMP__"},
    };
    const char *outside = slt_path(slt_scratch(), "data", NULL);
    slt_write_file(outside, "\n", 1, 0644);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *root = slt_scratch();
        const char *header = slt_path(root, "reaches.h", NULL);
        char text[4096];
        const int size = snprintf(text, sizeof(text), cases[i].text, outside);
        ck_assert(size > 0 && (size_t)size < sizeof(text));
        slt_write_file(header, text, (size_t)size, 0644);
        fixture_request r = {.text = "#include <reaches.h>\nint x;\n", .roots = {root}};
        slw_error err = SLW_ERROR_INIT;
        ck_assert_msg(confirm(&r, &err) == SLW_E_IDENTITY_UNUSABLE, "%s", text);
        ck_assert_str_eq(err.reason, "HEADER_REACHES_OUT");
        ck_assert_str_eq(err.path, header);
        ck_assert_msg(strstr(err.message, cases[i].why) != NULL, "%s: %s", text, err.message);
        ck_assert_msg(strstr(err.message, "reaches.h") != NULL, "%s", err.message);
        /* One that is in the tree and was not read does not matter. */
        fixture_request other = {.text = "int x;\n", .roots = {root}};
        slw_error none = SLW_ERROR_INIT;
        slt_ok(confirm(&other, &none), &none);
    }
}
END_TEST

START_TEST(pitfall_04_ordinary_headers_of_a_root_stay_in_the_key) {
    static const char text[] = "#pragma once\n#include <stdint.h>\n#include <stdlib.h>\n#include_next <limits.h>\n"
                               "#if defined(__has_include) && __has_include(\"late.h\")\n#include \"late.h\"\n#endif\n"
                               "static inline const char *when(void) { return __DATE__ __TIME__; }\n";
    const char *root = slt_scratch();
    slt_write_file(slt_path(root, "limits.h", NULL), text, sizeof(text) - 1, 0644);
    slt_write_file(slt_path(root, "late.h", NULL), "", 0, 0644);
    fixture_request r = {.text = "#include <limits.h>\n#include <slipway/host_kernel.h>\nint x = INT_MAX;\n",
                         .roots = {root}};
    slw_error err = SLW_ERROR_INIT;
    slt_ok(confirm(&r, &err), &err);
}
END_TEST

START_TEST(pitfall_04_a_header_that_is_gone_is_not_trusted) {
    const char *root = slt_scratch();
    const char *header = slt_path(root, "gone.h", NULL);
    const char *directory = slt_scratch();
    slt_write_file(header, "\n", 1, 0644);
    fixture_request r = {.text = "#include <gone.h>\nint x;\n", .roots = {root}};
    slw_error err = SLW_ERROR_INIT;
    void *job = NULL;
    slt_ok(fixture_job(&toolchain, &r, &job, &err), &err);
    slt_ok(fixture_run(job, &r, directory, &err), &err);
    slw_stage_context context = fixture_context(&r, directory);
    ck_assert_int_eq(unlink(header), 0);
    ck_assert_int_eq(slwi_host_backend.job_confirm(job, &context, &err), SLW_E_IDENTITY_UNUSABLE);
    ck_assert_str_eq(err.reason, "HEADER_UNREAD");
    ck_assert_str_eq(err.path, header);
    slwi_host_backend.job_close(job);
}
END_TEST

static void private_for(const fixture_request *r, const char *why) {
    slw_error err = SLW_ERROR_INIT;
    void *job = NULL;
    slt_ok(fixture_job(&toolchain, r, &job, &err), &err);
    const char *reason = slwi_host_backend.job_private_reason(job);
    if (why == NULL) {
        ck_assert_msg(reason == NULL, "%s", reason);
    } else {
        ck_assert_msg(reason != NULL && strstr(reason, why) != NULL, "%s: %s", why, reason != NULL ? reason : "none");
    }
    slwi_host_backend.job_close(job);
}

/* A macro's value brings the words in as well as the source does. */
START_TEST(pitfall_04_options_that_reach_outside_are_private) {
    static const struct {
        const char *flag;
        const char *why;
    } cases[] = {
        {"-DI=.incbin", "OPTION -DI=.incbin: .incbin"},
        {"-DI=\".include \\\"f\\\"\"", ": .include"},
        {"-DHAS=__has_include", "__has_include"},
        {"-DT=__TIMESTAMP__", "OPTION -DT=__TIMESTAMP__: __TIMESTAMP__"},
        {"-DN=3", NULL},
        {"-DH=<x.h>", NULL},
        {"-DHAVE=defined(__has_include)", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        fixture_request joined = {.text = "int x;\n", .flags = {cases[i].flag}};
        private_for(&joined, cases[i].why);
    }
    fixture_request separate = {.text = "int x;\n", .flags = {"-D", "I=.incbin"}};
    private_for(&separate, ".incbin");
}
END_TEST

START_TEST(pitfall_04_sources_that_ask_beyond_the_roots_are_private) {
    fixture_request climbs = {.text = "#if __has_include(\"../opt.h\")\n#endif\n"};
    private_for(&climbs, "__has_include");
    fixture_request macro = {.text = "#define P \"/tmp/x.h\"\n#if __has_include(P)\n#endif\n"};
    private_for(&macro, "__has_include");
    fixture_request left_out = {.text = "#if __has_include(\"o.pyc\")\n#endif\n"};
    private_for(&left_out, "__has_include");
    fixture_request assembler = {.text = "__asm__(\".include \\\"/tmp/b.s\\\"\");\n"};
    private_for(&assembler, ".include");
    fixture_request upper = {.text = "__asm__(\".INCBIN \\\"/tmp/b\\\"\");\n"};
    private_for(&upper, ".incbin");
    fixture_request own_time = {.text = "#include \"x.h\"\nconst char *t = __TIMESTAMP__;\n"};
    private_for(&own_time, NULL);
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
    tcase_add_test(tcase, pitfall_04_a_header_that_reaches_outside_is_named);
    tcase_add_test(tcase, pitfall_04_ordinary_headers_of_a_root_stay_in_the_key);
    tcase_add_test(tcase, pitfall_04_a_header_that_is_gone_is_not_trusted);
    tcase_add_test(tcase, pitfall_04_options_that_reach_outside_are_private);
    tcase_add_test(tcase, pitfall_04_sources_that_ask_beyond_the_roots_are_private);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
