/* Finding the launch binary of an entry that has no slipway.json. */
#include "binary.h"

#include <slipway/limits.h>

#include <string.h>

#include "fail.h"

typedef struct search {
    slwi_entry *entry;
    const slw_allocator *allocator;
    const char *backend;
    const char *target;
    uint64_t bytes; /* read so far */
} search;

void slwi_found_binary_drop(slwi_found_binary *binary, const slw_allocator *allocator) {
    slwi_release(binary->image);
    if (binary->contract != NULL) binary->reader->release_contract(allocator, &binary->contract);
    *binary = (slwi_found_binary){0};
}

static const slw_backend_vtable *reader_of(const search *at, slw_bytes bytes) {
    if (at->backend == NULL) return slwi_backend_recognise(bytes);
    const slw_backend_vtable *reader = slw_backend_find(at->backend);
    return reader != NULL && reader->recognises(bytes) ? reader : NULL;
}

/* Reads one payload. OK with out->image NULL: it is nobody's binary. */
static slw_code try_file(search *at, const slw_file *file, slwi_found_binary *out, slw_error *err) {
    if (file->size_bytes == 0 || file->size_bytes > SLW_LIMIT_BINARY_BYTES) return SLW_OK;
    slwi_image *image = NULL;
    slw_code rc = slwi_entry_read(at->entry, file->path.data, &image, err);
    if (rc != SLW_OK) return rc;
    at->bytes += file->size_bytes;
    const slw_bytes bytes = {slwi_image_data(image), slwi_image_size(image)};
    const slw_backend_vtable *reader = reader_of(at, bytes);
    slw_contract *contract = NULL;
    if (reader != NULL) rc = reader->read_contract(at->allocator, bytes, file->path.data, at->target, &contract, err);
    if (rc != SLW_OK || contract == NULL) {
        slwi_release(image);
        return rc;
    }
    *out = (slwi_found_binary){image, contract, reader, 0};
    return SLW_OK;
}

static slw_code try_name(search *at, const char *name, slwi_found_binary *out, slw_error *err) {
    slw_file file;
    if (name == NULL || !slwi_entry_find(at->entry, name, &file)) return SLW_OK;
    return try_file(at, &file, out, err);
}

static slw_code ambiguous(const slwi_found_binary *first, const slw_file *second, slw_error *err) {
    slwi_error_tried(err, first->contract->launch_binary);
    slwi_error_tried(err, second->path.data);
    slwi_error_hint(err, "name the launch binary in the spec (keep)");
    return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "AMBIGUOUS", "more than one payload is a launch binary");
}

/* Every payload is read: what cannot be read as a contract is not a launch binary (objects beside shared objects),
   and its error is told only when nothing else is found. */
static slw_code try_all(search *at, slwi_found_binary *out, slw_error *err) {
    slwi_found_binary found = {0};
    slw_error refusal = SLW_ERROR_INIT;
    slw_file file;
    for (size_t i = 0; slwi_entry_file(at->entry, i, &file); i++) {
        slwi_found_binary candidate = {0};
        slw_error local = SLW_ERROR_INIT;
        const slw_code rc = try_file(at, &file, &candidate, &local);
        const int readable = rc == SLW_OK && candidate.image != NULL;
        if (rc == SLW_E_INVALID_BINARY || rc == SLW_E_INVALID_METADATA || rc == SLW_E_UNSUPPORTED_INPUT) {
            if (refusal.code == SLW_OK) slwi_error_copy(&refusal, &local);
        } else if (rc != SLW_OK || (readable && found.image != NULL)) {
            const slw_code code = rc != SLW_OK ? rc : ambiguous(&found, &file, err);
            if (rc != SLW_OK) slwi_error_copy(err, &local);
            slwi_found_binary_drop(&candidate, at->allocator);
            slwi_found_binary_drop(&found, at->allocator);
            return code;
        } else if (readable) {
            found = candidate;
        }
    }
    if (found.image == NULL && refusal.code != SLW_OK) {
        slwi_error_copy(err, &refusal);
        return refusal.code;
    }
    *out = found;
    return SLW_OK;
}

slw_code slwi_find_binary(slwi_entry *entry, const slw_allocator *allocator, const char *backend, const char *target,
                          slwi_found_binary *out, slw_error *err) {
    search at = {entry, allocator, backend, target, 0};
    const slw_spec *spec = slwi_entry_spec(entry);
    slwi_found_binary found = {0};
    slw_code rc = try_name(&at, spec != NULL ? slw_spec_keep(spec) : NULL, &found, err);
    if (rc == SLW_OK && found.image == NULL && backend != NULL) {
        const slw_backend_vtable *reader = slw_backend_find(backend);
        if (reader != NULL) rc = try_name(&at, reader->launch_binary, &found, err);
    }
    if (rc == SLW_OK && found.image == NULL) rc = try_all(&at, &found, err);
    if (rc != SLW_OK) return rc;
    if (found.image == NULL)
        return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "NOT_RECOGNISED",
                         "no payload is a binary that a backend of this build knows");
    found.read_bytes = at.bytes;
    *out = found;
    return SLW_OK;
}
