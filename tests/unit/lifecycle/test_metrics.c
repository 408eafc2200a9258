/* Events, counters and the JSON snapshot. */
#include "kit.h"

#include <pthread.h>

#include "json.h"
#include "metrics_state.h"

static kit world;

static void setup(void) {
    memset(&world, 0, sizeof world);
    kit_open(&world);
}

static void teardown(void) {
    kit_close(&world);
}

static slwi_json_document *parse(slw_bytes text) {
    const slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
    slwi_json_document *document = NULL;
    slt_ok(slwi_json_parse(NULL, text, &limits, &document, &world.err), &world.err);
    return document;
}

static slwi_json_document *snapshot(const slw_metrics *metrics) {
    slw_text text = SLW_TEXT_INIT;
    slt_ok(slw_metrics_snapshot(metrics, &text, &world.err), &world.err);
    slwi_json_document *document = parse((slw_bytes){text.data, text.size});
    slw_text_release(&text);
    return document;
}

static uint64_t number(const slwi_json *object, const char *name) {
    uint64_t value = UINT64_MAX;
    ck_assert_msg(slwi_json_u64(slwi_json_get(object, name), &value), "%s", name);
    return value;
}

static int text_is(const slwi_json *object, const char *name, const char *wanted) {
    slw_bytes text;
    if (!slwi_json_string(slwi_json_get(object, name), &text)) return wanted == NULL;
    return wanted != NULL && strcmp(text.data, wanted) == 0;
}

/* The row of a phase, backend and target (NULL: absent); NULL: none. */
static const slwi_json *row(const slwi_json_document *document, const char *phase, const char *backend,
                            const char *target) {
    const slwi_json *rows = slwi_json_get(slwi_json_root(document), "transitions");
    for (size_t i = 0; i < slwi_json_length(rows); i++) {
        const slwi_json *at = slwi_json_item(rows, i);
        if (text_is(at, "phase", phase) && text_is(at, "backend", backend) && text_is(at, "target", target)) return at;
    }
    return NULL;
}

START_TEST(phase_names) {
    static const char *const names[] = {"lookup",      "compile",         "stage",        "hydrate", "payload",
                                        "device_load", "make_launchable", "first_launch", "audit"};
    for (int i = 0; i < SLW_PHASE_COUNT; i++) ck_assert_str_eq(slw_phase_name((slw_phase)i), names[i]);
    ck_assert_ptr_null(slw_phase_name(SLW_PHASE_COUNT));
    ck_assert_ptr_null(slw_phase_name((slw_phase)-1));
}
END_TEST

START_TEST(usage) {
    slw_metrics *metrics = NULL;
    slw_metrics_options options = SLW_METRICS_OPTIONS_INIT;
    ck_assert_int_eq(slw_metrics_create(&options, NULL, &world.err), SLW_E_USAGE);
    options.size = 1;
    ck_assert_int_eq(slw_metrics_create(&options, &metrics, &world.err), SLW_E_USAGE);
    ck_assert_ptr_null(metrics);
    slw_text text = SLW_TEXT_INIT;
    ck_assert_int_eq(slw_metrics_snapshot(NULL, &text, &world.err), SLW_E_USAGE);
    ck_assert_int_eq(slw_metrics_snapshot(world.metrics, NULL, &world.err), SLW_E_USAGE);
    for (int format = SLW_EXPORT_JSON; format <= SLW_EXPORT_TRACE; format++) {
        ck_assert_int_eq(slw_metrics_export(NULL, format, &text, &world.err), SLW_E_USAGE);
        ck_assert_int_eq(slw_metrics_export(world.metrics, format, NULL, &world.err), SLW_E_USAGE);
    }
    ck_assert_int_eq(slw_metrics_export(world.metrics, SLW_EXPORT_TRACE, &text, &world.err), SLW_E_USAGE);
    ck_assert_str_eq(world.err.reason, "NO_TRACE");
    ck_assert_int_eq(slw_metrics_export(world.metrics, 9, &text, &world.err), SLW_E_USAGE);
    ck_assert_ptr_null(text.data);
    slt_ok(slw_metrics_export(world.metrics, SLW_EXPORT_JSON, &text, &world.err), &world.err);
    slw_text_release(&text);
    options.size = sizeof options;
    options.trace_events = (size_t)SLW_LIMIT_TRACE_EVENTS + 1;
    ck_assert_int_eq(slw_metrics_create(&options, &metrics, &world.err), SLW_E_LIMIT);
    ck_assert_uint_eq(world.err.limit, SLW_LIMIT_TRACE_EVENTS);
    ck_assert_ptr_null(metrics);
    slw_metrics_release(NULL);
    slw_metrics_release(&metrics);
    slt_ok(slw_metrics_create(NULL, &metrics, &world.err), &world.err);
    slw_metrics_release(&metrics);
    ck_assert_ptr_null(metrics);
}
END_TEST

