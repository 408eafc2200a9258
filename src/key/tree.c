/* Walking a tree. A directory is done in two passes: first its files, with the directory open, then, closed again, its
 * directories, which are opened by their path: so one descriptor is held at any depth. */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <slipway/limits.h>

#include "fail.h"
#include "file.h"
#include "memo_tree.h"
#include "memory.h"
#include "sha256.h"
#include "tree_ahead.h"
#include "tree_list.h"

#define FRAME_SCHEMA     "slipway.tree.1"
#define FRAME_NAME_BYTES 256u

typedef struct tree_path {
    char text[SLWI_PATH_BYTES];
    size_t size; /* 0: the root of the file system */
} tree_path;

typedef struct tree_place {
    uint64_t dev, ino;
} tree_place;

typedef struct tree_walk {
    slwi_gather *gather;
    slwi_memo_tree memo;
    slwi_tree_stack stack;
    tree_path logical, resolved;
    tree_place *places; /* of the directories from the root down: a cycle is one that is there already */
    size_t depth, capacity;
    uint64_t entries;
    uint64_t files;
    int stopped; /* a limit was passed: nothing more is looked at */
    int touched; /* a directory's times are not what they were, though its names are */
} tree_walk;

static slw_code walk_directory(tree_walk *walk, slw_digest *out, slw_error *err);

static unsigned char *frame_u64(unsigned char *to, uint64_t value) {
    to[0] = (unsigned char)value; /* not a loop: this becomes one store */
    to[1] = (unsigned char)(value >> 8);
    to[2] = (unsigned char)(value >> 16);
    to[3] = (unsigned char)(value >> 24);
    to[4] = (unsigned char)(value >> 32);
    to[5] = (unsigned char)(value >> 40);
    to[6] = (unsigned char)(value >> 48);
    to[7] = (unsigned char)(value >> 56);
    return to + 8;
}

static void put_u64(slwi_sha256_ctx *ctx, uint64_t value) {
    unsigned char bytes[8];
    (void)frame_u64(bytes, value);
    slwi_sha256_update(ctx, bytes, sizeof bytes);
}

static void put_bytes(slwi_sha256_ctx *ctx, const char *bytes, size_t size) {
    put_u64(ctx, size);
    slwi_sha256_update(ctx, bytes, size);
}

/* One entry: kind, name, where it leads ("" unless it is a link), size of a file, digest. Some ten thousand of them are
   hashed, so what is usual is laid out first and hashed at once; small, for this stands in a recursion. */
static void put_frame(slwi_sha256_ctx *ctx, char kind, const char *name, const char *target, uint64_t size,
                      const slw_digest *digest) {
    unsigned char frame[1 + 8 + FRAME_NAME_BYTES + 8 + 8 + sizeof *digest];
    const size_t name_size = strlen(name);
    if (name_size > FRAME_NAME_BYTES || target[0] != 0) {
        slwi_sha256_update(ctx, &kind, 1);
        put_bytes(ctx, name, name_size);
        put_bytes(ctx, target, strlen(target));
        put_u64(ctx, size);
        slwi_sha256_update(ctx, digest->bytes, sizeof digest->bytes);
        return;
    }
    frame[0] = (unsigned char)kind;
    unsigned char *to = frame_u64(frame + 1, name_size);
    memcpy(to, name, name_size); // NOLINT(bugprone-not-null-terminated-result): its size stands before it
    to = frame_u64(to + name_size, 0);
    to = frame_u64(to, size);
    memcpy(to, digest->bytes, sizeof digest->bytes);
    slwi_sha256_update(ctx, frame, (size_t)(to - frame) + sizeof digest->bytes);
}

/* Appends a name; 0: too long. Undone by setting the size back. */
static int path_push(tree_path *path, const char *name, size_t size) {
    if (path->size + 1 + size >= sizeof path->text) return 0;
    path->text[path->size] = '/';
    memcpy(path->text + path->size + 1, name, size + 1);
    path->size += 1 + size;
    return 1;
}

