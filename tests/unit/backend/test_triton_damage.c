/* Metadata that is damaged, of another kind, or of the wrong types; no memory; and mutations by the thousand. */
#include <slipway/limits.h>

#include "fault_alloc.h"
#include "triton_fixture.h"

static triton_entry e;

static void setup_entry(void) {
    e = triton_load_named("3.9.0/3I2GI6");
}

static void teardown_entry(void) {
    triton_free(&e);
    triton_close();
}

static void refuse_text(const char *text, size_t size, const char *reason, const char *subject) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    slw_code rc = triton_contract_of(&e, (slw_bytes){text, size}, &contract, &err);
    ck_assert_msg(rc == SLW_E_INVALID_METADATA, "%.*s: %s %s", (int)size, text, slw_code_name(rc), err.message);
    ck_assert_ptr_null(contract);
    if (reason != NULL) ck_assert_msg(strcmp(err.reason, reason) == 0, "%.*s: %s", (int)size, text, err.reason);
    if (subject != NULL) ck_assert_msg(strcmp(err.subject, subject) == 0, "%.*s: %s", (int)size, text, err.subject);
}

static void refuse(const char *from, const char *to, const char *reason, const char *subject) {
    slw_bytes changed = triton_replace(e.metadata, from, to);
    refuse_text(changed.data, changed.size, reason, subject);
    free((void *)(uintptr_t)changed.data);
}

/* The README's table of damage: what Triton itself falls over in every process, for ever. */
START_TEST(the_table_of_damage) {
    for (size_t size = 1; size < e.metadata.size; size++) refuse_text(e.metadata.data, size, NULL, NULL); /* cut */
    refuse_text("[]", 2, "NOT_RECOGNISED", NULL);
    refuse_text("null", 4, "NOT_RECOGNISED", NULL);
    refuse_text("{}", 2, "NOT_RECOGNISED", NULL);
    refuse_text("3", 1, "NOT_RECOGNISED", NULL);
    refuse_text("\"name\"", 6, "NOT_RECOGNISED", NULL);
    refuse_text("{\"child_paths\": {}}", 19, "NOT_RECOGNISED", NULL);
    refuse_text(" ", 1, NULL, NULL);
    refuse_text("\0", 1, NULL, NULL);
    refuse("\"num_warps\": 4, ", "", "MISSING_FIELD", "num_warps");
    slw_bytes twice = triton_replace(e.metadata, "\"num_warps\": 4", "\"num_warps\": 4, \"num_warps\": 4");
    refuse_text(twice.data, twice.size, "DUPLICATE", NULL);
    free((void *)(uintptr_t)twice.data);
    refuse("\"maxnreg\": null", "\"maxnreg\": NaN", NULL, NULL); /* json-c would take it */
    refuse("\"hash\"", "\"ha\xffsh\"", "NOT_UTF8", NULL);
}
END_TEST

/* A binary cut while it was written, with good metadata. */
START_TEST(an_unfinished_binary) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    slw_bytes whole = e.binary;
    e.binary.size /= 2;
    ck_assert_int_eq(triton_contract_of(&e, e.metadata, &contract, &err), SLW_E_INVALID_BINARY);
    ck_assert_ptr_null(contract);
    e.binary = whole;
}
END_TEST

