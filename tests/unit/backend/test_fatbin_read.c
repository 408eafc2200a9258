/* Fatbins: every entry of every fixture against what cuobjdump says of it (fatbin/oracle.tsv), the choice by device, and
 * each fault by its name. */
#include "cubin_fixture.h"
#include "fault_alloc.h"

static uint8_t *data;
static size_t size;

static void take(const char *file) {
    free(data);
    data = cub_load("fatbin", file, &size);
}

/* ---- the oracle ---- */

static char open_file[128];
static slwi_fatbin_cursor cursor;
static unsigned files, entries;

static void at_the_end(void) {
    slwi_fatbin_entry entry;
    slw_error err = SLW_ERROR_INIT;
    if (data != NULL) {
        slw_code rc = slwi_fatbin_next((slw_bytes){data, size}, open_file, &cursor, &entry, &err);
        ck_assert_msg(rc == SLW_E_MISS, "%s: more than the oracle has: %s", open_file, err.message);
    }
}

static void check_bytes(char **row, const slwi_fatbin_entry *entry) {
    const uint8_t *bytes = entry->bytes.data;
    ck_assert_ptr_eq(bytes, data + entry->offset_bytes);
    if (entry->kind == SLW_IMAGE_LTO_IR) return;
    unsigned long image = strtoul(row[5], NULL, 10);
    /* cuobjdump unpacks a text without the NUL that is counted in the file. */
    unsigned long counted = entry->kind == SLW_IMAGE_PTX ? image + 1 : image;
    if (entry->compression == NULL) {
        ck_assert_uint_eq(entry->bytes.size, image);
        ck_assert_int_eq(memcmp(bytes, entry->kind == SLW_IMAGE_PTX ? "\n\n\n\n" : "\177ELF", 4), 0);
    } else {
        static const uint8_t zstd[4] = {0x28, 0xb5, 0x2f, 0xfd};
        ck_assert_uint_eq(entry->uncompressed_bytes, counted);
        ck_assert_int_eq(strcmp(entry->compression, "zstd") == 0, memcmp(bytes, zstd, 4) == 0);
    }
}

static void check_entry(char **row, size_t count) {
    slwi_fatbin_entry entry;
    slw_error err = SLW_ERROR_INIT;
    ck_assert_uint_eq(count, 6);
    if (strcmp(open_file, row[0]) != 0) {
        at_the_end();
        take(row[0]);
        memset(&cursor, 0, sizeof(cursor));
        (void)snprintf(open_file, sizeof(open_file), "%s", row[0]);
        files++;
        ck_assert_int_eq(slwi_fatbin_recognises((slw_bytes){data, size}), 1);
    }
    slt_ok(slwi_fatbin_next((slw_bytes){data, size}, row[0], &cursor, &entry, &err), &err);
    static const char *const kinds[] = {"unknown", "host", "cubin", "ptx", "hsaco", "lto_ir"};
    ck_assert_str_eq(kinds[entry.kind], row[1]);
    ck_assert_str_eq(entry.target, row[2]);
    ck_assert_str_eq(entry.isa_version[0] != '\0' ? entry.isa_version : "-", row[3]);
    ck_assert_msg((entry.compression != NULL) == (strcmp(row[4], "yes") == 0), "%s %s", row[0], row[2]);
    if (entry.compression != NULL) {
        ck_assert_str_eq(entry.compression, strcmp(row[0], "f_mspeed.fatbin") == 0 ? "lz4" : "zstd");
    }
    check_bytes(row, &entry);
    entries++;
}

START_TEST(every_entry_of_every_fatbin) {
    cub_table("fatbin/oracle.tsv", check_entry);
    at_the_end();
    ck_assert_uint_eq(files, 14);
    ck_assert_uint_eq(entries, 29);
}
END_TEST

/* ---- the choice ---- */

static slw_code contract_of(const char *target, slw_contract **out, slw_error *err) {
    slw_error fresh = SLW_ERROR_INIT;
    *err = fresh;
    *out = NULL;
    return slwi_fatbin_contract(&cub_heap, (slw_bytes){data, size}, "x.fatbin", target, out, err);
}

