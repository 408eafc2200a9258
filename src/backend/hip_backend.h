#ifndef SLWI_HIP_BACKEND_H
#define SLWI_HIP_BACKEND_H

#include <slipway/sys/backend_impl.h>

/* Compiles HIP, OpenCL C and LLVM IR with clang; reads code objects and bundles. */
extern const slw_backend_vtable slwi_hip_backend;

#endif
