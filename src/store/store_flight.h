/* Requests in flight: one leader a request in a process, everybody else who asks the same waits for its result. */
#ifndef SLWI_STORE_FLIGHT_H
#define SLWI_STORE_FLIGHT_H

#include "store_object.h"

/* What became of a request. */
typedef struct slwi_outcome {
    slw_code code; /* not OK: what every waiter gets, with `error` */
    slw_disposition disposition;
    slw_build_failure failure;
    slwi_entry *entry;   /* owned; the leader's, and for PRIVATE everybody's */
    slwi_private *built; /* owned; NULL for a HIT */
    uint64_t lookup_ns, lock_wait_ns, build_ns, publish_ns;
    char reason[512];
} slwi_outcome;

void slwi_outcome_clear(slwi_outcome *outcome); /* lets go of what it owns */

typedef struct slwi_flight slwi_flight;

/* Joins the flight of a request, or begins it.
   OK and *leads 1: the caller has to do the work, then slwi_flight_settle or slwi_flight_abandon.
   OK and *leads 0: it is done; read slwi_flight_outcome, then slwi_flight_leave.
   RECURSIVE: this thread leads it. NO_MEMORY, TIMEOUT, CANCELLED (by `cancel`, the request's own token or NULL, or by
   the store's): not joined. */
slw_code slwi_flight_join(slw_store *store, const slw_key *key, const slw_spec *spec, uint64_t deadline_ns,
                          const slw_cancel *cancel, slwi_flight **out, int *leads, slw_error *err);
/* The leader's result for all: an error record for a failure, a private build to share, or just "look again". The
   leader keeps what it owns. The flight is gone for the caller. */
void slwi_flight_settle(slwi_flight *flight, const slwi_outcome *outcome, const slw_error *error);
/* The leader gives up for a reason of its own: a waiter is made leader. */
void slwi_flight_abandon(slwi_flight *flight);
const slwi_outcome *slwi_flight_outcome(const slwi_flight *flight);
const slw_error *slwi_flight_error(const slwi_flight *flight);
void slwi_flight_leave(slwi_flight *flight);
size_t slwi_flight_count(void); /* for tests */

#endif
