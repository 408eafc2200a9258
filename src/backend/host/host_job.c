/* Preparing a compilation: its target and its options, beside what is prepared alike for every backend. */
#include "host_job.h"

#include <string.h>

#include "fail.h"
#include "host_native.h"
#include "host_reader.h"
#include "host_target.h"
#include "memory.h"
#include "tool_source.h"

const slw_stage slwi_host_stages[SLWI_HOST_STAGE_COUNT] = {
    {"object", "o", "kernel.o"},
    {"shared_object", "so", SLWI_HOST_LAUNCH_BINARY},
};

static slw_code check_target(const char *target, slw_error *err) {
    if (target == NULL || strcmp(target, "host") == 0 || strcmp(target, slwi_host_target()) == 0) return SLW_OK;
    slwi_error_subject(err, target, strlen(target));
    return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "TARGET", "host kernels are compiled for %s only",
                     slwi_host_target());
}

static slw_code take_options(slwi_host_job *job, const slw_compile_options *options, slw_error *err) {
    slwi_tool_job *common = &job->common;
    slw_code rc = slwi_host_options_parse(options->flags, options->flag_count, &common->allocator, &job->options, err);
    if (rc == SLW_OK && job->options.native)
        rc = slwi_host_expand_native(job->toolchain, &job->options, options->cancel, err);
    if (rc != SLW_OK) return rc;
    const char *source_why = slwi_tool_source_reason(common->source);
    slwi_tool_job_keep_private(common, job->options.why);
    if (source_why != NULL) slwi_tool_job_keep_private(common, source_why);
    return SLW_OK;
}

slw_code slwi_host_job_open(void *toolchain, const slw_compile_request *request, void **out, slw_error *err) {
    slw_allocator allocator;
    slw_code rc = slwi_allocator_take(&request->allocator, &allocator, err);
    if (rc != SLW_OK) return rc;
    slwi_host_job *job = slwi_alloc_zero(&allocator, sizeof(*job));
    if (job == NULL) return slwi_fail_memory(err, sizeof(*job));
    slwi_tool_job_init(&job->common, &allocator);
    slwi_tool_list_init(&job->options.compile, &job->common.allocator);
    slwi_tool_list_init(&job->options.link, &job->common.allocator);
    job->toolchain = toolchain;
    rc = check_target(request->options->target, err);
    if (rc == SLW_OK)
        rc = slwi_tool_job_take(&job->common, request, slwi_host_stages, SLWI_HOST_STAGE_COUNT, "source.c", err);
    if (rc == SLW_OK) rc = take_options(job, request->options, err);
    if (rc != SLW_OK) {
        slwi_host_job_close(job);
        return rc;
    }
    *out = job;
    return SLW_OK;
}

void slwi_host_job_close(void *opaque) {
    slwi_host_job *job = opaque;
    if (job == NULL) return;
    slw_allocator allocator = job->common.allocator;
    slwi_host_options_free(&job->options);
    slwi_tool_job_free(&job->common);
    slwi_free(&allocator, job);
}

const char *slwi_host_job_private_reason(const void *opaque) {
    const slwi_host_job *job = opaque;
    return slwi_tool_job_private_reason(&job->common);
}

slw_code slwi_host_job_source_record(void *opaque, slw_record **out, slw_error *err) {
    const slwi_host_job *job = opaque;
    return slwi_tool_job_source_record(&job->common, out, err);
}

slw_code slwi_host_job_option_record(void *opaque, slw_record **out, slw_error *err) {
    const slwi_host_job *job = opaque;
    return slwi_tool_job_option_record(&job->common, &job->options.compile, slwi_host_target(), out, err);
}
