/* Our declarations of the CUDA driver's interface against the vendor's header, where there is one on the include path:
 * so that library and double cannot share one mistake.  Everything is compared when this file is compiled, each symbol's
 * whole parameter list too; the names of results when it runs. */
#include "cuda_driver.h"
#include "slt.h"

#if defined(__has_include)
#if __has_include(<cuda.h>) && __has_include(<cudaTypedefs.h>)
#define HAVE_VENDOR_HEADER 1
#endif
#endif

#ifdef HAVE_VENDOR_HEADER
#include <string.h>

#include <cuda.h>

/* The vendor's signatures with his enums as what they are in the interface, and are to us: an int each. That they are
   as wide is compared below. */
#define CUresult                       int
#define CUdevice_attribute             int
#define CUfunction_attribute           int
#define CUjit_option                   int
#define CUstreamCaptureMode            int
#define CUdriverProcAddressQueryResult int
#include <cudaTypedefs.h>
#undef CUresult
#undef CUdevice_attribute
#undef CUfunction_attribute
#undef CUjit_option
#undef CUstreamCaptureMode
#undef CUdriverProcAddressQueryResult

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours " is not " #theirs)

SAME(SLWI_CU_SUCCESS, CUDA_SUCCESS);
SAME(SLWI_CU_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME(SLWI_CU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(SLWI_CU_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME(SLWI_CU_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED);
SAME(SLWI_CU_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY);
SAME(SLWI_CU_DEVICE_UNAVAILABLE, CUDA_ERROR_DEVICE_UNAVAILABLE);
SAME(SLWI_CU_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(SLWI_CU_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
SAME(SLWI_CU_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE);
SAME(SLWI_CU_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
SAME(SLWI_CU_NO_BINARY_FOR_GPU, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(SLWI_CU_ECC_UNCORRECTABLE, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME(SLWI_CU_INVALID_PTX, CUDA_ERROR_INVALID_PTX);
SAME(SLWI_CU_NVLINK_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE);
SAME(SLWI_CU_JIT_COMPILER_NOT_FOUND, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
SAME(SLWI_CU_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(SLWI_CU_JIT_COMPILATION_DISABLED, CUDA_ERROR_JIT_COMPILATION_DISABLED);
SAME(SLWI_CU_CONTAINED, CUDA_ERROR_CONTAINED);
SAME(SLWI_CU_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
SAME(SLWI_CU_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
SAME(SLWI_CU_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(SLWI_CU_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(SLWI_CU_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
SAME(SLWI_CU_LAUNCH_TIMEOUT, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME(SLWI_CU_CONTEXT_IS_DESTROYED, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SAME(SLWI_CU_ASSERT, CUDA_ERROR_ASSERT);
SAME(SLWI_CU_HARDWARE_STACK_ERROR, CUDA_ERROR_HARDWARE_STACK_ERROR);
SAME(SLWI_CU_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED);
SAME(SLWI_CU_COOPERATIVE_TOO_LARGE, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
SAME(SLWI_CU_TENSOR_MEMORY_LEAK, CUDA_ERROR_TENSOR_MEMORY_LEAK);
SAME(SLWI_CU_SYSTEM_NOT_READY, CUDA_ERROR_SYSTEM_NOT_READY);
SAME(SLWI_CU_SYSTEM_DRIVER_MISMATCH, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
SAME(SLWI_CU_COMPAT_NOT_SUPPORTED, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
SAME(SLWI_CU_INVALID_CLUSTER_SIZE, CUDA_ERROR_INVALID_CLUSTER_SIZE);
SAME(SLWI_CU_UNKNOWN, CUDA_ERROR_UNKNOWN);

SAME(SLWI_CU_DEVICE_MAX_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(SLWI_CU_DEVICE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
SAME(SLWI_CU_DEVICE_MAX_BLOCK_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
SAME(SLWI_CU_DEVICE_MAX_BLOCK_DIM_Z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
SAME(SLWI_CU_DEVICE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
SAME(SLWI_CU_DEVICE_MAX_GRID_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
SAME(SLWI_CU_DEVICE_MAX_GRID_DIM_Z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
SAME(SLWI_CU_DEVICE_SHARED_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
SAME(SLWI_CU_DEVICE_WARP_SIZE, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
SAME(SLWI_CU_DEVICE_REGISTERS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
SAME(SLWI_CU_DEVICE_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(SLWI_CU_DEVICE_COMPUTE_MODE, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
SAME(SLWI_CU_DEVICE_CC_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(SLWI_CU_DEVICE_CC_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(SLWI_CU_DEVICE_REGISTERS_PER_SM, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME(SLWI_CU_DEVICE_COOPERATIVE_LAUNCH, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
SAME(SLWI_CU_DEVICE_SHARED_PER_BLOCK_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(SLWI_CU_DEVICE_RESERVED_SHARED_PER_BLOCK, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
SAME(SLWI_CU_DEVICE_CLUSTER_LAUNCH, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
SAME(SLWI_CU_COMPUTE_MODE_PROHIBITED, CU_COMPUTEMODE_PROHIBITED);

SAME(SLWI_CU_FUNC_MAX_THREADS_PER_BLOCK, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(SLWI_CU_FUNC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(SLWI_CU_FUNC_LOCAL_SIZE_BYTES, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(SLWI_CU_FUNC_NUM_REGS, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(SLWI_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(SLWI_CU_FUNC_NON_PORTABLE_CLUSTER, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);

SAME(SLWI_CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER);
SAME(SLWI_CU_JIT_INFO_LOG_BUFFER_SIZE, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
SAME(SLWI_CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER);
SAME(SLWI_CU_JIT_ERROR_LOG_BUFFER_SIZE, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);

SAME(SLWI_CU_PROC_ADDRESS_LEGACY_STREAM, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
SAME(SLWI_CU_PROC_ADDRESS_FOUND, CU_GET_PROC_ADDRESS_SUCCESS);
SAME(SLWI_CU_STREAM_DEFAULT_FLAGS, CU_STREAM_DEFAULT);
SAME(SLWI_CU_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING);
SAME(SLWI_CU_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(SLWI_CU_LAUNCH_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME(SLWI_CU_LAUNCH_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME(SLWI_CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);

SAME(sizeof(slwi_cu_result), sizeof(CUresult));
SAME(sizeof(slwi_cu_device), sizeof(CUdevice));
SAME(sizeof(slwi_cu_address), sizeof(CUdeviceptr));
SAME(sizeof(slwi_cu_context *), sizeof(CUcontext));
SAME(sizeof(int), sizeof(CUdevice_attribute));
SAME(sizeof(int), sizeof(CUfunction_attribute));
SAME(sizeof(int), sizeof(CUjit_option));
SAME(sizeof(int), sizeof(CUstreamCaptureMode));
SAME(sizeof(int), sizeof(CUdriverProcAddressQueryResult));
SAME(sizeof(uint64_t), sizeof(cuuint64_t));
SAME(sizeof(slwi_cu_launch_config), sizeof(CUlaunchConfig));
SAME(offsetof(slwi_cu_launch_config, grid), offsetof(CUlaunchConfig, gridDimX));
SAME(offsetof(slwi_cu_launch_config, grid[2]), offsetof(CUlaunchConfig, gridDimZ));
SAME(offsetof(slwi_cu_launch_config, block), offsetof(CUlaunchConfig, blockDimX));
SAME(offsetof(slwi_cu_launch_config, block[2]), offsetof(CUlaunchConfig, blockDimZ));
SAME(offsetof(slwi_cu_launch_config, shared_bytes), offsetof(CUlaunchConfig, sharedMemBytes));
SAME(offsetof(slwi_cu_launch_config, stream), offsetof(CUlaunchConfig, hStream));
SAME(offsetof(slwi_cu_launch_config, attributes), offsetof(CUlaunchConfig, attrs));
SAME(offsetof(slwi_cu_launch_config, attribute_count), offsetof(CUlaunchConfig, numAttrs));
SAME(sizeof(slwi_cu_launch_attribute), sizeof(CUlaunchAttribute));
SAME(_Alignof(slwi_cu_launch_attribute), _Alignof(CUlaunchAttribute));
SAME(offsetof(slwi_cu_launch_attribute, id), offsetof(CUlaunchAttribute, id));
SAME(offsetof(slwi_cu_launch_attribute, value), offsetof(CUlaunchAttribute, value));
SAME(offsetof(slwi_cu_launch_attribute, value.flag), offsetof(CUlaunchAttribute, value.cooperative));
SAME(offsetof(slwi_cu_launch_attribute, value.flag),
     offsetof(CUlaunchAttribute, value.programmaticStreamSerializationAllowed));
SAME(offsetof(slwi_cu_launch_attribute, value.cluster.x), offsetof(CUlaunchAttribute, value.clusterDim.x));
SAME(offsetof(slwi_cu_launch_attribute, value.cluster.z), offsetof(CUlaunchAttribute, value.clusterDim.z));

SAME(_Generic((PFN_cuGetProcAddress_v11030)NULL, slwi_cu_get_proc_address_v1 * : 1, default : 0), 1);
SAME(_Generic((PFN_cuGetProcAddress_v12000)NULL, slwi_cu_get_proc_address_v2 * : 1, default : 0), 1);

/* From here on our names mean the vendor's types, so that the list of symbols declares what he does, if it is right. A
   symbol whose pinned version does not exist has no such pointer type; one of other parameters is not compatible. */
#define slwi_cu_context       struct CUctx_st
#define slwi_cu_module        struct CUmod_st
#define slwi_cu_function      struct CUfunc_st
#define slwi_cu_stream        struct CUstream_st
#define slwi_cu_event         struct CUevent_st
#define slwi_cu_address       CUdeviceptr
#define slwi_cu_launch_config CUlaunchConfig
#define SIGNATURE(name, version, exported, parameters)                                                                 \
    _Static_assert(_Generic((PFN_##name##_v##version)NULL, int(*) parameters : 1, default : 0),                        \
                   #name " is declared otherwise than by the vendor");
SLWI_CUDA_SYMBOLS(SIGNATURE, SIGNATURE)
#undef slwi_cu_address

#if CUDA_VERSION >= 13000
/* All of 13.0's. */
#define RESULTS(X)                                                                                                                               \
    X(CUDA_SUCCESS)                                                                                                                              \
    X(CUDA_ERROR_INVALID_VALUE) X(CUDA_ERROR_OUT_OF_MEMORY) X(CUDA_ERROR_NOT_INITIALIZED) X(CUDA_ERROR_DEINITIALIZED) X(                         \
        CUDA_ERROR_PROFILER_DISABLED) X(CUDA_ERROR_PROFILER_NOT_INITIALIZED) X(CUDA_ERROR_PROFILER_ALREADY_STARTED)                              \
        X(CUDA_ERROR_PROFILER_ALREADY_STOPPED) X(CUDA_ERROR_STUB_LIBRARY) X(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) X(                            \
            CUDA_ERROR_DEVICE_UNAVAILABLE) X(CUDA_ERROR_NO_DEVICE) X(CUDA_ERROR_INVALID_DEVICE) X(CUDA_ERROR_DEVICE_NOT_LICENSED)                \
            X(CUDA_ERROR_INVALID_IMAGE) X(CUDA_ERROR_INVALID_CONTEXT) X(CUDA_ERROR_CONTEXT_ALREADY_CURRENT) X(                                   \
                CUDA_ERROR_MAP_FAILED) X(CUDA_ERROR_UNMAP_FAILED) X(CUDA_ERROR_ARRAY_IS_MAPPED) X(CUDA_ERROR_ALREADY_MAPPED)                     \
                X(CUDA_ERROR_NO_BINARY_FOR_GPU) X(CUDA_ERROR_ALREADY_ACQUIRED) X(CUDA_ERROR_NOT_MAPPED) X(                                       \
                    CUDA_ERROR_NOT_MAPPED_AS_ARRAY) X(CUDA_ERROR_NOT_MAPPED_AS_POINTER) X(CUDA_ERROR_ECC_UNCORRECTABLE)                          \
                    X(CUDA_ERROR_UNSUPPORTED_LIMIT) X(CUDA_ERROR_CONTEXT_ALREADY_IN_USE) X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED) X(                \
                        CUDA_ERROR_INVALID_PTX) X(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT) X(CUDA_ERROR_NVLINK_UNCORRECTABLE)                        \
                        X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND) X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION) X(                                            \
                            CUDA_ERROR_JIT_COMPILATION_DISABLED) X(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY) X(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC)  \
                            X(CUDA_ERROR_CONTAINED) X(CUDA_ERROR_INVALID_SOURCE) X(CUDA_ERROR_FILE_NOT_FOUND) X(                                 \
                                CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND) X(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED)                               \
                                X(CUDA_ERROR_OPERATING_SYSTEM) X(CUDA_ERROR_INVALID_HANDLE) X(CUDA_ERROR_ILLEGAL_STATE) X(                       \
                                    CUDA_ERROR_LOSSY_QUERY) X(CUDA_ERROR_NOT_FOUND) X(CUDA_ERROR_NOT_READY)                                      \
                                    X(CUDA_ERROR_ILLEGAL_ADDRESS) X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) X(                                       \
                                        CUDA_ERROR_LAUNCH_TIMEOUT) X(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING)                                   \
                                        X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED) X(                       \
                                            CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE) X(CUDA_ERROR_CONTEXT_IS_DESTROYED) X(CUDA_ERROR_ASSERT)           \
                                            X(CUDA_ERROR_TOO_MANY_PEERS) X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) X(                         \
                                                CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED) X(CUDA_ERROR_HARDWARE_STACK_ERROR)                        \
                                                X(CUDA_ERROR_ILLEGAL_INSTRUCTION) X(CUDA_ERROR_MISALIGNED_ADDRESS) X(                            \
                                                    CUDA_ERROR_INVALID_ADDRESS_SPACE) X(CUDA_ERROR_INVALID_PC)                                   \
                                                    X(CUDA_ERROR_LAUNCH_FAILED) X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE) X(                    \
                                                        CUDA_ERROR_TENSOR_MEMORY_LEAK) X(CUDA_ERROR_NOT_PERMITTED)                               \
                                                        X(CUDA_ERROR_NOT_SUPPORTED) X(CUDA_ERROR_SYSTEM_NOT_READY) X(                            \
                                                            CUDA_ERROR_SYSTEM_DRIVER_MISMATCH) X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE)      \
                                                            X(CUDA_ERROR_MPS_CONNECTION_FAILED) X(CUDA_ERROR_MPS_RPC_FAILURE) X(                 \
                                                                CUDA_ERROR_MPS_SERVER_NOT_READY) X(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED)           \
                                                                X(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED) X(                                     \
                                                                    CUDA_ERROR_MPS_CLIENT_TERMINATED) X(CUDA_ERROR_CDP_NOT_SUPPORTED)            \
                                                                    X(CUDA_ERROR_CDP_VERSION_MISMATCH) X(                                        \
                                                                        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)                                   \
                                                                        X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) X(                              \
                                                                            CUDA_ERROR_STREAM_CAPTURE_MERGE)                                     \
                                                                            X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED) X(                            \
                                                                                CUDA_ERROR_STREAM_CAPTURE_UNJOINED)                              \
                                                                                X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION) X(                        \
                                                                                    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)                          \
                                                                                    X(CUDA_ERROR_CAPTURED_EVENT) X(                              \
                                                                                        CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)                  \
                                                                                        X(CUDA_ERROR_TIMEOUT) X(                                 \
                                                                                            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)                \
                                                                                            X(CUDA_ERROR_EXTERNAL_DEVICE) X(                     \
                                                                                                CUDA_ERROR_INVALID_CLUSTER_SIZE)                 \
                                                                                                X(CUDA_ERROR_FUNCTION_NOT_LOADED) X(             \
                                                                                                    CUDA_ERROR_INVALID_RESOURCE_TYPE)            \
                                                                                                    X(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION) \
                                                                                                        X(CUDA_ERROR_KEY_ROTATION)               \
                                                                                                            X(CUDA_ERROR_UNKNOWN)
static const struct {
    int code;
    const char *name;
} results[] = {
#define RESULT(name) {name, #name},
    RESULTS(RESULT)
#undef RESULT
};
#define RESULT_COUNT (sizeof results / sizeof *results)

START_TEST(results_are_called_as_the_vendor_calls_them) {
    size_t ours = 0;
    ck_assert_uint_eq((uintptr_t)CU_STREAM_LEGACY, SLWI_CU_STREAM_LEGACY);
    ck_assert_uint_eq((uintptr_t)CU_STREAM_PER_THREAD, SLWI_CU_STREAM_PER_THREAD);
    for (size_t i = 0; i < RESULT_COUNT; i++) {
        const char *const name = slwi_cuda_result_name(results[i].code);
        ck_assert_msg(name != NULL && strcmp(name, results[i].name) == 0, "%d is %s and not %s", results[i].code,
                      results[i].name, name != NULL ? name : "nothing");
    }
    for (int code = -10; code < 2000; code++) ours += slwi_cuda_result_name(code) != NULL;
    ck_assert_uint_eq(ours, RESULT_COUNT); /* and no name of our own making */
}
END_TEST
#else
START_TEST(results_are_called_as_the_vendor_calls_them) {
    slt_skip("results_are_called_as_the_vendor_calls_them", "<cuda.h> is older than 13.0, whose names ours are");
}
END_TEST
#endif
#else
START_TEST(results_are_called_as_the_vendor_calls_them) {
    slt_skip("results_are_called_as_the_vendor_calls_them", "no <cuda.h> on the include path");
}
END_TEST
#endif

int main(void) {
    Suite *suite = suite_create("cuda vendor header");
    TCase *tcase = tcase_create("header");
    tcase_add_test(tcase, results_are_called_as_the_vendor_calls_them);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
