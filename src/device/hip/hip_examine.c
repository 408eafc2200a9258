/* Is a HIP device there? Answered from files and from whether the library loads: hipInit here would touch every GPU and
 * break every child that the process forks later (device.md A.10, G 38). */
#include <stdio.h>
#include <string.h>

#include "gpu_examine.h"
#include "hip_driver.h"

#define CONTROL_DEVICE "/dev/kfd"
#define WINDOWS_DEVICE "/dev/dxg" /* under WSL there is no other */
#define TOPOLOGY       "/sys/class/kfd/kfd/topology"

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
        slwi_gpu_say(out, SLW_PRESENCE_MAYBE, SLW_OK, why);
    } else if (slwi_gpu_path_exists(TOPOLOGY)) {
        slwi_gpu_say(out, SLW_PRESENCE_NO, SLW_E_NO_DEVICE, "the kernel lists no GPU in " TOPOLOGY);
    } else {
        slwi_gpu_say(out, SLW_PRESENCE_MAYBE, SLW_OK, CONTROL_DEVICE " is there, " TOPOLOGY " is not to be seen");
    }
}

static void look(const slwi_gpu_library *library, int named, slw_driver_status *out) {
    (void)library;
    if (slwi_gpu_path_exists(CONTROL_DEVICE)) {
        say_from_topology(out);
    } else if (slwi_gpu_path_exists(WINDOWS_DEVICE)) {
        slwi_gpu_say(out, SLW_PRESENCE_MAYBE, SLW_OK, "the library loads, and " WINDOWS_DEVICE " is there");
    } else if (named) {
        slwi_gpu_say(out, SLW_PRESENCE_MAYBE, SLW_OK, "the library that was named loads; there is no " CONTROL_DEVICE);
    } else {
        slwi_gpu_say(out, SLW_PRESENCE_NO, SLW_E_NO_DEVICE, "the library loads, and there is no " CONTROL_DEVICE);
    }
}

static const slwi_gpu_vendor vendor = {
    .name = "HIP",
    .initialise = "hipInit",
    .open = slwi_hip_library_open,
    .result_name = slwi_hip_result_name,
    .classify = slwi_hip_classify,
    .look = look,
};

void slwi_hip_examine(const char *named, slw_driver_status *out) {
    slwi_gpu_examine(&vendor, named, out);
}
