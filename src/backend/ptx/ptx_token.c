#include "ptx_token.h"

#include <string.h>

#define END_OF_FILE_MARK 0x1a /* of old systems: ptxas passes it over wherever it stands */

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int is_word(char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}

/* ptxas takes the form feed for white space, the vertical tab not. */
static int is_blank(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == END_OF_FILE_MARK;
}

size_t slwi_ptx_first_bad_byte(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\0' || ((unsigned char)text[i] & 0x80u) != 0) return i;
    }
    return size;
}

/* ---- white space, comments, line markers ---- */

static size_t skip_while(slwi_ptx_lexer *lexer, size_t at, int (*accepts)(char)) {
    size_t begin = at;
    while (at < lexer->size && accepts(lexer->text[at])) at++;
    lexer->steps += at - begin + 1;
    return at;
}

static int is_gap(char c) {
    return c == ' ' || c == '\t';
}

/* What may stand between the file name of a line marker and the end of the line: flags, as of the C preprocessor. */
static int is_flag(char c) {
    return is_gap(c) || c == '\r' || is_digit(c);
}

/* From a quote to the next; 0 where there is none. */
static int skip_string(slwi_ptx_lexer *lexer, size_t *at) {
    const char *rest = lexer->text + *at + 1;
    const char *end = memchr(rest, '"', lexer->size - *at - 1);
    if (end == NULL) {
        lexer->steps += lexer->size - *at;
        return 0;
    }
    lexer->steps += (size_t)(end - rest) + 2;
    *at = (size_t)(end - lexer->text) + 1;
    return 1;
}

/* `#line 3 "x"` or `# 3 "x"`, then flags, then a line end that must be there. A number and a file are needed. */
static slwi_ptx_fault skip_line_marker(slwi_ptx_lexer *lexer) {
    size_t at = skip_while(lexer, lexer->at + 1, is_gap);
    if (lexer->size - at >= 4 && memcmp(lexer->text + at, "line", 4) == 0) at = skip_while(lexer, at + 4, is_gap);
    size_t number = at;
    at = skip_while(lexer, at, is_digit);
    size_t gap = at;
    at = skip_while(lexer, at, is_gap);
    if (at == lexer->size) return SLWI_PTX_OPEN_LINE;
    if (number == gap || gap == at || lexer->text[at] != '"') return SLWI_PTX_WRONG_LINE;
    if (!skip_string(lexer, &at)) return SLWI_PTX_OPEN_STRING;
    at = skip_while(lexer, at, is_flag);
    if (at == lexer->size) return SLWI_PTX_OPEN_LINE;
    if (lexer->text[at] != '\n') return SLWI_PTX_WRONG_LINE;
    lexer->at = at + 1;
    return SLWI_PTX_FINE;
}

static void skip_line_comment(slwi_ptx_lexer *lexer) {
    const char *begin = lexer->text + lexer->at;
    const char *end = memchr(begin, '\n', lexer->size - lexer->at);
    size_t size = end == NULL ? lexer->size - lexer->at : (size_t)(end - begin);
    lexer->steps += size;
    lexer->at += size;
}

static slwi_ptx_fault skip_block_comment(slwi_ptx_lexer *lexer) {
    size_t at = lexer->at + 2;
    while (at < lexer->size) {
        const char *star = memchr(lexer->text + at, '*', lexer->size - at);
        if (star == NULL) break;
        at = (size_t)(star - lexer->text) + 1;
        if (at < lexer->size && lexer->text[at] == '/') {
            lexer->steps += at + 1 - lexer->at;
            lexer->at = at + 1;
            return SLWI_PTX_FINE;
        }
    }
    lexer->steps += lexer->size - lexer->at;
    return SLWI_PTX_OPEN_COMMENT;
}

/* Moves to the first byte of a token or to the end. */
static slwi_ptx_fault skip_blank(slwi_ptx_lexer *lexer) {
    for (;;) {
        lexer->at = skip_while(lexer, lexer->at, is_blank);
        if (lexer->at == lexer->size) return SLWI_PTX_FINE;
        char c = lexer->text[lexer->at];
        char next = '\0';
        if (lexer->at + 1 < lexer->size) next = lexer->text[lexer->at + 1];
        slwi_ptx_fault fault = SLWI_PTX_FINE;
        if (c == '#') {
            fault = skip_line_marker(lexer);
        } else if (c == '/' && next == '/') {
            skip_line_comment(lexer);
        } else if (c == '/' && next == '*') {
            fault = skip_block_comment(lexer);
        } else {
            return SLWI_PTX_FINE;
        }
        if (fault != SLWI_PTX_FINE) return fault;
    }
}

