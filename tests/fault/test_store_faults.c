/* Every system call of a lookup, of a publication and of a materialization fails, once with each errno that it may
 * give, or is cut short. A lookup then gives one of its four verdicts; a request gives a usable build; nothing is
 * leaked or left behind, and no wrong hit follows. */
#include "store_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault_os.h"
#include "file.h"

enum { ERRNOS_MAX = 16 };

/* What a call may say when it fails, ended by 0. */
static const int *errnos_of(slt_call call) {
    static const int opening[ERRNOS_MAX] = {EIO,    ENOSPC, EDQUOT, EACCES, EPERM,   EMFILE, ENFILE,
                                            ENOMEM, EROFS,  ESTALE, ELOOP,  ENOTDIR, ENOENT, 0};
    static const int naming[ERRNOS_MAX] = {EIO, EACCES, ENOMEM, ESTALE, ELOOP, ENOTDIR, ENOENT, 0};
    static const int reading[ERRNOS_MAX] = {EIO, ESTALE, ENOMEM, 0};
    static const int writing[ERRNOS_MAX] = {EIO, ENOSPC, EDQUOT, EFBIG, ESTALE, 0};
    static const int syncing[ERRNOS_MAX] = {EIO, ENOSPC, EDQUOT, EROFS, 0};
    static const int removing[ERRNOS_MAX] = {EIO, EACCES, EPERM, EROFS, EBUSY, ENOENT, 0};
    static const int renaming[ERRNOS_MAX] = {EIO,   ENOSPC, EDQUOT,    EACCES, EPERM,  EROFS,  ESTALE,
                                             EXDEV, EEXIST, ENOTEMPTY, ENOSYS, EINVAL, ENOENT, 0};
    static const int locking[ERRNOS_MAX] = {EIO, ENOLCK, EOPNOTSUPP, ENOSYS, EWOULDBLOCK, EBADF, 0};
    static const int mapping[ERRNOS_MAX] = {ENOMEM, 0};
    static const int others[ERRNOS_MAX] = {EIO, EPERM, ENOSYS, 0};
    switch (call) {
    case SLT_OPENAT:
    case SLT_OPENAT_STRAIGHT:
    case SLT_MKDIRAT:
        return opening;
    case SLT_FSTAT:
    case SLT_FSTATAT:
    case SLT_READLINKAT:
    case SLT_REALPATH:
        return naming;
    case SLT_READ:
    case SLT_PREAD:
    case SLT_READDIR:
    case SLT_FSTATFS:
        return reading;
    case SLT_WRITE:
    case SLT_FTRUNCATE:
        return writing;
    case SLT_FSYNC:
    case SLT_CLOSE:
        return syncing;
    case SLT_UNLINKAT:
        return removing;
    case SLT_RENAME:
    case SLT_RENAME_NOREPLACE:
        return renaming;
    case SLT_LOCK:
        return locking;
    case SLT_MAP_ANONYMOUS:
    case SLT_MAP_PROTECT_READ:
        return mapping;
    default:
        return others;
    }
}

static const slk_file files[3] = {{"bin/tool", "#!/bin/sh\n", 10, 0755},
                                  {"kernel/source.pto", "generated code", 14, 0644},
                                  {"kernel_config.py", "KERNELS = []\n", 13, 0644}};

static void make_world(slk_world *world) {
    slk_world_make(world, SLW_DOMAIN_DEFAULT);
    world->build.files = files;
    world->build.file_count = 3;
}

/* The inventory alone: cheap enough for thousands of runs. */
static void expect_inventory(const slw_cached *entry, const char *what) {
    slw_file file;
    ck_assert_msg(slw_cached_file_count(entry) == 3, "%s: %zu files", what, slw_cached_file_count(entry));
    for (size_t i = 0; i < 3; i++) {
        slw_digest digest;
        slw_sha256((slw_bytes){files[i].data, files[i].size}, &digest);
        ck_assert(slw_cached_file(entry, i, &file));
        ck_assert_msg(strcmp(file.path.data, files[i].path) == 0 && file.size_bytes == files[i].size &&
                          memcmp(&file.sha256, &digest, sizeof digest) == 0 &&
                          (file.executable != 0) == (files[i].mode == 0755),
                      "%s: another %s", what, files[i].path);
    }
}

