#include "gpu_world.h"

#include <stdlib.h>
#include <string.h>

typedef struct row {
    const char *name;
    uint32_t shared;
    uint32_t count;
    uint32_t sizes[4];
} row;

static const row rows[] = {
    {"first", 0, 1, {8}},
    {"second", 64, 1, {8}},
    {"saxpy", 0, 4, {4, 8, 8, 4}},
    {"shared_of_the_launch", 16, 2, {8, 4}},
};

static slw_kernel_contract kernel(const row *from) {
    slw_kernel_contract out = {.ctas = 1, .static_shared_bytes = from->shared};
    slw_param *const params = calloc(from->count, sizeof *params);
    for (uint32_t i = 0; i < from->count; i++) {
        const uint32_t size = from->sizes[i];
        out.param_bytes = (out.param_bytes + size - 1) / size * size;
        params[i] = (slw_param){.offset_bytes = out.param_bytes, .size_bytes = size, .alignment_bytes = size};
        out.param_bytes += size;
    }
    out.name = strdup(from->name);
    out.params = params;
    out.param_count = from->count;
    return out;
}

static slt_image *read_pair(const char *file, const char *backend, const char *target, slw_image_kind kind) {
    size_t size = 0;
    char *const bytes = slt_read_file(slt_path(slt_fixture("doubles"), file, NULL), &size);
    const uint32_t count = strcmp(backend, "cuda") == 0 ? 4 : 3;
    slw_kernel_contract *const kernels = calloc(count, sizeof *kernels);
    for (uint32_t i = 0; i < count; i++) kernels[i] = kernel(&rows[i]);
    slt_image *const image = slt_image_of_kernels(bytes, size, kernels, count);
    image->contract.backend = backend;
    image->contract.target = target;
    image->contract.launch_binary = file;
    image->contract.kind = kind;
    return image;
}

slt_image *slt_gpu_pair(const char *target) {
    static const struct {
        const char *target, *file;
    } files[] = {
        {"sm_75", "pair_sm75.cubin"},    {"sm_80", "pair_sm80.cubin"},    {"sm_90", "pair_sm90.cubin"},
        {"gfx90a", "pair_gfx90a.hsaco"}, {"gfx942", "pair_gfx942.hsaco"},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (strcmp(files[i].target, target) != 0) continue;
        const int hip = target[0] == 'g';
        return read_pair(files[i].file, hip ? "hip" : "cuda", files[i].target, hip ? SLW_IMAGE_HSACO : SLW_IMAGE_CUBIN);
    }
    ck_abort_msg("no pair for %s", target);
    return NULL;
}

slt_image *slt_gpu_pair_ptx(void) {
    slt_image *const image = read_pair("pair.ptx", "cuda", "sm_75", SLW_IMAGE_PTX);
    image->contract.isa_version = "9.0";
    return image;
}

const char *slt_gpu_target(const char *kind, uint32_t ordinal) {
    if (strcmp(kind, "hip") == 0) return ordinal == 0 ? "gfx942" : "gfx90a";
    return ordinal == 0 ? "sm_90" : "sm_75";
}

const char *slt_gpu_call(const char *kind, const char *what) {
    static const struct {
        const char *what, *cuda, *hip;
    } calls[] = {
        {"load", "cuModuleLoadData", "hipModuleLoadData"},
        {"unload", "cuModuleUnload", "hipModuleUnload"},
        {"function", "cuModuleGetFunction", "hipModuleGetFunction"},
        {"launch", "cuLaunchKernel", "hipModuleLaunchKernel"},
        {"alloc", "cuMemAlloc", "hipMalloc"},
        {"free", "cuMemFree", "hipFree"},
        {"copy in", "cuMemcpyHtoD", "hipMemcpyHtoD"},
        {"copy out", "cuMemcpyDtoH", "hipMemcpyDtoH"},
        {"stream", "cuStreamCreate", "hipStreamCreateWithFlags"},
        {"device", "cuDeviceGetCount", "hipGetDeviceCount"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(calls[i].what, what) == 0) return kind[0] == 'c' ? calls[i].cuda : calls[i].hip;
    }
    ck_abort_msg("no call to %s", what);
    return NULL;
}

void slt_gpu_open(slt_double *d, const char *kind, uint32_t ordinal, const slw_allocator *allocator,
                  slw_device **device) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_error err = SLW_ERROR_INIT;
    slt_double_open(d, kind);
    slt_double_use(d, &options);
    options.ordinal = ordinal;
    if (allocator != NULL) options.allocator = *allocator;
    slt_ok(slw_device_open(&options, device, &err), &err);
}
