/* Metadata and binary, one contract. What both say must agree, field by field; where a binary is silent the metadata
 * is believed, unless every binary of that kind and version would have spoken. */
#include <string.h>

#include "contract_fields.h"
#include "fail.h"
#include "memory.h"
#include "target.h"
#include "triton_metadata.h"

typedef struct agreement {
    const slwi_triton_metadata *metadata;
    const slw_contract *binary;
    const slw_kernel_contract *kernel; /* of the entry */
    slwi_sm sm;                        /* number 0: the binary's target is none */
    slwi_gfx gfx;                      /* processor empty: likewise */
    slw_error *err;
} agreement;

/* Starts a refusal: `field` is the metadata's. The caller says what both sides have. */
static void about(const agreement *a, const char *field) {
    slwi_error_subject(a->err, field, strlen(field));
    slwi_error_path(a->err, a->binary->launch_binary);
    slwi_error_kernel(a->err, a->metadata->name, NULL);
}

/* "the metadata's num_ctas is 2, and <the other side has> 1". */
static slw_code differ(const agreement *a, const char *field, uint64_t said, const char *other, uint64_t has) {
    about(a, field);
    return slwi_fail(a->err, SLW_E_CONTRACT_MISMATCH, "CONTRACT_DIFFERS", "the metadata's %s is %llu, and %s %llu",
                     field, (unsigned long long)said, other, (unsigned long long)has);
}

/* ---- target ---- */

static slw_code check_arch(const agreement *a) {
    const slwi_triton_metadata *m = a->metadata;
    slwi_gfx said;
    memset(&said, 0, sizeof said);
    int same = 0;
    if (a->sm.number != 0) {
        same = m->arch_number == a->sm.number; /* 90 is sm_90 and sm_90a: which, only the binary says */
    } else if (m->arch_name != NULL && slwi_gfx_parse(m->arch_name, &said)) {
        same = strcmp(said.processor, a->gfx.processor) == 0 &&
               (said.sramecc == SLWI_GFX_ANY || said.sramecc == a->gfx.sramecc) &&
               (said.xnack == SLWI_GFX_ANY || said.xnack == a->gfx.xnack);
    } else if (m->arch_name != NULL) {
        same = strcmp(m->arch_name, a->binary->target) == 0;
    }
    if (same) return SLW_OK;
    about(a, "target.arch");
    if (m->arch_name == NULL)
        return slwi_fail(a->err, SLW_E_CONTRACT_MISMATCH, "CONTRACT_DIFFERS",
                         "the metadata's target.arch is %u, and the binary is for %s", m->arch_number,
                         a->binary->target);
    return slwi_fail(a->err, SLW_E_CONTRACT_MISMATCH, "CONTRACT_DIFFERS",
                     "the metadata's target.arch is %.64s, and the binary is for %s", m->arch_name, a->binary->target);
}

static slw_code check_target(const agreement *a) {
    const slwi_triton_metadata *m = a->metadata;
    if (strcmp(m->backend, a->binary->backend) != 0) {
        about(a, "target.backend");
        return slwi_fail(a->err, SLW_E_CONTRACT_MISMATCH, "CONTRACT_DIFFERS",
                         "the metadata's target.backend is %.64s, and the binary is one of %s", m->backend,
                         a->binary->backend);
    }
    slw_code rc = check_arch(a);
    if (rc != SLW_OK) return rc;
    const uint32_t warp = a->kernel->warp_threads;
    if (warp != 0 && m->warp_size != warp) return differ(a, "target.warp_size", m->warp_size, "the binary's is", warp);
    if (m->warp_size_again != 0 && m->warp_size_again != m->warp_size)
        return differ(a, "warp_size", m->warp_size_again, "the binary's and target.warp_size are", m->warp_size);
    return SLW_OK;
}

/* ---- shape ---- */

/* The block at launch is num_warps × warp_size in x. */
static slw_code check_threads(const agreement *a) {
    const slwi_triton_metadata *m = a->metadata;
    const uint32_t *required = a->kernel->required_threads;
    const uint64_t threads = (uint64_t)m->num_warps * m->warp_size;
    const int is_other = required[0] != 0 && (required[0] != threads || required[1] != 1 || required[2] != 1);
    const int is_more = a->kernel->max_threads != 0 && threads > a->kernel->max_threads;
    if (!is_other && !is_more) return SLW_OK;
    about(a, "num_warps");
    if (is_other)
        return slwi_fail(a->err, SLW_E_CONTRACT_MISMATCH, "CONTRACT_DIFFERS",
                         "the metadata's %u warps of %u threads are %llu, and the binary requires a block of %ux%ux%u",
                         m->num_warps, m->warp_size, (unsigned long long)threads, required[0], required[1],
                         required[2]);
    return slwi_fail(a->err, SLW_E_CONTRACT_MISMATCH, "CONTRACT_DIFFERS",
                     "the metadata's %u warps of %u threads are %llu, and the binary was made for at most %u",
                     m->num_warps, m->warp_size, (unsigned long long)threads, a->kernel->max_threads);
}

