/* Modules and functions. */
#include "cuda_calls.h"
#include "cuda_double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Loading --------------------------------------------------------------------------------------------- */

static void function_drop(dcu_function *function) {
    free(function->name);
    free(function->param_sizes);
    free(function->param_offsets);
    function->name = NULL;
    function->param_sizes = function->param_offsets = NULL;
    function->object.alive = 0;
}

void dcu_module_drop(dcu_module *module) {
    for (unsigned i = 0; i < module->function_count; i++) function_drop(module->functions[i]);
    for (unsigned i = 0; i < module->global_count; i++) free(module->globals[i].name);
    free(module->functions);
    free(module->globals);
    module->functions = NULL;
    module->globals = NULL;
    module->function_count = module->global_count = 0;
    double_memory_drop(NULL, module);
    module->object.alive = 0;
}

dcu_function *dcu_function_new(dcu_module *module, const char *name, size_t name_length) {
    dcu_function **const more = realloc(module->functions, (module->function_count + 1) * sizeof *module->functions);
    if (more == NULL) return NULL;
    module->functions = more;
    dcu_function *const function = double_object_new(DCU_FUNCTION);
    if (function == NULL) return NULL;
    function->name = strndup(name, name_length);
    function->module = module;
    module->functions[module->function_count++] = function;
    return function->name == NULL ? NULL : function;
}

int dcu_function_param(dcu_function *function, unsigned ordinal, uint32_t offset, uint32_t size) {
    if (ordinal >= 4096) return 0;
    if (ordinal >= function->param_count) {
        const size_t bytes = (ordinal + 1) * sizeof(uint32_t);
        uint32_t *const sizes = realloc(function->param_sizes, bytes);
        if (sizes == NULL) return 0;
        function->param_sizes = sizes;
        uint32_t *const offsets = realloc(function->param_offsets, bytes);
        if (offsets == NULL) return 0;
        function->param_offsets = offsets;
        for (unsigned i = function->param_count; i <= ordinal; i++) sizes[i] = offsets[i] = 0;
        function->param_count = ordinal + 1;
    }
    function->param_sizes[ordinal] = size;
    function->param_offsets[ordinal] = offset;
    return 1;
}

static int parse(dcu_module *module, const unsigned char *bytes, size_t size, const dcu_device_facts *facts, char *log,
                 size_t log_size) {
    if (size >= 4 && memcmp(bytes, "\177ELF", 4) == 0) {
        const int code = dcu_cubin_runs_on(bytes, size, facts);
        return code != DCU_OK ? code : dcu_cubin_parse(module, bytes, size);
    }
    if (double_settings[DOUBLE_NO_JIT]) return DCU_JIT_COMPILATION_DISABLED;
    return dcu_ptx_parse(module, (const char *)bytes, facts, log, log_size);
}

static void settle_functions(dcu_module *module) {
    for (unsigned i = 0; i < module->function_count; i++) {
        dcu_function *const f = module->functions[i];
        f->registers += (uint32_t)double_settings[DOUBLE_MORE_REGISTERS];
        f->local_bytes += (uint32_t)double_settings[DOUBLE_MORE_LOCAL];
        f->shared_bytes += (uint32_t)double_settings[DOUBLE_MORE_SHARED];
        f->fewer_threads = (uint32_t)double_settings[DOUBLE_FEWER_THREADS];
        f->dynamic_limit = f->shared_bytes < 49152 ? 49152 - (int)f->shared_bytes : 0;
        f->carveout = -1;
        f->loaded = !double_settings[DOUBLE_LAZY];
    }
}

