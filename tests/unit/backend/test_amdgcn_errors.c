/* One thing wrong at a time: each refusal has its own reason, names what is meant and says where. */
#include "hip_image.h"

/* ---- notes ---- */

typedef struct note_case {
    const char *what, *note;
    slw_code code;
    const char *reason, *subject;
} note_case;

#define BINARY                         SLW_E_INVALID_BINARY
#define KERNEL_BUT(names, sizes, args) HIP_NOTE(names "," sizes "," args)
#define SIZES_BUT_KERNARG              "'.group_segment_fixed_size':16,'.private_segment_fixed_size':4"
#define ONE_ARG(inside)                HIP_NOTE(HIP_NAMES "," HIP_SIZES ",'.args':[{" inside "}]")

static const note_case notes[] = {
    {"no map", "[1]", BINARY, "BAD_NOTE", NULL},
    {"no kernels", "{" HIP_TARGET "}", BINARY, "MISSING", "amdhsa.kernels"},
    {"kernels no array", "{'amdhsa.kernels':{}," HIP_TARGET "}", BINARY, "BAD_NOTE", "amdhsa.kernels"},
    {"an empty list", "{'amdhsa.kernels':[]," HIP_TARGET "}", BINARY, "NO_ENTRY", "amdhsa.kernels"},
    {"a kernel no map", "{'amdhsa.kernels':[7]," HIP_TARGET "}", BINARY, "BAD_NOTE", "amdhsa.kernels"},
    {"target no string", "{'amdhsa.kernels':[{" HIP_KERNEL "}],'amdhsa.target':7}", BINARY, "BAD_NOTE",
     "amdhsa.target"},
    {"a root key twice", "{" HIP_TARGET "," HIP_TARGET "}", BINARY, "DUPLICATE", "amdhsa.target"},
    {"an unknown key twice", HIP_NOTE(HIP_KERNEL ",'.zz':1,'.yy':2,'.zz':3"), BINARY, "DUPLICATE", ".zz"},
    {"a key no string", "{1:2}", BINARY, "BAD_MSGPACK", NULL},
    {"no .name", HIP_NOTE("'.symbol':'k.kd'," HIP_SIZES "," HIP_ARGS), BINARY, "MISSING", ".name"},
    {"no .symbol", HIP_NOTE("'.name':'k'," HIP_SIZES "," HIP_ARGS), BINARY, "MISSING", ".symbol"},
    {"no kernarg size", HIP_NOTE(HIP_NAMES "," SIZES_BUT_KERNARG), BINARY, "MISSING", ".kernarg_segment_size"},
    {"no group size", HIP_NOTE(HIP_NAMES ",'.kernarg_segment_size':8,'.private_segment_fixed_size':4," HIP_ARGS),
     BINARY, "MISSING", ".group_segment_fixed_size"},
    {"no private size", HIP_NOTE(HIP_NAMES ",'.kernarg_segment_size':8,'.group_segment_fixed_size':16," HIP_ARGS),
     BINARY, "MISSING", ".private_segment_fixed_size"},
    {"a block, no .args", HIP_NOTE(HIP_NAMES "," HIP_SIZES), BINARY, "MISSING", ".args"},
    {"a size that is negative", HIP_NOTE(HIP_NAMES ",'.kernarg_segment_size':-8," SIZES_BUT_KERNARG), BINARY,
     "BAD_NOTE", ".kernarg_segment_size"},
    {"a size of 33 bits", HIP_NOTE(HIP_NAMES ",'.kernarg_segment_size':4294967296," SIZES_BUT_KERNARG), BINARY,
     "BAD_NOTE", ".kernarg_segment_size"},
    {"a size that is text", HIP_NOTE(HIP_KERNEL ",'.vgpr_count':'8'"), BINARY, "BAD_NOTE", ".vgpr_count"},
    {"a name that is a number", HIP_NOTE("'.name':7,'.symbol':'k.kd'," HIP_SIZES "," HIP_ARGS), BINARY, "BAD_NOTE",
     ".name"},
    {"an empty name", HIP_NOTE("'.name':'','.symbol':'k.kd'," HIP_SIZES "," HIP_ARGS), BINARY, "BAD_NAME", ".name"},
    {"a name with a blank", HIP_NOTE("'.name':'a b','.symbol':'k.kd'," HIP_SIZES "," HIP_ARGS), BINARY, "BAD_NAME",
     ".name"},
    {"a block of two", HIP_NOTE(HIP_KERNEL ",'.reqd_workgroup_size':[1,2]"), BINARY, "BAD_NOTE",
     ".reqd_workgroup_size"},
    {"a block of text", HIP_NOTE(HIP_KERNEL ",'.reqd_workgroup_size':[1,2,'3']"), BINARY, "BAD_NOTE",
     ".reqd_workgroup_size"},
    {"args no array", HIP_NOTE(HIP_NAMES "," HIP_SIZES ",'.args':7"), BINARY, "BAD_NOTE", ".args"},
    {"an argument no map", HIP_NOTE(HIP_NAMES "," HIP_SIZES ",'.args':[7]"), BINARY, "BAD_NOTE", ".args"},
    {"no .offset", ONE_ARG("'.size':8,'.value_kind':'by_value'"), BINARY, "MISSING", ".offset"},
    {"no .size", ONE_ARG("'.offset':0,'.value_kind':'by_value'"), BINARY, "MISSING", ".size"},
    {"no .value_kind", ONE_ARG("'.offset':0,'.size':8"), BINARY, "MISSING", ".value_kind"},
    {"an offset that is text", ONE_ARG("'.offset':'0','.size':8,'.value_kind':'by_value'"), BINARY, "BAD_NOTE",
     ".offset"},
    {"a kind that is a number", ONE_ARG("'.offset':0,'.size':8,'.value_kind':1"), BINARY, "BAD_NOTE", ".value_kind"},
    {"past the block", ONE_ARG("'.offset':4,'.size':8,'.value_kind':'by_value'"), BINARY, "BAD_PARAMETER", ".offset"},
    {"past 32 bits", ONE_ARG("'.offset':4294967295,'.size':4294967295,'.value_kind':'by_value'"), BINARY,
     "BAD_PARAMETER", ".offset"},
    {"over one another",
     HIP_NOTE(HIP_NAMES "," HIP_SIZES ",'.args':[{'.offset':0,'.size':4,'.value_kind':'by_value'},"
                        "{'.offset':2,'.size':4,'.value_kind':'by_value'}]"),
     BINARY, "BAD_PARAMETER", ".offset"},
    {"an argument's name", ONE_ARG("'.offset':0,'.size':8,'.value_kind':'by_value','.name':'a b'"), BINARY, "BAD_NAME",
     ".name"},
    {"no such descriptor", HIP_NOTE("'.name':'k','.symbol':'q.kd'," HIP_SIZES "," HIP_ARGS), BINARY, "BAD_SYMBOL",
     "q.kd"},
    {"two of a name", "{'amdhsa.kernels':[{" HIP_KERNEL "},{" HIP_KERNEL "}]," HIP_TARGET "}", BINARY, "DUPLICATE",
     "amdhsa.kernels"},
    {"a block too large", HIP_NOTE(HIP_NAMES ",'.kernarg_segment_size':32765," SIZES_BUT_KERNARG ",'.args':[]"),
     SLW_E_LIMIT, "TOO_LARGE", NULL},
    {"group differs",
     HIP_NOTE(HIP_NAMES
              ",'.kernarg_segment_size':8,'.group_segment_fixed_size':17,'.private_segment_fixed_size':4," HIP_ARGS),
     SLW_E_CONTRACT_MISMATCH, "DESCRIPTOR", "group_segment_fixed_size"},
    {"private differs",
     HIP_NOTE(HIP_NAMES
              ",'.kernarg_segment_size':8,'.group_segment_fixed_size':16,'.private_segment_fixed_size':0," HIP_ARGS),
     SLW_E_CONTRACT_MISMATCH, "DESCRIPTOR", "private_segment_fixed_size"},
    {"kernarg differs", HIP_NOTE(HIP_NAMES ",'.kernarg_segment_size':16," SIZES_BUT_KERNARG "," HIP_ARGS),
     SLW_E_CONTRACT_MISMATCH, "DESCRIPTOR", "kernarg_segment_size"},
};

