#include "ptx_read.h"

#include <slipway/limits.h>
#include <stdio.h>
#include <string.h>

#include "contract_fields.h"
#include "fail.h"
#include "heap_sort.h"
#include "memory.h"

/* Threads of a warp, on every device that takes PTX. */
#define WARP_THREADS 32u

#define POINTER_BYTES (sizeof(void *))

/* The contract in the making: borrowed names ended by NUL in one block, since a contract's are. */
typedef struct builder {
    const slwi_ptx_module *module;
    const slw_allocator *allocator;
    slw_error *err;
    slw_kernel_contract *kernels;
    slw_param *params;
    char *text;
    char *cursor;
    const slwi_ptx_kernel **order;
} builder;

static slw_code check_text(const builder *b, slw_bytes text) {
    if (text.size < SLWI_CONTRACT_TEXT_MAX) return SLW_OK;
    slwi_error_amount(b->err, "length of a name", text.size, SLWI_CONTRACT_TEXT_MAX - 1, "bytes");
    return slwi_fail(b->err, SLW_E_LIMIT, "LIMIT", "a name is longer than a launch contract holds");
}

static slw_code measure(const builder *b, size_t *out) {
    size_t size = b->module->target.size + 1; /* each part is a piece of a text below SLW_LIMIT_PTX_BYTES */
    slw_code rc = check_text(b, b->module->target);
    for (uint32_t i = 0; rc == SLW_OK && i < b->module->kernel_count; i++) {
        const slwi_ptx_kernel *kernel = &b->module->kernels[i];
        rc = check_text(b, kernel->name);
        size += kernel->name.size + 1;
        for (uint32_t p = 0; rc == SLW_OK && p < kernel->param_count; p++) {
            rc = check_text(b, kernel->params[p].name);
            size += kernel->params[p].name.size + 1;
        }
    }
    *out = size;
    return rc;
}

static const char *put(builder *b, slw_bytes text) {
    char *copy = b->cursor;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    b->cursor += text.size + 1;
    return copy;
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

static void put_param(builder *b, const slwi_ptx_param *from, slw_param *to) {
    memset(to, 0, sizeof(*to));
    to->name = put(b, from->name);
    to->offset_bytes = from->offset_bytes;
    to->size_bytes = from->size_bytes;
    to->alignment_bytes = from->alignment_bytes;
    to->kind = kind_of(from);
    to->role = SLW_ROLE_CALLER; /* scratch and hidden ones are the metadata's to say */
}

/* The product of three; where it passes 32 bits it passes every device too. */
static uint32_t product(const uint32_t dimensions[3]) {
    uint64_t all = (uint64_t)dimensions[0] * dimensions[1];
    if (all > UINT32_MAX) return UINT32_MAX;
    all *= dimensions[2];
    return all > UINT32_MAX ? UINT32_MAX : (uint32_t)all;
}

static void put_bounds(const slwi_ptx_kernel *from, slw_kernel_contract *to) {
    /* .maxntid bounds the product of the block's dimensions, not each of them (PTX ISA, "Performance-Tuning
       Directives"). */
    memcpy(to->required_threads, from->reqntid, sizeof(to->required_threads));
    to->max_threads = product(from->maxntid);
    to->min_blocks = from->minnctapersm;
    to->max_registers = from->maxnreg;
    memcpy(to->cluster, from->cluster, sizeof(to->cluster));
    to->cluster_required = from->cluster[0] != 0;
    to->max_cluster_rank = from->max_cluster_rank;
    to->grid_unit = from->blocks_are_clusters ? SLW_GRID_CLUSTERS : SLW_GRID_BLOCKS;
    to->ctas = 1;
    to->warp_threads = WARP_THREADS;
}

static void put_kernel(builder *b, const slwi_ptx_kernel *from, slw_kernel_contract *to, slw_param *params) {
    memset(to, 0, sizeof(*to));
    to->name = put(b, from->name);
    to->params = params;
    to->param_count = from->param_count;
    to->param_bytes = from->param_bytes;
    for (uint32_t p = 0; p < from->param_count; p++) put_param(b, &from->params[p], &params[p]);
    put_bounds(from, to);
}

/* As strcmp of the names, which hold no NUL. */
static int by_name(const void *a, const void *b) {
    slw_bytes left = (*(const slwi_ptx_kernel *const *)a)->name;
    slw_bytes right = (*(const slwi_ptx_kernel *const *)b)->name;
    int order = memcmp(left.data, right.data, left.size < right.size ? left.size : right.size);
    if (order != 0) return order;
    return (left.size > right.size) - (left.size < right.size);
}

static slw_code fill(builder *b, const char *backend, const char *name, slw_contract **out) {
    const slwi_ptx_module *module = b->module;
    uint32_t first = 0;
    for (uint32_t i = 0; i < module->kernel_count; i++) b->order[i] = &module->kernels[i];
    slwi_heap_sort(b->order, module->kernel_count, POINTER_BYTES, by_name);
    for (uint32_t i = 0; i < module->kernel_count; i++) {
        put_kernel(b, b->order[i], &b->kernels[i], b->params + first);
        first += b->order[i]->param_count;
    }
    char isa_version[24];
    (void)snprintf(isa_version, sizeof(isa_version), "%u.%u", (unsigned)module->version_major,
                   (unsigned)module->version_minor);
    slw_contract draft;
    memset(&draft, 0, sizeof(draft));
    draft.schema = SLW_CONTRACT_SCHEMA;
    draft.reader_revision = SLWI_PTX_READER_REVISION;
    draft.backend = backend;
    draft.target = put(b, module->target);
    draft.launch_binary = name != NULL && name[0] != '\0' ? name : SLWI_PTX_LAUNCH_BINARY;
    draft.kind = SLW_IMAGE_PTX;
    draft.isa_version = isa_version;
    draft.kernels = b->kernels;
    draft.kernel_count = module->kernel_count;
    return slwi_contract_copy(b->allocator, &draft, out, b->err);
}

slw_code slwi_ptx_contract(const slw_allocator *allocator, const slwi_ptx_module *module, const char *backend,
                           const char *name, slw_contract **out, slw_error *err) {
    builder b;
    memset(&b, 0, sizeof(b));
    b.module = module;
    b.allocator = allocator;
    b.err = err;
    size_t text_bytes = 0;
    slw_code rc = measure(&b, &text_bytes);
    if (rc != SLW_OK) return rc;
    b.kernels = slwi_alloc_array(allocator, module->kernel_count, sizeof(*b.kernels));
    b.params = slwi_alloc_array(allocator, module->param_count, sizeof(*b.params));
    b.order = slwi_alloc_array(allocator, module->kernel_count, POINTER_BYTES);
    b.text = slwi_alloc(allocator, text_bytes);
    b.cursor = b.text;
    if (b.kernels == NULL || b.params == NULL || b.order == NULL || b.text == NULL) {
        rc = slwi_fail_memory(err, module->kernel_count * sizeof(*b.kernels) + module->param_count * sizeof(*b.params) +
                                       text_bytes);
    } else {
        rc = fill(&b, backend, name, out);
    }
    slwi_free(allocator, b.kernels);
    slwi_free(allocator, b.params);
    slwi_free(allocator, b.order);
    slwi_free(allocator, b.text);
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
