/* Functions: found at first use, measured, and made ready for a shape. HIP loads nothing later: a module that is loaded
 * is there with all its code. */
#include "fail.h"
#include "gpu_kernel.h"
#include "hip_driver.h"

/* ---- The first use ----------------------------------------------------------------------------------------------- */

/* What a release does not measure, the code object's own notes say. */
static slw_code measure_one(const slwi_hip_state *hip, slwi_hip_native_function *native, int attribute,
                            const char *kernel, uint32_t noted, uint32_t *out, slw_error *err) {
    int value = 0;
    const slwi_hip_result result = hip->api.hipFuncGetAttribute(&value, attribute, native);
    if (result == SLWI_HIP_NOT_SUPPORTED) {
        slwi_hip_clear(hip);
        *out = noted;
        return SLW_OK;
    }
    if (result != SLWI_HIP_SUCCESS) return slwi_hip_fail(hip, result, kernel, "asking a kernel for its figures", err);
    *out = value < 0 ? 0 : (uint32_t)value;
    return SLW_OK;
}

static slw_code measure(const slwi_hip_state *hip, slwi_hip_native_function *native, slwi_hip_function *out,
                        slw_error *err) {
    const slw_kernel_contract *const kernel = out->kernel;
    const struct {
        int attribute;
        uint32_t noted;
        uint32_t *place;
    } figures[] = {
        {SLWI_HIP_FUNC_NUM_REGS, kernel->registers, &out->registers},
        {SLWI_HIP_FUNC_LOCAL_SIZE_BYTES, kernel->local_bytes, &out->local_bytes},
        {SLWI_HIP_FUNC_SHARED_SIZE_BYTES, kernel->static_shared_bytes, &out->static_shared_bytes},
        {SLWI_HIP_FUNC_MAX_THREADS_PER_BLOCK, kernel->max_threads, &out->max_threads},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        const slw_code code =
            measure_one(hip, native, figures[i].attribute, kernel->name, figures[i].noted, figures[i].place, err);
        if (code != SLW_OK) return code;
    }
    return SLW_OK;
}

/* HIP takes the visible parameters, in order, and fills the hidden ones itself. Compilers put those last, so that the
   array of all of them begins with what HIP reads. */
static slw_code check_parameters(const slwi_hip_state *hip, const slw_kernel_contract *kernel, slw_error *err) {
    int is_hidden = 0;
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        const int was_hidden = is_hidden;
        is_hidden = kernel->params[i].role == SLW_ROLE_HIDDEN;
        if (!was_hidden || is_hidden) continue;
        slwi_error_kernel(err, kernel->name, hip->name);
        return slwi_fail(err, SLW_E_UNSUPPORTED, "HIDDEN_ORDER", "%.128s: parameter %u stands behind a hidden one",
                         kernel->name, i);
    }
    return SLW_OK;
}

static slw_code first_use(const slwi_hip_state *hip, slwi_hip_function *slot, slw_error *err) {
    const char *const name = slot->kernel->name;
    slwi_hip_native_function *native = NULL;
    int previous = -1;
    slw_code code = check_parameters(hip, slot->kernel, err);
    if (code == SLW_OK) code = slwi_hip_enter(hip, &previous, err);
    if (code != SLW_OK) return code;
    const int mode = slwi_hip_relax_capture(hip);
    const slwi_hip_result result = hip->api.hipModuleGetFunction(&native, slot->module->native, name);
    if (result == SLWI_HIP_NOT_FOUND) {
        slwi_hip_clear(hip);
        code = slwi_gpu_no_kernel(name, err);
    } else if (result != SLWI_HIP_SUCCESS) {
        code = slwi_hip_fail(hip, result, name, "finding a kernel", err);
    } else {
        code = measure(hip, native, slot, err);
    }
    slwi_hip_restore_capture(hip, mode);
    slwi_hip_leave(hip, previous);
    if (code == SLW_OK) slot->native = native;
    return code;
}

slw_code slwi_hip_find(void *state, void *module, const slw_kernel_contract *kernel, void **function,
                       slw_function_attributes *out, slw_error *err) {
    const slwi_hip_state *const hip = state;
    slwi_hip_module *const loaded = module;
    const uint32_t index = slwi_gpu_find_kernel(loaded->contract, kernel->name);
    if (index >= loaded->function_count) return slwi_gpu_no_kernel(kernel->name, err);
    slwi_hip_function *const slot = &loaded->functions[index];
    (void)pthread_mutex_lock(&slot->lock);
    const slw_code code = slot->native != NULL ? SLW_OK : first_use(hip, slot, err);
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

slw_code slwi_hip_check_threads(const slwi_hip_state *hip, const slwi_hip_function *function, const uint32_t block[3],
                                slw_error *err) {
    const uint64_t plane = (uint64_t)block[0] * block[1];
    const uint64_t limit = function->max_threads;
    const uint64_t threads = block[2] != 0 && plane > UINT64_MAX / block[2] ? UINT64_MAX : plane * block[2];
    if (limit == 0 || threads <= limit) return SLW_OK;
    const char *const name = function->kernel->name;
    slwi_error_amount(err, "threads per block", threads, limit, "threads");
    slwi_error_kernel(err, name, hip->name);
    return slwi_fail(err, SLW_E_OUT_OF_RESOURCES, NULL, "%.128s: threads per block is %llu; it was made for %llu", name,
                     (unsigned long long)threads, (unsigned long long)limit);
}

/* Programmatic launch is leave to begin early, which HIP never takes: nothing to check. */
static slw_code check_ability(const slwi_hip_state *hip, const slw_kernel_contract *kernel,
                              const slw_launch_shape *shape, slw_error *err) {
    if (shape->cluster[0] > 1u || shape->cluster[1] > 1u || shape->cluster[2] > 1u) {
        slwi_error_kernel(err, kernel->name, hip->name);
        return slwi_fail(err, SLW_E_UNSUPPORTED, "NO_CLUSTERS", "%.128s: HIP has no clusters", kernel->name);
    }
    if (!shape->cooperative || slwi_hip_can(hip, SLWI_HIP_CAN(hipModuleLaunchCooperativeKernel))) return SLW_OK;
    slwi_error_kernel(err, kernel->name, hip->name);
    slwi_error_path(err, hip->library);
    return slwi_fail(err, SLW_E_UNSUPPORTED, "OLD_DRIVER",
                     "%.128s: %s has no hipModuleLaunchCooperativeKernel, which a cooperative launch needs",
                     kernel->name, hip->version[0] != '\0' ? hip->version : "this HIP");
}

/* Asks HIP nothing: whatever a shape may need is known. */
slw_code slwi_hip_prepare(void *state, void *function, const slw_kernel_contract *kernel, const slw_launch_shape *shape,
                          slw_error *err) {
    const slwi_hip_state *const hip = state;
    const slwi_hip_function *const slot = function;
    slw_code code = check_ability(hip, kernel, shape, err);
    if (code == SLW_OK) code = slwi_hip_check_threads(hip, slot, shape->block, err);
    if (code != SLW_OK) return code;
    /* There is no opting in to more: what a compute unit has for one block is there without asking, and
       hipFuncSetAttribute does nothing for kernels of modules (device.md B.5, G 37). */
    return slwi_gpu_check_shared(kernel->name, hip->name, (uint64_t)slot->static_shared_bytes + shape->shared_bytes,
                                 hip->shared_bytes, err);
}