START_TEST(snapshot_counts) {
    const slw_grid grid = kit_grid(1, 1, 1);
    for (int i = 0; i < 3; i++) {
        slw_launchable *launchable = kit_make(&world, "none", 32);
        slt_ok(kit_launch(&world, launchable, &grid, 0, NULL), &world.err);
        slw_launchable_discard(&launchable);
    }
    slwi_json_document *document = snapshot(world.metrics);
    const slwi_json *lookups = row(document, "lookup", NULL, NULL);
    ck_assert_ptr_nonnull(lookups);
    /* Three hits, and the miss with which the kit published. */
    ck_assert_uint_eq(number(lookups, "count"), 4);
    ck_assert_uint_eq(number(slwi_json_get(lookups, "outcomes"), "HIT"), 3);
    ck_assert_uint_eq(number(slwi_json_get(lookups, "outcomes"), "MISS"), 1);
    const slwi_json *loads = row(document, "device_load", "null", "null");
    ck_assert_uint_eq(number(loads, "count"), 3);
    ck_assert_uint_eq(number(loads, "bytes"), 3 * strlen(world.binary));
    ck_assert_uint_gt(number(loads, "total_ns"), 0);
    const slwi_json *histogram = slwi_json_get(loads, "histogram");
    uint64_t sum = 0;
    for (size_t i = 0; i < slwi_json_length(histogram); i++) sum += number(slwi_json_item(histogram, i), "count");
    ck_assert_uint_eq(sum, 3);
    const slwi_json *first = slwi_json_item(slwi_json_get(slwi_json_root(document), "creation_to_first_launch"), 0);
    ck_assert_uint_eq(number(first, "count"), 3);
    ck_assert(text_is(first, "target", "null"));
    const slwi_json *ratio = slwi_json_item(slwi_json_get(slwi_json_root(document), "hit_ratio"), 0);
    double value = 0;
    ck_assert(slwi_json_double(slwi_json_get(ratio, "ratio"), &value));
    ck_assert(value == 0.75);
    slwi_json_free(&document);
}
END_TEST

START_TEST(snapshot_is_canonical) {
    slw_launchable *launchable = kit_make(&world, "none", 32);
    slw_launchable_discard(&launchable);
    slw_text text = SLW_TEXT_INIT;
    slt_ok(slw_metrics_snapshot(world.metrics, &text, &world.err), &world.err);
    slwi_json_document *document = parse((slw_bytes){text.data, text.size});
    slw_allocator libc = SLW_ALLOCATOR_INIT;
    slwi_buffer again;
    slwi_json_writer writer;
    slwi_buffer_init(&again, &libc, SIZE_MAX);
    slwi_json_begin(&writer, &again, 1);
    slwi_json_put_node(&writer, slwi_json_root(document));
    ck_assert_int_eq(again.failed, 0);
    ck_assert_uint_eq(again.size, text.size);
    ck_assert_mem_eq(again.data, text.data, text.size);
    slwi_buffer_free(&again);
    slwi_json_free(&document);
    slw_text_release(&text);
}
END_TEST

static slw_code emit(slw_metrics *metrics, slw_phase phase, const char *target, uint64_t duration_ns, uint64_t bytes) {
    slwi_moment moment = slwi_moment_begin(metrics, phase);
    moment.backend = "made_up";
    moment.target = target;
    moment.duration_ns = duration_ns;
    moment.bytes = bytes;
    return slwi_moment_send(&moment, SLW_OK, NULL);
}

START_TEST(durations_fall_into_their_buckets) {
    static const uint64_t durations[] = {0, 1, 2, 3, 4, 1023, 1024, UINT64_MAX - 1};
    for (size_t i = 0; i < 8; i++) emit(world.metrics, SLW_PHASE_STAGE, "t", durations[i], UINT64_MAX);
    slwi_json_document *document = snapshot(world.metrics);
    const slwi_json *at = row(document, "stage", "made_up", "t");
    ck_assert_uint_eq(number(at, "bytes"), UINT64_MAX); /* saturated, not wrapped */
    ck_assert_uint_eq(number(at, "total_ns"), UINT64_MAX);
    const slwi_json *histogram = slwi_json_get(at, "histogram");
    static const uint64_t below[] = {1, 2, 4, 8, 1024, 2048};
    static const uint64_t counts[] = {1, 1, 2, 1, 1, 1};
    ck_assert_uint_eq(slwi_json_length(histogram), 7);
    for (size_t i = 0; i < 6; i++) {
        ck_assert_uint_eq(number(slwi_json_item(histogram, i), "below_ns"), below[i]);
        ck_assert_uint_eq(number(slwi_json_item(histogram, i), "count"), counts[i]);
    }
    ck_assert_int_eq(slwi_json_kind(slwi_json_get(slwi_json_item(histogram, 6), "below_ns")), SLWI_JSON_NULL);
    slwi_json_free(&document);
}
END_TEST

