/* Our declarations of HIP, and the double's numbers, against the vendor's header, where there is one on the include
 * path (Debian: libamdhip64-dev). Numbers are compared when this file is compiled; signatures and names when it runs,
 * because some releases differ from each other where a caller does not notice: those are listed. */
#include "hip_driver.h"
#include "slt.h"

#include "../../doubles/hip/hip_facts.h"

#if defined(__has_include)
#if __has_include(<hip/hip_runtime_api.h>)
#define HAVE_VENDOR_HEADER 1
#endif
#endif

#ifdef HAVE_VENDOR_HEADER
#include <string.h>

#define __HIP_PLATFORM_AMD__ 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wextra"
#include <hip/hip_runtime_api.h>
#pragma GCC diagnostic pop

#define SAME(ours, theirs) _Static_assert((long)(ours) == (long)(theirs), #ours " is not " #theirs)

SAME(SLWI_HIP_SUCCESS, hipSuccess);
SAME(SLWI_HIP_INVALID_VALUE, hipErrorInvalidValue);
SAME(SLWI_HIP_OUT_OF_MEMORY, hipErrorOutOfMemory);
SAME(SLWI_HIP_NOT_INITIALIZED, hipErrorNotInitialized);
SAME(SLWI_HIP_DEINITIALIZED, hipErrorDeinitialized);
SAME(SLWI_HIP_INVALID_CONFIGURATION, hipErrorInvalidConfiguration);
SAME(SLWI_HIP_INSUFFICIENT_DRIVER, hipErrorInsufficientDriver);
SAME(SLWI_HIP_PRIOR_LAUNCH_FAILURE, hipErrorPriorLaunchFailure);
SAME(SLWI_HIP_NO_DEVICE, hipErrorNoDevice);
SAME(SLWI_HIP_INVALID_DEVICE, hipErrorInvalidDevice);
SAME(SLWI_HIP_INVALID_IMAGE, hipErrorInvalidImage);
SAME(SLWI_HIP_NO_BINARY_FOR_GPU, hipErrorNoBinaryForGpu);
SAME(SLWI_HIP_ECC_NOT_CORRECTABLE, hipErrorECCNotCorrectable);
SAME(SLWI_HIP_INVALID_KERNEL_FILE, hipErrorInvalidKernelFile);
SAME(SLWI_HIP_SHARED_OBJECT_INIT_FAILED, hipErrorSharedObjectInitFailed);
SAME(SLWI_HIP_NOT_FOUND, hipErrorNotFound);
SAME(SLWI_HIP_NOT_READY, hipErrorNotReady);
SAME(SLWI_HIP_ILLEGAL_ADDRESS, hipErrorIllegalAddress);
SAME(SLWI_HIP_LAUNCH_OUT_OF_RESOURCES, hipErrorLaunchOutOfResources);
SAME(SLWI_HIP_LAUNCH_TIMEOUT, hipErrorLaunchTimeOut);
SAME(SLWI_HIP_CONTEXT_IS_DESTROYED, hipErrorContextIsDestroyed);
SAME(SLWI_HIP_ASSERT, hipErrorAssert);
SAME(SLWI_HIP_LAUNCH_FAILURE, hipErrorLaunchFailure);
SAME(SLWI_HIP_COOPERATIVE_TOO_LARGE, hipErrorCooperativeLaunchTooLarge);
SAME(SLWI_HIP_NOT_SUPPORTED, hipErrorNotSupported);
SAME(SLWI_HIP_UNKNOWN, hipErrorUnknown);

