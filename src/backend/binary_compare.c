/* Two builds of one thing, compared: whether the bytes that differ are those of debug sections alone.
 *
 * Files are said to differ in debug sections only where everything else is equal: the header (but for where the section
 * table lies), each section that is no debug section with all that its header says, and each segment but for the
 * build-id in it. In doubt they differ. */
#include "backends.h"

#include <string.h>

#include "elf_view.h"

#define HEADER_BYTES       64u
#define SECTION_OFFSET_AT  40u /* e_shoff: debug sections before the table move it */
#define SECTION_OFFSET_END 48u

/* Where two runs of bytes differ first; the shorter size where one is the other's beginning. */
static size_t first_difference(slw_bytes a, slw_bytes b) {
    const uint8_t *x = a.data, *y = b.data;
    const size_t size = a.size < b.size ? a.size : b.size;
    size_t at = 0;
    while (size - at >= 4096 && memcmp(x + at, y + at, 4096) == 0) at += 4096;
    while (at < size && x[at] == y[at]) at++;
    return at;
}

static int same_bytes(slw_bytes a, slw_bytes b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static int begins_with(slw_bytes name, const char *text) {
    const size_t size = strlen(text);
    return name.size >= size && memcmp(name.data, text, size) == 0;
}

static int is_build_id(const slwi_elf_section *section) {
    static const char name[] = ".note.gnu.build-id";
    return section->type == SLWI_SHT_NOTE && section->name.size == sizeof name - 1 && begins_with(section->name, name);
}

/* What no launch ever loads and no reader of a contract looks at; the relocations of such sections too. */
static int is_debug(const slwi_elf_section *section) {
    static const char *const beginnings[] = {".debug_", ".zdebug_", ".nv_debug", ".stab", ".gnu_debug", ".gdb_index"};
    slw_bytes name = section->name;
    if ((section->flags & SLWI_SHF_ALLOC) != 0) return 0;
    const size_t prefix = begins_with(name, ".rela.") ? 5 : begins_with(name, ".rel.") ? 4 : 0;
    name = (slw_bytes){(const char *)name.data + prefix, name.size - prefix};
    if (name.size == 5 && begins_with(name, ".line")) return 1;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        if (begins_with(name, beginnings[i])) return 1;
    }
    return 0;
}

/* All that a section header says, but where in the file the bytes lie and how many they are. */
static int same_header(const slwi_elf_section *a, const slwi_elf_section *b) {
    return same_bytes(a->name, b->name) && a->type == b->type && a->link == b->link && a->info == b->info &&
           a->flags == b->flags && a->address == b->address && a->alignment == b->alignment &&
           a->entry_size == b->entry_size;
}

static void say(slwi_binary_difference *out, slwi_difference kind, uint64_t offset, slw_bytes section) {
    out->kind = kind;
    out->offset_bytes = offset;
    const size_t size = section.size < sizeof out->section - 1 ? section.size : sizeof out->section - 1;
    if (size > 0) memcpy(out->section, section.data, size);
    out->section[size] = '\0';
}

/* 1: the same, or debug sections that differ, and the first of them is said in `debug`; 0: said in `out` where they
   differ. */
static int compare_section(const slwi_elf *a, const slwi_elf *b, uint32_t index, slwi_binary_difference *debug,
                           slwi_binary_difference *out) {
    slwi_elf_section x = {0}, y = {0};
    if (slwi_elf_section_at(a, index, &x, NULL) != SLW_OK || slwi_elf_section_at(b, index, &y, NULL) != SLW_OK)
        return 0;
    const int same = same_header(&x, &y);
    if (same && x.size == y.size && same_bytes(x.bytes, y.bytes)) return 1;
    if (same && (is_debug(&x) || (is_build_id(&x) && x.size == y.size))) {
        if (debug->kind == SLWI_SAME)
            say(debug, SLWI_DEBUG_ONLY, x.offset + first_difference(x.bytes, y.bytes), x.name);
        return 1;
    }
    say(out, SLWI_DIFFERS, x.offset + (same ? first_difference(x.bytes, y.bytes) : 0), x.name);
    return 0;
}

