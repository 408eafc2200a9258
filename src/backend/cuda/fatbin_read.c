/* The walk over a fatbin. A container: u32 magic, u16 version, u16 header bytes, u64 bytes of all entries. An entry:
 * u16 kind, u16 version, u32 header bytes, u64 payload bytes with padding, u32 compressed bytes (0: not compressed),
 * u32 options, u16 minor, u16 major, u32 architecture, u32 and u32 the name, u64 flags at 40, u64 uncompressed bytes
 * at 56; then whatever the header's size leaves room for. */
#include "fatbin_read.h"

#include <slipway/limits.h>
#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "elf_view.h"
#include "fail.h"
#include "reader.h"

#define MAGIC                  0xba55ed50u
#define CONTAINER_HEADER_BYTES 16u
#define ENTRY_HEADER_BYTES     64u

#define KIND_PTX    1u
#define KIND_ELF    2u
#define KIND_LTO_IR 8u

#define FLAG_COMPRESSED_OLD 0x1000u /* before LZ4 */
#define FLAG_LZ4            0x2000u
#define FLAG_ZSTD           0x8000u
#define FLAG_VARIANT_A      0x100000u
#define FLAG_VARIANT_F      0x200000u

int slwi_fatbin_recognises(slw_bytes binary) {
    uint32_t magic;
    return slwi_read_u32(binary, 0, &magic) && magic == MAGIC;
}

typedef struct walk {
    slw_bytes file;
    const char *name;
    slw_error *err;
} walk;

static slw_code bad(const walk *w, const char *reason, uint64_t offset, const char *what) {
    if (w->name != NULL) slwi_error_path(w->err, w->name);
    slwi_error_place(w->err, 0, 0, offset);
    return slwi_fail(w->err, SLW_E_INVALID_BINARY, reason, "%s at offset %llu", what, (unsigned long long)offset);
}

/* Loads that the caller has proved to be inside. */
static uint16_t u16(const walk *w, uint64_t offset) {
    uint16_t value = 0;
    (void)slwi_read_u16(w->file, offset, &value);
    return value;
}
static uint32_t u32(const walk *w, uint64_t offset) {
    uint32_t value = 0;
    (void)slwi_read_u32(w->file, offset, &value);
    return value;
}
static uint64_t u64(const walk *w, uint64_t offset) {
    uint64_t value = 0;
    (void)slwi_read_u64(w->file, offset, &value);
    return value;
}

/* ---- containers ---- */

/* A linker may leave zeros between containers of several objects, to the alignment of the section. */
static void skip_zeros(const walk *w, slwi_fatbin_cursor *cursor) {
    uint8_t byte = 0;
    while (slwi_read_u8(w->file, cursor->at, &byte) && byte == 0) cursor->at++;
}

static slw_code read_container(const walk *w, slwi_fatbin_cursor *cursor) {
    uint64_t at = cursor->at;
    uint64_t left = w->file.size - at;
    static const uint8_t magic[4] = {0x50, 0xed, 0x55, 0xba};
    size_t there = left < sizeof(magic) ? (size_t)left : sizeof(magic);
    slw_bytes start = {"", 0};
    if (!slwi_window(w->file, at, there, &start) || memcmp(start.data, magic, there) != 0) {
        return bad(w, "NOT_FATBIN", at, "no fatbin begins");
    }
    if (left < CONTAINER_HEADER_BYTES) return bad(w, "TRUNCATED", w->file.size, "a fatbin's header ends early");
    uint64_t header = u16(w, at + 6);
    uint64_t size = u64(w, at + 8);
    if (header < CONTAINER_HEADER_BYTES) return bad(w, "BAD_HEADER", at + 6, "a fatbin's header is too small");
    uint64_t end;
    if (header > left || size > left - header || slwi_add_u64(at + header, size, &end)) {
        return bad(w, "TRUNCATED", w->file.size, "a fatbin ends past the end of the file");
    }
    cursor->at = at + header;
    cursor->container_end = end;
    return SLW_OK;
}

/* ---- entries ---- */

static const char *compression_of(uint64_t flags, uint32_t compressed_bytes) {
    if (flags & FLAG_ZSTD) return "zstd";
    if (flags & FLAG_LZ4) return "lz4";
    if ((flags & FLAG_COMPRESSED_OLD) || compressed_bytes != 0) return "unknown";
    return NULL;
}

/* A text ends with NUL and is padded with more of them. */
static slw_bytes without_nuls(slw_bytes text) {
    const char *data = text.data;
    while (text.size != 0 && data[text.size - 1] == '\0') text.size--;
    return text;
}

/* The end of everything that an ELF file says is in it. What is behind is padding if it is less than its alignment;
   where the headers make no sense it is for the cubin reader to say. */
