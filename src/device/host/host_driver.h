/* The host driver inside: a state for each device, a module for each image, a pool of threads.
 *
 * A kernel is native code of the caller's choice: a fault in it is a fault of the process, and what its constructors do
 * at load is done.  Images are hashed and read before they come here. */
#ifndef SLWI_HOST_DRIVER_H
#define SLWI_HOST_DRIVER_H

#include <slipway/host_kernel.h>
#include <slipway/sys/driver_impl.h>

#include <stdatomic.h>

#include "host_target.h"
#include "os.h"

/* Limits, as a GPU has them. */
#define SLWI_HOST_MAX_THREADS      1024u
#define SLWI_HOST_MAX_BLOCK_XY     1024u
#define SLWI_HOST_MAX_BLOCK_Z      64u
#define SLWI_HOST_MAX_GRID_X       2147483647u
#define SLWI_HOST_MAX_GRID_YZ      65535u
#define SLWI_HOST_SHARED_BYTES     49152u
#define SLWI_HOST_SHARED_ALIGNMENT 64u
#define SLWI_HOST_DEFAULT_POOL     63u
#define SLWI_HOST_LARGEST_POOL     1024u

typedef struct slwi_host_pool slwi_host_pool;

typedef struct slwi_host_state {
    slw_allocator allocator;
    slwi_host_pool *pool;         /* NULL: no threads beside the caller's */
    atomic_uint_fast64_t streams; /* ever made; a stream is its number */
} slwi_host_state;

/* ---- Images: verified bytes made loadable, under a name that no other module of this process ever has ------- */

typedef struct slwi_host_image {
    void *library;  /* of dlopen */
    int descriptor; /* of the sealed memfd; -1: it came from a file that is gone again */
    slwi_stat identity;
    char name[80];
} slwi_host_image;

/* UNAVAILABLE: this system lets no memory be executed (reason NO_EXECUTABLE_MEMORY). *at_fault is 1 where the image is
   to blame. */
slw_code slwi_host_image_open(slw_bytes bytes, slwi_host_image *out, int *at_fault, slw_error *err);
/* The descriptor goes only when the library is really gone: a later image under its number would get this one. */
void slwi_host_image_close(slwi_host_image *image);

/* ---- Modules ------------------------------------------------------------------------------------------------- */

/* What the driver calls a function. The first member is its address. */
typedef struct slwi_host_function {
    slw_host_kernel *entry;
    const char *name; /* of the contract */
    uint32_t static_shared_bytes;
    uint32_t param_count;
} slwi_host_function;

slw_code slwi_host_load(void *state, const slw_driver_image *image, void **module, int *at_fault, slw_error *err);
void slwi_host_unload(void *state, void *module, int forked);
slw_code slwi_host_find(void *state, void *module, const slw_kernel_contract *kernel, void **function,
                        slw_function_attributes *out, slw_error *err);
slw_code slwi_host_global(void *state, void *module, const char *name, slw_device_address *address,
                          uint64_t *size_bytes, slw_error *err);
void *slwi_host_native(void *module);
void *slwi_host_native_function(void *function); /* the address of the kernel */

/* ---- Launches ------------------------------------------------------------------------------------------------ */

/* One launch while it runs: on the stack of the thread that launched. Whoever works on it takes `chunk` blocks at a
   time. */
typedef struct slwi_host_job {
    slw_host_kernel *entry;
    void *const *params;
    slw_host_block block; /* index and shared are each worker's own */
    uint64_t total;
    uint64_t chunk;
    atomic_uint_fast64_t next;
} slwi_host_job;

slw_code slwi_host_launch(void *state, void *function, const slw_driver_launch *launch, slw_error *err);
/* Works on a job until nothing is left. `scratch` is at least shared_bytes large; NULL where there are none. */
void slwi_host_job_work(slwi_host_job *job, void *scratch);

/* ---- The pool ------------------------------------------------------------------------------------------------ */

/* Memory for `threads` threads; none is started. NULL: no memory. */
slwi_host_pool *slwi_host_pool_create(const slw_allocator *allocator, uint32_t threads);
/* Joins the threads; in a forked child only frees. NULL is fine. */
void slwi_host_pool_destroy(slwi_host_pool *pool, int forked);
/* One launch at a time has the pool: 1 when the caller has it now. Starts the threads the first time; when none starts
   the answer is 0 and the next claim tries again. */
int slwi_host_pool_claim(slwi_host_pool *pool);
uint32_t slwi_host_pool_threads(const slwi_host_pool *pool); /* running; for the one that claimed it */
/* Runs the job with the caller's help and gives the pool back. */
void slwi_host_pool_run(slwi_host_pool *pool, slwi_host_job *job, void *scratch);

#endif
