/* The inside of the double of libamdhip64. Its declarations are its own. */
#ifndef HIP_DOUBLE_H
#define HIP_DOUBLE_H

#include "double_core.h"
#include "hip_facts.h"

enum { DHIP_MODULE = 1, DHIP_FUNCTION, DHIP_STREAM, DHIP_EVENT };

typedef struct dhip_device {
    double_queue queue; /* of the NULL stream */
    int dead;
    long launches;
} dhip_device;

typedef struct dhip_global {
    char *name;
    uint64_t address;
    uint64_t size;
} dhip_global;

typedef struct dhip_module {
    double_object object;
    int device;
    /* The image stays the caller's, and is looked at as long as the module lives. */
    const unsigned char *image;
    uint64_t image_size;
    uint64_t image_hash;
    struct dhip_function **functions;
    unsigned function_count;
    dhip_global *globals;
    unsigned global_count;
} dhip_module;

typedef struct dhip_function {
    double_object object;
    dhip_module *module;
    char *name;
    unsigned param_count; /* the caller's */
    uint32_t *param_sizes;
    uint32_t shared_bytes, local_bytes, most_threads, registers;
} dhip_function;

typedef struct dhip_stream {
    double_object object;
    int device;
    double_queue queue;
} dhip_stream;

typedef struct dhip_event {
    double_object object;
    int device;
    unsigned pending;
    int captured; /* its record is part of a graph */
} dhip_event;

typedef struct dhip_device_facts {
    const char *name;
    const char *arch;              /* with its features */
    unsigned mach, xnack, sramecc; /* as e_flags say them: 0 unsupported, 2 off, 3 on */
    int major, minor, multiprocessors, wavefront;
    uint64_t memory;
} dhip_device_facts;

#define DHIP_DEVICES 2
extern dhip_device dhip_devices[DHIP_DEVICES];
const dhip_device_facts *dhip_facts(int device); /* NULL: no such device */
int dhip_note(int code);                         /* keeps it as the thread's last error */
int dhip_current(void);
int dhip_healthy(int device);
void dhip_fault(void *device); /* &dhip_devices[i] */
int dhip_capture_forbids(void);
int dhip_captures_on(int device); /* 1: a stream of that device captures */

/* hip_image.c */
int dhip_image_take(const void *image, const dhip_device_facts *facts, uint64_t *whole, unsigned char **copy,
                    size_t *size);
int dhip_image_parse(dhip_module *module, const unsigned char *bytes, size_t size);
int dhip_image_of_file(const void *image); /* 0, or the code of an address that lies in a file's mapping */
uint64_t dhip_image_hash(const unsigned char *image, uint64_t size, int *readable);
dhip_function *dhip_function_new(dhip_module *module, const char *name, size_t length);
void dhip_module_drop(dhip_module *module);

#endif
