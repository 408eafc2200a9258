/* The fields of a contract as tables: what is written, read and compared is one list, so none can be forgotten. */
#ifndef SLWI_CONTRACT_FIELDS_H
#define SLWI_CONTRACT_FIELDS_H

#include <slipway/contract.h>
#include <slipway/limits.h>

typedef enum slwi_field_kind {
    SLWI_FIELD_TEXT, /* const char *; never NULL */
    SLWI_FIELD_NAME, /* const char *; NULL is null */
    SLWI_FIELD_U32,
    SLWI_FIELD_U64,
    SLWI_FIELD_FLAG,   /* uint32_t, 0 or 1; a JSON bool */
    SLWI_FIELD_TRIPLE, /* uint32_t[3] */
    SLWI_FIELD_UNIT,   /* slw_grid_unit */
    SLWI_FIELD_KIND,   /* slw_param_kind */
    SLWI_FIELD_ROLE,   /* slw_param_role */
    SLWI_FIELD_IMAGE,  /* slw_image_kind */
    SLWI_FIELD_NEEDS,  /* bits; an array of names */
    SLWI_FIELD_LIST    /* the parameters of a kernel, the kernels of a contract */
} slwi_field_kind;

/* Who says it. A binary is silent on some fields (its reader leaves them as they start: 0, `ctas` 1, blocks, caller)
   which metadata beside it says: how much dynamic shared memory, how many warps, which pointers are scratch. */
typedef enum slwi_field_origin {
    SLWI_ORIGIN_BINARY = 0,
    SLWI_ORIGIN_METADATA = 1 /* or the binary, where it is not silent */
} slwi_field_origin;

typedef struct slwi_field {
    const char *name;
    size_t offset;
    slwi_field_kind kind;
    slwi_field_origin origin;
} slwi_field;

/* Each in order of name, as canonical JSON wants it; ended by a NULL name. */
extern const slwi_field slwi_param_fields[];
extern const slwi_field slwi_kernel_fields[];
extern const slwi_field slwi_contract_fields[];

/* Names of enumerators; NULL for a value that is none, and -1 for a name that is none. */
const char *slwi_enum_name(slwi_field_kind kind, uint32_t value);
int slwi_enum_value(slwi_field_kind kind, const char *name);
#define SLWI_NEEDS_COUNT 3u
extern const char *const slwi_needs_names[SLWI_NEEDS_COUNT]; /* bit 0, 1, 2 */

/* More parameters than any device's parameter block has room for, by a wide margin. */
#define SLWI_CONTRACT_PARAMETERS_MAX 4096u
/* The longest text of a contract: a mangled name is the longest there is. */
#define SLWI_CONTRACT_TEXT_MAX SLW_LIMIT_NAME_BYTES

/* A copy in one block of memory: the struct, the kernels, their parameters and all text. */
slw_code slwi_contract_copy(const slw_allocator *allocator, const slw_contract *from, slw_contract **out,
                            slw_error *err);

/* 1 where a field that metadata may say is as a silent reader leaves it. */
int slwi_field_is_silent(const void *object, const slwi_field *field);
size_t slwi_field_size(slwi_field_kind kind);

#endif
