/* What a request is compiled for, and what PTX says of itself. */
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "nvcc_job.h"
#include "ptx_scan.h"
#include "target.h"

int slwi_nvcc_supports_target(const char *target) {
    slwi_sm sm;
    return slwi_sm_parse(target, &sm);
}

/* ---- what there is ---- */

static int has_target(const slwi_nvcc_job *job, const char *target) {
    const slwi_tool_list *targets = &job->toolchain->answer.facts[SLWI_TOOL_FACT_TARGET];
    char virtual[32];
    slwi_sm sm;
    if (!slwi_tool_list_has(targets, target) || !slwi_sm_parse(target, &sm)) return 0;
    if (job->is_ptx) return 1;
    /* nvcc lists architectures without their variants; one that lists none is not asked. */
    (void)snprintf(virtual, sizeof(virtual), "compute_%u", (unsigned)sm.number);
    for (size_t i = 0; i < targets->count; i++) {
        if (strncmp(targets->items[i], "compute_", 8) == 0) return slwi_tool_list_has(targets, virtual);
    }
    return 1;
}

static void list_targets(const slwi_nvcc_job *job, slw_error *err) {
    const slwi_tool_list *targets = &job->toolchain->answer.facts[SLWI_TOOL_FACT_TARGET];
    for (size_t i = 0; i < targets->count; i++) {
        if (has_target(job, targets->items[i])) slwi_error_tried(err, targets->items[i]);
    }
}

static slw_code no_target(const slwi_nvcc_job *job, slw_error *err) {
    list_targets(job, err);
    slwi_error_hint(err, "name the target to compile for: one of those in `tried`");
    return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "TARGET", "CUDA C is compiled for a target, and none was named");
}

static slw_code unknown_target(const slwi_nvcc_job *job, const char *target, slw_error *err) {
    list_targets(job, err);
    slwi_error_subject(err, target, strlen(target));
    slwi_error_hint(err, "name a target that the CUDA toolkit has, or install a toolkit that has this one");
    return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "TARGET", "%s of %.100s does not compile for %.40s",
                     slwi_tool_base_name(job->toolchain->driver), slwi_tool_answer_version(&job->toolchain->answer),
                     target);
}

slw_code slwi_nvcc_take_target(slwi_nvcc_job *job, const char *wanted, const char *own, const char *isa,
                               slw_error *err) {
    const char *target = wanted != NULL ? wanted : own;
    if (target == NULL) return no_target(job, err);
    if (strlen(target) >= sizeof(job->target) || !has_target(job, target)) return unknown_target(job, target, err);
    memcpy(job->target, target, strlen(target) + 1);
    if (own == NULL || wanted == NULL) return SLW_OK;
    const slwi_built_for built = {.kind = SLW_IMAGE_PTX, .target = own, .isa_version = isa};
    return slwi_target_runs(&built, wanted, 0, err);
}

slw_code slwi_nvcc_check_image(const slwi_nvcc_job *job, const char *image, slw_error *err) {
    char target[32];
    const char *name = strncmp(image, "compute_", 8) == 0 ? image + 8 : strncmp(image, "sm_", 3) == 0 ? image + 3 : "";
    (void)snprintf(target, sizeof(target), "sm_%.20s", name);
    return has_target(job, target) ? SLW_OK : unknown_target(job, image, err);
}

/* ---- PTX ---- */

static void copy(slw_bytes from, char to[16]) {
    const size_t size = from.size < 15 ? from.size : 15;
    memcpy(to, from.data, size);
    to[size] = '\0';
}

static slw_code check_version(const slwi_nvcc_job *job, const slwi_ptx_module *module, slw_error *err) {
    const char *newest = slwi_nvcc_note(&job->toolchain->answer, SLWI_NVCC_NOTE_ISA);
    const uint32_t limit = newest != NULL ? slwi_nvcc_isa_number(newest) : 0;
    if (limit == 0 || module->version_major * 1000u + module->version_minor <= limit) return SLW_OK;
    slwi_error_path(err, job->common.name);
    slwi_error_hint(err, "assemble it with the ptxas of a newer CUDA toolkit");
    return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "ISA_VERSION",
                     "the source is PTX %u.%u, and ptxas reads PTX up to %s", (unsigned)module->version_major,
                     (unsigned)module->version_minor, newest);
}

slw_code slwi_nvcc_read_ptx(const slwi_nvcc_job *job, slw_bytes text, char own[16], char isa[16], slw_error *err) {
    slwi_ptx_module module;
    slw_code rc = slwi_ptx_scan(&job->common.allocator, text, job->common.name, &module, err);
    if (rc != SLW_OK) return rc;
    rc = check_version(job, &module, err);
    if (rc == SLW_OK && own != NULL) copy(module.target, own);
    if (rc == SLW_OK && isa != NULL)
        (void)snprintf(isa, 16, "%u.%u", (unsigned)module.version_major, (unsigned)module.version_minor);
    slwi_ptx_release(&job->common.allocator, &module);
    return rc;
}
