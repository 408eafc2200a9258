#include "bundle_read.h"

#include <slipway/limits.h>
#include <string.h>

#include "amdgcn_target.h"
#include "fail.h"
#include "heap_sort.h"
#include "reader.h"

#define MAGIC_BYTES       24u
#define INDEX_OFFSET      32u /* behind the magic and the count */
#define ENTRY_HEAD_BYTES  24u /* offset, size and length of the id */
#define COMPRESSED_MAGIC  0x424f4343u
#define COMPRESSED_HEADER 8u /* magic, version, method: of every version */

static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";

int slwi_bundle_recognises_compressed(slw_bytes binary) {
    uint32_t is = 0;
    return slwi_read_u32(binary, 0, &is) && is == COMPRESSED_MAGIC;
}

int slwi_bundle_recognises(slw_bytes binary) {
    slw_bytes start;
    if (slwi_bundle_recognises_compressed(binary)) return 1;
    return slwi_window(binary, 0, MAGIC_BYTES, &start) && memcmp(start.data, magic, MAGIC_BYTES) == 0;
}

static slw_code bad(const slwi_bundle *bundle, slw_error *err, const char *reason, uint64_t offset, const char *what) {
    if (bundle->name != NULL) slwi_error_path(err, bundle->name);
    slwi_error_place(err, 0, 0, offset);
    return slwi_fail(err, SLW_E_INVALID_BINARY, reason, "%s", what);
}

static slw_code over(const slwi_bundle *bundle, slw_error *err, const char *reason, const char *what, uint64_t required,
                     uint64_t limit) {
    if (bundle->name != NULL) slwi_error_path(err, bundle->name);
    slwi_error_amount(err, what, required, limit, "pieces");
    return slwi_fail(err, SLW_E_LIMIT, reason, "the bundle has too much: %s", what);
}

/* ---- compressed ---- */

static slw_code refuse_compressed(const slwi_bundle *bundle, slw_error *err) {
    uint16_t version = 0;
    uint16_t method = 0;
    slw_bytes header;
    if (!slwi_window(bundle->file, 0, COMPRESSED_HEADER, &header)) {
        return bad(bundle, err, "TRUNCATED", bundle->file.size, "a compressed bundle ends inside its header");
    }
    (void)slwi_read_u16(header, 4, &version);
    (void)slwi_read_u16(header, 6, &method);
    const char *name = "an unknown method";
    if (method == 0) name = "zlib";
    if (method == 1) name = "zstd";
    if (bundle->name != NULL) slwi_error_path(err, bundle->name);
    slwi_error_place(err, 0, 0, 0);
    slwi_error_subject(err, name, strlen(name));
    slwi_error_hint(err, "unpack it: clang-offload-bundler --unbundle --type=o --targets=ENTRY --input=FILE "
                         "--output=kernel.hsaco, or build with --no-offload-compress");
    return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "COMPRESSED_BUNDLE",
                     "this is a compressed offload bundle (CCOB version %u, method %u: %s), which is not unpacked here",
                     (unsigned)version, (unsigned)method, name);
}

/* ---- entries ---- */

static int starts_with(slw_bytes text, const char *word) {
    size_t size = strlen(word);
    return text.size >= size && memcmp(text.data, word, size) == 0;
}

/* "KIND-TRIPLE-TARGET"; what does not fit the form has no target. */
static void split_id(slwi_bundle_entry *entry) {
    const char *text = entry->id.data;
    const char *dash = memchr(text, '-', entry->id.size);
    slw_bytes target = {"", 0};
    entry->offload_kind = entry->id;
    entry->triple.data = "";
    entry->triple.size = 0;
    entry->target[0] = '\0';
    if (dash == NULL) return;
    entry->offload_kind.size = (size_t)(dash - text);
    slw_bytes rest = {dash + 1, entry->id.size - entry->offload_kind.size - 1};
    entry->triple = rest;
    if (!slwi_amdgcn_split(rest, &entry->triple, &target) || starts_with(entry->offload_kind, "host")) return;
    if (target.size >= sizeof(entry->target)) return; /* slwi_bundle_open refuses it */
    if (target.size != 0) memcpy(entry->target, target.data, target.size);
    entry->target[target.size] = '\0';
    slwi_gfx gfx; /* canonical where it is one we know */
    if (slwi_gfx_parse(entry->target, &gfx)) slwi_gfx_format(&gfx, entry->target);
}

