/* The cuda backend as a vtable: the readers. It has no stages: a request to compile is refused where it starts. */
#include "cuda_backend.h"

#include "backends.h"
#include "cubin_read.h"
#include "fail.h"
#include "fatbin_read.h"
#include "ptx_read.h"

#define LAUNCH_BINARY "kernel.cubin"

static slw_code no_compiler(slw_error *err) {
    slwi_error_hint(err, "compile it with nvcc -cubin, -fatbin or -ptx and give the result");
    return slwi_fail(err, SLW_E_UNSUPPORTED, "NO_COMPILER",
                     "the cuda backend reads cubins, fatbins and PTX and does not compile");
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
    return slwi_cubin_recognises(binary) || slwi_fatbin_recognises(binary) || slwi_ptx_recognises(binary);
}

/* A cubin and a PTX module are one image each: whether the device runs it is not the reader's to judge. */
static slw_code read_contract(const slw_allocator *allocator, slw_bytes binary, const char *name, const char *target,
                              slw_contract **out, slw_error *err) {
    if (slwi_fatbin_recognises(binary)) return slwi_fatbin_contract(allocator, binary, name, target, out, err);
    if (slwi_ptx_recognises(binary)) return slwi_ptx_read_contract(allocator, binary, "cuda", name, out, err);
    return slwi_cubin_contract(allocator, binary, name, out, err);
}

const slw_backend_vtable slwi_cuda_backend = {
    .size = sizeof(slw_backend_vtable),
    .abi = SLW_BACKEND_ABI,
    .name = "cuda",
    .reader_revision = SLWI_CUDA_READER_REVISION,
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
