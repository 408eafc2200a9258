/* The parameters of a kernel: `.args` of the note. */
#include <string.h>

#include "amdgcn_state.h"
#include "fail.h"

typedef struct argument {
    uint64_t at;
    slw_bytes name;
    slw_bytes value_kind;
    slw_bytes value_type; /* of code objects before v5 */
    uint32_t offset, size;
    int has_offset, has_size;
} argument;

/* ---- reading ---- */

static slw_code take_number(const slwi_amdgcn *r, const slwi_amdgcn_kernel *kernel, const char *key,
                            const slwi_msgpack_item *value, uint32_t *out, int *has) {
    if (value->kind != SLWI_MSGPACK_UNSIGNED || value->number > UINT32_MAX) {
        return slwi_amdgcn_bad_note(r, "BAD_NOTE", value->at, key, kernel, "is not a number of 32 bits");
    }
    *out = (uint32_t)value->number;
    *has = 1;
    return SLW_OK;
}

static slw_code take_text(const slwi_amdgcn *r, const slwi_amdgcn_kernel *kernel, const char *key,
                          const slwi_msgpack_item *value, slw_bytes *out) {
    if (value->kind != SLWI_MSGPACK_STRING) {
        return slwi_amdgcn_bad_note(r, "BAD_NOTE", value->at, key, kernel, "is not a string");
    }
    *out = value->text;
    return SLW_OK;
}

static slw_code take_value(const slwi_amdgcn *r, const slwi_amdgcn_kernel *kernel, const slwi_msgpack_item *key,
                           const slwi_msgpack_item *value, argument *out) {
    if (slwi_msgpack_is(key, ".offset"))
        return take_number(r, kernel, ".offset", value, &out->offset, &out->has_offset);
    if (slwi_msgpack_is(key, ".size")) return take_number(r, kernel, ".size", value, &out->size, &out->has_size);
    if (slwi_msgpack_is(key, ".value_kind")) return take_text(r, kernel, ".value_kind", value, &out->value_kind);
    if (slwi_msgpack_is(key, ".value_type")) return take_text(r, kernel, ".value_type", value, &out->value_type);
    if (slwi_msgpack_is(key, ".name")) return take_text(r, kernel, ".name", value, &out->name);
    return SLW_OK;
}

static slw_code check_argument(const slwi_amdgcn *r, const slwi_amdgcn_kernel *kernel, const argument *arg) {
    const char *missing = NULL;
    if (arg->value_kind.data == NULL) missing = ".value_kind";
    if (!arg->has_size) missing = ".size";
    if (!arg->has_offset) missing = ".offset";
    if (missing != NULL) return slwi_amdgcn_bad_note(r, "MISSING", arg->at, missing, kernel, "an argument has none");
    if ((uint64_t)arg->offset + arg->size > kernel->kernarg_bytes) {
        return slwi_amdgcn_bad_note(r, "BAD_PARAMETER", arg->at, ".offset", kernel,
                                    "an argument ends outside the parameter block");
    }
    return slwi_contract_check_name(arg->name, r->err);
}

static slw_code read_argument(const slwi_amdgcn *r, const slwi_amdgcn_kernel *kernel, uint64_t *at, argument *out) {
    slwi_msgpack_item map;
    slwi_msgpack_item key;
    slwi_msgpack_item value;
    memset(out, 0, sizeof(*out));
    out->at = *at;
    if (slwi_msgpack_next(r->note, at, &map) != SLWI_MSGPACK_OK || map.kind != SLWI_MSGPACK_MAP) {
        return slwi_amdgcn_bad_note(r, "BAD_NOTE", out->at, ".args", kernel, "an argument is not a map");
    }
    for (uint32_t i = 0; i < map.count; i++) {
        if (slwi_msgpack_next(r->note, at, &key) != SLWI_MSGPACK_OK) break; /* proved: does not happen */
        uint64_t inside = *at;
        if (slwi_msgpack_next(r->note, &inside, &value) != SLWI_MSGPACK_OK) break;
        slw_code rc = take_value(r, kernel, &key, &value, out);
        if (rc != SLW_OK) return rc;
        if (slwi_msgpack_skip(r->note, at) != SLWI_MSGPACK_OK) break;
    }
    return check_argument(r, kernel, out);
}

