/* What an implementation of SHA-256 gives to sha256.c. */
#ifndef SLWI_SHA256_CODE_H
#define SLWI_SHA256_CODE_H

#include "sha256.h"

typedef struct slwi_sha256_code {
    const char *name;
    int (*available)(void);

    /* Either a compression function: `count` blocks of 64 bytes into the state (a to h, as FIPS 180-4 names them) … */
    void (*blocks)(uint32_t state[8], const uint8_t *data, size_t count);
    /* … with, where it is faster than one after the other, two messages of `count` blocks each … */
    void (*blocks_of_two)(uint32_t state_a[8], const uint8_t *data_a, uint32_t state_b[8], const uint8_t *data_b,
                          size_t count);

    /* … or, when `blocks` is NULL, the whole: the state lies in ctx->as.foreign. */
    void (*init)(slwi_sha256_ctx *ctx);
    void (*update)(slwi_sha256_ctx *ctx, const void *data, size_t size);
    void (*final)(slwi_sha256_ctx *ctx, slw_digest *out);
} slwi_sha256_code;

/* Present where the compiler targets that architecture. */
extern const slwi_sha256_code slwi_sha256_x86;
extern const slwi_sha256_code slwi_sha256_arm;
/* Present everywhere. */
extern const slwi_sha256_code slwi_sha256_sodium;

/* The round constants, aligned for vector loads. */
extern const uint32_t slwi_sha256_k[64];

#endif
