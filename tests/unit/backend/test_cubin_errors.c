/* One fault at a time in a good cubin: each is refused by its own name and place. Every proper prefix is refused, every
 * allocation may fail. */
#include "cubin_fixture.h"
#include "fault_alloc.h"

/* A copy of a fixture to do damage to. */
static uint8_t *data;
static size_t size;

static void take(const char *file) {
    free(data);
    data = cub_load("cubin", file, &size);
}

static slw_error expect(const char *what, slw_code code, const char *reason) {
    slw_error err = SLW_ERROR_INIT;
    cub_refused(what, data, size, code, reason, &err);
    return err;
}

static uint64_t offset_of(const uint8_t *at) {
    return (uint64_t)(at - data);
}

START_TEST(header) {
    static const char text[] = "this is not a binary at all, but it is long enough for a header to be read from it.";
    slw_error err;
    cub_refused("text", text, sizeof(text), SLW_E_INVALID_BINARY, "NOT_ELF", &err);
    cub_refused("empty", "", 0, SLW_E_INVALID_BINARY, "TRUNCATED", &err);
    take("rq_90.cubin");
    data[18] = 62;
    err = expect("another machine", SLW_E_INVALID_BINARY, "BAD_HEADER");
    ck_assert_uint_eq(err.offset_bytes, 18);
    ck_assert_str_eq(err.path, "x.cubin");
    take("rq_90.cubin");
    data[16] = 3;
    expect("another type", SLW_E_INVALID_BINARY, "BAD_HEADER");
    take("rq_90.cubin");
    cub_put(data + 40, 8, 0);
    expect("no sections", SLW_E_INVALID_BINARY, "BAD_HEADER");
    take("rq_90.cubin");
    cub_put(data + 48, 4, 0);
    err = expect("no architecture", SLW_E_INVALID_BINARY, "NO_TARGET");
    ck_assert_uint_eq(err.offset_bytes, 48);
}
END_TEST

START_TEST(relocatable) {
    take("k1_rdc80.cubin");
    slw_error err = expect("rdc", SLW_E_UNSUPPORTED_INPUT, "RELOCATABLE");
    ck_assert_ptr_nonnull(strstr(err.hint, "-rdc"));
}
END_TEST

