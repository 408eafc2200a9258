/* The compile side of a backend that only reads, until it has one: every request is refused where it starts. */
#ifndef SLWI_NO_COMPILER_H
#define SLWI_NO_COMPILER_H

#include <slipway/sys/backend_impl.h>

slw_code slwi_no_toolchain(const slw_toolchain_request *request, void **toolchain, slw_error *err);
slw_code slwi_no_job(void *toolchain, const slw_compile_request *request, void **job, slw_error *err);
slw_code slwi_no_record(void *job, slw_record **out, slw_error *err);
slw_code slwi_no_stage(void *job, size_t index, const slw_stage_context *context, slw_error *err);
slw_code slwi_no_build(void *job, const slw_stage_context *context, slw_error *err);
/* For callers that close what they never got, or ask it. */
void slwi_nothing_to_close(void *nothing);
const char *slwi_nothing_to_say(const void *nothing);

/* The members of a vtable. */
#define SLWI_NO_COMPILER                                                                                               \
    .stages = NULL, .stage_count = 0, .toolchain_open = slwi_no_toolchain, .toolchain_close = slwi_nothing_to_close,   \
    .toolchain_path = slwi_nothing_to_say, .job_open = slwi_no_job, .job_close = slwi_nothing_to_close,                \
    .job_target = slwi_nothing_to_say, .job_private_reason = slwi_nothing_to_say, .job_source_record = slwi_no_record, \
    .job_option_record = slwi_no_record, .job_run = slwi_no_stage, .job_confirm = slwi_no_build

#endif
