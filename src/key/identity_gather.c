#include "identity_gather.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "memory.h"

void slwi_gather_init(slwi_gather *gather, const slw_allocator *allocator, slw_memo *memo) {
    const slw_identity_cost nothing = SLW_IDENTITY_COST_INIT;
    memset(gather, 0, sizeof *gather);
    gather->allocator = *allocator;
    gather->memo = memo;
    slwi_arena_init(&gather->arena, allocator);
    slwi_table_init(&gather->homes, allocator);
    slwi_table_init(&gather->files, allocator);
    slwi_table_init(&gather->aliases, allocator);
    slwi_table_init(&gather->folders, allocator);
    gather->last_seen = &gather->first_seen;
    gather->last_fact = &gather->first_fact;
    gather->last_failure = &gather->first_failure;
    gather->cost = nothing;
}

void slwi_gather_finish(slwi_gather *gather) {
    slwi_free(&gather->allocator, gather->chunk);
    gather->chunk = NULL;
    if (gather->ld_cache_read) slwi_buffer_free(&gather->ld_cache);
    gather->ld_cache_read = 0;
    slwi_table_free(&gather->homes);
    slwi_table_free(&gather->files);
    slwi_table_free(&gather->aliases);
    slwi_table_free(&gather->folders);
}

void slwi_gather_free(slwi_gather *gather) {
    slwi_gather_finish(gather);
    slwi_arena_free(&gather->arena);
    gather->first_seen = NULL;
    gather->first_fact = NULL;
    gather->first_failure = NULL;
}

static slw_code put_failure(slwi_gather *gather, const char *reason, slw_error *err) {
    slwi_failure *failure = slwi_arena_alloc(&gather->arena, sizeof *failure);
    const char *copy = slwi_arena_copy(&gather->arena, reason, strlen(reason));
    if (failure == NULL || copy == NULL) return slwi_fail_memory(err, sizeof *failure);
    failure->owner = gather->owner;
    failure->reason = copy;
    *gather->last_failure = failure;
    gather->last_failure = &failure->next;
    gather->failure_count++;
    return SLW_OK;
}

slw_code slwi_gather_fail(slwi_gather *gather, slw_error *err, const char *path, const char *format, ...) {
    char reason[SLWI_PATH_BYTES + 512];
    size_t used = 0;
    va_list rest;
    if (path != NULL) {
        const int wrote = snprintf(reason, SLWI_PATH_BYTES + 2, "%s: ", path);
        used = wrote < 0 ? 0 : strlen(reason);
    }
    va_start(rest, format);
    const int wrote = vsnprintf(reason + used, sizeof reason - used, format, rest);
    va_end(rest);
    if (wrote < 0) reason[used] = 0;
    return put_failure(gather, reason, err);
}

slw_code slwi_gather_fail_os(slwi_gather *gather, slw_error *err, const char *path, int error_number) {
    char name[16];
    const char *what = slwi_errno_name(error_number, name);
    if (error_number == ENOENT) return slwi_gather_fail(gather, err, path, "is missing (%s)", what);
    return slwi_gather_fail(gather, err, path, "cannot be read (%s)", what);
}

slwi_gather_mark slwi_gather_mark_get(const slwi_gather *gather) {
    const slwi_gather_mark mark = {gather->last_failure, gather->failure_count};
    return mark;
}

void slwi_gather_mark_return(slwi_gather *gather, slwi_gather_mark mark) {
    *mark.last = NULL;
    gather->last_failure = mark.last;
    gather->failure_count = mark.count;
}

slw_code slwi_gather_absolute(slwi_gather *gather, const char *path, char out[SLWI_PATH_BYTES], int *ok,
                              slw_error *err) {
    const slwi_os *os = slwi_os_get();
    char directory[SLWI_PATH_BYTES];
    const size_t size = strlen(path);
    size_t used = 0;
    *ok = 0;
    if (path[0] != '/') {
        const int r = os->getcwd(os, directory);
        if (r < 0) return slwi_gather_fail_os(gather, err, path, -r);
        used = strlen(directory);
        if (used + 1 + size >= SLWI_PATH_BYTES) return slwi_gather_fail_os(gather, err, path, ENAMETOOLONG);
        memcpy(out, directory, used);
        if (used == 0 || out[used - 1] != '/') out[used++] = '/';
    }
    if (used + size >= SLWI_PATH_BYTES) return slwi_gather_fail_os(gather, err, path, ENAMETOOLONG);
    memcpy(out + used, path, size + 1);
    *ok = 1;
    return SLW_OK;
}