static void describe(const slt_fault *fault, char out[160]) {
    snprintf(out, 160, "%s %llu%s errno %d%s short %zu", slt_call_name(fault->call), (unsigned long long)fault->nth,
             fault->every ? " and on" : "", fault->error_number, fault->after ? " after" : "", fault->short_size);
}

/* Runs `each` for every call of `calls` (counted in a run without faults) with every errno, and cut short. */
typedef void (*each_fault)(void *context, const slt_fault *fault, const char *what);

/* Under a sanitizer every fifth fault: what is looked for there is how a path cleans up, not whether it exists. */
static unsigned long long stride(void) {
    return getenv("SLT_SANITIZER") != NULL ? 5 : 1;
}

static unsigned long long every_fault(const uint64_t calls[SLT_CALL_COUNT], each_fault each, void *context) {
    unsigned long long runs = 0;
    char what[160];
    for (int call = SLT_OPENAT; call <= SLT_POLL_READABLE; call++) {
        for (uint64_t nth = 1; nth <= calls[call]; nth++) {
            slt_fault fault = {.call = (slt_call)call, .nth = nth};
            const int *numbers = errnos_of(fault.call);
            for (int i = 0; numbers[i] != 0; i++, runs++) {
                if (runs % stride() != 0) continue;
                fault.error_number = numbers[i];
                fault.after = call == SLT_CLOSE; /* a close that says no has closed all the same */
                describe(&fault, what);
                each(context, &fault, what);
            }
            fault.error_number = 0;
            fault.after = 0;
            if (call == SLT_READ || call == SLT_PREAD || call == SLT_WRITE) {
                fault.short_size = 1;
                describe(&fault, what);
                each(context, &fault, what);
                runs++;
            }
        }
    }
    return runs;
}

static void take_counts(uint64_t calls[SLT_CALL_COUNT]) {
    for (int call = 0; call < SLT_CALL_COUNT; call++) calls[call] = slt_fault_os_count((slt_call)call);
}

/* ---- lookup ---- */

typedef struct lookup_case {
    slk_world world;
    slw_store *store;
    int stepwise; /* the kernel has no openat2, or may not use it */
    int descriptors;
    int hits;
    int storage;
} lookup_case;

static const slt_fault no_openat2 = {.call = SLT_OPENAT_STRAIGHT, .nth = 1, .every = 1, .error_number = EPERM};

/* What A7 allows for this errno anywhere on the way. */
static int allowed(slw_code code, int error_number) {
    if (code == SLW_OK || code == SLW_E_STORAGE) return 1;
    if (error_number == ENOMEM) return code == SLW_E_NO_MEMORY;
    if (error_number == ELOOP || error_number == ENOTDIR) return code == SLW_E_INVALID_ENTRY;
    if (error_number == ENOENT) return code == SLW_E_MISS || code == SLW_E_INVALID_ENTRY;
    return 0;
}

