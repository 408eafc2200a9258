/* A kernel's parameter list: `.param` type and qualifiers, name, array size. */
#include <slipway/limits.h>
#include <string.h>

#include "fail.h"
#include "memory.h"
#include "ptx_state.h"

/* What one `.param` says before its name. */
typedef struct draft {
    slwi_ptx_param param;
    uint32_t has_type;
    uint32_t has_vector;
    slwi_ptx_token unknown; /* the first directive that is not known; size 0: none */
} draft;

typedef struct type_name {
    const char *name;
    slwi_ptx_type type;
    uint32_t bytes;
} type_name;

/* Those ptxas 13.0 takes in a kernel's parameter list, and .bf16 and the packed ones, which a newer one might. A
   reference to a texture takes no room in the parameter block: ptxas writes size 0 for it. */
static const type_name types[] = {
    {".b8", SLWI_PTX_BITS, 1},           {".b16", SLWI_PTX_BITS, 2},      {".b32", SLWI_PTX_BITS, 4},
    {".b64", SLWI_PTX_BITS, 8},          {".b128", SLWI_PTX_BITS, 16},    {".s8", SLWI_PTX_SIGNED, 1},
    {".s16", SLWI_PTX_SIGNED, 2},        {".s32", SLWI_PTX_SIGNED, 4},    {".s64", SLWI_PTX_SIGNED, 8},
    {".u8", SLWI_PTX_UNSIGNED, 1},       {".u16", SLWI_PTX_UNSIGNED, 2},  {".u32", SLWI_PTX_UNSIGNED, 4},
    {".u64", SLWI_PTX_UNSIGNED, 8},      {".f16", SLWI_PTX_FLOAT, 2},     {".f32", SLWI_PTX_FLOAT, 4},
    {".f64", SLWI_PTX_FLOAT, 8},         {".bf16", SLWI_PTX_FLOAT, 2},    {".f16x2", SLWI_PTX_FLOAT, 4},
    {".bf16x2", SLWI_PTX_FLOAT, 4},      {".texref", SLWI_PTX_OPAQUE, 0}, {".surfref", SLWI_PTX_OPAQUE, 0},
    {".samplerref", SLWI_PTX_OPAQUE, 0},
};

static const char *const spaces[] = {"", "", ".global", ".const", ".local", ".shared"};

static const type_name *type_of(const slwi_ptx_state *s) {
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (slwi_ptx_is(&s->lexer, &s->token, types[i].name)) return &types[i];
    }
    return NULL;
}

static slwi_ptx_space space_of(const slwi_ptx_state *s) {
    for (size_t i = SLWI_PTX_SPACE_GLOBAL; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        if (slwi_ptx_is(&s->lexer, &s->token, spaces[i])) return (slwi_ptx_space)i;
    }
    return SLWI_PTX_SPACE_NONE;
}

static uint32_t vector_of(const slwi_ptx_state *s) {
    if (slwi_ptx_is(&s->lexer, &s->token, ".v2")) return 2;
    return slwi_ptx_is(&s->lexer, &s->token, ".v4") ? 4 : 0;
}

static slw_code bad(slwi_ptx_state *s, const char *what) {
    return slwi_ptx_bad(s, "BAD_PARAMETER", what);
}

/* ---- before the name ---- */

static slw_code read_align(slwi_ptx_state *s, draft *d) {
    slwi_ptx_token word = s->token;
    uint32_t value = 0;
    slw_code rc = slwi_ptx_take_number(s, "BAD_PARAMETER", ".align is followed by no number", &value);
    if (rc != SLW_OK) return rc;
    if (value == 0 || (value & (value - 1)) != 0 || value > SLW_LIMIT_PTX_PARAMETER_BYTES) {
        return slwi_ptx_bad_at(s, "BAD_PARAMETER", &word, "an alignment is no power of two or out of range");
    }
    /* After .ptr it is that of what is pointed to. */
    uint32_t *place =
        d->param.space != SLWI_PTX_SPACE_NONE ? &d->param.pointer_alignment_bytes : &d->param.alignment_bytes;
    if (value > *place) *place = value;
    return SLW_OK;
}

