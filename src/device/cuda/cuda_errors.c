/* What the driver's results are called and what they mean for us.
 *
 * The names are our own: a stub leaves the pointer of cuGetErrorName as it was (device.md A.1), and the name is wanted
 * most where the driver is worst. */
#include <stdio.h>

#include "cuda_driver.h"
#include "fail.h"
#include "fork.h"
#include "gpu_result.h"

/* By number. */
static const slwi_gpu_name names[] = {
    {0, "CUDA_SUCCESS"},
    {1, "CUDA_ERROR_INVALID_VALUE"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY"},
    {3, "CUDA_ERROR_NOT_INITIALIZED"},
    {4, "CUDA_ERROR_DEINITIALIZED"},
    {5, "CUDA_ERROR_PROFILER_DISABLED"},
    {6, "CUDA_ERROR_PROFILER_NOT_INITIALIZED"},
    {7, "CUDA_ERROR_PROFILER_ALREADY_STARTED"},
    {8, "CUDA_ERROR_PROFILER_ALREADY_STOPPED"},
    {34, "CUDA_ERROR_STUB_LIBRARY"},
    {36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
    {100, "CUDA_ERROR_NO_DEVICE"},
    {101, "CUDA_ERROR_INVALID_DEVICE"},
    {102, "CUDA_ERROR_DEVICE_NOT_LICENSED"},
    {200, "CUDA_ERROR_INVALID_IMAGE"},
    {201, "CUDA_ERROR_INVALID_CONTEXT"},
    {202, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT"},
    {205, "CUDA_ERROR_MAP_FAILED"},
    {206, "CUDA_ERROR_UNMAP_FAILED"},
    {207, "CUDA_ERROR_ARRAY_IS_MAPPED"},
    {208, "CUDA_ERROR_ALREADY_MAPPED"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
    {210, "CUDA_ERROR_ALREADY_ACQUIRED"},
    {211, "CUDA_ERROR_NOT_MAPPED"},
    {212, "CUDA_ERROR_NOT_MAPPED_AS_ARRAY"},
    {213, "CUDA_ERROR_NOT_MAPPED_AS_POINTER"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
    {215, "CUDA_ERROR_UNSUPPORTED_LIMIT"},
    {216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"},
    {218, "CUDA_ERROR_INVALID_PTX"},
    {219, "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT"},
    {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE"},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
    {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED"},
    {224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY"},
    {225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC"},
    {226, "CUDA_ERROR_CONTAINED"},
    {300, "CUDA_ERROR_INVALID_SOURCE"},
    {301, "CUDA_ERROR_FILE_NOT_FOUND"},
    {302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND"},
    {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM"},
    {400, "CUDA_ERROR_INVALID_HANDLE"},
    {401, "CUDA_ERROR_ILLEGAL_STATE"},
    {402, "CUDA_ERROR_LOSSY_QUERY"},
    {500, "CUDA_ERROR_NOT_FOUND"},
    {600, "CUDA_ERROR_NOT_READY"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
    {703, "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"},
    {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
    {710, "CUDA_ERROR_ASSERT"},
    {711, "CUDA_ERROR_TOO_MANY_PEERS"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS"},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE"},
    {718, "CUDA_ERROR_INVALID_PC"},
    {719, "CUDA_ERROR_LAUNCH_FAILED"},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"},
    {721, "CUDA_ERROR_TENSOR_MEMORY_LEAK"},
    {800, "CUDA_ERROR_NOT_PERMITTED"},
    {801, "CUDA_ERROR_NOT_SUPPORTED"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"},
    {805, "CUDA_ERROR_MPS_CONNECTION_FAILED"},
    {806, "CUDA_ERROR_MPS_RPC_FAILURE"},
    {807, "CUDA_ERROR_MPS_SERVER_NOT_READY"},
    {808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED"},
    {809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED"},
    {810, "CUDA_ERROR_MPS_CLIENT_TERMINATED"},
    {811, "CUDA_ERROR_CDP_NOT_SUPPORTED"},
    {812, "CUDA_ERROR_CDP_VERSION_MISMATCH"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
    {907, "CUDA_ERROR_CAPTURED_EVENT"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
    {909, "CUDA_ERROR_TIMEOUT"},
    {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"},
    {911, "CUDA_ERROR_EXTERNAL_DEVICE"},
    {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE"},
    {913, "CUDA_ERROR_FUNCTION_NOT_LOADED"},
    {914, "CUDA_ERROR_INVALID_RESOURCE_TYPE"},
    {915, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION"},
    {916, "CUDA_ERROR_KEY_ROTATION"},
    {999, "CUDA_ERROR_UNKNOWN"},
};

static const slwi_gpu_meaning meanings[] = {
    {SLWI_CU_OUT_OF_MEMORY, SLW_E_NO_MEMORY, "DEVICE_MEMORY", NULL},
    {SLWI_CU_DEINITIALIZED, SLW_E_LOST, "DRIVER_SHUT_DOWN", "The process is ending: nothing more runs on a device."},
    {SLWI_CU_STUB_LIBRARY, SLW_E_STUB, "STUB",
     "This is the toolkit's library for linking; take its directory off the loader's path, or name the driver's own."},
    {SLWI_CU_DEVICE_UNAVAILABLE, SLW_E_UNAVAILABLE, "DEVICE_BUSY",
     "Another process has the device for itself (compute mode exclusive)."},
    {SLWI_CU_NO_DEVICE, SLW_E_NO_DEVICE, NULL, NULL},
    {SLWI_CU_INVALID_DEVICE, SLW_E_NO_DEVICE, NULL, NULL},
    {SLWI_CU_INVALID_IMAGE, SLW_E_INVALID_BINARY, "DRIVER", NULL},
    {SLWI_CU_NO_BINARY_FOR_GPU, SLW_E_TARGET_MISMATCH, "DRIVER", NULL},
    {SLWI_CU_INVALID_PTX, SLW_E_INVALID_PTX, "DRIVER", NULL},
    {SLWI_CU_UNSUPPORTED_PTX_VERSION, SLW_E_TARGET_MISMATCH, "ISA_VERSION",
     "The PTX is newer than the driver: cache a cubin, or install a newer driver."},
    {SLWI_CU_JIT_COMPILER_NOT_FOUND, SLW_E_UNSUPPORTED, "NO_JIT", "The driver's PTX compiler is not installed."},
    {SLWI_CU_JIT_COMPILATION_DISABLED, SLW_E_UNSUPPORTED, "NO_JIT", "The environment forbids the driver to compile."},
    {SLWI_CU_LAUNCH_OUT_OF_RESOURCES, SLW_E_OUT_OF_RESOURCES, "LAUNCH", NULL},
    {SLWI_CU_COOPERATIVE_TOO_LARGE, SLW_E_OUT_OF_RESOURCES, "COOPERATIVE_TOO_LARGE", NULL},
    {SLWI_CU_INVALID_CLUSTER_SIZE, SLW_E_INVALID_LAUNCH, "BAD_CLUSTER", NULL},
    {SLWI_CU_CONTEXT_IS_DESTROYED, SLW_E_LOST, "CONTEXT_GONE", slwi_cuda_reset_hint},
    {SLWI_CU_SYSTEM_NOT_READY, SLW_E_UNAVAILABLE, "SYSTEM_NOT_READY", "A service of the vendor's is not running yet."},
    {SLWI_CU_SYSTEM_DRIVER_MISMATCH, SLW_E_UNAVAILABLE, "VERSION_MISMATCH",
     "The library and the kernel's driver are of different versions: restart after the installation."},
    {SLWI_CU_COMPAT_NOT_SUPPORTED, SLW_E_UNAVAILABLE, "VERSION_MISMATCH",
     "The forward compatibility package does not serve this device: take its library off the loader's path."},
};

int slwi_cuda_result_is_sticky(slwi_cu_result result) {
    switch (result) {
    case SLWI_CU_ECC_UNCORRECTABLE:
    case SLWI_CU_NVLINK_UNCORRECTABLE:
    case SLWI_CU_CONTAINED:
    case SLWI_CU_ILLEGAL_ADDRESS:
    case SLWI_CU_LAUNCH_TIMEOUT:
    case SLWI_CU_ASSERT:
    case SLWI_CU_TENSOR_MEMORY_LEAK:
        return 1;
    default:
        return result >= SLWI_CU_HARDWARE_STACK_ERROR && result <= SLWI_CU_LAUNCH_FAILED;
    }
}

static const slwi_gpu_results results = {
    .names = names,
    .name_count = sizeof names / sizeof *names,
    .meanings = meanings,
    .meaning_count = sizeof meanings / sizeof *meanings,
    .is_sticky = slwi_cuda_result_is_sticky,
};

const char *slwi_cuda_result_name(slwi_cu_result result) {
    return slwi_gpu_result_name(&results, result);
}

int slwi_cuda_result_blames_image(slwi_cu_result result) {
    return result == SLWI_CU_INVALID_IMAGE || result == SLWI_CU_NO_BINARY_FOR_GPU || result == SLWI_CU_INVALID_PTX ||
           result == SLWI_CU_UNSUPPORTED_PTX_VERSION;
}

slw_code slwi_cuda_classify(slwi_cu_result result, const char **reason) {
    return slwi_gpu_result_classify(&results, result, reason);
}

/* A name for every number: ours, the driver's for what is newer than our table, or the number itself. */
static const char *name_of(const slwi_cuda_state *cuda, slwi_cu_result result, char buffer[32]) {
    const char *name = slwi_cuda_result_name(result);
    if (name == NULL && cuda != NULL && cuda->api.cuGetErrorName != NULL &&
        cuda->api.cuGetErrorName(result, &name) != SLWI_CU_SUCCESS) {
        name = NULL;
    }
    if (name != NULL) return name;
    (void)snprintf(buffer, 32, "CUDA_ERROR_%d", result);
    return buffer;
}

slw_code slwi_cuda_fail_at(const char *library, const char *device, slwi_cu_result result, const char *what,
                           slw_error *err) {
    char buffer[32];
    const char *reason = NULL;
    const slw_code code = slwi_cuda_classify(result, &reason);
    const slwi_gpu_failure failure = {
        .result = result,
        .name = name_of(NULL, result, buffer),
        .what = what,
        .library = library,
        .device = device,
    };
    return slwi_gpu_fail(&results, &failure, code, reason, err);
}

slw_code slwi_cuda_fail(const slwi_cuda_state *cuda, slwi_cu_result result, const char *kernel, const char *what,
                        slw_error *err) {
    char buffer[32];
    const char *reason = NULL;
    slw_code code = slwi_cuda_classify(result, &reason);
    /* "Not initialised", of a process that did initialise, is the driver's word for a forked child. */
    if (result == SLWI_CU_NOT_INITIALIZED && cuda->fork_generation != slwi_fork_generation()) code = SLW_E_FORKED;
    if ((result == SLWI_CU_INVALID_CONTEXT || result == SLWI_CU_INVALID_HANDLE) && slwi_cuda_context_gone(cuda)) {
        code = SLW_E_LOST;
        reason = "CONTEXT_GONE";
        slwi_error_hint(err, slwi_cuda_reset_hint);
    }
    const slwi_gpu_failure failure = {
        .result = result,
        .name = name_of(cuda, result, buffer),
        .what = what,
        .library = cuda->library,
        .device = cuda->name,
        .kernel = kernel,
    };
    return slwi_gpu_fail(&results, &failure, code, reason, err);
}
