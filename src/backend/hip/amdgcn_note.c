/* Where the metadata stands, and its outermost map. */
#include <slipway/limits.h>
#include <string.h>

#include "amdgcn_state.h"
#include "fail.h"
#include "reader.h"

#define NOTE_HEADER_BYTES 12u
#define NOTE_TYPE         32u /* NT_AMDGPU_METADATA */

static const char owner[] = "AMDGPU"; /* with its NUL, as notes have it */

slw_code slwi_amdgcn_bad_note(const slwi_amdgcn *r, const char *reason, uint64_t at, const char *key,
                              const slwi_amdgcn_kernel *kernel, const char *what) {
    if (key != NULL) slwi_error_subject(r->err, key, strlen(key));
    if (kernel != NULL) slwi_amdgcn_name_kernel(r, kernel);
    if (r->elf.name != NULL) slwi_error_path(r->err, r->elf.name);
    slwi_error_place(r->err, 0, 0, r->note_offset + at);
    if (key != NULL) return slwi_fail(r->err, SLW_E_INVALID_BINARY, reason, "%s: %s", key, what);
    return slwi_fail(r->err, SLW_E_INVALID_BINARY, reason, "%s", what);
}

slw_code slwi_amdgcn_over(const slwi_amdgcn *r, const char *reason, const char *what, uint64_t required,
                          uint64_t limit) {
    if (r->elf.name != NULL) slwi_error_path(r->err, r->elf.name);
    slwi_error_amount(r->err, what, required, limit, "pieces");
    return slwi_fail(r->err, SLW_E_LIMIT, reason, "the code object has too much: %s", what);
}

/* ---- notes ---- */

typedef struct notes {
    slwi_amdgcn *r;
    uint64_t walked; /* bytes of notes so far: no more than the file has, however often a segment names them */
} notes;

static uint64_t padded(uint64_t size) {
    return (size + 3u) & ~(uint64_t)3u;
}

static slw_code found_metadata(slwi_amdgcn *r, slw_bytes description, uint64_t offset) {
    if (r->note.size != 0) {
        return slwi_elf_bad(&r->elf, r->err, "DUPLICATE", offset, "there are two metadata notes");
    }
    if (description.size == 0) return slwi_elf_bad(&r->elf, r->err, "BAD_NOTE", offset, "the metadata note is empty");
    r->note = description;
    r->note_offset = offset;
    return SLW_OK;
}

/* A segment or section of notes at `offset` of the file. */
static slw_code walk_notes(notes *n, slw_bytes bytes, uint64_t offset) {
    slwi_amdgcn *r = n->r;
    n->walked += bytes.size;
    if (n->walked > r->elf.file.size) {
        return slwi_elf_bad(&r->elf, r->err, "BAD_NOTE", offset, "notes stand over one another");
    }
    uint64_t at = 0;
    while (at < bytes.size) {
        uint32_t name_size = 0;
        uint32_t size = 0;
        uint32_t type = 0;
        if (!slwi_read_u32(bytes, at, &name_size) || !slwi_read_u32(bytes, at + 4, &size) ||
            !slwi_read_u32(bytes, at + 8, &type)) {
            return slwi_elf_bad(&r->elf, r->err, "BAD_NOTE", offset + at, "a note ends inside its head");
        }
        uint64_t name_at = at + NOTE_HEADER_BYTES;
        uint64_t description_at = name_at + padded(name_size);
        slw_bytes name;
        slw_bytes description;
        if (!slwi_window(bytes, name_at, name_size, &name) || !slwi_window(bytes, description_at, size, &description)) {
            return slwi_elf_bad(&r->elf, r->err, "BAD_NOTE", offset + at, "a note ends past its segment");
        }
        if (type == NOTE_TYPE && name.size == sizeof(owner) && memcmp(name.data, owner, sizeof(owner)) == 0) {
            slw_code rc = found_metadata(r, description, offset + description_at);
            if (rc != SLW_OK) return rc;
        }
        at = description_at + padded(size);
    }
    return SLW_OK;
}

static slw_code walk_segments(notes *n, uint32_t *count) {
    for (uint32_t i = 0; i < n->r->elf.segment_count; i++) {
        slwi_elf_segment segment = {0};
        slw_code rc = slwi_elf_segment_at(&n->r->elf, i, &segment, n->r->err);
        if (rc != SLW_OK) return rc;
        if (segment.type != SLWI_PT_NOTE) continue;
        *count += 1;
        rc = walk_notes(n, segment.bytes, segment.offset);
        if (rc != SLW_OK) return rc;
    }
    return SLW_OK;
}