static void path_pop(tree_path *path, size_t size) {
    path->size = size;
    path->text[size] = 0;
}

static int path_set(tree_path *path, const char *text) {
    const size_t size = strcmp(text, "/") == 0 ? 0 : strlen(text);
    if (size >= sizeof path->text) return 0;
    memcpy(path->text, text, size);
    path_pop(path, size);
    return 1;
}

static const char *path_text(const tree_path *path) {
    return path->size == 0 ? "/" : path->text;
}

static const char *item_name(const tree_walk *walk, size_t at) {
    return walk->stack.names.data + walk->stack.items[at].name;
}

/* Both paths lead to the item. *ok 0: put down as a failure, nothing to undo. */
static slw_code push_item(tree_walk *walk, size_t at, int *ok, slw_error *err) {
    const char *name = item_name(walk, at);
    const size_t size = walk->stack.items[at].size;
    const size_t logical = walk->logical.size;
    *ok = path_push(&walk->logical, name, size);
    if (*ok && !path_push(&walk->resolved, name, size)) {
        path_pop(&walk->logical, logical);
        *ok = 0;
    }
    return *ok ? SLW_OK
               : slwi_gather_fail(walk->gather, err, path_text(&walk->logical), "is too long with %.64s", name);
}

/* Where the link at both paths leads: its text from the directory it lies in, whose own path has no links; what is
   above the last name is resolved once for all links that go there. */
static slw_code resolve_link(tree_walk *walk, char target[SLWI_PATH_BYTES], slwi_stat *stat, int *error,
                             slw_error *err) {
    const slwi_os *os = slwi_os_get();
    char path[SLWI_PATH_BYTES], *text = path;
    size_t room = sizeof path;
    const char *link = walk->resolved.text;
    const size_t directory = (size_t)(strrchr(link, '/') - link) + 1;
    if (directory + 1 < room) {
        memcpy(path, link, directory);
        text = path + directory;
        room -= directory;
    }
    const int64_t size = os->readlinkat(os, AT_FDCWD, link, text, room);
    if (size > 0 && (size_t)size < room) {
        text[size] = 0;
        return slwi_gather_resolve(walk->gather, text[0] == '/' ? text : path, target, stat, error, err);
    }
    int r = size < 0 ? (int)size : os->realpath(os, link, target);
    if (r >= 0) r = os->fstatat(os, AT_FDCWD, target, 0, stat);
    *error = r < 0 ? -r : 0;
    return SLW_OK;
}

static slw_code link_failed(tree_walk *walk, int error, slw_error *err) {
    const char *path = path_text(&walk->logical);
    if (error == ENOENT || error == ENOTDIR) return slwi_gather_fail(walk->gather, err, path, "is a dangling link");
    if (error == ELOOP) return slwi_gather_fail(walk->gather, err, path, "is a link in a circle");
    return slwi_gather_fail_os(walk->gather, err, path, error);
}

/* A link: to a file it is digested here, to a directory it is left for the second pass as 'D'. */
static slw_code take_link(tree_walk *walk, size_t at, slwi_sha256_ctx *ctx, slw_error *err) {
    char target[SLWI_PATH_BYTES];
    slwi_stat stat = {0};
    slwi_seen *seen = NULL;
    slwi_home *home = NULL;
    int error = 0;
    slw_code rc = resolve_link(walk, target, &stat, &error, err);
    if (rc != SLW_OK) return rc;
    if (error != 0) return link_failed(walk, error, err);
    if (walk->stack.items[at].skipped) return SLW_OK;
    if (S_ISDIR(stat.mode)) {
        walk->stack.items[at].type = 'D';
        return SLW_OK;
    }
    rc = slwi_gather_home(walk->gather, target, &home, err);
    if (rc == SLW_OK) rc = slwi_gather_file(walk->gather, home, AT_FDCWD, target, target, &stat, &seen, err);
    if (rc != SLW_OK || seen == NULL) return rc;
    put_frame(ctx, 'l', item_name(walk, at), target, seen->stat.size, &seen->sha256);
    walk->files++;
    return slwi_gather_fact(walk->gather, SLWI_FACT_LEADS_TO, walk->logical.text, &seen->stat, NULL, err);
}

