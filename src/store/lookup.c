/* One look at a slot: what lies there is enumerated and hashed, its canonical record is built and compared byte for
 * byte with the marker. Nothing is written and no lock is taken. */
#include "store_lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fail.h"
#include "memory.h"
#include "store_manifest.h"
#include "store_object.h"
#include "store_root.h"
#include "store_scratch.h"

#define LOOKS 8

typedef struct look {
    slw_store *store;
    const slw_key *key;
    const slw_spec *spec;
    int verify;
    unsigned flags;
    slwi_scratch *scratch;
    const char *directory; /* the slot's path */
    slwi_manifest manifest;
    slwi_image *kept;
    int changed;    /* the tree moved under the walk */
    int differs;    /* the tree is whole and another: seen once, it may have been in the middle of a change */
    int judged;     /* a slot was reached */
    slwi_stat slot; /* it */
} look;

static slw_code marker_failure(const char *reason, const char *what, slw_error *err) {
    (void)slwi_fail(err, SLW_E_INVALID_ENTRY, reason, "%s", what);
    slwi_error_subject(err, SLWI_MARKER, strlen(SLWI_MARKER));
    return SLW_E_INVALID_ENTRY;
}

/* The type is asked first by anyone who looks by name, so what is no regular file is INVALID even where it cannot be
   opened. */
static slw_code marker_open_failure(int slot, int error_number, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    if (error_number == ENOENT) return marker_failure("MARKER_MISSING", "the slot has no manifest", err);
    const int r = os->fstatat(os, slot, SLWI_MARKER, 0, &stat);
    if (r >= 0 && !S_ISREG(stat.mode))
        return marker_failure("MARKER_NOT_REGULAR", "the manifest is not a regular file", err);
    (void)slwi_fail_os(err, SLW_E_STORAGE, NULL, error_number, NULL, "opening the manifest");
    slwi_error_subject(err, SLWI_MARKER, strlen(SLWI_MARKER));
    return SLW_E_STORAGE;
}

static slw_code read_marker(look *l, const slwi_trust *trust, int fd, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    const char *why = NULL;
    const int r = os->fstat(os, fd, &stat);
    if (r < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -r, NULL, "looking at the manifest");
    if (!S_ISREG(stat.mode)) return marker_failure("MARKER_NOT_REGULAR", "the manifest is not a regular file", err);
    if (!slwi_trust_marker(trust, &stat, &why)) return marker_failure("UNTRUSTED", why, err);
    if (stat.size > SLW_LIMIT_MANIFEST_BYTES) {
        slwi_error_amount(err, "manifest", stat.size, SLW_LIMIT_MANIFEST_BYTES, "bytes");
        return marker_failure("LIMIT", "the manifest is too large", err);
    }
    slwi_buffer *marker = &l->scratch->marker;
    slwi_buffer_clear(marker);
    const size_t size = (size_t)stat.size;
    if (marker->capacity <= size) {
        char *data = slwi_realloc_array(marker->allocator, marker->data, size + 1, 1);
        if (data == NULL) return slwi_fail_memory(err, size + 1);
        marker->data = data;
        marker->capacity = size + 1;
    }
    while (marker->size < size) {
        const int64_t n = os->read(os, fd, marker->data + marker->size, size - marker->size);
        if (n < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, (int)-n, NULL, "reading the manifest");
        if (n == 0) break;
        marker->size += (size_t)n;
    }
    return SLW_OK;
}

static slw_code take_marker(look *l, const slwi_trust *trust, int slot, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    const int fd = os->openat(os, slot, SLWI_MARKER, SLWI_O_FILE, 0);
    if (fd < 0) return marker_open_failure(slot, -fd, err);
    const slw_code code = read_marker(l, trust, fd, err);
    (void)os->close(os, fd);
    return code;
}

static slw_code check_required(const look *l, slw_error *err) {
    for (size_t i = 0; i < slw_spec_required_count(l->spec); i++) {
        const slw_bytes name = slw_spec_required(l->spec, i);
        if (slwi_inventory_find(&l->scratch->inventory, name.data, name.size) != SIZE_MAX) continue;
        (void)slwi_fail(err, SLW_E_INVALID_ENTRY, "REQUIRED_MISSING", "a required file is missing: %s",
                        (const char *)name.data);
        slwi_error_subject(err, name.data, name.size);
        return SLW_E_INVALID_ENTRY;
    }
    return SLW_OK;
}

/* Names the file whose record holds the first byte that differs. */
static slw_code marker_differs(const look *l, slw_error *err) {
    const slwi_buffer *text = &l->scratch->text, *marker = &l->scratch->marker;
    const slwi_inventory *inventory = &l->scratch->inventory;
    size_t at = 0;
    while (at < text->size && at < marker->size && text->data[at] == marker->data[at]) at++;
    const slwi_tree_file *file = NULL;
    for (size_t i = 0; i < inventory->count && inventory->files[i].text_at <= at; i++) file = &inventory->files[i];
    if (file == NULL)
        return marker_failure("MARKER_DIFFERS", "the manifest is not the one of this key, spec and tree", err);
    (void)slwi_fail(err, SLW_E_INVALID_ENTRY, "MARKER_DIFFERS",
                    "the manifest differs from the tree from byte %zu on, at %s", at, file->path);
    slwi_error_subject(err, file->path, file->path_size);
    return SLW_E_INVALID_ENTRY;
}

