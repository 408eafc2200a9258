/* Metrics: a bounded table of counters and a ring of events behind a small mutex that is never held while the listener
   runs. */
#include "metrics_state.h"

#include <pthread.h>
#include <string.h>

#include "clock.h"
#include "fail.h"
#include "fork.h"
#include "memory.h"
#include "os.h"
#include "text.h"

#define METRICS_TAG 0x534c574du

/* The rows of one phase. */
typedef struct phase_rows {
    size_t count;
    slwi_metrics_row rows[SLW_LIMIT_METRICS_SERIES];
    slwi_metrics_row overflow;
} phase_rows;

struct slw_metrics {
    slwi_ref ref; /* first: stores hold it as a counted object without knowing more */
    uint32_t tag;
    slw_allocator allocator;
    slw_listener listener;
    void *context;
    uint64_t process;
    uint64_t generation; /* in a forked child the mutex may be held by nobody who lives: counting stops there */
    pthread_mutex_t mutex;
    pthread_mutex_t *lock; /* it; counting is no change that const has to forbid */
    phase_rows phases[SLW_PHASE_COUNT];
    size_t error_count;
    slwi_metrics_error errors[SLWI_METRICS_ERRORS];
    slwi_metrics_error error_overflow[SLW_PHASE_COUNT];
    slwi_trace trace;
};

const char *const slwi_metrics_outcome_names[SLWI_METRICS_OUTCOMES] = {
    "DEBUG_ONLY", "DIFFERS", "FAILED",  "HIT",       "INVALID", "MISS",
    "OK",         "OTHER",   "PRIVATE", "PUBLISHED", "SAME",    "STORAGE_ERROR",
};

const char *slw_phase_name(slw_phase phase) {
    static const char *const names[SLW_PHASE_COUNT] = {
        "lookup",      "compile",         "stage",        "hydrate", "payload",
        "device_load", "make_launchable", "first_launch", "audit",
    };
    const unsigned index = (unsigned)phase;
    return index < SLW_PHASE_COUNT ? names[index] : NULL;
}

const char *slwi_lookup_outcome(slw_code code) {
    switch (code) {
    case SLW_OK:
        return "HIT";
    case SLW_E_MISS:
        return "MISS";
    case SLW_E_INVALID_ENTRY:
        return "INVALID";
    case SLW_E_STORAGE:
        return "STORAGE_ERROR";
    default:
        return "FAILED";
    }
}

static void destroy_metrics(slwi_ref *self) {
    slw_metrics *metrics = (slw_metrics *)(void *)self;
    const slw_allocator allocator = metrics->allocator;
    metrics->tag = 0;
    if (metrics->generation == slwi_fork_generation()) (void)pthread_mutex_destroy(&metrics->mutex);
    slwi_free(&allocator, metrics->trace.events);
    slwi_free(&allocator, metrics);
}

static slw_code check_options(const slw_metrics_options *options, slw_error *err) {
    if (options->size != sizeof *options)
        return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE", "slw_metrics_options.size is not this version's");
    if (options->trace_events <= SLW_LIMIT_TRACE_EVENTS) return SLW_OK;
    slwi_error_amount(err, "trace", options->trace_events, SLW_LIMIT_TRACE_EVENTS, "events");
    return slwi_fail(err, SLW_E_LIMIT, "TRACE_EVENTS", "a trace of that many events is not kept");
}

static void init_metrics(slw_metrics *metrics, const slw_metrics_options *options, const slw_allocator *allocator) {
    const slwi_os *os = slwi_os_get();
    slwi_ref_init(&metrics->ref, destroy_metrics);
    metrics->tag = METRICS_TAG;
    metrics->lock = &metrics->mutex;
    metrics->allocator = *allocator;
    metrics->listener = options->listener;
    metrics->context = options->context;
    metrics->process = (uint64_t)os->pid(os);
    metrics->generation = slwi_fork_generation();
    metrics->trace.capacity = options->trace_events;
    for (uint32_t phase = 0; phase < SLW_PHASE_COUNT; phase++) {
        metrics->phases[phase].overflow.phase = metrics->error_overflow[phase].phase = phase;
        metrics->phases[phase].overflow.overflow = metrics->error_overflow[phase].overflow = 1;
    }
}

