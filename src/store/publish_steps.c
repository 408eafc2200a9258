#include "store_publish_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "hex.h"
#include "memory.h"
#include "sha256.h"

#define TAG_NAME       "CACHEDIR.TAG"
#define STAGING_PREFIX ".tmp."
#define SWEEP_AGE_NS   INT64_C(86400000000000)

slw_code slwi_publish_fail(slwi_publishing *p, int error_number, const char *what, slw_error *err) {
    if (error_number == ENOENT) p->vanished = 1;
    return slwi_fail_os(err, SLW_E_PUBLICATION, NULL, error_number, p->what->store->root, "%s", what);
}

/* What we make is never writable by the group, even where a default ACL says so. */
static int strip_group_write(const slwi_os *os, int fd, slwi_stat *stat) {
    const unsigned extra = stat->mode & (S_IWGRP | S_IWOTH);
    if (extra == 0) return 0;
    stat->mode &= ~(uint32_t)extra;
    return os->fchmod(os, fd, stat->mode & 07777);
}

static slw_code open_parent(slwi_publishing *p, const slwi_trust *trust, int level, const char *name, slw_error *err) {
    const slwi_os *os = p->os;
    const int above = p->parents[level - 1];
    int fd = os->openat(os, above, name, SLWI_O_LIST, 0);
    if (fd == -ENOENT) {
        const int made = os->mkdirat(os, above, name, 0755);
        if (made < 0 && made != -EEXIST) return slwi_publish_fail(p, -made, "making the slot's parents", err);
        p->made[level] = made >= 0;
        fd = os->openat(os, above, name, SLWI_O_LIST, 0);
    }
    if (fd < 0) {
        (void)slwi_publish_fail(p, -fd, "opening the slot's parents", err);
        slwi_error_subject(err, name, strlen(name));
        return SLW_E_PUBLICATION;
    }
    p->parents[level] = fd;
    slwi_stat stat;
    int r = os->fstat(os, fd, &stat);
    if (r >= 0 && p->made[level]) r = strip_group_write(os, fd, &stat);
    if (r < 0) return slwi_publish_fail(p, -r, "looking at the slot's parents", err);
    const char *why = NULL;
    if (slwi_trust_directory(trust, &stat, &why)) return SLW_OK;
    (void)slwi_fail(err, SLW_E_PUBLICATION, "UNTRUSTED", "untrusted: %s: %s", name, why);
    slwi_error_subject(err, name, strlen(name));
    return SLW_E_PUBLICATION;
}

slw_code slwi_publish_parents(slwi_publishing *p, slw_error *err) {
    slwi_root root;
    slw_error why = SLW_ERROR_INIT;
    if (slwi_root_open(p->what->store, 1, &root, &why) != SLW_OK) {
        (void)slwi_fail(err, SLW_E_PUBLICATION, why.reason, "%s", why.message);
        slwi_error_path(err, p->what->store->root);
        return SLW_E_PUBLICATION;
    }
    p->parents[0] = root.fd;
    const char *names[SLWI_SLOT_PARENTS];
    slwi_slot_parents(p->what->key, p->what->spec, names);
    slw_code code = SLW_OK;
    for (int i = 0; i < SLWI_SLOT_PARENTS && code == SLW_OK; i++)
        code = open_parent(p, &root.trust, i + 1, names[i], err);
    return code;
}

