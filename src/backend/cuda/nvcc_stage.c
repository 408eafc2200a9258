/* Running the stages: the command lines, and what was read. */
#include <slipway/key.h>
#include <string.h>

#include "fail.h"
#include "nvcc_job.h"
#include "nvrtc.h"
#include "tool_source.h"

#define DEPENDENCIES "source.d"
#define PTX          "../kernel.ptx"
#define CUBIN        "../kernel.cubin"
#define FATBIN       "../" SLWI_NVCC_FATBIN
#define MODE         0644u

/* By this name, and not by its own path, cicc and the line tables know the source. */
#define SOURCE SLWI_NVCC_HERE "/" SLWI_NVCC_SOURCE_FILE

/* ---- command lines ---- */

/* The source gets its name back in __FILE__. The option passes through nvcc's lists and its shell, so what could mean
   something to either stays out of it. */
static void add_name(const slwi_nvcc_job *job, slwi_tool_list *list) {
    char name[1024];
    size_t size = 0;
    for (const char *at = job->common.name; *at != '\0' && size + 1 < sizeof(name); at++) {
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-/";
        name[size++] = '_';
        if (strchr(plain, *at) != NULL) name[size - 1] = *at;
    }
    name[size] = '\0';
    slwi_tool_list_add(list, "-Xcompiler");
    slwi_tool_list_add_format(list, "-ffile-prefix-map=" SOURCE "=%s", name);
}

/* Names made up for what has none come from the source's bytes; by its path they would differ from build to build. */
static void add_seed(const slwi_nvcc_job *job, slwi_tool_list *list) {
    char digest[SLW_DIGEST_TEXT_SIZE];
    if (slwi_nvcc_note(&job->toolchain->answer, SLWI_NVCC_NOTE_REPRODUCIBLE) == NULL) return;
    slw_digest_format(&job->common.source_digest, digest);
    slwi_tool_list_add_format(list, SLWI_NVCC_SEED "%.16s", digest);
    slwi_tool_list_add(list, SLWI_NVCC_PATH_OPTION);
    slwi_tool_list_add_format(list, "%s%.16s/%s", SLWI_NVCC_PATH_VALUE, digest, SLWI_NVCC_SOURCE_FILE);
}

/* All but what is made of it and where to. */
static void common_arguments(const slwi_nvcc_job *job, slwi_tool_list *list) {
    slwi_tool_list_add_all(list, &job->options.ptx);
    for (size_t i = 0; i < job->common.roots.count; i++) {
        slwi_tool_list_add(list, "-I");
        slwi_tool_list_add(list, job->common.roots.items[i]);
    }
    slwi_tool_list_add(list, "-ccbin");
    slwi_tool_list_add(list, job->toolchain->host);
    add_seed(job, list);
    add_name(job, list);
}

static void ptx_arguments(const slwi_nvcc_job *job, slwi_tool_list *list) {
    common_arguments(job, list);
    slwi_tool_list_add_words(list, slwi_nvcc_compile_after);
    slwi_tool_list_add_format(list, "-arch=compute_%s", job->target + strlen("sm_"));
    slwi_tool_list_add(list, "-MD");
    slwi_tool_list_add(list, "-MF");
    slwi_tool_list_add(list, DEPENDENCIES);
    slwi_tool_list_add(list, "-o");
    slwi_tool_list_add(list, PTX);
    slwi_tool_list_add(list, SOURCE);
}

/* The request's own target is in it, too. */
static void fatbin_arguments(const slwi_nvcc_job *job, slwi_tool_list *list) {
    const slwi_tool_list *ptxas = &job->options.cubin;
    const slwi_tool_list *images = &job->options.fatbin;
    const char *own = job->target + strlen("sm_");
    common_arguments(job, list);
    for (size_t i = job->options.shared; i < ptxas->count; i++)
        slwi_tool_list_add_format(list, "-Xptxas=%s", ptxas->items[i]);
    slwi_tool_list_add(list, "-fatbin");
    slwi_tool_list_add(list, "-m64");
    slwi_tool_list_add_format(list, "-gencode=arch=compute_%s,code=%s", own, job->target);
    for (size_t i = 0; i < images->count; i++) {
        if (strcmp(images->items[i], job->target) == 0) continue;
        slwi_tool_list_add_format(list, "-gencode=arch=compute_%s,code=%s", strchr(images->items[i], '_') + 1,
                                  images->items[i]);
    }
    slwi_tool_list_add(list, "-o");
    slwi_tool_list_add(list, FATBIN);
    slwi_tool_list_add(list, SOURCE);
}

static void cubin_arguments(const slwi_nvcc_job *job, const char *input, slwi_tool_list *list) {
    slwi_tool_list_add_all(list, &job->options.cubin);
    slwi_tool_list_add_format(list, "-arch=%s", job->target);
    slwi_tool_list_add(list, "-o");
    slwi_tool_list_add(list, CUBIN);
    slwi_tool_list_add(list, input);
}

