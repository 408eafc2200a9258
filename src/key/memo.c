/* Opening, asking and closing the memo. */
#include "memo.h"

#include <fcntl.h>
#include <errno.h>
#include <string.h>

#include "fail.h"
#include "file.h"
#include "memo_state.h"
#include "memory.h"
#include "sha256.h"

#define DAY_NS INT64_C(86400000000000)
#define DAY_S  UINT64_C(86400)

/* Who may have put a file into this directory: the user alone. Its parent may not be writable by others either (unless
   sticky), else the directory could be exchanged for another of the same user's. */
static slw_code check_trust(const slwi_os *os, const char *path, int fd, const slwi_stat *stat, slw_error *err) {
    const char *why = NULL;
    const uint32_t euid = os->euid(os);
    slwi_stat parent;
    if (stat->uid != euid) why = "it belongs to another user";
    if (why == NULL && (stat->mode & 0077) != 0) why = "others may enter it: its mode must be 0700";
    if (why == NULL && os->fstatat(os, fd, "..", 0, &parent) != 0) why = "the directory above it cannot be examined";
    if (why == NULL) (void)slwi_trusted(&parent, euid, NULL, 0, &why);
    if (why == NULL) return SLW_OK;
    slwi_error_path(err, path);
    slwi_error_hint(err, "give the memo a directory of the user's own with mode 0700");
    return slwi_fail(err, SLW_E_STORAGE, "UNTRUSTED", "the memo directory %s is not trusted: %s", path, why);
}

/* Leaves directory_fd at -1 for a directory that is absent and may not be made. */
static slw_code open_directory(slw_memo *memo, const char *path, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    int fd = slwi_open_directory(os, AT_FDCWD, path, 0, &memo->directory);
    if (fd == -ENOENT) {
        if (memo->read_only) return SLW_OK;
        const int made = slwi_make_directories(os, path, 0700);
        if (made < 0)
            return slwi_fail_os(err, SLW_E_STORAGE, NULL, -made, path, "cannot make the memo directory %s", path);
        fd = slwi_open_directory(os, AT_FDCWD, path, 0, &memo->directory);
    }
    if (fd < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -fd, path, "cannot open the memo directory %s", path);
    const slw_code rc = check_trust(os, path, fd, &memo->directory, err);
    if (rc != SLW_OK) {
        (void)os->close(os, fd);
        return rc;
    }
    memo->directory_fd = fd;
    return SLW_OK;
}

static void learn_boot(slw_memo *memo) {
    const slwi_os *os = slwi_os_get();
    char text[64] = "";
    slw_digest digest;
    if (os->boot_id(os, text) < 0 || text[0] == 0) return;
    text[sizeof text - 1] = 0;
    const slw_bytes bytes = {text, strlen(text)};
    slwi_sha256_once(bytes, &digest);
    memcpy(memo->boot, digest.bytes, sizeof memo->boot);
    memo->has_boot = 1;
}

static void free_memo(slw_memo *memo) {
    const slwi_os *os = slwi_os_get();
    const slw_allocator allocator = memo->allocator;
    slwi_memo_table_clear(&memo->table);
    if (memo->directory_fd >= 0) (void)os->close(os, memo->directory_fd);
    memo->tag = 0;
    (void)pthread_mutex_destroy(&memo->lock);
    slwi_free(&allocator, memo);
}

/* slwi_make_directories wants an absolute path. */
static slw_code absolute_path(const char *path, char out[4096], slw_error *err) {
    const slwi_os *os = slwi_os_get();
    size_t used = 0;
    if (path[0] != '/') {
        const int r = os->getcwd(os, out);
        if (r < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -r, NULL, "the current directory has no name");
        used = strlen(out);
        out[used++] = '/';
    }
    const size_t size = strlen(path);
    if (used + size >= 4096) return slwi_fail(err, SLW_E_USAGE, "BAD_PATH", "the memo directory's path is too long");
    memcpy(out + used, path, size + 1);
    return SLW_OK;
}

