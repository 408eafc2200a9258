/* Files in memory: the table of system calls that the targets of file readers are run with. */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "os.h"

#define FILES_MAX 24
#define OPEN_MAX 64
#define FIRST_FD 1000000

typedef struct file {
    char path[256];
    const uint8_t *data;
    uint8_t *own; /* what was written; NULL: the data is the target's */
    size_t size, capacity;
    uint64_t ino;
} file;

typedef struct descriptor {
    int used;
    int file;       /* -1: a directory */
    char path[256]; /* of a directory */
    uint64_t at;
} descriptor;

static file files[FILES_MAX];
static descriptor descriptors[OPEN_MAX];
static uint64_t next_ino;
static slwi_os table;

static int is_directory(const char *path) {
    const size_t size = strlen(path);
    if (strcmp(path, "/") == 0) return 1;
    for (int i = 0; i < FILES_MAX; i++) {
        if (strncmp(files[i].path, path, size) == 0 && files[i].path[size] == '/') return 1;
    }
    return 0;
}

static int find(const char *path) {
    for (int i = 0; i < FILES_MAX; i++) {
        if (files[i].path[0] != '\0' && strcmp(files[i].path, path) == 0) return i;
    }
    return -1;
}

static int absolute(int dirfd, const char *path, char out[256]) {
    size_t used = 0;
    if (path[0] != '/') {
        if (dirfd < FIRST_FD || dirfd >= FIRST_FD + OPEN_MAX || !descriptors[dirfd - FIRST_FD].used) return -ENOENT;
        used = strlen(descriptors[dirfd - FIRST_FD].path);
        memcpy(out, descriptors[dirfd - FIRST_FD].path, used);
        out[used++] = '/';
    }
    if (used + strlen(path) + 1 > 256) return -ENAMETOOLONG;
    memcpy(out + used, path, strlen(path) + 1);
    used = strlen(out);
    while (used > 1 && out[used - 1] == '/') out[--used] = '\0';
    if (used > 3 && strcmp(out + used - 3, "/..") == 0) memcpy(out, "/", 2);
    return 0;
}

static int add_file(const char *path) {
    for (int i = 0; i < FILES_MAX; i++) {
        if (files[i].path[0] != '\0') continue;
        memcpy(files[i].path, path, strlen(path) + 1);
        files[i].ino = next_ino++;
        return i;
    }
    return -ENOSPC;
}

static void drop_file(int index) {
    free(files[index].own);
    memset(&files[index], 0, sizeof files[index]);
}

static int mem_openat(const slwi_os *os, int dirfd, const char *path, int flags, unsigned mode) {
    char full[256];
    (void)os;
    (void)mode;
    const int r = absolute(dirfd, path, full);
    if (r < 0) return r;
    int index = find(full);
    if (index < 0 && (flags & O_CREAT) != 0) index = add_file(full);
    if (index < 0 && !is_directory(full)) return -ENOENT;
    if (index >= 0 && (flags & O_DIRECTORY) != 0) return -ENOTDIR;
    if (index >= 0 && (flags & (O_CREAT | O_TRUNC)) != 0) {
        free(files[index].own);
        files[index].own = NULL;
        files[index].data = NULL;
        files[index].size = files[index].capacity = 0;
    }
    for (int i = 0; i < OPEN_MAX; i++) {
        if (descriptors[i].used) continue;
        descriptors[i] = (descriptor){.used = 1, .file = index};
        memcpy(descriptors[i].path, full, sizeof full);
        return FIRST_FD + i;
    }
    return -EMFILE;
}

static descriptor *descriptor_of(int fd) {
    FUZZ_REQUIRE(fd >= FIRST_FD && fd < FIRST_FD + OPEN_MAX && descriptors[fd - FIRST_FD].used);
    return &descriptors[fd - FIRST_FD];
}

static int mem_close(const slwi_os *os, int fd) {
    (void)os;
    descriptor_of(fd)->used = 0;
    return 0;
}

static int64_t mem_pread(const slwi_os *os, int fd, void *data, size_t size, uint64_t offset) {
    (void)os;
    const descriptor *d = descriptor_of(fd);
    if (d->file < 0) return -EISDIR;
    const file *f = &files[d->file];
    if (offset >= f->size || size == 0) return 0;
    if (size > f->size - offset) size = f->size - (size_t)offset;
    memcpy(data, f->data + offset, size);
    return (int64_t)size;
}

static int64_t mem_read(const slwi_os *os, int fd, void *data, size_t size) {
    descriptor *d = descriptor_of(fd);
    const int64_t got = mem_pread(os, fd, data, size, d->at);
    if (got > 0) d->at += (uint64_t)got;
    return got;
}

static int64_t mem_write(const slwi_os *os, int fd, const void *data, size_t size) {
    (void)os;
    const descriptor *d = descriptor_of(fd);
    if (d->file < 0) return -EISDIR;
    file *f = &files[d->file];
    if (f->size + size > f->capacity) {
        f->capacity = 2 * (f->size + size);
        f->own = realloc(f->own, f->capacity);
        FUZZ_REQUIRE(f->own != NULL);
        f->data = f->own;
    }
    memcpy(f->own + f->size, data, size);
    f->size += size;
    return (int64_t)size;
}