START_TEST(every_type_is_strict) {
    refuse("\"num_warps\": 4", "\"num_warps\": true", "BAD_VALUE", "num_warps");
    refuse("\"num_warps\": 4", "\"num_warps\": 4.0", "BAD_VALUE", "num_warps");
    refuse("\"num_warps\": 4", "\"num_warps\": \"4\"", "BAD_VALUE", "num_warps");
    refuse("\"num_warps\": 4", "\"num_warps\": 0", "BAD_VALUE", "num_warps");
    refuse("\"num_warps\": 4", "\"num_warps\": -4", "BAD_VALUE", "num_warps");
    refuse("\"num_warps\": 4", "\"num_warps\": 4294967296", "BAD_VALUE", "num_warps");
    refuse("\"num_warps\": 4", "\"num_warps\": null", "BAD_VALUE", "num_warps");
    refuse("\"num_warps\": 4", "\"num_warps\": [4]", "BAD_VALUE", "num_warps");
    refuse("\"num_warps\": 4", "\"num_warps\": 40000000000000000000000", NULL, NULL); /* no number of JSON's here */
    refuse("\"num_ctas\": 1", "\"num_ctas\": 0", "BAD_VALUE", "num_ctas");
    refuse("\"num_ctas\": 1, ", "", "MISSING_FIELD", "num_ctas");
    refuse("\"shared\": 0", "\"shared\": -1", "BAD_VALUE", "shared");
    refuse("\"shared\": 0", "\"shared\": false", "BAD_VALUE", "shared");
    refuse("\"shared\": 0", "\"shared\": 4294967296", "BAD_VALUE", "shared");
    refuse("\"shared\": 0, ", "", "MISSING_FIELD", "shared");
    refuse("\"tmem_size\": 0", "\"tmem_size\": null", "BAD_VALUE", "tmem_size");
    refuse("\"tmem_size\": 0", "\"tmem_size\": -1", "BAD_VALUE", "tmem_size");
    refuse("\"global_scratch_size\": 0", "\"global_scratch_size\": -1", "BAD_VALUE", "global_scratch_size");
    refuse("\"global_scratch_size\": 0", "\"global_scratch_size\": 9223372036854775808", "BAD_VALUE",
           "global_scratch_size");
    refuse("\"global_scratch_size\": 0", "\"global_scratch_size\": false", "BAD_VALUE", "global_scratch_size");
    refuse("\"global_scratch_size\": 0, ", "", "MISSING_FIELD", "global_scratch_size");
    refuse("\"profile_scratch_size\": 0, ", "", "MISSING_FIELD", "profile_scratch_size");
    refuse("\"global_scratch_align\": 1", "\"global_scratch_align\": 3", "BAD_VALUE", "global_scratch_align");
    refuse("\"profile_scratch_align\": 1", "\"profile_scratch_align\": 0", "BAD_VALUE", "profile_scratch_align");
    refuse("\"launch_cooperative_grid\": false", "\"launch_cooperative_grid\": 0", "BAD_VALUE",
           "launch_cooperative_grid");
    refuse("\"launch_pdl\": false", "\"launch_pdl\": \"false\"", "BAD_VALUE", "launch_pdl");
    refuse("\"launch_pdl\": false", "\"launch_pdl\": null", "BAD_VALUE", "launch_pdl");
    refuse("\"name\": \"add_kernel\"", "\"name\": 7", "BAD_VALUE", "name");
    refuse("\"name\": \"add_kernel\"", "\"name\": \"\"", "BAD_VALUE", "name");
    refuse("\"name\": \"add_kernel\"", "\"name\": \"add_kernel\\u0000\"", "BAD_VALUE", "name");
    refuse("\"name\": \"add_kernel\"", "\"name\": \"add_kernel\\udc80\"", "BAD_VALUE", "name");
    refuse(", \"name\": \"add_kernel\"", "", "MISSING_FIELD", "name");
    refuse("\"arch\": 90", "\"arch\": -90", "BAD_VALUE", "target.arch");
    refuse("\"arch\": 90", "\"arch\": 0", "BAD_VALUE", "target.arch");
    refuse("\"arch\": 90, ", "", "MISSING_FIELD", "target.arch");
    refuse("\"backend\": \"cuda\", ", "", "MISSING_FIELD", "target.backend");
    refuse("\"backend\": \"cuda\"", "\"backend\": null", "BAD_VALUE", "target.backend");
    refuse(", \"warp_size\": 32}", "}", "MISSING_FIELD", "target.warp_size");
    refuse("\"warp_size\": 32}", "\"warp_size\": 0}", "BAD_VALUE", "target.warp_size");
    refuse("{\"backend\": \"cuda\", \"arch\": 90, \"warp_size\": 32}", "\"cuda\"", "BAD_VALUE", "target");
    refuse("\"target\": {\"backend\": \"cuda\", \"arch\": 90, \"warp_size\": 32}, ", "", "MISSING_FIELD", "target");
    refuse("\"triton_version\": \"3.9.0\"", "\"triton_version\": 3.9", "BAD_VALUE", "triton_version");
    refuse("\"num_ctas\": 1", "\"num_ctas\": 1, \"cluster_dims\": [1, 1]", "BAD_VALUE", "cluster_dims");
    refuse("\"num_ctas\": 1", "\"num_ctas\": 1, \"cluster_dims\": [1, 1, 0]", "BAD_VALUE", "cluster_dims");
    refuse("\"num_ctas\": 1", "\"num_ctas\": 1, \"cluster_dims\": null", "BAD_VALUE", "cluster_dims");
}
END_TEST

