/* The OpenMetrics exposition, judged by a reader of its own. */
#include "kit.h"

#include "measure.h"
#include "openmetrics.h"

static kit world;
static slw_metrics *metrics;

static void open_metrics(size_t trace_events) {
    slw_metrics_options options = SLW_METRICS_OPTIONS_INIT;
    options.allocator = world.heap.allocator;
    options.trace_events = trace_events;
    slt_ok(slw_metrics_create(&options, &metrics, &world.err), &world.err);
}

static void setup(void) {
    memset(&world, 0, sizeof world);
    slt_heap_init(&world.heap);
    world.err = (slw_error)SLW_ERROR_INIT;
    open_metrics(0);
}

static void teardown(void) {
    slw_metrics_release(&metrics);
    slt_heap_check_empty(&world.heap);
}

static void send(slw_phase phase, const char *backend, const char *target, const char *stage, const char *outcome,
                 slw_code code, uint64_t duration_ns) {
    const slw_error err = SLW_ERROR_INIT;
    slwi_moment moment = slwi_moment_begin(metrics, phase);
    moment.backend = backend;
    moment.target = target;
    moment.stage = stage;
    moment.outcome = outcome;
    moment.bytes = 100;
    moment.duration_ns = duration_ns;
    ck_assert_int_eq(slwi_moment_send(&moment, code, &err), code);
}

static om_text *exposition(void) {
    slw_text text = SLW_TEXT_INIT;
    slt_ok(slw_metrics_export(metrics, SLW_EXPORT_OPENMETRICS, &text, &world.err), &world.err);
    ck_assert_uint_eq(strlen(text.data), text.size);
    om_text *om = om_parse(text.data, text.size);
    slw_text_release(&text);
    return om;
}

static void ck_value(const om_text *om, const char *name, double wanted) {
    const double value = om_value(om, name);
    ck_assert_msg(value == wanted, "%s is %.12g, not %.12g", name, value, wanted);
}

START_TEST(nothing_counted) {
    om_text *om = exposition();
    char build[128];
    (void)snprintf(build, sizeof build, "slipway_build_info{version=\"%s\"}", slw_version());
    ck_value(om, build, 1);
    ck_assert_uint_eq(om->sample_count, 1);
    ck_assert_uint_ge(om->family_count, 6);
    om_free(om);
}
END_TEST

START_TEST(counts_and_ratios) {
    for (int i = 0; i < 3; i++) send(SLW_PHASE_LOOKUP, "cuda", "sm_90", NULL, "HIT", SLW_OK, 1000);
    send(SLW_PHASE_LOOKUP, "cuda", "sm_90", NULL, "MISS", SLW_E_MISS, 1000);
    send(SLW_PHASE_LOOKUP, NULL, NULL, NULL, "MISS", SLW_E_MISS, 1000);
    send(SLW_PHASE_STAGE, "cuda", "sm_90", "ptx", NULL, SLW_E_COMPILE_FAILED, 5000000);
    send(SLW_PHASE_STAGE, "cuda", "sm_90", "ptx", NULL, SLW_E_BUILDER_FIRST + 7, 5000000);
    send(SLW_PHASE_STAGE, "cuda", "sm_90", "ptx", NULL, SLW_E_BUILDER_FIRST + 8, 5000000);
    om_text *om = exposition();
    ck_value(om, "slipway_transitions_total{backend=\"cuda\",outcome=\"HIT\",phase=\"lookup\",target=\"sm_90\"}", 3);
    ck_value(om, "slipway_transitions_total{backend=\"cuda\",outcome=\"MISS\",phase=\"lookup\",target=\"sm_90\"}", 1);
    ck_value(om, "slipway_lookup_hit_ratio{backend=\"cuda\",target=\"sm_90\"}", 0.75);
    ck_value(om, "slipway_lookup_hit_ratio", 0);
    ck_value(om, "slipway_transition_bytes_total{backend=\"cuda\",phase=\"lookup\",target=\"sm_90\"}", 400);
    ck_value(om, "slipway_errors_total{backend=\"cuda\",code=\"COMPILE_FAILED\",phase=\"stage\"}", 1);
    ck_value(om, "slipway_errors_total{backend=\"cuda\",code=\"BUILDER\",phase=\"stage\"}", 2);
    ck_assert(isnan(om_value(om, "slipway_errors_total{backend=\"cuda\",code=\"MISS\",phase=\"lookup\"}")));
    om_free(om);
}
END_TEST

