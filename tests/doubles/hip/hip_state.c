/* The process, its devices, the thread's device and last error. */
#include "hip_calls.h"
#include "hip_double.h"

#include <stdlib.h>
#include <string.h>

static int initialized;
dhip_device dhip_devices[DHIP_DEVICES];

static const double_entry entries[] = {
#define DHIP_ENTRY(symbol, flags) {#symbol, flags},
    DHIP_CALLS(DHIP_ENTRY)
#undef DHIP_ENTRY
};

static const long defaults[DOUBLE_SETTINGS] = {
    [DOUBLE_DRIVER_VERSION] = 60342131,
    [DOUBLE_DEVICES] = 2,
    [DOUBLE_SECOND_DEVICE] = 0x90a,
    [DOUBLE_STICKY_CODE] = DHIP_ILLEGAL_ADDRESS,
};

/* ---- Devices --------------------------------------------------------------------------------------------- */

static const struct {
    long number;
    dhip_device_facts facts;
} known[] = {
    {0x942, {"AMD Instinct MI300X", "gfx942:sramecc+:xnack-", 0x4c, 2, 3, 9, 4, 304, 64, UINT64_C(206141652992)}},
    {0x90a, {"AMD Instinct MI250X", "gfx90a:sramecc+:xnack-", 0x3f, 2, 3, 9, 0, 110, 64, UINT64_C(68702699520)}},
    {0x906, {"AMD Instinct MI60", "gfx906:sramecc+:xnack-", 0x2f, 2, 3, 9, 0, 64, 64, UINT64_C(34342961152)}},
    {0x1030, {"AMD Radeon RX 6900 XT", "gfx1030", 0x36, 0, 0, 10, 3, 40, 32, UINT64_C(17163091968)}},
    {0x1100, {"AMD Radeon RX 7900 XTX", "gfx1100", 0x41, 0, 0, 11, 0, 48, 32, UINT64_C(25753026560)}},
    {0x1201, {"AMD Radeon RX 9070 XT", "gfx1201", 0x4e, 0, 0, 12, 0, 32, 32, UINT64_C(17095983104)}},
};

const dhip_device_facts *dhip_facts(int device) {
    if (device < 0 || device >= double_settings[DOUBLE_DEVICES] || device >= DHIP_DEVICES) return NULL;
    if (device == 0) return &known[0].facts;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].number == double_settings[DOUBLE_SECOND_DEVICE]) return &known[i].facts;
    }
    return &known[1].facts;
}

/* ---- The gate -------------------------------------------------------------------------------------------- */

int dhip_note(int code) {
    if (code != DHIP_OK && code != DHIP_NOT_READY) double_self()->last_error = code;
    return code;
}

static int gate(unsigned call) {
    if (call == CALL_hipDriverGetVersion || call == CALL_hipRuntimeGetVersion) return DOUBLE_GO;
    if (double_in_child()) return DHIP_NOT_INITIALIZED;
    if (double_settings[DOUBLE_TORN_DOWN] || double_is_over()) return DHIP_DEINITIALIZED;
    if (double_settings[DOUBLE_DEVICES] == 0) {
        return call == CALL_hipGetDeviceCount ? DOUBLE_GO : DHIP_INVALID_DEVICE;
    }
    if ((entries[call].flags & DOUBLE_FREE) == 0 && !initialized) {
        double_violation("%s before hipInit", entries[call].name);
        return call == CALL_hipModuleLoadData ? DHIP_SHARED_OBJECT_INIT_FAILED : DHIP_NOT_INITIALIZED;
    }
    return DOUBLE_GO;
}

int dhip_current(void) {
    return double_self()->device;
}

int dhip_healthy(int device) {
    return dhip_devices[device].dead;
}

void dhip_fault(void *device) {
    ((dhip_device *)device)->dead = (int)double_settings[DOUBLE_STICKY_CODE];
}

int dhip_capture_forbids(void) {
    if (!double_settings[DOUBLE_CAPTURE] || double_self()->capture_mode == 2) return DHIP_OK;
    return double_break_capture(DHIP_STREAM_CAPTURE_UNSUPPORTED);
}

