/* compile() with the hip backend over a real store: cold, hot, and what the contract says. */
#include "hip_compile.h"

static hipc world;

static void setup(void) {
    hipc_setup(&world);
}

static void teardown(void) {
    hipc_teardown(&world);
}

START_TEST(cold_then_hot) {
    if (!hipc_ready(&world, "cold_then_hot")) return;
    slw_source source = SLW_SOURCE_INIT;
    source.path = slt_fixture("hip_src/reduce.cl");
    slt_ok(slw_identity_usable(slw_compiler_identity(world.compiler), &world.err), &world.err);
    slw_cached *cached = hipc_compile_ok(&world, &source, "gfx90a", NULL, SLW_PUBLISHED);
    char key[SLW_DIGEST_TEXT_SIZE];
    hipc_copy(key, sizeof key, slw_key_digest(slw_cached_key(cached)));
    ck_assert_uint_eq(slw_cached_file_count(cached), 3); /* kernel.hsaco, kernel.ll, slipway.json */
    ck_assert_str_eq(slw_spec_keep(slw_cached_spec(cached)), "kernel.hsaco");
    slw_hydrated *hydrated = NULL;
    const slw_contract *contract = hipc_hydrate(&world, &cached, &hydrated);
    ck_assert_str_eq(contract->backend, "hip");
    ck_assert_str_eq(contract->target, "gfx90a");
    ck_assert_int_eq(contract->kind, SLW_IMAGE_HSACO);
    const slw_kernel_contract *kernel = slw_contract_find(contract, "reduce");
    ck_assert_ptr_nonnull(kernel);
    ck_assert_uint_eq(kernel->static_shared_bytes, 1024);
    ck_assert_uint_eq(kernel->max_threads, 256);
    ck_assert_uint_eq(kernel->required_threads[0], 256);
    slw_hydrated_discard(&hydrated);

    const uint64_t processes = slwi_process_count();
    cached = hipc_compile_ok(&world, &source, "gfx90a", NULL, SLW_HIT);
    ck_assert_uint_eq(slwi_process_count(), processes);
    ck_assert_str_eq(slw_key_digest(slw_cached_key(cached)), key);
    slw_cached_discard(&cached);

    /* In a compiler of its own, with a search path that leads nowhere, still without a process. */
    char path[4096];
    hipc_copy(path, sizeof path, slw_compiler_path(world.compiler));
    slt_ok(hipc_open(&world, path, "/nonexistent"), &world.err);
    cached = hipc_compile_ok(&world, &source, "gfx90a", NULL, SLW_HIT);
    ck_assert_uint_eq(slwi_process_count(), processes);
    slw_cached_discard(&cached);
}
END_TEST

/* ---- what is in the key ---- */

static const char small[] =
    "#ifndef N\n#define N 1\n#endif\n"
    "__attribute__((amdgpu_kernel)) void k(__attribute__((address_space(1))) int *p) { *p = N; }\n";

typedef struct variant {
    const char *text, *name, *extension, *target;
    const char *flags[3];
    const char *roots[2];
} variant;

static void key_of(const variant *v, char key[SLW_DIGEST_TEXT_SIZE]) {
    slw_source source = hipc_source(v->text, v->name);
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    slw_cached *cached = NULL;
    source.extension = v->extension;
    while (v->roots[source.include_root_count] != NULL) source.include_root_count++;
    const char *const *roots = v->roots;
    source.include_roots = roots;
    options.target = v->target;
    options.flags = v->flags;
    while (v->flags[options.flag_count] != NULL) options.flag_count++;
    slw_build_report_release(&world.report);
    const slw_code rc = slw_compile(world.compiler, &source, &options, &world.report, &cached, &world.err);
    ck_assert_msg(rc == SLW_OK, "%s: %s\n%s", v->name, world.err.message, world.words);
    ck_assert_int_ne(world.report.disposition, SLW_PRIVATE);
    hipc_copy(key, SLW_DIGEST_TEXT_SIZE, slw_key_digest(slw_cached_key(cached)));
    slw_cached_discard(&cached);
}

