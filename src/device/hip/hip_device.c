/* A HIP device opened: found, asked for its figures; and which device is current. */
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "fork.h"
#include "hip_driver.h"
#include "memory.h"

#define LARGEST_GRID_YZ 65536u /* whatever the attribute says: a launch with more is refused (device.md B.5) */

/* ---- Current, and back ------------------------------------------------------------------------------------------- */

/* Any call may report an error of earlier work, done or not: what is current says whether it was. */
static int is_current(const slwi_hip_state *hip, int device) {
    int current = -1;
    if (hip->api.hipGetDevice(&current) == SLWI_HIP_SUCCESS) return current == device;
    slwi_hip_clear(hip);
    return 0;
}

/* Twice at most: a first refusal may be the news of earlier work. */
static void put_back(const slwi_hip_state *hip, int device) {
    for (int i = 0; i < 2; i++) {
        if (hip->api.hipSetDevice(device) == SLWI_HIP_SUCCESS) return;
        slwi_hip_clear(hip);
        if (is_current(hip, device)) return;
    }
}

slwi_hip_result slwi_hip_push(const slwi_hip_state *hip, int *previous) {
    int current = -1;
    *previous = -1;
    slwi_hip_result result = hip->api.hipGetDevice(&current);
    if (result != SLWI_HIP_SUCCESS || current == hip->device) return result;
    result = hip->api.hipSetDevice(hip->device);
    if (result == SLWI_HIP_SUCCESS) {
        *previous = current;
    } else if (is_current(hip, hip->device)) {
        put_back(hip, current);
    }
    return result;
}

void slwi_hip_leave(const slwi_hip_state *hip, int previous) {
    if (previous >= 0) put_back(hip, previous);
}

slw_code slwi_hip_enter(const slwi_hip_state *hip, int *previous, slw_error *err) {
    const slwi_hip_result result = slwi_hip_push(hip, previous);
    if (result == SLWI_HIP_SUCCESS) return SLW_OK;
    return slwi_hip_fail(hip, result, NULL, "making the device current", err);
}

/* Making an event touches no stream, so it disturbs no capture. */
slwi_hip_result slwi_hip_pulse(const slwi_hip_state *hip) {
    slwi_hip_native_event *event = NULL;
    const slwi_hip_result result = hip->api.hipEventCreateWithFlags(&event, SLWI_HIP_EVENT_DISABLE_TIMING);
    if (result != SLWI_HIP_SUCCESS || hip->api.hipEventDestroy(event) != SLWI_HIP_SUCCESS) slwi_hip_clear(hip);
    return result;
}

/* ---- Capture ----------------------------------------------------------------------------------------------------- */

/* Exchanged whatever the call says when the mode that was there has come back. */
static int exchange(const slwi_hip_state *hip, int *mode) {
    const int wanted = *mode;
    if (hip->api.hipThreadExchangeStreamCaptureMode(mode) == SLWI_HIP_SUCCESS) return 1;
    slwi_hip_clear(hip);
    return *mode != wanted;
}

int slwi_hip_relax_capture(const slwi_hip_state *hip) {
    int mode = SLWI_HIP_CAPTURE_MODE_RELAXED;
    if (!slwi_hip_can(hip, SLWI_HIP_CAN(hipThreadExchangeStreamCaptureMode)) || !exchange(hip, &mode)) return -1;
    return mode;
}

void slwi_hip_restore_capture(const slwi_hip_state *hip, int mode) {
    if (mode < 0 || mode == SLWI_HIP_CAPTURE_MODE_RELAXED) return;
    int asked = mode;
    if (exchange(hip, &asked)) return;
    asked = mode;
    (void)exchange(hip, &asked);
}

/* ---- Figures ----------------------------------------------------------------------------------------------------- */

typedef struct figure {
    int attribute;
    size_t offset; /* in slw_device_info, of a uint32_t */
} figure;

