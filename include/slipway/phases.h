/* The four phases of a kernel, as four types.
 *
 *     Cached --hydrate--> Hydrated --device_load--> DeviceLoaded --make_launchable--> Launchable --launch--> (again)
 *
 * A transition takes `From **from` and `To **out`. On success *from is NULL and *out is set; on failure neither is
 * touched and the record says what and why. _discard never fails, accepts a pointer to NULL and sets it to NULL. _share
 * makes another owner of the same bytes, module or function.
 *
 * Threads: one thread at a time per handle; launchables may be launched by many at once, each discarded by one, outside
 * every launch with it. Objects hold their allocator by value and their parents by reference: close in any order. */
#ifndef SLIPWAY_PHASES_H
#define SLIPWAY_PHASES_H

#include <slipway/contract.h>
#include <slipway/device.h>
#include <slipway/store.h>

SLW_BEGIN_DECLS

typedef struct SLW_PHASE("cached kernel") slw_cached slw_cached;
typedef struct SLW_PHASE("hydrated kernel") slw_hydrated slw_hydrated;
typedef struct SLW_PHASE("device-loaded kernel") slw_device_loaded slw_device_loaded;
typedef struct SLW_PHASE("launchable kernel") slw_launchable slw_launchable;

/* ---- Cached: a validated entry, or a usable private build -------------------------------------------------------- */

/* Looks an entry up; writes nothing, takes no lock. OK: a hit. MISS; INVALID_ENTRY (reason, subject); STORAGE; USAGE:
   key and store of different domains; LIMIT; NO_MEMORY. Cost: FULL reads and hashes every byte of the entry. */
SLW_API SLW_MUST_CHECK slw_code slw_store_lookup(slw_store *store, const slw_key *key, const slw_spec *spec,
                                                 slw_cached **out, slw_error *err) SLW_MAKES(*out);

/* Looks up, else builds and publishes, once for all threads and processes that ask. OK: HIT, PUBLISHED or PRIVATE, as
   the report (may be NULL) says. Otherwise a code of the builder, RECURSIVE, INVALID_SOURCE (a required output is
   missing or a payload unsafe), STORAGE with NO_PRIVATE_ROOT, TIMEOUT, CANCELLED, USAGE, NO_MEMORY. */
SLW_API SLW_MUST_CHECK slw_code slw_store_get_or_build(slw_store *store, const slw_key *key, const slw_spec *spec,
                                                       const slw_builder *builder, slw_build_report *report,
                                                       slw_cached **out, slw_error *err) SLW_MAKES(*out);

SLW_API const slw_key *slw_cached_key(const slw_cached *cached)
    SLW_NEEDS(cached); /* NULL: a build with no usable identity */
SLW_API const slw_spec *slw_cached_spec(const slw_cached *cached) SLW_NEEDS(cached);
SLW_API uint64_t slw_cached_size_bytes(const slw_cached *cached) SLW_NEEDS(cached); /* of the payload */
SLW_API int slw_cached_is_private(const slw_cached *cached) SLW_NEEDS(cached);
/* Where it lies; information, not a lease. */
SLW_API const char *slw_cached_directory(const slw_cached *cached) SLW_NEEDS(cached);

/* One payload file of the inventory. `path` is raw bytes, NUL-terminated. */
typedef struct slw_file {
    slw_bytes path;
    uint64_t size_bytes;
    slw_digest sha256;
    int executable;
} slw_file;
SLW_API size_t slw_cached_file_count(const slw_cached *cached) SLW_NEEDS(cached);
/* Sorted by code point; returns 0 past the end. `out` borrows from the handle. */
SLW_API int slw_cached_file(const slw_cached *cached, size_t index, slw_file *out) SLW_NEEDS(cached);

/* Copies the payload (not the manifest) as fresh files, 0600 or 0700, into `destination`, which is absent or empty and
   lies outside the root (USAGE otherwise); verifies the copy. The handle stays as it was. On failure a partial tree is
   the caller's. INVALID_ENTRY, GONE, STORAGE. */
SLW_API SLW_MUST_CHECK slw_code slw_cached_materialize(const slw_cached *cached, const char *destination,
                                                       slw_error *err) SLW_NEEDS(cached);
SLW_API void slw_cached_discard(slw_cached **cached) SLW_ENDS(*cached);

/* ---- Hydrated: launch contract and payloads, no open descriptor, no driver ------------------------------------- */

#define SLW_HYDRATE_LAZY  0 /* the launch binary is read at the first use (slw_device_load) */
#define SLW_HYDRATE_EAGER 1 /* the launch binary is read and verified now */

