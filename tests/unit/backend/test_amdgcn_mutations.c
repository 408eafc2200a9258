/* Damaged code objects and bundles: every proper prefix is refused, every allocation may fail, and mutations are
 * answered inside the bytes; run it under the sanitizers. SLW_HIP_MUTATIONS raises the number. */
#include "hip_image.h"

/* A copy that ends where its memory ends. */
static slw_bytes exact(slw_bytes bytes, size_t size) {
    void *copy = malloc(size == 0 ? 1 : size);
    ck_assert_ptr_nonnull(copy);
    if (size != 0) memcpy(copy, bytes.data, size);
    return (slw_bytes){copy, size};
}

static slw_code read_any(const slw_allocator *allocator, slw_bytes bytes, const char *target, slw_contract **out,
                         slw_error *err) {
    if (slwi_bundle_recognises(bytes)) return slwi_bundle_contract(allocator, bytes, "k", target, out, err);
    return slwi_amdgcn_contract(allocator, bytes, "k", out, err);
}

/* ---- prefixes ---- */

static const char *const cut_objects[] = {"cl.hsaco", "imp.hsaco", "k_gfx942.hsaco", "ext_v4.hsaco"};

START_TEST(every_prefix_of_an_object_is_refused) {
    slw_bytes file = hip_file(cut_objects[_i]);
    for (size_t size = 0; size < file.size; size++) {
        slw_bytes cut = exact(file, size);
        slw_error err = SLW_ERROR_INIT;
        slw_contract *contract = NULL;
        slw_code rc = slwi_amdgcn_contract(&hip_heap, cut, "k", &contract, &err);
        ck_assert_msg(rc == SLW_E_INVALID_BINARY, "%zu of %zu: %s", size, file.size, slw_code_name(rc));
        ck_assert_ptr_null(contract);
        ck_assert_uint_le(err.offset_bytes, file.size);
        hip_free(cut);
    }
    hip_free(file);
}
END_TEST

/* A bundle of two small objects, as clang-offload-bundler lays them out. */
static slw_bytes small_bundle(void) {
    static const char *const ids[] = {"host-x86_64-unknown-linux--", "hipv4-amdgcn-amd-amdhsa--gfx90a",
                                      "hip-amdgcn-amd-amdhsa-gfx908"};
    static const char *const files[] = {NULL, "cl.hsaco", "ext_v4.hsaco"};
    hip_bytes b = {NULL, 0, 0};
    hip_put(&b, "__CLANG_OFFLOAD_BUNDLE__", 24);
    hip_put_little(&b, 3, 8);
    size_t at = 512;
    for (size_t i = 0; i < 3; i++) {
        slw_bytes file = {"", 0};
        if (files[i] != NULL) file = hip_file(files[i]);
        hip_put_little(&b, at, 8);
        hip_put_little(&b, file.size, 8);
        hip_put_little(&b, strlen(ids[i]), 8);
        hip_put(&b, ids[i], strlen(ids[i]));
        at += file.size;
        if (files[i] != NULL) hip_free(file);
    }
    hip_align(&b, 512);
    for (size_t i = 1; i < 3; i++) {
        slw_bytes file = hip_file(files[i]);
        hip_put(&b, file.data, file.size);
        hip_free(file);
    }
    return (slw_bytes){b.data, b.size};
}

static slw_bytes bundle_number(int index) {
    if (index == 0) return small_bundle();
    return hip_file(index == 1 ? "k.bundle" : "k2.hipfb");
}

START_TEST(every_prefix_of_a_bundle_is_refused) {
    slw_bytes file = bundle_number(_i);
    slwi_bundle bundle;
    slw_error whole = SLW_ERROR_INIT;
    slt_ok(slwi_bundle_open(file, "k", &bundle, &whole), &whole);
    for (size_t size = 0; size < file.size; size++) {
        slw_bytes cut = exact(file, size);
        slw_error err = SLW_ERROR_INIT;
        slw_code rc = slwi_bundle_open(cut, "k", &bundle, &err);
        ck_assert_msg(rc == SLW_E_INVALID_BINARY, "%zu of %zu: %s", size, file.size, slw_code_name(rc));
        ck_assert_msg(size == 0 || strcmp(err.reason, "TRUNCATED") == 0, "%zu: %s", size, err.reason);
        hip_free(cut);
    }
    hip_free(file);
}
END_TEST

/* ---- allocations ---- */

static void each_allocation_fails(const char *what, slw_bytes file, const char *target) {
    slt_heap heap;
    slt_heap_init(&heap);
    for (uint64_t n = 1;; n++) {
        slw_error err = SLW_ERROR_INIT;
        slw_contract *contract = NULL;
        slt_heap_reset(&heap);
        heap.fail_at = n;
        slw_code rc = read_any(&heap.allocator, file, target, &contract, &err);
        if (heap.failed == 0) {
            ck_assert_msg(rc == SLW_OK, "%s: %s", what, err.message);
            ck_assert_uint_gt(n, 5);
            slwi_contract_free(&heap.allocator, &contract);
            slt_heap_check_empty(&heap);
            return;
        }
        ck_assert_msg(rc == SLW_E_NO_MEMORY, "%s, allocation %llu: %s", what, (unsigned long long)n, slw_code_name(rc));
        ck_assert_int_eq(err.code, SLW_E_NO_MEMORY);
        ck_assert_ptr_null(contract);
        slt_heap_check_empty(&heap);
    }
}