/* Of three 32-bit numbers; UINT64_MAX where it does not fit. */
static uint64_t product3(const uint32_t of[3]) {
    const uint64_t plane = (uint64_t)of[0] * of[1];
    return of[2] != 0 && plane > UINT64_MAX / of[2] ? UINT64_MAX : plane * of[2];
}

/* Clusters came with sm_90; of amdgcn, gfx125x has them. What is newer than both may. */
static int has_clusters(const agreement *a) {
    static const char *const without[] = {"gfx6", "gfx7", "gfx8", "gfx9", "gfx10", "gfx11", "gfx120"};
    if (a->sm.number != 0) return a->sm.number >= 90;
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
        if (strncmp(a->gfx.processor, without[i], strlen(without[i])) == 0) return 0;
    }
    return 1;
}

/* Since 3.6 the PTX says .reqnctapercluster; before, and for hip, only the launch does. */
static int binary_would_say(const agreement *a) {
    return a->sm.number != 0 && a->metadata->version >= 306;
}

static slw_code check_cluster(const agreement *a) {
    const slwi_triton_metadata *m = a->metadata;
    const uint32_t *fixed = a->kernel->cluster;
    const uint32_t in_x[3] = {m->num_ctas, 1, 1};
    const int has_dims = m->cluster_dims[0] != 0;
    const uint32_t *dims = has_dims ? m->cluster_dims : in_x;
    const uint64_t rank = fixed[0] != 0 ? product3(fixed) : 1; /* silent: a kernel of single blocks */
    const int says = fixed[0] != 0 || binary_would_say(a) || !has_clusters(a);
    if (says && m->num_ctas != rank)
        return differ(a, "num_ctas", m->num_ctas, "the blocks of a cluster of the binary are", rank);
    if (m->num_ctas > 1 && a->kernel->grid_unit == SLW_GRID_CLUSTERS)
        return differ(a, "num_ctas", m->num_ctas, "the binary counts its grid in clusters already, of", rank);
    if (product3(dims) != m->num_ctas) {
        if (m->num_ctas != rank) return differ(a, "num_ctas", m->num_ctas, "cluster_dims make", product3(dims));
        return differ(a, "cluster_dims", product3(dims), "the binary and num_ctas have", rank);
    }
    if (fixed[0] != 0 && memcmp(dims, fixed, 3 * sizeof fixed[0]) != 0)
        return differ(a, has_dims ? "cluster_dims" : "num_ctas", dims[0], "the binary's cluster is, in x,", fixed[0]);
    return SLW_OK;
}

/* ---- memory ---- */

static slw_code check_shared(const agreement *a) {
    const uint32_t said = a->metadata->shared_bytes;
    if (said <= UINT32_MAX - a->kernel->static_shared_bytes) return SLW_OK;
    return differ(a, "shared", said, "beside it the binary has static bytes", a->kernel->static_shared_bytes);
}

/* sm_100 to sm_119 have tensor memory, sm_120 and sm_121 have not; what is newer may. */
static slw_code check_tensor_memory(const agreement *a) {
    const uint32_t said = a->metadata->tensor_memory_columns;
    const uint32_t number = a->sm.number;
    const int has = (number >= 100 && number < 120) || number >= 130;
    if (said == 0 || has) return SLW_OK;
    about(a, "tmem_size");
    return slwi_fail(a->err, SLW_E_CONTRACT_MISMATCH, "CONTRACT_DIFFERS",
                     "the metadata's tmem_size is %u, and %s, for which the binary is, has no tensor memory", said,
                     a->binary->target);
}

static int may_be_pointer(const slw_param *param) {
    return param->size_bytes == 8 &&
           (param->kind == SLW_PARAM_POINTER || param->kind == SLW_PARAM_UNKNOWN || param->kind == SLW_PARAM_UNSIGNED);
}

static slw_code no_scratch_param(const agreement *a, slw_param_role role, uint32_t visible) {
    const int is_global = role == SLW_ROLE_GLOBAL_SCRATCH;
    const uint64_t size = is_global ? a->metadata->global_scratch_bytes : a->metadata->profile_scratch_bytes;
    about(a, is_global ? "global_scratch_size" : "profile_scratch_size");
    return slwi_fail(a->err, SLW_E_CONTRACT_MISMATCH, "CONTRACT_DIFFERS",
                     "the metadata's %s_scratch_size is %llu, and among the binary's %u parameters there is no pointer "
                     "for it",
                     is_global ? "global" : "profile", (unsigned long long)size, visible);
}

