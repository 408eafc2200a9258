/* The digest of one file: from the memo where its rules allow it, else by reading it, with its stat identity
 * compared before, between and after (store-semantics A2). Metadata only finds races and memo records; it never is
 * identity by itself. */
#include <fcntl.h>
#include <string.h>

#include "fail.h"
#include "file.h"
#include "identity_gather.h"
#include "memo.h"
#include "memory.h"
#include "sha256.h"

#define CHUNK_BYTES 262144u

static const slwi_volume *known_volume(const slwi_gather *gather, uint64_t dev) {
    for (size_t i = 0; i < gather->volume_count; i++) {
        if (gather->volumes[i].dev == dev) return &gather->volumes[i];
    }
    return NULL;
}

const slwi_volume *slwi_gather_volume(slwi_gather *gather, int fd, const slwi_stat *stat) {
    const slwi_os *os = slwi_os_get();
    const slwi_volume *known = known_volume(gather, stat->dev);
    if (known != NULL) return known;
    if (gather->volume_count == sizeof gather->volumes / sizeof gather->volumes[0]) return NULL;
    slwi_volume *volume = &gather->volumes[gather->volume_count];
    int r = os->fstatfs(os, fd, &volume->fs);
    if (r >= 0) r = os->stat_mount_id(os, fd, &volume->mount_id);
    if (r < 0) return NULL;
    volume->dev = stat->dev;
    gather->volume_count++;
    return volume;
}

/* The same for a file that is not open; `directory` and `name` lead to it. */
static const slwi_volume *volume_of(slwi_gather *gather, int directory, const char *name, const slwi_stat *stat) {
    const slwi_os *os = slwi_os_get();
    const slwi_volume *volume = known_volume(gather, stat->dev);
    if (volume != NULL) return volume;
    slwi_stat opened;
    const int fd = slwi_open_regular(os, directory, name, 0, &opened);
    if (fd < 0) return NULL;
    if (opened.dev == stat->dev) volume = slwi_gather_volume(gather, fd, stat);
    (void)os->close(os, fd);
    return volume;
}

/* Reads `size` bytes; 0, -errno, or 1 when there are fewer. That there are not more is for the next fstat to say. */
static int hash_bytes(const slwi_os *os, int fd, uint64_t size, unsigned char *chunk, slw_digest *out) {
    slwi_sha256_ctx ctx;
    slwi_sha256_init(&ctx);
    while (size > 0) {
        const int64_t got = os->read(os, fd, chunk, size < CHUNK_BYTES ? (size_t)size : CHUNK_BYTES);
        if (got < 0) return (int)got;
        if (got == 0) return 1;
        slwi_sha256_update(&ctx, chunk, (size_t)got);
        size -= (uint64_t)got;
    }
    slwi_sha256_final(&ctx, out);
    return 0;
}

/* 0, -errno, or 1: it changed meanwhile. */
static int read_file(slwi_gather *gather, int directory, const char *name, const slwi_stat *before,
                     const slwi_volume *volume, slw_digest *out) {
    const slwi_os *os = slwi_os_get();
    slwi_stat opened, read, named;
    const int fd = slwi_open_regular(os, directory, name, 0, &opened);
    if (fd < 0) return fd;
    slwi_memo_ticket ticket = {0, 0};
    int r = slwi_unchanged(before, &opened) ? 0 : 1;
    if (r == 0) {
        if (volume != NULL) ticket = slwi_memo_begin(gather->memo, fd, &opened, volume);
        r = hash_bytes(os, fd, opened.size, gather->chunk, out);
    }
    if (r == 0) r = os->fstat(os, fd, &read);
    if (r == 0) r = os->fstatat(os, directory, name, 0, &named);
    if (r == 0 && (!slwi_unchanged(&opened, &read) || !slwi_unchanged(&opened, &named))) r = 1;
    if (volume != NULL) slwi_memo_end(gather->memo, &ticket, fd, &opened, volume, r == 0 ? out : NULL);
    (void)os->close(os, fd);
    if (r == 0) {
        gather->cost.read_files++;
        gather->cost.read_bytes += opened.size;
    }
    return r;
}

