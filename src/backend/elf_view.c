#include "elf_view.h"

#include <slipway/limits.h>
#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "fail.h"
#include "reader.h"

#define HEADER_BYTES         64u
#define SECTION_HEADER_BYTES 64u
#define SEGMENT_HEADER_BYTES 56u
#define SYMBOL_BYTES         24u
#define DYNAMIC_BYTES        16u
#define INDEX_IN_SECTION_0   0xffffu /* SHN_XINDEX and PN_XNUM: the real number did not fit the header */

const char *slwi_elf_machine_name(uint16_t machine, char buffer[24]) {
    switch (machine) {
    case SLWI_EM_386:
        return "i386";
    case SLWI_EM_ARM:
        return "arm";
    case SLWI_EM_X86_64:
        return "x86_64";
    case SLWI_EM_AARCH64:
        return "aarch64";
    case SLWI_EM_CUDA:
        return "cuda";
    case SLWI_EM_AMDGPU:
        return "amdgpu";
    case SLWI_EM_RISCV:
        return "riscv64";
    default:
        (void)snprintf(buffer, 24, "machine %u", (unsigned)machine);
        return buffer;
    }
}

static slw_code bad_binary(slw_error *err, const char *name, const char *reason, uint64_t offset, const char *what) {
    if (name != NULL) slwi_error_path(err, name);
    slwi_error_place(err, 0, 0, offset);
    return slwi_fail(err, SLW_E_INVALID_BINARY, reason, "%s at offset %llu", what, (unsigned long long)offset);
}

slw_code slwi_elf_bad(const slwi_elf *elf, slw_error *err, const char *reason, uint64_t offset, const char *what) {
    return bad_binary(err, elf->name, reason, offset, what);
}

int slwi_elf_peek(slw_bytes file, uint16_t *type, uint16_t *machine) {
    static const uint8_t magic[7] = {0x7f, 'E', 'L', 'F', 2, 1, 1}; /* 64 bit, little endian, version 1 */
    slw_bytes start;
    if (!slwi_window(file, 0, HEADER_BYTES, &start)) return 0;
    if (memcmp(start.data, magic, sizeof(magic)) != 0) return 0;
    return slwi_read_u16(file, 16, type) && slwi_read_u16(file, 18, machine);
}

/* A header that is cut off is truncated, not foreign, as long as what is there is right. */
static slw_code check_magic(slw_bytes file, const char *name, slw_error *err) {
    static const uint8_t magic[7] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    size_t there = file.size < sizeof(magic) ? file.size : sizeof(magic);
    if (there != 0 && memcmp(file.data, magic, there) != 0) {
        return bad_binary(err, name, "NOT_ELF", 0, "this is not an ELF file of 64 bit, little endian");
    }
    if (file.size < HEADER_BYTES) return bad_binary(err, name, "TRUNCATED", file.size, "the ELF header ends early");
    return SLW_OK;
}

/* Loads that the caller has proved to be inside. */
static uint16_t u16(slw_bytes bytes, uint64_t offset) {
    uint16_t value = 0;
    (void)slwi_read_u16(bytes, offset, &value);
    return value;
}
static uint32_t u32(slw_bytes bytes, uint64_t offset) {
    uint32_t value = 0;
    (void)slwi_read_u32(bytes, offset, &value);
    return value;
}
static uint64_t u64(slw_bytes bytes, uint64_t offset) {
    uint64_t value = 0;
    (void)slwi_read_u64(bytes, offset, &value);
    return value;
}

/* Points to where the file ends, and says how long it would have to be. */
static slw_code past_the_end(const slwi_elf *elf, uint64_t offset, uint64_t size, const char *what, slw_error *err) {
    uint64_t end = 0;
    if (slwi_add_u64(offset, size, &end)) end = UINT64_MAX;
    slwi_error_amount(err, "file size", end, elf->file.size, "bytes");
    return slwi_elf_bad(elf, err, "TRUNCATED", elf->file.size, what);
}

