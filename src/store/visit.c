/* Enumerating a store: every slot, in the order of its path. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "heap_sort.h"
#include "memory.h"
#include "store_lookup.h"
#include "store_manifest.h"
#include "store_object.h"
#include "store_root.h"
#include "store_scratch.h"

/* artifacts / environment / key / spec / state */
#define LEVELS 5

typedef struct visiting {
    slw_store *store;
    int full;
    slw_slot_visitor visitor;
    void *context;
    slwi_trust trust;
    const char *names[LEVELS]; /* of the directories we are inside of; names[0] is "artifacts" */
    slw_error *err;
} visiting;

typedef struct name_list {
    const slw_allocator *allocator;
    char **names;
    size_t count, capacity;
} name_list;

static void free_names(name_list *list) {
    for (size_t i = 0; i < list->count; i++) slwi_free(list->allocator, list->names[i]);
    slwi_free(list->allocator, list->names);
}

static int is_digest(const char *name) {
    slw_digest digest;
    return slw_digest_parse(name, strlen(name), &digest, NULL) == SLW_OK;
}

static int is_state(const char *name) {
    return strcmp(name, slw_state_name(SLW_GENERATED)) == 0 || strcmp(name, slw_state_name(SLW_READY)) == 0;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static slw_code add_name(name_list *list, const char *name, slw_error *err) {
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity == 0 ? 16 : list->capacity * 2;
        char **names = slwi_realloc_array(list->allocator, list->names, capacity, sizeof *names);
        if (names == NULL) return slwi_fail_memory(err, capacity * sizeof *names);
        list->names = names;
        list->capacity = capacity;
    }
    char *copy = slwi_strndup(list->allocator, name, strlen(name));
    if (copy == NULL) return slwi_fail_memory(err, strlen(name) + 1);
    list->names[list->count++] = copy;
    return SLW_OK;
}

/* The names that count at a level; anything beside them is nobody's business. */
static slw_code list_names(const visiting *v, int fd, int level, name_list *list) {
    const slwi_os *os = slwi_os_get();
    slwi_dir *dir = slwi_alloc(&v->store->allocator, sizeof *dir);
    if (dir == NULL) return slwi_fail_memory(v->err, sizeof *dir);
    dir->fd = fd;
    dir->at = dir->end = 0;
    dir->buffer.stream = NULL;
    slw_code code = SLW_OK;
    slwi_dirent entry;
    int r = 0;
    while (code == SLW_OK && (r = os->readdir(os, dir, &entry)) > 0)
        if (level == LEVELS - 1 ? is_state(entry.name) : is_digest(entry.name))
            code = add_name(list, entry.name, v->err);
    os->closedir(os, dir);
    slwi_free(&v->store->allocator, dir);
    if (code == SLW_OK && r < 0)
        code = slwi_fail_os(v->err, SLW_E_STORAGE, NULL, -r, v->store->root, "listing the store");
    slwi_heap_sort(list->names, list->count, sizeof *list->names, compare_names);
    return code;
}

/* What is known of one slot. */
typedef struct slot_facts {
    slwi_entry *entry;      /* of a hit */
    const char *build_kind; /* of a manifest that could be read */
    int64_t last_used_ns;
} slot_facts;

static slw_code tell(const visiting *v, int level, slw_code status, const char *reason, const slot_facts *facts) {
    slw_slot_info info = {.size = sizeof info, .status = status, .reason = reason};
    char directory[4096];
    const char *root = strcmp(v->store->root, "/") == 0 ? "" : v->store->root;
    info.environment = level >= 1 ? v->names[1] : "";
    info.key = level >= 2 ? v->names[2] : "";
    info.spec = level >= 3 ? v->names[3] : "";
    info.state = level >= 4 ? v->names[4] : "";
    size_t size = (size_t)snprintf(directory, sizeof directory, "%s", root);
    for (int i = 0; i <= level && size < sizeof directory; i++)
        size += (size_t)snprintf(directory + size, sizeof directory - size, "/%s", v->names[i]);
    info.directory = directory;
    if (facts != NULL) {
        info.build_kind = facts->build_kind;
        info.last_used_ns = facts->last_used_ns > 0 ? (uint64_t)facts->last_used_ns : 0;
    }
    if (facts != NULL && facts->entry != NULL) {
        info.size_bytes = slwi_entry_size_bytes(facts->entry);
        info.files = slwi_entry_file_count(facts->entry);
    }
    const slw_code code = v->visitor(v->context, &info);
    if (code != SLW_OK) (void)slwi_fail(v->err, code, NULL, "the visitor stopped");
    return code;
}

/* The marker of an open slot into the scratch. */
static slw_code read_marker(slwi_scratch *scratch, int slot, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    const int fd = slwi_open_regular(os, slot, SLWI_MARKER, 0, &stat);
    if (fd == -ENOENT || fd == -ELOOP || fd == -EINVAL || fd == -ENXIO)
        return slwi_fail(err, SLW_E_INVALID_ENTRY, "MARKER_MISSING", "the slot has no manifest that is a regular file");
    if (fd < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -fd, NULL, "opening the manifest");
    slw_code code = SLW_OK;
    slwi_buffer *marker = &scratch->marker;
    slwi_buffer_clear(marker);
    if (stat.size > SLW_LIMIT_MANIFEST_BYTES)
        code = slwi_fail(err, SLW_E_INVALID_ENTRY, "LIMIT", "the manifest is too large");
    while (code == SLW_OK && marker->size <= SLW_LIMIT_MANIFEST_BYTES) {
        const int64_t r = os->read(os, fd, scratch->bytes, sizeof scratch->bytes);
        if (r < 0) code = slwi_fail_os(err, SLW_E_STORAGE, NULL, (int)-r, NULL, "reading the manifest");
        if (r <= 0) break;
        slwi_buffer_append(marker, scratch->bytes, (size_t)r);
        if (marker->failed) code = slwi_fail_memory(err, marker->size);
    }
    (void)os->close(os, fd);
    return code;
}

