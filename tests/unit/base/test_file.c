/* Files, trees, trust and images, over the real system and over faults. */
#include "slt.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "fault_alloc.h"
#include "fault_os.h"
#include "fail.h"
#include "file.h"
#include "ref.h"

static const slwi_os *os;

static void get_os(void) {
    os = slwi_os_get();
}

START_TEST(only_regular_files_open) {
    const char *dir = slt_scratch();
    slwi_stat st;
    slt_write_file(slt_path(dir, "f", NULL), "abc", 3, 0640);
    ck_assert_int_eq(symlink("f", slt_path(dir, "link", NULL)), 0);
    ck_assert_int_eq(mkfifo(slt_path(dir, "fifo", NULL), 0600), 0);
    ck_assert_int_eq(mkdir(slt_path(dir, "d", NULL), 0700), 0);
    const int sock = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/s", dir);
    ck_assert_int_eq(bind(sock, (struct sockaddr *)&address, sizeof address), 0);
    close(sock);
    const int before = slt_open_descriptors();
    int fd = slwi_open_regular(os, AT_FDCWD, slt_path(dir, "f", NULL), 0, &st);
    ck_assert_int_ge(fd, 0);
    ck_assert_uint_eq(st.size, 3);
    ck_assert_uint_eq(st.mode, S_IFREG | 0640);
    ck_assert_uint_eq(st.nlink, 1);
    ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(fd);
    ck_assert_int_eq(slwi_open_regular(os, AT_FDCWD, slt_path(dir, "link", NULL), 0, &st), -ELOOP);
    fd = slwi_open_regular(os, AT_FDCWD, slt_path(dir, "link", NULL), 1, &st);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(slwi_open_regular(os, AT_FDCWD, slt_path(dir, "fifo", NULL), 0, &st), -EINVAL); /* and at once */
    ck_assert_int_eq(slwi_open_regular(os, AT_FDCWD, slt_path(dir, "d", NULL), 0, &st), -EINVAL);
    ck_assert_int_eq(slwi_open_regular(os, AT_FDCWD, slt_path(dir, "s", NULL), 0, &st), -EINVAL);
    ck_assert_int_eq(slwi_open_regular(os, AT_FDCWD, slt_path(dir, "no", NULL), 0, &st), -ENOENT);
    ck_assert_int_eq(slwi_open_directory(os, AT_FDCWD, slt_path(dir, "f", NULL), 0, &st), -ENOTDIR);
    ck_assert_int_eq(symlink("d", slt_path(dir, "dlink", NULL)), 0);
    ck_assert_int_lt(slwi_open_directory(os, AT_FDCWD, slt_path(dir, "dlink", NULL), 0, &st), 0);
    fd = slwi_open_directory(os, AT_FDCWD, slt_path(dir, "dlink", NULL), 1, &st);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(slt_open_descriptors(), before);
}
END_TEST

START_TEST(short_reads_and_writes_are_continued) {
    const char *dir = slt_scratch();
    const char *path = slt_path(dir, "f", NULL);
    slt_fault_os_install(NULL);
    slt_fault_os_add((slt_fault){.call = SLT_WRITE, .nth = 1, .every = 1, .short_size = 3});
    slt_fault_os_add((slt_fault){.call = SLT_PREAD, .nth = 1, .every = 1, .short_size = 2});
    slt_fault_os_add((slt_fault){.call = SLT_READ, .nth = 1, .every = 1, .short_size = 1});
    slw_error err = SLW_ERROR_INIT;
    slt_ok(slwi_write_file_atomic(path, (slw_bytes){"0123456789", 10}, 0644, &err), &err);
    ck_assert_uint_ge(slt_fault_os_count(SLT_WRITE), 4);
    slwi_buffer b;
    slwi_buffer_init(&b, NULL, 10);
    slt_ok(slwi_read_file(path, &b, &err), &err);
    ck_assert_str_eq(b.data, "0123456789");
    slwi_buffer_free(&b);
    const slwi_os *faulty = slwi_os_get();
    slwi_stat st;
    char data[11] = "";
    const int fd = slwi_open_regular(faulty, AT_FDCWD, path, 0, &st);
    ck_assert_int_eq(slwi_pread_all(faulty, fd, data, 8, 2), 0);
    ck_assert_str_eq(data, "23456789");
    ck_assert_int_eq(slwi_pread_all(faulty, fd, data, 9, 2), -ENODATA);
    ck_assert_int_eq(slwi_pread_all(faulty, fd, data, 0, 99), 0);
    close(fd);
    slt_fault_os_remove();
}
END_TEST

