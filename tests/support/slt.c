#include "slt.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <grp.h>

/* The top of the tree: where test programs are started. */
static char tree[4096];

int slt_run(Suite *first, ...) {
    if (getcwd(tree, sizeof tree) == NULL) return EXIT_FAILURE;
    SRunner *runner = srunner_create(first);
    va_list rest;
    va_start(rest, first);
    for (Suite *s = va_arg(rest, Suite *); s != NULL; s = va_arg(rest, Suite *)) srunner_add_suite(runner, s);
    va_end(rest);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

void slt_skip(const char *test, const char *why) {
    fprintf(stdout, "SKIP %s: %s\n", test, why);
    fflush(stdout);
}

static char scratch_list[64][128];
static int scratch_count;
static pid_t scratch_owner;

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
    (void)st;
    (void)ftw;
    if (flag == FTW_D || flag == FTW_DNR) (void)chmod(path, 0700);
    (void)remove(path);
    return 0;
}

static int open_one(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
    (void)st;
    (void)ftw;
    if (flag == FTW_D || flag == FTW_DNR) (void)chmod(path, 0700);
    return 0;
}

static void remove_scratch(void) {
    if (getpid() != scratch_owner) return;
    for (int i = 0; i < scratch_count; i++) {
        (void)nftw(scratch_list[i], open_one, 32, FTW_PHYS);
        (void)nftw(scratch_list[i], remove_one, 32, FTW_DEPTH | FTW_PHYS);
    }
}

const char *slt_scratch(void) {
    if (scratch_owner != getpid()) {
        scratch_owner = getpid();
        scratch_count = 0;
        (void)atexit(remove_scratch);
    }
    ck_assert_int_lt(scratch_count, 64);
    const char *base = getenv("TMPDIR");
    char *name = scratch_list[scratch_count];
    snprintf(name, sizeof scratch_list[0], "%s/slipway-test-XXXXXX", base != NULL && strlen(base) < 90 ? base : "/tmp");
    ck_assert_msg(mkdtemp(name) != NULL, "mkdtemp %s: %s", name, strerror(errno));
    scratch_count++;
    return name;
}

static int chown_one(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
    (void)st;
    (void)flag;
    (void)ftw;
    return lchown(path, 65534, 65534);
}

void slt_become_nobody(const char *directory) {
    if (geteuid() != 0) return;
    if (directory != NULL) ck_assert_int_eq(nftw(directory, chown_one, 32, FTW_PHYS), 0);
    ck_assert_int_eq(setgroups(0, NULL), 0);
    ck_assert_int_eq(setgid(65534), 0);
    ck_assert_int_eq(setuid(65534), 0);
}

const char *slt_path(const char *first, ...) {
    static char ring[64][4096];
    static int at;
    char *out = ring[at++ % 64];
    size_t used = (size_t)snprintf(out, sizeof ring[0], "%s", first);
    va_list rest;
    va_start(rest, first);
    for (const char *part = va_arg(rest, const char *); part != NULL; part = va_arg(rest, const char *)) {
        ck_assert_uint_lt(used + strlen(part) + 2, sizeof ring[0]);
        used += (size_t)sprintf(out + used, "/%s", part);
    }
    va_end(rest);
    return out;
}

void slt_write_file(const char *path, const void *data, size_t size, unsigned mode) {
    (void)unlink(path);
    FILE *f = fopen(path, "wb");
    ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
    if (size > 0) ck_assert_uint_eq(fwrite(data, 1, size, f), size);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(chmod(path, (mode_t)mode), 0);
}

char *slt_read_file(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
    size_t capacity = 4096, used = 0;
    char *data = malloc(capacity + 1);
    for (size_t n; (n = fread(data + used, 1, capacity - used, f)) > 0;) {
        used += n;
        if (used == capacity) data = realloc(data, (capacity *= 2) + 1);
    }
    fclose(f);
    data[used] = 0;
    if (size != NULL) *size = used;
    return data;
}

void slt_shell(const char *format, ...) {
    char command[8192];
    va_list rest;
    va_start(rest, format);
    vsnprintf(command, sizeof command, format, rest);
    va_end(rest);
    const int rc = system(command);
    ck_assert_msg(rc == 0, "%s: status %d", command, rc);
}

const char *slt_fixture(const char *relative) {
    return slt_path(tree, "tests/fixtures", relative, NULL);
}

/* How many threads of this process do anything but sleep, of which the caller is one. */
static int threads_awake(void) {
    DIR *d = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(d);
    int awake = 0;
    for (const struct dirent *entry; (entry = readdir(d)) != NULL;) {
        char path[64], line[512];
        if (entry->d_name[0] == '.') continue; /* "../stat" is the process's */
        snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", entry->d_name);
        FILE *f = fopen(path, "r");
        if (f == NULL) continue; /* a thread that has ended */
        const char *name_end = fgets(line, sizeof line, f) != NULL ? strrchr(line, ')') : NULL;
        fclose(f);
        if (name_end != NULL && name_end[1] == ' ' && name_end[2] != 'S') awake++;
    }
    closedir(d);
    return awake;
}

void slt_wait_threads_asleep(void) {
    int quiet = 0;
    for (int i = 0; i < 10000 && quiet < 3; i++) {
        quiet = threads_awake() <= 1 ? quiet + 1 : 0;
        usleep(1000);
    }
    ck_assert_msg(quiet == 3, "a thread did not come to rest in ten seconds");
}

int slt_open_descriptors(void) {
    DIR *d = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(d);
    int n = 0;
    while (readdir(d) != NULL) n++;
    closedir(d);
    return n - 3; /* ".", ".." and the listing itself */
}
