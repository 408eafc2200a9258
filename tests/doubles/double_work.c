/* Streams as queues, and kernels as functions on the host. A kernel not known by name writes one checksum of all
   it was given, so that a test can see that everything arrived. */
#include "double_core.h"

#include <stdlib.h>
#include <string.h>

static void work_free(double_work *work) {
    free(work->launch.values);
    free(work->sizes);
    free(work->kernel);
    free(work);
}

static void work_run(double_work *work) {
    if (work->pending != NULL) {
        --*work->pending;
    } else if (double_kernel_run(&work->launch) != 0) {
        work->fault(work->context);
    }
    work_free(work);
}

static void put(double_queue *queue, double_work *work) {
    if (!double_settings[DOUBLE_HOLD] && queue->first == NULL) {
        work_run(work);
        return;
    }
    if (queue->last != NULL) {
        queue->last->next = work;
    } else {
        queue->first = work;
    }
    queue->last = work;
}

int double_queue_kernel(double_queue *queue, const double_launch *launch, void *module, void (*fault)(void *),
                        void *context) {
    size_t bytes = 0;
    for (unsigned i = 0; i < launch->count; i++) bytes += ((size_t)launch->sizes[i] + 15) & ~(size_t)15;
    double_work *const work = calloc(1, sizeof *work);
    void **const values = malloc((launch->count + 2) * sizeof *values + bytes + 16);
    uint32_t *const sizes = malloc((launch->count + 1) * sizeof *sizes);
    char *const kernel = strdup(launch->kernel); /* the module may go before its work, which is a violation */
    if (work == NULL || values == NULL || sizes == NULL || kernel == NULL) {
        free(work);
        free(values);
        free(sizes);
        free(kernel);
        return 0;
    }
    unsigned char *at = (void *)(((uintptr_t)(values + launch->count) + 15) & ~(uintptr_t)15);
    for (unsigned i = 0; i < launch->count; i++) {
        memcpy(at, launch->values[i], launch->sizes[i]);
        values[i] = at;
        sizes[i] = launch->sizes[i];
        at += ((size_t)launch->sizes[i] + 15) & ~(size_t)15;
    }
    work->module = module;
    work->fault = fault;
    work->context = context;
    work->launch = *launch;
    work->launch.values = values;
    work->launch.sizes = work->sizes = sizes;
    work->launch.kernel = work->kernel = kernel;
    put(queue, work);
    return 1;
}

int double_queue_event(double_queue *queue, unsigned *pending) {
    double_work *const work = calloc(1, sizeof *work);
    if (work == NULL) return 0;
    work->pending = pending;
    ++*pending;
    put(queue, work);
    return 1;
}

void double_queue_run(double_queue *queue) {
    while (queue->first != NULL) {
        double_work *const work = queue->first;
        queue->first = work->next;
        if (queue->first == NULL) queue->last = NULL;
        work_run(work);
    }
}

void double_queue_drop(double_queue *queue) {
    while (queue->first != NULL) {
        double_work *const work = queue->first;
        queue->first = work->next;
        if (work->pending != NULL) --*work->pending;
        work_free(work);
    }
    queue->last = NULL;
}

int double_queue_uses(const double_queue *queue, const void *module) {
    for (const double_work *work = queue->first; work != NULL; work = work->next) {
        if (work->pending == NULL && work->module == module) return 1;
    }
    return 0;
}

/* ---- Kernels --------------------------------------------------------------------------------------------- */

static uint64_t address_of(const double_launch *launch, unsigned index) {
    uint64_t address = 0;
    if (index < launch->count && launch->sizes[index] == sizeof address) {
        memcpy(&address, launch->values[index], sizeof address);
    }
    return address;
}

static int32_t int_of(const double_launch *launch, unsigned index) {
    int32_t value = 0;
    if (index < launch->count && launch->sizes[index] == sizeof value) {
        memcpy(&value, launch->values[index], sizeof value);
    }
    return value;
}

