/* Questions to the driver alone, to which only a GPU has the answers (device.md F.2 and H): what it says to code of
 * another architecture and to broken images, where an image may lie and how long, whether a reset clears a fault,
 * what a forked child gets. Each is asked in a process of its own, because a crash is an answer, too; the answers are
 * figures. Of a double they are known, so that the first run on hardware is not the first of this file. */
#include "gpu_checks.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_BYTES 256
#define PATIENCE_S   20u /* of one question */
#define PAGE         4096u
#define MOST_BROKEN  24
#define RIGHT_RESULT 55 /* `first` over ten blocks */
#define BLOCKS       10u

/* ---- A question, in its own process ------------------------------------------------------------------------------ */

/* The driver as the one who asks has it: a primary context, retained and current. */
typedef struct raw {
    gpu *g;
    int answer_fd;
    void *context;
    cu_result (*load)(void **, const void *);
    cu_result (*unload)(void *);
    cu_result (*function_of)(void **, void *, const char *);
    cu_result (*alloc)(uint64_t *, size_t);
    cu_result (*copy_in)(uint64_t, const void *, size_t);
    cu_result (*copy_out)(void *, uint64_t, size_t);
    cu_result (*wait)(void);
    cu_launch_kernel *launch;
} raw;

typedef struct question {
    void (*ask)(raw *r, const struct question *q); /* in a child; answers once or dies */
    slw_bytes image;
    size_t number;
    const char *module_loading; /* of the driver's environment; NULL: as it is */
    const char *file;
} question;

/* The child's last words. What an exit handler of the driver would do is no part of the answer. */
static void answer(const raw *r, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
static void answer(const raw *r, const char *format, ...) {
    char text[ANSWER_BYTES];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const size_t size = length < (int)sizeof text ? (size_t)length : sizeof text - 1;
    _exit(write(r->answer_fd, text, size) == (ssize_t)size ? 0 : 1);
}

static void start(raw *r) {
    cu_result (*init)(unsigned) = NULL;
    cu_result (*retain)(void **, int) = NULL;
    cu_result (*set)(void *) = NULL;
    gpu_raw(r->g, init, "cuInit");
    gpu_raw(r->g, retain, "cuDevicePrimaryCtxRetain");
    gpu_raw(r->g, set, "cuCtxSetCurrent");
    gpu_raw(r->g, r->load, "cuModuleLoadData");
    gpu_raw(r->g, r->unload, "cuModuleUnload");
    gpu_raw(r->g, r->function_of, "cuModuleGetFunction");
    gpu_raw(r->g, r->alloc, "cuMemAlloc_v2");
    gpu_raw(r->g, r->copy_in, "cuMemcpyHtoD_v2");
    gpu_raw(r->g, r->copy_out, "cuMemcpyDtoH_v2");
    gpu_raw(r->g, r->wait, "cuCtxSynchronize");
    gpu_raw(r->g, r->launch, "cuLaunchKernel");
    const cu_result inited = init(0), retained = inited == 0 ? retain(&r->context, 0) : inited;
    const cu_result current = retained == 0 ? set(r->context) : retained;
    if (current != 0) answer(r, "cannot be asked: cuInit %d, retain %d, set current %d", inited, retained, current);
}

static void ask_in_child(gpu *g, const question *q, int fd) {
    raw r = {.g = g, .answer_fd = fd};
    gpu_report_to(-1, "");
    (void)alarm(PATIENCE_S);
    if (q->module_loading != NULL) (void)setenv("CUDA_MODULE_LOADING", q->module_loading, 1);
    if (q->module_loading != NULL && g->control != NULL)
        g->control->set(DOUBLE_LAZY, strcmp(q->module_loading, "LAZY") == 0);
    start(&r);
    q->ask(&r, q);
    _exit(1);
}

/* Asks; the words of the child, or what it ended by, in one of a few buffers. */
static const char *ask(gpu *g, const question *q) {
    static char texts[MOST_BROKEN][ANSWER_BYTES];
    static unsigned next;
    char *const text = texts[next++ % MOST_BROKEN];
    int ends[2], status = 0;
    size_t used = 0;
    gpu_require(pipe(ends) == 0, "no pipe");
    fflush(NULL);
    const pid_t child = fork();
    gpu_require(child >= 0, "no child");
    if (child == 0) {
        close(ends[0]);
        ask_in_child(g, q, ends[1]);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], text + used, ANSWER_BYTES - 1 - used)) != 0;) {
        if (got > 0) used += (size_t)got;
        if (got < 0 && errno != EINTR) break;
    }
    close(ends[0]);
    text[used] = '\0';
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (used > 0) return text;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        (void)snprintf(text, ANSWER_BYTES, "hung for %u seconds", PATIENCE_S);
    else if (WIFSIGNALED(status))
        (void)snprintf(text, ANSWER_BYTES, "signal %d", WTERMSIG(status));
    else
        (void)snprintf(text, ANSWER_BYTES, "no answer, ended with %d", WEXITSTATUS(status));
    return text;
}

