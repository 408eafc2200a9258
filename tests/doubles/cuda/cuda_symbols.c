/* Finding entry points, by version. A pin that is too new or too old leads to a function of another signature, which
 * says so when it is called. */
#include "cuda_calls.h"
#include "cuda_double.h"

#include <string.h>

typedef int (*any_function)(void);

/* The old forms took 32-bit sizes or nothing that we would pass: none of their arguments is looked at. */
static int old_abi(void) {
    double_violation("an entry point of an older interface is called");
    return DCU_NOT_SUPPORTED;
}
#define OLD(name)                                                                                                      \
    DOUBLE_API int name(void);                                                                                         \
    DOUBLE_API int name(void) {                                                                                        \
        DOUBLE_CALL(CALL_old_abi, old_abi());                                                                          \
    }
OLD(cuCtxPushCurrent)
OLD(cuCtxPopCurrent)
OLD(cuCtxCreate)
OLD(cuCtxDestroy)
OLD(cuDeviceTotalMem)
OLD(cuModuleGetGlobal)
OLD(cuStreamDestroy)
OLD(cuEventDestroy)
OLD(cuMemAlloc)
OLD(cuMemFree)
OLD(cuMemcpyHtoD)
OLD(cuMemcpyDtoH)
OLD(cuMemsetD8)
OLD(cuStreamGetCtx_v2)
OLD(cuEventElapsedTime_v2)

/* Name, from which version on, what stands there then. The exported name is the symbol's own; later rows of one name
   win over earlier ones. */
