/* A backend of your own: a tiny language, lowered to C and compiled by the host's backend. Usage: custom_backend
 * examples/kernels/square.tiny DIRECTORY (where the cache may lie).
 *
 * A line of it is a kernel over one array: "square = x * x". What a front end has to bring stands here: kinds of sources
 * and stages, the records that say what is in the key, and the stages themselves; searching compilers, their identity,
 * the cache, the contract and the launch are the library's. The host's vtable does the work behind the first stage. */
#include <slipway/slipway.h>
#include <slipway/sys/backend_impl.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY_REVISION 1 /* what this compiler does; another number is another key */

/* ---- the language ------------------------------------------------------------------------------------------------ */

static slw_code bad_line(slw_error *err, const char *why, unsigned line) {
    if (err != NULL) {
        err->code = SLW_E_COMPILE_FAILED;
        err->reason = "TINY";
        err->line = line;
        err->present |= SLW_ERROR_HAS_LINE;
        (void)snprintf(err->message, sizeof err->message, "line %u: %s", line, why);
    }
    return SLW_E_COMPILE_FAILED;
}

/* "name = expression of x": both parts by length; 0 for a blank line, -1 for another. */
static int split(const char *at, size_t size, size_t *name_size, const char **body, size_t *body_size) {
    size_t end = 0;
    while (end < size && isspace((unsigned char)at[end])) end++;
    if (end == size) return 0;
    size_t name = 0;
    while (name < size && (isalnum((unsigned char)at[name]) || at[name] == '_')) name++;
    const char *equals = memchr(at, '=', size);
    if (name == 0 || name > 30 || isdigit((unsigned char)at[0]) || equals == NULL) return -1;
    *name_size = name;
    *body = equals + 1;
    *body_size = size - (size_t)(*body - at);
    for (size_t i = 0; i < *body_size; i++) /* nothing that could be more than arithmetic */
        if (strchr("x0123456789.+-*/() \t", (*body)[i]) == NULL) return -1;
    return 1;
}

static const char kernel_format[] =
    "SLW_HOST_KERNEL(%.*s, SLW_HOST_PARAM(uint64_t, n), SLW_HOST_PARAM(float *, values));\n"
    "void %.*s(const slw_host_block *block, void *const *args) {\n"
    "    const uint64_t n = SLW_HOST_ARG(uint64_t, args, 0);\n"
    "    float *const values = SLW_HOST_ARG(float *, args, 1);\n"
    "    const uint64_t first = (uint64_t)block->index[0] * block->block[0];\n"
    "    for (uint64_t i = first; i < first + block->block[0] && i < n; i++) {\n"
    "        const float x = values[i];\n"
    "        values[i] = (float)(%.*s);\n"
    "    }\n"
    "}\n";

static slw_code lower(slw_bytes tiny, slw_text *out, slw_error *err) {
    static char text[65536];
    int used = snprintf(text, sizeof text, "#include <slipway/host_kernel.h>\n");
    const char *at = tiny.data, *const end = at + tiny.size;
    for (unsigned line = 1; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t size = (size_t)((stop != NULL ? stop : end) - at);
        size_t name = 0, body_size = 0;
        const char *body = NULL;
        const int kind = split(at, size, &name, &body, &body_size);
        if (kind < 0) return bad_line(err, "expected NAME = ARITHMETIC OF x", line);
        if (kind > 0)
            used += snprintf(text + used, sizeof text - (size_t)used, kernel_format, (int)name, at, (int)name, at,
                             (int)body_size, body);
        if (used >= (int)sizeof text) return bad_line(err, "too many kernels", line);
        at += size + (stop != NULL);
    }
    return slw_text_copy(NULL, (slw_bytes){text, (size_t)used}, out, err);
}

/* ---- the backend ------------------------------------------------------------------------------------------------- */

typedef struct tiny_job {
    void *host_job;
    slw_bytes text; /* borrowed */
    slw_text c;     /* what it was lowered to */
} tiny_job;

static const slw_backend_vtable *host; /* set before the backend is registered */

