/* The walk over a tree: depth first, names in order, a bounded number of descriptors. What it does with a file is
 * tree_file.c. */
#include "store_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fail.h"
#include "heap_sort.h"
#include "memory.h"
#include "store_root.h"
#include "text.h"

/* Directories of the walk that stay open; the others are had again by "..". */
#define LEVELS_OPEN 8

slw_code slwi_tree_fail(const slwi_tree_walk *walk, slw_code code, const char *reason, const char *what) {
    (void)slwi_fail(walk->err, code, reason, "%s: %s", walk->scratch->path_size > 0 ? walk->scratch->path : ".", what);
    slwi_error_subject(walk->err, walk->scratch->path, walk->scratch->path_size);
    slwi_error_path(walk->err, walk->rules->where);
    return code;
}

slw_code slwi_tree_fail_os(slwi_tree_walk *walk, int error_number, const char *what) {
    switch (error_number) {
    case ENOENT:  /* it was listed and is gone */
    case ENOTDIR: /* it was of another kind when it was listed */
    case ELOOP:
    case ENXIO:
    case EISDIR:
        *walk->changed = 1;
        return slwi_tree_fail(walk, walk->rules->bad_code, "CHANGED", "changed while it was looked at");
    default:
        break;
    }
    (void)slwi_fail_os(walk->err, SLW_E_STORAGE, NULL, error_number, walk->rules->where, "%s %s", what,
                       walk->scratch->path_size > 0 ? walk->scratch->path : ".");
    slwi_error_subject(walk->err, walk->scratch->path, walk->scratch->path_size);
    return SLW_E_STORAGE;
}

static slw_code no_memory(const slwi_tree_walk *walk) {
    return slwi_fail_memory(walk->err, 0);
}

static slw_code add_name(slwi_tree_walk *walk, const slwi_dirent *entry) {
    slwi_scratch *s = walk->scratch;
    if (s->name_count == s->name_capacity) {
        const size_t capacity = s->name_capacity == 0 ? 64 : s->name_capacity * 2;
        slwi_tree_name *names = slwi_realloc_array(s->allocator, s->names, capacity, sizeof *names);
        if (names == NULL) return no_memory(walk);
        s->names = names;
        s->name_capacity = capacity;
    }
    if (s->name_bytes.size > UINT32_MAX / 2)
        return slwi_tree_fail(walk, walk->rules->limit_code, "LIMIT", "too many names");
    const uint32_t at = (uint32_t)s->name_bytes.size;
    slwi_buffer_append(&s->name_bytes, entry->name, strlen(entry->name) + 1);
    if (s->name_bytes.failed) return no_memory(walk);
    s->names[s->name_count++] = (slwi_tree_name){NULL, at, entry->type};
    return SLW_OK;
}

static int compare_names(const void *a, const void *b) {
    const slwi_tree_name *x = a, *y = b;
    return slwi_path_compare(x->name, strlen(x->name), y->name, strlen(y->name));
}

/* Lists the directory of `level` and sorts its names. */
static slw_code list_level(slwi_tree_walk *walk, slwi_tree_level *level) {
    slwi_scratch *s = walk->scratch;
    level->name_bytes_begin = s->name_bytes.size;
    level->next = s->name_count;
    s->dir.fd = level->fd;
    s->dir.at = s->dir.end = 0;
    s->dir.buffer.stream = NULL;
    slw_code code = SLW_OK;
    for (;;) {
        slwi_dirent entry;
        const int r = walk->os->readdir(walk->os, &s->dir, &entry);
        if (r == 0) break;
        code = r < 0 ? slwi_tree_fail_os(walk, -r, "listing") : add_name(walk, &entry);
        if (code == SLW_OK && s->name_count - level->next > SLW_LIMIT_ENTRY_FILES)
            code = slwi_tree_fail(walk, walk->rules->limit_code, "LIMIT", "too many names in a directory");
        if (code != SLW_OK) break;
    }
    walk->os->closedir(walk->os, &s->dir);
    if (code != SLW_OK) return code;
    level->end = s->name_count;
    if (level->end == level->next) return SLW_OK; /* empty: there may be no list at all to point into */
    for (size_t i = level->next; i < level->end; i++) s->names[i].name = s->name_bytes.data + s->names[i].at;
    slwi_heap_sort(s->names + level->next, level->end - level->next, sizeof *s->names, compare_names);
    return SLW_OK;
}

