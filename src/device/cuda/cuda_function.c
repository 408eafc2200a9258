/* Functions: found and really loaded at first use, measured, and made ready for a shape.
 *
 * Drivers load lazily: a kernel's code would come with its first launch, which then may wait for the whole context, and
 * so for ever where a kernel already waits for this one (device.md A.5, G 17).  So it is loaded when it is found. */
#include <string.h>

#include "cuda_driver.h"
#include "fail.h"
#include "gpu_kernel.h"

#define PORTABLE_CLUSTER 8u

/* ---- The first use ----------------------------------------------------------------------------------------------- */

static slw_code measure_one(const slwi_cuda_state *cuda, slwi_cu_function *native, int attribute, const char *kernel,
                            uint32_t *out, slw_error *err) {
    int value = 0;
    const slwi_cu_result result = cuda->api.cuFuncGetAttribute(&value, attribute, native);
    if (result != SLWI_CU_SUCCESS) return slwi_cuda_fail(cuda, result, kernel, "asking a kernel for its figures", err);
    *out = value < 0 ? 0 : (uint32_t)value;
    return SLW_OK;
}

/* Asking for the figures is also what loads the code where the driver has no call for that. */
static slw_code measure(const slwi_cuda_state *cuda, slwi_cu_function *native, slwi_cuda_function *out,
                        slw_error *err) {
    const char *const name = out->kernel->name;
    slw_code code = measure_one(cuda, native, SLWI_CU_FUNC_NUM_REGS, name, &out->registers, err);
    if (code == SLW_OK) code = measure_one(cuda, native, SLWI_CU_FUNC_LOCAL_SIZE_BYTES, name, &out->local_bytes, err);
    if (code == SLW_OK) {
        code = measure_one(cuda, native, SLWI_CU_FUNC_SHARED_SIZE_BYTES, name, &out->static_shared_bytes, err);
    }
    if (code == SLW_OK) {
        code = measure_one(cuda, native, SLWI_CU_FUNC_MAX_THREADS_PER_BLOCK, name, &out->max_threads, err);
    }
    return code;
}

static slw_code other_layout(const slwi_cuda_state *cuda, const slw_kernel_contract *kernel, const char *field,
                             uint32_t index, unsigned long long says, slw_error *err) {
    slwi_error_subject(err, field, strlen(field));
    slwi_error_kernel(err, kernel->name, cuda->name);
    slwi_error_path(err, cuda->library);
    return slwi_fail(err, SLW_E_CONTRACT_MISMATCH, "PARAMETERS", "%.128s: the driver says %llu for %s of parameter %u",
                     kernel->name, says, field, index);
}

/* The driver reads as many pointers as the binary says, whatever we pass: where it can be asked, it is. Offsets are
   compared for machine code only, since a compiler in the driver lays the parameters out for its own target. */
static slw_code check_parameters(const slwi_cuda_state *cuda, slwi_cu_function *native, slwi_cuda_form form,
                                 const slw_kernel_contract *kernel, slw_error *err) {
    if (!slwi_cuda_can(cuda, SLWI_CUDA_CAN(cuFuncGetParamInfo))) return SLW_OK;
    for (uint32_t i = 0; i <= kernel->param_count; i++) {
        size_t offset = 0, size = 0;
        const slwi_cu_result result = cuda->api.cuFuncGetParamInfo(native, i, &offset, &size);
        const int is_past_end = i == kernel->param_count;
        if (result == SLWI_CU_INVALID_VALUE) {
            return is_past_end ? SLW_OK : other_layout(cuda, kernel, "the number", i, i, err);
        }
        if (result != SLWI_CU_SUCCESS) {
            return slwi_cuda_fail(cuda, result, kernel->name, "asking a kernel for its parameters", err);
        }
        if (is_past_end) return other_layout(cuda, kernel, "the number", i, (unsigned long long)i + 1u, err);
        const slw_param *const param = &kernel->params[i];
        if (param->size_bytes != 0 && param->size_bytes != size) {
            return other_layout(cuda, kernel, "the size", i, size, err);
        }
        if (form == SLWI_CUDA_CUBIN && param->offset_bytes != offset) {
            return other_layout(cuda, kernel, "the offset", i, offset, err);
        }
    }
    return SLW_OK;
}

/* With the context current and the slot's lock held. */
static slw_code find_and_load(const slwi_cuda_state *cuda, slwi_cuda_function *slot, slw_error *err) {
    const char *const name = slot->kernel->name;
    slwi_cu_function *native = NULL;
    slwi_cu_result result = cuda->api.cuModuleGetFunction(&native, slot->module->native, name);
    if (result == SLWI_CU_NOT_FOUND) return slwi_gpu_no_kernel(name, err);
    if (result != SLWI_CU_SUCCESS) return slwi_cuda_fail(cuda, result, name, "finding a kernel", err);
    if (slwi_cuda_can(cuda, SLWI_CUDA_CAN(cuFuncLoad))) {
        result = cuda->api.cuFuncLoad(native);
        if (result != SLWI_CU_SUCCESS) return slwi_cuda_fail(cuda, result, name, "loading a kernel's code", err);
    }
    slw_code code = measure(cuda, native, slot, err);
    if (code == SLW_OK) code = check_parameters(cuda, native, slot->module->form, slot->kernel, err);
    if (code == SLW_OK) slot->native = native;
    return code;
}

