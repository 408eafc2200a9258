/* Attacks slwi_fatbin_next and slwi_fatbin_contract (with no target and with several, so that every way to choose an image is
 * taken), and what they lead to: the cubin reader and the PTX scanner on an entry's bytes. */
#include <slipway/limits.h>
#include <string.h>

#include "fatbin_read.h"
#include "fuzz_contract.h"

static const char *const targets[] = {NULL, "sm_75", "sm_90", "sm_90a", "sm_100f", "sm_121", "gfx942", "sm_"};
#define TARGETS (sizeof targets / sizeof targets[0])
static const char *target;

static slw_code read_fatbin(const slw_allocator *allocator, slw_bytes input, slw_contract **out, slw_error *err) {
    return slwi_fatbin_contract(allocator, input, "fuzz.fatbin", target, out, err);
}

static void check_entry(const slwi_fatbin_entry *entry, slw_bytes file) {
    FUZZ_REQUIRE(entry->offset_bytes <= file.size && entry->bytes.size <= file.size - entry->offset_bytes);
    FUZZ_REQUIRE(entry->bytes.size == 0 ||
                 (const uint8_t *)entry->bytes.data == (const uint8_t *)file.data + entry->offset_bytes);
    FUZZ_REQUIRE(memchr(entry->target, 0, sizeof entry->target) != NULL);
    FUZZ_REQUIRE(memchr(entry->isa_version, 0, sizeof entry->isa_version) != NULL);
    FUZZ_REQUIRE(entry->kind == SLW_IMAGE_UNKNOWN || entry->kind == SLW_IMAGE_CUBIN || entry->kind == SLW_IMAGE_PTX ||
                 entry->kind == SLW_IMAGE_LTO_IR);
}

static slw_code walk(slw_bytes file) {
    slwi_fatbin_cursor cursor;
    slwi_fatbin_entry entry;
    uint64_t before = 0;
    slw_code rc;
    memset(&cursor, 0, sizeof cursor);
    for (;;) {
        slw_error err = SLW_ERROR_INIT;
        rc = slwi_fatbin_next(file, "fuzz.fatbin", &cursor, &entry, &err);
        if (rc != SLW_OK && rc != SLW_E_MISS) fuzz_check_reader_refusal(rc, &err, file.size);
        if (rc != SLW_OK) break;
        FUZZ_REQUIRE(cursor.at > before && cursor.count <= SLW_LIMIT_IMAGES);
        before = cursor.at;
        check_entry(&entry, file);
    }
    FUZZ_REQUIRE(rc == SLW_E_MISS || rc == SLW_E_INVALID_BINARY || rc == SLW_E_LIMIT);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const slw_code walked = walk((slw_bytes){data, size});
    for (size_t i = 0; i < 2; i++) { /* with none, and with one that depends on the input */
        target = targets[i == 0 ? 0 : fuzz_pick(data, size, TARGETS)];
        const slw_code rc = fuzz_contract(read_fatbin, data, size);
        FUZZ_REQUIRE(rc == SLW_OK || rc == SLW_E_INVALID_BINARY || rc == SLW_E_INVALID_PTX ||
                     rc == SLW_E_UNSUPPORTED_INPUT || rc == SLW_E_TARGET_MISMATCH || rc == SLW_E_LIMIT ||
                     rc == SLW_E_USAGE);
        if (rc == SLW_OK) FUZZ_REQUIRE(walked == SLW_E_MISS && slwi_fatbin_recognises((slw_bytes){data, size}));
    }
    return 0;
}
