/* The inputs of a component. Each call looks at the world at once, so that the snapshot is as early as can be. */
#include <slipway/identity.h>
#include <slipway/key.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "elf_closure.h"
#include "fail.h"
#include "file.h"
#include "identity_input.h"
#include "identity_state.h"
#include "memory.h"
#include "tree.h"

/* One call. */
typedef struct addition {
    slw_identity *identity;
    slwi_component *component;
    slwi_gather *gather;
    slwi_gather_mark mark;
    char path[SLWI_PATH_BYTES]; /* absolute */
    int ok;                     /* 0: it has no absolute path, which is put down */
    slwi_inventory_item note;   /* kind NULL: none; of the inventory when the call succeeds */
} addition;

static slw_code begin(addition *add, slw_identity *identity, const char *component, slw_error *err) {
    slwi_error_reset(err);
    const slw_code rc = slwi_identity_enter(identity, component, &add->component, err);
    if (rc != SLW_OK) return rc;
    add->identity = identity;
    add->gather = &identity->gather;
    add->gather->owner = add->component;
    add->mark = slwi_gather_mark_get(add->gather);
    return SLW_OK;
}

static slw_code begin_path(addition *add, slw_identity *identity, const char *component, const char *path,
                           slw_error *err) {
    const slw_code rc = begin(add, identity, component, err);
    if (rc != SLW_OK) return rc;
    if (path == NULL || path[0] == 0) return slwi_fail(err, SLW_E_USAGE, NULL, "a path is required");
    return slwi_gather_absolute(add->gather, path, add->path, &add->ok, err);
}

/* Something was put down against the component during this call. */
static int has_failed(const addition *add) {
    return add->gather->failure_count != add->mark.count;
}

static slw_code reserve_input(addition *add, slw_error *err) {
    slwi_component *component = add->component;
    if (component->input_count < component->input_capacity) return SLW_OK;
    const size_t wanted = component->input_capacity == 0 ? 16 : component->input_capacity * 2;
    slw_digest *grown = slwi_realloc_array(&add->identity->allocator, component->inputs, wanted, sizeof *grown);
    if (grown == NULL) return slwi_fail_memory(err, wanted * sizeof *grown);
    component->inputs = grown;
    component->input_capacity = wanted;
    return SLW_OK;
}

/* What the input is by name. A value that is too long is told by its digest. */
static slw_code note(addition *add, const char *kind, const char *name, const slw_digest *digest, slw_bytes value,
                     slw_error *err) {
    slwi_inventory_item item = {.kind = kind};
    slwi_arena *arena = &add->gather->arena;
    item.name = slwi_arena_copy(arena, name, strlen(name));
    if (digest != NULL) item.digest = *digest;
    const int shown = value.data != NULL && value.size <= SLW_LIMIT_INVENTORY_VALUE_BYTES &&
                      memchr(value.data, 0, value.size) == NULL;
    if (shown) item.value = slwi_arena_copy(arena, value.data, value.size);
    if (!shown && value.data != NULL) slw_sha256(value, &item.digest);
    if (item.name == NULL || (shown && item.value == NULL)) return slwi_fail_memory(err, strlen(name) + 1);
    const slw_code rc = slwi_inventory_reserve(&add->identity->allocator, add->component, 1, err);
    if (rc == SLW_OK) add->note = item;
    return rc;
}

static const slw_bytes no_value = {NULL, 0};

/* Commits: on success the input counts, on failure nothing of this call does. `input` NULL: nothing to add. */
static slw_code finish(addition *add, slw_code rc, const slw_digest *input, int is_proof, slw_error *err) {
    if (rc == SLW_OK && input != NULL) rc = reserve_input(add, err);
    if (rc != SLW_OK) {
        slwi_gather_mark_return(add->gather, add->mark);
        return rc;
    }
    if (input == NULL) return SLW_OK;
    add->component->inputs[add->component->input_count++] = *input;
    if (is_proof) add->component->has_proof = 1;
    if (add->note.kind != NULL) slwi_inventory_put(add->component, &add->note);
    return SLW_OK;
}

