/* Streams, events and memory. */
#include "hip_calls.h"
#include "hip_double.h"

#include <string.h>

static int find_queue(dhip_stream *stream, double_queue **queue, int *device) {
    if (stream == NULL) {
        *device = dhip_current();
        *queue = &dhip_devices[*device].queue;
        return dhip_healthy(*device);
    }
    const int state = double_object_state(stream, DHIP_STREAM);
    if (state != 1) {
        double_violation("what is used as a stream is %s", state == 0 ? "none" : "destroyed");
        return DHIP_INVALID_HANDLE;
    }
    *device = stream->device;
    *queue = &stream->queue;
    return dhip_healthy(*device);
}

static int stream_create(dhip_stream **out, unsigned flags) {
    const int code = dhip_healthy(dhip_current());
    if (code != DHIP_OK) return code;
    if (out == NULL || flags > 1) return DHIP_INVALID_VALUE;
    dhip_stream *const stream = double_object_new(DHIP_STREAM);
    if (stream == NULL) return DHIP_OUT_OF_MEMORY;
    stream->device = dhip_current();
    *out = stream;
    return DHIP_OK;
}
DOUBLE_API int hipStreamCreateWithFlags(dhip_stream **out, unsigned flags) {
    DHIP_CALL(CALL_hipStreamCreateWithFlags, stream_create(out, flags));
}

static int wait_for(const double_queue *queue, int device) {
    while (queue->first != NULL && dhip_healthy(device) == DHIP_OK) double_wait();
    return dhip_healthy(device);
}

/* Waits for what is on it, unlike CUDA's. */
static int stream_destroy(dhip_stream *stream) {
    if (double_object_state(stream, DHIP_STREAM) != 1) {
        double_violation("what is destroyed is no stream");
        return DHIP_INVALID_HANDLE;
    }
    const int code = wait_for(&stream->queue, stream->device);
    double_queue_drop(&stream->queue);
    stream->object.alive = 0;
    return code;
}
DOUBLE_API int hipStreamDestroy(dhip_stream *stream) {
    DHIP_CALL(CALL_hipStreamDestroy, stream_destroy(stream));
}

int dhip_captures_on(int device) {
    dhip_stream *const stream = (dhip_stream *)(uintptr_t)double_settings[DOUBLE_CAPTURING_STREAM];
    return stream != NULL && double_object_state(stream, DHIP_STREAM) == 1 && stream->device == device;
}

/* Waiting for a capture, or asking how far it is, ends it. */
static int leave_captures_alone(const dhip_stream *stream) {
    return double_captures(stream) ? double_break_capture(DHIP_STREAM_CAPTURE_UNSUPPORTED) : DHIP_OK;
}

static int stream_synchronize(dhip_stream *stream) {
    double_queue *queue = NULL;
    int device = 0;
    int code = find_queue(stream, &queue, &device);
    if (code == DHIP_OK) code = leave_captures_alone(stream);
    return code != DHIP_OK ? code : wait_for(queue, device);
}
DOUBLE_API int hipStreamSynchronize(dhip_stream *stream) {
    DHIP_CALL(CALL_hipStreamSynchronize, stream_synchronize(stream));
}

static int stream_query(dhip_stream *stream) {
    double_queue *queue = NULL;
    int device = 0;
    int code = find_queue(stream, &queue, &device);
    if (code == DHIP_OK) code = leave_captures_alone(stream);
    return code != DHIP_OK ? code : queue->first != NULL ? DHIP_NOT_READY : DHIP_OK;
}
DOUBLE_API int hipStreamQuery(dhip_stream *stream) {
    DHIP_CALL(CALL_hipStreamQuery, stream_query(stream));
}

static int stream_capturing(dhip_stream *stream, int *out) {
    double_queue *queue = NULL;
    int device = 0;
    const int code = find_queue(stream, &queue, &device);
    if (code != DHIP_OK) return code;
    if (out == NULL) return DHIP_INVALID_VALUE;
    if (stream == NULL && dhip_captures_on(device)) return DHIP_STREAM_CAPTURE_IMPLICIT; /* which ends no capture */
    *out = double_captures(stream);                                                      /* 1 active, 0 none */
    return DHIP_OK;
}
DOUBLE_API int hipStreamIsCapturing(dhip_stream *stream, int *out) {
    DHIP_CALL(CALL_hipStreamIsCapturing, stream_capturing(stream, out));
}

typedef struct waiting {
    int device;
    int busy;
} waiting;
static void see_busy(void *object, void *context) {
    waiting *const w = context;
    const dhip_stream *const stream = object;
    if (stream->device == w->device && stream->queue.first != NULL) w->busy = 1;
}
static int synchronize(void) {
    const int device = dhip_current();
    int code = dhip_capture_forbids();
    if (code == DHIP_OK && dhip_captures_on(device)) code = double_break_capture(DHIP_STREAM_CAPTURE_UNSUPPORTED);
    while (code == DHIP_OK) {
        waiting w = {device, dhip_devices[device].queue.first != NULL};
        double_objects_each(DHIP_STREAM, see_busy, &w);
        code = dhip_healthy(device);
        if (!w.busy) break;
        if (code == DHIP_OK) double_wait();
    }
    return code;
}
DOUBLE_API int hipDeviceSynchronize(void) {
    DHIP_CALL(CALL_hipDeviceSynchronize, synchronize());
}

/* ---- Events ---------------------------------------------------------------------------------------------- */