/* No registers: AMD's are counted by other rules than these figures are for (known_devices.c). */
#define AT(member) offsetof(slw_device_info, member)
static const figure figures[] = {
    {SLWI_HIP_DEVICE_MAX_THREADS_PER_BLOCK, AT(max_threads)},
    {SLWI_HIP_DEVICE_MAX_BLOCK_DIM_X, AT(max_block[0])},
    {SLWI_HIP_DEVICE_MAX_BLOCK_DIM_Y, AT(max_block[1])},
    {SLWI_HIP_DEVICE_MAX_BLOCK_DIM_Z, AT(max_block[2])},
    {SLWI_HIP_DEVICE_MAX_GRID_DIM_X, AT(max_grid[0])},
    {SLWI_HIP_DEVICE_MAX_GRID_DIM_Y, AT(max_grid[1])},
    {SLWI_HIP_DEVICE_MAX_GRID_DIM_Z, AT(max_grid[2])},
    {SLWI_HIP_DEVICE_SHARED_PER_BLOCK, AT(max_shared_bytes)},
    {SLWI_HIP_DEVICE_WARP_SIZE, AT(warp_threads)},
    {SLWI_HIP_DEVICE_MULTIPROCESSORS, AT(multiprocessors)},
    {SLWI_HIP_DEVICE_COOPERATIVE_LAUNCH, AT(cooperative)},
};
#undef AT

static slwi_hip_result ask(const slwi_hip_state *hip, int attribute, uint32_t *out) {
    int value = 0;
    const slwi_hip_result result = hip->api.hipDeviceGetAttribute(&value, attribute, hip->device);
    if (result == SLWI_HIP_SUCCESS) *out = value < 0 ? 0 : (uint32_t)value;
    return result;
}

static slw_code ask_all(const slwi_hip_state *hip, slw_device_info *info, slw_error *err) {
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        uint32_t value = 0;
        const slwi_hip_result result = ask(hip, figures[i].attribute, &value);
        if (result != SLWI_HIP_SUCCESS) {
            return slwi_hip_fail(hip, result, NULL, "asking the device for its figures", err);
        }
        memcpy((char *)info + figures[i].offset, &value, sizeof value);
    }
    return SLW_OK;
}

static void name_device(slwi_hip_state *hip) {
    char model[256] = "";
    if (slwi_hip_can(hip, SLWI_HIP_CAN(hipDeviceGetName)) &&
        hip->api.hipDeviceGetName(model, (int)sizeof model, hip->device) != SLWI_HIP_SUCCESS) {
        slwi_hip_clear(hip);
        model[0] = '\0';
    }
    model[sizeof model - 1] = '\0';
    (void)snprintf(hip->name, sizeof hip->name, "hip:%d%s%.46s", hip->device, model[0] != '\0' ? " " : "", model);
}

static uint64_t ask_memory(const slwi_hip_state *hip) {
    size_t size_bytes = 0;
    if (!slwi_hip_can(hip, SLWI_HIP_CAN(hipDeviceTotalMem))) return 0;
    if (hip->api.hipDeviceTotalMem(&size_bytes, hip->device) == SLWI_HIP_SUCCESS) return size_bytes;
    slwi_hip_clear(hip);
    return 0;
}

static slw_code describe(slwi_hip_state *hip, slw_device_info *info, slw_error *err) {
    slw_code code = ask_all(hip, info, err);
    if (code == SLW_OK) code = slwi_hip_target(hip, info->target, err);
    if (code != SLW_OK) return code;
    (void)snprintf(info->kind, sizeof info->kind, "hip");
    (void)snprintf(info->name, sizeof info->name, "%s", hip->name);
    for (int i = 1; i < 3; i++) {
        if (info->max_grid[i] > LARGEST_GRID_YZ) info->max_grid[i] = LARGEST_GRID_YZ;
    }
    info->max_optin_shared_bytes = info->max_shared_bytes;
    info->max_cluster_rank = 1;
    info->cooperative = info->cooperative != 0 && slwi_hip_can(hip, SLWI_HIP_CAN(hipModuleLaunchCooperativeKernel));
    info->memory_bytes = ask_memory(hip);
    hip->multiprocessors = info->multiprocessors;
    hip->shared_bytes = info->max_shared_bytes;
    return SLW_OK;
}

