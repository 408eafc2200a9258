/* A table of system calls that counts, logs, fails, cuts short or kills: put over the real one (or over any other).
 *
 *     slt_fault_os_install(NULL);
 *     slt_fault_os_add((slt_fault){.call = SLT_FSYNC, .path = "manifest", .nth = 1, .error_number = EIO});
 *     …
 *     slt_fault_os_remove();
 *
 * Every function of the table is wrapped. Calls may come from any thread; install, add, clear and remove only while
 * none
 * is under way. State is inherited by fork, so a child that installs it may be killed by it. */
#ifndef SLT_FAULT_OS_H
#define SLT_FAULT_OS_H

#include "os.h"

typedef enum slt_call {
    SLT_ANY = 0, /* every call that can fail: all up to SLT_POLL_READABLE */
    SLT_OPENAT,
    SLT_CLOSE,
    SLT_READ,
    SLT_PREAD,
    SLT_WRITE,
    SLT_FSTAT,
    SLT_FSTATAT,
    SLT_FSTATFS,
    SLT_READLINKAT,
    SLT_REALPATH,
    SLT_GETCWD,
    SLT_READDIR,
    SLT_MKDIRAT,
    SLT_UNLINKAT,
    SLT_RENAME,
    SLT_RENAME_NOREPLACE,
    SLT_SYMLINKAT,
    SLT_FCHMOD,
    SLT_FSYNC,
    SLT_FTRUNCATE,
    SLT_UTIME,
    SLT_LOCK,
    SLT_UNLOCK,
    SLT_LEASE_READ,
    SLT_LEASE_DROP,
    SLT_PIPE,
    SLT_MAP_ANONYMOUS,
    SLT_MAP_PROTECT_READ,
    SLT_MEMFD,
    SLT_MEMFD_SEAL,
    SLT_DL_OPEN, /* fails with NULL and the errno's name in `why` */
    SLT_DL_CLOSE,
    SLT_RANDOM,
    SLT_HOST_NAME,
    SLT_BOOT_ID,
    SLT_SPAWN,
    SLT_WAIT,
    SLT_KILL_GROUP,
    SLT_STAT_MOUNT_ID,
    SLT_OPENAT_STRAIGHT,
    SLT_POLL_READABLE,
    /* These cannot fail; they are counted, and may be the place of a kill or a hook. */
    SLT_CLOSEDIR,
    SLT_UNMAP,
    SLT_DL_SYMBOL,
    SLT_DL_LOADED,
    SLT_NOW_NS,
    SLT_WALL_NS,
    SLT_SLEEP_NS,
    SLT_EUID,
    SLT_PID,
    SLT_PROCESSORS,
    SLT_UMASK,
    SLT_CALL_COUNT
} slt_call;

typedef struct slt_fault {
    slt_call call;
    const char *path;  /* only calls whose path (or whose descriptor's, as it was opened) contains this; NULL: all */
    uint64_t nth;      /* the n-th call that matches, from 1, counted from when the fault was added */
    int every;         /* 1: that one and every later one */
    int error_number;  /* > 0: the call gives -error_number and is not made … */
    int after;         /* … unless this is 1: made first, its success hidden (and a kill comes after it) */
    int kill;          /* 1: SIGKILL to this process there */
    size_t short_size; /* > 0: a read or write moves at most this many bytes */
} slt_fault;

#define SLT_FAULTS_MAX 16
#define SLT_LOG_MAX 65536

/* Puts the table in force over `next` (NULL: the one in force) with no faults, zero counts and an empty log. */
void slt_fault_os_install(const slwi_os *next);
void slt_fault_os_remove(void); /* what was in force before is again */
void slt_fault_os_add(slt_fault fault);
void slt_fault_os_clear(void); /* faults, counts, log and hook */

uint64_t slt_fault_os_count(slt_call call); /* since the install or clear; SLT_ANY: all that can fail */
uint64_t slt_fault_os_fired(void);          /* how often a fault took effect: 0 means that the test tested nothing */
const char *slt_call_name(slt_call call);   /* "openat" */

/* Called before each call (without a lock held), for races: the hook may change the file system behind the caller's
   back. Calls made by the hook itself through the table are not hooked again. NULL: none. */
void slt_fault_os_hook(void (*hook)(void *context, slt_call call, const char *path), void *context);

/* Added to what the two clocks say. */
void slt_fault_os_shift_wall(int64_t ns);
void slt_fault_os_shift_now(uint64_t ns);

/* The log: what was called, on what, with what result; the clocks, ids and sleep are left out. */
typedef struct slt_log_entry {
    slt_call call;
    int fd;         /* descriptor or directory descriptor; -1: none */
    int64_t result;
    char path[160]; /* cut at its head; for a rename the new name */
} slt_log_entry;
size_t slt_log_size(void);
slt_log_entry slt_log_at(size_t index);
/* The index of the first entry at or after `from` that matches; SIZE_MAX: none. */
size_t slt_log_find(size_t from, slt_call call, const char *path);
void slt_log_print(void); /* to stderr, for a failing test */

#endif
