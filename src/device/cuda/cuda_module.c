/* Modules: an image handed over, its globals, and taken away again. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "cuda_driver.h"
#include "fail.h"
#include "memory.h"

#define IMAGE_ALIGNMENT  64u
#define LOG_BYTES        ((size_t)16384)
#define FIRST_LINE_BYTES 200

/* What the driver is given: the caller's bytes where they are fit for it, else a copy. */
typedef struct cuda_handed {
    const void *image;
    void *copy; /* NULL: none */
    char *logs; /* two of LOG_BYTES, errors first, for what the driver compiles; else NULL */
} cuda_handed;

/* ---- Before the call --------------------------------------------------------------------------------------------- */

static int is_compiled_by_driver(const slw_contract *contract, slwi_cuda_form form) {
    return form == SLWI_CUDA_PTX || contract->kind == SLW_IMAGE_PTX;
}

/* PTX has to end with a NUL that no file has; binaries lie on the boundary that the vendor's own loader gives them. */
static slw_code copy_image(const slwi_cuda_state *cuda, slw_bytes bytes, cuda_handed *out, slw_error *err) {
    size_t size = 0;
    if (slwi_add_size(bytes.size, IMAGE_ALIGNMENT, &size)) return slwi_fail_memory(err, SIZE_MAX);
    char *const copy = slwi_alloc(&cuda->allocator, size);
    if (copy == NULL) return slwi_fail_memory(err, size);
    const size_t misaligned = (uintptr_t)copy % IMAGE_ALIGNMENT;
    char *const image = misaligned == 0 ? copy : copy + (IMAGE_ALIGNMENT - misaligned);
    memcpy(image, bytes.data, bytes.size);
    if (image + bytes.size < copy + size) image[bytes.size] = '\0';
    out->copy = copy;
    out->image = image;
    return SLW_OK;
}

static void drop_handed(const slwi_cuda_state *cuda, cuda_handed *handed) {
    slwi_free(&cuda->allocator, handed->copy);
    slwi_free(&cuda->allocator, handed->logs);
}

static slw_code make_handed(const slwi_cuda_state *cuda, const slw_driver_image *image, slwi_cuda_form form,
                            cuda_handed *out, slw_error *err) {
    slw_code code = SLW_OK;
    if (form == SLWI_CUDA_PTX || (uintptr_t)image->bytes.data % IMAGE_ALIGNMENT != 0) {
        code = copy_image(cuda, image->bytes, out, err);
    } else {
        out->image = image->bytes.data;
    }
    if (code == SLW_OK && is_compiled_by_driver(image->contract, form)) {
        out->logs = slwi_alloc_zero(&cuda->allocator, 2 * LOG_BYTES);
        if (out->logs == NULL) code = slwi_fail_memory(err, 2 * LOG_BYTES);
    }
    if (code != SLW_OK) drop_handed(cuda, out);
    return code;
}

static slw_code make_module(const slwi_cuda_state *cuda, const slw_contract *contract, slwi_cuda_form form,
                            slwi_cuda_module **out, slw_error *err) {
    size_t size = 0;
    if (slwi_mul_size(contract->kernel_count, sizeof(slwi_cuda_function), &size) ||
        slwi_add_size(size, sizeof(slwi_cuda_module), &size)) {
        return slwi_fail_memory(err, SIZE_MAX);
    }
    slwi_cuda_module *const module = slwi_alloc_zero(&cuda->allocator, size);
    if (module == NULL) return slwi_fail_memory(err, size);
    module->contract = contract;
    module->form = form;
    for (; module->function_count < contract->kernel_count; module->function_count++) {
        slwi_cuda_function *const function = &module->functions[module->function_count];
        function->kernel = &contract->kernels[module->function_count];
        function->module = module;
        if (pthread_mutex_init(&function->lock, NULL) == 0) continue;
        while (module->function_count > 0) {
            (void)pthread_mutex_destroy(&module->functions[--module->function_count].lock);
        }
        slwi_free(&cuda->allocator, module);
        return slwi_fail(err, SLW_E_NO_MEMORY, NULL, "no mutex for a kernel");
    }
    *out = module;
    return SLW_OK;
}

