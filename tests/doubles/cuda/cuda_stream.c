/* Streams, events and memory. */
#include "cuda_calls.h"
#include "cuda_double.h"

#include <string.h>
#include <time.h>

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- Streams --------------------------------------------------------------------------------------------- */

static int stream_create(dcu_stream **out, unsigned flags) {
    dcu_context *context = NULL;
    const int code = dcu_current(&context);
    if (code != DCU_OK) return code;
    if (out == NULL || flags > 1) return DCU_INVALID_VALUE;
    dcu_stream *const stream = double_object_new(DCU_STREAM);
    if (stream == NULL) return DCU_OUT_OF_MEMORY;
    stream->context = context;
    *out = stream;
    return DCU_OK;
}
DOUBLE_API int cuStreamCreate(dcu_stream **out, unsigned flags) {
    DOUBLE_CALL(CALL_cuStreamCreate, stream_create(out, flags));
}

/* The queue and context of a stream; NULL is the current context's. */
static int find_queue(dcu_stream *stream, double_queue **queue, dcu_context **context) {
    if ((uintptr_t)stream <= 2) { /* NULL, the legacy stream by name, the thread's own */
        const int code = dcu_current(context);
        if (code == DCU_OK) *queue = &(*context)->queue;
        return code;
    }
    const int state = double_object_state(stream, DCU_STREAM);
    if (state != 1) {
        double_violation("what is used as a stream is %s", state == 0 ? "none" : "destroyed");
        return DCU_INVALID_HANDLE;
    }
    *context = stream->context;
    *queue = &stream->queue;
    return dcu_healthy(stream->context);
}

static int stream_destroy(dcu_stream *stream) {
    if (double_object_state(stream, DCU_STREAM) != 1) {
        double_violation("what is destroyed is no stream");
        return DCU_INVALID_HANDLE;
    }
    const int code = dcu_healthy(stream->context);
    double_settings[DOUBLE_HOLD] ? (void)0 : double_queue_run(&stream->queue);
    if (stream->queue.first != NULL) {
        /* The real one goes on by itself; what waits here is handed to the context. */
        double_queue *const heir = &stream->context->queue;
        if (heir->last != NULL) {
            heir->last->next = stream->queue.first;
        } else {
            heir->first = stream->queue.first;
        }
        heir->last = stream->queue.last;
        stream->queue = (double_queue){NULL, NULL};
    }
    stream->object.alive = 0;
    return code;
}
DOUBLE_API int cuStreamDestroy_v2(dcu_stream *stream) {
    DOUBLE_CALL(CALL_cuStreamDestroy_v2, stream_destroy(stream));
}

static int wait_for(double_queue *queue, const dcu_context *context) {
    const uint64_t id = context->id;
    while (queue->first != NULL && dcu_healthy(context) == DCU_OK && context->id == id) double_wait();
    return dcu_healthy(context);
}

int dcu_captures_in(const dcu_context *context) {
    dcu_stream *const stream = (dcu_stream *)(uintptr_t)double_settings[DOUBLE_CAPTURING_STREAM];
    return stream != NULL && double_object_state(stream, DCU_STREAM) == 1 && stream->context == context;
}

/* Waiting for a capture, or asking how far it is, ends it. */
static int leave_captures_alone(const dcu_stream *stream) {
    return double_captures(stream) ? double_break_capture(DCU_STREAM_CAPTURE_UNSUPPORTED) : DCU_OK;
}

static int stream_synchronize(dcu_stream *stream) {
    double_queue *queue = NULL;
    dcu_context *context = NULL;
    int code = find_queue(stream, &queue, &context);
    if (code == DCU_OK) code = leave_captures_alone(stream);
    return code != DCU_OK ? code : wait_for(queue, context);
}
DOUBLE_API int cuStreamSynchronize(dcu_stream *stream) {
    DOUBLE_CALL(CALL_cuStreamSynchronize, stream_synchronize(stream));
}

static int stream_query(dcu_stream *stream) {
    double_queue *queue = NULL;
    dcu_context *context = NULL;
    int code = find_queue(stream, &queue, &context);
    if (code == DCU_OK) code = leave_captures_alone(stream);
    return code != DCU_OK ? code : queue->first != NULL ? DCU_NOT_READY : DCU_OK;
}
DOUBLE_API int cuStreamQuery(dcu_stream *stream) {
    DOUBLE_CALL(CALL_cuStreamQuery, stream_query(stream));
}

static int stream_context(dcu_stream *stream, dcu_context **out) {
    double_queue *queue = NULL;
    dcu_context *context = NULL;
    const int code = find_queue(stream, &queue, &context);
    if (code != DCU_OK) return code;
    if (out == NULL) return DCU_INVALID_VALUE;
    *out = context;
    return DCU_OK;
}
DOUBLE_API int cuStreamGetCtx(dcu_stream *stream, dcu_context **out) {
    DOUBLE_CALL(CALL_cuStreamGetCtx, stream_context(stream, out));
}

