/* The process: initialisation, devices, what a call is answered whatever it asks, what is left over. */
#include "cuda_calls.h"
#include "cuda_double.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int initialized;

static const double_entry entries[] = {
#define DCU_ENTRY(symbol, name, flags) {name, flags},
    DCU_CALLS(DCU_ENTRY)
#undef DCU_ENTRY
};

static const long defaults[DOUBLE_SETTINGS] = {
    [DOUBLE_DRIVER_VERSION] = 13000,
    [DOUBLE_DEVICES] = 2,
    [DOUBLE_SECOND_DEVICE] = 75,
    [DOUBLE_STICKY_CODE] = DCU_ILLEGAL_ADDRESS,
};

/* ---- Devices --------------------------------------------------------------------------------------------- */

static const dcu_device_facts known[] = {
    {"NVIDIA H200", 9, 0, 132, 232448, 233472, 1024, 2048, 1, UINT64_C(150754820096)},
    {"Tesla T4", 7, 5, 40, 65536, 65536, 0, 1024, 0, UINT64_C(15655829504)},
    {"NVIDIA A100-SXM4-80GB", 8, 0, 108, 166912, 167936, 1024, 2048, 0, UINT64_C(85174583296)},
};

const dcu_device_facts *dcu_facts(int device) {
    if (device < 0 || device >= double_settings[DOUBLE_DEVICES] || device > 1) return NULL;
    return device == 0 ? &known[0] : double_settings[DOUBLE_SECOND_DEVICE] == 80 ? &known[2] : &known[1];
}

/* ---- The gate -------------------------------------------------------------------------------------------- */

static int gate(unsigned call) {
    if (double_settings[DOUBLE_STUB]) return DCU_STUB_LIBRARY;
    if (double_in_child() && call != CALL_cuDriverGetVersion && call != CALL_cuGetProcAddress &&
        call != CALL_cuGetProcAddress_v2 && call != CALL_cuGetErrorName && call != CALL_cuGetErrorString) {
        return DCU_NOT_INITIALIZED;
    }
    if (double_settings[DOUBLE_TORN_DOWN] || double_is_over()) return DCU_DEINITIALIZED;
    if ((entries[call].flags & DOUBLE_FREE) == 0 && !initialized) {
        double_violation("%s before cuInit", entries[call].name);
        return DCU_NOT_INITIALIZED;
    }
    return DOUBLE_GO;
}

static int init(unsigned flags) {
    if (flags != 0) return DCU_INVALID_VALUE;
    if (double_settings[DOUBLE_DEVICES] == 0) return DCU_NO_DEVICE;
    initialized = 1;
    double_mark_process();
    return DCU_OK;
}
DOUBLE_API int cuInit(unsigned flags) {
    double_start_helper();
    DOUBLE_CALL(CALL_cuInit, init(flags));
}

static int put_int(int *out, int value) {
    if (out == NULL) return DCU_INVALID_VALUE;
    *out = value;
    return DCU_OK;
}

DOUBLE_API int cuDriverGetVersion(int *version) {
    DOUBLE_CALL(CALL_cuDriverGetVersion, put_int(version, (int)double_settings[DOUBLE_DRIVER_VERSION]));
}

