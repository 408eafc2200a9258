/* Lives: contexts, threads, forks, faults, the end of a module and of the process. */
#include "gpu_checks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const slw_stream default_stream = SLW_STREAM_DEFAULT;

/* ---- Contexts ---------------------------------------------------------------------------------------------------- */

/* A context of the caller's, not current. */
static void *make_context(gpu *g) {
    cu_result (*create)(void **, unsigned, int) = NULL;
    cu_result (*pop)(void **) = NULL;
    void *context = NULL, *popped = NULL;
    gpu_raw(g, create, "cuCtxCreate_v2");
    gpu_raw(g, pop, "cuCtxPopCurrent_v2");
    const cu_result result = create(&context, 0, 0);
    gpu_require(result == 0, "cuCtxCreate: %d", result);
    gpu_require(pop(&popped) == 0 && popped == context, "cuCtxPopCurrent fails");
    return context;
}

static void destroy_context(gpu *g, void *context) {
    cu_result (*destroy)(void *) = NULL;
    gpu_raw(g, destroy, "cuCtxDestroy_v2");
    const cu_result result = destroy(context);
    gpu_require(result == 0, "cuCtxDestroy: %d", result);
}

static slw_device *open_in(gpu *g, void *context) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_device *device = NULL;
    gpu_device_options(g, &options);
    options.native_context = context;
    gpu_ok(g, slw_device_open(&options, &device, &g->err));
    gpu_require(slw_device_native_context(device) == context, "the device has another context");
    return device;
}

void check_two_contexts(gpu *g) {
    gpu_open(g);
    void *const context = make_context(g);
    void *const before = gpu_current_context(g);
    slw_device *other = open_in(g, context);
    const slw_bytes image = gpu_cubin(g, "check");
    slw_device_loaded *here = gpu_load(g, g->device, image), *there = gpu_load(g, other, image);
    gpu_require(slw_device_loaded_native_module(here) != slw_device_loaded_native_module(there),
                "one module serves two contexts");
    slw_launchable *first_here = gpu_make_plain(g, here, "first", 32);
    slw_launchable *first_there = gpu_make_plain(g, there, "first", 32);
    for (uint32_t i = 1; i < 20; i++) {
        gpu_prove(g, g->device, first_here, i);
        gpu_prove(g, other, first_there, i);
    }
    gpu_require(gpu_current_context(g) == before, "the thread's current context is another one");
    slw_launchable_discard(&first_here);
    slw_launchable_discard(&first_there);
    slw_device_loaded_discard(&here);
    slw_device_loaded_discard(&there);
    slw_device_close(&other);
    destroy_context(g, context);
    gpu_close(g);
}

/* The context goes first, with everything in it; what is left of ours is discarded and closed all the same. */
void check_dead_context(gpu *g) {
    gpu_open(g);
    void *const context = make_context(g);
    slw_device *other = open_in(g, context);
    slw_device_loaded *loaded = gpu_load(g, other, gpu_cubin(g, "check"));
    slw_launchable *first = gpu_make_plain(g, loaded, "first", 32);
    gpu_prove(g, other, first, 5);
    destroy_context(g, context);
    slw_launchable_discard(&first);
    slw_device_loaded_discard(&loaded);
    slw_device_close(&other);
    loaded = gpu_load(g, g->device, gpu_cubin(g, "check"));
    first = gpu_make_plain(g, loaded, "first", 32);
    gpu_prove(g, g->device, first, 5);
    slw_launchable_discard(&first);
    slw_device_loaded_discard(&loaded);
    gpu_close(g);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

#define THREADS 64

typedef struct worker {
    gpu world; /* a copy: its own error */
    pthread_barrier_t *barrier;
    slw_hydrated *hydrated;
    uint64_t first_ns;
    pthread_t thread;
} worker;

static void *work(void *context) {
    worker *const w = context;
    slw_device_loaded *loaded = NULL;
    (void)pthread_barrier_wait(w->barrier);
    const uint64_t start_ns = gpu_now_ns();
    gpu_ok(&w->world, slw_device_load(&w->hydrated, w->world.device, &loaded, &w->world.err));
    slw_launchable *first = gpu_make_plain(&w->world, loaded, "first", 32);
    gpu_prove(&w->world, w->world.device, first, 50);
    w->first_ns = gpu_now_ns() - start_ns;
    for (uint32_t i = 1; i < 20; i++) gpu_prove(&w->world, w->world.device, first, i);
    slw_launchable_discard(&first);
    slw_device_loaded_discard(&loaded);
    return NULL;
}

/* Which context a worker thread has is nobody's business but its own: it has none, before and after. */
void check_threads(gpu *g) {
    static worker workers[THREADS];
    pthread_barrier_t barrier;
    gpu_open(g);
    slw_hydrated *hydrated = gpu_hydrate(g, gpu_cubin(g, "check"));
    gpu_require(pthread_barrier_init(&barrier, NULL, THREADS) == 0, "no barrier");
    for (int i = 0; i < THREADS; i++) {
        workers[i].world = *g;
        workers[i].world.err.diagnostics = NULL;
        workers[i].world.err.diagnostics_capacity = 0;
        workers[i].barrier = &barrier;
        gpu_ok(g, slw_hydrated_share(hydrated, &workers[i].hydrated, &g->err));
    }
    for (int i = 0; i < THREADS; i++)
        gpu_require(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0, "no thread");
    uint64_t longest_ns = 0;
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        if (workers[i].first_ns > longest_ns) longest_ns = workers[i].first_ns;
    }
    gpu_figure("threads", THREADS);
    gpu_figure("slowest_first_launch_ms", (double)longest_ns / 1e6);
    const slw_device_counts counts = gpu_counts(g);
    gpu_require(counts.loads == 1, "%d threads load one image %llu times", THREADS, (unsigned long long)counts.loads);
    slw_hydrated_discard(&hydrated);
    (void)pthread_barrier_destroy(&barrier);
    gpu_close(g);
}