START_TEST(sections) {
    take("rq_90.cubin");
    cub_put(cub_section(data, ".nv.callgraph") + 4, 4, 2);
    cub_put(cub_section(data, ".nv.callgraph") + 56, 8, 24);
    cub_put(cub_section(data, ".nv.callgraph") + 32, 8, 24);
    expect("two symbol tables", SLW_E_INVALID_BINARY, "DUPLICATE");
    take("rq_90.cubin");
    cub_put(cub_section(data, ".symtab") + 4, 4, 0x6fffffff);
    expect("no symbol table", SLW_E_INVALID_BINARY, "BAD_SECTION");
    take("rq_90.cubin");
    cub_put(cub_section(data, ".symtab") + 56, 8, 23);
    expect("size of a symbol", SLW_E_INVALID_BINARY, "BAD_SECTION");
    take("rq_90.cubin");
    uint8_t *symtab = cub_section(data, ".symtab");
    cub_put(symtab + 32, 8, cub_get(symtab + 32, 8) - 1);
    expect("half a symbol", SLW_E_INVALID_BINARY, "BAD_SECTION");
    take("rq_90.cubin");
    cub_put(cub_section(data, ".symtab") + 40, 4, 7777);
    expect("names of symbols", SLW_E_INVALID_BINARY, "BAD_SECTION");
    take("rq_90.cubin");
    cub_put(cub_section(data, ".symtab") + 40, 4, 3);
    expect("names of symbols are no names", SLW_E_INVALID_BINARY, "BAD_SECTION");
    take("rq_90.cubin");
    uint8_t *strtab = cub_section(data, ".strtab");
    data[cub_get(strtab + 24, 8) + cub_get(strtab + 32, 8) - 1] = 'x';
    expect("names that do not end", SLW_E_INVALID_BINARY, "BAD_SECTION");
    take("rq_90.cubin");
    cub_put(cub_section(data, ".strtab") + 32, 8, 0);
    expect("no names", SLW_E_INVALID_BINARY, "BAD_SECTION");
    take("rq_90.cubin");
    cub_put(cub_section(data, ".nv.constant0.rq") + 24, 8, UINT64_MAX - 4);
    slw_error err = expect("a section outside", SLW_E_INVALID_BINARY, "TRUNCATED");
    ck_assert_uint_eq(err.offset_bytes, size); /* where the file ends, and how long it would have to be */
    ck_assert_uint_eq(err.limit, size);
    ck_assert_uint_eq(err.required, UINT64_MAX);
    take("rq_90.cubin");
    cub_put(cub_section(data, ".strtab") + 4, 4, 8);
    cub_put(cub_section(data, ".strtab") + 24, 8, 1ull << 40);
    err = expect("names that take no room", SLW_E_INVALID_BINARY, "BAD_SECTION");
    ck_assert_uint_eq(err.offset_bytes,
                      offset_of(cub_section(data, ".strtab"))); /* found by AFL++: it was past the end */
    take("rq_90.cubin");
    cub_put(cub_section(data, ".nv.info.rq") + 44, 4, 9999);
    expect("records about no section", SLW_E_INVALID_BINARY, "BAD_SECTION");
    take("rq_90.cubin");
    cub_put(cub_section(data, ".nv.info.rq") + 44, 4, cub_get(cub_section(data, ".nv.info.rq2") + 44, 4));
    expect("records twice", SLW_E_INVALID_BINARY, "DUPLICATE");
    take("rq_90.cubin");
    cub_put(cub_section(data, ".nv.info.rq") + 44, 4, 0);
    expect("two .nv.info", SLW_E_INVALID_BINARY, "DUPLICATE");
    take("rq_90.cubin");
    cub_put(cub_section(data, ".nv.shared.rq") + 44, 4, 9999);
    expect("shared memory of no section", SLW_E_INVALID_BINARY, "BAD_SECTION");
    take("rq_90.cubin");
    cub_put(cub_section(data, ".nv.shared.rq") + 32, 8, 1ull << 40);
    expect("too much shared memory", SLW_E_INVALID_BINARY, "BAD_SECTION");
    take("rq_90.cubin");
    cub_put(cub_section(data, ".nv.callgraph") + 4, 4, 0x70000086);
    expect("two .nv.compat", SLW_E_INVALID_BINARY, "DUPLICATE");
}
END_TEST

/* A small file whose sections all lie over one another would ask for any amount of work. */
START_TEST(sections_that_overlap) {
    take("rq_90.cubin");
    cub_put(cub_section(data, ".note.nv.tkinfo") + 24, 8, 0);
    cub_put(cub_section(data, ".note.nv.tkinfo") + 32, 8, size);
    slw_error err = expect("overlap", SLW_E_INVALID_BINARY, "BAD_SECTION");
    ck_assert_ptr_nonnull(strstr(err.message, "overlap"));
}
END_TEST

