/* A test's device on a double: opened, with a pair of kernels to load, and everything given back at the end. */
#ifndef GPU_WAY_H
#define GPU_WAY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault_alloc.h"
#include "gpu_world.h"

static const char *const kinds[] = {"cuda", "hip"};

typedef struct way {
    const char *kind;
    slt_double d;
    slw_device *device;
    slt_image *pair;
    slt_heap heap;
    slw_device_address sum;
    slw_error err;
} way;
static way w;
static const slw_stream null_stream = SLW_STREAM_DEFAULT;

static int (*current_get)(void **); /* cuda */
static int (*context_create)(void **, unsigned, int);
static int (*context_destroy)(void *);
static int (*device_get)(int *); /* hip */
static int (*device_set)(int);

static inline void find(const char *name, void *out) {
    void *const found = slt_double_symbol(&w.d, name);
    memcpy(out, &found, sizeof found);
}

static inline void find_calls(void) {
    if (w.kind[0] == 'c') {
        find("cuCtxGetCurrent", &current_get);
        find("cuCtxCreate_v2", &context_create);
        find("cuCtxDestroy_v2", &context_destroy);
    } else {
        find("hipGetDevice", &device_get);
        find("hipSetDevice", &device_set);
    }
}

static inline void start(int kind) {
    w = (way){.kind = kinds[kind], .err = SLW_ERROR_INIT};
    slt_heap_init(&w.heap);
    slt_gpu_open(&w.d, w.kind, 0, &w.heap.allocator, &w.device);
    w.pair = slt_gpu_pair(slt_gpu_target(w.kind, 0));
    find_calls();
    slt_ok(slw_device_alloc(w.device, 8, &w.sum, &w.err), &w.err);
}
static inline void stop(void) {
    if (w.sum != 0) slt_ok(slw_device_free(w.device, &w.sum, &w.err), &w.err);
    slw_device_close(&w.device);
    slt_image_free(w.pair);
    slt_double_check(&w.d);
    slt_heap_check_empty(&w.heap);
}

static inline slw_hydrated *hydrate(void) {
    slw_hydrated *hydrated = NULL;
    slt_ok(slw_hydrate_binary(w.pair->image.bytes, "pair", &w.heap.allocator, NULL, &hydrated, &w.err), &w.err);
    return hydrated;
}
static inline slw_device_loaded *load(void) {
    slw_hydrated *hydrated = hydrate();
    slw_device_loaded *loaded = NULL;
    slt_ok(slw_device_load(&hydrated, w.device, &loaded, &w.err), &w.err);
    return loaded;
}
static inline slw_launch_shape shape_of(const char *entry, uint32_t shared_bytes) {
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    shape.entry = entry;
    shape.block[0] = 64;
    shape.block[1] = shape.block[2] = 1;
    shape.shared_bytes = shared_bytes;
    return shape;
}
static inline slw_launchable *make(const char *entry, uint32_t shared_bytes) {
    slw_device_loaded *loaded = load();
    slw_launchable *launchable = NULL;
    const slw_launch_shape shape = shape_of(entry, shared_bytes);
    slt_ok(slw_make_launchable(&loaded, &shape, &launchable, &w.err), &w.err);
    return launchable;
}
static inline slw_code launch(const slw_launchable *launchable, slw_stream stream) {
    slw_grid grid = SLW_GRID_INIT;
    slw_args args = SLW_ARGS_INIT;
    uint32_t number = 3;
    void *values[] = {&w.sum, &number};
    grid.extent[0] = 4;
    grid.extent[1] = grid.extent[2] = 1;
    args.count = slw_launchable_kernel(launchable)->param_count;
    args.values = values;
    return slw_launch(launchable, &grid, stream, &args, &w.err);
}

/* The names of all calls since the log was cleared, each with a space behind it. */
static inline const char *log_text(void) {
    static char text[1024];
    double_call call;
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; w.d.control->log_at(i, &call) && used < sizeof text - 64; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s ", call.name);
    }
    return text;
}

#endif
