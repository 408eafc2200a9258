/* Audits of hits: what they find, what they say of it, and that they never cost the hit. */
#include "kit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "audit.h"
#include "clock.h"
#include "fail.h"
#include "fault_os.h"
#include "json.h"
#include "os.h"

static const char kernel_text[] = "#include <slipway/host_kernel.h>\n"
                                  "SLW_HOST_KERNEL(scale, SLW_HOST_PARAM(float *, values));\n"
                                  "void scale(const slw_host_block *block, void *const *args) {\n"
                                  "    SLW_HOST_ARG(float *, args, 0)[block->index[0]] *= FACTOR;\n"
                                  "}\n";

/* What the stages of the tests' backend do beside what the host's do. */
static struct {
    int noise_stage;         /* this one appends eight bytes that it never made before; -1: none */
    const char *undeclared;  /* the first stage reads its source from here, which no key knows */
    const char *replacement; /* no compiler: the outputs come from this directory */
    slw_code fails;          /* not OK: the first stage ends so */
    slw_code not_confirmed;
    slw_cancel *cancels;      /* the first stage asks for it, and goes on */
    uint64_t sleeps_ns;       /* the first stage, before all */
    const char *removes_slot; /* the last stage does */
} noisy;
static atomic_uint runs;

static const slw_backend_vtable *host;
static slw_backend_vtable backend;

static char memo_directory[256];
static kit world;
static slw_memo *memo;
static slw_metrics *metrics;
static slw_compiler *compiler;
static slw_build_report report;
static char words[65536];

/* ---- the backend ------------------------------------------------------------------------------------------------- */

static void append_noise(const char *path) {
    const uint64_t noise = atomic_load(&runs);
    FILE *file = fopen(path, "ab");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(&noise, 1, sizeof noise, file), sizeof noise);
    ck_assert_int_eq(fclose(file), 0);
}

static slw_code first_stage(const slw_stage_context *context, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    if (noisy.sleeps_ns != 0) os->sleep_ns(os, noisy.sleeps_ns);
    if (noisy.cancels != NULL) slw_cancel_request(noisy.cancels);
    if (noisy.fails == SLW_OK) return slwi_check_wait(context->deadline_ns, context->cancel, "the stage", err);
    slwi_error_diagnostics(err, "the compiler's words", 20);
    return slwi_fail(err, noisy.fails, "MADE_UP", "the stage fails");
}

static slw_code job_run(void *job, size_t index, const slw_stage_context *context, slw_error *err) {
    slw_stage_context own = *context;
    char *text = NULL;
    char output[1024]; /* slt_path is of one thread */
    (void)snprintf(output, sizeof output, "%s/%s", context->directory, backend.stages[index].payload);
    atomic_fetch_add(&runs, 1);
    slw_code rc = index == 0 ? first_stage(context, err) : SLW_OK;
    if (rc != SLW_OK) return rc;
    if (index == 0 && noisy.undeclared != NULL) {
        text = slt_read_file(noisy.undeclared, &own.source_text.size);
        own.source_text.data = text;
    }
    if (noisy.replacement != NULL)
        slt_shell("cp '%s/%s' '%s'", noisy.replacement, backend.stages[index].payload, output);
    else
        rc = host->job_run(job, index, &own, err);
    free(text);
    if (rc == SLW_OK && (int)index == noisy.noise_stage) append_noise(output);
    if (rc == SLW_OK && index == 1 && noisy.removes_slot != NULL) slt_shell("rm -rf '%s'", noisy.removes_slot);
    return rc;
}

static slw_code job_confirm(void *job, const slw_stage_context *context, slw_error *err) {
    if (noisy.not_confirmed != SLW_OK) {
        slwi_error_path(err, "/outside.h");
        return slwi_fail(err, noisy.not_confirmed, "HEADER_OUTSIDE", "made up");
    }
    return noisy.replacement != NULL ? SLW_OK : host->job_confirm(job, context, err);
}

/* ---- what was told ----------------------------------------------------------------------------------------------- */

static struct {
    unsigned count;
    unsigned by_kind[4];
    slw_event event;
    slw_error error; /* of the last; code -1: there was none */
    char outcome[16];
    char key[SLW_DIGEST_TEXT_SIZE];
    char words[64];
    uint64_t first_launch_ns;
    int after_compile; /* 1: the compile had been told */
} told;
static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;

