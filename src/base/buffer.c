/* A growing byte buffer. */
#include "buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "fail.h"
#include "hex.h"
#include "memory.h"

#define FIRST_CAPACITY 256

void slwi_buffer_init(slwi_buffer *buffer, const slw_allocator *allocator, size_t limit) {
    buffer->allocator = allocator;
    buffer->data = NULL;
    buffer->size = 0;
    buffer->capacity = 0;
    buffer->limit = limit;
    buffer->failed = 0;
}

/* Room for `size` bytes more and the NUL; 0, or the failure, which is kept. */
static int reserve(slwi_buffer *buffer, size_t size) {
    if (buffer->failed) return buffer->failed;
    size_t total = 0;
    size_t with_nul = 0;
    if (slwi_add_size(buffer->size, size, &total) || slwi_add_size(total, 1, &with_nul) || total > buffer->limit) {
        return buffer->failed = SLW_E_LIMIT;
    }
    if (with_nul <= buffer->capacity) return 0;
    size_t capacity = buffer->capacity == 0 ? FIRST_CAPACITY : buffer->capacity;
    while (capacity < with_nul) {
        if (slwi_mul_size(capacity, 2, &capacity)) capacity = with_nul;
    }
    char *grown = slwi_realloc_array(buffer->allocator, buffer->data, capacity, 1);
    if (grown == NULL) return buffer->failed = SLW_E_NO_MEMORY;
    buffer->data = grown;
    buffer->capacity = capacity;
    return 0;
}

void slwi_buffer_append(slwi_buffer *buffer, const void *data, size_t size) {
    if (reserve(buffer, size)) return;
    if (size > 0) memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
    buffer->data[buffer->size] = '\0'; // NOLINT(clang-analyzer-core.NullDereference): reserve made room for the NUL
}

void slwi_buffer_append_text(slwi_buffer *buffer, const char *text) {
    slwi_buffer_append(buffer, text, strlen(text));
}

void slwi_buffer_append_char(slwi_buffer *buffer, char c) {
    slwi_buffer_append(buffer, &c, 1);
}

void slwi_buffer_append_u64(slwi_buffer *buffer, uint64_t value) {
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    slwi_buffer_append(buffer, digits + at, sizeof digits - at);
}

void slwi_buffer_append_i64(slwi_buffer *buffer, int64_t value) {
    char text[24];
    const int length = snprintf(text, sizeof text, "%lld", (long long)value);
    slwi_buffer_append(buffer, text, (size_t)length);
}

void slwi_buffer_append_hex(slwi_buffer *buffer, const void *data, size_t size) {
    size_t digits = 0;
    if (slwi_mul_size(size, 2, &digits)) {
        if (!buffer->failed) buffer->failed = SLW_E_LIMIT;
        return;
    }
    if (reserve(buffer, digits)) return;
    slwi_hex_encode(data, size, buffer->data + buffer->size);
    buffer->size += digits;
    buffer->data[buffer->size] = '\0';
}

void slwi_buffer_printf(slwi_buffer *buffer, const char *format, ...) {
    if (buffer->failed) return;
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    char small[256];
    const int length = vsnprintf(small, sizeof small, format, arguments);
    va_end(arguments);
    if (length < 0) {
        buffer->failed = SLW_E_LIMIT;
    } else if ((size_t)length < sizeof small) {
        slwi_buffer_append(buffer, small, (size_t)length);
    } else if (!reserve(buffer, (size_t)length)) {
        (void)vsnprintf(buffer->data + buffer->size, (size_t)length + 1, format, again);
        buffer->size += (size_t)length;
    }
    va_end(again);
}

slw_code slwi_buffer_status(const slwi_buffer *buffer, slw_error *err) {
    switch (buffer->failed) {
    case 0:
        return SLW_OK;
    case SLW_E_NO_MEMORY:
        return slwi_fail_memory(err, buffer->capacity == 0 ? FIRST_CAPACITY : 2 * buffer->capacity);
    case SLW_E_LIMIT:
        (void)slwi_fail(err, SLW_E_LIMIT, "SIZE", "more than %zu bytes", buffer->limit);
        slwi_error_amount(err, "text", (uint64_t)buffer->limit + 1, buffer->limit, "bytes");
        return SLW_E_LIMIT;
    default:
        return slwi_fail(err, buffer->failed, "BAD_TEXT", "what was to be written is not well-formed");
    }
}

void slwi_buffer_clear(slwi_buffer *buffer) {
    buffer->size = 0;
    buffer->failed = 0;
    if (buffer->data != NULL) buffer->data[0] = '\0';
}

void slwi_buffer_free(slwi_buffer *buffer) {
    slwi_free(buffer->allocator, buffer->data);
    buffer->data = NULL;
    buffer->size = 0;
    buffer->capacity = 0;
    buffer->failed = 0;
}

slw_code slwi_buffer_take(slwi_buffer *buffer, slw_text *out, slw_error *err) {
    const slw_allocator standard = SLW_ALLOCATOR_INIT;
    if (!buffer->failed && buffer->data == NULL) slwi_buffer_append(buffer, "", 0); /* an empty text is still a text */
    const slw_code rc = slwi_buffer_status(buffer, err);
    if (rc != SLW_OK) return rc;
    out->data = buffer->data;
    out->size = buffer->size;
    out->allocator = buffer->allocator != NULL ? *buffer->allocator : standard;
    buffer->data = NULL;
    buffer->size = 0;
    buffer->capacity = 0;
    return SLW_OK;
}
