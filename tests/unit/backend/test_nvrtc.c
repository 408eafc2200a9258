/* CUDA C through NVRTC, in a program of its own: a made-up library on every machine, the real one where it is. */
#include "fake_cuda.h"

#include "nvrtc.h"

static char helper[512]; /* slipway-nvrtc, compiled in main */
static const slw_allocator allocator = SLW_ALLOCATOR_INIT;
static cuda_world *world;
static const char *top;

static void setup(void) {
    world = malloc(sizeof(*world));
    ck_assert_ptr_nonnull(world);
    cuda_open_store(world);
}

static void teardown(void) {
    cuda_close(world);
    free(world);
}

static void expect(slw_code got, slw_code expected, const char *reason) {
    cuda_expect(world, got, expected);
    if (reason != NULL) ck_assert_str_eq(world->err.reason, reason);
}

/* ---- the source ---- */

START_TEST(sources_that_reach_outside) {
    static const struct {
        const char *text;
        int is_tame;
    } cases[] = {
        {"", 1},
        {"#include <cuda_fp16.h>\n", 1},
        {"  #  include \"a/b.h\"  // x\nint x;\n", 1},
        {"#include <a.h>", 1},
        {"// #include </etc/passwd>\n", 1},
        {"#include </etc/passwd>\n", 0},
        {"#include \"/etc/passwd\"\n", 0},
        {"#include \"../x.h\"\n", 0},
        {"#include \"a/../../x.h\"\n", 0},
        {"#include HEADER\n", 0},
        {"int x;\n\t#include HEADER", 0},
        {"#include_next <a.h>\n", 0},
        {"#include", 0},
        {"#include <a.h\n", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *why = slwi_nvrtc_source_reason((slw_bytes){cases[i].text, strlen(cases[i].text)}, 0);
        ck_assert_msg((why == NULL) == cases[i].is_tame, "%s", cases[i].text);
    }
    ck_assert_ptr_nonnull(slwi_nvrtc_source_reason((slw_bytes){"", 0}, 1));
}
END_TEST

/* ---- a made-up library ---- */

/* TOP/bin has slipway-nvrtc beside ptxas, TOP/lib the two libraries. */
static void setup_fake(void) {
    setup();
    top = fake_toolkit();
    slt_shell("cp '%s' '%s/bin/slipway-nvrtc' && rm '%s/bin/nvcc'", helper, top, top);
    slt_shell("cd '%s/lib' && cc -shared -fPIC -o libnvrtc.so.99 '%s' -ldl -Wl,-rpath,'$ORIGIN' && "
              "echo 'int builtins = 1;' | cc -shared -fPIC -x c -o libnvrtc-builtins.so.99.1 -",
              top, slt_fixture("cu/fake_nvrtc.c"));
}

/* The machine may have an NVRTC of its own: the one beside the tool comes first. */
static const char *library_of(const char *tool) {
    static char out[4096];
    slt_ok(slwi_nvrtc_find_library(&allocator, tool, out, &world->err), &world->err);
    return out;
}

START_TEST(the_newest_library_beside_the_tool) {
    char path[4096];
    slt_shell("cd '%s/lib' && touch libnvrtc.so.12 libnvrtc.alt.so.999 libnvrtc.so.998.1 libnvrtc.so", top);
    ck_assert_str_eq(library_of(slt_path(top, "bin/ptxas", NULL)), slt_path(top, "lib/libnvrtc.so.99", NULL));
    ck_assert(slwi_nvrtc_find_assembler(slt_path(top, "lib/libnvrtc.so.99", NULL), path));
    ck_assert_str_eq(path, slt_path(top, "bin/ptxas", NULL));
}
END_TEST

/* ---- the real one ---- */

static const char kernel[] = "#include <cuda_fp16.h>\n"
                             "namespace { __global__ void hidden(int *p) { *p = __LINE__; } }\n"
                             "extern \"C\" __global__ void scale(__half *data, int count, float factor) {\n"
                             "    __shared__ float tile[64];\n"
                             "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    tile[threadIdx.x & 63] = factor;\n"
                             "    __syncthreads();\n"
                             "    if (i < count) data[i] = data[i] * __float2half(tile[0]);\n"
                             "}\n";

static int real_ready(const char *test) {
    char path[4096];
    if (slwi_nvrtc_find_library(&allocator, NULL, path, NULL) != SLW_OK) {
        slt_skip(test, "there is no NVRTC");
        return 0;
    }
    slt_ok(cuda_open_compiler(world, helper, NULL), &world->err);
    slt_ok(slw_identity_usable(slw_compiler_identity(world->compiler), &world->err), &world->err);
    return 1;
}

START_TEST(nvrtc_cold_and_hot) {
    if (!real_ready("nvrtc_cold_and_hot")) return;
    expect(cuda_compile_for(world, kernel, "k.cu", "sm_90a"), SLW_OK, NULL);
    ck_assert_msg(world->report.disposition == SLW_PUBLISHED, "%s", world->report.reason);
    slw_hydrated *hydrated = NULL;
    slt_ok(slw_hydrate(&world->cached, NULL, &hydrated, &world->err), &world->err);
    const slw_contract *contract = slw_hydrated_contract(hydrated);
    ck_assert_str_eq(contract->target, "sm_90a");
    const slw_kernel_contract *k = slw_contract_find(contract, "scale");
    ck_assert_ptr_nonnull(k);
    ck_assert_uint_eq(k->param_bytes, 16);
    ck_assert_uint_eq(k->static_shared_bytes, 256);
    slw_hydrated_discard(&hydrated);
    cuda_close_compiler(world);
    const uint64_t before = slwi_process_count();
    slt_ok(cuda_open_compiler(world, helper, "/nonexistent"), &world->err);
    expect(cuda_compile_for(world, kernel, "k.cu", "sm_90a"), SLW_OK, NULL);
    ck_assert_int_eq(world->report.disposition, SLW_HIT);
    ck_assert_uint_eq(slwi_process_count(), before);
}
END_TEST

START_TEST(nvrtc_builds_are_equal_and_errors_have_places) {
    static const char *const flags[] = {"-lineinfo", "-DX=1"};
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    size_t sizes[2];
    char *bytes[2];
    if (!real_ready("nvrtc_builds_are_equal")) return;
    options.target = "sm_90";
    options.always_compile = 1;
    options.flags = flags;
    options.flag_count = 2;
    for (int i = 0; i < 2; i++) {
        expect(cuda_compile_text(world, kernel, "k.cu", &options), SLW_OK, NULL);
        bytes[i] = cuda_payload(world, "kernel.cubin", &sizes[i]);
    }
    ck_assert_uint_eq(sizes[0], sizes[1]);
    ck_assert_mem_eq(bytes[0], bytes[1], sizes[0]);
    free(bytes[0]);
    free(bytes[1]);
    expect(cuda_compile_for(world, "\n__global__ void f(int *p) { q = 1; }\n", "src/bad.cu", "sm_90"),
           SLW_E_COMPILE_FAILED, "COMPILER");
    ck_assert_str_eq(world->err.path, "src/bad.cu");
    ck_assert_uint_eq(world->err.line, 2);
    ck_assert_ptr_nonnull(strstr(world->words, "identifier \"q\" is undefined"));
    expect(cuda_compile_for(world, kernel, "k.cu", "sm_30"), SLW_E_UNSUPPORTED_INPUT, "TARGET");
}
END_TEST

START_TEST(nvrtc_lists_no_headers) {
    slw_source source = SLW_SOURCE_INIT;
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    const char *root = slt_scratch();
    const char *roots[] = {root};
    if (!real_ready("nvrtc_lists_no_headers")) return;
    slt_write_file(slt_path(root, "x.h", NULL), "#define X 1\n", 12, 0644);
    source.text = (slw_bytes){"#include \"x.h\"\n__global__ void f(int *p) { *p = X; }\n", 0};
    source.text.size = strlen(source.text.data);
    source.name = "k.cu";
    source.include_roots = roots;
    source.include_root_count = 1;
    options.target = "sm_90";
    expect(slw_compile(world->compiler, &source, &options, &world->report, &world->cached, &world->err), SLW_OK, NULL);
    ck_assert_int_eq(world->report.disposition, SLW_PRIVATE);
    ck_assert_ptr_nonnull(strstr(world->report.reason, "NVRTC does not list"));
}
END_TEST

/* ---- pitfall 40 ---- */

static void digest_of_compiler(slw_digest *out) {
    const char *name;
    const slw_digest *digest;
    slt_ok(slw_identity_usable(slw_compiler_identity(world->compiler), &world->err), &world->err);
    ck_assert(slw_identity_at(slw_compiler_identity(world->compiler), 1, &name, &digest));
    ck_assert_str_eq(name, "compiler");
    *out = *digest;
}

START_TEST(pitfall_40_the_builtins_are_in_the_key) {
    static const char *const changes[] = {
        "echo 'int builtins = 2;' | cc -shared -fPIC -x c -o libnvrtc-builtins.so.99.1 -", "printf x >>libnvrtc.so.99",
        "printf x >>../bin/ptxas"};
    slw_digest before;
    slw_digest after;
    slt_ok(cuda_open_compiler(world, slt_path(top, "bin/slipway-nvrtc", NULL), NULL), &world->err);
    digest_of_compiler(&before);
    expect(cuda_compile_for(world, fake_source, "k.cu", "sm_90"), SLW_OK, NULL);
    ck_assert_msg(world->report.disposition == SLW_PUBLISHED, "%s", world->report.reason);
    size_t size;
    char *document = cuda_payload(world, "slipway.json", &size);
    ck_assert_ptr_nonnull(strstr(document, "libnvrtc-builtins.so.99.1"));
    free(document);
    cuda_close_compiler(world);
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
        slt_shell("cd '%s/lib' && %s", top, changes[i]);
        slt_ok(cuda_open_compiler(world, slt_path(top, "bin/slipway-nvrtc", NULL), NULL), &world->err);
        digest_of_compiler(&after);
        ck_assert_msg(memcmp(&before, &after, sizeof(before)) != 0, "%s", changes[i]);
        before = after;
        cuda_close_compiler(world);
    }
    /* A library that cannot be opened: no toolchain. */
    slt_shell("rm '%s/lib/libnvrtc-builtins.so.99.1'", top);
    expect(cuda_open_compiler(world, slt_path(top, "bin/slipway-nvrtc", NULL), NULL), SLW_E_UNSUPPORTED,
           "UNKNOWN_COMPILER");
}
END_TEST

