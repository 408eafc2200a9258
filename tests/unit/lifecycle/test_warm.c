/* Warm-ups: lists and configurations checked as a whole, then built so many at a time, each told once. */
#include "kit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include <slipway/warm.h>

#include "clock.h"
#include "fail.h"
#include "os.h"

#define TOLD_MAX 64

static const char good_text[] = "#include <slipway/host_kernel.h>\n"
                                "SLW_HOST_KERNEL(k, SLW_HOST_PARAM(float *, values));\n"
                                "void k(const slw_host_block *b, void *const *a) {\n"
                                "    SLW_HOST_ARG(float *, a, 0)[b->index[0]] *= FACTOR;\n"
                                "}\n";

static char memo_directory[256];
static kit world;
static slw_memo *memo;
static slw_metrics *metrics; /* the kit's listener is of one thread */
static slw_warm_options options;
static slw_warm_counts counts;
static char words[65536];

/* ---- what was told ----------------------------------------------------------------------------------------------- */

static struct {
    size_t count, problem_count;
    size_t index[TOLD_MAX];
    slw_warm_status status[TOLD_MAX];
    int as_wanted[TOLD_MAX];
    char reason[TOLD_MAX][64];
    char key[TOLD_MAX][SLW_DIGEST_TEXT_SIZE];
    slw_code code[TOLD_MAX];
    char diagnostics[TOLD_MAX][256];
    size_t problem_index[TOLD_MAX];
    slw_error problem[TOLD_MAX];
    pthread_t thread;
    slw_cancel *cancel_after_first;
} told;

static void listen_results(void *context, const slw_warm_result *result) {
    ck_assert_ptr_eq(context, &told);
    ck_assert_int_ne(pthread_equal(told.thread, pthread_self()), 0);
    ck_assert_uint_eq(result->size, sizeof *result);
    const size_t n = told.count++;
    ck_assert_uint_lt(n, TOLD_MAX);
    ck_assert_uint_eq(result->done, told.count);
    told.index[n] = result->index;
    told.status[n] = result->status;
    told.as_wanted[n] = result->as_wanted;
    kit_copy(told.reason[n], sizeof told.reason[n], result->reason);
    kit_copy(told.key[n], sizeof told.key[n], result->key);
    told.code[n] = result->error != NULL ? result->error->code : SLW_OK;
    ck_assert_int_eq(result->error != NULL, result->status == SLW_WARM_FAILED);
    if (result->error != NULL) kit_copy(told.diagnostics[n], sizeof told.diagnostics[n], result->error->diagnostics);
    ck_assert_str_eq(result->backend, "host");
    if (result->directory != NULL) ck_assert_int_eq(access(result->directory, R_OK), 0);
    if (told.cancel_after_first != NULL) slw_cancel_request(told.cancel_after_first);
}

static void listen_problems(void *context, size_t index, const slw_error *problem) {
    ck_assert_ptr_eq(context, &told);
    const size_t n = told.problem_count++;
    if (n >= TOLD_MAX) return;
    told.problem_index[n] = index;
    told.problem[n] = *problem;
}

/* The n-th told of a request; fails where it was not told once. */
static size_t told_of(size_t index) {
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < told.count; i++) {
        if (told.index[i] != index) continue;
        ck_assert_msg(found == SIZE_MAX, "request %zu was told twice", index);
        found = i;
    }
    ck_assert_msg(found != SIZE_MAX, "request %zu was not told", index);
    return found;
}

/* ---- the world --------------------------------------------------------------------------------------------------- */

static void forget(void) {
    const slw_warm_counts fresh = SLW_WARM_COUNTS_INIT;
    memset(&told, 0, sizeof told);
    told.thread = pthread_self();
    counts = fresh;
}

static void setup(void) {
    const slw_warm_options fresh = SLW_WARM_OPTIONS_INIT;
    memset(&world, 0, sizeof world);
    kit_open(&world);
    world.err.diagnostics = words;
    world.err.diagnostics_capacity = sizeof words;
    forget();
    slw_memo_options memo_options = SLW_MEMO_OPTIONS_INIT;
    memo_options.directory = memo_directory;
    slt_ok(slw_memo_open(&memo_options, &memo, &world.err), &world.err);
    slw_metrics_options metrics_options = SLW_METRICS_OPTIONS_INIT;
    metrics_options.allocator = world.heap.allocator;
    slt_ok(slw_metrics_create(&metrics_options, &metrics, &world.err), &world.err);
    options = fresh;
    options.compiler.metrics = metrics;
    options.allocator = world.heap.allocator;
    options.compiler.store = world.store;
    options.compiler.memo = memo;
    options.compiler.search_path = "/usr/bin";
    options.jobs = 2;
    options.listener = listen_results;
    options.problem = listen_problems;
    options.context = &told;
}

static void teardown(void) {
    slw_memo_close(&memo);
    slw_metrics_release(&metrics);
    kit_close(&world);
}

