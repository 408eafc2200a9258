/* clang as the toolchain finds it: what it says of itself, what is remembered of that, and when it is asked again. */
#include <sys/stat.h>

#include "clang_toolchain.h"
#include "hip_compile.h"

static hipc world;

static void setup(void) {
    hipc_setup(&world);
}

static void teardown(void) {
    hipc_teardown(&world);
}

static const char good[] = "__kernel void k(__global int *p) { p[__builtin_amdgcn_workitem_id_x()] = 1; }\n";

static uint64_t processes_of_opening(const char *path, const char *search_path) {
    const uint64_t before = slwi_process_count();
    slt_ok(hipc_open(&world, path, search_path), &world.err);
    return slwi_process_count() - before;
}

static const char *compile_key(const char *text, const char *name, slw_disposition disposition, char *key) {
    const slw_source source = hipc_source(text, name);
    slw_cached *cached = hipc_compile_ok(&world, &source, "gfx90a", NULL, disposition);
    hipc_copy(key, SLW_DIGEST_TEXT_SIZE, slw_key_digest(slw_cached_key(cached)));
    slw_cached_discard(&cached);
    return key;
}

/* ---- what it says ---- */

static void check_answer(const slwi_clang_toolchain *t) {
    const slwi_tool_list *facts = t->answer.facts;
    ck_assert_int_eq(t->answer.family, SLWI_TOOL_CLANG);
    ck_assert_ptr_nonnull(strstr(slwi_tool_answer_version(&t->answer), "clang version "));
    ck_assert_str_eq(slwi_tool_answer_triple(&t->answer), "amdgcn-amd-amdhsa");
    int linkers = 0;
    int headers = 0;
    for (size_t i = 0; i < facts[SLWI_TOOL_FACT_PROGRAM].count; i++) {
        const char *program = facts[SLWI_TOOL_FACT_PROGRAM].items[i];
        ck_assert_int_eq(access(program, X_OK), 0);
        linkers += strstr(program, "ld.lld") != NULL;
    }
    for (size_t i = 0; i < facts[SLWI_TOOL_FACT_INCLUDE].count; i++)
        headers += access(slt_path(facts[SLWI_TOOL_FACT_INCLUDE].items[i], "opencl-c-base.h", NULL), R_OK) == 0;
    for (size_t i = 0; i < facts[SLWI_TOOL_FACT_ABSENT].count; i++)
        ck_assert_int_ne(access(facts[SLWI_TOOL_FACT_ABSENT].items[i], F_OK), 0);
    ck_assert_int_eq(linkers, 1);
    ck_assert_int_ge(headers, 1);
    ck_assert_uint_ge(facts[SLWI_TOOL_FACT_TARGET].count, 30);
    ck_assert(slwi_clang_has_processor(t, "gfx90a"));
    ck_assert(!slwi_clang_has_processor(t, "gfx99999"));
}

START_TEST(it_is_known_in_all_its_parts) {
    if (!hipc_ready(&world, "it_is_known_in_all_its_parts")) return;
    slw_identity *identity = NULL;
    slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
    options.memo = world.memo;
    slt_ok(slw_identity_create(&options, &identity, &world.err), &world.err);
    slw_toolchain_request request;
    memset(&request, 0, sizeof request);
    request.size = sizeof request;
    request.compiler = slw_compiler_path(world.compiler);
    request.memo = world.memo;
    request.identity = identity;
    void *toolchain = NULL;
    slt_ok(slwi_hip_backend.toolchain_open(&request, &toolchain, &world.err), &world.err);
    const slwi_clang_toolchain *t = toolchain;
    check_answer(t);
    static const char *const names[] = {"backend", "compiler", "environment", "libraries"};
    const char *name;
    const slw_digest *digest;
    size_t count = 0;
    for (; slw_identity_at(identity, count, &name, &digest); count++) {
        ck_assert_uint_lt(count, 4);
        ck_assert_str_eq(name, names[count]);
        ck_assert_ptr_nonnull(digest);
    }
    ck_assert_uint_eq(count, 4);
    /* The text that is remembered says the same. */
    slw_allocator allocator = SLW_ALLOCATOR_INIT;
    slwi_tool_answer again;
    slwi_buffer text;
    slw_digest proof;
    slwi_buffer_init(&text, &allocator, SLWI_TOOL_ANSWER_BYTES_MAX);
    slwi_tool_answer_init(&again, &allocator);
    memset(&proof, 7, sizeof proof);
    ck_assert(slwi_tool_answer_write(&t->answer, &proof, &text));
    ck_assert(slwi_tool_answer_read((slw_bytes){text.data, text.size}, &again, &proof));
    for (int kind = 0; kind < SLWI_TOOL_FACT_COUNT; kind++) {
        ck_assert_uint_eq(again.facts[kind].count, t->answer.facts[kind].count);
        for (size_t i = 0; i < again.facts[kind].count; i++)
            ck_assert_str_eq(again.facts[kind].items[i], t->answer.facts[kind].items[i]);
    }
    slwi_tool_answer_free(&again);
    slwi_buffer_free(&text);
    slwi_hip_backend.toolchain_close(toolchain);
    slw_identity_release(&identity);
}
END_TEST

