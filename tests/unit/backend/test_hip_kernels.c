/* Real kernels of the kinds people write, compiled for several processors, cold and hot, and their contracts against
 * figures worked out by hand from the sources. */
#include "clang_toolchain.h"
#include "hip_compile.h"

typedef struct entry {
    const char *name;
    uint32_t callers;      /* parameters that callers pass */
    uint32_t end_bytes;    /* where the last of them ends */
    uint32_t shared_bytes; /* static */
    uint32_t threads;      /* at most; required_x × required_y where that is not 0 */
    uint32_t required_x, required_y;
} entry;

typedef struct kernel_file {
    const char *name;
    const char *flags[4];
    entry entries[2];
} kernel_file;

static const kernel_file files[] = {
    {"reduce.cl", {NULL}, {{"reduce", 3, 20, 1024, 256, 256, 1}}},
    {"gemm.cl", {NULL}, {{"gemm", 7, 40, 16 * 16 * 4 + 16 * 17 * 4, 256, 16, 16}}},
    {"softmax.cl", {"-cl-std=CL1.2"}, {{"softmax", 4, 24, 0, 256, 0, 0}}},
    {"histogram.cl", {"-cl-std=CL2.0"}, {{"histogram", 3, 24, 256, 256, 0, 0}}},
    {"particles.cl", {"-O2"}, {{"move", 5, 72, 0, 256, 0, 0}, {"stop", 2, 9, 0, 256, 0, 0}}},
    {"blur.cl", {"-cl-fast-relaxed-math"}, {{"blur", 4, 32, 0, 256, 0, 0}}},
    {"saxpy.hip", {"-std=c++17"}, {{"saxpy", 4, 28, 0, 128, 0, 0}, {"daxpy", 4, 28, 0, 512, 0, 0}}},
    {"transpose.hip",
     {NULL},
     {{"_Z9transposeIfLi16EEvPKT_PS0_i", 3, 20, 16 * 17 * 4, 256, 0, 0},
      {"_Z9transposeIdLi8EEvPKT_PS0_i", 3, 20, 8 * 9 * 8, 64, 0, 0}}},
    {"scan.hip", {NULL}, {{"scan", 3, 20, 64 * 4, 1024, 0, 0}}},
    {"matrix.hip", {"-ffast-math"}, {{"multiply", 2, 96, 0, 256, 0, 0}}},
    {"vector_add.ll", {NULL}, {{"vector_add", 4, 28, 0, 256, 0, 0}}},
    {"shuffle.ll", {"-O1"}, {{"count", 2, 16, 128 * 4 + 4, 64, 0, 0}, {"clear", 3, 17, 0, 1024, 0, 0}}},
};
enum { FILE_COUNT = sizeof files / sizeof *files };

/* The second stands in where clang does not know the first. */
static const struct {
    const char *target, *instead;
    uint32_t warp;
} targets[] = {
    {"gfx90a", NULL, 64},
    {"gfx942", "gfx940", 64},
    {"gfx1100", NULL, 32},
    {"gfx90a:xnack-:sramecc+", NULL, 64},
};
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

static hipc world;

static void setup(void) {
    hipc_setup(&world);
}

static void teardown(void) {
    hipc_teardown(&world);
}

static void check_params(const char *file, const slw_kernel_contract *kernel, const entry *expected) {
    uint32_t callers = 0;
    uint32_t end = 0;
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        const slw_param *p = &kernel->params[i];
        ck_assert_msg(p->offset_bytes >= end, "%s %s: parameter %u begins within the one before", file, kernel->name,
                      i);
        ck_assert_uint_le(p->offset_bytes + p->size_bytes, kernel->param_bytes);
        if (p->role != SLW_ROLE_CALLER) continue;
        callers++;
        end = p->offset_bytes + p->size_bytes;
    }
    ck_assert_msg(callers == expected->callers && end == expected->end_bytes,
                  "%s %s: %u parameters to %u, not %u to %u", file, kernel->name, callers, end, expected->callers,
                  expected->end_bytes);
}

static void check_contract(const kernel_file *file, const slw_contract *contract, const char *target, uint32_t warp) {
    uint32_t count = 0;
    for (size_t e = 0; e < 2 && file->entries[e].name != NULL; e++, count++) {
        const entry *expected = &file->entries[e];
        const slw_kernel_contract *kernel = slw_contract_find(contract, expected->name);
        ck_assert_msg(kernel != NULL, "%s: no kernel %s", file->name, expected->name);
        check_params(file->name, kernel, expected);
        ck_assert_msg(kernel->static_shared_bytes == expected->shared_bytes, "%s %s: %u bytes of shared memory",
                      file->name, kernel->name, kernel->static_shared_bytes);
        ck_assert_msg(kernel->max_threads == expected->threads, "%s %s: %u threads", file->name, kernel->name,
                      kernel->max_threads);
        ck_assert_uint_eq(kernel->required_threads[0], expected->required_x);
        ck_assert_uint_eq(kernel->required_threads[1], expected->required_y);
        ck_assert_uint_eq(kernel->warp_threads, warp);
        ck_assert_uint_gt(kernel->registers, 0);
        ck_assert_uint_gt(kernel->scalar_registers, 0);
    }
    ck_assert_msg(contract->kernel_count == count, "%s: %u kernels", file->name, contract->kernel_count);
    ck_assert_str_eq(contract->target, target);
    ck_assert_int_eq(contract->kind, SLW_IMAGE_HSACO);
}

