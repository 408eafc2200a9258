/* The pitfalls of toolchains, shown on clang: its program, its headers, its environment, its memo, its machine. */
#include <sys/stat.h>

#include "hip_compile.h"
#include "tool_run.h"

static hipc world;

static void setup(void) {
    hipc_setup(&world);
}

static void teardown(void) {
    hipc_teardown(&world);
}

static const char good[] = "__kernel void k(__global int *p) { p[__builtin_amdgcn_workitem_id_x()] = 1; }\n";

static slw_disposition disposition_of(const slw_source *source, const char *const *flags,
                                      char key[SLW_DIGEST_TEXT_SIZE]) {
    slw_cached *cached = NULL;
    const slw_code rc = hipc_compile(&world, source, "gfx90a", flags, &cached);
    ck_assert_msg(rc == SLW_OK, "%s %s\n%s", slw_code_name(rc), world.err.message, world.words);
    if (key != NULL && slw_cached_key(cached) != NULL)
        hipc_copy(key, SLW_DIGEST_TEXT_SIZE, slw_key_digest(slw_cached_key(cached)));
    slw_cached_discard(&cached);
    return world.report.disposition;
}

/* ---- 3: the tools are replaced under a living process ---- */

/* A hip backend whose stages are watched: something happens after the one of that number. */
static slw_backend_vtable watched;
static slw_code (*real_run)(void *, size_t, const slw_stage_context *, slw_error *);
static char change_command[8400];
static size_t change_after;

static slw_code watched_run(void *job, size_t index, const slw_stage_context *context, slw_error *err) {
    const slw_code rc = real_run(job, index, context, err);
    if (index == change_after && change_command[0] != '\0') slt_shell("%s", change_command);
    return rc;
}

static void open_watched(const char *clang) {
    slw_compiler_options options = SLW_COMPILER_OPTIONS_INIT;
    watched = slwi_hip_backend;
    real_run = watched.job_run;
    watched.job_run = watched_run;
    slw_compiler_close(&world.compiler);
    options.store = world.store;
    options.backend_impl = &watched;
    options.compiler = clang;
    options.memo = world.memo;
    slt_ok(slw_compiler_open(&options, &world.compiler, &world.err), &world.err);
}

START_TEST(pitfall_03_the_toolchain_is_replaced_during_the_build) {
    char bin[4096];
    char keys[2][SLW_DIGEST_TEXT_SIZE];
    if (!hipc_ready(&world, "pitfall_03_the_toolchain_is_replaced_during_the_build")) return;
    if (!hipc_tree(&world, "pitfall_03_the_toolchain_is_replaced_during_the_build", bin)) return;
    open_watched(slt_path(bin, "clang", NULL));
    change_after = (size_t)_i;
    /* The same version text, other bytes. */
    (void)snprintf(change_command, sizeof change_command, "cd '%s' && cp clang new && printf x >>new && mv new clang",
                   bin);
    const slw_source source = hipc_source(good, "k.cl");
    ck_assert_int_eq(disposition_of(&source, NULL, keys[0]), SLW_PRIVATE);
    ck_assert_msg(strstr(world.report.reason, "TOOLCHAIN_CHANGED") != NULL, "%s", world.report.reason);
    change_command[0] = '\0';
    hipc_check_nothing_left(&world);
    /* The next one takes a new snapshot, and its key is another: a tool with the same version text is another tool. */
    ck_assert_int_eq(disposition_of(&source, NULL, keys[1]), SLW_PUBLISHED);
    ck_assert_str_ne(keys[0], keys[1]);
}
END_TEST

/* ---- 4: headers ---- */

