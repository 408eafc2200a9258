/* get_or_build: the decision table of store-semantics A9, and what callers get of its outcome.
 *
 *     a hit                            HIT
 *     read-only                        built privately; INVALID or STORAGE is said, a plain miss is no failure
 *     otherwise                        the key's lock, and another look
 *         no lock                      PRIVATE, LOCK
 *         a hit after all              HIT
 *         INVALID or STORAGE           built privately, under the lock
 *         still a miss                 built and published; PRIVATE, PUBLICATION where that fails */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "fail.h"
#include "fork.h"
#include "store_build.h"
#include "store_flight.h"
#include "store_lock.h"
#include "store_lookup.h"
#include "store_publish.h"

#define LOCK_EXTRA_NS UINT64_C(60000000000)

typedef struct request {
    slw_store *store;
    const slw_key *key;
    const slw_spec *spec;
    const slw_builder *builder;
    uint64_t deadline_ns; /* for waiting, not for building */
    int own_wait_ended;   /* the failure is this caller's alone */
} request;

static void set_reason(slwi_outcome *outcome, slw_build_failure failure, const char *reason) {
    outcome->failure = failure;
    (void)snprintf(outcome->reason, sizeof outcome->reason, "%s", reason);
}

static slw_build_failure failure_of(slw_code verdict) {
    if (verdict == SLW_E_INVALID_ENTRY) return SLW_FAILURE_INVALID;
    return verdict == SLW_E_STORAGE ? SLW_FAILURE_STORAGE : SLW_FAILURE_NONE;
}

static int is_verdict(slw_code code) {
    return code == SLW_E_MISS || code == SLW_E_INVALID_ENTRY || code == SLW_E_STORAGE;
}

/* Makes the outcome of a build that stays private. */
static slw_code keep_private(const request *r, slwi_built *built, slwi_outcome *outcome, slw_error *err) {
    const slwi_entry_parts parts = {.store = r->store,
                                    .key = r->key,
                                    .spec = r->spec,
                                    .inventory = &built->inventory,
                                    .directory = built->directory->path,
                                    .stat = &built->stat,
                                    .built = built->directory,
                                    .kept = built->kept};
    const slw_code code = slwi_entry_create(&parts, &outcome->entry, err);
    if (code != SLW_OK) return code;
    outcome->disposition = SLW_PRIVATE;
    outcome->built = slwi_retain(built->directory);
    return SLW_OK;
}

static slw_code run_build(request *r, slwi_built *built, slwi_outcome *outcome, slw_error *err) {
    const slw_code code = slwi_build_run(r->store, r->spec, r->builder, built, err);
    outcome->build_ns = built->duration_ns;
    if (code != SLW_OK) r->own_wait_ended = built->own_wait_ended || code == SLW_E_NO_MEMORY || code == SLW_E_FORKED;
    return code;
}

/* Builds and does not try to publish; the outcome says already why. */
static slw_code build_privately(request *r, slwi_outcome *outcome, slw_error *err) {
    slwi_built built;
    slw_code code = run_build(r, &built, outcome, err);
    if (code != SLW_OK) return code;
    code = keep_private(r, &built, outcome, err);
    if (code == SLW_E_NO_MEMORY) r->own_wait_ended = 1;
    slwi_built_clear(&built);
    return code;
}

static slw_code publish_built(request *r, slwi_built *built, const slwi_key_lock *lock, slwi_outcome *outcome,
                              slw_error *err) {
    slw_error why = SLW_ERROR_INIT;
    int lost = 0;
    const slwi_publication publication = {.store = r->store,
                                          .key = r->key,
                                          .spec = r->spec,
                                          .source = built->directory->path,
                                          .inventory = &built->inventory,
                                          .lock = lock};
    const uint64_t start = slwi_now_ns();
    const slw_code code = slwi_publish(&publication, &outcome->entry, &lost, &why);
    outcome->publish_ns = slwi_now_ns() - start;
    if (code != SLW_OK) {
        set_reason(outcome, SLW_FAILURE_PUBLICATION, why.message);
        return keep_private(r, built, outcome, err);
    }
    /* A loser's value is never returned with the winner's handle: its build goes with `built`. */
    outcome->disposition = lost ? SLW_HIT : SLW_PUBLISHED;
    if (!lost) outcome->built = slwi_retain(built->directory);
    return SLW_OK;
}

static slw_code build_and_publish(request *r, const slwi_key_lock *lock, slwi_outcome *outcome, slw_error *err) {
    slwi_built built;
    slw_code code = run_build(r, &built, outcome, err);
    if (code != SLW_OK) return code;
    if (built.declined) {
        set_reason(outcome, SLW_FAILURE_NONE, built.reason);
        code = keep_private(r, &built, outcome, err);
    } else {
        code = publish_built(r, &built, lock, outcome, err);
    }
    if (code == SLW_E_NO_MEMORY) r->own_wait_ended = 1;
    slwi_built_clear(&built);
    return code;
}

