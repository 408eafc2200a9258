#include "store_flight.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "fail.h"
#include "fork.h"
#include "key_internal.h"
#include "memory.h"
#include "store_root.h"

#define POLL_NS 20000000

struct slwi_flight {
    struct slwi_flight *next;
    slw_store *store; /* retained, as key and spec: they are what the flight is known by */
    slw_key *key;
    slw_spec *spec;
    uint64_t dev, ino; /* of the root; 0: it was absent */
    pthread_t leader;
    int led;  /* 0: the leader gave up and nobody has taken over yet */
    int done; /* `outcome` and `error` no longer change */
    size_t users;
    slwi_outcome outcome;
    slw_error error;
    char *diagnostics;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved; /* on the monotonic clock where that can be had */
static slwi_flight *flights;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before_fork(void) {
    (void)pthread_mutex_lock(&mutex);
}
static void after_fork_in_parent(void) {
    (void)pthread_mutex_unlock(&mutex);
}
static void make_condition(void) {
#if defined(__APPLE__)
    (void)pthread_cond_init(&moved, NULL);
#else
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&moved, &attributes);
    (void)pthread_condattr_destroy(&attributes);
#endif
}
static void after_fork_in_child(void) {
    /* Leaders and waiters live on in the parent. Nothing is destroyed: a condition with waiters must not be. */
    (void)pthread_mutex_init(&mutex, NULL);
    make_condition();
    flights = NULL;
}
static void prepare_table(void) {
    make_condition();
    (void)slwi_fork_hook(before_fork, after_fork_in_parent, after_fork_in_child);
}

void slwi_outcome_clear(slwi_outcome *outcome) {
    slwi_release(outcome->entry);
    slwi_release(outcome->built);
    outcome->entry = NULL;
    outcome->built = NULL;
}