static int stream_capturing(dcu_stream *stream, int *out) {
    double_queue *queue = NULL;
    dcu_context *context = NULL;
    const int code = find_queue(stream, &queue, &context);
    if (code != DCU_OK) return code;
    if (out == NULL) return DCU_INVALID_VALUE;
    if (stream == NULL && dcu_captures_in(context)) return DCU_STREAM_CAPTURE_IMPLICIT; /* which ends no capture */
    *out = double_captures(stream);                                                     /* 1 active, 0 none */
    return DCU_OK;
}
DOUBLE_API int cuStreamIsCapturing(dcu_stream *stream, int *out) {
    DOUBLE_CALL(CALL_cuStreamIsCapturing, stream_capturing(stream, out));
}

typedef struct waiting {
    const dcu_context *context;
    int busy;
} waiting;
static void see_busy(void *object, void *context) {
    waiting *const w = context;
    const dcu_stream *const stream = object;
    if (stream->context == w->context && stream->queue.first != NULL) w->busy = 1;
}

static int synchronize(dcu_context *context) {
    const uint64_t id = context->id;
    for (;;) {
        waiting w = {context, context->queue.first != NULL};
        double_objects_each(DCU_STREAM, see_busy, &w);
        const int code = dcu_healthy(context);
        if (code != DCU_OK || !w.busy || context->id != id) return code;
        double_wait();
    }
}

static int synchronize_current(void) {
    dcu_context *context = NULL;
    int code = dcu_current(&context);
    if (code == DCU_OK) code = dcu_capture_forbids();
    if (code == DCU_OK && dcu_captures_in(context)) code = double_break_capture(DCU_STREAM_CAPTURE_UNSUPPORTED);
    return code != DCU_OK ? code : synchronize(context);
}
DOUBLE_API int cuCtxSynchronize(void) {
    DOUBLE_CALL(CALL_cuCtxSynchronize, synchronize_current());
}

static int synchronize_newer(dcu_context *context) {
    double_violation("cuCtxSynchronize as of 13.0 is called: it takes a context");
    if (context == NULL) return synchronize_current();
    return double_object_state(context, DCU_CONTEXT) != 1 ? DCU_INVALID_CONTEXT : synchronize(context);
}
DOUBLE_API int cuCtxSynchronize_v2(dcu_context *context) {
    DOUBLE_CALL(CALL_cuCtxSynchronize_v2, synchronize_newer(context));
}

/* ---- Events ---------------------------------------------------------------------------------------------- */

static int event_create(dcu_event **out, unsigned flags) {
    dcu_context *context = NULL;
    const int code = dcu_current(&context);
    if (code != DCU_OK) return code;
    if (out == NULL || flags > 7) return DCU_INVALID_VALUE;
    dcu_event *const event = double_object_new(DCU_EVENT);
    if (event == NULL) return DCU_OUT_OF_MEMORY;
    event->context = context;
    *out = event;
    return DCU_OK;
}
DOUBLE_API int cuEventCreate(dcu_event **out, unsigned flags) {
    DOUBLE_CALL(CALL_cuEventCreate, event_create(out, flags));
}

static int find_event(dcu_event *event) {
    const int state = double_object_state(event, DCU_EVENT);
    if (state == 1) return dcu_healthy(event->context);
    double_violation("what is used as an event is %s", state == 0 ? "none" : "destroyed");
    return DCU_INVALID_HANDLE;
}

static int event_destroy(dcu_event *event) {
    const int code = find_event(event);
    if (code != DCU_INVALID_HANDLE) event->object.alive = 0; /* its place stays, so work may still count it down */
    return code;
}
DOUBLE_API int cuEventDestroy_v2(dcu_event *event) {
    DOUBLE_CALL(CALL_cuEventDestroy_v2, event_destroy(event));
}

static int event_record(dcu_event *event, dcu_stream *stream) {
    double_queue *queue = NULL;
    dcu_context *context = NULL;
    int code = find_event(event);
    if (code == DCU_OK) code = find_queue(stream, &queue, &context);
    if (code != DCU_OK) return code;
    if (context != event->context) {
        double_violation("an event is recorded in another context's stream");
        return DCU_INVALID_HANDLE;
    }
    if (stream == NULL && dcu_captures_in(context)) return double_break_capture(DCU_STREAM_CAPTURE_IMPLICIT);
    event->captured = double_captures(stream);
    if (event->captured) return DCU_OK;
    event->recorded = 1;
    event->time_ns = now_ns();
    return double_queue_event(queue, &event->pending) ? DCU_OK : DCU_OUT_OF_MEMORY;
}
DOUBLE_API int cuEventRecord(dcu_event *event, dcu_stream *stream) {
    DOUBLE_CALL(CALL_cuEventRecord, event_record(event, stream));
}

