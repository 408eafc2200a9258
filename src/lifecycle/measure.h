/* Events and counters, for the transitions. */
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
} slwi_moment;

/* Begins an event at this instant. */
slwi_moment slwi_moment_begin(slw_metrics *metrics, slw_phase phase);
/* Counts it and tells the listener. Call with no lock held. `err` may be NULL when code is SLW_OK. Returns `code`. */
slw_code slwi_moment_send(slwi_moment *moment, slw_code code, const slw_error *err);

/* HIT, MISS, INVALID, STORAGE_ERROR or FAILED: what a look-up's code is called. */
const char *slwi_lookup_outcome(slw_code code);

/* The rest is shared by metrics.c and metrics_json.c only. */

#define SLWI_METRICS_ROWS                                                                                              \
    160u /* (phase, backend, target, stage) combinations counted apart; the rest in one row a phase */
#define SLWI_METRICS_BUCKETS  48u /* bucket i counts durations below 2^i ns (and not below 2^(i-1)); the last is open */
#define SLWI_METRICS_OUTCOMES 9u

typedef struct slwi_metrics_row {
    uint32_t phase;
    uint32_t overflow; /* 1: what had no row of its own */
    char backend[16];  /* "": absent */
    char target[64];
    char stage[32];
    uint64_t count;
    uint64_t bytes;
    uint64_t total_ns;
    uint64_t outcomes[SLWI_METRICS_OUTCOMES];
    uint64_t buckets[SLWI_METRICS_BUCKETS];
} slwi_metrics_row;

/* In the order of code points, as they are written. */
extern const char *const slwi_metrics_outcome_names[SLWI_METRICS_OUTCOMES];

/* A consistent copy of the rows in use; the caller frees it with the metrics' allocator. *count rows. */
slw_code slwi_metrics_copy(const slw_metrics *metrics, slwi_metrics_row **out, size_t *count, slw_allocator *allocator,
                           slw_error *err);

#endif
