/* Preparing a compilation: its kind, its target and its options, beside what is prepared alike for every backend. */
#include "nvcc_job.h"

#include <string.h>

#include "fail.h"
#include "memory.h"
#include "nvrtc.h"
#include "tool_run.h"
#include "tool_source.h"

#define DEFINE_CLOCK                                                                                                   \
    "-D__DATE__=\\\"" SLWI_TOOL_DATE "\\\"", "-D__TIME__=\\\"" SLWI_TOOL_TIME "\\\"",                                  \
        "-D__TIMESTAMP__=\\\"" SLWI_TOOL_TIMESTAMP "\\\""

const slw_stage slwi_nvcc_stages[SLWI_NVCC_STAGE_COUNT] = {
    {"ptx", "ptx", "kernel.ptx"},
    {"cubin", "cubin", "kernel.cubin"},
};

const slw_source_kind slwi_nvcc_sources[SLWI_NVCC_SOURCE_KINDS] = {
    {"cu", SLWI_NVCC_STAGE_PTX},
    {"ptx", SLWI_NVCC_STAGE_CUBIN},
};

static slw_code take_kind(slwi_nvcc_job *job, const char *extension, slw_error *err) {
    for (size_t i = 0; extension != NULL && i < SLWI_NVCC_SOURCE_KINDS; i++) {
        if (strcmp(extension, slwi_nvcc_sources[i].extension) == 0)
            job->common.extension = slwi_nvcc_sources[i].extension;
    }
    if (job->common.extension == NULL)
        return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "SOURCE", "the cuda backend begins with CUDA C or PTX");
    job->is_ptx = job->common.extension == slwi_nvcc_sources[1].extension;
    if (job->is_ptx || job->toolchain->missing == NULL) return SLW_OK;
    slwi_error_copy(err, job->toolchain->missing);
    return job->toolchain->missing->code;
}

/* nvcc takes a value apart at commas, undoes quotes and drops outer blanks: another directory would be searched than
   the one that is in the key. A root begins with its slash. */
static int is_taken_apart(const char *root) {
    const size_t size = strlen(root);
    return strpbrk(root, ",'") != NULL || (size > 0 && strchr(" \t\v\f", root[size - 1]) != NULL);
}

/* Include roots go through nvcc's shell as well, and mean nothing to PTX. */
static slw_code check_roots(const slwi_nvcc_job *job, slw_error *err) {
    for (size_t i = 0; i < job->common.roots.count; i++) {
        const char *root = job->common.roots.items[i];
        if (job->is_ptx || (!slwi_nvcc_is_for_shell(root) && !is_taken_apart(root))) continue;
        slwi_error_path(err, root);
        return slwi_fail(
            err, SLW_E_USAGE, "SHELL",
            "nvcc takes paths apart at commas, quotes and outer blanks and hands them to a shell: it would "
            "search another directory than the include root");
    }
    return SLW_OK;
}

/* clang before 16 does not take the time from SOURCE_DATE_EPOCH. nvcc hands these to its host compiler within double
   quotes of a shell. */
static void stop_clock(slwi_nvcc_job *job) {
    static const char *const words[] = {"-Xcompiler=" SLWI_TOOL_NO_CLOCK_WARNING, DEFINE_CLOCK};
    const slwi_nvcc_toolchain *toolchain = job->toolchain;
    if (job->is_ptx || toolchain->host == NULL || toolchain->answer.family != SLWI_TOOL_CLANG) return;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) slwi_tool_list_add(&job->options.ptx, words[i]);
}

static slw_code take_options(slwi_nvcc_job *job, const slw_compile_options *options, slw_error *err) {
    slwi_tool_job *common = &job->common;
    slw_code rc = slwi_nvcc_options_parse(options->flags, options->flag_count, job->is_ptx, &common->allocator,
                                          &job->options, err);
    if (rc != SLW_OK) return rc;
    if (job->options.why[0] != '\0') slwi_tool_job_keep_private(common, job->options.why);
    const char *why = job->is_ptx ? NULL : slwi_tool_source_reason(common->source);
    if (why != NULL) slwi_tool_job_keep_private(common, why);
    why = job->is_ptx || job->toolchain->library == NULL
              ? NULL
              : slwi_nvrtc_source_reason(common->source, common->roots.count);
    if (why != NULL) slwi_tool_job_keep_private(common, why);
    stop_clock(job);
    slwi_tool_list_add_all(&job->option_record, &job->options.ptx);
    /* An option of the one stage is another one than of the other; what both have is said once. */
    for (size_t i = job->options.shared; i < job->options.cubin.count; i++)
        slwi_tool_list_add_format(&job->option_record, "%s%s",
                                  job->is_ptx ? "" : "-Xptxas=", job->options.cubin.items[i]);
    for (size_t i = 0; i < job->options.fatbin.count; i++)
        slwi_tool_list_add_format(&job->option_record, "-fatbin=%s", job->options.fatbin.items[i]);
    return slwi_tool_list_status(&job->option_record, err);
}

