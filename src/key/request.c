/* REQUEST.json to a key and a spec. */
#include <string.h>

#include "fail.h"
#include "json_place.h"
#include "key_internal.h"
#include "memory.h"
#include "text.h"

#include <slipway/limits.h>

typedef struct request {
    slw_allocator allocator;
    slw_bytes text;
    const slwi_json *root;
    slw_error *err;
    slw_component *components;
    slw_bytes *files; /* raw names, in `names` */
    slwi_buffer names;
    slw_key_inputs key;
    slw_spec_inputs spec;
} request;

static const char *const fields[] = {"components", "source",         "specialization", "state",
                                     "build_kind", "required_files", NULL};

/* Sets the place to the value of a field of the document (NULL: to the document), or to the item or member `item` of
 * it. */
static void place(const request *r, const char *field, const size_t *item) {
    size_t path[2], steps = 0;
    if (field != NULL) path[steps++] = slwi_json_member_number(r->root, (slw_bytes){field, strlen(field)});
    if (item != NULL) path[steps++] = *item;
    slwi_json_place(r->text, path, steps, r->err);
}

static slw_code refuse(const request *r, const char *field, const size_t *item, const char *reason,
                       const char *message) {
    place(r, field, item);
    slwi_error_subject(r->err, field, strlen(field)); /* unless a finer one is set */
    return slwi_fail(r->err, SLW_E_INVALID_METADATA, reason, "%s: %s", field, message);
}

/* Text for an argument that ends at its NUL: one within would hide what follows it. */
static int plain_text(const slwi_json *node, slw_bytes *out) {
    return slwi_json_string(node, out) && memchr(out->data, 0, out->size) == NULL;
}

static slw_code read_digest(const request *r, const char *field, const char **out) {
    slw_bytes text;
    if (!slwi_json_string(slwi_json_get(r->root, field), &text) || !slwi_digest_text_ok(text.data, text.size)) {
        return refuse(r, field, NULL, "BAD_DIGEST", "a digest is 64 lowercase hexadecimal digits");
    }
    *out = text.data;
    return SLW_OK;
}

static slw_code read_components(request *r) {
    const slwi_json *object = slwi_json_get(r->root, "components");
    if (object == NULL || slwi_json_kind(object) != SLWI_JSON_OBJECT) {
        return refuse(r, "components", NULL, "BAD_COMPONENT", "an object of names and digests");
    }
    size_t count = slwi_json_length(object), i = 0;
    r->components = slwi_alloc_array(&r->allocator, count == 0 ? 1 : count, sizeof *r->components);
    if (r->components == NULL) return slwi_fail_memory(r->err, count * sizeof *r->components);
    void *cursor = NULL;
    slw_bytes name, text;
    const slwi_json *value;
    for (; slwi_json_member(object, &cursor, &name, &value) && i < count; i++) {
        if (memchr(name.data, 0, name.size) != NULL) {
            return refuse(r, "components", &i, "BAD_COMPONENT", "a NUL in a component's name");
        }
        if (!plain_text(value, &text) || !slwi_digest_text_ok(text.data, text.size)) {
            slwi_error_subject(r->err, name.data, name.size);
            return refuse(r, "components", &i, "BAD_DIGEST", "a digest is 64 lowercase hexadecimal digits");
        }
        r->components[i] = (slw_component){name.data, text.data};
    }
    r->key.components = r->components;
    r->key.component_count = i;
    return SLW_OK;
}

static slw_code read_enums(request *r) {
    slw_bytes text;
    if (!slwi_json_string(slwi_json_get(r->root, "state"), &text) || !slwi_state_parse(text, &r->spec.state)) {
        return refuse(r, "state", NULL, "BAD_STATE", "generated or ready");
    }
    if (!slwi_json_string(slwi_json_get(r->root, "build_kind"), &text) ||
        !slwi_build_kind_parse(text, &r->spec.build_kind)) {
        return refuse(r, "build_kind", NULL, "BAD_STATE", "single_chip or distributed");
    }
    return SLW_OK;
}

/* A required file's raw name is put behind the others. U+DC80 to U+DCFF become bytes; the name has to be what those
   bytes are read back as, so that one name has one text. */
static slw_code read_name(request *r, const slwi_json *node, size_t index) {
    slw_bytes text;
    slwi_buffer again;
    size_t at = r->names.size;
    if (!slwi_json_string(node, &text)) return refuse(r, "required_files", &index, "BAD_PATH", "a name is a string");
    int ok = slwi_wtf8_to_os(text, &r->names);
    slw_code rc = slwi_buffer_status(&r->names, r->err);
    if (rc != SLW_OK) return rc;
    if (ok) {
        slwi_buffer_init(&again, &r->allocator, SIZE_MAX);
        slwi_os_to_wtf8((slw_bytes){r->names.data + at, r->names.size - at}, &again);
        rc = slwi_buffer_status(&again, r->err);
        ok = again.size == text.size && (text.size == 0 || memcmp(again.data, text.data, text.size) == 0);
        slwi_buffer_free(&again);
        if (rc != SLW_OK) return rc;
    }
    if (!ok) {
        return refuse(r, "required_files", &index, "BAD_PATH",
                      "a surrogate that does not stand for a byte that is not UTF-8");
    }
    r->files[index].size = r->names.size - at;
    return SLW_OK;
}

