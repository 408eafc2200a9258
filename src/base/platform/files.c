/* Open files: reading, writing, stat, locks, leases, pipes. */
#include "platform.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

static int os_openat(const slwi_os *os, int dirfd, const char *path, int flags, unsigned mode) {
    (void)os;
    int result = 0;
    SLWI_RETRY(int, result, openat(dirfd, path, flags | O_CLOEXEC, (mode_t)mode));
    return result;
}

static int os_openat_straight(const slwi_os *os, int dirfd, const char *path, int flags) {
    (void)os;
#if defined(__linux__) && defined(SYS_openat2)
    /* struct open_how is kernel ABI, and younger than the C libraries we build with. */
    enum { NO_SYMLINKS = 4 };
    const uint64_t how[3] = {(uint64_t)(unsigned)(flags | O_CLOEXEC), 0, NO_SYMLINKS};
    long result = 0;
    SLWI_RETRY(long, result, syscall(SYS_openat2, dirfd, path, how, sizeof how));
    return (int)result;
#else
    (void)dirfd;
    (void)path;
    (void)flags;
    return -ENOSYS;
#endif
}

static int os_close(const slwi_os *os, int fd) {
    (void)os;
    /* Never again after EINTR: on Linux the descriptor is gone and the number may already be another's. */
    if (close(fd) == 0 || errno == EINTR) return 0;
    return -errno;
}

/* Linux moves at most this much in one call, and other systems refuse more. */
#define IO_MAX ((size_t)0x7ffff000)

static size_t io_size(size_t size) {
    return size < IO_MAX ? size : IO_MAX;
}

static int64_t os_read(const slwi_os *os, int fd, void *data, size_t size) {
    (void)os;
    ssize_t result = 0;
    SLWI_RETRY(ssize_t, result, read(fd, data, io_size(size)));
    return result;
}

static int64_t os_pread(const slwi_os *os, int fd, void *data, size_t size, uint64_t offset) {
    (void)os;
    if (offset > INT64_MAX) return -EINVAL;
    ssize_t result = 0;
    SLWI_RETRY(ssize_t, result, pread(fd, data, io_size(size), (off_t)offset));
    return result;
}

static int64_t os_write(const slwi_os *os, int fd, const void *data, size_t size) {
    (void)os;
    ssize_t result = 0;
    SLWI_RETRY(ssize_t, result, write(fd, data, io_size(size)));
    return result;
}

#ifdef __APPLE__
#define MTIME st_mtimespec
#define CTIME st_ctimespec
#else
#define MTIME st_mtim
#define CTIME st_ctim
#endif

static int64_t to_ns(struct timespec time) {
    return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_nsec;
}

static void convert(const struct stat *from, slwi_stat *out) {
    out->dev = (uint64_t)from->st_dev;
    out->ino = (uint64_t)from->st_ino;
    out->size = (uint64_t)from->st_size;
    const uint64_t links = (uint64_t)from->st_nlink;
    out->nlink = links > UINT32_MAX ? UINT32_MAX : (uint32_t)links;
    out->mtime_ns = to_ns(from->MTIME);
    out->ctime_ns = to_ns(from->CTIME);
    out->mode = (uint32_t)from->st_mode;
    out->uid = (uint32_t)from->st_uid;
    out->gid = (uint32_t)from->st_gid;
}

static int os_fstat(const slwi_os *os, int fd, slwi_stat *out) {
    (void)os;
    struct stat st;
    if (fstat(fd, &st) != 0) return -errno;
    convert(&st, out);
    return 0;
}

static int os_fstatat(const slwi_os *os, int dirfd, const char *path, int follow, slwi_stat *out) {
    (void)os;
    struct stat st;
    int result = 0;
    SLWI_RETRY(int, result, fstatat(dirfd, path, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW));
    if (result == 0) convert(&st, out);
    return result;
}

