/* Arithmetic that says when it overflows: each returns 1 on overflow and leaves *out alone. */
#ifndef SLWI_CHECKED_H
#define SLWI_CHECKED_H

#include <stddef.h>
#include <stdint.h>

static inline int slwi_add_size(size_t a, size_t b, size_t *out) {
    if (b > SIZE_MAX - a) return 1;
    *out = a + b;
    return 0;
}
static inline int slwi_mul_size(size_t a, size_t b, size_t *out) {
    if (a != 0 && b > SIZE_MAX / a) return 1;
    *out = a * b;
    return 0;
}
static inline int slwi_add_u64(uint64_t a, uint64_t b, uint64_t *out) {
    if (b > UINT64_MAX - a) return 1;
    *out = a + b;
    return 0;
}
static inline int slwi_mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
    if (a != 0 && b > UINT64_MAX / a) return 1;
    *out = a * b;
    return 0;
}

#endif
