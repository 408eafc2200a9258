/* Sections and symbols of a cubin: where things stand, and which symbols are kernels. */
#include <string.h>

#include "cubin_state.h"
#include "fail.h"
#include "memory.h"

#define SYMBOL_BYTES 24u
#define OTHER_ENTRY  0x10u /* of st_other: a kernel */

slw_code slwi_cubin_bad(const slwi_cubin *cubin, const char *reason, uint64_t offset, const char *what) {
    return slwi_elf_bad(&cubin->elf, cubin->err, reason, offset, what);
}

/* ---- sections ---- */

static int begins(slw_bytes name, const char *prefix) {
    size_t size = strlen(prefix);
    return name.size >= size && memcmp(name.data, prefix, size) == 0;
}

static int is_named(slw_bytes name, const char *whole) {
    return name.size == strlen(whole) && begins(name, whole);
}

/* The place that a section belongs to; NULL: refused. */
static slwi_cubin_place *place_of(slwi_cubin *cubin, const slwi_elf_section *section, uint64_t header) {
    if (section->info < cubin->elf.section_count) return &cubin->places[section->info];
    (void)slwi_cubin_bad(cubin, "BAD_SECTION", header + 44, "a section belongs to one that is not there");
    return NULL;
}

static slw_code take_info(slwi_cubin *cubin, const slwi_elf_section *section, uint64_t header) {
    if (section->info == 0) {
        if (cubin->info.data != NULL) {
            return slwi_cubin_bad(cubin, "DUPLICATE", header, "there are two .nv.info sections");
        }
        cubin->info = section->bytes;
        cubin->info_offset = section->offset;
        return SLW_OK;
    }
    slwi_cubin_place *place = place_of(cubin, section, header);
    if (place == NULL) return SLW_E_INVALID_BINARY;
    if (place->has_info)
        return slwi_cubin_bad(cubin, "DUPLICATE", header, "two .nv.info sections are about one kernel");
    place->has_info = 1;
    place->info = section->bytes;
    place->info_offset = section->offset;
    return SLW_OK;
}

static slw_code take_shared(slwi_cubin *cubin, const slwi_elf_section *section, uint64_t header) {
    slwi_cubin_place *place = place_of(cubin, section, header);
    if (place == NULL) return SLW_E_INVALID_BINARY;
    if (section->info == 0) return SLW_OK; /* .nv.shared.reserved.0: the system's */
    if (place->has_shared) return slwi_cubin_bad(cubin, "DUPLICATE", header, "a kernel has two .nv.shared sections");
    place->has_shared = 1;
    place->shared_bytes = section->size;
    return SLW_OK;
}

static slw_code take_symbols(slwi_cubin *cubin, const slwi_elf_section *section, uint64_t header) {
    if (cubin->symbols.type != 0) return slwi_cubin_bad(cubin, "DUPLICATE", header, "there are two symbol tables");
    if (section->entry_size != SYMBOL_BYTES || section->size % SYMBOL_BYTES != 0) {
        return slwi_cubin_bad(cubin, "BAD_SECTION", header, "the symbol table has a size it cannot have");
    }
    cubin->symbols = *section;
    cubin->symbol_count = section->size / SYMBOL_BYTES;
    return SLW_OK;
}

static slw_code take_section(slwi_cubin *cubin, uint32_t index, const slwi_elf_section *section) {
    uint64_t header = cubin->elf.section_offset + (uint64_t)index * 64u;
    switch (section->type) {
    case SLWI_SHT_SYMTAB:
        return take_symbols(cubin, section, header);
    case SLWI_SHT_CUDA_INFO:
        return take_info(cubin, section, header);
    case SLWI_SHT_CUDA_COMPAT:
        if (cubin->compat.data != NULL) {
            return slwi_cubin_bad(cubin, "DUPLICATE", header, "there are two .nv.compat sections");
        }
        cubin->compat = section->bytes;
        cubin->compat_offset = section->offset;
        return SLW_OK;
    case SLWI_SHT_NOBITS:
    case SLWI_SHT_PROGBITS:
        cubin->places[index].holds_globals = is_named(section->name, ".nv.global") ||
                                             is_named(section->name, ".nv.global.init") ||
                                             is_named(section->name, ".nv.constant3");
        if (section->type == SLWI_SHT_NOBITS && begins(section->name, ".nv.shared.")) {
            return take_shared(cubin, section, header);
        }
        return SLW_OK;
    default:
        return SLW_OK;
    }
}

