/* THE protocol of a publication, in the order of its system calls.
 *
 *   parents   the directories down to the slot's parent are opened, made where they are absent
 *   sweep     staging that a dead publisher of this key left behind is removed (under the key's lock)
 *   staging   a fresh directory beside the slot; the payload is copied into it
 *   verify    the copy is read back and must be what was built
 *   sync      files, then directories
 *   marker    the manifest is written last, and synced; the staging directory is synced again
 *   rename    staging becomes the slot, never in the place of anything
 *   parents   are synced
 *
 * Until the rename nothing can be found; after it the slot is whole. Every step's failure leaves the private build
 * as usable as it was. publish_steps.c has the steps that need more than a few lines. */
#include "store_publish_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "fork.h"
#include "memory.h"
#include "store_copy.h"
#include "store_lookup.h"
#include "store_manifest.h"

static slw_code make_staging(slwi_publishing *p, slw_error *err) {
    const slwi_os *os = p->os;
    for (int i = 0; i < 16; i++) {
        slw_code code = slwi_staging_name(p->staging, sizeof p->staging, err);
        if (code != SLW_OK) return code;
        const int made = os->mkdirat(os, p->parents[SLWI_SLOT_PARENTS], p->staging, 0700);
        if (made == -EEXIST) continue;
        p->staged = 1; /* perhaps even after a failure, so the name is looked at when we clean up */
        if (made < 0) return slwi_publish_fail(p, -made, "making the staging directory", err);
        p->fd = os->openat(os, p->parents[SLWI_SLOT_PARENTS], p->staging, SLWI_O_LIST, 0);
        if (p->fd < 0) return slwi_publish_fail(p, -p->fd, "opening the staging directory", err);
        int r = slwi_fork_register(p->fd);
        p->registered = r >= 0;
        if (r >= 0) r = os->fstat(os, p->fd, &p->stat);
        /* Whatever the umask says, the slot is its owner's to write. */
        if (r >= 0 && (p->stat.mode & 0777) != 0700) r = os->fchmod(os, p->fd, 0700);
        return r < 0 ? slwi_publish_fail(p, -r, "opening the staging directory", err) : SLW_OK;
    }
    return slwi_publish_fail(p, EEXIST, "naming the staging directory", err);
}

static slw_code copy_payload(slwi_publishing *p, slw_error *err) {
    const slwi_publication *what = p->what;
    const int source = p->os->openat(p->os, AT_FDCWD, what->source, O_RDONLY | O_DIRECTORY, 0);
    if (source < 0) return slwi_publish_fail(p, -source, "opening the build's directory", err);
    const slw_code code =
        slwi_copy_tree(p->scratch, source, p->fd, what->inventory, SLW_E_PUBLICATION, SLW_E_PUBLICATION, err);
    (void)p->os->close(p->os, source);
    return code;
}

/* Reads the copy back; what the spec names is kept from these bytes. */
static slw_code verify_copy(slwi_publishing *p, slw_error *err) {
    const int again = p->os->openat(p->os, p->parents[SLWI_SLOT_PARENTS], p->staging, SLWI_O_LIST, 0);
    if (again < 0) return slwi_publish_fail(p, -again, "opening the staging directory", err);
    const slwi_tree_rules rules = {.bad_code = SLW_E_PUBLICATION,
                                   .limit_code = SLW_E_PUBLICATION,
                                   .hash = 1,
                                   .keep = slw_spec_keep(p->what->spec),
                                   .where = p->staging};
    slw_code code = slwi_inventory_read(p->scratch, again, &rules, &p->copy, &p->kept, NULL, err);
    (void)p->os->close(p->os, again);
    if (code != SLW_OK) return code;
    const char *different = NULL;
    if (slwi_inventory_equal(&p->copy, p->what->inventory, &different)) return SLW_OK;
    (void)slwi_fail(err, SLW_E_PUBLICATION, "COPY_DIFFERS", "the copy is not what was built: %s", different);
    slwi_error_subject(err, different, strlen(different));
    return SLW_E_PUBLICATION;
}

static slw_code sync_payload(slwi_publishing *p, slw_error *err) {
    const char *which = "";
    const int r = slwi_sync_tree(p->os, p->fd, &p->copy, &which);
    if (r >= 0) return SLW_OK;
    (void)slwi_publish_fail(p, -r, "syncing the copy", err);
    slwi_error_subject(err, which, strlen(which));
    return SLW_E_PUBLICATION;
}

