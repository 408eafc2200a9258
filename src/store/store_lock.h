/* The lock of a key: one file, one flock, and the process's own table of who holds what (pitfalls 16, 17, 31). */
#ifndef SLWI_STORE_LOCK_H
#define SLWI_STORE_LOCK_H

#include "store_core.h"

#include <pthread.h>

/* Lies where its holder put it (its stack) until dropped. */
typedef struct slwi_key_lock {
    struct slwi_key_lock *next;
    slw_store *store;
    uint64_t dev, ino; /* of the root */
    const slw_key *key;
    const slw_spec *spec;
    const slw_cancel *cancel; /* of the request; NULL: the store's alone */
    pthread_t thread;
    int fd;        /* -1: none of our own */
    int held;      /* 1: in the table */
    int exclusive; /* 1: nobody else publishes this key now; 0: the file system has no locks */
    uint64_t generation;
} slwi_key_lock;

/* Takes the lock of `key`. Waits to `deadline_ns` with back-off. OK: `exclusive` says whether there is a lock at all
   (ENOLCK, EOPNOTSUPP, ENOSYS: there is none); a thread that holds the key already goes on under the lock it has.
   RECURSIVE: it holds it for this very spec. LOCK: no lock, with the reason; CANCELLED (by `cancel`, the request's own
   token or NULL, or by the store's). */
slw_code slwi_key_lock_take(slwi_key_lock *lock, slw_store *store, const slw_key *key, const slw_spec *spec,
                            uint64_t deadline_ns, const slw_cancel *cancel, slw_error *err);
void slwi_key_lock_drop(slwi_key_lock *lock);

#endif
