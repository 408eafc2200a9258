#include "store_root.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fail.h"
#include "memory.h"

static int trusted(const slwi_trust *trust, const slwi_stat *stat, const char **why) {
    if (trust->store->trust_root) return 1;
    if (stat->dev != trust->dev) {
        *why = "lies on another device than the root";
        return 0;
    }
    return slwi_trusted(stat, trust->euid, trust->store->trusted_uids, trust->store->trusted_uid_count, why);
}

int slwi_trust_directory(const slwi_trust *trust, const slwi_stat *stat, const char **why) {
    return trusted(trust, stat, why);
}

int slwi_trust_marker(const slwi_trust *trust, const slwi_stat *stat, const char **why) {
    return trusted(trust, stat, why);
}

int slwi_trust_payload(const slwi_trust *trust, const slwi_stat *stat, const char **why) {
    /* The modes of a payload are access policy; its digest judges its bytes. */
    slwi_stat owner_only = *stat;
    owner_only.mode &= ~(uint32_t)(S_IWGRP | S_IWOTH);
    return trusted(trust, &owner_only, why);
}

int slwi_path_inside(const char *directory, const char *path) {
    const size_t size = strlen(directory);
    if (strcmp(directory, "/") == 0) return 1;
    return strncmp(directory, path, size) == 0 && (path[size] == 0 || path[size] == '/');
}

/* Appends the components of `rest` that are not "." to a resolved path. */
static int append_rest(char out[4096], const char *rest) {
    size_t size = strlen(out);
    while (*rest != 0) {
        const size_t length = strcspn(rest, "/");
        const int dots = length == 2 && rest[0] == '.' && rest[1] == '.';
        if (dots) return -EINVAL;
        if (length > 0 && !(length == 1 && rest[0] == '.')) {
            if (size + length + 2 > 4096) return -ENAMETOOLONG;
            if (size == 0 || out[size - 1] != '/') out[size++] = '/';
            memcpy(out + size, rest, length);
            size += length;
            out[size] = 0;
        }
        rest += length;
        rest += strspn(rest, "/");
    }
    return 0;
}

int slwi_resolve_path(const slwi_os *os, const char *path, char out[4096]) {
    char head[4096];
    size_t size = strlen(path);
    if (size == 0) return -ENOENT;
    if (size >= sizeof head) return -ENAMETOOLONG;
    int r = os->realpath(os, path, out);
    memcpy(head, path, size + 1);
    while (r == -ENOENT) {
        while (size > 0 && head[size - 1] == '/') size--;
        while (size > 0 && head[size - 1] != '/') size--;
        head[size] = 0;
        r = os->realpath(os, size > 0 ? head : ".", out);
        if (r >= 0) return append_rest(out, path + size);
        if (size == 0) break;
    }
    return r < 0 ? r : 0;
}

int slwi_root_judge(const slw_store *store, uint32_t euid, const slwi_stat *root, const slwi_stat *parent,
                    const char **why) {
    if (store->trust_root) return 1;
    if (root != NULL && (root->mode & (S_IWGRP | S_IWOTH)) != 0) {
        *why = "the root can be written by group or others";
        return 0;
    }
    if (root != NULL && !slwi_trusted(root, euid, store->trusted_uids, store->trusted_uid_count, why)) return 0;
    if (parent != NULL && (parent->mode & (S_IWGRP | S_IWOTH)) != 0 && (parent->mode & S_ISVTX) == 0) {
        *why = "the root's parent directory can be written by group or others";
        return 0;
    }
    return 1;
}

/* The parent was judged when the store was opened; a root that was not there then, or is another one, is judged
   whole. */
static int parent_known(const slw_store *store, const slwi_stat *root) {
    return store->judged_ino == root->ino && store->judged_dev == root->dev;
}

static slw_code judge_root(const slw_store *store, const slwi_root *root, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    if (store->trust_root) return SLW_OK;
    const int known = parent_known(store, &root->stat);
    slwi_stat parent;
    const int r = known ? 0 : os->fstatat(os, root->fd, "..", 0, &parent);
    if (r < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -r, store->root, "looking at the root's parent");
    const char *why = NULL;
    if (!slwi_root_judge(store, root->trust.euid, &root->stat, known ? NULL : &parent, &why)) {
        (void)slwi_fail(err, SLW_E_STORAGE, "UNTRUSTED", "%s", why);
        slwi_error_path(err, store->root);
        return SLW_E_STORAGE;
    }
    return SLW_OK;
}