slw_code slwi_gather_fact(slwi_gather *gather, slwi_fact_kind kind, const char *path, const slwi_stat *stat,
                          slwi_fact **out, slw_error *err) {
    slwi_fact *fact = slwi_arena_alloc(&gather->arena, sizeof *fact);
    const char *copy = slwi_arena_copy(&gather->arena, path, strlen(path));
    if (fact == NULL || copy == NULL) return slwi_fail_memory(err, sizeof *fact);
    fact->kind = kind;
    fact->path = copy;
    if (stat != NULL) fact->stat = *stat;
    *gather->last_fact = fact;
    gather->last_fact = &fact->next;
    if (out != NULL) *out = fact;
    return SLW_OK;
}

int slwi_gather_means_absent(int error_number) {
    return error_number == ENOENT || error_number == ENOTDIR || error_number == EACCES;
}

slw_code slwi_gather_absent(slwi_gather *gather, const char *path, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    /* Something that was passed over (a library for another machine) is there: that it stays is then the fact. */
    if (os->fstatat(os, AT_FDCWD, path, 1, &stat) >= 0) {
        return slwi_gather_fact(gather, SLWI_FACT_LEADS_TO, path, &stat, NULL, err);
    }
    return slwi_gather_fact(gather, SLWI_FACT_ABSENT, path, NULL, NULL, err);
}

slw_code slwi_gather_folder(slwi_gather *gather, const char *path, size_t size, slwi_folder **out, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    char resolved[SLWI_PATH_BYTES];
    slwi_named *known = slwi_table_find(&gather->folders, path, size);
    if (known != NULL) {
        *out = (slwi_folder *)known;
        return SLW_OK;
    }
    slwi_folder *folder = slwi_arena_alloc(&gather->arena, sizeof *folder);
    if (folder == NULL || !slwi_table_reserve(&gather->folders)) return slwi_fail_memory(err, sizeof *folder);
    folder->named.path = slwi_arena_copy(&gather->arena, path, size);
    folder->named.path_size = size;
    folder->hwcaps = -1;
    if (folder->named.path == NULL) return slwi_fail_memory(err, size + 1);
    slwi_stat stat;
    int r = os->realpath(os, size == 0 ? "/" : folder->named.path, resolved);
    if (r >= 0) r = os->fstatat(os, AT_FDCWD, resolved, 1, &stat);
    if (r < 0 && !slwi_gather_means_absent(-r)) folder->error = -r;
    if (r >= 0 && S_ISDIR(stat.mode)) {
        folder->resolved_size = strcmp(resolved, "/") == 0 ? 0 : strlen(resolved);
        folder->resolved = slwi_arena_copy(&gather->arena, resolved, folder->resolved_size);
        if (folder->resolved == NULL) return slwi_fail_memory(err, folder->resolved_size + 1);
    }
    slwi_table_add(&gather->folders, &folder->named);
    *out = folder;
    return SLW_OK;
}

/* The length of the directory part, when the last component is a plain name; -1 for "", "." and "..". */
static ptrdiff_t directory_part(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL || slash[1] == 0 || strcmp(slash + 1, ".") == 0 || strcmp(slash + 1, "..") == 0) return -1;
    return slash - path;
}

static int resolve_fully(const slwi_os *os, const char *path, char resolved[SLWI_PATH_BYTES], slwi_stat *stat) {
    int r = os->realpath(os, path, resolved);
    if (r >= 0) r = os->fstatat(os, AT_FDCWD, resolved, 0, stat);
    return r < 0 ? -r : 0;
}

slw_code slwi_gather_resolve(slwi_gather *gather, const char *path, char resolved[SLWI_PATH_BYTES], slwi_stat *stat,
                             int *error, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_folder *folder = NULL;
    const ptrdiff_t part = directory_part(path);
    if (part < 0) {
        *error = resolve_fully(os, path, resolved, stat);
        return SLW_OK;
    }
    const slw_code rc = slwi_gather_folder(gather, path, (size_t)part, &folder, err);
    if (rc != SLW_OK) return rc;
    const int r = os->fstatat(os, AT_FDCWD, path, 0, stat);
    *error = r < 0 ? -r : 0;
    if (r < 0) return SLW_OK;
    const size_t name_size = strlen(path + part);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): SLW_OK gives a folder */
    if (S_ISLNK(stat->mode) || folder->resolved == NULL || folder->resolved_size + name_size >= SLWI_PATH_BYTES) {
        *error = resolve_fully(os, path, resolved, stat);
        return SLW_OK;
    }
    memcpy(resolved, folder->resolved, folder->resolved_size);
    memcpy(resolved + folder->resolved_size, path + part, name_size + 1);
    return SLW_OK;
}
