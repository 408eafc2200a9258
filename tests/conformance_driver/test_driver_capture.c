/* Pitfall 37: a capture goes on through everything of ours, or is told to be in the way before anything ends it. */
#include "gpu_way.h"

static int (*exchange)(int *);

static const char *exchange_name(int kind) {
    return kind == 0 ? "cuThreadExchangeStreamCaptureMode" : "hipThreadExchangeStreamCaptureMode";
}

/* Gives the thread a capture mode; the one it had. */
static int mode_now(int mode) {
    ck_assert_int_eq(exchange(&mode), 0);
    return mode;
}

/* ---- Another thread captures ----------------------------------------------------------------------------------- */

static void outlive(int mode) {
    slw_stream stream = SLW_STREAM_DEFAULT;
    slt_ok(slw_device_stream_create(w.device, &stream, &w.err), &w.err);
    ck_assert_int_eq(mode_now(mode), 0);
    w.d.control->set(DOUBLE_CAPTURE, 1);
    slw_launchable *launchable = make("second", 0);
    slt_ok(launch(launchable, stream), &w.err);
    slt_ok(slw_launchable_retire(&launchable, &stream, 1, 0, &w.err), &w.err);
    ck_assert_int_eq(w.d.control->get(DOUBLE_CAPTURES_BROKEN), 0);
    w.d.control->set(DOUBLE_CAPTURE, 0);
    ck_assert_int_eq(mode_now(0), mode); /* the caller's own, as it was */
    slt_ok(slw_device_stream_destroy(w.device, &stream, &w.err), &w.err);
}

START_TEST(pitfall_37_a_capture_outlives_a_load) {
    start(_i);
    find(exchange_name(_i), &exchange);
    if (_i == 0) w.d.control->set(DOUBLE_LAZY, 1);
    for (int mode = 0; mode < 3; mode++) outlive(mode);
    stop();
}
END_TEST

/* A driver that cannot be told: its own answer, and none that the image is blamed for. */
START_TEST(a_load_during_a_capture_that_cannot_be_told) {
    slt_double before;
    slt_double_open(&before, kinds[_i]);
    before.control->hide(exchange_name(_i));
    start(_i);
    slw_hydrated *hydrated = hydrate();
    slw_hydrated *const same = hydrated;
    slw_device_loaded *loaded = NULL;
    slw_device_counts counts = SLW_DEVICE_COUNTS_INIT;
    w.d.control->set(DOUBLE_CAPTURE, 1);
    ck_assert_int_eq(slw_device_load(&hydrated, w.device, &loaded, &w.err), SLW_E_DRIVER);
    ck_assert_int_eq(w.err.raw_code, 900);
    ck_assert_ptr_eq(hydrated, same);
    ck_assert_ptr_null(loaded);
    slt_ok(slw_device_get_counts(w.device, &counts, &w.err), &w.err);
    ck_assert_uint_eq(counts.failures_remembered, 0);
    w.d.control->set(DOUBLE_CAPTURE, 0);
    slt_ok(slw_device_load(&hydrated, w.device, &loaded, &w.err), &w.err);
    slw_device_loaded_discard(&loaded);
    ck_assert_uint_eq(w.d.control->count(exchange_name(_i)), 0);
    stop();
}
END_TEST

/* ---- A stream that captures ------------------------------------------------------------------------------------ */

static void refused_capturing(slw_code code) {
    ck_assert_int_eq(code, SLW_E_USAGE);
    ck_assert_str_eq(w.err.reason, "CAPTURING");
    ck_assert_int_eq(w.d.control->get(DOUBLE_CAPTURES_BROKEN), 0);
    ck_assert_int_eq(w.d.control->thread_balance(), 0);
}

/* Told before any call that would end the capture; a launch on it is recorded. Afterwards everything goes on. */
START_TEST(a_stream_that_captures_is_not_waited_for) {
    start(_i);
    slw_stream stream = SLW_STREAM_DEFAULT, other = SLW_STREAM_DEFAULT;
    uint64_t sum = 1;
    slt_ok(slw_device_stream_create(w.device, &stream, &w.err), &w.err);
    slt_ok(slw_device_stream_create(w.device, &other, &w.err), &w.err);
    slw_launchable *launchable = make("first", 0);
    slw_launchable *const same = launchable;
    w.d.control->set(DOUBLE_CAPTURING_STREAM, (long)(intptr_t)stream.native);
    slt_ok(launch(launchable, stream), &w.err);
    refused_capturing(slw_launchable_retire(&launchable, &stream, 1, 0, &w.err));
    ck_assert_ptr_eq(launchable, same);
    const slw_stream both[] = {other, stream};
    refused_capturing(slw_launchable_retire(&launchable, both, 2, 0, &w.err));
    refused_capturing(slw_launchable_retire(&launchable, &null_stream, 1, 0, &w.err));
    refused_capturing(slw_device_synchronize(w.device, &stream, &w.err));
    ck_assert_uint_eq(w.d.control->count(slt_gpu_call(w.kind, "unload")), 0);
    slt_ok(slw_device_synchronize(w.device, &other, &w.err), &w.err); /* in nobody's way */
    w.d.control->set(DOUBLE_CAPTURING_STREAM, 0);
    slt_ok(slw_device_copy_out(w.device, &sum, w.sum, sizeof sum, &w.err), &w.err);
    ck_assert_uint_eq(sum, 0); /* recorded, not run */
    slt_ok(slw_device_synchronize(w.device, &stream, &w.err), &w.err);
    slt_ok(slw_launchable_retire(&launchable, both, 2, 0, &w.err), &w.err);
    slt_ok(slw_device_stream_destroy(w.device, &stream, &w.err), &w.err);
    slt_ok(slw_device_stream_destroy(w.device, &other, &w.err), &w.err);
    stop();
}
END_TEST

/* The whole device: the default stream's answer tells that one of it captures. */
START_TEST(a_device_that_captures_is_not_waited_for) {
    start(_i);
    slw_stream stream = SLW_STREAM_DEFAULT;
    slt_ok(slw_device_stream_create(w.device, &stream, &w.err), &w.err);
    w.d.control->set(DOUBLE_CAPTURING_STREAM, (long)(intptr_t)stream.native);
    refused_capturing(slw_device_synchronize(w.device, NULL, &w.err));
    w.d.control->set(DOUBLE_CAPTURING_STREAM, 0);
    slt_ok(slw_device_synchronize(w.device, NULL, &w.err), &w.err);
    slt_ok(slw_device_stream_destroy(w.device, &stream, &w.err), &w.err);
    stop();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("captures");
    TCase *tcase = tcase_create("capture");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, pitfall_37_a_capture_outlives_a_load, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, a_load_during_a_capture_that_cannot_be_told, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, a_stream_that_captures_is_not_waited_for, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, a_device_that_captures_is_not_waited_for, 0, GPU_KINDS);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
