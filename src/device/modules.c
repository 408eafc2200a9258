/* The table of modules: one load for each digest, counted references, failures remembered as values.
 *
 * A module's count lives in its slwi_ref, so that owners share and release it without the table. Going from one to zero
 * and from zero to one is what needs care: the last release happens before its `ending` gets the lock, and in between
 * find may have revived the module. Each life therefore has its own device reference and its own ending; an ending that
 * was overtaken by a revival is counted in `endings` and only passes through. */
#include <string.h>
#include <time.h>

#include "clock.h"
#include "device_object.h"
#include "fail.h"
#include "memory.h"
#include "os.h"

#define POLL_NS         20000000 /* how soon a token and a deadline are looked at */
#define LOAD_TIMEOUT_NS UINT64_C(900000000000)

static size_t bucket_of(const slw_digest *sha256) {
    return sha256->bytes[0] % SLWI_MODULE_BUCKETS;
}

static int same_digest(const slw_digest *a, const slw_digest *b) {
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

static slwi_module *table_find(const slw_device *device, const slw_digest *sha256) {
    slwi_module *module = device->buckets[bucket_of(sha256)];
    while (module != NULL && !same_digest(&module->sha256, sha256)) module = module->next;
    return module;
}

static void table_add(slw_device *device, slwi_module *module) {
    slwi_module **const head = &device->buckets[bucket_of(&module->sha256)];
    module->next = *head;
    *head = module;
}

static void table_remove(slw_device *device, slwi_module *module) {
    slwi_module **at = &device->buckets[bucket_of(&module->sha256)];
    while (*at != module) at = &(*at)->next;
    *at = module->next;
    module->next = NULL;
}

/* ---- Failures -------------------------------------------------------------------------------------------- */

static slwi_failure **failure_place(slw_device *device, const slw_digest *sha256) {
    slwi_failure **at = &device->failures;
    while (*at != NULL && !same_digest(&(*at)->sha256, sha256)) at = &(*at)->next;
    return at;
}

static void failure_drop(slw_device *device, slwi_failure **at) {
    slwi_failure *const failure = *at;
    *at = failure->next;
    device->failure_count--;
    slwi_free(&device->allocator, failure->record.diagnostics);
    slwi_free(&device->allocator, failure);
}

void slwi_device_forget_failure(slw_device *device, const slw_digest *sha256) {
    if (slwi_device_forked(device)) return;
    pthread_mutex_lock(&device->lock);
    slwi_failure **const at = failure_place(device, sha256);
    if (*at != NULL) failure_drop(device, at);
    pthread_mutex_unlock(&device->lock);
}

void slwi_device_remember_failure(slw_device *device, const slw_digest *sha256, const slw_error *failure) {
    if (slwi_device_forked(device) || failure == NULL || failure->code == SLW_OK) return;
    slwi_failure *const fresh = slwi_alloc_zero(&device->allocator, sizeof *fresh);
    if (fresh == NULL) return; /* not remembered: it is only asked again */
    fresh->record.size = sizeof fresh->record;
    if (failure->diagnostics_size > 0) {
        /* Without memory for them the compiler's words are missing the next time. */
        fresh->record.diagnostics = slwi_alloc(&device->allocator, failure->diagnostics_size + 1);
        if (fresh->record.diagnostics != NULL) fresh->record.diagnostics_capacity = failure->diagnostics_size + 1;
    }
    slwi_error_copy(&fresh->record, failure);
    fresh->sha256 = *sha256;
    pthread_mutex_lock(&device->lock);
    slwi_failure **at = failure_place(device, sha256);
    if (*at != NULL) failure_drop(device, at);
    if (device->failure_count == SLWI_FAILURES_REMEMBERED) {
        at = &device->failures;
        while (*at != NULL && (*at)->next != NULL) at = &(*at)->next;
        if (*at != NULL) failure_drop(device, at);
    }
    fresh->next = device->failures;
    device->failures = fresh;
    device->failure_count++;
    pthread_mutex_unlock(&device->lock);
}

/* ---- Lives ----------------------------------------------------------------------------------------------- */

/* Frees a module that is unloaded and out of the table, with nothing more to pass through it. */
static void module_free(slw_device *device, slwi_module *module) {
    slwi_free(&device->allocator, module);
}

/* The last release of one life. The module stays loaded: a captured graph may hold it unseen (pitfall 12). */
static void module_ending(slwi_ref *self) {
    slwi_module *const module = (slwi_module *)self;
    slw_device *device = module->device;
    if (!slwi_device_forked(device)) {
        int gone = 0;
        pthread_mutex_lock(&device->lock);
        if (module->endings > 0) {
            module->endings--;
            gone = module->state == SLWI_MODULE_GONE && module->endings == 0;
        } else {
            module->state = SLWI_MODULE_RETIRED;
            device->counts.modules_retired++;
        }
        pthread_mutex_unlock(&device->lock);
        if (gone) module_free(device, module);
    }
    slw_device_close(&device);
}

/* One reference more, from whatever count; under the lock, in state live or retired. */
static slwi_module *module_take(slw_device *device, slwi_module *module) {
    uint_fast32_t count = atomic_load_explicit(&module->ref.count, memory_order_relaxed);
    while (count > 0) {
        if (atomic_compare_exchange_weak_explicit(&module->ref.count, &count, count + 1u, memory_order_acquire,
                                                  memory_order_relaxed)) {
            return module;
        }
    }
    /* Nobody holds it, and only holders of the lock revive: a plain store is enough. */
    atomic_store_explicit(&module->ref.count, 1u, memory_order_relaxed);
    (void)slwi_device_retain(device);
    if (module->state == SLWI_MODULE_RETIRED) {
        module->state = SLWI_MODULE_LIVE;
        device->counts.modules_retired--;
    } else {
        module->endings++; /* its last life has ended and its ending is still on the way */
    }
    return module;
}

/* Under the lock: until something changed, but never for long. */
static void wait_a_little(slw_device *device) {
#if defined(__APPLE__)
    const struct timespec pause = {0, POLL_NS};
    (void)pthread_cond_timedwait_relative_np(&device->changed, &device->lock, &pause);
#else
    const slwi_os *os = slwi_os_real(); /* the condition knows the real clock only */
    const uint64_t until = os->now_ns(os) + POLL_NS;
    const struct timespec at = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
    (void)pthread_cond_timedwait(&device->changed, &device->lock, &at);
#endif
}

/* Under the lock: waits while somebody loads or unloads it. Sets *out and gives OK; MISS with nothing said; TIMEOUT and
   CANCELLED of the wait; or the failure that is remembered. */
static slw_code find_locked(slw_device *device, const slw_digest *sha256, slwi_module **out, slw_error *err) {
    const uint64_t deadline_ns = slwi_deadline_ns(device->load_timeout_ns, LOAD_TIMEOUT_NS);
    for (;;) {
        slwi_module *const module = table_find(device, sha256);
        if (module == NULL) break;
        if (module->state == SLWI_MODULE_LIVE || module->state == SLWI_MODULE_RETIRED) {
            *out = module_take(device, module);
            return SLW_OK;
        }
        const slw_code code =
            slwi_check_wait(deadline_ns, device->cancel, "another thread loads or unloads this image", err);
        if (code != SLW_OK) return code;
        wait_a_little(device);
    }
    slwi_failure *const failure = *failure_place(device, sha256);
    if (failure == NULL) return SLW_E_MISS;
    const slw_code code = failure->record.code;
    if (err != NULL) slwi_error_copy(err, &failure->record);
    return code;
}

slw_code slwi_module_find(slw_device *device, const slw_digest *sha256, slwi_module **out, slw_error *err) {
    slw_code code = slwi_device_check(device, err);
    if (code != SLW_OK) return code;
    slwi_module *found = NULL;
    pthread_mutex_lock(&device->lock);
    code = find_locked(device, sha256, &found, err);
    pthread_mutex_unlock(&device->lock);
    if (code == SLW_OK && device->driver->check != NULL) {
        code = slwi_device_answer(device, device->driver->check(device->state, err), err);
        if (code != SLW_OK) slwi_release(found);
    }
    if (code == SLW_OK) *out = found;
    return code;
}

/* ---- Loading --------------------------------------------------------------------------------------------- */

/* Asks the driver, outside the lock, and settles the module that the table says is being loaded. */
static slw_code load_settle(slw_device *device, slwi_module *module, const slw_driver_image *image, slwi_ref *owner,
                            slw_error *err) {
    void *native = NULL;
    int at_fault = 0;
    const slw_code code =
        slwi_device_answer(device, device->driver->load(device->state, image, &native, &at_fault, err), err);
    if (code != SLW_OK && at_fault && code != SLW_E_LOST) slwi_device_remember_failure(device, &image->sha256, err);
    pthread_mutex_lock(&device->lock);
    if (code == SLW_OK) {
        module->native = native;
        module->contract = image->contract;
        module->owner = slwi_retain(owner);
        module->state = SLWI_MODULE_LIVE;
        (void)slwi_device_retain(device);
        device->counts.modules_loaded++;
        device->counts.loads++;
    } else {
        table_remove(device, module);
    }
    pthread_cond_broadcast(&device->changed);
    pthread_mutex_unlock(&device->lock);
    if (code != SLW_OK) module_free(device, module);
    return code;
}

static slwi_module *module_create(slw_device *device, const slw_digest *sha256) {
    slwi_module *const module = slwi_alloc_zero(&device->allocator, sizeof *module);
    if (module == NULL) return NULL;
    slwi_ref_init(&module->ref, module_ending);
    module->device = device;
    module->sha256 = *sha256;
    module->state = SLWI_MODULE_LOADING;
    return module;
}

slw_code slwi_module_load(slw_device *device, const slw_driver_image *image, slwi_ref *owner, slwi_module **out,
                          slw_error *err) {
    slw_error local = SLW_ERROR_INIT;
    slw_error *const record = err != NULL ? err : &local; /* what is remembered has to be known */
    slw_code code = slwi_module_find(device, &image->sha256, out, record);
    if (code != SLW_E_MISS) return code;
    slwi_module *const fresh = module_create(device, &image->sha256);
    if (fresh == NULL) return slwi_fail_memory(record, sizeof *fresh);
    pthread_mutex_lock(&device->lock);
    code = find_locked(device, &image->sha256, out, record);
    if (code == SLW_E_MISS) table_add(device, fresh);
    pthread_mutex_unlock(&device->lock);
    if (code != SLW_E_MISS) { /* somebody was faster */
        module_free(device, fresh);
        return code;
    }
    code = load_settle(device, fresh, image, owner, record);
    if (code == SLW_OK) *out = fresh;
    return code;
}

/* ---- Unloading ------------------------------------------------------------------------------------------- */

/* Under the lock: gives one reference back; 1 when it was the last, so that nobody else can have the module. Two owners
   that come here at once are told apart: one of them is the last. */
static int give_back(slwi_module *module) {
    uint_fast32_t count = atomic_load_explicit(&module->ref.count, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&module->ref.count, &count, count - 1u, memory_order_acq_rel,
                                                  memory_order_relaxed)) {
    }
    return count == 1u;
}

