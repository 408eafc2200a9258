/* For those who write a driver. Weaker promise than the other headers: `abi` counts changes.
 *
 * A driver owns process resources: symbol tables, contexts, modules, functions. It never sees a store or a compiler.
 * Every image it is given has been hashed, read and checked for target and limits. All calls may come from any thread
 * at once unless said otherwise; nothing is called with a lock of slipway's held that another driver call may need. */
#ifndef SLIPWAY_SYS_DRIVER_IMPL_H
#define SLIPWAY_SYS_DRIVER_IMPL_H

#include <slipway/phases.h>

SLW_BEGIN_DECLS

#define SLW_DRIVER_ABI 1u

typedef struct slw_driver_image {
    uint32_t size;
    slw_bytes bytes; /* private, read-only; lives until load returns */
    slw_digest sha256;
    const slw_contract *contract; /* lives until unload has returned */
} slw_driver_image;

/* One launch, checked. `params` has every parameter of the contract, scratch and hidden ones filled in. */
typedef struct slw_driver_launch {
    uint32_t size;
    uint32_t blocks[3];
    uint32_t block[3];
    uint32_t cluster[3];
    uint32_t shared_bytes; /* dynamic */
    uint32_t cooperative;
    uint32_t flags; /* SLW_LAUNCH_… */
    slw_stream stream;
    void *const *params;
    uint32_t param_count;
} slw_driver_launch;

typedef struct slw_driver_vtable {
    uint32_t size;
    uint32_t abi; /* SLW_DRIVER_ABI */
    const char *kind;

    /* Without initialising anything. May be NULL: YES. */
    void (*examine)(const char *library, slw_driver_status *out);
    /* Opens one device. `state` untouched on failure. `info` is filled, size first, on success. */
    slw_code (*open)(const slw_device_options *options, void **state, slw_device_info *info, slw_error *err);
    /* After every module was unloaded (not in a forked child: then `forked` is 1, memory is freed and nothing else
     * done). */
    void (*close)(void *state, int forked);

    /* Really loads. Reports in *at_fault 1 when the image is to blame (the failure is remembered), else 0. */
    slw_code (*load)(void *state, const slw_driver_image *image, void **module, int *at_fault, slw_error *err);
    void (*unload)(void *state, void *module, int forked);
    /* `function` is borrowed from the module. */
    slw_code (*function)(void *state, void *module, const slw_kernel_contract *kernel, void **function,
                         slw_function_attributes *out, slw_error *err);
    /* Whatever a shape needs once, before its first launch (opt-in shared memory…). Monotonic. May be NULL. */
    slw_code (*prepare)(void *state, void *function, const slw_kernel_contract *kernel, const slw_launch_shape *shape,
                        slw_error *err);
    /* How many blocks of this shape fit on the device at once (a cooperative grid may not have more) and how many
       clusters of its size are active then. UINT64_MAX: no limit is known. May be NULL. */
    slw_code (*occupancy)(void *state, void *function, const slw_kernel_contract *kernel, const slw_launch_shape *shape,
                          uint64_t *most_blocks, uint64_t *most_clusters, slw_error *err);
    slw_code (*launch)(void *state, void *function, const slw_driver_launch *launch, slw_error *err);
    slw_code (*global)(void *state, void *module, const char *name, slw_device_address *address, uint64_t *size_bytes,
                       slw_error *err);
    void *(*native_module)(void *module);

    slw_code (*alloc)(void *state, uint64_t size_bytes, slw_device_address *out, slw_error *err);
    slw_code (*free)(void *state, slw_device_address address, slw_error *err);
    slw_code (*copy_in)(void *state, slw_device_address to, const void *from, uint64_t size_bytes, slw_error *err);
    slw_code (*copy_out)(void *state, void *to, slw_device_address from, uint64_t size_bytes, slw_error *err);
    slw_code (*stream_create)(void *state, slw_stream *out, slw_error *err);
    slw_code (*stream_destroy)(void *state, slw_stream stream, slw_error *err);
    slw_code (*synchronize)(void *state, const slw_stream *stream, slw_error *err);
    /* Waits to a deadline on the monotonic clock until a stream is idle; TIMEOUT. */
    slw_code (*wait_idle)(void *state, slw_stream stream, uint64_t deadline_ns, slw_error *err);
    /* The driver's own context, for slw_device_native_context. May be NULL: `state` stands for it. */
    void *(*native_context)(void *state);
    /* The driver's own function (a CUfunction), for slw_launchable_native_function. May be NULL: `function` stands for
       it. */
    void *(*native_function)(void *function);
    /* Whether what was loaded is still there: LOST where somebody took the context away. Asked when a module that is
       loaded already gets another owner. May be NULL: it is. */
    slw_code (*check)(void *state, slw_error *err);
} slw_driver_vtable;

SLW_END_DECLS
#endif
