/* Pitfall 5: children inherit nothing, and options are an allow-list. Every variable here changes what gcc or clang
 * does when it is inherited; the bytes must not move. */
#include <sys/stat.h>
#include <unistd.h>

#include "host_fixture.h"
#include "tool_run.h"
#include "host_options.h"
#include "host_toolchain.h"

static const struct {
    const char *name;
    const char *value; /* %s: a directory with traps in it */
} hostile[] = {
    {"LD_RUN_PATH", "%s"},
    {"SOURCE_DATE_EPOCH", "1234567890"},
    {"CPATH", "%s"},
    {"C_INCLUDE_PATH", "%s"},
    {"GCC_EXEC_PREFIX", "%s/"},
    {"COMPILER_PATH", "%s"},
    {"LIBRARY_PATH", "%s"},
    {"CCC_OVERRIDE_OPTIONS", "+-DTRAP"},
    {"DEPENDENCIES_OUTPUT", "%s/deps"},
    {"SUNPRO_DEPENDENCIES", "%s/sundeps"},
    {"GCC_COMPARE_DEBUG", "-gtoggle"},
    {"COLLECT_NO_DEMANGLE", "1"},
    {"LC_ALL", "tr_TR.UTF-8"},
    {"LANGUAGE", "de"},
    {"TMPDIR", "%s"},
    {"PATH", "%s"},
    {"PWD", "/somewhere/else"},
};

static const char text[] =
    "#include <slipway/host_kernel.h>\n#include <stddef.h>\n#include <math.h>\n"
    "const char *when = __DATE__ __TIME__;\n"
    "#ifdef TRAP\n#error trapped\n#endif\n"
    "SLW_HOST_KERNEL(k);\n"
    "void k(const slw_host_block *b, void *const *a) { *(double *)b->shared = sin((double)(size_t)a); }\n";

static const char *traps(void) {
    const char *directory = slt_scratch();
    static const char program[] = "#!/bin/sh\necho ran > \"$(dirname \"$0\")/ran\"\nexit 1\n";
    static const char *const programs[] = {
        "as", "ld", "cc1", "collect2", "collect-ld", "real-ld", "x86_64-linux-gnu-as"};
    for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
        slt_write_file(slt_path(directory, programs[i], NULL), program, sizeof(program) - 1, 0755);
    }
    slt_write_file(slt_path(directory, "math.h", NULL), "#error trapped\n", 15, 0644);
    slt_write_file(slt_path(directory, "libm.so", NULL), "INPUT(/nonexistent)\n", 20, 0644);
    slt_write_file(slt_path(directory, "libc.so", NULL), "INPUT(/nonexistent)\n", 20, 0644);
    return directory;
}

START_TEST(pitfall_05_nothing_is_inherited) {
    slw_error err = SLW_ERROR_INIT;
    const char *compiler = _i == 0 ? "gcc" : "clang-16";
    fixture_toolchain quiet;
    fixture_toolchain loud;
    fixture_request r = {.text = text, .flags = {"-g"}};
    slw_code rc = fixture_open(&quiet, compiler, "/usr/bin", NULL, &err);
    if (rc == SLW_E_TOOL_MISSING) {
        slt_skip("pitfall_05_nothing_is_inherited", compiler);
        fixture_close(&quiet);
        return;
    }
    slt_ok(rc, &err);
    const char *before = fixture_compile(&quiet, &r);
    const char *directory = traps();
    for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
        char value[4096];
        (void)snprintf(value, sizeof(value), hostile[i].value, directory);
        ck_assert_int_eq(setenv(hostile[i].name, value, 1), 0);
    }
    /* Discovery under the same variables gives the same toolchain, and the same bytes. */
    slt_ok(fixture_open(&loud, compiler, "/usr/bin", NULL, &err), &err);
    slt_ok(slw_identity_usable(loud.identity, &err), &err);
    const char *name;
    const slw_digest *one;
    const slw_digest *two;
    for (size_t i = 0; slw_identity_at(quiet.identity, i, &name, &one); i++) {
        ck_assert(slw_identity_at(loud.identity, i, &name, &two));
        ck_assert_msg(memcmp(one, two, sizeof(*one)) == 0, "component %s differs", name);
    }
    const char *after = fixture_compile(&loud, &r);
    const char *again = fixture_compile(&quiet, &r);
    ck_assert(fixture_same(before, after, "kernel.o"));
    ck_assert(fixture_same(before, after, "kernel.so"));
    ck_assert(fixture_same(before, again, "kernel.so"));
    ck_assert_int_ne(access(slt_path(directory, "ran", NULL), F_OK), 0);
    ck_assert_int_ne(access(slt_path(directory, "deps", NULL), F_OK), 0);
    fixture_close(&quiet);
    fixture_close(&loud);
}
END_TEST