/* Unloads a module whose state is unloading, and ends its life. */
static void module_unload(slw_device *device, slwi_module *module) {
    device->driver->unload(device->state, module->native, 0);
    slwi_ref *const owner = module->owner;
    pthread_mutex_lock(&device->lock);
    table_remove(device, module);
    module->state = SLWI_MODULE_GONE;
    const int passed = module->endings == 0; /* else the last ending frees it */
    device->counts.modules_loaded--;
    device->counts.unloads++;
    pthread_cond_broadcast(&device->changed);
    pthread_mutex_unlock(&device->lock);
    if (passed) module_free(device, module);
    slwi_release(owner);
    slw_device_close(&device);
}

void slwi_module_unload_or_release(slwi_module **module) {
    slwi_module *const leaving = *module;
    if (leaving == NULL) return;
    *module = NULL;
    slw_device *const device = leaving->device;
    if (slwi_device_forked(device)) {
        slwi_release(leaving);
        return;
    }
    pthread_mutex_lock(&device->lock);
    const int last = give_back(leaving);
    if (last) leaving->state = SLWI_MODULE_UNLOADING;
    pthread_mutex_unlock(&device->lock);
    if (last) module_unload(device, leaving);
}

void slwi_modules_clear(slw_device *device, int forked) {
    for (size_t i = 0; i < SLWI_MODULE_BUCKETS; i++) {
        while (device->buckets[i] != NULL) {
            slwi_module *const module = device->buckets[i];
            device->buckets[i] = module->next;
            /* A load that a fork cut off has no native module yet; its thread lives in the parent only. */
            if (module->native != NULL) device->driver->unload(device->state, module->native, forked);
            slwi_release(module->owner);
            module_free(device, module);
        }
    }
    while (device->failures != NULL) failure_drop(device, &device->failures);
}

