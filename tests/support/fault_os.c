#include "fault_os.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"

#define FD_MAX 8192
#define PATH_KEPT 160

static const char *const names[SLT_CALL_COUNT] = {
    "any",         "openat",   "close",      "read",       "pread",         "write",         "fstat",
    "fstatat",     "fstatfs",  "readlinkat", "realpath",   "getcwd",        "readdir",       "mkdirat",
    "unlinkat",    "rename",   "rename_noreplace", "symlinkat", "fchmod",   "fsync",         "ftruncate",
    "utime",       "lock",     "unlock",     "lease_read", "lease_drop",    "pipe",          "map_anonymous",
    "map_protect_read", "memfd", "memfd_seal", "dl_open",  "dl_close",      "random",        "host_name",
    "boot_id",     "spawn",    "wait",       "kill_group", "stat_mount_id", "openat_straight", "poll_readable", "closedir",
    "unmap",       "dl_symbol", "dl_loaded", "now_ns",     "wall_ns",       "sleep_ns",      "euid",
    "pid",         "processors", "umask",
};

typedef struct armed_fault {
    slt_fault fault;
    atomic_ullong seen;
} armed_fault;

static slwi_os table;
static const slwi_os *previous;
static armed_fault faults[SLT_FAULTS_MAX];
static atomic_size_t fault_count;
static atomic_ullong counts[SLT_CALL_COUNT];
static atomic_ullong fired;
static void (*hook)(void *context, slt_call call, const char *path);
static void *hook_context;
static _Thread_local int in_hook;
static atomic_llong wall_shift;
static atomic_ullong now_shift;

/* One mutex for the log and the paths of descriptors. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static slt_log_entry *entries;
static size_t entry_count;
static char *fd_paths[FD_MAX];

const char *slt_call_name(slt_call call) {
    return call < SLT_CALL_COUNT ? names[call] : "?";
}

static int can_fail(slt_call call) {
    return call <= SLT_POLL_READABLE;
}

/* ---- paths and the log ---- */

static void keep_tail(char out[PATH_KEPT], const char *path) {
    const size_t size = strlen(path);
    const size_t skip = size < PATH_KEPT ? 0 : size - (PATH_KEPT - 1);
    memcpy(out, path + skip, size - skip + 1);
}

static void path_of_fd(int fd, char out[PATH_KEPT]) {
    out[0] = '\0';
    if (fd < 0 || fd >= FD_MAX) return;
    pthread_mutex_lock(&lock);
    if (fd_paths[fd] != NULL) memcpy(out, fd_paths[fd], PATH_KEPT);
    pthread_mutex_unlock(&lock);
}

/* "directory/name" as far as it is known. */
static void join(char out[PATH_KEPT], int dirfd, const char *name) {
    char directory[PATH_KEPT];
    char whole[2 * 4096];
    directory[0] = '\0';
    if (name[0] != '/') path_of_fd(dirfd, directory);
    (void)snprintf(whole, sizeof whole, "%s%s%s", directory, directory[0] != '\0' ? "/" : "", name);
    keep_tail(out, whole);
}

static void name_fd(int fd, const char *path) {
    if (fd < 0 || fd >= FD_MAX) return;
    pthread_mutex_lock(&lock);
    if (path == NULL) {
        free(fd_paths[fd]);
        fd_paths[fd] = NULL;
    } else {
        if (fd_paths[fd] == NULL) fd_paths[fd] = malloc(PATH_KEPT);
        if (fd_paths[fd] != NULL) keep_tail(fd_paths[fd], path);
    }
    pthread_mutex_unlock(&lock);
}

