/* Modules, functions and launches. */
#include "hip_calls.h"
#include "hip_double.h"

#include <stdlib.h>
#include <string.h>

/* ---- Modules --------------------------------------------------------------------------------------------- */

dhip_function *dhip_function_new(dhip_module *module, const char *name, size_t length) {
    dhip_function **const more = realloc(module->functions, (module->function_count + 1) * sizeof *more);
    if (more == NULL) return NULL;
    module->functions = more;
    dhip_function *const function = double_object_new(DHIP_FUNCTION);
    if (function == NULL) return NULL;
    function->module = module;
    function->name = strndup(name, length);
    function->most_threads = 1024;
    more[module->function_count++] = function;
    return function->name == NULL ? NULL : function;
}

void dhip_module_drop(dhip_module *module) {
    for (unsigned i = 0; i < module->function_count; i++) {
        dhip_function *const f = module->functions[i];
        free(f->name);
        free(f->param_sizes);
        f->name = NULL;
        f->param_sizes = NULL;
        f->object.alive = 0;
    }
    for (unsigned i = 0; i < module->global_count; i++) free(module->globals[i].name);
    free(module->functions);
    free(module->globals);
    module->functions = NULL;
    module->globals = NULL;
    module->function_count = module->global_count = 0;
    double_memory_drop(NULL, module);
    module->object.alive = 0;
}

/* What the driver says of its functions beside what stands in the image. */
static void add_figures(dhip_module *module) {
    const uint32_t most = (uint32_t)double_settings[DOUBLE_FEWER_THREADS];
    for (unsigned i = 0; i < module->function_count; i++) {
        dhip_function *const f = module->functions[i];
        f->registers += (uint32_t)double_settings[DOUBLE_MORE_REGISTERS];
        f->local_bytes += (uint32_t)double_settings[DOUBLE_MORE_LOCAL];
        f->shared_bytes += (uint32_t)double_settings[DOUBLE_MORE_SHARED];
        if (most != 0 && most < f->most_threads) f->most_threads = most;
    }
}

static int load(dhip_module **out, const void *image) {
    const int device = dhip_current();
    int code = dhip_healthy(device);
    if (code == DHIP_OK) code = dhip_capture_forbids();
    if (code != DHIP_OK) return code;
    if (out == NULL || image == NULL) return DHIP_INVALID_VALUE;
    code = dhip_image_of_file(image);
    unsigned char *bytes = NULL;
    size_t size = 0;
    uint64_t whole = 0;
    if (code == DHIP_OK) code = dhip_image_take(image, dhip_facts(device), &whole, &bytes, &size);
    if (code != DHIP_OK) return code;
    dhip_module *const module = double_object_new(DHIP_MODULE);
    if (module != NULL) {
        int readable = 0;
        module->device = device;
        module->image = image;
        module->image_size = whole;
        module->image_hash = dhip_image_hash(image, whole, &readable);
        code = dhip_image_parse(module, bytes, size);
        add_figures(module);
        if (code != DHIP_OK) dhip_module_drop(module);
    }
    free(bytes);
    if (module == NULL) return DHIP_OUT_OF_MEMORY;
    if (code == DHIP_OK) *out = module;
    return code;
}
DOUBLE_API int hipModuleLoadData(dhip_module **out, const void *image) {
    DHIP_CALL(CALL_hipModuleLoadData, load(out, image));
}
DOUBLE_API int hipModuleLoadDataEx(dhip_module **out, const void *image, unsigned count, int *options, void **values) {
    (void)count; /* not looked at, as in the real one */
    (void)options;
    (void)values;
    DHIP_CALL(CALL_hipModuleLoadDataEx, load(out, image));
}

static void look_at_image(const dhip_module *module, const char *when) {
    int readable = 0;
    const uint64_t hash = dhip_image_hash(module->image, module->image_size, &readable);
    if (!readable) {
        double_violation("%s: the image is gone while its module lives", when);
    } else if (hash != module->image_hash) {
        double_violation("%s: the image has changed while its module lives", when);
    }
}

static int find_module(dhip_module *module, const char *doing) {
    const int state = double_object_state(module, DHIP_MODULE);
    if (state == 1) return DHIP_OK;
    double_violation("%s: %s module", doing, state == 0 ? "no" : "an unloaded");
    return DHIP_NOT_FOUND;
}

typedef struct users {
    const dhip_module *module;
    int found;
} users;
static void see_user(void *object, void *context) {
    users *const u = context;
    u->found |= double_queue_uses(&((dhip_stream *)object)->queue, u->module);
}

