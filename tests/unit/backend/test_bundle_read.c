/* Offload bundles: every entry of the fixtures as clang-offload-bundler unpacks it (fixtures/hsaco/bundle.tsv), the
 * choice of an image, and one thing wrong at a time. */
#include "hip_backend.h"
#include "hip_image.h"
#include "sha256.h"

/* ---- against clang-offload-bundler ---- */

static void hex_of(slw_bytes bytes, char out[65]) {
    slw_digest digest;
    slwi_sha256_once(bytes, &digest);
    for (size_t i = 0; i < 32; i++) snprintf(out + 2 * i, 3, "%02x", digest.bytes[i]);
}

static int is_text(slw_bytes bytes, const char *text) {
    return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

static void bundle_row(char **f, size_t count) {
    ck_assert_uint_eq(count, 4);
    slw_bytes file = hip_file(f[0]);
    slw_error err = SLW_ERROR_INIT;
    slwi_bundle bundle;
    slwi_bundle_cursor cursor = {0, 0};
    slwi_bundle_entry entry;
    uint32_t found = 0;
    slt_ok(slwi_bundle_open(file, f[0], &bundle, &err), &err);
    ck_assert_uint_eq(bundle.count, 3);
    while (slwi_bundle_next(&bundle, &cursor, &entry)) {
        if (!is_text(entry.id, f[1])) continue;
        char hex[65];
        found++;
        ck_assert_uint_eq(entry.bytes.size, hip_number(f[2]));
        hex_of(entry.bytes, hex);
        ck_assert_str_eq(hex, f[3]);
        ck_assert_ptr_eq(entry.bytes.data, (const char *)file.data + entry.offset_bytes);
        const char *target = strstr(f[1], "--gfx");
        ck_assert_str_eq(entry.target, target == NULL ? "" : target + 2);
        ck_assert(is_text(entry.offload_kind, target == NULL ? "host" : "hipv4"));
        if (target != NULL) ck_assert(is_text(entry.triple, "amdgcn-amd-amdhsa-"));
    }
    ck_assert_uint_eq(found, 1);
    hip_free(file);
}

START_TEST(as_the_bundler_says) {
    hip_table("hsaco/bundle.tsv", bundle_row);
}
END_TEST

/* ---- choosing ---- */

typedef struct choice_case {
    const char *file, *device;
    const char *target; /* of what is chosen; NULL: refused */
    const char *same;   /* the object it is, where there is one */
    slw_code code;
    const char *reason;
} choice_case;

static const choice_case choices[] = {
    {"k.bundle", "gfx1100", "gfx1100", "k_gfx1100.hsaco", SLW_OK, NULL},
    {"k.bundle", "gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-", "k_gfx90a_srameccp_xnackm.hsaco", SLW_OK, NULL},
    {"k.bundle", "gfx90a:sramecc+:xnack+", NULL, NULL, SLW_E_TARGET_MISMATCH, "NO_IMAGE"},
    {"k.bundle", "gfx942", NULL, NULL, SLW_E_TARGET_MISMATCH, "NO_IMAGE"},
    {"k.bundle", "sm_90", NULL, NULL, SLW_E_TARGET_MISMATCH, "NO_IMAGE"},
    {"k.bundle", NULL, NULL, NULL, SLW_E_UNSUPPORTED_INPUT, "AMBIGUOUS"},
    {"k2.hipfb", "gfx1030", "gfx1030", "k_gfx1030.hsaco", SLW_OK, NULL},
    {"k2.hipfb", "gfx90a:sramecc-:xnack+", "gfx90a", NULL, SLW_OK, NULL},
    {"kc.bundle", "gfx1100", NULL, NULL, SLW_E_UNSUPPORTED_INPUT, "COMPRESSED_BUNDLE"},
};

START_TEST(the_device_chooses) {
    const choice_case *c = &choices[_i];
    slw_bytes file = hip_file(c->file);
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    slw_code rc = slwi_bundle_contract(&hip_heap, file, c->file, c->device, &contract, &err);
    if (c->target == NULL) {
        hip_check_error(c->file, rc, &err, c->code, c->reason, NULL);
        ck_assert_ptr_null(contract);
        if (strcmp(c->reason, "AMBIGUOUS") == 0) ck_assert_str_eq(err.tried, "gfx90a:sramecc+:xnack-\ngfx1100");
        if (strcmp(c->reason, "NO_IMAGE") == 0) ck_assert_str_eq(err.subject, c->device);
    } else {
        ck_assert_msg(rc == SLW_OK, "%s: %s", c->file, err.message);
        ck_assert_str_eq(contract->target, c->target);
        ck_assert_str_eq(contract->launch_binary, c->file);
        ck_assert_uint_eq(contract->kernel_count, 8);
    }
    if (c->same != NULL) {
        slw_bytes object = hip_file(c->same);
        slw_contract *alone = hip_good(c->file, object);
        slt_ok(slwi_contract_compare(alone, contract, &err), &err);
        slwi_contract_free(&hip_heap, &alone);
        hip_free(object);
    }
    slwi_contract_free(&hip_heap, &contract);
    hip_free(file);
}
END_TEST

/* ---- bundles by hand ---- */

typedef struct entry_spec {
    const char *id;
    const char *file; /* NULL: no bytes */
} entry_spec;

static hip_bytes make_bundle(const entry_spec *entries, size_t count) {
    hip_bytes b = {NULL, 0, 0};
    hip_bytes images = {NULL, 0, 0};
    size_t at = 32;
    for (size_t i = 0; i < count; i++) at += 24 + strlen(entries[i].id);
    hip_put(&b, "__CLANG_OFFLOAD_BUNDLE__", 24);
    hip_put_little(&b, count, 8);
    for (size_t i = 0; i < count; i++) {
        size_t start = images.size;
        if (entries[i].file != NULL) {
            slw_bytes file = hip_file(entries[i].file);
            hip_put(&images, file.data, file.size);
            hip_free(file);
        }
        hip_put_little(&b, at + start, 8);
        hip_put_little(&b, images.size - start, 8);
        hip_put_little(&b, strlen(entries[i].id), 8);
        hip_put(&b, entries[i].id, strlen(entries[i].id));
    }
    if (images.size != 0) hip_put(&b, images.data, images.size);
    free(images.data);
    return b;
}

static slw_error contract_refused(const char *what, const hip_bytes *b, const char *device, slw_code code,
                                  const char *reason, const char *subject) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    slw_code rc = slwi_bundle_contract(&hip_heap, (slw_bytes){b->data, b->size}, "k", device, &contract, &err);
    hip_check_error(what, rc, &err, code, reason, subject);
    ck_assert_ptr_null(contract);
    return err;
}

