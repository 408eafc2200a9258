/* Files of toolkits that are newer than this reader: what is not known passes, what they say is read; only what is
 * needed and missing is refused. And where note and header may disagree about the target. */
#include "amdgcn_target.h"
#include "hip_image.h"

static const char good[] = HIP_NOTE(HIP_KERNEL);

#define NOTE_FOR(target) "{'amdhsa.kernels':[{" HIP_KERNEL "}],'amdhsa.target':'" target "'}"

static void check_kernel(const char *what, uint32_t flags, const char *note, uint8_t abi, const char *target,
                         void (*look)(const slw_kernel_contract *kernel)) {
    hip_image m = hip_image_of(flags, note);
    hip_set(&m.file, 8, abi, 1);
    slw_contract *contract = hip_good(what, hip_image_bytes(&m));
    ck_assert_str_eq(contract->target, target);
    if (look != NULL) look(&contract->kernels[0]);
    slwi_contract_free(&hip_heap, &contract);
    hip_image_free(&m);
}

START_TEST(newer_versions) {
    for (unsigned abi = 2; abi < 256; abi += 11) check_kernel("abi", 0x53f, good, (uint8_t)abi, "gfx90a", NULL);
    check_kernel("abi", 0x53f, good, 5, "gfx90a", NULL);
}
END_TEST

/* Real files, with the version of tomorrow and a processor that is not in the table. */
START_TEST(real_files_patched) {
    static const char *const files[] = {"k_v6.hsaco", "k_gfx942.hsaco", "ext_v5.hsaco"};
    for (size_t i = 0; i < 3; i++) {
        slw_bytes file = hip_file(files[i]);
        slw_contract *before = hip_good(files[i], file);
        hip_bytes copy = {NULL, 0, 0};
        hip_put(&copy, file.data, file.size);
        copy.data[8] = 5;
        copy.data[48] = 0xfe;
        slw_contract *after = hip_good(files[i], (slw_bytes){copy.data, copy.size});
        slw_error err = SLW_ERROR_INIT;
        slt_ok(slwi_contract_compare(before, after, &err), &err);
        slwi_contract_free(&hip_heap, &before);
        slwi_contract_free(&hip_heap, &after);
        free(copy.data);
        hip_free(file);
    }
}
END_TEST

START_TEST(an_unknown_processor) {
    check_kernel("both new", 0x5f0, NOTE_FOR("amdgcn-amd-amdhsa--gfx1499"), 6, "gfx1499", NULL);
    check_kernel("newer spelling", 0xff0, NOTE_FOR("amdgpu14.99-amd-amdhsa-unknown-gfx1499:sramecc+:xnack+"), 6,
                 "gfx1499:sramecc+:xnack+", NULL);
    check_kernel("generic", 0x010000f0, NOTE_FOR("amdgcn-amd-amdhsa--gfx15-generic"), 4, "gfx15-generic", NULL);
    check_kernel("silent of xnack", 0x3f0, NOTE_FOR("amdgcn-amd-amdhsa--gfx1499"), 6, "gfx1499", NULL);
    check_kernel("that cannot be selected", 0x349, NOTE_FOR("amdgcn-amd-amdhsa--gfx1250"), 4, "gfx1250", NULL);
}
END_TEST

START_TEST(both_spellings) {
    static const char *const spellings[] = {
        "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", "amdgpu9.42-amd-amdhsa-unknown-gfx942:sramecc+:xnack-",
        "amdgcn-amd-amdhsa-unknown-gfx942:xnack-:sramecc+", "amdgcn-amd-amdhsa-gfx942:sramecc+:xnack-"};
    for (size_t i = 0; i < 4; i++) {
        char note[1024];
        snprintf(note, sizeof(note), "{'amdhsa.kernels':[{%s}],'amdhsa.target':'%s'}", HIP_KERNEL, spellings[i]);
        check_kernel(spellings[i], 0xe4c, note, 4, "gfx942:sramecc+:xnack-", NULL);
    }
}
END_TEST

/* Without a target in the note the header's word stands. */
START_TEST(the_header_alone) {
    static const char note[] = "{'amdhsa.kernels':[{" HIP_KERNEL "}]}";
    check_kernel("90a", 0xe3f, note, 3, "gfx90a:sramecc+:xnack-", NULL);
    check_kernel("1100", 0x41, note, 3, "gfx1100", NULL);
    check_kernel("generic", 0x01000054, note, 4, "gfx11-generic", NULL);
    hip_image m = hip_image_of(0x5f0, note);
    (void)hip_refused("neither", hip_image_bytes(&m), SLW_E_INVALID_BINARY, "MISSING", "amdhsa.target");
    hip_image_free(&m);
}
END_TEST

