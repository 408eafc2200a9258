#include "memo_tree.h"

#include <errno.h>
#include <string.h>

#include "file.h"
#include "identity_mix.h"
#include "memo_state.h"
#include "memory.h"
#include "sha256.h"

#define SCHEMA "slipway.tree.names.1"

/* "now" by the wall clock runs ahead of a file system's stamps by less than the one; the other is the age of the rule:
   see memo_rules.c. The memo directory's own clock is not asked, since that writes. */
#define MARGIN_NS  INT64_C(2000000000)
#define AGE_MIN_NS INT64_C(2000000000)

/* An answer begins with the boot it is of; directories follow, each with its names behind it: type, name, NUL. */
#define BOOT_BYTES 16u

typedef struct directory {
    uint64_t dev, ino, size, mount_id, fs_id, fs_type;
    int64_t mtime_ns, ctime_ns;
    uint64_t count;
    uint64_t bytes; /* of the names */
} directory;
_Static_assert(sizeof(directory) == 80, "no padding");

static directory directory_of(const slwi_stat *stat, const slwi_volume *volume) {
    const directory made = {.dev = stat->dev,
                            .ino = stat->ino,
                            .size = stat->size,
                            .mount_id = volume->mount_id,
                            .fs_id = volume->fs.id,
                            .fs_type = volume->fs.type,
                            .mtime_ns = stat->mtime_ns,
                            .ctime_ns = stat->ctime_ns};
    return made;
}

static directory directory_at(const slwi_memo_tree *tree, size_t at) {
    directory found;
    memcpy(&found, tree->known.data + at, sizeof found);
    return found;
}

/* The slot where a directory stands or would stand. */
static uint32_t *slot_of(const slwi_memo_tree *tree, uint64_t dev, uint64_t ino) {
    size_t at = (size_t)slwi_mix_word(dev, ino) & (tree->index_size - 1);
    while (tree->index[at] != 0) {
        const directory there = directory_at(tree, tree->index[at]);
        if (there.dev == dev && there.ino == ino) break;
        at = (at + 1) & (tree->index_size - 1);
    }
    return &tree->index[at];
}

/* Goes over the directories, counting them or, with an index, putting them there. 0: damaged. */
static int each_directory(slwi_memo_tree *tree, size_t *count) {
    const size_t size = tree->known.size;
    *count = 0;
    for (size_t at = BOOT_BYTES; at < size;) {
        if (size - at < sizeof(directory)) return 0;
        const directory found = directory_at(tree, at);
        if (found.bytes > size - at - sizeof found) return 0;
        if (tree->index != NULL) *slot_of(tree, found.dev, found.ino) = (uint32_t)at;
        at += sizeof found + (size_t)found.bytes;
        ++*count;
    }
    return 1;
}

static void forget(slwi_memo_tree *tree) {
    slw_text_release(&tree->known);
    slwi_free(tree->fresh.allocator, tree->index);
    tree->index = NULL;
    tree->index_size = 0;
}

static void index_known(slwi_memo_tree *tree) {
    size_t count = 0;
    int good = tree->known.size > BOOT_BYTES && tree->known.size < UINT32_MAX &&
               memcmp(tree->known.data, tree->boot, BOOT_BYTES) == 0 && each_directory(tree, &count);
    if (good) {
        size_t size = 16;
        while (size < count * 2) size *= 2;
        tree->index = slwi_alloc_array(tree->fresh.allocator, size, sizeof *tree->index);
        if (tree->index != NULL) memset(tree->index, 0, size * sizeof *tree->index);
        tree->index_size = size;
        good = tree->index != NULL && each_directory(tree, &count);
    }
    if (!good) forget(tree);
    if (tree->index != NULL) tree->same = BOOT_BYTES;
}

void slwi_memo_tree_begin(slwi_memo_tree *tree, const slw_allocator *allocator, slw_memo *memo, const char *root) {
    const slwi_os *os = slwi_os_get();
    const slw_text nothing = SLW_TEXT_INIT;
    slwi_sha256_ctx ctx;
    memset(tree, 0, sizeof *tree);
    tree->known = nothing;
    slwi_buffer_init(&tree->fresh, allocator, SLWI_MEMO_ANSWER_BYTES_MAX);
    tree->euid = os->euid(os);
    if (memo == NULL || !memo->has_boot) return;
    tree->memo = memo;
    memcpy(tree->boot, memo->boot, sizeof tree->boot);
    slwi_sha256_init(&ctx);
    slwi_sha256_update(&ctx, SCHEMA, sizeof SCHEMA);
    slwi_sha256_update(&ctx, root, strlen(root));
    slwi_sha256_final(&ctx, &tree->key);
    if (slwi_memo_get_answer(memo, &tree->key, &tree->known, NULL) == SLW_OK) index_known(tree);
}

