/* Copying an entry's payload out of the store, as files that belong to the caller. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fail.h"
#include "memory.h"
#include "store_copy.h"
#include "store_entry_place.h"
#include "store_lookup.h"
#include "store_root.h"

/* The inventory an entry stands for, borrowed from it. */
static slw_code inventory_of(const slwi_entry *entry, slwi_inventory *out, slw_error *err) {
    const slw_allocator *allocator = &entry->store->allocator;
    slwi_inventory_init(out, allocator);
    if (entry->file_count == 0) return SLW_OK;
    out->files = slwi_alloc_array(allocator, entry->file_count, sizeof *out->files);
    if (out->files == NULL) return slwi_fail_memory(err, entry->file_count * sizeof *out->files);
    out->count = out->capacity = entry->file_count;
    out->size_bytes = entry->size_bytes;
    for (size_t i = 0; i < entry->file_count; i++) {
        slw_file file;
        (void)slwi_entry_file(entry, i, &file);
        out->files[i] = (slwi_tree_file){.path = file.path.data,
                                         .size = file.size_bytes,
                                         .path_size = (uint32_t)file.path.size,
                                         .sha256 = file.sha256,
                                         .executable = (uint32_t)file.executable};
    }
    return SLW_OK;
}

static slw_code usage(const char *destination, const char *what, slw_error *err) {
    (void)slwi_fail(err, SLW_E_USAGE, "BAD_DESTINATION", "the destination %s", what);
    slwi_error_path(err, destination);
    return SLW_E_USAGE;
}

static slw_code storage(const char *destination, int error_number, const char *what, slw_error *err) {
    return slwi_fail_os(err, SLW_E_STORAGE, NULL, error_number, destination, "%s", what);
}

static slw_code check_empty(slwi_scratch *scratch, int fd, const char *destination, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_dirent entry;
    scratch->dir.fd = fd;
    scratch->dir.at = scratch->dir.end = 0;
    scratch->dir.buffer.stream = NULL;
    const int r = os->readdir(os, &scratch->dir, &entry);
    os->closedir(os, &scratch->dir);
    if (r < 0) return storage(destination, -r, "listing the destination", err);
    return r > 0 ? usage(destination, "is not empty", err) : SLW_OK;
}

/* Opens the destination, made where it is absent. Resolved first: a link must not lead into the store. */
static slw_code open_destination(const slw_store *store, slwi_scratch *scratch, const char *destination, int *out,
                                 slw_error *err) {
    const slwi_os *os = slwi_os_get();
    char resolved[4096];
    int r = slwi_resolve_path(os, destination, resolved);
    if (r == -EINVAL || r == -ENAMETOOLONG) return usage(destination, "is no path", err);
    if (r < 0) return storage(destination, -r, "resolving the destination", err);
    if (slwi_path_inside(store->root, resolved)) return usage(destination, "lies in the store", err);
    int fd = os->openat(os, AT_FDCWD, resolved, SLWI_O_LIST, 0);
    if (fd == -ENOENT) {
        r = os->mkdirat(os, AT_FDCWD, resolved, 0755);
        fd = r < 0 && r != -EEXIST ? r : os->openat(os, AT_FDCWD, resolved, SLWI_O_LIST, 0);
    }
    if (fd == -ENOTDIR || fd == -ELOOP) return usage(destination, "is not a directory", err);
    if (fd < 0) return storage(destination, -fd, "opening the destination", err);
    const slw_code code = check_empty(scratch, fd, destination, err);
    if (code == SLW_OK)
        *out = fd;
    else
        (void)os->close(os, fd);
    return code;
}

static slw_code differs(const char *path, int is_judged, slw_error *err) {
    if (!is_judged) return slwi_fail(err, SLW_E_GONE, NULL, "the entry has been replaced by another");
    (void)slwi_fail(err, SLW_E_INVALID_ENTRY, "CHANGED", "%s is not what it was when the entry was found", path);
    slwi_error_subject(err, path, strlen(path));
    return SLW_E_INVALID_ENTRY;
}