/* ---- Finding ----------------------------------------------------------------------------------------------------- */

static slw_code find_device(slwi_hip_state *hip, uint32_t ordinal, slw_error *err) {
    int count = 0;
    const slwi_hip_result result = hip->api.hipGetDeviceCount(&count);
    if (result != SLWI_HIP_SUCCESS) return slwi_hip_fail(hip, result, NULL, "counting the devices", err);
    if (count <= 0 || ordinal >= (uint32_t)count) {
        slwi_error_path(err, hip->library);
        slwi_error_amount(err, "devices", (uint64_t)ordinal + 1u, count < 0 ? 0 : (uint64_t)count, "devices");
        return slwi_fail(err, SLW_E_NO_DEVICE, NULL, "there is no HIP device %u: the driver counts %d", ordinal,
                         count < 0 ? 0 : count);
    }
    hip->device = (int)ordinal;
    name_device(hip);
    return SLW_OK;
}

static slw_code check_mode(const slwi_hip_state *hip, slw_error *err) {
    uint32_t mode = 0;
    const slwi_hip_result result = ask(hip, SLWI_HIP_DEVICE_COMPUTE_MODE, &mode);
    if (result != SLWI_HIP_SUCCESS) return slwi_hip_fail(hip, result, NULL, "asking for the compute mode", err);
    if (mode != SLWI_HIP_COMPUTE_MODE_PROHIBITED) return SLW_OK;
    slwi_error_kernel(err, NULL, hip->name);
    slwi_error_path(err, hip->library);
    return slwi_fail(err, SLW_E_NO_DEVICE, "PROHIBITED", "%s is in compute mode prohibited", hip->name);
}

/* The first thing that is done with it, so that a device which cannot be used says so now. */
static slw_code check_current(const slwi_hip_state *hip, slw_error *err) {
    int previous = -1;
    const slw_code code = slwi_hip_enter(hip, &previous, err);
    if (code == SLW_OK) slwi_hip_leave(hip, previous);
    return code;
}

static slw_code set_up(slwi_hip_state *hip, const slw_device_options *options, slw_device_info *info, slw_error *err) {
    slwi_gpu_library library;
    slw_code code = slwi_hip_library_open(options->driver_library, options->loader, &library, err);
    if (code == SLW_OK) code = slwi_hip_library_resolve(&library, &hip->api, &hip->capabilities, err);
    if (code != SLW_OK) return code;
    memcpy(hip->library, library.path, sizeof hip->library);
    code = slwi_hip_library_init(&library, hip, err);
    if (code == SLW_OK) code = find_device(hip, options->ordinal, err);
    if (code == SLW_OK) code = check_mode(hip, err);
    if (code == SLW_OK) code = describe(hip, info, err);
    if (code == SLW_OK) code = check_current(hip, err);
    return code;
}

slw_code slwi_hip_open(const slw_device_options *options, void **state, slw_device_info *info, slw_error *err) {
    if (options->native_context != NULL) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "HIP has no contexts to bring along: native_context is for cuda");
    }
    slwi_hip_state *const hip = slwi_alloc_zero(&options->allocator, sizeof *hip);
    if (hip == NULL) return slwi_fail_memory(err, sizeof *hip);
    hip->allocator = options->allocator;
    hip->fork_generation = slwi_fork_generation();
    slw_device_info described = SLW_DEVICE_INFO_INIT;
    const slw_code code = set_up(hip, options, &described, err);
    if (code != SLW_OK) {
        slwi_free(&options->allocator, hip);
        return code;
    }
    *info = described;
    *state = hip;
    return SLW_OK;
}

/* HIP's devices are not retained, so there is nothing to give back; and the library stays. */
void slwi_hip_close(void *state, int forked) {
    slwi_hip_state *const hip = state;
    const slw_allocator allocator = hip->allocator;
    (void)forked;
    slwi_free(&allocator, hip);
}
