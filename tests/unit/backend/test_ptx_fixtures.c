/* Every value of every kernel of the fixtures, against what others say: oracle.tsv beside them is what ptxas 13.0 wrote
 * into the cubin it made of each (.nv.info, read by another program), triton/oracle.tsv what Triton's own tools said; the
 * rest is checked against the .cu source, quoted here. */
#include "backends.h"
#include "ptx_fixture.h"

/* ---- the text of one file, kept between the rows of a table ---- */

static char current[128];
static char *text;
static slwi_ptx_module module;
static uint32_t seen;

static void close_file(void) {
    if (text == NULL) return;
    /* The table has a row for each kernel and the scanner found no other. */
    ck_assert_msg(seen == module.kernel_count, "%s: %u kernels in the table, %u found", current, seen,
                  module.kernel_count);
    slwi_ptx_release(&ptx_heap, &module);
    free(text);
    text = NULL;
}

static void open_file(const char *file) {
    if (text != NULL && strcmp(file, current) == 0) return;
    close_file();
    char path[256];
    size_t size;
    snprintf(current, sizeof(current), "%s", file);
    snprintf(path, sizeof(path), "ptx/%s", file);
    text = slt_read_file(slt_fixture(path), &size);
    module = ptx_good(file, text, size);
    seen = 0;
}

static const slwi_ptx_kernel *kernel_named(const char *name) {
    for (uint32_t i = 0; i < module.kernel_count; i++) {
        if (ptx_bytes_are(module.kernels[i].name, name)) return &module.kernels[i];
    }
    ck_abort_msg("%s: no kernel %s", current, name);
}

/* "8,8,4", or "-" for none. */
static void check_sizes(const slwi_ptx_kernel *kernel, const char *want) {
    char got[1024] = "";
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        size_t at = strlen(got);
        snprintf(got + at, sizeof(got) - at, "%s%u", i == 0 ? "" : ",", kernel->params[i].size_bytes);
    }
    ck_assert_str_eq(kernel->param_count == 0 ? "-" : got, want);
}

/* Above 16 the device aligns by the address in the constant bank, not by C's rules (device.md C.4). */
static void check_bytes(const slwi_ptx_kernel *kernel, const char *want) {
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        if (kernel->params[i].alignment_bytes > 16) return;
    }
    ck_assert_uint_eq(kernel->param_bytes, strtoul(want, NULL, 10));
}

static void check_triple(const uint32_t got[3], const char *want) {
    char shown[64] = "-";
    if (got[0] != 0) snprintf(shown, sizeof(shown), "%u,%u,%u", got[0], got[1], got[2]);
    ck_assert_str_eq(shown, want);
}

/* What ptxas puts into MAXREG_COUNT: .maxnreg, or what the bounds leave of 65,536 registers, in eights; 255 for none. */
static uint32_t register_bound(const slwi_ptx_kernel *kernel) {
    if (kernel->maxnreg != 0) return kernel->maxnreg;
    if (kernel->minnctapersm == 0 || kernel->maxntid[0] == 0) return 255;
    uint32_t threads = kernel->maxntid[0] * kernel->maxntid[1] * kernel->maxntid[2] * kernel->minnctapersm;
    uint32_t bound = 65536 / threads / 8 * 8;
    return bound < 255 ? bound : 255;
}

static void ptxas_row(char **f, size_t count) {
    ck_assert_uint_eq(count, 11);
    open_file(f[0]);
    seen++;
    const slwi_ptx_kernel *kernel = kernel_named(f[1]);
    check_sizes(kernel, f[2]);
    check_bytes(kernel, f[3]);
    check_triple(kernel->maxntid, f[4]);
    check_triple(kernel->reqntid, f[5]);
    check_triple(kernel->cluster, f[6]);
    ck_assert_uint_eq(kernel->explicit_cluster, strtoul(f[7], NULL, 10));
    ck_assert_uint_eq(kernel->max_cluster_rank, strtoul(f[8], NULL, 10));
    ck_assert_uint_eq(kernel->blocks_are_clusters, strtoul(f[9], NULL, 10));
    ck_assert_uint_eq(register_bound(kernel), strtoul(f[10], NULL, 10));
}

START_TEST(as_ptxas_says) {
    ptx_table("ptx/oracle.tsv", ptxas_row);
    close_file();
}
END_TEST

/* ---- Triton ---- */

static uint32_t triton_rows;

