/* Whole files, directories and trust, over the table of system calls. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <slipway/limits.h>

#include "fail.h"
#include "hex.h"

/* Opens and fstats; closes again when the kind is not `kind`. */
static int open_kind(const slwi_os *os, int dirfd, const char *name, int flags, uint32_t kind, int refusal,
                     slwi_stat *out) {
    const int fd = os->openat(os, dirfd, name, flags, 0);
    if (fd == -ENXIO) return refusal; /* a socket */
    if (fd < 0) return fd;
    int rc = os->fstat(os, fd, out);
    if (rc == 0 && (out->mode & S_IFMT) != kind) rc = refusal;
    if (rc == 0) return fd;
    (void)os->close(os, fd);
    return rc;
}

int slwi_open_regular(const slwi_os *os, int dirfd, const char *name, int follow, slwi_stat *out) {
    /* O_NONBLOCK: a fifo without a writer would hold the open for ever. */
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | (follow ? 0 : O_NOFOLLOW);
    return open_kind(os, dirfd, name, flags, S_IFREG, -EINVAL, out);
}

int slwi_open_directory(const slwi_os *os, int dirfd, const char *name, int follow, slwi_stat *out) {
    const int flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW);
    return open_kind(os, dirfd, name, flags, S_IFDIR, -ENOTDIR, out);
}

