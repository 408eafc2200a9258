/* Contracts as canonical JSON. Everything read is bounded and checked, and must be complete: a field that is absent is
 * as bad as one that is unknown, because the schema number says exactly which there are. */
#include <string.h>

#include <slipway/limits.h>

#include "backends.h"
#include "contract_fields.h"
#include "fail.h"
#include "memory.h"
#include "text.h"

/* ---- out ---- */

static const void *field_at(const void *object, const slwi_field *field) {
    return (const char *)object + field->offset;
}

static uint32_t u32_at(const void *at) {
    uint32_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

static void write_needs(slwi_json_writer *writer, uint32_t needs) {
    slwi_json_array_begin(writer);
    for (uint32_t i = 0; i < SLWI_NEEDS_COUNT; i++) {
        if (needs & (1u << i)) slwi_json_put_text(writer, slwi_needs_names[i]);
    }
    slwi_json_array_end(writer);
}

static void write_value(slwi_json_writer *writer, const void *at, slwi_field_kind kind) {
    const char *text;
    uint64_t wide;
    switch (kind) {
    case SLWI_FIELD_TEXT:
    case SLWI_FIELD_NAME:
        memcpy(&text, at, sizeof(text));
        slwi_json_put_text(writer, text);
        return;
    case SLWI_FIELD_U64:
        memcpy(&wide, at, sizeof(wide));
        slwi_json_put_u64(writer, wide);
        return;
    case SLWI_FIELD_FLAG:
        slwi_json_put_bool(writer, u32_at(at) != 0);
        return;
    case SLWI_FIELD_TRIPLE:
        slwi_json_array_begin(writer);
        for (size_t i = 0; i < 3; i++) slwi_json_put_u64(writer, u32_at((const char *)at + i * sizeof(uint32_t)));
        slwi_json_array_end(writer);
        return;
    case SLWI_FIELD_UNIT:
    case SLWI_FIELD_KIND:
    case SLWI_FIELD_ROLE:
    case SLWI_FIELD_IMAGE:
        slwi_json_put_text(writer, slwi_enum_name(kind, u32_at(at)));
        return;
    case SLWI_FIELD_NEEDS:
        write_needs(writer, u32_at(at));
        return;
    default:
        slwi_json_put_u64(writer, u32_at(at));
        return;
    }
}

static void write_fields(slwi_json_writer *writer, const void *object, const slwi_field *field) {
    slwi_json_key(writer, field->name);
    write_value(writer, field_at(object, field), field->kind);
}

static void write_param(slwi_json_writer *writer, const slw_param *param) {
    slwi_json_object_begin(writer);
    for (const slwi_field *field = slwi_param_fields; field->name != NULL; field++) write_fields(writer, param, field);
    slwi_json_object_end(writer);
}

static void write_kernel(slwi_json_writer *writer, const slw_kernel_contract *kernel) {
    slwi_json_object_begin(writer);
    for (const slwi_field *field = slwi_kernel_fields; field->name != NULL; field++) {
        if (field->kind != SLWI_FIELD_LIST) {
            write_fields(writer, kernel, field);
            continue;
        }
        slwi_json_key(writer, field->name);
        slwi_json_array_begin(writer);
        for (uint32_t p = 0; p < kernel->param_count; p++) write_param(writer, &kernel->params[p]);
        slwi_json_array_end(writer);
    }
    slwi_json_object_end(writer);
}

void slwi_contract_write(const slw_contract *contract, slwi_json_writer *writer) {
    slwi_json_object_begin(writer);
    for (const slwi_field *field = slwi_contract_fields; field->name != NULL; field++) {
        if (field->kind != SLWI_FIELD_LIST) {
            write_fields(writer, contract, field);
            continue;
        }
        slwi_json_key(writer, field->name);
        slwi_json_array_begin(writer);
        for (uint32_t i = 0; i < contract->kernel_count; i++) write_kernel(writer, &contract->kernels[i]);
        slwi_json_array_end(writer);
    }
    slwi_json_object_end(writer);
}

/* ---- in ---- */

static slw_code bad(slw_error *err, const char *field, const char *reason, const char *what) {
    slwi_error_subject(err, field, strlen(field));
    return slwi_fail(err, SLW_E_INVALID_METADATA, reason, "the contract's %s %s", field, what);
}

static slw_code too_many(slw_error *err, const char *field, size_t count, size_t limit) {
    slwi_error_subject(err, field, strlen(field));
    slwi_error_amount(err, "contract items", count, limit, "items");
    return slwi_fail(err, SLW_E_INVALID_METADATA, "TOO_MANY", "the contract's %s has too many items", field);
}

/* Text without a NUL inside and of a bounded size; borrowed from the document. A lone surrogate is refused: it would
   stand in memory as bytes that are written as three others. */
static int read_text(const slwi_json *node, const char **out) {
    slw_bytes text;
    size_t at = 0;
    uint32_t code_point;
    if (!slwi_json_string(node, &text)) return 0;
    if (text.size == 0 || text.size > SLWI_CONTRACT_TEXT_MAX || memchr(text.data, 0, text.size) != NULL) return 0;
    while (at < text.size) {
        if (!slwi_utf8_next(text, &at, &code_point)) return 0;
    }
    *out = text.data;
    return 1;
}

static int read_needs(const slwi_json *node, uint32_t *out) {
    if (node == NULL || slwi_json_kind(node) != SLWI_JSON_ARRAY || slwi_json_length(node) > SLWI_NEEDS_COUNT) return 0;
    uint32_t bits = 0;
    uint32_t next = 0; /* in the order of the table, each once: so the text is canonical */
    for (size_t i = 0; i < slwi_json_length(node); i++) {
        const char *name;
        if (!read_text(slwi_json_item(node, i), &name)) return 0;
        while (next < SLWI_NEEDS_COUNT && strcmp(slwi_needs_names[next], name) != 0) next++;
        if (next == SLWI_NEEDS_COUNT) return 0;
        bits |= 1u << next;
        next++;
    }
    *out = bits;
    return 1;
}

static int read_triple(const slwi_json *node, uint32_t out[3]) {
    if (node == NULL || slwi_json_kind(node) != SLWI_JSON_ARRAY || slwi_json_length(node) != 3) return 0;
    for (size_t i = 0; i < 3; i++) {
        if (!slwi_json_u32(slwi_json_item(node, i), &out[i])) return 0;
    }
    return 1;
}

static int read_number(const slwi_json *node, slwi_field_kind kind, uint32_t *out) {
    const char *name;
    int flag;
    int value;
    switch (kind) {
    case SLWI_FIELD_U32:
        return slwi_json_u32(node, out);
    case SLWI_FIELD_FLAG:
        if (!slwi_json_bool(node, &flag)) return 0;
        *out = flag != 0;
        return 1;
    case SLWI_FIELD_NEEDS:
        return read_needs(node, out);
    default:
        if (!read_text(node, &name)) return 0;
        value = slwi_enum_value(kind, name);
        if (value < 0) return 0;
        *out = (uint32_t)value;
        return 1;
    }
}

static int read_value(const slwi_json *node, slwi_field_kind kind, void *at) {
    const char *text = NULL;
    uint32_t triple[3];
    uint32_t number;
    uint64_t wide;
    switch (kind) {
    case SLWI_FIELD_NAME:
    case SLWI_FIELD_TEXT:
        if (kind == SLWI_FIELD_TEXT || slwi_json_kind(node) != SLWI_JSON_NULL) {
            if (!read_text(node, &text)) return 0;
        }
        memcpy(at, &text, sizeof(text));
        return 1;
    case SLWI_FIELD_U64:
        if (!slwi_json_u64(node, &wide)) return 0;
        memcpy(at, &wide, sizeof(wide));
        return 1;
    case SLWI_FIELD_TRIPLE:
        if (!read_triple(node, triple)) return 0;
        memcpy(at, triple, sizeof(triple));
        return 1;
    default:
        if (!read_number(node, kind, &number)) return 0;
        memcpy(at, &number, sizeof(number));
        return 1;
    }
}

/* All fields of the table but lists; every member must be known and every field there. */
static slw_code read_fields(const slwi_json *object, const slwi_field *fields, const char *what, void *out,
                            slw_error *err) {
    if (object == NULL || slwi_json_kind(object) != SLWI_JSON_OBJECT)
        return bad(err, what, "BAD_VALUE", "is not an object");
    size_t count = 0;
    for (const slwi_field *field = fields; field->name != NULL; field++, count++) {
        const slwi_json *node = slwi_json_get(object, field->name);
        if (node == NULL) return bad(err, field->name, "MISSING_FIELD", "is missing");
        if (field->kind == SLWI_FIELD_LIST) {
            if (slwi_json_kind(node) != SLWI_JSON_ARRAY) return bad(err, field->name, "BAD_VALUE", "is not an array");
            continue;
        }
        if (!read_value(node, field->kind, (char *)out + field->offset)) {
            return bad(err, field->name, "BAD_VALUE", "has a value it cannot have");
        }
    }
    /* Duplicates were refused by the parser, so a longer object has a member we do not know. */
    if (slwi_json_length(object) != count) return bad(err, what, "UNKNOWN_FIELD", "has a field that is not known");
    return SLW_OK;
}

static slw_code check_param(const slw_param *param, const slw_kernel_contract *kernel, slw_error *err) {
    uint64_t end = (uint64_t)param->offset_bytes + param->size_bytes;
    if (end > kernel->param_bytes) return bad(err, "offset_bytes", "BAD_VALUE", "lies outside the parameter block");
    uint32_t alignment = param->alignment_bytes;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
        return bad(err, "alignment_bytes", "BAD_VALUE", "is not a power of two");
    }
    return SLW_OK;
}