START_TEST(notes_with_one_thing_wrong) {
    const note_case *c = &notes[_i];
    hip_image m = hip_image_of(0x53f, c->note);
    slw_error err = hip_refused(c->what, hip_image_bytes(&m), c->code, c->reason, c->subject);
    ck_assert_str_eq(err.path, "kernel.hsaco");
    if (c->code != SLW_E_LIMIT) {
        ck_assert(err.present & SLW_ERROR_HAS_OFFSET);
        ck_assert_uint_lt(err.offset_bytes, m.file.size);
    } else {
        ck_assert_uint_gt(err.required, err.limit);
    }
    hip_image_free(&m);
}
END_TEST

START_TEST(the_good_one_is_good) {
    hip_image m = hip_image_of(0x53f, HIP_NOTE(HIP_KERNEL));
    slw_contract *contract = hip_good("good", hip_image_bytes(&m));
    ck_assert_str_eq(contract->target, "gfx90a");
    ck_assert_uint_eq(contract->kernel_count, 1);
    ck_assert_str_eq(contract->kernels[0].name, "k");
    ck_assert_uint_eq(contract->kernels[0].static_shared_bytes, 16);
    ck_assert_uint_eq(contract->kernels[0].local_bytes, 4);
    ck_assert_uint_eq(contract->kernels[0].param_bytes, 8);
    ck_assert_uint_eq(contract->kernels[0].registers, 0); /* not said */
    slwi_contract_free(&hip_heap, &contract);
    hip_image_free(&m);
}
END_TEST