/* First pass, one item that is not known to be a directory; both paths lead to it. */
static slw_code take_item(tree_walk *walk, slwi_home *home, int fd, size_t at, slwi_sha256_ctx *ctx, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_tree_item *item = &walk->stack.items[at];
    const char *name = item_name(walk, at);
    slwi_stat stat;
    slwi_seen *seen = NULL;
    if (item->type == 'l') return take_link(walk, at, ctx, err);
    if (item->skipped && item->type != '?') return SLW_OK;
    const int r = os->fstatat(os, fd, name, 0, &stat);
    if (r < 0) return slwi_gather_fail_os(walk->gather, err, path_text(&walk->logical), -r);
    if (S_ISLNK(stat.mode)) return take_link(walk, at, ctx, err);
    if (item->skipped) return SLW_OK;
    if (S_ISDIR(stat.mode)) {
        item->type = 'd';
        return SLW_OK;
    }
    if (!S_ISREG(stat.mode)) {
        return slwi_gather_fail(walk->gather, err, path_text(&walk->logical), "is neither a file nor a directory");
    }
    const slw_code rc = slwi_gather_file(walk->gather, home, fd, name, walk->resolved.text, &stat, &seen, err);
    if (rc != SLW_OK || seen == NULL) return rc;
    put_frame(ctx, 'f', name, "", seen->stat.size, &seen->sha256);
    walk->files++;
    return SLW_OK;
}

static slw_code first_pass(tree_walk *walk, int fd, size_t base, slwi_sha256_ctx *ctx, slw_error *err) {
    slwi_home *home = NULL;
    const size_t logical = walk->logical.size, resolved = walk->resolved.size;
    slw_code rc = slwi_gather_enter(walk->gather, path_text(&walk->resolved), &home, err);
    for (size_t at = base; rc == SLW_OK && at < walk->stack.count; at++) {
        int ok = 0;
        if (walk->stack.items[at].type == 'd') continue;
        rc = push_item(walk, at, &ok, err);
        if (rc != SLW_OK || !ok) continue;
        rc = take_item(walk, home, fd, at, ctx, err);
        path_pop(&walk->logical, logical);
        path_pop(&walk->resolved, resolved);
    }
    return rc;
}

/* The walk goes on where a link leads, under the link's own logical path. */
static slw_code walk_target(tree_walk *walk, const char *target, const slwi_stat *stat, slw_digest *digest,
                            slw_error *err) {
    char *kept = slwi_strndup(&walk->gather->allocator, walk->resolved.text, walk->resolved.size);
    if (kept == NULL) return slwi_fail_memory(err, walk->resolved.size + 1);
    slw_code rc = slwi_gather_fact(walk->gather, SLWI_FACT_LEADS_TO, walk->logical.text, stat, NULL, err);
    (void)path_set(&walk->resolved, target);
    if (rc == SLW_OK) rc = walk_directory(walk, digest, err);
    (void)path_set(&walk->resolved, kept);
    slwi_free(&walk->gather->allocator, kept);
    return rc;
}

/* A link to a directory; it may lead elsewhere by now, or nowhere. */
static slw_code follow_link(tree_walk *walk, size_t at, slwi_sha256_ctx *ctx, slw_error *err) {
    slwi_stat stat = {0};
    slw_digest digest = {{0}};
    int error = 0;
    char *target = slwi_alloc(&walk->gather->allocator, SLWI_PATH_BYTES);
    if (target == NULL) return slwi_fail_memory(err, SLWI_PATH_BYTES);
    slw_code rc = resolve_link(walk, target, &stat, &error, err);
    if (rc == SLW_OK && error != 0) {
        rc = link_failed(walk, error, err);
    } else if (rc == SLW_OK) {
        rc = walk_target(walk, target, &stat, &digest, err);
        if (rc == SLW_OK) put_frame(ctx, 'D', item_name(walk, at), target, 0, &digest);
    }
    slwi_free(&walk->gather->allocator, target);
    return rc;
}