static slw_code check_table(const slwi_elf *elf, uint64_t offset, uint64_t count, uint64_t entry_bytes,
                            const char *what, slw_error *err) {
    slw_bytes table;
    if (count == 0) return SLW_OK;
    if (offset < HEADER_BYTES) return slwi_elf_bad(elf, err, "BAD_HEADER", offset, what);
    if (!slwi_window(elf->file, offset, count * entry_bytes, &table)) {
        return past_the_end(elf, offset, count * entry_bytes, what, err);
    }
    return SLW_OK;
}

/* Counts that do not fit the header stand in section 0. */
static slw_code read_counts(slwi_elf *elf, uint32_t *names_index, slw_error *err) {
    slw_bytes file = elf->file;
    uint64_t sections = u16(file, 60);
    uint64_t segments = u16(file, 56);
    uint64_t names = u16(file, 62);
    int extended =
        elf->section_offset != 0 && (sections == 0 || segments == INDEX_IN_SECTION_0 || names == INDEX_IN_SECTION_0);
    if (elf->section_offset == 0) {
        sections = 0;
        names = 0;
    } else if (u16(file, 58) != SECTION_HEADER_BYTES) {
        return slwi_elf_bad(elf, err, "BAD_HEADER", 58, "section headers have a size they cannot have");
    }
    if (segments != 0 && u16(file, 54) != SEGMENT_HEADER_BYTES) {
        return slwi_elf_bad(elf, err, "BAD_HEADER", 54, "program headers have a size they cannot have");
    }
    if (extended) {
        slw_code rc =
            check_table(elf, elf->section_offset, 1, SECTION_HEADER_BYTES, "the section headers end early", err);
        if (rc != SLW_OK) return rc;
        if (sections == 0) sections = u64(file, elf->section_offset + 32);
        if (names == INDEX_IN_SECTION_0) names = u32(file, elf->section_offset + 40);
        if (segments == INDEX_IN_SECTION_0) segments = u32(file, elf->section_offset + 44);
    }
    if (sections > SLW_LIMIT_ELF_SECTIONS || segments > SLW_LIMIT_ELF_SECTIONS) {
        uint64_t most = sections > segments ? sections : segments;
        slwi_error_amount(err, "ELF sections", most, SLW_LIMIT_ELF_SECTIONS, "sections");
        return slwi_fail(err, SLW_E_LIMIT, "TOO_MANY_SECTIONS", "the ELF file has too many sections or segments");
    }
    elf->section_count = (uint32_t)sections;
    elf->segment_count = (uint32_t)segments;
    *names_index = (uint32_t)names;
    return SLW_OK;
}

/* Sections that take no room in the file. Relocatable cubins have types of their own for device memory, and what was
   linked keeps some of them. */
static int has_no_bytes(const slwi_elf *elf, uint32_t type) {
    if (type == 0 || type == SLWI_SHT_NOBITS) return 1;
    if (elf->machine != SLWI_EM_CUDA) return 0;
    return type == SLWI_SHT_CUDA_GLOBAL || type == SLWI_SHT_CUDA_LOCAL || type == SLWI_SHT_CUDA_SHARED ||
           type == SLWI_SHT_CUDA_SHARED_RESERVED;
}

static slw_code read_section(const slwi_elf *elf, uint32_t index, slwi_elf_section *out, slw_error *err) {
    uint64_t at = elf->section_offset + (uint64_t)index * SECTION_HEADER_BYTES;
    slwi_elf_section section;
    memset(&section, 0, sizeof(section));
    section.type = u32(elf->file, at + 4);
    section.flags = u64(elf->file, at + 8);
    section.address = u64(elf->file, at + 16);
    section.offset = u64(elf->file, at + 24);
    section.size = u64(elf->file, at + 32);
    section.link = u32(elf->file, at + 40);
    section.info = u32(elf->file, at + 44);
    section.alignment = u64(elf->file, at + 48);
    section.entry_size = u64(elf->file, at + 56);
    section.name.data = "";
    section.bytes.data = "";
    /* Section 0 holds the extended counts in its size: it has no bytes. What a header says of where no bytes are may be
       anything, and an error has to point into the file. */
    if (has_no_bytes(elf, section.type)) {
        section.offset = at;
    } else if (!slwi_window(elf->file, section.offset, section.size, &section.bytes)) {
        return past_the_end(elf, section.offset, section.size, "a section ends past the end of the file", err);
    }
    if (elf->section_names.size != 0 && section.type != 0 &&
        !slwi_elf_string(elf->section_names, u32(elf->file, at), SLWI_ELF_SECTION_NAME_MAX, &section.name)) {
        return slwi_elf_bad(elf, err, "BAD_SECTION", at, "the name of a section does not end, or is too long");
    }
    *out = section;
    return SLW_OK;
}