static slw_code read_type(slwi_ptx_state *s, draft *d, const type_name *type) {
    if (d->has_type) return bad(s, "a parameter has two types");
    d->has_type = 1;
    d->param.type = type->type;
    d->param.element_bytes = type->bytes;
    d->param.type_name = (slw_bytes){s->lexer.text + s->token.offset, s->token.size};
    return slwi_ptx_next(s);
}

static slw_code read_vector(slwi_ptx_state *s, draft *d, uint32_t vector) {
    if (d->has_vector) return bad(s, "a parameter has two vector sizes");
    d->has_vector = 1;
    d->param.vector = vector;
    return slwi_ptx_next(s);
}

static slw_code read_qualifier(slwi_ptx_state *s, draft *d) {
    const type_name *type = type_of(s);
    if (type != NULL) return read_type(s, d, type);
    if (slwi_ptx_is(&s->lexer, &s->token, ".align")) return read_align(s, d);
    uint32_t vector = vector_of(s);
    if (vector != 0) return read_vector(s, d, vector);
    if (slwi_ptx_is(&s->lexer, &s->token, ".ptr")) {
        if (d->param.space != SLWI_PTX_SPACE_NONE) return bad(s, "a parameter has .ptr twice");
        d->param.space = SLWI_PTX_SPACE_GENERIC;
        return slwi_ptx_next(s);
    }
    slwi_ptx_space space = space_of(s);
    if (space != SLWI_PTX_SPACE_NONE) {
        if (d->param.space != SLWI_PTX_SPACE_GENERIC) return bad(s, "a state space stands where none may");
        d->param.space = space;
        return slwi_ptx_next(s);
    }
    /* A newer PTX may say more about a parameter: only without a type that is known is it an error, below. */
    if (d->unknown.size == 0) d->unknown = s->token;
    return slwi_ptx_next(s);
}

/* ---- the name and after it ---- */

static slw_code read_array(slwi_ptx_state *s, draft *d) {
    uint64_t count = 0;
    slw_code rc = slwi_ptx_next(s);
    if (rc != SLW_OK) return rc;
    if (s->token.kind == SLWI_PTX_END) return SLW_OK; /* the list says where it began */
    if (!slwi_ptx_number(&s->lexer, &s->token, &count) || count == 0) {
        return bad(s, "a parameter's array size is no number above zero");
    }
    if (count > SLW_LIMIT_PTX_PARAMETER_BYTES) {
        return slwi_ptx_over(s, "PTX parameter elements", count, SLW_LIMIT_PTX_PARAMETER_BYTES, "elements");
    }
    d->param.is_array = 1;
    d->param.count = (uint32_t)count;
    rc = slwi_ptx_next(s);
    if (rc != SLW_OK || s->token.kind == SLWI_PTX_END) return rc;
    if (!slwi_ptx_is_mark(&s->token, ']')) return bad(s, "a parameter's array size is not closed");
    return slwi_ptx_next(s);
}

/* Where C would put it. Every factor is bounded, so 64 bits hold all of it. */
static slw_code lay_out(slwi_ptx_state *s, draft *d, slwi_ptx_kernel *kernel) {
    slwi_ptx_param *param = &d->param;
    uint32_t own = param->element_bytes * param->vector;
    if (own > param->alignment_bytes) param->alignment_bytes = own;
    if (param->alignment_bytes == 0) param->alignment_bytes = 1;
    uint64_t size = (uint64_t)own * param->count;
    uint64_t mask = (uint64_t)param->alignment_bytes - 1;
    uint64_t offset = (kernel->param_bytes + mask) & ~mask;
    if (offset + size > SLW_LIMIT_PTX_PARAMETER_BYTES) {
        return slwi_ptx_over(s, "PTX parameter bytes", offset + size, SLW_LIMIT_PTX_PARAMETER_BYTES, "bytes");
    }
    param->size_bytes = (uint32_t)size;
    param->offset_bytes = (uint32_t)offset;
    kernel->param_bytes = (uint32_t)(offset + size);
    return SLW_OK;
}

