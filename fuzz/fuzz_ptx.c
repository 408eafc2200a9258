/* Attacks slwi_ptx_scan, slwi_ptx_contract, slwi_ptx_read_contract and slwi_ptx_place: a module's text to kernels and their
 * prototypes. */
#include <string.h>

#include "backends.h"
#include "fuzz_contract.h"
#include "ptx/ptx_read.h"

static void check_inside(slw_bytes part, slw_bytes text) {
    const char *begin = text.data;
    const char *at = part.data;
    if (part.size == 0) return;
    FUZZ_REQUIRE(at >= begin && part.size <= text.size && (size_t)(at - begin) <= text.size - part.size);
}

static void check_module(const slwi_ptx_module *module, slw_bytes text) {
    uint32_t params = 0;
    FUZZ_REQUIRE(module->kernel_count > 0);
    FUZZ_REQUIRE(module->steps <= 4 * (uint64_t)text.size + 64); /* linear, whatever the shape */
    check_inside(module->target, text);
    for (uint32_t i = 0; i < module->kernel_count; i++) {
        const slwi_ptx_kernel *kernel = &module->kernels[i];
        check_inside(kernel->name, text);
        FUZZ_REQUIRE(kernel->name.size > 0 && kernel->offset_bytes < text.size);
        for (uint32_t p = 0; p < kernel->param_count; p++) {
            const slwi_ptx_param *param = &kernel->params[p];
            check_inside(param->name, text);
            FUZZ_REQUIRE((uint64_t)param->offset_bytes + param->size_bytes <= kernel->param_bytes);
            FUZZ_REQUIRE(param->alignment_bytes != 0 && (param->alignment_bytes & (param->alignment_bytes - 1)) == 0);
        }
        params += kernel->param_count;
    }
    FUZZ_REQUIRE(params == module->param_count);
}

static slw_code scan(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    slwi_ptx_module module;
    slw_contract *contract = NULL;
    slw_error err = SLW_ERROR_INIT;
    const slw_bytes text = {data, size};
    slw_code rc = slwi_ptx_scan(allocator, text, "fuzz.ptx", &module, &err);
    if (rc != SLW_OK) {
        FUZZ_REQUIRE(rc == SLW_E_INVALID_PTX || rc == SLW_E_LIMIT || rc == SLW_E_NO_MEMORY);
        fuzz_check_refusal(rc, &err, size);
        return rc;
    }
    FUZZ_REQUIRE(slwi_ptx_recognises(text));
    check_module(&module, text);
    rc = slwi_ptx_contract(allocator, &module, "cuda", NULL, &contract, &err);
    FUZZ_REQUIRE((rc == SLW_OK) == (contract != NULL));
    if (rc == SLW_OK) {
        FUZZ_REQUIRE(contract->kernel_count == module.kernel_count);
        for (uint32_t i = 0; i < contract->kernel_count; i++)
            FUZZ_REQUIRE(slw_contract_find(contract, contract->kernels[i].name) == &contract->kernels[i]);
    } else {
        FUZZ_REQUIRE(rc == SLW_E_LIMIT || rc == SLW_E_NO_MEMORY);
    }
    slwi_contract_free(allocator, &contract);
    slwi_ptx_release(allocator, &module);
    return rc;
}

static slw_code read_text(const slw_allocator *allocator, slw_bytes input, slw_contract **out, slw_error *err) {
    return slwi_ptx_read_contract(allocator, input, "cuda", NULL, out, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const slw_code rc = fuzz_with_fault(scan, data, size);
    FUZZ_REQUIRE(rc != SLW_E_NO_MEMORY && fuzz_contract(read_text, data, size) == rc);
    return 0;
}
