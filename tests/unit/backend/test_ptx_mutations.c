/* 100,000 damaged fixtures: the scanner answers, inside its bytes, with a place inside the text; run it under the
 * sanitizers. SLW_PTX_MUTATIONS raises the number. */
#include "backends.h"
#include "ptx_fixture.h"

static const char *const seeds[] = {
    "ptx/rq.ptx",
    "ptx/al_80.ptx",
    "ptx/k9_90.ptx",
    "ptx/triton/3.9.0-6GYFKN.ptx",
    "ptx-cases/p07_block_comments.ptx",
    "ptx-cases/p14_cluster.ptx",
    "ptx-cases/p17_ptr_attr.ptx",
    "ptx-cases/p20_pragma.ptx",
    "ptx-cases/p26_alltypes.ptx",
    "ptx-cases/p31_texref.ptx",
    "ptx-cases/p41_section.ptx",
    "ptx-cases/p48_blocksareclusters.ptx",
    "ptx-cases/n32_hash_line.ptx",
    "ptx-cases/n25_entry_in_body.ptx",
};
#define SEEDS (sizeof(seeds) / sizeof(seeds[0]))
/* The interesting part of a long one is at its beginning. */
#define MUTATED_BYTES_MAX 1500

static const char *const words[] = {
    ".entry",
    ".visible",
    ".weak",
    ".extern",
    ".func",
    ".param",
    ".align",
    ".ptr",
    ".global",
    ".u64",
    ".b8",
    ".v4",
    ".maxntid",
    ".reqntid",
    ".reqnctapercluster",
    ".pragma",
    ".file 1 \"a\"",
    ".section",
    ".blocksareclusters",
    "4294967295",
    "18446744073709551616",
    "0x",
    "08",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    ";",
    "=",
    "\"",
    "/*",
    "*/",
    "//",
    "#line 1 \"x\"",
    "%",
    "$",
    "_",
    ".",
    "\x1a",
    "\r",
    "\n",
    "\f",
    "k",
    ".version 9.0",
    ".target sm_90",
    ".address_size 64",
};

static uint64_t state = 0x9e3779b97f4a7c15ull;

static uint32_t pick(size_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 16) % below);
}

static size_t mutate(char *bytes, size_t size, size_t capacity) {
    const char *word = words[pick(sizeof(words) / sizeof(words[0]))];
    size_t length = strlen(word);
    size_t at = pick(size + 1);
    size_t cut = at + pick(9) < size ? pick(9) : 0;
    switch (pick(6)) {
    case 0: /* a bit */
        if (at < size) bytes[at] = (char)(bytes[at] ^ (1 << pick(8)));
        return size;
    case 1: /* a byte of ASCII */
        if (at < size) bytes[at] = (char)pick(128);
        return size;
    case 2: /* some bytes less */
        if (at + cut > size) cut = 0;
        memmove(bytes + at, bytes + at + cut, size - at - cut);
        return size - cut;
    case 3: /* a word more */
        if (size + length > capacity) return size;
        memmove(bytes + at + length, bytes + at, size - at);
        memcpy(bytes + at, word, length);
        return size + length;
    case 4: /* a piece again */
        length = pick(64);
        if (at + length > size || size + length > capacity) return size;
        memmove(bytes + at + length, bytes + at, size - at);
        return size + length;
    default: /* the end */
        return pick(8) == 0 ? at : size;
    }
}

static void check_one(const char *bytes, size_t size, uint32_t *good) {
    char *own = malloc(size == 0 ? 1 : size); /* so that a read past the end is seen */
    memcpy(own, bytes, size);
    slw_error err = SLW_ERROR_INIT;
    slwi_ptx_module module;
    slw_code rc = ptx_scan(own, size, &module, &err);
    if (rc == SLW_OK) {
        *good += 1;
        ck_assert_uint_gt(module.kernel_count, 0);
        ck_assert_uint_le(module.steps, 4 * (uint64_t)size + 64);
        slw_contract *contract = NULL;
        slt_ok(slwi_ptx_contract(&ptx_heap, &module, "cuda", NULL, &contract, &err), &err);
        ck_assert_uint_eq(contract->kernel_count, module.kernel_count);
        slwi_contract_free(&ptx_heap, &contract);
        slwi_ptx_release(&ptx_heap, &module);
    } else {
        ck_assert(rc == SLW_E_INVALID_PTX || rc == SLW_E_LIMIT);
        ck_assert_ptr_nonnull(err.reason);
        ck_assert_uint_le(err.offset_bytes, size);
        ck_assert_uint_gt(err.line, 0);
        ck_assert_uint_gt(err.column, 0);
    }
    free(own);
}

START_TEST(mutations) {
    const char *asked = getenv("SLW_PTX_MUTATIONS");
    uint32_t count = asked != NULL ? (uint32_t)strtoul(asked, NULL, 10) : 100000;
    char *texts[SEEDS];
    size_t sizes[SEEDS];
    for (size_t i = 0; i < SEEDS; i++) {
        texts[i] = slt_read_file(slt_fixture(seeds[i]), &sizes[i]);
        if (sizes[i] > MUTATED_BYTES_MAX) sizes[i] = MUTATED_BYTES_MAX;
    }
    char bytes[MUTATED_BYTES_MAX + 1024];
    uint32_t good = 0;
    for (uint32_t n = 0; n < count; n++) {
        size_t seed = n % SEEDS;
        size_t size = sizes[seed];
        memcpy(bytes, texts[seed], size);
        for (uint32_t i = pick(4) + 1; i > 0; i--) size = mutate(bytes, size, sizeof(bytes));
        check_one(bytes, size, &good);
    }
    /* Both answers are reached often, so both paths are walked. */
    ck_assert_uint_gt(good, count / 20);
    ck_assert_uint_lt(good, count - count / 20);
    for (size_t i = 0; i < SEEDS; i++) free(texts[i]);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("ptx mutations");
    TCase *tcase = tcase_create("damage");
    tcase_set_timeout(tcase, 600);
    tcase_add_test(tcase, mutations);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
