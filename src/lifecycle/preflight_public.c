/* slw_preflight: the checks before a load and a launch, for anyone who has a contract and a device's figures. */
#include <slipway/inspect.h>

#include <string.h>

#include "fail.h"
#include "launch.h"
#include "preflight.h"

static int terminated(const char *text, size_t capacity) {
    return memchr(text, '\0', capacity) != NULL;
}

static slw_code check_arguments(const slw_contract *contract, const slw_kernel_contract *kernel,
                                const slw_device_info *device, const slw_launch_shape *shape, slw_error *err) {
    if (contract == NULL || contract->backend == NULL || contract->target == NULL)
        return slwi_fail(err, SLW_E_USAGE, NULL, "there is no contract, or one without backend or target");
    if (device == NULL || device->size != sizeof *device)
        return slwi_fail(err, SLW_E_USAGE, NULL, "the device's figures are missing or have another size");
    if (!terminated(device->kind, sizeof device->kind) || !terminated(device->name, sizeof device->name) ||
        !terminated(device->target, sizeof device->target))
        return slwi_fail(err, SLW_E_USAGE, NULL, "a text of the device's figures does not end");
    if (kernel != NULL && kernel->name == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "the kernel has no name");
    if (shape != NULL && (shape->size != sizeof *shape || (shape->flags & ~SLWI_LAUNCH_FLAGS) != 0))
        return slwi_fail(err, SLW_E_USAGE, NULL,
                         "slw_launch_shape is of another version, or has flags this version does not know");
    if (kernel != NULL && shape != NULL && shape->entry != NULL && strcmp(shape->entry, kernel->name) != 0)
        return slwi_fail(err, SLW_E_USAGE, NULL, "the shape is of %.128s, the kernel is %.128s", shape->entry,
                         kernel->name);
    return SLW_OK;
}

static slw_code check_kernel(const slw_kernel_contract *kernel, const slw_device_info *device,
                             const slw_launch_shape *shape, slw_error *err) {
    slwi_shape resolved;
    if (shape == NULL) return slwi_preflight_least(kernel, device, err);
    const slw_code rc = slwi_preflight_resolve(kernel, shape, &resolved, err);
    return rc == SLW_OK ? slwi_preflight_shape(kernel, device, &resolved, err) : rc;
}

slw_code slw_preflight(const slw_contract *contract, const slw_kernel_contract *kernel, const slw_device_info *device,
                       const slw_launch_shape *shape, slw_error *err) {
    slwi_error_reset(err);
    slw_code rc = check_arguments(contract, kernel, device, shape, err);
    if (rc == SLW_OK) {
        rc = slwi_preflight_target(contract, device, err);
        if (rc == SLW_OK && kernel != NULL) rc = check_kernel(kernel, device, shape, err);
        if (rc != SLW_OK) slwi_error_kernel(err, kernel != NULL ? kernel->name : NULL, device->name);
    }
    if (rc != SLW_OK) slwi_error_phase(err, "preflight");
    return rc;
}
