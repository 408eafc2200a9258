/* Every way in which clang fails: a typed error with clang's own words, nothing published, nothing left behind. Where
 * the real one cannot be made to fail, a script stands for it that asks the real one about everything but the
 * compilation. */
#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#include "hip_compile.h"

static hipc world;

static void setup(void) {
    hipc_setup(&world);
}

static void teardown(void) {
    hipc_teardown(&world);
}

static const char good[] = "__kernel void k(__global int *p) { p[__builtin_amdgcn_workitem_id_x()] = 1; }\n";

static void refused(const char *text, const char *name, slw_code code, const char *reason) {
    const slw_source source = hipc_source(text, name);
    slw_cached *cached = NULL;
    const slw_code rc = hipc_compile(&world, &source, "gfx90a", NULL, &cached);
    ck_assert_msg(rc == code, "%s: %s, not %s: %s\n%s", name, slw_code_name(rc), slw_code_name(code), world.err.message,
                  world.words);
    ck_assert_ptr_null(cached);
    ck_assert_ptr_nonnull(world.err.reason);
    ck_assert_str_eq(world.err.reason, reason);
    hipc_check_nothing_left(&world);
}

/* ---- what the source is at fault for ---- */

START_TEST(syntax_errors_have_a_place) {
    if (!hipc_ready(&world, "syntax_errors_have_a_place")) return;
    static const struct {
        const char *text, *name, *words;
        uint32_t line, column;
    } cases[] = {
        {"__kernel void k(__global int *p) {\n  p[0] = nothing;\n}\n", "a.cl", "undeclared identifier 'nothing'", 2,
         10},
        {"__attribute__((global)) void k(int *p) {\n\n  p[0] = ;\n}\n", "b.hip", "expected expression", 3, 10},
        {"target triple = \"amdgcn-amd-amdhsa\"\ndefine amdgpu_kernel void @k() {\n  %x = frob i32 1\n}\n", "c.ll",
         "expected instruction opcode", 3, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refused(cases[i].text, cases[i].name, SLW_E_COMPILE_FAILED, "COMPILER");
        ck_assert_ptr_nonnull(strstr(world.words, cases[i].words));
        ck_assert_str_eq(world.err.path, cases[i].name);
        ck_assert_uint_eq(world.err.line, cases[i].line);
        ck_assert_uint_eq(world.err.column, cases[i].column);
        ck_assert_ptr_null(strstr(world.words, "source."));
    }
}
END_TEST

START_TEST(undefined_functions_say_where_they_are) {
    if (!hipc_ready(&world, "undefined_functions_say_where_they_are")) return;
    refused("int elsewhere(int);\n__kernel void k(__global int *p) { p[0] = elsewhere(1); }\n", "k.cl",
            SLW_E_COMPILE_FAILED, "COMPILER");
    ck_assert_ptr_nonnull(strstr(world.words, "elsewhere"));
    if (world.err.hint != NULL) ck_assert_ptr_nonnull(strstr(world.err.hint, "rocm-device-libs"));
}
END_TEST

START_TEST(hip_headers_that_are_not_there) {
    if (!hipc_ready(&world, "hip_headers_that_are_not_there")) return;
    refused("#include <hip/not_there_anywhere.h>\n__attribute__((global)) void k() {}\n", "k.hip", SLW_E_COMPILE_FAILED,
            "COMPILER");
    ck_assert_ptr_nonnull(strstr(world.words, "'hip/not_there_anywhere.h' file not found"));
    ck_assert_uint_eq(world.err.line, 1);
    if (world.err.hint != NULL) ck_assert_ptr_nonnull(strstr(world.err.hint, "ROCm"));
}
END_TEST

START_TEST(sources_of_other_machines) {
    if (!hipc_ready(&world, "sources_of_other_machines")) return;
    refused("target triple = \"nvptx64-nvidia-cuda\"\ndefine amdgpu_kernel void @k() {\n  ret void\n}\n", "k.ll",
            SLW_E_UNSUPPORTED_INPUT, "TRIPLE");
    ck_assert_str_eq(world.err.path, "k.ll");
    ck_assert_uint_eq(world.err.line, 1);
    refused("target triple = \"amdgcn-amd-amdhsa\"\ndefine void @k() {\n  ret void\n}\n", "k.ll", SLW_E_INVALID_SOURCE,
            "NO_KERNEL");
    refused("define amdgpu_kernel void @k() #0 {\n  ret void\n}\nattributes #0 = { \"target-cpu\"=\"gfx906\" }\n",
            "k.ll", SLW_E_UNSUPPORTED_INPUT, "TARGET");
    ck_assert_str_eq(world.err.subject, "gfx906");
    ck_assert_uint_eq(world.err.line, 4);
}
END_TEST

START_TEST(targets) {
    if (!hipc_ready(&world, "targets")) return;
    static const struct {
        const char *target;
        slw_code code;
    } cases[] = {
        {NULL, SLW_E_USAGE},
        {"", SLW_E_USAGE},
        {"sm_90", SLW_E_UNSUPPORTED_INPUT},
        {"native", SLW_E_UNSUPPORTED_INPUT},
        {"gfx90a:xnack", SLW_E_UNSUPPORTED_INPUT},
        {"gfx99999", SLW_E_UNSUPPORTED_INPUT},
        {"gfx1100:xnack+", SLW_E_COMPILE_FAILED}, /* it has no such mode: clang's to say */
    };
    const slw_source source = hipc_source(good, "k.cl");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        slw_cached *cached = NULL;
        const slw_code rc = hipc_compile(&world, &source, cases[i].target, NULL, &cached);
        ck_assert_msg(rc == cases[i].code, "%s: %s %s", cases[i].target, slw_code_name(rc), world.err.message);
        ck_assert_ptr_null(cached);
        ck_assert_str_eq(world.err.reason, rc == SLW_E_COMPILE_FAILED ? "COMPILER" : "TARGET");
        hipc_check_nothing_left(&world);
    }
}
END_TEST