int slwi_pread_all(const slwi_os *os, int fd, void *data, size_t size, uint64_t offset) {
    char *to = data;
    while (size > 0) {
        const int64_t got = os->pread(os, fd, to, size, offset);
        if (got < 0) return (int)got;
        if (got == 0) return -ENODATA;
        to += got;
        size -= (size_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

int slwi_write_all(const slwi_os *os, int fd, const void *data, size_t size) {
    const char *from = data;
    while (size > 0) {
        const int64_t put = os->write(os, fd, from, size);
        if (put < 0) return (int)put;
        if (put == 0) return -EIO; /* no progress: never spin on it */
        from += put;
        size -= (size_t)put;
    }
    return 0;
}

static slw_code read_open_file(const slwi_os *os, int fd, const char *path, slwi_buffer *out, slw_error *err) {
    char chunk[16384];
    for (;;) {
        const int64_t got = os->read(os, fd, chunk, sizeof chunk);
        if (got < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, (int)-got, path, "cannot read %s", path);
        if (got == 0) break;
        slwi_buffer_append(out, chunk, (size_t)got);
        if (out->failed) break;
    }
    const slw_code rc = slwi_buffer_status(out, err);
    if (rc != SLW_OK) slwi_error_path(err, path);
    return rc;
}

slw_code slwi_read_file(const char *path, slwi_buffer *out, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_stat st;
    const int fd = slwi_open_regular(os, AT_FDCWD, path, 1, &st);
    if (fd == -EINVAL) {
        (void)slwi_fail(err, SLW_E_STORAGE, "NOT_A_FILE", "%s is not a regular file", path);
        slwi_error_path(err, path);
        return SLW_E_STORAGE;
    }
    if (fd < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -fd, path, "cannot open %s", path);
    const slw_code rc = read_open_file(os, fd, path, out, err);
    (void)os->close(os, fd);
    return rc;
}

#define TEMPORARY_SIZE 40

/* ".slipway-<16 digits>.tmp": short whatever the length of the name it stands in for. */
static int temporary_name(const slwi_os *os, char out[TEMPORARY_SIZE]) {
    uint8_t noise[8];
    const int rc = os->random(os, noise, sizeof noise);
    if (rc < 0) return rc;
    memcpy(out, ".slipway-", 9); // NOLINT(bugprone-not-null-terminated-result): the end comes with ".tmp"
    slwi_hex_encode(noise, sizeof noise, out + 9);
    memcpy(out + 25, ".tmp", 5);
    return 0;
}

static int write_new(const slwi_os *os, int dirfd, const char *name, slw_bytes bytes, unsigned mode) {
    const int fd = os->openat(os, dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0) return fd;
    int rc = slwi_write_all(os, fd, bytes.data, bytes.size);
    if (rc == 0) rc = os->fchmod(os, fd, mode);
    if (rc == 0) rc = os->fsync(os, fd);
    const int closed = os->close(os, fd); /* quota and network errors may come as late as this */
    if (rc == 0) rc = closed;
    if (rc != 0) (void)os->unlinkat(os, dirfd, name, 0);
    return rc;
}

static int replace_file(const slwi_os *os, int dirfd, const char *name, slw_bytes bytes, unsigned mode) {
    char temporary[TEMPORARY_SIZE];
    int rc = temporary_name(os, temporary);
    if (rc == 0) rc = write_new(os, dirfd, temporary, bytes, mode);
    if (rc != 0) return rc;
    rc = os->rename(os, dirfd, temporary, dirfd, name);
    if (rc != 0) (void)os->unlinkat(os, dirfd, temporary, 0);
    return rc;
}

slw_code slwi_write_file_atomic(const char *path, slw_bytes bytes, unsigned mode, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    char directory[SLW_LIMIT_PATH_BYTES];
    const char *slash = strrchr(path, '/');
    const size_t size = slash == NULL ? 1 : slash == path ? 1 : (size_t)(slash - path);
    if (size >= sizeof directory) {
        return slwi_fail_os(err, SLW_E_STORAGE, NULL, ENAMETOOLONG, path, "cannot write %s", path);
    }
    memcpy(directory, slash == NULL ? "." : path, size);
    directory[size] = '\0';
    slwi_stat st;
    const int dirfd = slwi_open_directory(os, AT_FDCWD, directory, 1, &st);
    if (dirfd < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -dirfd, directory, "cannot open %s", directory);
    const int rc = replace_file(os, dirfd, slash == NULL ? path : slash + 1, bytes, mode);
    (void)os->close(os, dirfd);
    if (rc != 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -rc, path, "cannot write %s", path);
    return SLW_OK;
}

/* One directory of a path; 0 when it is there in the end. */
static int make_one(const slwi_os *os, const char *path, unsigned mode) {
    const int rc = os->mkdirat(os, AT_FDCWD, path, mode);
    if (rc == 0) return 0;
    /* EEXIST, but also EACCES, EROFS or EISDIR for a parent that is simply not ours. */
    slwi_stat st;
    if (os->fstatat(os, AT_FDCWD, path, 1, &st) != 0) return rc;
    return S_ISDIR(st.mode) ? 0 : -ENOTDIR;
}

int slwi_make_directories(const slwi_os *os, const char *path, unsigned mode) {
    char prefix[SLW_LIMIT_PATH_BYTES];
    const size_t size = strlen(path);
    if (size == 0) return -ENOENT;
    if (size >= sizeof prefix) return -ENAMETOOLONG;
    memcpy(prefix, path, size + 1);
    for (size_t i = 1; i < size; i++) {
        if (prefix[i] != '/' || prefix[i - 1] == '/') continue;
        prefix[i] = '\0';
        const int rc = make_one(os, prefix, mode);
        if (rc != 0) return rc;
        prefix[i] = '/';
    }
    return make_one(os, prefix, mode);
}

static int uid_listed(uint32_t uid, const uint32_t *uids, size_t uid_count) {
    for (size_t i = 0; i < uid_count; i++) {
        if (uids[i] == uid) return 1;
    }
    return 0;
}

int slwi_trusted(const slwi_stat *stat, uint32_t euid, const uint32_t *uids, size_t uid_count, const char **why) {
    if (stat->uid != euid && stat->uid != 0 && !uid_listed(stat->uid, uids, uid_count)) {
        *why = "its owner is neither this user nor root nor a trusted uid";
        return 0;
    }
    const int sticky = S_ISDIR(stat->mode) && (stat->mode & S_ISVTX) != 0;
    if ((stat->mode & (S_IWGRP | S_IWOTH)) != 0 && !sticky) {
        *why = (stat->mode & S_IWOTH) != 0 ? "others may write to it" : "its group may write to it";
        return 0;
    }
    return 1;
}

int slwi_same_file(const slwi_stat *a, const slwi_stat *b) {
    return a->dev == b->dev && a->ino == b->ino;
}

int slwi_unchanged(const slwi_stat *a, const slwi_stat *b) {
    return slwi_same_file(a, b) && a->size == b->size && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}