START_TEST(pitfall_04_a_header_that_appears_changes_the_key) {
    char keys[3][SLW_DIGEST_TEXT_SIZE];
    if (!hipc_ready(&world, "pitfall_04_a_header_that_appears_changes_the_key")) return;
    const char *const text = _i == 0
                                 ? "#if __has_include(\"late.h\")\n#include \"late.h\"\n#else\n#define N 1\n#endif\n"
                                   "__kernel void k(__global int *p) { p[0] = N; }\n"
                                 : "#if __has_include(\"late.h\")\n#include \"late.h\"\n#else\n#define N 1\n#endif\n"
                                   "__attribute__((global)) void k(int *p) { p[0] = N; }\n";
    const char *root = slt_path(slt_scratch(), "include", NULL);
    slw_source source = hipc_source(text, _i == 0 ? "k.cl" : "k.hip");
    source.include_roots = &root;
    source.include_root_count = 1;
    ck_assert_int_eq(disposition_of(&source, NULL, keys[0]), SLW_PUBLISHED);
    ck_assert_int_eq(mkdir(root, 0755), 0);
    slt_write_file(slt_path(root, "late.h", NULL), "#define N 2\n", 12, 0644);
    ck_assert_int_eq(disposition_of(&source, NULL, keys[1]), SLW_PUBLISHED);
    slt_write_file(slt_path(root, "late.h", NULL), "#define N 3\n", 12, 0644);
    ck_assert_int_eq(disposition_of(&source, NULL, keys[2]), SLW_PUBLISHED);
    ck_assert_str_ne(keys[0], keys[1]);
    ck_assert_str_ne(keys[1], keys[2]);
    ck_assert_int_eq(disposition_of(&source, NULL, keys[1]), SLW_HIT);
    ck_assert_str_eq(keys[1], keys[2]);
}
END_TEST

START_TEST(pitfall_04_what_was_read_lies_in_the_key_or_is_named) {
    if (!hipc_ready(&world, "pitfall_04_what_was_read_lies_in_the_key_or_is_named")) return;
    const char *outside = slt_path(slt_scratch(), "secret.h", NULL);
    char text[4096];
    slt_write_file(outside, "#define N 3\n", 12, 0644);
    static const char *const kernels[] = {"__kernel void k(__global int *p) { p[0] = N; }\n",
                                          "__attribute__((global)) void k(int *p) { p[0] = N; }\n"};
    static const char *const names[] = {"k.cl", "k.hip"};
    for (int i = 0; i < 2; i++) {
        (void)snprintf(text, sizeof text, "#include \"%s\"\n%s", outside, kernels[i]);
        slw_source source = hipc_source(text, names[i]);
        ck_assert_int_eq(disposition_of(&source, NULL, NULL), SLW_PRIVATE);
        ck_assert_ptr_nonnull(strstr(world.report.reason, "HEADER_OUTSIDE"));
        ck_assert_ptr_nonnull(strstr(world.report.reason, outside));
        hipc_check_nothing_left(&world);
    }
    /* clang's own are inside: those it brings, and the system's. */
    slw_source source = hipc_source("#include <stdint.h>\n#include <limits.h>\n"
                                    "__attribute__((global)) void k(uint64_t *p) { p[0] = UINT_MAX; }\n",
                                    "own.hip");
    ck_assert_int_eq(disposition_of(&source, NULL, NULL), SLW_PUBLISHED);
    source = hipc_source("#if __has_include(\"/etc/hosts\")\n#endif\n__kernel void k(__global int *p) { p[0] = 1; }\n",
                         "asks.cl");
    ck_assert_int_eq(disposition_of(&source, NULL, NULL), SLW_PRIVATE);
    ck_assert_ptr_nonnull(strstr(world.report.reason, "__has_include"));
}
END_TEST

/* ---- 5: the environment ---- */

static const struct {
    const char *name;
    const char *value; /* %s: a directory with traps in it */
} hostile[] = {
    {"CCC_OVERRIDE_OPTIONS", "+-DTRAP"},
    {"ROCM_PATH", "%s"},
    {"HIP_PATH", "%s"},
    {"HIP_DEVICE_LIB_PATH", "%s"},
    {"HIP_CLANG_PATH", "%s"},
    {"HIPCC_COMPILE_FLAGS_APPEND", "-DTRAP"},
    {"COMPILER_PATH", "%s"},
    {"CPATH", "%s"},
    {"C_INCLUDE_PATH", "%s"},
    {"CPLUS_INCLUDE_PATH", "%s"},
    {"LD_RUN_PATH", "%s"},
    {"LIBRARY_PATH", "%s"},
    {"GCC_EXEC_PREFIX", "%s/"},
    {"SOURCE_DATE_EPOCH", "1234567890"},
    {"XDG_CONFIG_HOME", "%s"},
    {"HOME", "%s"},
    {"LC_ALL", "tr_TR.UTF-8"},
    {"TMPDIR", "%s"},
    {"PATH", "%s"},
    {"PWD", "/somewhere/else"},
};

