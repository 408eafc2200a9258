/* Preparing a compilation: its target, its options, and what an IR source says of itself. */
#include "clang_job.h"

#include <fcntl.h>
#include <string.h>

#include "clang_ir.h"
#include "fail.h"
#include "memory.h"
#include "os.h"
#include "tool_depfile.h"
#include "tool_source.h"

const slw_stage slwi_clang_stages[SLWI_CLANG_STAGE_COUNT] = {
    {"llvm_ir", "ll", "kernel.ll"},
    {"code_object", "hsaco", "kernel.hsaco"},
};

const slw_source_kind slwi_clang_sources[SLWI_CLANG_KIND_COUNT] = {
    {"hip", SLWI_CLANG_STAGE_LLVM_IR},
    {"cl", SLWI_CLANG_STAGE_LLVM_IR},
    {"ll", SLWI_CLANG_STAGE_CODE_OBJECT},
};

/* ---- target ---- */

static slw_code no_target(const slwi_clang_job *job, const char *target, slw_error *err) {
    slwi_error_subject(err, target, strlen(target));
    slwi_error_path(err, job->toolchain->driver);
    slwi_error_hint(err, "name a newer clang with --cc, or another target");
    const slwi_tool_list *known = &job->toolchain->answer.facts[SLWI_TOOL_FACT_TARGET];
    for (size_t i = 0; i < known->count; i++) slwi_error_tried(err, known->items[i]);
    return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "TARGET", "%.200s does not compile for %s",
                     slwi_tool_answer_version(&job->toolchain->answer), job->gfx.processor);
}

static slw_code take_target(slwi_clang_job *job, const char *target, slw_error *err) {
    if (target == NULL || target[0] == '\0') {
        slwi_error_hint(err, "name one, with --target: gfx90a, gfx942:sramecc+:xnack-, gfx1100");
        return slwi_fail(err, SLW_E_USAGE, "TARGET", "code objects are compiled for one processor, and none is named");
    }
    if (!slwi_gfx_parse(target, &job->gfx)) {
        slwi_error_subject(err, target, strlen(target));
        return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "TARGET",
                         "\"%.100s\" is not a processor of AMD's, like gfx90a or gfx90a:sramecc+:xnack-", target);
    }
    slwi_gfx_format(&job->gfx, job->target);
    return slwi_clang_has_processor(job->toolchain, job->gfx.processor) ? SLW_OK : no_target(job, target, err);
}

/* ---- opening ---- */

static slw_code take_kind(slwi_clang_job *job, const char *extension, slw_error *err) {
    for (size_t i = 0; i < SLWI_CLANG_KIND_COUNT; i++) {
        if (strcmp(extension, slwi_clang_sources[i].extension) != 0) continue;
        job->kind = (slwi_clang_kind)i;
        job->common.extension = slwi_clang_sources[i].extension;
        return SLW_OK;
    }
    slwi_error_subject(err, extension, strlen(extension));
    return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "SOURCE_KIND", "hip begins with hip, cl or ll");
}

/* A stage that this source does not run cannot be overridden. */
static slw_code check_override(const slwi_clang_job *job, slw_error *err) {
    const int stage = job->common.override_stage;
    if (stage < 0 || (size_t)stage >= slwi_clang_sources[job->kind].first_stage) return SLW_OK;
    slwi_error_subject(err, slwi_clang_stages[stage].name, strlen(slwi_clang_stages[stage].name));
    return slwi_fail(err, SLW_E_USAGE, "BAD_STAGE", "a source of LLVM IR begins after the stage %s",
                     slwi_clang_stages[stage].name);
}

/* 1 when the directory lies in a declared root, whose tree is in the key. By text: ".." is not followed. */
static int is_in_roots(const slwi_clang_job *job, const char *directory) {
    const slwi_tool_list *roots = &job->common.roots;
    char path[SLWI_TOOL_PATH_MAX];
    char root[SLWI_TOOL_PATH_MAX];
    const char *rest;
    if (directory[0] != '/' || strstr(directory, "..") != NULL || !slwi_tool_normalize(path, directory)) return 0;
    for (size_t i = 0; i < roots->count; i++) {
        if (strstr(roots->items[i], "..") != NULL || !slwi_tool_normalize(root, roots->items[i])) continue;
        if (slwi_tool_below(path, root, &rest) && (rest[0] == '\0' || slwi_tool_tree_has(rest))) return 1;
    }
    return 0;
}

/* A ROCm that is a declared root, or lies in one, is in the key as every header is. clang also looks beside it for the
   version of HIP. */
static int is_known_rocm(const slwi_clang_job *job, const char *option) {
    const slwi_os *os = slwi_os_get();
    const char *directory = NULL;
    char parent[SLWI_TOOL_PATH_MAX];
    char version[SLWI_TOOL_PATH_MAX];
    slwi_stat stat;
    if (option == NULL || slwi_clang_names_rocm(option, &directory) == 0 || directory == NULL) return 0;
    if (!is_in_roots(job, directory) || !slwi_tool_directory(parent, directory)) return 0;
    if (!slwi_tool_join(version, parent, "share/hip/version")) return 0;
    return is_in_roots(job, parent) || os->fstatat(os, AT_FDCWD, version, 0, &stat) < 0;
}