START_TEST(allocations_may_fail) {
    slw_bytes file = hip_file("k_gfx942.hsaco");
    each_allocation_fails("k_gfx942", file, NULL);
    hip_free(file);
    file = hip_file("ext_v5.hsaco");
    each_allocation_fails("ext_v5", file, NULL);
    hip_free(file);
    file = small_bundle();
    each_allocation_fails("bundle", file, "gfx908:sramecc+:xnack-");
    hip_free(file);
}
END_TEST

/* ---- mutations ---- */

static uint64_t state = 0x9e3779b97f4a7c15ull;

static size_t pick(size_t below) {
    return (size_t)(hip_random(&state) % below);
}

/* Where damage tells: heads, the note, symbols; code is not read. */
static size_t place(size_t size) {
    switch (pick(4)) {
    case 0:
        return pick(size < 64 ? size : 64);
    case 1:
        return pick(size < 4096 ? size : 4096);
    case 2:
        return size - 1 - pick(size < 1024 ? size : 1024);
    default:
        return pick(size);
    }
}

static void mutate(uint8_t *bytes, size_t *size) {
    static const uint8_t heads[] = {0x00, 0x01, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0xa0, 0xa5, 0xbf, 0xc0,
                                    0xc1, 0xc2, 0xc4, 0xc7, 0xca, 0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xd3,
                                    0xd4, 0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xe0, 0xff};
    size_t steps = 1 + pick(4);
    for (size_t i = 0; i < steps; i++) {
        size_t at = place(*size);
        size_t other = place(*size);
        size_t run = 1 + pick(16);
        if (run > *size - at) run = *size - at;
        if (run > *size - other) run = *size - other;
        switch (pick(6)) {
        case 0:
            bytes[at] ^= (uint8_t)(1u << pick(8));
            break;
        case 1:
            bytes[at] = heads[pick(sizeof(heads))];
            break;
        case 2:
            memmove(bytes + at, bytes + other, run);
            break;
        case 3:
            memset(bytes + at, pick(2) == 0 ? 0 : 0xff, run);
            break;
        case 4:
            bytes[at] = (uint8_t)(bytes[at] + (pick(2) == 0 ? 1 : -1));
            break;
        default:
            if (pick(8) == 0 && *size > 2) *size = 1 + pick(*size - 1);
            break;
        }
    }
}

static const char *const seeds[] = {"cl.hsaco",   "imp.hsaco",    "k_gfx90a_srameccp_xnackm.hsaco",
                                    "k_v4.hsaco", "ext_v4.hsaco", "ext_v5.hsaco",
                                    "k.bundle",   "kc.bundle",    NULL};
#define SEEDS (sizeof(seeds) / sizeof(seeds[0]))

static void check_contract(const slw_contract *contract) {
    ck_assert_uint_gt(contract->kernel_count, 0);
    for (uint32_t i = 0; i < contract->kernel_count; i++) {
        const slw_kernel_contract *kernel = &contract->kernels[i];
        ck_assert(i == 0 || strcmp(contract->kernels[i - 1].name, kernel->name) < 0);
        for (uint32_t p = 0; p < kernel->param_count; p++) {
            uint64_t end = (uint64_t)kernel->params[p].offset_bytes + kernel->params[p].size_bytes;
            ck_assert_uint_le(end, kernel->param_bytes);
        }
    }
}

START_TEST(mutations_are_answered) {
    slw_bytes files[SEEDS];
    const char *asked = getenv("SLW_HIP_MUTATIONS");
    size_t total = asked != NULL ? strtoul(asked, NULL, 10) : 20000;
    size_t accepted = 0;
    for (size_t i = 0; i < SEEDS; i++) files[i] = seeds[i] == NULL ? small_bundle() : hip_file(seeds[i]);
    for (size_t n = 0; n < total; n++) {
        slw_bytes from = files[n % SEEDS];
        slw_error err = SLW_ERROR_INIT;
        slw_contract *contract = NULL;
        uint8_t *bytes = malloc(from.size);
        size_t size = from.size;
        ck_assert_ptr_nonnull(bytes);
        memcpy(bytes, from.data, size);
        mutate(bytes, &size);
        slw_bytes mutant = exact((slw_bytes){bytes, size}, size);
        free(bytes);
        slw_code rc = read_any(&hip_heap, mutant, "gfx90a:sramecc+:xnack-", &contract, &err);
        hip_free(mutant); /* a contract holds nothing of it */
        if (rc == SLW_OK) {
            accepted++;
            check_contract(contract);
            slwi_contract_free(&hip_heap, &contract);
        } else {
            ck_assert_ptr_null(contract);
            ck_assert_ptr_nonnull(err.reason);
        }
    }
    /* Both happen, or this proves nothing. */
    ck_assert_uint_gt(accepted, total / 100);
    ck_assert_uint_lt(accepted, total);
    for (size_t i = 0; i < SEEDS; i++) hip_free(files[i]);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("amdgcn mutations");
    TCase *tc = tcase_create("mutations");
    tcase_set_timeout(tc, 1800);
    tcase_add_loop_test(tc, every_prefix_of_an_object_is_refused, 0,
                        (int)(sizeof(cut_objects) / sizeof(cut_objects[0])));
    tcase_add_loop_test(tc, every_prefix_of_a_bundle_is_refused, 0, 3);
    tcase_add_test(tc, allocations_may_fail);
    tcase_add_test(tc, mutations_are_answered);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
