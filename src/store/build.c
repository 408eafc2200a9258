#include "store_build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "fail.h"
#include "fork.h"
#include "hex.h"
#include "memory.h"
#include "store_root.h"
#include "store_scratch.h"

slw_code slwi_builder_check(const slw_store *store, const slw_builder *builder, slw_error *err) {
    char resolved[4096];
    if (builder == NULL || builder->size != sizeof *builder)
        return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE", "a builder of another size");
    if (builder->build == NULL && builder->directory == NULL)
        return slwi_fail(err, SLW_E_USAGE, NULL, "a builder needs a function or a directory");
    if (builder->directory == NULL) return SLW_OK;
    if (slwi_resolve_path(slwi_os_get(), builder->directory, resolved) >= 0 && slwi_path_inside(store->root, resolved))
        return slwi_fail(err, SLW_E_USAGE, "INSIDE_ROOT", "the builder's directory lies in the store");
    return SLW_OK;
}

static slw_code no_private_root(slw_error *err) {
    (void)slwi_fail(err, SLW_E_STORAGE, "NO_PRIVATE_ROOT", "a build is needed and the store has no private root");
    slwi_error_hint(err, "open the store with private_root");
    return SLW_E_STORAGE;
}

/* Whoever may write the directory above may put another in the place of ours between the build and the copy, and what
   lies there is published: the rule is the root's (pitfall 9). */
static slw_code judge_private_root(const slw_store *store, const char *resolved, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    const char *why = NULL;
    slwi_stat stat;
    if (store->trust_root) return SLW_OK;
    const int r = os->fstatat(os, AT_FDCWD, resolved, 0, &stat);
    if (r < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -r, resolved, "the private root");
    if (slwi_trusted(&stat, os->euid(os), store->trusted_uids, store->trusted_uid_count, &why)) return SLW_OK;
    (void)slwi_fail(err, SLW_E_STORAGE, "UNTRUSTED", "the private root is not trusted: %s", why);
    slwi_error_path(err, resolved);
    slwi_error_hint(err, "give builds a directory that only you can write");
    return SLW_E_STORAGE;
}

/* A fresh directory that nobody can have foreseen, 0700. */
static slw_code make_directory(const slw_store *store, slwi_private **out, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    char resolved[4096], path[4096], digits[17];
    if (store->private_root == NULL) return no_private_root(err);
    int r = os->realpath(os, store->private_root, resolved);
    if (r == -ENOENT) {
        r = slwi_make_directories(os, store->private_root, 0700);
        if (r >= 0) r = os->realpath(os, store->private_root, resolved);
    }
    if (r < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -r, store->private_root, "the private root");
    if (slwi_path_inside(store->root, resolved))
        return slwi_fail(err, SLW_E_USAGE, "PRIVATE_ROOT_INSIDE", "the private root lies in the root");
    const slw_code trusted = judge_private_root(store, resolved, err);
    if (trusted != SLW_OK) return trusted;
    for (int i = 0; i < 16; i++) {
        uint8_t bytes[8];
        r = os->random(os, bytes, sizeof bytes);
        if (r < 0) break;
        slwi_hex_encode(bytes, sizeof bytes, digits);
        digits[16] = 0;
        const int size = snprintf(path, sizeof path, "%s/slipway-build-%s", resolved, digits);
        if (size < 0 || (size_t)size >= sizeof path)
            return slwi_fail(err, SLW_E_STORAGE, NULL, "the private root's path is too long");
        r = os->mkdirat(os, AT_FDCWD, path, 0700);
        if (r < 0 && r != -EEXIST) (void)os->unlinkat(os, AT_FDCWD, path, 1); /* it may have been done after all */
        if (r != -EEXIST) break;
    }
    if (r < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -r, store->private_root, "making a private directory");
    *out = slwi_private_create(store, path, 1);
    if (*out != NULL) return SLW_OK;
    (void)os->unlinkat(os, AT_FDCWD, path, 1);
    return slwi_fail_memory(err, strlen(path) + 1);
}

static slw_code take_directory(const slw_store *store, const slw_builder *builder, slwi_private **out, slw_error *err) {
    char resolved[4096];
    if (builder->directory == NULL) return make_directory(store, out, err);
    const slwi_os *os = slwi_os_get();
    const int r = os->realpath(os, builder->directory, resolved);
    if (r < 0) {
        const slw_code code = r == -ENOENT ? SLW_E_INVALID_SOURCE : SLW_E_STORAGE;
        return slwi_fail_os(err, code, NULL, -r, builder->directory, "the builder's directory");
    }
    *out = slwi_private_create(store, resolved, 0);
    return *out != NULL ? SLW_OK : slwi_fail_memory(err, strlen(resolved) + 1);
}

/* Runs one callback of the builder's and makes sure that its code has a record. */
static slw_code call(slw_code (*function)(void *, const slw_build_context *, slw_error *), const slw_builder *builder,
                     const slw_build_context *context, const char *what, slw_error *err) {
    const slw_code code = function(builder->context, context, err);
    if (code == SLW_OK) {
        slwi_error_reset(err);
        return SLW_OK;
    }
    if (err != NULL && err->code == SLW_OK) (void)slwi_fail(err, code, NULL, "%s said no", what);
    if (err != NULL) err->code = code;
    return code;
}

static int cancel_requested(const slw_store *store, const slw_builder *builder) {
    return slw_cancel_requested(store->cancel) || slw_cancel_requested(builder->cancel);
}

