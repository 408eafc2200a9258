#include "host_dynamic.h"

#include <slipway/host_kernel.h>
#include <slipway/limits.h>
#include <string.h>

#include "fail.h"
#include "host_target.h"
#include "memory.h"

#define DT_NULL_      0u
#define DT_NEEDED_    1u
#define DT_STRTAB_    5u
#define DT_SYMTAB_    6u
#define DT_STRSZ_     10u
#define DT_RPATH_     15u
#define DT_RUNPATH_   29u
#define DT_CONFIG_    0x6ffffefau
#define DT_DEPAUDIT_  0x6ffffefbu
#define DT_AUDIT_     0x6ffffefcu
#define DT_AUXILIARY_ 0x7ffffffdu
#define DT_FILTER_    0x7fffffffu

#define STT_FUNC_              2u
#define STB_GLOBAL_            1u
#define STB_WEAK_              2u
#define STV_DEFAULT_           0u
#define STV_PROTECTED_         3u
#define FIRST_RESERVED_SECTION 0xff00u

#define LIBRARY_NAME_MAX 255u

/* The C library in its parts, the compiler's support library, the loader: what every process of this kind has anyway.
   */
static const char *const glibc_libraries[] = {
    "libc.so.6",
    "libm.so.6",
    "libmvec.so.1",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libgcc_s.so.1",
    "libatomic.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
    "ld-linux-riscv64-lp64d.so.1",
    NULL,
};

/* 1: glibc's, 2: musl's, 3: of both, 0: not on the list. */
static int library_family(const char *name) {
    if (strcmp(name, "libgcc_s.so.1") == 0 || strcmp(name, "libatomic.so.1") == 0) return 3;
    for (size_t i = 0; glibc_libraries[i] != NULL; i++) {
        if (strcmp(glibc_libraries[i], name) == 0) return 1;
    }
    if (strcmp(name, "libc.so") == 0) return 2;
    if (strncmp(name, "libc.musl-", 10) == 0 && strchr(name, '/') == NULL) return 2;
    return 0;
}

int slwi_host_library_allowed(const char *name) {
    return library_family(name) != 0;
}

typedef struct dynamic {
    const slwi_elf *elf;
    slw_bytes entries;
    uint64_t offset; /* in the file */
    uint64_t strings_address, strings_size, symbols_address;
    slw_bytes strings;
    slw_error *err;
} dynamic;

static slw_code bad_dynamic(const dynamic *d, const char *what) {
    return slwi_elf_bad(d->elf, d->err, "BAD_DYNAMIC", d->offset, what);
}

/* Segments to load must rise and not overlap, so that an address means the same bytes to the loader and to us. */
static slw_code find_segments(dynamic *d) {
    uint64_t loaded_end = 0;
    uint32_t loads = 0;
    uint32_t dynamics = 0;
    slwi_elf_segment at_dynamic;
    memset(&at_dynamic, 0, sizeof(at_dynamic));
    for (uint32_t i = 0; i < d->elf->segment_count; i++) {
        slwi_elf_segment segment;
        slw_code rc = slwi_elf_segment_at(d->elf, i, &segment, d->err);
        if (rc != SLW_OK) return rc;
        if (segment.type == SLWI_PT_LOAD) {
            if (segment.address < loaded_end) {
                return slwi_elf_bad(d->elf, d->err, "BAD_SEGMENT", segment.offset,
                                    "segments overlap or are out of order");
            }
            loaded_end = segment.address + segment.memory_size;
            loads++;
        }
        if (segment.type == SLWI_PT_DYNAMIC) {
            at_dynamic = segment;
            dynamics++;
        }
    }
    d->offset = at_dynamic.offset;
    if (loads == 0 || dynamics != 1) return bad_dynamic(d, "there is not exactly one dynamic segment");
    slw_bytes mapped;
    if (!slwi_elf_bytes_at_address(d->elf, at_dynamic.address, &mapped) || mapped.data != at_dynamic.bytes.data ||
        mapped.size < at_dynamic.bytes.size) {
        return bad_dynamic(d, "the dynamic segment is not where it is loaded");
    }
    d->entries = at_dynamic.bytes;
    return SLW_OK;
}

