/* The kernels of the note. Keys may come in any order, and unknown ones pass; a key that is needed and not there is
 * named. */
#include <slipway/limits.h>
#include <string.h>

#include "amdgcn_state.h"
#include "fail.h"

typedef enum key_kind {
    KEY_TEXT,   /* slw_bytes */
    KEY_NUMBER, /* uint32_t */
    KEY_TRIPLE, /* uint32_t[3] */
    KEY_ARGS
} key_kind;

typedef struct kernel_key {
    const char *name;
    key_kind kind;
    uint8_t is_needed;
    size_t offset; /* in slwi_amdgcn_kernel */
} kernel_key;

#define FIELD(member) offsetof(slwi_amdgcn_kernel, member)

/* .args is needed where there is a parameter block at all. */
static const kernel_key keys[] = {
    {".name", KEY_TEXT, 1, FIELD(name)},
    {".symbol", KEY_TEXT, 1, FIELD(symbol)},
    {".kernarg_segment_size", KEY_NUMBER, 1, FIELD(kernarg_bytes)},
    {".group_segment_fixed_size", KEY_NUMBER, 1, FIELD(group_bytes)},
    {".private_segment_fixed_size", KEY_NUMBER, 1, FIELD(private_bytes)},
    {".vgpr_count", KEY_NUMBER, 0, FIELD(vector_registers)},
    {".sgpr_count", KEY_NUMBER, 0, FIELD(scalar_registers)},
    {".agpr_count", KEY_NUMBER, 0, FIELD(accumulation_registers)},
    {".max_flat_workgroup_size", KEY_NUMBER, 0, FIELD(max_threads)},
    {".wavefront_size", KEY_NUMBER, 0, FIELD(wavefront)},
    {".reqd_workgroup_size", KEY_TRIPLE, 0, FIELD(required_threads)},
    {".cluster_dims", KEY_TRIPLE, 0, FIELD(cluster)},
    {".args", KEY_ARGS, 0, FIELD(args_at)},
};
#define KEY_COUNT      (sizeof(keys) / sizeof(keys[0]))
#define KEY_INDEX_ARGS (KEY_COUNT - 1)

void slwi_amdgcn_name_kernel(const slwi_amdgcn *r, const slwi_amdgcn_kernel *kernel) {
    char text[256]; /* as much as an error holds */
    size_t size = kernel->name.size < sizeof(text) - 1 ? kernel->name.size : sizeof(text) - 1;
    if (size == 0) return;
    memcpy(text, kernel->name.data, size);
    text[size] = '\0';
    slwi_error_kernel(r->err, text, NULL);
}

/* ---- values ---- */

static int number_of(const slwi_msgpack_item *item, uint32_t *out) {
    if (item->kind != SLWI_MSGPACK_UNSIGNED || item->number > UINT32_MAX) return 0;
    *out = (uint32_t)item->number;
    return 1;
}

static int triple_of(slw_bytes note, const slwi_msgpack_item *item, uint64_t inside, uint32_t out[3]) {
    if (item->kind != SLWI_MSGPACK_ARRAY || item->count != 3) return 0;
    for (uint32_t i = 0; i < 3; i++) {
        slwi_msgpack_item number;
        if (slwi_msgpack_next(note, &inside, &number) != SLWI_MSGPACK_OK || !number_of(&number, &out[i])) return 0;
    }
    return 1;
}

/* `inside`: behind the value's head. */
static slw_code take_value(const slwi_amdgcn *r, slwi_amdgcn_kernel *kernel, const kernel_key *key,
                           const slwi_msgpack_item *value, uint64_t inside) {
    const char *what = NULL;
    char *field = (char *)kernel + key->offset;
    uint32_t numbers[3] = {0, 0, 0};
    switch (key->kind) {
    case KEY_TEXT:
        if (value->kind != SLWI_MSGPACK_STRING) what = "is not a string";
        if (what == NULL) memcpy(field, &value->text, sizeof(value->text));
        break;
    case KEY_NUMBER:
        if (!number_of(value, &numbers[0])) what = "is not a number of 32 bits";
        if (what == NULL) memcpy(field, &numbers[0], sizeof(numbers[0]));
        break;
    case KEY_TRIPLE:
        if (!triple_of(r->note, value, inside, numbers)) what = "is not three numbers of 32 bits";
        if (what == NULL) memcpy(field, numbers, sizeof(numbers));
        break;
    case KEY_ARGS:
        if (value->kind != SLWI_MSGPACK_ARRAY) what = "is not an array";
        kernel->args_at = inside;
        kernel->args_count = value->count;
        break;
    }
    return what == NULL ? SLW_OK : slwi_amdgcn_bad_note(r, "BAD_NOTE", value->at, key->name, kernel, what);
}

/* ---- one kernel ---- */

static slw_code check_needed(const slwi_amdgcn *r, const slwi_amdgcn_kernel *kernel) {
    for (size_t i = 0; i < KEY_COUNT; i++) {
        int is_needed = i == KEY_INDEX_ARGS ? kernel->kernarg_bytes != 0 : keys[i].is_needed;
        if (!is_needed || (kernel->found & (1u << i)) != 0) continue;
        return slwi_amdgcn_bad_note(r, "MISSING", kernel->at, keys[i].name, kernel, "a kernel does not say it");
    }
    return SLW_OK;
}

