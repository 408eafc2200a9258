/* The JSON snapshot of the counters. Canonical: the same counts give the same text. */
#include <string.h>

#include "fail.h"
#include "json.h"
#include "metrics_state.h"

static void put_optional(slwi_json_writer *writer, const char *name, const char *text) {
    slwi_json_key(writer, name);
    slwi_json_put_text(writer, text != NULL && text[0] != '\0' ? text : NULL);
}

static void put_number(slwi_json_writer *writer, const char *name, uint64_t value) {
    slwi_json_key(writer, name);
    slwi_json_put_u64(writer, value);
}

static void put_truth(slwi_json_writer *writer, const char *name, uint32_t value) {
    slwi_json_key(writer, name);
    slwi_json_put_bool(writer, value != 0);
}

/* Bucket i is written as its exclusive upper bound 2^i; empty ones are left out, the last has no bound (null). */
static void put_histogram(slwi_json_writer *writer, const slwi_metrics_row *row) {
    slwi_json_key(writer, "histogram");
    slwi_json_array_begin(writer);
    for (size_t i = 0; i < SLWI_METRICS_BUCKETS; i++) {
        if (row->buckets[i] == 0) continue;
        slwi_json_object_begin(writer);
        slwi_json_key(writer, "below_ns");
        if (i + 1 < SLWI_METRICS_BUCKETS)
            slwi_json_put_u64(writer, (uint64_t)1 << i);
        else
            slwi_json_put_null(writer);
        put_number(writer, "count", row->buckets[i]);
        slwi_json_object_end(writer);
    }
    slwi_json_array_end(writer);
}

static void put_row(slwi_json_writer *writer, const slwi_metrics_row *row) {
    slwi_json_object_begin(writer);
    put_optional(writer, "backend", row->labels.backend);
    put_number(writer, "bytes", row->bytes);
    put_number(writer, "count", row->count);
    put_histogram(writer, row);
    slwi_json_key(writer, "outcomes");
    slwi_json_object_begin(writer);
    for (size_t i = 0; i < SLWI_METRICS_OUTCOMES; i++)
        if (row->outcomes[i] > 0) put_number(writer, slwi_metrics_outcome_names[i], row->outcomes[i]);
    slwi_json_object_end(writer);
    put_truth(writer, "overflow", row->overflow);
    slwi_json_key(writer, "phase");
    slwi_json_put_text(writer, slw_phase_name((slw_phase)row->phase));
    put_optional(writer, "stage", row->labels.stage);
    put_optional(writer, "target", row->labels.target);
    put_number(writer, "total_ns", row->total_ns);
    slwi_json_object_end(writer);
}

static void put_transitions(slwi_json_writer *writer, const slwi_metrics_view *view) {
    slwi_json_key(writer, "transitions");
    slwi_json_array_begin(writer);
    for (size_t i = 0; i < view->row_count; i++) put_row(writer, &view->rows[i]);
    slwi_json_array_end(writer);
}

/* One object a (backend, target) that was looked up. */
static void put_hit_ratios(slwi_json_writer *writer, const slwi_metrics_view *view) {
    const size_t hit = slwi_metrics_outcome_index("HIT");
    slwi_json_key(writer, "hit_ratio");
    slwi_json_array_begin(writer);
    for (size_t i = 0; i < view->row_count; i++) {
        const slwi_metrics_row *row = &view->rows[i];
        if (row->phase != SLW_PHASE_LOOKUP) continue;
        slwi_json_object_begin(writer);
        put_optional(writer, "backend", row->labels.backend);
        put_number(writer, "hits", row->outcomes[hit]);
        put_number(writer, "lookups", row->count);
        put_truth(writer, "overflow", row->overflow);
        slwi_json_key(writer, "ratio");
        slwi_json_put_double(writer, (double)row->outcomes[hit] / (double)row->count);
        put_optional(writer, "target", row->labels.target);
        slwi_json_object_end(writer);
    }
    slwi_json_array_end(writer);
}

/* One object a (backend, target) of one phase: how much, how long. */
static void put_phase(slwi_json_writer *writer, const char *name, const slwi_metrics_view *view, slw_phase phase) {
    slwi_json_key(writer, name);
    slwi_json_array_begin(writer);
    for (size_t i = 0; i < view->row_count; i++) {
        const slwi_metrics_row *row = &view->rows[i];
        if (row->phase != (uint32_t)phase) continue;
        slwi_json_object_begin(writer);
        put_optional(writer, "backend", row->labels.backend);
        put_number(writer, "bytes", row->bytes);
        put_number(writer, "count", row->count);
        put_number(writer, "mean_ns", row->total_ns / row->count);
        put_truth(writer, "overflow", row->overflow);
        put_optional(writer, "target", row->labels.target);
        put_number(writer, "total_ns", row->total_ns);
        slwi_json_object_end(writer);
    }
    slwi_json_array_end(writer);
}

