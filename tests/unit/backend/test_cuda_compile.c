/* CUDA C and PTX through compile(), with the real nvcc and ptxas where they are installed: cold, hot, refused. */
#include "cuda_fixture.h"

#include <sys/mount.h>
#include <sys/stat.h>

static cuda_world *world;

static void setup(void) {
    world = malloc(sizeof(*world));
    ck_assert_ptr_nonnull(world);
    cuda_open(world);
}

static void teardown(void) {
    cuda_close(world);
    free(world);
}

static const char kernel[] = "extern \"C\" __global__ void scale(float *data, int count, float factor) {\n"
                             "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    if (i < count) data[i] *= factor;\n"
                             "}\n";

static slw_code compile(const char *text, const char *name, const char *target) {
    return cuda_compile_for(world, text, name, target);
}

static slw_code compile_with(const char *text, const char *const *flags, size_t count) {
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.target = "sm_90";
    options.flags = flags;
    options.flag_count = count;
    return cuda_compile_text(world, text, "k.cu", &options);
}

static void expect(slw_code got, slw_code expected, const char *reason) {
    cuda_expect(world, got, expected);
    if (reason != NULL) ck_assert_str_eq(world->err.reason, reason);
}

static void expect_disposition(slw_disposition expected) {
    ck_assert_msg(world->report.disposition == expected, "%d: %s", (int)world->report.disposition,
                  world->report.reason);
}

/* ---- cold and hot ---- */

START_TEST(cold_then_hot) {
    size_t size;
    expect(compile(kernel, "scale.cu", "sm_90a"), SLW_OK, NULL);
    expect_disposition(SLW_PUBLISHED);
    char *ptx = cuda_payload(world, "kernel.ptx", &size);
    ck_assert_ptr_nonnull(strstr(ptx, ".target sm_90a"));
    free(ptx);
    free(cuda_payload(world, "kernel.cubin", &size));
    char *document = cuda_payload(world, "slipway.json", &size);
    ck_assert_ptr_nonnull(strstr(document, "/usr/local/cuda/bin/nvcc"));
    ck_assert_ptr_nonnull(strstr(document, "libdevice"));
    ck_assert_ptr_nonnull(strstr(document, "nvcc.profile"));
    ck_assert_ptr_nonnull(strstr(document, "cc1plus"));
    ck_assert_ptr_nonnull(strstr(document, "cudafe++"));
    ck_assert_ptr_nonnull(strstr(document, "fatbinary"));
    free(document);
    cuda_close_compiler(world);
    const uint64_t before = slwi_process_count();
    slt_ok(cuda_open_compiler(world, NULL, "/nonexistent"), &world->err);
    expect(compile(kernel, "scale.cu", "sm_90a"), SLW_OK, NULL);
    expect_disposition(SLW_HIT);
    ck_assert_uint_eq(slwi_process_count(), before);
    /* Another target, another name: other keys. */
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.target = "sm_90";
    expect(cuda_compile_text(world, kernel, "scale.cu", &options), SLW_OK, NULL);
    expect_disposition(SLW_PUBLISHED);
}
END_TEST

static void keep_build(const slw_compile_options *options, const char *text, char *out[2], size_t sizes[2]) {
    expect(cuda_compile_text(world, text, "dir/values.cu", options), SLW_OK, NULL);
    expect_disposition(SLW_PRIVATE);
    out[0] = cuda_payload(world, "kernel.ptx", &sizes[0]);
    out[1] = cuda_payload(world, "kernel.cubin", &sizes[1]);
}

/* Names of what has none, line tables and debug information: nothing of the place it was built in is left in them. */
START_TEST(two_builds_in_two_places_are_equal) {
    static const char *const flags[] = {"-lineinfo", "-G"};
    char *text = cuda_fixture_text("cu/values.cu");
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.target = "sm_90";
    options.always_compile = 1;
    options.flags = &flags[_i];
    options.flag_count = 1;
    char *first[2];
    char *second[2];
    size_t first_sizes[2];
    size_t second_sizes[2];
    keep_build(&options, text, first, first_sizes);
    cuda_close(world);
    ck_assert_int_eq(setenv("TMPDIR", slt_path(slt_scratch(), NULL), 1), 0);
    cuda_open(world);
    keep_build(&options, text, second, second_sizes);
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(first_sizes[i], second_sizes[i]);
        ck_assert_mem_eq(first[i], second[i], first_sizes[i]);
        free(first[i]);
        free(second[i]);
    }
    free(text);
}
END_TEST

