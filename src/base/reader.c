/* The bounded reader. */
#include "reader.h"

#include <string.h>

int slwi_window(slw_bytes bytes, uint64_t offset, uint64_t size, slw_bytes *out) {
    if (offset > bytes.size || size > bytes.size - offset) return 0;
    /* Arithmetic on NULL is undefined even when nothing is added. */
    out->data = bytes.data == NULL ? NULL : (const uint8_t *)bytes.data + offset;
    out->size = (size_t)size;
    return 1;
}

/* `size` bytes, least significant first. */
static int load(slw_bytes bytes, uint64_t offset, unsigned size, uint64_t *out) {
    slw_bytes window;
    if (!slwi_window(bytes, offset, size, &window) || window.data == NULL) return 0;
    const uint8_t *data = window.data;
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++) value |= (uint64_t)data[i] << (8 * i);
    *out = value;
    return 1;
}

int slwi_read_u8(slw_bytes bytes, uint64_t offset, uint8_t *out) {
    uint64_t value = 0;
    if (!load(bytes, offset, 1, &value)) return 0;
    *out = (uint8_t)value;
    return 1;
}

int slwi_read_u16(slw_bytes bytes, uint64_t offset, uint16_t *out) {
    uint64_t value = 0;
    if (!load(bytes, offset, 2, &value)) return 0;
    *out = (uint16_t)value;
    return 1;
}

int slwi_read_u32(slw_bytes bytes, uint64_t offset, uint32_t *out) {
    uint64_t value = 0;
    if (!load(bytes, offset, 4, &value)) return 0;
    *out = (uint32_t)value;
    return 1;
}

int slwi_read_u64(slw_bytes bytes, uint64_t offset, uint64_t *out) {
    return load(bytes, offset, 8, out);
}

int slwi_read_string(slw_bytes bytes, uint64_t offset, slw_bytes *out) {
    if (offset >= bytes.size) return 0;
    const uint8_t *start = (const uint8_t *)bytes.data + offset;
    const uint8_t *end = memchr(start, 0, bytes.size - (size_t)offset);
    if (end == NULL) return 0;
    out->data = start;
    out->size = (size_t)(end - start);
    return 1;
}
