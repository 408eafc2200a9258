/* HIP's interface in our own words: no vendor header is needed to build, and none is read.
 *
 * The numbers are the same in ROCm 4.2 to 7 (device.md B.1); hipGetDeviceProperties is not, see below. */
#ifndef SLWI_HIP_API_H
#define SLWI_HIP_API_H

#include <stddef.h>
#include <stdint.h>

typedef int slwi_hip_result;

/* Distinct types, so that a handle of one kind is not given for another. */
typedef struct slwi_hip_native_module slwi_hip_native_module;
typedef struct slwi_hip_native_function slwi_hip_native_function;
typedef struct slwi_hip_native_stream slwi_hip_native_stream;
typedef struct slwi_hip_native_event slwi_hip_native_event;

_Static_assert(sizeof(int) == 4 && sizeof(unsigned) == 4, "enums and ids of HIP are 32 bits wide");
_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "HIP has 64-bit systems only");

/* Results that something hangs on; all names are in hip_errors.c. */
#define SLWI_HIP_SUCCESS                   0
#define SLWI_HIP_INVALID_VALUE             1
#define SLWI_HIP_OUT_OF_MEMORY             2
#define SLWI_HIP_NOT_INITIALIZED           3
#define SLWI_HIP_DEINITIALIZED             4
#define SLWI_HIP_INVALID_CONFIGURATION     9
#define SLWI_HIP_INSUFFICIENT_DRIVER       35
#define SLWI_HIP_PRIOR_LAUNCH_FAILURE      53
#define SLWI_HIP_NO_DEVICE                 100
#define SLWI_HIP_INVALID_DEVICE            101
#define SLWI_HIP_INVALID_IMAGE             200
#define SLWI_HIP_NO_BINARY_FOR_GPU         209
#define SLWI_HIP_ECC_NOT_CORRECTABLE       214
#define SLWI_HIP_INVALID_KERNEL_FILE       218
#define SLWI_HIP_SHARED_OBJECT_INIT_FAILED 303
#define SLWI_HIP_NOT_FOUND                 500
#define SLWI_HIP_NOT_READY                 600
#define SLWI_HIP_ILLEGAL_ADDRESS           700
#define SLWI_HIP_LAUNCH_OUT_OF_RESOURCES   701
#define SLWI_HIP_LAUNCH_TIMEOUT            702
#define SLWI_HIP_CONTEXT_IS_DESTROYED      709
#define SLWI_HIP_ASSERT                    710
#define SLWI_HIP_LAUNCH_FAILURE            719
#define SLWI_HIP_COOPERATIVE_TOO_LARGE     720
#define SLWI_HIP_NOT_SUPPORTED             801
#define SLWI_HIP_CAPTURE_IMPLICIT          906
#define SLWI_HIP_UNKNOWN                   999

/* Attributes of a device. */
#define SLWI_HIP_DEVICE_COMPUTE_MODE          6
#define SLWI_HIP_DEVICE_COOPERATIVE_LAUNCH    10
#define SLWI_HIP_DEVICE_CC_MAJOR              23
#define SLWI_HIP_DEVICE_MAX_BLOCK_DIM_X       26
#define SLWI_HIP_DEVICE_MAX_BLOCK_DIM_Y       27
#define SLWI_HIP_DEVICE_MAX_BLOCK_DIM_Z       28
#define SLWI_HIP_DEVICE_MAX_GRID_DIM_X        29
#define SLWI_HIP_DEVICE_MAX_GRID_DIM_Y        30
#define SLWI_HIP_DEVICE_MAX_GRID_DIM_Z        31
#define SLWI_HIP_DEVICE_MAX_THREADS_PER_BLOCK 56
#define SLWI_HIP_DEVICE_CC_MINOR              61
#define SLWI_HIP_DEVICE_MULTIPROCESSORS       63
#define SLWI_HIP_DEVICE_SHARED_PER_BLOCK      74
#define SLWI_HIP_DEVICE_WARP_SIZE             87

#define SLWI_HIP_COMPUTE_MODE_PROHIBITED 2

/* Attributes of a function. */
#define SLWI_HIP_FUNC_MAX_THREADS_PER_BLOCK 0
#define SLWI_HIP_FUNC_SHARED_SIZE_BYTES     1
#define SLWI_HIP_FUNC_LOCAL_SIZE_BYTES      3
#define SLWI_HIP_FUNC_NUM_REGS              4

#define SLWI_HIP_STREAM_DEFAULT_FLAGS 0u
#define SLWI_HIP_EVENT_DISABLE_TIMING 2u
#define SLWI_HIP_CAPTURE_MODE_RELAXED 2
#define SLWI_HIP_CAPTURE_STATUS_NONE  0

/* hipDeviceProp_t changed with 6.0 and its function with it: the new one has a name of its own, the old name kept the
   old structure. Only the name of the architecture is read of either. */
#define SLWI_HIP_PROPERTIES_R0600_BYTES        1472
#define SLWI_HIP_PROPERTIES_R0600_ARCHITECTURE 1160
#define SLWI_HIP_PROPERTIES_OLD_BYTES          792
#define SLWI_HIP_PROPERTIES_OLD_ARCHITECTURE   396
#define SLWI_HIP_ARCHITECTURE_BYTES            256

/* The symbols.  NAME, what it returns, the signature. Nothing is asked for by version: a function whose signature
   changes gets another name. */
