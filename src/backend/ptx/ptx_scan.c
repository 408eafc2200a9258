/* The module: statements at depth 0, bodies passed over by counting braces. */
#include "ptx_scan.h"

#include <slipway/limits.h>
#include <string.h>

#include "fail.h"
#include "heap_sort.h"
#include "memory.h"
#include "ptx_state.h"

#define POINTER_BYTES (sizeof(void *))

slw_bytes slwi_ptx_text_of(const slwi_ptx_state *s) {
    return (slw_bytes){s->lexer.text, s->lexer.size};
}

slwi_ptx_word slwi_ptx_word_of(const slwi_ptx_state *s) {
    static const struct {
        const char *name;
        slwi_ptx_word word;
    } words[] = {
        {".entry", SLWI_PTX_WORD_ENTRY},    {".visible", SLWI_PTX_WORD_LINKAGE}, {".weak", SLWI_PTX_WORD_LINKAGE},
        {".extern", SLWI_PTX_WORD_LINKAGE}, {".common", SLWI_PTX_WORD_LINKAGE},  {".func", SLWI_PTX_WORD_FUNC},
        {".global", SLWI_PTX_WORD_DATA},    {".const", SLWI_PTX_WORD_DATA},      {".shared", SLWI_PTX_WORD_DATA},
        {".local", SLWI_PTX_WORD_DATA},     {".tex", SLWI_PTX_WORD_DATA},        {".section", SLWI_PTX_WORD_SECTION},
        {".file", SLWI_PTX_WORD_FILE},      {".pragma", SLWI_PTX_WORD_PRAGMA},
    };
    if (s->token.kind != SLWI_PTX_DIRECTIVE) return SLWI_PTX_WORD_OTHER;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (slwi_ptx_is(&s->lexer, &s->token, words[i].name)) return words[i].word;
    }
    return SLWI_PTX_WORD_OTHER;
}

/* ---- pieces ---- */

slw_code slwi_ptx_take_number(slwi_ptx_state *s, const char *reason, const char *what, uint32_t *out) {
    size_t since = s->token.offset;
    uint64_t value = 0;
    slw_code rc = slwi_ptx_next(s);
    if (rc != SLW_OK) return rc;
    if (s->token.kind == SLWI_PTX_END) return slwi_ptx_truncated(s, "directive", since);
    if (!slwi_ptx_number(&s->lexer, &s->token, &value) || value > UINT32_MAX) return slwi_ptx_bad(s, reason, what);
    *out = (uint32_t)value;
    return slwi_ptx_next(s);
}

slw_code slwi_ptx_pragma(slwi_ptx_state *s) {
    size_t since = s->token.offset;
    for (;;) {
        slw_code rc = slwi_ptx_next(s);
        if (rc != SLW_OK) return rc;
        if (s->token.kind == SLWI_PTX_END) return slwi_ptx_truncated(s, "directive", since);
        if (slwi_ptx_is_mark(&s->token, ';')) return slwi_ptx_next(s);
        if (s->token.kind != SLWI_PTX_STRING && !slwi_ptx_is_mark(&s->token, ',')) {
            return slwi_ptx_bad(s, "BAD_DIRECTIVE", ".pragma is strings, commas and a semicolon");
        }
    }
}

slw_code slwi_ptx_block(slwi_ptx_state *s) {
    size_t since = s->token.offset;
    uint32_t depth = 0;
    do {
        if (slwi_ptx_is_mark(&s->token, '{') && ++depth > SLW_LIMIT_PTX_DEPTH) {
            return slwi_ptx_over(s, "PTX braces", depth, SLW_LIMIT_PTX_DEPTH, "levels");
        }
        if (slwi_ptx_is_mark(&s->token, '}')) depth--;
        slw_code rc = slwi_ptx_next(s);
        if (rc != SLW_OK) return rc;
        if (depth == 0) return SLW_OK;
        if (slwi_ptx_word_of(s) == SLWI_PTX_WORD_ENTRY) return slwi_ptx_bad(s, "NESTED", "an .entry inside a body");
    } while (s->token.kind != SLWI_PTX_END);
    return slwi_ptx_truncated(s, "body", since);
}

