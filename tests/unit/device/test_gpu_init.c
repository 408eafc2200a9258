/* Vendors' libraries are initialised once for each process, by whichever thread comes first, and never under a lock. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu_library.h"
#include "slt.h"

#define THREADS 8

static atomic_int calls, may_end, is_inside;

static void nap(void) {
    usleep(1000);
}

static int initialise(void *context) {
    atomic_fetch_add(&calls, 1);
    atomic_store(&is_inside, 1);
    while (!atomic_load(&may_end)) nap();
    return *(const int *)context;
}

static int library, other;
static int said = 42;

static void *ask(void *answer) {
    int result = -1;
    if (slwi_gpu_init_once(&library, initialise, &said, &result) == SLWI_GPU_INIT_ASKED) *(int *)answer = result;
    return NULL;
}

START_TEST(threads_wait_for_the_one_that_asks) {
    pthread_t threads[THREADS];
    int answers[THREADS];
    int result = -1;
    for (int i = 0; i < THREADS; i++) {
        answers[i] = -1;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask, &answers[i]), 0);
    }
    while (!atomic_load(&is_inside)) nap();
    ck_assert_int_eq(slwi_gpu_init_known(&library, &result), SLWI_GPU_INIT_UNKNOWN); /* and does not wait */
    ck_assert_int_eq(result, -1);
    atomic_store(&may_end, 1);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_int_eq(answers[i], 42);
    }
    ck_assert_int_eq(atomic_load(&calls), 1);
    ck_assert_int_eq(slwi_gpu_init_known(&library, &result), SLWI_GPU_INIT_ASKED);
    ck_assert_int_eq(result, 42);
    said = 7;
    ck_assert_int_eq(slwi_gpu_init_once(&library, initialise, &said, &result), SLWI_GPU_INIT_ASKED);
    ck_assert_int_eq(result, 42);
    ck_assert_int_eq(slwi_gpu_init_once(&other, initialise, &said, &result), SLWI_GPU_INIT_ASKED);
    ck_assert_int_eq(result, 7);
    ck_assert_int_eq(atomic_load(&calls), 2);
}
END_TEST

/* The fork is not held up by the initialisation, and its child is told at once: the answer comes in the parent only. */
START_TEST(a_fork_meanwhile_is_forked) {
    pthread_t thread;
    int answer = -1, result = -1;
    ck_assert_int_eq(pthread_create(&thread, NULL, ask, &answer), 0);
    while (!atomic_load(&is_inside)) nap();
    const pid_t child = fork();
    if (child == 0) {
        const int known = slwi_gpu_init_known(&library, &result);
        const int asked = slwi_gpu_init_once(&library, initialise, &said, &result);
        atomic_store(&may_end, 1);
        const int free_to_ask = slwi_gpu_init_once(&other, initialise, &said, &result);
        _exit(known == SLWI_GPU_INIT_FORKED && asked == SLWI_GPU_INIT_FORKED && free_to_ask == SLWI_GPU_INIT_ASKED &&
                      result == 42
                  ? 0
                  : 1);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    atomic_store(&may_end, 1);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(answer, 42);
}
END_TEST

START_TEST(without_an_address_nothing_is_remembered) {
    int result = -1;
    atomic_store(&may_end, 1);
    for (int i = 1; i <= 3; i++) {
        ck_assert_int_eq(slwi_gpu_init_once(NULL, initialise, &said, &result), SLWI_GPU_INIT_ASKED);
        ck_assert_int_eq(atomic_load(&calls), i);
    }
    ck_assert_int_eq(slwi_gpu_init_known(NULL, &result), SLWI_GPU_INIT_UNKNOWN);
}
END_TEST

START_TEST(more_libraries_than_places_are_asked_each_time) {
    static char many[100];
    int result = -1;
    atomic_store(&may_end, 1);
    for (size_t i = 0; i < sizeof many; i++) {
        ck_assert_int_eq(slwi_gpu_init_once(&many[i], initialise, &said, &result), SLWI_GPU_INIT_ASKED);
        ck_assert_int_eq(result, 42);
    }
    ck_assert_int_eq(slwi_gpu_init_known(&many[0], &result), SLWI_GPU_INIT_ASKED);
    ck_assert_int_eq(slwi_gpu_init_known(&many[99], &result), SLWI_GPU_INIT_UNKNOWN);
    ck_assert_int_eq(slwi_gpu_init_once(&many[99], initialise, &said, &result), SLWI_GPU_INIT_ASKED);
    ck_assert_int_eq(atomic_load(&calls), 101);
}
END_TEST

/* What failed set nothing up: a child hears of it as the parent did. Only success makes children useless to it. */
START_TEST(a_child_is_told_of_a_failure) {
    int result = -1, well = 0;
    atomic_store(&may_end, 1);
    ck_assert_int_eq(slwi_gpu_init_once(&library, initialise, &said, &result), SLWI_GPU_INIT_ASKED);
    ck_assert_int_eq(slwi_gpu_init_once(&other, initialise, &well, &result), SLWI_GPU_INIT_ASKED);
    const pid_t child = fork();
    if (child == 0) {
        const int before = atomic_load(&calls);
        const int known = slwi_gpu_init_known(&library, &result);
        const int again = slwi_gpu_init_once(&library, initialise, &said, &result);
        const int is_told = known == SLWI_GPU_INIT_ASKED && again == SLWI_GPU_INIT_ASKED && result == 42;
        const int is_forked = slwi_gpu_init_known(&other, &result) == SLWI_GPU_INIT_FORKED &&
                              slwi_gpu_init_once(&other, initialise, &well, &result) == SLWI_GPU_INIT_FORKED;
        _exit(is_told && is_forked && atomic_load(&calls) == before ? 0 : 1);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

int main(void) {
    Suite *const suite = suite_create("gpu init");
    TCase *const tcase = tcase_create("once");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, threads_wait_for_the_one_that_asks);
    tcase_add_test(tcase, a_fork_meanwhile_is_forked);
    tcase_add_test(tcase, a_child_is_told_of_a_failure);
    tcase_add_test(tcase, without_an_address_nothing_is_remembered);
    tcase_add_test(tcase, more_libraries_than_places_are_asked_each_time);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
