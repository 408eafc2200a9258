/* Events, for the transitions. */
#ifndef SLWI_MEASURE_H
#define SLWI_MEASURE_H

#include <slipway/metrics.h>

#include "ref.h"

/* One transition's event while it is being made up. Plain data on the stack of the transition. */
typedef struct slwi_moment {
    slw_metrics *metrics; /* borrowed; NULL: nobody listens, and nothing below is used */
    slw_phase phase;
    const char *outcome; /* NULL: OK or FAILED by the code */
    const char *key;
    const char *backend;
    const char *target;
    const char *stage;
    uint64_t bytes;
    uint64_t start_ns;
    uint64_t duration_ns; /* UINT64_MAX: until slwi_moment_send */
    int hit;
    const slw_stage_time *stages;
    size_t stage_count;
} slwi_moment;

/* Begins an event at this instant. */
slwi_moment slwi_moment_begin(slw_metrics *metrics, slw_phase phase);
/* Counts it, keeps it for the trace and tells the listener. Call with no lock held. `err` may be NULL when code is
   SLW_OK. Returns `code`. */
slw_code slwi_moment_send(slwi_moment *moment, slw_code code, const slw_error *err);
/* Tells the listener alone: what is counted already, as the look-up of a hit. */
slw_code slwi_moment_tell(slwi_moment *moment, slw_code code, const slw_error *err);

/* HIT, MISS, INVALID, STORAGE_ERROR or FAILED: what a look-up's code is called. */
const char *slwi_lookup_outcome(slw_code code);

#endif
