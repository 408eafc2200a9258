#include "gpu_kit.h"

#include <dlfcn.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

uint64_t gpu_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- The result -------------------------------------------------------------------------------------------------- */

static int report_fd = -1;
static const char *report_name = "?";
static char figures[16384];
static size_t figures_used;

void gpu_report_to(int fd, const char *name) {
    report_fd = fd;
    report_name = name;
}

/* Appends JSON text; what does not fit is left out whole. */
static void put(const char *text) {
    const size_t size = strlen(text);
    if (figures_used + size < sizeof figures) {
        memcpy(figures + figures_used, text, size + 1);
        figures_used += size;
    }
}

static void quote(const char *text, char *out, size_t size) {
    size_t used = 0;
    out[used++] = '"';
    for (; *text != '\0' && used + 8 < size; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            used += (size_t)snprintf(out + used, size - used, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            used += (size_t)snprintf(out + used, size - used, "\\u%04x", c);
        else
            out[used++] = (char)c;
    }
    out[used++] = '"';
    out[used] = '\0';
}

static void figure(const char *name, const char *value) {
    char text[2304];
    (void)snprintf(text, sizeof text, "%s\"%s\":%s", figures_used == 0 ? "" : ",", name, value);
    put(text);
}

void gpu_figure(const char *name, double value) {
    char text[64];
    (void)snprintf(text, sizeof text, "%.10g", value);
    figure(name, text);
}

void gpu_figure_text(const char *name, const char *format, ...) {
    char text[1024], quoted[2048];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    quote(text, quoted, sizeof quoted);
    figure(name, quoted);
}

void gpu_report(const char *status, const char *why) {
    char quoted[4096];
    quote(why, quoted, sizeof quoted);
    if (report_fd < 0) return;
    dprintf(report_fd, "{\"name\":\"%s\",\"status\":\"%s\",\"why\":%s,\"figures\":{%s}", report_name, status, quoted,
            figures);
    close(report_fd);
    report_fd = -1;
}

static void end(const char *status, const char *format, va_list arguments) {
    char text[2048];
    (void)vsnprintf(text, sizeof text, format, arguments);
    gpu_report(status, text);
    exit(0);
}

void gpu_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    end("failed", format, arguments);
    abort();
}

void gpu_skip(const gpu *g, const char *format, ...) {
    int may = g->control == NULL;
    va_list arguments;
    for (unsigned i = 0; i < g->may_skip_count; i++) may |= strcmp(g->may_skip[i], report_name) == 0;
    va_start(arguments, format);
    end(may ? "skipped" : "failed", format, arguments);
    abort();
}

void gpu_expect(gpu *g, slw_code code, slw_code wanted, const char *reason, const char *what) {
    const slw_error *const e = &g->err;
    const char *const said = e->reason != NULL ? e->reason : "";
    if (code == wanted && (reason == NULL || strcmp(said, reason) == 0)) return;
    gpu_fail("%s: %s %s%s%s: %s %s%s%s", what, slw_code_name(code), said, wanted != SLW_OK ? ", wanted " : "",
             wanted != SLW_OK ? slw_code_name(wanted) : "", e->message, e->raw_name, e->path[0] != '\0' ? " in " : "",
             e->path);
}

/* ---- The driver beside us ---------------------------------------------------------------------------------------- */