/* ---- What a module gives --------------------------------------------------------------------------------- */

slw_device *slwi_module_device(const slwi_module *module) {
    return module->device;
}

const slw_contract *slwi_module_contract(const slwi_module *module) {
    return module->contract;
}

void *slwi_module_native(const slwi_module *module) {
    return module->device->driver->native_module(module->native);
}

void *slwi_module_native_function(const slwi_module *module, void *function) {
    const slw_driver_vtable *driver = module->device->driver;
    return driver->native_function != NULL ? driver->native_function(function) : function;
}

slw_code slwi_module_function(slwi_module *module, const slw_kernel_contract *kernel, void **function,
                              slw_function_attributes *out, slw_error *err) {
    slw_device *const device = module->device;
    const slw_code code = slwi_device_check(device, err);
    if (code != SLW_OK) return code;
    void *found = NULL;
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    const slw_code answer = device->driver->function(device->state, module->native, kernel, &found, &attributes, err);
    if (answer != SLW_OK) return slwi_device_answer(device, answer, err);
    *function = found;
    if (out != NULL) *out = attributes;
    return SLW_OK;
}

slw_code slwi_module_prepare(slwi_module *module, void *function, const slw_kernel_contract *kernel,
                             const slw_launch_shape *shape, slw_error *err) {
    slw_device *const device = module->device;
    const slw_code code = slwi_device_check(device, err);
    if (code != SLW_OK || device->driver->prepare == NULL) return code;
    return slwi_device_answer(device, device->driver->prepare(device->state, function, kernel, shape, err), err);
}

