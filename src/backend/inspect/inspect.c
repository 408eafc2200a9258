/* slw_inspect: which format a file has, and the object that holds its images. */
#include <slipway/limits.h>
#include <string.h>

#include "amdgcn_read.h"
#include "backends.h"
#include "bundle_read.h"
#include "contract_fields.h"
#include "cubin_read.h"
#include "elf_view.h"
#include "fail.h"
#include "fatbin_read.h"
#include "host_reader.h"
#include "inspect_state.h"
#include "memory.h"
#include "ptx_scan.h"
#include "target.h"

#define TAG         0x494e5350u /* "INSP" */
#define TAG_DROPPED 0x44524f50u

const char *slw_file_format_name(slw_file_format format) {
    static const char *const names[] = {"unknown", "ptx",    "cubin", "fatbin",
                                        "hsaco",   "bundle", "host",  "elf-with-fatbin"};
    const uint32_t index = (uint32_t)format;
    return index < sizeof(names) / sizeof(names[0]) ? names[index] : names[0];
}

const char *slw_image_kind_name(slw_image_kind kind) {
    const char *name = slwi_enum_name(SLWI_FIELD_IMAGE, (uint32_t)kind);
    return name != NULL ? name : "unknown";
}

/* ---- which format ---- */

/* A text under the name X.ptx is PTX, whatever is wrong with it: then its own error says what. */
static int is_named_ptx(const char *name) {
    const size_t size = name != NULL ? strlen(name) : 0;
    return size > 4 && strcmp(name + size - 4, ".ptx") == 0;
}

static slw_code not_recognised(const slwi_inspect_walk *walk) {
    uint16_t type;
    uint16_t machine;
    char buffer[24];
    if (walk->name != NULL) slwi_error_path(walk->err, walk->name);
    if (walk->file.size == 0) {
        return slwi_fail(walk->err, SLW_E_UNSUPPORTED_INPUT, "NOT_RECOGNISED", "the file is empty");
    }
    if (slwi_elf_peek(walk->file, &type, &machine)) {
        return slwi_fail(walk->err, SLW_E_UNSUPPORTED_INPUT, "NOT_RECOGNISED",
                         "an ELF file for %s with no GPU code in it", slwi_elf_machine_name(machine, buffer));
    }
    slwi_error_hint(walk->err, "PTX, cubin, fatbin, hsaco, an offload bundle, a host kernel's shared object, or an "
                               "object or program with a fatbin inside");
    return slwi_fail(walk->err, SLW_E_UNSUPPORTED_INPUT, "NOT_RECOGNISED", "this is none of the formats known here");
}

static slw_code whole_file(slwi_inspect_walk *walk, slw_file_format format, slw_image_kind kind) {
    slwi_found_image found;
    memset(&found, 0, sizeof(found));
    found.kind = kind;
    found.bytes = walk->file;
    walk->inspection->format = format;
    return slwi_inspect_add(walk, &found);
}

/* An object, a shared object or a program of a processor. */
static slw_code processor_file(slwi_inspect_walk *walk) {
    walk->inspection->format = SLW_FORMAT_ELF_WITH_FATBIN;
    const slw_code rc = slwi_inspect_sections(walk);
    if (rc != SLW_E_MISS) return rc;
    if (slwi_host_recognises(walk->file)) return whole_file(walk, SLW_FORMAT_HOST, SLW_IMAGE_HOST);
    return not_recognised(walk);
}

static int begins_as_elf(slw_bytes file) {
    static const uint8_t magic[4] = {0x7f, 'E', 'L', 'F'};
    return file.size >= sizeof(magic) && memcmp(file.data, magic, sizeof(magic)) == 0;
}

