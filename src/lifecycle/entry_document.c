/* Writing and reading slipway.json. */
#include "entry_document.h"

#include <string.h>

#include "entry_document_scan.h"
#include "fail.h"
#include "identity_inventory.h"
#include "key_internal.h"
#include "memory.h"
#include "record_json.h"

static void put_digest(slwi_json_writer *writer, const slw_digest *digest) {
    char text[SLW_DIGEST_TEXT_SIZE];
    if (digest != NULL) slw_digest_format(digest, text);
    slwi_json_key(writer, "digest");
    slwi_json_put_text(writer, digest != NULL ? text : NULL);
}

/* What has neither a value nor a digest is told by its kind alone: a tree that is absent, a variable that is unset. */
static void write_item(slwi_json_writer *writer, const slwi_inventory_item *item) {
    const int bare = strcmp(item->kind, "absent") == 0 || strcmp(item->kind, "unset") == 0;
    slwi_json_object_begin(writer);
    if (!bare && item->value == NULL) put_digest(writer, &item->digest);
    slwi_json_key(writer, "kind");
    slwi_json_put_text(writer, item->kind);
    slwi_json_key(writer, "name");
    slwi_json_put_text(writer, item->name);
    if (item->value != NULL) {
        slwi_json_key(writer, "value");
        slwi_json_put_text(writer, item->value);
    }
    slwi_json_object_end(writer);
}

static void write_inventory(slwi_json_writer *writer, const slw_identity *identity, size_t component) {
    slwi_inventory_item item;
    slwi_json_key(writer, "inventory");
    slwi_json_array_begin(writer);
    for (size_t i = 0; slwi_identity_item(identity, component, i, &item); i++) write_item(writer, &item);
    slwi_json_array_end(writer);
    slwi_json_key(writer, "left_out");
    slwi_json_put_u64(writer, slwi_identity_left_out(identity, component));
}

static void write_toolchain(const slwi_entry_document *document, slwi_json_writer *writer) {
    slwi_json_object_begin(writer);
    slwi_json_key(writer, "compiler");
    slwi_json_put_text(writer, document->compiler);
    slwi_json_key(writer, "components");
    slwi_json_array_begin(writer);
    const char *name = NULL;
    const slw_digest *digest = NULL;
    for (size_t i = 0; document->identity != NULL && slw_identity_at(document->identity, i, &name, &digest); i++) {
        slwi_json_object_begin(writer);
        put_digest(writer, digest);
        write_inventory(writer, document->identity, i);
        slwi_json_key(writer, "name");
        slwi_json_put_text(writer, name);
        slwi_json_object_end(writer);
    }
    slwi_json_array_end(writer);
    slwi_json_object_end(writer);
}

/* Only where it is not too long: written apart first. */
static int fits(const slwi_buffer *out, const slw_record *record) {
    slwi_buffer trial;
    slwi_json_writer writer;
    slwi_buffer_init(&trial, out->allocator, SLW_LIMIT_INPUT_RECORD_BYTES);
    slwi_json_begin(&writer, &trial, 1);
    const int written = slwi_record_write_json(&writer, record);
    const int ok = written && trial.failed == 0;
    slwi_buffer_free(&trial);
    return ok;
}

static void write_record(slwi_json_writer *writer, const char *key, const slw_record *record) {
    slwi_json_key(writer, key);
    if (record == NULL || !fits(writer->out, record) || !slwi_record_write_json(writer, record))
        slwi_json_put_null(writer);
}

static void write_inputs(const slwi_entry_document *document, slwi_json_writer *writer) {
    if (document->source == NULL && document->options == NULL && document->lowered == NULL) return;
    slwi_json_key(writer, "inputs");
    slwi_json_object_begin(writer);
    write_record(writer, "lowered", document->lowered);
    write_record(writer, "options", document->options);
    write_record(writer, "source", document->source);
    slwi_json_object_end(writer);
}

static void write_key_record(const slwi_entry_document *document, slwi_json_writer *writer) {
    slwi_json_key(writer, "record");
    if (document->key != NULL)
        slwi_key_write_components(writer, document->key);
    else
        slwi_json_put_null(writer);
}

void slwi_entry_document_write_inputs(const slwi_entry_document *document, const char *target, slwi_buffer *out) {
    slwi_json_writer writer;
    slwi_json_begin(&writer, out, 1);
    slwi_json_object_begin(&writer);
    write_inputs(document, &writer);
    slwi_json_key(&writer, "name");
    slwi_json_put_text(&writer, document->name);
    write_key_record(document, &writer);
    if (target != NULL) {
        slwi_json_key(&writer, "target");
        slwi_json_put_text(&writer, target);
    }
    slwi_json_key(&writer, "toolchain");
    write_toolchain(document, &writer);
    slwi_json_object_end(&writer);
}

void slwi_entry_document_write(const slwi_entry_document *document, slwi_buffer *out) {
    slwi_json_writer writer;
    slwi_json_begin(&writer, out, 1);
    slwi_json_object_begin(&writer);
    slwi_json_key(&writer, "backend");
    slwi_json_put_text(&writer, document->contract->backend);
    slwi_json_key(&writer, "contract");
    slwi_contract_write(document->contract, &writer);
    write_inputs(document, &writer);
    slwi_json_key(&writer, "name");
    slwi_json_put_text(&writer, document->name);
    write_key_record(document, &writer);
    slwi_json_key(&writer, "schema");
    slwi_json_put_u64(&writer, SLWI_ENTRY_DOCUMENT_SCHEMA);
    slwi_json_key(&writer, "target");
    slwi_json_put_text(&writer, document->contract->target);
    slwi_json_key(&writer, "toolchain");
    write_toolchain(document, &writer);
    slwi_json_object_end(&writer);
}