static void listen_audits(void *context, const slw_event *event) {
    static const char *const outcomes[4] = {"SAME", "DEBUG_ONLY", "DIFFERS", "FAILED"};
    (void)context;
    (void)pthread_mutex_lock(&told_lock);
    if (event->phase == SLW_PHASE_COMPILE) told.after_compile = 1;
    if (event->phase == SLW_PHASE_FIRST_LAUNCH) told.first_launch_ns = event->duration_ns;
    if (event->phase == SLW_PHASE_AUDIT) {
        told.count++;
        told.event = *event;
        for (int i = 0; i < 4; i++) told.by_kind[i] += strcmp(event->outcome, outcomes[i]) == 0;
        kit_copy(told.outcome, sizeof told.outcome, event->outcome);
        kit_copy(told.key, sizeof told.key, event->key);
        told.error.code = -1;
        told.words[0] = '\0';
        if (event->error != NULL) {
            told.error = *event->error;
            kit_copy(told.words, sizeof told.words, event->error->diagnostics);
        }
    }
    (void)pthread_mutex_unlock(&told_lock);
}

/* ---- the world --------------------------------------------------------------------------------------------------- */

static void open_compiler(uint32_t audits_per_million) {
    slw_compiler_options options = SLW_COMPILER_OPTIONS_INIT;
    options.allocator = world.heap.allocator;
    options.store = world.store;
    options.compiler = "/usr/bin/gcc";
    options.memo = memo;
    options.metrics = metrics;
    options.backend_impl = &backend;
    options.audits_per_million = audits_per_million;
    slt_ok(slw_compiler_open(&options, &compiler, &world.err), &world.err);
}

static void setup(void) {
    const slw_build_report fresh = SLW_BUILD_REPORT_INIT;
    memset(&world, 0, sizeof world);
    memset(&told, 0, sizeof told);
    memset(&noisy, 0, sizeof noisy);
    noisy.noise_stage = -1;
    kit_open(&world);
    world.err.diagnostics = words;
    world.err.diagnostics_capacity = sizeof words;
    report = fresh;
    host = slw_backend_find("host");
    backend = *host;
    backend.job_run = job_run;
    backend.job_confirm = job_confirm;
    slw_metrics_options metrics_options = SLW_METRICS_OPTIONS_INIT;
    metrics_options.allocator = world.heap.allocator;
    metrics_options.listener = listen_audits;
    slt_ok(slw_metrics_create(&metrics_options, &metrics, &world.err), &world.err);
    slw_memo_options options = SLW_MEMO_OPTIONS_INIT;
    options.directory = memo_directory;
    slt_ok(slw_memo_open(&options, &memo, &world.err), &world.err);
    open_compiler(0);
}

static void teardown(void) {
    slw_build_report_release(&report);
    slw_compiler_close(&compiler);
    slw_memo_close(&memo);
    slw_metrics_release(&metrics);
    kit_close(&world);
}

static slw_source source_of(const char *text) {
    slw_source source = SLW_SOURCE_INIT;
    source.text = (slw_bytes){text, strlen(text)};
    source.name = "kernel.c";
    return source;
}

static slw_cached *compile(const slw_compile_options *options, slw_disposition disposition) {
    static const char *const flags[1] = {"-DFACTOR=3.0f"};
    slw_compile_options own = SLW_COMPILE_OPTIONS_INIT;
    if (options != NULL) own = *options;
    own.flags = flags;
    own.flag_count = 1;
    const slw_source source = source_of(kernel_text);
    slw_cached *cached = NULL;
    slw_build_report_release(&report);
    const slw_code rc = slw_compile(compiler, &source, &own, &report, &cached, &world.err);
    ck_assert_msg(rc == SLW_OK, "%s %s\n%s", slw_code_name(rc), world.err.message, words);
    ck_assert_msg(report.disposition == disposition, "%s: %s", slw_disposition_name(report.disposition), report.reason);
    ck_assert_int_eq(world.err.code, SLW_OK);
    ck_assert_str_eq(world.err.message, "");
    return cached;
}

static void publish(void) {
    slw_cached *cached = compile(NULL, SLW_PUBLISHED);
    slw_cached_discard(&cached);
    slw_build_report_release(&report); /* it owns the build's directory */
    ck_assert_uint_eq(told.count, 0);
}

static void nothing_left(void) {
    slt_shell("test -z \"$(ls -A '%s')\"", world.private_root);
    slt_shell("test -z \"$(find '%s' -name '.tmp.*' -o -name '.trash.*')\"", world.root);
}

