/* Launches: refused where a real driver refuses, parameters read exactly as long as the binary says. */
#include "cuda_calls.h"
#include "cuda_double.h"

#include <stdlib.h>
#include <string.h>

typedef struct launch {
    dcu_function *function;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared;
    dcu_stream *stream;
    void **params;
    void **extra;
    uint32_t cluster[3]; /* asked for; 0: not */
    int cooperative;
    double_extras extras;
} launch;

/* ---- Limits ---------------------------------------------------------------------------------------------- */

static int check_shape(const launch *l, const dcu_device_facts *facts) {
    static const uint32_t most_block[3] = {1024, 1024, 64}, most_grid[3] = {2147483647, 65535, 65535};
    const dcu_function *const f = l->function;
    (void)facts;
    for (unsigned i = 0; i < 3; i++) {
        if (l->block[i] == 0 || l->grid[i] == 0 || l->block[i] > most_block[i] || l->grid[i] > most_grid[i]) {
            return DCU_INVALID_VALUE;
        }
    }
    const uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    if (threads > 1024) return DCU_INVALID_VALUE;
    if (f->required_threads[0] != 0 && memcmp(f->required_threads, l->block, sizeof l->block) != 0) {
        return DCU_INVALID_VALUE;
    }
    if (threads > dcu_most_threads(f)) {
        return f->most_threads[0] != 0 || f->required_threads[0] != 0 ? DCU_INVALID_VALUE : DCU_LAUNCH_OUT_OF_RESOURCES;
    }
    return l->shared > (uint32_t)f->dynamic_limit ? DCU_INVALID_VALUE : DCU_OK;
}

static uint32_t product(const uint32_t v[3]) {
    return v[0] * v[1] * v[2];
}

static int check_cluster(const launch *l, const dcu_device_facts *facts, uint32_t cluster[3]) {
    const dcu_function *const f = l->function;
    const int compiled = f->cluster[0] != 0, asked = l->cluster[0] != 0;
    if (!compiled && !asked) {
        cluster[0] = cluster[1] = cluster[2] = 1;
        return DCU_OK;
    }
    if (!facts->clusters) return DCU_NOT_SUPPORTED;
    if (compiled && asked && memcmp(f->cluster, l->cluster, sizeof l->cluster) != 0) return DCU_INVALID_CLUSTER_SIZE;
    memcpy(cluster, compiled ? f->cluster : l->cluster, sizeof l->cluster);
    for (unsigned i = 0; i < 3; i++) {
        if (cluster[i] == 0) return DCU_INVALID_VALUE;
        if (!f->grid_in_clusters && l->grid[i] % cluster[i] != 0) return DCU_INVALID_VALUE;
    }
    if (product(cluster) > 16 || (product(cluster) > 8 && !f->non_portable)) return DCU_INVALID_CLUSTER_SIZE;
    return DCU_OK;
}

static int blocks_per_multiprocessor(const dcu_function *f, uint64_t threads, uint64_t dynamic) {
    const dcu_device_facts *const facts = dcu_facts(f->module->context->device);
    if (threads == 0 || threads > dcu_most_threads(f)) return 0;
    const uint64_t warps = (threads + 31) / 32;
    uint64_t most = (uint64_t)facts->threads_per_multiprocessor / 32 / warps;
    const uint64_t per_warp = ((uint64_t)f->registers + 7) / 8 * 8 * 32;
    if (per_warp != 0 && 65536 / 4 / per_warp * 4 / warps < most) most = 65536 / 4 / per_warp * 4 / warps;
    const uint64_t shared = f->shared_bytes + dynamic + (uint64_t)facts->reserved_shared;
    if (shared != 0 && (uint64_t)facts->shared_per_multiprocessor / shared < most) {
        most = (uint64_t)facts->shared_per_multiprocessor / shared;
    }
    return most > 32 ? 32 : (int)most;
}

static int check_cooperative(const launch *l, const dcu_device_facts *facts) {
    if (!l->cooperative) return DCU_OK;
    const uint64_t fits = (uint64_t)facts->multiprocessors *
                          (uint64_t)blocks_per_multiprocessor(l->function, product(l->block), l->shared);
    const uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    return blocks > fits ? DCU_COOPERATIVE_LAUNCH_TOO_LARGE : DCU_OK;
}

/* ---- Running --------------------------------------------------------------------------------------------- */