static int64_t log_call(slt_call call, int fd, const char *path, int64_t result) {
    if (in_hook) return result;
    pthread_mutex_lock(&lock);
    if (entries == NULL) entries = malloc(SLT_LOG_MAX * sizeof *entries);
    if (entries != NULL && entry_count < SLT_LOG_MAX) {
        slt_log_entry *entry = &entries[entry_count++];
        entry->call = call;
        entry->fd = fd;
        entry->result = result;
        keep_tail(entry->path, path);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

size_t slt_log_size(void) {
    pthread_mutex_lock(&lock);
    const size_t size = entry_count;
    pthread_mutex_unlock(&lock);
    return size;
}

slt_log_entry slt_log_at(size_t index) {
    slt_log_entry entry;
    memset(&entry, 0, sizeof entry);
    pthread_mutex_lock(&lock);
    if (index < entry_count) entry = entries[index];
    pthread_mutex_unlock(&lock);
    return entry;
}

size_t slt_log_find(size_t from, slt_call call, const char *path) {
    const size_t size = slt_log_size();
    for (size_t i = from; i < size; i++) {
        const slt_log_entry entry = slt_log_at(i);
        if (call != SLT_ANY && entry.call != call) continue;
        if (path == NULL || strstr(entry.path, path) != NULL) return i;
    }
    return SIZE_MAX;
}

void slt_log_print(void) {
    const size_t size = slt_log_size();
    for (size_t i = 0; i < size; i++) {
        const slt_log_entry entry = slt_log_at(i);
        (void)fprintf(stderr, "%4zu %-16s fd %3d = %lld  %s\n", i, slt_call_name(entry.call), entry.fd,
                      (long long)entry.result, entry.path);
    }
}

/* ---- faults ---- */

typedef struct verdict {
    int error_number; /* 0: none */
    int after;
    int kill_after;
    size_t short_size; /* SIZE_MAX: none */
} verdict;

static void die(void) {
    (void)kill(getpid(), SIGKILL);
    for (;;) (void)pause();
}

static int matches(const slt_fault *fault, slt_call call, const char *path) {
    if (fault->call == SLT_ANY ? !can_fail(call) : fault->call != call) return 0;
    return fault->path == NULL || strstr(path, fault->path) != NULL;
}

/* Counts the call and says what is to happen to it. */
static verdict judge(slt_call call, const char *path) {
    verdict result = {0, 0, 0, SIZE_MAX};
    if (in_hook) return result;
    if (hook != NULL) {
        in_hook = 1;
        hook(hook_context, call, path);
        in_hook = 0;
    }
    atomic_fetch_add(&counts[call], 1);
    if (can_fail(call)) atomic_fetch_add(&counts[SLT_ANY], 1);
    const size_t count = atomic_load(&fault_count);
    for (size_t i = 0; i < count; i++) {
        const slt_fault *fault = &faults[i].fault;
        if (!matches(fault, call, path)) continue;
        const uint64_t seen = atomic_fetch_add(&faults[i].seen, 1) + 1;
        if (fault->every ? seen < fault->nth : seen != fault->nth) continue;
        atomic_fetch_add(&fired, 1);
        if (fault->kill && !fault->after) die();
        if (fault->kill) result.kill_after = 1;
        if (fault->short_size > 0) result.short_size = fault->short_size;
        if (fault->error_number > 0 && result.error_number == 0) {
            result.error_number = fault->error_number;
            result.after = fault->after;
        }
    }
    return result;
}

/* The common shape: judge, perhaps call, perhaps hide the success or die, log. `make` is an expression using n =
   next. */
#define WRAP(call, fd, path, make)                                                                                 \
    do {                                                                                                           \
        const slwi_os *n = os->next;                                                                               \
        const verdict v = judge((call), (path));                                                                   \
        int64_t result_ = v.error_number != 0 && !v.after ? -(int64_t)v.error_number : (int64_t)(make);            \
        if (v.kill_after) die();                                                                                   \
        if (v.error_number != 0) result_ = -(int64_t)v.error_number;                                               \
        (void)log_call((call), (fd), (path), result_);                                                             \
        result = result_;                                                                                          \
    } while (0)

static int f_openat(const slwi_os *os, int dirfd, const char *path, int flags, unsigned mode) {
    char whole[PATH_KEPT];
    join(whole, dirfd, path);
    const slwi_os *n = os->next;
    const verdict v = judge(SLT_OPENAT, whole);
    int fd = v.error_number != 0 && !v.after ? -v.error_number : n->openat(n, dirfd, path, flags, mode);
    if (v.kill_after) die();
    if (v.error_number != 0 && fd >= 0) { /* made (O_CREAT leaves its file) but not handed out */
        (void)n->close(n, fd);
        fd = -v.error_number;
    }
    name_fd(fd, whole);
    return (int)log_call(SLT_OPENAT, dirfd, whole, fd);
}

static int f_openat_straight(const slwi_os *os, int dirfd, const char *path, int flags) {
    char whole[PATH_KEPT];
    join(whole, dirfd, path);
    const slwi_os *n = os->next;
    const verdict v = judge(SLT_OPENAT_STRAIGHT, whole);
    int fd = v.error_number != 0 && !v.after ? -v.error_number : n->openat_straight(n, dirfd, path, flags);
    if (v.kill_after) die();
    if (v.error_number != 0 && fd >= 0) {
        (void)n->close(n, fd);
        fd = -v.error_number;
    }
    name_fd(fd, whole);
    return (int)log_call(SLT_OPENAT_STRAIGHT, dirfd, whole, fd);
}

static int f_close(const slwi_os *os, int fd) {
    char path[PATH_KEPT];
    int64_t result = 0;
    path_of_fd(fd, path);
    name_fd(fd, NULL);
    const slwi_os *n = os->next;
    const verdict v = judge(SLT_CLOSE, path);
    result = n->close(n, fd); /* also when it fails: Linux has closed it then too */
    if (v.kill_after) die();
    if (v.error_number != 0) result = -v.error_number;
    return (int)log_call(SLT_CLOSE, fd, path, result);
}

static size_t cut(size_t size, verdict v) {
    return size < v.short_size ? size : v.short_size;
}

static int64_t f_read(const slwi_os *os, int fd, void *data, size_t size) {
    char path[PATH_KEPT];
    int64_t result = 0;
    path_of_fd(fd, path);
    WRAP(SLT_READ, fd, path, n->read(n, fd, data, cut(size, v)));
    return result;
}

static int64_t f_pread(const slwi_os *os, int fd, void *data, size_t size, uint64_t offset) {
    char path[PATH_KEPT];
    int64_t result = 0;
    path_of_fd(fd, path);
    WRAP(SLT_PREAD, fd, path, n->pread(n, fd, data, cut(size, v), offset));
    return result;
}

static int64_t f_write(const slwi_os *os, int fd, const void *data, size_t size) {
    char path[PATH_KEPT];
    int64_t result = 0;
    path_of_fd(fd, path);
    WRAP(SLT_WRITE, fd, path, n->write(n, fd, data, cut(size, v)));
    return result;
}

/* Calls on one descriptor. */
#define ON_FD(name, kind, parameters, make)                                                                        \
    static int f_##name parameters {                                                                               \
        char path[PATH_KEPT];                                                                                      \
        int64_t result = 0;                                                                                        \
        path_of_fd(fd, path);                                                                                      \
        WRAP(kind, fd, path, make);                                                                                \
        return (int)result;                                                                                        \
    }

ON_FD(fstat, SLT_FSTAT, (const slwi_os *os, int fd, slwi_stat *out), n->fstat(n, fd, out))
ON_FD(fstatfs, SLT_FSTATFS, (const slwi_os *os, int fd, slwi_fs *out), n->fstatfs(n, fd, out))
ON_FD(fchmod, SLT_FCHMOD, (const slwi_os *os, int fd, unsigned mode), n->fchmod(n, fd, mode))
ON_FD(fsync, SLT_FSYNC, (const slwi_os *os, int fd), n->fsync(n, fd))
ON_FD(ftruncate, SLT_FTRUNCATE, (const slwi_os *os, int fd, uint64_t size), n->ftruncate(n, fd, size))
ON_FD(lock, SLT_LOCK, (const slwi_os *os, int fd), n->lock(n, fd))
ON_FD(unlock, SLT_UNLOCK, (const slwi_os *os, int fd), n->unlock(n, fd))
ON_FD(lease_read, SLT_LEASE_READ, (const slwi_os *os, int fd), n->lease_read(n, fd))
ON_FD(lease_drop, SLT_LEASE_DROP, (const slwi_os *os, int fd), n->lease_drop(n, fd))
ON_FD(memfd_seal, SLT_MEMFD_SEAL, (const slwi_os *os, int fd), n->memfd_seal(n, fd))
ON_FD(stat_mount_id, SLT_STAT_MOUNT_ID, (const slwi_os *os, int fd, uint64_t *out), n->stat_mount_id(n, fd, out))
ON_FD(poll_readable, SLT_POLL_READABLE, (const slwi_os *os, int fd, uint64_t timeout_ns),
      n->poll_readable(n, fd, timeout_ns))

/* Calls on a name below a directory. */
#define ON_NAME(type, name, kind, parameters, make)                                                                \
    static type f_##name parameters {                                                                              \
        char whole[PATH_KEPT];                                                                                     \
        int64_t result = 0;                                                                                        \
        join(whole, dirfd, path);                                                                                  \
        WRAP(kind, dirfd, whole, make);                                                                            \
        return (type)result;                                                                                       \
    }

