/* One scan, shared by the files of the scanner and by nobody else. */
#ifndef SLWI_PTX_STATE_H
#define SLWI_PTX_STATE_H

#include "ptx_scan.h"
#include "ptx_token.h"

typedef struct slwi_ptx_state {
    slwi_ptx_lexer lexer;
    slwi_ptx_token token; /* the one that is looked at */
    const slw_allocator *allocator;
    const char *name;
    slw_error *err;
    slwi_ptx_module module; /* being made */
    size_t kernel_capacity;
    size_t param_capacity;
} slwi_ptx_state;

/* What a directive at depth 0 begins. */
typedef enum slwi_ptx_word {
    SLWI_PTX_WORD_OTHER, /* a qualifier, or a directive that is not known here */
    SLWI_PTX_WORD_LINKAGE,
    SLWI_PTX_WORD_ENTRY,
    SLWI_PTX_WORD_FUNC,
    SLWI_PTX_WORD_DATA,
    SLWI_PTX_WORD_SECTION,
    SLWI_PTX_WORD_FILE,
    SLWI_PTX_WORD_PRAGMA
} slwi_ptx_word;

slwi_ptx_word slwi_ptx_word_of(const slwi_ptx_state *s);
slw_bytes slwi_ptx_text_of(const slwi_ptx_state *s);

/* Looks at the next token. */
slw_code slwi_ptx_next(slwi_ptx_state *s);
/* The number that must follow the token looked at, in 32 bits; moves past it. `reason` and `what` say what fails. */
slw_code slwi_ptx_take_number(slwi_ptx_state *s, const char *reason, const char *what, uint32_t *out);
/* From the word .pragma past its semicolon. */
slw_code slwi_ptx_pragma(slwi_ptx_state *s);
/* From an opening brace past its closing one. */
slw_code slwi_ptx_block(slwi_ptx_state *s);

/* The three parts of a module. */
slw_code slwi_ptx_head(slwi_ptx_state *s);
slw_code slwi_ptx_entry(slwi_ptx_state *s, slwi_ptx_linkage linkage);
slw_code slwi_ptx_parameters(slwi_ptx_state *s, slwi_ptx_kernel *kernel);
slw_code slwi_ptx_performance(slwi_ptx_state *s, slwi_ptx_kernel *kernel);

/* INVALID_PTX at the token looked at. */
slw_code slwi_ptx_bad(slwi_ptx_state *s, const char *reason, const char *what);
slw_code slwi_ptx_bad_at(slwi_ptx_state *s, const char *reason, const slwi_ptx_token *token, const char *what);
/* The text ends inside `construct`, which began at `since`. */
slw_code slwi_ptx_truncated(slwi_ptx_state *s, const char *construct, size_t since);
slw_code slwi_ptx_over(slwi_ptx_state *s, const char *resource, uint64_t required, uint64_t limit, const char *unit);

#endif