void slwi_publish_tag(const slwi_publishing *p) {
    static const char text[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
                               "# This directory was made by slipway. Everything in it can be made again.\n";
    const slwi_os *os = p->os;
    if (!slwi_store_is_default_domain(p->what->store)) return;
    const int fd =
        os->openat(os, p->parents[0], TAG_NAME, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0644);
    if (fd < 0) return;
    slwi_stat stat;
    /* An empty one is of a publisher that died here. */
    if (os->fstat(os, fd, &stat) >= 0 && S_ISREG(stat.mode) && stat.size == 0)
        (void)slwi_write_all(os, fd, text, sizeof text - 1);
    (void)os->close(os, fd);
}

/* 8 digits that stand for this machine since its last start: staging with them has its publisher here, or nowhere. */
static slw_code host_digits(char out[9], slw_error *err) {
    const slwi_os *os = slwi_os_get();
    char text[320], boot[64];
    char host[256];
    if (os->host_name(os, host) < 0) host[0] = 0;
    if (os->boot_id(os, boot) < 0) boot[0] = 0;
    const int size = snprintf(text, sizeof text, "%s\n%s", host, boot);
    if (size < 0) return slwi_fail(err, SLW_E_PUBLICATION, NULL, "this host has no name");
    slw_digest digest;
    slwi_sha256_once((slw_bytes){text, strlen(text)}, &digest);
    slwi_hex_encode(digest.bytes, 4, out);
    out[8] = 0;
    return SLW_OK;
}

slw_code slwi_staging_name(char *out, size_t size, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    char host[9], digits[25];
    uint8_t bytes[12];
    const slw_code code = host_digits(host, err);
    if (code != SLW_OK) return code;
    const int r = os->random(os, bytes, sizeof bytes);
    if (r < 0) return slwi_fail_os(err, SLW_E_PUBLICATION, NULL, -r, NULL, "naming the staging directory");
    slwi_hex_encode(bytes, sizeof bytes, digits);
    digits[24] = 0;
    (void)snprintf(out, size, "%s%s.%s", STAGING_PREFIX, host, digits);
    return SLW_OK;
}

/* May this staging be removed? On a local file system its publisher would hold the lock that we hold. Elsewhere a
   lock says nothing of other machines (pitfall 14): only what is ours goes, and what is a day old. */
static int is_dead(const slwi_publishing *p, const char *name, const char *ours, int local) {
    const slwi_os *os = p->os;
    const int locked = p->what->lock->exclusive;
    if (locked && local) return 1;
    const size_t prefix = strlen(STAGING_PREFIX);
    if (locked && strncmp(name + prefix, ours, 8) == 0 && name[prefix + 8] == '.') return 1;
    slwi_stat stat;
    if (os->fstatat(os, p->parents[SLWI_SLOT_PARENTS], name, 0, &stat) < 0) return 0;
    return os->wall_ns(os) - stat.mtime_ns > SWEEP_AGE_NS;
}

void slwi_publish_sweep(const slwi_publishing *p) {
    const slwi_os *os = p->os;
    const int parent = p->parents[SLWI_SLOT_PARENTS];
    char ours[9];
    slwi_fs fs;
    if (p->made[SLWI_SLOT_PARENTS] || host_digits(ours, NULL) != SLW_OK) return;
    const int local = os->fstatfs(os, parent, &fs) >= 0 && fs.local;
    slwi_dir *dir = &p->scratch->dir;
    dir->fd = os->openat(os, parent, ".", SLWI_O_LIST, 0);
    if (dir->fd < 0) return;
    dir->at = dir->end = 0;
    dir->buffer.stream = NULL;
    slwi_dirent entry;
    while (os->readdir(os, dir, &entry) > 0) {
        char name[256];
        if (strncmp(entry.name, STAGING_PREFIX, strlen(STAGING_PREFIX)) != 0) continue;
        (void)snprintf(name, sizeof name, "%s", entry.name);
        if (is_dead(p, name, ours, local)) (void)slwi_remove_tree(os, parent, name);
    }
    os->closedir(os, dir);
    (void)os->close(os, dir->fd);
}

int slwi_rename_once(const slwi_publishing *p, const char *slot) {
    const slwi_os *os = p->os;
    slw_store *store = p->what->store;
    const int parent = p->parents[SLWI_SLOT_PARENTS];
    if (atomic_load(&store->no_replace) != 0) {
        const int r = os->rename_noreplace(os, parent, p->staging, parent, slot);
        if (r != -ENOSYS && r != -EINVAL) {
            if (r >= 0 || r == -EEXIST) atomic_store(&store->no_replace, 1);
            return r;
        }
        atomic_store(&store->no_replace, 0);
    }
    /* A plain rename would take the place of an empty directory; looking first leaves only a moment for one to
       appear. */
    slwi_stat stat;
    if (os->fstatat(os, parent, slot, 0, &stat) >= 0) return -EEXIST;
    return os->rename(os, parent, p->staging, parent, slot);
}

slw_code slwi_publish_sync_parents(slwi_publishing *p, slw_error *err) {
    int r = p->os->fsync(p->os, p->parents[SLWI_SLOT_PARENTS]);
    /* A directory that is new is durable only with its own parent. */
    for (int i = SLWI_SLOT_PARENTS; i > 0 && r >= 0; i--)
        if (p->made[i]) r = p->os->fsync(p->os, p->parents[i - 1]);
    return r < 0 ? slwi_publish_fail(p, -r, "syncing the slot's parents", err) : SLW_OK;
}