static void chosen(const char *target, const char *wanted, slw_image_kind kind) {
    slw_error err;
    slw_contract *contract;
    slw_code rc = contract_of(target, &contract, &err);
    ck_assert_msg(rc == SLW_OK, "%s: %s (%s) %s", target, slw_code_name(rc), err.reason, err.message);
    ck_assert_str_eq(contract->target, wanted);
    ck_assert_int_eq(contract->kind, kind);
    ck_assert_str_eq(contract->launch_binary, "x.fatbin");
    ck_assert_uint_ge(contract->kernel_count, 1);
    slwi_contract_free(&cub_heap, &contract);
}

static slw_error not_chosen(const char *target, slw_code code, const char *reason) {
    slw_error err;
    slw_contract *contract;
    slw_code rc = contract_of(target, &contract, &err);
    ck_assert_msg(rc == code && err.reason != NULL && strcmp(err.reason, reason) == 0, "%s: %s (%s) %s",
                  target != NULL ? target : "none", slw_code_name(rc), err.reason, err.message);
    ck_assert_ptr_null(contract);
    return err;
}

START_TEST(chosen_by_the_device) {
    take("k1.fatbin");
    chosen("sm_75", "sm_75", SLW_IMAGE_CUBIN);
    chosen("sm_80", "sm_80", SLW_IMAGE_CUBIN);
    chosen("sm_86", "sm_80", SLW_IMAGE_CUBIN);
    chosen("sm_90", "sm_90", SLW_IMAGE_CUBIN);
    slw_error err = not_chosen("sm_100", SLW_E_UNSUPPORTED_INPUT, "COMPRESSED"); /* its PTX */
    ck_assert_ptr_nonnull(strstr(err.hint, "compress-mode"));
    ck_assert_str_eq(err.subject, "sm_90");
    err = not_chosen("sm_70", SLW_E_TARGET_MISMATCH, "NO_IMAGE");
    ck_assert_str_eq(err.tried, "sm_75 cubin\nsm_80 cubin\nsm_90 cubin\nsm_90 ptx 9.0 (zstd)");
    err = not_chosen(NULL, SLW_E_UNSUPPORTED_INPUT, "AMBIGUOUS");
    ck_assert_ptr_nonnull(strstr(err.tried, "sm_80 cubin"));
    take("f_100f.fatbin");
    chosen("sm_100", "sm_100f", SLW_IMAGE_CUBIN);
    chosen("sm_103", "sm_100f", SLW_IMAGE_CUBIN);
    not_chosen("sm_90", SLW_E_TARGET_MISMATCH, "NO_IMAGE");
    take("f_100a.fatbin");
    not_chosen("sm_103", SLW_E_TARGET_MISMATCH, "NO_IMAGE");
    take("f_nc.fatbin");
    chosen("sm_80", "sm_80", SLW_IMAGE_CUBIN);
    chosen("sm_90", "sm_80", SLW_IMAGE_PTX);
    take("f_lto.fatbin");
    not_chosen("sm_80", SLW_E_TARGET_MISMATCH, "NO_IMAGE");
    not_chosen(NULL, SLW_E_UNSUPPORTED_INPUT, "NO_IMAGE");
}
END_TEST

/* With one image that can be loaded there is nothing to choose; a compressed one is refused by name. */
START_TEST(the_only_image) {
    take("f_90a.fatbin");
    uint64_t end = 16 + 64 + 10576;
    cub_put(data + 8, 8, end - 16);
    size = end;
    slw_error err;
    slw_contract *contract;
    slt_ok(contract_of(NULL, &contract, &err), &err);
    ck_assert_str_eq(contract->target, "sm_90a");
    slwi_contract_free(&cub_heap, &contract);
    take("f_G.fatbin");
    err = not_chosen(NULL, SLW_E_UNSUPPORTED_INPUT, "COMPRESSED");
    ck_assert_uint_eq(err.offset_bytes, 16 + 72);
}
END_TEST

