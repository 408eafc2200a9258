/* From a C kernel to a launch: y = 2 x + y. Usage: embed examples/kernels/saxpy.c DIRECTORY (where the cache may lie).
 * Built with -DSLW_CHECK_PHASES -Wthread-safety: clang proves that every handle is used once and discarded on every
 * path. */
#include <slipway/slipway.h>

#include <stdio.h>

static slw_code launch(slw_device *device, const slw_launchable *kernel, slw_error *err) SLW_NEEDS(kernel);

static slw_code launch(slw_device *device, const slw_launchable *kernel, slw_error *err) {
    enum { N = 1000 };
    static float x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = (float)i, y[i] = 1;

    slw_device_address on_device[2] = {0, 0};
    slw_code code = slw_device_alloc(device, sizeof x, &on_device[0], err);
    if (code == SLW_OK) code = slw_device_alloc(device, sizeof y, &on_device[1], err);
    if (code == SLW_OK) code = slw_device_copy_in(device, on_device[0], x, sizeof x, err);
    if (code == SLW_OK) code = slw_device_copy_in(device, on_device[1], y, sizeof y, err);

    uint64_t n = N;
    float a = 2;
    void *values[] = {&n, &a, &on_device[0], &on_device[1]}; /* each points to the value */
    slw_args args = SLW_ARGS_INIT;
    args.count = 4;
    args.values = values;
    slw_grid grid = SLW_GRID_INIT;
    grid.extent[0] = (N + 255) / 256;
    grid.extent[1] = grid.extent[2] = 1;
    const slw_stream stream = SLW_STREAM_DEFAULT;
    if (code == SLW_OK) code = slw_launch(kernel, &grid, stream, &args, err);
    if (code == SLW_OK) code = slw_device_synchronize(device, &stream, err);
    if (code == SLW_OK) code = slw_device_copy_out(device, y, on_device[1], sizeof y, err);
    if (code == SLW_OK) printf("y[999] = %g\n", (double)y[N - 1]); /* 1999 */

    slw_error ignored = SLW_ERROR_INIT;
    for (int i = 0; i < 2; i++)
        if (on_device[i] != 0 && slw_device_free(device, &on_device[i], &ignored) != SLW_OK) on_device[i] = 0;
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

    slw_code code = slw_compile(compiler, &source, NULL, &report, &cached, err); /* a hit, or a build */
    if (code != SLW_OK) return code;
    printf("%s %s\n", slw_disposition_name(report.disposition), report.reason);
    slw_build_report_release(&report);
    code = slw_hydrate(&cached, NULL, &hydrated, err); /* the launch contract; payloads on demand */
    if (code != SLW_OK) {
        slw_cached_discard(&cached); /* a failure leaves the input with us */
        return code;
    }
    code = slw_device_load(&hydrated, device, &loaded, err); /* preflight, then the driver */
    if (code != SLW_OK) {
        slw_hydrated_discard(&hydrated);
        return code;
    }
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    shape.entry = "saxpy";
    shape.block[0] = 256;
    shape.block[1] = shape.block[2] = 1;
    code = slw_make_launchable(&loaded, &shape, &kernel, err);
    if (code != SLW_OK) {
        slw_device_loaded_discard(&loaded);
        return code;
    }
    code = launch(device, kernel, err); /* again and again */
    slw_launchable_discard(&kernel);
    return code;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    char root[4096], private_root[4096], memo_directory[4096], words[4096];
    snprintf(root, sizeof root, "%s/cache", argv[2]);
    snprintf(private_root, sizeof private_root, "%s/private", argv[2]);
    snprintf(memo_directory, sizeof memo_directory, "%s/memo", argv[2]);
    slw_error err = SLW_ERROR_INIT;
    err.diagnostics = words; /* the compiler's words land here */
    err.diagnostics_capacity = sizeof words;

    slw_store *store = NULL;
    slw_store_options options = SLW_STORE_OPTIONS_INIT;
    options.root = root;
    options.private_root = private_root;
    slw_code code = slw_store_open(&options, &store, &err);

    slw_memo *memo = NULL; /* without it every process reads the whole toolchain to prove it */
    slw_memo_options remember = SLW_MEMO_OPTIONS_INIT;
    remember.directory = memo_directory;
    if (code == SLW_OK) code = slw_memo_open(&remember, &memo, &err);

    slw_compiler *compiler = NULL;
    slw_compiler_options tools = SLW_COMPILER_OPTIONS_INIT;
    tools.store = store;
    tools.memo = memo;
    tools.backend = "host";
    if (code == SLW_OK) code = slw_compiler_open(&tools, &compiler, &err);

    slw_device *device = NULL;
    slw_device_options where = SLW_DEVICE_OPTIONS_INIT;
    if (code == SLW_OK) code = slw_device_open(&where, &device, &err);

    if (code == SLW_OK) code = run(compiler, device, argv[1], &err);
    if (code != SLW_OK) fprintf(stderr, "%s: %s %s\n%s\n", slw_code_name(code), err.message, err.path, words);
    slw_device_close(&device); /* in any order, but the memo after what borrows it */
    slw_compiler_close(&compiler);
    slw_memo_close(&memo);
    slw_store_close(&store);
    return slw_code_exit_status(code);
}