static slw_code read_all(slwi_inspect_walk *walk) {
    const slw_image_kind kind = slwi_inspect_kind(walk->file);
    if (kind == SLW_IMAGE_CUBIN) return whole_file(walk, SLW_FORMAT_CUBIN, kind);
    if (kind == SLW_IMAGE_HSACO) return whole_file(walk, SLW_FORMAT_HSACO, kind);
    if (kind == SLW_IMAGE_PTX) return whole_file(walk, SLW_FORMAT_PTX, kind);
    if (slwi_fatbin_recognises(walk->file)) {
        walk->inspection->format = SLW_FORMAT_FATBIN;
        return slwi_inspect_fatbin(walk, walk->file, 0);
    }
    if (slwi_bundle_recognises(walk->file) || slwi_bundle_recognises_compressed(walk->file)) {
        walk->inspection->format = SLW_FORMAT_BUNDLE;
        return slwi_inspect_bundle(walk, walk->file, 0);
    }
    if (begins_as_elf(walk->file)) return processor_file(walk);
    if (is_named_ptx(walk->name)) return whole_file(walk, SLW_FORMAT_PTX, SLW_IMAGE_PTX);
    return not_recognised(walk);
}

/* ---- the object ---- */

static void drop(slw_inspection *inspection) {
    const slw_allocator allocator = inspection->allocator;
    for (size_t i = 0; i < inspection->count; i++) {
        slwi_contract_free(&allocator, &inspection->images[i]->contract);
        slwi_free(&allocator, inspection->images[i]->error);
        slwi_free(&allocator, inspection->images[i]);
    }
    slwi_free(&allocator, inspection->images);
    inspection->tag = TAG_DROPPED;
    slwi_free(&allocator, inspection);
}

static slw_code check_arguments(const slw_inspect_options *options, slw_bytes file, slw_inspection *const *out,
                                slw_error *err) {
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "out is NULL");
    if (options != NULL && options->size != sizeof(*options)) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "the options are of another version");
    }
    if (file.data == NULL && file.size != 0) return slwi_fail(err, SLW_E_USAGE, NULL, "the file is NULL");
    if (file.size > SLW_LIMIT_BINARY_BYTES) {
        slwi_error_amount(err, "file size", file.size, SLW_LIMIT_BINARY_BYTES, "bytes");
        return slwi_fail(err, SLW_E_LIMIT, "TOO_LARGE", "the file is too large");
    }
    return SLW_OK;
}

slw_code slw_inspect(const slw_inspect_options *options, slw_bytes file, slw_inspection **out, slw_error *err) {
    slwi_error_reset(err);
    slw_allocator allocator;
    slw_code rc = check_arguments(options, file, out, err);
    if (rc == SLW_OK) rc = slwi_allocator_take(options != NULL ? &options->allocator : NULL, &allocator, err);
    if (rc != SLW_OK) return rc;
    slw_inspection *inspection = slwi_alloc_zero(&allocator, sizeof(*inspection));
    if (inspection == NULL) return slwi_fail_memory(err, sizeof(*inspection));
    inspection->tag = TAG;
    inspection->allocator = allocator;

    slwi_inspect_walk walk;
    memset(&walk, 0, sizeof(walk));
    walk.inspection = inspection;
    walk.file = (slw_bytes){file.data != NULL ? file.data : "", file.size};
    walk.name = options != NULL ? options->name : NULL;
    walk.err = err;
    rc = read_all(&walk);
    if (rc != SLW_OK) {
        drop(inspection);
        return rc;
    }
    *out = inspection;
    return SLW_OK;
}

static int is_ours(const slw_inspection *inspection) {
    return inspection != NULL && inspection->tag == TAG;
}

void slw_inspection_discard(slw_inspection **inspection) {
    if (inspection == NULL || !is_ours(*inspection)) return;
    slw_inspection *old = *inspection;
    *inspection = NULL;
    drop(old);
}

slw_file_format slw_inspection_format(const slw_inspection *inspection) {
    return is_ours(inspection) ? inspection->format : SLW_FORMAT_UNKNOWN;
}

size_t slw_inspection_count(const slw_inspection *inspection) {
    return is_ours(inspection) ? inspection->count : 0;
}

int slw_inspection_image(const slw_inspection *inspection, size_t index, slw_image *out) {
    if (!is_ours(inspection) || out == NULL || out->size != sizeof(*out) || index >= inspection->count) return 0;
    *out = inspection->images[index]->view;
    return 1;
}

uint32_t slw_image_rank(const slw_image *image, const char *target) {
    if (image == NULL || image->size != sizeof(*image) || target == NULL) return 0;
    const slwi_built_for built = {image->kind, image->target, image->isa_version};
    return slwi_target_rank(&built, target);
}