static slw_code check_bounds(const slwi_amdgcn *r, const slwi_amdgcn_kernel *kernel) {
    slw_code rc = slwi_contract_check_name(kernel->name, r->err);
    if (rc != SLW_OK) return rc;
    if (!slwi_contract_name_is_text(kernel->name)) {
        return slwi_amdgcn_bad_note(r, "BAD_NAME", kernel->at, ".name", NULL, "a kernel's name is no text");
    }
    if (kernel->kernarg_bytes > SLW_LIMIT_PARAM_BYTES) {
        slwi_amdgcn_name_kernel(r, kernel);
        return slwi_amdgcn_over(r, "TOO_LARGE", "bytes of parameters", kernel->kernarg_bytes, SLW_LIMIT_PARAM_BYTES);
    }
    if (kernel->args_count > SLW_LIMIT_GPU_PARAMETERS) {
        slwi_amdgcn_name_kernel(r, kernel);
        return slwi_amdgcn_over(r, "TOO_MANY_PARAMETERS", "parameters", kernel->args_count, SLW_LIMIT_GPU_PARAMETERS);
    }
    return SLW_OK;
}

/* The kernel whose map starts at *at, which is moved behind it. */
static slw_code read_kernel(const slwi_amdgcn *r, uint64_t *at, slwi_amdgcn_kernel *kernel) {
    slwi_msgpack_item map;
    slwi_msgpack_item key;
    slwi_msgpack_item value;
    memset(kernel, 0, sizeof(*kernel));
    kernel->at = *at;
    if (slwi_msgpack_next(r->note, at, &map) != SLWI_MSGPACK_OK || map.kind != SLWI_MSGPACK_MAP) {
        return slwi_amdgcn_bad_note(r, "BAD_NOTE", kernel->at, "amdhsa.kernels", NULL, "a kernel is not a map");
    }
    for (uint32_t i = 0; i < map.count; i++) {
        if (slwi_msgpack_next(r->note, at, &key) != SLWI_MSGPACK_OK) break; /* proved: does not happen */
        uint64_t inside = *at;
        if (slwi_msgpack_next(r->note, &inside, &value) != SLWI_MSGPACK_OK) break;
        for (size_t k = 0; k < KEY_COUNT; k++) {
            if (!slwi_msgpack_is(&key, keys[k].name)) continue;
            slw_code rc = take_value(r, kernel, &keys[k], &value, inside);
            if (rc != SLW_OK) return rc;
            kernel->found |= 1u << k;
        }
        if (slwi_msgpack_skip(r->note, at) != SLWI_MSGPACK_OK) break;
    }
    slw_code rc = check_needed(r, kernel);
    return rc == SLW_OK ? check_bounds(r, kernel) : rc;
}

slw_code slwi_amdgcn_read_kernels(slwi_amdgcn *r) {
    uint64_t at = r->kernels_at;
    uint64_t name_bytes = 0;
    for (uint32_t i = 0; i < r->kernel_count; i++) {
        slw_code rc = read_kernel(r, &at, &r->kernels[i]);
        if (rc != SLW_OK) return rc;
        name_bytes += r->kernels[i].name.size + 1;
        r->param_count += r->kernels[i].args_count; /* both bounded: 65,536 kernels of 4,096 */
        if (name_bytes > SLW_LIMIT_NAMES_BYTES) {
            return slwi_amdgcn_over(r, "NAMES_TOO_LONG", "bytes of kernel names", name_bytes, SLW_LIMIT_NAMES_BYTES);
        }
        if (r->param_count > SLW_LIMIT_GPU_PARAMETERS_ALL) {
            return slwi_amdgcn_over(r, "TOO_MANY_PARAMETERS", "parameters of all kernels", r->param_count,
                                    SLW_LIMIT_GPU_PARAMETERS_ALL);
        }
    }
    return SLW_OK;
}

/* ---- the contract ---- */

static slw_code build_kernel(const slwi_amdgcn *r, const slwi_amdgcn_kernel *kernel, slwi_contract_builder *builder) {
    slw_param *params = NULL;
    slw_kernel_contract *to = slwi_contract_builder_kernel(builder, kernel->name, kernel->args_count, &params);
    if (to == NULL) return slwi_amdgcn_bad_note(r, "BAD_NOTE", kernel->at, NULL, kernel, "a kernel was not counted");
    to->param_bytes = kernel->kernarg_bytes;
    to->registers = kernel->vector_registers;
    to->scalar_registers = kernel->scalar_registers;
    to->accumulation_registers = kernel->accumulation_registers;
    to->local_bytes = kernel->private_bytes;
    to->static_shared_bytes = kernel->group_bytes;
    to->max_threads = kernel->max_threads;
    to->warp_threads = kernel->wavefront;
    memcpy(to->required_threads, kernel->required_threads, sizeof(to->required_threads));
    memcpy(to->cluster, kernel->cluster, sizeof(to->cluster));
    to->cluster_required = kernel->cluster[0] != 0;
    return slwi_amdgcn_read_args(r, kernel, builder, to, params);
}

slw_code slwi_amdgcn_build_kernels(const slwi_amdgcn *r, slwi_contract_builder *builder) {
    for (uint32_t i = 0; i < r->kernel_count; i++) {
        slw_code rc = build_kernel(r, &r->kernels[i], builder);
        if (rc != SLW_OK) return rc;
    }
    const char *duplicate = NULL;
    slw_code rc = slwi_contract_builder_sort(builder, &duplicate, r->err);
    if (rc == SLW_OK && duplicate != NULL) {
        slwi_error_kernel(r->err, duplicate, NULL);
        rc = slwi_amdgcn_bad_note(r, "DUPLICATE", r->kernels_at, "amdhsa.kernels", NULL, "two kernels have one name");
    }
    return rc;
}
