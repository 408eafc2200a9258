#include "contract_build.h"

#include <slipway/limits.h>
#include <string.h>

#include "contract_fields.h"
#include "fail.h"
#include "heap_sort.h"
#include "memory.h"
#include "text.h"

#define POINTER_BYTES (sizeof(void *))

slw_code slwi_contract_builder_open(slwi_contract_builder *b, const slw_allocator *allocator, uint32_t kernels,
                                    uint32_t params, size_t text_bytes, slw_error *err) {
    memset(b, 0, sizeof(*b));
    b->allocator = allocator;
    b->kernel_room = kernels;
    b->param_room = params;
    b->text_room = text_bytes;
    b->kernels = slwi_alloc_array(allocator, kernels, sizeof(*b->kernels));
    b->params = slwi_alloc_array(allocator, params, sizeof(*b->params));
    b->text = slwi_alloc(allocator, text_bytes);
    if (b->kernels != NULL && b->params != NULL && b->text != NULL) return SLW_OK;
    slwi_contract_builder_close(b);
    return slwi_fail_memory(err, kernels * sizeof(*b->kernels) + params * sizeof(*b->params) + text_bytes);
}

void slwi_contract_builder_close(slwi_contract_builder *b) {
    slwi_free(b->allocator, b->kernels);
    slwi_free(b->allocator, b->params);
    slwi_free(b->allocator, b->text);
    b->kernels = NULL;
    b->params = NULL;
    b->text = NULL;
}

const char *slwi_contract_builder_text(slwi_contract_builder *b, slw_bytes text) {
    if (text.size >= b->text_room - b->text_size) return NULL;
    char *copy = b->text + b->text_size;
    if (text.size != 0) memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    b->text_size += text.size + 1;
    return copy;
}

slw_kernel_contract *slwi_contract_builder_kernel(slwi_contract_builder *b, slw_bytes name, uint32_t param_count,
                                                  slw_param **params) {
    if (b->kernel_count == b->kernel_room || param_count > b->param_room - b->param_count) return NULL;
    const char *text = slwi_contract_builder_text(b, name);
    if (text == NULL) return NULL;
    slw_kernel_contract *kernel = &b->kernels[b->kernel_count];
    slw_param *first = b->params + b->param_count;
    memset(kernel, 0, sizeof(*kernel));
    kernel->name = text;
    kernel->params = first;
    kernel->param_count = param_count;
    kernel->ctas = 1;
    for (uint32_t p = 0; p < param_count; p++) {
        memset(&first[p], 0, sizeof(first[p]));
        first[p].alignment_bytes = 1;
    }
    b->kernel_count += 1;
    b->param_count += param_count;
    *params = first;
    return kernel;
}

static int by_name(const void *a, const void *b) {
    const slw_kernel_contract *const *left = a;
    const slw_kernel_contract *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

/* Pointers are sorted and the kernels copied in their order: a kernel is too large to be swapped about. */
slw_code slwi_contract_builder_sort(slwi_contract_builder *b, const char **duplicate, slw_error *err) {
    *duplicate = NULL;
    const slw_kernel_contract **order = slwi_alloc_array(b->allocator, b->kernel_count, POINTER_BYTES);
    slw_kernel_contract *sorted = slwi_alloc_array(b->allocator, b->kernel_count, sizeof(*sorted));
    if (order == NULL || sorted == NULL) {
        slwi_free(b->allocator, order);
        slwi_free(b->allocator, sorted);
        return slwi_fail_memory(err, b->kernel_count * sizeof(*sorted));
    }
    for (uint32_t i = 0; i < b->kernel_count; i++) order[i] = &b->kernels[i];
    if (b->kernel_count != 0) slwi_heap_sort(order, b->kernel_count, POINTER_BYTES, by_name);
    for (uint32_t i = 0; i < b->kernel_count; i++) {
        sorted[i] = *order[i];
        if (i > 0 && *duplicate == NULL && by_name(&order[i - 1], &order[i]) == 0) *duplicate = sorted[i].name;
    }
    slwi_free(b->allocator, order);
    slwi_free(b->allocator, b->kernels);
    b->kernels = sorted;
    b->kernel_room = b->kernel_count;
    return SLW_OK;
}

slw_code slwi_contract_builder_finish(slwi_contract_builder *b, const slw_contract *head, slw_contract **out,
                                      slw_error *err) {
    slw_contract draft = *head;
    draft.schema = SLW_CONTRACT_SCHEMA;
    draft.kernels = b->kernels;
    draft.kernel_count = b->kernel_count;
    return slwi_contract_copy(b->allocator, &draft, out, err);
}

slw_code slwi_contract_check_name(slw_bytes name, slw_error *err) {
    if (name.size <= SLW_LIMIT_NAME_BYTES) return SLW_OK;
    slwi_error_amount(err, "length of a name", name.size, SLW_LIMIT_NAME_BYTES, "bytes");
    return slwi_fail(err, SLW_E_LIMIT, "NAME_TOO_LONG", "a name is longer than a launch contract holds");
}

int slwi_contract_name_is_text(slw_bytes name) {
    size_t at = 0;
    while (at < name.size) {
        uint32_t code;
        if (!slwi_utf8_next(name, &at, &code) || code < 0x21 || code == 0x7f) return 0;
    }
    return name.size != 0;
}

uint32_t slwi_contract_product(const uint32_t dimensions[3]) {
    uint64_t all = (uint64_t)dimensions[0] * dimensions[1];
    if (all > UINT32_MAX) return UINT32_MAX;
    all *= dimensions[2];
    return all > UINT32_MAX ? UINT32_MAX : (uint32_t)all;
}
