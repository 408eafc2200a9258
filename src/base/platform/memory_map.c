/* Memory from the system: private anonymous pages, and sealed files in memory. */
#include "platform.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

/* Up to here the pages are made at once: what is mapped is about to be read into whole, and a fault a page costs
   more. */
#define POPULATE_MAX ((size_t)4 << 20)

static size_t whole_pages(size_t size) {
    const long answer = sysconf(_SC_PAGESIZE);
    const size_t page = answer > 0 ? (size_t)answer : 4096;
    if (size == 0) size = 1;
    if (size > SIZE_MAX - (page - 1)) return 0;
    return (size + page - 1) / page * page;
}

static int os_map_anonymous(const slwi_os *os, size_t size, void **out) {
    (void)os;
    const size_t length = whole_pages(size);
    if (length == 0) return -ENOMEM;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_POPULATE
    if (length <= POPULATE_MAX) flags |= MAP_POPULATE;
#endif
    void *data = mmap(NULL, length, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (data == MAP_FAILED) return -errno;
    *out = data;
    return 0;
}

static int os_map_protect_read(const slwi_os *os, void *data, size_t size) {
    (void)os;
    return mprotect(data, whole_pages(size), PROT_READ) == 0 ? 0 : -errno;
}

static void os_unmap(const slwi_os *os, void *data, size_t size) {
    (void)os;
    (void)munmap(data, whole_pages(size));
}

#if defined(__linux__) && defined(SYS_memfd_create)
enum { MEMFD_CLOEXEC = 1, MEMFD_SEALABLE = 2, MEMFD_EXECUTABLE = 16 };

static int os_memfd(const slwi_os *os, const char *name) {
    (void)os;
    /* Kernels from 6.3 may make them not executable unless told; older ones refuse the flag. */
    long fd = syscall(SYS_memfd_create, name, MEMFD_CLOEXEC | MEMFD_SEALABLE | MEMFD_EXECUTABLE);
    if (fd < 0 && errno == EINVAL) fd = syscall(SYS_memfd_create, name, MEMFD_CLOEXEC | MEMFD_SEALABLE);
    return fd < 0 ? -errno : (int)fd;
}

static int os_memfd_seal(const slwi_os *os, int fd) {
    (void)os;
    enum { ADD_SEALS = 1024 + 9, SEAL_SEAL = 1, SEAL_SHRINK = 2, SEAL_GROW = 4, SEAL_WRITE = 8 };
    return fcntl(fd, ADD_SEALS, SEAL_SEAL | SEAL_SHRINK | SEAL_GROW | SEAL_WRITE) == 0 ? 0 : -errno;
}
#else
static int os_memfd(const slwi_os *os, const char *name) {
    (void)os;
    (void)name;
    return -ENOSYS;
}

static int os_memfd_seal(const slwi_os *os, int fd) {
    (void)os;
    (void)fd;
    return -ENOSYS;
}
#endif

void slwi_platform_memory(slwi_os *table) {
    table->map_anonymous = os_map_anonymous;
    table->map_protect_read = os_map_protect_read;
    table->unmap = os_unmap;
    table->memfd = os_memfd;
    table->memfd_seal = os_memfd_seal;
}
