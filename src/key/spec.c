/* A spec: the state, the build kind and the files an artifact must hold; its digest is part of the path. */
#include <string.h>

#include "fail.h"
#include "heap_sort.h"
#include "key_internal.h"
#include "memory.h"
#include "ref.h"
#include "text.h"

#include <slipway/limits.h>

#define SPEC_TAG 0x534c5753u /* "SWLS" */

struct slw_spec {
    slwi_ref ref;
    uint32_t tag;
    uint32_t required_count;
    uint8_t state;
    uint8_t build_kind;
    char digest[SLW_DIGEST_TEXT_SIZE];
    const char *domain; /* static */
    char *keep;         /* in the names' block, or NULL */
    slw_allocator allocator;
    slw_bytes required[]; /* sorted by code point; the names, each with a NUL, follow the array */
};

const char *slw_state_name(slw_state state) {
    if (state == SLW_GENERATED) return "generated";
    return state == SLW_READY ? "ready" : NULL;
}

const char *slw_build_kind_name(slw_build_kind kind) {
    if (kind == SLW_SINGLE) return "single_chip";
    return kind == SLW_DISTRIBUTED ? "distributed" : NULL;
}

static int is_text(slw_bytes text, const char *expected) {
    return text.size == strlen(expected) && memcmp(text.data, expected, text.size) == 0;
}

int slwi_state_parse(slw_bytes text, slw_state *out) {
    int ready = is_text(text, "ready");
    if (!ready && !is_text(text, "generated")) return 0;
    *out = ready ? SLW_READY : SLW_GENERATED;
    return 1;
}

int slwi_build_kind_parse(slw_bytes text, slw_build_kind *out) {
    int distributed = is_text(text, "distributed");
    if (!distributed && !is_text(text, "single_chip")) return 0;
    *out = distributed ? SLW_DISTRIBUTED : SLW_SINGLE;
    return 1;
}

static slw_code check_path(slw_bytes raw, slw_error *err) {
    if (raw.data != NULL && raw.size <= SLW_LIMIT_PATH_BYTES && slwi_payload_path_ok(raw, 1)) return SLW_OK;
    if (raw.data != NULL) slwi_error_subject(err, raw.data, raw.size);
    if (raw.size > SLW_LIMIT_PATH_BYTES) {
        slwi_error_amount(err, "payload path", raw.size, SLW_LIMIT_PATH_BYTES, "bytes");
        return slwi_fail(err, SLW_E_LIMIT, "LIMIT", "the name of a required file is too long");
    }
    return slwi_fail(err, SLW_E_USAGE, "BAD_PATH",
                     "a payload path is relative, normalized, without backslash, and not the marker's");
}

static slw_code check_inputs(const slw_spec_inputs *inputs, const char **domain, slw_error *err) {
    *domain = slwi_domain_known(inputs->domain);
    if (*domain == NULL) {
        slwi_error_subject(err, inputs->domain, strlen(inputs->domain));
        return slwi_fail(err, SLW_E_USAGE, "BAD_DOMAIN", "specs are of slipway.identity or pypto.identity");
    }
    if (slw_state_name(inputs->state) == NULL || slw_build_kind_name(inputs->build_kind) == NULL) {
        return slwi_fail(err, SLW_E_USAGE, "BAD_STATE", "no such state or build kind");
    }
    if (inputs->required_file_count == 0 || inputs->required_files == NULL) {
        return slwi_fail(err, SLW_E_USAGE, "EMPTY", "a spec names at least one required file");
    }
    if (inputs->required_file_count > SLW_LIMIT_REQUIRED_FILES) {
        slwi_error_amount(err, "required files", inputs->required_file_count, SLW_LIMIT_REQUIRED_FILES, "files");
        return slwi_fail(err, SLW_E_LIMIT, "LIMIT", "too many required files");
    }
    return SLW_OK;
}

/* Checks every name; *total is the size of the one block that holds it all. */
static slw_code check_names(const slw_spec_inputs *inputs, size_t *total, slw_error *err) {
    slw_code rc = SLW_OK;
    size_t size = sizeof(slw_spec) + inputs->required_file_count * sizeof(slw_bytes);
    for (size_t i = 0; i < inputs->required_file_count && rc == SLW_OK; i++) {
        rc = check_path(inputs->required_files[i], err);
        size += inputs->required_files[i].size + 1; /* count and sizes are limited: no overflow */
    }
    if (rc == SLW_OK && inputs->keep != NULL) {
        slw_bytes keep = {inputs->keep, strnlen(inputs->keep, SLW_LIMIT_PATH_BYTES + 1)};
        rc = check_path(keep, err);
        size += keep.size + 1;
    }
    *total = size;
    return rc;
}

static int compare_names(const void *a, const void *b) {
    const slw_bytes *left = a, *right = b;
    return slwi_os_compare(*left, *right);
}

static void release_spec(slwi_ref *ref) {
    slw_spec *spec = (slw_spec *) (void *) ref;
    slw_allocator allocator = spec->allocator;
    spec->tag = 0;
    slwi_free(&allocator, spec);
}

