/* Not only what has been seen: a newer toolkit's cubins read as far as they say. Names of any length; limits; work and
 * memory in proportion to the file. */
#include "cubin_made.h"
#include "fault_alloc.h"

static uint8_t *data;
static size_t size;

static void take(const char *file) {
    free(data);
    data = cub_load("cubin", file, &size);
}

static void target_is(const char *wanted) {
    slw_contract *contract = cub_good(wanted, data, size);
    ck_assert_str_eq(contract->target, wanted);
    slwi_contract_free(&cub_heap, &contract);
}

START_TEST(an_unknown_architecture) {
    take("k1_sm90.cubin");
    data[49] = 0xfe;
    target_is("sm_254");
    take("k1_sm90a.cubin");
    data[49] = 0xfe;
    target_is("sm_254a");
}
END_TEST

/* Pairs of ABI numbers that nobody has seen: the newest layout. */
START_TEST(an_unknown_abi) {
    static const uint8_t pairs[][2] = {{0x41, 9}, {0x52, 9}, {0x29, 8}, {0x33, 8}, {0, 0}, {0xff, 0xff}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        take("k9_sm100a.cubin");
        data[7] = pairs[i][0];
        data[8] = pairs[i][1];
        target_is("sm_100a");
    }
    /* Where the layout is another one still, it is said what is missing. */
    take("k9_sm100a.cubin");
    data[8] = 77;
    cub_put(data + 48, 4, 0x00640000);
    slw_error err;
    cub_refused("flags", data, size, SLW_E_INVALID_BINARY, "NO_TARGET", &err);
}
END_TEST

/* A value of the accelerator attribute that has no meaning yet is no 'a'; the command line in the note still is. */
START_TEST(an_unknown_variant) {
    take("k9_sm100f.cubin");
    cub_record(data, ".nv.compat", 9)[2] = 7;
    target_is("sm_100f");
    take("k9_sm100.cubin");
    cub_record(data, ".nv.compat", 9)[2] = 7;
    target_is("sm_100");
    /* Without its notes an 'f' is not to be seen; with only them an 'a' is. */
    take("k9_sm100f.cubin");
    cub_put(cub_section(data, ".note.nv.tkinfo") + 4, 4, 0x70000099);
    target_is("sm_100");
    take("k9_sm100a.cubin");
    cub_put(cub_section(data, ".nv.compat") + 4, 4, 0x70000099);
    target_is("sm_100a");
    cub_put(cub_section(data, ".note.nv.tkinfo") + 4, 4, 0x70000099);
    target_is("sm_100");
}
END_TEST

/* Notes that make no sense are no part of what is needed. */
START_TEST(a_broken_note) {
    take("k9_sm100f.cubin");
    cub_put(data + cub_get(cub_section(data, ".note.nv.tkinfo") + 24, 8), 4, 0xffffffff);
    target_is("sm_100");
    take("k9_sm100f.cubin");
    cub_put(data + cub_get(cub_section(data, ".note.nv.tkinfo") + 24, 8) + 4, 4, 0xfffffff0);
    target_is("sm_100");
}
END_TEST

START_TEST(unknown_attributes_of_every_form) {
    take("k1_sm90.cubin");
    slw_contract *plain = cub_good("plain", data, size);
    for (unsigned format = 1; format <= 4; format++) {
        for (unsigned attribute = 0xe0; attribute < 0x100; attribute += 31) {
            take("k1_sm90.cubin");
            /* A record of four bytes that nobody reads; as SVAL it holds nothing. */
            uint8_t *record = cub_record(data, ".nv.info.mixed", 0x50);
            record[0] = (uint8_t)format;
            record[1] = (uint8_t)attribute;
            if (format == 4) cub_put(record + 2, 2, 0);
            slw_contract *contract = cub_good("unknown attribute", data, size);
            slw_error err = SLW_ERROR_INIT;
            slt_ok(slwi_contract_compare(plain, contract, &err), &err);
            slwi_contract_free(&cub_heap, &contract);
        }
    }
    slwi_contract_free(&cub_heap, &plain);
}
END_TEST