ON_NAME(int, fstatat, SLT_FSTATAT, (const slwi_os *os, int dirfd, const char *path, int follow, slwi_stat *out),
        n->fstatat(n, dirfd, path, follow, out))
ON_NAME(int64_t, readlinkat, SLT_READLINKAT,
        (const slwi_os *os, int dirfd, const char *path, char *out, size_t size),
        n->readlinkat(n, dirfd, path, out, size))
ON_NAME(int, mkdirat, SLT_MKDIRAT, (const slwi_os *os, int dirfd, const char *path, unsigned mode),
        n->mkdirat(n, dirfd, path, mode))
ON_NAME(int, unlinkat, SLT_UNLINKAT, (const slwi_os *os, int dirfd, const char *path, int directory),
        n->unlinkat(n, dirfd, path, directory))
ON_NAME(int, symlinkat, SLT_SYMLINKAT, (const slwi_os *os, const char *target, int dirfd, const char *path),
        n->symlinkat(n, target, dirfd, path))
ON_NAME(int, utime, SLT_UTIME, (const slwi_os *os, int dirfd, const char *path, int64_t time_ns),
        n->utime(n, dirfd, path, time_ns))

static int f_rename(const slwi_os *os, int from_dirfd, const char *from, int to_dirfd, const char *to) {
    char whole[PATH_KEPT];
    int64_t result = 0;
    join(whole, to_dirfd, to);
    WRAP(SLT_RENAME, to_dirfd, whole, n->rename(n, from_dirfd, from, to_dirfd, to));
    return (int)result;
}