static slw_code run_builder(slw_store *store, const slw_builder *builder, slwi_built *built, slw_build_context *context,
                            slw_error *err) {
    const uint64_t generation = slwi_fork_generation();
    if (builder->build == NULL) return SLW_OK;
    const uint64_t start = slwi_now_ns();
    const slw_code code = call(builder->build, builder, context, "the builder", err);
    built->duration_ns = slwi_now_ns() - start;
    if (generation != slwi_fork_generation()) {
        slwi_error_reset(err);
        return slwi_fail(err, SLW_E_FORKED, NULL, "the builder came back in a forked child");
    }
    const int cancelled = code == SLW_E_CANCELLED && cancel_requested(store, builder);
    const int late = code == SLW_E_TIMEOUT && slwi_now_ns() >= context->deadline_ns;
    built->own_wait_ended = cancelled || late;
    return code;
}

static slw_code open_built(const slwi_built *built, int *fd, slwi_stat *stat, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    *fd = os->openat(os, AT_FDCWD, built->directory->path, O_RDONLY | O_DIRECTORY, 0);
    const int r = *fd < 0 ? *fd : os->fstat(os, *fd, stat);
    if (r >= 0) return SLW_OK;
    if (*fd >= 0) (void)os->close(os, *fd);
    const slw_code code = r == -ENOENT || r == -ENOTDIR ? SLW_E_INVALID_SOURCE : SLW_E_STORAGE;
    return slwi_fail_os(err, code, NULL, -r, built->directory->path, "opening the build's directory");
}

static slw_code check_required(const slw_spec *spec, const slwi_inventory *inventory, slw_error *err) {
    for (size_t i = 0; i < slw_spec_required_count(spec); i++) {
        const slw_bytes name = slw_spec_required(spec, i);
        if (slwi_inventory_find(inventory, name.data, name.size) != SIZE_MAX) continue;
        (void)slwi_fail(err, SLW_E_INVALID_SOURCE, "REQUIRED_MISSING", "the builder did not make a required file: %s",
                        (const char *)name.data);
        slwi_error_subject(err, name.data, name.size);
        return SLW_E_INVALID_SOURCE;
    }
    return SLW_OK;
}

static slw_code take_inventory(slw_store *store, const slw_spec *spec, slwi_built *built, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    int fd = -1;
    slw_code code = open_built(built, &fd, &built->stat, err);
    if (code != SLW_OK) return code;
    const slwi_tree_rules rules = {.bad_code = SLW_E_INVALID_SOURCE,
                                   .limit_code = SLW_E_LIMIT,
                                   .hash = 1,
                                   .keep = slw_spec_keep(spec),
                                   .where = built->directory->path};
    slwi_scratch *scratch = slwi_scratch_borrow(store);
    if (scratch == NULL)
        code = slwi_fail_memory(err, sizeof *scratch);
    else
        code = slwi_inventory_read(scratch, fd, &rules, &built->inventory, &built->kept, NULL, err);
    slwi_scratch_return(store, scratch);
    (void)os->close(os, fd);
    return code == SLW_OK ? check_required(spec, &built->inventory, err) : code;
}

/* Not a failure: the result is as usable as any, it must only not be published. */
static void confirm(const slw_builder *builder, const slw_build_context *context, slwi_built *built) {
    slw_error why = SLW_ERROR_INIT;
    if (builder->confirm == NULL || call(builder->confirm, builder, context, "the builder's confirm", &why) == SLW_OK)
        return;
    built->declined = 1;
    const char *name = why.reason != NULL ? why.reason : slw_code_name(why.code);
    (void)snprintf(built->reason, sizeof built->reason, "%.64s: %.440s", name, why.message);
}

static slw_code run_in_directory(slw_store *store, const slw_spec *spec, const slw_builder *builder, slwi_built *built,
                                 slw_error *err) {
    const uint64_t timeout = builder->timeout_ns != 0 ? builder->timeout_ns : store->build_timeout_ns;
    slw_build_context context = {.size = sizeof context,
                                 .directory = built->directory->path,
                                 .deadline_ns = slwi_deadline_ns(timeout, 0),
                                 .cancel = builder->cancel != NULL ? builder->cancel : store->cancel,
                                 .value = &built->directory->value};
    built->directory->context = builder->context;
    built->directory->release_value = builder->release_value;
    slw_code code = run_builder(store, builder, built, &context, err);
    if (code == SLW_OK) code = take_inventory(store, spec, built, err);
    if (code == SLW_OK) confirm(builder, &context, built);
    return code;
}

slw_code slwi_build_run(slw_store *store, const slw_spec *spec, const slw_builder *builder, slwi_built *out,
                        slw_error *err) {
    memset(out, 0, sizeof *out);
    slwi_inventory_init(&out->inventory, &store->allocator);
    slw_error local = SLW_ERROR_INIT;
    slw_error *record = err != NULL ? err : &local; /* the builder always has one to fill */
    if (cancel_requested(store, builder)) {
        out->own_wait_ended = 1;
        return slwi_fail(record, SLW_E_CANCELLED, NULL, "cancelled before the build began");
    }
    slw_code code = take_directory(store, builder, &out->directory, record);
    if (code != SLW_OK) return code;
    code = run_in_directory(store, spec, builder, out, record);
    if (code == SLW_OK) {
        if (store->keep_private_builds) out->directory->removable = 0;
        return SLW_OK;
    }
    if (store->keep_failed_builds) out->directory->removable = 0;
    slwi_built_clear(out);
    return code;
}

void slwi_built_clear(slwi_built *built) {
    slwi_release(built->kept);
    slwi_release(built->directory);
    slwi_inventory_free(&built->inventory);
    built->kept = NULL;
    built->directory = NULL;
}
