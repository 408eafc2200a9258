/* Differential: attacks slwi_cubin_contract and slwi_ptx_read_contract with the same kernels. The input describes a module;
 * two writers of our own (fuzz_write_ptx.c, fuzz_write_cubin.c) make a text and a binary of it; both readers must accept, agree
 * with each other, and say what the description says. */
#include <stdio.h>
#include <string.h>

#include "backends.h"
#include "cubin_read.h"
#include "fuzz_contract.h"
#include "fuzz_kernels.h"
#include "ptx/ptx_read.h"

static char text[FUZZ_WRITTEN_MAX];
static uint8_t binary[FUZZ_WRITTEN_MAX];

static slw_code read_text(const slw_allocator *allocator, slw_bytes input, slw_contract **out, slw_error *err) {
    return slwi_ptx_read_contract(allocator, input, "cuda", NULL, out, err);
}

static slw_code read_binary(const slw_allocator *allocator, slw_bytes input, slw_contract **out, slw_error *err) {
    return slwi_cubin_contract(allocator, input, NULL, out, err);
}

static slw_contract *must_read(fuzz_reader read, const void *data, size_t size) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    const slw_code rc = read(NULL, (slw_bytes){data, size}, &contract, &err);
    if (rc != SLW_OK)
        (void)fprintf(stderr, "%s %s at %llu: %s\n", slw_code_name(rc), err.reason,
                      (unsigned long long)err.offset_bytes, err.message);
    FUZZ_REQUIRE(rc == SLW_OK);
    return contract;
}

static uint32_t product(const uint32_t d[3]) {
    return d[0] * d[1] * d[2];
}

static void check_params(const fuzz_kernel *k, const slw_kernel_contract *c) {
    FUZZ_REQUIRE(c->param_count == k->param_count && c->param_bytes == k->param_bytes);
    for (uint32_t i = 0; i < k->param_count; i++) {
        FUZZ_REQUIRE(c->params[i].offset_bytes == k->params[i].offset_bytes);
        FUZZ_REQUIRE(c->params[i].size_bytes == k->params[i].size_bytes);
        FUZZ_REQUIRE(c->params[i].role == SLW_ROLE_CALLER);
    }
}

/* What text and binary both say. */
static void check_kernel(const fuzz_kernel *k, const slw_kernel_contract *c) {
    FUZZ_REQUIRE(c != NULL);
    check_params(k, c);
    FUZZ_REQUIRE(c->max_threads == product(k->maxntid));
    FUZZ_REQUIRE(memcmp(c->required_threads, k->reqntid, sizeof k->reqntid) == 0);
    FUZZ_REQUIRE(memcmp(c->cluster, k->cluster, sizeof k->cluster) == 0);
    FUZZ_REQUIRE(c->cluster_required == (k->cluster[0] != 0));
    FUZZ_REQUIRE(c->max_cluster_rank == k->max_cluster_rank);
    FUZZ_REQUIRE(c->grid_unit == (k->blocks_are_clusters ? SLW_GRID_CLUSTERS : SLW_GRID_BLOCKS));
    FUZZ_REQUIRE(c->ctas == 1 && c->warp_threads == 32);
}

/* What only the binary says. */
static void check_resources(const fuzz_kernel *k, const slw_kernel_contract *c) {
    FUZZ_REQUIRE(c->registers == k->registers && c->local_bytes == k->local_bytes);
    FUZZ_REQUIRE(c->static_shared_bytes == k->shared_bytes);
}

static void check_target(const fuzz_module *module, const slw_contract *contract) {
    char name[16];
    (void)snprintf(name, sizeof name, "sm_%u%s", module->sm, module->variant == 'a' ? "a" : "");
    FUZZ_REQUIRE(strcmp(contract->target, name) == 0 && strcmp(contract->backend, "cuda") == 0);
    FUZZ_REQUIRE(contract->kernel_count == module->kernel_count);
}

static void check_same(const fuzz_module *module, const slw_contract *of_text, const slw_contract *of_binary) {
    check_target(module, of_text);
    check_target(module, of_binary);
    FUZZ_REQUIRE(of_text->kind == SLW_IMAGE_PTX && of_binary->kind == SLW_IMAGE_CUBIN);
    for (uint32_t i = 0; i < module->kernel_count; i++) {
        const fuzz_kernel *k = &module->kernels[i];
        const slw_kernel_contract *a = slw_contract_find(of_text, k->name);
        const slw_kernel_contract *b = slw_contract_find(of_binary, k->name);
        check_kernel(k, a);
        check_kernel(k, b);
        check_resources(k, b);
        FUZZ_REQUIRE(a - of_text->kernels == b - of_binary->kernels); /* the same order */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_module module;
    fuzz_module_from(data, size, &module);
    const size_t text_size = fuzz_write_ptx(&module, text, sizeof text);
    const size_t binary_size = fuzz_write_cubin(&module, binary, sizeof binary);
    if (module.kernel_count == 0) { /* nothing to launch: both refuse, and say so alike */
        slw_error err = SLW_ERROR_INIT;
        slw_contract *none = NULL;
        FUZZ_REQUIRE(read_text(NULL, (slw_bytes){text, text_size}, &none, &err) == SLW_E_INVALID_PTX && none == NULL);
        FUZZ_REQUIRE(strcmp(err.reason, "NO_ENTRY") == 0);
        (void)fuzz_contract(read_binary, binary, binary_size);
        return 0;
    }
    slw_contract *of_text = must_read(read_text, text, text_size);
    slw_contract *of_binary = must_read(read_binary, binary, binary_size);
    check_same(&module, of_text, of_binary);
    fuzz_accepted++;
    slwi_contract_free(NULL, &of_text);
    slwi_contract_free(NULL, &of_binary);
    return 0;
}