/* ---- PTX ---- */

START_TEST(ptx_has_its_own_target) {
    char *text = cuda_fixture_text("ptx/k1_90.ptx");
    const uint64_t before = slwi_process_count();
    expect(compile(text, "k1.ptx", NULL), SLW_OK, NULL);
    expect_disposition(SLW_PUBLISHED);
    ck_assert_uint_eq(slwi_process_count(), before + 1); /* ptxas, and no more */
    slt_shell("test ! -e '%s/kernel.ptx'", slw_cached_directory(world->cached));
    slw_hydrated *hydrated = NULL;
    slt_ok(slw_hydrate(&world->cached, NULL, &hydrated, &world->err), &world->err);
    ck_assert_str_eq(slw_hydrated_contract(hydrated)->target, "sm_90");
    ck_assert_ptr_nonnull(slw_contract_find(slw_hydrated_contract(hydrated), "add_f32"));
    slw_hydrated_discard(&hydrated);
    expect(compile(text, "k1.ptx", "sm_90"), SLW_OK, NULL);
    expect_disposition(SLW_HIT);
    expect(compile(text, "k1.ptx", "sm_100"), SLW_OK, NULL);
    expect_disposition(SLW_PUBLISHED);
    expect(compile(text, "k1.ptx", "sm_80"), SLW_E_TARGET_MISMATCH, "ARCHITECTURE");
    free(text);
}
END_TEST

static const struct bad_ptx {
    const char *text;
    slw_code code;
    const char *reason;
    uint32_t line, column;
} bad_ptx[] = {
    {".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry (\n", SLW_E_INVALID_PTX, "BAD_NAME", 4, 17},
    {".version 8.0\n.target sm_90\n.address_size 64\n.func f() { ret; }\n", SLW_E_INVALID_PTX, "NO_ENTRY", 5, 0},
    {".version 99.9\n.target sm_90\n.address_size 64\n.entry k() { ret; }\n", SLW_E_UNSUPPORTED_INPUT, "ISA_VERSION", 0,
     0},
    {".version 8.0\n.target sm_52\n.address_size 64\n.entry k() { ret; }\n", SLW_E_UNSUPPORTED_INPUT, "TARGET", 0, 0},
    {".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n  frobnicate;\n  ret;\n}\n", SLW_E_COMPILE_FAILED,
     "COMPILER", 5, 0},
};

START_TEST(ptx_that_is_refused) {
    const struct bad_ptx *bad = &bad_ptx[_i];
    expect(compile(bad->text, "dir/bad.ptx", NULL), bad->code, bad->reason);
    if (bad->line != 0) {
        ck_assert_str_eq(world->err.path, "dir/bad.ptx");
        ck_assert_uint_eq(world->err.line, bad->line);
        if (bad->column != 0) ck_assert_uint_eq(world->err.column, bad->column);
    }
    if (bad->code == SLW_E_COMPILE_FAILED) ck_assert_ptr_nonnull(strstr(world->words, "dir/bad.ptx, line 5"));
    cuda_nothing_left(world);
}
END_TEST

/* ---- targets ---- */

START_TEST(every_target_that_ptxas_lists) {
    static const char text[] = ".version 8.0\n.target sm_52\n.address_size 64\n.entry k() { ret; }\n";
    static const char line_for[] = ".version 9.0\n.target %s\n.address_size 64\n.entry k() { ret; }\n";
    char targets[1024];
    size_t count = 0;
    expect(compile(text, "k.ptx", "sm_1"), SLW_E_UNSUPPORTED_INPUT, "TARGET");
    (void)snprintf(targets, sizeof(targets), "%s", world->err.tried);
    ck_assert_ptr_nonnull(strstr(targets, "sm_90a"));
    for (char *at = strtok(targets, "\n"); at != NULL; at = strtok(NULL, "\n"), count++) {
        char source[256];
        (void)snprintf(source, sizeof(source), line_for, at);
        expect(compile(source, "k.ptx", NULL), SLW_OK, NULL);
        slw_hydrated *hydrated = NULL;
        slt_ok(slw_hydrate(&world->cached, NULL, &hydrated, &world->err), &world->err);
        ck_assert_str_eq(slw_hydrated_contract(hydrated)->target, at);
        slw_hydrated_discard(&hydrated);
    }
    ck_assert_uint_ge(count, 10);
}
END_TEST