static int load(dcu_module **out, const void *image, char *log, size_t log_size) {
    dcu_context *context = NULL;
    int code = dcu_current(&context);
    if (code == DCU_OK) code = dcu_capture_forbids();
    if (code != DCU_OK) return code;
    if (out == NULL || image == NULL) return DCU_INVALID_VALUE;
    const dcu_device_facts *const facts = dcu_facts(context->device);
    unsigned char *bytes = NULL;
    size_t size = 0;
    code = dcu_image_take(image, facts, &bytes, &size);
    if (code != DCU_OK) return code;
    dcu_module *const module = double_object_new(DCU_MODULE);
    code = module == NULL ? DCU_OUT_OF_MEMORY : DCU_OK;
    if (module != NULL) {
        module->context = context;
        code = parse(module, bytes, size, facts, log, log_size);
        settle_functions(module);
        if (code != DCU_OK) dcu_module_drop(module);
    }
    free(bytes);
    if (code == DCU_OK) *out = module;
    return code;
}
DOUBLE_API int cuModuleLoadData(dcu_module **out, const void *image) {
    DOUBLE_CALL(CALL_cuModuleLoadData, load(out, image, NULL, 0));
}

/* Sizes of logs go by value in the slot of a pointer, and come back as what was written. */
static int load_with(dcu_module **out, const void *image, unsigned count, int *options, void **values) {
    char text[512] = "";
    char *logs[2] = {NULL, NULL};
    uintptr_t sizes[2] = {0, 0};
    if (count > 0 && (options == NULL || values == NULL)) return DCU_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] < 0 || options[i] > 40) return DCU_INVALID_VALUE;
        if (options[i] == DCU_JIT_INFO_LOG) logs[0] = values[i];
        if (options[i] == DCU_JIT_INFO_LOG_SIZE) sizes[0] = (uintptr_t)values[i];
        if (options[i] == DCU_JIT_ERROR_LOG) logs[1] = values[i];
        if (options[i] == DCU_JIT_ERROR_LOG_SIZE) sizes[1] = (uintptr_t)values[i];
    }
    const int code = load(out, image, text, sizeof text);
    const size_t length = strlen(text);
    size_t written[2] = {0, 0};
    const int which = code != DCU_OK;
    if (logs[which] != NULL && sizes[which] > 0 && length > 0) {
        written[which] = length < sizes[which] ? length : (size_t)sizes[which];
        memcpy(logs[which], text, written[which]); /* no NUL: none is promised */
    }
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == DCU_JIT_INFO_LOG_SIZE) values[i] = (void *)(uintptr_t)written[0];
        if (options[i] == DCU_JIT_ERROR_LOG_SIZE) values[i] = (void *)(uintptr_t)written[1];
    }
    return code;
}
DOUBLE_API int cuModuleLoadDataEx(dcu_module **out, const void *image, unsigned count, int *options, void **values) {
    DOUBLE_CALL(CALL_cuModuleLoadDataEx, load_with(out, image, count, options, values));
}

/* ---- Unloading ------------------------------------------------------------------------------------------- */

typedef struct users {
    const dcu_module *module;
    int found;
} users;
static void see_user(void *object, void *context) {
    users *const u = context;
    u->found |= double_queue_uses(&((dcu_stream *)object)->queue, u->module);
}
static int module_runs(const dcu_module *module) {
    users u = {module, double_queue_uses(&module->context->queue, module)};
    double_objects_each(DCU_STREAM, see_user, &u);
    return u.found;
}

static int find_module(dcu_module *module, const char *doing) {
    const int state = double_object_state(module, DCU_MODULE);
    if (state == 1) return DCU_OK;
    double_violation("%s: %s module", doing, state == 0 ? "no" : "an unloaded");
    return DCU_INVALID_HANDLE;
}

static int unload(dcu_module *module) {
    int code = find_module(module, "unload");
    if (code != DCU_OK) return code;
    dcu_context *const current = dcu_top();
    if (current != module->context) {
        double_violation("unload: %s", current == NULL ? "no context is current" : "another context is current");
        return DCU_INVALID_CONTEXT;
    }
    code = dcu_healthy(current);
    if (code == DCU_OK) code = dcu_capture_forbids();
    if (code == DCU_STREAM_CAPTURE_UNSUPPORTED) return code;
    if (module_runs(module)) double_violation("unload: a kernel of the module has not ended");
    dcu_module_drop(module);
    return code;
}
DOUBLE_API int cuModuleUnload(dcu_module *module) {
    DOUBLE_CALL(CALL_cuModuleUnload, unload(module));
}

