/* Forks: the generation, the descriptors a child must not keep, and the hooks of process-wide tables. */
#include "platform.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include <slipway/limits.h>

#include "fork.h"

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

#define HOOKS_MAX 8

typedef struct fork_hook {
    void (*prepare)(void);
    void (*parent)(void);
    void (*child)(void);
} fork_hook;

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The word is 0 in a child that has not asked yet: the kernel wiped its page, or the handler below did where no kernel
   does. `last` is not wiped, so a child's number is larger than all its forebears'. */
static atomic_ullong plain_word;
static _Atomic(atomic_ullong *) word = &plain_word;
static atomic_ullong last;

static atomic_int held[SLW_LIMIT_HELD_LOCKS]; /* descriptor + 1; 0: free */

static pthread_mutex_t hooks_lock = PTHREAD_MUTEX_INITIALIZER;
static fork_hook hooks[HOOKS_MAX];
static size_t hook_count;

static uint64_t take_generation(void) {
    unsigned long long none = 0;
    const unsigned long long next = atomic_load(&last) + 1;
    if (!atomic_compare_exchange_strong(atomic_load(&word), &none, next))
        return none; /* another thread of this child was first */
    atomic_store(&last, next);
    return next;
}

static void before_fork(void) {
    (void)pthread_mutex_lock(&hooks_lock); /* held across: the same hooks see prepare and parent or child */
    for (size_t i = hook_count; i > 0; i--) {
        if (hooks[i - 1].prepare != NULL) hooks[i - 1].prepare();
    }
}

static void after_fork_in_parent(void) {
    for (size_t i = 0; i < hook_count; i++) {
        if (hooks[i].parent != NULL) hooks[i].parent();
    }
    (void)pthread_mutex_unlock(&hooks_lock);
}

static void after_fork_in_child(void) {
    atomic_store(atomic_load(&word), 0);
    (void)take_generation();
    for (size_t i = 0; i < SLW_LIMIT_HELD_LOCKS; i++) {
        const int fd = atomic_exchange(&held[i], 0) - 1;
        if (fd >= 0) (void)close(fd);
    }
    for (size_t i = 0; i < hook_count; i++) {
        if (hooks[i].child != NULL) hooks[i].child();
    }
    (void)pthread_mutex_unlock(&hooks_lock);
}

static void start(void) {
#if defined(__linux__) && defined(MADV_WIPEONFORK)
    const long page = sysconf(_SC_PAGESIZE);
    const size_t size = page > 0 ? (size_t)page : 4096;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) {
        if (madvise(memory, size, MADV_WIPEONFORK) == 0) {
            atomic_store(&word, (atomic_ullong *)memory);
        } else {
            (void)munmap(memory, size);
        }
    }
#endif
    (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    (void)take_generation(); /* last: a word that is not 0 tells that all else is ready */
}

uint64_t slwi_fork_generation(void) {
    /* Every launch asks: two loads, when it is neither the first time nor a new child. */
    const uint64_t generation =
        atomic_load_explicit(atomic_load_explicit(&word, memory_order_acquire), memory_order_acquire);
    if (generation != 0) return generation;
    (void)pthread_once(&once, start);
    const uint64_t now = atomic_load(atomic_load(&word));
    return now != 0 ? now : take_generation();
}

int slwi_fork_register(int fd) {
    (void)pthread_once(&once, start);
    for (size_t i = 0; i < SLW_LIMIT_HELD_LOCKS; i++) {
        int free_slot = 0;
        if (atomic_compare_exchange_strong(&held[i], &free_slot, fd + 1)) return 0;
    }
    return -EMFILE;
}

void slwi_fork_unregister(int fd) {
    for (size_t i = 0; i < SLW_LIMIT_HELD_LOCKS; i++) {
        int mine = fd + 1;
        if (atomic_compare_exchange_strong(&held[i], &mine, 0)) return;
    }
}

int slwi_fork_hook(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    (void)pthread_once(&once, start);
    int result = -EMFILE;
    (void)pthread_mutex_lock(&hooks_lock);
    if (hook_count < HOOKS_MAX) {
        hooks[hook_count].prepare = prepare;
        hooks[hook_count].parent = parent;
        hooks[hook_count].child = child;
        hook_count++;
        result = 0;
    }
    (void)pthread_mutex_unlock(&hooks_lock);
    return result;
}
