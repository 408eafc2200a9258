/* Many threads on one device: one load for all, nobody sees half, nothing is lost in the churn. Meant for
   ThreadSanitizer too. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver_subject.h"
#include "fault_alloc.h"

#define THREADS_MAX 64

/* Neither sanitizer's heap is kept whole across a fork from several threads: a lock of it that another thread holds at
   that moment stays held in the child for ever. */
#define CHILD_MAY_ALLOCATE 1
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef CHILD_MAY_ALLOCATE
#define CHILD_MAY_ALLOCATE 0
#endif
#endif

typedef struct crew crew;
typedef struct member {
    crew *crew;
    unsigned number;
    slw_code code;
    uint64_t sum;
    char message[sizeof((slw_error *)0)->message];
} member;
struct crew {
    world *w;
    pthread_barrier_t start;
    atomic_int over;
    member members[THREADS_MAX];
};

static void crew_run(crew *c, world *w, unsigned count, void *(*job)(void *)) {
    pthread_t threads[THREADS_MAX];
    memset(c, 0, sizeof *c);
    c->w = w;
    ck_assert_int_eq(pthread_barrier_init(&c->start, NULL, count), 0);
    for (unsigned i = 0; i < count; i++) {
        c->members[i].crew = c;
        c->members[i].number = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, job, &c->members[i]), 0);
    }
    for (unsigned i = 0; i < count; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&c->start);
}

/* The whole first use: load, function, launch, discard. */
static void *use_once(void *argument) {
    member *m = argument;
    world *w = m->crew->w;
    slw_error err = SLW_ERROR_INIT;
    slwi_module *module = NULL;
    pthread_barrier_wait(&m->crew->start);
    m->code = slwi_module_load(w->device, &w->pair->image, NULL, &module, &err);
    memcpy(m->message, err.message, sizeof m->message);
    if (m->code != SLW_OK) return NULL;
    void *function = NULL;
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    m->code = slwi_module_function(module, slt_image_kernel(w->pair, "second"), &function, &attributes, &err);
    if (m->code == SLW_OK) m->code = world_launch(w, module, function, 50, &m->sum);
    slwi_release(module);
    return NULL;
}

START_TEST(first_use_by_64_threads_is_one_load) {
    world w;
    crew c;
    world_open(&w, _i, NULL);
    world_delay_loads(&w, 20);
    crew_run(&c, &w, 64, use_once);
    for (unsigned i = 0; i < 64; i++) {
        ck_assert_int_eq(c.members[i].code, SLW_OK);
        ck_assert_uint_eq(c.members[i].sum, w.runs ? 2550 : 0);
    }
    const slw_device_counts counts = world_counts(&w);
    ck_assert_uint_eq(counts.loads, 1);
    ck_assert_uint_eq(counts.modules_loaded, 1);
    ck_assert_uint_eq(counts.modules_retired, 1);
    if (world_driver_loads(&w) >= 0) ck_assert_int_eq(world_driver_loads(&w), 1);
    world_close(&w);
}
END_TEST

/* Releases, revivals and unloads in every order; some by the road that unloads, some by the one that retires. */
static void *churn(void *argument) {
    member *m = argument;
    world *w = m->crew->w;
    unsigned seed = m->number * 2654435761u + 1u;
    pthread_barrier_wait(&m->crew->start);
    for (int i = 0; i < 150; i++) {
        seed = seed * 1664525u + 1013904223u;
        slt_image *image = (seed >> 16 & 1u) != 0 ? w->pair : w->other;
        slw_error err = SLW_ERROR_INIT;
        slwi_module *module = NULL;
        if (slwi_module_load(w->device, &image->image, NULL, &module, &err) != SLW_OK) {
            m->code = err.code;
            return NULL;
        }
        void *function = NULL;
        slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
        uint64_t sum = 0;
        m->code = slwi_module_function(module, slt_image_kernel(w->pair, "first"), &function, &attributes, &err);
        if (m->code == SLW_OK) m->code = world_launch(w, module, function, 1u + (seed >> 24 & 7u), &sum);
        m->sum += sum > 0;
        if ((seed >> 17 & 1u) != 0) {
            slwi_module_unload_or_release(&module);
        } else {
            slwi_release(module);
        }
        if (m->code != SLW_OK) return NULL;
    }
    return NULL;
}