SAME(DHIP_OK, hipSuccess);
SAME(DHIP_INVALID_VALUE, hipErrorInvalidValue);
SAME(DHIP_OUT_OF_MEMORY, hipErrorOutOfMemory);
SAME(DHIP_NOT_INITIALIZED, hipErrorNotInitialized);
SAME(DHIP_DEINITIALIZED, hipErrorDeinitialized);
SAME(DHIP_INVALID_CONFIGURATION, hipErrorInvalidConfiguration);
SAME(DHIP_NO_DEVICE, hipErrorNoDevice);
SAME(DHIP_INVALID_DEVICE, hipErrorInvalidDevice);
SAME(DHIP_INVALID_IMAGE, hipErrorInvalidImage);
SAME(DHIP_NO_BINARY_FOR_GPU, hipErrorNoBinaryForGpu);
SAME(DHIP_FILE_NOT_FOUND, hipErrorFileNotFound);
SAME(DHIP_SHARED_OBJECT_INIT_FAILED, hipErrorSharedObjectInitFailed);
SAME(DHIP_INVALID_HANDLE, hipErrorInvalidHandle);
SAME(DHIP_NOT_FOUND, hipErrorNotFound);
SAME(DHIP_NOT_READY, hipErrorNotReady);
SAME(DHIP_ILLEGAL_ADDRESS, hipErrorIllegalAddress);
SAME(DHIP_LAUNCH_FAILURE, hipErrorLaunchFailure);
SAME(DHIP_COOPERATIVE_LAUNCH_TOO_LARGE, hipErrorCooperativeLaunchTooLarge);
SAME(DHIP_NOT_SUPPORTED, hipErrorNotSupported);
SAME(DHIP_STREAM_CAPTURE_UNSUPPORTED, hipErrorStreamCaptureUnsupported);
SAME(DHIP_UNKNOWN, hipErrorUnknown);

SAME(SLWI_HIP_DEVICE_COMPUTE_MODE, hipDeviceAttributeComputeMode);
SAME(SLWI_HIP_DEVICE_COOPERATIVE_LAUNCH, hipDeviceAttributeCooperativeLaunch);
SAME(SLWI_HIP_DEVICE_CC_MAJOR, hipDeviceAttributeComputeCapabilityMajor);
SAME(SLWI_HIP_DEVICE_CC_MINOR, hipDeviceAttributeComputeCapabilityMinor);
SAME(SLWI_HIP_DEVICE_MAX_BLOCK_DIM_X, hipDeviceAttributeMaxBlockDimX);
SAME(SLWI_HIP_DEVICE_MAX_BLOCK_DIM_Y, hipDeviceAttributeMaxBlockDimY);
SAME(SLWI_HIP_DEVICE_MAX_BLOCK_DIM_Z, hipDeviceAttributeMaxBlockDimZ);
SAME(SLWI_HIP_DEVICE_MAX_GRID_DIM_X, hipDeviceAttributeMaxGridDimX);
SAME(SLWI_HIP_DEVICE_MAX_GRID_DIM_Y, hipDeviceAttributeMaxGridDimY);
SAME(SLWI_HIP_DEVICE_MAX_GRID_DIM_Z, hipDeviceAttributeMaxGridDimZ);
SAME(SLWI_HIP_DEVICE_MAX_THREADS_PER_BLOCK, hipDeviceAttributeMaxThreadsPerBlock);
SAME(SLWI_HIP_DEVICE_MULTIPROCESSORS, hipDeviceAttributeMultiprocessorCount);
SAME(SLWI_HIP_DEVICE_SHARED_PER_BLOCK, hipDeviceAttributeMaxSharedMemoryPerBlock);
SAME(SLWI_HIP_DEVICE_WARP_SIZE, hipDeviceAttributeWarpSize);
SAME(SLWI_HIP_COMPUTE_MODE_PROHIBITED, hipComputeModeProhibited);