START_TEST(unknown_sections) {
    take("k1_sm100.cubin");
    slw_contract *plain = cub_good("plain", data, size);
    static const char *const names[] = {".nv.callgraph", ".debug_frame", ".nv.merc.symtab", ".nv.constant0.mixed"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        uint8_t *header = cub_section(data, names[i]);
        cub_put(header + 4, 4, 0x700000f0 + i);
        cub_put(header + 40, 8, UINT64_MAX); /* link and info mean what they like */
        slw_contract *contract = cub_good(names[i], data, size);
        slw_error err = SLW_ERROR_INIT;
        slt_ok(slwi_contract_compare(plain, contract, &err), &err);
        slwi_contract_free(&cub_heap, &contract);
    }
    slwi_contract_free(&cub_heap, &plain);
}
END_TEST

/* ---- names and numbers ---- */

static char *name_of(char letter, size_t length) {
    char *name = malloc(length + 1);
    ck_assert_ptr_nonnull(name);
    memset(name, letter, length);
    name[length] = '\0';
    return name;
}

START_TEST(a_name_of_70000_characters) {
    char *name = name_of('n', 70000);
    cub_made m = made_cubin(name, 1, 3);
    slw_contract *contract = cub_good("long name", m.data, m.size);
    ck_assert_str_eq(contract->kernels[0].name, name);
    ck_assert_ptr_nonnull(slw_contract_find(contract, name));
    ck_assert_uint_eq(contract->kernels[0].registers, 10);
    ck_assert_uint_eq(contract->kernels[0].param_bytes, 8);
    slwi_contract_free(&cub_heap, &contract);
    free(m.data);
    free(name);
}
END_TEST

START_TEST(the_longest_name_and_one_longer) {
    char *name = name_of('n', SLW_LIMIT_NAME_BYTES);
    cub_made m = made_cubin(name, 1, 0);
    slw_contract *contract = cub_good("longest name", m.data, m.size);
    ck_assert_uint_eq(strlen(contract->kernels[0].name), SLW_LIMIT_NAME_BYTES);
    slwi_contract_free(&cub_heap, &contract);
    free(m.data);
    free(name);
    for (size_t more = 1; more < 200; more *= 100) {
        name = name_of('n', SLW_LIMIT_NAME_BYTES + more);
        m = made_cubin(name, 1, 0);
        slw_error err;
        cub_refused("longer name", m.data, m.size, SLW_E_LIMIT, "NAME_TOO_LONG", &err);
        ck_assert_uint_eq(err.limit, SLW_LIMIT_NAME_BYTES);
        free(m.data);
        free(name);
    }
}
END_TEST

static char *many_names(uint32_t count, size_t length) {
    char *names = malloc((size_t)count * (length + 1) + 1);
    ck_assert_ptr_nonnull(names);
    char *at = names;
    for (uint32_t i = 0; i < count; i++) {
        memset(at, 'k', length);
        char digits[16];
        int digit_count = snprintf(digits, sizeof(digits), "%08x", (unsigned)(i * 2654435761u));
        memcpy(at + length - (size_t)digit_count, digits, (size_t)digit_count);
        at[length] = '\0';
        at += length + 1;
    }
    return names;
}

/* Names may share bytes: 200 kernels whose names are the ends of one another would copy 20 MB out of 100 KB. */
START_TEST(names_that_overlap_are_bounded) {
    char *names = many_names(200, 8);
    cub_made m = made_cubin(names, 200, 0);
    uint8_t *symbols = m.data + cub_get(m.data + 40, 8) + 2 * 64;
    uint8_t *strings = m.data + cub_get(m.data + 40, 8) + 64;
    cub_made longer = {NULL, 0, 0};
    made_add(&longer, m.data, m.size);
    size_t at = made_add(&longer, NULL, 100000);
    memset(longer.data + at, 'n', 99999);
    symbols = longer.data + (symbols - m.data);
    strings = longer.data + (strings - m.data);
    cub_put(strings + 24, 8, at);
    cub_put(strings + 32, 8, 100000);
    for (uint32_t i = 0; i < 200; i++) cub_put(longer.data + cub_get(symbols + 24, 8) + 24 * (i + 1), 4, i);
    slw_error err;
    cub_refused("overlap", longer.data, longer.size, SLW_E_LIMIT, "NAMES_TOO_LONG", &err);
    ck_assert_uint_eq(err.limit, SLW_LIMIT_NAMES_BYTES);
    free(longer.data);
    free(m.data);
    free(names);
}
END_TEST