void slwi_memo_tree_turn(slwi_memo_tree *tree) {
    forget(tree);
    tree->known.data = tree->fresh.data;
    tree->known.size = tree->fresh.size;
    tree->known.allocator = *tree->fresh.allocator;
    slwi_buffer_init(&tree->fresh, tree->fresh.allocator, SLWI_MEMO_ANSWER_BYTES_MAX);
    tree->news = 0;
    tree->turned = 1;
    index_known(tree);
}

int slwi_memo_tree_settled(const slwi_memo_tree *tree, const slwi_stat *stat, const slwi_volume *volume) {
    const slwi_os *os = slwi_os_get();
    if (volume == NULL || !volume->fs.memo_allowed) return 0;
    if (stat->uid != tree->euid && (stat->uid != 0 || (stat->mode & 022) != 0)) return 0;
    const int64_t latest = os->wall_ns(os) - MARGIN_NS - AGE_MIN_NS;
    return stat->mtime_ns <= latest && stat->ctime_ns <= latest;
}

/* One remembered name; its size with type and NUL, or 0 when there is none. */
static size_t next_name(const char *at, size_t left, slwi_dirent *out) {
    if (left < 3) return 0;
    const char *end = memchr(at + 1, 0, left - 1);
    if (end == NULL || end == at + 1 || memchr(at + 1, '/', (size_t)(end - at - 1)) != NULL) return 0;
    if (at[0] != 'd' && at[0] != 'f' && at[0] != 'l' && at[0] != 'o' && at[0] != '?') return 0;
    out->name = at + 1;
    out->type = at[0];
    out->ino = 0;
    return (size_t)(end - at) + 1;
}

int slwi_memo_tree_take(slwi_memo_tree *tree, const slwi_stat *stat, const slwi_volume *volume, slwi_tree_stack *stack,
                        uint64_t *names_count, uint64_t *names_sum) {
    if (tree->index == NULL) return 0;
    const size_t at = *slot_of(tree, stat->dev, stat->ino);
    if (at == 0) return 0;
    tree->place = at;
    const directory found = directory_at(tree, at);
    directory like = directory_of(stat, volume);
    like.count = found.count;
    like.bytes = found.bytes;
    if (memcmp(&found, &like, sizeof found) != 0) return 0;
    const char *names = tree->known.data + at + sizeof found;
    const size_t base = stack->count, base_names = stack->names.size;
    size_t used = 0;
    uint64_t count = 0;
    *names_count = *names_sum = 0;
    for (slwi_dirent entry; used < found.bytes; count++) {
        const size_t size = next_name(names + used, (size_t)found.bytes - used, &entry);
        if (size == 0) break;
        const int r = slwi_tree_push(stack, &entry, size - 2, names_count, names_sum);
        if (r < 0) return r;
        used += size;
    }
    if (used == found.bytes && count == found.count) return 1;
    stack->count = base;
    stack->names.size = base_names;
    return 0;
}

static size_t directory_bytes(const slwi_memo_tree *tree, size_t at) {
    return sizeof(directory) + (size_t)directory_at(tree, at).bytes;
}

static void begin_fresh(slwi_memo_tree *tree) {
    if (tree->same > 0) {
        slwi_buffer_append(&tree->fresh, tree->known.data, tree->same);
    } else {
        slwi_buffer_append(&tree->fresh, tree->boot, BOOT_BYTES);
    }
}

void slwi_memo_tree_note(slwi_memo_tree *tree, const slwi_stat *stat, const slwi_volume *volume,
                         const slwi_tree_stack *stack, size_t base, int news) {
    slwi_buffer *out = &tree->fresh;
    if (tree->turned) return;
    if (!news && out->size == 0 && tree->place == tree->same) {
        tree->same += directory_bytes(tree, tree->place);
        return;
    }
    if (out->size == 0) begin_fresh(tree);
    const size_t before = out->size;
    if (out->failed) return;
    directory made = directory_of(stat, volume);
    made.count = stack->count - base;
    for (size_t i = base; i < stack->count; i++) made.bytes += stack->items[i].size + 2;
    slwi_buffer_append(out, &made, sizeof made);
    for (size_t i = base; i < stack->count; i++) {
        const slwi_tree_item *item = &stack->items[i];
        slwi_buffer_append_char(out, item->type);
        slwi_buffer_append(out, stack->names.data + item->name, item->size + 1);
    }
    if (!out->failed) {
        tree->news = tree->news || news;
    } else if (before > 0) { /* too much for one answer: what came before is kept */
        out->size = before;
    }
}

void slwi_memo_tree_end(slwi_memo_tree *tree, int whole) {
    const slw_bytes answer = {tree->fresh.data, tree->fresh.size};
    if (whole && tree->memo != NULL && tree->news && answer.size > BOOT_BYTES)
        slwi_memo_put_answer(tree->memo, &tree->key, answer);
    forget(tree);
    slwi_buffer_free(&tree->fresh);
}