static void compile_one(const kernel_file *file, const char *target, uint32_t warp) {
    static const char *include;
    char path[512];
    (void)snprintf(path, sizeof path, "hip_src/%s", file->name);
    slw_source source = SLW_SOURCE_INIT;
    source.path = slt_fixture(path);
    include = slt_fixture("hip_src/include");
    source.include_roots = &include;
    source.include_root_count = 1;
    const char *const canonical = strcmp(target, "gfx90a:xnack-:sramecc+") == 0 ? "gfx90a:sramecc+:xnack-" : target;
    slw_hydrated *hydrated = NULL;
    slw_cached *cached = hipc_compile_ok(&world, &source, target, file->flags, SLW_PUBLISHED);
    const int is_ir = strstr(file->name, ".ll") != NULL; /* begins a stage later */
    ck_assert_uint_eq(slw_cached_file_count(cached), is_ir ? 2 : 3);
    check_contract(file, hipc_hydrate(&world, &cached, &hydrated), canonical, warp);
    slw_hydrated_discard(&hydrated);
    const uint64_t processes = slwi_process_count();
    cached = hipc_compile_ok(&world, &source, target, file->flags, SLW_HIT);
    ck_assert_uint_eq(slwi_process_count(), processes);
    check_contract(file, hipc_hydrate(&world, &cached, &hydrated), canonical, warp);
    slw_hydrated_discard(&hydrated);
}

START_TEST(kernels_of_all_kinds) {
    if (!hipc_ready(&world, "kernels_of_all_kinds")) return;
    const char *target = targets[_i].target;
    if (!hipc_knows(&world, target)) {
        ck_assert_msg(targets[_i].instead != NULL && hipc_knows(&world, targets[_i].instead), "%s is not known",
                      target);
        target = targets[_i].instead;
    }
    for (size_t i = 0; i < FILE_COUNT; i++) compile_one(&files[i], target, targets[_i].warp);
}
END_TEST

/* Hidden arguments are the run-time's to fill: a caller passes the same ones with either version of the object. */
START_TEST(hidden_arguments_are_not_the_callers) {
    if (!hipc_ready(&world, "hidden_arguments_are_not_the_callers")) return;
    const kernel_file *file = &files[2];
    slw_source source = SLW_SOURCE_INIT;
    source.path = slt_fixture("hip_src/softmax.cl");
    uint32_t hidden[2] = {0, 0};
    for (int version = 4; version <= 5; version++) {
        const char *const flags[] = {version == 4 ? "-mcode-object-version=4" : "-mcode-object-version=5", NULL};
        slw_hydrated *hydrated = NULL;
        slw_cached *cached = NULL;
        const slw_code rc = hipc_compile(&world, &source, "gfx90a", flags, &cached);
        if (rc == SLW_E_COMPILE_FAILED && strstr(world.words, "unknown abi version") != NULL) {
            slt_skip("hidden_arguments_are_not_the_callers", "ld.lld is older than the version 5 of code objects");
            return;
        }
        slt_ok(rc, &world.err);
        const slw_contract *contract = hipc_hydrate(&world, &cached, &hydrated);
        check_contract(file, contract, "gfx90a", 64);
        for (uint32_t i = 0; i < contract->kernels[0].param_count; i++)
            hidden[version - 4] += contract->kernels[0].params[i].role == SLW_ROLE_HIDDEN;
        slw_hydrated_discard(&hydrated);
    }
    /* Version 5 gives the size of the block there; version 4 in the dispatch packet. */
    ck_assert_uint_gt(hidden[1], hidden[0]);
}
END_TEST