static int place(const launch *l, double_queue **queue, dcu_context **context) {
    if ((uintptr_t)l->stream <= 2) { /* NULL, the legacy stream by name, the thread's own */
        const int code = dcu_current(context);
        *queue = code == DCU_OK ? &(*context)->queue : NULL;
        if (code != DCU_OK) return code;
    } else {
        const int state = double_object_state(l->stream, DCU_STREAM);
        if (state != 1) {
            double_violation("launch: %s", state == 0 ? "no stream" : "a stream that was destroyed");
            return DCU_INVALID_HANDLE;
        }
        *context = l->stream->context;
        *queue = &l->stream->queue;
    }
    if (*context != l->function->module->context) {
        double_violation("launch of %s: the stream is of another context", l->function->name);
        return DCU_INVALID_HANDLE;
    }
    return dcu_healthy(*context);
}

static int read_params(const launch *l, double_launch *out) {
    const dcu_function *const f = l->function;
    if (l->params != NULL && l->extra != NULL) return DCU_INVALID_VALUE;
    if (l->extra != NULL) {
        double_violation("launch of %s: a packed buffer of parameters", f->name);
        return DCU_NOT_SUPPORTED;
    }
    if (l->params == NULL && f->param_count > 0) return DCU_INVALID_VALUE;
    for (unsigned i = 0; i < f->param_count; i++) {
        if (l->params[i] == NULL) return DCU_INVALID_VALUE;
    }
    out->count = f->param_count;
    out->sizes = f->param_sizes;
    out->values = l->params;
    return DCU_OK;
}

static int load_late(dcu_function *f, const double_queue *queue) {
    if (f->loaded) return DCU_OK;
    double_violation("launch of %s: its code is loaded only now", f->name);
    if (queue->first != NULL) double_violation("launch of %s: loading waits for work that may wait for it", f->name);
    const int code = dcu_capture_forbids();
    if (code == DCU_OK) f->loaded = 1;
    return code;
}

static void count_launch(dcu_context *context) {
    context->launches++;
    long *const left = &double_settings[DOUBLE_STICKY_AFTER];
    if (*left > 0 && --*left == 0) dcu_context_fault(context);
}

static int run(const launch *l) {
    const int state = double_object_state(l->function, DCU_FUNCTION);
    if (state != 1) {
        double_violation("launch: %s", state == 0 ? "no function" : "a function of an unloaded module");
        return DCU_INVALID_HANDLE;
    }
    double_queue *queue = NULL;
    dcu_context *context = NULL;
    uint32_t cluster[3];
    double_last = l->extras;
    int code = place(l, &queue, &context);
    if (code != DCU_OK) return code;
    const dcu_device_facts *const facts = dcu_facts(context->device);
    code = check_shape(l, facts);
    if (code == DCU_OK) code = check_cluster(l, facts, cluster);
    if (code == DCU_OK) code = check_cooperative(l, facts);
    if (code != DCU_OK) return code;
    double_launch work = {.kernel = l->function->name, .shared = l->shared};
    code = read_params(l, &work);
    if (code == DCU_OK) code = load_late(l->function, queue);
    if (code == DCU_OK && l->stream == NULL && dcu_captures_in(context)) {
        code = double_break_capture(DCU_STREAM_CAPTURE_IMPLICIT);
    }
    if (code != DCU_OK || double_captures(l->stream)) return code;
    for (unsigned i = 0; i < 3; i++) {
        work.grid[i] = l->function->grid_in_clusters ? l->grid[i] * cluster[i] : l->grid[i];
        work.block[i] = l->block[i];
    }
    if (!double_queue_kernel(queue, &work, l->function->module, dcu_context_fault, context)) return DCU_OUT_OF_MEMORY;
    count_launch(context);
    return DCU_OK;
}

DOUBLE_API int cuLaunchKernel(dcu_function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, dcu_stream *stream,
                              void **params, void **extra) {
    const launch l = {
        .function = function,
        .grid = {grid_x, grid_y, grid_z},
        .block = {block_x, block_y, block_z},
        .shared = shared,
        .stream = stream,
        .params = params,
        .extra = extra,
        .extras = {.programmatic = -1},
    };
    DOUBLE_CALL(CALL_cuLaunchKernel, run(&l));
}

DOUBLE_API int cuLaunchCooperativeKernel(dcu_function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                         unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                         dcu_stream *stream, void **params) {
    const launch l = {
        .function = function,
        .grid = {grid_x, grid_y, grid_z},
        .block = {block_x, block_y, block_z},
        .shared = shared,
        .stream = stream,
        .params = params,
        .cooperative = 1,
        .extras = {.programmatic = -1, .cooperative = 1},
    };
    DOUBLE_CALL(CALL_cuLaunchCooperativeKernel, run(&l));
}

