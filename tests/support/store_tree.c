/* Listings of directory trees, and small edits of files: the part of store_kit.h that calls nothing of the store. */
#include "store_kit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct listing {
    char **lines;
    size_t count;
    unsigned flags;
} listing;

static void add_line(listing *list, const char *line) {
    list->lines = realloc(list->lines, (list->count + 1) * sizeof *list->lines);
    ck_assert_ptr_nonnull(list->lines);
    list->lines[list->count] = strdup(line);
    ck_assert_ptr_nonnull(list->lines[list->count]);
    list->count++;
}

/* The digest of a file's bytes, the target of a link, or what kind of thing it is. */
static void describe_content(const char *path, const struct stat *st, char out[4200]) {
    out[0] = 0;
    if (S_ISREG(st->st_mode)) {
        const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) {
            snprintf(out, 4200, "size %lld, closed to us", (long long)st->st_size);
            return;
        }
        close(fd);
        size_t size = 0;
        char *data = slt_read_file(path, &size);
        slw_digest digest;
        slw_sha256((slw_bytes){data, size}, &digest);
        slw_digest_format(&digest, out);
        free(data);
    } else if (S_ISLNK(st->st_mode)) {
        const ssize_t size = readlink(path, out, 4096);
        out[size > 0 ? size : 0] = 0;
    }
}

static void list_one(listing *list, const char *path, const char *name) {
    struct stat st;
    ck_assert_msg(lstat(path, &st) == 0, "%s: %s", path, strerror(errno));
    char content[4200], line[12800];
    describe_content(path, &st, content);
    int used = snprintf(line, sizeof line, "%s type %o content [%s]", name, (unsigned)(st.st_mode & S_IFMT), content);
    if ((list->flags & SLK_TREE_MODES) != 0 && !S_ISLNK(st.st_mode))
        used += snprintf(line + used, sizeof line - (size_t)used, " mode %04o", (unsigned)(st.st_mode & 07777));
    if ((list->flags & SLK_TREE_TIMES) != 0)
        used += snprintf(line + used, sizeof line - (size_t)used, " mtime %lld.%09ld ctime %lld.%09ld",
                         (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_ctim.tv_sec,
                         st.st_ctim.tv_nsec);
    if ((list->flags & SLK_TREE_INODES) != 0)
        used += snprintf(line + used, sizeof line - (size_t)used, " inode %llu", (unsigned long long)st.st_ino);
    ck_assert_int_lt(used, (int)sizeof line);
    add_line(list, line);
}

static void list_below(listing *list, const char *directory, const char *prefix) {
    DIR *stream = opendir(directory);
    if (stream == NULL) return;
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        char path[4096], name[4096];
        ck_assert_int_lt(snprintf(path, sizeof path, "%s/%s", directory, entry->d_name), (int)sizeof path);
        ck_assert_int_lt(snprintf(name, sizeof name, "%s%s%s", prefix, *prefix != 0 ? "/" : "", entry->d_name),
                         (int)sizeof name);
        list_one(list, path, name);
        struct stat st;
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) list_below(list, path, name);
    }
    closedir(stream);
}

static int compare_lines(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *slk_tree(const char *directory, unsigned flags) {
    listing list = {NULL, 0, flags};
    list_below(&list, directory, "");
    if (list.count > 0) qsort(list.lines, list.count, sizeof *list.lines, compare_lines);
    size_t total = 1;
    for (size_t i = 0; i < list.count; i++) total += strlen(list.lines[i]) + 1;
    char *text = malloc(total);
    ck_assert_ptr_nonnull(text);
    size_t used = 0;
    for (size_t i = 0; i < list.count; i++) {
        const size_t size = strlen(list.lines[i]);
        memcpy(text + used, list.lines[i], size);
        text[used + size] = '\n';
        used += size + 1;
        free(list.lines[i]);
    }
    free(list.lines);
    text[used] = 0;
    return text;
}

size_t slk_names(const char *directory) {
    DIR *stream = opendir(directory);
    if (stream == NULL) return 0;
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) count++;
    closedir(stream);
    return count;
}

size_t slk_leftovers(const char *root) {
    DIR *stream = opendir(root);
    if (stream == NULL) return 0;
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        char path[4096];
        struct stat st;
        ck_assert_int_lt(snprintf(path, sizeof path, "%s/%s", root, entry->d_name), (int)sizeof path);
        if (strncmp(entry->d_name, ".tmp.", 5) == 0 || strncmp(entry->d_name, ".trash.", 7) == 0)
            count++;
        else if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
            count += slk_leftovers(path);
    }
    closedir(stream);
    return count;
}

int slk_exists(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

unsigned slk_mode(const char *path) {
    struct stat st;
    ck_assert_msg(lstat(path, &st) == 0, "%s: %s", path, strerror(errno));
    return (unsigned)(st.st_mode & 07777);
}

uint64_t slk_inode(const char *path) {
    struct stat st;
    ck_assert_msg(lstat(path, &st) == 0, "%s: %s", path, strerror(errno));
    return (uint64_t)st.st_ino;
}

/* Rewrites in place: the inode and the mode stay. */
static void rewrite(const char *path, const char *data, size_t size) {
    const int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
    ck_assert_int_eq(write(fd, data, size), (ssize_t)size);
    ck_assert_int_eq(close(fd), 0);
}

void slk_replace(const char *path, const char *old_text, const char *new_text) {
    size_t size = 0;
    char *data = slt_read_file(path, &size);
    const size_t old_size = strlen(old_text), new_size = strlen(new_text);
    char *place = memmem(data, size, old_text, old_size);
    ck_assert_msg(place != NULL, "%s holds no %s", path, old_text);
    const size_t before = (size_t)(place - data);
    char *changed = malloc(size + new_size + 1);
    ck_assert_ptr_nonnull(changed);
    memcpy(changed, data, before);
    memcpy(changed + before, new_text, new_size);
    memcpy(changed + before + new_size, place + old_size, size - before - old_size);
    rewrite(path, changed, size - old_size + new_size);
    free(changed);
    free(data);
}

void slk_append(const char *path, const void *data, size_t size) {
    const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
    ck_assert_int_eq(write(fd, data, size), (ssize_t)size);
    ck_assert_int_eq(close(fd), 0);
}

void slk_nest(const char *directory, const char *name, unsigned depth) {
    int at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_msg(at >= 0, "%s: %s", directory, strerror(errno));
    for (unsigned i = 0; i < depth; i++) {
        ck_assert_int_eq(mkdirat(at, name, 0755), 0);
        const int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_ge(next, 0);
        close(at);
        at = next;
    }
    close(at);
}
