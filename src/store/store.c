/* Opening and closing a store. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "clock.h"
#include "fail.h"
#include "memory.h"
#include "record_writer.h"
#include "store_root.h"
#include "store_scratch.h"

slw_code slwi_store_check(const slw_store *store, slw_error *err) {
    if (store == NULL || store->tag != SLWI_STORE_TAG) return slwi_fail(err, SLW_E_USAGE, "BAD_STORE", "not a store");
    return SLW_OK;
}

slw_code slwi_request_check(const slw_store *store, const slw_key *key, const slw_spec *spec, slw_error *err) {
    const slw_code code = slwi_store_check(store, err);
    if (code != SLW_OK) return code;
    if (key == NULL || spec == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "a key and a spec are needed");
    if (strcmp(slw_key_domain(key), store->domain) != 0 || strcmp(slw_spec_domain(spec), store->domain) != 0)
        return slwi_fail(err, SLW_E_USAGE, "BAD_DOMAIN", "the store is of domain %s, the key of %s, the spec of %s",
                         store->domain, slw_key_domain(key), slw_spec_domain(spec));
    return SLW_OK;
}

int slwi_store_is_default_domain(const slw_store *store) {
    return strcmp(store->domain, SLW_DOMAIN_DEFAULT) == 0;
}

slw_code slwi_check_both(uint64_t deadline_ns, const slw_store *store, const slw_cancel *cancel, const char *what,
                         slw_error *err) {
    return slwi_check_wait(deadline_ns, slw_cancel_requested(cancel) ? cancel : store->cancel, what, err);
}

static void destroy_store(slwi_ref *self) {
    slw_store *store = (slw_store *)(void *)self;
    const slw_allocator allocator = store->allocator;
    store->tag = 0;
    slwi_scratch_free(&allocator, atomic_load(&store->scratch));
    slwi_release(store->metrics);
    slwi_free(&allocator, store->trusted_uids);
    slwi_free(&allocator, store->private_root);
    slwi_free(&allocator, store->root);
    slwi_free(&allocator, store);
}

static slw_code check_later(const slw_store_options *o, slw_error *err) {
    const char *what = NULL;
    if (o->verify == SLW_VERIFY_MEMO) what = "verify";
    if (o->durability != SLW_DURABILITY_FULL) what = "durability";
    if (o->quarantine != 0) what = "quarantine";
    if (o->leases != 0) what = "leases";
    if (o->limit_bytes != 0) what = "limit_bytes";
    if (o->limit_entries != 0) what = "limit_entries";
    if (o->layers != NULL || o->layer_count != 0) what = "layers";
    if (what == NULL) return SLW_OK;
    (void)slwi_fail(err, SLW_E_UNSUPPORTED, NULL, "the store option %s is not in this version", what);
    slwi_error_subject(err, what, strlen(what));
    return SLW_E_UNSUPPORTED;
}

static slw_code check_options(const slw_store_options *o, slw_error *err) {
    const char *bad = NULL;
    if (o == NULL || o->size != sizeof *o) return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE", "options of another size");
    if (o->root == NULL || o->root[0] == 0) bad = "root";
    if (o->private_root != NULL && o->private_root[0] == 0) bad = "private_root";
    if (slwi_domain_known(o->domain) == NULL) bad = "domain";
    if (o->verify < SLW_VERIFY_FULL || o->verify > SLW_VERIFY_MEMO) bad = "verify";
    if (o->durability < SLW_DURABILITY_FULL || o->durability > SLW_DURABILITY_NONE) bad = "durability";
    if (o->trusted_uid_count != 0 && o->trusted_uids == NULL) bad = "trusted_uids";
    if (bad == NULL) return check_later(o, err);
    (void)slwi_fail(err, SLW_E_USAGE, "BAD_OPTION", "the store option %s is missing or out of range", bad);
    slwi_error_subject(err, bad, strlen(bad));
    return SLW_E_USAGE;
}

static slw_code resolve_failure(int error_number, const char *what, const char *path, slw_error *err) {
    if (error_number == EINVAL || error_number == ENAMETOOLONG) {
        (void)slwi_fail(err, SLW_E_USAGE, "BAD_PATH", "%s has \"..\" behind something absent, or is too long", what);
        slwi_error_path(err, path);
        return SLW_E_USAGE;
    }
    return slwi_fail_os(err, SLW_E_STORAGE, NULL, error_number, path, "resolving %s", what);
}

static slw_code resolve_copy(const slw_allocator *allocator, const char *what, const char *path, char **out,
                             slw_error *err) {
    char resolved[4096];
    const int r = slwi_resolve_path(slwi_os_get(), path, resolved);
    if (r < 0) return resolve_failure(-r, what, path, err);
    *out = slwi_strndup(allocator, resolved, strlen(resolved));
    return *out == NULL ? slwi_fail_memory(err, strlen(resolved) + 1) : SLW_OK;
}

/* Judges the root as it stands now; an absent one is judged again when it is there. */
static slw_code judge_at_open(slw_store *store, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_stat root, parent;
    char above[4096];
    int r = os->fstatat(os, AT_FDCWD, store->root, 0, &root);
    const int absent = r == -ENOENT;
    if (r < 0 && !absent) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -r, store->root, "looking at the root");
    if (!absent && !S_ISDIR(root.mode)) return slwi_fail_os(err, SLW_E_STORAGE, NULL, ENOTDIR, store->root, "the root");
    const size_t size = strlen(store->root);
    const char *slash = strrchr(store->root, '/');
    const size_t parent_size = slash == NULL || slash == store->root ? 1 : (size_t)(slash - store->root);
    if (size >= sizeof above) return slwi_fail(err, SLW_E_USAGE, "BAD_PATH", "the root's path is too long");
    memcpy(above, store->root, parent_size);
    above[parent_size] = 0;
    r = os->fstatat(os, AT_FDCWD, above, 0, &parent);
    if (r == -ENOENT && absent) return SLW_OK;
    if (r < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -r, above, "looking at the root's parent");
    const char *why = NULL;
    if (slwi_root_judge(store, os->euid(os), absent ? NULL : &root, &parent, &why)) {
        if (absent) return SLW_OK;
        store->judged_dev = root.dev;
        store->judged_ino = root.ino;
        return SLW_OK;
    }
    (void)slwi_fail(err, SLW_E_STORAGE, "UNTRUSTED", "%s", why);
    slwi_error_path(err, store->root);
    slwi_error_hint(err, "make the root and its parent yours alone to write, or open the store with trust_root");
    return SLW_E_STORAGE;
}