/* le is inclusive: a duration of exactly 2^i ns is above the bound 2^i - 1 and not above the next. */
START_TEST(buckets_are_cumulative_and_exact) {
    static const uint64_t durations[] = {0, 1023, 1024, 2047, 2048, 1500000000u};
    for (size_t i = 0; i < 6; i++) send(SLW_PHASE_HYDRATE, "host", "t", NULL, NULL, SLW_OK, durations[i]);
    om_text *om = exposition();
    const char *bucket = "slipway_transition_duration_seconds_bucket{backend=\"host\",phase=\"hydrate\",target=\"t\"}";
    ck_assert(om_bucket(om, bucket, "0.000001023") == 2);
    ck_assert(om_bucket(om, bucket, "0.000002047") == 4);
    ck_assert(om_bucket(om, bucket, "0.000004095") == 5);
    ck_assert(om_bucket(om, bucket, "1.073741823") == 5);
    ck_assert(om_bucket(om, bucket, "2.147483647") == 6);
    ck_assert(om_bucket(om, bucket, "+Inf") == 6);
    ck_value(om, "slipway_transition_duration_seconds_sum{backend=\"host\",phase=\"hydrate\",target=\"t\"}",
             1.500006142);
    om_free(om);
}
END_TEST

START_TEST(long_durations_and_sums) {
    send(SLW_PHASE_FIRST_LAUNCH, "cuda", "sm_90", NULL, NULL, SLW_OK, UINT64_MAX - 1);
    send(SLW_PHASE_FIRST_LAUNCH, "cuda", "sm_90", NULL, NULL, SLW_OK, UINT64_MAX - 1);
    om_text *om = exposition();
    const char *labels = "{backend=\"cuda\",phase=\"first_launch\",target=\"sm_90\"}";
    char name[256];
    (void)snprintf(name, sizeof name, "slipway_transition_duration_seconds_sum%s", labels);
    ck_value(om, name, 18446744073.709551615);
    (void)snprintf(name, sizeof name, "slipway_transition_duration_seconds_bucket%s", labels);
    ck_assert(om_bucket(om, name, "2199.023255551") == 0);
    ck_assert(om_bucket(om, name, "+Inf") == 2);
    om_free(om);
}
END_TEST

/* What a label may hold comes back whole; what is no UTF-8 cannot make the text none; a character is not split. */
START_TEST(labels_are_escaped) {
    send(SLW_PHASE_HYDRATE, "a\"b\\c\nd", "{},=#", NULL, NULL, SLW_OK, 1);
    send(SLW_PHASE_HYDRATE, "\xff\xfe", "\xed\xa0\x80", NULL, NULL, SLW_OK, 1);
    char wide[200] = "";
    for (int i = 0; i < 40; i++) strcat(wide, "\xe2\x82\xac");
    send(SLW_PHASE_HYDRATE, "wide", wide, NULL, NULL, SLW_OK, 1);
    wide[63 - 63 % 3] = '\0';
    send(SLW_PHASE_HYDRATE, "wide", wide, NULL, NULL, SLW_OK, 1);
    char long_text[5000];
    memset(long_text, 'x', sizeof long_text);
    long_text[4999] = '\0';
    send(SLW_PHASE_STAGE, long_text, long_text, long_text, NULL, SLW_OK, 1);
    om_text *om = exposition();
    ck_value(om, "slipway_transition_bytes_total{backend=\"a\"b\\c\nd\",phase=\"hydrate\",target=\"{},=#\"}", 100);
    ck_value(om, "slipway_transition_bytes_total{backend=\"??\",phase=\"hydrate\",target=\"???\"}", 100);
    char name[400];
    (void)snprintf(name, sizeof name,
                   "slipway_transition_bytes_total{backend=\"wide\",phase=\"hydrate\",target=\"%s\"}", wide);
    ck_value(om, name, 200);
    long_text[SLW_LIMIT_METRICS_LABEL_BYTES] = '\0';
    (void)snprintf(name, sizeof name,
                   "slipway_transition_bytes_total{backend=\"%.63s\",phase=\"stage\",stage=\"%.63s\",target=\"%.63s\"}",
                   long_text, long_text, long_text);
    ck_value(om, name, 100);
    om_free(om);
}
END_TEST