/* Sections that are walked share no bytes: else a small file could ask for any amount of work. */
static slw_code check_overlap(const slwi_cubin *cubin, uint64_t *walked, const slwi_elf_section *section) {
    if (section->type == SLWI_SHT_CUDA_INFO || section->type == SLWI_SHT_CUDA_COMPAT ||
        section->type == SLWI_SHT_NOTE || section->type == SLWI_SHT_SYMTAB) {
        *walked += section->bytes.size; /* 65,536 of at most SLW_LIMIT_BINARY_BYTES */
    }
    if (*walked <= cubin->elf.file.size) return SLW_OK;
    return slwi_cubin_bad(cubin, "BAD_SECTION", section->offset, "sections overlap");
}

slw_code slwi_cubin_read_sections(slwi_cubin *cubin) {
    const slwi_elf *elf = &cubin->elf;
    uint64_t walked = 0;
    for (uint32_t i = 0; i < elf->section_count; i++) {
        slwi_elf_section section;
        slw_code rc = slwi_elf_section_at(elf, i, &section, cubin->err);
        if (rc == SLW_OK) rc = check_overlap(cubin, &walked, &section);
        if (rc == SLW_OK) rc = take_section(cubin, i, &section);
        if (rc != SLW_OK) return rc;
    }
    if (cubin->symbols.type == 0) {
        return slwi_cubin_bad(cubin, "BAD_SECTION", elf->section_offset, "there is no symbol table");
    }
    slwi_elf_section strings;
    slw_code rc = slwi_elf_section_at(elf, cubin->symbols.link, &strings, cubin->err);
    if (rc != SLW_OK) return rc;
    const char *text = strings.bytes.data;
    if (strings.type != SLWI_SHT_STRTAB || strings.bytes.size == 0 || text[strings.bytes.size - 1] != '\0') {
        return slwi_cubin_bad(cubin, "BAD_SECTION", strings.offset, "the names of the symbols are no string table");
    }
    cubin->strings = strings.bytes;
    return SLW_OK;
}

/* ---- symbols ---- */

static uint64_t symbol_offset(const slwi_cubin *cubin, uint64_t index) {
    return cubin->symbols.offset + index * SYMBOL_BYTES;
}

/* The table ends with NUL, so every name in it does. */
static slw_code check_symbol(const slwi_cubin *cubin, uint64_t index, const slwi_elf_symbol *symbol) {
    if (symbol->name_offset >= cubin->strings.size) {
        return slwi_cubin_bad(cubin, "BAD_SYMBOL", symbol_offset(cubin, index), "a symbol's name is not there");
    }
    if (symbol->section >= cubin->elf.section_count && symbol->section < SLWI_SHN_RESERVED) {
        return slwi_cubin_bad(cubin, "BAD_SYMBOL", symbol_offset(cubin, index) + 6,
                              "a symbol stands in a section that is not there");
    }
    return SLW_OK;
}

static int is_kernel(const slwi_elf_symbol *symbol) {
    return symbol->type == SLWI_STT_FUNC && (symbol->other & OTHER_ENTRY) != 0 && symbol->section != SLWI_SHN_UNDEFINED;
}

static int symbol_is(const slwi_cubin *cubin, const slwi_elf_symbol *symbol, const char *name) {
    size_t size = strlen(name) + 1;
    size_t at = symbol->name_offset;
    return at < cubin->strings.size && cubin->strings.size - at >= size &&
           memcmp((const char *)cubin->strings.data + at, name, size) == 0;
}

static uint32_t needs_of(const slwi_cubin *cubin, const slwi_elf_symbol *symbol) {
    if (symbol->section != SLWI_SHN_UNDEFINED) return 0;
    if (symbol_is(cubin, symbol, "vprintf")) return SLW_NEEDS_PRINTF;
    if (symbol_is(cubin, symbol, "malloc") || symbol_is(cubin, symbol, "free")) return SLW_NEEDS_DEVICE_MALLOC;
    return 0;
}

uint32_t slwi_cubin_needs_of_symbol(const slwi_cubin *cubin, uint64_t index) {
    slwi_elf_symbol symbol;
    return slwi_elf_symbol_at(&cubin->symbols, index, &symbol) ? needs_of(cubin, &symbol) : 0;
}

/* A variable of the program. What the compiler made for itself (texts of printf and assert) is none. */
static int is_global(const slwi_cubin *cubin, const slwi_elf_symbol *symbol) {
    if (symbol->type != SLWI_STT_OBJECT || symbol->section >= SLWI_SHN_RESERVED) return 0;
    if (!cubin->places[symbol->section].holds_globals) return 0;
    const char *name = (const char *)cubin->strings.data + symbol->name_offset;
    return name[0] != '$' && strncmp(name, "__unnamed_", 10) != 0;
}

