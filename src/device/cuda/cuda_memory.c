/* Memory, streams and waiting. */
#include "cuda_driver.h"
#include "gpu_wait.h"

static slw_code answer(const slwi_cuda_state *cuda, int pushed, slwi_cu_result result, const char *what,
                       slw_error *err) {
    slwi_cuda_leave(cuda, pushed);
    return result == SLWI_CU_SUCCESS ? SLW_OK : slwi_cuda_fail(cuda, result, NULL, what, err);
}

slw_code slwi_cuda_alloc(void *state, uint64_t size_bytes, slw_device_address *out, slw_error *err) {
    const slwi_cuda_state *const cuda = state;
    slwi_cu_address address = 0;
    int pushed = 0;
    slw_code code = slwi_cuda_enter(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    code = answer(cuda, pushed, cuda->api.cuMemAlloc(&address, size_bytes), "allocating memory of the device", err);
    if (code == SLW_OK) *out = address;
    return code;
}

slw_code slwi_cuda_free(void *state, slw_device_address address, slw_error *err) {
    const slwi_cuda_state *const cuda = state;
    int pushed = 0;
    const slw_code code = slwi_cuda_enter_loaded(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    return answer(cuda, pushed, cuda->api.cuMemFree(address), "freeing memory of the device", err);
}

slw_code slwi_cuda_copy_in(void *state, slw_device_address to, const void *from, uint64_t size_bytes, slw_error *err) {
    const slwi_cuda_state *const cuda = state;
    int pushed = 0;
    const slw_code code = slwi_cuda_enter_loaded(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    return answer(cuda, pushed, cuda->api.cuMemcpyHtoD(to, from, size_bytes), "copying to the device", err);
}

slw_code slwi_cuda_copy_out(void *state, void *to, slw_device_address from, uint64_t size_bytes, slw_error *err) {
    const slwi_cuda_state *const cuda = state;
    int pushed = 0;
    const slw_code code = slwi_cuda_enter_loaded(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    return answer(cuda, pushed, cuda->api.cuMemcpyDtoH(to, from, size_bytes), "copying from the device", err);
}

/* With the default flags: copies, which are on the default stream, wait for what is on the others. */
slw_code slwi_cuda_stream_create(void *state, slw_stream *out, slw_error *err) {
    const slwi_cuda_state *const cuda = state;
    slwi_cu_stream *stream = NULL;
    int pushed = 0;
    slw_code code = slwi_cuda_enter(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    code =
        answer(cuda, pushed, cuda->api.cuStreamCreate(&stream, SLWI_CU_STREAM_DEFAULT_FLAGS), "making a stream", err);
    if (code == SLW_OK) out->native = stream;
    return code;
}

slw_code slwi_cuda_stream_destroy(void *state, slw_stream stream, slw_error *err) {
    const slwi_cuda_state *const cuda = state;
    int pushed = 0;
    const slw_code code = slwi_cuda_enter_loaded(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    return answer(cuda, pushed, cuda->api.cuStreamDestroy(stream.native), "destroying a stream", err);
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* Asked first: waiting for a stream that captures would end the capture, and so would an event recorded on it. The
   default stream says 906 while one that is captured would wait for it. */
static int is_capturing(const slwi_cuda_state *cuda, slw_stream stream) {
    int status = SLWI_CU_CAPTURE_STATUS_NONE;
    if (!slwi_cuda_can(cuda, SLWI_CUDA_CAN(cuStreamIsCapturing))) return 0;
    const slwi_cu_result result = cuda->api.cuStreamIsCapturing(stream.native, &status);
    return result == SLWI_CU_SUCCESS ? status != SLWI_CU_CAPTURE_STATUS_NONE : result == SLWI_CU_CAPTURE_IMPLICIT;
}

slw_code slwi_cuda_synchronize(void *state, const slw_stream *stream, slw_error *err) {
    const slwi_cuda_state *const cuda = state;
    int pushed = 0;
    const slw_code code = slwi_cuda_enter_loaded(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    /* The default stream answers for the device: it would wait for every stream that captures. */
    const slw_stream whole = SLW_STREAM_DEFAULT;
    if (is_capturing(cuda, stream == NULL ? whole : *stream)) {
        slwi_cuda_leave(cuda, pushed);
        return slwi_gpu_fail_capturing(cuda->name, err);
    }
    if (stream == NULL) return answer(cuda, pushed, cuda->api.cuCtxSynchronize(), "waiting for the device", err);
    return answer(cuda, pushed, cuda->api.cuStreamSynchronize(stream->native), "waiting for a stream", err);
}

static int query(const void *state, void *event) {
    const slwi_cuda_state *const cuda = state;
    return cuda->api.cuEventQuery(event);
}

/* An event, so that work which others put on the stream meanwhile is not waited for. */
static slw_code wait_with_event(const slwi_cuda_state *cuda, slw_stream stream, uint64_t deadline_ns, slw_error *err) {
    slwi_cu_event *event = NULL;
    slwi_cu_result result = cuda->api.cuEventCreate(&event, SLWI_CU_EVENT_DISABLE_TIMING);
    if (result != SLWI_CU_SUCCESS) return slwi_cuda_fail(cuda, result, NULL, "making an event", err);
    const char *what = "recording an event";
    slw_code code = SLW_OK;
    result = cuda->api.cuEventRecord(event, stream.native);
    if (result == SLWI_CU_SUCCESS) {
        what = "waiting for a stream";
        code = slwi_gpu_poll(query, cuda, event, deadline_ns, &result, err);
    }
    (void)cuda->api.cuEventDestroy(event); /* one that is still pending goes when it is done */
    if (code != SLW_OK || result == SLWI_CU_SUCCESS) return code;
    return slwi_cuda_fail(cuda, result, NULL, what, err);
}

slw_code slwi_cuda_wait_idle(void *state, slw_stream stream, uint64_t deadline_ns, slw_error *err) {
    const slwi_cuda_state *const cuda = state;
    int pushed = 0;
    slw_code code = slwi_cuda_enter_loaded(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    if (is_capturing(cuda, stream)) {
        slwi_cuda_leave(cuda, pushed);
        return slwi_gpu_fail_capturing(cuda->name, err);
    }
    /* Asking an event is forbidden to a process that captures globally, and would end the capture. */
    const int mode = slwi_cuda_relax_capture(cuda);
    code = wait_with_event(cuda, stream, deadline_ns, err);
    slwi_cuda_restore_capture(cuda, mode);
    slwi_cuda_leave(cuda, pushed);
    return code;
}
