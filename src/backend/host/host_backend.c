/* The host backend as a vtable. */
#include "host_backend.h"

#include <string.h>

#include "backends.h"
#include "host_job.h"
#include "host_reader.h"
#include "host_target.h"

static slw_code toolchain_open(const slw_toolchain_request *request, void **out, slw_error *err) {
    slwi_host_toolchain *toolchain = NULL;
    slw_code rc = slwi_host_toolchain_open(request, &toolchain, err);
    if (rc == SLW_OK) *out = toolchain;
    return rc;
}

static void toolchain_close(void *opaque) {
    slwi_host_toolchain *toolchain = opaque;
    slwi_host_toolchain_close(&toolchain);
}

static const char *toolchain_path(const void *opaque) {
    const slwi_host_toolchain *toolchain = opaque;
    return toolchain->found;
}

static const char *job_target(const void *job) {
    (void)job;
    return slwi_host_target();
}

/* A shared object is one image: there is nothing to choose. */
static slw_code read_contract(const slw_allocator *allocator, slw_bytes binary, const char *name, const char *target,
                              slw_contract **out, slw_error *err) {
    (void)target;
    return slwi_host_read_contract(allocator, binary, name, out, err);
}

static int supports_target(const char *target) {
    return strcmp(target, "host") == 0 || strcmp(target, slwi_host_target()) == 0;
}

static const slw_source_kind sources[] = {{"c", SLWI_HOST_STAGE_OBJECT}};

const slw_backend_vtable slwi_host_backend = {
    .size = sizeof(slw_backend_vtable),
    .abi = SLW_BACKEND_ABI,
    .name = "host",
    .reader_revision = SLWI_HOST_READER_REVISION,
    .stages = slwi_host_stages,
    .stage_count = SLWI_HOST_STAGE_COUNT,
    .launch_binary = SLWI_HOST_LAUNCH_BINARY,
    .sources = sources,
    .source_count = sizeof sources / sizeof *sources,
    .supports_target = supports_target,
    .toolchain_open = toolchain_open,
    .toolchain_close = toolchain_close,
    .toolchain_path = toolchain_path,
    .job_open = slwi_host_job_open,
    .job_close = slwi_host_job_close,
    .job_target = job_target,
    .job_private_reason = slwi_host_job_private_reason,
    .job_source_record = slwi_host_job_source_record,
    .job_option_record = slwi_host_job_option_record,
    .job_run = slwi_host_job_run,
    .job_confirm = slwi_host_job_confirm,
    .recognises = slwi_host_recognises,
    .read_contract = read_contract,
    .release_contract = slwi_contract_free,
};