static int init(unsigned flags) {
    if (flags != 0) return DHIP_INVALID_VALUE;
    initialized = 1;
    double_mark_process();
    return DHIP_OK;
}
DOUBLE_API int hipInit(unsigned flags) {
    double_start_helper();
    DHIP_CALL(CALL_hipInit, init(flags));
}

static int put_int(int *out, int value) {
    if (out == NULL) return DHIP_INVALID_VALUE;
    *out = value;
    return DHIP_OK;
}
DOUBLE_API int hipDriverGetVersion(int *out) {
    DHIP_CALL(CALL_hipDriverGetVersion, put_int(out, (int)double_settings[DOUBLE_DRIVER_VERSION]));
}
DOUBLE_API int hipRuntimeGetVersion(int *out) {
    DHIP_CALL(CALL_hipRuntimeGetVersion, put_int(out, (int)double_settings[DOUBLE_DRIVER_VERSION]));
}

static int count(int *out) {
    const int code = put_int(out, (int)double_settings[DOUBLE_DEVICES]);
    return code == DHIP_OK && double_settings[DOUBLE_DEVICES] == 0 ? DHIP_NO_DEVICE : code;
}
DOUBLE_API int hipGetDeviceCount(int *out) {
    DHIP_CALL(CALL_hipGetDeviceCount, count(out));
}

static int last_error(int forget) {
    double_thread *const thread = double_self();
    const int code = thread->last_error;
    if (forget) thread->last_error = DHIP_OK;
    return code;
}
DOUBLE_API int hipGetLastError(void) {
    DOUBLE_CALL(CALL_hipGetLastError, last_error(1));
}
DOUBLE_API int hipPeekAtLastError(void) {
    DOUBLE_CALL(CALL_hipPeekAtLastError, last_error(0));
}

/* These two have no gate: they ask nothing of the process. */
static const struct {
    int code;
    const char *name;
} errors[] = {
    {DHIP_OK, "hipSuccess"},
    {DHIP_INVALID_VALUE, "hipErrorInvalidValue"},
    {DHIP_OUT_OF_MEMORY, "hipErrorOutOfMemory"},
    {DHIP_NO_DEVICE, "hipErrorNoDevice"},
    {DHIP_INVALID_DEVICE, "hipErrorInvalidDevice"},
    {DHIP_INVALID_IMAGE, "hipErrorInvalidImage"},
    {DHIP_NO_BINARY_FOR_GPU, "hipErrorNoBinaryForGpu"},
    {DHIP_ILLEGAL_ADDRESS, "hipErrorIllegalAddress"},
    {DHIP_LAUNCH_FAILURE, "hipErrorLaunchFailure"},
};
DOUBLE_API const char *hipGetErrorName(int code) {
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].code == code) return errors[i].name;
    }
    return "hipErrorUnknown";
}
DOUBLE_API const char *hipGetErrorString(int code) {
    return hipGetErrorName(code);
}

/* ---- Devices, asked -------------------------------------------------------------------------------------- */

static int set_device(int device) {
    if (dhip_facts(device) == NULL) return DHIP_INVALID_DEVICE;
    double_self()->device = device;
    return DHIP_OK;
}
DOUBLE_API int hipSetDevice(int device) {
    DHIP_CALL(CALL_hipSetDevice, set_device(device));
}
DOUBLE_API int hipGetDevice(int *out) {
    DHIP_CALL(CALL_hipGetDevice, put_int(out, dhip_current()));
}