static int f_rename_noreplace(const slwi_os *os, int from_dirfd, const char *from, int to_dirfd, const char *to) {
    char whole[PATH_KEPT];
    int64_t result = 0;
    join(whole, to_dirfd, to);
    WRAP(SLT_RENAME_NOREPLACE, to_dirfd, whole, n->rename_noreplace(n, from_dirfd, from, to_dirfd, to));
    return (int)result;
}

static int f_realpath(const slwi_os *os, const char *path, char out[4096]) {
    int64_t result = 0;
    WRAP(SLT_REALPATH, -1, path, n->realpath(n, path, out));
    return (int)result;
}

static int f_getcwd(const slwi_os *os, char out[4096]) {
    int64_t result = 0;
    WRAP(SLT_GETCWD, -1, "", n->getcwd(n, out));
    return (int)result;
}

static int f_readdir(const slwi_os *os, slwi_dir *dir, slwi_dirent *out) {
    char path[PATH_KEPT];
    int64_t result = 0;
    path_of_fd(dir->fd, path);
    WRAP(SLT_READDIR, dir->fd, path, n->readdir(n, dir, out));
    return (int)result;
}

static int f_pipe(const slwi_os *os, int out[2]) {
    int64_t result = 0;
    WRAP(SLT_PIPE, -1, "", n->pipe(n, out));
    return (int)result;
}

static int f_map_anonymous(const slwi_os *os, size_t size, void **out) {
    int64_t result = 0;
    WRAP(SLT_MAP_ANONYMOUS, -1, "", n->map_anonymous(n, size, out));
    return (int)result;
}