/* As a figure. Of a double the answer is known, or (NULL) is any code and no crash; on hardware `wanted` is what this
   library builds upon (NULL: nothing). */
static const char *put(gpu *g, const char *name, const question *q, const char *of_double, const char *wanted) {
    const char *const said = ask(g, q);
    gpu_figure_text(name, "%s", said);
    if (g->control != NULL && of_double != NULL)
        gpu_require(strcmp(said, of_double) == 0, "%s: \"%s\", not \"%s\"", name, said, of_double);
    if (g->control != NULL) gpu_require(of_double != NULL || (said[0] >= '0' && said[0] <= '9'), "%s: %s", name, said);
    if (g->control == NULL && wanted != NULL)
        gpu_require(strcmp(said, wanted) == 0, "%s: \"%s\", and the library needs \"%s\"", name, said, wanted);
    return said;
}

static void ask_capability(raw *r, const question *q) {
    (void)q;
    answer(r, "%d %d", gpu_attribute(r->g, 75), gpu_attribute(r->g, 76));
}

/* Also this without initialising: every question has a process that did not. */
static void find_capability(gpu *g) {
    const question q = {.ask = ask_capability};
    const char *const said = ask(g, &q);
    gpu_require(sscanf(said, "%u %u", &g->major, &g->minor) == 2, "the device's architecture: %s", said);
    if (gpu_compiled_for(g->major) == 0) gpu_skip(g, "tests/gpu/kernels has none for %u.%u", g->major, g->minor);
}

/* Runs `first` of the image as the caller of a driver does. 0, and the sum, or the first code that is none. */
static cu_result run_first(raw *r, void *function, uint64_t *sum) {
    uint64_t out = 0;
    void *values[] = {&out};
    *sum = 0;
    cu_result result = r->alloc(&out, sizeof *sum);
    if (result == 0) result = r->copy_in(out, sum, sizeof *sum);
    if (result == 0) result = r->launch(function, BLOCKS, 1, 1, 32, 1, 1, 0, NULL, values, NULL);
    if (result == 0) result = r->wait();
    if (result == 0) result = r->copy_out(sum, out, sizeof *sum);
    return result;
}

/* ---- Architectures ----------------------------------------------------------------------------------------------- */

static void ask_load(raw *r, const question *q) {
    void *module = NULL;
    answer(r, "%d", r->load(&module, q->image.data));
}

static slw_bytes copy_of(slw_bytes image) {
    void *const copy = gpu_keep(image.size);
    memcpy(copy, image.data, image.size);
    return (slw_bytes){copy, image.size};
}

/* For the next minor number, of which no device may exist: only the number in the header is another. */
static slw_bytes of_next_minor(gpu *g, slw_bytes cubin) {
    slw_bytes copy = copy_of(cubin);
    unsigned char *const bytes = (unsigned char *)(uintptr_t)copy.data;
    const unsigned char next = (unsigned char)(g->major * 10 + g->minor + 1);
    if (bytes[8] >= 8) {
        bytes[49] = next;
    } else {
        bytes[48] = bytes[50] = next;
    }
    return copy;
}

/* device.md H.1 and H.6: the library refuses these itself; this is what its users saw of others. The newest of them are
   of ABI 8, the others of 7. */
