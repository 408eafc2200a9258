/* A launch binary's contract, alone or with its metadata. */
#include <string.h>

#include <slipway/inspect.h>
#include <slipway/limits.h>

#include "backends.h"
#include "fail.h"
#include "memory.h"
#include "triton_metadata.h"

#define METADATA_DEPTH 64u

typedef enum metadata_form { FORM_NONE, FORM_TRITON, FORM_CONTRACT } metadata_form;

typedef struct reading {
    slw_allocator allocator;
    slw_bytes binary;
    const char *name;
    const char *target;
    const slw_backend_vtable *reader;
    slwi_json_document *document; /* lends the metadata its text */
    metadata_form form;
    slwi_triton_metadata triton;
    slw_contract *stored;
    slw_error *err;
} reading;

/* The contract itself, or a slipway.json with the contract in it. */
static const slwi_json *contract_object(const slwi_json *root) {
    const slwi_json *inner = slwi_json_get(root, "contract");
    if (inner != NULL && slwi_json_kind(inner) == SLWI_JSON_OBJECT) root = inner;
    return slwi_json_get(root, "kernels") != NULL && slwi_json_get(root, "reader_revision") != NULL ? root : NULL;
}

static slw_code read_metadata(reading *r, slw_bytes metadata) {
    /* Python writes paths that are not UTF-8 as lone surrogates; what is used is checked for them. */
    static const slwi_json_limits limits = {SLW_LIMIT_JSON_BYTES, METADATA_DEPTH, SLW_LIMIT_JSON_VALUES, 1};
    slw_code rc = slwi_json_parse(&r->allocator, metadata, &limits, &r->document, r->err);
    if (rc != SLW_OK) return rc;
    const slwi_json *root = slwi_json_root(r->document);
    const slwi_json *contract = contract_object(root);
    if (contract != NULL) {
        r->form = FORM_CONTRACT;
        return slwi_contract_read(&r->allocator, contract, &r->stored, r->err);
    }
    if (slwi_triton_recognises(root)) {
        r->form = FORM_TRITON;
        return slwi_triton_read(root, &r->triton, r->err);
    }
    slwi_error_subject(r->err, "metadata", 8);
    return slwi_fail(r->err, SLW_E_INVALID_METADATA, "NOT_RECOGNISED",
                     "the metadata is neither Triton's nor a contract of slipway.json");
}

static slw_code read_alone(reading *r, const char *target, slw_contract **out) {
    return r->reader->read_contract(&r->allocator, r->binary, r->name, target, out, r->err);
}

static slw_code read_with_triton(reading *r, slw_contract **out) {
    slw_contract *binary = NULL;
    slw_contract *joined = NULL;
    slw_code rc = read_alone(r, r->target, &binary);
    if (rc != SLW_OK) return rc;
    rc = slwi_triton_contract(&r->allocator, &r->triton, binary, &joined, r->err);
    r->reader->release_contract(&r->allocator, &binary);
    if (rc == SLW_OK) rc = slwi_triton_check_shared(r->binary, joined, r->err);
    if (rc == SLW_OK)
        *out = joined;
    else
        slwi_contract_free(&r->allocator, &joined);
    return rc;
}

/* What the payload is called is the entry's affair: the stored name is kept, whatever the caller calls the file. */
static slw_code read_with_stored(reading *r, slw_contract **out) {
    slw_contract *binary = NULL;
    const char *target = r->target != NULL ? r->target : r->stored->target;
    slw_code rc = read_alone(r, target, &binary);
    if (rc != SLW_OK) return rc;
    slw_contract derived = *binary;
    derived.launch_binary = r->stored->launch_binary;
    rc = slwi_contract_renew(&r->allocator, r->stored, &derived, out, r->err);
    r->reader->release_contract(&r->allocator, &binary);
    return rc;
}

static slw_code read_all(reading *r, slw_bytes metadata, slw_contract **out) {
    r->reader = slwi_backend_recognise(r->binary);
    if (r->reader == NULL)
        return slwi_fail(r->err, SLW_E_UNSUPPORTED_INPUT, "NOT_RECOGNISED",
                         "no backend of this build knows such a binary");
    if (metadata.size == 0) return read_alone(r, r->target, out);
    slw_code rc = read_metadata(r, metadata);
    if (rc != SLW_OK) return rc;
    return r->form == FORM_TRITON ? read_with_triton(r, out) : read_with_stored(r, out);
}

slw_code slw_contract_read(const slw_allocator *allocator, slw_bytes binary, slw_bytes metadata, const char *name,
                           const char *target, slw_contract **out, slw_error *err) {
    slwi_error_reset(err);
    if (out == NULL || binary.data == NULL || (metadata.data == NULL && metadata.size != 0))
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_contract_read needs a binary and `out`");
    if (binary.size > SLW_LIMIT_BINARY_BYTES) {
        slwi_error_amount(err, "launch binary", binary.size, SLW_LIMIT_BINARY_BYTES, "bytes");
        return slwi_fail(err, SLW_E_LIMIT, "TOO_LARGE", "the binary is too large");
    }
    reading r;
    slw_contract *contract = NULL;
    memset(&r, 0, sizeof r);
    slw_code rc = slwi_allocator_take(allocator, &r.allocator, err);
    if (rc != SLW_OK) return rc;
    r.binary = binary;
    r.name = name;
    r.target = target;
    r.err = err;
    rc = read_all(&r, metadata, &contract);
    if (rc != SLW_OK && name != NULL) slwi_error_path(err, name);
    slwi_contract_free(&r.allocator, &r.stored);
    slwi_json_free(&r.document);
    if (rc == SLW_OK) *out = contract;
    return rc;
}

void slw_contract_release(const slw_allocator *allocator, slw_contract **contract) {
    slwi_contract_free(allocator, contract);
}