/* .file number string [, number, number]: the only statement that nothing ends. */
static slw_code file_statement(slwi_ptx_state *s) {
    static const char what[] = ".file is a number, a string and perhaps two numbers more";
    size_t since = s->token.offset;
    uint32_t number = 0;
    slw_code rc = slwi_ptx_take_number(s, "BAD_DIRECTIVE", what, &number);
    if (rc != SLW_OK) return rc;
    if (s->token.kind == SLWI_PTX_END) return slwi_ptx_truncated(s, "directive", since);
    if (s->token.kind != SLWI_PTX_STRING) return slwi_ptx_bad(s, "BAD_DIRECTIVE", what);
    rc = slwi_ptx_next(s);
    while (rc == SLW_OK && slwi_ptx_is_mark(&s->token, ',')) {
        rc = slwi_ptx_next(s);
        if (rc != SLW_OK) return rc;
        if (s->token.kind == SLWI_PTX_END) return slwi_ptx_truncated(s, "directive", since);
        if (s->token.kind != SLWI_PTX_NUMBER) return slwi_ptx_bad(s, "BAD_DIRECTIVE", what);
        rc = slwi_ptx_next(s);
    }
    return rc;
}

/* ---- statements ---- */

/* What is known of the statement so far. */
typedef struct walk {
    size_t since;
    slwi_ptx_word starter; /* SLWI_PTX_WORD_OTHER: none seen that is known */
    slwi_ptx_linkage linkage;
    uint32_t linkages;
    uint32_t parentheses;
    int is_common;
    int has_unknown; /* a directive that is not known came first */
    int has_value;   /* `=`: a brace opens a value and ends nothing */
    int is_over;
} walk;

static void note_linkage(const slwi_ptx_state *s, walk *w) {
    w->linkages += 1;
    if (slwi_ptx_is(&s->lexer, &s->token, ".visible")) w->linkage = SLWI_PTX_LINKAGE_VISIBLE;
    if (slwi_ptx_is(&s->lexer, &s->token, ".weak")) w->linkage = SLWI_PTX_LINKAGE_WEAK;
    if (slwi_ptx_is(&s->lexer, &s->token, ".extern")) w->linkage = SLWI_PTX_LINKAGE_EXTERN;
    w->is_common |= slwi_ptx_is(&s->lexer, &s->token, ".common");
}

static slw_code reach_entry(slwi_ptx_state *s, walk *w) {
    if (w->starter != SLWI_PTX_WORD_OTHER) return slwi_ptx_bad(s, "NESTED", "an .entry inside another statement");
    if (w->linkages > 1 || w->is_common) {
        return slwi_ptx_bad(s, "BAD_LINKAGE", "an entry is .visible, .weak, .extern or nothing");
    }
    w->is_over = 1;
    return slwi_ptx_entry(s, w->linkage);
}

/* A directive outside parentheses. */
static slw_code walk_directive(slwi_ptx_state *s, walk *w) {
    slwi_ptx_word word = slwi_ptx_word_of(s);
    if (word == SLWI_PTX_WORD_ENTRY) return reach_entry(s, w);
    if (word == SLWI_PTX_WORD_OTHER) {
        w->has_unknown |= w->starter == SLWI_PTX_WORD_OTHER && w->linkages == 0;
        return slwi_ptx_next(s);
    }
    if (word == SLWI_PTX_WORD_PRAGMA) {
        w->is_over = w->starter == SLWI_PTX_WORD_OTHER && w->linkages == 0;
        return slwi_ptx_pragma(s);
    }
    /* A directive of a newer PTX that nothing ended, as .file: here the next statement begins. */
    if (w->has_unknown) {
        w->is_over = 1;
        return SLW_OK;
    }
    if (w->starter != SLWI_PTX_WORD_OTHER) {
        return slwi_ptx_bad(s, "BAD_TOKEN", "another statement begins before this one's end");
    }
    if (word == SLWI_PTX_WORD_LINKAGE) {
        note_linkage(s, w);
        return slwi_ptx_next(s);
    }
    w->starter = word;
    w->is_over = word == SLWI_PTX_WORD_FILE;
    return w->is_over ? file_statement(s) : slwi_ptx_next(s);
}

