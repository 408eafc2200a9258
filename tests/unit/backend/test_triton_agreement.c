/* What binary and metadata both say must agree: each field of every real entry, changed alone, is refused by its name
 * with both values in the message. Where a binary is silent, what is believed and what is not. */
#include "triton_fixture.h"

/* The metadata with one replacement is refused. */
static void refuse(const triton_entry *e, const char *from, const char *to, slw_code code, const char *subject,
                   const char *in_message) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    slw_bytes changed = triton_replace(e->metadata, from, to);
    slw_code rc = triton_contract_of(e, changed, &contract, &err);
    ck_assert_msg(rc == code, "%s: %s for %s: %s (%s) %s", e->label, to, from, slw_code_name(rc), err.subject,
                  err.message);
    ck_assert_ptr_null(contract);
    ck_assert_msg(strcmp(err.subject, subject) == 0, "%s: %s: subject %s, not %s", e->label, to, err.subject, subject);
    ck_assert_msg(in_message == NULL || strstr(err.message, in_message) != NULL, "%s: %s: no %s in: %s", e->label, to,
                  in_message, err.message);
    ck_assert_int_eq(err.code, code);
    free((void *)(uintptr_t)changed.data);
}

static void differs(const triton_entry *e, const char *from, const char *to, const char *subject,
                    const char *in_message) {
    refuse(e, from, to, SLW_E_CONTRACT_MISMATCH, subject, in_message);
}

static void check_name(const triton_entry *e) {
    char from[256];
    snprintf(from, sizeof(from), "\"name\": \"%s\"", e->entry);
    differs(e, from, "\"name\": \"another_kernel\"", "name", "another_kernel");
    differs(e, from, "\"name\": \"another_kernel\"", "name", e->is_cuda ? "kernel" : e->entry);
}

static void check_target(const triton_entry *e) {
    if (e->is_cuda) {
        const int is_90 = triton_number(e->oracle, "arch") == 90;
        differs(e, is_90 ? "\"arch\": 90" : "\"arch\": 80", "\"arch\": 75", "target.arch", is_90 ? "sm_90a" : "sm_80");
        refuse(e, is_90 ? "\"arch\": 90" : "\"arch\": 80", "\"arch\": \"sm_90\"", SLW_E_INVALID_METADATA, "target.arch",
               NULL);
        differs(e, "\"backend\": \"cuda\"", "\"backend\": \"xpu\"", "target.backend", "cuda");
        refuse(e, "\"backend\": \"cuda\"", "\"backend\": \"hip\"", SLW_E_INVALID_METADATA, "target.arch", NULL);
        differs(e, "\"warp_size\": 32", "\"warp_size\": 64", "target.warp_size", "32");
        return;
    }
    char from[64];
    const char *arch = triton_text(e->oracle, "arch");
    snprintf(from, sizeof(from), "\"arch\": \"%s\"", arch);
    differs(e, from, "\"arch\": \"gfx90a\"", "target.arch", arch);
    differs(e, from, "\"arch\": \"not a processor\"", "target.arch", arch);
    refuse(e, from, "\"arch\": 942", SLW_E_INVALID_METADATA, "target.arch", NULL);
    differs(e, "\"backend\": \"hip\"", "\"backend\": \"hip2\"", "target.backend", "hip");
    const int is_64 = triton_number(e->oracle, "warp_size") == 64;
    differs(e, is_64 ? "\"warp_size\": 64" : "\"warp_size\": 32", is_64 ? "\"warp_size\": 32" : "\"warp_size\": 64",
            "target.warp_size", is_64 ? "64" : "32");
}

static void check_shape(const triton_entry *e) {
    char from[48];
    char to[48];
    char threads[16];
    const unsigned warps = (unsigned)triton_number(e->oracle, "num_warps");
    const unsigned warp = (unsigned)triton_number(e->oracle, "warp_size");
    const unsigned most = (unsigned)triton_number(e->oracle, "tool.kernel.max_flat_workgroup_size");
    snprintf(from, sizeof(from), "\"num_warps\": %u", warps);
    snprintf(to, sizeof(to), "\"num_warps\": %u", e->is_cuda ? warps * 2 : most / warp + 1);
    snprintf(threads, sizeof(threads), "%u", e->is_cuda ? warps * 2 * warp : (most / warp + 1) * warp);
    differs(e, from, to, "num_warps", threads);
    snprintf(threads, sizeof(threads), "%u", e->is_cuda ? warps * warp : most);
    differs(e, from, to, "num_warps", threads);
    differs(e, from, "\"num_warps\": 4294967295", "num_warps", NULL); /* the product needs 64 bits */
    if (e->is_cuda && warps > 1) differs(e, from, "\"num_warps\": 1", "num_warps", "32");
    differs(e, "\"num_ctas\": 1", "\"num_ctas\": 2", "num_ctas", "1");
    if (strstr(e->metadata.data, "\"cluster_dims\": [1, 1, 1]") != NULL) {
        differs(e, "\"cluster_dims\": [1, 1, 1]", "\"cluster_dims\": [2, 1, 1]", "cluster_dims", "2");
        differs(e, "\"cluster_dims\": [1, 1, 1]", "\"cluster_dims\": [4294967295, 4294967295, 4294967295]",
                "cluster_dims", NULL);
    }
}