static int same_stage(const slwi_metrics_row *a, const slwi_metrics_row *b) {
    return a->phase == b->phase && a->overflow == b->overflow && strcmp(a->labels.backend, b->labels.backend) == 0 &&
           strcmp(a->labels.stage, b->labels.stage) == 0;
}

static uint64_t add_saturated(uint64_t a, uint64_t b) {
    return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

/* The sum over the targets of a (backend, stage), written where its first row stands. */
static void put_stage(slwi_json_writer *writer, const slwi_metrics_view *view, size_t first) {
    const slwi_metrics_row *of = &view->rows[first];
    uint64_t bytes = 0;
    uint64_t count = 0;
    uint64_t total_ns = 0;
    for (size_t i = first; i < view->row_count; i++) {
        const slwi_metrics_row *row = &view->rows[i];
        if (!same_stage(of, row)) continue;
        bytes = add_saturated(bytes, row->bytes);
        count += row->count;
        total_ns = add_saturated(total_ns, row->total_ns);
    }
    slwi_json_object_begin(writer);
    put_optional(writer, "backend", of->labels.backend);
    put_number(writer, "bytes", bytes);
    put_number(writer, "count", count);
    put_number(writer, "mean_ns", total_ns / count);
    put_truth(writer, "overflow", of->overflow);
    put_optional(writer, "stage", of->labels.stage);
    put_number(writer, "total_ns", total_ns);
    slwi_json_object_end(writer);
}

static void put_lowering(slwi_json_writer *writer, const slwi_metrics_view *view) {
    slwi_json_key(writer, "lowering");
    slwi_json_array_begin(writer);
    for (size_t i = 0; i < view->row_count; i++) {
        int first = view->rows[i].phase == SLW_PHASE_STAGE;
        for (size_t before = 0; first && before < i; before++)
            if (same_stage(&view->rows[before], &view->rows[i])) first = 0;
        if (first) put_stage(writer, view, i);
    }
    slwi_json_array_end(writer);
}

static void put_errors(slwi_json_writer *writer, const slwi_metrics_view *view) {
    slwi_json_key(writer, "errors");
    slwi_json_array_begin(writer);
    for (size_t i = 0; i < view->error_count; i++) {
        const slwi_metrics_error *row = &view->errors[i];
        slwi_json_object_begin(writer);
        put_optional(writer, "backend", row->backend);
        put_optional(writer, "code", row->code);
        put_number(writer, "count", row->count);
        put_truth(writer, "overflow", row->overflow);
        slwi_json_key(writer, "phase");
        slwi_json_put_text(writer, slw_phase_name((slw_phase)row->phase));
        slwi_json_object_end(writer);
    }
    slwi_json_array_end(writer);
}

static void put_trace(slwi_json_writer *writer, const slwi_metrics_view *view) {
    slwi_json_key(writer, "trace");
    slwi_json_object_begin(writer);
    put_number(writer, "capacity", view->trace_capacity);
    put_number(writer, "dropped", slwi_metrics_view_dropped(view));
    put_number(writer, "recorded", view->trace_recorded);
    slwi_json_object_end(writer);
}

slw_code slw_metrics_snapshot(const slw_metrics *metrics, slw_text *out, slw_error *err) {
    slwi_error_reset(err);
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "slw_metrics_snapshot needs `out`");
    slwi_metrics_view *view = NULL;
    const slw_code rc = slwi_metrics_view_take(metrics, &view, err);
    if (rc != SLW_OK) return rc;
    slwi_buffer buffer;
    const slw_allocator allocator = view->allocator;
    slwi_buffer_init(&buffer, &allocator, SIZE_MAX);
    slwi_json_writer writer;
    slwi_json_begin(&writer, &buffer, 1);
    slwi_json_object_begin(&writer);
    put_phase(&writer, "creation_to_first_launch", view, SLW_PHASE_FIRST_LAUNCH);
    put_phase(&writer, "device_load", view, SLW_PHASE_DEVICE_LOAD);
    put_errors(&writer, view);
    put_hit_ratios(&writer, view);
    put_phase(&writer, "hydrate", view, SLW_PHASE_HYDRATE);
    put_lowering(&writer, view);
    put_number(&writer, "schema", 1);
    put_trace(&writer, view);
    put_transitions(&writer, view);
    slwi_json_object_end(&writer);
    slwi_metrics_view_free(view);
    return slwi_metrics_text(&buffer, out, err);
}
