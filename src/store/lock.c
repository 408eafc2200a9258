#include "store_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "fail.h"
#include "fork.h"
#include "store_root.h"

#define WAIT_FIRST_NS   UINT64_C(1000000)
#define WAIT_LONGEST_NS UINT64_C(50000000) /* also how soon a cancel token is noticed */
#define LOCK_NAME_SIZE  (64 + sizeof ".lock")

/* Who holds which key in this process. A flock belongs to the open file, so it would make a thread wait for itself. */
static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;
static slwi_key_lock *table;
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void before_fork(void) {
    (void)pthread_mutex_lock(&table_mutex);
}
static void after_fork_in_parent(void) {
    (void)pthread_mutex_unlock(&table_mutex);
}
static void after_fork_in_child(void) {
    /* The holders live on in the parent; their descriptors are closed here by the table of base/fork. */
    (void)pthread_mutex_init(&table_mutex, NULL);
    table = NULL;
}
static void register_hook(void) {
    (void)slwi_fork_hook(before_fork, after_fork_in_parent, after_fork_in_child);
}

static int same_key(const slwi_key_lock *a, const slwi_key_lock *b) {
    const int same_root = strcmp(a->store->root, b->store->root) == 0 || (a->ino == b->ino && a->dev == b->dev);
    return same_root && strcmp(slw_key_digest(a->key), slw_key_digest(b->key)) == 0;
}

/* What this thread holds of the key already: 0 nothing, 1 the key, 2 the key for this very spec. *exclusive: its
   kind. */
static int held_by_us(const slwi_key_lock *lock, int *exclusive) {
    int held = 0;
    (void)pthread_mutex_lock(&table_mutex);
    for (const slwi_key_lock *other = table; other != NULL; other = other->next) {
        if (!pthread_equal(other->thread, lock->thread) || !same_key(other, lock)) continue;
        *exclusive = other->exclusive;
        if (held == 0) held = 1;
        if (strcmp(slw_spec_digest(other->spec), slw_spec_digest(lock->spec)) == 0) held = 2;
    }
    (void)pthread_mutex_unlock(&table_mutex);
    return held;
}

static void enter_table(slwi_key_lock *lock) {
    (void)pthread_mutex_lock(&table_mutex);
    lock->next = table;
    table = lock;
    lock->held = 1;
    (void)pthread_mutex_unlock(&table_mutex);
}

static void leave_table(slwi_key_lock *lock) {
    (void)pthread_mutex_lock(&table_mutex);
    for (slwi_key_lock **at = &table; *at != NULL; at = &(*at)->next) {
        if (*at != lock) continue;
        *at = lock->next;
        break;
    }
    lock->held = 0;
    (void)pthread_mutex_unlock(&table_mutex);
}

static slw_code lock_failure(const slw_store *store, int error_number, const char *what, slw_error *err) {
    return slwi_fail_os(err, SLW_E_LOCK, NULL, error_number, store->root, "the key's lock: %s", what);
}

/* Opens <root>/locks, made where it is absent. A link there is not followed. */
static slw_code open_lock_directory(slwi_key_lock *lock, int *out, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_root root;
    slw_error why = SLW_ERROR_INIT;
    if (slwi_root_open(lock->store, 1, &root, &why) != SLW_OK)
        return slwi_fail(err, SLW_E_LOCK, why.reason, "the key's lock: %s", why.message);
    lock->dev = root.stat.dev;
    lock->ino = root.stat.ino;
    slw_code code = SLW_OK;
    int fd = os->openat(os, root.fd, "locks", SLWI_O_SEARCH, 0);
    if (fd == -ENOENT) {
        const int made = os->mkdirat(os, root.fd, "locks", 0755);
        fd = made < 0 && made != -EEXIST ? made : os->openat(os, root.fd, "locks", SLWI_O_SEARCH, 0);
    }
    slwi_stat stat;
    const char *untrusted = NULL;
    const int r = fd < 0 ? fd : os->fstat(os, fd, &stat);
    if (r < 0)
        code = lock_failure(lock->store, -r, "locks", err);
    else if (!slwi_trust_directory(&root.trust, &stat, &untrusted))
        code = slwi_fail(err, SLW_E_LOCK, "UNTRUSTED", "the key's lock: locks: %s", untrusted);
    slwi_root_close(&root);
    if (code == SLW_OK)
        *out = fd;
    else if (fd >= 0)
        (void)os->close(os, fd);
    return code;
}

