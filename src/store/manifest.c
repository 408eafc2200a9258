#include "store_manifest.h"

#include <string.h>

#include "fail.h"
#include "hex.h"
#include "json.h"
#include "memory.h"
#include "store_core.h"
#include "text.h"

/* A hit builds this text every time, so its fixed pieces are written as they stand; what comes from outside goes
   through the canonical writer of base/json as soon as it holds anything that could need an escape. */
#define PUT(buffer, literal) slwi_buffer_append((buffer), (literal), sizeof(literal) - 1)

static int is_plain(slw_bytes text) {
    const unsigned char *bytes = text.data;
    for (size_t i = 0; i < text.size; i++)
        if (bytes[i] < ' ' || bytes[i] > '~' || bytes[i] == '"' || bytes[i] == '\\') return 0;
    return 1;
}

/* A name of the file system as a JSON string. */
static void put_name(slwi_buffer *out, slw_bytes raw) {
    if (is_plain(raw)) {
        slwi_buffer_append_char(out, '"');
        slwi_buffer_append(out, raw.data, raw.size);
        slwi_buffer_append_char(out, '"');
        return;
    }
    slwi_buffer wtf8;
    slwi_buffer_init(&wtf8, out->allocator, SIZE_MAX);
    slwi_os_to_wtf8(raw, &wtf8);
    if (wtf8.failed && !out->failed) out->failed = wtf8.failed;
    slwi_json_append_string(out, (slw_bytes){wtf8.data, wtf8.size});
    slwi_buffer_free(&wtf8);
}

/* Digests, states, kinds and component names are plain by construction. */
static void put_text(slwi_buffer *out, const char *text) {
    slwi_buffer_append_char(out, '"');
    slwi_buffer_append(out, text, strlen(text));
    slwi_buffer_append_char(out, '"');
}

/* {"<component>":"<digest>",…,"schema":1}: "schema" stands where its name sorts. */
static void put_environment(slwi_buffer *out, const slw_key *key) {
    const size_t count = slw_key_component_count(key);
    size_t i = 0;
    slwi_buffer_append_char(out, '{');
    for (; i < count; i++) {
        const slw_component component = slw_key_component(key, i);
        if (strcmp(component.name, "schema") > 0) break;
        put_text(out, component.name);
        slwi_buffer_append_char(out, ':');
        put_text(out, component.digest);
        slwi_buffer_append_char(out, ',');
    }
    PUT(out, "\"schema\":1");
    for (; i < count; i++) {
        const slw_component component = slw_key_component(key, i);
        slwi_buffer_append_char(out, ',');
        put_text(out, component.name);
        slwi_buffer_append_char(out, ':');
        put_text(out, component.digest);
    }
    slwi_buffer_append_char(out, '}');
}

static void put_head(slwi_buffer *out, const slw_key *key, const slw_spec *spec) {
    PUT(out, "{\"build_kind\":");
    put_text(out, slw_build_kind_name(slw_spec_build_kind(spec)));
    PUT(out, ",\"components\":{\"environment\":");
    put_environment(out, key);
    PUT(out, ",\"schema\":1,\"source\":");
    put_text(out, slw_key_source(key));
    PUT(out, ",\"specialization\":");
    put_text(out, slw_key_specialization(key));
    PUT(out, "},\"files\":[");
}

static void put_tail(slwi_buffer *out, const slw_key *key, const slw_spec *spec) {
    PUT(out, "],\"key\":");
    put_text(out, slw_key_digest(key));
    PUT(out, ",\"required_files\":[");
    for (size_t i = 0; i < slw_spec_required_count(spec); i++) {
        if (i > 0) slwi_buffer_append_char(out, ',');
        put_name(out, slw_spec_required(spec, i));
    }
    PUT(out, "],\"schema\":1,\"state\":");
    put_text(out, slw_state_name(slw_spec_state(spec)));
    slwi_buffer_append_char(out, '}');
}

slw_code slwi_manifest_begin(slwi_manifest *manifest, slwi_buffer *text, slwi_buffer *tail, const slw_key *key,
                             const slw_spec *spec, slw_error *err) {
    slwi_buffer_clear(text);
    slwi_buffer_clear(tail);
    manifest->text = text;
    manifest->tail = tail;
    put_head(text, key, spec);
    put_tail(tail, key, spec);
    const slw_code code = slwi_buffer_status(text, err);
    return code != SLW_OK ? code : slwi_buffer_status(tail, err);
}

int slwi_manifest_frames(const slwi_manifest *manifest, slw_bytes marker) {
    const char *bytes = marker.data;
    const size_t head = manifest->text->size, tail = manifest->tail->size;
    return marker.size >= head + tail && memcmp(bytes, manifest->text->data, head) == 0 &&
           memcmp(bytes + marker.size - tail, manifest->tail->data, tail) == 0;
}

/* The digest that stands in the marker where the text is going to have one. */
static void digest_from(slw_bytes marker, size_t at, slw_digest *out) {
    memset(out, 0, sizeof *out);
    if (marker.size < 64 || at > marker.size - 64) return;
    if (!slwi_hex_decode((const char *)marker.data + at, 64, out->bytes)) memset(out, 0, sizeof *out);
}

static void put_file(slwi_buffer *text, slwi_tree_file *file, slw_bytes marker) {
    file->text_at = (uint32_t)text->size;
    if (file->executable)
        PUT(text, "{\"executable\":true,\"path\":");
    else
        PUT(text, "{\"executable\":false,\"path\":");
    put_name(text, (slw_bytes){file->path, file->path_size});
    PUT(text, ",\"sha256\":\"");
    if (marker.data != NULL) digest_from(marker, text->size, &file->sha256);
    slwi_buffer_append_hex(text, file->sha256.bytes, sizeof file->sha256.bytes);
    PUT(text, "\",\"size\":");
    slwi_buffer_append_u64(text, file->size);
    slwi_buffer_append_char(text, '}');
}

slw_code slwi_manifest_finish(slwi_manifest *manifest, slwi_inventory *inventory, slw_bytes marker, slw_error *err) {
    slwi_buffer *text = manifest->text;
    for (size_t i = 0; i < inventory->count && !text->failed; i++) {
        if (i > 0) slwi_buffer_append_char(text, ',');
        put_file(text, &inventory->files[i], marker);
    }
    slwi_buffer_append(text, manifest->tail->data, manifest->tail->size);
    return slwi_buffer_status(text, err);
}