/* ---- what is remembered ---- */

START_TEST(a_hot_open_starts_no_process) {
    if (!hipc_ready(&world, "a_hot_open_starts_no_process")) return;
    char path[4096];
    char components[4][SLW_DIGEST_TEXT_SIZE];
    static const char *const names[] = {"backend", "compiler", "environment", "libraries"};
    hipc_copy(path, sizeof path, slw_compiler_path(world.compiler));
    for (int i = 0; i < 4; i++) ck_assert_uint_eq(strlen(hipc_component(&world, names[i], components[i])), 64);
    ck_assert_uint_eq(processes_of_opening(path, "/nonexistent"), 0);
    for (int i = 0; i < 4; i++) {
        char now[SLW_DIGEST_TEXT_SIZE];
        ck_assert_str_eq(hipc_component(&world, names[i], now), components[i]);
    }
}
END_TEST

START_TEST(a_linker_in_front_is_noticed) {
    char bin[4096];
    char before[SLW_DIGEST_TEXT_SIZE];
    char after[SLW_DIGEST_TEXT_SIZE];
    if (!hipc_ready(&world, "a_linker_in_front_is_noticed")) return;
    if (!hipc_tree(&world, "a_linker_in_front_is_noticed", bin)) return;
    const char *clang = slt_path(bin, "clang", NULL);
    ck_assert_uint_eq(processes_of_opening(clang, NULL), 0);
    compile_key(good, "k.cl", SLW_PUBLISHED, before);
    /* The name with the target in front is looked for first. */
    slt_shell("lld='%s/ld.lld'; [ -e \"$lld\" ] || lld=\"$(command -v ld.lld)\"; cd '%s' && mkdir ../front && "
              "cp \"$(readlink -f \"$lld\")\" ../front/ld.lld && printf x >>../front/ld.lld && "
              "ln -s ../front/ld.lld amdgcn-amd-amdhsa-ld.lld",
              bin, bin);
    ck_assert_uint_gt(processes_of_opening(clang, NULL), 0);
    ck_assert_str_ne(compile_key(good, "k.cl", SLW_PUBLISHED, after), before);
    slt_shell("rm '%s/amdgcn-amd-amdhsa-ld.lld'", bin);
    ck_assert_uint_gt(processes_of_opening(clang, NULL), 0);
    ck_assert_str_eq(compile_key(good, "k.cl", SLW_HIT, after), before);
}
END_TEST

/* A configuration file that clang would read by itself: seen when it comes into being, in the key by content, and
   private where it says what may reach outside the key. */
