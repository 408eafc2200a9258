/* The table of modules from inside: the moments that threads meet too rarely to be waited for. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "device_image.h"
#include "device_object.h"
#include "fault_alloc.h"
#include "null_driver.h"
#include "slt.h"

typedef struct rig {
    slt_heap heap;
    slt_null null;
    slt_image *image;
    slw_device *device;
    slw_error err;
} rig;

static void rig_open_with(rig *r, uint64_t load_timeout_ns, slw_cancel *cancel) {
    memset(r, 0, sizeof *r);
    r->err = (slw_error)SLW_ERROR_INIT;
    slt_heap_init(&r->heap);
    slt_null_init(&r->null);
    r->image = slt_image_of_bytes("image", 5, "k");
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    options.allocator = r->heap.allocator;
    options.load_timeout_ns = load_timeout_ns;
    options.cancel = cancel;
    slt_null_use(&r->null, &options);
    slt_ok(slw_device_open(&options, &r->device, &r->err), &r->err);
}

static void rig_open(rig *r) {
    rig_open_with(r, 0, NULL);
}

static void rig_close(rig *r) {
    slw_device_close(&r->device);
    ck_assert_uint_eq(atomic_load(&r->null.closes), 1);
    ck_assert_uint_eq(atomic_load(&r->null.loads), atomic_load(&r->null.unloads));
    ck_assert_msg(atomic_load(&r->null.violations) == 0, "%s", r->null.violation);
    slt_image_free(r->image);
    slt_heap_check_empty(&r->heap);
}

static slwi_module *load(rig *r) {
    slwi_module *module = NULL;
    slt_ok(slwi_module_load(r->device, &r->image->image, NULL, &module, &r->err), &r->err);
    return module;
}

static slwi_module *find(rig *r) {
    slwi_module *module = NULL;
    slt_ok(slwi_module_find(r->device, &r->image->image.sha256, &module, &r->err), &r->err);
    return module;
}

static slw_device_counts counts(rig *r) {
    slw_device_counts out = SLW_DEVICE_COUNTS_INIT;
    slt_ok(slw_device_get_counts(r->device, &out, &r->err), &r->err);
    return out;
}

/* The first half of a last release; the second is ref.destroy. */
static void release_half(slwi_module *module) {
    ck_assert_uint_eq(atomic_fetch_sub(&module->ref.count, 1u), 1u);
}

START_TEST(overtaken_ending_does_not_retire) {
    rig r;
    rig_open(&r);
    slwi_module *module = load(&r);
    for (unsigned i = 1; i <= 3; i++) {
        release_half(module);
        ck_assert_ptr_eq(find(&r), module); /* revived before the ending has the lock */
        ck_assert_uint_eq(module->endings, i);
    }
    for (unsigned i = 3; i > 0; i--) {
        module->ref.destroy(&module->ref);
        ck_assert_uint_eq(module->endings, i - 1);
        ck_assert_uint_eq(counts(&r).modules_retired, 0);
        ck_assert_int_eq(module->state, SLWI_MODULE_LIVE);
    }
    slwi_release(module);
    ck_assert_uint_eq(counts(&r).modules_retired, 1);
    rig_close(&r);
}
END_TEST

/* The revived life ends by an unload while the first ending is still on its way: the memory waits for it, the device
   too. */
START_TEST(overtaken_ending_of_an_unloaded_module) {
    rig r;
    rig_open(&r);
    slwi_module *module = load(&r);
    release_half(module);
    slwi_module *revived = find(&r);
    slwi_module_unload_or_release(&revived);
    ck_assert_uint_eq(atomic_load(&r.null.unloads), 1);
    ck_assert_int_eq(module->state, SLWI_MODULE_GONE);
    ck_assert_uint_eq(counts(&r).modules_loaded, 0);
    slwi_module *found = NULL;
    ck_assert_int_eq(slwi_module_find(r.device, &r.image->image.sha256, &found, &r.err), SLW_E_MISS);
    slwi_module *again = load(&r); /* another module of the same digest meanwhile */
    ck_assert_ptr_ne(again, module);
    slw_device_close(&r.device);
    slwi_release(again);
    ck_assert_uint_eq(atomic_load(&r.null.closes), 0); /* the ending holds it */
    module->ref.destroy(&module->ref);
    ck_assert_uint_eq(atomic_load(&r.null.closes), 1);
    rig_close(&r);
}
END_TEST

/* ---- While somebody loads or unloads ----------------------------------------------------------------------- */

static void *load_slowly(void *argument) {
    rig *r = argument;
    slwi_module *module = NULL;
    (void)!slwi_module_load(r->device, &r->image->image, NULL, &module, NULL);
    return module;
}

static void *find_meanwhile(void *argument) {
    rig *r = argument;
    slwi_module *module = NULL;
    (void)!slwi_module_find(r->device, &r->image->image.sha256, &module, NULL);
    return module;
}

static void pause_ms(long ms) {
    const struct timespec duration = {0, ms * 1000000l};
    nanosleep(&duration, NULL);
}

START_TEST(find_waits_for_a_load) {
    rig r;
    rig_open(&r);
    atomic_store(&r.null.load_delay_ms, 300);
    pthread_t loader, finder;
    void *loaded = NULL, *found = NULL;
    ck_assert_int_eq(pthread_create(&loader, NULL, load_slowly, &r), 0);
    pause_ms(100);
    ck_assert_int_eq(pthread_create(&finder, NULL, find_meanwhile, &r), 0);
    pthread_join(loader, &loaded);
    pthread_join(finder, &found);
    ck_assert_ptr_nonnull(loaded);
    ck_assert_ptr_eq(found, loaded);
    slwi_release(loaded);
    slwi_release(found);
    rig_close(&r);
}
END_TEST