START_TEST(cuda_c_needs_a_target) {
    expect(compile(kernel, "k.cu", NULL), SLW_E_UNSUPPORTED_INPUT, "TARGET");
    ck_assert_ptr_nonnull(strstr(world->err.tried, "sm_90a"));
    expect(compile(kernel, "k.cu", "sm_30"), SLW_E_UNSUPPORTED_INPUT, "TARGET");
    ck_assert_str_eq(world->err.subject, "sm_30");
    ck_assert_ptr_nonnull(strstr(world->err.tried, "sm_100f"));
    ck_assert_ptr_nonnull(strstr(world->err.message, "sm_30"));
    expect(compile(kernel, "k.cu", "sm_90b"), SLW_E_UNSUPPORTED_INPUT, "TARGET");
    expect(compile(kernel, "k.cu", "sm_100f"), SLW_OK, NULL);
    slw_hydrated *hydrated = NULL;
    slt_ok(slw_hydrate(&world->cached, NULL, &hydrated, &world->err), &world->err);
    ck_assert_str_eq(slw_hydrated_contract(hydrated)->target, "sm_100f");
    slw_hydrated_discard(&hydrated);
}
END_TEST

/* ---- errors ---- */

START_TEST(a_syntax_error_has_a_place) {
    expect(compile("__global__ void f(int *p) {\n    q = 1;\n}\n", "src/k.cu", "sm_90"), SLW_E_COMPILE_FAILED,
           "COMPILER");
    ck_assert_str_eq(world->err.path, "src/k.cu");
    ck_assert_uint_eq(world->err.line, 2);
    ck_assert_ptr_nonnull(strstr(world->err.message, "identifier \"q\" is undefined"));
    ck_assert_ptr_nonnull(strstr(world->words, "src/k.cu(2): error"));
    ck_assert_ptr_null(strstr(world->words, "/proc/self"));
    cuda_nothing_left(world);
    /* The preprocessor's words are the host compiler's. */
    expect(compile("\n#error no\n", "k.cu", "sm_90"), SLW_E_COMPILE_FAILED, "COMPILER");
    ck_assert_str_eq(world->err.path, "k.cu");
    ck_assert_uint_eq(world->err.line, 2);
    ck_assert_uint_eq(world->err.column, 2);
    cuda_nothing_left(world);
}
END_TEST

START_TEST(what_ptxas_refuses_of_cuda_c) {
    char *text = cuda_fixture_text("cubin/src/big.cu");
    expect(compile(text, "big.cu", "sm_90"), SLW_E_COMPILE_FAILED, "COMPILER");
    ck_assert_ptr_nonnull(strstr(world->err.message, "uses too much shared data"));
    cuda_nothing_left(world);
    free(text);
}
END_TEST

START_TEST(no_kernels) {
    expect(compile("__device__ int f(int x) { return x; }\n", "k.cu", "sm_90"), SLW_E_INVALID_BINARY, NULL);
    cuda_nothing_left(world);
}
END_TEST

START_TEST(time_is_up) {
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.target = "sm_90";
    options.timeout_ns = 100000000;
    expect(cuda_compile_text(world, kernel, "k.cu", &options), SLW_E_TIMEOUT, NULL);
    cuda_nothing_left(world);
}
END_TEST

START_TEST(no_space) {
    if (mount("none", world->private_root, "tmpfs", 0, "size=256k,mode=700") != 0) {
        slt_skip("no_space", "a small file system cannot be mounted here");
        return;
    }
    const slw_code rc = compile(kernel, "k.cu", "sm_90");
    cuda_forget(world);
    slt_shell("test -z \"$(ls -A '%s')\"", world->private_root);
    ck_assert_int_eq(umount(world->private_root), 0);
    ck_assert_msg(rc == SLW_E_COMPILE_FAILED || rc == SLW_E_STORAGE, "%s %s", slw_code_name(rc), world->err.message);
    ck_assert_msg(strstr(world->words, "No space left") != NULL || strstr(world->err.message, "ENOSPC") != NULL,
                  "%s\n%s", world->err.message, world->words);
    cuda_nothing_left(world);
}
END_TEST

