/* Metrics: a bounded table of counters behind a small mutex that is never held while the listener runs. */
#include "measure.h"

#include <pthread.h>
#include <string.h>

#include "clock.h"
#include "fail.h"
#include "fork.h"
#include "memory.h"

#define METRICS_TAG 0x534c574du

struct slw_metrics {
    slwi_ref ref; /* first: stores hold it as a counted object without knowing more */
    uint32_t tag;
    slw_allocator allocator;
    slw_listener listener;
    void *context;
    uint64_t generation; /* in a forked child the mutex may be held by nobody who lives: counting stops there */
    pthread_mutex_t mutex;
    pthread_mutex_t *lock; /* it; counting is no change that const has to forbid */
    size_t count;
    slwi_metrics_row rows[SLWI_METRICS_ROWS + SLW_PHASE_COUNT]; /* the last ones are the overflow rows, by phase */
};

const char *const slwi_metrics_outcome_names[SLWI_METRICS_OUTCOMES] = {
    "DIFFERS", "FAILED", "HIT", "INVALID", "MISS", "OK", "PRIVATE", "PUBLISHED", "STORAGE_ERROR",
};

const char *slw_phase_name(slw_phase phase) {
    static const char *const names[SLW_PHASE_COUNT] = {
        "lookup", "compile", "stage", "hydrate", "payload", "device_load", "make_launchable", "first_launch",
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
    slwi_free(&allocator, metrics);
}

slw_code slw_metrics_create(const slw_metrics_options *options, slw_metrics **out, slw_error *err) {
    slwi_error_reset(err);
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "slw_metrics_create needs `out`");
    const slw_metrics_options defaults = SLW_METRICS_OPTIONS_INIT;
    if (options == NULL) options = &defaults;
    if (options->size != sizeof *options)
        return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE", "slw_metrics_options.size is not this version's");
    slw_allocator allocator;
    const slw_code rc = slwi_allocator_take(&options->allocator, &allocator, err);
    if (rc != SLW_OK) return rc;
    slw_metrics *metrics = slwi_alloc_zero(&allocator, sizeof *metrics);
    if (metrics == NULL) return slwi_fail_memory(err, sizeof *metrics);
    if (pthread_mutex_init(&metrics->mutex, NULL) != 0) {
        slwi_free(&allocator, metrics);
        return slwi_fail(err, SLW_E_NO_MEMORY, NULL, "no mutex for the metrics");
    }
    slwi_ref_init(&metrics->ref, destroy_metrics);
    metrics->tag = METRICS_TAG;
    metrics->lock = &metrics->mutex;
    metrics->allocator = allocator;
    metrics->listener = options->listener;
    metrics->context = options->context;
    metrics->generation = slwi_fork_generation();
    for (uint32_t phase = 0; phase < SLW_PHASE_COUNT; phase++) {
        metrics->rows[SLWI_METRICS_ROWS + phase].phase = phase;
        metrics->rows[SLWI_METRICS_ROWS + phase].overflow = 1;
    }
    *out = metrics;
    return SLW_OK;
}

void slw_metrics_release(slw_metrics **metrics) {
    if (metrics == NULL || *metrics == NULL) return;
    slwi_release(*metrics);
    *metrics = NULL;
}

static int same_text(const char *row_text, size_t capacity, const char *text) {
    return strncmp(row_text, text != NULL ? text : "", capacity - 1) == 0;
}

static void set_text(char *row_text, size_t capacity, const char *text) {
    size_t size = text != NULL ? strlen(text) : 0;
    if (size > capacity - 1) size = capacity - 1;
    if (size > 0) memcpy(row_text, text, size);
    row_text[size] = '\0';
}

/* The row of an event; the phase's overflow row when the table is full. Called with the mutex held. */
static slwi_metrics_row *row_of(slw_metrics *metrics, const slw_event *event) {
    for (size_t i = 0; i < metrics->count; i++) {
        slwi_metrics_row *row = &metrics->rows[i];
        if (row->phase == (uint32_t)event->phase && same_text(row->backend, sizeof row->backend, event->backend) &&
            same_text(row->target, sizeof row->target, event->target) &&
            same_text(row->stage, sizeof row->stage, event->stage))
            return row;
    }
    if (metrics->count == SLWI_METRICS_ROWS) return &metrics->rows[SLWI_METRICS_ROWS + (uint32_t)event->phase];
    slwi_metrics_row *row = &metrics->rows[metrics->count++];
    row->phase = (uint32_t)event->phase;
    set_text(row->backend, sizeof row->backend, event->backend);
    set_text(row->target, sizeof row->target, event->target);
    set_text(row->stage, sizeof row->stage, event->stage);
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

static size_t outcome_index(const char *outcome) {
    size_t failed = 0;
    for (size_t i = 0; i < SLWI_METRICS_OUTCOMES; i++) {
        if (strcmp(slwi_metrics_outcome_names[i], outcome) == 0) return i;
        if (strcmp(slwi_metrics_outcome_names[i], "FAILED") == 0) failed = i;
    }
    return failed;
}

static void count_event(slw_metrics *metrics, const slw_event *event) {
    if (metrics->generation != slwi_fork_generation()) return;
    (void)pthread_mutex_lock(&metrics->mutex);
    slwi_metrics_row *row = row_of(metrics, event);
    row->count++;
    row->bytes = add_saturated(row->bytes, event->bytes);
    row->total_ns = add_saturated(row->total_ns, event->duration_ns);
    row->outcomes[outcome_index(event->outcome)]++;
    row->buckets[bucket_of(event->duration_ns)]++;
    (void)pthread_mutex_unlock(&metrics->mutex);
}

slwi_moment slwi_moment_begin(slw_metrics *metrics, slw_phase phase) {
    slwi_moment moment = {metrics, phase, NULL, NULL, NULL, NULL, NULL, 0, 0, UINT64_MAX};
    if (metrics != NULL) moment.start_ns = slwi_now_ns();
    return moment;
}

slw_code slwi_moment_send(slwi_moment *moment, slw_code code, const slw_error *err) {
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
        .error = code != SLW_OK ? err : NULL,
    };
    count_event(moment->metrics, &event);
    if (moment->metrics->listener != NULL) moment->metrics->listener(moment->metrics->context, &event);
    return code;
}

slw_code slwi_metrics_copy(const slw_metrics *metrics, slwi_metrics_row **out, size_t *count, slw_allocator *allocator,
                           slw_error *err) {
    if (metrics == NULL || metrics->tag != METRICS_TAG)
        return slwi_fail(err, SLW_E_USAGE, "BAD_OBJECT", "this is not a slw_metrics");
    /* All rows are copied, used or not, so that nothing is allocated under the mutex. */
    const size_t total = SLWI_METRICS_ROWS + SLW_PHASE_COUNT;
    slwi_metrics_row *rows = slwi_alloc_array(&metrics->allocator, total, sizeof *rows);
    if (rows == NULL) return slwi_fail_memory(err, total * sizeof *rows);
    const int ours = metrics->generation == slwi_fork_generation();
    if (ours) (void)pthread_mutex_lock(metrics->lock);
    size_t used = metrics->count;
    memcpy(rows, metrics->rows, used * sizeof *rows);
    for (size_t i = SLWI_METRICS_ROWS; i < total; i++)
        if (metrics->rows[i].count > 0) rows[used++] = metrics->rows[i];
    if (ours) (void)pthread_mutex_unlock(metrics->lock);
    *out = rows;
    *count = used;
    *allocator = metrics->allocator;
    return SLW_OK;
}
