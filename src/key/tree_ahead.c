#include "tree_ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <slipway/limits.h>
#include <string.h>

#include "file.h"
#include "memory.h"
#include "sha256.h"
#include "tree.h"
#include "tree_list.h"

#define CHUNK_BYTES 262144u /* a multiple of SHA-256's block; both lanes' stay in the second cache */
#define BLOCK_BYTES 64u

typedef struct ahead_folder {
    struct ahead_folder *next;
    const char *path; /* in the gather's arena */
    unsigned depth;
} ahead_folder;

/* One file after the other is read and hashed here. */
typedef struct ahead_lane {
    int fd; /* -1: none */
    slwi_home *home;
    slwi_stat stat;
    uint64_t unread;
    size_t at, end; /* what is read and not yet hashed lies between */
    slwi_sha256_ctx hash;
    char path[SLWI_PATH_BYTES];
    unsigned char chunk[CHUNK_BYTES];
} ahead_lane;

typedef struct ahead {
    slwi_gather *gather;
    slwi_memo_tree *names;
    ahead_folder *folders; /* still to be listed */
    uint64_t entries;
    int no_memory;
    /* The directory whose files are being read. */
    ahead_folder *folder; /* NULL: none */
    slwi_home *home;
    int fd;
    slwi_tree_stack stack;
    size_t item;
    ahead_lane lanes[2];
} ahead;

/* ---- which file comes next --------------------------------------------------------------------------------------- */

/* 0: too long for the system. */
static int join(const ahead_folder *folder, const char *name, size_t name_size, char out[SLWI_PATH_BYTES]) {
    const size_t size = strcmp(folder->path, "/") == 0 ? 0 : strlen(folder->path);
    if (size + 1 + name_size >= SLWI_PATH_BYTES) return 0;
    memcpy(out, folder->path, size);
    out[size] = '/';
    memcpy(out + size + 1, name, name_size + 1);
    return 1;
}

static void put_folder(ahead *a, const char *path, unsigned depth) {
    if (depth > SLW_LIMIT_TREE_DEPTH) return;
    ahead_folder *folder = slwi_arena_alloc(&a->gather->arena, sizeof *folder);
    const char *copy = slwi_arena_copy(&a->gather->arena, path, strlen(path));
    if (folder == NULL || copy == NULL) {
        a->no_memory = 1;
        return;
    }
    folder->path = copy;
    folder->depth = depth;
    folder->next = a->folders;
    a->folders = folder;
}

static void leave_folder(ahead *a) {
    const slwi_os *os = slwi_os_get();
    if (a->fd >= 0) (void)os->close(os, a->fd);
    a->fd = -1;
    a->folder = NULL;
}

static void note_names(ahead *a, const slwi_stat *stat) {
    const slwi_volume *volume = slwi_gather_volume(a->gather, a->fd, stat);
    if (slwi_memo_tree_settled(a->names, stat, volume)) {
        slwi_memo_tree_note(a->names, stat, volume, &a->stack, 0, 1);
    }
}

/* Opens and lists the next folder. One that cannot be is the walk's to speak of. */
static void enter_folder(ahead *a) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    uint64_t count = 0, sum = 0;
    a->folder = a->folders;
    a->folders = a->folder->next;
    a->item = a->stack.count = a->stack.names.size = 0;
    if (slwi_gather_enter(a->gather, a->folder->path, &a->home, NULL) != SLW_OK) {
        a->no_memory = 1;
        return;
    }
    a->fd = slwi_open_directory(os, AT_FDCWD, a->folder->path, 0, &stat);
    const int r = a->fd < 0 ? a->fd : slwi_tree_list(&a->stack, a->fd, SLW_LIMIT_TREE_FILES, &count, &sum);
    if (r == -ENOMEM) a->no_memory = 1;
    if (r < 0) a->stack.count = 0;
    if (r == 0) note_names(a, &stat);
    a->entries += a->stack.count;
}

/* 1: the lane has the file open. One that an earlier tree or a link has led to is known already. */
static int open_file(ahead *a, ahead_lane *lane, const char *name) {
    const slwi_os *os = slwi_os_get();
    if (a->home->indexed && slwi_table_find(&a->gather->files, lane->path, strlen(lane->path)) != NULL) return 0;
    const int fd = slwi_open_regular(os, a->fd, name, 0, &lane->stat);
    if (fd < 0) return 0;
    lane->fd = fd;
    lane->home = a->home;
    lane->unread = lane->stat.size;
    lane->at = lane->end = 0;
    slwi_sha256_init(&lane->hash);
    return 1;
}

static int take_item(ahead *a, ahead_lane *lane, const slwi_tree_item *item) {
    const char *name = a->stack.names.data + item->name;
    if (item->skipped || (item->type != 'd' && item->type != 'f')) return 0;
    if (!join(a->folder, name, item->size, lane->path)) return 0;
    if (item->type == 'f') return open_file(a, lane, name);
    put_folder(a, lane->path, a->folder->depth + 1);
    return 0;
}

