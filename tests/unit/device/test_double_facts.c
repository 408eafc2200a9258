/* Numbers of the double against a vendor's header, where there is one: the library under test has its own numbers, so a
   mistake in one of the two is seen as a difference here or there. */
#include "slt.h"

#include "../../doubles/cuda/cuda_facts.h"

#if defined(__has_include)
#if __has_include(<cuda.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wextra"
#include <cuda.h>
#pragma GCC diagnostic pop
#define HAVE_HEADER 1
#endif
#endif

#if defined(HAVE_HEADER)
#define same(ours, theirs) ck_assert_int_eq((int)(ours), (int)(theirs))

START_TEST(codes) {
    same(DCU_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
    same(DCU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
    same(DCU_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
    same(DCU_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED);
    same(DCU_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY);
    same(DCU_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
    same(DCU_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
    same(DCU_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE);
    same(DCU_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
    same(DCU_NO_BINARY_FOR_GPU, CUDA_ERROR_NO_BINARY_FOR_GPU);
    same(DCU_INVALID_PTX, CUDA_ERROR_INVALID_PTX);
    same(DCU_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    same(DCU_JIT_COMPILATION_DISABLED, CUDA_ERROR_JIT_COMPILATION_DISABLED);
    same(DCU_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
    same(DCU_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
    same(DCU_NOT_READY, CUDA_ERROR_NOT_READY);
    same(DCU_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS);
    same(DCU_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    same(DCU_CONTEXT_IS_DESTROYED, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    same(DCU_COOPERATIVE_LAUNCH_TOO_LARGE, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    same(DCU_NOT_PERMITTED, CUDA_ERROR_NOT_PERMITTED);
    same(DCU_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED);
    same(DCU_STREAM_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    same(DCU_STREAM_CAPTURE_IMPLICIT, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    same(DCU_CAPTURED_EVENT, CUDA_ERROR_CAPTURED_EVENT);
    same(DCU_INVALID_CLUSTER_SIZE, CUDA_ERROR_INVALID_CLUSTER_SIZE);
    same(DCU_UNKNOWN, CUDA_ERROR_UNKNOWN);
    same(DCU_OK, CUDA_SUCCESS);
    same(DCU_PRIMARY_CONTEXT_ACTIVE, CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE);
}
END_TEST

START_TEST(attributes) {
    same(DCU_FUNC_MAX_THREADS_PER_BLOCK, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    same(DCU_FUNC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    same(DCU_FUNC_LOCAL_SIZE_BYTES, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    same(DCU_FUNC_NUM_REGS, CU_FUNC_ATTRIBUTE_NUM_REGS);
    same(DCU_FUNC_BINARY_VERSION, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
    same(DCU_FUNC_MAX_DYNAMIC_SHARED, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    same(DCU_FUNC_CARVEOUT, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
    same(DCU_FUNC_CLUSTER_MUST_BE_SET, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET);
    same(DCU_FUNC_CLUSTER_WIDTH, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
    same(DCU_FUNC_CLUSTER_DEPTH, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
    same(DCU_FUNC_NON_PORTABLE_CLUSTER, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
    same(DCU_DEV_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    same(DCU_DEV_BLOCK_Z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
    same(DCU_DEV_GRID_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
    same(DCU_DEV_SHARED_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    same(DCU_DEV_WARP, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    same(DCU_DEV_REGISTERS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    same(DCU_DEV_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    same(DCU_DEV_COMPUTE_MODE, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
    same(DCU_DEV_THREADS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    same(DCU_DEV_UNIFIED_ADDRESSING, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
    same(DCU_DEV_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    same(DCU_DEV_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    same(DCU_DEV_SHARED_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    same(DCU_DEV_REGISTERS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    same(DCU_DEV_COOPERATIVE, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
    same(DCU_DEV_SHARED_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    same(DCU_DEV_BLOCKS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    same(DCU_DEV_RESERVED_SHARED, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    same(DCU_DEV_CLUSTERS, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
    same(DCU_FUNC_CONST_SIZE_BYTES, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
    same(DCU_FUNC_PTX_VERSION, CU_FUNC_ATTRIBUTE_PTX_VERSION);
    same(DCU_FUNC_CACHE_MODE_CA, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
    same(DCU_FUNC_CLUSTER_HEIGHT, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
    same(DCU_FUNC_CLUSTER_POLICY, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
    same(DCU_DEV_BLOCK_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
    same(DCU_DEV_BLOCK_Y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
    same(DCU_DEV_GRID_Y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
    same(DCU_DEV_GRID_Z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
    same(DCU_DEV_CONSTANT_BYTES, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
    same(DCU_DEV_CLOCK, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    same(DCU_DEV_INTEGRATED, CU_DEVICE_ATTRIBUTE_INTEGRATED);
}
END_TEST

START_TEST(the_rest) {
    same(DCU_JIT_INFO_LOG, CU_JIT_INFO_LOG_BUFFER);
    same(DCU_JIT_INFO_LOG_SIZE, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
    same(DCU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BUFFER);
    same(DCU_JIT_ERROR_LOG_SIZE, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
    same(DCU_ATTR_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    same(DCU_ATTR_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    same(DCU_ATTR_PROGRAMMATIC_SERIALIZATION, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
    same(DCU_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
    same(DCU_SYMBOL_TOO_NEW, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    same(DCU_JIT_OPTIMIZATION, CU_JIT_OPTIMIZATION_LEVEL);
    same(DCU_JIT_TARGET, CU_JIT_TARGET);
    same(DCU_JIT_LOG_VERBOSE, CU_JIT_LOG_VERBOSE);
    same(DCU_ATTR_CLUSTER_SCHEDULING, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
    same(DCU_ATTR_PROGRAMMATIC_EVENT, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT);
    same(DCU_ATTR_PRIORITY, CU_LAUNCH_ATTRIBUTE_PRIORITY);
    same(DCU_ATTR_PREFERRED_CLUSTER, CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION);
    same(DCU_CAPTURE_GLOBAL, CU_STREAM_CAPTURE_MODE_GLOBAL);
    same(DCU_CAPTURE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    same(DCU_SYMBOL_FOUND, CU_GET_PROC_ADDRESS_SUCCESS);
    same(DCU_SYMBOL_NOT_FOUND, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    same(sizeof(dcu_config), sizeof(CUlaunchConfig));
    same(offsetof(dcu_config, grid), offsetof(CUlaunchConfig, gridDimX));
    same(offsetof(dcu_config, grid[1]), offsetof(CUlaunchConfig, gridDimY));
    same(offsetof(dcu_config, grid[2]), offsetof(CUlaunchConfig, gridDimZ));
    same(offsetof(dcu_config, block), offsetof(CUlaunchConfig, blockDimX));
    same(offsetof(dcu_config, block[1]), offsetof(CUlaunchConfig, blockDimY));
    same(offsetof(dcu_config, block[2]), offsetof(CUlaunchConfig, blockDimZ));
    same(offsetof(dcu_config, shared), offsetof(CUlaunchConfig, sharedMemBytes));
    same(offsetof(dcu_config, stream), offsetof(CUlaunchConfig, hStream));
    same(offsetof(dcu_config, attributes), offsetof(CUlaunchConfig, attrs));
    same(offsetof(dcu_config, attribute_count), offsetof(CUlaunchConfig, numAttrs));
    same(sizeof(dcu_attribute), sizeof(CUlaunchAttribute));
    same(offsetof(dcu_attribute, id), offsetof(CUlaunchAttribute, id));
    same(offsetof(dcu_attribute, value), offsetof(CUlaunchAttribute, value));
    same(sizeof(((dcu_attribute *)0)->value), sizeof(CUlaunchAttributeValue));
    same(offsetof(dcu_attribute, value.number), offsetof(CUlaunchAttribute, value.cooperative));
    same(offsetof(dcu_attribute, value.number),
         offsetof(CUlaunchAttribute, value.programmaticStreamSerializationAllowed));
    same(offsetof(dcu_attribute, value.cluster.x), offsetof(CUlaunchAttribute, value.clusterDim.x));
    same(offsetof(dcu_attribute, value.cluster.y), offsetof(CUlaunchAttribute, value.clusterDim.y));
    same(offsetof(dcu_attribute, value.cluster.z), offsetof(CUlaunchAttribute, value.clusterDim.z));
}
END_TEST
#else
START_TEST(no_header) {
    slt_skip("facts of the double of libcuda", "there is no vendor header on this machine");
}
END_TEST
#endif

int main(void) {
    Suite *suite = suite_create("facts of the doubles");
    TCase *tcase = tcase_create("cuda");
#if defined(HAVE_HEADER)
    tcase_add_test(tcase, codes);
    tcase_add_test(tcase, attributes);
    tcase_add_test(tcase, the_rest);
#else
    tcase_add_test(tcase, no_header);
#endif
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
