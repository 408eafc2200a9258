#include "record_json.h"

#include <stdio.h>

#include "record_node.h"

static void put_hex(slwi_json_writer *writer, const char *key, slw_bytes bytes) {
    slwi_json_key(writer, key);
    /* A string of the writer's is escaped, which digits never need: the empty one makes room for them. */
    slwi_json_put_text(writer, "");
    if (writer->out->failed) return;
    writer->out->size--;
    slwi_buffer_append_hex(writer->out, bytes.data, bytes.size);
    slwi_buffer_append_char(writer->out, '"');
}

static void put_tag(slwi_json_writer *writer, const char *tag) {
    slwi_json_key(writer, "t");
    slwi_json_put_text(writer, tag);
}

static void put_bits(slwi_json_writer *writer, uint64_t bits) {
    char text[17];
    (void)snprintf(text, sizeof text, "%016llx", (unsigned long long)bits);
    slwi_json_key(writer, "bits");
    slwi_json_put_text(writer, text);
}

static void put(slwi_json_writer *writer, const slw_record *record);

static void put_items(slwi_json_writer *writer, const slw_record *record) {
    const int is_dict = record->kind == SLWI_RECORD_DICT;
    slwi_json_key(writer, "v");
    slwi_json_array_begin(writer);
    for (size_t i = 0; i < record->as.list.count; i++) {
        if (is_dict && i % 2 == 0) slwi_json_array_begin(writer);
        put(writer, record->as.list.items[i]);
        if (is_dict && i % 2 == 1) slwi_json_array_end(writer);
    }
    slwi_json_array_end(writer);
}

/* The height was asked before: this ends. */
static void put(slwi_json_writer *writer, const slw_record *record) {
    slwi_json_object_begin(writer);
    switch ((slwi_record_kind)record->kind) {
    case SLWI_RECORD_NONE:
        put_tag(writer, "none");
        break;
    case SLWI_RECORD_BOOL:
        put_tag(writer, "bool");
        slwi_json_key(writer, "v");
        slwi_json_put_bool(writer, record->as.bits != 0);
        break;
    case SLWI_RECORD_INT:
        put_tag(writer, "int");
        slwi_json_key(writer, "v");
        slwi_json_put_string(writer, slwi_record_text(record));
        break;
    case SLWI_RECORD_FLOAT:
        put_bits(writer, record->as.bits);
        put_tag(writer, "f64");
        break;
    case SLWI_RECORD_STRING:
        put_tag(writer, "str");
        put_hex(writer, "wtf8_hex", slwi_record_text(record));
        break;
    case SLWI_RECORD_BYTES:
        put_hex(writer, "hex", slwi_record_text(record));
        put_tag(writer, "bytes");
        break;
    case SLWI_RECORD_LIST:
        put_tag(writer, "list");
        put_items(writer, record);
        break;
    case SLWI_RECORD_TUPLE:
        put_tag(writer, "tuple");
        put_items(writer, record);
        break;
    case SLWI_RECORD_DICT:
        put_tag(writer, "dict");
        put_items(writer, record);
        break;
    }
    slwi_json_object_end(writer);
}

int slwi_record_write_json(slwi_json_writer *writer, const slw_record *record) {
    if (record->height > SLWI_RECORD_JSON_HEIGHT) return 0;
    put(writer, record);
    return 1;
}
