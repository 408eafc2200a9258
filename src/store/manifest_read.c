/* Learning from a marker which key and spec it is of. Nothing it says is believed: the key and the spec are made
 * anew and the caller compares their names with the path, and then the tree with the whole text. */
#include <slipway/limits.h>
#include <string.h>

#include "fail.h"
#include "json.h"
#include "memory.h"
#include "store_manifest.h"
#include "text.h"

typedef struct reading {
    const slw_allocator *allocator;
    const char *domain;
    slw_error *err;
} reading;

static slw_code bad(const reading *r, const char *field) {
    (void)slwi_fail(r->err, SLW_E_INVALID_ENTRY, "BAD_MARKER", "the manifest's %s is not one", field);
    slwi_error_subject(r->err, field, strlen(field));
    return SLW_E_INVALID_ENTRY;
}

static const char *text_of(const slwi_json *object, const char *name) {
    slw_bytes text;
    if (!slwi_json_string(slwi_json_get(object, name), &text) || strlen(text.data) != text.size) return NULL;
    return text.data;
}

static slw_code read_key(const reading *r, const slwi_json *root, slw_key **out) {
    const slwi_json *components = slwi_json_get(root, "components");
    const slwi_json *environment = slwi_json_get(components, "environment");
    slw_component list[SLW_LIMIT_COMPONENTS];
    size_t count = 0;
    void *cursor = NULL;
    slw_bytes name;
    const slwi_json *value;
    while (slwi_json_member(environment, &cursor, &name, &value)) {
        slw_bytes digest;
        if (name.size == 6 && memcmp(name.data, "schema", 6) == 0) continue;
        if (count == SLW_LIMIT_COMPONENTS || !slwi_json_string(value, &digest)) return bad(r, "environment");
        list[count++] = (slw_component){name.data, digest.data};
    }
    slw_key_inputs inputs = SLW_KEY_INPUTS_INIT;
    inputs.allocator = *r->allocator;
    inputs.domain = r->domain;
    inputs.components = list;
    inputs.component_count = count;
    inputs.source = text_of(components, "source");
    inputs.specialization = text_of(components, "specialization");
    const slw_code code = slw_key_create(&inputs, out, NULL);
    if (code == SLW_E_NO_MEMORY) return slwi_fail_memory(r->err, count * sizeof *list);
    return code == SLW_OK ? SLW_OK : bad(r, "components");
}

/* The names of the list as raw bytes, all in `names`. */
static slw_code read_names(const reading *r, const slwi_json *list, slwi_buffer *names, slw_bytes *out) {
    const size_t count = slwi_json_length(list);
    for (size_t i = 0; i < count; i++) {
        slw_bytes text;
        const size_t at = names->size;
        if (!slwi_json_string(slwi_json_item(list, i), &text) || !slwi_wtf8_to_os(text, names))
            return bad(r, "required_files");
        out[i].size = names->size - at;
        slwi_buffer_append_char(names, 0);
    }
    if (names->failed) return slwi_buffer_status(names, r->err);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        out[i].data = names->data + at;
        at += out[i].size + 1;
    }
    return SLW_OK;
}

static slw_code read_state_and_kind(const reading *r, const slwi_json *root, slw_spec_inputs *inputs) {
    const char *state = text_of(root, "state"), *kind = text_of(root, "build_kind");
    if (state == NULL || kind == NULL) return bad(r, "state");
    if (strcmp(state, slw_state_name(SLW_GENERATED)) == 0)
        inputs->state = SLW_GENERATED;
    else if (strcmp(state, slw_state_name(SLW_READY)) == 0)
        inputs->state = SLW_READY;
    else
        return bad(r, "state");
    if (strcmp(kind, slw_build_kind_name(SLW_SINGLE)) == 0)
        inputs->build_kind = SLW_SINGLE;
    else if (strcmp(kind, slw_build_kind_name(SLW_DISTRIBUTED)) == 0)
        inputs->build_kind = SLW_DISTRIBUTED;
    else
        return bad(r, "build_kind");
    return SLW_OK;
}

static slw_code read_spec(const reading *r, const slwi_json *root, slw_spec **out) {
    const slwi_json *list = slwi_json_get(root, "required_files");
    const size_t count = slwi_json_length(list);
    slw_spec_inputs inputs = SLW_SPEC_INPUTS_INIT;
    slw_code code = read_state_and_kind(r, root, &inputs);
    if (code != SLW_OK) return code;
    if (count == 0 || count > SLW_LIMIT_REQUIRED_FILES) return bad(r, "required_files");
    slwi_buffer names;
    slwi_buffer_init(&names, r->allocator, SIZE_MAX);
    slw_bytes *files = slwi_alloc_array(r->allocator, count, sizeof *files);
    code = files == NULL ? slwi_fail_memory(r->err, count * sizeof *files) : read_names(r, list, &names, files);
    if (code == SLW_OK) {
        inputs.allocator = *r->allocator;
        inputs.domain = r->domain;
        inputs.required_files = files;
        inputs.required_file_count = count;
        code = slw_spec_create(&inputs, out, NULL);
        if (code == SLW_E_NO_MEMORY)
            code = slwi_fail_memory(r->err, names.size);
        else if (code != SLW_OK)
            code = bad(r, "required_files");
    }
    slwi_free(r->allocator, files);
    slwi_buffer_free(&names);
    return code;
}

slw_code slwi_manifest_read(const slw_allocator *allocator, const char *domain, slw_bytes marker, slw_key **key,
                            slw_spec **spec, slw_error *err) {
    const reading r = {allocator, domain, err};
    slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
    limits.lone_surrogates = 1;
    slwi_json_document *document = NULL;
    slw_error why = SLW_ERROR_INIT;
    slw_code code = slwi_json_parse(allocator, marker, &limits, &document, &why);
    if (code == SLW_E_NO_MEMORY) return slwi_fail_memory(err, marker.size);
    if (code != SLW_OK) return slwi_fail(err, SLW_E_INVALID_ENTRY, "BAD_MARKER", "the manifest: %s", why.message);
    slw_key *new_key = NULL;
    slw_spec *new_spec = NULL;
    const slwi_json *root = slwi_json_root(document);
    code = slwi_json_kind(root) == SLWI_JSON_OBJECT ? read_key(&r, root, &new_key) : bad(&r, "text");
    if (code == SLW_OK) code = read_spec(&r, root, &new_spec);
    slwi_json_free(&document);
    if (code != SLW_OK) {
        slw_key_release(&new_key);
        return code;
    }
    *key = new_key;
    *spec = new_spec;
    return SLW_OK;
}