START_TEST(symbols) {
    take("rq_90.cubin");
    uint8_t *symbol = cub_symbol(data, "rq");
    uint64_t at = offset_of(symbol);
    cub_put(symbol, 4, 0x7fffffff);
    slw_error err = expect("a name outside", SLW_E_INVALID_BINARY, "BAD_SYMBOL");
    ck_assert_uint_eq(err.offset_bytes, at);
    take("rq_90.cubin");
    cub_put(cub_symbol(data, "rq") + 6, 2, 4000);
    expect("a section that is not there", SLW_E_INVALID_BINARY, "BAD_SYMBOL");
    take("rq_90.cubin");
    cub_put(cub_symbol(data, "rq") + 6, 2, 0xfff1);
    expect("a kernel nowhere", SLW_E_INVALID_BINARY, "BAD_SYMBOL");
    take("rq_90.cubin");
    cub_put(cub_symbol(data, "rq") + 6, 2, cub_get(cub_symbol(data, "rq2") + 6, 2));
    expect("two in one section", SLW_E_INVALID_BINARY, "BAD_SYMBOL");
    take("rq_90.cubin");
    cub_put(cub_symbol(data, "rq"), 4, cub_get(cub_symbol(data, "rq2"), 4));
    err = expect("two of one name", SLW_E_INVALID_BINARY, "DUPLICATE");
    ck_assert_str_eq(err.kernel, "rq2");
    take("rq_90.cubin");
    cub_put(cub_symbol(data, "rq"), 4, 0);
    expect("no name", SLW_E_INVALID_BINARY, "BAD_SYMBOL");
    take("rq_90.cubin");
    cub_symbol(data, "rq")[5] = 0;
    cub_symbol(data, "rq2")[6] = 0;
    err = expect("no kernel", SLW_E_INVALID_BINARY, "NO_ENTRY");
    ck_assert_ptr_nonnull(strstr(err.message, "no kernels"));
}
END_TEST

START_TEST(a_name_is_text) {
    static const char *const bad[] = {"r\n", "r ", "\x7fq", "\xc3q", "\xffq"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        take("rq_90.cubin");
        uint8_t *strtab = cub_section(data, ".strtab");
        char *name = (char *)data + cub_get(strtab + 24, 8) + cub_get(cub_symbol(data, "rq"), 4);
        memcpy(name, bad[i], 2);
        expect("name", SLW_E_INVALID_BINARY, "BAD_SYMBOL");
    }
}
END_TEST

START_TEST(records) {
    take("rq_90.cubin");
    cub_record(data, ".nv.info.rq", 0x37)[0] = 7;
    expect("a format that is none", SLW_E_INVALID_BINARY, "BAD_INFO");
    take("rq_90.cubin");
    cub_record(data, ".nv.info.rq", 0x37)[0] = 0;
    expect("no format", SLW_E_INVALID_BINARY, "BAD_INFO");
    take("rq_90.cubin");
    cub_put(cub_record(data, ".nv.info.rq", 0x37) + 2, 2, 0xffff);
    expect("longer than its section", SLW_E_INVALID_BINARY, "BAD_INFO");
    take("rq_90.cubin");
    uint8_t *info = cub_section(data, ".nv.info.rq");
    cub_put(info + 32, 8, cub_get(info + 32, 8) - 2);
    expect("ends early", SLW_E_INVALID_BINARY, "BAD_INFO");
    take("rq_90.cubin");
    info = cub_section(data, ".nv.info");
    cub_put(info + 32, 8, cub_get(info + 32, 8) - 2);
    expect("the module's end early", SLW_E_INVALID_BINARY, "BAD_INFO");
    take("rq_90.cubin");
    info = cub_section(data, ".nv.compat");
    cub_put(info + 32, 8, cub_get(info + 32, 8) - 2);
    expect("those of the target end early", SLW_E_INVALID_BINARY, "BAD_INFO");
    take("rq_90.cubin");
    uint8_t *record = cub_record(data, ".nv.info", 0x2f);
    uint64_t at = offset_of(record);
    cub_put(record + 4, 4, 100000);
    slw_error err = expect("about no symbol", SLW_E_INVALID_BINARY, "BAD_INFO");
    ck_assert_uint_eq(err.offset_bytes, at);
    take("rq_90.cubin");
    cub_record(data, ".nv.info", 0x11)[1] = 0x2f; /* 0 registers, beside the right number */
    err = expect("two numbers", SLW_E_INVALID_BINARY, "DUPLICATE");
    ck_assert_uint_ne(err.kernel[0], '\0');
    take("needs_90_13.0.cubin");
    cub_put(cub_record(data, ".nv.info.direct", 0x0f) + 4, 4, 100000);
    expect("needs of no symbol", SLW_E_INVALID_BINARY, "BAD_INFO");
    take("clus_90_13.5.cubin");
    cub_put(cub_record(data, ".nv.info.g", 0x10) + 8, 4, 0);
    expect("a block of no width", SLW_E_INVALID_BINARY, "BAD_INFO");
}
END_TEST