static int f_map_protect_read(const slwi_os *os, void *data, size_t size) {
    int64_t result = 0;
    WRAP(SLT_MAP_PROTECT_READ, -1, "", n->map_protect_read(n, data, size));
    return (int)result;
}

static int f_memfd(const slwi_os *os, const char *name) {
    int64_t result = 0;
    WRAP(SLT_MEMFD, -1, name, n->memfd(n, name));
    name_fd((int)result, name);
    return (int)result;
}

static void *f_dl_open(const slwi_os *os, const char *path, char why[256]) {
    const slwi_os *n = os->next;
    const verdict v = judge(SLT_DL_OPEN, path);
    void *library = NULL;
    if (v.error_number != 0) {
        char number[16];
        (void)snprintf(why, 256, "%s: %s", path, slwi_errno_name(v.error_number, number));
    } else {
        library = n->dl_open(n, path, why);
    }
    if (v.kill_after) die();
    (void)log_call(SLT_DL_OPEN, -1, path, library != NULL);
    return library;
}

static int f_dl_close(const slwi_os *os, void *library) {
    int64_t result = 0;
    WRAP(SLT_DL_CLOSE, -1, "", n->dl_close(n, library));
    return (int)result;
}

static int f_random(const slwi_os *os, void *data, size_t size) {
    int64_t result = 0;
    WRAP(SLT_RANDOM, -1, "", n->random(n, data, size));
    return (int)result;
}

static int f_host_name(const slwi_os *os, char out[256]) {
    int64_t result = 0;
    WRAP(SLT_HOST_NAME, -1, "", n->host_name(n, out));
    return (int)result;
}

static int f_boot_id(const slwi_os *os, char out[64]) {
    int64_t result = 0;
    WRAP(SLT_BOOT_ID, -1, "", n->boot_id(n, out));
    return (int)result;
}

static int64_t f_spawn(const slwi_os *os, const char *program, char *const *argv, char *const *envp,
                       const char *directory, int output_fd) {
    int64_t result = 0;
    WRAP(SLT_SPAWN, output_fd, program, n->spawn(n, program, argv, envp, directory, output_fd));
    return result;
}

static int f_wait(const slwi_os *os, int64_t process, int *status) {
    int64_t result = 0;
    WRAP(SLT_WAIT, -1, "", n->wait(n, process, status));
    return (int)result;
}

static int f_kill_group(const slwi_os *os, int64_t process) {
    int64_t result = 0;
    WRAP(SLT_KILL_GROUP, -1, "", n->kill_group(n, process));
    return (int)result;
}

/* ---- what cannot fail ---- */

static void note(slt_call call, const char *path) {
    const verdict v = judge(call, path);
    if (v.kill_after) die();
}

static void f_closedir(const slwi_os *os, slwi_dir *dir) {
    note(SLT_CLOSEDIR, "");
    os->next->closedir(os->next, dir);
}

static void f_unmap(const slwi_os *os, void *data, size_t size) {
    note(SLT_UNMAP, "");
    os->next->unmap(os->next, data, size);
}

static void *f_dl_symbol(const slwi_os *os, void *library, const char *name) {
    note(SLT_DL_SYMBOL, name);
    return os->next->dl_symbol(os->next, library, name);
}

static void *f_dl_loaded(const slwi_os *os, const char *path) {
    note(SLT_DL_LOADED, path);
    return os->next->dl_loaded(os->next, path);
}

/* Cannot be made to fail: what it says is for messages only. */
static int f_dl_path(const slwi_os *os, const void *address, char out[4096]) {
    return os->next->dl_path(os->next, address, out);
}

static uint64_t f_now_ns(const slwi_os *os) {
    note(SLT_NOW_NS, "");
    return os->next->now_ns(os->next) + atomic_load(&now_shift);
}

static int64_t f_wall_ns(const slwi_os *os) {
    note(SLT_WALL_NS, "");
    return os->next->wall_ns(os->next) + atomic_load(&wall_shift);
}

static void f_sleep_ns(const slwi_os *os, uint64_t duration_ns) {
    note(SLT_SLEEP_NS, "");
    os->next->sleep_ns(os->next, duration_ns);
}

static uint32_t f_euid(const slwi_os *os) {
    note(SLT_EUID, "");
    return os->next->euid(os->next);
}

