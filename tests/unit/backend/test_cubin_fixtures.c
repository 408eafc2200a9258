/* Every value of every cubin, against what cuobjdump, readelf and the compilers say of it (oracle.tsv). */
#include <dirent.h>

#include "cubin_fixture.h"
#include "json.h"

/* The file that is open, read again only when the table goes on to the next. */
static char open_file[128];
static slw_contract *open_contract;
static uint32_t rows_of_file;
static unsigned files, kernels;

static void close_file(void) {
    if (open_contract != NULL) {
        ck_assert_msg(rows_of_file == open_contract->kernel_count, "%s: %u kernels, the oracle has %u", open_file,
                      open_contract->kernel_count, rows_of_file);
    }
    slwi_contract_free(&cub_heap, &open_contract);
}

static void open_another(const char *file) {
    if (strcmp(open_file, file) == 0) return;
    close_file();
    size_t size;
    uint8_t *data = cub_load("cubin", file, &size);
    open_contract = cub_good(file, data, size);
    ck_assert_int_eq(slwi_cubin_recognises((slw_bytes){data, size}), 1);
    free(data);
    rows_of_file = 0;
    files++;
    (void)snprintf(open_file, sizeof(open_file), "%s", file);
}

static void text_is(char **row, const char *what, const char *is, const char *wanted) {
    ck_assert_msg(strcmp(is, wanted) == 0, "%s %s: %s is %s, wanted %s", row[0], row[2], what, is, wanted);
}

static void number_is(char **row, const char *what, uint32_t is, const char *wanted) {
    ck_assert_msg(is == strtoul(wanted, NULL, 10), "%s %s: %s is %u, wanted %s", row[0], row[2], what, is, wanted);
}

static void triple_is(char **row, const char *what, const uint32_t is[3], const char *wanted) {
    char text[48];
    (void)snprintf(text, sizeof(text), "%u,%u,%u", is[0], is[1], is[2]);
    text_is(row, what, text, wanted);
}

static void check_params(char **row, const slw_kernel_contract *kernel) {
    static char text[1 << 16];
    size_t at = 0;
    (void)snprintf(text, sizeof(text), "-");
    for (uint32_t p = 0; p < kernel->param_count; p++) {
        const slw_param *param = &kernel->params[p];
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u+%u%s", p == 0 ? "" : " ", param->offset_bytes,
                               param->size_bytes, param->kind == SLW_PARAM_POINTER ? "p" : "");
        ck_assert_uint_lt(at, sizeof(text));
        ck_assert_ptr_null(param->name);
        ck_assert_uint_eq(param->alignment_bytes, 1);
        ck_assert_int_eq(param->role, SLW_ROLE_CALLER);
    }
    text_is(row, "params", text, row[15]);
}

static void check_rest(char **row, const slw_kernel_contract *kernel) {
    char needs[64];
    (void)snprintf(needs, sizeof(needs), "%s%s%s", kernel->needs & SLW_NEEDS_GLOBALS ? ",globals" : "",
                   kernel->needs & SLW_NEEDS_DEVICE_MALLOC ? ",malloc" : "",
                   kernel->needs & SLW_NEEDS_PRINTF ? ",printf" : "");
    text_is(row, "needs", needs[0] == '\0' ? "-" : needs + 1, row[14]);
    text_is(row, "grid unit", kernel->grid_unit == SLW_GRID_CLUSTERS ? "clusters" : "blocks", row[12]);
    ck_assert_uint_eq(kernel->cluster_required, kernel->cluster[0] != 0);
    ck_assert_uint_eq(kernel->ctas, 1);
    ck_assert_uint_eq(kernel->warp_threads, 32);
    /* No cubin says it: offsets of warp-wide instructions stand in kernels with a shuffle as well. */
    ck_assert_uint_eq(kernel->cooperative, 0);
    ck_assert_uint_eq(kernel->dynamic_shared_bytes, 0);
    ck_assert_uint_eq(kernel->min_blocks, 0);
}

static void check_kernel(char **row, size_t count) {
    if (strcmp(row[1], "RELOCATABLE") == 0) return;
    ck_assert_uint_eq(count, 17);
    open_another(row[0]);
    const slw_kernel_contract *kernel = slw_contract_find(open_contract, row[2]);
    ck_assert_msg(kernel != NULL, "%s: no kernel %s", row[0], row[2]);
    text_is(row, "target", open_contract->target, row[1]);
    number_is(row, "param_bytes", kernel->param_bytes, row[3]);
    number_is(row, "registers", kernel->registers, row[4]);
    number_is(row, "local_bytes", kernel->local_bytes, row[5]);
    number_is(row, "static_shared_bytes", kernel->static_shared_bytes, row[6]);
    number_is(row, "reserved_shared_bytes", kernel->reserved_shared_bytes, row[7]);
    number_is(row, "max_threads", kernel->max_threads, row[8]);
    triple_is(row, "required_threads", kernel->required_threads, row[9]);
    triple_is(row, "cluster", kernel->cluster, row[10]);
    number_is(row, "max_cluster_rank", kernel->max_cluster_rank, row[11]);
    number_is(row, "max_registers", kernel->max_registers, row[13]);
    check_params(row, kernel);
    check_rest(row, kernel);
    rows_of_file++;
    kernels++;
}