/* What a name may be long is the limit of names, and the whole file has one. */
START_TEST(limits) {
    char *long_name = malloc(SLW_LIMIT_NAME_BYTES + 16);
    ck_assert_ptr_nonnull(long_name);
    memset(long_name, 'n', SLW_LIMIT_NAME_BYTES + 16);
    memcpy(long_name, "\"name\": \"", 9);
    memcpy(long_name + 9 + SLW_LIMIT_NAME_BYTES, "\"", 2);
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    slw_bytes longest = triton_replace(e.metadata, "\"name\": \"add_kernel\"", long_name);
    ck_assert_int_eq(triton_contract_of(&e, longest, &contract, &err), SLW_E_CONTRACT_MISMATCH);
    ck_assert_str_eq(err.subject, "name");
    free((void *)(uintptr_t)longest.data);
    memcpy(long_name + 9 + SLW_LIMIT_NAME_BYTES, "n\"", 3);
    refuse("\"name\": \"add_kernel\"", long_name, "BAD_VALUE", "name");
    free(long_name);

    char *huge = malloc(SLW_LIMIT_JSON_BYTES + 1);
    ck_assert_ptr_nonnull(huge);
    memset(huge, ' ', SLW_LIMIT_JSON_BYTES + 1);
    slw_error size = SLW_ERROR_INIT;
    ck_assert_int_eq(triton_contract_of(&e, (slw_bytes){huge, SLW_LIMIT_JSON_BYTES + 1}, &contract, &size),
                     SLW_E_LIMIT);
    memset(huge, '[', 100000);
    slw_error depth = SLW_ERROR_INIT;
    ck_assert_int_eq(triton_contract_of(&e, (slw_bytes){huge, 100000}, &contract, &depth), SLW_E_LIMIT);
    ck_assert_ptr_null(contract);
    free(huge);
}
END_TEST

/* Unknown fields pass, whatever they hold; null scratch (hip of some versions) is none; development builds. */
START_TEST(what_passes) {
    static const char *const changes[][2] = {
        {"\"num_ctas\": 1", "\"num_ctas\": 1, \"TRITON_NEW\": [{\"a\": [null, 1e300]}]"},
        {"\"extern_libs\": [[\"libdevice\", \"", "\"extern_libs\": [[\"libdevice\", \"\\udcff"},
        {"\"global_scratch_size\": 0", "\"global_scratch_size\": null"},
        {"\"global_scratch_align\": 1", "\"global_scratch_align\": null"},
        {"\"profile_scratch_size\": 0", "\"profile_scratch_size\": null"},
        {"\"triton_version\": \"3.9.0\"", "\"triton_version\": \"3.9.0+git1a2b3c4\""},
        {"\"triton_version\": \"3.9.0\"", "\"triton_version\": \"4.0\""},
        {"\"triton_version\": \"3.9.0\"", "\"triton_version\": \"main\""},
        {", \"global_scratch_align\": 1", ""},
        {", \"tmem_size\": 0", ""},
        {"\"launch_pdl\": false, ", ""},
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        slw_error err = SLW_ERROR_INIT;
        slw_contract *contract = NULL;
        slw_bytes changed = triton_replace(e.metadata, changes[i][0], changes[i][1]);
        slw_code rc = triton_contract_of(&e, changed, &contract, &err);
        ck_assert_msg(rc == SLW_OK, "%s: %s %s", changes[i][1], slw_code_name(rc), err.message);
        ck_assert_int_eq(contract->kernels[0].params[5].role, SLW_ROLE_PROFILE_SCRATCH);
        slw_contract_release(&triton_heap, &contract);
        free((void *)(uintptr_t)changed.data);
    }
}
END_TEST

/* How many scratch pointers each version's metadata means, where it does not say. */
START_TEST(scratch_by_version) {
    static const struct {
        const char *text;
        uint32_t scratch;
    } rows[] = {
        {"", 0},
        {", \"triton_version\": \"3.3.1\"", 1},
        {", \"triton_version\": \"3.4.0\"", 1},
        {", \"triton_version\": \"3.5.1\"", 2},
        {", \"triton_version\": \"3.6.0\", \"profile_scratch_size\": 0", 2},
        {", \"triton_version\": \"3.9.0\", \"profile_scratch_size\": 0, \"global_scratch_size\": 0", 2},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[512];
        slwi_json_document *document = NULL;
        slwi_triton_metadata m;
        slw_error err = SLW_ERROR_INIT;
        int size = snprintf(text, sizeof(text),
                            "{\"target\": {\"backend\": \"hip\", \"arch\": \"gfx942\", \"warp_size\": 64}, "
                            "\"num_warps\": 4, \"num_ctas\": 1, \"shared\": 0, \"name\": \"k\"%s}",
                            rows[i].text);
        slt_ok(slwi_triton_read(triton_parse(text, (size_t)size, &document), &m, &err), &err);
        ck_assert_msg(m.scratch_params == rows[i].scratch, "%s: %u", rows[i].text, m.scratch_params);
        slwi_json_free(&document);
    }
}
END_TEST