/* Each attribute that is read has one form: any other is refused, not guessed at. */
START_TEST(forms_of_attributes) {
    static const struct {
        const char *file, *section;
        unsigned attribute;
    } known[] = {
        {"rq_90.cubin", ".nv.info", 0x2f},
        {"rq_90.cubin", ".nv.info", 0x11},
        {"rq_90.cubin", ".nv.info.rq", 0x17},
        {"rq_90.cubin", ".nv.info.rq", 0x19},
        {"rq_90.cubin", ".nv.info.rq", 0x0a},
        {"rq_90.cubin", ".nv.info.rq", 0x1b},
        {"rq_90.cubin", ".nv.info.rq", 0x10},
        {"rq_90.cubin", ".nv.info.rq2", 0x05},
        {"hg_90.cubin", ".nv.info.khuge", 0x45},
        {"clus_90_13.5.cubin", ".nv.info.a", 0x3d},
        {"clus_90_13.5.cubin", ".nv.info.d", 0x3f},
        {"bac_100f_13.0.cubin", ".nv.info.h", 0x5b},
        {"needs_90_13.0.cubin", ".nv.info.direct", 0x0f},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        take(known[i].file);
        uint8_t *record = cub_record(data, known[i].section, known[i].attribute);
        if (record[0] == 4) {
            /* The payload's first four bytes become the record, what is left one of no meaning. */
            uint64_t left = cub_get(record + 2, 2);
            record[0] = 3;
            record[4] = 4;
            record[5] = 0xee;
            cub_put(record + 6, 2, left - 4);
        } else {
            record[0] = record[0] == 1 ? 2 : 1;
        }
        expect(known[i].section, SLW_E_INVALID_BINARY, "BAD_INFO");
    }
}
END_TEST

START_TEST(parameters) {
    take("k9_sm90.cubin");
    cub_put(cub_record(data, ".nv.info.clus", 0x17) + 8, 2, 1);
    slw_error err = expect("an ordinal too many", SLW_E_INVALID_BINARY, "BAD_PARAMETER");
    ck_assert_str_eq(err.kernel, "clus");
    take("al_90.cubin");
    cub_put(cub_record(data, ".nv.info.k16", 0x17) + 8, 2, 1);
    expect("an ordinal twice", SLW_E_INVALID_BINARY, "DUPLICATE");
    take("k9_sm90.cubin");
    cub_put(cub_record(data, ".nv.info.clus", 0x17) + 10, 2, 4);
    expect("past the end", SLW_E_INVALID_BINARY, "BAD_PARAMETER");
    take("k9_sm90.cubin");
    cub_put(cub_record(data, ".nv.info.clus", 0x19) + 2, 2, 16);
    expect("two sizes", SLW_E_INVALID_BINARY, "BAD_PARAMETER");
    take("k9_sm90.cubin");
    cub_put(cub_record(data, ".nv.info.clus", 0x19) + 2, 2, 40000);
    cub_put(cub_record(data, ".nv.info.clus", 0x0a) + 10, 2, 40000);
    err = expect("too large", SLW_E_LIMIT, "PARAMETERS_TOO_LARGE");
    ck_assert_uint_eq(err.required, 40000);
    ck_assert_uint_eq(err.limit, SLW_LIMIT_PARAM_BYTES);
    take("hg_90.cubin");
    cub_put(cub_record(data, ".nv.info.khuge", 0x45) + 12, 4, 0xffffffff);
    expect("a size past the end", SLW_E_INVALID_BINARY, "BAD_PARAMETER");
}
END_TEST

static void forget(const char *section, unsigned attribute) {
    cub_record(data, section, attribute)[1] = 0xee;
}