/* ---- what the machine is at fault for ---- */

START_TEST(a_missing_clang_says_how_to_get_it) {
    ck_assert_int_eq(hipc_open(&world, "clang-that-is-nowhere", "/nonexistent"), SLW_E_TOOL_MISSING);
    ck_assert_str_eq(world.err.reason, "NO_COMPILER");
    ck_assert_ptr_nonnull(strstr(world.err.tried, "/nonexistent/clang-that-is-nowhere"));
    ck_assert_ptr_nonnull(strstr(world.err.tried, "/opt/rocm/llvm/bin/clang-that-is-nowhere"));
    ck_assert_ptr_nonnull(strstr(world.err.hint, "install clang and lld"));
}
END_TEST

/* A clang whose answers are the real one's but for what `at_compile` and `at_link_question` do. */
static const char *fake_clang(const char *at_compile, const char *at_link_question) {
    const char *directory = slt_scratch();
    const char *path = slt_path(directory, "clang", NULL);
    char real[4096];
    char text[16384];
    ck_assert_ptr_nonnull(realpath(slw_compiler_path(world.compiler), real));
    (void)snprintf(text, sizeof text,
                   "#!/bin/sh\n"
                   "real='%s'\n"
                   "here='%s'\n"
                   "case \" $* \" in\n"
                   "*' -MD '*) %s ;;\n"
                   "*' -x ir '*'-###'*) %s ;;\n"
                   "esac\n"
                   "\"$real\" \"$@\" >\"$TMPDIR/fake.$$\" 2>&1\n"
                   "status=$?\n"
                   "sed \"s#$real#$here#g\" \"$TMPDIR/fake.$$\"\n"
                   "rm -f \"$TMPDIR/fake.$$\"\n"
                   "exit $status\n",
                   real, path, at_compile, at_link_question);
    slt_write_file(path, text, strlen(text), 0755);
    return path;
}

static int open_fake(const char *test, const char *at_compile) {
    if (!hipc_ready(&world, test)) return 0;
    slt_ok(hipc_open(&world, fake_clang(at_compile, ":"), NULL), &world.err);
    /* A script proves nothing. */
    ck_assert_int_eq(slw_identity_usable(slw_compiler_identity(world.compiler), &world.err), SLW_E_IDENTITY_UNUSABLE);
    return 1;
}

START_TEST(the_fake_one_compiles_privately) {
    if (!open_fake("the_fake_one_compiles_privately", ":")) return;
    const slw_source source = hipc_source(good, "k.cl");
    slw_cached *cached = hipc_compile_ok(&world, &source, "gfx90a", NULL, SLW_PRIVATE);
    ck_assert_ptr_nonnull(strstr(world.report.reason, "compiler"));
    slw_cached_discard(&cached);
    hipc_check_nothing_left(&world);
}
END_TEST