static slw_code walk_mark(slwi_ptx_state *s, walk *w) {
    switch (s->token.mark) {
    case '(':
        w->parentheses += 1;
        break;
    case ')':
        if (w->parentheses == 0) return slwi_ptx_bad(s, "BAD_TOKEN", "a ')' that closes nothing");
        w->parentheses -= 1;
        break;
    case '=':
        w->has_value = 1;
        break;
    case ';':
        w->is_over = w->parentheses == 0;
        break;
    case '{':
        w->is_over = !w->has_value;
        return slwi_ptx_block(s);
    case '}':
        return slwi_ptx_bad(s, "BAD_TOKEN", "a '}' that closes nothing");
    default:
        break;
    }
    return slwi_ptx_next(s);
}

static slw_code statement(slwi_ptx_state *s) {
    walk w;
    memset(&w, 0, sizeof(w));
    w.since = s->token.offset;
    if (s->token.kind != SLWI_PTX_DIRECTIVE) return slwi_ptx_bad(s, "BAD_TOKEN", "this begins no statement");
    while (!w.is_over) {
        slw_code rc;
        if (s->token.kind == SLWI_PTX_END) return slwi_ptx_truncated(s, "statement", w.since);
        if (s->token.kind == SLWI_PTX_MARK) {
            rc = walk_mark(s, &w);
        } else if (s->token.kind == SLWI_PTX_DIRECTIVE && w.parentheses == 0) {
            rc = walk_directive(s, &w);
        } else if (slwi_ptx_word_of(s) == SLWI_PTX_WORD_ENTRY) {
            rc = slwi_ptx_bad(s, "NESTED", "an .entry inside parentheses");
        } else {
            rc = slwi_ptx_next(s);
        }
        if (rc != SLW_OK) return rc;
    }
    return SLW_OK;
}

/* ---- names ---- */

/* By name, then by place: of two equal names the second is the duplicate. */
static int by_name(const void *a, const void *b) {
    const slwi_ptx_kernel *left = *(const slwi_ptx_kernel *const *)a;
    const slwi_ptx_kernel *right = *(const slwi_ptx_kernel *const *)b;
    size_t shorter = left->name.size < right->name.size ? left->name.size : right->name.size;
    int order = memcmp(left->name.data, right->name.data, shorter);
    if (order != 0) return order;
    if (left->name.size != right->name.size) return left->name.size < right->name.size ? -1 : 1;
    return (left->offset_bytes > right->offset_bytes) - (left->offset_bytes < right->offset_bytes);
}

static slw_code fail_duplicate(slwi_ptx_state *s, const slwi_ptx_kernel *kernel) {
    slwi_ptx_token name = {SLWI_PTX_IDENT, '\0', (size_t)kernel->offset_bytes, kernel->name.size};
    slwi_error_subject(s->err, kernel->name.data, kernel->name.size);
    return slwi_ptx_bad_at(s, "DUPLICATE", &name, "a kernel is defined twice");
}