slw_code slw_metrics_create(const slw_metrics_options *options, slw_metrics **out, slw_error *err) {
    slwi_error_reset(err);
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "slw_metrics_create needs `out`");
    const slw_metrics_options defaults = SLW_METRICS_OPTIONS_INIT;
    if (options == NULL) options = &defaults;
    slw_code rc = check_options(options, err);
    slw_allocator allocator;
    if (rc == SLW_OK) rc = slwi_allocator_take(&options->allocator, &allocator, err);
    if (rc != SLW_OK) return rc;
    slw_metrics *metrics = slwi_alloc_zero(&allocator, sizeof *metrics);
    if (metrics == NULL) return slwi_fail_memory(err, sizeof *metrics);
    init_metrics(metrics, options, &allocator);
    if (options->trace_events > 0) {
        metrics->trace.events = slwi_alloc_array(&allocator, options->trace_events, sizeof *metrics->trace.events);
        if (metrics->trace.events == NULL) rc = slwi_fail_memory(err, options->trace_events * sizeof(slwi_trace_event));
    }
    if (rc == SLW_OK && pthread_mutex_init(&metrics->mutex, NULL) != 0)
        rc = slwi_fail(err, SLW_E_NO_MEMORY, NULL, "no mutex for the metrics");
    if (rc != SLW_OK) {
        slwi_free(&allocator, metrics->trace.events);
        slwi_free(&allocator, metrics);
        return rc;
    }
    *out = metrics;
    return SLW_OK;
}

void slw_metrics_release(slw_metrics **metrics) {
    if (metrics == NULL || *metrics == NULL) return;
    slwi_release(*metrics);
    *metrics = NULL;
}

/* ---- counting --------------------------------------------------------------------------------------------------- */

/* Whole characters as long as they fit; bytes that are no UTF-8 as '?', so that every export is. The reading stops soon
   after what fits: a name has no length that is promised. */
static void set_label(char out[SLW_LIMIT_METRICS_LABEL_BYTES + 1], const char *text) {
    const slw_bytes from = {text, text != NULL ? strnlen(text, SLW_LIMIT_METRICS_LABEL_BYTES + 4) : 0};
    size_t used = 0;
    for (size_t at = 0; at < from.size;) {
        size_t next = at;
        uint32_t code_point = 0;
        const int good = slwi_utf8_next(from, &next, &code_point);
        const size_t size = good ? next - at : 1;
        if (used + size > SLW_LIMIT_METRICS_LABEL_BYTES) break;
        if (good)
            memcpy(out + used, text + at, size);
        else
            out[used] = '?';
        used += size;
        at += size;
    }
    out[used] = '\0';
}

static int same_labels(const slwi_metrics_labels *a, const slwi_metrics_labels *b) {
    return strcmp(a->backend, b->backend) == 0 && strcmp(a->target, b->target) == 0 && strcmp(a->stage, b->stage) == 0;
}

/* The row of an event; the phase's overflow row when all are taken. Called with the mutex held. */
static slwi_metrics_row *row_of(phase_rows *phase, const slwi_metrics_labels *labels) {
    for (size_t i = 0; i < phase->count; i++)
        if (same_labels(&phase->rows[i].labels, labels)) return &phase->rows[i];
    if (phase->count == SLW_LIMIT_METRICS_SERIES) return &phase->overflow;
    slwi_metrics_row *row = &phase->rows[phase->count++];
    row->phase = phase->overflow.phase;
    row->labels = *labels;
    return row;
}

