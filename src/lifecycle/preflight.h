/* What does not fit is refused before any driver call. Pure functions of a contract, a device's figures and a
 * shape.
 *
 * OUT_OF_RESOURCES with resource, required, limit, unit, kernel and device: over a limit. INVALID_LAUNCH: a zero, a
 * block other than required, a bad cluster, a scratch buffer that is missing or too small. */
#ifndef SLWI_PREFLIGHT_H
#define SLWI_PREFLIGHT_H

#include "phase.h"

/* Was it built for this device? TARGET_MISMATCH with what was built (subject), the reason as target.h lists them, and
   what the device runs (in the message). */
slw_code slwi_preflight_target(const slw_contract *contract, const slw_device_info *info, slw_error *err);

/* The least a kernel asks for in any shape: its required block or one warp, its static and required dynamic memory, the
   cluster the binary fixes (of the sizes that have to be asked for too: a shape may). */
slw_code slwi_preflight_least(const slw_kernel_contract *kernel, const slw_device_info *info, slw_error *err);

/* Before a load: the target, and that at least one kernel could be launched in some shape. */
slw_code slwi_preflight_load(const slw_contract *contract, const slw_device_info *info, slw_error *err);

/* Fills in what the caller left open, from the contract. INVALID_LAUNCH where that is not possible. */
slw_code slwi_preflight_resolve(const slw_kernel_contract *kernel, const slw_launch_shape *shape, slwi_shape *out,
                                slw_error *err);
slw_code slwi_preflight_shape(const slw_kernel_contract *kernel, const slw_device_info *info, const slwi_shape *shape,
                              slw_error *err);
/* The same with what the driver measured of the loaded function (pitfall 26: only what does not fit is refused). */
slw_code slwi_preflight_measured(const slw_kernel_contract *kernel, const slw_function_attributes *attributes,
                                 const slw_device_info *info, const slwi_shape *shape, slw_error *err);

/* 1 when the driver measured other registers, local or static shared bytes than the contract says (0: not known). */
int slwi_preflight_differs(const slw_kernel_contract *kernel, const slw_function_attributes *attributes);

/* The grid in blocks, converted from the contract's unit and checked in 64 bit. */
slw_code slwi_preflight_grid(const slw_kernel_contract *kernel, const slw_device_info *info, const slwi_shape *shape,
                             const uint32_t extent[3], uint32_t blocks[3], slw_error *err);
/* The scratch buffers of the grid against what the contract wants for so many blocks. */
slw_code slwi_preflight_scratch(const slw_kernel_contract *kernel, const slw_device_info *info,
                                const uint32_t blocks[3], const slw_grid *grid, slw_error *err);

#endif
