/* The table of system calls itself, and that faults over it do what they say: a fault that does nothing would make
   every test that uses it pass. */
#include "slt.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault_alloc.h"
#include "fault_os.h"

static const slwi_os *os;

static void get_os(void) {
    os = slwi_os_get();
}

START_TEST(every_function_is_there) {
    /* All members from openat on are function pointers of one size. */
    const size_t first = offsetof(slwi_os, openat);
    for (size_t at = first; at < sizeof *os; at += sizeof(void (*)(void))) {
        void (*function)(void) = NULL;
        void (*faulty)(void) = NULL;
        memcpy(&function, (const char *)os + at, sizeof function);
        ck_assert_msg(function != NULL, "member at %zu", at);
        slt_fault_os_install(NULL);
        memcpy(&faulty, (const char *)slwi_os_get() + at, sizeof faulty);
        slt_fault_os_remove();
        ck_assert_msg(faulty != NULL && faulty != function, "member at %zu is not wrapped", at);
    }
    ck_assert_ptr_eq(slwi_os_get(), slwi_os_real());
}
END_TEST

START_TEST(errors_are_negative_numbers) {
    slwi_stat st;
    slwi_fs fs;
    char path[4096];
    ck_assert_int_eq(os->openat(os, AT_FDCWD, "/no/such", O_RDONLY, 0), -ENOENT);
    ck_assert_int_eq(os->close(os, -1), -EBADF);
    ck_assert_int_eq(os->read(os, -1, path, 1), -EBADF);
    ck_assert_int_eq(os->pread(os, -1, path, 1, 0), -EBADF);
    ck_assert_int_eq(os->pread(os, 0, path, 1, UINT64_MAX), -EINVAL);
    ck_assert_int_eq(os->write(os, -1, path, 1), -EBADF);
    ck_assert_int_eq(os->fstat(os, -1, &st), -EBADF);
    ck_assert_int_eq(os->fstatat(os, AT_FDCWD, "/no/such", 1, &st), -ENOENT);
    ck_assert_int_eq(os->fstatfs(os, -1, &fs), -EBADF);
    ck_assert_int_eq(os->readlinkat(os, AT_FDCWD, "/", path, sizeof path), -EINVAL);
    ck_assert_int_eq(os->realpath(os, "/no/such", path), -ENOENT);
    ck_assert_int_eq(os->mkdirat(os, AT_FDCWD, "/", 0700), -EEXIST);
    ck_assert_int_eq(os->unlinkat(os, AT_FDCWD, "/no/such", 0), -ENOENT);
    ck_assert_int_eq(os->rename(os, AT_FDCWD, "/no/such", AT_FDCWD, "/no/such2"), -ENOENT);
    ck_assert_int_eq(os->symlinkat(os, "x", AT_FDCWD, "/no/such/link"), -ENOENT);
    ck_assert_int_eq(os->fchmod(os, -1, 0), -EBADF);
    ck_assert_int_eq(os->fsync(os, -1), -EBADF);
    ck_assert_int_eq(os->ftruncate(os, -1, 0), -EBADF);
    ck_assert_int_eq(os->ftruncate(os, -1, UINT64_MAX), -EINVAL);
    ck_assert_int_eq(os->utime(os, AT_FDCWD, "/no/such", 0), -ENOENT);
    ck_assert_int_eq(os->lock(os, -1), -EBADF);
    ck_assert_int_eq(os->unlock(os, -1), -EBADF);
    ck_assert_int_lt(os->lease_read(os, -1), 0);
    ck_assert_int_lt(os->lease_drop(os, -1), 0);
    ck_assert_int_eq(os->memfd_seal(os, -1), -EBADF);
    ck_assert_int_eq(os->kill_group(os, 0), -EINVAL);
    ck_assert_int_eq(os->kill_group(os, 1), -EINVAL);
    int status = 0;
    ck_assert_int_eq(os->wait(os, 1, &status), -ECHILD);
    slwi_dir dir;
    memset(&dir, 0, sizeof dir);
    dir.fd = -1;
    slwi_dirent entry;
    ck_assert_int_eq(os->readdir(os, &dir, &entry), -EBADF);
    uint64_t mount = 7;
    ck_assert_int_eq(os->stat_mount_id(os, -1, &mount), -EBADF);
    char why[256];
    ck_assert_ptr_null(os->dl_open(os, "/no/such/library.so", why));
    ck_assert_uint_gt(strlen(why), 0);
}
END_TEST

