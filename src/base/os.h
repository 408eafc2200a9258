/* Every system call of slipway, behind one table that tests can replace: this is where faults are injected.
 *
 * Convention: what can fail returns a value >= 0 or -errno; errno itself is never read outside base/platform. EINTR is
 * retried inside. Use:  const slwi_os *os = slwi_os_get();  r = os->openat(os, …);
 * Flags, modes and struct stat are the platform's own (<fcntl.h>, <sys/stat.h> may be included for the constants only).
 */
#ifndef SLWI_OS_H
#define SLWI_OS_H

#include <slipway/bytes.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Stat identity: everything the kernel tells of a file that changes when the file does. */
typedef struct slwi_stat {
    uint64_t dev, ino, size;
    int64_t mtime_ns, ctime_ns;
    uint32_t mode, uid, gid, nlink;
} slwi_stat;

typedef struct slwi_fs {
    uint64_t type;    /* f_type */
    uint64_t id;      /* f_fsid */
    char name[32];    /* "ext4", "xfs", "tmpfs", "nfs", … or "0x…" */
    int local;        /* 1: a local file system */
    int memo_allowed; /* 1: ext2/3/4, xfs, btrfs, zfs (pitfall 6) */
} slwi_fs;

/* One directory listing step. `name` is NUL-terminated and borrowed until the next call; "." and ".." are left out.
   type: 'd', 'f', 'l', '?' (ask fstatat), 'o' other. */
typedef struct slwi_dirent {
    const char *name;
    uint64_t ino;
    char type;
} slwi_dirent;
typedef struct slwi_dir {
    int fd; /* borrowed: the caller closes it */
    size_t at, end;
    union {
        char bytes[16384];
        uint64_t align;
        void *stream; /* platforms without getdents */
    } buffer;
} slwi_dir;

typedef struct slwi_os slwi_os;
struct slwi_os {
    void *context; /* for replacements */
    const slwi_os *next;

    /* Files. Paths are relative to dirfd, or absolute. O_CLOEXEC is always added. */
    int (*openat)(const slwi_os *os, int dirfd, const char *path, int flags, unsigned mode);
    int (*close)(const slwi_os *os, int fd);
    int64_t (*read)(const slwi_os *os, int fd, void *data, size_t size);
    int64_t (*pread)(const slwi_os *os, int fd, void *data, size_t size, uint64_t offset);
    int64_t (*write)(const slwi_os *os, int fd, const void *data, size_t size); /* may be short */
    int (*fstat)(const slwi_os *os, int fd, slwi_stat *out);
    int (*fstatat)(const slwi_os *os, int dirfd, const char *path, int follow, slwi_stat *out);
    int (*fstatfs)(const slwi_os *os, int fd, slwi_fs *out);
    int64_t (*readlinkat)(const slwi_os *os, int dirfd, const char *path, char *out, size_t size);
    int (*realpath)(const slwi_os *os, const char *path, char out[4096]);
    int (*getcwd)(const slwi_os *os, char out[4096]);
    int (*readdir)(const slwi_os *os, slwi_dir *dir, slwi_dirent *out); /* 1: an entry, 0: the end */
    void (*closedir)(const slwi_os *os, slwi_dir *dir);
    int (*mkdirat)(const slwi_os *os, int dirfd, const char *path, unsigned mode);
    int (*unlinkat)(const slwi_os *os, int dirfd, const char *path, int directory);
    int (*rename)(const slwi_os *os, int from_dirfd, const char *from, int to_dirfd, const char *to);
    int (*rename_noreplace)(const slwi_os *os, int from_dirfd, const char *from, int to_dirfd,
                            const char *to); /* -ENOSYS/-EINVAL: not able */
    int (*symlinkat)(const slwi_os *os, const char *target, int dirfd, const char *path);
    int (*fchmod)(const slwi_os *os, int fd, unsigned mode);
    int (*fsync)(const slwi_os *os, int fd);
    int (*ftruncate)(const slwi_os *os, int fd, uint64_t size);
    int (*utime)(const slwi_os *os, int dirfd, const char *path, int64_t time_ns);
    int (*lock)(const slwi_os *os, int fd); /* flock LOCK_EX|LOCK_NB: 0, -EWOULDBLOCK, -ENOLCK, … */
    int (*unlock)(const slwi_os *os, int fd);
    int (*lease_read)(const slwi_os *os, int fd); /* F_SETLEASE F_RDLCK: 0 granted */
    int (*lease_drop)(const slwi_os *os, int fd);
    int (*pipe)(const slwi_os *os, int out[2]);