static const char *write_named(const char *name, const char *text) {
    const char *path = slt_path(world.scratch, name, NULL);
    slt_write_file(path, text, strlen(text), 0644);
    return path;
}

static const char *const flags_of[6][1] = {{"-DFACTOR=1.0f"}, {"-DFACTOR=2.0f"}, {"-DFACTOR=3.0f"},
                                           {"-DFACTOR=4.0f"}, {"-DFACTOR=5.0f"}, {"-DFACTOR=6.0f"}};

static slw_warm_request request_of(const char *path, int factor) {
    slw_warm_request request = SLW_WARM_REQUEST_INIT;
    request.compiler = "/usr/bin/gcc";
    request.source.path = path;
    request.options.flags = flags_of[factor];
    request.options.flag_count = 1;
    return request;
}

static void nothing_left(void) {
    slt_shell("test -z \"$(ls -A '%s')\"", world.private_root);
}

/* How many entries the store has, but the kit's own. */
static size_t entries(void) {
    slt_shell("find '%s/artifacts' -name artifact_manifest.json | wc -l > '%s/count'", world.root, world.scratch);
    size_t size = 0;
    char *text = slt_read_file(slt_path(world.scratch, "count", NULL), &size);
    const size_t count = strtoul(text, NULL, 10);
    free(text);
    return count - 1;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

START_TEST(built_and_then_hit) {
    const char *path = write_named("k.c", good_text);
    slw_warm_request requests[4];
    for (int i = 0; i < 4; i++) requests[i] = request_of(path, i);
    slt_ok(slw_warm(&options, requests, 4, &counts, &world.err), &world.err);
    ck_assert_uint_eq(counts.published, 4);
    ck_assert_uint_eq(counts.not_as_wanted, 0);
    ck_assert_uint_eq(told.count, 4);
    for (size_t i = 0; i < 4; i++) ck_assert_int_eq(told.status[told_of(i)], SLW_WARM_PUBLISHED);
    ck_assert_str_ne(told.key[told_of(0)], told.key[told_of(1)]);
    ck_assert_uint_eq(entries(), 4);
    nothing_left();
    for (uint32_t jobs = 1; jobs <= 3; jobs += 2) {
        forget();
        options.jobs = jobs;
        slt_ok(slw_warm(&options, requests, 4, &counts, &world.err), &world.err);
        ck_assert_uint_eq(counts.hits, 4);
        ck_assert_uint_eq(counts.published, 0);
    }
    forget();
    options.listener = NULL; /* nobody listens */
    options.jobs = 0;
    slt_ok(slw_warm(&options, requests, 4, &counts, &world.err), &world.err);
    ck_assert_uint_eq(counts.hits, 4);
    slt_ok(slw_warm(&options, NULL, 0, &counts, &world.err), &world.err); /* nothing is asked, nothing fails */
    ck_assert_uint_eq(counts.hits, 0);
}
END_TEST

START_TEST(private_where_that_is_wanted_and_where_it_is_not) {
    static const char *const unknown[2] = {"-DFACTOR=1.0f", "-frandom-seed=mine"};
    const char *path = write_named("k.c", good_text);
    slw_warm_request requests[3];
    for (int i = 0; i < 3; i++) requests[i] = request_of(path, i);
    requests[0].want = SLW_WARM_PRIVATE;
    requests[1].options.flags = unknown; /* not in the key: it stays private, and no one wanted that */
    requests[1].options.flag_count = 2;
    slt_ok(slw_warm(&options, requests, 3, &counts, &world.err), &world.err);
    ck_assert_uint_eq(counts.built_private, 2);
    ck_assert_uint_eq(counts.published, 1);
    ck_assert_uint_eq(counts.not_as_wanted, 1);
    ck_assert_int_eq(told.as_wanted[told_of(0)], 1);
    ck_assert_str_eq(told.reason[told_of(0)], "ALWAYS_COMPILE");
    ck_assert_int_eq(told.as_wanted[told_of(1)], 0);
    ck_assert_ptr_nonnull(strstr(told.reason[told_of(1)], "-frandom-seed=mine"));
    ck_assert_int_eq(told.as_wanted[told_of(2)], 1);
    ck_assert_uint_eq(entries(), 1);
    nothing_left();
}
END_TEST

START_TEST(one_that_fails) {
    const char *good = write_named("k.c", good_text);
    const char *broken = write_named("broken.c", "int fine;\nint broken = ;\n");
    slw_warm_request requests[4];
    for (int i = 0; i < 4; i++) requests[i] = request_of(i == 1 ? broken : good, i);
    options.jobs = 1;
    slt_ok(slw_warm(&options, requests, 4, &counts, &world.err), &world.err);
    ck_assert_uint_eq(counts.published, 1);
    ck_assert_uint_eq(counts.failed, 1);
    ck_assert_uint_eq(counts.not_run, 2);
    ck_assert_uint_eq(counts.not_as_wanted, 3);
    ck_assert_uint_eq(told.count, 4); /* those that did not run are told too, last */
    ck_assert_int_eq(told.status[2], SLW_WARM_NOT_RUN);
    ck_assert_int_eq(told.status[3], SLW_WARM_NOT_RUN);
    ck_assert_int_eq(told.code[1], SLW_E_COMPILE_FAILED);
    ck_assert_ptr_nonnull(strstr(told.diagnostics[1], "broken.c:2:"));
    forget();
    options.keep_going = 1;
    options.jobs = 2;
    slt_ok(slw_warm(&options, requests, 4, &counts, &world.err), &world.err);
    ck_assert_uint_eq(counts.hits, 1);
    ck_assert_uint_eq(counts.published, 2);
    ck_assert_uint_eq(counts.failed, 1);
    ck_assert_uint_eq(counts.not_run, 0);
    ck_assert_int_eq(told.status[told_of(1)], SLW_WARM_FAILED);
    nothing_left();
}
END_TEST

START_TEST(one_that_is_wrong_and_nothing_is_built) {
    static const slw_lowered_source no_form = SLW_LOWERED_SOURCE_INIT;
    const char *path = write_named("k.c", good_text);
    slw_warm_request requests[8];
    for (int i = 0; i < 8; i++) requests[i] = request_of(path, i % 6);
    requests[1].source.path = "/nonexistent/k.c";
    requests[2].options.target = "sm_9999";
    requests[2].backend = "host";
    requests[3].backend = "nosuch";
    requests[4].source.extension = "cu";
    requests[4].backend = "host";
    requests[5].source.lowered = &no_form; /* and a path */
    requests[6] = requests[0];             /* the same, by another name of the file */
    slt_shell("ln -s k.c '%s/link.c'", world.scratch);
    requests[6].source.path = slt_path(world.scratch, "link.c", NULL);
    requests[6].source.name = "k.c";
    ck_assert_int_eq(slw_warm(&options, requests, 8, &counts, &world.err), SLW_E_INVALID_SOURCE);
    ck_assert_str_eq(world.err.subject, "/nonexistent/k.c");
    ck_assert_str_eq(world.err.raw_name, "ENOENT");
    ck_assert_uint_eq(told.count, 0);
    ck_assert_uint_eq(entries(), 0);
    ck_assert_uint_eq(told.problem_count, 6);
    static const slw_code codes[6] = {SLW_E_INVALID_SOURCE, SLW_E_UNSUPPORTED_INPUT,
                                      SLW_E_UNSUPPORTED,    SLW_E_UNSUPPORTED_INPUT,
                                      SLW_E_USAGE,          SLW_E_USAGE};
    static const char *const reasons[6] = {NULL, "TARGET", "NO_BACKEND", "SOURCE_KIND", NULL, "DUPLICATE"};
    for (size_t i = 0; i < 6; i++) {
        ck_assert_uint_eq(told.problem_index[i], i + 1);
        ck_assert_int_eq(told.problem[i].code, codes[i]);
        if (reasons[i] != NULL) ck_assert_str_eq(told.problem[i].reason, reasons[i]);
    }
    /* A compiler that is not there: of the whole list, unless the others shall be built. */
    forget();
    requests[1] = request_of(path, 1);
    requests[1].compiler = "/nonexistent/cc";
    ck_assert_int_eq(slw_warm(&options, requests, 2, &counts, &world.err), SLW_E_TOOL_MISSING);
    ck_assert_uint_eq(told.problem_count, 1);
    ck_assert_uint_eq(told.problem_index[0], 1);
    ck_assert_uint_eq(entries(), 0);
    options.keep_going = 1;
    forget();
    slt_ok(slw_warm(&options, requests, 2, &counts, &world.err), &world.err);
    ck_assert_int_eq(told.code[told_of(1)], SLW_E_TOOL_MISSING);
    ck_assert_uint_eq(counts.published, 1);
    ck_assert_uint_eq(counts.failed, 1);
}
END_TEST

START_TEST(usage) {
    const char *path = write_named("k.c", good_text);
    slw_warm_request request = request_of(path, 0);
    ck_assert_int_eq(slw_warm(NULL, &request, 1, &counts, &world.err), SLW_E_USAGE);
    ck_assert_int_eq(slw_warm(&options, NULL, 1, &counts, &world.err), SLW_E_USAGE);
    ck_assert_int_eq(slw_warm(&options, &request, 1, NULL, &world.err), SLW_E_USAGE);
    counts.size--;
    ck_assert_int_eq(slw_warm(&options, &request, 1, &counts, &world.err), SLW_E_USAGE);
    counts.size++;
    options.jobs = SLW_LIMIT_WARM_JOBS + 1;
    ck_assert_int_eq(slw_warm(&options, &request, 1, &counts, &world.err), SLW_E_LIMIT);
    options.jobs = 1;
    ck_assert_int_eq(slw_warm(&options, &request, SLW_LIMIT_WARM_REQUESTS + 1, &counts, &world.err), SLW_E_LIMIT);
    options.compiler.backend = "host";
    ck_assert_int_eq(slw_warm(&options, &request, 1, &counts, &world.err), SLW_E_USAGE);
    options.compiler.backend = NULL;
    options.size--;
    ck_assert_int_eq(slw_warm(&options, &request, 1, &counts, &world.err), SLW_E_USAGE);
    options.size++;
    request.options.always_compile = 1;
    ck_assert_int_eq(slw_warm(&options, &request, 1, &counts, &world.err), SLW_E_USAGE);
    request.options.always_compile = 0;
    request.want = (slw_warm_want)7;
    ck_assert_int_eq(slw_warm(&options, &request, 1, &counts, &world.err), SLW_E_USAGE);
    request.want = SLW_WARM_SHARED;
    request.size--;
    ck_assert_int_eq(slw_warm(&options, &request, 1, &counts, &world.err), SLW_E_USAGE);
    request.size++;
    options.compiler.store = NULL;
    ck_assert_int_eq(slw_warm(&options, &request, 1, &counts, &world.err), SLW_E_USAGE);
    ck_assert_uint_eq(told.count, 0);
    static const char *const names[] = {"NOT_RUN", "HIT", "PUBLISHED", "PRIVATE", "FAILED"};
    for (int i = 0; i < 5; i++) ck_assert_str_eq(slw_warm_status_name((slw_warm_status)i), names[i]);
    ck_assert_ptr_null(slw_warm_status_name((slw_warm_status)5));
    ck_assert_ptr_null(slw_warm_status_name((slw_warm_status)-1));
}
END_TEST

START_TEST(cancelled) {
    const char *path = write_named("k.c", good_text);
    slw_warm_request requests[5];
    for (int i = 0; i < 5; i++) requests[i] = request_of(path, i);
    slt_ok(slw_cancel_create(NULL, &options.cancel, &world.err), &world.err);
    told.cancel_after_first = options.cancel;
    options.jobs = 1;
    ck_assert_int_eq(slw_warm(&options, requests, 5, &counts, &world.err), SLW_E_CANCELLED);
    ck_assert_uint_eq(counts.published, 0); /* untouched */
    ck_assert_uint_eq(told.count, 5);
    ck_assert_int_eq(told.status[0], SLW_WARM_PUBLISHED);
    for (size_t i = 1; i < 5; i++) ck_assert_int_eq(told.status[told_of(i)], SLW_WARM_NOT_RUN);
    ck_assert_uint_eq(entries(), 1); /* what had ended stays */
    slw_cancel_release(&options.cancel);
    nothing_left();
}
END_TEST

/* ---- how many at a time ------------------------------------------------------------------------------------------ */

static atomic_uint running, most;
static const slw_backend_vtable *host;

static slw_code slow_run(void *job, size_t index, const slw_stage_context *context, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    const unsigned now = atomic_fetch_add(&running, 1) + 1;
    unsigned seen = atomic_load(&most);
    while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now)) continue;
    if (index == 0) os->sleep_ns(os, 300000000);
    const slw_code rc = host->job_run(job, index, context, err);
    atomic_fetch_sub(&running, 1);
    return rc;
}