static slw_code fill_paths(slw_store *store, const slw_store_options *o, slw_error *err) {
    slw_code code = resolve_copy(&store->allocator, "the root", o->root, &store->root, err);
    if (code == SLW_OK && o->private_root != NULL)
        code = resolve_copy(&store->allocator, "the private root", o->private_root, &store->private_root, err);
    if (code != SLW_OK) return code;
    if (store->private_root != NULL && slwi_path_inside(store->root, store->private_root)) {
        (void)slwi_fail(err, SLW_E_USAGE, "PRIVATE_ROOT_INSIDE", "the private root lies in the root");
        slwi_error_path(err, store->private_root);
        return SLW_E_USAGE;
    }
    if (o->trusted_uid_count > 0) {
        store->trusted_uids = slwi_alloc_array(&store->allocator, o->trusted_uid_count, sizeof *store->trusted_uids);
        if (store->trusted_uids == NULL)
            return slwi_fail_memory(err, o->trusted_uid_count * sizeof *store->trusted_uids);
        memcpy(store->trusted_uids, o->trusted_uids, o->trusted_uid_count * sizeof *store->trusted_uids);
        store->trusted_uid_count = o->trusted_uid_count;
    }
    return judge_at_open(store, err);
}

static void fill_plain(slw_store *store, const slw_store_options *o) {
    store->tag = SLWI_STORE_TAG;
    store->domain = slwi_domain_known(o->domain);
    store->read_only = o->read_only != 0;
    store->trust_root = o->trust_root != 0;
    store->verify = o->verify;
    store->lock_timeout_ns = o->lock_timeout_ns;
    store->build_timeout_ns = o->build_timeout_ns != 0 ? o->build_timeout_ns : UINT64_C(900000000000);
    store->cancel = o->cancel;
    store->keep_failed_builds = o->keep_failed_builds != 0;
    store->keep_private_builds = o->keep_private_builds != 0;
    /* Every counted object begins with its count, so the store need not know what metrics are. */
    store->metrics = slwi_retain((const slwi_ref *)(const void *)o->metrics);
    atomic_init(&store->scratch, NULL);
    atomic_init(&store->no_replace, -1);
    atomic_init(&store->locks, -1);
}

slw_code slw_store_open(const slw_store_options *options, slw_store **out, slw_error *err) {
    slwi_error_reset(err);
    slw_code code = check_options(options, err);
    if (code != SLW_OK) return code;
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "out is NULL");
    slw_allocator allocator;
    code = slwi_allocator_take(&options->allocator, &allocator, err);
    if (code != SLW_OK) return code;
    slw_store *store = slwi_alloc_zero(&allocator, sizeof *store);
    if (store == NULL) return slwi_fail_memory(err, sizeof *store);
    slwi_ref_init(&store->ref, destroy_store);
    store->allocator = allocator;
    fill_plain(store, options);
    slwi_scratch *scratch = slwi_scratch_borrow(store);
    slwi_scratch_return(store, scratch);
    code = scratch == NULL ? slwi_fail_memory(err, sizeof *scratch) : fill_paths(store, options, err);
    if (code != SLW_OK) {
        slwi_release(store);
        return code;
    }
    *out = store;
    return SLW_OK;
}

void slw_store_close(slw_store **store) {
    if (store == NULL || *store == NULL || (*store)->tag != SLWI_STORE_TAG) return;
    slw_store *own = *store;
    *store = NULL;
    slwi_release(own);
}

const char *slw_store_root(const slw_store *store) {
    return slwi_store_check(store, NULL) == SLW_OK ? store->root : NULL;
}

const slw_allocator *slwi_store_allocator(const slw_store *store) {
    return &store->allocator;
}
const char *slwi_store_domain(const slw_store *store) {
    return store->domain;
}
slwi_ref *slwi_store_metrics(const slw_store *store) {
    return store->metrics;
}
uint64_t slwi_store_build_timeout_ns(const slw_store *store) {
    return store->build_timeout_ns;
}
slw_cancel *slwi_store_cancel(const slw_store *store) {
    return store->cancel;
}
slw_store *slwi_store_retain(slw_store *store) {
    return slwi_retain(store);
}