SAME(SLWI_HIP_FUNC_MAX_THREADS_PER_BLOCK, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(SLWI_HIP_FUNC_SHARED_SIZE_BYTES, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(SLWI_HIP_FUNC_LOCAL_SIZE_BYTES, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(SLWI_HIP_FUNC_NUM_REGS, HIP_FUNC_ATTRIBUTE_NUM_REGS);
SAME(SLWI_HIP_STREAM_DEFAULT_FLAGS, hipStreamDefault);
SAME(SLWI_HIP_EVENT_DISABLE_TIMING, hipEventDisableTiming);
SAME(SLWI_HIP_CAPTURE_MODE_RELAXED, hipStreamCaptureModeRelaxed);

SAME(DHIP_DEV_COMPUTE_MODE, hipDeviceAttributeComputeMode);
SAME(DHIP_DEV_COOPERATIVE, hipDeviceAttributeCooperativeLaunch);
SAME(DHIP_DEV_MAJOR, hipDeviceAttributeComputeCapabilityMajor);
SAME(DHIP_DEV_BLOCK_X, hipDeviceAttributeMaxBlockDimX);
SAME(DHIP_DEV_BLOCK_Y, hipDeviceAttributeMaxBlockDimY);
SAME(DHIP_DEV_BLOCK_Z, hipDeviceAttributeMaxBlockDimZ);
SAME(DHIP_DEV_GRID_X, hipDeviceAttributeMaxGridDimX);
SAME(DHIP_DEV_GRID_Y, hipDeviceAttributeMaxGridDimY);
SAME(DHIP_DEV_GRID_Z, hipDeviceAttributeMaxGridDimZ);
SAME(DHIP_DEV_THREADS_PER_BLOCK, hipDeviceAttributeMaxThreadsPerBlock);
SAME(DHIP_DEV_MINOR, hipDeviceAttributeComputeCapabilityMinor);
SAME(DHIP_DEV_MULTIPROCESSORS, hipDeviceAttributeMultiprocessorCount);
SAME(DHIP_DEV_REGISTERS_PER_BLOCK, hipDeviceAttributeMaxRegistersPerBlock);
SAME(DHIP_DEV_SHARED_PER_BLOCK, hipDeviceAttributeMaxSharedMemoryPerBlock);
SAME(DHIP_DEV_SHARED_OPTIN, hipDeviceAttributeSharedMemPerBlockOptin);
SAME(DHIP_DEV_WARP, hipDeviceAttributeWarpSize);
SAME(DHIP_FUNC_MAX_THREADS, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(DHIP_FUNC_SHARED, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(DHIP_FUNC_CONST, HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
SAME(DHIP_FUNC_LOCAL, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(DHIP_FUNC_REGISTERS, HIP_FUNC_ATTRIBUTE_NUM_REGS);

SAME(sizeof(int), sizeof(hipError_t));
SAME(sizeof(int), sizeof(hipDeviceAttribute_t));
SAME(sizeof(int), sizeof(hipFunction_attribute));
SAME(sizeof(int), sizeof(hipStreamCaptureMode));
SAME(sizeof(int), sizeof(hipStreamCaptureStatus));
SAME(sizeof(void *), sizeof(hipDeviceptr_t));

#if HIP_VERSION_MAJOR >= 6
SAME(SLWI_HIP_PROPERTIES_R0600_BYTES, sizeof(hipDeviceProp_tR0600));
SAME(SLWI_HIP_PROPERTIES_R0600_ARCHITECTURE, offsetof(hipDeviceProp_tR0600, gcnArchName));
SAME(DHIP_NEW_PROPERTIES_SIZE, sizeof(hipDeviceProp_tR0600));
SAME(DHIP_NEW_ARCH_NAME, offsetof(hipDeviceProp_tR0600, gcnArchName));
SAME(DHIP_NEW_WAVEFRONT, offsetof(hipDeviceProp_tR0600, warpSize));
#undef hipGetDeviceProperties /* from 6.0 a name for the newer one */
#define PROPERTIES hipDeviceProp_tR0600
hipError_t hipGetDeviceProperties(PROPERTIES *properties, int device);
#else
SAME(SLWI_HIP_PROPERTIES_OLD_BYTES, sizeof(hipDeviceProp_t));
SAME(SLWI_HIP_PROPERTIES_OLD_ARCHITECTURE, offsetof(hipDeviceProp_t, gcnArchName));
SAME(SLWI_HIP_ARCHITECTURE_BYTES, sizeof(((hipDeviceProp_t *)0)->gcnArchName));
SAME(DHIP_OLD_PROPERTIES_SIZE, sizeof(hipDeviceProp_t));
SAME(DHIP_OLD_ARCH_NAME, offsetof(hipDeviceProp_t, gcnArchName));
SAME(DHIP_OLD_WAVEFRONT, offsetof(hipDeviceProp_t, warpSize));
/* Not of these releases: declared here as we have them, so that of these nothing is said. */
#define PROPERTIES hipDeviceProp_t
hipError_t hipGetDevicePropertiesR0600(PROPERTIES *properties, int device);
#if HIP_VERSION < 50300000
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                            hipStream_t stream, void **params);
#endif
#endif

/* ---- Signatures -------------------------------------------------------------------------------------------------- */

/* Declared otherwise here than there, and how: an enum of the vendor's is an int to us, a structure is bytes, a source
   was not const before 6. Our list and his stand in one line, and both are compared. */
#define OTHERWISE(name, ours, theirs)                                                                                  \
    {#name, _Generic(((slwi_hip_api *)0)->name, slwi_hip_result(*) ours : 1, default : 0) &&                           \
                _Generic(&(name), hipError_t(*) theirs : 1, default : 0)},
typedef struct signature {
    const char *name;
    int same;
} signature;
static const signature otherwise[] = {
    /* clang-format off */
    OTHERWISE(hipDeviceGetAttribute, (int *, int, int), (int *, hipDeviceAttribute_t, int))
    OTHERWISE(hipFuncGetAttribute, (int *, int, slwi_hip_native_function *),
              (int *, hipFunction_attribute, hipFunction_t))
    OTHERWISE(hipThreadExchangeStreamCaptureMode, (int *), (hipStreamCaptureMode *))
    OTHERWISE(hipGetDeviceProperties, (void *, int), (PROPERTIES *, int))
    OTHERWISE(hipGetDevicePropertiesR0600, (void *, int), (PROPERTIES *, int))
    OTHERWISE(hipStreamIsCapturing, (slwi_hip_native_stream *, int *), (hipStream_t, hipStreamCaptureStatus *))
    OTHERWISE(hipMemcpyHtoD, (void *, const void *, size_t), (hipDeviceptr_t, void *, size_t))
    /* clang-format on */
};

/* From here on our names mean the vendor's types, so that the list declares what he does, if it is right. */
#define slwi_hip_result                     hipError_t
#define slwi_hip_native_module              struct ihipModule_t
#define slwi_hip_native_function            struct ihipModuleSymbol_t
#define slwi_hip_native_stream              struct ihipStream_t
#define slwi_hip_native_event               struct ihipEvent_t
#define SIGNATURE(name, result, parameters) {#name, _Generic(&(name), result(*) parameters : 1, default : 0)},
static const signature signatures[] = {SLWI_HIP_SYMBOLS(SIGNATURE, SIGNATURE)};

START_TEST(symbols_are_declared_as_the_vendor_declares_them) {
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        int same = signatures[i].same;
        for (size_t k = 0; k < sizeof otherwise / sizeof *otherwise; k++) {
            if (strcmp(otherwise[k].name, signatures[i].name) == 0) same |= otherwise[k].same;
        }
        ck_assert_msg(same, "%s is declared otherwise than by the vendor", signatures[i].name);
    }
}
END_TEST

/* ---- Names ------------------------------------------------------------------------------------------------------- */

/* All of 5.2, without second names of one number. */
START_TEST(results_are_called_as_the_vendor_calls_them) {
    static const struct {
        int code;
        const char *name;
    } results[] = {
#define RESULT(name) {name, #name}
        RESULT(hipSuccess),
        RESULT(hipErrorInvalidValue),
        RESULT(hipErrorOutOfMemory),
        RESULT(hipErrorNotInitialized),
        RESULT(hipErrorDeinitialized),
        RESULT(hipErrorProfilerDisabled),
        RESULT(hipErrorProfilerNotInitialized),
        RESULT(hipErrorProfilerAlreadyStarted),
        RESULT(hipErrorProfilerAlreadyStopped),
        RESULT(hipErrorInvalidConfiguration),
        RESULT(hipErrorInvalidPitchValue),
        RESULT(hipErrorInvalidSymbol),
        RESULT(hipErrorInvalidDevicePointer),
        RESULT(hipErrorInvalidMemcpyDirection),
        RESULT(hipErrorInsufficientDriver),
        RESULT(hipErrorMissingConfiguration),
        RESULT(hipErrorPriorLaunchFailure),
        RESULT(hipErrorInvalidDeviceFunction),
        RESULT(hipErrorNoDevice),
        RESULT(hipErrorInvalidDevice),
        RESULT(hipErrorInvalidImage),
        RESULT(hipErrorInvalidContext),
        RESULT(hipErrorContextAlreadyCurrent),
        RESULT(hipErrorMapFailed),
        RESULT(hipErrorUnmapFailed),
        RESULT(hipErrorArrayIsMapped),
        RESULT(hipErrorAlreadyMapped),
        RESULT(hipErrorNoBinaryForGpu),
        RESULT(hipErrorAlreadyAcquired),
        RESULT(hipErrorNotMapped),
        RESULT(hipErrorNotMappedAsArray),
        RESULT(hipErrorNotMappedAsPointer),
        RESULT(hipErrorECCNotCorrectable),
        RESULT(hipErrorUnsupportedLimit),
        RESULT(hipErrorContextAlreadyInUse),
        RESULT(hipErrorPeerAccessUnsupported),
        RESULT(hipErrorInvalidKernelFile),
        RESULT(hipErrorInvalidGraphicsContext),
        RESULT(hipErrorInvalidSource),
        RESULT(hipErrorFileNotFound),
        RESULT(hipErrorSharedObjectSymbolNotFound),
        RESULT(hipErrorSharedObjectInitFailed),
        RESULT(hipErrorOperatingSystem),
        RESULT(hipErrorInvalidHandle),
        RESULT(hipErrorIllegalState),
        RESULT(hipErrorNotFound),
        RESULT(hipErrorNotReady),
        RESULT(hipErrorIllegalAddress),
        RESULT(hipErrorLaunchOutOfResources),
        RESULT(hipErrorLaunchTimeOut),
        RESULT(hipErrorPeerAccessAlreadyEnabled),
        RESULT(hipErrorPeerAccessNotEnabled),
        RESULT(hipErrorSetOnActiveProcess),
        RESULT(hipErrorContextIsDestroyed),
        RESULT(hipErrorAssert),
        RESULT(hipErrorHostMemoryAlreadyRegistered),
        RESULT(hipErrorHostMemoryNotRegistered),
        RESULT(hipErrorLaunchFailure),
        RESULT(hipErrorCooperativeLaunchTooLarge),
        RESULT(hipErrorNotSupported),
        RESULT(hipErrorStreamCaptureUnsupported),
        RESULT(hipErrorStreamCaptureInvalidated),
        RESULT(hipErrorStreamCaptureMerge),
        RESULT(hipErrorStreamCaptureUnmatched),
        RESULT(hipErrorStreamCaptureUnjoined),
        RESULT(hipErrorStreamCaptureIsolation),
        RESULT(hipErrorStreamCaptureImplicit),
        RESULT(hipErrorCapturedEvent),
        RESULT(hipErrorStreamCaptureWrongThread),
        RESULT(hipErrorGraphExecUpdateFailure),
        RESULT(hipErrorUnknown),
        RESULT(hipErrorRuntimeMemory),
        RESULT(hipErrorRuntimeOther),
#undef RESULT
    };
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        const char *const name = slwi_hip_result_name(results[i].code);
        ck_assert_msg(name != NULL && strcmp(name, results[i].name) == 0, "%d is %s and not %s", results[i].code,
                      results[i].name, name != NULL ? name : "nothing");
    }
}
END_TEST
#else
START_TEST(symbols_are_declared_as_the_vendor_declares_them) {
    slt_skip("symbols_are_declared_as_the_vendor_declares_them", "no <hip/hip_runtime_api.h> on the include path");
}
END_TEST
START_TEST(results_are_called_as_the_vendor_calls_them) {
    slt_skip("results_are_called_as_the_vendor_calls_them", "no <hip/hip_runtime_api.h> on the include path");
}
END_TEST
#endif

int main(void) {
    Suite *suite = suite_create("hip vendor header");
    TCase *tcase = tcase_create("header");
    tcase_add_test(tcase, symbols_are_declared_as_the_vendor_declares_them);
    tcase_add_test(tcase, results_are_called_as_the_vendor_calls_them);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
