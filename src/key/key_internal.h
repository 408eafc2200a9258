/* Keys and specs for the other rooms: what the store needs beyond the public getters. */
#ifndef SLWI_KEY_INTERNAL_H
#define SLWI_KEY_INTERNAL_H

#include <slipway/key.h>

#include "json.h"
#include "record_writer.h" /* slwi_domain_known; records without a tree */

/* The "components" object of a marker (store-semantics A6), canonical:
   {"environment":{"<name>":"<digest>",…,"schema":1},"schema":1,"source":"…","specialization":"…"}. The writer may be
   sorted. */
void slwi_key_write_components(slwi_json_writer *writer, const slw_key *key);
/* The "required_files" array of a marker: names by code point. */
void slwi_spec_write_required(slwi_json_writer *writer, const slw_spec *spec);

/* For tests: keys made from now on have so many bytes of digest, the rest 0. What finds the right artifact then does
   not rest on the digest alone. */
void slwi_key_shorten(unsigned bytes);

/* 1 when both name the same artifact: domain, digest, and what the digest is of. (The payload a spec keeps is not
   compared.) */
int slwi_key_equal(const slw_key *a, const slw_key *b);
int slwi_spec_equal(const slw_spec *a, const slw_spec *b);

/* 1 when it is a living object of that kind: for argument checks at public entries. NULL: 0. */
int slwi_key_ok(const slw_key *key);
int slwi_spec_ok(const slw_spec *spec);

/* Index of a required file by its raw name, or -1. Binary search. */
int64_t slwi_spec_find_required(const slw_spec *spec, slw_bytes raw);

/* The enum values of their names in documents and paths; 0 when the text (size bytes, no NUL needed) is none of them.
 */
int slwi_state_parse(slw_bytes text, slw_state *out);
int slwi_build_kind_parse(slw_bytes text, slw_build_kind *out);

/* 1 for exactly 64 lowercase hexadecimal digits. */
int slwi_digest_text_ok(const char *text, size_t size);

#endif