/* A kernel is named where it is known. */
START_TEST(the_kernel_is_named) {
    hip_image m = hip_image_of(0x53f, HIP_NOTE(HIP_NAMES "," HIP_SIZES));
    slw_error err = hip_refused("named", hip_image_bytes(&m), BINARY, "MISSING", ".args");
    ck_assert_str_eq(err.kernel, "k");
    hip_image_free(&m);
}
END_TEST

/* ---- the file around the note ---- */

typedef struct patch {
    const char *what;
    size_t at; /* see `from` */
    char from; /* '0': of the file, 'n': the note, 'd': the descriptor, 's': symbol 1, 't': names, 'h': section heads */
    uint64_t value;
    size_t width;
    slw_code code;
    const char *reason;
} patch;

static const patch patches[] = {
    {"no ELF", 0, '0', 'X', 1, BINARY, "NOT_ELF"},
    {"another machine", 18, '0', 190, 2, BINARY, "BAD_HEADER"},
    {"an executable", 16, '0', 2, 2, BINARY, "BAD_HEADER"},
    {"a relocatable", 16, '0', 1, 2, SLW_E_UNSUPPORTED_INPUT, "RELOCATABLE"},
    {"for PAL", 7, '0', 0x41, 1, SLW_E_UNSUPPORTED_INPUT, "OSABI"},
    {"v2", 8, '0', 0, 1, SLW_E_UNSUPPORTED_INPUT, "CODE_OBJECT_VERSION"},
    {"v3", 8, '0', 1, 1, SLW_E_UNSUPPORTED_INPUT, "CODE_OBJECT_VERSION"},
    {"sections past the end", 40, '0', 1u << 20, 8, BINARY, "TRUNCATED"},
    {"a note's name past its end", 0, 'n', 0xffffffffu, 4, BINARY, "BAD_NOTE"},
    {"a note's bytes past its end", 4, 'n', 0xfffffffcu, 4, BINARY, "BAD_NOTE"},
    {"another note type", 8, 'n', 31, 4, BINARY, "MISSING"},
    {"another owner", 12, 'n', 'B', 1, BINARY, "MISSING"},
    {"an empty note", 4, 'n', 0, 4, BINARY, "BAD_NOTE"},
    {"no item", 20, 'n', 0xc1, 1, BINARY, "BAD_MSGPACK"},
    {"bytes behind", 20, 'n', 7, 1, BINARY, "BAD_MSGPACK"},
    {"a map too long", 21, 'n', 0xffff, 2, BINARY, "BAD_MSGPACK"},
    {"notes cut", 64 + 32, '0', 14, 8, BINARY, "BAD_NOTE"},
    {"descriptor: group", 0, 'd', 17, 4, SLW_E_CONTRACT_MISMATCH, "DESCRIPTOR"},
    {"descriptor: code outside", 16, 'd', 1u << 20, 8, BINARY, "BAD_DESCRIPTOR"},
    {"descriptor: code in data", 16, 'd', 0, 8, BINARY, "BAD_DESCRIPTOR"},
    {"descriptor: code before", 16, 'd', UINT64_MAX, 8, BINARY, "BAD_DESCRIPTOR"},
    {"symbol: a function", 4, 's', 0x12, 1, BINARY, "BAD_SYMBOL"},
    {"symbol: undefined", 6, 's', 0, 2, BINARY, "BAD_SYMBOL"},
    {"symbol: outside", 8, 's', 1u << 30, 8, BINARY, "BAD_DESCRIPTOR"},
    {"symbol: at the end", 8, 's', UINT64_MAX, 8, BINARY, "BAD_DESCRIPTOR"},
    {"symbol: of 63 bytes", 16, 's', 63, 8, BINARY, "BAD_SYMBOL"},
    {"symbol: no name", 0, 's', 1u << 20, 4, BINARY, "BAD_SYMBOL"},
    {"symbols: no names", 64 * HIP_SHDR_SYMBOLS + 40, 'h', 1, 4, BINARY, "BAD_SYMBOL"},
    {"symbols: names nowhere", 64 * HIP_SHDR_SYMBOLS + 40, 'h', 99, 4, BINARY, "BAD_SECTION"},
    {"symbols: of 16 bytes", 64 * HIP_SHDR_SYMBOLS + 56, 'h', 16, 8, BINARY, "BAD_SYMBOL"},
    {"symbols: not whole", 64 * HIP_SHDR_SYMBOLS + 32, 'h', 47, 8, BINARY, "BAD_SYMBOL"},
    {"symbols: none", 64 * HIP_SHDR_SYMBOLS + 4, 'h', 1, 4, BINARY, "MISSING"},
    {"symbols: twice", 64 * HIP_SHDR_STRINGS + 4, 'h', 11, 4, BINARY, "BAD_SYMBOL"},
    {"segments out of order", 64 + 56 + 16, '0', 1u << 20, 8, BINARY, "BAD_SEGMENT"},
};