START_TEST(names_and_listings) {
    const char *dir = slt_scratch();
    const int fd = os->openat(os, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    ck_assert_int_eq(os->mkdirat(os, fd, "d", 0700), 0);
    ck_assert_int_eq(os->symlinkat(os, "d", fd, "l"), 0);
    ck_assert_int_eq(mkfifo(slt_path(dir, "p", NULL), 0600), 0);
    for (int i = 0; i < 2000; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "file-with-a-name-%d", i);
        const int file = os->openat(os, fd, name, O_CREAT | O_EXCL | O_WRONLY, 0600);
        ck_assert_int_ge(file, 0);
        os->close(os, file);
    }
    const int before = slt_open_descriptors();
    slwi_dir d;
    memset(&d, 0, sizeof d);
    d.fd = fd;
    slwi_dirent entry;
    int files = 0;
    int others = 0;
    while (os->readdir(os, &d, &entry) == 1) {
        slwi_stat st;
        ck_assert_int_eq(os->fstatat(os, fd, entry.name, 0, &st), 0);
        ck_assert_uint_eq(st.ino, entry.ino);
        const char type = S_ISDIR(st.mode) ? 'd' : S_ISREG(st.mode) ? 'f' : S_ISLNK(st.mode) ? 'l' : 'o';
        ck_assert(entry.type == type || entry.type == '?');
        if (type == 'f') files++;
        if (type != 'f') others++;
        ck_assert_int_eq(slt_open_descriptors(), before);
    }
    os->closedir(os, &d);
    ck_assert_int_eq(files, 2000);
    ck_assert_int_eq(others, 3);
    /* Renames that must not replace. */
    ck_assert_int_eq(os->rename_noreplace(os, fd, "file-with-a-name-1", fd, "file-with-a-name-2"), -EEXIST);
    ck_assert_int_eq(os->rename_noreplace(os, fd, "file-with-a-name-1", fd, "new"), 0);
    ck_assert_int_eq(os->rename(os, fd, "new", fd, "file-with-a-name-2"), 0);
    slwi_stat st;
    ck_assert_int_eq(os->utime(os, fd, "l", -1500000000), 0); /* the link, not what it leads to */
    ck_assert_int_eq(os->fstatat(os, fd, "l", 0, &st), 0);
    ck_assert_int_eq(st.mtime_ns, -1500000000);
    char text[16];
    ck_assert_int_eq(os->readlinkat(os, fd, "l", text, sizeof text), 1);
    os->close(os, fd);
}
END_TEST