static const struct {
    const char *what;
    uint32_t flags;
    const char *note;
    slw_code code;
    const char *reason, *subject;
} disagreements[] = {
    {"processor", 0x54c, NOTE_FOR("amdgcn-amd-amdhsa--gfx90a"), SLW_E_CONTRACT_MISMATCH, "TARGET", "processor"},
    {"xnack on", 0x73f, NOTE_FOR("amdgcn-amd-amdhsa--gfx90a"), SLW_E_CONTRACT_MISMATCH, "TARGET", "xnack"},
    {"xnack off", 0x63f, NOTE_FOR("amdgcn-amd-amdhsa--gfx90a:xnack+"), SLW_E_CONTRACT_MISMATCH, "TARGET", "xnack"},
    {"xnack either", 0x53f, NOTE_FOR("amdgcn-amd-amdhsa--gfx90a:xnack-"), SLW_E_CONTRACT_MISMATCH, "TARGET", "xnack"},
    {"sramecc", 0xd3f, NOTE_FOR("amdgcn-amd-amdhsa--gfx90a:sramecc-"), SLW_E_CONTRACT_MISMATCH, "TARGET", "sramecc"},
    {"sramecc silent", 0xd3f, NOTE_FOR("amdgcn-amd-amdhsa--gfx90a"), SLW_E_CONTRACT_MISMATCH, "TARGET", "sramecc"},
    {"a new processor's xnack", 0x5f0, NOTE_FOR("amdgcn-amd-amdhsa--gfx1499:xnack+"), SLW_E_CONTRACT_MISMATCH, "TARGET",
     "xnack"},
    {"no triple", 0x53f, NOTE_FOR("gfx90a"), SLW_E_INVALID_BINARY, "BAD_TARGET", "gfx90a"},
    {"no processor", 0x53f, NOTE_FOR("amdgcn-amd-amdhsa--"), SLW_E_INVALID_BINARY, "BAD_TARGET", NULL},
    {"empty", 0x53f, NOTE_FOR("a-b-c"), SLW_E_INVALID_BINARY, "BAD_TARGET", "a-b-c"},
    {"long", 0x53f, NOTE_FOR("amdgcn-amd-amdhsa--gfx9000000000000000000000000000000000000000000000000000000000000000"),
     SLW_E_INVALID_BINARY, "BAD_TARGET", NULL},
    {"an unknown feature", 0x53f, NOTE_FOR("amdgcn-amd-amdhsa--gfx90a:dance+"), SLW_E_UNSUPPORTED_INPUT, "TARGET",
     NULL},
};

START_TEST(note_and_header_disagree) {
    hip_image m = hip_image_of(disagreements[_i].flags, disagreements[_i].note);
    (void)hip_refused(disagreements[_i].what, hip_image_bytes(&m), disagreements[_i].code, disagreements[_i].reason,
                      disagreements[_i].subject);
    hip_image_free(&m);
}
END_TEST

/* ---- metadata ---- */

START_TEST(unknown_keys_and_items_pass) {
    check_kernel(
        "keys", 0x53f,
        "{'amdhsa.fashion':{'.a':[1,-2,true,null,{'.b':'c'}]},'amdhsa.kernels':[{'.aa':[[],{}],'.zz':null," HIP_KERNEL
        ",'.newer':{'.deep':[{'.er':1}]}}],'amdhsa.version':[9,99]," HIP_TARGET "}",
        3, "gfx90a", NULL);
}
END_TEST

static void look_at_kinds(const slw_kernel_contract *kernel) {
    ck_assert_uint_eq(kernel->param_count, 3);
    ck_assert_int_eq(kernel->params[0].kind, SLW_PARAM_UNKNOWN);
    ck_assert_int_eq(kernel->params[0].role, SLW_ROLE_CALLER);
    ck_assert_uint_eq(kernel->params[0].size_bytes, 4);
    ck_assert_int_eq(kernel->params[1].role, SLW_ROLE_HIDDEN);
    ck_assert_int_eq(kernel->params[2].role, SLW_ROLE_HIDDEN);
    ck_assert_uint_eq(kernel->needs, 0);
}

START_TEST(unknown_kinds_of_arguments) {
    check_kernel("kinds", 0x53f,
                 HIP_NOTE(HIP_NAMES "," HIP_SIZES
                                    ",'.args':[{'.offset':0,'.size':4,'.value_kind':'tensor_map','.hue':'blue'},"
                                    "{'.offset':4,'.size':2,'.value_kind':'hidden_clusters_x'},"
                                    "{'.offset':6,'.size':0,'.value_kind':'hidden_'}]"),
                 4, "gfx90a", look_at_kinds);
}
END_TEST