static void one_lookup(void *context, const slt_fault *fault, const char *what) {
    lookup_case *c = context;
    slw_error err = SLW_ERROR_INIT;
    slw_cached *entry = NULL;
    slt_fault_os_install(NULL);
    slt_fault_os_add(*fault);
    if (c->stepwise) slt_fault_os_add(no_openat2);
    const slw_code code = slw_store_lookup(c->store, c->world.key, c->world.spec, &entry, &err);
    const uint64_t fired = slt_fault_os_fired();
    slt_fault_os_remove();
    ck_assert_msg(fired > (uint64_t)c->stepwise, "%s: did not fire", what);
    ck_assert_msg((code == SLW_OK) == (entry != NULL), "%s: %s with out %s", what, slw_code_name(code),
                  entry != NULL ? "set" : "not set");
    ck_assert_msg(allowed(code, fault->error_number), "%s: %s, %s", what, slw_code_name(code), err.message);
    if (fault->short_size > 0) ck_assert_msg(code == SLW_OK, "%s: %s", what, slw_code_name(code));
    if (code == SLW_E_STORAGE) {
        ck_assert_msg(err.raw_code == fault->error_number, "%s: raw code %lld", what, (long long)err.raw_code);
        c->storage++;
    }
    if (entry != NULL) {
        expect_inventory(entry, what);
        slw_cached_discard(&entry);
        c->hits++;
    }
    ck_assert_msg(slt_open_descriptors() == c->descriptors, "%s: %d descriptors instead of %d", what,
                  slt_open_descriptors(), c->descriptors);
    ck_assert_msg(strcmp(slk_world_verdict(&c->world, c->store), "HIT") == 0, "%s: no hit afterwards", what);
}

static void fail_lookups(int verify, int stepwise) {
    lookup_case c;
    uint64_t calls[SLT_CALL_COUNT];
    memset(&c, 0, sizeof c);
    c.stepwise = stepwise;
    make_world(&c.world);
    slk_publish(&c.world);
    slw_store_options options = slk_options(&c.world);
    options.verify = verify;
    c.store = slk_open_options(&options);
    slk_expect_verdict(&c.world, c.store, "HIT");
    c.descriptors = slt_open_descriptors();
    slt_fault_os_install(NULL);
    if (stepwise) slt_fault_os_add(no_openat2);
    slk_expect_verdict(&c.world, c.store, "HIT");
    take_counts(calls);
    slt_fault_os_remove();
    ck_assert_uint_gt(calls[SLT_OPENAT], stepwise ? 6 : 1);
    if (stepwise) calls[SLT_OPENAT_STRAIGHT] = 0; /* has its fault already */
    ck_assert_uint_eq(calls[SLT_MKDIRAT] + calls[SLT_UNLINKAT] + calls[SLT_RENAME] + calls[SLT_WRITE] +
                          calls[SLT_LOCK] + calls[SLT_FSYNC] + calls[SLT_UTIME] + calls[SLT_FCHMOD],
                      0); /* a lookup writes nothing and takes no lock */
    const unsigned long long runs = every_fault(calls, one_lookup, &c);
    ck_assert_uint_gt(runs, 50);
    ck_assert_int_gt(c.storage, 5);
    slw_store_close(&c.store);
    slk_world_end(&c.world);
}

START_TEST(lookup_full_survives_every_failing_call) {
    fail_lookups(SLW_VERIFY_FULL, 0);
    fail_lookups(SLW_VERIFY_FULL, 1);
}
END_TEST

START_TEST(lookup_on_map_survives_every_failing_call) {
    fail_lookups(SLW_VERIFY_ON_MAP, 0);
    fail_lookups(SLW_VERIFY_ON_MAP, 1);
}
END_TEST