/* A hit with an audit; everything that holds of each. */
static slw_cached *audited(const slw_compile_options *more, const char *outcome, slw_code code) {
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    if (more != NULL) options = *more;
    options.audit = 1;
    const unsigned before = told.count;
    told.after_compile = 0;
    slw_cached *cached = compile(&options, SLW_HIT);
    ck_assert_ptr_nonnull(cached);
    ck_assert_int_eq(slw_cached_is_private(cached), 0);
    ck_assert_uint_eq(told.count, before + 1);
    ck_assert_msg(strcmp(told.outcome, outcome) == 0, "%s: %s %s", told.outcome, told.error.message, told.words);
    ck_assert_int_eq(told.event.code, code);
    ck_assert_int_eq(told.after_compile, 1);
    ck_assert_str_eq(told.event.backend, "host");
    ck_assert_str_eq(told.key, slw_key_digest(slw_cached_key(cached)));
    ck_assert_uint_gt(told.event.duration_ns, 0);
    if (told.error.code >= 0) ck_assert_str_eq(told.error.phase, "audit");
    nothing_left();
    return cached;
}

static uint64_t size_of(slw_cached *cached, const char *name) {
    slw_file file;
    for (size_t i = 0; slw_cached_file(cached, i, &file); i++)
        if (strcmp(file.path.data, name) == 0) return file.size_bytes;
    ck_abort_msg("no %s", name);
    return 0;
}

/* ---- what an audit finds ----------------------------------------------------------------------------------------- */

START_TEST(what_is_built_again_the_same) {
    publish();
    slw_cached *cached = compile(NULL, SLW_HIT);
    ck_assert_uint_eq(told.count, 0); /* nobody asked */
    slw_cached_discard(&cached);
    const unsigned before = atomic_load(&runs);
    cached = audited(NULL, "SAME", SLW_OK);
    ck_assert_int_eq(told.error.code, -1);
    ck_assert_uint_eq(atomic_load(&runs), before + 2);
    ck_assert_uint_eq(told.event.bytes, slw_cached_size_bytes(cached));
    ck_assert_ptr_null(report.private_directory);
    slw_cached_discard(&cached);
    /* What is built, or compiled always, is no hit. */
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.audit = options.always_compile = 1;
    cached = compile(&options, SLW_PRIVATE);
    ck_assert_uint_eq(told.count, 1);
    slw_cached_discard(&cached);
}
END_TEST

START_TEST(a_stage_that_is_not_deterministic) {
    noisy.noise_stage = 0;
    publish();
    slw_cached *cached = audited(NULL, "DIFFERS", SLW_E_INVALID_ENTRY);
    const uint64_t size = size_of(cached, "kernel.o");
    ck_assert_str_eq(told.error.reason, "NOT_REPRODUCED");
    ck_assert_str_eq(told.error.subject, "kernel.o");
    ck_assert_uint_eq(told.error.offset_bytes, size - 8); /* a counter, little-endian */
    ck_assert_uint_eq(told.error.required, size);
    ck_assert_uint_eq(told.error.limit, size);
    ck_assert_str_eq(told.error.unit, "bytes");
    ck_assert_ptr_nonnull(told.error.hint);
    slw_cached_discard(&cached);
    /* The second stage's noise: its payload is the first that differs. */
    noisy.noise_stage = 1;
    cached = audited(NULL, "DIFFERS", SLW_E_INVALID_ENTRY);
    ck_assert_str_eq(told.error.subject, "kernel.o"); /* the entry's has noise, this one's has none */
    ck_assert_uint_eq(told.error.required, size - 8);
    ck_assert_uint_eq(told.error.offset_bytes, size - 8);
    slw_cached_discard(&cached);
}
END_TEST

START_TEST(the_first_is_that_of_the_first_stage) {
    noisy.noise_stage = 1;
    publish();
    slw_cached *cached = audited(NULL, "DIFFERS", SLW_E_INVALID_ENTRY);
    ck_assert_str_eq(told.error.subject, "kernel.so");
    slw_cached_discard(&cached);
    slw_text text = SLW_TEXT_INIT;
    slt_ok(slw_metrics_snapshot(metrics, &text, &world.err), &world.err);
    /* Counted under its own phase; the rebuild's stages are nobody's lowering. */
    ck_assert_ptr_nonnull(strstr(text.data, "\"code\":\"INVALID_ENTRY\",\"count\":1"));
    ck_assert_ptr_nonnull(strstr(text.data, "\"DIFFERS\":1"));
    ck_assert_ptr_nonnull(strstr(text.data, "\"phase\":\"audit\""));
    slwi_json_document *document = NULL;
    slt_ok(slwi_json_parse(NULL, (slw_bytes){text.data, text.size}, NULL, &document, &world.err), &world.err);
    const slwi_json *lowering = slwi_json_get(slwi_json_root(document), "lowering");
    for (size_t i = 0; i < slwi_json_length(lowering); i++) {
        uint64_t count = 0;
        ck_assert_int_eq(slwi_json_u64(slwi_json_get(slwi_json_item(lowering, i), "count"), &count), 1);
        ck_assert_uint_eq(count, 1);
    }
    slwi_json_free(&document);
    slw_text_release(&text);
}
END_TEST

