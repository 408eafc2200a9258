/* One side of a comparison, read from a slot that was found good: its slipway.json, and of its manifest the spec. */
#include <stdio.h>
#include <string.h>

#include <slipway/key.h>

#include "entry_document.h"
#include "explain_state.h"
#include "fail.h"
#include "file.h"

#define MANIFEST_NAME "artifact_manifest.json"

void slwi_side_init(slwi_side *side, const slw_allocator *allocator) {
    memset(side, 0, sizeof *side);
    slwi_buffer_init(&side->required, allocator, SIZE_MAX);
}

void slwi_side_free(slwi_side *side) {
    slwi_json_free(&side->document);
    slwi_buffer_free(&side->required);
}

static slw_code read_beside(const char *directory, const char *name, slwi_buffer *out, slw_error *err) {
    char path[SLW_LIMIT_PATH_BYTES + 64];
    const int size = snprintf(path, sizeof path, "%s/%s", directory, name);
    if (size < 0 || (size_t)size >= sizeof path)
        return slwi_fail(err, SLW_E_STORAGE, "PATH_TOO_LONG", "the path of an entry is too long");
    return slwi_read_file(path, out, err);
}

/* What the manifest says of a file; 0: it lists none of that name. */
static int listed_digest(const slwi_json *manifest, const char *name, slw_digest *out) {
    const slwi_json *files = slwi_json_get(manifest, "files");
    slw_bytes path, digest;
    for (size_t i = 0; i < slwi_json_length(files); i++) {
        const slwi_json *file = slwi_json_item(files, i);
        if (!slwi_json_string(slwi_json_get(file, "path"), &path) || strcmp(path.data, name) != 0) continue;
        return slwi_json_string(slwi_json_get(file, "sha256"), &digest) &&
               slw_digest_parse(digest.data, digest.size, out, NULL) == SLW_OK;
    }
    return 0;
}

static const char *state_of(const slwi_json *manifest) {
    slw_bytes text;
    if (!slwi_json_string(slwi_json_get(manifest, "state"), &text)) return NULL;
    for (int state = SLW_GENERATED; state <= SLW_READY; state++)
        if (strcmp(text.data, slw_state_name((slw_state)state)) == 0) return slw_state_name((slw_state)state);
    return NULL;
}

static void take_spec(slwi_side *side, const slw_slot_info *slot, const slwi_json *manifest) {
    const slwi_json *required = slwi_json_get(manifest, "required_files");
    slw_bytes name;
    (void)snprintf(side->key, sizeof side->key, "%s", slot->key);
    (void)snprintf(side->spec, sizeof side->spec, "%s", slot->spec);
    side->state = state_of(manifest);
    side->build_kind = slot->build_kind; /* static: the name of a kind */
    for (size_t i = 0; i < slwi_json_length(required); i++) {
        if (i > 0) slwi_buffer_append_text(&side->required, ", ");
        if (slwi_json_string(slwi_json_item(required, i), &name))
            slwi_buffer_append(&side->required, name.data, name.size);
    }
}

static slw_code no_document(const char *why, slw_error *err) {
    slwi_error_path(err, SLWI_ENTRY_DOCUMENT_NAME);
    return slwi_fail(err, SLW_E_INVALID_METADATA, "BAD_DOCUMENT", "the entry has no slipway.json of ours: %s", why);
}

/* Of our schema, with the parts that are compared. */
static slw_code take_document(slwi_side *side, slw_error *err) {
    uint32_t schema = 0;
    side->root = slwi_json_root(side->document);
    if (!slwi_json_u32(slwi_json_get(side->root, "schema"), &schema) || schema != SLWI_ENTRY_DOCUMENT_SCHEMA)
        return no_document("it is of another schema", err);
    if (slwi_json_kind(slwi_json_get(side->root, "record")) != SLWI_JSON_OBJECT)
        return no_document("it was built without a key", err);
    (void)slwi_json_u32(slwi_json_get(slwi_json_get(side->root, "contract"), "reader_revision"),
                        &side->reader_revision);
    return SLW_OK;
}

static slw_code read_document(slwi_side *side, const slw_allocator *allocator, const slw_slot_info *slot,
                              const slwi_json *manifest, slwi_buffer *text, slw_error *err) {
    static const slwi_json_limits limits = {SLW_LIMIT_JSON_BYTES, 64, SLW_LIMIT_JSON_VALUES, 1};
    slw_digest listed, found;
    if (!listed_digest(manifest, SLWI_ENTRY_DOCUMENT_NAME, &listed)) return no_document("there is none", err);
    slw_code rc = read_beside(slot->directory, SLWI_ENTRY_DOCUMENT_NAME, text, err);
    if (rc != SLW_OK) return rc;
    slw_sha256((slw_bytes){text->data != NULL ? text->data : "", text->size}, &found);
    if (memcmp(&listed, &found, sizeof found) != 0)
        return slwi_fail(err, SLW_E_INVALID_ENTRY, "DIGEST", "slipway.json has other bytes than the manifest says");
    rc = slwi_json_parse(allocator, (slw_bytes){text->data, text->size}, &limits, &side->document, err);
    return rc == SLW_OK ? take_document(side, err) : rc;
}

slw_code slwi_side_read(slwi_side *side, const slw_allocator *allocator, const slw_slot_info *slot, slw_error *err) {
    static const slwi_json_limits limits = {SLW_LIMIT_MANIFEST_BYTES, 64, SLW_LIMIT_JSON_VALUES, 1};
    slwi_json_document *manifest = NULL;
    slwi_buffer marker, text;
    slwi_buffer_init(&marker, allocator, SLW_LIMIT_MANIFEST_BYTES);
    slwi_buffer_init(&text, allocator, SLW_LIMIT_JSON_BYTES);
    slw_code rc = read_beside(slot->directory, MANIFEST_NAME, &marker, err);
    if (rc == SLW_OK) rc = slwi_json_parse(allocator, (slw_bytes){marker.data, marker.size}, &limits, &manifest, err);
    if (rc == SLW_OK) rc = read_document(side, allocator, slot, slwi_json_root(manifest), &text, err);
    if (rc == SLW_OK) take_spec(side, slot, slwi_json_root(manifest));
    if (rc == SLW_OK) rc = slwi_buffer_status(&side->required, err);
    slwi_json_free(&manifest);
    slwi_buffer_free(&marker);
    slwi_buffer_free(&text);
    return rc;
}