START_TEST(reads_of_one_byte_are_a_hit) {
    slk_world world;
    make_world(&world);
    slw_store *store = slk_open(&world);
    static const slt_call cut[3] = {SLT_READ, SLT_PREAD, SLT_WRITE};
    slt_fault_os_install(NULL);
    for (int i = 0; i < 3; i++) slt_fault_os_add((slt_fault){.call = cut[i], .nth = 1, .every = 1, .short_size = 1});
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slk_expect_verdict(&world, store, "HIT");
    slk_world_expect(&world, store, SLW_HIT, SLW_FAILURE_NONE);
    ck_assert_uint_gt(slt_fault_os_fired(), 50);
    slt_fault_os_remove();
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

/* ---- publication ---- */

typedef struct publish_case {
    slk_world world;
    int scratch_fd;
    int with_report;
    int hit; /* the entry is there already */
    unsigned dispositions[3];
    unsigned codes;
    unsigned runs;
} publish_case;

static void fresh_root(publish_case *c) {
    ck_assert_int_eq(slwi_remove_tree(slwi_os_real(), c->scratch_fd, "root"), 0);
    ck_assert_int_eq(slwi_remove_tree(slwi_os_real(), c->scratch_fd, "private"), 0);
    ck_assert_int_eq(mkdir(c->world.private_root, 0700), 0);
    if (c->hit) slk_publish(&c->world);
}

/* Whether the call that failed was one outside the root, where a build may rightly become impossible; a call without
   any path (memory, randomness, names) counts as such. Paths of slots are so long that the log has cut their head. */
static int was_private(const slt_fault *fault) {
    uint64_t seen = 0;
    for (size_t i = 0; i < slt_log_size(); i++) {
        const slt_log_entry entry = slt_log_at(i);
        if (entry.call == fault->call && ++seen == fault->nth)
            return strstr(entry.path, "/root") == NULL && strlen(entry.path) < sizeof entry.path - 1;
    }
    return 1;
}

static void expect_usable(const slk_result *result, publish_case *c, const char *what) {
    ck_assert_ptr_nonnull(result->entry);
    expect_inventory(result->entry, what);
    for (size_t i = 0; i < 3; i++) {
        size_t size = 0;
        char *data = slt_read_file(slt_path(slw_cached_directory(result->entry), files[i].path, NULL), &size);
        ck_assert_msg(size == files[i].size && memcmp(data, files[i].data, size) == 0, "%s: other bytes", what);
        free(data);
    }
    if (!c->with_report) return;
    c->dispositions[result->report.disposition]++;
    ck_assert_msg((result->report.disposition == SLW_PRIVATE) == (result->report.failure != SLW_FAILURE_NONE),
                  "%s: %s with failure %d", what, slw_disposition_name(result->report.disposition),
                  (int)result->report.failure);
    ck_assert_msg((result->report.disposition == SLW_PRIVATE) == (result->report.reason[0] != 0), "%s: reason \"%s\"",
                  what, result->report.reason);
}

/* After the fault: no wrong verdict, the next request works, and nothing of the publication is left. */
static void expect_recovery(publish_case *c, slw_store *store, const char *what) {
    slk_result result;
    const char *verdict = slk_world_verdict(&c->world, store);
    ck_assert_msg(strcmp(verdict, "HIT") == 0 || (strcmp(verdict, "MISS") == 0 && !c->hit), "%s: then %s", what,
                  verdict);
    slk_world_get(&c->world, store, &result);
    ck_assert_msg(result.code == SLW_OK && result.report.disposition == (verdict[0] == 'H' ? SLW_HIT : SLW_PUBLISHED),
                  "%s: the next request: %s, %s, %s", what, slw_code_name(result.code),
                  slw_disposition_name(result.report.disposition), result.report.reason);
    expect_inventory(result.entry, what);
    slk_result_release(&result);
    ck_assert_msg(strcmp(slk_world_verdict(&c->world, store), "HIT") == 0, "%s: no hit at the end", what);
    ck_assert_msg(slk_leftovers(c->world.root) == 0, "%s: staging is left after the next request", what);
}

/* Runs one request under the fault and gives what it gave; 1: the failing call was on the private side. */
static int request_under(publish_case *c, slw_store *store, const slt_fault *fault, slk_result *result,
                         const char *what) {
    const slw_error fresh_error = SLW_ERROR_INIT;
    const slw_build_report fresh_report = SLW_BUILD_REPORT_INIT;
    result->err = fresh_error;
    result->report = fresh_report;
    result->entry = NULL;
    slt_fault_os_install(NULL);
    slt_fault_os_add(*fault);
    const uint64_t begin_ns = slwi_os_real()->now_ns(slwi_os_real());
    result->code = slw_store_get_or_build(store, c->world.key, c->world.spec, &c->world.builder,
                                          c->with_report ? &result->report : NULL, &result->entry, &result->err);
    const int private_side = was_private(fault);
    const uint64_t fired = slt_fault_os_fired();
    if (fired == 0) slt_log_print();
    slt_fault_os_remove();
    ck_assert_msg(fired > 0, "%s: did not fire", what);
    ck_assert_msg(slwi_os_real()->now_ns(slwi_os_real()) - begin_ns < 30000000000u,
                  "%s: waits for the lock's deadline instead of saying no", what);
    c->runs++;
    return private_side;
}

static void one_publication(void *context, const slt_fault *fault, const char *what) {
    publish_case *c = context;
    fresh_root(c);
    slw_store *store = slk_open(&c->world);
    if (c->hit) slk_expect_verdict(&c->world, store, "HIT");
    const int descriptors = slt_open_descriptors();
    slk_result result;
    const int private_side = request_under(c, store, fault, &result, what);
    if (result.code == SLW_OK) {
        expect_usable(&result, c, what);
        if (fault->short_size > 0 && c->with_report)
            ck_assert_msg(result.report.disposition == (c->hit ? SLW_HIT : SLW_PUBLISHED), "%s: %s", what,
                          result.report.reason);
    } else {
        c->codes++;
        ck_assert_msg(private_side, "%s: %s though a private build was possible: %s", what, slw_code_name(result.code),
                      result.err.message);
        ck_assert_msg(result.code == SLW_E_STORAGE || result.code == SLW_E_INVALID_SOURCE ||
                          (result.code == SLW_E_NO_MEMORY && fault->error_number == ENOMEM),
                      "%s: %s, %s", what, slw_code_name(result.code), result.err.message);
        ck_assert_ptr_null(result.entry);
        ck_assert_ptr_null(result.report.value);
        ck_assert_ptr_null(result.report.private_directory);
    }
    slk_result_release(&result);
    ck_assert_msg(slt_open_descriptors() == descriptors, "%s: %d descriptors instead of %d", what,
                  slt_open_descriptors(), descriptors);
    ck_assert_msg(slk_leftovers(c->world.root) == 0, "%s: staging is left", what);
    if (c->with_report || !private_side)
        ck_assert_msg(slk_names(c->world.private_root) == 0 || (private_side && result.code != SLW_OK),
                      "%s: a private directory is left", what);
    expect_recovery(c, store, what);
    slw_store_close(&store);
}

static void publish_case_make(publish_case *c, uint64_t calls[SLT_CALL_COUNT], int with_report, int hit) {
    memset(c, 0, sizeof *c);
    make_world(&c->world);
    c->with_report = with_report;
    c->hit = hit;
    c->scratch_fd = open(c->world.scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(c->scratch_fd, 0);
    fresh_root(c);
    slw_store *store = slk_open(&c->world);
    slk_result result;
    if (hit) slk_expect_verdict(&c->world, store, "HIT"); /* as one_publication does: the store has its memory then */
    slt_fault_os_install(NULL);
    slk_world_get(&c->world, store, &result);
    if (!with_report) slk_result_release(&result); /* the removal of the private directory is part of the call then */
    take_counts(calls);
    slt_fault_os_remove();
    if (with_report) slk_result_release(&result);
    slw_store_close(&store);
}

static void publish_case_end(publish_case *c) {
    close(c->scratch_fd);
    slk_world_end(&c->world);
}

START_TEST(publication_survives_every_failing_call) {
    publish_case c;
    uint64_t calls[SLT_CALL_COUNT];
    publish_case_make(&c, calls, _i == 0, 0);
    ck_assert_uint_ge(calls[SLT_FSYNC], 5);
    ck_assert_uint_eq(calls[SLT_RENAME_NOREPLACE], 1);
    (void)every_fault(calls, one_publication, &c);
    ck_assert_uint_gt(c.runs, 100);
    if (_i == 0) {
        ck_assert_uint_gt(c.dispositions[SLW_PRIVATE], 20);
        ck_assert_uint_gt(c.dispositions[SLW_PUBLISHED], 5);
    }
    publish_case_end(&c);
}
END_TEST

START_TEST(a_request_for_a_hit_survives_every_failing_call) {
    publish_case c;
    uint64_t calls[SLT_CALL_COUNT];
    publish_case_make(&c, calls, 1, 1);
    ck_assert_uint_eq(calls[SLT_RENAME_NOREPLACE] + calls[SLT_FSYNC], 0);
    (void)every_fault(calls, one_publication, &c);
    ck_assert_uint_gt(c.runs, 20);
    ck_assert_uint_gt(c.dispositions[SLW_HIT], 2);
    publish_case_end(&c);
}
END_TEST

/* A rename, a directory or a file that was made though the call said no. */
START_TEST(publication_survives_calls_that_fail_though_done) {
    static const slt_call done[6] = {SLT_RENAME_NOREPLACE, SLT_MKDIRAT, SLT_FSYNC, SLT_WRITE, SLT_UNLINKAT, SLT_FCHMOD};
    publish_case c;
    uint64_t calls[SLT_CALL_COUNT];
    char what[160];
    publish_case_make(&c, calls, 1, 0);
    for (int i = 0; i < 6; i++) {
        const int *numbers = errnos_of(done[i]);
        for (uint64_t nth = 1; nth <= calls[done[i]]; nth++) {
            for (int j = 0; numbers[j] != 0; j++) {
                const slt_fault fault = {.call = done[i], .nth = nth, .error_number = numbers[j], .after = 1};
                describe(&fault, what);
                one_publication(&c, &fault, what);
            }
        }
    }
    ck_assert_uint_gt(c.runs, 50);
    publish_case_end(&c);
}
END_TEST

/* The disk is full, or the device gone, from some call on and for good: the clean-up fails as well. */
START_TEST(publication_survives_failures_that_last) {
    static const slt_call lasting[] = {
        SLT_OPENAT,  SLT_WRITE,   SLT_FSYNC, SLT_MKDIRAT, SLT_UNLINKAT,         SLT_FCHMOD,   SLT_FSTAT,
        SLT_FSTATAT, SLT_READDIR, SLT_PREAD, SLT_READ,    SLT_RENAME_NOREPLACE, SLT_FTRUNCATE};
    publish_case c;
    uint64_t calls[SLT_CALL_COUNT];
    char what[160];
    publish_case_make(&c, calls, 1, 0);
    for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++) {
        for (uint64_t nth = 1; nth <= calls[lasting[i]]; nth++) {
            const slt_fault fault = {
                .call = lasting[i], .nth = nth, .every = 1, .error_number = nth % 2 == 0 ? EIO : ENOSPC};
            describe(&fault, what);
            fresh_root(&c);
            slw_store *store = slk_open(&c.world);
            const int descriptors = slt_open_descriptors();
            slk_result result;
            (void)request_under(&c, store, &fault, &result, what);
            if (result.code == SLW_OK) expect_usable(&result, &c, what);
            ck_assert_msg((result.code == SLW_OK) == (result.entry != NULL), "%s", what);
            slk_result_release(&result);
            ck_assert_msg(slt_open_descriptors() == descriptors, "%s: descriptors", what);
            expect_recovery(&c, store, what);
            slw_store_close(&store);
        }
    }
    ck_assert_uint_gt(c.runs, 50);
    publish_case_end(&c);
}
END_TEST

/* ---- materialize ---- */

typedef struct copy_case {
    publish_case base;
    slw_store *store;
    slw_cached *entry;
    int descriptors;
    unsigned done;
    unsigned refused;
} copy_case;

static slw_code copy_out(copy_case *c, slw_error *err) {
    ck_assert_int_eq(slwi_remove_tree(slwi_os_real(), c->base.scratch_fd, "copy"), 0);
    return slw_cached_materialize(c->entry, slt_path(c->base.world.scratch, "copy", NULL), err);
}

static void one_copy(void *context, const slt_fault *fault, const char *what) {
    copy_case *c = context;
    slw_error err = SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_remove_tree(slwi_os_real(), c->base.scratch_fd, "copy"), 0);
    slt_fault_os_install(NULL);
    slt_fault_os_add(*fault);
    const slw_code code = slw_cached_materialize(c->entry, slt_path(c->base.world.scratch, "copy", NULL), &err);
    const uint64_t fired = slt_fault_os_fired();
    slt_fault_os_remove();
    ck_assert_msg(fired > 0, "%s: did not fire", what);
    ck_assert_msg(code == SLW_OK || code == SLW_E_STORAGE || code == SLW_E_INVALID_ENTRY || code == SLW_E_GONE ||
                      code == SLW_E_USAGE || code == SLW_E_NO_MEMORY,
                  "%s: %s", what, slw_code_name(code));
    if (code == SLW_OK) {
        c->done++;
        for (size_t i = 0; i < 3; i++) {
            size_t size = 0;
            char *data = slt_read_file(slt_path(c->base.world.scratch, "copy", files[i].path, NULL), &size);
            ck_assert_msg(size == files[i].size && memcmp(data, files[i].data, size) == 0, "%s: other bytes", what);
            free(data);
        }
    } else {
        c->refused++;
        ck_assert_msg(err.code == code && err.message[0] != 0, "%s", what);
    }
    if (fault->short_size > 0) ck_assert_msg(code == SLW_OK, "%s: %s", what, slw_code_name(code));
    ck_assert_msg(slt_open_descriptors() == c->descriptors, "%s: descriptors", what);
    slt_ok(copy_out(c, &err), &err);
}