/* The end of what may differ and lies in a segment: the build-id, or where the header says that the section table
   lies, if they hold this offset; else 0. */
static uint64_t end_of_free_bytes(const slwi_elf *elf, uint64_t offset) {
    if (offset >= SECTION_OFFSET_AT && offset < SECTION_OFFSET_END) return SECTION_OFFSET_END;
    for (uint32_t i = 0; i < elf->section_count; i++) {
        slwi_elf_section section = {0};
        if (slwi_elf_section_at(elf, i, &section, NULL) != SLW_OK) return 0;
        if (is_build_id(&section) && offset >= section.offset && offset - section.offset < section.bytes.size)
            return section.offset + section.bytes.size;
    }
    return 0;
}

/* Segments may overlap, and files be made to waste time: `budget` bytes are compared in all. */
static int compare_segment(const slwi_elf *a, const slwi_elf *b, uint32_t index, uint64_t *budget,
                           slwi_binary_difference *out) {
    slwi_elf_segment x = {0}, y = {0};
    static const slw_bytes no_name = {"", 0};
    if (slwi_elf_segment_at(a, index, &x, NULL) != SLW_OK || slwi_elf_segment_at(b, index, &y, NULL) != SLW_OK)
        return 0;
    const int same = x.type == y.type && x.flags == y.flags && x.address == y.address &&
                     x.memory_size == y.memory_size && x.alignment == y.alignment && x.bytes.size == y.bytes.size;
    if (!same || x.bytes.size > *budget) {
        say(out, SLWI_DIFFERS, x.offset, no_name);
        return 0;
    }
    *budget -= x.bytes.size;
    for (size_t at = 0;;) {
        const slw_bytes rest = {(const uint8_t *)x.bytes.data + at, x.bytes.size - at};
        const slw_bytes other = {(const uint8_t *)y.bytes.data + at, y.bytes.size - at};
        at += first_difference(rest, other);
        if (at == x.bytes.size) return 1;
        const uint64_t end = end_of_free_bytes(a, x.offset + at);
        if (end == 0 || end_of_free_bytes(b, y.offset + at) == 0) {
            say(out, SLWI_DIFFERS, x.offset + at, no_name);
            return 0;
        }
        at = end - x.offset < x.bytes.size ? (size_t)(end - x.offset) : x.bytes.size;
    }
}

static int same_elf_headers(const slwi_elf *a, const slwi_elf *b) {
    const uint8_t *x = a->file.data, *y = b->file.data;
    return a->section_count == b->section_count && a->segment_count == b->segment_count &&
           memcmp(x, y, SECTION_OFFSET_AT) == 0 &&
           memcmp(x + SECTION_OFFSET_END, y + SECTION_OFFSET_END, HEADER_BYTES - SECTION_OFFSET_END) == 0;
}

/* `out` holds the first byte that differs, as in any file; refined where both are ELF. */
static void compare_elf(slw_bytes a, slw_bytes b, slwi_binary_difference *out) {
    slwi_elf x, y;
    slwi_binary_difference debug = {.kind = SLWI_SAME};
    if (slwi_elf_open(a, NULL, &x, NULL) != SLW_OK || slwi_elf_open(b, NULL, &y, NULL) != SLW_OK) return;
    if (!same_elf_headers(&x, &y)) return;
    for (uint32_t i = 0; i < x.section_count; i++) {
        if (!compare_section(&x, &y, i, &debug, out)) return;
    }
    uint64_t budget = 8 * (uint64_t)a.size;
    for (uint32_t i = 0; i < x.segment_count; i++) {
        if (!compare_segment(&x, &y, i, &budget, out)) return;
    }
    /* Only what lies between the sections differs where no section does. */
    if (debug.kind != SLWI_SAME) *out = debug;
}

void slwi_binary_compare(slw_bytes a, slw_bytes b, slwi_binary_difference *out) {
    memset(out, 0, sizeof *out);
    if (same_bytes(a, b)) return;
    out->kind = SLWI_DIFFERS;
    out->offset_bytes = first_difference(a, b);
    compare_elf(a, b, out);
}