static int unload(dhip_module *module) {
    if (module == NULL) return DHIP_INVALID_HANDLE;
    const int code = find_module(module, "unload");
    if (code != DHIP_OK) return code;
    if (module->device != dhip_current()) double_violation("unload: another device is current");
    look_at_image(module, "unload");
    users u = {module, double_queue_uses(&dhip_devices[module->device].queue, module)};
    double_objects_each(DHIP_STREAM, see_user, &u);
    if (u.found) double_violation("unload: a kernel of the module has not ended");
    const int state = dhip_healthy(module->device);
    dhip_module_drop(module);
    return state;
}
DOUBLE_API int hipModuleUnload(dhip_module *module) {
    DHIP_CALL(CALL_hipModuleUnload, unload(module));
}

/* The real one has a guarantee here that ends the process. */
static void guarantee(const dhip_module *module, const char *doing) {
    if (module->device == dhip_current()) return;
    double_violation("%s: the module is of another device", doing);
    abort();
}

static int get_function(dhip_function **out, dhip_module *module, const char *name) {
    int code = find_module(module, "hipModuleGetFunction");
    if (code != DHIP_OK) return code;
    if (out == NULL || name == NULL || name[0] == '\0') return DHIP_INVALID_VALUE;
    guarantee(module, "hipModuleGetFunction");
    code = dhip_healthy(module->device);
    if (code != DHIP_OK) return code;
    for (unsigned i = 0; i < module->function_count; i++) {
        if (strcmp(module->functions[i]->name, name) != 0) continue;
        *out = module->functions[i];
        return DHIP_OK;
    }
    return DHIP_NOT_FOUND;
}
DOUBLE_API int hipModuleGetFunction(dhip_function **out, dhip_module *module, const char *name) {
    DHIP_CALL(CALL_hipModuleGetFunction, get_function(out, module, name));
}

static int get_global(uint64_t *address, size_t *size, dhip_module *module, const char *name) {
    const int code = find_module(module, "hipModuleGetGlobal");
    if (code != DHIP_OK) return code;
    if (name == NULL || (address == NULL && size == NULL)) return DHIP_INVALID_VALUE;
    guarantee(module, "hipModuleGetGlobal");
    for (unsigned i = 0; i < module->global_count; i++) {
        if (strcmp(module->globals[i].name, name) != 0) continue;
        if (address != NULL) *address = module->globals[i].address;
        if (size != NULL) *size = (size_t)module->globals[i].size;
        return DHIP_OK;
    }
    return DHIP_NOT_FOUND;
}
DOUBLE_API int hipModuleGetGlobal(uint64_t *address, size_t *size, dhip_module *module, const char *name) {
    DHIP_CALL(CALL_hipModuleGetGlobal, get_global(address, size, module, name));
}

/* ---- Functions ------------------------------------------------------------------------------------------- */

static int find_function(dhip_function *function, const char *doing) {
    if (function == NULL) return DHIP_INVALID_HANDLE;
    const int state = double_object_state(function, DHIP_FUNCTION);
    if (state == 1) return dhip_healthy(function->module->device);
    double_violation("%s: %s", doing, state == 0 ? "no function" : "a function of an unloaded module");
    return DHIP_INVALID_HANDLE;
}

static int function_attribute(int *out, int what, dhip_function *f) {
    const int code = find_function(f, "hipFuncGetAttribute");
    if (code != DHIP_OK) return code;
    if (out == NULL) return DHIP_INVALID_VALUE;
    switch (what) {
    case DHIP_FUNC_MAX_THREADS:
        *out = (int)f->most_threads;
        return DHIP_OK;
    case DHIP_FUNC_SHARED:
        *out = (int)f->shared_bytes;
        return DHIP_OK;
    case DHIP_FUNC_CONST:
        *out = 0;
        return DHIP_OK;
    case DHIP_FUNC_LOCAL:
        *out = (int)f->local_bytes;
        return DHIP_OK;
    case DHIP_FUNC_REGISTERS:
        *out = (int)f->registers;
        return DHIP_OK;
    default:
        if (what < 0 || what > 9) return DHIP_INVALID_VALUE;
        *out = 0;
        return DHIP_OK;
    }
}
DOUBLE_API int hipFuncGetAttribute(int *out, int what, dhip_function *function) {
    DHIP_CALL(CALL_hipFuncGetAttribute, function_attribute(out, what, function));
}

/* ---- Launches -------------------------------------------------------------------------------------------- */

typedef struct launch {
    dhip_function *function;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared;
    dhip_stream *stream;
    void **params;
    void **extra;
    int cooperative;
} launch;

static uint64_t product(const uint32_t v[3]) {
    return (uint64_t)v[0] * v[1] * v[2];
}

static int fitting(const dhip_function *f, uint64_t threads, uint64_t dynamic) {
    const dhip_device_facts *const facts = dhip_facts(f->module->device);
    if (threads == 0 || threads > f->most_threads) return 0;
    uint64_t most = 2048 / (uint64_t)(((int64_t)threads + facts->wavefront - 1) / facts->wavefront * facts->wavefront);
    const uint64_t shared = f->shared_bytes + dynamic;
    if (shared != 0 && 65536 / shared < most) most = 65536 / shared;
    return (int)most;
}