static const char *write_named(const char *name, const char *text) {
    const char *path = slt_path(world.scratch, name, NULL);
    slt_write_file(path, text, strlen(text), 0644);
    return path;
}

#define OF_FACTOR(factor)                                                                                              \
    "#include <slipway/host_kernel.h>\nSLW_HOST_KERNEL(scale, SLW_HOST_PARAM(float *, values));\n"                     \
    "void scale(const slw_host_block *b, void *const *a) { SLW_HOST_ARG(float *, a, 0)[b->index[0]] *= " factor        \
    "; }\n"

START_TEST(an_input_that_the_key_does_not_hold) {
    noisy.undeclared = write_named("undeclared.c", OF_FACTOR("3.0f"));
    publish();
    slw_cached *cached = audited(NULL, "SAME", SLW_OK);
    slw_cached_discard(&cached);
    (void)write_named("undeclared.c", OF_FACTOR("5.0f"));
    cached = compile(NULL, SLW_HIT); /* the wrong kernel, and nobody notices */
    slw_cached_discard(&cached);
    cached = audited(NULL, "DIFFERS", SLW_E_INVALID_ENTRY);
    ck_assert_str_eq(told.error.subject, "kernel.o");
    ck_assert_msg(strstr(told.error.message, "in the section .") != NULL, "%s", told.error.message);
    slw_cached_discard(&cached);
    (void)write_named("undeclared.c", OF_FACTOR("3.0f"));
    cached = audited(NULL, "SAME", SLW_OK); /* and the entry is as it was */
    slw_cached_discard(&cached);
}
END_TEST

/* One kernel built with -g in two directories: two real pairs of files that differ in what debuggers read. */
static const char *build_in(const char *name, const char *factor) {
    const char *directory = slt_path(world.scratch, name, NULL);
    slt_shell("mkdir -p '%s'", directory);
    slt_write_file(slt_path(directory, "k.c", NULL), kernel_text, strlen(kernel_text), 0644);
    slt_shell("top=$PWD; cd '%s' && /usr/bin/gcc -g -O1 -fPIC -DFACTOR=%s -I \"$top/include\" -c k.c -o kernel.o && "
              "/usr/bin/gcc -shared -Wl,--build-id=sha1 kernel.o -o kernel.so",
              directory, factor);
    return directory;
}

START_TEST(debug_information_alone_is_said_to_be_that) {
    const char *near = build_in("near", "3.0f");
    const char *far = build_in("a-directory-that-lies-far-away", "3.0f");
    const char *other = build_in("neat", "5.0f");
    slt_shell("! cmp -s '%s/kernel.o' '%s/kernel.o' && ! cmp -s '%s/kernel.so' '%s/kernel.so'", near, far, near, far);
    noisy.replacement = near;
    publish();
    slw_cached *cached = audited(NULL, "SAME", SLW_OK);
    slw_cached_discard(&cached);
    noisy.replacement = far;
    cached = audited(NULL, "DEBUG_ONLY", SLW_OK);
    ck_assert_int_eq(told.error.code, SLW_OK);
    ck_assert_str_eq(told.error.reason, "DEBUG_ONLY");
    ck_assert_str_eq(told.error.subject, "kernel.o");
    ck_assert_uint_eq(told.error.limit, size_of(cached, "kernel.o"));
    ck_assert_uint_ne(told.error.required, told.error.limit); /* the longer path */
    ck_assert_ptr_nonnull(strstr(told.error.message, "debug sections alone"));
    slw_cached_discard(&cached);
    /* No error: it is counted as what it is. */
    slw_text text = SLW_TEXT_INIT;
    slt_ok(slw_metrics_snapshot(metrics, &text, &world.err), &world.err);
    ck_assert_ptr_nonnull(strstr(text.data, "\"DEBUG_ONLY\":1"));
    ck_assert_ptr_nonnull(strstr(text.data, "\"errors\":[]"));
    slw_text_release(&text);
    /* With code that differs as well it is not that. */
    noisy.replacement = other;
    cached = audited(NULL, "DIFFERS", SLW_E_INVALID_ENTRY);
    ck_assert_str_eq(told.error.subject, "kernel.o");
    slw_cached_discard(&cached);
}
END_TEST

/* Debug information in the first stage's payload, and more than that in the second's: the graver is told. */
START_TEST(the_graver_difference_is_told) {
    const char *near = build_in("near", "3.0f");
    const char *mixed = build_in("a-directory-that-lies-far-away", "3.0f");
    const char *other = build_in("neat", "5.0f");
    slt_shell("cp '%s/kernel.so' '%s/kernel.so'", other, mixed);
    noisy.replacement = near;
    publish();
    noisy.replacement = mixed;
    slw_cached *cached = audited(NULL, "DIFFERS", SLW_E_INVALID_ENTRY);
    ck_assert_str_eq(told.error.subject, "kernel.so");
    slw_cached_discard(&cached);
}
END_TEST