static uint64_t add_saturated(uint64_t a, uint64_t b) {
    return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

static size_t bucket_of(uint64_t duration_ns) {
    size_t bucket = 0;
    while (duration_ns > 0 && bucket < SLWI_METRICS_BUCKETS - 1) {
        duration_ns >>= 1;
        bucket++;
    }
    return bucket;
}

size_t slwi_metrics_outcome_index(const char *outcome) {
    size_t other = 0;
    for (size_t i = 0; i < SLWI_METRICS_OUTCOMES; i++) {
        if (strcmp(slwi_metrics_outcome_names[i], outcome) == 0) return i;
        if (strcmp(slwi_metrics_outcome_names[i], "OTHER") == 0) other = i;
    }
    return other;
}

/* Called with the mutex held. Codes are counted by name: a builder's are one. */
static void count_error(slw_metrics *metrics, const slw_event *event, const slwi_metrics_labels *labels) {
    const char *code = slw_code_name(event->code);
    for (size_t i = 0; i < metrics->error_count; i++) {
        slwi_metrics_error *row = &metrics->errors[i];
        if (row->phase == (uint32_t)event->phase && strcmp(row->code, code) == 0 &&
            strcmp(row->backend, labels->backend) == 0) {
            row->count++;
            return;
        }
    }
    if (metrics->error_count == SLWI_METRICS_ERRORS) {
        metrics->error_overflow[event->phase].count++;
        return;
    }
    slwi_metrics_error *row = &metrics->errors[metrics->error_count++];
    row->phase = (uint32_t)event->phase;
    memcpy(row->backend, labels->backend, sizeof row->backend);
    row->code = code;
    row->count = 1;
}

static void count_event(slw_metrics *metrics, const slw_event *event) {
    if (metrics->generation != slwi_fork_generation()) return;
    slwi_metrics_labels labels;
    set_label(labels.backend, event->backend);
    set_label(labels.target, event->target);
    set_label(labels.stage, event->stage);
    const size_t outcome = slwi_metrics_outcome_index(event->outcome);
    const uint32_t thread = metrics->trace.capacity > 0 ? slwi_trace_thread() : 0;
    /* That nothing was there is what look-ups find, and no error. */
    const int is_error = event->code != SLW_OK && !(event->phase == SLW_PHASE_LOOKUP && event->code == SLW_E_MISS);
    (void)pthread_mutex_lock(&metrics->mutex);
    slwi_metrics_row *row = row_of(&metrics->phases[event->phase], &labels);
    row->count++;
    row->bytes = add_saturated(row->bytes, event->bytes);
    row->total_ns = add_saturated(row->total_ns, event->duration_ns);
    row->outcomes[outcome]++;
    row->buckets[bucket_of(event->duration_ns)]++;
    if (is_error) count_error(metrics, event, &labels);
    if (metrics->trace.capacity > 0) slwi_trace_put(&metrics->trace, event, &labels, thread);
    (void)pthread_mutex_unlock(&metrics->mutex);
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

slwi_moment slwi_moment_begin(slw_metrics *metrics, slw_phase phase) {
    slwi_moment moment = {.metrics = metrics, .phase = phase, .duration_ns = UINT64_MAX};
    if (metrics != NULL) moment.start_ns = slwi_now_ns();
    return moment;
}

static slw_code send_moment(slwi_moment *moment, slw_code code, const slw_error *err, int counted) {
    if (moment->metrics == NULL) return code;
    if (moment->duration_ns == UINT64_MAX) moment->duration_ns = slwi_now_ns() - moment->start_ns;
    const slw_event event = {
        .size = sizeof event,
        .phase = moment->phase,
        .code = code,
        .outcome = moment->outcome != NULL ? moment->outcome
                   : code == SLW_OK        ? "OK"
                                           : "FAILED",
        .key = moment->key,
        .backend = moment->backend,
        .target = moment->target,
        .stage = moment->stage,
        .bytes = moment->bytes,
        .start_ns = moment->start_ns,
        .duration_ns = moment->duration_ns,
        .error = code != SLW_OK || moment->phase == SLW_PHASE_AUDIT ? err : NULL, /* an audit has NULL for SAME */
        .hit = moment->hit || (moment->outcome != NULL && strcmp(moment->outcome, "HIT") == 0),
        .stages = moment->stages,
        .stage_count = moment->stage_count,
    };
    if (counted) count_event(moment->metrics, &event);
    if (moment->metrics->listener != NULL) moment->metrics->listener(moment->metrics->context, &event);
    return code;
}

slw_code slwi_moment_send(slwi_moment *moment, slw_code code, const slw_error *err) {
    return send_moment(moment, code, err, 1);
}

slw_code slwi_moment_tell(slwi_moment *moment, slw_code code, const slw_error *err) {
    return send_moment(moment, code, err, 0);
}

/* ---- copies ----------------------------------------------------------------------------------------------------- */

static slw_code check_metrics(const slw_metrics *metrics, slw_error *err) {
    if (metrics == NULL || metrics->tag != METRICS_TAG)
        return slwi_fail(err, SLW_E_USAGE, "BAD_OBJECT", "this is not a slw_metrics");
    return SLW_OK;
}

/* In a forked child nobody counts, and the mutex is left alone. */
static int lock(const slw_metrics *metrics) {
    const int ours = metrics->generation == slwi_fork_generation();
    if (ours) (void)pthread_mutex_lock(metrics->lock);
    return ours;
}

static void unlock(const slw_metrics *metrics, int ours) {
    if (ours) (void)pthread_mutex_unlock(metrics->lock);
}

/* Rows in the order of the documents: phase, backend, target, stage, and what had no row of its own last. */
static int compare_rows(const slwi_metrics_row *a, const slwi_metrics_row *b) {
    if (a->phase != b->phase) return a->phase < b->phase ? -1 : 1;
    if (a->overflow != b->overflow) return a->overflow < b->overflow ? -1 : 1;
    int order = strcmp(a->labels.backend, b->labels.backend);
    if (order == 0) order = strcmp(a->labels.target, b->labels.target);
    if (order == 0) order = strcmp(a->labels.stage, b->labels.stage);
    return order;
}

static int compare_errors(const slwi_metrics_error *a, const slwi_metrics_error *b) {
    if (a->phase != b->phase) return a->phase < b->phase ? -1 : 1;
    if (a->overflow != b->overflow) return a->overflow < b->overflow ? -1 : 1;
    const int order = strcmp(a->backend, b->backend);
    return order != 0 || a->code == NULL || b->code == NULL ? order : strcmp(a->code, b->code);
}

/* By insertion: the rows are few, and they come phase by phase. */
static void sort_view(slwi_metrics_view *view) {
    for (size_t i = 1; i < view->row_count; i++) {
        if (compare_rows(&view->rows[i - 1], &view->rows[i]) <= 0) continue;
        const slwi_metrics_row row = view->rows[i];
        size_t at = i;
        for (; at > 0 && compare_rows(&view->rows[at - 1], &row) > 0; at--) view->rows[at] = view->rows[at - 1];
        view->rows[at] = row;
    }
    for (size_t i = 1; i < view->error_count; i++) {
        const slwi_metrics_error row = view->errors[i];
        size_t at = i;
        for (; at > 0 && compare_errors(&view->errors[at - 1], &row) > 0; at--) view->errors[at] = view->errors[at - 1];
        view->errors[at] = row;
    }
}

slw_code slwi_metrics_view_take(const slw_metrics *metrics, slwi_metrics_view **out, slw_error *err) {
    const slw_code rc = check_metrics(metrics, err);
    if (rc != SLW_OK) return rc;
    /* Room for all rows, used or not, so that nothing is allocated under the mutex. */
    slwi_metrics_view *view = slwi_alloc(&metrics->allocator, sizeof *view);
    if (view == NULL) return slwi_fail_memory(err, sizeof *view);
    view->allocator = metrics->allocator;
    view->row_count = 0;
    const int ours = lock(metrics);
    for (size_t phase = 0; phase < SLW_PHASE_COUNT; phase++) {
        const phase_rows *from = &metrics->phases[phase];
        memcpy(view->rows + view->row_count, from->rows, from->count * sizeof from->rows[0]);
        view->row_count += from->count;
        if (from->overflow.count > 0) view->rows[view->row_count++] = from->overflow;
    }
    view->error_count = metrics->error_count;
    memcpy(view->errors, metrics->errors, metrics->error_count * sizeof metrics->errors[0]);
    for (size_t phase = 0; phase < SLW_PHASE_COUNT; phase++)
        if (metrics->error_overflow[phase].count > 0)
            view->errors[view->error_count++] = metrics->error_overflow[phase];
    view->trace_capacity = metrics->trace.capacity;
    view->trace_recorded = metrics->trace.recorded;
    unlock(metrics, ours);
    sort_view(view);
    *out = view;
    return SLW_OK;
}

void slwi_metrics_view_free(slwi_metrics_view *view) {
    const slw_allocator allocator = view->allocator;
    slwi_free(&allocator, view);
}

uint64_t slwi_metrics_view_dropped(const slwi_metrics_view *view) {
    return view->trace_recorded > view->trace_capacity ? view->trace_recorded - view->trace_capacity : 0;
}

static size_t kept(const slwi_trace *trace) {
    return trace->recorded < trace->capacity ? (size_t)trace->recorded : trace->capacity;
}

/* Called with the mutex held. In the order of the ring: the text sorts them by their times. */
static void copy_ring(const slwi_trace *trace, slwi_trace_copy *out) {
    out->count = kept(trace);
    out->recorded = trace->recorded;
    memcpy(out->events, trace->events, out->count * sizeof *out->events);
}

slw_code slwi_metrics_trace_take(const slw_metrics *metrics, slwi_trace_copy *out, slw_error *err) {
    const slw_code rc = check_metrics(metrics, err);
    if (rc != SLW_OK) return rc;
    if (metrics->trace.capacity == 0)
        return slwi_fail(err, SLW_E_USAGE, "NO_TRACE", "these metrics keep no trace: their trace_events is 0");
    /* Memory is taken without the mutex, for what there is and some more; the few that come in between may make it
       too little, and at the capacity it ends. */
    for (;;) {
        int ours = lock(metrics);
        size_t room = kept(&metrics->trace);
        unlock(metrics, ours);
        room += room / 8 + 16;
        if (room > metrics->trace.capacity) room = metrics->trace.capacity;
        slwi_trace_event *events = slwi_alloc_array(&metrics->allocator, room, sizeof *events);
        if (events == NULL) return slwi_fail_memory(err, room * sizeof *events);
        slwi_trace_copy copy = {.allocator = metrics->allocator,
                                .process = metrics->process,
                                .capacity = metrics->trace.capacity,
                                .events = events};
        ours = lock(metrics);
        const int fits = kept(&metrics->trace) <= room;
        if (fits) copy_ring(&metrics->trace, &copy);
        unlock(metrics, ours);
        if (fits) {
            *out = copy;
            return SLW_OK;
        }
        slwi_free(&metrics->allocator, events);
    }
}

slw_code slwi_metrics_text(slwi_buffer *buffer, slw_text *out, slw_error *err) {
    slw_code rc = slwi_buffer_status(buffer, err);
    if (rc == SLW_OK) rc = slwi_buffer_take(buffer, out, err);
    slwi_buffer_free(buffer);
    return rc;
}

slw_code slw_metrics_export(const slw_metrics *metrics, int format, slw_text *out, slw_error *err) {
    slwi_error_reset(err);
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "slw_metrics_export needs `out`");
    switch (format) {
    case SLW_EXPORT_JSON:
        return slw_metrics_snapshot(metrics, out, err);
    case SLW_EXPORT_OPENMETRICS:
        return slwi_metrics_openmetrics(metrics, out, err);
    case SLW_EXPORT_TRACE:
        return slwi_metrics_trace(metrics, out, err);
    default:
        return slwi_fail(err, SLW_E_USAGE, NULL, "%d is no export format", format);
    }
}