static slw_code first_use(const slwi_cuda_state *cuda, slwi_cuda_function *slot, slw_error *err) {
    int pushed = 0;
    slw_code code = slwi_cuda_enter_loaded(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    const int mode = slwi_cuda_relax_capture(cuda);
    code = find_and_load(cuda, slot, err);
    slwi_cuda_restore_capture(cuda, mode);
    slwi_cuda_leave(cuda, pushed);
    return code;
}

slw_code slwi_cuda_find(void *state, void *module, const slw_kernel_contract *kernel, void **function,
                        slw_function_attributes *out, slw_error *err) {
    const slwi_cuda_state *const cuda = state;
    slwi_cuda_module *const loaded = module;
    const uint32_t index = slwi_gpu_find_kernel(loaded->contract, kernel->name);
    if (index >= loaded->function_count) return slwi_gpu_no_kernel(kernel->name, err);
    slwi_cuda_function *const slot = &loaded->functions[index];
    (void)pthread_mutex_lock(&slot->lock);
    const slw_code code = slot->native != NULL ? SLW_OK : first_use(cuda, slot, err);
    (void)pthread_mutex_unlock(&slot->lock);
    if (code != SLW_OK) return code;
    out->registers = slot->registers;
    out->local_bytes = slot->local_bytes;
    out->static_shared_bytes = slot->static_shared_bytes;
    out->max_threads = slot->max_threads;
    *function = slot;
    return SLW_OK;
}

/* ---- A shape ----------------------------------------------------------------------------------------------------- */

/* Raised exactly when a launch needs more than the function has now, to exactly that, and never lowered: another
   launchable may count on it. The figure to compare with is the function's own, which is 48 KiB less what is static
   (device.md A.6, G 19 to 22). */
static slw_code allow_shared(const slwi_cuda_state *cuda, const slwi_cuda_function *slot, uint32_t needed_bytes,
                             slw_error *err) {
    const char *const name = slot->kernel->name;
    uint32_t allowed = 0;
    slw_code code = measure_one(cuda, slot->native, SLWI_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES, name, &allowed, err);
    if (code != SLW_OK || needed_bytes <= allowed) return code;
    code = slwi_gpu_check_shared(name, cuda->name, (uint64_t)slot->static_shared_bytes + needed_bytes,
                                 cuda->optin_shared_bytes, err);
    if (code != SLW_OK) return code;
    const slwi_cu_result result =
        cuda->api.cuFuncSetAttribute(slot->native, SLWI_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES, (int)needed_bytes);
    return result == SLWI_CU_SUCCESS ? SLW_OK : slwi_cuda_fail(cuda, result, name, "allowing more shared memory", err);
}

static slw_code allow_cluster(const slwi_cuda_state *cuda, const slwi_cuda_function *slot,
                              const slw_launch_shape *shape, slw_error *err) {
    const uint64_t rank = (uint64_t)shape->cluster[0] * shape->cluster[1] * shape->cluster[2];
    if (rank <= PORTABLE_CLUSTER) return SLW_OK;
    const char *const name = slot->kernel->name;
    if ((shape->flags & SLW_LAUNCH_NON_PORTABLE_CLUSTER) == 0) {
        slwi_error_amount(err, "cluster", rank, PORTABLE_CLUSTER, "blocks");
        slwi_error_kernel(err, name, cuda->name);
        slwi_error_hint(err, "Larger clusters run on some devices only: ask for it by the shape's flag.");
        return slwi_fail(err, SLW_E_OUT_OF_RESOURCES, NULL, "%.128s: a cluster of %llu blocks, %u are portable", name,
                         (unsigned long long)rank, PORTABLE_CLUSTER);
    }
    const slwi_cu_result result = cuda->api.cuFuncSetAttribute(slot->native, SLWI_CU_FUNC_NON_PORTABLE_CLUSTER, 1);
    return result == SLWI_CU_SUCCESS ? SLW_OK : slwi_cuda_fail(cuda, result, name, "allowing larger clusters", err);
}

/* What a launch of this shape will need of the driver. */
static slw_code check_ability(const slwi_cuda_state *cuda, const slw_kernel_contract *kernel,
                              const slw_launch_shape *shape, slw_error *err) {
    slwi_cu_launch_attribute attributes[SLWI_CUDA_LAUNCH_ATTRIBUTES];
    const unsigned count =
        slwi_cuda_launch_attributes(kernel, shape->cluster, shape->cooperative, shape->flags, attributes);
    if (count == 0 || slwi_cuda_can(cuda, SLWI_CUDA_CAN(cuLaunchKernelEx))) return SLW_OK;
    if (count == 1 && shape->cooperative && slwi_cuda_can(cuda, SLWI_CUDA_CAN(cuLaunchCooperativeKernel))) {
        return SLW_OK;
    }
    slwi_error_kernel(err, kernel->name, cuda->name);
    slwi_error_path(err, cuda->library);
    return slwi_fail(err, SLW_E_UNSUPPORTED, "OLD_DRIVER",
                     "%.128s: driver %d.%d has no cuLaunchKernelEx, which clusters, cooperative and programmatic "
                     "launches need",
                     kernel->name, cuda->driver_version / 1000, cuda->driver_version % 1000 / 10);
}

slw_code slwi_cuda_prepare(void *state, void *function, const slw_kernel_contract *kernel,
                           const slw_launch_shape *shape, slw_error *err) {
    const slwi_cuda_state *const cuda = state;
    slwi_cuda_function *const slot = function;
    int pushed = 0;
    slw_code code = check_ability(cuda, kernel, shape, err);
    if (code == SLW_OK) code = slwi_cuda_enter_loaded(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    (void)pthread_mutex_lock(&slot->lock);
    code = allow_shared(cuda, slot, shape->shared_bytes, err);
    if (code == SLW_OK) code = allow_cluster(cuda, slot, shape, err);
    (void)pthread_mutex_unlock(&slot->lock);
    slwi_cuda_leave(cuda, pushed);
    return code;
}
