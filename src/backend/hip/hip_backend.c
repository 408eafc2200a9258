/* The hip backend as a vtable: the readers. It has no stages: a request to compile is refused where it starts. */
#include "hip_backend.h"

#include "amdgcn_read.h"
#include "backends.h"
#include "bundle_read.h"
#include "fail.h"

#define LAUNCH_BINARY "kernel.hsaco"

static slw_code no_compiler(slw_error *err) {
    slwi_error_hint(err, "compile it with clang --offload-arch or hipcc and give the code object");
    return slwi_fail(err, SLW_E_UNSUPPORTED, "NO_COMPILER", "the hip backend reads code objects and does not compile");
}

static slw_code toolchain_open(const slw_toolchain_request *request, void **toolchain, slw_error *err) {
    (void)request;
    (void)toolchain;
    return no_compiler(err);
}

/* There is no toolchain and no job: these are for callers that close what they never got. */
static void nothing_to_close(void *nothing) {
    (void)nothing;
}

static const char *nothing_to_say(const void *nothing) {
    (void)nothing;
    return NULL;
}

static slw_code job_open(void *toolchain, const slw_compile_request *request, void **job, slw_error *err) {
    (void)toolchain;
    (void)request;
    (void)job;
    return no_compiler(err);
}

static slw_code job_record(void *job, slw_record **out, slw_error *err) {
    (void)job;
    (void)out;
    return no_compiler(err);
}

static slw_code job_run(void *job, size_t index, const slw_stage_context *context, slw_error *err) {
    (void)job;
    (void)index;
    (void)context;
    return no_compiler(err);
}

static slw_code job_confirm(void *job, const slw_stage_context *context, slw_error *err) {
    (void)job;
    (void)context;
    return no_compiler(err);
}

static int recognises(slw_bytes binary) {
    return slwi_amdgcn_recognises(binary) || slwi_bundle_recognises(binary);
}

/* A code object is one image: whether the device runs it is not the reader's to judge. */
static slw_code read_contract(const slw_allocator *allocator, slw_bytes binary, const char *name, const char *target,
                              slw_contract **out, slw_error *err) {
    if (slwi_bundle_recognises(binary)) return slwi_bundle_contract(allocator, binary, name, target, out, err);
    return slwi_amdgcn_contract(allocator, binary, name, out, err);
}

const slw_backend_vtable slwi_hip_backend = {
    .size = sizeof(slw_backend_vtable),
    .abi = SLW_BACKEND_ABI,
    .name = "hip",
    .reader_revision = SLWI_HIP_READER_REVISION,
    .stages = NULL,
    .stage_count = 0,
    .launch_binary = LAUNCH_BINARY,
    .toolchain_open = toolchain_open,
    .toolchain_close = nothing_to_close,
    .toolchain_path = nothing_to_say,
    .job_open = job_open,
    .job_close = nothing_to_close,
    .job_target = nothing_to_say,
    .job_private_reason = nothing_to_say,
    .job_source_record = job_record,
    .job_option_record = job_record,
    .job_run = job_run,
    .job_confirm = job_confirm,
    .recognises = recognises,
    .read_contract = read_contract,
    .release_contract = slwi_contract_free,
};
