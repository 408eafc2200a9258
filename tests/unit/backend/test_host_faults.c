/* The n-th allocation fails, and a system call of a stage fails: a typed error, nothing leaked, nothing left behind. */
#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include "host_fixture.h"
#include "host_job.h"
#include "os.h"

typedef struct countdown {
    long left;
    long live;
    long asked;
} countdown;
static void *count_allocate(void *context, size_t size) {
    countdown *c = context;
    c->asked++;
    if (c->left-- == 0) return NULL;
    c->live++;
    return malloc(size);
}
static void *count_reallocate(void *context, void *pointer, size_t size) {
    countdown *c = context;
    c->asked++;
    if (c->left-- == 0) return NULL;
    if (pointer == NULL) c->live++;
    return realloc(pointer, size);
}
static void count_release(void *context, void *pointer) {
    countdown *c = context;
    c->live--;
    free(pointer);
}

static slw_code open_counted(countdown *count, slw_memo *memo, slw_identity **identity, void **toolchain,
                             slw_error *err) {
    slw_allocator counting = {count, count_allocate, count_reallocate, count_release};
    slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
    options.allocator = counting;
    options.memo = memo;
    slw_code rc = slw_identity_create(&options, identity, err);
    if (rc != SLW_OK) return rc;
    slw_toolchain_request request;
    memset(&request, 0, sizeof(request));
    request.size = sizeof(request);
    request.allocator = counting;
    request.compiler = "gcc";
    request.search_path = "/usr/bin";
    request.memo = memo;
    request.identity = *identity;
    return slwi_host_backend.toolchain_open(&request, toolchain, err);
}

static void open_with(long n, slw_memo *memo) {
    countdown count = {n, 0, 0};
    slw_error err = SLW_ERROR_INIT;
    slw_identity *identity = NULL;
    void *toolchain = NULL;
    slw_code rc = open_counted(&count, memo, &identity, &toolchain, &err);
    /* The answer's memory is a convenience: a failure there only costs a question more. */
    ck_assert_msg(rc == SLW_E_NO_MEMORY || rc == SLW_OK, "allocation %ld: %s %s", n, slw_code_name(rc), err.message);
    ck_assert((rc == SLW_OK) == (toolchain != NULL));
    if (toolchain != NULL) slwi_host_backend.toolchain_close(toolchain);
    slw_identity_release(&identity);
    ck_assert_msg(count.live == 0, "allocation %ld: %ld blocks leaked", n, count.live);
}

/* Hot and cold. Most allocations are those of the trees, so the early ones are tried closely and the rest in steps. */
START_TEST(opening_a_toolchain) {
    slw_error err = SLW_ERROR_INIT;
    slw_memo *memo = NULL;
    slw_memo_options memo_options = SLW_MEMO_OPTIONS_INIT;
    const char *directory = slt_path(slt_scratch(), "memo", NULL);
    memo_options.directory = directory;
    slt_ok(slw_memo_open(&memo_options, &memo, &err), &err);
    countdown all = {-1, 0, 0};
    slw_identity *identity = NULL;
    void *toolchain = NULL;
    slt_ok(open_counted(&all, memo, &identity, &toolchain, &err), &err);
    slwi_host_backend.toolchain_close(toolchain);
    slw_identity_release(&identity);
    ck_assert_int_eq(all.live, 0);
    int descriptors = slt_open_descriptors();
    for (long n = 0; n < 500; n += n < 70 ? 1 : 9) open_with(n, NULL);
    for (long n = 0; n < 40; n++) open_with(n, memo);
    for (long n = 40; n < all.asked; n += all.asked / 12 + 1) open_with(n, memo);
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
    slw_memo_close(&memo);
}
END_TEST

/* A new empty directory in place of the one before. */
static const char *fresh(const char *parent) {
    const char *directory = slt_path(parent, "build", NULL);
    slt_shell("rm -rf %s && mkdir %s", directory, directory);
    return directory;
}

static int is_empty(const char *directory) {
    DIR *dir = opendir(directory);
    int count = 0;
    while (readdir(dir) != NULL) count++;
    closedir(dir);
    return count == 2;
}

/* The include root serves as the place of temporary files as well, so that it can be seen that nothing stays there. */
static slw_code whole_job(fixture_toolchain *t, const slw_allocator *allocator, const char *root, const char *directory,
                          slw_error *err) {
    const char *temporary = root;
    slw_source source = SLW_SOURCE_INIT;
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    const char *const flags[] = {"-O1", "-DX"};
    slw_compile_request request;
    void *job = NULL;
    slw_record *record = NULL;
    source.include_roots = &root;
    source.include_root_count = 1;
    options.flags = flags;
    options.flag_count = 2;
    memset(&request, 0, sizeof(request));
    request.size = sizeof(request);
    request.allocator = *allocator;
    request.source = &source;
    request.options = &options;
    request.source_text = (slw_bytes){fixture_kernel, sizeof(fixture_kernel) - 1};
    request.identity = t->identity;
    slw_code rc = slwi_host_backend.job_open(t->toolchain, &request, &job, err);
    if (rc != SLW_OK) return rc;
    rc = slwi_host_backend.job_source_record(job, &record, err);
    slw_record_release(&record);
    if (rc == SLW_OK) rc = slwi_host_backend.job_option_record(job, &record, err);
    slw_record_release(&record);
    slw_stage_context context = {sizeof(context), directory, UINT64_MAX, NULL, temporary, request.source_text};
    if (rc == SLW_OK) rc = slwi_host_backend.job_run(job, 0, &context, err);
    if (rc == SLW_OK) rc = slwi_host_backend.job_run(job, 1, &context, err);
    if (rc == SLW_OK) rc = slwi_host_backend.job_confirm(job, &context, err);
    slwi_host_backend.job_close(job);
    return rc;
}