/* ---- running ---- */

/* nvcc writes the names of its temporary files into command lines for a shell. */
static slw_code check_temporary(slwi_tool_work *w) {
    if (w->private_name[0] == '\0') {
        memcpy(w->temporary, "tmp", sizeof("tmp"));
        return SLW_OK;
    }
    if (!slwi_nvcc_is_for_shell(w->temporary)) return SLW_OK;
    slwi_error_path(w->err, w->temporary);
    return slwi_fail(w->err, SLW_E_USAGE, "SHELL",
                     "nvcc hands paths to a shell, which would change the directory for temporary files");
}

static slw_code run_tool(const slwi_nvcc_job *job, slwi_tool_work *w, const char *program,
                         const slwi_tool_list *arguments, const char *source_file, const char *name) {
    slwi_tool_list variables;
    slwi_tool_list_init(&variables, w->allocator);
    slwi_nvcc_variables(&variables);
    const slwi_tool_command command = {
        .program = program,
        .path = job->toolchain->path,
        .variables = &variables,
        .arguments = arguments,
        .source_file = source_file,
        .name = name,
    };
    const slw_code rc = slwi_tool_work_run(w, &command);
    slwi_tool_list_free(&variables);
    return rc;
}

/* The list names what lies in the working directory by the name that the children have for it. */
static slw_code keep_dependencies(slwi_nvcc_job *job, slwi_tool_work *w) {
    static const char here[] = SLWI_NVCC_HERE "/";
    slwi_tool_list read;
    slwi_tool_list kept;
    slwi_tool_list_init(&read, &job->common.allocator);
    slwi_tool_list_init(&kept, &job->common.allocator);
    slw_code rc = slwi_tool_work_dependencies(w, DEPENDENCIES, &read);
    for (size_t i = 0; i < read.count; i++) {
        const char *path = read.items[i];
        slwi_tool_list_add(&kept, strncmp(path, here, sizeof(here) - 1) == 0 ? path + sizeof(here) - 1 : path);
    }
    if (rc == SLW_OK) rc = slwi_tool_list_status(&kept, w->err);
    if (rc == SLW_OK) slwi_tool_job_keep_dependencies(&job->common, &kept);
    slwi_tool_list_free(&read);
    slwi_tool_list_free(&kept);
    return rc;
}

static slw_code run_fatbin(slwi_nvcc_job *job, slwi_tool_work *w) {
    slwi_tool_list arguments;
    if (job->options.fatbin.count == 0) return SLW_OK;
    slwi_tool_list_init(&arguments, w->allocator);
    fatbin_arguments(job, &arguments);
    slw_code rc = run_tool(job, w, job->toolchain->driver, &arguments, SOURCE, job->common.name);
    slwi_tool_list_free(&arguments);
    return rc == SLW_OK ? slwi_tool_work_finish(w, SLWI_NVCC_FATBIN, MODE) : rc;
}

/* It lists nothing of what it read: a source that may reach outside the key is private already. */
static slw_code keep_source_only(slwi_nvcc_job *job, slw_error *err) {
    slwi_tool_list kept;
    slwi_tool_list_init(&kept, &job->common.allocator);
    slwi_tool_list_add(&kept, SLWI_NVCC_SOURCE_FILE);
    const slw_code rc = slwi_tool_list_status(&kept, err);
    if (rc == SLW_OK) slwi_tool_job_keep_dependencies(&job->common, &kept);
    slwi_tool_list_free(&kept);
    return rc;
}

static void nvrtc_arguments(const slwi_nvcc_job *job, slwi_tool_list *list) {
    const slwi_tool_list *includes = &job->toolchain->answer.facts[SLWI_TOOL_FACT_INCLUDE];
    char digest[SLW_DIGEST_TEXT_SIZE];
    slw_digest_format(&job->common.source_digest, digest);
    slwi_tool_list_add(list, "--library");
    slwi_tool_list_add(list, job->toolchain->library);
    slwi_tool_list_add(list, "--name");
    slwi_tool_list_add(list, job->common.name);
    slwi_tool_list_add(list, "-o");
    slwi_tool_list_add(list, PTX);
    slwi_tool_list_add_all(list, &job->options.ptx);
    for (size_t i = 0; i < job->common.roots.count; i++)
        slwi_tool_list_add_format(list, "-I%s", job->common.roots.items[i]);
    for (size_t i = 0; i < includes->count; i++) slwi_tool_list_add_format(list, "-I%s", includes->items[i]);
    slwi_tool_list_add_format(list, "-arch=compute_%s", job->target + strlen("sm_"));
    slwi_tool_list_add_format(list, SLWI_NVCC_SEED "%.16s", digest);
    slwi_tool_list_add(list, SLWI_NVCC_SOURCE_FILE);
}