#define SLWI_HIP_SYMBOLS(REQUIRED, OPTIONAL)                                                                           \
    REQUIRED(hipInit, slwi_hip_result, (unsigned flags))                                                               \
    REQUIRED(hipGetDeviceCount, slwi_hip_result, (int *count))                                                         \
    REQUIRED(hipSetDevice, slwi_hip_result, (int device))                                                              \
    REQUIRED(hipGetDevice, slwi_hip_result, (int *device))                                                             \
    REQUIRED(hipDeviceGetAttribute, slwi_hip_result, (int *value, int attribute, int device))                          \
    REQUIRED(hipModuleLoadData, slwi_hip_result, (slwi_hip_native_module * *module, const void *image))                \
    REQUIRED(hipModuleUnload, slwi_hip_result, (slwi_hip_native_module * module))                                      \
    REQUIRED(hipModuleGetFunction, slwi_hip_result,                                                                    \
             (slwi_hip_native_function * *function, slwi_hip_native_module * module, const char *name))                \
    REQUIRED(hipFuncGetAttribute, slwi_hip_result, (int *value, int attribute, slwi_hip_native_function *function))    \
    REQUIRED(hipModuleLaunchKernel, slwi_hip_result,                                                                   \
             (slwi_hip_native_function * function, unsigned grid_x, unsigned grid_y, unsigned grid_z,                  \
              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,                             \
              slwi_hip_native_stream *stream, void **params, void **extra))                                            \
    REQUIRED(hipGetLastError, slwi_hip_result, (void))                                                                 \
    REQUIRED(hipStreamCreateWithFlags, slwi_hip_result, (slwi_hip_native_stream * *stream, unsigned flags))            \
    REQUIRED(hipStreamDestroy, slwi_hip_result, (slwi_hip_native_stream * stream))                                     \
    REQUIRED(hipStreamSynchronize, slwi_hip_result, (slwi_hip_native_stream * stream))                                 \
    REQUIRED(hipEventCreateWithFlags, slwi_hip_result, (slwi_hip_native_event * *event, unsigned flags))               \
    REQUIRED(hipEventDestroy, slwi_hip_result, (slwi_hip_native_event * event))                                        \
    REQUIRED(hipEventRecord, slwi_hip_result, (slwi_hip_native_event * event, slwi_hip_native_stream * stream))        \
    REQUIRED(hipEventQuery, slwi_hip_result, (slwi_hip_native_event * event))                                          \
    REQUIRED(hipDeviceSynchronize, slwi_hip_result, (void))                                                            \
    REQUIRED(hipMalloc, slwi_hip_result, (void **address, size_t size_bytes))                                          \
    REQUIRED(hipFree, slwi_hip_result, (void *address))                                                                \
    REQUIRED(hipMemcpyHtoD, slwi_hip_result, (void *to, const void *from, size_t size_bytes))                          \
    REQUIRED(hipMemcpyDtoH, slwi_hip_result, (void *to, void *from, size_t size_bytes))                                \
    OPTIONAL(hipGetErrorName, const char *, (slwi_hip_result result))                                                  \
    OPTIONAL(hipRuntimeGetVersion, slwi_hip_result, (int *version))                                                    \
    OPTIONAL(hipDeviceGetName, slwi_hip_result, (char *name, int size, int device))                                    \
    OPTIONAL(hipDeviceTotalMem, slwi_hip_result, (size_t * size_bytes, int device))                                    \
    OPTIONAL(hipDeviceGetPCIBusId, slwi_hip_result, (char *id, int size, int device))                                  \
    OPTIONAL(hipGetDevicePropertiesR0600, slwi_hip_result, (void *properties, int device))                             \
    OPTIONAL(hipGetDeviceProperties, slwi_hip_result, (void *properties, int device))                                  \
    OPTIONAL(hipModuleGetGlobal, slwi_hip_result,                                                                      \
             (void **address, size_t *size_bytes, slwi_hip_native_module *module, const char *name))                   \
    OPTIONAL(hipModuleLaunchCooperativeKernel, slwi_hip_result,                                                        \
             (slwi_hip_native_function * function, unsigned grid_x, unsigned grid_y, unsigned grid_z,                  \
              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,                             \
              slwi_hip_native_stream *stream, void **params))                                                          \
    OPTIONAL(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, slwi_hip_result,                                      \
             (int *blocks, slwi_hip_native_function *function, int threads, size_t shared_bytes))                      \
    OPTIONAL(hipThreadExchangeStreamCaptureMode, slwi_hip_result, (int *mode))                                         \
    OPTIONAL(hipStreamIsCapturing, slwi_hip_result, (slwi_hip_native_stream * stream, int *status))                    \
    OPTIONAL(hipPeekAtLastError, slwi_hip_result, (void))

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator and a parameter list take none */
#define SLWI_HIP_POINTER(name, result, parameters) result(*name) parameters;
typedef struct slwi_hip_api {
    SLWI_HIP_SYMBOLS(SLWI_HIP_POINTER, SLWI_HIP_POINTER)
} slwi_hip_api;
#undef SLWI_HIP_POINTER

_Static_assert(sizeof(((slwi_hip_api *)0)->hipInit) == sizeof(void *), "POSIX: addresses of functions fit in void *");

/* A bit for each optional symbol, in the order of the list. */
#define SLWI_HIP_NO_INDEX(name, result, parameters)
#define SLWI_HIP_INDEX(name, result, parameters) SLWI_HIP_OPTIONAL_##name,
enum { SLWI_HIP_SYMBOLS(SLWI_HIP_NO_INDEX, SLWI_HIP_INDEX) SLWI_HIP_OPTIONAL_COUNT };
#undef SLWI_HIP_NO_INDEX
#undef SLWI_HIP_INDEX
_Static_assert(SLWI_HIP_OPTIONAL_COUNT <= 32, "one bit each");

#define SLWI_HIP_CAN(name) (1u << SLWI_HIP_OPTIONAL_##name)

#endif