/* ---- The end of a module ----------------------------------------------------------------------------------------- */

#define SPIN_NS UINT64_C(300000000)

static void hold(gpu *g, long wanted) {
    if (g->control != NULL) g->control->set(DOUBLE_HOLD, wanted);
}

static void launch_spin(gpu *g, const slw_launchable *spin, slw_stream stream, slw_device_address *out) {
    uint64_t ns = SPIN_NS;
    void *values[] = {out, &ns};
    gpu_ok(g, gpu_try_launch(g, spin, 1, stream, 2, values));
}

void check_retire_under_launch(gpu *g) {
    gpu_open(g);
    const slw_bytes image = gpu_cubin(g, "check");
    slw_stream stream = SLW_STREAM_DEFAULT;
    slw_device_loaded *loaded = gpu_load(g, g->device, image);
    slw_launchable *spin = gpu_make_plain(g, loaded, "spin", 32);
    slw_device_address out = gpu_zeros(g, g->device, sizeof(uint64_t));
    slw_device_loaded_discard(&loaded);
    gpu_ok(g, slw_device_stream_create(g->device, &stream, &g->err));
    hold(g, 1);
    launch_spin(g, spin, stream, &out);
    const uint64_t start_ns = gpu_now_ns();
    gpu_refused(g, slw_launchable_retire(&spin, &stream, 1, 20000000, &g->err), SLW_E_TIMEOUT, NULL);
    gpu_figure("gave_up_after_ms", (double)(gpu_now_ns() - start_ns) / 1e6);
    gpu_require(spin != NULL && gpu_counts(g).unloads == 0, "a retirement that timed out has done something");
    hold(g, 0);
    gpu_ok(g, slw_launchable_retire(&spin, &stream, 1, 10000000000u, &g->err));
    gpu_figure("retired_after_ms", (double)(gpu_now_ns() - start_ns) / 1e6);
    gpu_require(spin == NULL && gpu_counts(g).unloads == 1, "a retired module is not unloaded");
    gpu_require(g->control != NULL || gpu_read(g, g->device, out) == 1, "the kernel did not end");
    /* Discarded under the launch: it stays loaded, and the launch ends well. */
    loaded = gpu_load(g, g->device, image);
    spin = gpu_make_plain(g, loaded, "spin", 32);
    slw_device_loaded_discard(&loaded);
    hold(g, 1);
    launch_spin(g, spin, stream, &out);
    slw_launchable_discard(&spin);
    gpu_require(gpu_counts(g).modules_retired == 1 && gpu_counts(g).unloads == 1, "a discard under a launch unloads");
    hold(g, 0);
    gpu_ok(g, slw_device_synchronize(g->device, &stream, &g->err));
    gpu_ok(g, slw_device_stream_destroy(g->device, &stream, &g->err));
    gpu_ok(g, slw_device_free(g->device, &out, &g->err));
    gpu_close(g);
}