#define HIP_ID "hipv4-amdgcn-amd-amdhsa--"

START_TEST(one_image_needs_no_device) {
    static const entry_spec entries[] = {{"host-x86_64-unknown-linux--", NULL},
                                         {"hip-amdgcn-amd-amdhsa-gfx90a", "cl.hsaco"}};
    hip_bytes b = make_bundle(entries, 2);
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    slt_ok(slwi_bundle_contract(&hip_heap, (slw_bytes){b.data, b.size}, NULL, NULL, &contract, &err), &err);
    ck_assert_str_eq(contract->target, "gfx90a");
    ck_assert_str_eq(contract->launch_binary, "kernel.hsaco");
    slwi_contract_free(&hip_heap, &contract);
    free(b.data);
}
END_TEST

/* Code for exactly the device's modes goes before code for any; entries of one target are a question. */
START_TEST(the_better_image_and_ties) {
    static const entry_spec better[] = {{HIP_ID "gfx90a", "k_gfx90a.hsaco"},
                                        {HIP_ID "gfx90a:sramecc+:xnack-", "k_gfx90a_srameccp_xnackm.hsaco"},
                                        {HIP_ID "gfx90a:xnack+", "k_gfx90a_xnackp.hsaco"}};
    static const entry_spec ties[] = {{HIP_ID "gfx90a", "k_gfx90a.hsaco"},
                                      {"hip-amdgcn-amd-amdhsa--gfx90a", "cl.hsaco"}};
    hip_bytes b = make_bundle(better, 3);
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    slt_ok(slwi_bundle_contract(&hip_heap, (slw_bytes){b.data, b.size}, "k", "gfx90a:xnack-:sramecc+", &contract, &err),
           &err);
    ck_assert_str_eq(contract->target, "gfx90a:sramecc+:xnack-");
    slwi_contract_free(&hip_heap, &contract);
    free(b.data);
    b = make_bundle(ties, 2);
    err = contract_refused("ties", &b, "gfx90a:sramecc+:xnack-", SLW_E_UNSUPPORTED_INPUT, "AMBIGUOUS", "gfx90a");
    ck_assert_str_eq(err.tried, "gfx90a\ngfx90a");
    free(b.data);
}
END_TEST

