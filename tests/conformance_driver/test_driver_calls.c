/* Every call of a vendor's library fails once, at each of its places on the whole way from opening a device to closing
 * it, with three codes: one that no table has, out of memory, and a sticky one. Whatever fails, the transition leaves
 * its input as it was, says a code, the driver's own and a message, can be made again unless the device is lost, and in
 * the end nothing is left in the double's ledger or in the allocator. What is current in the thread, its capture mode
 * and HIP's last error are after every call of the library's, failed or not, what they were before.
 *
 * There are several ways to go, so that every entry point of the library's lists is on one of them. Each case is a
 * child: a driver is initialised once a process. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_api.h"
#include "fault_alloc.h"
#include "gpu_world.h"
#include "hip_api.h"

#define MOST_CALLS   160
#define MOST_PLACES  512
#define BLOCKS       16u
#define CODE_UNKNOWN 998

typedef struct route {
    const char *name;
    const char *kind;
    long driver_version; /* 0: the double's own */
    uint32_t ordinal;    /* of the device that is opened */
    int is_elsewhere;    /* 1: a context of device 1 (HIP: device 0) is current, and the capture mode is not 0 */
    int native;          /* cuda: 1: in a context of the caller's own */
    int ptx;             /* cuda: 1: an image that the driver compiles */
    unsigned codes; /* of the three, how many at each place: fewer, in turn, where most of the way was gone before */
    slw_launch_shape shape; /* of the first launchable; the others' are plain ones */
} route;

#define SHAPE(entry, cluster, shared, cooperative, flags)                                                              \
    {                                                                                                                  \
        sizeof(slw_launch_shape), entry, {64, 1, 1}, shared, {cluster, (cluster) != 0, (cluster) != 0}, cooperative,   \
            flags                                                                                                      \
    }
static const route routes[] = {
    {"nothing current", "cuda", 0, 0, 0, 0, 0, 3, SHAPE("shared_of_the_launch", 0, 65536, 1, 0)},
    {"a context of another device current", "cuda", 0, 0, 1, 0, 0, 3, SHAPE("shared_of_the_launch", 0, 65536, 1, 0)},
    {"PTX, in a context of the caller's", "cuda", 0, 0, 1, 1, 1, 1, SHAPE("first", 0, 0, 0, 0)},
    {"a cluster of 16", "cuda", 0, 0, 1, 0, 0, 1, SHAPE("first", 16, 0, 0, SLW_LAUNCH_NON_PORTABLE_CLUSTER)},
    {"CUDA 11.4", "cuda", 11040, 0, 1, 0, 0, 1, SHAPE("first", 0, 0, 1, 0)},
    {"one device", "hip", 0, 0, 0, 0, 0, 3, SHAPE("first", 0, 0, 1, 0)},
    {"another device current", "hip", 0, 1, 1, 0, 0, 3, SHAPE("first", 0, 0, 1, 0)},
    {"HIP 5.2", "hip", 50221153, 1, 1, 0, 0, 1, SHAPE("first", 0, 0, 0, 0)},
};
#define ROUTES (sizeof routes / sizeof routes[0])

/* Shared with the children. */
typedef struct shared {
    unsigned counts[MOST_CALLS];                 /* of a ride on which nothing fails */
    unsigned char ours[MOST_CALLS][MOST_PLACES]; /* calls of that ride which this program made to look, by place */
    unsigned made[MOST_CALLS];                   /* over all rides */
    unsigned asked_for_name;                     /* rides on which the driver's own name of a code was heard */
    char said[2048];                             /* what went wrong */
} shared;
static shared *page;

typedef struct ride {
    const route *way;
    const char *fails; /* the call that does; NULL: none */
    int code;          /* its answer */
    slt_double d;
    slt_heap heap;
    slw_device *device;
    slw_error err;
    unsigned failures;
    int lost;
    int remembered; /* the failure is of what is asked for once: initialising for a process, a symbol for a device */
    char why[256];
    long launches;
    unsigned moves; /* calls so far that made something current */
    void *own;      /* cuda: the context that the device is in; NULL: the primary one */
    void *current;  /* cuda: the caller's current context */
    int balance;    /* of its pushes and its capture mode */
} ride;

