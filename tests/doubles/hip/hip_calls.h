/* Every call of the double: X(symbol, flags). */
#ifndef HIP_CALLS_H
#define HIP_CALLS_H

#define DHIP_CALLS(X)                                                                                                  \
    X(hipInit, DOUBLE_FREE)                                                                                            \
    X(hipDriverGetVersion, DOUBLE_FREE)                                                                                \
    X(hipRuntimeGetVersion, DOUBLE_FREE)                                                                               \
    X(hipGetDeviceCount, DOUBLE_FREE)                                                                                  \
    X(hipGetLastError, DOUBLE_FREE)                                                                                    \
    X(hipPeekAtLastError, DOUBLE_FREE)                                                                                 \
    X(hipSetDevice, 0)                                                                                                 \
    X(hipGetDevice, 0)                                                                                                 \
    X(hipDeviceGetAttribute, 0)                                                                                        \
    X(hipDeviceGetName, 0)                                                                                             \
    X(hipDeviceTotalMem, 0)                                                                                            \
    X(hipGetDevicePropertiesR0600, 0)                                                                                  \
    X(hipGetDeviceProperties, 0)                                                                                       \
    X(hipDeviceGetPCIBusId, 0)                                                                                         \
    X(hipDeviceSynchronize, 0)                                                                                         \
    X(hipModuleLoadData, 0)                                                                                            \
    X(hipModuleLoadDataEx, 0)                                                                                          \
    X(hipModuleUnload, DOUBLE_ACTS)                                                                                    \
    X(hipModuleGetFunction, 0)                                                                                         \
    X(hipModuleGetGlobal, 0)                                                                                           \
    X(hipFuncGetAttribute, 0)                                                                                          \
    X(hipModuleLaunchKernel, 0)                                                                                        \
    X(hipModuleLaunchCooperativeKernel, 0)                                                                             \
    X(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, 0)                                                           \
    X(hipStreamCreateWithFlags, 0)                                                                                     \
    X(hipStreamDestroy, DOUBLE_ACTS)                                                                                   \
    X(hipStreamSynchronize, 0)                                                                                         \
    X(hipStreamQuery, 0)                                                                                               \
    X(hipEventCreateWithFlags, 0)                                                                                      \
    X(hipEventRecord, 0)                                                                                               \
    X(hipEventSynchronize, 0)                                                                                          \
    X(hipEventQuery, 0)                                                                                                \
    X(hipEventDestroy, DOUBLE_ACTS)                                                                                    \
    X(hipMalloc, 0)                                                                                                    \
    X(hipFree, DOUBLE_ACTS)                                                                                            \
    X(hipMemcpyHtoD, 0)                                                                                                \
    X(hipMemcpyDtoH, 0)                                                                                                \
    X(hipStreamIsCapturing, 0)                                                                                         \
    X(hipThreadExchangeStreamCaptureMode, 0)

enum {
#define DHIP_NUMBER(symbol, flags) CALL_##symbol,
    DHIP_CALLS(DHIP_NUMBER)
#undef DHIP_NUMBER
        DHIP_CALL_COUNT
};

/* As DOUBLE_CALL; what fails is kept as the thread's last error. */
#define DHIP_CALL(call, body)                                                                                          \
    do {                                                                                                               \
        int code_ = double_begin(call);                                                                                \
        if (code_ == DOUBLE_GO) code_ = (body);                                                                        \
        return double_end(call, dhip_note(code_));                                                                     \
    } while (0)

#endif
