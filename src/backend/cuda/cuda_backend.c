/* The cuda backend as a vtable: the readers, and nvcc and ptxas. */
#include "cuda_backend.h"

#include "backends.h"
#include "cubin_read.h"
#include "fatbin_read.h"
#include "nvcc_job.h"
#include "ptx_read.h"

#define LAUNCH_BINARY "kernel.cubin"

static int recognises(slw_bytes binary) {
    return slwi_cubin_recognises(binary) || slwi_fatbin_recognises(binary) || slwi_ptx_recognises(binary);
}

/* A cubin and a PTX module are one image each: whether the device runs it is not the reader's to judge. */
static slw_code read_contract(const slw_allocator *allocator, slw_bytes binary, const char *name, const char *target,
                              slw_contract **out, slw_error *err) {
    if (slwi_fatbin_recognises(binary)) return slwi_fatbin_contract(allocator, binary, name, target, out, err);
    if (slwi_ptx_recognises(binary)) return slwi_ptx_read_contract(allocator, binary, "cuda", name, out, err);
    return slwi_cubin_contract(allocator, binary, name, out, err);
}

static slw_code toolchain_open(const slw_toolchain_request *request, void **out, slw_error *err) {
    slwi_nvcc_toolchain *toolchain = NULL;
    const slw_code rc = slwi_nvcc_toolchain_open(request, &toolchain, err);
    if (rc == SLW_OK) *out = toolchain;
    return rc;
}

static void toolchain_close(void *opaque) {
    slwi_nvcc_toolchain *toolchain = opaque;
    slwi_nvcc_toolchain_close(&toolchain);
}

static const char *toolchain_path(const void *opaque) {
    const slwi_nvcc_toolchain *toolchain = opaque;
    return toolchain->found;
}

const slw_backend_vtable slwi_cuda_backend = {
    .size = sizeof(slw_backend_vtable),
    .abi = SLW_BACKEND_ABI,
    .name = "cuda",
    .reader_revision = SLWI_CUDA_READER_REVISION,
    .stages = slwi_nvcc_stages,
    .stage_count = SLWI_NVCC_STAGE_COUNT,
    .launch_binary = LAUNCH_BINARY,
    .sources = slwi_nvcc_sources,
    .source_count = SLWI_NVCC_SOURCE_KINDS,
    .supports_target = slwi_nvcc_supports_target,
    .toolchain_open = toolchain_open,
    .toolchain_close = toolchain_close,
    .toolchain_path = toolchain_path,
    .job_open = slwi_nvcc_job_open,
    .job_close = slwi_nvcc_job_close,
    .job_target = slwi_nvcc_job_target,
    .job_private_reason = slwi_nvcc_job_private_reason,
    .job_source_record = slwi_nvcc_job_source_record,
    .job_option_record = slwi_nvcc_job_option_record,
    .job_run = slwi_nvcc_job_run,
    .job_confirm = slwi_nvcc_job_confirm,
    .recognises = recognises,
    .read_contract = read_contract,
    .release_contract = slwi_contract_free,
};
