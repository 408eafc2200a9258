/* slipway.json: what compile() says of an entry, so that ls, show and a miss can be explained. Optional for readers.
 *
 * Canonical JSON, schema 1:
 *   { "backend": "host",
 *     "contract": {…},
 *     "name": "saxpy.c",
 *     "record": the key's record: {"environment": {name: digest, …, "schema": 1}, "schema": 1, "source": digest,
 *               "specialization": digest}; null for a build without a key
 *     "schema": 1,
 *     "target": "x86_64-linux-gnu",
 *     "toolchain": {"compiler": "/usr/bin/gcc", "components": [{"digest": digest or null, "name": "compiler"}, …]} } */
#ifndef SLWI_ENTRY_DOCUMENT_H
#define SLWI_ENTRY_DOCUMENT_H

#include <slipway/limits.h>

#include "backends.h"

#define SLWI_ENTRY_DOCUMENT_NAME   "slipway.json"
#define SLWI_ENTRY_DOCUMENT_SCHEMA 1u

typedef struct slwi_entry_document {
    const char *name;
    const slw_contract *contract; /* gives backend and target */
    const slw_key *key;           /* NULL: the identity is not usable, or the request has no key */
    const slw_identity *identity;
    const char *compiler; /* the driver's path: a claim */
} slwi_entry_document;

/* Appends the document to a buffer; the caller asks slwi_buffer_status. */
void slwi_entry_document_write(const slwi_entry_document *document, slwi_buffer *out);

/* The contract in a document: OK with *out NULL where its schema, or the contract's, is another one (read the binary
   instead).
   INVALID_METADATA for anything that is not what the writer would have written. */
slw_code slwi_entry_document_contract(const slw_allocator *allocator, slw_bytes text, slw_contract **out,
                                      slw_error *err);

#endif