#define DCU_SYMBOLS(X)                                                                                                 \
    X(cuInit, 2000, cuInit)                                                                                            \
    X(cuDriverGetVersion, 2020, cuDriverGetVersion)                                                                    \
    X(cuGetErrorName, 6000, cuGetErrorName)                                                                            \
    X(cuGetErrorString, 6000, cuGetErrorString)                                                                        \
    X(cuDeviceGetCount, 2000, cuDeviceGetCount)                                                                        \
    X(cuDeviceGet, 2000, cuDeviceGet)                                                                                  \
    X(cuDeviceGetName, 2000, cuDeviceGetName)                                                                          \
    X(cuDeviceGetAttribute, 2000, cuDeviceGetAttribute)                                                                \
    X(cuDeviceGetUuid, 9020, cuDeviceGetUuid)                                                                          \
    X(cuDeviceGetUuid, 11040, cuDeviceGetUuid_v2)                                                                      \
    X(cuDeviceGetPCIBusId, 4010, cuDeviceGetPCIBusId)                                                                  \
    X(cuDeviceTotalMem, 2000, cuDeviceTotalMem)                                                                        \
    X(cuDeviceTotalMem, 3020, cuDeviceTotalMem_v2)                                                                     \
    X(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain)                                                        \
    X(cuDevicePrimaryCtxGetState, 7000, cuDevicePrimaryCtxGetState)                                                    \
    X(cuDevicePrimaryCtxRelease, 7000, cuDevicePrimaryCtxRelease)                                                      \
    X(cuDevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2)                                                  \
    X(cuDevicePrimaryCtxReset, 11000, cuDevicePrimaryCtxReset_v2)                                                      \
    X(cuCtxCreate, 2000, cuCtxCreate)                                                                                  \
    X(cuCtxCreate, 3020, cuCtxCreate_v2)                                                                               \
    X(cuCtxDestroy, 2000, cuCtxDestroy)                                                                                \
    X(cuCtxDestroy, 4000, cuCtxDestroy_v2)                                                                             \
    X(cuCtxGetCurrent, 4000, cuCtxGetCurrent)                                                                          \
    X(cuCtxSetCurrent, 4000, cuCtxSetCurrent)                                                                          \
    X(cuCtxPushCurrent, 2000, cuCtxPushCurrent)                                                                        \
    X(cuCtxPushCurrent, 4000, cuCtxPushCurrent_v2)                                                                     \
    X(cuCtxPopCurrent, 2000, cuCtxPopCurrent)                                                                          \
    X(cuCtxPopCurrent, 4000, cuCtxPopCurrent_v2)                                                                       \
    X(cuCtxGetDevice, 2000, cuCtxGetDevice)                                                                            \
    X(cuCtxGetDevice, 13000, cuCtxGetDevice_v2)                                                                        \
    X(cuCtxSynchronize, 2000, cuCtxSynchronize)                                                                        \
    X(cuCtxSynchronize, 13000, cuCtxSynchronize_v2)                                                                    \
    X(cuCtxGetId, 12000, cuCtxGetId)                                                                                   \
    X(cuThreadExchangeStreamCaptureMode, 10010, cuThreadExchangeStreamCaptureMode)                                     \
    X(cuModuleLoadData, 2000, cuModuleLoadData)                                                                        \
    X(cuModuleLoadDataEx, 2010, cuModuleLoadDataEx)                                                                    \
    X(cuModuleUnload, 2000, cuModuleUnload)                                                                            \
    X(cuModuleGetFunction, 2000, cuModuleGetFunction)                                                                  \
    X(cuModuleGetGlobal, 2000, cuModuleGetGlobal)                                                                      \
    X(cuModuleGetGlobal, 3020, cuModuleGetGlobal_v2)                                                                   \
    X(cuModuleGetLoadingMode, 11070, cuModuleGetLoadingMode)                                                           \
    X(cuModuleGetFunctionCount, 12040, cuModuleGetFunctionCount)                                                       \
    X(cuModuleEnumerateFunctions, 12040, cuModuleEnumerateFunctions)                                                   \
    X(cuFuncGetAttribute, 2020, cuFuncGetAttribute)                                                                    \
    X(cuFuncSetAttribute, 9000, cuFuncSetAttribute)                                                                    \
    X(cuFuncGetParamInfo, 12040, cuFuncGetParamInfo)                                                                   \
    X(cuFuncLoad, 12040, cuFuncLoad)                                                                                   \
    X(cuFuncIsLoaded, 12040, cuFuncIsLoaded)                                                                           \
    X(cuFuncGetName, 12030, cuFuncGetName)                                                                             \
    X(cuFuncGetModule, 11000, cuFuncGetModule)                                                                         \
    X(cuLaunchKernel, 4000, cuLaunchKernel)                                                                            \
    X(cuLaunchKernelEx, 11060, cuLaunchKernelEx)                                                                       \
    X(cuLaunchCooperativeKernel, 9000, cuLaunchCooperativeKernel)                                                      \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, cuOccupancyMaxActiveBlocksPerMultiprocessor)                  \
    X(cuOccupancyMaxActiveClusters, 11070, cuOccupancyMaxActiveClusters)                                               \
    X(cuStreamCreate, 2000, cuStreamCreate)                                                                            \
    X(cuStreamDestroy, 2000, cuStreamDestroy)                                                                          \
    X(cuStreamDestroy, 4000, cuStreamDestroy_v2)                                                                       \
    X(cuStreamSynchronize, 2000, cuStreamSynchronize)                                                                  \
    X(cuStreamQuery, 2000, cuStreamQuery)                                                                              \
    X(cuStreamGetCtx, 9020, cuStreamGetCtx)                                                                            \
    X(cuStreamGetCtx, 12050, cuStreamGetCtx_v2)                                                                        \
    X(cuStreamIsCapturing, 10000, cuStreamIsCapturing)                                                                 \
    X(cuEventCreate, 2000, cuEventCreate)                                                                              \
    X(cuEventDestroy, 2000, cuEventDestroy)                                                                            \
    X(cuEventDestroy, 4000, cuEventDestroy_v2)                                                                         \
    X(cuEventRecord, 2000, cuEventRecord)                                                                              \
    X(cuEventQuery, 2000, cuEventQuery)                                                                                \
    X(cuEventSynchronize, 2000, cuEventSynchronize)                                                                    \
    X(cuEventElapsedTime, 2000, cuEventElapsedTime)                                                                    \
    X(cuEventElapsedTime, 12080, cuEventElapsedTime_v2)                                                                \
    X(cuMemAlloc, 2000, cuMemAlloc)                                                                                    \
    X(cuMemAlloc, 3020, cuMemAlloc_v2)                                                                                 \
    X(cuMemFree, 2000, cuMemFree)                                                                                      \
    X(cuMemFree, 3020, cuMemFree_v2)                                                                                   \
    X(cuMemcpyHtoD, 2000, cuMemcpyHtoD)                                                                                \
    X(cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2)                                                                             \
    X(cuMemcpyDtoH, 2000, cuMemcpyDtoH)                                                                                \
    X(cuMemcpyDtoH, 3020, cuMemcpyDtoH_v2)                                                                             \
    X(cuMemsetD8, 2000, cuMemsetD8)                                                                                    \
    X(cuMemsetD8, 3020, cuMemsetD8_v2)

