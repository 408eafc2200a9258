/* Devices: the run side.  A driver is found and loaded at run time; a device is one of its devices in one context, with
 * a reference-counted table of the modules loaded there.  host is a real driver: kernels are C functions called once a
 * block by a pool of threads.
 *
 * Threads: a device may be shared by all. After a fork the child's calls give SLW_E_FORKED and unload nothing. */
#ifndef SLIPWAY_DEVICE_H
#define SLIPWAY_DEVICE_H

#include <slipway/contract.h>

SLW_BEGIN_DECLS

typedef struct slw_device slw_device;

/* How a driver library is found and asked for symbols, for those who have their own way (a test's double, a process
   that has loaded it already). All three are called while a device is opened or examined; `context` is passed on. */
typedef struct slw_library_loader {
    uint32_t size;
    void *context;
    /* A handle for the library of that name or path; NULL with `why` (NUL-terminated) filled. */
    void *(*open)(void *context, const char *name, char *why, size_t why_size);
    /* The address of a symbol, NULL where there is none. */
    void *(*symbol)(void *context, void *library, const char *name);
    /* The file a loaded address lies in, for error messages; 0 where that is not known. May be NULL. */
    int (*path)(void *context, const void *address, char *out, size_t out_size);
} slw_library_loader;

typedef struct slw_device_options {
    uint32_t size;
    slw_allocator allocator;
    const char *kind;           /* "host", "cuda", "hip"; NULL = "host" */
    uint32_t ordinal;           /* 0 for host */
    const char *driver_library; /* NULL: the system's; USAGE for host */
    uint32_t pool_threads;      /* host: threads beside the caller's; 0: processors - 1, at most 63. UINT32_MAX: none */
    const struct slw_driver_vtable *driver; /* <slipway/sys/driver_impl.h>; NULL: the built-in of that kind */
    void *driver_context;                   /* for `driver` */
    uint64_t
        load_timeout_ns; /* for waiting until another thread has loaded or unloaded the same image; 0: 15 minutes */
    slw_cancel *cancel;  /* for the same wait; NULL: none. It must outlive the device */
    const slw_library_loader *loader; /* cuda, hip: NULL: the system's dynamic loader. It must outlive the device */
    void *native_context; /* cuda: a CUcontext of the caller's, used and never released; NULL: the primary one */
    uint32_t allow_ptx;   /* cuda: 1: PTX may be loaded, which the driver compiles then and there; 0: TARGET_MISMATCH */
} slw_device_options;
#define SLW_DEVICE_OPTIONS_INIT                                                                                        \
    { sizeof(slw_device_options), SLW_ALLOCATOR_INIT, NULL, 0, NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, 0 }

