#include "record_writer.h"

#include <slipway/record.h>
#include <string.h>

#include "hex.h"
#include "text.h"

#define DOMAIN_MAX_BYTES 64

int slwi_domain_ok(const char *domain) {
    size_t size = strnlen(domain, DOMAIN_MAX_BYTES + 1);
    if (size == 0 || size > DOMAIN_MAX_BYTES) return 0;
    return strspn(domain, "abcdefghijklmnopqrstuvwxyz0123456789._-") == size;
}

const char *slwi_domain_known(const char *domain) {
    if (domain == NULL || strcmp(domain, SLW_DOMAIN_DEFAULT) == 0) return SLW_DOMAIN_DEFAULT;
    return strcmp(domain, SLW_DOMAIN_PYPTO) == 0 ? SLW_DOMAIN_PYPTO : NULL;
}

static void put(slwi_record_writer *writer, const void *data, size_t size) {
    writer->size_bytes += size;
    if (writer->hash != NULL) {
        slwi_sha256_update(writer->hash, data, size);
    } else {
        slwi_buffer_append(writer->buffer, data, size);
    }
}

static void put_literal(slwi_record_writer *writer, const char *text) {
    put(writer, text, strlen(text));
}

static void put_hex(slwi_record_writer *writer, const void *data, size_t size) {
    const char *from = data;
    char digits[512];
    while (size != 0) {
        size_t step = size < sizeof digits / 2 ? size : sizeof digits / 2;
        slwi_hex_encode(from, step, digits);
        put(writer, digits, 2 * step);
        from += step;
        size -= step;
    }
}

static void begin(slwi_record_writer *writer, const char *domain) {
    writer->size_bytes = 0;
    put_literal(writer, "[\"");
    put_literal(writer, domain);
    put_literal(writer, "\",1,"); /* the identity schema */
}

void slwi_record_writer_hash(slwi_record_writer *writer, slwi_sha256_ctx *hash, const char *domain) {
    slwi_sha256_init(hash);
    writer->hash = hash;
    writer->buffer = NULL;
    begin(writer, domain);
}

void slwi_record_writer_buffer(slwi_record_writer *writer, slwi_buffer *buffer, const char *domain) {
    writer->hash = NULL;
    writer->buffer = buffer;
    begin(writer, domain);
}

void slwi_record_writer_end(slwi_record_writer *writer) {
    put_literal(writer, "]");
}

void slwi_record_put_none(slwi_record_writer *writer) {
    put_literal(writer, "[\"none\"]");
}

void slwi_record_put_bool(slwi_record_writer *writer, int value) {
    put_literal(writer, value ? "[\"bool\",true]" : "[\"bool\",false]");
}

void slwi_record_put_decimal(slwi_record_writer *writer, slw_bytes decimal) {
    put_literal(writer, "[\"int\",\"");
    put(writer, decimal.data, decimal.size);
    put_literal(writer, "\"]");
}

/* The digits of `magnitude`, written towards the front of `out`; returns the first. */
static char *decimal_digits(uint64_t magnitude, char *end) {
    do {
        *--end = (char) ('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude != 0);
    return end;
}

void slwi_record_put_u64(slwi_record_writer *writer, uint64_t value) {
    char digits[24];
    char *end = digits + sizeof digits, *first = decimal_digits(value, end);
    slwi_record_put_decimal(writer, (slw_bytes){first, (size_t) (end - first)});
}

void slwi_record_put_i64(slwi_record_writer *writer, int64_t value) {
    char digits[24];
    char *end = digits + sizeof digits;
    char *first = decimal_digits(value < 0 ? 0 - (uint64_t) value : (uint64_t) value, end);
    if (value < 0) *--first = '-';
    slwi_record_put_decimal(writer, (slw_bytes){first, (size_t) (end - first)});
}

void slwi_record_put_float_bits(slwi_record_writer *writer, uint64_t bits) {
    uint8_t big_endian[8];
    for (size_t i = 0; i < 8; i++) big_endian[i] = (uint8_t) (bits >> (56 - 8 * i));
    put_literal(writer, "[\"float64\",\"");
    put_hex(writer, big_endian, sizeof big_endian);
    put_literal(writer, "\"]");
}

void slwi_record_put_string(slwi_record_writer *writer, slw_bytes wtf8) {
    put_literal(writer, "[\"str\",\"");
    put_hex(writer, wtf8.data, wtf8.size);
    put_literal(writer, "\"]");
}

void slwi_record_put_text(slwi_record_writer *writer, const char *ascii) {
    slwi_record_put_string(writer, (slw_bytes){ascii, strlen(ascii)});
}

void slwi_record_put_os_string(slwi_record_writer *writer, slw_bytes raw) {
    const uint8_t *bytes = raw.data;
    size_t at = 0;
    put_literal(writer, "[\"str\",\"");
    while (at < raw.size) {
        size_t from = at;
        uint32_t code_point;
        while (at < raw.size && slwi_utf8_next(raw, &at, &code_point)) continue;
        if (at > from) put_hex(writer, bytes + from, at - from);
        if (at < raw.size) { /* a byte that is not text: U+DC80 to U+DCFF */
            uint8_t escape[3] = {0xed, (uint8_t) (0xb0 | bytes[at] >> 6), (uint8_t) (0x80 | (bytes[at] & 0x3f))};
            put_hex(writer, escape, sizeof escape);
            at++;
        }
    }
    put_literal(writer, "\"]");
}

void slwi_record_put_bytes(slwi_record_writer *writer, slw_bytes bytes) {
    put_literal(writer, "[\"bytes\",\"");
    put_hex(writer, bytes.data, bytes.size);
    put_literal(writer, "\"]");
}

void slwi_record_open(slwi_record_writer *writer, const char *tag) {
    put_literal(writer, "[\"");
    put_literal(writer, tag);
    put_literal(writer, "\",[");
}

void slwi_record_close(slwi_record_writer *writer) {
    put_literal(writer, "]]");
}

void slwi_record_comma(slwi_record_writer *writer) {
    put_literal(writer, ",");
}

void slwi_record_pair_open(slwi_record_writer *writer, slw_bytes wtf8_name) {
    put_literal(writer, "[");
    slwi_record_put_string(writer, wtf8_name);
    put_literal(writer, ",");
}

void slwi_record_pair_close(slwi_record_writer *writer) {
    put_literal(writer, "]");
}