static void lock_name(const slwi_key_lock *lock, char out[LOCK_NAME_SIZE]) {
    (void)snprintf(out, LOCK_NAME_SIZE, "%s.lock", slw_key_digest(lock->key));
}

/* Opens the lock file and registers it, so that a forked child closes it. */
static int open_lock_file(int directory, const char *name) {
    const slwi_os *os = slwi_os_get();
    const int fd = os->openat(os, directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0) return fd;
    slwi_stat stat;
    int r = os->fstat(os, fd, &stat);
    if (r >= 0 && !S_ISREG(stat.mode)) r = -EINVAL;
    if (r >= 0) r = slwi_fork_register(fd);
    if (r < 0) (void)os->close(os, fd);
    return r < 0 ? r : fd;
}

static void close_lock_file(int fd) {
    const slwi_os *os = slwi_os_get();
    slwi_fork_unregister(fd);
    (void)os->close(os, fd);
}

/* 1 when the locked file is still the one of that name: pruned lock files would give two holders of "the" lock. 0
   when it is not, or -errno. */
static int is_still_named(int directory, const char *name, int fd) {
    const slwi_os *os = slwi_os_get();
    slwi_stat open_one, named;
    int r = os->fstat(os, fd, &open_one);
    if (r >= 0) r = os->fstatat(os, directory, name, 0, &named);
    if (r == -ENOENT) return 0;
    return r < 0 ? r : open_one.nlink > 0 && slwi_same_file(&open_one, &named);
}

/* Who we are, for whoever waits. Never into a file that has another name, never in somebody else's kind of store. */
static void write_owner(const slwi_key_lock *lock) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    char host[256], boot[64], text[400];
    if (!slwi_store_is_default_domain(lock->store)) return;
    if (os->fstat(os, lock->fd, &stat) < 0 || !S_ISREG(stat.mode) || stat.nlink != 1) return;
    if (os->host_name(os, host) < 0) (void)snprintf(host, sizeof host, "?");
    if (os->boot_id(os, boot) < 0) (void)snprintf(boot, sizeof boot, "?");
    const int size = snprintf(text, sizeof text, "%lld %s %s\n", (long long)os->pid(os), host, boot);
    if (size <= 0 || os->ftruncate(os, lock->fd, 0) < 0) return;
    (void)slwi_write_all(os, lock->fd, text, (size_t)size);
}

static void read_owner(int fd, char *out, size_t size) {
    const slwi_os *os = slwi_os_get();
    const int64_t r = os->pread(os, fd, out, size - 1, 0);
    out[r > 0 ? (size_t)r : 0] = 0;
    out[strcspn(out, "\n")] = 0;
    for (char *c = out; *c != 0; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c > '~') *c = '?';
}

static slw_code waited_too_long(const slwi_key_lock *lock, int fd, slw_error *err) {
    char owner[128] = "";
    if (slwi_store_is_default_domain(lock->store)) read_owner(fd, owner, sizeof owner);
    return slwi_fail(err, SLW_E_LOCK, "TIMEOUT", "the key's lock was not free in time%s%s",
                     owner[0] != 0 ? "; held by " : "", owner);
}

/* One open file: waits until it is locked or the time is over. 1 locked, 0 no locks here, else *code is set. */
static int wait_for_file(const slwi_key_lock *lock, int fd, uint64_t deadline_ns, slw_code *code, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    for (uint64_t pause = WAIT_FIRST_NS;; pause = pause * 2 < WAIT_LONGEST_NS ? pause * 2 : WAIT_LONGEST_NS) {
        const int r = os->lock(os, fd);
        if (r >= 0) return 1;
        /* NOLINTNEXTLINE(misc-redundant-expression): two names of one number on Linux only */
        if (r == -ENOLCK || r == -EOPNOTSUPP || r == -ENOTSUP || r == -ENOSYS) return 0;
        if (r != -EWOULDBLOCK && r != -EAGAIN) {
            *code = lock_failure(lock->store, -r, "flock", err);
            return -1;
        }
        *code = slwi_check_both(deadline_ns, lock->store, lock->cancel, "waiting for the key's lock", NULL);
        if (*code == SLW_E_TIMEOUT)
            *code = waited_too_long(lock, fd, err);
        else if (*code == SLW_E_CANCELLED)
            (void)slwi_fail(err, SLW_E_CANCELLED, NULL, "cancelled while waiting for the key's lock");
        if (*code != SLW_OK) return -1;
        const uint64_t now = slwi_now_ns();
        const uint64_t left = deadline_ns > now ? deadline_ns - now : 1;
        os->sleep_ns(os, pause < left ? pause : left);
    }
}