static int same_text_or_null(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static int is_flight_of(const slwi_flight *flight, const slw_store *store, const slw_key *key, const slw_spec *spec,
                        uint64_t dev, uint64_t ino) {
    const slw_store *other = flight->store;
    const int same_root =
        strcmp(other->root, store->root) == 0 || (ino != 0 && flight->ino == ino && flight->dev == dev);
    return same_root && same_text_or_null(other->private_root, store->private_root) &&
           other->read_only == store->read_only && other->verify == store->verify &&
           other->trust_root == store->trust_root && slwi_key_equal(flight->key, key) &&
           slwi_spec_equal(flight->spec, spec);
}

static void free_flight(slwi_flight *flight) {
    slw_store *store = flight->store;
    slwi_outcome_clear(&flight->outcome);
    slw_key_release(&flight->key);
    slw_spec_release(&flight->spec);
    slwi_free(&store->allocator, flight->diagnostics);
    slwi_free(&store->allocator, flight);
    slwi_release(store);
}

static slwi_flight *new_flight(slw_store *store, const slw_key *key, const slw_spec *spec, uint64_t dev, uint64_t ino) {
    slwi_flight *flight = slwi_alloc_zero(&store->allocator, sizeof *flight);
    if (flight == NULL) return NULL;
    flight->store = slwi_retain(store);
    flight->key = slw_key_retain(key);
    flight->spec = slw_spec_retain(spec);
    flight->dev = dev;
    flight->ino = ino;
    flight->leader = pthread_self();
    flight->led = 1;
    flight->users = 1;
    flight->error.size = sizeof flight->error;
    return flight;
}

static void unlink_flight(const slwi_flight *flight) {
    for (slwi_flight **at = &flights; *at != NULL; at = &(*at)->next) {
        if (*at != flight) continue;
        *at = flight->next;
        return;
    }
}

/* Called with the mutex held; 1 when the flight is to be freed once it is not. */
static int drop_user(slwi_flight *flight) {
    flight->users--;
    if (flight->users > 0) return 0;
    if (!flight->done) unlink_flight(flight);
    return 1;
}

/* Until something moved, but never for long: tokens and deadlines are looked at in between. A clock that people can
   set would make a waiter deaf to both. */
static void wait_a_little(void) {
#if defined(__APPLE__)
    const struct timespec pause = {0, POLL_NS};
    (void)pthread_cond_timedwait_relative_np(&moved, &mutex, &pause);
#else
    const slwi_os *os = slwi_os_real(); /* the condition knows the real clock only */
    const uint64_t until = os->now_ns(os) + POLL_NS;
    const struct timespec at = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
    (void)pthread_cond_timedwait(&moved, &mutex, &at);
#endif
}

/* Waits as one of the flight's users, mutex held, until it is done (OK, *leads 0), needs a leader (OK, *leads 1), or
   the waiter's own token or deadline ends the wait. */
static slw_code wait_for_flight(slwi_flight *flight, const slw_store *store, uint64_t deadline_ns,
                                const slw_cancel *cancel, int *leads) {
    for (;;) {
        if (flight->done) {
            *leads = 0;
            return SLW_OK;
        }
        if (!flight->led) {
            flight->led = 1;
            flight->leader = pthread_self();
            *leads = 1;
            return SLW_OK;
        }
        const slw_code code = slwi_check_both(deadline_ns, store, cancel, "waiting", NULL);
        if (code != SLW_OK) return code;
        wait_a_little();
    }
}

static slw_code join_locked(slw_store *store, const slw_key *key, const slw_spec *spec, const slwi_stat *root,
                            uint64_t deadline_ns, const slw_cancel *cancel, slwi_flight **out, int *leads,
                            slwi_flight **to_free) {
    slwi_flight *flight = flights;
    while (flight != NULL && !is_flight_of(flight, store, key, spec, root->dev, root->ino)) flight = flight->next;
    if (flight == NULL) {
        flight = new_flight(store, key, spec, root->dev, root->ino);
        if (flight == NULL) return SLW_E_NO_MEMORY;
        flight->next = flights;
        flights = flight;
        *out = flight;
        *leads = 1;
        return SLW_OK;
    }
    if (flight->led && pthread_equal(flight->leader, pthread_self())) return SLW_E_RECURSIVE;
    flight->users++;
    const slw_code code = wait_for_flight(flight, store, deadline_ns, cancel, leads);
    if (code == SLW_OK)
        *out = flight;
    else if (drop_user(flight))
        *to_free = flight;
    return code;
}

static slw_code join_failure(slw_code code, slw_error *err) {
    switch (code) {
    case SLW_E_NO_MEMORY:
        return slwi_fail_memory(err, sizeof(slwi_flight));
    case SLW_E_RECURSIVE:
        return slwi_fail(err, code, NULL, "a builder asked for the entry it is building");
    case SLW_E_CANCELLED:
        return slwi_fail(err, code, NULL, "cancelled while another thread did the work");
    default:
        return slwi_fail(err, code, NULL, "another thread did not finish this request in time");
    }
}

slw_code slwi_flight_join(slw_store *store, const slw_key *key, const slw_spec *spec, uint64_t deadline_ns,
                          const slw_cancel *cancel, slwi_flight **out, int *leads, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_stat root;
    slwi_flight *to_free = NULL;
    (void)pthread_once(&once, prepare_table);
    if (os->fstatat(os, AT_FDCWD, store->root, 0, &root) < 0) root.dev = root.ino = 0;
    (void)pthread_mutex_lock(&mutex);
    const slw_code code = join_locked(store, key, spec, &root, deadline_ns, cancel, out, leads, &to_free);
    (void)pthread_mutex_unlock(&mutex);
    if (to_free != NULL) free_flight(to_free);
    return code == SLW_OK ? SLW_OK : join_failure(code, err);
}

/* The record for the waiters, with the compiler's words where there is memory for them. */
static void copy_error(slwi_flight *flight, const slw_error *error) {
    if (error->diagnostics != NULL && error->diagnostics_size > 0) {
        flight->diagnostics = slwi_alloc(&flight->store->allocator, error->diagnostics_size + 1);
        if (flight->diagnostics != NULL) {
            flight->diagnostics[0] = 0;
            flight->error.diagnostics = flight->diagnostics;
            flight->error.diagnostics_capacity = error->diagnostics_size + 1;
        }
    }
    slwi_error_copy(&flight->error, error);
}

void slwi_flight_settle(slwi_flight *flight, const slwi_outcome *outcome, const slw_error *error) {
    flight->outcome = *outcome;
    /* A published or found entry is looked up anew by each waiter, under its own policy. */
    const int shared = outcome->code == SLW_OK && outcome->disposition == SLW_PRIVATE;
    flight->outcome.entry = shared ? slwi_retain(outcome->entry) : NULL;
    flight->outcome.built = shared ? slwi_retain(outcome->built) : NULL;
    if (outcome->code != SLW_OK && error != NULL) copy_error(flight, error);
    (void)pthread_mutex_lock(&mutex);
    unlink_flight(flight);
    flight->done = 1;
    const int last = drop_user(flight);
    (void)pthread_cond_broadcast(&moved);
    (void)pthread_mutex_unlock(&mutex);
    if (last) free_flight(flight);
}

void slwi_flight_abandon(slwi_flight *flight) {
    (void)pthread_mutex_lock(&mutex);
    flight->led = 0;
    const int last = drop_user(flight);
    (void)pthread_cond_broadcast(&moved);
    (void)pthread_mutex_unlock(&mutex);
    if (last) free_flight(flight);
}

const slwi_outcome *slwi_flight_outcome(const slwi_flight *flight) {
    return &flight->outcome;
}

const slw_error *slwi_flight_error(const slwi_flight *flight) {
    return &flight->error;
}

void slwi_flight_leave(slwi_flight *flight) {
    (void)pthread_mutex_lock(&mutex);
    const int last = drop_user(flight);
    (void)pthread_mutex_unlock(&mutex);
    if (last) free_flight(flight);
}

size_t slwi_flight_count(void) {
    size_t count = 0;
    (void)pthread_mutex_lock(&mutex);
    for (const slwi_flight *flight = flights; flight != NULL; flight = flight->next) count++;
    (void)pthread_mutex_unlock(&mutex);
    return count;
}
