#ifndef SLWI_HEX_H
#define SLWI_HEX_H

#include <stddef.h>
#include <stdint.h>

void slwi_hex_encode(const void *data, size_t size, char *out); /* writes 2 * size digits, no NUL */
int slwi_hex_decode(const char *text, size_t size,
                    void *out); /* lowercase only; 1 when all `size` (even) digits were good */

#endif
