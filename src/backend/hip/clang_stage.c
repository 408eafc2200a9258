/* Running the stages: the command lines, what was read, and what a failure most likely lacks. */
#include <string.h>

#include "clang_ir.h"
#include "clang_job.h"
#include "fail.h"
#include "tool_source.h"

#define DEPENDENCIES     "source.d"
#define LLVM_IR          "../kernel.ll"
#define CODE_OBJECT      "../kernel.hsaco"
#define LLVM_IR_MODE     0644u
#define CODE_OBJECT_MODE 0755u

/* What a source is called where it is compiled. */
static const char *const source_files[SLWI_CLANG_KIND_COUNT] = {"source.hip", "source.cl", "source.ll"};

/* ---- command lines ---- */

static int has_libraries(const slwi_clang_job *job) {
    return (job->names_rocm & SLWI_CLANG_NAMES_LIBRARIES) != 0 ||
           slwi_clang_has_device_libraries(job->toolchain, job->gfx.processor);
}

static int has_headers(const slwi_clang_job *job) {
    return (job->names_rocm & SLWI_CLANG_NAMES_HEADERS) != 0 || slwi_clang_has_hip(job->toolchain);
}

/* Where clang found no ROCm it would refuse to compile at all; without the libraries it compiles what does without. */
static void add_rocm(const slwi_clang_job *job, slwi_tool_list *list) {
    if (!has_libraries(job)) slwi_tool_list_add(list, "-nogpulib");
    if (job->kind == SLWI_CLANG_HIP && !has_headers(job)) slwi_tool_list_add(list, "-nogpuinc");
}

/* Generic processors exist from version 6 of code objects on; clang's own default is older. */
static void add_object_version(const slwi_clang_job *job, slwi_tool_list *list) {
    const slwi_tool_list *options = &job->options.groups[SLWI_CLANG_COMPILE];
    static const char option[] = "-mcode-object-version=";
    if (strstr(job->gfx.processor, "-generic") == NULL) return;
    for (size_t i = 0; i < options->count; i++) {
        if (strncmp(options->items[i], option, sizeof(option) - 1) == 0) return;
    }
    slwi_tool_list_add_format(list, "%s6", option);
}

/* Paths of this build are mapped away, and the source gets its name back: two builds give the same bytes. */
static void add_prefix_maps(const slwi_clang_job *job, const slwi_tool_work *w, slwi_tool_list *list) {
    slwi_tool_list_add_format(list, "-ffile-prefix-map=%s=.", w->real_work);
    if (strcmp(w->work, w->real_work) != 0) slwi_tool_list_add_format(list, "-ffile-prefix-map=%s=.", w->work);
    slwi_tool_list_add_format(list, "-ffile-prefix-map=%s=%s", source_files[job->kind], job->common.name);
}

static void ir_arguments(const slwi_clang_job *job, const slwi_tool_work *w, slwi_tool_list *list) {
    slwi_tool_list_add_words(list, job->kind == SLWI_CLANG_HIP ? slwi_clang_for_hip : slwi_clang_for_cl);
    slwi_tool_list_add_format(list, job->kind == SLWI_CLANG_HIP ? "--offload-arch=%s" : "-mcpu=%s", job->target);
    add_object_version(job, list);
    add_rocm(job, list);
    slwi_tool_list_add_words(list, slwi_clang_compile_before);
    slwi_tool_list_add_all(list, &job->options.groups[SLWI_CLANG_COMPILE]);
    for (size_t i = 0; i < job->common.roots.count; i++) {
        slwi_tool_list_add(list, "-I");
        slwi_tool_list_add(list, job->common.roots.items[i]);
    }
    slwi_tool_list_add_words(list, slwi_clang_compile_after);
    add_prefix_maps(job, w, list);
    static const char *const rest[] = {"-MD", "-MF",        DEPENDENCIES, "-MT",   "kernel",
                                       "-S",  "-emit-llvm", "-o",         LLVM_IR, NULL};
    slwi_tool_list_add_words(list, rest);
    slwi_tool_list_add(list, source_files[job->kind]);
}

/* IR that clang made is finished: only what the code generator wants to know is said again. IR that was given gets
   everything, as a source does. */
static void code_arguments(const slwi_clang_job *job, slwi_tool_list *list) {
    const slwi_tool_list *options = &job->options.groups[SLWI_CLANG_COMPILE];
    slwi_tool_list_add_words(list, slwi_clang_for_ir);
    slwi_tool_list_add_format(list, "-mcpu=%s", job->target);
    add_object_version(job, list);
    slwi_tool_list_add_words(list, slwi_clang_compile_before);
    if (job->kind == SLWI_CLANG_LL) {
        add_rocm(job, list);
        slwi_tool_list_add_all(list, options);
        slwi_tool_list_add(list, "-Qunused-arguments");
    } else {
        slwi_tool_list_add(list, "-nogpulib");
        for (size_t i = 0; i < options->count;) {
            const size_t words = slwi_clang_code_words(options, i);
            for (size_t w = 0; w < words; w++) slwi_tool_list_add(list, options->items[i + w]);
            i += words != 0 ? words : 1;
        }
        slwi_tool_list_add_words(list, slwi_clang_code_only);
    }
    slwi_tool_list_add_all(list, &job->options.groups[SLWI_CLANG_LINK]);
    slwi_tool_list_add_words(list, slwi_clang_compile_after);
    slwi_tool_list_add(list, "-o");
    slwi_tool_list_add(list, CODE_OBJECT);
    slwi_tool_list_add(list, job->kind == SLWI_CLANG_LL ? source_files[SLWI_CLANG_LL] : LLVM_IR);
}