static slw_code job_open(void *toolchain, const slw_compile_request *request, void **out, slw_error *err) {
    tiny_job *job = calloc(1, sizeof *job);
    if (job == NULL) return SLW_E_NO_MEMORY;
    slw_compile_request inner = *request;
    inner.extension = "c";
    inner.source_text = (slw_bytes){NULL, 0}; /* it comes with the stage */
    inner.is_lowered = 1;
    job->text = request->source_text;
    const slw_code code = host->job_open(toolchain, &inner, &job->host_job, err);
    if (code != SLW_OK) {
        free(job);
        return code;
    }
    *out = job;
    return SLW_OK;
}

static void job_close(void *opaque) {
    tiny_job *job = opaque;
    host->job_close(job->host_job);
    slw_text_release(&job->c);
    free(job);
}

static const char *job_target(const void *job) {
    return host->job_target(((const tiny_job *)job)->host_job);
}

static const char *job_private_reason(const void *job) {
    return host->job_private_reason(((const tiny_job *)job)->host_job);
}

static slw_code job_source_record(void *job, slw_record **out, slw_error *err) {
    return host->job_source_record(((tiny_job *)job)->host_job, out, err);
}

/* What the host has in the key, and which compiler of ours it was. */
static slw_code job_option_record(void *job, slw_record **out, slw_error *err) {
    slw_record *record = NULL, *revision = NULL;
    slw_code code = host->job_option_record(((tiny_job *)job)->host_job, &record, err);
    if (code == SLW_OK) code = slw_record_int(NULL, TINY_REVISION, &revision, err);
    if (code == SLW_OK) code = slw_record_set(record, (slw_bytes){"tiny", 4}, &revision, err);
    if (code == SLW_OK) {
        *out = record;
        return SLW_OK;
    }
    slw_record_release(&revision);
    slw_record_release(&record);
    return code;
}

/* The first stage is ours: it leaves kernel.c. The others are the host's, from what we lowered. */
static slw_code job_run(void *opaque, size_t index, const slw_stage_context *context, slw_error *err) {
    tiny_job *job = opaque;
    if (index > 0) {
        slw_stage_context inner = *context;
        inner.source_text = (slw_bytes){job->c.data, job->c.size};
        return host->job_run(job->host_job, index - 1, &inner, err);
    }
    slw_text_release(&job->c);
    const slw_code code = lower(context->source_text, &job->c, err);
    if (code != SLW_OK) return code;
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/kernel.c", context->directory);
    FILE *file = fopen(path, "w");
    const int written = file != NULL && fwrite(job->c.data, 1, job->c.size, file) == job->c.size;
    return file != NULL && fclose(file) == 0 && written ? SLW_OK : SLW_E_STORAGE;
}

static slw_code job_confirm(void *job, const slw_stage_context *context, slw_error *err) {
    return host->job_confirm(((tiny_job *)job)->host_job, context, err);
}

static int recognises(slw_bytes binary) {
    (void)binary;
    return 0; /* what comes out is the host's */
}

static const slw_source_kind kinds[] = {{"tiny", 0}};
static const slw_stage stages[] = {
    {"c", "c", "kernel.c"}, {"object", "o", "kernel.o"}, {"shared_object", "so", "kernel.so"}};
static slw_backend_vtable tiny;

static slw_code register_tiny(slw_error *err) {
    host = slw_backend_find("host");
    tiny = *host; /* toolchain, reading of contracts and targets are the host's */
    tiny.name = "tiny";
    tiny.sources = kinds;
    tiny.source_count = 1;
    tiny.stages = stages;
    tiny.stage_count = sizeof stages / sizeof *stages;
    tiny.job_open = job_open;
    tiny.job_close = job_close;
    tiny.job_target = job_target;
    tiny.job_private_reason = job_private_reason;
    tiny.job_source_record = job_source_record;
    tiny.job_option_record = job_option_record;
    tiny.job_run = job_run;
    tiny.job_confirm = job_confirm;
    tiny.recognises = recognises;
    return slw_backend_register(&tiny, err);
}

/* ---- its use ----------------------------------------------------------------------------------------------------- */

static slw_code launch(slw_device *device, const slw_launchable *kernel, slw_error *err) SLW_NEEDS(kernel);

