#include "tree_ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <slipway/limits.h>
#include <string.h>

#include "file.h"
#include "heap_sort.h"
#include "memory.h"
#include "sha256.h"
#include "tree.h"
#include "tree_list.h"

#define CHUNK_BYTES  262144u /* a multiple of SHA-256's block; both chunks stay in the second cache */
#define WINDOW_FILES 512u    /* among so many, the two that are most alike in size are read together */

typedef struct ahead_file {
    const char *path; /* in the gather's arena */
    slwi_home *home;
    slwi_stat stat;
} ahead_file;

typedef struct ahead_folder {
    struct ahead_folder *next;
    const char *path;
    unsigned depth;
} ahead_folder;

typedef struct ahead_place {
    uint64_t size;
    size_t at; /* in the window */
} ahead_place;

typedef struct ahead {
    slwi_gather *gather;
    slwi_tree_stack stack;
    ahead_folder *folders; /* still to be listed */
    ahead_file window[WINDOW_FILES];
    ahead_place order[WINDOW_FILES];
    size_t count;
    uint64_t entries;
    int no_memory;
    unsigned char chunks[2][CHUNK_BYTES];
} ahead;

/* ---- two files --------------------------------------------------------------------------------------------------- */

typedef struct reading {
    const ahead_file *file;
    int fd;
    uint64_t left;
    slwi_sha256_ctx hash;
} reading;

static int begin(reading *r, const ahead_file *file) {
    const slwi_os *os = slwi_os_get();
    slwi_stat opened;
    r->file = file;
    r->left = file->stat.size;
    r->fd = slwi_open_regular(os, AT_FDCWD, file->path, 0, &opened);
    if (r->fd < 0) return 0;
    slwi_sha256_init(&r->hash);
    return slwi_unchanged(&file->stat, &opened);
}

static int fill(reading *r, unsigned char *chunk, size_t size) {
    const slwi_os *os = slwi_os_get();
    for (size_t have = 0; have < size;) {
        const int64_t got = os->read(os, r->fd, chunk + have, size - have);
        if (got <= 0) return 0;
        have += (size_t)got;
    }
    r->left -= size;
    return 1;
}

static size_t next_size(uint64_t left) {
    return left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
}

static int read_rest(reading *r, unsigned char *chunk) {
    while (r->left > 0) {
        const size_t size = next_size(r->left);
        if (!fill(r, chunk, size)) return 0;
        slwi_sha256_update(&r->hash, chunk, size);
    }
    return 1;
}

static int read_two(ahead *a, reading *one, reading *two) {
    while (one->left > 0 && two->left > 0) {
        const size_t size = next_size(one->left < two->left ? one->left : two->left);
        if (!fill(one, a->chunks[0], size) || !fill(two, a->chunks[1], size)) return 0;
        slwi_sha256_update_two(&one->hash, a->chunks[0], &two->hash, a->chunks[1], size);
    }
    return read_rest(one, a->chunks[0]) && read_rest(two, a->chunks[1]);
}

/* Into the gather, under the stat identity that was listed and opened: the walk finds another one if the file changed
   while it was read. */
static void end(ahead *a, reading *r, int good) {
    const slwi_os *os = slwi_os_get();
    slw_digest digest;
    slwi_seen *seen = NULL;
    if (r->fd >= 0) (void)os->close(os, r->fd);
    if (!good) return;
    slwi_sha256_final(&r->hash, &digest);
    if (slwi_gather_add(a->gather, r->file->home, r->file->path, &r->file->stat, &digest, &seen, NULL) != SLW_OK) {
        a->no_memory = 1;
        return;
    }
    a->gather->cost.read_files++;
    a->gather->cost.read_bytes += r->file->stat.size;
}

static int by_size(const void *a, const void *b) {
    const uint64_t x = ((const ahead_place *)a)->size, y = ((const ahead_place *)b)->size;
    return (x > y) - (x < y);
}

/* One that is left over is the walk's. */
static void read_window(ahead *a) {
    for (size_t i = 0; i < a->count; i++) a->order[i] = (ahead_place){a->window[i].stat.size, i};
    slwi_heap_sort(a->order, a->count, sizeof *a->order, by_size);
    for (size_t i = a->count % 2; i < a->count; i += 2) {
        reading one, two;
        const int first = begin(&one, &a->window[a->order[i].at]);
        const int second = begin(&two, &a->window[a->order[i + 1].at]);
        const int good = first && second && read_two(a, &one, &two);
        end(a, &one, good);
        end(a, &two, good);
    }
    a->count = 0;
}

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

