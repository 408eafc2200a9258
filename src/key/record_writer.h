/* Writes the exact text of a typed record that is hashed (store-semantics A1), piece by piece, into a hash or a buffer.
 * The caller gives well-formed pieces in the right order: names of a dict rising by code point, a comma between items.
 *
 *     slwi_record_writer w;
 *     slwi_record_writer_hash(&w, &ctx, domain);
 *     slwi_record_open(&w, "tuple"); slwi_record_put_text(&w, "x"); slwi_record_comma(&w); …; slwi_record_close(&w);
 *     slwi_record_writer_end(&w);
 *
 * Keys, specs and identities are written straight from their fields this way, with no tree in between. */
#ifndef SLWI_RECORD_WRITER_H
#define SLWI_RECORD_WRITER_H

#include "buffer.h"
#include "sha256.h"

typedef struct slwi_record_writer {
    slwi_sha256_ctx *hash; /* one of the two */
    slwi_buffer *buffer;
    uint64_t size_bytes; /* written so far */
} slwi_record_writer;

/* 1 when a domain may stand in an envelope: 1 to 64 characters of [a-z0-9._-]. */
int slwi_domain_ok(const char *domain);
/* The domains that keys and specs have: the static name for NULL, SLW_DOMAIN_DEFAULT or SLW_DOMAIN_PYPTO; NULL
 * otherwise. */
const char *slwi_domain_known(const char *domain);

/* Begin the envelope. `hash` is initialised here; the buffer is the caller's, and so is the look at its `failed`. */
void slwi_record_writer_hash(slwi_record_writer *writer, slwi_sha256_ctx *hash, const char *domain);
void slwi_record_writer_buffer(slwi_record_writer *writer, slwi_buffer *buffer, const char *domain);
void slwi_record_writer_end(
    slwi_record_writer *writer); /* closes the envelope; the hash is left for the caller to end */

void slwi_record_put_none(slwi_record_writer *writer);
void slwi_record_put_bool(slwi_record_writer *writer, int value);
void slwi_record_put_i64(slwi_record_writer *writer, int64_t value);
void slwi_record_put_u64(slwi_record_writer *writer, uint64_t value);
void slwi_record_put_decimal(slwi_record_writer *writer, slw_bytes decimal); /* an integer of any size, canonical */
void slwi_record_put_float_bits(slwi_record_writer *writer, uint64_t bits);
void slwi_record_put_string(slwi_record_writer *writer, slw_bytes wtf8);
void slwi_record_put_text(slwi_record_writer *writer, const char *ascii); /* as a string */
void slwi_record_put_os_string(slwi_record_writer *writer, slw_bytes raw);
void slwi_record_put_bytes(slwi_record_writer *writer, slw_bytes bytes);

void slwi_record_open(slwi_record_writer *writer, const char *tag); /* "list", "tuple", "dict" */
void slwi_record_close(slwi_record_writer *writer);
void slwi_record_comma(slwi_record_writer *writer); /* between items and between pairs */
/* One pair of a dict: open with its name, then put one value, then close. */
void slwi_record_pair_open(slwi_record_writer *writer, slw_bytes wtf8_name);
void slwi_record_pair_close(slwi_record_writer *writer);

#endif