static slw_code refuse(slw_error *err, const char *field, const char *why) {
    slwi_error_subject(err, field, strlen(field));
    slwi_error_path(err, SLWI_ENTRY_DOCUMENT_NAME);
    return slwi_fail(err, SLW_E_INVALID_METADATA, "BAD_DOCUMENT", "%s: %s %s", SLWI_ENTRY_DOCUMENT_NAME, field, why);
}

/* A canonical document must equal its re-encoding: two texts of one meaning would be two digests of one entry. */
static slw_code check_canonical(const slw_allocator *allocator, slw_bytes text, const slwi_json *root, slw_error *err) {
    slwi_buffer again;
    slwi_buffer_init(&again, allocator, SLW_LIMIT_JSON_BYTES);
    slwi_json_writer writer;
    slwi_json_begin(&writer, &again, 1);
    slwi_json_put_node(&writer, root);
    slw_code rc = SLW_OK;
    if (again.failed == SLW_E_NO_MEMORY)
        rc = slwi_buffer_status(&again, err);
    else if (again.failed != 0 || again.size != text.size || memcmp(again.data, text.data, text.size) != 0)
        rc = refuse(err, "document", "is not canonical");
    slwi_buffer_free(&again);
    return rc;
}

static int text_is(const slwi_json *node, const char *expected) {
    slw_bytes text;
    return slwi_json_string(node, &text) && text.size == strlen(expected) &&
           memcmp(text.data, expected, text.size) == 0;
}

static slw_code read_root(const slw_allocator *allocator, slw_bytes text, const slwi_json *root, slw_contract **out,
                          slw_error *err) {
    static const char *const members[] = {"backend", "contract", "inputs",    "name", "record",
                                          "schema",  "target",   "toolchain", NULL};
    uint32_t schema = 0;
    slw_bytes unknown = {NULL, 0};
    if (slwi_json_kind(root) != SLWI_JSON_OBJECT) return refuse(err, "document", "is not an object");
    if (!slwi_json_u32(slwi_json_get(root, "schema"), &schema))
        return refuse(err, "schema", "is missing or not a number");
    if (schema != SLWI_ENTRY_DOCUMENT_SCHEMA) {
        *out = NULL;
        return SLW_OK;
    }
    if (!slwi_json_only(root, members, &unknown)) return refuse(err, "document", "has a member that schema 1 has not");
    slw_code rc = check_canonical(allocator, text, root, err);
    if (rc != SLW_OK) return rc;
    const slwi_json *object = slwi_json_get(root, "contract");
    if (slwi_json_kind(object) != SLWI_JSON_OBJECT) return refuse(err, "contract", "is missing or not an object");
    /* A contract of another schema has fields that cannot be read here; the binary says them anew. */
    if (slwi_json_u32(slwi_json_get(object, "schema"), &schema) && schema != SLW_CONTRACT_SCHEMA) {
        *out = NULL;
        return SLW_OK;
    }
    slw_contract *contract = NULL;
    rc = slwi_contract_read(allocator, object, &contract, err);
    if (rc != SLW_OK) return rc;
    if (!text_is(slwi_json_get(root, "backend"), contract->backend))
        rc = refuse(err, "backend", "differs from the contract's");
    else if (!text_is(slwi_json_get(root, "target"), contract->target))
        rc = refuse(err, "target", "differs from the contract's");
    if (rc != SLW_OK) {
        slwi_contract_free(allocator, &contract);
        return rc;
    }
    *out = contract;
    return SLW_OK;
}

static slw_code read_text(const slw_allocator *allocator, slw_bytes text, slw_contract **out, slw_error *err) {
    const slwi_json_limits limits = {SLW_LIMIT_JSON_BYTES, 64, SLW_LIMIT_JSON_VALUES, 1};
    slwi_json_document *document = NULL;
    slw_code rc = slwi_json_parse(allocator, text, &limits, &document, err);
    if (rc == SLW_OK) rc = read_root(allocator, text, slwi_json_root(document), out, err);
    if (rc != SLW_OK) slwi_error_path(err, SLWI_ENTRY_DOCUMENT_NAME);
    slwi_json_free(&document);
    return rc;
}

/* What only an explanation reads is most of a document and is passed over. A text of which that cannot be told, or that
   is refused without it, is read whole: for places in it and words about it. */
slw_code slwi_entry_document_contract(const slw_allocator *allocator, slw_bytes text, slw_contract **out,
                                      slw_error *err) {
    slwi_buffer shorter;
    slw_error why = SLW_ERROR_INIT;
    slw_code rc = SLW_E_INVALID_METADATA;
    slwi_buffer_init(&shorter, allocator, SLW_LIMIT_JSON_BYTES);
    if (slwi_entry_document_shorten(text, &shorter))
        rc = read_text(allocator, (slw_bytes){shorter.data, shorter.size}, out, &why);
    else if (shorter.failed == SLW_E_NO_MEMORY)
        rc = slwi_fail_memory(&why, text.size);
    slwi_buffer_free(&shorter);
    if (rc == SLW_E_NO_MEMORY) slwi_error_copy(err, &why);
    return rc == SLW_OK || rc == SLW_E_NO_MEMORY ? rc : read_text(allocator, text, out, err);
}
