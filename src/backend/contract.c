/* Contracts in memory: one block each, so that a hydrated kernel keeps little and frees at once. */
#include <string.h>

#include "backends.h"
#include "checked.h"
#include "contract_fields.h"
#include "fail.h"
#include "memory.h"

const slw_kernel_contract *slw_contract_find(const slw_contract *contract, const char *entry) {
    if (contract == NULL) return NULL;
    if (entry == NULL) return contract->kernel_count == 1 ? &contract->kernels[0] : NULL;
    size_t low = 0;
    size_t high = contract->kernel_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(contract->kernels[middle].name, entry);
        if (order == 0) return &contract->kernels[middle];
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

/* ---- the block ---- */

static size_t text_size(const char *text) {
    return text == NULL ? 0 : strlen(text) + 1;
}

typedef struct layout {
    size_t kernels; /* offsets in the block */
    size_t params;
    size_t text;
    size_t total;
} layout;

/* The sizes cannot overflow: every contract comes from counts that were bounded by named limits. */
static layout layout_of(const slw_contract *contract) {
    layout at;
    size_t params = 0;
    size_t text = text_size(contract->backend) + text_size(contract->target) + text_size(contract->launch_binary) +
                  text_size(contract->isa_version);
    for (uint32_t i = 0; i < contract->kernel_count; i++) {
        const slw_kernel_contract *kernel = &contract->kernels[i];
        params += kernel->param_count;
        text += text_size(kernel->name);
        for (uint32_t p = 0; p < kernel->param_count; p++) text += text_size(kernel->params[p].name);
    }
    /* Each struct holds pointers, so their sizes are multiples of the pointer's alignment. */
    at.kernels = sizeof(slw_contract);
    at.params = at.kernels + contract->kernel_count * sizeof(slw_kernel_contract);
    at.text = at.params + params * sizeof(slw_param);
    at.total = at.text + text;
    return at;
}

size_t slwi_contract_overhead_bytes(const slw_contract *contract) {
    return contract == NULL ? 0 : layout_of(contract).total;
}

static const char *put_text(char **cursor, const char *text) {
    if (text == NULL) return NULL;
    size_t size = strlen(text) + 1;
    char *copy = *cursor;
    memcpy(copy, text, size);
    *cursor += size;
    return copy;
}

slw_code slwi_contract_copy(const slw_allocator *allocator, const slw_contract *from, slw_contract **out,
                            slw_error *err) {
    layout at = layout_of(from);
    char *block = slwi_alloc_zero(allocator, at.total);
    if (block == NULL) return slwi_fail_memory(err, at.total);
    slw_contract *copy = (slw_contract *)(void *)block;
    slw_kernel_contract *kernels = (slw_kernel_contract *)(void *)(block + at.kernels);
    slw_param *params = (slw_param *)(void *)(block + at.params);
    char *text = block + at.text;

    *copy = *from;
    copy->backend = put_text(&text, from->backend);
    copy->target = put_text(&text, from->target);
    copy->launch_binary = put_text(&text, from->launch_binary);
    copy->isa_version = put_text(&text, from->isa_version);
    copy->kernels = kernels;
    for (uint32_t i = 0; i < from->kernel_count; i++) {
        const slw_kernel_contract *kernel = &from->kernels[i];
        kernels[i] = *kernel;
        kernels[i].name = put_text(&text, kernel->name);
        kernels[i].params = params;
        for (uint32_t p = 0; p < kernel->param_count; p++) {
            params[p] = kernel->params[p];
            params[p].name = put_text(&text, kernel->params[p].name);
        }
        params += kernel->param_count;
    }
    *out = copy;
    return SLW_OK;
}

void slwi_contract_free(const slw_allocator *allocator, slw_contract **contract) {
    if (contract == NULL || *contract == NULL) return;
    slwi_free(allocator, *contract);
    *contract = NULL;
}

/* ---- comparison ---- */

static const void *field_at(const void *object, const slwi_field *field) {
    return (const char *)object + field->offset;
}

static int same_text(const char *a, const char *b) {
    if (a == NULL || b == NULL) return a == b;
    return strcmp(a, b) == 0;
}

static int same_value(const void *left, const void *right, slwi_field_kind kind) {
    const char *left_text;
    const char *right_text;
    if (kind != SLWI_FIELD_TEXT && kind != SLWI_FIELD_NAME) return memcmp(left, right, slwi_field_size(kind)) == 0;
    memcpy(&left_text, left, sizeof left_text);
    memcpy(&right_text, right, sizeof right_text);
    return same_text(left_text, right_text);
}

/* What metadata said is no difference to a binary that is silent; but which arguments are hidden, binaries say. */
static int metadata_said_it(const void *stored, const void *derived, const slwi_field *field) {
    static const slw_param_role hidden = SLW_ROLE_HIDDEN;
    if (!slwi_field_is_silent(derived, field)) return 0;
    return field->kind != SLWI_FIELD_ROLE || memcmp(field_at(stored, field), &hidden, sizeof hidden) != 0;
}

static int same_field(const void *stored, const void *derived, const slwi_field *field) {
    return same_value(field_at(stored, field), field_at(derived, field), field->kind) ||
           metadata_said_it(stored, derived, field);
}

static const char *first_difference(const void *stored, const void *derived, const slwi_field *fields) {
    for (const slwi_field *field = fields; field->name != NULL; field++) {
        if (!same_field(stored, derived, field)) return field->name;
    }
    return NULL;
}

static slw_code mismatch(slw_error *err, const char *kernel, const char *field) {
    slwi_error_subject(err, field, strlen(field));
    if (kernel != NULL) slwi_error_kernel(err, kernel, NULL);
    return slwi_fail(err, SLW_E_CONTRACT_MISMATCH, "CONTRACT_DIFFERS", "the binary and its metadata disagree on %s%s%s",
                     field, kernel != NULL ? " of kernel " : "", kernel != NULL ? kernel : "");
}

static slw_code compare_kernels(const slw_kernel_contract *stored, const slw_kernel_contract *derived, slw_error *err) {
    const char *field = first_difference(stored, derived, slwi_kernel_fields);
    if (field != NULL) return mismatch(err, stored->name, field);
    if (stored->param_count != derived->param_count) return mismatch(err, stored->name, "params");
    for (uint32_t p = 0; p < stored->param_count; p++) {
        field = first_difference(&stored->params[p], &derived->params[p], slwi_param_fields);
        if (field != NULL) return mismatch(err, stored->name, field);
    }
    return SLW_OK;
}

slw_code slwi_contract_compare(const slw_contract *stored, const slw_contract *derived, slw_error *err) {
    const char *field = first_difference(stored, derived, slwi_contract_fields);
    if (field != NULL) return mismatch(err, NULL, field);
    for (uint32_t i = 0; i < stored->kernel_count && i < derived->kernel_count; i++) {
        /* A name that is on one side only is said as such, not as a difference of everything that follows. */
        if (strcmp(stored->kernels[i].name, derived->kernels[i].name) != 0) {
            return mismatch(err, stored->kernels[i].name, "name");
        }
        slw_code rc = compare_kernels(&stored->kernels[i], &derived->kernels[i], err);
        if (rc != SLW_OK) return rc;
    }
    if (stored->kernel_count == derived->kernel_count) return SLW_OK;
    const slw_contract *longer = stored->kernel_count > derived->kernel_count ? stored : derived;
    const slw_contract *shorter = longer == stored ? derived : stored;
    return mismatch(err, longer->kernels[shorter->kernel_count].name, "kernels");
}