static slw_code run_nvrtc(void *context, slwi_tool_work *w) {
    slwi_nvcc_job *job = context;
    slwi_tool_list arguments;
    slwi_tool_list_init(&arguments, w->allocator);
    slw_code rc = slwi_tool_work_write_source(w, SLWI_NVCC_SOURCE_FILE, w->context->source_text);
    if (job->common.is_lowered) {
        job->common.lowered_why = slwi_tool_source_reason(w->context->source_text);
        if (job->common.lowered_why == NULL)
            job->common.lowered_why = slwi_nvrtc_source_reason(w->context->source_text, 0);
    }
    if (rc == SLW_OK) {
        nvrtc_arguments(job, &arguments);
        rc = run_tool(job, w, job->toolchain->driver, &arguments, SLWI_NVCC_SOURCE_FILE, job->common.name);
    }
    if (rc == SLW_OK) rc = keep_source_only(job, w->err);
    slwi_tool_list_free(&arguments);
    return rc;
}

static slw_code run_ptx(void *context, slwi_tool_work *w) {
    slwi_nvcc_job *job = context;
    slwi_tool_list arguments;
    slwi_tool_list_init(&arguments, w->allocator);
    /* The bytes of the request, whatever the file has become. */
    slw_code rc = slwi_tool_work_write_source(w, SLWI_NVCC_SOURCE_FILE, w->context->source_text);
    if (job->common.is_lowered) job->common.lowered_why = slwi_tool_source_reason(w->context->source_text);
    if (rc == SLW_OK) rc = check_temporary(w);
    if (rc == SLW_OK) {
        ptx_arguments(job, &arguments);
        rc = run_tool(job, w, job->toolchain->driver, &arguments, SOURCE, job->common.name);
    }
    if (rc == SLW_OK) rc = keep_dependencies(job, w);
    if (rc == SLW_OK) rc = run_fatbin(job, w);
    slwi_tool_list_free(&arguments);
    return rc;
}

/* A text that a front end lowered to PTX is read here for the first time. */
static slw_code check_lowered(const slwi_nvcc_job *job, const slwi_tool_work *w) {
    char own[16];
    char isa[16];
    if (!job->is_ptx || !job->common.is_lowered) return SLW_OK;
    return slwi_nvcc_read_ptx(job, w->context->source_text, own, isa, w->err);
}

static slw_code run_cubin(void *context, slwi_tool_work *w) {
    const slwi_nvcc_job *job = context;
    const char *ptxas = slwi_nvcc_program(&job->toolchain->answer, "ptxas");
    const char *input = job->is_ptx ? SLWI_NVCC_PTX_FILE : PTX;
    slwi_tool_list arguments;
    slwi_tool_list_init(&arguments, w->allocator);
    slw_code rc = check_lowered(job, w);
    if (rc == SLW_OK && job->is_ptx) rc = slwi_tool_work_write_source(w, SLWI_NVCC_PTX_FILE, w->context->source_text);
    if (rc == SLW_OK) {
        cubin_arguments(job, input, &arguments);
        rc = run_tool(job, w, ptxas != NULL ? ptxas : job->toolchain->driver, &arguments, input,
                      job->is_ptx ? job->common.name : slwi_nvcc_stages[SLWI_NVCC_STAGE_PTX].payload);
    }
    slwi_tool_list_free(&arguments);
    return rc;
}

slw_code slwi_nvcc_job_run(void *opaque, size_t index, const slw_stage_context *context, slw_error *err) {
    slwi_nvcc_job *job = opaque;
    const slwi_tool_stage ptx = {index, MODE, job->toolchain->library != NULL ? run_nvrtc : run_ptx, job};
    const slwi_tool_stage cubin = {index, MODE, run_cubin, job};
    if (job->is_ptx && index == SLWI_NVCC_STAGE_PTX)
        return slwi_fail(err, SLW_E_USAGE, "BAD_STAGE", "a PTX source has no such stage");
    return slwi_tool_job_run(&job->common, index == SLWI_NVCC_STAGE_PTX ? &ptx : &cubin, context, err);
}

/* ---- confirmation ---- */

/* ptxas reads no other file; where nvcc did not run there is nothing to confirm. */
slw_code slwi_nvcc_job_confirm(void *opaque, const slw_stage_context *context, slw_error *err) {
    static const char *const own[] = {SLWI_NVCC_SOURCE_FILE, NULL};
    const slwi_nvcc_job *job = opaque;
    return slwi_tool_job_confirm(&job->common, context, &job->toolchain->answer.facts[SLWI_TOOL_FACT_INCLUDE], own,
                                 err);
}