START_TEST(so_many_at_a_time_and_no_more) {
    slw_backend_vtable backend = *slw_backend_find("host");
    host = slw_backend_find("host");
    backend.job_run = slow_run;
    options.compiler.backend_impl = &backend;
    const char *path = write_named("k.c", good_text);
    slw_warm_request requests[6];
    for (int i = 0; i < 6; i++) requests[i] = request_of(path, i);
    for (uint32_t jobs = 1; jobs <= 3; jobs++) {
        forget();
        atomic_store(&most, 0);
        options.jobs = jobs;
        for (int i = 0; i < 6; i++) requests[i].want = SLW_WARM_PRIVATE; /* each time anew */
        slt_ok(slw_warm(&options, requests, 6, &counts, &world.err), &world.err);
        ck_assert_uint_eq(counts.built_private, 6);
        ck_assert_uint_eq(atomic_load(&most), jobs);
        for (size_t i = 0; i < 6; i++) (void)told_of(i);
    }
    options.jobs = SLW_LIMIT_WARM_JOBS; /* more than there are requests: no thread idles */
    forget();
    atomic_store(&most, 0);
    slt_ok(slw_warm(&options, requests, 2, &counts, &world.err), &world.err);
    ck_assert_uint_le(atomic_load(&most), 2);
    ck_assert_uint_eq(atomic_load(&running), 0);
    nothing_left();
}
END_TEST

