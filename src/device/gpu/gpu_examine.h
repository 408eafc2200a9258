/* Whether a vendor's device is there, without asking the vendor: what every driver says in the same way. */
#ifndef SLWI_GPU_EXAMINE_H
#define SLWI_GPU_EXAMINE_H

#include "gpu_library.h"

/* Who is asked about. */
typedef struct slwi_gpu_vendor {
    const char *name;       /* "CUDA", for messages */
    const char *initialise; /* "cuInit": the anchor of the library too */
    slw_code (*open)(const char *named, const slw_library_loader *loader, slwi_gpu_library *out, slw_error *err);
    const char *(*result_name)(int result);
    slw_code (*classify)(int result, const char **reason);
    /* The rest, where the library loads and nobody has initialised it: from files. */
    void (*look)(const slwi_gpu_library *library, int named, slw_driver_status *out);
} slwi_gpu_vendor;

void slwi_gpu_say(slw_driver_status *out, slw_presence presence, slw_code code, const char *why);
void slwi_gpu_examine(const slwi_gpu_vendor *vendor, const char *named, slw_driver_status *out);

#endif