/* ---- options ---- */

START_TEST(options_reach_the_tools_and_the_key) {
    static const char text[] = "extern \"C\" __global__ void k(float *p) { p[0] = FACTOR / p[1]; }\n";
    static const char *const one[] = {"-DFACTOR=1.0f", "-use_fast_math"};
    static const char *const same[] = {"--define-macro=FACTOR=1.0f", "--use_fast_math"};
    static const char *const other[] = {"-DFACTOR=2.0f", "-Xptxas", "-O1,-v", "-maxrregcount=24"};
    size_t size;
    expect(compile_with(text, one, 2), SLW_OK, NULL);
    expect_disposition(SLW_PUBLISHED);
    char *ptx = cuda_payload(world, "kernel.ptx", &size);
    ck_assert_ptr_nonnull(strstr(ptx, "approx.ftz"));
    free(ptx);
    expect(compile_with(text, same, 2), SLW_OK, NULL);
    expect_disposition(SLW_HIT);
    expect(compile_with(text, other, 4), SLW_OK, NULL);
    expect_disposition(SLW_PUBLISHED);
}
END_TEST

START_TEST(options_outside_the_key_are_private) {
    static const char *const flags[] = {"-Xcompiler", "-O1"};
    expect(compile_with(kernel, flags, 2), SLW_OK, NULL);
    expect_disposition(SLW_PRIVATE);
    ck_assert_ptr_nonnull(strstr(world->report.reason, "OPTION -Xcompiler"));
}
END_TEST

/* ---- pitfall 4: headers ---- */

START_TEST(pitfall_04_headers_of_nvcc) {
    static const char text[] = "#include \"factor.h\"\n#include <cuda_fp16.h>\n"
                               "extern \"C\" __global__ void k(float *p) { p[0] = FACTOR; }\n";
    const char *root = slt_scratch();
    const char *roots[] = {root};
    slw_source source = SLW_SOURCE_INIT;
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    source.text = (slw_bytes){text, sizeof(text) - 1};
    source.name = "k.cu";
    source.include_roots = roots;
    source.include_root_count = 1;
    options.target = "sm_90";
    for (int i = 0; i < 2; i++) {
        slt_write_file(slt_path(root, "factor.h", NULL), i == 0 ? "#define FACTOR 1" : "#define FACTOR 2", 16, 0644);
        expect(slw_compile(world->compiler, &source, &options, &world->report, &world->cached, &world->err), SLW_OK,
               NULL);
        expect_disposition(SLW_PUBLISHED);
        cuda_forget(world);
    }
    /* By its whole name it lies in nothing that is in the key. */
    char outside[4096];
    (void)snprintf(outside, sizeof(outside),
                   "#include \"%s/factor.h\"\nextern \"C\" __global__ void k(float *p) { p[0] = FACTOR; }\n", root);
    expect(compile(outside, "k.cu", "sm_90"), SLW_OK, NULL);
    expect_disposition(SLW_PRIVATE);
    ck_assert_ptr_nonnull(strstr(world->report.reason, "factor.h"));
}
END_TEST

/* ---- pitfall 5: the environment ---- */