void check_probe_targets(gpu *g) {
    static const struct {
        unsigned target;
        const char *suffix;
    } cubins[] = {{75, ""},  {80, ""},   {86, ""},  {90, ""},  {90, "a"},
                  {100, ""}, {100, "a"}, {103, ""}, {120, ""}, {121, ""}};
    find_capability(g);
    gpu_figure("capability", g->major * 10 + g->minor);
    for (size_t i = 0; i < sizeof cubins / sizeof *cubins; i++) {
        char name[64], file[64];
        const unsigned target = cubins[i].target, here = g->major * 10 + g->minor;
        (void)snprintf(name, sizeof name, "sm_%u%s", target, cubins[i].suffix);
        (void)snprintf(file, sizeof file, "number_sm%u%s.cubin", target, cubins[i].suffix);
        const int exact = cubins[i].suffix[0] != '\0';
        const int runs = target / 10 == g->major && (exact ? target == here : target <= here);
        const question q = {.ask = ask_load, .image = gpu_file(g, file)};
        const char *const said = put(g, name, &q, runs ? "0" : "209", NULL);
        gpu_require(runs || strcmp(said, "0") != 0, "%s is taken by a device of %u", name, here);
    }
    if (g->minor == 9) return;
    const question next = {.ask = ask_load, .image = of_next_minor(g, gpu_cubin(g, "number"))};
    (void)put(g, "next_minor_made_up", &next, "209", NULL);
    if (g->major != 9 && g->major != 10) return;
    const question exact = {
        .ask = ask_load,
        .image = of_next_minor(g, gpu_file(g, g->major == 9 ? "number_sm90a.cubin" : "number_sm100a.cubin"))};
    (void)put(g, "next_minor_a_made_up", &exact, "209", NULL);
}

/* ---- Broken images ----------------------------------------------------------------------------------------------- */

typedef struct broken {
    const char *name;
    const char *of_double;
    size_t keep; /* bytes; 0: all */
    int half;    /* keep half of them */
    size_t at;   /* where `bytes` go in */
    unsigned count;
    unsigned char bytes[8];
} broken;

/* The bytes end where readable memory does: what a driver reads beyond them kills it, and that is an answer. */
static slw_bytes at_the_edge(slw_bytes image) {
    const size_t pages = (image.size + PAGE - 1) / PAGE * PAGE;
    unsigned char *const base = mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    gpu_require(base != MAP_FAILED && mprotect(base + pages, PAGE, PROT_NONE) == 0, "no memory");
    /* Its alignment stays that of an image's tables: that is another question. */
    unsigned char *const start_at = base + (pages - image.size) / 16 * 16;
    memcpy(start_at, image.data, image.size);
    memset(start_at + image.size, 0, (size_t)(base + pages - (start_at + image.size)));
    return (slw_bytes){start_at, image.size};
}

static slw_bytes damaged(slw_bytes whole, const broken *b) {
    slw_bytes copy = copy_of(whole);
    if (b->half) copy.size /= 2;
    if (b->keep != 0) copy.size = b->keep;
    memcpy((unsigned char *)(uintptr_t)copy.data + b->at, b->bytes, b->count);
    return at_the_edge(copy);
}

static void ask_broken_text(gpu *g, const char *name, const char *text, const char *of_double) {
    const question q = {.ask = ask_load, .image = at_the_edge((slw_bytes){text, strlen(text) + 1})};
    (void)put(g, name, &q, of_double, NULL);
}

