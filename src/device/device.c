/* Devices as objects: opened, described, counted, closed. */
#include <string.h>
#include <time.h>

#include "device_object.h"
#include "drivers.h"
#include "fail.h"
#include "memory.h"

/* All devices, so that a fork happens while no table of modules is half changed. Order of locks: this one, then a
   device's. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static slw_device *list_first;

static pthread_once_t hook_once = PTHREAD_ONCE_INIT;
static int hook_error;

static void hold_all(void) {
    pthread_mutex_lock(&list_lock);
    for (slw_device *device = list_first; device != NULL; device = device->next) pthread_mutex_lock(&device->lock);
}

/* Also in the child, where the thread that called fork holds them all just as in the parent. */
static void let_all_go(void) {
    for (slw_device *device = list_first; device != NULL; device = device->next) pthread_mutex_unlock(&device->lock);
    pthread_mutex_unlock(&list_lock);
}

static void install_hook(void) {
    hook_error = slwi_fork_hook(hold_all, let_all_go, let_all_go);
}

static void list_add(slw_device *device) {
    pthread_mutex_lock(&list_lock);
    device->next = list_first;
    if (list_first != NULL) list_first->previous = device;
    list_first = device;
    pthread_mutex_unlock(&list_lock);
}

static void list_remove(slw_device *device) {
    pthread_mutex_lock(&list_lock);
    if (device->next != NULL) device->next->previous = device->previous;
    if (device->previous != NULL) {
        device->previous->next = device->next;
    } else {
        list_first = device->next;
    }
    pthread_mutex_unlock(&list_lock);
}

/* ---- Opening --------------------------------------------------------------------------------------------- */

static slw_code choose_driver(const slw_device_options *options, const slw_driver_vtable **out, slw_error *err) {
    if (options->driver == NULL) return slwi_driver_find(options->kind == NULL ? "host" : options->kind, out, err);
    const slw_code code = slwi_driver_check(options->driver, err);
    if (code != SLW_OK) return code;
    if (options->kind != NULL && strcmp(options->kind, options->driver->kind) != 0) {
        return slwi_fail(err, SLW_E_USAGE, "BAD_DRIVER", "the driver is of kind \"%s\", the options say \"%s\"",
                         options->driver->kind, options->kind);
    }
    *out = options->driver;
    return SLW_OK;
}

