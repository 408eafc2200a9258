/* One image: read by the reader of its kind, kept with its contract or with what is wrong with it. */
#include <slipway/limits.h>
#include <string.h>

#include "amdgcn_read.h"
#include "backends.h"
#include "checked.h"
#include "contract_fields.h"
#include "cubin_read.h"
#include "elf_view.h"
#include "fail.h"
#include "host_reader.h"
#include "inspect_state.h"
#include "memory.h"
#include "ptx_read.h"

#define FIRST_CAPACITY 4u

/* ---- what it is ---- */

static int is_llvm_bitcode(slw_bytes bytes) {
    static const uint8_t raw[4] = {'B', 'C', 0xc0, 0xde};
    static const uint8_t wrapped[4] = {0xde, 0xc0, 0x17, 0x0b};
    if (bytes.size < sizeof(raw)) return 0;
    return memcmp(bytes.data, raw, sizeof(raw)) == 0 || memcmp(bytes.data, wrapped, sizeof(wrapped)) == 0;
}

slw_image_kind slwi_inspect_kind(slw_bytes bytes) {
    if (slwi_cubin_recognises(bytes)) return SLW_IMAGE_CUBIN;
    if (slwi_amdgcn_recognises(bytes)) return SLW_IMAGE_HSACO;
    if (slwi_ptx_recognises(bytes)) return SLW_IMAGE_PTX;
    if (is_llvm_bitcode(bytes)) return SLW_IMAGE_LTO_IR;
    return SLW_IMAGE_UNKNOWN;
}

/* ---- reading it ---- */

/* Texts in containers end with NULs as often as not. */
static slw_bytes without_nuls(slw_bytes text) {
    const char *data = text.data;
    while (text.size > 0 && data[text.size - 1] == '\0') text.size--;
    return text;
}

static slw_code read_contract(const slwi_inspect_walk *walk, const slwi_found_image *found, slw_contract **out,
                              slw_error *err) {
    const slw_allocator *allocator = &walk->inspection->allocator;
    if (found->entry != NULL && found->kind != SLW_IMAGE_UNKNOWN) {
        return slwi_fatbin_image_contract(allocator, found->entry, walk->name, out, err);
    }
    switch (found->kind) {
    case SLW_IMAGE_CUBIN:
        return slwi_cubin_contract(allocator, found->bytes, walk->name, out, err);
    case SLW_IMAGE_HSACO:
        return slwi_amdgcn_contract(allocator, found->bytes, walk->name, out, err);
    case SLW_IMAGE_PTX:
        return slwi_ptx_read_contract(allocator, found->nested ? without_nuls(found->bytes) : found->bytes, "cuda",
                                      walk->name, out, err);
    case SLW_IMAGE_HOST:
        return slwi_host_read_contract(allocator, found->bytes, walk->name, out, err);
    default:
        return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "NOT_RECOGNISED", "an image of a kind that is not known here");
    }
}

/* The refusal of one image is kept beside it. Offsets are of the whole file. */
static slw_code keep_error(const slwi_inspect_walk *walk, const slwi_found_image *found, slw_error *refusal,
                           slwi_inspected *image) {
    image->error = slwi_alloc(&walk->inspection->allocator, sizeof(*image->error));
    if (image->error == NULL) return slwi_fail_memory(walk->err, sizeof(*image->error));
    if ((refusal->present & SLW_ERROR_HAS_OFFSET) != 0) {
        refusal->offset_bytes +=
            found->entry != NULL ? found->offset_bytes - found->entry->offset_bytes : found->offset_bytes;
    }
    if (walk->name != NULL) slwi_error_path(refusal, walk->name);
    *image->error = *refusal;
    image->view.error = image->error;
    return SLW_OK;
}

static int is_read(const slwi_found_image *found) {
    return found->compression == NULL && found->kind != SLW_IMAGE_LTO_IR;
}

