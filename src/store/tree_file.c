/* What the walk does with a file. Small files are read one behind another into one buffer and hashed together, which
 * hides the latency of the SHA instructions; large ones are hashed piece by piece; the one to keep is read into its
 * image and hashed there, so that the bytes handed out later are the bytes that were judged. */
#include "store_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fail.h"
#include "memory.h"
#include "sha256.h"
#include "store_root.h"

void slwi_tree_flush(slwi_tree_walk *walk) {
    slwi_scratch *s = walk->scratch;
    if (s->batch_count == 0) return;
    slwi_sha256_many(s->messages, s->batch_count, s->digests);
    for (size_t i = 0; i < s->batch_count; i++) walk->out->files[s->message_file[i]].sha256 = s->digests[i];
    s->batch_count = s->batch_used = 0;
}

static void add_message(slwi_tree_walk *walk, const void *data, size_t size) {
    slwi_scratch *s = walk->scratch;
    s->messages[s->batch_count] = (slw_bytes){data, size};
    s->message_file[s->batch_count++] = walk->out->count - 1;
    if (s->batch_count == SLWI_BATCH_FILES) slwi_tree_flush(walk);
}

static slw_code changed(slwi_tree_walk *walk) {
    *walk->changed = 1;
    return slwi_tree_fail(walk, walk->rules->bad_code, "CHANGED", "changed while it was read");
}

/* Reads exactly `size` bytes from where the descriptor stands. */
static slw_code read_exactly(slwi_tree_walk *walk, int fd, uint8_t *to, size_t size) {
    for (size_t have = 0; have < size;) {
        const int64_t r = walk->os->read(walk->os, fd, to + have, size - have);
        if (r < 0) return slwi_tree_fail_os(walk, (int)-r, "reading");
        if (r == 0) return changed(walk);
        have += (size_t)r;
    }
    return SLW_OK;
}

static slw_code read_into_image(slwi_tree_walk *walk, int fd, size_t size) {
    slwi_image *image = NULL;
    const int r = slwi_image_create(walk->scratch->allocator, size, &image);
    if (r < 0) return slwi_fail_memory(walk->err, size);
    slw_code code = read_exactly(walk, fd, slwi_image_data(image), size);
    if (code == SLW_OK) {
        const int sealed = slwi_image_seal(image);
        if (sealed < 0) code = slwi_tree_fail_os(walk, -sealed, "keeping");
    }
    if (code != SLW_OK) {
        slwi_release(image);
        return code;
    }
    walk->kept = image;
    add_message(walk, slwi_image_data(image), size);
    return SLW_OK;
}

static slw_code hash_in_pieces(slwi_tree_walk *walk, int fd, uint64_t size) {
    slwi_scratch *s = walk->scratch;
    slwi_tree_flush(walk);
    slwi_sha256_ctx ctx;
    slwi_sha256_init(&ctx);
    while (size > 0) {
        const size_t piece = size < sizeof s->bytes ? (size_t)size : sizeof s->bytes;
        const slw_code code = read_exactly(walk, fd, s->bytes, piece);
        if (code != SLW_OK) return code;
        slwi_sha256_update(&ctx, s->bytes, piece);
        size -= piece;
    }
    slwi_sha256_final(&ctx, &walk->out->files[walk->out->count - 1].sha256);
    return SLW_OK;
}

static slw_code read_and_hash(slwi_tree_walk *walk, int fd, uint64_t size) {
    slwi_scratch *s = walk->scratch;
    if (walk->keep != NULL && walk->kept == NULL && strcmp(walk->keep, s->path) == 0)
        return read_into_image(walk, fd, (size_t)size);
    if (size > sizeof s->bytes) return hash_in_pieces(walk, fd, size);
    if (size > sizeof s->bytes - s->batch_used) slwi_tree_flush(walk);
    uint8_t *at = s->bytes + s->batch_used;
    const slw_code code = read_exactly(walk, fd, at, (size_t)size);
    if (code != SLW_OK) return code;
    s->batch_used += (size_t)size;
    add_message(walk, at, (size_t)size);
    return SLW_OK;
}