/* On the monotonic clock where that can be had: a clock that people can set would make a waiter deaf. */
static int make_condition(pthread_cond_t *condition) {
#if defined(__APPLE__)
    return pthread_cond_init(condition, NULL);
#else
    pthread_condattr_t attributes;
    int failed = pthread_condattr_init(&attributes);
    if (failed != 0) return failed;
    failed = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (failed == 0) failed = pthread_cond_init(condition, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return failed;
#endif
}

static slw_code make_locks(slw_device *device, slw_error *err) {
    if (pthread_mutex_init(&device->lock, NULL) != 0) {
        return slwi_fail(err, SLW_E_NO_MEMORY, NULL, "no mutex for the device");
    }
    if (make_condition(&device->changed) != 0) {
        pthread_mutex_destroy(&device->lock);
        return slwi_fail(err, SLW_E_NO_MEMORY, NULL, "no condition variable for the device");
    }
    return SLW_OK;
}

/* Opens the driver; what it says of itself is cut to what it may say. */
static slw_code open_driver(slw_device *device, const slw_device_options *options, slw_error *err) {
    slw_device_options resolved = *options;
    resolved.allocator = device->allocator;
    resolved.kind = device->driver->kind;
    slw_device_info info = SLW_DEVICE_INFO_INIT;
    void *state = NULL;
    const slw_code code = device->driver->open(&resolved, &state, &info, err);
    if (code != SLW_OK) return code;
    info.kind[sizeof info.kind - 1] = '\0';
    info.name[sizeof info.name - 1] = '\0';
    info.target[sizeof info.target - 1] = '\0';
    device->info = info;
    device->state = state;
    return SLW_OK;
}

static slw_code device_create(const slw_device_options *options, const slw_driver_vtable *driver, slw_device **out,
                              slw_error *err) {
    slw_allocator allocator;
    slw_code code = slwi_allocator_take(&options->allocator, &allocator, err);
    if (code != SLW_OK) return code;
    pthread_once(&hook_once, install_hook);
    if (hook_error != 0) return slwi_fail(err, SLW_E_LIMIT, NULL, "the table of fork handlers is full");
    slw_device *device = slwi_alloc_zero(&allocator, sizeof *device);
    if (device == NULL) return slwi_fail_memory(err, sizeof *device);
    device->tag = SLWI_DEVICE_TAG;
    device->allocator = allocator;
    device->driver = driver;
    device->fork_generation = slwi_fork_generation();
    device->counts.size = sizeof device->counts;
    device->load_timeout_ns = options->load_timeout_ns;
    device->cancel = options->cancel;
    atomic_init(&device->lost, 0);
    atomic_init(&device->references, 1u);
    code = make_locks(device, err);
    if (code == SLW_OK) {
        code = open_driver(device, options, err);
        if (code != SLW_OK) {
            pthread_cond_destroy(&device->changed);
            pthread_mutex_destroy(&device->lock);
        }
    }
    if (code != SLW_OK) {
        slwi_free(&allocator, device);
        return code;
    }
    list_add(device);
    *out = device;
    return SLW_OK;
}

slw_code slw_device_open(const slw_device_options *options, slw_device **out, slw_error *err) {
    slwi_error_reset(err);
    if (options == NULL || out == NULL || options->size != sizeof *options) {
        return slwi_fail(err, SLW_E_USAGE, NULL,
                         "slw_device_open needs options of this version and a place for the device");
    }
    const slw_driver_vtable *driver = NULL;
    const slw_code code = choose_driver(options, &driver, err);
    if (code != SLW_OK) return code;
    return device_create(options, driver, out, err);
}

/* ---- Closing --------------------------------------------------------------------------------------------- */

slw_device *slwi_device_retain(slw_device *device) {
    (void)atomic_fetch_add_explicit(&device->references, 1u, memory_order_relaxed);
    return device;
}

static void device_destroy(slw_device *device) {
    const int forked = slwi_device_forked(device);
    list_remove(device);
    slwi_modules_clear(device, forked);
    device->driver->close(device->state, forked);
    if (!forked) {
        /* In a child other threads of the parent may seem to wait here for ever (pitfall 18). */
        pthread_cond_destroy(&device->changed);
        pthread_mutex_destroy(&device->lock);
    }
    device->tag = SLWI_DEVICE_DEAD;
    const slw_allocator allocator = device->allocator;
    slwi_free(&allocator, device);
}

void slw_device_close(slw_device **device) {
    if (device == NULL || *device == NULL || (*device)->tag != SLWI_DEVICE_TAG) return;
    slw_device *const closing = *device;
    *device = NULL;
    if (atomic_fetch_sub_explicit(&closing->references, 1u, memory_order_acq_rel) == 1u) device_destroy(closing);
}

/* ---- State ----------------------------------------------------------------------------------------------- */

const slw_device_info *slwi_device_info(const slw_device *device) {
    return &device->info;
}

static slw_code check_fork(const slw_device *device, slw_error *err) {
    if (!slwi_device_forked(device)) return SLW_OK;
    slwi_error_kernel(err, NULL, device->info.name);
    return slwi_fail(err, SLW_E_FORKED, NULL, "the device was opened before this process was forked");
}

slw_code slwi_device_check(const slw_device *device, slw_error *err) {
    const slw_code code = check_fork(device, err);
    if (code != SLW_OK || !atomic_load_explicit(&device->lost, memory_order_relaxed)) return code;
    slwi_error_kernel(err, NULL, device->info.name);
    return slwi_fail(err, SLW_E_LOST, NULL, "the device is lost since an earlier error");
}

void slwi_device_lose(slw_device *device) {
    atomic_store_explicit(&device->lost, 1, memory_order_relaxed);
}

slw_code slwi_device_answer(slw_device *device, slw_code code, slw_error *err) {
    if (code == SLW_OK) return SLW_OK;
    if (code == SLW_E_LOST) slwi_device_lose(device);
    slwi_error_kernel(err, NULL, device->info.name);
    return code;
}

slw_code slwi_device_enter_lost(const slw_device *device, slw_error *err) {
    slwi_error_reset(err);
    if (device == NULL || device->tag != SLWI_DEVICE_TAG) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "this is no open device");
    }
    return check_fork(device, err);
}

slw_code slwi_device_enter(const slw_device *device, slw_error *err) {
    const slw_code code = slwi_device_enter_lost(device, err);
    return code == SLW_OK ? slwi_device_check(device, err) : code;
}

slw_code slw_device_describe(const slw_device *device, slw_device_info *out, slw_error *err) {
    const slw_code code = slwi_device_enter_lost(device, err);
    if (code != SLW_OK) return code;
    if (out == NULL || out->size != sizeof *out) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "the place for the description has another size");
    }
    *out = device->info;
    return SLW_OK;
}

void *slw_device_native_context(const slw_device *device) {
    if (device == NULL || device->tag != SLWI_DEVICE_TAG) return NULL;
    return device->driver->native_context != NULL ? device->driver->native_context(device->state) : device->state;
}
