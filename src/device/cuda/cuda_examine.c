/* Is a CUDA device there? Answered from files and from whether the library loads: cuInit here would break every child
 * that the process forks later (device.md A.10, G 5). */
#include <stdio.h>
#include <string.h>

#include "cuda_driver.h"
#include "fail.h"

#define CONTROL_DEVICE "/dev/nvidiactl"
#define WINDOWS_DEVICE "/dev/dxg" /* under WSL there is no other */
#define VERSION_FILE   "/proc/driver/nvidia/version"

static void say(slw_driver_status *out, slw_presence presence, slw_code code, const char *why) {
    out->presence = presence;
    out->code = code;
    (void)snprintf(out->why, sizeof out->why, "%.255s", why);
}

/* What earlier opens in this process learned. 0: nobody has asked yet. */
static int say_what_is_known(const slwi_gpu_library *library, slw_driver_status *out) {
    int result = SLWI_CU_UNKNOWN;
    switch (slwi_gpu_init_known(library->anchor, &result)) {
    case SLWI_GPU_INIT_FORKED:
        say(out, SLW_PRESENCE_MAYBE, SLW_E_FORKED, "CUDA was initialised before this process was forked");
        return 1;
    case SLWI_GPU_INIT_ASKED:
        break;
    default:
        return 0;
    }
    const char *reason = NULL;
    const char *const name = slwi_cuda_result_name(result);
    const slw_code code = slwi_cuda_classify(result, &reason);
    if (code == SLW_OK) {
        say(out, SLW_PRESENCE_YES, SLW_OK, "initialised in this process");
    } else {
        say(out, SLW_PRESENCE_NO, code, name != NULL ? name : "cuInit failed");
    }
    return 1;
}

static void say_from_files(int named, slw_driver_status *out) {
    char version[160];
    if (slwi_gpu_path_exists(CONTROL_DEVICE) && slwi_gpu_first_line(VERSION_FILE, version, sizeof version)) {
        say(out, SLW_PRESENCE_MAYBE, SLW_OK, version);
    } else if (slwi_gpu_path_exists(WINDOWS_DEVICE)) {
        say(out, SLW_PRESENCE_MAYBE, SLW_OK, "the library loads, and " WINDOWS_DEVICE " is there");
    } else if (named) {
        say(out, SLW_PRESENCE_MAYBE, SLW_OK, "the library that was named loads; there is no " CONTROL_DEVICE);
    } else {
        say(out, SLW_PRESENCE_NO, SLW_E_NO_DEVICE, "the library loads, and there is no " CONTROL_DEVICE);
    }
}

void slwi_cuda_examine(const char *named, slw_driver_status *out) {
    slw_error err = SLW_ERROR_INIT;
    slwi_gpu_library library;
    const slw_code code = slwi_cuda_library_open(named, NULL, &library, &err);
    if (code != SLW_OK) {
        say(out, SLW_PRESENCE_NO, code, err.tried[0] != '\0' ? err.tried : err.message);
        (void)snprintf(out->path, sizeof out->path, "%s", named != NULL ? named : "");
        return;
    }
    (void)snprintf(out->path, sizeof out->path, "%s", library.path);
    if (library.anchor == NULL) {
        say(out, SLW_PRESENCE_NO, SLW_E_UNAVAILABLE, "the library has no cuInit");
    } else if (!say_what_is_known(&library, out)) {
        if (strstr(library.path, "/stubs/") != NULL) {
            say(out, SLW_PRESENCE_NO, SLW_E_STUB, "this is the toolkit's library for linking");
        } else {
            say_from_files(named != NULL, out);
        }
    }
}