static const char *elsewhere(const void *toolchain) {
    (void)toolchain;
    return "/elsewhere/bin/gcc";
}

static slw_code other_contract(const slw_allocator *allocator, slw_bytes binary, const char *name, const char *target,
                               slw_contract **out, slw_error *err) {
    const slw_code rc = host->read_contract(allocator, binary, name, target, out, err);
    if (rc == SLW_OK) (*out)->reader_revision++;
    return rc;
}

/* slipway.json: where the tools lay may rightly differ, what the binary is said to be may not. */
START_TEST(what_the_document_says) {
    publish();
    backend.toolchain_path = elsewhere;
    slw_cached *cached = audited(NULL, "SAME", SLW_OK);
    slw_cached_discard(&cached);
    backend.read_contract = other_contract;
    cached = audited(NULL, "DIFFERS", SLW_E_INVALID_ENTRY);
    ck_assert_str_eq(told.error.subject, "slipway.json");
    slw_cached_discard(&cached);
}
END_TEST

/* ---- what ends an audit ------------------------------------------------------------------------------------------ */

START_TEST(a_rebuild_that_fails) {
    publish();
    noisy.fails = SLW_E_COMPILE_FAILED;
    slw_cached *cached = audited(NULL, "FAILED", SLW_E_COMPILE_FAILED);
    ck_assert_str_eq(told.error.reason, "MADE_UP");
    ck_assert_str_eq(told.words, "the compiler's words");
    slw_cached_discard(&cached);
    noisy.fails = SLW_E_BUILDER_FIRST + 7;
    cached = audited(NULL, "FAILED", SLW_E_BUILDER_FIRST + 7);
    slw_cached_discard(&cached);
}
END_TEST

/* The toolchain is another by now, or a header lies outside: to compare would say nothing. */
START_TEST(a_rebuild_that_is_not_confirmed) {
    publish();
    noisy.not_confirmed = SLW_E_IDENTITY_UNUSABLE;
    slw_cached *cached = audited(NULL, "FAILED", SLW_E_IDENTITY_UNUSABLE);
    ck_assert_str_eq(told.error.reason, "HEADER_OUTSIDE");
    ck_assert_str_eq(told.error.path, "/outside.h");
    slw_cached_discard(&cached);
}
END_TEST

START_TEST(cancelled_and_late) {
    publish();
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    slt_ok(slw_cancel_create(NULL, &options.cancel, &world.err), &world.err);
    noisy.cancels = options.cancel; /* while it is being built */
    slw_cached *cached = audited(&options, "FAILED", SLW_E_CANCELLED);
    slw_cached_discard(&cached);
    noisy.cancels = NULL; /* asked for already: nothing is begun */
    const unsigned before = atomic_load(&runs);
    cached = audited(&options, "FAILED", SLW_E_CANCELLED);
    ck_assert_uint_eq(atomic_load(&runs), before);
    slw_cached_discard(&cached);
    slw_cancel_release(&options.cancel);
    options.timeout_ns = 20000000;
    noisy.sleeps_ns = 60000000;
    cached = audited(&options, "FAILED", SLW_E_TIMEOUT);
    slw_cached_discard(&cached);
}
END_TEST

START_TEST(an_entry_that_goes_away_meanwhile) {
    noisy.noise_stage = 0;
    publish();
    slw_cached *cached = compile(NULL, SLW_HIT);
    char slot[1024];
    kit_copy(slot, sizeof slot, slw_cached_directory(cached));
    slw_cached_discard(&cached);
    noisy.removes_slot = slot;
    cached = audited(NULL, "FAILED", SLW_E_GONE);
    slw_cached_discard(&cached);
}
END_TEST

START_TEST(hits_only_stores_and_kept_builds) {
    publish();
    /* The store keeps private builds and failed ones; what audits build is nobody's, and goes. */
    slw_compiler_close(&compiler);
    slw_store_close(&world.store);
    slw_store_options options = SLW_STORE_OPTIONS_INIT;
    options.allocator = world.heap.allocator;
    options.root = world.root;
    options.private_root = world.private_root;
    options.keep_private_builds = options.keep_failed_builds = 1;
    options.read_only = 1;
    slt_ok(slw_store_open(&options, &world.store, &world.err), &world.err);
    open_compiler(0);
    slw_cached *cached = audited(NULL, "SAME", SLW_OK);
    slw_cached_discard(&cached);
    noisy.fails = SLW_E_COMPILE_FAILED;
    cached = audited(NULL, "FAILED", SLW_E_COMPILE_FAILED);
    slw_cached_discard(&cached);
    noisy.fails = SLW_OK;
    slw_compiler_close(&compiler);
    slw_store_close(&world.store);
    options.private_root = NULL;
    slt_ok(slw_store_open(&options, &world.store, &world.err), &world.err);
    open_compiler(0);
    cached = audited(NULL, "FAILED", SLW_E_STORAGE);
    ck_assert_str_eq(told.error.reason, "NO_PRIVATE_ROOT");
    slw_cached_discard(&cached);
}
END_TEST