static void fill(slw_spec *spec, const slw_spec_inputs *inputs) {
    char *text = (char *) &spec->required[inputs->required_file_count];
    spec->required_count = (uint32_t) inputs->required_file_count;
    for (size_t i = 0; i < inputs->required_file_count; i++) {
        slw_bytes name = inputs->required_files[i];
        memcpy(text, name.data, name.size);
        spec->required[i] = (slw_bytes){text, name.size};
        text += name.size + 1; /* the block is zeroed: the NUL is there */
    }
    if (inputs->keep != NULL) {
        memcpy(text, inputs->keep, strlen(inputs->keep));
        spec->keep = text;
    }
    slwi_heap_sort(spec->required, spec->required_count, sizeof spec->required[0], compare_names);
}

/* The tuple (state, build kind, tuple of names). */
static void digest_spec(slw_spec *spec) {
    slwi_sha256_ctx hash;
    slwi_record_writer w;
    slw_digest digest;
    slwi_record_writer_hash(&w, &hash, spec->domain);
    slwi_record_open(&w, "tuple");
    slwi_record_put_text(&w, slw_state_name((slw_state) spec->state));
    slwi_record_comma(&w);
    slwi_record_put_text(&w, slw_build_kind_name((slw_build_kind) spec->build_kind));
    slwi_record_comma(&w);
    slwi_record_open(&w, "tuple");
    for (size_t i = 0; i < spec->required_count; i++) {
        if (i != 0) slwi_record_comma(&w);
        slwi_record_put_os_string(&w, spec->required[i]);
    }
    slwi_record_close(&w);
    slwi_record_close(&w);
    slwi_record_writer_end(&w);
    slwi_sha256_final(&hash, &digest);
    slw_digest_format(&digest, spec->digest);
}

slw_code slw_spec_create(const slw_spec_inputs *inputs, slw_spec **out, slw_error *err) {
    slw_allocator allocator;
    const char *domain;
    size_t total = 0;
    slwi_error_reset(err);
    if (inputs == NULL || inputs->size != sizeof *inputs || out == NULL) {
        return slwi_fail(err, SLW_E_USAGE, "NULL", "no inputs (or of another size), or no place for the spec");
    }
    slw_code rc = check_inputs(inputs, &domain, err);
    if (rc == SLW_OK) rc = slwi_allocator_take(&inputs->allocator, &allocator, err);
    if (rc == SLW_OK) rc = check_names(inputs, &total, err);
    if (rc != SLW_OK) return rc;
    slw_spec *spec = slwi_alloc_zero(&allocator, total);
    if (spec == NULL) return slwi_fail_memory(err, total);
    slwi_ref_init(&spec->ref, release_spec);
    spec->tag = SPEC_TAG;
    spec->allocator = allocator;
    spec->domain = domain;
    spec->state = (uint8_t) inputs->state;
    spec->build_kind = (uint8_t) inputs->build_kind;
    fill(spec, inputs);
    for (size_t i = 1; i < spec->required_count; i++) {
        if (slwi_os_compare(spec->required[i - 1], spec->required[i]) != 0) continue;
        slwi_error_subject(err, spec->required[i].data, spec->required[i].size);
        slwi_release(spec);
        return slwi_fail(err, SLW_E_USAGE, "DUPLICATE", "a required file is named twice");
    }
    digest_spec(spec);
    *out = spec;
    return SLW_OK;
}

int slwi_spec_ok(const slw_spec *spec) {
    return spec != NULL && spec->tag == SPEC_TAG;
}

slw_spec *slw_spec_retain(const slw_spec *spec) {
    return slwi_spec_ok(spec) ? slwi_retain(spec) : NULL;
}

void slw_spec_release(slw_spec **spec) {
    if (spec == NULL) return;
    slw_spec *held = *spec;
    *spec = NULL;
    if (slwi_spec_ok(held)) slwi_release(held);
}

const char *slw_spec_domain(const slw_spec *spec) {
    return slwi_spec_ok(spec) ? spec->domain : NULL;
}

const char *slw_spec_digest(const slw_spec *spec) {
    return slwi_spec_ok(spec) ? spec->digest : NULL;
}

slw_state slw_spec_state(const slw_spec *spec) {
    return slwi_spec_ok(spec) ? (slw_state) spec->state : SLW_GENERATED;
}

slw_build_kind slw_spec_build_kind(const slw_spec *spec) {
    return slwi_spec_ok(spec) ? (slw_build_kind) spec->build_kind : SLW_SINGLE;
}

const char *slw_spec_keep(const slw_spec *spec) {
    return slwi_spec_ok(spec) ? spec->keep : NULL;
}

size_t slw_spec_required_count(const slw_spec *spec) {
    return slwi_spec_ok(spec) ? spec->required_count : 0;
}

slw_bytes slw_spec_required(const slw_spec *spec, size_t index) {
    if (index >= slw_spec_required_count(spec)) return (slw_bytes){NULL, 0};
    return spec->required[index];
}

int slwi_spec_equal(const slw_spec *a, const slw_spec *b) {
    return a == b || (strcmp(a->domain, b->domain) == 0 && strcmp(a->digest, b->digest) == 0);
}

int64_t slwi_spec_find_required(const slw_spec *spec, slw_bytes raw) {
    size_t low = 0, high = spec->required_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = slwi_os_compare(spec->required[middle], raw);
        if (order == 0) return (int64_t) middle;
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return -1;
}

void slwi_spec_write_required(slwi_json_writer *writer, const slw_spec *spec) {
    slwi_json_array_begin(writer);
    for (size_t i = 0; i < spec->required_count; i++) slwi_json_put_os(writer, spec->required[i]);
    slwi_json_array_end(writer);
}
