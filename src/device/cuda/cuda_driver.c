/* The CUDA driver's vtable. */
#include "cuda_driver.h"
#include "drivers.h"

const slw_driver_vtable slwi_cuda_driver = {
    .size = sizeof(slw_driver_vtable),
    .abi = SLW_DRIVER_ABI,
    .kind = "cuda",
    .examine = slwi_cuda_examine,
    .open = slwi_cuda_open,
    .close = slwi_cuda_close,
    .load = slwi_cuda_load,
    .unload = slwi_cuda_unload,
    .function = slwi_cuda_find,
    .prepare = slwi_cuda_prepare,
    .occupancy = slwi_cuda_occupancy,
    .launch = slwi_cuda_launch,
    .global = slwi_cuda_global,
    .native_module = slwi_cuda_native_module,
    .alloc = slwi_cuda_alloc,
    .free = slwi_cuda_free,
    .copy_in = slwi_cuda_copy_in,
    .copy_out = slwi_cuda_copy_out,
    .stream_create = slwi_cuda_stream_create,
    .stream_destroy = slwi_cuda_stream_destroy,
    .synchronize = slwi_cuda_synchronize,
    .wait_idle = slwi_cuda_wait_idle,
    .native_context = slwi_cuda_native_context,
    .native_function = slwi_cuda_native_function,
    .check = slwi_cuda_check,
};
