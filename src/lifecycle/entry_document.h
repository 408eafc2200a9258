/* slipway.json: what compile() says of an entry, so that ls, show and a miss can be explained. Optional for readers.
 *
 * Canonical JSON, schema 1:
 *   { "backend": "host",
 *     "contract": {…},
 *     "inputs": {"lowered": record, "options": record, "source": record}: what the key was made of, in the form that
 *               slw_record_parse reads; null where there is none or it is too large. May be absent.
 *     "name": "saxpy.c",
 *     "record": the key's record: {"environment": {name: digest, …, "schema": 1}, "schema": 1, "source": digest,
 *               "specialization": digest}; null for a build without a key
 *     "schema": 1,
 *     "target": "x86_64-linux-gnu",
 *     "toolchain": {"compiler": "/usr/bin/gcc", "components": [{"digest": digest or null,
 *               "inventory": [{"digest": digest, "kind": "file", "name": path} or {"kind": "environment", "name": name,
 *               "value": text}, …], "left_out": 0, "name": "compiler"}, …]}
 *               "inventory" and "left_out" may be absent. } */
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
    /* What the key's source and specialization are digests of, and what a lowered source is; NULL: not known. */
    const slw_record *source, *options, *lowered;
} slwi_entry_document;

/* Appends the document to a buffer; the caller asks slwi_buffer_status. */
void slwi_entry_document_write(const slwi_entry_document *document, slwi_buffer *out);
/* The members that say what a key is made of alone ("inputs", "name", "record", "toolchain", and "target" where it is
   not NULL): of a request that has no entry yet. Never read as a document. */
void slwi_entry_document_write_inputs(const slwi_entry_document *document, const char *target, slwi_buffer *out);

/* The contract in a document: OK with *out NULL where its schema, or the contract's, is another one (read the binary
   instead).
   INVALID_METADATA for anything that is not what the writer would have written; of "inputs" and "toolchain", which say
   nothing of a launch, only where they end is looked at. */
slw_code slwi_entry_document_contract(const slw_allocator *allocator, slw_bytes text, slw_contract **out,
                                      slw_error *err);

#endif