/* ck_assert of a child. */
static void say_and_leave(int line, const char *condition, const char *format, ...) {
    va_list arguments;
    const int used = snprintf(page->said, sizeof page->said, "line %d: %s; ", line, condition);
    va_start(arguments, format);
    (void)vsnprintf(page->said + used, sizeof page->said - (size_t)used, format, arguments);
    va_end(arguments);
    _exit(1);
}
#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) say_and_leave(__LINE__, #condition, __VA_ARGS__);                                            \
    } while (0)

/* ---- The caller's own use of the driver -------------------------------------------------------------------------- */

/* An entry point of the double, called as a program calls the vendor's library beside this one. */
static int call_int(ride *r, const char *name, int value) {
    int (*function)(int) = NULL;
    void *const found = slt_double_symbol(&r->d, name);
    memcpy(&function, &found, sizeof found);
    return function(value);
}
static int call_place(ride *r, const char *name, void *place) {
    int (*function)(void *) = NULL;
    void *const found = slt_double_symbol(&r->d, name);
    memcpy(&function, &found, sizeof found);
    return function(place);
}

static unsigned index_of(const ride *r, const char *name) {
    unsigned i = 0;
    while (i < r->d.control->call_names() && strcmp(r->d.control->call_name(i), name) != 0) i++;
    CHECK(i < MOST_CALLS && i < r->d.control->call_names(), "no call %s", name);
    return i;
}

/* A call that only looked, and that the library makes too: on the ride that counts it is marked as this program's. */
static void mark(ride *r, const char *name) {
    const unsigned at = r->d.control->count(name);
    if (r->fails == NULL && at < MOST_PLACES) page->ours[index_of(r, name)][at] = 1;
}

static void *make_context(ride *r, int device) {
    int (*create)(void **, unsigned, int) = NULL;
    void *const found = slt_double_symbol(&r->d, "cuCtxCreate_v2");
    void *context = NULL;
    memcpy(&create, &found, sizeof found);
    CHECK(create(&context, 0, device) == 0, "no context of device %d", device);
    return context;
}

static void begin_elsewhere(ride *r) {
    int mode = 1;
    if (r->way->kind[0] == 'c') {
        void *popped = NULL;
        CHECK(call_int(r, "cuInit", 0) == 0, "cuInit");
        if (r->way->native) {
            r->own = make_context(r, 0);
            CHECK(call_place(r, "cuCtxPopCurrent_v2", &popped) == 0, "cuCtxPopCurrent");
        }
        r->current = make_context(r, 1);
        CHECK(call_place(r, "cuThreadExchangeStreamCaptureMode", &mode) == 0, "the capture mode");
    } else {
        CHECK(call_int(r, "hipInit", 0) == 0 && call_int(r, "hipSetDevice", 0) == 0, "hipSetDevice");
        CHECK(call_place(r, "hipThreadExchangeStreamCaptureMode", &mode) == 0, "the capture mode");
    }
    r->balance = r->d.control->thread_balance();
}

static void end_elsewhere(ride *r) {
    int mode = 0;
    if (r->way->kind[0] == 'c') {
        CHECK(call_place(r, "cuCtxDestroy_v2", r->current) == 0, "cuCtxDestroy");
        CHECK(r->own == NULL || call_place(r, "cuCtxDestroy_v2", r->own) == 0, "cuCtxDestroy");
        CHECK(call_place(r, "cuThreadExchangeStreamCaptureMode", &mode) == 0, "the capture mode");
    } else {
        CHECK(call_place(r, "hipThreadExchangeStreamCaptureMode", &mode) == 0, "the capture mode");
    }
    CHECK(mode == 1, "the capture mode is %d", mode);
}

