/* What the tests of Triton's metadata share: the real cache entries and their oracle. */
#ifndef TRITON_FIXTURE_H
#define TRITON_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slipway/inspect.h>

#include "cuda/cubin_read.h"
#include "hip/amdgcn_read.h"
#include "json.h"
#include "metadata/triton_metadata.h"
#include "backends.h"
#include "slt.h"

static const slw_allocator triton_heap = SLW_ALLOCATOR_INIT;
static slwi_json_document *triton_oracle;
static char *triton_oracle_text;

typedef struct triton_entry {
    const slwi_json *oracle;
    char label[64]; /* "3.9.0/3I2GI6" */
    const char *cache, *key, *stem, *entry;
    int is_cuda;
    slw_bytes metadata;
    slw_bytes binary;
} triton_entry;

static inline const slwi_json *triton_parse(const char *text, size_t size, slwi_json_document **document) {
    slw_error err = SLW_ERROR_INIT;
    slt_ok(slwi_json_parse(&triton_heap, (slw_bytes){text, size}, NULL, document, &err), &err);
    return slwi_json_root(*document);
}

/* Of the oracle: how many entries. */
static inline size_t triton_open(void) {
    size_t size;
    if (triton_oracle == NULL) {
        triton_oracle_text = slt_read_file(slt_fixture("triton/oracle.json"), &size);
        triton_parse(triton_oracle_text, size, &triton_oracle);
    }
    return slwi_json_length(slwi_json_get(slwi_json_root(triton_oracle), "entries"));
}

static inline void triton_close(void) {
    slwi_json_free(&triton_oracle);
    free(triton_oracle_text);
    triton_oracle_text = NULL;
}

/* A member by its path, "tool.kernel.vgpr_count"; NULL where there is none. */
static inline const slwi_json *triton_at(const slwi_json *node, const char *path) {
    char part[64];
    while (node != NULL && *path != '\0') {
        size_t size = strcspn(path, ".");
        ck_assert_uint_lt(size, sizeof(part));
        memcpy(part, path, size);
        part[size] = '\0';
        node = slwi_json_get(node, part);
        path += size + (path[size] == '.');
    }
    return node;
}

static inline const char *triton_text(const slwi_json *node, const char *path) {
    slw_bytes text;
    ck_assert_msg(slwi_json_string(triton_at(node, path), &text), "%s", path);
    return text.data;
}

/* A number; null and absent are 0. */
static inline uint64_t triton_number(const slwi_json *node, const char *path) {
    uint64_t value = 0;
    const slwi_json *at = triton_at(node, path);
    if (at == NULL || slwi_json_kind(at) == SLWI_JSON_NULL) return 0;
    ck_assert_msg(slwi_json_u64(at, &value), "%s", path);
    return value;
}

static inline int triton_flag(const slwi_json *node, const char *path) {
    int value = 0;
    (void)slwi_json_bool(triton_at(node, path), &value);
    return value;
}

static inline slw_bytes triton_file(const char *cache, const char *key, const char *file) {
    char path[512];
    slw_bytes bytes;
    snprintf(path, sizeof(path), "triton/%s/%s/%s", cache, key, file);
    bytes.data = slt_read_file(slt_fixture(path), &bytes.size);
    return bytes;
}

static inline triton_entry triton_load(size_t index) {
    triton_entry e;
    char file[256];
    e.oracle = slwi_json_item(slwi_json_get(slwi_json_root(triton_oracle), "entries"), index);
    e.cache = triton_text(e.oracle, "cache");
    e.key = triton_text(e.oracle, "key");
    e.stem = triton_text(e.oracle, "stem");
    e.entry = triton_text(e.oracle, "entry");
    e.is_cuda = strcmp(triton_text(e.oracle, "backend"), "cuda") == 0;
    snprintf(e.label, sizeof(e.label), "%s/%.6s", e.cache + strlen("cache-"), e.key);
    snprintf(file, sizeof(file), "%s.json", e.stem);
    e.metadata = triton_file(e.cache, e.key, file);
    snprintf(file, sizeof(file), "%s.%s", e.stem, e.is_cuda ? "cubin" : "hsaco");
    e.binary = triton_file(e.cache, e.key, file);
    return e;
}

/* Entry of that cache, backend and beginning of a key. */
static inline triton_entry triton_load_named(const char *label) {
    const size_t count = triton_open();
    for (size_t i = 0; i < count; i++) {
        triton_entry e = triton_load(i);
        if (strcmp(e.label, label) == 0) return e;
        free((void *)(uintptr_t)e.metadata.data);
        free((void *)(uintptr_t)e.binary.data);
    }
    ck_abort_msg("no entry %s", label);
    return (triton_entry){0};
}

static inline void triton_free(triton_entry *e) {
    free((void *)(uintptr_t)e->metadata.data);
    free((void *)(uintptr_t)e->binary.data);
    memset(e, 0, sizeof(*e));
}

static inline slw_code triton_contract_of(const triton_entry *e, slw_bytes metadata, slw_contract **out,
                                          slw_error *err) {
    return slw_contract_read(&triton_heap, e->binary, metadata, NULL, NULL, out, err);
}

/* A copy of a text with the first `from` in it replaced; fails the test where there is none. Free .data. */
static inline slw_bytes triton_replace(slw_bytes text, const char *from, const char *to) {
    const size_t from_size = strlen(from);
    const size_t to_size = strlen(to);
    const char *data = text.data;
    for (size_t i = 0; i + from_size <= text.size; i++) {
        if (memcmp(data + i, from, from_size) != 0) continue;
        char *copy = malloc(text.size + to_size + 1);
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, data, i);
        memcpy(copy + i, to, to_size);
        memcpy(copy + i + to_size, data + i + from_size, text.size - i - from_size);
        return (slw_bytes){copy, text.size - from_size + to_size};
    }
    ck_abort_msg("%s is not in %.*s", from, (int)text.size, data);
    return (slw_bytes){NULL, 0};
}

#endif