static slw_code read_segment(const slwi_elf *elf, uint32_t index, slwi_elf_segment *out, slw_error *err) {
    uint64_t at = elf->segment_offset + (uint64_t)index * SEGMENT_HEADER_BYTES;
    slwi_elf_segment segment;
    memset(&segment, 0, sizeof(segment));
    segment.type = u32(elf->file, at);
    segment.flags = u32(elf->file, at + 4);
    segment.offset = u64(elf->file, at + 8);
    segment.address = u64(elf->file, at + 16);
    uint64_t file_size = u64(elf->file, at + 32);
    segment.memory_size = u64(elf->file, at + 40);
    segment.alignment = u64(elf->file, at + 48);
    if (!slwi_window(elf->file, segment.offset, file_size, &segment.bytes)) {
        return past_the_end(elf, segment.offset, file_size, "a segment ends past the end of the file", err);
    }
    uint64_t end;
    if (segment.type == SLWI_PT_LOAD &&
        (file_size > segment.memory_size || slwi_add_u64(segment.address, segment.memory_size, &end))) {
        return slwi_elf_bad(elf, err, "BAD_SEGMENT", at, "a segment has sizes it cannot have");
    }
    *out = segment;
    return SLW_OK;
}

/* Names may share bytes, so their sum is not bounded by the file. */
static slw_code too_many_names(uint64_t bytes, slw_error *err) {
    slwi_error_amount(err, "names of ELF sections", bytes, SLWI_ELF_SECTION_NAMES_MAX, "bytes");
    return slwi_fail(err, SLW_E_LIMIT, "NAMES_TOO_LONG", "the names of the ELF file's sections are too long together");
}

static slw_code check_extents(slwi_elf *elf, uint32_t names_index, slw_error *err) {
    slwi_elf_section section = {0};
    slwi_elf_segment segment;
    slw_code rc;
    if (elf->section_count != 0 && names_index != 0) {
        if (names_index >= elf->section_count) {
            return slwi_elf_bad(elf, err, "BAD_HEADER", 62, "the section of section names is not there");
        }
        rc = read_section(elf, names_index, &section, err);
        if (rc != SLW_OK) return rc;
        elf->section_names = section.bytes;
    }
    uint64_t names = 0;
    for (uint32_t i = 0; i < elf->section_count; i++) {
        rc = read_section(elf, i, &section, err);
        if (rc != SLW_OK) return rc;
        names += section.name.size;
        if (names > SLWI_ELF_SECTION_NAMES_MAX) return too_many_names(names, err);
    }
    for (uint32_t i = 0; i < elf->segment_count; i++) {
        rc = read_segment(elf, i, &segment, err);
        if (rc != SLW_OK) return rc;
    }
    return SLW_OK;
}

slw_code slwi_elf_open(slw_bytes file, const char *name, slwi_elf *out, slw_error *err) {
    slwi_elf elf;
    memset(&elf, 0, sizeof(elf));
    elf.file = file;
    elf.name = name;
    elf.section_names.data = "";
    slw_code rc = check_magic(file, name, err);
    if (rc != SLW_OK) return rc;
    (void)slwi_read_u8(file, 7, &elf.os_abi);
    (void)slwi_read_u8(file, 8, &elf.abi_version);
    elf.type = u16(file, 16);
    elf.machine = u16(file, 18);
    elf.segment_offset = u64(file, 32);
    elf.section_offset = u64(file, 40);
    elf.flags = u32(file, 48);
    uint32_t names_index = 0;
    rc = read_counts(&elf, &names_index, err);
    if (rc != SLW_OK) return rc;
    rc = check_table(&elf, elf.section_offset, elf.section_count, SECTION_HEADER_BYTES, "the section headers end early",
                     err);
    if (rc != SLW_OK) return rc;
    rc = check_table(&elf, elf.segment_offset, elf.segment_count, SEGMENT_HEADER_BYTES, "the program headers end early",
                     err);
    if (rc != SLW_OK) return rc;
    rc = check_extents(&elf, names_index, err);
    if (rc != SLW_OK) return rc;
    *out = elf;
    return SLW_OK;
}