slw_code slwi_module_occupancy(slwi_module *module, void *function, const slw_kernel_contract *kernel,
                               const slw_launch_shape *shape, uint64_t *most_blocks, uint64_t *most_clusters,
                               slw_error *err) {
    slw_device *const device = module->device;
    *most_blocks = UINT64_MAX;
    *most_clusters = UINT64_MAX;
    const slw_code code = slwi_device_check(device, err);
    if (code != SLW_OK || device->driver->occupancy == NULL) return code;
    return slwi_device_answer(
        device, device->driver->occupancy(device->state, function, kernel, shape, most_blocks, most_clusters, err),
        err);
}

slw_code slwi_module_launch(slwi_module *module, void *function, const slw_driver_launch *launch, slw_error *err) {
    slw_device *const device = module->device;
    const slw_code code = slwi_device_check(device, err);
    if (code != SLW_OK) return code;
    return slwi_device_answer(device, device->driver->launch(device->state, function, launch, err), err);
}

slw_code slwi_module_global(slwi_module *module, const char *name, slw_device_address *address, uint64_t *size_bytes,
                            slw_error *err) {
    slw_device *const device = module->device;
    const slw_code code = slwi_device_check(device, err);
    if (code != SLW_OK) return code;
    slw_device_address found = 0;
    uint64_t size = 0;
    const slw_code answer = device->driver->global(device->state, module->native, name, &found, &size, err);
    if (answer != SLW_OK) return slwi_device_answer(device, answer, err);
    *address = found;
    *size_bytes = size;
    return SLW_OK;
}

slw_code slw_device_get_counts(const slw_device *device, slw_device_counts *out, slw_error *err) {
    const slw_code code = slwi_device_enter_lost(device, err);
    if (code != SLW_OK) return code;
    if (out == NULL || out->size != sizeof *out) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "the place for the counts has another size");
    }
    slw_device *const counted = (slw_device *)(uintptr_t)device; /* only its lock is changed */
    pthread_mutex_lock(&counted->lock);
    *out = counted->counts;
    out->failures_remembered = counted->failure_count;
    pthread_mutex_unlock(&counted->lock);
    return SLW_OK;
}