slw_code slwi_root_open(slw_store *store, int make, slwi_root *out, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    const int flags = make ? SLWI_O_LIST : SLWI_O_SEARCH;
    slwi_root root = {0};
    root.fd = os->openat(os, AT_FDCWD, store->root, flags, 0);
    if (root.fd == -ENOENT && make) {
        const int made = slwi_make_directories(os, store->root, 0755);
        if (made < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -made, store->root, "making the root");
        root.fd = os->openat(os, AT_FDCWD, store->root, flags, 0);
    }
    if (root.fd == -ENOENT) return slwi_fail(err, SLW_E_MISS, NULL, "the root is absent");
    if (root.fd < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -root.fd, store->root, "opening the root");
    slw_code code = SLW_OK;
    const int r = os->fstat(os, root.fd, &root.stat);
    root.trust = (slwi_trust){store, os->euid(os), root.stat.dev};
    if (r < 0)
        code = slwi_fail_os(err, SLW_E_STORAGE, NULL, -r, store->root, "looking at the root");
    else
        code = judge_root(store, &root, err);
    if (code != SLW_OK) {
        (void)os->close(os, root.fd);
        return code;
    }
    *out = root;
    return SLW_OK;
}

void slwi_root_close(slwi_root *root) {
    const slwi_os *os = slwi_os_get();
    if (root->fd >= 0) (void)os->close(os, root->fd);
    root->fd = -1;
}

void slwi_slot_parents(const slw_key *key, const slw_spec *spec, const char *names[SLWI_SLOT_PARENTS]) {
    names[0] = "artifacts";
    names[1] = slw_key_environment(key);
    names[2] = slw_key_digest(key);
    names[3] = slw_spec_digest(spec);
}

static slw_code step_failure(const char *name, int error_number, slw_error *err) {
    switch (error_number) {
    case ENOENT:
        return slwi_fail(err, SLW_E_MISS, NULL, "no such entry");
    case ELOOP:
    case ENOTDIR:
        (void)slwi_fail(err, SLW_E_INVALID_ENTRY, "NOT_A_DIRECTORY", "%s on the way to the slot is not a directory",
                        name);
        slwi_error_subject(err, name, strlen(name));
        return SLW_E_INVALID_ENTRY;
    default:
        (void)slwi_fail_os(err, SLW_E_STORAGE, NULL, error_number, NULL, "opening %s on the way to the slot", name);
        slwi_error_subject(err, name, strlen(name));
        return SLW_E_STORAGE;
    }
}

/* One component down; *out is open on success. */
static slw_code step_down(const slwi_trust *trust, int parent, const char *name, int flags, int *out, slwi_stat *stat,
                          slw_error *err) {
    const slwi_os *os = slwi_os_get();
    const int fd = os->openat(os, parent, name, flags, 0);
    if (fd < 0) return step_failure(name, -fd, err);
    const char *why = NULL;
    slw_code code = SLW_OK;
    const int r = os->fstat(os, fd, stat);
    if (r < 0) {
        code = step_failure(name, -r, err);
    } else if (!slwi_trust_directory(trust, stat, &why)) {
        code = slwi_fail(err, SLW_E_INVALID_ENTRY, "UNTRUSTED", "untrusted: %s: %s", name, why);
        slwi_error_subject(err, name, strlen(name));
    }
    if (code == SLW_OK)
        *out = fd;
    else
        (void)os->close(os, fd);
    return code;
}