slw_code slw_identity_add_file(slw_identity *identity, const char *component, const char *path, slw_error *err) {
    addition add = {0};
    slw_digest input;
    slwi_seen *seen = NULL;
    slw_code rc = begin_path(&add, identity, component, path, err);
    if (rc != SLW_OK) return rc;
    if (identity->policy == SLW_IDENTITY_CLAIM) return slw_identity_add_build_id(identity, component, path, err);
    if (add.ok) rc = slwi_gather_path(add.gather, add.path, &seen, err);
    if (rc == SLW_OK && seen != NULL) rc = slwi_input_file(&identity->allocator, add.path, seen, &input, err);
    if (rc == SLW_OK && seen != NULL) rc = note(&add, "file", add.path, &seen->sha256, no_value, err);
    return finish(&add, rc, seen != NULL ? &input : NULL, 1, err);
}

/* Everything of `inner` is walked when `outer` is: it lies below it by name, with nothing left out on the way. */
static int encloses(const char *outer, const char *inner) {
    const size_t size = strcmp(outer, "/") == 0 ? 0 : strlen(outer);
    if (strncmp(outer, inner, size) != 0 || (inner[size] != 0 && inner[size] != '/')) return 0;
    for (const char *at = inner + size; *at == '/';) {
        const size_t length = strcspn(++at, "/");
        const int dots = length <= 2 && strspn(at, ".") == length; /* or no name at all */
        if (dots || slwi_tree_skips(at, length)) return 0;
        at += length;
    }
    return 1;
}

/* The tree is part of another of this component; all that is left to ask is whether it is there. */
static slw_code confirm_enclosed(addition *add, int optional, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    const int r = os->fstatat(os, AT_FDCWD, add->path, 1, &stat);
    if (r < 0 && optional && (r == -ENOENT || r == -ENOTDIR)) return SLW_OK;
    if (r < 0) return slwi_gather_fail_os(add->gather, err, add->path, -r);
    return S_ISDIR(stat.mode) ? SLW_OK : slwi_gather_fail(add->gather, err, add->path, "is not a directory");
}

static void remove_input(slwi_component *component, const slw_digest *input) {
    for (size_t i = 0; i < component->input_count; i++) {
        if (memcmp(&component->inputs[i], input, sizeof *input) != 0) continue;
        component->inputs[i] = component->inputs[--component->input_count];
        return;
    }
}

/* The new tree takes the place of those that lie in it. The tree is remembered. */
static slw_code take_place(addition *add, const slw_digest *input, slw_error *err) {
    slwi_component_tree *tree = slwi_arena_alloc(&add->gather->arena, sizeof *tree);
    const char *root = slwi_arena_copy(&add->gather->arena, add->path, strlen(add->path));
    if (tree == NULL || root == NULL) return slwi_fail_memory(err, sizeof *tree);
    const slw_code rc = finish(add, SLW_OK, input, 1, err);
    if (rc != SLW_OK) return rc;
    for (slwi_component_tree **at = &add->component->trees; *at != NULL;) {
        if (encloses(add->path, (*at)->root)) {
            remove_input(add->component, &(*at)->input);
            slwi_inventory_drop_tree(add->component, (*at)->root);
            *at = (*at)->next;
        } else {
            at = &(*at)->next;
        }
    }
    tree->root = root;
    tree->input = *input;
    tree->next = add->component->trees;
    add->component->trees = tree;
    return SLW_OK;
}

static slw_code add_tree(addition *add, int optional, slwi_tree_result *result, slw_error *err) {
    size_t size = strlen(add->path);
    slw_digest input;
    while (size > 1 && add->path[size - 1] == '/') add->path[--size] = 0;
    for (const slwi_component_tree *tree = add->component->trees; tree != NULL; tree = tree->next) {
        if (encloses(tree->root, add->path)) return finish(add, confirm_enclosed(add, optional, err), NULL, 0, err);
    }
    slw_code rc = slwi_tree_digest(add->gather, add->path, optional, result, err);
    if (rc != SLW_OK || result->state == SLWI_TREE_FAILED) return finish(add, rc, NULL, 0, err);
    rc = slwi_input_tree(&add->identity->allocator, add->path, result, &input, err);
    if (rc == SLW_OK && result->state == SLWI_TREE_ABSENT) rc = note(add, "absent", add->path, NULL, no_value, err);
    if (rc == SLW_OK && result->state == SLWI_TREE_DIGESTED)
        rc = note(add, "tree", add->path, &result->digest, no_value, err);
    if (rc == SLW_OK) rc = take_place(add, &input, err);
    return rc == SLW_OK ? rc : finish(add, rc, NULL, 0, err);
}