int slwi_bundle_next(const slwi_bundle *bundle, slwi_bundle_cursor *cursor, slwi_bundle_entry *out) {
    uint64_t at = cursor->index == 0 ? INDEX_OFFSET : cursor->at;
    uint64_t offset = 0;
    uint64_t size = 0;
    uint64_t id_size = 0;
    slwi_bundle_entry entry;
    memset(&entry, 0, sizeof(entry));
    if (cursor->index >= bundle->count) return 0;
    if (!slwi_read_u64(bundle->file, at, &offset) || !slwi_read_u64(bundle->file, at + 8, &size) ||
        !slwi_read_u64(bundle->file, at + 16, &id_size) ||
        !slwi_window(bundle->file, at + ENTRY_HEAD_BYTES, id_size, &entry.id) ||
        !slwi_window(bundle->file, offset, size, &entry.bytes)) {
        return 0;
    }
    entry.offset_bytes = offset;
    split_id(&entry);
    cursor->index += 1;
    cursor->at = at + ENTRY_HEAD_BYTES + id_size;
    *out = entry;
    return 1;
}

/* ---- opening ---- */

static int is_text(slw_bytes id) {
    const uint8_t *bytes = id.data;
    for (size_t i = 0; i < id.size; i++) {
        if (bytes[i] < 0x21 || bytes[i] > 0x7e) return 0;
    }
    return id.size != 0;
}

/* The target of an id that does not fit its field: what stands there is then empty though there is one. */
static int target_is_too_long(const slwi_bundle_entry *entry) {
    slw_bytes triple;
    slw_bytes target;
    if (starts_with(entry->offload_kind, "host") || entry->offload_kind.size == entry->id.size) return 0;
    slw_bytes rest = {(const char *)entry->id.data + entry->offload_kind.size + 1,
                      entry->id.size - entry->offload_kind.size - 1};
    return slwi_amdgcn_split(rest, &triple, &target) && target.size >= sizeof(entry->target);
}

/* The entry whose head is at `at`, checked before slwi_bundle_next walks it. */
static slw_code check_entry(const slwi_bundle *bundle, uint64_t at, slwi_bundle_cursor *cursor, slw_error *err) {
    uint64_t offset = 0;
    uint64_t size = 0;
    uint64_t id_size = 0;
    slw_bytes window;
    slwi_bundle_entry entry;
    const slw_bytes file = bundle->file;
    if (!slwi_read_u64(file, at, &offset) || !slwi_read_u64(file, at + 8, &size) ||
        !slwi_read_u64(file, at + 16, &id_size)) {
        return bad(bundle, err, "TRUNCATED", file.size, "the bundle ends inside its index");
    }
    if (id_size > SLW_LIMIT_IMAGE_NAME_BYTES) {
        return over(bundle, err, "NAME_TOO_LONG", "bytes of an entry's id", id_size, SLW_LIMIT_IMAGE_NAME_BYTES);
    }
    if (!slwi_window(file, at + ENTRY_HEAD_BYTES, id_size, &window)) {
        return bad(bundle, err, "TRUNCATED", file.size, "the bundle ends inside its index");
    }
    if (!is_text(window)) return bad(bundle, err, "BAD_BUNDLE", at + ENTRY_HEAD_BYTES, "an entry's id is no text");
    if (!slwi_window(file, offset, size, &window)) {
        slwi_error_subject(err, (const char *)file.data + at + ENTRY_HEAD_BYTES, (size_t)id_size);
        return bad(bundle, err, "TRUNCATED", file.size, "an entry ends past the end of the bundle");
    }
    if (!slwi_bundle_next(bundle, cursor, &entry)) return bad(bundle, err, "BAD_BUNDLE", at, "an entry is not sound");
    if (target_is_too_long(&entry)) {
        slwi_error_subject(err, entry.id.data, entry.id.size);
        return bad(bundle, err, "BAD_BUNDLE", at + ENTRY_HEAD_BYTES, "an entry's target is no name");
    }
    return SLW_OK;
}