static void look_at_types(const slw_kernel_contract *kernel) {
    static const slw_param_kind want[] = {SLW_PARAM_STRUCT, SLW_PARAM_SIGNED,  SLW_PARAM_UNSIGNED,
                                          SLW_PARAM_FLOAT,  SLW_PARAM_UNKNOWN, SLW_PARAM_POINTER};
    ck_assert_uint_eq(kernel->param_count, 6);
    for (uint32_t p = 0; p < 6; p++) ck_assert_int_eq(kernel->params[p].kind, want[p]);
    ck_assert_str_eq(kernel->params[0].name, "first");
    ck_assert_ptr_null(kernel->params[1].name);
}

#define TYPED(offset, type) "{'.offset':" offset ",'.size':1,'.value_kind':'by_value','.value_type':'" type "'}"
static const char typed[] = HIP_NOTE(
    HIP_NAMES "," HIP_SIZES ",'.args':["
              "{'.offset':0,'.size':1,'.value_kind':'by_value','.value_type':'struct','.name':'first'}" TYPED("1", "i8")
                  TYPED("2", "u8") TYPED("3", "f16")
                      TYPED("4", "bool") "{'.offset':5,'.size':1,'.value_kind':'queue'}]");

START_TEST(types_where_they_are_said) {
    check_kernel("types", 0x53f, typed, 2, "gfx90a", look_at_types);
}
END_TEST

static void look_at_bounds(const slw_kernel_contract *kernel) {
    static const uint32_t block[3] = {8, 4, 2};
    static const uint32_t cluster[3] = {2, 1, 1};
    ck_assert_mem_eq(kernel->required_threads, block, sizeof(block));
    ck_assert_mem_eq(kernel->cluster, cluster, sizeof(cluster));
    ck_assert_uint_eq(kernel->cluster_required, 1);
    ck_assert_uint_eq(kernel->registers, 200);
    ck_assert_uint_eq(kernel->scalar_registers, 100000);
    ck_assert_uint_eq(kernel->accumulation_registers, 8);
    ck_assert_uint_eq(kernel->max_threads, 64);
    ck_assert_uint_eq(kernel->warp_threads, 32);
}

START_TEST(keys_in_any_order) {
    check_kernel("order", 0x53f,
                 "{" HIP_TARGET ",'amdhsa.kernels':[{'.wavefront_size':32,'.vgpr_count':200,'.symbol':'k.kd',"
                 "'.sgpr_count':100000,'.cluster_dims':[2,1,1],'.reqd_workgroup_size':[8,4,2],"
                 "'.private_segment_fixed_size':4,'.name':'k','.max_flat_workgroup_size':64,"
                 "'.kernarg_segment_size':8,'.group_segment_fixed_size':16," HIP_ARGS ",'.agpr_count':8}]}",
                 4, "gfx90a", look_at_bounds);
}
END_TEST

static void look_at_needs(const slw_kernel_contract *kernel) {
    ck_assert_uint_eq(kernel->needs, SLW_NEEDS_PRINTF | SLW_NEEDS_DEVICE_MALLOC);
}

START_TEST(what_hidden_arguments_ask_for) {
    check_kernel("printf", 0x53f,
                 HIP_NOTE(HIP_NAMES "," HIP_SIZES
                                    ",'.args':[{'.offset':0,'.size':4,'.value_kind':'hidden_printf_buffer'},"
                                    "{'.offset':4,'.size':4,'.value_kind':'hidden_heap_v1'}]"),
                 4, "gfx90a", look_at_needs);
}
END_TEST

/* A kernel with no parameter block needs no list of arguments. */
START_TEST(no_arguments) {
    static const hip_kernel kernel = {"k.kd", 0, 0, 0};
    hip_bytes document = {NULL, 0, 0};
    (void)hip_pack(&document, HIP_NOTE(HIP_NAMES ",'.kernarg_segment_size':0,'.group_segment_fixed_size':0,"
                                                 "'.private_segment_fixed_size':0"));
    hip_image m = hip_image_make(0x53f, document.data, document.size, &kernel, 1);
    slw_contract *contract = hip_good("none", hip_image_bytes(&m));
    ck_assert_uint_eq(contract->kernels[0].param_count, 0);
    slwi_contract_free(&hip_heap, &contract);
    free(document.data);
    hip_image_free(&m);
}
END_TEST

/* ---- names of targets ---- */