static slw_code read_places(dynamic *d) {
    uint64_t tag;
    uint64_t value;
    for (uint64_t i = 0;; i++) {
        if (!slwi_elf_dynamic_at(d->entries, i, &tag, &value))
            return bad_dynamic(d, "the dynamic section does not end");
        if (tag == DT_NULL_) break;
        if (tag == DT_STRTAB_) d->strings_address = value;
        if (tag == DT_STRSZ_) d->strings_size = value;
        if (tag == DT_SYMTAB_) d->symbols_address = value;
    }
    if (!slwi_elf_bytes_at_address(d->elf, d->strings_address, &d->strings) || d->strings.size < d->strings_size) {
        return bad_dynamic(d, "the dynamic strings are not in the file");
    }
    d->strings.size = (size_t)d->strings_size;
    return SLW_OK;
}

static slw_code check_library(const dynamic *d, uint64_t offset) {
    slw_bytes name;
    if (!slwi_elf_string(d->strings, offset, LIBRARY_NAME_MAX, &name))
        return bad_dynamic(d, "a library's name does not end");
    const char *text = name.data; /* the NUL was seen */
    int family = library_family(text);
    if (family == 0) {
        slwi_error_subject(d->err, text, name.size);
        slwi_error_hint(d->err, "a host kernel may use the C library only");
        return slwi_elf_bad(d->elf, d->err, "LIBRARY", d->offset, "the binary needs a library that is not on the list");
    }
    int mine = slwi_host_is_musl() ? 2 : 1;
    if ((family & mine) == 0) {
        slwi_error_subject(d->err, text, name.size);
        return slwi_fail(d->err, SLW_E_TARGET_MISMATCH, "C_LIBRARY", "the binary needs %s, this process is %s", text,
                         slwi_host_target());
    }
    return SLW_OK;
}

static slw_code check_entries(const dynamic *d) {
    uint64_t tag;
    uint64_t value;
    for (uint64_t i = 0; slwi_elf_dynamic_at(d->entries, i, &tag, &value) && tag != DT_NULL_; i++) {
        slw_code rc = SLW_OK;
        switch (tag) {
        case DT_NEEDED_:
            rc = check_library(d, value);
            break;
        case DT_RPATH_:
        case DT_RUNPATH_:
            rc = slwi_elf_bad(d->elf, d->err, "SEARCH_PATH", d->offset,
                              "the binary has a library search path (RPATH or RUNPATH)");
            break;
        case DT_CONFIG_:
        case DT_DEPAUDIT_:
        case DT_AUDIT_:
        case DT_AUXILIARY_:
        case DT_FILTER_:
            rc = slwi_elf_bad(d->elf, d->err, "LIBRARY", d->offset, "the binary names an audit or filter library");
            break;
        default:
            break;
        }
        if (rc != SLW_OK) return rc;
    }
    return SLW_OK;
}

/* ---- symbols ---- */

/* The section the loader's table is: found by type and held against the dynamic segment. */
static slw_code find_symbols(const dynamic *d, slwi_elf_section *symbols) {
    for (uint32_t i = 0; i < d->elf->section_count; i++) {
        slw_code rc = slwi_elf_section_at(d->elf, i, symbols, d->err);
        if (rc != SLW_OK) return rc;
        if (symbols->type != SLWI_SHT_DYNSYM) continue;
        slwi_elf_section strings;
        rc = slwi_elf_section_at(d->elf, symbols->link, &strings, d->err);
        if (rc != SLW_OK) return rc;
        if (symbols->address != d->symbols_address || strings.address != d->strings_address) {
            return bad_dynamic(d, "the dynamic symbols are not where the loader looks for them");
        }
        return SLW_OK;
    }
    return bad_dynamic(d, "there are no dynamic symbols");
}

static int is_exported_function(const slwi_elf_symbol *symbol) {
    if (symbol->type != STT_FUNC_ || symbol->section == 0 || symbol->section >= FIRST_RESERVED_SECTION) return 0;
    if (symbol->binding != STB_GLOBAL_ && symbol->binding != STB_WEAK_) return 0;
    return symbol->visibility == STV_DEFAULT_ || symbol->visibility == STV_PROTECTED_;
}

