/* What the dynamic loader reads of an ELF file: ELF64, little-endian. Nothing is mapped; only the headers, the dynamic
 * section and the strings it names are read, each with a bound. */
#ifndef SLWI_ELF_CLOSURE_FILE_H
#define SLWI_ELF_CLOSURE_FILE_H

#include "identity_gather.h"

#define SLWI_ELF_NEEDED_MAX 1024u

#define SLWI_EM_X86_64  62u
#define SLWI_EM_AARCH64 183u

typedef struct slwi_elf {
    uint16_t machine;
    const char *interpreter; /* NULL: none */
    const char *soname;      /* NULL: none */
    const char *rpath;       /* NULL: none, or made void by a runpath */
    const char *runpath;
    const char **needed;
    size_t needed_count;
    int no_default;      /* DF_1_NODEFLIB */
    const char *refused; /* static: it asks the loader for something this reader does not follow; NULL: nothing */
} slwi_elf;

/* Reads a seen file's dynamic section, once. *out NULL: put down as a failure (not an ELF program, a script,
   damaged). */
slw_code slwi_elf_read(slwi_gather *gather, slwi_seen *seen, const slwi_elf **out, slw_error *err);

/* 1 when the file at a path is a shared object or program of this machine; 0 for anything else, also for one that the
   loader could not open either; -errno when it cannot be told. */
int slwi_elf_is_for(const char *path, uint16_t machine);

/* The GNU build-id of an open file; *size 0 where there is none (or it is no ELF file, or larger than 64 bytes).
   Returns 0 only when there was no memory to find out. */
int slwi_elf_build_id(const slw_allocator *allocator, int fd, unsigned char out[64], size_t *size);

#endif