static void check_memory(const triton_entry *e) {
    if (e->is_cuda && triton_number(e->oracle, "shared") > 0) {
        char from[48];
        snprintf(from, sizeof(from), "\"shared\": %u", (unsigned)triton_number(e->oracle, "shared"));
        differs(e, from, "\"shared\": 0", "shared", "0");
    }
    if (strstr(e->metadata.data, "\"tmem_size\": 0") != NULL)
        differs(e, "\"tmem_size\": 0", "\"tmem_size\": 128", "tmem_size", "128");
    else /* hip, and cuda 3.2 */
        differs(e, "\"shared\": ", "\"tmem_size\": 128, \"shared\": ", "tmem_size", "128");
}

START_TEST(every_field_of_every_entry) {
    const size_t count = triton_open();
    for (size_t i = 0; i < count; i++) {
        triton_entry e = triton_load(i);
        check_name(&e);
        check_target(&e);
        check_shape(&e);
        check_memory(&e);
        triton_free(&e);
    }
    triton_close();
}
END_TEST

/* The warp size stands twice; both are held to. */
START_TEST(warp_size_at_the_top) {
    triton_entry e = triton_load_named("3.9.0/3I2GI6");
    differs(&e, "\"num_stages\": 3, \"warp_size\": 32", "\"num_stages\": 3, \"warp_size\": 16", "warp_size", "16");
    refuse(&e, "\"num_stages\": 3, \"warp_size\": 32", "\"num_stages\": 3, \"warp_size\": true", SLW_E_INVALID_METADATA,
           "warp_size", NULL);
    triton_free(&e);
    triton_close();
}
END_TEST

/* No parameter for scratch: 3.2 has none, a kernel of 3.4 has one. */
START_TEST(scratch_without_a_parameter) {
    triton_entry e = triton_load_named("3.2.0/5LT7Hw");
    differs(&e, "\"shared\": 0", "\"shared\": 0, \"global_scratch_size\": 64", "global_scratch_size", "64");
    differs(&e, "\"shared\": 0", "\"shared\": 0, \"profile_scratch_size\": 64", "profile_scratch_size", "64");
    triton_free(&e);
    e = triton_load_named("3.4.0/CD5X3A"); /* the last but one is a number of 4 bytes */
    differs(&e, "\"tmem_size\": 0", "\"tmem_size\": 0, \"profile_scratch_size\": 32", "global_scratch_size", "0");
    triton_free(&e);
    e = triton_load_named("3.4.0/OYWNRH");
    differs(&e, "\"shared\": 0", "\"shared\": 0, \"profile_scratch_size\": 32", "global_scratch_size", "0");
    triton_free(&e);
    triton_close();
}
END_TEST

