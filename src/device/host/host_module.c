/* Modules of the host driver: a loaded image and its functions, all found at load: "loaded" means really loaded. */
#include <string.h>

#include "checked.h"
#include "fail.h"
#include "host_driver.h"
#include "memory.h"

typedef struct host_module {
    slwi_host_image image;
    uint32_t function_count;
    slwi_host_function functions[];
} host_module;

/* An object pointer as a function pointer; POSIX says that dlsym's can be. */
static slw_host_kernel *as_kernel(void *symbol) {
    slw_host_kernel *kernel = NULL;
    _Static_assert(sizeof kernel == sizeof symbol, "POSIX");
    memcpy(&kernel, &symbol, sizeof kernel);
    return kernel;
}

static slw_code find_functions(host_module *module, const slw_contract *contract, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    for (uint32_t i = 0; i < contract->kernel_count; i++) {
        const slw_kernel_contract *const kernel = &contract->kernels[i];
        void *const symbol = os->dl_symbol(os, module->image.library, kernel->name);
        if (symbol == NULL) {
            slwi_error_kernel(err, kernel->name, NULL);
            slwi_error_subject(err, kernel->name, strlen(kernel->name));
            return slwi_fail(err, SLW_E_INVALID_BINARY, "NO_KERNEL", "the image exports no function \"%s\"",
                             kernel->name);
        }
        module->functions[i] = (slwi_host_function){
            .entry = as_kernel(symbol),
            .name = kernel->name,
            .static_shared_bytes = kernel->static_shared_bytes,
            .param_count = kernel->param_count,
        };
        module->function_count++;
    }
    return SLW_OK;
}

slw_code slwi_host_load(void *state, const slw_driver_image *image, void **module, int *at_fault, slw_error *err) {
    slwi_host_state *const host = state;
    const slw_contract *const contract = image->contract;
    *at_fault = 0;
    if (contract == NULL || image->bytes.data == NULL) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "a host image needs its bytes and its contract");
    }
    size_t size = 0;
    if (slwi_mul_size(contract->kernel_count, sizeof(slwi_host_function), &size) ||
        slwi_add_size(size, sizeof(host_module), &size)) {
        return slwi_fail_memory(err, SIZE_MAX);
    }
    host_module *const fresh = slwi_alloc_zero(&host->allocator, size);
    if (fresh == NULL) return slwi_fail_memory(err, size);
    slw_code code = slwi_host_image_open(image->bytes, &fresh->image, at_fault, err);
    if (code == SLW_OK) {
        code = find_functions(fresh, contract, err);
        if (code != SLW_OK) slwi_host_image_close(&fresh->image); /* the contract may be another's: not kept */
    }
    if (code != SLW_OK) {
        slwi_free(&host->allocator, fresh);
        return code;
    }
    *module = fresh;
    return SLW_OK;
}

void slwi_host_unload(void *state, void *module, int forked) {
    slwi_host_state *const host = state;
    host_module *const leaving = module;
    /* In a forked child the library stays as it is, and so does the descriptor that keeps its name from being used
       again. */
    if (!forked) slwi_host_image_close(&leaving->image);
    slwi_free(&host->allocator, leaving);
}

slw_code slwi_host_find(void *state, void *module, const slw_kernel_contract *kernel, void **function,
                        slw_function_attributes *out, slw_error *err) {
    (void)state;
    host_module *const loaded = module;
    for (uint32_t i = 0; i < loaded->function_count; i++) {
        slwi_host_function *const candidate = &loaded->functions[i];
        if (strcmp(candidate->name, kernel->name) != 0) continue;
        out->registers = 0;
        out->local_bytes = 0;
        out->static_shared_bytes = candidate->static_shared_bytes;
        out->max_threads = SLWI_HOST_MAX_THREADS;
        *function = candidate;
        return SLW_OK;
    }
    slwi_error_kernel(err, kernel->name, NULL);
    return slwi_fail(err, SLW_E_MISS, "NO_KERNEL", "the module has no kernel \"%s\"", kernel->name);
}

slw_code slwi_host_global(void *state, void *module, const char *name, slw_device_address *address,
                          uint64_t *size_bytes, slw_error *err) {
    (void)state;
    host_module *const loaded = module;
    const slwi_os *os = slwi_os_get();
    void *const symbol = os->dl_symbol(os, loaded->image.library, name);
    if (symbol == NULL) {
        slwi_error_subject(err, name, strlen(name));
        return slwi_fail(err, SLW_E_MISS, "NO_GLOBAL", "the module exports no \"%s\"", name);
    }
    *address = (slw_device_address)(uintptr_t)symbol;
    *size_bytes = 0; /* the loader does not tell */
    return SLW_OK;
}

void *slwi_host_native_function(void *function) {
    void *address = NULL;
    memcpy(&address, &((slwi_host_function *)function)->entry, sizeof address); /* there is no cast between the two */
    return address;
}

void *slwi_host_native(void *module) {
    return ((host_module *)module)->image.library;
}