/* Two containers behind one another, with the zeros a linker leaves between them. */
START_TEST(containers_behind_one_another) {
    static const size_t gaps[] = {0, 8, 40};
    for (size_t i = 0; i < 3; i++) {
        take("f_90a.fatbin");
        size_t other_size;
        uint8_t *other = cub_load("fatbin", "f_100f.fatbin", &other_size);
        uint8_t *both = calloc(1, size + gaps[i] + other_size + gaps[i]);
        memcpy(both, data, size);
        memcpy(both + size + gaps[i], other, other_size);
        free(data);
        data = both;
        size += gaps[i] + other_size + gaps[i];
        slwi_fatbin_cursor walk = {0, 0, 0};
        slwi_fatbin_entry entry;
        slw_error err = SLW_ERROR_INIT;
        for (int n = 0; n < 4; n++) slt_ok(slwi_fatbin_next((slw_bytes){data, size}, NULL, &walk, &entry, &err), &err);
        ck_assert_str_eq(entry.target, "sm_100f");
        ck_assert_int_eq(slwi_fatbin_next((slw_bytes){data, size}, NULL, &walk, &entry, &err), SLW_E_MISS);
        ck_assert_uint_eq(walk.count, 4);
        chosen("sm_90", "sm_90a", SLW_IMAGE_CUBIN);
        chosen("sm_100", "sm_100f", SLW_IMAGE_CUBIN);
        free(other);
    }
    /* Two images as good as each other are not chosen from. */
    take("f_90a.fatbin");
    uint8_t *twice = malloc(2 * size);
    memcpy(twice, data, size);
    memcpy(twice + size, data, size);
    free(data);
    data = twice;
    size *= 2;
    not_chosen("sm_90", SLW_E_UNSUPPORTED_INPUT, "AMBIGUOUS");
}
END_TEST

START_TEST(unknown_kinds_and_flags_pass) {
    take("f_90a.fatbin");
    cub_put(data + 16, 2, 0x77);
    slwi_fatbin_cursor walk = {0, 0, 0};
    slwi_fatbin_entry entry;
    slw_error err = SLW_ERROR_INIT;
    slt_ok(slwi_fatbin_next((slw_bytes){data, size}, NULL, &walk, &entry, &err), &err);
    ck_assert_int_eq(entry.kind, SLW_IMAGE_UNKNOWN);
    ck_assert_uint_eq(entry.raw_kind, 0x77);
    ck_assert_str_eq(entry.target, "sm_90a");
    ck_assert_uint_eq(entry.bytes.size, 10576);
    slt_ok(slwi_fatbin_next((slw_bytes){data, size}, NULL, &walk, &entry, &err), &err);
    take("f_90a.fatbin");
    cub_put(data + 16 + 40, 8, 0xf00000000f100011ull);
    chosen("sm_90", "sm_90a", SLW_IMAGE_CUBIN);
    take("f_G.fatbin");
    cub_put(data + 16 + 40, 8, 0x1011);
    memset(&walk, 0, sizeof(walk));
    slt_ok(slwi_fatbin_next((slw_bytes){data, size}, NULL, &walk, &entry, &err), &err);
    ck_assert_str_eq(entry.compression, "unknown");
    cub_put(data + 16 + 40, 8, 0x11);
    cub_put(data + 16 + 16, 4, 0);
    memset(&walk, 0, sizeof(walk));
    slt_ok(slwi_fatbin_next((slw_bytes){data, size}, NULL, &walk, &entry, &err), &err);
    ck_assert_ptr_null(entry.compression);
}
END_TEST

/* The header of an entry and the image in it are for one architecture. */
START_TEST(header_and_image_agree) {
    take("f_90a.fatbin");
    cub_put(data + 16 + 28, 4, 89);
    cub_put(data + 16 + 40, 8, 0x11);
    slw_error err = not_chosen("sm_89", SLW_E_INVALID_BINARY, "BAD_ENTRY");
    ck_assert_ptr_nonnull(strstr(err.message, "sm_90a"));
    /* What only the header says stays: here the image's notes are lost. */
    take("f_100f.fatbin");
    uint8_t *image = data + 16 + 112;
    cub_put(cub_section(image, ".note.nv.tkinfo") + 4, 4, 0x70000099);
    chosen("sm_103", "sm_100f", SLW_IMAGE_CUBIN);
    /* And what only the image says. */
    take("f_90a.fatbin");
    cub_put(data + 16 + 40, 8, 0x11);
    chosen("sm_90", "sm_90a", SLW_IMAGE_CUBIN);
}
END_TEST