/* Scratch that is asked for stands in the contract, with the pointer's place. */
START_TEST(scratch_that_is_there) {
    triton_entry e = triton_load_named("3.9.0/3I2GI6");
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    slw_bytes one = triton_replace(e.metadata, "\"global_scratch_size\": 0, \"global_scratch_align\": 1",
                                   "\"global_scratch_size\": 9223372036854775807, \"global_scratch_align\": 128");
    slw_bytes two = triton_replace(one, "\"profile_scratch_size\": 0, \"profile_scratch_align\": 1",
                                   "\"profile_scratch_size\": 24, \"profile_scratch_align\": 8");
    slw_bytes three = triton_replace(two, "\"launch_cooperative_grid\": false, \"launch_pdl\": false",
                                     "\"launch_cooperative_grid\": true, \"launch_pdl\": true");
    slt_ok(triton_contract_of(&e, three, &contract, &err), &err);
    const slw_kernel_contract *kernel = &contract->kernels[0];
    ck_assert_uint_eq(kernel->global_scratch_bytes, INT64_MAX);
    ck_assert_uint_eq(kernel->global_scratch_alignment_bytes, 128);
    ck_assert_uint_eq(kernel->profile_scratch_bytes, 24);
    ck_assert_uint_eq(kernel->profile_scratch_alignment_bytes, 8);
    ck_assert_uint_eq(kernel->cooperative, 1);
    ck_assert_uint_eq(kernel->programmatic_launch, 1);
    ck_assert_int_eq(kernel->params[3].role, SLW_ROLE_CALLER);
    ck_assert_int_eq(kernel->params[4].role, SLW_ROLE_GLOBAL_SCRATCH);
    ck_assert_uint_eq(kernel->params[4].offset_bytes, 32);
    ck_assert_int_eq(kernel->params[5].role, SLW_ROLE_PROFILE_SCRATCH);
    slw_contract_release(&triton_heap, &contract);
    slw_bytes bare = triton_replace(e.metadata, "\"global_scratch_size\": 0, \"global_scratch_align\": 1",
                                    "\"global_scratch_size\": 64");
    ck_assert_int_eq(triton_contract_of(&e, bare, &contract, &err), SLW_E_INVALID_METADATA);
    ck_assert_str_eq(err.subject, "global_scratch_align");
    free((void *)(uintptr_t)bare.data);
    free((void *)(uintptr_t)one.data);
    free((void *)(uintptr_t)two.data);
    free((void *)(uintptr_t)three.data);
    triton_free(&e);
    triton_close();
}
END_TEST

/* ---- made contracts: what no fixture has ---- */

static slwi_triton_metadata made_metadata(void) {
    slwi_triton_metadata m;
    memset(&m, 0, sizeof(m));
    m.name = "k";
    m.backend = "cuda";
    m.arch_number = 100;
    m.warp_size = 32;
    m.num_warps = 4;
    m.num_ctas = 2;
    m.version = 309;
    return m;
}

static const slw_kernel_contract plain_kernel = {.name = "k",
                                                 .ctas = 1,
                                                 .warp_threads = 32,
                                                 .required_threads = {128, 1, 1},
                                                 .cluster = {2, 1, 1},
                                                 .cluster_required = 1};

static slw_code join(const slwi_triton_metadata *m, const slw_kernel_contract *kernel, const char *target,
                     slw_contract **out, slw_error *err) {
    const slw_contract binary = {.schema = SLW_CONTRACT_SCHEMA,
                                 .reader_revision = 1,
                                 .backend = m->arch_name != NULL ? "hip" : "cuda",
                                 .target = target,
                                 .launch_binary = "k.bin",
                                 .kind = m->arch_name != NULL ? SLW_IMAGE_HSACO : SLW_IMAGE_CUBIN,
                                 .kernels = kernel,
                                 .kernel_count = 1};
    const slw_error fresh = SLW_ERROR_INIT;
    *err = fresh;
    *out = NULL;
    return slwi_triton_contract(&triton_heap, m, &binary, out, err);
}

static void join_differs(const slwi_triton_metadata *m, const slw_kernel_contract *kernel, const char *target,
                         const char *subject) {
    slw_error err;
    slw_contract *out;
    ck_assert_int_eq(join(m, kernel, target, &out, &err), SLW_E_CONTRACT_MISMATCH);
    ck_assert_ptr_null(out);
    ck_assert_str_eq(err.subject, subject);
    ck_assert_str_eq(err.kernel, m->name);
    ck_assert_str_eq(err.path, "k.bin");
}

static slw_contract *join_agrees(const slwi_triton_metadata *m, const slw_kernel_contract *kernel, const char *target) {
    slw_error err;
    slw_contract *out;
    slt_ok(join(m, kernel, target, &out, &err), &err);
    return out;
}

