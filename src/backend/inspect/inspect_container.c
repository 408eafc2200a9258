/* Containers of images: fatbins, offload bundles, and the sections of a processor's file that hold them. */
#include <slipway/limits.h>
#include <string.h>

#include "bundle_read.h"
#include "elf_view.h"
#include "fail.h"
#include "fatbin_read.h"
#include "inspect_state.h"
#include "reader.h"

/* Inside a file that is larger, places are of the file. */
static slw_code moved(const slwi_inspect_walk *walk, uint64_t offset_bytes, slw_code rc) {
    slw_error *err = walk->err;
    if (rc != SLW_OK && err != NULL && err->size == sizeof(*err) && (err->present & SLW_ERROR_HAS_OFFSET) != 0) {
        err->offset_bytes += offset_bytes;
    }
    return rc;
}

/* The first byte from `at` that is not zero: linkers align what they put together. */
static uint64_t past_zeros(slw_bytes bytes, uint64_t at) {
    const uint8_t *data = bytes.data;
    while (at < bytes.size && data[at] == 0) at++;
    return at;
}

/* ---- fatbins ---- */

static slw_code add_entry(slwi_inspect_walk *walk, const slwi_fatbin_entry *entry, uint64_t offset_bytes) {
    slwi_found_image found;
    memset(&found, 0, sizeof(found));
    found.kind = entry->kind;
    found.bytes = entry->bytes;
    found.offset_bytes = offset_bytes + entry->offset_bytes;
    found.target = entry->target;
    found.isa_version = entry->isa_version;
    found.compression = entry->compression;
    found.entry = entry;
    found.nested = 1;
    return slwi_inspect_add(walk, &found);
}

slw_code slwi_inspect_fatbin(slwi_inspect_walk *walk, slw_bytes fatbin, uint64_t offset_bytes) {
    slwi_fatbin_cursor cursor;
    memset(&cursor, 0, sizeof(cursor));
    for (;;) {
        slwi_fatbin_entry entry;
        memset(&entry, 0, sizeof(entry));
        const uint64_t container_end = cursor.container_end;
        slw_code rc = slwi_fatbin_next(fatbin, walk->name, &cursor, &entry, walk->err);
        if (rc == SLW_E_MISS) break;
        if (rc != SLW_OK) return moved(walk, offset_bytes, rc);
        if (container_end != 0 && cursor.container_end != container_end) walk->container++;
        rc = add_entry(walk, &entry, offset_bytes);
        if (rc != SLW_OK) return rc;
    }
    walk->container++;
    return SLW_OK;
}

/* ---- bundles ---- */

static slw_code add_bundled(slwi_inspect_walk *walk, const slwi_bundle_entry *entry, uint64_t offset_bytes) {
    slwi_found_image found;
    memset(&found, 0, sizeof(found));
    found.kind = slwi_inspect_kind(entry->bytes);
    found.bytes = entry->bytes;
    found.offset_bytes = offset_bytes + entry->offset_bytes;
    found.target = entry->target;
    found.nested = 1;
    return slwi_inspect_add(walk, &found);
}

static int is_empty_host(const slwi_bundle_entry *entry) {
    return entry->target[0] == '\0' && entry->bytes.size == 0;
}

/* Adds the images; *end is behind the last of them. */
static slw_code walk_bundle(slwi_inspect_walk *walk, slw_bytes bytes, uint64_t offset_bytes, uint64_t *end) {
    slwi_bundle bundle;
    slwi_bundle_cursor cursor;
    slwi_bundle_entry entry;
    memset(&bundle, 0, sizeof(bundle));
    memset(&cursor, 0, sizeof(cursor));
    memset(&entry, 0, sizeof(entry));
    slw_code rc = slwi_bundle_open(bytes, walk->name, &bundle, walk->err);
    if (rc != SLW_OK) return moved(walk, offset_bytes, rc);
    *end = 0;
    while (slwi_bundle_next(&bundle, &cursor, &entry)) {
        const uint64_t behind = entry.offset_bytes + entry.bytes.size;
        if (behind > *end) *end = behind;
        if (is_empty_host(&entry)) continue;
        rc = add_bundled(walk, &entry, offset_bytes);
        if (rc != SLW_OK) return rc;
    }
    walk->container++;
    if (cursor.at > *end) *end = cursor.at; /* never a bundle inside this one's index */
    return SLW_OK;
}

slw_code slwi_inspect_bundle(slwi_inspect_walk *walk, slw_bytes bundle, uint64_t offset_bytes) {
    uint64_t end = 0;
    return walk_bundle(walk, bundle, offset_bytes, &end);
}

/* ---- sections ---- */

/* A section of bundles: one behind another where several objects were linked, each on a page of its own. */
static slw_code walk_bundles(slwi_inspect_walk *walk, const slwi_elf_section *section) {
    slw_bytes rest = section->bytes;
    uint64_t offset_bytes = section->offset;
    while (rest.size != 0) {
        uint64_t end = 0;
        slw_code rc = walk_bundle(walk, rest, offset_bytes, &end);
        if (rc != SLW_OK) return rc;
        end = past_zeros(rest, end);
        if (end == 0 || !slwi_window(rest, end, rest.size - end, &rest)) return SLW_OK;
        offset_bytes += end;
        if (!slwi_bundle_recognises(rest) && !slwi_bundle_recognises_compressed(rest)) return SLW_OK;
    }
    return SLW_OK;
}

static slw_code walk_section(slwi_inspect_walk *walk, const slwi_elf_section *section, int *found) {
    const int bundle = slwi_bundle_recognises(section->bytes) || slwi_bundle_recognises_compressed(section->bytes);
    if (!bundle && !slwi_fatbin_recognises(section->bytes)) return SLW_OK;
    *found = 1;
    const slw_code rc = slwi_inspect_spend(walk, &walk->section_bytes, section->offset, section->bytes.size);
    if (rc != SLW_OK) return rc;
    return bundle ? walk_bundles(walk, section) : slwi_inspect_fatbin(walk, section->bytes, section->offset);
}

/* Sections are taken by what stands in them, not by name: .nv_fatbin, __nv_relfatbin of -rdc, .hip_fatbin. */
slw_code slwi_inspect_sections(slwi_inspect_walk *walk) {
    slwi_elf elf;
    int found = 0;
    slw_code rc = slwi_elf_open(walk->file, walk->name, &elf, walk->err);
    for (uint32_t i = 1; rc == SLW_OK && i < elf.section_count; i++) {
        slwi_elf_section section;
        rc = slwi_elf_section_at(&elf, i, &section, walk->err);
        if (rc == SLW_OK) rc = walk_section(walk, &section, &found);
    }
    return rc == SLW_OK && !found ? SLW_E_MISS : rc;
}
