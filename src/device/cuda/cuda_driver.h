/* The CUDA driver inside: one state for each open device, one module for each image, one slot for each kernel.
 *
 * After open a state does not change, so launches share it without a lock, and two devices share nothing. Around
 * every call of the driver stands slwi_cuda_enter / slwi_cuda_leave: the caller's current context is afterwards what
 * it was. */
#ifndef SLWI_CUDA_DRIVER_H
#define SLWI_CUDA_DRIVER_H

#include <slipway/sys/driver_impl.h>

#include <pthread.h>

#include "cuda_api.h"
#include "gpu_library.h"

/* What a program can be read of; the bytes say it. */
typedef enum slwi_cuda_form { SLWI_CUDA_CUBIN, SLWI_CUDA_FATBIN, SLWI_CUDA_PTX } slwi_cuda_form;

typedef struct slwi_cuda_state {
    slw_allocator allocator;
    slwi_cuda_api api;
    uint32_t capabilities; /* SLWI_CUDA_CAN */
    uint32_t allow_ptx;
    uint32_t ptx_isa; /* the newest PTX the driver compiles; 0: not known */
    uint32_t multiprocessors;
    uint32_t optin_shared_bytes;
    int driver_version; /* 13000 */
    slwi_cu_device device;
    slwi_cu_context *context;
    int is_primary;                /* 1: retained by us */
    unsigned long long context_id; /* 0: not known */
    uint64_t fork_generation;
    char name[64];                     /* "cuda:0 NVIDIA H200" */
    char library[SLWI_GPU_PATH_BYTES]; /* the file that is loaded */
} slwi_cuda_state;

typedef struct slwi_cuda_module slwi_cuda_module;

/* What this driver calls a function. The first member is the driver's. */
typedef struct slwi_cuda_function {
    slwi_cu_function *native; /* NULL: not asked for yet */
    const slw_kernel_contract *kernel;
    slwi_cuda_module *module;
    uint32_t registers, local_bytes, static_shared_bytes, max_threads;
    pthread_mutex_t lock; /* of the first use, and of its attributes; never taken by a launch */
} slwi_cuda_function;

struct slwi_cuda_module {
    slwi_cu_module *native;
    const slw_contract *contract;
    slwi_cuda_form form;
    uint32_t function_count;
    slwi_cuda_function functions[]; /* as the kernels of the contract, which are sorted by name */
};

/* ---- cuda_library.c ---------------------------------------------------------------------------------------------- */

/* Finds and opens the library. */
slw_code slwi_cuda_library_open(const char *named, const slw_library_loader *loader, slwi_gpu_library *out,
                                slw_error *err);
/* FORKED in a child of a process that initialised it: asked before anything else of the library is called. */
slw_code slwi_cuda_library_check_fork(const slwi_gpu_library *library, slw_error *err);
/* Fills the table. */
slw_code slwi_cuda_library_resolve(const slwi_gpu_library *library, slwi_cuda_api *api, uint32_t *capabilities,
                                   slw_error *err);
/* cuInit, once for each process and library. STUB, NO_DEVICE, FORKED, UNAVAILABLE (mismatched versions), DRIVER. */
slw_code slwi_cuda_library_init(const slwi_gpu_library *library, const slwi_cuda_api *api, slw_error *err);

void slwi_cuda_examine(const char *library, slw_driver_status *out);

/* ---- cuda_device.c ----------------------------------------------------------------------------------------------- */

slw_code slwi_cuda_open(const slw_device_options *options, void **state, slw_device_info *info, slw_error *err);
void slwi_cuda_close(void *state, int forked);
void *slwi_cuda_native_context(void *state);
/* The newest PTX (major × 10 + minor) that a driver of that version (13000) compiles; 0: not known, it may try. */
uint32_t slwi_cuda_ptx_of_driver(int driver_version);
/* Columns of tensor memory by compute capability. */
uint32_t slwi_cuda_tensor_columns(int major);

/* ---- cuda_context.c ---------------------------------------------------------------------------------------------- */

/* Retains the primary context, or takes the caller's; fills context, is_primary and context_id. */
slw_code slwi_cuda_context_take(slwi_cuda_state *cuda, void *native_context, slw_error *err);
/* Releases the primary one; not the caller's. */
void slwi_cuda_context_drop(slwi_cuda_state *cuda);
/* Makes the context current where another is. *pushed says what leave has to undo. */
slwi_cu_result slwi_cuda_push(const slwi_cuda_state *cuda, int *pushed);
/* The same with an error of ours. */
slw_code slwi_cuda_enter(const slwi_cuda_state *cuda, int *pushed, slw_error *err);
/* What was current is current again. A failure is not passed on: what was done inside is done, and a broken context
   shows in the next call. */
void slwi_cuda_leave(const slwi_cuda_state *cuda, int pushed);
/* 1: somebody destroyed or reset the context that this device was opened with. */
int slwi_cuda_context_gone(const slwi_cuda_state *cuda);
extern const char slwi_cuda_reset_hint[]; /* what to do then */
/* LOST (reason CONTEXT_GONE) then. */
slw_code slwi_cuda_context_check(const slwi_cuda_state *cuda, slw_error *err);
slw_code slwi_cuda_check(void *state, slw_error *err); /* the same, as the vtable has it */
/* For calls that use modules or functions, launches apart: their handles died with the context, so that is asked
   first. */
