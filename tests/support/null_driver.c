#include "null_driver.h"

#include <slipway/limits.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MODULE_ALIVE 0x6d6f646cu
#define MODULE_DEAD  0x64656164u
#define KERNELS_MAX  16

typedef struct null_function {
    struct null_module *module;
    char name[SLW_LIMIT_KERNEL_NAME_BYTES];
} null_function;

/* Unloaded modules are kept until close, so that a use after unload is noticed instead of undefined. */
typedef struct null_module {
    atomic_uint tag;
    struct null_module *next;
    uint32_t function_count;
    null_function functions[KERNELS_MAX];
} null_module;

typedef struct null_state {
    slt_null *null;
    _Atomic(null_module *) modules;
    atomic_uint_fast64_t stream;
} null_state;

void slt_null_init(slt_null *null) {
    memset(null, 0, sizeof *null);
    slw_device_info info = SLW_DEVICE_INFO_INIT;
    (void)snprintf(info.kind, sizeof info.kind, "null");
    (void)snprintf(info.name, sizeof info.name, "null:0");
    (void)snprintf(info.target, sizeof info.target, "null");
    info.max_threads = 1024;
    info.max_block[0] = info.max_block[1] = 1024;
    info.max_block[2] = 64;
    info.max_grid[0] = 2147483647;
    info.max_grid[1] = info.max_grid[2] = 65535;
    info.max_shared_bytes = 49152;
    info.max_optin_shared_bytes = 232448;
    info.reserved_shared_bytes = 1024;
    info.registers_per_block = info.registers_per_multiprocessor = 65536;
    info.warp_threads = 32;
    info.multiprocessors = 132;
    info.max_cluster_rank = 8;
    info.cooperative = 1;
    null->info = info;
}

void slt_null_use(slt_null *null, slw_device_options *options) {
    options->kind = "null";
    options->driver = &slt_null_driver;
    options->driver_context = null;
}

void slt_null_fail(slt_null_script *script, slw_code code, int times) {
    atomic_store(&script->code, code);
    atomic_store(&script->times, times);
}

/* By hand, so that this file needs the public headers only. */
static slw_code refuse(slw_error *err, slw_code code, const char *reason, const char *what) {
    if (err == NULL || err->code != SLW_OK) return code;
    err->code = code;
    err->reason = reason;
    (void)snprintf(err->message, sizeof err->message, "the null driver refuses: %s", what);
    return code;
}

static slw_code answer(slt_null_script *script, const char *call, slw_error *err) {
    int times = atomic_load(&script->times);
    while (times != 0) {
        if (times < 0 || atomic_compare_exchange_weak(&script->times, &times, times - 1)) {
            return refuse(err, atomic_load(&script->code), "SCRIPT", call);
        }
    }
    return SLW_OK;
}

static void violate(slt_null *null, const char *what) {
    if (atomic_fetch_add(&null->violations, 1) == 0)
        (void)snprintf(null->violation, sizeof null->violation, "%s", what);
}

static void pause_ms(unsigned ms) {
    const struct timespec duration = {ms / 1000u, (long)(ms % 1000u) * 1000000l};
    if (ms > 0) (void)nanosleep(&duration, NULL);
}

static slw_code null_open(const slw_device_options *options, void **state, slw_device_info *info, slw_error *err) {
    slt_null *null = options->driver_context;
    const slw_code code = answer(&null->open, "open", err);
    if (code != SLW_OK) return code;
    null_state *fresh = calloc(1, sizeof *fresh);
    fresh->null = null;
    atomic_fetch_add(&null->opens, 1);
    if (info->size != sizeof *info) violate(null, "open with an info of another size");
    *info = null->info;
    *state = fresh;
    return SLW_OK;
}

static void null_close(void *state, int forked) {
    null_state *closing = state;
    slt_null *null = closing->null;
    if (atomic_load(&null->modules_now) != 0) violate(null, "close with modules loaded");
    atomic_fetch_add(forked ? &null->forked_closes : &null->closes, 1);
    null_module *module = atomic_load(&closing->modules);
    while (module != NULL) {
        null_module *next = module->next;
        free(module);
        module = next;
    }
    free(closing);
}

