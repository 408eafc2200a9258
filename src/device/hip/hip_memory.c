/* Memory, streams and waiting. */
#include <stdint.h>

#include "gpu_wait.h"
#include "hip_driver.h"

static slw_code answer(const slwi_hip_state *hip, int previous, slwi_hip_result result, const char *what,
                       slw_error *err) {
    slwi_hip_leave(hip, previous);
    return result == SLWI_HIP_SUCCESS ? SLW_OK : slwi_hip_fail(hip, result, NULL, what, err);
}

static void *pointer_of(slw_device_address address) {
    return (void *)(uintptr_t)address;
}

slw_code slwi_hip_alloc(void *state, uint64_t size_bytes, slw_device_address *out, slw_error *err) {
    const slwi_hip_state *const hip = state;
    void *address = NULL;
    int previous = -1;
    slw_code code = slwi_hip_enter(hip, &previous, err);
    if (code != SLW_OK) return code;
    code = answer(hip, previous, hip->api.hipMalloc(&address, size_bytes), "allocating memory of the device", err);
    if (code == SLW_OK) *out = (slw_device_address)(uintptr_t)address;
    return code;
}

slw_code slwi_hip_free(void *state, slw_device_address address, slw_error *err) {
    const slwi_hip_state *const hip = state;
    int previous = -1;
    const slw_code code = slwi_hip_enter(hip, &previous, err);
    if (code != SLW_OK) return code;
    return answer(hip, previous, hip->api.hipFree(pointer_of(address)), "freeing memory of the device", err);
}

slw_code slwi_hip_copy_in(void *state, slw_device_address to, const void *from, uint64_t size_bytes, slw_error *err) {
    const slwi_hip_state *const hip = state;
    int previous = -1;
    const slw_code code = slwi_hip_enter(hip, &previous, err);
    if (code != SLW_OK) return code;
    return answer(hip, previous, hip->api.hipMemcpyHtoD(pointer_of(to), from, size_bytes), "copying to the device",
                  err);
}

slw_code slwi_hip_copy_out(void *state, void *to, slw_device_address from, uint64_t size_bytes, slw_error *err) {
    const slwi_hip_state *const hip = state;
    int previous = -1;
    const slw_code code = slwi_hip_enter(hip, &previous, err);
    if (code != SLW_OK) return code;
    return answer(hip, previous, hip->api.hipMemcpyDtoH(to, pointer_of(from), size_bytes), "copying from the device",
                  err);
}

/* With the default flags: copies, which are on the default stream, wait for what is on the others. */
slw_code slwi_hip_stream_create(void *state, slw_stream *out, slw_error *err) {
    const slwi_hip_state *const hip = state;
    slwi_hip_native_stream *stream = NULL;
    int previous = -1;
    slw_code code = slwi_hip_enter(hip, &previous, err);
    if (code != SLW_OK) return code;
    code = answer(hip, previous, hip->api.hipStreamCreateWithFlags(&stream, SLWI_HIP_STREAM_DEFAULT_FLAGS),
                  "making a stream", err);
    if (code == SLW_OK) out->native = stream;
    return code;
}

slw_code slwi_hip_stream_destroy(void *state, slw_stream stream, slw_error *err) {
    const slwi_hip_state *const hip = state;
    int previous = -1;
    const slw_code code = slwi_hip_enter(hip, &previous, err);
    if (code != SLW_OK) return code;
    return answer(hip, previous, hip->api.hipStreamDestroy(stream.native), "destroying a stream", err);
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* As with CUDA, whose numbers HIP uses: what waits for a stream that captures ends the capture. */
static int is_capturing(const slwi_hip_state *hip, slw_stream stream) {
    int status = SLWI_HIP_CAPTURE_STATUS_NONE;
    if (!slwi_hip_can(hip, SLWI_HIP_CAN(hipStreamIsCapturing))) return 0;
    const slwi_hip_result result = hip->api.hipStreamIsCapturing(stream.native, &status);
    if (result == SLWI_HIP_SUCCESS) return status != SLWI_HIP_CAPTURE_STATUS_NONE;
    slwi_hip_clear(hip);
    return result == SLWI_HIP_CAPTURE_IMPLICIT;
}

slw_code slwi_hip_synchronize(void *state, const slw_stream *stream, slw_error *err) {
    const slwi_hip_state *const hip = state;
    int previous = -1;
    const slw_code code = slwi_hip_enter(hip, &previous, err);
    if (code != SLW_OK) return code;
    /* The default stream answers for the device: it would wait for every stream that captures. */
    const slw_stream whole = SLW_STREAM_DEFAULT;
    if (is_capturing(hip, stream == NULL ? whole : *stream)) {
        slwi_hip_leave(hip, previous);
        return slwi_gpu_fail_capturing(hip->name, err);
    }
    if (stream == NULL) return answer(hip, previous, hip->api.hipDeviceSynchronize(), "waiting for the device", err);
    return answer(hip, previous, hip->api.hipStreamSynchronize(stream->native), "waiting for a stream", err);
}

/* Some releases keep "not ready" as the thread's last error; in the others that is the caller's own, and stays. */
static int query(const void *state, void *event) {
    const slwi_hip_state *const hip = state;
    const slwi_hip_result result = hip->api.hipEventQuery(event);
    if (result != SLWI_HIP_NOT_READY) return result;
    if (!slwi_hip_can(hip, SLWI_HIP_CAN(hipPeekAtLastError)) || hip->api.hipPeekAtLastError() == SLWI_HIP_NOT_READY) {
        slwi_hip_clear(hip);
    }
    return result;
}

/* An event, so that work which others put on the stream meanwhile is not waited for. */
static slw_code wait_with_event(const slwi_hip_state *hip, slw_stream stream, uint64_t deadline_ns, slw_error *err) {
    slwi_hip_native_event *event = NULL;
    slwi_hip_result result = hip->api.hipEventCreateWithFlags(&event, SLWI_HIP_EVENT_DISABLE_TIMING);
    if (result != SLWI_HIP_SUCCESS) return slwi_hip_fail(hip, result, NULL, "making an event", err);
    const char *what = "recording an event";
    slw_code code = SLW_OK;
    result = hip->api.hipEventRecord(event, stream.native);
    if (result == SLWI_HIP_SUCCESS) {
        what = "waiting for a stream";
        code = slwi_gpu_poll(query, hip, event, deadline_ns, &result, err);
    }
    if (hip->api.hipEventDestroy(event) != SLWI_HIP_SUCCESS) slwi_hip_clear(hip);
    if (code != SLW_OK || result == SLWI_HIP_SUCCESS) return code;
    return slwi_hip_fail(hip, result, NULL, what, err);
}

slw_code slwi_hip_wait_idle(void *state, slw_stream stream, uint64_t deadline_ns, slw_error *err) {
    const slwi_hip_state *const hip = state;
    int previous = -1;
    slw_code code = slwi_hip_enter(hip, &previous, err);
    if (code != SLW_OK) return code;
    if (is_capturing(hip, stream)) {
        slwi_hip_leave(hip, previous);
        return slwi_gpu_fail_capturing(hip->name, err);
    }
    /* Asking an event is forbidden to a process that captures globally, and would end the capture. */
    const int mode = slwi_hip_relax_capture(hip);
    code = wait_with_event(hip, stream, deadline_ns, err);
    slwi_hip_restore_capture(hip, mode);
    slwi_hip_leave(hip, previous);
    return code;
}
