/* Kernel descriptors: 64 bytes a kernel in read-only data, found by symbol. They say again what the note says of
 * memory: the hardware goes by them, the launch by the note, so they must agree. */
#include <slipway/limits.h>
#include <string.h>

#include "amdgcn_state.h"
#include "fail.h"
#include "heap_sort.h"
#include "memory.h"
#include "reader.h"

#define SYMBOL_BYTES     24u
#define DESCRIPTOR_BYTES 64u
#define ENTRY_OFFSET     16u /* of the kernel's code from the descriptor, in the descriptor */

typedef struct object_symbol {
    slw_bytes name;
    uint64_t value;
    uint64_t size;
    uint32_t table; /* 0: .dynsym, 1: .symtab */
} object_symbol;

typedef struct load {
    slw_bytes bytes;
    uint64_t address;
    uint64_t offset;
    uint32_t flags;
} load;

typedef struct descriptors {
    const slwi_amdgcn *r;
    slwi_elf_section tables[2];
    slw_bytes strings[2];
    object_symbol *symbols; /* by name, then by table */
    size_t symbol_count;
    load *loads; /* in order of address */
    uint32_t load_count;
    uint64_t names_left; /* bytes of names that may still be read */
} descriptors;

/* ---- symbols ---- */

static slw_code bad_symbols(const descriptors *d, const char *reason, uint64_t offset, const char *what) {
    return slwi_elf_bad(&d->r->elf, d->r->err, reason, offset, what);
}

static slw_code take_table(descriptors *d, uint32_t table, const slwi_elf_section *section) {
    slwi_elf_section strings = {0};
    if (d->tables[table].type != 0) {
        return bad_symbols(d, "BAD_SYMBOL", section->offset, "there are two symbol tables of one kind");
    }
    if (section->entry_size != SYMBOL_BYTES || section->bytes.size % SYMBOL_BYTES != 0) {
        return bad_symbols(d, "BAD_SYMBOL", section->offset, "a symbol table is no table of symbols");
    }
    slw_code rc = slwi_elf_section_at(&d->r->elf, section->link, &strings, d->r->err);
    if (rc != SLW_OK) return rc;
    if (strings.type != SLWI_SHT_STRTAB) {
        return bad_symbols(d, "BAD_SYMBOL", section->offset, "a symbol table has no names");
    }
    d->tables[table] = *section;
    d->strings[table] = strings.bytes;
    return SLW_OK;
}

static slw_code find_tables(descriptors *d) {
    for (uint32_t i = 0; i < d->r->elf.section_count; i++) {
        slwi_elf_section section = {0};
        slw_code rc = slwi_elf_section_at(&d->r->elf, i, &section, d->r->err);
        if (rc == SLW_OK && section.type == SLWI_SHT_DYNSYM) rc = take_table(d, 0, &section);
        if (rc == SLW_OK && section.type == SLWI_SHT_SYMTAB) rc = take_table(d, 1, &section);
        if (rc != SLW_OK) return rc;
    }
    if (d->tables[0].type != 0 || d->tables[1].type != 0) return SLW_OK;
    return bad_symbols(d, "MISSING", d->r->elf.section_offset, "the code object has no symbol table");
}

static int is_descriptor(const slwi_elf_symbol *symbol) {
    return symbol->type == SLWI_STT_OBJECT && symbol->section != SLWI_SHN_UNDEFINED;
}

static size_t count_objects(const slwi_elf_section *table) {
    size_t count = 0;
    slwi_elf_symbol symbol;
    for (uint64_t i = 0; slwi_elf_symbol_at(table, i, &symbol); i++) count += (size_t)is_descriptor(&symbol);
    return count;
}

/* Names may stand over one another in the table of strings: what is read is bounded, so that the time is linear. */
static slw_code read_name(descriptors *d, uint32_t table, uint64_t index, uint32_t offset, slw_bytes *out) {
    uint64_t at = d->tables[table].offset + index * SYMBOL_BYTES;
    if (!slwi_elf_string(d->strings[table], offset, SLW_LIMIT_NAME_BYTES, out)) {
        return bad_symbols(d, "BAD_SYMBOL", at, "the name of a symbol does not end, or is too long");
    }
    if (out->size >= d->names_left) {
        return slwi_amdgcn_over(d->r, "NAMES_TOO_LONG", "bytes of symbol names", d->names_left + 1, d->names_left);
    }
    d->names_left -= out->size + 1;
    return SLW_OK;
}