/* One row an input, each of them another; and two ways to write one target are one key. */
START_TEST(everything_that_matters_is_in_the_key) {
    if (!hipc_ready(&world, "everything_that_matters_is_in_the_key")) return;
    const char *a = slt_scratch();
    const char *b = slt_scratch();
    static const char other[] =
        "__attribute__((amdgpu_kernel)) void k(__attribute__((address_space(1))) int *p) { *p = 2; }\n";
    const variant variants[] = {
        {small, "k.cl", "cl", "gfx90a", {NULL}, {NULL}},
        {other, "k.cl", "cl", "gfx90a", {NULL}, {NULL}},
        {small, "j.cl", "cl", "gfx90a", {NULL}, {NULL}},
        {small, "k.cl", "cl", "gfx908", {NULL}, {NULL}},
        {small, "k.cl", "cl", "gfx90a:xnack+", {NULL}, {NULL}},
        {small, "k.cl", "cl", "gfx90a:xnack-", {NULL}, {NULL}},
        {small, "k.cl", "cl", "gfx90a:sramecc+:xnack-", {NULL}, {NULL}},
        {small, "k.cl", "cl", "gfx90a", {"-O1"}, {NULL}},
        {small, "k.cl", "cl", "gfx90a", {"-O2"}, {NULL}},
        {small, "k.cl", "cl", "gfx90a", {"-O1", "-O2"}, {NULL}},
        {small, "k.cl", "cl", "gfx90a", {"-O2", "-O1"}, {NULL}},
        {small, "k.cl", "cl", "gfx90a", {"-DN=2"}, {NULL}},
        {small, "k.cl", "cl", "gfx90a", {"-DX=2", "-DM"}, {NULL}},
        {small, "k.cl", "cl", "gfx90a", {"-DX=2 -DM"}, {NULL}},
        {small, "k.cl", "cl", "gfx90a", {"-mtgsplit"}, {NULL}},
        {small, "k.cl", "cl", "gfx90a", {NULL}, {a}},
        {small, "k.cl", "cl", "gfx90a", {NULL}, {b}},
    };
    enum { COUNT = sizeof variants / sizeof *variants };
    static char keys[COUNT][SLW_DIGEST_TEXT_SIZE];
    for (size_t i = 0; i < COUNT; i++) {
        key_of(&variants[i], keys[i]);
        for (size_t j = 0; j < i; j++) ck_assert_msg(strcmp(keys[i], keys[j]) != 0, "rows %zu and %zu", j, i);
    }
    const variant same = {small, "k.cl", NULL, "gfx90a:xnack-:sramecc+", {NULL}, {NULL}};
    char key[SLW_DIGEST_TEXT_SIZE];
    key_of(&same, key);
    ck_assert_str_eq(key, keys[6]);
    ck_assert_int_eq(world.report.disposition, SLW_HIT);
}
END_TEST

/* The same text of the same name as two languages. */
START_TEST(the_kind_of_the_source_is_in_the_key) {
    if (!hipc_ready(&world, "the_kind_of_the_source_is_in_the_key")) return;
    static const char both[] =
        "#ifdef __HIP__\n#define K extern \"C\" __attribute__((global))\n#define G\n#else\n#define K __kernel\n"
        "#define G __global\n#endif\nK void k(G int *p) { *p = 1; }\n";
    char keys[2][SLW_DIGEST_TEXT_SIZE];
    const variant cl = {both, "k", "cl", "gfx90a", {NULL}, {NULL}};
    const variant hip = {both, "k", "hip", "gfx90a", {NULL}, {NULL}};
    key_of(&cl, keys[0]);
    key_of(&hip, keys[1]);
    ck_assert_str_ne(keys[0], keys[1]);
}
END_TEST

/* ---- lowered sources, overrides ---- */

static int lowerings;
static const char *lowered_text;

static slw_code lower(void *context, slw_text *out, slw_error *err) {
    (void)context;
    lowerings++;
    return slw_text_copy(NULL, (slw_bytes){lowered_text, strlen(lowered_text)}, out, err);
}

START_TEST(ir_of_a_front_end) {
    if (!hipc_ready(&world, "ir_of_a_front_end")) return;
    static const struct {
        const char *text;
        slw_code code;
        const char *reason;
    } wrong[] = {
        {"target triple = \"nvptx64-nvidia-cuda\"\ndefine amdgpu_kernel void @k() {\n  ret void\n}\n",
         SLW_E_UNSUPPORTED_INPUT, "TRIPLE"},
        {"define void @k() {\n  ret void\n}\n", SLW_E_INVALID_SOURCE, "NO_KERNEL"},
    };
    slw_lowered_source lowered = SLW_LOWERED_SOURCE_INIT;
    slw_source source = SLW_SOURCE_INIT;
    slw_record *body = NULL;
    slw_cached *cached = NULL;
    slt_ok(slw_record_string(NULL, (slw_bytes){"a tree", 6}, &body, &world.err), &world.err);
    lowered.language = "tiny 1";
    lowered.lower = lower;
    lowered.body = body;
    source.lowered = &lowered;
    source.name = "made.ll";
    for (size_t i = 0; i < 2; i++) {
        lowered_text = wrong[i].text;
        ck_assert_int_eq(hipc_compile(&world, &source, "gfx90a", NULL, &cached), wrong[i].code);
        ck_assert_str_eq(world.err.reason, wrong[i].reason);
        hipc_check_nothing_left(&world);
    }
    lowered_text = "define amdgpu_kernel void @k() {\n  ret void\n}\n";
    cached = hipc_compile_ok(&world, &source, "gfx90a", NULL, SLW_PUBLISHED);
    slw_cached_discard(&cached);
    cached = hipc_compile_ok(&world, &source, "gfx90a", NULL, SLW_HIT);
    slw_cached_discard(&cached);
    ck_assert_int_eq(lowerings, 3);
    slw_record_release(&body);
}
END_TEST