static void triton_row(char **f, size_t count) {
    ck_assert_uint_eq(count, 7);
    char file[160];
    snprintf(file, sizeof(file), "triton/%s", f[0]);
    open_file(file);
    seen++;
    triton_rows++;
    const slwi_ptx_kernel *kernel = kernel_named(f[1]);
    char version[32];
    snprintf(version, sizeof(version), "%u.%u", module.version_major, module.version_minor);
    ck_assert_str_eq(version, f[2]);
    ck_assert(ptx_bytes_are(module.target, f[3]));
    ck_assert_uint_eq(module.address_size, 64);
    check_bytes(kernel, f[4]);
    check_sizes(kernel, f[5]);
    char block[64];
    snprintf(block, sizeof(block), "%ux%ux%u", kernel->reqntid[0], kernel->reqntid[1], kernel->reqntid[2]);
    ck_assert_str_eq(block, f[6]);
    ck_assert_uint_eq(kernel->linkage, SLWI_PTX_LINKAGE_VISIBLE);
    /* Triton's maxnreg=64 stands in one file only. */
    ck_assert_uint_eq(kernel->maxnreg, strcmp(f[0], "3.9.0-6GYFKN.ptx") == 0 ? 64 : 0);
}

START_TEST(as_triton_says) {
    ptx_table("ptx/triton/oracle.tsv", triton_row);
    close_file();
    ck_assert_uint_eq(triton_rows, 21);
}
END_TEST

/* Triton's pointers are marked; its scratch pointers come last. From the text of 3.9.0-67QDPR: x, y, a, n, then three. */
START_TEST(triton_pointers) {
    open_file("triton/3.9.0-6GYFKN.ptx");
    const slwi_ptx_kernel *kernel = kernel_named("axpby_kernel");
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        const slwi_ptx_param *p = &kernel->params[i];
        int pointer = p->space != SLWI_PTX_SPACE_NONE;
        if (pointer) ck_assert_uint_eq(p->size_bytes, 8);
        if (pointer) ck_assert_uint_eq(p->space, SLWI_PTX_SPACE_GLOBAL);
        if (pointer) ck_assert_uint_eq(p->pointer_alignment_bytes, 1);
    }
    ck_assert_uint_eq(kernel->params[0].space, SLWI_PTX_SPACE_GLOBAL);
    ck_assert_uint_eq(kernel->params[1].space, SLWI_PTX_SPACE_GLOBAL);
    ck_assert_uint_eq(kernel->params[kernel->param_count - 1].space, SLWI_PTX_SPACE_GLOBAL);
    seen = module.kernel_count;
    close_file();
}
END_TEST

/* ---- the sources ---- */

typedef struct head_row {
    const char *file;
    uint32_t kernels;
    const char *target;
    const char *suffix;
    uint32_t number;
} head_row;

static const head_row heads[] = {
    {"al_80.ptx", 9, "sm_80", "", 80},    {"k1_75.ptx", 14, "sm_75", "", 75},      {"k1_90.ptx", 14, "sm_90", "", 90},
    {"k9_90.ptx", 5, "sm_90", "", 90},    {"k9_100f.ptx", 5, "sm_100f", "f", 100}, {"rq.ptx", 2, "sm_90", "", 90},
    {"rq_100.ptx", 2, "sm_100", "", 100}, {"rq_80.ptx", 2, "sm_80", "", 80},       {"rq_90.ptx", 2, "sm_90", "", 90},
};

START_TEST(heads_of_modules) {
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        open_file(heads[i].file);
        ck_assert_uint_eq(module.kernel_count, heads[i].kernels);
        ck_assert_uint_eq(module.version_major, 9);
        ck_assert_uint_eq(module.version_minor, 0);
        ck_assert_uint_eq(module.address_size, 64);
        ck_assert(ptx_bytes_are(module.target, heads[i].target));
        ck_assert(ptx_bytes_are(module.target_suffix, heads[i].suffix));
        ck_assert_uint_eq(module.target_number, heads[i].number);
        ck_assert_uint_eq(module.target_options, 0);
        seen = module.kernel_count;
        close_file();
    }
}
END_TEST

typedef struct param_row {
    const char *file;
    const char *kernel;
    uint32_t index;
    const char *type;
    uint32_t size;
    uint32_t alignment;
    uint32_t offset;
} param_row;

/* extern "C" __global__ void mixed(char a,short b,int c,long long d,float e,double f,P3 p,Big g,const void*q)
   struct P3 { float x,y,z; }; struct Big { int a; double d[20]; char c; };
   gridconst(const __grid_constant__ TMap t,float*o), struct alignas(128) TMap { unsigned long long v[16]; };
   kvec(float4 a, int2 b, char3 c, short4 d, int*o), kempty(int x, E e,int*o), kbool(bool a, bool b, unsigned char c, int*o) */