/* ---- What is in a module --------------------------------------------------------------------------------- */

/* The real one crashes or worse for a module that is not of the current context. */
static int use_module(dcu_module *module, const char *doing) {
    dcu_context *context = NULL;
    int code = find_module(module, doing);
    if (code == DCU_OK) code = dcu_current(&context);
    if (code != DCU_OK) return code;
    if (context == module->context) return DCU_OK;
    double_violation("%s: the module is of another context", doing);
    return DCU_INVALID_CONTEXT;
}

static int get_function(dcu_function **out, dcu_module *module, const char *name) {
    const int code = use_module(module, "cuModuleGetFunction");
    if (code != DCU_OK) return code;
    if (out == NULL || name == NULL || name[0] == '\0') return DCU_INVALID_VALUE;
    for (unsigned i = 0; i < module->function_count; i++) {
        if (strcmp(module->functions[i]->name, name) != 0) continue;
        *out = module->functions[i];
        return DCU_OK;
    }
    return DCU_NOT_FOUND;
}
DOUBLE_API int cuModuleGetFunction(dcu_function **out, dcu_module *module, const char *name) {
    DOUBLE_CALL(CALL_cuModuleGetFunction, get_function(out, module, name));
}

static int get_global(uint64_t *address, size_t *size, dcu_module *module, const char *name) {
    const int code = use_module(module, "cuModuleGetGlobal");
    if (code != DCU_OK) return code;
    if (name == NULL || (address == NULL && size == NULL)) return DCU_INVALID_VALUE;
    for (unsigned i = 0; i < module->global_count; i++) {
        if (strcmp(module->globals[i].name, name) != 0) continue;
        if (address != NULL) *address = module->globals[i].address;
        if (size != NULL) *size = (size_t)module->globals[i].size;
        return DCU_OK;
    }
    return DCU_NOT_FOUND;
}
DOUBLE_API int cuModuleGetGlobal_v2(uint64_t *address, size_t *size, dcu_module *module, const char *name) {
    DOUBLE_CALL(CALL_cuModuleGetGlobal_v2, get_global(address, size, module, name));
}

static int loading_mode(int *out) {
    if (out == NULL) return DCU_INVALID_VALUE;
    *out = double_settings[DOUBLE_LAZY] ? 2 : 1;
    return DCU_OK;
}
DOUBLE_API int cuModuleGetLoadingMode(int *out) {
    DOUBLE_CALL(CALL_cuModuleGetLoadingMode, loading_mode(out));
}

static int function_count(unsigned *out, dcu_module *module) {
    const int code = find_module(module, "cuModuleGetFunctionCount");
    if (code != DCU_OK) return code;
    if (out == NULL) return DCU_INVALID_VALUE;
    *out = module->function_count;
    return DCU_OK;
}
DOUBLE_API int cuModuleGetFunctionCount(unsigned *out, dcu_module *module) {
    DOUBLE_CALL(CALL_cuModuleGetFunctionCount, function_count(out, module));
}

static int enumerate(dcu_function **out, unsigned count, dcu_module *module) {
    const int code = find_module(module, "cuModuleEnumerateFunctions");
    if (code != DCU_OK) return code;
    if (out == NULL || count == 0) return DCU_INVALID_VALUE;
    for (unsigned i = 0; i < count && i < module->function_count; i++) out[i] = module->functions[i];
    return DCU_OK;
}
DOUBLE_API int cuModuleEnumerateFunctions(dcu_function **out, unsigned count, dcu_module *module) {
    DOUBLE_CALL(CALL_cuModuleEnumerateFunctions, enumerate(out, count, module));
}

/* ---- Functions ------------------------------------------------------------------------------------------- */

static int find_function(dcu_function *function, const char *doing) {
    const int state = double_object_state(function, DCU_FUNCTION);
    if (state == 1) return dcu_healthy(function->module->context);
    double_violation("%s: %s", doing, state == 0 ? "no function" : "a function of an unloaded module");
    return DCU_INVALID_HANDLE;
}

