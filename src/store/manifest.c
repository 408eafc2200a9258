#include "store_manifest.h"

#include <string.h>

#include "fail.h"
#include "hex.h"
#include "memory.h"
#include "store_core.h"

static int falls_after_schema(const char *name) {
    return strcmp(name, "schema") > 0;
}

/* {"<component>":"<digest>",…,"schema":1}: "schema" stands where its name sorts. */
static void put_environment(slwi_json_writer *json, const slw_key *key) {
    int schema_written = 0;
    slwi_json_object_begin(json);
    for (size_t i = 0; i < slw_key_component_count(key); i++) {
        const slw_component component = slw_key_component(key, i);
        if (!schema_written && falls_after_schema(component.name)) {
            slwi_json_key(json, "schema");
            slwi_json_put_u64(json, 1);
            schema_written = 1;
        }
        slwi_json_key(json, component.name);
        slwi_json_put_text(json, component.digest);
    }
    if (!schema_written) {
        slwi_json_key(json, "schema");
        slwi_json_put_u64(json, 1);
    }
    slwi_json_object_end(json);
}

static void put_head(slwi_json_writer *json, const slw_key *key, const slw_spec *spec) {
    slwi_json_object_begin(json);
    slwi_json_key(json, "build_kind");
    slwi_json_put_text(json, slw_build_kind_name(slw_spec_build_kind(spec)));
    slwi_json_key(json, "components");
    slwi_json_object_begin(json);
    slwi_json_key(json, "environment");
    put_environment(json, key);
    slwi_json_key(json, "schema");
    slwi_json_put_u64(json, 1);
    slwi_json_key(json, "source");
    slwi_json_put_text(json, slw_key_source(key));
    slwi_json_key(json, "specialization");
    slwi_json_put_text(json, slw_key_specialization(key));
    slwi_json_object_end(json);
    slwi_json_key(json, "files");
    slwi_json_array_begin(json);
}

static void put_tail(slwi_buffer *tail, const slw_key *key, const slw_spec *spec) {
    slwi_json_writer json;
    slwi_json_begin(&json, tail, 1);
    slwi_json_object_begin(&json);
    slwi_json_key(&json, "key");
    slwi_json_put_text(&json, slw_key_digest(key));
    slwi_json_key(&json, "required_files");
    slwi_json_array_begin(&json);
    for (size_t i = 0; i < slw_spec_required_count(spec); i++) slwi_json_put_os(&json, slw_spec_required(spec, i));
    slwi_json_array_end(&json);
    slwi_json_key(&json, "schema");
    slwi_json_put_u64(&json, 1);
    slwi_json_key(&json, "state");
    slwi_json_put_text(&json, slw_state_name(slw_spec_state(spec)));
    slwi_json_object_end(&json);
}

slw_code slwi_manifest_begin(slwi_manifest *manifest, slwi_buffer *text, slwi_buffer *tail, const slw_key *key,
                             const slw_spec *spec, slw_error *err) {
    slwi_buffer_clear(text);
    slwi_buffer_clear(tail);
    manifest->text = text;
    manifest->tail = tail;
    slwi_json_begin(&manifest->json, text, 1);
    put_head(&manifest->json, key, spec);
    put_tail(tail, key, spec);
    const slw_code code = slwi_buffer_status(text, err);
    return code != SLW_OK ? code : slwi_buffer_status(tail, err);
}

int slwi_manifest_frames(const slwi_manifest *manifest, slw_bytes marker) {
    const char *bytes = marker.data;
    const size_t head = manifest->text->size;
    const size_t tail = manifest->tail->size - 1;
    if (marker.size < head + 2 + tail) return 0;
    return memcmp(bytes, manifest->text->data, head) == 0 &&
           memcmp(bytes + marker.size - tail, manifest->tail->data + 1, tail) == 0 &&
           memcmp(bytes + marker.size - tail - 2, "],", 2) == 0;
}

/* The digest that stands in the marker where the text is going to have one: behind the quote that comes next. */
static void digest_from(slw_bytes marker, size_t text_size, slw_digest *out) {
    memset(out, 0, sizeof *out);
    const size_t at = text_size + 1;
    if (marker.size < 64 || at > marker.size - 64) return;
    if (!slwi_hex_decode((const char *)marker.data + at, 64, out->bytes)) memset(out, 0, sizeof *out);
}

slw_code slwi_manifest_finish(slwi_manifest *manifest, slwi_inventory *inventory, slw_bytes marker, slw_error *err) {
    slwi_json_writer *json = &manifest->json;
    slwi_buffer *text = manifest->text;
    char digest[SLW_DIGEST_TEXT_SIZE];
    for (size_t i = 0; i < inventory->count && !text->failed; i++) {
        slwi_tree_file *file = &inventory->files[i];
        file->text_at = (uint32_t)text->size;
        slwi_json_object_begin(json);
        slwi_json_key(json, "executable");
        slwi_json_put_bool(json, file->executable != 0);
        slwi_json_key(json, "path");
        slwi_json_put_os(json, (slw_bytes){file->path, file->path_size});
        slwi_json_key(json, "sha256");
        if (marker.data != NULL) digest_from(marker, text->size, &file->sha256);
        slw_digest_format(&file->sha256, digest);
        slwi_json_put_text(json, digest);
        slwi_json_key(json, "size");
        slwi_json_put_u64(json, file->size);
        slwi_json_object_end(json);
    }
    slwi_json_array_end(json);
    slwi_buffer_append_char(text, ',');
    slwi_buffer_append(text, manifest->tail->data + 1, manifest->tail->size - 1);
    return slwi_buffer_status(text, err);
}
