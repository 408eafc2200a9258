/* Launches of the host driver: every block once, scratch of its own, limits, the pool. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device_image.h"
#include "host_driver.h"
#include "modules.h"
#include "slt.h"

static const char text[] =
    "#include <slipway/host_kernel.h>\n"
    /* Counts each block by its linear index, and what is wrong with what it was told. */
    "SLW_HOST_KERNEL(mark, SLW_HOST_PARAM(uint32_t *, counts), SLW_HOST_PARAM(uint32_t *, wrong));\n"
    "void mark(const slw_host_block *b, void *const *args) {\n"
    "    const uint64_t i = b->index[0] + b->grid[0] * ((uint64_t)b->index[1] + b->grid[1] * (uint64_t)b->index[2]);\n"
    "    uint32_t *wrong = SLW_HOST_ARG(uint32_t *, args, 1);\n"
    "    for (int k = 0; k < 3; k++) if (b->index[k] >= b->grid[k]) __atomic_fetch_add(wrong, 1u, __ATOMIC_RELAXED);\n"
    "    if (b->size != sizeof *b || b->reserved != 0 || b->block[0] != 8 || b->block[1] != 4 || b->block[2] != 2 ||\n"
    "        b->shared_bytes != 0) __atomic_fetch_add(wrong, 1u, __ATOMIC_RELAXED);\n"
    "    __atomic_fetch_add(&SLW_HOST_ARG(uint32_t *, args, 0)[i], 1u, __ATOMIC_RELAXED);\n"
    "}\n"
    /* Fills its scratch with itself and looks again later: another block in the same scratch would show. */
    "SLW_HOST_KERNEL_SHARED(fill, 1000, SLW_HOST_PARAM(uint32_t *, wrong), SLW_HOST_PARAM(uint32_t, dynamic));\n"
    "void fill(const slw_host_block *b, void *const *args) {\n"
    "    uint32_t *wrong = SLW_HOST_ARG(uint32_t *, args, 0);\n"
    "    volatile unsigned char *s = b->shared, *d = SLW_HOST_SHARED_DYNAMIC(b, 1000);\n"
    "    if (b->shared_bytes != 1008u + SLW_HOST_ARG(uint32_t, args, 1) || (uintptr_t)s % 64 != 0 ||\n"
    "        d - s != 1008 ||\n"
    "        SLW_HOST_SHARED_DYNAMIC_BYTES(b, 1000) != SLW_HOST_ARG(uint32_t, args, 1))\n"
    "        __atomic_fetch_add(wrong, 1u, __ATOMIC_RELAXED);\n"
    "    for (uint32_t i = 0; i < b->shared_bytes; i++) s[i] = (unsigned char)(b->index[0] + i);\n"
    "    for (uint32_t i = 0; i < b->shared_bytes; i++)\n"
    "        if (s[i] != (unsigned char)(b->index[0] + i)) __atomic_fetch_add(wrong, 1u, __ATOMIC_RELAXED);\n"
    "}\n"
    "typedef void call_back(void *context);\n"
    "SLW_HOST_KERNEL(call, SLW_HOST_PARAM(call_back *, function), SLW_HOST_PARAM(void *, context));\n"
    "void call(const slw_host_block *b, void *const *args) {\n"
    "    (void)b;\n"
    "    SLW_HOST_ARG(call_back *, args, 0)(SLW_HOST_ARG(void *, args, 1));\n"
    "}\n"
    "SLW_HOST_KERNEL(empty);\n"
    "void empty(const slw_host_block *b, void *const *args) { (void)b; (void)args; }\n";

typedef struct rig {
    slw_device *device;
    slt_image *image;
    slwi_module *module;
} rig;

static void rig_open(rig *r, uint32_t pool) {
    slw_error err = SLW_ERROR_INIT;
    r->image = slt_image_compile_text(text, "");
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    options.pool_threads = pool;
    slt_ok(slw_device_open(&options, &r->device, &err), &err);
    slt_ok(slwi_module_load(r->device, &r->image->image, NULL, &r->module, &err), &err);
}

static void rig_close(rig *r) {
    slwi_release(r->module);
    slw_device_close(&r->device);
    slt_image_free(r->image);
}

static void *function_of(const rig *r, const char *kernel) {
    slw_error err = SLW_ERROR_INIT;
    void *function = NULL;
    slt_ok(slwi_module_function(r->module, slt_image_kernel(r->image, kernel), &function, NULL, &err), &err);
    return function;
}

