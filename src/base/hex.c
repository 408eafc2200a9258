/* Hexadecimal text, lowercase only. */
#include "hex.h"

void slwi_hex_encode(const void *data, size_t size, char *out) {
    static const char digits[] = "0123456789abcdef";
    const uint8_t *from = data;
    for (size_t i = 0; i < size; i++) {
        out[2 * i] = digits[from[i] >> 4];
        out[2 * i + 1] = digits[from[i] & 15u];
    }
}

static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

int slwi_hex_decode(const char *text, size_t size, void *out) {
    uint8_t *to = out;
    if (size % 2 != 0) return 0;
    for (size_t i = 0; i < size; i++) {
        if (digit(text[i]) < 0) return 0; /* judged whole first, so that a refusal leaves `out` alone */
    }
    for (size_t i = 0; i < size / 2; i++) to[i] = (uint8_t)(digit(text[2 * i]) * 16 + digit(text[2 * i + 1]));
    return 1;
}