static slw_code walk_sections(notes *n) {
    for (uint32_t i = 0; i < n->r->elf.section_count; i++) {
        slwi_elf_section section = {0};
        slw_code rc = slwi_elf_section_at(&n->r->elf, i, &section, n->r->err);
        if (rc != SLW_OK) return rc;
        if (section.type != SLWI_SHT_NOTE) continue;
        rc = walk_notes(n, section.bytes, section.offset);
        if (rc != SLW_OK) return rc;
    }
    return SLW_OK;
}

/* Loaders go by segments; sections are asked only where no segment holds notes. */
static slw_code find_note(slwi_amdgcn *r) {
    notes n = {r, 0};
    uint32_t segments = 0;
    slw_code rc = walk_segments(&n, &segments);
    if (rc == SLW_OK && segments == 0) rc = walk_sections(&n);
    if (rc == SLW_OK && r->note.size == 0) {
        slwi_error_subject(r->err, owner, strlen(owner));
        rc = slwi_elf_bad(&r->elf, r->err, "MISSING", 0, "the code object has no metadata note");
    }
    return rc;
}

/* ---- the outermost map ---- */

static slw_code root_value(slwi_amdgcn *r, const slwi_msgpack_item *key, const slwi_msgpack_item *value,
                           uint64_t behind) {
    if (slwi_msgpack_is(key, "amdhsa.target")) {
        if (value->kind != SLWI_MSGPACK_STRING) {
            return slwi_amdgcn_bad_note(r, "BAD_NOTE", value->at, "amdhsa.target", NULL, "is not a string");
        }
        r->target = value->text;
        r->target_at = value->at;
    } else if (slwi_msgpack_is(key, "amdhsa.kernels")) {
        if (value->kind != SLWI_MSGPACK_ARRAY) {
            return slwi_amdgcn_bad_note(r, "BAD_NOTE", value->at, "amdhsa.kernels", NULL, "is not an array");
        }
        r->kernels_at = behind;
        r->kernel_count = value->count;
    }
    return SLW_OK;
}

static slw_code read_root(slwi_amdgcn *r) {
    slwi_msgpack_item root;
    slwi_msgpack_item key;
    slwi_msgpack_item value;
    uint64_t at = 0;
    if (slwi_msgpack_next(r->note, &at, &root) != SLWI_MSGPACK_OK || root.kind != SLWI_MSGPACK_MAP) {
        return slwi_amdgcn_bad_note(r, "BAD_NOTE", 0, NULL, NULL, "the metadata is not a map");
    }
    for (uint32_t i = 0; i < root.count; i++) {
        /* slwi_msgpack_check has proved that all of this is there. */
        if (slwi_msgpack_next(r->note, &at, &key) != SLWI_MSGPACK_OK) break;
        uint64_t behind = at;
        if (slwi_msgpack_next(r->note, &behind, &value) != SLWI_MSGPACK_OK) break;
        slw_code rc = root_value(r, &key, &value, behind);
        if (rc != SLW_OK) return rc;
        if (slwi_msgpack_skip(r->note, &at) != SLWI_MSGPACK_OK) break;
    }
    if (r->kernels_at == 0) {
        return slwi_amdgcn_bad_note(r, "MISSING", 0, "amdhsa.kernels", NULL, "the list of kernels is not there");
    }
    if (r->kernel_count == 0) {
        return slwi_amdgcn_bad_note(r, "NO_ENTRY", r->kernels_at - 1, "amdhsa.kernels", NULL,
                                    "the code object has no kernels");
    }
    if (r->kernel_count > SLW_LIMIT_KERNELS) {
        return slwi_amdgcn_over(r, "TOO_MANY_KERNELS", "kernels", r->kernel_count, SLW_LIMIT_KERNELS);
    }
    return SLW_OK;
}

slw_code slwi_amdgcn_open_note(slwi_amdgcn *r) {
    slw_code rc = find_note(r);
    if (rc == SLW_OK) rc = slwi_msgpack_check(r->allocator, r->note, r->note_offset, r->elf.name, r->err);
    return rc == SLW_OK ? read_root(r) : rc;
}