START_TEST(a_missing_linker_names_its_package) {
    if (!hipc_ready(&world, "a_missing_linker_names_its_package")) return;
    const char *path = fake_clang(":", "echo ' \"ld.lld\" \"a.o\" \"-shared\" \"-o\" \"/dev/null\"'; exit 0");
    ck_assert_int_eq(hipc_open(&world, path, NULL), SLW_E_TOOL_MISSING);
    ck_assert_str_eq(world.err.reason, "NO_LINKER");
    ck_assert_str_eq(world.err.subject, "ld.lld");
    ck_assert_ptr_nonnull(strstr(world.err.tried, "/usr/bin/ld.lld"));
    ck_assert_ptr_nonnull(strstr(world.err.hint, "install the package lld"));
}
END_TEST

START_TEST(a_wrapper_is_refused) {
    if (!hipc_ready(&world, "a_wrapper_is_refused")) return;
    const char *path = slt_path(slt_scratch(), "hipcc", NULL);
    char text[4096];
    (void)snprintf(text, sizeof text, "#!/bin/sh\nexec '%s' \"$@\"\n", slw_compiler_path(world.compiler));
    slt_write_file(path, text, strlen(text), 0755);
    ck_assert_int_eq(hipc_open(&world, path, NULL), SLW_E_UNSUPPORTED);
    ck_assert_str_eq(world.err.reason, "UNKNOWN_COMPILER");
    ck_assert_ptr_nonnull(strstr(world.err.message, "wrapper"));
    ck_assert_ptr_nonnull(strstr(world.err.hint, "name clang itself"));
    ck_assert_int_eq(hipc_open(&world, "/bin/echo", NULL), SLW_E_UNSUPPORTED);
    ck_assert_int_eq(hipc_open(&world, "/bin/false", NULL), SLW_E_UNSUPPORTED);
    ck_assert_str_eq(world.err.reason, "UNKNOWN_COMPILER");
}
END_TEST

START_TEST(a_clang_for_other_machines_only) {
    if (!hipc_ready(&world, "a_clang_for_other_machines_only")) return;
    const char *path = slt_path(slt_scratch(), "clang", NULL);
    static const char text[] =
        "#!/bin/sh\ncase \"$*\" in *--version*) echo 'clang version 99.0.0'; exit 0 ;; esac\n"
        "echo \"error: unable to create target: 'No available targets are compatible with triple'\" >&2\nexit 1\n";
    slt_write_file(path, text, strlen(text), 0755);
    ck_assert_int_eq(hipc_open(&world, path, NULL), SLW_E_UNSUPPORTED);
    ck_assert_str_eq(world.err.reason, "TARGET");
    ck_assert_ptr_nonnull(strstr(world.words, "No available targets"));
}
END_TEST

START_TEST(a_killed_clang) {
    if (!open_fake("a_killed_clang", "echo 'half a word' >&2; kill -9 $$")) return;
    refused(good, "k.cl", SLW_E_COMPILE_FAILED, "COMPILER");
    ck_assert_str_eq(world.err.raw_name, "exit status");
    ck_assert_int_eq(world.err.raw_code, 128 + SIGKILL);
    ck_assert_ptr_nonnull(strstr(world.words, "half a word"));
}
END_TEST

START_TEST(a_clang_that_says_nothing) {
    if (!open_fake("a_clang_that_says_nothing", "exit 7")) return;
    refused(good, "k.cl", SLW_E_COMPILE_FAILED, "COMPILER");
    ck_assert_int_eq(world.err.raw_code, 7);
    ck_assert_ptr_nonnull(strstr(world.err.message, "said nothing"));
}
END_TEST

START_TEST(a_clang_that_makes_nothing) {
    if (!open_fake("a_clang_that_makes_nothing", "echo 'kernel: source.cl' >source.d; exit 0")) return;
    refused(good, "k.cl", SLW_E_COMPILE_FAILED, "NO_OUTPUT");
}
END_TEST