slw_code slwi_elf_section_at(const slwi_elf *elf, uint32_t index, slwi_elf_section *out, slw_error *err) {
    if (index >= elf->section_count) {
        return slwi_elf_bad(elf, err, "BAD_SECTION", elf->section_offset, "a section that is named is not there");
    }
    return read_section(elf, index, out, err);
}

slw_code slwi_elf_segment_at(const slwi_elf *elf, uint32_t index, slwi_elf_segment *out, slw_error *err) {
    if (index >= elf->segment_count) {
        return slwi_elf_bad(elf, err, "BAD_SEGMENT", elf->segment_offset, "a segment that is named is not there");
    }
    return read_segment(elf, index, out, err);
}

slw_code slwi_elf_section_named(const slwi_elf *elf, const char *name, slwi_elf_section *out, slw_error *err) {
    size_t size = strlen(name);
    for (uint32_t i = 0; i < elf->section_count; i++) {
        slwi_elf_section section = {0};
        slw_code rc = read_section(elf, i, &section, err);
        if (rc != SLW_OK) return rc;
        if (section.type != 0 && section.name.size == size && memcmp(section.name.data, name, size) == 0) {
            *out = section;
            return SLW_OK;
        }
    }
    return SLW_E_MISS;
}

int slwi_elf_string(slw_bytes strings, uint64_t offset, size_t longest, slw_bytes *out) {
    if (offset >= strings.size) return 0;
    size_t there = strings.size - (size_t)offset;
    if (there > longest + 1) there = longest + 1;
    slw_bytes window;
    if (!slwi_window(strings, offset, there, &window)) return 0;
    return slwi_read_string(window, 0, out);
}

int slwi_elf_symbol_at(const slwi_elf_section *symbols, uint64_t index, slwi_elf_symbol *out) {
    slw_bytes entry;
    uint64_t at;
    if (slwi_mul_u64(index, SYMBOL_BYTES, &at)) return 0;
    if (!slwi_window(symbols->bytes, at, SYMBOL_BYTES, &entry)) return 0;
    uint8_t info = 0;
    uint8_t other = 0;
    (void)slwi_read_u8(entry, 4, &info);
    (void)slwi_read_u8(entry, 5, &other);
    out->name_offset = u32(entry, 0);
    out->type = info & 15u;
    out->binding = (uint8_t)(info >> 4);
    out->visibility = other & 3u;
    out->other = other;
    out->section = u16(entry, 6);
    out->value = u64(entry, 8);
    out->size = u64(entry, 16);
    return 1;
}

int slwi_elf_dynamic_at(slw_bytes dynamic, uint64_t index, uint64_t *tag, uint64_t *value) {
    uint64_t at;
    slw_bytes entry;
    if (slwi_mul_u64(index, DYNAMIC_BYTES, &at) || !slwi_window(dynamic, at, DYNAMIC_BYTES, &entry)) return 0;
    *tag = u64(entry, 0);
    *value = u64(entry, 8);
    return 1;
}

int slwi_elf_bytes_at_address(const slwi_elf *elf, uint64_t address, slw_bytes *out) {
    for (uint32_t i = 0; i < elf->segment_count; i++) {
        slwi_elf_segment segment = {0};
        if (read_segment(elf, i, &segment, NULL) != SLW_OK) return 0;
        if (segment.type != SLWI_PT_LOAD || address < segment.address) continue;
        uint64_t into = address - segment.address;
        if (into >= segment.bytes.size) continue;
        return slwi_window(segment.bytes, into, segment.bytes.size - into, out);
    }
    return 0;
}