static const char *traps(void) {
    const char *directory = slt_scratch();
    static const char program[] = "#!/bin/sh\necho ran >\"$(dirname \"$0\")/ran\"\nexit 1\n";
    static const char *const programs[] = {"ld.lld", "amdgcn-amd-amdhsa-ld.lld", "lld", "clang", "ld"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        slt_write_file(slt_path(directory, programs[i], NULL), program, sizeof program - 1, 0755);
    slt_write_file(slt_path(directory, "stdint.h", NULL), "#error trapped\n", 15, 0644);
    slt_write_file(slt_path(directory, "clang.cfg", NULL), "-DTRAP\n", 7, 0644);
    slt_write_file(slt_path(directory, "opencl.bc", NULL), "trap", 4, 0644);
    return directory;
}

static const char *private_build(const slw_source *source, const char *const *flags) {
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    slw_cached *cached = NULL;
    const char *copy = slt_scratch();
    options.target = "gfx90a";
    options.always_compile = 1;
    options.flags = flags;
    while (flags != NULL && flags[options.flag_count] != NULL) options.flag_count++;
    slw_build_report_release(&world.report);
    const slw_code rc = slw_compile(world.compiler, source, &options, &world.report, &cached, &world.err);
    ck_assert_msg(rc == SLW_OK, "%s: %s\n%s", source->name, world.err.message, world.words);
    slt_shell("cp '%s'/kernel.* '%s'", world.report.private_directory, copy);
    slw_cached_discard(&cached);
    return copy;
}

START_TEST(pitfall_05_nothing_is_inherited) {
    static const char text[] = "#include <stdint.h>\n#ifdef TRAP\n#error trapped\n#endif\n"
                               "const char when[] = __DATE__ __TIME__;\n"
                               "__attribute__((global)) void k(uint32_t *p) { p[0] = 1; }\n";
    static const char *const names[] = {"backend", "compiler", "environment", "libraries"};
    static const char *const flags[] = {"-g", NULL};
    if (!hipc_ready(&world, "pitfall_05_nothing_is_inherited")) return;
    char path[4096];
    char quiet[4][SLW_DIGEST_TEXT_SIZE];
    hipc_copy(path, sizeof path, slw_compiler_path(world.compiler));
    for (int i = 0; i < 4; i++) hipc_component(&world, names[i], quiet[i]);
    const slw_source source = hipc_source(text, "k.hip");
    const char *before = private_build(&source, flags);
    const char *directory = traps();
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        char value[4096];
        (void)snprintf(value, sizeof value, hostile[i].value, directory);
        ck_assert_int_eq(setenv(hostile[i].name, value, 1), 0);
    }
    /* Asked again under all of it, without what is remembered. */
    slw_memo_close(&world.memo);
    slt_ok(hipc_open(&world, path, NULL), &world.err);
    for (int i = 0; i < 4; i++) {
        char loud[SLW_DIGEST_TEXT_SIZE];
        ck_assert_str_eq(hipc_component(&world, names[i], loud), quiet[i]);
    }
    ck_assert_int_eq(setenv("PATH", "/usr/bin:/bin", 1), 0); /* for this test's own shell */
    const char *after = private_build(&source, flags);
    ck_assert(hipc_same_file(slt_path(before, "kernel.ll", NULL), slt_path(after, "kernel.ll", NULL)));
    ck_assert(hipc_same_file(slt_path(before, "kernel.hsaco", NULL), slt_path(after, "kernel.hsaco", NULL)));
    ck_assert_int_ne(access(slt_path(directory, "ran", NULL), F_OK), 0);
}
END_TEST