static int event_create(dhip_event **out, unsigned flags) {
    const int code = dhip_healthy(dhip_current());
    if (code != DHIP_OK) return code;
    (void)flags;
    if (out == NULL) return DHIP_INVALID_VALUE;
    dhip_event *const event = double_object_new(DHIP_EVENT);
    if (event == NULL) return DHIP_OUT_OF_MEMORY;
    event->device = dhip_current();
    *out = event;
    return DHIP_OK;
}
DOUBLE_API int hipEventCreateWithFlags(dhip_event **out, unsigned flags) {
    DHIP_CALL(CALL_hipEventCreateWithFlags, event_create(out, flags));
}

static int find_event(dhip_event *event) {
    const int state = double_object_state(event, DHIP_EVENT);
    if (state == 1) return dhip_healthy(event->device);
    double_violation("what is used as an event is %s", state == 0 ? "none" : "destroyed");
    return DHIP_INVALID_HANDLE;
}

static int event_record(dhip_event *event, dhip_stream *stream) {
    double_queue *queue = NULL;
    int device = 0;
    int code = find_event(event);
    if (code == DHIP_OK) code = find_queue(stream, &queue, &device);
    if (code != DHIP_OK) return code;
    if (device != event->device) {
        double_violation("an event is recorded in another device's stream");
        return DHIP_INVALID_HANDLE;
    }
    if (stream == NULL && dhip_captures_on(device)) return double_break_capture(DHIP_STREAM_CAPTURE_IMPLICIT);
    event->captured = double_captures(stream);
    if (event->captured) return DHIP_OK;
    return double_queue_event(queue, &event->pending) ? DHIP_OK : DHIP_OUT_OF_MEMORY;
}
DOUBLE_API int hipEventRecord(dhip_event *event, dhip_stream *stream) {
    DHIP_CALL(CALL_hipEventRecord, event_record(event, stream));
}

/* A record in a capture says nothing about now; asking ends the capture. */
static int find_event_to_ask(dhip_event *event) {
    const int code = find_event(event);
    if (code == DHIP_OK && event->captured) return double_break_capture(DHIP_CAPTURED_EVENT);
    return code == DHIP_OK ? dhip_capture_forbids() : code;
}

static int event_query(dhip_event *event) {
    const int code = find_event_to_ask(event);
    return code != DHIP_OK ? code : event->pending > 0 ? DHIP_NOT_READY : DHIP_OK;
}
DOUBLE_API int hipEventQuery(dhip_event *event) {
    DHIP_CALL(CALL_hipEventQuery, event_query(event));
}

static int event_synchronize(dhip_event *event) {
    int code = find_event_to_ask(event);
    while (code == DHIP_OK && event->pending > 0) {
        double_wait();
        code = find_event(event);
    }
    return code;
}
DOUBLE_API int hipEventSynchronize(dhip_event *event) {
    DHIP_CALL(CALL_hipEventSynchronize, event_synchronize(event));
}

static int event_destroy(dhip_event *event) {
    const int code = find_event(event);
    if (code != DHIP_INVALID_HANDLE) event->object.alive = 0;
    return code;
}
DOUBLE_API int hipEventDestroy(dhip_event *event) {
    DHIP_CALL(CALL_hipEventDestroy, event_destroy(event));
}

/* ---- Memory ---------------------------------------------------------------------------------------------- */

static int memory_alloc(void **out, size_t size) {
    const int device = dhip_current();
    int code = dhip_healthy(device);
    if (code == DHIP_OK) code = dhip_capture_forbids();
    if (code != DHIP_OK) return code;
    if (out == NULL) return DHIP_INVALID_VALUE;
    const uint64_t address = double_memory_alloc(size, &dhip_devices[device], NULL);
    if (address == 0) return DHIP_OUT_OF_MEMORY;
    *out = (void *)(uintptr_t)address;
    return DHIP_OK;
}
DOUBLE_API int hipMalloc(void **out, size_t size) {
    DHIP_CALL(CALL_hipMalloc, memory_alloc(out, size));
}

static int memory_free(void *address) {
    if (address == NULL) return DHIP_OK;
    if (double_memory_free((uint64_t)(uintptr_t)address)) return dhip_healthy(dhip_current());
    double_violation("what is freed was not allocated");
    return DHIP_INVALID_VALUE;
}
DOUBLE_API int hipFree(void *address) {
    DHIP_CALL(CALL_hipFree, memory_free(address));
}

static int ready_to_copy(uint64_t address, const void *host, size_t size) {
    const int device = dhip_current();
    int code = dhip_healthy(device);
    if (code == DHIP_OK) code = dhip_capture_forbids();
    if (code == DHIP_OK && dhip_captures_on(device)) code = double_break_capture(DHIP_STREAM_CAPTURE_IMPLICIT);
    if (code == DHIP_OK) code = wait_for(&dhip_devices[device].queue, device);
    if (code != DHIP_OK) return code;
    return host == NULL || !double_memory_holds(address, size) ? DHIP_INVALID_VALUE : DHIP_OK;
}
static int copy_in(void *to, const void *from, size_t size) {
    const int code = ready_to_copy((uint64_t)(uintptr_t)to, from, size);
    if (code == DHIP_OK) memcpy(to, from, size);
    return code;
}
DOUBLE_API int hipMemcpyHtoD(void *to, const void *from, size_t size) {
    DHIP_CALL(CALL_hipMemcpyHtoD, copy_in(to, from, size));
}
static int copy_out(void *to, void *from, size_t size) {
    const int code = ready_to_copy((uint64_t)(uintptr_t)from, to, size);
    if (code == DHIP_OK) memcpy(to, from, size);
    return code;
}
DOUBLE_API int hipMemcpyDtoH(void *to, void *from, size_t size) {
    DHIP_CALL(CALL_hipMemcpyDtoH, copy_out(to, from, size));
}
