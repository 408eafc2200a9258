/* Our declarations of the CUDA driver's interface against the vendor's header, where there is one on the include path:
 * so that library and double cannot share one mistake.  Everything is compared when this file is compiled; the names of
 * results when it runs. */
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
#include <cudaTypedefs.h>

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

/* A pointer type of exactly that name and version is declared, so the pin exists. */
#define PIN_EXISTS(name, version, exported, parameters) SAME(sizeof(PFN_##name##_v##version), sizeof(void *));
SLWI_CUDA_SYMBOLS(PIN_EXISTS, PIN_EXISTS)
SAME(sizeof(PFN_cuGetProcAddress_v11030), sizeof(slwi_cu_get_proc_address_v1 *));
SAME(sizeof(PFN_cuGetProcAddress_v12000), sizeof(slwi_cu_get_proc_address_v2 *));

/* The number of arguments: a call with one each that converts. */
static void compiles_with_the_vendors_signatures(void) {
    PFN_cuFuncGetParamInfo_v12040 param_info = NULL;
    PFN_cuThreadExchangeStreamCaptureMode_v10010 exchange = NULL;
    PFN_cuCtxSynchronize_v2000 synchronize = NULL;
    PFN_cuCtxGetDevice_v2000 get_device = NULL;
    PFN_cuOccupancyMaxActiveClusters_v11070 clusters = NULL;
    size_t size = 0;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUlaunchConfig config = {0};
    CUdevice device = 0;
    int count = 0;
    if (param_info != NULL) (void)param_info(NULL, (size_t)0, &size, &size);
    if (exchange != NULL) (void)exchange(&mode);
    if (synchronize != NULL) (void)synchronize();
    if (get_device != NULL) (void)get_device(&device);
    if (clusters != NULL) (void)clusters(&count, NULL, &config);
}

#define NAMED(code) ck_assert_str_eq(slwi_cuda_result_name((int)(code)), #code)

START_TEST(results_are_called_as_the_vendor_calls_them) {
    compiles_with_the_vendors_signatures();
    ck_assert_uint_eq((uintptr_t)CU_STREAM_LEGACY, SLWI_CU_STREAM_LEGACY);
    ck_assert_uint_eq((uintptr_t)CU_STREAM_PER_THREAD, SLWI_CU_STREAM_PER_THREAD);
    NAMED(CUDA_SUCCESS);
    NAMED(CUDA_ERROR_INVALID_VALUE);
    NAMED(CUDA_ERROR_STUB_LIBRARY);
    NAMED(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
    NAMED(CUDA_ERROR_DEVICE_UNAVAILABLE);
    NAMED(CUDA_ERROR_NO_DEVICE);
    NAMED(CUDA_ERROR_INVALID_IMAGE);
    NAMED(CUDA_ERROR_NO_BINARY_FOR_GPU);
    NAMED(CUDA_ERROR_INVALID_PTX);
    NAMED(CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    NAMED(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    NAMED(CUDA_ERROR_LOSSY_QUERY);
    NAMED(CUDA_ERROR_NOT_READY);
    NAMED(CUDA_ERROR_ILLEGAL_ADDRESS);
    NAMED(CUDA_ERROR_LAUNCH_FAILED);
    NAMED(CUDA_ERROR_TENSOR_MEMORY_LEAK);
    NAMED(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
    NAMED(CUDA_ERROR_MPS_CLIENT_TERMINATED);
    NAMED(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    NAMED(CUDA_ERROR_INVALID_CLUSTER_SIZE);
    NAMED(CUDA_ERROR_FUNCTION_NOT_LOADED);
    NAMED(CUDA_ERROR_UNKNOWN);
}
END_TEST
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