/* Before the file is opened again. */
static slw_code pause_before_again(const slwi_key_lock *lock, uint64_t deadline_ns, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    os->sleep_ns(os, WAIT_FIRST_NS);
    const slw_code code = slwi_check_both(deadline_ns, lock->store, lock->cancel, "taking the key's lock", NULL);
    if (code == SLW_E_CANCELLED) return slwi_fail(err, code, NULL, "cancelled while taking the key's lock");
    if (code != SLW_OK)
        return slwi_fail(err, SLW_E_LOCK, "TIMEOUT", "the key's lock file was replaced again and again");
    return SLW_OK;
}

static slw_code take_file(slwi_key_lock *lock, int directory, uint64_t deadline_ns, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    char name[LOCK_NAME_SIZE];
    lock_name(lock, name);
    for (;;) {
        const int fd = open_lock_file(directory, name);
        if (fd < 0) return lock_failure(lock->store, -fd, name, err);
        slw_code code = SLW_OK;
        const int locked = wait_for_file(lock, fd, deadline_ns, &code, err);
        const int named = locked > 0 ? is_still_named(directory, name, fd) : 0;
        if (named > 0) {
            lock->fd = fd;
            lock->exclusive = 1;
            return SLW_OK;
        }
        if (locked > 0) (void)os->unlock(os, fd);
        close_lock_file(fd);
        if (locked == 0) return SLW_OK;
        if (locked < 0) return code;
        if (named < 0) return lock_failure(lock->store, -named, "looking at the lock file", err);
        code = pause_before_again(lock, deadline_ns, err);
        if (code != SLW_OK) return code;
    }
}

slw_code slwi_key_lock_take(slwi_key_lock *lock, slw_store *store, const slw_key *key, const slw_spec *spec,
                            uint64_t deadline_ns, const slw_cancel *cancel, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    (void)pthread_once(&table_once, register_hook);
    *lock = (slwi_key_lock){.store = store, .key = key, .spec = spec, .thread = pthread_self(), .fd = -1};
    lock->cancel = cancel;
    lock->generation = slwi_fork_generation();
    int directory = -1;
    slw_code code = open_lock_directory(lock, &directory, err);
    /* A nested request goes on under the lock its thread has, and needs no file for that. */
    const int held = held_by_us(lock, &lock->exclusive);
    if (held == 2) {
        if (directory >= 0) (void)os->close(os, directory);
        slwi_error_reset(err);
        return slwi_fail(err, SLW_E_RECURSIVE, NULL, "a builder asked for the entry it is building");
    }
    if (held == 0 && code == SLW_OK) code = take_file(lock, directory, deadline_ns, err);
    if (directory >= 0) (void)os->close(os, directory);
    if (held == 0 && code != SLW_OK) return code;
    slwi_error_reset(err);
    if (held == 0) atomic_store(&store->locks, lock->exclusive);
    enter_table(lock);
    if (lock->fd >= 0) write_owner(lock);
    return SLW_OK;
}

void slwi_key_lock_drop(slwi_key_lock *lock) {
    const slwi_os *os = slwi_os_get();
    /* In a child that was forked meanwhile the table is a new one and the descriptor is closed. */
    if (lock->generation != slwi_fork_generation()) return;
    if (lock->held) leave_table(lock);
    if (lock->fd < 0) return;
    (void)os->unlock(os, lock->fd);
    close_lock_file(lock->fd);
    lock->fd = -1;
}
