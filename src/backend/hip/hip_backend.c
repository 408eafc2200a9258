/* The hip backend as a vtable: the compile side is clang's, the readers are those of code objects and bundles. */
#include "hip_backend.h"

#include "amdgcn_read.h"
#include "backends.h"
#include "bundle_read.h"
#include "clang_job.h"
#include "target.h"

#define LAUNCH_BINARY "kernel.hsaco"

static int recognises(slw_bytes binary) {
    return slwi_amdgcn_recognises(binary) || slwi_bundle_recognises(binary);
}

/* A code object is one image: whether the device runs it is not the reader's to judge. */
static slw_code read_contract(const slw_allocator *allocator, slw_bytes binary, const char *name, const char *target,
                              slw_contract **out, slw_error *err) {
    if (slwi_bundle_recognises(binary)) return slwi_bundle_contract(allocator, binary, name, target, out, err);
    return slwi_amdgcn_contract(allocator, binary, name, out, err);
}

static int supports_target(const char *target) {
    slwi_gfx gfx;
    return slwi_gfx_parse(target, &gfx);
}

static slw_code toolchain_open(const slw_toolchain_request *request, void **out, slw_error *err) {
    slwi_clang_toolchain *toolchain = NULL;
    const slw_code rc = slwi_clang_toolchain_open(request, &toolchain, err);
    if (rc == SLW_OK) *out = toolchain;
    return rc;
}

static void toolchain_close(void *opaque) {
    slwi_clang_toolchain *toolchain = opaque;
    slwi_clang_toolchain_close(&toolchain);
}

static const char *toolchain_path(const void *opaque) {
    const slwi_clang_toolchain *toolchain = opaque;
    return toolchain->found;
}

const slw_backend_vtable slwi_hip_backend = {
    .size = sizeof(slw_backend_vtable),
    .abi = SLW_BACKEND_ABI,
    .name = "hip",
    .reader_revision = SLWI_HIP_READER_REVISION,
    .stages = slwi_clang_stages,
    .stage_count = SLWI_CLANG_STAGE_COUNT,
    .launch_binary = LAUNCH_BINARY,
    .sources = slwi_clang_sources,
    .source_count = SLWI_CLANG_KIND_COUNT,
    .supports_target = supports_target,
    .toolchain_open = toolchain_open,
    .toolchain_close = toolchain_close,
    .toolchain_path = toolchain_path,
    .job_open = slwi_clang_job_open,
    .job_close = slwi_clang_job_close,
    .job_target = slwi_clang_job_target,
    .job_private_reason = slwi_clang_job_private_reason,
    .job_source_record = slwi_clang_job_source_record,
    .job_option_record = slwi_clang_job_option_record,
    .job_run = slwi_clang_job_run,
    .job_confirm = slwi_clang_job_confirm,
    .recognises = recognises,
    .read_contract = read_contract,
    .release_contract = slwi_contract_free,
};