static slw_code check_names(slwi_ptx_state *s) {
    uint32_t count = s->module.kernel_count;
    const slwi_ptx_kernel *second = NULL;
    const slwi_ptx_kernel **order = slwi_alloc_array(s->allocator, count, POINTER_BYTES);
    if (order == NULL) return slwi_fail_memory(s->err, count * POINTER_BYTES);
    for (uint32_t i = 0; i < count; i++) order[i] = &s->module.kernels[i];
    slwi_heap_sort(order, count, POINTER_BYTES, by_name);
    for (uint32_t i = 1; i < count; i++) {
        slw_bytes a = order[i - 1]->name;
        slw_bytes b = order[i]->name;
        if (a.size != b.size || memcmp(a.data, b.data, a.size) != 0) continue;
        if (second == NULL || order[i]->offset_bytes < second->offset_bytes) second = order[i];
    }
    slwi_free(s->allocator, order);
    return second == NULL ? SLW_OK : fail_duplicate(s, second);
}

/* ---- the whole ---- */

static slw_code no_entry(slwi_ptx_state *s) {
    slwi_error_hint(s->err, "a kernel is a definition like `.visible .entry name(...) { ... }`; .func is none");
    return slwi_ptx_bad(s, "NO_ENTRY", "the module defines no entry prototype");
}

/* Before anything else: such a byte makes the text no PTX wherever it stands, in comments too. */
static slw_code check_bytes(slwi_ptx_state *s) {
    size_t size = s->lexer.size;
    if (size > SLW_LIMIT_PTX_BYTES) {
        slwi_error_amount(s->err, "PTX bytes", size, SLW_LIMIT_PTX_BYTES, "bytes");
        if (s->name != NULL) slwi_error_path(s->err, s->name);
        return slwi_fail(s->err, SLW_E_LIMIT, "LIMIT", "the PTX text is larger than slipway reads");
    }
    size_t bad = slwi_ptx_first_bad_byte(s->lexer.text, size);
    s->lexer.steps += size;
    if (bad == size) return SLW_OK;
    slwi_ptx_token token = {SLWI_PTX_MARK, '\0', bad, 0};
    return slwi_ptx_bad_at(s, "BAD_BYTE", &token, "a byte that PTX may not hold, NUL or not ASCII");
}

static slw_code scan(slwi_ptx_state *s) {
    slw_code rc = check_bytes(s);
    if (rc == SLW_OK) rc = slwi_ptx_head(s);
    while (rc == SLW_OK && s->token.kind != SLWI_PTX_END) rc = statement(s);
    if (rc == SLW_OK && s->module.kernel_count == 0) rc = no_entry(s);
    if (rc == SLW_OK) rc = check_names(s);
    return rc;
}

/* The arrays stand still now; until here they moved as they grew. */
static void settle(slwi_ptx_module *module) {
    uint32_t first = 0;
    for (uint32_t i = 0; i < module->kernel_count; i++) {
        slwi_ptx_kernel *kernel = &module->kernels[i];
        kernel->params = kernel->param_count == 0 ? NULL : module->params + first;
        first += kernel->param_count;
    }
}

void slwi_ptx_release(const slw_allocator *allocator, slwi_ptx_module *module) {
    slwi_free(allocator, module->kernels);
    slwi_free(allocator, module->params);
    memset(module, 0, sizeof(*module));
}

slw_code slwi_ptx_scan(const slw_allocator *allocator, slw_bytes text, const char *name, slwi_ptx_module *out,
                       slw_error *err) {
    slwi_ptx_state s;
    memset(&s, 0, sizeof(s));
    s.lexer.text = text.size == 0 ? "" : text.data;
    s.lexer.size = text.size;
    s.allocator = allocator;
    s.name = name;
    s.err = err;
    slw_code rc = scan(&s);
    s.module.steps = s.lexer.steps;
    if (rc != SLW_OK) {
        slwi_ptx_release(allocator, &s.module);
        return rc;
    }
    settle(&s.module);
    *out = s.module;
    return SLW_OK;
}

int slwi_ptx_recognises(slw_bytes text) {
    slwi_ptx_lexer lexer = {text.size == 0 ? "" : text.data, text.size, 0, 0};
    slwi_ptx_token token;
    if (slwi_ptx_lex(&lexer, &token) != SLWI_PTX_FINE) return 0;
    return slwi_ptx_is(&lexer, &token, ".version");
}