START_TEST(pitfall_05_options_that_reach_outside_are_named) {
    if (!hipc_ready(&world, "pitfall_05_options_that_reach_outside_are_named")) return;
    static const char *const reaching[] = {"-I/tmp", "-fno-such-option-but-warned", "-Wl,--no-undefined",
                                           "--rocm-path=/nonexistent"};
    const slw_source source = hipc_source(good, "k.cl");
    for (size_t i = 0; i < sizeof reaching / sizeof *reaching; i++) {
        const char *const flags[] = {reaching[i], NULL};
        slw_cached *cached = NULL;
        const slw_code rc = hipc_compile(&world, &source, "gfx90a", flags, &cached);
        if (rc == SLW_OK) {
            ck_assert_int_eq(world.report.disposition, SLW_PRIVATE);
            ck_assert_ptr_nonnull(strstr(world.report.reason, reaching[i]));
        } else {
            ck_assert_int_eq(rc, SLW_E_COMPILE_FAILED); /* clang does not know it */
        }
        slw_cached_discard(&cached);
        hipc_check_nothing_left(&world);
    }
}
END_TEST

/* ---- 6, 7, 8: the memo ---- */

/* Rewritten in place, with its size and its time: what is remembered of the old bytes is not said of the new ones. */
START_TEST(pitfall_06_07_a_rewritten_tool_is_another) {
    char bin[4096];
    char components[2][SLW_DIGEST_TEXT_SIZE];
    if (!hipc_ready(&world, "pitfall_06_07_a_rewritten_tool_is_another")) return;
    if (!hipc_tree(&world, "pitfall_06_07_a_rewritten_tool_is_another", bin)) return;
    slt_shell("cd '%s' && printf xxxx >>clang && touch -d '2020-01-01 00:00:00' clang", bin);
    slt_ok(hipc_open(&world, slt_path(bin, "clang", NULL), NULL), &world.err);
    hipc_component(&world, "compiler", components[0]);
    slt_ok(hipc_open(&world, slt_path(bin, "clang", NULL), NULL), &world.err);
    ck_assert_str_eq(hipc_component(&world, "compiler", components[1]), components[0]);
    slt_shell("cd '%s' && size=$(stat -c %%s clang) && printf yyyy | dd of=clang bs=1 seek=$((size - 4)) conv=notrunc "
              "2>/dev/null && touch -d '2020-01-01 00:00:00' clang",
              bin);
    slt_ok(hipc_open(&world, slt_path(bin, "clang", NULL), NULL), &world.err);
    ck_assert_str_ne(hipc_component(&world, "compiler", components[1]), components[0]);
}
END_TEST

/* A memo that is cut, or in which a byte is another, costs time and nothing else. */
START_TEST(pitfall_08_a_damaged_memo_is_only_slower) {
    static const char *const names[] = {"backend", "compiler", "environment", "libraries"};
    static const char *const damage[] = {
        "truncate -s -40",
        "truncate -s 100",
        "sh -c 'printf XXXXXXXX | dd of=\"$0\" bs=1 seek=3000 conv=notrunc 2>/dev/null'",
        "sh -c 'tr gfx xfg <\"$0\" >\"$0.new\" && mv \"$0.new\" \"$0\"'",
        "truncate -s 0",
    };
    char wanted[4][SLW_DIGEST_TEXT_SIZE];
    char path[4096];
    if (!hipc_ready(&world, "pitfall_08_a_damaged_memo_is_only_slower")) return;
    hipc_copy(path, sizeof path, slw_compiler_path(world.compiler));
    for (int i = 0; i < 4; i++) hipc_component(&world, names[i], wanted[i]);
    slw_compiler_close(&world.compiler);
    slw_memo_close(&world.memo);
    const char *directory = slt_path(slt_scratch(), "memo", NULL);
    for (size_t d = 0; d < sizeof damage / sizeof *damage; d++) {
        slt_shell("rm -rf '%s' && cp -r '%s' '%s' && chmod 700 '%s'", directory, hipc_memo_directory, directory,
                  directory);
        slt_shell("test -n \"$(ls '%s')\"; for f in '%s'/*; do %s \"$f\"; done", directory, directory, damage[d]);
        slw_memo_options options = SLW_MEMO_OPTIONS_INIT;
        options.directory = directory;
        slt_ok(slw_memo_open(&options, &world.memo, &world.err), &world.err);
        slt_ok(hipc_open(&world, path, NULL), &world.err);
        for (int i = 0; i < 4; i++) {
            char now[SLW_DIGEST_TEXT_SIZE];
            ck_assert_msg(strcmp(hipc_component(&world, names[i], now), wanted[i]) == 0, "%s: %s", damage[d], names[i]);
        }
        slw_compiler_close(&world.compiler);
        slw_memo_close(&world.memo);
    }
}
END_TEST

