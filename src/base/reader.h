/* The bounded reader: the only way to read untrusted bytes. Nothing here reads outside [data, data + size). */
#ifndef SLWI_READER_H
#define SLWI_READER_H

#include <slipway/bytes.h>

/* A window of `size` bytes at `offset`: 1 and *out set, or 0 where it does not fit (no overflow). */
int slwi_window(slw_bytes bytes, uint64_t offset, uint64_t size, slw_bytes *out);
/* Little-endian loads at an offset: 1, or 0 past the end with *out untouched. */
int slwi_read_u8(slw_bytes bytes, uint64_t offset, uint8_t *out);
int slwi_read_u16(slw_bytes bytes, uint64_t offset, uint16_t *out);
int slwi_read_u32(slw_bytes bytes, uint64_t offset, uint32_t *out);
int slwi_read_u64(slw_bytes bytes, uint64_t offset, uint64_t *out);
/* A NUL-terminated string that ends inside the bytes; *out without the NUL. */
int slwi_read_string(slw_bytes bytes, uint64_t offset, slw_bytes *out);

#endif