/* ---- Capture ----------------------------------------------------------------------------------------------------- */

typedef struct capture {
    gpu *g;
    pthread_barrier_t begun, loaded;
    cu_result result; /* of ending it */
    void *graph;
} capture;

/* The strictest mode: any unsafe call of any thread that was not told to be careful ends it. */
static void *capture_stream(void *context) {
    capture *const c = context;
    cu_result (*create)(void **, unsigned) = NULL;
    cu_result (*begin)(void *, int) = NULL;
    cu_result (*end)(void *, void **) = NULL;
    void *stream = NULL;
    gpu_make_current(c->g);
    gpu_raw(c->g, create, "cuStreamCreate");
    gpu_raw(c->g, begin, "cuStreamBeginCapture_v2");
    gpu_raw(c->g, end, "cuStreamEndCapture");
    gpu_require(create(&stream, 1) == 0, "cuStreamCreate fails");
    const cu_result result = begin(stream, 0);
    gpu_require(result == 0, "cuStreamBeginCapture: %d", result);
    (void)pthread_barrier_wait(&c->begun);
    (void)pthread_barrier_wait(&c->loaded);
    c->result = end(stream, &c->graph);
    return NULL;
}

static void load_within(gpu *g) {
    slw_device_loaded *loaded = gpu_load(g, g->device, gpu_cubin(g, "check"));
    slw_launch_shape shape = gpu_shape("shared_of_the_launch", 128);
    shape.shared_bytes = 60000;
    slw_launchable *shared = gpu_make(g, loaded, &shape), *first = gpu_make_plain(g, loaded, "first", 32);
    slw_launchable_discard(&shared);
    slw_device_loaded_discard(&loaded);
    gpu_ok(g, slw_launchable_retire(&first, NULL, 0, 0, &g->err)); /* unloading is a call of the same kind */
    gpu_require(gpu_counts(g).unloads == 1, "not unloaded");
}

void check_capture_elsewhere(gpu *g) {
    gpu_open(g);
    if (g->control != NULL) {
        g->control->set(DOUBLE_CAPTURE, 1);
        load_within(g);
        gpu_require(g->control->get(DOUBLE_CAPTURES_BROKEN) == 0, "a load has ended somebody's capture");
        g->control->set(DOUBLE_CAPTURE, 0);
    } else {
        static capture c;
        pthread_t thread;
        c.g = g;
        c.result = -1;
        (void)gpu_symbol(g, "cuInit"); /* opened before there are two threads */
        gpu_require(pthread_barrier_init(&c.begun, NULL, 2) == 0 && pthread_barrier_init(&c.loaded, NULL, 2) == 0 &&
                        pthread_create(&thread, NULL, capture_stream, &c) == 0,
                    "no thread");
        (void)pthread_barrier_wait(&c.begun);
        load_within(g);
        (void)pthread_barrier_wait(&c.loaded);
        (void)pthread_join(thread, NULL);
        gpu_figure("end_of_capture", c.result);
        gpu_require(c.result == 0 && c.graph != NULL, "a load has ended somebody's capture: %d", c.result);
    }
    gpu_close(g);
}

/* ---- Fork -------------------------------------------------------------------------------------------------------- */

static int child_of_fork(gpu *g, slw_launchable **first, slw_device_loaded **loaded) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_device *device = NULL;
    slw_device_address sum = 0;
    void *values[] = {&sum};
    gpu_report_to(-1, "");
    if (gpu_try_launch(g, *first, 1, default_stream, 1, values) != SLW_E_FORKED) return 10;
    if (slw_device_alloc(g->device, 8, &sum, &g->err) != SLW_E_FORKED) return 11;
    if (slw_device_synchronize(g->device, NULL, &g->err) != SLW_E_FORKED) return 12;
    gpu_device_options(g, &options);
    if (slw_device_open(&options, &device, &g->err) != SLW_E_FORKED || device != NULL) return 13;
    slw_launchable_discard(first);
    slw_device_loaded_discard(loaded);
    slw_device_close(&g->device);
    return g->device == NULL ? 0 : 14;
}

