/* What a device and a module are inside. Only src/device sees this. */
#ifndef SLWI_DEVICE_OBJECT_H
#define SLWI_DEVICE_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>

#include "fork.h"
#include "modules.h"

#define SLWI_DEVICE_TAG  0x534c5744u /* "SLWD" */
#define SLWI_DEVICE_DEAD 0x44454144u

#define SLWI_MODULE_BUCKETS      256u /* by the first byte of the digest */
#define SLWI_FAILURES_REMEMBERED 256u /* each is a whole error record; the oldest is forgotten first */

/* loading and unloading belong to one thread, outside the lock; everybody else waits for `changed`. */
typedef enum slwi_module_state {
    SLWI_MODULE_LOADING,
    SLWI_MODULE_LIVE,
    SLWI_MODULE_RETIRED,
    SLWI_MODULE_UNLOADING,
    SLWI_MODULE_GONE /* unloaded and out of the table; `endings` still have to pass through it */
} slwi_module_state;

struct slwi_module {
    slwi_ref ref;       /* first. 0 while retired; find revives it under the lock */
    slw_device *device; /* one reference for each life (from count 1 to its ending) */
    slwi_module *next;  /* in its bucket */
    slw_digest sha256;
    slwi_module_state state;
    /* Last releases that were overtaken by a revival before they got the lock: each must come and go. */
    uint32_t endings;
    void *native;
    const slw_contract *contract;
    slwi_ref *owner; /* of the contract; NULL: it outlives us by the caller's word */
};

typedef struct slwi_failure slwi_failure;
struct slwi_failure {
    slwi_failure *next; /* newest first */
    slw_digest sha256;
    slw_error record;
};

struct slw_device {
    uint32_t tag; /* first */
    atomic_int lost;
    atomic_uint_fast32_t references;
    uint64_t fork_generation;
    slw_allocator allocator;
    const slw_driver_vtable *driver;
    void *state;
    slw_device_info info;
    uint64_t load_timeout_ns; /* for waiting on another thread's load */
    slw_cancel *cancel;

    slw_device *next, *previous; /* in the list of all devices, under its lock */

    pthread_mutex_t lock; /* everything below; never held while the driver is called */
    pthread_cond_t changed;
    slwi_module *buckets[SLWI_MODULE_BUCKETS];
    slwi_failure *failures;
    uint32_t failure_count;
    slw_device_counts counts; /* of modules; failures are counted by failure_count */
};

/* The first step of every public call: resets the record; USAGE for what is no device, then FORKED, then LOST. The
   second form is for calls that a lost device still answers. */
slw_code slwi_device_enter(const slw_device *device, slw_error *err);
slw_code slwi_device_enter_lost(const slw_device *device, slw_error *err);
void slwi_device_lose(slw_device *device);
/* Remembers that the bytes of this digest are at fault; the record is copied, its diagnostics too. */
void slwi_device_remember_failure(slw_device *device, const slw_digest *sha256, const slw_error *failure);
/* Passes a driver's code on and marks the device when the code says that it is lost. */
slw_code slwi_device_answer(slw_device *device, slw_code code, slw_error *err);
/* Unloads every module and frees the table; the device has no user left. */
void slwi_modules_clear(slw_device *device, int forked);

static inline int slwi_device_forked(const slw_device *device) {
    return device->fork_generation != slwi_fork_generation();
}

#endif
