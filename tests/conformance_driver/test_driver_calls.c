/* Every call of a vendor's library fails once, at each of its places on the whole way from opening a device to closing
 * it, with three codes: an unknown one, out of memory, and a sticky one. Whatever fails, the transition leaves
 * its input as it was, says a code and a message, can be made again unless the device is lost, and in the end nothing
 * is left in the double's ledger or in the allocator.
 *
 * Each case is a child: a driver is initialised once a process. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault_alloc.h"
#include "gpu_world.h"

#define MOST_CALLS 128

/* Shared with the children. */
typedef struct shared {
    unsigned counts[MOST_CALLS]; /* of a ride on which nothing fails */
    char said[2048];             /* what went wrong */
} shared;
static shared *page;

typedef struct ride {
    const char *kind;
    slt_double d;
    slt_heap heap;
    slw_device *device;
    slw_error err;
    unsigned failures;
    int lost;
    int remembered; /* the failure is of initialising, which is asked for once a process */
    char why[256];
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

/* After a failed call: it was told about, and no other call failed before. */
static void note(ride *r, slw_code code) {
    CHECK(r->err.code == code, "record says %s, the call %s", slw_code_name(r->err.code), slw_code_name(code));
    CHECK(r->err.message[0] != '\0', "%s without a message", slw_code_name(code));
    CHECK(r->failures == 0 || r->lost || r->remembered, "a second failure: %s %s (the first: %s)", slw_code_name(code),
          r->err.message, r->why);
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
/* Makes the call; when it fails, `untouched` must hold, and once more must do unless the device is lost. 1: it did. */
#define MADE(r, call, untouched)                                                                                       \
    ((code = (call)) == SLW_OK                   ? 1                                                                   \
     : !may_try_again(r, code, untouched, #call) ? 0                                                                   \
     : (code = (call)) == SLW_OK                 ? 1                                                                   \
                                                 : fails_again(r, code))

static slw_code open_device(ride *r) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slt_double_use(&r->d, &options);
    options.allocator = r->heap.allocator;
    return slw_device_open(&options, &r->device, &r->err);
}

static slw_hydrated *hydrate(ride *r) {
    slt_image *const pair = slt_gpu_pair(slt_gpu_target(r->kind, 0));
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
    grid.extent[0] = 4;
    grid.extent[1] = grid.extent[2] = 1;
    args.count = slw_launchable_kernel(launchable)->param_count;
    args.values = values;
    return slw_launch(launchable, &grid, stream, &args, &r->err);
}

/* One launchable: made, launched on both kinds of stream, retired. */
static void use(ride *r, slw_device_loaded **loaded, const slw_launch_shape *shape, slw_stream stream,
                slw_device_address sum) {
    slw_code code;
    slw_launchable *launchable = NULL;
    slw_device_loaded *const before = *loaded;
    if (!MADE(r, slw_make_launchable(loaded, shape, &launchable, &r->err), *loaded == before && launchable == NULL)) {
        return;
    }
    slw_launchable *const same = launchable;
    (void)MADE(r, launch(r, launchable, stream, sum), 1);
    (void)MADE(r, launch(r, launchable, (slw_stream)SLW_STREAM_DEFAULT, sum), 1);
    const slw_stream streams[] = {stream, SLW_STREAM_DEFAULT};
    if (!MADE(r, slw_launchable_retire(&launchable, streams, 2, 0, &r->err), launchable == same)) {
        slw_launchable_discard(&launchable);
    }
}

static slw_launch_shape shape_of(const char *entry, uint32_t threads, uint32_t shared_bytes, uint32_t cooperative) {
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    shape.entry = entry;
    shape.block[0] = threads;
    shape.block[1] = shape.block[2] = 1;
    shape.shared_bytes = shared_bytes;
    shape.cooperative = cooperative;
    return shape;
}

/* The same module twice, a shape each. */
static void use_module(ride *r, slw_device_loaded **loaded, slw_stream stream, slw_device_address sum) {
    slw_code code;
    slw_device_loaded *second = NULL;
    slw_device_address address = 0;
    uint64_t size = 0;
    const slw_launch_shape plain = shape_of("second", 64, 0, 0);
    const slw_launch_shape all =
        r->kind[0] == 'c' ? shape_of("shared_of_the_launch", 64, 65536, 1) : shape_of("first", 64, 0, 1);
    slt_ok(slw_device_loaded_share(*loaded, &second, &r->err), &r->err);
    (void)MADE(r, slw_device_loaded_global(*loaded, "slt_counter", &address, &size, &r->err), address == 0);
    if (!r->lost) use(r, loaded, &all, stream, sum);
    if (!r->lost) use(r, &second, &plain, stream, sum);
    slw_device_loaded_discard(loaded);
    slw_device_loaded_discard(&second);
}

/* Giving back may have been done by a call that fails, so it is not tried again. */
static void give_back(ride *r, slw_stream *stream, slw_device_address *sum) {
    slw_code code = stream->native == NULL ? SLW_OK : slw_device_stream_destroy(r->device, stream, &r->err);
    if (code != SLW_OK) note(r, code);
    code = *sum == 0 ? SLW_OK : slw_device_free(r->device, sum, &r->err);
    if (code != SLW_OK) note(r, code);
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
    ready =
        ready && MADE(r, slw_device_load(hydrated, r->device, &loaded, &r->err), *hydrated == before && loaded == NULL);
    if (ready) use_module(r, &loaded, stream, sum);
    if (ready && !r->lost) {
        (void)MADE(r, slw_device_synchronize(r->device, &stream, &r->err), 1);
        (void)MADE(r, slw_device_synchronize(r->device, NULL, &r->err), 1);
        (void)MADE(r, slw_device_copy_out(r->device, &value, sum, 8, &r->err), value == 0);
        CHECK(r->lost || value > 30, "the sum is %llu", (unsigned long long)value);
    }
    give_back(r, &stream, &sum);
}

static void ride_on(ride *r) {
    slw_code code;
    slw_hydrated *hydrated = hydrate(r);
    if (MADE(r, open_device(r), r->device == NULL)) on_device(r, &hydrated);
    slw_hydrated_discard(&hydrated);
    slw_device_close(&r->device);
}

static void check_the_end(ride *r) {
    char left[512] = "";
    CHECK(r->d.control->violations() == 0, "%s", r->d.control->violation(0));
    const unsigned count = r->d.control->outstanding(left, sizeof left);
    if (r->lost) { /* a caller cannot give its memory and streams back then */
        CHECK(strstr(left, "module") == NULL && strstr(left, "event") == NULL && strstr(left, "context") == NULL,
              "left over: %s", left);
    } else {
        CHECK(count == 0, "left over: %s", left);
    }
    CHECK(r->d.control->thread_balance() == 0, "a context is pushed or a capture mode other");
    CHECK(r->heap.live_blocks == 0, "%llu blocks are alive", (unsigned long long)r->heap.live_blocks);
}

/* In a child. `call` NULL: nothing fails, and the calls are counted. */
static void one_case(const char *kind, const char *call, unsigned nth, int code) {
    ride r = {.kind = kind, .err = SLW_ERROR_INIT};
    alarm(120);
    slt_heap_init(&r.heap);
    slt_double_open(&r.d, kind);
    if (call != NULL) r.d.control->inject(call, nth, code, 1);
    r.remembered = call != NULL && strstr(call, "Init") != NULL;
    ride_on(&r);
    check_the_end(&r);
    if (call == NULL) {
        CHECK(r.failures == 0, "%s", r.why);
        for (unsigned i = 0; i < r.d.control->call_names() && i < MOST_CALLS; i++) {
            page->counts[i] = r.d.control->count(r.d.control->call_name(i));
        }
    } else {
        CHECK(r.d.control->failed() == 1, "the call was not made");
    }
    _exit(0);
}

static void run_case(const char *kind, const char *call, unsigned nth, int code) {
    page->said[0] = '\0';
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) one_case(kind, call, nth, code);
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(status == 0, "%s, time %u, code %d: status %#x: %s", call == NULL ? "nothing fails" : call, nth, code,
                  status, page->said);
}

/* Names come in twice where two versions of an entry point share one. */
static int is_repeated(const double_control *control, unsigned index) {
    for (unsigned i = 0; i < index; i++) {
        if (strcmp(control->call_name(i), control->call_name(index)) == 0) return 1;
    }
    return 0;
}

START_TEST(each_call_fails_in_turn) {
    static const char *const kinds[] = {"cuda", "hip"};
    static const int codes[] = {999, 2, 700};
    const char *const kind = kinds[_i];
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(page, MAP_FAILED);
    slt_double d; /* for its names only: nothing is initialised here */
    slt_double_open(&d, kind);
    run_case(kind, NULL, 0, 0);
    unsigned calls = 0, cases = 0;
    for (unsigned i = 0; i < d.control->call_names() && i < MOST_CALLS; i++) {
        if (is_repeated(d.control, i)) continue;
        const unsigned made = page->counts[i];
        calls += made > 0;
        for (unsigned nth = 1; nth <= made; nth = nth < 4 ? nth + 1 : nth * 2) {
            for (size_t c = 0; c < sizeof codes / sizeof codes[0]; c++, cases++) {
                run_case(kind, d.control->call_name(i), nth, codes[c]);
            }
        }
    }
    ck_assert_uint_gt(calls, 25);
    printf("%s: %u calls, %u cases\n", kind, calls, cases);
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
