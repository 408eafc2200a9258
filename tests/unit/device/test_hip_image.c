/* What HIP is given, and where it lies. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault_os.h"
#include "hip_driver.h"
#include "slt.h"

static slw_error err;

static void setup(void) {
    err = (slw_error)SLW_ERROR_INIT;
}

static slw_code check(const void *data, size_t size, slw_image_kind kind) {
    err = (slw_error)SLW_ERROR_INIT;
    return slwi_hip_image_check((slw_bytes){data, size}, kind, &err);
}

static void refused(const void *data, size_t size, slw_image_kind kind, slw_code code, const char *reason) {
    ck_assert_msg(check(data, size, kind) == code, "%s, not %s: %s", slw_code_name(err.code), slw_code_name(code),
                  err.message);
    ck_assert_str_eq(err.reason, reason);
}

/* ---- What an image is ------------------------------------------------------------------------------------------ */

START_TEST(code_objects_and_bundles_are_images) {
    static const char *const files[] = {"k_gfx90a.hsaco", "k_gfx942.hsaco", "k_gfx1100.hsaco",
                                        "k_v6.hsaco",     "k.bundle",       "k2.hipfb"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t size = 0;
        char *const bytes = slt_read_file(slt_path(slt_fixture("hsaco"), files[i], NULL), &size);
        ck_assert_msg(check(bytes, size, SLW_IMAGE_HSACO) == SLW_OK, "%s: %s", files[i], err.message);
        ck_assert_int_eq(check(bytes, size, SLW_IMAGE_UNKNOWN), SLW_OK);
        refused(bytes, size, SLW_IMAGE_CUBIN, SLW_E_TARGET_MISMATCH, "KIND");
        refused(bytes, size, SLW_IMAGE_PTX, SLW_E_TARGET_MISMATCH, "KIND");
        free(bytes);
    }
}
END_TEST

START_TEST(what_is_no_image_is_refused) {
    refused(NULL, 0, SLW_IMAGE_HSACO, SLW_E_INVALID_BINARY, "EMPTY");
    refused("", 0, SLW_IMAGE_HSACO, SLW_E_INVALID_BINARY, "EMPTY");
    refused("\177EL", 3, SLW_IMAGE_HSACO, SLW_E_INVALID_BINARY, "BAD_MAGIC");
    refused("\177ELF", 4, SLW_IMAGE_HSACO, SLW_E_INVALID_BINARY, "TRUNCATED");
    refused("not an image at all", 19, SLW_IMAGE_HSACO, SLW_E_INVALID_BINARY, "BAD_MAGIC");
    refused("CCOB and more", 13, SLW_IMAGE_HSACO, SLW_E_UNSUPPORTED_INPUT, "COMPRESSED_BUNDLE");
    size_t size = 0;
    char *const compressed = slt_read_file(slt_fixture("hsaco/kc.bundle"), &size);
    refused(compressed, size, SLW_IMAGE_HSACO, SLW_E_UNSUPPORTED_INPUT, "COMPRESSED_BUNDLE");
    free(compressed);
    char *const cubin = slt_read_file(slt_fixture("doubles/pair_sm90.cubin"), &size);
    refused(cubin, size, SLW_IMAGE_HSACO, SLW_E_TARGET_MISMATCH, "KIND");
    free(cubin);
}
END_TEST

static void change(const char *file, size_t at, unsigned char value, slw_code code, const char *reason) {
    size_t size = 0;
    char *const bytes = slt_read_file(slt_path(slt_fixture("hsaco"), file, NULL), &size);
    bytes[at] = (char)value;
    refused(bytes, size, SLW_IMAGE_HSACO, code, reason);
    free(bytes);
}

START_TEST(what_leads_out_of_the_bytes_is_refused) {
    change("k_gfx90a.hsaco", 4, 1, SLW_E_TARGET_MISMATCH, "KIND");         /* class */
    change("k_gfx90a.hsaco", 5, 2, SLW_E_TARGET_MISMATCH, "KIND");         /* byte order */
    change("k_gfx90a.hsaco", 7, 0, SLW_E_TARGET_MISMATCH, "KIND");         /* OS ABI */
    change("k_gfx90a.hsaco", 18, 62, SLW_E_TARGET_MISMATCH, "KIND");       /* machine */
    change("k_gfx90a.hsaco", 39, 0xff, SLW_E_INVALID_BINARY, "TRUNCATED"); /* e_phoff */
    change("k_gfx90a.hsaco", 47, 0x7f, SLW_E_INVALID_BINARY, "TRUNCATED"); /* e_shoff */
    change("k_gfx90a.hsaco", 61, 0xff, SLW_E_INVALID_BINARY, "TRUNCATED"); /* e_shnum */
    change("k.bundle", 31, 1, SLW_E_INVALID_BINARY, "TRUNCATED");          /* number of entries */
    change("k.bundle", 39, 0xff, SLW_E_INVALID_BINARY, "TRUNCATED");       /* offset of the first */
    change("k.bundle", 47, 0xff, SLW_E_INVALID_BINARY, "TRUNCATED");       /* its size */
    change("k.bundle", 55, 0xff, SLW_E_INVALID_BINARY, "TRUNCATED");       /* length of its id */
}
END_TEST