START_TEST(configuration_that_comes_into_being) {
    char bin[4096];
    char before[SLW_DIGEST_TEXT_SIZE];
    char keys[2][SLW_DIGEST_TEXT_SIZE];
    if (!hipc_ready(&world, "configuration_that_comes_into_being")) return;
    if (!hipc_tree(&world, "configuration_that_comes_into_being", bin)) return;
    const char *clang = slt_path(bin, "clang", NULL);
    compile_key(good, "k.cl", SLW_PUBLISHED, before);
    const char *config = slt_path(bin, "clang.cfg", NULL);
    slt_write_file(config, "# mine\n-DX=1\n", 13, 0644);
    ck_assert_uint_gt(processes_of_opening(clang, NULL), 0);
    compile_key(good, "k.cl", SLW_PUBLISHED, keys[0]);
    if (strcmp(keys[0], before) == 0) {
        slt_skip("configuration_that_comes_into_being", "this clang reads no configuration by itself");
        return;
    }
    slt_write_file(config, "# mine\n-DX=2\n", 13, 0644);
    slt_ok(hipc_open(&world, clang, NULL), &world.err);
    ck_assert_str_ne(compile_key(good, "k.cl", SLW_PUBLISHED, keys[1]), keys[0]);
    static const char *const reaching[] = {"-include /etc/hostname\n", "@more.cfg\n", "-fplugin=x.so\n"};
    for (size_t i = 0; i < 3; i++) {
        const slw_source source = hipc_source(good, "k.cl");
        slt_write_file(slt_path(bin, "more.cfg", NULL), "-DY\n", 4, 0644);
        slt_write_file(config, reaching[i], strlen(reaching[i]), 0644);
        const slw_code rc = hipc_open(&world, clang, NULL);
        if (rc != SLW_OK) continue; /* clang itself refuses it */
        ck_assert_int_eq(slw_identity_usable(slw_compiler_identity(world.compiler), &world.err),
                         SLW_E_IDENTITY_UNUSABLE);
        ck_assert_ptr_nonnull(strstr(world.err.message, "clang.cfg"));
        slw_cached *cached = NULL;
        if (hipc_compile(&world, &source, "gfx90a", NULL, &cached) == SLW_OK)
            ck_assert_int_eq(world.report.disposition, SLW_PRIVATE);
        slw_cached_discard(&cached);
    }
}
END_TEST

/* ---- ROCm, made up: a library of one function, a header of one line ---- */

static void make_bitcode(const char *directory, const char *name, const char *text) {
    const char *ll = slt_path(directory, "made.ll", NULL);
    slt_write_file(ll, text, strlen(text), 0644);
    slt_shell("'%s' --target=amdgcn-amd-amdhsa -nogpulib -x ir -c -emit-llvm '%s' -o '%s/%s.bc'",
              slw_compiler_path(world.compiler), ll, directory, name);
    slt_shell("rm '%s'", ll);
}

static const char function_of_7[] = "target triple = \"amdgcn-amd-amdhsa\"\n"
                                    "define i64 @_Z12get_local_idj(i32 %d) alwaysinline {\n  ret i64 7\n}\n";
static const char function_of_9[] = "target triple = \"amdgcn-amd-amdhsa\"\n"
                                    "define i64 @_Z12get_local_idj(i32 %d) alwaysinline {\n  ret i64 9\n}\n";

static void make_rocm(const char *bin) {
    static const char *const empty[] = {
        "ocml",
        "ockl",
        "hip",
        "oclc_isa_version_900",
        "oclc_isa_version_90a",
        "oclc_wavefrontsize64_on",
        "oclc_wavefrontsize64_off",
        "oclc_daz_opt_on",
        "oclc_daz_opt_off",
        "oclc_unsafe_math_on",
        "oclc_unsafe_math_off",
        "oclc_finite_only_on",
        "oclc_finite_only_off",
        "oclc_correctly_rounded_sqrt_on",
        "oclc_correctly_rounded_sqrt_off",
        "oclc_abi_version_400",
        "oclc_abi_version_500",
        "oclc_abi_version_600",
    };
    char root[4096];
    char bitcode[4096];
    hipc_copy(root, sizeof root, bin);
    *strrchr(root, '/') = '\0';
    hipc_copy(bitcode, sizeof bitcode, slt_path(root, "amdgcn/bitcode", NULL));
    slt_shell("mkdir -p '%s' '%s/include/hip' '%s/share/hip'", bitcode, root, root);
    make_bitcode(bitcode, "opencl", function_of_7);
    make_bitcode(bitcode, "ocml", "target triple = \"amdgcn-amd-amdhsa\"\n");
    for (size_t i = 1; i < sizeof empty / sizeof *empty; i++)
        slt_shell("cp '%s/ocml.bc' '%s/%s.bc'", bitcode, bitcode, empty[i]);
    slt_shell("printf 'HIP_VERSION_MAJOR=5\\nHIP_VERSION_MINOR=2\\nHIP_VERSION_PATCH=1\\n' >'%s/share/hip/version'",
              root);
    slt_shell("printf '#define HIP_VERSION_MAJOR 5\\n#define HIP_VERSION_MINOR 2\\n' >'%s/include/hip/hip_version.h'",
              root);
    slt_shell("printf '#define KERNEL extern \"C\" __attribute__((global)) void\\n' >'%s/include/hip/hip_runtime.h'",
              root);
}

