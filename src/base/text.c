/* UTF-8, WTF-8 and names of the file system. */
#include "text.h"

#include <string.h>

#define FIRST_SURROGATE 0xD800u
#define LAST_SURROGATE 0xDFFFu
#define ESCAPE_BASE 0xDC00u /* byte b, 0x80 to 0xFF, stands as U+DC00 + b */

/* How many bytes follow this lead byte, and its payload bits; -1 for a byte that cannot lead. */
static int lead(uint8_t byte, uint32_t *bits) {
    if (byte < 0x80) {
        *bits = byte;
        return 0;
    }
    if (byte >= 0xC2 && byte <= 0xDF) {
        *bits = byte & 0x1Fu;
        return 1;
    }
    if (byte >= 0xE0 && byte <= 0xEF) {
        *bits = byte & 0x0Fu;
        return 2;
    }
    if (byte >= 0xF0 && byte <= 0xF4) {
        *bits = byte & 0x07u;
        return 3;
    }
    return -1;
}

int slwi_wtf8_next(slw_bytes text, size_t *at, uint32_t *out) {
    static const uint32_t least[4] = {0, 0x80, 0x800, 0x10000}; /* below these the form is overlong */
    if (*at >= text.size) return 0;
    const uint8_t *data = (const uint8_t *)text.data + *at;
    uint32_t value = 0;
    const int more = lead(data[0], &value);
    if (more < 0 || (size_t)more >= text.size - *at) return 0;
    for (int i = 1; i <= more; i++) {
        if ((data[i] & 0xC0u) != 0x80u) return 0;
        value = value << 6 | (data[i] & 0x3Fu);
    }
    if (value < least[more] || value > 0x10FFFFu) return 0;
    *at += (size_t)more + 1;
    *out = value;
    return 1;
}

static int is_surrogate(uint32_t code_point) {
    return code_point >= FIRST_SURROGATE && code_point <= LAST_SURROGATE;
}

int slwi_utf8_next(slw_bytes text, size_t *at, uint32_t *out) {
    size_t next = *at;
    uint32_t value = 0;
    if (!slwi_wtf8_next(text, &next, &value) || is_surrogate(value)) return 0;
    *at = next;
    *out = value;
    return 1;
}

void slwi_wtf8_append(slwi_buffer *buffer, uint32_t code_point) {
    uint8_t bytes[4];
    size_t size = 0;
    if (code_point < 0x80) {
        bytes[size++] = (uint8_t)code_point;
    } else if (code_point < 0x800) {
        bytes[size++] = (uint8_t)(0xC0u | code_point >> 6);
        bytes[size++] = (uint8_t)(0x80u | (code_point & 0x3Fu));
    } else if (code_point < 0x10000) {
        bytes[size++] = (uint8_t)(0xE0u | code_point >> 12);
        bytes[size++] = (uint8_t)(0x80u | (code_point >> 6 & 0x3Fu));
        bytes[size++] = (uint8_t)(0x80u | (code_point & 0x3Fu));
    } else {
        bytes[size++] = (uint8_t)(0xF0u | (code_point >> 18 & 0x07u));
        bytes[size++] = (uint8_t)(0x80u | (code_point >> 12 & 0x3Fu));
        bytes[size++] = (uint8_t)(0x80u | (code_point >> 6 & 0x3Fu));
        bytes[size++] = (uint8_t)(0x80u | (code_point & 0x3Fu));
    }
    slwi_buffer_append(buffer, bytes, size);
}

/* One code point of a raw name: never fails before the end, since a byte that is not UTF-8 stands for itself. */
static int os_next(slw_bytes raw, size_t *at, uint32_t *out) {
    if (*at >= raw.size) return 0;
    if (slwi_utf8_next(raw, at, out)) return 1;
    *out = ESCAPE_BASE + ((const uint8_t *)raw.data)[*at];
    *at += 1;
    return 1;
}

void slwi_os_to_wtf8(slw_bytes raw, slwi_buffer *out) {
    size_t at = 0;
    uint32_t code_point = 0;
    slwi_buffer_append(out, "", 0);
    while (os_next(raw, &at, &code_point)) slwi_wtf8_append(out, code_point);
}

int slwi_wtf8_to_os(slw_bytes wtf8, slwi_buffer *out) {
    size_t at = 0;
    uint32_t code_point = 0;
    slwi_buffer_append(out, "", 0);
    while (at < wtf8.size) {
        if (!slwi_wtf8_next(wtf8, &at, &code_point)) return 0;
        if (!is_surrogate(code_point)) {
            slwi_wtf8_append(out, code_point);
        } else if (code_point >= ESCAPE_BASE + 0x80u && code_point <= ESCAPE_BASE + 0xFFu) {
            slwi_buffer_append_char(out, (char)(uint8_t)(code_point - ESCAPE_BASE));
        } else {
            return 0;
        }
    }
    return 1;
}

int slwi_os_compare(slw_bytes a, slw_bytes b) {
    size_t a_at = 0;
    size_t b_at = 0;
    for (;;) {
        uint32_t from_a = 0;
        uint32_t from_b = 0;
        const int has_a = os_next(a, &a_at, &from_a);
        const int has_b = os_next(b, &b_at, &from_b);
        if (!has_a || !has_b) return has_a - has_b;
        if (from_a != from_b) return from_a < from_b ? -1 : 1;
    }
}

/* One segment between slashes: neither empty nor a dot name. */
static int segment_ok(const char *segment, size_t size) {
    if (size == 0) return 0;
    if (size == 1 && segment[0] == '.') return 0;
    return !(size == 2 && segment[0] == '.' && segment[1] == '.');
}

int slwi_payload_path_ok(slw_bytes raw, int is_required) {
    static const char marker[] = "artifact_manifest.json";
    const char *text = raw.data;
    if (raw.size == 0 || text == NULL) return 0;
    if (memchr(text, '\\', raw.size) != NULL || memchr(text, '\0', raw.size) != NULL) return 0;
    if (is_required && raw.size == sizeof marker - 1 && memcmp(text, marker, raw.size) == 0) return 0;
    size_t start = 0;
    for (size_t i = 0; i <= raw.size; i++) {
        if (i < raw.size && text[i] != '/') continue;
        if (!segment_ok(text + start, i - start)) return 0;
        start = i + 1;
    }
    return 1;
}