/* Enters an open directory, which the walk then owns unless it is the first one. */
static slw_code push_level(slwi_tree_walk *walk, int fd, const slwi_stat *stat) {
    slwi_scratch *s = walk->scratch;
    if (walk->depth == s->level_capacity) {
        const size_t capacity = s->level_capacity == 0 ? 16 : s->level_capacity * 2;
        slwi_tree_level *levels = slwi_realloc_array(s->allocator, s->levels, capacity, sizeof *levels);
        if (levels == NULL) return no_memory(walk);
        s->levels = levels;
        s->level_capacity = capacity;
    }
    slwi_tree_level *level = &s->levels[walk->depth];
    *level = (slwi_tree_level){.fd = fd, .path_size = s->path_size, .dev = stat->dev, .ino = stat->ino};
    const slw_code code = list_level(walk, level);
    if (code != SLW_OK) return code;
    walk->depth++;
    if (walk->depth > LEVELS_OPEN + 1) {
        slwi_tree_level *far = &s->levels[walk->depth - 1 - LEVELS_OPEN];
        (void)walk->os->close(walk->os, far->fd);
        far->fd = -1;
    }
    return SLW_OK;
}

/* Leaves the innermost directory; the one above it is opened again where it had been closed. */
static slw_code pop_level(slwi_tree_walk *walk) {
    slwi_scratch *s = walk->scratch;
    slwi_tree_level *level = &s->levels[walk->depth - 1];
    slw_code code = SLW_OK;
    if (walk->depth > 1) {
        slwi_tree_level *above = level - 1;
        s->path_size = above->path_size;
        s->path[s->path_size] = 0;
        if (above->fd < 0) {
            slwi_stat stat;
            const int fd = walk->os->openat(walk->os, level->fd, "..", SLWI_O_LIST, 0);
            const int r = fd < 0 ? fd : walk->os->fstat(walk->os, fd, &stat);
            if (r < 0) {
                code = slwi_tree_fail_os(walk, -r, "going back to");
            } else if (stat.dev != above->dev || stat.ino != above->ino) {
                *walk->changed = 1;
                code = slwi_tree_fail(walk, walk->rules->bad_code, "CHANGED", "moved while it was looked at");
            }
            if (code == SLW_OK)
                above->fd = fd;
            else if (fd >= 0)
                (void)walk->os->close(walk->os, fd);
        }
        (void)walk->os->close(walk->os, level->fd);
        level->fd = -1;
    }
    s->name_bytes.size = level->name_bytes_begin;
    walk->depth--;
    s->name_count = walk->depth == 0 ? 0 : s->levels[walk->depth - 1].end;
    return code;
}

static slw_code enter_directory(slwi_tree_walk *walk, int parent, const char *name) {
    if (walk->depth > SLW_LIMIT_TREE_DEPTH)
        return slwi_tree_fail(walk, walk->rules->limit_code, "LIMIT", "directories are nested too deep");
    const int fd = walk->os->openat(walk->os, parent, name, SLWI_O_LIST, 0);
    if (fd < 0) return slwi_tree_fail_os(walk, -fd, "opening directory");
    slwi_stat stat;
    const char *why = NULL;
    slw_code code;
    const int r = walk->os->fstat(walk->os, fd, &stat);
    if (r < 0)
        code = slwi_tree_fail_os(walk, -r, "looking at directory");
    else if (walk->rules->trust != NULL && !slwi_trust_directory(walk->rules->trust, &stat, &why))
        code = slwi_tree_fail(walk, walk->rules->bad_code, "UNTRUSTED", why);
    else
        code = push_level(walk, fd, &stat);
    /* push_level counts the level last, so a failure of any kind leaves the descriptor to us. */
    if (code != SLW_OK) (void)walk->os->close(walk->os, fd);
    return code;
}

/* Puts `name` behind the path of the innermost directory. */
static slw_code extend_path(slwi_tree_walk *walk, const char *name) {
    slwi_scratch *s = walk->scratch;
    const size_t above = s->levels[walk->depth - 1].path_size;
    const size_t size = strlen(name);
    const size_t slash = above > 0 ? 1 : 0;
    s->path_size = above;
    if (above + slash + size > SLW_LIMIT_PATH_BYTES)
        return slwi_tree_fail(walk, walk->rules->limit_code, "LIMIT", "path too long");
    if (slash) s->path[above] = '/';
    memcpy(s->path + above + slash, name, size + 1);
    s->path_size = above + slash + size;
    if (!slwi_payload_path_ok((slw_bytes){name, size}, 0))
        return slwi_tree_fail(walk, walk->rules->bad_code, "UNSAFE_PATH", "a name that no payload may have");
    return SLW_OK;
}