static const param_row params[] = {
    {"k1_90.ptx", "mixed", 0, ".u8", 1, 1, 0},        {"k1_90.ptx", "mixed", 1, ".u16", 2, 2, 2},
    {"k1_90.ptx", "mixed", 2, ".u32", 4, 4, 4},       {"k1_90.ptx", "mixed", 3, ".u64", 8, 8, 8},
    {"k1_90.ptx", "mixed", 4, ".f32", 4, 4, 16},      {"k1_90.ptx", "mixed", 5, ".f64", 8, 8, 24},
    {"k1_90.ptx", "mixed", 6, ".b8", 12, 4, 32},      {"k1_90.ptx", "mixed", 7, ".b8", 176, 8, 48},
    {"k1_90.ptx", "mixed", 8, ".u64", 8, 8, 224},     {"k1_90.ptx", "gridconst", 0, ".b8", 128, 128, 0},
    {"k1_90.ptx", "gridconst", 1, ".u64", 8, 8, 128}, {"al_80.ptx", "k16", 1, ".b8", 16, 16, 16},
    {"al_80.ptx", "k32", 1, ".b8", 32, 32, 32},       {"al_80.ptx", "k64", 1, ".b8", 64, 64, 64},
    {"al_80.ptx", "k128", 1, ".b8", 128, 128, 128},   {"al_80.ptx", "kempty", 1, ".b8", 1, 1, 4},
    {"al_80.ptx", "kempty", 2, ".u64", 8, 8, 8},      {"al_80.ptx", "kvec", 0, ".b8", 16, 16, 0},
    {"al_80.ptx", "kvec", 1, ".b8", 8, 8, 16},        {"al_80.ptx", "kvec", 2, ".b8", 3, 1, 24},
    {"al_80.ptx", "kvec", 3, ".b8", 8, 8, 32},        {"al_80.ptx", "kbool", 2, ".u8", 1, 1, 2},
    {"al_80.ptx", "kunused", 1, ".f64", 8, 8, 8},     {"al_80.ptx", "kbig", 0, ".b8", 4000, 1, 0},
    {"k9_90.ptx", "clus", 0, ".u64", 8, 8, 0},        {"k9_100f.ptx", "clus", 0, ".u64", 8, 8, 0},
};

START_TEST(parameters_of_the_source) {
    for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
        const param_row *want = &params[i];
        open_file(want->file);
        const slwi_ptx_kernel *kernel = kernel_named(want->kernel);
        ck_assert_uint_lt(want->index, kernel->param_count);
        const slwi_ptx_param *got = &kernel->params[want->index];
        char name[256];
        snprintf(name, sizeof(name), "%s_param_%u", want->kernel, want->index);
        ck_assert(ptx_bytes_are(got->name, name));
        ck_assert_msg(ptx_bytes_are(got->type_name, want->type) && got->size_bytes == want->size &&
                          got->alignment_bytes == want->alignment && got->offset_bytes == want->offset,
                      "%s: %s %.*s %u %u at %u", want->file, name, (int)got->type_name.size,
                      (const char *)got->type_name.data, got->size_bytes, got->alignment_bytes, got->offset_bytes);
        seen = module.kernel_count;
    }
    close_file();
}
END_TEST

/* __launch_bounds__(256,2) lb256; __launch_bounds__(128,1,4) maxclus; __cluster_dims__(2,1,1) clus; the kernel of the
   anonymous name space is the one that is not visible. */
START_TEST(bounds_of_the_source) {
    open_file("k1_90.ptx");
    ck_assert_uint_eq(kernel_named("lb256")->minnctapersm, 2);
    ck_assert_uint_eq(kernel_named("add_f32")->minnctapersm, 0);
    for (uint32_t i = 0; i < module.kernel_count; i++) {
        const slwi_ptx_kernel *kernel = &module.kernels[i];
        int hidden = ptx_bytes_are(kernel->name, "_ZN33_GLOBAL__N__9f71a92c_5_k1_cu_gvar6anon_kEPi");
        ck_assert_uint_eq(kernel->linkage, hidden ? SLWI_PTX_LINKAGE_NONE : SLWI_PTX_LINKAGE_VISIBLE);
    }
    ck_assert_uint_eq(kernel_named("many")->param_count, 33);
    seen = module.kernel_count;
    open_file("k9_90.ptx");
    ck_assert_uint_eq(kernel_named("maxclus")->minnctapersm, 1);
    ck_assert_uint_eq(kernel_named("mreg")->maxnreg, 32);
    ck_assert_uint_eq(kernel_named("clus")->params[0].space, SLWI_PTX_SPACE_NONE);
    seen = module.kernel_count;
    close_file();
}
END_TEST