static const char cl_text[] = "__kernel void k(__global int *p) { p[get_local_id(0)] = 1; }\n";
static const char hip_text[] = "#include <hip/hip_runtime.h>\nKERNEL k(int *p) { p[2] = 1; }\n";

START_TEST(rocm_where_it_is) {
    char bin[4096];
    char keys[3][SLW_DIGEST_TEXT_SIZE];
    char libraries[2][SLW_DIGEST_TEXT_SIZE];
    if (!hipc_ready(&world, "rocm_where_it_is")) return;
    if (!hipc_tree(&world, "rocm_where_it_is", bin)) return;
    const char *clang = slt_path(bin, "clang", NULL);
    slw_cached *cached = NULL;
    slw_source source = hipc_source(cl_text, "k.cl");
    if (hipc_compile(&world, &source, "gfx90a", NULL, &cached) == SLW_OK) {
        slw_cached_discard(&cached);
        slt_skip("rocm_where_it_is", "there is a ROCm here already");
        return;
    }
    ck_assert_msg(world.err.hint != NULL && strstr(world.err.hint, "rocm-device-libs") != NULL, "%s",
                  world.err.message);
    make_rocm(bin);
    ck_assert_uint_gt(processes_of_opening(clang, NULL), 0); /* it came into being */
    slt_ok(slw_identity_usable(slw_compiler_identity(world.compiler), &world.err), &world.err);
    hipc_component(&world, "libraries", libraries[0]);
    compile_key(cl_text, "k.cl", SLW_PUBLISHED, keys[0]);
    compile_key(hip_text, "k.hip", SLW_PUBLISHED, keys[1]);
    ck_assert_uint_eq(processes_of_opening(clang, "/nonexistent"), 0);
    compile_key(cl_text, "k.cl", SLW_HIT, keys[2]);

    /* A device library is replaced: by content, whatever its name and size. */
    char bitcode[4096];
    hipc_copy(bitcode, sizeof bitcode, slt_path(bin, "../amdgcn/bitcode", NULL));
    make_bitcode(bitcode, "opencl", function_of_9);
    slt_ok(hipc_open(&world, clang, NULL), &world.err);
    ck_assert_str_ne(hipc_component(&world, "libraries", libraries[1]), libraries[0]);
    ck_assert_str_ne(compile_key(cl_text, "k.cl", SLW_PUBLISHED, keys[2]), keys[0]);
    source = hipc_source(hip_text, "k.hip");
    cached = hipc_compile_ok(&world, &source, "gfx90a", NULL, SLW_PUBLISHED);
    slw_cached_discard(&cached);

    /* It is older than the processor: what does without it compiles all the same. */
    source = hipc_source(good, "newer.cl");
    cached = hipc_compile_ok(&world, &source, "gfx1100", NULL, SLW_PUBLISHED);
    slw_cached_discard(&cached);

    /* And is gone: what was compiled with it is not the answer any more. */
    slt_shell("rm -r '%s'", bitcode);
    ck_assert_int_ne(processes_of_opening(clang, NULL), 0);
    source = hipc_source(cl_text, "k.cl");
    ck_assert_int_eq(hipc_compile(&world, &source, "gfx90a", NULL, &cached), SLW_E_COMPILE_FAILED);
}
END_TEST

