/* What metrics.c and its exporters share, and nobody else. */
#ifndef SLWI_METRICS_STATE_H
#define SLWI_METRICS_STATE_H

#include <slipway/limits.h>

#include "buffer.h"
#include "measure.h"

#define SLWI_METRICS_ROWS     (SLW_PHASE_COUNT * SLW_LIMIT_METRICS_SERIES) /* and one overflow row a phase */
#define SLWI_METRICS_ERRORS   128u /* (phase, backend, code) counted apart; and one overflow row a phase */
#define SLWI_METRICS_BUCKETS  48u /* bucket i counts durations below 2^i ns (and not below 2^(i-1)); the last is open */
#define SLWI_METRICS_OUTCOMES 12u

/* Names as they are counted: UTF-8, cut at a whole character. "": absent. */
typedef struct slwi_metrics_labels {
    char backend[SLW_LIMIT_METRICS_LABEL_BYTES + 1];
    char target[SLW_LIMIT_METRICS_LABEL_BYTES + 1];
    char stage[SLW_LIMIT_METRICS_LABEL_BYTES + 1];
} slwi_metrics_labels;

typedef struct slwi_metrics_row {
    uint32_t phase;
    uint32_t overflow; /* 1: what had no row of its own */
    slwi_metrics_labels labels;
    uint64_t count;
    uint64_t bytes;
    uint64_t total_ns;
    uint64_t outcomes[SLWI_METRICS_OUTCOMES];
    uint64_t buckets[SLWI_METRICS_BUCKETS];
} slwi_metrics_row;

typedef struct slwi_metrics_error {
    uint32_t phase;
    uint32_t overflow;
    char backend[SLW_LIMIT_METRICS_LABEL_BYTES + 1];
    const char *code; /* static; NULL in an overflow row */
    uint64_t count;
} slwi_metrics_error;

/* In the order of code points, as they are written. */
extern const char *const slwi_metrics_outcome_names[SLWI_METRICS_OUTCOMES];
size_t slwi_metrics_outcome_index(const char *outcome);

/* A consistent copy of what is in use, in the order of the documents: by phase, backend, target and stage, an overflow
   after its phase's own. */
typedef struct slwi_metrics_view {
    slw_allocator allocator;
    size_t row_count;
    size_t error_count;
    uint64_t trace_capacity; /* 0: there is no trace */
    uint64_t trace_recorded;
    slwi_metrics_row rows[SLWI_METRICS_ROWS + SLW_PHASE_COUNT];
    slwi_metrics_error errors[SLWI_METRICS_ERRORS + SLW_PHASE_COUNT];
} slwi_metrics_view;
slw_code slwi_metrics_view_take(const slw_metrics *metrics, slwi_metrics_view **out, slw_error *err);
void slwi_metrics_view_free(slwi_metrics_view *view);
uint64_t slwi_metrics_view_dropped(const slwi_metrics_view *view);

/* One event as the trace keeps it. */
typedef struct slwi_trace_event {
    uint64_t start_ns;
    uint64_t duration_ns;
    uint64_t bytes;
    uint64_t sequence; /* from 0, in the order of the ends */
    uint32_t thread;   /* numbers of this process's threads, from 1, in the order in which they met a trace */
    uint32_t phase;
    const char *outcome; /* static */
    const char *code;    /* static */
    slwi_metrics_labels labels;
    char key[SLW_DIGEST_TEXT_SIZE];
} slwi_trace_event;

/* The last events, the oldest overwritten. Under the mutex of the metrics. */
typedef struct slwi_trace {
    size_t capacity;
    uint64_t recorded; /* all there ever were */
    slwi_trace_event *events;
} slwi_trace;
/* This thread's number in traces. */
uint32_t slwi_trace_thread(void);
void slwi_trace_put(slwi_trace *trace, const slw_event *event, const slwi_metrics_labels *labels, uint32_t thread);

/* The events kept, in no order that is promised. */
typedef struct slwi_trace_copy {
    slw_allocator allocator;
    uint64_t process;
    size_t capacity;
    uint64_t recorded;
    size_t count;
    slwi_trace_event *events;
} slwi_trace_copy;
slw_code slwi_metrics_trace_take(const slw_metrics *metrics, slwi_trace_copy *out, slw_error *err);

slw_code slwi_metrics_openmetrics(const slw_metrics *metrics, slw_text *out, slw_error *err);
slw_code slwi_metrics_trace(const slw_metrics *metrics, slw_text *out, slw_error *err);
/* Moves a buffer's text out and frees the buffer in either case. */
slw_code slwi_metrics_text(slwi_buffer *buffer, slw_text *out, slw_error *err);

#endif
