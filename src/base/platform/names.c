/* Names in the file system: directories, links, renames, listings. */
#include "platform.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#else
#include <dirent.h>
#endif

static int64_t os_readlinkat(const slwi_os *os, int dirfd, const char *path, char *out, size_t size) {
    (void)os;
    ssize_t result = 0;
    SLWI_RETRY(ssize_t, result, readlinkat(dirfd, path, out, size));
    return result;
}

static int os_realpath(const slwi_os *os, const char *path, char out[4096]) {
    (void)os;
#if PATH_MAX <= 4096
    return realpath(path, out) != NULL ? 0 : -errno;
#else
    char *resolved = realpath(path, NULL);
    if (resolved == NULL) return -errno;
    const size_t size = strlen(resolved) + 1;
    if (size <= 4096) memcpy(out, resolved, size);
    free(resolved);
    return size <= 4096 ? 0 : -ENAMETOOLONG;
#endif
}

static int os_getcwd(const slwi_os *os, char out[4096]) {
    (void)os;
    return getcwd(out, 4096) != NULL ? 0 : -errno;
}

static int os_mkdirat(const slwi_os *os, int dirfd, const char *path, unsigned mode) {
    (void)os;
    int result = 0;
    SLWI_RETRY(int, result, mkdirat(dirfd, path, (mode_t)mode));
    return result;
}

static int os_unlinkat(const slwi_os *os, int dirfd, const char *path, int directory) {
    (void)os;
    int result = 0;
    SLWI_RETRY(int, result, unlinkat(dirfd, path, directory ? AT_REMOVEDIR : 0));
    return result;
}

static int os_rename(const slwi_os *os, int from_dirfd, const char *from, int to_dirfd, const char *to) {
    (void)os;
    int result = 0;
    SLWI_RETRY(int, result, renameat(from_dirfd, from, to_dirfd, to));
    return result;
}

static int os_rename_noreplace(const slwi_os *os, int from_dirfd, const char *from, int to_dirfd, const char *to) {
    (void)os;
#if defined(__linux__) && defined(SYS_renameat2)
    enum { NOREPLACE = 1 };
    long result = 0;
    SLWI_RETRY(long, result, syscall(SYS_renameat2, from_dirfd, from, to_dirfd, to, NOREPLACE));
    return (int)result;
#elif defined(__APPLE__)
    return renameatx_np(from_dirfd, from, to_dirfd, to, RENAME_EXCL) == 0 ? 0 : -errno;
#else
    (void)from_dirfd;
    (void)from;
    (void)to_dirfd;
    (void)to;
    return -ENOSYS;
#endif
}

static int os_symlinkat(const slwi_os *os, const char *target, int dirfd, const char *path) {
    (void)os;
    int result = 0;
    SLWI_RETRY(int, result, symlinkat(target, dirfd, path));
    return result;
}

static int os_utime(const slwi_os *os, int dirfd, const char *path, int64_t time_ns) {
    (void)os;
    int64_t seconds = time_ns / 1000000000;
    int64_t rest = time_ns % 1000000000;
    if (rest < 0) {
        rest += 1000000000;
        seconds -= 1;
    }
    struct timespec stamp;
    stamp.tv_sec = (time_t)seconds;
    stamp.tv_nsec = (long)rest;
    const struct timespec both[2] = {stamp, stamp};
    int result = 0;
    SLWI_RETRY(int, result, utimensat(dirfd, path, both, AT_SYMLINK_NOFOLLOW));
    return result;
}

static int is_dot(const char *name) {
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

#ifdef __linux__
/* struct linux_dirent64: ino 8, off 8, reclen 2, type 1, name. Listing by this call needs no descriptor and no memory
   of its own, which fdopendir does. */
enum { AT_RECLEN = 16, AT_TYPE = 18, AT_NAME = 19 };

static char entry_type(uint8_t type) {
    switch (type) {
    case 4: return 'd';
    case 8: return 'f';
    case 10: return 'l';
    case 0: return '?';
    default: return 'o';
    }
}

static int refill(slwi_dir *dir) {
    long size = 0;
    SLWI_RETRY(long, size, syscall(SYS_getdents64, dir->fd, dir->buffer.bytes, sizeof dir->buffer.bytes));
    dir->at = 0;
    dir->end = size > 0 ? (size_t)size : 0;
    return size < 0 ? (int)size : size > 0;
}

static int os_readdir(const slwi_os *os, slwi_dir *dir, slwi_dirent *out) {
    (void)os;
    for (;;) {
        if (dir->at >= dir->end) {
            const int more = refill(dir);
            if (more <= 0) return more;
        }
        const char *record = dir->buffer.bytes + dir->at;
        uint16_t length = 0;
        memcpy(&length, record + AT_RECLEN, sizeof length);
        memcpy(&out->ino, record, sizeof out->ino);
        out->type = entry_type((uint8_t)record[AT_TYPE]);
        out->name = record + AT_NAME;
        dir->at += length;
        if (!is_dot(out->name)) return 1;
    }
}

static void os_closedir(const slwi_os *os, slwi_dir *dir) {
    (void)os;
    dir->at = 0;
    dir->end = 0;
}
#else
static char entry_type(uint8_t type) {
    switch (type) {
    case DT_DIR: return 'd';
    case DT_REG: return 'f';
    case DT_LNK: return 'l';
    case DT_UNKNOWN: return '?';
    default: return 'o';
    }
}

static int os_readdir(const slwi_os *os, slwi_dir *dir, slwi_dirent *out) {
    (void)os;
    if (dir->at == 0) {
        const int copy = dup(dir->fd);
        if (copy < 0) return -errno;
        DIR *stream = fdopendir(copy);
        if (stream == NULL) {
            const int error_number = errno;
            (void)close(copy);
            return -error_number;
        }
        dir->buffer.stream = stream;
        dir->at = 1;
    }
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir->buffer.stream);
        if (entry == NULL) return -errno;
        if (is_dot(entry->d_name)) continue;
        out->name = entry->d_name;
        out->ino = (uint64_t)entry->d_ino;
        out->type = entry_type(entry->d_type);
        return 1;
    }
}

static void os_closedir(const slwi_os *os, slwi_dir *dir) {
    (void)os;
    if (dir->at != 0) (void)closedir(dir->buffer.stream);
    dir->at = 0;
}
#endif

void slwi_platform_names(slwi_os *table) {
    table->readlinkat = os_readlinkat;
    table->realpath = os_realpath;
    table->getcwd = os_getcwd;
    table->readdir = os_readdir;
    table->closedir = os_closedir;
    table->mkdirat = os_mkdirat;
    table->unlinkat = os_unlinkat;
    table->rename = os_rename;
    table->rename_noreplace = os_rename_noreplace;
    table->symlinkat = os_symlinkat;
    table->utime = os_utime;
}
