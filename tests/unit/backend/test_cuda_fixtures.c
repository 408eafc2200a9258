/* The sources that the cubin fixtures were made of, compiled anew: the contract of what comes out is that of the fixture,
 * but for registers, which are the compiler's to choose, and names made up for what has none. */
#include "cuda_fixture.h"

static const struct made {
    const char *source, *target, *cubin;
} made[] = {
    {"cubin/src/k1.cu", "sm_90", "cubin/k1_sm90.cubin"},   {"cubin/src/k1.cu", "sm_100f", "cubin/k1_sm100f.cubin"},
    {"cubin/src/k9.cu", "sm_90a", "cubin/k9_sm90a.cubin"}, {"cubin/src/al.cu", "sm_80", "cubin/al_80.cubin"},
    {"cubin/src/wg.cu", "sm_90a", "cubin/wg_sm90a.cubin"}, {"cubin/src/huge.cu", "sm_90", "cubin/hg_90.cubin"},
    {"cubin/src/sp.cu", "sm_90", "cubin/sp_90.cubin"},     {"cu/launchchk.cu", "sm_100", NULL},
};

static void same_kernel(const slw_kernel_contract *a, const slw_kernel_contract *b) {
#define SAME(field)                                                                                                    \
    ck_assert_msg(a->field == b->field, "%s: %s %u %u", a->name, #field, (unsigned)a->field, (unsigned)b->field)
    SAME(param_count);
    SAME(param_bytes);
    SAME(static_shared_bytes);
    SAME(reserved_shared_bytes);
    SAME(max_threads);
    SAME(min_blocks);
    SAME(max_registers);
    SAME(cluster[0]);
    SAME(cluster[1]);
    SAME(cluster_required);
    SAME(max_cluster_rank);
    SAME(grid_unit);
    SAME(cooperative);
    SAME(needs);
    for (uint32_t i = 0; i < a->param_count; i++) {
        SAME(params[i].offset_bytes);
        SAME(params[i].size_bytes);
    }
}

static void same_contract(const slw_contract *a, const slw_contract *b) {
    ck_assert_str_eq(a->target, b->target);
    ck_assert_uint_eq(a->kernel_count, b->kernel_count);
    for (uint32_t i = 0; i < a->kernel_count; i++) {
        /* Sorted by name; one that was made up may stand elsewhere. */
        if (strstr(a->kernels[i].name, "_GLOBAL__N_") != NULL) continue;
        const slw_kernel_contract *other = slw_contract_find(b, a->kernels[i].name);
        ck_assert_msg(other != NULL, "%s", a->kernels[i].name);
        same_kernel(&a->kernels[i], other);
    }
}

START_TEST(what_the_fixtures_were_made_of) {
    const struct made *m = &made[_i];
    cuda_world *w = malloc(sizeof(*w));
    slw_hydrated *hydrated = NULL;
    ck_assert_ptr_nonnull(w);
    char *text = cuda_fixture_text(m->source);
    cuda_open(w);
    cuda_expect(w, cuda_compile_for(w, text, m->source, m->target), SLW_OK);
    ck_assert_msg(w->report.disposition == SLW_PUBLISHED, "%s", w->report.reason);
    slt_ok(slw_hydrate(&w->cached, NULL, &hydrated, &w->err), &w->err);
    if (m->cubin != NULL) {
        size_t size;
        slw_inspection *inspection = NULL;
        slw_image image = SLW_IMAGE_INIT;
        char *bytes = slt_read_file(slt_fixture(m->cubin), &size);
        slt_ok(slw_inspect(NULL, (slw_bytes){bytes, size}, &inspection, &w->err), &w->err);
        ck_assert(slw_inspection_image(inspection, 0, &image) && image.contract != NULL);
        same_contract(image.contract, slw_hydrated_contract(hydrated));
        slw_inspection_discard(&inspection);
        free(bytes);
    }
    slw_hydrated_discard(&hydrated);
    cuda_close(w);
    free(w);
    free(text);
}
END_TEST

int main(void) {
    Suite *s = suite_create("backend/cuda_fixtures");
    TCase *c = tcase_create("fixtures");
    tcase_set_timeout(c, 300);
    if (cuda_has_nvcc())
        tcase_add_loop_test(c, what_the_fixtures_were_made_of, 0, (int)(sizeof(made) / sizeof(*made)));
    else
        slt_skip("what_the_fixtures_were_made_of", "there is no nvcc");
    suite_add_tcase(s, c);
    return cuda_main(s);
}
