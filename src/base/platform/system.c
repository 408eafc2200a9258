/* The machine and the moment: clocks, randomness, host, file system kinds. */
#include "platform.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#else
#include <sys/mount.h>
#include <sys/param.h>
#endif

int slwi_platform_read_text(const char *path, char *out, size_t size) {
    int fd = 0;
    SLWI_RETRY(int, fd, open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (fd < 0) return fd;
    size_t used = 0;
    ssize_t got = 0;
    do {
        SLWI_RETRY(ssize_t, got, read(fd, out + used, size - 1 - used));
        if (got > 0) used += (size_t)got;
    } while (got > 0 && used < size - 1);
    (void)close(fd);
    out[used] = '\0';
    return got < 0 ? (int)got : (int)used;
}

#ifdef __linux__
typedef struct fs_row {
    uint32_t type;
    const char *name;
    int local;
    int memo_allowed;
} fs_row;

static const fs_row fs_rows[] = {
    {0xEF53u, "ext4", 1, 1},       {0x58465342u, "xfs", 1, 1},       {0x9123683Eu, "btrfs", 1, 1},
    {0x2FC12FC1u, "zfs", 1, 1},    {0x01021994u, "tmpfs", 1, 0},     {0x858458F6u, "ramfs", 1, 0},
    {0x794C7630u, "overlay", 1, 0}, {0xF2F52010u, "f2fs", 1, 0},     {0xCA451A4Eu, "bcachefs", 1, 0},
    {0x4D44u, "vfat", 1, 0},       {0x2011BAB0u, "exfat", 1, 0},     {0x7366746Eu, "ntfs3", 1, 0},
    {0x73717368u, "squashfs", 1, 0}, {0xE0F5E1E2u, "erofs", 1, 0},   {0x9660u, "iso9660", 1, 0},
    {0x482Bu, "hfsplus", 1, 0},    {0x3153464Au, "jfs", 1, 0},       {0x52654973u, "reiserfs", 1, 0},
    {0x6969u, "nfs", 0, 0},        {0x517Bu, "smb", 0, 0},           {0xFF534D42u, "cifs", 0, 0},
    {0xFE534D42u, "smb2", 0, 0},   {0x65735546u, "fuse", 0, 0},      {0x01021997u, "9p", 0, 0},
    {0x0BD00BD0u, "lustre", 0, 0}, {0x00C36400u, "ceph", 0, 0},      {0x47504653u, "gpfs", 0, 0},
    {0x01161970u, "gfs2", 0, 0},   {0x7461636Fu, "ocfs2", 0, 0},     {0x5346414Fu, "afs", 0, 0},
    {0x73757245u, "coda", 0, 0},   {0x19830326u, "beegfs", 0, 0},    {0x786F4256u, "vboxsf", 0, 0},
    {0xAAD7AAEAu, "panfs", 0, 0},  {0x20030528u, "orangefs", 0, 0},
};

static int os_fstatfs(const slwi_os *os, int fd, slwi_fs *out) {
    (void)os;
    struct statfs fs;
    int result = 0;
    SLWI_RETRY(int, result, fstatfs(fd, &fs));
    if (result < 0) return result;
    memset(out, 0, sizeof *out);
    out->type = (uint64_t)(uint32_t)fs.f_type; /* signed and sign-extended on some ABIs */
    uint32_t id[2] = {0, 0};
    memcpy(id, &fs.f_fsid, sizeof id);
    out->id = (uint64_t)id[1] << 32 | id[0];
    for (size_t i = 0; i < sizeof fs_rows / sizeof fs_rows[0]; i++) {
        if (fs_rows[i].type != out->type) continue;
        (void)snprintf(out->name, sizeof out->name, "%s", fs_rows[i].name);
        out->local = fs_rows[i].local;
        out->memo_allowed = fs_rows[i].memo_allowed;
        return 0;
    }
    (void)snprintf(out->name, sizeof out->name, "0x%llx", (unsigned long long)out->type);
    return 0;
}
#else
static int os_fstatfs(const slwi_os *os, int fd, slwi_fs *out) {
    (void)os;
    struct statfs fs;
    int result = 0;
    SLWI_RETRY(int, result, fstatfs(fd, &fs));
    if (result < 0) return result;
    memset(out, 0, sizeof *out);
    out->type = (uint64_t)fs.f_type;
    memcpy(&out->id, &fs.f_fsid, sizeof fs.f_fsid < sizeof out->id ? sizeof fs.f_fsid : sizeof out->id);
    (void)snprintf(out->name, sizeof out->name, "%.31s", fs.f_fstypename);
    out->local = (fs.f_flags & MNT_LOCAL) != 0;
    return 0;
}
#endif

static uint64_t os_now_ns(const slwi_os *os) {
    (void)os;
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int64_t os_wall_ns(const slwi_os *os) {
    (void)os;
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + (int64_t)now.tv_nsec;
}

static void os_sleep_ns(const slwi_os *os, uint64_t duration_ns) {
    (void)os;
    struct timespec left;
    left.tv_sec = (time_t)(duration_ns / 1000000000u);
    left.tv_nsec = (long)(duration_ns % 1000000000u);
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

static int os_random(const slwi_os *os, void *data, size_t size) {
    (void)os;
#if defined(__linux__) && defined(SYS_getrandom)
    size_t done = 0;
    while (done < size) {
        long got = 0;
        SLWI_RETRY(long, got, syscall(SYS_getrandom, (char *)data + done, size - done, 0));
        if (got < 0) return (int)got;
        done += (size_t)got;
    }
    return 0;
#else
    arc4random_buf(data, size);
    return 0;
#endif
}

static uint32_t os_euid(const slwi_os *os) {
    (void)os;
    return (uint32_t)geteuid();
}

static int64_t os_pid(const slwi_os *os) {
    (void)os;
    return (int64_t)getpid();
}

static int os_host_name(const slwi_os *os, char out[256]) {
    (void)os;
    if (gethostname(out, 255) != 0) return -errno;
    out[255] = '\0';
    return 0;
}

static int os_boot_id(const slwi_os *os, char out[64]) {
    (void)os;
#ifdef __linux__
    const int size = slwi_platform_read_text("/proc/sys/kernel/random/boot_id", out, 64);
    if (size < 0) return size;
    out[strcspn(out, "\n")] = '\0';
    return 0;
#else
    (void)out;
    return -ENOSYS;
#endif
}

static uint32_t os_processors(const slwi_os *os) {
    (void)os;
#ifdef __linux__
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        const int count = CPU_COUNT(&set);
        if (count > 0) return (uint32_t)count;
    }
#endif
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}

static uint32_t os_umask(const slwi_os *os) {
    (void)os;
#ifdef __linux__
    /* Setting and restoring it, as umask(2) asks for, would race with every other thread that makes a file. */
    char text[4096];
    if (slwi_platform_read_text("/proc/self/status", text, sizeof text) > 0) {
        const char *line = strstr(text, "\nUmask:");
        if (line != NULL) return (uint32_t)strtoul(line + 7, NULL, 8);
    }
#endif
    return 022; /* the careful guess */
}

void slwi_platform_system(slwi_os *table) {
    table->fstatfs = os_fstatfs;
    table->now_ns = os_now_ns;
    table->wall_ns = os_wall_ns;
    table->sleep_ns = os_sleep_ns;
    table->random = os_random;
    table->euid = os_euid;
    table->pid = os_pid;
    table->host_name = os_host_name;
    table->boot_id = os_boot_id;
    table->processors = os_processors;
    table->umask = os_umask;
}
