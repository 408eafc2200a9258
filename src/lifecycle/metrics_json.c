/* The JSON snapshot of the counters. Canonical: the same counts give the same text. */
#include <string.h>

#include "fail.h"
#include "json.h"
#include "measure.h"
#include "memory.h"

static int compare_text(const char *a, const char *b) {
    return strcmp(a, b);
}

/* Rows in the order of the document: phase, backend, target, stage, and what had no row of its own last. */
static int compare_rows(const slwi_metrics_row *a, const slwi_metrics_row *b) {
    if (a->phase != b->phase) return a->phase < b->phase ? -1 : 1;
    if (a->overflow != b->overflow) return a->overflow < b->overflow ? -1 : 1;
    int order = compare_text(a->backend, b->backend);
    if (order == 0) order = compare_text(a->target, b->target);
    if (order == 0) order = compare_text(a->stage, b->stage);
    return order;
}

/* By insertion: qsort may allocate behind the allocator's back, and the rows are few. */
static void sort_rows(slwi_metrics_row *rows, size_t count) {
    for (size_t i = 1; i < count; i++) {
        const slwi_metrics_row row = rows[i];
        size_t at = i;
        for (; at > 0 && compare_rows(&rows[at - 1], &row) > 0; at--) rows[at] = rows[at - 1];
        rows[at] = row;
    }
}

static void put_optional(slwi_json_writer *writer, const char *name, const char *text) {
    slwi_json_key(writer, name);
    slwi_json_put_text(writer, text[0] != '\0' ? text : NULL);
}

static void put_number(slwi_json_writer *writer, const char *name, uint64_t value) {
    slwi_json_key(writer, name);
    slwi_json_put_u64(writer, value);
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
    put_optional(writer, "backend", row->backend);
    put_number(writer, "bytes", row->bytes);
    put_number(writer, "count", row->count);
    put_histogram(writer, row);
    slwi_json_key(writer, "outcomes");
    slwi_json_object_begin(writer);
    for (size_t i = 0; i < SLWI_METRICS_OUTCOMES; i++)
        if (row->outcomes[i] > 0) put_number(writer, slwi_metrics_outcome_names[i], row->outcomes[i]);
    slwi_json_object_end(writer);
    slwi_json_key(writer, "overflow");
    slwi_json_put_bool(writer, (int)row->overflow);
    slwi_json_key(writer, "phase");
    slwi_json_put_text(writer, slw_phase_name((slw_phase)row->phase));
    put_optional(writer, "stage", row->stage);
    put_optional(writer, "target", row->target);
    put_number(writer, "total_ns", row->total_ns);
    slwi_json_object_end(writer);
}

static uint64_t hits_of(const slwi_metrics_row *row) {
    for (size_t i = 0; i < SLWI_METRICS_OUTCOMES; i++)
        if (strcmp(slwi_metrics_outcome_names[i], "HIT") == 0) return row->outcomes[i];
    return 0;
}

/* One line a (backend, target) that was looked up. */
static void put_hit_ratios(slwi_json_writer *writer, const slwi_metrics_row *rows, size_t count) {
    slwi_json_key(writer, "hit_ratio");
    slwi_json_array_begin(writer);
    for (size_t i = 0; i < count; i++) {
        const slwi_metrics_row *row = &rows[i];
        if (row->phase != SLW_PHASE_LOOKUP || row->count == 0) continue;
        slwi_json_object_begin(writer);
        put_optional(writer, "backend", row->backend);
        put_number(writer, "hits", hits_of(row));
        put_number(writer, "lookups", row->count);
        slwi_json_key(writer, "ratio");
        slwi_json_put_double(writer, (double)hits_of(row) / (double)row->count);
        put_optional(writer, "target", row->target);
        slwi_json_object_end(writer);
    }
    slwi_json_array_end(writer);
}

/* Creation to first successful launch, by the architecture of the device. */
static void put_first_launches(slwi_json_writer *writer, const slwi_metrics_row *rows, size_t count) {
    slwi_json_key(writer, "creation_to_first_launch");
    slwi_json_array_begin(writer);
    for (size_t i = 0; i < count; i++) {
        const slwi_metrics_row *row = &rows[i];
        if (row->phase != SLW_PHASE_FIRST_LAUNCH || row->count == 0) continue;
        slwi_json_object_begin(writer);
        put_number(writer, "count", row->count);
        put_number(writer, "mean_ns", row->total_ns / row->count);
        put_optional(writer, "target", row->target);
        slwi_json_object_end(writer);
    }
    slwi_json_array_end(writer);
}

slw_code slw_metrics_snapshot(const slw_metrics *metrics, slw_text *out, slw_error *err) {
    slwi_error_reset(err);
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "slw_metrics_snapshot needs `out`");
    slwi_metrics_row *rows = NULL;
    size_t count = 0;
    slw_allocator allocator;
    slw_code rc = slwi_metrics_copy(metrics, &rows, &count, &allocator, err);
    if (rc != SLW_OK) return rc;
    sort_rows(rows, count);

    slwi_buffer buffer;
    slwi_buffer_init(&buffer, &allocator, SIZE_MAX);
    slwi_json_writer writer;
    slwi_json_begin(&writer, &buffer, 1);
    slwi_json_object_begin(&writer);
    put_first_launches(&writer, rows, count);
    put_hit_ratios(&writer, rows, count);
    put_number(&writer, "schema", 1);
    slwi_json_key(&writer, "transitions");
    slwi_json_array_begin(&writer);
    for (size_t i = 0; i < count; i++) put_row(&writer, &rows[i]);
    slwi_json_array_end(&writer);
    slwi_json_object_end(&writer);
    slwi_free(&allocator, rows);

    rc = slwi_buffer_status(&buffer, err);
    if (rc == SLW_OK) rc = slwi_buffer_take(&buffer, out, err);
    slwi_buffer_free(&buffer);
    return rc;
}

slw_code slw_metrics_export(const slw_metrics *metrics, int format, slw_text *out, slw_error *err) {
    if (format == SLW_EXPORT_JSON) return slw_metrics_snapshot(metrics, out, err);
    slwi_error_reset(err);
    if (format == SLW_EXPORT_OPENMETRICS || format == SLW_EXPORT_TRACE)
        return slwi_fail(err, SLW_E_UNSUPPORTED, NULL, "%s is not exported by this version",
                         format == SLW_EXPORT_TRACE ? "a trace" : "OpenMetrics text");
    return slwi_fail(err, SLW_E_USAGE, NULL, "%d is no export format", format);
}
