/* Contexts: whose, current for how long, and whether it is still the one we knew. */
#include "cuda_driver.h"
#include "fail.h"

const char slwi_cuda_reset_hint[] =
    "Somebody destroyed the context (cudaDeviceReset does): close the device and open it again.";

/* ---- Current, and back ------------------------------------------------------------------------------------------- */

/* Any call may report an error of earlier work, done or not: what is current says whether it was. */
static void pop_if_current(const slwi_cuda_state *cuda) {
    slwi_cu_context *context = NULL;
    if (cuda->api.cuCtxGetCurrent(&context) == SLWI_CU_SUCCESS && context == cuda->context) {
        (void)cuda->api.cuCtxPopCurrent(&context);
    }
}

slwi_cu_result slwi_cuda_push(const slwi_cuda_state *cuda, int *pushed) {
    slwi_cu_context *current = NULL;
    *pushed = 0;
    slwi_cu_result result = cuda->api.cuCtxGetCurrent(&current);
    if (result != SLWI_CU_SUCCESS || current == cuda->context) return result;
    result = cuda->api.cuCtxPushCurrent(cuda->context);
    if (result == SLWI_CU_SUCCESS) {
        *pushed = 1;
    } else {
        pop_if_current(cuda);
    }
    return result;
}

void slwi_cuda_leave(const slwi_cuda_state *cuda, int pushed) {
    slwi_cu_context *context = NULL;
    if (pushed && cuda->api.cuCtxPopCurrent(&context) != SLWI_CU_SUCCESS) pop_if_current(cuda);
}

slw_code slwi_cuda_enter(const slwi_cuda_state *cuda, int *pushed, slw_error *err) {
    const slwi_cu_result result = slwi_cuda_push(cuda, pushed);
    if (result == SLWI_CU_SUCCESS) return SLW_OK;
    return slwi_cuda_fail(cuda, result, NULL, "making the device's context current", err);
}

/* ---- Taking and dropping ----------------------------------------------------------------------------------------- */

/* A context of the caller's has to be one of this device. */
static slw_code check_native(slwi_cuda_state *cuda, slw_error *err) {
    slwi_cu_device device = -1;
    int pushed = 0;
    const slw_code code = slwi_cuda_enter(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    const slwi_cu_result result = cuda->api.cuCtxGetDevice(&device);
    slwi_cuda_leave(cuda, pushed);
    if (result != SLWI_CU_SUCCESS) return slwi_cuda_fail(cuda, result, NULL, "asking the context for its device", err);
    if (device == cuda->device) return SLW_OK;
    slwi_error_kernel(err, NULL, cuda->name);
    return slwi_fail(err, SLW_E_USAGE, "OTHER_DEVICE", "the native context is of device %d, the options say %d", device,
                     cuda->device);
}

static void learn_id(slwi_cuda_state *cuda) {
    unsigned long long id = 0;
    if (slwi_cuda_can(cuda, SLWI_CUDA_CAN(cuCtxGetId)) && cuda->api.cuCtxGetId(cuda->context, &id) == SLWI_CU_SUCCESS) {
        cuda->context_id = id;
    }
}

slw_code slwi_cuda_context_take(slwi_cuda_state *cuda, void *native_context, slw_error *err) {
    if (native_context != NULL) {
        cuda->context = native_context;
        const slw_code code = check_native(cuda, err);
        if (code != SLW_OK) return code;
    } else {
        slwi_cu_context *context = NULL;
        const slwi_cu_result result = cuda->api.cuDevicePrimaryCtxRetain(&context, cuda->device);
        if (result != SLWI_CU_SUCCESS) {
            return slwi_cuda_fail(cuda, result, NULL, "retaining the primary context", err);
        }
        cuda->context = context;
        cuda->is_primary = 1;
    }
    learn_id(cuda);
    return SLW_OK;
}

void slwi_cuda_context_drop(slwi_cuda_state *cuda) {
    /* As often as it was retained, whatever became of it; at the end of a process the answer is an error and fine. */
    if (cuda->is_primary) (void)cuda->api.cuDevicePrimaryCtxRelease(cuda->device);
    cuda->is_primary = 0;
}

/* ---- Still the same? --------------------------------------------------------------------------------------------- */

/* A reset of the primary context kills every handle in silence, and may put a new one at the same address. The state
   is asked first: it is the question that is safe when the context is dead. */
int slwi_cuda_context_gone(const slwi_cuda_state *cuda) {
    if (cuda->context == NULL) return 0;
    if (cuda->is_primary) {
        unsigned flags = 0;
        int active = 1;
        if (cuda->api.cuDevicePrimaryCtxGetState(cuda->device, &flags, &active) == SLWI_CU_SUCCESS && !active) return 1;
    }
    if (cuda->context_id == 0) return 0;
    unsigned long long id = 0;
    const slwi_cu_result result = cuda->api.cuCtxGetId(cuda->context, &id);
    if (result == SLWI_CU_SUCCESS) return id != cuda->context_id;
    return result == SLWI_CU_INVALID_CONTEXT || result == SLWI_CU_CONTEXT_IS_DESTROYED;
}

slw_code slwi_cuda_context_check(const slwi_cuda_state *cuda, slw_error *err) {
    if (!slwi_cuda_context_gone(cuda)) return SLW_OK;
    slwi_error_kernel(err, NULL, cuda->name);
    slwi_error_path(err, cuda->library);
    slwi_error_hint(err, slwi_cuda_reset_hint);
    return slwi_fail(err, SLW_E_LOST, "CONTEXT_GONE", "the context of %.64s was destroyed", cuda->name);
}

slw_code slwi_cuda_enter_loaded(const slwi_cuda_state *cuda, int *pushed, slw_error *err) {
    const slw_code code = slwi_cuda_context_check(cuda, err);
    return code == SLW_OK ? slwi_cuda_enter(cuda, pushed, err) : code;
}

slw_code slwi_cuda_check(void *state, slw_error *err) {
    return slwi_cuda_context_check(state, err);
}

/* Making an event touches no stream, so it disturbs no capture; a broken context refuses it as it does everything. */
slwi_cu_result slwi_cuda_context_pulse(const slwi_cuda_state *cuda) {
    slwi_cu_event *event = NULL;
    const slwi_cu_result result = cuda->api.cuEventCreate(&event, SLWI_CU_EVENT_DISABLE_TIMING);
    if (result == SLWI_CU_SUCCESS) (void)cuda->api.cuEventDestroy(event);
    return result;
}

/* ---- Capture ----------------------------------------------------------------------------------------------------- */

/* Exchanged whatever the call says when the mode that was there has come back. */
static int exchange(const slwi_cuda_state *cuda, int *mode) {
    const int wanted = *mode;
    return cuda->api.cuThreadExchangeStreamCaptureMode(mode) == SLWI_CU_SUCCESS || *mode != wanted;
}

int slwi_cuda_relax_capture(const slwi_cuda_state *cuda) {
    int mode = SLWI_CU_CAPTURE_MODE_RELAXED;
    if (!slwi_cuda_can(cuda, SLWI_CUDA_CAN(cuThreadExchangeStreamCaptureMode)) || !exchange(cuda, &mode)) return -1;
    return mode;
}

void slwi_cuda_restore_capture(const slwi_cuda_state *cuda, int mode) {
    if (mode < 0 || mode == SLWI_CU_CAPTURE_MODE_RELAXED) return;
    int asked = mode;
    if (exchange(cuda, &asked)) return;
    asked = mode;
    (void)exchange(cuda, &asked);
}