    /* Memory. map_anonymous: private, zeroed, read-write, rounded up to pages. */
    int (*map_anonymous)(const slwi_os *os, size_t size, void **out);
    int (*map_protect_read)(const slwi_os *os, void *data, size_t size);
    void (*unmap)(const slwi_os *os, void *data, size_t size);
    int (*memfd)(const slwi_os *os, const char *name); /* executable, sealable */
    int (*memfd_seal)(const slwi_os *os, int fd);      /* write, grow, shrink, seal */

    /* Dynamic libraries. On failure NULL and the loader's words in `why`. */
    void *(*dl_open)(const slwi_os *os, const char *path, char why[256]); /* RTLD_NOW | RTLD_LOCAL */
    void *(*dl_symbol)(const slwi_os *os, void *library, const char *name);
    int (*dl_close)(const slwi_os *os, void *library);
    /* RTLD_NOLOAD: another reference to what is loaded already, for dl_close; NULL: it is not. */
    void *(*dl_loaded)(const slwi_os *os, const char *path);

    /* Time, process, randomness. */
    uint64_t (*now_ns)(const slwi_os *os); /* monotonic */
    int64_t (*wall_ns)(const slwi_os *os); /* since 1970 */
    void (*sleep_ns)(const slwi_os *os, uint64_t duration_ns);
    int (*random)(const slwi_os *os, void *data, size_t size);
    uint32_t (*euid)(const slwi_os *os);
    int64_t (*pid)(const slwi_os *os);
    int (*host_name)(const slwi_os *os, char out[256]);
    int (*boot_id)(const slwi_os *os, char out[64]); /* text without newline */
    uint32_t (*processors)(const slwi_os *os);
    uint32_t (*umask)(const slwi_os *os); /* read from /proc, never changed */

    /* Children: see process.h. Returns a process id or -errno. All inputs are ready-made: nothing allocates after fork.
     */
    int64_t (*spawn)(const slwi_os *os, const char *program, char *const *argv, char *const *envp,
                     const char *directory, int output_fd);
    /* 0: still running; 1: ended (what was left of its group was killed first), status as waitpid's; -ECHILD: lost. */
    int (*wait)(const slwi_os *os, int64_t process, int *status);
    int (*kill_group)(const slwi_os *os, int64_t process);
    int (*poll_readable)(const slwi_os *os, int fd, uint64_t timeout_ns); /* 1 readable or hung up, 0 time-out */

    /* The mount's id (the unique one where the kernel has it), for memo records; apart from fstat, since a lookup
       calls that too often to pay for it. 0 with *out 0 where the platform does not tell. */
    int (*stat_mount_id)(const slwi_os *os, int fd, uint64_t *out);

    /* openat of a whole path at once, refused (-ELOOP) when anything on the way is a symbolic link. Optional: where the
       platform cannot (-ENOSYS) or may not (-EPERM, seccomp) the caller goes one openat a component (pitfall 39). */
    int (*openat_straight)(const slwi_os *os, int dirfd, const char *path, int flags);

    /* The file that a loaded address lies in, as the loader knows it (dladdr). -ENOENT: in none. */
    int (*dl_path)(const slwi_os *os, const void *address, char out[4096]);
};

const slwi_os *slwi_os_get(void);           /* the table in force; never NULL */
const slwi_os *slwi_os_real(void);          /* the operating system's */
void slwi_os_replace(const slwi_os *table); /* tests only; NULL: the real one again. Not while other threads run */

#endif
