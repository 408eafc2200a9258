/* Owned text, digests and cancel tokens: the public calls of <slipway/bytes.h>. */
#include <slipway/bytes.h>

#include <stdatomic.h>

#include "fail.h"
#include "hex.h"
#include "memory.h"

void slw_text_release(slw_text *text) {
    if (text == NULL) return;
    slwi_free(&text->allocator, text->data);
    text->data = NULL;
    text->size = 0;
}

slw_code slw_text_copy(const slw_allocator *allocator, slw_bytes bytes, slw_text *out, slw_error *err) {
    slwi_error_reset(err);
    slw_allocator taken = SLW_ALLOCATOR_INIT;
    if (out == NULL || (bytes.data == NULL && bytes.size != 0))
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_text_copy needs bytes and `out`");
    const slw_code rc = allocator != NULL ? slwi_allocator_take(allocator, &taken, err) : SLW_OK;
    if (rc != SLW_OK) return rc;
    char *data = slwi_strndup(&taken, bytes.data != NULL ? bytes.data : "", bytes.size);
    if (data == NULL) return slwi_fail_memory(err, bytes.size);
    *out = (slw_text){data, bytes.size, taken};
    return SLW_OK;
}

void slw_digest_format(const slw_digest *digest, char out[SLW_DIGEST_TEXT_SIZE]) {
    slwi_hex_encode(digest->bytes, sizeof digest->bytes, out);
    out[SLW_DIGEST_TEXT_SIZE - 1] = '\0';
}

slw_code slw_digest_parse(const char *text, size_t size, slw_digest *out, slw_error *err) {
    slwi_error_reset(err);
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "out is NULL");
    if (text == NULL || size != 2 * sizeof out->bytes || !slwi_hex_decode(text, size, out->bytes)) {
        (void)slwi_fail(err, SLW_E_USAGE, "BAD_DIGEST", "a digest is 64 lowercase hexadecimal digits");
        slwi_error_subject(err, text, text == NULL ? 0 : size);
        return SLW_E_USAGE;
    }
    return SLW_OK;
}

struct slw_cancel {
    slw_allocator allocator;
    atomic_int requested;
};

slw_code slw_cancel_create(const slw_allocator *allocator, slw_cancel **out, slw_error *err) {
    slwi_error_reset(err);
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "out is NULL");
    slw_allocator taken;
    const slw_code rc = slwi_allocator_take(allocator, &taken, err);
    if (rc != SLW_OK) return rc;
    slw_cancel *token = slwi_alloc(&taken, sizeof *token);
    if (token == NULL) return slwi_fail_memory(err, sizeof *token);
    token->allocator = taken;
    atomic_init(&token->requested, 0);
    *out = token;
    return SLW_OK;
}

void slw_cancel_request(slw_cancel *token) {
    if (token != NULL) atomic_store_explicit(&token->requested, 1, memory_order_release);
}

int slw_cancel_requested(const slw_cancel *token) {
    return token != NULL && atomic_load_explicit(&token->requested, memory_order_acquire) != 0;
}

void slw_cancel_release(slw_cancel **token) {
    if (token == NULL || *token == NULL) return;
    slw_cancel *old = *token;
    *token = NULL;
    const slw_allocator allocator = old->allocator;
    slwi_free(&allocator, old);
}
