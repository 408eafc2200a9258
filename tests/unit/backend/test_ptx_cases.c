/* The 84 cases of device.md D.2: what the scanner must say, and what ptxas 13.0 said (tests/fixtures/ptx-cases). */
#include "ptx_fixture.h"

typedef struct expectation {
    const char *file;
    const char *kernels; /* with their parameter counts; NULL: refused */
    const char *reason;
    uint32_t line;
    uint32_t column;
} expectation;

static const expectation cases[] = {
    {"n01_empty", NULL, "NO_VERSION", 1, 1},
    {"n02_header_only", NULL, "NO_ENTRY", 4, 1},
    {"n03_func_only", NULL, "NO_ENTRY", 8, 1},
    {"n04_no_name", NULL, "BAD_NAME", 4, 17},
    {"n05_digit_name", NULL, "BAD_NAME", 4, 17},
    {"n06_dash_name", NULL, "BAD_NAME", 4, 18},
    {"n07_unterminated_params", NULL, "TRUNCATED", 5, 1},
    {"n08_unterminated_comment", NULL, "TRUNCATED", 8, 1},
    {"n09_no_body", NULL, "TRUNCATED", 5, 1},
    {"n10_unterminated_body", NULL, "TRUNCATED", 7, 1},
    {"n11_comment_only", NULL, "NO_VERSION", 2, 1},
    {"n12_entry_glued", "k/0", NULL, 0, 0},
    {"n13_entryx", NULL, "NO_ENTRY", 8, 1},
    {"n14_dot_space", NULL, "NO_ENTRY", 8, 1},
    {"n15_upper", NULL, "NO_ENTRY", 8, 1},
    {"n16_nul", NULL, "BAD_BYTE", 4, 18},
    {"n17_dup", NULL, "DUPLICATE", 8, 17},
    {"n18_nested_comment", NULL, "BAD_TOKEN", 4, 10}, /* may be accepted: ours is not */
    {"n19_lone_pct", NULL, "BAD_NAME", 4, 17},
    {"n20_lone_dollar", NULL, "BAD_NAME", 4, 17},
    {"n21_utf8_name", NULL, "BAD_BYTE", 4, 18},
    {"n22_bom", NULL, "BAD_BYTE", 1, 1},
    {"n23_extern_entry", NULL, "NO_ENTRY", 5, 1},
    {"n24_no_version", NULL, "NO_VERSION", 1, 1},
    {"n25_entry_in_body", NULL, "NESTED", 6, 10},
    {"n26_lone_us", NULL, "BAD_NAME", 4, 17},
    {"n27_dot_name", NULL, "BAD_NAME", 4, 20},
    {"n28_quote_name", NULL, "BAD_NAME", 4, 17},
    {"n29_version_new", "k/0", NULL, 0, 0}, /* the version and the target are judged elsewhere */
    {"n30_target_unknown", "k/0", NULL, 0, 0},
    {"n31_common_entry", NULL, "BAD_LINKAGE", 4, 9},
    {"n32_hash_line", "k/0", NULL, 0, 0},
    {"n33_ctrl_z", "k/0", NULL, 0, 0},
    {"n34_param_in_name", NULL, "BAD_NAME", 4, 17},
    {"p01_plain", "k/1", NULL, 0, 0},
    {"p02_noparens", "k/0", NULL, 0, 0},
    {"p03_emptyparens", "k/0", NULL, 0, 0},
    {"p04_novis", "k/1", NULL, 0, 0},
    {"p05_weak", "k/1", NULL, 0, 0},
    {"p06_newlines", "k/1", NULL, 0, 0},
    {"p07_block_comments", "k/1", NULL, 0, 0},
    {"p08_line_comment", "k/1", NULL, 0, 0},
    {"p09_dollar_name", "$k/1", NULL, 0, 0},
    {"p10_pct_name", "%k/1", NULL, 0, 0},
    {"p11_under", "_k$x_9/1", NULL, 0, 0},
    {"p12_maxntid", "k/1", NULL, 0, 0},
    {"p13_reqntid1", "k/1", NULL, 0, 0},
    {"p14_cluster", "k/1", NULL, 0, 0},
    {"p15_maxclusterrank", "k/0", NULL, 0, 0},
    {"p16_struct", "k/2", NULL, 0, 0},
    {"p17_ptr_attr", "k/2", NULL, 0, 0},
    {"p18_two", "a/0,b/1", NULL, 0, 0},
    {"p19_func_first", "k/0", NULL, 0, 0},
    {"p20_pragma", "k/0", NULL, 0, 0},
    {"p21_noreturn", "k/0", NULL, 0, 0}, /* ptxas: not for entries. A word of which a newer PTX may have more */
    {"p22_fwd_decl", "k/1", NULL, 0, 0},
    {"p23_decl_only", NULL, "NO_ENTRY", 5, 1},
    {"p24_crlf", "k/1", NULL, 0, 0},
    {"p25_tabs", "k/1", NULL, 0, 0},
    {"p26_alltypes", "k/11", NULL, 0, 0},
    {"p27_hexdim", "k/1", NULL, 0, 0},
    {"p28_exprdim", NULL, "BAD_PARAMETER", 4, 42},
    {"p29_2dim", NULL, "BAD_PARAMETER", 4, 43},
    {"p30_b32arr", "k/1", NULL, 0, 0},
    {"p31_texref", "k/3", NULL, 0, 0},
    {"p32_longname", NULL, NULL, 0, 0}, /* below */
    {"p33_string_with_entry", "k/0", NULL, 0, 0},
    {"p34_string_escape", NULL, "TRUNCATED", 9, 1},
    {"p35_comment_fake", "k/0", NULL, 0, 0},
    {"p36_global_named_entry", "k/0", NULL, 0, 0},
    {"p37_label_in_body", "k/0", NULL, 0, 0},
    {"p38_nested_scope", "k/0,k2/0", NULL, 0, 0},
    {"p39_call_proto", "k/1", NULL, 0, 0},
    {"p40_loc_between", "k/1", NULL, 0, 0},
    {"p41_section", "k/0", NULL, 0, 0},
    {"p42_visible_dup_space", "k/0", NULL, 0, 0},
    {"p43_no_address_size", "k/0", NULL, 0, 0},
    {"p44_target_multi", "k/0", NULL, 0, 0}, /* ptxas: no debug information in it, and another -arch */
    {"p45_version_comment", "k/0", NULL, 0, 0},
    {"p46_alias", "k/0", NULL, 0, 0}, /* ptxas: the alias has no declaration */
    {"p47_managed_attr", "k/0", NULL, 0, 0},
    {"p48_blocksareclusters", "k/0", NULL, 0, 0},
    {"p49_param_align_order", "k/1", NULL, 0, 0},
    {"p50_trailing_comma", NULL, "BAD_PARAMETER", 4, 33},
};
#define CASES ((int)(sizeof(cases) / sizeof(cases[0])))