static slw_driver_launch shape(uint32_t x, uint32_t y, uint32_t z, void **params, uint32_t count) {
    return (slw_driver_launch){.size = sizeof(slw_driver_launch),
                               .blocks = {x, y, z},
                               .block = {8, 4, 2},
                               .params = params,
                               .param_count = count};
}

static int threads_now(void) {
    DIR *tasks = opendir("/proc/self/task");
    int count = -2;
    while (readdir(tasks) != NULL) count++;
    closedir(tasks);
    return count;
}

START_TEST(every_block_runs_once) {
    static const uint32_t pools[] = {UINT32_MAX, 1, 3, 16};
    static const uint32_t grids[][3] = {{1, 1, 1}, {2, 1, 1},    {1, 1, 7},   {3, 5, 7},
                                        {7, 1, 3}, {1000, 1, 1}, {1, 999, 2}, {31, 33, 35}};
    rig r;
    rig_open(&r, pools[_i]);
    void *mark = function_of(&r, "mark");
    for (size_t g = 0; g < sizeof grids / sizeof grids[0]; g++) {
        const size_t total = (size_t)grids[g][0] * grids[g][1] * grids[g][2];
        uint32_t *counts = calloc(total, sizeof *counts), wrong = 0, *out = &wrong;
        void *params[] = {&counts, &out};
        const slw_driver_launch launch = shape(grids[g][0], grids[g][1], grids[g][2], params, 2);
        slw_error err = SLW_ERROR_INIT;
        slt_ok(slwi_module_launch(r.module, mark, &launch, &err), &err);
        ck_assert_uint_eq(wrong, 0);
        for (size_t i = 0; i < total; i++) ck_assert_msg(counts[i] == 1, "block %zu ran %u times", i, counts[i]);
        free(counts);
    }
    rig_close(&r);
}
END_TEST

START_TEST(scratch_belongs_to_the_block) {
    rig r;
    rig_open(&r, 3);
    static const uint32_t dynamics[] = {0, 4, 5000, SLWI_HOST_SHARED_BYTES - 1008u};
    void *fill = function_of(&r, "fill");
    for (size_t i = 0; i < 4; i++) {
        uint32_t wrong = 0, *out = &wrong, dynamic = dynamics[i];
        void *params[] = {&out, &dynamic};
        slw_driver_launch launch = shape(200, 1, 1, params, 2);
        launch.shared_bytes = dynamic;
        slw_error err = SLW_ERROR_INIT;
        slt_ok(slwi_module_launch(r.module, fill, &launch, &err), &err);
        ck_assert_uint_eq(wrong, 0);
        launch.blocks[0] = 1;
        slt_ok(slwi_module_launch(r.module, fill, &launch, &err), &err);
        ck_assert_uint_eq(wrong, 0);
    }
    rig_close(&r);
}
END_TEST

START_TEST(limits_are_checked) {
    rig r;
    rig_open(&r, UINT32_MAX);
    uint32_t wrong = 0, *out = &wrong, dynamic = SLWI_HOST_SHARED_BYTES - 1008u + 1u;
    void *params[] = {&out, &dynamic};
    void *fill = function_of(&r, "fill");
    slw_error err = SLW_ERROR_INIT;
    slw_driver_launch launch = shape(1, 1, 1, params, 2);
    launch.shared_bytes = dynamic;
    ck_assert_int_eq(slwi_module_launch(r.module, fill, &launch, &err), SLW_E_OUT_OF_RESOURCES);
    ck_assert_str_eq(err.resource, "shared memory");
    ck_assert_uint_eq(err.required, SLWI_HOST_SHARED_BYTES + 1u);
    ck_assert_uint_eq(err.limit, SLWI_HOST_SHARED_BYTES);
    ck_assert_str_eq(err.kernel, "fill");
    ck_assert_str_eq(err.device, "host:0");
    launch.shared_bytes = UINT32_MAX; /* no wrapping round */
    ck_assert_int_eq(slwi_module_launch(r.module, fill, &launch, NULL), SLW_E_OUT_OF_RESOURCES);
    static const struct {
        uint32_t blocks[3], block[3];
        slw_code code;
    } cases[] = {{{0, 1, 1}, {1, 1, 1}, SLW_E_INVALID_LAUNCH},
                 {{1, 0, 1}, {1, 1, 1}, SLW_E_INVALID_LAUNCH},
                 {{1, 1, 0}, {1, 1, 1}, SLW_E_INVALID_LAUNCH},
                 {{1, 1, 1}, {0, 1, 1}, SLW_E_INVALID_LAUNCH},
                 {{1, 1, 1}, {1, 1, 0}, SLW_E_INVALID_LAUNCH},
                 {{2147483648u, 1, 1}, {1, 1, 1}, SLW_E_OUT_OF_RESOURCES},
                 {{1, 65536, 1}, {1, 1, 1}, SLW_E_OUT_OF_RESOURCES},
                 {{1, 1, 65536}, {1, 1, 1}, SLW_E_OUT_OF_RESOURCES},
                 {{1, 1, 1}, {1025, 1, 1}, SLW_E_OUT_OF_RESOURCES},
                 {{1, 1, 1}, {32, 32, 2}, SLW_E_OUT_OF_RESOURCES},
                 {{1, 1, 1}, {65536, 65536, 1}, SLW_E_OUT_OF_RESOURCES},
                 {{1, 1, 1}, {1, 1, UINT32_MAX}, SLW_E_OUT_OF_RESOURCES}};
    void *empty = function_of(&r, "empty");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        launch = shape(1, 1, 1, NULL, 0);
        memcpy(launch.blocks, cases[i].blocks, sizeof launch.blocks);
        memcpy(launch.block, cases[i].block, sizeof launch.block);
        err = (slw_error)SLW_ERROR_INIT;
        ck_assert_int_eq(slwi_module_launch(r.module, empty, &launch, &err), cases[i].code);
        ck_assert_str_eq(err.kernel, "empty");
    }
    launch = shape(1, 1, 1, NULL, 1);
    ck_assert_int_eq(slwi_module_launch(r.module, empty, &launch, NULL), SLW_E_INVALID_LAUNCH);
    launch = shape(1, 1, 1, params, 1);
    ck_assert_int_eq(slwi_module_launch(r.module, fill, &launch, NULL), SLW_E_INVALID_LAUNCH);
    launch = shape(1, 1, 1, NULL, 2);
    ck_assert_int_eq(slwi_module_launch(r.module, fill, &launch, NULL), SLW_E_INVALID_LAUNCH);
    ck_assert_uint_eq(wrong, 0);
    rig_close(&r);
}
END_TEST

