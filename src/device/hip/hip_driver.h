/* The HIP driver inside: one state for each open device, one module for each image, one slot for each kernel.
 *
 * After open a state does not change, so launches share it without a lock, and two devices share nothing. HIP has no
 * contexts that one would use: every thread has a current device, which stands around every call of ours and is put
 * back after it (slwi_hip_enter / slwi_hip_leave). A module belongs to the device that was current when it was loaded,
 * and asking it for a function with another one current ends the process (device.md B.4). */
#ifndef SLWI_HIP_DRIVER_H
#define SLWI_HIP_DRIVER_H

#include <slipway/sys/driver_impl.h>

#include <pthread.h>

#include "gpu_library.h"
#include "hip_api.h"

#define SLWI_HIP_VERSION_BYTES 24

typedef struct slwi_hip_state {
    slw_allocator allocator;
    slwi_hip_api api;
    uint32_t capabilities; /* SLWI_HIP_CAN */
    uint32_t multiprocessors;
    uint32_t shared_bytes; /* of a compute unit, for one block: there is no opting in */
    int device;
    uint64_t fork_generation;
    char version[SLWI_HIP_VERSION_BYTES]; /* "HIP 5.2.21153"; "": it does not say */
    char name[64];                        /* "hip:0 AMD Instinct MI250X" */
    char library[SLWI_GPU_PATH_BYTES];    /* the file that is loaded */
} slwi_hip_state;

/* Where a HIP image lies while it is loaded: pages of its own, no file behind them, slack after its end. */
typedef struct slwi_hip_copy {
    void *pages; /* the image stands at their start */
    size_t size_bytes;
} slwi_hip_copy;

typedef struct slwi_hip_module slwi_hip_module;

/* What this driver calls a function. */
typedef struct slwi_hip_function {
    slwi_hip_native_function *native; /* NULL: not asked for yet */
    const slw_kernel_contract *kernel;
    slwi_hip_module *module;
    uint32_t registers, local_bytes, static_shared_bytes, max_threads;
    pthread_mutex_t lock; /* of the first use; never taken by a launch */
} slwi_hip_function;

struct slwi_hip_module {
    slwi_hip_native_module *native;
    const slw_contract *contract;
    slwi_hip_copy copy;
    uint32_t function_count;
    slwi_hip_function functions[]; /* as the kernels of the contract, which are sorted by name */
};

/* ---- hip_library.c ----------------------------------------------------------------------------------------------- */

/* Finds and opens the library: the copy that the process has already, else the newest. */
slw_code slwi_hip_library_open(const char *named, const slw_library_loader *loader, slwi_gpu_library *out,
                               slw_error *err);
/* Fills the table. */
slw_code slwi_hip_library_resolve(const slwi_gpu_library *library, slwi_hip_api *api, uint32_t *capabilities,
                                  slw_error *err);
/* hipInit, once for each process and library, and the library's version. NO_DEVICE, FORKED, UNAVAILABLE, DRIVER. */
slw_code slwi_hip_library_init(const slwi_gpu_library *library, slwi_hip_state *hip, slw_error *err);

void slwi_hip_examine(const char *library, slw_driver_status *out);

/* ---- hip_topology.c: what the kernel's driver says, without HIP -------------------------------------------------- */

typedef struct slwi_hip_node {
    uint32_t version; /* 90010 for gfx90a */
    uint32_t domain, location;
} slwi_hip_node;

#define SLWI_HIP_NODES 64u

/* The GPUs among the nodes, at most SLWI_HIP_NODES; 0: none, or nothing can be read. */
uint32_t slwi_hip_topology(slwi_hip_node nodes[SLWI_HIP_NODES]);
/* One node's properties; 1 when it is a GPU. */
int slwi_hip_topology_parse(const char *properties, slwi_hip_node *out);
/* "gfx90a". */
void slwi_hip_topology_name(uint32_t version, char out[32]);
/* The GPU at a bus address "0000:c1:00.0"; with NULL, or one that is none, what all GPUs are. 0: not known. */
uint32_t slwi_hip_topology_find(const slwi_hip_node *nodes, uint32_t count, const char *bus_address);

/* ---- hip_target.c ------------------------------------------------------------------------------------------------ */

/* What the device runs, with its modes: "gfx90a:sramecc+:xnack-". NO_TARGET (DRIVER) when nobody says it. */
slw_code slwi_hip_target(const slwi_hip_state *hip, char out[64], slw_error *err);

/* ---- hip_device.c ------------------------------------------------------------------------------------------------ */

