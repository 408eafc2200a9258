/* A stored contract and what the binary says today. The binary is right about itself; what metadata said once is in no
 * binary and must not be lost with a new reader: a kernel launched without its dynamic shared memory reads past it. */
#include <string.h>

#include "backends.h"
#include "contract_fields.h"
#include "fail.h"
#include "memory.h"

static slw_code homeless(const slw_kernel_contract *kernel, const char *field, const char *why, slw_error *err) {
    slwi_error_subject(err, field, strlen(field));
    slwi_error_kernel(err, kernel->name, NULL);
    return slwi_fail(err, SLW_E_CONTRACT_MISMATCH, "CONTRACT_DIFFERS",
                     "metadata said how to launch kernel %.200s, and in the binary %s", kernel->name, why);
}

static int is_scratch(const slw_param *param) {
    return param->role == SLW_ROLE_GLOBAL_SCRATCH || param->role == SLW_ROLE_PROFILE_SCRATCH;
}

static int metadata_spoke(const slw_kernel_contract *kernel) {
    for (const slwi_field *field = slwi_kernel_fields; field->name != NULL; field++) {
        if (field->origin == SLWI_ORIGIN_METADATA && !slwi_field_is_silent(kernel, field)) return 1;
    }
    for (uint32_t p = 0; p < kernel->param_count; p++) {
        if (is_scratch(&kernel->params[p])) return 1;
    }
    return 0;
}

static slw_code keep_roles(const slw_kernel_contract *stored, const slw_kernel_contract *derived, slw_param *params,
                           slw_error *err) {
    for (uint32_t p = 0; p < stored->param_count; p++) {
        if (!is_scratch(&stored->params[p])) continue;
        if (stored->param_count != derived->param_count || params[p].offset_bytes != stored->params[p].offset_bytes ||
            params[p].role == SLW_ROLE_HIDDEN)
            return homeless(stored, "params", "its scratch parameters are not where they were", err);
        params[p].role = stored->params[p].role;
    }
    return SLW_OK;
}

/* `kernel` is a copy of the derived one with parameters of its own. */
static slw_code keep_launch(const slw_kernel_contract *stored, slw_kernel_contract *kernel, slw_param *params,
                            slw_error *err) {
    for (const slwi_field *field = slwi_kernel_fields; field->name != NULL; field++) {
        if (!slwi_field_is_silent(kernel, field)) continue;
        memcpy((char *)kernel + field->offset, (const char *)stored + field->offset, slwi_field_size(field->kind));
    }
    return keep_roles(stored, kernel, params, err);
}

static slw_code check_places(const slw_contract *stored, const slw_contract *derived, slw_error *err) {
    if (strcmp(stored->backend, derived->backend) != 0) return slwi_contract_compare(stored, derived, err);
    for (uint32_t i = 0; i < stored->kernel_count; i++) {
        const slw_kernel_contract *kernel = &stored->kernels[i];
        if (slw_contract_find(derived, kernel->name) == NULL && metadata_spoke(kernel))
            return homeless(kernel, "name", "there is none of that name", err);
    }
    return SLW_OK;
}

static slw_code fill_kernels(const slw_contract *stored, const slw_contract *derived, slw_kernel_contract *kernels,
                             slw_param *params, slw_error *err) {
    for (uint32_t i = 0; i < derived->kernel_count; i++) {
        const slw_kernel_contract *from = &derived->kernels[i];
        kernels[i] = *from;
        kernels[i].params = params;
        if (from->param_count > 0) memcpy(params, from->params, from->param_count * sizeof *params);
        const slw_kernel_contract *old = slw_contract_find(stored, from->name);
        slw_code rc = old != NULL ? keep_launch(old, &kernels[i], params, err) : SLW_OK;
        if (rc != SLW_OK) return rc;
        params += from->param_count;
    }
    return SLW_OK;
}

slw_code slwi_contract_renew(const slw_allocator *allocator, const slw_contract *stored, const slw_contract *derived,
                             slw_contract **out, slw_error *err) {
    const int same_reader = stored->schema == derived->schema && stored->reader_revision == derived->reader_revision;
    slw_code rc = same_reader ? slwi_contract_compare(stored, derived, err) : check_places(stored, derived, err);
    if (rc != SLW_OK) return rc;
    size_t count = 0;
    for (uint32_t i = 0; i < derived->kernel_count; i++) count += derived->kernels[i].param_count;
    slw_kernel_contract *kernels = slwi_alloc_array(allocator, derived->kernel_count, sizeof *kernels);
    slw_param *params = slwi_alloc_array(allocator, count, sizeof *params);
    if (kernels == NULL || params == NULL) {
        rc = slwi_fail_memory(err, derived->kernel_count * sizeof *kernels + count * sizeof *params);
    } else {
        rc = fill_kernels(stored, derived, kernels, params, err);
    }
    if (rc == SLW_OK) {
        slw_contract contract = *derived;
        contract.kernels = kernels;
        rc = slwi_contract_copy(allocator, &contract, out, err);
    }
    slwi_free(allocator, kernels);
    slwi_free(allocator, params);
    return rc;
}