/* ---- faults ---- */

static slw_error refused(const char *what, slw_code code, const char *reason) {
    slwi_fatbin_cursor walk = {0, 0, 0};
    slwi_fatbin_entry entry;
    slw_error err = SLW_ERROR_INIT;
    slw_code rc;
    while ((rc = slwi_fatbin_next((slw_bytes){data, size}, "x.fatbin", &walk, &entry, &err)) == SLW_OK) {
    }
    ck_assert_msg(rc == code && err.reason != NULL && strcmp(err.reason, reason) == 0, "%s: %s (%s) %s", what,
                  slw_code_name(rc), err.reason != NULL ? err.reason : "", err.message);
    return err;
}

START_TEST(faults) {
    take("k1.fatbin");
    data[0] = 'x';
    slw_error err = refused("magic", SLW_E_INVALID_BINARY, "NOT_FATBIN");
    ck_assert_str_eq(err.path, "x.fatbin");
    take("k1.fatbin");
    cub_put(data + 6, 2, 15);
    refused("header of the container", SLW_E_INVALID_BINARY, "BAD_HEADER");
    take("k1.fatbin");
    cub_put(data + 8, 8, UINT64_MAX);
    refused("size of the container", SLW_E_INVALID_BINARY, "TRUNCATED");
    take("k1.fatbin");
    cub_put(data + 8, 8, cub_get(data + 8, 8) + 1);
    refused("one byte too many", SLW_E_INVALID_BINARY, "TRUNCATED");
    take("k1.fatbin");
    cub_put(data + 8, 8, cub_get(data + 8, 8) - 8);
    refused("entries that do not fit", SLW_E_INVALID_BINARY, "BAD_ENTRY");
    take("k1.fatbin");
    cub_put(data + 20, 4, 63);
    err = refused("header of an entry", SLW_E_INVALID_BINARY, "BAD_ENTRY");
    ck_assert_uint_eq(err.offset_bytes, 20);
    take("k1.fatbin");
    cub_put(data + 20, 4, 0xffffffff);
    refused("header past the end", SLW_E_INVALID_BINARY, "BAD_ENTRY");
    take("k1.fatbin");
    cub_put(data + 24, 8, UINT64_MAX - 63);
    refused("payload past the end", SLW_E_INVALID_BINARY, "BAD_ENTRY");
    take("k1_c.fatbin");
    cub_put(data + 32, 4, 0xffffffff);
    refused("compressed size", SLW_E_INVALID_BINARY, "BAD_ENTRY");
    take("k1_c.fatbin");
    cub_put(data + 16 + 56, 8, 1ull << 50);
    err = refused("uncompressed size", SLW_E_LIMIT, "TOO_LARGE");
    ck_assert_uint_eq(err.limit, SLW_LIMIT_BINARY_BYTES);
    take("k1.fatbin");
    data = realloc(data, size + 8);
    memcpy(data + size, "rubbish!", 8);
    size += 8;
    refused("rubbish behind", SLW_E_INVALID_BINARY, "NOT_FATBIN");
    /* A fault in the image is told at its place in the file. */
    take("f_90a.fatbin");
    uint8_t *record = cub_record(data + 80, ".nv.info.clus", 0x37);
    uint64_t at = (uint64_t)(record - data);
    record[0] = 9;
    err = not_chosen("sm_90", SLW_E_INVALID_BINARY, "BAD_INFO");
    ck_assert_uint_eq(err.offset_bytes, at);
}
END_TEST

START_TEST(no_entries) {
    static const uint8_t empty[16] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0};
    free(data);
    size = sizeof(empty);
    data = malloc(size);
    memcpy(data, empty, size);
    slwi_fatbin_cursor walk = {0, 0, 0};
    slwi_fatbin_entry entry;
    ck_assert_int_eq(slwi_fatbin_next((slw_bytes){data, size}, NULL, &walk, &entry, NULL), SLW_E_MISS);
    not_chosen(NULL, SLW_E_UNSUPPORTED_INPUT, "NO_IMAGE");
    not_chosen("sm_90", SLW_E_TARGET_MISMATCH, "NO_IMAGE");
}
END_TEST

