/* What devices give to lifecycle: modules by (image digest, device), counted, with failures remembered as values. */
#ifndef SLWI_MODULES_H
#define SLWI_MODULES_H

#include <slipway/sys/driver_impl.h>

#include "ref.h"

/* A module that is really loaded. Counted: slwi_retain / slwi_release; the last release retires it (it stays loaded,
   and is counted, until the device closes). Keeps its device alive. */
typedef struct slwi_module slwi_module;

slw_device *slwi_device_retain(slw_device *device); /* dropped with slw_device_close */
const slw_device_info *slwi_device_info(const slw_device *device);
/* OK, FORKED, LOST. One load each. */
slw_code slwi_device_check(const slw_device *device, slw_error *err);
slw_code slwi_device_wait_idle(slw_device *device, slw_stream stream, uint64_t deadline_ns, slw_error *err);

/* The module of this digest if it is loaded (retired ones too: revived) or its remembered failure; MISS when neither.
   Waits for a load in progress. */
slw_code slwi_module_find(slw_device *device, const slw_digest *sha256, slwi_module **out, slw_error *err);
/* Finds or loads: one loader, the others wait, nobody sees half. `owner` (counted, may be NULL) holds the contract and
   is retained as long as the module is loaded. */
slw_code slwi_module_load(slw_device *device, const slw_driver_image *image, slwi_ref *owner, slwi_module **out,
                          slw_error *err);
void slwi_device_forget_failure(slw_device *device, const slw_digest *sha256);
/* Drops the caller's reference; when it is the last one, the module is unloaded now instead of retired. *module becomes
 * NULL. */
void slwi_module_unload_or_release(slwi_module **module);

slw_device *slwi_module_device(const slwi_module *module);
const slw_contract *slwi_module_contract(const slwi_module *module);
slw_code slwi_module_function(slwi_module *module, const slw_kernel_contract *kernel, void **function,
                              slw_function_attributes *out, slw_error *err);
slw_code slwi_module_prepare(slwi_module *module, void *function, const slw_kernel_contract *kernel,
                             const slw_launch_shape *shape, slw_error *err);
/* How many blocks of the shape fit on the device at once, and how many clusters; UINT64_MAX where the driver has no
   answer. */
slw_code slwi_module_occupancy(slwi_module *module, void *function, const slw_kernel_contract *kernel,
                               const slw_launch_shape *shape, uint64_t *most_blocks, uint64_t *most_clusters,
                               slw_error *err);
/* Allocates nothing, locks nothing shared. Notices sticky errors and marks the device LOST. */
slw_code slwi_module_launch(slwi_module *module, void *function, const slw_driver_launch *launch, slw_error *err);
slw_code slwi_module_global(slwi_module *module, const char *name, slw_device_address *address, uint64_t *size_bytes,
                            slw_error *err);
void *slwi_module_native(const slwi_module *module);
void *slwi_module_native_function(const slwi_module *module, void *function);

#endif