static slw_code look(request *r, slwi_outcome *outcome, slw_error *err) {
    const uint64_t start = slwi_now_ns();
    const slw_code code = slwi_look(r->store, r->key, r->spec, r->store->verify, SLWI_LOOK_STAMP, &outcome->entry, err);
    outcome->lookup_ns += slwi_now_ns() - start;
    outcome->disposition = SLW_HIT;
    return code;
}

static slw_code lead_locked(request *r, const slwi_key_lock *lock, slwi_outcome *outcome, slw_error *err) {
    slw_error why = SLW_ERROR_INIT;
    const slw_code verdict = look(r, outcome, &why);
    if (verdict == SLW_OK) return SLW_OK;
    if (!is_verdict(verdict)) {
        r->own_wait_ended = 1;
        slwi_error_copy(err, &why);
        return verdict;
    }
    if (verdict == SLW_E_MISS) return build_and_publish(r, lock, outcome, err);
    set_reason(outcome, failure_of(verdict), why.message);
    return build_privately(r, outcome, err);
}

static slw_code lead_writable(request *r, slwi_outcome *outcome, slw_error *err) {
    slwi_key_lock lock;
    slw_error why = SLW_ERROR_INIT;
    const uint64_t start = slwi_now_ns();
    slw_code code = slwi_key_lock_take(&lock, r->store, r->key, r->spec, r->deadline_ns, r->builder->cancel, &why);
    outcome->lock_wait_ns = slwi_now_ns() - start;
    if (code == SLW_E_LOCK) {
        set_reason(outcome, SLW_FAILURE_LOCK, why.message);
        return build_privately(r, outcome, err);
    }
    if (code != SLW_OK) {
        r->own_wait_ended = 1;
        slwi_error_copy(err, &why);
        return code;
    }
    code = lead_locked(r, &lock, outcome, err);
    slwi_key_lock_drop(&lock);
    return code;
}

/* Does the work for everybody who asks the same. */
static slw_code lead(request *r, slw_code verdict, const slw_error *why, slwi_outcome *outcome, slw_error *err) {
    if (!r->store->read_only) return lead_writable(r, outcome, err);
    set_reason(outcome, failure_of(verdict), verdict == SLW_E_MISS ? "read-only" : why->message);
    return build_privately(r, outcome, err);
}

/* Leads a flight to its end. */
static slw_code fly(request *r, slwi_flight *flight, slw_code verdict, const slw_error *why, slwi_outcome *outcome,
                    slw_error *err) {
    slw_error local = SLW_ERROR_INIT;
    slw_error *record = err != NULL ? err : &local;
    r->own_wait_ended = 0;
    const uint64_t generation = slwi_fork_generation();
    const slw_code code = lead(r, verdict, why, outcome, record);
    /* In a forked child the flight is the parent's. */
    if (generation != slwi_fork_generation()) return code;
    outcome->code = code;
    if (code != SLW_OK && r->own_wait_ended)
        slwi_flight_abandon(flight);
    else
        slwi_flight_settle(flight, outcome, record);
    return code;
}

/* What a waiter gets: 1 and *code, or 0 when it has to look for itself. */
static int take_shared(slwi_flight *flight, slwi_outcome *outcome, slw_code *code, slw_error *err) {
    const slwi_outcome *theirs = slwi_flight_outcome(flight);
    int taken = 1;
    *code = theirs->code;
    if (theirs->code != SLW_OK) {
        slwi_error_copy(err, slwi_flight_error(flight));
    } else if (theirs->disposition == SLW_PRIVATE) {
        const uint64_t lookup_ns = outcome->lookup_ns;
        *outcome = *theirs;
        outcome->lookup_ns = lookup_ns;
        outcome->entry = slwi_retain(theirs->entry);
        outcome->built = slwi_retain(theirs->built);
    } else {
        taken = 0;
    }
    slwi_flight_leave(flight);
    return taken;
}

static slw_code answer(request *r, slwi_outcome *outcome, int *coalesced, slw_error *err) {
    for (;;) {
        slw_error why = SLW_ERROR_INIT;
        const slw_code verdict = look(r, outcome, &why);
        if (verdict == SLW_OK) return SLW_OK;
        *coalesced = 0;
        if (!is_verdict(verdict)) {
            slwi_error_copy(err, &why);
            return verdict;
        }
        slwi_flight *flight = NULL;
        int leads = 0;
        slw_code code =
            slwi_flight_join(r->store, r->key, r->spec, r->deadline_ns, r->builder->cancel, &flight, &leads, err);
        if (code == SLW_E_TIMEOUT) {
            slwi_error_reset(err);
            set_reason(outcome, SLW_FAILURE_LOCK, "another thread did not finish this request in time");
            return build_privately(r, outcome, err);
        }
        if (code != SLW_OK) return code;
        if (leads) return fly(r, flight, verdict, &why, outcome, err);
        *coalesced = 1;
        if (take_shared(flight, outcome, &code, err)) return code;
    }
}

