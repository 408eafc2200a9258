/* Two readers, one kernel: what the cubin says is what the scanner says of the PTX it was made from. */
#include "cubin_fixture.h"
#include "ptx/ptx_read.h"

static const struct {
    const char *ptx, *cubin;
    const char *path; /* nvcc makes other names of anonymous name spaces in another place; NULL: none */
} pairs[] = {
    {"ptx/k1_90.ptx", "k1_sm90.cubin", "_ZN33_GLOBAL__N_"}, {"ptx/k1_90.ptx", "k1_sm90a.cubin", "_ZN33_GLOBAL__N_"},
    {"ptx/k1_75.ptx", "k1_sm75.cubin", "_ZN33_GLOBAL__N_"}, {"ptx/k9_90.ptx", "k9_sm90.cubin", NULL},
    {"ptx/k9_100f.ptx", "k9_sm100f.cubin", NULL},           {"ptx/al_80.ptx", "al_80.cubin", NULL},
    {"cubin/src/rq_80.ptx", "rq_80.cubin", NULL},           {"cubin/src/rq_90.ptx", "rq_90.cubin", NULL},
    {"cubin/src/rq_100.ptx", "rq_100.cubin", NULL},         {"cubin/src/clus.ptx", "clus_90a_12.4.cubin", NULL},
    {"cubin/src/clus.ptx", "clus_90_13.5.cubin", NULL},     {"cubin/src/bac.ptx", "bac_100f_13.0.cubin", NULL},
    {"cubin/src/spaces.ptx", "spaces_80_13.5.cubin", NULL}, {"cubin/src/spaces90.ptx", "spaces_90_13.5.cubin", NULL},
};
#define PAIRS (sizeof(pairs) / sizeof(pairs[0]))

static int same_name(const char *a, const char *b, const char *path) {
    if (strcmp(a, b) == 0) return 1;
    return path != NULL && strncmp(a, path, strlen(path)) == 0 && strncmp(b, path, strlen(path)) == 0;
}

static void same_params(const char *file, const slw_kernel_contract *text, const slw_kernel_contract *binary) {
    ck_assert_msg(text->param_count == binary->param_count, "%s %s: %u parameters, PTX %u", file, text->name,
                  binary->param_count, text->param_count);
    for (uint32_t p = 0; p < text->param_count; p++) {
        const slw_param *said = &text->params[p];
        const slw_param *is = &binary->params[p];
        ck_assert_msg(said->size_bytes == is->size_bytes, "%s %s: parameter %u has %u bytes, PTX %u", file, text->name,
                      p, is->size_bytes, said->size_bytes);
        if (said->kind == SLW_PARAM_POINTER) ck_assert_int_eq(is->kind, SLW_PARAM_POINTER);
        if (is->size_bytes != 0) {
            /* Where the parameter is aligned to more than 16 bytes the device goes its own way (device.md C.4). */
            ck_assert_uint_eq(is->offset_bytes % (said->alignment_bytes > 16 ? 16 : said->alignment_bytes), 0);
        }
    }
}

static void same_kernel(const char *file, const slw_kernel_contract *text, const slw_kernel_contract *binary) {
    same_params(file, text, binary);
    ck_assert_msg(text->max_threads == binary->max_threads, "%s %s: maxntid", file, text->name);
    ck_assert_mem_eq(text->required_threads, binary->required_threads, sizeof(text->required_threads));
    ck_assert_mem_eq(text->cluster, binary->cluster, sizeof(text->cluster));
    ck_assert_uint_eq(text->cluster_required, binary->cluster_required);
    ck_assert_uint_eq(text->max_cluster_rank, binary->max_cluster_rank);
    ck_assert_int_eq(text->grid_unit, binary->grid_unit);
    ck_assert_uint_eq(text->ctas, binary->ctas);
    ck_assert_uint_eq(text->warp_threads, binary->warp_threads);
    /* .maxnreg arrives; where there is none ptxas works one out of .minnctapersm. */
    if (text->max_registers != 0) ck_assert_uint_eq(text->max_registers, binary->max_registers);
}

