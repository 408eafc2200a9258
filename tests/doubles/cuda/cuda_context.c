/* Contexts: primary ones counted, made ones owned, and the stack of each thread. */
#include "cuda_calls.h"
#include "cuda_double.h"

static uint64_t next_id = 1;

/* ---- What is current ------------------------------------------------------------------------------------- */

dcu_context *dcu_top(void) {
    const double_thread *const thread = double_self();
    return thread->depth == 0 ? NULL : thread->stack[thread->depth - 1];
}

int dcu_healthy(const dcu_context *context) {
    if (double_object_state(context, DCU_CONTEXT) != 1 || (context->primary && !context->active)) {
        return DCU_CONTEXT_IS_DESTROYED;
    }
    return context->dead;
}

int dcu_current(dcu_context **out) {
    dcu_context *const context = dcu_top();
    if (context == NULL) {
        double_violation("a call that needs a context, with none current");
        return DCU_INVALID_CONTEXT;
    }
    *out = context;
    return dcu_healthy(context);
}

int dcu_capture_forbids(void) {
    if (!double_settings[DOUBLE_CAPTURE] || double_self()->capture_mode == DCU_CAPTURE_RELAXED) return DCU_OK;
    return double_break_capture(DCU_STREAM_CAPTURE_UNSUPPORTED);
}

void dcu_context_fault(void *context) {
    ((dcu_context *)context)->dead = (int)double_settings[DOUBLE_STICKY_CODE];
}

/* ---- The end of one -------------------------------------------------------------------------------------- */

static void end_stream(void *object, void *context) {
    dcu_stream *const stream = object;
    if (stream->context != context) return;
    double_queue_drop(&stream->queue);
    stream->object.alive = 0;
}
static void end_event(void *object, void *context) {
    dcu_event *const event = object;
    if (event->context == context) event->object.alive = 0;
}
static void end_module(void *object, void *context) {
    if (((dcu_module *)object)->context == context) dcu_module_drop(object);
}

void dcu_context_empty(dcu_context *context) {
    double_queue_drop(&context->queue);
    double_objects_each(DCU_STREAM, end_stream, context);
    double_objects_each(DCU_EVENT, end_event, context);
    double_objects_each(DCU_MODULE, end_module, context);
    double_memory_drop(context, NULL);
    context->dead = 0;
    double_changed();
}

/* ---- Primary contexts ------------------------------------------------------------------------------------ */

typedef struct search {
    int device;
    dcu_context *found;
} search;
static void see_primary(void *object, void *context) {
    dcu_context *const c = object;
    search *const s = context;
    if (c->primary && c->device == s->device) s->found = c;
}
static dcu_context *primary_of(int device) {
    search s = {device, NULL};
    double_objects_each(DCU_CONTEXT, see_primary, &s);
    return s.found;
}

static dcu_context *context_new(int device, int primary) {
    dcu_context *const context = double_object_new(DCU_CONTEXT);
    if (context == NULL) return NULL;
    context->device = device;
    context->primary = primary;
    context->active = 1;
    context->id = next_id++;
    return context;
}

static int retain(dcu_context **out, int device) {
    if (dcu_facts(device) == NULL) return DCU_INVALID_DEVICE;
    if (out == NULL) return DCU_INVALID_VALUE;
    if (double_settings[DOUBLE_COMPUTE_MODE] == 2) return DCU_UNKNOWN;
    dcu_context *context = primary_of(device);
    if (context == NULL) {
        context = context_new(device, 1);
        if (context == NULL) return DCU_OUT_OF_MEMORY;
    } else if (!context->active) {
        context->active = 1;
        context->id = next_id++;
    }
    context->retained++;
    *out = context;
    return DCU_OK;
}
DOUBLE_API int cuDevicePrimaryCtxRetain(dcu_context **out, int device) {
    DOUBLE_CALL(CALL_cuDevicePrimaryCtxRetain, retain(out, device));
}

static void count_here(void *object, void *context) {
    search *const s = context;
    if (((dcu_module *)object)->context == s->found) s->device++;
}
static void count_event(void *object, void *context) {
    search *const s = context;
    if (((dcu_event *)object)->context == s->found) s->device++;
}
static int events_in(dcu_context *context) {
    search s = {0, context};
    double_objects_each(DCU_EVENT, count_event, &s);
    return s.device;
}
static int modules_in(dcu_context *context) {
    search s = {0, context};
    double_objects_each(DCU_MODULE, count_here, &s);
    return s.device;
}

