/* Words of PTX: what ptxas 13.0 takes for white space, comments, names and numbers, tried one by one. */
#ifndef SLWI_PTX_TOKEN_H
#define SLWI_PTX_TOKEN_H

#include <stddef.h>
#include <stdint.h>

typedef enum slwi_ptx_kind {
    SLWI_PTX_END,
    SLWI_PTX_IDENT,     /* [A-Za-z][A-Za-z0-9_$]* | [_$%][A-Za-z0-9_$]+ */
    SLWI_PTX_DIRECTIVE, /* .[A-Za-z0-9_$]+ with its dot */
    SLWI_PTX_NUMBER,    /* what begins with a digit, with a fraction */
    SLWI_PTX_STRING,    /* with its quotes; no escapes, may span lines */
    SLWI_PTX_MARK       /* any other character */
} slwi_ptx_kind;

typedef struct slwi_ptx_token {
    slwi_ptx_kind kind;
    char mark; /* of a SLWI_PTX_MARK */
    size_t offset;
    size_t size;
} slwi_ptx_token;

typedef enum slwi_ptx_fault {
    SLWI_PTX_FINE,
    SLWI_PTX_OPEN_COMMENT,
    SLWI_PTX_OPEN_STRING,
    SLWI_PTX_OPEN_LINE, /* the text ends inside a `# line` */
    SLWI_PTX_WRONG_BYTE,
    SLWI_PTX_WRONG_LINE /* a # that begins no line marker */
} slwi_ptx_fault;

typedef struct slwi_ptx_lexer {
    const char *text;
    size_t size;
    size_t at;
    uint64_t steps;
} slwi_ptx_lexer;

/* The next token; on a fault out->offset is where it begins. */
slwi_ptx_fault slwi_ptx_lex(slwi_ptx_lexer *lexer, slwi_ptx_token *out);
/* The first byte that may stand nowhere, comments and strings included: NUL or not ASCII. `size` where there is none.
 */
size_t slwi_ptx_first_bad_byte(const char *text, size_t size);

/* 1 where the token is that directive or name, letter by letter; `word` has two letters at least. */
int slwi_ptx_is(const slwi_ptx_lexer *lexer, const slwi_ptx_token *token, const char *word);
int slwi_ptx_is_mark(const slwi_ptx_token *token, char mark);
/* Decimal, 0x, 0b or octal, with or without the suffix U; 0 for anything else or more than 64 bits. */
int slwi_ptx_number(const slwi_ptx_lexer *lexer, const slwi_ptx_token *token, uint64_t *out);
/* Decimal digits only, as far as they go; 0 where there are none or they pass 32 bits. Moves *at. */
int slwi_ptx_digits(const char *text, size_t size, size_t *at, uint32_t *out);

#endif
