/* Kernels of the kinds people write, compiled by the real nvcc for four targets: what the contracts say, cold and hot.
 * The figures are what `ptxas -v` said of them (sm_80: the bytes of cmem[0] less its 352 reserved ones). */
#include "cuda_fixture.h"

#define KERNELS 6

typedef struct expected_kernel {
    const char *name; /* or what it ends with, after a '*' */
    uint32_t param_count, param_bytes, shared, max_threads, min_blocks, cluster, local;
} expected_kernel;

static const struct expected {
    const char *file;
    const char *targets[4];
    expected_kernel kernels[KERNELS];
} expected[] = {
    {"reduce",
     {"sm_80", "sm_90", "sm_90a", "sm_100"},
     {{"block_sum", 3, 20, 1024, 0, 0, 0, 0},
      {"warp_sum", 2, 16, 0, 128, 0, 0, 0},
      {"histogram", 4, 32, 0, 0, 0, 0, 0},
      {"first_negative", 3, 24, 0, 0, 0, 0, 0}}},
    {"gemm",
     {"sm_80", "sm_90", "sm_90a", "sm_100"},
     {{"gemm_f32", 6, 36, 2112, 256, 4, 0, 0},
      {"gemm_f16", 6, 36, 4160, 1024, 0, 0, 0},
      {"_Z4axpyIfEvT_PKS0_PS0_m", 4, 32, 0, 0, 0, 0, 0},
      {"_Z4axpyIdEvT_PKS0_PS0_m", 4, 32, 0, 0, 0, 0, 0}}},
    {"softmax",
     {"sm_80", "sm_90", "sm_90a", "sm_100"},
     {{"softmax", 3, 20, 128, 0, 0, 0, 0}, {"two_passes", 2, 12, 0, 0, 0, 0, 0}}},
    {"values",
     {"sm_80", "sm_90", "sm_90a", "sm_100"},
     {{"convolve", 3, 64, 0, 0, 0, 0, 0},
      {"mixed", 9, 72, 0, 0, 0, 0, 0},
      {"scattered", 3, 20, 0, 0, 0, 0, 256},
      {"_Z12local_kernelPi", 1, 8, 0, 0, 0, 0, 0},
      {"*6hiddenEPi", 1, 8, 0, 0, 0, 0, 0},
      {"nothing", 0, 0, 0, 0, 0, 0, 0}}},
    {"cluster",
     {"sm_90", "sm_90a", "sm_100", NULL},
     {{"cluster_sum", 2, 16, 4, 128, 0, 4, 0}, {"any_cluster", 1, 8, 0, 0, 0, 0, 0}}},
};
#define EXPECTED ((int)(sizeof(expected) / sizeof(expected[0])))

static const slw_kernel_contract *find(const slw_contract *contract, const char *name) {
    if (name[0] != '*') return slw_contract_find(contract, name);
    const size_t tail = strlen(name + 1);
    for (uint32_t i = 0; i < contract->kernel_count; i++) {
        const char *kernel = contract->kernels[i].name;
        if (strlen(kernel) >= tail && strcmp(kernel + strlen(kernel) - tail, name + 1) == 0)
            return &contract->kernels[i];
    }
    return NULL;
}

static void check_kernel(const slw_contract *contract, const expected_kernel *e) {
    const slw_kernel_contract *k = find(contract, e->name);
    ck_assert_msg(k != NULL, "%s", e->name);
#define SAME(field, value)                                                                                             \
    ck_assert_msg(k->field == (value), "%s for %s: %s is %u, not %u", e->name, contract->target, #field,               \
                  (unsigned)k->field, (unsigned)(value))
    SAME(param_count, e->param_count);
    SAME(param_bytes, e->param_bytes);
    SAME(static_shared_bytes, e->shared);
    SAME(max_threads, e->max_threads);
    SAME(local_bytes, e->local);
    SAME(cluster[0], e->cluster);
    SAME(cluster_required, e->cluster != 0);
    SAME(grid_unit, SLW_GRID_BLOCKS);
    if (e->min_blocks != 0 && k->min_blocks != 0) SAME(min_blocks, e->min_blocks);
    ck_assert_msg(k->registers > 0, "%s", e->name);
}

static void check_contract(cuda_world *w, const struct expected *e, const char *target) {
    slw_hydrated *hydrated = NULL;
    slt_ok(slw_hydrate(&w->cached, NULL, &hydrated, &w->err), &w->err);
    const slw_contract *contract = slw_hydrated_contract(hydrated);
    ck_assert_str_eq(contract->backend, "cuda");
    ck_assert_str_eq(contract->target, target);
    ck_assert_int_eq(contract->kind, SLW_IMAGE_CUBIN);
    uint32_t count = 0;
    for (size_t i = 0; i < KERNELS && e->kernels[i].name != NULL; i++, count++) check_kernel(contract, &e->kernels[i]);
    ck_assert_uint_eq(contract->kernel_count, count);
    slw_hydrated_discard(&hydrated);
}

START_TEST(kinds_of_kernels) {
    const struct expected *e = &expected[_i];
    cuda_world *w = malloc(sizeof(*w));
    char file[64];
    ck_assert_ptr_nonnull(w);
    (void)snprintf(file, sizeof(file), "cu/%s.cu", e->file);
    char *text = cuda_fixture_text(file);
    cuda_open(w);
    for (size_t t = 0; t < 4 && e->targets[t] != NULL; t++) {
        cuda_expect(w, cuda_compile_for(w, text, file, e->targets[t]), SLW_OK);
        ck_assert_msg(w->report.disposition == SLW_PUBLISHED, "%s for %s: %s", file, e->targets[t], w->report.reason);
        check_contract(w, e, e->targets[t]);
    }
    /* Hot: nothing is started, by a compiler that is opened anew and finds nothing in its search path. */
    cuda_close_compiler(w);
    const uint64_t before = slwi_process_count();
    slt_ok(cuda_open_compiler(w, NULL, "/nonexistent"), &w->err);
    for (size_t t = 0; t < 4 && e->targets[t] != NULL; t++) {
        cuda_expect(w, cuda_compile_for(w, text, file, e->targets[t]), SLW_OK);
        ck_assert_int_eq(w->report.disposition, SLW_HIT);
        check_contract(w, e, e->targets[t]);
    }
    ck_assert_uint_eq(slwi_process_count(), before);
    cuda_close(w);
    free(w);
    free(text);
}
END_TEST

int main(void) {
    Suite *s = suite_create("backend/cuda_kinds");
    TCase *c = tcase_create("kinds");
    tcase_set_timeout(c, 300);
    if (cuda_has_nvcc())
        tcase_add_loop_test(c, kinds_of_kernels, 0, EXPECTED);
    else
        slt_skip("kinds_of_kernels", "there is no nvcc");
    suite_add_tcase(s, c);
    return cuda_main(s);
}