START_TEST(pitfall_05_nvcc_inherits_nothing) {
    static const char *const hostile[][2] = {
        {"NVCC_APPEND_FLAGS", "-DTRAP"},
        {"NVCC_PREPEND_FLAGS", "-DTRAP"},
        {"NVCC_CCBIN", "/nonexistent/g++"},
        {"CUDA_PATH", "/nonexistent"},
        {"CUDA_HOME", "/nonexistent"},
        {"CICC_PATH", "/nonexistent"},
        {"CPATH", "/nonexistent"},
        {"LD_LIBRARY_PATH", "/nonexistent"},
        {"CPLUS_INCLUDE_PATH", "/nonexistent"},
        {"SOURCE_DATE_EPOCH", "12345"},
        {"PATH", "/nonexistent"},
        {"PWD", "/somewhere"},
        {"NVVMIR_LIBRARY_DIR", "/nonexistent"},
        {"PTXAS_FLAGS", "-O0"},
    };
    static const char text[] =
        "#ifdef TRAP\n#error trapped\n#endif\n__device__ const char when[] = __DATE__ __TIME__;\n"
        "extern \"C\" __global__ void k(char *p) { p[0] = when[threadIdx.x]; }\n";
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    size_t sizes[2];
    options.target = "sm_90";
    expect(cuda_compile_text(world, text, "k.cu", &options), SLW_OK, NULL);
    expect_disposition(SLW_PUBLISHED);
    char *before = cuda_payload(world, "kernel.cubin", &sizes[0]);
    for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++)
        ck_assert_int_eq(setenv(hostile[i][0], hostile[i][1], 1), 0);
    cuda_close_compiler(world);
    /* Asked anew, without the memo, under all of them: one key, and the same bytes. */
    slw_memo_close(&world->memo);
    slt_ok(cuda_open_compiler(world, NULL, NULL), &world->err);
    expect(cuda_compile_text(world, text, "k.cu", &options), SLW_OK, NULL);
    expect_disposition(SLW_HIT);
    options.always_compile = 1;
    expect(cuda_compile_text(world, text, "k.cu", &options), SLW_OK, NULL);
    char *after = cuda_payload(world, "kernel.cubin", &sizes[1]);
    ck_assert_uint_eq(sizes[0], sizes[1]);
    ck_assert_mem_eq(before, after, sizes[0]);
    free(before);
    free(after);
}
END_TEST

/* ---- a fatbin beside ---- */

/* clang before 16, as a host compiler, does not read SOURCE_DATE_EPOCH. */
START_TEST(pitfall_05_there_is_no_clock) {
    static const char text[] = "__device__ const char *when = \"<\" __DATE__ \" \" __TIME__ \" \" __TIMESTAMP__;\n"
                               "__global__ void k(const char **p) { *p = when; }\n";
    static const char *const flags[] = {"-allow-unsupported-compiler"};
    const char *directory = slt_scratch();
    size_t size;
    if (access("/usr/bin/clang++-14", X_OK) != 0) {
        slt_skip("pitfall_05_there_is_no_clock", "no clang++-14");
        return;
    }
    slt_shell("ln -s /usr/bin/clang++-14 '%s/g++'", directory);
    cuda_close_compiler(world);
    slt_ok(cuda_open_compiler(world, "/usr/local/cuda/bin/nvcc", directory), &world->err);
    expect(compile_with(text, flags, 1), SLW_OK, NULL);
    char *ptx = cuda_payload(world, "kernel.ptx", &size);
    /* "<Jan  1 1970 00:00:00 T", as numbers. */
    ck_assert_ptr_nonnull(strstr(ptx, "{60, 74, 97, 110, 32, 32, 49, 32, 49, 57, 55, 48, "
                                      "32, 48, 48, 58, 48, 48, 58, 48, 48, 32, 84"));
    free(ptx);
    char *document = cuda_payload(world, "slipway.json", &size);
    ck_assert_ptr_nonnull(strstr(document, "bin/clang")); /* the host compiler */
    free(document);
}
END_TEST

