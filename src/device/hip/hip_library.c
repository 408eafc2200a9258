/* libamdhip64.so: found, its symbols resolved, initialised once.
 *
 * The number in the name is ROCm's major version, and two of them in one process do not get along: what the process has
 * already wins over a newer one (device.md B.1, G 32).  Installations that only run programs have no name without a
 * number, so that one is the last to be tried. */
#include <stdio.h>

#include "fail.h"
#include "hip_driver.h"

static const char *const library_names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                            "libamdhip64.so", NULL};
static const slwi_gpu_names hip_names = {"hip", library_names, "hipInit", 1};

#define REQUIRED(name, result, parameters) {#name, #name, 0, 1, 0, offsetof(slwi_hip_api, name)},
#define OPTIONAL(name, result, parameters) {#name, #name, 0, 0, SLWI_HIP_CAN(name), offsetof(slwi_hip_api, name)},
static const slwi_gpu_symbol symbols[] = {SLWI_HIP_SYMBOLS(REQUIRED, OPTIONAL)};
#undef REQUIRED
#undef OPTIONAL

slw_code slwi_hip_library_open(const char *named, const slw_library_loader *loader, slwi_gpu_library *out,
                               slw_error *err) {
    return slwi_gpu_library_open(&hip_names, named, loader, out, err);
}

static void *look_up(const void *context, const slwi_gpu_library *library, const slwi_gpu_symbol *symbol) {
    (void)context;
    return slwi_gpu_library_symbol(library, symbol->exported);
}

slw_code slwi_hip_library_resolve(const slwi_gpu_library *library, slwi_hip_api *api, uint32_t *capabilities,
                                  slw_error *err) {
    return slwi_gpu_resolve(library, symbols, sizeof symbols / sizeof *symbols, look_up, NULL, api, capabilities, err);
}

/* ---- Initialising ------------------------------------------------------------------------------------------------ */

static int initialise(void *context) {
    const slwi_hip_api *const api = context;
    return api->hipInit(0);
}

/* Major × 10^7 + minor × 10^5 + patch. Not asked before hipInit, which has to come first (device.md B.3). */
static void learn_version(slwi_hip_state *hip) {
    int version = 0;
    if (!slwi_hip_can(hip, SLWI_HIP_CAN(hipRuntimeGetVersion))) return;
    if (hip->api.hipRuntimeGetVersion(&version) != SLWI_HIP_SUCCESS) {
        slwi_hip_clear(hip);
    } else if (version > 0) {
        (void)snprintf(hip->version, sizeof hip->version, "HIP %d.%d.%d", version / 10000000, version / 100000 % 100,
                       version % 100000);
    }
}

slw_code slwi_hip_library_init(const slwi_gpu_library *library, slwi_hip_state *hip, slw_error *err) {
    slwi_hip_api copy = hip->api;
    int result = SLWI_HIP_UNKNOWN;
    if (slwi_gpu_init_once(library->anchor, initialise, &copy, &result) == SLWI_GPU_INIT_FORKED) {
        slwi_error_path(err, library->path);
        slwi_error_hint(err, "Open devices in the child only, or start it with exec.");
        return slwi_fail(err, SLW_E_FORKED, NULL, "HIP was initialised before this process was forked");
    }
    learn_version(hip);
    if (result == SLWI_HIP_SUCCESS) return SLW_OK;
    slwi_error_tried(err, library->path);
    return slwi_hip_fail(hip, result, NULL, "hipInit", err);
}
