/* Which architecture a cubin is for. The number stands in the header's flags, in two layouts; what follows it ('a',
 * 'f') in one of three places, as the toolkits went on:
 *
 *   OS ABI 0x33, version 7 (CUDA up to 12.x; sm_100 and up not):  flags bits 0-7 number, 0x800 'a'
 *   OS ABI 0x41, version 8 (CUDA 12.8 and 12.9 for sm_100 and up): flags bits 8-15 number, 0x8 'a'
 *   OS ABI 0x41, version 8 (CUDA 13):                              flags bits 8-15 number, .nv.compat attribute 9 'a'
 *
 * 'f' stands only in the command line that the note .note.nv.tkinfo keeps. Tried with ptxas 12.4, 12.9, 13.0 and 13.5
 * for every architecture each of them knows. A pair of ABI numbers that nobody has seen is taken for the newest layout.
 */
#include <stdio.h>
#include <string.h>

#include "cubin_state.h"
#include "fail.h"
#include "reader.h"

#define OS_ABI_OLD      0x33u
#define ABI_VERSION_OLD 7u

#define OLD_FLAG_VARIANT_A 0x800u
#define NEW_FLAG_VARIANT_A 0x8u

#define COMPAT_ACCELERATOR_TARGET 0x09u

#define NOTE_HEADER_BYTES 12u
#define NOTE_TOOLKIT      2000u

static uint64_t padded(uint64_t size) {
    return (size + 3u) & ~(uint64_t)3u;
}

static int is_space(char c) {
    return c == ' ' || c == '\t' || c == '=' || c == '\0';
}

/* 'a' or 'f' behind `wanted` ("sm_100") at `at`; 0: it is something else. */
static char variant_at(const char *text, size_t size, size_t at, const char *wanted) {
    size_t length = strlen(wanted);
    if (size - at <= length || memcmp(text + at, wanted, length) != 0) return 0;
    if (at > 0 && !is_space(text[at - 1])) return 0;
    char variant = text[at + length];
    if (variant != 'a' && variant != 'f') return 0;
    if (at + length + 1 < size && !is_space(text[at + length + 1])) return 0;
    return variant;
}

/* The words of the compiler's command line are text somewhere in the note: versions, then offsets, then strings. */
static char variant_in_text(slw_bytes text, const char *wanted) {
    const char *data = text.data;
    size_t at = 0;
    while (at < text.size) {
        const char *found = memchr(data + at, 's', text.size - at);
        if (found == NULL) return 0;
        at = (size_t)(found - data);
        char variant = variant_at(data, text.size, at, wanted);
        if (variant != 0) return variant;
        at++;
    }
    return 0;
}

/* One note section; notes that do not fit end the walk: they are no part of what is needed. */
static char variant_in_notes(slw_bytes notes, const char *wanted) {
    uint64_t at = 0;
    uint32_t name_size;
    uint32_t text_size;
    uint32_t type;
    while (slwi_read_u32(notes, at, &name_size) && slwi_read_u32(notes, at + 4, &text_size) &&
           slwi_read_u32(notes, at + 8, &type)) {
        slw_bytes text;
        uint64_t text_at = at + NOTE_HEADER_BYTES + padded(name_size);
        if (!slwi_window(notes, text_at, text_size, &text)) return 0;
        if (type == NOTE_TOOLKIT) {
            char variant = variant_in_text(text, wanted);
            if (variant != 0) return variant;
        }
        at = text_at + padded(text_size);
    }
    return 0;
}

static slw_code variant_by_note(const slwi_cubin *cubin, char *variant) {
    char wanted[16];
    (void)snprintf(wanted, sizeof(wanted), "sm_%u", (unsigned)cubin->number);
    for (uint32_t i = 0; i < cubin->elf.section_count && *variant == 0; i++) {
        slwi_elf_section section;
        slw_code rc = slwi_elf_section_at(&cubin->elf, i, &section, cubin->err);
        if (rc != SLW_OK) return rc;
        if (section.type == SLWI_SHT_NOTE) *variant = variant_in_notes(section.bytes, wanted);
    }
    return SLW_OK;
}

/* Attribute 9 of .nv.compat: 0 for none of its own, 1 for 'a'. A value nobody has seen says nothing here. */
static slw_code variant_by_compat(const slwi_cubin *cubin, char *variant) {
    slwi_cubin_walk walk = {cubin->compat, 0, cubin->compat_offset};
    slwi_cubin_record record;
    slw_code rc;
    while ((rc = slwi_cubin_next_record(&cubin->elf, &walk, &record, cubin->err)) == SLW_OK) {
        if (record.attribute == COMPAT_ACCELERATOR_TARGET && record.format == SLWI_CUBIN_BVAL && record.value == 1) {
            *variant = 'a';
        }
    }
    return rc == SLW_E_MISS ? SLW_OK : rc;
}

slw_code slwi_cubin_read_target(slwi_cubin *cubin) {
    const slwi_elf *elf = &cubin->elf;
    char variant = 0;
    slw_code rc = SLW_OK;
    if (elf->os_abi == OS_ABI_OLD && elf->abi_version <= ABI_VERSION_OLD) {
        cubin->number = elf->flags & 0xffu;
        if (elf->flags & OLD_FLAG_VARIANT_A) variant = 'a';
    } else {
        cubin->number = (elf->flags >> 8) & 0xffu;
        if (elf->flags & NEW_FLAG_VARIANT_A) variant = 'a';
        if (variant == 0) rc = variant_by_compat(cubin, &variant);
    }
    if (rc != SLW_OK) return rc;
    if (cubin->number < 10) {
        return slwi_cubin_bad(cubin, "NO_TARGET", 48, "the header's flags name no architecture");
    }
    if (variant == 0) rc = variant_by_note(cubin, &variant);
    if (rc != SLW_OK) return rc;
    (void)snprintf(cubin->target, sizeof(cubin->target), "sm_%u%.1s", (unsigned)cubin->number,
                   variant == 0 ? "" : (variant == 'a' ? "a" : "f"));
    return SLW_OK;
}