/* It is made from the source, by nvcc: of what stands in for a stage it would know nothing. */
static slw_code check_fatbin(const slwi_nvcc_job *job, slw_error *err) {
    const slwi_tool_list *wanted = &job->options.fatbin;
    if (wanted->count == 0) return SLW_OK;
    if (job->toolchain->host == NULL || job->is_ptx || job->common.override_stage >= 0)
        return slwi_fail(err, SLW_E_USAGE, "FATBIN", "a fatbin is made of CUDA C by nvcc, with no stage overridden");
    for (size_t i = 0; i < wanted->count; i++) {
        const slw_code rc = slwi_nvcc_check_image(job, wanted->items[i], err);
        if (rc != SLW_OK) return rc;
    }
    return SLW_OK;
}

/* A source that is lowered is read when it has been. */
static slw_code take_target(slwi_nvcc_job *job, const slw_compile_options *options, slw_error *err) {
    char own[16];
    char isa[16];
    if (!job->is_ptx || job->common.is_lowered) return slwi_nvcc_take_target(job, options->target, NULL, NULL, err);
    slw_code rc = slwi_nvcc_read_ptx(job, job->common.source, own, isa, err);
    return rc == SLW_OK ? slwi_nvcc_take_target(job, options->target, own, isa, err) : rc;
}

slw_code slwi_nvcc_job_open(void *toolchain, const slw_compile_request *request, void **out, slw_error *err) {
    slw_allocator allocator;
    slw_code rc = slwi_allocator_take(&request->allocator, &allocator, err);
    if (rc != SLW_OK) return rc;
    slwi_nvcc_job *job = slwi_alloc_zero(&allocator, sizeof(*job));
    if (job == NULL) return slwi_fail_memory(err, sizeof(*job));
    slwi_tool_job_init(&job->common, &allocator);
    slwi_tool_list_init(&job->option_record, &job->common.allocator);
    job->toolchain = toolchain;
    rc = take_kind(job, request->extension, err);
    if (rc == SLW_OK)
        rc = slwi_tool_job_take(&job->common, request, slwi_nvcc_stages, SLWI_NVCC_STAGE_COUNT,
                                job->is_ptx ? SLWI_NVCC_PTX_FILE : SLWI_NVCC_SOURCE_FILE, err);
    if (rc == SLW_OK) rc = check_roots(job, err);
    if (rc == SLW_OK) rc = take_target(job, request->options, err);
    if (rc == SLW_OK) rc = take_options(job, request->options, err);
    if (rc == SLW_OK) rc = check_fatbin(job, err);
    if (rc != SLW_OK) {
        slwi_nvcc_job_close(job);
        return rc;
    }
    *out = job;
    return SLW_OK;
}

void slwi_nvcc_job_close(void *opaque) {
    slwi_nvcc_job *job = opaque;
    if (job == NULL) return;
    slw_allocator allocator = job->common.allocator;
    slwi_nvcc_options_free(&job->options);
    slwi_tool_list_free(&job->option_record);
    slwi_tool_job_free(&job->common);
    slwi_free(&allocator, job);
}

const char *slwi_nvcc_job_target(const void *opaque) {
    const slwi_nvcc_job *job = opaque;
    return job->target;
}

const char *slwi_nvcc_job_private_reason(const void *opaque) {
    const slwi_nvcc_job *job = opaque;
    return slwi_tool_job_private_reason(&job->common);
}

slw_code slwi_nvcc_job_source_record(void *opaque, slw_record **out, slw_error *err) {
    const slwi_nvcc_job *job = opaque;
    return slwi_tool_job_source_record(&job->common, out, err);
}

slw_code slwi_nvcc_job_option_record(void *opaque, slw_record **out, slw_error *err) {
    const slwi_nvcc_job *job = opaque;
    return slwi_tool_job_option_record(&job->common, &job->option_record, job->target, out, err);
}