/* The same ROCm beside a clang that does not look there: named, and in the key because it is a declared root. */
START_TEST(rocm_where_it_is_said_to_be) {
    char bin[4096];
    char root[4096];
    char key[SLW_DIGEST_TEXT_SIZE];
    char libraries[4200];
    if (!hipc_ready(&world, "rocm_where_it_is_said_to_be")) return;
    hipc_copy(bin, sizeof bin, slt_path(slt_scratch(), "bin", NULL));
    make_rocm(bin);
    hipc_copy(root, sizeof root, bin);
    *strrchr(root, '/') = '\0';
    (void)snprintf(libraries, sizeof libraries, "--rocm-path=%s", root);
    const char *const flags[] = {libraries, NULL};
    const char *roots[1] = {root};
    static const char *const names[] = {"k.cl", "k.hip"};
    static const char *const texts[] = {cl_text, hip_text};
    for (int i = 0; i < 2; i++) {
        slw_source source = hipc_source(texts[i], names[i]);
        slw_cached *cached = hipc_compile_ok(&world, &source, "gfx90a", flags, SLW_PRIVATE);
        ck_assert_ptr_nonnull(strstr(world.report.reason, "OPTION --rocm-path="));
        slw_cached_discard(&cached);
        source.include_roots = roots;
        source.include_root_count = 1;
        cached = hipc_compile_ok(&world, &source, "gfx90a", flags, SLW_PUBLISHED);
        hipc_copy(key, sizeof key, slw_key_digest(slw_cached_key(cached)));
        slw_cached_discard(&cached);
        cached = hipc_compile_ok(&world, &source, "gfx90a", flags, SLW_HIT);
        slw_cached_discard(&cached);
        make_bitcode(slt_path(root, "amdgcn/bitcode", NULL), "opencl", i == 0 ? function_of_9 : function_of_7);
        cached = hipc_compile_ok(&world, &source, "gfx90a", flags, SLW_PUBLISHED);
        ck_assert_str_ne(slw_key_digest(slw_cached_key(cached)), key);
        slw_cached_discard(&cached);
    }
}
END_TEST

/* Where a whole ROCm is installed its own headers and libraries are used: work-item functions, shuffles, printf. */
START_TEST(rocm_of_the_system) {
    static const char text[] =
        "#include <hip/hip_runtime.h>\n"
        "extern \"C\" __global__ __launch_bounds__(192) void k(float *p, int n) {\n"
        "  extern __shared__ float s[];\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  s[threadIdx.x] = sinf(p[i]);\n  __syncthreads();\n"
        "  if (i < n) p[i] = s[threadIdx.x ^ 1] + __shfl_xor(p[i], 1);\n  atomicAdd(&p[n], 1.0f);\n"
        "  printf(\"%d\\n\", i);\n}\n";
    if (!hipc_ready(&world, "rocm_of_the_system")) return;
    const slw_source source = hipc_source(text, "k.hip");
    slw_cached *cached = NULL;
    const slw_code rc = hipc_compile(&world, &source, "gfx90a", NULL, &cached);
    if (rc == SLW_E_COMPILE_FAILED && strstr(world.words, "'hip/hip_runtime.h' file not found") != NULL) {
        ck_assert_ptr_nonnull(strstr(world.err.hint, "install ROCm"));
        slt_skip("rocm_of_the_system", "there is no ROCm here");
        return;
    }
    ck_assert_msg(rc == SLW_OK, "%s\n%s", world.err.message, world.words);
    slw_hydrated *hydrated = NULL;
    const slw_contract *contract = hipc_hydrate(&world, &cached, &hydrated);
    ck_assert_uint_eq(contract->kernels[0].max_threads, 192);
    ck_assert_uint_ne(contract->kernels[0].needs & SLW_NEEDS_PRINTF, 0);
    ck_assert_int_eq(contract->kernels[0].params[1].role, SLW_ROLE_CALLER);
    ck_assert_int_eq(contract->kernels[0].params[2].role, SLW_ROLE_HIDDEN);
    slw_hydrated_discard(&hydrated);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/hip_tools");
    TCase *tcase = tcase_create("tools");
    tcase_set_timeout(tcase, 240);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, it_is_known_in_all_its_parts);
    tcase_add_test(tcase, a_hot_open_starts_no_process);
    tcase_add_test(tcase, a_linker_in_front_is_noticed);
    tcase_add_test(tcase, configuration_that_comes_into_being);
    tcase_add_test(tcase, rocm_where_it_is);
    tcase_add_test(tcase, rocm_where_it_is_said_to_be);
    tcase_add_test(tcase, rocm_of_the_system);
    suite_add_tcase(suite, tcase);
    return hipc_run(suite);
}
