/* SHA-256 by libsodium: what is left where the processor has no SHA instructions, and the judge of the others in tests.
 */
#include "sha256_code.h"

#include <sodium/crypto_hash_sha256.h>

_Static_assert(sizeof(crypto_hash_sha256_state) <= sizeof(((slwi_sha256_ctx *) 0)->as.foreign),
               "a context has to hold libsodium's state");
_Static_assert(crypto_hash_sha256_BYTES == sizeof(slw_digest), "SHA-256 has 32 bytes");

static crypto_hash_sha256_state *state_of(slwi_sha256_ctx *ctx) {
    return (crypto_hash_sha256_state *) (void *) ctx->as.foreign;
}

static int available(void) {
    return 1;
}

static void init(slwi_sha256_ctx *ctx) {
    (void) crypto_hash_sha256_init(state_of(ctx)); /* always 0 */
}

static void update(slwi_sha256_ctx *ctx, const void *data, size_t size) {
    (void) crypto_hash_sha256_update(state_of(ctx), data, size);
}

static void final(slwi_sha256_ctx *ctx, slw_digest *out) {
    (void) crypto_hash_sha256_final(state_of(ctx), out->bytes);
}

const slwi_sha256_code slwi_sha256_sodium = {"libsodium", available, NULL, NULL, init, update, final};
