/* The hip backend as a vtable: the readers. */
#include "hip_backend.h"

#include "amdgcn_read.h"
#include "backends.h"
#include "bundle_read.h"
#include "no_compiler.h"

#define LAUNCH_BINARY "kernel.hsaco"

static int recognises(slw_bytes binary) {
    return slwi_amdgcn_recognises(binary) || slwi_bundle_recognises(binary);
}

/* A code object is one image: whether the device runs it is not the reader's to judge. */
static slw_code read_contract(const slw_allocator *allocator, slw_bytes binary, const char *name, const char *target,
                              slw_contract **out, slw_error *err) {
    if (slwi_bundle_recognises(binary)) return slwi_bundle_contract(allocator, binary, name, target, out, err);
    return slwi_amdgcn_contract(allocator, binary, name, out, err);
}

const slw_backend_vtable slwi_hip_backend = {
    .size = sizeof(slw_backend_vtable),
    .abi = SLW_BACKEND_ABI,
    .name = "hip",
    .reader_revision = SLWI_HIP_READER_REVISION,
    .launch_binary = LAUNCH_BINARY,
    SLWI_NO_COMPILER,
    .recognises = recognises,
    .read_contract = read_contract,
    .release_contract = slwi_contract_free,
};
