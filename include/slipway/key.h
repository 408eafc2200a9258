/* Keys and specs: the name of an artifact, and what it has to contain.  Both are immutable once made, reference-counted
 * inside, and may be shared by threads. */
#ifndef SLIPWAY_KEY_H
#define SLIPWAY_KEY_H

#include <slipway/identity.h>
#include <slipway/record.h>

SLW_BEGIN_DECLS

/* SHA-256 of a buffer, by the fastest code this processor has. Threads: any. Cost: about half a nanosecond a byte with
   SHA instructions, five without. */
SLW_API void slw_sha256(slw_bytes bytes, slw_digest *out);

/* The name of the SHA-256 code in use: "x86-sha", "armv8-sha2" or "libsodium". Static storage. */
SLW_API const char *slw_sha256_implementation(void);
typedef struct slw_key slw_key;
typedef struct slw_spec slw_spec;

typedef struct slw_component {
    const char *name;
    const char *digest; /* 64 lowercase hexadecimal digits; NULL or anything else is refused */
} slw_component;

typedef struct slw_key_inputs {
    uint32_t size;
    slw_allocator allocator;
    const char *domain;              /* NULL = SLW_DOMAIN_DEFAULT */
    const slw_component *components; /* in any order; ignored when `identity` is set */
    size_t component_count;
    const slw_identity *identity; /* sealed and usable, else IDENTITY_UNUSABLE; NULL: the components above */
    const char *source;           /* digests as text */
    const char *specialization;
} slw_key_inputs;
#define SLW_KEY_INPUTS_INIT                                                                                            \
    { sizeof(slw_key_inputs), SLW_ALLOCATOR_INIT, NULL, NULL, 0, NULL, NULL, NULL }

/* Makes a key. Copies everything. Failure: `out` untouched; USAGE (reason BAD_DIGEST, BAD_COMPONENT, BAD_DOMAIN;
   `subject` names the field), IDENTITY_UNUSABLE, NO_MEMORY. In pypto.identity the components must be exactly pypto,
   runtime, pto_isa, ptoas, device_toolchain; in the default domain 1 to 32 names [a-z0-9_]+, never "schema". */
SLW_API SLW_MUST_CHECK slw_code slw_key_create(const slw_key_inputs *inputs, slw_key **out, slw_error *err);
SLW_API slw_key *slw_key_retain(const slw_key *key); /* another owner of the same key */
SLW_API void slw_key_release(slw_key **key);         /* accepts a pointer to NULL */

SLW_API const char *slw_key_domain(const slw_key *key);
SLW_API const char *slw_key_digest(const slw_key *key); /* text; lives as long as the key, like all of these */
SLW_API const char *slw_key_environment(const slw_key *key);
SLW_API const char *slw_key_source(const slw_key *key);
SLW_API const char *slw_key_specialization(const slw_key *key);
SLW_API size_t slw_key_component_count(const slw_key *key);
SLW_API slw_component slw_key_component(const slw_key *key,
                                        size_t index); /* sorted by name; {NULL, NULL} past the end */

typedef enum slw_state { SLW_GENERATED = 0, SLW_READY = 1 } slw_state;
typedef enum slw_build_kind { SLW_SINGLE = 0, SLW_DISTRIBUTED = 1 } slw_build_kind;
SLW_API const char *slw_state_name(slw_state state);          /* "generated", "ready"; NULL otherwise */
SLW_API const char *slw_build_kind_name(slw_build_kind kind); /* "single_chip", "distributed"; NULL otherwise */

typedef struct slw_spec_inputs {
    uint32_t size;
    slw_allocator allocator;
    const char *domain; /* NULL = SLW_DOMAIN_DEFAULT */
    slw_state state;
    slw_build_kind build_kind;
    const slw_bytes *required_files; /* raw names; 1 to SLW_LIMIT_REQUIRED_FILES, unique, in any order */
    size_t required_file_count;
    const char *keep; /* the one payload whose bytes a FULL lookup keeps in memory, or NULL; not part of the digest */
} slw_spec_inputs;
#define SLW_SPEC_INPUTS_INIT                                                                                           \
    { sizeof(slw_spec_inputs), SLW_ALLOCATOR_INIT, NULL, SLW_GENERATED, SLW_SINGLE, NULL, 0, NULL }

/* Makes a spec. Copies everything. Failure: `out` untouched; USAGE, reason BAD_PATH (subject = the name), DUPLICATE,
   EMPTY, BAD_STATE; LIMIT; NO_MEMORY. Path rules: docs/store-format.md. */
SLW_API SLW_MUST_CHECK slw_code slw_spec_create(const slw_spec_inputs *inputs, slw_spec **out, slw_error *err);
SLW_API slw_spec *slw_spec_retain(const slw_spec *spec);
SLW_API void slw_spec_release(slw_spec **spec);

SLW_API const char *slw_spec_domain(const slw_spec *spec);
SLW_API const char *slw_spec_digest(const slw_spec *spec);
SLW_API slw_state slw_spec_state(const slw_spec *spec);
SLW_API slw_build_kind slw_spec_build_kind(const slw_spec *spec);
SLW_API const char *slw_spec_keep(const slw_spec *spec);
SLW_API size_t slw_spec_required_count(const slw_spec *spec);
SLW_API slw_bytes slw_spec_required(const slw_spec *spec,
                                    size_t index); /* sorted by code point; NUL follows the bytes */

/* A request document (REQUEST.json of the command): components, source, specialization, state, build_kind and
   required_files. Unknown fields, duplicates and bad digests are refused (INVALID_METADATA or USAGE) with offset, line
   and column where they are the text's fault. Both outputs or neither. */
SLW_API SLW_MUST_CHECK slw_code slw_request_parse(const slw_allocator *allocator, slw_bytes json, const char *domain,
                                                  slw_key **out_key, slw_spec **out_spec, slw_error *err);

SLW_END_DECLS
#endif
