/* nvcc's toolchain on a made-up toolkit: what is found, what is in the identity, and what each part does to it when it
 * changes; tools that are missing, old, scripts, or no such tools. */
#include "fake_cuda.h"

#include "nvcc_toolchain.h"

static cuda_world *world;
static const char *top;

static void setup(void) {
    world = malloc(sizeof(*world));
    ck_assert_ptr_nonnull(world);
    cuda_open_store(world);
    top = fake_toolkit();
}

static void teardown(void) {
    cuda_close(world);
    free(world);
}

/* ---- what is found ---- */

static slwi_nvcc_toolchain *open_toolchain(const char *compiler, slw_identity **identity) {
    slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
    slw_toolchain_request request;
    slwi_nvcc_toolchain *toolchain = NULL;
    slt_ok(slw_identity_create(&options, identity, &world->err), &world->err);
    memset(&request, 0, sizeof(request));
    request.size = sizeof(request);
    request.compiler = compiler;
    request.identity = *identity;
    slt_ok(slwi_nvcc_toolchain_open(&request, &toolchain, &world->err), &world->err);
    return toolchain;
}

static int has(const slwi_nvcc_toolchain *t, slwi_tool_fact kind, const char *below_top) {
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s%s", below_top[0] == '/' && below_top[1] == '/' ? top : "",
                   below_top[0] == '/' && below_top[1] == '/' ? below_top + 1 : below_top);
    return slwi_tool_list_has(&t->answer.facts[kind], path);
}

START_TEST(all_of_it_is_found) {
    slw_identity *identity;
    slwi_nvcc_toolchain *t = open_toolchain(slt_path(top, "bin/nvcc", NULL), &identity);
    ck_assert_str_eq(slwi_tool_answer_version(&t->answer), "release 13.0, V13.0.88");
    ck_assert(has(t, SLWI_TOOL_FACT_PROGRAM, "//nvvm/bin/cicc"));
    ck_assert(has(t, SLWI_TOOL_FACT_PROGRAM, "//bin/cudafe++"));
    ck_assert(has(t, SLWI_TOOL_FACT_PROGRAM, "//bin/fatbinary"));
    ck_assert(has(t, SLWI_TOOL_FACT_PROGRAM, "//bin/ptxas"));
    ck_assert(has(t, SLWI_TOOL_FACT_PROGRAM, "/bin/sh"));
    ck_assert(has(t, SLWI_TOOL_FACT_PROGRAM, t->host));
    ck_assert_str_eq(slwi_nvcc_program(&t->answer, "ptxas"), slt_path(top, "bin/ptxas", NULL));
    ck_assert(has(t, SLWI_TOOL_FACT_FILE, "//nvvm/libdevice/libdevice.10.bc"));
    ck_assert(has(t, SLWI_TOOL_FACT_FILE, "//bin/nvcc.profile"));
    /* Found in bin, so it must never come to lie where it would be found before. */
    ck_assert(has(t, SLWI_TOOL_FACT_ABSENT, "//bin/../nvvm/bin/ptxas"));
    const slwi_tool_list *includes = &t->answer.facts[SLWI_TOOL_FACT_INCLUDE];
    ck_assert_uint_ge(includes->count, 3);
    ck_assert_str_eq(includes->items[0], slt_path(top, "targets/x86_64-linux/include", NULL));
    ck_assert_str_eq(includes->items[1], slt_path(top, "targets/x86_64-linux/include/cccl", NULL));
    ck_assert(slwi_tool_list_has(&t->answer.facts[SLWI_TOOL_FACT_TARGET], "sm_100f"));
    ck_assert(slwi_tool_list_has(&t->answer.facts[SLWI_TOOL_FACT_TARGET], "compute_90"));
    ck_assert_str_eq(slwi_nvcc_note(&t->answer, SLWI_NVCC_NOTE_ISA), "9.0");
    ck_assert_str_eq(slwi_nvcc_note(&t->answer, SLWI_NVCC_NOTE_REPRODUCIBLE), "1");
    ck_assert_ptr_null(slwi_nvcc_note(&t->answer, SLWI_NVCC_NOTE_WHY));
    slt_ok(slw_identity_usable(identity, &world->err), &world->err);
    slwi_nvcc_toolchain_close(&t);
    slw_identity_release(&identity);
}
END_TEST