static void note_attribute(double_extras *extras, const dcu_attribute *a) {
    if (extras->count < DOUBLE_ATTRIBUTES) extras->ids[extras->count] = a->id;
    extras->count++;
    if (a->id == DCU_ATTR_COOPERATIVE) extras->cooperative = a->value.number;
    if (a->id == DCU_ATTR_PROGRAMMATIC_SERIALIZATION) extras->programmatic = a->value.number;
    if (a->id == DCU_ATTR_CLUSTER_DIMENSION) {
        extras->cluster[0] = a->value.cluster.x;
        extras->cluster[1] = a->value.cluster.y;
        extras->cluster[2] = a->value.cluster.z;
    }
}

static int take_attributes(launch *l, const dcu_config *config) {
    unsigned seen = 0;
    if (config->attribute_count > 0 && config->attributes == NULL) return DCU_INVALID_VALUE;
    for (unsigned i = 0; i < config->attribute_count; i++) {
        const dcu_attribute *const a = &config->attributes[i];
        if (a->id < 0 || a->id > 18) return DCU_INVALID_VALUE;
        if ((seen >> a->id & 1u) != 0) double_violation("launch attribute %d is given twice", a->id);
        seen |= 1u << a->id;
        note_attribute(&l->extras, a);
        switch (a->id) {
        case DCU_ATTR_COOPERATIVE:
            l->cooperative = a->value.number != 0;
            break;
        case DCU_ATTR_CLUSTER_DIMENSION:
            l->cluster[0] = a->value.cluster.x;
            l->cluster[1] = a->value.cluster.y;
            l->cluster[2] = a->value.cluster.z;
            if (product(l->cluster) == 0) return DCU_INVALID_VALUE;
            break;
        case DCU_ATTR_PROGRAMMATIC_SERIALIZATION:
            if (dcu_facts(l->function->module->context->device)->major < 9) return DCU_NOT_SUPPORTED;
            break;
        default:
            break;
        }
    }
    return DCU_OK;
}

static int from_config(launch *l, const dcu_config *config) {
    if (config == NULL) return DCU_INVALID_VALUE;
    memcpy(l->grid, config->grid, sizeof l->grid);
    memcpy(l->block, config->block, sizeof l->block);
    l->shared = config->shared;
    l->stream = config->stream;
    return double_object_state(l->function, DCU_FUNCTION) == 1 ? take_attributes(l, config) : DCU_OK;
}

static int run_config(const dcu_config *config, dcu_function *function, void **params, void **extra) {
    launch l = {.function = function, .params = params, .extra = extra, .extras = {.programmatic = -1}};
    const int code = from_config(&l, config);
    return code != DCU_OK ? code : run(&l);
}
DOUBLE_API int cuLaunchKernelEx(const dcu_config *config, dcu_function *function, void **params, void **extra) {
    DOUBLE_CALL(CALL_cuLaunchKernelEx, run_config(config, function, params, extra));
}

/* ---- Occupancy ------------------------------------------------------------------------------------------- */

static int occupancy_function(dcu_function *function) {
    if (double_object_state(function, DCU_FUNCTION) == 1) return dcu_healthy(function->module->context);
    double_violation("occupancy: no function, or one of an unloaded module");
    return DCU_INVALID_HANDLE;
}

static int active_blocks(int *out, dcu_function *function, int threads, size_t dynamic) {
    const int code = occupancy_function(function);
    if (code != DCU_OK) return code;
    if (out == NULL || threads <= 0) return DCU_INVALID_VALUE;
    *out = blocks_per_multiprocessor(function, (uint64_t)threads, dynamic);
    return DCU_OK;
}
DOUBLE_API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, dcu_function *function, int threads,
                                                           size_t dynamic) {
    DOUBLE_CALL(CALL_cuOccupancyMaxActiveBlocksPerMultiprocessor, active_blocks(out, function, threads, dynamic));
}

static int active_clusters(int *out, dcu_function *function, const dcu_config *config) {
    int code = occupancy_function(function);
    if (code != DCU_OK) return code;
    launch l = {.function = function};
    uint32_t cluster[3];
    code = out == NULL ? DCU_INVALID_VALUE : from_config(&l, config);
    const dcu_device_facts *const facts = dcu_facts(function->module->context->device);
    if (code == DCU_OK) code = check_cluster(&l, facts, cluster);
    if (code != DCU_OK) return code;
    /* Eighteen multiprocessors to a group of which a cluster may not step out. */
    const uint64_t blocks = (uint64_t)blocks_per_multiprocessor(function, product(l.block), l.shared);
    const uint64_t groups = (uint64_t)facts->multiprocessors / 18;
    *out = (int)(groups * (18 * blocks / product(cluster)));
    return DCU_OK;
}
DOUBLE_API int cuOccupancyMaxActiveClusters(int *out, dcu_function *function, const dcu_config *config) {
    DOUBLE_CALL(CALL_cuOccupancyMaxActiveClusters, active_clusters(out, function, config));
}