/* Under the policy of claims a tree is its name: that it is there, and where. */
static slw_code claim_tree(addition *add, int optional, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    char resolved[SLWI_PATH_BYTES];
    slw_digest input;
    slw_bytes text = {"", 0};
    const int r = os->realpath(os, add->path, resolved);
    if (r >= 0) {
        text = (slw_bytes){resolved, strlen(resolved)};
    } else if (!optional || (r != -ENOENT && r != -ENOTDIR)) {
        return finish(add, slwi_gather_fail_os(add->gather, err, add->path, -r), NULL, 0, err);
    }
    slw_code rc = slwi_input_claim(&add->identity->allocator, add->path, text, &input, err);
    if (rc == SLW_OK) rc = note(add, "claimed_tree", add->path, NULL, text, err);
    return finish(add, rc, &input, 0, err);
}

slw_code slw_identity_add_tree(slw_identity *identity, const char *component, const char *path, int optional,
                               slw_error *err) {
    addition add = {0};
    slw_code rc = begin_path(&add, identity, component, path, err);
    if (rc != SLW_OK) return rc;
    if (!add.ok) return finish(&add, SLW_OK, NULL, 0, err);
    if (identity->policy == SLW_IDENTITY_CLAIM) return claim_tree(&add, optional != 0, err);
    slwi_tree_result *result = slwi_alloc(&identity->allocator, sizeof *result);
    if (result == NULL) return finish(&add, slwi_fail_memory(err, sizeof *result), NULL, 0, err);
    rc = add_tree(&add, optional != 0, result, err);
    slwi_free(&identity->allocator, result);
    return rc;
}

/* After the commit, with room that was reserved: the names lie in the gather's arena. */
static void note_members(addition *add, const slwi_closure *closure) {
    for (size_t i = 0; i < closure->count; i++) {
        const slwi_closure_member *member = &closure->members[i];
        const slwi_inventory_item item = {"program", member->found, NULL, member->seen->sha256};
        slwi_inventory_put(add->component, &item);
    }
}

slw_code slw_identity_add_program(slw_identity *identity, const char *component, const char *path, slw_error *err) {
    addition add = {0};
    slwi_closure closure = {0};
    slw_digest input;
    slw_code rc = begin_path(&add, identity, component, path, err);
    if (rc != SLW_OK) return rc;
    if (!add.ok) return finish(&add, SLW_OK, NULL, 0, err);
    if (identity->policy == SLW_IDENTITY_CLAIM) return slw_identity_add_build_id(identity, component, path, err);
    rc = slwi_closure_of(add.gather, add.path, &closure, err);
    const int whole = rc == SLW_OK && !has_failed(&add);
    if (whole) rc = slwi_input_program(&identity->allocator, &closure, &input, err);
    if (rc == SLW_OK && whole) rc = slwi_inventory_reserve(&identity->allocator, add.component, closure.count, err);
    rc = finish(&add, rc, whole ? &input : NULL, 1, err);
    if (rc == SLW_OK && whole) note_members(&add, &closure);
    slwi_closure_free(&closure);
    return rc;
}

slw_code slw_identity_add_environment(slw_identity *identity, const char *component, const char *name,
                                      const char *value, slw_error *err) {
    addition add = {0};
    slw_digest input;
    slw_code rc = begin(&add, identity, component, err);
    if (rc != SLW_OK) return rc;
    if (name == NULL || name[0] == 0 || strchr(name, '=') != NULL) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "a variable's name is required, without \"=\"");
    }
    rc = slwi_input_environment(&identity->allocator, name, value, &input, err);
    const slw_bytes text = {value, value != NULL ? strlen(value) : 0};
    if (rc == SLW_OK) rc = note(&add, value != NULL ? "environment" : "unset", name, NULL, text, err);
    return finish(&add, rc, &input, 1, err);
}

/* The build-id of the file at the resolved path; *size 0: none, or the file could not be opened, which the fall-back
   finds out. *same 0: it changed meanwhile. */
