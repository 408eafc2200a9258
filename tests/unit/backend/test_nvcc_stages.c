/* The stages on a made-up nvcc: what it is given, and every way in which it can fail. */
#include "fake_cuda.h"

#include <signal.h>
#include <sys/stat.h>
#include <time.h>

static cuda_world *world;
static const char *top;

static void setup(void) {
    world = malloc(sizeof(*world));
    ck_assert_ptr_nonnull(world);
    cuda_open_store(world);
    top = fake_toolkit();
    slt_ok(fake_open_compiler(world, top, "nvcc"), &world->err);
}

static void teardown(void) {
    cuda_close(world);
    free(world);
}

static slw_code compile(const char *text) {
    return cuda_compile_for(world, text, "src/k.cu", "sm_90");
}

/* ---- what it is given ---- */

START_TEST(the_command_line_and_the_environment) {
    cuda_expect(world, compile(fake_source), SLW_OK);
    ck_assert_msg(world->report.disposition == SLW_PUBLISHED, "%s", world->report.reason);
    size_t size;
    char *seen = slt_read_file(slt_path(top, "seen", NULL), &size);
    static const char *const wanted[] = {
        "argument -arch=compute_90\n",
        "argument -ccbin\n",
        "argument -ptx\n",
        "argument -m64\n",
        "argument -frandom-seed=slipway-",
        "argument --orig_src_path_name,/slipway/",
        "argument -ffile-prefix-map=/proc/self/cwd/source.cu=src/k.cu\n",
        "argument /proc/self/cwd/source.cu\n",
        "variable LC_ALL=C\n",
        "variable SOURCE_DATE_EPOCH=0\n",
        "variable TMPDIR=tmp\n",
        "variable PWD=/proc/self/cwd\n",
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
        ck_assert_msg(strstr(seen, wanted[i]) != NULL, "%s\n%s", wanted[i], seen);
    size_t variables = 0;
    for (const char *at = seen; (at = strstr(at, "variable ")) != NULL; at++) variables++;
    ck_assert_uint_eq(variables, 5);
    char path[4200];
    (void)snprintf(path, sizeof(path), "variable PATH=%s/bin:/usr/bin:", top);
    ck_assert_msg(strstr(seen, path) != NULL, "%s", seen);
    free(seen);
}
END_TEST

/* A source's name passes through nvcc's lists and its shell: nothing there may be anything but a name. */
START_TEST(names_are_only_names) {
    size_t size;
    cuda_expect(world, cuda_compile_for(world, fake_source, "a b,$(touch x)`y`\"k.cu", "sm_90"), SLW_OK);
    char *seen = slt_read_file(slt_path(top, "seen", NULL), &size);
    ck_assert_ptr_nonnull(strstr(seen, "source.cu=a_b___touch_x__y__k.cu\n"));
    free(seen);
}
END_TEST

START_TEST(the_shell_is_given_nothing_to_read) {
    static const char *const texts[] = {"-DX=$(touch /tmp/x)", "-DX=`touch /tmp/x`", "-DX=\\", "-DX=\"a\"", "-DX=a\nb"};
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.target = "sm_90";
    options.flag_count = 1;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        options.flags = &texts[i];
        cuda_expect(world, cuda_compile_text(world, fake_source, "k.cu", &options), SLW_E_USAGE);
        ck_assert_str_eq(world->err.reason, "SHELL");
        ck_assert_str_eq(world->err.subject, texts[i]);
    }
    slw_source source = SLW_SOURCE_INIT;
    /* nvcc takes a root apart at commas and quotes, and drops outer blanks. */
    static const char *const apart[] = {"/tmp/$(touch x)", "/tmp/a,b", "/tmp/a'b", "/tmp/a ", "/tmp/a\t"};
    const char *roots[1];
    source.text = (slw_bytes){fake_source, strlen(fake_source)};
    source.name = "k.cu";
    source.include_roots = roots;
    source.include_root_count = 1;
    options.flag_count = 0;
    for (size_t i = 0; i < sizeof(apart) / sizeof(*apart); i++) {
        roots[0] = apart[i];
        cuda_forget(world);
        cuda_expect(world, slw_compile(world->compiler, &source, &options, &world->report, &world->cached, &world->err),
                    SLW_E_USAGE);
        ck_assert_str_eq(world->err.reason, "SHELL");
        ck_assert_str_eq(world->err.path, apart[i]);
    }
    slt_shell("test ! -e '%s/seen'", top);
}
END_TEST

