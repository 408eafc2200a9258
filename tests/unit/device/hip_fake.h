/* A libamdhip64 of a few functions, for opening a device on and nothing more: each logs its name and answers what the
 * test says. The double is the place for everything behind that. */
#ifndef HIP_FAKE_H
#define HIP_FAKE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault_alloc.h"
#include "hip_driver.h"
#include "slt.h"

static slw_error err;
static slt_heap heap;

static struct {
    const char *failing; /* this function answers `code` … */
    int code;
    unsigned from;   /* … from its nth call on */
    unsigned failed; /* how often it did */
    int last_error;  /* the thread's, as HIP keeps it */
    int device_count;
    int current; /* device */
    int version;
    int attributes[128];
    const char *architecture;     /* in the structure of 6.0 and later */
    const char *old_architecture; /* in the one before */
    const char *bus_address;
    const char *hidden, *hidden_too; /* these symbols are missing */
    const char *only;                /* nothing but this one is there */
    int absent;                      /* 1: the library cannot be opened */
    char opened[512];                /* names, each with a space behind it */
    char log[8192];                  /* calls, as `opened` */
} fake;

static int log_call(const char *name) {
    const size_t used = strlen(fake.log);
    (void)snprintf(fake.log + used, sizeof fake.log - used, "%s ", name);
    if (fake.failing == NULL || strcmp(fake.failing, name) != 0) return 0;
    if (fake.from > 1) {
        fake.from--;
        return 0;
    }
    fake.failed++;
    fake.last_error = fake.code;
    return fake.code;
}

static unsigned calls_of(const char *name) {
    char word[80];
    unsigned count = 0;
    (void)snprintf(word, sizeof word, "%s ", name);
    for (const char *at = fake.log; (at = strstr(at, word)) != NULL; at += strlen(word)) {
        count += at == fake.log || at[-1] == ' ';
    }
    return count;
}

static int fake_init(unsigned flags) {
    ck_assert_uint_eq(flags, 0);
    return log_call("hipInit");
}
static int fake_count(int *count) {
    const int code = log_call("hipGetDeviceCount");
    *count = code == 0 ? fake.device_count : 0;
    return code;
}
static int fake_get_device(int *device) {
    const int code = log_call("hipGetDevice");
    if (code == 0) *device = fake.current;
    return code;
}
static int fake_set_device(int device) {
    ck_assert(device >= 0 && device < fake.device_count);
    const int code = log_call("hipSetDevice");
    if (code == 0) fake.current = device;
    return code;
}
static int fake_attribute(int *value, int attribute, int device) {
    ck_assert(attribute >= 0 && attribute < 128 && device >= 0 && device < fake.device_count);
    const int code = log_call("hipDeviceGetAttribute");
    if (code == 0) *value = fake.attributes[attribute];
    return code;
}
static int fake_version(int *version) {
    const int code = log_call("hipRuntimeGetVersion");
    if (code == 0) *version = fake.version;
    return code;
}
static int fake_name(char *name, int size, int device) {
    const int code = log_call("hipDeviceGetName");
    if (code == 0) (void)snprintf(name, (size_t)size, "AMD Thing %d", device);
    return code;
}
static int fake_memory(size_t *size_bytes, int device) {
    const int code = log_call("hipDeviceTotalMem");
    if (code == 0) *size_bytes = (size_t)(device + 1) << 34;
    return code;
}
static int fake_bus(char *id, int size, int device) {
    (void)device;
    const int code = log_call("hipDeviceGetPCIBusId");
    if (code == 0 && fake.bus_address != NULL) (void)snprintf(id, (size_t)size, "%s", fake.bus_address);
    return code;
}
/* Writes the whole structure, as the real ones do. */
static int write_properties(const char *name, void *properties, size_t size, size_t offset, const char *architecture) {
    const int code = log_call(name);
    if (code != 0) return code;
    memset(properties, 0x5a, size);
    (void)snprintf((char *)properties + offset, 256, "%s", architecture != NULL ? architecture : "");
    return 0;
}
static int fake_properties(void *properties, int device) {
    (void)device;
    return write_properties("hipGetDevicePropertiesR0600", properties, 1472, 1160, fake.architecture);
}
static int fake_old_properties(void *properties, int device) {
    (void)device;
    return write_properties("hipGetDeviceProperties", properties, 792, 396, fake.old_architecture);
}
static int fake_last_error(void) {
    const int code = fake.last_error;
    (void)log_call("hipGetLastError");
    fake.last_error = 0;
    return code;
}
static void fake_never(void) {
    ck_abort_msg("opening a device calls none of these");
}

typedef struct fake_symbol {
    const char *name;
    int required;
    void (*function)(void);
} fake_symbol;