START_TEST(load_use_and_unload_by_many_threads_balance) {
    world w;
    crew c;
    slt_heap heap;
    slt_heap_init(&heap);
    world_open(&w, _i, &heap.allocator);
    crew_run(&c, &w, 8, churn);
    for (unsigned i = 0; i < 8; i++) {
        ck_assert_int_eq(c.members[i].code, SLW_OK);
        ck_assert_uint_eq(c.members[i].sum, w.runs ? 150 : 0);
    }
    const slw_device_counts counts = world_counts(&w);
    ck_assert_uint_eq(counts.loads - counts.unloads, counts.modules_loaded);
    ck_assert_uint_eq(counts.modules_retired, counts.modules_loaded);
    ck_assert_uint_le(counts.modules_loaded, 2);
    world_close(&w);
    slt_heap_check_empty(&heap);
}
END_TEST

/* Two owners that both ask for the unload: one of them is the last and does it. */
#define UNLOADS(w) ((w)->runs ? 100 : 2000)
static void *unload_together(void *argument) {
    member *m = argument;
    world *w = m->crew->w;
    for (int i = 0; i < UNLOADS(w); i++) {
        slwi_module *module = NULL;
        slw_error err = SLW_ERROR_INIT;
        m->code = slwi_module_load(w->device, &w->pair->image, NULL, &module, &err);
        if (m->code != SLW_OK) return NULL;
        pthread_barrier_wait(&m->crew->start);
        slwi_module_unload_or_release(&module);
        pthread_barrier_wait(&m->crew->start);
        if (m->number == 0) {
            slw_device_counts counts = SLW_DEVICE_COUNTS_INIT;
            m->code = slw_device_get_counts(w->device, &counts, &err);
            if (counts.modules_loaded != 0) m->sum++;
        }
        pthread_barrier_wait(&m->crew->start);
    }
    return NULL;
}

START_TEST(last_of_two_that_unload_unloads) {
    world w;
    crew c;
    world_open(&w, _i, NULL);
    crew_run(&c, &w, 2, unload_together);
    ck_assert_int_eq(c.members[0].code, SLW_OK);
    ck_assert_int_eq(c.members[1].code, SLW_OK);
    ck_assert_uint_eq(c.members[0].sum, 0);
    ck_assert_uint_eq(world_counts(&w).unloads, UNLOADS(&w));
    world_close(&w);
}
END_TEST

/* One loads the broken image, the others wait for it and share what it found. */
static void *use_broken(void *argument) {
    member *m = argument;
    world *w = m->crew->w;
    slw_error err = SLW_ERROR_INIT;
    slwi_module *module = NULL;
    pthread_barrier_wait(&m->crew->start);
    m->code = slwi_module_load(w->device, &w->broken->image, NULL, &module, &err);
    memcpy(m->message, err.message, sizeof m->message);
    return NULL;
}

START_TEST(waiters_share_a_failure_of_the_image) {
    world w;
    crew c;
    world_open(&w, _i, NULL);
    world_blame_images(&w, 1);
    world_delay_loads(&w, 20);
    crew_run(&c, &w, 16, use_broken);
    for (unsigned i = 0; i < 16; i++) {
        ck_assert_int_eq(c.members[i].code, SLW_E_INVALID_BINARY);
        if (w.subject != SUBJECT_HOST) ck_assert_str_eq(c.members[i].message, c.members[0].message);
    }
    ck_assert_uint_eq(world_counts(&w).failures_remembered, 1);
    if (world_driver_loads(&w) >= 0) ck_assert_int_eq(world_driver_loads(&w), 1);
    world_close(&w);
}
END_TEST

/* A failure of the moment belongs to the one that met it: the next waiter tries. */
START_TEST(waiters_try_again_when_the_image_is_not_at_fault) {
    world w;
    crew c;
    world_open(&w, SUBJECT_NULL, NULL);
    slt_null_fail(&w.null.load, SLW_E_NO_MEMORY, 3);
    atomic_store(&w.null.load_delay_ms, 10);
    crew_run(&c, &w, 16, use_once);
    unsigned failed = 0;
    for (unsigned i = 0; i < 16; i++) {
        if (c.members[i].code == SLW_OK) continue;
        ck_assert_int_eq(c.members[i].code, SLW_E_NO_MEMORY);
        failed++;
    }
    ck_assert_uint_eq(failed, 3);
    ck_assert_uint_eq(world_counts(&w).loads, 1);
    ck_assert_uint_eq(world_counts(&w).failures_remembered, 0);
    world_close(&w);
}
END_TEST