/* Heads of entries, by their ids: each item is the address of an id's length, with the id behind it. */
static slw_bytes id_of(const void *item) {
    const char *head = *(const char *const *)item;
    uint64_t size = 0;
    memcpy(&size, head, sizeof(size));
    slw_bytes id = {head + sizeof(size), (size_t)size};
    return id;
}

static int by_id(const void *a, const void *b) {
    slw_bytes left = id_of(a);
    slw_bytes right = id_of(b);
    int order = memcmp(left.data, right.data, left.size < right.size ? left.size : right.size);
    if (order != 0) return order;
    return (left.size > right.size) - (left.size < right.size);
}

static slw_code check_index(const slwi_bundle *bundle, slw_error *err) {
    const char *heads[SLW_LIMIT_IMAGES]; /* 32 KiB: opening a bundle takes no allocator */
    slwi_bundle_cursor cursor = {INDEX_OFFSET, 0};
    size_t count = (size_t)bundle->count;
    for (size_t i = 0; i < count; i++) {
        heads[i] = (const char *)bundle->file.data + cursor.at + 16;
        slw_code rc = check_entry(bundle, cursor.at, &cursor, err);
        if (rc != SLW_OK) return rc;
    }
    slwi_heap_sort(heads, count, sizeof(heads[0]), by_id);
    for (size_t i = 1; i < count; i++) {
        slw_bytes id = id_of(&heads[i]);
        if (by_id(&heads[i - 1], &heads[i]) != 0) continue;
        slwi_error_subject(err, id.data, id.size);
        return bad(bundle, err, "DUPLICATE", (uint64_t)((const char *)id.data - (const char *)bundle->file.data),
                   "two entries have the same id");
    }
    return SLW_OK;
}

slw_code slwi_bundle_open(slw_bytes binary, const char *name, slwi_bundle *out, slw_error *err) {
    slwi_bundle bundle = {binary, name, 0};
    if (binary.size > SLW_LIMIT_BINARY_BYTES) {
        return over(&bundle, err, "TOO_LARGE", "bytes", binary.size, SLW_LIMIT_BINARY_BYTES);
    }
    if (slwi_bundle_recognises_compressed(binary)) return refuse_compressed(&bundle, err);
    if (!slwi_bundle_recognises(binary)) {
        size_t size = binary.size < MAGIC_BYTES ? binary.size : MAGIC_BYTES;
        int is_start = size != 0 && size < MAGIC_BYTES && memcmp(binary.data, magic, size) == 0;
        return bad(&bundle, err, is_start ? "TRUNCATED" : "BAD_BUNDLE", is_start ? size : 0,
                   "this is not an offload bundle");
    }
    if (!slwi_read_u64(binary, MAGIC_BYTES, &bundle.count)) {
        return bad(&bundle, err, "TRUNCATED", binary.size, "the bundle ends before its index");
    }
    if (bundle.count > SLW_LIMIT_IMAGES) {
        return over(&bundle, err, "TOO_MANY_IMAGES", "entries", bundle.count, SLW_LIMIT_IMAGES);
    }
    if (bundle.count == 0) return bad(&bundle, err, "NO_ENTRY", MAGIC_BYTES, "the bundle has no entries");
    slw_code rc = check_index(&bundle, err);
    if (rc == SLW_OK) *out = bundle;
    return rc;
}