START_TEST(every_allocation_may_fail) {
    slt_heap heap;
    slt_heap_init(&heap);
    uint64_t failures = 0;
    for (uint64_t n = 1;; n++) {
        slw_error err = SLW_ERROR_INIT;
        slw_contract *contract = NULL;
        slt_heap_reset(&heap);
        heap.fail_at = n;
        slw_code rc = slw_contract_read(&heap.allocator, e.binary, e.metadata, "k.cubin", NULL, &contract, &err);
        ck_assert_msg(heap.failed ? rc == SLW_E_NO_MEMORY && contract == NULL : rc == SLW_OK, "%llu: %s",
                      (unsigned long long)n, slw_code_name(rc));
        failures += heap.failed;
        slw_contract_release(&heap.allocator, &contract);
        slt_heap_check_empty(&heap);
        if (!heap.failed) break;
    }
    ck_assert_uint_ge(failures, 6);
}
END_TEST

/* ---- mutations ---- */

static uint64_t seed;

static uint32_t next_random(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 32);
}

/* One to four changes: a byte, a cut-out, a doubled piece, a number of the edge. */
static size_t mutate(char *text, size_t size, size_t room) {
    static const char *const pieces[] = {
        "-1", "0", "4294967296", "18446744073709551615", "true", "null", "[]", "{}", "1e99", "\"", "\\u0000", "\\ud800",
        ":",  ",", "1"};
    for (uint32_t change = next_random() % 4 + 1; change > 0 && size > 8; change--) {
        const size_t at = next_random() % size;
        const char *piece = pieces[next_random() % (sizeof(pieces) / sizeof(pieces[0]))];
        const size_t piece_size = strlen(piece);
        size_t length = next_random() % 24 + 1;
        switch (next_random() % 4) {
        case 0:
            text[at] = (char)next_random();
            break;
        case 1:
            if (at + length > size) length = size - at;
            memmove(text + at, text + at + length, size - at - length);
            size -= length;
            break;
        case 2:
            if (size + piece_size > room) break;
            memmove(text + at + piece_size, text + at, size - at);
            memcpy(text + at, piece, piece_size);
            size += piece_size;
            break;
        default:
            if (at + length > size || size + length > room) break;
            memmove(text + at + length, text + at, size - at);
            size += length;
            break;
        }
    }
    return size;
}

START_TEST(mutations) {
    const size_t count = triton_open();
    uint32_t accepted = 0;
    uint32_t refused = 0;
    uint32_t mismatched = 0;
    seed = 0x9e3779b97f4a7c15u;
    for (uint32_t round = 0; round < 20000;) {
        triton_entry from = triton_load(next_random() % count);
        for (uint32_t i = 0; i < 500; i++, round++) {
            const size_t room = from.metadata.size + 256;
            char *text = malloc(room);
            ck_assert_ptr_nonnull(text);
            memcpy(text, from.metadata.data, from.metadata.size);
            const size_t size = mutate(text, from.metadata.size, room);
            char *exact = malloc(size); /* so that a byte read past the end is seen */
            ck_assert_ptr_nonnull(exact);
            memcpy(exact, text, size);
            free(text);
            slw_error err = SLW_ERROR_INIT;
            slw_contract *contract = NULL;
            slw_code rc = triton_contract_of(&from, (slw_bytes){exact, size}, &contract, &err);
            ck_assert_int_eq(rc == SLW_OK, contract != NULL);
            ck_assert_int_eq(rc, err.code);
            ck_assert(rc == SLW_OK || rc == SLW_E_INVALID_METADATA || rc == SLW_E_CONTRACT_MISMATCH ||
                      rc == SLW_E_LIMIT);
            if (rc == SLW_E_CONTRACT_MISMATCH) ck_assert_str_ne(err.subject, "");
            accepted += rc == SLW_OK;
            refused += rc == SLW_E_INVALID_METADATA;
            mismatched += rc == SLW_E_CONTRACT_MISMATCH;
            slw_contract_release(&triton_heap, &contract);
            free(exact);
        }
        triton_free(&from);
    }
    ck_assert_uint_gt(accepted, 500);
    ck_assert_uint_gt(refused, 5000);
    ck_assert_uint_gt(mismatched, 50);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/triton_damage");
    TCase *tcase = tcase_create("triton_damage");
    tcase_set_timeout(tcase, 300);
    tcase_add_checked_fixture(tcase, setup_entry, teardown_entry);
    tcase_add_test(tcase, the_table_of_damage);
    tcase_add_test(tcase, an_unfinished_binary);
    tcase_add_test(tcase, every_type_is_strict);
    tcase_add_test(tcase, limits);
    tcase_add_test(tcase, what_passes);
    tcase_add_test(tcase, scratch_by_version);
    tcase_add_test(tcase, every_allocation_may_fail);
    tcase_add_test(tcase, mutations);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