slw_code slwi_cuda_enter_loaded(const slwi_cuda_state *cuda, int *pushed, slw_error *err);
/* What any call of the context gives now: success where it is healthy. It waits for nothing. */
slwi_cu_result slwi_cuda_context_pulse(const slwi_cuda_state *cuda);
/* Loading is not allowed to a thread that takes part in a capture in a stricter mode (pitfall 37). Returns the mode to
   restore; -1: none. */
int slwi_cuda_relax_capture(const slwi_cuda_state *cuda);
void slwi_cuda_restore_capture(const slwi_cuda_state *cuda, int mode);

/* ---- cuda_image.c: what an image is, before the driver sees it; no driver needed --------------------------------- */

/* INVALID_BINARY (EMPTY, BAD_MAGIC, TRUNCATED), INVALID_PTX (BAD_BYTE), TARGET_MISMATCH (KIND). */
slw_code slwi_cuda_image_form(slw_bytes bytes, slw_image_kind kind, slwi_cuda_form *out, slw_error *err);
/* "8.5" to 85; 0: it is none. */
uint32_t slwi_cuda_isa_number(const char *text);
/* Whether the driver would compile it: TARGET_MISMATCH (PTX_NOT_ALLOWED, ISA_VERSION). */
slw_code slwi_cuda_image_policy(const slw_contract *contract, slwi_cuda_form form, uint32_t allow_ptx,
                                uint32_t newest_isa, slw_error *err);

/* ---- cuda_module.c, cuda_function.c ------------------------------------------------------------------------------ */

slw_code slwi_cuda_load(void *state, const slw_driver_image *image, void **module, int *at_fault, slw_error *err);
void slwi_cuda_unload(void *state, void *module, int forked);
slw_code slwi_cuda_global(void *state, void *module, const char *name, slw_device_address *address,
                          uint64_t *size_bytes, slw_error *err);
void *slwi_cuda_native_module(void *module);
void *slwi_cuda_native_function(void *function);
slw_code slwi_cuda_find(void *state, void *module, const slw_kernel_contract *kernel, void **function,
                        slw_function_attributes *out, slw_error *err);
slw_code slwi_cuda_prepare(void *state, void *function, const slw_kernel_contract *kernel,
                           const slw_launch_shape *shape, slw_error *err);

/* ---- cuda_launch.c ----------------------------------------------------------------------------------------------- */

/* A cooperative launch, a cluster, programmatic launch: all at once. */
#define SLWI_CUDA_LAUNCH_ATTRIBUTES 3u

/* Fills the attributes that a launch needs; how many. A cluster that the binary fixes, or of one block, is left out. */
unsigned slwi_cuda_launch_attributes(const slw_kernel_contract *kernel, const uint32_t cluster[3], uint32_t cooperative,
                                     uint32_t flags, slwi_cu_launch_attribute out[SLWI_CUDA_LAUNCH_ATTRIBUTES]);
slw_code slwi_cuda_launch(void *state, void *function, const slw_driver_launch *launch, slw_error *err);
slw_code slwi_cuda_occupancy(void *state, void *function, const slw_kernel_contract *kernel,
                             const slw_launch_shape *shape, uint64_t *most_blocks, uint64_t *most_clusters,
                             slw_error *err);

/* ---- cuda_memory.c ----------------------------------------------------------------------------------------------- */

slw_code slwi_cuda_alloc(void *state, uint64_t size_bytes, slw_device_address *out, slw_error *err);
slw_code slwi_cuda_free(void *state, slw_device_address address, slw_error *err);
slw_code slwi_cuda_copy_in(void *state, slw_device_address to, const void *from, uint64_t size_bytes, slw_error *err);
slw_code slwi_cuda_copy_out(void *state, void *to, slw_device_address from, uint64_t size_bytes, slw_error *err);
slw_code slwi_cuda_stream_create(void *state, slw_stream *out, slw_error *err);
slw_code slwi_cuda_stream_destroy(void *state, slw_stream stream, slw_error *err);
slw_code slwi_cuda_synchronize(void *state, const slw_stream *stream, slw_error *err);
slw_code slwi_cuda_wait_idle(void *state, slw_stream stream, uint64_t deadline_ns, slw_error *err);

/* ---- cuda_errors.c ----------------------------------------------------------------------------------------------- */

/* NULL: not in our table. */
const char *slwi_cuda_result_name(slwi_cu_result result);
/* 1: the context, and everything in it, is of no more use. */
int slwi_cuda_result_is_sticky(slwi_cu_result result);
/* 1: the image is to blame, given that the context is healthy. */
int slwi_cuda_result_blames_image(slwi_cu_result result);
/* Our code, and a finer name (static, may be NULL). */
slw_code slwi_cuda_classify(slwi_cu_result result, const char **reason);
/* Fills the record from a failed call and returns the code. `kernel` may be NULL. */
slw_code slwi_cuda_fail(const slwi_cuda_state *cuda, slwi_cu_result result, const char *kernel, const char *what,
                        slw_error *err);
/* The same before there is a state. */
slw_code slwi_cuda_fail_at(const char *library, const char *device, slwi_cu_result result, const char *what,
                           slw_error *err);

static inline int slwi_cuda_can(const slwi_cuda_state *cuda, uint32_t capability) {
    return (cuda->capabilities & capability) != 0;
}

#endif
