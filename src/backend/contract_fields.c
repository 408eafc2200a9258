#include "contract_fields.h"

#include <string.h>

#define PARAM(name, kind)                                                                                              \
    { #name, offsetof(slw_param, name), kind, SLWI_ORIGIN_BINARY }
#define KERNEL(name, kind)                                                                                             \
    { #name, offsetof(slw_kernel_contract, name), kind, SLWI_ORIGIN_BINARY }
#define LAUNCH(name, kind)                                                                                             \
    { #name, offsetof(slw_kernel_contract, name), kind, SLWI_ORIGIN_METADATA }
#define CONTRACT(name, kind)                                                                                           \
    { #name, offsetof(slw_contract, name), kind, SLWI_ORIGIN_BINARY }

const slwi_field slwi_param_fields[] = {
    PARAM(alignment_bytes, SLWI_FIELD_U32),
    PARAM(kind, SLWI_FIELD_KIND),
    PARAM(name, SLWI_FIELD_NAME),
    PARAM(offset_bytes, SLWI_FIELD_U32),
    {"role", offsetof(slw_param, role), SLWI_FIELD_ROLE, SLWI_ORIGIN_METADATA},
    PARAM(size_bytes, SLWI_FIELD_U32),
    {NULL, 0, SLWI_FIELD_TEXT, SLWI_ORIGIN_BINARY},
};

const slwi_field slwi_kernel_fields[] = {
    KERNEL(accumulation_registers, SLWI_FIELD_U32),
    LAUNCH(cluster, SLWI_FIELD_TRIPLE),
    KERNEL(cluster_required, SLWI_FIELD_FLAG),
    LAUNCH(cooperative, SLWI_FIELD_FLAG),
    LAUNCH(ctas, SLWI_FIELD_U32),
    LAUNCH(dynamic_shared_bytes, SLWI_FIELD_U32),
    LAUNCH(global_scratch_alignment_bytes, SLWI_FIELD_U32),
    LAUNCH(global_scratch_bytes, SLWI_FIELD_U64),
    LAUNCH(grid_unit, SLWI_FIELD_UNIT),
    KERNEL(local_bytes, SLWI_FIELD_U32),
    KERNEL(max_block, SLWI_FIELD_TRIPLE),
    KERNEL(max_cluster_rank, SLWI_FIELD_U32),
    KERNEL(max_registers, SLWI_FIELD_U32),
    KERNEL(max_threads, SLWI_FIELD_U32),
    KERNEL(min_blocks, SLWI_FIELD_U32),
    KERNEL(name, SLWI_FIELD_TEXT),
    KERNEL(needs, SLWI_FIELD_NEEDS),
    KERNEL(param_bytes, SLWI_FIELD_U32),
    KERNEL(params, SLWI_FIELD_LIST),
    LAUNCH(profile_scratch_alignment_bytes, SLWI_FIELD_U32),
    LAUNCH(profile_scratch_bytes, SLWI_FIELD_U64),
    LAUNCH(programmatic_launch, SLWI_FIELD_FLAG),
    KERNEL(registers, SLWI_FIELD_U32),
    KERNEL(required_threads, SLWI_FIELD_TRIPLE),
    KERNEL(reserved_shared_bytes, SLWI_FIELD_U32),
    KERNEL(scalar_registers, SLWI_FIELD_U32),
    KERNEL(static_shared_bytes, SLWI_FIELD_U32),
    LAUNCH(tensor_memory_columns, SLWI_FIELD_U32),
    LAUNCH(warp_threads, SLWI_FIELD_U32),
    LAUNCH(warps, SLWI_FIELD_U32),
    {NULL, 0, SLWI_FIELD_TEXT, SLWI_ORIGIN_BINARY},
};

const slwi_field slwi_contract_fields[] = {
    CONTRACT(backend, SLWI_FIELD_TEXT),
    CONTRACT(isa_version, SLWI_FIELD_NAME),
    CONTRACT(kernels, SLWI_FIELD_LIST),
    CONTRACT(kind, SLWI_FIELD_IMAGE),
    CONTRACT(launch_binary, SLWI_FIELD_TEXT),
    CONTRACT(reader_revision, SLWI_FIELD_U32),
    CONTRACT(schema, SLWI_FIELD_U32),
    CONTRACT(target, SLWI_FIELD_TEXT),
    {NULL, 0, SLWI_FIELD_TEXT, SLWI_ORIGIN_BINARY},
};

const char *const slwi_needs_names[SLWI_NEEDS_COUNT] = {"printf", "device_malloc", "globals"};

static const char *const unit_names[] = {"blocks", "clusters", "programs_by_ctas", NULL};
static const char *const kind_names[] = {"unknown", "pointer", "signed", "unsigned", "float", "struct", NULL};
static const char *const image_names[] = {"unknown", "host", "cubin", "ptx", "hsaco", "lto_ir", NULL};
static const char *const role_names[] = {"caller", "global_scratch", "profile_scratch", "hidden", NULL};

static const char *const *names_of(slwi_field_kind kind) {
    switch (kind) {
    case SLWI_FIELD_UNIT:
        return unit_names;
    case SLWI_FIELD_KIND:
        return kind_names;
    case SLWI_FIELD_ROLE:
        return role_names;
    case SLWI_FIELD_IMAGE:
        return image_names;
    default:
        return NULL;
    }
}

const char *slwi_enum_name(slwi_field_kind kind, uint32_t value) {
    const char *const *names = names_of(kind);
    if (names == NULL) return NULL;
    for (uint32_t i = 0; names[i] != NULL; i++) {
        if (i == value) return names[i];
    }
    return NULL;
}

int slwi_enum_value(slwi_field_kind kind, const char *name) {
    const char *const *names = names_of(kind);
    if (names == NULL) return -1;
    for (int i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0) return i;
    }
    return -1;
}

size_t slwi_field_size(slwi_field_kind kind) {
    switch (kind) {
    case SLWI_FIELD_TEXT:
    case SLWI_FIELD_NAME:
        return sizeof(const char *);
    case SLWI_FIELD_U64:
        return sizeof(uint64_t);
    case SLWI_FIELD_TRIPLE:
        return 3 * sizeof(uint32_t);
    case SLWI_FIELD_LIST:
        return 0; /* item by item */
    default:
        return sizeof(uint32_t);
    }
}

int slwi_field_is_silent(const void *object, const slwi_field *field) {
    static const unsigned char zeros[3 * sizeof(uint32_t)];
    static const uint32_t one = 1;
    const char *at = (const char *)object + field->offset;
    if (field->origin != SLWI_ORIGIN_METADATA) return 0;
    if (strcmp(field->name, "ctas") == 0) return memcmp(at, &one, sizeof one) == 0;
    return memcmp(at, zeros, slwi_field_size(field->kind)) == 0;
}