START_TEST(locks_memory_and_sealed_files) {
    const char *path = slt_path(slt_scratch(), "lock", NULL);
    const int a = os->openat(os, AT_FDCWD, path, O_CREAT | O_RDWR, 0600);
    const int b = os->openat(os, AT_FDCWD, path, O_RDWR, 0);
    ck_assert_int_eq(os->lock(os, a), 0);
    ck_assert_int_eq(os->lock(os, b), -EWOULDBLOCK);
    ck_assert_int_eq(os->unlock(os, a), 0);
    ck_assert_int_eq(os->lock(os, b), 0);
    os->close(os, a);
    os->close(os, b);
    void *data = NULL;
    ck_assert_int_eq(os->map_anonymous(os, 5000, &data), 0);
    ck_assert_int_eq(((char *)data)[4999], 0);
    ck_assert_int_eq(os->map_protect_read(os, data, 5000), 0);
    os->unmap(os, data, 5000);
    ck_assert_int_eq(os->map_anonymous(os, SIZE_MAX, &data), -ENOMEM);
    const int fd = os->memfd(os, "image");
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    ck_assert_int_eq(os->write(os, fd, "abc", 3), 3);
    ck_assert_int_eq(os->memfd_seal(os, fd), 0);
    ck_assert_int_eq(os->write(os, fd, "abc", 3), -EPERM);
    ck_assert_int_eq(os->ftruncate(os, fd, 0), -EPERM);
    void *mapped = mmap(NULL, 3, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    ck_assert_ptr_ne(mapped, MAP_FAILED);
    munmap(mapped, 3);
    os->close(os, fd);
}
END_TEST

START_TEST(machine_and_moment) {
    char host[256];
    char boot[64];
    char again[64];
    unsigned char noise[2][32] = {{0}, {0}};
    ck_assert_int_eq(os->host_name(os, host), 0);
    ck_assert_uint_gt(strlen(host), 0);
    ck_assert_int_eq(os->boot_id(os, boot), 0);
    ck_assert_int_eq(os->boot_id(os, again), 0);
    ck_assert_str_eq(boot, again);
    ck_assert_uint_eq(strlen(boot), 36);
    ck_assert_int_eq(os->random(os, noise[0], 32), 0);
    ck_assert_int_eq(os->random(os, noise[1], 32), 0);
    ck_assert_mem_ne(noise[0], noise[1], 32);
    ck_assert_int_eq(os->pid(os), getpid());
    ck_assert_uint_eq(os->euid(os), geteuid());
    ck_assert_uint_ge(os->processors(os), 1);
    const mode_t before = umask(027);
    ck_assert_uint_eq(os->umask(os), 027);
    umask(before);
    const uint64_t start = os->now_ns(os);
    os->sleep_ns(os, 20000000);
    ck_assert_uint_ge(os->now_ns(os) - start, 20000000);
    ck_assert_int_gt(os->wall_ns(os), 1600000000ll * 1000000000);
    slwi_fs fs;
    const int fd = os->openat(os, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0);
    ck_assert_int_eq(os->fstatfs(os, fd, &fs), 0);
    ck_assert_int_eq(fs.local, 0); /* not known: not trusted */
    ck_assert_int_eq(fs.memo_allowed, 0);
    uint64_t proc_mount = 0;
    ck_assert_int_eq(os->stat_mount_id(os, fd, &proc_mount), 0);
    os->close(os, fd);
    const int root = os->openat(os, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY, 0);
    uint64_t root_mount = 0;
    ck_assert_int_eq(os->stat_mount_id(os, root, &root_mount), 0);
    if (root_mount != 0) ck_assert_uint_ne(root_mount, proc_mount);
    os->close(os, root);
    char path[4096];
    ck_assert_int_eq(os->realpath(os, "/proc/../proc", path), 0);
    ck_assert_str_eq(path, "/proc");
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(os->getcwd(os, path), 0);
    ck_assert_str_eq(path, "/");
}
END_TEST

static void do_nothing(int number) {
    (void)number;
}

static void *interrupt(void *target) {
    for (int i = 0; i < 20; i++) {
        usleep(5000);
        pthread_kill(*(pthread_t *)target, SIGUSR1);
    }
    return NULL;
}

START_TEST(signals_are_not_seen) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = do_nothing; /* no SA_RESTART */
    sigaction(SIGUSR1, &action, NULL);
    int ends[2];
    ck_assert_int_eq(os->pipe(os, ends), 0);
    pthread_t self = pthread_self();
    pthread_t thread;
    pthread_create(&thread, NULL, interrupt, &self);
    const uint64_t start = os->now_ns(os);
    os->sleep_ns(os, 60000000);
    ck_assert_uint_ge(os->now_ns(os) - start, 60000000);
    pthread_join(thread, NULL);
    ck_assert_int_eq(os->poll_readable(os, ends[0], 1), 0);
    ck_assert_int_eq(os->write(os, ends[1], "x", 1), 1);
    ck_assert_int_eq(os->poll_readable(os, ends[0], 1000000000), 1);
    os->close(os, ends[1]);
    char byte = 0;
    ck_assert_int_eq(os->read(os, ends[0], &byte, 1), 1);
    ck_assert_int_eq(os->poll_readable(os, ends[0], 1000000000), 1); /* hung up */
    ck_assert_int_eq(os->read(os, ends[0], &byte, 1), 0);
    os->close(os, ends[0]);
}
END_TEST