static int attribute(int *out, int what, int device) {
    const dhip_device_facts *const f = dhip_facts(device);
    if (f == NULL) return DHIP_INVALID_DEVICE;
    switch (what) {
    case DHIP_DEV_COMPUTE_MODE:
        return put_int(out, (int)double_settings[DOUBLE_COMPUTE_MODE]);
    case DHIP_DEV_COOPERATIVE:
        return put_int(out, 1);
    case DHIP_DEV_MAJOR:
        return put_int(out, f->major);
    case DHIP_DEV_MINOR:
        return put_int(out, f->minor);
    case DHIP_DEV_BLOCK_X:
    case DHIP_DEV_BLOCK_Y:
    case DHIP_DEV_BLOCK_Z:
    case DHIP_DEV_THREADS_PER_BLOCK:
        return put_int(out, 1024);
    case DHIP_DEV_GRID_X:
        return put_int(out, 2147483647);
    case DHIP_DEV_GRID_Y:
    case DHIP_DEV_GRID_Z:
        return put_int(out, 65536);
    case DHIP_DEV_MULTIPROCESSORS:
        return put_int(out, f->multiprocessors);
    case DHIP_DEV_REGISTERS_PER_BLOCK:
    case DHIP_DEV_SHARED_PER_BLOCK:
        return put_int(out, 65536);
    case DHIP_DEV_SHARED_OPTIN:
        return put_int(out, 0); /* there is no opting in */
    case DHIP_DEV_WARP:
        return put_int(out, f->wavefront);
    default:
        return what < 0 ? DHIP_INVALID_VALUE : put_int(out, 0);
    }
}
DOUBLE_API int hipDeviceGetAttribute(int *out, int what, int device) {
    DHIP_CALL(CALL_hipDeviceGetAttribute, attribute(out, what, device));
}

static int put_text(char *out, int size, int device, const char *text) {
    if (dhip_facts(device) == NULL) return DHIP_INVALID_DEVICE;
    if (out == NULL || size <= 0) return DHIP_INVALID_VALUE;
    const size_t length = strlen(text) < (size_t)size - 1 ? strlen(text) : (size_t)size - 1;
    memcpy(out, text, length);
    out[length] = '\0';
    return DHIP_OK;
}
static int device_name(char *out, int size, int device) {
    const dhip_device_facts *const f = dhip_facts(device);
    return put_text(out, size, device, f == NULL ? "" : f->name);
}
DOUBLE_API int hipDeviceGetName(char *out, int size, int device) {
    DHIP_CALL(CALL_hipDeviceGetName, device_name(out, size, device));
}
DOUBLE_API int hipDeviceGetPCIBusId(char *out, int size, int device) {
    DHIP_CALL(CALL_hipDeviceGetPCIBusId, put_text(out, size, device, device == 0 ? "0000:05:00.0" : "0000:26:00.0"));
}

static int total(size_t *out, int device) {
    const dhip_device_facts *const f = dhip_facts(device);
    if (f == NULL) return DHIP_INVALID_DEVICE;
    if (out == NULL) return DHIP_INVALID_VALUE;
    *out = (size_t)f->memory;
    return DHIP_OK;
}
DOUBLE_API int hipDeviceTotalMem(size_t *out, int device) {
    DHIP_CALL(CALL_hipDeviceTotalMem, total(out, device));
}

static int properties(unsigned char *out, int device, size_t size, size_t arch, size_t wavefront) {
    const dhip_device_facts *const f = dhip_facts(device);
    if (f == NULL) return DHIP_INVALID_DEVICE;
    if (out == NULL) return DHIP_INVALID_VALUE;
    memset(out, 0, size);
    memcpy(out, f->name, strlen(f->name));
    memcpy(out + arch, f->arch, strlen(f->arch));
    memcpy(out + wavefront, &f->wavefront, sizeof f->wavefront);
    return DHIP_OK;
}
DOUBLE_API int hipGetDevicePropertiesR0600(void *out, int device) {
    DHIP_CALL(CALL_hipGetDevicePropertiesR0600,
              properties(out, device, DHIP_NEW_PROPERTIES_SIZE, DHIP_NEW_ARCH_NAME, DHIP_NEW_WAVEFRONT));
}
DOUBLE_API int hipGetDeviceProperties(void *out, int device) {
    DHIP_CALL(CALL_hipGetDeviceProperties,
              properties(out, device, DHIP_OLD_PROPERTIES_SIZE, DHIP_OLD_ARCH_NAME, DHIP_OLD_WAVEFRONT));
}

static int exchange(int *mode) {
    if (mode == NULL || *mode < 0 || *mode > 2) return DHIP_INVALID_VALUE;
    double_thread *const thread = double_self();
    const int before = thread->capture_mode;
    thread->capture_mode = *mode;
    *mode = before;
    return DHIP_OK;
}
DOUBLE_API int hipThreadExchangeStreamCaptureMode(int *mode) {
    DHIP_CALL(CALL_hipThreadExchangeStreamCaptureMode, exchange(mode));
}