/* ---- configurations ---------------------------------------------------------------------------------------------- */

static slw_warm_config_options config_options(void) {
    slw_warm_config_options o = SLW_WARM_CONFIG_OPTIONS_INIT;
    o.allocator = world.heap.allocator;
    o.directory = world.scratch;
    o.name = "warm.json";
    o.problem = listen_problems;
    o.context = &told;
    return o;
}

static slw_code parse(const char *text, slw_warm_config **out) {
    const slw_warm_config_options o = config_options();
    forget();
    return slw_warm_config_parse(&o, (slw_bytes){text, strlen(text)}, out, &world.err);
}

START_TEST(a_configuration) {
    (void)write_named("k.c", good_text);
    static const char text[] =
        "{\"schema\": 1, \"jobs\": 3, \"keep_going\": true,\n"
        " \"compilers\": {\"host\": \"gcc\"},\n"
        " \"requests\": [\n"
        "  {\"source\": \"k.c\", \"flags\": [\"-DFACTOR=1.0f\"]},\n"
        "  {\"source\": \"k.c\", \"flags\": [\"-DFACTOR=2.0f\", \"-O1\"], \"want\": \"private\",\n"
        "   \"include_roots\": [\"absent\", \"/tmp\"], \"name\": \"other.c\"},\n"
        "  {\"source\": \"k.c\", \"flags\": [\"-DFACTOR=1.0f\"], \"store_binary_only\": true,\n"
        "   \"backend\": \"host\", \"target\": \"host\", \"extension\": \"c\"}]}\n";
    slw_warm_config *config = NULL;
    slt_ok(parse(text, &config), &world.err);
    ck_assert_uint_eq(slw_warm_config_jobs(config), 3);
    ck_assert_int_eq(slw_warm_config_keep_going(config), 1);
    size_t count = 0;
    const slw_warm_request *requests = slw_warm_config_requests(config, &count);
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(requests[0].source.path, slt_path(world.scratch, "k.c", NULL));
    ck_assert_str_eq(requests[0].backend, "host");
    ck_assert_str_eq(requests[0].compiler, "gcc");
    ck_assert_uint_eq(requests[1].options.flag_count, 2);
    ck_assert_str_eq(requests[1].options.flags[1], "-O1");
    ck_assert_int_eq(requests[1].want, SLW_WARM_PRIVATE);
    ck_assert_str_eq(requests[1].source.include_roots[0], slt_path(world.scratch, "absent", NULL));
    ck_assert_str_eq(requests[1].source.include_roots[1], "/tmp");
    ck_assert_str_eq(requests[1].source.name, "other.c");
    ck_assert_int_eq(requests[2].options.store_binary_only, 1);
    ck_assert_str_eq(requests[2].options.target, "host");
    /* /tmp is no root that a test can have hashed: the other two are built. */
    slt_ok(slw_warm(&options, requests, 1, &counts, &world.err), &world.err);
    ck_assert_uint_eq(counts.published, 1);
    char key[SLW_DIGEST_TEXT_SIZE];
    kit_copy(key, sizeof key, told.key[0]);
    forget();
    slt_ok(slw_warm(&options, requests + 2, 1, &counts, &world.err), &world.err);
    ck_assert_uint_eq(counts.published, 1);
    ck_assert_str_eq(told.key[0], key); /* of one key, and two entries */
    ck_assert_uint_eq(entries(), 2);
    slw_warm_config_release(&config);
    ck_assert_ptr_null(config);
    slw_warm_config_release(&config);
    slw_warm_config_release(NULL);
    ck_assert_ptr_null(slw_warm_config_requests(NULL, &count));
    ck_assert_uint_eq(count, 0);
}
END_TEST