static int64_t f_pid(const slwi_os *os) {
    note(SLT_PID, "");
    return os->next->pid(os->next);
}

static uint32_t f_processors(const slwi_os *os) {
    note(SLT_PROCESSORS, "");
    return os->next->processors(os->next);
}

static uint32_t f_umask(const slwi_os *os) {
    note(SLT_UMASK, "");
    return os->next->umask(os->next);
}

/* ---- installing ---- */

/* By position, so that a function added to the table without a wrapper here is a missing initializer, which -Wextra
   makes an error. */
static const slwi_os wrapped = {
    NULL,
    NULL,
    f_openat,
    f_close,
    f_read,
    f_pread,
    f_write,
    f_fstat,
    f_fstatat,
    f_fstatfs,
    f_readlinkat,
    f_realpath,
    f_getcwd,
    f_readdir,
    f_closedir,
    f_mkdirat,
    f_unlinkat,
    f_rename,
    f_rename_noreplace,
    f_symlinkat,
    f_fchmod,
    f_fsync,
    f_ftruncate,
    f_utime,
    f_lock,
    f_unlock,
    f_lease_read,
    f_lease_drop,
    f_pipe,
    f_map_anonymous,
    f_map_protect_read,
    f_unmap,
    f_memfd,
    f_memfd_seal,
    f_dl_open,
    f_dl_symbol,
    f_dl_close,
    f_dl_loaded,
    f_now_ns,
    f_wall_ns,
    f_sleep_ns,
    f_random,
    f_euid,
    f_pid,
    f_host_name,
    f_boot_id,
    f_processors,
    f_umask,
    f_spawn,
    f_wait,
    f_kill_group,
    f_poll_readable,
    f_stat_mount_id,
    f_openat_straight,
    f_dl_path,
};

void slt_fault_os_clear(void) {
    atomic_store(&fault_count, 0);
    atomic_store(&fired, 0);
    for (size_t i = 0; i < SLT_CALL_COUNT; i++) atomic_store(&counts[i], 0);
    hook = NULL;
    atomic_store(&wall_shift, 0);
    atomic_store(&now_shift, 0);
    pthread_mutex_lock(&lock);
    entry_count = 0;
    pthread_mutex_unlock(&lock);
}

/* A child forked while another thread logs must find the mutex free. */
static void hold(void) {
    pthread_mutex_lock(&lock);
}

static void let_go(void) {
    pthread_mutex_unlock(&lock);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void at_start(void) {
    (void)pthread_atfork(hold, let_go, let_go);
}

void slt_fault_os_install(const slwi_os *next) {
    (void)pthread_once(&once, at_start);
    previous = slwi_os_get();
    table = wrapped;
    table.next = next != NULL ? next : previous;
    slt_fault_os_clear();
    slwi_os_replace(&table);
}

void slt_fault_os_remove(void) {
    slwi_os_replace(previous == slwi_os_real() ? NULL : previous);
    slt_fault_os_clear();
    pthread_mutex_lock(&lock);
    free(entries);
    entries = NULL;
    for (size_t i = 0; i < FD_MAX; i++) {
        free(fd_paths[i]);
        fd_paths[i] = NULL;
    }
    pthread_mutex_unlock(&lock);
}

void slt_fault_os_add(slt_fault fault) {
    const size_t at = atomic_load(&fault_count);
    if (at >= SLT_FAULTS_MAX) abort();
    faults[at].fault = fault;
    atomic_store(&faults[at].seen, 0);
    atomic_store(&fault_count, at + 1);
}

uint64_t slt_fault_os_count(slt_call call) {
    return atomic_load(&counts[call]);
}

uint64_t slt_fault_os_fired(void) {
    return atomic_load(&fired);
}

void slt_fault_os_hook(void (*function)(void *context, slt_call call, const char *path), void *context) {
    hook_context = context;
    hook = function;
}

void slt_fault_os_shift_wall(int64_t ns) {
    atomic_store(&wall_shift, ns);
}

void slt_fault_os_shift_now(uint64_t ns) {
    atomic_store(&now_shift, ns);
}