static slw_code null_load(void *state, const slw_driver_image *image, void **module, int *at_fault, slw_error *err) {
    null_state *device = state;
    slt_null *null = device->null;
    if (image->size != sizeof *image || image->contract == NULL || image->contract->kernel_count > KERNELS_MAX) {
        violate(null, "load of a malformed image");
    }
    pause_ms(atomic_load(&null->load_delay_ms));
    const slw_code code = answer(&null->load, "load", err);
    if (code != SLW_OK) {
        atomic_fetch_add(&null->failed_loads, 1);
        *at_fault = atomic_load(&null->at_fault);
        return code;
    }
    null_module *fresh = calloc(1, sizeof *fresh);
    atomic_init(&fresh->tag, MODULE_ALIVE);
    fresh->function_count = image->contract->kernel_count;
    for (uint32_t i = 0; i < fresh->function_count; i++) {
        fresh->functions[i].module = fresh;
        (void)snprintf(fresh->functions[i].name, sizeof fresh->functions[i].name, "%s",
                       image->contract->kernels[i].name);
    }
    fresh->next = atomic_load(&device->modules);
    while (!atomic_compare_exchange_weak(&device->modules, &fresh->next, fresh)) {
    }
    atomic_fetch_add(&null->loads, 1);
    atomic_fetch_add(&null->modules_now, 1);
    *module = fresh;
    return SLW_OK;
}

static void null_unload(void *state, void *module, int forked) {
    slt_null *null = ((null_state *)state)->null;
    null_module *leaving = module;
    pause_ms(atomic_load(&null->unload_delay_ms));
    if (atomic_exchange(&leaving->tag, MODULE_DEAD) != MODULE_ALIVE) violate(null, "unload of what is not loaded");
    atomic_fetch_add(forked ? &null->forked_unloads : &null->unloads, 1);
    atomic_fetch_sub(&null->modules_now, 1);
}

static slw_code null_function_of(void *state, void *module, const slw_kernel_contract *kernel, void **function,
                                 slw_function_attributes *out, slw_error *err) {
    slt_null *null = ((null_state *)state)->null;
    null_module *loaded = module;
    atomic_fetch_add(&null->functions, 1);
    if (atomic_load(&loaded->tag) != MODULE_ALIVE) violate(null, "a function of an unloaded module");
    if (out->size != sizeof *out) violate(null, "function attributes of another size");
    const slw_code code = answer(&null->function, "function", err);
    if (code != SLW_OK) return code;
    for (uint32_t i = 0; i < loaded->function_count; i++) {
        if (strcmp(loaded->functions[i].name, kernel->name) != 0) continue;
        out->registers = kernel->registers + atomic_load(&null->more_registers);
        out->local_bytes = kernel->local_bytes;
        out->static_shared_bytes = kernel->static_shared_bytes;
        out->max_threads = kernel->max_threads != 0 ? kernel->max_threads : 1024u;
        *function = &loaded->functions[i];
        return SLW_OK;
    }
    return refuse(err, SLW_E_MISS, "NO_KERNEL", kernel->name);
}

static slw_code null_prepare(void *state, void *function, const slw_kernel_contract *kernel,
                             const slw_launch_shape *shape, slw_error *err) {
    slt_null *null = ((null_state *)state)->null;
    atomic_fetch_add(&null->prepares, 1);
    if (function == NULL || kernel == NULL || shape == NULL) violate(null, "prepare without its arguments");
    return answer(&null->prepare, "prepare", err);
}

static slw_code null_launch(void *state, void *function, const slw_driver_launch *launch, slw_error *err) {
    slt_null *null = ((null_state *)state)->null;
    null_function *called = function;
    if (atomic_load(&called->module->tag) != MODULE_ALIVE) violate(null, "a launch from an unloaded module");
    const slw_code code = answer(&null->launch, "launch", err);
    if (code != SLW_OK) return code;
    /* The first launch only, so that many threads may launch. */
    if (atomic_fetch_add(&null->launches, 1) == 0) {
        null->last_launch = *launch;
        null->last_function = function;
    }
    return SLW_OK;
}

