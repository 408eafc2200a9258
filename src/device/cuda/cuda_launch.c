/* Launches.  The path of every launch: nothing here allocates, takes a lock or keeps a record, and the driver gets one
 * call; on a default stream also the question which context is current, and push and pop where it is another. */
#include <string.h>

#include "cuda_driver.h"
#include "fail.h"

/* ---- Attributes -------------------------------------------------------------------------------------------------- */

static slwi_cu_launch_attribute *add(slwi_cu_launch_attribute *out, unsigned *count, int id) {
    slwi_cu_launch_attribute *const fresh = &out[(*count)++];
    memset(fresh, 0, sizeof *fresh); /* the driver may look at all 64 bytes */
    fresh->id = id;
    return fresh;
}

static int is_cluster_wanted(const slw_kernel_contract *kernel, const uint32_t cluster[3]) {
    if (kernel->cluster_required) return 0; /* the binary says it; another is an error and the same is no help */
    return cluster[0] > 1u || cluster[1] > 1u || cluster[2] > 1u;
}

unsigned slwi_cuda_launch_attributes(const slw_kernel_contract *kernel, const uint32_t cluster[3], uint32_t cooperative,
                                     uint32_t flags, slwi_cu_launch_attribute out[SLWI_CUDA_LAUNCH_ATTRIBUTES]) {
    unsigned count = 0;
    if (cooperative) add(out, &count, SLWI_CU_LAUNCH_COOPERATIVE)->value.flag = 1;
    if (is_cluster_wanted(kernel, cluster)) {
        slwi_cu_launch_attribute *const attribute = add(out, &count, SLWI_CU_LAUNCH_CLUSTER_DIMENSION);
        attribute->value.cluster.x = cluster[0];
        attribute->value.cluster.y = cluster[1];
        attribute->value.cluster.z = cluster[2];
    }
    if ((flags & SLW_LAUNCH_PROGRAMMATIC) != 0) {
        add(out, &count, SLWI_CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION)->value.flag = 1;
    }
    return count;
}

/* ---- The launch -------------------------------------------------------------------------------------------------- */

/* In what the driver counts: of a .blocksareclusters kernel that is clusters, whole ones of which were converted to the
   blocks that were checked (pitfall 11). */
static void grid_of(const slw_kernel_contract *kernel, const slw_driver_launch *launch, unsigned out[3]) {
    for (unsigned i = 0; i < 3; i++) {
        const uint32_t cluster = launch->cluster[i];
        const int counts_clusters = kernel->grid_unit == SLW_GRID_CLUSTERS && cluster > 1u;
        out[i] = counts_clusters ? launch->blocks[i] / cluster : launch->blocks[i];
    }
}

static slwi_cu_result submit(const slwi_cuda_state *cuda, const slwi_cuda_function *function,
                             const slw_driver_launch *launch) {
    slwi_cu_launch_attribute attributes[SLWI_CUDA_LAUNCH_ATTRIBUTES];
    const slwi_cuda_api *const api = &cuda->api;
    unsigned grid[3];
    const uint32_t *const block = launch->block;
    slwi_cu_stream *const stream = launch->stream.native;
    void **const params = (void **)(uintptr_t)launch->params; /* read only; the interface has no const */
    const unsigned count =
        slwi_cuda_launch_attributes(function->kernel, launch->cluster, launch->cooperative, launch->flags, attributes);
    grid_of(function->kernel, launch, grid);
    if (count == 0) {
        return api->cuLaunchKernel(function->native, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                   launch->shared_bytes, stream, params, NULL);
    }
    if (!slwi_cuda_can(cuda, SLWI_CUDA_CAN(cuLaunchKernelEx))) { /* prepare let only this one through */
        return api->cuLaunchCooperativeKernel(function->native, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                              launch->shared_bytes, stream, params);
    }
    const slwi_cu_launch_config config = {
        .grid = {grid[0], grid[1], grid[2]},
        .block = {block[0], block[1], block[2]},
        .shared_bytes = launch->shared_bytes,
        .stream = stream,
        .attributes = attributes,
        .attribute_count = count,
    };
    return api->cuLaunchKernelEx(&config, function->native, params, NULL);
}