START_TEST(the_same_kernels) {
    size_t size;
    size_t text_size;
    slw_error err = SLW_ERROR_INIT;
    uint8_t *data = cub_load("cubin", pairs[_i].cubin, &size);
    slw_contract *binary = cub_good(pairs[_i].cubin, data, size);
    char *text = slt_read_file(slt_fixture(pairs[_i].ptx), &text_size);
    slw_contract *module = NULL;
    slt_ok(slwi_ptx_read_contract(&cub_heap, (slw_bytes){text, text_size}, "cuda", NULL, &module, &err), &err);
    ck_assert_int_eq(module->kind, SLW_IMAGE_PTX);
    ck_assert_uint_eq(module->kernel_count, binary->kernel_count);
    for (uint32_t i = 0; i < module->kernel_count; i++) {
        ck_assert_msg(same_name(module->kernels[i].name, binary->kernels[i].name, pairs[_i].path), "%s: %s, PTX %s",
                      pairs[_i].cubin, binary->kernels[i].name, module->kernels[i].name);
        same_kernel(pairs[_i].cubin, &module->kernels[i], &binary->kernels[i]);
    }
    slwi_contract_free(&cub_heap, &module);
    slwi_contract_free(&cub_heap, &binary);
    free(text);
    free(data);
}
END_TEST

START_TEST(ptx_says_its_version) {
    static const char text[] = ".version 12.34\n.target sm_90a\n.address_size 64\n.entry k() { ret; }\n";
    slw_error err = SLW_ERROR_INIT;
    slw_contract *module = NULL;
    slt_ok(slwi_ptx_read_contract(&cub_heap, (slw_bytes){text, sizeof(text) - 1}, "cuda", NULL, &module, &err), &err);
    ck_assert_int_eq(module->kind, SLW_IMAGE_PTX);
    ck_assert_str_eq(module->isa_version, "12.34");
    ck_assert_str_eq(module->target, "sm_90a");
    slwi_contract_free(&cub_heap, &module);
}
END_TEST

/* The text of a contract is as long as SLW_LIMIT_NAME_BYTES says, for PTX as for binaries. */
START_TEST(ptx_names_follow_the_limit) {
    static const char head[] = ".version 9.0\n.target sm_90\n.address_size 64\n.entry ";
    static const char tail[] = "() { ret; }\n";
    for (size_t over = 0; over < 2; over++) {
        size_t length = SLW_LIMIT_NAME_BYTES + over;
        char *text = malloc(sizeof(head) + length + sizeof(tail));
        memcpy(text, head, sizeof(head) - 1);
        memset(text + sizeof(head) - 1, 'n', length);
        memcpy(text + sizeof(head) - 1 + length, tail, sizeof(tail));
        slw_contract *module = NULL;
        slw_error err = SLW_ERROR_INIT;
        slw_bytes bytes = {text, strlen(text)};
        slw_code rc = slwi_ptx_read_contract(&cub_heap, bytes, "cuda", NULL, &module, &err);
        if (over == 0) {
            slt_ok(rc, &err);
            ck_assert_uint_eq(strlen(module->kernels[0].name), length);
        } else {
            ck_assert_int_eq(rc, SLW_E_LIMIT);
            ck_assert_uint_eq(err.limit, SLW_LIMIT_NAME_BYTES);
        }
        slwi_contract_free(&cub_heap, &module);
        free(text);
    }
}
END_TEST

/* Pitfall 11: the grid of a .blocksareclusters kernel counts clusters; the record that says so (0x5b) has no value. */
START_TEST(pitfall_11_the_grid_counts_clusters) {
    size_t size;
    uint8_t *data = cub_load("cubin", "bac_100f_13.0.cubin", &size);
    slw_contract *contract = cub_good("bac", data, size);
    ck_assert_int_eq(slw_contract_find(contract, "h")->grid_unit, SLW_GRID_CLUSTERS);
    ck_assert_uint_eq(slw_contract_find(contract, "h")->cluster[0], 2);
    ck_assert_int_eq(slw_contract_find(contract, "i")->grid_unit, SLW_GRID_BLOCKS);
    slwi_contract_free(&cub_heap, &contract);
    cub_record(data, ".nv.info.h", 0x5b)[1] = 0xee;
    contract = cub_good("bac", data, size);
    ck_assert_int_eq(slw_contract_find(contract, "h")->grid_unit, SLW_GRID_BLOCKS);
    slwi_contract_free(&cub_heap, &contract);
    free(data);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cubin and PTX");
    TCase *tests = tcase_create("cubin");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, the_same_kernels, 0, PAIRS);
    tcase_add_test(tests, ptx_says_its_version);
    tcase_add_test(tests, ptx_names_follow_the_limit);
    tcase_add_test(tests, pitfall_11_the_grid_counts_clusters);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