static slw_code read_files(request *r) {
    const slwi_json *array = slwi_json_get(r->root, "required_files");
    if (array == NULL || slwi_json_kind(array) != SLWI_JSON_ARRAY) {
        return refuse(r, "required_files", NULL, "BAD_PATH", "an array of names");
    }
    size_t count = slwi_json_length(array);
    if (count > SLW_LIMIT_REQUIRED_FILES) {
        place(r, "required_files", NULL);
        slwi_error_amount(r->err, "required files", count, SLW_LIMIT_REQUIRED_FILES, "files");
        return slwi_fail(r->err, SLW_E_LIMIT, "LIMIT", "too many required files");
    }
    r->files = slwi_alloc_array(&r->allocator, count == 0 ? 1 : count, sizeof *r->files);
    if (r->files == NULL) return slwi_fail_memory(r->err, count * sizeof *r->files);
    for (size_t i = 0; i < count; i++) {
        slw_code rc = read_name(r, slwi_json_item(array, i), i);
        if (rc != SLW_OK) return rc;
    }
    const char *at = r->names.data != NULL ? r->names.data : "";
    for (size_t i = 0; i < count; i++) { /* the buffer moves no more */
        r->files[i].data = at;
        at += r->files[i].size;
    }
    r->spec.required_files = r->files;
    r->spec.required_file_count = count;
    return SLW_OK;
}

static slw_code check_fields(const request *r) {
    slw_bytes unknown;
    if (r->root == NULL || slwi_json_kind(r->root) != SLWI_JSON_OBJECT) {
        place(r, NULL, NULL);
        return slwi_fail(r->err, SLW_E_INVALID_METADATA, "BAD_REQUEST", "a request is an object");
    }
    if (!slwi_json_only(r->root, fields, &unknown)) {
        size_t number = slwi_json_member_number(r->root, unknown);
        slwi_json_place(r->text, &number, 1, r->err);
        slwi_error_subject(r->err, unknown.data, unknown.size);
        return slwi_fail(r->err, SLW_E_INVALID_METADATA, "UNKNOWN_FIELD", "a request has no such field");
    }
    for (size_t i = 0; fields[i] != NULL; i++) {
        if (slwi_json_get(r->root, fields[i]) != NULL) continue;
        place(r, NULL, NULL);
        slwi_error_subject(r->err, fields[i], strlen(fields[i]));
        return slwi_fail(r->err, SLW_E_INVALID_METADATA, "MISSING_FIELD", "%s is missing", fields[i]);
    }
    return SLW_OK;
}

/* What only the key and the spec know about their inputs stands somewhere in the text too. */
static slw_code create(const request *r, slw_key **key, slw_spec **spec) {
    slw_code rc = slw_key_create(&r->key, key, r->err);
    if (rc == SLW_E_USAGE && r->err != NULL && r->err->reason != NULL && strcmp(r->err->reason, "BAD_COMPONENT") == 0) {
        place(r, "components", NULL);
    }
    if (rc != SLW_OK) return rc;
    rc = slw_spec_create(&r->spec, spec, r->err);
    if (rc == SLW_E_USAGE || rc == SLW_E_LIMIT) place(r, "required_files", NULL);
    if (rc != SLW_OK) slw_key_release(key);
    return rc;
}

static slw_code read_request(request *r, slw_key **key, slw_spec **spec) {
    slw_code rc = check_fields(r);
    if (rc == SLW_OK) rc = read_components(r);
    if (rc == SLW_OK) rc = read_digest(r, "source", &r->key.source);
    if (rc == SLW_OK) rc = read_digest(r, "specialization", &r->key.specialization);
    if (rc == SLW_OK) rc = read_enums(r);
    if (rc == SLW_OK) rc = read_files(r);
    if (rc == SLW_OK) rc = create(r, key, spec);
    return rc;
}

slw_code slw_request_parse(const slw_allocator *allocator, slw_bytes json, const char *domain, slw_key **out_key,
                           slw_spec **out_spec, slw_error *err) {
    static const slwi_json_limits limits = {SLW_LIMIT_JSON_BYTES, 64, SLW_LIMIT_JSON_VALUES, 1};
    slwi_json_document *document = NULL;
    slw_key *key = NULL;
    slw_spec *spec = NULL;
    request r = {.text = json, .err = err, .key = SLW_KEY_INPUTS_INIT, .spec = SLW_SPEC_INPUTS_INIT};
    slwi_error_reset(err);
    if (err != NULL && err->size != sizeof *err) r.err = NULL;
    if (out_key == NULL || out_spec == NULL || (json.data == NULL && json.size != 0)) {
        return slwi_fail(err, SLW_E_USAGE, "NULL", "no text, or no place for the key or the spec");
    }
    slw_code rc = slwi_allocator_take(allocator, &r.allocator, err);
    if (rc == SLW_OK) rc = slwi_json_parse(&r.allocator, json, &limits, &document, err);
    if (rc != SLW_OK) return rc;
    r.key.allocator = r.spec.allocator = r.allocator;
    r.key.domain = r.spec.domain = domain;
    r.root = slwi_json_root(document);
    slwi_buffer_init(&r.names, &r.allocator, SIZE_MAX);
    rc = read_request(&r, &key, &spec);
    slwi_buffer_free(&r.names);
    slwi_free(&r.allocator, r.files);
    slwi_free(&r.allocator, r.components);
    slwi_json_free(&document);
    if (rc != SLW_OK) return rc;
    *out_key = key;
    *out_spec = spec;
    return SLW_OK;
}