/* The wait for another thread's load ends by the device's deadline or token; nothing is remembered of it, and the load
   goes on. */
START_TEST(a_wait_for_a_load_ends) {
    rig r;
    slw_error err = SLW_ERROR_INIT;
    slw_cancel *token = NULL;
    slt_ok(slw_cancel_create(NULL, &token, &err), &err);
    rig_open_with(&r, _i == 0 ? 50000000 : 0, token);
    atomic_store(&r.null.load_delay_ms, 600);
    pthread_t loader;
    void *loaded = NULL;
    slwi_module *module = NULL;
    ck_assert_int_eq(pthread_create(&loader, NULL, load_slowly, &r), 0);
    pause_ms(100);
    if (_i == 1) slw_cancel_request(token);
    const slw_code code = slwi_module_load(r.device, &r.image->image, NULL, &module, &r.err);
    ck_assert_int_eq(code, _i == 0 ? SLW_E_TIMEOUT : SLW_E_CANCELLED);
    ck_assert_int_eq(r.err.code, code);
    ck_assert_ptr_null(module);
    ck_assert_uint_eq(counts(&r).failures_remembered, 0);
    pthread_join(loader, &loaded);
    ck_assert_ptr_nonnull(loaded);
    ck_assert_ptr_eq(find(&r), loaded); /* what is there is not waited for */
    slwi_release(loaded);
    slwi_release(loaded);
    rig_close(&r);
    slw_cancel_release(&token);
}
END_TEST

static void *unload_slowly(void *argument) {
    slwi_module *module = argument;
    slwi_module_unload_or_release(&module);
    return NULL;
}

/* What is being unloaded is not revived: the one who asks waits and loads anew. */
START_TEST(load_waits_for_an_unload) {
    rig r;
    rig_open(&r);
    atomic_store(&r.null.unload_delay_ms, 300);
    slwi_module *module = load(&r);
    pthread_t unloader;
    ck_assert_int_eq(pthread_create(&unloader, NULL, unload_slowly, module), 0);
    pause_ms(100);
    slwi_module *again = load(&r);
    ck_assert_uint_eq(atomic_load(&r.null.unloads), 1);
    ck_assert_uint_eq(atomic_load(&r.null.loads), 2);
    pthread_join(unloader, NULL);
    slwi_module_unload_or_release(&again);
    rig_close(&r);
}
END_TEST

/* Pitfall 18: forked while one thread loads and another waits for it. The child does not hang. */
START_TEST(pitfall_18_fork_in_a_load) {
    rig r;
    rig_open(&r);
    atomic_store(&r.null.load_delay_ms, 1500);
    pthread_t loader, finder;
    void *loaded = NULL, *found = NULL;
    ck_assert_int_eq(pthread_create(&loader, NULL, load_slowly, &r), 0);
    pause_ms(200);
    ck_assert_int_eq(pthread_create(&finder, NULL, find_meanwhile, &r), 0);
    pause_ms(200);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        slwi_module *module = NULL;
        int bad = slwi_module_find(r.device, &r.image->image.sha256, &module, NULL) != SLW_E_FORKED;
        slw_device_close(&r.device);
        bad |= r.device != NULL || atomic_load(&r.null.forked_closes) != 1 || r.heap.live_blocks != 0;
        _exit(bad);
    }
    int status = 1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    pthread_join(loader, &loaded);
    pthread_join(finder, &found);
    ck_assert_ptr_nonnull(loaded);
    ck_assert_ptr_eq(found, loaded);
    slwi_release(loaded);
    slwi_release(found);
    rig_close(&r);
}
END_TEST

typedef struct holder {
    rig *r;
    atomic_int held, released, over;
} holder;

static void *hold_the_lock(void *argument) {
    holder *h = argument;
    pthread_mutex_lock(&h->r->device->lock);
    atomic_store(&h->held, 1);
    pause_ms(500);
    atomic_store(&h->released, 1);
    pthread_mutex_unlock(&h->r->device->lock);
    /* Still there at the fork: ThreadSanitizer takes an ended thread that nobody joined for a leak of the child. */
    while (!atomic_load(&h->over)) pause_ms(1);
    return NULL;
}

/* A fork waits for whoever changes a table. */
START_TEST(pitfall_17_fork_waits_for_the_table) {
    rig r;
    rig_open(&r);
    holder h = {.r = &r};
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, hold_the_lock, &h), 0);
    while (!atomic_load(&h.held)) pause_ms(1);
    const pid_t child = fork();
    if (child == 0) _exit(atomic_load(&h.released) ? 0 : 1);
    int status = 1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    atomic_store(&h.over, 1);
    pthread_join(thread, NULL);
    slwi_release(load(&r)); /* the lock is free again */
    rig_close(&r);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("modules");
    TCase *tcase = tcase_create("table");
    tcase_set_timeout(tcase, 180);
    tcase_add_test(tcase, overtaken_ending_does_not_retire);
    tcase_add_test(tcase, overtaken_ending_of_an_unloaded_module);
    tcase_add_test(tcase, find_waits_for_a_load);
    tcase_add_loop_test(tcase, a_wait_for_a_load_ends, 0, 2);
    tcase_add_test(tcase, load_waits_for_an_unload);
    tcase_add_test(tcase, pitfall_17_fork_waits_for_the_table);
    tcase_add_test(tcase, pitfall_18_fork_in_a_load);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