/* A record in a capture says nothing about now; asking ends the capture. */
static int find_event_to_ask(dcu_event *event) {
    const int code = find_event(event);
    if (code == DCU_OK && event->captured) return double_break_capture(DCU_CAPTURED_EVENT);
    return code == DCU_OK ? dcu_capture_forbids() : code;
}

static int event_query(dcu_event *event) {
    const int code = find_event_to_ask(event);
    return code != DCU_OK ? code : event->pending > 0 ? DCU_NOT_READY : DCU_OK;
}
DOUBLE_API int cuEventQuery(dcu_event *event) {
    DOUBLE_CALL(CALL_cuEventQuery, event_query(event));
}

static int event_synchronize(dcu_event *event) {
    int code = find_event_to_ask(event);
    while (code == DCU_OK && event->pending > 0) {
        double_wait();
        code = find_event(event);
    }
    return code;
}
DOUBLE_API int cuEventSynchronize(dcu_event *event) {
    DOUBLE_CALL(CALL_cuEventSynchronize, event_synchronize(event));
}

static int event_elapsed(float *out, dcu_event *from, dcu_event *to) {
    int code = find_event(from);
    if (code == DCU_OK) code = find_event(to);
    if (code != DCU_OK) return code;
    if (out == NULL) return DCU_INVALID_VALUE;
    if (!from->recorded || !to->recorded) return DCU_INVALID_HANDLE;
    if (from->pending > 0 || to->pending > 0) return DCU_NOT_READY;
    *out = (float)((double)(to->time_ns - from->time_ns) / 1e6);
    return DCU_OK;
}
DOUBLE_API int cuEventElapsedTime(float *out, dcu_event *from, dcu_event *to) {
    DOUBLE_CALL(CALL_cuEventElapsedTime, event_elapsed(out, from, to));
}

/* ---- Memory ---------------------------------------------------------------------------------------------- */

static int memory_alloc(uint64_t *out, size_t size) {
    dcu_context *context = NULL;
    int code = dcu_current(&context);
    if (code == DCU_OK) code = dcu_capture_forbids();
    if (code != DCU_OK) return code;
    if (out == NULL || size == 0) return DCU_INVALID_VALUE;
    const uint64_t address = double_memory_alloc(size, context, NULL);
    if (address == 0) return DCU_OUT_OF_MEMORY;
    *out = address;
    return DCU_OK;
}
DOUBLE_API int cuMemAlloc_v2(uint64_t *out, size_t size) {
    DOUBLE_CALL(CALL_cuMemAlloc_v2, memory_alloc(out, size));
}

static int memory_free(uint64_t address) {
    dcu_context *context = NULL;
    int code = dcu_current(&context);
    if (code == DCU_INVALID_CONTEXT || address == 0) return code;
    if (code == DCU_OK) code = dcu_capture_forbids();
    if (code == DCU_STREAM_CAPTURE_UNSUPPORTED) return code;
    if (!double_memory_free(address) && code == DCU_OK) {
        double_violation("what is freed was not allocated");
        return DCU_INVALID_VALUE;
    }
    return code;
}
DOUBLE_API int cuMemFree_v2(uint64_t address) {
    DOUBLE_CALL(CALL_cuMemFree_v2, memory_free(address));
}

/* Copies on the NULL stream wait for what is before them in it. */
static int ready_to_copy(uint64_t address, const void *host, size_t size) {
    dcu_context *context = NULL;
    int code = dcu_current(&context);
    if (code == DCU_OK) code = dcu_capture_forbids();
    if (code == DCU_OK && dcu_captures_in(context)) code = double_break_capture(DCU_STREAM_CAPTURE_IMPLICIT);
    if (code == DCU_OK) code = wait_for(&context->queue, context);
    if (code != DCU_OK) return code;
    if (host == NULL || !double_memory_holds(address, size)) return DCU_INVALID_VALUE;
    return DCU_OK;
}

static int copy_in(uint64_t to, const void *from, size_t size) {
    const int code = ready_to_copy(to, from, size);
    if (code == DCU_OK) memcpy((void *)(uintptr_t)to, from, size);
    return code;
}
DOUBLE_API int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) {
    DOUBLE_CALL(CALL_cuMemcpyHtoD_v2, copy_in(to, from, size));
}

static int copy_out(void *to, uint64_t from, size_t size) {
    const int code = ready_to_copy(from, to, size);
    if (code == DCU_OK) memcpy(to, (const void *)(uintptr_t)from, size);
    return code;
}
DOUBLE_API int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) {
    DOUBLE_CALL(CALL_cuMemcpyDtoH_v2, copy_out(to, from, size));
}

static int set_bytes(uint64_t to, unsigned char value, size_t size) {
    const int code = ready_to_copy(to, &value, size);
    if (code == DCU_OK) memset((void *)(uintptr_t)to, value, size);
    return code;
}
DOUBLE_API int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t size) {
    DOUBLE_CALL(CALL_cuMemsetD8_v2, set_bytes(to, value, size));
}