/* ---- Calls back from kernels ------------------------------------------------------------------------------- */

typedef struct nested {
    rig *r;
    void *empty;
    atomic_int refused, other;
    slw_error err;
} nested;

static void launch_inside(void *context) {
    nested *n = context;
    const slw_driver_launch launch = shape(4, 1, 1, NULL, 0);
    const slw_code code = slwi_module_launch(n->r->module, n->empty, &launch, NULL);
    atomic_fetch_add(code == SLW_E_USAGE ? &n->refused : &n->other, 1);
}

START_TEST(a_kernel_must_not_launch) {
    rig r;
    rig_open(&r, 3);
    nested n = {.r = &r, .empty = function_of(&r, "empty")};
    void *call = function_of(&r, "call"), *context = &n;
    void (*function)(void *) = launch_inside;
    void *params[] = {&function, &context};
    slw_error err = SLW_ERROR_INIT;
    slw_driver_launch launch = shape(1, 1, 1, params, 2);
    slt_ok(slwi_module_launch(r.module, call, &launch, &err), &err);
    launch.blocks[0] = 100; /* on the pool's threads as well */
    slt_ok(slwi_module_launch(r.module, call, &launch, &err), &err);
    ck_assert_int_eq(atomic_load(&n.refused), 101);
    ck_assert_int_eq(atomic_load(&n.other), 0);
    launch = shape(4, 1, 1, NULL, 0); /* and afterwards this thread may launch again */
    slt_ok(slwi_module_launch(r.module, n.empty, &launch, &err), &err);
    rig_close(&r);
}
END_TEST

typedef struct roll {
    pthread_mutex_t lock;
    pthread_t seen[64];
    int count;
    atomic_int blocks;
} roll;

static void sign(void *context) {
    roll *l = context;
    const struct timespec moment = {0, 2000000};
    nanosleep(&moment, NULL);
    pthread_mutex_lock(&l->lock);
    int known = 0;
    for (int i = 0; i < l->count; i++) known |= pthread_equal(l->seen[i], pthread_self());
    if (!known) l->seen[l->count++] = pthread_self();
    pthread_mutex_unlock(&l->lock);
    atomic_fetch_add(&l->blocks, 1);
}

static int who_works(uint32_t pool, uint32_t blocks) {
    rig r;
    rig_open(&r, pool);
    roll l = {.lock = PTHREAD_MUTEX_INITIALIZER};
    void *context = &l;
    void (*function)(void *) = sign;
    void *params[] = {&function, &context};
    slw_error err = SLW_ERROR_INIT;
    const slw_driver_launch launch = shape(blocks, 1, 1, params, 2);
    slt_ok(slwi_module_launch(r.module, function_of(&r, "call"), &launch, &err), &err);
    ck_assert_int_eq(atomic_load(&l.blocks), (int)blocks);
    if (l.count == 1) ck_assert(pthread_equal(l.seen[0], pthread_self()));
    rig_close(&r);
    return l.count;
}

