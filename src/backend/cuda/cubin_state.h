/* What the parts of the cubin reader share. */
#ifndef SLWI_CUBIN_STATE_H
#define SLWI_CUBIN_STATE_H

#include <slipway/limits.h>

#include "contract_build.h"
#include "elf_view.h"

/* Section types of the CUDA ABI. */
#define SLWI_SHT_CUDA_INFO   0x70000000u
#define SLWI_SHT_CUDA_COMPAT 0x70000086u

/* ---- records: .nv.info and .nv.compat ---- */

/* How a record carries its value. */
#define SLWI_CUBIN_NVAL 1u /* nothing; two bytes of padding */
#define SLWI_CUBIN_BVAL 2u /* a byte */
#define SLWI_CUBIN_HVAL 3u /* two bytes */
#define SLWI_CUBIN_SVAL 4u /* a length and so many bytes */

typedef struct slwi_cubin_record {
    uint32_t format, attribute;
    uint32_t value;    /* of BVAL and HVAL */
    slw_bytes payload; /* of SVAL */
    uint64_t offset;   /* of the record in the file, for errors */
} slwi_cubin_record;

typedef struct slwi_cubin_walk {
    slw_bytes bytes;
    uint64_t at;
    uint64_t file_offset; /* of the section */
} slwi_cubin_walk;

/* The next record: OK; MISS at the proper end; INVALID_BINARY (BAD_INFO). */
slw_code slwi_cubin_next_record(const slwi_elf *elf, slwi_cubin_walk *walk, slwi_cubin_record *out, slw_error *err);

/* ---- the file ---- */

/* What belongs to one section, found by the sh_info of others: no name is searched for. */
typedef struct slwi_cubin_place {
    slw_bytes info; /* the records about the code in it */
    uint64_t info_offset;
    uint64_t shared_bytes;
    uint8_t has_info, has_shared;
    uint8_t holds_globals; /* it is .nv.global, .nv.global.init or .nv.constant3 */
    uint8_t has_kernel;
} slwi_cubin_place;

typedef struct slwi_cubin_kernel {
    slw_bytes name;
    uint64_t symbol;
    uint64_t symbol_offset; /* in the file, for errors */
    uint32_t section;
    uint32_t registers, local_bytes;
    uint8_t has_registers, has_local;
    uint32_t param_count;
} slwi_cubin_kernel;

typedef struct slwi_cubin {
    const slw_allocator *allocator;
    slw_error *err;
    slwi_elf elf;
    slwi_elf_section symbols;
    slw_bytes strings; /* of the symbols */
    slw_bytes info;    /* .nv.info, about the module; empty: none */
    uint64_t info_offset;
    slw_bytes compat; /* .nv.compat; empty: none */
    uint64_t compat_offset;
    slwi_cubin_place *places;   /* by section index */
    slwi_cubin_kernel *kernels; /* in the order of the symbol table */
    uint32_t kernel_count;
    uint32_t param_count; /* of all kernels */
    uint64_t symbol_count;
    size_t name_bytes;     /* of all kernels, each with a NUL */
    uint32_t number;       /* of the architecture: 90 */
    char target[24];       /* "sm_90a" */
    uint32_t module_needs; /* every kernel's: SLW_NEEDS_GLOBALS, and what no kernel names as its own */
    uint32_t undefined;    /* needs by the names that are undefined in the symbol table */
} slwi_cubin;

/* cubin_target.c: which architecture. NO_TARGET. */
slw_code slwi_cubin_read_target(slwi_cubin *cubin);

/* cubin_symbols.c */
slw_code slwi_cubin_read_sections(slwi_cubin *cubin); /* symbols, info, compat, places */
slw_code slwi_cubin_read_symbols(slwi_cubin *cubin);  /* kernels; NO_ENTRY */
/* The needs a name stands for: vprintf, malloc and free; 0 for any other. */
uint32_t slwi_cubin_needs_of_symbol(const slwi_cubin *cubin, uint64_t symbol);
/* The kernel of a symbol; NULL: it is none. */
slwi_cubin_kernel *slwi_cubin_kernel_of(const slwi_cubin *cubin, uint64_t symbol);

/* cubin_info.c */
slw_code slwi_cubin_read_module_info(slwi_cubin *cubin); /* registers and local memory of each kernel */
slw_code slwi_cubin_count_params(slwi_cubin *cubin);     /* of each kernel; bounded */
/* Fills what the records about one kernel say. `params` has room for kernel->param_count. */
slw_code slwi_cubin_read_kernel_info(const slwi_cubin *cubin, const slwi_cubin_kernel *kernel, slw_kernel_contract *out,
                                     slw_param *params);

/* Errors about this file. */
slw_code slwi_cubin_bad(const slwi_cubin *cubin, const char *reason, uint64_t offset, const char *what);
slw_code slwi_cubin_bad_kernel(const slwi_cubin *cubin, const slwi_cubin_kernel *kernel, const char *reason,
                               uint64_t offset, const char *what);
/* INVALID_BINARY, MISSING, with the attribute as subject. */
slw_code slwi_cubin_missing(const slwi_cubin *cubin, const slwi_cubin_kernel *kernel, const char *attribute);

#endif
