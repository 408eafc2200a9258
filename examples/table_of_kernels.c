/* A table of kernels, in the style the phase analysis accepts: a handle lives in a local variable until its last
 * transition; a function annotated SLW_ENDS takes it over and puts it into the table, where the analysis no longer
 * follows it. One module serves both kernels of the table: saxpy for blocks of 64 and of 256 threads. Usage:
 * table_of_kernels examples/kernels/saxpy.c DIRECTORY */
#include <slipway/slipway.h>

#include <stdio.h>

#define KERNELS 2

typedef struct table {
    slw_launchable *kernels[KERNELS];
    int count;
} table;

/* Takes the handle over. */
static void table_add(table *t, slw_launchable **kernel) SLW_ENDS(*kernel);

#if defined(__clang__) && defined(SLW_CHECK_PHASES)
__attribute__((no_thread_safety_analysis)) /* the one place where a handle leaves the analysis */
#endif
static void
table_add(table *t, slw_launchable **kernel) {
    t->kernels[t->count++] = *kernel;
    *kernel = NULL;
}

#if defined(__clang__) && defined(SLW_CHECK_PHASES)
__attribute__((no_thread_safety_analysis)) /* and the one where they end */
#endif
static void
table_free(table *t) {
    while (t->count > 0) slw_launchable_discard(&t->kernels[--t->count]);
}

static slw_code add_shape(table *t, const slw_device_loaded *loaded, uint32_t threads, slw_error *err)
    SLW_NEEDS(loaded);

static slw_code add_shape(table *t, const slw_device_loaded *loaded, uint32_t threads, slw_error *err) {
    slw_device_loaded *share = NULL;
    slw_launchable *kernel = NULL;
    slw_code code = slw_device_loaded_share(loaded, &share, err);
    if (code != SLW_OK) return code;
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    shape.block[0] = threads;
    shape.block[1] = shape.block[2] = 1;
    code = slw_make_launchable(&share, &shape, &kernel, err);
    if (code != SLW_OK) {
        slw_device_loaded_discard(&share);
        return code;
    }
    table_add(t, &kernel);
    return SLW_OK;
}

static slw_code fill(table *t, slw_compiler *compiler, slw_device *device, const char *path, slw_error *err) {
    slw_cached *cached = NULL;
    slw_hydrated *hydrated = NULL;
    slw_device_loaded *loaded = NULL;
    slw_source source = SLW_SOURCE_INIT;
    source.path = path;
    slw_code code = slw_compile(compiler, &source, NULL, NULL, &cached, err);
    if (code != SLW_OK) return code;
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
    code = add_shape(t, loaded, 64, err);
    if (code == SLW_OK) code = add_shape(t, loaded, 256, err);
    slw_device_loaded_discard(&loaded);
    return code;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    char root[4096], private_root[4096];
    snprintf(root, sizeof root, "%s/cache", argv[2]);
    snprintf(private_root, sizeof private_root, "%s/private", argv[2]);
    slw_error err = SLW_ERROR_INIT;
    slw_store *store = NULL;
    slw_compiler *compiler = NULL;
    slw_device *device = NULL;
    table t = {{NULL, NULL}, 0};

    slw_store_options options = SLW_STORE_OPTIONS_INIT;
    options.root = root;
    options.private_root = private_root;
    slw_code code = slw_store_open(&options, &store, &err);
    slw_compiler_options tools = SLW_COMPILER_OPTIONS_INIT;
    tools.store = store;
    if (code == SLW_OK) code = slw_compiler_open(&tools, &compiler, &err);
    slw_device_options where = SLW_DEVICE_OPTIONS_INIT;
    if (code == SLW_OK) code = slw_device_open(&where, &device, &err);
    if (code == SLW_OK) code = fill(&t, compiler, device, argv[1], &err);

    slw_device_counts counts = SLW_DEVICE_COUNTS_INIT;
    if (code == SLW_OK) code = slw_device_get_counts(device, &counts, &err);
    if (code == SLW_OK) printf("%d kernels, %llu module\n", t.count, (unsigned long long)counts.modules_loaded);
    if (code != SLW_OK) fprintf(stderr, "%s: %s\n", slw_code_name(code), err.message);
    table_free(&t);
    slw_device_close(&device);
    slw_compiler_close(&compiler);
    slw_store_close(&store);
    return slw_code_exit_status(code);
}