START_TEST(errors_of_a_made_up_nvrtc) {
    slt_ok(cuda_open_compiler(world, slt_path(top, "bin/slipway-nvrtc", NULL), NULL), &world->err);
    expect(cuda_compile_for(world, "// SYNTAX\n", "src/k.cu", "sm_90"), SLW_E_COMPILE_FAILED, "COMPILER");
    ck_assert_str_eq(world->err.path, "src/k.cu");
    ck_assert_uint_eq(world->err.line, 2);
    cuda_nothing_left(world);
    expect(cuda_compile_for(world, fake_source, "k.cu", "sm_100"), SLW_E_UNSUPPORTED_INPUT, "TARGET");
    ck_assert_ptr_null(strstr(world->err.tried, "sm_100"));
    ck_assert_ptr_nonnull(strstr(world->err.tried, "sm_90a"));
}
END_TEST

/* Where there is no nvcc. A machine that has one takes that one, whatever the search path says. */
START_TEST(without_nvcc_it_is_taken_where_it_is_found) {
    if (system("command -v nvcc >/dev/null || test -x /usr/local/cuda/bin/nvcc") == 0) {
        slt_skip("without_nvcc_it_is_taken_where_it_is_found", "there is an nvcc");
        return;
    }
    slt_ok(cuda_open_compiler(world, NULL, slt_path(top, "bin", NULL)), &world->err);
    ck_assert_str_eq(slw_compiler_path(world->compiler), slt_path(top, "bin/slipway-nvrtc", NULL));
    expect(cuda_compile_for(world, fake_source, "k.cu", "sm_90"), SLW_OK, NULL);
    ck_assert_msg(world->report.disposition == SLW_PUBLISHED, "%s", world->report.reason);
    cuda_close_compiler(world);
    /* Without its library ptxas is left, which says what is missing for CUDA C. */
    slt_shell("rm '%s/lib/libnvrtc.so.99'", top);
    slt_ok(cuda_open_compiler(world, NULL, slt_path(top, "bin", NULL)), &world->err);
    ck_assert_str_eq(slw_compiler_path(world->compiler), slt_path(top, "bin/ptxas", NULL));
    expect(cuda_compile_for(world, fake_source, "k.cu", "sm_90"), SLW_E_TOOL_MISSING, "NO_COMPILER");
    ck_assert_ptr_nonnull(strstr(world->err.tried, "nvcc"));
    cuda_close_compiler(world);
    slt_shell("rm '%s/bin/ptxas'", top);
    expect(cuda_open_compiler(world, NULL, slt_path(top, "bin", NULL)), SLW_E_TOOL_MISSING, "NO_COMPILER");
    ck_assert_ptr_nonnull(strstr(world->err.hint, "CUDA toolkit"));
}
END_TEST