slw_code slwi_hip_open(const slw_device_options *options, void **state, slw_device_info *info, slw_error *err);
void slwi_hip_close(void *state, int forked);
/* Makes the device current where another is. *previous says what leave has to put back; -1: nothing. */
slwi_hip_result slwi_hip_push(const slwi_hip_state *hip, int *previous);
/* The same with an error of ours. */
slw_code slwi_hip_enter(const slwi_hip_state *hip, int *previous, slw_error *err);
/* What was current is current again. A failure is not passed on: what was done inside is done. */
void slwi_hip_leave(const slwi_hip_state *hip, int previous);
/* What any call gives now: success where the device is healthy. It waits for nothing. */
slwi_hip_result slwi_hip_pulse(const slwi_hip_state *hip);
/* Loading is not allowed to a thread that takes part in a capture in a stricter mode (pitfall 37). Returns the mode to
   restore; -1: none. */
int slwi_hip_relax_capture(const slwi_hip_state *hip);
void slwi_hip_restore_capture(const slwi_hip_state *hip, int mode);

/* ---- hip_image.c: what an image is, before HIP sees it, and where it lies ---------------------------------------- */

/* INVALID_BINARY (EMPTY, BAD_MAGIC, TRUNCATED), TARGET_MISMATCH (KIND), UNSUPPORTED_INPUT (COMPRESSED_BUNDLE). */
slw_code slwi_hip_image_check(slw_bytes bytes, slw_image_kind kind, slw_error *err);
slw_code slwi_hip_copy_make(slw_bytes bytes, slwi_hip_copy *out, slw_error *err);
void slwi_hip_copy_drop(slwi_hip_copy *copy);

/* ---- hip_module.c, hip_function.c -------------------------------------------------------------------------------- */

slw_code slwi_hip_load(void *state, const slw_driver_image *image, void **module, int *at_fault, slw_error *err);
void slwi_hip_unload(void *state, void *module, int forked);
slw_code slwi_hip_global(void *state, void *module, const char *name, slw_device_address *address, uint64_t *size_bytes,
                         slw_error *err);
void *slwi_hip_module_handle(void *module);
void *slwi_hip_function_handle(void *function);
slw_code slwi_hip_find(void *state, void *module, const slw_kernel_contract *kernel, void **function,
                       slw_function_attributes *out, slw_error *err);
slw_code slwi_hip_prepare(void *state, void *function, const slw_kernel_contract *kernel, const slw_launch_shape *shape,
                          slw_error *err);
/* OUT_OF_RESOURCES where a block has more threads than the kernel was made for. HIP gives 719 for it, the result of a
   kernel that has crashed, though nothing ran (device.md B.5). */
slw_code slwi_hip_check_threads(const slwi_hip_state *hip, const slwi_hip_function *function, const uint32_t block[3],
                                slw_error *err);

/* ---- hip_launch.c ------------------------------------------------------------------------------------------------ */

slw_code slwi_hip_launch(void *state, void *function, const slw_driver_launch *launch, slw_error *err);
slw_code slwi_hip_occupancy(void *state, void *function, const slw_kernel_contract *kernel,
                            const slw_launch_shape *shape, uint64_t *most_blocks, uint64_t *most_clusters,
                            slw_error *err);

/* ---- hip_memory.c ------------------------------------------------------------------------------------------------ */

slw_code slwi_hip_alloc(void *state, uint64_t size_bytes, slw_device_address *out, slw_error *err);
slw_code slwi_hip_free(void *state, slw_device_address address, slw_error *err);
slw_code slwi_hip_copy_in(void *state, slw_device_address to, const void *from, uint64_t size_bytes, slw_error *err);
slw_code slwi_hip_copy_out(void *state, void *to, slw_device_address from, uint64_t size_bytes, slw_error *err);
slw_code slwi_hip_stream_create(void *state, slw_stream *out, slw_error *err);
slw_code slwi_hip_stream_destroy(void *state, slw_stream stream, slw_error *err);
slw_code slwi_hip_synchronize(void *state, const slw_stream *stream, slw_error *err);
slw_code slwi_hip_wait_idle(void *state, slw_stream stream, uint64_t deadline_ns, slw_error *err);

/* ---- hip_errors.c ------------------------------------------------------------------------------------------------ */

/* NULL: not in our table. */
const char *slwi_hip_result_name(slwi_hip_result result);
/* 1: the device is of no more use to this process. */
int slwi_hip_result_is_sticky(slwi_hip_result result);
/* 1: the image is to blame, given that the device is healthy. */
int slwi_hip_result_blames_image(slwi_hip_result result);
/* Our code, and a finer name (static, may be NULL). */
slw_code slwi_hip_classify(slwi_hip_result result, const char **reason);
/* After a failed call of ours whose result was not passed on, too: HIP keeps a last error for each thread, which the
   caller's code may ask for and must not find ours (device.md G 39). */
void slwi_hip_clear(const slwi_hip_state *hip);
/* Clears it, fills the record and returns the code. `kernel` may be NULL. */
slw_code slwi_hip_fail(const slwi_hip_state *hip, slwi_hip_result result, const char *kernel, const char *what,
                       slw_error *err);

static inline int slwi_hip_can(const slwi_hip_state *hip, uint32_t capability) {
    return (hip->capabilities & capability) != 0;
}

#endif
