/* Attacks slw_inspect, slw_inspection_image, slw_contract_read (a binary alone) and slw_preflight: any bytes, every format, and
 * what is read of them against every device of the library's table. */
#include <slipway/inspect.h>
#include <string.h>

#include "fuzz_contract.h"

static const char *target;

static slw_code read_alone(const slw_allocator *allocator, slw_bytes input, slw_contract **out, slw_error *err) {
    const slw_bytes none = {NULL, 0};
    return slw_contract_read(allocator, input, none, "fuzz", target, out, err);
}

static void check_preflight(const slw_contract *contract) {
    const char *device;
    for (size_t d = 0; (device = slw_device_known_target(d)) != NULL; d++) {
        slw_device_info info;
        slw_error err = SLW_ERROR_INIT;
        memset(&info, 0, sizeof info);
        info.size = sizeof info;
        FUZZ_REQUIRE(slw_device_known(device, &info, &err) == SLW_OK);
        for (uint32_t k = 0; k < contract->kernel_count && k < 2; k++) {
            const slw_code rc = slw_preflight(contract, &contract->kernels[k], &info, NULL, &err);
            if (rc == SLW_OK) continue;
            FUZZ_REQUIRE(rc == SLW_E_TARGET_MISMATCH || rc == SLW_E_OUT_OF_RESOURCES || rc == SLW_E_INVALID_LAUNCH);
            FUZZ_REQUIRE(err.code == rc && err.message[0] != '\0');
            if (rc == SLW_E_OUT_OF_RESOURCES)
                FUZZ_REQUIRE(err.resource != NULL && err.required > err.limit && err.unit != NULL);
        }
    }
}

static void check_image(const slw_image *image, size_t size) {
    FUZZ_REQUIRE(image->offset_bytes <= size && image->size_bytes <= size - image->offset_bytes);
    FUZZ_REQUIRE(strcmp(slw_image_kind_name(image->kind), "unknown") != 0 || image->contract == NULL);
    FUZZ_REQUIRE(image->contract == NULL || image->error == NULL);
    FUZZ_REQUIRE(image->compression == NULL || image->contract == NULL);
    if (image->error != NULL) {
        FUZZ_REQUIRE(image->error->code != SLW_E_NO_MEMORY); /* that fails the call */
        fuzz_check_reader_refusal(image->error->code, image->error, size);
    }
    if (image->contract == NULL) return;
    fuzz_check_contract(image->contract);
    check_preflight(image->contract);
}

static slw_code inspect(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    slw_inspect_options options = SLW_INSPECT_OPTIONS_INIT;
    slw_inspection *inspection = NULL;
    slw_error err = SLW_ERROR_INIT;
    options.allocator = *allocator;
    options.name = "fuzz";
    const slw_code rc = slw_inspect(&options, (slw_bytes){data, size}, &inspection, &err);
    FUZZ_REQUIRE((rc == SLW_OK) == (inspection != NULL));
    if (rc != SLW_OK) {
        FUZZ_REQUIRE(rc == SLW_E_UNSUPPORTED_INPUT || rc == SLW_E_INVALID_BINARY || rc == SLW_E_INVALID_PTX ||
                     rc == SLW_E_LIMIT || rc == SLW_E_NO_MEMORY);
        fuzz_check_reader_refusal(rc, &err, size);
        return rc;
    }
    slw_image image = SLW_IMAGE_INIT;
    FUZZ_REQUIRE(strcmp(slw_file_format_name(slw_inspection_format(inspection)), "unknown") != 0);
    for (size_t i = 0; i < slw_inspection_count(inspection); i++) {
        FUZZ_REQUIRE(slw_inspection_image(inspection, i, &image));
        check_image(&image, size);
    }
    FUZZ_REQUIRE(!slw_inspection_image(inspection, slw_inspection_count(inspection), &image));
    slw_inspection_discard(&inspection);
    FUZZ_REQUIRE(inspection == NULL);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const targets[] = {NULL, "sm_90", "gfx90a:sramecc+:xnack-"};
    FUZZ_REQUIRE(fuzz_with_fault(inspect, data, size) != SLW_E_NO_MEMORY);
    target = targets[fuzz_pick(data, size, sizeof targets / sizeof targets[0])];
    (void)fuzz_contract(read_alone, data, size);
    return 0;
}
