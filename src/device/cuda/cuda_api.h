/* The CUDA driver's interface in our own words: no vendor header is needed to build, and none is read.
 *
 * Every number here is of the driver's binary interface, which only grows.  tests/unit/device/test_cuda_vendor_header.c
 * compares all of them with the vendor's header where there is one. */
#ifndef SLWI_CUDA_API_H
#define SLWI_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

typedef int slwi_cu_result;
typedef int slwi_cu_device;
typedef uint64_t slwi_cu_address;

/* Distinct types: a handle of one kind given for another crashes inside the driver (device.md G 11). */
typedef struct slwi_cu_context slwi_cu_context;
typedef struct slwi_cu_module slwi_cu_module;
typedef struct slwi_cu_function slwi_cu_function;
typedef struct slwi_cu_stream slwi_cu_stream;
typedef struct slwi_cu_event slwi_cu_event;

_Static_assert(sizeof(int) == 4 && sizeof(unsigned) == 4, "enums and ids of the driver are 32 bits wide");
_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "CUDA has 64-bit systems only");

/* Results that something hangs on; all names are in cuda_errors.c. */
#define SLWI_CU_SUCCESS                  0
#define SLWI_CU_INVALID_VALUE            1
#define SLWI_CU_OUT_OF_MEMORY            2
#define SLWI_CU_NOT_INITIALIZED          3
#define SLWI_CU_DEINITIALIZED            4
#define SLWI_CU_STUB_LIBRARY             34
#define SLWI_CU_DEVICE_UNAVAILABLE       46
#define SLWI_CU_NO_DEVICE                100
#define SLWI_CU_INVALID_DEVICE           101
#define SLWI_CU_INVALID_IMAGE            200
#define SLWI_CU_INVALID_CONTEXT          201
#define SLWI_CU_NO_BINARY_FOR_GPU        209
#define SLWI_CU_ECC_UNCORRECTABLE        214
#define SLWI_CU_INVALID_PTX              218
#define SLWI_CU_NVLINK_UNCORRECTABLE     220
#define SLWI_CU_JIT_COMPILER_NOT_FOUND   221
#define SLWI_CU_UNSUPPORTED_PTX_VERSION  222
#define SLWI_CU_JIT_COMPILATION_DISABLED 223
#define SLWI_CU_CONTAINED                226
#define SLWI_CU_INVALID_HANDLE           400
#define SLWI_CU_NOT_FOUND                500
#define SLWI_CU_NOT_READY                600
#define SLWI_CU_ILLEGAL_ADDRESS          700
#define SLWI_CU_LAUNCH_OUT_OF_RESOURCES  701
#define SLWI_CU_LAUNCH_TIMEOUT           702
#define SLWI_CU_CONTEXT_IS_DESTROYED     709
#define SLWI_CU_ASSERT                   710
#define SLWI_CU_HARDWARE_STACK_ERROR     714
#define SLWI_CU_LAUNCH_FAILED            719
#define SLWI_CU_COOPERATIVE_TOO_LARGE    720
#define SLWI_CU_TENSOR_MEMORY_LEAK       721
#define SLWI_CU_SYSTEM_NOT_READY         802
#define SLWI_CU_SYSTEM_DRIVER_MISMATCH   803
#define SLWI_CU_COMPAT_NOT_SUPPORTED     804
#define SLWI_CU_CAPTURE_IMPLICIT         906
#define SLWI_CU_INVALID_CLUSTER_SIZE     912
#define SLWI_CU_UNKNOWN                  999

/* Attributes of a device. */
#define SLWI_CU_DEVICE_MAX_THREADS_PER_BLOCK     1
#define SLWI_CU_DEVICE_MAX_BLOCK_DIM_X           2
#define SLWI_CU_DEVICE_MAX_BLOCK_DIM_Y           3
#define SLWI_CU_DEVICE_MAX_BLOCK_DIM_Z           4
#define SLWI_CU_DEVICE_MAX_GRID_DIM_X            5
#define SLWI_CU_DEVICE_MAX_GRID_DIM_Y            6
#define SLWI_CU_DEVICE_MAX_GRID_DIM_Z            7
#define SLWI_CU_DEVICE_SHARED_PER_BLOCK          8
#define SLWI_CU_DEVICE_WARP_SIZE                 10
#define SLWI_CU_DEVICE_REGISTERS_PER_BLOCK       12
#define SLWI_CU_DEVICE_MULTIPROCESSORS           16
#define SLWI_CU_DEVICE_COMPUTE_MODE              20
#define SLWI_CU_DEVICE_CC_MAJOR                  75
#define SLWI_CU_DEVICE_CC_MINOR                  76
#define SLWI_CU_DEVICE_REGISTERS_PER_SM          82
#define SLWI_CU_DEVICE_COOPERATIVE_LAUNCH        95
#define SLWI_CU_DEVICE_SHARED_PER_BLOCK_OPTIN    97
#define SLWI_CU_DEVICE_RESERVED_SHARED_PER_BLOCK 111
#define SLWI_CU_DEVICE_CLUSTER_LAUNCH            120