/* ---- how often --------------------------------------------------------------------------------------------------- */

START_TEST(of_a_million_so_many) {
    static const uint32_t wanted[] = {0, 1, 2, 250000, 999999, 1000000};
    for (size_t i = 0; i < 6; i++) {
        /* Evenly over all there are: one for each millionth and some. */
        uint64_t drawn = 0, all = 0;
        for (uint64_t random = 0; random <= UINT32_MAX; random += 4001) {
            drawn += slwi_audit_drawn((uint32_t)random, wanted[i]) != 0;
            all++;
        }
        const double expected = (double)wanted[i] / 1e6 * (double)all;
        ck_assert_msg((double)drawn >= expected - 2 && (double)drawn <= expected + 2, "%u: %llu of %llu",
                      (unsigned)wanted[i], (unsigned long long)drawn, (unsigned long long)all);
    }
    ck_assert_int_eq(slwi_audit_drawn(UINT32_MAX, 999999), 0);
    ck_assert_int_eq(slwi_audit_drawn(UINT32_MAX, 1000000), 1);
    ck_assert_int_eq(slwi_audit_drawn(0, 0), 0);
}
END_TEST

/* Random numbers as the test has them, for draws alone: names of directories stay random. */
static slwi_os table;
static uint32_t next_random;
static int random_fails;
static unsigned draws;

static int fake_random(const slwi_os *os, void *data, size_t size) {
    if (size != sizeof next_random) return os->next->random(os->next, data, size);
    draws++;
    if (random_fails) return -38;
    memcpy(data, &next_random, size);
    return 0;
}

START_TEST(drawn_by_the_systems_random_numbers) {
    publish();
    slw_compiler_close(&compiler);
    open_compiler(250000);
    table = *slwi_os_real();
    table.next = slwi_os_real();
    table.random = fake_random;
    slwi_os_replace(&table);
    unsigned expected = 0;
    for (uint32_t i = 0; i < 8; i++) {
        next_random = i << 29; /* eighths: the first two are below a quarter */
        expected += i < 2;
        slw_cached *cached = compile(NULL, SLW_HIT);
        slw_cached_discard(&cached);
        ck_assert_uint_eq(told.count, expected);
        ck_assert_uint_eq(draws, i + 1);
    }
    random_fails = 1; /* no audit, and no failure */
    next_random = 0;
    slw_cached *cached = compile(NULL, SLW_HIT);
    slw_cached_discard(&cached);
    ck_assert_uint_eq(told.count, expected);
    ck_assert_uint_eq(draws, 9);
    slw_compiler_close(&compiler);
    open_compiler(1000000); /* all: nothing is drawn */
    cached = compile(NULL, SLW_HIT);
    slw_cached_discard(&cached);
    ck_assert_uint_eq(told.count, expected + 1);
    ck_assert_uint_eq(told.by_kind[0], expected + 1);
    ck_assert_uint_eq(draws, 9);
    slwi_os_replace(NULL);
    slw_compiler_close(&compiler);
    slw_compiler_options options = SLW_COMPILER_OPTIONS_INIT;
    options.store = world.store;
    options.audits_per_million = 1000001;
    ck_assert_int_eq(slw_compiler_open(&options, &compiler, &world.err), SLW_E_USAGE);
}
END_TEST

/* ---- beside others ----------------------------------------------------------------------------------------------- */

static void *audit_in_thread(void *context) {
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    static const char *const flags[1] = {"-DFACTOR=3.0f"};
    const slw_source source = source_of(kernel_text);
    (void)context;
    options.flags = flags;
    options.flag_count = 1;
    options.audit = 1;
    for (int i = 0; i < 3; i++) {
        slw_error err = SLW_ERROR_INIT;
        slw_build_report own = SLW_BUILD_REPORT_INIT;
        slw_cached *cached = NULL;
        slt_ok(slw_compile(compiler, &source, &options, &own, &cached, &err), &err);
        ck_assert_int_eq(own.disposition, SLW_HIT);
        slw_build_report_release(&own);
        slw_cached_discard(&cached);
    }
    return NULL;
}

