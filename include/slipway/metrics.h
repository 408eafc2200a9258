/* Measuring the transitions: one event each, counters, and a JSON snapshot. */
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
    SLW_PHASE_COUNT = 8
} slw_phase;
SLW_API const char *slw_phase_name(slw_phase phase); /* "lookup", …; NULL otherwise */

typedef struct slw_event {
    uint32_t size;
    slw_phase phase;
    slw_code code;
    const char
        *outcome;    /* HIT, MISS, INVALID, STORAGE_ERROR, PUBLISHED, PRIVATE, OK, FAILED; DIFFERS: OK, and the driver
                            measured other figures of the kernel than its contract has */
    const char *key; /* text, or NULL */
    const char *backend; /* or NULL */
    const char *target;  /* or NULL */
    const char *stage;   /* or NULL */
    uint64_t bytes;
    uint64_t start_ns; /* monotonic */
    uint64_t duration_ns;
    const slw_error *error; /* NULL when code is SLW_OK */
} slw_event;

/* Called on the thread of the transition, after it, with no lock of the library's held. The event and its strings end
   with the call. It may use the library. */
typedef void (*slw_listener)(void *context, const slw_event *event);

typedef struct slw_metrics_options {
    uint32_t size;
    slw_allocator allocator;
    slw_listener listener; /* NULL: counters only */
    void *context;
} slw_metrics_options;
#define SLW_METRICS_OPTIONS_INIT                                                                                       \
    { sizeof(slw_metrics_options), SLW_ALLOCATOR_INIT, NULL, NULL }

/* Threads: shared by all. Reference-counted: stores, compilers and handles keep it alive. */
SLW_API SLW_MUST_CHECK slw_code slw_metrics_create(const slw_metrics_options *options, slw_metrics **out,
                                                   slw_error *err);
SLW_API void slw_metrics_release(slw_metrics **metrics);

/* Canonical JSON: per phase, backend and target: count, outcomes, bytes, total and a power-of-two histogram of
   durations in ns; hit ratio; creation to first launch. A consistent copy; nothing is reset. `out` untouched on
   failure. */
SLW_API SLW_MUST_CHECK slw_code slw_metrics_snapshot(const slw_metrics *metrics, slw_text *out, slw_error *err);

#define SLW_EXPORT_JSON        0
#define SLW_EXPORT_OPENMETRICS 1 /* SLW_E_UNSUPPORTED in this version */
#define SLW_EXPORT_TRACE       2 /* SLW_E_UNSUPPORTED in this version */
SLW_API SLW_MUST_CHECK slw_code slw_metrics_export(const slw_metrics *metrics, int format, slw_text *out,
                                                   slw_error *err);

SLW_END_DECLS
#endif