/* `params` has room for all of this kernel's. */
static slw_code read_kernel(const slwi_json *object, slw_kernel_contract *kernel, slw_param *params, slw_error *err) {
    slw_code rc = read_fields(object, slwi_kernel_fields, "kernels", kernel, err);
    if (rc != SLW_OK) return rc;
    const slwi_json *list = slwi_json_get(object, "params");
    kernel->param_count = (uint32_t)slwi_json_length(list);
    kernel->params = params;
    for (uint32_t p = 0; p < kernel->param_count; p++) {
        rc = read_fields(slwi_json_item(list, p), slwi_param_fields, "params", &params[p], err);
        if (rc == SLW_OK) rc = check_param(&params[p], kernel, err);
        if (rc != SLW_OK) {
            slwi_error_kernel(err, kernel->name, NULL);
            return rc;
        }
    }
    if (kernel->ctas == 0) return bad(err, "ctas", "BAD_VALUE", "is zero");
    return SLW_OK;
}

static slw_code count_params(const slwi_json *kernels, size_t *out, slw_error *err) {
    size_t total = 0;
    for (size_t i = 0; i < slwi_json_length(kernels); i++) {
        size_t count = slwi_json_length(slwi_json_get(slwi_json_item(kernels, i), "params"));
        if (count > SLWI_CONTRACT_PARAMETERS_MAX) return too_many(err, "params", count, SLWI_CONTRACT_PARAMETERS_MAX);
        total += count;
    }
    if (total > SLW_LIMIT_GPU_PARAMETERS_ALL) return too_many(err, "params", total, SLW_LIMIT_GPU_PARAMETERS_ALL);
    *out = total;
    return SLW_OK;
}