static int os_stat_mount_id(const slwi_os *os, int fd, uint64_t *out) {
    (void)os;
    *out = 0;
#if defined(__linux__) && defined(SYS_statx)
    /* struct statx by offset (it is kernel ABI), so that the answer does not depend on the C library's headers:
       stx_mask stands at 0, stx_mnt_id at 144. */
    enum { MNT_ID = 0x1000, MNT_ID_UNIQUE = 0x4000, EMPTY_PATH = 0x1000 };
    uint64_t words[32] = {0};
    if (syscall(SYS_statx, fd, "", EMPTY_PATH, MNT_ID | MNT_ID_UNIQUE, words) == 0) {
        uint32_t mask = 0;
        memcpy(&mask, words, sizeof mask);
        if (mask & (MNT_ID | MNT_ID_UNIQUE)) *out = words[18];
        return 0;
    }
    return errno == ENOSYS || errno == EPERM ? 0 : -errno;
#else
    (void)fd;
    return 0;
#endif
}

static int os_fchmod(const slwi_os *os, int fd, unsigned mode) {
    (void)os;
    int result = 0;
    SLWI_RETRY(int, result, fchmod(fd, (mode_t)mode));
    return result;
}

static int os_fsync(const slwi_os *os, int fd) {
    (void)os;
#if defined(__APPLE__) && defined(F_FULLFSYNC)
    if (fcntl(fd, F_FULLFSYNC) == 0) return 0; /* fsync alone leaves the data in the drive's cache there */
#endif
    int result = 0;
    SLWI_RETRY(int, result, fsync(fd));
    return result;
}

static int os_ftruncate(const slwi_os *os, int fd, uint64_t size) {
    (void)os;
    if (size > INT64_MAX) return -EINVAL;
    int result = 0;
    SLWI_RETRY(int, result, ftruncate(fd, (off_t)size));
    return result;
}

static int os_lock(const slwi_os *os, int fd) {
    (void)os;
    int result = 0;
    SLWI_RETRY(int, result, flock(fd, LOCK_EX | LOCK_NB));
    return result;
}

static int os_unlock(const slwi_os *os, int fd) {
    (void)os;
    int result = 0;
    SLWI_RETRY(int, result, flock(fd, LOCK_UN));
    return result;
}

#ifdef F_SETLEASE
static int lease(int fd, int kind) {
    return fcntl(fd, F_SETLEASE, kind) == 0 ? 0 : -errno;
}
#else
static int lease(int fd, int kind) {
    (void)fd;
    (void)kind;
    return -ENOSYS;
}
#endif

static int os_lease_read(const slwi_os *os, int fd) {
    (void)os;
#if defined(F_SETLEASE) && defined(F_SETSIG)
    /* Whoever opens the file for writing waits for the lease, and the kernel tells the holder with SIGIO, which ends a
       process that has no handler. Here nobody is to be told: no owner, and until that is set a signal that is
       ignored. */
    (void)fcntl(fd, F_SETSIG, SIGURG);
    const int rc = lease(fd, F_RDLCK);
    if (rc == 0) (void)fcntl(fd, F_SETOWN, 0);
    return rc;
#else
    return lease(fd, F_RDLCK);
#endif
}

static int os_lease_drop(const slwi_os *os, int fd) {
    (void)os;
    return lease(fd, F_UNLCK);
}

static int os_pipe(const slwi_os *os, int out[2]) {
    (void)os;
#ifdef __linux__
    return pipe2(out, O_CLOEXEC) == 0 ? 0 : -errno;
#else
    if (pipe(out) != 0) return -errno;
    (void)fcntl(out[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(out[1], F_SETFD, FD_CLOEXEC);
    return 0;
#endif
}

void slwi_platform_files(slwi_os *table) {
    table->openat = os_openat;
    table->openat_straight = os_openat_straight;
    table->close = os_close;
    table->read = os_read;
    table->pread = os_pread;
    table->write = os_write;
    table->fstat = os_fstat;
    table->fstatat = os_fstatat;
    table->stat_mount_id = os_stat_mount_id;
    table->fchmod = os_fchmod;
    table->fsync = os_fsync;
    table->ftruncate = os_ftruncate;
    table->lock = os_lock;
    table->unlock = os_unlock;
    table->lease_read = os_lease_read;
    table->lease_drop = os_lease_drop;
    table->pipe = os_pipe;
}
