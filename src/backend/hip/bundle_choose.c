/* Which image of a bundle a device runs, and its contract. */
#include <string.h>

#include "amdgcn_read.h"
#include "bundle_read.h"
#include "contract_build.h"
#include "backends.h"
#include "fail.h"
#include "reader.h"
#include "target.h"

#define BITCODE_MAGIC 0xdec04342u

static int is_device_image(const slwi_bundle_entry *entry) {
    return entry->target[0] != '\0' && entry->bytes.size != 0;
}

/* Every target that is there, one a line. */
static void list_targets(const slwi_bundle *bundle, slw_error *err) {
    slwi_bundle_cursor cursor = {0, 0};
    slwi_bundle_entry entry;
    while (slwi_bundle_next(bundle, &cursor, &entry)) {
        if (is_device_image(&entry)) slwi_error_tried(err, entry.target);
    }
}

typedef struct choice {
    slwi_bundle_entry entry;
    uint32_t rank;
    uint32_t equals;  /* images of that rank */
    uint32_t devices; /* images for any device */
} choice;

static choice choose(const slwi_bundle *bundle, const char *target) {
    slwi_bundle_cursor cursor = {0, 0};
    slwi_bundle_entry entry;
    choice best;
    memset(&best, 0, sizeof(best));
    while (slwi_bundle_next(bundle, &cursor, &entry)) {
        if (!is_device_image(&entry)) continue;
        slwi_built_for built = {SLW_IMAGE_HSACO, entry.target, NULL};
        uint32_t rank = target == NULL ? 1 : slwi_target_rank(&built, target);
        best.devices += 1;
        if (rank == 0 || rank < best.rank) continue;
        best.equals = rank == best.rank ? best.equals + 1 : 1;
        if (rank > best.rank) best.entry = entry;
        best.rank = rank;
    }
    return best;
}

static slw_code check_choice(const slwi_bundle *bundle, const choice *best, const char *target, slw_error *err) {
    if (best->equals == 1) return SLW_OK;
    if (bundle->name != NULL) slwi_error_path(err, bundle->name);
    if (best->devices == 0) {
        slwi_error_place(err, 0, 0, 0);
        return slwi_fail(err, SLW_E_INVALID_BINARY, "NO_ENTRY", "the bundle has no image for a device");
    }
    list_targets(bundle, err);
    if (best->equals == 0) {
        slwi_error_subject(err, target, strlen(target));
        return slwi_fail(err, SLW_E_TARGET_MISMATCH, "NO_IMAGE", "no image of the bundle runs on %.63s", target);
    }
    if (target == NULL) {
        slwi_error_hint(err, "say which device it is for");
        return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "AMBIGUOUS", "the bundle has images for several devices");
    }
    slwi_error_subject(err, best->entry.target, strlen(best->entry.target));
    return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "AMBIGUOUS",
                     "several images of the bundle run on %.63s equally well", target);
}

/* The index says what the image is for; the image says it too. */
static slw_code check_target(const slwi_bundle *bundle, const slwi_bundle_entry *entry, const slw_contract *contract,
                             slw_error *err) {
    if (strcmp(entry->target, contract->target) == 0) return SLW_OK;
    if (bundle->name != NULL) slwi_error_path(err, bundle->name);
    slwi_error_place(err, 0, 0, entry->offset_bytes);
    slwi_error_subject(err, "target", strlen("target"));
    return slwi_fail(err, SLW_E_CONTRACT_MISMATCH, "TARGET", "the bundle's index says %s, the image says %s",
                     entry->target, contract->target);
}

static slw_code read_image(const slw_allocator *allocator, const slwi_bundle *bundle, const slwi_bundle_entry *entry,
                           slw_contract **out, slw_error *err) {
    slw_contract *contract = NULL;
    uint32_t start = 0;
    if (slwi_read_u32(entry->bytes, 0, &start) && start == BITCODE_MAGIC) {
        if (bundle->name != NULL) slwi_error_path(err, bundle->name);
        slwi_error_place(err, 0, 0, entry->offset_bytes);
        slwi_error_hint(err, "link it first: clang --hip-link");
        return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "BITCODE", "the image for %s is LLVM bitcode", entry->target);
    }
    slw_code rc = slwi_amdgcn_contract(allocator, entry->bytes, bundle->name, &contract, err);
    if (rc != SLW_OK) {
        /* Places are the file's, not the image's. */
        if (err != NULL && err->size == sizeof(*err) && (err->present & SLW_ERROR_HAS_OFFSET) != 0 &&
            err->offset_bytes <= UINT64_MAX - entry->offset_bytes)
            err->offset_bytes += entry->offset_bytes;
        return rc;
    }
    rc = check_target(bundle, entry, contract, err);
    if (rc != SLW_OK) {
        slwi_contract_free(allocator, &contract);
        return rc;
    }
    *out = contract;
    return SLW_OK;
}

slw_code slwi_bundle_contract(const slw_allocator *allocator, slw_bytes binary, const char *name, const char *target,
                              slw_contract **out, slw_error *err) {
    slwi_bundle bundle;
    slw_code rc = slwi_bundle_open(binary, name, &bundle, err);
    if (rc != SLW_OK) return rc;
    choice best = choose(&bundle, target);
    rc = check_choice(&bundle, &best, target, err);
    return rc == SLW_OK ? read_image(allocator, &bundle, &best.entry, out, err) : rc;
}