/* Gives the lane the next file of the tree; 0: there is none. */
static int next_file(ahead *a, ahead_lane *lane) {
    while (!a->no_memory) {
        if (a->folder == NULL) {
            if (a->folders == NULL || a->entries > SLW_LIMIT_TREE_FILES) return 0;
            enter_folder(a);
        } else if (a->item == a->stack.count) {
            leave_folder(a);
        } else if (take_item(a, lane, &a->stack.items[a->item++])) {
            return 1;
        }
    }
    return 0;
}

/* ---- two files side by side -------------------------------------------------------------------------------------- */

static void close_file(ahead_lane *lane) {
    const slwi_os *os = slwi_os_get();
    if (lane->fd >= 0) (void)os->close(os, lane->fd);
    lane->fd = -1;
}

/* Reads the next chunk, whole or up to the file's end. A file that cannot be read, or is shorter by now, is left to the
   walk. */
static void fill(ahead_lane *lane) {
    const slwi_os *os = slwi_os_get();
    const size_t size = lane->unread < CHUNK_BYTES ? (size_t)lane->unread : CHUNK_BYTES;
    lane->at = lane->end = 0;
    while (lane->end < size) {
        const int64_t got = os->read(os, lane->fd, lane->chunk + lane->end, size - lane->end);
        if (got <= 0) {
            close_file(lane);
            return;
        }
        lane->end += (size_t)got;
    }
    lane->unread -= size;
}

/* The last bytes of a file; then it is the gather's, under the stat identity with which it was opened: the walk finds
   another one if the file has changed since. */
static void finish(ahead *a, ahead_lane *lane) {
    slw_digest digest;
    slwi_seen *seen = NULL;
    slwi_sha256_update(&lane->hash, lane->chunk + lane->at, lane->end - lane->at);
    slwi_sha256_final(&lane->hash, &digest);
    close_file(lane);
    if (slwi_gather_add(a->gather, lane->home, lane->path, &lane->stat, &digest, &seen, NULL) != SLW_OK) {
        a->no_memory = 1;
        return;
    }
    seen->ahead = 1;
    a->gather->cost.read_files++;
    a->gather->cost.read_bytes += lane->stat.size;
}

/* Brings the lane to where it holds a block or more of a file; 0: no file is left for it. */
static int supply(ahead *a, ahead_lane *lane) {
    for (;;) {
        if (lane->fd < 0 && !next_file(a, lane)) return 0;
        if (lane->end - lane->at >= BLOCK_BYTES) return 1;
        if (lane->unread > 0) {
            fill(lane); /* what was held is hashed: chunks are whole blocks */
        } else {
            finish(a, lane);
        }
    }
}

/* The whole blocks that a lane holds. */
static size_t held(const ahead_lane *lane) {
    return (lane->end - lane->at) / BLOCK_BYTES * BLOCK_BYTES;
}

static void hash_both(ahead_lane *one, ahead_lane *two) {
    const size_t size = held(one) < held(two) ? held(one) : held(two);
    slwi_sha256_update_two(&one->hash, one->chunk + one->at, &two->hash, two->chunk + two->at, size);
    one->at += size;
    two->at += size;
}

static void hash_alone(ahead_lane *lane) {
    const size_t size = held(lane);
    slwi_sha256_update(&lane->hash, lane->chunk + lane->at, size);
    lane->at += size;
}

static void read_all(ahead *a) {
    for (;;) {
        const int first = supply(a, &a->lanes[0]), second = supply(a, &a->lanes[1]);
        if (!first && !second) return;
        if (first && second) {
            hash_both(&a->lanes[0], &a->lanes[1]);
        } else {
            hash_alone(&a->lanes[first ? 0 : 1]);
        }
    }
}

slw_code slwi_tree_read_ahead(slwi_gather *gather, slwi_memo_tree *names, const char *resolved, slw_error *err) {
    ahead *a = slwi_alloc_zero(&gather->allocator, sizeof *a);
    if (a == NULL) return slwi_fail_memory(err, sizeof *a);
    a->gather = gather;
    a->names = names;
    a->fd = a->lanes[0].fd = a->lanes[1].fd = -1;
    a->stack.allocator = &gather->allocator;
    slwi_buffer_init(&a->stack.names, &gather->allocator, SIZE_MAX);
    put_folder(a, resolved, 1);
    read_all(a);
    slwi_memo_tree_turn(names);
    leave_folder(a);
    close_file(&a->lanes[0]);
    close_file(&a->lanes[1]);
    const int no_memory = a->no_memory;
    slwi_buffer_free(&a->stack.names);
    slwi_free(&gather->allocator, a->stack.items);
    slwi_free(&gather->allocator, a);
    return no_memory ? slwi_fail_memory(err, SLWI_PATH_BYTES) : SLW_OK;
}
