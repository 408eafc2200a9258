/* Which image of a fatbin a device would run, and its contract. */
#include <stdio.h>
#include <string.h>

#include "contract_fields.h"
#include "cubin_read.h"
#include "fail.h"
#include "fatbin_read.h"
#include "backends.h"
#include "ptx_read.h"
#include "target.h"

typedef struct choice {
    slwi_fatbin_entry best;
    uint32_t rank;
    uint32_t equals; /* as good as the best */
    uint32_t loadable;
} choice;

static int is_loadable(const slwi_fatbin_entry *entry) {
    return entry->kind == SLW_IMAGE_CUBIN || entry->kind == SLW_IMAGE_PTX;
}

/* With a device named: how well it fits. Without: every image that can be loaded is as good as any. */
static uint32_t rank_of(const slwi_fatbin_entry *entry, const char *target) {
    if (!is_loadable(entry)) return 0;
    if (target == NULL) return 1;
    slwi_built_for built = {entry->kind, entry->target, entry->isa_version[0] != '\0' ? entry->isa_version : NULL};
    return slwi_target_rank(&built, target);
}

static slw_code choose(slw_bytes binary, const char *name, const char *target, choice *out, slw_error *err) {
    slwi_fatbin_cursor cursor;
    slwi_fatbin_entry entry;
    slw_code rc;
    memset(&cursor, 0, sizeof(cursor));
    memset(out, 0, sizeof(*out));
    while ((rc = slwi_fatbin_next(binary, name, &cursor, &entry, err)) == SLW_OK) {
        uint32_t rank = rank_of(&entry, target);
        if (is_loadable(&entry)) out->loadable += 1;
        if (rank == 0 || rank < out->rank) continue;
        out->equals = rank == out->rank ? out->equals + 1 : 1;
        if (rank > out->rank) out->best = entry;
        out->rank = rank;
    }
    return rc == SLW_E_MISS ? SLW_OK : rc;
}

/* One line an image: "sm_90a cubin", "sm_90 ptx 9.0 (zstd)". */
static void list_images(slw_bytes binary, slw_error *err) {
    static const char *const kinds[] = {"unknown", "host", "cubin", "ptx", "hsaco", "lto_ir"};
    slwi_fatbin_cursor cursor;
    slwi_fatbin_entry entry;
    memset(&cursor, 0, sizeof(cursor));
    while (slwi_fatbin_next(binary, NULL, &cursor, &entry, NULL) == SLW_OK) {
        char line[96];
        const char *packed = entry.compression;
        (void)snprintf(line, sizeof(line), "%s %s%s%s%s%s%s", entry.target, kinds[entry.kind],
                       entry.isa_version[0] != '\0' ? " " : "", entry.isa_version, packed != NULL ? " (" : "",
                       packed != NULL ? packed : "", packed != NULL ? ")" : "");
        slwi_error_tried(err, line);
    }
}

static slw_code refuse(slw_bytes binary, const char *name, const char *target, const choice *chosen, slw_error *err) {
    if (name != NULL) slwi_error_path(err, name);
    list_images(binary, err);
    if (chosen->rank == 0 && target == NULL) {
        return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "NO_IMAGE", "the fatbin holds no image that can be loaded");
    }
    if (chosen->rank == 0) {
        slwi_error_subject(err, target, strlen(target));
        return slwi_fail(err, SLW_E_TARGET_MISMATCH, "NO_IMAGE", "the fatbin holds no image for %.64s", target);
    }
    slwi_error_hint(err, "name the device's target");
    if (target == NULL) {
        return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "AMBIGUOUS", "the fatbin holds %u images and no target is named",
                         (unsigned)chosen->loadable);
    }
    return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "AMBIGUOUS", "the fatbin holds %u images as good as each other",
                     (unsigned)chosen->equals);
}

static slw_code refuse_compressed(const slwi_fatbin_entry *entry, const char *name, slw_error *err) {
    if (name != NULL) slwi_error_path(err, name);
    slwi_error_place(err, 0, 0, entry->offset_bytes);
    slwi_error_subject(err, entry->target, strlen(entry->target));
    slwi_error_hint(err, "compile with --compress-mode=none, or extract the image with cuobjdump -xelf or -xptx");
    return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "COMPRESSED", "the image for %s is compressed (%s)", entry->target,
                     entry->compression);
}

/* The header of an entry and the image must be for one architecture. The suffix of the header wins: it is always there,
   and an image may have lost it with its notes. */
static slw_code settle_target(const slw_allocator *allocator, const slwi_fatbin_entry *entry, slw_contract **contract,
                              slw_error *err) {
    slwi_sm said = {0, 0};
    slwi_sm is = {0, 0};
    if (strcmp((*contract)->target, entry->target) == 0) return SLW_OK;
    int known = slwi_sm_parse(entry->target, &said) && slwi_sm_parse((*contract)->target, &is);
    if (!known || said.number != is.number || (is.variant != 0 && said.variant != 0)) {
        slwi_error_place(err, 0, 0, entry->offset_bytes);
        slwi_error_subject(err, "target", 6);
        return slwi_fail(err, SLW_E_INVALID_BINARY, "BAD_ENTRY", "the fatbin says %s of an image for %.64s",
                         entry->target, (*contract)->target);
    }
    if (is.variant != 0) return SLW_OK;
    slw_contract draft = **contract;
    slw_contract *settled = NULL;
    draft.target = entry->target;
    slw_code rc = slwi_contract_copy(allocator, &draft, &settled, err);
    if (rc != SLW_OK) return rc;
    slwi_contract_free(allocator, contract);
    *contract = settled;
    return SLW_OK;
}

slw_code slwi_fatbin_image_contract(const slw_allocator *allocator, const slwi_fatbin_entry *entry, const char *name,
                                    slw_contract **out, slw_error *err) {
    slw_contract *contract = NULL;
    slw_code rc = entry->kind == SLW_IMAGE_PTX
                      ? slwi_ptx_read_contract(allocator, entry->bytes, "cuda", name, &contract, err)
                      : slwi_cubin_contract(allocator, entry->bytes, name, &contract, err);
    /* Places are told in the file, not in the image. */
    if (rc != SLW_OK && err != NULL && err->size == sizeof(*err) && (err->present & SLW_ERROR_HAS_OFFSET) != 0) {
        err->offset_bytes += entry->offset_bytes;
    }
    if (rc != SLW_OK) return rc;
    rc = settle_target(allocator, entry, &contract, err);
    if (rc == SLW_OK) {
        *out = contract;
    } else {
        slwi_contract_free(allocator, &contract);
    }
    return rc;
}

slw_code slwi_fatbin_contract(const slw_allocator *allocator, slw_bytes binary, const char *name, const char *target,
                              slw_contract **out, slw_error *err) {
    choice chosen;
    slw_code rc = choose(binary, name, target, &chosen, err);
    if (rc != SLW_OK) return rc;
    if (chosen.equals != 1) return refuse(binary, name, target, &chosen, err);
    if (chosen.best.compression != NULL) return refuse_compressed(&chosen.best, name, err);
    return slwi_fatbin_image_contract(allocator, &chosen.best, name != NULL ? name : "kernel.fatbin", out, err);
}