/* The outcome becomes the caller's: plain stores only. */
static void commit(slwi_outcome *outcome, int coalesced, slw_build_report *report, slwi_entry **out) {
    *out = outcome->entry;
    outcome->entry = NULL;
    if (report == NULL) {
        slwi_outcome_clear(outcome);
        return;
    }
    report->disposition = outcome->disposition;
    report->failure = outcome->failure;
    report->coalesced = coalesced;
    report->lookup_ns = outcome->lookup_ns;
    report->lock_wait_ns = outcome->lock_wait_ns;
    report->build_ns = outcome->build_ns;
    report->publish_ns = outcome->publish_ns;
    report->value = outcome->built != NULL ? outcome->built->value : NULL;
    report->private_directory = outcome->built != NULL ? outcome->built->path : NULL;
    report->owned_ = outcome->built;
    outcome->built = NULL;
    memcpy(report->reason, outcome->reason, sizeof report->reason);
}

static slw_code check_outputs(const slw_build_report *report, slwi_entry *const *out, slw_error *err) {
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "out is NULL");
    if (report == NULL) return SLW_OK;
    if (report->size != sizeof *report) return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE", "a report of another size");
    if (report->owned_ != NULL)
        return slwi_fail(err, SLW_E_USAGE, NULL, "the report still owns another build: release it first");
    return SLW_OK;
}

static request make_request(slw_store *store, const slw_key *key, const slw_spec *spec, const slw_builder *builder) {
    const uint64_t build_ns = builder->timeout_ns != 0 ? builder->timeout_ns : store->build_timeout_ns;
    const uint64_t fallback = build_ns < UINT64_MAX - LOCK_EXTRA_NS ? build_ns + LOCK_EXTRA_NS : SLW_NO_TIMEOUT;
    const uint64_t wait = store->lock_timeout_ns != 0 ? store->lock_timeout_ns : fallback;
    return (request){
        .store = store, .key = key, .spec = spec, .builder = builder, .deadline_ns = slwi_deadline_ns(wait, 0)};
}

slw_code slwi_store_get_or_build(slw_store *store, const slw_key *key, const slw_spec *spec, const slw_builder *builder,
                                 slw_build_report *report, slwi_entry **out, slw_error *err) {
    slwi_error_reset(err);
    slw_code code = slwi_request_check(store, key, spec, err);
    if (code == SLW_OK) code = slwi_builder_check(store, builder, err);
    if (code == SLW_OK) code = check_outputs(report, out, err);
    if (code != SLW_OK) return code;
    request r = make_request(store, key, spec, builder);
    slwi_outcome outcome = {0};
    int coalesced = 0;
    code = answer(&r, &outcome, &coalesced, err);
    if (code != SLW_OK) {
        slwi_outcome_clear(&outcome);
        return code;
    }
    slwi_error_reset(err);
    if (outcome.disposition != SLW_PRIVATE) outcome.reason[0] = 0;
    commit(&outcome, coalesced, report, out);
    return SLW_OK;
}

slw_code slwi_store_build_private(slw_store *store, const slw_key *key, const slw_spec *spec,
                                  const slw_builder *builder, const char *reason, slw_build_report *report,
                                  slwi_entry **out, slw_error *err) {
    slwi_error_reset(err);
    slw_code code = slwi_store_check(store, err);
    if (code == SLW_OK && spec == NULL) code = slwi_fail(err, SLW_E_USAGE, NULL, "a spec is needed");
    if (code == SLW_OK) code = slwi_builder_check(store, builder, err);
    if (code == SLW_OK) code = check_outputs(report, out, err);
    if (code != SLW_OK) return code;
    request r = make_request(store, key, spec, builder);
    slwi_outcome outcome = {0};
    set_reason(&outcome, SLW_FAILURE_NONE, reason != NULL ? reason : "");
    code = build_privately(&r, &outcome, err);
    if (code == SLW_OK) commit(&outcome, 0, report, out);
    return code;
}

const char *slw_disposition_name(slw_disposition disposition) {
    static const char *const names[] = {"HIT", "PUBLISHED", "PRIVATE"};
    const unsigned index = (unsigned)disposition;
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

const char *slw_build_failure_name(slw_build_failure failure) {
    static const char *const names[] = {NULL, "INVALID", "STORAGE", "LOCK", "PUBLICATION"};
    const unsigned index = (unsigned)failure;
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}
