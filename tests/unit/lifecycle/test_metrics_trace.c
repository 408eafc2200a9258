/* The Chrome trace: a bounded ring, exact times, spans that nest by thread. */
#include "kit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "json.h"
#include "measure.h"

static kit world;

static void open_traced(size_t trace_events, slw_metrics **out) {
    slw_metrics_options options = SLW_METRICS_OPTIONS_INIT;
    options.allocator = world.heap.allocator;
    options.trace_events = trace_events;
    slt_ok(slw_metrics_create(&options, out, &world.err), &world.err);
}

static void setup(void) {
    memset(&world, 0, sizeof world);
    world.err = (slw_error)SLW_ERROR_INIT;
    slt_heap_init(&world.heap);
}

static void teardown(void) {
    slw_metrics_release(&world.metrics);
    slt_heap_check_empty(&world.heap);
}

static slwi_json_document *trace_of(const slw_metrics *metrics) {
    slw_text text = SLW_TEXT_INIT;
    slwi_json_document *document = NULL;
    const slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
    slt_ok(slw_metrics_export(metrics, SLW_EXPORT_TRACE, &text, &world.err), &world.err);
    slt_ok(slwi_json_parse(NULL, (slw_bytes){text.data, text.size}, &limits, &document, &world.err), &world.err);
    slw_text_release(&text);
    return document;
}

static const slwi_json *events_of(const slwi_json_document *document) {
    return slwi_json_get(slwi_json_root(document), "traceEvents");
}

static const char *text_at(const slwi_json *object, const char *name) {
    slw_bytes text;
    return slwi_json_string(slwi_json_get(object, name), &text) ? text.data : NULL;
}

static uint64_t number_at(const slwi_json *object, const char *name) {
    uint64_t value = UINT64_MAX;
    ck_assert_msg(slwi_json_u64(slwi_json_get(object, name), &value), "%s", name);
    return value;
}

static double time_at(const slwi_json *object, const char *name) {
    double value = -1;
    ck_assert_msg(slwi_json_double(slwi_json_get(object, name), &value), "%s", name);
    return value;
}

/* The n-th event of a type; NULL: none. */
static const slwi_json *event_of(const slwi_json_document *document, const char *type, size_t nth) {
    const slwi_json *events = events_of(document);
    for (size_t i = 0; i < slwi_json_length(events); i++) {
        const slwi_json *at = slwi_json_item(events, i);
        if (strcmp(text_at(at, "ph"), type) == 0 && nth-- == 0) return at;
    }
    return NULL;
}

static uint64_t dropped(const slwi_json_document *document) {
    return number_at(slwi_json_get(slwi_json_root(document), "otherData"), "dropped_events");
}

static void send(slw_metrics *metrics, slw_phase phase, const char *target, uint64_t start_ns, uint64_t duration_ns) {
    slwi_moment moment = slwi_moment_begin(metrics, phase);
    moment.key = KIT_DIGEST_A;
    moment.backend = "cuda";
    moment.target = target;
    moment.stage = phase == SLW_PHASE_STAGE ? "ptx" : NULL;
    moment.start_ns = start_ns;
    moment.duration_ns = duration_ns;
    moment.bytes = 42;
    ck_assert_int_eq(slwi_moment_send(&moment, SLW_OK, NULL), SLW_OK);
}

START_TEST(empty) {
    open_traced(8, &world.metrics);
    slwi_json_document *document = trace_of(world.metrics);
    ck_assert_uint_eq(slwi_json_length(events_of(document)), 1); /* the name of the process */
    ck_assert_uint_eq(number_at(event_of(document, "M", 0), "pid"), (uint64_t)getpid());
    ck_assert_uint_eq(dropped(document), 0);
    slwi_json_free(&document);
}
END_TEST

