/* One compilation by the host backend. */
#ifndef SLWI_HOST_JOB_H
#define SLWI_HOST_JOB_H

#include "host_options.h"
#include "host_toolchain.h"
#include "tool_job.h"

#define SLWI_HOST_SOURCE_FILE "source.c" /* what every source is called where it is compiled */

enum { SLWI_HOST_STAGE_OBJECT = 0, SLWI_HOST_STAGE_SHARED_OBJECT = 1, SLWI_HOST_STAGE_COUNT = 2 };
extern const slw_stage slwi_host_stages[SLWI_HOST_STAGE_COUNT];

typedef struct slwi_host_job {
    slwi_tool_job common;
    const slwi_host_toolchain *toolchain;
    slwi_host_options options;
} slwi_host_job;

slw_code slwi_host_job_open(void *toolchain, const slw_compile_request *request, void **job, slw_error *err);
void slwi_host_job_close(void *job);
const char *slwi_host_job_private_reason(const void *job);
slw_code slwi_host_job_source_record(void *job, slw_record **out, slw_error *err);
slw_code slwi_host_job_option_record(void *job, slw_record **out, slw_error *err);

/* host_stage.c */
slw_code slwi_host_job_run(void *job, size_t index, const slw_stage_context *context, slw_error *err);
slw_code slwi_host_job_confirm(void *job, const slw_stage_context *context, slw_error *err);

#endif