static uint64_t blocks_of(const double_launch *launch) {
    return (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
}

/* c[i] = a[i] + b[i] for what `covered` elements reach. */
static int add(const double_launch *launch, uint64_t covered) {
    const int32_t n = int_of(launch, 3);
    uint64_t most = n < 0 ? 0 : (uint64_t)n;
    if (most > covered) most = covered;
    const uint64_t a = address_of(launch, 0), b = address_of(launch, 1), c = address_of(launch, 2);
    const uint64_t size = most * sizeof(float);
    if (!double_memory_holds(a, size) || !double_memory_holds(b, size) || !double_memory_holds(c, size)) return -1;
    const float *const left = (const float *)(uintptr_t)a;
    const float *const right = (const float *)(uintptr_t)b;
    float *const sum = (float *)(uintptr_t)c;
    for (uint64_t i = 0; i < most; i++) sum[i] = left[i] + right[i];
    return 0;
}

/* One element a thread. */
static int add_threads(const double_launch *launch) {
    return add(launch, (uint64_t)launch->grid[0] * launch->block[0]);
}

/* Triton's: a program a block, BLOCK elements a program. */
#define TRITON_BLOCK 1024u
static int add_programs(const double_launch *launch) {
    return add(launch, (uint64_t)launch->grid[0] * TRITON_BLOCK);
}

/* y[i] = a x[i] + y[i]: (float a, const float *x, float *y, int n). */
static int saxpy(const double_launch *launch) {
    float factor = 0;
    if (launch->count > 0 && launch->sizes[0] == sizeof factor) memcpy(&factor, launch->values[0], sizeof factor);
    const int32_t n = int_of(launch, 3);
    uint64_t most = n < 0 ? 0 : (uint64_t)n;
    if (most > (uint64_t)launch->grid[0] * launch->block[0]) most = (uint64_t)launch->grid[0] * launch->block[0];
    const uint64_t x = address_of(launch, 1), y = address_of(launch, 2);
    if (!double_memory_holds(x, 4 * most) || !double_memory_holds(y, 4 * most)) return -1;
    const float *const from = (const float *)(uintptr_t)x;
    float *const to = (float *)(uintptr_t)y;
    for (uint64_t i = 0; i < most; i++) to[i] = factor * from[i] + to[i];
    return 0;
}

/* Each block adds its number, from 1, or twice that, to one sum. */
static int count_blocks(const double_launch *launch, uint64_t factor) {
    const uint64_t sum = address_of(launch, 0);
    if (!double_memory_holds(sum, sizeof(uint64_t))) return -1;
    for (uint64_t i = 0; i < blocks_of(launch); i++) *(uint64_t *)(uintptr_t)sum += factor * (i + 1);
    return 0;
}
static int first(const double_launch *launch) {
    return count_blocks(launch, 1);
}
static int second(const double_launch *launch) {
    return count_blocks(launch, 2);
}

/* a[i] *= 2 for the threads of one block: every block of the real one does the same elements. */
static int twice(const double_launch *launch) {
    const uint64_t a = address_of(launch, 0);
    if (!double_memory_holds(a, 4u * launch->block[0])) return -1;
    for (uint32_t i = 0; i < launch->block[0]; i++) ((float *)(uintptr_t)a)[i] *= 2;
    return 0;
}

static int generic(const double_launch *launch) {
    const uint64_t to = address_of(launch, 0);
    if (to == 0 || to % 8 != 0 || !double_memory_holds(to, sizeof(uint64_t))) return 0;
    *(uint64_t *)(uintptr_t)to =
        double_checksum(launch->values, launch->sizes, launch->count, launch->grid, launch->block, launch->shared);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(const double_launch *launch);
} kernels[] = {
    {"add_f32", add_threads}, {"add_kernel", add_programs}, {"saxpy", saxpy},
    {"first", first},         {"second", second},           {"lb256", twice},
};

int double_kernel_run(const double_launch *launch) {
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        if (strcmp(kernels[i].name, launch->kernel) == 0) return kernels[i].run(launch);
    }
    return generic(launch);
}