static int release(int device) {
    if (dcu_facts(device) == NULL) return DCU_INVALID_DEVICE;
    dcu_context *const context = primary_of(device);
    if (context != NULL && context->retained == 0 && context->forgiven > 0) {
        context->forgiven--;
        return DCU_INVALID_CONTEXT;
    }
    if (context == NULL || context->retained == 0) {
        double_violation("the primary context of device %d is released more often than retained", device);
        return DCU_INVALID_CONTEXT;
    }
    if (--context->retained > 0) return DCU_OK;
    if (!context->dead && modules_in(context) > 0) {
        double_violation("the last release of a primary context, with %d modules loaded", modules_in(context));
    }
    if (!context->dead && events_in(context) > 0) {
        double_violation("the last release of a primary context, with %d events not destroyed", events_in(context));
    }
    dcu_context_empty(context);
    context->active = 0;
    context->id = 0;
    return DCU_OK;
}
DOUBLE_API int cuDevicePrimaryCtxRelease(int device) {
    DOUBLE_CALL(CALL_cuDevicePrimaryCtxRelease, release(device));
}
DOUBLE_API int cuDevicePrimaryCtxRelease_v2(int device) {
    DOUBLE_CALL(CALL_cuDevicePrimaryCtxRelease_v2, release(device));
}

static int state(int device, unsigned *flags, int *active) {
    if (dcu_facts(device) == NULL) return DCU_INVALID_DEVICE;
    if (flags == NULL || active == NULL) return DCU_INVALID_VALUE;
    const dcu_context *const context = primary_of(device);
    *flags = 0;
    *active = context != NULL && context->active;
    return DCU_OK;
}
DOUBLE_API int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    DOUBLE_CALL(CALL_cuDevicePrimaryCtxGetState, state(device, flags, active));
}

static int primary_reset(int device) {
    if (dcu_facts(device) == NULL) return DCU_INVALID_DEVICE;
    double_hooks_of.lose_context(device);
    return DCU_OK;
}
DOUBLE_API int cuDevicePrimaryCtxReset_v2(int device) {
    DOUBLE_CALL(CALL_cuDevicePrimaryCtxReset_v2, primary_reset(device));
}

/* ---- Stacks ---------------------------------------------------------------------------------------------- */

static int push(dcu_context *context) {
    double_thread *const thread = double_self();
    if (context == NULL) return DCU_INVALID_VALUE;
    const int alive = double_object_state(context, DCU_CONTEXT);
    if (alive == 0) {
        double_violation("what is pushed is no context");
        return DCU_INVALID_CONTEXT;
    }
    if (alive < 0 || (context->primary && !context->active)) {
        return alive < 0 ? DCU_CONTEXT_IS_DESTROYED : DCU_INVALID_CONTEXT;
    }
    if ((size_t)thread->depth == sizeof thread->stack / sizeof thread->stack[0]) return DCU_INVALID_VALUE;
    thread->stack[thread->depth++] = context;
    thread->pushes++;
    return DCU_OK;
}
DOUBLE_API int cuCtxPushCurrent_v2(dcu_context *context) {
    DOUBLE_CALL(CALL_cuCtxPushCurrent_v2, push(context));
}

static int pop(dcu_context **out) {
    double_thread *const thread = double_self();
    if (thread->depth == 0) {
        double_violation("a context is popped where none is");
        return DCU_INVALID_CONTEXT;
    }
    if (out != NULL) *out = thread->stack[thread->depth - 1];
    thread->depth--;
    thread->pushes--;
    return DCU_OK;
}
DOUBLE_API int cuCtxPopCurrent_v2(dcu_context **out) {
    DOUBLE_CALL(CALL_cuCtxPopCurrent_v2, pop(out));
}

static int get_current(dcu_context **out) {
    if (out == NULL) return DCU_INVALID_VALUE;
    *out = dcu_top();
    return DCU_OK;
}
DOUBLE_API int cuCtxGetCurrent(dcu_context **out) {
    DOUBLE_CALL(CALL_cuCtxGetCurrent, get_current(out));
}