void *gpu_symbol(gpu *g, const char *name) {
    if (g->handle == NULL) {
        g->handle = dlopen(g->library != NULL ? g->library : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        gpu_require(g->handle != NULL, "%s", dlerror());
    }
    void *const found = dlsym(g->handle, name);
    gpu_require(found != NULL, "the driver exports no %s", name);
    return found;
}

int gpu_attribute(gpu *g, int attribute) {
    cu_result (*get)(int *, int, int) = NULL;
    int value = -1;
    gpu_raw(g, get, "cuDeviceGetAttribute");
    const cu_result result = get(&value, attribute, 0);
    gpu_require(result == 0, "attribute %d: %d", attribute, result);
    return value;
}

int gpu_driver_version(gpu *g) {
    cu_result (*get)(int *) = NULL;
    int value = 0;
    gpu_raw(g, get, "cuDriverGetVersion");
    gpu_require(get(&value) == 0 && value > 0, "cuDriverGetVersion fails");
    return value;
}

void *gpu_current_context(gpu *g) {
    cu_result (*get)(void **) = NULL;
    void *current = NULL;
    gpu_raw(g, get, "cuCtxGetCurrent");
    gpu_require(get(&current) == 0, "cuCtxGetCurrent fails");
    return current;
}

void gpu_make_current(gpu *g) {
    cu_result (*set)(void *) = NULL;
    gpu_raw(g, set, "cuCtxSetCurrent");
    const cu_result result = set(slw_device_native_context(g->device));
    gpu_require(result == 0, "cuCtxSetCurrent: %d", result);
}

/* ---- The library ------------------------------------------------------------------------------------------------- */

void gpu_device_options(gpu *g, slw_device_options *options) {
    options->kind = "cuda";
    options->driver_library = g->library;
}

unsigned gpu_compiled_for(unsigned major) {
    switch (major) {
    case 7:
        return 75;
    case 8:
        return 80;
    case 9:
        return 90;
    case 10:
        return 100;
    case 12:
        return 120;
    default:
        return 0;
    }
}

void gpu_open(gpu *g) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    gpu_device_options(g, &options);
    gpu_ok(g, slw_device_open(&options, &g->device, &g->err));
    g->info = (slw_device_info)SLW_DEVICE_INFO_INIT;
    gpu_ok(g, slw_device_describe(g->device, &g->info, &g->err));
    unsigned number = 0;
    gpu_require(sscanf(g->info.target, "sm_%u", &number) == 1, "the device's target is \"%s\"", g->info.target);
    g->major = number / 10;
    g->minor = number % 10;
    gpu_require((int)g->major == gpu_attribute(g, 75) && (int)g->minor == gpu_attribute(g, 76),
                "the driver says %d.%d, the library %s", gpu_attribute(g, 75), gpu_attribute(g, 76), g->info.target);
    if (gpu_compiled_for(g->major) == 0 || number < gpu_compiled_for(g->major))
        gpu_skip(g, "tests/gpu/kernels has none for %s", g->info.target);
}

void gpu_close(gpu *g) {
    slw_device_close(&g->device);
    gpu_require(g->device == NULL, "the device is not closed");
}

void *gpu_keep(size_t size) {
    static void **kept;
    static size_t count;
    void **const more = realloc(kept, (count + 1) * sizeof *kept);
    gpu_require(more != NULL, "no memory");
    kept = more;
    kept[count] = malloc(size > 0 ? size : 1);
    gpu_require(kept[count] != NULL, "no memory");
    return kept[count++];
}