/* The same with what every linker takes: a kernel that asks for the hidden arguments has them behind the caller's. */
START_TEST(implicit_arguments_lie_behind_the_callers) {
    if (!hipc_ready(&world, "implicit_arguments_lie_behind_the_callers")) return;
    static const char text[] =
        "__kernel void k(__global ulong *out, uint n) {\n"
        "    __constant ulong *hidden = (__constant ulong *)__builtin_amdgcn_implicitarg_ptr();\n"
        "    out[n] = hidden[0] + hidden[2];\n}\n";
    const slw_source source = hipc_source(text, "implicit.cl");
    slw_hydrated *hydrated = NULL;
    slw_cached *cached = hipc_compile_ok(&world, &source, "gfx90a", NULL, SLW_PUBLISHED);
    const slw_contract *contract = hipc_hydrate(&world, &cached, &hydrated);
    const slw_kernel_contract *kernel = &contract->kernels[0];
    ck_assert_uint_gt(kernel->param_count, 2);
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        ck_assert_int_eq(kernel->params[i].role, i < 2 ? SLW_ROLE_CALLER : SLW_ROLE_HIDDEN);
        ck_assert_uint_ge(kernel->params[i].offset_bytes, i < 2 ? 0 : 16);
    }
    ck_assert_uint_gt(kernel->param_bytes, 16);
    slw_hydrated_discard(&hydrated);
}
END_TEST

/* An option of the machine reaches both stages: waves of 64 on a processor whose own are of 32. */
START_TEST(options_of_the_machine_reach_the_code) {
    if (!hipc_ready(&world, "options_of_the_machine_reach_the_code")) return;
    static const char *const flags[] = {"-mwavefrontsize64", NULL};
    for (size_t i = 0; i < 2; i++) {
        slw_source source = SLW_SOURCE_INIT;
        const char *include = slt_fixture("hip_src/include");
        source.path = slt_fixture(i == 0 ? "hip_src/saxpy.hip" : "hip_src/reduce.cl");
        source.include_roots = &include;
        source.include_root_count = 1;
        slw_hydrated *hydrated = NULL;
        slw_cached *cached = hipc_compile_ok(&world, &source, "gfx1100", flags, SLW_PUBLISHED);
        ck_assert_uint_eq(hipc_hydrate(&world, &cached, &hydrated)->kernels[0].warp_threads, 64);
        slw_hydrated_discard(&hydrated);
    }
}
END_TEST

/* Every processor that clang lists: it compiles, and the object says it; one that it does not list is refused with the
   list. */
START_TEST(every_processor_of_the_tool) {
    static const char text[] =
        "target triple = \"amdgcn-amd-amdhsa\"\n"
        "define amdgpu_kernel void @k(ptr addrspace(1) %p) {\n  store i32 1, ptr addrspace(1) %p\n  ret void\n}\n";
    if (!hipc_ready(&world, "every_processor_of_the_tool")) return;
    slw_identity *identity = NULL;
    slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
    slw_toolchain_request request;
    memset(&request, 0, sizeof request);
    options.memo = world.memo;
    slt_ok(slw_identity_create(&options, &identity, &world.err), &world.err);
    request.size = sizeof request;
    request.compiler = slw_compiler_path(world.compiler);
    request.memo = world.memo;
    request.identity = identity;
    void *toolchain = NULL;
    slt_ok(slwi_hip_backend.toolchain_open(&request, &toolchain, &world.err), &world.err);
    const slwi_clang_toolchain *t = toolchain;
    const slwi_tool_list *all = &t->answer.facts[SLWI_TOOL_FACT_TARGET];
    const slw_source source = hipc_source(text, "k.ll");
    ck_assert_uint_ge(all->count, 30);
    for (size_t i = 0; i < all->count; i++) {
        ck_assert_msg(slwi_hip_backend.supports_target(all->items[i]), "%s", all->items[i]);
        slw_cached *cached = hipc_compile_ok(&world, &source, all->items[i], NULL, SLW_PUBLISHED);
        slw_hydrated *hydrated = NULL;
        ck_assert_str_eq(hipc_hydrate(&world, &cached, &hydrated)->target, all->items[i]);
        slw_hydrated_discard(&hydrated);
    }
    slw_cached *cached = NULL;
    ck_assert_int_eq(hipc_compile(&world, &source, "gfx4711", NULL, &cached), SLW_E_UNSUPPORTED_INPUT);
    ck_assert_str_eq(world.err.reason, "TARGET");
    ck_assert_str_eq(world.err.subject, "gfx4711");
    ck_assert_ptr_nonnull(strstr(world.err.tried, "gfx90a"));
    slwi_hip_backend.toolchain_close(toolchain);
    slw_identity_release(&identity);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/hip_kernels");
    TCase *tcase = tcase_create("kernels");
    tcase_set_timeout(tcase, 600);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, kernels_of_all_kinds, 0, TARGET_COUNT);
    tcase_add_test(tcase, hidden_arguments_are_not_the_callers);
    tcase_add_test(tcase, implicit_arguments_lie_behind_the_callers);
    tcase_add_test(tcase, options_of_the_machine_reach_the_code);
    tcase_add_test(tcase, every_processor_of_the_tool);
    suite_add_tcase(suite, tcase);
    return hipc_run(suite);
}
