/* Measuring the transitions: one event each, counters, a bounded trace; JSON, OpenMetrics and Chrome traces of them.
   docs/metrics.md says what each figure means. */
#ifndef SLIPWAY_METRICS_H
#define SLIPWAY_METRICS_H

#include <slipway/store.h>

SLW_BEGIN_DECLS

typedef enum slw_phase {
    SLW_PHASE_LOOKUP = 0,
    SLW_PHASE_COMPILE = 1,
    SLW_PHASE_STAGE = 2, /* one stage of a compile; `stage` names it */
    SLW_PHASE_HYDRATE = 3,
    SLW_PHASE_PAYLOAD = 4, /* a payload read on demand */
    SLW_PHASE_DEVICE_LOAD = 5,
    SLW_PHASE_MAKE_LAUNCHABLE = 6,
    SLW_PHASE_FIRST_LAUNCH = 7, /* creation to the first successful launch; later launches leave no record */
    SLW_PHASE_AUDIT = 8, /* a hit, rebuilt privately and compared: docs/audit.md */
    SLW_PHASE_COUNT = 9
} slw_phase;
SLW_API const char *slw_phase_name(slw_phase phase); /* "lookup", …; NULL otherwise */

/* One stage of a compile, as its event has it. */
typedef struct slw_stage_time {
    const char *stage; /* the backend's name of it: "ptx", "cubin", "object", … */
    slw_code code;     /* how it ended; the stages after one that failed did not run and are not listed */
    uint64_t bytes;    /* of the payload it left; 0 where that is not known */
    uint64_t start_ns; /* monotonic */
    uint64_t duration_ns;
} slw_stage_time;

/* Later versions may add members at the end: `size` says how much there is. */
typedef struct slw_event {
    uint32_t size;
    slw_phase phase;
    slw_code code;
    const char
        *outcome;    /* HIT, MISS, INVALID, STORAGE_ERROR, PUBLISHED, PRIVATE, OK, FAILED; DIFFERS: OK, and the driver
                            measured other figures of the kernel than its contract has. Of AUDIT: SAME, DEBUG_ONLY,
                            DIFFERS (INVALID_ENTRY, NOT_REPRODUCED) or FAILED */
    const char *key; /* text, or NULL */
    const char *backend; /* or NULL */
    const char *target;  /* what the code is for; of FIRST_LAUNCH the device's architecture; or NULL */
    const char *stage;   /* or NULL */
    uint64_t bytes;
    uint64_t start_ns; /* monotonic */
    uint64_t duration_ns;
    const slw_error *error; /* NULL when code is SLW_OK; not so with DEBUG_ONLY, whose place stands in it */
    /* Of LOOKUP and COMPILE: 1 when an entry was there and nothing was built. Each slw_compile whose arguments are in
       order ends with one COMPILE event; only the AUDIT of a hit comes after it. Where no build was begun - a hit, with
       the outcome HIT, or a failure before it - that event has the duration of the whole call and is for the listener
       alone: the counters and the trace have its LOOKUP, so that compiles are not measured by what was none. */
    int hit;
    const slw_stage_time *stages; /* of COMPILE: the stages that ran, in order; each had an event of its own before */
    size_t stage_count;           /* 0: a hit, or no stage was reached */
} slw_event;

/* Called on the thread of the transition, after it, with no lock of the library's held. The event and its strings end
   with the call. It may use the library, these metrics too; what it does delays its caller and nobody else. */
typedef void (*slw_listener)(void *context, const slw_event *event);

typedef struct slw_metrics_options {
    uint32_t size;
    slw_allocator allocator;
    slw_listener listener; /* NULL: counters only */
    void *context;
    size_t trace_events; /* how many of the last events are kept for SLW_EXPORT_TRACE, some 300 bytes each, allocated
                            here and never again; older ones are dropped and counted. 0: no trace. At most
                            SLW_LIMIT_TRACE_EVENTS */
} slw_metrics_options;
#define SLW_METRICS_OPTIONS_INIT                                                                                       \
    { sizeof(slw_metrics_options), SLW_ALLOCATOR_INIT, NULL, NULL, 0 }

/* Some 420 KB of counters and the trace: all the memory a slw_metrics ever takes, whatever is counted. Of one phase
   SLW_LIMIT_METRICS_SERIES combinations of backend, target and stage are counted apart; what comes past them is counted
   in one series more, marked as the overflow, so that the sums stay right. Names are cut at
   SLW_LIMIT_METRICS_LABEL_BYTES, at a whole character; bytes that are not UTF-8 count as '?'.
   `options` NULL: the defaults. Failure: `out` untouched. USAGE: a wrong size, half an allocator. LIMIT: trace_events.
   NO_MEMORY. Threads: shared by all; an event takes one short lock. In a forked child counting and tracing stop, the
   listener still hears. Reference-counted: stores, compilers and handles keep it alive. */
SLW_API SLW_MUST_CHECK slw_code slw_metrics_create(const slw_metrics_options *options, slw_metrics **out,
                                                   slw_error *err);
/* Drops the caller's reference and sets it to NULL. Accepts NULL and a pointer to NULL. Threads: any. */
SLW_API void slw_metrics_release(slw_metrics **metrics);

/* Canonical JSON, one consistent copy of everything counted since the creation; nothing is reset:
     transitions                per phase, backend, target and stage: count, outcomes, bytes, total and a power-of-two
                                histogram of durations in ns
     hit_ratio                  per backend and target (null where a look-up's caller did not say)
     lowering                   per backend and stage: count, bytes, total_ns, mean_ns
     hydrate, device_load       per backend and target: count, bytes, total_ns, mean_ns
     creation_to_first_launch   per backend and architecture of the device: count, total_ns, mean_ns
     errors                     per phase, backend and code
     trace                      capacity, recorded, dropped
   Failure: `out` untouched. USAGE: no slw_metrics, no `out`. NO_MEMORY. Threads: any; events wait while 420 KB at most
   are copied, not while text is made. Cost: proportional to the series there are. */
SLW_API SLW_MUST_CHECK slw_code slw_metrics_snapshot(const slw_metrics *metrics, slw_text *out, slw_error *err);

#define SLW_EXPORT_JSON        0 /* what slw_metrics_snapshot gives */
#define SLW_EXPORT_OPENMETRICS 1 /* OpenMetrics 1.0 text, for scrapes and files: ends with "# EOF" */
#define SLW_EXPORT_TRACE       2 /* Chrome trace events, JSON, for Perfetto; USAGE, NO_TRACE without trace_events */
/* As slw_metrics_snapshot, in the format asked for. USAGE too: an unknown format. A trace costs one copy of the events
   and their text, some 400 bytes each. */
SLW_API SLW_MUST_CHECK slw_code slw_metrics_export(const slw_metrics *metrics, int format, slw_text *out,
                                                   slw_error *err);

SLW_END_DECLS
#endif
