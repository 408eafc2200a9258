/* What HIP's results are called and what they mean for us.
 *
 * The names are our own: hipGetErrorName is asked only for what is newer than this table. */
#include <stdio.h>

#include "fail.h"
#include "fork.h"
#include "gpu_result.h"
#include "hip_driver.h"

/* By number; of several names of one number, the one that hipGetErrorName gives. */
static const slwi_gpu_name names[] = {
    {0, "hipSuccess"},
    {1, "hipErrorInvalidValue"},
    {2, "hipErrorOutOfMemory"},
    {3, "hipErrorNotInitialized"},
    {4, "hipErrorDeinitialized"},
    {5, "hipErrorProfilerDisabled"},
    {6, "hipErrorProfilerNotInitialized"},
    {7, "hipErrorProfilerAlreadyStarted"},
    {8, "hipErrorProfilerAlreadyStopped"},
    {9, "hipErrorInvalidConfiguration"},
    {12, "hipErrorInvalidPitchValue"},
    {13, "hipErrorInvalidSymbol"},
    {17, "hipErrorInvalidDevicePointer"},
    {21, "hipErrorInvalidMemcpyDirection"},
    {35, "hipErrorInsufficientDriver"},
    {52, "hipErrorMissingConfiguration"},
    {53, "hipErrorPriorLaunchFailure"},
    {98, "hipErrorInvalidDeviceFunction"},
    {100, "hipErrorNoDevice"},
    {101, "hipErrorInvalidDevice"},
    {200, "hipErrorInvalidImage"},
    {201, "hipErrorInvalidContext"},
    {202, "hipErrorContextAlreadyCurrent"},
    {205, "hipErrorMapFailed"},
    {206, "hipErrorUnmapFailed"},
    {207, "hipErrorArrayIsMapped"},
    {208, "hipErrorAlreadyMapped"},
    {209, "hipErrorNoBinaryForGpu"},
    {210, "hipErrorAlreadyAcquired"},
    {211, "hipErrorNotMapped"},
    {212, "hipErrorNotMappedAsArray"},
    {213, "hipErrorNotMappedAsPointer"},
    {214, "hipErrorECCNotCorrectable"},
    {215, "hipErrorUnsupportedLimit"},
    {216, "hipErrorContextAlreadyInUse"},
    {217, "hipErrorPeerAccessUnsupported"},
    {218, "hipErrorInvalidKernelFile"},
    {219, "hipErrorInvalidGraphicsContext"},
    {300, "hipErrorInvalidSource"},
    {301, "hipErrorFileNotFound"},
    {302, "hipErrorSharedObjectSymbolNotFound"},
    {303, "hipErrorSharedObjectInitFailed"},
    {304, "hipErrorOperatingSystem"},
    {400, "hipErrorInvalidHandle"},
    {401, "hipErrorIllegalState"},
    {500, "hipErrorNotFound"},
    {600, "hipErrorNotReady"},
    {700, "hipErrorIllegalAddress"},
    {701, "hipErrorLaunchOutOfResources"},
    {702, "hipErrorLaunchTimeOut"},
    {704, "hipErrorPeerAccessAlreadyEnabled"},
    {705, "hipErrorPeerAccessNotEnabled"},
    {708, "hipErrorSetOnActiveProcess"},
    {709, "hipErrorContextIsDestroyed"},
    {710, "hipErrorAssert"},
    {712, "hipErrorHostMemoryAlreadyRegistered"},
    {713, "hipErrorHostMemoryNotRegistered"},
    {719, "hipErrorLaunchFailure"},
    {720, "hipErrorCooperativeLaunchTooLarge"},
    {801, "hipErrorNotSupported"},
    {900, "hipErrorStreamCaptureUnsupported"},
    {901, "hipErrorStreamCaptureInvalidated"},
    {902, "hipErrorStreamCaptureMerge"},
    {903, "hipErrorStreamCaptureUnmatched"},
    {904, "hipErrorStreamCaptureUnjoined"},
    {905, "hipErrorStreamCaptureIsolation"},
    {906, "hipErrorStreamCaptureImplicit"},
    {907, "hipErrorCapturedEvent"},
    {908, "hipErrorStreamCaptureWrongThread"},
    {910, "hipErrorGraphExecUpdateFailure"},
    {999, "hipErrorUnknown"},
    {1052, "hipErrorRuntimeMemory"},
    {1053, "hipErrorRuntimeOther"},
    {1054, "hipErrorTbd"},
};

static const char no_device_hint[] =
    "Is the amdgpu driver loaded, and may this user open /dev/kfd (groups render and video)?";

