/* Launches.  The path of every launch: nothing here allocates, takes a lock or keeps a record, and HIP gets one call,
 * with the question which device is current, and hipSetDevice before and after where it is another. */
#include "fail.h"
#include "hip_driver.h"

/* The grid is counted in blocks. `extra` stays NULL: both are an error (device.md B.5). */
static slwi_hip_result submit(const slwi_hip_state *hip, const slwi_hip_function *function,
                              const slw_driver_launch *launch) {
    const slwi_hip_api *const api = &hip->api;
    const uint32_t *const grid = launch->blocks;
    const uint32_t *const block = launch->block;
    slwi_hip_native_stream *const stream = launch->stream.native;
    void **const params = (void **)(uintptr_t)launch->params; /* read only; the interface has no const */
    if (launch->cooperative) { /* prepare lets none through where there is no such call */
        return api->hipModuleLaunchCooperativeKernel(function->native, grid[0], grid[1], grid[2], block[0], block[1],
                                                     block[2], launch->shared_bytes, stream, params);
    }
    return api->hipModuleLaunchKernel(function->native, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                      launch->shared_bytes, stream, params, NULL);
}

slw_code slwi_hip_launch(void *state, void *function, const slw_driver_launch *launch, slw_error *err) {
    const slwi_hip_state *const hip = state;
    const slwi_hip_function *const kernel = function;
    int previous = -1;
    slwi_hip_result result = slwi_hip_push(hip, &previous);
    if (result == SLWI_HIP_SUCCESS) result = submit(hip, kernel, launch);
    slwi_hip_leave(hip, previous);
    if (result == SLWI_HIP_SUCCESS) return SLW_OK;
    /* A block that is too large is told as a crash, and nothing ran: then the device is not lost. */
    if (result == SLWI_HIP_LAUNCH_FAILURE) {
        const slw_code code = slwi_hip_check_threads(hip, kernel, launch->block, err);
        if (code != SLW_OK) {
            slwi_hip_clear(hip);
            return code;
        }
    }
    return slwi_hip_fail(hip, result, kernel->kernel->name, "reported at this launch, and possibly of work before it",
                         err);
}

/* ---- What fits at once ------------------------------------------------------------------------------------------- */

slw_code slwi_hip_occupancy(void *state, void *function, const slw_kernel_contract *kernel,
                            const slw_launch_shape *shape, uint64_t *most_blocks, uint64_t *most_clusters,
                            slw_error *err) {
    const slwi_hip_state *const hip = state;
    const slwi_hip_function *const slot = function;
    int blocks = 0, previous = -1;
    *most_clusters = UINT64_MAX;
    if (!slwi_hip_can(hip, SLWI_HIP_CAN(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor))) {
        *most_blocks = UINT64_MAX;
        return SLW_OK;
    }
    const slw_code code = slwi_hip_enter(hip, &previous, err);
    if (code != SLW_OK) return code;
    /* The shape was checked: at most 1,024 threads or so. */
    const int threads = (int)(shape->block[0] * shape->block[1] * shape->block[2]);
    const slwi_hip_result result = hip->api.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, slot->native, threads, shape->shared_bytes);
    slwi_hip_leave(hip, previous);
    if (result != SLWI_HIP_SUCCESS) {
        return slwi_hip_fail(hip, result, kernel->name, "asking how many blocks fit at once", err);
    }
    *most_blocks = blocks < 0 ? 0 : (uint64_t)blocks * hip->multiprocessors;
    return SLW_OK;
}