/* The child of the child dies with it. */
START_TEST(a_clang_that_hangs) {
    const char *pid_file = slt_path(slt_scratch(), "pid", NULL);
    char snippet[512];
    (void)snprintf(snippet, sizeof snippet, "sleep 600 & echo $! >'%s'; wait", pid_file);
    if (!open_fake("a_clang_that_hangs", snippet)) return;
    const slw_source source = hipc_source(good, "k.cl");
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    slw_cached *cached = NULL;
    options.target = "gfx90a";
    options.timeout_ns = 1500000000u;
    slw_build_report_release(&world.report);
    ck_assert_int_eq(slw_compile(world.compiler, &source, &options, &world.report, &cached, &world.err), SLW_E_TIMEOUT);
    ck_assert_ptr_null(cached);
    hipc_check_nothing_left(&world);
    size_t size;
    char *text = slt_read_file(pid_file, &size);
    const pid_t child = (pid_t)strtol(text, NULL, 10);
    free(text);
    ck_assert_int_gt(child, 1);
    int alive = 1;
    for (int i = 0; alive && i < 100; i++) {
        char path[64];
        char line[256] = "";
        (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
        FILE *file = fopen(path, "r");
        if (file == NULL || fgets(line, sizeof line, file) == NULL || strstr(line, ") Z ") != NULL) alive = 0;
        if (file != NULL) (void)fclose(file);
        if (alive) (void)nanosleep(&(struct timespec){0, 50000000}, NULL);
    }
    ck_assert_int_eq(alive, 0);
}
END_TEST

START_TEST(a_clang_that_says_too_much) {
    if (!open_fake(
            "a_clang_that_says_too_much",
            "echo 'source.cl:3:4: error: the first of many'; yes 'source.cl:9:9: error: more' | head -c 40000000; "
            "exit 1"))
        return;
    refused(good, "k.cl", SLW_E_COMPILE_FAILED, "COMPILER");
    ck_assert_uint_eq(world.err.line, 3);
    ck_assert_str_eq(world.err.path, "k.cl");
    ck_assert_uint_le(strlen(world.words), sizeof world.words - 1);
    ck_assert_ptr_nonnull(strstr(world.words, "k.cl:3:4: error: the first of many"));
}
END_TEST

/* The real one, on a file system that is full. */
START_TEST(no_space) {
    if (!hipc_ready(&world, "no_space")) return;
    if (mount("none", world.private_root, "tmpfs", 0, "size=64k,mode=700") != 0) {
        slt_skip("no_space", "a small file system cannot be mounted here");
        return;
    }
    slt_shell("head -c 40000 /dev/zero >'%s/filler'", world.private_root);
    slw_source source = SLW_SOURCE_INIT;
    source.path = slt_fixture("hip_src/gemm.cl");
    slw_cached *cached = NULL;
    const slw_code rc = hipc_compile(&world, &source, "gfx90a", NULL, &cached);
    const int is_typed = rc == SLW_E_COMPILE_FAILED || rc == SLW_E_STORAGE;
    if (cached != NULL) slw_cached_discard(&cached);
    slw_build_report_release(&world.report);
    slt_shell("rm '%s/filler' && test -z \"$(ls -A '%s')\"", world.private_root, world.private_root);
    ck_assert_int_eq(umount(world.private_root), 0);
    ck_assert_msg(is_typed, "%s %s", slw_code_name(rc), world.err.message);
    ck_assert_msg(strstr(world.words, "No space left") != NULL || strstr(world.err.message, "ENOSPC") != NULL, "%s\n%s",
                  world.err.message, world.words);
    hipc_check_nothing_left(&world);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/hip_errors");
    TCase *tcase = tcase_create("errors");
    tcase_set_timeout(tcase, 240);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, syntax_errors_have_a_place);
    tcase_add_test(tcase, undefined_functions_say_where_they_are);
    tcase_add_test(tcase, hip_headers_that_are_not_there);
    tcase_add_test(tcase, sources_of_other_machines);
    tcase_add_test(tcase, targets);
    tcase_add_test(tcase, a_missing_clang_says_how_to_get_it);
    tcase_add_test(tcase, the_fake_one_compiles_privately);
    tcase_add_test(tcase, a_missing_linker_names_its_package);
    tcase_add_test(tcase, a_wrapper_is_refused);
    tcase_add_test(tcase, a_clang_for_other_machines_only);
    tcase_add_test(tcase, a_killed_clang);
    tcase_add_test(tcase, a_clang_that_says_nothing);
    tcase_add_test(tcase, a_clang_that_makes_nothing);
    tcase_add_test(tcase, a_clang_that_hangs);
    tcase_add_test(tcase, a_clang_that_says_too_much);
    tcase_add_test(tcase, no_space);
    suite_add_tcase(suite, tcase);
    return hipc_run(suite);
}