static slw_code second_pass(tree_walk *walk, size_t base, size_t end, slwi_sha256_ctx *ctx, slw_error *err) {
    const size_t logical = walk->logical.size, resolved = walk->resolved.size;
    slw_code rc = SLW_OK;
    for (size_t at = base; rc == SLW_OK && at < end && !walk->stopped; at++) {
        const slwi_tree_item item = walk->stack.items[at];
        slw_digest digest = {{0}};
        int ok = 0;
        if (item.skipped || (item.type != 'd' && item.type != 'D')) continue;
        rc = push_item(walk, at, &ok, err);
        if (rc != SLW_OK || !ok) continue;
        if (item.type == 'd') {
            rc = walk_directory(walk, &digest, err);
            put_frame(ctx, 'd', item_name(walk, at), "", 0, &digest);
        } else {
            rc = follow_link(walk, at, ctx, err);
        }
        path_pop(&walk->logical, logical);
        path_pop(&walk->resolved, resolved);
    }
    return rc;
}

/* Puts the directory under those on the way. *ok 0: it is there already, or too deep. */
static slw_code enter(tree_walk *walk, const slwi_stat *stat, int *ok, slw_error *err) {
    *ok = 0;
    for (size_t i = 0; i < walk->depth; i++) {
        if (walk->places[i].dev != stat->dev || walk->places[i].ino != stat->ino) continue;
        return slwi_gather_fail(walk->gather, err, path_text(&walk->logical), "leads back to a directory above it");
    }
    if (walk->depth >= SLW_LIMIT_TREE_DEPTH) {
        walk->stopped = 1;
        return slwi_gather_fail(walk->gather, err, path_text(&walk->logical), "is more than %u directories deep",
                                SLW_LIMIT_TREE_DEPTH);
    }
    if (walk->depth == walk->capacity) {
        const size_t wanted = walk->capacity == 0 ? 32 : walk->capacity * 2;
        tree_place *grown = slwi_realloc_array(&walk->gather->allocator, walk->places, wanted, sizeof *grown);
        if (grown == NULL) return slwi_fail_memory(err, wanted * sizeof *grown);
        walk->places = grown;
        walk->capacity = wanted;
    }
    walk->places[walk->depth].dev = stat->dev;
    walk->places[walk->depth].ino = stat->ino;
    walk->depth++;
    *ok = 1;
    return SLW_OK;
}

/* The names of the open directory onto the stack: from the memo or from reading ahead, where one of them knows them,
   else listed. 0 or -errno. */
static int read_names(tree_walk *walk, int fd, const slwi_stat *stat, slwi_fact *fact) {
    const slwi_volume *volume = slwi_gather_volume(walk->gather, fd, stat);
    const size_t base = walk->stack.count;
    int known = 0;
    fact->settled = slwi_memo_tree_settled(&walk->memo, stat, volume);
    if (fact->settled)
        known = slwi_memo_tree_take(&walk->memo, stat, volume, &walk->stack, &fact->names_count, &fact->names_sum);
    if (known < 0) return known;
    int r = 0;
    if (!known) r = slwi_tree_list(&walk->stack, fd, SLW_LIMIT_TREE_FILES, &fact->names_count, &fact->names_sum);
    if (r == 0 && fact->settled) slwi_memo_tree_note(&walk->memo, stat, volume, &walk->stack, base, !known);
    return r;
}