/* What a device is and allows; limits come from the driver. */
typedef struct slw_device_info {
    uint32_t size;
    char kind[16];
    char name[64];        /* "host:0", "cuda:0 NVIDIA H200" */
    char target[64];      /* what it runs: "x86_64-linux-gnu", "sm_90" */
    uint32_t max_threads; /* per block */
    uint32_t max_block[3];
    uint32_t max_grid[3];      /* blocks */
    uint32_t max_shared_bytes; /* per block, static + dynamic, without opting in */
    uint32_t max_optin_shared_bytes;
    uint32_t reserved_shared_bytes; /* per block, taken by the system */
    uint32_t registers_per_block;   /* 0: does not apply */
    uint32_t registers_per_multiprocessor;
    uint32_t warp_threads;     /* 1 for host */
    uint32_t multiprocessors;  /* host: threads that run blocks */
    uint32_t max_cluster_rank; /* 1: no clusters */
    uint32_t cooperative;      /* 1: able */
    uint32_t tensor_memory_columns;
    uint32_t ptx_isa_version; /* the newest PTX its driver compiles, major × 10 + minor; 0: not known or none */
    uint64_t memory_bytes;    /* 0: not known */
} slw_device_info;
#define SLW_DEVICE_INFO_INIT                                                                                           \
    { sizeof(slw_device_info), "", "", "", 0, {0, 0, 0}, {0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Opens a device. Failure: `out` untouched. UNSUPPORTED: this build has no such driver. UNAVAILABLE, STUB, NO_DEVICE:
   as their names say, `tried` lists the paths. The host pool's threads start at the first launch, not here. */
SLW_API SLW_MUST_CHECK slw_code slw_device_open(const slw_device_options *options, slw_device **out, slw_error *err);
/* Drops the caller's reference. The last one unloads retired modules, joins the pool and closes the context; modules
   and launchables keep their device alive, so closing in any order is safe. Accepts a pointer to NULL. */
SLW_API void slw_device_close(slw_device **device);
SLW_API SLW_MUST_CHECK slw_code slw_device_describe(const slw_device *device, slw_device_info *out, slw_error *err);
/* The driver's own context: a CUcontext on cuda; on host an opaque address that is this device's alone. Valid as long
   as the handle; NULL for what is no device. Threads: any. */
SLW_API void *slw_device_native_context(const slw_device *device);

/* Modules loaded now, and those retired (discarded, and kept until the device closes). */
typedef struct slw_device_counts {
    uint32_t size;
    uint64_t modules_loaded;
    uint64_t modules_retired;
    uint64_t loads;   /* ever */
    uint64_t unloads; /* ever */
    uint64_t failures_remembered;
} slw_device_counts;
#define SLW_DEVICE_COUNTS_INIT                                                                                         \
    { sizeof(slw_device_counts), 0, 0, 0, 0, 0 }
SLW_API SLW_MUST_CHECK slw_code slw_device_get_counts(const slw_device *device, slw_device_counts *out, slw_error *err);

/* Memory of the device, as an address. host = the C library's. Size 0 is USAGE. */
typedef uint64_t slw_device_address;
SLW_API SLW_MUST_CHECK slw_code slw_device_alloc(slw_device *device, uint64_t size_bytes, slw_device_address *out,
                                                 slw_error *err);
SLW_API SLW_MUST_CHECK slw_code slw_device_free(slw_device *device, slw_device_address *address,
                                                slw_error *err); /* zeroes it */
SLW_API SLW_MUST_CHECK slw_code slw_device_copy_in(slw_device *device, slw_device_address to, const void *from,
                                                   uint64_t size_bytes, slw_error *err);
SLW_API SLW_MUST_CHECK slw_code slw_device_copy_out(slw_device *device, void *to, slw_device_address from,
                                                    uint64_t size_bytes, slw_error *err);

/* A stream: the driver's own handle by value, 0 the default stream. Host launches are complete when they return; its
   streams exist so that one program serves every driver. */
typedef struct slw_stream {
    void *native;
} slw_stream;
#define SLW_STREAM_DEFAULT                                                                                             \
    { NULL }
SLW_API SLW_MUST_CHECK slw_code slw_device_stream_create(slw_device *device, slw_stream *out, slw_error *err);
SLW_API SLW_MUST_CHECK slw_code slw_device_stream_destroy(slw_device *device, slw_stream *stream, slw_error *err);
/* Waits for everything on the stream (or, for NULL, on the device). */
SLW_API SLW_MUST_CHECK slw_code slw_device_synchronize(slw_device *device, const slw_stream *stream, slw_error *err);

/* Is a driver there? Never initialises one. */
typedef enum slw_presence { SLW_PRESENCE_NO = 0, SLW_PRESENCE_MAYBE = 1, SLW_PRESENCE_YES = 2 } slw_presence;
typedef struct slw_driver_status {
    uint32_t size;
    slw_presence presence;
    slw_code code; /* what opening would give as far as can be known without doing it */
    char kind[16];
    char path[512]; /* the library, where one is named or found */
    char why[256];
} slw_driver_status;
#define SLW_DRIVER_STATUS_INIT                                                                                         \
    { sizeof(slw_driver_status), SLW_PRESENCE_NO, 0, "", "", "" }
/* kinds by index from 0: host, cuda, hip; returns 0 past the end. */
SLW_API int slw_driver_examine(size_t index, slw_driver_status *out);
/* The same for a kind by its name, with that library in place of the system's (NULL: the system's; of host it is looked
   away from). Returns 0, with *out untouched, for a kind that there is not. */
SLW_API int slw_driver_examine_library(const char *kind, const char *library, slw_driver_status *out);

SLW_END_DECLS
#endif