static slw_code read_kernels(const slwi_json *list, slw_contract *draft, slw_kernel_contract *kernels,
                             slw_param *params, slw_error *err) {
    for (uint32_t i = 0; i < draft->kernel_count; i++) {
        slw_code rc = read_kernel(slwi_json_item(list, i), &kernels[i], params, err);
        if (rc != SLW_OK) return rc;
        params += kernels[i].param_count;
        if (i > 0 && strcmp(kernels[i - 1].name, kernels[i].name) >= 0) {
            slwi_error_kernel(err, kernels[i].name, NULL);
            return bad(err, "kernels", "NOT_SORTED", "are not sorted by name, or a name stands twice");
        }
    }
    draft->kernels = kernels;
    return SLW_OK;
}

slw_code slwi_contract_read(const slw_allocator *allocator, const slwi_json *object, slw_contract **out,
                            slw_error *err) {
    slw_contract draft;
    memset(&draft, 0, sizeof(draft));
    /* First: another schema has other fields, and "missing" would be the wrong word. */
    if (slwi_json_u32(slwi_json_get(object, "schema"), &draft.schema) && draft.schema != SLW_CONTRACT_SCHEMA)
        return bad(err, "schema", "BAD_SCHEMA", "is of another version");
    slw_code rc = read_fields(object, slwi_contract_fields, "contract", &draft, err);
    if (rc != SLW_OK) return rc;

    const slwi_json *list = slwi_json_get(object, "kernels");
    size_t count = slwi_json_length(list);
    if (count > SLW_LIMIT_KERNELS) return too_many(err, "kernels", count, SLW_LIMIT_KERNELS);
    if (count == 0) return bad(err, "kernels", "NO_ENTRY", "are none");
    draft.kernel_count = (uint32_t)count;
    size_t param_count = 0;
    rc = count_params(list, &param_count, err);
    if (rc != SLW_OK) return rc;

    slw_kernel_contract *kernels = slwi_alloc_array(allocator, count, sizeof(*kernels));
    slw_param *params = slwi_alloc_array(allocator, param_count, sizeof(*params));
    if (kernels == NULL || params == NULL) {
        rc = slwi_fail_memory(err, count * sizeof(*kernels) + param_count * sizeof(*params));
    } else {
        memset(kernels, 0, count * sizeof(*kernels));
        if (param_count != 0) memset(params, 0, param_count * sizeof(*params));
        rc = read_kernels(list, &draft, kernels, params, err);
    }
    if (rc == SLW_OK) rc = slwi_contract_copy(allocator, &draft, out, err);
    slwi_free(allocator, kernels);
    slwi_free(allocator, params);
    return rc;
}
