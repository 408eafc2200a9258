/* Whole-file helpers over the table: loops over short reads and writes, opens that cannot block or follow. */
#ifndef SLWI_FILE_H
#define SLWI_FILE_H

#include "buffer.h"
#include "os.h"

/* Opens a regular file for reading: O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, then fstat must say S_ISREG (else -EINVAL, or
   -ELOOP for a link). *out is filled. */
int slwi_open_regular(const slwi_os *os, int dirfd, const char *name, int follow, slwi_stat *out);
/* Opens a directory: O_DIRECTORY | O_NOFOLLOW (unless follow), and fstats it. */
int slwi_open_directory(const slwi_os *os, int dirfd, const char *name, int follow, slwi_stat *out);
/* Reads exactly `size` bytes at `offset`; 0, -errno, or -EIO... when the file ends early (-ENODATA). */
int slwi_pread_all(const slwi_os *os, int fd, void *data, size_t size, uint64_t offset);
int slwi_write_all(const slwi_os *os, int fd, const void *data, size_t size);
/* A whole file by path (links followed) into a buffer; STORAGE with path, LIMIT past buffer->limit. */
slw_code slwi_read_file(const char *path, slwi_buffer *out, slw_error *err);
/* Writes a file through a temporary name beside it and a rename; mode as given. */
slw_code slwi_write_file_atomic(const char *path, slw_bytes bytes, unsigned mode, slw_error *err);
/* Removes a tree below dirfd by name; holds O(1) descriptors; 0 or the first -errno. A missing name is 0. */
int slwi_remove_tree(const slwi_os *os, int dirfd, const char *name);
/* mkdir -p of an absolute path with this mode. */
int slwi_make_directories(const slwi_os *os, const char *path, unsigned mode);
/* The trust rule (pitfall 9): 1 when owner is euid, 0 or listed, and no write by group or others (sticky passes for
   directories). *why is static. */
int slwi_trusted(const slwi_stat *stat, uint32_t euid, const uint32_t *uids, size_t uid_count, const char **why);
int slwi_same_file(const slwi_stat *a, const slwi_stat *b); /* dev and ino */
/* dev, ino, size, mtime, ctime equal: nothing changed between the two. */
int slwi_unchanged(const slwi_stat *a, const slwi_stat *b);

/* Private anonymous memory holding bytes that were read once; reference-counted, read-only after slwi_image_seal. */
typedef struct slwi_image slwi_image;
int slwi_image_create(const slw_allocator *allocator, size_t size, slwi_image **out); /* 0 or -errno */
void *slwi_image_data(slwi_image *image);
size_t slwi_image_size(const slwi_image *image);
int slwi_image_seal(slwi_image *image); /* PROT_READ */
/* retain and release with slwi_retain / slwi_release */

#endif