START_TEST(the_pool_works_and_so_does_the_caller) {
    ck_assert_int_eq(who_works(UINT32_MAX, 20), 1);
    ck_assert_int_eq(who_works(3, 1), 1); /* one block: no hand-off */
    const int workers = who_works(3, 200);
    ck_assert_int_gt(workers, 1);
    ck_assert_int_le(workers, 4);
}
END_TEST

static void *nothing(void *argument) {
    return argument;
}

/* A thread that was joined may be seen for a moment longer. */
static int threads_soon(int expected) {
    const struct timespec moment = {0, 10000000};
    for (int i = 0; i < 500 && threads_now() != expected; i++) nanosleep(&moment, NULL);
    return threads_now();
}

START_TEST(threads_start_at_the_first_launch_and_are_joined) {
    pthread_t first; /* sanitizers add a thread of their own to it */
    ck_assert_int_eq(pthread_create(&first, NULL, nothing, NULL), 0);
    pthread_join(first, NULL);
    usleep(100000);
    const int before = threads_now();
    rig r;
    rig_open(&r, 3);
    void *empty = function_of(&r, "empty");
    slw_error err = SLW_ERROR_INIT;
    slw_driver_launch launch = shape(1, 1, 1, NULL, 0);
    slt_ok(slwi_module_launch(r.module, empty, &launch, &err), &err);
    ck_assert_int_eq(threads_now(), before);
    launch.blocks[0] = 2;
    slt_ok(slwi_module_launch(r.module, empty, &launch, &err), &err);
    ck_assert_int_eq(threads_now(), before + 3);
    for (int i = 0; i < 2000; i++) slt_ok(slwi_module_launch(r.module, empty, &launch, &err), &err);
    ck_assert_int_eq(threads_now(), before + 3);
    slw_device_info info = SLW_DEVICE_INFO_INIT;
    slt_ok(slw_device_describe(r.device, &info, &err), &err);
    ck_assert_uint_eq(info.multiprocessors, 4);
    rig_close(&r);
    ck_assert_int_eq(threads_soon(before), before);
}
END_TEST

/* ---- Many launches at once --------------------------------------------------------------------------------- */

typedef struct launcher {
    rig *r;
    void *mark, *fill;
    uint32_t number, bad;
} launcher;

static void *launch_often(void *argument) {
    launcher *l = argument;
    for (uint32_t i = 0; i < 100; i++) {
        const uint32_t total = 1 + (l->number * 37 + i * 11) % 90;
        uint32_t counts[100] = {0}, wrong = 0, dynamic = 64 * (i % 9), *list = counts, *out = &wrong;
        void *params[] = {&list, &out}, *fill_params[] = {&out, &dynamic};
        slw_driver_launch launch = shape(total, 1, 1, params, 2);
        if (slwi_module_launch(l->r->module, l->mark, &launch, NULL) != SLW_OK) l->bad++;
        for (uint32_t k = 0; k < 100; k++) l->bad += counts[k] != (k < total ? 1u : 0u);
        launch = shape(total % 7 + 1, 1, 1, fill_params, 2);
        launch.shared_bytes = dynamic;
        if (slwi_module_launch(l->r->module, l->fill, &launch, NULL) != SLW_OK) l->bad++;
        l->bad += wrong;
    }
    return NULL;
}

START_TEST(launches_from_many_threads) {
    rig r;
    rig_open(&r, 3);
    launcher list[8];
    pthread_t threads[8];
    for (uint32_t i = 0; i < 8; i++) {
        list[i] = (launcher){&r, function_of(&r, "mark"), function_of(&r, "fill"), i, 0};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, launch_often, &list[i]), 0);
    }
    for (uint32_t i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_uint_eq(list[i].bad, 0);
    }
    rig_close(&r);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("host launch");
    TCase *tcase = tcase_create("launches");
    tcase_set_timeout(tcase, 180);
    tcase_add_loop_test(tcase, every_block_runs_once, 0, 4);
    tcase_add_test(tcase, scratch_belongs_to_the_block);
    tcase_add_test(tcase, limits_are_checked);
    tcase_add_test(tcase, a_kernel_must_not_launch);
    tcase_add_test(tcase, the_pool_works_and_so_does_the_caller);
    tcase_add_test(tcase, threads_start_at_the_first_launch_and_are_joined);
    tcase_add_test(tcase, launches_from_many_threads);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
