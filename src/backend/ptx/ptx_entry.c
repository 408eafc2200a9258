/* One entry: its prototype, what bounds its launch, its body skipped. */
#include <slipway/limits.h>
#include <string.h>

#include "fail.h"
#include "memory.h"
#include "ptx_state.h"

/* ---- between the parameters and the body ---- */

/* n [, n [, n]]: a dimension that is left out is 1. The last of two directives counts, as for ptxas. */
static slw_code read_triple(slwi_ptx_state *s, uint32_t out[3], int zero_is_fine) {
    static const char what[] = "this directive is followed by one to three numbers above zero";
    slwi_ptx_token word = s->token;
    uint32_t values[3] = {1, 1, 1};
    for (size_t i = 0; i < 3; i++) {
        slw_code rc = slwi_ptx_take_number(s, "BAD_DIRECTIVE", what, &values[i]);
        if (rc != SLW_OK) return rc;
        if (values[i] == 0 && !zero_is_fine) return slwi_ptx_bad_at(s, "BAD_DIRECTIVE", &word, what);
        if (i == 2 || !slwi_ptx_is_mark(&s->token, ',')) break;
    }
    /* A cluster of zero blocks is none: ptxas takes it and writes nothing. */
    if (values[0] == 0 || values[1] == 0 || values[2] == 0) memset(values, 0, sizeof(values));
    memcpy(out, values, sizeof(values));
    return SLW_OK;
}

static slw_code read_number(slwi_ptx_state *s, uint32_t *out, int zero_is_fine) {
    static const char what[] = "this directive is followed by a number above zero";
    slwi_ptx_token word = s->token;
    uint32_t value = 0;
    slw_code rc = slwi_ptx_take_number(s, "BAD_DIRECTIVE", what, &value);
    if (rc != SLW_OK) return rc;
    if (value == 0 && !zero_is_fine) return slwi_ptx_bad_at(s, "BAD_DIRECTIVE", &word, what);
    *out = value;
    return SLW_OK;
}

/* A directive of a newer PTX: what may be its arguments is passed over. */
static slw_code skip_unknown(slwi_ptx_state *s) {
    slw_code rc = slwi_ptx_next(s);
    while (rc == SLW_OK && (s->token.kind == SLWI_PTX_NUMBER || s->token.kind == SLWI_PTX_IDENT ||
                            s->token.kind == SLWI_PTX_STRING || slwi_ptx_is_mark(&s->token, ','))) {
        rc = slwi_ptx_next(s);
    }
    return rc;
}

slw_code slwi_ptx_performance(slwi_ptx_state *s, slwi_ptx_kernel *kernel) {
    const struct {
        const char *name;
        uint32_t *place;
        int zero_is_fine;
    } numbers[] = {{".minnctapersm", &kernel->minnctapersm, 0},
                   {".maxnctapersm", &kernel->maxnctapersm, 0},
                   {".maxnreg", &kernel->maxnreg, 0},
                   {".maxclusterrank", &kernel->max_cluster_rank, 1}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (slwi_ptx_is(&s->lexer, &s->token, numbers[i].name)) {
            return read_number(s, numbers[i].place, numbers[i].zero_is_fine);
        }
    }
    if (slwi_ptx_is(&s->lexer, &s->token, ".maxntid")) return read_triple(s, kernel->maxntid, 0);
    if (slwi_ptx_is(&s->lexer, &s->token, ".reqntid")) return read_triple(s, kernel->reqntid, 0);
    if (slwi_ptx_is(&s->lexer, &s->token, ".reqnctapercluster")) return read_triple(s, kernel->cluster, 1);
    if (slwi_ptx_is(&s->lexer, &s->token, ".explicitcluster")) {
        kernel->explicit_cluster = 1;
        return slwi_ptx_next(s);
    }
    if (slwi_ptx_is(&s->lexer, &s->token, ".blocksareclusters")) {
        kernel->blocks_are_clusters = 1;
        return slwi_ptx_next(s);
    }
    switch (slwi_ptx_word_of(s)) {
    case SLWI_PTX_WORD_PRAGMA:
        return slwi_ptx_pragma(s);
    case SLWI_PTX_WORD_OTHER:
        return skip_unknown(s);
    default:
        return slwi_ptx_bad(s, "BAD_NAME", "another statement begins where this kernel's body is wanted");
    }
}