/* The overflow is one series, told apart from a backend that is really called "other", and the sums stay right. */
START_TEST(the_rest_is_one_series) {
    send(SLW_PHASE_LOOKUP, "other", "other", NULL, "HIT", SLW_OK, 1);
    for (int i = 0; i < 100000; i++) {
        char target[32];
        (void)snprintf(target, sizeof target, "t%d", i);
        send(SLW_PHASE_LOOKUP, "cuda", target, NULL, i % 2 == 0 ? "HIT" : "MISS", i % 2 == 0 ? SLW_OK : SLW_E_MISS, 1);
    }
    send(SLW_PHASE_HYDRATE, "cuda", "late", NULL, NULL, SLW_OK, 1); /* another phase has its own room */
    om_text *om = exposition();
    const double rest = 100000 - (SLW_LIMIT_METRICS_SERIES - 1);
    double hits = om_value(om, "slipway_transitions_total{backend=\"other\",outcome=\"HIT\",overflow=\"true\","
                               "phase=\"lookup\",target=\"other\"}");
    hits += om_value(om, "slipway_transitions_total{backend=\"other\",outcome=\"MISS\",overflow=\"true\","
                         "phase=\"lookup\",target=\"other\"}");
    ck_assert(hits == rest);
    ck_value(om, "slipway_transitions_total{backend=\"other\",outcome=\"HIT\",phase=\"lookup\",target=\"other\"}", 1);
    ck_value(om, "slipway_transitions_total{backend=\"cuda\",outcome=\"OK\",phase=\"hydrate\",target=\"late\"}", 1);
    ck_assert_uint_eq(world.heap.live_blocks, 1);
    om_free(om);
}
END_TEST

START_TEST(errors_are_bounded_too) {
    for (int i = 0; i < 500; i++) {
        char backend[32];
        (void)snprintf(backend, sizeof backend, "b%d", i);
        send(SLW_PHASE_COMPILE, backend, NULL, NULL, NULL, SLW_E_TIMEOUT, 1);
    }
    om_text *om = exposition();
    double sum = 0;
    for (size_t i = 0; i < om->sample_count; i++)
        if (strcmp(om->samples[i].name, "slipway_errors_total") == 0) sum += om->samples[i].value;
    ck_assert(sum == 500);
    ck_assert(
        om_value(om, "slipway_errors_total{backend=\"other\",code=\"other\",overflow=\"true\",phase=\"compile\"}") > 0);
    om_free(om);
}
END_TEST

START_TEST(dropped_events_are_counted) {
    slw_metrics_release(&metrics);
    open_metrics(4);
    for (int i = 0; i < 10; i++) send(SLW_PHASE_HYDRATE, "host", "t", NULL, NULL, SLW_OK, 1);
    om_text *om = exposition();
    ck_value(om, "slipway_trace_dropped_events_total", 6);
    om_free(om);
}
END_TEST

START_TEST(no_memory) {
    for (int i = 0; i < 20; i++) send(SLW_PHASE_LOOKUP, "cuda", i % 2 ? "a" : "b", NULL, "HIT", SLW_OK, 1);
    for (uint64_t n = 1;; n++) {
        slt_heap_reset(&world.heap);
        world.heap.fail_at = n;
        slw_text text = SLW_TEXT_INIT;
        const slw_code rc = slw_metrics_export(metrics, SLW_EXPORT_OPENMETRICS, &text, &world.err);
        const int met = world.heap.failed > 0;
        world.heap.fail_at = 0;
        ck_assert_int_eq(rc, met ? SLW_E_NO_MEMORY : SLW_OK);
        if (rc != SLW_OK) ck_assert_ptr_null(text.data);
        slw_text_release(&text);
        ck_assert_uint_eq(world.heap.live_blocks, 1);
        if (!met) break;
        ck_assert_uint_lt(n, 100);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle metrics, OpenMetrics");
    TCase *c = tcase_create("openmetrics");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, nothing_counted);
    tcase_add_test(c, counts_and_ratios);
    tcase_add_test(c, buckets_are_cumulative_and_exact);
    tcase_add_test(c, long_durations_and_sums);
    tcase_add_test(c, labels_are_escaped);
    tcase_add_test(c, the_rest_is_one_series);
    tcase_add_test(c, errors_are_bounded_too);
    tcase_add_test(c, dropped_events_are_counted);
    tcase_add_test(c, no_memory);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