typedef struct wrong {
    const char *text;
    slw_code code;
    const char *reason;
    uint32_t line, column; /* 0: not looked at */
} wrong;

#define HEAD "{\"schema\":1,\n\"requests\":[\n"
#define K    "{\"source\":\"k.c\"}"

static const wrong wrongs[] = {
    {"", SLW_E_INVALID_METADATA, "TRUNCATED", 0, 0},
    {"{\"schema\":1,\n\"requests\":[\n{]}", SLW_E_INVALID_METADATA, NULL, 3, 2},
    {"{\"schema\":1,\"schema\":1,\"requests\":[]}", SLW_E_INVALID_METADATA, "DUPLICATE", 1, 0},
    {"[]", SLW_E_INVALID_METADATA, "BAD_VALUE", 1, 1},
    {"{\"requests\":[]}", SLW_E_INVALID_METADATA, "MISSING_MEMBER", 1, 1},
    {"{\"schema\":1}", SLW_E_INVALID_METADATA, "MISSING_MEMBER", 1, 1},
    {"{\"schema\":2,\"requests\":[]}", SLW_E_INVALID_METADATA, "SCHEMA", 1, 11},
    {"{\"schema\":\"1\",\"requests\":[]}", SLW_E_INVALID_METADATA, "SCHEMA", 1, 11},
    {"{\"schema\":1,\"requests\":{}}", SLW_E_INVALID_METADATA, "BAD_VALUE", 1, 24},
    {"{\"schema\":1,\n \"job\":1,\"requests\":[]}", SLW_E_INVALID_METADATA, "UNKNOWN_MEMBER", 2, 8},
    {"{\"schema\":1,\"jobs\":0,\"requests\":[]}", SLW_E_INVALID_METADATA, "BAD_VALUE", 1, 20},
    {"{\"schema\":1,\"jobs\":257,\"requests\":[]}", SLW_E_INVALID_METADATA, "BAD_VALUE", 1, 20},
    {"{\"schema\":1,\"keep_going\":1,\"requests\":[]}", SLW_E_INVALID_METADATA, "BAD_VALUE", 1, 26},
    {"{\"schema\":1,\"compilers\":[],\"requests\":[]}", SLW_E_INVALID_METADATA, "BAD_VALUE", 1, 25},
    {"{\"schema\":1,\"compilers\":{\"no\":\"x\"},\"requests\":[]}", SLW_E_INVALID_METADATA, "NO_BACKEND", 1, 31},
    {"{\"schema\":1,\"compilers\":{\"host\":3},\"requests\":[]}", SLW_E_INVALID_METADATA, "BAD_VALUE", 1, 33},
    {HEAD "3]}", SLW_E_INVALID_METADATA, "BAD_VALUE", 3, 1},
    {HEAD "{}]}", SLW_E_INVALID_METADATA, "MISSING_MEMBER", 3, 1},
    {HEAD "{\"source\":\"\"}]}", SLW_E_INVALID_METADATA, "BAD_VALUE", 3, 11},
    {HEAD "{\"source\":\"a\\u0000b\"}]}", SLW_E_INVALID_METADATA, "BAD_VALUE", 3, 11},
    {HEAD "{\"source\":\"k.c\",\"flag\":[]}]}", SLW_E_INVALID_METADATA, "UNKNOWN_MEMBER", 3, 24},
    {HEAD "{\"source\":\"k.c\",\"flags\":[\"-O1\",\n1]}]}", SLW_E_INVALID_METADATA, "BAD_VALUE", 4, 1},
    {HEAD "{\"source\":\"k.c\",\"flags\":\"-O1\"}]}", SLW_E_INVALID_METADATA, "BAD_VALUE", 3, 25},
    {HEAD "{\"source\":\"k.c\",\"want\":\"both\"}]}", SLW_E_INVALID_METADATA, "BAD_VALUE", 3, 24},
    {HEAD "{\"source\":\"k.c\",\"store_binary_only\":0}]}", SLW_E_INVALID_METADATA, "BAD_VALUE", 3, 37},
    {HEAD "{\"source\":\"k.c\",\"target\":\"host\",\"targets\":[\"host\"]}]}", SLW_E_INVALID_METADATA, "BAD_VALUE", 3,
     43},
    {HEAD "{\"source\":\"k.c\",\"targets\":[]}]}", SLW_E_INVALID_METADATA, "BAD_VALUE", 3, 27},
    {HEAD "{\"source\":\"nosuch.c\"}]}", SLW_E_INVALID_SOURCE, NULL, 3, 11},
    {HEAD "{\"source\":\".\",\"backend\":\"host\"}]}", SLW_E_INVALID_SOURCE, NULL, 3, 11},
    {HEAD "{\"source\":\"k.c\",\"backend\":\"vax\"}]}", SLW_E_UNSUPPORTED, "NO_BACKEND", 3, 27},
    {HEAD "{\"source\":\"k.c\",\"backend\":\"host\",\n\"targets\":[\"host\",\"sm_90\"]}]}", SLW_E_UNSUPPORTED_INPUT,
     "TARGET", 4, 19},
    {HEAD "{\"source\":\"k.c\",\"backend\":\"host\",\"target\":\"vax\"}]}", SLW_E_UNSUPPORTED_INPUT, "TARGET", 3, 43},
    {HEAD "{\"source\":\"k.c\",\"backend\":\"host\",\"extension\":\"cu\"}]}", SLW_E_UNSUPPORTED_INPUT, "SOURCE_KIND", 3,
     46},
    {HEAD "{\"source\":\"k.c\",\"extension\":\"zzz\"}]}", SLW_E_UNSUPPORTED, "NO_BACKEND", 3, 1},
    {HEAD "{\"source\":\"k.c\",\"include_roots\":[\"absent\",\"k.c\"]}]}", SLW_E_INVALID_SOURCE, "NO_DIRECTORY", 3, 43},
    {HEAD K ",\n" K "]}", SLW_E_INVALID_METADATA, "DUPLICATE", 4, 1},
    {HEAD K ",\n{\"source\":\"./k.c\"}]}", SLW_E_INVALID_METADATA, "DUPLICATE", 4, 1},
    {HEAD "{\"source\":\"k.c\",\"targets\":[\"host\",\n\"host\"]}]}", SLW_E_INVALID_METADATA, "DUPLICATE", 4, 1},
};