START_TEST(images_that_are_not_what_the_index_says) {
    static const entry_spec other[] = {{HIP_ID "gfx90a:xnack+", "k_gfx90a.hsaco"}};
    static const entry_spec host[] = {{"host-x86_64-unknown-linux--", NULL}};
    static const entry_spec source[] = {{HIP_ID "gfx90a", "k.hip"}};
    static const entry_spec old[] = {{HIP_ID "gfx908", "ext_v3.hsaco"}};
    hip_bytes b = make_bundle(other, 1);
    contract_refused("other", &b, NULL, SLW_E_CONTRACT_MISMATCH, "TARGET", "target");
    free(b.data);
    b = make_bundle(host, 1);
    contract_refused("host", &b, NULL, SLW_E_INVALID_BINARY, "NO_ENTRY", NULL);
    free(b.data);
    b = make_bundle(source, 1);
    contract_refused("source", &b, NULL, SLW_E_INVALID_BINARY, "NOT_ELF", NULL);
    free(b.data);
    b = make_bundle(old, 1);
    slw_error err = contract_refused("old", &b, NULL, SLW_E_UNSUPPORTED_INPUT, "CODE_OBJECT_VERSION", NULL);
    ck_assert_uint_eq(err.offset_bytes, 32 + 24 + strlen(old[0].id) + 8); /* of the file, not of the image */
    size_t image = 32 + 24 + strlen(old[0].id);
    hip_set(&b, image, 0xdec04342u, 4);
    contract_refused("bitcode", &b, NULL, SLW_E_UNSUPPORTED_INPUT, "BITCODE", NULL);
    free(b.data);
}
END_TEST

/* Kinds and targets of tomorrow, and of yesterday, are listed and not chosen. */
START_TEST(unknown_entries_pass) {
    static const entry_spec entries[] = {{"odd", NULL},
                                         {"hip-spirv64-amd-amdhsa--amdgcnspirv", "k.hip"},
                                         {"openmp-amdgcn-amd-amdhsa--gfx1499:dance+", "k.hip"},
                                         {HIP_ID "gfx90a:xnack+:sramecc-", "k.hip"},
                                         {"hcc-amdgcn--amdhsa-gfx803", "k.hip"},
                                         {HIP_ID "gfx1100", "k_gfx1100.hsaco"}};
    static const char *const targets[] = {"",       "amdgcnspirv", "gfx1499:dance+", "gfx90a:sramecc-:xnack+",
                                          "gfx803", "gfx1100"};
    hip_bytes b = make_bundle(entries, 6);
    slw_bytes bytes = {b.data, b.size};
    slw_error err = SLW_ERROR_INIT;
    slwi_bundle bundle;
    slwi_bundle_cursor cursor = {0, 0};
    slwi_bundle_entry entry;
    slt_ok(slwi_bundle_open(bytes, "k", &bundle, &err), &err);
    for (size_t i = 0; i < 6; i++) {
        ck_assert(slwi_bundle_next(&bundle, &cursor, &entry));
        ck_assert_str_eq(entry.target, targets[i]);
    }
    ck_assert(!slwi_bundle_next(&bundle, &cursor, &entry));
    slw_contract *contract = NULL;
    slt_ok(slwi_bundle_contract(&hip_heap, bytes, "k", "gfx1100", &contract, &err), &err);
    slwi_contract_free(&hip_heap, &contract);
    free(b.data);
}
END_TEST

/* ---- one thing wrong ---- */

typedef struct patch {
    const char *what;
    size_t at;
    uint64_t value;
    size_t width;
    slw_code code;
    const char *reason;
} patch;

/* The first entry's head is at 32; its id of 31 bytes at 56; the second's head at 87. */
static const patch patches[] = {
    {"magic", 3, 'X', 1, SLW_E_INVALID_BINARY, "BAD_BUNDLE"},
    {"no entries", 24, 0, 8, SLW_E_INVALID_BINARY, "NO_ENTRY"},
    {"too many", 24, SLW_LIMIT_IMAGES + 1, 8, SLW_E_LIMIT, "TOO_MANY_IMAGES"},
    {"more than there are", 24, SLW_LIMIT_IMAGES, 8, SLW_E_LIMIT, "NAME_TOO_LONG"},
    {"offset", 32, UINT64_MAX, 8, SLW_E_INVALID_BINARY, "TRUNCATED"},
    {"size", 40, UINT64_MAX, 8, SLW_E_INVALID_BINARY, "TRUNCATED"},
    {"id", 48, SLW_LIMIT_IMAGE_NAME_BYTES + 1, 8, SLW_E_LIMIT, "NAME_TOO_LONG"},
    {"id of nothing", 48, 0, 8, SLW_E_INVALID_BINARY, "BAD_BUNDLE"},
    {"id with a NUL", 56, 0, 1, SLW_E_INVALID_BINARY, "BAD_BUNDLE"},
    {"id with a blank", 60, ' ', 1, SLW_E_INVALID_BINARY, "BAD_BUNDLE"},
    {"the same id", 87 + 24 + 30, 'a', 1, SLW_E_INVALID_BINARY, "DUPLICATE"},
};