static slw_code null_global(void *state, void *module, const char *name, slw_device_address *address,
                            uint64_t *size_bytes, slw_error *err) {
    slt_null *null = ((null_state *)state)->null;
    (void)module;
    atomic_fetch_add(&null->globals, 1);
    if (strcmp(name, "null_global") != 0) {
        return refuse(err, SLW_E_MISS, "NO_GLOBAL", name);
    }
    *address = 4096;
    *size_bytes = 64;
    return SLW_OK;
}

static void *null_native(void *module) {
    return module;
}

static slw_code null_alloc(void *state, uint64_t size_bytes, slw_device_address *out, slw_error *err) {
    slt_null *null = ((null_state *)state)->null;
    const slw_code code = answer(&null->alloc, "alloc", err);
    if (code != SLW_OK) return code;
    void *memory = calloc(1, size_bytes);
    if (memory == NULL) return refuse(err, SLW_E_NO_MEMORY, NULL, "alloc");
    atomic_fetch_add(&null->allocations, 1);
    *out = (slw_device_address)(uintptr_t)memory;
    return SLW_OK;
}

static slw_code null_free(void *state, slw_device_address address, slw_error *err) {
    (void)err;
    atomic_fetch_add(&((null_state *)state)->null->frees, 1);
    free((void *)(uintptr_t)address);
    return SLW_OK;
}

static slw_code null_copy_in(void *state, slw_device_address to, const void *from, uint64_t size_bytes,
                             slw_error *err) {
    const slw_code code = answer(&((null_state *)state)->null->copy, "copy", err);
    if (code == SLW_OK) memcpy((void *)(uintptr_t)to, from, size_bytes);
    return code;
}

static slw_code null_copy_out(void *state, void *to, slw_device_address from, uint64_t size_bytes, slw_error *err) {
    const slw_code code = answer(&((null_state *)state)->null->copy, "copy", err);
    if (code == SLW_OK) memcpy(to, (const void *)(uintptr_t)from, size_bytes);
    return code;
}

static slw_code null_stream_create(void *state, slw_stream *out, slw_error *err) {
    null_state *device = state;
    const slw_code code = answer(&device->null->stream, "stream_create", err);
    if (code != SLW_OK) return code;
    atomic_fetch_add(&device->null->streams_made, 1);
    out->native = (void *)(uintptr_t)(atomic_fetch_add(&device->stream, 1) + 1);
    return SLW_OK;
}

static slw_code null_stream_destroy(void *state, slw_stream stream, slw_error *err) {
    null_state *device = state;
    (void)err;
    if (stream.native == NULL) violate(device->null, "the default stream is destroyed");
    atomic_fetch_add(&device->null->streams_gone, 1);
    return SLW_OK;
}

static slw_code null_synchronize(void *state, const slw_stream *stream, slw_error *err) {
    (void)stream;
    (void)err;
    atomic_fetch_add(&((null_state *)state)->null->synchronizes, 1);
    return SLW_OK;
}

static slw_code null_wait_idle(void *state, slw_stream stream, uint64_t deadline_ns, slw_error *err) {
    slt_null *null = ((null_state *)state)->null;
    (void)stream;
    (void)deadline_ns;
    atomic_fetch_add(&null->waits, 1);
    return answer(&null->wait, "wait_idle", err);
}

const slw_driver_vtable slt_null_driver = {
    .size = sizeof(slw_driver_vtable),
    .abi = SLW_DRIVER_ABI,
    .kind = "null",
    .examine = NULL,
    .open = null_open,
    .close = null_close,
    .load = null_load,
    .unload = null_unload,
    .function = null_function_of,
    .prepare = null_prepare,
    .launch = null_launch,
    .global = null_global,
    .native_module = null_native,
    .alloc = null_alloc,
    .free = null_free,
    .copy_in = null_copy_in,
    .copy_out = null_copy_out,
    .stream_create = null_stream_create,
    .stream_destroy = null_stream_destroy,
    .synchronize = null_synchronize,
    .wait_idle = null_wait_idle,
};