START_TEST(wrong_configurations) {
    (void)write_named("k.c", good_text);
    const wrong *w = &wrongs[_i];
    slw_warm_config *config = NULL;
    const slw_code rc = parse(w->text, &config);
    ck_assert_msg(rc == w->code, "%s: %s %s %s", w->text, slw_code_name(rc), world.err.reason, world.err.message);
    ck_assert_ptr_null(config);
    ck_assert_int_eq(world.err.code, rc);
    if (w->reason != NULL) ck_assert_msg(strcmp(world.err.reason, w->reason) == 0, "%s: %s", w->text, world.err.reason);
    ck_assert_str_eq(world.err.path, "warm.json");
    ck_assert_uint_ne(world.err.present & SLW_ERROR_HAS_LINE, 0);
    if (w->line != 0) ck_assert_msg(world.err.line == w->line, "%s: line %u", w->text, world.err.line);
    if (w->column != 0) ck_assert_msg(world.err.column == w->column, "%s: column %u", w->text, world.err.column);
    ck_assert_uint_eq(told.problem_count, 1);
    ck_assert_int_eq(told.problem[0].code, rc);
    ck_assert_uint_eq(told.problem[0].line, world.err.line);
}
END_TEST

/* All of it is told at once, the first is the error, and what is right beside it is not built. */
START_TEST(every_problem_is_told) {
    (void)write_named("k.c", good_text);
    static const char text[] = "{\"schema\":1,\"color\":true,\n"
                               "\"requests\":[\n"
                               "{\"source\":\"nosuch.c\",\"targets\":[\"host\",\"x86\"]},\n"
                               "{\"source\":\"k.c\",\"backend\":\"host\",\"targets\":[\"a\",\"host\",\"b\"]},\n"
                               "{\"source\":\"k.c\",\"want\":1,\"flags\":[1,2],\"colour\":0},\n" K ",\n" K "]}";
    slw_warm_config *config = NULL;
    ck_assert_int_eq(parse(text, &config), SLW_E_INVALID_METADATA);
    ck_assert_str_eq(world.err.reason, "UNKNOWN_MEMBER");
    ck_assert_str_eq(world.err.subject, "color");
    static const uint32_t lines[] = {1, 3, 3, 4, 4, 5, 5, 5, 5, 7};
    static const size_t indexes[] = {SIZE_MAX, 0, 0, 1, 1, 2, 2, 2, 2, 4};
    ck_assert_uint_eq(told.problem_count, 10);
    for (size_t i = 0; i < 10; i++) {
        ck_assert_msg(told.problem[i].line == lines[i], "%zu: %u %s", i, told.problem[i].line, told.problem[i].message);
        ck_assert_uint_eq(told.problem_index[i], indexes[i]);
        ck_assert_str_eq(told.problem[i].path, "warm.json");
    }
    ck_assert_str_eq(told.problem[9].reason, "DUPLICATE");
    /* Without a listener the first one is had all the same. */
    slw_warm_config_options o = config_options();
    o.problem = NULL;
    o.name = NULL;
    o.directory = NULL;
    ck_assert_int_eq(slw_warm_config_parse(&o, (slw_bytes){text, strlen(text)}, &config, &world.err),
                     SLW_E_INVALID_METADATA);
    ck_assert_str_eq(world.err.path, "");
    ck_assert_int_eq(slw_warm_config_parse(NULL, (slw_bytes){text, 3}, &config, &world.err), SLW_E_USAGE);
    ck_assert_int_eq(slw_warm_config_parse(&o, (slw_bytes){NULL, 0}, &config, &world.err), SLW_E_USAGE);
    ck_assert_int_eq(slw_warm_config_parse(&o, (slw_bytes){text, 3}, NULL, &world.err), SLW_E_USAGE);
    ck_assert_ptr_null(config);
}
END_TEST