static char type_of(const slwi_stat *stat) {
    if (S_ISDIR(stat->mode)) return 'd';
    return S_ISREG(stat->mode) ? 'f' : 'o';
}

/* One name of the innermost directory. */
static slw_code visit_name(slwi_tree_walk *walk, const slwi_tree_name *item) {
    slwi_scratch *s = walk->scratch;
    const slwi_tree_level *level = &s->levels[walk->depth - 1];
    const char *name = s->name_bytes.data + item->at;
    char type = item->type;
    slw_code code = extend_path(walk, name);
    if (code != SLW_OK) return code;
    if (type == '?') {
        slwi_stat stat;
        const int r = walk->os->fstatat(walk->os, level->fd, name, 0, &stat);
        if (r < 0) return slwi_tree_fail_os(walk, -r, "looking at");
        type = type_of(&stat);
    }
    const int is_marker = walk->depth == 1 && strcmp(name, SLWI_MARKER) == 0;
    if (is_marker && type == 'f') return SLW_OK;
    if (is_marker) return slwi_tree_fail(walk, walk->rules->bad_code, "UNSAFE_PATH", "the manifest's name is taken");
    if (type == 'd') return enter_directory(walk, level->fd, name);
    if (type == 'f') return slwi_tree_take_file(walk, level->fd, name);
    return slwi_tree_fail(walk, walk->rules->bad_code, "NOT_REGULAR", "neither a regular file nor a directory");
}

static int compare_files(const void *a, const void *b) {
    const slwi_tree_file *x = a, *y = b;
    return slwi_path_compare(x->path, x->path_size, y->path, y->path_size);
}

/* Directories in the order of their names are nearly, not quite, files in the order of their paths: "a-b" < "a/b". */
static void sort_files(slwi_inventory *inventory) {
    int sorted = 1;
    for (size_t i = 0; i < inventory->count; i++) {
        slwi_tree_file *file = &inventory->files[i];
        file->path = inventory->paths.data + file->path_at;
        if (i > 0 && sorted) sorted = compare_files(file - 1, file) < 0;
    }
    if (!sorted) slwi_heap_sort(inventory->files, inventory->count, sizeof *inventory->files, compare_files);
}

static void close_levels(slwi_tree_walk *walk) {
    for (size_t i = 1; i < walk->depth; i++) {
        const int fd = walk->scratch->levels[i].fd;
        if (fd >= 0) (void)walk->os->close(walk->os, fd);
    }
}

static slw_code walk_all(slwi_tree_walk *walk, int directory) {
    /* The first level is never closed, so nobody asks later whether it is still the same. */
    const slwi_stat not_asked = {0};
    slw_code code = push_level(walk, directory, &not_asked);
    while (code == SLW_OK && walk->depth > 0) {
        slwi_tree_level *level = &walk->scratch->levels[walk->depth - 1];
        if (level->next == level->end)
            code = pop_level(walk);
        else
            code = visit_name(walk, &walk->scratch->names[level->next++]);
    }
    close_levels(walk);
    if (code == SLW_OK) slwi_tree_flush(walk);
    return code;
}

slw_code slwi_inventory_read(slwi_scratch *scratch, int directory, const slwi_tree_rules *rules, slwi_inventory *out,
                             /* NOLINTNEXTLINE(readability-non-const-parameter): the walk writes through it */
                             slwi_image **kept, int *changed, slw_error *err) {
    int ignored = 0;
    slwi_tree_walk walk = {.os = slwi_os_get(),
                           .scratch = scratch,
                           .rules = rules,
                           .out = out,
                           .changed = changed != NULL ? changed : &ignored,
                           .keep = kept != NULL ? rules->keep : NULL,
                           .err = err};
    slwi_inventory_clear(out);
    slwi_buffer_clear(&scratch->name_bytes);
    scratch->name_count = 0;
    scratch->path_size = 0;
    scratch->path[0] = 0;
    scratch->batch_count = scratch->batch_used = 0;
    const slw_code code = walk_all(&walk, directory);
    if (code != SLW_OK) {
        slwi_release(walk.kept);
        return code;
    }
    sort_files(out);
    if (kept != NULL) *kept = walk.kept;
    return SLW_OK;
}