/* ---- tokens ---- */

/* A number takes a fraction with it, so `9.0` is one token. */
static size_t number_end(slwi_ptx_lexer *lexer, size_t at) {
    at = skip_while(lexer, at, is_word);
    if (at + 1 < lexer->size && lexer->text[at] == '.' && is_digit(lexer->text[at + 1])) {
        at = skip_while(lexer, at + 1, is_word);
    }
    return at;
}

slwi_ptx_fault slwi_ptx_lex(slwi_ptx_lexer *lexer, slwi_ptx_token *out) {
    slwi_ptx_fault fault = skip_blank(lexer);
    out->offset = lexer->at;
    out->size = 0;
    out->mark = '\0';
    out->kind = SLWI_PTX_END;
    if (fault != SLWI_PTX_FINE || lexer->at == lexer->size) return fault;

    size_t at = lexer->at;
    char c = lexer->text[at];
    int word_follows = at + 1 < lexer->size && is_word(lexer->text[at + 1]);
    size_t end = at + 1;
    if (is_letter(c) || ((c == '_' || c == '$' || c == '%') && word_follows)) {
        out->kind = SLWI_PTX_IDENT;
        end = skip_while(lexer, at + 1, is_word);
    } else if (c == '.' && word_follows) {
        out->kind = SLWI_PTX_DIRECTIVE;
        end = skip_while(lexer, at + 1, is_word);
    } else if (is_digit(c)) {
        out->kind = SLWI_PTX_NUMBER;
        end = number_end(lexer, at);
    } else if (c == '"') {
        out->kind = SLWI_PTX_STRING;
        end = at;
        if (!skip_string(lexer, &end)) return SLWI_PTX_OPEN_STRING;
    } else {
        if (c < 0x21 || c == 0x7f) return SLWI_PTX_WRONG_BYTE;
        out->kind = SLWI_PTX_MARK;
        out->mark = c;
        lexer->steps += 1;
    }
    out->size = end - at;
    lexer->at = end;
    return SLWI_PTX_FINE;
}

int slwi_ptx_is(const slwi_ptx_lexer *lexer, const slwi_ptx_token *token, const char *word) {
    if (token->kind != SLWI_PTX_DIRECTIVE && token->kind != SLWI_PTX_IDENT) return 0;
    /* A token is held against a dozen words: the letter behind the dot tells most of them apart. */
    if (token->size < 2 || lexer->text[token->offset + 1] != word[1]) return 0;
    size_t size = strlen(word);
    return token->size == size && memcmp(lexer->text + token->offset, word, size) == 0;
}

int slwi_ptx_is_mark(const slwi_ptx_token *token, char mark) {
    return token->kind == SLWI_PTX_MARK && token->mark == mark;
}

/* ---- numbers ---- */

static unsigned digit_value(char c) {
    if (is_digit(c)) return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f') return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return (unsigned)(c - 'A') + 10;
    return 99;
}

int slwi_ptx_number(const slwi_ptx_lexer *lexer, const slwi_ptx_token *token, uint64_t *out) {
    if (token->kind != SLWI_PTX_NUMBER) return 0;
    const char *text = lexer->text + token->offset;
    size_t size = token->size;
    if (text[size - 1] == 'U') size--;
    unsigned base = 10;
    size_t at = 0;
    if (size > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        base = 16;
        at = 2;
    } else if (size > 2 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B')) {
        base = 2;
        at = 2;
    } else if (size > 1 && text[0] == '0') {
        base = 8;
        at = 1;
    }
    uint64_t value = 0;
    for (; at < size; at++) {
        unsigned digit = digit_value(text[at]);
        if (digit >= base || value > (UINT64_MAX - digit) / base) return 0;
        value = value * base + digit;
    }
    *out = value;
    return 1;
}

int slwi_ptx_digits(const char *text, size_t size, size_t *at, uint32_t *out) {
    size_t begin = *at;
    uint64_t value = 0;
    while (*at < size && is_digit(text[*at])) {
        value = value * 10 + (uint64_t)(text[*at] - '0');
        if (value > UINT32_MAX) return 0;
        *at += 1;
    }
    if (*at == begin) return 0;
    *out = (uint32_t)value;
    return 1;
}