/* Reads the names of the open directory and makes them a fact. *ok 0: put down as a failure. */
static slw_code list_names(tree_walk *walk, int fd, const slwi_stat *stat, int *ok, slw_error *err) {
    const char *path = path_text(&walk->logical);
    const size_t base = walk->stack.count;
    slwi_fact *fact = NULL, names = {0};
    *ok = 0;
    const int r = read_names(walk, fd, stat, &names);
    if (r == -ENOMEM) return slwi_fail_memory(err, walk->stack.count * sizeof(slwi_tree_item));
    if (r < 0 && r != -E2BIG) return slwi_gather_fail_os(walk->gather, err, path, -r);
    walk->entries += walk->stack.count - base;
    if (r == -E2BIG || walk->entries > SLW_LIMIT_TREE_FILES) {
        walk->stopped = 1;
        return slwi_gather_fail(walk->gather, err, path, "has more than %u entries", SLW_LIMIT_TREE_FILES);
    }
    const slw_code rc = slwi_gather_fact(walk->gather, SLWI_FACT_NAMES, path_text(&walk->resolved), stat, &fact, err);
    if (rc != SLW_OK) return rc;
    fact->names_count = names.names_count;
    fact->names_sum = names.names_sum;
    fact->settled = names.settled;
    *ok = 1;
    return SLW_OK;
}

/* The directory at `resolved`. Its digest means nothing when a failure was put down. */
static slw_code walk_directory(tree_walk *walk, slw_digest *out, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    const size_t base = walk->stack.count, names = walk->stack.names.size;
    slwi_sha256_ctx ctx;
    slwi_stat stat;
    int ok = 0;
    const int fd = slwi_open_directory(os, AT_FDCWD, path_text(&walk->resolved), 0, &stat);
    if (fd < 0) return slwi_gather_fail_os(walk->gather, err, path_text(&walk->logical), -fd);
    slw_code rc = enter(walk, &stat, &ok, err);
    if (rc != SLW_OK || !ok) {
        (void)os->close(os, fd);
        return rc;
    }
    slwi_sha256_init(&ctx);
    put_bytes(&ctx, FRAME_SCHEMA, sizeof FRAME_SCHEMA - 1);
    rc = list_names(walk, fd, &stat, &ok, err);
    const size_t end = walk->stack.count;
    if (rc == SLW_OK && ok) rc = first_pass(walk, fd, base, &ctx, err);
    (void)os->close(os, fd);
    if (rc == SLW_OK && ok) rc = second_pass(walk, base, end, &ctx, err);
    slwi_sha256_final(&ctx, out);
    walk->depth--;
    walk->stack.count = base;
    walk->stack.names.size = names;
    return rc;
}

int slwi_tree_names_differ(const slwi_fact *fact) {
    const slwi_os *os = slwi_os_get();
    slwi_dir dir;
    slwi_stat stat;
    uint64_t count = 0, sum = 0;
    const int fd = slwi_open_directory(os, AT_FDCWD, fact->path, 0, &stat);
    if (fd < 0) return fd;
    int r = slwi_tree_sum(&dir, fd, SLW_LIMIT_TREE_FILES, &count, &sum);
    (void)os->close(os, fd);
    if (r == 0) r = !slwi_same_file(&stat, &fact->stat) || count != fact->names_count || sum != fact->names_sum;
    return r;
}

/* Every directory of this walk must still have its names: where old times tell that, they are looked at, else it is
   listed once more. */
static slw_code check_again(tree_walk *walk, const slwi_fact *fact, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slw_code rc = SLW_OK;
    for (; rc == SLW_OK && fact != NULL; fact = fact->next) {
        slwi_stat now;
        if (fact->kind != SLWI_FACT_NAMES) continue;
        if (fact->settled) {
            if (os->fstatat(os, AT_FDCWD, fact->path, 0, &now) == 0 && slwi_unchanged(&now, &fact->stat)) continue;
            walk->touched = 1;
        }
        const int r = slwi_tree_names_differ(fact);
        if (r < 0) rc = slwi_gather_fail_os(walk->gather, err, fact->path, -r);
        if (r > 0) rc = slwi_gather_fail(walk->gather, err, fact->path, "changed while being read");
    }
    return rc;
}

