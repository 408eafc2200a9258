/* Is a CUDA device there? Answered from files and from whether the library loads: cuInit here would break every child
 * that the process forks later (device.md A.10, G 5). */
#include <string.h>

#include "cuda_driver.h"
#include "gpu_examine.h"

#define CONTROL_DEVICE "/dev/nvidiactl"
#define WINDOWS_DEVICE "/dev/dxg" /* under WSL there is no other */
#define VERSION_FILE   "/proc/driver/nvidia/version"

static void look(const slwi_gpu_library *library, int named, slw_driver_status *out) {
    char version[160];
    if (strstr(library->path, "/stubs/") != NULL) {
        slwi_gpu_say(out, SLW_PRESENCE_NO, SLW_E_STUB, "this is the toolkit's library for linking");
    } else if (slwi_gpu_path_exists(CONTROL_DEVICE) && slwi_gpu_first_line(VERSION_FILE, version, sizeof version)) {
        slwi_gpu_say(out, SLW_PRESENCE_MAYBE, SLW_OK, version);
    } else if (slwi_gpu_path_exists(WINDOWS_DEVICE)) {
        slwi_gpu_say(out, SLW_PRESENCE_MAYBE, SLW_OK, "the library loads, and " WINDOWS_DEVICE " is there");
    } else if (named) {
        slwi_gpu_say(out, SLW_PRESENCE_MAYBE, SLW_OK, "the library that was named loads; there is no " CONTROL_DEVICE);
    } else {
        slwi_gpu_say(out, SLW_PRESENCE_NO, SLW_E_NO_DEVICE, "the library loads, and there is no " CONTROL_DEVICE);
    }
}

static const slwi_gpu_vendor vendor = {
    .name = "CUDA",
    .initialise = "cuInit",
    .open = slwi_cuda_library_open,
    .result_name = slwi_cuda_result_name,
    .classify = slwi_cuda_classify,
    .look = look,
};

void slwi_cuda_examine(const char *named, slw_driver_status *out) {
    slwi_gpu_examine(&vendor, named, out);
}
