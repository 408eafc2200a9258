#ifndef SLWI_CUDA_BACKEND_H
#define SLWI_CUDA_BACKEND_H

#include <slipway/sys/backend_impl.h>

/* Reads cubins, fatbins and PTX; compiles CUDA C with nvcc and PTX with ptxas. */
extern const slw_backend_vtable slwi_cuda_backend;

#endif