/* Threads keep using modules while the device is closed by its owner; the last of them closes it. */
static void *outlive(void *argument) {
    member *m = argument;
    world *w = m->crew->w;
    slw_error err = SLW_ERROR_INIT;
    slwi_module *module = NULL;
    m->code = slwi_module_load(w->device, &w->pair->image, NULL, &module, &err);
    pthread_barrier_wait(&m->crew->start);
    if (m->code != SLW_OK) return NULL;
    if (m->number == 0) slw_device_close(&w->device);
    void *function = NULL;
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    m->code = slwi_module_function(module, slt_image_kernel(w->pair, "first"), &function, &attributes, &err);
    if (m->code == SLW_OK) m->code = world_launch(w, module, function, 100, &m->sum);
    slwi_release(module);
    return NULL;
}

START_TEST(device_outlives_its_owner_under_threads) {
    world w;
    crew c;
    slt_heap heap;
    slt_heap_init(&heap);
    world_open(&w, _i, &heap.allocator);
    crew_run(&c, &w, 8, outlive);
    for (unsigned i = 0; i < 8; i++) {
        ck_assert_int_eq(c.members[i].code, SLW_OK);
        ck_assert_uint_eq(c.members[i].sum, w.runs ? 5050 : 0);
    }
    world_close(&w);
    slt_heap_check_empty(&heap);
}
END_TEST

/* Forks while others load, unload and launch: no table is half changed in a child, no lock is held there for ever. */
static void *open_often(member *m) {
    pthread_barrier_wait(&m->crew->start);
    while (!atomic_load(&m->crew->over)) {
        slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
        options.pool_threads = UINT32_MAX;
        slw_device *own = NULL;
        m->code = slw_device_open(&options, &own, NULL);
        if (m->code != SLW_OK) break;
        slw_device_close(&own);
    }
    return NULL;
}

static void *fork_often(void *argument) {
    member *m = argument;
    world *w = m->crew->w;
    if (m->number == 1) return open_often(m);
    if (m->number != 0) {
        (void)churn(argument);
        /* ThreadSanitizer takes an ended thread that nobody joined yet for a leak of the child. */
        while (!atomic_load(&m->crew->over)) usleep(1000);
        return NULL;
    }
    pthread_barrier_wait(&m->crew->start);
    for (int i = 0; i < 30; i++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            slw_error err = SLW_ERROR_INIT;
            slw_device_counts counts = SLW_DEVICE_COUNTS_INIT;
            slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
            options.pool_threads = UINT32_MAX;
            slw_device *own = NULL;
            int bad = slw_device_get_counts(w->device, &counts, &err) != SLW_E_FORKED;
            if (CHILD_MAY_ALLOCATE) {
                bad |= slw_device_open(&options, &own, &err) != SLW_OK;
                bad |= slw_device_get_counts(own, &counts, &err) != SLW_OK || counts.loads != 0;
                slw_device_close(&own);
            }
            slw_device_close(&w->device);
            _exit(bad);
        }
        int status = 1;
        if (waitpid(child, &status, 0) != child || status != 0) m->code = SLW_E_DRIVER;
    }
    atomic_store(&m->crew->over, 1);
    return NULL;
}

START_TEST(forks_in_the_churn) {
    world w;
    crew c;
    world_open(&w, _i, NULL);
    crew_run(&c, &w, 4, fork_often);
    for (unsigned i = 0; i < 4; i++) ck_assert_int_eq(c.members[i].code, SLW_OK);
    world_close(&w);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("driver threads");
    TCase *tcase = tcase_create("conformance");
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, first_use_by_64_threads_is_one_load, 0, SUBJECTS);
    tcase_add_loop_test(tcase, load_use_and_unload_by_many_threads_balance, 0, SUBJECTS);
    tcase_add_loop_test(tcase, last_of_two_that_unload_unloads, 0, SUBJECTS);
    tcase_add_loop_test(tcase, waiters_share_a_failure_of_the_image, 0, SUBJECTS);
    tcase_add_test(tcase, waiters_try_again_when_the_image_is_not_at_fault);
    tcase_add_loop_test(tcase, device_outlives_its_owner_under_threads, 0, SUBJECTS);
    tcase_add_loop_test(tcase, forks_in_the_churn, 0, SUBJECTS);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
