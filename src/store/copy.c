#include "store_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fail.h"
#include "memory.h"

void slwi_place_begin(slwi_place *place, const slwi_os *os, int base, int make) {
    place->os = os;
    place->base = place->fd = base;
    place->make = make;
    place->parent_size = 0;
    place->parent[0] = 0;
}

static void let_go(slwi_place *place) {
    if (place->fd != place->base) (void)place->os->close(place->os, place->fd);
    place->fd = place->base;
    place->parent_size = 0;
}

static int open_step(const slwi_place *place, int parent, const char *name) {
    const slwi_os *os = place->os;
    int fd = os->openat(os, parent, name, SLWI_O_SEARCH, 0);
    if (fd != -ENOENT || !place->make) return fd;
    const int made = os->mkdirat(os, parent, name, 0755);
    if (made < 0 && made != -EEXIST) return made;
    fd = os->openat(os, parent, name, SLWI_O_SEARCH, 0);
    return fd;
}

int slwi_place_enter(slwi_place *place, const char *path, const char **leaf) {
    const char *slash = strrchr(path, '/');
    const size_t size = slash == NULL ? 0 : (size_t)(slash - path);
    *leaf = slash == NULL ? path : slash + 1;
    if (size == place->parent_size && memcmp(path, place->parent, size) == 0) return place->fd;
    let_go(place);
    if (size == 0) return place->fd;
    if (size >= sizeof place->parent) return -ENAMETOOLONG;
    memcpy(place->parent, path, size);
    place->parent[size] = 0;
    int fd = place->base;
    for (size_t at = 0; at < size;) {
        char *name = place->parent + at;
        const size_t length = strcspn(name, "/");
        name[length] = 0;
        const int next = open_step(place, fd, name);
        if (at + length < size) name[length] = '/';
        if (fd != place->base) (void)place->os->close(place->os, fd);
        if (next < 0) return next;
        fd = next;
        at += length + 1;
    }
    place->fd = fd;
    place->parent_size = size;
    return fd;
}

void slwi_place_end(slwi_place *place) {
    let_go(place);
}

typedef struct copying {
    slwi_scratch *scratch;
    slw_code code, changed_code;
    slw_error *err;
} copying;

static slw_code source_failure(const copying *c, int error_number, const char *path) {
    const int gone = error_number == ENOENT || error_number == ENOTDIR || error_number == ELOOP ||
                     error_number == ENXIO || error_number == EINVAL;
    const slw_code code = gone ? c->changed_code : SLW_E_STORAGE;
    (void)slwi_fail_os(c->err, code, gone ? "CHANGED" : NULL, error_number, NULL, "reading %s to copy it", path);
    slwi_error_subject(c->err, path, strlen(path));
    return code;
}

static slw_code target_failure(const copying *c, int error_number, const char *path) {
    (void)slwi_fail_os(c->err, c->code, NULL, error_number, NULL, "writing the copy of %s", path);
    slwi_error_subject(c->err, path, strlen(path));
    return c->code;
}

static slw_code copy_bytes(const copying *c, int from, int to, const char *path) {
    const slwi_os *os = slwi_os_get();
    for (;;) {
        const int64_t r = os->read(os, from, c->scratch->bytes, sizeof c->scratch->bytes);
        if (r < 0) return source_failure(c, (int)-r, path);
        if (r == 0) return SLW_OK;
        const int w = slwi_write_all(os, to, c->scratch->bytes, (size_t)r);
        if (w < 0) return target_failure(c, -w, path);
    }
}

