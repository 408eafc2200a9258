/* A growing byte buffer. After a failed append the buffer is as before and `failed` stays set, so a run of appends may
   be checked once at its end. Always NUL-terminated when it holds anything. */
#ifndef SLWI_BUFFER_H
#define SLWI_BUFFER_H

#include <slipway/bytes.h>

typedef struct slwi_buffer {
    const slw_allocator *allocator;
    char *data;
    size_t size;
    size_t capacity;
    size_t limit; /* SIZE_MAX: none; an append past it fails */
    int failed;   /* 0, SLW_E_NO_MEMORY or SLW_E_LIMIT */
} slwi_buffer;

void slwi_buffer_init(slwi_buffer *buffer, const slw_allocator *allocator, size_t limit);
void slwi_buffer_append(slwi_buffer *buffer, const void *data, size_t size);
void slwi_buffer_append_text(slwi_buffer *buffer, const char *text);
void slwi_buffer_append_char(slwi_buffer *buffer, char c);
void slwi_buffer_append_u64(slwi_buffer *buffer, uint64_t value); /* decimal */
void slwi_buffer_append_i64(slwi_buffer *buffer, int64_t value);
void slwi_buffer_append_hex(slwi_buffer *buffer, const void *data, size_t size);
void slwi_buffer_printf(slwi_buffer *buffer, const char *format, ...) SLW_PRINTF(2, 3);
slw_code slwi_buffer_status(const slwi_buffer *buffer, slw_error *err); /* OK, NO_MEMORY or LIMIT */
void slwi_buffer_clear(slwi_buffer *buffer);                            /* size 0, keeps the memory and resets failed */
void slwi_buffer_free(slwi_buffer *buffer);
/* Moves the bytes out as text (allocator copied) and empties the buffer. */
slw_code slwi_buffer_take(slwi_buffer *buffer, slw_text *out, slw_error *err);

#endif
