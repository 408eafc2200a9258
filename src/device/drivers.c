#include "drivers.h"

#include <stdio.h>
#include <string.h>

#include "fail.h"

/* By index of slw_driver_examine. */
static const struct {
    const char *kind;
    const slw_driver_vtable *driver;
} known[] = {
    {"host", &slwi_host_driver},
    {"cuda", &slwi_cuda_driver},
    {"hip", &slwi_hip_driver},
};
#define KNOWN_COUNT (sizeof known / sizeof known[0])

slw_code slwi_driver_find(const char *kind, const slw_driver_vtable **out, slw_error *err) {
    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        if (strcmp(kind, known[i].kind) != 0) continue;
        *out = known[i].driver;
        return SLW_OK;
    }
    slwi_error_subject(err, kind, strlen(kind));
    return slwi_fail(err, SLW_E_UNSUPPORTED, "NO_DRIVER", "no driver \"%s\" in this version of slipway", kind);
}

slw_code slwi_driver_check(const slw_driver_vtable *driver, slw_error *err) {
    if (driver->size != sizeof *driver || driver->abi != SLW_DRIVER_ABI) {
        return slwi_fail(err, SLW_E_USAGE, "BAD_DRIVER", "the driver has size %u and ABI %u, %zu and %u are needed",
                         driver->size, driver->abi, sizeof *driver, SLW_DRIVER_ABI);
    }
    /* examine, prepare, occupancy, native_context and native_function may be absent. */
    if (driver->kind == NULL || driver->open == NULL || driver->close == NULL || driver->load == NULL ||
        driver->unload == NULL || driver->function == NULL || driver->launch == NULL || driver->global == NULL ||
        driver->native_module == NULL || driver->alloc == NULL || driver->free == NULL || driver->copy_in == NULL ||
        driver->copy_out == NULL || driver->stream_create == NULL || driver->stream_destroy == NULL ||
        driver->synchronize == NULL || driver->wait_idle == NULL) {
        return slwi_fail(err, SLW_E_USAGE, "BAD_DRIVER", "the driver leaves out a function that it must have");
    }
    return SLW_OK;
}

static int examine(size_t index, const char *library, slw_driver_status *out) {
    if (index >= KNOWN_COUNT || out == NULL || out->size != sizeof *out) return 0;
    slw_driver_status status = SLW_DRIVER_STATUS_INIT;
    (void)snprintf(status.kind, sizeof status.kind, "%s", known[index].kind);
    if (known[index].driver->examine == NULL) {
        status.presence = SLW_PRESENCE_YES;
        status.code = SLW_OK;
    } else {
        known[index].driver->examine(library, &status);
    }
    *out = status;
    return 1;
}

int slw_driver_examine(size_t index, slw_driver_status *out) {
    return examine(index, NULL, out);
}

int slw_driver_examine_library(const char *kind, const char *library, slw_driver_status *out) {
    for (size_t i = 0; kind != NULL && i < KNOWN_COUNT; i++) {
        if (strcmp(kind, known[i].kind) == 0) return examine(i, library, out);
    }
    return 0;
}
