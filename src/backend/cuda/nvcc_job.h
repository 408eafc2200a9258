/* One compilation by the cuda backend: CUDA C to PTX, PTX to machine code. */
#ifndef SLWI_NVCC_JOB_H
#define SLWI_NVCC_JOB_H

#include "nvcc_options.h"
#include "nvcc_toolchain.h"
#include "tool_job.h"

/* What every source is called where it is compiled. */
#define SLWI_NVCC_SOURCE_FILE "source.cu"
#define SLWI_NVCC_PTX_FILE    "source.ptx"
/* What the option -fatbin leaves beside the stages' outputs; the launch binary stays the cubin. */
#define SLWI_NVCC_FATBIN "kernel.fatbin"

enum { SLWI_NVCC_STAGE_PTX = 0, SLWI_NVCC_STAGE_CUBIN = 1, SLWI_NVCC_STAGE_COUNT = 2 };
extern const slw_stage slwi_nvcc_stages[SLWI_NVCC_STAGE_COUNT];

#define SLWI_NVCC_SOURCE_KINDS 2u
extern const slw_source_kind slwi_nvcc_sources[SLWI_NVCC_SOURCE_KINDS];

typedef struct slwi_nvcc_job {
    slwi_tool_job common;
    const slwi_nvcc_toolchain *toolchain;
    slwi_nvcc_options options;
    slwi_tool_list option_record; /* of both stages, as the key has them */
    int is_ptx;                   /* the source is */
    char target[16];              /* "sm_90a" */
} slwi_nvcc_job;

slw_code slwi_nvcc_job_open(void *toolchain, const slw_compile_request *request, void **job, slw_error *err);
void slwi_nvcc_job_close(void *job);
const char *slwi_nvcc_job_target(const void *job);
const char *slwi_nvcc_job_private_reason(const void *job);
slw_code slwi_nvcc_job_source_record(void *job, slw_record **out, slw_error *err);
slw_code slwi_nvcc_job_option_record(void *job, slw_record **out, slw_error *err);

/* nvcc_target.c: 1 for "sm_90", "sm_90a", "sm_100f". */
int slwi_nvcc_supports_target(const char *target);
/* The target of the request, checked against what the tools list, into job->target. Of PTX that names its own, that one
   where none is asked for; UNSUPPORTED_INPUT (TARGET; what there is stands in `tried`), TARGET_MISMATCH. `own` and
   `isa` ("9.0") are the text's; NULL: it has not been read. */
slw_code slwi_nvcc_take_target(slwi_nvcc_job *job, const char *wanted, const char *own, const char *isa,
                               slw_error *err);
/* OK for "sm_90a" and "compute_90a" that the tools have; else UNSUPPORTED_INPUT as above. */
slw_code slwi_nvcc_check_image(const slwi_nvcc_job *job, const char *image, slw_error *err);
/* Reads what PTX declares: INVALID_PTX with its place; UNSUPPORTED_INPUT (ISA_VERSION) for what is newer than ptxas.
   `own` and `isa` may be NULL. */
slw_code slwi_nvcc_read_ptx(const slwi_nvcc_job *job, slw_bytes text, char own[16], char isa[16], slw_error *err);

/* nvcc_stage.c */
slw_code slwi_nvcc_job_run(void *job, size_t index, const slw_stage_context *context, slw_error *err);
slw_code slwi_nvcc_job_confirm(void *job, const slw_stage_context *context, slw_error *err);

#endif