#define SLWI_CU_COMPUTE_MODE_PROHIBITED 2

/* Attributes of a function. */
#define SLWI_CU_FUNC_MAX_THREADS_PER_BLOCK    0
#define SLWI_CU_FUNC_SHARED_SIZE_BYTES        1
#define SLWI_CU_FUNC_LOCAL_SIZE_BYTES         3
#define SLWI_CU_FUNC_NUM_REGS                 4
#define SLWI_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES 8
#define SLWI_CU_FUNC_NON_PORTABLE_CLUSTER     14

/* Options of the compiler inside the driver. Sizes stand in the pointer's place by value. */
#define SLWI_CU_JIT_INFO_LOG_BUFFER       3
#define SLWI_CU_JIT_INFO_LOG_BUFFER_SIZE  4
#define SLWI_CU_JIT_ERROR_LOG_BUFFER      5
#define SLWI_CU_JIT_ERROR_LOG_BUFFER_SIZE 6

#define SLWI_CU_PROC_ADDRESS_LEGACY_STREAM 1u
#define SLWI_CU_PROC_ADDRESS_FOUND         0
#define SLWI_CU_STREAM_DEFAULT_FLAGS       0u
#define SLWI_CU_EVENT_DISABLE_TIMING       2u
#define SLWI_CU_CAPTURE_MODE_RELAXED       2
#define SLWI_CU_CAPTURE_STATUS_NONE        0

/* Handles that stand for a default stream of the current context; NULL is the legacy one too. */
#define SLWI_CU_STREAM_LEGACY     1u
#define SLWI_CU_STREAM_PER_THREAD 2u

/* Launch attributes. */
#define SLWI_CU_LAUNCH_COOPERATIVE                       2
#define SLWI_CU_LAUNCH_CLUSTER_DIMENSION                 4
#define SLWI_CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION 6

typedef struct slwi_cu_launch_attribute {
    int id;
    char padding[4];
    union {
        char bytes[64];
        int flag;
        struct {
            unsigned x, y, z;
        } cluster;
        uint64_t alignment;
    } value;
} slwi_cu_launch_attribute;

typedef struct slwi_cu_launch_config {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    slwi_cu_stream *stream;
    slwi_cu_launch_attribute *attributes;
    unsigned attribute_count;
} slwi_cu_launch_config;

_Static_assert(sizeof(slwi_cu_launch_attribute) == 72, "ABI");
_Static_assert(offsetof(slwi_cu_launch_attribute, id) == 0, "ABI");
_Static_assert(offsetof(slwi_cu_launch_attribute, value) == 8, "ABI");
_Static_assert(sizeof(((slwi_cu_launch_attribute *)0)->value) == 64, "ABI");
_Static_assert(sizeof(slwi_cu_launch_config) == 56, "ABI");
_Static_assert(offsetof(slwi_cu_launch_config, grid) == 0, "ABI");
_Static_assert(offsetof(slwi_cu_launch_config, block) == 12, "ABI");
_Static_assert(offsetof(slwi_cu_launch_config, shared_bytes) == 24, "ABI");
_Static_assert(offsetof(slwi_cu_launch_config, stream) == 32, "ABI");
_Static_assert(offsetof(slwi_cu_launch_config, attributes) == 40, "ABI");
_Static_assert(offsetof(slwi_cu_launch_config, attribute_count) == 48, "ABI");

/* The two ways to ask the driver for a symbol of a version: with what it found (12.0), and without (11.3). */
typedef slwi_cu_result slwi_cu_get_proc_address_v2(const char *symbol, void **function, int version, uint64_t flags,
                                                   int *found);
typedef slwi_cu_result slwi_cu_get_proc_address_v1(const char *symbol, void **function, int version, uint64_t flags);