static const slwi_gpu_meaning meanings[] = {
    {SLWI_HIP_OUT_OF_MEMORY, SLW_E_NO_MEMORY, "DEVICE_MEMORY", NULL},
    {SLWI_HIP_NOT_INITIALIZED, SLW_E_UNAVAILABLE, "NOT_INITIALIZED",
     "HIP did not start; a process that was forked after somebody started HIP cannot use it."},
    {SLWI_HIP_DEINITIALIZED, SLW_E_LOST, "DRIVER_SHUT_DOWN", "The process is ending: nothing more runs on a device."},
    {SLWI_HIP_INVALID_CONFIGURATION, SLW_E_INVALID_LAUNCH, "DRIVER", NULL},
    {SLWI_HIP_INSUFFICIENT_DRIVER, SLW_E_UNAVAILABLE, "VERSION_MISMATCH",
     "The kernel's amdgpu driver is older than this ROCm library needs."},
    {SLWI_HIP_PRIOR_LAUNCH_FAILURE, SLW_E_LOST, "STICKY", NULL},
    /* Which of the two it is depends on the release and on the call (device.md B.3). */
    {SLWI_HIP_NO_DEVICE, SLW_E_NO_DEVICE, NULL, no_device_hint},
    {SLWI_HIP_INVALID_DEVICE, SLW_E_NO_DEVICE, NULL, no_device_hint},
    {SLWI_HIP_INVALID_IMAGE, SLW_E_INVALID_BINARY, "DRIVER", NULL},
    {SLWI_HIP_NO_BINARY_FOR_GPU, SLW_E_TARGET_MISMATCH, "DRIVER", NULL},
    {SLWI_HIP_INVALID_KERNEL_FILE, SLW_E_INVALID_BINARY, "DRIVER", NULL},
    {SLWI_HIP_SHARED_OBJECT_INIT_FAILED, SLW_E_UNAVAILABLE, "NOT_INITIALIZED",
     "A part of ROCm that HIP loads itself did not start: are all its libraries of one release?"},
    {SLWI_HIP_LAUNCH_OUT_OF_RESOURCES, SLW_E_OUT_OF_RESOURCES, "LAUNCH", NULL},
    {SLWI_HIP_COOPERATIVE_TOO_LARGE, SLW_E_OUT_OF_RESOURCES, "COOPERATIVE_TOO_LARGE", NULL},
    {SLWI_HIP_CONTEXT_IS_DESTROYED, SLW_E_LOST, "CONTEXT_GONE", NULL},
};

int slwi_hip_result_is_sticky(slwi_hip_result result) {
    switch (result) {
    case SLWI_HIP_ECC_NOT_CORRECTABLE:
    case SLWI_HIP_ILLEGAL_ADDRESS:
    case SLWI_HIP_LAUNCH_TIMEOUT:
    case SLWI_HIP_ASSERT:
        return 1;
    default:
        /* 714 to 718 have no names in HIP yet and CUDA's meaning, as all its numbers. */
        return result >= 714 && result <= SLWI_HIP_LAUNCH_FAILURE;
    }
}

static const slwi_gpu_results results = {
    .names = names,
    .name_count = sizeof names / sizeof *names,
    .meanings = meanings,
    .meaning_count = sizeof meanings / sizeof *meanings,
    .is_sticky = slwi_hip_result_is_sticky,
};

const char *slwi_hip_result_name(slwi_hip_result result) {
    return slwi_gpu_result_name(&results, result);
}

int slwi_hip_result_blames_image(slwi_hip_result result) {
    return result == SLWI_HIP_INVALID_IMAGE || result == SLWI_HIP_NO_BINARY_FOR_GPU ||
           result == SLWI_HIP_INVALID_KERNEL_FILE;
}

slw_code slwi_hip_classify(slwi_hip_result result, const char **reason) {
    return slwi_gpu_result_classify(&results, result, reason);
}

void slwi_hip_clear(const slwi_hip_state *hip) {
    (void)hip->api.hipGetLastError();
}

/* A name for every number: ours, HIP's for what is newer than our table, or the number itself. */
static const char *name_of(const slwi_hip_state *hip, slwi_hip_result result, char buffer[32]) {
    const char *name = slwi_hip_result_name(result);
    if (name == NULL && hip->api.hipGetErrorName != NULL) name = hip->api.hipGetErrorName(result);
    if (name != NULL) return name;
    (void)snprintf(buffer, 32, "hipError%d", result);
    return buffer;
}

slw_code slwi_hip_fail(const slwi_hip_state *hip, slwi_hip_result result, const char *kernel, const char *what,
                       slw_error *err) {
    char buffer[32];
    const char *reason = NULL;
    slw_code code = slwi_hip_classify(result, &reason);
    slwi_hip_clear(hip);
    if (result == SLWI_HIP_NOT_INITIALIZED && hip->fork_generation != slwi_fork_generation()) code = SLW_E_FORKED;
    const slwi_gpu_failure failure = {
        .result = result,
        .name = name_of(hip, result, buffer),
        .what = what,
        .library = hip->library,
        .device = hip->name[0] != '\0' ? hip->name : NULL,
        .kernel = kernel,
        .version = hip->version,
    };
    return slwi_gpu_fail(&results, &failure, code, reason, err);
}
