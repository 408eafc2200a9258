/* Reading a payload of an entry later on: the directory is opened again by name, and the bytes count when they are
 * those of the original inventory, whichever inode they come from. So a handle keeps no descriptor and never breaks
 * silently. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fail.h"
#include "memory.h"
#include "sha256.h"
#include "store_copy.h"
#include "store_entry_place.h"
#include "store_object.h"
#include "store_root.h"

static slw_code gone(const slwi_entry *entry, slw_error *err) {
    (void)slwi_fail(err, SLW_E_GONE, NULL, "the entry has been removed or replaced");
    slwi_error_path(err, entry->directory);
    slwi_error_hint(err, "ask the store again, once");
    return SLW_E_GONE;
}

static slw_code other_bytes(const slwi_entry_place *place, const slwi_entry *entry, const char *name, slw_error *err) {
    if (!place->is_judged) return gone(entry, err);
    (void)slwi_fail(err, SLW_E_INVALID_ENTRY, "CHANGED", "%s is not what it was when the entry was found", name);
    slwi_error_subject(err, name, strlen(name));
    slwi_error_path(err, entry->directory);
    return SLW_E_INVALID_ENTRY;
}

static slw_code step_to_slot(const slwi_entry *entry, slwi_slot *slot, slwi_trust *trust, slw_error *err) {
    slwi_root root;
    slw_error why = SLW_ERROR_INIT;
    slw_code code = slwi_root_open(entry->store, 0, &root, &why);
    if (code == SLW_OK) {
        code = slwi_slot_open(&root, entry->key, entry->spec, slot, &why);
        *trust = root.trust;
        slwi_root_close(&root);
    }
    if (code == SLW_E_MISS) return gone(entry, err);
    if (code != SLW_OK) slwi_error_copy(err, &why);
    return code;
}

static slw_code open_slot(const slwi_entry *entry, slwi_entry_place *out, slw_error *err) {
    slwi_slot slot;
    if (!slwi_slot_reach(entry->store, entry->directory, &slot, &out->trust)) {
        const slw_code code = step_to_slot(entry, &slot, &out->trust, err);
        if (code != SLW_OK) return code;
    }
    out->fd = slot.fd;
    out->has_trust = 1;
    out->is_judged = slot.stat.dev == entry->dev && slot.stat.ino == entry->ino;
    slot.fd = -1;
    slwi_slot_close(&slot);
    return SLW_OK;
}

static slw_code open_private(const slwi_entry *entry, slwi_entry_place *out, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    const int fd = os->openat(os, AT_FDCWD, entry->directory, SLWI_O_LIST, 0);
    const int r = fd < 0 ? fd : os->fstat(os, fd, &stat);
    if (r < 0 && fd >= 0) (void)os->close(os, fd);
    if (r == -ENOENT) return gone(entry, err);
    if (r < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -r, entry->directory, "opening the build's directory");
    out->fd = fd;
    out->has_trust = 0;
    out->is_judged = stat.dev == entry->dev && stat.ino == entry->ino;
    return SLW_OK;
}

slw_code slwi_entry_place_open(const slwi_entry *entry, slwi_entry_place *out, slw_error *err) {
    return entry->built != NULL ? open_private(entry, out, err) : open_slot(entry, out, err);
}

void slwi_entry_place_close(slwi_entry_place *place) {
    const slwi_os *os = slwi_os_get();
    (void)os->close(os, place->fd);
    place->fd = -1;
}

/* Reads an open file into an image, hashes it there and compares. */
static slw_code read_judged(const slwi_entry *entry, const slwi_entry_place *place, int fd, const slw_file *file,
                            slwi_image **out, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    const char *name = file->path.data;
    const size_t size = (size_t)file->size_bytes;
    slwi_image *image = NULL;
    if (slwi_image_create(&entry->store->allocator, size, &image) < 0) return slwi_fail_memory(err, size);
    slw_code code = SLW_OK;
    int r = slwi_pread_all(os, fd, slwi_image_data(image), size, 0);
    if (r == -ENODATA) {
        code = other_bytes(place, entry, name, err);
    } else if (r < 0) {
        code = slwi_fail_os(err, SLW_E_STORAGE, NULL, -r, entry->directory, "reading %s", name);
    } else {
        slw_digest digest;
        slwi_sha256_once((slw_bytes){slwi_image_data(image), size}, &digest);
        if (memcmp(&digest, &file->sha256, sizeof digest) != 0) code = other_bytes(place, entry, name, err);
    }
    if (code == SLW_OK) {
        r = slwi_image_seal(image);
        if (r < 0) code = slwi_fail_os(err, SLW_E_STORAGE, NULL, -r, NULL, "protecting %s", name);
    }
    if (code == SLW_OK)
        *out = image;
    else
        slwi_release(image);
    return code;
}

static slw_code open_failure(const slwi_entry_place *place, const slwi_entry *entry, int error_number, const char *name,
                             slw_error *err) {
    switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENXIO:
    case EINVAL: /* not a regular file */
    case EISDIR:
        return other_bytes(place, entry, name, err);
    default:
        return slwi_fail_os(err, SLW_E_STORAGE, NULL, error_number, entry->directory, "opening %s", name);
    }
}

static slw_code read_at(const slwi_entry *entry, slwi_entry_place *place, const slw_file *file, slwi_image **out,
                        slw_error *err) {
    const slwi_os *os = slwi_os_get();
    const char *name = file->path.data, *leaf, *why = NULL;
    slwi_place parent;
    slwi_stat stat;
    slwi_place_begin(&parent, os, place->fd, 0);
    const int directory = slwi_place_enter(&parent, name, &leaf);
    const int fd = directory < 0 ? directory : slwi_open_regular(os, directory, leaf, 0, &stat);
    slwi_place_end(&parent);
    if (fd < 0) return open_failure(place, entry, -fd, name, err);
    slw_code code;
    if (place->has_trust && !slwi_trust_payload(&place->trust, &stat, &why))
        code = slwi_fail(err, SLW_E_INVALID_ENTRY, "UNTRUSTED", "untrusted: %s: %s", name, why);
    else if (stat.size != file->size_bytes)
        code = other_bytes(place, entry, name, err);
    else
        code = read_judged(entry, place, fd, file, out, err);
    (void)os->close(os, fd);
    return code;
}

slw_code slwi_entry_read(slwi_entry *entry, const char *name, slwi_image **out, slw_error *err) {
    slw_file file, kept;
    if (name == NULL || !slwi_entry_find(entry, name, &file)) {
        (void)slwi_fail(err, SLW_E_MISS, "NO_PAYLOAD", "the entry has no payload of that name");
        if (name != NULL) slwi_error_subject(err, name, strlen(name));
        return SLW_E_MISS;
    }
    if (entry->kept != NULL && slwi_entry_file(entry, entry->kept_index, &kept) && kept.path.data == file.path.data) {
        *out = slwi_retain(entry->kept);
        return SLW_OK;
    }
    slwi_entry_place place = {.fd = -1};
    slw_code code = slwi_entry_place_open(entry, &place, err);
    if (code != SLW_OK) return code;
    code = read_at(entry, &place, &file, out, err);
    slwi_entry_place_close(&place);
    return code;
}
