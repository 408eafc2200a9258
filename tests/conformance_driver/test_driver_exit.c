/* The end of a process, and a child of one: the vendor's library hears nothing that nobody asked for. */
#include <sys/wait.h>
#include <unistd.h>

#include "gpu_way.h"

/* What is open when the process ends; static, so that no leak checker takes it for lost. */
static slw_hydrated *hydrated;
static slw_device_loaded *loaded;
static slw_launchable *launchable;
static slw_device *host;
static slw_stream stream = SLW_STREAM_DEFAULT;

static void fill(void) {
    hydrated = hydrate();
    loaded = load();
    launchable = make("first", 0);
    slt_ok(slw_device_stream_create(w.device, &stream, &w.err), &w.err);
    slt_ok(launch(launchable, stream), &w.err);
    slt_ok(launch(launchable, null_stream), &w.err);
    w.d.control->log_clear();
}

/* ---- exit() ---------------------------------------------------------------------------------------------------- */

/* Handlers run in the opposite order of their installation. Whatever of ours was installed before the vendor's would
   come after it, whatever was installed later before it: neither does anything. */
static void vendor_first(int kind) {
    int (*init)(unsigned) = NULL;
    slt_double_open(&w.d, kinds[kind]);
    find(kind == 0 ? "cuInit" : "hipInit", &init);
    ck_assert_int_eq(init(0), 0);
}
static void ours_first(void) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slt_ok(slw_device_open(&options, &host, &w.err), &w.err);
}

static _Noreturn void end(int kind, int order, const char *path) {
    if (order == 0) {
        vendor_first(kind);
    } else {
        ours_first();
    }
    start(kind);
    w.d.control->set(DOUBLE_STRICT, 1);
    fill();
    w.d.control->write_exit(path);
    exit(0);
}

START_TEST(exit_with_everything_open) {
    const char *const path = slt_path(slt_scratch(), "exit", NULL);
    int status = 1;
    const pid_t child = fork();
    if (child == 0) end(_i % GPU_KINDS, _i / GPU_KINDS, path);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(status == 0, "the child ended with %#x", (unsigned)status);
    char *const text = slt_read_file(path, NULL);
    ck_assert_str_eq(text, "0 calls before the end\n"); /* and none after it */
    free(text);
}
END_TEST

/* ---- fork() ---------------------------------------------------------------------------------------------------- */

#define CHILD_CHECK(condition)                                                                                         \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "child: %s\n", #condition);                                                                \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)
/* Told so, the input untouched, nothing made. */
#define FORKED(call) CHILD_CHECK((call) == SLW_E_FORKED && w.err.code == SLW_E_FORKED)

static void in_child_transitions(void) {
    slw_device_loaded *const loaded_before = loaded, *more = NULL;
    slw_launchable *const launchable_before = launchable, *made = NULL;
    slw_hydrated *const hydrated_before = hydrated;
    const slw_launch_shape used = shape_of("first", 0), unused = shape_of("second", 0);
    FORKED(slw_device_load(&hydrated, w.device, &more, &w.err));
    CHILD_CHECK(hydrated == hydrated_before && more == NULL);
    FORKED(slw_make_launchable(&loaded, &used, &made, &w.err));
    FORKED(slw_make_launchable(&loaded, &unused, &made, &w.err));
    CHILD_CHECK(loaded == loaded_before && made == NULL);
    FORKED(launch(launchable, null_stream));
    FORKED(launch(launchable, stream));
    FORKED(slw_launchable_retire(&launchable, NULL, 0, 0, &w.err));
    FORKED(slw_launchable_retire(&launchable, &stream, 1, 0, &w.err));
    CHILD_CHECK(launchable == launchable_before);
}

static _Noreturn void in_child(void) {
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    slw_device_address address = 0;
    uint64_t size = 0;
    alarm(60);
    in_child_transitions();
    FORKED(slw_device_loaded_attributes(loaded, "saxpy", &attributes, &w.err));
    FORKED(slw_device_loaded_global(loaded, "slt_counter", &address, &size, &w.err));
    slw_launchable_discard(&launchable);
    slw_device_loaded_discard(&loaded);
    slw_hydrated_discard(&hydrated);
    slw_device_close(&w.device);
    CHILD_CHECK(w.heap.live_blocks == 0);
    CHILD_CHECK(w.d.control->count(NULL) == 0 && w.d.control->violations() == 0);
    _exit(0);
}

/* Pitfall 18, for handles of the last two phases. */
START_TEST(pitfall_18_loaded_and_launchable_in_a_child) {
    start(_i);
    fill();
    int status = 1;
    const pid_t child = fork();
    if (child == 0) in_child();
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(status == 0, "the child ended with %#x", (unsigned)status);
    slt_ok(launch(launchable, stream), &w.err); /* the parent goes on */
    slw_hydrated_discard(&hydrated);
    slw_device_loaded_discard(&loaded);
    slt_ok(slw_launchable_retire(&launchable, &stream, 1, 0, &w.err), &w.err);
    slt_ok(slw_device_stream_destroy(w.device, &stream, &w.err), &w.err);
    stop();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("the end of a process");
    TCase *tcase = tcase_create("exit");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, exit_with_everything_open, 0, 2 * GPU_KINDS);
    tcase_add_loop_test(tcase, pitfall_18_loaded_and_launchable_in_a_child, 0, GPU_KINDS);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