static const slwi_json *section(const slwi_json_document *document, const char *name, size_t index) {
    return slwi_json_item(slwi_json_get(slwi_json_root(document), name), index);
}

static void emit_stage(const char *backend, const char *target, const char *stage, uint64_t duration_ns) {
    slwi_moment moment = slwi_moment_begin(world.metrics, SLW_PHASE_STAGE);
    moment.backend = backend;
    moment.target = target;
    moment.stage = stage;
    moment.duration_ns = duration_ns;
    moment.bytes = 5;
    ck_assert_int_eq(slwi_moment_send(&moment, SLW_OK, NULL), SLW_OK);
}

/* Lowering is by backend and stage, whatever the target. */
START_TEST(lowering_by_stage) {
    emit_stage("cuda", "sm_80", "ptx", 100);
    emit_stage("cuda", "sm_90", "ptx", 200);
    emit_stage("cuda", "sm_90", "cubin", 7);
    emit_stage("hip", "gfx942", "ptx", 9);
    slwi_json_document *document = snapshot(world.metrics);
    const slwi_json *lowering = slwi_json_get(slwi_json_root(document), "lowering");
    ck_assert_uint_eq(slwi_json_length(lowering), 3);
    int seen = 0;
    for (size_t i = 0; i < 3; i++) {
        const slwi_json *at = slwi_json_item(lowering, i);
        if (!text_is(at, "stage", "ptx") || !text_is(at, "backend", "cuda")) continue;
        seen++;
        ck_assert_uint_eq(number(at, "count"), 2);
        ck_assert_uint_eq(number(at, "total_ns"), 300);
        ck_assert_uint_eq(number(at, "mean_ns"), 150);
        ck_assert_uint_eq(number(at, "bytes"), 10);
    }
    ck_assert_int_eq(seen, 1);
    slwi_json_free(&document);
}
END_TEST

static void emit_code(slw_phase phase, slw_code code) {
    const slw_error err = SLW_ERROR_INIT;
    slwi_moment moment = slwi_moment_begin(world.metrics, phase);
    moment.backend = "cuda";
    if (phase == SLW_PHASE_LOOKUP) moment.outcome = slwi_lookup_outcome(code);
    (void)slwi_moment_send(&moment, code, &err);
}

START_TEST(errors_by_code) {
    world.event_count = KIT_EVENTS; /* the kit's listener compares records */
    slw_metrics_release(&world.metrics);
    slt_ok(slw_metrics_create(NULL, &world.metrics, &world.err), &world.err);
    emit_code(SLW_PHASE_LOOKUP, SLW_E_MISS);
    emit_code(SLW_PHASE_LOOKUP, SLW_E_INVALID_ENTRY);
    emit_code(SLW_PHASE_DEVICE_LOAD, SLW_E_DRIVER);
    emit_code(SLW_PHASE_DEVICE_LOAD, SLW_E_DRIVER);
    emit_code(SLW_PHASE_DEVICE_LOAD, SLW_E_LOST);
    slwi_json_document *document = snapshot(world.metrics);
    ck_assert_uint_eq(slwi_json_length(slwi_json_get(slwi_json_root(document), "errors")), 3); /* a miss is none */
    static const char *const codes[] = {"INVALID_ENTRY", "DRIVER", "LOST"};
    static const uint64_t counts[] = {1, 2, 1};
    for (size_t i = 0; i < 3; i++) {
        const slwi_json *at = section(document, "errors", i);
        ck_assert(text_is(at, "code", codes[i]));
        ck_assert(text_is(at, "backend", "cuda"));
        ck_assert(text_is(at, "phase", i == 0 ? "lookup" : "device_load"));
        ck_assert_uint_eq(number(at, "count"), counts[i]);
    }
    slwi_json_free(&document);
}
END_TEST

