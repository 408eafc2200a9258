#include "cubin_read.h"

#include <string.h>

#include "cubin_state.h"
#include "fail.h"
#include "memory.h"

#define LAUNCH_BINARY "kernel.cubin"
#define WARP_THREADS  32u

/* From sm_80 on the system keeps a KiB of shared memory for each block (CUDA C++ Programming Guide, table of technical
   specifications). From sm_90 on it is part of the size that the section of a kernel states. */
#define RESERVED_SHARED_BYTES    1024u
#define RESERVED_SHARED_FROM     80u
#define RESERVED_IN_SECTION_FROM 90u

int slwi_cubin_recognises(slw_bytes binary) {
    uint16_t type;
    uint16_t machine;
    return slwi_elf_peek(binary, &type, &machine) && machine == SLWI_EM_CUDA;
}

slw_code slwi_cubin_bad_kernel(const slwi_cubin *cubin, const slwi_cubin_kernel *kernel, const char *reason,
                               uint64_t offset, const char *what) {
    slwi_error_kernel(cubin->err, kernel->name.data, NULL);
    return slwi_cubin_bad(cubin, reason, offset, what);
}

slw_code slwi_cubin_missing(const slwi_cubin *cubin, const slwi_cubin_kernel *kernel, const char *attribute) {
    slw_error *err = cubin->err;
    slwi_error_kernel(err, kernel->name.data, NULL);
    slwi_error_subject(err, attribute, strlen(attribute));
    slwi_error_hint(err, "the cubin was stripped, or is of a toolkit this library does not know");
    if (cubin->elf.name != NULL) slwi_error_path(err, cubin->elf.name);
    slwi_error_place(err, 0, 0, kernel->symbol_offset);
    return slwi_fail(err, SLW_E_INVALID_BINARY, "MISSING", "the binary does not say %s of a kernel", attribute);
}

static slw_code check_header(const slwi_cubin *cubin) {
    const slwi_elf *elf = &cubin->elf;
    if (elf->machine != SLWI_EM_CUDA) return slwi_cubin_bad(cubin, "BAD_HEADER", 18, "this ELF file is no cubin");
    if (elf->type == SLWI_ET_REL) {
        slw_error *err = cubin->err;
        if (elf->name != NULL) slwi_error_path(err, elf->name);
        slwi_error_hint(err, "compile without -rdc=true (-dc), or link it with nvcc -dlink or nvlink first");
        return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "RELOCATABLE",
                         "this is a relocatable device object, not a launch binary");
    }
    if (elf->type != SLWI_ET_EXEC)
        return slwi_cubin_bad(cubin, "BAD_HEADER", 16, "the cubin has a type it cannot have");
    if (elf->section_count == 0) return slwi_cubin_bad(cubin, "BAD_HEADER", 60, "the cubin has no sections");
    return SLW_OK;
}

static slw_code put_shared(const slwi_cubin *cubin, const slwi_cubin_kernel *kernel, slw_kernel_contract *out) {
    const slwi_cubin_place *place = &cubin->places[kernel->section];
    uint64_t size = place->shared_bytes;
    out->reserved_shared_bytes = cubin->number >= RESERVED_SHARED_FROM ? RESERVED_SHARED_BYTES : 0;
    if (size > INT32_MAX) {
        return slwi_cubin_bad_kernel(cubin, kernel, "BAD_SECTION", kernel->symbol_offset,
                                     "a kernel has more shared memory than there can be");
    }
    if (cubin->number >= RESERVED_IN_SECTION_FROM && size >= RESERVED_SHARED_BYTES) size -= RESERVED_SHARED_BYTES;
    out->static_shared_bytes = (uint32_t)size;
    return SLW_OK;
}

