/* What is said when a module is no module, and where. Lines are counted only here, once. */
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "ptx_state.h"

/* A token in a message is cut: a name may be 70,000 characters long. */
#define SHOWN_BYTES_MAX 40

void slwi_ptx_place(slw_bytes text, uint64_t offset, uint32_t *line, uint32_t *column) {
    const char *at = text.data;
    const char *end = at + (offset < text.size ? (size_t)offset : text.size);
    uint32_t lines = 1;
    while (at != end) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        if (feed == NULL) break;
        lines++; /* SLW_LIMIT_PTX_BYTES keeps both numbers in 32 bits */
        at = feed + 1;
    }
    *line = lines;
    *column = (uint32_t)(end - at) + 1;
}

static void say_where(slwi_ptx_state *s, size_t offset) {
    uint32_t line;
    uint32_t column;
    slwi_ptx_place(slwi_ptx_text_of(s), offset, &line, &column);
    slwi_error_place(s->err, line, column, offset);
    if (s->name != NULL) slwi_error_path(s->err, s->name);
}

/* Printable and short, whatever stands there. */
static void show(const slwi_ptx_state *s, const slwi_ptx_token *token, char *out) {
    size_t size = token->size < SHOWN_BYTES_MAX ? token->size : SHOWN_BYTES_MAX;
    for (size_t i = 0; i < size; i++) {
        char c = s->lexer.text[token->offset + i];
        out[i] = c;
        if (c < 0x20 || c == 0x7f) out[i] = '?';
    }
    out[size] = '\0';
}

slw_code slwi_ptx_bad_at(slwi_ptx_state *s, const char *reason, const slwi_ptx_token *token, const char *what) {
    char shown[SHOWN_BYTES_MAX + 1];
    say_where(s, token->offset);
    show(s, token, shown);
    if (shown[0] == '\0') return slwi_fail(s->err, SLW_E_INVALID_PTX, reason, "%s", what);
    return slwi_fail(s->err, SLW_E_INVALID_PTX, reason, "%s, at '%s'", what, shown);
}

slw_code slwi_ptx_bad(slwi_ptx_state *s, const char *reason, const char *what) {
    return slwi_ptx_bad_at(s, reason, &s->token, what);
}

slw_code slwi_ptx_truncated(slwi_ptx_state *s, const char *construct, size_t since) {
    uint32_t line;
    uint32_t column;
    say_where(s, s->lexer.size);
    slwi_ptx_place(slwi_ptx_text_of(s), since, &line, &column);
    slwi_error_subject(s->err, construct, strlen(construct));
    return slwi_fail(s->err, SLW_E_INVALID_PTX, "TRUNCATED", "the text ends inside the %s that begins at %u:%u",
                     construct, line, column);
}

slw_code slwi_ptx_over(slwi_ptx_state *s, const char *resource, uint64_t required, uint64_t limit, const char *unit) {
    say_where(s, s->token.offset);
    slwi_error_amount(s->err, resource, required, limit, unit);
    return slwi_fail(s->err, SLW_E_LIMIT, "LIMIT", "%s: more than slipway reads", resource);
}

static slw_code say_fault(slwi_ptx_state *s, slwi_ptx_fault fault) {
    const slwi_ptx_token *token = &s->token;
    switch (fault) {
    case SLWI_PTX_OPEN_COMMENT:
        return slwi_ptx_truncated(s, "comment", token->offset);
    case SLWI_PTX_OPEN_STRING:
        return slwi_ptx_truncated(s, "string", token->offset);
    case SLWI_PTX_OPEN_LINE:
        return slwi_ptx_truncated(s, "line", token->offset);
    case SLWI_PTX_WRONG_LINE:
        return slwi_ptx_bad(s, "BAD_TOKEN", "a # that begins no line marker");
    default:
        return slwi_ptx_bad(s, "BAD_BYTE", "a control character outside comments and strings");
    }
}

slw_code slwi_ptx_next(slwi_ptx_state *s) {
    slwi_ptx_fault fault = slwi_ptx_lex(&s->lexer, &s->token);
    return fault == SLWI_PTX_FINE ? SLW_OK : say_fault(s, fault);
}