static char *read_case(const char *file, size_t *size) {
    char name[128];
    snprintf(name, sizeof(name), "ptx-cases/%s.ptx", file);
    return slt_read_file(slt_fixture(name), size);
}

START_TEST(what_is_expected) {
    const expectation *want = &cases[_i];
    size_t size;
    char *text = read_case(want->file, &size);
    slw_error err = SLW_ERROR_INIT;
    if (want->reason != NULL) {
        ptx_refused(want->file, text, size, SLW_E_INVALID_PTX, want->reason, &err);
        ck_assert_msg(err.line == want->line && err.column == want->column, "%s: %s at %u:%u, wanted %u:%u", want->file,
                      err.message, err.line, err.column, want->line, want->column);
        ck_assert_uint_eq(err.present & (SLW_ERROR_HAS_LINE | SLW_ERROR_HAS_COLUMN | SLW_ERROR_HAS_OFFSET),
                          SLW_ERROR_HAS_LINE | SLW_ERROR_HAS_COLUMN | SLW_ERROR_HAS_OFFSET);
        ck_assert_str_eq(err.path, "kernel.ptx");
    } else {
        slwi_ptx_module module = ptx_good(want->file, text, size);
        char got[256] = "";
        for (uint32_t i = 0; want->kernels != NULL && i < module.kernel_count; i++) {
            size_t at = strlen(got);
            snprintf(got + at, sizeof(got) - at, "%s%.*s/%u", i == 0 ? "" : ",", (int)module.kernels[i].name.size,
                     (const char *)module.kernels[i].name.data, module.kernels[i].param_count);
        }
        if (want->kernels != NULL) ck_assert_str_eq(got, want->kernels);
        slwi_ptx_release(&ptx_heap, &module);
    }
    free(text);
}
END_TEST

/* ---- ptxas ---- */

static int rows;