START_TEST(several_threads_audit_one_key) {
    noisy.replacement = build_in("near", "3.0f");
    publish();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, audit_in_thread, NULL), 0);
    for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_uint_eq(told.count, 12);
    ck_assert_uint_eq(told.by_kind[0], 12);
    nothing_left();
}
END_TEST

START_TEST(the_launch_binary_alone) {
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.store_binary_only = 1;
    slw_cached *cached = compile(&options, SLW_PUBLISHED);
    slw_cached_discard(&cached);
    cached = audited(&options, "SAME", SLW_OK);
    ck_assert_uint_eq(slw_cached_file_count(cached), 2);
    slw_cached_discard(&cached);
    noisy.noise_stage = 1;
    cached = audited(&options, "DIFFERS", SLW_E_INVALID_ENTRY);
    ck_assert_str_eq(told.error.subject, "kernel.so");
    slw_cached_discard(&cached);
}
END_TEST

static unsigned lowered;
static const char *lowered_text;

static slw_code lower(void *context, slw_text *out, slw_error *err) {
    (void)context;
    lowered++;
    return slw_text_copy(NULL, (slw_bytes){lowered_text, strlen(lowered_text)}, out, err);
}

START_TEST(a_source_that_is_lowered_is_lowered_again) {
    slw_lowered_source form = SLW_LOWERED_SOURCE_INIT;
    slw_record *body = NULL;
    slt_ok(slw_record_string(NULL, (slw_bytes){"scale by three", 14}, &body, &world.err), &world.err);
    form.language = "tests";
    form.body = body;
    form.lower = lower;
    slw_source source = SLW_SOURCE_INIT;
    source.lowered = &form;
    source.name = "kernel.c";
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    slw_cached *cached = NULL;
    lowered_text = OF_FACTOR("3.0f");
    slt_ok(slw_compile(compiler, &source, &options, &report, &cached, &world.err), &world.err);
    ck_assert_int_eq(report.disposition, SLW_PUBLISHED);
    slw_cached_discard(&cached);
    options.audit = 1;
    for (int i = 0; i < 2; i++) {
        slw_build_report_release(&report);
        slt_ok(slw_compile(compiler, &source, &options, &report, &cached, &world.err), &world.err);
        ck_assert_int_eq(report.disposition, SLW_HIT);
        ck_assert_str_eq(told.outcome, i == 0 ? "SAME" : "DIFFERS");
        slw_cached_discard(&cached);
        lowered_text = OF_FACTOR("4.0f"); /* the front end changed its mind, and not its version */
    }
    ck_assert_uint_eq(lowered, 3);
    slw_record_release(&body);
    nothing_left();
}
END_TEST

/* The first launch is counted from the compile on, and an audit is no part of it. */
START_TEST(no_part_of_the_time_to_the_first_launch) {
    publish();
    noisy.sleeps_ns = 700000000;
    slw_cached *cached = audited(NULL, "SAME", SLW_OK);
    ck_assert_uint_ge(told.event.duration_ns, 700000000);
    slw_device *device = NULL;
    slw_hydrated *hydrated = NULL;
    slw_device_loaded *loaded = NULL;
    slw_launchable *launchable = NULL;
    slt_ok(slw_device_open(&(slw_device_options)SLW_DEVICE_OPTIONS_INIT, &device, &world.err), &world.err);
    slt_ok(slw_hydrate(&cached, NULL, &hydrated, &world.err), &world.err);
    slt_ok(slw_device_load(&hydrated, device, &loaded, &world.err), &world.err);
    const slw_launch_shape shape = kit_shape("scale", 1);
    slt_ok(slw_make_launchable(&loaded, &shape, &launchable, &world.err), &world.err);
    float value = 2;
    float *data = &value;
    void *arguments[1] = {&data};
    const slw_grid grid = kit_grid(1, 1, 1);
    slt_ok(kit_launch(&world, launchable, &grid, 1, arguments), &world.err);
    ck_assert(value == 6.0f);
    ck_assert_uint_gt(told.first_launch_ns, 0);
    ck_assert_uint_lt(told.first_launch_ns, told.event.duration_ns);
    slw_launchable_discard(&launchable);
    slw_device_close(&device);
}
END_TEST

