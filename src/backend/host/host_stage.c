/* Running the stages: the command lines, and what was read. */
#include <string.h>

#include "fail.h"
#include "host_job.h"
#include "host_kernel_text.h"
#include "tool_source.h"

#define DEPENDENCIES       "source.d"
#define OBJECT             "../kernel.o"
#define SHARED_OBJECT      "../kernel.so"
#define OBJECT_MODE        0644u
#define SHARED_OBJECT_MODE 0755u

static slw_code write_header(slwi_tool_work *w) {
    slwi_buffer text;
    slwi_buffer_init(&text, w->allocator, SIZE_MAX);
    for (size_t i = 0; slwi_host_kernel_lines[i] != NULL; i++)
        slwi_buffer_append_text(&text, slwi_host_kernel_lines[i]);
    slw_code rc = slwi_buffer_status(&text, w->err);
    if (rc == SLW_OK) rc = slwi_tool_work_make_directory(w, "include");
    if (rc == SLW_OK) rc = slwi_tool_work_make_directory(w, "include/slipway");
    if (rc == SLW_OK)
        rc = slwi_tool_work_write(w, "include/" SLWI_HOST_KERNEL_INCLUDE, (slw_bytes){text.data, text.size});
    slwi_buffer_free(&text);
    return rc;
}

/* ---- command lines ---- */

/* Paths of this build are mapped away, and the source gets its name back: two builds give the same bytes. */
static void add_prefix_maps(const slwi_host_job *job, const slwi_tool_work *w, slwi_tool_list *list) {
    slwi_tool_list_add_format(list, "-ffile-prefix-map=%s=.", w->real_work);
    if (strcmp(w->work, w->real_work) != 0) slwi_tool_list_add_format(list, "-ffile-prefix-map=%s=.", w->work);
    slwi_tool_list_add_format(list, "-ffile-prefix-map=" SLWI_HOST_SOURCE_FILE "=%s", job->common.name);
}

static void compile_arguments(const slwi_host_job *job, const slwi_tool_work *w, slwi_tool_list *list) {
    slwi_tool_list_add_words(list, slwi_host_compile_before);
    slwi_tool_list_add_all(list, &job->options.compile);
    slwi_tool_list_add(list, "-I");
    slwi_tool_list_add(list, "include"); /* the shipped header comes first: it is the one the reader knows */
    for (size_t i = 0; i < job->common.roots.count; i++) {
        slwi_tool_list_add(list, "-I");
        slwi_tool_list_add(list, job->common.roots.items[i]);
    }
    slwi_tool_list_add_words(list, slwi_host_compile_after);
    if (job->toolchain->answer.family == SLWI_TOOL_GCC) slwi_tool_list_add(list, "-frandom-seed=slipway");
    add_prefix_maps(job, w, list);
    static const char *const rest[] = {"-MD", "-MF",  DEPENDENCIES,          "-MT", "kernel", "-c",
                                       "-o",  OBJECT, SLWI_HOST_SOURCE_FILE, NULL};
    slwi_tool_list_add_words(list, rest);
}

static void link_arguments(const slwi_host_job *job, slwi_tool_list *list) {
    static const char *const start[] = {"-shared", "-o", SHARED_OBJECT, OBJECT, NULL};
    slwi_tool_list_add_words(list, start);
    slwi_tool_list_add_all(list, &job->options.link);
    slwi_tool_list_add_words(list, slwi_host_link_arguments);
}

/* ---- running ---- */

static slw_code run_driver(const slwi_host_job *job, slwi_tool_work *w, const slwi_tool_list *arguments) {
    const slwi_tool_command command = {
        .program = job->toolchain->driver,
        .path = job->toolchain->path,
        .arguments = arguments,
        .source_file = SLWI_HOST_SOURCE_FILE,
        .name = job->common.name,
    };
    return slwi_tool_work_run(w, &command);
}

/* What the compiler read, kept for the confirmation: its list goes with the working directory. */
static slw_code keep_dependencies(slwi_host_job *job, slwi_tool_work *w) {
    slwi_tool_list list;
    slwi_tool_list_init(&list, &job->common.allocator);
    const slw_code rc = slwi_tool_work_dependencies(w, DEPENDENCIES, &list);
    if (rc == SLW_OK) slwi_tool_job_keep_dependencies(&job->common, &list);
    slwi_tool_list_free(&list);
    return rc;
}

static slw_code run_object(void *context, slwi_tool_work *w) {
    slwi_host_job *job = context;
    slwi_tool_list arguments;
    slwi_tool_list_init(&arguments, &job->common.allocator);
    /* The bytes of the request, whatever the file has become. */
    slw_code rc = slwi_tool_work_write_source(w, SLWI_HOST_SOURCE_FILE, w->context->source_text);
    if (job->common.is_lowered) job->common.lowered_why = slwi_tool_source_reason(w->context->source_text);
    if (rc == SLW_OK) rc = write_header(w);
    if (rc == SLW_OK) {
        compile_arguments(job, w, &arguments);
        rc = run_driver(job, w, &arguments);
    }
    if (rc == SLW_OK) rc = keep_dependencies(job, w);
    slwi_tool_list_free(&arguments);
    return rc;
}

static slw_code run_shared_object(void *context, slwi_tool_work *w) {
    const slwi_host_job *job = context;
    slwi_tool_list arguments;
    slwi_tool_list_init(&arguments, &job->common.allocator);
    link_arguments(job, &arguments);
    const slw_code rc = run_driver(job, w, &arguments);
    slwi_tool_list_free(&arguments);
    return rc;
}

slw_code slwi_host_job_run(void *opaque, size_t index, const slw_stage_context *context, slw_error *err) {
    slwi_host_job *job = opaque;
    const slwi_tool_stage object = {index, OBJECT_MODE, run_object, job};
    const slwi_tool_stage shared_object = {index, SHARED_OBJECT_MODE, run_shared_object, job};
    return slwi_tool_job_run(&job->common, index == SLWI_HOST_STAGE_OBJECT ? &object : &shared_object, context, err);
}

/* ---- confirmation ---- */

slw_code slwi_host_job_confirm(void *opaque, const slw_stage_context *context, slw_error *err) {
    static const char *const own[] = {SLWI_HOST_SOURCE_FILE, "include/" SLWI_HOST_KERNEL_INCLUDE, NULL};
    const slwi_host_job *job = opaque;
    return slwi_tool_job_confirm(&job->common, context, &job->toolchain->answer.facts[SLWI_TOOL_FACT_INCLUDE], own,
                                 err);
}
