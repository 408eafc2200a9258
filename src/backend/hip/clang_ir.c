#include "clang_ir.h"

#include <string.h>

#include "fail.h"

typedef struct scan {
    const char *at;
    const char *end;
    const char *line_start;
    uint32_t line;
    const char *name;
    slw_error *err;
} scan;

typedef enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_STRING, TOKEN_OTHER } token_kind;

typedef struct token {
    token_kind kind;
    slw_bytes text; /* of a string: without its quotes */
    uint32_t line;
    uint32_t column;
} token;

static slw_code refuse(const scan *s, const token *where, slw_code code, const char *reason, const char *what) {
    slwi_error_path(s->err, s->name);
    slwi_error_place(s->err, where->line, where->column, UINT64_MAX);
    if (where->text.size != 0) slwi_error_subject(s->err, where->text.data, where->text.size);
    return slwi_fail(s->err, code, reason, "%s:%u:%u: %s", s->name, where->line, where->column, what);
}

static int is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '$' || c == '-';
}

static void skip_blanks(scan *s) {
    while (s->at < s->end) {
        if (*s->at == '\n') {
            s->at++;
            s->line++;
            s->line_start = s->at;
        } else if (*s->at == ' ' || *s->at == '\t' || *s->at == '\r') {
            s->at++;
        } else if (*s->at == ';') {
            const char *stop = memchr(s->at, '\n', (size_t)(s->end - s->at));
            s->at = stop != NULL ? stop : s->end;
        } else {
            return;
        }
    }
}

/* A string goes on over line breaks and ends with the next quote: IR writes a quote in it as \22. */
static int read_string(scan *s, token *out) {
    const char *start = s->at + 1;
    const char *stop = memchr(start, '"', (size_t)(s->end - start));
    if (stop == NULL) return 0;
    for (const char *at = start; at < stop; at++) {
        if (*at != '\n') continue;
        s->line++;
        s->line_start = at + 1;
    }
    out->kind = TOKEN_STRING;
    out->text = (slw_bytes){start, (size_t)(stop - start)};
    s->at = stop + 1;
    return 1;
}

/* A name after '@' or '%', or a label, is OTHER: it may be any word. */
static int next_token(scan *s, token *out) {
    skip_blanks(s);
    memset(out, 0, sizeof(*out));
    out->line = s->line;
    out->column = (uint32_t)(s->at - s->line_start) + 1;
    out->text = (slw_bytes){s->at, 0};
    if (s->at == s->end) return 1;
    if (*s->at == '"') return read_string(s, out);
    const char *start = s->at;
    const int is_name = *s->at == '@' || *s->at == '%' || *s->at == '!' || *s->at == '$' || *s->at == '#';
    if (is_name) {
        s->at++;
        if (s->at < s->end && *s->at == '"') {
            const int good = read_string(s, out);
            out->kind = TOKEN_OTHER;
            return good;
        }
    }
    while (s->at < s->end && is_word(*s->at)) s->at++;
    if (s->at == start) s->at++;
    const int is_label = s->at < s->end && *s->at == ':';
    out->kind = is_name || is_label || !is_word(*start) ? TOKEN_OTHER : TOKEN_WORD;
    out->text.size = (size_t)(s->at - start);
    return 1;
}

static int text_is(slw_bytes text, const char *word) {
    return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

static int is_token(const token *t, token_kind kind, const char *word) {
    return t->kind == kind && text_is(t->text, word);
}

/* "amdgcn-amd-amdhsa" with or without an environment; new ones put the processor into the architecture. */
static int is_ours(slw_bytes triple) {
    const char *text = triple.data;
    const char *dash = memchr(text, '-', triple.size);
    if (dash == NULL || triple.size < 6) return 0;
    if (memcmp(text, "amdgcn", 6) != 0 && memcmp(text, "amdgpu", 6) != 0) return 0;
    const size_t rest = triple.size - (size_t)(dash - text);
    for (size_t i = 0; i + 7 <= rest; i++) {
        if (memcmp(dash + i, "-amdhsa", 7) == 0) return 1;
    }
    return 0;
}

/* `last` are the three tokens before `now`, the nearest last: target triple = "…", and "target-cpu" = "…". */
static slw_code check_string(const scan *s, const token last[3], const token *now, const char *processor) {
    if (!is_token(&last[2], TOKEN_OTHER, "=")) return SLW_OK;
    if (is_token(&last[0], TOKEN_WORD, "target") && is_token(&last[1], TOKEN_WORD, "triple") && !is_ours(now->text))
        return refuse(s, now, SLW_E_UNSUPPORTED_INPUT, "TRIPLE", "the IR is not for AMD GPUs (amdgcn-amd-amdhsa)");
    if (is_token(&last[1], TOKEN_STRING, "target-cpu") && !text_is(now->text, processor))
        return refuse(s, now, SLW_E_UNSUPPORTED_INPUT, "TARGET", "a function is for another processor than the target");
    return SLW_OK;
}

slw_code slwi_clang_ir_check(slw_bytes text, const char *name, const char *processor, slw_error *err) {
    const char *start = text.data != NULL ? text.data : "";
    scan s = {start, start + text.size, start, 1, name, err};
    token last[3] = {{0}};
    token now = {0};
    int kernels = 0;
    const token first = {TOKEN_OTHER, {"", 0}, 1, 1};
    if (text.size != 0 && memchr(start, 0, text.size) != NULL)
        return refuse(&s, &first, SLW_E_INVALID_SOURCE, "NOT_TEXT", "the source is not the text of LLVM IR");
    for (;;) {
        if (!next_token(&s, &now))
            return refuse(&s, &now, SLW_E_INVALID_SOURCE, "OPEN_STRING", "a string begins here and does not end");
        if (now.kind == TOKEN_END) break;
        if (is_token(&now, TOKEN_WORD, "amdgpu_kernel")) kernels = 1;
        if (now.kind == TOKEN_STRING) {
            const slw_code rc = check_string(&s, last, &now, processor);
            if (rc != SLW_OK) return rc;
        }
        last[0] = last[1];
        last[1] = last[2];
        last[2] = now;
    }
    if (kernels) return SLW_OK;
    return refuse(&s, &first, SLW_E_INVALID_SOURCE, "NO_KERNEL", "the IR declares no amdgpu_kernel");
}
