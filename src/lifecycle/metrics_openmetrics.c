/* The counters as OpenMetrics 1.0 text. All numbers are made from integers: the text does not depend on a locale, and a
 * sum of nanoseconds loses nothing. */
#include <string.h>

#include <slipway/version.h>

#include "fail.h"
#include "metrics_state.h"

/* The buckets of the exposition are bounded by 2^i - 1 ns, inclusive, as OpenMetrics counts: that is where the own
   buckets of the counters part. From a microsecond to half an hour. */
#define FIRST_BUCKET 10u
#define LAST_BUCKET  41u

typedef struct labels {
    slwi_buffer *out;
    int count;
} labels;

static void put_label(labels *set, const char *name, const char *value) {
    slwi_buffer *out = set->out;
    slwi_buffer_append_char(out, set->count++ == 0 ? '{' : ',');
    slwi_buffer_append_text(out, name);
    slwi_buffer_append_text(out, "=\"");
    for (const char *at = value; *at != '\0'; at++) {
        if (*at == '\n') {
            slwi_buffer_append_text(out, "\\n");
            continue;
        }
        if (*at == '\\' || *at == '"') slwi_buffer_append_char(out, '\\');
        slwi_buffer_append_char(out, *at);
    }
    slwi_buffer_append_char(out, '"');
}

/* An empty label is none. */
static void put_present(labels *set, const char *name, const char *value) {
    if (value[0] != '\0') put_label(set, name, value);
}

static void put_value(labels *set, uint64_t value) {
    slwi_buffer_append_text(set->out, set->count > 0 ? "} " : " ");
    slwi_buffer_append_u64(set->out, value);
    slwi_buffer_append_char(set->out, '\n');
}

/* Billionths as a decimal fraction, without zeros at its end. */
static size_t decimal(uint64_t billionths, char out[40]) {
    char digits[30];
    size_t size = 0;
    const uint64_t whole = billionths / 1000000000u;
    uint64_t part = billionths % 1000000000u;
    uint64_t rest = whole;
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    while (count > 0) out[size++] = digits[--count];
    out[size++] = '.';
    for (uint64_t unit = 100000000u; size == 0 || out[size - 1] == '.' || part > 0; unit /= 10) {
        out[size++] = (char)('0' + part / unit);
        part %= unit;
    }
    out[size] = '\0';
    return size;
}

static void put_billionths(labels *set, uint64_t billionths) {
    char text[40];
    slwi_buffer_append_text(set->out, set->count > 0 ? "} " : " ");
    slwi_buffer_append(set->out, text, decimal(billionths, text));
    slwi_buffer_append_char(set->out, '\n');
}

static void put_family(slwi_buffer *out, const char *name, const char *type, const char *unit, const char *help) {
    slwi_buffer_printf(out, "# TYPE %s %s\n", name, type);
    if (unit != NULL) slwi_buffer_printf(out, "# UNIT %s %s\n", name, unit);
    slwi_buffer_printf(out, "# HELP %s %s\n", name, help);
}

/* What had no series of its own is told from a backend that is called "other" by one label more. */
static labels row_labels(slwi_buffer *out, const char *name, const slwi_metrics_row *row, int with_phase) {
    slwi_buffer_append_text(out, name);
    labels set = {out, 0};
    if (with_phase) put_label(&set, "phase", slw_phase_name((slw_phase)row->phase));
    if (row->overflow) {
        put_label(&set, "backend", "other");
        put_label(&set, "target", "other");
        if (row->phase == SLW_PHASE_STAGE) put_label(&set, "stage", "other");
        put_label(&set, "overflow", "true");
        return set;
    }
    put_present(&set, "backend", row->labels.backend);
    put_present(&set, "target", row->labels.target);
    put_present(&set, "stage", row->labels.stage);
    return set;
}

static void put_histogram(slwi_buffer *out, const slwi_metrics_row *row) {
    uint64_t below = 0;
    size_t bucket = 0;
    for (size_t bound = FIRST_BUCKET; bound <= LAST_BUCKET; bound++) {
        for (; bucket <= bound; bucket++) below += row->buckets[bucket];
        char le[40];
        (void)decimal(((uint64_t)1 << bound) - 1, le);
        labels set = row_labels(out, "slipway_transition_duration_seconds_bucket", row, 1);
        put_label(&set, "le", le);
        put_value(&set, below);
    }
    labels set = row_labels(out, "slipway_transition_duration_seconds_bucket", row, 1);
    put_label(&set, "le", "+Inf");
    put_value(&set, row->count);
    set = row_labels(out, "slipway_transition_duration_seconds_count", row, 1);
    put_value(&set, row->count);
    set = row_labels(out, "slipway_transition_duration_seconds_sum", row, 1);
    put_billionths(&set, row->total_ns);
}