START_TEST(clusters) {
    slwi_triton_metadata m = made_metadata();
    slw_kernel_contract kernel = plain_kernel;
    slw_contract *out = join_agrees(&m, &kernel, "sm_100a");
    ck_assert_int_eq(out->kernels[0].grid_unit, SLW_GRID_PROGRAMS_BY_CTAS);
    ck_assert_uint_eq(out->kernels[0].ctas, 2);
    ck_assert_uint_eq(out->kernels[0].cluster[0], 2);
    ck_assert_uint_eq(out->kernels[0].cluster_required, 1);
    slwi_contract_free(&triton_heap, &out);

    m.num_ctas = 1; /* the binary has clusters, the metadata does not know */
    join_differs(&m, &kernel, "sm_100a", "num_ctas");
    m.num_ctas = 4;
    join_differs(&m, &kernel, "sm_100a", "num_ctas");
    m.num_ctas = 2;
    kernel.cluster[0] = 1; /* the same number in another shape */
    kernel.cluster[1] = 2;
    join_differs(&m, &kernel, "sm_100a", "num_ctas");
    m.cluster_dims[0] = 2;
    m.cluster_dims[1] = m.cluster_dims[2] = 1;
    join_differs(&m, &kernel, "sm_100a", "cluster_dims");
    kernel = plain_kernel;
    kernel.grid_unit = SLW_GRID_CLUSTERS; /* the grid would be multiplied twice */
    join_differs(&m, &kernel, "sm_100a", "num_ctas");
    kernel.grid_unit = SLW_GRID_BLOCKS;
    for (int i = 0; i < 3; i++) kernel.cluster[i] = UINT32_MAX;
    join_differs(&m, &kernel, "sm_100a", "num_ctas");
}
END_TEST

/* A binary of before 3.6 does not say its cluster: the metadata is believed where the device has any. */
START_TEST(clusters_of_a_silent_binary) {
    slwi_triton_metadata m = made_metadata();
    slw_kernel_contract kernel = plain_kernel;
    memset(kernel.cluster, 0, sizeof(kernel.cluster));
    kernel.cluster_required = 0;
    join_differs(&m, &kernel, "sm_100a", "num_ctas");
    m.version = 304;
    m.cluster_dims[0] = 2;
    m.cluster_dims[1] = m.cluster_dims[2] = 1;
    slw_contract *out = join_agrees(&m, &kernel, "sm_100a");
    ck_assert_uint_eq(out->kernels[0].cluster[0], 2);
    ck_assert_uint_eq(out->kernels[0].cluster_required, 0);
    ck_assert_uint_eq(out->kernels[0].ctas, 2);
    slwi_contract_free(&triton_heap, &out);
    m.arch_number = 80;
    join_differs(&m, &kernel, "sm_80", "num_ctas");
    m = made_metadata();
    m.version = 305; /* no cluster_dims any more, and not in the PTX yet */
    out = join_agrees(&m, &kernel, "sm_100a");
    ck_assert_uint_eq(out->kernels[0].cluster[0], 2);
    ck_assert_uint_eq(out->kernels[0].cluster[1], 1);
    slwi_contract_free(&triton_heap, &out);
    m.backend = "hip";
    m.arch_name = "gfx1250";
    out = join_agrees(&m, &kernel, "gfx1250");
    ck_assert_uint_eq(out->kernels[0].ctas, 2);
    slwi_contract_free(&triton_heap, &out);
    m.arch_name = "gfx942";
    join_differs(&m, &kernel, "gfx942:sramecc+:xnack-", "num_ctas");
}
END_TEST

