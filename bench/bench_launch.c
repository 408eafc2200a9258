/* A launch of an empty host kernel, against calling it directly the way the pool does: one block (called in place), and
 * 4,096 blocks of nothing shared out to the pool's threads. And what a hydrated kernel keeps in memory beside its
 * payloads. */
#include "bench.h"
#include "host_driver.h"

#include <stdio.h>
#include <string.h>

static const char source[] =
    "#include <slipway/host_kernel.h>\n"
    "SLW_HOST_KERNEL(empty, SLW_HOST_PARAM(int *, nothing), SLW_HOST_PARAM(int, n));\n"
    "void empty(const slw_host_block *block, void *const *args) { (void)block; (void)args; }\n";

typedef struct launcher {
    slw_launchable *kernel;
    slw_grid grid;
    slw_args args;
    void *values[2];
    slw_host_kernel *entry;
    slwi_host_pool *pool;
} launcher;

static void subject(void *context) {
    launcher *l = context;
    const slw_stream stream = SLW_STREAM_DEFAULT;
    static slw_error err = SLW_ERROR_INIT; /* 4 KB: as a caller would, made once */
    bench_check(slw_launch(l->kernel, &l->grid, stream, &l->args, &err), "launch", &err);
}

static void fill_job(launcher *l, slwi_host_job *job) {
    memset(job, 0, sizeof *job);
    job->entry = l->entry;
    job->params = l->values;
    job->block.size = sizeof job->block;
    memcpy(job->block.grid, l->grid.extent, sizeof job->block.grid);
    job->block.block[0] = job->block.block[1] = job->block.block[2] = 1;
    job->total = l->grid.extent[0];
    job->chunk = job->total > 64 ? job->total / 64 : 1;
}

static void direct_one(void *context) {
    slwi_host_job job;
    fill_job(context, &job);
    slwi_host_job_work(&job, NULL);
}

static void direct_pool(void *context) {
    launcher *l = context;
    slwi_host_job job;
    fill_job(l, &job);
    if (!slwi_host_pool_claim(l->pool))
        slwi_host_job_work(&job, NULL);
    else
        slwi_host_pool_run(l->pool, &job, NULL);
}

int main(void) {
    static launcher l = {.grid = SLW_GRID_INIT, .args = SLW_ARGS_INIT};
    slw_error err = SLW_ERROR_INIT;
    slw_store *store = NULL;
    slw_compiler *compiler = NULL;
    slw_device *device = NULL;
    slw_cached *cached = NULL;
    slw_hydrated *hydrated = NULL;
    slw_device_loaded *loaded = NULL;
    char root[256], private_root[256];
    snprintf(root, sizeof root, "%s/store", bench_directory());
    snprintf(private_root, sizeof private_root, "%s/private", bench_directory());
    slw_store_options options = SLW_STORE_OPTIONS_INIT;
    options.root = root;
    options.private_root = private_root;
    bench_check(slw_store_open(&options, &store, &err), "store", &err);
    slw_compiler_options tools = SLW_COMPILER_OPTIONS_INIT;
    tools.store = store;
    bench_check(slw_compiler_open(&tools, &compiler, &err), "compiler", &err);
    slw_source text = SLW_SOURCE_INIT;
    text.text = (slw_bytes){source, sizeof source - 1};
    text.name = "empty.c";
    bench_check(slw_compile(compiler, &text, NULL, NULL, &cached, &err), "compile", &err);
    bench_check(slw_hydrate(&cached, NULL, &hydrated, &err), "hydrate", &err);
    bench_value("heap kept by a hydrated kernel of 3 files", (double)slw_hydrated_overhead_bytes(hydrated), "bytes",
                4096);
    slw_device_options where = SLW_DEVICE_OPTIONS_INIT;
    bench_check(slw_device_open(&where, &device, &err), "device", &err);
    bench_check(slw_device_load(&hydrated, device, &loaded, &err), "load", &err);
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    shape.block[0] = shape.block[1] = shape.block[2] = 1;
    bench_check(slw_make_launchable(&loaded, &shape, &l.kernel, &err), "make launchable", &err);

    static int *nothing;
    static int n;
    l.values[0] = &nothing;
    l.values[1] = &n;
    l.args.count = 2;
    l.args.values = l.values;
    l.grid.extent[0] = l.grid.extent[1] = l.grid.extent[2] = 1;
    void *const entry = slw_launchable_native_function(l.kernel);
    memcpy(&l.entry, &entry, sizeof l.entry);
    const slw_allocator libc = SLW_ALLOCATOR_INIT;
    slw_device_info info = SLW_DEVICE_INFO_INIT;
    bench_check(slw_device_describe(device, &info, &err), "describe", &err);
    l.pool = slwi_host_pool_create(&libc, info.multiprocessors - 1);
    bench_ratio("launch of an empty kernel, 1 block", direct_one, subject, &l, 2001, 200, 0);
    l.grid.extent[0] = 4096;
    bench_ratio("launch of an empty kernel, 4,096 blocks", direct_pool, subject, &l, 2001, 1, 0);
    slwi_host_pool_destroy(l.pool, 0);
    slw_launchable_discard(&l.kernel);
    slw_device_close(&device);
    slw_compiler_close(&compiler);
    slw_store_close(&store);
    return 0;
}
