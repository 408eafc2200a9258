/* Files made to hurt a reader: each generator fills about `size` bytes with one thing that a reader might do once too often. */
#ifndef SLIPWAY_HOSTILE_H
#define SLIPWAY_HOSTILE_H

#include <stddef.h>
#include <stdint.h>

typedef struct blob {
    uint8_t *data;
    size_t size, capacity;
} blob;

void blob_put(blob *b, const void *data, size_t size);
void blob_text(blob *b, const char *text);
void blob_format(blob *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void blob_number(blob *b, uint64_t value, size_t bytes); /* little endian */
void blob_big(blob *b, uint64_t value, size_t bytes);    /* big endian */
void blob_fill(blob *b, uint8_t value, size_t size);
void blob_align(blob *b, size_t alignment);
void blob_free(blob *b);

typedef void (*hostile_make)(size_t size, blob *out);

typedef struct hostile_file {
    const char *name;
    hostile_make make;
} hostile_file;

/* Each ended by a NULL name. */
extern const hostile_file hostile_ptx[], hostile_cubin[], hostile_fatbin[], hostile_amdgcn[], hostile_bundle[],
    hostile_host[], hostile_contract[], hostile_triton[];

/* ---- a small writer of ELF files ---- */

typedef struct elf_section {
    const char *stem, *tail; /* the name is both */
    uint32_t type;
    uint64_t flags, address, offset, size;
    uint32_t link, info;
    uint64_t entry_size;
    uint32_t name_at; /* set: this offset into the names in place of a name of its own */
} elf_section;

typedef struct elf_segment {
    uint32_t type, flags;
    uint64_t offset, address, size;
} elf_segment;

typedef struct elf_file {
    blob *out;
    uint16_t machine, type;
    uint8_t os_abi, abi_version;
    uint32_t version, flags;
    elf_section *sections;
    size_t section_count, section_capacity;
    elf_segment *segments;
    size_t segment_count, segment_capacity;
    blob names;
} elf_file;

void elf_begin(elf_file *f, blob *out, uint16_t machine, uint16_t type);
/* A section that starts where the file ends; the bytes follow, then elf_end. */
elf_section *elf_section_begin(elf_file *f, const char *stem, const char *tail, uint32_t type, size_t alignment);
void elf_section_end(elf_file *f);
size_t elf_section_index(const elf_file *f); /* of the last */
void elf_segment_add(elf_file *f, uint32_t type, uint32_t flags, uint64_t offset, uint64_t address, uint64_t size);
void elf_symbol(blob *b, uint32_t name, uint8_t info, uint8_t other, uint16_t section, uint64_t value, uint64_t size);
void elf_end(elf_file *f);

#endif