/* The default stream's context is the current one. */
static void check_context(ride *r, const char *call) {
    int (*context_of)(void *, void **) = NULL;
    void *const found = slt_double_symbol(&r->d, "cuStreamGetCtx");
    void *current = NULL;
    memcpy(&context_of, &found, sizeof found);
    const int code = context_of(NULL, &current);
    mark(r, "cuStreamGetCtx");
    CHECK(code == 0 && current == r->current, "after %s another context is current", call);
}

static void check_device(ride *r, const char *call) {
    int current = -1, (*peek)(void) = NULL;
    void *const found = slt_double_symbol(&r->d, "hipPeekAtLastError");
    const int code = call_place(r, "hipGetDevice", &current);
    mark(r, "hipGetDevice");
    CHECK(code == 0 && current == 0, "after %s device %d is current (%d)", call, current, code);
    memcpy(&peek, &found, sizeof found);
    const int left = peek();
    mark(r, "hipPeekAtLastError");
    const int is_excused = r->fails != NULL && strcmp(r->fails, "hipGetLastError") == 0;
    CHECK(left == 0 || is_excused, "%s leaves error %d", call, left);
}

/* What is current is what was: a context, or HIP's device; and the thread's last error is none. */
static void check_current(ride *r, const char *call) {
    const int balance = r->d.control->thread_balance();
    CHECK(balance == r->balance, "after %s: pushes and capture mode are %d, not %d", call, balance, r->balance);
    if (r->current != NULL) check_context(r, call);
    if (r->way->kind[0] == 'h' && r->d.control->get(DOUBLE_INITIALIZED)) check_device(r, call);
}

/* On the ride where nothing fails and something else is current: the step made its own current. */
static void check_it_moved(ride *r, const char *step) {
    if (!r->way->is_elsewhere || r->fails != NULL) return;
    const unsigned moves = r->d.control->count(r->way->kind[0] == 'c' ? "cuCtxPushCurrent" : "hipSetDevice");
    CHECK(moves > r->moves, "%s has made nothing current", step);
    r->moves = moves;
}

/* ---- Calls of the library's -------------------------------------------------------------------------------------- */

/* A name for every number: of a code that no table has, the driver's, or the number. */
static void check_name(ride *r) {
    static const char *const names[] = {"CUDA_ERROR_998", "hipErrorUnknown"};
    const int is_hip = r->way->kind[0] == 'h';
    if (r->err.raw_code != CODE_UNKNOWN) return;
    CHECK(strcmp(r->err.raw_name, names[is_hip]) == 0, "code %d is called \"%s\"", CODE_UNKNOWN, r->err.raw_name);
    page->asked_for_name++;
}

static int is_search(const char *call) {
    return call != NULL && strncmp(call, "cuGetProcAddress", 16) == 0;
}

/* Of the driver's code: it is in the record, unless what failed was one of several sources that were asked. */
static int tells(const ride *r) {
    if (r->fails == NULL || is_search(r->fails) || r->failures > 0) return 1;
    if (r->err.reason != NULL && strcmp(r->err.reason, "NO_TARGET") == 0) return 1;
    return r->err.raw_code == r->code;
}

/* After a failed call: it was told about, and no other call failed before. */
static void note(ride *r, slw_code code) {
    CHECK(r->err.code == code, "record says %s, the call %s", slw_code_name(r->err.code), slw_code_name(code));
    CHECK(r->err.message[0] != '\0', "%s without a message", slw_code_name(code));
    CHECK(r->failures == 0 || r->lost || r->remembered, "a second failure: %s %s (the first: %s)", slw_code_name(code),
          r->err.message, r->why);
    /* An optional symbol that was not found: the device does without. */
    CHECK(!is_search(r->fails) || code == SLW_E_UNSUPPORTED, "%s: %s", slw_code_name(code), r->err.message);
    CHECK(tells(r), "not what the driver said: %s", r->err.message);
    CHECK(code != SLW_E_LOST || r->code == 700, "a code that is not sticky loses the device: %s", r->err.message);
    check_name(r);
    if (r->failures++ == 0) (void)snprintf(r->why, sizeof r->why, "%.200s", r->err.message);
    if (code == SLW_E_LOST) r->lost = 1;
}