/* A stream knows its context; these three are the current context's. */
static int is_default_stream(slw_stream stream) {
    return (uintptr_t)stream.native <= SLWI_CU_STREAM_PER_THREAD;
}

slw_code slwi_cuda_launch(void *state, void *function, const slw_driver_launch *launch, slw_error *err) {
    const slwi_cuda_state *const cuda = state;
    const slwi_cuda_function *const kernel = function;
    slwi_cu_result result = SLWI_CU_SUCCESS;
    int pushed = 0;
    if (is_default_stream(launch->stream)) result = slwi_cuda_push(cuda, &pushed);
    if (result == SLWI_CU_SUCCESS) result = submit(cuda, kernel, launch);
    slwi_cuda_leave(cuda, pushed);
    if (result == SLWI_CU_SUCCESS) return SLW_OK;
    return slwi_cuda_fail(cuda, result, kernel->kernel->name, "reported at this launch, and possibly of work before it",
                          err);
}

/* ---- What fits at once ------------------------------------------------------------------------------------------- */

static slwi_cu_result count_blocks(const slwi_cuda_state *cuda, const slwi_cuda_function *function,
                                   const slw_launch_shape *shape, uint64_t *out) {
    int blocks = 0;
    /* The shape was checked: at most 1,024 threads or so. */
    const int threads = (int)(shape->block[0] * shape->block[1] * shape->block[2]);
    const slwi_cu_result result =
        cuda->api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function->native, threads, shape->shared_bytes);
    if (result == SLWI_CU_SUCCESS) *out = blocks < 0 ? 0 : (uint64_t)blocks * cuda->multiprocessors;
    return result;
}

static slwi_cu_result count_clusters(const slwi_cuda_state *cuda, const slwi_cuda_function *function,
                                     const slw_launch_shape *shape, uint64_t *out) {
    slwi_cu_launch_attribute attributes[SLWI_CUDA_LAUNCH_ATTRIBUTES];
    int clusters = 0;
    const unsigned count = slwi_cuda_launch_attributes(function->kernel, shape->cluster, 0, 0, attributes);
    const slwi_cu_launch_config config = {
        .grid = {shape->cluster[0], shape->cluster[1], shape->cluster[2]},
        .block = {shape->block[0], shape->block[1], shape->block[2]},
        .shared_bytes = shape->shared_bytes,
        .attributes = count != 0 ? attributes : NULL,
        .attribute_count = count,
    };
    const slwi_cu_result result = cuda->api.cuOccupancyMaxActiveClusters(&clusters, function->native, &config);
    if (result == SLWI_CU_SUCCESS) *out = clusters < 0 ? 0 : (uint64_t)clusters;
    return result;
}

slw_code slwi_cuda_occupancy(void *state, void *function, const slw_kernel_contract *kernel,
                             const slw_launch_shape *shape, uint64_t *most_blocks, uint64_t *most_clusters,
                             slw_error *err) {
    const slwi_cuda_state *const cuda = state;
    const uint64_t rank = (uint64_t)shape->cluster[0] * shape->cluster[1] * shape->cluster[2];
    uint64_t blocks = UINT64_MAX, clusters = UINT64_MAX;
    slwi_cu_result result = SLWI_CU_SUCCESS;
    int pushed = 0;
    const slw_code code = slwi_cuda_enter_loaded(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    if (slwi_cuda_can(cuda, SLWI_CUDA_CAN(cuOccupancyMaxActiveBlocksPerMultiprocessor))) {
        result = count_blocks(cuda, function, shape, &blocks);
    }
    if (result == SLWI_CU_SUCCESS && rank > 1u && slwi_cuda_can(cuda, SLWI_CUDA_CAN(cuOccupancyMaxActiveClusters))) {
        result = count_clusters(cuda, function, shape, &clusters);
        /* A cooperative grid of clusters is whole clusters. */
        if (result == SLWI_CU_SUCCESS && clusters * rank < blocks) blocks = clusters * rank;
    }
    slwi_cuda_leave(cuda, pushed);
    if (result != SLWI_CU_SUCCESS) {
        return slwi_cuda_fail(cuda, result, kernel->name, "asking how many blocks fit at once", err);
    }
    *most_blocks = blocks;
    *most_clusters = clusters;
    return SLW_OK;
}