START_TEST(one_event) {
    open_traced(8, &world.metrics);
    send(world.metrics, SLW_PHASE_STAGE, "sm_\"90\"\xff", 1234567890123456001u, 1000007);
    slw_text text = SLW_TEXT_INIT;
    slt_ok(slw_metrics_export(world.metrics, SLW_EXPORT_TRACE, &text, &world.err), &world.err);
    /* To the nanosecond, also where a double would round. */
    ck_assert_ptr_nonnull(strstr(text.data, "\"ts\":1234567890123456.001,\"dur\":1000.007,"));
    slw_text_release(&text);
    slwi_json_document *document = trace_of(world.metrics);
    const slwi_json *at = event_of(document, "X", 0);
    ck_assert_str_eq(text_at(at, "name"), "ptx");
    ck_assert_uint_eq(number_at(at, "pid"), (uint64_t)getpid());
    ck_assert_uint_ge(number_at(at, "tid"), 1);
    const slwi_json *args = slwi_json_get(at, "args");
    ck_assert_str_eq(text_at(args, "key"), KIT_DIGEST_A);
    ck_assert_str_eq(text_at(args, "phase"), "stage");
    ck_assert_str_eq(text_at(args, "outcome"), "OK");
    ck_assert_str_eq(text_at(args, "backend"), "cuda");
    ck_assert_str_eq(text_at(args, "target"), "sm_\"90\"?");
    ck_assert_str_eq(text_at(args, "stage"), "ptx");
    ck_assert_str_eq(text_at(args, "code"), "OK");
    ck_assert_uint_eq(number_at(args, "bytes"), 42);
    slwi_json_free(&document);
}
END_TEST

/* The last ones are kept, what is lost is counted and said, and an export takes nothing away. */
START_TEST(the_ring_is_bounded) {
    open_traced(5, &world.metrics);
    const uint64_t bytes = world.heap.live_bytes;
    for (uint64_t n = 1; n <= 13; n++) {
        send(world.metrics, SLW_PHASE_HYDRATE, "t", n * 1000, 1);
        slwi_json_document *document = trace_of(world.metrics);
        const uint64_t kept = n < 5 ? n : 5;
        ck_assert_uint_eq(dropped(document), n - kept);
        ck_assert_int_eq(event_of(document, "i", 0) != NULL, n > 5);
        for (uint64_t i = 0; i < kept; i++)
            ck_assert(time_at(event_of(document, "X", i), "ts") == (double)(n - kept + 1 + i));
        ck_assert_ptr_null(event_of(document, "X", kept));
        slwi_json_free(&document);
    }
    ck_assert_uint_eq(world.heap.live_bytes, bytes);
}
END_TEST

/* What contains comes first, also of spans that begin at one instant; one of no length inside it too. */
START_TEST(containers_first) {
    open_traced(16, &world.metrics);
    send(world.metrics, SLW_PHASE_STAGE, "inner", 5000, 0);
    send(world.metrics, SLW_PHASE_STAGE, "second", 6000, 1000);
    send(world.metrics, SLW_PHASE_PAYLOAD, "alike", 5000, 9000);
    send(world.metrics, SLW_PHASE_COMPILE, "outer", 5000, 9000);
    slwi_json_document *document = trace_of(world.metrics);
    static const char *const order[] = {"outer", "alike", "inner", "second"};
    for (size_t i = 0; i < 4; i++)
        ck_assert_str_eq(text_at(slwi_json_get(event_of(document, "X", i), "args"), "target"), order[i]);
    slwi_json_free(&document);
}
END_TEST

/* Two kernels of one thread, created and launched across one another, are no spans that nest: asynchronous pairs. */
START_TEST(first_launches_are_pairs) {
    open_traced(16, &world.metrics);
    send(world.metrics, SLW_PHASE_FIRST_LAUNCH, "sm_90", 1000, 5000);
    send(world.metrics, SLW_PHASE_FIRST_LAUNCH, "sm_90", 2000, 7000);
    slwi_json_document *document = trace_of(world.metrics);
    ck_assert_ptr_null(event_of(document, "X", 0));
    const char *ids[2];
    for (size_t i = 0; i < 2; i++) {
        const slwi_json *begin = event_of(document, "b", i);
        const slwi_json *end = event_of(document, "e", i);
        ids[i] = text_at(slwi_json_get(begin, "id2"), "local");
        ck_assert_str_eq(ids[i], text_at(slwi_json_get(end, "id2"), "local"));
        ck_assert(time_at(begin, "ts") == (i == 0 ? 1 : 2));
        ck_assert(time_at(end, "ts") == (i == 0 ? 6 : 9));
        ck_assert_str_eq(text_at(begin, "name"), text_at(end, "name"));
        ck_assert_str_eq(text_at(begin, "cat"), text_at(end, "cat"));
    }
    ck_assert_str_ne(ids[0], ids[1]);
    slwi_json_free(&document);
}
END_TEST