/* Where the root is; *ok 0: absent (out->state says so) or put down as a failure. */
static slw_code find_root(tree_walk *walk, int optional, slwi_tree_result *out, int *ok, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    const char *root = path_text(&walk->logical);
    slwi_stat stat, itself;
    *ok = 0;
    int r = os->realpath(os, root, out->resolved);
    if (r >= 0) r = os->fstatat(os, AT_FDCWD, out->resolved, 0, &stat);
    if (r == -ENOENT || r == -ENOTDIR) {
        if (os->fstatat(os, AT_FDCWD, root, 0, &itself) >= 0) return link_failed(walk, -r, err);
        if (!optional) return slwi_gather_fail_os(walk->gather, err, root, -r);
        out->state = SLWI_TREE_ABSENT;
        return slwi_gather_fact(walk->gather, SLWI_FACT_ABSENT, root, NULL, NULL, err);
    }
    if (r < 0) return slwi_gather_fail_os(walk->gather, err, root, -r);
    if (!S_ISDIR(stat.mode)) return slwi_gather_fail(walk->gather, err, root, "is not a directory");
    *ok = path_set(&walk->resolved, out->resolved);
    if (strcmp(root, out->resolved) == 0) return SLW_OK;
    return slwi_gather_fact(walk->gather, SLWI_FACT_LEADS_TO, root, &stat, NULL, err);
}

static slw_code digest_root(tree_walk *walk, const char *root, int optional, slwi_tree_result *out, slw_error *err) {
    const size_t failures = walk->gather->failure_count;
    slwi_fact **facts = walk->gather->last_fact;
    int ok = 0;
    if (!path_set(&walk->logical, root)) return slwi_gather_fail_os(walk->gather, err, root, ENAMETOOLONG);
    while (walk->logical.size > 0 && walk->logical.text[walk->logical.size - 1] == '/') {
        path_pop(&walk->logical, walk->logical.size - 1);
    }
    slw_code rc = find_root(walk, optional, out, &ok, err);
    if (rc == SLW_OK && ok) {
        slwi_memo_tree_begin(&walk->memo, &walk->gather->allocator, walk->gather->memo, out->resolved);
        /* Without a memo every file is read; with one, as good as none. */
        if (walk->gather->memo == NULL) rc = slwi_tree_read_ahead(walk->gather, &walk->memo, out->resolved, err);
        if (rc == SLW_OK) rc = walk_directory(walk, &out->digest, err);
        if (rc == SLW_OK) rc = check_again(walk, *facts, err);
        slwi_memo_tree_end(&walk->memo, rc == SLW_OK && walk->gather->failure_count == failures && !walk->touched);
    }
    if (rc != SLW_OK || !ok || walk->gather->failure_count != failures) {
        out->resolved[0] = 0;
        return rc;
    }
    out->state = SLWI_TREE_DIGESTED;
    out->files = walk->files;
    return SLW_OK;
}

slw_code slwi_tree_digest(slwi_gather *gather, const char *root, int optional, slwi_tree_result *out, slw_error *err) {
    memset(out, 0, sizeof *out);
    tree_walk *walk = slwi_alloc_zero(&gather->allocator, sizeof *walk);
    if (walk == NULL) return slwi_fail_memory(err, sizeof *walk);
    walk->gather = gather;
    walk->stack.allocator = &gather->allocator;
    slwi_buffer_init(&walk->stack.names, &gather->allocator, SIZE_MAX);
    const slw_code rc = digest_root(walk, root, optional, out, err);
    slwi_buffer_free(&walk->stack.names);
    slwi_free(&gather->allocator, walk->stack.items);
    slwi_free(&gather->allocator, walk->places);
    slwi_free(&gather->allocator, walk);
    return rc;
}