static int compile_helper(void) {
    char command[2048];
    const char *base = getenv("TMPDIR");
    (void)snprintf(helper, sizeof(helper), "%s/slipway-helper-XXXXXX", base != NULL ? base : "/tmp");
    if (mkdtemp(helper) == NULL) return 0;
    (void)strncat(helper, "/" SLWI_NVRTC_DRIVER, sizeof(helper) - strlen(helper) - 1);
    (void)snprintf(command, sizeof(command), "cc -std=c11 -D_GNU_SOURCE -o '%s' tools/slipway_nvrtc.c -ldl", helper);
    return system(command) == 0;
}

int main(void) {
    Suite *s = suite_create("backend/nvrtc");
    TCase *c = tcase_create("nvrtc");
    TCase *f = tcase_create("made_up");
    char command[2048];
    tcase_set_timeout(c, 300);
    tcase_set_timeout(f, 300);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_checked_fixture(f, setup_fake, teardown);
    suite_add_tcase(s, c);
    tcase_add_test(c, sources_that_reach_outside);
    if (!fake_prepare("nvrtc") || !compile_helper()) return slt_run(s, NULL);
    suite_add_tcase(s, f);
    tcase_add_test(c, nvrtc_cold_and_hot);
    tcase_add_test(c, nvrtc_builds_are_equal_and_errors_have_places);
    tcase_add_test(c, nvrtc_lists_no_headers);
    tcase_add_test(f, the_newest_library_beside_the_tool);
    tcase_add_test(f, pitfall_40_the_builtins_are_in_the_key);
    tcase_add_test(f, errors_of_a_made_up_nvrtc);
    tcase_add_test(f, without_nvcc_it_is_taken_where_it_is_found);
    const int status = cuda_main(s);
    (void)unlink(fake_program);
    (void)snprintf(command, sizeof(command), "rm -rf \"$(dirname '%s')\"", helper);
    return system(command) == 0 ? status : EXIT_FAILURE;
}
