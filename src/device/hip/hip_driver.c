/* The HIP driver's vtable. */
#include "hip_driver.h"
#include "drivers.h"

const slw_driver_vtable slwi_hip_driver = {
    .size = sizeof(slw_driver_vtable),
    .abi = SLW_DRIVER_ABI,
    .kind = "hip",
    .examine = slwi_hip_examine,
    .open = slwi_hip_open,
    .close = slwi_hip_close,
    .load = slwi_hip_load,
    .unload = slwi_hip_unload,
    .function = slwi_hip_find,
    .prepare = slwi_hip_prepare,
    .occupancy = slwi_hip_occupancy,
    .launch = slwi_hip_launch,
    .global = slwi_hip_global,
    .native_module = slwi_hip_module_handle,
    .alloc = slwi_hip_alloc,
    .free = slwi_hip_free,
    .copy_in = slwi_hip_copy_in,
    .copy_out = slwi_hip_copy_out,
    .stream_create = slwi_hip_stream_create,
    .stream_destroy = slwi_hip_stream_destroy,
    .synchronize = slwi_hip_synchronize,
    .wait_idle = slwi_hip_wait_idle,
    .native_function = slwi_hip_function_handle,
};
