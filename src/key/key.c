/* A key: domain, toolchain components, source and specialization, and the two digests that name the artifact's place.
 */
#include <stdatomic.h>
#include <string.h>

#include "fail.h"
#include "heap_sort.h"
#include "hex.h"
#include "key_internal.h"
#include "memory.h"
#include "ref.h"

#include <slipway/limits.h>

#define KEY_TAG 0x4b4c5753u /* "SWLK" */

struct slw_key {
    slwi_ref ref;
    uint32_t tag;
    uint32_t component_count;
    slw_allocator allocator;
    const char *domain; /* static */
    char digest[SLW_DIGEST_TEXT_SIZE];
    char environment[SLW_DIGEST_TEXT_SIZE];
    char source[SLW_DIGEST_TEXT_SIZE];
    char specialization[SLW_DIGEST_TEXT_SIZE];
    slw_component components[]; /* sorted by name; their texts follow the array */
};

/* A component on its way in: the text is borrowed, or formatted from an identity. */
typedef struct gathered {
    const char *name;
    char digest[SLW_DIGEST_TEXT_SIZE];
} gathered;

typedef struct gathering {
    size_t count;
    gathered at[SLW_LIMIT_COMPONENTS];
    slw_component order[SLW_LIMIT_COMPONENTS];
} gathering;

int slwi_digest_text_ok(const char *text, size_t size) {
    return text != NULL && size == 64 && strspn(text, "0123456789abcdef") >= 64;
}

static slw_code take_digest(const char *text, const char *field, char out[SLW_DIGEST_TEXT_SIZE], slw_error *err) {
    if (text == NULL || !slwi_digest_text_ok(text, strnlen(text, SLW_DIGEST_TEXT_SIZE))) {
        slwi_error_subject(err, field, strlen(field));
        return slwi_fail(err, SLW_E_USAGE, "BAD_DIGEST", "%s: a digest is 64 lowercase hexadecimal digits", field);
    }
    memcpy(out, text, 64);
    out[64] = 0;
    return SLW_OK;
}

static slw_code bad_component(slw_error *err, const char *name, const char *why) {
    if (name != NULL) slwi_error_subject(err, name, strnlen(name, SLW_LIMIT_COMPONENT_NAME_BYTES + 1));
    return slwi_fail(err, SLW_E_USAGE, "BAD_COMPONENT", "%s", why);
}

static slw_code add_component(gathering *g, const char *name, const char *digest, slw_error *err) {
    size_t size = name == NULL ? 0 : strnlen(name, SLW_LIMIT_COMPONENT_NAME_BYTES + 1);
    if (size == 0 || size > SLW_LIMIT_COMPONENT_NAME_BYTES ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") < size || strcmp(name, "schema") == 0) {
        return bad_component(err, name, "a component's name is 1 to 64 characters of [a-z0-9_], and not \"schema\"");
    }
    if (g->count == SLW_LIMIT_COMPONENTS) {
        return bad_component(err, name, "a key has at most 32 components");
    }
    gathered *slot = &g->at[g->count];
    slot->name = name;
    slw_code rc = take_digest(digest, name, slot->digest, err);
    if (rc == SLW_OK) g->count++;
    return rc;
}

static slw_code gather(const slw_key_inputs *inputs, gathering *g, slw_error *err) {
    slw_code rc = SLW_OK;
    g->count = 0;
    if (inputs->identity == NULL) {
        if (inputs->components == NULL && inputs->component_count != 0) {
            return bad_component(err, NULL, "component_count without components");
        }
        for (size_t i = 0; i < inputs->component_count && rc == SLW_OK; i++) {
            rc = add_component(g, inputs->components[i].name, inputs->components[i].digest, err);
        }
        return rc;
    }
    rc = slw_identity_usable(inputs->identity, err);
    const char *name;
    const slw_digest *digest;
    for (size_t i = 0; rc == SLW_OK && slw_identity_at(inputs->identity, i, &name, &digest); i++) {
        char text[SLW_DIGEST_TEXT_SIZE];
        if (digest != NULL) slw_digest_format(digest, text);
        rc = add_component(g, name, digest == NULL ? NULL : text, err);
    }
    return rc;
}

static int compare_components(const void *a, const void *b) {
    const slw_component *left = a, *right = b;
    return strcmp(left->name, right->name);
}

/* The five components of pypto's toolchain identity, sorted. */
static const char *const pypto_components[] = {"device_toolchain", "pto_isa", "ptoas", "pypto", "runtime"};
#define PYPTO_COMPONENTS (sizeof pypto_components / sizeof pypto_components[0])

static slw_code check_pypto(const gathering *g, slw_error *err) {
    for (size_t i = 0; i < PYPTO_COMPONENTS; i++) {
        int order = i < g->count ? strcmp(g->order[i].name, pypto_components[i]) : 1;
        if (order < 0) return bad_component(err, g->order[i].name, "pypto.identity has no such component");
        if (order > 0) return bad_component(err, pypto_components[i], "a component of pypto.identity is missing");
    }
    if (g->count == PYPTO_COMPONENTS) return SLW_OK;
    return bad_component(err, g->order[PYPTO_COMPONENTS].name, "pypto.identity has no such component");
}