/* The last of the parameters that are not hidden are the scratch pointers, global scratch before profile scratch. */
static slw_code assign_scratch(const agreement *a, slw_param *params) {
    const slwi_triton_metadata *m = a->metadata;
    uint32_t visible = 0;
    for (uint32_t p = 0; p < a->kernel->param_count; p++) visible += params[p].role != SLW_ROLE_HIDDEN;
    uint32_t left = m->scratch_params;
    for (uint32_t p = a->kernel->param_count; p > 0 && left > 0; p--) {
        slw_param *param = &params[p - 1];
        if (param->role == SLW_ROLE_HIDDEN) continue;
        const slw_param_role role = left == 2 ? SLW_ROLE_PROFILE_SCRATCH : SLW_ROLE_GLOBAL_SCRATCH;
        if (!may_be_pointer(param)) return no_scratch_param(a, role, visible);
        param->role = role;
        left--;
    }
    if (left > 0) return no_scratch_param(a, left == 2 ? SLW_ROLE_PROFILE_SCRATCH : SLW_ROLE_GLOBAL_SCRATCH, visible);
    return SLW_OK;
}

/* ---- the contract ---- */

static void fill_launch(const slwi_triton_metadata *m, slw_kernel_contract *kernel) {
    kernel->dynamic_shared_bytes = m->shared_bytes;
    kernel->warps = m->num_warps;
    kernel->warp_threads = m->warp_size;
    kernel->cooperative = m->cooperative;
    kernel->programmatic_launch = m->programmatic_launch;
    kernel->tensor_memory_columns = m->tensor_memory_columns;
    kernel->global_scratch_bytes = m->global_scratch_bytes;
    kernel->global_scratch_alignment_bytes = m->global_scratch_alignment_bytes;
    kernel->profile_scratch_bytes = m->profile_scratch_bytes;
    kernel->profile_scratch_alignment_bytes = m->profile_scratch_alignment_bytes;
    if (m->num_ctas == 1) return; /* a program is a block, and the grid's unit as the binary says */
    kernel->grid_unit = SLW_GRID_PROGRAMS_BY_CTAS;
    kernel->ctas = m->num_ctas;
    if (kernel->cluster[0] != 0) return;
    const uint32_t in_x[3] = {m->num_ctas, 1, 1};
    memcpy(kernel->cluster, m->cluster_dims[0] != 0 ? m->cluster_dims : in_x, sizeof kernel->cluster);
}

/* Whoever gives the scratch has to know how it lies. */
static slw_code check_scratch_alignment(const agreement *a) {
    const slwi_triton_metadata *m = a->metadata;
    const char *field = NULL;
    if (m->global_scratch_bytes != 0 && m->global_scratch_alignment_bytes == 0) field = "global_scratch_align";
    if (m->profile_scratch_bytes != 0 && m->profile_scratch_alignment_bytes == 0) field = "profile_scratch_align";
    if (field == NULL) return SLW_OK;
    about(a, field);
    return slwi_fail(a->err, SLW_E_INVALID_METADATA, "MISSING_FIELD", "%s is missing, and there is scratch", field);
}

static slw_code make_contract(const slw_allocator *allocator, const agreement *a, slw_contract **out) {
    const uint32_t count = a->kernel->param_count;
    slw_param *params = slwi_alloc_array(allocator, count, sizeof *params);
    if (params == NULL) return slwi_fail_memory(a->err, count * sizeof *params);
    if (count > 0) memcpy(params, a->kernel->params, count * sizeof *params);
    slw_code rc = assign_scratch(a, params);
    if (rc == SLW_OK) rc = check_scratch_alignment(a);
    if (rc == SLW_OK) {
        slw_kernel_contract kernel = *a->kernel;
        slw_contract contract = *a->binary;
        kernel.params = params;
        fill_launch(a->metadata, &kernel);
        /* Other kernels of the binary, of which the metadata knows nothing, could not be launched rightly. */
        contract.kernels = &kernel;
        contract.kernel_count = 1;
        rc = slwi_contract_copy(allocator, &contract, out, a->err);
    }
    slwi_free(allocator, params);
    return rc;
}

slw_code slwi_triton_contract(const slw_allocator *allocator, const slwi_triton_metadata *metadata,
                              const slw_contract *binary, slw_contract **out, slw_error *err) {
    agreement a;
    memset(&a, 0, sizeof a);
    a.metadata = metadata;
    a.binary = binary;
    a.err = err;
    a.kernel = slw_contract_find(binary, metadata->name);
    if (a.kernel == NULL) {
        about(&a, "name");
        return slwi_fail(err, SLW_E_CONTRACT_MISMATCH, "CONTRACT_DIFFERS",
                         "the metadata's name is %.200s, and the binary's kernel%s %.200s%s", metadata->name,
                         binary->kernel_count == 1 ? " is" : "s are", binary->kernels[0].name,
                         binary->kernel_count == 1 ? "" : " and others");
    }
    if (!slwi_sm_parse(binary->target, &a.sm)) a.sm.number = 0;
    if (a.sm.number != 0 || !slwi_gfx_parse(binary->target, &a.gfx)) a.gfx.processor[0] = '\0';
    slw_code rc = check_target(&a);
    if (rc == SLW_OK) rc = check_threads(&a);
    if (rc == SLW_OK) rc = check_cluster(&a);
    if (rc == SLW_OK) rc = check_shared(&a);
    if (rc == SLW_OK) rc = check_tensor_memory(&a);
    if (rc == SLW_OK) rc = make_contract(allocator, &a, out);
    return rc;
}