/* D.2: a module without a kernel is NO_ENTRY, which ptxas takes. Nothing else it takes is refused. */
static void compare(char **fields, size_t count) {
    ck_assert_uint_eq(count, 3);
    size_t size;
    char *file = fields[0];
    file[strlen(file) - strlen(".ptx")] = '\0';
    char *text = read_case(file, &size);
    rows++;
    if (strcmp(fields[1], "ok") == 0 && fields[2][0] == '\0') {
        slw_error err = SLW_ERROR_INIT;
        ptx_refused(file, text, size, SLW_E_INVALID_PTX, "NO_ENTRY", &err);
    } else if (strcmp(fields[1], "ok") == 0) {
        slwi_ptx_module module = ptx_good(file, text, size);
        const char *cut = strstr(fields[2], "...("); /* a name of 3,005 characters, cut in the table */
        if (cut == NULL) {
            ck_assert_str_eq(ptx_names(&module), fields[2]);
        } else {
            ck_assert_uint_eq(module.kernel_count, 1);
            ck_assert_int_eq(strncmp(ptx_names(&module), fields[2], (size_t)(cut - fields[2])), 0);
            ck_assert_uint_eq(module.kernels[0].name.size, strtoul(cut + 4, NULL, 10));
        }
        slwi_ptx_release(&ptx_heap, &module);
    }
    free(text);
}

START_TEST(the_kernels_of_ptxas) {
    ptx_table("ptx-cases/oracle.tsv", compare);
    ck_assert_int_eq(rows, CASES);
}
END_TEST

/* ---- values ---- */

/* Kept until the test's own process ends: a module points into its text. */
static slwi_ptx_module module_of(const char *file) {
    static slwi_ptx_module kept[16];
    static char *texts[16];
    static size_t used;
    size_t size;
    ck_assert_uint_lt(used, 16);
    texts[used] = read_case(file, &size);
    kept[used] = ptx_good(file, texts[used], size);
    return kept[used++];
}

static void check_triple(const uint32_t got[3], uint32_t x, uint32_t y, uint32_t z) {
    ck_assert_uint_eq(got[0], x);
    ck_assert_uint_eq(got[1], y);
    ck_assert_uint_eq(got[2], z);
}

START_TEST(bounds) {
    slwi_ptx_kernel k = module_of("p12_maxntid").kernels[0];
    check_triple(k.maxntid, 256, 1, 1);
    check_triple(k.reqntid, 0, 0, 0);
    ck_assert_uint_eq(k.minnctapersm, 2);
    ck_assert_uint_eq(k.maxnreg, 64);
    k = module_of("p13_reqntid1").kernels[0];
    check_triple(k.reqntid, 128, 1, 1);
    check_triple(k.maxntid, 0, 0, 0);
    k = module_of("p14_cluster").kernels[0];
    check_triple(k.cluster, 2, 1, 1);
    check_triple(k.maxntid, 128, 1, 1);
    ck_assert_uint_eq(k.explicit_cluster, 1);
    ck_assert_uint_eq(k.blocks_are_clusters, 0);
    k = module_of("p15_maxclusterrank").kernels[0];
    ck_assert_uint_eq(k.max_cluster_rank, 4);
    k = module_of("p48_blocksareclusters").kernels[0];
    ck_assert_uint_eq(k.blocks_are_clusters, 1);
    ck_assert_uint_eq(k.explicit_cluster, 0);
    check_triple(k.cluster, 2, 1, 1);
    check_triple(k.reqntid, 32, 1, 1);
}
END_TEST

static void check_param(const slwi_ptx_param *p, const char *name, uint32_t size, uint32_t alignment, uint32_t count) {
    ck_assert_msg(ptx_bytes_are(p->name, name), "%.*s is not %s", (int)p->name.size, (const char *)p->name.data, name);
    ck_assert_uint_eq(p->size_bytes, size);
    ck_assert_uint_eq(p->alignment_bytes, alignment);
    ck_assert_uint_eq(p->count, count);
}

START_TEST(parameters) {
    slwi_ptx_kernel k = module_of("p16_struct").kernels[0];
    check_param(&k.params[0], "p", 24, 8, 24);
    check_param(&k.params[1], "q", 4, 4, 1);
    ck_assert_uint_eq(k.params[1].offset_bytes, 24);
    ck_assert_uint_eq(k.param_bytes, 28);
    k = module_of("p17_ptr_attr").kernels[0];
    ck_assert_uint_eq(k.params[0].space, SLWI_PTX_SPACE_GLOBAL);
    ck_assert_uint_eq(k.params[0].pointer_alignment_bytes, 16);
    check_param(&k.params[0], "p", 8, 8, 1);
    ck_assert_uint_eq(k.params[1].space, SLWI_PTX_SPACE_GENERIC);
    ck_assert_uint_eq(k.params[1].pointer_alignment_bytes, 0);
    k = module_of("p27_hexdim").kernels[0];
    check_param(&k.params[0], "p", 32, 4, 32);
    k = module_of("p30_b32arr").kernels[0];
    check_param(&k.params[0], "p", 24, 4, 6);
    k = module_of("p49_param_align_order").kernels[0];
    check_param(&k.params[0], "p", 24, 8, 24);
    k = module_of("p31_texref").kernels[0];
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(k.params[i].type, SLWI_PTX_OPAQUE);
        ck_assert_uint_eq(k.params[i].size_bytes, 0); /* as KPARAM_INFO of the cubin has it */
        ck_assert_uint_eq(k.params[i].alignment_bytes, 1);
    }
}
END_TEST