START_TEST(one_thing_wrong) {
    static const entry_spec entries[] = {{HIP_ID "gfx90a", "cl.hsaco"}, {HIP_ID "gfx908", "ext_v4.hsaco"}};
    hip_bytes b = make_bundle(entries, 2);
    const patch *p = &patches[_i];
    slw_error err = SLW_ERROR_INIT;
    slwi_bundle bundle;
    slwi_bundle mark;
    memset(&bundle, 0xa5, sizeof(bundle));
    memcpy(&mark, &bundle, sizeof(bundle));
    hip_set(&b, p->at, p->value, p->width);
    slw_code rc = slwi_bundle_open((slw_bytes){b.data, b.size}, "k", &bundle, &err);
    hip_check_error(p->what, rc, &err, p->code, p->reason, NULL);
    ck_assert_mem_eq(&bundle, &mark, sizeof(bundle));
    ck_assert_str_eq(err.path, "k");
    if (p->code == SLW_E_INVALID_BINARY) ck_assert(err.present & SLW_ERROR_HAS_OFFSET);
    free(b.data);
}
END_TEST

START_TEST(a_target_too_long) {
    char id[128] = HIP_ID "gfx9";
    memset(id + strlen(id), '0', 64);
    const entry_spec entries[] = {{id, NULL}};
    hip_bytes b = make_bundle(entries, 1);
    contract_refused("long", &b, NULL, SLW_E_INVALID_BINARY, "BAD_BUNDLE", id);
    free(b.data);
}
END_TEST

/* ---- compressed ---- */

START_TEST(compressed_ones_are_refused_by_name) {
    static const struct {
        uint16_t version, method;
        const char *word, *subject;
    } table[] = {{1, 0, "version 1, method 0: zlib", "zlib"},
                 {2, 0, "version 2, method 0: zlib", "zlib"},
                 {2, 1, "version 2, method 1: zstd", "zstd"},
                 {3, 1, "version 3, method 1: zstd", "zstd"},
                 {9, 7, "version 9, method 7: an unknown method", "an unknown method"}};
    for (size_t i = 0; i < 5; i++) {
        hip_bytes b = {NULL, 0, 0};
        hip_put(&b, "CCOB", 4);
        hip_put_little(&b, table[i].version, 2);
        hip_put_little(&b, table[i].method, 2);
        slw_error err =
            contract_refused(table[i].word, &b, NULL, SLW_E_UNSUPPORTED_INPUT, "COMPRESSED_BUNDLE", table[i].subject);
        ck_assert_ptr_nonnull(strstr(err.message, table[i].word));
        ck_assert_ptr_nonnull(strstr(err.hint, "clang-offload-bundler"));
        b.size = 7;
        contract_refused("cut", &b, NULL, SLW_E_INVALID_BINARY, "TRUNCATED", NULL);
        free(b.data);
    }
    slw_bytes file = hip_file("kc.bundle");
    ck_assert(slwi_bundle_recognises(file));
    ck_assert(slwi_bundle_recognises_compressed(file));
    hip_free(file);
}
END_TEST

/* ---- the backend ---- */

START_TEST(the_backend_reads) {
    const slw_backend_vtable *hip = &slwi_hip_backend;
    static const char *const mine[] = {"cl.hsaco", "ext_v3.hsaco", "ext_v5.o", "k.bundle", "kc.bundle"};
    slw_error err = SLW_ERROR_INIT;
    for (size_t i = 0; i < 5; i++) {
        slw_bytes file = hip_file(mine[i]);
        ck_assert(hip->recognises(file));
        hip_free(file);
    }
    slw_bytes source = hip_file("k.hip");
    ck_assert(!hip->recognises(source));
    ck_assert(!hip->recognises((slw_bytes){"", 0}));
    hip_free(source);
    slw_bytes file = hip_file("k.bundle");
    slw_contract *contract = NULL;
    slt_ok(hip->read_contract(&hip_heap, file, "k", "gfx1100", &contract, &err), &err);
    ck_assert_str_eq(contract->backend, hip->name);
    hip->release_contract(&hip_heap, &contract);
    hip_free(file);
    ck_assert(hip->supports_target("gfx942:xnack-:sramecc+"));
    ck_assert(hip->supports_target("gfx11-generic"));
    ck_assert(!hip->supports_target("sm_90"));
    ck_assert(!hip->supports_target("native"));
    hip->job_close(NULL);
    hip->toolchain_close(NULL);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("bundle");
    TCase *tc = tcase_create("bundle");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, as_the_bundler_says);
    tcase_add_loop_test(tc, the_device_chooses, 0, (int)(sizeof(choices) / sizeof(choices[0])));
    tcase_add_test(tc, one_image_needs_no_device);
    tcase_add_test(tc, the_better_image_and_ties);
    tcase_add_test(tc, images_that_are_not_what_the_index_says);
    tcase_add_test(tc, unknown_entries_pass);
    tcase_add_loop_test(tc, one_thing_wrong, 0, (int)(sizeof(patches) / sizeof(patches[0])));
    tcase_add_test(tc, a_target_too_long);
    tcase_add_test(tc, compressed_ones_are_refused_by_name);
    tcase_add_test(tc, the_backend_reads);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
