#ifndef SLWI_HIP_BACKEND_H
#define SLWI_HIP_BACKEND_H

#include <slipway/sys/backend_impl.h>

/* Reads code objects and bundles; compiling is not part of it yet. */
extern const slw_backend_vtable slwi_hip_backend;

#endif
