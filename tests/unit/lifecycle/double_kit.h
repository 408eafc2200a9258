/* What the lifecycle's tests over the double of libcuda share: one device on it, and binaries that are hydrated
 * without a store. Device 0 of the double is an H200 (sm_90), device 1 a T4 (sm_75). */
#ifndef LIFECYCLE_DOUBLE_KIT_H
#define LIFECYCLE_DOUBLE_KIT_H

#include <stdlib.h>
#include <string.h>

#include "fault_alloc.h"
#include "gpu_world.h"

#define DK_UNUSED __attribute__((unused))

typedef struct dk {
    slt_double d;
    slt_heap heap;
    slw_device *device;
    slw_device_address out; /* eight bytes */
    slw_error err;
} dk;

DK_UNUSED static void dk_open(dk *k) {
    *k = (dk){.err = SLW_ERROR_INIT};
    slt_heap_init(&k->heap);
    slt_gpu_open(&k->d, "cuda", 0, &k->heap.allocator, &k->device);
    slt_ok(slw_device_alloc(k->device, sizeof(uint64_t), &k->out, &k->err), &k->err);
}

/* Everything was given back, in the library and in the driver, and nothing forbidden was done. */
DK_UNUSED static void dk_close(dk *k) {
    if (k->out != 0) slt_ok(slw_device_free(k->device, &k->out, &k->err), &k->err);
    slw_device_close(&k->device);
    slt_double_check(&k->d);
    slt_heap_check_empty(&k->heap);
}

/* A file of the repository, and what stands beside it (NULL: nothing). */
DK_UNUSED static slw_hydrated *dk_hydrate(dk *k, const char *path, const char *metadata) {
    size_t size = 0, more = 0;
    slw_hydrate_options options = SLW_HYDRATE_OPTIONS_INIT;
    slw_hydrated *hydrated = NULL;
    char *const bytes = slt_read_file(slt_repository(path), &size);
    char *const text = metadata != NULL ? slt_read_file(slt_repository(metadata), &more) : NULL;
    options.metadata = (slw_bytes){text, more};
    options.target = "sm_90";
    const slw_bytes binary = {bytes, size};
    slt_ok(slw_hydrate_binary(binary, path, &k->heap.allocator, &options, &hydrated, &k->err), &k->err);
    free(bytes);
    free(text);
    return hydrated;
}

DK_UNUSED static slw_device_loaded *dk_load(dk *k, const char *path, const char *metadata) {
    slw_hydrated *hydrated = dk_hydrate(k, path, metadata);
    slw_device_loaded *loaded = NULL;
    slt_ok(slw_device_load(&hydrated, k->device, &loaded, &k->err), &k->err);
    return loaded;
}

DK_UNUSED static slw_launch_shape dk_shape(const char *entry, uint32_t threads) {
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    shape.entry = entry;
    shape.block[0] = threads;
    shape.block[1] = shape.block[2] = threads != 0;
    return shape;
}

/* The loaded one stays the caller's. */
DK_UNUSED static slw_code dk_try_make(dk *k, const slw_device_loaded *loaded, const slw_launch_shape *shape,
                                      slw_launchable **out) {
    slw_device_loaded *share = NULL;
    slt_ok(slw_device_loaded_share(loaded, &share, &k->err), &k->err);
    const slw_code code = slw_make_launchable(&share, shape, out, &k->err);
    ck_assert_int_eq(share == NULL, code == SLW_OK);
    if (code != SLW_OK) slw_device_loaded_discard(&share);
    return code;
}

DK_UNUSED static slw_launchable *dk_make(dk *k, const slw_device_loaded *loaded, const char *entry, uint32_t threads) {
    const slw_launch_shape shape = dk_shape(entry, threads);
    slw_launchable *launchable = NULL;
    slt_ok(dk_try_make(k, loaded, &shape, &launchable), &k->err);
    return launchable;
}

DK_UNUSED static slw_code dk_launch(dk *k, const slw_launchable *launchable, uint32_t x, uint32_t count,
                                    void *const *values) {
    const slw_stream stream = SLW_STREAM_DEFAULT;
    slw_grid grid = SLW_GRID_INIT;
    slw_args args = SLW_ARGS_INIT;
    grid.extent[0] = x;
    grid.extent[1] = grid.extent[2] = 1;
    args.count = count;
    args.values = values;
    return slw_launch(launchable, &grid, stream, &args, &k->err);
}

DK_UNUSED static uint64_t dk_read(dk *k) {
    uint64_t value = 0;
    slt_ok(slw_device_copy_out(k->device, &value, k->out, sizeof value, &k->err), &k->err);
    return value;
}

DK_UNUSED static slw_device_counts dk_counts(dk *k) {
    slw_device_counts counts = SLW_DEVICE_COUNTS_INIT;
    slt_ok(slw_device_get_counts(k->device, &counts, &k->err), &k->err);
    return counts;
}

#endif