/* The executable segments, apart: a file may have tens of thousands of segments and millions of symbols, and asking
   every one for every other took minutes. */
typedef struct code_ranges {
    struct code_range {
        uint64_t address, size;
    } * items; /* rising, as the segments are */
    size_t count;
} code_ranges;

static slw_code find_code(const dynamic *d, const slw_allocator *allocator, code_ranges *out) {
    out->count = 0;
    out->items = slwi_alloc_array(allocator, d->elf->segment_count, sizeof(*out->items));
    if (out->items == NULL) return slwi_fail_memory(d->err, d->elf->segment_count * sizeof(*out->items));
    for (uint32_t i = 0; i < d->elf->segment_count; i++) {
        slwi_elf_segment segment;
        if (slwi_elf_segment_at(d->elf, i, &segment, NULL) != SLW_OK) continue;
        if (segment.type != SLWI_PT_LOAD || (segment.flags & SLWI_PF_X) == 0) continue;
        out->items[out->count].address = segment.address;
        out->items[out->count++].size = segment.bytes.size;
    }
    return SLW_OK;
}

static int is_executable(const code_ranges *code, uint64_t address) {
    size_t low = 0;
    size_t high = code->count;
    while (low < high) { /* the last that begins at or before the address */
        size_t middle = low + (high - low) / 2;
        if (code->items[middle].address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    /* Of several that begin at one address all but the last are empty. */
    return low != 0 && address - code->items[low - 1].address < code->items[low - 1].size;
}

static const slw_kernel_contract *find_kernel(const slw_kernel_contract *kernels, uint32_t count, const char *name) {
    slw_contract view;
    memset(&view, 0, sizeof(view));
    view.kernels = kernels;
    view.kernel_count = count;
    return slw_contract_find(&view, name);
}

/* One pass over the symbols; `found` has a byte for each kernel. */
static void mark_functions(const dynamic *d, const slwi_elf_section *symbols, const code_ranges *code,
                           const slw_kernel_contract *kernels, uint32_t count, uint8_t *found) {
    slwi_elf_symbol symbol;
    for (uint64_t i = 0; slwi_elf_symbol_at(symbols, i, &symbol); i++) {
        slw_bytes name;
        if (!is_exported_function(&symbol)) continue;
        if (!slwi_elf_string(d->strings, symbol.name_offset, SLW_HOST_KERNEL_NAME_BYTES - 1, &name)) continue;
        const slw_kernel_contract *kernel = find_kernel(kernels, count, name.data);
        if (kernel != NULL && is_executable(code, symbol.value)) found[kernel - kernels] = 1;
    }
}

static slw_code check_functions(const dynamic *d, const slw_kernel_contract *kernels, uint32_t count,
                                const slw_allocator *allocator) {
    slwi_elf_section symbols = {0};
    code_ranges code;
    slw_code rc = find_symbols(d, &symbols);
    if (rc == SLW_OK) rc = find_code(d, allocator, &code);
    if (rc != SLW_OK) return rc;
    uint32_t missing = 0;
    uint8_t *found = slwi_alloc_zero(allocator, count);
    if (found != NULL) mark_functions(d, &symbols, &code, kernels, count, found);
    while (found != NULL && missing < count && found[missing]) missing++;
    slwi_free(allocator, code.items);
    if (found == NULL) return slwi_fail_memory(d->err, count);
    slwi_free(allocator, found);
    if (missing == count) return SLW_OK;
    slwi_error_kernel(d->err, kernels[missing].name, NULL);
    return slwi_elf_bad(d->elf, d->err, "NO_ENTRY", symbols.offset,
                        "a kernel's function is not defined or not exported");
}

slw_code slwi_host_check_dynamic(const slwi_elf *elf, const slw_kernel_contract *kernels, uint32_t kernel_count,
                                 const slw_allocator *allocator, slw_error *err) {
    dynamic d;
    memset(&d, 0, sizeof(d));
    d.elf = elf;
    d.err = err;
    slw_code rc = find_segments(&d);
    if (rc == SLW_OK) rc = read_places(&d);
    if (rc == SLW_OK) rc = check_entries(&d);
    if (rc == SLW_OK) rc = check_functions(&d, kernels, kernel_count, allocator);
    return rc;
}
