#include "identity_input.h"

#include <slipway/record.h>
#include <string.h>

#include "fail.h"
#include "heap_sort.h"

/* A tuple being made. After the first failure everything is skipped and `rc` stays. */
typedef struct maker {
    const slw_allocator *allocator;
    slw_error *err;
    slw_record *tuple;
    slw_code rc;
} maker;

static void put(maker *make, slw_record *item) {
    if (make->rc == SLW_OK) make->rc = slw_record_append(make->tuple, &item, make->err);
    slw_record_release(&item);
}

static void put_path(maker *make, const char *path) {
    slw_record *item = NULL;
    const slw_bytes bytes = {path, strlen(path)};
    if (make->rc == SLW_OK) make->rc = slw_record_os_string(make->allocator, bytes, &item, make->err);
    put(make, item);
}

static void put_text(maker *make, const char *text) {
    put_path(make, text); /* names and variables are bytes of the system, too */
}

static void put_bytes(maker *make, slw_bytes bytes) {
    slw_record *item = NULL;
    if (make->rc == SLW_OK) make->rc = slw_record_bytes(make->allocator, bytes, &item, make->err);
    put(make, item);
}

static void put_digest(maker *make, const slw_digest *digest) {
    const slw_bytes bytes = {digest->bytes, sizeof digest->bytes};
    put_bytes(make, bytes);
}

static void put_size(maker *make, uint64_t size) {
    slw_record *item = NULL;
    if (make->rc == SLW_OK) make->rc = slw_record_int(make->allocator, (int64_t)size, &item, make->err);
    put(make, item);
}

static maker begin(const slw_allocator *allocator, const char *tag, slw_error *err) {
    maker make = {allocator, err, NULL, SLW_OK};
    make.rc = slw_record_tuple(allocator, &make.tuple, err);
    put_text(&make, tag);
    return make;
}

static slw_code end(maker *make, slw_digest *out) {
    if (make->rc == SLW_OK) make->rc = slw_record_digest(make->tuple, SLW_DOMAIN_DEFAULT, out, make->err);
    slw_record_release(&make->tuple);
    return make->rc;
}

static void put_content(maker *make, const char *path, const slwi_seen *seen) {
    put_path(make, path);
    put_path(make, seen->named.path);
    put_size(make, seen->stat.size);
    put_digest(make, &seen->sha256);
}

slw_code slwi_input_file(const slw_allocator *allocator, const char *path, const slwi_seen *seen, slw_digest *out,
                         slw_error *err) {
    maker make = begin(allocator, "file", err);
    put_content(&make, path, seen);
    return end(&make, out);
}

slw_code slwi_input_tree(const slw_allocator *allocator, const char *path, const slwi_tree_result *tree,
                         slw_digest *out, slw_error *err) {
    maker make = begin(allocator, tree->state == SLWI_TREE_ABSENT ? "absent-tree" : "tree", err);
    put_path(&make, path);
    if (tree->state != SLWI_TREE_ABSENT) {
        put_path(&make, tree->resolved);
        put_digest(&make, &tree->digest);
    }
    return end(&make, out);
}

static int compare_members(const void *a, const void *b) {
    const slwi_closure_member *x = a, *y = b;
    const int by_place = strcmp(x->found, y->found);
    return by_place != 0 ? by_place : strcmp(x->seen->named.path, y->seen->named.path);
}
_Static_assert(sizeof(slwi_closure_member) <= SLWI_SORT_ITEM_MAX_BYTES, "members are sorted in place");

slw_code slwi_input_program(const slw_allocator *allocator, slwi_closure *closure, slw_digest *out, slw_error *err) {
    const slwi_closure_member *members = closure->members;
    maker make = begin(allocator, "program", err);
    put_content(&make, members[0].found, members[0].seen);
    slwi_heap_sort(closure->members + 1, closure->count - 1, sizeof *members, compare_members);
    for (size_t i = 1; i < closure->count; i++) {
        if (i > 1 && compare_members(&members[i - 1], &members[i]) == 0) continue;
        put_content(&make, members[i].found, members[i].seen);
    }
    return end(&make, out);
}

slw_code slwi_input_environment(const slw_allocator *allocator, const char *name, const char *value, slw_digest *out,
                                slw_error *err) {
    maker make = begin(allocator, value == NULL ? "unset-variable" : "variable", err);
    put_text(&make, name);
    if (value != NULL) put_text(&make, value);
    return end(&make, out);
}

slw_code slwi_input_build_id(const slw_allocator *allocator, const char *path, const char *resolved, slw_bytes id,
                             slw_digest *out, slw_error *err) {
    maker make = begin(allocator, "build-id", err);
    put_path(&make, path);
    put_path(&make, resolved);
    put_bytes(&make, id);
    return end(&make, out);
}

slw_code slwi_input_no_build_id(const slw_allocator *allocator, const char *path, const slwi_seen *seen,
                                slw_digest *out, slw_error *err) {
    maker make = begin(allocator, "content-for-build-id", err);
    put_content(&make, path, seen);
    return end(&make, out);
}

slw_code slwi_input_claim(const slw_allocator *allocator, const char *name, slw_bytes text, slw_digest *out,
                          slw_error *err) {
    maker make = begin(allocator, "claim", err);
    put_text(&make, name);
    put_bytes(&make, text);
    return end(&make, out);
}

slw_code slwi_input_digest(const slw_allocator *allocator, const char *name, const slw_digest *digest, slw_digest *out,
                           slw_error *err) {
    maker make = begin(allocator, "digest", err);
    put_text(&make, name);
    put_digest(&make, digest);
    return end(&make, out);
}

static int compare_digests(const void *a, const void *b) {
    return memcmp(a, b, sizeof(slw_digest));
}

slw_code slwi_input_component(const slw_allocator *allocator, const char *name, slw_digest *inputs, size_t count,
                              slw_digest *out, slw_error *err) {
    maker make = begin(allocator, "component", err);
    put_text(&make, name);
    slwi_heap_sort(inputs, count, sizeof *inputs, compare_digests);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_digests(&inputs[i - 1], &inputs[i]) != 0) put_digest(&make, &inputs[i]);
    }
    return end(&make, out);
}