slw_bytes gpu_file(gpu *g, const char *name) {
    char path[GPU_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", g->kernels, name);
    FILE *const file = fopen(path, "rb");
    gpu_require(file != NULL, "%s cannot be opened", path);
    gpu_require(fseek(file, 0, SEEK_END) == 0, "%s cannot be read", path);
    const long size = ftell(file);
    rewind(file);
    gpu_require(size > 0, "%s is empty", path);
    char *const bytes = gpu_keep((size_t)size);
    gpu_require(fread(bytes, 1, (size_t)size, file) == (size_t)size, "%s cannot be read", path);
    fclose(file);
    return (slw_bytes){bytes, (size_t)size};
}

slw_bytes gpu_cubin_of(gpu *g, const char *kind, unsigned target) {
    char name[64];
    (void)snprintf(name, sizeof name, "%s_sm%u.cubin", kind, target);
    return gpu_file(g, name);
}

slw_bytes gpu_cubin(gpu *g, const char *kind) {
    return gpu_cubin_of(g, kind, gpu_compiled_for(g->major));
}

slw_bytes gpu_numbered(gpu *g, slw_bytes cubin, uint64_t number) {
    const uint64_t marker = GPU_NUMBER;
    (void)g;
    char *const copy = gpu_keep(cubin.size);
    memcpy(copy, cubin.data, cubin.size);
    unsigned found = 0;
    for (size_t at = 0; at + sizeof marker <= cubin.size; at++) {
        if (memcmp(copy + at, &marker, sizeof marker) != 0) continue;
        memcpy(copy + at, &number, sizeof number);
        found++;
    }
    gpu_require(found == 1, "the number stands %u times in the cubin", found);
    return (slw_bytes){copy, cubin.size};
}

slw_hydrated *gpu_hydrate(gpu *g, slw_bytes image) {
    slw_hydrated *hydrated = NULL;
    gpu_ok(g, slw_hydrate_binary(image, "tests/gpu", NULL, NULL, &hydrated, &g->err));
    return hydrated;
}

slw_device_loaded *gpu_load(gpu *g, slw_device *device, slw_bytes image) {
    slw_hydrated *hydrated = gpu_hydrate(g, image);
    slw_device_loaded *loaded = NULL;
    gpu_ok(g, slw_device_load(&hydrated, device, &loaded, &g->err));
    return loaded;
}

slw_launch_shape gpu_shape(const char *entry, uint32_t threads) {
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    shape.entry = entry;
    shape.block[0] = threads;
    shape.block[1] = shape.block[2] = 1;
    return shape;
}

slw_launchable *gpu_make(gpu *g, const slw_device_loaded *loaded, const slw_launch_shape *shape) {
    slw_device_loaded *share = NULL;
    slw_launchable *launchable = NULL;
    gpu_ok(g, slw_device_loaded_share(loaded, &share, &g->err));
    gpu_ok(g, slw_make_launchable(&share, shape, &launchable, &g->err));
    return launchable;
}

slw_launchable *gpu_make_plain(gpu *g, const slw_device_loaded *loaded, const char *entry, uint32_t threads) {
    const slw_launch_shape shape = gpu_shape(entry, threads);
    return gpu_make(g, loaded, &shape);
}

slw_code gpu_try_launch(gpu *g, const slw_launchable *launchable, uint32_t blocks, slw_stream stream, uint32_t count,
                        void *const *values) {
    slw_grid grid = SLW_GRID_INIT;
    slw_args args = SLW_ARGS_INIT;
    grid.extent[0] = blocks;
    grid.extent[1] = grid.extent[2] = 1;
    args.count = count;
    args.values = values;
    return slw_launch(launchable, &grid, stream, &args, &g->err);
}

slw_device_counts gpu_counts(gpu *g) {
    slw_device_counts counts = SLW_DEVICE_COUNTS_INIT;
    gpu_ok(g, slw_device_get_counts(g->device, &counts, &g->err));
    return counts;
}

slw_device_address gpu_zeros(gpu *g, slw_device *device, size_t size) {
    slw_device_address address = 0;
    void *const zeros = calloc(1, size);
    gpu_require(zeros != NULL, "no memory");
    gpu_ok(g, slw_device_alloc(device, size, &address, &g->err));
    gpu_ok(g, slw_device_copy_in(device, address, zeros, size, &g->err));
    free(zeros);
    return address;
}

uint64_t gpu_read(gpu *g, slw_device *device, slw_device_address from) {
    uint64_t value = 0;
    gpu_ok(g, slw_device_synchronize(device, NULL, &g->err));
    gpu_ok(g, slw_device_copy_out(device, &value, from, sizeof value, &g->err));
    return value;
}

void gpu_prove(gpu *g, slw_device *device, const slw_launchable *first, uint32_t blocks) {
    const slw_stream stream = SLW_STREAM_DEFAULT;
    slw_device_address sum = gpu_zeros(g, device, sizeof(uint64_t));
    void *values[] = {&sum};
    gpu_ok(g, gpu_try_launch(g, first, blocks, stream, 1, values));
    const uint64_t got = gpu_read(g, device, sum), wanted = (uint64_t)blocks * (blocks + 1) / 2;
    gpu_require(got == wanted, "first over %u blocks gives %llu, not %llu", blocks, (unsigned long long)got,
                (unsigned long long)wanted);
    gpu_ok(g, slw_device_free(device, &sum, &g->err));
}

/* ---- A folder ---------------------------------------------------------------------------------------------------- */

static char directory[64];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_directory(void) {
    (void)nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *gpu_directory(void) {
    if (directory[0] == '\0') {
        strcpy(directory, "/tmp/slipway-gpu-XXXXXX");
        gpu_require(mkdtemp(directory) != NULL, "no directory under /tmp");
        atexit(remove_directory);
    }
    return directory;
}