/* ---- running ---- */

static const char no_headers_hint[] =
    "clang found no HIP headers: install ROCm (Debian and Ubuntu: libamdhip64-dev); where clang does not look for it "
    "itself, name it with --rocm-path and declare it as an include root";
static const char no_libraries_hint[] =
    "the work-item and mathematics functions of OpenCL and HIP are in ROCm's device libraries, which clang did not "
    "find for this processor: install rocm-device-libs (where clang does not look for it itself, name it with "
    "--rocm-device-lib-path and "
    "declare it as an include root), or use clang's __builtin_amdgcn_ functions";

/* What a failure lacks where there is no ROCm; the compiler's own words stay as they are. */
static void add_hint(const slwi_clang_job *job, slw_error *err) {
    if (err == NULL) return;
    if (!has_headers(job) && strstr(err->message, "hip/") != NULL && strstr(err->message, "file not found") != NULL) {
        slwi_error_hint(err, no_headers_hint);
    } else if (!has_libraries(job) && strstr(err->message, "undefined") != NULL) {
        slwi_error_hint(err, no_libraries_hint);
    }
}

static slw_code run_clang(const slwi_clang_job *job, slwi_tool_work *w, const slwi_tool_list *arguments) {
    const slwi_tool_command command = {
        .program = job->toolchain->driver,
        .path = job->toolchain->path,
        .arguments = arguments,
        .source_file = source_files[job->kind],
        .name = job->common.name,
    };
    const slw_code rc = slwi_tool_work_run(w, &command);
    if (rc == SLW_E_COMPILE_FAILED) add_hint(job, w->err);
    return rc;
}

/* What clang read, kept for the confirmation: its list goes with the working directory. */
static slw_code keep_dependencies(slwi_clang_job *job, slwi_tool_work *w) {
    slwi_tool_list list;
    slwi_tool_list_init(&list, &job->common.allocator);
    const slw_code rc = slwi_tool_work_dependencies(w, DEPENDENCIES, &list);
    if (rc == SLW_OK) slwi_tool_job_keep_dependencies(&job->common, &list);
    slwi_tool_list_free(&list);
    return rc;
}

/* The bytes of the request, whatever the file has become. */
static slw_code write_source(slwi_clang_job *job, slwi_tool_work *w) {
    const slw_bytes text = w->context->source_text;
    if (job->common.is_lowered) {
        job->common.lowered_why = slwi_tool_source_reason(text);
        if (job->kind == SLWI_CLANG_LL) {
            const slw_code rc = slwi_clang_ir_check(text, job->common.name, job->gfx.processor, w->err);
            if (rc != SLW_OK) return rc;
        }
    }
    return slwi_tool_work_write_source(w, source_files[job->kind], text);
}

static slw_code run_ir(void *context, slwi_tool_work *w) {
    slwi_clang_job *job = context;
    slwi_tool_list arguments;
    slwi_tool_list_init(&arguments, &job->common.allocator);
    slw_code rc = write_source(job, w);
    if (rc == SLW_OK) {
        ir_arguments(job, w, &arguments);
        rc = run_clang(job, w, &arguments);
    }
    if (rc == SLW_OK) rc = keep_dependencies(job, w);
    slwi_tool_list_free(&arguments);
    return rc;
}

/* IR reads no other file; a lowered one is asked about at the confirmation all the same. */
static slw_code run_code(void *context, slwi_tool_work *w) {
    slwi_clang_job *job = context;
    slwi_tool_list arguments;
    slwi_tool_list_init(&arguments, &job->common.allocator);
    slw_code rc = SLW_OK;
    if (job->kind == SLWI_CLANG_LL) {
        rc = write_source(job, w);
        job->common.compiled = 1;
    }
    if (rc == SLW_OK) {
        code_arguments(job, &arguments);
        rc = run_clang(job, w, &arguments);
    }
    slwi_tool_list_free(&arguments);
    return rc;
}

slw_code slwi_clang_job_run(void *opaque, size_t index, const slw_stage_context *context, slw_error *err) {
    slwi_clang_job *job = opaque;
    const slwi_tool_stage ir = {index, LLVM_IR_MODE, run_ir, job};
    const slwi_tool_stage code = {index, CODE_OBJECT_MODE, run_code, job};
    return slwi_tool_job_run(&job->common, index == SLWI_CLANG_STAGE_LLVM_IR ? &ir : &code, context, err);
}

slw_code slwi_clang_job_confirm(void *opaque, const slw_stage_context *context, slw_error *err) {
    const slwi_clang_job *job = opaque;
    const char *const own[] = {source_files[job->kind], NULL};
    return slwi_tool_job_confirm(&job->common, context, &job->toolchain->answer.facts[SLWI_TOOL_FACT_INCLUDE], own,
                                 err);
}