/* ---- the whole ---- */

static slw_code keep(slwi_ptx_state *s, const slwi_ptx_kernel *kernel) {
    slwi_ptx_module *module = &s->module;
    if (module->kernel_count == SLW_LIMIT_PTX_KERNELS) {
        return slwi_ptx_over(s, "PTX kernels", (uint64_t)module->kernel_count + 1, SLW_LIMIT_PTX_KERNELS, "kernels");
    }
    if (module->kernel_count == s->kernel_capacity) {
        size_t capacity = s->kernel_capacity == 0 ? 8 : s->kernel_capacity * 2;
        slwi_ptx_kernel *grown = slwi_realloc_array(s->allocator, module->kernels, capacity, sizeof(*grown));
        if (grown == NULL) return slwi_fail_memory(s->err, capacity * sizeof(*grown));
        module->kernels = grown;
        s->kernel_capacity = capacity;
    }
    module->kernels[module->kernel_count] = *kernel;
    module->kernel_count += 1;
    return SLW_OK;
}

static slw_code read_name(slwi_ptx_state *s, size_t since, slwi_ptx_kernel *kernel) {
    slw_code rc = slwi_ptx_next(s);
    if (rc != SLW_OK) return rc;
    if (s->token.kind == SLWI_PTX_END) return slwi_ptx_truncated(s, "prototype", since);
    if (s->token.kind != SLWI_PTX_IDENT) return slwi_ptx_bad(s, "BAD_NAME", ".entry is followed by no name");
    kernel->name = (slw_bytes){s->lexer.text + s->token.offset, s->token.size};
    kernel->offset_bytes = s->token.offset;
    return slwi_ptx_next(s);
}

static slw_code read_body(slwi_ptx_state *s, const slwi_ptx_kernel *kernel, const slwi_ptx_token *word) {
    if (kernel->linkage == SLWI_PTX_LINKAGE_EXTERN) {
        return slwi_ptx_bad_at(s, "BAD_LINKAGE", word, "an .extern entry has a body");
    }
    slw_code rc = slwi_ptx_block(s);
    return rc == SLW_OK ? keep(s, kernel) : rc;
}

static slw_code read_entry(slwi_ptx_state *s, slwi_ptx_kernel *kernel) {
    slwi_ptx_token word = s->token;
    uint32_t first_param = s->module.param_count;
    slw_code rc = read_name(s, word.offset, kernel);
    if (rc == SLW_OK && slwi_ptx_is_mark(&s->token, '(')) rc = slwi_ptx_parameters(s, kernel);
    while (rc == SLW_OK && s->token.kind == SLWI_PTX_DIRECTIVE) rc = slwi_ptx_performance(s, kernel);
    if (rc != SLW_OK) return rc;
    if (s->token.kind == SLWI_PTX_END) return slwi_ptx_truncated(s, "prototype", word.offset);
    if (slwi_ptx_is_mark(&s->token, '{')) return read_body(s, kernel, &word);
    if (slwi_ptx_is_mark(&s->token, ';')) {
        s->module.param_count = first_param; /* a declaration is no kernel */
        return slwi_ptx_next(s);
    }
    return slwi_ptx_bad(s, "BAD_NAME", "this belongs to no prototype");
}

/* The record of an error has room for a name of usual length only. */
static void say_kernel(slwi_ptx_state *s, slw_bytes name) {
    char cut[256];
    size_t size = name.size < sizeof(cut) - 1 ? name.size : sizeof(cut) - 1;
    if (size == 0) return;
    memcpy(cut, name.data, size);
    cut[size] = '\0';
    slwi_error_kernel(s->err, cut, NULL);
}

slw_code slwi_ptx_entry(slwi_ptx_state *s, slwi_ptx_linkage linkage) {
    slwi_ptx_kernel kernel;
    memset(&kernel, 0, sizeof(kernel));
    kernel.linkage = linkage;
    slw_code rc = read_entry(s, &kernel);
    if (rc != SLW_OK) say_kernel(s, kernel.name);
    return rc;
}
