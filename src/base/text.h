/* UTF-8, WTF-8 and names of the file system. */
#ifndef SLWI_TEXT_H
#define SLWI_TEXT_H

#include "buffer.h"

/* One code point of WTF-8 (UTF-8 that may hold lone surrogates) at *at; 1 and *at moved on, or 0 for anything else:
   overlong, > U+10FFFF, truncated. */
int slwi_wtf8_next(slw_bytes text, size_t *at, uint32_t *out);
/* As above, surrogates refused. */
int slwi_utf8_next(slw_bytes text, size_t *at, uint32_t *out);
void slwi_wtf8_append(slwi_buffer *buffer, uint32_t code_point);
/* Raw file name -> WTF-8: bytes that are not part of valid UTF-8 become U+DC80 to U+DCFF. */
void slwi_os_to_wtf8(slw_bytes raw, slwi_buffer *out);
/* And back: U+DC80..U+DCFF become bytes; 0 when another surrogate or bad WTF-8 stands there (nothing is promised of
 * out). */
int slwi_wtf8_to_os(slw_bytes wtf8, slwi_buffer *out);
/* Order by code point of two raw file names, without allocating: <0, 0, >0. */
int slwi_os_compare(slw_bytes a, slw_bytes b);
/* The path rules of store-semantics A5: 1 when fine as a payload or required-file path. Top-level
   artifact_manifest.json is refused when `is_required`. */
int slwi_payload_path_ok(slw_bytes raw, int is_required);

#endif