static slw_code read_image(const slwi_inspect_walk *walk, const slwi_found_image *found, slwi_inspected *image) {
    slw_error refusal = SLW_ERROR_INIT;
    if (!is_read(found)) return SLW_OK;
    const slw_code rc = read_contract(walk, found, &image->contract, &refusal);
    if (rc == SLW_E_NO_MEMORY) return slwi_fail(walk->err, SLW_E_NO_MEMORY, NULL, "%s", refusal.message);
    if (rc != SLW_OK) return keep_error(walk, found, &refusal, image);
    image->view.contract = image->contract;
    return SLW_OK;
}

/* ---- keeping it ---- */

static void copy_text(char *to, size_t capacity, const char *text) {
    const size_t size = strlen(text);
    if (size >= capacity) return; /* longer than anything of its sort: not known */
    memcpy(to, text, size + 1);
}

static void describe(const slwi_found_image *found, uint32_t container, slwi_inspected *image) {
    slw_image *view = &image->view;
    const char *target = found->target != NULL ? found->target : "";
    const char *isa = found->isa_version != NULL ? found->isa_version : "";
    if (image->contract != NULL && image->contract->target != NULL) target = image->contract->target;
    if (image->contract != NULL && image->contract->isa_version != NULL) isa = image->contract->isa_version;
    copy_text(image->target, sizeof(image->target), target);
    copy_text(image->isa_version, sizeof(image->isa_version), isa);
    view->size = sizeof(*view);
    view->kind = found->kind;
    view->target = image->target[0] != '\0' ? image->target : NULL;
    view->isa_version = image->isa_version[0] != '\0' ? image->isa_version : NULL;
    view->compression = found->compression;
    view->offset_bytes = found->offset_bytes;
    view->size_bytes = found->bytes.size;
    view->container = container;
}

static slw_code make_room(const slwi_inspect_walk *walk) {
    slw_inspection *inspection = walk->inspection;
    if (inspection->count < inspection->capacity) return SLW_OK;
    if (inspection->count >= SLW_LIMIT_IMAGES) {
        slwi_error_amount(walk->err, "images", (uint64_t)inspection->count + 1, SLW_LIMIT_IMAGES, "images");
        return slwi_fail(walk->err, SLW_E_LIMIT, "TOO_MANY_IMAGES", "the file has too many images");
    }
    const size_t capacity = inspection->capacity == 0 ? FIRST_CAPACITY : inspection->capacity * 2;
    slwi_inspected **images =
        slwi_realloc_array(&inspection->allocator, inspection->images, capacity, sizeof(slwi_inspected *));
    if (images == NULL) return slwi_fail_memory(walk->err, capacity * sizeof(slwi_inspected *));
    inspection->images = images;
    inspection->capacity = capacity;
    return SLW_OK;
}

slw_code slwi_inspect_spend(const slwi_inspect_walk *walk, uint64_t *spent, uint64_t offset, uint64_t size) {
    uint64_t total;
    if (!slwi_add_u64(*spent, size, &total) && total <= walk->file.size) {
        *spent = total;
        return SLW_OK;
    }
    if (walk->name != NULL) slwi_error_path(walk->err, walk->name);
    slwi_error_place(walk->err, 0, 0, offset);
    return slwi_fail(walk->err, SLW_E_INVALID_BINARY, "OVERLAP",
                     "parts of the file lie over one another at offset %llu", (unsigned long long)offset);
}

slw_code slwi_inspect_add(slwi_inspect_walk *walk, const slwi_found_image *found) {
    slw_inspection *inspection = walk->inspection;
    slw_code rc = slwi_inspect_spend(walk, &walk->image_bytes, found->offset_bytes, found->bytes.size);
    if (rc == SLW_OK) rc = make_room(walk);
    if (rc != SLW_OK) return rc;
    slwi_inspected *image = slwi_alloc_zero(&inspection->allocator, sizeof(*image));
    if (image == NULL) return slwi_fail_memory(walk->err, sizeof(*image));
    rc = read_image(walk, found, image);
    if (rc != SLW_OK) {
        slwi_free(&inspection->allocator, image);
        return rc;
    }
    describe(found, walk->container, image);
    inspection->images[inspection->count++] = image;
    return SLW_OK;
}