/* Only their addresses are taken here, so their arguments do not matter. */
#define DCU_DECLARE(name, since, symbol) int symbol(void);
DCU_SYMBOLS(DCU_DECLARE)
#undef DCU_DECLARE

static const struct {
    const char *name;
    int since;
    const char *exported;
    any_function function;
} symbols[] = {
#define DCU_ROW(name, since, symbol) {#name, since, #symbol, symbol},
    DCU_SYMBOLS(DCU_ROW)
#undef DCU_ROW
        {"cuGetProcAddress", 11030, "cuGetProcAddress", NULL},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2", NULL},
};
#define SYMBOL_COUNT (sizeof symbols / sizeof symbols[0])

/* Of an exported name: newer than the driver, or of a call that a test has hidden by its plain name. */
int dcu_hidden(const char *name);
int dcu_hidden(const char *name) {
    for (size_t i = 0; i < SYMBOL_COUNT; i++) {
        if (strcmp(symbols[i].exported, name) != 0) continue;
        return symbols[i].since > double_settings[DOUBLE_DRIVER_VERSION] || double_is_hidden(symbols[i].name);
    }
    return 0;
}

DOUBLE_API int cuGetProcAddress_v2(const char *name, void *out, int version, uint64_t flags, int *status);
DOUBLE_API int cuGetProcAddress(const char *name, void *out, int version, uint64_t flags);

/* The two that find others have their arguments declared in this file. */
static any_function address_of(size_t index) {
    any_function found = symbols[index].function;
    if (found != NULL) return found;
    if (symbols[index].since >= 12000) {
        int (*const newer)(const char *, void *, int, uint64_t, int *) = cuGetProcAddress_v2;
        memcpy(&found, &newer, sizeof found);
    } else {
        int (*const older)(const char *, void *, int, uint64_t) = cuGetProcAddress;
        memcpy(&found, &older, sizeof found);
    }
    return found;
}

static int find(const char *name, void *out, int version, uint64_t flags, int *status) {
    if (name == NULL || out == NULL || flags > 2) return DCU_INVALID_VALUE;
    any_function found = NULL;
    int known = 0;
    if (flags != 1) double_violation("cuGetProcAddress(%s): flags %d leave the NULL stream open", name, (int)flags);
    if (version > double_settings[DOUBLE_DRIVER_VERSION]) {
        memset(out, 0, sizeof found);
        return DCU_INVALID_VALUE;
    }
    for (size_t i = 0; i < SYMBOL_COUNT; i++) {
        if (strcmp(symbols[i].name, name) != 0 || double_is_hidden(name)) continue;
        if (symbols[i].since > double_settings[DOUBLE_DRIVER_VERSION]) continue;
        known = 1;
        if (symbols[i].since <= version) found = address_of(i);
    }
    memcpy(out, &found, sizeof found);
    if (status != NULL) *status = found != NULL ? DCU_SYMBOL_FOUND : known ? DCU_SYMBOL_TOO_NEW : DCU_SYMBOL_NOT_FOUND;
    return DCU_OK;
}

DOUBLE_API int cuGetProcAddress_v2(const char *name, void *out, int version, uint64_t flags, int *status) {
    DOUBLE_CALL(CALL_cuGetProcAddress_v2, find(name, out, version, flags, status));
}
DOUBLE_API int cuGetProcAddress(const char *name, void *out, int version, uint64_t flags) {
    DOUBLE_CALL(CALL_cuGetProcAddress, find(name, out, version, flags, NULL));
}
