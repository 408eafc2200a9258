/* The drivers that are built in. */
#ifndef SLWI_DRIVERS_H
#define SLWI_DRIVERS_H

#include <slipway/sys/driver_impl.h>

extern const slw_driver_vtable slwi_host_driver;
extern const slw_driver_vtable slwi_cuda_driver;
extern const slw_driver_vtable slwi_hip_driver;

/* The vtable of a kind. UNSUPPORTED: this version has no driver of that kind. */
slw_code slwi_driver_find(const char *kind, const slw_driver_vtable **out, slw_error *err);
/* USAGE (reason BAD_DRIVER) for a vtable of another size or ABI, or one with a hole. */
slw_code slwi_driver_check(const slw_driver_vtable *driver, slw_error *err);

#endif