START_TEST(overrides) {
    if (!hipc_ready(&world, "overrides")) return;
    char keys[2][SLW_DIGEST_TEXT_SIZE];
    const char *path = slt_path(world.scratch, "mine.ll", NULL);
    static const char ir[] = "target triple = \"amdgcn-amd-amdhsa\"\n"
                             "define amdgpu_kernel void @mine(ptr addrspace(1) %p) {\n  ret void\n}\n";
    slt_write_file(path, ir, sizeof ir - 1, 0644);
    slw_source source = hipc_source(small, "k.cl");
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    slw_cached *cached = NULL;
    options.target = "gfx90a";
    for (int i = 0; i < 2; i++) {
        slw_build_report_release(&world.report);
        slt_ok(slw_compile(world.compiler, &source, &options, &world.report, &cached, &world.err), &world.err);
        ck_assert_int_eq(world.report.disposition, SLW_PUBLISHED);
        hipc_copy(keys[i], SLW_DIGEST_TEXT_SIZE, slw_key_digest(slw_cached_key(cached)));
        slw_hydrated *hydrated = NULL;
        ck_assert_str_eq(hipc_hydrate(&world, &cached, &hydrated)->kernels[0].name, i == 0 ? "k" : "mine");
        slw_hydrated_discard(&hydrated);
        options.override_stage = "llvm_ir";
        options.override_path = path;
    }
    ck_assert_str_ne(keys[0], keys[1]);
    source = hipc_source(ir, "k.ll"); /* begins behind that stage */
    slw_build_report_release(&world.report);
    ck_assert_int_eq(slw_compile(world.compiler, &source, &options, &world.report, &cached, &world.err), SLW_E_USAGE);
    ck_assert_ptr_null(cached);
    options.override_stage = "object";
    slw_build_report_release(&world.report);
    ck_assert_int_eq(slw_compile(world.compiler, &source, &options, &world.report, &cached, &world.err), SLW_E_USAGE);
    ck_assert_str_eq(world.err.subject, "object");
}
END_TEST

/* clang before 16 does not read SOURCE_DATE_EPOCH. */
START_TEST(pitfall_05_there_is_no_clock) {
    static const char *const compilers[] = {"clang-14", "clang-16", "clang"};
    static const char *const flags[] = {"-Wall", "-Werror", NULL};
    static const char *const texts[] = {
        "__constant char when[] = \"clock <\" __DATE__ \" \" __TIME__ \" \" __TIMESTAMP__ \">\";\n"
        "__kernel void k(__global char *p, int i) { p[0] = when[i]; }\n",
        "__attribute__((device)) const char when[] = \"clock <\" __DATE__ \" \" __TIME__ \" \" __TIMESTAMP__ \">\";\n"
        "__attribute__((global)) void k(char *p, int i) { p[0] = when[i]; }\n",
    };
    const slw_code rc = hipc_open(&world, compilers[_i], "/usr/local/bin:/usr/bin:/bin");
    if (rc != SLW_OK) {
        slt_skip("pitfall_05_there_is_no_clock", compilers[_i]);
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        const slw_source source = hipc_source(texts[i], i == 0 ? "k.cl" : "k.hip");
        slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
        slw_cached *cached = NULL;
        options.target = "gfx900";
        options.flags = flags;
        options.flag_count = 2;
        slw_build_report_release(&world.report);
        const slw_code built = slw_compile(world.compiler, &source, &options, &world.report, &cached, &world.err);
        ck_assert_msg(built == SLW_OK, "%s\n%s", world.err.message, world.words);
        slt_shell("grep -q 'clock <Jan  1 1970 00:00:00 Thu Jan  1 00:00:00 1970>' '%s/kernel.ll'",
                  slw_cached_directory(cached));
        slw_cached_discard(&cached);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/hip_compile");
    TCase *tcase = tcase_create("compile");
    tcase_set_timeout(tcase, 240);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, cold_then_hot);
    tcase_add_test(tcase, everything_that_matters_is_in_the_key);
    tcase_add_test(tcase, the_kind_of_the_source_is_in_the_key);
    tcase_add_test(tcase, ir_of_a_front_end);
    tcase_add_test(tcase, overrides);
    tcase_add_loop_test(tcase, pitfall_05_there_is_no_clock, 0, 3);
    suite_add_tcase(suite, tcase);
    return hipc_run(suite);
}