static size_t patch_base(const hip_image *m, char from) {
    switch (from) {
    case 'n':
        return m->note_at;
    case 'd':
        return m->descriptors_at;
    case 's':
        return m->symbols_at + 24;
    case 't':
        return m->strings_at;
    case 'h':
        return m->sections_at;
    default:
        return 0;
    }
}

START_TEST(files_with_one_thing_wrong) {
    const patch *p = &patches[_i];
    hip_image m = hip_image_of(0x53f, HIP_NOTE(HIP_KERNEL));
    hip_set(&m.file, patch_base(&m, p->from) + p->at, p->value, p->width);
    (void)hip_refused(p->what, hip_image_bytes(&m), p->code, p->reason, NULL);
    hip_image_free(&m);
}
END_TEST

/* Loaders go by segments; where none holds notes, sections are asked. */
START_TEST(notes_in_sections_only) {
    hip_image m = hip_image_of(0x53f, HIP_NOTE(HIP_KERNEL));
    hip_set(&m.file, HIP_PHDR(0), 0x6474e551, 4);
    slw_contract *contract = hip_good("sections", hip_image_bytes(&m));
    slwi_contract_free(&hip_heap, &contract);
    hip_image_free(&m);
}
END_TEST

static hip_image two_notes(void) {
    hip_bytes document = {NULL, 0, 0};
    hip_bytes both = {NULL, 0, 0};
    static const hip_kernel kernel = {"k.kd", 16, 4, 8};
    (void)hip_pack(&document, HIP_NOTE(HIP_KERNEL));
    while (document.size % 4 != 0) hip_put(&document, "\0", 1);
    hip_put(&both, document.data, document.size);
    hip_put_note(&both, document.data, document.size);
    hip_image m = hip_image_make(0x53f, both.data, both.size, &kernel, 1);
    hip_set(&m.file, m.note_at + 4, document.size, 4);
    free(document.data);
    free(both.data);
    return m;
}

START_TEST(two_metadata_notes) {
    hip_image m = two_notes();
    (void)hip_refused("two notes", hip_image_bytes(&m), BINARY, "DUPLICATE", NULL);
    hip_image_free(&m);
}
END_TEST