START_TEST(too_many_images) {
    free(data);
    size = 16 + 64 * ((size_t)SLW_LIMIT_IMAGES + 1);
    data = calloc(1, size);
    cub_put(data, 4, 0xba55ed50);
    cub_put(data + 4, 2, 1);
    cub_put(data + 6, 2, 16);
    cub_put(data + 8, 8, size - 16);
    for (size_t i = 0; i <= SLW_LIMIT_IMAGES; i++) cub_put(data + 16 + 64 * i + 4, 4, 64);
    slw_error err = refused("too many", SLW_E_LIMIT, "TOO_MANY_IMAGES");
    ck_assert_uint_eq(err.limit, SLW_LIMIT_IMAGES);
}
END_TEST

/* No prefix passes for the whole: each is refused, but for nothing. */
START_TEST(every_proper_prefix_is_refused) {
    static const char *const seeds[] = {"f_lto.fatbin", "f_msize.fatbin", "f_90a.fatbin"};
    take(seeds[_i]);
    for (size_t n = 0; n < size; n++) {
        uint8_t *prefix = malloc(n == 0 ? 1 : n);
        memcpy(prefix, data, n);
        slwi_fatbin_cursor walk = {0, 0, 0};
        slwi_fatbin_entry entry;
        slw_error err = SLW_ERROR_INIT;
        slw_code rc = slwi_fatbin_next((slw_bytes){prefix, n}, NULL, &walk, &entry, &err);
        ck_assert_msg(rc == SLW_E_INVALID_BINARY, "%s: %zu of %zu bytes: %s", seeds[_i], n, size, slw_code_name(rc));
        ck_assert_str_eq(err.reason, "TRUNCATED");
        slw_contract *contract = NULL;
        ck_assert_int_eq(slwi_fatbin_contract(&cub_heap, (slw_bytes){prefix, n}, NULL, "sm_80", &contract, NULL),
                         SLW_E_INVALID_BINARY);
        ck_assert_ptr_null(contract);
        free(prefix);
    }
}
END_TEST

START_TEST(every_allocation_may_fail) {
    slt_heap heap;
    slt_heap_init(&heap);
    take("f_100f.fatbin");
    /* Without its notes the contract is written twice, to take the header's suffix. */
    cub_put(cub_section(data + 16 + 112, ".note.nv.tkinfo") + 4, 4, 0x70000099);
    uint64_t n = 0;
    slw_code rc = SLW_E_NO_MEMORY;
    while (rc != SLW_OK) {
        slw_contract *contract = NULL;
        slw_error err = SLW_ERROR_INIT;
        slt_heap_reset(&heap);
        heap.fail_at = ++n;
        rc = slwi_fatbin_contract(&heap.allocator, (slw_bytes){data, size}, NULL, "sm_100", &contract, &err);
        ck_assert_int_eq(rc, heap.failed == 0 ? SLW_OK : SLW_E_NO_MEMORY);
        ck_assert_int_eq(contract != NULL, rc == SLW_OK);
        slwi_contract_free(&heap.allocator, &contract);
        slt_heap_check_empty(&heap);
    }
    ck_assert_uint_ge(n, 9);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("fatbin");
    TCase *tests = tcase_create("fatbin");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, every_entry_of_every_fatbin);
    tcase_add_test(tests, chosen_by_the_device);
    tcase_add_test(tests, the_only_image);
    tcase_add_test(tests, containers_behind_one_another);
    tcase_add_test(tests, unknown_kinds_and_flags_pass);
    tcase_add_test(tests, header_and_image_agree);
    tcase_add_test(tests, faults);
    tcase_add_test(tests, no_entries);
    tcase_add_test(tests, too_many_images);
    tcase_add_loop_test(tests, every_proper_prefix_is_refused, 0, 3);
    tcase_add_test(tests, every_allocation_may_fail);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
