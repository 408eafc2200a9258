/* What a device runs: "gfx90a:sramecc+:xnack-".
 *
 * HIP tells it in a structure whose layout depends on the release (device.md B.1), so what stands there is believed
 * when it is a target and its version is the one that the attributes, which have not changed, say. The kernel's own
 * word comes last: HSA_OVERRIDE_GFX_VERSION makes a device run what it is not, and then HIP is right (B.6). */
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "hip_driver.h"
#include "target.h"

#define PROPERTIES_BYTES 8192u /* several times what any release writes */
_Static_assert(PROPERTIES_BYTES >= 4 * SLWI_HIP_PROPERTIES_R0600_BYTES, "room");
_Static_assert(SLWI_HIP_PROPERTIES_R0600_ARCHITECTURE + SLWI_HIP_ARCHITECTURE_BYTES <= SLWI_HIP_PROPERTIES_R0600_BYTES,
               "inside");
_Static_assert(SLWI_HIP_PROPERTIES_OLD_ARCHITECTURE + SLWI_HIP_ARCHITECTURE_BYTES <= SLWI_HIP_PROPERTIES_OLD_BYTES,
               "inside");

typedef slwi_hip_result ask_properties(void *properties, int device);

/* Aligned as the structure is. */
typedef union properties_room {
    char bytes[PROPERTIES_BYTES];
    uint64_t align;
} properties_room;

static int read_properties(const slwi_hip_state *hip, ask_properties *ask, size_t offset, slwi_gfx *out) {
    properties_room room;
    char text[SLWI_HIP_ARCHITECTURE_BYTES];
    if (ask == NULL) return 0;
    memset(&room, 0, sizeof room);
    if (ask(&room, hip->device) != SLWI_HIP_SUCCESS) {
        slwi_hip_clear(hip);
        return 0;
    }
    memcpy(text, room.bytes + offset, sizeof text);
    text[sizeof text - 1] = '\0';
    return slwi_gfx_parse(text, out);
}

/* "gfx90a": the last two digits are the minor number and the stepping, each hexadecimal. A generic target is no
   device's. */
static int has_version(const slwi_gfx *gfx, uint32_t major, uint32_t minor) {
    char start[32];
    (void)snprintf(start, sizeof start, "gfx%u%x", major, minor);
    const size_t length = strlen(start);
    return strlen(gfx->processor) == length + 1 && strncmp(gfx->processor, start, length) == 0;
}

/* 0 where it is not known. */
static int ask_version(const slwi_hip_state *hip, uint32_t *major, uint32_t *minor) {
    int values[2] = {0, 0};
    if (hip->api.hipDeviceGetAttribute(&values[0], SLWI_HIP_DEVICE_CC_MAJOR, hip->device) != SLWI_HIP_SUCCESS ||
        hip->api.hipDeviceGetAttribute(&values[1], SLWI_HIP_DEVICE_CC_MINOR, hip->device) != SLWI_HIP_SUCCESS) {
        slwi_hip_clear(hip);
        return 0;
    }
    if (values[0] <= 0 || values[1] < 0 || values[1] > 15) return 0;
    *major = (uint32_t)values[0];
    *minor = (uint32_t)values[1];
    return 1;
}

static int read_kernel_word(const slwi_hip_state *hip, slwi_gfx *out) {
    slwi_hip_node nodes[SLWI_HIP_NODES];
    char address[64] = "", name[32];
    const char *known_address = NULL;
    if (slwi_hip_can(hip, SLWI_HIP_CAN(hipDeviceGetPCIBusId))) {
        if (hip->api.hipDeviceGetPCIBusId(address, (int)sizeof address, hip->device) == SLWI_HIP_SUCCESS) {
            address[sizeof address - 1] = '\0';
            known_address = address;
        } else {
            slwi_hip_clear(hip);
        }
    }
    const uint32_t version = slwi_hip_topology_find(nodes, slwi_hip_topology(nodes), known_address);
    if (version == 0) return 0;
    slwi_hip_topology_name(version, name);
    return slwi_gfx_parse(name, out);
}

slw_code slwi_hip_target(const slwi_hip_state *hip, char out[64], slw_error *err) {
    const struct {
        ask_properties *ask;
        size_t offset;
    } sources[] = {
        {hip->api.hipGetDevicePropertiesR0600, SLWI_HIP_PROPERTIES_R0600_ARCHITECTURE},
        {hip->api.hipGetDeviceProperties, SLWI_HIP_PROPERTIES_OLD_ARCHITECTURE},
    };
    uint32_t major = 0, minor = 0;
    slwi_gfx gfx, doubted;
    int is_doubted = 0;
    const int is_known = ask_version(hip, &major, &minor);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (!read_properties(hip, sources[i].ask, sources[i].offset, &gfx)) continue;
        if (!is_known || has_version(&gfx, major, minor)) {
            slwi_gfx_format(&gfx, out);
            return SLW_OK;
        }
        if (!is_doubted) doubted = gfx;
        is_doubted = 1;
    }
    /* Of two that disagree with the attributes, what can be read as a target at its place is still HIP's word. */
    if (is_doubted || read_kernel_word(hip, &doubted)) {
        slwi_gfx_format(&doubted, out);
        return SLW_OK;
    }
    slwi_error_kernel(err, NULL, hip->name);
    slwi_error_path(err, hip->library);
    return slwi_fail(err, SLW_E_DRIVER, "NO_TARGET", "%s of %s does not say which architecture it has", hip->name,
                     hip->version[0] != '\0' ? hip->version : "HIP");
}
