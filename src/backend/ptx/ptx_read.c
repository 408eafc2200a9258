#include "ptx_read.h"

#include <stdio.h>
#include <string.h>

#include "contract_build.h"

/* Threads of a warp, on every device that takes PTX. */
#define WARP_THREADS 32u

/* The parts of a text below SLW_LIMIT_PTX_BYTES: their sum does not overflow. */
static slw_code measure(const slwi_ptx_module *module, size_t *out, slw_error *err) {
    size_t size = 0;
    slw_code rc = slwi_contract_check_name(module->target, err);
    for (uint32_t i = 0; rc == SLW_OK && i < module->kernel_count; i++) {
        const slwi_ptx_kernel *kernel = &module->kernels[i];
        rc = slwi_contract_check_name(kernel->name, err);
        size += kernel->name.size + 1;
        for (uint32_t p = 0; rc == SLW_OK && p < kernel->param_count; p++) {
            rc = slwi_contract_check_name(kernel->params[p].name, err);
            size += kernel->params[p].name.size + 1;
        }
    }
    *out = size + module->target.size + 1;
    return rc;
}

/* The words of the type are taken as they stand: nvcc writes .u8 for `char` and .u64 for a pointer. */
static slw_param_kind kind_of(const slwi_ptx_param *param) {
    if (param->space != SLWI_PTX_SPACE_NONE && !param->is_array) return SLW_PARAM_POINTER;
    if (param->is_array || param->vector > 1) return SLW_PARAM_STRUCT;
    switch (param->type) {
    case SLWI_PTX_SIGNED:
        return SLW_PARAM_SIGNED;
    case SLWI_PTX_UNSIGNED:
        return SLW_PARAM_UNSIGNED;
    case SLWI_PTX_FLOAT:
        return SLW_PARAM_FLOAT;
    default:
        return SLW_PARAM_UNKNOWN;
    }
}

static void put_param(slwi_contract_builder *b, const slwi_ptx_param *from, slw_param *to) {
    to->name = slwi_contract_builder_text(b, from->name);
    to->offset_bytes = from->offset_bytes;
    to->size_bytes = from->size_bytes;
    to->alignment_bytes = from->alignment_bytes;
    to->kind = kind_of(from);
    to->role = SLW_ROLE_CALLER; /* scratch and hidden ones are the metadata's to say */
}

static void put_bounds(const slwi_ptx_kernel *from, slw_kernel_contract *to) {
    /* .maxntid bounds the product of the block's dimensions, not each of them (PTX ISA, "Performance-Tuning
       Directives"). */
    memcpy(to->required_threads, from->reqntid, sizeof(to->required_threads));
    to->max_threads = slwi_contract_product(from->maxntid);
    to->min_blocks = from->minnctapersm;
    to->max_registers = from->maxnreg;
    memcpy(to->cluster, from->cluster, sizeof(to->cluster));
    to->cluster_required = from->cluster[0] != 0;
    to->max_cluster_rank = from->max_cluster_rank;
    to->grid_unit = from->blocks_are_clusters ? SLW_GRID_CLUSTERS : SLW_GRID_BLOCKS;
    to->warp_threads = WARP_THREADS;
}

static void put_kernel(slwi_contract_builder *b, const slwi_ptx_kernel *from) {
    slw_param *params = NULL;
    slw_kernel_contract *to = slwi_contract_builder_kernel(b, from->name, from->param_count, &params);
    to->param_bytes = from->param_bytes;
    for (uint32_t p = 0; p < from->param_count; p++) put_param(b, &from->params[p], &params[p]);
    put_bounds(from, to);
}

static slw_code fill(slwi_contract_builder *b, const slwi_ptx_module *module, const char *backend, const char *name,
                     slw_contract **out, slw_error *err) {
    const char *duplicate; /* none: the scanner has looked */
    char isa[24];
    for (uint32_t i = 0; i < module->kernel_count; i++) put_kernel(b, &module->kernels[i]);
    slw_code rc = slwi_contract_builder_sort(b, &duplicate, err);
    if (rc != SLW_OK) return rc;
    (void)snprintf(isa, sizeof(isa), "%u.%u", (unsigned)module->version_major, (unsigned)module->version_minor);
    slw_contract head;
    memset(&head, 0, sizeof(head));
    head.reader_revision = SLWI_PTX_READER_REVISION;
    head.backend = backend;
    head.target = slwi_contract_builder_text(b, module->target);
    head.launch_binary = name != NULL && name[0] != '\0' ? name : SLWI_PTX_LAUNCH_BINARY;
    head.kind = SLW_IMAGE_PTX;
    head.isa_version = isa;
    return slwi_contract_builder_finish(b, &head, out, err);
}

slw_code slwi_ptx_contract(const slw_allocator *allocator, const slwi_ptx_module *module, const char *backend,
                           const char *name, slw_contract **out, slw_error *err) {
    slwi_contract_builder b;
    size_t text_bytes = 0;
    slw_code rc = measure(module, &text_bytes, err);
    if (rc != SLW_OK) return rc;
    rc = slwi_contract_builder_open(&b, allocator, module->kernel_count, module->param_count, text_bytes, err);
    if (rc != SLW_OK) return rc;
    rc = fill(&b, module, backend, name, out, err);
    slwi_contract_builder_close(&b);
    return rc;
}

slw_code slwi_ptx_read_contract(const slw_allocator *allocator, slw_bytes text, const char *backend, const char *name,
                                slw_contract **out, slw_error *err) {
    slwi_ptx_module module;
    slw_code rc = slwi_ptx_scan(allocator, text, name, &module, err);
    if (rc != SLW_OK) return rc;
    rc = slwi_ptx_contract(allocator, &module, backend, name, out, err);
    slwi_ptx_release(allocator, &module);
    return rc;
}