static const struct {
    int code;
    const char *name;
    const char *text;
} errors[] = {
    {DCU_OK, "CUDA_SUCCESS", "no error"},
    {DCU_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {DCU_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {DCU_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {DCU_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {DCU_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {DCU_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static int error_text(int code, const char **out, int name) {
    if (out == NULL) return DCU_INVALID_VALUE;
    *out = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].code != code) continue;
        *out = name ? errors[i].name : errors[i].text;
        return DCU_OK;
    }
    return DCU_INVALID_VALUE;
}
DOUBLE_API int cuGetErrorName(int code, const char **out) {
    DOUBLE_CALL(CALL_cuGetErrorName, error_text(code, out, 1));
}
DOUBLE_API int cuGetErrorString(int code, const char **out) {
    DOUBLE_CALL(CALL_cuGetErrorString, error_text(code, out, 0));
}

/* ---- Questions about devices ----------------------------------------------------------------------------- */

DOUBLE_API int cuDeviceGetCount(int *count) {
    DOUBLE_CALL(CALL_cuDeviceGetCount, put_int(count, (int)double_settings[DOUBLE_DEVICES]));
}

static int device_get(int *out, int ordinal) {
    if (dcu_facts(ordinal) == NULL) return DCU_INVALID_DEVICE;
    return put_int(out, ordinal);
}
DOUBLE_API int cuDeviceGet(int *device, int ordinal) {
    DOUBLE_CALL(CALL_cuDeviceGet, device_get(device, ordinal));
}

static int device_name(char *name, int size, int device) {
    const dcu_device_facts *const facts = dcu_facts(device);
    if (facts == NULL) return DCU_INVALID_DEVICE;
    if (name == NULL || size <= 0) return DCU_INVALID_VALUE;
    const size_t length = strlen(facts->name) < (size_t)size - 1 ? strlen(facts->name) : (size_t)size - 1;
    memcpy(name, facts->name, length);
    name[length] = '\0';
    return DCU_OK;
}
DOUBLE_API int cuDeviceGetName(char *name, int size, int device) {
    DOUBLE_CALL(CALL_cuDeviceGetName, device_name(name, size, device));
}

static int attribute_value(const dcu_device_facts *f, int attribute) {
    switch (attribute) {
    case DCU_DEV_THREADS_PER_BLOCK:
    case DCU_DEV_BLOCK_X:
    case DCU_DEV_BLOCK_Y:
        return 1024;
    case DCU_DEV_BLOCK_Z:
        return 64;
    case DCU_DEV_GRID_X:
        return 2147483647;
    case DCU_DEV_GRID_Y:
    case DCU_DEV_GRID_Z:
        return 65535;
    case DCU_DEV_SHARED_PER_BLOCK:
        return 49152;
    case DCU_DEV_CONSTANT_BYTES:
        return 65536;
    case DCU_DEV_WARP:
        return 32;
    case DCU_DEV_REGISTERS_PER_BLOCK:
    case DCU_DEV_REGISTERS_PER_MULTIPROCESSOR:
        return 65536;
    case DCU_DEV_CLOCK:
        return 1980000;
    case DCU_DEV_MULTIPROCESSORS:
        return f->multiprocessors;
    case DCU_DEV_COMPUTE_MODE:
        return (int)double_settings[DOUBLE_COMPUTE_MODE];
    case DCU_DEV_THREADS_PER_MULTIPROCESSOR:
        return f->threads_per_multiprocessor;
    case DCU_DEV_UNIFIED_ADDRESSING:
        return 1;
    case DCU_DEV_MAJOR:
        return f->major;
    case DCU_DEV_MINOR:
        return f->minor;
    case DCU_DEV_SHARED_PER_MULTIPROCESSOR:
        return f->shared_per_multiprocessor;
    case DCU_DEV_COOPERATIVE:
        return 1;
    case DCU_DEV_SHARED_OPTIN:
        return f->optin_shared;
    case DCU_DEV_BLOCKS_PER_MULTIPROCESSOR:
        return f->major == 7 ? 16 : 32;
    case DCU_DEV_RESERVED_SHARED:
        return f->reserved_shared;
    case DCU_DEV_CLUSTERS:
        return f->clusters;
    default:
        return 0;
    }
}

/* A driver does not know attributes that came after it. */
static int newest_attribute(void) {
    const long version = double_settings[DOUBLE_DRIVER_VERSION];
    return version >= 13000 ? 147 : version >= 12000 ? 135 : version >= 11080 ? 123 : 119;
}

static int device_attribute(int *out, int attribute, int device) {
    const dcu_device_facts *const facts = dcu_facts(device);
    if (facts == NULL) return DCU_INVALID_DEVICE;
    if (attribute <= 0 || attribute > newest_attribute()) return DCU_INVALID_VALUE;
    return put_int(out, attribute_value(facts, attribute));
}
DOUBLE_API int cuDeviceGetAttribute(int *out, int attribute, int device) {
    DOUBLE_CALL(CALL_cuDeviceGetAttribute, device_attribute(out, attribute, device));
}

static int device_uuid(unsigned char *out, int device) {
    if (dcu_facts(device) == NULL) return DCU_INVALID_DEVICE;
    if (out == NULL) return DCU_INVALID_VALUE;
    for (int i = 0; i < 16; i++) out[i] = (unsigned char)(0x10 * device + i);
    return DCU_OK;
}
DOUBLE_API int cuDeviceGetUuid(unsigned char *out, int device) {
    DOUBLE_CALL(CALL_cuDeviceGetUuid, device_uuid(out, device));
}
DOUBLE_API int cuDeviceGetUuid_v2(unsigned char *out, int device) {
    DOUBLE_CALL(CALL_cuDeviceGetUuid_v2, device_uuid(out, device));
}

static int device_bus(char *out, int size, int device) {
    static const char *const names[] = {"0000:17:00.0", "0000:CA:00.0"};
    if (dcu_facts(device) == NULL) return DCU_INVALID_DEVICE;
    if (out == NULL || size < 13) return DCU_INVALID_VALUE;
    memcpy(out, names[device], 13);
    return DCU_OK;
}
DOUBLE_API int cuDeviceGetPCIBusId(char *out, int size, int device) {
    DOUBLE_CALL(CALL_cuDeviceGetPCIBusId, device_bus(out, size, device));
}

static int device_memory(size_t *out, int device) {
    const dcu_device_facts *const facts = dcu_facts(device);
    if (facts == NULL) return DCU_INVALID_DEVICE;
    if (out == NULL) return DCU_INVALID_VALUE;
    *out = (size_t)facts->memory;
    return DCU_OK;
}
DOUBLE_API int cuDeviceTotalMem_v2(size_t *out, int device) {
    DOUBLE_CALL(CALL_cuDeviceTotalMem_v2, device_memory(out, device));
}

/* ---- What is left ---------------------------------------------------------------------------------------- */

typedef void (*sayer)(const char *format, ...);

static void say_context(void *object, void *context) {
    const sayer say = *(sayer *)context;
    const dcu_context *const c = object;
    if (c->primary && c->retained != 0) say("primary context of device %d retained %u times\n", c->device, c->retained);
    if (!c->primary) say("a context of device %d\n", c->device);
}
static void say_module(void *object, void *context) {
    const dcu_module *const m = object;
    (*(sayer *)context)("a module with kernel %s\n", m->function_count != 0 ? m->functions[0]->name : "(none)");
}
static void say_stream(void *object, void *context) {
    (*(sayer *)context)("a stream of device %d\n", ((dcu_stream *)object)->context->device);
}
static void say_event(void *object, void *context) {
    (*(sayer *)context)("an event of device %d\n", ((dcu_event *)object)->context->device);
}
static void say_block(const double_block *block, void *context) {
    if (block->module == NULL) (*(sayer *)context)("%llu bytes of memory\n", (unsigned long long)block->size);
}

static void outstanding(void (*say)(const char *format, ...)) {
    double_objects_each(DCU_CONTEXT, say_context, &say);
    double_objects_each(DCU_MODULE, say_module, &say);
    double_objects_each(DCU_STREAM, say_stream, &say);
    double_objects_each(DCU_EVENT, say_event, &say);
    double_memory_each(say_block, &say);
}

static void empty_one(void *object, void *context) {
    (void)context;
    dcu_context *const c = object;
    dcu_context_empty(c);
    c->object.alive = 0;
}

static void reset(void) {
    double_objects_each(DCU_CONTEXT, empty_one, NULL);
    double_memory_drop(NULL, NULL);
    initialized = 0;
}

static void run_context(void *object, void *context) {
    (void)context;
    double_queue_run(&((dcu_context *)object)->queue);
}
static void run_stream(void *object, void *context) {
    (void)context;
    double_queue_run(&((dcu_stream *)object)->queue);
}
static void let_go(void) {
    double_objects_each(DCU_CONTEXT, run_context, NULL);
    double_objects_each(DCU_STREAM, run_stream, NULL);
}

static void lose_one(void *object, void *context) {
    dcu_context *const c = object;
    if (!c->primary || c->device != *(int *)context || !c->active) return;
    dcu_context_empty(c);
    c->forgiven += c->retained;
    c->retained = 0;
    c->active = 0;
    c->id = 0;
}
static void lose_context(int device) {
    double_objects_each(DCU_CONTEXT, lose_one, &device);
}

static void count_block(const double_block *block, void *context) {
    if (block->module == NULL) ++*(long *)context;
}
static void sum_launches(void *object, void *context) {
    *(long *)context += ((dcu_context *)object)->launches;
}

static long get(double_setting setting) {
    long value = 0;
    switch (setting) {
    case DOUBLE_COUNT_LAUNCHES:
        double_objects_each(DCU_CONTEXT, sum_launches, &value);
        return value;
    case DOUBLE_INITIALIZED:
        return initialized;
    case DOUBLE_LIVE_MODULES:
        return (long)double_objects_count(DCU_MODULE);
    case DOUBLE_LIVE_MEMORY:
        double_memory_each(count_block, &value);
        return value;
    default:
        return double_settings[setting];
    }
}

int dcu_hidden(const char *name); /* cuda_symbols.c */

const double_hooks double_hooks_of = {
    .entries = entries,
    .entry_count = DCU_CALL_COUNT,
    .defaults = defaults,
    .gate = gate,
    .reset = reset,
    .hidden = dcu_hidden,
    .outstanding = outstanding,
    .lose_context = lose_context,
    .let_go = let_go,
    .get = get,
};