/* Loads what a lazy driver put off; that is no good thing to do beside running kernels or captures. */
static int load_function(dcu_function *function) {
    if (function->loaded) return DCU_OK;
    const int code = dcu_capture_forbids();
    if (code == DCU_OK) function->loaded = 1;
    return code;
}

uint32_t dcu_most_threads(const dcu_function *f) {
    uint32_t most = f->fewer_threads != 0 ? f->fewer_threads : 1024;
    if (f->registers > 0) {
        const uint32_t per_warp = (f->registers + 7) / 8 * 8 * 32;
        const uint32_t by_registers = 65536 / 4 / per_warp * 4 * 32;
        if (by_registers < most) most = by_registers;
    }
    const uint32_t *const bound = f->required_threads[0] != 0 ? f->required_threads : f->most_threads;
    const uint64_t product = (uint64_t)bound[0] * bound[1] * bound[2];
    return product != 0 && product < most ? (uint32_t)product : most;
}

static int attribute_of(const dcu_function *f, int attribute, int *out) {
    switch (attribute) {
    case DCU_FUNC_MAX_THREADS_PER_BLOCK:
        *out = (int)dcu_most_threads(f);
        return 1;
    case DCU_FUNC_SHARED_SIZE_BYTES:
        *out = (int)f->shared_bytes;
        return 1;
    case DCU_FUNC_CONST_SIZE_BYTES:
        *out = 0;
        return 1;
    case DCU_FUNC_LOCAL_SIZE_BYTES:
        *out = (int)f->local_bytes;
        return 1;
    case DCU_FUNC_NUM_REGS:
        *out = (int)f->registers;
        return 1;
    case DCU_FUNC_PTX_VERSION:
    case DCU_FUNC_BINARY_VERSION:
        *out = (int)f->isa;
        return 1;
    case DCU_FUNC_CACHE_MODE_CA:
        *out = 0;
        return 1;
    case DCU_FUNC_MAX_DYNAMIC_SHARED:
        *out = f->dynamic_limit;
        return 1;
    case DCU_FUNC_CARVEOUT:
        *out = f->carveout;
        return 1;
    case DCU_FUNC_CLUSTER_MUST_BE_SET:
        *out = f->cluster_must_be_set;
        return 1;
    case DCU_FUNC_CLUSTER_WIDTH:
    case DCU_FUNC_CLUSTER_HEIGHT:
    case DCU_FUNC_CLUSTER_DEPTH:
        *out = (int)f->cluster[attribute - DCU_FUNC_CLUSTER_WIDTH];
        return 1;
    case DCU_FUNC_NON_PORTABLE_CLUSTER:
        *out = f->non_portable;
        return 1;
    case DCU_FUNC_CLUSTER_POLICY:
        *out = 0;
        return 1;
    default:
        return 0;
    }
}

static int get_attribute(int *out, int attribute, dcu_function *function) {
    int code = find_function(function, "cuFuncGetAttribute");
    if (code == DCU_OK) code = load_function(function);
    if (code != DCU_OK) return code;
    if (out == NULL) return DCU_INVALID_VALUE;
    if (attribute > DCU_FUNC_CARVEOUT && double_settings[DOUBLE_DRIVER_VERSION] < 11080) return DCU_INVALID_VALUE;
    return attribute_of(function, attribute, out) ? DCU_OK : DCU_INVALID_VALUE;
}
DOUBLE_API int cuFuncGetAttribute(int *out, int attribute, dcu_function *function) {
    DOUBLE_CALL(CALL_cuFuncGetAttribute, get_attribute(out, attribute, function));
}

int dcu_limit_of_dynamic(const dcu_function *function) {
    return dcu_facts(function->module->context->device)->optin_shared - (int)function->shared_bytes;
}