static slw_code launch(slw_device *device, const slw_launchable *kernel, slw_error *err) {
    float values[4] = {1, 2, 3, 4};
    slw_device_address on_device = 0;
    slw_code code = slw_device_alloc(device, sizeof values, &on_device, err);
    if (code != SLW_OK) return code;
    code = slw_device_copy_in(device, on_device, values, sizeof values, err);
    uint64_t n = 4;
    void *pointers[] = {&n, &on_device};
    slw_args args = SLW_ARGS_INIT;
    args.count = 2;
    args.values = pointers;
    slw_grid grid = SLW_GRID_INIT;
    grid.extent[0] = grid.extent[1] = grid.extent[2] = 1;
    const slw_stream stream = SLW_STREAM_DEFAULT;
    if (code == SLW_OK) code = slw_launch(kernel, &grid, stream, &args, err);
    if (code == SLW_OK) code = slw_device_synchronize(device, &stream, err);
    if (code == SLW_OK) code = slw_device_copy_out(device, values, on_device, sizeof values, err);
    if (code == SLW_OK) printf("square: %g %g %g %g\n", values[0], values[1], values[2], values[3]);
    slw_error ignored = SLW_ERROR_INIT;
    if (slw_device_free(device, &on_device, &ignored) != SLW_OK && code == SLW_OK) code = ignored.code;
    if (code == SLW_OK && values[3] != 16) code = SLW_E_DRIVER;
    return code;
}

static slw_code run(slw_compiler *compiler, slw_device *device, const char *path, slw_error *err) {
    slw_cached *cached = NULL;
    slw_hydrated *hydrated = NULL;
    slw_device_loaded *loaded = NULL;
    slw_launchable *kernel = NULL;
    slw_source source = SLW_SOURCE_INIT;
    source.path = path;
    slw_build_report report = SLW_BUILD_REPORT_INIT;
    slw_code code = slw_compile(compiler, &source, NULL, &report, &cached, err);
    if (code != SLW_OK) return code;
    printf("%s %s\n", slw_disposition_name(report.disposition), report.reason);
    slw_build_report_release(&report);
    code = slw_hydrate(&cached, NULL, &hydrated, err);
    if (code != SLW_OK) {
        slw_cached_discard(&cached);
        return code;
    }
    code = slw_device_load(&hydrated, device, &loaded, err);
    if (code != SLW_OK) {
        slw_hydrated_discard(&hydrated);
        return code;
    }
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    shape.entry = "square";
    shape.block[0] = 4;
    shape.block[1] = shape.block[2] = 1;
    code = slw_make_launchable(&loaded, &shape, &kernel, err);
    if (code != SLW_OK) {
        slw_device_loaded_discard(&loaded);
        return code;
    }
    code = launch(device, kernel, err);
    slw_launchable_discard(&kernel);
    return code;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    char root[4096], private_root[4096], words[4096] = "";
    (void)snprintf(root, sizeof root, "%s/cache", argv[2]);
    (void)snprintf(private_root, sizeof private_root, "%s/private", argv[2]);
    slw_error err = SLW_ERROR_INIT;
    err.diagnostics = words;
    err.diagnostics_capacity = sizeof words;
    slw_store *store = NULL;
    slw_compiler *compiler = NULL;
    slw_device *device = NULL;
    slw_store_options options = SLW_STORE_OPTIONS_INIT;
    options.root = root;
    options.private_root = private_root;
    slw_compiler_options tools = SLW_COMPILER_OPTIONS_INIT;
    tools.extension = "tiny"; /* one backend begins with that: it is chosen */
    slw_device_options where = SLW_DEVICE_OPTIONS_INIT;

    slw_code code = register_tiny(&err);
    if (code == SLW_OK) code = slw_store_open(&options, &store, &err);
    tools.store = store;
    if (code == SLW_OK) code = slw_compiler_open(&tools, &compiler, &err);
    if (code == SLW_OK) code = slw_device_open(&where, &device, &err);
    for (int i = 0; code == SLW_OK && i < 2; i++) code = run(compiler, device, argv[1], &err); /* the second is a hit */
    if (code != SLW_OK) fprintf(stderr, "%s: %s %s\n%s\n", slw_code_name(code), err.message, err.path, words);
    slw_device_close(&device);
    slw_compiler_close(&compiler);
    slw_store_close(&store);
    return slw_code_exit_status(code);
}
