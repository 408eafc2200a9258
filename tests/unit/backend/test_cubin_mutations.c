/* 20,000 damaged cubins and fatbins: each reader answers, inside its bytes, with a code of its own; run it under the
 * sanitizers. SLW_CUBIN_MUTATIONS raises the number. */
#include "cubin_fixture.h"

static const char *const seeds[] = {
    "cubin/rq_90.cubin",          "cubin/wg_sm90a.cubin",         "cubin/clus_90a_12.4.cubin",
    "cubin/mini_107f_13.5.cubin", "cubin/spaces_80_13.5.cubin",   "cubin/needs_90_13.0.cubin",
    "cubin/bac_100f_13.0.cubin",  "cubin/linked_100f_13.5.cubin", "fatbin/f_90a.fatbin",
    "fatbin/f_100f.fatbin",       "fatbin/f_lto.fatbin",
};
#define SEEDS (sizeof(seeds) / sizeof(seeds[0]))

static uint64_t state = 0x9e3779b97f4a7c15ull;

static uint32_t pick(size_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 16) % below);
}

static void damage(uint8_t *data, size_t *size) {
    static const uint64_t values[] = {0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0xffffffff, UINT64_MAX, 64, 24};
    size_t at = pick(*size);
    unsigned width = 1u << pick(4);
    /* Half of the damage falls on headers: of the file, of sections or of entries. */
    if (pick(2) == 0 && *size > 4096) at = pick(2) == 0 ? pick(192) : *size - 1 - pick(3000);
    if (width > *size - at) width = 1;
    switch (pick(5)) {
    case 0:
        data[at] ^= (uint8_t)(1u << pick(8));
        break;
    case 1:
        cub_put(data + at, width, values[pick(sizeof(values) / sizeof(values[0]))]);
        break;
    case 2:
        cub_put(data + at, width, cub_get(data + at, width) + pick(9) - 4);
        break;
    case 3:
        memmove(data + at, data + pick(*size - width + 1), width);
        break;
    default:
        if (pick(8) == 0) *size = 1 + pick(*size);
        break;
    }
}

static void judge(const uint8_t *data, size_t size, unsigned *accepted) {
    slw_contract *contract = NULL;
    slw_error err = SLW_ERROR_INIT;
    slw_bytes bytes = {data, size};
    static const char *const targets[] = {"sm_90a", "sm_100", "sm_80", NULL};
    slw_code rc = slwi_fatbin_recognises(bytes)
                      ? slwi_fatbin_contract(&cub_heap, bytes, NULL, targets[pick(4)], &contract, &err)
                      : slwi_cubin_contract(&cub_heap, bytes, NULL, &contract, &err);
    if (rc == SLW_OK) {
        *accepted += 1;
        ck_assert_uint_ge(contract->kernel_count, 1);
        for (uint32_t i = 0; i < contract->kernel_count; i++) {
            const slw_kernel_contract *kernel = &contract->kernels[i];
            ck_assert_uint_le(kernel->param_bytes, SLW_LIMIT_PARAM_BYTES);
            for (uint32_t p = 0; p < kernel->param_count; p++) {
                ck_assert_uint_le((uint64_t)kernel->params[p].offset_bytes + kernel->params[p].size_bytes,
                                  kernel->param_bytes);
            }
        }
    } else {
        ck_assert_ptr_null(contract);
        ck_assert_msg(rc == SLW_E_INVALID_BINARY || rc == SLW_E_UNSUPPORTED_INPUT || rc == SLW_E_LIMIT ||
                          rc == SLW_E_TARGET_MISMATCH || rc == SLW_E_INVALID_PTX,
                      "%s", slw_code_name(rc));
        ck_assert_ptr_nonnull(err.reason);
        if (err.present & SLW_ERROR_HAS_OFFSET && rc == SLW_E_INVALID_BINARY && strcmp(err.reason, "TRUNCATED") != 0) {
            ck_assert_msg(err.offset_bytes <= size, "%s at %llu of %zu", err.message,
                          (unsigned long long)err.offset_bytes, size);
        }
    }
    slwi_contract_free(&cub_heap, &contract);
}

START_TEST(damaged) {
    const char *wanted = getenv("SLW_CUBIN_MUTATIONS");
    unsigned long count = wanted != NULL ? strtoul(wanted, NULL, 10) : 20000;
    unsigned accepted = 0;
    uint8_t *whole[SEEDS];
    size_t sizes[SEEDS];
    for (size_t i = 0; i < SEEDS; i++) whole[i] = (uint8_t *)slt_read_file(slt_fixture(seeds[i]), &sizes[i]);
    for (unsigned long n = 0; n < count; n++) {
        size_t seed = n % SEEDS;
        size_t size = sizes[seed];
        uint8_t *copy = malloc(size);
        memcpy(copy, whole[seed], size);
        for (uint32_t hits = 1 + pick(4); hits > 0; hits--) damage(copy, &size);
        uint8_t *exact = malloc(size); /* so that a byte too many is found */
        memcpy(exact, copy, size);
        judge(exact, size, &accepted);
        free(exact);
        free(copy);
    }
    /* Neither is everything refused at the door, nor everything taken. */
    ck_assert_uint_gt(accepted, count / 20);
    ck_assert_uint_lt(accepted, count - count / 20);
    for (size_t i = 0; i < SEEDS; i++) free(whole[i]);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cubin mutations");
    TCase *tests = tcase_create("cubin");
    tcase_set_timeout(tests, 3600);
    tcase_add_test(tests, damaged);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
