/* SHA-256, by the fastest code this processor has.  The implementation is chosen once, at first use, by asking the
   processor; every caller in a process gets the same one. Threads: any; a context is used by one thread at a time. */
#ifndef SLWI_SHA256_H
#define SLWI_SHA256_H

#include <slipway/bytes.h>

struct slwi_sha256_code;

/* Holds no memory of its own: it may be copied by assignment to hash messages with a common beginning. */
typedef struct slwi_sha256_ctx {
    const struct slwi_sha256_code *code;
    union {
        struct {
            uint32_t state[8];
            uint64_t size_bytes;
            uint8_t block[64];
        } own;
        uint64_t foreign[16]; /* libsodium's state, which its own file knows */
    } as;
} slwi_sha256_ctx;

void slwi_sha256_init(slwi_sha256_ctx *ctx);
void slwi_sha256_update(slwi_sha256_ctx *ctx, const void *data, size_t size); /* data may be NULL when size is 0 */
/* The same bytes' number into two contexts, side by side where that pays: as long as both are at a block's end. */
void slwi_sha256_update_two(slwi_sha256_ctx *a, const void *data_a, slwi_sha256_ctx *b, const void *data_b,
                            size_t size);
void slwi_sha256_final(slwi_sha256_ctx *ctx, slw_digest *out);                /* ends the context */

void slwi_sha256_once(slw_bytes bytes, slw_digest *out);

/* The digests of `count` independent messages, in their order.  One message is bound by the latency of the SHA
   instructions; where it pays, two are hashed side by side in one loop, the longest against all the others. So give
   everything that is at hand in one call. The messages may be the same memory; `out` must not overlap them. */
void slwi_sha256_many(const slw_bytes *messages, size_t count, slw_digest *out);

/* For tests: makes "x86-sha", "armv8-sha2" or "libsodium" the one in use; NULL chooses anew. 0: this processor has not
   got it, nothing changed. Contexts begun before go on with theirs. */
int slwi_sha256_use(const char *name);

#endif