/* NULL: too long for the system, or no memory. */
static const char *path_of(ahead *a, const ahead_folder *folder, const char *name, size_t name_size) {
    char path[SLWI_PATH_BYTES];
    const size_t size = strcmp(folder->path, "/") == 0 ? 0 : strlen(folder->path);
    if (size + 1 + name_size >= sizeof path) return NULL;
    memcpy(path, folder->path, size);
    path[size] = '/';
    memcpy(path + size + 1, name, name_size + 1);
    const char *copy = slwi_arena_copy(&a->gather->arena, path, size + 1 + name_size);
    if (copy == NULL) a->no_memory = 1;
    return copy;
}

static void put_folder(ahead *a, const char *path, unsigned depth) {
    if (path == NULL || depth > SLW_LIMIT_TREE_DEPTH) return;
    ahead_folder *folder = slwi_arena_alloc(&a->gather->arena, sizeof *folder);
    if (folder == NULL) {
        a->no_memory = 1;
        return;
    }
    folder->path = path;
    folder->depth = depth;
    folder->next = a->folders;
    a->folders = folder;
}

/* A file that a link of another tree has led to already is there. */
static void put_file(ahead *a, slwi_home *home, int fd, const char *name, const char *path) {
    const slwi_os *os = slwi_os_get();
    ahead_file *file = &a->window[a->count];
    if (path == NULL || (home->indexed && slwi_table_find(&a->gather->files, path, strlen(path)) != NULL)) return;
    if (os->fstatat(os, fd, name, 0, &file->stat) < 0 || !S_ISREG(file->stat.mode)) return;
    file->path = path;
    file->home = home;
    if (++a->count == WINDOW_FILES) read_window(a);
}

static void take_folder(ahead *a, const ahead_folder *folder) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    slwi_home *home = NULL;
    uint64_t count = 0, sum = 0;
    a->no_memory = slwi_gather_enter(a->gather, folder->path, &home, NULL) != SLW_OK;
    const int fd = a->no_memory ? -ENOMEM : slwi_open_directory(os, AT_FDCWD, folder->path, 0, &stat);
    if (fd < 0) return;
    a->stack.count = 0;
    a->stack.names.size = 0;
    const int r = slwi_tree_list(&a->stack, fd, SLW_LIMIT_TREE_FILES, &count, &sum);
    if (r == -ENOMEM) a->no_memory = 1;
    if (r == 0) {
        a->entries += a->stack.count;
        for (size_t i = 0; i < a->stack.count; i++) {
            const slwi_tree_item *item = &a->stack.items[i];
            const char *name = a->stack.names.data + item->name;
            if (item->skipped || (item->type != 'd' && item->type != 'f')) continue;
            const char *path = path_of(a, folder, name, item->size);
            if (item->type == 'd')
                put_folder(a, path, folder->depth + 1);
            else
                put_file(a, home, fd, name, path);
        }
    }
    (void)os->close(os, fd);
}

slw_code slwi_tree_read_ahead(slwi_gather *gather, const char *resolved, slw_error *err) {
    ahead *a = slwi_alloc_zero(&gather->allocator, sizeof *a);
    if (a == NULL) return slwi_fail_memory(err, sizeof *a);
    a->gather = gather;
    a->stack.allocator = &gather->allocator;
    slwi_buffer_init(&a->stack.names, &gather->allocator, SIZE_MAX);
    const char *root = slwi_arena_copy(&gather->arena, resolved, strlen(resolved));
    if (root == NULL) a->no_memory = 1;
    put_folder(a, root, 1);
    while (!a->no_memory && a->folders != NULL && a->entries <= SLW_LIMIT_TREE_FILES) {
        const ahead_folder *folder = a->folders;
        a->folders = folder->next;
        take_folder(a, folder);
    }
    if (!a->no_memory) read_window(a);
    const int no_memory = a->no_memory;
    slwi_buffer_free(&a->stack.names);
    slwi_free(&gather->allocator, a->stack.items);
    slwi_free(&gather->allocator, a);
    return no_memory ? slwi_fail_memory(err, SLWI_PATH_BYTES) : SLW_OK;
}
