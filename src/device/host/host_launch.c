/* Launching: the limits that memory depends on, then every block, by this thread alone or with the pool's help. */
#include "fail.h"
#include "host_driver.h"

/* Set while this thread runs blocks, so that a kernel which launches is refused instead of waiting for itself. */
static _Thread_local int inside_kernel;

/* Sets a block's index from its number, x running fastest. */
static void place(slw_host_block *block, uint64_t number) {
    const uint64_t row = number / block->grid[0];
    block->index[0] = (uint32_t)(number % block->grid[0]);
    block->index[1] = (uint32_t)(row % block->grid[1]);
    block->index[2] = (uint32_t)(row / block->grid[1]);
}

/* One run of blocks [from, to) by this thread. */
static void run_blocks(const slwi_host_job *job, uint64_t from, uint64_t to, void *scratch) {
    slw_host_block block = job->block;
    block.shared = scratch;
    if (from != 0) place(&block, from); /* a small launch pays for no division */
    const uint32_t grid_x = block.grid[0];
    const uint32_t grid_y = block.grid[1];
    uint32_t x = block.index[0];
    uint32_t y = block.index[1];
    uint32_t z = block.index[2];
    for (uint64_t i = from; i < to; i++) {
        block.index[0] = x;
        block.index[1] = y;
        block.index[2] = z;
        job->entry(&block, job->params);
        if (++x < grid_x) continue;
        x = 0;
        if (++y < grid_y) continue;
        y = 0;
        z++;
    }
}

void slwi_host_job_work(slwi_host_job *job, void *scratch) {
    void *const shared = job->block.shared_bytes > 0 ? scratch : NULL;
    inside_kernel = 1;
    for (;;) {
        /* The largest grid has less than 2^63 blocks and there are few workers: this does not wrap. */
        const uint64_t from = atomic_fetch_add_explicit(&job->next, job->chunk, memory_order_relaxed);
        if (from >= job->total) break;
        run_blocks(job, from, job->total - from < job->chunk ? job->total : from + job->chunk, shared);
    }
    inside_kernel = 0;
}

/* Without help: no counter, no hand-off. */
static void work_alone(slwi_host_job *job, void *scratch) {
    inside_kernel = 1;
    run_blocks(job, 0, job->total, scratch);
    inside_kernel = 0;
}

static void work_together(slwi_host_state *host, slwi_host_job *job, void *scratch) {
    if (job->total == 1u || !slwi_host_pool_claim(host->pool)) {
        work_alone(job, scratch);
        return;
    }
    /* Eight chunks each keep everybody busy to the end when blocks are not alike. */
    const uint64_t workers = (uint64_t)slwi_host_pool_threads(host->pool) + 1u;
    job->chunk = job->total / (workers * 8u);
    if (job->chunk == 0) job->chunk = 1u;
    slwi_host_pool_run(host->pool, job, scratch);
}

/* The caller's own scratch is on its stack: a launch allocates nothing, and any number of threads may launch. A
   function of its own, so that kernels without shared memory do not pay for the stack. */
__attribute__((noinline)) static void work_with_scratch(slwi_host_state *host, slwi_host_job *job) {
    _Alignas(SLWI_HOST_SHARED_ALIGNMENT) unsigned char scratch[SLWI_HOST_SHARED_BYTES];
    work_together(host, job, scratch);
}

static slw_code refuse(slw_error *err, const char *kernel, const char *resource, uint64_t required, uint64_t limit,
                       const char *unit) {
    slwi_error_amount(err, resource, required, limit, unit);
    slwi_error_kernel(err, kernel, NULL);
    return slwi_fail(err, SLW_E_OUT_OF_RESOURCES, NULL, "%s of kernel %s: %llu %s, the device has %llu", resource,
                     kernel, (unsigned long long)required, unit, (unsigned long long)limit);
}

/* Lifecycle has said all this with better words; what is here keeps memory whole whoever calls. */
static slw_code check_launch(const slwi_host_function *function, const slw_driver_launch *launch, slw_error *err) {
    static const uint32_t max_grid[3] = {SLWI_HOST_MAX_GRID_X, SLWI_HOST_MAX_GRID_YZ, SLWI_HOST_MAX_GRID_YZ};
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (launch->blocks[i] == 0 || launch->block[i] == 0) {
            slwi_error_kernel(err, function->name, NULL);
            return slwi_fail(err, SLW_E_INVALID_LAUNCH, NULL, "kernel %s: a dimension of the %s is zero",
                             function->name, launch->blocks[i] == 0 ? "grid" : "block");
        }
        if (launch->blocks[i] > max_grid[i]) {
            return refuse(err, function->name, "grid dimension", launch->blocks[i], max_grid[i], "blocks");
        }
        if (launch->block[i] > SLWI_HOST_MAX_THREADS) {
            return refuse(err, function->name, "threads per block", launch->block[i], SLWI_HOST_MAX_THREADS, "threads");
        }
        threads *= launch->block[i];
    }
    if (threads > SLWI_HOST_MAX_THREADS) {
        return refuse(err, function->name, "threads per block", threads, SLWI_HOST_MAX_THREADS, "threads");
    }
    const uint64_t shared = (uint64_t)function->static_shared_bytes + launch->shared_bytes;
    if (shared > SLWI_HOST_SHARED_BYTES) {
        return refuse(err, function->name, "shared memory", shared, SLWI_HOST_SHARED_BYTES, "bytes");
    }
    if (launch->param_count != function->param_count || (launch->param_count > 0 && launch->params == NULL)) {
        slwi_error_kernel(err, function->name, NULL);
        return slwi_fail(err, SLW_E_INVALID_LAUNCH, NULL, "kernel %s takes %u arguments, %u are given", function->name,
                         function->param_count, launch->params == NULL ? 0 : launch->param_count);
    }
    return SLW_OK;
}

slw_code slwi_host_launch(void *state, void *function, const slw_driver_launch *launch, slw_error *err) {
    const slwi_host_function *const kernel = function;
    if (inside_kernel) {
        slwi_error_kernel(err, kernel->name, NULL);
        return slwi_fail(err, SLW_E_USAGE, "INSIDE_KERNEL", "a kernel must not launch another (%s)", kernel->name);
    }
    const slw_code code = check_launch(kernel, launch, err);
    if (code != SLW_OK) return code;
    slwi_host_job job = {
        .entry = kernel->entry,
        .params = launch->params,
        .block = {.size = sizeof(slw_host_block),
                  .grid = {launch->blocks[0], launch->blocks[1], launch->blocks[2]},
                  .block = {launch->block[0], launch->block[1], launch->block[2]},
                  .shared_bytes = kernel->static_shared_bytes + launch->shared_bytes},
        .total = (uint64_t)launch->blocks[0] * launch->blocks[1] * launch->blocks[2],
    };
    atomic_init(&job.next, 0);
    if (job.block.shared_bytes == 0) {
        work_together(state, &job, NULL);
    } else {
        work_with_scratch(state, &job);
    }
    return SLW_OK;
}
