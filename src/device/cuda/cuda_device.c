/* A CUDA device opened: found, asked for its figures, and its context taken. */
#include <stdio.h>
#include <string.h>

#include "cuda_driver.h"
#include "fail.h"
#include "fork.h"
#include "memory.h"

#define PORTABLE_CLUSTER 8u /* blocks that every device with clusters grants */

/* ---- Figures ----------------------------------------------------------------------------------------------------- */

typedef struct figure {
    int attribute;
    size_t offset; /* in slw_device_info, of a uint32_t */
} figure;

#define AT(member) offsetof(slw_device_info, member)
static const figure figures[] = {
    {SLWI_CU_DEVICE_MAX_THREADS_PER_BLOCK, AT(max_threads)},
    {SLWI_CU_DEVICE_MAX_BLOCK_DIM_X, AT(max_block[0])},
    {SLWI_CU_DEVICE_MAX_BLOCK_DIM_Y, AT(max_block[1])},
    {SLWI_CU_DEVICE_MAX_BLOCK_DIM_Z, AT(max_block[2])},
    {SLWI_CU_DEVICE_MAX_GRID_DIM_X, AT(max_grid[0])},
    {SLWI_CU_DEVICE_MAX_GRID_DIM_Y, AT(max_grid[1])},
    {SLWI_CU_DEVICE_MAX_GRID_DIM_Z, AT(max_grid[2])},
    {SLWI_CU_DEVICE_SHARED_PER_BLOCK, AT(max_shared_bytes)},
    {SLWI_CU_DEVICE_REGISTERS_PER_BLOCK, AT(registers_per_block)},
    {SLWI_CU_DEVICE_REGISTERS_PER_SM, AT(registers_per_multiprocessor)},
    {SLWI_CU_DEVICE_WARP_SIZE, AT(warp_threads)},
    {SLWI_CU_DEVICE_MULTIPROCESSORS, AT(multiprocessors)},
};
/* Newer than some drivers: where they are refused, the figure is 0. */
static const figure newer_figures[] = {
    {SLWI_CU_DEVICE_SHARED_PER_BLOCK_OPTIN, AT(max_optin_shared_bytes)},
    {SLWI_CU_DEVICE_RESERVED_SHARED_PER_BLOCK, AT(reserved_shared_bytes)},
    {SLWI_CU_DEVICE_COOPERATIVE_LAUNCH, AT(cooperative)},
    {SLWI_CU_DEVICE_CLUSTER_LAUNCH, AT(max_cluster_rank)},
};
#undef AT

static slwi_cu_result ask(const slwi_cuda_state *cuda, int attribute, uint32_t *out) {
    int value = 0;
    const slwi_cu_result result = cuda->api.cuDeviceGetAttribute(&value, attribute, cuda->device);
    if (result == SLWI_CU_SUCCESS) *out = value < 0 ? 0 : (uint32_t)value;
    return result;
}

static slwi_cu_result ask_all(const slwi_cuda_state *cuda, slw_device_info *info) {
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        uint32_t value = 0;
        const slwi_cu_result result = ask(cuda, figures[i].attribute, &value);
        if (result != SLWI_CU_SUCCESS) return result;
        memcpy((char *)info + figures[i].offset, &value, sizeof value);
    }
    for (size_t i = 0; i < sizeof newer_figures / sizeof *newer_figures; i++) {
        uint32_t value = 0;
        const slwi_cu_result result = ask(cuda, newer_figures[i].attribute, &value);
        if (result != SLWI_CU_SUCCESS && result != SLWI_CU_INVALID_VALUE) return result;
        memcpy((char *)info + newer_figures[i].offset, &value, sizeof value);
    }
    return SLWI_CU_SUCCESS;
}

/* device.md A.11. PTX is left out of minor-version compatibility, so this is a bound; 13.1 and later: not known. */
uint32_t slwi_cuda_ptx_of_driver(int driver_version) {
    const int major = driver_version / 1000, minor = driver_version % 1000 / 10;
    if (major == 11 && minor <= 8) return 70u + (uint32_t)minor;
    if (major == 12 && minor <= 5) return 80u + (uint32_t)minor;
    if (major == 12 && minor <= 9) return 79u + (uint32_t)minor;
    return driver_version == 13000 ? 90u : 0u;
}

/* Where the PTX ISA has tcgen05: the families of sm_100 and sm_110. */
uint32_t slwi_cuda_tensor_columns(int major) {
    return major == 10 || major == 11 ? 512u : 0u;
}

static void name_device(slwi_cuda_state *cuda, uint32_t ordinal) {
    char model[256] = "";
    if (cuda->api.cuDeviceGetName(model, sizeof model, cuda->device) != SLWI_CU_SUCCESS) model[0] = '\0';
    model[sizeof model - 1] = '\0';
    (void)snprintf(cuda->name, sizeof cuda->name, "cuda:%u%s%.46s", ordinal, model[0] != '\0' ? " " : "", model);
}