/* Spans of one thread nest or lie apart: every pair is looked at. Gives how many lie in another. */
static int check_nesting(const slwi_json_document *document) {
    int inside = 0;
    for (size_t i = 0;; i++) {
        const slwi_json *a = event_of(document, "X", i);
        if (a == NULL) return inside;
        const double start = time_at(a, "ts");
        const double end = start + time_at(a, "dur");
        for (size_t k = i + 1;; k++) {
            const slwi_json *b = event_of(document, "X", k);
            if (b == NULL) break;
            if (number_at(a, "tid") != number_at(b, "tid")) continue;
            const double other = time_at(b, "ts");
            const double other_end = other + time_at(b, "dur");
            ck_assert_msg(other >= start, "%s before %s", text_at(b, "name"), text_at(a, "name"));
            /* A double of microseconds holds a tenth of a nanosecond here. */
            ck_assert_msg(other >= end - 0.0005 || other_end <= end + 0.0005, "%s crosses %s", text_at(b, "name"),
                          text_at(a, "name"));
            inside += other_end <= end && other < end;
        }
    }
}

static slw_code stages_build(void *context, const slw_build_context *build, slw_error *err) {
    slw_metrics *metrics = ((kit *)context)->metrics;
    slwi_moment stage = slwi_moment_begin(metrics, SLW_PHASE_STAGE);
    stage.stage = "made_up";
    const slw_code rc = kit_build(context, build, err);
    return slwi_moment_send(&stage, rc, err);
}

/* Real transitions of two threads, builds with a stage inside. */
static void *whole_way(void *context) {
    const kit *k = context;
    kit mine = {.store = k->store, .device = k->device, .key = k->key, .spec = k->spec};
    mine.err = (slw_error)SLW_ERROR_INIT;
    for (int i = 0; i < 5; i++) {
        const slw_grid grid = kit_grid(1, 1, 1);
        slw_launchable *launchable = kit_make(&mine, "none", 32);
        slt_ok(kit_launch(&mine, launchable, &grid, 0, NULL), &mine.err);
        slw_launchable_discard(&launchable);
    }
    return NULL;
}

START_TEST(spans_nest_by_thread) {
    static kit real;
    memset(&real, 0, sizeof real);
    kit_open(&real);
    slw_metrics_release(&real.metrics);
    slw_store_close(&real.store);
    open_traced(1000, &real.metrics);
    kit_open_store(&real);
    slt_shell("rm -rf '%s'", kit_slot(&real));
    slw_builder builder = SLW_BUILDER_INIT;
    slw_cached *cached = NULL;
    builder.context = &real;
    builder.build = stages_build;
    slt_ok(slw_store_get_or_build(real.store, real.key, real.spec, &builder, NULL, &cached, &real.err), &real.err);
    slw_cached_discard(&cached);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, whole_way, &real), 0);
    for (int i = 0; i < 2; i++) ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    slwi_json_document *document = trace_of(real.metrics);
    ck_assert_int_ge(check_nesting(document), 1); /* the stage in the compile */
    uint64_t tids[64] = {0};
    size_t tid_count = 0;
    for (size_t i = 0; event_of(document, "X", i) != NULL; i++) {
        const uint64_t tid = number_at(event_of(document, "X", i), "tid");
        size_t at = 0;
        while (at < tid_count && tids[at] != tid) at++;
        if (at == tid_count) tids[tid_count++] = tid;
        ck_assert_uint_lt(tid_count, 64);
    }
    ck_assert_uint_eq(tid_count, 3);
    for (size_t i = 0; i < 10; i++) ck_assert_ptr_nonnull(event_of(document, "e", i));
    slwi_json_free(&document);
    kit_close(&real);
}
END_TEST

static atomic_int stop;

static void *send_often(void *context) {
    for (int i = 0; i < 2000; i++) send(context, SLW_PHASE_HYDRATE, i % 2 ? "a" : "b", (uint64_t)i * 10 + 1, 5);
    return NULL;
}