static slw_code copy_to_fresh_file(const copying *c, int from, int directory, const char *leaf,
                                   const slwi_tree_file *file) {
    const slwi_os *os = slwi_os_get();
    const unsigned mode = file->executable ? 0700 : 0600;
    const int to = os->openat(os, directory, leaf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (to < 0) return target_failure(c, -to, file->path);
    slw_code code = copy_bytes(c, from, to, file->path);
    /* Whatever the umask says: the execute bit is part of the record. */
    const int r = code == SLW_OK ? os->fchmod(os, to, mode) : 0;
    if (r < 0) code = target_failure(c, -r, file->path);
    const int closed = os->close(os, to);
    if (code == SLW_OK && closed < 0) code = target_failure(c, -closed, file->path);
    return code;
}

static slw_code copy_file(const copying *c, slwi_place *source, slwi_place *target, const slwi_tree_file *file) {
    const slwi_os *os = slwi_os_get();
    const char *leaf;
    slwi_stat stat;
    const int from_directory = slwi_place_enter(source, file->path, &leaf);
    const int from = from_directory < 0 ? from_directory : slwi_open_regular(os, from_directory, leaf, 0, &stat);
    if (from < 0) return source_failure(c, -from, file->path);
    const int to_directory = slwi_place_enter(target, file->path, &leaf);
    slw_code code;
    if (to_directory < 0)
        code = target_failure(c, -to_directory, file->path);
    else
        code = copy_to_fresh_file(c, from, to_directory, leaf, file);
    (void)os->close(os, from);
    return code;
}

slw_code slwi_copy_tree(slwi_scratch *scratch, int from, int to, const slwi_inventory *inventory, slw_code code,
                        slw_code changed_code, slw_error *err) {
    const copying c = {scratch, code, changed_code, err};
    slwi_place source, target;
    slwi_place_begin(&source, slwi_os_get(), from, 0);
    slwi_place_begin(&target, slwi_os_get(), to, 1);
    slw_code result = SLW_OK;
    for (size_t i = 0; i < inventory->count && result == SLW_OK; i++)
        result = copy_file(&c, &source, &target, &inventory->files[i]);
    slwi_place_end(&target);
    slwi_place_end(&source);
    return result;
}

static int sync_named(const slwi_os *os, int directory, const char *name, int flags) {
    const int fd = os->openat(os, directory, name, flags, 0);
    if (fd < 0) return fd;
    const int r = os->fsync(os, fd);
    const int closed = os->close(os, fd);
    return r < 0 ? r : closed < 0 ? closed : 0;
}

static int sync_files(slwi_place *place, const slwi_inventory *inventory, const char **which) {
    for (size_t i = 0; i < inventory->count; i++) {
        const char *leaf;
        const int directory = slwi_place_enter(place, inventory->files[i].path, &leaf);
        const int r = directory < 0 ? directory : sync_named(place->os, directory, leaf, SLWI_O_FILE);
        if (r >= 0) continue;
        *which = inventory->files[i].path;
        return r;
    }
    return 0;
}

/* How much of `path`, a whole directory, also leads to the file before it: those directories are not new. */
static int leads_to(const char *directory, size_t size, const slwi_tree_file *file) {
    return file->path_size > size && memcmp(file->path, directory, size) == 0 && file->path[size] == '/';
}

/* Directories below `to`, each after all that lie in it. Files are sorted, so those of one directory lie together, and
   walking backwards a directory is finished at the first file before which another place begins. */
static int sync_directories(slwi_place *place, const slwi_inventory *inventory, const char **which) {
    char path[SLW_LIMIT_PATH_BYTES + 1];
    for (size_t i = inventory->count; i-- > 0;) {
        const slwi_tree_file *file = &inventory->files[i];
        memcpy(path, file->path, file->path_size + (size_t)1);
        for (char *slash = strrchr(path, '/'); slash != NULL; slash = strrchr(path, '/')) {
            *slash = 0;
            const size_t size = (size_t)(slash - path);
            if (i > 0 && leads_to(path, size, file - 1)) break;
            const char *leaf;
            const int directory = slwi_place_enter(place, path, &leaf);
            const int r = directory < 0 ? directory : sync_named(place->os, directory, leaf, SLWI_O_LIST);
            if (r >= 0) continue;
            *which = file->path;
            return r;
        }
    }
    return 0;
}

int slwi_sync_tree(const slwi_os *os, int to, const slwi_inventory *inventory, const char **which) {
    slwi_place place;
    slwi_place_begin(&place, os, to, 0);
    *which = "";
    int r = sync_files(&place, inventory, which);
    if (r >= 0) r = sync_directories(&place, inventory, which);
    slwi_place_end(&place);
    if (r >= 0) {
        *which = "";
        r = os->fsync(os, to);
    }
    return r;
}
