/* ELF64 little-endian files as bounded views. Nothing is trusted: every header, section and segment that is handed
 * out lies inside the file. Numbers of the format are spelled here, not taken from <elf.h>: other platforms have
 * none. */
#ifndef SLWI_ELF_VIEW_H
#define SLWI_ELF_VIEW_H

#include <slipway/bytes.h>
#include <slipway/limits.h>

#define SLWI_ET_REL  1u
#define SLWI_ET_EXEC 2u
#define SLWI_ET_DYN  3u

#define SLWI_EM_386     3u
#define SLWI_EM_ARM     40u
#define SLWI_EM_X86_64  62u
#define SLWI_EM_AARCH64 183u
#define SLWI_EM_CUDA    190u
#define SLWI_EM_AMDGPU  224u
#define SLWI_EM_RISCV   243u

#define SLWI_SHT_PROGBITS 1u
#define SLWI_SHT_SYMTAB   2u
#define SLWI_SHT_STRTAB   3u
#define SLWI_SHT_NOTE     7u
#define SLWI_SHT_NOBITS   8u
#define SLWI_SHT_DYNSYM   11u

#define SLWI_SHT_CUDA_GLOBAL          0x70000007u
#define SLWI_SHT_CUDA_LOCAL           0x70000009u
#define SLWI_SHT_CUDA_SHARED          0x7000000au
#define SLWI_SHT_CUDA_SHARED_RESERVED 0x70000015u

#define SLWI_STT_OBJECT 1u
#define SLWI_STT_FUNC   2u

#define SLWI_SHN_UNDEFINED 0u
#define SLWI_SHN_RESERVED  0xff00u /* from here on: absolute, common, … */

#define SLWI_SHF_ALLOC 2u

#define SLWI_PF_X       1u
#define SLWI_PT_LOAD    1u
#define SLWI_PT_DYNAMIC 2u
#define SLWI_PT_NOTE    4u

/* Names of sections are at most this long: a mangled kernel name with a prefix stands in them. All of one file
   together pass the second limit only where they overlap, in a file made to waste time. */
#define SLWI_ELF_SECTION_NAME_MAX  ((size_t)SLW_LIMIT_NAME_BYTES + 64)
#define SLWI_ELF_SECTION_NAMES_MAX ((uint64_t)4 * SLW_LIMIT_NAMES_BYTES)

typedef struct slwi_elf {
    slw_bytes file;
    const char *name; /* what errors call the file */
    uint16_t type;
    uint16_t machine;
    uint8_t os_abi;
    uint8_t abi_version;
    uint32_t flags;
    uint32_t section_count;
    uint32_t segment_count;
    uint64_t section_offset; /* of the header table */
    uint64_t segment_offset;
    slw_bytes section_names; /* the string table of section names; empty: none */
} slwi_elf;

typedef struct slwi_elf_section {
    slw_bytes name;  /* without the NUL */
    slw_bytes bytes; /* empty for SHT_NOBITS and its like */
    uint32_t type, link, info;
    uint64_t flags, address, size, alignment, entry_size;
    uint64_t offset; /* of the bytes; of the header where there are none */
} slwi_elf_section;

typedef struct slwi_elf_segment {
    slw_bytes bytes; /* what of it is in the file */
    uint32_t type, flags;
    uint64_t offset, address, memory_size, alignment;
} slwi_elf_segment;

typedef struct slwi_elf_symbol {
    uint32_t name_offset; /* in the string table: read by the caller, who knows how long a name may be */
    uint8_t type, binding, visibility;
    uint8_t other;    /* the whole byte: visibility and what the processor's ABI keeps above it */
    uint16_t section; /* 0: undefined */
    uint64_t value, size;
} slwi_elf_symbol;

/* "x86_64", "aarch64", …; "machine N" (in `buffer`) for one we do not know. */
const char *slwi_elf_machine_name(uint16_t machine, char buffer[24]);

/* 1 when the file starts as an ELF64 little-endian header; its type and machine. Looks no further. */
int slwi_elf_peek(slw_bytes file, uint16_t *type, uint16_t *machine);

/* Checks the header, both tables and the extent of every section and segment. INVALID_BINARY with reason TRUNCATED
   (where the file ends, and how long it would have to be), NOT_ELF, BAD_HEADER, BAD_SECTION, BAD_SEGMENT; LIMIT. `name`
   may be NULL and must outlive the view. */
slw_code slwi_elf_open(slw_bytes file, const char *name, slwi_elf *out, slw_error *err);

/* Both give INVALID_BINARY for an index past the end or anything else that does not fit. */
slw_code slwi_elf_section_at(const slwi_elf *elf, uint32_t index, slwi_elf_section *out, slw_error *err);
slw_code slwi_elf_segment_at(const slwi_elf *elf, uint32_t index, slwi_elf_segment *out, slw_error *err);

/* The first section of that name: OK, MISS, or INVALID_BINARY. */
slw_code slwi_elf_section_named(const slwi_elf *elf, const char *name, slwi_elf_section *out, slw_error *err);

/* Entry `index` of a symbol table section: 1, or 0 past the end. */
int slwi_elf_symbol_at(const slwi_elf_section *symbols, uint64_t index, slwi_elf_symbol *out);

/* A NUL-terminated string of at most `longest` bytes; 0 where it does not end within them. Unlike slwi_read_string
   its cost is bounded, so that a table of names that all run to the end of a large file cannot take quadratic time. */
int slwi_elf_string(slw_bytes strings, uint64_t offset, size_t longest, slw_bytes *out);

/* One (tag, value) of a dynamic segment: 1, or 0 past the end. */
int slwi_elf_dynamic_at(slw_bytes dynamic, uint64_t index, uint64_t *tag, uint64_t *value);

/* The file bytes from an address of the loaded image to the end of its segment's file part: 1, or 0 where nothing is.
   */
int slwi_elf_bytes_at_address(const slwi_elf *elf, uint64_t address, slw_bytes *out);

/* INVALID_BINARY about this file, with its name as path. */
slw_code slwi_elf_bad(const slwi_elf *elf, slw_error *err, const char *reason, uint64_t offset, const char *what);

#endif