/* Of the real transitions: hydrate, load and creation to first launch, the last by the architecture of the device. */
START_TEST(sections_of_a_real_way) {
    const slw_grid grid = kit_grid(1, 1, 1);
    slw_launchable *launchable = kit_make(&world, "none", 32);
    slt_ok(kit_launch(&world, launchable, &grid, 0, NULL), &world.err);
    slw_launchable_discard(&launchable);
    slwi_json_document *document = snapshot(world.metrics);
    static const char *const names[] = {"hydrate", "device_load", "creation_to_first_launch"};
    for (size_t i = 0; i < 3; i++) {
        const slwi_json *at = section(document, names[i], 0);
        ck_assert_uint_eq(number(at, "count"), 1);
        ck_assert_uint_gt(number(at, "total_ns"), 0);
        ck_assert_uint_eq(number(at, "mean_ns"), number(at, "total_ns"));
        ck_assert(text_is(at, "backend", "null"));
    }
    slw_device_info info = SLW_DEVICE_INFO_INIT;
    slt_ok(slw_device_describe(world.device, &info, &world.err), &world.err);
    ck_assert(text_is(section(document, "creation_to_first_launch", 0), "target", info.target));
    slwi_json_free(&document);
}
END_TEST

START_TEST(the_table_is_bounded) {
    for (int i = 0; i < 1000; i++) {
        char target[32];
        (void)snprintf(target, sizeof target, "t%d", i);
        emit(world.metrics, SLW_PHASE_HYDRATE, target, 1, 1);
    }
    slwi_json_document *document = snapshot(world.metrics);
    const slwi_json *rows = slwi_json_get(slwi_json_root(document), "transitions");
    ck_assert_uint_le(slwi_json_length(rows), SLWI_METRICS_ROWS + SLW_PHASE_COUNT);
    uint64_t sum = 0;
    int overflowed = 0;
    for (size_t i = 0; i < slwi_json_length(rows); i++) {
        const slwi_json *at = slwi_json_item(rows, i);
        int overflow = 0;
        ck_assert(slwi_json_bool(slwi_json_get(at, "overflow"), &overflow));
        overflowed += overflow;
        if (text_is(at, "phase", "hydrate")) sum += number(at, "count");
    }
    ck_assert_uint_eq(sum, 1000); /* nothing is lost */
    ck_assert_int_eq(overflowed, 1);
    emit(world.metrics, SLW_PHASE_PAYLOAD, "late", 1, 1); /* one phase does not take another's room */
    slwi_json_document *later = snapshot(world.metrics);
    ck_assert_ptr_nonnull(row(later, "payload", "made_up", "late"));
    slwi_json_free(&later);
    slwi_json_free(&document);
}
END_TEST

START_TEST(long_names_are_cut_not_split) {
    char target[200];
    memset(target, 'x', sizeof target);
    target[199] = '\0';
    emit(world.metrics, SLW_PHASE_HYDRATE, target, 1, 1);
    emit(world.metrics, SLW_PHASE_HYDRATE, target, 1, 1);
    target[63] = '\0';
    slwi_json_document *document = snapshot(world.metrics);
    ck_assert_uint_eq(number(row(document, "hydrate", "made_up", target), "count"), 2);
    slwi_json_free(&document);
}
END_TEST

/* The listener may use the library, the metrics themselves included: no lock is held. */
static int nested;

static void using_listener(void *context, const slw_event *event) {
    slw_metrics **metrics = context;
    (void)event;
    if (nested++ > 0) return;
    slw_text text = SLW_TEXT_INIT;
    slw_error err = SLW_ERROR_INIT;
    ck_assert_int_eq(slw_metrics_snapshot(*metrics, &text, &err), SLW_OK);
    slw_text_release(&text);
    emit(*metrics, SLW_PHASE_STAGE, "nested", 1, 1);
}

START_TEST(listener_may_use_the_library) {
    slw_metrics *metrics = NULL;
    slw_metrics_options options = SLW_METRICS_OPTIONS_INIT;
    options.listener = using_listener;
    options.context = &metrics;
    slt_ok(slw_metrics_create(&options, &metrics, &world.err), &world.err);
    emit(metrics, SLW_PHASE_HYDRATE, "outer", 1, 1);
    ck_assert_int_eq(nested, 2);
    slw_metrics_release(&metrics);
}
END_TEST

START_TEST(handles_keep_the_metrics) {
    slw_hydrated *hydrated = kit_hydrate(&world);
    slw_metrics_release(&world.metrics);
    slw_store_close(&world.store);
    slw_bytes bytes = {NULL, 0};
    world.event_count = 0;
    slt_ok(slw_hydrated_payload(hydrated, KIT_BINARY, &bytes, &world.err), &world.err);
    ck_assert_ptr_nonnull(kit_event_of(&world, SLW_PHASE_PAYLOAD, 0));
    slw_hydrated_discard(&hydrated);
}
END_TEST