#define FAKE_FUNCTION(function) ((void (*)(void))(function))
static const fake_symbol answered[] = {
    {"hipInit", 1, FAKE_FUNCTION(fake_init)},
    {"hipGetDeviceCount", 1, FAKE_FUNCTION(fake_count)},
    {"hipGetDevice", 1, FAKE_FUNCTION(fake_get_device)},
    {"hipSetDevice", 1, FAKE_FUNCTION(fake_set_device)},
    {"hipDeviceGetAttribute", 1, FAKE_FUNCTION(fake_attribute)},
    {"hipRuntimeGetVersion", 0, FAKE_FUNCTION(fake_version)},
    {"hipDeviceGetName", 0, FAKE_FUNCTION(fake_name)},
    {"hipDeviceTotalMem", 0, FAKE_FUNCTION(fake_memory)},
    {"hipDeviceGetPCIBusId", 0, FAKE_FUNCTION(fake_bus)},
    {"hipGetDevicePropertiesR0600", 0, FAKE_FUNCTION(fake_properties)},
    {"hipGetDeviceProperties", 0, FAKE_FUNCTION(fake_old_properties)},
    {"hipGetLastError", 1, FAKE_FUNCTION(fake_last_error)},
};

static void *fake_address(const char *name) {
    void *address = NULL;
    void (*function)(void) = fake_never;
    if (strcmp(name, "hipGetErrorName") == 0) return NULL;
    for (size_t i = 0; i < sizeof answered / sizeof *answered; i++) {
        if (strcmp(answered[i].name, name) == 0) function = answered[i].function;
    }
    memcpy(&address, &function, sizeof address);
    return address;
}

static void *loader_open(void *context, const char *name, char *why, size_t why_size) {
    ck_assert_ptr_eq(context, &fake);
    const size_t used = strlen(fake.opened);
    (void)snprintf(fake.opened + used, sizeof fake.opened - used, "%s ", name);
    if (!fake.absent) return &fake;
    (void)snprintf(why, why_size, "%s: no such luck", name);
    return NULL;
}
static void *loader_symbol(void *context, void *library, const char *name) {
    ck_assert_ptr_eq(context, &fake);
    ck_assert_ptr_eq(library, &fake);
    if (fake.hidden != NULL && strcmp(fake.hidden, name) == 0) return NULL;
    if (fake.hidden_too != NULL && strcmp(fake.hidden_too, name) == 0) return NULL;
    if (fake.only != NULL && strcmp(fake.only, name) != 0) return NULL;
    return fake_address(name);
}
static int loader_path(void *context, const void *address, char *out, size_t size) {
    ck_assert_ptr_eq(context, &fake);
    ck_assert_ptr_eq(address, fake_address("hipInit"));
    (void)snprintf(out, size, "/where/it/really/lies/libamdhip64.so.6.3");
    return 1;
}
static const slw_library_loader loader = {sizeof loader, &fake, loader_open, loader_symbol, loader_path};

/* Two devices, gfx90a of ROCm 6.3. */
static void fake_setup(void) {
    slt_heap_init(&heap);
    err = (slw_error)SLW_ERROR_INIT;
    memset(&fake, 0, sizeof fake);
    fake.device_count = 2;
    fake.version = 60342131;
    fake.architecture = "gfx90a:sramecc+:xnack-";
    fake.old_architecture = "gfx90a:sramecc+:xnack-";
    fake.attributes[10] = 1;
    fake.attributes[23] = 9;
    fake.attributes[26] = fake.attributes[27] = fake.attributes[28] = fake.attributes[56] = 1024;
    fake.attributes[29] = 2147483647;
    fake.attributes[30] = fake.attributes[31] = 65536;
    fake.attributes[63] = 104;
    fake.attributes[74] = 65536;
    fake.attributes[87] = 64;
}

static slw_device_options options(void) {
    slw_device_options made = SLW_DEVICE_OPTIONS_INIT;
    made.kind = "hip";
    made.loader = &loader;
    made.allocator = heap.allocator;
    return made;
}

/* A refusal leaves the place for the device, the heap, the current device and the thread's last error as they were. */
static inline void refused(const slw_device_options *opt, slw_code code, const char *reason) {
    slw_device *device = (slw_device *)(void *)&heap;
    const int current = fake.current;
    fake.opened[0] = fake.log[0] = '\0';
    ck_assert_msg(slw_device_open(opt, &device, &err) == code, "%s, not %s: %s", slw_code_name(err.code),
                  slw_code_name(code), err.message);
    ck_assert_ptr_eq(device, (void *)&heap);
    if (reason != NULL) ck_assert_pstr_eq(err.reason, reason);
    slt_heap_check_empty(&heap);
    ck_assert_int_eq(fake.current, current);
    ck_assert_int_eq(fake.last_error, 0);
}

static inline slw_device_info opened(const slw_device_options *opt) {
    slw_device *device = NULL;
    slw_device_info info = SLW_DEVICE_INFO_INIT;
    const int current = fake.current;
    fake.opened[0] = fake.log[0] = '\0';
    slt_ok(slw_device_open(opt, &device, &err), &err);
    slt_ok(slw_device_describe(device, &info, &err), &err);
    slw_device_close(&device);
    slt_heap_check_empty(&heap);
    ck_assert_int_eq(fake.current, current);
    ck_assert_int_eq(fake.last_error, 0);
    return info;
}

#endif
