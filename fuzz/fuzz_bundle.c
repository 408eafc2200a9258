/* Attacks slwi_bundle_open, slwi_bundle_next and slwi_bundle_contract (with no target and with several), and what they lead
 * to: the amdgcn reader on an entry's bytes. */
#include <slipway/limits.h>
#include <string.h>

#include "bundle_read.h"
#include "fuzz_contract.h"

static const char *const targets[] = {NULL,   "gfx90a:sramecc+:xnack-", "gfx942:sramecc+:xnack-", "gfx906", "gfx1100",
                                      "sm_90"};
#define TARGETS (sizeof targets / sizeof targets[0])
static const char *target;

static slw_code read_bundle(const slw_allocator *allocator, slw_bytes input, slw_contract **out, slw_error *err) {
    return slwi_bundle_contract(allocator, input, "fuzz.hipfb", target, out, err);
}

static void check_inside(slw_bytes part, slw_bytes file) {
    const uint8_t *begin = file.data, *at = part.data;
    if (part.size != 0)
        FUZZ_REQUIRE(at >= begin && part.size <= file.size && (size_t)(at - begin) <= file.size - part.size);
}

static slw_code walk(slw_bytes file) {
    slwi_bundle bundle;
    slwi_bundle_entry entry;
    slwi_bundle_cursor cursor = {0, 0};
    slw_error err = SLW_ERROR_INIT;
    uint64_t count = 0;
    const slw_code rc = slwi_bundle_open(file, "fuzz.hipfb", &bundle, &err);
    if (rc != SLW_OK) {
        fuzz_check_reader_refusal(rc, &err, file.size);
        FUZZ_REQUIRE(rc == SLW_E_INVALID_BINARY || rc == SLW_E_UNSUPPORTED_INPUT || rc == SLW_E_LIMIT);
        return rc;
    }
    FUZZ_REQUIRE(slwi_bundle_recognises(file) && bundle.count <= SLW_LIMIT_IMAGES);
    while (slwi_bundle_next(&bundle, &cursor, &entry)) {
        FUZZ_REQUIRE(++count <= bundle.count);
        check_inside(entry.id, file);
        check_inside(entry.offload_kind, file);
        check_inside(entry.triple, file);
        check_inside(entry.bytes, file);
        FUZZ_REQUIRE(memchr(entry.target, 0, sizeof entry.target) != NULL);
        FUZZ_REQUIRE(entry.bytes.size == 0 ||
                     (const uint8_t *)entry.bytes.data == (const uint8_t *)file.data + entry.offset_bytes);
    }
    FUZZ_REQUIRE(count == bundle.count);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const slw_bytes file = {data, size};
    const slw_code walked = walk(file);
    if (slwi_bundle_recognises_compressed(file)) FUZZ_REQUIRE(walked != SLW_OK && slwi_bundle_recognises(file));
    for (size_t i = 0; i < 2; i++) { /* with none, and with one that depends on the input */
        target = targets[i == 0 ? 0 : fuzz_pick(data, size, TARGETS)];
        const slw_code rc = fuzz_contract(read_bundle, data, size);
        FUZZ_REQUIRE(rc == SLW_OK || rc == SLW_E_INVALID_BINARY || rc == SLW_E_UNSUPPORTED_INPUT ||
                     rc == SLW_E_TARGET_MISMATCH || rc == SLW_E_LIMIT || rc == SLW_E_CONTRACT_MISMATCH ||
                     rc == SLW_E_USAGE);
        if (rc == SLW_OK) FUZZ_REQUIRE(walked == SLW_OK);
    }
    return 0;
}