START_TEST(every_value_of_every_cubin) {
    cub_table("cubin/oracle.tsv", check_kernel);
    close_file();
    ck_assert_uint_eq(files, 49);
    ck_assert_uint_eq(kernels, 259);
}
END_TEST

/* A cubin that nobody added to the oracle is not left out in silence. */
START_TEST(no_cubin_is_left_out) {
    char *oracle = slt_read_file(slt_fixture("cubin/oracle.tsv"), NULL);
    DIR *directory = opendir(slt_fixture("cubin"));
    ck_assert_ptr_nonnull(directory);
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        char line[300];
        if (strstr(entry->d_name, ".cubin") == NULL) continue;
        (void)snprintf(line, sizeof(line), "\n%s\t", entry->d_name);
        ck_assert_msg(strstr(oracle, line) != NULL, "%s is not in the oracle", entry->d_name);
    }
    closedir(directory);
    free(oracle);
}
END_TEST

START_TEST(the_contract_as_a_whole) {
    size_t size;
    uint8_t *data = cub_load("cubin", "k9_sm90a.cubin", &size);
    slw_contract *contract = cub_good("k9", data, size);
    ck_assert_str_eq(contract->backend, "cuda");
    ck_assert_str_eq(contract->launch_binary, "kernel.cubin");
    ck_assert_int_eq(contract->kind, SLW_IMAGE_CUBIN);
    ck_assert_ptr_null(contract->isa_version);
    ck_assert_uint_eq(contract->schema, SLW_CONTRACT_SCHEMA);
    ck_assert_uint_eq(contract->reader_revision, SLWI_CUDA_READER_REVISION);
    for (uint32_t i = 1; i < contract->kernel_count; i++) {
        ck_assert_int_lt(strcmp(contract->kernels[i - 1].name, contract->kernels[i].name), 0);
    }
    free(data); /* nothing of it is kept */
    ck_assert_str_eq(contract->kernels[0].name, "clus");
    slwi_contract_free(&cub_heap, &contract);

    slw_error err = SLW_ERROR_INIT;
    data = cub_load("cubin", "rq_90.cubin", &size);
    slt_ok(slwi_cubin_contract(&cub_heap, (slw_bytes){data, size}, "mine.bin", &contract, &err), &err);
    ck_assert_str_eq(contract->launch_binary, "mine.bin");
    slwi_contract_free(&cub_heap, &contract);
    free(data);
}
END_TEST

/* What is read can be kept in slipway.json and comes back the same. */
START_TEST(a_contract_survives_json) {
    static const char *const seeds[] = {"k1_sm90a.cubin", "spaces_80_13.5.cubin", "bac_100f_13.0.cubin", "hg_90.cubin"};
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        size_t size;
        slw_error err = SLW_ERROR_INIT;
        uint8_t *data = cub_load("cubin", seeds[i], &size);
        slw_contract *contract = cub_good(seeds[i], data, size);
        slwi_buffer text;
        slwi_buffer_init(&text, &cub_heap, 1u << 22);
        slwi_json_writer writer;
        slwi_json_begin(&writer, &text, 1);
        slwi_contract_write(contract, &writer);
        slwi_json_document *document = NULL;
        slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
        slt_ok(slwi_json_parse(&cub_heap, (slw_bytes){text.data, text.size}, &limits, &document, &err), &err);
        slw_contract *again = NULL;
        slt_ok(slwi_contract_read(&cub_heap, slwi_json_root(document), &again, &err), &err);
        slt_ok(slwi_contract_compare(again, contract, &err), &err);
        slwi_contract_free(&cub_heap, &again);
        slwi_json_free(&document);
        slwi_buffer_free(&text);
        slwi_contract_free(&cub_heap, &contract);
        free(data);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cubin fixtures");
    TCase *tests = tcase_create("cubin");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, every_value_of_every_cubin);
    tcase_add_test(tests, no_cubin_is_left_out);
    tcase_add_test(tests, the_contract_as_a_whole);
    tcase_add_test(tests, a_contract_survives_json);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