START_TEST(one_job) {
    slw_error err = SLW_ERROR_INIT;
    fixture_toolchain t;
    slt_ok(fixture_open(&t, "gcc", "/usr/bin", NULL, &err), &err);
    const char *root = slt_scratch();
    const char *parent = slt_scratch();
    int descriptors = slt_open_descriptors();
    countdown all = {-1, 0, 0};
    slw_allocator counting_all = {&all, count_allocate, count_reallocate, count_release};
    slt_ok(whole_job(&t, &counting_all, root, fresh(parent), &err), &err);
    ck_assert_int_eq(all.live, 0);
    /* The toolchain's own allocator serves the command lines; what the job's serves is counted here. */
    for (long n = 0; n < all.asked; n += n < 60 ? 1 : 5) {
        countdown count = {n, 0, 0};
        slw_allocator counting = {&count, count_allocate, count_reallocate, count_release};
        slw_error again = SLW_ERROR_INIT;
        const char *directory = fresh(parent);
        slw_code rc = whole_job(&t, &counting, root, directory, &again);
        ck_assert_msg(rc == SLW_E_NO_MEMORY, "allocation %ld of %ld: %s %s", n, all.asked, slw_code_name(rc),
                      again.message);
        ck_assert_int_eq(count.live, 0);
        ck_assert_int_ne(access(slt_path(directory, ".slipway-work", NULL), F_OK), 0);
        ck_assert(is_empty(root));
    }
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
    fixture_close(&t);
}
END_TEST

/* ---- system calls ---- */

static long calls_left;
static int fail_with;
static slwi_os failing;

static int fails(void) {
    return calls_left-- == 0;
}
static int failing_openat(const slwi_os *os, int dirfd, const char *path, int flags, unsigned mode) {
    return fails() ? -fail_with : os->next->openat(os->next, dirfd, path, flags, mode);
}
static int failing_mkdirat(const slwi_os *os, int dirfd, const char *path, unsigned mode) {
    return fails() ? -fail_with : os->next->mkdirat(os->next, dirfd, path, mode);
}
static int64_t failing_write(const slwi_os *os, int fd, const void *data, size_t size) {
    /* Short writes are no failure and are gone on from. */
    return fails() ? -fail_with : os->next->write(os->next, fd, data, size > 1000 ? size / 2 : size);
}
static int failing_fchmod(const slwi_os *os, int fd, unsigned mode) {
    return fails() ? -fail_with : os->next->fchmod(os->next, fd, mode);
}
static int failing_utime(const slwi_os *os, int dirfd, const char *path, int64_t time_ns) {
    return fails() ? -fail_with : os->next->utime(os->next, dirfd, path, time_ns);
}
static int failing_realpath(const slwi_os *os, const char *path, char out[4096]) {
    return fails() ? -fail_with : os->next->realpath(os->next, path, out);
}

START_TEST(system_calls_of_the_stages) {
    static const int numbers[] = {EIO, ENOSPC, EACCES, EMFILE};
    slw_error err = SLW_ERROR_INIT;
    fixture_toolchain t;
    slw_allocator allocator = SLW_ALLOCATOR_INIT;
    slt_ok(fixture_open(&t, "gcc", "/usr/bin", NULL, &err), &err);
    const char *root = slt_scratch();
    const char *parent = slt_scratch();
    int descriptors = slt_open_descriptors();
    slwi_os table = *slwi_os_real();
    failing = table;
    failing.next = slwi_os_real();
    failing.openat = failing_openat;
    failing.mkdirat = failing_mkdirat;
    failing.write = failing_write;
    failing.fchmod = failing_fchmod;
    failing.utime = failing_utime;
    failing.realpath = failing_realpath;
    slw_code rc = SLW_E_STORAGE;
    long n;
    for (n = 0; rc != SLW_OK && n < 1000; n++) {
        slw_error again = SLW_ERROR_INIT;
        const char *directory = fresh(parent);
        calls_left = n;
        fail_with = numbers[n % 4];
        slwi_os_replace(&failing);
        rc = whole_job(&t, &allocator, root, directory, &again);
        long left = calls_left;
        slwi_os_replace(NULL);
        if (left >= 0) {
            slt_ok(rc, &again);
            break; /* every call has had its turn */
        }
        if (rc != SLW_OK) {
            ck_assert_msg(rc == SLW_E_STORAGE || rc == SLW_E_IDENTITY_UNUSABLE || rc == SLW_E_COMPILE_FAILED,
                          "call %ld: %s %s", n, slw_code_name(rc), again.message);
        }
        ck_assert_int_eq(slt_open_descriptors(), descriptors);
        ck_assert(is_empty(root));
        rc = SLW_E_STORAGE; /* a failure that was got over (a clean-up) is not the end */
    }
    ck_assert_int_gt(n, 15);
    fixture_close(&t);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/host_faults");
    TCase *tcase = tcase_create("faults");
    tcase_set_timeout(tcase, 600);
    tcase_add_test(tcase, opening_a_toolchain);
    tcase_add_test(tcase, one_job);
    tcase_add_test(tcase, system_calls_of_the_stages);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