/* The same with names of sections, which every look at a section goes over. */
START_TEST(names_of_sections_that_overlap_are_bounded) {
    char *names = many_names(10000, 9);
    cub_made m = made_cubin(names, 10000, 0);
    size_t at = made_add(&m, NULL, 100000);
    memset(m.data + at, 's', 99999);
    uint8_t *headers = m.data + cub_get(m.data + 40, 8);
    cub_put(headers + 4 * 64 + 24, 8, at);
    cub_put(headers + 4 * 64 + 32, 8, 100000);
    slw_error err;
    cub_refused("overlap", m.data, m.size, SLW_E_LIMIT, "NAMES_TOO_LONG", &err);
    free(m.data);
    free(names);
}
END_TEST

START_TEST(thirty_thousand_kernels) {
    char *names = many_names(30000, 12);
    cub_made m = made_cubin(names, 30000, 0);
    slw_contract *contract = cub_good("many", m.data, m.size);
    ck_assert_uint_eq(contract->kernel_count, 30000);
    for (uint32_t i = 1; i < contract->kernel_count; i++) {
        ck_assert_int_lt(strcmp(contract->kernels[i - 1].name, contract->kernels[i].name), 0);
    }
    const slw_kernel_contract *kernel = slw_contract_find(contract, names + 13 * 12345);
    ck_assert_ptr_nonnull(kernel);
    ck_assert_uint_eq(kernel->registers, 10 + 12345 % 200);
    slwi_contract_free(&cub_heap, &contract);
    free(m.data);
    free(names);
}
END_TEST

START_TEST(too_many_parameters) {
    /* 4,097 records of one kernel: the unknown ones become parameters of sixteen bytes. */
    cub_made m = made_cubin("k", 1, 4 * 4200);
    uint8_t *info = m.data + cub_get(m.data + cub_get(m.data + 40, 8) + 6 * 64 + 24, 8) + 20;
    for (uint32_t i = 0; i < 4200; i++) {
        cub_put(info + 16 * i, 4, 0x000c1704);
        cub_put(info + 16 * i + 8, 4, i + 1);
    }
    slw_error err;
    cub_refused("parameters", m.data, m.size, SLW_E_LIMIT, "TOO_MANY_PARAMETERS", &err);
    ck_assert_uint_eq(err.limit, SLW_LIMIT_GPU_PARAMETERS);
    free(m.data);
}
END_TEST

/* ---- size ---- */

static uint64_t peak_of(const cub_made *m, slw_code *rc) {
    slt_heap heap;
    slw_contract *contract = NULL;
    slw_error err = SLW_ERROR_INIT;
    slt_heap_init(&heap);
    *rc = slwi_cubin_contract(&heap.allocator, (slw_bytes){m->data, m->size}, NULL, &contract, &err);
    slwi_contract_free(&heap.allocator, &contract);
    slt_heap_check_empty(&heap);
    return heap.peak_bytes;
}

/* Memory does not grow faster than the file, for files of many kernels and of many records; and it is bounded by a
   small multiple of the file. */
START_TEST(memory_is_in_proportion) {
    static const uint32_t shapes[2][2] = {{4000, 500}, {16000, 110}}; /* kernels, records: about 8 MiB */
    for (int i = 0; i < 2; i++) {
        uint64_t peak[2];
        size_t file[2];
        for (uint32_t twice = 0; twice < 2; twice++) {
            slw_code rc;
            char *names = many_names(shapes[i][0], 16);
            cub_made m = made_cubin(names, shapes[i][0], shapes[i][1] << twice);
            peak[twice] = peak_of(&m, &rc);
            file[twice] = m.size;
            ck_assert_int_eq(rc, SLW_OK);
            free(m.data);
            free(names);
        }
        ck_assert_uint_ge(file[1], 15u << 20);
        ck_assert_uint_le(peak[1], peak[0] + peak[0] / 10); /* records cost none */
        ck_assert_uint_le(peak[0], 4 * (uint64_t)file[0]);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cubin newer");
    TCase *tests = tcase_create("cubin");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, an_unknown_architecture);
    tcase_add_test(tests, an_unknown_abi);
    tcase_add_test(tests, an_unknown_variant);
    tcase_add_test(tests, a_broken_note);
    tcase_add_test(tests, unknown_attributes_of_every_form);
    tcase_add_test(tests, unknown_sections);
    tcase_add_test(tests, a_name_of_70000_characters);
    tcase_add_test(tests, the_longest_name_and_one_longer);
    tcase_add_test(tests, names_that_overlap_are_bounded);
    tcase_add_test(tests, names_of_sections_that_overlap_are_bounded);
    tcase_add_test(tests, thirty_thousand_kernels);
    tcase_add_test(tests, too_many_parameters);
    tcase_add_test(tests, memory_is_in_proportion);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
