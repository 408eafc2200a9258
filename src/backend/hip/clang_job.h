/* One compilation by the hip backend. */
#ifndef SLWI_CLANG_JOB_H
#define SLWI_CLANG_JOB_H

#include "clang_options.h"
#include "clang_toolchain.h"
#include "target.h"
#include "tool_job.h"

enum { SLWI_CLANG_STAGE_LLVM_IR = 0, SLWI_CLANG_STAGE_CODE_OBJECT = 1, SLWI_CLANG_STAGE_COUNT = 2 };
extern const slw_stage slwi_clang_stages[SLWI_CLANG_STAGE_COUNT];

typedef enum slwi_clang_kind { SLWI_CLANG_HIP, SLWI_CLANG_CL, SLWI_CLANG_LL, SLWI_CLANG_KIND_COUNT } slwi_clang_kind;
/* In the order of slwi_clang_kind. */
extern const slw_source_kind slwi_clang_sources[SLWI_CLANG_KIND_COUNT];

typedef struct slwi_clang_job {
    slwi_tool_job common;
    const slwi_clang_toolchain *toolchain;
    slwi_clang_kind kind;
    slwi_gfx gfx;
    char target[64]; /* canonical: "gfx90a:sramecc+:xnack-" */
    slwi_tool_options options;
    slwi_tool_list said; /* all options in order, for the record */
    int names_rocm;      /* SLWI_CLANG_NAMES_… */
} slwi_clang_job;

slw_code slwi_clang_job_open(void *toolchain, const slw_compile_request *request, void **job, slw_error *err);
void slwi_clang_job_close(void *job);
const char *slwi_clang_job_target(const void *job);
const char *slwi_clang_job_private_reason(const void *job);
slw_code slwi_clang_job_source_record(void *job, slw_record **out, slw_error *err);
slw_code slwi_clang_job_option_record(void *job, slw_record **out, slw_error *err);

/* clang_stage.c */
slw_code slwi_clang_job_run(void *job, size_t index, const slw_stage_context *context, slw_error *err);
slw_code slwi_clang_job_confirm(void *job, const slw_stage_context *context, slw_error *err);

#endif