/* ---- What is left ---------------------------------------------------------------------------------------- */

typedef void (*sayer)(const char *format, ...);
static void say_module(void *object, void *context) {
    const dhip_module *const m = object;
    (*(sayer *)context)("a module with kernel %s\n", m->function_count != 0 ? m->functions[0]->name : "(none)");
}
static void say_stream(void *object, void *context) {
    (*(sayer *)context)("a stream of device %d\n", ((dhip_stream *)object)->device);
}
static void say_event(void *object, void *context) {
    (*(sayer *)context)("an event of device %d\n", ((dhip_event *)object)->device);
}
static void say_block(const double_block *block, void *context) {
    if (block->module == NULL) (*(sayer *)context)("%llu bytes of memory\n", (unsigned long long)block->size);
}
static void outstanding(void (*say)(const char *format, ...)) {
    double_objects_each(DHIP_MODULE, say_module, &say);
    double_objects_each(DHIP_STREAM, say_stream, &say);
    double_objects_each(DHIP_EVENT, say_event, &say);
    double_memory_each(say_block, &say);
}

/* What a device holds; NULL: all. */
static void end_module(void *object, void *device) {
    dhip_module *const m = object;
    if (device == NULL || device == &dhip_devices[m->device]) dhip_module_drop(m);
}
static void end_stream(void *object, void *device) {
    dhip_stream *const s = object;
    if (device != NULL && device != &dhip_devices[s->device]) return;
    double_queue_drop(&s->queue);
    s->object.alive = 0;
}
static void end_event(void *object, void *device) {
    dhip_event *const e = object;
    if (device == NULL || device == &dhip_devices[e->device]) e->object.alive = 0;
}
static void empty(dhip_device *device) {
    double_queue_drop(&device->queue);
    double_objects_each(DHIP_STREAM, end_stream, device);
    double_objects_each(DHIP_EVENT, end_event, device);
    double_objects_each(DHIP_MODULE, end_module, device);
    double_memory_drop(device, NULL);
    device->dead = 0;
}
static void lose_device(int device) {
    if (dhip_facts(device) != NULL) empty(&dhip_devices[device]);
}
static void reset(void) {
    for (int i = 0; i < DHIP_DEVICES; i++) {
        empty(&dhip_devices[i]);
        dhip_devices[i].launches = 0;
    }
    initialized = 0;
}

static void run_stream(void *object, void *context) {
    (void)context;
    double_queue_run(&((dhip_stream *)object)->queue);
}
static void let_go(void) {
    for (int i = 0; i < DHIP_DEVICES; i++) double_queue_run(&dhip_devices[i].queue);
    double_objects_each(DHIP_STREAM, run_stream, NULL);
}

static void count_block(const double_block *block, void *context) {
    if (block->module == NULL) ++*(long *)context;
}
static long get(double_setting setting) {
    long value = 0;
    switch (setting) {
    case DOUBLE_COUNT_LAUNCHES:
        return dhip_devices[0].launches + dhip_devices[1].launches;
    case DOUBLE_INITIALIZED:
        return initialized;
    case DOUBLE_LIVE_MODULES:
        return (long)double_objects_count(DHIP_MODULE);
    case DOUBLE_LIVE_MEMORY:
        double_memory_each(count_block, &value);
        return value;
    default:
        return double_settings[setting];
    }
}

static int hidden(const char *name) {
    if (strcmp(name, "hipGetDevicePropertiesR0600") == 0) return double_settings[DOUBLE_DRIVER_VERSION] < 60000000;
    if (strcmp(name, "hipModuleLaunchCooperativeKernel") == 0) return double_settings[DOUBLE_DRIVER_VERSION] < 50300000;
    return 0;
}

const double_hooks double_hooks_of = {
    .entries = entries,
    .entry_count = DHIP_CALL_COUNT,
    .defaults = defaults,
    .gate = gate,
    .reset = reset,
    .hidden = hidden,
    .outstanding = outstanding,
    .lose_context = lose_device,
    .let_go = let_go,
    .get = get,
};
