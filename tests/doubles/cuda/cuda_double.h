/* The inside of the double of libcuda. Its declarations are its own: not the tested library's, not a vendor's. */
#ifndef CUDA_DOUBLE_H
#define CUDA_DOUBLE_H

#include "cuda_facts.h"
#include "double_core.h"

/* ---- Objects ---- */

enum { DCU_CONTEXT = 1, DCU_MODULE, DCU_FUNCTION, DCU_STREAM, DCU_EVENT };

typedef struct dcu_context {
    double_object object;
    int device;
    int primary;
    int active; /* primary: retained */
    unsigned retained;
    unsigned forgiven; /* releases that a reset made pointless */
    uint64_t id;
    int dead; /* sticky code, 0: healthy */
    long launches;
    double_queue queue; /* of the NULL stream */
} dcu_context;

typedef struct dcu_module {
    double_object object;
    dcu_context *context;
    struct dcu_function **functions;
    unsigned function_count;
    struct dcu_global *globals;
    unsigned global_count;
} dcu_module;

typedef struct dcu_global {
    char *name;
    uint64_t address;
    uint64_t size;
} dcu_global;

typedef struct dcu_function {
    double_object object;
    dcu_module *module;
    char *name;
    int loaded;
    unsigned param_count;
    uint32_t *param_sizes;
    uint32_t *param_offsets;
    uint32_t registers;
    uint32_t local_bytes;
    uint32_t shared_bytes;        /* static */
    uint32_t most_threads[3];     /* .maxntid; 0: none */
    uint32_t required_threads[3]; /* .reqntid */
    uint32_t cluster[3];          /* compiled in; 0: none */
    int cluster_must_be_set;
    int grid_in_clusters;
    uint32_t fewer_threads; /* what the driver says beside the image; 0: nothing */
    uint32_t isa;           /* 90 */
    int dynamic_limit;      /* attribute 8 */
    int carveout;
    int non_portable;
} dcu_function;

typedef struct dcu_stream {
    double_object object;
    dcu_context *context;
    double_queue queue;
} dcu_stream;

typedef struct dcu_event {
    double_object object;
    dcu_context *context;
    unsigned pending;
    int recorded;
    int captured; /* its record is part of a graph */
    uint64_t time_ns;
} dcu_event;

typedef struct dcu_device_facts {
    const char *name;
    int major, minor;
    int multiprocessors;
    int optin_shared, shared_per_multiprocessor, reserved_shared;
    int threads_per_multiprocessor;
    int clusters;
    uint64_t memory;
} dcu_device_facts;
const dcu_device_facts *dcu_facts(int device); /* NULL: no such device */

/* ---- Contexts ---- */

/* The current context, healthy; 201 with a violation where there is none, 709, or its sticky code. */
int dcu_current(dcu_context **out);
int dcu_healthy(const dcu_context *context);
dcu_context *dcu_top(void);                   /* NULL: none */
void dcu_context_empty(dcu_context *context); /* everything in it is gone */
void dcu_context_fault(void *context);
int dcu_captures_in(const dcu_context *context); /* 1: a stream of this context captures */
int dcu_capture_forbids(void); /* 0 or 900: an unsafe call in a thread that was not told to be careful */

/* ---- Images (cuda_image.c) ---- */

/* 0 or the code: the size the image says of itself, proved readable; a copy of it. */
int dcu_image_take(const void *image, const dcu_device_facts *device, unsigned char **copy, size_t *size);
/* Adds the image's functions and globals to the module. */
int dcu_cubin_parse(dcu_module *module, const unsigned char *bytes, size_t size);
int dcu_cubin_runs_on(const unsigned char *bytes, size_t size, const dcu_device_facts *device);
/* With a NUL at its end. `log` gets what a compiler would say. */
int dcu_ptx_parse(dcu_module *module, const char *text, const dcu_device_facts *device, char *log, size_t log_size);
dcu_function *dcu_function_new(dcu_module *module, const char *name, size_t name_length);
int dcu_function_param(dcu_function *function, unsigned ordinal, uint32_t offset, uint32_t size);

void dcu_module_drop(dcu_module *module);
int dcu_limit_of_dynamic(const dcu_function *function); /* what attribute 8 may be raised to */
uint32_t dcu_most_threads(const dcu_function *function);

#endif
