/* Every value of every kernel of the fixtures, against LLVM's own tools (fixtures/hsaco/oracle.tsv, made by
 * make_oracle.sh) and against the sources, quoted here. */
#include "hip_fixture.h"

/* ---- against llvm-readobj ---- */

static char current[128];
static slw_bytes file;
static slw_contract *contract;
static uint32_t rows;
static uint32_t seen;

static void close_file(void) {
    if (contract == NULL) return;
    ck_assert_uint_eq(seen, contract->kernel_count);
    slwi_contract_free(&hip_heap, &contract);
    hip_free(file);
}

static void open_file(const char *name) {
    if (contract != NULL && strcmp(current, name) == 0) return;
    close_file();
    snprintf(current, sizeof(current), "%s", name);
    file = hip_file(name);
    contract = hip_good(name, file);
    seen = 0;
}

static slw_param_kind kind_of(const char *value_kind) {
    static const char *const pointers[] = {"global_buffer", "dynamic_shared_pointer", "image", "sampler"};
    for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
        if (strcmp(value_kind, pointers[i]) == 0) return SLW_PARAM_POINTER;
    }
    return SLW_PARAM_UNKNOWN;
}

/* "0:8:global_buffer,8:4:by_value", or "-". */
static void check_args(const slw_kernel_contract *kernel, char *want) {
    uint32_t count = 0;
    uint32_t needs = 0;
    if (strcmp(want, "-") == 0) want = NULL;
    for (char *arg = want; arg != NULL && *arg != '\0'; count++) {
        char *next = strchr(arg, ',');
        if (next != NULL) *next++ = '\0';
        char *size = strchr(arg, ':');
        ck_assert_ptr_nonnull(size);
        *size++ = '\0';
        char *kind = strchr(size, ':');
        ck_assert_ptr_nonnull(kind);
        *kind++ = '\0';
        ck_assert_uint_lt(count, kernel->param_count);
        const slw_param *param = &kernel->params[count];
        ck_assert_uint_eq(param->offset_bytes, hip_number(arg));
        ck_assert_uint_eq(param->size_bytes, hip_number(size));
        ck_assert_int_eq(param->kind, kind_of(kind));
        ck_assert_int_eq(param->role, strncmp(kind, "hidden_", 7) == 0 ? SLW_ROLE_HIDDEN : SLW_ROLE_CALLER);
        ck_assert_uint_eq(param->offset_bytes % param->alignment_bytes, 0);
        if (strcmp(kind, "hidden_hostcall_buffer") == 0) needs |= SLW_NEEDS_PRINTF;
        if (strcmp(kind, "hidden_heap_v1") == 0) needs |= SLW_NEEDS_DEVICE_MALLOC;
        arg = next;
    }
    ck_assert_uint_eq(kernel->param_count, count);
    ck_assert_uint_eq(kernel->needs, needs);
}

static void oracle_row(char **f, size_t count) {
    ck_assert_uint_eq(count, 15);
    open_file(f[0]);
    rows++;
    seen++;
    const slw_kernel_contract *kernel = slw_contract_find(contract, f[4]);
    ck_assert_msg(kernel != NULL, "%s: no kernel %s", f[0], f[4]);
    ck_assert_str_eq(contract->target, f[3]);
    ck_assert_str_eq(contract->backend, "hip");
    ck_assert_str_eq(contract->launch_binary, f[0]);
    ck_assert_int_eq(contract->kind, SLW_IMAGE_HSACO);
    ck_assert_ptr_null(contract->isa_version);
    ck_assert_uint_eq(contract->reader_revision, SLWI_HIP_READER_REVISION);
    ck_assert_uint_eq(kernel->registers, hip_number(f[5]));
    ck_assert_uint_eq(kernel->scalar_registers, hip_number(f[6]));
    ck_assert_uint_eq(kernel->accumulation_registers, hip_number(f[7]));
    ck_assert_uint_eq(kernel->static_shared_bytes, hip_number(f[8]));
    ck_assert_uint_eq(kernel->local_bytes, hip_number(f[9]));
    ck_assert_uint_eq(kernel->param_bytes, hip_number(f[10]));
    ck_assert_uint_eq(kernel->max_threads, hip_number(f[11]));
    ck_assert_uint_eq(kernel->warp_threads, hip_number(f[12]));
    char required[64] = "-";
    const uint32_t *block = kernel->required_threads;
    if (block[0] != 0) snprintf(required, sizeof(required), "%u,%u,%u", block[0], block[1], block[2]);
    ck_assert_str_eq(required, f[13]);
    ck_assert_uint_eq(kernel->ctas, 1);
    ck_assert_int_eq(kernel->grid_unit, SLW_GRID_BLOCKS);
    ck_assert_uint_eq(kernel->cluster_required, 0);
    check_args(kernel, f[14]);
}