static slw_code take_symbols(descriptors *d, uint32_t table) {
    slwi_elf_symbol symbol;
    d->names_left = SLW_LIMIT_NAMES_BYTES + d->strings[table].size;
    for (uint64_t i = 0; slwi_elf_symbol_at(&d->tables[table], i, &symbol); i++) {
        if (!is_descriptor(&symbol)) continue;
        object_symbol *to = &d->symbols[d->symbol_count];
        slw_code rc = read_name(d, table, i, symbol.name_offset, &to->name);
        if (rc != SLW_OK) return rc;
        to->value = symbol.value;
        to->size = symbol.size;
        to->table = table;
        d->symbol_count += 1;
    }
    return SLW_OK;
}

static int by_text(slw_bytes a, slw_bytes b) {
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common == 0 ? 0 : memcmp(a.data, b.data, common);
    if (order != 0) return order;
    return (a.size > b.size) - (a.size < b.size);
}

static int by_name(const void *a, const void *b) {
    const object_symbol *left = a;
    const object_symbol *right = b;
    int order = by_text(left->name, right->name);
    return order != 0 ? order : (left->table > right->table) - (left->table < right->table);
}

static slw_code index_symbols(descriptors *d) {
    slw_code rc = find_tables(d);
    if (rc != SLW_OK) return rc;
    size_t count = 0;
    for (uint32_t t = 0; t < 2; t++) count += count_objects(&d->tables[t]);
    d->symbols = slwi_alloc_array(d->r->allocator, count, sizeof(*d->symbols));
    if (d->symbols == NULL) return slwi_fail_memory(d->r->err, count * sizeof(*d->symbols));
    for (uint32_t t = 0; rc == SLW_OK && t < 2; t++) rc = take_symbols(d, t);
    if (rc == SLW_OK) slwi_heap_sort(d->symbols, d->symbol_count, sizeof(*d->symbols), by_name);
    return rc;
}

/* The first symbol of that name: the dynamic one where there are two. */
static const object_symbol *find_symbol(const descriptors *d, slw_bytes name) {
    size_t low = 0;
    size_t high = d->symbol_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_text(d->symbols[middle].name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == d->symbol_count || by_text(d->symbols[low].name, name) != 0) return NULL;
    return &d->symbols[low];
}

/* ---- addresses ---- */

/* Segments to load stand in the order of their addresses and not over one another (the ELF rule), so that one is found
   by halving. */
static slw_code read_loads(descriptors *d) {
    const slwi_elf *elf = &d->r->elf;
    uint64_t end = 0;
    d->loads = slwi_alloc_array(d->r->allocator, elf->segment_count, sizeof(*d->loads));
    if (d->loads == NULL) return slwi_fail_memory(d->r->err, elf->segment_count * sizeof(*d->loads));
    for (uint32_t i = 0; i < elf->segment_count; i++) {
        slwi_elf_segment segment = {0};
        slw_code rc = slwi_elf_segment_at(elf, i, &segment, d->r->err);
        if (rc != SLW_OK) return rc;
        if (segment.type != SLWI_PT_LOAD) continue;
        if (segment.address < end) {
            return slwi_elf_bad(elf, d->r->err, "BAD_SEGMENT", elf->segment_offset,
                                "segments are out of order or stand over one another");
        }
        end = segment.address + segment.memory_size; /* slwi_elf_open has seen that it does not overflow */
        load *to = &d->loads[d->load_count++];
        to->bytes = segment.bytes;
        to->address = segment.address;
        to->offset = segment.offset;
        to->flags = segment.flags;
    }
    return SLW_OK;
}