slw_code slw_memo_open(const slw_memo_options *options, slw_memo **out, slw_error *err) {
    slw_allocator allocator;
    char path[4096 + 1];
    slwi_error_reset(err);
    if (options == NULL || out == NULL || options->size != sizeof *options) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_memo_open: options with the right size, and out, are required");
    }
    if (options->directory == NULL || options->directory[0] == 0) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_memo_open: a directory is required");
    }
    slw_code rc = slwi_allocator_take(&options->allocator, &allocator, err);
    if (rc == SLW_OK) rc = absolute_path(options->directory, path, err);
    if (rc != SLW_OK) return rc;
    slw_memo *memo = slwi_alloc_zero(&allocator, sizeof *memo);
    if (memo == NULL) return slwi_fail_memory(err, sizeof *memo);
    if (pthread_mutex_init(&memo->lock, NULL) != 0) {
        slwi_free(&allocator, memo);
        return slwi_fail_memory(err, sizeof memo->lock);
    }
    memo->allocator = allocator;
    memo->read_only = options->read_only != 0;
    memo->directory_fd = -1;
    slwi_memo_table_init(&memo->table, &memo->allocator);
    learn_boot(memo);
    rc = open_directory(memo, path, err);
    if (rc == SLW_OK && slwi_memo_load(memo, &memo->table, &memo->loaded) != 0) {
        rc = slwi_fail_memory(err, SLWI_MEMO_RECORDS_MAX * sizeof(slwi_memo_record));
    }
    if (rc != SLW_OK) {
        free_memo(memo);
        return rc;
    }
    memo->tag = SLWI_MEMO_TAG;
    *out = memo;
    return SLW_OK;
}

void slw_memo_close(slw_memo **memo) {
    if (memo == NULL || *memo == NULL || (*memo)->tag != SLWI_MEMO_TAG) return;
    slwi_memo_save(*memo);
    free_memo(*memo);
    *memo = NULL;
}

int slwi_memo_ok(const slw_memo *memo) {
    return memo != NULL && memo->tag == SLWI_MEMO_TAG;
}

slwi_memo_place slwi_memo_place_of(const slw_memo *memo, const slwi_stat *stat, const slwi_volume *volume) {
    slwi_memo_place place = {
        .dev = stat->dev, .mount_id = volume->mount_id, .fs_id = volume->fs.id, .fs_type = volume->fs.type};
    memcpy(place.boot, memo->boot, sizeof place.boot);
    return place;
}

uint32_t slwi_memo_now_s(const slwi_os *os) {
    const int64_t now_s = os->wall_ns(os) / INT64_C(1000000000);
    if (now_s < 0) return 0;
    return now_s > UINT32_MAX ? UINT32_MAX : (uint32_t)now_s;
}

int slwi_memo_get_file(slw_memo *memo, const slwi_stat *stat, const slwi_volume *volume, slw_digest *out) {
    if (memo == NULL || !memo->has_boot || !volume->fs.memo_allowed) return 0;
    const slwi_memo_place place = slwi_memo_place_of(memo, stat, volume);
    (void)pthread_mutex_lock(&memo->lock);
    slwi_memo_record *record = slwi_memo_table_find(&memo->table, &place, stat->ino);
    const int known = record != NULL && record->size == stat->size && record->mtime_ns == stat->mtime_ns &&
                      record->ctime_ns == stat->ctime_ns;
    if (known) {
        *out = record->sha256;
        /* Asked once per memo, not per file: the first file of the day tells that all are still in use. */
        if (memo->wall_s == 0) memo->wall_s = slwi_memo_now_s(slwi_os_get());
        if (record->used_s + DAY_S < memo->wall_s) {
            record->used_s = memo->wall_s;
            memo->dirty = 1;
        }
    }
    (void)pthread_mutex_unlock(&memo->lock);
    return known;
}

slw_code slwi_memo_get_answer(slw_memo *memo, const slw_digest *key, slw_text *out, slw_error *err) {
    if (memo == NULL) return slwi_fail(err, SLW_E_MISS, NULL, "there is no memo");
    slw_code rc = SLW_E_MISS;
    (void)pthread_mutex_lock(&memo->lock);
    slwi_memo_answer *answer = slwi_memo_table_answer(&memo->table, key);
    if (answer != NULL) {
        const slwi_os *os = slwi_os_get();
        const int64_t now = os->wall_ns(os);
        char *copy = slwi_strndup(&memo->allocator, (const char *)answer->bytes, answer->size);
        if (copy != NULL) {
            out->data = copy;
            out->size = answer->size;
            out->allocator = memo->allocator;
            if (answer->used_ns < now - DAY_NS) {
                answer->used_ns = now;
                memo->dirty = 1;
            }
        }
        rc = copy != NULL ? SLW_OK : slwi_fail_memory(err, answer->size + 1);
    }
    (void)pthread_mutex_unlock(&memo->lock);
    return rc == SLW_E_MISS ? slwi_fail(err, SLW_E_MISS, NULL, "the memo knows no such answer") : rc;
}

void slwi_memo_put_answer(slw_memo *memo, const slw_digest *key, slw_bytes answer) {
    if (memo == NULL) return;
    const slwi_os *os = slwi_os_get();
    const int64_t now = os->wall_ns(os);
    (void)pthread_mutex_lock(&memo->lock);
    if (slwi_memo_table_put_answer(&memo->table, key, now, answer)) memo->dirty = 1;
    (void)pthread_mutex_unlock(&memo->lock);
}