START_TEST(as_llvm_says) {
    hip_table("hsaco/oracle.tsv", oracle_row);
    close_file();
    ck_assert_uint_eq(rows, 101);
}
END_TEST

/* ---- against the sources ---- */

typedef struct source_kernel {
    const char *name;
    uint32_t shared, max_threads;
    const char *sizes; /* of the parameters, as the declaration has them */
    const char *kinds; /* p: pointer, v: value */
} source_kernel;

/* k.hip */
static const source_kernel k_hip[] = {
    {"_Z2tkIfLi5EEvPT_", 0, 1024, "8", "p"},            /* template<class T,int N> void tk(T*o) */
    {"add_f32", 0, 1024, "8,8,8,4", "pppv"},            /* (const float*a,const float*b,float*c,int n) */
    {"dyn_lds", 0, 1024, "8,4", "pv"},                  /* (float*o,int n), extern __shared__ float sd[] */
    {"lb256", 0, 256, "8", "p"},                        /* flat_work_group_size(1,256), (float*a) */
    {"mixed", 0, 1024, "1,2,4,8,4,8,12,8", "vvvvvvvp"}, /* (char,short,int,long,float,double,P3,const void*) */
    {"noparams", 0, 1024, "", ""},                      /* () */
    {"spill", 0, 1024, "8,4", "pv"},                    /* (float*o,int n), an indexed float v[200] */
    {"static_lds", 4096, 1024, "8", "p"},               /* (float*o), __shared__ float s[1024] */
};

static void check_source(const slw_contract *from, const source_kernel *want, size_t count) {
    ck_assert_uint_eq(from->kernel_count, count);
    for (size_t i = 0; i < count; i++) {
        const slw_kernel_contract *kernel = &from->kernels[i];
        char sizes[256] = "";
        char kinds[64] = "";
        uint32_t callers = 0;
        for (uint32_t p = 0; p < kernel->param_count; p++) {
            if (kernel->params[p].role != SLW_ROLE_CALLER) continue;
            size_t at = strlen(sizes);
            snprintf(sizes + at, sizeof(sizes) - at, "%s%u", at == 0 ? "" : ",", kernel->params[p].size_bytes);
            kinds[callers++] = kernel->params[p].kind == SLW_PARAM_POINTER ? 'p' : 'v';
        }
        ck_assert_str_eq(kernel->name, want[i].name);
        ck_assert_str_eq(sizes, want[i].sizes);
        ck_assert_str_eq(kinds, want[i].kinds);
        ck_assert_uint_eq(kernel->static_shared_bytes, want[i].shared);
        ck_assert_uint_eq(kernel->max_threads, want[i].max_threads);
        if (strcmp(kernel->name, "spill") == 0) ck_assert_uint_ge(kernel->local_bytes, 800);
    }
}

/* Names of files say what they were built for. */
static const struct {
    const char *file, *target;
    uint32_t warp;
} built[] = {
    {"k_gfx906.hsaco", "gfx906", 64},
    {"k_gfx90a.hsaco", "gfx90a", 64},
    {"k_gfx90a_xnackp.hsaco", "gfx90a:xnack+", 64},
    {"k_gfx90a_srameccp_xnackm.hsaco", "gfx90a:sramecc+:xnack-", 64},
    {"k_gfx942.hsaco", "gfx942", 64},
    {"k_gfx1030.hsaco", "gfx1030", 32},
    {"k_gfx1100.hsaco", "gfx1100", 32},
    {"k_gfx1201.hsaco", "gfx1201", 32},
    {"k_v4.hsaco", "gfx1100", 32},
    {"k_v5.hsaco", "gfx1100", 32},
    {"k_v6.hsaco", "gfx1100", 32},
};

START_TEST(as_the_source_says) {
    for (size_t i = 0; i < sizeof(built) / sizeof(built[0]); i++) {
        slw_bytes bytes = hip_file(built[i].file);
        slw_contract *read = hip_good(built[i].file, bytes);
        ck_assert_str_eq(read->target, built[i].target);
        check_source(read, k_hip, sizeof(k_hip) / sizeof(k_hip[0]));
        for (uint32_t k = 0; k < read->kernel_count; k++) {
            ck_assert_uint_eq(read->kernels[k].warp_threads, built[i].warp);
        }
        slwi_contract_free(&hip_heap, &read);
        hip_free(bytes);
    }
}
END_TEST