/* Whatever system call fails in the directory of the rebuild, the hit is had, and the audit says what it came to. */
START_TEST(with_every_system_call_failing) {
    noisy.replacement = build_in("near", "3.0f");
    publish();
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.audit = 1;
    static const int numbers[] = {EIO, ENOSPC, EACCES};
    unsigned failed = 0;
    for (size_t e = 0; e < sizeof numbers / sizeof *numbers; e++) {
        for (uint64_t n = 1;; n++) {
            slt_fault_os_install(NULL);
            slt_fault_os_add(
                (slt_fault){.call = SLT_ANY, .path = "/slipway-build-", .nth = n, .error_number = numbers[e]});
            slw_cached *cached = compile(&options, SLW_HIT);
            const uint64_t fired = slt_fault_os_fired();
            slt_fault_os_remove();
            slw_cached_discard(&cached);
            ck_assert_msg(strcmp(told.outcome, "SAME") == 0 || strcmp(told.outcome, "FAILED") == 0, "%llu: %s %s",
                          (unsigned long long)n, told.outcome, told.error.message);
            failed += strcmp(told.outcome, "FAILED") == 0;
            /* What could not be removed stays; nothing else may. */
            slt_shell("rm -rf '%s'/slipway-build-* && test -z \"$(ls -A '%s')\"", world.private_root,
                      world.private_root);
            if (fired == 0) break;
            ck_assert_uint_lt(n, 400);
        }
    }
    ck_assert_uint_gt(failed, 10);
}
END_TEST

/* Whatever allocation fails, the hit is had or NO_MEMORY is said; nothing leaks, nothing stays. */
START_TEST(without_memory) {
    noisy.replacement = build_in("near", "3.0f");
    publish();
    static const char *const flags[1] = {"-DFACTOR=3.0f"};
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.flags = flags;
    options.flag_count = 1;
    options.audit = 1;
    const slw_source source = source_of(kernel_text);
    unsigned failed_audits = 0, hits = 0;
    for (uint64_t n = 1;; n++) {
        slt_heap_reset(&world.heap);
        world.heap.fail_at = n;
        slw_cached *cached = NULL;
        const unsigned before = told.count;
        slw_build_report_release(&report);
        const slw_code rc = slw_compile(compiler, &source, &options, &report, &cached, &world.err);
        const int met = world.heap.failed > 0;
        world.heap.fail_at = 0;
        ck_assert_msg(rc == SLW_OK || rc == SLW_E_NO_MEMORY, "%llu: %s %s", (unsigned long long)n, slw_code_name(rc),
                      world.err.message);
        ck_assert_int_eq(rc == SLW_OK, cached != NULL);
        if (rc == SLW_OK) {
            hits++;
            ck_assert_uint_eq(told.count, before + 1);
            failed_audits += strcmp(told.outcome, "FAILED") == 0;
            ck_assert_msg(strcmp(told.outcome, "DIFFERS") != 0, "%llu: %s", (unsigned long long)n, told.error.message);
            slw_cached_discard(&cached);
        }
        if (!met) break;
    }
    nothing_left();
    ck_assert_uint_gt(failed_audits, 10); /* the audit's own met faults, too */
    ck_assert_uint_gt(hits, failed_audits);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle audit");
    TCase *c = tcase_create("audit");
    tcase_set_timeout(c, 240);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, what_is_built_again_the_same);
    tcase_add_test(c, a_stage_that_is_not_deterministic);
    tcase_add_test(c, the_first_is_that_of_the_first_stage);
    tcase_add_test(c, an_input_that_the_key_does_not_hold);
    tcase_add_test(c, debug_information_alone_is_said_to_be_that);
    tcase_add_test(c, the_graver_difference_is_told);
    tcase_add_test(c, what_the_document_says);
    tcase_add_test(c, a_rebuild_that_fails);
    tcase_add_test(c, a_rebuild_that_is_not_confirmed);
    tcase_add_test(c, cancelled_and_late);
    tcase_add_test(c, an_entry_that_goes_away_meanwhile);
    tcase_add_test(c, hits_only_stores_and_kept_builds);
    tcase_add_test(c, of_a_million_so_many);
    tcase_add_test(c, drawn_by_the_systems_random_numbers);
    tcase_add_test(c, several_threads_audit_one_key);
    tcase_add_test(c, the_launch_binary_alone);
    tcase_add_test(c, a_source_that_is_lowered_is_lowered_again);
    tcase_add_test(c, no_part_of_the_time_to_the_first_launch);
    tcase_add_test(c, with_every_system_call_failing);
    tcase_add_test(c, without_memory);
    suite_add_tcase(suite, c);
    if (access("/usr/bin/gcc", X_OK) != 0) {
        slt_skip("lifecycle audit", "no /usr/bin/gcc");
        return EXIT_SUCCESS;
    }
    const char *base = getenv("TMPDIR");
    (void)snprintf(memo_directory, sizeof memo_directory, "%s/slipway-memo-XXXXXX",
                   base != NULL && strlen(base) < 200 ? base : "/tmp");
    if (mkdtemp(memo_directory) == NULL) return EXIT_FAILURE;
    const int status = slt_run(suite, NULL);
    char command[300];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", memo_directory);
    return system(command) == 0 ? status : EXIT_FAILURE;
}