static slw_code put_kernel(const slwi_cubin *cubin, const slwi_cubin_kernel *kernel, slwi_contract_builder *b,
                           uint32_t *named_needs) {
    slw_param *params = NULL;
    if (!kernel->has_registers) return slwi_cubin_missing(cubin, kernel, "REGCOUNT");
    slw_kernel_contract *out = slwi_contract_builder_kernel(b, kernel->name, kernel->param_count, &params);
    if (out == NULL) return slwi_cubin_bad_kernel(cubin, kernel, "BAD_SYMBOL", kernel->symbol_offset, "uncounted");
    slw_code rc = put_shared(cubin, kernel, out);
    if (rc == SLW_OK) rc = slwi_cubin_read_kernel_info(cubin, kernel, out, params);
    if (rc != SLW_OK) return rc;
    out->registers = kernel->registers;
    out->local_bytes = kernel->local_bytes;
    out->warp_threads = WARP_THREADS;
    *named_needs |= out->needs;
    return SLW_OK;
}

static slw_code put_kernels(slwi_cubin *cubin, slwi_contract_builder *b, slw_contract **out) {
    uint32_t named_needs = 0;
    const char *duplicate = NULL;
    for (uint32_t i = 0; i < cubin->kernel_count; i++) {
        slw_code rc = put_kernel(cubin, &cubin->kernels[i], b, &named_needs);
        if (rc != SLW_OK) return rc;
    }
    /* What the module calls and no kernel names (through a pointer, say) may be anyone's. */
    uint32_t everyones = cubin->module_needs | (cubin->undefined & ~named_needs);
    for (uint32_t i = 0; i < b->kernel_count; i++) b->kernels[i].needs |= everyones;
    slw_code rc = slwi_contract_builder_sort(b, &duplicate, cubin->err);
    if (rc != SLW_OK) return rc;
    if (duplicate != NULL) {
        slwi_error_kernel(cubin->err, duplicate, NULL);
        return slwi_cubin_bad(cubin, "DUPLICATE", cubin->symbols.offset, "two kernels have the same name");
    }
    slw_contract head;
    memset(&head, 0, sizeof(head));
    head.reader_revision = SLWI_CUDA_READER_REVISION;
    head.backend = "cuda";
    head.target = cubin->target;
    head.launch_binary = cubin->elf.name != NULL && cubin->elf.name[0] != '\0' ? cubin->elf.name : LAUNCH_BINARY;
    head.kind = SLW_IMAGE_CUBIN;
    return slwi_contract_builder_finish(b, &head, out, cubin->err);
}

static slw_code read_tables(slwi_cubin *cubin, slw_contract **out) {
    slw_code rc = slwi_cubin_read_sections(cubin);
    if (rc == SLW_OK) rc = slwi_cubin_read_target(cubin);
    if (rc == SLW_OK) rc = slwi_cubin_read_symbols(cubin);
    if (rc == SLW_OK) rc = slwi_cubin_read_module_info(cubin);
    if (rc == SLW_OK) rc = slwi_cubin_count_params(cubin);
    if (rc != SLW_OK) return rc;
    slwi_contract_builder b;
    rc = slwi_contract_builder_open(&b, cubin->allocator, cubin->kernel_count, cubin->param_count, cubin->name_bytes,
                                    cubin->err);
    if (rc != SLW_OK) return rc;
    rc = put_kernels(cubin, &b, out);
    slwi_contract_builder_close(&b);
    return rc;
}

slw_code slwi_cubin_contract(const slw_allocator *allocator, slw_bytes binary, const char *name, slw_contract **out,
                             slw_error *err) {
    slwi_cubin cubin;
    memset(&cubin, 0, sizeof(cubin));
    cubin.allocator = allocator;
    cubin.err = err;
    if (binary.size > SLW_LIMIT_BINARY_BYTES) {
        slwi_error_amount(err, "binary size", binary.size, SLW_LIMIT_BINARY_BYTES, "bytes");
        return slwi_fail(err, SLW_E_LIMIT, "TOO_LARGE", "the binary is too large");
    }
    slw_code rc = slwi_elf_open(binary, name, &cubin.elf, err);
    if (rc == SLW_OK) rc = check_header(&cubin);
    if (rc != SLW_OK) return rc;
    size_t places_bytes = cubin.elf.section_count * sizeof(*cubin.places);
    cubin.places = slwi_alloc_zero(allocator, places_bytes);
    if (cubin.places == NULL) return slwi_fail_memory(err, places_bytes);
    rc = read_tables(&cubin, out);
    slwi_free(allocator, cubin.kernels);
    slwi_free(allocator, cubin.places);
    return rc;
}