static int check(const launch *l) {
    const dhip_function *const f = l->function;
    if (l->params != NULL && l->extra != NULL) return DHIP_INVALID_VALUE;
    for (unsigned i = 0; i < 3; i++) {
        if (l->grid[i] == 0 || l->block[i] == 0) return DHIP_INVALID_VALUE;
    }
    if ((uint64_t)l->grid[0] * l->block[0] > UINT32_MAX) return DHIP_INVALID_CONFIGURATION;
    if (l->grid[1] > 65536 || l->grid[2] > 65536) return DHIP_INVALID_VALUE;
    if (product(l->block) > 1024) return DHIP_INVALID_VALUE;
    if (product(l->block) > f->most_threads) return DHIP_LAUNCH_FAILURE; /* nothing ran, and nothing is broken */
    if ((uint64_t)f->shared_bytes + l->shared > 65536) return DHIP_INVALID_VALUE;
    if (f->param_count > 0 && l->params == NULL && l->extra == NULL) return DHIP_INVALID_VALUE;
    if (l->extra != NULL) {
        double_violation("launch of %s: a packed buffer of parameters", f->name);
        return DHIP_NOT_SUPPORTED;
    }
    if (!l->cooperative) return DHIP_OK;
    const uint64_t fits =
        (uint64_t)dhip_facts(f->module->device)->multiprocessors * (uint64_t)fitting(f, product(l->block), l->shared);
    return product(l->grid) > fits ? DHIP_COOPERATIVE_LAUNCH_TOO_LARGE : DHIP_OK;
}

static int place(const launch *l, double_queue **queue, int *device) {
    if (l->stream == NULL) {
        *device = dhip_current();
        *queue = &dhip_devices[*device].queue;
    } else {
        if (double_object_state(l->stream, DHIP_STREAM) != 1) {
            double_violation("launch: no stream, or one that was destroyed");
            return DHIP_INVALID_HANDLE;
        }
        *device = l->stream->device;
        *queue = &l->stream->queue;
    }
    if (*device == l->function->module->device) return dhip_healthy(*device);
    double_violation("launch of %s: the stream is of another device", l->function->name);
    return DHIP_INVALID_HANDLE;
}

static int run(const launch *l) {
    double_queue *queue = NULL;
    int device = 0;
    int code = find_function(l->function, "launch");
    if (code == DHIP_OK) code = place(l, &queue, &device);
    if (code == DHIP_OK) code = check(l);
    if (code != DHIP_OK) return code;
    look_at_image(l->function->module, "launch");
    double_last = (double_extras){.cooperative = l->cooperative, .programmatic = -1};
    if (l->stream == NULL && dhip_captures_on(device)) return double_break_capture(DHIP_STREAM_CAPTURE_IMPLICIT);
    if (double_captures(l->stream)) return DHIP_OK;
    dhip_function *const f = l->function;
    double_launch work = {
        .kernel = f->name, .shared = l->shared, .count = f->param_count, .sizes = f->param_sizes, .values = l->params};
    memcpy(work.grid, l->grid, sizeof work.grid);
    memcpy(work.block, l->block, sizeof work.block);
    dhip_device *const on = &dhip_devices[device];
    if (!double_queue_kernel(queue, &work, f->module, dhip_fault, on)) return DHIP_OUT_OF_MEMORY;
    on->launches++;
    long *const left = &double_settings[DOUBLE_STICKY_AFTER];
    if (*left > 0 && --*left == 0) dhip_fault(on);
    return DHIP_OK;
}

DOUBLE_API int hipModuleLaunchKernel(dhip_function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                     dhip_stream *stream, void **params, void **extra) {
    const launch l = {function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream, params, extra,
                      0};
    DHIP_CALL(CALL_hipModuleLaunchKernel, run(&l));
}
DOUBLE_API int hipModuleLaunchCooperativeKernel(dhip_function *function, unsigned grid_x, unsigned grid_y,
                                                unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                                                unsigned shared, dhip_stream *stream, void **params) {
    const launch l = {function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream, params, NULL, 1};
    DHIP_CALL(CALL_hipModuleLaunchCooperativeKernel, run(&l));
}

static int occupancy(int *out, dhip_function *function, int threads, size_t dynamic) {
    const int code = find_function(function, "occupancy");
    if (code != DHIP_OK) return code;
    if (out == NULL || threads <= 0) return DHIP_INVALID_VALUE;
    *out = fitting(function, (uint64_t)threads, dynamic);
    return DHIP_OK;
}
DOUBLE_API int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *out, dhip_function *function, int threads,
                                                                  size_t dynamic) {
    DHIP_CALL(CALL_hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, occupancy(out, function, threads, dynamic));
}