START_TEST(triples_are_split) {
    static const struct {
        const char *text, *triple, *target;
    } table[] = {{"amdgcn-amd-amdhsa--gfx90a:xnack-", "amdgcn-amd-amdhsa-", "gfx90a:xnack-"},
                 {"amdgpu9.42-amd-amdhsa-unknown-gfx942", "amdgpu9.42-amd-amdhsa-unknown", "gfx942"},
                 {"amdgcn-amd-amdhsa--gfx11-generic", "amdgcn-amd-amdhsa-", "gfx11-generic"},
                 {"amdgcn-amd-amdhsa-gfx10-3-generic", "amdgcn-amd-amdhsa", "gfx10-3-generic"},
                 {"amdgcn--amdhsa-gfx803", "amdgcn--amdhsa", "gfx803"},
                 {"x86_64-unknown-linux-gnu-", "x86_64-unknown-linux-gnu", ""},
                 {"x86_64-unknown-linux--", "x86_64-unknown-linux-", ""},
                 {"x86_64-unknown-linux-gnu", "x86_64-unknown-linux-gnu", ""},
                 {"a-b-c", "a-b-c", ""},
                 {"--", "--", ""},
                 {"a-b", NULL, NULL},
                 {"", NULL, NULL}};
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        slw_bytes triple = {"", 0};
        slw_bytes target = {"", 0};
        int split = slwi_amdgcn_split((slw_bytes){table[i].text, strlen(table[i].text)}, &triple, &target);
        ck_assert_int_eq(split, table[i].triple != NULL);
        if (!split) continue;
        ck_assert_msg(triple.size == strlen(table[i].triple) && memcmp(triple.data, table[i].triple, triple.size) == 0,
                      "%s: triple %.*s", table[i].text, (int)triple.size, (const char *)triple.data);
        ck_assert_msg(target.size == strlen(table[i].target) && memcmp(target.data, table[i].target, target.size) == 0,
                      "%s: target %.*s", table[i].text, (int)target.size, (const char *)target.data);
    }
}
END_TEST

/* device.md C.6's list; the rest of the table stands in LLVM. */
START_TEST(machines) {
    static const struct {
        uint32_t number;
        const char *processor;
    } table[] = {{0x2a, "gfx803"},       {0x2c, "gfx900"},          {0x2f, "gfx906"},          {0x30, "gfx908"},
                 {0x3f, "gfx90a"},       {0x32, "gfx90c"},          {0x40, "gfx940"},          {0x4b, "gfx941"},
                 {0x4c, "gfx942"},       {0x33, "gfx1010"},         {0x36, "gfx1030"},         {0x37, "gfx1031"},
                 {0x38, "gfx1032"},      {0x3d, "gfx1035"},         {0x45, "gfx1036"},         {0x41, "gfx1100"},
                 {0x46, "gfx1101"},      {0x47, "gfx1102"},         {0x44, "gfx1103"},         {0x43, "gfx1150"},
                 {0x4a, "gfx1151"},      {0x55, "gfx1152"},         {0x48, "gfx1200"},         {0x4e, "gfx1201"},
                 {0x51, "gfx9-generic"}, {0x52, "gfx10-1-generic"}, {0x53, "gfx10-3-generic"}, {0x54, "gfx11-generic"},
                 {0x59, "gfx12-generic"}};
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        ck_assert_ptr_nonnull(slwi_amdgcn_machine(table[i].number));
        ck_assert_str_eq(slwi_amdgcn_machine(table[i].number), table[i].processor);
    }
    for (uint32_t number = 0; number < 256; number++) {
        const char *name = slwi_amdgcn_machine(number);
        slwi_gfx gfx;
        if (name != NULL) ck_assert(slwi_gfx_parse(name, &gfx));
    }
    ck_assert_ptr_null(slwi_amdgcn_machine(0));
    ck_assert_ptr_null(slwi_amdgcn_machine(0xff));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("amdgcn newer");
    TCase *tc = tcase_create("newer");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, newer_versions);
    tcase_add_test(tc, real_files_patched);
    tcase_add_test(tc, an_unknown_processor);
    tcase_add_test(tc, both_spellings);
    tcase_add_test(tc, the_header_alone);
    tcase_add_loop_test(tc, note_and_header_disagree, 0, (int)(sizeof(disagreements) / sizeof(disagreements[0])));
    tcase_add_test(tc, unknown_keys_and_items_pass);
    tcase_add_test(tc, unknown_kinds_of_arguments);
    tcase_add_test(tc, types_where_they_are_said);
    tcase_add_test(tc, keys_in_any_order);
    tcase_add_test(tc, what_hidden_arguments_ask_for);
    tcase_add_test(tc, no_arguments);
    tcase_add_test(tc, triples_are_split);
    tcase_add_test(tc, machines);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