/* Thousands of problems: the first hundreds are told, in time that people have. */
START_TEST(very_many_problems) {
    const size_t count = 20000;
    char *text = malloc(count * 32 + 64);
    ck_assert_ptr_nonnull(text);
    size_t used = (size_t)sprintf(text, HEAD);
    for (size_t i = 0; i < count; i++) used += (size_t)sprintf(text + used, "%s{\"source\":\"n%zu\"}", i ? "," : "", i);
    (void)sprintf(text + used, "]}");
    slw_warm_config *config = NULL;
    const uint64_t start = slwi_now_ns();
    ck_assert_int_ne(parse(text, &config), SLW_OK);
    ck_assert_uint_eq(told.problem_count, 256);
    ck_assert_uint_lt(slwi_now_ns() - start, 30000000000u);
    free(text);
}
END_TEST

/* Bytes changed, cut out and doubled: a configuration or a problem, never anything else. */
START_TEST(damaged_configurations) {
    (void)write_named("k.c", good_text);
    static const char text[] =
        "{\"schema\":1,\"jobs\":3,\"compilers\":{\"host\":\"/bin/cc\"},\"requests\":[\n"
        "{\"source\":\"k.c\",\"flags\":[\"-O1\"],\"include_roots\":[\"inc\"],\"want\":\"private\"},\n"
        "{\"source\":\"k.c\",\"targets\":[\"host\"],\"store_binary_only\":true}]}";
    uint32_t state = 7;
    unsigned good = 0;
    for (int round = 0; round < 6000; round++) {
        char copy[2 * sizeof text];
        size_t size = sizeof text - 1;
        memcpy(copy, text, size);
        for (int change = 0; change <= round % 3; change++) {
            state = state * 1664525u + 1013904223u;
            const size_t at = (state >> 8) % size, length = (state >> 4) % 7 < size - at ? (state >> 4) % 7 : size - at;
            if (round % 4 == 0) {
                copy[at] = (char)(state >> 24);
            } else if (round % 4 == 1) {
                copy[at] = "{}[],:\"\\0n"[(state >> 24) % 10];
            } else if (round % 4 == 2) {
                memmove(copy + at, copy + at + length, size - at - length);
                size -= length;
            } else if (size + length <= sizeof copy) {
                memmove(copy + at + length, copy + at, size - at);
                size += length;
            }
        }
        const slw_warm_config_options o = config_options();
        slw_warm_config *config = NULL;
        forget();
        const slw_code rc = slw_warm_config_parse(&o, (slw_bytes){copy, size}, &config, &world.err);
        ck_assert_int_eq(rc == SLW_OK, config != NULL);
        ck_assert_int_eq(rc == SLW_OK, told.problem_count == 0);
        ck_assert_int_eq(world.err.code, rc);
        good += rc == SLW_OK;
        slw_warm_config_release(&config);
    }
    ck_assert_uint_gt(good, 10);
}
END_TEST