START_TEST(temporary_files_go_where_they_are_wanted) {
    slw_compiler_options options = SLW_COMPILER_OPTIONS_INIT;
    const char *scratch = slt_scratch();
    char wanted[4200];
    size_t size;
    cuda_close_compiler(world);
    options.store = world->store;
    options.backend = "cuda";
    options.compiler = slt_path(top, "bin/nvcc", NULL);
    options.memo = world->memo;
    options.temporary_root = scratch;
    slt_ok(slw_compiler_open(&options, &world->compiler, &world->err), &world->err);
    cuda_expect(world, compile(fake_source), SLW_OK);
    char *seen = slt_read_file(slt_path(top, "seen", NULL), &size);
    (void)snprintf(wanted, sizeof(wanted), "variable TMPDIR=%s/slipway-", scratch);
    ck_assert_msg(strstr(seen, wanted) != NULL, "%s", seen);
    free(seen);
    slt_shell("test -z \"$(ls -A '%s')\"", scratch);
    slw_compiler_close(&world->compiler);
    const char *odd = slt_path(scratch, "a$b", NULL);
    ck_assert_int_eq(mkdir(odd, 0700), 0);
    options.temporary_root = odd;
    slt_ok(slw_compiler_open(&options, &world->compiler, &world->err), &world->err);
    cuda_expect(world, compile("// other\n"), SLW_E_USAGE);
    ck_assert_str_eq(world->err.reason, "SHELL");
}
END_TEST

START_TEST(a_fatbin_only_where_it_can_be_made) {
    static const char *const flags[] = {"-fatbin=sm_80"};
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    char *text = cuda_fixture_text("ptx/k1_90.ptx");
    options.target = "sm_90";
    options.flags = flags;
    options.flag_count = 1;
    cuda_expect(world, cuda_compile_text(world, text, "k.ptx", &options), SLW_OK); /* ptxas's to judge, and private */
    ck_assert_int_eq(world->report.disposition, SLW_PRIVATE);
    options.override_stage = "ptx";
    options.override_path = slt_fixture("ptx/k1_90.ptx");
    cuda_expect(world, cuda_compile_text(world, fake_source, "k.cu", &options), SLW_E_USAGE);
    ck_assert_str_eq(world->err.reason, "FATBIN");
    free(text);
}
END_TEST

/* ---- how it fails ---- */

static const struct failing {
    const char *text;
    slw_code code;
    const char *reason, *words;
    uint32_t line;
    int64_t status;
} failing[] = {
    {"// KILL\n", SLW_E_COMPILE_FAILED, "COMPILER", "status 137", 0, 137},
    {"// SILENT\n", SLW_E_COMPILE_FAILED, "COMPILER", "said nothing", 0, 3},
    {"// NOTHING\n", SLW_E_COMPILE_FAILED, "NO_OUTPUT", "kernel.ptx", 0, 0},
    {"// HUGE\n", SLW_E_COMPILE_FAILED, "COMPILER", "the first of many", 3, 2},
};

START_TEST(every_failure_is_typed_and_leaves_nothing) {
    const struct failing *f = &failing[_i];
    cuda_expect(world, compile(f->text), f->code);
    ck_assert_str_eq(world->err.reason, f->reason);
    ck_assert_msg(strstr(world->err.message, f->words) != NULL, "%s", world->err.message);
    ck_assert_int_eq(world->err.raw_code, f->status);
    ck_assert_uint_eq(world->err.line, f->line);
    if (f->line != 0) {
        ck_assert_str_eq(world->err.path, "src/k.cu");
        ck_assert_ptr_nonnull(strstr(world->words, "src/k.cu(3): error: the first of many"));
        ck_assert_uint_lt(strlen(world->words), sizeof(world->words));
    }
    cuda_nothing_left(world);
}
END_TEST

static void is_gone(long process) {
    for (int i = 0; i < 200; i++) {
        char path[64];
        char line[256] = "";
        (void)snprintf(path, sizeof(path), "/proc/%ld/stat", process);
        FILE *file = fopen(path, "r");
        if (file == NULL || fgets(line, sizeof(line), file) == NULL || strstr(line, ") Z ") != NULL) {
            if (file != NULL) (void)fclose(file);
            return;
        }
        (void)fclose(file);
        (void)nanosleep(&(struct timespec){0, 50000000}, NULL);
    }
    ck_abort_msg("process %ld is still there", process);
}

START_TEST(one_that_hangs_is_ended_with_its_children) {
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    size_t size;
    options.target = "sm_90";
    options.timeout_ns = 1000000000;
    cuda_expect(world, cuda_compile_text(world, "// HANG\n", "k.cu", &options), SLW_E_TIMEOUT);
    char *child = slt_read_file(slt_path(top, "child", NULL), &size);
    is_gone(strtol(child, NULL, 10));
    free(child);
    cuda_nothing_left(world);
}
END_TEST

START_TEST(what_ptxas_says_has_its_place) {
    slt_shell("echo '// BADLINE' >>'%s/answers/kernel.ptx'", top);
    cuda_expect(world, compile(fake_source), SLW_E_COMPILE_FAILED);
    ck_assert_str_eq(world->err.path, "kernel.ptx");
    ck_assert_uint_eq(world->err.line, 3);
    ck_assert_ptr_nonnull(strstr(world->words, "ptxas kernel.ptx, line 3; error   : not that"));
    cuda_nothing_left(world);
}
END_TEST