static int set_attribute(dcu_function *function, int attribute, int value) {
    const int code = find_function(function, "cuFuncSetAttribute");
    if (code != DCU_OK) return code;
    switch (attribute) {
    case DCU_FUNC_MAX_DYNAMIC_SHARED:
        if (value < 0 || value > dcu_limit_of_dynamic(function)) {
            double_violation("%d bytes of dynamic shared memory are asked for, %d can be had", value,
                             dcu_limit_of_dynamic(function));
            return DCU_INVALID_VALUE;
        }
        if (value < function->dynamic_limit) {
            double_violation("the dynamic shared memory of %s is lowered from %d to %d", function->name,
                             function->dynamic_limit, value);
        }
        function->dynamic_limit = value;
        return DCU_OK;
    case DCU_FUNC_CARVEOUT:
        if (value < -1 || value > 100) return DCU_INVALID_VALUE;
        function->carveout = value;
        return DCU_OK;
    case DCU_FUNC_NON_PORTABLE_CLUSTER:
        if (double_settings[DOUBLE_DRIVER_VERSION] < 11080) return DCU_INVALID_VALUE;
        function->non_portable = value != 0;
        return DCU_OK;
    case DCU_FUNC_CLUSTER_WIDTH:
    case DCU_FUNC_CLUSTER_HEIGHT:
    case DCU_FUNC_CLUSTER_DEPTH:
        if (function->cluster[0] != 0) return DCU_NOT_PERMITTED;
        return DCU_INVALID_VALUE;
    default:
        return DCU_INVALID_VALUE;
    }
}
DOUBLE_API int cuFuncSetAttribute(dcu_function *function, int attribute, int value) {
    DOUBLE_CALL(CALL_cuFuncSetAttribute, set_attribute(function, attribute, value));
}

static int param_info(dcu_function *function, size_t index, size_t *offset, size_t *size) {
    const int code = find_function(function, "cuFuncGetParamInfo");
    if (code != DCU_OK) return code;
    if (offset == NULL || index >= function->param_count) return DCU_INVALID_VALUE;
    *offset = function->param_offsets[index];
    if (size != NULL) *size = function->param_sizes[index];
    return DCU_OK;
}
DOUBLE_API int cuFuncGetParamInfo(dcu_function *function, size_t index, size_t *offset, size_t *size) {
    DOUBLE_CALL(CALL_cuFuncGetParamInfo, param_info(function, index, offset, size));
}

static int function_load(dcu_function *function) {
    const int code = find_function(function, "cuFuncLoad");
    return code != DCU_OK ? code : load_function(function);
}
DOUBLE_API int cuFuncLoad(dcu_function *function) {
    DOUBLE_CALL(CALL_cuFuncLoad, function_load(function));
}

static int is_loaded(int *out, dcu_function *function) {
    const int code = find_function(function, "cuFuncIsLoaded");
    if (code != DCU_OK) return code;
    if (out == NULL) return DCU_INVALID_VALUE;
    *out = function->loaded; /* 0 unloaded, 1 loaded */
    return DCU_OK;
}
DOUBLE_API int cuFuncIsLoaded(int *out, dcu_function *function) {
    DOUBLE_CALL(CALL_cuFuncIsLoaded, is_loaded(out, function));
}

static int name_of(const char **out, dcu_function *function) {
    const int code = find_function(function, "cuFuncGetName");
    if (code != DCU_OK) return code;
    if (out == NULL) return DCU_INVALID_VALUE;
    *out = function->name;
    return DCU_OK;
}
DOUBLE_API int cuFuncGetName(const char **out, dcu_function *function) {
    DOUBLE_CALL(CALL_cuFuncGetName, name_of(out, function));
}

static int module_of(dcu_module **out, dcu_function *function) {
    const int code = find_function(function, "cuFuncGetModule");
    if (code != DCU_OK) return code;
    if (out == NULL) return DCU_INVALID_VALUE;
    *out = function->module;
    return DCU_OK;
}
DOUBLE_API int cuFuncGetModule(dcu_module **out, dcu_function *function) {
    DOUBLE_CALL(CALL_cuFuncGetModule, module_of(out, function));
}