/* Reads a whole tree again and compares it with what the entry stands for. */
static slw_code compare_tree(slwi_scratch *scratch, int directory, const slwi_inventory *expected, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_inventory actual;
    slwi_inventory_init(&actual, expected->allocator);
    const slwi_tree_rules rules = {.bad_code = SLW_E_INVALID_ENTRY, .limit_code = SLW_E_INVALID_ENTRY, .hash = 1};
    const int fd = os->openat(os, directory, ".", SLWI_O_LIST, 0);
    if (fd < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -fd, NULL, "opening a directory again");
    slw_code code = slwi_inventory_read(scratch, fd, &rules, &actual, NULL, NULL, err);
    (void)os->close(os, fd);
    const char *path = NULL;
    if (code == SLW_OK && !slwi_inventory_equal(&actual, expected, &path)) code = differs(path, 1, err);
    slwi_inventory_free(&actual);
    return code;
}

static int same_entries(const slwi_entry *a, const slwi_entry *b, const char **different) {
    slw_file x, y;
    *different = ".";
    for (size_t i = 0; i < a->file_count && i < b->file_count; i++) {
        (void)slwi_entry_file(a, i, &x);
        (void)slwi_entry_file(b, i, &y);
        *different = x.path.data;
        if (x.path.size != y.path.size || memcmp(x.path.data, y.path.data, x.path.size) != 0) return 0;
        if (memcmp(&x.sha256, &y.sha256, sizeof x.sha256) != 0 || x.executable != y.executable) return 0;
    }
    return a->file_count == b->file_count;
}

/* The whole entry once more, with its manifest: what is copied is a hit or nothing. */
static slw_code validate_again(const slwi_entry *entry, slwi_scratch *scratch, const slwi_entry_place *place,
                               const slwi_inventory *inventory, slw_error *err) {
    if (entry->built != NULL) return compare_tree(scratch, place->fd, inventory, err);
    slwi_entry *now = NULL;
    slw_error why = SLW_ERROR_INIT;
    const slw_code code = slwi_look(entry->store, entry->key, entry->spec, SLW_VERIFY_FULL, 0, &now, &why);
    if (code == SLW_E_MISS) return slwi_fail(err, SLW_E_GONE, NULL, "the entry has been removed");
    if (code != SLW_OK) {
        slwi_error_copy(err, &why);
        return code;
    }
    const char *different;
    const int same = same_entries(entry, now, &different);
    slwi_release(now);
    return same ? SLW_OK : differs(different, place->is_judged, err);
}

static slw_code copy_and_verify(const slwi_entry *entry, slwi_scratch *scratch, const slwi_entry_place *place,
                                const slwi_inventory *inventory, int destination, slw_error *err) {
    const slw_code changed = place->is_judged ? SLW_E_INVALID_ENTRY : SLW_E_GONE;
    slw_code code = validate_again(entry, scratch, place, inventory, err);
    if (code == SLW_OK) code = slwi_copy_tree(scratch, place->fd, destination, inventory, SLW_E_STORAGE, changed, err);
    return code == SLW_OK ? compare_tree(scratch, destination, inventory, err) : code;
}

static slw_code materialize(const slwi_entry *entry, slwi_scratch *scratch, const char *destination,
                            const slwi_inventory *inventory, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_entry_place place;
    int to = -1;
    slw_code code = open_destination(entry->store, scratch, destination, &to, err);
    if (code != SLW_OK) return code;
    code = slwi_entry_place_open(entry, &place, err);
    if (code == SLW_OK) {
        code = copy_and_verify(entry, scratch, &place, inventory, to, err);
        slwi_entry_place_close(&place);
    }
    (void)os->close(os, to);
    return code;
}

slw_code slwi_entry_materialize(const slwi_entry *entry, const char *destination, slw_error *err) {
    if (destination == NULL || destination[0] == 0) return slwi_fail(err, SLW_E_USAGE, NULL, "a destination is needed");
    slwi_inventory inventory;
    slw_code code = inventory_of(entry, &inventory, err);
    if (code != SLW_OK) return code;
    slwi_scratch *scratch = slwi_scratch_borrow(entry->store);
    if (scratch == NULL)
        code = slwi_fail_memory(err, sizeof *scratch);
    else
        code = materialize(entry, scratch, destination, &inventory, err);
    slwi_scratch_return(entry->store, scratch);
    slwi_inventory_free(&inventory);
    return code;
}
