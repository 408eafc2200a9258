/* Every call of the double: X(its C name and exported symbol, the name it is logged and failed under, flags). */
#ifndef CUDA_CALLS_H
#define CUDA_CALLS_H

#define DCU_CALLS(X)                                                                                                   \
    X(cuInit, "cuInit", DOUBLE_FREE)                                                                                   \
    X(cuDriverGetVersion, "cuDriverGetVersion", DOUBLE_FREE)                                                           \
    X(cuGetProcAddress, "cuGetProcAddress", DOUBLE_FREE)                                                               \
    X(cuGetProcAddress_v2, "cuGetProcAddress_v2", DOUBLE_FREE)                                                         \
    X(cuGetErrorName, "cuGetErrorName", DOUBLE_FREE)                                                                   \
    X(cuGetErrorString, "cuGetErrorString", DOUBLE_FREE)                                                               \
    X(cuDeviceGetCount, "cuDeviceGetCount", 0)                                                                         \
    X(cuDeviceGet, "cuDeviceGet", 0)                                                                                   \
    X(cuDeviceGetName, "cuDeviceGetName", 0)                                                                           \
    X(cuDeviceGetAttribute, "cuDeviceGetAttribute", 0)                                                                 \
    X(cuDeviceGetUuid, "cuDeviceGetUuid", 0)                                                                           \
    X(cuDeviceGetUuid_v2, "cuDeviceGetUuid", 0)                                                                        \
    X(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", 0)                                                                   \
    X(cuDeviceTotalMem_v2, "cuDeviceTotalMem", 0)                                                                      \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 0)                                                         \
    X(cuDevicePrimaryCtxGetState, "cuDevicePrimaryCtxGetState", 0)                                                     \
    X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease", DOUBLE_ACTS)                                             \
    X(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", DOUBLE_ACTS)                                          \
    X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 0)                                                        \
    X(cuCtxCreate_v2, "cuCtxCreate", 0)                                                                                \
    X(cuCtxDestroy_v2, "cuCtxDestroy", DOUBLE_ACTS)                                                                    \
    X(cuCtxGetCurrent, "cuCtxGetCurrent", 0)                                                                           \
    X(cuCtxSetCurrent, "cuCtxSetCurrent", 0)                                                                           \
    X(cuCtxPushCurrent_v2, "cuCtxPushCurrent", 0)                                                                      \
    X(cuCtxPopCurrent_v2, "cuCtxPopCurrent", DOUBLE_ACTS)                                                              \
    X(cuCtxGetDevice, "cuCtxGetDevice", 0)                                                                             \
    X(cuCtxGetDevice_v2, "cuCtxGetDevice_v2", 0)                                                                       \
    X(cuCtxSynchronize, "cuCtxSynchronize", 0)                                                                         \
    X(cuCtxSynchronize_v2, "cuCtxSynchronize_v2", 0)                                                                   \
    X(cuCtxGetId, "cuCtxGetId", 0)                                                                                     \
    X(cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", 0)                                       \
    X(cuModuleLoadData, "cuModuleLoadData", 0)                                                                         \
    X(cuModuleLoadDataEx, "cuModuleLoadDataEx", 0)                                                                     \
    X(cuModuleUnload, "cuModuleUnload", DOUBLE_ACTS)                                                                   \
    X(cuModuleGetFunction, "cuModuleGetFunction", 0)                                                                   \
    X(cuModuleGetGlobal_v2, "cuModuleGetGlobal", 0)                                                                    \
    X(cuModuleGetLoadingMode, "cuModuleGetLoadingMode", 0)                                                             \
    X(cuModuleGetFunctionCount, "cuModuleGetFunctionCount", 0)                                                         \
    X(cuModuleEnumerateFunctions, "cuModuleEnumerateFunctions", 0)                                                     \
    X(cuFuncGetAttribute, "cuFuncGetAttribute", 0)                                                                     \
    X(cuFuncSetAttribute, "cuFuncSetAttribute", 0)                                                                     \
    X(cuFuncGetParamInfo, "cuFuncGetParamInfo", 0)                                                                     \
    X(cuFuncLoad, "cuFuncLoad", 0)                                                                                     \
    X(cuFuncIsLoaded, "cuFuncIsLoaded", 0)                                                                             \
    X(cuFuncGetName, "cuFuncGetName", 0)                                                                               \
    X(cuFuncGetModule, "cuFuncGetModule", 0)                                                                           \
    X(cuLaunchKernel, "cuLaunchKernel", 0)                                                                             \
    X(cuLaunchKernelEx, "cuLaunchKernelEx", 0)                                                                         \
    X(cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", 0)                                                       \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor", 0)                   \
    X(cuOccupancyMaxActiveClusters, "cuOccupancyMaxActiveClusters", 0)                                                 \
    X(cuStreamCreate, "cuStreamCreate", 0)                                                                             \
    X(cuStreamDestroy_v2, "cuStreamDestroy", DOUBLE_ACTS)                                                              \
    X(cuStreamSynchronize, "cuStreamSynchronize", 0)                                                                   \
    X(cuStreamQuery, "cuStreamQuery", 0)                                                                               \
    X(cuStreamGetCtx, "cuStreamGetCtx", 0)                                                                             \
    X(cuStreamIsCapturing, "cuStreamIsCapturing", 0)                                                                   \
    X(cuEventCreate, "cuEventCreate", 0)                                                                               \
    X(cuEventDestroy_v2, "cuEventDestroy", DOUBLE_ACTS)                                                                \
    X(cuEventRecord, "cuEventRecord", 0)                                                                               \
    X(cuEventQuery, "cuEventQuery", 0)                                                                                 \
    X(cuEventSynchronize, "cuEventSynchronize", 0)                                                                     \
    X(cuEventElapsedTime, "cuEventElapsedTime", 0)                                                                     \
    X(cuMemAlloc_v2, "cuMemAlloc", 0)                                                                                  \
    X(cuMemFree_v2, "cuMemFree", DOUBLE_ACTS)                                                                          \
    X(cuMemcpyHtoD_v2, "cuMemcpyHtoD", 0)                                                                              \
    X(cuMemcpyDtoH_v2, "cuMemcpyDtoH", 0)                                                                              \
    X(cuMemsetD8_v2, "cuMemsetD8", 0)                                                                                  \
    X(old_abi, "(an entry point of an older interface)", DOUBLE_FREE)

enum {
#define DCU_NUMBER(symbol, name, flags) CALL_##symbol,
    DCU_CALLS(DCU_NUMBER)
#undef DCU_NUMBER
        DCU_CALL_COUNT
};

#endif