void check_probe_broken(gpu *g) {
    static const broken cubins[] = {
        {"whole", "0", 0, 0, 0, 0, {0}},
        {"half", "200", 0, 1, 0, 0, {0}},
        {"header_only", "200", 64, 0, 0, 0, {0}},
        {"magic_only", "200", 16, 0, 0, 0, {0}},
        {"no_sections", NULL, 0, 0, 60, 2, {0, 0}},
        {"sections_far_away", "200", 0, 0, 40, 8, {0, 0, 0, 0, 0, 0, 0, 0x7f}},
        {"sections_at_zero", NULL, 0, 0, 40, 8, {0}},
        {"too_many_sections", "200", 0, 0, 60, 2, {0xff, 0xff}},
        {"names_nowhere", NULL, 0, 0, 62, 2, {0xff, 0x7f}},
        {"machine_x86", "200", 0, 0, 18, 2, {62, 0}},
        {"relocatable", "200", 0, 0, 16, 2, {1, 0}},
        {"abi_99", NULL, 0, 0, 8, 1, {99}},
        {"class_32", NULL, 0, 0, 4, 1, {1}},
        {"magic_wrong", "200", 0, 0, 0, 4, {0x7f, 'E', 'L', 'G'}},
    };
    find_capability(g);
    const slw_bytes whole = gpu_cubin(g, "check");
    for (size_t i = 0; i < sizeof cubins / sizeof *cubins; i++) {
        const question q = {.ask = ask_load, .image = damaged(whole, &cubins[i])};
        (void)put(g, cubins[i].name, &q, cubins[i].of_double, i == 0 ? "0" : NULL);
    }
    ask_broken_text(g, "empty_text", "", "200");
    ask_broken_text(g, "words", "these are no machine code", "200");
    ask_broken_text(g, "ptx_header_only", ".version 7.0\n.target sm_75\n.address_size 64\n", NULL);
    ask_broken_text(g, "ptx_no_version", ".target sm_75\n.visible .entry k() { ret; }\n", NULL);
    ask_broken_text(g, "ptx_no_end", ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() {\n", NULL);
    ask_broken_text(g, "ptx_newest", ".version 99.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n",
                    "222");
}

/* ---- Where an image lies, and how long --------------------------------------------------------------------------- */

static void ask_run(raw *r, const question *q) {
    void *module = NULL, *function = NULL;
    uint64_t sum = 0;
    cu_result result = r->load(&module, q->image.data);
    if (result == 0) result = r->function_of(&function, module, "first");
    if (result == 0) result = run_first(r, function, &sum);
    if (result == 0) result = r->unload(module);
    answer(r, "%d %llu", result, (unsigned long long)sum);
}

void check_probe_alignment(gpu *g) {
    static const size_t offsets[] = {1, 2, 4, 8, 16, 32, 64};
    find_capability(g);
    const slw_bytes image = gpu_cubin(g, "check");
    gpu_figure("abi", ((const unsigned char *)image.data)[8]);
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        char name[32];
        unsigned char *const base =
            mmap(NULL, image.size + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        gpu_require(base != MAP_FAILED, "no memory");
        memcpy(base + offsets[i], image.data, image.size);
        (void)snprintf(name, sizeof name, "aligned_to_%zu", offsets[i]);
        const question q = {.ask = ask_run, .image = {base + offsets[i], image.size}};
        (void)put(g, name, &q, "0 55", offsets[i] >= 16 ? "0 55" : NULL);
    }
}

/* The bytes are overwritten and then taken away, before anything of the module was asked for; "loaded" says whether the
   kernel's code was on the device then, and after its function and an attribute of it were asked for (H.2). */
static void ask_after_the_image(raw *r, const question *q) {
    cu_result (*mode_of)(int *) = NULL, (*is_loaded)(int *, void *) = NULL, (*attribute)(int *, int, void *) = NULL;
    void *module = NULL, *function = NULL;
    int mode = 0, state[2] = {-1, -1}, registers = 0;
    uint64_t sum = 0;
    const size_t size = (q->image.size + PAGE - 1) / PAGE * PAGE;
    unsigned char *const copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) answer(r, "no memory");
    memcpy(copy, q->image.data, q->image.size);
    gpu_raw(r->g, mode_of, "cuModuleGetLoadingMode");
    gpu_raw(r->g, is_loaded, "cuFuncIsLoaded");
    gpu_raw(r->g, attribute, "cuFuncGetAttribute");
    (void)mode_of(&mode);
    cu_result result = r->load(&module, copy);
    if (result == 0) {
        memset(copy, 0xa5, size);
        (void)munmap(copy, size);
        result = r->function_of(&function, module, "first");
    }
    if (result == 0) result = is_loaded(&state[0], function);
    if (result == 0 && q->number == 0) result = attribute(&registers, 4, function);
    if (result == 0) result = is_loaded(&state[1], function);
    if (result == 0) result = run_first(r, function, &sum);
    answer(r, "mode %d: loaded %d, %s %d: %d %llu", mode, state[0], q->number == 0 ? "after an attribute" : "again",
           state[1], result, (unsigned long long)sum);
}

void check_probe_lifetime(gpu *g) {
    find_capability(g);
    const slw_bytes image = gpu_cubin(g, "check");
    const question lazy = {.ask = ask_after_the_image, .image = image, .module_loading = "LAZY"};
    const question untouched = {.ask = ask_after_the_image, .image = image, .number = 1, .module_loading = "LAZY"};
    const question eager = {.ask = ask_after_the_image, .image = image, .module_loading = "EAGER"};
    const char *const said[] = {
        put(g, "lazy", &lazy, "mode 2: loaded 0, after an attribute 1: 0 55", NULL),
        put(g, "lazy_untouched", &untouched, "mode 2: loaded 0, again 0: 0 55", NULL),
        put(g, "eager", &eager, "mode 1: loaded 1, after an attribute 1: 0 55", NULL),
    };
    /* The library gives the bytes back after the load, under every mode. */
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        gpu_require(strstr(said[i], ": 0 55") != NULL, "without its image a module does not run: %s", said[i]);
}

/* ---- A reset, a fork --------------------------------------------------------------------------------------------- */

/* device.md H.4. */
static void ask_reset(raw *r, const question *q) {
    cu_result (*reset)(int) = NULL, (*retain)(void **, int) = NULL, (*set)(void *) = NULL;
    void *module = NULL, *function = NULL, *context = NULL;
    uint64_t bad = 0x10, sum = 0;
    void *values[] = {&bad};
    gpu_raw(r->g, reset, "cuDevicePrimaryCtxReset_v2");
    gpu_raw(r->g, retain, "cuDevicePrimaryCtxRetain");
    gpu_raw(r->g, set, "cuCtxSetCurrent");
    cu_result result = r->load(&module, q->image.data);
    if (result == 0) result = r->function_of(&function, module, "first");
    if (result == 0) result = r->launch(function, 1, 1, 1, 32, 1, 1, 0, NULL, values, NULL);
    if (result != 0) answer(r, "no fault: %d", result);
    const cu_result fault = r->wait(), cleared = reset(0), retained = retain(&context, 0), current = set(context);
    result = r->load(&module, q->image.data);
    const cu_result loaded = result;
    if (result == 0) result = r->function_of(&function, module, "first");
    if (result == 0) result = run_first(r, function, &sum);
    answer(r, "fault %d, reset %d, retain %d, set current %d, load %d, run %d %llu", fault, cleared, retained, current,
           loaded, result, (unsigned long long)sum);
}

void check_probe_reset(gpu *g) {
    find_capability(g);
    const question q = {.ask = ask_reset, .image = gpu_cubin(g, "check")};
    (void)put(g, "after_a_fault", &q, "fault 700, reset 0, retain 0, set current 0, load 0, run 0 55", NULL);
}

/* device.md H.5: what the library never does in a child, done. One call a child; a crash of it is told too. */
static void ask_in_forked(raw *r, const question *q) {
    void *module = NULL, *current = NULL;
    int ends[2], status = 0, code = -1;
    cu_result (*init)(unsigned) = NULL, (*get)(void **) = NULL, (*release)(int) = NULL;
    gpu_raw(r->g, init, "cuInit");
    gpu_raw(r->g, get, "cuCtxGetCurrent");
    gpu_raw(r->g, release, "cuDevicePrimaryCtxRelease_v2");
    const cu_result loaded = r->load(&module, q->image.data);
    if (loaded != 0 || pipe(ends) != 0) answer(r, "cannot be asked: %d", loaded);
    const pid_t child = fork();
    if (child == 0) {
        (void)alarm(PATIENCE_S / 2);
        switch (q->number) {
        case 0:
            code = r->unload(module);
            break;
        case 1:
            code = init(0);
            break;
        case 2:
            code = get(&current);
            break;
        case 3:
            code = release(0);
            break;
        default:
            exit(0); /* the driver's own exit handlers, and nothing else */
        }
        _exit(write(ends[1], &code, sizeof code) == sizeof code ? 0 : 1);
    }
    close(ends[1]);
    const int answered = read(ends[0], &code, sizeof code) == sizeof code;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    const cu_result after = r->unload(module);
    if (WIFSIGNALED(status)) answer(r, "signal %d; in the parent %d", WTERMSIG(status), after);
    if (!answered) answer(r, "ended with %d; in the parent %d", WEXITSTATUS(status), after);
    answer(r, "%d; in the parent %d", code, after);
}

void check_probe_fork(gpu *g) {
    static const struct {
        const char *name, *of_double;
    } calls[] = {{"unload", "3; in the parent 0"},
                 {"init", "3; in the parent 0"},
                 {"get_current", "3; in the parent 0"},
                 {"release", "3; in the parent 0"},
                 {"exit", "ended with 0; in the parent 0"}};
    find_capability(g);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const question q = {.ask = ask_in_forked, .image = gpu_cubin(g, "check"), .number = i};
        (void)put(g, calls[i].name, &q, calls[i].of_double, NULL);
    }
}

/* How a forked child of a program that has a context and no slipway ends by exit; 0: well. */
int gpu_signal_at_raw_exit(gpu *g) {
    find_capability(g);
    const question q = {.ask = ask_in_forked, .image = gpu_cubin(g, "check"), .number = 4};
    const char *const said = ask(g, &q);
    int number = 0;
    gpu_figure_text("raw_child_at_exit", "%s", said);
    return sscanf(said, "signal %d;", &number) == 1 ? number : 0;
}