/* The segment whose file part holds `size` bytes from `address`; NULL: none. */
static const load *find_load(const descriptors *d, uint64_t address, uint64_t size) {
    size_t low = 0;
    size_t high = d->load_count;
    while (low < high) { /* the first that starts behind it */
        size_t middle = low + (high - low) / 2;
        if (d->loads[middle].address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) return NULL;
    const load *found = &d->loads[low - 1];
    uint64_t into = address - found->address;
    if (into > found->bytes.size || size > found->bytes.size - into) return NULL;
    return found;
}

/* ---- one kernel ---- */

static slw_code bad_kernel(const descriptors *d, const slwi_amdgcn_kernel *kernel, const char *reason, uint64_t offset,
                           const char *what) {
    slwi_amdgcn_name_kernel(d->r, kernel);
    slwi_error_subject(d->r->err, kernel->symbol.data, kernel->symbol.size);
    return slwi_elf_bad(&d->r->elf, d->r->err, reason, offset, what);
}

static slw_code compare(const descriptors *d, const slwi_amdgcn_kernel *kernel, uint64_t offset, slw_bytes descriptor) {
    static const char *const subjects[] = {"group_segment_fixed_size", "private_segment_fixed_size",
                                           "kernarg_segment_size"};
    static const uint32_t places[] = {0, 4, 8};
    uint32_t said[3] = {kernel->group_bytes, kernel->private_bytes, kernel->kernarg_bytes};
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t is = 0;
        (void)slwi_read_u32(descriptor, places[i], &is);
        if (is == said[i]) continue;
        slwi_amdgcn_name_kernel(d->r, kernel);
        if (d->r->elf.name != NULL) slwi_error_path(d->r->err, d->r->elf.name);
        slwi_error_place(d->r->err, 0, 0, offset + places[i]);
        slwi_error_subject(d->r->err, subjects[i], strlen(subjects[i]));
        return slwi_fail(d->r->err, SLW_E_CONTRACT_MISMATCH, "DESCRIPTOR",
                         "%s: the note says %lu, the kernel descriptor says %lu", subjects[i], (unsigned long)said[i],
                         (unsigned long)is);
    }
    return SLW_OK;
}

static slw_code check_kernel(const descriptors *d, const slwi_amdgcn_kernel *kernel) {
    const object_symbol *symbol = find_symbol(d, kernel->symbol);
    uint64_t note_at = d->r->note_offset + kernel->at;
    if (symbol == NULL) return bad_kernel(d, kernel, "BAD_SYMBOL", note_at, "a kernel's descriptor has no symbol");
    const object_symbol *last = symbol;
    while (last + 1 < d->symbols + d->symbol_count && last - symbol < 2 && by_text(last[1].name, symbol->name) == 0) {
        last++;
        if (last->table == last[-1].table) {
            return bad_kernel(d, kernel, "DUPLICATE", note_at, "a kernel's descriptor has two symbols");
        }
        if (last->value != symbol->value) {
            return bad_kernel(d, kernel, "BAD_SYMBOL", note_at, "the symbol tables say two places of a descriptor");
        }
    }
    if (symbol->size != DESCRIPTOR_BYTES) {
        return bad_kernel(d, kernel, "BAD_SYMBOL", note_at, "a kernel descriptor's symbol is not of 64 bytes");
    }
    const load *where = find_load(d, symbol->value, DESCRIPTOR_BYTES);
    if (where == NULL) {
        return bad_kernel(d, kernel, "BAD_DESCRIPTOR", note_at, "a kernel descriptor lies outside the segments");
    }
    slw_bytes descriptor;
    uint64_t code = 0;
    uint64_t into = symbol->value - where->address;
    if (!slwi_window(where->bytes, into, DESCRIPTOR_BYTES, &descriptor)) return SLW_E_INVALID_BINARY; /* found it so */
    (void)slwi_read_u64(descriptor, ENTRY_OFFSET, &code);
    const load *text = find_load(d, symbol->value + code, 4); /* a signed distance: it may wrap */
    if (text == NULL || (text->flags & SLWI_PF_X) == 0) {
        return bad_kernel(d, kernel, "BAD_DESCRIPTOR", where->offset + into + ENTRY_OFFSET,
                          "a kernel starts outside the code");
    }
    return compare(d, kernel, where->offset + into, descriptor);
}

slw_code slwi_amdgcn_check_descriptors(const slwi_amdgcn *r) {
    descriptors d;
    memset(&d, 0, sizeof(d));
    d.r = r;
    for (uint32_t t = 0; t < 2; t++) {
        d.tables[t].bytes.data = "";
        d.strings[t].data = "";
    }
    slw_code rc = index_symbols(&d);
    if (rc == SLW_OK) rc = read_loads(&d);
    for (uint32_t i = 0; rc == SLW_OK && i < r->kernel_count; i++) rc = check_kernel(&d, &r->kernels[i]);
    slwi_free(r->allocator, d.symbols);
    slwi_free(r->allocator, d.loads);
    return rc;
}
