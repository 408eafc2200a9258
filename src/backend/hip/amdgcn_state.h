/* What the files of the amdgcn reader share. */
#ifndef SLWI_AMDGCN_STATE_H
#define SLWI_AMDGCN_STATE_H

#include <slipway/contract.h>

#include "contract_build.h"
#include "elf_view.h"
#include "msgpack.h"

/* One kernel as the note says it; bytes are borrowed from the file. */
typedef struct slwi_amdgcn_kernel {
    uint64_t at; /* of its map in the note */
    uint64_t args_at;
    uint32_t args_count;
    uint32_t found; /* bit i: the i-th key of the table in amdgcn_kernel.c was there */
    slw_bytes name;
    slw_bytes symbol; /* of its kernel descriptor */
    uint32_t vector_registers, scalar_registers, accumulation_registers;
    uint32_t group_bytes, private_bytes, kernarg_bytes;
    uint32_t max_threads, wavefront;
    uint32_t required_threads[3];
    uint32_t cluster[3];
} slwi_amdgcn_kernel;

typedef struct slwi_amdgcn {
    const slw_allocator *allocator;
    slw_error *err;
    slwi_elf elf;
    slw_bytes note;       /* the MessagePack document; empty: none */
    uint64_t note_offset; /* of it in the file */
    slw_bytes target;     /* as the note says it; empty: not there */
    uint64_t target_at;   /* in the note */
    uint64_t kernels_at;  /* in the note, of the first */
    uint32_t kernel_count;
    uint32_t param_count; /* of all kernels */
    slwi_amdgcn_kernel *kernels;
} slwi_amdgcn;

/* INVALID_BINARY about the note, `at` in it; `key` (NULL: none) becomes the subject, `kernel` (NULL: none) is named. */
slw_code slwi_amdgcn_bad_note(const slwi_amdgcn *r, const char *reason, uint64_t at, const char *key,
                              const slwi_amdgcn_kernel *kernel, const char *what);
void slwi_amdgcn_name_kernel(const slwi_amdgcn *r, const slwi_amdgcn_kernel *kernel);
/* LIMIT. */
slw_code slwi_amdgcn_over(const slwi_amdgcn *r, const char *reason, const char *what, uint64_t required,
                          uint64_t limit);

/* amdgcn_note.c: finds the metadata note, proves its MessagePack, and reads the outermost map. */
slw_code slwi_amdgcn_open_note(slwi_amdgcn *r);
/* amdgcn_kernel.c: fills r->kernels (room for kernel_count) and counts parameters; then, into the builder, everything
   but the descriptors' word. */
slw_code slwi_amdgcn_read_kernels(slwi_amdgcn *r);
slw_code slwi_amdgcn_build_kernels(const slwi_amdgcn *r, slwi_contract_builder *builder);
/* amdgcn_args.c: the parameters of one kernel. */
slw_code slwi_amdgcn_read_args(const slwi_amdgcn *r, const slwi_amdgcn_kernel *kernel, slwi_contract_builder *builder,
                               slw_kernel_contract *to, slw_param *params);
/* amdgcn_descriptor.c: each kernel's descriptor is where its symbol says and agrees with the note. */
slw_code slwi_amdgcn_check_descriptors(const slwi_amdgcn *r);

#endif