typedef struct slw_hydrate_options {
    uint32_t size;
    int launch_binary;    /* SLW_HYDRATE_… */
    const char *backend;  /* how to read it when there is no slipway.json; NULL: by content */
    slw_metrics *metrics; /* NULL: the one of the store */
    const char *target; /* the device's, which chooses among several images (a fatbin, a bundle); NULL: the only one */
    slw_bytes metadata; /* slw_hydrate_binary: what stands beside the binary (Triton's X.json); size 0: none */
} slw_hydrate_options;
#define SLW_HYDRATE_OPTIONS_INIT                                                                                       \
    { sizeof(slw_hydrate_options), SLW_HYDRATE_LAZY, NULL, NULL, NULL, {NULL, 0} }

/* Reads the launch contract from slipway.json, or from the binary where there is none or another reader revision wrote
   it. `options` may be NULL. INVALID_ENTRY, GONE (ask the store again, once), INVALID_BINARY, INVALID_METADATA,
   CONTRACT_MISMATCH, UNSUPPORTED_INPUT, STORAGE, NO_MEMORY. Cost: one small file; EAGER: the binary too. */
SLW_API SLW_MUST_CHECK slw_code slw_hydrate(slw_cached **from, const slw_hydrate_options *options, slw_hydrated **out,
                                            slw_error *err) SLW_CONSUMES(*from) SLW_MAKES(*out);
/* A binary given directly, with no store: copied, read as EAGER does. `name` is what errors call it. With metadata the
   two must agree, as slw_contract_read says. */
SLW_API SLW_MUST_CHECK slw_code slw_hydrate_binary(slw_bytes binary, const char *name, const slw_allocator *allocator,
                                                   const slw_hydrate_options *options, slw_hydrated **out,
                                                   slw_error *err) SLW_MAKES(*out);
SLW_API SLW_MUST_CHECK slw_code slw_hydrated_share(const slw_hydrated *hydrated, slw_hydrated **out, slw_error *err)
    SLW_NEEDS(hydrated) SLW_MAKES(*out);
SLW_API const slw_contract *slw_hydrated_contract(const slw_hydrated *hydrated) SLW_NEEDS(hydrated);
/* The bytes of a payload, read once into private memory, hashed there and made read-only; `out` lives as long as the
   handle and its shares. First use reads; later ones are free. Threads: shares may ask for the same payload at once.
   MISS: no such payload. INVALID_ENTRY: other bytes stand there now. GONE. STORAGE. */
SLW_API SLW_MUST_CHECK slw_code slw_hydrated_payload(slw_hydrated *hydrated, const char *name, slw_bytes *out,
                                                     slw_error *err) SLW_NEEDS(hydrated);
/* Forgets a remembered load failure of this image on this device, so that it is tried again. */
SLW_API void slw_hydrated_forget_failure(slw_hydrated *hydrated, slw_device *device) SLW_NEEDS(hydrated);
/* Heap kept by this kernel beside its payloads, in bytes. */
SLW_API size_t slw_hydrated_overhead_bytes(const slw_hydrated *hydrated) SLW_NEEDS(hydrated);
SLW_API void slw_hydrated_discard(slw_hydrated **hydrated) SLW_ENDS(*hydrated);

/* ---- DeviceLoaded: a reference to the driver's module ---------------------------------------------------------- */

/* Loads the launch binary: preflight first (TARGET_MISMATCH, OUT_OF_RESOURCES), then the driver, really. A failure that
   is the image's fault is remembered by the device and refused at once the next time. Another thread's load of the same
   image is waited for as slw_device_options says: TIMEOUT, CANCELLED. */
SLW_API SLW_MUST_CHECK slw_code slw_device_load(slw_hydrated **from, slw_device *device, slw_device_loaded **out,
                                                slw_error *err) SLW_CONSUMES(*from) SLW_MAKES(*out);
SLW_API SLW_MUST_CHECK slw_code slw_device_loaded_share(const slw_device_loaded *loaded, slw_device_loaded **out,
                                                        slw_error *err) SLW_NEEDS(loaded) SLW_MAKES(*out);
SLW_API const slw_contract *slw_device_loaded_contract(const slw_device_loaded *loaded) SLW_NEEDS(loaded);
/* What the driver measured of a kernel; entry NULL = the only one. MISS: no such kernel. */
typedef struct slw_function_attributes {
    uint32_t size;
    uint32_t registers;
    uint32_t local_bytes;
    uint32_t static_shared_bytes;
    uint32_t max_threads;
} slw_function_attributes;
#define SLW_FUNCTION_ATTRIBUTES_INIT                                                                                   \
    { sizeof(slw_function_attributes), 0, 0, 0, 0 }
SLW_API SLW_MUST_CHECK slw_code slw_device_loaded_attributes(const slw_device_loaded *loaded, const char *entry,
                                                             slw_function_attributes *out, slw_error *err)
    SLW_NEEDS(loaded);