static void fork_and_wait(gpu *g, slw_launchable *first, slw_device_loaded *loaded, int leave, int may_die_of) {
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const int code = child_of_fork(g, &first, &loaded);
        if (leave) exit(code);
        _exit(code);
    }
    int status = -1;
    gpu_require(child > 0 && waitpid(child, &status, 0) == child, "no child");
    if (leave) gpu_figure("signal_at_exit_of_child", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    /* In the driver's own handlers, which only exit runs: its word and not ours, where it does so without us. */
    if (leave && may_die_of != 0 && WIFSIGNALED(status) && WTERMSIG(status) == may_die_of) return;
    gpu_require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a forked child ends with %s %d",
                WIFSIGNALED(status) ? "signal" : "code", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

void check_forked(gpu *g) {
    const int without_us = gpu_signal_at_raw_exit(g);
    gpu_require(without_us == 0 || g->control == NULL, "a child of the double dies of %d at exit", without_us);
    gpu_open(g);
    slw_device_loaded *loaded = gpu_load(g, g->device, gpu_cubin(g, "check"));
    slw_launchable *first = gpu_make_plain(g, loaded, "first", 32);
    gpu_prove(g, g->device, first, 10);
    fork_and_wait(g, first, loaded, 0, 0);
    gpu_prove(g, g->device, first, 10);
    fork_and_wait(g, first, loaded, 1, without_us);
    gpu_prove(g, g->device, first, 10);
    slw_launchable_discard(&first);
    slw_device_loaded_discard(&loaded);
    gpu_close(g);
}

/* ---- Faults and ends --------------------------------------------------------------------------------------------- */

void check_sticky_error(gpu *g) {
    gpu_open(g);
    const slw_bytes image = gpu_cubin(g, "check");
    slw_device_loaded *loaded = gpu_load(g, g->device, image);
    slw_launchable *first = gpu_make_plain(g, loaded, "first", 32);
    slw_device_address bad = 0x10;
    void *values[] = {&bad};
    slw_code code = gpu_try_launch(g, first, 1, default_stream, 1, values);
    if (code == SLW_OK) code = slw_device_synchronize(g->device, NULL, &g->err);
    gpu_refused(g, code, SLW_E_LOST, NULL);
    gpu_figure_text("said", "%s %lld: %s", g->err.raw_name, (long long)g->err.raw_code, g->err.message);
    const uint64_t start_ns = gpu_now_ns();
    for (int i = 0; i < 1000; i++)
        gpu_refused(g, gpu_try_launch(g, first, 1, default_stream, 1, values), SLW_E_LOST, NULL);
    gpu_figure("refusal_ns", (double)(gpu_now_ns() - start_ns) / 1000);
    slw_hydrated *hydrated = gpu_hydrate(g, gpu_cubin(g, "number"));
    slw_device_loaded *other = NULL;
    gpu_refused(g, slw_device_load(&hydrated, g->device, &other, &g->err), SLW_E_LOST, NULL);
    gpu_require(gpu_counts(g).failures_remembered == 0, "the device's fault is held against an image");
    slw_hydrated_discard(&hydrated);
    slw_launchable_discard(&first);
    slw_device_loaded_discard(&loaded);
    gpu_close(g);
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    gpu_device_options(g, &options);
    code =
        slw_device_open(&options, &g->device, &g->err); /* whether the process is of use again is the driver's word */
    gpu_figure_text("open_again", "%s %s", slw_code_name(code), code != SLW_OK ? g->err.message : "");
    if (code != SLW_OK) return;
    hydrated = gpu_hydrate(g, image);
    code = slw_device_load(&hydrated, g->device, &other, &g->err);
    gpu_figure_text("load_again", "%s %s", slw_code_name(code), code != SLW_OK ? g->err.message : "");
    slw_hydrated_discard(&hydrated);
    slw_device_loaded_discard(&other);
    gpu_close(g);
}

/* Nothing is closed and a kernel is running: the end of the process is the check, and the runner looks at it. */
void check_exit_without_shutdown(gpu *g) {
    static slw_stream stream = SLW_STREAM_DEFAULT;
    static slw_device_loaded *loaded; /* what is left open is no leak */
    static slw_launchable *spin;
    static slw_device_address out;
    gpu_open(g);
    loaded = gpu_load(g, g->device, gpu_cubin(g, "check"));
    spin = gpu_make_plain(g, loaded, "spin", 32);
    out = gpu_zeros(g, g->device, sizeof(uint64_t));
    gpu_ok(g, slw_device_stream_create(g->device, &stream, &g->err));
    launch_spin(g, spin, stream, &out);
}