START_TEST(reading_a_file) {
    const char *dir = slt_scratch();
    const char *path = slt_path(dir, "f", NULL);
    slt_write_file(path, "0123456789", 10, 0644);
    slw_error err = SLW_ERROR_INIT;
    slwi_buffer b;
    slwi_buffer_init(&b, NULL, 9);
    ck_assert_int_eq(slwi_read_file(path, &b, &err), SLW_E_LIMIT);
    ck_assert_str_eq(err.path, path);
    slwi_buffer_free(&b);
    slwi_error_reset(&err);
    ck_assert_int_eq(slwi_read_file(dir, &b, &err), SLW_E_STORAGE);
    ck_assert_str_eq(err.reason, "NOT_A_FILE");
    slwi_error_reset(&err);
    ck_assert_int_eq(slwi_read_file(slt_path(dir, "none", NULL), &b, &err), SLW_E_STORAGE);
    ck_assert_str_eq(err.raw_name, "ENOENT");
    slwi_buffer_init(&b, NULL, SIZE_MAX);
    slt_ok(slwi_read_file("/proc/self/status", &b, &err), &err); /* its size says 0 */
    ck_assert_ptr_nonnull(strstr(b.data, "Name:"));
    slwi_buffer_free(&b);
}
END_TEST

static int entries_in(const char *dir) {
    const int fd = open(dir, O_RDONLY | O_DIRECTORY);
    slwi_dir d;
    memset(&d, 0, sizeof d);
    d.fd = fd;
    slwi_dirent entry;
    int n = 0;
    while (os->readdir(os, &d, &entry) == 1) n++;
    os->closedir(os, &d);
    close(fd);
    return n;
}

/* Whichever call fails: the file is the old one or the new one, and nothing lies beside it. */
START_TEST(atomic_writes_are_whole_or_nothing) {
    const char *dir = slt_scratch();
    const char *path = slt_path(dir, "name", NULL);
    static const int errnos[] = {EIO, ENOSPC, EACCES};
    for (size_t e = 0; e < 3; e++) {
        for (uint64_t n = 1;; n++) {
            slt_write_file(path, "old", 3, 0600);
            const int descriptors = slt_open_descriptors();
            slt_fault_os_install(NULL);
            slt_fault_os_add((slt_fault){.nth = n, .error_number = errnos[e]});
            slw_error err = SLW_ERROR_INIT;
            const slw_code rc = slwi_write_file_atomic(path, (slw_bytes){"newer", 5}, 0644, &err);
            const uint64_t fired = slt_fault_os_fired();
            slt_fault_os_remove();
            size_t size = 0;
            char *text = slt_read_file(path, &size);
            ck_assert_str_eq(text, rc == SLW_OK ? "newer" : "old");
            free(text);
            ck_assert_int_eq(entries_in(dir), 1);
            ck_assert_int_eq(slt_open_descriptors(), descriptors);
            if (fired == 0) {
                ck_assert_int_eq(rc, SLW_OK);
                ck_assert_uint_gt(n, 6);
                break;
            }
            if (rc != SLW_OK) ck_assert_int_eq(rc, SLW_E_STORAGE);
        }
    }
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0644);
    slw_error err = SLW_ERROR_INIT;
    ck_assert_int_eq(chdir(dir), 0);
    slt_ok(slwi_write_file_atomic("bare", (slw_bytes){NULL, 0}, 0600, &err), &err);
    ck_assert_int_eq(slwi_write_file_atomic("no/such", (slw_bytes){"x", 1}, 0600, &err), SLW_E_STORAGE);
    ck_assert_str_eq(err.path, "no");
}
END_TEST