START_TEST(all_types) {
    static const struct {
        const char *name;
        slwi_ptx_type type;
        uint32_t size;
    } want[] = {{".s8", SLWI_PTX_SIGNED, 1},  {".u8", SLWI_PTX_UNSIGNED, 1}, {".b8", SLWI_PTX_BITS, 1},
                {".s16", SLWI_PTX_SIGNED, 2}, {".b16", SLWI_PTX_BITS, 2},    {".f16", SLWI_PTX_FLOAT, 2},
                {".s32", SLWI_PTX_SIGNED, 4}, {".f32", SLWI_PTX_FLOAT, 4},   {".s64", SLWI_PTX_SIGNED, 8},
                {".f64", SLWI_PTX_FLOAT, 8},  {".b64", SLWI_PTX_BITS, 8}};
    slwi_ptx_kernel k = module_of("p26_alltypes").kernels[0];
    for (uint32_t i = 0; i < k.param_count; i++) {
        ck_assert(ptx_bytes_are(k.params[i].type_name, want[i].name));
        ck_assert_uint_eq(k.params[i].type, want[i].type);
        ck_assert_uint_eq(k.params[i].size_bytes, want[i].size);
        ck_assert_uint_eq(k.params[i].alignment_bytes, want[i].size);
    }
}
END_TEST

START_TEST(linkage) {
    ck_assert_uint_eq(module_of("p01_plain").kernels[0].linkage, SLWI_PTX_LINKAGE_VISIBLE);
    ck_assert_uint_eq(module_of("p04_novis").kernels[0].linkage, SLWI_PTX_LINKAGE_NONE);
    ck_assert_uint_eq(module_of("p05_weak").kernels[0].linkage, SLWI_PTX_LINKAGE_WEAK);
    ck_assert_uint_eq(module_of("n12_entry_glued").kernels[0].linkage, SLWI_PTX_LINKAGE_VISIBLE);
}
END_TEST

START_TEST(heads) {
    slwi_ptx_module m = module_of("n29_version_new");
    ck_assert_uint_eq(m.version_major, 99);
    ck_assert_uint_eq(m.version_minor, 0);
    ck_assert_uint_eq(m.address_size, 64);
    m = module_of("n30_target_unknown");
    ck_assert_uint_eq(m.target_number, 999);
    ck_assert(ptx_bytes_are(m.target, "sm_999"));
    ck_assert_uint_eq(m.target_suffix.size, 0);
    m = module_of("p31_texref");
    ck_assert_uint_eq(m.target_options, SLWI_PTX_TEXMODE_INDEPENDENT);
    ck_assert(ptx_bytes_are(m.target_list, "sm_90, texmode_independent"));
    m = module_of("p43_no_address_size");
    ck_assert_uint_eq(m.address_size, 0);
    m = module_of("p44_target_multi");
    ck_assert(ptx_bytes_are(m.target, "sm_90a"));
    ck_assert(ptx_bytes_are(m.target_suffix, "a"));
    ck_assert_uint_eq(m.target_number, 90);
    ck_assert_uint_eq(m.target_options, SLWI_PTX_DEBUG);
}
END_TEST

START_TEST(where_it_is_truncated) {
    static const char *const want[][2] = {{"n07_unterminated_params", "parameters"},
                                          {"n08_unterminated_comment", "comment"},
                                          {"n09_no_body", "prototype"},
                                          {"n10_unterminated_body", "body"},
                                          {"p34_string_escape", "string"}};
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        size_t size;
        char *text = read_case(want[i][0], &size);
        slw_error err = SLW_ERROR_INIT;
        ptx_refused(want[i][0], text, size, SLW_E_INVALID_PTX, "TRUNCATED", &err);
        ck_assert_str_eq(err.subject, want[i][1]);
        ck_assert_uint_eq(err.offset_bytes, size);
        free(text);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("ptx cases");
    TCase *tcase = tcase_create("D.2");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, what_is_expected, 0, CASES);
    tcase_add_test(tcase, the_kernels_of_ptxas);
    tcase_add_test(tcase, bounds);
    tcase_add_test(tcase, parameters);
    tcase_add_test(tcase, all_types);
    tcase_add_test(tcase, linkage);
    tcase_add_test(tcase, heads);
    tcase_add_test(tcase, where_it_is_truncated);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