static slw_code read_build_id(const slw_allocator *allocator, const char *resolved, const slwi_stat *stat,
                              unsigned char id[64], size_t *size, int *same, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_stat opened, after;
    const int fd = slwi_open_regular(os, AT_FDCWD, resolved, 0, &opened);
    *size = 0;
    *same = 1;
    if (fd < 0) return SLW_OK;
    const int known = slwi_elf_build_id(allocator, fd, id, size);
    *same = slwi_unchanged(&opened, stat) && os->fstat(os, fd, &after) >= 0 && slwi_unchanged(&opened, &after);
    (void)os->close(os, fd);
    return known ? SLW_OK : slwi_fail_memory(err, 0);
}

static slw_code note_build_id_file(addition *add, const char *resolved, const slwi_stat *stat, slw_error *err) {
    slw_code rc = slwi_gather_fact(add->gather, SLWI_FACT_UNCHANGED, resolved, stat, NULL, err);
    if (rc == SLW_OK && strcmp(add->path, resolved) != 0) {
        rc = slwi_gather_fact(add->gather, SLWI_FACT_LEADS_TO, add->path, stat, NULL, err);
    }
    return rc;
}

slw_code slw_identity_add_build_id(slw_identity *identity, const char *component, const char *path, slw_error *err) {
    addition add = {0};
    char resolved[SLWI_PATH_BYTES];
    unsigned char id[64];
    slwi_stat stat;
    slwi_seen *seen = NULL;
    slw_digest input;
    size_t size = 0;
    int error = 0, same = 1;
    slw_code rc = begin_path(&add, identity, component, path, err);
    if (rc != SLW_OK) return rc;
    if (add.ok) rc = slwi_gather_resolve(add.gather, add.path, resolved, &stat, &error, err);
    if (rc == SLW_OK && add.ok && error != 0) rc = slwi_gather_fail_os(add.gather, err, add.path, error);
    if (rc != SLW_OK || !add.ok || error != 0) return finish(&add, rc, NULL, 0, err);
    rc = read_build_id(&identity->allocator, resolved, &stat, id, &size, &same, err);
    if (rc == SLW_OK && !same) rc = slwi_gather_fail(add.gather, err, resolved, "changed while being read");
    if (rc != SLW_OK || !same) return finish(&add, rc, NULL, 0, err);
    if (size > 0) {
        const slw_bytes bytes = {id, size};
        rc = note_build_id_file(&add, resolved, &stat, err);
        if (rc == SLW_OK) rc = slwi_input_build_id(&identity->allocator, add.path, resolved, bytes, &input, err);
        slw_digest told;
        slw_sha256(bytes, &told);
        if (rc == SLW_OK) rc = note(&add, "build_id", add.path, &told, no_value, err);
        return finish(&add, rc, &input, 0, err);
    }
    rc = slwi_gather_path(add.gather, add.path, &seen, err);
    if (rc == SLW_OK && seen != NULL) rc = slwi_input_no_build_id(&identity->allocator, add.path, seen, &input, err);
    if (rc == SLW_OK && seen != NULL) rc = note(&add, "file", add.path, &seen->sha256, no_value, err);
    return finish(&add, rc, seen != NULL ? &input : NULL, 1, err);
}

slw_code slw_identity_add_claim(slw_identity *identity, const char *component, const char *name, slw_bytes text,
                                slw_error *err) {
    addition add = {0};
    slw_digest input;
    slw_code rc = begin(&add, identity, component, err);
    if (rc != SLW_OK) return rc;
    if (name == NULL || name[0] == 0 || (text.data == NULL && text.size > 0)) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "a claim has a name and a text");
    }
    rc = slwi_input_claim(&identity->allocator, name, text, &input, err);
    const slw_bytes told = {text.data != NULL ? text.data : "", text.size};
    if (rc == SLW_OK) rc = note(&add, "claim", name, NULL, told, err);
    return finish(&add, rc, &input, 0, err);
}

slw_code slw_identity_add_digest(slw_identity *identity, const char *component, const char *name,
                                 const slw_digest *digest, slw_error *err) {
    addition add = {0};
    slw_digest input;
    slw_code rc = begin(&add, identity, component, err);
    if (rc != SLW_OK) return rc;
    if (name == NULL || name[0] == 0 || digest == NULL) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "a name and a digest are required");
    }
    rc = slwi_input_digest(&identity->allocator, name, digest, &input, err);
    if (rc == SLW_OK) rc = note(&add, "digest", name, digest, no_value, err);
    return finish(&add, rc, &input, 1, err);
}