static slw_code order_components(gathering *g, const char *domain, slw_error *err) {
    for (size_t i = 0; i < g->count; i++) g->order[i] = (slw_component){g->at[i].name, g->at[i].digest};
    slwi_heap_sort(g->order, g->count, sizeof g->order[0], compare_components);
    for (size_t i = 1; i < g->count; i++) {
        if (strcmp(g->order[i - 1].name, g->order[i].name) == 0) {
            return bad_component(err, g->order[i].name, "two components have the same name");
        }
    }
    if (strcmp(domain, SLW_DOMAIN_PYPTO) == 0) return check_pypto(g, err);
    return g->count != 0 ? SLW_OK : bad_component(err, NULL, "a key has at least one component");
}

static void release_key(slwi_ref *ref) {
    slw_key *key = (slw_key *) (void *) ref;
    slw_allocator allocator = key->allocator;
    key->tag = 0;
    slwi_free(&allocator, key);
}

/* One block: the key, its components, their names and digests. */
static slw_key *build(const slw_allocator *allocator, const gathering *g, slw_error *err) {
    size_t size = sizeof(slw_key) + g->count * sizeof(slw_component);
    size_t text_at = size;
    for (size_t i = 0; i < g->count; i++) size += strlen(g->order[i].name) + 1 + SLW_DIGEST_TEXT_SIZE;
    slw_key *key = slwi_alloc_zero(allocator, size);
    if (key == NULL) {
        (void) slwi_fail_memory(err, size);
        return NULL;
    }
    slwi_ref_init(&key->ref, release_key);
    key->tag = KEY_TAG;
    key->allocator = *allocator;
    key->component_count = (uint32_t) g->count;
    char *text = (char *) key + text_at;
    for (size_t i = 0; i < g->count; i++) {
        size_t name_size = strlen(g->order[i].name) + 1;
        memcpy(text, g->order[i].name, name_size);
        memcpy(text + name_size, g->order[i].digest, SLW_DIGEST_TEXT_SIZE);
        key->components[i] = (slw_component){text, text + name_size};
        text += name_size + SLW_DIGEST_TEXT_SIZE;
    }
    return key;
}

static void put_pair(slwi_record_writer *w, const char *name, const char *text) {
    slwi_record_pair_open(w, (slw_bytes){name, strlen(name)});
    slwi_record_put_text(w, text);
    slwi_record_pair_close(w);
}

static void put_schema(slwi_record_writer *w) {
    slwi_record_pair_open(w, (slw_bytes){"schema", 6});
    slwi_record_put_i64(w, 1);
    slwi_record_pair_close(w);
}

/* The dict of the components, with "schema" at its place among them or without. */
static void put_components(slwi_record_writer *w, const slw_key *key, int with_schema) {
    int schema_left = with_schema;
    slwi_record_open(w, "dict");
    for (size_t i = 0; i < key->component_count; i++) {
        const slw_component *c = &key->components[i];
        if (i != 0) slwi_record_comma(w);
        if (schema_left && strcmp(c->name, "schema") > 0) {
            put_schema(w);
            slwi_record_comma(w);
            schema_left = 0;
        }
        put_pair(w, c->name, c->digest);
    }
    if (schema_left) {
        slwi_record_comma(w);
        put_schema(w);
    }
    slwi_record_close(w);
}

static atomic_uint digest_bytes = sizeof(slw_digest);

void slwi_key_shorten(unsigned bytes) {
    atomic_store(&digest_bytes, bytes);
}

static void finish(slwi_record_writer *w, slwi_sha256_ctx *hash, char out[SLW_DIGEST_TEXT_SIZE]) {
    slw_digest digest;
    slwi_record_writer_end(w);
    slwi_sha256_final(hash, &digest);
    const unsigned kept = atomic_load_explicit(&digest_bytes, memory_order_relaxed);
    if (kept < sizeof digest.bytes) memset(digest.bytes + kept, 0, sizeof digest.bytes - kept);
    slw_digest_format(&digest, out);
}

/* The tuple ("toolchain", 1, {name: digest}). */
static void digest_environment(slw_key *key) {
    slwi_sha256_ctx hash;
    slwi_record_writer w;
    slwi_record_writer_hash(&w, &hash, key->domain);
    slwi_record_open(&w, "tuple");
    slwi_record_put_text(&w, "toolchain");
    slwi_record_comma(&w);
    slwi_record_put_i64(&w, 1);
    slwi_record_comma(&w);
    put_components(&w, key, 0);
    slwi_record_close(&w);
    finish(&w, &hash, key->environment);
}

/* {environment: {components, schema}, schema, source, specialization}. */
static void digest_key(slw_key *key) {
    slwi_sha256_ctx hash;
    slwi_record_writer w;
    slwi_record_writer_hash(&w, &hash, key->domain);
    slwi_record_open(&w, "dict");
    slwi_record_pair_open(&w, (slw_bytes){"environment", 11});
    put_components(&w, key, 1);
    slwi_record_pair_close(&w);
    slwi_record_comma(&w);
    put_schema(&w);
    slwi_record_comma(&w);
    put_pair(&w, "source", key->source);
    slwi_record_comma(&w);
    put_pair(&w, "specialization", key->specialization);
    slwi_record_close(&w);
    finish(&w, &hash, key->digest);
}