START_TEST(materialize_survives_every_failing_call) {
    copy_case c;
    uint64_t calls[SLT_CALL_COUNT];
    slw_error err = SLW_ERROR_INIT;
    memset(&c, 0, sizeof c);
    publish_case_make(&c.base, calls, 1, 0);
    c.store = slk_open(&c.base.world);
    slt_ok(slw_store_lookup(c.store, c.base.world.key, c.base.world.spec, &c.entry, &err), &err);
    c.descriptors = slt_open_descriptors();
    slt_fault_os_install(NULL);
    slt_ok(copy_out(&c, &err), &err);
    take_counts(calls);
    slt_fault_os_remove();
    (void)every_fault(calls, one_copy, &c);
    ck_assert_uint_gt(c.refused, 10);
    slk_expect_verdict(&c.base.world, c.store, "HIT");
    slw_cached_discard(&c.entry);
    slw_store_close(&c.store);
    publish_case_end(&c.base);
}
END_TEST

int main(void) {
    /* Thousands of publications: on a memory file system where there is one. The other suites run on an ordinary
       one. */
    slk_use_memory();
    Suite *suite = suite_create("store faults");
    const struct {
        const char *name;
        const TTest *test;
        int cases;
    } tests[] = {
        {"lookup full", lookup_full_survives_every_failing_call, 1},
        {"lookup on map", lookup_on_map_survives_every_failing_call, 1},
        {"one byte", reads_of_one_byte_are_a_hit, 1},
        {"publication", publication_survives_every_failing_call, 2},
        {"hit", a_request_for_a_hit_survives_every_failing_call, 1},
        {"though done", publication_survives_calls_that_fail_though_done, 1},
        {"lasting", publication_survives_failures_that_last, 1},
        {"materialize", materialize_survives_every_failing_call, 1},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) { /* each selectable by CK_RUN_CASE */
        TCase *one = tcase_create(tests[i].name);
        tcase_set_timeout(one, 600);
        tcase_add_loop_test(one, tests[i].test, 0, tests[i].cases);
        suite_add_tcase(suite, one);
    }
    return slt_run(suite, NULL);
}