START_TEST(a_fatbin_on_request) {
    static const char *const flags[] = {"-fatbin=sm_80,compute_90", "-lineinfo", "-Xptxas", "-O2"};
    static const char *const bad[] = {"-fatbin=sm_80,sm_31"};
    static const char *const wanted[] = {"sm_80", "sm_90", "sm_90"};
    static const slw_image_kind kinds[] = {SLW_IMAGE_CUBIN, SLW_IMAGE_CUBIN, SLW_IMAGE_PTX};
    size_t size[2];
    char *bytes[2];
    for (int build = 0; build < 2; build++) {
        slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
        options.target = "sm_90";
        options.flags = flags;
        options.flag_count = 4;
        options.always_compile = build;
        expect(cuda_compile_text(world, kernel, "k.cu", &options), SLW_OK, NULL);
        expect_disposition(build == 0 ? SLW_PUBLISHED : SLW_PRIVATE);
        bytes[build] = cuda_payload(world, "kernel.fatbin", &size[build]);
    }
    ck_assert_uint_eq(size[0], size[1]);
    ck_assert_mem_eq(bytes[0], bytes[1], size[0]);
    slw_inspection *inspection = NULL;
    slt_ok(slw_inspect(NULL, (slw_bytes){bytes[0], size[0]}, &inspection, &world->err), &world->err);
    ck_assert_int_eq(slw_inspection_format(inspection), SLW_FORMAT_FATBIN);
    ck_assert_uint_eq(slw_inspection_count(inspection), 3);
    for (size_t i = 0; i < 3; i++) {
        slw_image image = SLW_IMAGE_INIT;
        int seen = 0;
        for (size_t k = 0; k < 3; k++) {
            ck_assert(slw_inspection_image(inspection, k, &image));
            if (strcmp(image.target, wanted[i]) == 0 && image.kind == kinds[i]) seen = 1;
        }
        ck_assert_msg(seen, "%s", wanted[i]);
    }
    slw_inspection_discard(&inspection);
    free(bytes[0]);
    free(bytes[1]);
    expect(compile_with(kernel, flags, 4), SLW_OK, NULL);
    expect_disposition(SLW_HIT);
    slt_shell("test -s '%s/kernel.fatbin'", slw_cached_directory(world->cached));
    expect(compile_with(kernel, bad, 1), SLW_E_UNSUPPORTED_INPUT, "TARGET");
    ck_assert_str_eq(world->err.subject, "sm_31");
    expect(compile_with(kernel, flags, 0), SLW_OK, NULL);
    expect_disposition(SLW_PUBLISHED);
    slt_shell("test ! -e '%s/kernel.fatbin'", slw_cached_directory(world->cached));
}
END_TEST

/* ---- stages ---- */

START_TEST(a_stage_can_be_overridden_and_dumped) {
    const char *dump = slt_scratch();
    const char *replaced = slt_path(slt_scratch(), "my.ptx", NULL);
    char *text = cuda_fixture_text("ptx/k9_90.ptx");
    slt_write_file(replaced, text, strlen(text), 0644);
    free(text);
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.target = "sm_90";
    options.override_stage = "ptx";
    options.override_path = replaced;
    options.dump_directory = dump;
    expect(cuda_compile_text(world, kernel, "k.cu", &options), SLW_OK, NULL);
    slt_shell("cmp '%s' '%s/kernel.ptx' && test -s '%s/kernel.cubin'", replaced, dump, dump);
    options.override_stage = "fatbin";
    expect(cuda_compile_text(world, kernel, "k.cu", &options), SLW_E_USAGE, "NO_STAGE");
}
END_TEST

int main(void) {
    Suite *s = suite_create("backend/cuda_compile");
    TCase *c = tcase_create("nvcc");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, setup, teardown);
    if (!cuda_has_nvcc()) {
        slt_skip("cuda_compile", "there is no nvcc");
        suite_add_tcase(s, c);
        return slt_run(s, NULL);
    }
    tcase_add_test(c, cold_then_hot);
    tcase_add_loop_test(c, two_builds_in_two_places_are_equal, 0, 2);
    tcase_add_test(c, ptx_has_its_own_target);
    tcase_add_loop_test(c, ptx_that_is_refused, 0, (int)(sizeof(bad_ptx) / sizeof(*bad_ptx)));
    tcase_add_test(c, every_target_that_ptxas_lists);
    tcase_add_test(c, cuda_c_needs_a_target);
    tcase_add_test(c, a_syntax_error_has_a_place);
    tcase_add_test(c, what_ptxas_refuses_of_cuda_c);
    tcase_add_test(c, no_kernels);
    tcase_add_test(c, time_is_up);
    tcase_add_test(c, no_space);
    tcase_add_test(c, options_reach_the_tools_and_the_key);
    tcase_add_test(c, options_outside_the_key_are_private);
    tcase_add_test(c, pitfall_04_headers_of_nvcc);
    tcase_add_test(c, pitfall_05_nvcc_inherits_nothing);
    tcase_add_test(c, pitfall_05_there_is_no_clock);
    tcase_add_test(c, a_fatbin_on_request);
    tcase_add_test(c, a_stage_can_be_overridden_and_dumped);
    suite_add_tcase(s, c);
    return cuda_main(s);
}