/* ---- 40: this very machine ---- */

START_TEST(pitfall_40_native_is_no_target) {
    if (!hipc_ready(&world, "pitfall_40_native_is_no_target")) return;
    static const char *const asking[] = {"-march=native", "-mcpu=native", "--offload-arch=native", "-mtune=native"};
    const slw_source source = hipc_source(good, "k.cl");
    slw_cached *cached = NULL;
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++) {
        const char *const flags[] = {asking[i], NULL};
        ck_assert_int_eq(hipc_compile(&world, &source, "gfx90a", flags, &cached), SLW_E_USAGE);
        ck_assert_str_eq(world.err.reason, "RESERVED");
        ck_assert_str_eq(world.err.subject, asking[i]);
    }
    ck_assert_int_eq(hipc_compile(&world, &source, "native", NULL, &cached), SLW_E_UNSUPPORTED_INPUT);
}
END_TEST

/* ---- two builds ---- */

START_TEST(two_builds_give_the_same_bytes) {
    if (!hipc_ready(&world, "two_builds_give_the_same_bytes")) return;
    static const char *const names[] = {"reduce.cl", "scan.hip", "matrix.hip", "vector_add.ll"};
    static const char *const debug[] = {"-g", NULL};
    const char *include = slt_fixture("hip_src/include");
    for (size_t i = 0; i < 8; i++) {
        char path[256];
        (void)snprintf(path, sizeof path, "hip_src/%s", names[i / 2]);
        slw_source source = SLW_SOURCE_INIT;
        source.path = slt_fixture(path);
        source.name = names[i / 2];
        source.include_roots = &include;
        source.include_root_count = 1;
        const char *const *flags = i % 2 == 1 ? debug : NULL;
        const char *one = private_build(&source, flags);
        char other[320];
        (void)snprintf(other, sizeof other, "%s/another/root/deeper", world.scratch);
        slt_shell("umask 077; mkdir -p '%s'", other);
        /* Another private root: other directories for everything. */
        slw_compiler_close(&world.compiler);
        slw_store_close(&world.store);
        slw_store_options options = SLW_STORE_OPTIONS_INIT;
        options.root = world.root;
        options.private_root = i % 2 == 0 ? other : world.private_root;
        slt_ok(slw_store_open(&options, &world.store, &world.err), &world.err);
        ck_assert(hipc_ready(&world, "two_builds_give_the_same_bytes"));
        const char *two = private_build(&source, flags);
        ck_assert_msg(hipc_same_file(slt_path(one, "kernel.hsaco", NULL), slt_path(two, "kernel.hsaco", NULL)), "%s",
                      names[i / 2]);
        if (strstr(names[i / 2], ".ll") == NULL)
            ck_assert(hipc_same_file(slt_path(one, "kernel.ll", NULL), slt_path(two, "kernel.ll", NULL)));
        slt_shell("! grep -q slipway-work '%s/kernel.hsaco'", two);
        slt_shell("! grep -q '%s' '%s/kernel.hsaco'", world.scratch, two);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/hip_pitfalls");
    TCase *tcase = tcase_create("pitfalls");
    tcase_set_timeout(tcase, 240);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, pitfall_03_the_toolchain_is_replaced_during_the_build, 0, 2);
    tcase_add_loop_test(tcase, pitfall_04_a_header_that_appears_changes_the_key, 0, 2);
    tcase_add_test(tcase, pitfall_04_what_was_read_lies_in_the_key_or_is_named);
    tcase_add_test(tcase, pitfall_05_nothing_is_inherited);
    tcase_add_test(tcase, pitfall_05_options_that_reach_outside_are_named);
    tcase_add_test(tcase, pitfall_06_07_a_rewritten_tool_is_another);
    tcase_add_test(tcase, pitfall_08_a_damaged_memo_is_only_slower);
    tcase_add_test(tcase, pitfall_40_native_is_no_target);
    tcase_add_test(tcase, two_builds_give_the_same_bytes);
    suite_add_tcase(suite, tcase);
    return hipc_run(suite);
}