/* Each beginning lies against the end of a heap block, where a sanitizer sees the first byte too many. */
START_TEST(beginnings_are_refused) {
    static const char *const files[] = {"k_gfx90a.hsaco", "k.bundle"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t size = 0;
        char *const bytes = slt_read_file(slt_path(slt_fixture("hsaco"), files[i], NULL), &size);
        for (size_t length = 0; length < size; length += length < 512 ? 1 : 97) {
            char *const cut = malloc(length + (length == 0));
            memcpy(cut, bytes, length);
            ck_assert_msg(check(cut, length, SLW_IMAGE_HSACO) != SLW_OK, "%s: the first %zu bytes", files[i], length);
            free(cut);
        }
        free(bytes);
    }
}
END_TEST

/* ---- Where it lies --------------------------------------------------------------------------------------------- */

typedef struct mapping {
    uintptr_t from, to;
    char permissions[8];
    uint64_t inode;
    char path[256];
} mapping;

/* The line of the kernel's list that an address stands in, as HIP looks it up. */
static int find_mapping(const void *address, mapping *out) {
    FILE *const list = fopen("/proc/self/maps", "r");
    char line[512];
    int found = 0;
    ck_assert_ptr_nonnull(list);
    while (!found && fgets(line, sizeof line, list) != NULL) {
        memset(out, 0, sizeof *out);
        const int fields = sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %*s %*s %" SCNu64 " %255[^\n]", &out->from,
                                  &out->to, out->permissions, &out->inode, out->path);
        ck_assert_int_ge(fields, 4);
        found = (uintptr_t)address >= out->from && (uintptr_t)address < out->to;
    }
    fclose(list);
    return found;
}

START_TEST(copy_has_no_file_and_a_page_to_spare) {
    size_t size = 0;
    char *const bytes = slt_read_file(slt_fixture("hsaco/k_gfx90a.hsaco"), &size);
    slwi_hip_copy copy = {NULL, 0};
    mapping at;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    slt_ok(slwi_hip_copy_make((slw_bytes){bytes, size}, &copy, &err), &err);
    ck_assert_ptr_ne(copy.pages, bytes);
    ck_assert_int_eq(memcmp(copy.pages, bytes, size), 0);
    ck_assert_uint_eq((uintptr_t)copy.pages % page, 0);
    ck_assert_int_eq(find_mapping(copy.pages, &at), 1);
    ck_assert_uint_eq(at.inode, 0);
    ck_assert_str_eq(at.path, "");
    ck_assert_uint_ge(at.to, (uintptr_t)copy.pages + size + page); /* in the same line */
    ck_assert_str_eq(at.permissions, "r--p");
    memset(bytes, 0xee, size); /* the caller's bytes end with the load */
    ck_assert_int_eq(memcmp(copy.pages, "\177ELF", 4), 0);
    const void *const was = copy.pages;
    slwi_hip_copy_drop(&copy);
    ck_assert_ptr_null(copy.pages);
    if (find_mapping(was, &at)) ck_assert_uint_ne(at.from, (uintptr_t)was);
    slwi_hip_copy_drop(&copy); /* of nothing */
    free(bytes);
}
END_TEST

START_TEST(no_pages_is_no_memory) {
    slwi_hip_copy copy = {(void *)&err, 77};
    slt_fault_os_install(NULL);
    slt_fault_os_add((slt_fault){.call = SLT_MAP_ANONYMOUS, .nth = 1, .error_number = 12});
    ck_assert_int_eq(slwi_hip_copy_make((slw_bytes){"bytes", 5}, &copy, &err), SLW_E_NO_MEMORY);
    ck_assert_str_eq(err.raw_name, "ENOMEM");
    ck_assert_ptr_eq(copy.pages, &err);
    ck_assert_uint_eq(slt_fault_os_fired(), 1);
    err = (slw_error)SLW_ERROR_INIT;
    slt_fault_os_clear();
    slt_fault_os_add((slt_fault){.call = SLT_MAP_PROTECT_READ, .nth = 1, .error_number = 13});
    slt_ok(slwi_hip_copy_make((slw_bytes){"bytes", 5}, &copy, &err), &err); /* only a precaution */
    ck_assert_uint_eq(slt_fault_os_fired(), 1);
    slwi_hip_copy_drop(&copy);
    slt_fault_os_remove();
    ck_assert_int_eq(slwi_hip_copy_make((slw_bytes){"bytes", SIZE_MAX - 100}, &copy, &err), SLW_E_NO_MEMORY);
}
END_TEST

int main(void) {
    Suite *const suite = suite_create("hip image");
    TCase *const tcase = tcase_create("image");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, code_objects_and_bundles_are_images);
    tcase_add_test(tcase, what_is_no_image_is_refused);
    tcase_add_test(tcase, what_leads_out_of_the_bytes_is_refused);
    tcase_add_test(tcase, beginnings_are_refused);
    tcase_add_test(tcase, copy_has_no_file_and_a_page_to_spare);
    tcase_add_test(tcase, no_pages_is_no_memory);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