static slw_code write_marker(slwi_publishing *p, slw_error *err) {
    const slwi_os *os = p->os;
    slwi_scratch *s = p->scratch;
    slwi_manifest manifest;
    slw_code code = slwi_manifest_begin(&manifest, &s->text, &s->tail, p->what->key, p->what->spec, err);
    if (code == SLW_OK) code = slwi_manifest_finish(&manifest, &p->copy, (slw_bytes){NULL, 0}, err);
    if (code != SLW_OK) return code;
    const int fd = os->openat(os, p->fd, SLWI_MARKER, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
    if (fd < 0) return slwi_publish_fail(p, -fd, "making the manifest", err);
    int r = slwi_write_all(os, fd, s->text.data, s->text.size);
    if (r >= 0) r = os->fsync(os, fd);
    const int closed = os->close(os, fd);
    if (r >= 0 && closed < 0) r = closed;
    if (r >= 0) r = os->fsync(os, p->fd);
    return r < 0 ? slwi_publish_fail(p, -r, "writing the manifest", err) : SLW_OK;
}

static slw_code fill_staging(slwi_publishing *p, slw_error *err) {
    slw_code code = make_staging(p, err);
    if (code == SLW_OK) code = copy_payload(p, err);
    if (code == SLW_OK) code = verify_copy(p, err);
    if (code == SLW_OK) code = sync_payload(p, err);
    if (code == SLW_OK) code = write_marker(p, err);
    return code;
}

/* 1: somebody's slot stands there. A file system may answer any error and still have done it: then the slot is our
   inode. */
static slw_code rename_staging(slwi_publishing *p, int *lost, slw_error *err) {
    const slwi_os *os = p->os;
    const char *slot = slw_state_name(slw_spec_state(p->what->spec));
    const int r = slwi_rename_once(p, slot);
    if (r >= 0) return SLW_OK;
    slwi_stat now;
    if (os->fstatat(os, p->parents[SLWI_SLOT_PARENTS], slot, 0, &now) >= 0 && slwi_same_file(&now, &p->stat))
        return SLW_OK;
    if (r == -EEXIST || r == -ENOTEMPTY) {
        *lost = 1;
        return SLW_OK;
    }
    return slwi_publish_fail(p, -r, "renaming the staging directory to the slot", err);
}

/* Somebody else published first. Theirs counts when it is valid; when it has gone again, ours may be tried once
   more. */
static slw_code rename_or_find(slwi_publishing *p, slwi_entry **out, int *lost, slw_error *err) {
    for (int i = 0; i < 2; i++) {
        *lost = 0;
        slw_code code = rename_staging(p, lost, err);
        if (code != SLW_OK || !*lost) return code;
        slw_error why = SLW_ERROR_INIT;
        code =
            slwi_look(p->what->store, p->what->key, p->what->spec, p->what->store->verify, SLWI_LOOK_STAMP, out, &why);
        if (code == SLW_OK) return SLW_OK;
        if (code != SLW_E_MISS || i == 1)
            return slwi_fail(err, SLW_E_PUBLICATION, "LOST", "another slot stands there and is no hit: %s",
                             why.message);
    }
    return SLW_E_PUBLICATION;
}

static slw_code make_entry(slwi_publishing *p, slwi_entry **out, slw_error *err) {
    const slwi_publication *what = p->what;
    char *directory = slwi_slot_path(what->store, what->key, what->spec);
    if (directory == NULL) return slwi_fail_memory(err, 0);
    const slwi_entry_parts parts = {.store = what->store,
                                    .key = what->key,
                                    .spec = what->spec,
                                    .inventory = &p->copy,
                                    .directory = directory,
                                    .stat = &p->stat,
                                    .kept = p->kept};
    const slw_code code = slwi_entry_create(&parts, out, err);
    slwi_free(&what->store->allocator, directory);
    return code;
}

static slw_code publish_once(slwi_publishing *p, slwi_entry **out, int *lost, slw_error *err) {
    slwi_entry *entry = NULL;
    slw_code code = slwi_publish_parents(p, err);
    if (code != SLW_OK) return code;
    slwi_publish_tag(p);
    slwi_publish_sweep(p);
    code = fill_staging(p, err);
    /* Memory for the result is had before anything is published. */
    if (code == SLW_OK) code = make_entry(p, &entry, err);
    slwi_entry *winner = NULL;
    if (code == SLW_OK) code = rename_or_find(p, &winner, lost, err);
    if (code == SLW_OK && !*lost) {
        p->published = 1;
        code = slwi_publish_sync_parents(p, err);
        slwi_stamp_used(p->what->store, p->parents[SLWI_SLOT_PARENTS], SLWI_USED_STAMP);
    }
    if (code == SLW_OK) *out = *lost ? winner : entry;
    if (code != SLW_OK || *lost) slwi_release(entry);
    return code;
}

static void finish(slwi_publishing *p) {
    const slwi_os *os = p->os;
    if (p->registered) slwi_fork_unregister(p->fd);
    if (p->fd >= 0) (void)os->close(os, p->fd);
    /* By name, never by a held descriptor: that would follow a rename that was done after all. */
    if (p->staged && !p->published) (void)slwi_remove_tree(os, p->parents[SLWI_SLOT_PARENTS], p->staging);
    for (int i = 0; i <= SLWI_SLOT_PARENTS; i++)
        if (p->parents[i] >= 0) (void)os->close(os, p->parents[i]);
    slwi_release(p->kept);
    slwi_inventory_free(&p->copy);
}

static slw_code publish(const slwi_publication *what, slwi_scratch *scratch, slwi_entry **out, int *lost, int *vanished,
                        slw_error *err) {
    slwi_publishing p = {.os = slwi_os_get(), .what = what, .scratch = scratch, .fd = -1};
    for (int i = 0; i <= SLWI_SLOT_PARENTS; i++) p.parents[i] = -1;
    slwi_inventory_init(&p.copy, &what->store->allocator);
    const slw_code code = publish_once(&p, out, lost, err);
    *vanished = code != SLW_OK && !p.published && p.vanished;
    finish(&p);
    return code;
}

slw_code slwi_publish(const slwi_publication *publication, slwi_entry **out, int *lost, slw_error *err) {
    slw_store *store = publication->store;
    slwi_scratch *scratch = slwi_scratch_borrow(store);
    if (scratch == NULL) return slwi_fail_memory(err, sizeof *scratch);
    int vanished = 0;
    *lost = 0;
    slw_code code = publish(publication, scratch, out, lost, &vanished, err);
    /* A directory on the way was removed meanwhile: the root itself, or, where there are no locks, an emptied
       parent. */
    if (vanished) {
        slwi_error_reset(err);
        *lost = 0;
        code = publish(publication, scratch, out, lost, &vanished, err);
    }
    slwi_scratch_return(store, scratch);
    return code;
}