static slw_code judge_file(slwi_tree_walk *walk, const slwi_stat *stat) {
    const slwi_tree_rules *rules = walk->rules;
    const char *why = NULL;
    if (!S_ISREG(stat->mode)) return slwi_tree_fail(walk, rules->bad_code, "NOT_REGULAR", "not a regular file");
    if (rules->trust != NULL && !slwi_trust_payload(rules->trust, stat, &why))
        return slwi_tree_fail(walk, rules->bad_code, "UNTRUSTED", why);
    if (walk->out->count >= SLW_LIMIT_ENTRY_FILES) {
        slwi_error_amount(walk->err, "files", walk->out->count + 1, SLW_LIMIT_ENTRY_FILES, "files");
        return slwi_tree_fail(walk, rules->limit_code, "LIMIT", "too many files");
    }
    if (stat->size > SLW_LIMIT_ENTRY_BYTES - walk->out->size_bytes) {
        slwi_error_amount(walk->err, "bytes", stat->size, SLW_LIMIT_ENTRY_BYTES - walk->out->size_bytes, "bytes");
        return slwi_tree_fail(walk, rules->limit_code, "LIMIT", "too many bytes");
    }
    return SLW_OK;
}

static slw_code add_file(slwi_tree_walk *walk, const slwi_stat *stat) {
    slwi_inventory *out = walk->out;
    const slwi_scratch *s = walk->scratch;
    if (out->count == out->capacity) {
        const size_t capacity = out->capacity == 0 ? 16 : out->capacity * 2;
        slwi_tree_file *files = slwi_realloc_array(out->allocator, out->files, capacity, sizeof *files);
        if (files == NULL) return slwi_fail_memory(walk->err, capacity * sizeof *files);
        out->files = files;
        out->capacity = capacity;
    }
    const uint32_t at = (uint32_t)out->paths.size;
    slwi_buffer_append(&out->paths, s->path, s->path_size + 1);
    if (out->paths.failed) return slwi_buffer_status(&out->paths, walk->err);
    out->files[out->count++] = (slwi_tree_file){.size = stat->size,
                                                .path_at = at,
                                                .path_size = (uint32_t)s->path_size,
                                                .executable = (stat->mode & S_IXUSR) != 0};
    out->size_bytes += stat->size;
    return SLW_OK;
}

static slw_code take_by_name(slwi_tree_walk *walk, int directory, const char *name) {
    slwi_stat stat;
    const int r = walk->os->fstatat(walk->os, directory, name, 0, &stat);
    if (r < 0) return slwi_tree_fail_os(walk, -r, "looking at");
    const slw_code code = judge_file(walk, &stat);
    return code == SLW_OK ? add_file(walk, &stat) : code;
}

static slw_code take_open_file(slwi_tree_walk *walk, int fd) {
    slwi_stat before, after;
    int r = walk->os->fstat(walk->os, fd, &before);
    if (r < 0) return slwi_tree_fail_os(walk, -r, "looking at");
    slw_code code = judge_file(walk, &before);
    if (code == SLW_OK) code = add_file(walk, &before);
    if (code == SLW_OK) code = read_and_hash(walk, fd, before.size);
    /* Of a slot the digest judges what was read, whatever happens to the file later; a builder must have finished. */
    if (code != SLW_OK || walk->rules->judged_by_digest) return code;
    r = walk->os->fstat(walk->os, fd, &after);
    if (r < 0) return slwi_tree_fail_os(walk, -r, "looking at");
    return slwi_unchanged(&before, &after) ? SLW_OK : changed(walk);
}

slw_code slwi_tree_take_file(slwi_tree_walk *walk, int directory, const char *name) {
    if (!walk->rules->hash) return take_by_name(walk, directory, name);
    const int fd = walk->os->openat(walk->os, directory, name, SLWI_O_FILE, 0);
    if (fd < 0) return slwi_tree_fail_os(walk, -fd, "opening");
    const slw_code code = take_open_file(walk, fd);
    (void)walk->os->close(walk->os, fd);
    return code;
}
