/* The head of a module: .version, .target, .address_size, in this order and before everything else. */
#include <string.h>

#include "ptx_state.h"

static slw_code read_version(slwi_ptx_state *s) {
    if (!slwi_ptx_is(&s->lexer, &s->token, ".version")) {
        return slwi_ptx_bad(s, "NO_VERSION", "a PTX module begins with .version");
    }
    size_t since = s->token.offset;
    slw_code rc = slwi_ptx_next(s);
    if (rc != SLW_OK) return rc;
    if (s->token.kind == SLWI_PTX_END) return slwi_ptx_truncated(s, "head", since);
    const char *text = s->lexer.text + s->token.offset;
    size_t at = 0;
    int good = s->token.kind == SLWI_PTX_NUMBER;
    good = good && slwi_ptx_digits(text, s->token.size, &at, &s->module.version_major);
    good = good && at < s->token.size && text[at++] == '.';
    good = good && slwi_ptx_digits(text, s->token.size, &at, &s->module.version_minor) && at == s->token.size;
    if (!good) return slwi_ptx_bad(s, "BAD_VERSION", ".version is followed by no number like 8.7");
    return slwi_ptx_next(s);
}

/* sm_90a or compute_80; the suffix is what follows the number, none, `a` and `f` today. */
static int read_architecture(slwi_ptx_state *s, uint32_t *number, size_t *suffix) {
    const char *text = s->lexer.text + s->token.offset;
    size_t size = s->token.size;
    size_t at = 0;
    if (size > 3 && memcmp(text, "sm_", 3) == 0) at = 3;
    if (size > 8 && memcmp(text, "compute_", 8) == 0) at = 8;
    if (at == 0 || !slwi_ptx_digits(text, size, &at, number)) return 0;
    *suffix = at;
    return 1;
}

static void read_option(slwi_ptx_state *s) {
    static const struct {
        const char *name;
        uint32_t bit;
    } known[] = {{"texmode_unified", SLWI_PTX_TEXMODE_UNIFIED},
                 {"texmode_independent", SLWI_PTX_TEXMODE_INDEPENDENT},
                 {"debug", SLWI_PTX_DEBUG},
                 {"map_f64_to_f32", SLWI_PTX_MAP_F64_TO_F32}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (!slwi_ptx_is(&s->lexer, &s->token, known[i].name)) continue;
        s->module.target_options |= known[i].bit;
        return;
    }
    uint32_t number;
    size_t suffix;
    int other = read_architecture(s, &number, &suffix);
    s->module.target_options |= other ? SLWI_PTX_OTHER_TARGET : SLWI_PTX_OTHER_OPTION;
}

static slw_code read_first_target(slwi_ptx_state *s) {
    size_t suffix = 0;
    if (s->token.kind != SLWI_PTX_IDENT || !read_architecture(s, &s->module.target_number, &suffix)) {
        return slwi_ptx_bad(s, "BAD_TARGET", ".target names no architecture first");
    }
    const char *text = s->lexer.text + s->token.offset;
    s->module.target = (slw_bytes){text, s->token.size};
    s->module.target_suffix = (slw_bytes){text + suffix, s->token.size - suffix};
    s->module.target_list = s->module.target;
    return slwi_ptx_next(s);
}

static slw_code read_target(slwi_ptx_state *s) {
    size_t since = s->token.offset;
    if (s->token.kind == SLWI_PTX_END) return slwi_ptx_truncated(s, "head", 0);
    if (!slwi_ptx_is(&s->lexer, &s->token, ".target")) {
        return slwi_ptx_bad(s, "NO_TARGET", ".version is not followed by .target");
    }
    slw_code rc = slwi_ptx_next(s);
    if (rc != SLW_OK) return rc;
    if (s->token.kind == SLWI_PTX_END) return slwi_ptx_truncated(s, "head", since);
    size_t begin = s->token.offset;
    rc = read_first_target(s);
    while (rc == SLW_OK && slwi_ptx_is_mark(&s->token, ',')) {
        rc = slwi_ptx_next(s);
        if (rc != SLW_OK) return rc;
        if (s->token.kind == SLWI_PTX_END) return slwi_ptx_truncated(s, "head", since);
        if (s->token.kind != SLWI_PTX_IDENT) return slwi_ptx_bad(s, "BAD_TARGET", ".target lists no name here");
        read_option(s);
        s->module.target_list = (slw_bytes){s->lexer.text + begin, s->token.offset + s->token.size - begin};
        rc = slwi_ptx_next(s);
    }
    return rc;
}

static slw_code read_address_size(slwi_ptx_state *s) {
    if (!slwi_ptx_is(&s->lexer, &s->token, ".address_size")) return SLW_OK;
    slwi_ptx_token word = s->token;
    uint32_t bits = 0;
    slw_code rc = slwi_ptx_take_number(s, "BAD_ADDRESS_SIZE", ".address_size is followed by no number", &bits);
    if (rc != SLW_OK) return rc;
    if (bits != 32 && bits != 64) {
        return slwi_ptx_bad_at(s, "BAD_ADDRESS_SIZE", &word, ".address_size is neither 32 nor 64");
    }
    s->module.address_size = bits;
    return SLW_OK;
}

slw_code slwi_ptx_head(slwi_ptx_state *s) {
    slw_code rc = slwi_ptx_next(s);
    if (rc == SLW_OK) rc = read_version(s);
    if (rc == SLW_OK) rc = read_target(s);
    if (rc == SLW_OK) rc = read_address_size(s);
    return rc;
}