/* m.cl, imp.hip, ext.cl */
START_TEST(others_as_their_sources_say) {
    static const source_kernel m_cl[] = {{"k", 0, 256, "8,4,4", "ppv"}};
    static const source_kernel imp_hip[] = {{"imp", 0, 1024, "8", "p"}, {"imp2", 0, 1024, "8", "p"}};
    static const source_kernel ext_cl[] = {{"accumulates", 0, 256, "8,4,4", "pvv"},
                                           {"heaped", 0, 256, "8", "p"},
                                           {"hosted", 0, 256, "8", "p"},
                                           {"pictures", 0, 256, "8,8,8", "ppp"},
                                           {"required", 0, 64, "8,4", "pv"}};
    static const struct {
        const char *file;
        const source_kernel *kernels;
        size_t count;
    } table[] = {
        {"cl.hsaco", m_cl, 1}, {"imp.hsaco", imp_hip, 2}, {"ext_v4.hsaco", ext_cl, 5}, {"ext_v5.hsaco", ext_cl, 5}};
    for (size_t i = 0; i < 4; i++) {
        slw_bytes bytes = hip_file(table[i].file);
        slw_contract *read = hip_good(table[i].file, bytes);
        check_source(read, table[i].kernels, table[i].count);
        slwi_contract_free(&hip_heap, &read);
        hip_free(bytes);
    }
}
END_TEST

/* ---- what is not read, by name ---- */

START_TEST(older_and_relocatable_ones_are_refused_by_name) {
    static const struct {
        const char *file, *reason, *word;
        uint64_t offset;
    } table[] = {{"ext_v2.hsaco", "CODE_OBJECT_VERSION", "v2", 8},
                 {"ext_v3.hsaco", "CODE_OBJECT_VERSION", "v3", 8},
                 {"ext_v5.o", "RELOCATABLE", "relocatable", 16}};
    for (size_t i = 0; i < 3; i++) {
        slw_bytes bytes = hip_file(table[i].file);
        slw_error err = hip_refused(table[i].file, bytes, SLW_E_UNSUPPORTED_INPUT, table[i].reason, NULL);
        ck_assert_ptr_nonnull(strstr(err.message, table[i].word));
        ck_assert_uint_eq(err.offset_bytes, table[i].offset);
        ck_assert_ptr_nonnull(err.hint);
        ck_assert_str_eq(err.path, "kernel.hsaco");
        ck_assert(slwi_amdgcn_recognises(bytes));
        hip_free(bytes);
    }
}
END_TEST

/* The contract of each goes through JSON and comes back the same. */
START_TEST(contracts_are_json) {
    static const char *const files[] = {"cl.hsaco", "imp.hsaco", "k_gfx90a_srameccp_xnackm.hsaco", "ext_v5.hsaco"};
    for (size_t i = 0; i < 4; i++) {
        slw_error err = SLW_ERROR_INIT;
        slw_bytes bytes = hip_file(files[i]);
        slw_contract *read = hip_good(files[i], bytes);
        slwi_buffer text;
        slwi_buffer_init(&text, &hip_heap, 1u << 20);
        slwi_json_writer writer;
        slwi_json_begin(&writer, &text, 1);
        slwi_contract_write(read, &writer);
        slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
        slwi_json_document *document = NULL;
        slw_bytes json = {text.data, text.size};
        slt_ok(slwi_json_parse(&hip_heap, json, &limits, &document, &err), &err);
        slw_contract *again = NULL;
        slt_ok(slwi_contract_read(&hip_heap, slwi_json_root(document), &again, &err), &err);
        slt_ok(slwi_contract_compare(read, again, &err), &err);
        slwi_json_free(&document);
        slwi_buffer_free(&text);
        slwi_contract_free(&hip_heap, &again);
        slwi_contract_free(&hip_heap, &read);
        hip_free(bytes);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("amdgcn fixtures");
    TCase *tc = tcase_create("fixtures");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, as_llvm_says);
    tcase_add_test(tc, as_the_source_says);
    tcase_add_test(tc, others_as_their_sources_say);
    tcase_add_test(tc, older_and_relocatable_ones_are_refused_by_name);
    tcase_add_test(tc, contracts_are_json);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