START_TEST(hydrate_options_name_another_listener) {
    static kit other;
    memset(&other, 0, sizeof other);
    slw_metrics *metrics = NULL;
    slw_metrics_options options = SLW_METRICS_OPTIONS_INIT;
    options.listener = kit_listen;
    options.context = &other;
    slt_ok(slw_metrics_create(&options, &metrics, &world.err), &world.err);
    slw_cached *cached = kit_lookup(&world);
    world.event_count = 0;
    slw_hydrate_options hydrate = SLW_HYDRATE_OPTIONS_INIT;
    hydrate.metrics = metrics;
    slw_hydrated *hydrated = NULL;
    slw_device_loaded *loaded = NULL;
    slt_ok(slw_hydrate(&cached, &hydrate, &hydrated, &world.err), &world.err);
    slw_metrics_release(&metrics);
    slt_ok(slw_device_load(&hydrated, world.device, &loaded, &world.err), &world.err);
    slw_device_loaded_discard(&loaded);
    ck_assert_uint_eq(world.event_count, 0);
    ck_assert_ptr_nonnull(kit_event_of(&other, SLW_PHASE_DEVICE_LOAD, 0));
}
END_TEST

/* What is only told is not counted. */
START_TEST(told_and_not_counted) {
    world.event_count = 0;
    const slw_stage_time stages[1] = {{"ptx", SLW_OK, 1, 2, 3}};
    slwi_moment moment = slwi_moment_begin(world.metrics, SLW_PHASE_COMPILE);
    moment.outcome = "HIT";
    moment.stages = stages;
    moment.stage_count = 1;
    ck_assert_int_eq(slwi_moment_tell(&moment, SLW_OK, NULL), SLW_OK);
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_COMPILE, 0)->outcome, "HIT");
    slwi_json_document *document = snapshot(world.metrics);
    const slwi_json *compiles = row(document, "compile", NULL, NULL); /* the kit's own build */
    ck_assert_uint_eq(number(compiles, "count"), 1);
    slwi_json_free(&document);
}
END_TEST

static void *emit_often(void *context) {
    for (int i = 0; i < 1000; i++) emit(context, SLW_PHASE_HYDRATE, i % 2 == 0 ? "even" : "odd", 1, 1);
    return NULL;
}

START_TEST(many_threads_count) {
    enum { THREADS = 8 };
    slw_metrics *metrics = NULL;
    slt_ok(slw_metrics_create(NULL, &metrics, &world.err), &world.err);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, emit_often, metrics), 0);
    slwi_json_document *document = snapshot(metrics);
    slwi_json_free(&document);
    for (int i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    document = snapshot(metrics);
    ck_assert_uint_eq(number(row(document, "hydrate", "made_up", "even"), "count"), THREADS * 500);
    ck_assert_uint_eq(number(row(document, "hydrate", "made_up", "odd"), "count"), THREADS * 500);
    slwi_json_free(&document);
    slw_metrics_release(&metrics);
}
END_TEST

START_TEST(no_memory) {
    for (uint64_t n = 1;; n++) {
        slt_heap_reset(&world.heap);
        world.heap.fail_at = n;
        slw_text text = SLW_TEXT_INIT;
        const slw_code rc = slw_metrics_snapshot(world.metrics, &text, &world.err);
        const int met = world.heap.failed > 0;
        slt_heap_reset(&world.heap);
        world.heap.fail_at = 0;
        ck_assert_int_eq(rc, met ? SLW_E_NO_MEMORY : SLW_OK);
        if (rc != SLW_OK) ck_assert_ptr_null(text.data);
        slw_text_release(&text);
        if (!met) break;
        ck_assert_uint_lt(n, 100);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle metrics");
    TCase *c = tcase_create("metrics");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, phase_names);
    tcase_add_test(c, usage);
    tcase_add_test(c, snapshot_counts);
    tcase_add_test(c, snapshot_is_canonical);
    tcase_add_test(c, durations_fall_into_their_buckets);
    tcase_add_test(c, lowering_by_stage);
    tcase_add_test(c, errors_by_code);
    tcase_add_test(c, sections_of_a_real_way);
    tcase_add_test(c, the_table_is_bounded);
    tcase_add_test(c, told_and_not_counted);
    tcase_add_test(c, long_names_are_cut_not_split);
    tcase_add_test(c, listener_may_use_the_library);
    tcase_add_test(c, handles_keep_the_metrics);
    tcase_add_test(c, hydrate_options_name_another_listener);
    tcase_add_test(c, many_threads_count);
    tcase_add_test(c, no_memory);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