slw_code slw_key_create(const slw_key_inputs *inputs, slw_key **out, slw_error *err) {
    slw_allocator allocator;
    gathering g;
    char source[SLW_DIGEST_TEXT_SIZE], specialization[SLW_DIGEST_TEXT_SIZE];
    slwi_error_reset(err);
    if (inputs == NULL || inputs->size != sizeof *inputs || out == NULL) {
        return slwi_fail(err, SLW_E_USAGE, "NULL", "no inputs (or of another size), or no place for the key");
    }
    const char *domain = slwi_domain_known(inputs->domain);
    if (domain == NULL) {
        slwi_error_subject(err, inputs->domain, strlen(inputs->domain));
        return slwi_fail(err, SLW_E_USAGE, "BAD_DOMAIN", "keys are of slipway.identity or pypto.identity");
    }
    slw_code rc = slwi_allocator_take(&inputs->allocator, &allocator, err);
    if (rc == SLW_OK) rc = gather(inputs, &g, err);
    if (rc == SLW_OK) rc = order_components(&g, domain, err);
    if (rc == SLW_OK) rc = take_digest(inputs->source, "source", source, err);
    if (rc == SLW_OK) rc = take_digest(inputs->specialization, "specialization", specialization, err);
    if (rc != SLW_OK) return rc;
    slw_key *key = build(&allocator, &g, err);
    if (key == NULL) return SLW_E_NO_MEMORY;
    key->domain = domain;
    memcpy(key->source, source, sizeof source);
    memcpy(key->specialization, specialization, sizeof specialization);
    digest_environment(key);
    digest_key(key);
    *out = key;
    return SLW_OK;
}

int slwi_key_ok(const slw_key *key) {
    return key != NULL && key->tag == KEY_TAG;
}

slw_key *slw_key_retain(const slw_key *key) {
    return slwi_key_ok(key) ? slwi_retain(key) : NULL;
}

void slw_key_release(slw_key **key) {
    if (key == NULL) return;
    slw_key *held = *key;
    *key = NULL;
    if (slwi_key_ok(held)) slwi_release(held);
}

const char *slw_key_domain(const slw_key *key) {
    return slwi_key_ok(key) ? key->domain : NULL;
}

const char *slw_key_digest(const slw_key *key) {
    return slwi_key_ok(key) ? key->digest : NULL;
}

const char *slw_key_environment(const slw_key *key) {
    return slwi_key_ok(key) ? key->environment : NULL;
}

const char *slw_key_source(const slw_key *key) {
    return slwi_key_ok(key) ? key->source : NULL;
}

const char *slw_key_specialization(const slw_key *key) {
    return slwi_key_ok(key) ? key->specialization : NULL;
}

size_t slw_key_component_count(const slw_key *key) {
    return slwi_key_ok(key) ? key->component_count : 0;
}

slw_component slw_key_component(const slw_key *key, size_t index) {
    if (index >= slw_key_component_count(key)) return (slw_component){NULL, NULL};
    return key->components[index];
}

static int same_components(const slw_key *a, const slw_key *b) {
    if (a->component_count != b->component_count) return 0;
    for (size_t i = 0; i < a->component_count; i++) {
        if (strcmp(a->components[i].name, b->components[i].name) != 0 ||
            strcmp(a->components[i].digest, b->components[i].digest) != 0)
            return 0;
    }
    return 1;
}

int slwi_key_equal(const slw_key *a, const slw_key *b) {
    return a == b || (strcmp(a->domain, b->domain) == 0 && strcmp(a->digest, b->digest) == 0 &&
                      strcmp(a->source, b->source) == 0 && strcmp(a->specialization, b->specialization) == 0 &&
                      same_components(a, b));
}

static void write_schema(slwi_json_writer *writer) {
    slwi_json_key(writer, "schema");
    slwi_json_put_u64(writer, 1);
}

static void write_text(slwi_json_writer *writer, const char *name, const char *text) {
    slwi_json_key(writer, name);
    slwi_json_put_text(writer, text);
}

void slwi_key_write_components(slwi_json_writer *writer, const slw_key *key) {
    int schema_left = 1;
    slwi_json_object_begin(writer);
    slwi_json_key(writer, "environment");
    slwi_json_object_begin(writer);
    for (size_t i = 0; i < key->component_count; i++) {
        if (schema_left && strcmp(key->components[i].name, "schema") > 0) {
            write_schema(writer);
            schema_left = 0;
        }
        write_text(writer, key->components[i].name, key->components[i].digest);
    }
    if (schema_left) write_schema(writer);
    slwi_json_object_end(writer);
    write_schema(writer);
    write_text(writer, "source", key->source);
    write_text(writer, "specialization", key->specialization);
    slwi_json_object_end(writer);
}