START_TEST(tensor_memory) {
    static const struct {
        const char *target;
        uint32_t number;
        int has;
    } rows[] = {{"sm_90a", 90, 0},   {"sm_100a", 100, 1}, {"sm_100f", 100, 1}, {"sm_103a", 103, 1}, {"sm_107a", 107, 1},
                {"sm_110a", 110, 1}, {"sm_120a", 120, 0}, {"sm_121", 121, 0},  {"sm_130a", 130, 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        slwi_triton_metadata m = made_metadata();
        m.arch_number = rows[i].number;
        m.tensor_memory_columns = 512;
        if (!rows[i].has) {
            join_differs(&m, &plain_kernel, rows[i].target, "tmem_size");
            continue;
        }
        slw_contract *out = join_agrees(&m, &plain_kernel, rows[i].target);
        ck_assert_uint_eq(out->kernels[0].tensor_memory_columns, 512);
        slwi_contract_free(&triton_heap, &out);
    }
}
END_TEST

/* gcnArchName with its features is taken too, and then the features count. */
START_TEST(features_in_the_arch) {
    slwi_triton_metadata m = made_metadata();
    slw_kernel_contract kernel = plain_kernel;
    memset(kernel.cluster, 0, sizeof(kernel.cluster));
    memset(kernel.required_threads, 0, sizeof(kernel.required_threads));
    kernel.cluster_required = 0;
    kernel.warp_threads = 64;
    kernel.max_threads = 256;
    m.backend = "hip";
    m.num_ctas = 1;
    m.warp_size = 64;
    m.arch_name = "gfx90a:sramecc+:xnack-";
    slw_contract *out = join_agrees(&m, &kernel, "gfx90a:sramecc+:xnack-");
    slwi_contract_free(&triton_heap, &out);
    m.arch_name = "gfx90a:xnack-";
    out = join_agrees(&m, &kernel, "gfx90a:sramecc+:xnack-");
    slwi_contract_free(&triton_heap, &out);
    join_differs(&m, &kernel, "gfx90a:sramecc+:xnack+", "target.arch");
    m.arch_name = "gfx908";
    join_differs(&m, &kernel, "gfx90a:sramecc+:xnack+", "target.arch");
    m.arch_name = "gfx90a";
    m.num_warps = 5;
    join_differs(&m, &kernel, "gfx90a", "num_warps");
    m.num_warps = 3; /* fewer are fine: max_flat_workgroup_size is a bound */
    out = join_agrees(&m, &kernel, "gfx90a");
    slwi_contract_free(&triton_heap, &out);
    m.shared_bytes = UINT32_MAX;
    kernel.static_shared_bytes = 1;
    join_differs(&m, &kernel, "gfx90a", "shared");
}
END_TEST

/* Hidden arguments come after the scratch pointers and stay hidden; of several kernels only the entry is kept. */
START_TEST(hidden_arguments_and_other_kernels) {
    slw_param params[4] = {
        {NULL, 0, 8, 8, SLW_PARAM_POINTER, SLW_ROLE_CALLER},
        {NULL, 8, 8, 8, SLW_PARAM_POINTER, SLW_ROLE_CALLER},
        {NULL, 16, 8, 8, SLW_PARAM_POINTER, SLW_ROLE_CALLER},
        {NULL, 24, 8, 8, SLW_PARAM_POINTER, SLW_ROLE_HIDDEN},
    };
    slw_kernel_contract kernels[2] = {plain_kernel, plain_kernel};
    kernels[0].name = "a";
    kernels[1].params = params;
    kernels[1].param_count = 4;
    kernels[1].param_bytes = 32;
    const slw_contract binary = {.schema = SLW_CONTRACT_SCHEMA,
                                 .backend = "cuda",
                                 .target = "sm_100a",
                                 .launch_binary = "k.bin",
                                 .kernels = kernels,
                                 .kernel_count = 2};
    slwi_triton_metadata m = made_metadata();
    m.scratch_params = 2;
    slw_error err = SLW_ERROR_INIT;
    slw_contract *out = NULL;
    slt_ok(slwi_triton_contract(&triton_heap, &m, &binary, &out, &err), &err);
    ck_assert_uint_eq(out->kernel_count, 1);
    ck_assert_str_eq(out->kernels[0].name, "k");
    ck_assert_int_eq(out->kernels[0].params[0].role, SLW_ROLE_CALLER);
    ck_assert_int_eq(out->kernels[0].params[1].role, SLW_ROLE_GLOBAL_SCRATCH);
    ck_assert_int_eq(out->kernels[0].params[2].role, SLW_ROLE_PROFILE_SCRATCH);
    ck_assert_int_eq(out->kernels[0].params[3].role, SLW_ROLE_HIDDEN);
    ck_assert_int_eq(params[2].role, SLW_ROLE_CALLER); /* the binary's own contract is as it was */
    slwi_contract_free(&triton_heap, &out);
    params[1].size_bytes = 4;
    ck_assert_int_eq(slwi_triton_contract(&triton_heap, &m, &binary, &out, &err), SLW_E_CONTRACT_MISMATCH);
    ck_assert_str_eq(err.subject, "global_scratch_size");
    slw_error again = SLW_ERROR_INIT;
    params[2].kind = SLW_PARAM_FLOAT;
    ck_assert_int_eq(slwi_triton_contract(&triton_heap, &m, &binary, &out, &again), SLW_E_CONTRACT_MISMATCH);
    ck_assert_str_eq(again.subject, "profile_scratch_size");
    ck_assert_ptr_null(out);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/triton_agreement");
    TCase *tcase = tcase_create("triton_agreement");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, every_field_of_every_entry);
    tcase_add_test(tcase, warp_size_at_the_top);
    tcase_add_test(tcase, scratch_without_a_parameter);
    tcase_add_test(tcase, scratch_that_is_there);
    tcase_add_test(tcase, clusters);
    tcase_add_test(tcase, clusters_of_a_silent_binary);
    tcase_add_test(tcase, tensor_memory);
    tcase_add_test(tcase, features_in_the_arch);
    tcase_add_test(tcase, hidden_arguments_and_other_kernels);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