static void free_module(const slwi_cuda_state *cuda, slwi_cuda_module *module, int forked) {
    /* In a forked child a thread of the parent may seem to hold one for ever (pitfall 18). */
    for (uint32_t i = 0; !forked && i < module->function_count; i++) {
        (void)pthread_mutex_destroy(&module->functions[i].lock);
    }
    slwi_free(&cuda->allocator, module);
}

/* ---- The call ---------------------------------------------------------------------------------------------------- */

static slwi_cu_result load_compiling(const slwi_cuda_state *cuda, const cuda_handed *handed, slwi_cu_module **out) {
    int options[] = {SLWI_CU_JIT_ERROR_LOG_BUFFER, SLWI_CU_JIT_ERROR_LOG_BUFFER_SIZE, SLWI_CU_JIT_INFO_LOG_BUFFER,
                     SLWI_CU_JIT_INFO_LOG_BUFFER_SIZE};
    void *const log_size = (void *)(LOG_BYTES - 1); /* by value: the driver's way */
    void *values[] = {handed->logs, log_size, handed->logs + LOG_BYTES, log_size};
    return cuda->api.cuModuleLoadDataEx(out, handed->image, sizeof options / sizeof *options, options, values);
}

/* The last byte of each log was not offered to the driver, so each ends there at the latest. The compiler's first line
   stands in the message too: not every caller has a buffer for the whole. */
static slw_code refuse(const slwi_cuda_state *cuda, const cuda_handed *handed, slwi_cu_result result, slw_error *err) {
    char what[FIRST_LINE_BYTES + 64] = "the driver refuses the image";
    if (handed->logs != NULL) {
        const size_t line = strcspn(handed->logs, "\r\n");
        if (line > 0) {
            (void)snprintf(what, sizeof what, "the driver refuses the image: %.*s",
                           line < FIRST_LINE_BYTES ? (int)line : FIRST_LINE_BYTES, handed->logs);
        }
        slwi_error_diagnostics(err, handed->logs, strlen(handed->logs));
        slwi_error_diagnostics(err, handed->logs + LOG_BYTES, strlen(handed->logs + LOG_BYTES));
    }
    return slwi_cuda_fail(cuda, result, NULL, what, err);
}