/* The symbols.  NAME, the version whose signature is declared here, the name the library exports it by, the signature.
 *
 * The version is asked for, never the driver's own: a 13.x driver answers 13000 with a cuCtxSynchronize that takes a
 * context, and "cuMemAlloc" without _v2 is the 32-bit function of CUDA 2 (device.md A.2). */
#define SLWI_CUDA_SYMBOLS(REQUIRED, OPTIONAL)                                                                          \
    REQUIRED(cuInit, 2000, "cuInit", (unsigned flags))                                                                 \
    REQUIRED(cuDriverGetVersion, 2020, "cuDriverGetVersion", (int *version))                                           \
    REQUIRED(cuDeviceGetCount, 2000, "cuDeviceGetCount", (int *count))                                                 \
    REQUIRED(cuDeviceGet, 2000, "cuDeviceGet", (slwi_cu_device * device, int ordinal))                                 \
    REQUIRED(cuDeviceGetName, 2000, "cuDeviceGetName", (char *name, int size, slwi_cu_device device))                  \
    REQUIRED(cuDeviceGetAttribute, 2000, "cuDeviceGetAttribute", (int *value, int attribute, slwi_cu_device device))   \
    REQUIRED(cuDevicePrimaryCtxRetain, 7000, "cuDevicePrimaryCtxRetain",                                               \
             (slwi_cu_context * *context, slwi_cu_device device))                                                      \
    REQUIRED(cuDevicePrimaryCtxGetState, 7000, "cuDevicePrimaryCtxGetState",                                           \
             (slwi_cu_device device, unsigned *flags, int *active))                                                    \
    REQUIRED(cuDevicePrimaryCtxRelease, 11000, "cuDevicePrimaryCtxRelease_v2", (slwi_cu_device device))                \
    REQUIRED(cuCtxGetCurrent, 4000, "cuCtxGetCurrent", (slwi_cu_context * *context))                                   \
    REQUIRED(cuCtxPushCurrent, 4000, "cuCtxPushCurrent_v2", (slwi_cu_context * context))                               \
    REQUIRED(cuCtxPopCurrent, 4000, "cuCtxPopCurrent_v2", (slwi_cu_context * *context))                                \
    REQUIRED(cuCtxGetDevice, 2000, "cuCtxGetDevice", (slwi_cu_device * device))                                        \
    REQUIRED(cuCtxSynchronize, 2000, "cuCtxSynchronize", (void))                                                       \
    REQUIRED(cuModuleLoadData, 2000, "cuModuleLoadData", (slwi_cu_module * *module, const void *image))                \
    REQUIRED(cuModuleLoadDataEx, 2010, "cuModuleLoadDataEx",                                                           \
             (slwi_cu_module * *module, const void *image, unsigned count, int *options, void **values))               \
    REQUIRED(cuModuleUnload, 2000, "cuModuleUnload", (slwi_cu_module * module))                                        \
    REQUIRED(cuModuleGetFunction, 2000, "cuModuleGetFunction",                                                         \
             (slwi_cu_function * *function, slwi_cu_module * module, const char *name))                                \
    REQUIRED(cuFuncGetAttribute, 2020, "cuFuncGetAttribute", (int *value, int attribute, slwi_cu_function *function))  \
    REQUIRED(cuFuncSetAttribute, 9000, "cuFuncSetAttribute", (slwi_cu_function * function, int attribute, int value))  \
    REQUIRED(cuLaunchKernel, 4000, "cuLaunchKernel",                                                                   \
             (slwi_cu_function * function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
              unsigned block_y, unsigned block_z, unsigned shared_bytes, slwi_cu_stream *stream, void **params,        \
              void **extra))                                                                                           \
    REQUIRED(cuStreamCreate, 2000, "cuStreamCreate", (slwi_cu_stream * *stream, unsigned flags))                       \
    REQUIRED(cuStreamDestroy, 4000, "cuStreamDestroy_v2", (slwi_cu_stream * stream))                                   \
    REQUIRED(cuStreamSynchronize, 2000, "cuStreamSynchronize", (slwi_cu_stream * stream))                              \
    REQUIRED(cuEventCreate, 2000, "cuEventCreate", (slwi_cu_event * *event, unsigned flags))                           \
    REQUIRED(cuEventDestroy, 4000, "cuEventDestroy_v2", (slwi_cu_event * event))                                       \
    REQUIRED(cuEventRecord, 2000, "cuEventRecord", (slwi_cu_event * event, slwi_cu_stream * stream))                   \
    REQUIRED(cuEventQuery, 2000, "cuEventQuery", (slwi_cu_event * event))                                              \
    REQUIRED(cuMemAlloc, 3020, "cuMemAlloc_v2", (slwi_cu_address * address, size_t size_bytes))                        \
    REQUIRED(cuMemFree, 3020, "cuMemFree_v2", (slwi_cu_address address))                                               \
    REQUIRED(cuMemcpyHtoD, 3020, "cuMemcpyHtoD_v2", (slwi_cu_address to, const void *from, size_t size_bytes))         \
    REQUIRED(cuMemcpyDtoH, 3020, "cuMemcpyDtoH_v2", (void *to, slwi_cu_address from, size_t size_bytes))               \
    OPTIONAL(cuGetErrorName, 6000, "cuGetErrorName", (slwi_cu_result result, const char **name))                       \
    OPTIONAL(cuDeviceTotalMem, 3020, "cuDeviceTotalMem_v2", (size_t * size_bytes, slwi_cu_device device))              \
    OPTIONAL(cuCtxGetId, 12000, "cuCtxGetId", (slwi_cu_context * context, unsigned long long *id))                     \
    OPTIONAL(cuModuleGetGlobal, 3020, "cuModuleGetGlobal_v2",                                                          \
             (slwi_cu_address * address, size_t * size_bytes, slwi_cu_module * module, const char *name))              \
    OPTIONAL(cuFuncLoad, 12040, "cuFuncLoad", (slwi_cu_function * function))                                           \
    OPTIONAL(cuFuncGetParamInfo, 12040, "cuFuncGetParamInfo",                                                          \
             (slwi_cu_function * function, size_t index, size_t * offset, size_t * size_bytes))                        \
    OPTIONAL(cuLaunchKernelEx, 11060, "cuLaunchKernelEx",                                                              \
             (const slwi_cu_launch_config *config, slwi_cu_function *function, void **params, void **extra))           \
    OPTIONAL(cuLaunchCooperativeKernel, 9000, "cuLaunchCooperativeKernel",                                             \
             (slwi_cu_function * function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
              unsigned block_y, unsigned block_z, unsigned shared_bytes, slwi_cu_stream *stream, void **params))       \
    OPTIONAL(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, "cuOccupancyMaxActiveBlocksPerMultiprocessor",         \
             (int *blocks, slwi_cu_function *function, int threads, size_t shared_bytes))                              \
    OPTIONAL(cuOccupancyMaxActiveClusters, 11070, "cuOccupancyMaxActiveClusters",                                      \
             (int *clusters, slwi_cu_function *function, const slwi_cu_launch_config *config))                         \
    OPTIONAL(cuThreadExchangeStreamCaptureMode, 10010, "cuThreadExchangeStreamCaptureMode", (int *mode))               \
    OPTIONAL(cuStreamIsCapturing, 10000, "cuStreamIsCapturing", (slwi_cu_stream * stream, int *status))

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator and a parameter list take none */
#define SLWI_CUDA_POINTER(name, version, exported, parameters) slwi_cu_result(*name) parameters;
typedef struct slwi_cuda_api {
    SLWI_CUDA_SYMBOLS(SLWI_CUDA_POINTER, SLWI_CUDA_POINTER)
} slwi_cuda_api;
#undef SLWI_CUDA_POINTER

_Static_assert(sizeof(((slwi_cuda_api *)0)->cuInit) == sizeof(void *), "POSIX: addresses of functions fit in void *");

/* A bit for each optional symbol, in the order of the list. */
#define SLWI_CUDA_NO_INDEX(name, version, exported, parameters)
#define SLWI_CUDA_INDEX(name, version, exported, parameters) SLWI_CUDA_OPTIONAL_##name,
enum { SLWI_CUDA_SYMBOLS(SLWI_CUDA_NO_INDEX, SLWI_CUDA_INDEX) SLWI_CUDA_OPTIONAL_COUNT };
#undef SLWI_CUDA_NO_INDEX
#undef SLWI_CUDA_INDEX
_Static_assert(SLWI_CUDA_OPTIONAL_COUNT <= 32, "one bit each");

#define SLWI_CUDA_CAN(name) (1u << SLWI_CUDA_OPTIONAL_##name)

#endif