slw_code slwi_slot_open(const slwi_root *root, const slw_key *key, const slw_spec *spec, slwi_slot *out,
                        slw_error *err) {
    const slwi_os *os = slwi_os_get();
    const char *names[SLWI_SLOT_PARENTS];
    slwi_slot_parents(key, spec, names);
    slwi_slot slot = {.parent = -1, .fd = -1};
    slw_code code = SLW_OK;
    for (int i = 0; i < SLWI_SLOT_PARENTS && code == SLW_OK; i++) {
        int next = -1;
        code =
            step_down(&root->trust, i == 0 ? root->fd : slot.parent, names[i], SLWI_O_SEARCH, &next, &slot.stat, err);
        if (slot.parent >= 0) (void)os->close(os, slot.parent);
        slot.parent = next;
    }
    if (code == SLW_OK)
        code = step_down(&root->trust, slot.parent, slw_state_name(slw_spec_state(spec)), SLWI_O_LIST, &slot.fd,
                         &slot.stat, err);
    if (code != SLW_OK) {
        slwi_slot_close(&slot);
        return code;
    }
    *out = slot;
    return SLW_OK;
}

/* From the slot upwards: the directories on the way, the root, and its parent where that was not judged before. */
static int trust_above(const slwi_os *os, const slw_store *store, int slot, slwi_trust *trust) {
    static const char *const above[] = {"..",          "../..",          "../../..",
                                        "../../../..", "../../../../..", "../../../../../.."};
    slwi_stat stat[SLWI_SLOT_PARENTS + 2];
    const slwi_stat *root = &stat[SLWI_SLOT_PARENTS], *parent = NULL;
    const char *why = NULL;
    for (int i = 0; i <= SLWI_SLOT_PARENTS; i++)
        if (os->fstatat(os, slot, above[i], 0, &stat[i]) < 0) return 0;
    if (!store->trust_root && !parent_known(store, root)) {
        if (os->fstatat(os, slot, above[SLWI_SLOT_PARENTS + 1], 0, &stat[SLWI_SLOT_PARENTS + 1]) < 0) return 0;
        parent = &stat[SLWI_SLOT_PARENTS + 1];
    }
    trust->dev = root->dev;
    if (!slwi_root_judge(store, trust->euid, root, parent, &why)) return 0;
    for (int i = 0; i < SLWI_SLOT_PARENTS; i++)
        if (!slwi_trust_directory(trust, &stat[i], &why)) return 0;
    return 1;
}

int slwi_slot_reach(const slw_store *store, const char *path, slwi_slot *out, slwi_trust *trust) {
    const slwi_os *os = slwi_os_get();
    const char *why = NULL;
    slwi_slot slot = {.parent = -1};
    slot.fd = os->openat_straight(os, AT_FDCWD, path, SLWI_O_LIST);
    if (slot.fd < 0) return 0;
    slwi_trust found = {store, os->euid(os), 0};
    if (os->fstat(os, slot.fd, &slot.stat) < 0 || !trust_above(os, store, slot.fd, &found) ||
        !slwi_trust_directory(&found, &slot.stat, &why)) {
        slwi_slot_close(&slot);
        return 0;
    }
    *out = slot;
    *trust = found;
    return 1;
}

void slwi_slot_close(slwi_slot *slot) {
    const slwi_os *os = slwi_os_get();
    if (slot->fd >= 0) (void)os->close(os, slot->fd);
    if (slot->parent >= 0) (void)os->close(os, slot->parent);
    slot->fd = slot->parent = -1;
}

static char *append_name(char *to, const char *name) {
    const size_t size = strlen(name);
    *to = '/';
    memcpy(to + 1, name, size + 1);
    return to + 1 + size;
}

char *slwi_slot_path(const slw_store *store, const slw_key *key, const slw_spec *spec) {
    const char *names[SLWI_SLOT_PARENTS];
    slwi_slot_parents(key, spec, names);
    const char *state = slw_state_name(slw_spec_state(spec));
    const size_t root = strcmp(store->root, "/") == 0 ? 0 : strlen(store->root);
    size_t size = root + strlen(state) + 2;
    for (int i = 0; i < SLWI_SLOT_PARENTS; i++) size += strlen(names[i]) + 1;
    char *path = slwi_alloc(&store->allocator, size);
    if (path == NULL) return NULL;
    memcpy(path, store->root, root);
    char *end = path + root;
    for (int i = 0; i < SLWI_SLOT_PARENTS; i++) end = append_name(end, names[i]);
    *append_name(end, state) = 0;
    return path;
}