/* Address and size of a global of the module; size 0 where the driver does not know it. MISS: no such global. */
SLW_API SLW_MUST_CHECK slw_code slw_device_loaded_global(const slw_device_loaded *loaded, const char *name,
                                                         slw_device_address *out_address, uint64_t *out_size_bytes,
                                                         slw_error *err) SLW_NEEDS(loaded);
SLW_API void *slw_device_loaded_native_module(const slw_device_loaded *loaded) SLW_NEEDS(loaded);
SLW_API void slw_device_loaded_discard(slw_device_loaded **loaded) SLW_ENDS(*loaded);

/* ---- Launchable: the function, the argument layout, a checked shape -------------------------------------------- */

#define SLW_LAUNCH_PROGRAMMATIC         1u /* may begin before the work ahead of it ends */
#define SLW_LAUNCH_NON_PORTABLE_CLUSTER 2u /* a cluster of more blocks than every device of the kind takes (8) */

typedef struct slw_launch_shape {
    uint32_t size;
    const char *entry;     /* NULL: the only kernel */
    uint32_t block[3];     /* threads; all 0: what the contract requires */
    uint32_t shared_bytes; /* dynamic; static comes from the contract */
    uint32_t cluster[3];   /* all 0: none, or the contract's */
    uint32_t cooperative;
    uint32_t flags; /* SLW_LAUNCH_… */
} slw_launch_shape;
#define SLW_LAUNCH_SHAPE_INIT                                                                                          \
    { sizeof(slw_launch_shape), NULL, {0, 0, 0}, 0, {0, 0, 0}, 0, 0 }

typedef struct slw_grid {
    uint32_t size;
    uint32_t extent[3]; /* in the contract's grid unit; a zero is INVALID_LAUNCH */
    slw_device_address global_scratch;
    uint64_t global_scratch_bytes;
    slw_device_address profile_scratch;
    uint64_t profile_scratch_bytes;
} slw_grid;
#define SLW_GRID_INIT                                                                                                  \
    { sizeof(slw_grid), {0, 0, 0}, 0, 0, 0, 0 }

/* The caller's parameters, in order, without scratch and hidden ones. `values[i]` points to the value. */
typedef struct slw_args {
    uint32_t size;
    uint32_t count;
    void *const *values;
    const uint32_t *sizes_bytes; /* NULL: not compared */
} slw_args;
#define SLW_ARGS_INIT                                                                                                  \
    { sizeof(slw_args), 0, NULL, NULL }

/* Checks the shape against contract and device and gets the function. OUT_OF_RESOURCES (resource, required, limit,
   unit, kernel, device) over a limit; INVALID_LAUNCH for a zero, a block other than required, a bad cluster; MISS
   (reason NO_KERNEL): no such entry, the names there are in `tried`. */
SLW_API SLW_MUST_CHECK slw_code slw_make_launchable(slw_device_loaded **from, const slw_launch_shape *shape,
                                                    slw_launchable **out, slw_error *err) SLW_CONSUMES(*from)
    SLW_MAKES(*out);
SLW_API SLW_MUST_CHECK slw_code slw_launchable_share(const slw_launchable *launchable, slw_launchable **out,
                                                     slw_error *err) SLW_NEEDS(launchable) SLW_MAKES(*out);
/* Launches. Allocates nothing, takes no shared lock. The grid is checked in 64 bit, the argument count at every launch.
   `args` may be NULL for none. OUT_OF_RESOURCES, INVALID_LAUNCH, FORKED, LOST, DRIVER; host: USAGE from inside a
   kernel. */
SLW_API SLW_MUST_CHECK slw_code slw_launch(const slw_launchable *launchable, const slw_grid *grid, slw_stream stream,
                                           const slw_args *args, slw_error *err) SLW_NEEDS(launchable);
SLW_API const slw_kernel_contract *slw_launchable_kernel(const slw_launchable *launchable) SLW_NEEDS(launchable);
SLW_API void *slw_launchable_native_function(const slw_launchable *launchable) SLW_NEEDS(launchable);
/* Instead of discard, when the module is to be unloaded now: waits until the streams named are idle (TIMEOUT:
   untouched), then the last owner unloads. timeout_ns 0: 10 s. */
SLW_API SLW_MUST_CHECK slw_code slw_launchable_retire(slw_launchable **from, const slw_stream *streams, size_t count,
                                                      uint64_t timeout_ns, slw_error *err) SLW_CONSUMES(*from);
SLW_API void slw_launchable_discard(slw_launchable **launchable) SLW_ENDS(*launchable);

SLW_END_DECLS

#include <slipway/phases_guard.h>
#endif