START_TEST(making_directories) {
    const char *dir = slt_scratch();
    ck_assert_int_eq(slwi_make_directories(os, slt_path(dir, "a//b", "c/", NULL), 0700), 0);
    struct stat st;
    ck_assert_int_eq(stat(slt_path(dir, "a/b/c", NULL), &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    ck_assert_int_eq(slwi_make_directories(os, slt_path(dir, "a/b/c", NULL), 0700), 0);
    slt_write_file(slt_path(dir, "f", NULL), "", 0, 0600);
    ck_assert_int_eq(slwi_make_directories(os, slt_path(dir, "f/x", NULL), 0700), -ENOTDIR);
    ck_assert_int_eq(slwi_make_directories(os, slt_path(dir, "f", NULL), 0700), -ENOTDIR);
    ck_assert_int_eq(slwi_make_directories(os, "/", 0700), 0);
    ck_assert_int_eq(symlink("a", slt_path(dir, "link", NULL)), 0);
    ck_assert_int_eq(slwi_make_directories(os, slt_path(dir, "link/new", NULL), 0700), 0);
    ck_assert_int_eq(stat(slt_path(dir, "a/new", NULL), &st), 0);
}
END_TEST

START_TEST(trust) {
    static const struct {
        uint32_t mode, uid;
        int ok;
    } rows[] = {
        {S_IFDIR | 0755, 1000, 1}, {S_IFDIR | 0700, 0, 1},     {S_IFDIR | 0755, 7, 1},     {S_IFDIR | 0755, 8, 0},
        {S_IFDIR | 0775, 1000, 0}, {S_IFDIR | 0757, 1000, 0},  {S_IFDIR | 01777, 0, 1},    {S_IFDIR | 01777, 8, 0},
        {S_IFREG | 0644, 1000, 1}, {S_IFREG | 0664, 1000, 0},  {S_IFREG | 0646, 1000, 0},  {S_IFREG | 01646, 1000, 0},
    };
    const uint32_t listed[] = {5, 7};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        slwi_stat st;
        memset(&st, 0, sizeof st);
        st.mode = rows[i].mode;
        st.uid = rows[i].uid;
        const char *why = NULL;
        ck_assert_msg(slwi_trusted(&st, 1000, listed, 2, &why) == rows[i].ok, "row %zu", i);
        ck_assert((why == NULL) == rows[i].ok);
    }
    slwi_stat a;
    memset(&a, 0, sizeof a);
    slwi_stat b = a;
    ck_assert(slwi_unchanged(&a, &b));
    b.ctime_ns = 1;
    ck_assert(!slwi_unchanged(&a, &b) && slwi_same_file(&a, &b));
    b = a;
    b.dev = 1;
    ck_assert(!slwi_same_file(&a, &b));
}
END_TEST

/* ---- trees ---- */

static void make_tree(const char *dir) {
    slt_shell("cd %s && mkdir -p t/a/b/c t/empty t/wide && echo x > t/f && echo y > t/a/b/c/g && "
              "ln -s /etc t/to_etc && "
              "ln -s ../../keep t/a/up && mkfifo t/pipe && ln -s . t/a/self && "
              "i=0; while [ $i -lt 300 ]; do mkdir t/wide/d$i; echo z > t/wide/d$i/f; i=$((i+1)); done; "
              "mkdir keep && echo k > keep/k",
              dir);
}

START_TEST(trees_go_and_links_are_not_followed) {
    const char *dir = slt_scratch();
    make_tree(dir);
    const int fd = open(dir, O_RDONLY | O_DIRECTORY);
    const int before = slt_open_descriptors();
    ck_assert_int_eq(slwi_remove_tree(os, fd, "t"), 0);
    ck_assert_int_eq(slt_open_descriptors(), before);
    ck_assert_int_ne(access(slt_path(dir, "t", NULL), F_OK), 0);
    ck_assert_int_eq(access(slt_path(dir, "keep/k", NULL), F_OK), 0);
    ck_assert_int_eq(access("/etc/passwd", F_OK), 0);
    ck_assert_int_eq(slwi_remove_tree(os, fd, "t"), 0); /* a missing name is fine */
    ck_assert_int_eq(symlink("keep", slt_path(dir, "link", NULL)), 0);
    ck_assert_int_eq(slwi_remove_tree(os, fd, "link"), 0);
    ck_assert_int_eq(access(slt_path(dir, "keep/k", NULL), F_OK), 0);
    slt_write_file(slt_path(dir, "file", NULL), "x", 1, 0400);
    ck_assert_int_eq(slwi_remove_tree(os, fd, "file"), 0);
    ck_assert_int_ne(access(slt_path(dir, "file", NULL), F_OK), 0);
    close(fd);
}
END_TEST

static void make_chain(const char *dir, int depth) {
    const int here = open(".", O_RDONLY | O_DIRECTORY);
    ck_assert_int_eq(chdir(dir), 0);
    for (int i = 0; i < depth; i++) {
        ck_assert_int_eq(mkdir("directory", 0700), 0);
        ck_assert_int_eq(chdir("directory"), 0);
        const int fd = open("file", O_CREAT | O_WRONLY, 0600);
        ck_assert_int_ge(fd, 0);
        close(fd);
        if (i % 3 == 0) ck_assert_int_eq(mkdir("side", 0700), 0);
    }
    ck_assert_int_eq(fchdir(here), 0);
    close(here);
}

START_TEST(deep_trees_need_few_descriptors) {
    static const int depths[] = {1, 700, 1300};
    const char *dir = slt_scratch();
    const int fd = open(dir, O_RDONLY | O_DIRECTORY);
    for (size_t i = 0; i < 3; i++) {
        make_chain(dir, depths[i]);
        slt_fault_os_install(NULL);
        ck_assert_int_eq(slwi_remove_tree(slwi_os_get(), fd, "directory"), 0);
        int open_now = 0;
        int most = 0;
        for (size_t at = 0; at < slt_log_size(); at++) {
            const slt_log_entry entry = slt_log_at(at);
            if (entry.call == SLT_OPENAT && entry.result >= 0) open_now++;
            if (entry.call == SLT_CLOSE) open_now--;
            if (open_now > most) most = open_now;
        }
        slt_fault_os_remove();
        ck_assert_int_eq(open_now, 0);
        ck_assert_int_le(most, 2);
        ck_assert_int_eq(entries_in(dir), 0);
    }
    close(fd);
}
END_TEST

START_TEST(sealed_directories_of_ours_go_too) {
    const char *dir = slt_scratch();
    slt_become_nobody(dir);
    slt_shell("cd %s && mkdir -p t/a && echo x > t/a/f && chmod 0400 t/a/f && chmod 0555 t/a t", dir);
    const int fd = open(dir, O_RDONLY | O_DIRECTORY);
    ck_assert_int_eq(slwi_remove_tree(os, fd, "t"), 0);
    ck_assert_int_eq(entries_in(dir), 0);
    close(fd);
}
END_TEST

START_TEST(any_call_may_fail_while_removing) {
    const char *dir = slt_scratch();
    const int fd = open(dir, O_RDONLY | O_DIRECTORY);
    uint64_t n = 1;
    for (;; n++) {
        slt_shell("cd %s && rm -rf t && mkdir -p t/a/b t/c && echo x > t/a/b/f && echo y > t/c/g", dir);
        const int before = slt_open_descriptors();
        slt_fault_os_install(NULL);
        slt_fault_os_add((slt_fault){.nth = n, .error_number = EIO});
        const int rc = slwi_remove_tree(slwi_os_get(), fd, "t");
        const uint64_t fired = slt_fault_os_fired();
        const slt_call last = slt_log_at(slt_log_size() - 1).call;
        slt_fault_os_remove();
        ck_assert_int_eq(slt_open_descriptors(), before);
        if (fired == 0) {
            ck_assert_int_eq(rc, 0);
            break;
        }
        ck_assert_msg(rc == 0 || rc == -EIO, "call %llu: %d after %s", (unsigned long long)n, rc, slt_call_name(last));
        if (rc == 0) ck_assert_int_ne(access(slt_path(dir, "t", NULL), F_OK), 0);
    }
    ck_assert_uint_gt(n, 20);
    close(fd);
}
END_TEST

typedef struct mover {
    const char *from, *to;
    int done;
} mover;

/* While the walk is inside, its directory is moved out of the tree: ".." then leads elsewhere, and must not be
   followed. */
static void move_away(void *context, slt_call call, const char *path) {
    mover *m = context;
    if (m->done || call != SLT_UNLINKAT || strstr(path, "b/inner") == NULL) return;
    m->done = 1;
    ck_assert_int_eq(rename(m->from, m->to), 0);
}

START_TEST(a_directory_moved_away_leads_nowhere) {
    const char *dir = slt_scratch();
    slt_shell("cd %s && mkdir -p t/a/b/inner other && echo p > other/precious && echo f > t/a/b/inner/f", dir);
    mover m = {slt_path(dir, "t/a/b", NULL), slt_path(dir, "other/b", NULL), 0};
    const int fd = open(dir, O_RDONLY | O_DIRECTORY);
    slt_fault_os_install(NULL);
    slt_fault_os_hook(move_away, &m);
    ck_assert_int_eq(slwi_remove_tree(slwi_os_get(), fd, "t"), 0);
    slt_fault_os_remove();
    ck_assert_int_eq(m.done, 1);
    ck_assert_int_eq(access(slt_path(dir, "other/precious", NULL), F_OK), 0);
    ck_assert_int_ne(access(slt_path(dir, "t", NULL), F_OK), 0);
    close(fd);
}
END_TEST

START_TEST(image_is_read_only_once_sealed) {
    slt_heap heap;
    slt_heap_init(&heap);
    slwi_image *image = NULL;
    heap.fail_at = 1;
    ck_assert_int_eq(slwi_image_create(&heap.allocator, 10, &image), -ENOMEM);
    slt_heap_reset(&heap);
    slt_fault_os_install(NULL);
    slt_fault_os_add((slt_fault){.call = SLT_MAP_ANONYMOUS, .nth = 1, .error_number = ENOMEM});
    ck_assert_int_eq(slwi_image_create(&heap.allocator, 10, &image), -ENOMEM);
    slt_fault_os_remove();
    slt_heap_check_empty(&heap);
    ck_assert_ptr_null(image);
    static const size_t sizes[] = {0, 1, 4096, 4097, 9u << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ck_assert_int_eq(slwi_image_create(&heap.allocator, sizes[i], &image), 0);
        ck_assert_uint_eq(slwi_image_size(image), sizes[i]);
        unsigned char *data = slwi_image_data(image);
        for (size_t k = 0; k < sizes[i]; k += 997) ck_assert_uint_eq(data[k], 0);
        if (sizes[i] > 0) memset(data, 0x5a, sizes[i]);
        ck_assert_int_eq(slwi_image_seal(image), 0);
        ck_assert_int_eq(slwi_image_seal(image), 0);
        slwi_release(slwi_retain(image));
        if (sizes[i] > 0) ck_assert_uint_eq(data[sizes[i] - 1], 0x5a);
        slwi_release(image);
    }
    slt_heap_check_empty(&heap);
    ck_assert_int_lt(slwi_image_create(&heap.allocator, SIZE_MAX - 10, &image), 0);
    slt_heap_check_empty(&heap);
}
END_TEST

static sigjmp_buf jump;

static void on_fault(int number) {
    (void)number;
    siglongjmp(jump, 1);
}

START_TEST(a_write_into_a_sealed_image_faults) {
    slwi_image *image = NULL;
    ck_assert_int_eq(slwi_image_create(NULL, 100, &image), 0);
    volatile char *data = slwi_image_data(image);
    data[0] = 1;
    ck_assert_int_eq(slwi_image_seal(image), 0);
    signal(SIGSEGV, on_fault);
    signal(SIGBUS, on_fault);
    if (sigsetjmp(jump, 1) == 0) {
        data[0] = 2;
        ck_abort_msg("the write went through");
    }
    ck_assert_int_eq(data[0], 1);
    slwi_release(image);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("base/file");
    TCase *tc = tcase_create("file");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, get_os, NULL);
    tcase_add_test(tc, only_regular_files_open);
    tcase_add_test(tc, short_reads_and_writes_are_continued);
    tcase_add_test(tc, reading_a_file);
    tcase_add_test(tc, atomic_writes_are_whole_or_nothing);
    tcase_add_test(tc, making_directories);
    tcase_add_test(tc, trust);
    tcase_add_test(tc, trees_go_and_links_are_not_followed);
    tcase_add_test(tc, deep_trees_need_few_descriptors);
    tcase_add_test(tc, sealed_directories_of_ours_go_too);
    tcase_add_test(tc, any_call_may_fail_while_removing);
    tcase_add_test(tc, a_directory_moved_away_leads_nowhere);
    tcase_add_test(tc, image_is_read_only_once_sealed);
    tcase_add_test(tc, a_write_into_a_sealed_image_faults);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