static slw_code keep(slwi_ptx_state *s, const slwi_ptx_param *param, slwi_ptx_kernel *kernel) {
    slwi_ptx_module *module = &s->module;
    if (kernel->param_count == SLW_LIMIT_PTX_PARAMETERS) {
        return slwi_ptx_over(s, "PTX parameters of a kernel", (uint64_t)kernel->param_count + 1,
                             SLW_LIMIT_PTX_PARAMETERS, "parameters");
    }
    if (module->param_count == SLW_LIMIT_PTX_PARAMETERS_ALL) {
        return slwi_ptx_over(s, "PTX parameters", (uint64_t)module->param_count + 1, SLW_LIMIT_PTX_PARAMETERS_ALL,
                             "parameters");
    }
    if (module->param_count == s->param_capacity) {
        size_t capacity = s->param_capacity == 0 ? 32 : s->param_capacity * 2;
        slwi_ptx_param *grown = slwi_realloc_array(s->allocator, module->params, capacity, sizeof(*grown));
        if (grown == NULL) return slwi_fail_memory(s->err, capacity * sizeof(*grown));
        module->params = grown;
        s->param_capacity = capacity;
    }
    module->params[module->param_count] = *param;
    module->param_count += 1;
    kernel->param_count += 1;
    return SLW_OK;
}

static slw_code read_name(slwi_ptx_state *s, draft *d, slwi_ptx_kernel *kernel) {
    slwi_ptx_token name = s->token;
    if (name.kind != SLWI_PTX_IDENT) return bad(s, "a parameter has no name");
    d->param.name = (slw_bytes){s->lexer.text + name.offset, name.size};
    if (!d->has_type) {
        if (d->unknown.size == 0) return bad(s, "a parameter has no type");
        return slwi_ptx_bad_at(s, "BAD_PARAMETER", &d->unknown, "a parameter's type is not known");
    }
    slw_code rc = slwi_ptx_next(s);
    if (rc == SLW_OK && slwi_ptx_is_mark(&s->token, '[')) rc = read_array(s, d);
    if (rc == SLW_OK && s->token.kind != SLWI_PTX_END) rc = lay_out(s, d, kernel);
    if (rc == SLW_OK && s->token.kind != SLWI_PTX_END) rc = keep(s, &d->param, kernel);
    return rc;
}

static slw_code read_param(slwi_ptx_state *s, slwi_ptx_kernel *kernel) {
    draft d;
    memset(&d, 0, sizeof(d));
    d.param.vector = 1;
    d.param.count = 1;
    if (!slwi_ptx_is(&s->lexer, &s->token, ".param")) return bad(s, "a parameter does not begin with .param");
    slw_code rc = slwi_ptx_next(s);
    while (rc == SLW_OK && s->token.kind == SLWI_PTX_DIRECTIVE) rc = read_qualifier(s, &d);
    if (rc != SLW_OK || s->token.kind == SLWI_PTX_END) return rc;
    rc = read_name(s, &d, kernel);
    if (rc != SLW_OK && d.param.name.size != 0) slwi_error_subject(s->err, d.param.name.data, d.param.name.size);
    return rc;
}

slw_code slwi_ptx_parameters(slwi_ptx_state *s, slwi_ptx_kernel *kernel) {
    size_t since = s->token.offset;
    slw_code rc = slwi_ptx_next(s);
    if (rc == SLW_OK && slwi_ptx_is_mark(&s->token, ')')) return slwi_ptx_next(s);
    while (rc == SLW_OK && s->token.kind != SLWI_PTX_END) {
        rc = read_param(s, kernel);
        if (rc != SLW_OK) return rc;
        if (slwi_ptx_is_mark(&s->token, ')')) return slwi_ptx_next(s);
        if (s->token.kind == SLWI_PTX_END) break;
        if (!slwi_ptx_is_mark(&s->token, ',')) return bad(s, "a parameter is followed by neither a comma nor ')'");
        rc = slwi_ptx_next(s);
    }
    return rc != SLW_OK ? rc : slwi_ptx_truncated(s, "parameters", since);
}