/* ---- meaning ---- */

static int is_text(slw_bytes text, const char *word) {
    size_t size = strlen(word);
    return text.size == size && memcmp(text.data, word, size) == 0;
}

static int starts_with(slw_bytes text, const char *word) {
    size_t size = strlen(word);
    return text.size >= size && memcmp(text.data, word, size) == 0;
}

/* Images, samplers, pipes and queues are passed as addresses of what describes them. A kind that is not known has a
   size and a place all the same. */
static slw_param_kind kind_of(const argument *arg) {
    static const char *const pointers[] = {"global_buffer", "dynamic_shared_pointer", "image", "sampler", "pipe",
                                           "queue"};
    for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
        if (is_text(arg->value_kind, pointers[i])) return SLW_PARAM_POINTER;
    }
    if (!is_text(arg->value_kind, "by_value") || arg->value_type.size == 0) return SLW_PARAM_UNKNOWN;
    if (is_text(arg->value_type, "struct")) return SLW_PARAM_STRUCT;
    if (starts_with(arg->value_type, "i")) return SLW_PARAM_SIGNED;
    if (starts_with(arg->value_type, "u")) return SLW_PARAM_UNSIGNED;
    return starts_with(arg->value_type, "f") ? SLW_PARAM_FLOAT : SLW_PARAM_UNKNOWN;
}

/* What a hidden argument asks of whoever launches. Before v5 a host call serves both printf and malloc: which of them
   is not said, and printf is the one that has always been served so. */
static uint32_t needs_of(slw_bytes value_kind) {
    if (is_text(value_kind, "hidden_printf_buffer") || is_text(value_kind, "hidden_hostcall_buffer")) {
        return SLW_NEEDS_PRINTF;
    }
    return is_text(value_kind, "hidden_heap_v1") ? SLW_NEEDS_DEVICE_MALLOC : 0;
}

/* The note does not say it: the most its place and size allow, up to 16, the alignment of the block. */
static uint32_t alignment_of(const argument *arg) {
    uint32_t bits = arg->offset | arg->size | 16u;
    return bits & (~bits + 1u);
}

static slw_code put_argument(const slwi_amdgcn *r, const slwi_amdgcn_kernel *kernel, slwi_contract_builder *builder,
                             const argument *arg, slw_param *to) {
    to->offset_bytes = arg->offset;
    to->size_bytes = arg->size;
    to->alignment_bytes = alignment_of(arg);
    to->kind = kind_of(arg);
    to->role = starts_with(arg->value_kind, "hidden_") ? SLW_ROLE_HIDDEN : SLW_ROLE_CALLER;
    if (arg->name.size == 0) return SLW_OK;
    if (!slwi_contract_name_is_text(arg->name)) {
        return slwi_amdgcn_bad_note(r, "BAD_NAME", arg->at, ".name", kernel, "an argument's name is no text");
    }
    to->name = slwi_contract_builder_text(builder, arg->name);
    if (to->name != NULL) return SLW_OK;
    return slwi_amdgcn_bad_note(r, "BAD_NOTE", arg->at, ".name", kernel, "a name was not counted");
}

slw_code slwi_amdgcn_read_args(const slwi_amdgcn *r, const slwi_amdgcn_kernel *kernel, slwi_contract_builder *builder,
                               slw_kernel_contract *to, slw_param *params) {
    uint64_t at = kernel->args_at;
    uint64_t end = 0; /* of the argument before */
    for (uint32_t i = 0; i < kernel->args_count; i++) {
        argument arg;
        slw_code rc = read_argument(r, kernel, &at, &arg);
        if (rc == SLW_OK && arg.offset < end) {
            rc = slwi_amdgcn_bad_note(r, "BAD_PARAMETER", arg.at, ".offset", kernel,
                                      "arguments stand over one another or out of order");
        }
        if (rc == SLW_OK) rc = put_argument(r, kernel, builder, &arg, &params[i]);
        if (rc != SLW_OK) return rc;
        end = (uint64_t)arg.offset + arg.size;
        to->needs |= needs_of(arg.value_kind);
    }
    return SLW_OK;
}