/* *good 0: put down as a failure. */
static slw_code digest_file(slwi_gather *gather, int directory, const char *name, const char *resolved,
                            const slwi_stat *stat, slw_digest *out, int *good, slw_error *err) {
    *good = 0;
    const slwi_volume *volume = gather->memo == NULL ? NULL : volume_of(gather, directory, name, stat);
    if (volume != NULL && slwi_memo_get_file(gather->memo, stat, volume, out)) {
        gather->cost.memo_files++;
        *good = 1;
        return SLW_OK;
    }
    if (gather->chunk == NULL) gather->chunk = slwi_alloc(&gather->allocator, CHUNK_BYTES);
    if (gather->chunk == NULL) return slwi_fail_memory(err, CHUNK_BYTES);
    const int r = read_file(gather, directory, name, stat, volume, out);
    if (r < 0) return slwi_gather_fail_os(gather, err, resolved, -r);
    if (r > 0) return slwi_gather_fail(gather, err, resolved, "changed while being read");
    *good = 1;
    return SLW_OK;
}

slw_code slwi_gather_file(slwi_gather *gather, slwi_home *home, int directory, const char *name, const char *resolved,
                          const slwi_stat *stat, slwi_seen **out, slw_error *err) {
    slw_digest digest;
    int good = 0;
    *out = NULL;
    slwi_seen *seen = NULL;
    if (home->indexed) seen = (slwi_seen *)slwi_table_find(&gather->files, resolved, strlen(resolved));
    if (seen != NULL) {
        if (!slwi_unchanged(&seen->stat, stat))
            return slwi_gather_fail(gather, err, resolved, "changed while being read");
        seen->ahead = 0;
        *out = seen;
        return SLW_OK;
    }
    if (!S_ISREG(stat->mode)) return slwi_gather_fail(gather, err, resolved, "is not a regular file");
    const slw_code rc = digest_file(gather, directory, name, resolved, stat, &digest, &good, err);
    if (rc != SLW_OK || !good) return rc;
    return slwi_gather_add(gather, home, resolved, stat, &digest, out, err);
}

static slw_code add_alias(slwi_gather *gather, const char *path, size_t size, slwi_seen *seen, slw_error *err) {
    slwi_alias *alias = slwi_arena_alloc(&gather->arena, sizeof *alias);
    if (alias == NULL || !slwi_table_reserve(&gather->aliases)) return slwi_fail_memory(err, sizeof *alias);
    alias->named.path = slwi_arena_copy(&gather->arena, path, size);
    if (alias->named.path == NULL) return slwi_fail_memory(err, size + 1);
    alias->named.path_size = size;
    alias->seen = seen;
    const slw_code rc = slwi_gather_fact(gather, SLWI_FACT_LEADS_TO, path, &seen->stat, NULL, err);
    if (rc == SLW_OK) slwi_table_add(&gather->aliases, &alias->named);
    return rc;
}

slw_code slwi_gather_path(slwi_gather *gather, const char *path, slwi_seen **out, slw_error *err) {
    const size_t size = strlen(path);
    char resolved[SLWI_PATH_BYTES];
    slwi_stat stat;
    int error = 0;
    slwi_home *home = NULL;
    slw_code rc = slwi_gather_find(gather, path, out, err);
    if (rc != SLW_OK || *out != NULL) return rc;
    const slwi_alias *alias = (const slwi_alias *)slwi_table_find(&gather->aliases, path, size);
    if (alias != NULL) {
        *out = alias->seen;
        return SLW_OK;
    }
    rc = slwi_gather_resolve(gather, path, resolved, &stat, &error, err);
    if (rc != SLW_OK) return rc;
    if (error != 0) return slwi_gather_fail_os(gather, err, path, error);
    rc = slwi_gather_home(gather, resolved, &home, err);
    if (rc == SLW_OK) rc = slwi_gather_file(gather, home, AT_FDCWD, resolved, resolved, &stat, out, err);
    if (rc != SLW_OK || *out == NULL || strcmp(path, resolved) == 0) return rc;
    rc = add_alias(gather, path, size, *out, err);
    if (rc != SLW_OK) *out = NULL;
    return rc;
}