static slw_code judge_slot(look *l, const slwi_trust *trust, int slot, slw_error *err) {
    slwi_scratch *s = l->scratch;
    const slw_bytes none = {NULL, 0};
    slw_code code = slwi_manifest_begin(&l->manifest, &s->text, &s->tail, l->key, l->spec, err);
    if (code == SLW_OK) code = take_marker(l, trust, slot, err);
    if (code != SLW_OK) return code;
    const slw_bytes marker = {s->marker.data, s->marker.size};
    /* A marker that cannot be this slot's is said before an unreadable payload is. */
    if (!slwi_manifest_frames(&l->manifest, marker))
        return marker_failure("MARKER_DIFFERS", "the manifest is not the one of this key and spec", err);
    const int hash = l->verify == SLW_VERIFY_FULL;
    const slwi_tree_rules rules = {.trust = trust,
                                   .bad_code = SLW_E_INVALID_ENTRY,
                                   .limit_code = SLW_E_INVALID_ENTRY,
                                   .hash = hash,
                                   .judged_by_digest = 1,
                                   .keep = hash ? slw_spec_keep(l->spec) : NULL};
    code = slwi_inventory_read(s, slot, &rules, &s->inventory, &l->kept, &l->changed, err);
    if (code == SLW_OK) code = check_required(l, err);
    if (code == SLW_OK) code = slwi_manifest_finish(&l->manifest, &s->inventory, hash ? none : marker, err);
    if (code == SLW_E_LIMIT) return marker_failure("LIMIT", "the tree's record is too large", err);
    if (code != SLW_OK) return code;
    if (s->text.size == marker.size && memcmp(s->text.data, marker.data, marker.size) == 0) return SLW_OK;
    l->differs = 1;
    return marker_differs(l, err);
}

static slw_code make_entry(look *l, slwi_entry **out, slw_error *err) {
    const slwi_entry_parts parts = {.store = l->store,
                                    .key = l->key,
                                    .spec = l->spec,
                                    .inventory = &l->scratch->inventory,
                                    .directory = l->directory,
                                    .stat = &l->slot,
                                    .kept = l->kept};
    return slwi_entry_create(&parts, out, err);
}

/* The slot, at once or, where that does not lead to a trusted one, step by step to learn why. */
static slw_code open_slot(const look *l, slwi_slot *slot, slwi_trust *trust, slw_error *err) {
    slwi_root root;
    if (slwi_slot_reach(l->store, l->directory, slot, trust)) return SLW_OK;
    slw_code code = slwi_root_open(l->store, 0, &root, err);
    if (code != SLW_OK) return code;
    code = slwi_slot_open(&root, l->key, l->spec, slot, err);
    *trust = root.trust;
    slwi_root_close(&root);
    return code;
}

static slw_code look_once(look *l, slwi_entry **out, slw_error *err) {
    slwi_slot slot;
    slwi_trust trust;
    l->changed = l->differs = l->judged = 0;
    slw_code code = open_slot(l, &slot, &trust, err);
    if (code != SLW_OK) return code;
    l->judged = 1;
    l->slot = slot.stat;
    code = judge_slot(l, &trust, slot.fd, err);
    if (code == SLW_OK) code = make_entry(l, out, err);
    if (code == SLW_OK && (l->flags & SLWI_LOOK_STAMP) != 0) slwi_stamp_used(l->store, slot.fd, "../" SLWI_USED_STAMP);
    slwi_release(l->kept);
    l->kept = NULL;
    slwi_slot_close(&slot);
    return code;
}

/* 1 when the slot's name still leads to what was judged. */
static int still_there(const look *l) {
    slwi_root root;
    slwi_slot slot;
    int same = 0;
    if (slwi_root_open(l->store, 0, &root, NULL) != SLW_OK) return 0;
    if (slwi_slot_open(&root, l->key, l->spec, &slot, NULL) == SLW_OK) {
        same = slwi_same_file(&slot.stat, &l->slot);
        slwi_slot_close(&slot);
    }
    slwi_root_close(&root);
    return same;
}

static slw_code look_until_sure(look *l, slwi_entry **out, slw_error *err) {
    for (int i = 0; i < LOOKS; i++) {
        slwi_error_reset(err);
        const slw_code code = look_once(l, out, err);
        if (code != SLW_E_INVALID_ENTRY || !l->judged) return code;
        /* A tree that moved under us deserves another look even where its name still leads to it, and one that
           differs is looked at twice, since nobody asked whether a file changed while it was read. */
        const int again = l->changed || (l->differs && i == 0);
        if (still_there(l) && (!again || i == LOOKS - 1)) return code;
    }
    slwi_error_reset(err);
    return slwi_fail(err, SLW_E_MISS, NULL, "the slot was replaced again and again while it was looked at");
}

slw_code slwi_look(slw_store *store, const slw_key *key, const slw_spec *spec, int verify, unsigned flags,
                   slwi_entry **out, slw_error *err) {
    look l = {.store = store, .key = key, .spec = spec, .verify = verify, .flags = flags};
    char *directory = slwi_slot_path(store, key, spec);
    if (directory == NULL) return slwi_fail_memory(err, 0);
    l.directory = directory;
    l.scratch = slwi_scratch_borrow(store);
    const slw_code code = l.scratch == NULL ? slwi_fail_memory(err, sizeof *l.scratch) : look_until_sure(&l, out, err);
    slwi_scratch_return(store, l.scratch);
    slwi_free(&store->allocator, directory);
    return code;
}

slw_code slwi_store_lookup(slw_store *store, const slw_key *key, const slw_spec *spec, slwi_entry **out,
                           slw_error *err) {
    slwi_error_reset(err);
    const slw_code code = slwi_request_check(store, key, spec, err);
    if (code != SLW_OK) return code;
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "out is NULL");
    return slwi_look(store, key, spec, store->verify, 0, out, err);
}
