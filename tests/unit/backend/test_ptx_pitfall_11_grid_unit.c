/* Pitfall 11: a kernel with .blocksareclusters takes its grid in clusters, not in blocks. */
#include "backends.h"
#include "ptx_fixture.h"

static slw_contract *contract_of(const char *text) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    slt_ok(slwi_ptx_read_contract(&ptx_heap, (slw_bytes){text, strlen(text)}, "cuda", NULL, &contract, &err), &err);
    return contract;
}

START_TEST(blocks_are_clusters) {
    size_t size;
    char *text = slt_read_file(slt_fixture("ptx-cases/p48_blocksareclusters.ptx"), &size);
    slw_contract *contract = contract_of(text);
    free(text);
    ck_assert_uint_eq(contract->kernel_count, 1);
    const slw_kernel_contract *kernel = &contract->kernels[0];
    ck_assert_int_eq(kernel->grid_unit, SLW_GRID_CLUSTERS);
    ck_assert_uint_eq(kernel->cluster[0], 2);
    ck_assert_uint_eq(kernel->cluster[1], 1);
    ck_assert_uint_eq(kernel->cluster[2], 1);
    ck_assert_uint_eq(kernel->cluster_required, 1);
    ck_assert_uint_eq(kernel->required_threads[0], 32);
    slwi_contract_free(&ptx_heap, &contract);
}
END_TEST

/* A required cluster alone changes nothing: such a grid counts blocks and must be divisible. */
START_TEST(a_cluster_alone_counts_blocks) {
    slw_contract *contract = contract_of(HEAD ".entry a() .reqntid 32 .reqnctapercluster 2 " BODY
                                              ".entry b() .blocksareclusters .reqnctapercluster 4, 2 .reqntid 32 " BODY
                                              ".entry c() .explicitcluster " BODY);
    ck_assert_int_eq(slw_contract_find(contract, "a")->grid_unit, SLW_GRID_BLOCKS);
    ck_assert_uint_eq(slw_contract_find(contract, "a")->cluster_required, 1);
    ck_assert_int_eq(slw_contract_find(contract, "b")->grid_unit, SLW_GRID_CLUSTERS);
    ck_assert_uint_eq(slw_contract_find(contract, "b")->cluster[0], 4);
    ck_assert_uint_eq(slw_contract_find(contract, "b")->cluster[1], 2);
    ck_assert_uint_eq(slw_contract_find(contract, "b")->cluster[2], 1);
    ck_assert_int_eq(slw_contract_find(contract, "c")->grid_unit, SLW_GRID_BLOCKS);
    ck_assert_uint_eq(slw_contract_find(contract, "c")->cluster_required, 0);
    slwi_contract_free(&ptx_heap, &contract);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("ptx pitfall 11");
    TCase *tcase = tcase_create("grid unit");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, blocks_are_clusters);
    tcase_add_test(tcase, a_cluster_alone_counts_blocks);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
