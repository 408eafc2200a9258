#ifndef SLWI_HOST_BACKEND_H
#define SLWI_HOST_BACKEND_H

#include <slipway/sys/backend_impl.h>

extern const slw_backend_vtable slwi_host_backend;

#endif