static void *export_often(void *context) {
    static const int formats[] = {SLW_EXPORT_TRACE, SLW_EXPORT_OPENMETRICS, SLW_EXPORT_JSON};
    slw_error err = SLW_ERROR_INIT;
    for (int i = 0; atomic_load(&stop) == 0; i++) {
        slw_text text = SLW_TEXT_INIT;
        slt_ok(slw_metrics_export(context, formats[i % 3], &text, &err), &err);
        slw_text_release(&text);
    }
    return NULL;
}

START_TEST(many_threads) {
    enum { THREADS = 4 };
    open_traced(256, &world.metrics);
    pthread_t threads[THREADS], exporter;
    ck_assert_int_eq(pthread_create(&exporter, NULL, export_often, world.metrics), 0);
    for (int i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, send_often, world.metrics), 0);
    for (int i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    atomic_store(&stop, 1);
    ck_assert_int_eq(pthread_join(exporter, NULL), 0);
    slwi_json_document *document = trace_of(world.metrics);
    ck_assert_uint_eq(dropped(document), THREADS * 2000 - 256);
    ck_assert_ptr_nonnull(event_of(document, "X", 255));
    ck_assert_ptr_null(event_of(document, "X", 256));
    slwi_json_free(&document);
}
END_TEST

/* A forked child may export what there was, adds nothing, and hangs at nothing. */
START_TEST(a_forked_child) {
    open_traced(8, &world.metrics);
    send(world.metrics, SLW_PHASE_HYDRATE, "t", 1, 1);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        send(world.metrics, SLW_PHASE_HYDRATE, "t", 2, 1);
        slw_text text = SLW_TEXT_INIT;
        const int good = slw_metrics_export(world.metrics, SLW_EXPORT_TRACE, &text, NULL) == SLW_OK &&
                         strstr(text.data, "\"ts\":0.001") != NULL && strstr(text.data, "\"ts\":0.002") == NULL;
        _exit(good ? 0 : 1);
    }
    int status = 1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(no_memory) {
    for (uint64_t n = 1;; n++) {
        slt_heap_reset(&world.heap);
        world.heap.fail_at = n;
        slw_metrics_options options = SLW_METRICS_OPTIONS_INIT;
        options.allocator = world.heap.allocator;
        options.trace_events = 100;
        const slw_code rc = slw_metrics_create(&options, &world.metrics, &world.err);
        if (rc == SLW_OK) break;
        ck_assert_int_eq(rc, SLW_E_NO_MEMORY);
        ck_assert_ptr_null(world.metrics);
        ck_assert_uint_eq(world.heap.live_blocks, 0);
        ck_assert_uint_lt(n, 10);
    }
    for (uint64_t i = 0; i < 50; i++) send(world.metrics, SLW_PHASE_HYDRATE, "t", i + 1, 1);
    for (uint64_t n = 1;; n++) {
        slt_heap_reset(&world.heap);
        world.heap.fail_at = n;
        slw_text text = SLW_TEXT_INIT;
        const slw_code rc = slw_metrics_export(world.metrics, SLW_EXPORT_TRACE, &text, &world.err);
        const int met = world.heap.failed > 0;
        world.heap.fail_at = 0;
        ck_assert_int_eq(rc, met ? SLW_E_NO_MEMORY : SLW_OK);
        if (rc != SLW_OK) ck_assert_ptr_null(text.data);
        slw_text_release(&text);
        ck_assert_uint_eq(world.heap.live_blocks, 2);
        if (!met) break;
        ck_assert_uint_lt(n, 100);
    }
    slwi_json_document *document = trace_of(world.metrics); /* and nothing was lost by the failures */
    ck_assert_ptr_nonnull(event_of(document, "X", 49));
    slwi_json_free(&document);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle metrics, trace");
    TCase *c = tcase_create("trace");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, empty);
    tcase_add_test(c, one_event);
    tcase_add_test(c, the_ring_is_bounded);
    tcase_add_test(c, containers_first);
    tcase_add_test(c, first_launches_are_pairs);
    tcase_add_test(c, spans_nest_by_thread);
    tcase_add_test(c, many_threads);
    tcase_add_test(c, a_forked_child);
    tcase_add_test(c, no_memory);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