static int may_try_again(ride *r, slw_code code, int untouched, const char *call) {
    note(r, code);
    CHECK(untouched, "%s has touched what it was given: %s", call, r->err.message);
    r->err = (slw_error)SLW_ERROR_INIT;
    return !r->lost;
}
static int fails_again(ride *r, slw_code code) {
    note(r, code);
    return 0;
}
static slw_code seen(ride *r, slw_code code, const char *call) {
    check_current(r, call);
    return code;
}
/* Makes the call; when it fails, `untouched` must hold, and once more must do unless the device is lost. 1: it did. */
#define MADE(r, call, untouched)                                                                                       \
    ((code = seen(r, call, #call)) == SLW_OK     ? 1                                                                   \
     : !may_try_again(r, code, untouched, #call) ? 0                                                                   \
     : (code = seen(r, call, #call)) == SLW_OK   ? 1                                                                   \
                                                 : fails_again(r, code))
/* A call that answers nothing. */
#define DONE(r, call)                                                                                                  \
    do {                                                                                                               \
        call;                                                                                                          \
        check_current(r, #call);                                                                                       \
    } while (0)

static slw_code open_device(ride *r) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slt_double_use(&r->d, &options);
    options.allocator = r->heap.allocator;
    options.ordinal = r->way->ordinal;
    options.native_context = r->own;
    options.allow_ptx = r->way->ptx != 0;
    return slw_device_open(&options, &r->device, &r->err);
}

static slw_hydrated *hydrate(ride *r) {
    slt_image *const pair =
        r->way->ptx ? slt_gpu_pair_ptx() : slt_gpu_pair(slt_gpu_target(r->way->kind, r->way->ordinal));
    slw_hydrated *hydrated = NULL;
    const slw_code code = slw_hydrate_binary(pair->image.bytes, "pair", &r->heap.allocator, NULL, &hydrated, &r->err);
    CHECK(code == SLW_OK, "%s %s", slw_code_name(code), r->err.message);
    slt_image_free(pair);
    return hydrated;
}

static slw_code launch(ride *r, const slw_launchable *launchable, slw_stream stream, slw_device_address sum) {
    slw_grid grid = SLW_GRID_INIT;
    slw_args args = SLW_ARGS_INIT;
    uint32_t number = 5;
    void *values[] = {&sum, &number};
    grid.extent[0] = BLOCKS;
    grid.extent[1] = grid.extent[2] = 1;
    args.count = slw_launchable_kernel(launchable)->param_count;
    args.values = values;
    const slw_code code = slw_launch(launchable, &grid, stream, &args, &r->err);
    r->launches += code == SLW_OK;
    CHECK(r->d.control->get(DOUBLE_COUNT_LAUNCHES) == r->launches, "%ld launches for %ld that were told as made",
          r->d.control->get(DOUBLE_COUNT_LAUNCHES), r->launches);
    return code;
}

/* One launchable: made, launched on both kinds of stream, and retired, or left to the device's end. */
static void use(ride *r, slw_device_loaded **loaded, const slw_launch_shape *shape, slw_stream stream,
                slw_device_address sum, int retire) {
    slw_code code;
    slw_launchable *launchable = NULL;
    slw_device_loaded *const before = *loaded;
    if (!MADE(r, slw_make_launchable(loaded, shape, &launchable, &r->err), *loaded == before && launchable == NULL)) {
        return;
    }
    check_it_moved(r, "make");
    slw_launchable *const same = launchable;
    (void)MADE(r, launch(r, launchable, stream, sum), 1);
    (void)MADE(r, launch(r, launchable, (slw_stream)SLW_STREAM_DEFAULT, sum), 1);
    check_it_moved(r, "launch");
    const slw_stream streams[] = {stream, SLW_STREAM_DEFAULT};
    if (!retire || !MADE(r, slw_launchable_retire(&launchable, streams, 2, 0, &r->err), launchable == same)) {
        DONE(r, slw_launchable_discard(&launchable));
    } else {
        check_it_moved(r, "retire");
    }
}

/* The same module twice, a shape each: the second to be retired takes it away. */
static void use_module(ride *r, slw_device_loaded **loaded, slw_stream stream, slw_device_address sum) {
    static const slw_launch_shape plain = SHAPE("second", 0, 0, 0, 0);
    slw_code code;
    slw_device_loaded *second = NULL;
    slw_device_address address = 0;
    uint64_t size = 0;
    slt_ok(slw_device_loaded_share(*loaded, &second, &r->err), &r->err);
    if (!r->way->ptx) { /* the double compiles no variables */
        (void)MADE(r, slw_device_loaded_global(*loaded, "slt_counter", &address, &size, &r->err), address == 0);
    }
    if (!r->lost) use(r, loaded, &r->way->shape, stream, sum, 1);
    if (!r->lost) use(r, &second, &plain, stream, sum, 1);
    DONE(r, slw_device_loaded_discard(loaded));
    DONE(r, slw_device_loaded_discard(&second));
}

/* Once more, and left: closing the device takes it away. */
static void leave_module(ride *r, slw_stream stream, slw_device_address sum) {
    static const slw_launch_shape plain = SHAPE("first", 0, 0, 0, 0);
    slw_code code;
    slw_hydrated *hydrated = hydrate(r);
    slw_hydrated *const before = hydrated;
    slw_device_loaded *loaded = NULL;
    if (MADE(r, slw_device_load(&hydrated, r->device, &loaded, &r->err), hydrated == before && loaded == NULL)) {
        use(r, &loaded, &plain, stream, sum, 0);
    }
    slw_device_loaded_discard(&loaded);
    slw_hydrated_discard(&hydrated);
}

/* What gives back does so before it answers, so a failure of its own is not tried again; one before it is. */
static void give_back(ride *r, slw_stream *stream, slw_device_address *sum) {
    slw_code code;
    const int is_own = r->fails != NULL && (strcmp(r->fails, slt_gpu_call(r->way->kind, "free")) == 0 ||
                                            strstr(r->fails, "StreamDestroy") != NULL);
    if (is_own) {
        code = slw_device_stream_destroy(r->device, stream, &r->err);
        check_current(r, "slw_device_stream_destroy");
        if (code != SLW_OK) note(r, code);
        code = slw_device_free(r->device, sum, &r->err);
        check_current(r, "slw_device_free");
        if (code != SLW_OK) note(r, code);
    } else {
        void *const before = stream->native;
        const slw_device_address address = *sum;
        if (before != NULL)
            (void)MADE(r, slw_device_stream_destroy(r->device, stream, &r->err), stream->native == before);
        if (address != 0) (void)MADE(r, slw_device_free(r->device, sum, &r->err), *sum == address);
        CHECK(r->lost || (stream->native == NULL && *sum == 0), "something was not given back");
    }
    CHECK(r->lost || r->d.control->get(DOUBLE_LIVE_MEMORY) == 0, "memory is left");
}

static void on_device(ride *r, slw_hydrated **hydrated) {
    slw_code code;
    slw_device_loaded *loaded = NULL;
    slw_stream stream = SLW_STREAM_DEFAULT;
    slw_device_address sum = 0;
    uint64_t value = 0;
    slw_hydrated *const before = *hydrated;
    int ready = MADE(r, slw_device_alloc(r->device, 8, &sum, &r->err), sum == 0);
    ready = ready && MADE(r, slw_device_copy_in(r->device, sum, &value, 8, &r->err), 1);
    ready = ready && MADE(r, slw_device_stream_create(r->device, &stream, &r->err), stream.native == NULL);
    if (ready) check_it_moved(r, "memory");
    ready =
        ready && MADE(r, slw_device_load(hydrated, r->device, &loaded, &r->err), *hydrated == before && loaded == NULL);
    if (ready) check_it_moved(r, "load");
    if (ready) use_module(r, &loaded, stream, sum);
    if (ready && !r->lost) leave_module(r, stream, sum);
    if (ready && !r->lost) {
        (void)MADE(r, slw_device_synchronize(r->device, &stream, &r->err), 1);
        (void)MADE(r, slw_device_synchronize(r->device, NULL, &r->err), 1);
        (void)MADE(r, slw_device_copy_out(r->device, &value, sum, 8, &r->err), value == 0);
        CHECK(r->lost || value > 30, "the sum is %llu", (unsigned long long)value);
        CHECK(r->fails != NULL || r->launches == 6, "%ld launches", r->launches);
        check_it_moved(r, "waiting");
    }
    give_back(r, &stream, &sum);
    check_it_moved(r, "giving back");
}

static void ride_on(ride *r) {
    slw_code code;
    slw_hydrated *hydrated = hydrate(r);
    if (MADE(r, open_device(r), r->device == NULL)) on_device(r, &hydrated);
    slw_hydrated_discard(&hydrated);
    DONE(r, slw_device_close(&r->device));
    check_it_moved(r, "close");
}

static void check_the_end(ride *r) {
    char left[512] = "";
    CHECK(r->d.control->violations() == 0, "%s", r->d.control->violation(0));
    unsigned count = r->d.control->outstanding(left, sizeof left);
    count -= (r->current != NULL) + (r->own != NULL); /* those two are the caller's, and are ended below */
    if (r->lost) {                                    /* a caller cannot give its memory and streams back then */
        CHECK(strstr(left, "module") == NULL && strstr(left, "event") == NULL && strstr(left, "primary") == NULL,
              "left over: %s", left);
    } else {
        CHECK(count == 0, "left over: %s", left);
    }
    if (r->way->is_elsewhere) end_elsewhere(r);
    CHECK(r->d.control->thread_balance() == 0, "a context is pushed or a capture mode other");
    CHECK(r->d.control->violations() == 0, "%s", r->d.control->violation(0));
    CHECK(r->heap.live_blocks == 0, "%llu blocks are alive", (unsigned long long)r->heap.live_blocks);
}

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

/* What may fail and nobody hears of it. Of every other call the caller is told. */
static int may_be_quiet(const char *call) {
    static const char *const names[] = {
        /* What is given back, or put back as it was: it is made sure of, and there is nobody to tell. */
        "cuCtxPopCurrent", "cuThreadExchangeStreamCaptureMode", "cuEventDestroy", "cuModuleUnload",
        "cuDevicePrimaryCtxRelease", "hipSetDevice", "hipThreadExchangeStreamCaptureMode", "hipEventDestroy",
        "hipModuleUnload",
        /* The same on the way to an unload, which answers nothing. */
        "cuCtxGetCurrent", "cuCtxPushCurrent", "hipGetDevice",
        /* Questions before the call that matters, which tells as well. */
        "cuDevicePrimaryCtxGetState", "cuCtxGetId", "cuStreamIsCapturing", "hipStreamIsCapturing",
        /* What a device can be without, or know otherwise. */
        "cuGetProcAddress", "cuGetProcAddress_v2", "cuDeviceGetName", "cuDeviceTotalMem", "hipDeviceGetName",
        "hipDeviceTotalMem", "hipRuntimeGetVersion", "hipDeviceGetAttribute", "hipGetDevicePropertiesR0600"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], call) == 0) return 1;
    }
    return 0;
}

/* In a child. `call` NULL: nothing fails, and the calls are counted. */
static void one_case(const route *way, const char *call, unsigned nth, int code) {
    ride r = {.way = way, .fails = call, .code = code, .err = SLW_ERROR_INIT};
    alarm(120);
    slt_heap_init(&r.heap);
    slt_double_open(&r.d, way->kind);
    if (way->driver_version != 0) r.d.control->set(DOUBLE_DRIVER_VERSION, way->driver_version);
    if (way->is_elsewhere) begin_elsewhere(&r);
    r.d.control->log_clear();
    if (call != NULL) r.d.control->inject(call, nth, code, 1);
    r.remembered = is_search(call) || (call != NULL && strstr(call, "Init") != NULL);
    ride_on(&r);
    for (unsigned i = 0; i < r.d.control->call_names() && i < MOST_CALLS; i++) {
        const unsigned count = r.d.control->count(r.d.control->call_name(i));
        page->made[i] += count;
        if (call == NULL) page->counts[i] = count;
    }
    check_the_end(&r);
    if (call == NULL) CHECK(r.failures == 0, "%s", r.why);
    if (call != NULL) CHECK(r.d.control->failed() == 1, "the call was not made");
    if (call != NULL) CHECK(r.failures > 0 || may_be_quiet(call), "it failed, and nobody heard of it");
    _exit(0);
}

static void run_case(const route *way, const char *call, unsigned nth, int code) {
    page->said[0] = '\0';
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) one_case(way, call, nth, code);
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(status == 0, "%s, %s: %s, time %u, code %d: status %#x: %s", way->kind, way->name,
                  call == NULL ? "nothing fails" : call, nth, code, status, page->said);
}

/* Names come in twice where two versions of an entry point share one. */
static int is_repeated(const double_control *control, unsigned index) {
    for (unsigned i = 0; i < index; i++) {
        if (strcmp(control->call_name(i), control->call_name(index)) == 0) return 1;
    }
    return 0;
}

/* One way: first without a failure, then each call at each place. */
static unsigned go(const route *way, const double_control *control) {
    static const int codes[] = {CODE_UNKNOWN, 2, 700};
    unsigned calls = 0, cases = 0;
    memset(page->ours, 0, sizeof page->ours);
    run_case(way, NULL, 0, 0);
    for (unsigned i = 0; i < control->call_names() && i < MOST_CALLS; i++) {
        if (is_repeated(control, i)) continue;
        calls += page->counts[i] > 0;
        ck_assert_uint_lt(page->counts[i], MOST_PLACES);
        for (unsigned nth = 1; nth <= page->counts[i]; nth++) {
            if (page->ours[i][nth]) continue;
            for (unsigned c = 0; c < way->codes; c++, cases++) {
                run_case(way, control->call_name(i), nth, codes[(nth + c) % 3]);
            }
        }
    }
    printf("%s, %s: %u calls, %u cases\n", way->kind, way->name, calls, cases);
    return cases;
}

static unsigned made_of(const double_control *control, const char *name) {
    for (unsigned i = 0; i < control->call_names() && i < MOST_CALLS; i++) {
        if (strcmp(control->call_name(i), name) == 0) return page->made[i];
    }
    return 0;
}

#define NAME(name, ...) #name,
static const char *const cuda_names[] = {SLWI_CUDA_SYMBOLS(NAME, NAME) NULL};
static const char *const hip_names[] = {SLWI_HIP_SYMBOLS(NAME, NAME) NULL};
#undef NAME

/* Entry points of the lists that no ride can be seen to make. */
static int is_elsewhere(const char *name) {
    /* It answers a name and no code, so it cannot fail, and the double does not count it; check_name hears it. */
    return strcmp(name, "hipGetErrorName") == 0 && page->asked_for_name > 0;
}

START_TEST(each_call_fails_in_turn) {
    static const char *const kinds[] = {"cuda", "hip"};
    const char *const *const names = _i == 0 ? cuda_names : hip_names;
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(page, MAP_FAILED);
    slt_double d; /* for its names only: nothing is initialised here */
    slt_double_open(&d, kinds[_i]);
    ck_assert_uint_le(d.control->call_names(), MOST_CALLS);
    unsigned cases = 0;
    for (size_t i = 0; i < ROUTES; i++) {
        if (strcmp(routes[i].kind, kinds[_i]) == 0) cases += go(&routes[i], d.control);
    }
    for (size_t i = 0; names[i] != NULL; i++) {
        ck_assert_msg(made_of(d.control, names[i]) > 0 || is_elsewhere(names[i]), "%s is on no way", names[i]);
    }
    ck_assert_uint_gt(cases, 600);
    munmap(page, sizeof *page);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("failures of every driver call");
    TCase *tcase = tcase_create("calls");
    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, each_call_fails_in_turn, 0, GPU_KINDS);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
