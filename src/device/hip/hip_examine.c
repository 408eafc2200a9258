/* Is a HIP device there? Answered from files and from whether the library loads: hipInit here would touch every GPU and
 * break every child that the process forks later (device.md A.10, G 38). */
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "hip_driver.h"

#define CONTROL_DEVICE "/dev/kfd"
#define WINDOWS_DEVICE "/dev/dxg" /* under WSL there is no other */
#define TOPOLOGY       "/sys/class/kfd/kfd/topology"

static void say(slw_driver_status *out, slw_presence presence, slw_code code, const char *why) {
    out->presence = presence;
    out->code = code;
    (void)snprintf(out->why, sizeof out->why, "%.255s", why);
}

/* What earlier opens in this process learned. 0: nobody has asked yet. */
static int say_what_is_known(const slwi_gpu_library *library, slw_driver_status *out) {
    int result = SLWI_HIP_UNKNOWN;
    switch (slwi_gpu_init_known(library->anchor, &result)) {
    case SLWI_GPU_INIT_FORKED:
        say(out, SLW_PRESENCE_MAYBE, SLW_E_FORKED, "HIP was initialised before this process was forked");
        return 1;
    case SLWI_GPU_INIT_ASKED:
        break;
    default:
        return 0;
    }
    const char *reason = NULL;
    const char *const name = slwi_hip_result_name(result);
    const slw_code code = slwi_hip_classify(result, &reason);
    if (code == SLW_OK) {
        say(out, SLW_PRESENCE_YES, SLW_OK, "initialised in this process");
    } else {
        say(out, SLW_PRESENCE_NO, code, name != NULL ? name : "hipInit failed");
    }
    return 1;
}

/* "gfx90a, gfx1030": each once. What does not fit is left out. */
static void list_targets(const slwi_hip_node *nodes, uint32_t count, char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        char name[32];
        int is_new = 1;
        for (uint32_t j = 0; j < i; j++) is_new = is_new && nodes[j].version != nodes[i].version;
        if (!is_new) continue;
        slwi_hip_topology_name(nodes[i].version, name);
        const int wrote = snprintf(out + used, size - used, "%s%s", used == 0 ? "" : ", ", name);
        if (wrote < 0 || (size_t)wrote >= size - used) {
            out[used] = '\0';
            return;
        }
        used += (size_t)wrote;
    }
}

static void say_from_topology(slw_driver_status *out) {
    slwi_hip_node nodes[SLWI_HIP_NODES];
    char targets[160], why[256];
    const uint32_t count = slwi_hip_topology(nodes);
    if (count != 0) {
        list_targets(nodes, count, targets, sizeof targets);
        (void)snprintf(why, sizeof why, "the kernel lists %u GPU%s: %s", count, count == 1 ? "" : "s", targets);
        say(out, SLW_PRESENCE_MAYBE, SLW_OK, why);
    } else if (slwi_gpu_path_exists(TOPOLOGY)) {
        say(out, SLW_PRESENCE_NO, SLW_E_NO_DEVICE, "the kernel lists no GPU in " TOPOLOGY);
    } else {
        say(out, SLW_PRESENCE_MAYBE, SLW_OK, CONTROL_DEVICE " is there, " TOPOLOGY " is not to be seen");
    }
}

static void say_from_files(int named, slw_driver_status *out) {
    if (slwi_gpu_path_exists(CONTROL_DEVICE)) {
        say_from_topology(out);
    } else if (slwi_gpu_path_exists(WINDOWS_DEVICE)) {
        say(out, SLW_PRESENCE_MAYBE, SLW_OK, "the library loads, and " WINDOWS_DEVICE " is there");
    } else if (named) {
        say(out, SLW_PRESENCE_MAYBE, SLW_OK, "the library that was named loads; there is no " CONTROL_DEVICE);
    } else {
        say(out, SLW_PRESENCE_NO, SLW_E_NO_DEVICE, "the library loads, and there is no " CONTROL_DEVICE);
    }
}

void slwi_hip_examine(const char *named, slw_driver_status *out) {
    slw_error err = SLW_ERROR_INIT;
    slwi_gpu_library library;
    const slw_code code = slwi_hip_library_open(named, NULL, &library, &err);
    if (code != SLW_OK) {
        say(out, SLW_PRESENCE_NO, code, err.tried[0] != '\0' ? err.tried : err.message);
        (void)snprintf(out->path, sizeof out->path, "%s", named != NULL ? named : "");
        return;
    }
    (void)snprintf(out->path, sizeof out->path, "%s", library.path);
    if (library.anchor == NULL) {
        say(out, SLW_PRESENCE_NO, SLW_E_UNAVAILABLE, "the library has no hipInit");
    } else if (!say_what_is_known(&library, out)) {
        say_from_files(named != NULL, out);
    }
}