/* The key and the spec that the marker of an open slot claims; they must give the names in the path. */
static slw_code read_claims(const visiting *v, int slot, slw_key **key, slw_spec **spec, slw_error *err) {
    slwi_scratch *scratch = slwi_scratch_borrow(v->store);
    if (scratch == NULL) return slwi_fail_memory(err, sizeof *scratch);
    slw_code code = read_marker(scratch, slot, err);
    if (code == SLW_OK)
        code = slwi_manifest_read(&v->store->allocator, v->store->domain,
                                  (slw_bytes){scratch->marker.data, scratch->marker.size}, key, spec, err);
    slwi_scratch_return(v->store, scratch);
    if (code != SLW_OK) return code;
    if (strcmp(slw_key_environment(*key), v->names[1]) == 0 && strcmp(slw_key_digest(*key), v->names[2]) == 0 &&
        strcmp(slw_spec_digest(*spec), v->names[3]) == 0 &&
        strcmp(slw_state_name(slw_spec_state(*spec)), v->names[4]) == 0)
        return SLW_OK;
    slw_key_release(key);
    slw_spec_release(spec);
    return slwi_fail(err, SLW_E_INVALID_ENTRY, "MARKER_DIFFERS",
                     "the manifest is of another key or spec than the path");
}

static slw_code judge_slot(const visiting *v, int slot, slot_facts *facts, slw_error *err) {
    slw_key *key = NULL;
    slw_spec *spec = NULL;
    slw_code code = read_claims(v, slot, &key, &spec, err);
    if (code != SLW_OK) return code;
    facts->build_kind = slw_build_kind_name(slw_spec_build_kind(spec));
    code = slwi_look(v->store, key, spec, v->full ? SLW_VERIFY_FULL : SLW_VERIFY_ON_MAP, 0, &facts->entry, err);
    slw_key_release(&key);
    slw_spec_release(&spec);
    return code;
}

static slw_code visit_slot(const visiting *v, int parent, int slot) {
    const slwi_os *os = slwi_os_get();
    slot_facts facts = {0};
    slwi_stat stamp;
    slw_error why = SLW_ERROR_INIT;
    slw_code code = judge_slot(v, slot, &facts, &why);
    if (code == SLW_E_MISS) return SLW_OK; /* it was removed while we looked */
    if (code == SLW_E_NO_MEMORY) return slwi_fail_memory(v->err, 0);
    if (os->fstatat(os, parent, SLWI_USED_STAMP, 0, &stamp) >= 0) facts.last_used_ns = stamp.mtime_ns;
    code = tell(v, LEVELS - 1, code, code == SLW_OK ? NULL : why.message, &facts);
    slwi_release(facts.entry);
    return code;
}

static slw_code visit_level(visiting *v, int fd, int level);

/* One name of a level: goes in, or tells that one cannot. */
static slw_code visit_name(visiting *v, int parent, int level, const char *name) {
    const slwi_os *os = slwi_os_get();
    v->names[level] = name;
    const int fd = os->openat(os, parent, name, SLWI_O_LIST, 0);
    if (fd == -ENOENT) return SLW_OK;
    if (fd == -ENOTDIR || fd == -ELOOP) return tell(v, level, SLW_E_INVALID_ENTRY, "not a directory", NULL);
    if (fd < 0) return tell(v, level, SLW_E_STORAGE, "cannot be opened", NULL);
    slwi_stat stat;
    const char *why = "cannot be looked at";
    slw_code code;
    if (os->fstat(os, fd, &stat) < 0)
        code = tell(v, level, SLW_E_STORAGE, why, NULL);
    else if (!slwi_trust_directory(&v->trust, &stat, &why))
        code = tell(v, level, SLW_E_INVALID_ENTRY, why, NULL);
    else
        code = level == LEVELS - 1 ? visit_slot(v, parent, fd) : visit_level(v, fd, level + 1);
    (void)os->close(os, fd);
    return code;
}

static slw_code visit_level(visiting *v, int fd, int level) {
    name_list list = {.allocator = &v->store->allocator};
    slw_code code = list_names(v, fd, level, &list);
    for (size_t i = 0; i < list.count && code == SLW_OK; i++) code = visit_name(v, fd, level, list.names[i]);
    free_names(&list);
    return code;
}

slw_code slw_store_visit(slw_store *store, int full, slw_slot_visitor visitor, void *context, slw_error *err) {
    slwi_error_reset(err);
    slw_code code = slwi_store_check(store, err);
    if (code != SLW_OK) return code;
    if (visitor == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "a visitor is needed");
    slwi_root root;
    code = slwi_root_open(store, 0, &root, err);
    if (code == SLW_E_MISS) {
        slwi_error_reset(err);
        return SLW_OK;
    }
    if (code != SLW_OK) return code;
    visiting v = {
        .store = store, .full = full, .visitor = visitor, .context = context, .trust = root.trust, .err = err};
    code = visit_name(&v, root.fd, 0, "artifacts");
    slwi_root_close(&root);
    return code;
}