static slw_code describe(slwi_cuda_state *cuda, slw_device_info *info, slw_error *err) {
    uint32_t major = 0, minor = 0;
    slwi_cu_result result = ask_all(cuda, info);
    if (result == SLWI_CU_SUCCESS) result = ask(cuda, SLWI_CU_DEVICE_CC_MAJOR, &major);
    if (result == SLWI_CU_SUCCESS) result = ask(cuda, SLWI_CU_DEVICE_CC_MINOR, &minor);
    if (result != SLWI_CU_SUCCESS) return slwi_cuda_fail(cuda, result, NULL, "asking the device for its figures", err);
    (void)snprintf(info->kind, sizeof info->kind, "cuda");
    (void)snprintf(info->name, sizeof info->name, "%s", cuda->name);
    (void)snprintf(info->target, sizeof info->target, "sm_%u%u", major, minor);
    if (info->max_optin_shared_bytes < info->max_shared_bytes) info->max_optin_shared_bytes = info->max_shared_bytes;
    info->max_cluster_rank = info->max_cluster_rank != 0 ? PORTABLE_CLUSTER : 1u;
    info->cooperative = info->cooperative != 0;
    info->tensor_memory_columns = slwi_cuda_tensor_columns((int)major);
    info->ptx_isa_version = cuda->ptx_isa;
    size_t memory_bytes = 0;
    if (slwi_cuda_can(cuda, SLWI_CUDA_CAN(cuDeviceTotalMem)) &&
        cuda->api.cuDeviceTotalMem(&memory_bytes, cuda->device) == SLWI_CU_SUCCESS) {
        info->memory_bytes = memory_bytes;
    }
    cuda->multiprocessors = info->multiprocessors;
    cuda->optin_shared_bytes = info->max_optin_shared_bytes;
    return SLW_OK;
}

/* ---- Finding ----------------------------------------------------------------------------------------------------- */

static slw_code find_device(slwi_cuda_state *cuda, uint32_t ordinal, slw_error *err) {
    int count = 0;
    slwi_cu_result result = cuda->api.cuDeviceGetCount(&count);
    if (result != SLWI_CU_SUCCESS) return slwi_cuda_fail(cuda, result, NULL, "counting the devices", err);
    if (count <= 0 || ordinal >= (uint32_t)count) {
        slwi_error_path(err, cuda->library);
        slwi_error_amount(err, "devices", (uint64_t)ordinal + 1u, count < 0 ? 0 : (uint64_t)count, "devices");
        return slwi_fail(err, SLW_E_NO_DEVICE, NULL, "there is no CUDA device %u: the driver counts %d", ordinal,
                         count < 0 ? 0 : count);
    }
    result = cuda->api.cuDeviceGet(&cuda->device, (int)ordinal);
    if (result != SLWI_CU_SUCCESS) return slwi_cuda_fail(cuda, result, NULL, "finding the device", err);
    name_device(cuda, ordinal);
    return SLW_OK;
}

/* Asked before the context is: what the driver says then is "unknown error". */
static slw_code check_mode(const slwi_cuda_state *cuda, slw_error *err) {
    uint32_t mode = 0;
    const slwi_cu_result result = ask(cuda, SLWI_CU_DEVICE_COMPUTE_MODE, &mode);
    if (result != SLWI_CU_SUCCESS) return slwi_cuda_fail(cuda, result, NULL, "asking for the compute mode", err);
    if (mode != SLWI_CU_COMPUTE_MODE_PROHIBITED) return SLW_OK;
    slwi_error_kernel(err, NULL, cuda->name);
    slwi_error_path(err, cuda->library);
    slwi_error_hint(err, "Its administrator has to allow computing: nvidia-smi -c 0.");
    return slwi_fail(err, SLW_E_NO_DEVICE, "PROHIBITED", "%.64s is in compute mode prohibited", cuda->name);
}

static slw_code set_up(slwi_cuda_state *cuda, const slw_device_options *options, slw_device_info *info,
                       slw_error *err) {
    slwi_gpu_library library;
    slw_code code = slwi_cuda_library_open(options->driver_library, options->loader, &library, err);
    if (code == SLW_OK) code = slwi_cuda_library_check_fork(&library, err);
    if (code == SLW_OK) code = slwi_cuda_library_resolve(&library, &cuda->api, &cuda->capabilities, err);
    if (code == SLW_OK) code = slwi_cuda_library_init(&library, &cuda->api, err);
    if (code != SLW_OK) return code;
    memcpy(cuda->library, library.path, sizeof cuda->library);
    const slwi_cu_result result = cuda->api.cuDriverGetVersion(&cuda->driver_version);
    if (result != SLWI_CU_SUCCESS) return slwi_cuda_fail(cuda, result, NULL, "asking for the driver's version", err);
    cuda->ptx_isa = slwi_cuda_ptx_of_driver(cuda->driver_version);
    code = find_device(cuda, options->ordinal, err);
    if (code == SLW_OK) code = check_mode(cuda, err);
    if (code == SLW_OK) code = describe(cuda, info, err);
    /* Last: nothing after it may fail, so that what is retained is released by close. */
    if (code == SLW_OK) code = slwi_cuda_context_take(cuda, options->native_context, err);
    return code;
}

slw_code slwi_cuda_open(const slw_device_options *options, void **state, slw_device_info *info, slw_error *err) {
    if (options->allow_ptx > 1u) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "allow_ptx is 0 or 1, not %u", options->allow_ptx);
    }
    slwi_cuda_state *const cuda = slwi_alloc_zero(&options->allocator, sizeof *cuda);
    if (cuda == NULL) return slwi_fail_memory(err, sizeof *cuda);
    cuda->allocator = options->allocator;
    cuda->allow_ptx = options->allow_ptx;
    cuda->fork_generation = slwi_fork_generation();
    slw_device_info described = SLW_DEVICE_INFO_INIT;
    const slw_code code = set_up(cuda, options, &described, err);
    if (code != SLW_OK) {
        slwi_free(&options->allocator, cuda);
        return code;
    }
    *info = described;
    *state = cuda;
    return SLW_OK;
}

void slwi_cuda_close(void *state, int forked) {
    slwi_cuda_state *const cuda = state;
    const slw_allocator allocator = cuda->allocator;
    if (!forked) slwi_cuda_context_drop(cuda);
    slwi_free(&allocator, cuda);
}

void *slwi_cuda_native_context(void *state) {
    return ((slwi_cuda_state *)state)->context;
}