START_TEST(configurations_without_memory) {
    (void)write_named("k.c", good_text);
    static const char text[] = HEAD "{\"source\":\"k.c\",\"flags\":[\"-O1\"],\"include_roots\":[\"inc\"]},\n"
                                    "{\"source\":\"k.c\",\"targets\":[\"host\"],\"store_binary_only\":true}]}";
    for (uint64_t n = 1;; n++) {
        slw_warm_config *config = NULL;
        slt_heap_reset(&world.heap);
        world.heap.fail_at = n;
        const slw_code rc = parse(text, &config);
        const int met = world.heap.failed > 0;
        world.heap.fail_at = 0;
        ck_assert_int_eq(rc, met ? SLW_E_NO_MEMORY : SLW_OK);
        ck_assert_int_eq(config != NULL, rc == SLW_OK);
        slw_warm_config_release(&config);
        if (!met) break;
    }
}
END_TEST

/* The list's own memory: what fails before the first build fails the whole, later it fails a request. */
START_TEST(lists_without_memory) {
    const char *path = write_named("k.c", good_text);
    slw_warm_request requests[2] = {request_of(path, 0), request_of(path, 1)};
    slt_ok(slw_warm(&options, requests, 2, &counts, &world.err), &world.err);
    options.jobs = 1;
    int whole = 0;
    for (uint64_t n = 1; n < 40; n++) {
        forget();
        slt_heap_reset(&world.heap);
        world.heap.fail_at = n;
        const slw_code rc = slw_warm(&options, requests, 2, &counts, &world.err);
        world.heap.fail_at = 0;
        ck_assert_msg(rc == SLW_OK || rc == SLW_E_NO_MEMORY, "%s %s", slw_code_name(rc), world.err.message);
        whole += rc != SLW_OK;
        if (rc != SLW_OK) ck_assert_uint_eq(told.count, 0);
    }
    ck_assert_int_gt(whole, 5);
    nothing_left();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle warm");
    TCase *c = tcase_create("warm");
    tcase_set_timeout(c, 240);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, built_and_then_hit);
    tcase_add_test(c, private_where_that_is_wanted_and_where_it_is_not);
    tcase_add_test(c, one_that_fails);
    tcase_add_test(c, one_that_is_wrong_and_nothing_is_built);
    tcase_add_test(c, usage);
    tcase_add_test(c, cancelled);
    tcase_add_test(c, so_many_at_a_time_and_no_more);
    tcase_add_test(c, a_configuration);
    tcase_add_loop_test(c, wrong_configurations, 0, (int)(sizeof wrongs / sizeof *wrongs));
    tcase_add_test(c, every_problem_is_told);
    tcase_add_test(c, very_many_problems);
    tcase_add_test(c, damaged_configurations);
    tcase_add_test(c, configurations_without_memory);
    tcase_add_test(c, lists_without_memory);
    suite_add_tcase(suite, c);
    if (access("/usr/bin/gcc", X_OK) != 0) {
        slt_skip("lifecycle warm", "no /usr/bin/gcc");
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