/* ---- faults ---- */

START_TEST(the_nth_call_of_a_kind_fails) {
    const char *dir = slt_scratch();
    slt_write_file(slt_path(dir, "a", NULL), "abcdef", 6, 0600);
    slt_fault_os_install(NULL);
    slt_fault_os_add((slt_fault){.call = SLT_OPENAT, .path = "/a", .nth = 2, .error_number = EMFILE});
    const slwi_os *f = slwi_os_get();
    ck_assert_int_eq(f->openat(f, AT_FDCWD, "/no/such", O_RDONLY, 0), -ENOENT);
    const int fd = f->openat(f, AT_FDCWD, slt_path(dir, "a", NULL), O_RDWR, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_uint_eq(slt_fault_os_fired(), 0);
    ck_assert_int_eq(f->openat(f, AT_FDCWD, slt_path(dir, "a", NULL), O_RDONLY, 0), -EMFILE);
    ck_assert_uint_eq(slt_fault_os_fired(), 1);
    const int again = f->openat(f, AT_FDCWD, slt_path(dir, "a", NULL), O_RDONLY, 0);
    ck_assert_int_ge(again, 0);
    ck_assert_uint_eq(slt_fault_os_count(SLT_OPENAT), 4);
    /* A call on a descriptor is found by the path it was opened with. */
    slt_fault_os_add((slt_fault){.call = SLT_FSYNC, .path = "/a", .nth = 1, .every = 1, .error_number = EIO});
    ck_assert_int_eq(f->fsync(f, fd), -EIO);
    ck_assert_int_eq(f->fsync(f, fd), -EIO);
    slt_fault_os_add((slt_fault){.call = SLT_WRITE, .nth = 1, .short_size = 2});
    ck_assert_int_eq(f->write(f, fd, "xyz", 3), 2);
    ck_assert_int_eq(f->write(f, fd, "xyz", 3), 3);
    ck_assert_uint_eq(slt_fault_os_fired(), 4);
    slt_fault_os_add((slt_fault){.call = SLT_CLOSE, .nth = 1, .error_number = EIO});
    const int before = slt_open_descriptors();
    ck_assert_int_eq(f->close(f, again), -EIO);
    ck_assert_int_eq(slt_open_descriptors(), before - 1); /* as Linux does it */
    f->close(f, fd);
    const size_t at = slt_log_find(0, SLT_FSYNC, "/a");
    ck_assert_uint_ne(at, SIZE_MAX);
    ck_assert_int_eq(slt_log_at(at).result, -EIO);
    ck_assert_uint_eq(slt_log_find(at + 2, SLT_FSYNC, NULL), SIZE_MAX);
    slt_fault_os_remove();
    ck_assert_ptr_eq(slwi_os_get(), slwi_os_real());
}
END_TEST

START_TEST(done_and_yet_failed) {
    const char *dir = slt_scratch();
    const int fd = open(dir, O_RDONLY | O_DIRECTORY);
    slt_fault_os_install(NULL);
    slt_fault_os_add((slt_fault){.call = SLT_MKDIRAT, .nth = 1, .error_number = EIO, .after = 1});
    const slwi_os *f = slwi_os_get();
    ck_assert_int_eq(f->mkdirat(f, fd, "d", 0700), -EIO);
    ck_assert_int_eq(access(slt_path(dir, "d", NULL), F_OK), 0);
    slt_fault_os_remove();
    close(fd);
}
END_TEST

static int killed_in(slt_fault fault, const char *dir) {
    const pid_t child = fork();
    if (child == 0) {
        slt_fault_os_install(NULL);
        slt_fault_os_add(fault);
        const slwi_os *f = slwi_os_get();
        (void)f->mkdirat(f, AT_FDCWD, slt_path(dir, "one", NULL), 0700);
        (void)f->mkdirat(f, AT_FDCWD, slt_path(dir, "two", NULL), 0700);
        (void)f->mkdirat(f, AT_FDCWD, slt_path(dir, "three", NULL), 0700);
        _exit(0);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

START_TEST(killed_at_a_call) {
    const char *dir = slt_scratch();
    ck_assert_int_eq(killed_in((slt_fault){.nth = 2, .kill = 1}, dir), 1);
    ck_assert_int_eq(access(slt_path(dir, "one", NULL), F_OK), 0);
    ck_assert_int_ne(access(slt_path(dir, "two", NULL), F_OK), 0);
    ck_assert_int_eq(killed_in((slt_fault){.nth = 2, .kill = 1, .after = 1}, dir), 1);
    ck_assert_int_eq(access(slt_path(dir, "two", NULL), F_OK), 0);
    ck_assert_int_ne(access(slt_path(dir, "three", NULL), F_OK), 0);
    ck_assert_int_eq(killed_in((slt_fault){.nth = 9, .kill = 1}, dir), 0);
}
END_TEST

START_TEST(clocks_can_be_shifted) {
    slt_fault_os_install(NULL);
    const slwi_os *f = slwi_os_get();
    const uint64_t now = f->now_ns(f);
    const int64_t wall = f->wall_ns(f);
    slt_fault_os_shift_now(3600000000000ull);
    slt_fault_os_shift_wall(-3600000000000ll);
    ck_assert_uint_ge(f->now_ns(f), now + 3600000000000ull);
    ck_assert_int_lt(f->wall_ns(f), wall);
    slt_fault_os_remove();
}
END_TEST

START_TEST(the_heap_counts) {
    slt_heap heap;
    slt_heap_init(&heap);
    const slw_allocator a = heap.allocator;
    char *p = a.allocate(a.context, 10);
    char *q = a.allocate(a.context, 20);
    ck_assert_uint_eq(heap.live_blocks, 2);
    ck_assert_uint_eq(heap.live_bytes, 30);
    heap.fail_at = 3;
    ck_assert_ptr_null(a.reallocate(a.context, p, 100));
    ck_assert_uint_eq(heap.failed, 1);
    memset(p, 'x', 10);
    p = a.reallocate(a.context, p, 100); /* the next one is granted, and the bytes came along */
    ck_assert_mem_eq(p, "xxxxxxxxxx", 10);
    heap.fail_at = heap.calls + 1;
    heap.fail_after = 1;
    ck_assert_ptr_null(a.allocate(a.context, 1));
    ck_assert_ptr_null(a.allocate(a.context, 1));
    ck_assert_uint_eq(heap.peak_bytes, 130);
    a.release(a.context, p);
    ck_assert_uint_eq(heap.live_blocks, 1);
    a.release(a.context, q);
    slt_heap_check_empty(&heap);
}
END_TEST

/* What the heap of the tests is for must end a test. */
START_TEST(a_second_release_is_seen) {
    slt_heap *heap = malloc(sizeof *heap);
    slt_heap_init(heap);
    static long foreign[64];
    (void)freopen("/dev/null", "w", stderr);
    heap->allocator.release(heap, foreign + 32);
}
END_TEST

START_TEST(a_write_past_the_end_is_seen) {
    slt_heap *heap = malloc(sizeof *heap);
    slt_heap_init(heap);
    char *volatile p = heap->allocator.allocate(heap, 10);
    p[10] = 'x';
    (void)freopen("/dev/null", "w", stderr);
    heap->allocator.release(heap, p);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("base/os");
    TCase *tc = tcase_create("os");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, get_os, NULL);
    tcase_add_test(tc, every_function_is_there);
    tcase_add_test(tc, errors_are_negative_numbers);
    tcase_add_test(tc, names_and_listings);
    tcase_add_test(tc, locks_memory_and_sealed_files);
    tcase_add_test(tc, machine_and_moment);
    tcase_add_test(tc, signals_are_not_seen);
    tcase_add_test(tc, the_nth_call_of_a_kind_fails);
    tcase_add_test(tc, done_and_yet_failed);
    tcase_add_test(tc, killed_at_a_call);
    tcase_add_test(tc, clocks_can_be_shifted);
    tcase_add_test(tc, the_heap_counts);
    tcase_add_test_raise_signal(tc, a_second_release_is_seen, SIGABRT);
    tcase_add_test_raise_signal(tc, a_write_past_the_end_is_seen, SIGABRT);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