static void fill_stat(int index, slwi_stat *out) {
    memset(out, 0, sizeof *out);
    out->dev = 1;
    out->nlink = 1;
    out->uid = table.euid(&table);
    out->mode = index < 0 ? (uint32_t)S_IFDIR | 0700u : (uint32_t)S_IFREG | 0600u;
    if (index < 0) return;
    out->ino = files[index].ino;
    out->size = files[index].size;
    out->mtime_ns = out->ctime_ns = (int64_t)files[index].ino;
}

static int mem_fstat(const slwi_os *os, int fd, slwi_stat *out) {
    (void)os;
    fill_stat(descriptor_of(fd)->file, out);
    return 0;
}

static int mem_fstatat(const slwi_os *os, int dirfd, const char *path, int follow, slwi_stat *out) {
    char full[256];
    (void)os;
    (void)follow;
    const int r = absolute(dirfd, path, full);
    if (r < 0) return r;
    const int index = find(full);
    if (index < 0 && !is_directory(full)) return -ENOENT;
    fill_stat(index, out);
    return 0;
}

static int mem_fstatfs(const slwi_os *os, int fd, slwi_fs *out) {
    (void)os;
    (void)descriptor_of(fd);
    *out = (slwi_fs){.type = 0xef53, .id = 7, .name = "ext4", .local = 1, .memo_allowed = 1};
    return 0;
}

static int64_t mem_readlinkat(const slwi_os *os, int dirfd, const char *path, char *out, size_t size) {
    (void)os;
    (void)dirfd;
    (void)path;
    (void)out;
    (void)size;
    return -EINVAL;
}

/* Removes "." and ".." by text: there are no links here. */
static int mem_realpath(const slwi_os *os, const char *path, char out[4096]) {
    slwi_stat stat;
    size_t used = 0;
    if (path[0] != '/' || strlen(path) >= 4096) return -ENOENT;
    for (const char *at = path; *at != '\0';) {
        const size_t part = strcspn(at, "/");
        if (part == 2 && at[0] == '.' && at[1] == '.') {
            while (used > 0 && out[--used] != '/') continue;
        } else if (part > 0 && !(part == 1 && at[0] == '.')) {
            out[used++] = '/';
            memcpy(out + used, at, part);
            used += part;
        }
        at += part;
        while (*at == '/') at++;
    }
    if (used == 0) out[used++] = '/';
    out[used] = '\0';
    return mem_fstatat(os, AT_FDCWD, out, 1, &stat);
}

static int mem_rename(const slwi_os *os, int from_dirfd, const char *from, int to_dirfd, const char *to) {
    char old_path[256], new_path[256];
    (void)os;
    int r = absolute(from_dirfd, from, old_path);
    if (r == 0) r = absolute(to_dirfd, to, new_path);
    if (r != 0) return r;
    const int index = find(old_path), there = find(new_path);
    if (index < 0) return -ENOENT;
    if (there >= 0) drop_file(there);
    memcpy(files[index].path, new_path, sizeof new_path);
    return 0;
}

static int mem_unlinkat(const slwi_os *os, int dirfd, const char *path, int directory) {
    char full[256];
    (void)os;
    (void)directory;
    const int r = absolute(dirfd, path, full);
    const int index = r < 0 ? -1 : find(full);
    if (index < 0) return -ENOENT;
    drop_file(index);
    return 0;
}

static int mem_lock(const slwi_os *os, int fd) {
    (void)os;
    (void)descriptor_of(fd);
    return 0;
}

static int mem_boot_id(const slwi_os *os, char out[64]) {
    (void)os;
    memcpy(out, "fuzz", 5);
    return 0;
}

static int mem_mount_id(const slwi_os *os, int fd, uint64_t *out) {
    (void)os;
    (void)descriptor_of(fd);
    *out = 5;
    return 0;
}

void fuzz_os_begin(const fuzz_file *given, size_t count) {
    FUZZ_REQUIRE(count <= 16);
    memset(files, 0, sizeof files);
    next_ino = 100;
    for (size_t i = 0; i < count; i++) {
        const int index = add_file(given[i].path);
        files[index].data = given[i].data;
        files[index].size = given[i].size;
    }
    table = *slwi_os_real();
    table.openat = mem_openat;
    table.close = mem_close;
    table.read = mem_read;
    table.pread = mem_pread;
    table.write = mem_write;
    table.fstat = mem_fstat;
    table.fstatat = mem_fstatat;
    table.fstatfs = mem_fstatfs;
    table.readlinkat = mem_readlinkat;
    table.realpath = mem_realpath;
    table.rename = mem_rename;
    table.unlinkat = mem_unlinkat;
    table.lock = mem_lock;
    table.unlock = mem_lock;
    table.lease_read = mem_lock;
    table.lease_drop = mem_lock;
    table.boot_id = mem_boot_id;
    table.stat_mount_id = mem_mount_id;
    slwi_os_replace(&table);
}

fuzz_file fuzz_os_file(const char *path) {
    const int index = find(path);
    if (index < 0) return (fuzz_file){path, NULL, 0};
    return (fuzz_file){path, files[index].data, files[index].size};
}

void fuzz_os_end(void) {
    for (int i = 0; i < OPEN_MAX; i++) FUZZ_REQUIRE(!descriptors[i].used);
    for (int i = 0; i < FILES_MAX; i++) drop_file(i);
    slwi_os_replace(NULL);
}
