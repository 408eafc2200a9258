/* What `doctor` tells of a root. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "hex.h"
#include "store_root.h"

static void examine_trust(const slw_store *store, slw_store_health *out) {
    const slwi_os *os = slwi_os_get();
    slwi_stat root, parent;
    const char *why = NULL;
    char above[4096];
    const int r = os->fstatat(os, AT_FDCWD, store->root, 0, &root);
    out->exists = r >= 0;
    out->trusted = 1;
    if (r < 0) return;
    (void)snprintf(above, sizeof above, "%s/..", store->root);
    const int have_parent = os->fstatat(os, AT_FDCWD, above, 0, &parent) >= 0;
    out->trusted = slwi_root_judge(store, os->euid(os), &root, have_parent ? &parent : NULL, &why);
    if (!out->trusted) (void)snprintf(out->why_not_trusted, sizeof out->why_not_trusted, "%s", why);
}

/* The file system of the root, or of what it is going to be made in. */
static void examine_file_system(const slw_store *store, slw_store_health *out) {
    const slwi_os *os = slwi_os_get();
    char path[4096];
    slwi_fs fs;
    (void)snprintf(path, sizeof path, "%s", store->root);
    for (;;) {
        const int fd = os->openat(os, AT_FDCWD, path[0] != 0 ? path : "/", O_RDONLY | O_DIRECTORY, 0);
        if (fd >= 0) {
            if (os->fstatfs(os, fd, &fs) >= 0) {
                out->local_file_system = fs.local;
                (void)snprintf(out->file_system, sizeof out->file_system, "%s", fs.name);
            }
            (void)os->close(os, fd);
            return;
        }
        char *slash = strrchr(path, '/');
        if (fd != -ENOENT || slash == NULL || path[0] == 0) return;
        *slash = 0;
    }
}

static void probe_rename(slw_store *store, int directory) {
    const slwi_os *os = slwi_os_get();
    if (os->mkdirat(os, directory, "a", 0700) >= 0 && os->mkdirat(os, directory, "b", 0700) >= 0) {
        const int r = os->rename_noreplace(os, directory, "a", directory, "b");
        if (r == -EEXIST) atomic_store(&store->no_replace, 1);
        if (r == -ENOSYS || r == -EINVAL) atomic_store(&store->no_replace, 0);
    }
}

static void probe_lock(slw_store *store, int directory) {
    const slwi_os *os = slwi_os_get();
    const int fd = os->openat(os, directory, "lock", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0) return;
    const int r = os->lock(os, fd);
    if (r >= 0) atomic_store(&store->locks, 1);
    /* NOLINTNEXTLINE(misc-redundant-expression): two names of one number on Linux only */
    if (r == -ENOLCK || r == -EOPNOTSUPP || r == -ENOTSUP || r == -ENOSYS) atomic_store(&store->locks, 0);
    if (r >= 0) (void)os->unlock(os, fd);
    (void)os->close(os, fd);
}

/* A directory of its own under the root, removed whatever happened in it. */
static slw_code probe(slw_store *store, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_root root;
    uint8_t bytes[8];
    char name[32] = ".probe.";
    slw_code code = slwi_root_open(store, 0, &root, err);
    if (code != SLW_OK) return code;
    int r = os->random(os, bytes, sizeof bytes);
    slwi_hex_encode(bytes, sizeof bytes, name + 7);
    name[7 + 16] = 0;
    if (r >= 0) r = os->mkdirat(os, root.fd, name, 0700);
    const int fd = r < 0 ? r : os->openat(os, root.fd, name, SLWI_O_LIST, 0);
    if (fd >= 0) {
        probe_rename(store, fd);
        probe_lock(store, fd);
        (void)os->close(os, fd);
    } else {
        code = slwi_fail_os(err, SLW_E_STORAGE, NULL, -fd, store->root, "probing the root");
    }
    if (r >= 0) (void)slwi_remove_tree(os, root.fd, name);
    slwi_root_close(&root);
    return code;
}

slw_code slw_store_examine(slw_store *store, int probe_too, slw_store_health *out, slw_error *err) {
    slwi_error_reset(err);
    slw_code code = slwi_store_check(store, err);
    if (code != SLW_OK) return code;
    if (out == NULL || out->size != sizeof *out)
        return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE", "health of another size");
    if (probe_too && store->read_only) return slwi_fail(err, SLW_E_USAGE, NULL, "a read-only store cannot be probed");
    slw_store_health health = {.size = sizeof health};
    examine_trust(store, &health);
    examine_file_system(store, &health);
    if (probe_too && health.exists) code = probe(store, err);
    if (code != SLW_OK) return code;
    health.no_replace = atomic_load(&store->no_replace);
    health.locks = atomic_load(&store->locks);
    *out = health;
    return SLW_OK;
}