/* ---- as a contract ---- */

static char *contract_text(const char *file, slw_contract **out) {
    char path[256];
    size_t size;
    snprintf(path, sizeof(path), "ptx/%s", file);
    char *bytes = slt_read_file(slt_fixture(path), &size);
    slw_error err = SLW_ERROR_INIT;
    slt_ok(slwi_ptx_read_contract(&ptx_heap, (slw_bytes){bytes, size}, "cuda", "k.ptx", out, &err), &err);
    return bytes;
}

START_TEST(contract_of_k1) {
    slw_contract *contract;
    char *bytes = contract_text("k1_90.ptx", &contract);
    memset(bytes, 'x', strlen(bytes)); /* nothing is borrowed */
    free(bytes);
    ck_assert_str_eq(contract->backend, "cuda");
    ck_assert_str_eq(contract->target, "sm_90");
    ck_assert_str_eq(contract->launch_binary, "k.ptx");
    ck_assert_uint_eq(contract->reader_revision, SLWI_PTX_READER_REVISION);
    ck_assert_uint_eq(contract->kernel_count, 14);
    for (uint32_t i = 1; i < contract->kernel_count; i++) {
        ck_assert_int_lt(strcmp(contract->kernels[i - 1].name, contract->kernels[i].name), 0);
    }
    const slw_kernel_contract *mixed = slw_contract_find(contract, "mixed");
    ck_assert_ptr_nonnull(mixed);
    ck_assert_uint_eq(mixed->param_count, 9);
    ck_assert_uint_eq(mixed->param_bytes, 232);
    ck_assert_int_eq(mixed->params[4].kind, SLW_PARAM_FLOAT);
    ck_assert_int_eq(mixed->params[7].kind, SLW_PARAM_STRUCT);
    ck_assert_int_eq(mixed->params[8].kind, SLW_PARAM_UNSIGNED);
    ck_assert_str_eq(mixed->params[8].name, "mixed_param_8");
    ck_assert_uint_eq(mixed->params[8].offset_bytes, 224);
    ck_assert_uint_eq(mixed->warp_threads, 32);
    ck_assert_uint_eq(mixed->ctas, 1);
    const slw_kernel_contract *bounded = slw_contract_find(contract, "lb256");
    ck_assert_uint_eq(bounded->max_threads, 256);
    ck_assert_uint_eq(bounded->min_blocks, 2);
    ck_assert_uint_eq(bounded->required_threads[0], 0);
    ck_assert_uint_eq(slw_contract_find(contract, "noparams")->param_count, 0);
    slwi_contract_free(&ptx_heap, &contract);
}
END_TEST

START_TEST(contract_of_k9) {
    slw_contract *contract;
    free(contract_text("k9_100f.ptx", &contract));
    ck_assert_str_eq(contract->target, "sm_100f");
    const slw_kernel_contract *clus = slw_contract_find(contract, "clus");
    ck_assert_uint_eq(clus->cluster[0], 2);
    ck_assert_uint_eq(clus->cluster_required, 1);
    ck_assert_int_eq(clus->grid_unit, SLW_GRID_BLOCKS);
    ck_assert_uint_eq(slw_contract_find(contract, "maxclus")->max_cluster_rank, 4);
    ck_assert_uint_eq(slw_contract_find(contract, "maxclus")->cluster_required, 0);
    ck_assert_uint_eq(slw_contract_find(contract, "mreg")->max_registers, 32);
    slwi_contract_free(&ptx_heap, &contract);
    free(contract_text("rq.ptx", &contract));
    const slw_kernel_contract *rq = slw_contract_find(contract, "rq");
    ck_assert_uint_eq(rq->required_threads[0], 64);
    ck_assert_uint_eq(rq->required_threads[1], 2);
    ck_assert_uint_eq(rq->required_threads[2], 1);
    slwi_contract_free(&ptx_heap, &contract);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("ptx fixtures");
    TCase *tcase = tcase_create("values");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, as_ptxas_says);
    tcase_add_test(tcase, as_triton_says);
    tcase_add_test(tcase, triton_pointers);
    tcase_add_test(tcase, heads_of_modules);
    tcase_add_test(tcase, parameters_of_the_source);
    tcase_add_test(tcase, bounds_of_the_source);
    tcase_add_test(tcase, contract_of_k1);
    tcase_add_test(tcase, contract_of_k9);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