/* Loads with the context current. An image is blamed only by a context that is healthy afterwards (pitfall 13). */
static slw_code hand_over(const slwi_cuda_state *cuda, const cuda_handed *handed, slwi_cu_module **out, int *at_fault,
                          slw_error *err) {
    int pushed = 0;
    const slw_code code = slwi_cuda_enter_loaded(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    const int mode = slwi_cuda_relax_capture(cuda);
    slwi_cu_result result =
        handed->logs != NULL ? load_compiling(cuda, handed, out) : cuda->api.cuModuleLoadData(out, handed->image);
    if (slwi_cuda_result_blames_image(result)) {
        const slwi_cu_result health = slwi_cuda_context_pulse(cuda);
        if (health == SLWI_CU_SUCCESS && !slwi_cuda_context_gone(cuda)) *at_fault = 1;
        if (slwi_cuda_result_is_sticky(health)) result = health;
    }
    slwi_cuda_restore_capture(cuda, mode);
    slwi_cuda_leave(cuda, pushed);
    return result == SLWI_CU_SUCCESS ? SLW_OK : refuse(cuda, handed, result, err);
}

/* By the bytes alone: what else is refused depends on the contract and the device's options. */
static int blames_the_bytes(slw_code code) {
    return code == SLW_E_INVALID_BINARY || code == SLW_E_INVALID_PTX;
}

slw_code slwi_cuda_load(void *state, const slw_driver_image *image, void **module, int *at_fault, slw_error *err) {
    const slwi_cuda_state *const cuda = state;
    const slw_contract *const contract = image->contract;
    slwi_cuda_form form = SLWI_CUDA_CUBIN;
    *at_fault = 0;
    if (contract == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "an image needs its contract");
    slw_code code = slwi_cuda_image_form(image->bytes, contract->kind, &form, err);
    if (code == SLW_OK) code = slwi_cuda_image_policy(contract, form, cuda->allow_ptx, cuda->ptx_isa, err);
    if (code != SLW_OK) {
        *at_fault = blames_the_bytes(code);
        return code;
    }
    slwi_cuda_module *fresh = NULL;
    cuda_handed handed = {NULL, NULL, NULL};
    code = make_module(cuda, contract, form, &fresh, err);
    if (code != SLW_OK || fresh == NULL) return code;
    code = make_handed(cuda, image, form, &handed, err);
    if (code == SLW_OK) {
        code = hand_over(cuda, &handed, &fresh->native, at_fault, err);
        drop_handed(cuda, &handed);
    }
    if (code != SLW_OK) {
        free_module(cuda, fresh, 0);
        return code;
    }
    *module = fresh;
    return SLW_OK;
}

/* ---- Afterwards -------------------------------------------------------------------------------------------------- */

/* Whatever the driver says now is no news that anybody could use: 3 and 4 at the end of a process, 201 and 709 of a
   context that is gone, a sticky error. A dead context has taken the module with it, and asking would touch freed
   memory. */
static void take_away(const slwi_cuda_state *cuda, slwi_cu_module *native) {
    int pushed = 0;
    if (native == NULL || slwi_cuda_context_gone(cuda)) return;
    /* A first refusal may be the news of earlier work; only a second is about the context. */
    slwi_cu_result result = slwi_cuda_push(cuda, &pushed);
    if (result != SLWI_CU_SUCCESS) result = slwi_cuda_push(cuda, &pushed);
    if (result != SLWI_CU_SUCCESS) return;
    const int mode = slwi_cuda_relax_capture(cuda);
    (void)cuda->api.cuModuleUnload(native);
    slwi_cuda_restore_capture(cuda, mode);
    slwi_cuda_leave(cuda, pushed);
}

void slwi_cuda_unload(void *state, void *module, int forked) {
    const slwi_cuda_state *const cuda = state;
    slwi_cuda_module *const leaving = module;
    if (!forked) take_away(cuda, leaving->native);
    free_module(cuda, leaving, forked);
}

slw_code slwi_cuda_global(void *state, void *module, const char *name, slw_device_address *address,
                          uint64_t *size_bytes, slw_error *err) {
    const slwi_cuda_state *const cuda = state;
    const slwi_cuda_module *const loaded = module;
    if (!slwi_cuda_can(cuda, SLWI_CUDA_CAN(cuModuleGetGlobal))) {
        return slwi_fail(err, SLW_E_UNSUPPORTED, NULL, "this driver has no cuModuleGetGlobal");
    }
    slwi_cu_address found = 0;
    size_t size = 0;
    int pushed = 0;
    const slw_code code = slwi_cuda_enter_loaded(cuda, &pushed, err);
    if (code != SLW_OK) return code;
    const slwi_cu_result result = cuda->api.cuModuleGetGlobal(&found, &size, loaded->native, name);
    slwi_cuda_leave(cuda, pushed);
    if (result == SLWI_CU_NOT_FOUND) {
        slwi_error_subject(err, name, strlen(name));
        return slwi_fail(err, SLW_E_MISS, "NO_GLOBAL", "the module has no global \"%.128s\"", name);
    }
    if (result != SLWI_CU_SUCCESS) return slwi_cuda_fail(cuda, result, NULL, "finding a global", err);
    *address = found;
    *size_bytes = size;
    return SLW_OK;
}

void *slwi_cuda_native_function(void *function) {
    return ((slwi_cuda_function *)function)->native;
}

void *slwi_cuda_native_module(void *module) {
    return ((slwi_cuda_module *)module)->native;
}
