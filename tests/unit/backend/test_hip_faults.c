/* The n-th allocation fails, and a system call of a stage fails: a typed error, nothing leaked, nothing left behind. */
#include <dirent.h>
#include <errno.h>

#include "hip_compile.h"
#include "os.h"

typedef struct countdown {
    long left; /* negative: never */
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

static hipc world;
static char clang[4096];

static void setup(void) {
    hipc_setup(&world);
}

static void teardown(void) {
    hipc_teardown(&world);
}

static slw_code open_counted(countdown *count, slw_memo *memo, slw_identity **identity, void **toolchain,
                             slw_error *err) {
    const slw_allocator counting = {count, count_allocate, count_reallocate, count_release};
    slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
    options.allocator = counting;
    options.memo = memo;
    const slw_code rc = slw_identity_create(&options, identity, err);
    if (rc != SLW_OK) return rc;
    slw_toolchain_request request;
    memset(&request, 0, sizeof request);
    request.size = sizeof request;
    request.allocator = counting;
    request.compiler = clang;
    request.memo = memo;
    request.identity = *identity;
    return slwi_hip_backend.toolchain_open(&request, toolchain, err);
}

static void open_with(long n, slw_memo *memo) {
    countdown count = {n, 0, 0};
    slw_error err = SLW_ERROR_INIT;
    slw_identity *identity = NULL;
    void *toolchain = NULL;
    const slw_code rc = open_counted(&count, memo, &identity, &toolchain, &err);
    /* The answer's memory is a convenience: a failure there only costs a question more. */
    ck_assert_msg(rc == SLW_E_NO_MEMORY || rc == SLW_OK, "allocation %ld: %s %s", n, slw_code_name(rc), err.message);
    ck_assert((rc == SLW_OK) == (toolchain != NULL));
    if (toolchain != NULL) slwi_hip_backend.toolchain_close(toolchain);
    slw_identity_release(&identity);
    ck_assert_msg(count.live == 0, "allocation %ld: %ld blocks leaked", n, count.live);
}

/* Hot in small steps and then larger ones, for most are those of the trees; cold where clang is asked. */
START_TEST(opening_a_toolchain) {
    if (!hipc_ready(&world, "opening_a_toolchain")) return;
    hipc_copy(clang, sizeof clang, slw_compiler_path(world.compiler));
    slw_compiler_close(&world.compiler);
    countdown all = {-1, 0, 0};
    slw_identity *identity = NULL;
    void *toolchain = NULL;
    slt_ok(open_counted(&all, world.memo, &identity, &toolchain, &world.err), &world.err);
    slwi_hip_backend.toolchain_close(toolchain);
    slw_identity_release(&identity);
    ck_assert_int_eq(all.live, 0);
    const int descriptors = slt_open_descriptors();
    for (long n = 0; n < 60; n++) open_with(n, world.memo);
    for (long n = 60; n < all.asked; n += all.asked / 12 + 1) open_with(n, world.memo);
    for (long n = 0; n < 400; n += n < 40 ? 2 : 23) open_with(n, NULL);
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
}
END_TEST

/* ---- one job ---- */

static const char text[] = "#include \"n.h\"\n__kernel void k(__global int *p) { p[0] = N; }\n";

static const char *fresh(const char *parent) {
    const char *directory = slt_path(parent, "build", NULL);
    slt_shell("rm -rf %s && mkdir %s", directory, directory);
    return directory;
}

static int entries_of(const char *directory) {
    DIR *dir = opendir(directory);
    int count = 0;
    ck_assert_ptr_nonnull(dir);
    while (readdir(dir) != NULL) count++;
    (void)closedir(dir);
    return count - 2;
}

typedef struct bench {
    void *toolchain;
    slw_identity *identity;
    const char *root;
    const char *temporary;
    const char *directory;
} bench;

static void open_bench(bench *b) {
    slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
    slw_toolchain_request request;
    memset(b, 0, sizeof *b);
    memset(&request, 0, sizeof request);
    hipc_copy(clang, sizeof clang, slw_compiler_path(world.compiler));
    options.memo = world.memo;
    slt_ok(slw_identity_create(&options, &b->identity, &world.err), &world.err);
    request.size = sizeof request;
    request.compiler = clang;
    request.memo = world.memo;
    request.identity = b->identity;
    slt_ok(slwi_hip_backend.toolchain_open(&request, &b->toolchain, &world.err), &world.err);
    b->root = slt_scratch();
    b->temporary = slt_scratch();
    slt_write_file(slt_path(b->root, "n.h", NULL), "#define N 4\n", 12, 0644);
}

static void close_bench(bench *b) {
    slwi_hip_backend.toolchain_close(b->toolchain);
    slw_identity_release(&b->identity);
}

static slw_code run_job(const bench *b, void *job, slw_error *err) {
    slw_stage_context context;
    slw_record *record = NULL;
    memset(&context, 0, sizeof context);
    context.size = sizeof context;
    context.directory = b->directory;
    context.deadline_ns = UINT64_MAX;
    context.temporary_root = b->temporary;
    context.source_text = (slw_bytes){text, sizeof text - 1};
    slw_code rc = slwi_hip_backend.job_source_record(job, &record, err);
    slw_record_release(&record);
    if (rc == SLW_OK) rc = slwi_hip_backend.job_option_record(job, &record, err);
    slw_record_release(&record);
    for (size_t i = 0; rc == SLW_OK && i < slwi_hip_backend.stage_count; i++)
        rc = slwi_hip_backend.job_run(job, i, &context, err);
    return rc == SLW_OK ? slwi_hip_backend.job_confirm(job, &context, err) : rc;
}

static slw_code whole_job(const bench *b, const slw_allocator *allocator, slw_error *err) {
    static const char *const flags[] = {"-O1", "-DX"};
    slw_source source = SLW_SOURCE_INIT;
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    slw_compile_request request;
    void *job = NULL;
    source.include_roots = &b->root;
    source.include_root_count = 1;
    options.target = "gfx90a:xnack-";
    options.flags = flags;
    options.flag_count = 2;
    memset(&request, 0, sizeof request);
    request.size = sizeof request;
    request.allocator = *allocator;
    request.source = &source;
    request.options = &options;
    request.source_text = (slw_bytes){text, sizeof text - 1};
    request.source_name = "k.cl";
    request.extension = "cl";
    request.identity = b->identity;
    slw_code rc = slwi_hip_backend.job_open(b->toolchain, &request, &job, err);
    if (rc != SLW_OK) return rc;
    rc = run_job(b, job, err);
    slwi_hip_backend.job_close(job);
    return rc;
}

START_TEST(one_job) {
    bench b;
    if (!hipc_ready(&world, "one_job")) return;
    open_bench(&b);
    const char *parent = slt_scratch();
    countdown all = {-1, 0, 0};
    const slw_allocator counting_all = {&all, count_allocate, count_reallocate, count_release};
    b.directory = fresh(parent);
    slt_ok(whole_job(&b, &counting_all, &world.err), &world.err);
    ck_assert_int_eq(all.live, 0);
    ck_assert_int_eq(entries_of(b.directory), 2);
    for (long n = 0; n < all.asked; n++) {
        countdown count = {n, 0, 0};
        const slw_allocator counting = {&count, count_allocate, count_reallocate, count_release};
        slw_error again = SLW_ERROR_INIT;
        b.directory = fresh(parent);
        const slw_code rc = whole_job(&b, &counting, &again);
        ck_assert_msg(rc == SLW_E_NO_MEMORY || rc == SLW_OK, "allocation %ld: %s %s", n, slw_code_name(rc),
                      again.message);
        ck_assert_msg(count.live == 0, "allocation %ld: %ld blocks leaked", n, count.live);
        ck_assert_int_eq(entries_of(b.temporary), 0);
        ck_assert_int_ne(access(slt_path(b.directory, ".slipway-work", NULL), F_OK), 0);
    }
    close_bench(&b);
}
END_TEST

/* ---- system calls ---- */

static slwi_os failing;
static long calls_left;
static int fail_with;

static int fails(void) {
    return calls_left >= 0 && calls_left-- == 0;
}

static int failing_openat(const slwi_os *os, int dirfd, const char *path, int flags, unsigned mode) {
    return fails() ? -fail_with : os->next->openat(os->next, dirfd, path, flags, mode);
}
static int failing_mkdirat(const slwi_os *os, int dirfd, const char *path, unsigned mode) {
    return fails() ? -fail_with : os->next->mkdirat(os->next, dirfd, path, mode);
}
static int failing_fchmod(const slwi_os *os, int fd, unsigned mode) {
    return fails() ? -fail_with : os->next->fchmod(os->next, fd, mode);
}

START_TEST(system_calls_of_a_job) {
    static const int numbers[] = {EIO, ENOSPC, EACCES, EMFILE};
    const slw_allocator heap = SLW_ALLOCATOR_INIT;
    bench b;
    if (!hipc_ready(&world, "system_calls_of_a_job")) return;
    open_bench(&b);
    const char *parent = slt_scratch();
    const int descriptors = slt_open_descriptors();
    failing = *slwi_os_real();
    failing.next = slwi_os_real();
    failing.openat = failing_openat;
    failing.mkdirat = failing_mkdirat;
    failing.fchmod = failing_fchmod;
    long n;
    int failures = 0;
    for (n = 0; n < 1000; n++) {
        slw_error again = SLW_ERROR_INIT;
        b.directory = fresh(parent);
        calls_left = n;
        fail_with = numbers[n % 4];
        slwi_os_replace(&failing);
        const slw_code rc = whole_job(&b, &heap, &again);
        const long left = calls_left;
        slwi_os_replace(NULL);
        ck_assert_int_eq(slt_open_descriptors(), descriptors);
        ck_assert_int_eq(entries_of(b.temporary), 0);
        if (left >= 0) {
            slt_ok(rc, &again);
            break; /* every call has had its turn */
        }
        failures += rc != SLW_OK;
        ck_assert_msg(rc == SLW_OK || rc == SLW_E_STORAGE || rc == SLW_E_IDENTITY_UNUSABLE ||
                          rc == SLW_E_COMPILE_FAILED,
                      "call %ld: %s %s", n, slw_code_name(rc), again.message);
    }
    ck_assert_int_gt(failures, 10);
    ck_assert_int_lt(n, 1000);
    close_bench(&b);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/hip_faults");
    TCase *tcase = tcase_create("faults");
    tcase_set_timeout(tcase, 600);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, opening_a_toolchain);
    tcase_add_test(tcase, one_job);
    tcase_add_test(tcase, system_calls_of_a_job);
    suite_add_tcase(suite, tcase);
    return hipc_run(suite);
}
