/* Memory, streams and waiting. */
#include "clock.h"
#include "cuda_driver.h"
#include "fail.h"
#include "os.h"

#define FIRST_NAP_NS   20000u
#define LONGEST_NAP_NS 1000000u

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
    const slw_code code = slwi_cuda_enter(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    return answer(cuda, pushed, cuda->api.cuMemFree(address), "freeing memory of the device", err);
}

slw_code slwi_cuda_copy_in(void *state, slw_device_address to, const void *from, uint64_t size_bytes, slw_error *err) {
    const slwi_cuda_state *const cuda = state;
    int pushed = 0;
    const slw_code code = slwi_cuda_enter(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    return answer(cuda, pushed, cuda->api.cuMemcpyHtoD(to, from, size_bytes), "copying to the device", err);
}

slw_code slwi_cuda_copy_out(void *state, void *to, slw_device_address from, uint64_t size_bytes, slw_error *err) {
    const slwi_cuda_state *const cuda = state;
    int pushed = 0;
    const slw_code code = slwi_cuda_enter(cuda, &pushed, err);
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
    const slw_code code = slwi_cuda_enter(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    return answer(cuda, pushed, cuda->api.cuStreamDestroy(stream.native), "destroying a stream", err);
}

slw_code slwi_cuda_synchronize(void *state, const slw_stream *stream, slw_error *err) {
    const slwi_cuda_state *const cuda = state;
    int pushed = 0;
    const slw_code code = slwi_cuda_enter(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    if (stream == NULL) return answer(cuda, pushed, cuda->api.cuCtxSynchronize(), "waiting for the device", err);
    return answer(cuda, pushed, cuda->api.cuStreamSynchronize(stream->native), "waiting for a stream", err);
}

/* ---- To a deadline ----------------------------------------------------------------------------------------------- */

/* Polls: the driver's own wait has no deadline. */
static slw_code poll_event(const slwi_cuda_state *cuda, slwi_cu_event *event, uint64_t deadline_ns, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    uint64_t nap_ns = FIRST_NAP_NS;
    for (;;) {
        const slwi_cu_result result = cuda->api.cuEventQuery(event);
        if (result == SLWI_CU_SUCCESS) return SLW_OK;
        if (result != SLWI_CU_NOT_READY) return slwi_cuda_fail(cuda, result, NULL, "waiting for a stream", err);
        const slw_code code = slwi_check_wait(deadline_ns, NULL, "the stream is still busy", err);
        if (code != SLW_OK) return code;
        os->sleep_ns(os, nap_ns);
        nap_ns = nap_ns * 2u > LONGEST_NAP_NS ? LONGEST_NAP_NS : nap_ns * 2u;
    }
}

/* An event, so that work which others put on the stream meanwhile is not waited for. */
static slw_code wait_with_event(const slwi_cuda_state *cuda, slw_stream stream, uint64_t deadline_ns, slw_error *err) {
    slwi_cu_event *event = NULL;
    slwi_cu_result result = cuda->api.cuEventCreate(&event, SLWI_CU_EVENT_DISABLE_TIMING);
    if (result != SLWI_CU_SUCCESS) return slwi_cuda_fail(cuda, result, NULL, "making an event", err);
    result = cuda->api.cuEventRecord(event, stream.native);
    const slw_code code = result == SLWI_CU_SUCCESS ? poll_event(cuda, event, deadline_ns, err)
                                                    : slwi_cuda_fail(cuda, result, NULL, "recording an event", err);
    (void)cuda->api.cuEventDestroy(event); /* one that is still pending goes when it is done */
    return code;
}

slw_code slwi_cuda_wait_idle(void *state, slw_stream stream, uint64_t deadline_ns, slw_error *err) {
    const slwi_cuda_state *const cuda = state;
    int pushed = 0;
    slw_code code = slwi_cuda_enter(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    /* Asking an event is forbidden to a process that captures globally, and would end the capture. */
    const int mode = slwi_cuda_relax_capture(cuda);
    code = wait_with_event(cuda, stream, deadline_ns, err);
    slwi_cuda_restore_capture(cuda, mode);
    slwi_cuda_leave(cuda, pushed);
    return code;
}