/* Segments that name the same bytes again and again cannot take quadratic time. */
START_TEST(notes_over_one_another) {
    hip_image m = hip_image_of(0x53f, HIP_NOTE(HIP_KERNEL));
    hip_set(&m.file, m.note_at + 8, 31, 4);
    hip_phdr(&m, 1, 4, 4, 0, m.file.size);
    hip_set(&m.file, HIP_PHDR(1) + 8, m.note_at, 8);
    hip_set(&m.file, HIP_PHDR(1) + 32, m.file.size - m.note_at, 8);
    slw_error err = hip_refused("over", hip_image_bytes(&m), BINARY, "BAD_NOTE", NULL);
    ck_assert_ptr_nonnull(strstr(err.message, "note"));
    hip_image_free(&m);
}
END_TEST

/* The note's section becomes a static symbol table, from symbol `first` of the dynamic one; k.kd is symbol 1,
   q.kd 2. */
static hip_image with_static_table(size_t first, size_t count) {
    static const hip_kernel kernels[] = {{"k.kd", 16, 4, 8}, {"q.kd", 16, 4, 8}};
    hip_bytes document = {NULL, 0, 0};
    (void)hip_pack(&document, HIP_NOTE(HIP_KERNEL));
    hip_image m = hip_image_make(0x53f, document.data, document.size, kernels, 2);
    free(document.data);
    size_t head = HIP_SHDR(&m, HIP_SHDR_NOTE);
    hip_set(&m.file, head + 4, 2, 4);
    hip_set(&m.file, head + 24, m.symbols_at + 24 * first, 8);
    hip_set(&m.file, head + 32, 24 * count, 8);
    hip_set(&m.file, head + 40, HIP_SHDR_STRINGS, 4);
    hip_set(&m.file, head + 56, 24, 8);
    return m;
}

START_TEST(two_symbol_tables) {
    hip_image m = with_static_table(0, 3);
    slw_contract *contract = hip_good("both", hip_image_bytes(&m));
    slwi_contract_free(&hip_heap, &contract);
    hip_set(&m.file, m.symbols_at + 48, 1, 4); /* q.kd is called k.kd */
    (void)hip_refused("twice in one", hip_image_bytes(&m), BINARY, "DUPLICATE", "k.kd");
    hip_image_free(&m);

    m = with_static_table(2, 1);
    hip_set(&m.file, HIP_SHDR(&m, HIP_SHDR_SYMBOLS) + 32, 48, 8); /* k.kd only */
    hip_set(&m.file, m.symbols_at + 48, 1, 4);
    (void)hip_refused("two places", hip_image_bytes(&m), BINARY, "BAD_SYMBOL", "k.kd");
    hip_image_free(&m);
}
END_TEST

/* A stripped file has only the dynamic one; one that was linked statically only the other. */
START_TEST(only_the_static_table) {
    hip_image m = with_static_table(0, 3);
    hip_set(&m.file, HIP_SHDR(&m, HIP_SHDR_SYMBOLS) + 4, 1, 4);
    slw_contract *contract = hip_good("static", hip_image_bytes(&m));
    slwi_contract_free(&hip_heap, &contract);
    hip_image_free(&m);
}
END_TEST

/* ---- limits ---- */

static void repeat(hip_bytes *text, const char *piece, size_t count) {
    for (size_t i = 0; i < count; i++) hip_put(text, piece, strlen(piece));
}

START_TEST(too_many_parameters) {
    hip_bytes text = {NULL, 0, 0};
    repeat(&text, "{'amdhsa.kernels':[{" HIP_NAMES "," HIP_SIZES ",'.args':[", 1);
    repeat(&text, "0,", SLW_LIMIT_GPU_PARAMETERS + 1);
    repeat(&text, "]}]," HIP_TARGET "}", 1);
    hip_put(&text, "", 1);
    hip_image m = hip_image_of(0x53f, (const char *)text.data);
    slw_error err = hip_refused("parameters", hip_image_bytes(&m), SLW_E_LIMIT, "TOO_MANY_PARAMETERS", NULL);
    ck_assert_uint_eq(err.required, SLW_LIMIT_GPU_PARAMETERS + 1);
    ck_assert_uint_eq(err.limit, SLW_LIMIT_GPU_PARAMETERS);
    free(text.data);
    hip_image_free(&m);
}
END_TEST

