#include "gpu_kernel.h"

#include <string.h>

#include "fail.h"

uint32_t slwi_gpu_find_kernel(const slw_contract *contract, const char *name) {
    uint32_t low = 0, high = contract->kernel_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2u;
        const int order = strcmp(contract->kernels[middle].name, name);
        if (order == 0) return middle;
        if (order < 0) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return contract->kernel_count;
}

slw_code slwi_gpu_no_kernel(const char *name, slw_error *err) {
    slwi_error_kernel(err, name, NULL);
    slwi_error_subject(err, name, strlen(name));
    return slwi_fail(err, SLW_E_MISS, "NO_KERNEL", "the module has no kernel \"%.128s\"", name);
}

slw_code slwi_gpu_check_shared(const char *kernel, const char *device, uint64_t needed_bytes, uint32_t limit_bytes,
                               slw_error *err) {
    if (needed_bytes <= limit_bytes) return SLW_OK;
    slwi_error_amount(err, "shared memory", needed_bytes, limit_bytes, "bytes");
    slwi_error_kernel(err, kernel, device);
    return slwi_fail(err, SLW_E_OUT_OF_RESOURCES, NULL, "%.128s needs %llu bytes of shared memory; %.64s has %u",
                     kernel, (unsigned long long)needed_bytes, device, limit_bytes);
}
