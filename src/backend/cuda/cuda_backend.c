/* The cuda backend as a vtable: the readers. */
#include "cuda_backend.h"

#include "backends.h"
#include "cubin_read.h"
#include "no_compiler.h"
#include "fatbin_read.h"
#include "ptx_read.h"

#define LAUNCH_BINARY "kernel.cubin"

static int recognises(slw_bytes binary) {
    return slwi_cubin_recognises(binary) || slwi_fatbin_recognises(binary) || slwi_ptx_recognises(binary);
}

/* A cubin and a PTX module are one image each: whether the device runs it is not the reader's to judge. */
static slw_code read_contract(const slw_allocator *allocator, slw_bytes binary, const char *name, const char *target,
                              slw_contract **out, slw_error *err) {
    if (slwi_fatbin_recognises(binary)) return slwi_fatbin_contract(allocator, binary, name, target, out, err);
    if (slwi_ptx_recognises(binary)) return slwi_ptx_read_contract(allocator, binary, "cuda", name, out, err);
    return slwi_cubin_contract(allocator, binary, name, out, err);
}

const slw_backend_vtable slwi_cuda_backend = {
    .size = sizeof(slw_backend_vtable),
    .abi = SLW_BACKEND_ABI,
    .name = "cuda",
    .reader_revision = SLWI_CUDA_READER_REVISION,
    .launch_binary = LAUNCH_BINARY,
    SLWI_NO_COMPILER,
    .recognises = recognises,
    .read_contract = read_contract,
    .release_contract = slwi_contract_free,
};