START_TEST(too_deep) {
    hip_bytes text = {NULL, 0, 0};
    repeat(&text, "[", SLW_LIMIT_MSGPACK_DEPTH + 1);
    repeat(&text, "1", 1);
    repeat(&text, "]", SLW_LIMIT_MSGPACK_DEPTH + 1);
    hip_put(&text, "", 1);
    hip_image m = hip_image_of(0x53f, (const char *)text.data);
    (void)hip_refused("depth", hip_image_bytes(&m), SLW_E_LIMIT, "TOO_DEEP", NULL);
    free(text.data);
    hip_image_free(&m);
}
END_TEST

START_TEST(a_name_too_long) {
    hip_bytes document = {NULL, 0, 0};
    static const hip_kernel kernel = {"k.kd", 16, 4, 8};
    hip_put(&document,
            "\x81\xae"
            "amdhsa.kernels"
            "\x91\x86",
            18);
    (void)hip_pack(&document, "'.kernarg_segment_size':8");
    (void)hip_pack(&document, "8");
    const char *keys[] = {"'.group_segment_fixed_size'",
                          "16",
                          "'.private_segment_fixed_size'",
                          "4",
                          "'.symbol'",
                          "'k.kd'",
                          "'.args'",
                          "[" HIP_ARG "]",
                          "'.name'"};
    for (size_t i = 0; i < 9; i++) (void)hip_pack(&document, keys[i]);
    hip_put_big(&document, 0xdb, SLW_LIMIT_NAME_BYTES + 1, 4);
    for (uint32_t i = 0; i <= SLW_LIMIT_NAME_BYTES; i++) hip_put(&document, "n", 1);
    hip_image m = hip_image_make(0x53f, document.data, document.size, &kernel, 1);
    (void)hip_refused("name", hip_image_bytes(&m), SLW_E_LIMIT, "NAME_TOO_LONG", NULL);
    free(document.data);
    hip_image_free(&m);
}
END_TEST

/* 70,000 bytes are real. */
START_TEST(a_long_name) {
    hip_bytes name = {NULL, 0, 0};
    hip_bytes note = {NULL, 0, 0};
    for (int i = 0; i < 60000; i++) hip_put(&name, "n", 1);
    hip_put(&name, "", 1);
    repeat(&note, "{'amdhsa.kernels':[{'.symbol':'k.kd'," HIP_SIZES "," HIP_ARGS ",'.name':'", 1);
    hip_put(&note, name.data, name.size - 1);
    repeat(&note, "'}]," HIP_TARGET "}", 1);
    hip_put(&note, "", 1);
    hip_image m = hip_image_of(0x53f, (const char *)note.data);
    slw_contract *contract = hip_good("long", hip_image_bytes(&m));
    ck_assert_str_eq(contract->kernels[0].name, (const char *)name.data);
    slwi_contract_free(&hip_heap, &contract);
    free(name.data);
    free(note.data);
    hip_image_free(&m);
}
END_TEST

/* An error record is not needed. */
START_TEST(without_an_error_record) {
    hip_image m = hip_image_of(0x53f, HIP_NOTE(HIP_NAMES));
    slw_contract *contract = NULL;
    ck_assert_int_eq(slwi_amdgcn_contract(&hip_heap, hip_image_bytes(&m), NULL, &contract, NULL), BINARY);
    ck_assert_ptr_null(contract);
    hip_image_free(&m);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("amdgcn errors");
    TCase *tc = tcase_create("errors");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, notes_with_one_thing_wrong, 0, (int)(sizeof(notes) / sizeof(notes[0])));
    tcase_add_loop_test(tc, files_with_one_thing_wrong, 0, (int)(sizeof(patches) / sizeof(patches[0])));
    tcase_add_test(tc, the_good_one_is_good);
    tcase_add_test(tc, the_kernel_is_named);
    tcase_add_test(tc, notes_in_sections_only);
    tcase_add_test(tc, two_metadata_notes);
    tcase_add_test(tc, notes_over_one_another);
    tcase_add_test(tc, two_symbol_tables);
    tcase_add_test(tc, only_the_static_table);
    tcase_add_test(tc, too_many_parameters);
    tcase_add_test(tc, too_deep);
    tcase_add_test(tc, a_name_too_long);
    tcase_add_test(tc, a_long_name);
    tcase_add_test(tc, without_an_error_record);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