START_TEST(missing_is_named) {
    take("k9_sm90.cubin");
    forget(".nv.info", 0x2f);
    slw_error err = expect("registers", SLW_E_INVALID_BINARY, "MISSING");
    ck_assert_str_eq(err.subject, "REGCOUNT");
    take("k9_sm90.cubin");
    forget(".nv.info.clus", 0x19);
    forget(".nv.info.clus", 0x0a);
    err = expect("size", SLW_E_INVALID_BINARY, "MISSING");
    ck_assert_str_eq(err.subject, "CBANK_PARAM_SIZE");
    ck_assert_str_eq(err.kernel, "clus");
    ck_assert_ptr_nonnull(err.hint);
    take("k9_sm90.cubin");
    forget(".nv.info.clus", 0x17);
    err = expect("parameters", SLW_E_INVALID_BINARY, "MISSING");
    ck_assert_str_eq(err.subject, "KPARAM_INFO");
    take("k9_sm90.cubin");
    cub_put(cub_section(data, ".nv.info.clus") + 4, 4, 0x70000077);
    err = expect("records", SLW_E_INVALID_BINARY, "MISSING");
    ck_assert_str_eq(err.subject, ".nv.info");
    /* One of the two sizes is enough, and local memory is not needed to launch. */
    take("k9_sm90.cubin");
    forget(".nv.info.clus", 0x19);
    forget(".nv.info", 0x11);
    slw_contract *contract = cub_good("one size", data, size);
    ck_assert_uint_eq(slw_contract_find(contract, "clus")->param_bytes, 8);
    slwi_contract_free(&cub_heap, &contract);
}
END_TEST

/* The bytes end where the prefix does, so that a read past it is found by the sanitizer. */
START_TEST(every_proper_prefix_is_refused) {
    static const char *const seeds[] = {"rq_90.cubin", "wg_sm90a.cubin", "mini_75_12.4.cubin", "mini_107f_13.5.cubin"};
    take(seeds[_i]);
    for (size_t n = 0; n < size; n++) {
        uint8_t *prefix = malloc(n == 0 ? 1 : n);
        slw_contract *contract = NULL;
        slw_error err = SLW_ERROR_INIT;
        memcpy(prefix, data, n);
        slw_code rc = slwi_cubin_contract(&cub_heap, (slw_bytes){prefix, n}, NULL, &contract, &err);
        ck_assert_msg(rc == SLW_E_INVALID_BINARY && contract == NULL, "%s: a prefix of %zu of %zu bytes gives %s",
                      seeds[_i], n, size, slw_code_name(rc));
        ck_assert_str_eq(err.reason, "TRUNCATED");
        ck_assert_uint_le(err.offset_bytes, size);
        free(prefix);
    }
}
END_TEST

START_TEST(every_allocation_may_fail) {
    slt_heap heap;
    slt_heap_init(&heap);
    take("k1_sm90.cubin");
    uint64_t refused = 0;
    for (uint64_t n = 1;; n++) {
        slw_contract *contract = NULL;
        slw_error err = SLW_ERROR_INIT;
        slt_heap_reset(&heap);
        heap.fail_at = n;
        slw_code rc = slwi_cubin_contract(&heap.allocator, (slw_bytes){data, size}, NULL, &contract, &err);
        if (heap.failed == 0) {
            slt_ok(rc, &err);
            slwi_contract_free(&heap.allocator, &contract);
            slt_heap_check_empty(&heap);
            break;
        }
        ck_assert_int_eq(rc, SLW_E_NO_MEMORY);
        ck_assert_ptr_null(contract);
        slt_heap_check_empty(&heap);
        refused++;
    }
    ck_assert_uint_ge(refused, 8);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cubin errors");
    TCase *tests = tcase_create("cubin");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, header);
    tcase_add_test(tests, relocatable);
    tcase_add_test(tests, sections);
    tcase_add_test(tests, sections_that_overlap);
    tcase_add_test(tests, symbols);
    tcase_add_test(tests, a_name_is_text);
    tcase_add_test(tests, records);
    tcase_add_test(tests, forms_of_attributes);
    tcase_add_test(tests, parameters);
    tcase_add_test(tests, missing_is_named);
    tcase_add_loop_test(tests, every_proper_prefix_is_refused, 0, 4);
    tcase_add_test(tests, every_allocation_may_fail);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
