/* The ring of the last events, and their text as Chrome trace events, which Perfetto opens.
 *
 * A transition is a complete event ("X") of its thread: what ran inside it lies inside it. The time from a creation to
 * the first launch is none of a thread's own - the creations of one thread overlap, and the launch may be another's -
 * and is an asynchronous pair ("b", "e") with an id. */
#include <stdatomic.h>
#include <string.h>

#include "fail.h"
#include "heap_sort.h"
#include "json.h"
#include "memory.h"
#include "metrics_state.h"

#include <slipway/version.h>

uint32_t slwi_trace_thread(void) {
    static atomic_uint_fast32_t threads;
    static _Thread_local uint32_t mine;
    if (mine == 0) mine = (uint32_t)atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
    return mine;
}

void slwi_trace_put(slwi_trace *trace, const slw_event *event, const slwi_metrics_labels *labels, uint32_t thread) {
    slwi_trace_event *at = &trace->events[trace->recorded % trace->capacity];
    const size_t key_size = event->key != NULL ? strnlen(event->key, sizeof at->key - 1) : 0;
    at->start_ns = event->start_ns;
    at->duration_ns = event->duration_ns;
    at->bytes = event->bytes;
    at->sequence = trace->recorded++;
    at->thread = thread;
    at->phase = (uint32_t)event->phase;
    at->outcome = slwi_metrics_outcome_names[slwi_metrics_outcome_index(event->outcome)];
    at->code = slw_code_name(event->code);
    at->labels = *labels;
    if (key_size > 0) memcpy(at->key, event->key, key_size);
    at->key[key_size] = '\0';
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

typedef struct place {
    uint64_t start_ns;
    uint64_t duration_ns;
    uint64_t sequence;
    size_t index;
} place;

/* By the start; of two at one instant the longer first, and of two alike the one that ended later: what contains comes
   before what it contains. */
static int compare_places(const void *left, const void *right) {
    const place *a = left;
    const place *b = right;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    if (a->duration_ns != b->duration_ns) return a->duration_ns > b->duration_ns ? -1 : 1;
    return a->sequence == b->sequence ? 0 : a->sequence > b->sequence ? -1 : 1;
}

static void put_string(slwi_buffer *out, const char *name, const char *text) {
    slwi_buffer_append_char(out, '"');
    slwi_buffer_append_text(out, name);
    slwi_buffer_append_text(out, "\":");
    slwi_json_append_string(out, (slw_bytes){text, strlen(text)});
}

/* Microseconds, with all the nanoseconds there are. */
static void put_time(slwi_buffer *out, const char *name, uint64_t ns) {
    slwi_buffer_printf(out, ",\"%s\":%llu.%03u", name, (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
}

static void put_head(slwi_buffer *out, const slwi_trace_copy *copy, const slwi_trace_event *event, const char *type) {
    const int is_stage = event->phase == SLW_PHASE_STAGE && event->labels.stage[0] != '\0';
    slwi_buffer_append_text(out, ",\n{");
    put_string(out, "name", is_stage ? event->labels.stage : slw_phase_name((slw_phase)event->phase));
    slwi_buffer_printf(out, ",\"cat\":\"slipway\",\"ph\":\"%s\",\"pid\":%llu,\"tid\":%u", type,
                       (unsigned long long)copy->process, (unsigned)event->thread);
}

static void put_present(slwi_buffer *out, const char *name, const char *text) {
    if (text[0] == '\0') return;
    put_string(out, name, text);
    slwi_buffer_append_char(out, ',');
}

static void put_args(slwi_buffer *out, const slwi_trace_event *event) {
    slwi_buffer_append_text(out, ",\"args\":{");
    put_string(out, "phase", slw_phase_name((slw_phase)event->phase));
    slwi_buffer_append_char(out, ',');
    put_present(out, "key", event->key);
    put_present(out, "backend", event->labels.backend);
    put_present(out, "target", event->labels.target);
    put_present(out, "stage", event->labels.stage);
    put_string(out, "outcome", event->outcome);
    slwi_buffer_append_char(out, ',');
    put_string(out, "code", event->code);
    slwi_buffer_append_text(out, ",\"bytes\":");
    slwi_buffer_append_u64(out, event->bytes);
    slwi_buffer_append_text(out, "}}");
}

static uint64_t end_of(const slwi_trace_event *event) {
    const uint64_t room = UINT64_MAX - event->start_ns;
    return event->start_ns + (event->duration_ns < room ? event->duration_ns : room);
}

static void put_event(slwi_buffer *out, const slwi_trace_copy *copy, const slwi_trace_event *event) {
    if (event->phase != SLW_PHASE_FIRST_LAUNCH) {
        put_head(out, copy, event, "X");
        put_time(out, "ts", event->start_ns);
        put_time(out, "dur", event->duration_ns);
        put_args(out, event);
        return;
    }
    put_head(out, copy, event, "b");
    slwi_buffer_printf(out, ",\"id2\":{\"local\":\"0x%llx\"}", (unsigned long long)event->sequence);
    put_time(out, "ts", event->start_ns);
    put_args(out, event);
    put_head(out, copy, event, "e");
    slwi_buffer_printf(out, ",\"id2\":{\"local\":\"0x%llx\"}", (unsigned long long)event->sequence);
    put_time(out, "ts", end_of(event));
    slwi_buffer_append_char(out, '}');
}

/* What is missing is said twice: for programs beside the events, for people as a mark at the oldest that is there. */
static void put_trace(slwi_buffer *out, const slwi_trace_copy *copy, const place *places) {
    const unsigned long long dropped = (unsigned long long)(copy->recorded - copy->count);
    slwi_buffer_printf(
        out,
        "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped_events\":%llu,\"trace_events\":%llu,"
        "\"version\":\"%s\"},\"traceEvents\":[\n"
        "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%llu,\"tid\":0,\"args\":{\"name\":\"slipway\"}}",
        dropped, (unsigned long long)copy->capacity, slw_version(), (unsigned long long)copy->process);
    if (dropped > 0 && copy->count > 0) {
        const slwi_trace_event *first = &copy->events[places[0].index];
        slwi_buffer_printf(out,
                           ",\n{\"name\":\"%llu older events dropped\",\"cat\":\"slipway\",\"ph\":\"i\",\"s\":\"p\","
                           "\"pid\":%llu,\"tid\":%u",
                           dropped, (unsigned long long)copy->process, (unsigned)first->thread);
        put_time(out, "ts", first->start_ns);
        slwi_buffer_append_char(out, '}');
    }
    for (size_t i = 0; i < copy->count; i++) put_event(out, copy, &copy->events[places[i].index]);
    slwi_buffer_append_text(out, "\n]}\n");
}

slw_code slwi_metrics_trace(const slw_metrics *metrics, slw_text *out, slw_error *err) {
    slwi_trace_copy copy;
    slw_code rc = slwi_metrics_trace_take(metrics, &copy, err);
    if (rc != SLW_OK) return rc;
    place *places = slwi_alloc_array(&copy.allocator, copy.count, sizeof *places);
    slwi_buffer buffer;
    slwi_buffer_init(&buffer, &copy.allocator, SIZE_MAX);
    if (places != NULL) {
        for (size_t i = 0; i < copy.count; i++) {
            const slwi_trace_event *event = &copy.events[i];
            places[i] = (place){event->start_ns, event->duration_ns, event->sequence, i};
        }
        slwi_heap_sort(places, copy.count, sizeof *places, compare_places);
        put_trace(&buffer, &copy, places);
        rc = slwi_metrics_text(&buffer, out, err);
    } else {
        rc = slwi_fail_memory(err, copy.count * sizeof *places);
    }
    slwi_free(&copy.allocator, places);
    slwi_free(&copy.allocator, copy.events);
    return rc;
}