/* The made environment has four variables and no other. */
START_TEST(pitfall_05_the_environment_is_made) {
    slw_allocator allocator = SLW_ALLOCATOR_INIT;
    slwi_tool_list list;
    slwi_tool_list_init(&list, &allocator);
    slwi_tool_environment("/usr/bin:/bin", "/build/tmp", &list);
    ck_assert_uint_eq(list.count, 4);
    ck_assert(slwi_tool_list_has(&list, "PATH=/usr/bin:/bin"));
    ck_assert(slwi_tool_list_has(&list, "LC_ALL=C"));
    ck_assert(slwi_tool_list_has(&list, "SOURCE_DATE_EPOCH=0"));
    ck_assert(slwi_tool_list_has(&list, "TMPDIR=/build/tmp"));
    slwi_tool_list_free(&list);
}
END_TEST

/* Options that name files: named in the reason, and compiled privately all the same. */
START_TEST(pitfall_05_options_that_reach_outside_are_private) {
    static const char *const reaching[][3] = {
        {"@options.txt", NULL, NULL},
        {"-D", "@options.txt", NULL}, /* a word of its own to the passes: each reads the file */
        {"-D@options.txt", NULL, NULL},
        {"-U", "@options.txt", NULL},
        {"--param", "@options.txt", NULL},
        {"-include", "x.h", NULL},
        {"--specs=x", NULL, NULL},
        {"-specs=x", NULL, NULL},
        {"-fplugin=x.so", NULL, NULL},
        {"-B/tmp", NULL, NULL},
        {"-B", "/tmp", NULL},
        {"-T", "x.ld", NULL},
        {"-fprofile-use=x", NULL, NULL},
        {"-fprofile-use", NULL, NULL},
        {"-Wl,-rpath,/x", NULL, NULL},
        {"-Wa,--MD,x", NULL, NULL},
        {"-Wp,-MD,x", NULL, NULL},
        {"-Xlinker", "-rpath", NULL},
        {"-I/tmp", NULL, NULL},
        {"-isystem", "/tmp", NULL},
        {"--sysroot=/x", NULL, NULL},
        {"-fno-such-option", NULL, NULL},
        {"-flto", NULL, NULL},
        {"-fsanitize=address", NULL, NULL},
        {"-gsplit-dwarf", NULL, NULL},
        {"-save-temps", NULL, NULL},
        {"-march=../x", NULL, NULL},
        {"-lfoo", NULL, NULL},
        {"-fopenmp", NULL, NULL},
        {"--target=x", NULL, NULL},
        {"-Xclang", "-load", NULL},
        {"--config=x", NULL, NULL},
    };
    slw_allocator allocator = SLW_ALLOCATOR_INIT;
    for (size_t i = 0; i < sizeof(reaching) / sizeof(*reaching); i++) {
        slw_error err = SLW_ERROR_INIT;
        slwi_host_options options;
        size_t count = reaching[i][1] == NULL ? 1 : 2;
        slt_ok(slwi_host_options_parse(reaching[i], count, &allocator, &options, &err), &err);
        char wanted[300];
        (void)snprintf(wanted, sizeof(wanted), "OPTION %s", reaching[i][0]);
        ck_assert_str_eq(options.why, wanted);
        slwi_host_options_free(&options);
    }
}
END_TEST

/* clang before 16 does not read SOURCE_DATE_EPOCH. */
START_TEST(pitfall_05_there_is_no_clock) {
    static const char *const compilers[] = {"gcc", "clang-16", "clang-14", "clang"};
    static const char clock_text[] =
        "#include <slipway/host_kernel.h>\n"
        "_Static_assert(sizeof(__DATE__) == 12 && sizeof(__TIME__) == 9 && sizeof(__TIMESTAMP__) == 25, \"text\");\n"
        "const char *clock_text = \"clock <\" __DATE__ \" \" __TIME__ \" \" __TIMESTAMP__ \">\";\n"
        "SLW_HOST_KERNEL(k);\n"
        "void k(const slw_host_block *b, void *const *a) { *(const char **)a[0] = b ? clock_text : 0; }\n";
    slw_error err = SLW_ERROR_INIT;
    fixture_toolchain toolchain;
    fixture_request r = {.text = clock_text, .flags = {"-O0", "-Wall", "-Werror", "-pedantic-errors"}};
    slw_code rc = fixture_open(&toolchain, compilers[_i], "/usr/bin", NULL, &err);
    if (rc == SLW_E_TOOL_MISSING) {
        slt_skip("pitfall_05_there_is_no_clock", compilers[_i]);
    } else {
        slt_ok(rc, &err);
        slt_shell("grep -q 'clock <Jan  1 1970 00:00:00 Thu Jan  1 00:00:00 1970>' '%s/kernel.o'",
                  fixture_compile(&toolchain, &r));
    }
    fixture_close(&toolchain);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/pitfall_05_environment");
    TCase *tcase = tcase_create("environment");
    tcase_set_timeout(tcase, 240);
    tcase_add_loop_test(tcase, pitfall_05_nothing_is_inherited, 0, 2);
    tcase_add_loop_test(tcase, pitfall_05_there_is_no_clock, 0, 4);
    tcase_add_test(tcase, pitfall_05_the_environment_is_made);
    tcase_add_test(tcase, pitfall_05_options_that_reach_outside_are_private);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