static void put_transitions(slwi_buffer *out, const slwi_metrics_view *view) {
    put_family(out, "slipway_transition_duration_seconds", "histogram", "seconds",
               "How long transitions took; of first_launch from the creation on, by the device's architecture.");
    for (size_t i = 0; i < view->row_count; i++) put_histogram(out, &view->rows[i]);

    put_family(out, "slipway_transitions", "counter", NULL, "Transitions by their outcome.");
    for (size_t i = 0; i < view->row_count; i++)
        for (size_t outcome = 0; outcome < SLWI_METRICS_OUTCOMES; outcome++) {
            if (view->rows[i].outcomes[outcome] == 0) continue;
            labels set = row_labels(out, "slipway_transitions_total", &view->rows[i], 1);
            put_label(&set, "outcome", slwi_metrics_outcome_names[outcome]);
            put_value(&set, view->rows[i].outcomes[outcome]);
        }

    put_family(out, "slipway_transition_bytes", "counter", "bytes",
               "Bytes of entries found, compiled, hydrated, read and loaded.");
    for (size_t i = 0; i < view->row_count; i++) {
        labels set = row_labels(out, "slipway_transition_bytes_total", &view->rows[i], 1);
        put_value(&set, view->rows[i].bytes);
    }
}

static void put_hit_ratios(slwi_buffer *out, const slwi_metrics_view *view) {
    const size_t hit = slwi_metrics_outcome_index("HIT");
    put_family(out, "slipway_lookup_hit_ratio", "gauge", "ratio", "Look-ups that found an entry, of all.");
    for (size_t i = 0; i < view->row_count; i++) {
        const slwi_metrics_row *row = &view->rows[i];
        if (row->phase != SLW_PHASE_LOOKUP) continue;
        labels set = row_labels(out, "slipway_lookup_hit_ratio", row, 0);
        put_billionths(&set, (uint64_t)((double)row->outcomes[hit] / (double)row->count * 1e9 + 0.5));
    }
}

static void put_errors(slwi_buffer *out, const slwi_metrics_view *view) {
    put_family(out, "slipway_errors", "counter", NULL, "Transitions that failed, by code. A miss is no error.");
    for (size_t i = 0; i < view->error_count; i++) {
        const slwi_metrics_error *row = &view->errors[i];
        slwi_buffer_append_text(out, "slipway_errors_total");
        labels set = {out, 0};
        put_label(&set, "phase", slw_phase_name((slw_phase)row->phase));
        put_present(&set, "backend", row->overflow ? "other" : row->backend);
        put_label(&set, "code", row->code != NULL ? row->code : "other");
        if (row->overflow) put_label(&set, "overflow", "true");
        put_value(&set, row->count);
    }
}

static void put_rest(slwi_buffer *out, const slwi_metrics_view *view) {
    if (view->trace_capacity > 0) {
        put_family(out, "slipway_trace_dropped_events", "counter", "events",
                   "Events that are in the trace no more, because it is full.");
        slwi_buffer_append_text(out, "slipway_trace_dropped_events_total");
        labels none = {out, 0};
        put_value(&none, slwi_metrics_view_dropped(view));
    }
    /* A gauge and not an info: readers of the older text format, which know no info, then read the file too. */
    put_family(out, "slipway_build_info", "gauge", NULL, "The library that counted.");
    slwi_buffer_append_text(out, "slipway_build_info");
    labels set = {out, 0};
    put_label(&set, "version", slw_version());
    put_value(&set, 1);
    slwi_buffer_append_text(out, "# EOF\n");
}

slw_code slwi_metrics_openmetrics(const slw_metrics *metrics, slw_text *out, slw_error *err) {
    slwi_metrics_view *view = NULL;
    const slw_code rc = slwi_metrics_view_take(metrics, &view, err);
    if (rc != SLW_OK) return rc;
    const slw_allocator allocator = view->allocator;
    slwi_buffer buffer;
    slwi_buffer_init(&buffer, &allocator, SIZE_MAX);
    put_transitions(&buffer, view);
    put_hit_ratios(&buffer, view);
    put_errors(&buffer, view);
    put_rest(&buffer, view);
    slwi_metrics_view_free(view);
    return slwi_metrics_text(&buffer, out, err);
}
