/* The built-in backends. */
#include "backends.h"

#include <string.h>

#include "cuda_backend.h"
#include "hip_backend.h"
#include "host_backend.h"

static const slw_backend_vtable *const built_in[] = {&slwi_host_backend, &slwi_cuda_backend, &slwi_hip_backend, NULL};

const slw_backend_vtable *slwi_backend_find(const char *name) {
    if (name == NULL) return NULL;
    for (size_t i = 0; built_in[i] != NULL; i++) {
        if (strcmp(built_in[i]->name, name) == 0) return built_in[i];
    }
    return NULL;
}

const slw_backend_vtable *slwi_backend_recognise(slw_bytes binary) {
    for (size_t i = 0; built_in[i] != NULL; i++) {
        if (built_in[i]->recognises(binary)) return built_in[i];
    }
    return NULL;
}