static slw_code parse_options(slwi_clang_job *job, const slwi_tool_list *flags, slw_error *err) {
    slwi_tool_options parsed;
    slw_code rc = slwi_tool_options_parse(slwi_clang_option_rules, (const char *const *)flags->items, flags->count,
                                          &job->common.allocator, &parsed, err);
    if (rc != SLW_OK) return rc;
    slwi_tool_options_free(&job->options);
    job->options = parsed;
    slwi_tool_job_keep_private(&job->common, job->options.why);
    return SLW_OK;
}

static slw_code take_options(slwi_clang_job *job, const slw_compile_options *options, slw_error *err) {
    slwi_tool_list flags;
    slwi_tool_list *compile = &job->options.groups[SLWI_CLANG_COMPILE];
    const char *directory;
    slwi_tool_list_init(&flags, &job->common.allocator);
    for (size_t i = 0; i < options->flag_count && i <= SLWI_TOOL_OPTIONS_MAX; i++) {
        const char *flag = options->flags != NULL && options->flags[i] != NULL ? options->flags[i] : "";
        slwi_tool_list_add(is_known_rocm(job, flag) ? &job->said : &flags, flag);
    }
    slw_code rc = slwi_tool_list_status(&flags, err);
    if (rc == SLW_OK) rc = parse_options(job, &flags, err);
    slwi_tool_list_free(&flags);
    if (rc != SLW_OK) return rc;
    slwi_tool_list_add_all(compile, &job->said);
    slwi_tool_list_free(&job->said);
    slwi_tool_list_add_all(&job->said, compile);
    slwi_tool_list_add_all(&job->said, &job->options.groups[SLWI_CLANG_LINK]);
    for (size_t i = 0; i < compile->count; i++) job->names_rocm |= slwi_clang_names_rocm(compile->items[i], &directory);
    rc = slwi_tool_list_status(compile, err);
    return rc == SLW_OK ? slwi_tool_list_status(&job->said, err) : rc;
}

/* A source that is lowered on a miss is looked at when it comes. */
static slw_code check_text(slwi_clang_job *job, slw_error *err) {
    if (job->common.is_lowered) return SLW_OK;
    const char *why = slwi_tool_source_reason(job->common.source);
    if (why != NULL) slwi_tool_job_keep_private(&job->common, why);
    if (job->kind != SLWI_CLANG_LL) return SLW_OK;
    return slwi_clang_ir_check(job->common.source, job->common.name, job->gfx.processor, err);
}

static slw_code fill(slwi_clang_job *job, const slw_compile_request *request, slw_error *err) {
    static const char *const names[SLWI_CLANG_KIND_COUNT] = {"source.hip", "source.cl", "source.ll"};
    slw_code rc = take_kind(job, request->extension, err);
    if (rc == SLW_OK) rc = take_target(job, request->options->target, err);
    if (rc == SLW_OK)
        rc =
            slwi_tool_job_take(&job->common, request, slwi_clang_stages, SLWI_CLANG_STAGE_COUNT, names[job->kind], err);
    if (rc == SLW_OK) rc = check_override(job, err);
    if (rc == SLW_OK) rc = take_options(job, request->options, err);
    return rc == SLW_OK ? check_text(job, err) : rc;
}

slw_code slwi_clang_job_open(void *toolchain, const slw_compile_request *request, void **out, slw_error *err) {
    slw_allocator allocator;
    slw_code rc = slwi_allocator_take(&request->allocator, &allocator, err);
    if (rc != SLW_OK) return rc;
    slwi_clang_job *job = slwi_alloc_zero(&allocator, sizeof(*job));
    if (job == NULL) return slwi_fail_memory(err, sizeof(*job));
    slwi_tool_job_init(&job->common, &allocator);
    slwi_tool_list_init(&job->said, &job->common.allocator);
    for (size_t i = 0; i < SLWI_TOOL_OPTION_GROUPS; i++)
        slwi_tool_list_init(&job->options.groups[i], &job->common.allocator);
    job->toolchain = toolchain;
    rc = fill(job, request, err);
    if (rc != SLW_OK) {
        slwi_clang_job_close(job);
        return rc;
    }
    *out = job;
    return SLW_OK;
}

void slwi_clang_job_close(void *opaque) {
    slwi_clang_job *job = opaque;
    if (job == NULL) return;
    slw_allocator allocator = job->common.allocator;
    slwi_tool_options_free(&job->options);
    slwi_tool_list_free(&job->said);
    slwi_tool_job_free(&job->common);
    slwi_free(&allocator, job);
}

const char *slwi_clang_job_target(const void *opaque) {
    const slwi_clang_job *job = opaque;
    return job->target;
}

const char *slwi_clang_job_private_reason(const void *opaque) {
    const slwi_clang_job *job = opaque;
    return slwi_tool_job_private_reason(&job->common);
}

slw_code slwi_clang_job_source_record(void *opaque, slw_record **out, slw_error *err) {
    const slwi_clang_job *job = opaque;
    return slwi_tool_job_source_record(&job->common, out, err);
}

slw_code slwi_clang_job_option_record(void *opaque, slw_record **out, slw_error *err) {
    const slwi_clang_job *job = opaque;
    return slwi_tool_job_option_record(&job->common, &job->said, job->target, out, err);
}