static slw_code too_many_kernels(const slwi_cubin *cubin) {
    slwi_error_amount(cubin->err, "kernels", (uint64_t)cubin->kernel_count + 1, SLW_LIMIT_KERNELS, "kernels");
    return slwi_fail(cubin->err, SLW_E_LIMIT, "TOO_MANY_KERNELS", "the binary has too many kernels");
}

/* Counts the kernels and looks at every symbol once. */
static slw_code count_kernels(slwi_cubin *cubin) {
    slwi_elf_symbol symbol;
    for (uint64_t i = 0; slwi_elf_symbol_at(&cubin->symbols, i, &symbol); i++) {
        slw_code rc = check_symbol(cubin, i, &symbol);
        if (rc != SLW_OK) return rc;
        cubin->undefined |= needs_of(cubin, &symbol);
        if (is_global(cubin, &symbol)) cubin->module_needs |= SLW_NEEDS_GLOBALS;
        if (!is_kernel(&symbol)) continue;
        if (cubin->kernel_count == SLW_LIMIT_KERNELS) return too_many_kernels(cubin);
        cubin->kernel_count += 1;
    }
    return SLW_OK;
}

static slw_code too_long(const slwi_cubin *cubin, uint64_t size) {
    slwi_error_amount(cubin->err, "names of kernels", size, SLW_LIMIT_NAMES_BYTES, "bytes");
    return slwi_fail(cubin->err, SLW_E_LIMIT, "NAMES_TOO_LONG", "the names of the kernels are too long together");
}

static slw_code read_kernel(slwi_cubin *cubin, uint64_t index, const slwi_elf_symbol *symbol, slwi_cubin_kernel *out) {
    uint64_t offset = symbol_offset(cubin, index);
    memset(out, 0, sizeof(*out));
    /* One byte more than is allowed is looked for, so that the limit is what a longer one hits. */
    if (!slwi_elf_string(cubin->strings, symbol->name_offset, SLW_LIMIT_NAME_BYTES + 1, &out->name)) {
        slwi_error_amount(cubin->err, "length of a name", SLW_LIMIT_NAME_BYTES + 1, SLW_LIMIT_NAME_BYTES, "bytes");
        return slwi_fail(cubin->err, SLW_E_LIMIT, "NAME_TOO_LONG", "a kernel's name is longer than a contract holds");
    }
    slw_code rc = slwi_contract_check_name(out->name, cubin->err);
    if (rc != SLW_OK) return rc;
    cubin->name_bytes += out->name.size + 1;
    if (cubin->name_bytes > SLW_LIMIT_NAMES_BYTES) return too_long(cubin, cubin->name_bytes);
    if (!slwi_contract_name_is_text(out->name)) {
        return slwi_cubin_bad(cubin, "BAD_SYMBOL", offset, "a kernel's name is no text");
    }
    if (symbol->section >= SLWI_SHN_RESERVED) {
        return slwi_cubin_bad(cubin, "BAD_SYMBOL", offset + 6, "a kernel stands in no section");
    }
    /* The records about a kernel are found by its section: two in one could not be told apart. */
    slwi_cubin_place *place = &cubin->places[symbol->section];
    if (place->has_kernel) return slwi_cubin_bad(cubin, "BAD_SYMBOL", offset + 6, "two kernels stand in one section");
    place->has_kernel = 1;
    out->symbol = index;
    out->symbol_offset = offset;
    out->section = symbol->section;
    return SLW_OK;
}

slw_code slwi_cubin_read_symbols(slwi_cubin *cubin) {
    slw_code rc = count_kernels(cubin);
    if (rc != SLW_OK) return rc;
    if (cubin->kernel_count == 0) {
        return slwi_cubin_bad(cubin, "NO_ENTRY", cubin->symbols.offset, "the cubin holds no kernels");
    }
    cubin->kernels = slwi_alloc_array(cubin->allocator, cubin->kernel_count, sizeof(*cubin->kernels));
    if (cubin->kernels == NULL) {
        return slwi_fail_memory(cubin->err, cubin->kernel_count * sizeof(*cubin->kernels));
    }
    slwi_elf_symbol symbol;
    uint32_t next = 0;
    for (uint64_t i = 0; slwi_elf_symbol_at(&cubin->symbols, i, &symbol); i++) {
        if (!is_kernel(&symbol)) continue;
        rc = read_kernel(cubin, i, &symbol, &cubin->kernels[next]);
        if (rc != SLW_OK) return rc;
        next++;
    }
    return SLW_OK;
}

slwi_cubin_kernel *slwi_cubin_kernel_of(const slwi_cubin *cubin, uint64_t symbol) {
    uint32_t low = 0;
    uint32_t high = cubin->kernel_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        slwi_cubin_kernel *kernel = &cubin->kernels[middle];
        if (kernel->symbol == symbol) return kernel;
        if (kernel->symbol < symbol) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}
