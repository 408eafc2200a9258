/* libcuda.so.1: found, its symbols resolved, initialised once.
 *
 * Never libcuda.so, which is what the toolkit calls its stub.  That the name is right proves nothing either: the stub's
 * soname is the driver's, so that once something has loaded it, asking for libcuda.so.1 gives the stub. Only cuInit
 * tells (device.md A.1). */
#include <string.h>

#include "cuda_driver.h"
#include "fail.h"

static const char *const library_names[] = {"libcuda.so.1", NULL};
static const slwi_gpu_names cuda_names = {"cuda", library_names, "cuInit", 0};

#define REQUIRED(name, version, exported, parameters) {#name, exported, version, 1, 0, offsetof(slwi_cuda_api, name)},
#define OPTIONAL(name, version, exported, parameters)                                                                  \
    {#name, exported, version, 0, SLWI_CUDA_CAN(name), offsetof(slwi_cuda_api, name)},
static const slwi_gpu_symbol symbols[] = {SLWI_CUDA_SYMBOLS(REQUIRED, OPTIONAL)};
#undef REQUIRED
#undef OPTIONAL

/* How the driver is asked for a symbol of a version; both NULL for drivers before 11.3. */
typedef struct proc_address {
    slwi_cu_get_proc_address_v2 *v2;
    slwi_cu_get_proc_address_v1 *v1;
} proc_address;

slw_code slwi_cuda_library_open(const char *named, const slw_library_loader *loader, slwi_gpu_library *out,
                                slw_error *err) {
    return slwi_gpu_library_open(&cuda_names, named, loader, out, err);
}

static proc_address find_proc_address(const slwi_gpu_library *library) {
    proc_address found = {NULL, NULL};
    void *const v2 = slwi_gpu_library_symbol(library, "cuGetProcAddress_v2");
    void *const v1 = v2 == NULL ? slwi_gpu_library_symbol(library, "cuGetProcAddress") : NULL;
    memcpy(&found.v2, &v2, sizeof v2);
    memcpy(&found.v1, &v1, sizeof v1);
    return found;
}

/* The driver may say "success" and give nothing: the address counts, not the code alone. */
static void *ask_driver(const proc_address *ask, const slwi_gpu_symbol *symbol) {
    void *function = NULL;
    slwi_cu_result result;
    if (ask->v2 != NULL) {
        int found = SLWI_CU_PROC_ADDRESS_FOUND;
        result = ask->v2(symbol->name, &function, symbol->version, SLWI_CU_PROC_ADDRESS_LEGACY_STREAM, &found);
        if (found != SLWI_CU_PROC_ADDRESS_FOUND) return NULL;
    } else {
        result = ask->v1(symbol->name, &function, symbol->version, SLWI_CU_PROC_ADDRESS_LEGACY_STREAM);
    }
    return result == SLWI_CU_SUCCESS ? function : NULL;
}

/* The driver's word on an optional symbol is final: one newer than the driver is not there, whatever is exported. A
   required one is looked for by the name of exactly that version as well (device.md G 24). */
static void *look_up(const void *context, const slwi_gpu_library *library, const slwi_gpu_symbol *symbol) {
    const proc_address *const ask = context;
    if (ask->v2 != NULL || ask->v1 != NULL) {
        void *const function = ask_driver(ask, symbol);
        if (function != NULL || !symbol->required) return function;
    }
    void *const exported = slwi_gpu_library_symbol(library, symbol->exported);
    /* Before 11.0 it had no second version, and the first takes the same. */
    if (exported == NULL && symbol->offset == offsetof(slwi_cuda_api, cuDevicePrimaryCtxRelease)) {
        return slwi_gpu_library_symbol(library, symbol->name);
    }
    return exported;
}

slw_code slwi_cuda_library_resolve(const slwi_gpu_library *library, slwi_cuda_api *api, uint32_t *capabilities,
                                   slw_error *err) {
    const proc_address ask = find_proc_address(library);
    return slwi_gpu_resolve(library, symbols, sizeof symbols / sizeof *symbols, look_up, &ask, api, capabilities, err);
}

/* ---- Initialising ------------------------------------------------------------------------------------------------ */

static int initialise(void *context) {
    const slwi_cuda_api *const api = context;
    return api->cuInit(0);
}

static slw_code forked(const slwi_gpu_library *library, slw_error *err) {
    slwi_error_path(err, library->path);
    slwi_error_hint(err, "Open devices in the child only, or start it with exec.");
    return slwi_fail(err, SLW_E_FORKED, NULL, "CUDA was initialised before this process was forked");
}

slw_code slwi_cuda_library_check_fork(const slwi_gpu_library *library, slw_error *err) {
    int result = SLWI_CU_UNKNOWN;
    if (slwi_gpu_init_known(library->anchor, &result) != SLWI_GPU_INIT_FORKED) return SLW_OK;
    return forked(library, err);
}

slw_code slwi_cuda_library_init(const slwi_gpu_library *library, const slwi_cuda_api *api, slw_error *err) {
    slwi_cuda_api copy = *api;
    int result = SLWI_CU_UNKNOWN;
    if (slwi_gpu_init_once(library->anchor, initialise, &copy, &result) == SLWI_GPU_INIT_FORKED) {
        return forked(library, err);
    }
    if (result == SLWI_CU_SUCCESS) return SLW_OK;
    if (result == SLWI_CU_NOT_INITIALIZED) {
        /* Somebody else's initialisation, before a fork that we knew nothing of. */
        slwi_error_raw(err, slwi_cuda_result_name(result), result);
        return forked(library, err);
    }
    slwi_error_tried(err, library->path);
    if (result == SLWI_CU_STUB_LIBRARY) return slwi_cuda_fail_at(library->path, NULL, result, library->path, err);
    return slwi_cuda_fail_at(library->path, NULL, result, "cuInit", err);
}