START_TEST(versions_of_ptx_are_read_or_not) {
    static const struct {
        const char *text;
        uint32_t number;
    } cases[] = {{"9.0", 9000}, {"8.10", 8010}, {"10.2", 10002}, {"", 0},  {"9", 0},
                 {"9.", 0},     {".9", 0},      {"9.0x", 0},     {"x", 0}, {"99999.1", 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        ck_assert_uint_eq(slwi_nvcc_isa_number(cases[i].text), cases[i].number);
}
END_TEST

/* ---- pitfalls 3, 5, 6, 8: what changes the key ---- */

static void digests(slw_digest out[4]) {
    const char *name;
    const slw_digest *digest;
    slt_ok(fake_open_compiler(world, top, "nvcc"), &world->err);
    slt_ok(slw_identity_usable(slw_compiler_identity(world->compiler), &world->err), &world->err);
    for (size_t i = 0; i < 4; i++) {
        ck_assert(slw_identity_at(slw_compiler_identity(world->compiler), i, &name, &digest));
        out[i] = *digest;
    }
    cuda_close_compiler(world);
}

static const struct change {
    const char *what, *back;
    const char *component;
} changes[] = {
    /* Each tool replaced by another that says the same of itself. */
    {"printf x >>bin/nvcc", "truncate -s -1 bin/nvcc", "compiler"},
    {"printf x >>bin/ptxas", "truncate -s -1 bin/ptxas", "compiler"},
    {"printf x >>bin/cudafe++", "truncate -s -1 bin/cudafe++", "compiler"},
    {"printf x >>bin/fatbinary", "truncate -s -1 bin/fatbinary", "compiler"},
    {"printf x >>nvvm/bin/cicc", "truncate -s -1 nvvm/bin/cicc", "compiler"},
    /* One that is found earlier. */
    {"cp bin/ptxas nvvm/bin/ptxas", "rm nvvm/bin/ptxas", "compiler"},
    {"echo bitcodf >nvvm/libdevice/libdevice.10.bc", "echo bitcode >nvvm/libdevice/libdevice.10.bc", "libraries"},
    {"echo more >nvvm/libdevice/other.bc", "rm nvvm/libdevice/other.bc", "libraries"},
    {"echo '#' >>bin/nvcc.profile", "truncate -s -2 bin/nvcc.profile", "libraries"},
    {"echo '/* x */' >targets/x86_64-linux/include/new.h", "rm targets/x86_64-linux/include/new.h", "libraries"},
    {"echo '/* runtimf */' >targets/x86_64-linux/include/cuda_runtime.h",
     "echo '/* runtime */' >targets/x86_64-linux/include/cuda_runtime.h", "libraries"},
    /* nvcc's children load it before the system's. */
    {"cp -L /lib/x86_64-linux-gnu/libm.so.6 lib/", "rm lib/libm.so.6", "libraries"},
};

static const char *const components[4] = {"backend", "compiler", "environment", "libraries"};

START_TEST(pitfall_05_what_changes_in_the_toolkit_changes_the_key) {
    const struct change *change = &changes[_i];
    slw_digest before[4];
    slw_digest changed[4];
    slw_digest after[4];
    if (strstr(change->what, "libm.so.6") != NULL && access("/lib/x86_64-linux-gnu/libm.so.6", R_OK) != 0) return;
    digests(before);
    slt_shell("cd '%s' && %s", top, change->what);
    digests(changed);
    for (size_t i = 0; i < 4; i++) {
        const int differs = memcmp(&before[i], &changed[i], sizeof(before[i])) != 0;
        ck_assert_msg(differs == (strcmp(components[i], change->component) == 0), "%s: %s", change->what,
                      components[i]);
    }
    slt_shell("cd '%s' && %s", top, change->back);
    digests(after);
    for (size_t i = 0; i < 4; i++) ck_assert_mem_eq(&before[i], &after[i], sizeof(before[i]));
}
END_TEST

START_TEST(pitfall_05_libraries_for_certain_processors_are_not_proved) {
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.target = "sm_90";
    slt_shell("mkdir -p '%s/lib/glibc-hwcaps'", top);
    slt_ok(fake_open_compiler(world, top, "nvcc"), &world->err);
    cuda_expect(world, cuda_compile_text(world, fake_source, "k.cu", &options), SLW_OK);
    ck_assert_int_eq(world->report.disposition, SLW_PRIVATE);
    ck_assert_ptr_nonnull(strstr(world->report.reason, "libraries"));
}
END_TEST

static const struct profile {
    const char *lines;
    int is_private;
} profiles[] = {
    {"INCLUDES += \"-I$(TOP)/$(_TARGET_DIR_)/include\" $(_SPACE_)", 0},
    {"SYSTEM_INCLUDES += \"-isystem\" \"$(TOP)/include/cccl\" $(_SPACE_)", 0},
    {"LIBRARIES =+ $(_SPACE_) \"-L$(TOP)/lib$(_TARGET_SIZE_)/stubs\" -L/x", 0},
    {"PATH += $(CICC_PATH):$(_HERE_): \t", 0},
    {"CUDAFE_FLAGS +=\nPTXAS_FLAGS +=\n# INCLUDES += @x", 0},
    {"INCLUDES += -D \"@/tmp/rsp\" $(_SPACE_)", 1},
    {"INCLUDES += \"-I/x\" @/tmp/rsp", 1},
    {"INCLUDES += -include /tmp/x.h", 1},
    {"INCLUDES += -fplugin=/tmp/x.so", 1},
    {"INCLUDES += -specs=/tmp/x", 1},
    {"INCLUDES += -B/tmp", 1},
    {"INCLUDES += \"-I/x\"-include /tmp/x.h", 1},
    {"INCLUDES += /tmp/x.h", 1},
    {"INCLUDES += %include", 1},
    {"INCLUDES += \"-I$(cat /tmp/x)\"", 1},
    {"INCLUDES += -I$HOME", 1},
    {"INCLUDES += -I/x ; touch /tmp/x", 1},
    {"X = @/tmp/rsp\nINCLUDES += -D $(X)", 1},
    {"TOP = -include /tmp/x", 1},
    {"PTXAS_FLAGS += -optf /tmp/x", 1},
    {"CPATH = /tmp", 1},
    {"INCLUDES += -isystem", 1},
    {"# x\rINCLUDES += -I/x", 1},
    {"nonsense", 1},
};

START_TEST(pitfall_05_a_profile_that_reaches_outside_is_not_proved) {
    const struct profile *row = &profiles[_i];
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.target = "sm_90";
    slt_write_file(slt_path(top, "bin/nvcc.profile", NULL), row->lines, strlen(row->lines), 0644);
    slt_ok(fake_open_compiler(world, top, "nvcc"), &world->err);
    cuda_expect(world, cuda_compile_text(world, fake_source, "k.cu", &options), SLW_OK);
    ck_assert_msg((world->report.disposition == SLW_PRIVATE) == row->is_private, "%s: %s", row->lines,
                  world->report.reason);
    if (row->is_private) ck_assert_ptr_nonnull(strstr(world->report.reason, "nvcc.profile"));
}
END_TEST

START_TEST(pitfall_03_a_tool_replaced_during_the_build) {
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.target = "sm_90";
    slt_ok(fake_open_compiler(world, top, "nvcc"), &world->err);
    cuda_expect(world, cuda_compile_text(world, "// REPLACE\n", "k.cu", &options), SLW_OK);
    ck_assert_int_eq(world->report.disposition, SLW_PRIVATE);
    ck_assert_ptr_nonnull(strstr(world->report.reason, "cicc"));
    cuda_forget(world);
    cuda_nothing_left(world);
}
END_TEST

/* ---- the memo ---- */

START_TEST(a_hot_run_starts_nothing) {
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.target = "sm_90";
    slt_ok(fake_open_compiler(world, top, "nvcc"), &world->err);
    cuda_expect(world, cuda_compile_text(world, fake_source, "k.cu", &options), SLW_OK);
    ck_assert_msg(world->report.disposition == SLW_PUBLISHED, "%s", world->report.reason);
    cuda_close_compiler(world);
    slw_memo_close(&world->memo);
    slw_memo_options memo = SLW_MEMO_OPTIONS_INIT;
    memo.directory = cuda_memo_directory;
    slt_ok(slw_memo_open(&memo, &world->memo, &world->err), &world->err);
    const uint64_t before = slwi_process_count();
    slt_ok(cuda_open_compiler(world, slt_path(top, "bin/nvcc", NULL), "/nonexistent"), &world->err);
    cuda_expect(world, cuda_compile_text(world, fake_source, "k.cu", &options), SLW_OK);
    ck_assert_int_eq(world->report.disposition, SLW_HIT);
    ck_assert_uint_eq(slwi_process_count(), before);
}
END_TEST

/* ---- tools that are not as they should be ---- */

START_TEST(no_tool_says_how_to_get_it) {
    const slw_code rc = cuda_open_compiler(world, "nvcc-of-nowhere", slt_path(top, "lib", NULL));
    cuda_expect(world, rc, SLW_E_TOOL_MISSING);
    ck_assert_str_eq(world->err.reason, "NO_COMPILER");
    ck_assert_ptr_nonnull(strstr(world->err.tried, "/lib/nvcc-of-nowhere"));
    ck_assert_ptr_nonnull(strstr(world->err.tried, "/usr/local/cuda/bin/nvcc-of-nowhere"));
    ck_assert_ptr_nonnull(strstr(world->err.hint, "CUDA toolkit"));
    ck_assert_ptr_null(world->compiler);
}
END_TEST

START_TEST(the_search_path_comes_first) {
    slt_ok(cuda_open_compiler(world, NULL, slt_path(top, "bin", NULL)), &world->err);
    ck_assert_str_eq(slw_compiler_path(world->compiler), slt_path(top, "bin/nvcc", NULL));
}
END_TEST

START_TEST(a_script_in_the_search_path_is_passed_over) {
    const char *first = slt_scratch();
    char path[8400];
    slt_write_file(slt_path(first, "nvcc", NULL), "#!/bin/sh\nexit 1\n", 17, 0755);
    (void)snprintf(path, sizeof(path), "%s:%s/bin", first, top);
    slt_ok(cuda_open_compiler(world, NULL, path), &world->err);
    ck_assert_str_eq(slw_compiler_path(world->compiler), slt_path(top, "bin/nvcc", NULL));
}
END_TEST

START_TEST(ptxas_alone_assembles_ptx) {
    char *text = cuda_fixture_text("ptx/k1_90.ptx");
    slt_ok(fake_open_compiler(world, top, "ptxas"), &world->err);
    slt_ok(slw_identity_usable(slw_compiler_identity(world->compiler), &world->err), &world->err);
    cuda_expect(world, cuda_compile_for(world, text, "k.ptx", NULL), SLW_OK);
    ck_assert_msg(world->report.disposition == SLW_PUBLISHED, "%s", world->report.reason);
    cuda_expect(world, cuda_compile_for(world, fake_source, "k.cu", "sm_90"), SLW_E_TOOL_MISSING);
    ck_assert_str_eq(world->err.reason, "NO_COMPILER");
    ck_assert_ptr_nonnull(strstr(world->err.hint, "nvcc"));
    free(text);
}
END_TEST

START_TEST(an_nvcc_of_before_the_seed) {
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.target = "sm_90";
    slt_shell("touch '%s/answers/old'", top);
    slt_ok(fake_open_compiler(world, top, "nvcc"), &world->err);
    cuda_expect(world, cuda_compile_text(world, fake_source, "k.cu", &options), SLW_OK);
    ck_assert_msg(world->report.disposition == SLW_PUBLISHED, "%s", world->report.reason);
    slt_shell("grep -q -- -ptx '%s/seen' && ! grep -q -- seed '%s/seen'", top, top);
}
END_TEST

START_TEST(a_script_is_not_proved) {
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.target = "sm_90";
    slt_shell("cd '%s/bin' && mv nvcc real && ln -s real nvcc.d && printf '#!/bin/sh\\nexec \"%s/bin/hidden/bin/nvcc\" "
              "\"$@\"\\n' "
              ">nvcc && chmod 755 nvcc && mkdir -p hidden && cp -r ../answers ../nvvm ../targets ../lib hidden/ && "
              "mkdir hidden/bin && cp ptxas cudafe++ fatbinary nvcc.profile hidden/bin/ && cp real hidden/bin/nvcc",
              top, top);
    slt_ok(fake_open_compiler(world, top, "nvcc"), &world->err);
    cuda_expect(world, cuda_compile_text(world, fake_source, "k.cu", &options), SLW_OK);
    ck_assert_int_eq(world->report.disposition, SLW_PRIVATE);
    ck_assert_ptr_nonnull(strstr(world->report.reason, "compiler"));
}
END_TEST

static const struct broken {
    const char *how, *words;
} broken[] = {
    {"rm nvvm/bin/cicc; sed -i '/cicc/d' answers/dryrun.txt", "where its programs are"},
    {"sed -i '/TOP=/d' answers/dryrun.txt", "where its programs are"},
    {"rm answers/dryrun.txt", "what it would do"},
    {"echo hello >answers/nvcc-version.txt", "which CUDA tool"},
    {"echo hello >answers/ptxas-version.txt", "which CUDA tool"},
    {"echo hello >answers/ptxas-help.txt", "what it compiles for"},
};

START_TEST(what_is_no_nvcc_is_refused) {
    slt_shell("cd '%s' && %s", top, broken[_i].how);
    cuda_expect(world, fake_open_compiler(world, top, "nvcc"), SLW_E_UNSUPPORTED);
    ck_assert_str_eq(world->err.reason, "UNKNOWN_COMPILER");
    ck_assert_msg(strstr(world->err.message, broken[_i].words) != NULL, "%s", world->err.message);
    ck_assert_ptr_nonnull(strstr(world->err.hint, "wrapper"));
}
END_TEST

int main(void) {
    Suite *s = suite_create("backend/nvcc_toolchain");
    TCase *c = tcase_create("toolchain");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, setup, teardown);
    suite_add_tcase(s, c);
    tcase_add_test(c, versions_of_ptx_are_read_or_not);
    if (!fake_prepare("nvcc_toolchain")) return slt_run(s, NULL);
    tcase_add_test(c, all_of_it_is_found);
    tcase_add_loop_test(c, pitfall_05_what_changes_in_the_toolkit_changes_the_key, 0,
                        (int)(sizeof(changes) / sizeof(*changes)));
    tcase_add_loop_test(c, pitfall_05_a_profile_that_reaches_outside_is_not_proved, 0,
                        (int)(sizeof(profiles) / sizeof(*profiles)));
    tcase_add_test(c, pitfall_05_libraries_for_certain_processors_are_not_proved);
    tcase_add_test(c, pitfall_03_a_tool_replaced_during_the_build);
    tcase_add_test(c, a_hot_run_starts_nothing);
    tcase_add_test(c, no_tool_says_how_to_get_it);
    tcase_add_test(c, the_search_path_comes_first);
    tcase_add_test(c, a_script_in_the_search_path_is_passed_over);
    tcase_add_test(c, ptxas_alone_assembles_ptx);
    tcase_add_test(c, an_nvcc_of_before_the_seed);
    tcase_add_test(c, a_script_is_not_proved);
    tcase_add_loop_test(c, what_is_no_nvcc_is_refused, 0, (int)(sizeof(broken) / sizeof(*broken)));
    const int status = cuda_main(s);
    (void)unlink(fake_program);
    return status;
}
