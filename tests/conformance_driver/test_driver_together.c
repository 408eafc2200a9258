/* Threads that launch beside threads that load and retire, by the public handles. Meant for ThreadSanitizer too. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "gpu_way.h"
#include "modules.h"

/* ---- The launch path locks nothing shared ---------------------------------------------------------------------- */

#define LOAD_US 1000000

/* Another module of the same device, whose load takes its time in the driver. */
static void *load_slowly(void *image) {
    slw_error err = SLW_ERROR_INIT;
    slwi_module *module = NULL;
    slt_ok(slwi_module_load(w.device, &((slt_image *)image)->image, NULL, &module, &err), &err);
    slwi_release(module);
    return NULL;
}

/* Where in the log a call of that name ended; fails the test where it did not. */
static unsigned place_of(const char *name) {
    double_call call;
    for (unsigned i = 0; w.d.control->log_at(i, &call); i++) {
        if (strcmp(call.name, name) == 0) return i;
    }
    ck_abort_msg("no %s in the log", name);
    return 0;
}

/* Launches, on a stream and on none, return while the load is in the driver: it ends after them. */
START_TEST(a_launch_does_not_wait_for_a_load) {
    start(_i);
    const char *const load_call = slt_gpu_call(w.kind, "load"), *const launch_call = slt_gpu_call(w.kind, "launch");
    slw_stream stream = SLW_STREAM_DEFAULT;
    slt_ok(slw_device_stream_create(w.device, &stream, &w.err), &w.err);
    slw_launchable *launchable = make("first", 0), *share = NULL;
    slt_image *const other = slt_gpu_pair(slt_gpu_target(w.kind, 0));
    slt_image_renumber(other, 5);
    pthread_t thread;
    w.d.control->delay(load_call, LOAD_US);
    w.d.control->log_clear();
    ck_assert_int_eq(pthread_create(&thread, NULL, load_slowly, other), 0);
    while (w.d.control->get(DOUBLE_DELAYED_AT_ONCE) == 0) usleep(1000);
    slt_ok(launch(launchable, stream), &w.err);
    slt_ok(launch(launchable, null_stream), &w.err);
    slt_ok(slw_launchable_share(launchable, &share, &w.err), &w.err);
    slt_ok(launch(share, stream), &w.err);
    slw_launchable_discard(&share);
    ck_assert_uint_eq(w.d.control->count(load_call), 0); /* still there */
    ck_assert_uint_eq(w.d.control->count(launch_call), 3);
    pthread_join(thread, NULL);
    ck_assert_uint_lt(place_of(launch_call), place_of(load_call));
    w.d.control->delay(load_call, 0);
    slt_image_free(other);
    slt_ok(slw_launchable_retire(&launchable, &stream, 1, 0, &w.err), &w.err);
    slt_ok(slw_device_stream_destroy(w.device, &stream, &w.err), &w.err);
    slw_device_close(&w.device); /* with the other module, which its thread released */
    w.sum = 0;
    ck_assert_int_eq(w.d.control->get(DOUBLE_LIVE_MODULES), 0);
    slt_double_check_violations(&w.d);
    slt_image_free(w.pair);
    slt_heap_check_empty(&w.heap);
}
END_TEST

/* ---- Launches against retiring --------------------------------------------------------------------------------- */

#define LAUNCHERS 8
#define ROUNDS    60

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of current */
static slw_launchable *current;
static atomic_int over;
static atomic_uint launches;

/* Another owner of what is launched now. */
static slw_launchable *take_share(slw_error *err) {
    slw_launchable *share = NULL;
    pthread_mutex_lock(&lock);
    if (current != NULL) slt_ok(slw_launchable_share(current, &share, err), err);
    pthread_mutex_unlock(&lock);
    return share;
}

static slw_code launch_share(const slw_launchable *share, slw_error *err) {
    slw_grid grid = SLW_GRID_INIT;
    slw_args args = SLW_ARGS_INIT;
    void *values[] = {&w.sum};
    grid.extent[0] = 4;
    grid.extent[1] = grid.extent[2] = 1;
    args.count = 1;
    args.values = values;
    return slw_launch(share, &grid, null_stream, &args, err);
}

static void *launch_often(void *argument) {
    const unsigned number = *(const unsigned *)argument;
    slw_error err = SLW_ERROR_INIT;
    for (unsigned i = 0; !atomic_load(&over); i++) {
        slw_launchable *share = take_share(&err);
        for (unsigned k = 0; share != NULL && k < 4; k++) {
            slt_ok(launch_share(share, &err), &err);
            atomic_fetch_add(&launches, 1);
        }
        if (share == NULL) {
            sched_yield();
        } else if ((i + number) % 3 == 0) {
            slt_ok(slw_launchable_retire(&share, &null_stream, 1, 0, &err), &err);
        } else {
            slw_launchable_discard(&share);
        }
    }
    return NULL;
}

static void *retire_and_load(void *argument) {
    (void)argument;
    slw_error err = SLW_ERROR_INIT;
    for (unsigned round = 0; round < ROUNDS; round++) {
        slw_hydrated *hydrated = NULL;
        slw_device_loaded *loaded = NULL;
        slw_launchable *made = NULL;
        const slw_launch_shape shape = shape_of("first", 0);
        slt_ok(slw_hydrate_binary(w.pair->image.bytes, "pair", &w.heap.allocator, NULL, &hydrated, &err), &err);
        slt_ok(slw_device_load(&hydrated, w.device, &loaded, &err), &err);
        slt_ok(slw_make_launchable(&loaded, &shape, &made, &err), &err);
        pthread_mutex_lock(&lock);
        current = made;
        pthread_mutex_unlock(&lock);
        const unsigned before = atomic_load(&launches);
        while (atomic_load(&launches) < before + 2 * LAUNCHERS) sched_yield();
        pthread_mutex_lock(&lock);
        made = current;
        current = NULL;
        pthread_mutex_unlock(&lock);
        slt_ok(slw_launchable_retire(&made, &null_stream, 1, 0, &err), &err);
    }
    atomic_store(&over, 1);
    return NULL;
}

START_TEST(launches_against_retiring) {
    start(_i);
    w.d.control->set(DOUBLE_STRICT, 1);
    pthread_t threads[LAUNCHERS + 1];
    unsigned numbers[LAUNCHERS];
    uint64_t sum = 0;
    slw_device_counts counts = SLW_DEVICE_COUNTS_INIT;
    for (unsigned i = 0; i < LAUNCHERS; i++) {
        numbers[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, launch_often, &numbers[i]), 0);
    }
    ck_assert_int_eq(pthread_create(&threads[LAUNCHERS], NULL, retire_and_load, NULL), 0);
    for (unsigned i = 0; i <= LAUNCHERS; i++) pthread_join(threads[i], NULL);
    slt_ok(slw_device_copy_out(w.device, &sum, w.sum, sizeof sum, &w.err), &w.err);
    ck_assert_uint_eq(sum, 10 * (uint64_t)atomic_load(&launches)); /* none was lost */
    slt_ok(slw_device_get_counts(w.device, &counts, &w.err), &w.err);
    ck_assert_uint_eq(counts.loads - counts.unloads, counts.modules_loaded);
    ck_assert_uint_gt(counts.unloads, 1);
    ck_assert_uint_eq(w.d.control->count(slt_gpu_call(w.kind, "unload")), counts.unloads);
    stop();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("launches beside loads");
    TCase *tcase = tcase_create("together");
    tcase_set_timeout(tcase, 180);
    tcase_add_loop_test(tcase, a_launch_does_not_wait_for_a_load, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, launches_against_retiring, 0, GPU_KINDS);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