START_TEST(pitfall_04_what_nvcc_read_outside_is_named) {
    char text[4200];
    cuda_expect(world, compile("// READS /etc/hostname\n"), SLW_OK);
    ck_assert_int_eq(world->report.disposition, SLW_PRIVATE);
    ck_assert_ptr_nonnull(strstr(world->report.reason, "/etc/hostname"));
    (void)snprintf(text, sizeof(text), "// READS %s/targets/x86_64-linux/include/cccl/atomic\n", top);
    cuda_expect(world, compile(text), SLW_OK);
    ck_assert_msg(world->report.disposition == SLW_PUBLISHED, "%s", world->report.reason);
    cuda_expect(world, compile("// READS /proc/self/cwd/source.cu\n"), SLW_OK);
    ck_assert_msg(world->report.disposition == SLW_PUBLISHED, "%s", world->report.reason);
    cuda_expect(world, compile("// READS /proc/self/cwd/other.h\n"), SLW_OK);
    ck_assert_int_eq(world->report.disposition, SLW_PRIVATE);
    cuda_expect(world, compile("#if __has_include(\"/etc/passwd\")\n#endif\n"), SLW_OK);
    ck_assert_int_eq(world->report.disposition, SLW_PRIVATE);
    ck_assert_ptr_nonnull(strstr(world->report.reason, "__has_include"));
}
END_TEST

/* ---- a front end's own form ---- */

static const char *lowered_text;

static slw_code lower(void *context, slw_text *out, slw_error *err) {
    (*(int *)context)++;
    return slw_text_copy(NULL, (slw_bytes){lowered_text, strlen(lowered_text)}, out, err);
}

static slw_code compile_lowered(int *count, const char *extension, const char *target) {
    static slw_record *body;
    slw_lowered_source lowered = SLW_LOWERED_SOURCE_INIT;
    slw_source source = SLW_SOURCE_INIT;
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    if (body == NULL) slt_ok(slw_record_string(NULL, (slw_bytes){"def f", 5}, &body, &world->err), &world->err);
    lowered.language = "tiny 1";
    lowered.body = body;
    lowered.lower = lower;
    lowered.context = count;
    source.lowered = &lowered;
    source.name = "f";
    source.extension = extension;
    options.target = target;
    cuda_forget(world);
    return slw_compile(world->compiler, &source, &options, &world->report, &world->cached, &world->err);
}

START_TEST(ptx_that_a_front_end_made) {
    int count = 0;
    lowered_text = ".version 8.0\n.target sm_90\n.entry (\n";
    cuda_expect(world, compile_lowered(&count, "ptx", NULL), SLW_E_UNSUPPORTED_INPUT);
    ck_assert_str_eq(world->err.reason, "TARGET");
    ck_assert_int_eq(count, 0);
    cuda_expect(world, compile_lowered(&count, "ptx", "sm_90"), SLW_E_INVALID_PTX);
    ck_assert_uint_eq(world->err.line, 3);
    cuda_nothing_left(world);
    char *text = cuda_fixture_text("ptx/k1_90.ptx");
    lowered_text = text;
    cuda_expect(world, compile_lowered(&count, "ptx", "sm_90"), SLW_OK);
    ck_assert_msg(world->report.disposition == SLW_PUBLISHED, "%s", world->report.reason);
    ck_assert_int_eq(count, 2);
    cuda_expect(world, compile_lowered(&count, "ptx", "sm_90"), SLW_OK);
    ck_assert_int_eq(world->report.disposition, SLW_HIT);
    ck_assert_int_eq(count, 2);
    free(text);
}
END_TEST

int main(void) {
    Suite *s = suite_create("backend/nvcc_stages");
    TCase *c = tcase_create("stages");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, setup, teardown);
    suite_add_tcase(s, c);
    if (!fake_prepare("nvcc_stages")) return slt_run(s, NULL);
    tcase_add_test(c, the_command_line_and_the_environment);
    tcase_add_test(c, names_are_only_names);
    tcase_add_test(c, the_shell_is_given_nothing_to_read);
    tcase_add_test(c, temporary_files_go_where_they_are_wanted);
    tcase_add_test(c, a_fatbin_only_where_it_can_be_made);
    tcase_add_loop_test(c, every_failure_is_typed_and_leaves_nothing, 0, (int)(sizeof(failing) / sizeof(*failing)));
    tcase_add_test(c, one_that_hangs_is_ended_with_its_children);
    tcase_add_test(c, what_ptxas_says_has_its_place);
    tcase_add_test(c, pitfall_04_what_nvcc_read_outside_is_named);
    tcase_add_test(c, ptx_that_a_front_end_made);
    const int status = cuda_main(s);
    (void)unlink(fake_program);
    return status;
}