static slw_bytes without_padding(slw_bytes image) {
    uint64_t end[2] = {0, 0};
    uint64_t offset;
    uint16_t size;
    uint16_t count;
    slwi_elf elf;
    if (slwi_elf_open(image, NULL, &elf, NULL) != SLW_OK) return image;
    for (uint32_t i = 0; i < elf.section_count; i++) {
        slwi_elf_section section;
        if (slwi_elf_section_at(&elf, i, &section, NULL) != SLW_OK) return image;
        uint64_t here = section.offset + section.bytes.size;
        if (section.bytes.size != 0 && here > end[0]) end[0] = here;
    }
    /* Tables that elf_open proved to be inside. */
    for (uint64_t i = 0; i < 2; i++) {
        if (!slwi_read_u64(image, 32 + 8 * i, &offset) || !slwi_read_u16(image, 54 + 4 * i, &size) ||
            !slwi_read_u16(image, 56 + 4 * i, &count)) {
            return image;
        }
        uint64_t here = offset + (uint64_t)size * count;
        if (count != 0 && here > end[1]) end[1] = here;
    }
    uint64_t whole = end[0] > end[1] ? end[0] : end[1];
    if (whole <= image.size && image.size - whole < 8) image.size = (size_t)whole;
    return image;
}

static void put_payload(slwi_fatbin_entry *entry, slw_bytes payload, uint32_t compressed_bytes) {
    entry->bytes = payload;
    if (compressed_bytes != 0) {
        entry->bytes.size = compressed_bytes;
    } else if (entry->compression != NULL) {
        return; /* how much of it is padding is not said */
    } else if (entry->kind == SLW_IMAGE_PTX) {
        entry->bytes = without_nuls(payload);
    } else if (entry->kind == SLW_IMAGE_CUBIN) {
        entry->bytes = without_padding(payload);
    }
}

static void put_target(slwi_fatbin_entry *entry, uint32_t architecture) {
    const char *variant = "";
    if (entry->flags & FLAG_VARIANT_A) {
        variant = "a";
    } else if (entry->flags & FLAG_VARIANT_F) {
        variant = "f";
    }
    (void)snprintf(entry->target, sizeof(entry->target), "sm_%u%s", (unsigned)architecture, variant);
}

static slw_image_kind kind_of(uint32_t raw_kind) {
    switch (raw_kind) {
    case KIND_PTX:
        return SLW_IMAGE_PTX;
    case KIND_ELF:
        return SLW_IMAGE_CUBIN;
    case KIND_LTO_IR:
        return SLW_IMAGE_LTO_IR;
    default:
        return SLW_IMAGE_UNKNOWN;
    }
}

static slw_code read_entry(const walk *w, slwi_fatbin_cursor *cursor, slwi_fatbin_entry *out) {
    uint64_t at = cursor->at;
    uint64_t left = cursor->container_end - at; /* inside the file */
    if (left < ENTRY_HEADER_BYTES) return bad(w, "BAD_ENTRY", at, "an entry's header does not fit its fatbin");
    uint64_t header = u32(w, at + 4);
    uint64_t padded = u64(w, at + 8);
    uint32_t compressed = u32(w, at + 16);
    if (header < ENTRY_HEADER_BYTES || header > left) {
        return bad(w, "BAD_ENTRY", at + 4, "an entry's header has a size it cannot have");
    }
    if (padded > left - header) return bad(w, "BAD_ENTRY", at + 8, "an entry is larger than its fatbin");
    if (compressed > padded) return bad(w, "BAD_ENTRY", at + 16, "an entry is larger than its padded size");
    slwi_fatbin_entry entry;
    memset(&entry, 0, sizeof(entry));
    entry.raw_kind = u16(w, at);
    entry.kind = kind_of(entry.raw_kind);
    entry.flags = u64(w, at + 40);
    entry.compression = compression_of(entry.flags, compressed);
    entry.uncompressed_bytes = u64(w, at + 56);
    if (entry.uncompressed_bytes > SLW_LIMIT_BINARY_BYTES) {
        slwi_error_amount(w->err, "image size", entry.uncompressed_bytes, SLW_LIMIT_BINARY_BYTES, "bytes");
        return slwi_fail(w->err, SLW_E_LIMIT, "TOO_LARGE", "an image in the fatbin is too large");
    }
    put_target(&entry, u32(w, at + 28));
    if (entry.kind == SLW_IMAGE_PTX) {
        (void)snprintf(entry.isa_version, sizeof(entry.isa_version), "%u.%u", (unsigned)u16(w, at + 26),
                       (unsigned)u16(w, at + 24));
    }
    slw_bytes payload = {"", 0};
    (void)slwi_window(w->file, at + header, padded, &payload);
    entry.offset_bytes = at + header;
    put_payload(&entry, payload, compressed);
    cursor->at = at + header + padded;
    cursor->count += 1;
    *out = entry;
    return SLW_OK;
}

slw_code slwi_fatbin_next(slw_bytes fatbin, const char *name, slwi_fatbin_cursor *cursor, slwi_fatbin_entry *out,
                          slw_error *err) {
    walk w = {fatbin, name, err};
    slwi_fatbin_cursor place = *cursor;
    slw_code rc = SLW_OK;
    while (rc == SLW_OK && place.at == place.container_end) {
        if (place.container_end != 0) skip_zeros(&w, &place);
        if (place.container_end != 0 && place.at >= fatbin.size) return SLW_E_MISS;
        rc = read_container(&w, &place); /* moves on by a header at least */
    }
    if (rc != SLW_OK) return rc;
    if (place.count == SLW_LIMIT_IMAGES) {
        slwi_error_amount(err, "images", (uint64_t)place.count + 1, SLW_LIMIT_IMAGES, "images");
        return slwi_fail(err, SLW_E_LIMIT, "TOO_MANY_IMAGES", "the fatbin has too many images");
    }
    rc = read_entry(&w, &place, out);
    if (rc == SLW_OK) *cursor = place;
    return rc;
}
