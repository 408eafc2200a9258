/* Attacks slw_contract_read with metadata: Triton's X.json and contracts as JSON, and their agreement with a binary.
 *
 * The input is the JSON, a NUL, and the binary. Without a NUL the binary is made here (fuzz_write_cubin.c) to agree with what a
 * plain search finds in the text (name, arch, num_warps, the cluster), so that the last steps are reached from the text alone. */
#include <slipway/inspect.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_contract.h"
#include "fuzz_kernels.h"

static uint8_t made[FUZZ_WRITTEN_MAX];
static size_t made_size;
static const char *target;

/* Where the value behind "key" starts; NULL: not there. Only a search: the text may be anything. */
static const char *value_of(const char *text, size_t size, const char *key) {
    const size_t length = strlen(key);
    for (size_t i = 0; i + length + 1 < size; i++) {
        if (memcmp(text + i, key, length) != 0) continue;
        i += length;
        while (i < size && (text[i] == ':' || text[i] == ' ' || text[i] == '[')) i++;
        return i < size ? text + i : NULL;
    }
    return NULL;
}

static uint32_t number_of(const char *text, size_t size, const char *key, uint32_t otherwise) {
    const char *at = value_of(text, size, key);
    uint32_t value = 0;
    if (at == NULL || *at < '0' || *at > '9') return otherwise;
    for (; at < text + size && *at >= '0' && *at <= '9' && value < 100000; at++)
        value = value * 10 + (uint32_t)(*at - '0');
    return value;
}

static void name_of(const char *text, size_t size, char *out) {
    const char *at = value_of(text, size, "\"name\"");
    size_t n = 0;
    if (at != NULL && *at == '"') {
        for (at++; at < text + size && *at != '"' && *at != '\0' && n < FUZZ_NAME_MAX - 1; at++) out[n++] = *at;
    }
    if (n == 0) out[n++] = 'k';
    out[n] = '\0';
}

static void make_binary(const char *text, size_t size) {
    fuzz_module module;
    memset(&module, 0, sizeof module);
    fuzz_kernel *k = &module.kernels[0];
    const uint32_t sm = number_of(text, size, "\"arch\"", 90), ctas = number_of(text, size, "\"num_ctas\"", 1);
    module.sm = sm > 0 && sm < 256 ? sm : 90;
    module.abi = 8;
    module.kernel_count = 1;
    name_of(text, size, k->name);
    k->param_count = 2 + number_of(text, size, "\"triton_version\": \"3.", 9) % 4;
    for (uint32_t i = 0; i < k->param_count; i++) {
        k->params[i].element_bytes = 8;
        k->params[i].size_bytes = 8;
        k->params[i].offset_bytes = 8 * i;
    }
    k->param_bytes = 8 * k->param_count;
    k->reqntid[0] = number_of(text, size, "\"num_warps\"", 4) * 32;
    k->reqntid[1] = k->reqntid[2] = 1;
    if (ctas > 1) {
        k->cluster[0] = ctas;
        k->cluster[1] = k->cluster[2] = 1;
    }
    k->registers = 32;
    made_size = fuzz_write_cubin(&module, made, sizeof made);
}

static slw_code read_both(const slw_allocator *allocator, slw_bytes input, slw_contract **out, slw_error *err) {
    const char *text = input.data;
    const char *nul = input.size == 0 ? NULL : memchr(text, 0, input.size);
    slw_bytes metadata = input, binary = {made, made_size};
    if (nul != NULL) {
        metadata.size = (size_t)(nul - text);
        binary.data = nul + 1;
        binary.size = input.size - metadata.size - 1;
    }
    return slw_contract_read(allocator, binary, metadata, "fuzz", target, out, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const targets[] = {NULL, "sm_90", "gfx942:sramecc+:xnack-"};
    if (size == 0 || memchr(data, 0, size) == NULL) make_binary((const char *)data, size);
    target = targets[fuzz_pick(data, size, sizeof targets / sizeof targets[0])];
    (void)fuzz_contract(read_both, data, size);
    return 0;
}