/* Replaces the top; NULL takes it away. */
static int set_current(dcu_context *context) {
    double_thread *const thread = double_self();
    if (context != NULL && double_object_state(context, DCU_CONTEXT) != 1) return DCU_INVALID_CONTEXT;
    if (thread->depth > 0) thread->depth--;
    if (context != NULL) thread->stack[thread->depth++] = context;
    return DCU_OK;
}
DOUBLE_API int cuCtxSetCurrent(dcu_context *context) {
    DOUBLE_CALL(CALL_cuCtxSetCurrent, set_current(context));
}

/* ---- Contexts of the program's own ----------------------------------------------------------------------- */

static int create(dcu_context **out, unsigned flags, int device) {
    if (dcu_facts(device) == NULL) return DCU_INVALID_DEVICE;
    if (out == NULL || flags > 0x1ff) return DCU_INVALID_VALUE;
    dcu_context *const context = context_new(device, 0);
    if (context == NULL) return DCU_OUT_OF_MEMORY;
    const int code = push(context);
    if (code != DCU_OK) {
        context->object.alive = 0;
        return code;
    }
    *out = context;
    return DCU_OK;
}
DOUBLE_API int cuCtxCreate_v2(dcu_context **out, unsigned flags, int device) {
    DOUBLE_CALL(CALL_cuCtxCreate_v2, create(out, flags, device));
}

static int destroy(dcu_context *context) {
    if (double_object_state(context, DCU_CONTEXT) != 1 || context->primary) {
        double_violation("what is destroyed is no context of the program's own");
        return DCU_INVALID_CONTEXT;
    }
    dcu_context_empty(context);
    context->object.alive = 0;
    double_thread *const thread = double_self();
    if (dcu_top() == context) {
        thread->depth--;
        thread->pushes--;
    }
    return DCU_OK;
}
DOUBLE_API int cuCtxDestroy_v2(dcu_context *context) {
    DOUBLE_CALL(CALL_cuCtxDestroy_v2, destroy(context));
}

/* ---- Questions ------------------------------------------------------------------------------------------- */

static int device_of(int *out, dcu_context *context) {
    if (context == NULL) {
        const int code = dcu_current(&context);
        if (code == DCU_INVALID_CONTEXT || code == DCU_CONTEXT_IS_DESTROYED) return code;
    } else if (double_object_state(context, DCU_CONTEXT) != 1) {
        return DCU_INVALID_CONTEXT;
    }
    if (out == NULL) return DCU_INVALID_VALUE;
    *out = context->device;
    return DCU_OK;
}
DOUBLE_API int cuCtxGetDevice(int *out) {
    DOUBLE_CALL(CALL_cuCtxGetDevice, device_of(out, NULL));
}

static int newer_device_of(int *out, dcu_context *context) {
    double_violation("cuCtxGetDevice as of 13.0 is called: it takes a context too");
    return device_of(out, context);
}
DOUBLE_API int cuCtxGetDevice_v2(int *out, dcu_context *context) {
    DOUBLE_CALL(CALL_cuCtxGetDevice_v2, newer_device_of(out, context));
}

static int id_of(dcu_context *context, unsigned long long *out) {
    if (out == NULL) return DCU_INVALID_VALUE;
    if (context == NULL) {
        const int code = dcu_current(&context);
        if (code == DCU_INVALID_CONTEXT) return code;
    }
    if (double_object_state(context, DCU_CONTEXT) != 1) return DCU_INVALID_CONTEXT;
    if (context->primary && !context->active) return DCU_CONTEXT_IS_DESTROYED;
    *out = context->id;
    return DCU_OK;
}
DOUBLE_API int cuCtxGetId(dcu_context *context, unsigned long long *out) {
    DOUBLE_CALL(CALL_cuCtxGetId, id_of(context, out));
}

static int exchange(int *mode) {
    if (mode == NULL || *mode < DCU_CAPTURE_GLOBAL || *mode > DCU_CAPTURE_RELAXED) return DCU_INVALID_VALUE;
    double_thread *const thread = double_self();
    const int before = thread->capture_mode;
    thread->capture_mode = *mode;
    *mode = before;
    return DCU_OK;
}
DOUBLE_API int cuThreadExchangeStreamCaptureMode(int *mode) {
    DOUBLE_CALL(CALL_cuThreadExchangeStreamCaptureMode, exchange(mode));
}
