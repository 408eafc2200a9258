/* The host driver's vtable: what a device is, and its memory, which is the C library's. */
#include "host_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "drivers.h"
#include "fail.h"
#include "memory.h"

static void host_examine(const char *library, slw_driver_status *out) {
    (void)library;
    out->presence = SLW_PRESENCE_YES;
    out->code = SLW_OK;
    (void)snprintf(out->why, sizeof out->why, "kernels run on this processor (%s)", slwi_host_target());
}

/* Threads beside the caller's. */
static slw_code pool_size(const slw_device_options *options, uint32_t *out, slw_error *err) {
    if (options->pool_threads == UINT32_MAX) {
        *out = 0;
    } else if (options->pool_threads == 0) {
        const slwi_os *os = slwi_os_get();
        const uint32_t processors = os->processors(os);
        *out = processors <= 1u ? 0 : processors - 1u;
        if (*out > SLWI_HOST_DEFAULT_POOL) *out = SLWI_HOST_DEFAULT_POOL;
    } else if (options->pool_threads <= SLWI_HOST_LARGEST_POOL) {
        *out = options->pool_threads;
    } else {
        slwi_error_amount(err, "pool threads", options->pool_threads, SLWI_HOST_LARGEST_POOL, "threads");
        return slwi_fail(err, SLW_E_USAGE, NULL, "a pool of %u threads is larger than %u", options->pool_threads,
                         SLWI_HOST_LARGEST_POOL);
    }
    return SLW_OK;
}

static void describe(slw_device_info *info, uint32_t threads) {
    (void)snprintf(info->kind, sizeof info->kind, "host");
    (void)snprintf(info->name, sizeof info->name, "host:0");
    (void)snprintf(info->target, sizeof info->target, "%s", slwi_host_target());
    info->max_threads = SLWI_HOST_MAX_THREADS;
    info->max_block[0] = info->max_block[1] = SLWI_HOST_MAX_BLOCK_XY;
    info->max_block[2] = SLWI_HOST_MAX_BLOCK_Z;
    info->max_grid[0] = SLWI_HOST_MAX_GRID_X;
    info->max_grid[1] = info->max_grid[2] = SLWI_HOST_MAX_GRID_YZ;
    info->max_shared_bytes = info->max_optin_shared_bytes = SLWI_HOST_SHARED_BYTES;
    info->warp_threads = 1;
    info->multiprocessors = threads + 1u;
    info->max_cluster_rank = 1;
}

static slw_code host_open(const slw_device_options *options, void **state, slw_device_info *info, slw_error *err) {
    if (options->driver_library != NULL) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "the host driver has no library to name");
    }
    if (options->ordinal != 0) {
        return slwi_fail(err, SLW_E_NO_DEVICE, NULL, "there is one host device, number 0, not %u", options->ordinal);
    }
    uint32_t threads = 0;
    const slw_code code = pool_size(options, &threads, err);
    if (code != SLW_OK) return code;
    slwi_host_state *const host = slwi_alloc_zero(&options->allocator, sizeof *host);
    if (host == NULL) return slwi_fail_memory(err, sizeof *host);
    host->allocator = options->allocator;
    atomic_init(&host->streams, 0);
    if (threads > 0) {
        host->pool = slwi_host_pool_create(&host->allocator, threads);
        if (host->pool == NULL) {
            slwi_free(&options->allocator, host);
            return slwi_fail_memory(err, (size_t)threads * SLWI_HOST_SHARED_BYTES);
        }
    }
    describe(info, threads);
    *state = host;
    return SLW_OK;
}

static void host_close(void *state, int forked) {
    slwi_host_state *const host = state;
    const slw_allocator allocator = host->allocator;
    slwi_host_pool_destroy(host->pool, forked);
    slwi_free(&allocator, host);
}

/* ---- Memory ---------------------------------------------------------------------------------------------- */

static slw_code host_alloc(void *state, uint64_t size_bytes, slw_device_address *out, slw_error *err) {
    (void)state;
    uint64_t rounded = 0;
    void *memory = NULL;
    if (!slwi_add_u64(size_bytes, SLWI_HOST_SHARED_ALIGNMENT - 1u, &rounded) && rounded <= SIZE_MAX / 2u) {
        rounded -= rounded % SLWI_HOST_SHARED_ALIGNMENT;
        memory = aligned_alloc(SLWI_HOST_SHARED_ALIGNMENT, (size_t)rounded);
    }
    if (memory == NULL) {
        return slwi_fail(err, SLW_E_NO_MEMORY, NULL, "no %llu bytes of memory", (unsigned long long)size_bytes);
    }
    *out = (slw_device_address)(uintptr_t)memory;
    return SLW_OK;
}

static slw_code host_free(void *state, slw_device_address address, slw_error *err) {
    (void)state;
    (void)err;
    free((void *)(uintptr_t)address);
    return SLW_OK;
}

static slw_code host_copy_in(void *state, slw_device_address to, const void *from, uint64_t size_bytes,
                             slw_error *err) {
    (void)state;
    (void)err;
    memmove((void *)(uintptr_t)to, from, (size_t)size_bytes); /* here both sides may be the same memory */
    return SLW_OK;
}

static slw_code host_copy_out(void *state, void *to, slw_device_address from, uint64_t size_bytes, slw_error *err) {
    (void)state;
    (void)err;
    memmove(to, (const void *)(uintptr_t)from, (size_t)size_bytes);
    return SLW_OK;
}

/* ---- Streams: a launch is complete when it returns, so there is nothing in them ----------------------------- */

static slw_code host_stream_create(void *state, slw_stream *out, slw_error *err) {
    (void)err;
    slwi_host_state *const host = state;
    const uint_fast64_t number = atomic_fetch_add_explicit(&host->streams, 1u, memory_order_relaxed) + 1u;
    out->native = (void *)(uintptr_t)number;
    return SLW_OK;
}

static slw_code host_stream_destroy(void *state, slw_stream stream, slw_error *err) {
    slwi_host_state *const host = state;
    if ((uintptr_t)stream.native > atomic_load_explicit(&host->streams, memory_order_relaxed)) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "this device never made such a stream");
    }
    return SLW_OK;
}

static slw_code host_synchronize(void *state, const slw_stream *stream, slw_error *err) {
    (void)state;
    (void)stream;
    (void)err;
    return SLW_OK;
}

static slw_code host_wait_idle(void *state, slw_stream stream, uint64_t deadline_ns, slw_error *err) {
    (void)state;
    (void)stream;
    (void)deadline_ns;
    (void)err;
    return SLW_OK;
}

const slw_driver_vtable slwi_host_driver = {
    .size = sizeof(slw_driver_vtable),
    .abi = SLW_DRIVER_ABI,
    .kind = "host",
    .examine = host_examine,
    .open = host_open,
    .close = host_close,
    .load = slwi_host_load,
    .unload = slwi_host_unload,
    .function = slwi_host_find,
    .prepare = NULL,
    .launch = slwi_host_launch,
    .global = slwi_host_global,
    .native_module = slwi_host_native,
    .alloc = host_alloc,
    .free = host_free,
    .copy_in = host_copy_in,
    .copy_out = host_copy_out,
    .stream_create = host_stream_create,
    .stream_destroy = host_stream_destroy,
    .synchronize = host_synchronize,
    .wait_idle = host_wait_idle,
    .native_function = slwi_host_native_function,
};
